//! The populations, by promise.

mod drawn_steps;
mod equations;
mod grids;
mod mutated_schedules;
mod schedules;

use crate::population::Population;

/// All of them.
pub fn all() -> &'static [Population] {
    &[
        drawn_steps::ON_NESTS,
        mutated_schedules::MUTATED,
        schedules::SCHEDULES,
        equations::EQUATIONS,
        drawn_steps::ON_GRIDS,
        grids::SCHEDULED,
    ]
}

/// Those of a promise, or of a name.
pub fn named(word: &str) -> Vec<&'static Population> {
    all().iter().filter(|p| p.promise.eq_ignore_ascii_case(word) || p.name == word).collect()
}
