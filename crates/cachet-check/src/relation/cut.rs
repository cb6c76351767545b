//! CUT, COVER and WIDEN: a loop as two loops, in so many blocks, and as one that runs further and does nothing there.
//!
//! Theorem (CUT). If `lo <= m` and `m <= hi`, then
//!
//! ```text
//! for x in lo .. hi do A(x)   is   for x in lo .. m do A(x); for x in m .. hi do A(x)
//! ```
//!
//! Theorem (COVER). If `hi - lo <= n*N`, then
//!
//! ```text
//! for x in lo .. hi do A(x)   is   for q in 0 .. N do for x in 0 .. min n (hi - lo - n*q) do A(lo + n*q + x)
//! ```
//!
//! Theorem (WIDEN). If `hi <= m`, then
//!
//! ```text
//! for x in lo .. hi do A(x)   is   for x in lo .. m do { if x < hi then A(x) }
//! ```
//!
//! and where `A` is a loop, the choice may stand inside it: ranges never read memory. Both sides of each run the same iterations in the same order, whatever `A` does: block `q` has those from `lo + n*q` on
//! that lie before the next block and before `hi`, and beyond `hi` blocks are empty. What is left to prove is that nothing
//! lies beyond the last block.
//!
//! Near misses: a cut behind the end or before the start; too few blocks; a loop that is widened to less than it has.

use super::Relation;
use super::find::shown;
use crate::condition::Kind;
use crate::formula::Formula;
use cachet_core::ir::{Block, Domain, Guard, Ix, Rel, Stmt, StmtKind, Var, VarKind};
use cachet_core::pattern::{LoopRef, PatIx};
use cachet_core::rewrite::{Subst, refresh};
use cachet_source::Diagnostic;

