//! Populations that ran, as one table and as JSON.

use crate::population::{AtLeast, AtMost, Ran, Wanted};
use serde_json::{Value, json};

/// How many failures of a population are printed.
const MOST_FAILURES: usize = 8;
/// How much of a failing case is printed, in lines.
const MOST_LINES: usize = 60;

/// One line of the table for each, and below what failed.
pub fn text(all: &[Ran]) -> String {
    let mut out = format!(
        "{:<4} {:<44} {:>9} {:>8} {:>8}  {:<28} {:>8}\n",
        "", "population", "cases", "seeds", "failures", "at least, at most", "seconds"
    );
    for ran in all {
        let p = ran.population;
        let r = &ran.report;
        let bounds = r.at_least.len() + r.at_most.len();
        let missed = r.at_least.iter().filter(|l| !l.met()).count() + r.at_most.iter().filter(|m| !m.met()).count();
        let met = match (&r.skipped, missed) {
            (Some(_), _) => "skipped".to_string(),
            (None, 0) => format!("{bounds} met"),
            (None, n) => format!("{n} of {bounds} MISSED"),
        };
        out.push_str(&format!(
            "{:<4} {:<44} {:>9} {:>8} {:>8}  {met:<28} {:>8.1}\n",
            p.promise,
            p.name,
            r.cases,
            ran.seeds.len(),
            r.failures.len(),
            ran.time.as_secs_f64()
        ));
    }
    all.iter().for_each(|ran| out.push_str(&details(ran)));
    out
}

/// What a population counted, and what failed in it.
pub fn details(ran: &Ran) -> String {
    let r = &ran.report;
    let mut out = format!("\n{} {}: {}\n", ran.population.promise, ran.population.name, ran.population.never);
    if ran.population.drawn {
        out.push_str(&format!("  seeds {}\n", list(ran.seeds.iter().map(u64::to_string))));
    }
    if let Some(why) = &r.skipped {
        out.push_str(&format!("  skipped: {why}\n"));
    }
    for l in &r.at_least {
        out.push_str(&format!("  {}{}\n", least(l), if l.met() { "" } else { "  MISSED" }));
    }
    for m in &r.at_most {
        out.push_str(&format!("  {}{}\n", most(m), if m.met() { "" } else { "  MISSED" }));
    }
    if !r.counts.is_empty() {
        out.push_str(&format!("  {}\n", list(r.counts.iter().map(|(what, n)| format!("{n} {what}")))));
    }
    for failure in r.failures.iter().take(MOST_FAILURES) {
        out.push_str(&format!("  FAILED: {}\n", failure.what));
        failure.case.lines().take(MOST_LINES).for_each(|line| out.push_str(&format!("    {line}\n")));
    }
    if r.failures.len() > MOST_FAILURES {
        out.push_str(&format!("  and {} more\n", r.failures.len() - MOST_FAILURES));
    }
    out
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn least(l: &AtLeast) -> String {
    match l.wanted {
        Wanted::Count(n) => format!("{}: {}, at least {n}", l.what, l.got),
        Wanted::Percent(percent, of) => format!("{}: {} of {of}, at least {percent} %", l.what, l.got),
    }
}

fn most(m: &AtMost) -> String {
    format!("{}: {} of {}, at most {} %", m.what, m.got, m.of, m.per_mille as f64 / 10.0)
}

/// The same for tools.
pub fn json(all: &[Ran]) -> Value {
    let row = |ran: &Ran| {
        let r = &ran.report;
        let at_least: Vec<Value> = r
            .at_least
            .iter()
            .map(|l| {
                let wanted = match l.wanted {
                    Wanted::Count(n) => json!({ "count": n }),
                    Wanted::Percent(percent, of) => json!({ "percent": percent, "of": of }),
                };
                json!({ "what": l.what, "got": l.got, "wanted": wanted, "met": l.met() })
            })
            .collect();
        let at_most: Vec<Value> = r
            .at_most
            .iter()
            .map(|m| json!({ "what": m.what, "got": m.got, "of": m.of, "per_mille": m.per_mille, "met": m.met() }))
            .collect();
        let failures: Vec<Value> = r.failures.iter().map(|f| json!({ "what": f.what, "case": f.case })).collect();
        json!({
            "promise": ran.population.promise,
            "population": ran.population.name,
            "never": ran.population.never,
            "cases": r.cases,
            "seeds": ran.seeds,
            "failures": failures,
            "at_least": at_least,
            "at_most": at_most,
            "counts": r.counts,
            "skipped": r.skipped,
            "seconds": ran.time.as_secs_f64(),
        })
    };
    Value::Array(all.iter().map(row).collect())
}
