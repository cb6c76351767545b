//! What becomes of each condition, one by one: verdicts as data, for whoever weighs the kinds of conditions.
//!
//! The checker stops at the first condition that fails; here all of them are decided, so that it shows which kinds refuse
//! a proposal. Nothing here makes a function count as accepted: the checker is only read, and [`Examined`] is plain data.

use super::{Checker, unrequired};
use crate::condition::{Condition, Failure, Kind};
use crate::proofs::Proofs;
use crate::prover::Verdict;
use crate::relation::{self, Asked};
use crate::wf;
use cachet_core::ir::FunId;
use cachet_core::script::Rewrite;
use cachet_source::Kind as Severity;

/// A condition, or a misfit, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Examined {
    /// What it is about.
    pub kind: Kind,
    /// What it says.
    pub claim: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It holds.
    Proved,
    /// There is a counterexample.
    Refuted,
    /// The prover gave up.
    Undecided,
    /// There is no condition: the shape does not fit, and nothing that would follow it was generated.
    Misfit,
}

impl Outcome {
    /// Whether it refuses.
    pub fn refuses(self) -> bool {
        match self {
            Outcome::Proved => false,
            Outcome::Refuted | Outcome::Undecided | Outcome::Misfit => true,
        }
    }
}

impl Checker {
    /// Every condition of a function that is no schedule's, in order.
    pub fn examine_function(&self, id: FunId, proofs: &mut Proofs) -> Vec<Examined> {
        if let Err(failures) = self.may_be_checked(id) {
            return failures.into_iter().map(misfit).collect();
        }
        let fun = &self.program.funs[id.index()];
        let overflow = wf::overflow::conditions(&self.program, fun);
        let own = wf::conditions(&self.program, fun, proofs);
        let mut out = listed(own, proofs);
        out.extend(overflow.iter().map(|c| examined(c, proofs)));
        out
    }

    /// Every condition of a step, in order: those of the program after it, then those of the relation.
    pub fn examine_step(&self, id: FunId, rewrite: &Rewrite, asked: &Asked, proofs: &mut Proofs) -> Vec<Examined> {
        if let Err(f) = self.may_follow(id, rewrite, asked) {
            return vec![misfit(*f)];
        }
        let before = &self.program.funs[id.index()];
        let fewer = unrequired(proofs, before, rewrite);
        let rewrite = fewer.as_ref().unwrap_or(rewrite);
        if let Err(f) = self.well_formed(rewrite, asked) {
            return vec![misfit(*f)];
        }
        let own = wf::conditions(&self.program, &rewrite.after, proofs);
        let mut out = listed(own, proofs);
        match relation::conditions(&self.program, before, rewrite, asked) {
            Ok(needed) => {
                out.extend(self.required_by_recipe(before, rewrite, asked, &needed).err().map(|f| misfit(*f)));
                out.extend(needed.conditions.iter().map(|c| examined(c, proofs)));
            }
            Err(f) => out.push(misfit(*f)),
        }
        out
    }
}

fn listed(conditions: Result<Vec<Condition>, Box<Failure>>, proofs: &mut Proofs) -> Vec<Examined> {
    match conditions {
        Ok(all) => all.iter().map(|c| examined(c, proofs)).collect(),
        Err(f) => vec![misfit(*f)],
    }
}

fn examined(c: &Condition, proofs: &mut Proofs) -> Examined {
    let outcome = match proofs.prove(c) {
        Verdict::Proved(_) => Outcome::Proved,
        Verdict::Refuted(_) => Outcome::Refuted,
        Verdict::Undecided { .. } => Outcome::Undecided,
    };
    Examined { kind: c.kind, claim: c.claim.to_string(), outcome }
}

fn misfit(f: Failure) -> Examined {
    let outcome = match f.diagnostic.kind {
        Severity::NotDecided => Outcome::Undecided,
        Severity::NotProved => Outcome::Refuted,
        Severity::Error | Severity::Wrong | Severity::NotBuilt | Severity::Warning => Outcome::Misfit,
    };
    Examined { kind: f.kind, claim: f.diagnostic.message, outcome }
}
