//! `cachetc scheduled`: the loops, what each step changed, how it was proved, and what is claimed.

use crate::changed::{changed, marked};
use crate::{ErrorFormat, OK, REFUSED, UNABLE, compare, heat, json, terminal};
use cachet::pipeline::{Outcome, Trace};
use cachet::{claim, evidence};
use cachet_account::compare::changes;
use cachet_check::condition::Proved;
use cachet_check::relation::{Point, TracedMove};
use cachet_core::ir::{Fun, FunId};
use cachet_core::print::listing;
use serde_json::{Value, json};

/// What to print.
#[derive(Clone, Copy)]
pub struct Options {
    /// The program after every step, and what was proved.
    pub steps: bool,
    /// Both programs after every line of a recipe, and each condition.
    pub relate: bool,
    /// For tools.
    pub json: bool,
}

/// Prints what was asked for.
pub fn run(file: &str, name: Option<&str>, options: Options, format: ErrorFormat) -> u8 {
    let outcome = terminal::checked(file);
    terminal::report(outcome, format);
    let wanted: Vec<FunId> = match name {
        None => outcome.items(),
        Some(name) => match outcome.find(name) {
            Some(id) => vec![id],
            None if outcome.refused() => return REFUSED,
            None => {
                let known: Vec<&str> = outcome.items().iter().map(|i| fun(outcome, *i).name.as_str()).collect();
                let help = format!("the file has {}", known.join(", "));
                terminal::unable(format, &format!("`{file}` has nothing named `{name}`"), Some(&help));
                return UNABLE;
            }
        },
    };
    if options.json {
        let items: Vec<Value> = wanted.iter().filter_map(|id| item_json(outcome, *id)).collect();
        terminal::say(&json!({ "items": items, "problems": json::diagnostics(outcome) }).to_string());
    } else {
        let paint = Paint { colours: terminal::colours_out() };
        let mut parts: Vec<String> = paint.colours.then(heat::legend).into_iter().collect();
        parts.extend(wanted.iter().filter_map(|id| item(outcome, *id, options, paint)));
        let parts: Vec<&str> = parts.iter().map(|p| p.trim_end()).collect();
        terminal::say(&parts.join("\n\n"));
    }
    if outcome.refused() { REFUSED } else { OK }
}

/// Whether programs are printed in colour.
#[derive(Clone, Copy)]
struct Paint {
    colours: bool,
}

impl Paint {
    fn program(self, text: &str) -> String {
        if self.colours { heat::paint(text) } else { text.to_string() }
    }
}

fn fun(outcome: &Outcome, id: FunId) -> &Fun {
    &outcome.checked.program().funs[id.index()]
}

/// A contraction's nest, or a schedule's function and its claim. A refused schedule shows the program up to the step
/// that was refused.
fn item(outcome: &Outcome, id: FunId, options: Options, paint: Paint) -> Option<String> {
    let program = outcome.checked.program();
    let Some(trace) = outcome.traces.get(&id) else {
        let shown = outcome.checked.accepts(id) && outcome.module.main != Some(id);
        return shown.then(|| {
            let trusted = claim::as_written(&fun(outcome, id).name, &evidence::trusted(program, id));
            let between = if trusted.is_empty() { "" } else { "\n" };
            format!("{}{between}{trusted}", paint.program(&listing(program, fun(outcome, id))))
        });
    };
    let last = trace.before(trace.steps.len());
    let mut out = String::new();
    if options.steps || options.relate {
        out.push_str(&walk(outcome, trace, options, paint));
        out.push('\n');
    } else {
        out.push_str(&paint.program(&listing(program, last)));
    }
    match outcome.claims.get(&id) {
        Some(c) => {
            out.push_str(&format!("\n{}", claim::text(c, &outcome.module.chosen, &evidence::trusted(program, id))))
        }
        None => out.push_str(&format!("\n{}: refused after {} of its steps; no claim", last.name, trace.steps.len())),
    }
    Some(out)
}

