//! Which words have a vector form?
//!
//! What a lane that takes no part would read is asked too: a cell that may not be there, and memory that all lanes share under
//! a choice that they may not make.

use super::Part;
use crate::function::Lower;
use crate::types::{memory, register};
use cachet_core::ir::{Elem, Fold, Guard, Ix, Local, Op, Prim, Rel, Ty, Var, Word};
use cachet_core::rewrite::{Live, Visit, visit_word};
use cachet_core::vectors;

/// How deep pure functions may be applied in one another in a vector word.
const MAX_APPLIED: usize = 16;

impl Lower<'_, '_> {
    /// Whether the lanes are neighbours in a local vector, all of them cells of it: those that take no part are read too, and
    /// written back as they were.
    pub(super) fn has_cells(&self, local: Local, at: &[Ix], lane: Var, part: Part) -> bool {
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
    pub(super) fn unsure(&self, local: Local, at: &[Ix], lane: Var) -> bool {
        let dims = self.fun.locals.get(local.index()).map_or(&[][..], |i| &i.dims);
        let sure = |(ix, n): (&Ix, &i64)| {
            vectors::varies(ix, lane) || self.known.value(ix).is_some_and(|ix| (0..*n).contains(&ix))
        };
        !at.iter().zip(dims).all(sure)
    }

    /// Whether a word has a vector form.
    pub(super) fn has_form(&self, word: &Word, lane: Var, applied: usize, part: Part) -> bool {
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
    let mut live = Live::default();
    live.guard(guard);
    !live.vars.contains(&lane)
        || matches!(guard, Guard::Cmp(Rel::Lt, Ix::Var(v), active) if *v == lane && !vectors::varies(active, lane))
}

/// Whether a word is one element.
fn scalar(word: &Word) -> bool {
    !matches!(word, Word::Tuple(_))
}
