//! Expressions by precedence, loosest first:
//!
//! 1. `if`, `fold`, `sum`, `reduce`, `let .. in ..`: as far right as they can
//! 2. `||` · 3. `&&` · 4. comparisons, not associative · 5. `+ -` · 6. `* / %` · 7. `as`
//! 8. unary `- !` · 9. application, `load` · 10. `.field`, `[index]`, `@T`

use super::{CLAUSES, P, Parser};
use crate::ast::{BinaryOp, Block, Expr, ExprKind, FieldInit, Ident, Index, Mask, Place, Stmt, StmtKind, UnaryOp};
use crate::kind::SyntaxKind::{
    self, AndAnd, At, Bang, Colon, ColonEq, Comma, Dot, DotDot, DotDotPlus, Eq, EqEq, Float, Ge, Gt, Hole, Int,
    Keyword, LBrace, LBracket, LParen, Le, Lt, Minus, Name, Ne, OrOr, Percent, Plus, RBrace, RParen, Slash, Star,
};
use cachet_source::codes;

const LOOSEST: u8 = 2;
const COMPARISON: u8 = 4;
/// The level of `+`: what stands on either side of `..`.
pub(crate) const ADDITION: u8 = 5;

/// Functions that a size may apply.
const SIZE_FUNCTIONS: &[&str] = &["ceil", "floor", "min", "max"];

