//! How does a copy run whose source lies along one of two loops, and whose destination along the other?
//!
//! In squares of as many cells as a vector has lanes, each turned in registers, so that rows are read and written as wholes;
//! what is left over at the edges is copied one by one. Every cell of the destination is written by one iteration, and none
//! reads what another writes, so the order makes no difference.

use crate::function::{Index, Lower, Outcome};
use crate::lanes::{Piece, of};
use crate::memory::{Bounds, Memory};
use crate::turn::{LEAST_BYTES, MOST, root};
use crate::types::{memory, register};
use cachet_core::ir::{Access, Block, BlockPart, Domain, Elem, Ix, Stmt, StmtKind, Ty, Var, Word};
use cachet_core::rewrite::{Live, Subst};
use cachet_core::vectors;

/// How many squares ahead a copy asks for what it reads.
const SQUARES_AHEAD: usize = 2;
/// Numbers of variables that the function does not have: of the blocks and the places in them.
pub(crate) const OWN: u32 = 64;

/// Two loops around a copy. The source lies along `down`'s cells one after another, the destination along `across`.
struct Copy<'a> {
    to: &'a Access,
    from: &'a Access,
    elem: Elem,
    /// The loop along the source's rows, and the loop along the destination's.
    along: [(Var, &'a Domain); 2],
    /// Whether the first of them is the outer one.
    first_outside: bool,
}

/// A loop in blocks: the block, the place in it.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) block: Var,
    pub(crate) place: Var,
}

impl Lower<'_, '_> {
    /// Two loops around a copy that turns its source; false where they are something else.
    pub(crate) fn turning_copy(&mut self, var: Var, domain: &Domain, body: &Block) -> Outcome<bool> {
        let Some(copy) = self.copy_of(var, domain, body) else { return Ok(false) };
        let first = self.fun.vars.len() as u32 + OWN;
        let cuts = [0, 2].map(|n| Cut { block: Var(first + n), place: Var(first + n + 1) });
        let mut side = self.module.lanes_of(copy.elem).min(MOST);
        let (from, to) = loop {
            if side * (copy.elem.bytes() as i64) < LEAST_BYTES {
                return Ok(false);
            }
            if let Some(found) = self.in_blocks(&copy, cuts, side) {
                break found;
            }
            side /= 2;
        };
        let [outer, inner] = if copy.first_outside { [0, 1] } else { [1, 0] };
        let (lo, hi) = self.bounds(copy.along[outer].1)?;
        let within = self.bounds(copy.along[inner].1)?;
        self.range(&lo, &hi, side, &[], &mut |this, at, _| {
            this.bind_block(cuts[outer].block, &lo, &hi, at, side);
            let (lo, hi) = &within;
            this.range(lo, hi, side, &[], &mut |this, at, _| {
                this.bind_block(cuts[inner].block, lo, hi, at, side);
                this.square_of(copy.elem, (&from, &to), (cuts, inner), side)?;
                Ok(vec![])
            })
        })?;
        Ok(true)
    }

    /// The bounds of a copy's loop.
    pub(crate) fn bounds(&mut self, domain: &Domain) -> Outcome<(String, String)> {
        match domain {
            Domain::Range { lo, hi } => Ok((self.ix(lo)?, self.ix(hi)?)),
            Domain::Blocks { .. } => Err(self.ill_formed("a copy's loop is one of blocks")),
        }
    }

    /// A square, or what there is of one.
    fn square_of(
        &mut self,
        elem: Elem,
        (from, to): (&Access, &Access),
        (cuts, inner): ([Cut; 2], usize),
        side: i64,
    ) -> Outcome<()> {
        let mut lengths = Vec::new();
        for cut in cuts {
            lengths.push(self.ix(&Ix::Block(cut.block, BlockPart::Len))?);
        }
        let whole: Vec<String> =
            lengths.iter().map(|len| self.em.def(format_args!("icmp eq i64 {len}, {side}"))).collect();
        let whole = self.em.def(format_args!("and i1 {}, {}", whole[0], whole[1]));
        let (square, edge, after) = (self.em.block(), self.em.block(), self.em.block());
        self.em.branch(&whole, &square, &edge);
        self.em.open(&square);
        let (source, target) = (self.buffer(from.buffer)?.clone(), self.buffer(to.buffer)?.clone());
        let [along, across] = cuts;
        let (ty, align) = (of(elem, side), elem.bytes());
        self.fetch_square((along, across), cuts[inner].block, side, &source, from)?;
        let mut rows = Vec::new();
        for n in 0..side {
            let at = self.row_in_square((along, across), (n, side), (&source, Bounds::Inside), from)?;
            rows.push(self.em.def(format_args!("load {ty}, ptr {at}, align {align}")));
        }
        let columns = self.transposed(elem, rows);
        for (n, column) in (0..side).zip(&columns) {
            let at = self.row_in_square((across, along), (n, side), (&target, Bounds::Inside), to)?;
            self.em.line(format_args!("store {ty} {column}, ptr {at}, align {align}"));
        }
        self.em.jump(&after);
        self.em.open(&edge);
        self.range("0", &lengths[0], 1, &[], &mut |this, n, _| {
            this.bind_var(along.place, Index::Plain(n.into()));
            this.range("0", &lengths[1], 1, &[], &mut |this, n, _| {
                this.bind_var(across.place, Index::Plain(n.into()));
                let value = this.load(from)?;
                this.store(to, &value)?;
                Ok(vec![])
            })
        })?;
        self.em.jump(&after);
        self.em.open(&after);
        Ok(())
    }

