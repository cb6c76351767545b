//! The whole claim in one proof: the first and the last program of a schedule, related without its steps.
//!
//! What the chain of steps has accepted is proposed once more as one relation. A proposal that fits and is refused means
//! that the chain or the proposal is wrong, or that the checker cannot show at once what it shows in pieces.

use crate::generate::{nests, products, steps};
use crate::memory;
use crate::mutate::programs;
use crate::population::{Population, Report, Share};
use crate::random::Random;
use crate::second_proof::{Fit, Unfit, judge, second_proofs};
use cachet::pipeline::{Outcome, check};
use cachet::world::Disk;
use cachet_check::checked::Checker;
use cachet_check::relation::Asked;
use cachet_core::instance::derive;
use cachet_core::ir::{Fun, FunId, Program};
use cachet_core::script::{Module, Script, StepArg, StepCall, StepForm};
use cachet_oracle::symbolic::{Comparison, Side, compare};
use cachet_source::Span;
use std::path::{Path, PathBuf};

/// The schedules that there are.
pub const WRITTEN: Population = Population {
    promise: "P4",
    name: "the whole claim in one proof",
    never: "an accepted schedule's ends fit one relation, and it is refused",
    counts: [1, 1],
    drawn: false,
    run: of_files,
};

/// Schedules drawn for contractions and for nests.
pub const DRAWN: Population = Population {
    promise: "P4",
    name: "whole claims of drawn schedules",
    never: "an accepted chain's ends fit one relation, and it is refused; wrong ends are accepted",
    counts: [120, 6_000],
    drawn: true,
    run: of_draws,
};

/// Steps that a drawn program is offered.
const OFFERED: usize = 16;
/// Accepted ones, after which it is left alone.
const TAKEN: usize = 7;
/// Wrong last programs that are tried for each right one.
const WRONG: usize = 3;
/// Changes that are drawn for them: many change nothing.
const CHANGES: usize = 8;
/// Choices of sizes at which the oracle looks for a difference.
const CHOICES: usize = 6;
/// Sizes that it takes.
const SIZES: [i64; 8] = [1, 2, 3, 4, 5, 6, 7, 9];

fn of_files(share: Share) -> Report {
    let mut report = Report::default();
    for file in files() {
        let outcome = check(&file.to_string_lossy(), &Disk::default());
        of_outcome(&file, &outcome, share, &mut report);
    }
    let (schedules, proofs) = (report.cases, report.counted("second proofs"));
    // Tiles of registers and copies in lanes are no reordering of statements.
    report.at_least_percent("second proofs", proofs, 75, schedules);
    report.at_least("schedules", schedules, 400);
    let wrong = report.counted("wrong ends refused for a condition");
    report.at_least("wrong ends refused for a condition", wrong, 100);
    report
}

/// The files with schedules: examples and the suite.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut out = Vec::new();
    let mut folders = vec![root.join("examples"), root.join("tests/suite")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "cachet") {
                let text = std::fs::read_to_string(&path).unwrap();
                if text.lines().any(|l| l.starts_with("schedule ")) {
                    out.push(path);
                }
            }
        }
    }
    out.sort();
    out
}

fn of_outcome(file: &Path, outcome: &Outcome, share: Share, report: &mut Report) {
    let program = outcome.checked.program();
    for script in &outcome.module.scripts {
        if !outcome.claims.contains_key(&script.fun) || !outcome.module.items.contains(&script.fun) {
            continue;
        }
        let last = &program.funs[script.fun.index()];
        let first = origin(&outcome.module.scripts, program, script);
        report.cases += 1;
        let place = format!("{} in {}", last.name, file.file_name().unwrap().to_string_lossy());
        if !outcome.claims[&script.fun].laws.is_empty() {
            report.count("does not fit: rests on laws");
            continue;
        }
        match prove(program, script.fun, &first, last, report) {
            Ok(Some(fit)) if report.cases.is_multiple_of(6) => {
                try_wrong(program, script.fun, &fit, &mut Random::case(share.seed, report.cases as usize), report);
            }
            Ok(_) => {}
            Err(why) => {
                let case = format!("{}\n{}", listing(program, &first), listing(program, last));
                report.fail(format!("{place}: {why}"), case);
            }
        }
    }
}

