//! What breaks a case: each change the same for the same numbers.

pub mod programs;
pub mod schedules;
