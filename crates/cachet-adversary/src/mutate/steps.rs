//! Mutants of a step's `to`: every pattern that differs from it by one change.
//!
//! Each function returns all single changes of its argument, so that a change deep inside is lifted through what stands
//! around it.

pub mod open;
mod reverse;

use cachet_core::pattern::{Pat, PatCell, PatDomain, PatIx, PatSubst, PatWord, StepDef};

type Changes<T> = Vec<(String, T)>;

/// What can be named at a place.
pub struct Scope {
    /// Loops of `from`: what a hole holds may use them.
    pub captured: Vec<String>,
    /// Whether `from` captures a start `$z` and a cell `$cell`.
    pub start: bool,
    /// Loops around the place, the outermost first.
    pub around: Vec<String>,
}

/// Every `to` that differs from the step's by one change.
pub fn of(step: &StepDef) -> Changes<Vec<Pat>> {
    let mut captured = Vec::new();
    step.from.iter().for_each(|p| loops(p, &mut captured));
    let mut scope = Scope { captured, start: format!("{:?}", step.from).contains("\"$z\""), around: Vec::new() };
    let mut out: Changes<Vec<Pat>> = Vec::new();
    for (what, to) in block(&step.to, &mut scope) {
        if to != step.to && out.iter().all(|(_, other)| *other != to) {
            out.push((what, to));
        }
    }
    out
}

fn loops(pat: &Pat, out: &mut Vec<String>) {
    match pat {
        Pat::For { var, body, .. } => {
            out.push(var.clone());
            body.iter().for_each(|p| loops(p, out));
        }
        Pat::Store { word, .. } => folds(word, out),
        Pat::Hole(..)
        | Pat::ForAll { .. }
        | Pat::Grid { .. }
        | Pat::If { .. }
        | Pat::Let { .. }
        | Pat::Var { .. }
        | Pat::Assign { .. } => {}
    }
}

fn folds(word: &PatWord, out: &mut Vec<String>) {
    match word {
        PatWord::Fold { var, .. } => out.push(var.clone()),
        PatWord::Hole { inside: Some(w), .. } => folds(w, out),
        PatWord::Hole { inside: None, .. }
        | PatWord::Local(_)
        | PatWord::Load(_)
        | PatWord::Float(_)
        | PatWord::Prim(..)
        | PatWord::If(..) => {}
    }
}

fn lift<T, U>(changes: Changes<T>, wrap: impl Fn(T) -> U) -> Changes<U> {
    changes.into_iter().map(|(what, t)| (what, wrap(t))).collect()
}

fn block(pats: &[Pat], scope: &mut Scope) -> Changes<Vec<Pat>> {
    let mut out = Vec::new();
    for (n, p) in pats.iter().enumerate() {
        let at = |p: Pat| {
            let mut all = pats.to_vec();
            all[n] = p;
            all
        };
        let mut dropped = pats.to_vec();
        dropped.remove(n);
        out.push((format!("statement {n} dropped"), dropped));
        let mut twice = pats.to_vec();
        twice.insert(n, p.clone());
        out.push((format!("statement {n} twice"), twice));
        if n + 1 < pats.len() {
            let mut swapped = pats.to_vec();
            swapped.swap(n, n + 1);
            out.push((format!("statements {n} and {} swapped", n + 1), swapped));
        }
        out.push((format!("statement {n} in a loop of 2"), at(looped(p))));
        out.extend(lift(pat(p, scope), at));
    }
    out
}

fn looped(p: &Pat) -> Pat {
    let domain = PatDomain::Range(PatIx::Lit(0), PatIx::Lit(2));
    let span = match p {
        Pat::For { span, .. } | Pat::Let { span, .. } | Pat::Store { span, .. } => *span,
        Pat::Hole(..)
        | Pat::ForAll { .. }
        | Pat::Grid { .. }
        | Pat::If { .. }
        | Pat::Var { .. }
        | Pat::Assign { .. } => cachet_core::ir::At(cachet_source::Span::default()),
    };
    Pat::For { var: "again".into(), domain, body: vec![p.clone()], span }
}

