//! The populations, by promise.

mod certificates;
mod conditions;
mod contexts;
mod counterexamples;
mod crossed;
mod doubt;
mod drawn_steps;
mod proof_cache;

use crate::population::Population;

/// All of them.
pub fn all() -> &'static [Population] {
    &[
        drawn_steps::ON_NESTS,
        drawn_steps::ON_GRIDS,
        conditions::LARGE,
        doubt::PROVER,
        doubt::SOLVERS,
        contexts::OF_FILES,
        contexts::OF_DRAWN,
        contexts::OF_BRANCHES,
        counterexamples::GOLDEN,
        counterexamples::DRAWN,
        proof_cache::CACHE,
        conditions::CONDITIONS,
        conditions::READINGS,
        certificates::ALTERED,
        crossed::OF_FILES,
        crossed::RANDOM,
    ]
}

/// Those of a promise, or of a name.
pub fn named(word: &str) -> Vec<&'static Population> {
    all().iter().filter(|p| p.promise.eq_ignore_ascii_case(word) || p.name == word).collect()
}
