//! How do vector statements become vector code?
//!
//! The lanes are cut into pieces of a power of two that the target has registers for: other lengths make LLVM go through
//! memory. A piece's word is computed as LLVM vectors, lane by lane the same operations as one lane's word; what all lanes
//! share is computed once and copied. A cell whose neighbours in the lanes are neighbours in memory is read and written as a
//! vector, others one by one. Inactive lanes touch no memory. What has no vector form here runs as the loop that it is.

use crate::function::{Index, Lower, Outcome, Place};
use crate::memory::{Bounds, Memory};
use crate::types::{Value, canonical_nan, constant, is_signed, memory, register};
use crate::word::suffix;
use cachet_core::ir::{Access, Elem, Fold, Guard, Ix, Local, Op, Prim, PureId, Rel, StmtKind, Ty, Var, Word};
use cachet_core::layout;
use cachet_core::rewrite::{Visit, visit_word};
use cachet_core::vectors::{self, Lanes};
use std::collections::BTreeMap;

/// How deep pure functions may be applied in one another in a vector word.
const MAX_APPLIED: usize = 16;

/// Lanes `offset .. offset + width` of a vector statement.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) lane: Var,
    pub(crate) offset: i64,
    pub(crate) width: i64,
    /// Which lanes take part; all of them where there is none.
    pub(crate) mask: Option<&'a str>,
}

/// A vector of a piece's width.
#[derive(Clone)]
pub(crate) struct Vector {
    pub(crate) elem: Elem,
    pub(crate) name: String,
}

/// Which lanes a word is computed for, and so whether all of its cells are there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// All of them.
    All,
    /// Those of a mask, of which there is one.
    Masked,
    /// Those that choose it, if there are any.
    Chosen,
}

/// Offset and width of each piece: powers of two, none wider than a register.
pub(crate) fn pieces(lanes: i64, most: i64) -> Vec<(i64, i64)> {
    let mut out = Vec::new();
    let (mut offset, mut width) = (0, most.max(1));
    while offset < lanes {
        while width > lanes - offset {
            width /= 2;
        }
        out.push((offset, width));
        offset += width;
    }
    out
}

impl Lower<'_, '_> {
    /// A vector statement as vector code; false where it has no vector form.
    pub(crate) fn lanes(&mut self, lanes: &Lanes<'_>) -> Outcome<bool> {
        let (word, elem) = match &lanes.stmt.kind {
            StmtKind::Store { to, word } => (word, self.fun.buffers.get(to.buffer.index()).map(|b| &b.elem)),
            StmtKind::Assign { local, word, .. } => (word, self.fun.locals.get(local.index()).map(|l| &l.ty)),
            _ => return Ok(false),
        };
        let Some(Ty::Elem(elem)) = elem else { return Ok(false) };
        let (elem, active) = (*elem, self.known.value(lanes.active));
        let masked = active != Some(lanes.count);
        let part = if masked { Part::Masked } else { Part::All };
        let (cells, row) = match &lanes.stmt.kind {
            StmtKind::Assign { local, at, .. } => {
                (self.has_cells(*local, at, lanes.var, part), self.unsure(*local, at, lanes.var))
            }
            _ => (true, false),
        };
        if elem == Elem::Bool || !cells || !self.has_form(word, lanes.var, 0, part) || active == Some(0) {
            return Ok(active == Some(0));
        }
        let pieces = pieces(lanes.count, self.module.lanes_of(elem));
        let active = if masked { Some(self.ix(lanes.active)?) } else { None };
        // What all lanes share is read where there is a lane.
        let after = match &active {
            Some(active) if row || self.reads(word, lanes.var) => {
                let some = self.em.def(format_args!("icmp slt i64 0, {active}"));
                let (inside, after) = (self.em.block(), self.em.block());
                self.em.branch(&some, &inside, &after);
                self.em.open(&inside);
                Some(after)
            }
            _ => None,
        };
        for (offset, width) in pieces {
            if self.left_out(lanes, offset) {
                continue;
            }
            let whole = self.trim.as_ref().is_some_and(|t| t.active == *lanes.active && offset + width <= t.full);
            let active = active.as_ref().filter(|_| !whole);
            let mask = active.map(|active| self.first_lanes(active, offset, width));
            let piece = Piece { lane: lanes.var, offset, width, mask: mask.as_deref() };
            self.bind_var(lanes.var, Index::Plain(offset.to_string()));
            self.known.set(lanes.var, Some(offset));
            let done = self.piece(&piece, &lanes.stmt.kind);
            self.known.set(lanes.var, None);
            done?;
        }
        if let Some(after) = after {
            self.em.jump(&after);
            self.em.open(&after);
        }
        Ok(true)
    }

