//! Words: what is loaded, computed and stored, with its type.

use super::{Body, Done, Meaning, Reported, World, conversion};
use crate::scope;
use crate::tree::{FoldTree, Tree};
use cachet_core::ir::{Access, At, Buffer, Elem, Ix, Lit, Op, Prim, Ty};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{Expr, ExprKind, Ident, Index, Place, StmtKind, Type, TypeKind, UnaryOp};

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
        if let Some(word) = self.lane_word(body, e, want) {
            return word;
        }
        match &e.kind {
            ExprKind::Float(text) => self.float(text, want, e.span).map(|(l, t)| (Tree::Lit(l), t)),
            ExprKind::Int(n) => self.integer(*n, want, e.span).map(|(l, t)| (Tree::Lit(l), t)),
            ExprKind::Bool(b) => Ok((Tree::Lit(Lit { elem: Elem::Bool, bits: u64::from(*b) }), Ty::Elem(Elem::Bool))),
            ExprKind::Name(name) => self.word_name(body, name, want),
            ExprKind::Load { place, mask: None } => self.load(body, place),
            ExprKind::Load { mask: Some(m), .. } => {
                let d = Diagnostic::error(
                    codes::TYPE_MISMATCH,
                    m.span,
                    "a mask is a vector's, and one value is wanted here",
                );
                Err(self.report(d))
            }
            // In an equation `a[i, k]` is an element; in a function it is read by `load`.
            ExprKind::Index { base, indices } => self.word_index(body, base, indices, e),
            _ if of_platform(e) => {
                self.platform_number(body.unit, e)?;
                let message = "a number of the platform is a size, and a value is wanted here";
                let d = Diagnostic::error(codes::TYPE_MISMATCH, e.span, message);
                Err(self.report(d.help("turn it into one: `(platform.lanes @Vec @f32) as f32`")))
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
            let ix = self.subscript(body, i)?;
            if let Ix::Var(v) = ix {
                body.lone.push((v, extent.clone(), i.span()));
            }
            at.push(ix);
        }
        Ok(Access { buffer, at, span: At(span) })
    }

    pub(super) fn load(&mut self, body: &mut Body, place: &Place) -> Done<(Tree, Ty)> {
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

    /// Operands of one type: the first that is not a bare literal decides.
    pub(super) fn operands(&mut self, body: &mut Body, args: &[&Expr], want: Option<&Ty>) -> Done<(Vec<Tree>, Ty)> {
        let decides = args.iter().position(|a| !is_literal(a)).unwrap_or(0);
        let Some(first) = args.get(decides) else { return Err(Reported) };
        let (tree, ty) = self.word(body, first, want)?;
        let mut trees = Vec::new();
        for (i, a) in args.iter().enumerate() {
            trees.push(if i == decides { tree.clone() } else { self.word_of(body, a, &ty)? });
        }
        Ok((trees, ty))
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
            (["Vec"], _) => {
                let d = Diagnostic::error(codes::TYPE_MISMATCH, ty.span, "the type of one value is wanted here");
                Err(self.report(d.note("a vector is a local: `let x: Vec f32 8 = load a[i, k ..+ 8]`")))
            }
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

/// `platform.lanes @Vec @f32`
pub(crate) fn of_platform(e: &Expr) -> bool {
    is_platform(e) || matches!(&e.kind, ExprKind::Apply { head, .. } if is_platform(head))
}

/// `platform.lanes`
fn is_platform(e: &Expr) -> bool {
    e.to_path().is_some_and(|p| p.parts.len() > 1 && p.parts[0].name == "platform")
}

pub(super) fn elem(name: &str) -> Option<Elem> {
    ELEMS.iter().find(|e| e.0 == name).map(|e| e.1)
}

/// Whether an expression has no type of its own.
fn is_literal(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Float(_) | ExprKind::Int(_) => true,
        ExprKind::Unary { op: UnaryOp::Neg, operand } => is_literal(operand),
        ExprKind::Apply { head, args, .. } if head.as_ident().is_some_and(|n| n.name == "splat") => {
            args.iter().all(is_literal)
        }
        ExprKind::Apply { head, .. } => head.to_path().is_some_and(|p| p.parts.len() == 2 && p.parts[0].name == "Num"),
        ExprKind::If { then, els, .. } => is_literal(then) && is_literal(els),
        _ => false,
    }
}
