//! The whole claim in one proof: the first and the last program of a schedule, related without its steps.
//!
//! What the chain of steps has accepted is proposed once more as one relation. A proposal that fits and is refused means
//! that the chain or the proposal is wrong, or that the checker cannot show at once what it shows in pieces.

use crate::population::{Population, Report, Share};
use crate::second_proof::{judge, second_proofs};
use cachet::pipeline::{Outcome, check};
use cachet::world::Disk;
use cachet_core::instance::derive;
use cachet_core::ir::{Fun, FunId, Program};
use cachet_core::script::Script;
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

fn of_files(_: Share) -> Report {
    let mut report = Report::default();
    for file in files() {
        let outcome = check(&file.to_string_lossy(), &Disk::default());
        of_outcome(&file, &outcome, &mut report);
    }
    let (schedules, proofs) = (report.cases, report.counted("second proofs"));
    report.at_least_percent("second proofs", proofs, 60, schedules);
    report.at_least("schedules", schedules, 100);
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

fn of_outcome(file: &Path, outcome: &Outcome, report: &mut Report) {
    let program = outcome.checked.program();
    for script in &outcome.module.scripts {
        if !outcome.claims.contains_key(&script.fun) || !outcome.module.items.contains(&script.fun) {
            continue;
        }
        let last = &program.funs[script.fun.index()];
        let first = origin(&outcome.module.scripts, program, script);
        report.cases += 1;
        let place = format!("{} in {}", last.name, file.file_name().unwrap().to_string_lossy());
        if let Some(why) = prove(program, script.fun, &first, last, report) {
            let case = format!("{}\n{}", listing(program, &first), listing(program, last));
            report.fail(format!("{place}: {why}"), case);
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

/// Relates two programs of which a chain has shown that they are equal. What is wrong, if it is refused.
fn prove(program: &Program, id: FunId, first: &Fun, last: &Fun, report: &mut Report) -> Option<String> {
    let fits = match second_proofs(program, first, last) {
        Ok(fits) => fits,
        Err(unfit) => {
            report.count(&format!("does not fit: {unfit}"));
            return None;
        }
    };
    report.count("fits");
    let mut why = None;
    for fit in &fits {
        match judge(program, id, fit) {
            Ok(proved) => {
                report.count("second proofs");
                report.add("maps", fit.maps as u64);
                report.add("lines", fit.rewrite.recipe.len() as u64);
                report.add("conditions", proved.conditions.len() as u64);
                return None;
            }
            Err(failure) => {
                let lines: Vec<String> = fit.rewrite.recipe.iter().map(|l| format!("  {}\n", l.kind)).collect();
                let d = failure.diagnostic;
                why = why.or(Some(format!("{} {:?}, by\n{}", d.message, d.notes, lines.concat())));
            }
        }
    }
    why
}