    /// Whether a piece of a statement has only lanes that nobody sees.
    fn left_out(&self, lanes: &Lanes<'_>, offset: i64) -> bool {
        let Some(trim) = &self.trim else { return false };
        let unseen = match &lanes.stmt.kind {
            StmtKind::Assign { local, .. } => trim.locals.contains(local),
            StmtKind::Store { .. } => trim.active == *lanes.active,
            _ => false,
        };
        unseen && offset >= trim.used
    }

    /// Whether the lanes are neighbours in a local vector, all of them cells of it: those that take no part are read too, and
    /// written back as they were.
    fn has_cells(&self, local: Local, at: &[Ix], lane: Var, part: Part) -> bool {
        let (Some(info), Some((last, rows))) = (self.fun.locals.get(local.index()), at.split_last()) else {
            return false;
        };
        let (Some(first), Some(lanes)) = (vectors::first(last, lane), info.dims.last()) else { return false };
        let count = vectors::count_of(&self.fun.vars, lane).unwrap_or(*lanes);
        let fits = |n: i64| n >= 0 && n.checked_add(count).is_some_and(|end| end <= *lanes);
        let inside = match part {
            Part::All => true,
            Part::Masked => self.known.value(&first).is_some_and(fits),
            Part::Chosen => self.known.value(&first).is_some_and(fits) && !self.unsure(local, at, lane),
        };
        info.vector && inside && rows.iter().all(|ix| !vectors::varies(ix, lane))
    }

    /// Whether so many lanes are neighbours in a local vector, all of them cells of it that are there.
    pub(crate) fn has_cells_for(&self, local: Local, at: &[Ix], lane: Var, count: i64) -> bool {
        let (Some(info), Some((last, rows))) = (self.fun.locals.get(local.index()), at.split_last()) else {
            return false;
        };
        let (Some(first), Some(lanes)) = (vectors::first(last, lane), info.dims.last()) else { return false };
        let fits = |n: i64| n >= 0 && n.checked_add(count).is_some_and(|end| end <= *lanes);
        let inside = self.known.value(&first).is_some_and(fits) && !self.unsure(local, at, lane);
        info.vector && inside && rows.iter().all(|ix| !vectors::varies(ix, lane))
    }

    /// Whether a local's cell may be outside of it where no lane takes part. What changes with the lanes is not asked.
    fn unsure(&self, local: Local, at: &[Ix], lane: Var) -> bool {
        let dims = self.fun.locals.get(local.index()).map_or(&[][..], |i| &i.dims);
        let sure = |(ix, n): (&Ix, &i64)| {
            vectors::varies(ix, lane) || self.known.value(ix).is_some_and(|ix| (0..*n).contains(&ix))
        };
        !at.iter().zip(dims).all(sure)
    }

    fn piece(&mut self, piece: &Piece<'_>, stmt: &StmtKind) -> Outcome<()> {
        match stmt {
            StmtKind::Store { to, word } => {
                let value = self.vector(piece, word, None)?;
                self.scatter(piece, to, &value)
            }
            StmtKind::Assign { local, at, word } => {
                let value = self.vector(piece, word, None)?;
                if at.len() > 1 {
                    self.fetch_ahead(piece, word)?;
                }
                let at = self.lane_cell(*local, at)?;
                let kept = match piece.mask {
                    // The other lanes keep what they have: nobody else can see the local.
                    Some(mask) => {
                        let ty = of(value.elem, piece.width);
                        let old = self.em.def(format_args!("load {ty}, ptr {at}, align {}", value.elem.bytes()));
                        self.em
                            .def(format_args!("select <{} x i1> {mask}, {ty} {}, {ty} {old}", piece.width, value.name))
                    }
                    None => value.name,
                };
                let ty = of(value.elem, piece.width);
                self.em.line(format_args!("store {ty} {kept}, ptr {at}, align {}", value.elem.bytes()));
                Ok(())
            }
            _ => Err(self.ill_formed("a vector statement that is neither a store nor an assignment")),
        }
    }

