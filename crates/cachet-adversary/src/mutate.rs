//! What breaks things.

pub mod texts;
