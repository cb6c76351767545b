//! What makes cases: each the same for the same numbers.

pub mod branches;
pub mod formulas;
pub mod nests;
pub mod steps;
