//! Indices, guards and words.

use super::coverage::{operations, result};
use super::{Cells, Draw, ELEMS, Mut, Use, bx, cell, plus};
use crate::parts::type_of;
use cachet_core::ir::{
    At, BlockPart, Device, Domain, Elem, Fold, Guard, Ix, Lit, Local, Op, Parts, Prim, PureId, Reduce, Rel, Shape, Ty,
    Var, VarKind, Word,
};
use cachet_oracle::hostile::{KINDS, fill};

/// How many loops, folds and reductions stand in one another.
const NESTED: usize = 3;

impl Draw<'_> {
    pub(super) fn ix(&mut self, depth: usize) -> Ix {
        let n = self.random.between(1, 9);
        let kinds = if depth == 0 { 4 } else { 13 };
        let down = |d: &mut Self| bx(d.ix(depth.saturating_sub(1)));
        match self.below(kinds) {
            0 => Ix::Lit(n - 5),
            1 | 2 => Ix::Var(self.pick(&self.indices.clone())),
            3 if !self.blocks.is_empty() => {
                let part = self.pick(&[BlockPart::Lo, BlockPart::Hi, BlockPart::Len, BlockPart::Idx]);
                Ix::Block(self.pick(&self.blocks.clone()), part)
            }
            3 => Ix::Lit(n),
            4 if !self.blocks.is_empty() => Ix::InBlock(self.pick(&self.blocks.clone()), down(self)),
            4 | 5 => Ix::Add(down(self), down(self)),
            6 => Ix::Sub(down(self), down(self)),
            7 => Ix::Mul(n - 5, down(self)),
            8 => Ix::Div(down(self), n),
            9 => Ix::Mod(down(self), n),
            10 => Ix::Min(down(self), down(self)),
            11 => Ix::Max(down(self), down(self)),
            _ => Ix::If(bx(self.guard(depth - 1)), down(self), down(self)),
        }
    }

    pub(super) fn guard(&mut self, depth: usize) -> Guard {
        match self.below(if depth == 0 { 4 } else { 9 }) {
            0 => Guard::Const(self.random.once_in(2)),
            1..5 => {
                let rel = self.pick(&[Rel::Eq, Rel::Ne, Rel::Lt, Rel::Le]);
                Guard::Cmp(rel, self.ix(depth.min(1)), self.ix(depth.min(1)))
            }
            5 => Guard::And(bx(self.guard(depth - 1)), bx(self.guard(depth - 1))),
            6 => Guard::Or(bx(self.guard(depth - 1)), bx(self.guard(depth - 1))),
            _ => Guard::Not(bx(self.guard(depth - 1))),
        }
    }

    /// An index of an axis of this extent, or `None` where there may be none: of a size that no loop is over.
    pub(super) fn within(&mut self, extent: &Ix) -> Option<Ix> {
        match extent {
            Ix::Lit(n) => Some(self.below_literal(*n)),
            // Sizes are small: an index below the literal that is added to one is below the whole.
            Ix::Add(_, n) => match **n {
                Ix::Lit(n) => Some(self.below_literal(n)),
                _ => None,
            },
            Ix::Var(v) if self.some.contains(v) => {
                let along: Vec<Var> = self.over.iter().filter(|(_, size)| size == v).map(|(i, _)| *i).collect();
                if !along.is_empty() && !self.random.once_in(3) {
                    return Some(Ix::Var(self.pick(&along)));
                }
                let ix = self.ix(1);
                let low = Ix::Max(bx(ix), bx(Ix::Lit(0)));
                Some(Ix::Min(bx(low), bx(plus(Ix::Var(*v), -1))))
            }
            _ => None,
        }
    }

    fn below_literal(&mut self, n: i64) -> Ix {
        match self.random.once_in(3) {
            true => Ix::Lit(self.random.between(0, n - 1)),
            false => Ix::Mod(bx(self.ix(1)), n),
        }
    }

    pub(super) fn inside_of(&mut self, cells: &Cells) -> Option<Vec<Ix>> {
        match &cells.only {
            Some(at) => Some(at.clone()),
            None => cells.extents.clone().iter().map(|e| self.within(e)).collect(),
        }
    }

    pub(super) fn inside(&mut self, dims: &[i64]) -> Vec<Ix> {
        dims.iter().map(|n| self.below_literal(*n)).collect()
    }

    /// A short range, a loop over a size, or a few blocks; the variable is in scope until [`Draw::leave`].
    pub(super) fn enter(&mut self) -> (Var, Domain) {
        self.loops += 1;
        let lo = self.random.between(-1, 1);
        let hi = match self.below(4) {
            0 => Ix::Lit(self.random.between(0, 5)),
            1 => Ix::Mod(bx(self.ix(1)), 5),
            _ => {
                let size = self.pick(&self.sizes.clone());
                if lo >= 0 {
                    self.some.push(size);
                }
                Ix::Var(size)
            }
        };
        if self.random.once_in(3) {
            let size = self.random.between(1, 4);
            let var = self.var("g", VarKind::Block);
            self.blocks.push(var);
            (var, Domain::Blocks { lo: Ix::Lit(lo), hi, size })
        } else {
            let var = self.var("i", VarKind::Index);
            self.indices.push(var);
            if let (0.., Ix::Var(size)) = (lo, &hi) {
                self.over.push((var, *size));
            }
            (var, Domain::Range { lo: Ix::Lit(lo), hi })
        }
    }

    pub(super) fn leave(&mut self, var: Var, domain: &Domain) {
        self.loops -= 1;
        let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. }) = domain;
        if let (Ix::Lit(0..), Ix::Var(_)) = (lo, hi) {
            self.some.pop();
        }
        self.indices.retain(|i| *i != var);
        self.over.retain(|(i, _)| *i != var);
        self.blocks.retain(|g| *g != var);
    }

    fn named(&mut self, ty: &Ty, body: impl FnOnce(&mut Self) -> Word) -> (Local, Word) {
        let local = self.local("l", ty.clone(), &[], false);
        self.lets.push((local, ty.clone()));
        let word = body(self);
        self.lets.retain(|(l, _)| *l != local);
        (local, word)
    }

    pub(super) fn word(&mut self, ty: &Ty, depth: usize) -> Word {
        if depth == 0 {
            return self.leaf(ty);
        }
        let down = depth - 1;
        match self.below(11) {
            0 => {
                let of = self.ty();
                let value = self.word(&of, down);
                let (local, body) = self.named(&of, |d| d.word(ty, down));
                Word::Let(local, bx(value), bx(body))
            }
            1 => Word::If(bx(self.guard(1)), bx(self.word(ty, down)), bx(self.word(ty, down))),
            2 if self.loops < NESTED => {
                let init = self.word(ty, down.min(1));
                let (var, domain) = self.enter();
                let (acc, mut body) = self.named(ty, |d| d.word(ty, down));
                // A running total mostly goes on from what it was.
                if let Ty::Elem(e) = ty
                    && *e != Elem::Bool
                    && !sixteen(*e)
                    && !self.random.once_in(3)
                {
                    let prim = self.pick(&[Prim::Add, Prim::Add, Prim::Mul, Prim::Max, Prim::Min]);
                    body = op(prim, vec![Word::Local(acc, vec![]), body]);
                }
                self.leave(var, &domain);
                let span = At::default();
                Word::Fold(bx(Fold { var, domain, acc, init, body, regroup: false, span }))
            }
            3 if self.loops < NESTED && self.what == Use::Native => self.reduction(ty, down),
            4 if self.what == Use::Native => {
                let first = self.elem_ty();
                let both = Word::Tuple(vec![self.word(&first, down), self.word(ty, down)]);
                Word::Part(bx(both), 1)
            }
            5 => self.application(ty, down),
            6 => {
                op(Prim::Select, vec![self.word(&Ty::Elem(Elem::Bool), down), self.word(ty, down), self.word(ty, down)])
            }
            _ => match ty {
                Ty::Elem(e) => self.operation(*e, down),
                Ty::Tuple(parts) => Word::Tuple(parts.iter().map(|t| self.word(t, down)).collect()),
                Ty::Abstract(_) => panic!("drawn functions have no type parameters"),
            },
        }
    }

    fn reduction(&mut self, ty: &Ty, depth: usize) -> Word {
        let shape = self.pick(&[Shape::Order, Shape::Halving, Shape::Lanes(4), Shape::Lanes(2), Shape::Lanes(1)]);
        let empty = self.word(ty, depth.min(1));
        let (var, mut domain) = self.enter();
        let entered = domain.clone();
        if shape == Shape::Halving {
            let count = self.pick(&[0, 1, 2, 4, 8]);
            domain = match domain {
                Domain::Range { .. } => Domain::Range { lo: Ix::Lit(1), hi: Ix::Lit(1 + count) },
                Domain::Blocks { size, .. } => Domain::Blocks { lo: Ix::Lit(0), hi: Ix::Lit(count * size), size },
            };
            // It no longer runs over the size that it was drawn for.
            self.over.retain(|(i, _)| *i != var);
            if let Domain::Range { lo: Ix::Lit(0..), hi: Ix::Var(_) }
            | Domain::Blocks { lo: Ix::Lit(0..), hi: Ix::Var(_), .. } = entered
            {
                self.some.pop();
            }
        }
        let element = self.word(ty, depth.min(2));
        let left = if shape == Shape::Halving { &domain } else { &entered };
        self.leave(var, left);
        let p = self.local("p", ty.clone(), &[], false);
        self.lets.push((p, ty.clone()));
        let (q, combine) = self.named(ty, |d| d.word(ty, depth.min(2)));
        self.lets.retain(|(l, _)| *l != p);
        Word::Reduce(bx(Reduce { var, domain, element, operands: (p, q), combine, empty, shape, span: At::default() }))
    }

    /// A pure function's value.
    fn application(&mut self, ty: &Ty, depth: usize) -> Word {
        // An implementation's own functions have no names in the language.
        let own = |n: usize| self.program.impls.iter().any(|i| i.methods.contains(&PureId(n as u32)));
        let text = self.what == Use::Text;
        let fits =
            |(n, p): &(usize, &cachet_core::ir::Pure)| p.result == *ty && !p.params.is_empty() && !(text && own(*n));
        let all: Vec<usize> = self.program.pures.iter().enumerate().filter(fits).map(|(n, _)| n).collect();
        if all.is_empty() {
            return self.leaf(ty);
        }
        let which = self.pick(&all);
        let pure = &self.program.pures[which];
        let args = pure.params.iter().map(|p| self.word(&pure.locals[p.index()].ty, depth)).collect();
        Word::Apply(PureId(which as u32), args)
    }

    pub(super) fn leaf(&mut self, ty: &Ty) -> Word {
        let lets: Vec<Local> = self.lets.iter().filter(|(_, t)| t == ty).map(|(l, _)| *l).collect();
        if !lets.is_empty() && self.random.once_in(2) {
            return Word::Local(self.pick(&lets), vec![]);
        }
        let muts: Vec<Mut> = self.muts.iter().filter(|m| m.ty == *ty).cloned().collect();
        if !muts.is_empty() && self.random.once_in(2) {
            let m = self.pick(&muts);
            return Word::Local(m.local, self.inside(&m.dims));
        }
        let arrays: Vec<Cells> = self.buffers.iter().filter(|b| b.reads && b.ty == *ty).cloned().collect();
        if !arrays.is_empty() && !self.random.once_in(4) {
            let from = self.pick(&arrays);
            if let Some(at) = self.inside_of(&from) {
                return Word::Load(cell(from.buffer, at));
            }
        }
        match ty {
            Ty::Tuple(parts) => Word::Tuple(parts.iter().map(|t| self.leaf(t)).collect()),
            Ty::Elem(e) if *e != Elem::Bool && !(self.what == Use::Text && sixteen(*e)) && self.random.once_in(3) => {
                let ix = self.ix(2);
                let narrow = e.is_integer() && !matches!(e, Elem::I64 | Elem::I32);
                Word::Index(if narrow { Ix::Mod(bx(ix), 100) } else { ix }, *e)
            }
            Ty::Elem(e) if self.random.once_in(3) && self.what == Use::Native => self.part_of(*e),
            Ty::Elem(e) => self.literal(*e),
            Ty::Abstract(_) => panic!("drawn functions have no type parameters"),
        }
    }

    /// A part of a tuple that an array holds, where there is one.
    fn part_of(&mut self, e: Elem) -> Word {
        let has = |parts: &Parts| parts.iter().position(|t| *t == Ty::Elem(e));
        let tuples: Vec<(Cells, usize)> = self
            .buffers
            .iter()
            .filter(|b| b.reads)
            .filter_map(|b| match &b.ty {
                Ty::Tuple(parts) => has(parts).map(|n| (b.clone(), n)),
                Ty::Elem(_) | Ty::Abstract(_) => None,
            })
            .collect();
        if !tuples.is_empty() {
            let (from, n) = self.pick(&tuples);
            if let Some(at) = self.inside_of(&from) {
                return Word::Part(bx(Word::Load(cell(from.buffer, at))), n as u32);
            }
        }
        self.literal(e)
    }

    fn literal(&mut self, e: Elem) -> Word {
        let kind = self.pick(&KINDS);
        let bits = fill(e, self.random.next(), kind, 1)[0];
        let text = self.what == Use::Text && cachet_core::interpret::scalar::is_nan(e, bits);
        Word::Lit(Lit { elem: e, bits: if text { 0 } else { bits } })
    }

    fn operation(&mut self, e: Elem, depth: usize) -> Word {
        let text = self.what == Use::Text;
        let gives = |(prim, of): &&(Prim, Elem)| {
            let unsigned = matches!(of, Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8);
            result(*prim, *of) == e && !(text && unsigned && matches!(prim, Prim::Neg | Prim::Abs))
        };
        let wanted: Vec<(Prim, Elem)> = self.wanted.iter().filter(gives).copied().collect();
        let (prim, of) = match wanted.is_empty() || self.random.once_in(3) {
            true => {
                let all: Vec<(Prim, Elem)> = operations().into_iter().filter(|o| gives(&o)).collect();
                self.pick(&all)
            }
            false => self.pick(&wanted),
        };
        let types = self.operands(prim, of);
        let mut args: Vec<Word> = types.into_iter().map(|of| self.word(&Ty::Elem(of), depth)).collect();
        // Products that are added are what contraction looks for.
        if matches!(prim, Prim::Add | Prim::Sub) && of.is_float() && depth > 0 && self.random.once_in(2) {
            args[0] = op(Prim::Mul, vec![self.word(&Ty::Elem(of), depth - 1), self.word(&Ty::Elem(of), depth - 1)]);
        }
        let of = usize::from(prim == Prim::Select);
        if text && args[of..].iter().all(untyped) {
            let ty = type_of(self.program, &self.fun, &args[of]);
            if let Some(Ty::Elem(e)) = ty {
                args[of] = self.typed(e);
            }
        }
        op(prim, args)
    }

    /// The types of an operation's operands.
    pub(super) fn operands(&mut self, prim: Prim, of: Elem) -> Vec<Elem> {
        let text = self.what == Use::Text;
        let integers = || ELEMS.into_iter().filter(|e| e.is_integer());
        match prim {
            Prim::Select => vec![Elem::Bool, of, of],
            Prim::Fma => vec![of; 3],
            Prim::Neg | Prim::Abs | Prim::Sqrt | Prim::Not | Prim::ToBits => vec![of],
            // A narrow float comes from the widest in two steps, which have to round like one.
            Prim::Cast(Elem::F16 | Elem::BF16) if self.random.once_in(2) => vec![Elem::F64],
            Prim::Cast(_) => {
                // Half of them from floats, which have more to lose.
                let floats = if self.random.once_in(2) { 4 } else { ELEMS.len() };
                vec![self.pick(&ELEMS[..floats])]
            }
            Prim::WrappingCast(_) | Prim::SaturatingCast(_) => vec![self.pick(&integers().collect::<Vec<_>>())],
            Prim::FromBits(to) => {
                let unsigned = |i: &Elem| matches!(i, Elem::U64 | Elem::U32 | Elem::U16);
                let same = integers().filter(|i| i.bytes() == to.bytes() && (unsigned(i) || !text));
                vec![self.pick(&same.collect::<Vec<_>>())]
            }
            Prim::Add
            | Prim::Sub
            | Prim::Mul
            | Prim::Div
            | Prim::Rem
            | Prim::WrappingAdd
            | Prim::WrappingSub
            | Prim::WrappingMul
            | Prim::Max
            | Prim::Min
            | Prim::Eq
            | Prim::Lt
            | Prim::Le
            | Prim::And
            | Prim::Or => vec![of; 2],
        }
    }

    /// A word that says its type.
    fn typed(&mut self, e: Elem) -> Word {
        let arrays: Vec<Cells> = self.buffers.iter().filter(|b| b.reads && b.ty == Ty::Elem(e)).cloned().collect();
        if !arrays.is_empty() && !self.random.once_in(3) {
            let from = self.pick(&arrays);
            if let Some(at) = self.inside_of(&from) {
                return Word::Load(cell(from.buffer, at));
            }
        }
        let ix = Ix::Mod(bx(self.ix(1)), 100);
        match e {
            Elem::Bool => op(Prim::Not, vec![Word::Lit(Lit { elem: e, bits: 1 })]),
            Elem::F16 | Elem::BF16 => op(Prim::Cast(e), vec![Word::Index(ix, Elem::F32)]),
            _ => Word::Index(ix, e),
        }
    }
}

/// Words that take their type from their place.
fn untyped(word: &Word) -> bool {
    match word {
        Word::Lit(_) | Word::Op { op: Op::Prim(Prim::FromBits(_)), .. } => true,
        Word::Op { op: Op::Prim(Prim::Select), args, .. } => args[1..].iter().all(untyped),
        Word::If(_, a, b) => untyped(a) && untyped(b),
        Word::Let(_, _, b) => untyped(b),
        _ => false,
    }
}

/// Floats that are stored and converted only.
fn sixteen(e: Elem) -> bool {
    matches!(e, Elem::F16 | Elem::BF16)
}

pub(super) fn op(prim: Prim, args: Vec<Word>) -> Word {
    Word::Op { op: Op::Prim(prim), arith: Device::HOST, args }
}