/// What each step does.
fn walk(outcome: &Outcome, trace: &Trace, options: Options, paint: Paint) -> String {
    let program = outcome.checked.program();
    let mut parts = Vec::new();
    if options.steps {
        let start = paint.program(&listing(program, &trace.start));
        parts.push(format!("{}'0: what it starts from\n\n{}", trace.start.name, start.trim_end()));
    }
    for (n, s) in trace.steps.iter().enumerate() {
        let mut text = format!("{}: {}\n", s.name, s.text);
        if options.steps {
            let after = listing(program, s.after());
            let new = changed(&listing(program, trace.before(n)), &after);
            text.push_str(&format!("\n{}", paint.program(&marked(&after, &new))));
            text.push_str(&proved(&s.conditions));
            text.push_str(&accounted(outcome, trace, n));
            let lines: Vec<String> = trace.moves(program, n).into_iter().filter_map(|m| line(m.at)).collect();
            if !lines.is_empty() {
                text.push_str(&format!("  along the recipe: {}\n", lines.join("; ")));
            }
        }
        if options.relate {
            text.push_str(&related(outcome, trace, n, paint));
        }
        parts.push(text.trim_end().to_string());
    }
    parts.join("\n\n")
}

/// What a step did to the account: the rows that it changed.
fn accounted(outcome: &Outcome, trace: &Trace, n: usize) -> String {
    let all = changes(outcome.checked.program(), trace.before(n), trace.steps[n].after(), outcome.platform.as_ref());
    let name = |v: cachet_core::ir::Var| all.names.get(v.index()).cloned().unwrap_or_default();
    let mut out = String::new();
    for d in &all.differences {
        let [before, after] = d.counts.each_ref().map(|c| c.text(&name));
        let row = compare::row(&d.row);
        out.push_str(&match d.counts.each_ref().map(|c| c.is_zero()) {
            [true, _] => format!("    {row}: {after}\n"),
            [_, true] => format!("    {row}: none, before {before}\n"),
            [false, false] => format!("    {row}: {after}, before {before}\n"),
        });
    }
    if out.is_empty() {
        "  in the account nothing changes\n".into()
    } else {
        format!("  in the account, at most\n{out}")
    }
}

/// How many conditions each rule asked for, and of which kind.
fn proved(conditions: &[Proved]) -> String {
    let tally = claim::tally(conditions);
    let wide = tally.iter().map(|(k, _)| claim::rule(*k).len()).max().unwrap_or(0);
    let mut out = format!("\n  proved by {}\n", count(conditions.len()));
    for (kind, n) in tally {
        out.push_str(&format!("    {:wide$}  {n:>3} x {}\n", claim::rule(kind), claim::says(kind)));
    }
    out
}

/// Both programs after each line of a step's recipe, and the conditions of each line.
fn related(outcome: &Outcome, trace: &Trace, step: usize, paint: Paint) -> String {
    let s = &trace.steps[step];
    let conditions = &s.conditions[s.of_program..];
    let moves = trace.moves(outcome.checked.program(), step);
    let mut out = String::from("\n  S is what the step replaced, T what it put there\n");
    let mut before: Option<&TracedMove> = None;
    for m in &moves {
        let of_line = conditions.get(before.map_or(0, |b| b.conditions)..m.conditions).unwrap_or(&[]);
        match &m.at {
            Point::Start => {}
            Point::After(line) => out.push_str(&format!("\n  {line}: {}\n{}", needs(of_line.len()), claims(of_line))),
            Point::Compared => {
                out.push_str(&format!("\n  S and T agree in lockstep: {}\n{}", needs(of_line.len()), claims(of_line)));
            }
        }
        if m.at != Point::Compared {
            out.push_str(&sides(m, before, paint));
        }
        before = Some(m);
    }
    out
}

