//! Statements of hand-written functions.

use crate::elaborate::{Body, Done, Meaning, World};
use crate::grids::GridSyntax;
use crate::scope;
use cachet_core::ir::{At, BufferInfo, Local, Role, Stmt, StmtKind, Strides, Ty};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{self, Expr, ExprKind, Ident, Index, ParamType, Place, Type, TypeKind};

/// The most cells that a local array may have: it is meant for registers.
pub(crate) const MAX_CELLS: i64 = 4096;

impl World<'_> {
    /// Statements in order. What fails is left out, so that one block reports all its problems.
    pub(crate) fn block(&mut self, body: &mut Body, block: &ast::Block) -> Done<Vec<Stmt>> {
        let depth = body.names.len();
        let mut out = Vec::new();
        let mut failed = None;
        for s in &block.stmts {
            let made = match self.vector_stmt(body, s) {
                Ok(Some(vector)) => {
                    out.extend(vector);
                    continue;
                }
                Ok(None) => self.stmt(body, s),
                Err(reported) => Err(reported),
            };
            match made {
                Ok(Some(kind)) => out.push(Stmt { kind, span: At(s.span) }),
                Ok(None) => {}
                Err(reported) => {
                    // What a broken statement was to name is not unknown, and what uses it is not worth a second message.
                    if let Some(name) = introduced(s) {
                        body.broken.insert(name.name.clone());
                    }
                    failed = Some(reported);
                }
            }
        }
        body.names.truncate(depth);
        match failed {
            Some(reported) => Err(reported),
            None => Ok(out),
        }
    }

    fn stmt(&mut self, body: &mut Body, s: &ast::Stmt) -> Done<Option<StmtKind>> {
        match &s.kind {
            ast::StmtKind::For { var, domain, body: inner } => self.for_loop(body, var, domain, inner).map(Some),
            ast::StmtKind::If { cond, then, els } => self.branch(body, cond, then, els.as_ref()).map(Some),
            ast::StmtKind::Let { name, ty, value } => self.let_stmt(body, name, ty.as_ref(), value),
            ast::StmtKind::Var { name, ty, value } => self.var_stmt(body, name, ty.as_ref(), value).map(Some),
            ast::StmtKind::Assign { place, value } => self.assign(body, place, value).map(Some),
            // One with a mask is a vector's.
            ast::StmtKind::Store { place, value, mask: _ } => self.store(body, place, value).map(Some),
            ast::StmtKind::Alloc { name, ty } => self.alloc(body, name, ty).map(Some),
            ast::StmtKind::Expr(e) => self.effect(body, e).map(Some),
            ast::StmtKind::Grid { device, indices, tile, writes, body: inner } => {
                let (device, tile) = (device.as_ref(), tile.as_ref());
                self.grid(body, &GridSyntax { device, indices, tile, writes, body: inner }).map(Some)
            }
            ast::StmtKind::Lease { mutable, name, buffer, level } => {
                self.lease(body, *mutable, (name, buffer), level).map(Some)
            }
            ast::StmtKind::Hole { hole, .. } => {
                Err(self.report(Diagnostic::error(codes::SYNTAX, hole.span, "holes stand in step functions only")))
            }
        }
    }

    fn for_loop(
        &mut self,
        body: &mut Body,
        var: &ast::LoopVar,
        domain: &ast::Domain,
        inner: &ast::Block,
    ) -> Done<StmtKind> {
        if var.rank {
            return Err(self.report(Diagnostic::error(
                codes::SYNTAX,
                var.span,
                "`..` after a loop's name stands in step functions only",
            )));
        }
        let domain = self.domain(body, domain)?;
        let depth = body.names.len();
        let v = self.loop_var(body, &var.name, &domain)?;
        let stmts = self.block(body, inner);
        body.names.truncate(depth);
        Ok(StmtKind::For { var: v, domain, body: stmts? })
    }

    fn branch(&mut self, body: &mut Body, cond: &Expr, then: &ast::Block, els: Option<&ast::Block>) -> Done<StmtKind> {
        if !self.is_guard(body, cond) {
            // A condition that has problems of its own says so first.
            self.word_of(body, cond, &Ty::Elem(cachet_core::ir::Elem::Bool))?;
            let d = Diagnostic::error(codes::WORD_AS_INDEX, cond.span, "data cannot decide what runs")
                .note(crate::elaborate::STATIC)
                .help("data chooses between values: `store c[i] = if x < y then x else y`");
            return Err(self.report(d));
        }
        let guard = self.guard(body, cond);
        let then = self.block(body, then);
        let els = els.map_or(Ok(Vec::new()), |b| self.block(body, b));
        Ok(StmtKind::If { guard: guard?, then: then?, els: els? })
    }

    /// A word gets a local; an index is only another way to write itself.
    fn let_stmt(&mut self, body: &mut Body, name: &Ident, ty: Option<&Type>, value: &Expr) -> Done<Option<StmtKind>> {
        self.fresh(body, name)?;
        if ty.is_none() && self.is_index(body, value) {
            let ix = self.ix(body, value)?;
            self.name_index(body, name, ix, value.span)?;
            return Ok(None);
        }
        let (word, ty) = match ty {
            Some(t) => {
                let ty = self.local_type(body, t)?;
                (self.word_of(body, value, &ty)?, ty)
            }
            None => self.word(body, value, None)?,
        };
        let local = body.add_local(&name.name, ty, false);
        body.bind(name, Meaning::Local(local));
        Ok(Some(StmtKind::Let { local, word: word.into_word() }))
    }

    /// The type of a `let`: a word's.
    fn local_type(&mut self, body: &Body, ty: &Type) -> Done<Ty> {
        if let TypeKind::Array { .. } = &ty.kind {
            let d = Diagnostic::error(
                codes::TYPE_MISMATCH,
                ty.span,
                "a `let` names one value, and this is the type of an array",
            )
            .help("cells that change are a `var`: `var t: [f32; 8] = 0.0`");
            return Err(self.report(d));
        }
        self.word_type(body, ty)
    }

    fn var_stmt(&mut self, body: &mut Body, name: &Ident, ty: Option<&Type>, value: &Expr) -> Done<StmtKind> {
        self.fresh(body, name)?;
        let (init, ty, dims) = match ty {
            Some(Type { kind: TypeKind::Array { element, extents }, .. }) => {
                let ty = self.word_type(body, element)?;
                let dims = self.dims(body, extents)?;
                (self.word_of(body, value, &ty)?, ty, dims)
            }
            Some(t) => {
                let ty = self.word_type(body, t)?;
                (self.word_of(body, value, &ty)?, ty, Vec::new())
            }
            None => {
                let (word, ty) = self.word(body, value, None)?;
                (word, ty, Vec::new())
            }
        };
        let local = body.add_local(&name.name, ty, true);
        body.locals[local.index()].dims = dims;
        body.bind(name, Meaning::Local(local));
        Ok(StmtKind::Var { local, init: init.into_word() })
    }

    /// Extents of a local array: numbers, for its cells are registers.
    pub(crate) fn dims(&mut self, body: &Body, extents: &[Expr]) -> Done<Vec<i64>> {
        let mut dims = Vec::new();
        for e in extents {
            match self.ix(body, e)? {
                cachet_core::ir::Ix::Lit(n) if n > 0 => dims.push(n),
                _ => {
                    let d = Diagnostic::error(codes::SIZE, e.span, "the extent of a local array is a number above 0");
                    return Err(self.report(d.help("an array of another size is made by `alloc`")));
                }
            }
        }
        let cells = dims.iter().try_fold(1i64, |n, d| n.checked_mul(*d)).filter(|n| *n <= MAX_CELLS);
        match (cells, extents) {
            (None, [first, .., last]) => Err(self.too_many_cells(first.span.to(last.span))),
            (None, [only]) => Err(self.too_many_cells(only.span)),
            _ => Ok(dims),
        }
    }

    pub(crate) fn too_many_cells(&mut self, span: Span) -> crate::elaborate::Reported {
        let message = format!("a local array has at most {MAX_CELLS} cells");
        self.report(Diagnostic::error(codes::LIMIT, span, message).help("a larger one is made by `alloc`"))
    }

    fn assign(&mut self, body: &mut Body, place: &Place, value: &Expr) -> Done<StmtKind> {
        let (name, indices) = self.plain_place(place)?;
        let local = match body.find(&name.name) {
            Some(Meaning::Local(l)) if body.locals[l.index()].mutable => *l,
            Some(Meaning::Local(_)) => {
                let message = format!("`{}` is a `let` and keeps its value", name.name);
                return Err(
                    self.report(Diagnostic::error(codes::MODE, place.span, message).help("declare it as `var`"))
                );
            }
            Some(Meaning::Buffer(_) | Meaning::Window(..)) => {
                let message = format!("`{}` is an array: its elements are written by `store`", name.name);
                let d = Diagnostic::error(codes::TYPE_MISMATCH, place.span, message);
                return Err(self.report(d.help(format!("write `store {}[..] = ..`", name.name))));
            }
            Some(Meaning::Var(_) | Meaning::Block(_) | Meaning::Ix(_)) => {
                let message = format!("`{}` is an index, and indices are never assigned", name.name);
                return Err(self.report(Diagnostic::error(codes::WORD_AS_INDEX, place.span, message)));
            }
            Some(Meaning::Value(_) | Meaning::TypeParam(_)) => {
                let message = format!("`{}` cannot be assigned", name.name);
                return Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, place.span, message)));
            }
            None => return Err(self.unknown_value(body, name, "variable")),
        };
        let at = self.cell(body, name, local, indices, place.span)?;
        let ty = body.locals[local.index()].ty.clone();
        let word = self.word_of(body, value, &ty)?.into_word();
        Ok(StmtKind::Assign { local, at, word })
    }

    /// The subscripts of a local: none for a single word, one per axis of an array.
    pub(crate) fn cell(
        &mut self,
        body: &Body,
        name: &Ident,
        local: Local,
        indices: &[Index],
        span: Span,
    ) -> Done<Vec<cachet_core::ir::Ix>> {
        let rank = body.locals[local.index()].dims.len();
        // With a subscript more than there are axes of vectors, one lane is meant.
        if body.locals[local.index()].vector && indices.len() != rank {
            let message = format!("`{}` holds vectors, and one value is wanted here", name.name);
            return Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, span, message)));
        }
        if indices.len() != rank {
            let message = match (rank, indices.len()) {
                (0, _) => format!("`{}` is a single value and has no subscripts", name.name),
                (_, 0) => format!("`{}` is a local array, and one cell of it is wanted here", name.name),
                (r, n) => {
                    format!(
                        "`{}` takes {r} subscript{}, and {}",
                        name.name,
                        if r == 1 { "" } else { "s" },
                        scope::given(n)
                    )
                }
            };
            return Err(self.report(Diagnostic::error(codes::ARITY, span, message)));
        }
        let mut at = Vec::new();
        for i in indices {
            let Index::At(e) = i else {
                return Err(self.report(Diagnostic::not_built(i.span(), "slices of local arrays")));
            };
            at.push(self.ix(body, e)?);
        }
        Ok(at)
    }

    fn store(&mut self, body: &mut Body, place: &Place, value: &Expr) -> Done<StmtKind> {
        let (name, indices) = self.plain_place(place)?;
        if let Some(Meaning::Local(_)) = body.find(&name.name) {
            let message = format!("`{}` is a local, and `store` writes arrays", name.name);
            let d = Diagnostic::error(codes::TYPE_MISMATCH, place.span, message);
            return Err(self.report(d.help(format!("assign it: `{} = ..`", name.name))));
        }
        let to = self.access(body, name, indices, place.span);
        let buffer = self.buffer_quietly(body, name)?;
        let info = &body.buffers[buffer.index()];
        let ty = info.elem.clone();
        if info.role == Role::Reads {
            let message = format!("`{}` is `reads`, and cannot be stored to", name.name);
            let d = Diagnostic::error(codes::MODE, place.span, message).also(info.span.0, "declared here");
            return Err(
                self.report(d.help("an array that is written is `mut`, or `out` where every element is written"))
            );
        }
        let word = self.word_of(body, value, &ty);
        Ok(StmtKind::Store { to: to?, word: word?.into_word() })
    }

    /// A buffer whose problems have been reported already.
    fn buffer_quietly(&self, body: &Body, name: &Ident) -> Done<cachet_core::ir::Buffer> {
        match body.find(&name.name) {
            Some(Meaning::Buffer(b) | Meaning::Window(b, _)) => Ok(*b),
            _ => Err(crate::elaborate::Reported),
        }
    }

    /// A name with at most one group of subscripts.
    fn plain_place<'p>(&mut self, place: &'p Place) -> Done<(&'p Ident, &'p [Index])> {
        match (place.path.as_ident(), place.indices()) {
            (Some(name), Some(indices)) if !name.is_hole() => Ok((name, indices)),
            (Some(name), _) if name.is_hole() => {
                Err(self.report(Diagnostic::error(codes::SYNTAX, name.span, "holes stand in step functions only")))
            }
            _ => {
                let message = "an array's element or a variable is wanted here, as `c[i, j]`";
                Err(self.report(Diagnostic::error(codes::SYNTAX, place.span, message)))
            }
        }
    }

    fn alloc(&mut self, body: &mut Body, name: &Ident, ty: &ParamType) -> Done<StmtKind> {
        self.fresh(body, name)?;
        let TypeKind::Array { element, extents } = &ty.ty.kind else {
            let d = Diagnostic::error(codes::TYPE_MISMATCH, ty.ty.span, "`alloc` makes an array");
            return Err(self.report(d.help("write its element and extents: `alloc t: [f32; 8, 8]`")));
        };
        let elem = self.word_type(body, element)?;
        let mut axes = Vec::new();
        for e in extents {
            axes.push(self.ix(body, e)?);
        }
        let (layout, level) = self.memory(body, ty, axes.len())?;
        let buffer = cachet_core::ir::Buffer(body.buffers.len() as u32);
        body.buffers.push(BufferInfo {
            name: name.name.clone(),
            elem,
            extents: axes,
            layout,
            strides: Strides::Contiguous,
            level,
            role: Role::Alloc,
            span: At(name.span),
        });
        body.bind(name, Meaning::Buffer(buffer));
        Ok(StmtKind::Alloc(buffer))
    }

    /// `lease mut near = x at L1`: another name for an array, up to the end of the block.
    fn lease(
        &mut self,
        body: &mut Body,
        mutable: bool,
        (name, buffer): (&Ident, &Ident),
        level: &Ident,
    ) -> Done<StmtKind> {
        let of = self.buffer(body, buffer)?;
        let level = self.level(level)?;
        if body.find(&name.name).is_some() {
            let message = format!("`{}` is defined already", name.name);
            return Err(self.report(Diagnostic::error(codes::DUPLICATE_NAME, name.span, message)));
        }
        let info = BufferInfo {
            name: name.name.clone(),
            level,
            role: Role::Lease(of),
            span: At(name.span),
            ..body.buffers[of.index()].clone()
        };
        body.buffers.push(info);
        let lease = cachet_core::ir::Buffer(body.buffers.len() as u32 - 1);
        body.bind(name, Meaning::Buffer(lease));
        Ok(StmtKind::Lease { lease, of, mutable })
    }

    /// `print`, or a call.
    fn effect(&mut self, body: &mut Body, e: &Expr) -> Done<StmtKind> {
        let (head, targs, args): (&Expr, &[ast::Targ], &[Expr]) = match &e.kind {
            ExprKind::Apply { head, targs, args } => (head, targs, args),
            ExprKind::Name(_) => (e, &[], &[]),
            _ => {
                let d =
                    Diagnostic::error(codes::TYPE_MISMATCH, e.span, "a statement is wanted here, and this is a value");
                return Err(self.report(d.help("keep it: `let x = ..`, or `store c[i] = ..`")));
            }
        };
        let Some(name) = head.as_ident() else {
            let message = "a function over arrays is called by its name";
            return Err(self.report(Diagnostic::error(codes::UNKNOWN_NAME, head.span, message)));
        };
        let args: Vec<&Expr> = args.iter().filter(|a| !matches!(a.kind, ExprKind::Unit)).collect();
        if name.name == "print" {
            return self.print(body, name, &args, e.span);
        }
        self.call(body, name, targs, &args, e.span)
    }

    fn print(&mut self, body: &mut Body, name: &Ident, args: &[&Expr], span: Span) -> Done<StmtKind> {
        let [value] = args else {
            let message = format!("`print` takes 1 argument, and {}", scope::given(args.len()));
            let d = Diagnostic::error(codes::ARITY, name.span.to(span), message);
            return Err(self.report(d.note("an argument that is more than a name or a literal needs parentheses")));
        };
        if self.is_index(body, value) && !matches!(value.kind, ExprKind::Int(_)) {
            let ix = self.ix(body, value)?;
            return Ok(StmtKind::Print(cachet_core::ir::Word::Index(ix, cachet_core::ir::Elem::I64)));
        }
        let want = match value.kind {
            ExprKind::Int(_) => Ty::Elem(cachet_core::ir::Elem::I64),
            _ => Ty::Elem(cachet_core::ir::Elem::F64),
        };
        let (word, ty) = self.word(body, value, Some(&want))?;
        match ty {
            Ty::Elem(_) => Ok(StmtKind::Print(word.into_word())),
            Ty::Abstract(_) | Ty::Tuple(_) => {
                let text = self.ty_text(body, &ty);
                let d = Diagnostic::error(codes::TYPE_MISMATCH, value.span, format!("{text} cannot be printed"));
                let first = match &ty {
                    Ty::Tuple(parts) => parts.info(&self.module.program).and_then(|r| r.fields.first()),
                    Ty::Elem(_) | Ty::Abstract(_) => None,
                };
                let d = match first {
                    Some(field) => d.help(format!("print a field of it: `print (..).{field}`")),
                    None => d,
                };
                Err(self.report(d))
            }
        }
    }

    /// A name that nothing binds; silent where a broken statement was to bind it.
    pub(crate) fn unknown_value(&mut self, body: &Body, name: &Ident, what: &str) -> crate::elaborate::Reported {
        if body.broken.contains(&name.name) {
            return crate::elaborate::Reported;
        }
        let d = scope::unknown(name, what, body.names.iter().map(|(n, _)| n.as_str()));
        let unbound = body.values.is_some() && what == INDEX && d.helps.is_empty();
        let help = format!("an index that is not on the left of its equation belongs to a sum: `sum {}. e`", name.name);
        self.report(if unbound { d.help(help) } else { d })
    }
}

/// What is looked for in a subscript, bound or guard.
pub(crate) const INDEX: &str = "index or size";

/// The name that a statement introduces.
fn introduced(s: &ast::Stmt) -> Option<&Ident> {
    match &s.kind {
        ast::StmtKind::Let { name, .. }
        | ast::StmtKind::Var { name, .. }
        | ast::StmtKind::Alloc { name, .. }
        | ast::StmtKind::Lease { name, .. } => Some(name),
        ast::StmtKind::For { .. }
        | ast::StmtKind::Grid { .. }
        | ast::StmtKind::If { .. }
        | ast::StmtKind::Assign { .. }
        | ast::StmtKind::Store { .. }
        | ast::StmtKind::Expr(_)
        | ast::StmtKind::Hole { .. } => None,
    }
}