    /// Asks for the rows of a square that comes later: they lie in lines of their own, which no processor foresees. An address
    /// beyond the array is asked for in vain.
    fn fetch_square(&mut self, cuts: (Cut, Cut), inner: Var, side: i64, source: &Memory, from: &Access) -> Outcome<()> {
        let here = self.var(inner)?;
        let mut later = here.clone();
        for _ in 0..SQUARES_AHEAD {
            later = self.next(&later, Some(side));
        }
        self.bind_var(inner, later);
        for n in 0..side {
            let at = self.row_in_square(cuts, (n, side), (source, Bounds::Unknown), from)?;
            self.em.line(format_args!("call void @llvm.prefetch.p0(ptr {at}, i32 0, i32 3, i32 1)"));
        }
        self.bind_var(inner, here);
        Ok(())
    }

    /// The address of a square's row `n`, which goes along the first of two cuts.
    fn row_in_square(
        &mut self,
        (along, across): (Cut, Cut),
        (n, side): (i64, i64),
        (buffer, bounds): (&Memory, Bounds),
        access: &Access,
    ) -> Outcome<String> {
        for (place, n) in [(along.place, 0), (across.place, n)] {
            self.bind_var(place, Index::Plain(n.to_string()));
            self.known.set(place, Some(n));
        }
        let piece = Piece { lane: along.place, offset: 0, width: side, mask: None };
        let at = self.lane_address(&piece, buffer, &access.at, bounds);
        self.known.set(along.place, None);
        self.known.set(across.place, None);
        at?.ok_or_else(|| self.ill_formed("a row is no row"))
    }

    /// The copy that two loops are.
    fn copy_of<'b>(&self, var: Var, domain: &'b Domain, body: &'b Block) -> Option<Copy<'b>> {
        let [Stmt { kind: StmtKind::For { var: inner, domain: within, body }, .. }] = body.as_slice() else {
            return None;
        };
        let [Stmt { kind: StmtKind::Store { to, word: Word::Load(from) }, .. }] = body.as_slice() else { return None };
        let (Domain::Range { .. }, Domain::Range { lo, hi }) = (domain, within) else { return None };
        if [lo, hi].iter().any(|ix| Live::of_ix(ix).vars.contains(&var)) {
            return None;
        }
        let info = |a: &Access| self.fun.buffers.get(a.buffer.index());
        let Ty::Elem(elem) = info(from)?.elem else { return None };
        let vector = elem != Elem::Bool && memory(elem) == register(elem) && info(to)?.elem == Ty::Elem(elem);
        if !vector || root(self.fun, from.buffer) == root(self.fun, to.buffer) {
            return None;
        }
        // Each loop goes along one axis of the destination, so that no cell of it is written twice.
        if own_axis(to, var)? == own_axis(to, *inner)? {
            return None;
        }
        let loops = [(var, domain), (*inner, within)];
        let copy = |along, first_outside| Copy { to, from, elem, along, first_outside };
        [copy(loops, true), copy([loops[1], loops[0]], false)].into_iter().find(|c| self.lies_along(c))
    }

    /// Whether the source lies along the first loop, and not along the second.
    fn lies_along(&self, copy: &Copy<'_>) -> bool {
        let Ok(source) = self.buffer(copy.from.buffer) else { return false };
        let [along, across] = copy.along.map(|(v, _)| {
            let piece = Piece { lane: v, offset: 0, width: 2, mask: None };
            self.lane_place(&piece, source, &copy.from.at).is_some()
        });
        along && !across
    }

    /// Both sides with the loops in blocks of so many, where rows of a square are rows in memory.
    fn in_blocks(&mut self, copy: &Copy<'_>, cuts: [Cut; 2], side: i64) -> Option<(Access, Access)> {
        let mut subst = Subst::default();
        for ((var, domain), cut) in copy.along.iter().zip(cuts) {
            let Domain::Range { lo, hi } = domain else { return None };
            let (lo, hi) = (lo.clone(), hi.clone());
            self.known.enter(cut.block, Domain::Blocks { lo, hi, size: side });
            self.known.enter(cut.place, Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(side) });
            subst.vars.insert(*var, Ix::InBlock(cut.block, Box::new(Ix::Var(cut.place))));
        }
        let (from, to) = (subst.access(copy.from), subst.access(copy.to));
        let lies = |this: &mut Self, access: &Access, n: usize| {
            // The place along the row starts at 0; the other one is anywhere in its block.
            let piece = Piece { lane: cuts[n].place, offset: 0, width: side, mask: None };
            this.known.set(piece.lane, Some(0));
            let found = this.buffer(access.buffer).is_ok_and(|b| this.lane_place(&piece, b, &access.at).is_some());
            this.known.set(piece.lane, None);
            found
        };
        (lies(self, &from, 0) && lies(self, &to, 1)).then_some((from, to))
    }
}

/// The one axis of an access that a loop goes along, one place at a time.
pub(crate) fn own_axis(access: &Access, v: Var) -> Option<usize> {
    let mut axes = (0..access.at.len()).filter(|n| vectors::varies(&access.at[*n], v));
    let found = axes.next().filter(|n| vectors::first(&access.at[*n], v).is_some());
    found.filter(|_| axes.next().is_none())
}
