//! `cachetc check`.

use crate::{ErrorFormat, OK, REFUSED, UNABLE, terminal};
use cachet::pipeline;

/// Checks each file and prints one line for each. `cross` asks other provers as well.
pub fn run(files: &[String], cross: bool, format: ErrorFormat) -> u8 {
    let solvers = if cross { cachet::cross::find() } else { Vec::new() };
    let mut code = OK;
    let mut agreed = true;
    let mut codes = Vec::new();
    for file in files {
        let outcome = pipeline::check(file, &terminal::disk());
        terminal::reports(&outcome.sources, &outcome.diagnostics, format);
        codes.extend(outcome.diagnostics.iter().map(|d| d.code));
        let mut line = summary(file, &outcome);
        if !solvers.is_empty() {
            let (more, same) = crate::cross::run(&outcome, &solvers, format);
            line.push_str(&more);
            agreed &= same;
        }
        terminal::say(&line);
        if outcome.refused() {
            code = REFUSED;
        }
        // The process is about to end; taking thousands of terms apart first would be a good part of its time.
        std::mem::forget(outcome);
    }
    terminal::more(&codes, format);
    // The verdicts stand; whoever asked for more than verdicts learns that there was none, or that somebody is wrong.
    match (cross, solvers.is_empty(), agreed) {
        (true, true, _) => crate::cross::missing(format),
        (true, false, false) => UNABLE,
        (true, false, true) | (false, _, _) => code,
    }
}

/// `examples/matmul.cachet: 2 contractions, 3 schedules, 240 conditions proved`.
fn summary(file: &str, outcome: &pipeline::Outcome) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let items = outcome.items();
    let contractions = outcome.module.contractions.iter().filter(|(_, id)| items.contains(id)).count();
    let schedules = outcome.module.scripts.len();
    let refused = outcome.diagnostics.iter().filter(|d| d.refuses()).count();
    let mut out = format!(
        "{file}: {}, {}, {} proved",
        count(contractions, "contraction"),
        count(schedules, "schedule"),
        count(outcome.conditions, "condition")
    );
    if refused > 0 {
        out.push_str(&format!(", {refused} refused"));
    }
    out
}
