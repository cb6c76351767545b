//! Vector statements: lanes that store, assign and name vectors, masks, rows of vectors, and what they read.
//!
//! No two active lanes write one cell and none reads what another one writes: what is written is read at the lane's own cell
//! or not at all. What a lane that takes no part would touch is often outside its array, which is what a mask is for.

use super::coverage::{operations, result};
use super::{Cells, Draw, Lending, Mut, Use, bx, cell, plus, words};
use cachet_core::ir::{
    Block, BlockPart, Device, Domain, Elem, Grid, Guard, Ix, Layout, LayoutOp, Lit, Local, LocalInfo, Prim, PureId,
    Rel, Role, Stmt, StmtKind, Ty, Var, VarInfo, VarKind, Window, Word,
};

/// How many lanes: powers of two, what is between them, and one.
const LANES: [i64; 13] = [1, 2, 3, 4, 4, 5, 7, 8, 8, 12, 16, 17, 33];
/// What a wide array has beside a size.
const ROOM: i64 = 20;
/// Most rows of an array of vectors.
const MOST_ROWS: i64 = 5;

/// A vector in scope, or an array of them.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) local: Local,
    pub(super) elem: Elem,
    pub(super) rows: Vec<i64>,
    pub(super) lanes: i64,
    /// Whether it may be assigned here.
    pub(super) assigned: bool,
}

/// The vector statement that is being drawn.
pub(super) struct Lane {
    var: Var,
    count: i64,
    /// How many take part.
    active: Ix,
    /// The cell that is written, as a word: a lane may read its own.
    own: Option<Word>,
    /// An index along an axis of this extent that the active lanes stay inside of.
    along: Option<(Ix, Ix)>,
}

/// The cells of lanes, how many lanes have one, and the axis that they lie along with the index there.
pub(super) type LaneCells = (Vec<Ix>, Option<Ix>, (Ix, Ix));

impl Lane {
    pub(super) fn whole(var: Var, count: i64) -> Lane {
        Lane { var, count, active: Ix::Lit(count), own: None, along: None }
    }
}

