//! Integer arithmetic loses nothing: every sum, difference, product and conversion of integers as it is written fits its
//! type, and every divisor is positive, for all contents of all arrays.
//!
//! The range of a word follows from its structure: a load may be anything that its type holds, conversions keep ranges,
//! a choice joins them, an index is a term. A running total that moves by something from `lo` to `hi` each time has after
//! `n` terms moved by something from `n * min (0, lo)` to `n * max (0, hi)`, where `n` is a term: so `sum k. ..` of
//! products of bytes asks for something like `K * 16384 <= 2147483647`, which has to follow from `requires`. A `var` and
//! a cell may hold anything that their types hold.
//!
//! This is asked of functions as people write them. A step's program is not asked again: the relation proves that it
//! holds the same words, and every operation has a value for all operands, so that nothing rests on the ranges there.
//! The operations of an implementation that is bound to a type parameter are asked for all operands, because a generic
//! function was checked without knowing them.

mod claims;
mod reach;

use crate::condition::Condition;
use crate::context::Context;
use crate::wf::range::Walk as Intervals;
use cachet_core::ir::{
    Binding, Block, Domain, Elem, Fold, Fun, Guard, ImplId, Ix, Local, LocalInfo, Op, Prim, Program, PureId, Rel, Stmt,
    StmtKind, Ty, Var, Word,
};
use cachet_core::print::Names;
use cachet_source::Span;
use claims::Sum;
use reach::{Bound, Num, Range, Value};
use std::collections::BTreeMap;

/// The conditions of a function as it is written.
pub fn conditions(program: &Program, fun: &Fun) -> Vec<Condition> {
    let mut walk = Walk::new(program, fun);
    walk.block(&fun.body);
    walk.out
}

/// The conditions of what a function's type parameters are bound to: its operations lose nothing, whatever their
/// operands are.
pub fn bindings(program: &Program, fun: &Fun, types: &[Binding]) -> Vec<Condition> {
    let mut walk = Walk::new(program, fun);
    for binding in types {
        if let Binding::Impl(id) = binding {
            walk.implementation(*id);
        }
    }
    walk.out
}

/// What is known of the sizes: their limits, and requirements that compare one with a number.
fn intervals(fun: &Fun) -> Intervals<'_> {
    let mut out = Intervals::entry(fun);
    for guard in &fun.requires {
        let (var, lo, hi) = match guard {
            Guard::Cmp(Rel::Le, Ix::Var(v), Ix::Lit(n)) => (v, i128::MIN, i128::from(*n)),
            Guard::Cmp(Rel::Lt, Ix::Var(v), Ix::Lit(n)) => (v, i128::MIN, i128::from(*n) - 1),
            Guard::Cmp(Rel::Le, Ix::Lit(n), Ix::Var(v)) => (v, i128::from(*n), i128::MAX),
            Guard::Cmp(Rel::Lt, Ix::Lit(n), Ix::Var(v)) => (v, i128::from(*n) + 1, i128::MAX),
            Guard::Cmp(Rel::Eq, Ix::Var(v), Ix::Lit(n)) | Guard::Cmp(Rel::Eq, Ix::Lit(n), Ix::Var(v)) => {
                (v, i128::from(*n), i128::from(*n))
            }
            _ => continue,
        };
        out.narrow(*var, lo, hi);
    }
    out
}

struct Walk<'a> {
    program: &'a Program,
    names: Names<'a>,
    locals: &'a [LocalInfo],
    cx: Context,
    intervals: Intervals<'a>,
    /// What `let`s and running totals may be.
    env: BTreeMap<Local, Value>,
    out: Vec<Condition>,
    span: Span,
    /// Above 0 while only ranges are wanted.
    quiet: usize,
    /// How many running totals were numbered.
    totals: u32,
    /// The sums around, outermost first, of the function or pure function at hand.
    sums: Vec<Sum>,
    /// The operations of implementations around.
    inside: Vec<String>,
}

