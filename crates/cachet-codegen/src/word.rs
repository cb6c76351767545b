//! How are words computed?

use crate::function::{Lower, Outcome, Place};
use crate::types::{Value, bits, canonical_nan, constant, is_signed, leaves, register};
use cachet_core::ir::{Buffer, Elem, Fold, Op, Prim, PureId, Ty, Word};
use cachet_source::{Diagnostic, codes};

/// How deep applications of pure functions may nest.
const MAX_APPLIED: usize = 128;
/// How many lines the text of a function may have before another application is written out in full: functions that
/// apply others twice each would double it at every level.
const MAX_LINES: usize = 1_000_000;

impl Lower<'_, '_> {
    pub(crate) fn word(&mut self, word: &Word) -> Outcome<Value> {
        match word {
            Word::Lit(l) => Ok(Value::scalar(l.elem, constant(l.elem, l.bits))),
            Word::Index(ix, elem) => {
                let ix = self.ix(ix)?;
                self.converts(Elem::I64, *elem)?;
                let name = self.convert(Elem::I64, *elem, &ix);
                Ok(Value::scalar(*elem, name))
            }
            Word::Load(access) => self.load(access),
            Word::Local(l, at) => self.read(*l, at),
            Word::Op { op, arith, args } => {
                let prim = match op {
                    Op::Prim(prim) => *prim,
                    Op::Method(..) => return Err(self.unbound()),
                };
                let Some(device) = self.program.devices.get(arith.index()) else {
                    return Err(self.ill_formed("an operation of an unknown device"));
                };
                if device.flush_subnormals {
                    return Err(self.not_built(format!("native code for the arithmetic of `{}`", device.name)));
                }
                let args = self.words(args)?;
                self.prim(prim, &args)
            }
            Word::Apply(f, args) => {
                let args = self.words(args)?;
                self.apply(*f, args)
            }
            Word::Tuple(parts) => {
                let parts = self.words(parts)?;
                let ty = Ty::Tuple(parts.iter().map(|p| p.ty.clone()).collect());
                Ok(Value { ty, leaves: parts.into_iter().flat_map(|p| p.leaves).collect() })
            }
            Word::Part(w, n) => {
                let value = self.word(w)?;
                self.part(&value, *n as usize)
            }
            Word::Let(l, a, b) => {
                let a = self.word(a)?;
                self.bind(*l, Place::Value(a));
                self.word(b)
            }
            Word::If(guard, a, b) => {
                let cond = self.guard(guard)?;
                self.choose(&cond, a, b)
            }
            Word::Fold(fold) => self.fold(fold),
            Word::Reduce(reduce) => self.reduce(reduce),
            Word::Differing(a, b) => self.differing(*a, *b),
        }
    }

    fn words(&mut self, words: &[Word]) -> Outcome<Vec<Value>> {
        words.iter().map(|w| self.word(w)).collect()
    }

    fn part(&self, value: &Value, n: usize) -> Outcome<Value> {
        let Ty::Tuple(parts) = &value.ty else { return Err(self.ill_formed("a part of a single word")) };
        let Some(ty) = parts.get(n) else { return Err(self.ill_formed("a tuple has no such part")) };
        let before: usize = parts[..n].iter().map(|t| leaves(t).len()).sum();
        let here = leaves(ty).len();
        Ok(Value { ty: ty.clone(), leaves: value.leaves.iter().skip(before).take(here).cloned().collect() })
    }

    /// A pure function's value. Its locals are its own: the caller's are put aside.
    fn apply(&mut self, f: PureId, args: Vec<Value>) -> Outcome<Value> {
        let program = self.program;
        let Some(pure) = program.pures.get(f.index()) else { return Err(self.ill_formed("an application of nothing")) };
        if self.applied == MAX_APPLIED {
            return Err(self.not_built(format!("pure functions nested as deep as `{}`", pure.name)));
        }
        if self.em.len() > MAX_LINES {
            return Err(self.not_built(format!("native code as large as that of `{}`", self.fun.name)));
        }
        let mut own = vec![None; pure.locals.len()];
        for (param, arg) in pure.params.iter().zip(args) {
            match own.get_mut(param.index()) {
                Some(place) => *place = Some(Place::Value(arg)),
                None => return Err(self.ill_formed("a parameter without an entry")),
            }
        }
        let outer = std::mem::replace(&mut self.locals, own);
        self.applied += 1;
        let value = self.word(&pure.body);
        self.applied -= 1;
        self.locals = outer;
        value
    }

    /// Only the chosen side is computed: the other may read what is not there.
    fn choose(&mut self, cond: &str, a: &Word, b: &Word) -> Outcome<Value> {
        let (then, els, after) = (self.em.block(), self.em.block(), self.em.block());
        self.em.branch(cond, &then, &els);
        self.em.open(&then);
        let a = self.word(a)?;
        let then = self.em.here();
        self.em.jump(&after);
        self.em.open(&els);
        let b = self.word(b)?;
        let els = self.em.here();
        self.em.jump(&after);
        self.em.open(&after);
        let names = leaves(&a.ty).into_iter().zip(a.leaves.iter().zip(&b.leaves));
        let names = names
            .map(|(e, (x, y))| self.em.def(format_args!("phi {} [ {x}, {then} ], [ {y}, {els} ]", register(e))))
            .collect();
        Ok(Value { ty: a.ty, leaves: names })
    }

