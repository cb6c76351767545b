//! `cachetc check --cross`: what other provers say of the conditions, in words.

use crate::{ErrorFormat, terminal};
use cachet::cross::{self, Crossed, Disagreement, Solver};
use cachet::pipeline::Outcome;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

/// Where a solver comes from.
const FIX: &str = "install z3 or cvc5 (`apt-get install z3 cvc5`, `pip install z3-solver`), or name them in CACHET_SMT";

/// Asks the solvers; gives what to add to the summary, and whether all was as it should be.
pub fn run(outcome: &Outcome, solvers: &[Solver], format: ErrorFormat) -> (String, bool) {
    let crossed = cross::ask(solvers, &cross::conditions(outcome));
    for d in &crossed.disagreements {
        report(d, format);
    }
    (summary(&crossed), crossed.disagreements.is_empty())
}

/// Says that there is no solver.
pub fn missing(format: ErrorFormat) -> u8 {
    terminal::unable(format, "no solver to cross-check with was found: neither z3 nor cvc5", Some(FIX))
}

/// `; z3 5.4.1 agrees on 231 of 231, cvc5 1.0.3 on 230 of 231 (1 too hard)`.
fn summary(crossed: &Crossed) -> String {
    let mut parts = Vec::new();
    for t in &crossed.tallies {
        let against = crossed.disagreements.iter().filter(|d| d.solver == t.solver).count();
        let mut others = Vec::new();
        if against > 0 {
            others.push(format!("disagrees on {against}"));
        }
        if t.gave_up > 0 {
            others.push(format!("{} too hard for it", t.gave_up));
        }
        others.extend(t.silent.iter().map(|(why, n)| format!("{n} without an answer: {why}")));
        let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join("; ")) };
        parts.push(format!("{} agrees on {} of {}{others}", t.solver, t.agreed, t.asked));
    }
    format!("; cross-checked: {}", parts.join(", "))
}

fn report(d: &Disagreement, format: ErrorFormat) {
    let (ours, theirs) = if d.proved { ("proved", "fails") } else { ("refuted", "holds") };
    let place = match write(d) {
        Ok(file) => format!("the condition is in {}", file.display()),
        Err(e) => format!("the condition could not be written to a file: {e}"),
    };
    let message = format!(
        "a bug in Cachet or in the solver: a condition was {ours}, and {} says that it {theirs}; {place}",
        d.solver
    );
    terminal::unable(
        format,
        &message,
        Some("please report it with that file; the verdict above does not depend on it"),
    );
}

/// One file for each condition, by what it says.
fn write(d: &Disagreement) -> std::io::Result<PathBuf> {
    let mut h = DefaultHasher::new();
    d.text.hash(&mut h);
    let file = std::env::temp_dir().join(format!("cachet-disagreement-{:016x}.smt2", h.finish()));
    let (ours, theirs) = if d.proved { ("unsat", "sat") } else { ("sat", "unsat") };
    let text = format!("; cachetc {}: {ours}; {}: {theirs}\n{}", env!("CARGO_PKG_VERSION"), d.solver, d.text);
    std::fs::write(&file, text)?;
    Ok(file)
}
