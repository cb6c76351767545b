//! Functions drawn at random, as generated code and in the interpreter: the same bits in every cell, the same lines, and
//! nothing touched that is not theirs.
//!
//! Each function is run on inputs of every kind and at sizes from nothing on. Its arrays lie between pages that may not be
//! touched, at each of three places in turn; what it only writes starts poisoned, and so does what it allocates. Many
//! functions make one module; modules go through LLVM at each of its levels in turn.

use crate::generate::functions::coverage::{self, NODES};
use crate::generate::functions::{Drawn, Use, draw, library};
use crate::minimise::functions::{show, smaller};
use crate::minimise::within;
use crate::native::{Level, PLACES, Runner};
use crate::population::{Population, Report, Scale, Share};
use crate::random::Random;
use crate::sides::{
    Compiling, Expected, Input, alone, call, difference, fails, inputs, interpreted, ready, written_and_left,
};
use cachet_codegen::Options as Target;
use cachet_core::interpret::TrapKind;
use cachet_core::ir::{FunId, Program};
use cachet_runtime::Llvm;

/// Interpreter and native.
pub const DRAWN: Population = Population {
    promise: "P3",
    name: "functions drawn, native",
    never: "generated code leaves another word than the interpreter, or prints another line",
    counts: [3_000, 100_000],
    drawn: true,
    run: drawn,
};

/// Guard pages and poison.
pub const GUARDED: Population = Population {
    promise: "P7",
    name: "functions drawn, at both ends of their pages",
    never: "generated code touches what is not its own, or leaves poison where it writes",
    counts: [400, 20_000],
    drawn: true,
    run: guarded,
};

/// How many inputs a function has.
const INPUTS: usize = 8;
/// How many functions make a module.
const IN_A_MODULE: usize = 50;
/// Every kind of node is wanted so often.
const WANTED: u64 = 50;
/// Failures that are made small; of more, something is wrong with all of them.
const MADE_SMALL: usize = 3;
/// Tries that making one small may take.
const TRIES: usize = 2_000;

/// This machine, or why there is none.
pub fn target() -> Result<Target, String> {
    let llvm = Llvm::load().map_err(|e| format!("llvm: {e}"))?;
    let host = llvm.host().map_err(|e| format!("llvm: {e}"))?;
    Ok(Target { vector_bits: host.vector_bytes() as u32 * 8, cpu: host.cpu, features: host.features })
}

fn drawn(share: Share) -> Report {
    let (mut report, counts) = run(share, |inputs| inputs);
    if report.skipped.is_none() {
        operations(&counts, &mut report, share.count as u64);
    }
    report
}

/// Every input at every place.
fn guarded(share: Share) -> Report {
    run(share, |inputs| {
        let each = |i: Input| PLACES.map(|place| Input { place, ..i.clone() });
        inputs.into_iter().flat_map(each).collect()
    })
    .0
}

/// A function, its inputs that run, and what the interpreter says of them.
pub(super) struct Subject {
    pub(super) drawn: Drawn,
    pub(super) runs: Vec<(Input, Expected)>,
}

fn run(share: Share, at: impl Fn(Vec<Input>) -> Vec<Input>) -> (Report, coverage::Counts) {
    let mut report = Report::default();
    let target = match target() {
        Ok(target) => target,
        Err(why) => return (Report { skipped: Some(why), ..report }, coverage::Counts::new()),
    };
    let mut runner = Runner::new();
    let mut counts = coverage::Counts::new();
    for (batch, first) in (0..share.count).step_by(IN_A_MODULE).enumerate() {
        let level = levels(share.scale)[batch % levels(share.scale).len()];
        let mut compiling = Compiling { target: &target, runner: &mut runner, program: None, changes: None };
        let numbers = first..(first + IN_A_MODULE).min(share.count);
        report.cases += numbers.len() as u64;
        let (program, subjects) = subjects(share.seed, numbers, &at, &mut report);
        for s in subjects.iter().filter(|s| !s.runs.is_empty()) {
            coverage::count(&program, s.drawn.fun, &mut counts);
        }
        module(&program, &subjects, level, &mut compiling, &mut report);
    }
    told(&mut report, &counts, share.count as u64);
    (report, counts)
}

