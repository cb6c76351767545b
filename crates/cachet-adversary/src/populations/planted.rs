//! Faults planted on purpose: each has to be found by the population that is there to find it.
//!
//! A fault of the interpreter, of lowering or in LLVM's text is looked for as [`super::native_code`] looks: the same
//! functions, the same inputs, the same comparison, with the fault on one side only. A fault of the printer is looked for as
//! [`super::printed`] does. A fault that is not found in so many functions, or applies in none of them, is a failure, and so is
//! one that LLVM refuses: it would not have needed us.

use super::native_code::{Subject, subjects, target};
use super::printed::{self, Read};
use crate::mutate::faults::{Change, FAULTS, Fault, Stage, in_text};
use crate::native::{Did, Level, Runner};
use crate::population::{Population, Report, Share};
use crate::sides::{Compiling, Expected, alone, call, difference, interpreted, ready};
use cachet_codegen::Options as Target;
use cachet_core::ir::{FunId, Program};
use std::cell::Cell;
use std::time::Duration;

/// Faults.
pub const PLANTED: Population = Population {
    promise: "P3",
    name: "faults planted on purpose",
    never: "a planted fault is not found by the functions drawn, native",
    counts: [1_200, 3_000],
    drawn: false,
    run: native,
};

/// Faults of the printer.
pub const PLANTED_IN_LISTINGS: Population = Population {
    promise: "P3",
    name: "faults planted in listings",
    never: "a planted fault is not found by the functions drawn, printed and read again",
    counts: [600, 3_000],
    drawn: false,
    run: printer,
};

/// How many functions are drawn at once; a module is made of those among them in which a fault applies.
const AT_ONCE: usize = 40;
/// As hard as LLVM works for programs: some faults show only then.
const LEVEL: Level = 3;
/// A fault may make a loop that does not end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Functions with what the interpreter says of them; drawn when they are first asked for, and for all faults.
struct Batches {
    seed: u64,
    made: Vec<(Program, Vec<Subject>)>,
}

impl Batches {
    fn get(&mut self, n: usize) -> &(Program, Vec<Subject>) {
        while self.made.len() <= n {
            let first = self.made.len() * AT_ONCE;
            // What it counts is told where they are the cases.
            let batch = subjects(self.seed, first..first + AT_ONCE, &|inputs| inputs, &mut Report::default());
            self.made.push(batch);
        }
        &self.made[n]
    }
}

/// Those of the interpreter, of lowering and in LLVM's text.
fn native(share: Share) -> Report {
    let mut report = Report::default();
    let target = match target() {
        Ok(target) => target,
        Err(why) => return Report { skipped: Some(why), ..report },
    };
    let mut runner = Runner::patient(PATIENCE);
    let mut batches = Batches { seed: share.seed, made: vec![] };
    for fault in FAULTS.iter().filter(|f| f.stage != Stage::Printer) {
        told(fault, natively(fault, share, &mut batches, &target, &mut runner), &mut report);
    }
    let broke = report.counted("found where a call did not come back");
    report.at_least("found where a call did not come back", broke, 2);
    report.at_least("found in LLVM's text", report.counted("found: Text"), 29);
    report.at_least("found in lowering", report.counted("found: Lowering"), 8);
    report.at_least("found in the interpreter", report.counted("found: Interpreter"), 4);
    report
}

/// Those of the printer.
fn printer(share: Share) -> Report {
    let mut report = Report::default();
    for fault in FAULTS {
        if let (Stage::Printer, Change::Listing(change)) = (fault.stage, fault.change) {
            told(fault, in_listings(change, share), &mut report);
        }
    }
    report.at_least("found in listings", report.counted("found: Printer"), 5);
    report
}

fn told(fault: &Fault, found: Result<(usize, bool), String>, report: &mut Report) {
    report.cases += 1;
    match found {
        Ok((tried, broke)) => {
            report.count(&format!("found: {:?}", fault.stage));
            report.add("found where a call did not come back", u64::from(broke));
            report.add("functions until they were found", tried as u64);
        }
        Err(why) => report.fail(why, format!("{:?}: {}", fault.stage, fault.name)),
    }
}

/// How many functions were looked at until the fault was found, and whether by a call that did not come back.
fn natively(
    fault: &Fault,
    share: Share,
    batches: &mut Batches,
    target: &Target,
    runner: &mut Runner,
) -> Result<(usize, bool), String> {
    let applied = Cell::new(0);
    for n in 0..share.count.div_ceil(AT_ONCE) {
        let (program, subjects) = batches.get(n);
        if let Some(broke) = found(fault, program, subjects, target, runner, &applied)? {
            return Ok(((n + 1) * AT_ONCE, broke));
        }
    }
    Err(match applied.get() {
        0 => format!("it applied in none of {} functions", share.count),
        n => format!("it applied {n} times and was not found in {} functions", share.count),
    })
}

