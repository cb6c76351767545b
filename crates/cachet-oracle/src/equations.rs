//! One element of a contraction, straight from its equations: no nest, no buffers, no fold.
//!
//! Sums are chains from their zero over all binders at once, the first outermost. The element operations are
//! [`cachet_core::interpret::scalar`]'s; everything else here is this module's own.

use cachet_core::equations::{Combine, Contraction, Expr, Sum, Target};
use cachet_core::interpret::{Array, Value, scalar};
use cachet_core::ir::{
    Binding, BlockPart, Device, Domain, Elem, Guard, Ix, Op, Prim, Program, PureId, Rel, Ty, Var, Word,
};
use std::collections::HashMap;

/// Why an element has no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoElement {
    /// An equation reads outside an input or another equation's range.
    OutOfBounds(String),
    /// An integer does not fit.
    Overflow,
    /// Something that a contraction cannot have.
    Malformed(String),
    /// More than the limit on operations.
    TooBig,
}

type Found<T> = Result<T, NoElement>;

/// How many operations an element may take.
const MAX_OPERATIONS: u64 = 50_000_000;
/// How deep equations and pure functions may build on one another.
const MAX_CHAIN: usize = 128;
/// How deep terms and the equations that they use may nest together on the native stack.
const MAX_STACK: usize = 1200;
/// How many elements of intermediates are remembered.
const MAX_KNOWN: usize = 1 << 20;

/// An element of an output. `inputs` are in the order of the contraction's parameters, entries of outputs are not read;
/// `output` counts [`Contraction::outputs`].
pub fn element(
    program: &Program,
    contraction: &Contraction,
    types: &[Binding],
    sizes: &[i64],
    inputs: &[Array],
    output: usize,
    at: &[i64],
) -> Found<Value> {
    let Some(buffer) = contraction.outputs.get(output) else { return malformed("no such output") };
    let defines = |e: &&cachet_core::equations::Equation| matches!(&e.target, Target::Output(b) if b == buffer);
    let Some(index) = contraction.equations.iter().position(|e| defines(&e)) else {
        return malformed("an output without an equation");
    };
    let mut ranges = vec![0; contraction.vars.len()];
    for (v, n) in contraction.sizes.iter().zip(sizes) {
        ranges[v.index()] = *n;
    }
    let mut eval = Eval {
        program,
        contraction,
        types,
        inputs,
        sizes: ranges,
        left: MAX_OPERATIONS,
        depth: 0,
        lets: vec![None; contraction.locals.len()],
        known: HashMap::new(),
    };
    eval.equation(index, at, 0).map(|(v, _)| v)
}

/// A word with its type, which operations need.
type Typed = (Value, Ty);

struct Eval<'a> {
    program: &'a Program,
    contraction: &'a Contraction,
    types: &'a [Binding],
    inputs: &'a [Array],
    sizes: Vec<i64>,
    left: u64,
    depth: usize,
    /// What `let`s name, by their locals: no equation is evaluated inside itself.
    lets: Vec<Option<Typed>>,
    /// Elements of intermediates by equation and indices: one element may need another many times.
    known: HashMap<(usize, Vec<i64>), Typed>,
}