/// Each operation on each element type is wanted as often as any node.
fn operations(counts: &coverage::Counts, report: &mut Report, cases: u64) {
    let names = coverage::operations().into_iter().map(|(prim, e)| coverage::name(prim, e));
    let least = names.map(|o| counts.get(&o).copied().unwrap_or(0)).min().unwrap_or(0);
    report.at_least("of each operation on each element type", least, scaled(cases));
}

/// How often a node is wanted in so many functions.
fn scaled(cases: u64) -> u64 {
    (WANTED * cases).div_ceil(3_000).min(WANTED)
}

/// Each in turn; in a longer run mostly the one that is used.
fn levels(scale: Scale) -> &'static [Level] {
    match scale {
        Scale::Ordinary => &[3, 0, 1, 0, 2, 0],
        Scale::Nightly => &[3, 0, 3, 1, 3, 2],
    }
}

/// Draws functions and runs them in the interpreter.
pub(super) fn subjects(
    seed: u64,
    numbers: std::ops::Range<usize>,
    at: &impl Fn(Vec<Input>) -> Vec<Input>,
    report: &mut Report,
) -> (Program, Vec<Subject>) {
    let mut program = library();
    let mut all = Vec::new();
    for n in numbers {
        let mut random = Random::case(seed, n);
        let drawn = draw(&mut random, &mut program, &format!("drawn{n}"), Use::Native);
        all.push((drawn, random));
    }
    if let Err(faults) = cachet_core::validate::validate(&program) {
        panic!("what is drawn is no program: {faults:#?}");
    }
    let subject = |(drawn, mut random): (Drawn, Random)| {
        let fun = &program.funs[drawn.fun.index()];
        let ready = ready(&program, drawn.fun).unwrap_or_else(|t| panic!("{}: {}", fun.name, t.text));
        let mut runs = Vec::new();
        for input in at(inputs(fun, &mut random, INPUTS)) {
            match interpreted(&ready, fun, &drawn.lending, &input) {
                Ok(expected) => runs.push((input, expected)),
                Err(t) => report.count(&format!("runs ended by the interpreter: {}", kind(&t.kind))),
            }
        }
        Subject { drawn, runs }
    };
    let subjects = all.into_iter().map(subject).collect();
    (program, subjects)
}

fn kind(trap: &TrapKind) -> &'static str {
    match trap {
        TrapKind::OutOfBounds { .. } => "outside",
        TrapKind::Uninitialised { .. } => "unwritten",
        TrapKind::Overflow => "an index is no word",
        TrapKind::IndexOverflow => "an index beyond 64 bits",
        TrapKind::RequirementViolated => "a requirement",
        TrapKind::ExtentMismatch => "extents",
        TrapKind::Overlap => "overlap",
        TrapKind::WindowViolated | TrapKind::WindowOverlap => "windows",
        TrapKind::NotProduced => "not produced",
        TrapKind::Shape => "no power of two",
        TrapKind::Limit => "too long",
        TrapKind::Malformed => "malformed",
    }
}

/// Compiles functions as one module, runs them, and compares.
fn module(program: &Program, subjects: &[Subject], level: Level, by: &mut Compiling<'_>, report: &mut Report) {
    let funs: Vec<FunId> = subjects.iter().map(|s| s.drawn.fun).collect();
    let (ir, entries) = match by.text(program, &funs) {
        Ok(text) => text,
        Err(why) => return refused(program, subjects, level, &why, by, report),
    };
    let calls = subjects.iter().zip(&entries).flat_map(|(s, entry)| {
        let fun = &program.funs[s.drawn.fun.index()];
        s.runs.iter().map(move |(input, _)| call(entry, fun, &s.drawn.lending, input))
    });
    let did = match by.runner.run(&ir, level, &calls.collect::<Vec<_>>()) {
        Ok(did) => did,
        Err(why) => return refused(program, subjects, level, &why, by, report),
    };
    let mut did = did.iter();
    for s in subjects {
        report.add("functions that ran", u64::from(!s.runs.is_empty()));
        let fun = &program.funs[s.drawn.fun.index()];
        let mut failed = false;
        for (input, expected) in &s.runs {
            let Some(did) = did.next() else { return };
            seen(fun, &s.drawn, input, expected, report);
            let Some(what) = difference(fun, &s.drawn.lending, expected, did) else { continue };
            if !std::mem::replace(&mut failed, true) {
                failure(program, s, (input, level), &what, by, report);
            }
        }
    }
}

