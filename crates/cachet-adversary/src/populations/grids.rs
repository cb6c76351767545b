//! Schedules that run loops at once: do their grids leave what the contraction's loops leave, in whatever order?
//!
//! The interpreter runs each accepted one with its grids' iterations in their own order and in several shuffled ones, beside
//! the contraction. Machine code runs them one after the other, and on pools of 1 to 16 threads. Grids written by hand are
//! another population, beside the steps for nests.

use crate::minimise::minimise;
use crate::pools::Pools;
use crate::population::{Population, Report, Share};
use crate::random::Random;
use crate::runs;
use crate::scheduled::{Case, Effort, Verdict, has_grid};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The population.
pub const SCHEDULED: Population = Population {
    promise: "P6",
    name: "grids of schedules",
    never: "a grid is accepted, and some order of its iterations leaves other bits",
    counts: [80, 10_000],
    drawn: true,
    run,
};

/// Most steps of a schedule.
const MOST_STEPS: usize = 6;
/// Draws for a schedule with a grid.
const TRIES: usize = 12;
/// The grids' own order, and shuffled ones.
const ORDERS: usize = 6;

fn run(share: Share) -> Report {
    let mut report = Report::default();
    let llvm = runs::llvm();
    let pools = llvm.as_ref().map_err(Clone::clone).and_then(|_| Pools::new(share.seed, share.scale));
    let effort = Effort { choices: 10, shuffles: ORDERS, llvm: llvm.as_ref().ok(), pools: pools.as_ref().ok() };
    for n in 0..share.count {
        let mut random = Random::case(share.seed, n);
        let drawn = (0..TRIES).find_map(|_| {
            let steps = 2 + random.below(MOST_STEPS - 1);
            Case::drawn(&mut random, steps).filter(|c| has_grid(&c.schedule.steps))
        });
        let Some(case) = drawn else { continue };
        report.cases += 1;
        if let Err(what) = tried(&case, effort, &mut report) {
            let fails = |case: &Case| tried(case, effort, &mut Report::default()).is_err();
            report.fail(what, minimise(case, Case::smaller, fails).told());
        }
    }
    match &pools {
        Err(why) => report.add(&format!("without machine code on threads: {why}"), report.cases),
        Ok(_) => {
            report.at_least("runs on 1 to 16 threads", report.counted("runs on threads"), 10 * report.cases);
        }
    }
    let (cases, accepted) = (report.cases, report.counted("grids accepted"));
    report.at_least_percent("schedules with grids", cases, 90, share.count as u64);
    report.at_least_percent("grids accepted", accepted, 80, cases);
    report.at_least("orders", report.counted("orders"), 10 * cases);
    for what in ["parallel", "grid over", "several axes"] {
        report.at_least(what, report.counted(what), (cases / 10).max(1));
    }
    report
}

/// A comparison; a difference or a panic is an error.
fn tried(case: &Case, effort: Effort<'_>, report: &mut Report) -> Result<(), String> {
    let run = AssertUnwindSafe(|| try_one(case, effort, report));
    catch_unwind(run).unwrap_or_else(|_| Err("a panic".into()))
}

fn try_one(case: &Case, effort: Effort<'_>, report: &mut Report) -> Result<(), String> {
    let (verdict, seen) = case.judged(effort);
    if let Verdict::NoContraction([code, _]) | Verdict::Refused([code, _]) = verdict {
        report.count(&format!("refused: {code}"));
    }
    let Some(seen) = seen else { return Ok(()) };
    if let Some(difference) = seen.difference {
        return Err(difference);
    }
    report.count("grids accepted");
    report.add("orders", seen.runs * effort.shuffles as u64);
    report.add("runs on threads", seen.on_threads);
    for step in &case.schedule.steps {
        let text = step.to_string();
        match step.word() {
            "grid over" => {
                report.count("grid over");
                if text.contains(',') {
                    report.count("several axes");
                }
            }
            "parallel" | "at_once" => report.count("parallel"),
            _ => {}
        }
    }
    Ok(())
}