impl Eval<'_> {
    fn equation(&mut self, index: usize, at: &[i64], chain: usize) -> Found<Typed> {
        if chain > MAX_CHAIN {
            return Err(NoElement::TooBig);
        }
        let contraction = self.contraction;
        let Some(e) = contraction.equations.get(index) else { return malformed("no such equation") };
        let mut env = self.sizes.clone();
        if at.len() != e.indices.len() {
            return malformed("an element with the wrong number of indices");
        }
        for ((v, d), i) in e.indices.iter().zip(&e.ranges).zip(at) {
            let (lo, hi) = bounds(d, &env)?;
            if *i < lo || *i >= hi {
                return Err(NoElement::OutOfBounds(format!("an equation's index is {i}, outside {lo} .. {hi}")));
            }
            env[v.index()] = *i;
        }
        self.expr(&e.value, &mut env, index, chain)
    }

    fn intermediate(&mut self, index: usize, at: Vec<i64>, chain: usize) -> Found<Typed> {
        let key = (index, at);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let value = self.equation(index, &key.1, chain)?;
        if self.known.len() < MAX_KNOWN {
            self.known.insert(key, value.clone());
        }
        Ok(value)
    }

    /// One operation more, and one level down; the caller comes up again, unless the evaluation ends.
    fn down(&mut self) -> Found<()> {
        self.left = self.left.checked_sub(1).ok_or(NoElement::TooBig)?;
        self.depth += 1;
        if self.depth > MAX_STACK { Err(NoElement::TooBig) } else { Ok(()) }
    }

    fn expr(&mut self, e: &Expr, env: &mut Vec<i64>, own: usize, chain: usize) -> Found<Typed> {
        self.down()?;
        let out = self.expr_inside(e, env, own, chain)?;
        self.depth -= 1;
        Ok(out)
    }

    fn expr_inside(&mut self, e: &Expr, env: &mut Vec<i64>, own: usize, chain: usize) -> Found<Typed> {
        match e {
            Expr::Lit(l) => Ok((Value::Bits(l.bits), Ty::Elem(l.elem))),
            Expr::Index(i, elem) => {
                let bits = scalar::from_int(*elem, i128::from(ix(i, env)?)).map_err(|_| NoElement::Overflow)?;
                Ok((Value::Bits(bits), Ty::Elem(*elem)))
            }
            Expr::Read(a) => {
                let at = a.at.iter().map(|i| ix(i, env)).collect::<Found<Vec<i64>>>()?;
                let param = self.contraction.params.iter().position(|p| *p == a.buffer);
                let Some(input) = param.and_then(|p| self.inputs.get(p)) else { return malformed("no such input") };
                let name = self.contraction.buffers.get(a.buffer.index()).map_or("?", |b| &b.name);
                match (input.get(&at), input.elem()) {
                    (Some(v), Some(ty)) => Ok((v, ty.clone())),
                    _ => Err(NoElement::OutOfBounds(format!("{name}{at:?}"))),
                }
            }
            Expr::Value(n, at) => {
                let at = at.iter().map(|i| ix(i, env)).collect::<Found<Vec<i64>>>()?;
                if *n as usize >= own {
                    return malformed("an equation uses a later one");
                }
                self.intermediate(*n as usize, at, chain + 1)
            }
            Expr::Op(op, device, args) => {
                let args = args.iter().map(|a| self.expr(a, env, own, chain)).collect::<Found<Vec<Typed>>>()?;
                self.operation(*op, *device, args, chain)
            }
            Expr::Apply(f, args) => {
                let args = args.iter().map(|a| self.expr(a, env, own, chain)).collect::<Found<Vec<Typed>>>()?;
                self.apply(*f, args, chain)
            }
            Expr::Tuple(parts) => {
                let parts = parts.iter().map(|p| self.expr(p, env, own, chain)).collect::<Found<Vec<Typed>>>()?;
                Ok(tuple(parts))
            }
            Expr::Part(of, n) => part(self.expr(of, env, own, chain)?, *n),
            Expr::Let(l, a, b) => {
                let value = self.expr(a, env, own, chain)?;
                match self.lets.get_mut(l.index()) {
                    Some(slot) => *slot = Some(value),
                    None => return malformed("a `let` of nothing"),
                }
                self.expr(b, env, own, chain)
            }
            Expr::Local(l) => match self.lets.get(l.index()).cloned().flatten() {
                Some(value) => Ok(value),
                None => malformed("a local without a value"),
            },
            Expr::If(g, a, b) => {
                let side = if guard(g, env)? { a } else { b };
                self.expr(side, env, own, chain)
            }
            Expr::Sum(s) => {
                let mut total = self.expr(&s.zero, env, own, chain)?;
                self.terms(s, 0, env, &mut total, own, chain)?;
                Ok(total)
            }
        }
    }

    /// Joins the terms of a sum from its `n`th binder inwards.
    fn terms(
        &mut self,
        s: &Sum,
        n: usize,
        env: &mut Vec<i64>,
        total: &mut Typed,
        own: usize,
        chain: usize,
    ) -> Found<()> {
        let Some(binder) = s.binders.get(n) else {
            *total = self.term(s, env, total.clone(), own, chain)?;
            return Ok(());
        };
        let (lo, hi) = bounds(&binder.domain, env)?;
        for i in lo..hi {
            env[binder.var.index()] = i;
            let counts = match &binder.guard {
                Some(g) => guard(g, env)?,
                None => true,
            };
            if counts {
                self.terms(s, n + 1, env, total, own, chain)?;
            }
        }
        Ok(())
    }

    fn term(&mut self, s: &Sum, env: &mut Vec<i64>, total: Typed, own: usize, chain: usize) -> Found<Typed> {
        if let (Some((fused, product)), Expr::Op(op, _, args)) = (&s.mul_add, &s.body)
            && op == product
            && let [x, y] = args.as_slice()
        {
            let (x, y) = (self.expr(x, env, own, chain)?, self.expr(y, env, own, chain)?);
            return match fused {
                Combine::Op(op) => self.operation(*op, s.arith, vec![x, y, total], chain),
                Combine::Apply(f) => self.apply(*f, vec![x, y, total], chain),
            };
        }
        let term = self.expr(&s.body, env, own, chain)?;
        match s.add {
            Combine::Op(op) => self.operation(op, s.arith, vec![total, term], chain),
            Combine::Apply(f) => self.apply(f, vec![total, term], chain),
        }
    }

    fn operation(&mut self, op: Op, device: Device, args: Vec<Typed>, chain: usize) -> Found<Typed> {
        let prim = match op {
            Op::Prim(p) => p,
            Op::Method(p, m) => {
                let Some(Binding::Impl(i)) = self.types.get(p.index()) else { return malformed("an unbound type") };
                let method = self.program.impls.get(i.index()).and_then(|i| i.methods.get(m as usize));
                let Some(f) = method.copied() else { return malformed("an implementation without this operation") };
                return self.apply(f, args, chain);
            }
        };
        let of = if prim == Prim::Select { args.get(1) } else { args.first() };
        let Some((_, ty)) = of else { return malformed("an operation without operands") };
        let ty = ty.clone();
        let Ty::Elem(elem) = ty else {
            let [c, a, b] = <[Typed; 3]>::try_from(args).or_else(|_| malformed("an operation on tuples"))?;
            return Ok(if c.0 == Value::Bits(0) { b } else { a });
        };
        let bits: Option<Vec<u64>> = args.iter().map(|(v, _)| v.bits()).collect();
        let flush = self.program.devices.get(device.index()).is_some_and(|d| d.flush_subnormals);
        let Some(bits) = bits else { return malformed("an operation on tuples") };
        let value = scalar::primitive(prim, elem, &bits, flush).map_err(|e| match e {
            scalar::NoValue::Overflow => NoElement::Overflow,
            scalar::NoValue::Refused => NoElement::Malformed(format!("`{prim}` does not take these operands")),
        })?;
        Ok((Value::Bits(value), Ty::Elem(result(prim, elem))))
    }

    fn apply(&mut self, f: PureId, args: Vec<Typed>, chain: usize) -> Found<Typed> {
        if chain > MAX_CHAIN {
            return Err(NoElement::TooBig);
        }
        let program = self.program;
        let Some(pure) = program.pures.get(f.index()) else { return malformed("an application of nothing") };
        let mut locals: Vec<Option<Typed>> = vec![None; pure.locals.len()];
        for (p, a) in pure.params.iter().zip(args) {
            locals[p.index()] = Some(a);
        }
        self.word(&pure.body, &mut locals, chain + 1)
    }

    fn word(&mut self, w: &Word, locals: &mut Vec<Option<Typed>>, chain: usize) -> Found<Typed> {
        self.down()?;
        let out = self.word_inside(w, locals, chain)?;
        self.depth -= 1;
        Ok(out)
    }

    fn word_inside(&mut self, w: &Word, locals: &mut Vec<Option<Typed>>, chain: usize) -> Found<Typed> {
        let all = |e: &mut Self, ws: &[Word], locals: &mut Vec<Option<Typed>>| {
            ws.iter().map(|w| e.word(w, locals, chain)).collect::<Found<Vec<Typed>>>()
        };
        match w {
            Word::Lit(l) => Ok((Value::Bits(l.bits), Ty::Elem(l.elem))),
            Word::Local(l, _) => match locals.get(l.index()).cloned().flatten() {
                Some(v) => Ok(v),
                None => malformed("a local without a value"),
            },
            Word::Op { op, arith, args } => {
                let args = all(self, args, locals)?;
                self.operation(*op, *arith, args, chain)
            }
            Word::Apply(f, args) => {
                let args = all(self, args, locals)?;
                self.apply(*f, args, chain)
            }
            Word::Tuple(parts) => Ok(tuple(all(self, parts, locals)?)),
            Word::Part(of, n) => part(self.word(of, locals, chain)?, *n),
            Word::Let(l, a, b) => {
                locals[l.index()] = Some(self.word(a, locals, chain)?);
                self.word(b, locals, chain)
            }
            Word::Index(..) | Word::If(..) | Word::Load(_) | Word::Fold(_) | Word::Reduce(_) | Word::Differing(..) => {
                malformed("a pure function of more than its arguments")
            }
        }
    }
}

