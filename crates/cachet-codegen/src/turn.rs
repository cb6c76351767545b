//! How is memory read against its rows? Squares of it are turned in registers.
//!
//! Where the lanes of a vector lie a row apart, and the loop around walks along the rows, as many iterations as there are
//! lanes are taken together: a piece of each row is loaded as a vector, the square is transposed by shuffles, and each
//! iteration has its column. So is a copy whose source lies along one loop and whose destination along the other.
//!
//! Words are moved and nothing is computed, so no bit changes. What is read ahead is read by a later iteration anyway,
//! and only where no statement of the loop writes the array. At the end of a row loads are masked; a copy's edges are copied
//! one by one.

use crate::function::{Index, Lower, Outcome};
use crate::lanes::{Piece, Vector, of};
use crate::memory::Bounds;
use crate::types::{memory, register};
use cachet_core::ir::{Access, Block, Buffer, Domain, Elem, Fun, Guard, Ix, Rel, Role, Stmt, StmtKind, Ty, Var, Word};
use cachet_core::rewrite::{Live, Visit, visit_block, visit_stmt};
use cachet_core::vectors;

/// The most lanes of a square: half of its vectors stay in registers while the other half is made.
pub(crate) const MOST: i64 = 16;
/// The fewest bytes of a piece of a row that are worth it.
pub(crate) const LEAST_BYTES: i64 = 16;
/// How far ahead of itself a row is asked for: rows lie apart, and processors foresee a few of them only.
const AHEAD_BYTES: i64 = 384;
/// The most rows that are read ahead in one loop.
const MOST_ROWS: i64 = 256;

/// A load whose lanes lie in different rows.
#[derive(Clone)]
struct Across {
    access: Access,
    lane: Var,
    lanes: i64,
    /// How many of the lanes are loaded.
    active: Ix,
    elem: Elem,
}

/// Columns that have been turned, for the iterations that are being written.
#[derive(Clone)]
pub(crate) struct Turned {
    access: Access,
    lane: Var,
    offset: i64,
    width: i64,
    elem: Elem,
    /// One for each iteration.
    columns: Vec<String>,
}

impl Lower<'_, '_> {
    /// A loop that walks along rows of which its vectors hold a cell each; false where it does not.
    pub(crate) fn turned(&mut self, var: Var, domain: &Domain, body: &Block) -> Outcome<bool> {
        let Domain::Range { lo, hi } = domain else { return Ok(false) };
        let Some((width, loads)) = self.across(var, body) else { return Ok(false) };
        let (lo, hi) = (self.ix(lo)?, self.ix(hi)?);
        // Lanes that are not there are read where the last one is: there has to be one.
        let mut some = String::from("true");
        for load in &loads {
            if self.known.value(&load.active).is_some() {
                continue;
            }
            let active = self.ix(&load.active)?;
            let here = self.em.def(format_args!("icmp sgt i64 {active}, 0"));
            some = if some == "true" { here } else { self.em.def(format_args!("and i1 {some}, {here}")) };
        }
        let length = self.em.def(format_args!("sub nsw i64 {hi}, {lo}"));
        let whole = self.em.def(format_args!("and i64 {length}, {}", -width));
        let whole = self.em.def(format_args!("call i64 @llvm.smax.i64(i64 {whole}, i64 0)"));
        let whole =
            if some == "true" { whole } else { self.em.def(format_args!("select i1 {some}, i64 {whole}, i64 0")) };
        let middle = self.add(&lo, &whole);
        self.loops.push((var, None));
        let done = self.squares(var, (&lo, &middle, width), &loads, body);
        let done = done.and_then(|()| self.rest(var, (&middle, &hi, &some, width), &loads, body));
        self.loops.pop();
        done?;
        Ok(true)
    }

    /// Iterations that make whole squares.
    fn squares(&mut self, var: Var, (lo, hi, width): (&str, &str, i64), loads: &[Across], body: &Block) -> Outcome<()> {
        self.range(lo, hi, width, &[], &mut |this, first, _| {
            this.bind_var(var, Index::Plain(first.into()));
            let before = this.turns.len();
            this.turn_all(var, loads, width, None)?;
            for n in 0..width {
                this.one_column(var, first, n, body)?;
            }
            this.turns.truncate(before);
            Ok(vec![])
        })?;
        Ok(())
    }