fn found(
    fault: &Fault,
    program: &Program,
    subjects: &[Subject],
    target: &Target,
    runner: &mut Runner,
    applied: &Cell<u64>,
) -> Result<Option<bool>, String> {
    let planted = |program: &mut Program| {
        if let Change::Fun(change) = fault.change {
            let changed = program.funs.iter_mut().filter_map(|f| change(f).then_some(())).count();
            applied.set(applied.get() + changed as u64);
        }
    };
    let in_text = |ir: &str| match fault.change {
        Change::Lines(change) => {
            let (ir, n) = in_text(ir, change);
            applied.set(applied.get() + n);
            ir
        }
        Change::Fun(_) | Change::Listing(_) => ir.to_string(),
    };
    let mut by = Compiling { target, runner, program: None, changes: None };
    match fault.stage {
        Stage::Lowering => by.program = Some(&planted),
        Stage::Text => by.changes = Some(&in_text),
        Stage::Interpreter => return misread(program, subjects, &planted, &mut by),
        Stage::Printer => return Err("a fault of listings is in none of ours".into()),
    }
    let mut hit = Vec::new();
    for s in subjects {
        let before = applied.get();
        by.text(&alone(program, &s.drawn, &[]).program, &[s.drawn.fun])?;
        if applied.get() > before {
            hit.push(s);
        }
    }
    if hit.is_empty() {
        return Ok(None);
    }
    let subjects = hit;
    let funs: Vec<FunId> = subjects.iter().map(|s| s.drawn.fun).collect();
    let (ir, entries) = by.text(program, &funs)?;
    let calls = subjects.iter().zip(&entries).flat_map(|(s, entry)| {
        let fun = &program.funs[s.drawn.fun.index()];
        s.runs.iter().map(move |(input, _)| call(entry, fun, &s.drawn.lending, input))
    });
    let did = by.runner.run_until_broken(&ir, LEVEL, &calls.collect::<Vec<_>>())?;
    let runs = subjects.iter().flat_map(|s| s.runs.iter().map(move |(_, expected)| (s, expected)));
    let runs = runs.map(|(s, expected)| (*s, expected));
    Ok(differs(program, runs.zip(&did)))
}

/// Whether a call differs, and if so whether it did not come back.
fn differs<'a>(
    program: &Program,
    runs: impl IntoIterator<Item = ((&'a Subject, &'a Expected), &'a Did)>,
) -> Option<bool> {
    let other = |((s, expected), did): ((&Subject, &Expected), &Did)| {
        let fun = &program.funs[s.drawn.fun.index()];
        let what = difference(fun, &s.drawn.lending, expected, did);
        what.map(|_| matches!(did, Did::Broke(_)))
    };
    runs.into_iter().find_map(other)
}

/// The interpreter is given another program: what it says then differs from generated code.
fn misread(
    program: &Program,
    subjects: &[Subject],
    planted: &dyn Fn(&mut Program),
    by: &mut Compiling<'_>,
) -> Result<Option<bool>, String> {
    let mut other = program.clone();
    planted(&mut other);
    let funs: Vec<FunId> = subjects.iter().map(|s| s.drawn.fun).collect();
    let (ir, entries) = by.text(program, &funs)?;
    let (mut calls, mut said) = (Vec::new(), Vec::new());
    for (s, entry) in subjects.iter().zip(&entries) {
        let fun = &program.funs[s.drawn.fun.index()];
        let ready = ready(&other, s.drawn.fun).map_err(|t| t.text)?;
        for (input, _) in &s.runs {
            // Where it ends early now, it says nothing to compare.
            if let Ok(expected) = interpreted(&ready, &other.funs[s.drawn.fun.index()], &s.drawn.lending, input) {
                calls.push(call(entry, fun, &s.drawn.lending, input));
                said.push((s, expected));
            }
        }
    }
    let did = by.runner.run_until_broken(&ir, LEVEL, &calls)?;
    let runs = said.iter().map(|(s, expected)| (*s, expected));
    Ok(differs(program, runs.zip(&did)))
}

/// How many listings were read until one computes something else.
fn in_listings(change: fn(&str) -> Option<String>, share: Share) -> Result<(usize, bool), String> {
    let mut applied = 0;
    for n in 0..share.count {
        let (case, drawn, inputs) = printed::drawn(share.seed, n);
        let before = printed::read(&case, &drawn, &inputs, &|text| Some(text.to_string()));
        if !matches!(before, Read::Same) {
            continue;
        }
        match printed::read(&case, &drawn, &inputs, &change) {
            Read::Other(_) => return Ok((n + 1, false)),
            Read::Same | Read::Refused => applied += 1,
            Read::Nothing => {}
        }
    }
    Err(format!("it applied {applied} times and was not found in {} listings", share.count))
}
