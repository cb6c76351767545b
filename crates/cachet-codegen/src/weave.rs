//! How does a copy run whose destination has words of several rows in turn, or those of a row with each group turned round?
//!
//! Instructions that add several products at once want the operands of each side by side. A vector of every row is read,
//! the vectors are put together in registers, and what is written are wholes as well; where a row or the rows end, under a
//! mask or one by one. Every cell of the destination is written by one iteration, and none reads what another writes, so the
//! order makes no difference.

use crate::copies::{Cut, OWN, own_axis};
use crate::function::{Index, Lower, Outcome};
use crate::lanes::{Piece, of};
use crate::memory::Bounds;
use crate::turn::{LEAST_BYTES, root};
use crate::types::{memory, register};
use cachet_core::ir::{Access, Block, BlockPart, Domain, Elem, Guard, Ix, Rel, Stmt, StmtKind, Ty, Var, Word};
use cachet_core::rewrite::{Live, Subst};

/// How many rows may take turns.
const ROWS: [i64; 3] = [2, 4, 8];

/// A copy in one loop or two.
struct Copy<'a> {
    to: &'a Access,
    from: &'a Access,
    word: &'a Word,
    elem: Elem,
    /// Where the source's cells end, and what is written beyond.
    end: Option<(&'a Ix, &'a Word)>,
    /// The loop along the source's rows.
    along: (Var, &'a Domain),
    /// The loop from row to row.
    across: Option<(Var, &'a Domain)>,
    along_outside: bool,
}

/// The same in blocks of so many rows, and of so many cells of a row.
struct Blocks {
    from: Access,
    /// The cell of a lane: of the words that are written, one after another.
    to: Access,
    /// The copy of a cell.
    one: (Access, Word),
    along: Cut,
    across: Cut,
    lane: Var,
    rows: i64,
    width: i64,
    elem: Elem,
}

impl Lower<'_, '_> {
    /// One loop or two around a copy of words in turn; false where they are something else.
    pub(crate) fn weaving_copy(&mut self, var: Var, domain: &Domain, body: &Block) -> Outcome<bool> {
        for along_outside in [false, true] {
            let Some(copy) = self.words_in_turn(var, domain, body, along_outside) else { continue };
            for rows in ROWS {
                if let Some(blocks) = self.woven(&copy, rows) {
                    self.weave(&copy, &blocks)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn weave(&mut self, copy: &Copy<'_>, blocks: &Blocks) -> Outcome<()> {
        let (along, along_bounds) = (blocks.along.block, self.bounds(copy.along.1)?);
        let width = blocks.width;
        let Some((_, across)) = copy.across else {
            return self.each_block(along, &along_bounds, width, &mut |this| this.woven_block(copy, blocks));
        };
        let (across, across_bounds, rows) = (blocks.across.block, self.bounds(across)?, blocks.rows);
        if copy.along_outside {
            return self.each_block(along, &along_bounds, width, &mut |this| {
                this.each_block(across, &across_bounds, rows, &mut |this| this.woven_block(copy, blocks))
            });
        }
        self.each_block(across, &across_bounds, rows, &mut |this| {
            this.each_block(along, &along_bounds, width, &mut |this| this.woven_block(copy, blocks))
        })
    }

    fn each_block(
        &mut self,
        block: Var,
        (lo, hi): &(String, String),
        size: i64,
        body: &mut dyn FnMut(&mut Self) -> Outcome<()>,
    ) -> Outcome<()> {
        self.range(lo, hi, size, &[], &mut |this, at, _| {
            this.bind_block(block, lo, hi, at, size);
            body(this)?;
            Ok(vec![])
        })?;
        Ok(())
    }

    /// A block, or what there is of one.
    fn woven_block(&mut self, copy: &Copy<'_>, blocks: &Blocks) -> Outcome<()> {
        let left = self.ix(&Ix::Block(blocks.along.block, BlockPart::Len))?;
        let mut here = left.clone();
        if let Some((end, _)) = &copy.end {
            let first = self.ix(&Ix::Block(blocks.along.block, BlockPart::Lo))?;
            let end = self.ix(end)?;
            let cells = self.em.def(format_args!("sub i64 {end}, {first}"));
            here = self.min(&left, &cells);
        }
        let (whole, part, edge, after) = (self.em.block(), self.em.block(), self.em.block(), self.em.block());
        if copy.across.is_some() {
            let rows = self.ix(&Ix::Block(blocks.across.block, BlockPart::Len))?;
            let all = self.em.def(format_args!("icmp eq i64 {rows}, {}", blocks.rows));
            let inside = self.em.block();
            self.em.branch(&all, &inside, &edge);
            self.em.open(&inside);
        }
        let all = self.em.def(format_args!("icmp eq i64 {here}, {}", blocks.width));
        let masks = self.module.masks(blocks.elem);
        self.em.branch(&all, &whole, if masks { &part } else { &edge });
        self.em.open(&whole);
        self.put_together(copy, blocks, None)?;
        self.em.jump(&after);
        self.em.open(&part);
        match masks {
            true => {
                self.put_together(copy, blocks, Some((&here, &left)))?;
                self.em.jump(&after);
            }
            false => self.em.jump(&edge),
        }
        self.em.open(&edge);
        self.cell_by_cell(copy, blocks, &left)?;
        self.em.jump(&after);
        self.em.open(&after);
        Ok(())
    }

    /// A block's words by vectors. Where it is not whole: how many cells of its rows there are, and how many are written.
    fn put_together(&mut self, copy: &Copy<'_>, blocks: &Blocks, part: Option<(&str, &str)>) -> Outcome<()> {
        let Blocks { rows, width, elem, .. } = *blocks;
        let (ty, align) = (of(elem, width), elem.bytes());
        let rows = if copy.across.is_some() { rows } else { 1 };
        let (source, target) = (self.buffer(blocks.from.buffer)?.clone(), self.buffer(blocks.to.buffer)?.clone());
        // Where there is no cell, no address is one of the array's.
        let bounds = if part.is_some() { Bounds::Unknown } else { Bounds::Inside };
        let mask = part.map(|(here, _)| self.first_lanes(here, 0, width));
        let other = match &copy.end {
            Some((_, other)) => {
                let other = self.word(other)?;
                self.splat(register(elem), other.only(), width)
            }
            None => "poison".into(),
        };
        let mut loaded = Vec::new();
        for row in 0..rows {
            for (place, n) in [(blocks.along.place, 0), (blocks.across.place, row)] {
                self.bind_var(place, Index::Plain(n.to_string()));
                self.known.set(place, Some(n));
            }
            let piece = Piece { lane: blocks.along.place, offset: 0, width, mask: None };
            let at = self.lane_address(&piece, &source, &blocks.from.at, bounds);
            self.known.set(blocks.along.place, None);
            self.known.set(blocks.across.place, None);
            let at = at?.ok_or_else(|| self.ill_formed("a row is no row"))?;
            loaded.push(match &mask {
                Some(mask) => self.masked_load(elem, width, &at, mask, &other),
                None => self.em.def(format_args!("load {ty}, ptr {at}, align {align}")),
            });
        }
        let woven = self.interleaved(&ty, width, loaded);
        for (n, words) in (0..).zip(woven) {
            let piece = Piece { lane: blocks.lane, offset: n * width, width, mask: None };
            self.bind_var(blocks.lane, Index::Plain((n * width).to_string()));
            let found = self.grouped_address(blocks.rows, &piece, &target, &blocks.to.at)?;
            let Some((at, order)) = found else { return Err(self.ill_formed("words in turn are none")) };
            let words = self.reordered(register(elem), &words, &order);
            match part {
                Some((_, left)) => {
                    let count = self.em.def(format_args!("mul nsw i64 {left}, {rows}"));
                    let mask = self.first_lanes(&count, n * width, width);
                    let mask = self.reordered("i1", &mask, &order);
                    self.masked_store(elem, width, &words, &at, &mask);
                }
                None => self.em.line(format_args!("store {ty} {words}, ptr {at}, align {align}")),
            }
        }
        Ok(())
    }

    /// The words of several vectors in turn.
    fn interleaved(&mut self, ty: &str, width: i64, mut rows: Vec<String>) -> Vec<String> {
        if rows.len() < 2 {
            return rows;
        }
        let odd = rows.iter().skip(1).step_by(2).cloned().collect();
        rows = rows.into_iter().step_by(2).collect();
        let (even, odd) = (self.interleaved(ty, width, rows), self.interleaved(ty, width, odd));
        let side = usize::try_from(width).unwrap_or(0);
        let half = |from: usize| (0..side / 2).flat_map(move |n| [from + n, side + from + n]).collect::<Vec<_>>();
        let halves = [half(0), half(side / 2)];
        let pairs = even.into_iter().zip(odd);
        pairs.flat_map(|(a, b)| halves.each_ref().map(|lanes| self.shuffled(ty, &a, &b, lanes))).collect()
    }

    /// A block's cells, each by itself.
    fn cell_by_cell(&mut self, copy: &Copy<'_>, blocks: &Blocks, left: &str) -> Outcome<()> {
        let rows = match copy.across {
            Some(_) => self.ix(&Ix::Block(blocks.across.block, BlockPart::Len))?,
            None => "1".into(),
        };
        let (to, word) = &blocks.one;
        self.range("0", &rows, 1, &[], &mut |this, n, _| {
            this.bind_var(blocks.across.place, Index::Plain(n.into()));
            this.range("0", left, 1, &[], &mut |this, n, _| {
                this.bind_var(blocks.along.place, Index::Plain(n.into()));
                let value = this.word(word)?;
                this.store(to, &value)?;
                Ok(vec![])
            })?;
            Ok(vec![])
        })?;
        Ok(())
    }

    /// The copy that a loop or two are, where the source lies along the one that is asked for.
    fn words_in_turn<'b>(
        &self,
        var: Var,
        domain: &'b Domain,
        body: &'b Block,
        along_outside: bool,
    ) -> Option<Copy<'b>> {
        let (loops, stmt) = match body.as_slice() {
            [Stmt { kind: StmtKind::For { var: inner, domain: within, body }, .. }] => {
                let [stmt] = body.as_slice() else { return None };
                let Domain::Range { lo, hi } = within else { return None };
                if [lo, hi].iter().any(|ix| Live::of_ix(ix).vars.contains(&var)) {
                    return None;
                }
                (vec![(var, domain), (*inner, within)], stmt)
            }
            [stmt] if !along_outside => (vec![(var, domain)], stmt),
            _ => return None,
        };
        if loops.iter().any(|(_, domain)| matches!(domain, Domain::Blocks { .. })) {
            return None;
        }
        let StmtKind::Store { to, word } = &stmt.kind else { return None };
        let (along, across) = match loops.as_slice() {
            [one] => (*one, None),
            [outer, inner] if along_outside => (*outer, Some(*inner)),
            [outer, inner] => (*inner, Some(*outer)),
            _ => return None,
        };
        let (from, end) = self.source(word, along.0, across.map(|(v, _)| v))?;
        let info = |a: &Access| self.fun.buffers.get(a.buffer.index());
        let Ty::Elem(elem) = info(from)?.elem else { return None };
        let vector = elem != Elem::Bool && memory(elem) == register(elem) && info(to)?.elem == Ty::Elem(elem);
        // Each loop goes along one axis of the destination, so that no cell of it is written twice.
        let axis = |v: Var| own_axis(to, v);
        let own = axis(along.0);
        let apart = own.is_some() && across.is_none_or(|(v, _)| axis(v).is_some_and(|a| Some(a) != own));
        let distinct = root(self.fun, from.buffer) != root(self.fun, to.buffer);
        (vector && apart && distinct).then_some(Copy { to, from, word, elem, end, along, across, along_outside })
    }

    /// A copy in blocks, where vectors of its rows become vectors of the destination's words.
    fn woven(&mut self, copy: &Copy<'_>, rows: i64) -> Option<Blocks> {
        let width = self.module.lanes_of(copy.elem);
        if width * (copy.elem.bytes() as i64) < LEAST_BYTES || width % rows != 0 {
            return None;
        }
        let first = self.fun.vars.len() as u32 + OWN;
        let [along, across] = [0, 2].map(|n| Cut { block: Var(first + n), place: Var(first + n + 1) });
        let lane = Var(first + 4);
        self.cut(copy.along.1, along, width)?;
        if let Some((_, domain)) = copy.across {
            self.cut(domain, across, rows)?;
        }
        let at = |along_ix: Ix, across_ix: Ix| {
            let mut subst = Subst::default();
            subst.vars.insert(copy.along.0, Ix::InBlock(along.block, Box::new(along_ix)));
            if let Some((v, _)) = copy.across {
                subst.vars.insert(v, Ix::InBlock(across.block, Box::new(across_ix)));
            }
            subst
        };
        let of_lane = |ix: fn(Box<Ix>, i64) -> Ix| ix(Box::new(Ix::Var(lane)), rows);
        let one = at(Ix::Var(along.place), Ix::Var(across.place));
        let to = match copy.across {
            Some(_) => at(of_lane(Ix::Div), of_lane(Ix::Mod)),
            None => at(Ix::Var(lane), Ix::Var(lane)),
        };
        let (from, to) = (one.access(copy.from), to.access(copy.to));
        let one = (one.access(copy.to), one.word(copy.word));
        self.known.set(along.place, Some(0));
        let piece = Piece { lane: along.place, offset: 0, width, mask: None };
        let lies = self.buffer(from.buffer).is_ok_and(|b| self.lane_place(&piece, b, &from.at).is_some());
        self.known.set(along.place, None);
        let vectors = if copy.across.is_some() { rows } else { 1 };
        let target = self.buffer(to.buffer).ok()?;
        let together = (0..vectors).all(|n| {
            let piece = Piece { lane, offset: n * width, width, mask: None };
            self.grouped_place(rows, &piece, target, &to.at).is_some()
        });
        let elem = copy.elem;
        (lies && together).then_some(Blocks { from, to, one, along, across, lane, rows, width, elem })
    }

    fn cut(&mut self, domain: &Domain, cut: Cut, size: i64) -> Option<()> {
        let Domain::Range { lo, hi } = domain else { return None };
        let (lo, hi) = (lo.clone(), hi.clone());
        self.known.enter(cut.block, Domain::Blocks { lo, hi, size });
        self.known.enter(cut.place, Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(size) });
        Some(())
    }

    /// What a word copies, and from where along a row on it is something else, the same everywhere.
    fn source<'b>(
        &self,
        word: &'b Word,
        along: Var,
        across: Option<Var>,
    ) -> Option<(&'b Access, Option<(&'b Ix, &'b Word)>)> {
        match word {
            Word::Load(from) => Some((from, None)),
            Word::If(guard, cell, other) => {
                let (Guard::Cmp(Rel::Lt, Ix::Var(v), end), Word::Load(from)) = (&**guard, &**cell) else { return None };
                let fixed = |live: Live| !live.vars.contains(&along) && across.is_none_or(|v| !live.vars.contains(&v));
                let same = fixed(Live::of_ix(end)) && fixed(Live::of_word(other)) && !self.reads(other, along);
                (*v == along && same).then_some((from, Some((end, &**other))))
            }
            _ => None,
        }
    }
}