    /// Whether a word has a vector form.
    fn has_form(&self, word: &Word, lane: Var, applied: usize, part: Part) -> bool {
        let all = |words: &[Word]| words.iter().all(|w| self.has_form(w, lane, applied, part));
        if applied == 0 && !vectors::varies_word(word, lane) {
            // One scalar, computed where the piece is.
            return scalar(word);
        }
        match word {
            Word::Lit(l) => l.elem != Elem::Bool || applied > 0,
            Word::Load(a) => {
                applied == 0
                    && self.fun.buffers.get(a.buffer.index()).is_some_and(|b| vectorised(&b.elem))
                    && (a.at.iter().all(|ix| !vectors::varies(ix, lane) || vectors::first(ix, lane).is_some())
                        || crate::digits::group_of(&a.at, lane).is_some())
            }
            Word::Local(l, at) => match applied {
                0 => {
                    self.fun.locals.get(l.index()).is_some_and(|i| vectorised(&i.ty))
                        && self.has_cells(*l, at, lane, part)
                }
                _ => at.is_empty(),
            },
            Word::Op { op: Op::Prim(p), arith, args } => {
                let flushes = self.program.devices.get(arith.index()).is_none_or(|d| d.flush_subnormals);
                !flushes && vector_form(*p) && all(args)
            }
            Word::Op { .. } => false,
            Word::Apply(f, args) => {
                applied < MAX_APPLIED
                    && all(args)
                    && self.program.pures.get(f.index()).is_some_and(|pure| {
                        pure.locals.iter().all(|l| matches!(l.ty, Ty::Elem(e) if e != Elem::Bool))
                            && self.has_form(&pure.body, lane, applied + 1, part)
                    })
            }
            Word::If(g, a, b) => {
                applied == 0
                    && lane_guard(g, lane)
                    && self.has_form(a, lane, 0, Part::Chosen)
                    && self.has_form(b, lane, 0, Part::Chosen)
                    && !self.shared_reads(a, lane)
                    && !self.shared_reads(b, lane)
            }
            Word::Index(..)
            | Word::Tuple(_)
            | Word::Part(..)
            | Word::Let(..)
            | Word::Fold(_)
            | Word::Reduce(_)
            | Word::Differing(..) => false,
        }
    }

