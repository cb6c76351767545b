//! Functions applied to words: the language's own, operations of implementations, and pure functions of the file.

use super::{Body, Done, Meaning, World};
use crate::scope;
use crate::tree::Tree;
use cachet_core::instr::OUTER_FMA;
use cachet_core::interpret::scalar;
use cachet_core::ir::{Buffer, Elem, Lit, Op, Prim, Ty};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{Expr, ExprKind, Ident};

/// Functions of words that need no import: name, operation, number of operands.
const BUILTINS: &[(&str, Prim, usize)] = &[
    ("fma", Prim::Fma, 3),
    ("max", Prim::Max, 2),
    ("min", Prim::Min, 2),
    ("abs", Prim::Abs, 1),
    ("sqrt", Prim::Sqrt, 1),
    ("select", Prim::Select, 3),
    ("to_bits", Prim::ToBits, 1),
    ("wrapping_add", Prim::WrappingAdd, 2),
    ("wrapping_sub", Prim::WrappingSub, 2),
    ("wrapping_mul", Prim::WrappingMul, 2),
];

/// Functions of the language without a body yet.
const LATER: &[&str] = &[
    "exp",
    "log",
    "tanh",
    "erf",
    "sin",
    "cos",
    "pow",
    "ceil",
    "floor",
    "repeat",
    "mma",
    "mma_block",
    "lines",
    "span_bytes",
];