    fn fold(&mut self, fold: &Fold) -> Outcome<Value> {
        let init = self.word(&fold.init)?;
        let (ty, carried) = carry(&init);
        let names = self.domain(fold.var, &fold.domain, &carried, &mut |this, names| {
            let acc = Value { ty: ty.clone(), leaves: names.to_vec() };
            this.bind(fold.acc, Place::Value(acc));
            Ok(this.word(&fold.body)?.leaves)
        })?;
        Ok(Value { ty, leaves: names })
    }

    /// How many elements of two buffers of one shape differ: one after another, whatever their shape.
    fn differing(&mut self, a: Buffer, b: Buffer) -> Outcome<Value> {
        let (a, b) = (self.buffer(a)?.clone(), self.buffer(b)?.clone());
        let count = self.count(&a.extents);
        let carried = [("i64", String::from("0"))];
        let names = self.range("0", &count, 1, &carried, &mut |this, i, names| {
            let (x, y) = (this.nth_cell(&a, i)?, this.nth_cell(&b, i)?);
            let (x, y) = (this.load_at(&a.elem, &x), this.load_at(&b.elem, &y));
            let mut any = String::from("false");
            for (elem, (x, y)) in leaves(&a.elem).into_iter().zip(x.leaves.iter().zip(&y.leaves)) {
                let (x, y) = (this.bits_of(elem, x), this.bits_of(elem, y));
                let ty = format!("i{}", bits(elem));
                let differs = this.em.def(format_args!("icmp ne {ty} {x}, {y}"));
                any = this.em.def(format_args!("or i1 {any}, {differs}"));
            }
            let one = this.em.def(format_args!("zext i1 {any} to i64"));
            let total = names.first().cloned().unwrap_or_default();
            Ok(vec![this.em.def(format_args!("add nsw i64 {total}, {one}"))])
        })?;
        Ok(Value { ty: Ty::Elem(Elem::I64), leaves: names })
    }

    fn prim(&mut self, prim: Prim, args: &[Value]) -> Outcome<Value> {
        let elem = match args.first().map(|a| &a.ty) {
            Some(Ty::Elem(e)) => *e,
            Some(Ty::Abstract(_)) => return Err(self.unbound()),
            Some(Ty::Tuple(_)) | None => return Err(self.ill_formed("an operation on a tuple")),
        };
        let arg = |n: usize| args.get(n).map_or("poison", Value::only);
        let (a, b, c) = (arg(0), arg(1), arg(2));
        let ty = register(elem);
        let (float, signed) = (elem.is_float(), is_signed(elem));
        let (out, text) = match prim {
            // No `nsw`, no `nuw`: what was proved of the program as it was written is no licence for its schedules' text.
            Prim::Add => (elem, binary(if float { "fadd" } else { "add" }, ty, a, b)),
            Prim::Sub => (elem, binary(if float { "fsub" } else { "sub" }, ty, a, b)),
            Prim::Mul => (elem, binary(if float { "fmul" } else { "mul" }, ty, a, b)),
            Prim::WrappingAdd => (elem, binary("add", ty, a, b)),
            Prim::WrappingSub => (elem, binary("sub", ty, a, b)),
            Prim::WrappingMul => (elem, binary("mul", ty, a, b)),
            Prim::Div if float => (elem, binary("fdiv", ty, a, b)),
            Prim::Div => return Ok(Value::scalar(elem, self.floor_division(elem, a, b).0)),
            Prim::Rem => return Ok(Value::scalar(elem, self.floor_division(elem, a, b).1)),
            Prim::Fma => {
                let kind = suffix(elem);
                (elem, format!("call {ty} @llvm.fma.{kind}({ty} {a}, {ty} {b}, {ty} {c})"))
            }
            Prim::Max | Prim::Min if float => return Ok(self.float_extreme(elem, prim == Prim::Max, a, b)),
            Prim::Max | Prim::Min => {
                let name = extreme(prim == Prim::Max, signed);
                (elem, format!("call {ty} @llvm.{name}.{}({ty} {a}, {ty} {b})", suffix(elem)))
            }
            Prim::Neg if float => return Ok(self.of_sign(elem, format!("fneg {ty} {a}"), a)),
            Prim::Neg => (elem, binary("sub", ty, "0", a)),
            Prim::Abs if float => {
                let text = format!("call {ty} @llvm.fabs.{}({ty} {a})", suffix(elem));
                return Ok(self.of_sign(elem, text, a));
            }
            Prim::Abs if signed => (elem, format!("call {ty} @llvm.abs.{}({ty} {a}, i1 false)", suffix(elem))),
            Prim::Abs => return Ok(Value::scalar(elem, a.into())),
            Prim::Sqrt => (elem, format!("call {ty} @llvm.sqrt.{}({ty} {a})", suffix(elem))),
            Prim::Eq => (Elem::Bool, binary(if float { "fcmp oeq" } else { "icmp eq" }, ty, a, b)),
            Prim::Lt => (Elem::Bool, binary(order(float, signed, "fcmp olt", "icmp slt", "icmp ult"), ty, a, b)),
            Prim::Le => (Elem::Bool, binary(order(float, signed, "fcmp ole", "icmp sle", "icmp ule"), ty, a, b)),
            Prim::And => (elem, binary("and", ty, a, b)),
            Prim::Or => (elem, binary("or", ty, a, b)),
            Prim::Not => (elem, binary("xor", ty, a, "true")),
            Prim::Select => return self.select(args),
            Prim::Cast(to) => {
                self.converts(elem, to)?;
                return Ok(Value::scalar(to, self.convert(elem, to, a)));
            }
            Prim::WrappingCast(to) => return Ok(Value::scalar(to, self.convert(elem, to, a))),
            Prim::SaturatingCast(to) => return Ok(Value::scalar(to, self.saturate(elem, to, a))),
            Prim::FromBits(to) if to.bytes() == 2 => return Ok(Value::scalar(to, a.into())),
            Prim::FromBits(to) => (to, format!("bitcast {ty} {a} to {}", register(to))),
            Prim::ToBits => {
                let out = match elem.bytes() {
                    8 => Elem::U64,
                    4 => Elem::U32,
                    _ => Elem::U16,
                };
                return Ok(Value::scalar(out, self.bits_of(elem, a)));
            }
        };
        Ok(Value::scalar(out, self.em.def(text)))
    }

