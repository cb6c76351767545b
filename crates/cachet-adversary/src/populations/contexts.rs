//! What is assumed at a place is possible there, or the place is reported as never reached.
//!
//! Of every place at which something was checked, in functions and in what steps make of them, the context is asked for a
//! witness. A witness has to lead to the place when loops and guards are evaluated straight from the program. Where there
//! is none, no small sizes may lead there, and the function has to carry a warning about something around the place; of
//! what steps make, loops may never run, and they are counted.

use crate::generate::{branches, nests, steps};
use crate::population::{Population, Report, Scale, Share};
use crate::random::Random;
use crate::walk::{self, Piece};
use crate::{memory, reach, threads};
use cachet_check::events::{Contexts, Event, Frame, events};
use cachet_check::proofs::Proofs;
use cachet_check::prover::Verdict;
use cachet_core::ir::{Block, Fun, Program, StmtKind};
use cachet_core::rewrite::{Arm, Turn};
use cachet_core::script::Module;
use cachet_source::Span;
use std::collections::BTreeSet;

/// Of the project's own programs.
pub const OF_FILES: Population = Population {
    promise: "P9",
    name: "contexts in suite, examples and refusals",
    never: "a context has no witness, and nothing is reported as never reached there",
    counts: [1_000, 1_000],
    drawn: false,
    run: of_files,
};

/// Of drawn programs, and of what drawn steps make of them.
pub const OF_DRAWN: Population = Population {
    promise: "P9",
    name: "contexts in drawn programs",
    never: "a context has no witness, and nothing is reported as never reached there",
    counts: [60, 4_000],
    drawn: true,
    run: of_drawn,
};

/// Of drawn programs with many places that are never reached.
pub const OF_BRANCHES: Population = Population {
    promise: "P9",
    name: "contexts under drawn conditions",
    never: "a context has no witness, and nothing is reported as never reached there",
    counts: [500, 30_000],
    drawn: true,
    run: of_branches,
};

/// The largest of the sizes at which places are looked for.
const LARGE: i128 = 5;

fn of_files(share: Share) -> Report {
    let all: Vec<_> = ["examples", "tests/suite", "tests/refusals"].into_iter().flat_map(walk::files).collect();
    let few = if share.scale == Scale::Nightly { 1 } else { 4 };
    let parts = threads::map(all.len(), |n| {
        let mut report = Report::default();
        if let Some(module) = walk::module(&all[n]) {
            let walk = walk::walk(&module);
            // Where functions are shared by many files, those of each file's own are enough.
            let own: Vec<&str> = module.items.iter().map(|id| module.program.funs[id.index()].name.as_str()).collect();
            for piece in walk.pieces.iter().filter(|p| own.contains(&p.fun.name.as_str())) {
                if piece.by_step && n % few != 0 {
                    continue;
                }
                places(&module.program, &walk::name(&all[n]), piece, &mut report);
            }
        }
        report
    });
    let mut report = parts.into_iter().fold(Report::default(), Report::and);
    report.counts.insert("files".into(), all.len() as u64);
    report.at_least("places", report.cases, 1_000);
    let reported = report.counted("without a witness, and reported");
    report.at_least("places without a witness, reported", reported, 3);
    enough(&mut report);
    report
}

fn of_branches(share: Share) -> Report {
    let mut report = threads::run(share.count, |cases| {
        let mut report = Report::default();
        for n in cases {
            let text = branches::draw(&mut Random::case(share.seed, n), "drawn");
            let module = memory::loaded(&text);
            let walk = walk::walk(&module);
            report
                .add("functions refused", walk.refusals.iter().map(|r| &r.what).collect::<BTreeSet<_>>().len() as u64);
            walk.pieces
                .iter()
                .filter(|p| p.what == "drawn")
                .for_each(|p| places(&module.program, "drawn", p, &mut report));
        }
        report
    });
    report.at_least("places", report.cases, 2 * share.count as u64);
    let reported = report.counted("without a witness, and reported");
    report.at_least("places without a witness, reported", reported, share.count as u64 / 8);
    let refused = report.counted("functions refused");
    report.at_most("functions refused", refused, 200, share.count as u64);
    report
}

fn of_drawn(share: Share) -> Report {
    let mut report = threads::run(share.count, |cases| {
        let mut report = Report::default();
        for n in cases {
            let mut random = Random::case(share.seed, n);
            let mut text = format!("{}{}", steps::STEPS, nests::RECORDS);
            text.push_str(&if n % 3 == 0 {
                nests::draw_grid(&mut random, "drawn").concat()
            } else {
                nests::draw(&mut random, "drawn")
            });
            let module = memory::loaded(&text);
            walk::walk(&module).pieces.iter().for_each(|p| places(&module.program, "drawn", p, &mut report));
            after_steps(&module, &mut random, &mut report);
        }
        report
    });
    report.at_least("places", report.cases, 3 * share.count as u64);
    let by_step = report.counted("in what a step made");
    report.at_least("places in what a step made", by_step, share.count as u64);
    enough(&mut report);
    report
}

