//! Every kind of condition carries weight: without it something wrong would be accepted, or another kind implies it.
//!
//! Mutated steps, changed functions of the suite, and lies written by hand are examined: every condition of each is
//! decided, and the kinds of those that fail are counted. A kind *carries weight* if there are wrong cases that conditions
//! of no other kind refuse. Of a kind that does not, [`class`] names the kinds that imply it, and the cases check the note:
//! whenever it fails, one of those fails too. What is examined is also proposed, so that the list and the checker agree.

use crate::generate::{lies, nests, steps};
use crate::lie::Lie;
use crate::mutate::functions;
use crate::mutate::proposals::{self, Which};
use crate::oracle::Judge;
use crate::population::{FIXED, Population, Report, Share};
use crate::random::Random;
use crate::{judge, memory, oracle};
use cachet_check::assertions;
use cachet_check::checked::{Checker, Examined, Outcome};
use cachet_check::condition::Kind;
use cachet_check::proofs::Proofs;
use cachet_check::relation::Asked;
use cachet_core::ir::{Fun, FunId, Program};
use cachet_core::pattern::MoveKind;
use cachet_core::rewrite::callees;
use cachet_core::script::Module;
use cachet_oracle::hostile::KINDS;
use cachet_schedule::Splits;
use std::collections::BTreeSet;

/// Kinds of conditions.
pub const KINDS_OF_CONDITIONS: Population = Population {
    promise: "P17",
    name: "kinds of conditions",
    never: "a kind refuses nothing alone and nothing implies it; an examination and the checker disagree",
    counts: [4_500, 60_000],
    drawn: true,
    run,
};

/// Steps that a drawn program is offered.
const OFFERED: usize = 12;

/// What is known of a kind.
#[derive(Clone, Copy)]
enum Class {
    /// Wrong cases are refused by it alone.
    Alone,
    /// Whenever it fails, one of these fails too; together they refuse wrong cases alone.
    Implied(Implied),
}

/// By what a kind is implied.
#[derive(Clone, Copy)]
struct Implied {
    by: &'static [Kind],
    why: &'static str,
}

fn class(kind: Kind) -> Class {
    match kind {
        Kind::Split => Class::Implied(Implied {
            by: &[Kind::Multiple],
            why: "blocks whose last may be shorter cut any range, and whole ones every multiple of their length",
        }),
        Kind::Multiple => Class::Implied(Implied {
            by: &[Kind::Split],
            why: "the last iterations of what is no multiple are in no whole block; its message is the better one",
        }),
        Kind::Start => Class::Implied(Implied {
            by: &[Kind::Words],
            why: "what a local holds is compared before every loop and where it is used",
        }),
        Kind::Bounds
        | Kind::Initialised
        | Kind::Written
        | Kind::Apart
        | Kind::View
        | Kind::Converts
        | Kind::Overflow
        | Kind::Extent
        | Kind::Fits
        | Kind::Requirement
        | Kind::Count
        | Kind::Branch
        | Kind::Words
        | Kind::Cell
        | Kind::Order
        | Kind::Law
        | Kind::Map
        | Kind::Given
        | Kind::Windows
        | Kind::Window
        | Kind::Copied
        | Kind::Carried
        | Kind::Narrowed
        | Kind::Mask
        | Kind::Lanes
        | Kind::Assertion => Class::Alone,
    }
}

/// Grids, slices lent at calls, named sizes, records, arrays made in loops, local cells, blocks.
const FILES: &[&str] = &[
    "grids",
    "grids/aliases",
    "grids/bands",
    "grids/own_room",
    "grids/packed",
    "slices",
    "named_sizes",
    "records/in_loops",
    "functions/calls",
    "functions/cells",
    "functions/cuts",
    "functions/extents",
    "functions/lent_outputs",
    "functions/lent_parts",
    "functions/scopes_of_arrays",
];

