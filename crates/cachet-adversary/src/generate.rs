//! What makes cases: each the same for the same numbers.

pub mod nests;
pub mod places;
pub mod steps;
