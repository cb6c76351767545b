//! Types, type arguments, paths, `@` arguments.

use super::{CLAUSES, P, Parser};
use crate::ast::{Path, Targ, TargItem, Type, TypeArg, TypeKind};
use crate::kind::SyntaxKind::{self, At, Dot, Eq, Hole, Int, LBracket, LParen, Name, Semicolon};

impl Parser<'_> {
    /// `NAME.NAME`; a hole too in a step function.
    pub(crate) fn path(&mut self, what: &str) -> P<Path> {
        let lo = self.here();
        self.start(SyntaxKind::Path);
        let mut parts = vec![self.name(what)?];
        while self.at_field() {
            self.bump();
            parts.push(self.take());
        }
        self.finish();
        Ok(Path { parts, span: self.span_from(lo) })
    }

    /// A dot that belongs to a name: no blanks around it and a name after it.
    pub(crate) fn at_field(&self) -> bool {
        self.at(Dot) && self.touches() && self.nth(1) == Name && self.nth_touches(1)
    }

    /// A type with all arguments that follow it.
    pub(crate) fn type_(&mut self) -> P<Type> {
        self.type_with(|_| true)
    }

    /// A type whose arguments end where `more` fails.
    pub(crate) fn type_with(&mut self, more: impl Fn(&Self) -> bool) -> P<Type> {
        let lo = self.here();
        match self.peek() {
            LBracket => self.array(),
            LParen => self.deeper(|p| {
                let inner = p.bracketed(LParen, "a type", Parser::type_)?;
                Ok(Type { kind: inner.kind, span: p.span_from(lo) })
            }),
            Hole if self.mode.holes => {
                let hole = self.take();
                Ok(Type { span: hole.span, kind: TypeKind::Hole(hole) })
            }
            Name => {
                self.start(SyntaxKind::Type);
                let path = self.path("a type")?;
                let mut args = Vec::new();
                while self.at_type_arg() && more(self) {
                    args.push(self.type_arg()?);
                }
                self.finish();
                Ok(Type { kind: TypeKind::Named { path, args }, span: self.span_from(lo) })
            }
            _ => Err(self.unexpected("a type")),
        }
    }

    /// `[T; M, N]`.
    pub(crate) fn array(&mut self) -> P<Type> {
        self.deeper(|p| {
            let lo = p.here();
            p.node(SyntaxKind::Type, |p| {
                let (element, extents) = p.bracketed(LBracket, "a type", |p| {
                    let element = p.type_()?;
                    p.expect(Semicolon, "`;` and the extents")?;
                    Ok((element, p.list(Parser::expr)?))
                })?;
                let kind = TypeKind::Array { element: Box::new(element), extents };
                Ok(Type { kind, span: p.span_from(lo) })
            })
        })
    }

    pub(crate) fn at_type_arg(&self) -> bool {
        match self.peek() {
            Name => !(self.mode.header && CLAUSES.contains(&self.nth_text(0))),
            Hole => self.mode.holes,
            Int | LParen => true,
            LBracket => !self.touches(),
            _ => false,
        }
    }

    /// One argument of a named type.
    pub(crate) fn type_arg(&mut self) -> P<TypeArg> {
        match self.peek() {
            Int => Ok(TypeArg::Size(self.literal()?)),
            LBracket => Ok(TypeArg::Type(self.array()?)),
            LParen if self.nth(1) == LBracket => Ok(TypeArg::Type(self.type_()?)),
            LParen => Ok(TypeArg::Size(self.atom()?)),
            Hole => {
                let hole = self.name("a type argument")?;
                Ok(TypeArg::Type(Type { span: hole.span, kind: TypeKind::Hole(hole) }))
            }
            _ => {
                let path = self.path("a type argument")?;
                Ok(TypeArg::Type(Type { span: path.span, kind: TypeKind::Named { path, args: Vec::new() } }))
            }
        }
    }

    /// `@T @(S = PlusTimes f32)`.
    pub(crate) fn targs(&mut self) -> P<Vec<Targ>> {
        let mut targs = Vec::new();
        while self.at(At) {
            let lo = self.here();
            let items = self.node(SyntaxKind::TypeArgument, |p| {
                p.bump();
                match p.peek() {
                    LParen => p.deeper(|p| p.bracketed(LParen, "`(`", |p| p.list(Parser::targ_item))),
                    _ => Ok(vec![TargItem::Path(p.path("a type, or `(NAME = TYPE)`, after `@`")?)]),
                }
            })?;
            targs.push(Targ { items, span: self.span_from(lo) });
        }
        Ok(targs)
    }

    fn targ_item(&mut self) -> P<TargItem> {
        if self.at(Name) && self.nth(1) == Eq {
            let lo = self.here();
            let name = self.take();
            self.bump();
            let value = match self.peek() {
                Name | LBracket => TypeArg::Type(self.type_()?),
                Hole | LParen => self.type_arg()?,
                _ => TypeArg::Size(self.expr()?),
            };
            return Ok(TargItem::Bind { name, value, span: self.span_from(lo) });
        }
        Ok(TargItem::Value(self.expr()?))
    }
}
