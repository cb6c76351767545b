//! The populations, by promise.

mod drawn_steps;
mod whole_claims;

use crate::population::Population;

/// All of them.
pub fn all() -> &'static [Population] {
    &[drawn_steps::ON_NESTS, whole_claims::WRITTEN, whole_claims::DRAWN, drawn_steps::ON_GRIDS]
}

/// Those of a promise, or of a name.
pub fn named(word: &str) -> Vec<&'static Population> {
    all().iter().filter(|p| p.promise.eq_ignore_ascii_case(word) || p.name == word).collect()
}
