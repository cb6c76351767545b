//! The same programs with other names and in another order: what was proved is proved, what was refused is refused.
//!
//! That it does not depend on the number of threads is seen by the population of equal bytes, which has the verdicts among
//! them.

use crate::corpus::Corpus;
use crate::mutate::restated::{self, Naming};
use crate::population::{FIXED, Population, Report, Share};
use crate::random::Random;
use cachet::pipeline::{Outcome, check};
use cachet_source::{Kind, codes};
use std::collections::BTreeMap;

/// Every example and file of the suite, and the refusals.
pub const RESTATED: Population = Population {
    promise: "P15",
    name: "proofs of restated programs",
    never: "another verdict with other names, or with the declarations in another order",
    counts: [300, 12_000],
    drawn: true,
    run: restated,
};

/// Where they are. Of the refused ones some are about names, and stay as they are.
const FOLDERS: [&str; 3] = ["examples", "tests/suite", "tests/refusals"];

/// What is known of a program, without its names.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Verdict {
    /// Each report's code and kind, however they are ordered.
    reports: BTreeMap<(&'static str, String), usize>,
    /// How many functions were accepted.
    accepted: usize,
    /// How many steps.
    steps: usize,
}

fn restated(share: Share) -> Report {
    let mut report = Report::default();
    let corpus = Corpus::read();
    // Mixed, so that a part of them has about as many of each folder as all.
    let mut files: Vec<&(String, String)> = FOLDERS.iter().flat_map(|f| corpus.below(f)).collect();
    let mut random = Random::case(FIXED, 0);
    for n in (1..files.len()).rev() {
        files.swap(n, random.below(n + 1));
    }
    for n in 0..share.count {
        // Each file once before any of them twice, from another one on for another seed.
        let (name, text) = files[(n + (share.seed >> 8) as usize % files.len()) % files.len()];
        report.cases += 1;
        let before = check(name, &corpus.with(name, text.as_bytes()));
        if unnamed(&before) {
            report.count("files with names that mean nothing");
            continue;
        }
        let mut random = Random::case(share.seed, n);
        let how = random.pick(&Naming::ALL);
        let (renamed, naming) = other_names(&corpus, (name, text), how, &mut random, &mut report);
        tried(&corpus, (name, text), &before, &renamed, &format!("{how:?} names"), Some(&naming), &mut report);
        let reordered = restated::reordered(&mut random, text);
        tried(&corpus, (name, text), &before, &reordered, "another order", None, &mut report);
    }
    let renamed = report.counted("names that are renamed");
    let known = report.counted("names that the language knows");
    report.at_least_percent("names renamed", renamed, 50, renamed + known);
    report.at_most("names that steps make", report.counted("names that steps make"), 20, renamed);
    report.at_least("restated", report.counted("restated"), share.count as u64 * 3 / 2);
    report.at_least("proved both ways", report.counted("proved both ways"), share.count as u64);
    report
}

/// A program with other names, and which.
fn other_names(
    corpus: &Corpus,
    (name, text): (&str, &str),
    how: Naming,
    random: &mut Random,
    report: &mut Report,
) -> (String, BTreeMap<String, String>) {
    let (mut free, known) = restated::free(corpus, name, text);
    report.add("names that are renamed", free.len() as u64);
    report.add("names that the language knows", known as u64);
    let all = restated::names(text);
    let naming = restated::naming(random, &free, &all, how);
    let renamed = restated::renamed(text, &naming);
    if !unnamed(&check(name, &corpus.with(name, renamed.as_bytes()))) {
        return (renamed, naming);
    }
    let made = restated::made(corpus, name, text, &free);
    report.add("names that steps make", made.len() as u64);
    free.retain(|w| !made.contains(w));
    let naming = restated::naming(random, &free, &all, how);
    (restated::renamed(text, &naming), naming)
}

/// Whether a restated program has the same verdict.
fn tried(
    corpus: &Corpus,
    (name, text): (&str, &str),
    before: &Outcome,
    restated: &str,
    how: &str,
    naming: Option<&BTreeMap<String, String>>,
    report: &mut Report,
) {
    if restated == text {
        return;
    }
    report.count("restated");
    let after = check(name, &corpus.with(name, restated.as_bytes()));
    let (want, got) = (verdict(before), verdict(&after));
    if want != got {
        let what = format!("{name}: {how}: the verdict was {want:?}, and is {got:?}");
        report.fail(what, format!("{}\n{restated}", said(&after)));
        return;
    }
    report.count(if before.refused() { "refused both ways" } else { "proved both ways" });
    let models = |o: &Outcome, naming: Option<&BTreeMap<String, String>>| -> Vec<Vec<(String, String)>> {
        let other = |n: &String| naming.and_then(|names| names.get(n)).unwrap_or(n).clone();
        let of = |d: &cachet_source::Diagnostic| {
            let c = d.counterexample.as_ref()?;
            let mut values: Vec<_> = c.values.iter().map(|(n, v)| (other(n), v.clone())).collect();
            values.sort();
            Some(values)
        };
        let mut all: Vec<_> = o.diagnostics.iter().filter_map(of).collect();
        all.sort();
        all
    };
    let (want, got) = (models(before, naming), models(&after, None));
    report.add("counterexamples", want.len() as u64);
    report.add("other counterexamples", want.iter().filter(|m| !got.contains(m)).count() as u64);
}

/// Whether it is refused because of a name.
fn unnamed(o: &Outcome) -> bool {
    o.diagnostics.iter().any(|d| [codes::UNKNOWN_NAME, codes::SYNTAX, codes::TOKEN].contains(&d.code))
}

fn verdict(o: &Outcome) -> Verdict {
    let mut reports = BTreeMap::new();
    for d in &o.diagnostics {
        // Whether a counterexample's replay shows the fault depends on the model that was found.
        let kind = match d.kind {
            Kind::Wrong | Kind::NotProved => "refuted".to_string(),
            Kind::Error | Kind::NotDecided | Kind::NotBuilt | Kind::Warning => format!("{:?}", d.kind),
        };
        *reports.entry((d.code.0, kind)).or_default() += 1;
    }
    let accepted = o.module.items.iter().filter(|id| o.checked.accepts(**id)).count();
    Verdict { reports, accepted, steps: o.traces.values().map(|t| t.steps.len()).sum() }
}

fn said(o: &Outcome) -> String {
    o.diagnostics.iter().map(|d| format!("{}: {}\n", d.code.0, d.message)).collect()
}
