//! A claim lists every law that its schedule rests on.
//!
//! What has to be listed is found without the checker: by walking the recipes of all steps for lines that regroup, with
//! the words of the sums that they name; by the oracle, to whom a regrouped sum is another word, so that some law must be
//! behind every step after which words differ; for drawn texts by what they were drawn from; and for a schedule of a
//! schedule by what the first one rests on. A law is taken out of a copy of each claim, which has to be noticed.

use crate::generate::{places, regroupings};
use crate::memory;
use crate::oracle;
use crate::population::{FIXED, Population, Report, Share};
use crate::random::Random;
use cachet::pipeline::{Outcome, Trace, check};
use cachet::world::Disk;
use cachet_check::checked::{Claim, LawBasis};
use cachet_core::ir::{Fold, Fun, Local, Op, Program, Word};
use cachet_core::pattern::{Move, MoveKind, Regrouping};
use cachet_core::rewrite::{Live, Visit, visit_block, visit_word};
use cachet_core::script::Script;
use std::path::{Path, PathBuf};

/// Claims.
pub const CLAIMS: Population = Population {
    promise: "P18",
    name: "laws in claims",
    never: "a schedule rests on a law that its claim does not list",
    counts: [30, 3_000],
    drawn: true,
    run,
};

fn run(share: Share) -> Report {
    let mut report = Report::default();
    if share.seed == FIXED {
        files().iter().for_each(|path| {
            let outcome = check(&path.to_string_lossy(), &Disk::default());
            of_outcome(&outcome, None, &path.to_string_lossy(), &mut report);
        });
        places::TEXTS.iter().for_each(|text| of_outcome(&memory::checked(text), None, text, &mut report));
    }
    for n in 0..share.count {
        let drawn = regroupings::draw(&mut Random::case(!share.seed, n));
        let text = drawn.text();
        of_outcome(&memory::checked(&text), Some(&drawn.of), &text, &mut report);
    }
    let share_of = |n: u64| n.min(share.count as u64);
    report.at_least("claims with laws", report.counted("claims with laws"), 3 * share.count as u64);
    report.at_least("steps after which words differ", report.counted("steps after which words differ"), share_of(50));
    let planted = report.counted("laws taken out");
    report.at_least_percent("laws taken out, and noticed", report.counted("laws noticed"), 100, planted);
    report
}

/// The suite's files and the examples.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("tests/suite"), root.join("examples")];
    let mut out = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "cachet") {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

/// A law that has to be listed.
#[derive(Clone)]
struct Needed {
    law: String,
    /// Whose, where that is known.
    of: Option<String>,
    /// For what.
    by: String,
}

fn of_outcome(outcome: &Outcome, of: Option<&str>, text: &str, report: &mut Report) {
    for script in &outcome.module.scripts {
        let Some(claim) = outcome.claims.get(&script.fun) else { continue };
        report.cases += 1;
        let mut needed = needed_by(outcome, script, report);
        for n in &mut needed {
            n.of = n.of.take().or_else(|| of.map(String::from));
        }
        for what in missing(outcome, claim, &needed) {
            report.fail(format!("the claim of `{}` lacks {what}", script.name), text);
        }
        if let Some(what) = differ_without_a_law(outcome, script, claim, report) {
            report.fail(what, text);
        }
        unfounded(outcome, script, claim).into_iter().for_each(|what| report.fail(what, text));
        if claim.laws.is_empty() {
            continue;
        }
        report.count("claims with laws");
        for n in 0..claim.laws.len() {
            let mut less = claim.clone();
            let out = less.laws.remove(n);
            // Where nobody but the claim says whose law is needed, one of another owner would do.
            less.laws.retain(|l| of.is_some() || l.law != out.law);
            if needed.iter().any(|n| n.law == out.law) {
                report.count("laws taken out");
                report.add("laws noticed", u64::from(!missing(outcome, &less, &needed).is_empty()));
            } else {
                report.count("laws listed beyond what is found here");
            }
        }
    }
}

/// The laws that a schedule's steps need, and those of the schedule that it continues.
fn needed_by(outcome: &Outcome, script: &Script, report: &mut Report) -> Vec<Needed> {
    let mut out = Vec::new();
    let mut chain = Some(script);
    while let Some(script) = chain {
        if let Some(trace) = outcome.traces.get(&script.fun) {
            for (n, step) in trace.steps.iter().enumerate() {
                lines(&step.rewrite.recipe, &mut |line| {
                    if let MoveKind::Regroup { of, op, by } = line {
                        report.count("lines that regroup");
                        let words = [trace.before(n), step.after()];
                        out.extend(laws_of(outcome.checked.program(), words, &of.name, op, *by, &step.text));
                    }
                });
            }
        }
        chain = outcome.module.scripts.iter().find(|s| s.fun == script.of);
    }
    out
}

/// Every line of a recipe, those of its cases too.
fn lines(recipe: &[Move], each: &mut dyn FnMut(&MoveKind)) {
    for line in recipe {
        each(&line.kind);
        if let MoveKind::Case { then, els, .. } = &line.kind {
            lines(then, each);
            lines(els, each);
        }
    }
}

/// What a line that regroups takes: by its law, and by the way in which the sum's steps take up the total.
fn laws_of(program: &Program, of: [&Fun; 2], index: &str, op: &str, by: Regrouping, text: &str) -> Vec<Needed> {
    let mut laws = vec![format!("{op} associative exactly")];
    match by {
        Regrouping::Associative => laws.push(format!("{op} identity exactly")),
        Regrouping::Idempotent => {
            laws.extend([format!("{op} idempotent exactly"), format!("{op} commutative exactly")]);
        }
    }
    // The sum is a fold in one of the two programs; where it is a loop over a cell, the other has it.
    let found = of.into_iter().find_map(|fun| fold_over(fun, index).map(|f| (fun, f)));
    if let Some((fun, fold)) = found {
        if let Word::Op { op: Op::Method(p, n), .. } = &fold.body {
            let interface = fun.type_params.get(p.index()).map(|t| t.interface);
            let interface = interface.and_then(|i| program.interfaces.get(i as usize));
            if interface.and_then(|i| i.methods.get(*n as usize)).is_some_and(|m| m.0 == "mul_add") {
                laws.push("mul_add exactly".into());
            }
        }
        if let Word::Op { args, .. } = &fold.body
            && let [a, b] = args.as_slice()
            && reads(b, fold.acc)
            && !reads(a, fold.acc)
        {
            laws.push(format!("{op} commutative exactly"));
        }
    }
    laws.into_iter().map(|law| Needed { law, of: None, by: text.to_string() }).collect()
}

fn reads(word: &Word, total: Local) -> bool {
    Live::of_word(word).locals.contains(&total)
}

fn fold_over(fun: &Fun, index: &str) -> Option<Fold> {
    struct Find<'a>(&'a Fun, &'a str, Option<Fold>);
    impl Visit for Find<'_> {
        fn word(&mut self, word: &Word) {
            if let Word::Fold(f) = word
                && self.2.is_none()
                && self.0.vars[f.var.index()].name == self.1
            {
                self.2 = Some((**f).clone());
            }
            visit_word(self, word);
        }
    }
    let mut find = Find(fun, index, None);
    visit_block(&mut find, &fun.body);
    find.2
}

