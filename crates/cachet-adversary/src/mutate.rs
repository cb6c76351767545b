//! What breaks things.

pub mod restated;
pub mod texts;