impl<'a> Walk<'a> {
    fn new(program: &'a Program, fun: &'a Fun) -> Walk<'a> {
        Walk {
            program,
            names: Names::of(program, fun),
            locals: &fun.locals,
            cx: Context::entry(fun),
            intervals: intervals(fun),
            env: BTreeMap::new(),
            out: Vec::new(),
            span: fun.span.0,
            quiet: 0,
            totals: 0,
            sums: Vec::new(),
            inside: Vec::new(),
        }
    }

    fn block(&mut self, block: &'a Block) {
        for s in block {
            self.span = s.span.0;
            self.stmt(s);
        }
    }

    fn stmt(&mut self, s: &'a Stmt) {
        match &s.kind {
            StmtKind::For { var, domain, body } => {
                let outer = self.cx.clone();
                self.enter(*var, domain);
                self.block(body);
                self.cx = outer;
            }
            StmtKind::Grid(g) => {
                let outer = self.cx.clone();
                for (var, domain) in &g.axes {
                    self.enter(*var, domain);
                }
                self.block(&g.body);
                self.cx = outer;
            }
            StmtKind::If { guard, then, els } => {
                self.under(guard, true, |w| w.block(then));
                self.under(guard, false, |w| w.block(els));
            }
            StmtKind::Let { local, word } => {
                let value = self.word(word);
                self.env.insert(*local, value);
            }
            StmtKind::Var { local: _, init: word }
            | StmtKind::Assign { local: _, at: _, word }
            | StmtKind::Store { to: _, word }
            | StmtKind::Print(word) => {
                self.word(word);
            }
            StmtKind::Call(c) => {
                for binding in &c.types {
                    if let Binding::Impl(id) = binding {
                        self.implementation(*id);
                    }
                }
            }
            StmtKind::Alloc(_) | StmtKind::Lease { .. } => {}
        }
    }

    fn enter(&mut self, var: Var, domain: &Domain) {
        self.cx.enter(self.names.var(var), var, domain);
        self.intervals.bind(var, domain);
    }

    fn under<T>(&mut self, guard: &Guard, holds: bool, inside: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.cx.clone();
        match holds {
            true => self.cx.assume(guard),
            false => self.cx.assume(&Guard::Not(Box::new(guard.clone()))),
        }
        let out = inside(self);
        self.cx = outer;
        out
    }

    /// The operations of an implementation, for all operands.
    fn implementation(&mut self, id: ImplId) {
        let program = self.program;
        let Some(i) = program.impls.get(id.index()) else { return };
        let Some(interface) = program.interfaces.get(i.interface as usize) else { return };
        for (f, (name, _)) in i.methods.iter().zip(&interface.methods) {
            let Some(pure) = program.pures.get(f.index()) else { continue };
            let types = pure.params.iter().filter_map(|p| pure.locals.get(p.index())).map(|l| &l.ty);
            let args = types.map(anything).collect();
            self.inside.push(format!("`{name}` of `{}`", i.name));
            self.apply(*f, args);
            self.inside.pop();
        }
    }

    fn word(&mut self, word: &'a Word) -> Value {
        match word {
            Word::Lit(l) if l.elem.is_integer() => {
                let n = cachet_core::interpret::scalar::to_int(l.elem, l.bits);
                Value::Num(Num::of(l.elem, Range::numbers(n, n)))
            }
            Word::Index(ix, elem) if elem.is_integer() => {
                Value::Num(Num::of(*elem, Range::exactly(self.index(ix)).within(*elem)))
            }
            Word::Lit(l) => Value::Other(Some(l.elem)),
            Word::Index(_, elem) => Value::Other(Some(*elem)),
            Word::Load(a) => self.names.buffers.get(a.buffer.index()).map_or(Value::Other(None), |b| anything(&b.elem)),
            Word::Local(l, at) => match self.env.get(l) {
                Some(value) if at.is_empty() => value.clone(),
                _ => self.locals.get(l.index()).map_or(Value::Other(None), |l| anything(&l.ty)),
            },
            Word::Op { op, arith: _, args } => {
                let values: Vec<Value> = args.iter().map(|a| self.word(a)).collect();
                match op {
                    Op::Prim(p) => self.operation(*p, word, args, values),
                    Op::Method(..) => Value::Other(None),
                }
            }
            Word::Apply(f, args) => {
                let values = args.iter().map(|a| self.word(a)).collect();
                self.apply(*f, values)
            }
            Word::Tuple(parts) => Value::Many(parts.iter().map(|p| self.word(p)).collect()),
            Word::Part(w, n) => match self.word(w) {
                Value::Many(mut parts) if (*n as usize) < parts.len() => parts.swap_remove(*n as usize),
                Value::Many(_) | Value::Num(_) | Value::Other(_) => Value::Other(None),
            },
            Word::Let(l, a, b) => {
                let value = self.word(a);
                self.env.insert(*l, value);
                self.word(b)
            }
            Word::If(g, a, b) => {
                let a = self.under(g, true, |w| w.word(a));
                let b = self.under(g, false, |w| w.word(b));
                a.join(b)
            }
            Word::Fold(f) => self.fold(f),
            Word::Reduce(r) => {
                self.word(&r.empty);
                let outer = self.cx.clone();
                self.enter(r.var, &r.domain);
                self.word(&r.element);
                self.cx = outer;
                // How often what is joined is unknown here, so its operands may be anything.
                self.word(&r.combine);
                self.locals.get(r.operands.0.index()).map_or(Value::Other(None), |l| anything(&l.ty))
            }
            Word::Differing(..) => Value::Num(Num::of(Elem::I64, Range::numbers(0, i128::from(i64::MAX)))),
        }
    }

    fn index(&self, ix: &Ix) -> Bound {
        match ix {
            Ix::Lit(n) => Bound::lit(i128::from(*n)),
            ix => {
                let (least, most) = self.intervals.interval(ix);
                Bound { term: self.cx.ix(ix), least, most }
            }
        }
    }

    /// A pure function's value at these arguments.
    fn apply(&mut self, f: PureId, args: Vec<Value>) -> Value {
        let program = self.program;
        let Some(pure) = program.pures.get(f.index()) else { return Value::Other(None) };
        let env = pure.params.iter().copied().zip(args).collect();
        let env = std::mem::replace(&mut self.env, env);
        let locals = std::mem::replace(&mut self.locals, &pure.locals);
        let names = std::mem::replace(&mut self.names, Names::of_pure(program, pure));
        let sums = std::mem::take(&mut self.sums);
        let value = self.word(&pure.body);
        (self.env, self.locals, self.names, self.sums) = (env, locals, names, sums);
        value
    }

    fn operation(&mut self, prim: Prim, word: &Word, args: &[Word], values: Vec<Value>) -> Value {
        if prim == Prim::Select {
            return match <[Value; 3]>::try_from(values) {
                Ok([_, a, b]) => a.join(b),
                Err(_) => Value::Other(None),
            };
        }
        let Some(first) = values.first() else { return Value::Other(None) };
        match (prim, first) {
            (Prim::Cast(to), first) => self.cast(to, word, args, first),
            (Prim::WrappingCast(to), Value::Num(n)) => {
                let (range, all) = (n.range(), Range::all(to));
                let fits = range.lo.least >= all.lo.least && range.hi.most <= all.hi.most;
                Value::Num(Num::of(to, if fits { range } else { all }))
            }
            (Prim::SaturatingCast(to), Value::Num(n)) => Value::Num(Num::of(to, n.range().within(to).numeric())),
            (Prim::ToBits, Value::Other(Some(e))) => Value::Num(Num::all(match e.bytes() {
                8 => Elem::U64,
                4 => Elem::U32,
                _ => Elem::U16,
            })),
            (Prim::FromBits(to), _) => Value::Other(Some(to)),
            (Prim::Eq | Prim::Lt | Prim::Le, _) => Value::Other(Some(Elem::Bool)),
            (_, Value::Num(a)) => match values.get(1) {
                Some(Value::Num(b)) => self.on_two(prim, word, args, a, b),
                _ => self.on_one(prim, word, args, a),
            },
            (_, first) => first.clone(),
        }
    }

    fn cast(&mut self, to: Elem, word: &Word, args: &[Word], of: &Value) -> Value {
        if !to.is_integer() {
            return Value::Other(Some(to));
        }
        let n = match of {
            Value::Num(n) => n,
            Value::Other(Some(Elem::Bool)) => return Value::Num(Num::of(to, Range::numbers(0, 1))),
            // A float saturates.
            Value::Other(_) | Value::Many(_) => return Value::Num(Num::all(to)),
        };
        if n.elem == to {
            return Value::Num(n.clone());
        }
        let range = n.range();
        self.keeps(to, word, args, &range);
        Value::Num(Num::of(to, range.within(to)))
    }

    fn on_one(&mut self, prim: Prim, word: &Word, args: &[Word], a: &Num) -> Value {
        let range = match prim {
            Prim::Neg => a.range().negated(),
            Prim::Abs => a.range().absolute(),
            _ => return Value::Other(None),
        };
        self.fits(a.elem, word, args, &range, &[a.range()]);
        Value::Num(Num::of(a.elem, range.within(a.elem)))
    }

    fn on_two(&mut self, prim: Prim, word: &Word, args: &[Word], a: &Num, b: &Num) -> Value {
        let elem = a.elem;
        let moves = match (prim, &a.ahead, &b.ahead) {
            (Prim::Add, Some(_), None) => Some(a.clone().moved(&b.range())),
            (Prim::Add, None, Some(_)) => Some(b.clone().moved(&a.range())),
            (Prim::Sub, Some(_), None) => Some(a.clone().moved(&b.range().negated())),
            (Prim::Max | Prim::Min, _, _) if a.ahead.is_some() || b.ahead.is_some() => Some(a.clone().join(b.clone())),
            _ => None,
        };
        // A total is only followed where no conditions are made.
        if let Some(num) = moves {
            return Value::Num(num);
        }
        let (x, y) = (a.range(), b.range());
        let range = match prim {
            Prim::Add => x.clone().add(y.clone()),
            Prim::Sub => x.clone().add(y.clone().negated()),
            Prim::Mul => x.clone().times(y.clone()),
            Prim::Max => x.clone().larger(y.clone()),
            Prim::Min => x.clone().negated().larger(y.clone().negated()).negated(),
            Prim::Div | Prim::Rem => {
                self.divides(word, args, &y);
                let rest = Range { lo: Bound::lit(0), hi: y.hi.clone().add(Bound::lit(-1)).max(Bound::lit(0)) };
                let range = if prim == Prim::Div { x.quotient(&y) } else { rest };
                return Value::Num(Num::of(elem, range.within(elem)));
            }
            Prim::WrappingAdd | Prim::WrappingSub | Prim::WrappingMul => return Value::Num(Num::all(elem)),
            Prim::Fma
            | Prim::Neg
            | Prim::Abs
            | Prim::Sqrt
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
            | Prim::ToBits => return Value::Other(None),
        };
        if matches!(prim, Prim::Add | Prim::Sub | Prim::Mul) {
            self.fits(elem, word, args, &range, &[x, y]);
        }
        Value::Num(Num::of(elem, range.within(elem)))
    }

    /// A running total: how far one term moves it says how far all of them do.
    fn fold(&mut self, f: &'a Fold) -> Value {
        let init = self.word(&f.init);
        let outside = self.cx.shown().len();
        let outer = self.cx.clone();
        let (inner_count, count) = self.counts(&f.domain);
        self.enter(f.var, &f.domain);
        let (next, first) = self.one_term(f, &init, outside);
        let after = |n: &Bound, numbered: u32| {
            let mut number = numbered;
            let mut steps = next.nums().into_iter();
            init.clone().map(&mut |start| {
                let step = steps.next().cloned().unwrap_or_else(|| Num::all(start.elem));
                let out = moved(start, &step, number, n);
                number += 1;
                out
            })
        };
        if self.quiet == 0 {
            let entry = after(&inner_count.clone().add(Bound::lit(-1)), first);
            let sum = Sum::of(f, self.names, self.sums.last(), &init, &next, first);
            self.sums.push(sum);
            self.env.insert(f.acc, entry);
            self.word(&f.body);
            self.sums.pop();
        }
        self.env.remove(&f.acc);
        self.cx = outer;
        after(&count, first)
    }

    /// The total after one term, from the total before it, and the number of the total's first integer.
    fn one_term(&mut self, f: &'a Fold, init: &Value, outside: usize) -> (Value, u32) {
        let first = self.totals;
        let before = init.clone().map(&mut |n| {
            self.totals += 1;
            Num::total(n.elem, self.totals - 1)
        });
        self.env.insert(f.acc, before);
        self.quiet += 1;
        let next = self.word(&f.body);
        self.quiet -= 1;
        let next = next.map(&mut |n| Num {
            elem: n.elem,
            own: n.own.map(|r| r.outside(outside)),
            ahead: n.ahead.map(|(total, r)| (total, r.outside(outside))),
        });
        (next, first)
    }

    /// How many terms a sum has where there is one, and anywhere.
    fn counts(&self, domain: &Domain) -> (Bound, Bound) {
        match domain {
            Domain::Range { lo, hi } => {
                let n = self.index(hi).add(self.index(lo).times(-1));
                let inside = Bound { least: n.least.max(1), most: n.most.max(1), term: n.term.clone() };
                (inside, n.max(Bound::lit(0)))
            }
            Domain::Blocks { lo, hi, size } => {
                let n = self.index(hi).add(self.index(lo).times(-1));
                let most = (n.most.max(0) + i128::from(*size) - 1).div_euclid(i128::from(*size).max(1));
                let term = self.cx.count(domain);
                (Bound { term: term.clone(), least: 1, most: most.max(1) }, Bound { term, least: 0, most })
            }
        }
    }
}

