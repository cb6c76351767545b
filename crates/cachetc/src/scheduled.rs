//! `cachetc scheduled`: the loops, and what is claimed of them.

use crate::{ErrorFormat, OK, REFUSED, UNABLE, json, terminal};
use cachet::pipeline::{self, Outcome, Trace};
use cachet::{claim, world::Disk};
use cachet_core::ir::{Fun, FunId};
use cachet_core::print::listing;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Prints what was asked for.
pub fn run(file: &str, name: Option<&str>, steps: bool, as_json: bool, format: ErrorFormat) -> u8 {
    let outcome = pipeline::check(file, &Disk);
    terminal::report(&outcome, format);
    let wanted: Vec<FunId> = match name {
        None => outcome.module.items.clone(),
        Some(name) => match outcome.find(name) {
            Some(id) => vec![id],
            None if outcome.refused() => return REFUSED,
            None => {
                let known: Vec<&str> = outcome.module.items.iter().map(|i| fun(&outcome, *i).name.as_str()).collect();
                let help = format!("the file has {}", known.join(", "));
                terminal::unable(format, &format!("`{file}` has nothing named `{name}`"), Some(&help));
                return UNABLE;
            }
        },
    };
    if as_json {
        let items: Vec<Value> = wanted.iter().filter_map(|id| item_json(&outcome, *id)).collect();
        terminal::say(&json!({ "items": items, "problems": json::diagnostics(&outcome) }).to_string());
    } else {
        let parts: Vec<String> = wanted.iter().filter_map(|id| item(&outcome, *id, steps)).collect();
        terminal::say(parts.join("\n\n").trim_end());
    }
    if outcome.refused() { REFUSED } else { OK }
}

fn fun(outcome: &Outcome, id: FunId) -> &Fun {
    &outcome.checked.program().funs[id.index()]
}

/// A contraction's nest, or a schedule's function and its claim. A refused schedule shows the program up to the step
/// that was refused.
fn item(outcome: &Outcome, id: FunId, steps: bool) -> Option<String> {
    let program = outcome.checked.program();
    let Some(trace) = outcome.traces.get(&id) else {
        let shown = outcome.checked.accepts(id) && outcome.module.main != Some(id);
        return shown.then(|| listing(program, fun(outcome, id)));
    };
    let last = trace.steps.last().map_or(&trace.start, |s| &s.after);
    let mut out = String::new();
    if steps {
        out.push_str(&walk(outcome, trace));
        out.push('\n');
    } else {
        out.push_str(&listing(program, last));
    }
    match outcome.claims.get(&id) {
        Some(c) => out.push_str(&format!("\n{}", claim::text(c))),
        None => out.push_str(&format!("\n{}: refused after {} of its steps; no claim", last.name, trace.steps.len())),
    }
    Some(out)
}

/// The program after every step.
fn walk(outcome: &Outcome, trace: &Trace) -> String {
    let program = outcome.checked.program();
    let mut parts = vec![format!("{}'0: what it starts from\n\n{}", trace.start.name, listing(program, &trace.start))];
    for s in &trace.steps {
        let related = s.conditions.len() - s.of_program;
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for c in &s.conditions[s.of_program..] {
            let head = c.claim.split_once(": ").map_or(c.claim.as_str(), |(_, what)| what);
            *kinds.entry(head.to_string()).or_default() += 1;
        }
        let mut text = format!("{}: {}\n\n{}", s.name, s.text, listing(program, &s.after));
        text.push_str(&format!(
            "\n  proved of the program: {} conditions\n  proved of the relation: {related} conditions\n",
            s.of_program
        ));
        for (kind, n) in kinds {
            text.push_str(&format!("    {n} x {kind}\n"));
        }
        parts.push(text.trim_end().to_string());
    }
    parts.join("\n\n")
}

fn item_json(outcome: &Outcome, id: FunId) -> Option<Value> {
    let program = outcome.checked.program();
    let name = &fun(outcome, id).name;
    let Some(trace) = outcome.traces.get(&id) else {
        let shown = outcome.checked.accepts(id) && outcome.module.main != Some(id);
        return shown.then(|| json!({ "name": name, "listing": listing(program, fun(outcome, id)) }));
    };
    let last = trace.steps.last().map_or(&trace.start, |s| &s.after);
    let steps: Vec<Value> = trace
        .steps
        .iter()
        .map(|s| {
            let conditions: Vec<&str> = s.conditions.iter().map(|c| c.claim.as_str()).collect();
            json!({ "name": s.name, "step": s.text, "listing": listing(program, &s.after), "conditions": conditions, "of_program": s.of_program })
        })
        .collect();
    Some(json!({
        "name": name,
        "listing": listing(program, last),
        "start": listing(program, &trace.start),
        "steps": steps,
        "claim": outcome.claims.get(&id).map(json::claim),
    }))
}
