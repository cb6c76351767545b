//! Statements, words and indices of `from` and `to`.

use crate::elaborate::{Done, Reported};
use cachet_core::ir::{At, BlockPart, Prim, Rel};
use cachet_core::pattern::{Pat, PatCell, PatDomain, PatGuard, PatIx, PatSubst, PatTy, PatWord};
use cachet_source::{Diagnostic, codes};
use cachet_syntax::ast::{
    BinaryOp, Block, Domain, DomainKind, Expr, ExprKind, Index, Place, Stmt, StmtKind, Type, TypeKind, UnaryOp,
};
use std::collections::BTreeSet;

/// Reads patterns and reports what has no place in one.
pub(super) struct Reader<'a> {
    out: &'a mut Vec<Diagnostic>,
    /// Holes that stand for the name of a local: running totals, `let`s and `var`s. Such a hole in a word is that local.
    locals: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    pub fn new(out: &'a mut Vec<Diagnostic>) -> Reader<'a> {
        Reader { out, locals: BTreeSet::new() }
    }

    fn refuse<T>(&mut self, d: Diagnostic) -> Done<T> {
        self.out.push(d);
        Err(Reported)
    }

    fn not_here<T>(&mut self, span: cachet_source::Span, what: &str) -> Done<T> {
        self.refuse(Diagnostic::not_built(span, format!("{what} in a step's pattern")))
    }

    pub fn block(&mut self, b: &Block) -> Done<Vec<Pat>> {
        b.stmts.iter().map(|s| self.stmt(s)).collect()
    }

    fn stmt(&mut self, s: &Stmt) -> Done<Pat> {
        let span = At(s.span);
        match &s.kind {
            StmtKind::Hole { hole, groups } => {
                let mut substs = Vec::new();
                for g in groups {
                    self.substs(g, &mut substs)?;
                    if let Some(other) = g.iter().find(|i| matches!(i, Index::At(_) | Index::Window { .. })) {
                        return self.refuse(Diagnostic::error(
                            codes::SYNTAX,
                            other.span(),
                            "statements take replacements only: `$body[i := e]`",
                        ));
                    }
                }
                Ok(Pat::Hole(hole.name.clone(), substs))
            }
            StmtKind::For { var, domain, body } if var.rank => match &domain.kind {
                DomainKind::RankHole(h) => Ok(Pat::ForAll {
                    vars: var.name.name.clone(),
                    domains: h.name.clone(),
                    body: self.block(body)?,
                    span,
                }),
                _ => self.refuse(Diagnostic::error(
                    codes::SYNTAX,
                    domain.span,
                    "any number of loops has any number of ranges: `in $A..`",
                )),
            },
            StmtKind::For { var, domain, body } => {
                let domain = self.domain(domain)?;
                Ok(Pat::For { var: var.name.name.clone(), domain, body: self.block(body)?, span })
            }
            StmtKind::Grid { device: None, indices, tile: None, writes, body }
                if indices.len() == 1 && writes.is_empty() =>
            {
                let domain = self.domain(&indices[0].domain)?;
                Ok(Pat::Grid { var: indices[0].var.name.name.clone(), domain, body: self.block(body)?, span })
            }
            StmtKind::Grid { .. } => self.not_here(s.span, "grids with windows or devices"),
            StmtKind::If { cond, then, els } => {
                let guard = self.guard(cond)?;
                let then = self.block(then)?;
                let els = els.as_ref().map_or(Ok(vec![]), |b| self.block(b))?;
                Ok(Pat::If { guard, then, els, span })
            }
            StmtKind::Let { name, value, .. } => {
                let word = self.word(value)?;
                self.locals.insert(name.name.clone());
                Ok(Pat::Let { local: name.name.clone(), word, span })
            }
            StmtKind::Var { name, ty, value } => {
                let ty = ty.as_ref().map(|t| self.ty(t)).transpose()?;
                let init = self.word(value)?;
                self.locals.insert(name.name.clone());
                Ok(Pat::Var { local: name.name.clone(), ty, init, span })
            }
            StmtKind::Assign { place, value } => match (place.path.as_ident(), place.indices()) {
                (Some(name), Some([])) => Ok(Pat::Assign { local: name.name.clone(), word: self.word(value)?, span }),
                _ => self.not_here(s.span, "cells of local arrays"),
            },
            StmtKind::Store { place, value, mask: None } => {
                let to = self.cell(place)?;
                Ok(Pat::Store { to, word: self.word(value)?, span })
            }
            StmtKind::Store { .. } => self.not_here(s.span, "masks"),
            StmtKind::Lease { .. } => self.not_here(s.span, "leases"),
            StmtKind::Alloc { .. } => self.not_here(s.span, "allocations"),
            StmtKind::Expr(_) => self.refuse(Diagnostic::error(
                codes::SYNTAX,
                s.span,
                "a step's pattern has statements, not values or calls",
            )),
        }
    }

    fn domain(&mut self, d: &Domain) -> Done<PatDomain> {
        match &d.kind {
            DomainKind::Hole(h) => Ok(PatDomain::Hole(h.name.clone())),
            DomainKind::RankHole(h) => self.refuse(Diagnostic::error(
                codes::SYNTAX,
                h.span,
                "several ranges need several loops: `for i.. in $A..`",
            )),
            DomainKind::Range { lo, hi } => Ok(PatDomain::Range(self.ix(lo)?, self.ix(hi)?)),
            DomainKind::Blocks { lo, hi, size } => Ok(PatDomain::Blocks(self.ix(lo)?, self.ix(hi)?, self.ix(size)?)),
        }
    }

    pub(super) fn ix(&mut self, e: &Expr) -> Done<PatIx> {
        match &e.kind {
            ExprKind::Hole(h) => Ok(PatIx::Hole(h.name.clone())),
            ExprKind::Name(n) => Ok(PatIx::Name(n.name.clone())),
            ExprKind::Int(n) => match i64::try_from(*n) {
                Ok(n) => Ok(PatIx::Lit(n)),
                Err(_) => self.refuse(Diagnostic::error(codes::LIMIT, e.span, "an index literal has to be below 2^63")),
            },
            ExprKind::Unary { op: UnaryOp::Neg, operand } => {
                let x = self.ix(operand)?;
                Ok(PatIx::Sub(Box::new(PatIx::Lit(0)), Box::new(x)))
            }
            ExprKind::Binary { op, lhs, rhs, .. } => {
                let (a, b) = (Box::new(self.ix(lhs)?), Box::new(self.ix(rhs)?));
                match op {
                    BinaryOp::Add => Ok(PatIx::Add(a, b)),
                    BinaryOp::Sub => Ok(PatIx::Sub(a, b)),
                    BinaryOp::Mul => Ok(PatIx::Mul(a, b)),
                    BinaryOp::Div => Ok(PatIx::Div(a, b)),
                    BinaryOp::Rem => Ok(PatIx::Mod(a, b)),
                    _ => self.refuse(Diagnostic::error(codes::TYPE_MISMATCH, e.span, "an index is wanted here")),
                }
            }
            ExprKind::Field { base, field } => {
                let part = match field.name.as_str() {
                    "lo" => BlockPart::Lo,
                    "hi" => BlockPart::Hi,
                    "len" => BlockPart::Len,
                    "idx" => BlockPart::Idx,
                    _ => {
                        return self.refuse(crate::scope::unknown(
                            field,
                            "part of a block",
                            ["lo", "hi", "len", "idx"].into_iter(),
                        ));
                    }
                };
                match base.as_ident() {
                    Some(name) => Ok(PatIx::Part(name.name.clone(), part)),
                    None => self.refuse(Diagnostic::error(codes::TYPE_MISMATCH, e.span, "an index is wanted here")),
                }
            }
            ExprKind::Index { base, indices } => match (base.as_ident(), indices.as_slice()) {
                (Some(name), [Index::At(i)]) => Ok(PatIx::InBlock(name.name.clone(), Box::new(self.ix(i)?))),
                _ => self.not_here(e.span, "replacing indices in indices"),
            },
            ExprKind::Apply { head, args, .. } => match (head.as_ident().map(|n| n.name.as_str()), args.as_slice()) {
                (Some("min"), [a, b]) => Ok(PatIx::Min(Box::new(self.ix(a)?), Box::new(self.ix(b)?))),
                (Some("max"), [a, b]) => Ok(PatIx::Max(Box::new(self.ix(a)?), Box::new(self.ix(b)?))),
                _ => self.refuse(Diagnostic::error(codes::TYPE_MISMATCH, e.span, "an index is wanted here")),
            },
            _ => self.refuse(Diagnostic::error(codes::TYPE_MISMATCH, e.span, "an index is wanted here")),
        }
    }

    pub(super) fn guard(&mut self, e: &Expr) -> Done<PatGuard> {
        match &e.kind {
            ExprKind::Unary { op: UnaryOp::Not, operand } => Ok(PatGuard::Not(Box::new(self.guard(operand)?))),
            ExprKind::Binary { op: BinaryOp::And, lhs, rhs, .. } => {
                Ok(PatGuard::And(Box::new(self.guard(lhs)?), Box::new(self.guard(rhs)?)))
            }
            ExprKind::Binary { op: BinaryOp::Or, lhs, rhs, .. } => {
                Ok(PatGuard::Or(Box::new(self.guard(lhs)?), Box::new(self.guard(rhs)?)))
            }
            ExprKind::Binary { op, lhs, rhs, .. } => {
                let (a, b) = (self.ix(lhs)?, self.ix(rhs)?);
                match op {
                    BinaryOp::Eq => Ok(PatGuard::Cmp(Rel::Eq, a, b)),
                    BinaryOp::Ne => Ok(PatGuard::Cmp(Rel::Ne, a, b)),
                    BinaryOp::Lt => Ok(PatGuard::Cmp(Rel::Lt, a, b)),
                    BinaryOp::Le => Ok(PatGuard::Cmp(Rel::Le, a, b)),
                    BinaryOp::Gt => Ok(PatGuard::Cmp(Rel::Lt, b, a)),
                    BinaryOp::Ge => Ok(PatGuard::Cmp(Rel::Le, b, a)),
                    _ => self.refuse(Diagnostic::error(
                        codes::TYPE_MISMATCH,
                        e.span,
                        "a condition on indices is wanted here",
                    )),
                }
            }
            _ => self.refuse(Diagnostic::error(codes::TYPE_MISMATCH, e.span, "a condition on indices is wanted here")),
        }
    }

    fn substs(&mut self, group: &[Index], out: &mut Vec<PatSubst>) -> Done<bool> {
        let mut any = false;
        for i in group {
            match i {
                Index::Subst { name, value, .. } => {
                    out.push(PatSubst::One(name.name.clone(), self.ix(value)?));
                    any = true;
                }
                Index::RankSubst { name, value, .. } => {
                    out.push(PatSubst::All(name.name.clone(), value.name.clone()));
                    any = true;
                }
                Index::At(_) | Index::Window { .. } => {}
            }
        }
        Ok(any)
    }

    fn cell(&mut self, p: &Place) -> Done<PatCell> {
        let Some(name) = p.path.as_ident() else {
            return self.refuse(Diagnostic::error(
                codes::SYNTAX,
                p.span,
                "a cell is wanted here: `$cell` or `c[i, j]`",
            ));
        };
        if name.is_hole() {
            let mut substs = Vec::new();
            for g in &p.groups {
                self.substs(g, &mut substs)?;
                if let Some(Index::At(e)) = g.iter().find(|i| matches!(i, Index::At(_))) {
                    return self.refuse(Diagnostic::error(
                        codes::SYNTAX,
                        e.span,
                        "a cell's hole takes replacements only: `$cell[i := zi]`",
                    ));
                }
            }
            return Ok(PatCell::Hole(name.name.clone(), substs));
        }
        let at = p.groups.iter().flatten().map(|i| match i {
            Index::At(e) => self.ix(e),
            other => self.not_here(other.span(), "slices"),
        });
        Ok(PatCell::Named(name.name.clone(), at.collect::<Done<Vec<_>>>()?))
    }

    fn ty(&mut self, t: &Type) -> Done<PatTy> {
        match &t.kind {
            TypeKind::Hole(h) => Ok(PatTy::Hole(h.name.clone())),
            TypeKind::Named { path, args } if args.is_empty() => {
                match crate::elaborate::ELEMS.iter().find(|e| e.0 == path.text()) {
                    Some((_, e)) => Ok(PatTy::Elem(*e)),
                    None => self.not_here(t.span, "types other than an element's"),
                }
            }
            TypeKind::Named { .. } | TypeKind::Array { .. } => self.not_here(t.span, "types other than an element's"),
        }
    }

    fn word(&mut self, e: &Expr) -> Done<PatWord> {
        match &e.kind {
            ExprKind::Hole(h) if self.locals.contains(&h.name) => Ok(PatWord::Local(h.name.clone())),
            ExprKind::Hole(h) => Ok(PatWord::Hole { name: h.name.clone(), inside: None, substs: vec![] }),
            ExprKind::Name(n) => Ok(PatWord::Local(n.name.clone())),
            ExprKind::Float(text) => Ok(PatWord::Float(text.clone())),
            ExprKind::Load { place, mask: None } => Ok(PatWord::Load(self.cell(place)?)),
            ExprKind::Load { .. } => self.not_here(e.span, "masks"),
            ExprKind::Index { base, indices } => self.hole_with(base, indices, e),
            ExprKind::Unary { op: UnaryOp::Neg, operand } => Ok(PatWord::Prim(Prim::Neg, vec![self.word(operand)?])),
            ExprKind::Binary { op, lhs, rhs, .. } => {
                let prim = match op {
                    BinaryOp::Add => Prim::Add,
                    BinaryOp::Sub => Prim::Sub,
                    BinaryOp::Mul => Prim::Mul,
                    BinaryOp::Div => Prim::Div,
                    BinaryOp::Lt => Prim::Lt,
                    BinaryOp::Le => Prim::Le,
                    BinaryOp::Eq => Prim::Eq,
                    _ => return self.not_here(e.span, &format!("`{}` on words", op.text())),
                };
                Ok(PatWord::Prim(prim, vec![self.word(lhs)?, self.word(rhs)?]))
            }
            ExprKind::Apply { head, args, .. } => {
                let prim = match head.as_ident().map(|n| n.name.as_str()) {
                    Some("fma") => Prim::Fma,
                    Some("max") => Prim::Max,
                    Some("min") => Prim::Min,
                    Some("abs") => Prim::Abs,
                    Some("sqrt") => Prim::Sqrt,
                    Some("select") => Prim::Select,
                    _ => return self.not_here(e.span, "calls of functions"),
                };
                Ok(PatWord::Prim(prim, args.iter().map(|a| self.word(a)).collect::<Done<Vec<_>>>()?))
            }
            ExprKind::If { cond, then, els } => {
                let guard = self.guard(cond)?;
                Ok(PatWord::If(Box::new(guard), Box::new(self.word(then)?), Box::new(self.word(els)?)))
            }
            ExprKind::Fold { var, domain, from, acc, acc_ty, body } => {
                let domain = self.domain(domain)?;
                let ty = acc_ty.as_ref().map(|t| self.ty(t)).transpose()?;
                let init = Box::new(self.word(from)?);
                self.locals.insert(acc.name.clone());
                let body = Box::new(self.word(body)?);
                Ok(PatWord::Fold { var: var.name.clone(), domain, acc: acc.name.clone(), ty, init, body })
            }
            _ => self.not_here(e.span, "this kind of value"),
        }
    }

    /// `$step[$acc]`, `$step[k := e]`, `$step[$acc][k := e]`.
    fn hole_with(&mut self, base: &Expr, indices: &[Index], e: &Expr) -> Done<PatWord> {
        let PatWord::Hole { name, mut inside, mut substs } = self.word(base)? else {
            return self.refuse(Diagnostic::error(
                codes::SYNTAX,
                e.span,
                "only a hole takes `[..]` in a word: an element is read by `load`",
            ));
        };
        let replaced = self.substs(indices, &mut substs)?;
        match indices {
            [Index::At(w)] if inside.is_none() && substs.is_empty() => inside = Some(Box::new(self.word(w)?)),
            _ if replaced && !indices.iter().any(|i| matches!(i, Index::At(_) | Index::Window { .. })) => {}
            _ => {
                return self.refuse(Diagnostic::error(
                    codes::SYNTAX,
                    e.span,
                    "first what goes inside a hole, then replacements: `$step[$acc][k := e]`",
                ));
            }
        }
        Ok(PatWord::Hole { name, inside, substs })
    }
}
