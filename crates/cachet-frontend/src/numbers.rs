//! Whole numbers outside functions: the values of constants, what proofs assert, and functions of indices.
//!
//! A function of indices (`fn half (i: Nat) -> Nat = i / 2`) is written out wherever it is applied, so nothing is assumed
//! or proved of it by itself: what holds of its value is decided where it is used. It may be applied wherever an index,
//! a size or a condition on them stands.

use crate::elaborate::{Body, Done, Meaning, Reported, World};
use crate::scope::{self, ItemRef};
use cachet_core::ir::Ix;
use cachet_core::number::{Assertion, Claim, Comparison, Num, Order, Proof};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{self, BinaryOp, Expr, ExprKind, FnItem, FnResult, Ident, Item, StmtKind, UnaryOp};

/// How deep functions of indices may apply one another.
const MAX_CHAIN: usize = 64;

/// How often functions of indices may be applied, once what they apply is written out.
const MAX_APPLICATIONS: u32 = 1 << 16;

/// The most parts that the indices in a program may have where names stand for them.
const MOST_WRITTEN_OUT: usize = 1 << 21;

/// The most parts that a number may have once the functions that it applies are written out.
const MAX_PARTS: usize = 1 << 12;

/// What names mean while a number is read.
pub(crate) struct Numbers {
    /// The file.
    pub unit: usize,
    /// Parameters and `let`s of a function of indices.
    names: Vec<(String, Num)>,
    /// Whether a name that nothing defines is a size.
    open: bool,
    /// The sizes so far.
    pub sizes: Vec<String>,
    /// How many parts the values of names had, all uses together.
    copied: usize,
}

impl Numbers {
    /// Constants only.
    pub fn of_constants(unit: usize) -> Numbers {
        Numbers { unit, names: Vec::new(), open: false, sizes: Vec::new(), copied: 0 }
    }

    /// Constants, and variables that have no value yet: the sizes, in their order.
    pub fn of_variables(unit: usize, variables: impl Iterator<Item = String>) -> Numbers {
        let sizes: Vec<String> = variables.collect();
        let names = sizes.iter().zip(0..).map(|(name, n)| (name.clone(), Num::Size(n))).collect();
        Numbers { unit, names, open: false, sizes, copied: 0 }
    }

    /// Constants and sizes.
    pub fn with_sizes(unit: usize) -> Numbers {
        Numbers { unit, names: Vec::new(), open: true, sizes: Vec::new(), copied: 0 }
    }
}

/// Proofs, and functions of indices.
pub(crate) fn item(world: &mut World<'_>, r: ItemRef) -> Done<()> {
    let loaded = world.loaded;
    match &loaded.units[r.unit].ast.items[r.item] {
        Item::Proof(p) => proof(world, r, p),
        Item::Fn(f) if is_of_indices(f) => world.index_function(r, &f.name).map(|_| ()),
        _ => Ok(()),
    }
}

/// Whether a function gives an index.
pub(crate) fn is_of_indices(f: &FnItem) -> bool {
    matches!(&f.result, Some(FnResult::Type(t)) if is_nat(t))
}

fn is_nat(t: &ast::Type) -> bool {
    t.as_path().is_some_and(|p| p.text() == "Nat")
}

fn proof(world: &mut World<'_>, r: ItemRef, p: &ast::Proof) -> Done<()> {
    let mut asserts = Vec::new();
    for a in &p.asserts {
        let mut numbers = Numbers::with_sizes(r.unit);
        let claim = world.claim(&mut numbers, &a.condition)?;
        if claim.parts() > MAX_PARTS {
            return Err(world.too_many_parts(a.condition.span));
        }
        let text = world.written(a.condition.span);
        asserts.push(Assertion { sizes: numbers.sizes, claim, text, span: a.condition.span });
    }
    world.module.proofs.push(Proof { name: p.name.name.clone(), asserts, span: p.name.span });
    Ok(())
}

