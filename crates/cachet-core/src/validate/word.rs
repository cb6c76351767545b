//! The types of words. `None` where a fault was found already.

use super::Check;
use crate::instance::bind_ty;
use crate::ir::{Elem, Op, Prim, Ty, Word};

const BOOL: Ty = Ty::Elem(Elem::Bool);
/// More lanes than any machine has.
const MAX_LANES: u32 = 1 << 16;

impl Check<'_> {
    pub(super) fn word(&mut self, word: &Word) -> Option<Ty> {
        match word {
            Word::Lit(l) => {
                if !super::pure::literal(l) {
                    self.fault("literals", "a literal has bits that its type has not");
                }
                Some(Ty::Elem(l.elem))
            }
            Word::Index(ix, e) => {
                self.ix(ix);
                if *e == Elem::Bool {
                    self.fault("types", "an index is no `bool`");
                }
                Some(Ty::Elem(*e))
            }
            Word::Load(a) => {
                self.access(a);
                self.fun.buffers.get(a.buffer.index()).map(|b| b.elem.clone())
            }
            Word::Local(l, at) => {
                self.use_local(*l, at);
                self.fun.locals.get(l.index()).map(|l| l.ty.clone())
            }
            Word::Op { op, arith, args } => {
                if self.program.devices.get(arith.index()).is_none() {
                    self.fault("ids", "an operation of an unknown device");
                }
                let args: Option<Vec<Ty>> = args.iter().map(|w| self.word(w)).collect();
                self.operation(*op, &args?)
            }
            Word::Apply(f, args) => {
                let args: Option<Vec<Ty>> = args.iter().map(|w| self.word(w)).collect();
                let Some(pure) = self.program.pures.get(f.index()) else {
                    self.fault("ids", "an application of nothing");
                    return None;
                };
                let params: Vec<Ty> =
                    pure.params.iter().filter_map(|p| pure.locals.get(p.index())).map(|l| l.ty.clone()).collect();
                if args? != params {
                    self.fault("types", format!("the arguments of `{}` have other types or another number", pure.name));
                }
                Some(pure.result.clone())
            }
            Word::Tuple(parts) => parts.iter().map(|w| self.word(w)).collect::<Option<_>>().map(Ty::Tuple),
            Word::Part(w, n) => match self.word(w)? {
                Ty::Tuple(parts) if (*n as usize) < parts.len() => parts.types.into_iter().nth(*n as usize),
                _ => {
                    self.fault("types", "a part of something that has no such part");
                    None
                }
            },
            Word::Let(l, a, b) => {
                let ty = self.word(a);
                self.bind_local(*l);
                self.local_has(*l, ty.as_ref(), false);
                let out = self.word(b);
                self.locals.remove(l);
                out
            }
            Word::If(g, a, b) => {
                self.guard(g);
                let (a, b) = (self.word(a), self.word(b));
                self.alike(a, b, "the two sides of a choice")
            }
            Word::Fold(f) => {
                self.domain(&f.domain);
                let init = self.word(&f.init);
                self.bind_loop(f.var, &f.domain);
                self.bind_local(f.acc);
                self.local_has(f.acc, init.as_ref(), false);
                let body = self.word(&f.body);
                self.vars.remove(&f.var);
                self.locals.remove(&f.acc);
                self.alike(init, body, "the start and the next total of a sum")
            }
            Word::Reduce(r) => {
                self.domain(&r.domain);
                let empty = self.word(&r.empty);
                self.bind_loop(r.var, &r.domain);
                let element = self.word(&r.element);
                self.vars.remove(&r.var);
                for l in [r.operands.0, r.operands.1] {
                    self.bind_local(l);
                    self.local_has(l, empty.as_ref(), false);
                }
                if matches!(r.shape, crate::ir::Shape::Lanes(n) if !n.is_power_of_two() || n > MAX_LANES) {
                    self.fault("literals", "the number of lanes is not a power of two, or beyond 65536");
                }
                let combine = self.word(&r.combine);
                self.locals.remove(&r.operands.0);
                self.locals.remove(&r.operands.1);
                let element = self.alike(empty, element, "the start and the terms of a reduction");
                self.alike(element, combine, "the terms and the value of a reduction")
            }
            Word::Differing(a, b) => {
                self.use_buffer(*a);
                self.use_buffer(*b);
                self.host("counts differences");
                let info =
                    |b: &crate::ir::Buffer| self.fun.buffers.get(b.index()).map(|i| (i.elem.clone(), i.extents.len()));
                if info(a) != info(b) {
                    self.fault("types", "`differing` compares arrays of two types");
                }
                Some(Ty::Elem(Elem::I64))
            }
        }
    }

    fn alike(&mut self, a: Option<Ty>, b: Option<Ty>, what: &str) -> Option<Ty> {
        let (a, b) = (a?, b?);
        if a != b {
            self.fault("types", format!("{what} have different types"));
        }
        Some(a)
    }

    fn operation(&mut self, op: Op, args: &[Ty]) -> Option<Ty> {
        let prim = match op {
            Op::Prim(p) => p,
            Op::Method(p, m) => {
                let interface =
                    self.fun.type_params.get(p.index()).and_then(|t| self.program.interfaces.get(t.interface as usize));
                let arity = interface.and_then(|i| i.methods.get(m as usize)).map(|m| m.1 as usize);
                let value = bind_ty(self.program, &[], &Ty::Abstract(p));
                if arity != Some(args.len()) || args.iter().any(|t| *t != value) {
                    self.fault("types", "an operation of an interface with other operands");
                }
                return Some(value);
            }
        };
        let result = primitive(prim, args);
        if result.is_none() {
            self.fault("types", format!("`{prim}` does not take these operands"));
        }
        result
    }
}

