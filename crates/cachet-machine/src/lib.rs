//! Numbers of machines: what platform files say, and the choice of constants by them.
//!
//! No proof that a program is right may rest on a number from here: the checker cannot see this room.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]

pub mod choice;
pub mod platform;
