//! Operators and conversions of words, and what `+` and `*` mean on each type.

use super::{Body, Done, World};
use crate::tree::Tree;
use cachet_core::ir::{Elem, Lit, MAX_DIM, Op, Prim, Ty};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{BinaryOp, Expr, ExprKind, Type, UnaryOp};

impl World<'_> {
    pub(super) fn unary(
        &mut self,
        body: &mut Body,
        op: UnaryOp,
        operand: &Expr,
        want: Option<&Ty>,
    ) -> Done<(Tree, Ty)> {
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

    pub(super) fn binary(
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

    pub(super) fn cast(&mut self, body: &mut Body, value: &Expr, ty: &Type) -> Done<(Tree, Ty)> {
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
}

fn is_signed(e: Elem) -> bool {
    matches!(e, Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8)
}
