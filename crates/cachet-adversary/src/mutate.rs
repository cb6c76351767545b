//! What breaks things: each changes a case in one place.

pub mod certificates;
pub mod formulas;