/// Programs that drawn steps make, whether or not they are accepted.
fn after_steps(module: &Module, random: &mut Random, report: &mut Report) {
    for id in &module.items {
        let mut fun = module.program.funs[id.index()].clone();
        let mut splits = Default::default();
        for n in 0..6 {
            let call = steps::draw(random, &fun, n);
            let made = cachet_schedule::apply(&module.program, &fun, &call, &module.steps, &mut splits);
            if let Ok(made) = made
                && cachet_core::validate::validate_fun(&module.program, &made.after).is_ok()
            {
                fun = made.after;
                let what = format!("{} after {call}", fun.name);
                let piece = Piece { what, fun: fun.clone(), by_step: true, conditions: Vec::new(), dead: None };
                places(&module.program, "drawn", &piece, report);
            }
        }
    }
}

fn enough(report: &mut Report) {
    let (found, all) = (report.counted("with a witness that leads there"), report.cases);
    report.at_least_percent("places with a witness that leads there", found, 80, all);
    let undecided = report.counted("not decided");
    report.at_most("not decided", undecided, 1, all);
}

/// Looks at all places of a function, each context once.
fn places(program: &Program, file: &str, piece: &Piece, report: &mut Report) {
    let fun = &piece.fun;
    let mut proofs = Proofs::default();
    let mut contexts = Contexts::new(fun);
    let mut seen: BTreeSet<(Vec<Turn>, usize, String)> = BTreeSet::new();
    // A function whose requirements contradict each other is refused, and nothing is reported of what is in it.
    let refused = piece.dead.is_none() && !piece.by_step;
    for event in events(fun) {
        let inside: Vec<&Frame> = event.frames.iter().filter(|f| f.depth == cachet_check::events::INSIDE).collect();
        let key = (event.path.clone(), if inside.is_empty() { 0 } else { event.at + 1 }, format!("{inside:?}"));
        if !seen.insert(key) {
            continue;
        }
        report.cases += 1;
        report.add("in what a step made", u64::from(piece.by_step));
        let cx = contexts.of(&event);
        let place = || {
            let listing = cachet_core::print::listing(program, fun);
            format!("{file}, {}: {:?}\n{listing}", piece.what, event.what)
        };
        match proofs.witness(&cx) {
            Verdict::Refuted(model) if reach::reaches(fun, &event.frames, &model) => {
                report.count("with a witness that leads there");
            }
            Verdict::Refuted(model) => report.fail(format!("the witness {model:?} leads elsewhere"), place()),
            Verdict::Undecided { .. } => report.count("not decided"),
            Verdict::Proved(_) => {
                if let Some(sizes) = leads_there(fun, &event) {
                    report.fail(format!("a place without a witness is reached at {sizes:?}"), place());
                }
                match &piece.dead {
                    _ if refused => report.count("without a witness, in what is refused"),
                    None => report.count("without a witness, in what a step made"),
                    Some(dead) => {
                        let spans = around(fun, &event);
                        let more = dead.iter().flat_map(|d| &d.notes).any(|n| n.starts_with("more of"));
                        if dead.iter().any(|d| d.labels.iter().any(|l| spans.contains(&l.span))) {
                            report.count("without a witness, and reported");
                        } else if more {
                            report.count("without a witness, and reported as one of many");
                        } else {
                            report.fail("a place without a witness is not reported", place());
                        }
                    }
                }
            }
        }
    }
}

/// Small sizes at which an iteration reaches a place.
fn leads_there(fun: &Fun, event: &Event) -> Option<Vec<i128>> {
    let dims = fun.sizes.len();
    let base = if dims > 3 { 3 } else { LARGE + 1 };
    (0..base.pow(dims.min(6) as u32)).find_map(|n| {
        let sizes: Vec<i128> = (0..dims).map(|d| n / base.pow(d.min(5) as u32) % base).collect();
        (reach::reached(fun, &event.frames, &sizes) == Some(true)).then_some(sizes)
    })
}

/// The places of the statements around an event, and its own.
fn around(fun: &Fun, event: &Event) -> Vec<Span> {
    let mut out = vec![event.span];
    let mut block: &Block = &fun.body;
    for turn in &event.path {
        let Some(s) = block.get(turn.at) else { return out };
        out.push(s.span.0);
        block = match (&s.kind, turn.arm) {
            (StmtKind::For { body, .. }, Arm::First) => body,
            (StmtKind::Grid(g), Arm::First) => &g.body,
            (StmtKind::If { then, .. }, Arm::First) => then,
            (StmtKind::If { els, .. }, Arm::Else) => els,
            _ => return out,
        };
    }
    out
}