    /// The iterations that are left: the pieces of rows are masked, and fewer columns of the squares are used.
    fn rest(
        &mut self,
        var: Var,
        (lo, hi, some, width): (&str, &str, &str, i64),
        loads: &[Across],
        body: &Block,
    ) -> Outcome<()> {
        if !loads.iter().all(|l| self.module.masks(l.elem)) {
            return self.one_by_one(var, lo, hi, body);
        }
        let left = self.em.def(format_args!("sub nsw i64 {hi}, {lo}"));
        let few = self.em.def(format_args!("icmp sgt i64 {left}, 0"));
        let few = if some == "true" { few } else { self.em.def(format_args!("and i1 {few}, {some}")) };
        let (turn, plain, after) = (self.em.block(), self.em.block(), self.em.block());
        self.em.branch(&few, &turn, &plain);
        self.em.open(&turn);
        self.bind_var(var, Index::Plain(lo.into()));
        let before = self.turns.len();
        self.turn_all(var, loads, width, Some(&left))?;
        for n in 0..width - 1 {
            if n > 0 {
                let next = self.em.block();
                let more = self.em.def(format_args!("icmp sgt i64 {left}, {n}"));
                self.em.branch(&more, &next, &after);
                self.em.open(&next);
            }
            self.one_column(var, lo, n, body)?;
        }
        self.turns.truncate(before);
        self.em.jump(&after);
        self.em.open(&plain);
        if some != "true" {
            self.one_by_one(var, lo, hi, body)?;
        }
        self.em.jump(&after);
        self.em.open(&after);
        Ok(())
    }

    /// Turns the squares of the iterations from the one on that is bound.
    fn turn_all(&mut self, var: Var, loads: &[Across], width: i64, left: Option<&str>) -> Outcome<()> {
        for load in loads {
            for (offset, rows) in crate::lanes::pieces(load.lanes, self.module.lanes_of(load.elem)) {
                let columns = self.square(load, var, (offset, rows), width, left)?;
                let (access, lane, elem) = (load.access.clone(), load.lane, load.elem);
                self.turns.push(Turned { access, lane, offset, width: rows, elem, columns });
            }
        }
        Ok(())
    }

    /// The iteration that uses column `n` of the squares.
    fn one_column(&mut self, var: Var, first: &str, n: i64, body: &Block) -> Outcome<()> {
        let index = self.add(first, &n.to_string());
        self.bind_var(var, Index::Plain(index));
        self.turn = usize::try_from(n).unwrap_or(0);
        // What it declares is its own, and LLVM keeps none of it on the stack.
        let stack = self.stack;
        let done = self.block(body);
        self.stack = stack;
        done
    }

    fn one_by_one(&mut self, var: Var, lo: &str, hi: &str, body: &Block) -> Outcome<()> {
        self.range(lo, hi, 1, &[], &mut |this, index, _| {
            this.bind_var(var, Index::Plain(index.into()));
            this.block(body)?;
            Ok(vec![])
        })?;
        Ok(())
    }

    /// What has been turned of a load for the iteration that is being written.
    pub(crate) fn turned_load(&self, piece: &Piece<'_>, access: &Access) -> Option<Vector> {
        let same = |t: &&Turned| {
            let place = (t.lane, t.offset, t.width) == (piece.lane, piece.offset, piece.width);
            place && t.access.buffer == access.buffer && t.access.at == access.at
        };
        let found = self.turns.iter().rev().find(same)?;
        let name = found.columns.get(self.turn)?.clone();
        Some(Vector { elem: found.elem, name })
    }

    /// The loads of a loop's body that go from row to row with the lanes and along the rows with the loop, and how many
    /// iterations make a square.
    fn across(&self, var: Var, body: &Block) -> Option<(i64, Vec<Across>)> {
        let mut writes = Writes { fun: self.fun, roots: Vec::new(), calls: false };
        visit_block(&mut writes, body);
        if writes.calls || !self.turns.is_empty() {
            return None;
        }
        let mut found: Vec<Across> = Vec::new();
        for stmt in body {
            let Some(lanes) = vectors::of(&self.fun.vars, stmt) else { continue };
            let (StmtKind::Store { word, .. } | StmtKind::Assign { word, .. }) = &lanes.stmt.kind else { continue };
            let mut loads = Vec::new();
            loads_of(word, lanes.var, lanes.active, lanes.count, &mut loads);
            for (access, active) in loads {
                let info = self.fun.buffers.get(access.buffer.index())?;
                let Ty::Elem(elem) = info.elem else { continue };
                let apart = !writes.roots.contains(&root(self.fun, access.buffer));
                let there = self.known.value(&active).is_none_or(|n| n > 0);
                let known = there && Live::of_ix(&active).vars.iter().all(|v| *v != var && *v != lanes.var);
                let vector = elem != Elem::Bool && memory(elem) == register(elem);
                if apart && known && vector && self.turns_with(var, lanes.var, &access, elem) {
                    found.push(Across { access, lane: lanes.var, lanes: lanes.count, active, elem });
                }
            }
        }
        let width = found.iter().map(|l| self.side(l.elem)).min()?;
        let rows: i64 = found.iter().map(|l| l.lanes).sum();
        (width >= 2 && rows <= MOST_ROWS).then_some((width, found))
    }

