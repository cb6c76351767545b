//! Library steps and built-in ones, changed in one place each: what makes other bits is never accepted.
//!
//! Every step of the schedules in `generate/places` is changed: the program that it makes, its recipe, both, or the
//! definition that makes them. The result is proposed in the step's place. It is *wrong* if it is not well formed, does
//! something that no program may, or leaves other words at some sizes: by the oracle, which shares nothing with the
//! checker, and for regrouped sums, which are other words, by the bits that the interpreter computes. Right ones may be
//! refused too, since a recipe fits one way of writing the step.
//!
//! A refusal is *by the prover* if a condition has a counterexample or could not be decided; *by the shape* if there is no
//! condition, because the two programs, or a program and a line of the recipe, do not fit each other; and *by the type*
//! where the validator refuses what is proposed. Of the wrong ones that are programs at all at least 70 in a hundred are
//! refused by the prover. Of the others most have a changed recipe besides, a line of which finds no loop; the rest are
//! programs with a statement more or less, which no line brings back.

use crate::generate::places::Place;
use crate::mutate::proposals::{self, Mutants, Proposal};
use crate::population::{FIXED, Population, Report, Share};
use crate::random::Random;
use cachet_check::condition::Failure;
use cachet_core::validate::validate_fun;
use cachet_source::Kind as Severity;
use std::collections::BTreeSet;

/// Mutated steps.
pub const STEPS: Population = Population {
    promise: "P1",
    name: "mutated steps",
    never: "a mutant is accepted and some word differs",
    counts: [1_200, 20_000],
    drawn: true,
    run,
};

/// Tiles held in registers, and copies in lanes, which are most of what a kernel has to get right.
pub const TILES: Population = Population {
    promise: "P1",
    name: "mutated register tiles",
    never: "a mutant is accepted and some word differs",
    counts: [400, 4_000],
    drawn: true,
    run: tiles,
};

fn tiles(share: Share) -> Report {
    // One way of writing a tile fits its recipe: hardly any other is accepted.
    of_places(proposals::everywhere().into_iter().filter(|(p, _)| Mutants::has_lanes(p)).collect(), share, 120)
}

fn run(share: Share) -> Report {
    of_places(proposals::everywhere(), share, 80)
}

/// Of those that are right, one in so many of all is wanted accepted.
fn of_places(places: Vec<(Place, Mutants)>, share: Share, accepted: u64) -> Report {
    let mut report = Report::default();
    let all: usize = places.iter().map(|(_, m)| m.all().len()).sum();
    report.add("in the full set", all as u64);
    let (mut steps, mut operators) = (BTreeSet::new(), BTreeSet::new());
    for (n, which) in proposals::drawn(&places, share.count, |_| true, &mut Random(share.seed)) {
        let (place, mutants) = &places[n];
        let proposal = mutants.proposal(place, which);
        steps.insert(place.step().to_string());
        operators.insert(proposal.operator.clone());
        try_one(place, &proposal, &mut report);
    }
    demands(&mut report, &places, (&steps, &operators), (share, accepted));
    report
}

fn try_one(place: &Place, proposal: &Proposal, report: &mut Report) {
    report.cases += 1;
    let differs = place.differs(&proposal.rewrite.after);
    let verdict = place.checker().accept_step(place.id, &proposal.rewrite, &place.asked());
    match (verdict, differs) {
        (Ok(_), None) => report.count("accepted and right"),
        (Ok(_), Some(how)) => {
            let what = format!("`{}` changed is accepted, and wrong: {how}", place.step());
            report.fail(what, place.case(&proposal.what, &proposal.rewrite));
        }
        (Err(_), None) => report.count("refused and right"),
        (Err(f), Some(_)) => {
            report.count("wrong");
            report.count(&format!("wrong, {}", place.step()));
            report.count(&format!("refused by {}", by(place, proposal, &f)));
            if by(place, proposal, &f) == "its shape" {
                report.count(&format!("by its shape: {}", shape(&f)));
            }
        }
    }
}

/// What refuses.
fn by(place: &Place, proposal: &Proposal, f: &Failure) -> &'static str {
    match f.diagnostic.kind {
        Severity::NotProved | Severity::NotDecided => "the prover",
        Severity::Error | Severity::Wrong | Severity::NotBuilt | Severity::Warning => {
            if validate_fun(place.program(), &proposal.rewrite.after).is_err() { "its type" } else { "its shape" }
        }
    }
}

/// Which shape it is that does not fit.
fn shape(f: &Failure) -> &'static str {
    let message = &f.diagnostic.message;
    if message.starts_with("relate line") {
        "a line of the recipe"
    } else if message.starts_with("relation") {
        "the two programs"
    } else {
        "the program made"
    }
}

fn demands(
    report: &mut Report,
    places: &[(Place, Mutants)],
    (steps, operators): (&BTreeSet<String>, &BTreeSet<String>),
    (share, accepted): (Share, u64),
) {
    let every = |of: &dyn Fn(&(Place, Mutants)) -> Vec<String>| places.iter().flat_map(of).collect::<BTreeSet<_>>();
    let all_steps = every(&|(p, _)| vec![p.step().to_string()]);
    let all_operators = every(&|(_, m)| m.all().into_iter().map(|w| m.operator(w)).collect());
    // A tenth of the cases has no room for all of them, and a sum of both would say less.
    if share.seed == FIXED {
        report.at_least("steps that are changed", steps.len() as u64, all_steps.len() as u64);
        report.at_least("kinds of change", operators.len() as u64, all_operators.len() as u64);
    }
    let (wrong, cases) = (report.counted("wrong"), report.cases);
    let right = report.counted("accepted and right");
    report.at_least("accepted and right", right, share.count as u64 / accepted);
    report.at_least_percent("observably wrong", wrong, 60, cases);
    let by_type = report.counted("refused by its type");
    let by_prover = report.counted("refused by the prover");
    report.at_least_percent("refused by the prover, of wrong programs", by_prover, 70, wrong - by_type);
}