/// A total that starts as `start` after `n` terms, of which one leads from the total `number` to `step`.
fn moved(start: Num, step: &Num, number: u32, n: &Bound) -> Num {
    let elem = start.elem;
    let start = match &step.own {
        // A term may also start afresh.
        Some(own) => start.join(Num::of(elem, own.clone())),
        None => start,
    };
    let by = match &step.ahead {
        None => return start,
        Some((of, by)) if *of == number => by,
        // It is made from another total.
        Some(_) => return Num::all(elem),
    };
    let zero = Bound::lit(0);
    start.moved(&Range {
        lo: product(by.lo.clone().min(zero.clone()), n, true),
        hi: product(by.hi.clone().max(zero), n, false),
    })
}

/// `by`, so many times; one of the two is taken as a number.
fn product(by: Bound, n: &Bound, least: bool) -> Bound {
    match n.number() {
        Some(n) => by.times(n),
        None => n.clone().times(if least { by.least } else { by.most }),
    }
}

/// All that a word of a type may be.
fn anything(ty: &Ty) -> Value {
    match ty {
        Ty::Elem(e) if e.is_integer() => Value::Num(Num::all(*e)),
        Ty::Elem(e) => Value::Other(Some(*e)),
        Ty::Abstract(_) => Value::Other(None),
        Ty::Tuple(parts) => Value::Many(parts.iter().map(anything).collect()),
    }
}
