//! Other provers say the same: every different condition that checking the project's files decides, and random ones.

use crate::generate::formulas::Boxed;
use crate::population::{Population, Report, Scale, Share};
use crate::random::Random;
use crate::{threads, walk};
use cachet::cross::{self, Dialect, Solver};
use cachet::pipeline;
use cachet::world::Disk;
use cachet_check::laws;
use cachet_check::proofs::Decided;
use cachet_check::prover::{Verdict, prove};
use cachet_core::ir::ImplId;
use std::collections::BTreeMap;

/// Of the library as it is used, the examples, the suite and the golden refusals.
pub const OF_FILES: Population = Population {
    promise: "P20",
    name: "cross-checked conditions of files",
    never: "z3 or cvc5 disagrees",
    counts: [800, 1_000_000],
    drawn: false,
    run: of_files,
};

/// Drawn.
pub const RANDOM: Population = Population {
    promise: "P20",
    name: "cross-checked random conditions",
    never: "z3 or cvc5 disagrees",
    counts: [500, 2_000],
    drawn: true,
    run: random,
};

fn of_files(share: Share) -> Report {
    let files: Vec<_> = ["examples", "tests/suite", "tests/refusals"].into_iter().flat_map(walk::files).collect();
    let decided = threads::map(files.len(), |n| {
        let outcome = pipeline::check(&files[n].display().to_string(), &Disk::default());
        let mut all = cross::conditions(&outcome);
        // The library's laws are the same for all.
        if n == 0 {
            let impls = 0..outcome.module.program.impls.len() as u32;
            all.extend(impls.flat_map(|i| laws::conditions(&outcome.module.program, ImplId(i))));
        }
        all
    });
    // By what they say, so that the choice is the same in every run until a condition changes.
    let distinct: BTreeMap<String, Decided> =
        decided.into_iter().flatten().map(|d| (d.problem.canonical(), d)).collect();
    let all: Vec<Decided> = distinct.into_values().collect();
    let every = if share.scale == Scale::Nightly { 1 } else { all.len().div_ceil(share.count) };
    let chosen: Vec<Decided> = all.iter().step_by(every.max(1)).cloned().collect();
    let mut report = ask(&chosen);
    report.counts.insert("different conditions".into(), all.len() as u64);
    report.counts.insert("files".into(), files.len() as u64);
    report.at_least("different conditions", all.len() as u64, 1_000);
    let refuted = chosen.iter().filter(|d| d.model.is_some()).count() as u64;
    report.at_least("refuted conditions asked about", refuted, 50);
    report
}

fn random(share: Share) -> Report {
    let drawn = threads::map(share.count, |n| {
        let mut random = Random::case(share.seed, n);
        let boxed = if n % 2 == 0 { Boxed::draw(&mut random) } else { Boxed::draw_real(&mut random) };
        // Half of them without limits.
        let problem = if n % 4 < 2 { boxed.unbounded() } else { boxed.problem };
        match prove(&problem) {
            Verdict::Proved(_) => Some(Decided { problem, model: None }),
            Verdict::Refuted(model) => Some(Decided { problem, model: Some(model) }),
            Verdict::Undecided { .. } => None,
        }
    });
    let all: Vec<Decided> = drawn.into_iter().flatten().collect();
    let refuted = all.iter().filter(|d| d.model.is_some()).count() as u64;
    let mut report = ask(&all);
    report.at_least_percent("proved conditions", all.len() as u64 - refuted, 25, share.count as u64);
    report.at_least_percent("refuted conditions", refuted, 20, share.count as u64);
    report
}

/// Asks those solvers that there are.
fn ask(conditions: &[Decided]) -> Report {
    let mut report = Report::default();
    let solvers: Vec<Solver> = cross::find();
    let missing: Vec<&str> = [Dialect::Z3, Dialect::Cvc5]
        .into_iter()
        .filter(|d| solvers.iter().all(|s| s.dialect != *d))
        .map(Dialect::name)
        .collect();
    if !missing.is_empty() {
        let many = conditions.len();
        report.skipped = Some(format!("{} not found; {many} conditions not asked about there", missing.join(", ")));
    }
    let crossed = cross::ask(&solvers, conditions);
    report.cases = (conditions.len() * solvers.len()) as u64;
    for d in &crossed.disagreements {
        let ours = if d.proved { "proved" } else { "refuted" };
        report.fail(format!("{ours}, and {} disagrees", d.solver), d.text.clone());
    }
    for t in &crossed.tallies {
        report.add(&format!("agreed with {}", t.solver), t.agreed as u64);
        let asked = t.asked as u64;
        report.at_least_percent(&format!("agreed with {}", t.solver), t.agreed as u64, 99, asked);
        // Asked alone, and still at work when its time is over: as if it had given up.
        let slow = t.silent.get(cross::TOO_LONG).copied().unwrap_or(0);
        report.at_most(&format!("too hard for {}", t.solver), (t.gave_up + slow) as u64, 5, asked);
        for (why, n) in &t.silent {
            report.add(&format!("not answered by {}: {why}", t.solver), *n as u64);
        }
        let silent = t.silent.values().sum::<usize>() - slow;
        report.at_most(&format!("not answered by {}", t.solver), silent as u64, 0, asked);
    }
    report
}