impl Draw<'_> {
    /// Arrays that have room for vectors.
    pub(super) fn wide_arrays(&mut self, lending: &mut Vec<Lending>) {
        let elem = self.pick(&self.vector_elems());
        for role in [Role::Reads, Role::Mut, Role::Mut] {
            let e = if self.random.once_in(4) { self.pick(&self.vector_elems()) } else { elem };
            let size = Ix::Var(self.pick(&self.sizes.clone()));
            let wide = self.pick(&[plus(size.clone(), ROOM), plus(size.clone(), ROOM), size, Ix::Lit(ROOM + 4)]);
            let short = self.pick(&[Ix::Lit(MOST_ROWS), Ix::Lit(3)]);
            let extents = self.pick(&[vec![wide.clone()], vec![short.clone(), wide.clone()], vec![wide, short]]);
            let cells = self.param(&Ty::Elem(e), extents, role);
            match role {
                Role::Mut => lending.push(self.written(cells)),
                Role::Reads | Role::Alloc | Role::Lease(_) => {
                    self.buffers.push(cells);
                    lending.push(Lending::Filled);
                }
            }
        }
        self.wide = true;
    }

    /// An array of one's own with room for vectors, in a layout where there are words for that; some of it stored at once.
    pub(super) fn wide_allocation(&mut self, out: &mut Block) {
        let elem = self.lane_elem();
        let wide = self.pick(&[plus(Ix::Var(self.sizes[0]), ROOM), Ix::Lit(ROOM + 4)]);
        let extents = self.pick(&[vec![wide.clone()], vec![Ix::Lit(3), wide]]);
        let cells = self.allocated(&Ty::Elem(elem), extents, true, out);
        let others = self.buffers.clone();
        self.buffers.retain(|b| b.buffer == cells.buffer || b.writes && b.ty == cells.ty && b.only.is_none());
        for _ in 0..2 {
            self.vector_store(out);
        }
        self.buffers = others;
    }

    fn vector_elems(&self) -> Vec<Elem> {
        let mut all = super::ELEMS.to_vec();
        all.extend([Elem::F32, Elem::F32, Elem::F32, Elem::F64, Elem::F64, Elem::I32, Elem::I32, Elem::I64]);
        all
    }

    /// One vector statement, or a few that belong together.
    pub(super) fn vector(&mut self, out: &mut Block) {
        match self.below(13) {
            10.. => self.instruction(out),
            9 if !self.in_grid && self.loops == 0 => self.rows_at_once(out),
            0 | 1 => self.vector_let(out),
            2 => self.vector_var(out),
            3 => self.vector_assign(out),
            4..7 => self.vector_store(out),
            7 => self.strips(out),
            _ if self.loops < 2 => self.tile(out),
            _ => self.vector_store(out),
        }
    }

    pub(super) fn lane_var(&mut self, count: i64) -> Var {
        let name = self.name("l");
        self.fun.vars.push(VarInfo { name, kind: VarKind::Lane(count) });
        Var(self.fun.vars.len() as u32 - 1)
    }

    pub(super) fn held(&mut self, letter: &str, elem: Elem, rows: &[i64], lanes: i64, mutable: bool) -> Held {
        let name = self.name(letter);
        let dims = rows.iter().copied().chain([lanes]).collect();
        self.fun.locals.push(LocalInfo { name, ty: Ty::Elem(elem), dims, vector: true, mutable });
        let local = Local(self.fun.locals.len() as u32 - 1);
        Held { local, elem, rows: rows.to_vec(), lanes, assigned: mutable }
    }

    /// A type that an array here has, mostly.
    fn lane_elem(&mut self) -> Elem {
        let there: Vec<Elem> = self
            .buffers
            .iter()
            .filter_map(|b| match b.ty {
                Ty::Elem(e) if b.only.is_none() => Some(e),
                Ty::Elem(_) | Ty::Tuple(_) | Ty::Abstract(_) => None,
            })
            .collect();
        match there.is_empty() || self.random.once_in(6) {
            true => self.pick(&self.vector_elems()),
            false => self.pick(&there),
        }
    }

    fn vector_let(&mut self, out: &mut Block) {
        let (elem, count) = (self.lane_elem(), self.pick(&LANES));
        let held = self.held("w", elem, &[], count, false);
        out.extend(self.vector_filled(held.local, elem, count));
        self.vectors.push(held);
    }

    pub(super) fn vector_filled(&mut self, local: Local, elem: Elem, count: i64) -> [Stmt; 2] {
        let lane = Lane::whole(self.lane_var(count), count);
        let word = self.lane_word(&lane, elem, 2);
        let zero = Word::Lit(Lit { elem, bits: 0 });
        let assign = StmtKind::Assign { local, at: vec![Ix::Var(lane.var)], word };
        [stmt(StmtKind::Var { local, init: zero }), over(&lane, assign)]
    }

    fn vector_var(&mut self, out: &mut Block) {
        let (elem, count) = (self.lane_elem(), self.pick(&LANES));
        let rows: Vec<i64> = if self.random.once_in(2) { vec![] } else { vec![self.random.between(1, MOST_ROWS)] };
        let init = self.leaf(&Ty::Elem(elem));
        let held = self.held("x", elem, &rows, count, true);
        out.push(stmt(StmtKind::Var { local: held.local, init }));
        self.known_vector(held);
    }

    /// A vector that may be assigned is also an array, whose cells are read and written one by one.
    fn known_vector(&mut self, held: Held) {
        if self.what == Use::Native && self.random.once_in(2) {
            let dims = held.rows.iter().copied().chain([held.lanes]).collect();
            self.muts.push(Mut { local: held.local, ty: Ty::Elem(held.elem), dims, assigned: true });
        }
        self.vectors.push(held);
    }

    fn vector_assign(&mut self, out: &mut Block) {
        let all: Vec<Held> = self.vectors.iter().filter(|v| v.assigned).cloned().collect();
        if all.is_empty() {
            return self.vector_var(out);
        }
        let to = self.pick(&all);
        let rows = self.inside(&to.rows);
        let assign = self.assigned(&to, rows, 2);
        out.push(assign);
    }

    /// A vector, or some of its lanes, assigned.
    fn assigned(&mut self, to: &Held, rows: Vec<Ix>, depth: usize) -> Stmt {
        let text = self.what == Use::Text;
        let count = if text || !self.random.once_in(4) { to.lanes } else { self.pick(&LANES).min(to.lanes) };
        let mut lane = Lane::whole(self.lane_var(count), count);
        if !text {
            lane.active = self.active(count);
        }
        // Lanes that take no part may have no cell.
        let most = to.lanes - if let Ix::Lit(n) = lane.active { n } else { count };
        let from = if text || most == 0 { 0 } else { self.random.between(0, most) };
        let at: Vec<Ix> = rows.into_iter().chain([at_lane(Ix::Lit(from), &lane)]).collect();
        lane.own = Some(Word::Local(to.local, at.clone()));
        let (vectors, muts) = (self.vectors.clone(), self.muts.clone());
        self.vectors.retain(|v| v.local != to.local);
        self.muts.retain(|m| m.local != to.local);
        let word = self.lane_word(&lane, to.elem, depth);
        (self.vectors, self.muts) = (vectors, muts);
        over(&lane, StmtKind::Assign { local: to.local, at, word })
    }

    /// What may be written along an axis, cell after cell.
    fn targets(&self) -> Vec<Cells> {
        let elem = |c: &&Cells| matches!(c.ty, Ty::Elem(_));
        self.buffers.iter().filter(|b| b.writes && b.only.is_none()).filter(elem).cloned().collect()
    }

    fn vector_store(&mut self, out: &mut Block) {
        let all = self.targets();
        if all.is_empty() {
            return self.vector_let(out);
        }
        let (to, count) = (self.pick(&all), self.pick(&LANES));
        let mut lane = Lane::whole(self.lane_var(count), count);
        let Some((at, limit, along)) = self.cells_of(&to, &lane) else { return self.vector_let(out) };
        lane.active = self.active(count);
        if let Some(limit) = limit {
            lane.active = match self.random.once_in(3) {
                true => Ix::Min(bx(limit), bx(lane.active)),
                false => limit,
            };
        }
        lane.along = Some(along);
        let store = self.stored(&to, at, lane, 2);
        out.push(store);
    }

    fn stored(&mut self, to: &Cells, at: Vec<Ix>, mut lane: Lane, depth: usize) -> Stmt {
        let Ty::Elem(elem) = to.ty else { panic!("lanes of a tuple") };
        let to_cell = cell(to.buffer, at);
        lane.own = to.reads.then(|| Word::Load(to_cell.clone()));
        let buffers = self.buffers.clone();
        self.buffers.retain(|b| b.buffer != to.buffer);
        let word = self.lane_word(&lane, elem, depth);
        self.buffers = buffers;
        over(&lane, StmtKind::Store { to: to_cell, word })
    }

    /// How many lanes take part: all, a number, or what turns out.
    fn active(&mut self, count: i64) -> Ix {
        match self.below(8) {
            0 => Ix::Lit(self.random.between(0, count)),
            1 => Ix::Mod(bx(self.ix(1)), count + 1),
            2 => clamped(self.ix(1), count),
            3 if !self.blocks.is_empty() => {
                Ix::Min(bx(Ix::Block(self.pick(&self.blocks.clone()), BlockPart::Len)), bx(Ix::Lit(count)))
            }
            _ => Ix::Lit(count),
        }
    }

    /// Where the lanes' cells of an array are; how many lanes have one, where not all of them are sure to; and the axis with
    /// the index along it.
    pub(super) fn cells_of(&mut self, of: &Cells, lane: &Lane) -> Option<LaneCells> {
        let last = of.extents.len() - 1;
        let axis = if last > 0 && self.random.once_in(6) { self.below(last + 1) } else { last };
        let extent = of.extents[axis].clone();
        let (room, size) = match &extent {
            Ix::Lit(n) => (*n, None),
            Ix::Var(v) => (0, Some(*v)),
            Ix::Add(v, n) => match (&**v, &**n) {
                (Ix::Var(v), Ix::Lit(n)) => (*n, Some(*v)),
                _ => (0, None),
            },
            _ => (0, None),
        };
        let along: Vec<Var> = self.over.iter().filter(|(_, s)| Some(*s) == size).map(|(i, _)| *i).collect();
        let (base, limit) = match room >= lane.count && !self.random.once_in(4) {
            true => {
                let most = room - lane.count;
                let base = match self.random.once_in(2) {
                    true => Ix::Lit(self.random.between(0, most)),
                    false => Ix::Mod(bx(self.ix(1)), most + 1),
                };
                match along.is_empty() || self.random.once_in(2) {
                    true => (base, None),
                    false => (Ix::Add(bx(Ix::Var(self.pick(&along))), bx(base)), None),
                }
            }
            false => {
                let base = match along.is_empty() || self.random.once_in(2) {
                    true => self.pick(&[Ix::Lit(0), Ix::Lit(1), Ix::Lit(3), Ix::Lit(8)]),
                    false => Ix::Var(self.pick(&along)),
                };
                let left = Ix::Sub(bx(extent.clone()), bx(base.clone()));
                (base, Some(clamped(left, lane.count)))
            }
        };
        let ix = match limit.is_none() && lane.count <= room && self.what == Use::Native && self.random.once_in(16) {
            // From the last one to the first: no vector is like that.
            true => Ix::Sub(bx(Ix::Lit(lane.count - 1)), bx(Ix::Var(lane.var))),
            false => at_lane(base, lane),
        };
        let mut at = Vec::new();
        for (n, e) in of.extents.clone().iter().enumerate() {
            at.push(if n == axis { ix.clone() } else { self.within(e)? });
        }
        Some((at, limit, (extent, ix)))
    }

    /// A lane's word.
    fn lane_word(&mut self, lane: &Lane, elem: Elem, depth: usize) -> Word {
        if depth == 0 || self.random.once_in(5) {
            return self.lane_leaf(lane, elem);
        }
        let down = depth - 1;
        match self.below(8) {
            0 => {
                let guard = self.lane_choice(lane);
                Word::If(bx(guard), bx(self.lane_word(lane, elem, down)), bx(self.lane_word(lane, elem, down)))
            }
            1 => self.lane_application(lane, elem, down),
            _ => {
                let text = self.what == Use::Text;
                let unsigned = matches!(elem, Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8);
                let gives = |(prim, of): &(Prim, Elem)| {
                    result(*prim, *of) == elem && !(text && unsigned && matches!(prim, Prim::Neg | Prim::Abs))
                };
                let all: Vec<(Prim, Elem)> = operations().into_iter().filter(gives).collect();
                let usual: Vec<(Prim, Elem)> = all.iter().filter(|(p, _)| is_usual(*p)).copied().collect();
                if text && usual.is_empty() {
                    return self.lane_leaf(lane, elem);
                }
                let (prim, of) = match usual.is_empty() || !text && self.random.once_in(6) {
                    true => self.pick(&all),
                    false => self.pick(&usual),
                };
                let types = self.operands(prim, of);
                words::op(prim, types.into_iter().map(|e| self.lane_word(lane, e, down)).collect())
            }
        }
    }

    /// A guard for all lanes, or the first so many.
    fn lane_choice(&mut self, lane: &Lane) -> Guard {
        match self.what == Use::Native && self.random.once_in(2) {
            true => Guard::Cmp(Rel::Lt, Ix::Var(lane.var), self.ix(1)),
            false => self.guard(1),
        }
    }

    fn lane_application(&mut self, lane: &Lane, elem: Elem, depth: usize) -> Word {
        let own = |n: usize| self.program.impls.iter().any(|i| i.methods.contains(&PureId(n as u32)));
        let text = self.what == Use::Text;
        let fits = |(n, p): &(usize, &cachet_core::ir::Pure)| {
            let elems = p.params.iter().all(|l| matches!(p.locals[l.index()].ty, Ty::Elem(_)));
            p.result == Ty::Elem(elem) && !p.params.is_empty() && elems && !(text && own(*n))
        };
        let all: Vec<usize> = self.program.pures.iter().enumerate().filter(fits).map(|(n, _)| n).collect();
        if all.is_empty() {
            return self.lane_leaf(lane, elem);
        }
        let which = self.pick(&all);
        let pure = &self.program.pures[which];
        let types: Vec<Elem> = pure
            .params
            .iter()
            .filter_map(|p| match pure.locals[p.index()].ty {
                Ty::Elem(e) => Some(e),
                Ty::Abstract(_) | Ty::Tuple(_) => None,
            })
            .collect();
        Word::Apply(PureId(which as u32), types.into_iter().map(|e| self.lane_word(lane, e, depth)).collect())
    }

    fn lane_leaf(&mut self, lane: &Lane, elem: Elem) -> Word {
        let native = self.what == Use::Native;
        match self.below(12) {
            0 | 1 => {
                if let Some(own) = lane.own.clone().filter(|w| self.type_is(w, elem)) {
                    return own;
                }
            }
            2..5 => {
                if let Some(word) = self.lane_of_vector(lane, elem) {
                    return word;
                }
            }
            5..9 => {
                if let Some(word) = self.lane_load(lane, elem) {
                    return word;
                }
            }
            9 if native => {
                self.indices.push(lane.var);
                let word = self.leaf(&Ty::Elem(elem));
                self.indices.retain(|i| *i != lane.var);
                return word;
            }
            _ => {}
        }
        self.leaf(&Ty::Elem(elem))
    }

    fn type_is(&self, word: &Word, elem: Elem) -> bool {
        crate::parts::type_of(self.program, &self.fun, word) == Some(Ty::Elem(elem))
    }

    /// The lane's own of a vector, or of some lanes of a longer one.
    fn lane_of_vector(&mut self, lane: &Lane, elem: Elem) -> Option<Word> {
        let native = self.what == Use::Native;
        let needed = if let Ix::Lit(n) = lane.active { n } else { lane.count };
        let fits = |v: &&Held| v.elem == elem && (v.lanes == lane.count || native && v.lanes >= needed.max(1));
        let all: Vec<Held> = self.vectors.iter().filter(fits).cloned().collect();
        if all.is_empty() {
            return None;
        }
        let v = self.pick(&all);
        let from = if native { self.random.between(0, v.lanes - needed) } else { 0 };
        let rows = self.inside(&v.rows);
        Some(Word::Local(v.local, rows.into_iter().chain([at_lane(Ix::Lit(from), lane)]).collect()))
    }

    /// Neighbours in an array; those that may be outside are not read.
    fn lane_load(&mut self, lane: &Lane, elem: Elem) -> Option<Word> {
        let fits = |b: &&Cells| b.reads && b.only.is_none() && b.ty == Ty::Elem(elem);
        let all: Vec<Cells> = self.buffers.iter().filter(fits).cloned().collect();
        if all.is_empty() {
            return None;
        }
        let from = self.pick(&all);
        // Where the written array's lanes stay inside, those of one as long do.
        if let Some((extent, ix)) = &lane.along
            && from.extents.last() == Some(extent)
            && !self.random.once_in(3)
        {
            let mut at = Vec::new();
            for e in &from.extents[..from.extents.len() - 1] {
                at.push(self.within(e)?);
            }
            at.push(ix.clone());
            return Some(Word::Load(cell(from.buffer, at)));
        }
        let (at, limit, _) = self.cells_of(&from, lane)?;
        let load = Word::Load(cell(from.buffer, at));
        let limit = match (limit, self.random.once_in(3)) {
            (None, false) => return Some(load),
            (None, true) => self.active(lane.count),
            (Some(limit), _) => limit,
        };
        let guard = Guard::Cmp(Rel::Lt, Ix::Var(lane.var), limit);
        let other = match self.what == Use::Native && self.random.once_in(4) {
            true => self.lane_leaf(lane, elem),
            false => self.leaf(&Ty::Elem(elem)),
        };
        Some(Word::If(bx(guard), bx(load), bx(other)))
    }

    /// The whole of an axis in vectors, block after block, the last one masked.
    fn strips(&mut self, out: &mut Block) {
        let all = self.targets();
        if all.is_empty() || self.loops > 2 {
            return self.vector_let(out);
        }
        let (to, count) = (self.pick(&all), self.pick(&LANES));
        let last = to.extents.len() - 1;
        let g = self.var("g", VarKind::Block);
        let domain = Domain::Blocks { lo: Ix::Lit(0), hi: to.extents[last].clone(), size: count };
        let mut at = Vec::new();
        for e in &to.extents[..last] {
            let Some(ix) = self.within(e) else { return self.vector_let(out) };
            at.push(ix);
        }
        let mut lane = Lane::whole(self.lane_var(count), count);
        let ix = Ix::InBlock(g, bx(Ix::Var(lane.var)));
        at.push(ix.clone());
        lane.active = Ix::Block(g, BlockPart::Len);
        lane.along = Some((to.extents[last].clone(), ix));
        self.blocks.push(g);
        self.loops += 1;
        let body = vec![self.stored(&to, at, lane, 2)];
        self.loops -= 1;
        self.blocks.retain(|b| *b != g);
        out.push(stmt(StmtKind::For { var: g, domain, body }));
    }

    /// A grid whose iterations each have a row.
    fn rows_at_once(&mut self, out: &mut Block) {
        let two: Vec<Cells> = self.targets().into_iter().filter(|c| c.extents.len() == 2).collect();
        if two.is_empty() {
            return self.vector_store(out);
        }
        let own = self.pick(&two);
        let before = (self.buffers.clone(), self.muts.clone(), self.vectors.clone(), self.lets.len());
        let i = self.var("i", VarKind::Index);
        self.indices.push(i);
        self.in_grid = true;
        self.loops += 1;
        self.buffers.iter_mut().for_each(|b| b.writes = false);
        self.buffers.retain(|b| b.buffer != own.buffer);
        self.muts.iter_mut().for_each(|m| m.assigned = false);
        self.vectors.iter_mut().for_each(|v| v.assigned = false);
        let mut body = Vec::new();
        for _ in 0..self.below(3) {
            match self.random.once_in(2) {
                true => self.vector_let(&mut body),
                false => self.vector_assign(&mut body),
            }
        }
        for _ in 0..1 + self.below(2) {
            let count = self.pick(&LANES);
            let mut lane = Lane::whole(self.lane_var(count), count);
            let row = Cells { extents: vec![own.extents[1].clone()], ..own.clone() };
            let Some((at, limit, along)) = self.cells_of(&row, &lane) else { continue };
            lane.active = limit.unwrap_or(Ix::Lit(count));
            lane.along = Some(along);
            body.push(self.stored(&own, [vec![Ix::Var(i)], at].concat(), lane, 2));
        }
        self.loops -= 1;
        self.in_grid = false;
        self.indices.retain(|v| *v != i);
        (self.buffers, self.muts, self.vectors) = (before.0, before.1, before.2);
        self.lets.truncate(before.3);
        if body.is_empty() {
            return;
        }
        let axes = vec![(i, Domain::Range { lo: Ix::Lit(0), hi: own.extents[0].clone() })];
        let window = vec![(Ix::Var(i), Ix::Lit(1)), (Ix::Lit(0), own.extents[1].clone())];
        let writes = vec![Window { buffer: own.buffer, axes: window }];
        out.push(stmt(StmtKind::Grid(bx(Grid { device: Device::HOST, level: 0, axes, writes, body }))));
    }

    /// Rows of vectors that start from somewhere, go on over a loop, and are stored.
    fn tile(&mut self, out: &mut Block) {
        let wide: Vec<Cells> = self.targets().into_iter().filter(|c| c.extents.len() == 2).collect();
        if wide.is_empty() {
            return self.vector_store(out);
        }
        let to = self.pick(&wide);
        let Ty::Elem(elem) = to.ty else { return };
        let (count, rows) = (self.pick(&LANES), self.random.between(1, MOST_ROWS));
        let bound = match self.below(5) {
            0 => Ix::Lit(rows),
            1 => Ix::Mod(bx(self.ix(1)), rows + 1),
            2 if !self.blocks.is_empty() => {
                Ix::Min(bx(Ix::Block(self.pick(&self.blocks.clone()), BlockPart::Len)), bx(Ix::Lit(rows)))
            }
            _ => Ix::Min(bx(Ix::Var(self.pick(&self.sizes.clone()))), bx(Ix::Lit(rows))),
        };
        let init = self.leaf(&Ty::Elem(elem));
        let tile = self.held("x", elem, &[rows], count, true);
        out.push(stmt(StmtKind::Var { local: tile.local, init }));
        self.known_vector(tile.clone());
        if self.random.once_in(2) {
            let started = self.each_row(&bound, |d, i| vec![d.assigned(&tile, vec![Ix::Var(i)], 1)]);
            out.push(started);
        }
        out.push(self.summed(&tile, &bound));
        let stored = self.each_row(&bound, |d, i| d.row_stored(&tile, &to, i));
        out.push(stored);
    }

    fn each_row(&mut self, bound: &Ix, body: impl FnOnce(&mut Self, Var) -> Block) -> Stmt {
        let i = self.var("i", VarKind::Index);
        self.indices.push(i);
        self.loops += 1;
        let body = body(self, i);
        self.loops -= 1;
        self.indices.retain(|v| *v != i);
        stmt(StmtKind::For { var: i, domain: Domain::Range { lo: Ix::Lit(0), hi: bound.clone() }, body })
    }

    /// A loop in which every row goes on from what it was.
    fn summed(&mut self, tile: &Held, bound: &Ix) -> Stmt {
        let (k, domain) = self.enter();
        let mut body: Block = Vec::new();
        let scope = self.vectors.len();
        let shared = self.held("w", tile.elem, &[], tile.lanes, false);
        body.extend(self.vector_filled(shared.local, tile.elem, tile.lanes));
        self.vectors.push(shared);
        let rows = self.each_row(bound, |d, i| {
            let mut inside: Block = Vec::new();
            let row = d.held("w", tile.elem, &[], tile.lanes, false);
            let lane = Lane::whole(d.lane_var(tile.lanes), tile.lanes);
            let word = d.leaf(&Ty::Elem(tile.elem));
            inside.push(stmt(StmtKind::Var { local: row.local, init: Word::Lit(Lit { elem: tile.elem, bits: 0 }) }));
            inside.push(over(&lane, StmtKind::Assign { local: row.local, at: vec![Ix::Var(lane.var)], word }));
            d.vectors.push(row);
            inside.push(d.assigned(tile, vec![Ix::Var(i)], 2));
            d.vectors.pop();
            inside
        });
        body.push(rows);
        self.vectors.truncate(scope);
        self.leave(k, &domain);
        stmt(StmtKind::For { var: k, domain, body })
    }

    /// A row of a tile to a row of an array, where there is room for it.
    fn row_stored(&mut self, tile: &Held, to: &Cells, i: Var) -> Block {
        let mut lane = Lane::whole(self.lane_var(tile.lanes), tile.lanes);
        let Some((mut at, limit, along)) = self.cells_of(to, &lane) else { return vec![] };
        if let (Some(Ix::Lit(n)), true) = (to.extents.first(), along.0 == to.extents[1])
            && *n >= tile.rows[0]
        {
            at[0] = Ix::Var(i);
        }
        if let Some(limit) = limit {
            lane.active = limit;
        }
        let word = Word::Local(tile.local, vec![Ix::Var(i), Ix::Var(lane.var)]);
        vec![over(&lane, StmtKind::Store { to: cell(to.buffer, at), word })]
    }

    /// Another order in memory, for an array of one's own.
    pub(super) fn layout(&mut self, rank: usize) -> Layout {
        let split = |axis: usize, by: i64| LayoutOp::Split { axis: axis as u32, by, pad: true, back: false };
        let by = self.pick(&[1, 2, 3, 4, 8, 16, 5]);
        let mut ops = match (rank, self.below(4)) {
            (1, _) => vec![split(0, by)],
            (_, 0) => vec![],
            (_, 1) => vec![split(0, by)],
            (_, 2) => vec![split(1, by)],
            _ => vec![split(1, by), split(0, 2)],
        };
        let axes = rank + ops.len();
        let mut order: Vec<u32> = (0..axes as u32).collect();
        for n in (1..axes).rev() {
            order.swap(n, self.below(n + 1));
        }
        ops.push(LayoutOp::Order(order));
        Layout::Named { name: "Drawn".into(), ops }
    }

    /// Another name for an array, under which it is used to the end of the block.
    pub(super) fn lease(&mut self, out: &mut Block) {
        if self.buffers.is_empty() {
            return;
        }
        let of = self.pick(&self.buffers.clone());
        let mutable = of.writes && self.random.once_in(2);
        let mut info = self.fun.buffers[of.buffer.index()].clone();
        info.name = self.name("t");
        // A listing on its own names no machine.
        if self.what == Use::Native {
            info.level.name = "L1".into();
        }
        info.role = Role::Lease(of.buffer);
        self.fun.buffers.push(info);
        let lease = cachet_core::ir::Buffer(self.fun.buffers.len() as u32 - 1);
        out.push(stmt(StmtKind::Lease { lease, of: of.buffer, mutable }));
        self.buffers.retain(|b| b.buffer != of.buffer);
        self.buffers.push(Cells { buffer: lease, writes: mutable, ..of });
    }
}

/// Operations that have a vector form, or mostly.
fn is_usual(prim: Prim) -> bool {
    use Prim::{Abs, Add, Div, Fma, Max, Min, Mul, Neg, Sqrt, Sub, WrappingAdd, WrappingMul, WrappingSub};
    matches!(prim, Add | Sub | Mul | Div | WrappingAdd | WrappingSub | WrappingMul)
        || matches!(prim, Fma | Max | Min | Neg | Abs | Sqrt)
}

/// From nothing to so many.
fn clamped(ix: Ix, most: i64) -> Ix {
    Ix::Max(bx(Ix::Min(bx(ix), bx(Ix::Lit(most)))), bx(Ix::Lit(0)))
}

fn at_lane(first: Ix, lane: &Lane) -> Ix {
    cachet_core::vectors::at_lane(first, Ix::Var(lane.var))
}

fn over(lane: &Lane, kind: StmtKind) -> Stmt {
    let domain = Domain::Range { lo: Ix::Lit(0), hi: lane.active.clone() };
    stmt(StmtKind::For { var: lane.var, domain, body: vec![stmt(kind)] })
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: cachet_core::ir::At::default() }
}
