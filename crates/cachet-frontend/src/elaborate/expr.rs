//! Words: what is loaded, computed and stored, with its type.

use super::{Body, Done, Meaning, Reported, World, conversion};
use crate::scope;
use crate::tree::{FoldTree, Tree};
use cachet_core::interpret::scalar;
use cachet_core::ir::{Access, At, Buffer, Elem, Ix, Lit, MAX_DIM, Op, Prim, Ty};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{BinaryOp, Expr, ExprKind, Ident, Index, Place, StmtKind, Type, TypeKind, UnaryOp};

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
    "splat",
    "repeat",
    "mma",
    "slice_lanes",
    "mma_block",
    "outer_fma_primitive",
    "lines",
    "span_bytes",
];

impl World<'_> {
    /// A type as a message names it.
    pub(crate) fn ty_text(&self, body: &Body, ty: &Ty) -> String {
        match ty {
            Ty::Elem(e) => e.to_string(),
            Ty::Abstract(p) => format!("{}.Value", body.type_params[p.index()].name),
            Ty::Tuple(parts) => match parts.info(&self.module.program) {
                Some(record) => record.name.clone(),
                None => format!("({})", parts.iter().map(|t| self.ty_text(body, t)).collect::<Vec<_>>().join(", ")),
            },
        }
    }

    /// A word of a wanted type.
    pub(crate) fn word_of(&mut self, body: &mut Body, e: &Expr, want: &Ty) -> Done<Tree> {
        let (tree, ty) = self.word(body, e, Some(want))?;
        if ty.is(want) {
            return Ok(tree);
        }
        let (to, have) = (self.ty_text(body, want), self.ty_text(body, &ty));
        let d = Diagnostic::error(codes::TYPE_MISMATCH, e.span, format!("this is {have}, and {to} is wanted here"));
        let d = match (want, &ty) {
            (Ty::Elem(_), Ty::Elem(_)) if matches!(e.kind, ExprKind::Sum { .. }) => d.help(format!(
                "a sum has the type of its terms: convert what they are made of, as in `(x as {to}) * ..`"
            )),
            (Ty::Elem(_), Ty::Elem(_)) => d.help(format!("convert it where that is meant: `(..) as {to}`")),
            (Ty::Tuple(_), Ty::Tuple(_)) => d.note("two records are two types, also where their fields are the same"),
            _ => d,
        };
        Err(self.report(d))
    }

    /// A word; `want` gives literals their type.
    pub(crate) fn word(&mut self, body: &mut Body, e: &Expr, want: Option<&Ty>) -> Done<(Tree, Ty)> {
        match &e.kind {
            ExprKind::Float(text) => self.float(text, want, e.span).map(|(l, t)| (Tree::Lit(l), t)),
            ExprKind::Int(n) => self.integer(*n, want, e.span).map(|(l, t)| (Tree::Lit(l), t)),
            ExprKind::Bool(b) => Ok((Tree::Lit(Lit { elem: Elem::Bool, bits: u64::from(*b) }), Ty::Elem(Elem::Bool))),
            ExprKind::Name(name) => self.word_name(body, name, want),
            ExprKind::Load { place, mask: None } => self.load(body, place),
            ExprKind::Load { mask: Some(m), .. } => Err(self.report(Diagnostic::not_built(m.span, "masks"))),
            // In an equation `a[i, k]` is an element; in a function it is read by `load`.
            ExprKind::Index { base, indices } => self.word_index(body, base, indices, e),
            ExprKind::Apply { head, .. } if is_platform(head) => {
                Err(self.report(Diagnostic::not_built(e.span, "numbers of the platform")))
            }
            ExprKind::Field { .. } if is_platform(e) => {
                Err(self.report(Diagnostic::not_built(e.span, "numbers of the platform")))
            }
            ExprKind::Apply { head, targs, args } => {
                if let Some(conversion) = conversion::named(head) {
                    return self.conversion(body, conversion, targs, args, e.span);
                }
                if let Some(t) = targs.first() {
                    return Err(self.report(Diagnostic::not_built(t.span, "`@` arguments of functions of words")));
                }
                self.apply(body, head, args, e, want)
            }
            ExprKind::Unary { op, operand } => self.unary(body, *op, operand, want),
            ExprKind::Binary { op, lhs, rhs, .. } => self.binary(body, *op, lhs, rhs, e, want),
            ExprKind::Cast { value, ty } => self.cast(body, value, ty),
            ExprKind::If { cond, then, els } => self.choice(body, cond, then, els, want),
            ExprKind::Block { stmts, value } => self.lets(body, stmts, value, want),
            ExprKind::Fold { .. } => self.fold(body, e, want),
            ExprKind::Sum { .. } | ExprKind::Reduce { .. } => self.sum(body, e, want),
            ExprKind::Field { base, field } => self.field(body, base, field, e.span),
            ExprKind::Record { name, fields } => self.record_literal(body, name, fields),
            ExprKind::Tuple(_) => Err(self.report(Diagnostic::not_built(e.span, "tuples of words"))),
            ExprKind::TileReduce { .. } => Err(self.report(Diagnostic::not_built(e.span, "reductions of tiles"))),
            ExprKind::Unit | ExprKind::Hole(_) => {
                Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, e.span, "a value is wanted here")))
            }
        }
    }

    fn word_name(&mut self, body: &Body, name: &Ident, want: Option<&Ty>) -> Done<(Tree, Ty)> {
        match body.find(&name.name) {
            Some(Meaning::Local(l)) => {
                let l = *l;
                let at = self.cell(body, name, l, &[], name.span)?;
                Ok((Tree::Local(l, at), body.locals[l.index()].ty.clone()))
            }
            Some(Meaning::Var(_) | Meaning::Ix(_)) => {
                let d = Diagnostic::error(
                    codes::TYPE_MISMATCH,
                    name.span,
                    format!("`{}` is an index, and a value is wanted here", name.name),
                );
                let help = |e: &Elem| format!("turn it into one: `{} as {e}`", name.name);
                Err(self.report(match want {
                    Some(Ty::Elem(Elem::Bool)) => d.help("compare it with another index"),
                    Some(Ty::Elem(e)) => d.help(help(e)),
                    Some(Ty::Abstract(_) | Ty::Tuple(_)) => d,
                    None => d.help(help(&Elem::F32)),
                }))
            }
            Some(Meaning::Buffer(_) | Meaning::Window(..)) => {
                let d = Diagnostic::error(
                    codes::TYPE_MISMATCH,
                    name.span,
                    format!("`{}` is an array, and one value is wanted here", name.name),
                )
                .help(format!("read an element: `load {}[..]`", name.name));
                Err(self.report(d))
            }
            Some(Meaning::Block(_) | Meaning::Value(_) | Meaning::TypeParam(_)) => Err(self.report(Diagnostic::error(
                codes::TYPE_MISMATCH,
                name.span,
                format!("`{}` is not a value", name.name),
            ))),
            None => self.constant_word(body, name),
        }
    }

    /// A buffer by name.
    pub(crate) fn buffer(&mut self, body: &Body, name: &Ident) -> Done<Buffer> {
        match body.find(&name.name) {
            Some(Meaning::Buffer(b)) => Ok(*b),
            Some(_) => Err(self.report(Diagnostic::error(
                codes::TYPE_MISMATCH,
                name.span,
                format!("`{}` is not an array", name.name),
            ))),
            None if body.broken.contains(&name.name) => Err(Reported),
            None => {
                let arrays: Vec<String> = body
                    .names
                    .iter()
                    .filter(|(_, m)| matches!(m, Meaning::Buffer(_)))
                    .map(|(n, _)| n.clone())
                    .collect();
                let d = scope::unknown(name, "array", arrays.iter().map(String::as_str));
                Err(self.report(d))
            }
        }
    }

    /// A cell.
    pub(crate) fn access(&mut self, body: &mut Body, name: &Ident, indices: &[Index], span: Span) -> Done<Access> {
        if let Some(Meaning::Window(buffer, axes)) = body.find(&name.name).cloned() {
            let at = self.window_cell(body, name, (buffer, &axes), indices, span)?;
            return Ok(Access { buffer, at, span: At(span) });
        }
        let buffer = self.buffer(body, name)?;
        let extents = body.buffers[buffer.index()].extents.clone();
        if indices.len() != extents.len() {
            let axes = |n: usize| if n == 1 { "1 axis".to_string() } else { format!("{n} axes") };
            let subscripts =
                |n: usize| if n == 1 { "1 subscript is".to_string() } else { format!("{n} subscripts are") };
            let d = Diagnostic::error(
                codes::ARITY,
                span,
                format!("`{}` has {}, and {} given", name.name, axes(extents.len()), subscripts(indices.len())),
            )
            .also(body.buffers[buffer.index()].span.0, "declared here");
            return Err(self.report(d));
        }
        let mut at = Vec::new();
        for (i, extent) in indices.iter().zip(&extents) {
            let Index::At(e) = i else {
                return Err(self.report(Diagnostic::not_built(i.span(), "slices and vectors")));
            };
            let ix = self.ix(body, e)?;
            if let Ix::Var(v) = ix {
                body.lone.push((v, extent.clone(), e.span));
            }
            at.push(ix);
        }
        Ok(Access { buffer, at, span: At(span) })
    }

    fn load(&mut self, body: &mut Body, place: &Place) -> Done<(Tree, Ty)> {
        if body.values.is_some() {
            let d = Diagnostic::error(codes::SYNTAX, place.span, "an equation names elements, and loads none");
            return Err(self.report(d.help("write the element itself, as `a[i, k]`")));
        }
        let (Some(name), Some(indices)) = (place.path.as_ident(), place.indices()) else {
            return Err(self.report(Diagnostic::error(
                codes::SYNTAX,
                place.span,
                "an array's element is wanted here, as `a[i, k]`",
            )));
        };
        self.element(body, name, indices, place.span)
    }

    fn element(&mut self, body: &mut Body, name: &Ident, indices: &[Index], span: Span) -> Done<(Tree, Ty)> {
        let access = self.access(body, name, indices, span)?;
        if let Some(reason) = body.unreadable.get(&access.buffer).cloned() {
            return Err(self.report(Diagnostic::error(codes::OUTPUT, span, reason)));
        }
        let ty = body.buffers[access.buffer.index()].elem.clone();
        Ok((Tree::Load(access), ty))
    }

    fn word_index(&mut self, body: &mut Body, base: &Expr, indices: &[Index], e: &Expr) -> Done<(Tree, Ty)> {
        let Some(name) = base.as_ident() else {
            return Err(self.report(Diagnostic::error(
                codes::SYNTAX,
                e.span,
                "an array's element is wanted here, as `a[i, k]`",
            )));
        };
        match (body.find(&name.name).cloned(), body.values.is_some()) {
            (Some(Meaning::Value(n)), _) => self.intermediate(body, name, n, indices, e.span),
            (Some(Meaning::Buffer(_) | Meaning::Window(..)), false) => {
                let d = Diagnostic::error(
                    codes::TYPE_MISMATCH,
                    e.span,
                    format!("an element of `{}` is read by `load`", name.name),
                )
                .help(format!("write `load {}[..]`", name.name));
                Err(self.report(d))
            }
            (Some(Meaning::Local(l)), _) => {
                let at = self.cell(body, name, l, indices, e.span)?;
                Ok((Tree::Local(l, at), body.locals[l.index()].ty.clone()))
            }
            _ => self.element(body, name, indices, e.span),
        }
    }

    fn intermediate(
        &mut self,
        body: &mut Body,
        name: &Ident,
        n: u32,
        indices: &[Index],
        span: Span,
    ) -> Done<(Tree, Ty)> {
        let Some((extents, ty)) = body.values.as_ref().and_then(|v| v.get(n as usize)).cloned() else {
            return Err(Reported);
        };
        if indices.len() != extents.len() {
            let d = Diagnostic::error(
                codes::ARITY,
                span,
                format!("`{}` has {} indices, and {}", name.name, extents.len(), scope::given(indices.len())),
            );
            return Err(self.report(d));
        }
        let mut at = Vec::new();
        for (i, extent) in indices.iter().zip(&extents) {
            let Index::At(e) = i else { return Err(self.report(Diagnostic::not_built(i.span(), "slices"))) };
            let ix = self.ix(body, e)?;
            if let Ix::Var(v) = ix {
                body.lone.push((v, extent.clone(), e.span));
            }
            at.push(ix);
        }
        Ok((Tree::Value(n, at), ty))
    }

    fn apply(&mut self, body: &mut Body, head: &Expr, args: &[Expr], e: &Expr, want: Option<&Ty>) -> Done<(Tree, Ty)> {
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

    /// Operands of one type: the first that is not a bare literal decides.
    fn operands(&mut self, body: &mut Body, args: &[&Expr], want: Option<&Ty>) -> Done<(Vec<Tree>, Ty)> {
        let decides = args.iter().position(|a| !is_literal(a)).unwrap_or(0);
        let Some(first) = args.get(decides) else { return Err(Reported) };
        let (tree, ty) = self.word(body, first, want)?;
        let mut trees = Vec::new();
        for (i, a) in args.iter().enumerate() {
            trees.push(if i == decides { tree.clone() } else { self.word_of(body, a, &ty)? });
        }
        Ok((trees, ty))
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
            let d = match found {
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

    fn unary(&mut self, body: &mut Body, op: UnaryOp, operand: &Expr, want: Option<&Ty>) -> Done<(Tree, Ty)> {
        match op {
            UnaryOp::Not => {
                let t = self.word_of(body, operand, &Ty::Elem(Elem::Bool))?;
                Ok((Tree::Op(Op::Prim(Prim::Not), vec![t]), Ty::Elem(Elem::Bool)))
            }
            UnaryOp::Neg => {
                let (t, ty) = self.word(body, operand, want)?;
                // The sign of a literal constant such as infinity is its own.
                match (&t, &ty) {
                    (Tree::Lit(l), Ty::Elem(Elem::F32)) if !f32::from_bits(l.bits as u32).is_nan() => {
                        Ok((Tree::Lit(Lit { bits: l.bits ^ 0x8000_0000, ..*l }), ty))
                    }
                    (Tree::Lit(l), Ty::Elem(Elem::F64)) if !f64::from_bits(l.bits).is_nan() => {
                        Ok((Tree::Lit(Lit { bits: l.bits ^ (1 << 63), ..*l }), ty))
                    }
                    (_, Ty::Elem(e)) if matches!(e, Elem::F32 | Elem::F64) || is_signed(*e) => {
                        Ok((Tree::Op(Op::Prim(Prim::Neg), vec![t]), ty))
                    }
                    _ => {
                        let text = self.ty_text(body, &ty);
                        let message = format!("{text} has no negation");
                        let d = Diagnostic::error(codes::TYPE_MISMATCH, operand.span, message);
                        let unsigned = matches!(&ty, Ty::Elem(e) if e.is_integer());
                        let help = "where wrap-around is meant: `wrapping_sub 0 x`";
                        Err(self.report(if unsigned { d.help(help) } else { d }))
                    }
                }
            }
        }
    }

    fn binary(
        &mut self,
        body: &mut Body,
        op: BinaryOp,
        lhs: &Expr,
        rhs: &Expr,
        e: &Expr,
        want: Option<&Ty>,
    ) -> Done<(Tree, Ty)> {
        if e.looks_like_negative_argument() && lhs.as_ident().is_some_and(|n| body.find(&n.name).is_none()) {
            let d = Diagnostic::error(codes::SYNTAX, e.span, "a negative literal as an argument needs parentheses");
            return Err(self.report(d.help("write `f (-1.0)`")));
        }
        let bool_ty = Ty::Elem(Elem::Bool);
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
                let (mut trees, ty) = self.operands(body, &[lhs, rhs], want)?;
                let op = self.arithmetic(body, op, &ty, e.span)?;
                let (b, a) = (trees.pop(), trees.pop());
                Ok((Tree::Op(op, a.into_iter().chain(b).collect()), ty))
            }
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
                if self.is_index(body, lhs) && self.is_index(body, rhs) =>
            {
                // What indices decide is control; as a word it is a choice between two.
                let guard = self.guard(body, e)?;
                let word = |bits| Box::new(Tree::Lit(Lit { elem: Elem::Bool, bits }));
                Ok((Tree::If(guard, word(1), word(0)), bool_ty))
            }
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let (mut trees, ty) = self.operands(body, &[lhs, rhs], None)?;
                if matches!(ty, Ty::Abstract(_) | Ty::Tuple(_)) {
                    let text = self.ty_text(body, &ty);
                    return Err(self.report(Diagnostic::error(
                        codes::TYPE_MISMATCH,
                        e.span,
                        format!("{text} cannot be compared"),
                    )));
                }
                if matches!(op, BinaryOp::Gt | BinaryOp::Ge) {
                    trees.reverse();
                }
                let prim = match op {
                    BinaryOp::Lt | BinaryOp::Gt => Prim::Lt,
                    BinaryOp::Le | BinaryOp::Ge => Prim::Le,
                    _ => Prim::Eq,
                };
                let tree = Tree::Op(Op::Prim(prim), trees);
                let tree = if op == BinaryOp::Ne { Tree::Op(Op::Prim(Prim::Not), vec![tree]) } else { tree };
                Ok((tree, bool_ty))
            }
            BinaryOp::And | BinaryOp::Or => {
                let (a, b) = (self.word_of(body, lhs, &bool_ty)?, self.word_of(body, rhs, &bool_ty)?);
                let prim = if op == BinaryOp::And { Prim::And } else { Prim::Or };
                Ok((Tree::Op(Op::Prim(prim), vec![a, b]), bool_ty))
            }
        }
    }

    /// What an operator means on a type.
    pub(crate) fn arithmetic(&mut self, body: &Body, op: BinaryOp, ty: &Ty, span: Span) -> Done<Op> {
        let prim = match op {
            BinaryOp::Add => Prim::Add,
            BinaryOp::Sub => Prim::Sub,
            BinaryOp::Mul => Prim::Mul,
            BinaryOp::Rem => Prim::Rem,
            _ => Prim::Div,
        };
        match ty {
            Ty::Elem(e) if prim == Prim::Rem && !e.is_integer() => Err(self.report(Diagnostic::error(
                codes::TYPE_MISMATCH,
                span,
                format!("`%` computes on integers, and this is {e}"),
            ))),
            Ty::Elem(Elem::F32 | Elem::F64) => Ok(Op::Prim(prim)),
            Ty::Elem(e @ (Elem::F16 | Elem::BF16 | Elem::Bool)) => Err(self.report(Diagnostic::error(
                codes::TYPE_MISMATCH,
                span,
                format!("{e} has no arithmetic of its own"),
            ))),
            // That nothing overflows is proved of the whole function, where the ranges of the operands are known.
            Ty::Elem(_) => Ok(Op::Prim(prim)),
            Ty::Abstract(p) => {
                let name = match op {
                    BinaryOp::Add => "add",
                    BinaryOp::Mul => "mul",
                    _ => {
                        let text = self.ty_text(body, ty);
                        let d = Diagnostic::error(codes::TYPE_MISMATCH, span, format!("{text} has no `{}`", op.text()));
                        return Err(self.report(d.note("a semiring has `+` and `*` only")));
                    }
                };
                let interface = &self.module.program.interfaces[body.type_params[p.index()].interface as usize];
                match interface.methods.iter().position(|m| m.0 == name) {
                    Some(m) => Ok(Op::Method(*p, m as u32)),
                    None => {
                        let message = format!("the interface {} has no operation `{name}`", interface.name);
                        Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, span, message)))
                    }
                }
            }
            Ty::Tuple(_) => {
                let text = self.ty_text(body, ty);
                let d = Diagnostic::error(codes::TYPE_MISMATCH, span, format!("{text} has no arithmetic of its own"));
                Err(self.report(d.help("compute on its fields, or write a function of two such records")))
            }
        }
    }

    fn cast(&mut self, body: &mut Body, value: &Expr, ty: &Type) -> Done<(Tree, Ty)> {
        let Ty::Elem(to) = self.word_type(body, ty)? else {
            return Err(self.report(Diagnostic::error(
                codes::TYPE_MISMATCH,
                ty.span,
                "only element types can be converted to",
            )));
        };
        // Bits and hashes are beyond what an index can be: such a literal is a word of that type at once.
        if let (ExprKind::Int(n), true) = (&value.kind, to.is_integer())
            && n.unsigned_abs() > MAX_DIM as u128
        {
            let (lit, ty) = self.integer(*n, Some(&Ty::Elem(to)), value.span)?;
            return Ok((Tree::Lit(lit), ty));
        }
        if self.is_index(body, value) {
            if to == Elem::Bool || matches!(to, Elem::F16 | Elem::BF16) {
                return Err(self.report(Diagnostic::error(
                    codes::TYPE_MISMATCH,
                    value.span,
                    format!("an index does not become {to}"),
                )));
            }
            let ix = self.ix(body, value)?;
            return Ok((Tree::Index(ix, to), Ty::Elem(to)));
        }
        let (tree, from) = self.word(body, value, None)?;
        match from {
            Ty::Elem(from) if to == Elem::Bool && from != to => {
                let message = format!("{from} does not become bool");
                let d = Diagnostic::error(codes::TYPE_MISMATCH, value.span, message);
                Err(self.report(d.help("compare it with 0")))
            }
            Ty::Elem(_) => Ok((Tree::Op(Op::Prim(Prim::Cast(to)), vec![tree]), Ty::Elem(to))),
            Ty::Abstract(_) | Ty::Tuple(_) => {
                let text = self.ty_text(body, &from);
                Err(self.report(Diagnostic::error(
                    codes::TYPE_MISMATCH,
                    value.span,
                    format!("{text} cannot be converted"),
                )))
            }
        }
    }

    /// `f32`, `S.Value`.
    pub(crate) fn word_type(&mut self, body: &Body, ty: &Type) -> Done<Ty> {
        let TypeKind::Named { path, args } = &ty.kind else {
            return Err(self.report(Diagnostic::error(
                codes::TYPE_MISMATCH,
                ty.span,
                "the type of one word is wanted here",
            )));
        };
        let names: Vec<&str> = path.parts.iter().map(|p| p.name.as_str()).collect();
        match (names.as_slice(), args.is_empty()) {
            (["Vec"], _) => Err(self.report(Diagnostic::not_built(ty.span, "vectors"))),
            ([param, "Value"], true) => match body.find(param) {
                Some(Meaning::TypeParam(p)) => Ok(Ty::Abstract(*p)),
                _ => {
                    let d = scope::unknown(
                        &path.parts[0],
                        "type parameter",
                        body.type_params.iter().map(|t| t.name.as_str()),
                    );
                    Err(self.report(d))
                }
            },
            ([name], true) => match elem(name) {
                Some(e) => Ok(Ty::Elem(e)),
                None => {
                    if let Some(r) = self.scope.find(body.unit, name)
                        && self.item(r) == "a record"
                    {
                        return self.record(r, &path.parts[0]);
                    }
                    let records: Vec<String> = self.module.program.records.iter().map(|r| r.name.clone()).collect();
                    let known: Vec<&str> =
                        ELEMS.iter().map(|e| e.0).chain(records.iter().map(String::as_str)).collect();
                    let d = scope::unknown(&path.parts[0], "type", known.iter().copied());
                    let types = format!("the types are {}", known.join(", "));
                    Err(self.report(if d.helps.is_empty() { d.note(types) } else { d }))
                }
            },
            _ => Err(self.report(Diagnostic::error(
                codes::TYPE_MISMATCH,
                ty.span,
                format!("`{}` is not the type of a word", path.text()),
            ))),
        }
    }

    fn choice(&mut self, body: &mut Body, cond: &Expr, then: &Expr, els: &Expr, want: Option<&Ty>) -> Done<(Tree, Ty)> {
        let by_index = self.is_guard(body, cond);
        let guard = if by_index { Some(self.guard(body, cond)?) } else { None };
        let data = if by_index { None } else { Some(self.word_of(body, cond, &Ty::Elem(Elem::Bool))?) };
        let (mut sides, ty) = self.operands(body, &[then, els], want)?;
        let (b, a) = (sides.pop(), sides.pop());
        match (guard, data, a, b) {
            (Some(g), _, Some(a), Some(b)) => Ok((Tree::If(g, Box::new(a), Box::new(b)), ty)),
            (None, Some(c), Some(a), Some(b)) => Ok((Tree::Op(Op::Prim(Prim::Select), vec![c, a, b]), ty)),
            _ => Err(Reported),
        }
    }

    /// `let`s before a value.
    fn lets(
        &mut self,
        body: &mut Body,
        stmts: &[cachet_syntax::ast::Stmt],
        value: &Expr,
        want: Option<&Ty>,
    ) -> Done<(Tree, Ty)> {
        let depth = body.names.len();
        let mut bound = Vec::new();
        for s in stmts {
            let StmtKind::Let { name, ty, value } = &s.kind else {
                return Err(self.report(Diagnostic::error(
                    codes::SYNTAX,
                    s.span,
                    "only `let` may stand before a value",
                )));
            };
            if ty.is_none() && !matches!(value.kind, ExprKind::Int(_)) && self.is_index(body, value) {
                let ix = self.ix(body, value)?;
                self.name_index(body, name, ix, value.span)?;
                continue;
            }
            let (tree, ty) = match ty {
                Some(t) => {
                    let ty = self.word_type(body, t)?;
                    (self.word_of(body, value, &ty)?, ty)
                }
                None => self.word(body, value, None)?,
            };
            let local = body.add_local(&name.name, ty, false);
            body.bind(name, Meaning::Local(local));
            bound.push((local, tree));
        }
        let (tree, ty) = self.word(body, value, want)?;
        body.names.truncate(depth);
        let tree = bound.into_iter().rev().fold(tree, |inner, (l, w)| Tree::Let(l, Box::new(w), Box::new(inner)));
        Ok((tree, ty))
    }

    fn fold(&mut self, body: &mut Body, e: &Expr, want: Option<&Ty>) -> Done<(Tree, Ty)> {
        let ExprKind::Fold { var, domain, from, acc, acc_ty, body: next } = &e.kind else { return Err(Reported) };
        if body.values.is_some() {
            return Err(self.report(Diagnostic::error(
                codes::SYNTAX,
                e.span,
                "an equation says `sum`; a `fold` is a function's",
            )));
        }
        let annotated = acc_ty.as_ref().map(|t| self.word_type(body, t)).transpose()?;
        let (init, ty) = match annotated {
            Some(ty) => (self.word_of(body, from, &ty)?, ty),
            None => self.word(body, from, want)?,
        };
        let domain = self.domain(body, domain)?;
        let depth = body.names.len();
        let v = self.loop_var(body, var, &domain)?;
        // A sum inside a sum continues its total, perhaps under the same name.
        if !matches!(body.find(&acc.name), Some(Meaning::Local(_))) {
            self.fresh(body, acc)?;
        }
        let local = body.add_local(&acc.name, ty.clone(), false);
        body.bind(acc, Meaning::Local(local));
        let next = self.word_of(body, next, &ty);
        body.names.truncate(depth);
        let fold = FoldTree { var: v, domain, acc: local, init, body: next?, span: At(e.span) };
        Ok((Tree::Fold(Box::new(fold)), ty))
    }
}

