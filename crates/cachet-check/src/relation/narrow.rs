//! NARROW: what is computed for cells of a local that nobody reads.
//!
//! Theorem. Let `t` be a local array, `n` one of its axes and `b` an index over what is known where `t` is declared. Take a
//! loop `for l in lo .. hi do t[.., l, ..] := e` with `l` on axis `n` and `b <= hi`. If nothing that is left reads a cell of
//! `t` at or beyond `b` on that axis, then the loop is `for l in lo .. b do t[.., l, ..] := e` to everybody else.
//!
//! Likewise an assignment of a cell `t[.., e, ..]` under any subscript is to everybody else that assignment under `e < b`.
//!
//! What goes writes cells of `t` at or beyond `b` only, which nobody reads; `t` is not seen after its block.
//!
//! Near misses: a bound that changes while `t` lives, so that a cell left out now is read later; a read beyond the bound;
//! a bound beyond the loop's own end.

use super::Relation;
use super::find::{Spot, walk};
use crate::condition::Kind;
use crate::events::{What, enter, events_of};
use cachet_core::ir::{Block, Domain, Guard, Ix, Local, Rel, Stmt, StmtKind};
use cachet_core::pattern::{PatIx, Side};
use cachet_source::Diagnostic;

impl Relation<'_> {
    /// Leaves out what fills cells of a local at or beyond a bound.
    pub(super) fn narrow(
        &mut self,
        block: &mut Block,
        (side, name): (Side, &str),
        axis: u32,
        to: &PatIx,
    ) -> Result<(), Diagnostic> {
        let (PatIx::Known(bound), axis) = (to, axis as usize) else {
            return Err(self.misfit("the bound is not an index of the program"));
        };
        let (local, spot) = self.declaration(block, side, name)?;
        if self.fun.locals[local.index()].dims.len() <= axis {
            return Err(self.misfit(format!("{name} has no axis {axis}")));
        }
        // The bound has to mean one thing as long as the local lives.
        let around = self.context_of(block, &spot.path);
        self.known(&around, [bound])?;
        let loops = filling_loops(block, local, axis);
        let mut guarded = 0;
        *block = under(block, (local, axis), bound, &mut guarded);
        if loops.is_empty() && guarded == 0 {
            return Err(self.misfit(format!("in {side} no loop fills {name} along its axis {axis}")));
        }
        for at in &loops {
            let cx = self.context_of(block, &at.path);
            let Some(Stmt { kind: StmtKind::For { domain: Domain::Range { lo: _, hi }, .. }, .. }) =
                at.block(block).and_then(|b| b.get_mut(at.at))
            else {
                continue;
            };
            let end = std::mem::replace(hi, bound.clone());
            if end == *bound {
                continue;
            }
            let text = format!("{} <= {}", self.names().ix(bound), self.names().ix(&end));
            let what = format!("the bound of {name} lies within what fills it: {text}");
            let goal = cx.ix(bound).le(cx.ix(&end));
            self.emit(Kind::Narrowed, &cx, goal, &what, &[], &[]);
        }
        let rest: Block = spot.block(block).map(|b| b.iter().skip(spot.at + 1).cloned().collect()).unwrap_or_default();
        self.dead_unread(&around, &rest, (local, axis), bound);
        Ok(())
    }

    /// The conditions: nothing that is left touches what lies beyond the bound.
    fn dead_unread(&mut self, around: &crate::context::Context, rest: &Block, of: (Local, usize), bound: &Ix) {
        let (local, axis) = of;
        let name = self.names().local(local).to_string();
        for event in events_of(rest) {
            let What::Cell(l, at) = &event.what else { continue };
            let Some(ix) = at.get(axis).filter(|_| *l == local) else { continue };
            let mut cx = around.clone();
            event.frames.iter().for_each(|f| enter(&self.fun, &mut cx, f));
            let text = format!("{} < {}", self.names().ix(ix), self.names().ix(bound));
            let what = format!("a dead lane of {name} is not used: {text}");
            let cell = format!("the cell is `{}`", self.names().cell(&name, at));
            let goal = cx.ix(ix).lt(cx.ix(bound));
            self.emit(Kind::Narrowed, &cx, goal, &what, &[cell], &[(event.span, "used here".into())]);
        }
    }

    /// The one declaration of a local array.
    pub(super) fn declaration(&self, block: &Block, side: Side, name: &str) -> Result<(Local, Spot), Diagnostic> {
        let mut found = Vec::new();
        walk(block, &mut Vec::new(), &mut |stmt, spot| {
            if let StmtKind::Var { local, init: _ } = &stmt.kind
                && self.fun.locals[local.index()].name == name
            {
                found.push((*local, spot));
            }
        });
        match found.len() {
            0 => Err(self.misfit(format!("{side} declares no local called {name}"))),
            1 => Ok(found.remove(0)),
            n => Err(self.misfit(format!("{side} declares {n} locals called {name}"))),
        }
    }
}

/// The loops around nothing but an assignment of a local whose subscript on an axis is the loop's variable.
fn filling_loops(block: &[Stmt], local: Local, axis: usize) -> Vec<Spot> {
    let mut out = Vec::new();
    walk(block, &mut Vec::new(), &mut |stmt, spot| {
        if let StmtKind::For { var, domain: Domain::Range { .. }, body } = &stmt.kind
            && let [Stmt { kind: StmtKind::Assign { local: to, at, word: _ }, .. }] = body.as_slice()
            && *to == local
            && at.get(axis) == Some(&Ix::Var(*var))
        {
            out.push(spot);
        }
    });
    out
}

/// A block with the assignments of a local's cells that no loop fills along an axis under a bound.
fn under(block: &[Stmt], of: (Local, usize), bound: &Ix, count: &mut usize) -> Block {
    block
        .iter()
        .map(|s| {
            let inside = |block: &[Stmt], count: &mut usize| under(block, of, bound, count);
            let kind = match &s.kind {
                StmtKind::For { var, domain, body } => {
                    // What fills the axis is narrowed by its range.
                    let filling = matches!(body.as_slice(), [Stmt { kind: StmtKind::Assign { local, at, .. }, .. }]
                        if *local == of.0 && at.get(of.1) == Some(&Ix::Var(*var)) && matches!(domain, Domain::Range { .. }));
                    let body = if filling { body.clone() } else { inside(body, count) };
                    StmtKind::For { var: *var, domain: domain.clone(), body }
                }
                StmtKind::If { guard, then, els } => {
                    StmtKind::If { guard: guard.clone(), then: inside(then, count), els: inside(els, count) }
                }
                StmtKind::Assign { local, at, .. } if *local == of.0 => match at.get(of.1) {
                    Some(ix) => {
                        *count += 1;
                        let guard = Guard::Cmp(Rel::Lt, ix.clone(), bound.clone());
                        StmtKind::If { guard, then: vec![s.clone()], els: vec![] }
                    }
                    None => s.kind.clone(),
                },
                kind @ (StmtKind::Grid(_)
                | StmtKind::Let { .. }
                | StmtKind::Var { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Store { .. }
                | StmtKind::Alloc(_)
                | StmtKind::Lease { .. }
                | StmtKind::Call(_)
                | StmtKind::Print(_)) => kind.clone(),
            };
            Stmt { kind, span: s.span }
        })
        .collect()
}