impl Parser<'_> {
    /// Any expression.
    pub(crate) fn expr(&mut self) -> P<Expr> {
        self.deeper(|p| match p.word() {
            Some("if") => p.if_expr(),
            Some("fold") => p.fold(),
            Some("sum") => p.sum(),
            Some("reduce") => p.reduce(),
            Some("let") => p.let_expr(),
            _ => p.binary(LOOSEST),
        })
    }

    /// `+ - * / %` over names, numbers, parentheses and `ceil`, `floor`, `min`, `max`.
    pub(crate) fn size(&mut self) -> P<Expr> {
        self.with_mode(|m| m.size = true, |p| p.binary(ADDITION))
    }

    fn operator(&self) -> Option<(BinaryOp, u8)> {
        Some(match self.peek() {
            OrOr => (BinaryOp::Or, 2),
            AndAnd => (BinaryOp::And, 3),
            EqEq => (BinaryOp::Eq, COMPARISON),
            Ne => (BinaryOp::Ne, COMPARISON),
            Lt => (BinaryOp::Lt, COMPARISON),
            Le => (BinaryOp::Le, COMPARISON),
            Gt => (BinaryOp::Gt, COMPARISON),
            Ge => (BinaryOp::Ge, COMPARISON),
            Plus => (BinaryOp::Add, ADDITION),
            Minus => (BinaryOp::Sub, ADDITION),
            Star => (BinaryOp::Mul, 6),
            Slash => (BinaryOp::Div, 6),
            Percent => (BinaryOp::Rem, 6),
            _ => return None,
        })
    }

    /// Operators of at least this level.
    pub(crate) fn binary(&mut self, level: u8) -> P<Expr> {
        let lo = self.here();
        let checkpoint = self.checkpoint();
        let mut lhs = self.cast()?;
        while let Some((op, at)) = self.operator() {
            if at < level || (self.mode.size && at < ADDITION) {
                break;
            }
            if op == BinaryOp::Sub {
                self.refuse_negative_argument(&lhs)?;
            }
            let left = self.height;
            let op_lo = self.here();
            self.bump();
            let op_span = self.span_from(op_lo);
            let rhs = self.binary(at + 1)?;
            if at == COMPARISON && self.operator().is_some_and(|(_, next)| next == COMPARISON) {
                let report = self.error(codes::SYNTAX, "comparisons do not chain");
                return Err(self.report(report.help("write `a < b && b < c`")));
            }
            self.grow(left.max(self.height))?;
            self.start_at(checkpoint, SyntaxKind::BinaryExpr);
            self.finish();
            let kind = ExprKind::Binary { op, op_span, lhs: Box::new(lhs), rhs: Box::new(rhs) };
            lhs = Expr::new(kind, self.span_from(lo));
        }
        Ok(lhs)
    }

    fn cast(&mut self) -> P<Expr> {
        let lo = self.here();
        let checkpoint = self.checkpoint();
        let mut value = self.unary()?;
        while !self.mode.size && self.at_word("as") {
            let inner = self.height;
            self.bump();
            let ty = self.type_()?;
            self.grow(inner.max(self.height))?;
            self.start_at(checkpoint, SyntaxKind::CastExpr);
            self.finish();
            value = Expr::new(ExprKind::Cast { value: Box::new(value), ty }, self.span_from(lo));
        }
        Ok(value)
    }

    /// `-e`, `!e`, or an application.
    pub(crate) fn unary(&mut self) -> P<Expr> {
        let op = match self.peek() {
            Minus if matches!(self.nth(1), Int | Float) && self.nth_touches(1) => return self.application(),
            Minus => UnaryOp::Neg,
            Bang => UnaryOp::Not,
            _ => return self.application(),
        };
        let lo = self.here();
        self.deeper(|p| {
            p.node(SyntaxKind::UnaryExpr, |p| {
                p.bump();
                let operand = Box::new(p.unary()?);
                p.grow(p.height)?;
                Ok(Expr::new(ExprKind::Unary { op, operand }, p.span_from(lo)))
            })
        })
    }

    fn application(&mut self) -> P<Expr> {
        if self.at_word("load") {
            return self.load();
        }
        let lo = self.here();
        let checkpoint = self.checkpoint();
        let head = self.postfix()?;
        let mut height = self.height;
        let targs = if self.at(At) { self.targs()? } else { Vec::new() };
        let mut args = Vec::new();
        if self.applies(&head) {
            while self.at_argument() {
                args.push(self.postfix()?);
                height = height.max(self.height);
            }
        }
        if targs.is_empty() && args.is_empty() {
            return Ok(head);
        }
        self.grow(height)?;
        self.start_at(checkpoint, SyntaxKind::ApplyExpr);
        self.finish();
        Ok(Expr::new(ExprKind::Apply { head: Box::new(head), targs, args }, self.span_from(lo)))
    }

    /// Whether an expression may be the head of an application here.
    fn applies(&self, head: &Expr) -> bool {
        if self.mode.size {
            return head.as_ident().is_some_and(|i| SIZE_FUNCTIONS.contains(&i.name.as_str()));
        }
        matches!(head.kind, ExprKind::Name(_) | ExprKind::Hole(_) | ExprKind::Field { .. } | ExprKind::Index { .. })
    }

    fn at_argument(&self) -> bool {
        match self.peek() {
            Name => !(self.mode.header && CLAUSES.contains(&self.nth_text(0))),
            Keyword => matches!(self.nth_text(0), "true" | "false"),
            Hole | Int | Float | LParen => true,
            _ => false,
        }
    }

    /// `load c[i, j] mask n else w`.
    fn load(&mut self) -> P<Expr> {
        let lo = self.here();
        self.deeper(|p| {
            p.node(SyntaxKind::LoadExpr, |p| {
                p.bump();
                let place = p.place()?;
                let mut height = p.height;
                let mask_lo = p.here();
                let mask = if p.eat_word("mask") {
                    let count = p.size()?;
                    height = height.max(p.height);
                    let other = if p.eat_word("else") { Some(p.postfix()?) } else { None };
                    height = height.max(p.height);
                    Some(Box::new(Mask { count, other, span: p.span_from(mask_lo) }))
                } else {
                    None
                };
                p.grow(height)?;
                Ok(Expr::new(ExprKind::Load { place, mask }, p.span_from(lo)))
            })
        })
    }

    /// A path and its bracket groups.
    pub(crate) fn place(&mut self) -> P<Place> {
        let lo = self.here();
        self.start(SyntaxKind::Place);
        let path = self.path("a buffer, local or window")?;
        let mut groups = Vec::new();
        let mut height = 1;
        while self.at(LBracket) && self.touches() {
            groups.push(self.index_list()?);
            height = height.max(self.height) + 1;
            self.grow(height)?;
        }
        self.height = height;
        self.finish();
        Ok(Place { path, groups, span: self.span_from(lo) })
    }

    /// An atom with its fields and indices.
    pub(crate) fn postfix(&mut self) -> P<Expr> {
        let lo = self.here();
        let checkpoint = self.checkpoint();
        let mut base = self.atom()?;
        loop {
            let height = self.height;
            if !self.mode.no_dot && self.at_field() && !matches!(base.kind, ExprKind::Int(_)) {
                self.bump();
                let field = self.take();
                self.grow(height)?;
                self.start_at(checkpoint, SyntaxKind::FieldExpr);
                self.finish();
                base = Expr::new(ExprKind::Field { base: Box::new(base), field }, self.span_from(lo));
            } else if self.at(LBracket) && self.touches() && !matches!(base.kind, ExprKind::Int(_) | ExprKind::Float(_))
            {
                let indices = self.index_list()?;
                self.grow(height.max(self.height))?;
                self.start_at(checkpoint, SyntaxKind::IndexExpr);
                self.finish();
                base = Expr::new(ExprKind::Index { base: Box::new(base), indices }, self.span_from(lo));
            } else {
                self.refuse_loose_dot(&base)?;
                return Ok(base);
            }
        }
    }

    /// `1.`, `a . b`: a dot that neither belongs to a field nor ends a binder.
    fn refuse_loose_dot(&mut self, base: &Expr) -> P<()> {
        if !self.at(Dot) || self.mode.no_dot {
            return Ok(());
        }
        if matches!(base.kind, ExprKind::Int(_)) && self.touches() {
            return Err(self.unexpected("an operator"));
        }
        let report = self.error(codes::SYNTAX, "a `.` that neither belongs to a field nor ends the indices of a `sum`");
        let report = report.help("a field is written without blanks: `gk.len`");
        let applied = matches!(&base.kind, ExprKind::Apply { .. });
        let report = if applied { report.help("a reduction names its monoid: `reduce Max f32 k. e`") } else { report };
        Err(self.report(report))
    }

    fn index_list(&mut self) -> P<Vec<Index>> {
        self.node(SyntaxKind::IndexList, |p| p.bracketed(LBracket, "`[`", |p| p.list(Parser::index)))
    }

    /// `e`, `lo ..+ n`, `k := e`, `i.. := zi..`.
    pub(crate) fn index(&mut self) -> P<Index> {
        let lo = self.here();
        if matches!(self.peek(), Name | Hole) && self.nth(1) == ColonEq {
            let name = self.name("a name")?;
            self.bump();
            let value = self.expr()?;
            return Ok(Index::Subst { name, value, span: self.span_from(lo) });
        }
        if matches!(self.peek(), Name | Hole) && self.nth(1) == DotDot && self.nth(2) == ColonEq {
            let name = self.name("a name")?;
            self.bump();
            self.bump();
            let value = self.name("a name followed by `..`")?;
            self.expect(DotDot, "`..`: loops stand in for loops")?;
            return Ok(Index::RankSubst { name, value, span: self.span_from(lo) });
        }
        let first = self.expr()?;
        if !self.eat(DotDotPlus) {
            return Ok(Index::At(first));
        }
        let height = self.height;
        let len = self.expr()?;
        self.height = self.height.max(height);
        Ok(Index::Window { lo: first, len, span: self.span_from(lo) })
    }

    /// A name, hole, literal, parentheses or record literal.
    pub(crate) fn atom(&mut self) -> P<Expr> {
        self.height = 1;
        match self.peek() {
            Name if self.at_record() => self.record_literal(),
            Name => self.node(SyntaxKind::NameExpr, |p| {
                let name = p.take();
                Ok(Expr::new(ExprKind::Name(name.clone()), name.span))
            }),
            Hole if self.mode.holes => self.node(SyntaxKind::HoleExpr, |p| {
                let hole = p.take();
                Ok(Expr::new(ExprKind::Hole(hole.clone()), hole.span))
            }),
            Int | Float | Minus => self.literal(),
            Keyword if matches!(self.nth_text(0), "true" | "false") => self.node(SyntaxKind::Literal, |p| {
                let word = p.take();
                Ok(Expr::new(ExprKind::Bool(word.name == "true"), word.span))
            }),
            LParen => self.parenthesised(),
            _ => Err(self.unexpected("an operand")),
        }
    }

    /// A number, with the `-` that touches it.
    pub(crate) fn literal(&mut self) -> P<Expr> {
        let lo = self.here();
        self.height = 1;
        self.node(SyntaxKind::Literal, |p| {
            let negative = p.at(Minus);
            if negative {
                p.bump();
            }
            let float = p.at(Float);
            if !float && !p.at(Int) {
                return Err(p.unexpected("an operand"));
            }
            let digits = p.take();
            let text: String = digits.name.chars().filter(|c| *c != '_').collect();
            if float {
                let text = if negative { format!("-{text}") } else { text };
                return Ok(Expr::new(ExprKind::Float(text), p.span_from(lo)));
            }
            let value = i128::from(p.integer(&digits)?);
            Ok(Expr::new(ExprKind::Int(if negative { -value } else { value }), p.span_from(lo)))
        })
    }

    /// The value of an integer literal, below 2^64.
    pub(crate) fn integer(&mut self, digits: &Ident) -> P<u64> {
        let text: String = digits.name.chars().filter(|c| *c != '_').collect();
        let value = match text.get(..2) {
            Some("0x") => u64::from_str_radix(&text[2..], 16),
            Some("0b") => u64::from_str_radix(&text[2..], 2),
            _ => text.parse(),
        };
        match value {
            Ok(value) => Ok(value),
            Err(_) => {
                let named = if digits.name.len() <= 40 {
                    format!("`{}`", digits.name)
                } else {
                    format!("a literal of {} digits", text.len())
                };
                let report = self.error(codes::LIMIT, format!("{named} is not below 2^64"));
                let report = cachet_source::Diagnostic { labels: Vec::new(), ..report }.at(digits.span, "");
                Err(self.report(report))
            }
        }
    }

    fn parenthesised(&mut self) -> P<Expr> {
        let lo = self.here();
        self.node(SyntaxKind::ParenExpr, |p| {
            if p.nth(1) == RParen {
                p.bump();
                p.bump();
                return Ok(Expr::new(ExprKind::Unit, p.span_from(lo)));
            }
            let mut items = p.bracketed(LParen, "`(`", |p| p.list(Parser::expr))?;
            let span = p.span_from(lo);
            if items.len() == 1
                && let Some(only) = items.pop()
            {
                return Ok(Expr { kind: only.kind, span, parenthesised: true });
            }
            p.grow(p.height)?;
            Ok(Expr::new(ExprKind::Tuple(items), span))
        })
    }

    /// `NAME { field =`, `NAME { field,`, `NAME { field }`; a brace that opens a block in other languages is none.
    fn at_record(&self) -> bool {
        !self.mode.no_record
            && self.nth(1) == LBrace
            && self.nth(2) == Name
            && matches!(self.nth(3), Eq | Comma | Colon | RBrace)
    }

    fn record_literal(&mut self) -> P<Expr> {
        let lo = self.here();
        self.deeper(|p| {
            p.node(SyntaxKind::RecordExpr, |p| {
                let name = p.take();
                let fields = p.bracketed(LBrace, "`{`", |p| p.list(Parser::field_init))?;
                p.grow(p.height)?;
                Ok(Expr::new(ExprKind::Record { name, fields }, p.span_from(lo)))
            })
        })
    }

    fn field_init(&mut self) -> P<FieldInit> {
        let lo = self.here();
        self.height = 1;
        let name = self.name("a field's name")?;
        let value = if self.eat(Eq) { Some(self.expr()?) } else { None };
        Ok(FieldInit { name, value, span: self.span_from(lo) })
    }
}

