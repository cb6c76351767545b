//! Certificates that were changed, or belong to another condition.
//!
//! A certificate is offered for a condition that some point of its box refutes: neighbours of the one it proves, which
//! differ from it in one place, and others. And single alterations are offered for the condition itself: nearly all have
//! to be refused, and one that is accepted still proves something true.

use crate::generate::formulas::Boxed;
use crate::mutate::certificates::alter;
use crate::mutate::formulas::neighbours;
use crate::population::{Population, Report, Share};
use crate::random::Random;
use crate::threads;
use cachet_check::certificate::{Certificate, check};
use cachet_check::formula::Problem;
use cachet_check::prover::{Verdict, prove};

/// A pair is a certificate and a false condition.
pub const ALTERED: Population = Population {
    promise: "P20",
    name: "altered certificates",
    never: "a certificate is accepted for a condition that a point of its box refutes",
    counts: [100_000, 3_000_000],
    drawn: true,
    run: altered,
};

/// Certificates that each false neighbour is offered: the proof itself, and alterations of it.
const OFFERED: usize = 10;
/// Certificates of other conditions that a portion's false conditions are offered.
const STRANGERS: usize = 40;

fn altered(share: Share) -> Report {
    // A portion is one seed's worth of conditions; each makes a few hundred pairs.
    let portions = share.count.div_ceil(PAIRS);
    let mut report = threads::map(portions, |n| portion(&mut Random::case(share.seed, n)))
        .into_iter()
        .fold(Report::default(), Report::and);
    let (refused, tried) = (report.counted("single alterations refused"), report.counted("single alterations"));
    report.at_least_percent("single alterations refused", refused, 90, tried);
    report.at_least("single alterations", tried, share.count as u64 / 20);
    report.at_least("pairs", report.cases, share.count as u64);
    let near = report.counted("pairs with a neighbour");
    report.at_least("pairs with a neighbour", near, share.count as u64 / 2);
    report
}

/// Pairs of a portion.
const PAIRS: usize = 1_000;

fn portion(random: &mut Random) -> Report {
    let mut report = Report::default();
    let strangers: Vec<Certificate> = (0..STRANGERS).map(|_| random_proof(random).1).collect();
    while report.cases < PAIRS as u64 {
        let (boxed, certificate) = random_proof(random);
        singles(&boxed, &certificate, random, &mut report);
        for problem in neighbours(&boxed.problem, boxed.ranges.len()) {
            let false_one = Boxed { problem, ranges: boxed.ranges.clone() };
            if false_one.refutation().is_none() {
                continue;
            }
            report.add("pairs with a neighbour", OFFERED as u64);
            offer(&false_one.problem, &certificate, &mut report);
            for _ in 1..OFFERED {
                offer(&false_one.problem, &alter(&certificate, random), &mut report);
            }
        }
        let other = draw(random);
        if other.refutation().is_some() {
            strangers.iter().for_each(|c| offer(&other.problem, c, &mut report));
        }
    }
    report
}

fn draw(random: &mut Random) -> Boxed {
    if random.once_in(3) { Boxed::draw_real(random) } else { Boxed::draw(random) }
}

fn random_proof(random: &mut Random) -> (Boxed, Certificate) {
    loop {
        let boxed = draw(random);
        if let Verdict::Proved(certificate) = prove(&boxed.problem)
            && certificate.lines.len() > 1
        {
            return (boxed, certificate);
        }
    }
}

fn offer(problem: &Problem, certificate: &Certificate, report: &mut Report) {
    report.cases += 1;
    if check(problem, certificate).is_ok() {
        report.fail("a certificate of something false is accepted", case(problem, certificate));
    }
}

/// Alterations of a proof, offered for what it proves. That it is true has been found by trying all points.
fn singles(boxed: &Boxed, certificate: &Certificate, random: &mut Random, report: &mut Report) {
    if boxed.refutation().is_some() {
        return report.fail("a certificate of something false is accepted", case(&boxed.problem, certificate));
    }
    for _ in 0..20 {
        let altered = alter(certificate, random);
        if altered != *certificate {
            report.count("single alterations");
            match check(&boxed.problem, &altered) {
                Err(_) => report.count("single alterations refused"),
                Ok(()) => report.count("single alterations that still prove"),
            }
        }
    }
}

fn case(problem: &Problem, certificate: &Certificate) -> String {
    let lines: Vec<String> = certificate.lines.iter().map(|l| format!("{l:?}\n")).collect();
    format!("{}{}", problem.canonical(), lines.concat())
}
