//! Headers of items: type parameters, parameters, results, clauses.

use super::messages::PARAMETER_END;
use super::{P, Parser};
use crate::ast::{
    Clause, ClauseKind, FnResult, KeepRow, LevelRows, Mode as ParamMode, Param, ParamType, Requirement, Traffic,
    TypeParam,
};
use crate::kind::SyntaxKind::{self, Arrow, At, Colon, Comma, Eq, EqEq, LBrace, LBracket, LParen, Name, RParen};
use cachet_source::codes;

impl Parser<'_> {
    /// `{S : Semiring, N : Nat}`, if there.
    pub(crate) fn type_params(&mut self) -> P<Vec<TypeParam>> {
        if !self.at(LBrace) {
            return Ok(Vec::new());
        }
        self.node(SyntaxKind::TypeParams, |p| {
            p.bracketed(LBrace, "`{`", |p| {
                p.list(|p| {
                    let lo = p.here();
                    let name = p.name("the name of a type parameter")?;
                    p.expect(Colon, "`:` and an interface, `Nat` or `Type`")?;
                    let bound = p.name("the name of an interface, `Nat` or `Type`")?;
                    Ok(TypeParam { name, bound, span: p.span_from(lo) })
                })
            })
        })
    }

    /// `(reads a: [f32; M, K])`, any number; `()` stands for none.
    pub(crate) fn params(&mut self) -> P<Vec<Param>> {
        let mut params = Vec::new();
        while self.at(LParen) {
            if self.nth(1) == RParen {
                self.bump();
                self.bump();
                continue;
            }
            params.push(self.param()?);
        }
        Ok(params)
    }

    fn param(&mut self) -> P<Param> {
        let lo = self.here();
        self.node(SyntaxKind::Param, |p| {
            let (mode, name, ty) = p.bracketed(LParen, "`(`", |p| {
                let mode = p.param_mode();
                let what = "`reads`, `mut`, `out` or the parameter's name";
                let name = p.name(if mode.is_some() { "the parameter's name" } else { what })?;
                p.expect(Colon, "`:` and the parameter's type")?;
                let ty = p.param_type()?;
                if matches!(p.peek(), Comma | LBracket) {
                    return Err(p.unexpected(PARAMETER_END));
                }
                Ok((mode, name, ty))
            })?;
            Ok(Param { mode, name, ty, span: p.span_from(lo) })
        })
    }

    fn param_mode(&mut self) -> Option<ParamMode> {
        let mode = match self.word()? {
            "reads" => ParamMode::Reads,
            "mut" => ParamMode::Mut,
            "out" => ParamMode::Out,
            _ => return None,
        };
        self.bump();
        Some(mode)
    }

    /// `[f32; 16, 16] in PanelMajor 4 at DRAM`.
    pub(crate) fn param_type(&mut self) -> P<ParamType> {
        let lo = self.here();
        let ty = self.type_()?;
        let layout = if self.eat_word("in") { Some(self.type_()?) } else { None };
        let level = if self.eat_word("at") { Some(self.name("a level's name")?) } else { None };
        Ok(ParamType { ty, layout, level, span: self.span_from(lo) })
    }

    /// What follows `->`, if there.
    pub(crate) fn result(&mut self) -> P<Option<FnResult>> {
        if !self.at(Arrow) {
            return Ok(None);
        }
        self.node(SyntaxKind::Result, |p| {
            p.bump();
            if !p.at_word("out") {
                return Ok(Some(FnResult::Type(p.type_()?)));
            }
            let outs = p.list(|p| {
                let lo = p.here();
                p.node(SyntaxKind::Param, |p| {
                    p.expect_word("out")?;
                    let name = p.name("the output's name")?;
                    p.expect(Colon, "`:` and the output's type")?;
                    let ty = p.param_type()?;
                    Ok(Param { mode: Some(ParamMode::Out), name, ty, span: p.span_from(lo) })
                })
            })?;
            Ok(Some(FnResult::Outs(outs)))
        })
    }

    /// The clauses of a header, each at most once.
    pub(crate) fn clauses(&mut self) -> P<Vec<Clause>> {
        let mut clauses: Vec<Clause> = Vec::new();
        while let Some(word) = self.word() {
            let lo = self.here();
            self.start(SyntaxKind::Clause);
            let kind = match word {
                "produces" => self.produces(),
                "requires" => self.requires(),
                "scratch" => self.scratch(),
                "working_set" => self.working_set(),
                "movement" => self.movement(),
                _ => Err(self.unexpected("a clause or `=`")),
            }?;
            self.finish();
            let clause = Clause { kind, span: self.span_from(lo) };
            let same = |c: &&Clause| std::mem::discriminant(&c.kind) == std::mem::discriminant(&clause.kind);
            if let Some(first) = clauses.iter().find(same) {
                let report = self
                    .error_at(clause.span, format!("a second `{word}` clause"))
                    .also(first.span, "the first")
                    .help("a clause stands once: join their lists");
                return Err(self.report(report));
            }
            clauses.push(clause);
        }
        Ok(clauses)
    }

    fn produces(&mut self) -> P<ClauseKind> {
        self.bump();
        let names = self.list(|p| {
            p.expect_word("Init")?;
            p.name("a buffer's name")
        })?;
        Ok(ClauseKind::Produces(names))
    }

    fn requires(&mut self) -> P<ClauseKind> {
        self.bump();
        let requirements = self.list(|p| {
            if p.eat_word("Init") {
                return Ok(Requirement::Init(p.name("a buffer's name")?));
            }
            Ok(Requirement::Condition(p.expr()?))
        })?;
        Ok(ClauseKind::Requires(requirements))
    }

    fn scratch(&mut self) -> P<ClauseKind> {
        self.bump();
        Ok(ClauseKind::Scratch(self.list(|p| p.name("a buffer's name"))?))
    }

    fn working_set(&mut self) -> P<ClauseKind> {
        self.bump();
        let rows = self.full_block("a row `@LEVEL { keep P = descriptor P }`", |p| {
            let lo = p.here();
            p.node(SyntaxKind::LevelRow, |p| {
                p.expect(At, "`@` and a level")?;
                let level = p.name("a level's name")?;
                let keeps = p.bracketed(LBrace, "`{` and what stays in the level", |p| {
                    p.list(|p| {
                        let lo = p.here();
                        p.expect_word("keep")?;
                        let name = p.name("the row's name")?;
                        p.expect(Eq, "`=`")?;
                        p.expect_word("descriptor")?;
                        let buffer = p.name("a buffer's name")?;
                        Ok(KeepRow { name, buffer, span: p.span_from(lo) })
                    })
                })?;
                Ok(LevelRows { level, keeps, span: p.span_from(lo) })
            })
        })?;
        Ok(ClauseKind::WorkingSet(rows))
    }

    fn movement(&mut self) -> P<ClauseKind> {
        self.bump();
        let rows = self.full_block("a row `traffic … from LEVEL to LEVEL`", |p| {
            let lo = p.here();
            p.node(SyntaxKind::TrafficRow, |p| {
                p.expect_word("traffic")?;
                let named = p.at(Name) && p.nth(1) == Eq;
                let name = if named { Some(p.take()) } else { None };
                if named {
                    p.bump();
                }
                let amount = p.expr()?;
                p.expect_word("from")?;
                let from = p.name("a level's name")?;
                p.expect_word("to")?;
                let to = p.name("a level's name")?;
                let and_back = p.eat_word("and");
                if and_back {
                    p.expect_word("back")?;
                }
                Ok(Traffic { name, amount, from, to, and_back, span: p.span_from(lo) })
            })
        })?;
        Ok(ClauseKind::Movement(rows))
    }

    /// The `=` that ends a header.
    pub(crate) fn header_end(&mut self) -> P<()> {
        if self.at(EqEq) {
            let report = self.error(codes::SYNTAX, "expected `=` and the body, found `==`");
            return Err(self.report(report.help("`==` compares; a body follows `=`")));
        }
        self.expect(Eq, "`=` and the body")
    }
}
