//! What makes cases: each the same for the same numbers.

pub mod contractions;
pub mod nests;
pub mod schedules;
pub mod steps;
