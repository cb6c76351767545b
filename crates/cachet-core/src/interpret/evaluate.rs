//! Indices, guards and words.

use super::code::{ApplyCode, Cond, FoldCode, Index, PrimCode, ReduceCode, Word};
use super::machine::{Machine, Ran, cells};
use super::scalar::{self, NoValue};
use super::{Trap, TrapKind, trap};
use crate::ir::{Elem, Prim, Rel, Shape};

/// The most operands that an element operation takes.
const MOST: usize = 3;

impl<'u> Machine<'u, '_> {
    /// An index.
    pub(super) fn index(&self, ix: &Index) -> Ran<i64> {
        let slot = |s: &u32| self.ints[self.int_base + *s as usize];
        let value = match ix {
            Index::Const(n) => Some(*n),
            Index::Slot(s) => Some(slot(s)),
            Index::Offset(s, n) => slot(s).checked_add(*n),
            Index::Linear(terms, n) => {
                let mut sum = i128::from(*n);
                for (s, factor) in terms {
                    sum += i128::from(slot(s)) * i128::from(*factor);
                }
                i64::try_from(sum).ok()
            }
            Index::Add(p) => self.index(&p.0)?.checked_add(self.index(&p.1)?),
            Index::Sub(p) => self.index(&p.0)?.checked_sub(self.index(&p.1)?),
            Index::Mul(n, a) => self.index(a)?.checked_mul(*n),
            Index::Div(a, n) => Some(self.index(a)?.div_euclid(*n)),
            Index::Mod(a, n) => Some(self.index(a)?.rem_euclid(*n)),
            Index::Min(p) => Some(self.index(&p.0)?.min(self.index(&p.1)?)),
            Index::Max(p) => Some(self.index(&p.0)?.max(self.index(&p.1)?)),
            Index::If(p) => Some(self.index(if self.cond(&p.0)? { &p.1 } else { &p.2 })?),
        };
        value.ok_or_else(|| trap(TrapKind::IndexOverflow, "an index is beyond 64 bits", self.span))
    }

    pub(super) fn indices(&self, at: &[Index]) -> Ran<Vec<i64>> {
        at.iter().map(|i| self.index(i)).collect()
    }

    /// A guard.
    pub(super) fn cond(&self, c: &Cond) -> Ran<bool> {
        Ok(match c {
            Cond::Const(c) => *c,
            Cond::Cmp(rel, p) => {
                let (a, b) = (self.index(&p.0)?, self.index(&p.1)?);
                match rel {
                    Rel::Eq => a == b,
                    Rel::Ne => a != b,
                    Rel::Lt => a < b,
                    Rel::Le => a <= b,
                }
            }
            Cond::And(p) => self.cond(&p.0)? && self.cond(&p.1)?,
            Cond::Or(p) => self.cond(&p.0)? || self.cond(&p.1)?,
            Cond::Not(a) => !self.cond(a)?,
        })
    }

    /// A word of one element.
    pub(super) fn one(&mut self, word: &'u Word) -> Ran<u64> {
        match word {
            Word::Lit(bits) => Ok(*bits),
            Word::Local(slot, _) => Ok(self.get(*slot)),
            Word::Fma32(args) => {
                let a = f32::from_bits(self.one(&args[0])? as u32);
                let b = f32::from_bits(self.one(&args[1])? as u32);
                let c = f32::from_bits(self.one(&args[2])? as u32);
                let x = a.mul_add(b, c);
                Ok(if x.is_nan() {
                    scalar::canonical(Elem::F32, u64::from(x.to_bits()))
                } else {
                    u64::from(x.to_bits())
                })
            }
            Word::Load(cell) => {
                let at = self.find(cell, false)?;
                let array = &self.arrays[self.view(cell.buffer).array];
                if array.written[at] { Ok(array.cells[at]) } else { Err(self.unwritten(cell)) }
            }
            Word::Prim(p) => self.primitive(p),
            Word::Apply(a) => {
                let (base, frame) = self.apply(a)?;
                let pure = &self.unit.pures[a.pure as usize];
                let out = match &pure.body {
                    Some(body) => self.one(body)?,
                    None => return Err(trap(TrapKind::Malformed, "a function without a body", self.span)),
                };
                (self.word_base, self.frame) = (base, frame);
                Ok(out)
            }
            Word::Index(ix, elem) => {
                let n = self.index(ix)?;
                scalar::from_int(*elem, i128::from(n)).map_err(|e| self.no_value(e, "an index", *elem))
            }
            Word::LocalCell(cell) => {
                let slot = self.local_slot(cell)?;
                Ok(self.get(slot))
            }
            Word::Select(s) => {
                let c = self.one(&s.cond)?;
                let (a, b) = (self.one(&s.sides.0)?, self.one(&s.sides.1)?);
                Ok(if c != 0 { a } else { b })
            }
            Word::Part(p) => {
                self.into(&p.of, p.temp)?;
                Ok(self.get(p.temp + p.first))
            }
            Word::Let(slot, width, p) => {
                self.bind(*slot, *width, &p.0)?;
                self.one(&p.1)
            }
            Word::If(p) => {
                let side = if self.cond(&p.0)? { &p.1 } else { &p.2 };
                self.one(side)
            }
            Word::Fold(f) => {
                self.fold(f)?;
                Ok(self.get(f.acc))
            }
            Word::Reduce(r) => {
                self.reduce(r)?;
                Ok(self.get(r.temp))
            }
            Word::Differing(a, b, elems) => self.differing(*a, *b, elems),
            // A tuple of one element beside empty ones.
            Word::Tuple(parts) => {
                let mut out = 0;
                for (p, width) in parts {
                    if *width == 1 {
                        out = self.one(p)?;
                    }
                }
                Ok(out)
            }
        }
    }

    /// A word of any width, to consecutive slots. Slots that the word reads are not among them.
    pub(super) fn into(&mut self, word: &'u Word, slot: u32) -> Ran<()> {
        match word {
            Word::Local(from, width) => self.copy(*from, slot, *width),
            Word::LocalCell(cell) => {
                let from = self.local_slot(cell)?;
                self.copy(from, slot, cell.width);
            }
            Word::Load(cell) => {
                let at = self.find(cell, false)?;
                let array = &self.arrays[self.view(cell.buffer).array];
                if !array.written[at] {
                    return Err(self.unwritten(cell));
                }
                let width = array.elems.len();
                let to = self.word_base + slot as usize;
                self.words[to..to + width].copy_from_slice(&array.cells[at * width..(at + 1) * width]);
            }
            Word::Tuple(parts) => {
                let mut to = slot;
                for (p, width) in parts {
                    self.into(p, to)?;
                    to += width;
                }
            }
            Word::Select(s) => {
                let c = self.one(&s.cond)?;
                self.into(&s.sides.0, slot)?;
                self.into(&s.sides.1, s.temp)?;
                if c == 0 {
                    self.copy(s.temp, slot, s.width);
                }
            }
            Word::Apply(a) => {
                let pure = &self.unit.pures[a.pure as usize];
                let Some(body) = &pure.body else {
                    return Err(trap(TrapKind::Malformed, "a function without a body", self.span));
                };
                let (base, frame) = self.apply(a)?;
                // The value goes behind the callee's own slots, then home.
                let (width, callee) = (pure.width, pure.words as u32);
                self.frame = (callee + width) as usize;
                self.need_words(self.frame);
                self.into(body, callee)?;
                let from = self.word_base + callee as usize;
                (self.word_base, self.frame) = (base, frame);
                self.words.copy_within(from..from + width as usize, base + slot as usize);
            }
            Word::Part(p) => {
                self.into(&p.of, p.temp)?;
                self.copy(p.temp + p.first, slot, p.width);
            }
            Word::Let(local, width, p) => {
                self.bind(*local, *width, &p.0)?;
                self.into(&p.1, slot)?;
            }
            Word::If(p) => {
                let side = if self.cond(&p.0)? { &p.1 } else { &p.2 };
                self.into(side, slot)?;
            }
            Word::Fold(f) => {
                self.fold(f)?;
                self.copy(f.acc, slot, f.width);
            }
            Word::Reduce(r) => {
                self.reduce(r)?;
                self.copy(r.temp, slot, r.width);
            }
            Word::Lit(_) | Word::Index(..) | Word::Fma32(_) | Word::Prim(_) | Word::Differing(..) => {
                let x = self.one(word)?;
                self.set(slot, x);
            }
        }
        Ok(())
    }

    fn bind(&mut self, slot: u32, width: u32, word: &'u Word) -> Ran<()> {
        if width == 1 {
            let x = self.one(word)?;
            self.set(slot, x);
            return Ok(());
        }
        self.into(word, slot)
    }

    fn primitive(&mut self, p: &'u PrimCode) -> Ran<u64> {
        let mut args = [0u64; MOST];
        for (to, a) in args.iter_mut().zip(&p.args) {
            *to = self.one(a)?;
        }
        scalar::primitive(p.prim, p.elem, &args[..p.args.len().min(MOST)], p.flush)
            .map_err(|e| self.no_value(e, &format!("`{}`", p.prim), result_elem(p)))
    }

    fn no_value(&self, why: NoValue, what: &str, elem: Elem) -> Box<Trap> {
        match why {
            NoValue::Overflow => {
                trap(TrapKind::Overflow, format!("the result of {what} does not fit {elem:?}"), self.span)
            }
            NoValue::Refused => trap(TrapKind::Malformed, format!("{what} does not take these operands"), self.span),
        }
    }

    /// Evaluates the arguments and enters a pure function's frame; gives the frame to come back to.
    fn apply(&mut self, a: &'u ApplyCode) -> Ran<(usize, usize)> {
        let pure = &self.unit.pures[a.pure as usize];
        for ((word, temp), (_, width)) in a.args.iter().zip(&pure.params) {
            self.bind(*temp, *width, word)?;
        }
        let back = (self.word_base, self.frame);
        self.word_base += self.frame;
        self.frame = pure.words;
        self.need_words(pure.words);
        for ((_, temp), (slot, width)) in a.args.iter().zip(&pure.params) {
            let from = back.0 + *temp as usize;
            let to = self.word_base + *slot as usize;
            self.words.copy_within(from..from + *width as usize, to);
        }
        Ok(back)
    }

    fn fold(&mut self, f: &'u FoldCode) -> Ran<()> {
        self.bind(f.acc, f.width, &f.init)?;
        let mut turn = self.first(&f.range)?;
        while let Some(t) = turn {
            self.step()?;
            self.place(&f.range, t);
            if f.width == 1 {
                let x = self.one(&f.body)?;
                self.set(f.acc, x);
            } else {
                self.into(&f.body, f.temp)?;
                self.copy(f.temp, f.acc, f.width);
            }
            turn = self.next(&f.range, t);
        }
        Ok(())
    }

    /// Leaves a reduction's value in its temporary.
    fn reduce(&mut self, r: &'u ReduceCode) -> Ran<()> {
        let width = r.width as usize;
        let mut terms: Vec<u64> = Vec::new();
        let mut turn = self.first(&r.range)?;
        while let Some(t) = turn {
            self.step()?;
            self.place(&r.range, t);
            self.into(&r.element, r.temp)?;
            let from = self.word_base + r.temp as usize;
            self.take_elements(width as u64)?;
            terms.extend_from_slice(&self.words[from..from + width]);
            turn = self.next(&r.range, t);
        }
        self.elements += terms.len() as u64;
        self.into(&r.empty, r.temp)?;
        let from = self.word_base + r.temp as usize;
        let empty = self.words[from..from + width].to_vec();
        let value = match r.shape {
            Shape::Order => self.chain(r, &empty, terms.chunks_exact(width.max(1)))?,
            Shape::Halving => self.halve(r, &empty, terms)?,
            Shape::Lanes(n) => {
                let mut lanes = Vec::new();
                for lane in 0..n as usize {
                    lanes.extend(self.chain(
                        r,
                        &empty,
                        terms.chunks_exact(width.max(1)).skip(lane).step_by(n as usize),
                    )?);
                }
                self.halve(r, &empty, lanes)?
            }
        };
        let from = self.word_base + r.temp as usize;
        self.words[from..from + width].copy_from_slice(&value);
        Ok(())
    }

    fn chain<'t>(&mut self, r: &'u ReduceCode, empty: &[u64], terms: impl Iterator<Item = &'t [u64]>) -> Ran<Vec<u64>> {
        terms.into_iter().try_fold(empty.to_vec(), |total, term| self.join(r, &total, term))
    }

    fn halve(&mut self, r: &'u ReduceCode, empty: &[u64], mut terms: Vec<u64>) -> Ran<Vec<u64>> {
        let width = (r.width as usize).max(1);
        let mut count = terms.len() / width;
        if count == 0 {
            return Ok(empty.to_vec());
        }
        if !count.is_power_of_two() {
            let text = format!("a reduction by halving of {count} terms, which is not a power of two");
            return Err(trap(TrapKind::Shape, text, r.span));
        }
        while count > 1 {
            count /= 2;
            for i in 0..count {
                let (a, b) = (i * width..(i + 1) * width, (i + count) * width..(i + count + 1) * width);
                let joined = self.join(r, &terms[a.clone()], &terms[b])?;
                terms[a].copy_from_slice(&joined);
            }
        }
        terms.truncate(width);
        Ok(terms)
    }

    fn join(&mut self, r: &'u ReduceCode, a: &[u64], b: &[u64]) -> Ran<Vec<u64>> {
        for (slot, part) in [(r.operands.0, a), (r.operands.1, b)] {
            let to = self.word_base + slot as usize;
            self.words[to..to + part.len()].copy_from_slice(part);
        }
        self.into(&r.combine, r.temp)?;
        let from = self.word_base + r.temp as usize;
        Ok(self.words[from..from + a.len()].to_vec())
    }

    fn unwritten(&self, cell: &super::code::Cell) -> Box<Trap> {
        let name = self.code.buffers[cell.buffer as usize].name.clone();
        let at = self.indices(&cell.at).unwrap_or_default();
        let text = format!("`{}` is {name}{at:?}, and nothing was written there", cell.text);
        trap(TrapKind::Uninitialised { name, at }, text, cell.span)
    }

    fn differing(&mut self, a: u32, b: u32, elems: &[Elem]) -> Ran<u64> {
        let (x, y) = (self.view(a), self.view(b));
        if x.axes.iter().map(|a| a.extent).ne(y.axes.iter().map(|a| a.extent)) {
            return Err(trap(TrapKind::ExtentMismatch, "`differing` compares arrays of two shapes", self.span));
        }
        let width = elems.len();
        let mut count = 0u64;
        for ((at, p), (_, q)) in cells(x).zip(cells(y)) {
            for (buffer, array, cell) in [(a, x.array, p), (b, y.array, q)] {
                if !self.arrays[array].written[cell] {
                    let name = self.code.buffers[buffer as usize].name.clone();
                    let text = format!("`differing` reads {name}{at:?}, and nothing was written there");
                    return Err(trap(TrapKind::Uninitialised { name, at }, text, self.span));
                }
            }
            let (p, q) = (&self.arrays[x.array].cells[p * width..], &self.arrays[y.array].cells[q * width..]);
            count += u64::from(!elems.iter().enumerate().all(|(n, e)| scalar::same(*e, p[n], q[n])));
        }
        Ok(count)
    }
}

fn result_elem(p: &PrimCode) -> Elem {
    match p.prim {
        Prim::Cast(to) | Prim::WrappingCast(to) | Prim::SaturatingCast(to) => to,
        _ => p.elem,
    }
}
