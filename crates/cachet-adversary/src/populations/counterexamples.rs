//! Counterexamples are real.
//!
//! Every refusal that shows values is replayed without the oracle that wrote its text: a run of what was refused in the
//! interpreter, at the sizes shown and at small ones, and an evaluation of the condition at the values shown. What a report
//! says a run has shown must be seen again; values that are shown must make the condition false.

use crate::generate::{branches, nests, steps};
use crate::judge::{self, Seen};
use crate::population::{Population, Report, Share};
use crate::random::Random;
use crate::walk::{self, Refused, Walk};
use crate::{memory, threads};
use cachet::pipeline;
use cachet::world::Disk;
use cachet_check::checked::Checker;
use cachet_check::condition::{Condition, Failure, Wording};
use cachet_check::formula::{Formula, Term, Var};
use cachet_check::prover::{Verdict, prove};
use cachet_check::relation::{self, Asked};
use cachet_check::wf;
use cachet_core::interpret::{Options, TrapKind, prepare};
use cachet_core::ir::{Fun, FunId, Program, Role};
use cachet_core::script::Module;
use cachet_oracle::hostile::Kind as Contents;
use cachet_source::{Diagnostic, Replay};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Of the golden refusals.
pub const GOLDEN: Population = Population {
    promise: "P10",
    name: "counterexamples of golden refusals",
    never: "values that are shown do not make the condition false, or what a run is said to show is not seen again",
    counts: [1_000, 1_000],
    drawn: false,
    run: golden,
};

/// Of steps drawn for drawn programs, and of drawn functions with an access moved.
pub const DRAWN: Population = Population {
    promise: "P10",
    name: "counterexamples of drawn refusals",
    never: "values that are shown do not make the condition false",
    counts: [200, 10_000],
    drawn: true,
    run: drawn,
};

fn golden(_: Share) -> Report {
    let files = walk::files("tests/refusals");
    let parts = threads::map(files.len(), |n| {
        let mut report = Report::default();
        let Some(module) = walk::module(&files[n]) else { return report };
        let walk = walk::walk(&module);
        let said = pipeline::check(&files[n].display().to_string(), &Disk::default()).diagnostics;
        let name = walk::name(&files[n]);
        for r in &walk.refusals {
            let told = said.iter().find(|d| d.message == r.failure.diagnostic.message);
            refusal(&module, &walk, r, told, &name, &mut report);
        }
        report
    });
    let mut report = parts.into_iter().fold(Report::default(), Report::and);
    let seen = report.counted("said to be seen, and seen again");
    report.at_least("said to be seen, and seen again", seen, 30);
    enough(&mut report);
    report
}

fn drawn(share: Share) -> Report {
    let mut report = threads::run(share.count, |cases| {
        let mut report = Report::default();
        for n in cases {
            let mut random = Random::case(share.seed, n);
            let text = match n % 3 {
                0 => format!("{}{}", nests::RECORDS, nests::draw_grid(&mut random, "drawn").concat()),
                1 => outside(&branches::draw(&mut random, "drawn"), &mut random),
                _ => format!("{}{}{}", steps::STEPS, nests::RECORDS, nests::draw(&mut random, "drawn")),
            };
            let module = memory::loaded(&text);
            let mut walk = walk::walk(&module);
            if n % 3 == 2 {
                refused_steps(&module, &mut random, &mut walk);
            }
            walk.refusals.iter().for_each(|r| refusal(&module, &walk, r, None, "drawn", &mut report));
        }
        report
    });
    enough(&mut report);
    let seen = report.counted("seen in a run");
    report.at_least_percent("seen in a run", seen, 25, report.cases);
    report
}

fn enough(report: &mut Report) {
    let (with, all) = (report.counted("with values"), report.cases);
    report.at_least_percent("with values", with, 50, all);
    let evaluated = report.counted("the condition is false at the values shown");
    report.at_least_percent("conditions false at the values shown", evaluated, 80, with);
}

/// One access of many reads or writes the element after its array's last, or an index that may be one.
fn outside(text: &str, random: &mut Random) -> String {
    let places: Vec<usize> = text.match_indices("x[").chain(text.match_indices("y[")).map(|(at, _)| at + 2).collect();
    // The first is the declaration's.
    let inside: Vec<usize> = places.into_iter().filter(|at| text.as_bytes()[at + 1] == b']').collect();
    let Some(at) = (!inside.is_empty()).then(|| random.pick(&inside)) else { return text.into() };
    let other = random.pick(&["4", "N", "M - 1", "M % 5", "N / 2"]);
    format!("{}{other}{}", &text[..at], &text[at + 1..])
}

