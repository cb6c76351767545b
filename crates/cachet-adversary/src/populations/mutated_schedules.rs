//! Valid schedules with one to three changes: is any of them accepted that leaves other bits?
//!
//! What is changed is an argument, a step, the text of a step of the user's own, or the program that a step makes. Accepted ones run beside their
//! contraction; refused ones run as the schedule engine makes them, unproved, so that the counts say how many refusals were
//! needed.

use crate::minimise::minimise;
use crate::mutate;
use crate::population::{Population, Report, Share};
use crate::random::Random;
use crate::scheduled::{Case, Effort};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The population.
pub const MUTATED: Population = Population {
    promise: "P2",
    name: "schedules with changes",
    never: "a changed schedule is accepted, and an element differs from its contraction's",
    counts: [1_000, 30_000],
    drawn: true,
    run,
};

/// Changed ones from each schedule.
const MUTANTS: usize = 4;
/// Most steps of a schedule.
const MOST_STEPS: usize = 5;
/// Tries for a change after which all steps apply.
const TRIES: usize = 12;
/// What is run of each.
const EFFORT: Effort<'static> = Effort { choices: 10, shuffles: 2, llvm: None, pools: None };

fn run(share: Share) -> Report {
    let mut report = Report::default();
    for n in 0..share.count.div_ceil(MUTANTS) {
        let mut random = Random::case(share.seed, n);
        let steps = 1 + random.below(MOST_STEPS);
        let Some(case) = Case::drawn(&mut random, steps) else { continue };
        report.count("unchanged");
        if case.stepwise().is_some_and(|s| s.refused.is_none()) {
            report.count("unchanged and accepted");
        }
        for _ in 0..MUTANTS.min(share.count - report.cases as usize) {
            let Some((mutant, what)) = mutant(&case, &mut random, &mut report) else { continue };
            report.cases += 1;
            if let Err(difference) = tried(&mutant, &mut report) {
                let fails = |case: &Case| tried(case, &mut Report::default()).is_err();
                let least = minimise(mutant, Case::smaller, fails);
                report.fail(format!("{difference} ({what})"), least.told());
            }
        }
    }
    let (unchanged, accepted) = (report.counted("unchanged"), report.counted("unchanged and accepted"));
    report.at_least_percent("unchanged ones accepted", accepted, 30, unchanged);
    let (cases, all) = (report.cases, share.count as u64);
    report.at_least_percent("changed ones that apply", cases, 90, all);
    report.at_least_percent("wrong ones refused", report.counted("refused and wrong"), 25, cases);
    report.at_least_percent("accepted and right", report.counted("accepted and right"), 10, cases);
    let texts = report.counted("refused and wrong, by a step's text");
    report.at_least_percent("wrong steps refused", texts, 5, cases);
    let made = report.counted("refused and wrong, by what a step makes");
    report.at_least_percent("wrong programs between steps refused", made, 5, cases);
    report
}

/// One to three changes after which all steps apply.
fn mutant(case: &Case, random: &mut Random, report: &mut Report) -> Option<(Case, String)> {
    for _ in 0..TRIES {
        let mut mutant = case.clone();
        let mut all = Vec::new();
        for _ in 0..[1, 1, 1, 2, 3][random.below(5)] {
            if let Some((next, what)) = mutate::schedules::change(&mutant, random) {
                mutant = next;
                all.push(what);
            }
        }
        if !all.is_empty() && mutant.applies() {
            return Some((mutant, all.join("; ")));
        }
        report.count("does not apply, drawn again");
    }
    None
}

/// A comparison; a difference or a panic is an error.
fn tried(case: &Case, report: &mut Report) -> Result<(), String> {
    let run = AssertUnwindSafe(|| try_one(case, report));
    catch_unwind(run).unwrap_or_else(|_| Err("a panic".into()))
}

fn try_one(case: &Case, report: &mut Report) -> Result<(), String> {
    let Some(made) = case.stepwise() else { return Ok(()) };
    let differs = made.differs(case, EFFORT);
    match (&made.refused, differs) {
        (None, Some(what)) => return Err(what),
        (None, None) => report.count("accepted and right"),
        (Some(code), differs) => {
            report.count(&format!("refused: {code}"));
            report.count(if differs.is_some() { "refused and wrong" } else { "refused, not seen to differ" });
            if differs.is_some() && case.changed_steps() {
                report.count("refused and wrong, by a step's text");
            }
            if differs.is_some() && case.broken.is_some() {
                report.count("refused and wrong, by what a step makes");
            }
        }
    }
    Ok(())
}
