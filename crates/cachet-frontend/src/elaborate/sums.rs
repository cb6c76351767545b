//! `sum` and `reduce` of an equation.

use super::{Body, Done, Meaning, Reported, World};
use crate::tree::{SumTree, Tree};
use cachet_core::equations::Combine;
use cachet_core::ir::{At, Elem, Guard, Lit, Op, Prim, Ty, Var, VarKind};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{BinaryOp, Binder, Expr, ExprKind, Type, TypeKind};

/// What a chain is made of.
struct Algebra {
    zero: Tree,
    add: Combine,
    mul_add: Option<(Combine, Op)>,
}

impl World<'_> {
    /// A `sum` or `reduce`.
    pub(crate) fn sum(&mut self, body: &mut Body, e: &Expr, want: Option<&Ty>) -> Done<(Tree, Ty)> {
        if body.values.is_none() {
            return Err(self.report(Diagnostic::error(
                codes::SYNTAX,
                e.span,
                "a `sum` stands in a contraction's equation; a function says `fold`",
            )));
        }
        let (binders, term, monoid, reassoc) = match &e.kind {
            ExprKind::Sum { reassoc, binders, body } => (binders, body, None, reassoc),
            ExprKind::Reduce { reassoc, monoid, binders, body } => (binders, body, Some(monoid), reassoc),
            _ => return Err(Reported),
        };
        body.sums += 1;
        let depth = body.names.len();
        let bound = self.binders(body, binders)?;
        let result = self.chain(body, bound, term, monoid, reassoc.is_some(), e.span, want);
        body.names.truncate(depth);
        result
    }

    /// Binds the summed indices; a range that is given is noted as a use of the index.
    fn binders(&mut self, body: &mut Body, binders: &[Binder]) -> Done<Vec<(Var, Option<Guard>)>> {
        let mut out = Vec::new();
        for b in binders {
            if let Some(Meaning::Var(_)) = body.find(&b.name.name) {
                let d = Diagnostic::error(
                    codes::SUMMED_ON_LEFT,
                    b.name.span,
                    format!("`{}` is summed, and is an index already", b.name.name),
                )
                .note("an index on the left of an equation names an element; a summed one is gone by then")
                .help("give the sum another index, or leave this one out on the left");
                return Err(self.report(d));
            }
            self.fresh(body, &b.name)?;
            let var = body.add_var(&b.name.name, VarKind::Index);
            if let Some((lo, hi)) = &b.range {
                let (lo, hi) = (self.ix(body, lo)?, self.ix(body, hi)?);
                body.given.insert(var, cachet_core::ir::Domain::Range { lo, hi });
            }
            body.bind(&b.name, Meaning::Var(var));
            let guard = b.guard.as_ref().map(|g| self.guard(body, g)).transpose()?;
            out.push((var, guard));
        }
        Ok(out)
    }

    #[expect(clippy::too_many_arguments, reason = "one caller, and each is a different part of the sum")]
    fn chain(
        &mut self,
        body: &mut Body,
        binders: Vec<(Var, Option<Guard>)>,
        term: &Expr,
        monoid: Option<&Type>,
        regroup: bool,
        span: Span,
        want: Option<&Ty>,
    ) -> Done<(Tree, Ty)> {
        let (algebra, tree, ty) = match monoid {
            None => {
                let (tree, ty) = self.word(body, term, want)?;
                (self.plus_times(body, &ty, term, span)?, tree, ty)
            }
            Some(m) => {
                let (algebra, ty) = self.monoid(body, m, is_product(term))?;
                let tree = self.word_of(body, term, &ty)?;
                (algebra, tree, ty)
            }
        };
        let sum = SumTree {
            binders,
            zero: algebra.zero,
            add: algebra.add,
            mul_add: algebra.mul_add,
            body: tree,
            ty: ty.clone(),
            regroup,
            span: At(span),
        };
        Ok((Tree::Sum(Box::new(sum)), ty))
    }

    /// The additions and products of a type: a float's own, or those of a type parameter.
    fn plus_times(&mut self, body: &Body, ty: &Ty, term: &Expr, span: Span) -> Done<Algebra> {
        let product = is_product(term);
        match ty {
            Ty::Elem(e @ (Elem::F32 | Elem::F64)) => {
                let bits = if *e == Elem::F64 { 1 << 63 } else { 0x8000_0000 };
                Ok(Algebra {
                    zero: Tree::Lit(Lit { elem: *e, bits }),
                    add: Combine::Op(Op::Prim(Prim::Add)),
                    mul_add: product.then_some((Combine::Op(Op::Prim(Prim::Fma)), Op::Prim(Prim::Mul))),
                })
            }
            Ty::Elem(Elem::F16 | Elem::BF16 | Elem::Bool) | Ty::Tuple(_) => {
                let text = self.ty_text(body, ty);
                let d = Diagnostic::error(codes::TYPE_MISMATCH, span, format!("{text} has no sum"));
                let record = matches!(ty, Ty::Tuple(_));
                let help = "say how two are joined, by an implementation of Monoid: `reduce M k. ..`";
                Err(self.report(if record { d.help(help) } else { d }))
            }
            // Of integers a product and its sum are two operations: nothing is rounded.
            Ty::Elem(e) => Ok(Algebra {
                zero: Tree::Lit(Lit { elem: *e, bits: 0 }),
                add: Combine::Op(Op::Prim(Prim::Add)),
                mul_add: None,
            }),
            Ty::Abstract(p) => {
                let interface = &self.module.program.interfaces[body.type_params[p.index()].interface as usize];
                let method =
                    |name: &str| interface.methods.iter().position(|m| m.0 == name).map(|m| Op::Method(*p, m as u32));
                match (method("zero"), method("add"), method("mul"), method("mul_add")) {
                    (Some(zero), Some(add), Some(mul), Some(mul_add)) => Ok(Algebra {
                        zero: Tree::Op(zero, vec![]),
                        add: Combine::Op(add),
                        mul_add: product.then_some((Combine::Op(mul_add), mul)),
                    }),
                    _ => {
                        let message =
                            format!("the interface {} has no sum: it needs zero, add, mul and mul_add", interface.name);
                        Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, span, message)))
                    }
                }
            }
        }
    }

    /// A monoid's implementation: its empty value and what combines two; or a semiring's, whose own product is the one that
    /// stands at the top of a term.
    fn monoid(&mut self, body: &Body, ty: &Type, product: bool) -> Done<(Algebra, Ty)> {
        let own = ty.as_path().and_then(|p| p.as_ident()).and_then(|n| body.find(&n.name));
        if let Some(Meaning::TypeParam(p)) = own {
            let interface = &self.module.program.interfaces[body.type_params[p.index()].interface as usize];
            let method =
                |name: &str| interface.methods.iter().position(|m| m.0 == name).map(|m| Op::Method(*p, m as u32));
            return match (method("empty"), method("combine")) {
                (Some(empty), Some(combine)) => {
                    let zero = Tree::Op(empty, vec![]);
                    Ok((Algebra { zero, add: Combine::Op(combine), mul_add: None }, Ty::Abstract(*p)))
                }
                _ => {
                    let message =
                        format!("a {} has no `empty` and `combine`, and a reduction needs a Monoid", interface.name);
                    Err(self.report(Diagnostic::error(codes::BINDING, ty.span, message)))
                }
            };
        }
        let name = self.impl_name(ty)?;
        let Some(id) = self.implementation(body.unit, &name) else {
            let has = |i: &cachet_core::ir::Interface, name: &str| i.methods.iter().any(|m| m.0 == name);
            let mut known = self.module.program.interfaces.iter();
            let monoid = known.position(|i| has(i, "empty") && has(i, "combine")).map(|i| i as u32);
            return Err(self.unknown_implementation(body.unit, monoid, &name, ty.span));
        };
        let imp = self.module.program.impls[id.index()].clone();
        let interface = &self.module.program.interfaces[imp.interface as usize];
        let method = |name: &str| interface.methods.iter().position(|m| m.0 == name).map(|m| imp.methods[m]);
        match (method("empty"), method("combine")) {
            (Some(empty), Some(combine)) => {
                let zero = Tree::Apply(empty, vec![]);
                Ok((Algebra { zero, add: Combine::Apply(combine), mul_add: None }, imp.value))
            }
            _ => match (method("zero"), method("add"), method("mul_add")) {
                (Some(zero), Some(add), Some(mul_add)) => {
                    let mul_add = product.then_some((Combine::Apply(mul_add), Op::Prim(Prim::Mul)));
                    Ok((Algebra { zero: Tree::Apply(zero, vec![]), add: Combine::Apply(add), mul_add }, imp.value))
                }
                _ => {
                    let message =
                        format!("{name} implements {}, and a reduction needs a Monoid or a Semiring", interface.name);
                    Err(self.report(Diagnostic::error(codes::BINDING, ty.span, message)))
                }
            },
        }
    }

    /// `PlusTimes f32`: the name that an implementation is written with.
    pub(crate) fn impl_name(&mut self, ty: &Type) -> Done<String> {
        let TypeKind::Named { path, args } = &ty.kind else {
            return Err(self.report(Diagnostic::error(
                codes::BINDING,
                ty.span,
                "the name of an implementation is wanted here",
            )));
        };
        let mut out = path.text();
        for a in args {
            out.push(' ');
            match a {
                cachet_syntax::ast::TypeArg::Type(t) => match t.as_path() {
                    Some(p) => out.push_str(&p.text()),
                    None => {
                        return Err(
                            self.report(Diagnostic::not_built(t.span, "implementations for arrays and vectors"))
                        );
                    }
                },
                cachet_syntax::ast::TypeArg::Size(e) => match &e.kind {
                    ExprKind::Int(n) => out.push_str(&n.to_string()),
                    _ => {
                        return Err(
                            self.report(Diagnostic::not_built(e.span, "sizes in the name of an implementation"))
                        );
                    }
                },
            }
        }
        Ok(out)
    }
}

/// Whether a product stands at the top: `a * b`, also in parentheses.
fn is_product(term: &Expr) -> bool {
    matches!(&term.kind, ExprKind::Binary { op: BinaryOp::Mul, .. })
}