impl Relation<'_> {
    /// Cuts a loop in two, the second from an index on.
    pub(super) fn cut_loop(&mut self, block: &mut Block, wanted: &LoopRef, at: &PatIx) -> Result<(), Diagnostic> {
        let at = match at {
            PatIx::Known(ix) => ix.clone(),
            PatIx::Lit(n) => Ix::Lit(*n),
            _ => return Err(self.misfit("where the second loop begins is not an index of the program")),
        };
        let spot = self.find_loop(block, wanted)?;
        let cx = self.context_of(block, &spot.path);
        self.known(&cx, [&at])?;
        let (stmt, _, lo, hi) = self.range(block, wanted)?;
        let StmtKind::For { var, body, .. } = &stmt.kind else { return Ok(()) };
        let names = self.names();
        let text = format!("{0} <= {1} and {1} <= {2}", names.ix(&lo), names.ix(&at), names.ix(&hi));
        let what = format!("{}.{} is cut inside its range: {text}", wanted.side, shown(wanted));
        let goal = Formula::and([cx.ix(&lo).le(cx.ix(&at)), cx.ix(&at).le(cx.ix(&hi))]);
        self.emit(Kind::Split, &cx, goal, &what, &[], &[]);
        let part = |lo: Ix, hi: Ix| Stmt {
            kind: StmtKind::For { var: *var, domain: Domain::Range { lo, hi }, body: body.clone() },
            span: stmt.span,
        };
        let first = part(lo, at.clone());
        let second = refresh(&mut self.fun, &[part(at, hi)]);
        if let Some(stmts) = spot.block(block) {
            stmts.splice(spot.at..=spot.at, std::iter::once(first).chain(second));
        }
        Ok(())
    }

    /// A loop in `count` blocks of at most `size`.
    pub(super) fn cover(
        &mut self,
        block: &mut Block,
        wanted: &LoopRef,
        size: i64,
        outer: &str,
        count: &PatIx,
    ) -> Result<(), Diagnostic> {
        if size <= 0 {
            return Err(self.misfit(format!("a block has to be longer than 0, not {size}")));
        }
        let count = match count {
            PatIx::Known(ix) => ix.clone(),
            PatIx::Lit(n) => Ix::Lit(*n),
            _ => return Err(self.misfit("the number of blocks is not an index of the program")),
        };
        let spot = self.find_loop(block, wanted)?;
        let cx = self.context_of(block, &spot.path);
        self.known(&cx, [&count])?;
        let (stmt, var, lo, hi) = self.range(block, wanted)?;
        let StmtKind::For { body, .. } = &stmt.kind else { return Ok(()) };
        let names = self.names();
        let text = format!("{} - {} <= {size} * ({})", names.ix(&hi), names.ix(&lo), names.ix(&count));
        let what = format!("the blocks of {}.{} reach its end: {text}", wanted.side, shown(wanted));
        let goal = cx.ix(&hi).sub(cx.ix(&lo)).le(cx.ix(&count).times(i128::from(size)));
        self.emit(Kind::Split, &cx, goal, &what, &[], &[]);
        let name = self.names().var(var).to_string();
        let (q, x) = (self.fun.add_var(outer, VarKind::Index), self.fun.add_var(name, VarKind::Index));
        let b = Box::new;
        let before = Ix::Add(b(lo.clone()), b(Ix::Mul(size, b(Ix::Var(q)))));
        let left = Ix::Sub(b(hi), b(before.clone()));
        let inner = Domain::Range { lo: Ix::Lit(0), hi: Ix::Min(b(Ix::Lit(size)), b(left)) };
        let body = Subst::var(var, Ix::Add(b(before), b(Ix::Var(x)))).block(body);
        let inside = Stmt { kind: StmtKind::For { var: x, domain: inner, body }, span: stmt.span };
        let domain = Domain::Range { lo: Ix::Lit(0), hi: count };
        let made = Stmt { kind: StmtKind::For { var: q, domain, body: vec![inside] }, span: stmt.span };
        if let Some(slot) = spot.block(block).and_then(|b| b.get_mut(spot.at)) {
            *slot = made;
        }
        Ok(())
    }

    /// A loop that runs to another end, and does nothing beyond its own.
    pub(super) fn widen(&mut self, block: &mut Block, wanted: &LoopRef, to: &PatIx) -> Result<(), Diagnostic> {
        let to = match to {
            PatIx::Known(ix) => ix.clone(),
            PatIx::Lit(n) => Ix::Lit(*n),
            _ => return Err(self.misfit("where the loop ends is not an index of the program")),
        };
        let spot = self.find_loop(block, wanted)?;
        let cx = self.context_of(block, &spot.path);
        self.known(&cx, [&to])?;
        let (stmt, var, lo, hi) = self.range(block, wanted)?;
        let names = self.names();
        let text = format!("{} <= {}", names.ix(&hi), names.ix(&to));
        let what = format!("{}.{} ends no later than it is widened to: {text}", wanted.side, shown(wanted));
        self.emit(Kind::Split, &cx, cx.ix(&hi).le(cx.ix(&to)), &what, &[], &[]);
        let StmtKind::For { body, .. } = &stmt.kind else { return Ok(()) };
        let guard = Guard::Cmp(Rel::Lt, Ix::Var(var), hi);
        let body = match body.as_slice() {
            [one] => {
                let (loops, inmost) = super::reorder::perfect(one);
                let chosen = StmtKind::If { guard, then: inmost.to_vec(), els: vec![] };
                let chosen = vec![Stmt { kind: chosen, span: stmt.span }];
                vec![super::reorder::rebuild(&loops, chosen, &stmt)]
            }
            _ => vec![Stmt { kind: StmtKind::If { guard, then: body.clone(), els: vec![] }, span: stmt.span }],
        };
        let kind = StmtKind::For { var, domain: Domain::Range { lo, hi: to }, body };
        if let Some(slot) = spot.block(block).and_then(|b| b.get_mut(spot.at)) {
            *slot = Stmt { kind, span: stmt.span };
        }
        Ok(())
    }

    /// A loop over a plain range.
    fn range(&self, block: &mut Block, wanted: &LoopRef) -> Result<(Stmt, Var, Ix, Ix), Diagnostic> {
        let spot = self.find_loop(block, wanted)?;
        let place = format!("{}.{}", wanted.side, shown(wanted));
        let stmt = spot.block(block).and_then(|b| b.get(spot.at)).cloned();
        match stmt {
            Some(stmt) => match &stmt.kind {
                StmtKind::For { var, domain: Domain::Range { lo, hi }, .. } => {
                    let (var, lo, hi) = (*var, lo.clone(), hi.clone());
                    Ok((stmt, var, lo, hi))
                }
                _ => Err(self.misfit(format!("{place} is not a loop over a plain range"))),
            },
            None => Err(self.misfit(format!("there is no loop {place}"))),
        }
    }
}
