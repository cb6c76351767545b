//! Indices, guards and domains: mathematical integers, linear, never data.

use super::{Body, Done, Meaning, STATIC, World};
use crate::scope;
use cachet_core::ir::{BlockPart, Domain, Guard, Ix, MAX_DIM, Rel, Var, VarKind};
use cachet_source::{Diagnostic, codes};
use cachet_syntax::ast::{self, BinaryOp, DomainKind, Expr, ExprKind, Ident, Index, UnaryOp};

impl World<'_> {
    /// An index.
    pub(crate) fn ix(&mut self, body: &Body, e: &Expr) -> Done<Ix> {
        match &e.kind {
            ExprKind::Int(n) => match i64::try_from(*n) {
                Ok(n) if n.unsigned_abs() <= MAX_DIM as u64 => Ok(Ix::Lit(n)),
                _ => Err(self.too_large(e)),
            },
            ExprKind::Name(name) => self.ix_name(body, name),
            _ if super::of_platform(e) => self.platform_number(body.unit, e).map(Ix::Lit),
            ExprKind::Unary { op: UnaryOp::Neg, operand } => {
                let x = self.ix(body, operand)?;
                Ok(match x {
                    Ix::Lit(n) => Ix::Lit(-n),
                    x => Ix::Mul(-1, Box::new(x)),
                })
            }
            ExprKind::Binary { op, lhs, rhs, .. } => self.ix_binary(body, *op, lhs, rhs, e),
            ExprKind::Field { base, field } => self.ix_part(body, base, field, e),
            ExprKind::Index { base, indices } => self.ix_in_block(body, base, indices, e),
            ExprKind::Apply { head, targs, args } if targs.is_empty() => self.ix_apply(body, head, args, e),
            ExprKind::If { cond, then, els } => {
                let g = self.guard(body, cond)?;
                let (then, els) = (self.ix(body, then)?, self.ix(body, els)?);
                Ok(match settled(&g) {
                    Some(true) => then,
                    Some(false) => els,
                    None => Ix::If(Box::new(g), Box::new(then), Box::new(els)),
                })
            }
            _ => Err(self.not_an_index(e)),
        }
    }

    fn too_large(&mut self, e: &Expr) -> super::Reported {
        self.report(Diagnostic::error(codes::LIMIT, e.span, "an index is at most 2^40"))
    }

    fn not_an_index(&mut self, e: &Expr) -> super::Reported {
        let d = match &e.kind {
            ExprKind::Float(_) => Diagnostic::error(codes::WORD_AS_INDEX, e.span, "an index is a whole number"),
            ExprKind::Load { .. } => Diagnostic::error(
                codes::WORD_AS_INDEX,
                e.span,
                "what is loaded cannot be an index, a bound or a condition",
            )
            .note(STATIC),
            ExprKind::Index { .. } => Diagnostic::error(
                codes::WORD_AS_INDEX,
                e.span,
                "an element of an array is data, and cannot be an index, a bound or a condition",
            )
            .note(STATIC),
            _ => Diagnostic::error(
                codes::WORD_AS_INDEX,
                e.span,
                "this is not an index: sizes, loop variables and their arithmetic are",
            ),
        };
        self.report(d)
    }

    fn ix_name(&mut self, body: &Body, name: &Ident) -> Done<Ix> {
        match body.find(&name.name) {
            Some(Meaning::Var(v)) => return Ok(Ix::Var(*v)),
            Some(Meaning::Ix(ix)) => {
                let ix = ix.clone();
                return self.index_used(ix, name.span);
            }
            Some(Meaning::Block(_)) => {
                let d = Diagnostic::error(
                    codes::WORD_AS_INDEX,
                    name.span,
                    format!("`{0}` is a block: name a part of it, `{0}.lo`, or an element, `{0}[k]`", name.name),
                );
                return Err(self.report(d));
            }
            Some(
                Meaning::Local(_)
                | Meaning::Buffer(_)
                | Meaning::Window(..)
                | Meaning::Value(_)
                | Meaning::TypeParam(_),
            ) => {
                let d = Diagnostic::error(
                    codes::WORD_AS_INDEX,
                    name.span,
                    format!("`{}` is data and cannot be an index", name.name),
                )
                .note(STATIC);
                return Err(self.report(d));
            }
            None => {}
        }
        if let Some(r) = self.scope.find(body.unit, &name.name) {
            if let Some(n) = self.constant(r, &name.name) {
                if n > MAX_DIM {
                    let message = format!("`{}` is {n}, and an index is at most 2^40", name.name);
                    return Err(self.report(Diagnostic::error(codes::LIMIT, name.span, message)));
                }
                return Ok(Ix::Lit(n));
            }
            if self.refused.contains(&r) {
                return Err(super::Reported);
            }
        }
        Err(self.unknown_value(body, name, crate::statements::INDEX))
    }

    fn ix_binary(&mut self, body: &Body, op: BinaryOp, lhs: &Expr, rhs: &Expr, e: &Expr) -> Done<Ix> {
        let (a, b) = (self.ix(body, lhs)?, self.ix(body, rhs)?);
        if let (Ix::Lit(x), Ix::Lit(y)) = (&a, &b) {
            let folded = match op {
                BinaryOp::Add => x.checked_add(*y),
                BinaryOp::Sub => x.checked_sub(*y),
                BinaryOp::Mul => x.checked_mul(*y),
                BinaryOp::Div if *y > 0 => Some(x.div_euclid(*y)),
                BinaryOp::Rem if *y > 0 => Some(x.rem_euclid(*y)),
                _ => None,
            };
            let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem) && *y <= 0;
            match folded {
                Some(n) if n.unsigned_abs() <= MAX_DIM as u64 => return Ok(Ix::Lit(n)),
                _ if divides => {}
                _ => return Err(self.too_large(e)),
            }
        }
        match (op, a, b) {
            (BinaryOp::Add, a, b) => Ok(Ix::Add(Box::new(a), Box::new(b))),
            (BinaryOp::Sub, a, b) => Ok(Ix::Sub(Box::new(a), Box::new(b))),
            (BinaryOp::Mul, Ix::Lit(n), x) | (BinaryOp::Mul, x, Ix::Lit(n)) => Ok(Ix::Mul(n, Box::new(x))),
            (BinaryOp::Mul, ..) => {
                let d = Diagnostic::error(
                    codes::WORD_AS_INDEX,
                    e.span,
                    "an index is linear: one factor of a product has to be a number",
                )
                .note("a product of two sizes or loop variables cannot be proved about for every size");
                Err(self.report(d))
            }
            (BinaryOp::Div, x, Ix::Lit(n)) if n > 0 => Ok(Ix::Div(Box::new(x), n)),
            (BinaryOp::Rem, x, Ix::Lit(n)) if n > 0 => Ok(Ix::Mod(Box::new(x), n)),
            (BinaryOp::Div | BinaryOp::Rem, ..) => Err(self.report(Diagnostic::error(
                codes::WORD_AS_INDEX,
                rhs.span,
                "an index is divided by a number above 0 only",
            ))),
            _ => Err(self.not_an_index(e)),
        }
    }

    fn ix_part(&mut self, body: &Body, base: &Expr, field: &Ident, e: &Expr) -> Done<Ix> {
        let Some(name) = base.as_ident() else { return Err(self.not_an_index(e)) };
        let Some(Meaning::Block(v)) = body.find(&name.name) else { return Err(self.not_an_index(e)) };
        let part = match field.name.as_str() {
            "lo" => BlockPart::Lo,
            "hi" => BlockPart::Hi,
            "len" => BlockPart::Len,
            "idx" => BlockPart::Idx,
            _ => {
                let d = scope::unknown(field, "part of a block", ["lo", "hi", "len", "idx"].into_iter());
                return Err(self.report(d));
            }
        };
        Ok(Ix::Block(*v, part))
    }

    fn ix_in_block(&mut self, body: &Body, base: &Expr, indices: &[Index], e: &Expr) -> Done<Ix> {
        let block = base.as_ident().and_then(|n| match body.find(&n.name) {
            Some(Meaning::Block(v)) => Some(*v),
            _ => None,
        });
        match (block, indices) {
            (Some(v), [Index::At(i)]) => Ok(Ix::InBlock(v, Box::new(self.ix(body, i)?))),
            _ => Err(self.not_an_index(e)),
        }
    }

    fn ix_apply(&mut self, body: &Body, head: &Expr, args: &[Expr], e: &Expr) -> Done<Ix> {
        if let Some(name) = head.as_ident()
            && body.find(&name.name).is_none()
            && let Some(r) = self.index_function_named(body.unit, &name.name)
        {
            return self.ix_written_out(body, r, args, e, name);
        }
        match (head.as_ident().map(|n| n.name.as_str()), args) {
            (Some("min"), [a, b]) => Ok(match (self.ix(body, a)?, self.ix(body, b)?) {
                (Ix::Lit(a), Ix::Lit(b)) => Ix::Lit(a.min(b)),
                (a, b) => Ix::Min(Box::new(a), Box::new(b)),
            }),
            (Some("max"), [a, b]) => Ok(match (self.ix(body, a)?, self.ix(body, b)?) {
                (Ix::Lit(a), Ix::Lit(b)) => Ix::Lit(a.max(b)),
                (a, b) => Ix::Max(Box::new(a), Box::new(b)),
            }),
            (Some("floor"), [a]) => self.ix(body, a),
            (Some("ceil"), [Expr { kind: ExprKind::Binary { op: BinaryOp::Div, lhs, rhs, .. }, .. }]) => {
                let (x, n) = (self.ix(body, lhs)?, self.ix(body, rhs)?);
                match (x, n) {
                    (Ix::Lit(x), Ix::Lit(n)) if n > 0 => Ok(Ix::Lit((x + n - 1).div_euclid(n))),
                    (x, Ix::Lit(n)) if n > 0 => {
                        Ok(Ix::Div(Box::new(Ix::Add(Box::new(x), Box::new(Ix::Lit(n - 1)))), n))
                    }
                    _ => Err(self.not_an_index(e)),
                }
            }
            _ => Err(self.not_an_index(e)),
        }
    }

    /// A condition on indices.
    pub(crate) fn guard(&mut self, body: &Body, e: &Expr) -> Done<Guard> {
        match &e.kind {
            ExprKind::Bool(b) => Ok(Guard::Const(*b)),
            ExprKind::Unary { op: UnaryOp::Not, operand } => Ok(Guard::Not(Box::new(self.guard(body, operand)?))),
            ExprKind::Binary { op, lhs, rhs, .. } => {
                let two = |world: &mut Self| -> Done<(Ix, Ix)> { Ok((world.ix(body, lhs)?, world.ix(body, rhs)?)) };
                let cmp = |rel: Rel, (a, b): (Ix, Ix)| Guard::Cmp(rel, a, b);
                match op {
                    BinaryOp::And => Ok(Guard::And(Box::new(self.guard(body, lhs)?), Box::new(self.guard(body, rhs)?))),
                    BinaryOp::Or => Ok(Guard::Or(Box::new(self.guard(body, lhs)?), Box::new(self.guard(body, rhs)?))),
                    BinaryOp::Eq => two(self).map(|p| cmp(Rel::Eq, p)),
                    BinaryOp::Ne => two(self).map(|p| cmp(Rel::Ne, p)),
                    BinaryOp::Lt => two(self).map(|p| cmp(Rel::Lt, p)),
                    BinaryOp::Le => two(self).map(|p| cmp(Rel::Le, p)),
                    BinaryOp::Gt => two(self).map(|(a, b)| cmp(Rel::Lt, (b, a))),
                    BinaryOp::Ge => two(self).map(|(a, b)| cmp(Rel::Le, (b, a))),
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
                        Err(self.not_a_guard(e))
                    }
                }
            }
            _ => Err(self.not_a_guard(e)),
        }
    }

    fn not_a_guard(&mut self, e: &Expr) -> super::Reported {
        self.report(Diagnostic::error(
            codes::TYPE_MISMATCH,
            e.span,
            "a condition on indices is wanted here, as `i < n`",
        ))
    }

    /// A domain.
    pub(crate) fn domain(&mut self, body: &Body, d: &ast::Domain) -> Done<Domain> {
        match &d.kind {
            DomainKind::Range { lo, hi } => Ok(Domain::Range { lo: self.ix(body, lo)?, hi: self.ix(body, hi)? }),
            DomainKind::Blocks { lo, hi, size } => {
                let (lo, hi) = (self.ix(body, lo)?, self.ix(body, hi)?);
                match self.ix(body, size)? {
                    Ix::Lit(size) if size > 0 => Ok(Domain::Blocks { lo, hi, size }),
                    _ => Err(self.report(Diagnostic::error(
                        codes::SIZE,
                        size.span,
                        "the length of a block is a number above 0",
                    ))),
                }
            }
            DomainKind::Hole(h) | DomainKind::RankHole(h) => {
                Err(self.report(Diagnostic::error(codes::SYNTAX, h.span, "holes stand in step functions only")))
            }
        }
    }

    /// Refuses a name that means something already: steps look at names, so one name is one thing at a time.
    pub(crate) fn fresh(&mut self, body: &Body, name: &Ident) -> Done<()> {
        if body.find(&name.name).is_none() {
            return Ok(());
        }
        let d = Diagnostic::error(
            codes::DUPLICATE_NAME,
            name.span,
            format!("`{}` means something here already", name.name),
        );
        Err(self
            .report(d.help("choose another name: nothing is shadowed, for steps find loops and arrays by their names")))
    }

    /// A new loop variable over a domain.
    pub(crate) fn loop_var(&mut self, body: &mut Body, name: &Ident, domain: &Domain) -> Done<Var> {
        self.fresh(body, name)?;
        Ok(match domain {
            Domain::Range { .. } => {
                let v = body.add_var(&name.name, VarKind::Index);
                body.bind(name, Meaning::Var(v));
                v
            }
            Domain::Blocks { .. } => {
                let v = body.add_var(&name.name, VarKind::Block);
                body.bind(name, Meaning::Block(v));
                v
            }
        })
    }

    /// Whether an expression is about indices rather than words: decided by its names; a bare number is either.
    pub(crate) fn is_index(&self, body: &Body, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Int(_) => true,
            _ if super::of_platform(e) => true,
            ExprKind::Name(n) => match body.find(&n.name) {
                Some(Meaning::Var(_) | Meaning::Block(_) | Meaning::Ix(_)) => true,
                Some(
                    Meaning::Local(_)
                    | Meaning::Buffer(_)
                    | Meaning::Window(..)
                    | Meaning::Value(_)
                    | Meaning::TypeParam(_),
                ) => false,
                None => self.scope.find(body.unit, &n.name).is_some_and(|r| self.constant(r, &n.name).is_some()),
            },
            ExprKind::Unary { op, operand } => *op == UnaryOp::Neg && self.is_index(body, operand),
            ExprKind::Binary { op, lhs, rhs, .. } => match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
                    self.is_index(body, lhs) && self.is_index(body, rhs)
                }
                BinaryOp::Eq
                | BinaryOp::Ne
                | BinaryOp::Lt
                | BinaryOp::Le
                | BinaryOp::Gt
                | BinaryOp::Ge
                | BinaryOp::And
                | BinaryOp::Or => false,
            },
            ExprKind::Field { base, .. } | ExprKind::Index { base, .. } => {
                base.as_ident().is_some_and(|n| matches!(body.find(&n.name), Some(Meaning::Block(_))))
            }
            ExprKind::Apply { head, args, .. } => {
                let known = head.as_ident().is_some_and(|n| {
                    matches!(n.name.as_str(), "min" | "max" | "ceil" | "floor")
                        || self.index_function_named(body.unit, &n.name).is_some()
                });
                known && args.iter().all(|a| self.is_index(body, a))
            }
            ExprKind::If { then, els, .. } => self.is_index(body, then) && self.is_index(body, els),
            _ => false,
        }
    }

    /// Whether an expression is a condition on indices.
    pub(crate) fn is_guard(&self, body: &Body, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Bool(_) => true,
            ExprKind::Unary { op: UnaryOp::Not, operand } => self.is_guard(body, operand),
            ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or, lhs, rhs, .. } => {
                self.is_guard(body, lhs) && self.is_guard(body, rhs)
            }
            ExprKind::Binary {
                op: BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge,
                lhs,
                rhs,
                ..
            } => self.is_index(body, lhs) && self.is_index(body, rhs),
            _ => false,
        }
    }
}

/// What a condition on literals says.
fn settled(g: &Guard) -> Option<bool> {
    match g {
        Guard::Const(b) => Some(*b),
        Guard::Cmp(rel, Ix::Lit(a), Ix::Lit(b)) => Some(match rel {
            Rel::Eq => a == b,
            Rel::Ne => a != b,
            Rel::Lt => a < b,
            Rel::Le => a <= b,
        }),
        Guard::Cmp(..) => None,
        Guard::And(a, b) => Some(settled(a)? && settled(b)?),
        Guard::Or(a, b) => Some(settled(a)? || settled(b)?),
        Guard::Not(a) => settled(a).map(|b| !b),
    }
}
