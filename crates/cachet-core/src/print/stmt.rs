//! Statements and functions as text.

use super::expr::{Level, Names, untyped_elem};
use super::plain::plain;
use super::value::unambiguous;
use crate::ir::{Block, BufferInfo, Elem, Fun, Grid, Layout, Program, Role, Stmt, StmtKind, Ty, Word};
use crate::resources::Resources;
use crate::vectors::{self, Lanes};
use std::fmt::Write;

/// Lines longer than this are broken where the language allows it.
pub(super) const WIDTH: usize = 100;

/// A function as it is written: head, clauses, body.
pub fn listing(program: &Program, fun: &Fun) -> String {
    let fun = &plain(program, unambiguous(fun));
    let mut out = signature(program, fun);
    out.push_str("=\n");
    let names = Names::of(program, fun);
    if fun.body.is_empty() {
        out.push_str("  ()\n");
    }
    block(&names, &fun.body, 1, &mut out);
    out
}

/// Statements on their own, as they stand in a function's body but without its indentation.
pub fn statements(names: &Names<'_>, stmts: &Block) -> String {
    let mut out = String::new();
    block(names, stmts, 0, &mut out);
    out
}

/// A function's head: name, parameters and clauses, a line each.
pub fn signature(program: &Program, fun: &Fun) -> String {
    let names = Names::of(program, fun);
    let mut out = format!("fn {}", fun.name);
    let interface = |i: u32| program.interfaces.get(i as usize).map_or("?", |i| i.name.as_str());
    let mut params: Vec<String> =
        fun.type_params.iter().map(|p| format!("{} : {}", p.name, interface(p.interface))).collect();
    params.extend(fun.named_sizes().map(|at| format!("{} : Nat", names.var(fun.sizes[at]))));
    if !params.is_empty() {
        let _ = write!(out, " {{{}}}", params.join(", "));
    }
    if fun.params.is_empty() {
        out.push_str(" ()");
    }
    out.push('\n');
    for p in &fun.params {
        let info = &fun.buffers[p.index()];
        let mode = match info.role {
            Role::Reads => "reads",
            Role::Mut | Role::Alloc | Role::Lease(_) => "mut",
        };
        let _ = writeln!(out, "    ({mode} {}: {})", info.name, buffer_type(&names, info));
    }
    clause(&mut out, "requires", fun.requires.iter().map(|g| names.requirement(g)));
    clause(&mut out, "produces", fun.produces.iter().map(|b| format!("Init {}", names.buffer(*b))));
    clause(&mut out, "scratch", fun.scratch.iter().map(|b| names.buffer(*b).to_string()));
    resources(&mut out, &names, &fun.resources);
    out
}

