//! Tests of the whole crate: constructs, layout, precedence, refusals, and what holds of every text.

mod constructs;
mod corpus;
mod format;
mod layout;
mod precedence;
mod refusals;
mod restyle;
mod steps;
mod totality;

use crate::ast::{Expr, ExprKind, Index, Item, StmtKind, TypeArg, TypeKind};
use crate::{Parse, ast, parse};
use cachet_source::{FileId, Sources};

fn lossless(text: &str) -> Parse {
    let parsed = parse(text, FileId(0));
    assert_eq!(parsed.tree.text().to_string(), text);
    parsed
}

fn good(text: &str) -> ast::File {
    let parsed = lossless(text);
    assert_eq!(shown(text, &parsed), Vec::<String>::new(), "{text}");
    assert!(parsed.ast.broken.is_empty());
    parsed.ast
}

/// `LINE:COL CODE MESSAGE [TEXT]` for each report, and its helps.
fn shown(text: &str, parsed: &Parse) -> Vec<String> {
    let mut sources = Sources::new();
    let id = sources.add("t", text);
    let mut out = Vec::new();
    for d in &parsed.diagnostics {
        let span = d.span().unwrap();
        let at = sources.file(id).line_col(span.lo);
        out.push(format!("{}:{} {} {} [{}]", at.line, at.col, d.code.0, d.message, sources.text(span)));
        out.extend(d.helps.iter().map(|h| format!("help: {h}")));
    }
    out
}

fn item(text: &str) -> Item {
    let mut file = good(text);
    assert_eq!(file.items.len(), 1, "{text}");
    file.items.pop().unwrap()
}

/// The statements of `fn f () = …`, given at column 3.
fn stmts(body: &str) -> Vec<ast::Stmt> {
    match item(&format!("fn f () =\n{body}")) {
        Item::Fn(f) => f.body.stmts,
        other => panic!("{other:?}"),
    }
}

/// `let x = …` with this value.
fn expr(text: &str) -> Expr {
    match stmts(&format!("  let x = {text}\n")).pop().unwrap().kind {
        StmtKind::Let { value, .. } => value,
        other => panic!("{other:?}"),
    }
}

/// An expression with every operation in parentheses.
fn sexp(e: &Expr) -> String {
    let many = |items: &[Expr]| items.iter().map(sexp).collect::<Vec<_>>().join(" ");
    match &e.kind {
        ExprKind::Int(n) => n.to_string(),
        ExprKind::Float(t) => t.clone(),
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::Unit => "()".into(),
        ExprKind::Name(i) | ExprKind::Hole(i) => i.name.clone(),
        ExprKind::Field { base, field } => format!("{}.{}", sexp(base), field.name),
        ExprKind::Index { base, indices } => format!("{}{}", sexp(base), group(indices)),
        ExprKind::Apply { head, targs, args } => {
            let targs: String = targs.iter().map(|t| format!(" @{}", t.items.len())).collect();
            format!("({}{targs} {})", sexp(head), many(args))
        }
        ExprKind::Load { place, mask } => {
            let groups: String = place.groups.iter().map(|g| group(g)).collect();
            let mask = mask.as_ref().map_or(String::new(), |m| {
                let other = m.other.as_ref().map_or(String::new(), |o| format!(" else {}", sexp(o)));
                format!(" mask {}{other}", sexp(&m.count))
            });
            format!("(load {}{groups}{mask})", place.path.text())
        }
        ExprKind::Record { name, fields } => {
            let fields = fields.iter().map(|f| match &f.value {
                Some(v) => format!("{}={}", f.name.name, sexp(v)),
                None => f.name.name.clone(),
            });
            format!("{}{{{}}}", name.name, fields.collect::<Vec<_>>().join(" "))
        }
        ExprKind::Tuple(items) => format!("(tuple {})", many(items)),
        ExprKind::Unary { op, operand } => format!("({op:?} {})", sexp(operand)),
        ExprKind::Binary { op, lhs, rhs, .. } => format!("({} {} {})", op.text(), sexp(lhs), sexp(rhs)),
        ExprKind::Cast { value, ty } => format!("(as {} {})", sexp(value), ty_text(ty)),
        ExprKind::If { cond, then, els } => format!("(if {} {} {})", sexp(cond), sexp(then), sexp(els)),
        ExprKind::Block { stmts, value } => format!("(block {} {})", stmts.len(), sexp(value)),
        ExprKind::Fold { var, domain, from, acc, body, .. } => {
            format!("(fold {} {} {} {} {})", var.name, domain_text(domain), sexp(from), acc.name, sexp(body))
        }
        ExprKind::Sum { reassoc, binders, body } => {
            let flag = if reassoc.is_some() { "!" } else { "" };
            format!("(sum{flag} {} {})", binders_text(binders), sexp(body))
        }
        ExprKind::Reduce { reassoc, monoid, binders, body } => {
            let flag = if reassoc.is_some() { "!" } else { "" };
            format!("(reduce{flag} <{}> {} {})", ty_text(monoid), binders_text(binders), sexp(body))
        }
        ExprKind::TileReduce { monoid, axis, shape, body } => {
            format!(
                "(tile <{}> {} {:?} {})",
                ty_text(monoid),
                axis.name,
                std::mem::discriminant(&shape.kind) == std::mem::discriminant(&ast::ShapeKind::Halving),
                sexp(body)
            )
        }
    }
}

fn binders_text(binders: &[ast::Binder]) -> String {
    let one = |b: &ast::Binder| {
        let range = b.range.as_ref().map_or(String::new(), |(l, h)| format!(" in {} {}", sexp(l), sexp(h)));
        let guard = b.guard.as_ref().map_or(String::new(), |g| format!(" where {}", sexp(g)));
        format!("{}{range}{guard}", b.name.name)
    };
    format!("[{}]", binders.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn domain_text(d: &ast::Domain) -> String {
    match &d.kind {
        ast::DomainKind::Range { lo, hi } => format!("{}..{}", sexp(lo), sexp(hi)),
        ast::DomainKind::Blocks { lo, hi, size } => format!("blocks({}..{}){}", sexp(lo), sexp(hi), sexp(size)),
        ast::DomainKind::Hole(h) => h.name.clone(),
        ast::DomainKind::RankHole(h) => format!("{}..", h.name),
    }
}

fn group(indices: &[Index]) -> String {
    let one = |i: &Index| match i {
        Index::At(e) => sexp(e),
        Index::Window { lo, len, .. } => format!("{}..+{}", sexp(lo), sexp(len)),
        Index::Subst { name, value, .. } => format!("{}:={}", name.name, sexp(value)),
        Index::RankSubst { name, value, .. } => format!("{}..:={}..", name.name, value.name),
    };
    format!("[{}]", indices.iter().map(one).collect::<Vec<_>>().join(","))
}

fn ty_text(t: &ast::Type) -> String {
    match &t.kind {
        TypeKind::Named { path, args } => {
            let args = args.iter().map(|a| match a {
                TypeArg::Type(t) => format!(" {}", ty_text(t)),
                TypeArg::Size(e) => format!(" {}", sexp(e)),
            });
            format!("{}{}", path.text(), args.collect::<String>())
        }
        TypeKind::Array { element, extents } => {
            let extents: Vec<String> = extents.iter().map(sexp).collect();
            format!("[{}; {}]", ty_text(element), extents.join(", "))
        }
        TypeKind::Hole(h) => h.name.clone(),
    }
}
