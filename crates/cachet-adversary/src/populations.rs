//! The populations, by promise.

mod any_bytes;
mod determinism;
mod drawn_steps;
mod garbage;
mod hostile_programs;
mod stable_proofs;

use crate::population::Population;

/// All of them.
pub fn all() -> &'static [Population] {
    &[
        drawn_steps::ON_NESTS,
        drawn_steps::ON_GRIDS,
        garbage::IN_PROCESS,
        garbage::BY_COMMAND,
        any_bytes::ON_TARGETS,
        hostile_programs::ALL,
        determinism::EQUAL_BYTES,
        stable_proofs::RESTATED,
    ]
}

/// Those of a promise, or of a name.
pub fn named(word: &str) -> Vec<&'static Population> {
    all().iter().filter(|p| p.promise.eq_ignore_ascii_case(word) || p.name == word).collect()
}