// Level 1.
impl Parser<'_> {
    /// A value after `=`, `do`, `then`, `else`: in line, or a block of statements that ends in it.
    pub(crate) fn value_block(&mut self, what: &str) -> P<Expr> {
        if self.token().is_some_and(|t| !t.first) {
            return self.expr();
        }
        let (lo, before) = (self.here(), self.broken_count());
        let stmts = self.full_block(what, Parser::stmt)?;
        if self.broken_since(before) {
            return Err(super::Broken);
        }
        let span = self.span_from(lo);
        let last = stmts.last().map_or(span, |s| s.span);
        match (Block { stmts, span }).to_expr() {
            Some(value) => {
                self.grow(self.height)?;
                Ok(value)
            }
            None => {
                let report = self.error_at(last, format!("expected {what} at the end of the block"));
                Err(self.report(report.help("the last entry of the block is its value")))
            }
        }
    }

    /// `let x: T = a in b`.
    fn let_expr(&mut self) -> P<Expr> {
        let lo = self.here();
        self.node(SyntaxKind::LetExpr, |p| {
            let (name, ty, value) = p.binding()?;
            let span = p.span_from(lo);
            let height = p.height;
            p.expect_word("in")?;
            let rest = p.expr()?;
            p.grow(height.max(p.height))?;
            let stmt = Stmt { kind: StmtKind::Let { name, ty, value }, span };
            Ok(Expr::new(ExprKind::Block { stmts: vec![stmt], value: Box::new(rest) }, p.span_from(lo)))
        })
    }

    fn if_expr(&mut self) -> P<Expr> {
        let (lo, start) = (self.here(), self.position());
        self.node(SyntaxKind::IfExpr, |p| {
            p.bump();
            let cond = Box::new(p.expr()?);
            let mut height = p.height;
            p.expect_word("then")?;
            let then = Box::new(p.value_block("a value")?);
            height = height.max(p.height);
            if !p.eat_else(start) {
                return Err(p.unexpected("`else`"));
            }
            let els = Box::new(p.value_block("a value")?);
            p.grow(height.max(p.height))?;
            Ok(Expr::new(ExprKind::If { cond, then, els }, p.span_from(lo)))
        })
    }
}