/// Steps that are refused, of one function.
fn refused_steps(module: &Module, random: &mut Random, walk: &mut Walk) {
    let Some(id) = module.items.first().copied() else { return };
    let fun = module.program.funs[id.index()].clone();
    let program = Program { funs: vec![fun.clone()], ..module.program.clone() };
    let mut checker = Checker::new(program.clone());
    if checker.accept_function(FunId(0)).is_err() {
        return;
    }
    let mut splits = Default::default();
    for n in 0..12 {
        let call = steps::draw(random, &fun, n);
        let Ok(made) = cachet_schedule::apply(&program, &fun, &call, &module.steps, &mut splits) else { continue };
        let asked = Asked { name: call.name.clone(), step: call.name.clone(), span: call.span, callers: vec![] };
        if let Err(failure) = checker.clone().accept_step(FunId(0), &made, &asked) {
            let mut conditions = wf::conditions(&program, &made.after, &mut Default::default()).unwrap_or_default();
            let needed = relation::conditions(&program, &fun, &made, &asked);
            conditions.extend(needed.map(|n| n.conditions).unwrap_or_default());
            let what = format!("drawn after {call}");
            walk.pieces.push(walk::Piece {
                what: what.clone(),
                fun: made.after.clone(),
                by_step: true,
                conditions,
                dead: None,
            });
            let (program, before) = (program.clone(), Some(fun.clone()));
            let (id, after) = (FunId(0), made.after);
            walk.refusals.push(Refused { what, program, id, before, after, failure: *failure });
        }
    }
}

/// Replays one refusal.
fn refusal(module: &Module, walk: &Walk, r: &Refused, told: Option<&Diagnostic>, file: &str, report: &mut Report) {
    report.cases += 1;
    let case = || {
        let before = r.before.as_ref().map(|b| cachet_core::print::listing(&r.program, b)).unwrap_or_default();
        let after = cachet_core::print::listing(&r.program, &r.after);
        format!("{file}, {}: {}\n{before}\n{after}", r.what, r.failure.diagnostic.message)
    };
    let shown = r.failure.diagnostic.counterexample.as_ref().is_some_and(|c| !c.values.is_empty());
    report.add("with values", u64::from(shown || r.failure.sizes.is_some()));
    if r.failure.sizes.is_some() {
        match failed_condition(walk, r) {
            None => report.count("a misfit that names sizes"),
            Some(c) => match evaluated(&c, &r.failure) {
                Some(true) => report.count("the condition is false at the values shown"),
                Some(false) => report.fail("the values shown do not make the condition false", case()),
                None => report.count("values that are not decided"),
            },
        }
    }
    let runs = seen(module, r, told);
    report.add("seen in a run", u64::from(runs == Some(true)));
    match (lines(told), runs) {
        (Some(_), Some(true)) => report.count("said to be seen, and seen again"),
        (Some(lines), Some(false)) => {
            report.fail("what a run is said to show is not seen again", format!("{}\n{}", lines.join("\n"), case()));
        }
        (Some(_), None) => report.count("said to be seen, and cannot be run here"),
        (None, _) => {}
    }
}

fn lines(told: Option<&Diagnostic>) -> Option<&[String]> {
    match told?.counterexample.as_ref()?.replay.as_ref()? {
        Replay::Seen { lines } => Some(lines),
        Replay::NotSeen => None,
    }
}

// ---------------------------------------------------------------- the condition

/// The condition that a refusal is about, by what it says; of a bound, the side.
fn failed_condition(walk: &Walk, r: &Refused) -> Option<Condition> {
    let said = r.failure.diagnostic.message.strip_prefix("could not prove ")?;
    let pieces = walk.pieces.iter().filter(|p| p.what == r.what);
    let conditions = pieces.flat_map(|p| &p.conditions).filter(|c| c.kind == r.failure.kind);
    let mut found = Vec::new();
    for c in conditions {
        let of_goal = |goal: &Formula| {
            let mut side = c.clone();
            side.goal = goal.clone();
            side
        };
        match (&c.claim, &c.goal) {
            (Wording::Within { what, lo, x, hi }, Formula::And(sides)) if sides.len() == 2 => {
                let texts = [format!("{what}: {lo} <= {x}"), format!("{what}: {x} < {hi}")];
                found.extend(sides.iter().zip(texts).filter(|(_, t)| t == said).map(|(goal, _)| of_goal(goal)));
            }
            (claim, _) if claim.to_string() == said => found.push(c.clone()),
            _ => {}
        }
    }
    // Several places may say the same: the one that fails first is reported.
    found.into_iter().find(|c| !matches!(prove(&c.problem()), Verdict::Proved(_)))
}