/// `working_set` and `movement`.
fn resources(out: &mut String, names: &Names<'_>, resources: &Resources) {
    if !resources.keeps.is_empty() {
        out.push_str("working_set\n");
    }
    for rows in resources.keeps.chunk_by(|a, b| a.level == b.level) {
        let keeps: Vec<String> =
            rows.iter().map(|k| format!("keep {} = descriptor {}", k.name, names.buffer(k.buffer))).collect();
        let _ = writeln!(out, "  @{} {{ {} }}", rows[0].level.name, keeps.join(", "));
    }
    let Some(movement) = &resources.movement else { return };
    out.push_str("movement\n");
    for row in movement {
        let name = row.name.as_ref().map_or(String::new(), |n| format!("{n} = "));
        let back = if row.back { " and back" } else { "" };
        let text = row.amount.text(names);
        let line = format!("  traffic {name}{text} from {} to {}{back}", row.from.name, row.to.name);
        match line.rfind(" * ") {
            Some(at) if line.len() > WIDTH => {
                let _ = writeln!(out, "{} *\n    {}", &line[..at], &line[at + 3..]);
            }
            _ => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
}

fn clause(out: &mut String, word: &str, parts: impl Iterator<Item = String>) {
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        let _ = writeln!(out, "{word} {}", parts.join(", "));
    }
}

fn buffer_type(names: &Names<'_>, info: &BufferInfo) -> String {
    let extents: Vec<String> = info.extents.iter().map(|e| names.ix(e)).collect();
    let mut out = format!("[{}; {}]", names.ty(&info.elem), extents.join(", "));
    if let Layout::Named { name, ops: _ } = &info.layout {
        let _ = write!(out, " in {name}");
    }
    if info.level.name != "DRAM" {
        let _ = write!(out, " at {}", info.level.name);
    }
    out
}

fn block(names: &Names<'_>, stmts: &Block, depth: usize, out: &mut String) {
    let mut before: Option<&Stmt> = None;
    for (n, s) in stmts.iter().enumerate() {
        let vector = before.and_then(|b| vectors::let_named(names.vars, names.locals, b, s));
        let lanes =
            vectors::of(names.vars, s).filter(|l| vectors::is_written(names.program, names.vars, names.locals, l));
        let declares = stmts.get(n + 1).is_some_and(|next| {
            vectors::let_named(names.vars, names.locals, s, next).is_some()
                && vectors::of(names.vars, next)
                    .is_some_and(|l| vectors::is_written(names.program, names.vars, names.locals, &l))
        });
        match (vector, lanes) {
            (Some(v), Some(lanes)) => {
                let info = &names.locals[v.local.index()];
                let head = format!("let {}: {} =", info.name, names.local_type(info));
                indent(out, depth);
                assigned(&Names { lanes: Some(lanes), ..*names }, &head, v.word, Some(&info.ty), depth, out);
            }
            (None, Some(lanes)) => vector_statement(names, &lanes, depth, out),
            // It is written with the statement that fills it.
            _ if declares => {}
            _ => stmt(names, s, depth, out),
        }
        before = Some(s);
    }
}

fn vector_statement(names: &Names<'_>, lanes: &Lanes<'_>, depth: usize, out: &mut String) {
    let inside = Names { lanes: Some(*lanes), ..*names };
    let (head, word, ty) = match &lanes.stmt.kind {
        StmtKind::Store { to, word } => {
            let cells = names.lane_cells(to, lanes).unwrap_or_else(|| names.access(to));
            let ty = names.buffers.get(to.buffer.index()).map(|b| &b.elem);
            if lanes.masked() {
                indent(out, depth);
                let _ = writeln!(out, "store {cells} = {} mask {}", inside.word(word), names.ix(lanes.active));
                return;
            }
            (format!("store {cells} ="), word, ty)
        }
        StmtKind::Assign { local, at, word } => {
            let at = at.split_last().map_or(&[][..], |(_, at)| at);
            (format!("{} =", names.cell(names.local(*local), at)), word, names.local_ty(*local))
        }
        _ => return,
    };
    indent(out, depth);
    assigned(&inside, &head, word, ty, depth, out);
}

fn indent(out: &mut String, depth: usize) {
    for _ in 0..depth {
        out.push_str("  ");
    }
}

fn stmt(names: &Names<'_>, s: &Stmt, depth: usize, out: &mut String) {
    indent(out, depth);
    match &s.kind {
        StmtKind::For { .. } => nest(names, s, depth, out),
        StmtKind::Grid(g) => grid(names, g, depth, out),
        StmtKind::If { guard, then, els } => {
            let _ = writeln!(out, "if {} then", names.guard(guard));
            block(names, then, depth + 1, out);
            if !els.is_empty() {
                indent(out, depth);
                out.push_str("else\n");
                block(names, els, depth + 1, out);
            }
        }
        StmtKind::Let { local, word } => {
            assigned(names, &names.let_head(*local, word), word, names.local_ty(*local), depth, out);
        }
        StmtKind::Var { local, init } => {
            let info = &names.locals[local.index()];
            let head = format!("var {}: {} =", info.name, names.local_type(info));
            match info.vector {
                true => {
                    let _ = writeln!(out, "{head} {}", names.splat(init, &info.ty));
                }
                false => assigned(names, &head, init, Some(&info.ty), depth, out),
            }
        }
        StmtKind::Assign { local, at, word } => {
            let head = format!("{} =", names.cell(names.local(*local), at));
            assigned(names, &head, word, names.local_ty(*local), depth, out);
        }
        StmtKind::Store { to, word } => {
            let ty = names.buffers.get(to.buffer.index()).map(|b| &b.elem);
            assigned(names, &format!("store {} =", names.access(to)), word, ty, depth, out);
        }
        StmtKind::Alloc(b) => {
            let info = &names.buffers[b.index()];
            let _ = writeln!(out, "alloc {}: {}", info.name, buffer_type(names, info));
        }
        StmtKind::Lease { lease, of, mutable } => {
            let info = &names.buffers[lease.index()];
            let mutable = if *mutable { "mut " } else { "" };
            let _ = writeln!(out, "lease {mutable}{} = {} at {}", info.name, names.buffer(*of), info.level.name);
        }
        StmtKind::Call(c) => {
            let fun = names.program.funs.get(c.fun.index());
            out.push_str(fun.map_or("?", |f| &f.name));
            let types: Vec<String> = c
                .types
                .iter()
                .enumerate()
                .map(|(i, b)| {
                    let param = fun.and_then(|f| f.type_params.get(i)).map_or("?", |p| &p.name);
                    format!("{param} = {}", names.binding(*b))
                })
                .chain(fun.into_iter().flat_map(|f| {
                    f.named_sizes().filter_map(|at| {
                        let name = &f.vars[f.sizes[at].index()].name;
                        c.sizes.get(at).map(|value| format!("{name} = {}", names.size_argument(value)))
                    })
                }))
                .collect();
            if !types.is_empty() {
                let _ = write!(out, " @({})", types.join(", "));
            }
            for a in &c.args {
                match &a.axes {
                    None => {
                        let _ = write!(out, " {}", names.buffer(a.buffer));
                    }
                    Some(axes) => {
                        let _ = write!(out, " {}", names.window(a.buffer, axes));
                    }
                }
            }
            if c.args.is_empty() {
                out.push_str(" ()");
            }
            out.push('\n');
        }
        StmtKind::Print(w) => {
            // Nothing says the type of what is printed; a number by itself is an f64 or an i64.
            if let Some(elem) = untyped_elem(w).filter(|e| !matches!(e, Elem::F64 | Elem::I64 | Elem::Bool)) {
                let ty = Ty::Elem(elem);
                let text = names.word_in(w, Level::Open, Some(&ty));
                let _ = writeln!(out, "print (let printed: {} = {text} in printed)", names.ty(&ty));
                return;
            }
            let text = names.word(w);
            let atom = matches!(w, Word::Local(..) | Word::Tuple(_) | Word::Part(..));
            let _ = writeln!(out, "{}", if atom { format!("print {text}") } else { format!("print ({text})") });
        }
    }
}

/// `head word`, or the word on the lines below where it is a fold, has lines of its own or is too long; `ty` is the type
/// of its place.
fn assigned(names: &Names<'_>, head: &str, word: &Word, ty: Option<&Ty>, depth: usize, out: &mut String) {
    let lines = names.lines(word, ty);
    match lines.as_slice() {
        [one] if !matches!(word, Word::Fold(_)) && 2 * depth + head.len() + 1 + one.len() <= WIDTH => {
            let _ = writeln!(out, "{head} {one}");
        }
        lines => {
            let _ = writeln!(out, "{head}");
            for line in lines {
                indent(out, depth + 1);
                let _ = writeln!(out, "{line}");
            }
        }
    }
}

/// A nest of loops. A nest that only fills cells stands on one line, as its loops are of no interest.
fn nest(names: &Names<'_>, s: &Stmt, depth: usize, out: &mut String) {
    let mut heads = Vec::new();
    let mut inner = s;
    let body = loop {
        let StmtKind::For { var, domain, body } = &inner.kind else { return };
        heads.push(format!("for {} in {} do", names.var(*var), names.domain(domain)));
        match body.as_slice() {
            [only] if matches!(only.kind, StmtKind::For { .. }) && vectors::of(names.vars, only).is_none() => {
                inner = only
            }
            _ => break body,
        }
    };
    let fills = matches!(body.as_slice(), [Stmt { kind: StmtKind::Store { word, .. }, .. }] if is_constant(word));
    if fills && 2 * depth + heads.iter().map(|h| h.len() + 1).sum::<usize>() <= WIDTH {
        let _ = writeln!(out, "{}", heads.join(" "));
        block(names, body, depth + 1, out);
        return;
    }
    for (i, head) in heads.iter().enumerate() {
        if i > 0 {
            indent(out, depth + i);
        }
        let _ = writeln!(out, "{head}");
    }
    block(names, body, depth + heads.len(), out);
}

fn is_constant(word: &Word) -> bool {
    match word {
        Word::Lit(_) => true,
        Word::Op { op: _, arith: _, args } => args.is_empty(),
        Word::Tuple(parts) => parts.iter().all(is_constant),
        _ => false,
    }
}

fn grid(names: &Names<'_>, g: &Grid, depth: usize, out: &mut String) {
    let on =
        if g.device == crate::ir::Device::HOST { String::new() } else { format!(" on {}", names.device(g.device)) };
    let axes: Vec<String> = g.axes.iter().map(|(v, d)| format!("{} in {}", names.var(*v), names.domain(d))).collect();
    let _ = write!(out, "grid{on} {}", axes.join(", "));
    if !g.writes.is_empty() {
        let windows: Vec<String> = g.writes.iter().map(|w| names.window(w.buffer, &w.axes)).collect();
        out.push('\n');
        indent(out, depth + 2);
        let _ = write!(out, "writes {}", windows.join(", "));
    }
    out.push_str(" do\n");
    block(names, &g.body, depth + 1, out);
}

#[cfg(test)]
mod tests {
    use super::{Names, statements};
    use crate::ir::{At, Device, Elem, Lit, Op, Prim, Program, Stmt, StmtKind, Word};

    #[test]
    fn what_is_printed_keeps_its_type() {
        let program = Program::default();
        let names = Names::of_tables(&program, &[], &[], (&[], &[]));
        let said = |word: Word| statements(&names, &vec![Stmt { kind: StmtKind::Print(word), span: At::default() }]);
        let lit = |elem: Elem, bits: u64| Word::Lit(Lit { elem, bits });
        let single = |x: f32| lit(Elem::F32, u64::from(x.to_bits()));
        let double = lit(Elem::F64, (-1.5f64).to_bits());
        assert_eq!(said(single(-1.8707005)), "print (let printed: f32 = -1.8707005 in printed)\n");
        assert_eq!(said(double), "print (-1.5)\n");
        assert_eq!(said(lit(Elem::I64, 7)), "print (7)\n");
        assert_eq!(said(lit(Elem::U8, 7)), "print (let printed: u8 = 7 in printed)\n");
        assert_eq!(said(lit(Elem::Bool, 1)), "print (true)\n");
        let sum = Word::Op { op: Op::Prim(Prim::Add), arith: Device::HOST, args: vec![single(0.5), single(0.25)] };
        assert_eq!(said(sum), "print (let printed: f32 = 0.5 + 0.25 in printed)\n");
    }
}
