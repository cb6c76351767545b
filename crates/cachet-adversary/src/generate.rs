//! What makes cases: each the same for the same numbers.

pub mod functions;
pub mod nests;
pub mod steps;
