//! What a step may add to a function's requirements: a closed list.
//!
//! `e % n == 0` of an exact split, and the conditions of `given` lines, where they are about sizes only. Anything else
//! that a step needs has to follow from what is known, else the step is refused: a condition that failed never becomes a
//! requirement.

use crate::context::Context;
use crate::proofs::Proofs;
use cachet_core::ir::{Fun, Guard, Ix, VarKind};
use cachet_core::rewrite::{Live, Visit};

/// The guard as a requirement, if it may be one: about sizes only.
pub(crate) fn allowed(fun: &Fun, guard: &Guard) -> Option<Guard> {
    let mut live = Live::default();
    live.guard(guard);
    live.vars.iter().all(|v| fun.vars[v.index()].kind == VarKind::Size).then(|| tidy(guard))
}

/// `M - 0` is `M`: two ways of writing one requirement are one.
fn tidy(guard: &Guard) -> Guard {
    fn ix(i: &Ix) -> Ix {
        match i {
            Ix::Sub(a, b) if **b == Ix::Lit(0) => ix(a),
            Ix::Add(a, b) if **b == Ix::Lit(0) => ix(a),
            Ix::Add(a, b) if **a == Ix::Lit(0) => ix(b),
            Ix::Mod(a, n) => Ix::Mod(Box::new(ix(a)), *n),
            i => i.clone(),
        }
    }
    match guard {
        Guard::Cmp(r, a, b) => Guard::Cmp(*r, ix(a), ix(b)),
        g => g.clone(),
    }
}

/// The requirements of a function without those added ones that the others imply. The first `own` are the user's and
/// stay as they are.
pub(crate) fn without_implied(proofs: &mut Proofs, fun: &Fun, own: usize) -> Vec<Guard> {
    let mut kept = fun.requires.clone();
    let mut at = kept.len();
    while at > own {
        at -= 1;
        let mut rest = kept.clone();
        let last = rest.remove(at);
        let cx = Context::of_sizes(&fun.sizes, &fun.vars, &rest);
        if proofs.follows(&cx, cx.guard(&last)) {
            kept = rest;
        }
    }
    kept
}
