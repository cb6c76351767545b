//! The populations, by promise.

mod accounts;
mod any_bytes;
mod certificates;
mod claims;
mod contexts;
mod counterexamples;
mod crossed;
mod determinism;
mod doubt;
mod drawn_steps;
mod equations;
mod garbage;
mod grids;
mod hostile_programs;
mod kinds_of_condition;
mod mutated_schedules;
mod mutated_steps;
mod native_code;
mod planted;
mod printed;
mod proof_cache;
mod random_conditions;
mod regrouping;
mod schedules;
mod shipped;
mod stable_proofs;
mod whole_claims;

use crate::population::Population;

/// All of them.
pub fn all() -> &'static [Population] {
    &[
        mutated_steps::STEPS,
        mutated_steps::TILES,
        drawn_steps::ON_NESTS,
        mutated_schedules::MUTATED,
        native_code::DRAWN,
        printed::PRINTED,
        planted::PLANTED,
        planted::PLANTED_IN_LISTINGS,
        schedules::SCHEDULES,
        whole_claims::WRITTEN,
        whole_claims::DRAWN,
        equations::EQUATIONS,
        drawn_steps::ON_GRIDS,
        grids::SCHEDULED,
        native_code::GUARDED,
        shipped::SHIPPED,
        random_conditions::LARGE,
        doubt::PROVER,
        doubt::SOLVERS,
        contexts::OF_FILES,
        contexts::OF_DRAWN,
        contexts::OF_BRANCHES,
        counterexamples::GOLDEN,
        counterexamples::DRAWN,
        accounts::DRAWN,
        accounts::CHANGED,
        garbage::IN_PROCESS,
        garbage::BY_COMMAND,
        any_bytes::ON_TARGETS,
        hostile_programs::ALL,
        determinism::EQUAL_BYTES,
        stable_proofs::RESTATED,
        proof_cache::CACHE,
        kinds_of_condition::KINDS_OF_CONDITIONS,
        claims::CLAIMS,
        regrouping::TWO_SUMS,
        random_conditions::CONDITIONS,
        random_conditions::READINGS,
        certificates::ALTERED,
        crossed::OF_FILES,
        crossed::RANDOM,
    ]
}

/// Those of a promise, or of a name.
pub fn named(word: &str) -> Vec<&'static Population> {
    all().iter().filter(|p| p.promise.eq_ignore_ascii_case(word) || p.name == word).collect()
}
