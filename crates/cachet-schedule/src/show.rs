//! Patterns and parts of programs in words, for messages.

use cachet_core::ir::{BlockPart, Stmt, StmtKind, Word};
use cachet_core::pattern::{
    Param, ParamKind, Params, Pat, PatCell, PatDomain, PatGuard, PatIx, PatSubst, PatTy, PatWord, StepDef,
};
use cachet_core::print::Names;
use cachet_core::vectors;
use std::fmt::Write;

/// `hoist (j, k) c`
pub fn head(step: &StepDef) -> String {
    let param = |p: &Param| if p.kind == ParamKind::Loops { format!("{}..", p.name) } else { p.name.clone() };
    let params = step.params.iter().map(|p| match p {
        Params::One(p) => param(p),
        Params::Tuple(ps) => format!("({})", ps.iter().map(param).collect::<Vec<_>>().join(", ")),
    });
    std::iter::once(step.name.clone()).chain(params).collect::<Vec<_>>().join(" ")
}

/// A statement in a few words.
pub fn kind(names: &Names<'_>, stmt: &Stmt) -> String {
    match &stmt.kind {
        StmtKind::For { var, .. } if vectors::count_of(names.vars, *var).is_some() => "a vector statement".into(),
        StmtKind::For { var, .. } => format!("a loop over {}", names.var(*var)),
        StmtKind::Grid(_) => "a grid".into(),
        StmtKind::If { .. } => "an `if`".into(),
        StmtKind::Let { local, .. } => format!("`let {}`", names.local(*local)),
        StmtKind::Var { local, .. } => format!("`var {}`", names.local(*local)),
        StmtKind::Assign { local, .. } => format!("an assignment to {}", names.local(*local)),
        StmtKind::Store { to, .. } => format!("a store to {}", names.access(to)),
        StmtKind::Alloc(_) => "an `alloc`".into(),
        StmtKind::Lease { .. } => "a lease".into(),
        StmtKind::Call(_) => "a call".into(),
        StmtKind::Print(_) => "a `print`".into(),
    }
}

/// A statement of a pattern in a few words.
pub fn pat_kind(pat: &Pat) -> String {
    match pat {
        Pat::Hole(name, _) => format!("`{name}`"),
        Pat::For { var, .. } => format!("a loop over {var}"),
        Pat::ForAll { vars, .. } => format!("a nest of loops over {vars}"),
        Pat::Grid { .. } => "a grid".into(),
        Pat::If { .. } => "an `if`".into(),
        Pat::Let { .. } => "a `let`".into(),
        Pat::Var { .. } => "a `var`".into(),
        Pat::Assign { .. } => "an assignment".into(),
        Pat::Store { word, .. } => match word {
            PatWord::Fold { .. } => "a store of a sum".into(),
            _ => "a store".into(),
        },
    }
}

/// A word in a few words.
pub fn word_kind(names: &Names<'_>, word: &Word) -> String {
    match word {
        Word::Fold(f) => format!("a sum over {}", names.var(f.var)),
        other => {
            let text = names.word(other);
            if text.chars().count() <= 60 { text } else { "another word".into() }
        }
    }
}

/// A word of a pattern in a few words.
pub fn pat_word_kind(pat: &PatWord) -> String {
    match pat {
        PatWord::Fold { var, .. } => format!("a sum over {var}"),
        other => word(other),
    }
}

/// A step's `from`, as it is written.
pub fn from(step: &StepDef) -> String {
    let mut out = String::new();
    block(&step.from, 0, &mut out);
    out.trim_end().to_string()
}

fn block(pats: &[Pat], depth: usize, out: &mut String) {
    for p in pats {
        let pad = "  ".repeat(depth);
        match p {
            Pat::Hole(name, all) => {
                let _ = writeln!(out, "{pad}{name}{}", substs(all));
            }
            Pat::For { var, domain: d, body, .. } => {
                let _ = writeln!(out, "{pad}for {var} in {} do", domain(d));
                block(body, depth + 1, out);
            }
            Pat::ForAll { vars, domains, body, .. } => {
                let _ = writeln!(out, "{pad}for {vars}.. in {domains}.. do");
                block(body, depth + 1, out);
            }
            Pat::Grid { var, domain: d, body, .. } => {
                let _ = writeln!(out, "{pad}grid {var} in {} do", domain(d));
                block(body, depth + 1, out);
            }
            Pat::If { guard: g, then, els, .. } => {
                let _ = writeln!(out, "{pad}if {} then", guard(g));
                block(then, depth + 1, out);
                if !els.is_empty() {
                    let _ = writeln!(out, "{pad}else");
                    block(els, depth + 1, out);
                }
            }
            Pat::Let { local, word: w, .. } => {
                let _ = writeln!(out, "{pad}let {local} = {}", word(w));
            }
            Pat::Var { local, init, .. } => {
                let _ = writeln!(out, "{pad}var {local} = {}", word(init));
            }
            Pat::Assign { local, word: w, .. } => {
                let _ = writeln!(out, "{pad}{local} = {}", word(w));
            }
            Pat::Store { to, word: w, .. } => {
                let _ = writeln!(out, "{pad}store {} = {}", cell(to), word(w));
            }
        }
    }
}