fn run(share: Share) -> Report {
    let mut report = Report::default();
    let third = Share { count: share.count.div_ceil(3), ..share };
    of_steps(third, &mut report);
    of_functions(third, &mut report);
    of_drawn(third, &mut report);
    // Those written by hand are the same for every seed.
    if share.seed == FIXED {
        lies::FUNCTIONS.iter().for_each(|w| of_lie(w, &mut report));
        lies::SCHEDULES.iter().for_each(|w| of_schedule(w, &mut report));
        lies::proposals().iter().for_each(|l| of_proposal(l, &mut report));
        lies::ASSERTIONS.iter().for_each(|a| of_assertion(a, &mut report));
    }
    for kind in Kind::all() {
        let alone = report.counted(&format!("{kind:?} alone"));
        match class(kind) {
            Class::Alone => report.at_least(&format!("refused by {kind:?} alone"), alone, 2),
            Class::Implied(Implied { by, why }) => {
                let together = report.counted(&format!("{kind:?} and its like alone"));
                report.at_least(&format!("refused by {kind:?} alone but for {by:?}, for {why}"), together, 2);
            }
        }
    }
    let accepted = report.counted("accepted");
    report.at_least("accepted", accepted, share.count as u64 / 50);
    report
}

/// Wrong or not, refused or not, and what every condition says.
struct Case<'a> {
    wrong: Option<String>,
    accepted: bool,
    examined: Vec<Examined>,
    what: &'a str,
    text: &'a dyn Fn() -> String,
}

fn weigh(case: Case<'_>, report: &mut Report) {
    report.cases += 1;
    let failed: Vec<&Examined> = case.examined.iter().filter(|e| e.outcome.refuses()).collect();
    if failed.is_empty() != case.accepted {
        let kinds: BTreeSet<String> = failed.iter().map(|e| format!("{:?}", e.kind)).collect();
        let verdict = if case.accepted { "accepts" } else { "refuses" };
        report.fail(format!("the checker {verdict} what fails in {kinds:?}: {}", case.what), (case.text)());
    }
    let Some(how) = case.wrong else {
        return report.count(if case.accepted { "accepted" } else { "refused and right" });
    };
    if case.accepted {
        return report.fail(format!("{} is accepted, and wrong: {how}", case.what), (case.text)());
    }
    report.count("wrong");
    let kinds: BTreeSet<Kind> = failed.iter().map(|e| e.kind).collect();
    for kind in &kinds {
        report.count(&format!("{kind:?} fails"));
        let Class::Implied(Implied { by, .. }) = class(*kind) else { continue };
        if !by.iter().any(|k| kinds.contains(k)) {
            report.fail(format!("{kind:?} fails alone, and is said to be implied: {}", case.what), (case.text)());
        }
        if kinds.iter().all(|k| k == kind || by.contains(k)) {
            report.count(&format!("{kind:?} and its like alone"));
        }
    }
    if let [kind] = kinds.iter().copied().collect::<Vec<_>>().as_slice() {
        report.count(&format!("{kind:?} alone"));
        if failed.iter().all(|e| e.outcome == Outcome::Misfit) {
            report.count(&format!("{kind:?} alone, by the shape"));
        }
    }
}

/// With another recipe as well, what is wrong seldom gets past its lines.
fn one_change(which: Which) -> bool {
    match which {
        Which::Program(_) | Which::Definition(_) => true,
        Which::Recipe(_) | Which::Both(..) => false,
    }
}

fn of_steps(share: Share, report: &mut Report) {
    let places = proposals::everywhere();
    let mut proofs = Proofs::default();
    for (n, which) in proposals::drawn(&places, share.count, one_change, &mut Random(!share.seed)) {
        let (place, mutants) = &places[n];
        let proposal = mutants.proposal(place, which);
        let checker = place.checker();
        let (rewrite, asked) = (&proposal.rewrite, place.asked());
        let examined = checker.examine_step(place.id, rewrite, &asked, &mut proofs);
        let case = Case {
            wrong: place.differs(&rewrite.after),
            accepted: checker.clone().accept_step(place.id, rewrite, &asked).is_ok(),
            examined,
            what: &format!("{}: {}", place.name, proposal.what),
            text: &|| place.case(&proposal.what, rewrite),
        };
        weigh(case, report);
    }
}