/// Counts what a run was for.
fn seen(fun: &cachet_core::ir::Fun, drawn: &Drawn, input: &Input, expected: &Expected, report: &mut Report) {
    report.count("runs");
    report.count(&format!("runs on {:?}", input.kind));
    report.count(&format!("runs with arrays at {:?}", input.place));
    report.add("runs with a size of 0", u64::from(input.sizes.contains(&0)));
    report.add("lines printed", expected.printed.lines().count() as u64);
    for ((p, array), lending) in fun.params.iter().zip(&expected.arrays).zip(&drawn.lending) {
        if *lending == crate::generate::functions::Lending::WrittenOnly && !fun.scratch.contains(p) {
            let (written, left) = written_and_left(array);
            report.add("poisoned cells written", written);
            report.add("poisoned cells left alone", left);
        }
    }
}

/// A failure with the smallest function that was found to show the same.
fn failure(
    program: &Program,
    s: &Subject,
    (input, level): (&Input, Level),
    what: &str,
    by: &mut Compiling<'_>,
    report: &mut Report,
) {
    let case = alone(program, &s.drawn, &input.sizes);
    let first = fails(&case, &s.drawn.lending, input, level, by);
    let least = match first.is_some() && report.failures.len() < MADE_SMALL {
        true => within(TRIES, case, smaller, |c| fails(c, &s.drawn.lending, input, level, by).is_some()),
        false => case,
    };
    let last = fails(&least, &s.drawn.lending, input, level, by);
    let name = &program.funs[s.drawn.fun.index()].name;
    let note = if first.is_none() { " (beside others only)" } else { "" };
    let shown = format!(
        "{}on {:?} from {}, arrays at {:?}, LLVM at {level}\n",
        show(&least),
        input.kind,
        input.seed,
        input.place
    );
    report.fail(format!("{name}{note}: {}", last.as_deref().unwrap_or(what)), shown);
}

/// There is no code for a module: the functions for which alone there is none either, or the module's error.
fn refused(
    program: &Program,
    subjects: &[Subject],
    level: Level,
    why: &str,
    by: &mut Compiling<'_>,
    report: &mut Report,
) {
    let before = report.failures.len();
    for s in subjects {
        let case = alone(program, &s.drawn, &[]);
        let text = by.text(&case.program, &[case.fun]);
        if let Err(why) = text.and_then(|(ir, _)| by.runner.run(&ir, level, &[])) {
            report.fail(format!("no code: {why}"), show(&case));
        }
    }
    if report.failures.len() == before {
        report.fail(format!("no code for a module: {why}"), &program.funs[subjects[0].drawn.fun.index()].name);
    }
}

/// What was seen, and how much is wanted.
fn told(report: &mut Report, counts: &coverage::Counts, cases: u64) {
    let of = |what: &str| counts.get(what).copied().unwrap_or(0);
    for node in NODES {
        report.at_least(node, of(node), scaled(cases));
    }
    let (ran, runs) = (report.counted("functions that ran"), report.counted("runs"));
    report.at_least_percent("functions that ran", ran, 90, cases);
    report.at_least("runs", runs, 6 * cases);
    let (written, left) = (report.counted("poisoned cells written"), report.counted("poisoned cells left alone"));
    report.at_least("poisoned cells written", written, 10 * cases);
    report.at_least("poisoned cells left alone", left, cases);
    report.at_least("lines printed", report.counted("lines printed"), cases / 10);
}
