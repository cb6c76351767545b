//! Statements.

use super::{P, Parser};
use crate::ast::{Block, Expr, ExprKind, GridIndex, Index, LoopVar, Path, Place, Stmt, StmtKind, Tile, Type, Window};
use crate::kind::SyntaxKind::{self, Colon, DotDot, Eq, Keyword, LBracket, LParen};
use cachet_source::codes;

impl Parser<'_> {
    /// A block of statements after its opener.
    pub(crate) fn stmt_block(&mut self) -> P<Block> {
        let lo = self.here();
        let stmts = self.full_block("a statement", Parser::stmt)?;
        Ok(Block { stmts, span: self.span_from(lo) })
    }

    /// A statement, or the value of a block.
    pub(crate) fn stmt(&mut self) -> P<Stmt> {
        let lo = self.here();
        let kind = match self.word() {
            Some("for") => self.node(SyntaxKind::ForStmt, Parser::for_stmt),
            Some("grid") => self.node(SyntaxKind::GridStmt, Parser::grid_stmt),
            Some("if") => self.node(SyntaxKind::IfStmt, Parser::if_stmt),
            Some("let") => self.let_stmt(),
            Some("var") => self.node(SyntaxKind::VarStmt, |p| {
                let (name, ty, value) = p.binding()?;
                Ok(StmtKind::Var { name, ty, value })
            }),
            Some("store") => self.node(SyntaxKind::StoreStmt, Parser::store_stmt),
            Some("lease") => self.node(SyntaxKind::LeaseStmt, Parser::lease_stmt),
            Some("alloc") => self.node(SyntaxKind::AllocStmt, Parser::alloc_stmt),
            _ => self.expr_stmt(),
        }?;
        Ok(Stmt { kind, span: self.span_from(lo) })
    }

    /// `let x: T = a`; with `in b` it is a value.
    fn let_stmt(&mut self) -> P<StmtKind> {
        let lo = self.here();
        let checkpoint = self.checkpoint();
        let (name, ty, value) = self.binding()?;
        let kind = StmtKind::Let { name, ty, value };
        if !self.at_word("in") {
            self.start_at(checkpoint, SyntaxKind::LetStmt);
            self.finish();
            return Ok(kind);
        }
        let height = self.height;
        let stmts = vec![Stmt { kind, span: self.span_from(lo) }];
        self.bump();
        let value = Box::new(self.expr()?);
        self.grow(height.max(self.height))?;
        self.start_at(checkpoint, SyntaxKind::LetExpr);
        self.finish();
        Ok(StmtKind::Expr(Expr::new(ExprKind::Block { stmts, value }, self.span_from(lo))))
    }

    fn for_stmt(&mut self) -> P<StmtKind> {
        self.bump();
        let var = self.loop_var()?;
        self.expect_word("in")?;
        let domain = self.domain()?;
        self.expect_word("do")?;
        let body = self.stmt_block()?;
        Ok(StmtKind::For { var, domain, body })
    }

    fn loop_var(&mut self) -> P<LoopVar> {
        let lo = self.here();
        let name = self.name("the name of the loop variable")?;
        let rank = self.mode.holes && self.eat(DotDot);
        Ok(LoopVar { name, rank, span: self.span_from(lo) })
    }

    fn grid_stmt(&mut self) -> P<StmtKind> {
        self.bump();
        let device = if self.at_word("on") && self.nth_text(1) != "in" {
            self.bump();
            Some(self.name("a device's name")?)
        } else {
            None
        };
        let indices = self.list(|p| {
            let lo = p.here();
            let var = p.loop_var()?;
            p.expect_word("in")?;
            let domain = p.domain()?;
            Ok(GridIndex { var, domain, span: p.span_from(lo) })
        })?;
        let lo = self.here();
        let tile = if self.eat_word("by") {
            self.expect_word("tile")?;
            let vars = self.bracketed(LParen, "`(` and the names of the part's coordinates", |p| {
                p.list(|p| p.name("the name of a coordinate"))
            })?;
            self.expect_word("parts")?;
            let parts = self.bracketed(LBracket, "`[` and the extents of a part", |p| p.list(Parser::expr))?;
            Some(Tile { vars, parts, span: self.span_from(lo) })
        } else {
            None
        };
        let writes = if self.eat_word("writes") { self.list(Parser::window)? } else { Vec::new() };
        self.expect_word("do")?;
        let body = self.stmt_block()?;
        Ok(StmtKind::Grid { device, indices, tile, writes, body })
    }

    fn window(&mut self) -> P<Window> {
        let lo = self.here();
        self.node(SyntaxKind::Window, |p| {
            let place = p.place()?;
            let alias = if p.eat_word("as") { Some(p.name("the window's name")?) } else { None };
            Ok(Window { place, alias, span: p.span_from(lo) })
        })
    }

    fn if_stmt(&mut self) -> P<StmtKind> {
        let start = self.position();
        self.bump();
        let cond = self.expr()?;
        self.expect_word("then")?;
        let then = self.stmt_block()?;
        let els = if self.eat_else(start) { Some(self.stmt_block()?) } else { None };
        Ok(StmtKind::If { cond, then, els })
    }

    /// The number of the current token.
    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    /// Takes an `else`: on the entry's own lines, or at the column of the `if` (token `start`) if the entry begins
    /// with one.
    pub(crate) fn eat_else(&mut self, start: usize) -> bool {
        if self.eat_word("else") {
            return true;
        }
        let Some(t) = self.token() else { return false };
        let entry = self.frames.entry().unwrap_or(start);
        let starts_with_if = self.tokens.get(entry).is_some_and(|t| self.text_of(t) == "if");
        let found = self.text_of(t) == "else" && t.col == self.frames.column() && starts_with_if && entry <= start;
        if found {
            self.bump();
        }
        found
    }

    /// As [`Parser::eat_else`], for a `case` that begins the entry.
    pub(crate) fn eat_case_else(&mut self, start: usize) -> bool {
        if self.eat_word("else") {
            return true;
        }
        let found = self.frames.entry() == Some(start)
            && self.token().is_some_and(|t| self.text_of(t) == "else" && t.col == self.frames.column());
        if found {
            self.bump();
        }
        found
    }

    /// `let` or `var`, a name, perhaps its type, and a value.
    pub(crate) fn binding(&mut self) -> P<(crate::ast::Ident, Option<Type>, Expr)> {
        self.bump();
        let name = self.name("a name")?;
        let ty = if self.eat(Colon) { Some(self.type_()?) } else { None };
        self.expect(Eq, "`=`")?;
        let value = self.value_block("a value")?;
        Ok((name, ty, value))
    }

    fn store_stmt(&mut self) -> P<StmtKind> {
        self.bump();
        let place = self.place()?;
        self.expect(Eq, "`=`")?;
        let value = self.value_block("a value")?;
        let mask = if self.eat_word("mask") { Some(self.size()?) } else { None };
        Ok(StmtKind::Store { place, value, mask })
    }

    fn lease_stmt(&mut self) -> P<StmtKind> {
        self.bump();
        let mutable = self.eat_word("mut");
        let name = self.name("the lease's name")?;
        self.expect(Eq, "`=`")?;
        let buffer = self.name("a buffer's name")?;
        self.expect_word("at")?;
        let level = self.name("a level's name")?;
        Ok(StmtKind::Lease { mutable, name, buffer, level })
    }

    fn alloc_stmt(&mut self) -> P<StmtKind> {
        self.bump();
        let name = self.name("the buffer's name")?;
        self.expect(Colon, "`:` and the buffer's type")?;
        let ty = self.param_type()?;
        Ok(StmtKind::Alloc { name, ty })
    }

    /// An assignment, a call, a hole or a value.
    fn expr_stmt(&mut self) -> P<StmtKind> {
        let lo = self.here();
        if self.at(Keyword) && !matches!(self.nth_text(0), "sum" | "fold" | "reduce" | "load" | "true" | "false") {
            return Err(self.unexpected("a statement"));
        }
        let checkpoint = self.checkpoint();
        let expr = self.expr()?;
        if !self.at(Eq) {
            self.start_at(checkpoint, SyntaxKind::ExprStmt);
            self.finish();
            return Ok(hole_stmt(&expr).unwrap_or(StmtKind::Expr(expr)));
        }
        let Some(place) = expr_to_place(&expr) else {
            let report = self
                .error(codes::SYNTAX, "only a variable or a cell of one can be assigned")
                .also(self.span_from(lo), "this is not one")
                .help("values are compared with `==`");
            return Err(self.report(report));
        };
        self.bump();
        let value = self.value_block("a value")?;
        self.start_at(checkpoint, SyntaxKind::AssignStmt);
        self.finish();
        Ok(StmtKind::Assign { place, value })
    }
}

/// `x`, `x.f`, `x[i]`, `$cell[i := e]` as a place.
fn expr_to_place(expr: &Expr) -> Option<Place> {
    let mut groups: Vec<Vec<Index>> = Vec::new();
    let mut base = expr;
    while let ExprKind::Index { base: inner, indices } = &base.kind {
        groups.push(indices.clone());
        base = inner;
    }
    groups.reverse();
    let path: Path = if base.parenthesised { None } else { base.to_path() }?;
    Some(Place { path, groups, span: expr.span })
}

/// `$body`, `$body[t := e]` as a statement.
fn hole_stmt(expr: &Expr) -> Option<StmtKind> {
    let place = expr_to_place(expr)?;
    let hole = place.path.as_ident().filter(|i| i.is_hole())?.clone();
    Some(StmtKind::Hole { hole, groups: place.groups })
}
