//! What does a function do, move and keep? Counts in its sizes: how often each operation runs, which bytes it reads and
//! writes at which level, and what it computes.
//!
//! Nothing here says that a program is right, and the checker cannot see this room. A count is exact, or an upper bound
//! that takes every block for a full one, and an [`account::Account`] says which.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]

pub mod account;
mod along;
pub mod around;
pub mod cache;
mod chain;
pub mod compare;
pub mod count;
mod fit;
pub mod hint;
pub mod limits;
pub mod resources;
pub mod reuse;
mod scope;
pub mod stages;
mod tally;
pub mod trace;