/// Steps drawn for drawn nests, most of which may not be taken.
fn of_drawn(share: Share, report: &mut Report) {
    let programs = share.count.div_ceil(OFFERED);
    let texts = (0..programs).map(|n| nests::draw(&mut Random::case(share.seed, n), &format!("drawn{n}")));
    let text = format!("{}{}{}", steps::STEPS, nests::RECORDS, texts.collect::<Vec<_>>().join("\n"));
    let module = memory::loaded(&text);
    for n in 0..programs {
        let mut random = Random::case(!share.seed, n);
        let name = format!("drawn{n}");
        let fun = module.program.funs.iter().find(|f| f.name == name).unwrap();
        let program = Program { funs: vec![fun.clone()], ..module.program.clone() };
        let (id, mut proofs, mut splits) = (FunId(0), Proofs::default(), Splits::default());
        let mut checker = Checker::new(program.clone());
        assert!(checker.accept_function(id).is_ok(), "{name} is refused");
        for m in 0..OFFERED {
            let before = checker.program().funs[id.index()].clone();
            let call = steps::draw(&mut random, &before, m);
            let Ok(made) = cachet_schedule::apply(checker.program(), &before, &call, &module.steps, &mut splits) else {
                continue;
            };
            let asked = Asked { name: call.name.clone(), step: call.name.clone(), span: call.span, callers: vec![] };
            let examined = checker.examine_step(id, &made, &asked, &mut proofs);
            let mut next = checker.clone();
            let accepted = next.accept_step(id, &made, &asked).is_ok();
            let after = if accepted { &next.program().funs[id.index()] } else { &made.after };
            let (wrong, _) = judge::differs(&program, id, &before, after, &mut random);
            let text = || format!("{}\n  {call}\n", cachet_core::print::listing(&program, &before));
            weigh(Case { wrong, accepted, examined, what: &call.to_string(), text: &text }, report);
            if accepted {
                checker = next;
            }
        }
    }
}

/// A schedule that goes wrong at one step: with the oracle to judge, or the interpreter where it regroups.
fn of_schedule(lie: &lies::Wrong, report: &mut Report) {
    let module = memory::loaded(lie.text);
    let before = report.counted("wrong");
    for script in &module.scripts {
        let (id, mut splits) = (script.fun, Splits::default());
        let mut checker = Checker::new(module.program.clone());
        let ready = checker.accept_function(script.of).is_ok() && checker.start(id, script.of, &script.types);
        assert!(ready, "{} does not start", script.name);
        for call in &script.steps {
            let before = checker.program().funs[id.index()].clone();
            let made = cachet_schedule::apply(checker.program(), &before, call, &module.steps, &mut splits);
            let made = made.unwrap_or_else(|d| panic!("{}: {}", script.name, d.message));
            let regroups = made.recipe.iter().any(|m| matches!(m.kind, MoveKind::Regroup { .. }));
            let judge = if regroups { Judge::Bits } else { Judge::Symbols };
            let asked = Asked { name: call.name.clone(), step: call.name.clone(), span: call.span, callers: vec![] };
            let wrong = judge.differs(checker.program(), &before, &made.after);
            let examined = checker.examine_step(id, &made, &asked, &mut Proofs::default());
            let program = checker.program().clone();
            let accepted = checker.accept_step(id, &made, &asked).is_ok();
            let text = || format!("{}\n  {call}\n", cachet_core::print::listing(&program, &before));
            let what = format!("{}: {}, {call}", lie.what, script.name);
            weigh(Case { wrong, accepted, examined, what: &what, text: &text }, report);
            if !accepted {
                break;
            }
        }
    }
    if report.counted("wrong") == before {
        report.fail(format!("{} is no lie", lie.what), lie.text);
    }
}

fn suite(name: &str) -> Module {
    let path = format!("{}/../../tests/suite/{name}.cachet", env!("CARGO_MANIFEST_DIR"));
    memory::on_disk(&path)
}

fn of_functions(share: Share, report: &mut Report) {
    let modules: Vec<Module> = FILES.iter().map(|f| suite(f)).collect();
    let mut all: Vec<(usize, FunId, String, Fun)> = Vec::new();
    for (n, module) in modules.iter().enumerate() {
        for id in module.items.iter().copied() {
            let fun = &module.program.funs[id.index()];
            if fun.name != "main" {
                all.extend(functions::of(fun).into_iter().map(|(what, f)| (n, id, what, f)));
            }
        }
    }
    report.add("changed functions in all", all.len() as u64);
    let mut random = Random(share.seed);
    for n in (1..all.len()).rev() {
        all.swap(n, random.below(n + 1));
    }
    for (n, id, what, fun) in all.into_iter().take(share.count) {
        let mut program = modules[n].program.clone();
        program.funs[id.index()] = fun;
        of_function(&program, id, None, &format!("{}: {what}", FILES[n]), report);
    }
}

