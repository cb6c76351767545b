//! Step functions, built-in steps and recipes.

use super::{P, Parser};
use crate::ast::{Block, BuiltinStep, Expr, Ident, Move, MoveKind, ReorderLine, Side, SideRef, StepFn};
use crate::kind::SyntaxKind::{self, Colon, Comma, Dot, End, Eq, LBrace, LBracket, LParen, RBrace};
use cachet_source::{Span, codes};

/// The moves that are built: the first words of `relate`'s lines.
const BUILT: &[&str] = &[
    "per",
    "interchange",
    "order",
    "distribute",
    "fuse",
    "split",
    "reorder",
    "selfstore",
    "unroll",
    "unfold",
    "case",
    "given",
];

enum Section {
    From(Block),
    To(Block),
    Relate(Vec<Move>),
}

impl Parser<'_> {
    pub(crate) fn step_fn_item(&mut self) -> P<StepFn> {
        let lo = self.here();
        self.bump();
        let (name, params) = self.header(|p| {
            p.expect_word("fn")?;
            let name = p.name("the step's name")?;
            let params = p.step_params(true)?;
            p.header_end()?;
            Ok((name, params))
        })?;
        let before = self.broken_count();
        let sections = self.with_mode(|m| m.holes = true, |p| p.full_block("`from`", Parser::sections))?;
        let span = self.span_from(lo);
        let (mut from, mut to, mut relate) = (None, None, None);
        for (section, at) in sections.into_iter().flatten() {
            let (word, again) = match section {
                Section::From(block) => ("from", from.replace(block).is_some() || to.is_some() || relate.is_some()),
                Section::To(block) => ("to", to.replace(block).is_some() || relate.is_some()),
                Section::Relate(moves) => ("relate", relate.replace(moves).is_some()),
            };
            if again {
                let report = self.error_at(at, format!("`{word}` stands here a second time, or too late"));
                return Err(self.report(report.help("a step has `from`, `to` and at most one `relate`, in this order")));
            }
        }
        match (from, to) {
            (Some(from), Some(to)) => Ok(StepFn { name, params, from, to, relate: relate.unwrap_or_default(), span }),
            _ if self.broken_since(before) => Err(super::Broken),
            (from, _) => {
                let missing = if from.is_none() { "from" } else { "to" };
                let report = self.error_at(name.span, format!("the step `{}` has no `{missing}`", name.name));
                Err(self.report(report.help("a step has `from`, `to` and at most one `relate`, in this order")))
            }
        }
    }

    fn sections(&mut self) -> P<Vec<(Section, Span)>> {
        let mut sections = Vec::new();
        loop {
            let lo = self.here();
            self.start(SyntaxKind::Section);
            let section = match self.word() {
                Some("from") => {
                    self.bump();
                    Section::From(self.stmt_block()?)
                }
                Some("to") => {
                    self.bump();
                    Section::To(self.stmt_block()?)
                }
                Some("relate") => Section::Relate(self.relate()?),
                _ => return Err(self.unexpected("`from`, `to` or `relate`")),
            };
            self.finish();
            sections.push((section, self.span_from(lo)));
            if self.at(End) {
                return Ok(sections);
            }
        }
    }

    /// `relate` and its moves; none for an empty one.
    fn relate(&mut self) -> P<Vec<Move>> {
        self.bump();
        if self.token().is_some_and(|t| !t.first) && self.at(End) {
            return Ok(Vec::new());
        }
        self.block(Parser::recipe_move)
    }

    pub(crate) fn builtin_step_item(&mut self) -> P<BuiltinStep> {
        let lo = self.here();
        self.bump();
        self.expect_word("step")?;
        if self.word().is_none() {
            return Err(self.unexpected("the step's first word"));
        }
        let name = self.take();
        let mut signature = Vec::new();
        while !self.at(End) && !self.at_word("relate") {
            if self.peek().is_bad_token() {
                return Err(self.unexpected("the step's shape"));
            }
            signature.push(self.take());
        }
        let relate =
            if self.at_word("relate") { self.with_mode(|m| m.holes = true, Parser::relate)? } else { Vec::new() };
        Ok(BuiltinStep { name, signature, relate, span: self.span_from(lo) })
    }

    fn recipe_move(&mut self) -> P<Move> {
        let lo = self.here();
        let kind = self.deeper(|p| p.node(SyntaxKind::Move, Parser::move_kind))?;
        Ok(Move { kind, span: self.span_from(lo) })
    }

    fn move_kind(&mut self) -> P<MoveKind> {
        let word = self.word().unwrap_or("");
        let known = [
            "per",
            "fold",
            "interchange",
            "order",
            "distribute",
            "fuse",
            "split",
            "cut",
            "join",
            "reorder",
            "carry",
            "copy",
            "selfstore",
            "lanes",
            "narrow",
            "relayout",
            "rename",
            "dead",
            "share",
            "unfold",
            "unroll",
            "case",
            "given",
            "grid",
            "arithmetic",
            "regroup",
            "evaluate",
        ];
        if !known.contains(&word) {
            let report = self.error(codes::SYNTAX, format!("expected a move, found {}", self.found()));
            return Err(self.report(report.help(format!("moves start with {}", BUILT.join(", ")))));
        }
        self.bump();
        match word {
            "per" => self.per_cell(),
            "fold" => {
                self.expect_word("var")?;
                Ok(MoveKind::FoldVar(self.side_ref()?))
            }
            "interchange" => Ok(MoveKind::Interchange(self.side_ref()?)),
            "order" => self.order_move(),
            "distribute" => {
                let index = self.side_ref()?;
                self.expect_word("at")?;
                Ok(MoveKind::Distribute { index, at: self.size()? })
            }
            "fuse" => {
                let (a, b) = self.two_refs()?;
                Ok(MoveKind::Fuse(a, b))
            }
            "split" => self.split_move(),
            "cut" => {
                let index = self.side_ref()?;
                self.expect_word("at")?;
                Ok(MoveKind::Cut { index, at: self.size()? })
            }
            "join" => {
                let (a, b) = self.two_refs()?;
                Ok(MoveKind::Join(a, b))
            }
            "reorder" => self.reorder_move(),
            "carry" => {
                let local = self.side_ref()?;
                self.expect_word("as")?;
                Ok(MoveKind::Carry { local, buffer: self.name("a buffer's name")? })
            }
            "copy" => Ok(MoveKind::Copy(self.side_ref()?)),
            "selfstore" => Ok(MoveKind::SelfStore(self.side_ref()?)),
            "lanes" => {
                let side = self.side()?;
                let names = if self.at(LParen) { self.names()? } else { Vec::new() };
                Ok(MoveKind::Lanes { side, names })
            }
            "narrow" => self.narrow_move(),
            "relayout" => self.relayout_move(),
            "rename" => {
                let buffer = self.side_ref()?;
                self.expect_word("as")?;
                Ok(MoveKind::Rename { buffer, name: self.name("a buffer's name")? })
            }
            "dead" => Ok(MoveKind::Dead(self.side_ref()?)),
            "share" => {
                let local = self.side_ref()?;
                self.expect_word("over")?;
                Ok(MoveKind::Share { local, over: self.name("a loop's name")? })
            }
            "unfold" => Ok(MoveKind::Unfold(self.side_ref()?)),
            "unroll" => Ok(MoveKind::Unroll(self.side_ref()?)),
            "case" => self.case_move(),
            "given" => Ok(MoveKind::Given(self.expr()?)),
            "grid" => Ok(MoveKind::Grid(self.list(Parser::side_ref)?)),
            "arithmetic" => Ok(MoveKind::Arithmetic(self.name("a device's name")?)),
            "regroup" => self.regroup_move(),
            _ => Ok(MoveKind::Evaluate),
        }
    }

    fn side(&mut self) -> P<Side> {
        let side = match self.word() {
            Some("S") => Side::S,
            Some("T") => Side::T,
            _ => return Err(self.unexpected("`S` (the program before) or `T` (the program after)")),
        };
        self.bump();
        Ok(side)
    }

    /// `S.k`, `T.$acc`, `S.i#2`.
    fn side_ref(&mut self) -> P<SideRef> {
        let lo = self.here();
        let side = self.side()?;
        self.expect(Dot, "`.` and a name: `S.k`, `T.k`")?;
        let name = self.name("a name of that program")?;
        let nth = self.occurrence()?;
        Ok(SideRef { side, name, nth, span: self.span_from(lo) })
    }

    fn two_refs(&mut self) -> P<(SideRef, SideRef)> {
        let first = self.side_ref()?;
        self.expect(Comma, "`,` and a second loop")?;
        Ok((first, self.side_ref()?))
    }

    fn names(&mut self) -> P<Vec<Ident>> {
        self.bracketed(LParen, "`(`", |p| p.list(|p| p.name("a name")))
    }

    fn per_cell(&mut self) -> P<MoveKind> {
        self.expect_word("cell")?;
        let buffer = self.name("a buffer's name")?;
        self.expect_word("fold")?;
        let fold = self.side_ref()?;
        let at = if self.eat_word("at") {
            Some(self.bracketed(LBracket, "`[` and the cell's indices", |p| p.list(Parser::expr))?)
        } else {
            None
        };
        Ok(MoveKind::PerCell { buffer, fold, at })
    }

    fn order_move(&mut self) -> P<MoveKind> {
        let side = self.side()?;
        let label = if self.eat(Dot) { Some(self.name("a label: `init`, `upd`, `fin`")?) } else { None };
        let loops = self.bracketed(LParen, "`(` and the loops", |p| p.list(Parser::loop_ref))?;
        Ok(MoveKind::Order { side, label, loops })
    }

    fn split_move(&mut self) -> P<MoveKind> {
        let index = self.side_ref()?;
        self.expect_word("by")?;
        let by = self.size()?;
        self.expect_word("as")?;
        let name = self.name("the new loop's name")?;
        let ragged = self.eat_word("ragged");
        Ok(MoveKind::Split { index, by, name, ragged })
    }

    fn reorder_move(&mut self) -> P<MoveKind> {
        let from = self.side()?;
        self.expect_word("to")?;
        let to = self.side()?;
        let mut lines = Vec::new();
        while lines.is_empty() || !matches!(self.peek(), End | Comma | RBrace) {
            let lo = self.here();
            let label = self.name("a label: `init`, `upd`, `fin` or `all`")?;
            self.expect(Colon, "`:` and the map")?;
            let by = if self.eat_word("by") { self.map()? } else { Vec::new() };
            let back = if self.eat_word("back") { self.map()? } else { Vec::new() };
            lines.push(ReorderLine { label, by, back, span: self.span_from(lo) });
        }
        Ok(MoveKind::Reorder { from, to, lines })
    }

    fn map(&mut self) -> P<Vec<(Ident, Expr)>> {
        self.bracketed(LParen, "`(` and the map", |p| {
            p.list(|p| {
                let name = p.name("a loop's name")?;
                p.expect(Eq, "`=`")?;
                Ok((name, p.expr()?))
            })
        })
    }

    fn narrow_move(&mut self) -> P<MoveKind> {
        let local = self.side_ref()?;
        self.expect_word("axis")?;
        let axis = self.size()?;
        self.expect_word("to")?;
        Ok(MoveKind::Narrow { local, axis, to: self.size()? })
    }

    fn relayout_move(&mut self) -> P<MoveKind> {
        let local = self.side_ref()?;
        let from = self.bracketed(LBracket, "`[` and its indices", |p| p.list(Parser::expr))?;
        self.expect_word("as")?;
        let name = self.name("the new local's name")?;
        let to = self.bracketed(LBracket, "`[` and its indices", |p| p.list(Parser::expr))?;
        Ok(MoveKind::Relayout { local, from, name, to })
    }

    fn case_move(&mut self) -> P<MoveKind> {
        let start = self.position() - 1;
        let condition = self.with_mode(|m| m.no_record = true, Parser::expr)?;
        let braced = self.at(LBrace);
        let moves = |p: &mut Self| match braced {
            true => p.braced_moves(),
            false => p.full_block("a move", Parser::recipe_move),
        };
        if !braced {
            self.expect_word("then")?;
        }
        let then = moves(self)?;
        if !self.eat_case_else(start) {
            return Err(self.unexpected("`else`"));
        }
        let els = moves(self)?;
        Ok(MoveKind::Case { condition, then, els })
    }

    /// Moves in braces, separated by commas; `{}` is the empty recipe.
    fn braced_moves(&mut self) -> P<Vec<Move>> {
        self.bracketed(LBrace, "`{`", |p| if p.at(RBrace) { Ok(Vec::new()) } else { p.list(Parser::recipe_move) })
    }

    fn regroup_move(&mut self) -> P<MoveKind> {
        let index = self.side_ref()?;
        let form = if self.at(LParen) {
            let parts = self.bracketed(LParen, "`(`", |p| p.list(Parser::reduce_part))?;
            parts.into_iter().map(|part| (Some(part.name), part.shape)).collect()
        } else {
            vec![(None, self.shape()?)]
        };
        self.expect_word("by")?;
        let law = self.name("a law's name")?;
        Ok(MoveKind::Regroup { index, form, law })
    }
}
