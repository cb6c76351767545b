//! What makes cases: each the same for the same numbers.

pub mod hostile_texts;
pub mod nests;
pub mod steps;