fn pat(p: &Pat, scope: &mut Scope) -> Changes<Pat> {
    match p {
        Pat::For { var, domain, body, span } => {
            let made = |domain: PatDomain, body: Vec<Pat>| Pat::For { var: var.clone(), domain, body, span: *span };
            let mut out = lift(bounds(domain, var), |d| made(d, body.clone()));
            if let PatDomain::Range(lo, hi) = domain {
                let back = reverse::block(body, var, &reverse::mirrored(var, lo, hi), &scope.captured);
                out.push((format!("{var} runs backwards"), made(domain.clone(), back)));
            }
            out.extend(exchanged(p).map(|q| (format!("{var} inside its inner loop"), q)));
            for name in scope.captured.iter().filter(|c| *c != var) {
                let body = reverse::block(body, var, &PatIx::Name(name.clone()), &[]);
                let named = Pat::For { var: name.clone(), domain: domain.clone(), body, span: *span };
                out.push((format!("{var} captures {name}"), named));
            }
            scope.around.push(var.clone());
            let within = lift(block(body, scope), |b| made(domain.clone(), b));
            out.extend(within.into_iter().map(|(what, p)| (format!("in {var}: {what}"), p)));
            scope.around.pop();
            out
        }
        Pat::Let { local, word: w, span } => {
            lift(word(w, scope), |word| Pat::Let { local: local.clone(), word, span: *span })
        }
        Pat::Store { to, word: w, span } => {
            let mut out = lift(cell(to, scope), |to| Pat::Store { to, word: w.clone(), span: *span });
            out.extend(lift(word(w, scope), |word| Pat::Store { to: to.clone(), word, span: *span }));
            out
        }
        Pat::Grid { var, domain, body, span } => {
            let made = |domain: PatDomain, body: Vec<Pat>| Pat::Grid { var: var.clone(), domain, body, span: *span };
            let mut out = lift(bounds(domain, var), |d| made(d, body.clone()));
            scope.around.push(var.clone());
            out.extend(lift(block(body, scope), |b| made(domain.clone(), b)));
            scope.around.pop();
            out
        }
        Pat::Hole(name, s) => lift(substs(s, scope), |s| Pat::Hole(name.clone(), s)),
        Pat::ForAll { .. } | Pat::If { .. } | Pat::Var { .. } | Pat::Assign { .. } => Vec::new(),
    }
}

fn exchanged(p: &Pat) -> Option<Pat> {
    let Pat::For { var, domain, body, span } = p else { return None };
    let [Pat::For { var: inner, domain: within, body: rest, span: at }] = body.as_slice() else { return None };
    let moved = Pat::For { var: var.clone(), domain: domain.clone(), body: rest.clone(), span: *span };
    Some(Pat::For { var: inner.clone(), domain: within.clone(), body: vec![moved], span: *at })
}

fn bounds(domain: &PatDomain, var: &str) -> Changes<PatDomain> {
    if let PatDomain::Blocks(lo, hi, size) = domain {
        let made =
            |what: &str, lo: PatIx, hi: PatIx, n: PatIx| (format!("{var}: {what}"), PatDomain::Blocks(lo, hi, n));
        return vec![
            made("lower bound + 1", plus(lo), hi.clone(), size.clone()),
            made("upper bound - 1", lo.clone(), minus(hi), size.clone()),
            made("longer blocks", lo.clone(), hi.clone(), plus(size)),
        ];
    }
    let PatDomain::Range(lo, hi) = domain else { return Vec::new() };
    let range = |what: &str, lo: PatIx, hi: PatIx| (format!("{var}: {what}"), PatDomain::Range(lo, hi));
    let mut out = vec![
        range("lower bound + 1", plus(lo), hi.clone()),
        range("lower bound - 1", minus(lo), hi.clone()),
        range("upper bound + 1", lo.clone(), plus(hi)),
        range("upper bound - 1", lo.clone(), minus(hi)),
        range("bounds swapped", hi.clone(), lo.clone()),
        range("one iteration", lo.clone(), plus(lo)),
    ];
    out.extend(inside(hi).into_iter().map(|(what, hi)| range(what, lo.clone(), hi)));
    out
}

/// An index changed inside: another divisor, or a part alone.
fn inside(ix: &PatIx) -> Vec<(&'static str, PatIx)> {
    match ix {
        PatIx::Div(a, n) => {
            let other = |n: PatIx| PatIx::Div(a.clone(), Box::new(n));
            let mut out = vec![("longer strips", other(plus(n))), ("no strips", (**a).clone())];
            out.extend(inside(a).into_iter().map(|(what, a)| (what, PatIx::Div(Box::new(a), n.clone()))));
            out
        }
        PatIx::Add(a, b) | PatIx::Sub(a, b) | PatIx::Mul(a, b) | PatIx::Min(a, b) | PatIx::Max(a, b) => {
            vec![("only the first part", (**a).clone()), ("only the second part", (**b).clone())]
        }
        PatIx::Mod(a, _) => vec![("only the first part", (**a).clone())],
        PatIx::Hole(_) | PatIx::Name(_) | PatIx::Lit(_) | PatIx::Part(..) | PatIx::InBlock(..) | PatIx::Known(_) => {
            vec![]
        }
    }
}

fn plus(ix: &PatIx) -> PatIx {
    PatIx::Add(Box::new(ix.clone()), Box::new(PatIx::Lit(1)))
}

fn minus(ix: &PatIx) -> PatIx {
    PatIx::Sub(Box::new(ix.clone()), Box::new(PatIx::Lit(1)))
}

fn cell(c: &PatCell, scope: &Scope) -> Changes<PatCell> {
    match c {
        PatCell::Hole(name, s) => {
            lift(substs(s, scope), |s| PatCell::Hole(name.clone(), s)).into_iter().map(named("cell")).collect()
        }
        PatCell::Named(..) => Vec::new(),
    }
}

