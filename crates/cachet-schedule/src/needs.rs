//! What a step asks of the sizes: the program after it says so, and the checker decides whether it may.

use crate::loops;
use cachet_core::ir::{Domain, Fun, Guard, Ix, Rel, VarKind};
use cachet_core::pattern::{Move, MoveKind, PatGuard, PatIx, Side};
use cachet_core::rewrite::{Live, Site, Visit};

/// Adds what a recipe's lines need: whole blocks need a multiple, `given` what it says.
pub fn require(after: &mut Fun, recipe: &[Move], before: &Fun, site: &Site) {
    for line in recipe {
        let needed = match &line.kind {
            MoveKind::Split { of, by: PatIx::Lit(n), outer: _, ragged: false } if of.side == Side::S => {
                let domain = site.stmts(before).and_then(|b| loops::domain(before, b, &of.name));
                domain.as_ref().and_then(|d| multiple(d, *n))
            }
            MoveKind::Given(PatGuard::Known(g)) => Some(g.clone()),
            MoveKind::Split { .. }
            | MoveKind::PerCell { .. }
            | MoveKind::Interchange(_)
            | MoveKind::Order(_)
            | MoveKind::Distribute { .. }
            | MoveKind::Fuse(..)
            | MoveKind::Reorder { .. }
            | MoveKind::First(_)
            | MoveKind::SelfStore(..)
            | MoveKind::Copy(..)
            | MoveKind::Cut { .. }
            | MoveKind::Cover { .. }
            | MoveKind::Widen { .. }
            | MoveKind::Relayout { .. }
            | MoveKind::Join(..)
            | MoveKind::Carry { .. }
            | MoveKind::Narrow { .. }
            | MoveKind::Lanes(..)
            | MoveKind::Unroll(_)
            | MoveKind::Unfold(..)
            | MoveKind::Regroup { .. }
            | MoveKind::Case { .. }
            | MoveKind::Given(_) => None,
        };
        if let Some(g) = needed {
            add(after, g);
        }
    }
}

/// That a range is a multiple of a size; `None` of blocks.
pub fn multiple(domain: &Domain, n: i64) -> Option<Guard> {
    let Domain::Range { lo, hi } = domain else { return None };
    Some(Guard::Cmp(Rel::Eq, Ix::Mod(Box::new(length(lo, hi)), n), Ix::Lit(0)))
}

/// `hi - lo`.
pub fn length(lo: &Ix, hi: &Ix) -> Ix {
    if *lo == Ix::Lit(0) { hi.clone() } else { Ix::Sub(Box::new(hi.clone()), Box::new(lo.clone())) }
}

/// That a range is not empty.
pub fn not_empty(lo: &Ix, hi: &Ix) -> Guard {
    Guard::Cmp(Rel::Lt, lo.clone(), hi.clone())
}

/// Adds a requirement about sizes, if it is one and not there yet. Others have to follow from what is known.
pub fn add(after: &mut Fun, guard: Guard) {
    let mut live = Live::default();
    live.guard(&guard);
    let sizes = !live.vars.is_empty() && live.vars.iter().all(|v| after.vars[v.index()].kind == VarKind::Size);
    if sizes && !after.requires.contains(&guard) {
        after.requires.push(guard);
    }
}