    /// Nothing but a `bool` converts to one.
    fn converts(&self, from: Elem, to: Elem) -> Outcome<()> {
        if to == Elem::Bool && from != Elem::Bool {
            let text = "only a `bool` converts to `bool`: compare with 0";
            return Err(Diagnostic::error(codes::TYPE_MISMATCH, self.span.0, text));
        }
        Ok(())
    }

    /// Both sides are computed; they may be tuples.
    fn select(&mut self, args: &[Value]) -> Outcome<Value> {
        let [c, a, b] = args else { return Err(self.ill_formed("`select` takes three words")) };
        let names = leaves(&a.ty).into_iter().zip(a.leaves.iter().zip(&b.leaves));
        let names = names
            .map(|(e, (x, y))| {
                let ty = register(e);
                self.em.def(format_args!("select i1 {}, {ty} {x}, {ty} {y}", c.only()))
            })
            .collect();
        Ok(Value { ty: a.ty.clone(), leaves: names })
    }

    /// The larger or the smaller of two floats; a NaN wins.
    ///
    /// LLVM's own operation says the same, but for x86-64 with AVX-512 it loses a signalling NaN where it knows that the
    /// other operand is a number, as a converted integer is. What it knows also comes through memory, so the NaN is asked
    /// for everywhere.
    fn float_extreme(&mut self, elem: Elem, largest: bool, a: &str, b: &str) -> Value {
        let ty = register(elem);
        let name = if largest { "maximum" } else { "minimum" };
        let number = self.em.def(format_args!("call {ty} @llvm.{name}.{}({ty} {a}, {ty} {b})", suffix(elem)));
        let nan = self.em.def(format_args!("fcmp uno {ty} {a}, {b}"));
        let canonical = constant(elem, canonical_nan(elem));
        Value::scalar(elem, self.em.def(format_args!("select i1 {nan}, {ty} {canonical}, {ty} {number}")))
    }

    /// A sign operation: of a NaN it gives the canonical one.
    fn of_sign(&mut self, elem: Elem, text: String, of: &str) -> Value {
        let changed = self.em.def(text);
        let nan = self.is_nan(elem, of);
        let ty = register(elem);
        let canonical = constant(elem, canonical_nan(elem));
        Value::scalar(elem, self.em.def(format_args!("select i1 {nan}, {ty} {canonical}, {ty} {changed}")))
    }
}

/// A value's leaves with their LLVM types, for [`Lower::range`].
pub(crate) fn carry(value: &Value) -> (Ty, Vec<(&'static str, String)>) {
    let carried = leaves(&value.ty).into_iter().map(register).zip(value.leaves.iter().cloned()).collect();
    (value.ty.clone(), carried)
}

/// The suffix of an overloaded intrinsic: `f32`, `i16`.
pub(crate) fn suffix(elem: Elem) -> String {
    let letter = if elem.is_float() { 'f' } else { 'i' };
    format!("{letter}{}", bits(elem))
}

fn binary(op: &str, ty: &str, a: &str, b: &str) -> String {
    format!("{op} {ty} {a}, {b}")
}

fn order(float: bool, signed: bool, f: &'static str, s: &'static str, u: &'static str) -> &'static str {
    match (float, signed) {
        (true, _) => f,
        (false, true) => s,
        (false, false) => u,
    }
}

fn extreme(largest: bool, signed: bool) -> &'static str {
    match (largest, signed) {
        (true, true) => "smax",
        (false, true) => "smin",
        (true, false) => "umax",
        (false, false) => "umin",
    }
}