/// Both programs at one point; one that has not changed since the point before is not printed again.
fn sides(m: &TracedMove, before: Option<&TracedMove>, paint: Paint) -> String {
    let mut out = String::new();
    for (side, now, then) in [("S", &m.s, before.map(|b| &b.s)), ("T", &m.t, before.map(|b| &b.t))] {
        if then == Some(now) {
            out.push_str(&format!("  {side} as before\n"));
            continue;
        }
        out.push_str(&format!("  {side}\n"));
        for line in paint.program(now).lines() {
            out.push_str(&format!("    {line}\n"));
        }
    }
    out
}

/// What conditions of a relation say, each once, in order.
fn claims(conditions: &[Proved]) -> String {
    let mut all: Vec<(String, usize)> = Vec::new();
    for c in conditions {
        let claim = c.claim.to_string();
        let what = claim.split_once(": ").map_or(claim.as_str(), |(_, what)| what);
        match all.iter_mut().find(|(w, _)| w == what) {
            Some((_, n)) => *n += 1,
            None => all.push((what.to_string(), 1)),
        }
    }
    all.iter().map(|(what, n)| format!("    {n} x {what}\n")).collect()
}

/// The line of a recipe that ends at a point.
fn line(at: Point) -> Option<String> {
    match at {
        Point::Start | Point::Compared => None,
        Point::After(line) => Some(line),
    }
}

fn needs(n: usize) -> String {
    if n == 0 { "nothing to prove".into() } else { count(n) }
}

fn count(n: usize) -> String {
    format!("{n} condition{}", if n == 1 { "" } else { "s" })
}

fn item_json(outcome: &Outcome, id: FunId) -> Option<Value> {
    let program = outcome.checked.program();
    let name = &fun(outcome, id).name;
    let Some(trace) = outcome.traces.get(&id) else {
        let shown = outcome.checked.accepts(id) && outcome.module.main != Some(id);
        return shown.then(|| json!({ "name": name, "listing": listing(program, fun(outcome, id)) }));
    };
    let last = trace.before(trace.steps.len());
    let steps: Vec<Value> = (0..trace.steps.len()).map(|n| step_json(outcome, trace, n)).collect();
    Some(json!({
        "name": name,
        "listing": listing(program, last),
        "start": listing(program, &trace.start),
        "steps": steps,
        "claim": outcome.claims.get(&id).map(|c| json::claim(c, &outcome.module.chosen, &evidence::trusted(outcome.checked.program(), id))),
    }))
}

fn step_json(outcome: &Outcome, trace: &Trace, n: usize) -> Value {
    let program = outcome.checked.program();
    let s = &trace.steps[n];
    let after = listing(program, s.after());
    let new = changed(&listing(program, trace.before(n)), &after);
    // Lines count from 1, as in reports.
    let lines: Vec<usize> = new.iter().enumerate().filter(|(_, new)| **new).map(|(i, _)| i + 1).collect();
    let conditions: Vec<Value> = s
        .conditions
        .iter()
        .map(|c| json!({ "rule": claim::rule(c.kind), "says": claim::says(c.kind), "claim": c.claim.to_string() }))
        .collect();
    let proved: Vec<Value> = claim::tally(&s.conditions)
        .into_iter()
        .map(|(k, n)| json!({ "rule": claim::rule(k), "says": claim::says(k), "count": n }))
        .collect();
    let relate: Vec<Value> = trace
        .moves(program, n)
        .into_iter()
        .map(|m| {
            let point = match &m.at {
                Point::Start => "start",
                Point::After(_) => "after",
                Point::Compared => "compared",
            };
            json!({ "point": point, "line": line(m.at), "S": m.s, "T": m.t, "conditions": m.conditions })
        })
        .collect();
    let account = changes(program, trace.before(n), s.after(), outcome.platform.as_ref());
    json!({
        "name": s.name,
        "step": s.text,
        "account": compare::changes_json(&account),
        "listing": after,
        "changed": lines,
        "proved": proved,
        "conditions": conditions,
        "of_program": s.of_program,
        "relate": relate,
    })
}
