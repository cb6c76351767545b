//! `cachetc account --compare A B`: what two functions do differently, and which decision makes the difference.

use crate::account::{Options, Problem, sizes, wanted};
use crate::{ErrorFormat, OK, REFUSED, UNABLE, json, terminal};
use cachet::pipeline::{Outcome, TracedStep};
use cachet::world::World;
use cachet_account::compare::{Comparison, Difference, Row, Side, compare};
use cachet_account::count::{Count, Values};
use cachet_core::ir::Var;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Prints two functions of a file side by side.
pub fn run(file: &str, names: [&str; 2], options: &Options, format: ErrorFormat) -> u8 {
    let outcome = terminal::checked(file);
    terminal::report(outcome, format);
    let sizes = match options.at.as_deref().map(sizes).transpose() {
        Ok(sizes) => sizes,
        Err(problem) => {
            terminal::unable(format, &problem, Some("sizes are given like `--at M=1024,N=1024`"));
            return UNABLE;
        }
    };
    let (a, b) = match (side(outcome, names[0]), side(outcome, names[1])) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(_), _) | (_, Err(_)) if outcome.refused() => return REFUSED,
        (Err((problem, help)), _) | (_, Err((problem, help))) => {
            terminal::unable(format, &problem, Some(&help));
            return UNABLE;
        }
    };
    let platform = cachet_frontend::platform(file, terminal::disk().files());
    let compared = compare(&[a, b], platform.as_ref());
    let shown = match Shown::new(&compared, names, sizes.as_ref()) {
        Ok(shown) => shown,
        Err((problem, help)) => {
            terminal::unable(format, &problem, Some(&help));
            return UNABLE;
        }
    };
    if options.json {
        let all = json!({ "compared": shown.json(), "problems": json::diagnostics(outcome) });
        terminal::say(&all.to_string());
    } else {
        terminal::say(&shown.text());
    }
    if outcome.refused() { REFUSED } else { OK }
}

fn side<'a>(outcome: &'a Outcome, name: &str) -> Result<Side<'a>, Problem> {
    let program = outcome.checked.program();
    let id = wanted(outcome, Some(name))?[0];
    let steps = outcome.traces.get(&id).map_or(&[][..], |t| &t.steps);
    let steps = steps.iter().map(|s: &TracedStep| (s.text.clone(), s.after())).collect();
    Ok(Side { program, fun: &program.funs[id.index()], steps })
}

struct Shown<'a> {
    of: &'a Comparison,
    names: [&'a str; 2],
    values: Option<Values>,
}

impl<'a> Shown<'a> {
    fn new(
        of: &'a Comparison,
        names: [&'a str; 2],
        sizes: Option<&BTreeMap<String, i128>>,
    ) -> Result<Shown<'a>, Problem> {
        let Some(sizes) = sizes else { return Ok(Shown { of, names, values: None }) };
        let list = format!("their sizes are {}", of.names.join(", "));
        if let Some(other) = sizes.keys().find(|k| !of.names.contains(k)) {
            return Err((format!("neither function has a size `{other}`"), list));
        }
        let mut values = Values::new();
        for (n, name) in of.names.iter().enumerate() {
            let Some(value) = sizes.get(name) else {
                // What an open type's values take need not be said; what depends on it has no number then.
                if name.starts_with("sizeof ") {
                    continue;
                }
                return Err((format!("no number is given for the size `{name}`"), list));
            };
            values.insert(Var(n as u32), *value);
        }
        Ok(Shown { of, names, values: Some(values) })
    }

    fn value(&self, c: &Count) -> Option<i128> {
        let none = Values::new();
        c.value(self.values.as_ref().unwrap_or(&none))
    }

    fn count(&self, c: &Count) -> String {
        match self.value(c) {
            Some(n) => n.to_string(),
            None => c.text(&|v| self.of.names.get(v.index()).cloned().unwrap_or_default()),
        }
    }

    /// How many times as much, where both are numbers.
    fn ratio(&self, d: &Difference) -> Option<f64> {
        let [a, b] = d.counts.each_ref().map(|c| self.value(c));
        let (a, b) = (a? as f64, b? as f64);
        (a > 0.0 && b > 0.0).then(|| a / b)
    }

    fn text(&self) -> String {
        let [a, b] = self.names;
        let mut out = format!("{a} beside {b}\n");
        let wide = a.len().max(b.len());
        for d in &self.of.differences {
            let times = match self.ratio(d) {
                Some(r) if r >= 1.0 => format!("  ({r:.2} times as much in {a})"),
                Some(r) => format!("  ({:.2} times as much in {b})", 1.0 / r),
                None => String::new(),
            };
            out.push_str(&format!("  {}{times}\n", row(&d.row)));
            for (name, c) in self.names.iter().zip(&d.counts) {
                out.push_str(&format!("    {name:wide$}  {}\n", self.count(c)));
            }
            for cause in &d.causes {
                for (n, line) in cause.iter().enumerate() {
                    out.push_str(&format!("    {}{line}\n", if n == 0 { "" } else { "  " }));
                }
            }
        }
        let rows = |n: usize, what: &str| match n {
            0 => String::new(),
            1 => format!("  one row {what}\n"),
            n => format!("  {n} rows {what}\n"),
        };
        out.push_str(
            &rows(self.of.rounded, "differ by what rounding up to whole blocks adds")
                .replace("row differ", "row differs"),
        );
        out.push_str(&rows(self.of.same, "are the same").replace("row are", "row is"));
        out
    }

    fn json(&self) -> Value {
        let count = |c: &Count| {
            let text = c.text(&|v| self.of.names.get(v.index()).cloned().unwrap_or_default());
            match self.value(c) {
                Some(n) if n.unsigned_abs() < 1 << 53 => json!({ "count": text, "number": n as i64 }),
                Some(n) => json!({ "count": text, "number": n.to_string() }),
                None => json!({ "count": text }),
            }
        };
        let one = |d: &Difference| {
            let [a, b] = d.counts.each_ref().map(count);
            json!({ "row": row(&d.row), "counts": [a, b], "causes": d.causes.iter().map(|c| c.join("; ")).collect::<Vec<_>>() })
        };
        let differences: Vec<Value> = self.of.differences.iter().map(one).collect();
        json!({ "names": self.names, "differences": differences, "same": self.of.same, "rounded": self.of.rounded })
    }
}

/// The rows of an account that a step changed.
pub fn changes_json(of: &Comparison) -> Value {
    let text = |c: &Count| c.text(&|v| of.names.get(v.index()).cloned().unwrap_or_default());
    let one = |d: &Difference| {
        let [before, after] = d.counts.each_ref().map(text);
        json!({ "row": row(&d.row), "before": before, "after": after })
    };
    Value::Array(of.differences.iter().map(one).collect())
}

/// What a row counts.
pub fn row(r: &Row) -> String {
    match r {
        Row::Moved { name, from, to, back } => {
            let back = if *back { " and back" } else { "" };
            format!("bytes of `{name}` that leases move from {from} to {to}{back}")
        }
        Row::Read { level, name } => format!("bytes of `{name}` read at {level}"),
        Row::Written { level, name } => format!("bytes of `{name}` written at {level}"),
        Row::Kept { level, name } => format!("bytes of `{name}` that stay at {level}"),
        Row::Filled { level, name } => format!("stages that fill or change `{name}` at {level}"),
        Row::Barriers => "barriers between stages".into(),
        Row::Work(op) => format!("operations {op}"),
    }
}