/// What a claim does not list: of the right owner, and in the text that is printed.
fn missing(outcome: &Outcome, claim: &Claim, needed: &[Needed]) -> Vec<String> {
    let printed = cachet::claim::text(claim, &[], &[]);
    let program = outcome.checked.program();
    let mut out = Vec::new();
    for Needed { law, of, by } in needed {
        let listed = claim.laws.iter().find(|l| {
            let owner = of.as_ref().is_none_or(|of| *of == l.of);
            let known = program.impls.iter().any(|i| i.name == l.of)
                || program.funs.iter().any(|f| f.type_params.iter().any(|t| t.name == l.of));
            l.law == *law && owner && known
        });
        match listed {
            None => out.push(format!("`{law}` of {}, for `{by}`", of.as_deref().unwrap_or("anything"))),
            Some(l) if !printed.contains(&format!("by {} of {}, ", l.law, l.of)) => {
                out.push(format!("`{law}` in its text, for `{by}`"));
            }
            Some(_) => {}
        }
    }
    out
}

/// A step after which the oracle sees other words needs some law.
fn differ_without_a_law(outcome: &Outcome, script: &Script, claim: &Claim, report: &mut Report) -> Option<String> {
    let trace: &Trace = outcome.traces.get(&script.fun)?;
    for (n, step) in trace.steps.iter().enumerate() {
        report.count("steps");
        let (before, after) = (trace.before(n), step.after());
        if let Some(how) = oracle::words_differ(outcome.checked.program(), before, after) {
            report.count("steps after which words differ");
            if claim.laws.is_empty() {
                return Some(format!("after `{}` of `{}` {how}, and its claim lists no law", step.text, script.name));
            }
        }
    }
    None
}

/// Laws in a claim that nothing supports: not of the bits, or not wanted by the interface that is named.
fn unfounded(outcome: &Outcome, script: &Script, claim: &Claim) -> Vec<String> {
    let program = outcome.checked.program();
    let stated = |of: &str, law: &str| {
        program.impls.iter().filter(|i| i.name == of).any(|i| {
            let interface = program.interfaces.get(i.interface as usize);
            interface.is_some_and(|face| i.laws.iter().any(|l| l.law.text(face) == law))
        })
    };
    let mut out = Vec::new();
    for l in &claim.laws {
        let founded = match &l.basis {
            LawBasis::Proved => stated(&l.of, &l.law),
            LawBasis::Wanted(name) => {
                program.interfaces.iter().any(|i| i.name == *name && i.laws.iter().any(|w| w.text(i) == l.law))
            }
        };
        if !founded || !l.law.ends_with("exactly") {
            out.push(format!(
                "the claim of `{}` rests on `{}` of {}, which is not stated so",
                script.name, l.law, l.of
            ));
        }
    }
    out
}