/// What a schedule starts from, through those that it continues, with type parameters bound.
fn origin(scripts: &[Script], program: &Program, script: &Script) -> Fun {
    let mut chain = vec![script];
    while let Some(before) = scripts.iter().find(|s| s.fun == chain[chain.len() - 1].of) {
        chain.push(before);
    }
    let root = chain[chain.len() - 1];
    let mut first = program.funs[root.of.index()].clone();
    let mut alone = program.clone();
    for link in chain.iter().rev() {
        alone.funs[link.fun.index()] = first;
        first = derive(&alone, link.fun, &program.funs[script.fun.index()].name, &link.types);
    }
    first
}

fn listing(program: &Program, fun: &Fun) -> String {
    cachet_core::print::listing(program, fun)
}

/// Relates two programs of which a chain has shown that they are equal: the proposal, if one is accepted, and what is wrong
/// if none is and some fit.
fn prove(program: &Program, id: FunId, first: &Fun, last: &Fun, report: &mut Report) -> Result<Option<Fit>, String> {
    let fits = match second_proofs(program, first, last) {
        Ok(fits) => fits,
        Err(unfit) => {
            report.count(&format!("does not fit: {unfit}"));
            return Ok(None);
        }
    };
    report.count("fits");
    let mut why = String::new();
    for fit in fits {
        match judge(program, id, &fit) {
            Ok(proved) => {
                report.count("second proofs");
                report.add("maps", fit.maps as u64);
                report.add("lines", fit.rewrite.recipe.len() as u64);
                report.add("conditions", proved.conditions.len() as u64);
                return Ok(Some(fit));
            }
            Err(failure) if why.is_empty() => {
                let lines: Vec<String> = fit.rewrite.recipe.iter().map(|l| format!("  {}\n", l.kind)).collect();
                let d = failure.diagnostic;
                why = format!("{} {:?}, by\n{}", d.message, d.notes, lines.concat());
            }
            Err(_) => {}
        }
    }
    Err(why)
}

/// Last programs that are wrong by the oracle, by the recipe of the right one and by their own.
fn try_wrong(program: &Program, id: FunId, right: &Fit, random: &mut Random, report: &mut Report) {
    let mut tables = right.rewrite.after.clone();
    let mut changes = programs::of(&mut tables, &right.rewrite.after.body);
    let mut wrong = 0;
    for _ in 0..CHANGES {
        if wrong == WRONG || changes.is_empty() {
            return;
        }
        let (what, body) = changes.swap_remove(random.below(changes.len()));
        let mut last = tables.clone();
        last.body = body;
        let Some(at) = differs(program, &right.before, &last, random) else {
            report.count("changes without a difference");
            continue;
        };
        wrong += 1;
        let mut same = right.clone();
        same.rewrite.after = last.clone();
        same.rewrite.to.len = last.body.len();
        let mut tried = vec![("by the right one's recipe", same)];
        let own: Result<Vec<Fit>, Unfit> = second_proofs(program, &right.before, &last);
        tried.extend(own.unwrap_or_default().into_iter().map(|fit| ("by a recipe of its own", fit)));
        for (how, fit) in tried {
            match judge(program, id, &fit) {
                Err(failure) => {
                    report.count(&format!("wrong ends refused {how}"));
                    let conditions = failure.kind != cachet_check::condition::Kind::Words
                        || failure.diagnostic.code != cachet_source::codes::RECIPE;
                    if conditions {
                        report.count("wrong ends refused for a condition");
                    }
                }
                Ok(_) => {
                    let case = format!("{}\n{}", listing(program, &right.before), listing(program, &last));
                    report.fail(format!("{what}: accepted {how}, and wrong at {at:?}"), case);
                }
            }
        }
        report.count("wrong ends");
    }
}

/// Sizes at which two programs differ.
fn differs(program: &Program, first: &Fun, last: &Fun, random: &mut Random) -> Option<Vec<i64>> {
    (0..CHOICES).map(|_| first.sizes.iter().map(|_| random.pick(&SIZES)).collect()).find(|at: &Vec<i64>| match compare(
        program, first, last, at,
    ) {
        Comparison::Differs(_) | Comparison::Fault { side: Side::T, .. } => true,
        Comparison::Same | Comparison::NotApplicable | Comparison::TooBig => false,
        Comparison::Fault { side: Side::S, fault } => panic!("{}: {}", first.name, fault.text),
    })
}

