//! The populations, by promise.

mod drawn_steps;
mod native_code;
mod planted;
mod printed;

use crate::population::Population;

/// All of them.
pub fn all() -> &'static [Population] {
    &[
        drawn_steps::ON_NESTS,
        native_code::DRAWN,
        printed::PRINTED,
        planted::PLANTED,
        planted::PLANTED_IN_LISTINGS,
        drawn_steps::ON_GRIDS,
        native_code::GUARDED,
    ]
}

/// Those of a promise, or of a name.
pub fn named(word: &str) -> Vec<&'static Population> {
    all().iter().filter(|p| p.promise.eq_ignore_ascii_case(word) || p.name == word).collect()
}