fn domain(d: &PatDomain) -> String {
    match d {
        PatDomain::Hole(name) => name.clone(),
        PatDomain::Range(a, b) => format!("{} .. {}", ix(a), ix(b)),
        PatDomain::Blocks(a, b, n) => format!("blocks ({} .. {}) {}", ix(a), ix(b), ix(n)),
    }
}

/// An index of a pattern.
pub fn ix(i: &PatIx) -> String {
    let two = |a: &PatIx, op: &str, b: &PatIx| format!("{} {op} {}", atom(a), atom(b));
    match i {
        PatIx::Hole(name) | PatIx::Name(name) => name.clone(),
        PatIx::Lit(n) => n.to_string(),
        PatIx::Add(a, b) => two(a, "+", b),
        PatIx::Sub(a, b) => two(a, "-", b),
        PatIx::Mul(a, b) => two(a, "*", b),
        PatIx::Div(a, b) => two(a, "/", b),
        PatIx::Mod(a, b) => two(a, "%", b),
        PatIx::Min(a, b) => format!("min {} {}", atom(a), atom(b)),
        PatIx::Max(a, b) => format!("max {} {}", atom(a), atom(b)),
        PatIx::Part(name, part) => {
            let part = match part {
                BlockPart::Lo => "lo",
                BlockPart::Hi => "hi",
                BlockPart::Len => "len",
                BlockPart::Idx => "idx",
            };
            format!("{name}.{part}")
        }
        PatIx::InBlock(name, e) => format!("{name}[{}]", ix(e)),
        PatIx::Known(_) => "an index of the program".into(),
    }
}

fn atom(i: &PatIx) -> String {
    match i {
        PatIx::Hole(_) | PatIx::Name(_) | PatIx::Lit(_) | PatIx::Part(..) | PatIx::InBlock(..) | PatIx::Known(_) => {
            ix(i)
        }
        PatIx::Add(..)
        | PatIx::Sub(..)
        | PatIx::Mul(..)
        | PatIx::Div(..)
        | PatIx::Mod(..)
        | PatIx::Min(..)
        | PatIx::Max(..) => {
            format!("({})", ix(i))
        }
    }
}

fn guard(g: &PatGuard) -> String {
    use cachet_core::ir::Rel;
    match g {
        PatGuard::Cmp(r, a, b) => {
            let rel = match r {
                Rel::Eq => "==",
                Rel::Ne => "!=",
                Rel::Lt => "<",
                Rel::Le => "<=",
            };
            format!("{} {rel} {}", ix(a), ix(b))
        }
        PatGuard::And(a, b) => format!("({}) && ({})", guard(a), guard(b)),
        PatGuard::Or(a, b) => format!("({}) || ({})", guard(a), guard(b)),
        PatGuard::Not(a) => format!("!({})", guard(a)),
        PatGuard::Known(_) => "a condition of the program".into(),
    }
}

fn cell(c: &PatCell) -> String {
    match c {
        PatCell::Hole(name, s) => format!("{name}{}", substs(s)),
        PatCell::Named(name, at) => format!("{name}[{}]", at.iter().map(ix).collect::<Vec<_>>().join(", ")),
    }
}

fn substs(all: &[PatSubst]) -> String {
    let one = |s: &PatSubst| match s {
        PatSubst::One(name, i) => format!("[{name} := {}]", ix(i)),
        PatSubst::All(name, to) => format!("[{name}.. := {to}..]"),
    };
    all.iter().map(one).collect()
}

fn word(w: &PatWord) -> String {
    let arg = |w: &PatWord| match w {
        PatWord::Hole { .. } | PatWord::Local(_) | PatWord::Float(_) => word(w),
        PatWord::Load(_) | PatWord::Prim(..) | PatWord::If(..) | PatWord::Fold { .. } => format!("({})", word(w)),
    };
    match w {
        PatWord::Hole { name, inside, substs: s } => {
            let inside = inside.as_ref().map(|w| format!("[{}]", word(w))).unwrap_or_default();
            format!("{name}{inside}{}", substs(s))
        }
        PatWord::Local(name) | PatWord::Float(name) => name.clone(),
        PatWord::Load(c) => format!("load {}", cell(c)),
        PatWord::Prim(p, args) => format!("{p} {}", args.iter().map(arg).collect::<Vec<_>>().join(" ")),
        PatWord::If(g, a, b) => format!("if {} then {} else {}", guard(g), word(a), word(b)),
        PatWord::Fold { var, domain: d, acc, ty, init, body } => {
            let ty = match ty {
                None => String::new(),
                Some(PatTy::Hole(name)) => format!(": {name}"),
                Some(PatTy::Elem(e)) => format!(": {e}"),
            };
            format!("fold {var} in {} from {} as {acc}{ty} do {}", domain(d), arg(init), word(body))
        }
    }
}