/// A function that is wrong if it does what none may, or if it leaves other words than an exact one.
fn of_function(program: &Program, id: FunId, exact: Option<FunId>, what: &str, report: &mut Report) {
    let fun = &program.funs[id.index()];
    let mut checker = Checker::new(program.clone());
    accept_callees(&mut checker, program, id);
    let examined = checker.examine_function(id, &mut Proofs::default());
    let structural = cachet_core::validate::validate_fun(program, fun).is_err();
    let wrong = match exact {
        _ if structural => Some("it is no program".into()),
        Some(exact) => loses(program, fun, &program.funs[exact.index()]),
        None => oracle::fault(program, fun),
    };
    let case = Case {
        wrong,
        accepted: checker.accept_function(id).is_ok(),
        examined,
        what: &format!("{}, {what}", fun.name),
        text: &|| cachet_core::print::listing(program, fun),
    };
    weigh(case, report);
}

/// Whether a function leaves other words than an exact one, for words of all kinds.
fn loses(program: &Program, fun: &Fun, exact: &Fun) -> Option<String> {
    let mut random = Random(0xE6AC7);
    (0..8 * KINDS.len()).find_map(|_| {
        let sizes = vec![9; fun.sizes.len()];
        match judge::compare(program, FunId(0), exact, fun, &sizes, &mut random) {
            judge::Seen::Other(what) => Some(what),
            judge::Seen::Same | judge::Seen::Nothing => None,
        }
    })
}

fn accept_callees(checker: &mut Checker, program: &Program, id: FunId) {
    for callee in callees(&program.funs[id.index()]) {
        if callee != id {
            accept_callees(checker, program, callee);
            drop(checker.accept_function(callee));
        }
    }
}

fn of_lie(lie: &lies::Wrong, report: &mut Report) {
    let program = memory::loaded(lie.text).program;
    let named = |name: &str| program.funs.iter().position(|f| f.name == name).map(|n| FunId(n as u32));
    let before = report.counted("wrong");
    of_function(&program, named("f").unwrap(), named("exact"), lie.what, report);
    if report.counted("wrong") == before {
        report.fail(format!("{} is no lie", lie.what), lie.text);
    }
}

fn of_proposal(lie: &Lie, report: &mut Report) {
    let mut checker = Checker::new(lie.program.clone());
    if let Err(f) = checker.accept_function(lie.s) {
        return report.fail(format!("{}: `s` is refused: {}", lie.name, f[0].diagnostic.message), "");
    }
    let wrong = lie.differs_at().map(|at| format!("differs at {at:?}"));
    if wrong.is_none() {
        report.fail(format!("{} is no lie", lie.name), "");
    }
    let asked = lie.asked();
    let examined = checker.examine_step(lie.s, &lie.rewrite, &asked, &mut Proofs::default());
    let accepted = checker.accept_step(lie.s, &lie.rewrite, &asked).is_ok();
    let text = || cachet_core::print::listing(&lie.program, &lie.rewrite.after);
    weigh(Case { wrong, accepted, examined, what: &lie.name, text: &text }, report);
}

/// A false assertion. There is one kind of condition, so it is told by its refusal.
fn of_assertion(text: &str, report: &mut Report) {
    let module = memory::loaded(&format!("proof of_sizes = assert {text}\n"));
    for proof in &module.proofs {
        let sizes = proof.asserts[0].sizes.len() as u32;
        let digit = |n: usize, d: u32| (n / 9usize.pow(d) % 9) as i128;
        let all = (0..9usize.pow(sizes)).map(|n| (0..sizes).map(|d| digit(n, d)).collect::<Vec<_>>());
        let mut wrong = all.filter(|at| proof.asserts[0].claim.holds(at) == Ok(false));
        let wrong = wrong.next().map(|at| format!("it is false at {at:?}"));
        if wrong.is_none() {
            report.fail("an assertion is no lie", text);
        }
        let refused = assertions::check(proof, &mut Proofs::default()).is_err();
        let outcome = if refused { Outcome::Refuted } else { Outcome::Proved };
        let examined = vec![Examined { kind: Kind::Assertion, claim: text.into(), outcome }];
        weigh(Case { wrong, accepted: !refused, examined, what: text, text: &|| text.into() }, report);
    }
}