/// The type of an element operation's result, if it takes these operands.
pub(crate) fn primitive(prim: Prim, args: &[Ty]) -> Option<Ty> {
    let elem = |t: &Ty| if let Ty::Elem(e) = t { Some(*e) } else { None };
    let same = |n: usize| {
        (args.len() == n && args.windows(2).all(|w| w[0] == w[1])).then(|| args.first().and_then(elem)).flatten()
    };
    // 16-bit floats are stored and converted; arithmetic on them is an instruction's business.
    let computes = |e: &Elem| !matches!(e, Elem::Bool | Elem::F16 | Elem::BF16);
    let float = |e: &Elem| matches!(e, Elem::F32 | Elem::F64);
    match prim {
        Prim::Add | Prim::Sub | Prim::Mul | Prim::Max | Prim::Min => same(2).filter(computes).map(Ty::Elem),
        Prim::Div => same(2).filter(computes).map(Ty::Elem),
        Prim::Rem | Prim::WrappingAdd | Prim::WrappingSub | Prim::WrappingMul => {
            same(2).filter(|e| e.is_integer()).map(Ty::Elem)
        }
        Prim::Fma => same(3).filter(float).map(Ty::Elem),
        Prim::Neg | Prim::Abs => same(1).filter(computes).map(Ty::Elem),
        Prim::Sqrt => same(1).filter(float).map(Ty::Elem),
        Prim::Eq => same(2).filter(|e| *e == Elem::Bool || computes(e)).map(|_| BOOL),
        Prim::Lt | Prim::Le => same(2).filter(computes).map(|_| BOOL),
        Prim::And | Prim::Or => same(2).filter(|e| *e == Elem::Bool).map(Ty::Elem),
        Prim::Not => same(1).filter(|e| *e == Elem::Bool).map(Ty::Elem),
        Prim::Select => match args {
            [c, a, b] if *c == BOOL && a == b => Some(a.clone()),
            _ => None,
        },
        Prim::Cast(to) => same(1).filter(|e| to != Elem::Bool || *e == to).map(|_| Ty::Elem(to)),
        Prim::WrappingCast(to) | Prim::SaturatingCast(to) => {
            same(1).filter(|e| e.is_integer() && to.is_integer()).map(|_| Ty::Elem(to))
        }
        Prim::FromBits(to) => {
            same(1).filter(|e| !e.is_float() && to.is_float() && e.bytes() == to.bytes()).map(|_| Ty::Elem(to))
        }
        Prim::ToBits => match same(1)? {
            Elem::F64 => Some(Ty::Elem(Elem::U64)),
            Elem::F32 => Some(Ty::Elem(Elem::U32)),
            Elem::F16 | Elem::BF16 => Some(Ty::Elem(Elem::U16)),
            _ => None,
        },
    }
}
