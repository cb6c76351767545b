//! Would a fault have been seen? Populations of programs, schedules, steps, conditions and texts, each with what must never
//! happen in it and how much of it has to be to the point.
//!
//! [`populations::all`] is the list. A [`population::Population`] makes its cases with the generators in [`generate`], breaks
//! them with those in [`mutate`], and has them judged by what shares no code with what is judged. The ordinary tests run
//! each at its ordinary size (`tests/populations.rs`); `cargo xtask adversary` prints one table of them all, and
//! `cargo xtask nightly` runs the large sizes.

// Everything here is a test: a panic is a failure that is reported as one.
#![allow(clippy::unwrap_used, reason = "tests")]

pub mod command;
pub mod corpus;
pub mod fuzzing;
pub mod generate;
pub mod judge;
pub mod kept;
pub mod lie;
pub mod memory;
pub mod minimise;
pub mod mutate;
pub mod native;
pub mod oracle;
pub mod parts;
pub mod pools;
pub mod population;
pub mod populations;
pub mod random;
pub mod reach;
pub mod runs;
pub mod scheduled;
pub mod second_proof;
pub mod sides;
pub mod table;
pub mod threads;
pub mod walk;
pub mod whole;