    /// How many lanes a square of an element has.
    fn side(&self, elem: Elem) -> i64 {
        self.module.lanes_of(elem).min(MOST)
    }

    /// Whether a load follows its row with a loop, and changes the row with the lanes.
    fn turns_with(&self, var: Var, lane: Var, access: &Access, elem: Elem) -> bool {
        let Ok(buffer) = self.buffer(access.buffer) else { return false };
        let side = self.side(elem);
        let along = |v: Var| {
            let piece = Piece { lane: v, offset: 0, width: side, mask: None };
            self.lane_place(&piece, buffer, &access.at).is_some()
        };
        let axes = |v: Var| access.at.iter().filter(|ix| vectors::varies(ix, v)).count();
        side * elem.bytes() as i64 >= LEAST_BYTES && axes(var) == 1 && axes(lane) == 1 && along(var) && !along(lane)
    }

    /// The columns of the rows `offset .. offset + rows`, each of the next `width` iterations its own. Where `left` says how
    /// many iterations there are, the others' columns are nothing.
    fn square(
        &mut self,
        load: &Across,
        var: Var,
        (offset, rows): (i64, i64),
        width: i64,
        left: Option<&str>,
    ) -> Outcome<Vec<String>> {
        let buffer = self.buffer(load.access.buffer)?.clone();
        let side = rows.min(width);
        let known = self.known.value(&load.active);
        let last = match known {
            Some(_) => None,
            None => {
                let active = self.ix(&load.active)?;
                Some(self.em.def(format_args!("add nsw i64 {active}, -1")))
            }
        };
        let piece = Piece { lane: var, offset: 0, width, mask: None };
        let mut at = Vec::new();
        for row in offset..offset + rows {
            let index = match (&last, known) {
                (Some(last), _) => self.min(last, &row.to_string()),
                (None, Some(active)) => row.min(active - 1).max(0).to_string(),
                (None, None) => row.to_string(),
            };
            self.bind_var(load.lane, Index::Plain(index));
            let Some(address) = self.lane_address(&piece, &buffer, &load.access.at, Bounds::Inside)? else {
                return Err(self.ill_formed("a row is no row"));
            };
            at.push(address);
        }
        let groups = width / side;
        let mut columns = Vec::new();
        for group in 0..groups {
            let mut halves: Vec<Vec<String>> = Vec::new();
            for rows in at.chunks(usize::try_from(side).unwrap_or(1)) {
                let loaded = self.pieces_of_rows(load.elem, rows, (group * side, side), left);
                halves.push(self.transposed(load.elem, loaded));
            }
            for n in 0..usize::try_from(side).unwrap_or(0) {
                let parts = halves.iter().filter_map(|h| h.get(n)).cloned().collect();
                columns.push(self.side_by_side(load.elem, parts, side));
            }
        }
        Ok(columns)
    }

    /// A piece of each row.
    fn pieces_of_rows(
        &mut self,
        elem: Elem,
        rows: &[String],
        (first, width): (i64, i64),
        left: Option<&str>,
    ) -> Vec<String> {
        let (scalar, ty, align) = (register(elem), of(elem, width), elem.bytes());
        let mask = left.map(|left| self.first_lanes(left, first, width));
        let mut out = Vec::new();
        for row in rows {
            let at = if first == 0 {
                row.clone()
            } else {
                self.em.def(format_args!("getelementptr inbounds {scalar}, ptr {row}, i64 {first}"))
            };
            out.push(match &mask {
                Some(mask) => self.masked_load(elem, width, &at, mask, "poison"),
                None => {
                    let ahead = self.em.def(format_args!("getelementptr i8, ptr {at}, i64 {AHEAD_BYTES}"));
                    self.em.line(format_args!("call void @llvm.prefetch.p0(ptr {ahead}, i32 0, i32 3, i32 1)"));
                    self.em.def(format_args!("load {ty}, ptr {at}, align {align}"))
                }
            });
        }
        out
    }

