//! Words.

use super::{Bound, Machine, Ran, Stop};
use crate::symbolic::term::{Id, Term};
use cachet_core::interpret::scalar;
use cachet_core::ir::{Buffer, Fold, Lit, Local, Op, Pure, PureId, Reduce, Shape, Word};

/// How deep pure functions may build on one another.
const MAX_CHAIN: usize = 128;

impl<'p> Machine<'p, '_> {
    pub(super) fn word(&mut self, word: &'p Word) -> Ran<Id> {
        self.event()?;
        self.down()?;
        let out = self.word_inside(word)?;
        self.depth -= 1;
        Ok(out)
    }

    fn word_inside(&mut self, word: &'p Word) -> Ran<Id> {
        match word {
            Word::Lit(l) => Ok(self.terms.make(Term::Lit(*l))),
            Word::Index(ix, e) => {
                let n = self.ix(ix)?;
                match scalar::from_int(*e, i128::from(n)) {
                    Ok(bits) => Ok(self.terms.make(Term::Lit(Lit { elem: *e, bits }))),
                    Err(_) => {
                        let text = format!("`{}` is {n}, which does not fit", self.names().word(word));
                        self.fault(text, self.span)
                    }
                }
            }
            Word::Load(access) => {
                let (store, cell) = self.find(access, false)?;
                match self.stores[store].cells[cell] {
                    Some(id) => Ok(id),
                    None => {
                        let at = self.ixs(&access.at)?;
                        let name = &self.fun().buffers[access.buffer.index()].name;
                        let text =
                            format!("`{}` is {name}{at:?}, and nothing was written there", self.names().access(access));
                        self.fault(text, access.span)
                    }
                }
            }
            Word::Local(l, at) => {
                let cell = self.local_cell(*l, at)?;
                match self.here().locals[l.index()].get(cell) {
                    Some(id) => Ok(*id),
                    None => self.fault(format!("`{}` has no value yet", self.fun().locals[l.index()].name), self.span),
                }
            }
            Word::Op { op, arith, args } => {
                let args = args.iter().map(|a| self.word(a)).collect::<Ran<Vec<Id>>>()?;
                self.operation(*op, *arith, args, 0)
            }
            Word::Apply(f, args) => {
                let args = args.iter().map(|a| self.word(a)).collect::<Ran<Vec<Id>>>()?;
                self.apply(*f, &args, 0)
            }
            Word::Tuple(parts) => {
                let parts = parts.iter().map(|p| self.word(p)).collect::<Ran<Vec<Id>>>()?;
                Ok(self.terms.make(Term::Tuple(parts)))
            }
            Word::Part(w, n) => {
                let of = self.word(w)?;
                Ok(self.terms.make(Term::Part(of, *n)))
            }
            Word::Let(l, a, b) => {
                let a = self.word(a)?;
                self.bind(*l, a);
                self.word(b)
            }
            Word::If(g, a, b) => {
                let side = if self.guard(g)? { a } else { b };
                self.word(side)
            }
            Word::Fold(f) => self.fold(f),
            Word::Reduce(r) => self.reduce(r),
            Word::Differing(a, b) => self.differing(*a, *b),
        }
    }

    fn bind(&mut self, local: Local, id: Id) {
        self.top().locals[local.index()] = vec![id];
    }

    fn operation(&mut self, op: Op, arith: cachet_core::ir::Device, args: Vec<Id>, chain: usize) -> Ran<Id> {
        let op = match op {
            Op::Prim(_) => op,
            Op::Method(param, m) => match self.here().types.get(param.index()) {
                Some(Bound::Impl(i)) => {
                    let method = self.program.impls.get(i.index()).and_then(|i| i.methods.get(m as usize));
                    return match method {
                        Some(pure) => self.apply(*pure, &args, chain),
                        None => self.fault("an implementation without this operation", self.span),
                    };
                }
                Some(Bound::Top(top)) => Op::Method(*top, m),
                None => op,
            },
        };
        Ok(self.terms.make(Term::Op(op, arith, args)))
    }

    fn apply(&mut self, f: PureId, args: &[Id], chain: usize) -> Ran<Id> {
        if chain > MAX_CHAIN {
            return Err(Stop::TooBig);
        }
        let program = self.program;
        let Some(pure) = program.pures.get(f.index()) else {
            return self.fault("an application of nothing", self.span);
        };
        let mut locals = vec![None; pure.locals.len()];
        for (p, a) in pure.params.iter().zip(args) {
            locals[p.index()] = Some(*a);
        }
        self.pure_word(pure, &pure.body, &mut locals, chain)
    }

    /// A word of a pure function: no buffers and no indices but literal ones.
    fn pure_word(&mut self, pure: &'p Pure, word: &'p Word, locals: &mut Vec<Option<Id>>, chain: usize) -> Ran<Id> {
        self.event()?;
        self.down()?;
        let out = self.pure_inside(pure, word, locals, chain)?;
        self.depth -= 1;
        Ok(out)
    }

    fn pure_inside(&mut self, pure: &'p Pure, word: &'p Word, locals: &mut Vec<Option<Id>>, chain: usize) -> Ran<Id> {
        let mut all = |m: &mut Self, ws: &'p [Word]| {
            ws.iter().map(|w| m.pure_word(pure, w, locals, chain)).collect::<Ran<Vec<Id>>>()
        };
        match word {
            Word::Lit(l) => Ok(self.terms.make(Term::Lit(*l))),
            Word::Local(l, _) => match locals.get(l.index()).copied().flatten() {
                Some(id) => Ok(id),
                None => self.fault(format!("`{}` uses a local without a value", pure.name), self.span),
            },
            Word::Op { op, arith, args } => {
                let args = all(self, args)?;
                self.operation(*op, *arith, args, chain + 1)
            }
            Word::Apply(f, args) => {
                let args = all(self, args)?;
                self.apply(*f, &args, chain + 1)
            }
            Word::Tuple(parts) => {
                let parts = all(self, parts)?;
                Ok(self.terms.make(Term::Tuple(parts)))
            }
            Word::Part(w, n) => {
                let of = self.pure_word(pure, w, locals, chain)?;
                Ok(self.terms.make(Term::Part(of, *n)))
            }
            Word::Let(l, a, b) => {
                let a = self.pure_word(pure, a, locals, chain)?;
                locals[l.index()] = Some(a);
                self.pure_word(pure, b, locals, chain)
            }
            Word::Index(..) | Word::If(..) | Word::Load(_) | Word::Fold(_) | Word::Reduce(_) | Word::Differing(..) => {
                self.fault(format!("`{}` is not a function of its arguments alone", pure.name), self.span)
            }
        }
    }

    fn fold(&mut self, f: &'p Fold) -> Ran<Id> {
        let mut total = self.word(&f.init)?;
        for turn in self.turns(&f.domain)? {
            self.top().vars[f.var.index()] = turn;
            self.bind(f.acc, total);
            total = self.word(&f.body)?;
        }
        Ok(total)
    }

    fn reduce(&mut self, r: &'p Reduce) -> Ran<Id> {
        let empty = self.word(&r.empty)?;
        let mut terms = Vec::new();
        for turn in self.turns(&r.domain)? {
            self.top().vars[r.var.index()] = turn;
            terms.push(self.word(&r.element)?);
        }
        match r.shape {
            Shape::Order => self.in_order(r, empty, terms),
            Shape::Halving => self.halving(r, empty, terms),
            Shape::Lanes(n) => {
                let mut lanes = Vec::new();
                for lane in 0..n as usize {
                    let own = terms.iter().skip(lane).step_by(n as usize).copied().collect();
                    lanes.push(self.in_order(r, empty, own)?);
                }
                self.halving(r, empty, lanes)
            }
        }
    }

    fn in_order(&mut self, r: &'p Reduce, empty: Id, terms: Vec<Id>) -> Ran<Id> {
        let mut total = empty;
        for t in terms {
            total = self.join(r, total, t)?;
        }
        Ok(total)
    }

    fn halving(&mut self, r: &'p Reduce, empty: Id, mut terms: Vec<Id>) -> Ran<Id> {
        while terms.len() > 1 {
            if terms.len() % 2 == 1 {
                return self
                    .fault(format!("a reduction by halving has {} terms left, an odd number", terms.len()), r.span);
            }
            let upper = terms.split_off(terms.len() / 2);
            let mut next = Vec::with_capacity(upper.len());
            for (a, b) in terms.iter().zip(upper) {
                next.push(self.join(r, *a, b)?);
            }
            terms = next;
        }
        Ok(terms.first().copied().unwrap_or(empty))
    }

    fn join(&mut self, r: &'p Reduce, a: Id, b: Id) -> Ran<Id> {
        self.bind(r.operands.0, a);
        self.bind(r.operands.1, b);
        self.word(&r.combine)
    }

    fn differing(&mut self, a: Buffer, b: Buffer) -> Ran<Id> {
        let mut sides = Vec::new();
        for b in [a, b] {
            let name = self.fun().buffers[b.index()].name.clone();
            let Some(view) = self.here().views[b.index()].clone() else {
                return self.fault(format!("`{name}` does not exist yet"), self.span);
            };
            let mut words = Vec::new();
            for at in super::points(&view) {
                self.event()?;
                match self.stores[view.store].cells[self.position(view.store, &at)] {
                    Some(id) => words.push(id),
                    None => {
                        return self.fault(
                            format!("`differing` reads {name}{at:?}, and nothing was written there"),
                            self.span,
                        );
                    }
                }
            }
            sides.push((words, view.axes.iter().map(|a| a.1).collect::<Vec<i64>>()));
        }
        if sides[0].1 != sides[1].1 {
            return self.fault("`differing` compares arrays of two shapes", self.span);
        }
        let pairs = sides[0].0.iter().copied().zip(sides[1].0.iter().copied()).collect();
        Ok(self.terms.make(Term::Differing(pairs)))
    }
}