fn named<T>(place: &str) -> impl Fn((String, T)) -> (String, T) {
    move |(what, t)| (format!("{place} {what}"), t)
}

/// What a hole's replacements may become: one less, one shifted, one by another loop, two exchanged.
fn substs(list: &[PatSubst], scope: &Scope) -> Changes<Vec<PatSubst>> {
    let mut out = Vec::new();
    for n in 0..list.len() {
        let mut dropped = list.to_vec();
        dropped.remove(n);
        out.push((format!("without replacement {n}"), dropped));
    }
    if !list.is_empty() {
        out.push(("without replacements".into(), Vec::new()));
    }
    for var in &scope.captured {
        let place = list.iter().position(|s| matches!(s, PatSubst::One(v, _) if v == var));
        let old = match place.map(|n| &list[n]) {
            Some(PatSubst::One(_, ix)) => ix.clone(),
            Some(PatSubst::All(..)) => continue,
            None if scope.around.contains(var) => PatIx::Name(var.clone()),
            None => continue,
        };
        let mut by = vec![plus(&old), minus(&old), PatIx::Lit(0)];
        by.extend(inside(&old).into_iter().map(|(_, ix)| ix));
        by.extend(scope.around.iter().map(|v| PatIx::Name(v.clone())).filter(|v| *v != old));
        for ix in by {
            let what = format!("[{var} := {ix:?}]");
            let mut changed = list.to_vec();
            let one = PatSubst::One(var.clone(), ix);
            match place {
                Some(n) => changed[n] = one,
                None => changed.push(one),
            }
            out.push((what, changed));
        }
    }
    out
}

fn word(w: &PatWord, scope: &mut Scope) -> Changes<PatWord> {
    let mut out = replaced(w, scope);
    match w {
        PatWord::Hole { name, inside, substs: s } => {
            out.extend(lift(substs(s, scope), |substs| PatWord::Hole {
                name: name.clone(),
                inside: inside.clone(),
                substs,
            }));
            if let Some(within) = inside {
                out.extend(lift(word(within, scope), |w| PatWord::Hole {
                    name: name.clone(),
                    inside: Some(Box::new(w)),
                    substs: s.clone(),
                }));
            }
        }
        PatWord::Load(c) => out.extend(lift(cell(c, scope), PatWord::Load)),
        PatWord::Fold { var, domain, init, body, .. } => {
            let fold = |d: &PatDomain, i: &PatWord, b: &PatWord| refolded(w, d, i, b);
            out.extend(lift(bounds(domain, var), |d| fold(&d, init, body)));
            out.extend(lift(word(init, scope), |i| fold(domain, &i, body)));
            if let PatDomain::Range(lo, hi) = domain {
                let back = reverse::word(body, var, &reverse::mirrored(var, lo, hi), &scope.captured);
                out.push((format!("{var} summed backwards"), fold(domain, init, &back)));
            }
            scope.around.push(var.clone());
            out.extend(lift(word(body, scope), |b| fold(domain, init, &b)));
            scope.around.pop();
        }
        PatWord::Local(_) | PatWord::Float(_) | PatWord::Prim(..) | PatWord::If(..) => {}
    }
    out
}

fn refolded(w: &PatWord, to: &PatDomain, start: &PatWord, next: &PatWord) -> PatWord {
    match w.clone() {
        PatWord::Fold { var, acc, ty, .. } => PatWord::Fold {
            var,
            domain: to.clone(),
            acc,
            ty,
            init: Box::new(start.clone()),
            body: Box::new(next.clone()),
        },
        other => other,
    }
}

/// Another word altogether: the start, a literal, the cell's own, or what stands inside.
fn replaced(w: &PatWord, scope: &Scope) -> Changes<PatWord> {
    let mut out = Vec::new();
    if scope.start {
        let start = PatWord::Hole { name: "$z".into(), inside: None, substs: Vec::new() };
        out.push(("the start in place of a word".to_string(), start));
    }
    for text in ["0.0", "-0.0", "1.0"] {
        out.push((format!("{text} in place of a word"), PatWord::Float(text.into())));
    }
    let own = PatWord::Load(PatCell::Hole("$cell".into(), Vec::new()));
    out.push(("the cell's word in place of a word".into(), own));
    match w {
        PatWord::Hole { inside: Some(within), .. } => out.push(("only what is inside".into(), (**within).clone())),
        PatWord::Fold { init, .. } => out.push(("only the sum's start".into(), (**init).clone())),
        PatWord::Hole { inside: None, .. }
        | PatWord::Local(_)
        | PatWord::Load(_)
        | PatWord::Float(_)
        | PatWord::Prim(..)
        | PatWord::If(..) => {}
    }
    out.retain(|(_, v)| v != w);
    out
}
