//! Folds and reductions: what binds indices inside an expression.

use super::expr::ADDITION;
use super::{P, Parser};
use crate::ast::{Binder, Domain, DomainKind, Expr, ExprKind, Path, Shape, ShapeKind, Type, TypeArg, TypeKind};
use crate::kind::SyntaxKind::{self, Colon, Comma, Dot, DotDot, End, Hole, LBracket, LParen, Name};
use cachet_source::{Span, codes};

impl Parser<'_> {
    pub(super) fn fold(&mut self) -> P<Expr> {
        let lo = self.here();
        self.node(SyntaxKind::FoldExpr, |p| {
            p.bump();
            let var = p.name("the name of the loop variable")?;
            p.expect_word("in")?;
            let domain = Box::new(p.domain()?);
            let mut height = p.height;
            p.expect_word("from")?;
            let from = Box::new(p.unary()?);
            height = height.max(p.height);
            p.expect_word("as")?;
            let acc = p.name("the accumulator's name")?;
            let acc_ty = if p.eat(Colon) { Some(p.type_()?) } else { None };
            p.expect_word("do")?;
            let body = Box::new(p.value_block("the accumulator's next value")?);
            p.grow(height.max(p.height))?;
            Ok(Expr::new(ExprKind::Fold { var, domain, from, acc, acc_ty, body }, p.span_from(lo)))
        })
    }

    pub(super) fn sum(&mut self) -> P<Expr> {
        let lo = self.here();
        self.node(SyntaxKind::SumExpr, |p| {
            p.bump();
            let reassoc = p.flag()?;
            let (binders, body) = p.binders()?;
            Ok(Expr::new(ExprKind::Sum { reassoc, binders, body }, p.span_from(lo)))
        })
    }

    pub(super) fn reduce(&mut self) -> P<Expr> {
        let lo = self.here();
        self.node(SyntaxKind::ReduceExpr, |p| {
            p.bump();
            let reassoc = p.flag()?;
            let monoid = p.monoid()?;
            if reassoc.is_none() && p.eat_word("over") {
                let axis = p.name("an axis, `rows` or `cols`")?;
                p.expect_word("by")?;
                let shape = p.shape()?;
                p.expect_word("do")?;
                let body = Box::new(p.value_block("the reduced tile")?);
                p.grow(p.height)?;
                return Ok(Expr::new(ExprKind::TileReduce { monoid, axis, shape, body }, p.span_from(lo)));
            }
            let (binders, body) = p.binders()?;
            Ok(Expr::new(ExprKind::Reduce { reassoc, monoid, binders, body }, p.span_from(lo)))
        })
    }

    /// `[reassoc]`, touching the word before it.
    fn flag(&mut self) -> P<Option<Span>> {
        if !self.at(LBracket) {
            return Ok(None);
        }
        if !self.touches() {
            let report = self.error(codes::SYNTAX, "a blank before the flag");
            return Err(self.report(report.help("write `sum[reassoc]`, `reduce[reassoc]`")));
        }
        let lo = self.here();
        self.bracketed(
            LBracket,
            "`[`",
            |p| if p.eat_word("reassoc") { Ok(()) } else { Err(p.unexpected("`reassoc`")) },
        )?;
        Ok(Some(self.span_from(lo)))
    }

    /// The monoid of a `reduce`: a path and its arguments; the last name before the dot is the index.
    fn monoid(&mut self) -> P<Type> {
        let lo = self.here();
        self.start(SyntaxKind::Type);
        let path = self.path("a monoid")?;
        let mut args = Vec::new();
        while self.at_type_arg() && !self.at_binder() {
            let arg_lo = self.here();
            if self.at(Name) && !self.at_dotted_arg() {
                let name = self.take();
                let path = Path { span: name.span, parts: vec![name] };
                let kind = TypeKind::Named { path, args: Vec::new() };
                args.push(TypeArg::Type(Type { kind, span: self.span_from(arg_lo) }));
            } else {
                args.push(self.type_arg()?);
            }
        }
        self.finish();
        Ok(Type { kind: TypeKind::Named { path, args }, span: self.span_from(lo) })
    }

    /// A name that `.`, `,`, `in` or `where` follows.
    fn at_binder(&self) -> bool {
        matches!(self.peek(), Name | Hole) && self.binder_end(1) && !self.at_dotted_arg()
    }

    fn binder_end(&self, n: usize) -> bool {
        matches!(self.nth(n), Dot | Comma) || matches!(self.nth_text(n), "in" | "where")
    }

    /// `S.Value` as an argument of a monoid: more of the monoid, or a binder, must follow it.
    fn at_dotted_arg(&self) -> bool {
        let dotted =
            self.at(Name) && self.nth(1) == Dot && self.nth_touches(1) && self.nth(2) == Name && self.nth_touches(2);
        dotted && ((self.nth(3) == Name && self.binder_end(4)) || self.nth_text(3) == "over")
    }

    /// `k in 0 .. 3 where c, l. e`: the indices, the dot and the term.
    fn binders(&mut self) -> P<(Vec<Binder>, Box<Expr>)> {
        let binders = self.with_mode(|m| m.no_dot = true, |p| p.list(Parser::binder))?;
        let height = self.height;
        self.expect(Dot, "`.`")?;
        let body = Box::new(self.expr()?);
        self.grow(height.max(self.height))?;
        Ok((binders, body))
    }

    fn binder(&mut self) -> P<Binder> {
        let lo = self.here();
        self.height = 1;
        self.node(SyntaxKind::Binder, |p| {
            let name = p.name("an index's name")?;
            let mut height = 1;
            let range = if p.eat_word("in") {
                let from = p.size()?;
                height = height.max(p.height);
                p.expect(DotDot, "`..`")?;
                let to = p.size()?;
                height = height.max(p.height);
                Some((from, to))
            } else {
                None
            };
            let guard = if p.eat_word("where") { Some(p.expr()?) } else { None };
            p.height = height.max(p.height);
            Ok(Binder { name, range, guard, span: p.span_from(lo) })
        })
    }

    /// `order`, `halving`, `lanes n`, `chunks n`, `partials n`.
    pub(crate) fn shape(&mut self) -> P<Shape> {
        let lo = self.here();
        self.node(SyntaxKind::Shape, |p| {
            let kind: Option<fn(Box<Expr>) -> ShapeKind> = match p.word() {
                Some("order" | "halving") => None,
                Some("lanes") => Some(ShapeKind::Lanes),
                Some("chunks") => Some(ShapeKind::Chunks),
                Some("partials") => Some(ShapeKind::Partials),
                _ => return Err(p.unexpected("`order`, `halving`, `lanes n`, `chunks n` or `partials n`")),
            };
            let word = p.take();
            let kind = match kind {
                Some(make) => make(Box::new(p.postfix()?)),
                None if word.name == "order" => ShapeKind::Order,
                None => ShapeKind::Halving,
            };
            Ok(Shape { kind, span: p.span_from(lo) })
        })
    }

    /// `lo .. hi`, `blocks (lo .. hi) n`, `$A`, `$A..`.
    pub(crate) fn domain(&mut self) -> P<Domain> {
        let lo = self.here();
        self.node(SyntaxKind::Domain, |p| {
            let kind = if p.at_word("blocks") {
                p.bump();
                let (from, to) = p.bracketed(LParen, "`(` and the range to cut into blocks", Parser::range)?;
                let height = p.height;
                let size = p.postfix()?;
                p.height = p.height.max(height);
                DomainKind::Blocks { lo: from, hi: to, size }
            } else if p.mode.holes && p.at(Hole) && p.domain_ends(1) {
                DomainKind::Hole(p.take())
            } else if p.mode.holes && p.at(Hole) && p.nth(1) == DotDot && p.domain_ends(2) {
                let hole = p.take();
                p.bump();
                DomainKind::RankHole(hole)
            } else {
                let (from, to) = p.range()?;
                DomainKind::Range { lo: from, hi: to }
            };
            Ok(Domain { kind, span: p.span_from(lo) })
        })
    }

    fn domain_ends(&self, n: usize) -> bool {
        matches!(self.nth(n), End | Comma) || matches!(self.nth_text(n), "do" | "from" | "by" | "writes")
    }

    fn range(&mut self) -> P<(Expr, Expr)> {
        let lo = self.binary(ADDITION)?;
        let height = self.height;
        self.expect(DotDot, super::messages::RANGE_END)?;
        let hi = self.binary(ADDITION)?;
        self.height = self.height.max(height);
        Ok((lo, hi))
    }
}