fn malformed<T>(text: impl Into<String>) -> Found<T> {
    Err(NoElement::Malformed(text.into()))
}

fn tuple(parts: Vec<Typed>) -> Typed {
    let (values, types): (Vec<Value>, Vec<Ty>) = parts.into_iter().unzip();
    (Value::Tuple(values.into()), Ty::Tuple(types.into()))
}

fn part((value, ty): Typed, n: u32) -> Found<Typed> {
    match (value, ty) {
        (Value::Tuple(v), Ty::Tuple(t)) if (n as usize) < v.len().min(t.len()) => {
            Ok((v[n as usize].clone(), t[n as usize].clone()))
        }
        _ => malformed("a part that does not exist"),
    }
}

fn result(prim: Prim, elem: Elem) -> Elem {
    match prim {
        Prim::Eq | Prim::Lt | Prim::Le => Elem::Bool,
        Prim::Cast(to) | Prim::WrappingCast(to) | Prim::SaturatingCast(to) | Prim::FromBits(to) => to,
        Prim::ToBits => match elem {
            Elem::F64 => Elem::U64,
            Elem::F32 => Elem::U32,
            Elem::F16 | Elem::BF16 => Elem::U16,
            Elem::I64
            | Elem::I32
            | Elem::I16
            | Elem::I8
            | Elem::U64
            | Elem::U32
            | Elem::U16
            | Elem::U8
            | Elem::Bool => elem,
        },
        Prim::Add
        | Prim::Sub
        | Prim::Mul
        | Prim::Div
        | Prim::Rem
        | Prim::WrappingAdd
        | Prim::WrappingSub
        | Prim::WrappingMul
        | Prim::Fma
        | Prim::Max
        | Prim::Min
        | Prim::Neg
        | Prim::Abs
        | Prim::Sqrt
        | Prim::And
        | Prim::Or
        | Prim::Not
        | Prim::Select => elem,
    }
}

