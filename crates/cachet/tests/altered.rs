//! Functions and steps of the suite, each changed in one place: whatever is accepted does nothing that no program may.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

#[path = "rewrites/change.rs"]
mod change;
#[path = "mutants/recipes.rs"]
mod recipes;

use cachet::world::{Disk, World};
use cachet_check::checked::Checker;
use cachet_check::relation::Asked;
use cachet_core::ir::{Fun, FunId, Program};
use cachet_core::rewrite::callees;
use cachet_core::script::{Module, Rewrite, StepCall};
use cachet_core::validate::validate_fun;
use cachet_oracle::symbolic::{Comparison, compare};
use cachet_source::Sources;
use std::path::{Path, PathBuf};

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    let mut all: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    for p in all {
        if p.is_dir() {
            files(&p, out);
        } else if p.extension().is_some_and(|e| e == "cachet") {
            out.push(p);
        }
    }
}

fn load(path: &Path) -> Option<Module> {
    let mut sources = Sources::new();
    let (module, d) = cachet_frontend::load(path.to_str()?, Disk::default().files(), &mut sources);
    if d.iter().any(|d| d.refuses()) { None } else { module }
}

fn sizes(dims: usize) -> Vec<Vec<i64>> {
    let base = match dims { 0 => 1i64, 1 => 14, 2 => 9, 3 => 5, _ => 3 };
    let count = (base as usize).pow(dims.min(6) as u32).min(600);
    let mut out: Vec<Vec<i64>> = (0..count).map(|n| (0..dims).map(|d| (n as i64 / base.pow(d as u32)) % base).collect()).collect();
    for d in 0..dims { for n in [5, 6, 7, 8, 9, 12, 13, 16, 17] { let mut at = vec![4; dims]; at[d] = n; out.push(at); } }
    out
}

fn accept_all(checker: &mut Checker, program: &Program, id: FunId) {
    for c in callees(&program.funs[id.index()]) {
        if !checker.accepts(c) { accept_all(checker, program, c); let _ = checker.accept_function(c); }
    }
}

fn fault(program: &Program, s: &Fun, t: &Fun) -> Option<String> {
    for at in sizes(s.sizes.len()) {
        match compare(program, s, t, &at) {
            Comparison::Same | Comparison::NotApplicable | Comparison::TooBig => {}
            Comparison::Differs(d) => return Some(format!("{at:?} differs {} {:?}: {} / {}", d.buffer, d.cell, d.s, d.t)),
            Comparison::Fault { fault, .. } => return Some(format!("{at:?} {}", fault.text)),
        }
    }
    None
}

fn asked(call: &StepCall) -> Asked {
    Asked { name: call.name.clone(), step: call.name.clone(), span: call.span, callers: vec![] }
}

#[test]
fn functions() {
    let root = std::env::var("ALTER").unwrap_or(format!("{}/../../tests/suite", env!("CARGO_MANIFEST_DIR")));
    let mut all = Vec::new();
    files(Path::new(&root), &mut all);
    let (mut accepted, mut refused, mut invalid) = (0, 0, 0);
    let mut bad = Vec::new();
    for path in &all {
        let Some(module) = load(path) else { continue };
        for id in module.items.iter().copied() {
            let fun = &module.program.funs[id.index()];
            if fun.name == "main" || fun.body.is_empty() || module.scripts.iter().any(|s| s.fun == id) { continue }
            let mut grown = fun.clone();
            let body = fun.body.clone();
            let t = std::time::Instant::now();
            let mut mutants = change::of(&mut grown, &body).into_iter().map(|(w, b)| { let mut f = grown.clone(); f.body = b; (w, f) }).collect::<Vec<_>>();
            for n in 0..fun.requires.len() { let mut f = fun.clone(); f.requires.remove(n); mutants.push((format!("requirement {n} lost"), f)); }
            for b in 0..fun.buffers.len() { for a in 0..fun.buffers[b].extents.len() { for d in [-1i64, 1] {
                let mut f = fun.clone();
                let e = f.buffers[b].extents[a].clone();
                f.buffers[b].extents[a] = cachet_core::ir::Ix::Add(Box::new(e), Box::new(cachet_core::ir::Ix::Lit(d)));
                mutants.push((format!("extent {a} of {} {d:+}", fun.buffers[b].name), f));
            } } }
            for (what, f) in mutants {
                let mut program = module.program.clone();
                program.funs[id.index()] = f.clone();
                if validate_fun(&program, &f).is_err() { invalid += 1; continue }
                let mut checker = Checker::new(program.clone());
                accept_all(&mut checker, &program, id);
                let t1 = std::time::Instant::now();
                let ok = checker.accept_function(id).is_ok();
                if t1.elapsed().as_secs_f64() > 2.0 { println!("SLOW {:?} {} {what}: {:?}", path, f.name, t1.elapsed()); }
                if ok {
                    accepted += 1;
                    if let Some(text) = fault(&program, &f, &f) { bad.push(format!("{}: {} {what}: {text}", path.display(), f.name)); println!("WRONG {}", bad.last().unwrap()); }
                } else { refused += 1 }
            }
            if t.elapsed().as_secs() > 5 { println!("{} {} took {:?}", path.display(), fun.name, t.elapsed()); }
        }
    }
    println!("functions: accepted {accepted} refused {refused} invalid {invalid} wrong {}", bad.len());
}

