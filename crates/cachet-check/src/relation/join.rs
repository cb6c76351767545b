//! JOIN: a loop over blocks and the loop inside each block, as the one loop that they cut: SPLIT read backwards.
//!
//! Theorem. If `A` names `g` and `x` nowhere but in `g[x]`, then
//!
//! ```text
//! for g in blocks (lo .. hi) n do for x in 0 .. g.len do A(g[x])   is   for y in lo .. hi do A(y)
//! ```
//!
//! The blocks of a range run through it once and ascending, by what `blocks` means; nothing is left to prove.
//!
//! Near misses: a statement beside the inner loop; an inner loop that is one short; `A` that names the block's first index.

use super::Relation;
use super::find::shown;
use cachet_core::ir::{Block, BlockPart, Domain, Ix, Stmt, StmtKind, Var, VarKind};
use cachet_core::pattern::LoopRef;
use cachet_core::rewrite::{Live, Subst};
use cachet_source::Diagnostic;

impl Relation<'_> {
    /// Joins the loop over blocks `outer` and the loop `inner` directly inside it.
    pub(super) fn join(&mut self, block: &mut Block, outer: &LoopRef, inner: &LoopRef) -> Result<(), Diagnostic> {
        let spot = self.find_loop(block, outer)?;
        let place = format!("{}.{}", outer.side, shown(outer));
        let stmt = spot.block(block).and_then(|b| b.get(spot.at)).cloned();
        let shape = || {
            self.misfit(format!(
                "{place} is not a loop over blocks with nothing but the loop {} from 0 to the block's length inside",
                shown(inner)
            ))
        };
        let Some(Stmt { kind: StmtKind::For { var: g, domain: Domain::Blocks { lo, hi, size: _ }, body }, span }) =
            stmt
        else {
            return Err(shape());
        };
        let [Stmt { kind: StmtKind::For { var: x, domain, body: inside }, span: _ }] = body.as_slice() else {
            return Err(shape());
        };
        let whole = Domain::Range { lo: Ix::Lit(0), hi: Ix::Block(g, BlockPart::Len) };
        if *domain != whole || self.names().var(*x) != inner.name {
            return Err(shape());
        }
        let y = self.fun.add_var(inner.name.clone(), VarKind::Index);
        let together = Subst { places: [((g, *x), Ix::Var(y))].into(), ..Subst::default() };
        let joined = together.block(inside);
        let live = Live::of_block(&joined);
        if live.vars.contains(&g) || live.vars.contains(x) {
            let named = |v: Var| self.names().var(v).to_string();
            return Err(self.misfit(format!(
                "what stands in {place} names {} otherwise than as {0}[{}]",
                named(g),
                named(*x)
            )));
        }
        if let Some(slot) = spot.block(block).and_then(|b| b.get_mut(spot.at)) {
            *slot = Stmt { kind: StmtKind::For { var: y, domain: Domain::Range { lo, hi }, body: joined }, span };
        }
        Ok(())
    }
}
