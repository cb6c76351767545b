//! The populations, by promise.

mod claims;
mod conditions;
mod drawn_steps;
mod mutated_steps;
mod regrouping;

use crate::population::Population;

/// All of them.
pub fn all() -> &'static [Population] {
    &[
        mutated_steps::STEPS,
        drawn_steps::ON_NESTS,
        drawn_steps::ON_GRIDS,
        conditions::KINDS_OF_CONDITIONS,
        claims::CLAIMS,
        regrouping::TWO_SUMS,
    ]
}

/// Those of a promise, or of a name.
pub fn named(word: &str) -> Vec<&'static Population> {
    all().iter().filter(|p| p.promise.eq_ignore_ascii_case(word) || p.name == word).collect()
}
