//! How are the cells of a piece's lanes read and written?
//!
//! As one vector where they lie one after another in memory, else one by one; the cells of lanes that take no part are left
//! alone.

use super::{Piece, Vector, llvm_suffix, of};
use crate::function::{Index, Lower, Outcome, Place};
use crate::memory::{Bounds, Memory};
use crate::types::{Value, register};
use cachet_core::ir::{Access, Elem, Ix, Local, Ty, Word};
use cachet_core::layout;
use cachet_core::linear::difference;
use cachet_core::rewrite::Visit;
use cachet_core::vectors;

impl Lower<'_, '_> {
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
    pub(super) fn gather(&mut self, piece: &Piece<'_>, access: &Access, other: Option<&Vector>) -> Outcome<Vector> {
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
                    self.masked_load(elem, width, &at, &mask, &other)
                }
            };
            let name = self.reordered(register(elem), &name, &order);
            return Ok(Vector { elem, name });
        }
        let name = self.gather_each(piece, access, elem, other.map_or_else(none, |v| v.name.clone()))?;
        Ok(Vector { elem, name })
    }

    /// The cells of a piece's lanes, read one by one.
    fn gather_each(&mut self, piece: &Piece<'_>, access: &Access, elem: Elem, other: String) -> Outcome<String> {
        let (ty, one) = (of(elem, piece.width), register(elem));
        let mut name = other;
        for n in 0..piece.width {
            let insert = |this: &mut Self, name: &str| {
                let value = this.load(access)?;
                Ok(this.em.def(format_args!("insertelement {ty} {name}, {one} {}, i64 {n}", value.only())))
            };
            name = self.lane_by_lane(piece, n, insert, Some((&ty, name)))?;
        }
        Ok(name)
    }

    /// The cells from an address on that are in a mask.
    pub(crate) fn masked_load(&mut self, elem: Elem, width: i64, at: &str, mask: &str, other: &str) -> String {
        let (ty, kind, align) = (of(elem, width), format!("v{width}{}", llvm_suffix(elem)), elem.bytes());
        self.em.def(format_args!(
            "call {ty} @llvm.masked.load.{kind}.p0(ptr {at}, i32 {align}, <{width} x i1> {mask}, {ty} {other})"
        ))
    }

    /// Writes the cells from an address on that are in a mask.
    pub(crate) fn masked_store(&mut self, elem: Elem, width: i64, words: &str, at: &str, mask: &str) {
        let (ty, kind, align) = (of(elem, width), format!("v{width}{}", llvm_suffix(elem)), elem.bytes());
        self.em.line(format_args!(
            "call void @llvm.masked.store.{kind}.p0({ty} {words}, ptr {at}, i32 {align}, <{width} x i1> {mask})"
        ));
    }

    /// Asks for what the same rows of the next tile will load, while this one is worked on: a tile's cells lie in lines of
    /// their own, which no processor foresees. An address beyond the array is asked for in vain.
    pub(super) fn fetch_ahead(&mut self, piece: &Piece<'_>, word: &Word) -> Outcome<()> {
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
                Some(mask) => self.masked_store(value.elem, width, &value.name, &at, mask),
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
            let r = if back { difference(&Ix::Lit(by - 1), &r) } else { r };
            ((q, false), (r, grows))
        });
        let last = physical.len().saturating_sub(1);
        contiguous &= physical.iter().enumerate().all(|(n, (_, grows))| *grows == (n == last));
        contiguous.then(|| physical.into_iter().map(|(ix, _)| ix).collect())
    }
}

/// The cells that a word loads.
struct Loads(Vec<Access>);

impl Visit for Loads {
    fn load(&mut self, access: &Access) {
        self.0.push(access.clone());
    }
}
