//! How do vector statements become vector code?
//!
//! The lanes are cut into pieces of a power of two that the target has registers for: other lengths make LLVM go through
//! memory. A piece's word is computed as LLVM vectors, lane by lane the same operations as one lane's word; what all lanes
//! share is computed once and copied. A cell whose neighbours in the lanes are neighbours in memory is read and written as a
//! vector, others one by one. Inactive lanes touch no memory. What has no vector form here runs as the loop that it is.

mod cells;
mod form;
mod words;

use crate::function::{Index, Lower, Outcome};
use crate::types::{constant, register};
use cachet_core::ir::{Elem, StmtKind, Ty, Var};
use cachet_core::vectors::Lanes;

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
        self.in_pieces(lanes, &pieces, active.as_deref())?;
        if let Some(after) = after {
            self.em.jump(&after);
            self.em.open(&after);
        }
        Ok(true)
    }

    /// A vector statement, piece by piece, with a mask where some lanes of a piece may take no part.
    fn in_pieces(&mut self, lanes: &Lanes<'_>, pieces: &[(i64, i64)], active: Option<&str>) -> Outcome<()> {
        for &(offset, width) in pieces {
            if self.left_out(lanes, offset) {
                continue;
            }
            let whole = self.trim.as_ref().is_some_and(|t| t.active == *lanes.active && offset + width <= t.full);
            let mask = active.filter(|_| !whole).map(|active| self.first_lanes(active, offset, width));
            let piece = Piece { lane: lanes.var, offset, width, mask: mask.as_deref() };
            self.bind_var(lanes.var, Index::Plain(offset.to_string()));
            self.known.set(lanes.var, Some(offset));
            let done = self.piece(&piece, &lanes.stmt.kind);
            self.known.set(lanes.var, None);
            done?;
        }
        Ok(())
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
}

pub(crate) fn of(elem: Elem, width: i64) -> String {
    format!("<{width} x {}>", register(elem))
}

/// The suffix of an intrinsic for memory: 16-bit floats are their bits.
fn llvm_suffix(elem: Elem) -> String {
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