impl World<'_> {
    pub(super) fn apply(
        &mut self,
        body: &mut Body,
        head: &Expr,
        args: &[Expr],
        e: &Expr,
        want: Option<&Ty>,
    ) -> Done<(Tree, Ty)> {
        let Some(path) = head.to_path() else {
            return Err(self.report(Diagnostic::error(
                codes::TYPE_MISMATCH,
                head.span,
                "this cannot be applied to anything",
            )));
        };
        let args: Vec<&Expr> = args.iter().filter(|a| !matches!(a.kind, ExprKind::Unit)).collect();
        let names: Vec<&str> = path.parts.iter().map(|p| p.name.as_str()).collect();
        match names.as_slice() {
            ["Num", what] => self.constant_of(what, &path.parts[1], e.span, want),
            [param, method] => match body.find(param) {
                Some(Meaning::TypeParam(p)) => {
                    let p = *p;
                    self.method(body, p, method, &path.parts[1], &args, e.span)
                }
                _ => {
                    let d = scope::unknown(
                        &path.parts[0],
                        "type parameter",
                        body.type_params.iter().map(|t| t.name.as_str()),
                    );
                    Err(self.report(d))
                }
            },
            ["from_bits"] => self.float_of_bits(body, &args, e.span, want),
            ["differing"] => self.differing(body, &args, e.span),
            [name] => match (self.own_operation(body, name), BUILTINS.iter().find(|b| b.0 == *name)) {
                (Some(p), _) => self.method(body, p, name, &path.parts[0], &args, e.span),
                (None, Some((_, prim, arity))) => self.builtin(body, (*prim, *arity, name), &args, e.span, want),
                (None, None) => self.pure_call(body, &path.parts[0], &args, e.span),
            },
            _ => Err(self.report(Diagnostic::error(
                codes::UNKNOWN_NAME,
                path.span,
                format!("there is no function `{}`", path.text()),
            ))),
        }
    }

    pub(super) fn arity(&mut self, name: &str, wanted: usize, given: usize, span: Span) -> Done<()> {
        if wanted == given {
            return Ok(());
        }
        let d = Diagnostic::error(
            codes::ARITY,
            span,
            format!(
                "`{name}` takes {wanted} argument{}, and {}",
                if wanted == 1 { "" } else { "s" },
                scope::given(given)
            ),
        )
        .note("arguments stand side by side, what is more than a name or a literal in parentheses: `f (x + 1.0) y`");
        Err(self.report(d))
    }

    fn builtin(
        &mut self,
        body: &mut Body,
        (prim, arity, name): (Prim, usize, &str),
        args: &[&Expr],
        span: Span,
        want: Option<&Ty>,
    ) -> Done<(Tree, Ty)> {
        self.arity(name, arity, args.len(), span)?;
        let (first, rest) = if prim == Prim::Select { args.split_at(1) } else { (&[][..], args) };
        let mut trees = Vec::new();
        for a in first {
            trees.push(self.word_of(body, a, &Ty::Elem(Elem::Bool))?);
        }
        let wanted = if prim == Prim::ToBits { None } else { want };
        let (operands, ty) = self.operands(body, rest, wanted)?;
        trees.extend(operands);
        let result = match (prim, &ty) {
            (Prim::ToBits, Ty::Elem(Elem::F64)) => Ty::Elem(Elem::U64),
            (Prim::ToBits, Ty::Elem(Elem::F32)) => Ty::Elem(Elem::U32),
            (Prim::ToBits, Ty::Elem(Elem::F16 | Elem::BF16)) => Ty::Elem(Elem::U16),
            (Prim::Fma | Prim::Sqrt, Ty::Elem(Elem::F32 | Elem::F64)) | (Prim::Select, _) => ty.clone(),
            (Prim::WrappingAdd | Prim::WrappingSub | Prim::WrappingMul, Ty::Elem(e)) if e.is_integer() => ty.clone(),
            (Prim::Max | Prim::Min | Prim::Abs, Ty::Elem(e)) if !matches!(e, Elem::Bool | Elem::F16 | Elem::BF16) => {
                ty.clone()
            }
            _ => {
                let text = self.ty_text(body, &ty);
                return Err(self.report(Diagnostic::error(
                    codes::TYPE_MISMATCH,
                    span,
                    format!("`{name}` does not compute on {text}"),
                )));
            }
        };
        Ok((Tree::Op(Op::Prim(prim), trees), result))
    }

    fn constant_of(&mut self, what: &str, name: &Ident, span: Span, want: Option<&Ty>) -> Done<(Tree, Ty)> {
        let (elem, bits) = match (want, what) {
            (Some(Ty::Elem(Elem::F64)), "infinity") => (Elem::F64, f64::INFINITY.to_bits()),
            (Some(Ty::Elem(Elem::F64)), "nan") => (Elem::F64, 0x7FF8_0000_0000_0000),
            (Some(Ty::Elem(Elem::F64)), "lowest") => (Elem::F64, f64::MIN.to_bits()),
            (Some(Ty::Elem(Elem::F32)), "infinity") => (Elem::F32, u64::from(f32::INFINITY.to_bits())),
            (Some(Ty::Elem(Elem::F32)), "nan") => (Elem::F32, 0x7FC0_0000),
            (Some(Ty::Elem(Elem::F32)), "lowest") => (Elem::F32, u64::from(f32::MIN.to_bits())),
            (Some(Ty::Elem(Elem::F64)), "highest") => (Elem::F64, f64::MAX.to_bits()),
            (Some(Ty::Elem(Elem::F32)), "highest") => (Elem::F32, u64::from(f32::MAX.to_bits())),
            (Some(Ty::Elem(e)), "lowest" | "highest") if e.is_integer() => {
                let (lo, hi) = scalar::range(*e).unwrap_or_default();
                let n = if what == "lowest" { lo } else { hi };
                return Ok((Tree::Lit(Lit { elem: *e, bits: scalar::low_bits(*e, n) }), Ty::Elem(*e)));
            }
            (_, "infinity" | "nan" | "lowest" | "highest") => {
                let kind = if matches!(what, "infinity" | "nan") { "float type" } else { "type of numbers" };
                let d = Diagnostic::error(
                    codes::LITERAL,
                    span,
                    format!("`Num.{what} ()` takes a {kind} from its place, and finds none"),
                );
                return Err(self.report(d));
            }
            _ => {
                let known = ["infinity", "nan", "lowest", "highest"].into_iter();
                let d = scope::unknown(name, "constant of `Num`", known);
                return Err(self.report(d));
            }
        };
        Ok((Tree::Lit(Lit { elem, bits }), Ty::Elem(elem)))
    }

    fn method(
        &mut self,
        body: &mut Body,
        p: cachet_core::ir::TypeParam,
        method: &str,
        name: &Ident,
        args: &[&Expr],
        span: Span,
    ) -> Done<(Tree, Ty)> {
        let info = &body.type_params[p.index()];
        let interface = &self.module.program.interfaces[info.interface as usize];
        let found =
            interface.methods.iter().enumerate().find(|(_, m)| m.0 == method).map(|(i, m)| (i as u32, m.1 as usize));
        let Some((m, arity)) = found else {
            let known: Vec<String> = interface.methods.iter().map(|m| m.0.clone()).collect();
            let d = scope::unknown(name, &format!("operation of {}", interface.name), known.iter().map(String::as_str));
            return Err(self.report(d));
        };
        self.arity(method, arity, args.len(), span)?;
        let ty = Ty::Abstract(p);
        let mut trees = Vec::new();
        for a in args {
            trees.push(self.word_of(body, a, &ty)?);
        }
        Ok((Tree::Op(Op::Method(p, m), trees), ty))
    }

    fn float_of_bits(&mut self, body: &mut Body, args: &[&Expr], span: Span, want: Option<&Ty>) -> Done<(Tree, Ty)> {
        self.arity("from_bits", 1, args.len(), span)?;
        let float = match want {
            Some(Ty::Elem(e)) if e.is_float() => Some(*e),
            _ => None,
        };
        let hint = float.map(|e| Ty::Elem(bits_of(e)));
        let (tree, ty) = self.word(body, args[0], hint.as_ref())?;
        // Without a wish from its place, a word of 32 or 64 bits leaves no choice.
        let to = match (&ty, float) {
            (Ty::Elem(e), Some(to)) if bits_of(to) == *e => Some(to),
            (Ty::Elem(Elem::U32), _) => Some(Elem::F32),
            (Ty::Elem(Elem::U64), _) => Some(Elem::F64),
            _ => None,
        };
        match (to, tree) {
            (Some(to), Tree::Lit(l)) => Ok((Tree::Lit(Lit { elem: to, bits: l.bits }), Ty::Elem(to))),
            (Some(to), tree) => Ok((Tree::Op(Op::Prim(Prim::FromBits(to)), vec![tree]), Ty::Elem(to))),
            (None, _) => {
                let text = self.ty_text(body, &ty);
                let message = format!("`from_bits` takes an unsigned word as wide as its float, and this is {text}");
                Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, span, message)))
            }
        }
    }

    fn differing(&mut self, body: &mut Body, args: &[&Expr], span: Span) -> Done<(Tree, Ty)> {
        self.arity("differing", 2, args.len(), span)?;
        let mut buffers = Vec::new();
        for a in args {
            let Some(name) = a.as_ident() else {
                return Err(self.report(Diagnostic::error(
                    codes::TYPE_MISMATCH,
                    a.span,
                    "`differing` compares two arrays by name",
                )));
            };
            buffers.push(self.buffer(body, name)?);
        }
        let info = |b: &Buffer| (&body.buffers[b.index()].elem, body.buffers[b.index()].extents.len());
        let (a, b) = (info(&buffers[0]), info(&buffers[1]));
        if !a.0.is(b.0) || a.1 != b.1 {
            return Err(self.report(Diagnostic::error(
                codes::TYPE_MISMATCH,
                span,
                "`differing` compares two arrays of one type and rank",
            )));
        }
        Ok((Tree::Differing(buffers[0], buffers[1]), Ty::Elem(Elem::I64)))
    }

    fn pure_call(&mut self, body: &mut Body, name: &Ident, args: &[&Expr], span: Span) -> Done<(Tree, Ty)> {
        let found = self.scope.find(body.unit, &name.name);
        let pure = match found {
            Some(r) => self.pure_function(r, name)?,
            None => None,
        };
        let Some(pure) = pure else {
            let instr = found.map_or(name.name == OUTER_FMA, |r| self.item(r) == "an instruction");
            let d = match found {
                _ if instr => {
                    let message = format!("`{}` is an instruction, whose result is a vector with a name", name.name);
                    let d = Diagnostic::error(codes::TYPE_MISMATCH, name.span, message);
                    d.help(format!("name it first: `let x = {} ..`", name.name))
                }
                Some(r) => Diagnostic::error(
                    codes::TYPE_MISMATCH,
                    name.span,
                    format!("`{}` is {}, and has no value", name.name, self.item(r)),
                ),
                None if LATER.contains(&name.name.as_str()) => {
                    Diagnostic::not_built(name.span, format!("the function `{}`", name.name))
                }
                None => {
                    let known: Vec<String> = BUILTINS
                        .iter()
                        .map(|b| b.0.to_string())
                        .chain(self.scope.names(body.unit).map(String::from))
                        .collect();
                    scope::unknown(name, "function", known.iter().map(String::as_str))
                }
            };
            return Err(self.report(d));
        };
        let info = &self.module.program.pures[pure.index()];
        let params: Vec<Ty> = info.params.iter().map(|p| info.locals[p.index()].ty.clone()).collect();
        let result = info.result.clone();
        self.arity(&name.name, params.len(), args.len(), span)?;
        let mut trees = Vec::new();
        for (a, ty) in args.iter().zip(&params) {
            trees.push(self.word_of(body, a, ty)?);
        }
        Ok((Tree::Apply(pure, trees), result))
    }
}

/// The unsigned type as wide as a float.
fn bits_of(float: Elem) -> Elem {
    match float {
        Elem::F64 => Elem::U64,
        Elem::F32 => Elem::U32,
        _ => Elem::U16,
    }
}