/// The element types by name.
pub(crate) const ELEMS: &[(&str, Elem)] = &[
    ("f64", Elem::F64),
    ("f32", Elem::F32),
    ("f16", Elem::F16),
    ("bf16", Elem::BF16),
    ("i64", Elem::I64),
    ("i32", Elem::I32),
    ("i16", Elem::I16),
    ("i8", Elem::I8),
    ("u64", Elem::U64),
    ("u32", Elem::U32),
    ("u16", Elem::U16),
    ("u8", Elem::U8),
    ("bool", Elem::Bool),
];

/// `platform.lanes`
pub(crate) fn is_platform(e: &Expr) -> bool {
    e.to_path().is_some_and(|p| p.parts.len() > 1 && p.parts[0].name == "platform")
}

/// The unsigned type as wide as a float.
fn bits_of(float: Elem) -> Elem {
    match float {
        Elem::F64 => Elem::U64,
        Elem::F32 => Elem::U32,
        _ => Elem::U16,
    }
}

pub(super) fn elem(name: &str) -> Option<Elem> {
    ELEMS.iter().find(|e| e.0 == name).map(|e| e.1)
}

/// Whether an expression has no type of its own.
fn is_literal(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Float(_) | ExprKind::Int(_) => true,
        ExprKind::Unary { op: UnaryOp::Neg, operand } => is_literal(operand),
        ExprKind::Apply { head, .. } => head.to_path().is_some_and(|p| p.parts.len() == 2 && p.parts[0].name == "Num"),
        ExprKind::If { then, els, .. } => is_literal(then) && is_literal(els),
        _ => false,
    }
}

fn is_signed(e: Elem) -> bool {
    matches!(e, Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8)
}