    /// Whether a word reads memory, or a cell of a local that may not be there.
    pub(crate) fn reads(&self, word: &Word, lane: Var) -> bool {
        struct Reads<'a, 'b, 'c>(&'a Lower<'b, 'c>, Var, bool);
        impl Visit for Reads<'_, '_, '_> {
            fn word(&mut self, word: &Word) {
                self.2 |= match word {
                    Word::Load(_) => true,
                    Word::Local(l, at) => self.0.unsure(*l, at, self.1),
                    _ => false,
                };
                visit_word(self, word);
            }
        }
        let mut reads = Reads(self, lane, false);
        reads.word(word);
        reads.2
    }

    /// Whether a part of a word that all lanes share reads memory: under a choice it may not be read for lanes that do not
    /// choose it.
    fn shared_reads(&self, word: &Word, lane: Var) -> bool {
        if !vectors::varies_word(word, lane) {
            return self.reads(word, lane);
        }
        match word {
            Word::Op { args, .. } | Word::Apply(_, args) | Word::Tuple(args) => {
                args.iter().any(|a| self.shared_reads(a, lane))
            }
            Word::Part(w, _) => self.shared_reads(w, lane),
            Word::Let(_, a, b) | Word::If(_, a, b) => self.shared_reads(a, lane) || self.shared_reads(b, lane),
            Word::Fold(f) => {
                let Fold { init, body, .. } = &**f;
                self.shared_reads(init, lane) || self.shared_reads(body, lane)
            }
            Word::Reduce(_) => true,
            Word::Lit(_) | Word::Index(..) | Word::Load(_) | Word::Local(..) | Word::Differing(..) => false,
        }
    }

    /// A word of a piece's lanes. Inside a pure function `names` are its locals.
    fn vector(&mut self, piece: &Piece<'_>, word: &Word, names: Option<&BTreeMap<Local, Vector>>) -> Outcome<Vector> {
        if names.is_none() && !vectors::varies_word(word, piece.lane) {
            let value = self.word(word)?;
            let Ty::Elem(elem) = value.ty else { return Err(self.ill_formed("lanes of a tuple")) };
            let name = self.splat(register(elem), value.only(), piece.width);
            return Ok(Vector { elem, name });
        }
        match word {
            Word::Lit(l) => Ok(Vector { elem: l.elem, name: splat_constant(l.elem, l.bits, piece.width) }),
            Word::Load(a) => self.gather(piece, a, None),
            Word::Local(l, at) => match names {
                Some(names) => match names.get(l) {
                    Some(v) => Ok(v.clone()),
                    None => Err(self.ill_formed("a local is used where it is not known")),
                },
                None => {
                    let Some(Ty::Elem(elem)) = self.fun.locals.get(l.index()).map(|i| i.ty.clone()) else {
                        return Err(self.ill_formed("lanes of a tuple"));
                    };
                    let at = self.lane_cell(*l, at)?;
                    let ty = of(elem, piece.width);
                    let name = self.em.def(format_args!("load {ty}, ptr {at}, align {}", elem.bytes()));
                    Ok(Vector { elem, name })
                }
            },
            Word::Op { op: Op::Prim(p), args, .. } => {
                let args = args.iter().map(|a| self.vector(piece, a, names)).collect::<Outcome<Vec<_>>>()?;
                self.vector_prim(piece.width, *p, &args)
            }
            Word::Apply(f, args) => {
                let args = args.iter().map(|a| self.vector(piece, a, names)).collect::<Outcome<Vec<_>>>()?;
                self.vector_apply(piece, *f, args)
            }
            Word::If(g, a, b) => self.vector_choice(piece, g, a, b),
            Word::Index(..)
            | Word::Op { .. }
            | Word::Tuple(_)
            | Word::Part(..)
            | Word::Let(..)
            | Word::Fold(_)
            | Word::Reduce(_)
            | Word::Differing(..) => Err(self.ill_formed("a word without a vector form")),
        }
    }

    fn vector_apply(&mut self, piece: &Piece<'_>, f: PureId, args: Vec<Vector>) -> Outcome<Vector> {
        let program = self.program;
        let Some(pure) = program.pures.get(f.index()) else { return Err(self.ill_formed("an application of nothing")) };
        let names: BTreeMap<Local, Vector> = pure.params.iter().copied().zip(args).collect();
        self.vector(piece, &pure.body, Some(&names))
    }

    /// A choice that each lane makes: what a lane does not choose, it does not read.
    fn vector_choice(&mut self, piece: &Piece<'_>, guard: &Guard, a: &Word, b: &Word) -> Outcome<Vector> {
        if let Some(holds) = self.holds(piece, guard) {
            return self.vector(piece, if holds { a } else { b }, None);
        }
        let (yes, no) = self.chosen(piece, guard)?;
        let width = piece.width;
        let narrowed = |this: &mut Self, with: &str| match piece.mask {
            Some(mask) => this.em.def(format_args!("and <{width} x i1> {mask}, {with}")),
            None => with.to_string(),
        };
        let (then, els) = (narrowed(self, &yes), narrowed(self, &no));
        // What is not loaded is the other side, in the load itself.
        if let (Word::Load(access), false) = (a, vectors::varies_word(b, piece.lane)) {
            let b = self.vector(&Piece { mask: Some(&els), ..*piece }, b, None)?;
            return self.gather(&Piece { mask: Some(&then), ..*piece }, access, Some(&b));
        }
        let a = self.vector(&Piece { mask: Some(&then), ..*piece }, a, None)?;
        let b = self.vector(&Piece { mask: Some(&els), ..*piece }, b, None)?;
        let ty = of(a.elem, width);
        let name = self.em.def(format_args!("select <{width} x i1> {yes}, {ty} {}, {ty} {}", a.name, b.name));
        Ok(Vector { elem: a.elem, name })
    }

    /// Whether a guard holds for all lanes of a piece, or for none, where that is known.
    fn holds(&self, piece: &Piece<'_>, guard: &Guard) -> Option<bool> {
        if let Some((_, holds)) = self.decided.iter().rev().find(|(g, _)| g == guard) {
            return Some(*holds);
        }
        let Guard::Cmp(Rel::Lt, Ix::Var(v), active) = guard else { return None };
        let full = self.trim.as_ref().filter(|t| t.active == *active).map(|t| t.full);
        let active = self.known.value(active).or(full)?;
        (*v == piece.lane && piece.offset + piece.width <= active).then_some(true)
    }

    /// Which lanes a guard holds for, and which not.
    fn chosen(&mut self, piece: &Piece<'_>, guard: &Guard) -> Outcome<(String, String)> {
        let width = piece.width;
        let yes = match guard {
            Guard::Cmp(Rel::Lt, Ix::Var(v), active) if *v == piece.lane => {
                let active = self.ix(active)?;
                self.first_lanes(&active, piece.offset, width)
            }
            guard => {
                let holds = self.guard(guard)?;
                self.splat("i1", &holds, width)
            }
        };
        let no = self.em.def(format_args!("xor <{width} x i1> {yes}, {}", all_lanes(width, true)));
        Ok((yes, no))
    }

    /// The lanes of a piece that are among the first so many.
    pub(crate) fn first_lanes(&mut self, active: &str, offset: i64, width: i64) -> String {
        // Beyond the lanes it makes no difference how far.
        let least = self.em.def(format_args!("call i64 @llvm.smax.i64(i64 {active}, i64 0)"));
        let most = self.min(&least, &(offset + width).to_string());
        let short = self.em.def(format_args!("trunc i64 {most} to i32"));
        let all = self.splat("i32", &short, width);
        let own: Vec<String> = (0..width).map(|n| format!("i32 {}", offset + n)).collect();
        self.em.def(format_args!("icmp slt <{width} x i32> <{}>, {all}", own.join(", ")))
    }

    /// A scalar in all lanes.
    pub(crate) fn splat(&mut self, ty: &str, name: &str, width: i64) -> String {
        let one = self.em.def(format_args!("insertelement <{width} x {ty}> poison, {ty} {name}, i64 0"));
        self.em.def(format_args!(
            "shufflevector <{width} x {ty}> {one}, <{width} x {ty}> poison, <{width} x i32> zeroinitializer"
        ))
    }

    /// The address of a local's cell in the first lane of a piece.
    pub(crate) fn lane_cell(&mut self, local: Local, at: &[Ix]) -> Outcome<String> {
        match self.local(local)?.clone() {
            Place::Slots { ty, dims, slots } => {
                let cells = self.cells(&ty, &dims, &slots, at)?;
                cells.into_iter().next().ok_or_else(|| self.ill_formed("a vector of nothing"))
            }
            Place::Value(_) => Err(self.ill_formed("a single word has lanes")),
        }
    }

    /// The cells of a piece's lanes as one vector; `other` is what lanes have that take no part.
    fn gather(&mut self, piece: &Piece<'_>, access: &Access, other: Option<&Vector>) -> Outcome<Vector> {
        let buffer = self.buffer(access.buffer)?.clone();
        let Ty::Elem(elem) = buffer.elem else { return Err(self.ill_formed("lanes of a tuple")) };
        let (ty, width, align) = (of(elem, piece.width), piece.width, elem.bytes());
        let none = || String::from("poison");
        if let Some(turned) = self.turned_load(piece, access) {
            let (Some(mask), Some(other)) = (piece.mask, other) else { return Ok(turned) };
            let (all, other) = (&turned.name, &other.name);
            let name = self.em.def(format_args!("select <{width} x i1> {mask}, {ty} {all}, {ty} {other}"));
            return Ok(Vector { elem, name });
        }
        if let Some(at) = self.lane_address(piece, &buffer, &access.at, Bounds::Inside)? {
            let name = match piece.mask {
                None => self.em.def(format_args!("load {ty}, ptr {at}, align {align}")),
                Some(mask) => {
                    let other = other.map_or_else(none, |v| v.name.clone());
                    self.masked_load(elem, width, &at, mask, &other)
                }
            };
            return Ok(Vector { elem, name });
        }
        if let Some(words) = crate::digits::group_of(&access.at, piece.lane)
            && let Some((at, order)) = self.grouped_address(words, piece, &buffer, &access.at)?
        {
            let name = match piece.mask {
                None => self.em.def(format_args!("load {ty}, ptr {at}, align {align}")),
                Some(mask) => {
                    let mask = self.reordered("i1", mask, &order);
                    let other = other.map_or_else(none, |v| self.reordered(register(elem), &v.name, &order));
                    let kind = format!("v{width}{}", llvm_suffix(elem));
                    self.em.def(format_args!(
                        "call {ty} @llvm.masked.load.{kind}.p0(ptr {at}, i32 {align}, <{width} x i1> {mask}, {ty} {other})"
                    ))
                }
            };
            let name = self.reordered(register(elem), &name, &order);
            return Ok(Vector { elem, name });
        }
        let mut name = other.map_or_else(none, |v| v.name.clone());
        for n in 0..width {
            name = self.lane_by_lane(
                piece,
                n,
                |this, name| {
                    let value = this.load(access)?;
                    Ok(this.em.def(format_args!(
                        "insertelement {ty} {name}, {} {}, i64 {n}",
                        register(elem),
                        value.only()
                    )))
                },
                Some((&ty, name)),
            )?;
        }
        Ok(Vector { elem, name })
    }

    /// The cells from an address on that are in a mask.
    pub(crate) fn masked_load(&mut self, elem: Elem, width: i64, at: &str, mask: &str, other: &str) -> String {
        let (ty, kind, align) = (of(elem, width), format!("v{width}{}", llvm_suffix(elem)), elem.bytes());
        self.em.def(format_args!(
            "call {ty} @llvm.masked.load.{kind}.p0(ptr {at}, i32 {align}, <{width} x i1> {mask}, {ty} {other})"
        ))
    }

    /// Asks for what the same rows of the next tile will load, while this one is worked on: a tile's cells lie in lines of
    /// their own, which no processor foresees. An address beyond the array is asked for in vain.
    fn fetch_ahead(&mut self, piece: &Piece<'_>, word: &Word) -> Outcome<()> {
        let Some((var, size)) = self.tiles else { return Ok(()) };
        let mut loads = Loads(Vec::new());
        loads.word(word);
        for access in loads.0.into_iter().filter(|a| a.at.iter().any(|ix| vectors::varies(ix, piece.lane))) {
            if !access.at.iter().any(|ix| vectors::varies(ix, var)) {
                continue;
            }
            let here = self.var(var)?;
            let next = self.next(&here, size);
            self.bind_var(var, next);
            let buffer = self.buffer(access.buffer)?.clone();
            let at = self.lane_address(piece, &buffer, &access.at, Bounds::Unknown);
            self.bind_var(var, here);
            if let Some(at) = at? {
                self.em.line(format_args!("call void @llvm.prefetch.p0(ptr {at}, i32 1, i32 3, i32 1)"));
            }
        }
        Ok(())
    }

    /// The index or block after one.
    pub(crate) fn next(&mut self, index: &Index, size: Option<i64>) -> Index {
        let mut more = |a: &str, n: i64| self.em.def(format_args!("add i64 {a}, {n}"));
        match index {
            Index::Plain(name) => Index::Plain(more(name, 1)),
            Index::Block { lo, hi, len, idx } => {
                let size = size.unwrap_or(1);
                Index::Block { lo: more(lo, size), hi: hi.clone(), len: len.clone(), idx: more(idx, 1) }
            }
        }
    }

    /// Writes a piece's lanes.
    pub(crate) fn scatter(&mut self, piece: &Piece<'_>, access: &Access, value: &Vector) -> Outcome<()> {
        let buffer = self.buffer(access.buffer)?.clone();
        let (ty, width, align) = (of(value.elem, piece.width), piece.width, value.elem.bytes());
        if let Some(at) = self.lane_address(piece, &buffer, &access.at, Bounds::Inside)? {
            match piece.mask {
                None => self.em.line(format_args!("store {ty} {}, ptr {at}, align {align}", value.name)),
                Some(mask) => {
                    let kind = format!("v{width}{}", llvm_suffix(value.elem));
                    self.em.line(format_args!(
                        "call void @llvm.masked.store.{kind}.p0({ty} {}, ptr {at}, i32 {align}, <{width} x i1> {mask})",
                        value.name
                    ));
                }
            }
            return Ok(());
        }
        for n in 0..width {
            self.lane_by_lane(
                piece,
                n,
                |this, _| {
                    let one = this.em.def(format_args!("extractelement {ty} {}, i64 {n}", value.name));
                    this.store(access, &Value::scalar(value.elem, one))?;
                    Ok(String::new())
                },
                None,
            )?;
        }
        Ok(())
    }

    /// Something for one lane, if it takes part; what goes from lane to lane, where something does.
    fn lane_by_lane(
        &mut self,
        piece: &Piece<'_>,
        n: i64,
        what: impl FnOnce(&mut Self, &str) -> Outcome<String>,
        carried: Option<(&str, String)>,
    ) -> Outcome<String> {
        let lane = piece.offset + n;
        self.bind_var(piece.lane, Index::Plain(lane.to_string()));
        self.known.set(piece.lane, Some(lane));
        let before = carried.as_ref().map_or("", |(_, name)| name.as_str()).to_string();
        let out = match piece.mask {
            None => what(self, &before),
            Some(mask) => {
                let on = self.em.def(format_args!("extractelement <{} x i1> {mask}, i64 {n}", piece.width));
                let (inside, after) = (self.em.block(), self.em.block());
                let outside = self.em.here();
                self.em.branch(&on, &inside, &after);
                self.em.open(&inside);
                what(self, &before).map(|made| {
                    let end = self.em.here();
                    self.em.jump(&after);
                    self.em.open(&after);
                    match &carried {
                        Some((ty, name)) => {
                            self.em.def(format_args!("phi {ty} [ {made}, {end} ], [ {name}, {outside} ]"))
                        }
                        None => made,
                    }
                })
            }
        };
        self.bind_var(piece.lane, Index::Plain(piece.offset.to_string()));
        self.known.set(piece.lane, Some(piece.offset));
        out
    }

    /// The address of the first lane's cell, where the other lanes' follow it in memory.
    pub(crate) fn lane_address(
        &mut self,
        piece: &Piece<'_>,
        buffer: &Memory,
        at: &[Ix],
        bounds: Bounds,
    ) -> Outcome<Option<String>> {
        match self.lane_place(piece, buffer, at) {
            Some(at) => self.physical_address(buffer, &at, bounds).map(Some),
            None => Ok(None),
        }
    }

    /// The place in memory of the first lane's cell, where the other lanes' follow it.
    pub(crate) fn lane_place(&self, piece: &Piece<'_>, buffer: &Memory, at: &[Ix]) -> Option<Vec<Ix>> {
        // Along which axes of memory the lanes go; of one that a layout cuts, the piece has to lie in one group.
        let mut axes: Vec<(Ix, bool)> = Vec::new();
        for ix in at {
            let grows = vectors::varies(ix, piece.lane);
            // What goes down, or by more than one, has no first cell that the others follow.
            if grows && vectors::first(ix, piece.lane).is_none() {
                return None;
            }
            axes.push((ix.clone(), grows));
        }
        let mut contiguous = true;
        let known = &self.known;
        let more = piece.width - 1;
        let physical = layout::over(&buffer.ops, axes, |(ix, grows), by, back| {
            contiguous &= !(grows && back);
            let more = if grows { more } else { 0 };
            let (q, r) = known.divided(&ix, by, more).unwrap_or_else(|| {
                contiguous &= !grows;
                let b = |ix: &Ix| Box::new(ix.clone());
                (Ix::Div(b(&ix), by), Ix::Mod(b(&ix), by))
            });
            let r = if back { cachet_core::linear::difference(&Ix::Lit(by - 1), &r) } else { r };
            ((q, false), (r, grows))
        });
        let last = physical.len().saturating_sub(1);
        contiguous &= physical.iter().enumerate().all(|(n, (_, grows))| *grows == (n == last));
        contiguous.then(|| physical.into_iter().map(|(ix, _)| ix).collect())
    }

    fn vector_prim(&mut self, width: i64, prim: Prim, args: &[Vector]) -> Outcome<Vector> {
        let Some(first) = args.first() else { return Err(self.ill_formed("an operation on nothing")) };
        let elem = first.elem;
        let arg = |n: usize| args.get(n).map_or("poison", |v| v.name.as_str());
        let (a, b, c) = (arg(0), arg(1), arg(2));
        let ty = of(elem, width);
        let kind = format!("v{width}{}", suffix(elem));
        let (float, signed) = (elem.is_float(), is_signed(elem));
        let binary = |op: &str| format!("{op} {ty} {a}, {b}");
        let text = match prim {
            Prim::Add => binary(if float { "fadd" } else { "add" }),
            Prim::Sub => binary(if float { "fsub" } else { "sub" }),
            Prim::Mul => binary(if float { "fmul" } else { "mul" }),
            Prim::WrappingAdd => binary("add"),
            Prim::WrappingSub => binary("sub"),
            Prim::WrappingMul => binary("mul"),
            Prim::Div => binary("fdiv"),
            Prim::Fma => format!("call {ty} @llvm.fma.{kind}({ty} {a}, {ty} {b}, {ty} {c})"),
            Prim::Sqrt => format!("call {ty} @llvm.sqrt.{kind}({ty} {a})"),
            Prim::Max | Prim::Min if float => {
                let name = if prim == Prim::Max { "maximum" } else { "minimum" };
                let number = self.em.def(format_args!("call {ty} @llvm.{name}.{kind}({ty} {a}, {ty} {b})"));
                return Ok(self.unless_nan(width, elem, (a, b), &number));
            }
            Prim::Max | Prim::Min => {
                let name = match (prim == Prim::Max, signed) {
                    (true, true) => "smax",
                    (false, true) => "smin",
                    (true, false) => "umax",
                    (false, false) => "umin",
                };
                format!("call {ty} @llvm.{name}.{kind}({ty} {a}, {ty} {b})")
            }
            Prim::Neg if float => {
                let changed = self.em.def(format_args!("fneg {ty} {a}"));
                return Ok(self.unless_nan(width, elem, (a, a), &changed));
            }
            Prim::Neg => format!("sub {ty} zeroinitializer, {a}"),
            Prim::Abs if float => {
                let changed = self.em.def(format_args!("call {ty} @llvm.fabs.{kind}({ty} {a})"));
                return Ok(self.unless_nan(width, elem, (a, a), &changed));
            }
            Prim::Abs | Prim::Rem | Prim::Eq | Prim::Lt | Prim::Le | Prim::And | Prim::Or | Prim::Not => {
                return Err(self.ill_formed("an operation without a vector form"));
            }
            Prim::Select | Prim::Cast(_) | Prim::WrappingCast(_) | Prim::SaturatingCast(_) => {
                return Err(self.ill_formed("an operation without a vector form"));
            }
            Prim::FromBits(_) | Prim::ToBits => return Err(self.ill_formed("an operation without a vector form")),
        };
        Ok(Vector { elem, name: self.em.def(text) })
    }

    /// The canonical NaN in lanes where an operand is a NaN.
    fn unless_nan(&mut self, width: i64, elem: Elem, (a, b): (&str, &str), number: &str) -> Vector {
        let ty = of(elem, width);
        let nan = self.em.def(format_args!("fcmp uno {ty} {a}, {b}"));
        let canonical = splat_constant(elem, canonical_nan(elem), width);
        let name = self.em.def(format_args!("select <{width} x i1> {nan}, {ty} {canonical}, {ty} {number}"));
        Vector { elem, name }
    }
}