fn of_draws(share: Share) -> Report {
    let mut report = Report::default();
    let draw = |n: usize| {
        let (mut random, name) = (Random::case(share.seed, n), format!("drawn{n}"));
        if n % 3 == 2 { nests::draw(&mut random, &name) } else { products::draw(&mut random, &name) }
    };
    let texts: Vec<String> = (0..share.count).map(draw).collect();
    let head = "import \"cachet:monoid\"\n";
    let module = memory::loaded(&format!("{head}{}{}{}", steps::STEPS, nests::RECORDS, texts.join("\n")));
    for n in 0..share.count {
        report.cases += 1;
        let name = format!("drawn{n}");
        let at = module.program.funs.iter().position(|f| f.name == name).unwrap();
        let mut random = Random::case(!share.seed, n);
        let (program, taken) = chain(&module, at, n % 3 != 2, &mut random, &mut report);
        let (first, last) = (&module.program.funs[at], &program.funs[0]);
        if taken.is_empty() {
            report.count("no steps");
            continue;
        }
        match prove(&program, FunId(0), first, last, &mut report) {
            Ok(Some(fit)) => try_wrong(&program, FunId(0), &fit, &mut random, &mut report),
            Ok(None) => {}
            // The steps one by one are easier to prove than all of them at once.
            Err(why) if why.starts_with("could not prove") => report.count("not proved at once"),
            Err(why) => {
                let steps: Vec<String> = taken.iter().map(|s| format!("  {s}\n")).collect();
                let case = format!("{}\n{}{}", listing(&program, first), steps.concat(), listing(&program, last));
                report.fail(why, case);
            }
        }
    }
    let (proofs, wrong) = (report.counted("second proofs"), report.counted("wrong ends"));
    report.at_least_percent("second proofs", proofs, 70, share.count as u64);
    report.at_least("wrong ends", wrong, share.count as u64);
    let refused = report.counted("wrong ends refused for a condition");
    report.at_least("wrong ends refused for a condition", refused, share.count as u64);
    report.at_most("not proved at once", report.counted("not proved at once"), 10, proofs.max(100));
    report
}

/// A program after a chain of steps that were accepted, and the steps.
fn chain(
    module: &Module,
    at: usize,
    contraction: bool,
    random: &mut Random,
    report: &mut Report,
) -> (Program, Vec<StepCall>) {
    let id = FunId(0);
    let program = Program { funs: vec![module.program.funs[at].clone()], ..module.program.clone() };
    let mut checker = Checker::new(program);
    if let Err(failures) = checker.accept_function(id) {
        panic!("{} is refused: {}", module.program.funs[at].name, failures[0].diagnostic.message);
    }
    let (mut splits, mut taken) = (Default::default(), Vec::new());
    for n in 0..OFFERED {
        let before = checker.program().funs[id.index()].clone();
        let call =
            if n == 0 && contraction && !random.once_in(4) { zero(&before) } else { steps::draw(random, &before, n) };
        let Ok(made) = cachet_schedule::apply(checker.program(), &before, &call, &module.steps, &mut splits) else {
            continue;
        };
        let asked = Asked { name: call.name.clone(), step: call.name.clone(), span: call.span, callers: vec![] };
        let mut next = checker.clone();
        if next.accept_step(id, &made, &asked).is_ok() {
            report.count("steps");
            checker = next;
            taken.push(call);
        }
        if taken.len() == TAKEN {
            break;
        }
    }
    (checker.program().clone(), taken)
}

/// `zero` for the loops of a contraction's nest.
fn zero(fun: &Fun) -> StepCall {
    let name = |name: &str| StepArg::Name { name: name.into(), nth: None, part: None, span: Span::default() };
    let loops = crate::second_proof::outer_loops(fun);
    let loops = StepArg::Tuple(loops.iter().map(|v| name(v)).collect(), Span::default());
    let form = StepForm::Call(vec![loops, name("c")]);
    StepCall { name: "zero".into(), form, span: Span::default(), callers: vec![] }
}
