//! The clauses `working_set` and `movement`.

use crate::elaborate::{Body, Done, World};
use cachet_core::ir::{BlockPart, Buffer, Ix, Role};
use cachet_core::resources::{Cost, Keep, Traffic};
use cachet_source::{Diagnostic, codes};
use cachet_syntax::ast::{self, BinaryOp, Expr, ExprKind, Ident};

impl World<'_> {
    /// `@L1 { keep P = descriptor P }`, a line for each level.
    pub(crate) fn working_set(&mut self, body: &Body, rows: &[ast::LevelRows]) -> Done<Vec<Keep>> {
        let mut out: Vec<Keep> = Vec::new();
        for row in rows {
            let level = self.level(&row.level)?;
            for k in &row.keeps {
                let buffer = self.kept(body, &k.buffer)?;
                if out.iter().any(|o| o.buffer == buffer && o.level == level) {
                    let message = format!("`{}` is kept at {} twice", k.buffer.name, level.name);
                    return Err(self.report(Diagnostic::error(codes::DUPLICATE_NAME, k.span, message)));
                }
                out.push(Keep { level: level.clone(), name: k.name.name.clone(), buffer });
            }
        }
        Ok(out)
    }

    /// A parameter, of which a clause speaks.
    fn kept(&mut self, body: &Body, name: &Ident) -> Done<Buffer> {
        let buffer = self.buffer(body, name)?;
        match body.buffers[buffer.index()].role {
            Role::Reads | Role::Mut => Ok(buffer),
            Role::Alloc | Role::Lease(_) => {
                let message = format!("`{}` is not a parameter", name.name);
                Err(self.report(Diagnostic::error(codes::MODE, name.span, message)))
            }
        }
    }

    /// `traffic … from DRAM to L1 and back`, a line for each row.
    pub(crate) fn movement(&mut self, body: &Body, rows: &[ast::Traffic]) -> Done<Vec<Traffic>> {
        let mut out: Vec<Traffic> = Vec::new();
        for row in rows {
            if let Some(n) = &row.name
                && out.iter().any(|o| o.name.as_ref() == Some(&n.name))
            {
                let message = format!("two rows of traffic are called `{}`", n.name);
                return Err(self.report(Diagnostic::error(codes::DUPLICATE_NAME, n.span, message)));
            }
            let (from, to) = (self.level(&row.from)?, self.level(&row.to)?);
            if from == to {
                let message = format!("nothing moves from {0} to {0}", from.name);
                return Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, row.span, message)));
            }
            let amount = self.cost(body, &row.amount)?;
            let name = row.name.as_ref().map(|n| n.name.clone());
            out.push(Traffic { name, amount, from, to, back: row.and_back });
        }
        Ok(out)
    }

    fn cost(&mut self, body: &Body, e: &Expr) -> Done<Cost> {
        let boxed = |c| Box::new(c);
        match &e.kind {
            ExprKind::Binary { op: BinaryOp::Add, lhs, rhs, .. } => {
                Ok(Cost::Add(boxed(self.cost(body, lhs)?), boxed(self.cost(body, rhs)?)))
            }
            ExprKind::Binary { op: BinaryOp::Mul, lhs, rhs, .. } => {
                Ok(Cost::Mul(boxed(self.cost(body, lhs)?), boxed(self.cost(body, rhs)?)))
            }
            ExprKind::Apply { head, targs, args } if targs.is_empty() => {
                let word = head.as_ident().map(|n| n.name.as_str());
                match (word, args.as_slice()) {
                    (Some("ceil"), [of]) => self.ceil(body, of),
                    (Some("lines"), [of]) => Ok(Cost::Lines(boxed(self.cost(body, of)?))),
                    (Some("span_bytes"), [of]) => match &of.kind {
                        ExprKind::Field { base, field } if field.name == "span" && base.as_ident().is_some() => {
                            let name = base.as_ident().cloned();
                            let Some(name) = name else { return Err(self.no_cost(e)) };
                            Ok(Cost::SpanBytes(self.kept(body, &name)?))
                        }
                        _ => Err(self.no_cost(e)),
                    },
                    _ => self.plain(body, e),
                }
            }
            _ => self.plain(body, e),
        }
    }

    /// `ceil (e / n)`
    fn ceil(&mut self, body: &Body, of: &Expr) -> Done<Cost> {
        match &of.kind {
            ExprKind::Binary { op: BinaryOp::Div, lhs, rhs, .. } => {
                let Ix::Lit(n @ 1..) = self.ix(body, rhs)? else { return Err(self.no_cost(rhs)) };
                let e = self.ix(body, lhs)?;
                if has_loops(&e) { Err(self.no_cost(lhs)) } else { Ok(Cost::Ceil(e, n)) }
            }
            _ => self.cost(body, of),
        }
    }

    fn plain(&mut self, body: &Body, e: &Expr) -> Done<Cost> {
        let ix = self.ix(body, e)?;
        if has_loops(&ix) { Err(self.no_cost(e)) } else { Ok(Cost::Ix(ix)) }
    }

    fn no_cost(&mut self, e: &Expr) -> crate::elaborate::Reported {
        let message = "an amount is made of sizes, `ceil (e / n)`, `lines (…)`, `span_bytes P.span`, `+` and `*`";
        self.report(Diagnostic::error(codes::TYPE_MISMATCH, e.span, message))
    }
}

/// Whether a part of a block is in an index; heads have no loops.
fn has_loops(ix: &Ix) -> bool {
    match ix {
        Ix::Lit(_) | Ix::Var(_) => false,
        Ix::Add(a, b) | Ix::Sub(a, b) | Ix::Min(a, b) | Ix::Max(a, b) => has_loops(a) || has_loops(b),
        Ix::Mul(_, a) | Ix::Div(a, _) | Ix::Mod(a, _) => has_loops(a),
        Ix::If(_, a, b) => has_loops(a) || has_loops(b),
        Ix::Block(_, BlockPart::Lo | BlockPart::Hi | BlockPart::Len | BlockPart::Idx) | Ix::InBlock(..) => true,
    }
}