fn bounds(d: &Domain, env: &[i64]) -> Found<(i64, i64)> {
    match d {
        Domain::Range { lo, hi } => Ok((ix(lo, env)?, ix(hi, env)?)),
        Domain::Blocks { .. } => malformed("an equation over blocks"),
    }
}

fn ix(i: &Ix, env: &[i64]) -> Found<i64> {
    let value = match i {
        Ix::Lit(n) => Some(*n),
        Ix::Var(Var(v)) => env.get(*v as usize).copied(),
        Ix::Add(a, b) => ix(a, env)?.checked_add(ix(b, env)?),
        Ix::Sub(a, b) => ix(a, env)?.checked_sub(ix(b, env)?),
        Ix::Mul(n, a) => ix(a, env)?.checked_mul(*n),
        Ix::Div(a, n) if *n > 0 => Some(ix(a, env)?.div_euclid(*n)),
        Ix::Mod(a, n) if *n > 0 => Some(ix(a, env)?.rem_euclid(*n)),
        Ix::Div(..) | Ix::Mod(..) => None,
        Ix::Min(a, b) => Some(ix(a, env)?.min(ix(b, env)?)),
        Ix::Max(a, b) => Some(ix(a, env)?.max(ix(b, env)?)),
        Ix::If(g, a, b) => Some(if guard(g, env)? { ix(a, env)? } else { ix(b, env)? }),
        Ix::Block(_, BlockPart::Lo | BlockPart::Hi | BlockPart::Len | BlockPart::Idx) | Ix::InBlock(..) => None,
    };
    value.ok_or_else(|| NoElement::Malformed("an index of an equation".into()))
}

fn guard(g: &Guard, env: &[i64]) -> Found<bool> {
    Ok(match g {
        Guard::Const(c) => *c,
        Guard::Cmp(rel, a, b) => {
            let (a, b) = (ix(a, env)?, ix(b, env)?);
            match rel {
                Rel::Eq => a == b,
                Rel::Ne => a != b,
                Rel::Lt => a < b,
                Rel::Le => a <= b,
            }
        }
        Guard::And(a, b) => guard(a, env)? && guard(b, env)?,
        Guard::Or(a, b) => guard(a, env)? || guard(b, env)?,
        Guard::Not(a) => !guard(a, env)?,
    })
}