    /// A square's columns from its rows: first inside parts of 128 bits, which is where processors shuffle elements, then
    /// these parts as wholes.
    pub(crate) fn transposed(&mut self, elem: Elem, rows: Vec<String>) -> Vec<String> {
        let side = rows.len();
        let within = (16 / elem.bytes() as usize).clamp(1, side);
        let ty = of(elem, side as i64);
        let mut mixed: Vec<String> = Vec::new();
        for group in rows.chunks(within) {
            let mut group = group.to_vec();
            for _ in 0..within.ilog2() {
                let half = group.len() / 2;
                let pairs: Vec<(String, String)> =
                    (0..half).map(|n| (group[n].clone(), group[n + half].clone())).collect();
                group = pairs
                    .iter()
                    .flat_map(|(a, b)| {
                        [0, within / 2].map(|from| self.shuffled(&ty, a, b, &zipped(side, within, from)))
                    })
                    .collect();
            }
            mixed.extend(group);
        }
        let groups = side / within;
        let mut columns = vec![String::new(); side];
        for n in 0..within {
            let mut parts: Vec<String> = (0..groups).map(|g| mixed[g * within + n].clone()).collect();
            for _ in 0..groups.ilog2() {
                let mut next = vec![String::new(); groups];
                for pair in 0..groups / 2 {
                    let (a, b) = (parts[2 * pair].clone(), parts[2 * pair + 1].clone());
                    for odd in [0, 1] {
                        next[pair + odd * groups / 2] = self.shuffled(&ty, &a, &b, &every_other(side, within, odd));
                    }
                }
                parts = next;
            }
            for (g, part) in parts.into_iter().enumerate() {
                columns[g * within + n] = part;
            }
        }
        columns
    }

    pub(crate) fn shuffled(&mut self, ty: &str, a: &str, b: &str, lanes: &[usize]) -> String {
        let picked: Vec<String> = lanes.iter().map(|n| format!("i32 {n}")).collect();
        let count = picked.len();
        self.em.def(format_args!("shufflevector {ty} {a}, {ty} {b}, <{count} x i32> <{}>", picked.join(", ")))
    }

    /// Vectors of `width` lanes as one.
    fn side_by_side(&mut self, elem: Elem, mut parts: Vec<String>, mut width: i64) -> String {
        while parts.len() > 1 {
            let ty = of(elem, width);
            let lanes: Vec<usize> = (0..2 * usize::try_from(width).unwrap_or(0)).collect();
            parts = parts
                .chunks(2)
                .map(|pair| match pair {
                    [a, b] => self.shuffled(&ty, a, b, &lanes),
                    _ => pair.first().cloned().unwrap_or_default(),
                })
                .collect();
            width *= 2;
        }
        parts.pop().unwrap_or_default()
    }
}

/// In each part of `within` lanes, lanes of two vectors in turn, from the part's lane `from` on.
fn zipped(side: usize, within: usize, from: usize) -> Vec<usize> {
    let part = |p: usize| (0..within / 2).flat_map(move |n| [p + from + n, side + p + from + n]);
    (0..side).step_by(within).flat_map(part).collect()
}

/// Every other part of `within` lanes of two vectors, one after the other.
fn every_other(side: usize, within: usize, odd: usize) -> Vec<usize> {
    (0..2 * side / within).filter(|p| p % 2 == odd).flat_map(|p| p * within..(p + 1) * within).collect()
}

/// What a vector's word loads for lanes that are told apart by nothing but how many there are.
fn loads_of(word: &Word, lane: Var, active: &Ix, count: i64, out: &mut Vec<(Access, Ix)>) {
    match word {
        Word::Load(access) => out.push((access.clone(), active.clone())),
        Word::Op { args, .. } | Word::Apply(_, args) => {
            args.iter().for_each(|a| loads_of(a, lane, active, count, out));
        }
        Word::If(guard, a, _) => {
            if let Guard::Cmp(Rel::Lt, Ix::Var(v), end) = &**guard
                && *v == lane
                && (*active == Ix::Lit(count) || active == end)
            {
                loads_of(a, lane, end, count, out);
            }
        }
        Word::Lit(_)
        | Word::Index(..)
        | Word::Local(..)
        | Word::Tuple(_)
        | Word::Part(..)
        | Word::Let(..)
        | Word::Fold(_)
        | Word::Reduce(_)
        | Word::Differing(..) => {}
    }
}

/// The array that a name stands for.
pub(crate) fn root(fun: &Fun, mut b: Buffer) -> Buffer {
    while let Some(Role::Lease(of)) = fun.buffers.get(b.index()).map(|info| &info.role) {
        b = *of;
    }
    b
}

/// The arrays that statements write, and whether they call anything.
struct Writes<'a> {
    fun: &'a Fun,
    roots: Vec<Buffer>,
    calls: bool,
}

impl Visit for Writes<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Store { to, .. } => self.roots.push(root(self.fun, to.buffer)),
            StmtKind::Call(_) | StmtKind::Print(_) | StmtKind::Alloc(_) | StmtKind::Grid(_) => self.calls = true,
            StmtKind::For { .. }
            | StmtKind::If { .. }
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Lease { .. } => {}
        }
        visit_stmt(self, stmt);
    }
}