/// Operations that are done on vectors; the others are done lane by lane.
fn vector_form(prim: Prim) -> bool {
    match prim {
        Prim::Add
        | Prim::Sub
        | Prim::Mul
        | Prim::WrappingAdd
        | Prim::WrappingSub
        | Prim::WrappingMul
        | Prim::Fma
        | Prim::Max
        | Prim::Min
        | Prim::Neg
        | Prim::Sqrt => true,
        Prim::Div
        | Prim::Abs
        | Prim::Rem
        | Prim::Eq
        | Prim::Lt
        | Prim::Le
        | Prim::And
        | Prim::Or
        | Prim::Not
        | Prim::Select
        | Prim::Cast(_)
        | Prim::WrappingCast(_)
        | Prim::SaturatingCast(_)
        | Prim::FromBits(_)
        | Prim::ToBits => false,
    }
}

fn vectorised(ty: &Ty) -> bool {
    matches!(ty, Ty::Elem(e) if *e != Elem::Bool && memory(*e) == register(*e))
}

/// Whether a guard is one for all lanes, or tells the first ones apart.
fn lane_guard(guard: &Guard, lane: Var) -> bool {
    let mut live = cachet_core::rewrite::Live::default();
    live.guard(guard);
    !live.vars.contains(&lane)
        || matches!(guard, Guard::Cmp(Rel::Lt, Ix::Var(v), active) if *v == lane && !vectors::varies(active, lane))
}

/// Whether a word is one element.
fn scalar(word: &Word) -> bool {
    !matches!(word, Word::Tuple(_))
}

/// The cells that a word loads.
struct Loads(Vec<Access>);

impl Visit for Loads {
    fn load(&mut self, access: &Access) {
        self.0.push(access.clone());
    }
}

pub(crate) fn of(elem: Elem, width: i64) -> String {
    format!("<{width} x {}>", register(elem))
}

/// The suffix of an intrinsic for memory: 16-bit floats are their bits.
pub(crate) fn llvm_suffix(elem: Elem) -> String {
    match register(elem) {
        "double" => "f64".into(),
        "float" => "f32".into(),
        int => int.into(),
    }
}

fn all_lanes(width: i64, on: bool) -> String {
    format!("<{}>", vec![format!("i1 {on}"); usize::try_from(width).unwrap_or(0)].join(", "))
}

fn splat_constant(elem: Elem, bits: u64, width: i64) -> String {
    let one = format!("{} {}", register(elem), constant(elem, bits));
    format!("<{}>", vec![one; usize::try_from(width).unwrap_or(0)].join(", "))
}
