//! Schedules drawn at random, valid by the way they are drawn: is every one that is accepted what its contraction is?
//!
//! Each is checked as a text, by the whole pipeline, and run beside its contraction at sizes around the ends of its blocks:
//! interpreted, and as machine code where libLLVM is there; of many choices of sizes a sample. Refused ones are run too,
//! from the schedule engine's program, so that the counts tell false refusals from the generator's own mistakes.

use crate::minimise::minimise;
use crate::population::{Population, Report, Scale, Share};
use crate::random::Random;
use crate::runs;
use crate::scheduled::{Case, Effort, Seen, Verdict, count};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The population.
pub const SCHEDULES: Population = Population {
    promise: "P4",
    name: "schedules and their contractions",
    never: "a schedule is accepted, and an element differs from its contraction's",
    counts: [300, 30_000],
    drawn: true,
    run,
};

/// Most steps of a schedule.
const MOST_STEPS: usize = 8;
/// So many steps are deep.
const DEEP: usize = 5;

fn run(share: Share) -> Report {
    let mut report = Report::default();
    let llvm = runs::llvm();
    let choices = if share.scale == Scale::Nightly { 49 } else { 20 };
    let effort = Effort { choices, shuffles: 1, llvm: llvm.as_ref().ok(), pools: None };
    for n in 0..share.count {
        let Some(case) = drawn(share.seed, n) else {
            report.count("no step applies");
            continue;
        };
        report.cases += 1;
        count(&case, &mut report);
        if let Err(what) = tried(&case, effort, &mut report) {
            let fails = |case: &Case| tried(case, effort, &mut Report::default()).is_err();
            report.fail(what, minimise(case, Case::smaller, fails).told());
        }
    }
    match &llvm {
        Ok(_) => {
            report.at_least("runs of machine code", report.counted("runs of machine code"), report.counted("runs"))
        }
        Err(why) => report.add(&format!("without machine code: {why}"), report.cases),
    }
    bounds(&mut report);
    report
}

/// What shows that the cases are to the point.
fn bounds(report: &mut Report) {
    let (cases, accepted) = (report.cases, report.counted("accepted"));
    report.at_least_percent("5 steps deep", report.counted("accepted, deep"), 20, accepted);
    report.at_least("runs", report.counted("runs"), 4 * accepted);
    report.at_most("valid ones refused", report.counted("refused, not seen to differ"), 50, cases);
    report.at_most("not valid, of the generator's making", report.counted("refused, and wrong"), 30, cases);
    for what in WANTED {
        report.at_least(what, report.counted(what), (cases / 50).max(1));
    }
}

/// What there has to be some of.
const WANTED: &[&str] = &[
    "any semiring",
    "bool",
    "bound at an implementation",
    "f32",
    "f64",
    "i32",
    "records read",
    "schedule function",
    "schedule of a schedule",
    "split exact",
    "split in levels",
    "split of several",
    "step grid over",
    "step hoist",
    "step interchange",
    "step keep",
    "step order",
    "step pack",
    "step pack_lanes",
    "step parallel",
    "step reduce",
    "step registers",
    "step reversed",
    "step split",
    "step strip",
    "step zero",
];

/// The case of a number.
fn drawn(seed: u64, n: usize) -> Option<Case> {
    let mut random = Random::case(seed, n);
    let steps = 1 + random.below(MOST_STEPS);
    Case::drawn(&mut random, steps)
}

/// A comparison; a difference or a panic is an error.
fn tried(case: &Case, effort: Effort<'_>, report: &mut Report) -> Result<(), String> {
    let run = AssertUnwindSafe(|| try_one(case, effort, report));
    catch_unwind(run).unwrap_or_else(|_| Err("a panic".into()))
}

fn try_one(case: &Case, effort: Effort<'_>, report: &mut Report) -> Result<(), String> {
    let (verdict, seen) = case.judged(effort);
    let refused = match verdict {
        Verdict::Accepted(..) => None,
        Verdict::NoContraction([code, _]) => {
            report.count(&format!("contraction refused: {code}"));
            return Ok(());
        }
        Verdict::Refused(why) => Some(why),
    };
    if let Some([code, _]) = refused {
        report.count(&format!("refused: {code}"));
        let differs = case.stepwise().and_then(|s| s.differs(case, Effort { llvm: None, ..effort })).is_some();
        report.count(if differs { "refused, and wrong" } else { "refused, not seen to differ" });
        return Ok(());
    }
    report.count("accepted");
    if case.schedule.steps.len() >= DEEP {
        report.count("accepted, deep");
    }
    let Some(Seen { difference, runs, on_threads: _, not_for, no_code }) = seen else { return Ok(()) };
    report.add("runs", runs);
    report.add("sizes that a schedule is not for", not_for);
    match no_code {
        Some(why) => report.count(&format!("no machine code: {why}")),
        None if effort.llvm.is_some() => report.add("runs of machine code", runs),
        None => {}
    }
    difference.map_or(Ok(()), Err)
}