#[test]
fn steps() {
    let root = std::env::var("ALTER").unwrap_or(format!("{}/../../tests/suite", env!("CARGO_MANIFEST_DIR")));
    let mut all = Vec::new();
    files(Path::new(&root), &mut all);
    let (mut accepted, mut refused, mut invalid) = (0, 0, 0);
    let mut bad = 0;
    for path in &all {
        let Some(module) = load(path) else { continue };
        let mut checker = Checker::new(module.program.clone());
        let t = std::time::Instant::now();
        for script in &module.scripts {
            if !checker.accepts(script.of) { let _ = checker.accept_function(script.of); }
            if !checker.start(script.fun, script.of, &script.types) { continue }
            let mut splits = Default::default();
            for (n, call) in script.steps.iter().enumerate() {
                let program = checker.program().clone();
                let before = program.funs[script.fun.index()].clone();
                let Ok(made) = cachet_schedule::apply(&program, &before, call, &module.steps, &mut splits) else { break };
                let mut start = Checker::new(program.clone());
                let fresh = start.accept_function(script.fun).is_ok();
                if fresh {
                    let mut grown = made.after.clone();
                    let site = made.to.stmts(&made.after).expect("a site").to_vec();
                    let mut changed: Vec<(String, Rewrite)> = Vec::new();
                    for (what, block) in change::of(&mut grown, &site) {
                        let mut after = made.after.clone();
                        let to = made.to.replace(&mut after, block).expect("a site");
                        changed.push((what, Rewrite { after, to, ..made.clone() }));
                    }
                    for (_, r) in &mut changed { (r.after.vars, r.after.locals) = (grown.vars.clone(), grown.locals.clone()); }
                    let rec = recipes::of(&made.recipe);
                    let mut more = Vec::new();
                    for (m, (what, r)) in changed.iter().enumerate() {
                        for (how, recipe) in rec.iter().skip(m % 9).step_by(9) { more.push((format!("{what}; {how}"), Rewrite { recipe: recipe.clone(), ..r.clone() })); }
                    }
                    changed.extend(more);
                    for (what, r) in changed {
                        if validate_fun(&program, &r.after).is_err() { invalid += 1; continue }
                        let t1 = std::time::Instant::now();
                        let mut next = start.clone();
                        let ok = next.accept_step(script.fun, &r, &asked(call)).is_ok();
                        if t1.elapsed().as_secs_f64() > 2.0 { println!("SLOW {} {} {n} {what}: {:?}", path.display(), script.name, t1.elapsed()); }
                        if ok {
                            accepted += 1;
                            let after = &next.program().funs[script.fun.index()];
                            if let Some(text) = fault(&program, &before, after) { bad += 1; println!("WRONG {} {} {n} {}: {what}: {text}", path.display(), script.name, call.name); }
                        } else { refused += 1 }
                    }
                }
                if checker.accept_step(script.fun, &made, &asked(call)).is_err() { break }
            }
        }
        if t.elapsed().as_secs() > 20 { println!("{} took {:?}", path.display(), t.elapsed()); }
    }
    println!("steps: accepted {accepted} refused {refused} invalid {invalid} wrong {bad}");
}
