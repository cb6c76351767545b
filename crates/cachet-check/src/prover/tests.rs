//! The prover against hand-worked conditions and hostile input. Random conditions and altered certificates
//! are populations of `cachet-adversary`.

mod hostile;
mod notation;
mod smaller;
mod worked;

use super::{Verdict, prove};
use crate::certificate::{Certificate, check};
use crate::formula::Problem;

/// The certificate of a problem that must be proved.
fn proof_of(problem: &Problem) -> Certificate {
    match prove(problem) {
        Verdict::Proved(certificate) => {
            check(problem, &certificate).unwrap();
            certificate
        }
        other => panic!("not proved: {other:?}\n{}", problem.canonical()),
    }
}

/// The counterexample of a problem that must be refuted.
fn model_of(problem: &Problem) -> Vec<i128> {
    match prove(problem) {
        Verdict::Refuted(model) => {
            assert_eq!(problem.refuted_by(&model), Some(true));
            model
        }
        other => panic!("not refuted: {other:?}\n{}", problem.canonical()),
    }
}
