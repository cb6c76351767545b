//! Heads: type parameters, parameters, implicit sizes, clauses.

use crate::elaborate::{Body, Done, Meaning, World};
use crate::limits;
use crate::platforms::OUTERMOST;
use cachet_core::ir::{
    At, Buffer, BufferInfo, Device, Guard, Ix, Layout, Level, Role, Strides, TypeParam, TypeParamInfo, VarKind,
};
use cachet_core::resources::Resources;
use cachet_source::{Diagnostic, codes};
use cachet_syntax::ast::{Clause, ClauseKind, Expr, ExprKind, Mode, Param, ParamType, Requirement, TypeKind};

/// What clauses say.
#[derive(Default)]
pub(crate) struct Clauses {
    pub requires: Vec<Guard>,
    pub produces: Vec<Buffer>,
    pub scratch: Vec<Buffer>,
    pub resources: Resources,
}

impl World<'_> {
    /// `{S : Semiring, n : Nat}`.
    pub(crate) fn type_params(&mut self, body: &mut Body, params: &[cachet_syntax::ast::TypeParam]) -> Done<()> {
        for p in params {
            if p.bound.name == "Nat" {
                self.fresh(body, &p.name)?;
                let v = body.add_var(&p.name.name, VarKind::Size);
                body.sizes.push(v);
                body.named_sizes.insert(v);
                body.bind(&p.name, Meaning::Var(v));
                continue;
            }
            if p.bound.name == "Type" {
                return Err(
                    self.report(Diagnostic::not_built(p.span, format!("type parameters of kind {}", p.bound.name)))
                );
            }
            let found = self.scope.find(body.unit, &p.bound.name);
            let Some(interface) = found.and_then(|r| self.interfaces.get(&r)).copied() else {
                if found.is_some_and(|r| self.refused.contains(&r)) {
                    return Err(crate::elaborate::Reported);
                }
                let known: Vec<String> = self.module.program.interfaces.iter().map(|i| i.name.clone()).collect();
                let mut d = crate::scope::unknown(&p.bound, "interface", known.iter().map(String::as_str));
                if p.bound.name == "Semiring" || p.bound.name == "Monoid" {
                    d = d.help("it comes with `import \"cachet:monoid\"`");
                }
                return Err(self.report(d));
            };
            body.type_params.push(TypeParamInfo { name: p.name.name.clone(), interface });
            let id = TypeParam(body.type_params.len() as u32 - 1);
            body.bind(&p.name, Meaning::TypeParam(id));
        }
        Ok(())
    }

    /// One parameter: sizes it names for the first time become size parameters.
    pub(crate) fn param(&mut self, body: &mut Body, p: &Param, role: Role) -> Done<Buffer> {
        self.buffer_of(body, &p.name, &p.ty, role, true)
    }

    /// A parameter or an allocation.
    pub(crate) fn buffer_of(
        &mut self,
        body: &mut Body,
        name: &cachet_syntax::ast::Ident,
        ty: &ParamType,
        role: Role,
        sizes: bool,
    ) -> Done<Buffer> {
        let TypeKind::Array { element, extents } = &ty.ty.kind else {
            let d = Diagnostic::error(
                codes::TYPE_MISMATCH,
                ty.ty.span,
                format!("`{}` is an array: `[f32; M, N]`", name.name),
            );
            return Err(self.report(d));
        };
        if body.find(&name.name).is_some() {
            return Err(self.report(Diagnostic::error(
                codes::DUPLICATE_NAME,
                name.span,
                format!("`{}` is defined already", name.name),
            )));
        }
        if sizes {
            for e in extents {
                self.bind_sizes(body, e);
            }
        }
        let elem = self.word_type(body, element)?;
        let mut all = Vec::new();
        for e in extents {
            if sizes {
                self.bound_sizes(body, e)?;
            }
            match self.ix(body, e)? {
                Ix::Lit(n) if n < 0 => {
                    return Err(self.report(Diagnostic::error(codes::SIZE, e.span, "an extent is at least 0")));
                }
                Ix::Lit(n) if n > cachet_core::ir::MAX_DIM => {
                    return Err(self.report(Diagnostic::error(codes::LIMIT, e.span, "an extent is at most 2^40")));
                }
                ix => all.push(ix),
            }
        }
        let (layout, level) = self.memory(body, ty, all.len())?;
        body.buffers.push(BufferInfo {
            name: name.name.clone(),
            elem,
            extents: all,
            layout,
            strides: Strides::Contiguous,
            level,
            role,
            span: At(name.span),
        });
        let buffer = Buffer(body.buffers.len() as u32 - 1);
        body.bind(name, Meaning::Buffer(buffer));
        Ok(buffer)
    }

    /// How an array with so many axes lies in memory, and where.
    pub(crate) fn memory(&mut self, body: &Body, ty: &ParamType, rank: usize) -> Done<(Layout, Level)> {
        let layout = match &ty.layout {
            Some(l) => self.layout(body, l, rank)?,
            None => Layout::RowMajor,
        };
        match &ty.level {
            Some(l) => Ok((layout, self.level(l)?)),
            None => Ok((layout, Level { name: OUTERMOST.into(), device: Device::HOST })),
        }
    }

    /// A bare name that nothing defines is a size parameter; its first occurrence binds it.
    fn bind_sizes(&mut self, body: &mut Body, e: &Expr) {
        if let ExprKind::Name(n) = &e.kind {
            let constant = self.scope.find(body.unit, &n.name).is_some_and(|r| self.constant(r, &n.name).is_some());
            if body.find(&n.name).is_none() && !constant {
                let v = body.add_var(&n.name, VarKind::Size);
                body.sizes.push(v);
                body.bind(n, Meaning::Var(v));
            }
        }
    }

    /// A size that stands only inside expressions could not be found by a call.
    fn bound_sizes(&mut self, body: &Body, e: &Expr) -> Done<()> {
        match &e.kind {
            ExprKind::Name(n) if body.find(&n.name).is_none() && self.scope.find(body.unit, &n.name).is_none() => {
                let message =
                    format!("the size `{}` is nowhere the whole extent of an axis, so no call could find it", n.name);
                let help = format!("give an axis the extent `{}`; what has to hold of it stands in `requires`", n.name);
                Err(self.report(Diagnostic::error(codes::SIZE, n.span, message).help(help)))
            }
            ExprKind::Binary { lhs, rhs, .. } => {
                self.bound_sizes(body, lhs)?;
                self.bound_sizes(body, rhs)
            }
            ExprKind::Apply { args, .. } => args.iter().try_for_each(|a| self.bound_sizes(body, a)),
            _ => Ok(()),
        }
    }

    /// Sizes that are bound later may be used in the extents of earlier parameters, so all bare ones are bound first.
    pub(crate) fn bind_all_sizes(&mut self, body: &mut Body, params: &[&Param]) -> Done<()> {
        self.refuse_many(params)?;
        for p in params {
            if let TypeKind::Array { extents, .. } = &p.ty.ty.kind {
                for e in extents {
                    self.bind_sizes(body, e);
                }
            }
        }
        Ok(())
    }

    /// Every condition knows of every size, so that their number counts twice.
    fn refuse_many(&mut self, params: &[&Param]) -> Done<()> {
        let mut extents = 0;
        for (n, p) in params.iter().enumerate() {
            if let TypeKind::Array { extents: of_this, .. } = &p.ty.ty.kind {
                extents += of_this.len();
            }
            let message = match (n < limits::MAX_PARAMS, extents <= limits::MAX_EXTENTS) {
                (true, true) => continue,
                (false, _) => format!("more than {} parameters: `{}` is one too many", limits::MAX_PARAMS, p.name.name),
                (true, false) => format!(
                    "up to `{}` the parameters have {extents} extents together; at most {} may be",
                    p.name.name,
                    limits::MAX_EXTENTS
                ),
            };
            return Err(self.report(Diagnostic::error(codes::LIMIT, p.span, message)));
        }
        Ok(())
    }

    /// The role of a parameter and whether it is an output.
    pub(crate) fn mode(&mut self, p: &Param) -> Done<(Role, bool)> {
        match p.mode {
            Some(Mode::Reads) => Ok((Role::Reads, false)),
            Some(Mode::Mut) => Ok((Role::Mut, false)),
            Some(Mode::Out) => Ok((Role::Mut, true)),
            None => {
                let d = Diagnostic::error(
                    codes::MODE,
                    p.span,
                    format!("say what happens to `{}`: `reads`, `mut` or `out`", p.name.name),
                );
                Err(self.report(d))
            }
        }
    }

    /// Clauses.
    pub(crate) fn clauses(&mut self, body: &Body, clauses: &[Clause]) -> Done<Clauses> {
        let mut out = Clauses::default();
        for c in clauses {
            match &c.kind {
                ClauseKind::Requires(all) => {
                    for r in all {
                        match r {
                            Requirement::Condition(e) => out.requires.extend(conjuncts(self.guard(body, e)?)),
                            // `mut` without `produces` or `scratch` is initialised on entry as it is.
                            Requirement::Init(name) => {
                                self.buffer(body, name)?;
                            }
                        }
                    }
                }
                ClauseKind::Produces(names) => {
                    for n in names {
                        out.produces.push(self.buffer(body, n)?);
                    }
                }
                ClauseKind::Scratch(names) => {
                    for n in names {
                        out.scratch.push(self.buffer(body, n)?);
                    }
                }
                ClauseKind::WorkingSet(rows) => out.resources.keeps = self.working_set(body, rows)?,
                ClauseKind::Movement(rows) => out.resources.movement = Some(self.movement(body, rows)?),
            }
        }
        for b in out.produces.iter().chain(&out.scratch) {
            if body.buffers[b.index()].role != Role::Mut {
                let info = &body.buffers[b.index()];
                let d = Diagnostic::error(
                    codes::MODE,
                    info.span.0,
                    format!("`{}` is read only, so it cannot be an output or scratch", info.name),
                );
                return Err(self.report(d));
            }
        }
        Ok(out)
    }
}

fn conjuncts(g: Guard) -> Vec<Guard> {
    match g {
        Guard::And(a, b) => {
            let mut out = conjuncts(*a);
            out.extend(conjuncts(*b));
            out
        }
        g => vec![g],
    }
}