/// Whether the condition is false for some values of the unknowns that are not shown. `None` if that is not decided.
fn evaluated(c: &Condition, failure: &Failure) -> Option<bool> {
    let mut problem = c.problem();
    let count = problem.names.len() as u32;
    for (name, value) in failure.diagnostic.counterexample.iter().flat_map(|c| &c.values) {
        let mut of_name = (0..count).filter(|n| problem.names[*n as usize] == *name);
        if let (Some(n), None, Ok(value)) = (of_name.next(), of_name.next(), value.parse::<i128>()) {
            problem.hypotheses.push(Term::Var(Var(n)).equals(value));
        }
    }
    match prove(&problem) {
        Verdict::Refuted(model) => Some(problem.refuted_by(&model) == Some(true)),
        Verdict::Proved(_) => Some(false),
        Verdict::Undecided { .. } => None,
    }
}

// ---------------------------------------------------------------- a run

/// Whether a run shows that what was refused is wrong; `None` where it cannot be run.
fn seen(module: &Module, r: &Refused, told: Option<&Diagnostic>) -> Option<bool> {
    let generic = !r.after.type_params.is_empty();
    if generic || module.program.funs.len() != r.program.funs.len() && r.program.funs.len() != 1 {
        return None;
    }
    let mut tried = false;
    for (n, at) in sizes(r, told).into_iter().enumerate() {
        // Where a difference is said to be, it may take special contents to see it.
        let contents = if n == 0 && lines(told).is_some() { 5_000 } else { 4 };
        let run = catch_unwind(AssertUnwindSafe(|| wrong_at(r, &at, contents)));
        match run {
            Ok(Some(true)) => return Some(true),
            Ok(Some(false)) => tried = true,
            Ok(None) | Err(_) => {}
        }
    }
    tried.then_some(false)
}

fn wrong_at(r: &Refused, at: &[i64], contents: usize) -> Option<bool> {
    let mut random = Random(0x0AC1E);
    match &r.before {
        Some(before) => {
            let mut any = None;
            // What does not even run before the step is nothing to compare with.
            alone(r, before, at).filter(|wrong| !wrong)?;
            for _ in 0..contents {
                match judge::compare(&r.program, r.id, before, &r.after, at, &mut random) {
                    Seen::Other(_) => return Some(true),
                    Seen::Same => any = Some(false),
                    Seen::Nothing => {}
                }
            }
            let wrong = alone(r, &r.after, at);
            any.or(wrong).map(|_| wrong == Some(true))
        }
        None => alone(r, &r.after, at),
    }
}

/// Whether the function alone does what no function may.
fn alone(r: &Refused, fun: &Fun, at: &[i64]) -> Option<bool> {
    let mut program = r.program.clone();
    program.funs[r.id.index()] = fun.clone();
    let outputs: Vec<usize> = (0..fun.params.len())
        .filter(|n| fun.produces.contains(&fun.params[*n]) && fun.buffers[fun.params[*n].index()].role == Role::Mut)
        .collect();
    let mut arrays = judge::fresh(fun, at, Contents::Ordinary, 7, &outputs);
    let options = Options { max_steps: 200_000, ..Options::default() };
    match prepare(&program, r.id, &[]).and_then(|p| p.run(at, &mut arrays, &options)) {
        Ok(()) => Some(false),
        Err(t) => match t.kind {
            TrapKind::RequirementViolated | TrapKind::ExtentMismatch | TrapKind::Limit | TrapKind::Malformed => None,
            TrapKind::OutOfBounds { .. }
            | TrapKind::Uninitialised { .. }
            | TrapKind::Overflow
            | TrapKind::IndexOverflow
            | TrapKind::Overlap
            | TrapKind::WindowViolated
            | TrapKind::WindowOverlap
            | TrapKind::NotProduced
            | TrapKind::Shape => Some(true),
        },
    }
}

/// The sizes that the report names, those of the counterexample, and small ones.
fn sizes(r: &Refused, told: Option<&Diagnostic>) -> Vec<Vec<i64>> {
    let dims = r.after.sizes.len();
    let mut out: Vec<Vec<i64>> = Vec::new();
    out.extend(lines(told).and_then(|l| l.first()).map(|l| named(l)));
    out.extend(r.failure.sizes.clone());
    let base = [1, 9, 6, 4, 3][dims.min(4)];
    let digit = |n: i64, d: usize| n / i64::pow(base, d.min(8) as u32) % base;
    out.extend((0..i64::pow(base, dims.min(5) as u32)).map(|n| (0..dims).map(|d| digit(n, d)).collect()));
    out.retain(|at| at.len() == dims && at.iter().all(|n| (0..=64).contains(n)));
    out
}

/// The sizes of `at M = 1, N = 1 the results differ ..`.
fn named(line: &str) -> Vec<i64> {
    let Some(rest) = line.strip_prefix("at ") else { return Vec::new() };
    let value = |part: &str| part.split(" = ").nth(1)?.split(' ').next()?.parse().ok();
    rest.split(", ").map_while(value).collect()
}
