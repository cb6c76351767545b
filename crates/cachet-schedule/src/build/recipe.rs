//! The recipe in the programs' names.

use crate::capture::{Arg, Args, Bound};
use crate::loops;
use cachet_core::ir::{Fun, Var};
use cachet_core::pattern::{LoopRef, Move, MoveKind, Side, StepDef};
use cachet_core::rewrite::Site;

/// One side: its program, what the pattern's names are there, and the place.
type Sight<'a> = (&'a Fun, &'a [Bound], &'a Site);

/// A step's recipe for one use of it. A loop that the pattern names is found by what it became, so two names of a
/// pattern whose loops have one name in the program stay apart by number.
pub fn translate(step: &StepDef, args: &Args, s: Sight<'_>, t: Sight<'_>) -> Vec<Move> {
    let loop_ref = |l: &LoopRef| match l.side {
        Side::S => of_side(l, s).unwrap_or_else(|| l.clone()),
        // A loop of `from` that `to` only has inside a hole is known by the name it had.
        Side::T => of_side(l, t).or_else(|| of_side(l, s)).unwrap_or_else(|| l.clone()),
    };
    let buffer = |name: &String| match args.get(name) {
        Some(Arg::Buffer(b)) => s.0.buffers[b.index()].name.clone(),
        _ => name.clone(),
    };
    let kind = |k: &MoveKind| match k {
        MoveKind::PerCell { buffer: b, fold } => MoveKind::PerCell { buffer: buffer(b), fold: loop_ref(fold) },
        MoveKind::Interchange(l) => MoveKind::Interchange(loop_ref(l)),
        MoveKind::Distribute { of, at } => MoveKind::Distribute { of: loop_ref(of), at: *at },
        MoveKind::Fuse(a, b) => MoveKind::Fuse(loop_ref(a), loop_ref(b)),
    };
    step.recipe.iter().map(|m| Move { kind: kind(&m.kind), span: m.span }).collect()
}

fn of_side(l: &LoopRef, (fun, bound, site): Sight<'_>) -> Option<LoopRef> {
    let named: Vec<Var> = bound.iter().filter(|b| b.name == l.name).filter_map(|b| b.vars.first().copied()).collect();
    // Numbers beyond the pattern's own loops are of those that earlier lines of the recipe make.
    let (var, beyond) = match named.get(l.nth.max(1) as usize - 1) {
        Some(v) => (*v, 0),
        None => (*named.last()?, l.nth - named.len() as u32),
    };
    let number = loops::number(fun, &loops::of(site.stmts(fun)?), var)?;
    let name = fun.vars[var.index()].name.clone();
    Some(LoopRef { side: l.side, name, nth: number + beyond, rank: false })
}
