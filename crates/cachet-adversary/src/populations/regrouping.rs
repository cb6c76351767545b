//! Sums are regrouped where that keeps the bits, and nowhere else.
//!
//! Texts with two sums are drawn, one of which may be regrouped by its operation's laws; every way to regroup is aimed at
//! either. One that regroups the other is refused, whatever stands beside it: laws, and permissions, are a sum's own.

use crate::generate::regroupings;
use crate::memory;
use crate::population::{Population, Report, Share};
use crate::random::Random;
use cachet_source::codes;

/// Two sums.
pub const TWO_SUMS: Population = Population {
    promise: "P19",
    name: "regrouping one of two sums",
    never: "the one that may not be regrouped is",
    counts: [60, 4_000],
    drawn: true,
    run,
};

fn run(share: Share) -> Report {
    let mut report = Report::default();
    for n in 0..share.count {
        let drawn = regroupings::draw(&mut Random::case(share.seed, n));
        let outcome = memory::checked(&drawn.text());
        let accepted = |name: &str| outcome.find(name).is_some_and(|id| outcome.claims.contains_key(&id));
        for name in &drawn.may_not {
            report.cases += 1;
            if accepted(name) {
                report.fail(format!("`{name}` regroups what may not be, and is accepted"), drawn.only(name));
            }
        }
        let to_the_point = |code| code == codes::REGROUP || code == codes::LAW || code == codes::NOT_BUILT;
        let refused = outcome.diagnostics.iter().filter(|d| d.refuses());
        let (laws, others): (Vec<_>, Vec<_>) = refused.partition(|d| to_the_point(d.code));
        report.add("refused for a law", laws.len() as u64);
        report.add("refused for another reason", others.len() as u64);
        others.iter().for_each(|d| report.count(&format!("refused: {}", d.code.0)));
        for name in &drawn.may {
            report.cases += 1;
            report.count("regroup what may be");
            report.add("accepted", u64::from(accepted(name)));
        }
    }
    let (may, accepted, not) = (
        report.counted("regroup what may be"),
        report.counted("accepted"),
        report.cases - report.counted("regroup what may be"),
    );
    report.at_least_percent("of what may be regrouped, accepted", accepted, 95, may);
    report.at_least_percent("refused for a law", report.counted("refused for a law"), 70, not);
    report
}
