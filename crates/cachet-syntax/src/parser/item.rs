//! Files and items.

use super::{P, Parser};
use crate::ast::{
    Assert, Block, Const, ConstValue, Contraction, Equation, File, FnItem, FnResult, Ident, Impl, Import, Instr,
    Interface, Item, Law, LawScope, Layout, LayoutOp, Member, MemberConst, MemberFn, Module, Proof, Record,
    RecordField, Stmt, Synth, SynthVar, Template, TraitParam,
};
use crate::kind::SyntaxKind::{self, Arrow, Colon, Eq, LBracket, LParen, Name, RParen};
use cachet_source::{Diagnostic, Span, codes};

enum Entry {
    Module(Module),
    Import(Import),
    Item(Box<Item>),
}

/// How far a file has come: `module`, then imports, then items.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Stage {
    Start,
    Imports,
    Items,
}

impl Parser<'_> {
    /// The whole file.
    pub(crate) fn file_entries(&mut self) -> File {
        self.flush_trivia();
        let span = Span::new(self.file, 0, self.text.len() as u32);
        if let Some(t) = self.token().filter(|t| t.col > 0) {
            let place = Span::new(self.file, t.lo, t.hi);
            let message = format!("the file's first entry starts at column {}", t.col + 1);
            self.diagnostics.push(
                Diagnostic::error(codes::LAYOUT, place, message).help("modules, imports and items start at column 1"),
            );
        }
        let mut file = File { module: None, imports: Vec::new(), items: Vec::new(), broken: Vec::new(), span };
        let mut stage = Stage::Start;
        // A break at this level is recovered from by the loop over entries.
        let entries = self.entries(&mut |p| p.file_entry(&mut stage)).unwrap_or_default();
        for entry in entries {
            match entry {
                Entry::Module(m) => file.module = Some(m),
                Entry::Import(i) => file.imports.push(i),
                Entry::Item(i) => file.items.push(*i),
            }
        }
        file
    }

    fn file_entry(&mut self, stage: &mut Stage) -> P<Entry> {
        let lo = self.here();
        match self.word() {
            Some("module") => {
                if *stage != Stage::Start {
                    let report = self.error(codes::SYNTAX, "`module` stands once, before everything else");
                    return Err(self.report(report));
                }
                *stage = Stage::Imports;
                self.node(SyntaxKind::Module, |p| {
                    p.bump();
                    let name = if p.at(Name) { Some(p.take()) } else { None };
                    let platform = p.bracketed(LParen, "`(platform = NAME)`", |p| {
                        p.expect_word("platform")?;
                        p.expect(Eq, "`=` and the platform's name")?;
                        p.name("the platform's name")
                    })?;
                    Ok(Entry::Module(Module { name, platform, span: p.span_from(lo) }))
                })
            }
            Some("import") => {
                if *stage == Stage::Items {
                    let report = self.error(codes::SYNTAX, "imports stand before the file's items");
                    return Err(self.report(report.help("move this line to the top of the file")));
                }
                *stage = Stage::Imports;
                self.node(SyntaxKind::Import, |p| {
                    p.bump();
                    let path = p.string("a path in quotes, such as \"cachet:steps\"")?;
                    Ok(Entry::Import(Import { path, span: p.span_from(lo) }))
                })
            }
            _ => {
                *stage = Stage::Items;
                Ok(Entry::Item(Box::new(self.item()?)))
            }
        }
    }

    fn item(&mut self) -> P<Item> {
        match (self.word(), self.nth_text(1)) {
            (Some("const"), _) => self.node(SyntaxKind::ConstItem, Parser::const_item).map(Item::Const),
            (Some("synth"), _) => self.node(SyntaxKind::SynthItem, Parser::synth_item).map(Item::Synth),
            (Some("proof"), _) => self.node(SyntaxKind::ProofItem, Parser::proof_item).map(Item::Proof),
            (Some("record"), _) => self.node(SyntaxKind::RecordItem, Parser::record_item).map(Item::Record),
            (Some("interface"), _) => self.node(SyntaxKind::InterfaceItem, Parser::interface_item).map(Item::Interface),
            (Some("impl"), _) => self.node(SyntaxKind::ImplItem, Parser::impl_item).map(Item::Impl),
            (Some("layout"), _) => self.node(SyntaxKind::LayoutItem, Parser::layout_item).map(Item::Layout),
            (Some("fn"), _) => self.node(SyntaxKind::FnItem, Parser::fn_item).map(Item::Fn),
            (Some("instr"), _) => self.node(SyntaxKind::InstrItem, Parser::instr_item).map(Item::Instr),
            (Some("contraction"), _) => {
                self.node(SyntaxKind::ContractionItem, Parser::contraction_item).map(Item::Contraction)
            }
            (Some("schedule"), "fn") => {
                self.node(SyntaxKind::ScheduleFnItem, Parser::schedule_fn_item).map(Item::ScheduleFn)
            }
            (Some("schedule"), _) => self.node(SyntaxKind::ScheduleItem, Parser::schedule_item).map(Item::Schedule),
            (Some("step"), _) => self.node(SyntaxKind::StepFnItem, Parser::step_fn_item).map(Item::StepFn),
            (Some("builtin"), _) => {
                self.node(SyntaxKind::BuiltinStepItem, Parser::builtin_step_item).map(Item::BuiltinStep)
            }
            (Some("platform"), _) => self.node(SyntaxKind::PlatformItem, Parser::platform_item).map(Item::Platform),
            (Some("for" | "let" | "var" | "store" | "grid" | "if" | "lease" | "alloc"), _) => {
                let report = self.error(codes::SYNTAX, format!("expected an item, found {}", self.found()));
                Err(self.report(report.help("statements stand in the body of a function, indented below it")))
            }
            _ => Err(self.unexpected("an item, such as `fn`, `contraction` or `schedule`")),
        }
    }

    /// Runs `f` for a header, which may go on at the item's column.
    pub(crate) fn header<T>(&mut self, f: impl FnOnce(&mut Self) -> P<T>) -> P<T> {
        self.with_mode(|m| m.header = true, f)
    }

    fn const_item(&mut self) -> P<Const> {
        let lo = self.here();
        self.bump();
        let (name, ty) = self.header(|p| {
            let name = p.name("the constant's name")?;
            let ty = if p.eat(Colon) { Some(p.type_()?) } else { None };
            p.expect(Eq, "`=` and the constant's value")?;
            Ok((name, ty))
        })?;
        let value = self.value_block("a value")?;
        Ok(Const { name, ty, value, span: self.span_from(lo) })
    }

    fn synth_item(&mut self) -> P<Synth> {
        let lo = self.here();
        self.bump();
        let vars = self.header(|p| {
            p.expect_word("const")?;
            let vars = p.list(|p| {
                let lo = p.here();
                let name = p.name("a constant's name")?;
                p.expect(Colon, "`:` and the constant's type")?;
                let ty = p.type_()?;
                Ok(SynthVar { name, ty, span: p.span_from(lo) })
            })?;
            p.header_end()?;
            Ok(vars)
        })?;
        let mut found = self.full_block("`minimize`", |p| {
            p.node(SyntaxKind::Minimize, |p| {
                p.expect_word("minimize")?;
                let cost = p.expr()?;
                p.expect_word("in")?;
                let search =
                    p.bracketed(LParen, "`(` and the variables", |p| p.list(|p| p.name("a variable's name")))?;
                p.expect(Colon, "`:` and the constants' values")?;
                let result = p.expr()?;
                p.expect_word("where")?;
                let conditions = p.full_block("a condition", |p| p.list(Parser::expr))?;
                Ok((cost, search, result, conditions.into_iter().flatten().collect()))
            })
        })?;
        let span = self.span_from(lo);
        match (found.pop(), found.is_empty()) {
            (Some((cost, search, result, conditions)), true) => {
                Ok(Synth { vars, cost, search, result, conditions, span })
            }
            (Some(_), false) => {
                let report = self.error_at(span, "a `synth const` has one `minimize`");
                Err(self.report(report))
            }
            (None, _) => Err(super::Broken),
        }
    }

    fn proof_item(&mut self) -> P<Proof> {
        let lo = self.here();
        self.bump();
        let name = self.header(|p| {
            let name = p.name("the proof's name")?;
            p.header_end()?;
            Ok(name)
        })?;
        let asserts = self.full_block("`assert`", |p| {
            let lo = p.here();
            p.node(SyntaxKind::AssertEntry, |p| {
                p.expect_word("assert")?;
                let condition = p.expr()?;
                Ok(Assert { condition, span: p.span_from(lo) })
            })
        })?;
        Ok(Proof { name, asserts, span: self.span_from(lo) })
    }

    fn record_item(&mut self) -> P<Record> {
        let lo = self.here();
        self.bump();
        let name = self.name("the record's name")?;
        self.expect_word("where")?;
        let fields = self.full_block("a field", |p| {
            let lo = p.here();
            p.node(SyntaxKind::RecordField, |p| {
                let name = p.name("a field's name")?;
                p.expect(Colon, "`:` and the field's type")?;
                let ty = p.type_()?;
                Ok(RecordField { name, ty, span: p.span_from(lo) })
            })
        })?;
        Ok(Record { name, fields, span: self.span_from(lo) })
    }

    fn interface_item(&mut self) -> P<Interface> {
        let lo = self.here();
        self.bump();
        let name = self.name("the interface's name")?;
        let tparams = self.type_params()?;
        self.expect_word("where")?;
        let members = self.full_block("a member", Parser::member)?;
        Ok(Interface { name, tparams, members, span: self.span_from(lo) })
    }

    fn impl_item(&mut self) -> P<Impl> {
        let lo = self.here();
        self.bump();
        let interface = self.name("the name of an interface")?;
        self.expect_word("for")?;
        let target = self.type_()?;
        self.expect_word("where")?;
        let members = self.full_block("a member", Parser::member)?;
        Ok(Impl { interface, target, members, span: self.span_from(lo) })
    }

    fn member(&mut self) -> P<Member> {
        match self.word() {
            Some("const") => self.node(SyntaxKind::MemberConst, Parser::member_const).map(Member::Const),
            Some("fn") => self.node(SyntaxKind::MemberFn, Parser::member_fn).map(Member::Fn),
            Some("law") => self.node(SyntaxKind::Law, Parser::law).map(Member::Law),
            _ => Err(self.unexpected("`const`, `fn` or `law`")),
        }
    }

    fn member_const(&mut self) -> P<MemberConst> {
        let lo = self.here();
        self.bump();
        let (name, ty, has_value) = self.header(|p| {
            let name = p.name("the constant's name")?;
            let ty = if p.eat(Colon) { Some(p.type_()?) } else { None };
            Ok((name, ty, p.eat(Eq)))
        })?;
        let value = match has_value {
            true if self.at(LBracket) => Some(ConstValue::Type(self.array()?)),
            true => Some(ConstValue::Expr(self.value_block("a type or value")?)),
            false => None,
        };
        Ok(MemberConst { name, ty, value, span: self.span_from(lo) })
    }

    fn member_fn(&mut self) -> P<MemberFn> {
        let lo = self.here();
        self.bump();
        let (name, params, result, has_body) = self.header(|p| {
            let name = p.name("the function's name")?;
            let params = p.member_params()?;
            let result = if p.eat(Arrow) { Some(p.type_()?) } else { None };
            Ok((name, params, result, p.eat(Eq)))
        })?;
        let body = if has_body { Some(self.stmt_block()?) } else { None };
        Ok(MemberFn { name, params, result, body, span: self.span_from(lo) })
    }

    fn member_params(&mut self) -> P<Vec<TraitParam>> {
        let mut params = Vec::new();
        loop {
            let lo = self.here();
            match self.peek() {
                Name => {
                    let name = self.take();
                    params.push(TraitParam { name, ty: None, span: self.span_from(lo) });
                }
                LParen if self.nth(1) == RParen => {
                    self.bump();
                    self.bump();
                }
                LParen => {
                    let (name, ty) = self.bracketed(LParen, "`(`", |p| {
                        let name = p.name("the parameter's name")?;
                        p.expect(Colon, "`:` and the parameter's type")?;
                        Ok((name, p.type_()?))
                    })?;
                    params.push(TraitParam { name, ty: Some(ty), span: self.span_from(lo) });
                }
                _ => return Ok(params),
            }
        }
    }

    fn law(&mut self) -> P<Law> {
        let lo = self.here();
        self.bump();
        let first = self.name("an operation or a law")?;
        let second = if self.at(Name) && !self.at_word("exactly") { Some(self.take()) } else { None };
        let (operation, name) = match second {
            Some(name) => (Some(first), name),
            None => (None, first),
        };
        let scope = if self.eat_word("over") {
            self.expect_word("reals")?;
            LawScope::Reals
        } else if self.eat_word("exactly") {
            LawScope::Exactly
        } else {
            return Err(self.unexpected("`over reals` or `exactly`"));
        };
        let reason = if self.eat(Eq) { Some(self.string("the reason in quotes")?) } else { None };
        Ok(Law { operation, name, scope, reason, span: self.span_from(lo) })
    }

    fn layout_item(&mut self) -> P<Layout> {
        let lo = self.here();
        self.bump();
        let (name, params, axes) = self.header(|p| {
            let name = p.name("the layout's name")?;
            let numbers = |p: &mut Parser<'_>| if p.at(RParen) { Ok(vec![]) } else { p.list(|p| p.name("a name")) };
            let params = p.bracketed(LParen, "`(` and the layout's numbers", numbers)?;
            let axes = p.bracketed(LBracket, "`[` and the axes", |p| p.list(|p| p.name("an axis's name")))?;
            p.header_end()?;
            Ok((name, params, axes))
        })?;
        let ops = self.full_block("`split` or `order`", |p| p.node(SyntaxKind::LayoutOp, Parser::layout_op))?;
        Ok(Layout { name, params, axes, ops, span: self.span_from(lo) })
    }

    fn layout_op(&mut self) -> P<LayoutOp> {
        let lo = self.here();
        if self.eat_word("split") {
            let axis = self.name("an axis's name")?;
            self.expect_word("by")?;
            let by = self.size()?;
            let pad = self.eat_word("pad");
            let back = self.eat_word("backwards");
            self.expect_word("as")?;
            let name = self.name("the new axis's name")?;
            return Ok(LayoutOp::Split { axis, by, pad, back, name, span: self.span_from(lo) });
        }
        if self.eat_word("order") {
            let axes = self.list(|p| p.name("an axis's name"))?;
            return Ok(LayoutOp::Order { axes, span: self.span_from(lo) });
        }
        Err(self.unexpected("`split` or `order`"))
    }

    fn fn_item(&mut self) -> P<FnItem> {
        let lo = self.here();
        self.bump();
        let (name, tparams, params, result, clauses) = self.header(|p| {
            let name = p.name("the function's name")?;
            let header = (name, p.type_params()?, p.params()?, p.result()?, p.clauses()?);
            p.header_end()?;
            Ok(header)
        })?;
        let body = self.stmt_block()?;
        Ok(FnItem { name, tparams, params, result, clauses, body, span: self.span_from(lo) })
    }

    fn instr_item(&mut self) -> P<Instr> {
        enum Line {
            Stmt(Box<Stmt>),
            Template(Template),
        }
        let lo = self.here();
        self.bump();
        let (name, tparams, params, result) = self.header(|p| {
            p.expect_word("fn")?;
            let name = p.name("the instruction's name")?;
            let (tparams, params) = (p.type_params()?, p.params()?);
            p.expect(Arrow, "`->` and the result's type")?;
            let result = p.type_()?;
            p.header_end()?;
            Ok((name, tparams, params, result))
        })?;
        let body_lo = self.here();
        let lines = self.full_block("the reference body", |p| {
            if p.at_word("by_target") && p.nth(1) == Name {
                return Ok(Line::Template(p.node(SyntaxKind::Template, Parser::template)?));
            }
            Ok(Line::Stmt(Box::new(p.stmt()?)))
        })?;
        let (mut stmts, mut templates) = (Vec::new(), Vec::new());
        for line in lines {
            match line {
                Line::Stmt(stmt) if templates.is_empty() => stmts.push(*stmt),
                Line::Stmt(stmt) => {
                    let report = self.error_at(stmt.span, "a statement after a template");
                    return Err(self.report(report.help("the reference body stands before every `by_target`")));
                }
                Line::Template(template) => templates.push(template),
            }
        }
        let end = stmts.last().map_or(Span::new(self.file, body_lo, body_lo), |s| s.span);
        let body = Block { stmts, span: Span::new(self.file, body_lo, body_lo).to(end) };
        Ok(Instr { name, tparams, params, result, body, templates, span: self.span_from(lo) })
    }

    fn template(&mut self) -> P<Template> {
        let lo = self.here();
        self.bump();
        let target = self.take();
        let lines = self.full_block("a template in quotes", |p| p.string("a template in quotes"))?;
        Ok(Template { target, lines, span: self.span_from(lo) })
    }

    fn contraction_item(&mut self) -> P<Contraction> {
        let lo = self.here();
        self.bump();
        let (name, tparams, params, result, clauses) = self.header(|p| {
            let name = p.name("the contraction's name")?;
            let (tparams, params) = (p.type_params()?, p.params()?);
            let Some(result) = p.result()? else {
                return Err(p.unexpected("a parameter, or `->` and the outputs"));
            };
            let header: (Ident, _, _, FnResult, _) = (name, tparams, params, result, p.clauses()?);
            p.header_end()?;
            Ok(header)
        })?;
        let equations = self.full_block("an equation", |p| p.node(SyntaxKind::Equation, Parser::equation))?;
        Ok(Contraction { name, tparams, params, result, clauses, equations, span: self.span_from(lo) })
    }

    fn equation(&mut self) -> P<Equation> {
        let lo = self.here();
        let name = self.name("the name of an output or intermediate")?;
        if !(self.at(LBracket) && self.touches()) {
            return Err(self.unexpected("`[` and the indices"));
        }
        let indices = self.bracketed(LBracket, "`[` and the indices", |p| p.list(Parser::index))?;
        self.expect(Eq, "`=`")?;
        let value = self.value_block("the element's value")?;
        Ok(Equation { name, indices, value, span: self.span_from(lo) })
    }
}