impl World<'_> {
    /// A span's text on one line, without comments.
    pub(crate) fn written(&self, span: Span) -> String {
        let lines = self.sources.text(span).lines().map(|l| l.split("//").next().unwrap_or(""));
        lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
    }

    fn too_many_parts(&mut self, span: Span) -> Reported {
        let message = format!("a number has more than {MAX_PARTS} parts once what it applies is written out");
        self.report(Diagnostic::error(codes::LIMIT, span, message))
    }

    /// A number.
    pub(crate) fn num(&mut self, numbers: &mut Numbers, e: &Expr) -> Done<Num> {
        match &e.kind {
            ExprKind::Int(n) => Ok(Num::Lit(*n)),
            _ if crate::elaborate::of_platform(e) => {
                self.platform_number(numbers.unit, e).map(|n| Num::Lit(i128::from(n)))
            }
            ExprKind::Name(name) => self.num_name(numbers, name),
            ExprKind::Unary { op: UnaryOp::Neg, operand } => {
                Ok(Num::Sub(Box::new(Num::Lit(0)), Box::new(self.num(numbers, operand)?)))
            }
            ExprKind::Binary { op, lhs, rhs, .. } => {
                let make = match op {
                    BinaryOp::Add => Num::Add,
                    BinaryOp::Sub => Num::Sub,
                    BinaryOp::Mul => Num::Mul,
                    BinaryOp::Div => Num::Div,
                    BinaryOp::Rem => Num::Mod,
                    _ => return Err(self.not_a_number(e)),
                };
                Ok(make(Box::new(self.num(numbers, lhs)?), Box::new(self.num(numbers, rhs)?)))
            }
            ExprKind::Apply { head, targs, args } if targs.is_empty() => self.num_apply(numbers, head, args, e),
            ExprKind::If { cond, then, els } => {
                let c = self.claim(numbers, cond)?;
                Ok(Num::If(Box::new(c), Box::new(self.num(numbers, then)?), Box::new(self.num(numbers, els)?)))
            }
            ExprKind::Block { stmts, value } => {
                let depth = numbers.names.len();
                for s in stmts {
                    let (name, value) = self.plain_let(s)?;
                    let value = self.num(numbers, value)?;
                    numbers.names.push((name.name.clone(), value));
                }
                let value = self.num(numbers, value);
                numbers.names.truncate(depth);
                value
            }
            _ => Err(self.not_a_number(e)),
        }
    }

    /// `let x = e` without a type of words.
    pub(crate) fn plain_let<'s>(&mut self, s: &'s ast::Stmt) -> Done<(&'s Ident, &'s Expr)> {
        match &s.kind {
            StmtKind::Let { name, ty, value } if ty.as_ref().is_none_or(is_nat) => Ok((name, value)),
            _ => {
                let message = "a function of indices has a value, and only `let` stands before it";
                Err(self.report(Diagnostic::error(codes::SYNTAX, s.span, message)))
            }
        }
    }

    fn not_a_number(&mut self, e: &Expr) -> Reported {
        let d = match &e.kind {
            ExprKind::Float(_) => Diagnostic::error(codes::WORD_AS_INDEX, e.span, "a whole number is wanted here"),
            _ => Diagnostic::error(
                codes::WORD_AS_INDEX,
                e.span,
                "this is not a whole number: constants, sizes and their arithmetic are",
            ),
        };
        self.report(d)
    }

    fn num_name(&mut self, numbers: &mut Numbers, name: &Ident) -> Done<Num> {
        if let Some((_, n)) = numbers.names.iter().rev().find(|(n, _)| *n == name.name) {
            numbers.copied += n.parts();
            return if numbers.copied > 4 * MAX_PARTS { Err(self.too_many_parts(name.span)) } else { Ok(n.clone()) };
        }
        match self.scope.find(numbers.unit, &name.name) {
            Some(r) => match self.constant(r, &name.name) {
                Some(n) => Ok(Num::Lit(i128::from(n))),
                None if self.refused.contains(&r) => Err(Reported),
                None => {
                    let what = if self.words.contains_key(&r) { "a word, not a whole number" } else { self.item(r) };
                    let message = format!("`{}` is {what}, and a whole number is wanted here", name.name);
                    Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, name.span, message)))
                }
            },
            None if numbers.open => {
                let at = numbers.sizes.iter().position(|s| *s == name.name).unwrap_or_else(|| {
                    numbers.sizes.push(name.name.clone());
                    numbers.sizes.len() - 1
                });
                Ok(Num::Size(at as u32))
            }
            None => {
                let known: Vec<&str> = self.scope.names(numbers.unit).collect();
                let known = numbers.names.iter().map(|(n, _)| n.as_str()).chain(known);
                let d = scope::unknown(name, "constant", known);
                Err(self.report(d))
            }
        }
    }

    fn num_apply(&mut self, numbers: &mut Numbers, head: &Expr, args: &[Expr], e: &Expr) -> Done<Num> {
        let Some(name) = head.as_ident() else { return Err(self.not_a_number(e)) };
        if let Some(r) = self.index_function_named(numbers.unit, &name.name) {
            let f = self.index_function(r, name)?;
            self.same_number(name, f.params.len(), args.len(), e.span)?;
            let mut inner = Numbers::of_constants(r.unit);
            for (p, a) in f.params.iter().zip(args) {
                inner.names.push((p.name.name.clone(), self.num(numbers, a)?));
            }
            let value = self.written_out(name, e.span, |world| match f.body.to_expr() {
                Some(body) => world.num(&mut inner, &body),
                None => Err(Reported),
            })?;
            return if value.parts() > MAX_PARTS { Err(self.too_many_parts(e.span)) } else { Ok(value) };
        }
        let pair = |world: &mut Self, numbers: &mut Numbers, a: &Expr, b: &Expr| {
            Ok::<_, Reported>((Box::new(world.num(numbers, a)?), Box::new(world.num(numbers, b)?)))
        };
        match (name.name.as_str(), args) {
            ("min", [a, b]) => pair(self, numbers, a, b).map(|(a, b)| Num::Min(a, b)),
            ("max", [a, b]) => pair(self, numbers, a, b).map(|(a, b)| Num::Max(a, b)),
            ("floor", [a]) => self.num(numbers, a),
            ("ceil", [Expr { kind: ExprKind::Binary { op: BinaryOp::Div, lhs, rhs, .. }, .. }]) => {
                pair(self, numbers, lhs, rhs).map(|(a, b)| Num::Ceil(a, b))
            }
            ("ceil", [a]) => self.num(numbers, a),
            ("min" | "max", _) => Err(self.wrong_number(name, 2, args.len(), e.span)),
            ("ceil" | "floor", _) => Err(self.wrong_number(name, 1, args.len(), e.span)),
            _ => match self.scope.find(numbers.unit, &name.name) {
                Some(r) if self.refused.contains(&r) => Err(Reported),
                Some(_) => Err(self.not_a_number(e)),
                None => {
                    let known: Vec<&str> =
                        self.scope.names(numbers.unit).chain(["min", "max", "ceil", "floor"]).collect();
                    let d = scope::unknown(name, "function of whole numbers", known.into_iter());
                    Err(self.report(d))
                }
            },
        }
    }

    fn same_number(&mut self, name: &Ident, wanted: usize, given: usize, span: Span) -> Done<()> {
        if wanted == given { Ok(()) } else { Err(self.wrong_number(name, wanted, given, span)) }
    }

    fn wrong_number(&mut self, name: &Ident, wanted: usize, given: usize, span: Span) -> Reported {
        let s = if wanted == 1 { "" } else { "s" };
        let message = format!("`{}` takes {wanted} argument{s}, and {}", name.name, scope::given(given));
        let d = Diagnostic::error(codes::ARITY, span, message);
        self.report(d.note(
            "arguments stand side by side, what is more than a name or a literal in parentheses: `f (x + 1.0) y`",
        ))
    }

    /// A statement about numbers.
    pub(crate) fn claim(&mut self, numbers: &mut Numbers, e: &Expr) -> Done<Claim> {
        match &e.kind {
            ExprKind::Bool(b) => Ok(Claim::Const(*b)),
            ExprKind::Unary { op: UnaryOp::Not, operand } => Ok(Claim::Not(Box::new(self.claim(numbers, operand)?))),
            ExprKind::Binary { op, lhs, rhs, .. } => {
                let order = match op {
                    BinaryOp::And | BinaryOp::Or => {
                        let (a, b) = (Box::new(self.claim(numbers, lhs)?), Box::new(self.claim(numbers, rhs)?));
                        return Ok(if *op == BinaryOp::And { Claim::And(a, b) } else { Claim::Or(a, b) });
                    }
                    BinaryOp::Eq => Order::Eq,
                    BinaryOp::Ne => Order::Ne,
                    BinaryOp::Lt => Order::Lt,
                    BinaryOp::Le => Order::Le,
                    BinaryOp::Gt => Order::Gt,
                    BinaryOp::Ge => Order::Ge,
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
                        return Err(self.not_a_statement(e));
                    }
                };
                let (a, b) = (self.num(numbers, lhs)?, self.num(numbers, rhs)?);
                let texts = (self.written(lhs.span), self.written(rhs.span));
                Ok(Claim::Compare(Box::new(Comparison { order, lhs: a, rhs: b, texts })))
            }
            _ => Err(self.not_a_statement(e)),
        }
    }

    fn not_a_statement(&mut self, e: &Expr) -> Reported {
        let message = "a comparison of whole numbers is wanted here, as `M <= N`";
        self.report(Diagnostic::error(codes::TYPE_MISMATCH, e.span, message))
    }

    /// The function of indices that a name means.
    pub(crate) fn index_function_named(&self, unit: usize, name: &str) -> Option<ItemRef> {
        let r = self.scope.find(unit, name)?;
        match &self.loaded.units[r.unit].ast.items[r.item] {
            Item::Fn(f) if is_of_indices(f) => Some(r),
            _ => None,
        }
    }

    /// A function of indices, found to be one at its first use: its parameters are indices, and its body is a number
    /// whatever they are.
    pub(crate) fn index_function(&mut self, r: ItemRef, used: &Ident) -> Done<FnItem> {
        if self.refused.contains(&r) {
            return Err(Reported);
        }
        if !self.index_functions.contains(&r) {
            self.not_circular(r, used, MAX_CHAIN)?;
            self.pending.push(r);
            let done = self.check_index_function(r);
            self.pending.pop();
            if let Err(reported) = done {
                self.refused.insert(r);
                return Err(reported);
            }
            self.index_functions.insert(r);
        }
        let loaded = self.loaded;
        match &loaded.units[r.unit].ast.items[r.item] {
            Item::Fn(f) => Ok(f.clone()),
            _ => Err(Reported),
        }
    }

    fn check_index_function(&mut self, r: ItemRef) -> Done<()> {
        let loaded = self.loaded;
        let Item::Fn(f) = &loaded.units[r.unit].ast.items[r.item] else { return Err(Reported) };
        if let Some(p) = f.tparams.first() {
            return Err(self.report(Diagnostic::not_built(p.span, "type parameters of functions of indices")));
        }
        if let Some(c) = f.clauses.first() {
            return Err(self.report(Diagnostic::not_built(c.span, "clauses of functions of indices")));
        }
        let mut numbers = Numbers::of_constants(r.unit);
        for (i, p) in f.params.iter().enumerate() {
            if p.mode.is_some() || !is_nat(&p.ty.ty) || p.ty.layout.is_some() || p.ty.level.is_some() {
                let message = format!("`{}` gives an index, so its parameters are indices", f.name.name);
                let d = Diagnostic::error(codes::WORD_AS_INDEX, p.span, message);
                return Err(self.report(d.help(format!("write `({}: Nat)`", p.name.name))));
            }
            if numbers.names.iter().any(|(n, _)| *n == p.name.name) {
                let message = format!("`{}` is defined already", p.name.name);
                return Err(self.report(Diagnostic::error(codes::DUPLICATE_NAME, p.name.span, message)));
            }
            numbers.names.push((p.name.name.clone(), Num::Size(i as u32)));
        }
        let Some(body) = f.body.to_expr() else {
            let message = format!("`{}` has to end in a value", f.name.name);
            return Err(self.report(Diagnostic::error(codes::SYNTAX, f.body.span, message)));
        };
        let value = self.num(&mut numbers, &body)?;
        if value.parts() > MAX_PARTS { Err(self.too_many_parts(body.span)) } else { Ok(()) }
    }

    /// Runs `f` on a function's body; what is reported there says where it is applied.
    fn written_out<T>(&mut self, name: &Ident, span: Span, f: impl FnOnce(&mut Self) -> Done<T>) -> Done<T> {
        self.applications += 1;
        if self.applications > MAX_APPLICATIONS {
            let message = format!("functions of indices are applied more than {MAX_APPLICATIONS} times");
            return Err(self.report(Diagnostic::error(codes::LIMIT, span, message)));
        }
        let before = self.out.len();
        let result = f(self);
        if result.is_err() {
            for d in &mut self.out[before..] {
                let label = format!("`{}` is applied here", name.name);
                d.labels.push(cachet_source::Label { span, text: label, primary: false });
            }
        }
        result
    }

    /// A function of indices applied to indices of a body.
    pub(crate) fn ix_written_out(
        &mut self,
        body: &Body,
        r: ItemRef,
        args: &[Expr],
        e: &Expr,
        name: &Ident,
    ) -> Done<Ix> {
        let f = self.index_function(r, name)?;
        self.same_number(name, f.params.len(), args.len(), e.span)?;
        let mut inner = Body::new(r.unit);
        for (p, a) in f.params.iter().zip(args) {
            let ix = self.ix(body, a)?;
            self.name_index(&mut inner, &p.name, ix, a.span)?;
        }
        let ix = self.written_out(name, e.span, |world| match f.body.to_expr() {
            Some(value) => world.ix_value(&mut inner, &value),
            None => Err(Reported),
        })?;
        if parts(&ix) > MAX_PARTS { Err(self.too_many_parts(e.span)) } else { Ok(ix) }
    }

    /// An index in the place of its name: a name is short, and what it stands for need not be.
    pub(crate) fn index_used(&mut self, ix: Ix, span: Span) -> Done<Ix> {
        // Once is enough: what comes after it is refused as well.
        if self.written_out > MOST_WRITTEN_OUT {
            return Err(Reported);
        }
        self.written_out = self.written_out.saturating_add(parts(&ix));
        if self.written_out > MOST_WRITTEN_OUT {
            let message = format!("names of indices stand for more than {MOST_WRITTEN_OUT} parts in all");
            return Err(self.report(Diagnostic::error(codes::LIMIT, span, message)));
        }
        Ok(ix)
    }

    /// Binds a name to an index. The name is another way to write the index, so names of names would double it.
    pub(crate) fn name_index(&mut self, body: &mut Body, name: &Ident, ix: Ix, span: Span) -> Done<()> {
        if parts(&ix) > MAX_PARTS {
            return Err(self.too_many_parts(span));
        }
        body.bind(name, Meaning::Ix(ix));
        Ok(())
    }

    /// An index, perhaps after `let`s.
    fn ix_value(&mut self, body: &mut Body, e: &Expr) -> Done<Ix> {
        let ExprKind::Block { stmts, value } = &e.kind else { return self.ix(body, e) };
        for s in stmts {
            let (name, value) = self.plain_let(s)?;
            let ix = self.ix_value(body, value)?;
            self.name_index(body, name, ix, value.span)?;
        }
        self.ix_value(body, value)
    }
}

fn parts(ix: &Ix) -> usize {
    let mut parts = Parts(0);
    cachet_core::rewrite::Visit::ix(&mut parts, ix);
    parts.0
}

struct Parts(usize);

impl cachet_core::rewrite::Visit for Parts {
    fn ix(&mut self, ix: &Ix) {
        self.0 += 1;
        cachet_core::rewrite::visit_ix(self, ix);
    }
}
