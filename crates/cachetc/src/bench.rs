//! `cachetc bench`: bits first, then speed.

use crate::run::problem;
use crate::{ErrorFormat, OK, REFUSED, UNABLE, terminal};
use cachet::bench::{self, Group, Library, Options, Row};
use cachet::native::Problem;
use cachet::pipeline;
use cachet_runtime::{Llvm, MeasureRow};
use clap::Args;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    /// The root file.
    file: String,
    /// Only these contractions or schedules.
    names: Vec<String>,
    /// Every size of every contraction.
    #[arg(long, default_value_t = 1024)]
    size: i64,
    /// The implementation for type parameters that are not bound.
    #[arg(long, default_value = "PlusTimes f32")]
    with: String,
    /// Seconds to spend on each contraction.
    #[arg(long, default_value_t = 12)]
    seconds: u64,
    /// Seed of the inputs; by default another one each time, which is printed.
    #[arg(long)]
    seed: Option<u64>,
    /// How many threads grids run on, and the library.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// The same facts for tools.
    #[arg(long)]
    json: bool,
}

/// How long a full bar is, in characters.
const BAR: usize = 40;

/// Measures and prints.
pub fn run(arguments: &Arguments, cleared: &[String], format: ErrorFormat) -> u8 {
    let outcome = pipeline::check(&arguments.file, &terminal::disk());
    terminal::report(&outcome, format);
    if outcome.module.items.is_empty() {
        return if outcome.refused() { REFUSED } else { UNABLE };
    }
    if !(1..=1 << 20).contains(&arguments.size) {
        return terminal::unable(format, "a size to measure lies between 1 and 1048576", None);
    }
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let options = Options {
        names: arguments.names.clone(),
        size: arguments.size,
        implementation: arguments.with.clone(),
        budget: Duration::from_secs(arguments.seconds),
        seed,
        threads: arguments.threads,
    };
    let groups = match Llvm::load().map_err(Problem::Tool).and_then(|llvm| bench::run(&outcome, &llvm, &options)) {
        Ok(groups) => groups,
        Err(p) => return problem(&outcome, &p, format),
    };
    if groups.is_empty() {
        return terminal::unable(
            format,
            "there is nothing to measure: no contraction or schedule of these names was accepted",
            None,
        );
    }
    if arguments.json {
        let all: Vec<Value> = groups.iter().map(group_json).collect();
        terminal::say(
            &json!({ "groups": all, "seed": seed, "threads": arguments.threads, "cleared": cleared }).to_string(),
        );
    } else {
        for g in &groups {
            terminal::say(&group_text(g, seed, arguments.threads));
        }
        let compared = groups.iter().any(|g| matches!(g.library, Library::Found { .. }));
        for name in cleared.iter().filter(|_| compared) {
            terminal::say(&format!("({name} was set and would slow OpenBLAS down; it was left out for this run)"));
        }
    }
    let wrong = groups.iter().flat_map(|g| &g.rows).any(|r| r.differing > 0);
    if wrong || outcome.refused() { REFUSED } else { OK }
}

fn fresh_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_nanos() as u64)
}

fn measured<'a>(g: &'a Group, row: &Row) -> Option<&'a MeasureRow> {
    row.measured.and_then(|i| g.report.rows.get(i))
}

fn group_text(g: &Group, seed: u64, threads: usize) -> String {
    let sizes: Vec<String> = g.sizes.iter().map(|(n, v)| format!("{n} = {v}")).collect();
    let threads = if threads == 1 { "one thread".into() } else { format!("{threads} threads") };
    let mut out = vec![format!("{}  {}  {}  {threads}", g.name, sizes.join(", "), g.element)];
    if g.flops > 0.0 {
        let roof = g.report.probe.best;
        out.push(format!(
            "  roof {roof:.1} GFLOP/s (multiply-adds in registers of one core, measured in the same run)"
        ));
    } else {
        out.push("  no arithmetic: the speed is that of all arrays, each counted once".into());
    }
    let best = g.report.rows.iter().map(|r| speed(g, r).0).fold(0.0, f64::max);
    let library = if let Library::Found { name, .. } = &g.library { name.len() } else { 0 };
    let width = g.rows.iter().map(|r| r.name.len()).max().unwrap_or(0).max(library);
    for row in &g.rows {
        match measured(g, row) {
            None => out.push(format!(
                "  {:width$}  {} of its elements differ from the contraction's: not timed",
                row.name, row.differing
            )),
            Some(m) => {
                let bits = if row.nest {
                    format!("its own loops; {} samples equal the equations", g.sampled)
                } else {
                    "bits equal".into()
                };
                out.push(line(g, &row.name, m, best, width, &bits));
            }
        }
    }
    match &g.library {
        Library::Found { name, measured } => {
            if let Some(m) = g.report.rows.get(*measured) {
                out.push(line(g, name, m, best, width, "other bits: its sums have another order"));
            }
        }
        Library::Missing { fix } => out.push(format!("  no OpenBLAS was found to compare with; to install one: {fix}")),
        Library::NoCounterpart => {}
    }
    let r = &g.report;
    out.push(format!(
        "  {} of {} rounds counted, seed {seed}{}",
        r.rounds_kept,
        r.rounds_run,
        if r.noisy { ", on a busy machine: the better half" } else { "" }
    ));
    out.join("\n") + "\n"
}

/// How fast, and in what: operations, or where there are none the bytes of all arrays.
fn speed(g: &Group, m: &MeasureRow) -> (f64, &'static str) {
    match m.gflops {
        Some(gflops) if g.flops > 0.0 => (gflops, "GFLOP/s"),
        _ => (g.bytes / m.median / 1e9, "GB/s"),
    }
}

fn line(g: &Group, name: &str, m: &MeasureRow, best: f64, width: usize, bits: &str) -> String {
    let (fast, unit) = speed(g, m);
    let filled = if best > 0.0 { ((fast / best) * BAR as f64).round() as usize } else { 0 };
    let bar = "█".repeat(filled.min(BAR)) + &"·".repeat(BAR - filled.min(BAR));
    let mut text = format!("  {name:width$}  {bar}  {fast:8.2} {unit}  {:9.3} ms", 1e3 * m.median);
    if let (Some(i), true) = (&m.of_peak, g.flops > 0.0) {
        text.push_str(&format!("  {:5.1} % of the roof", 100.0 * i.median));
    }
    if let (Library::Found { .. }, Some(ratio)) = (&g.library, &m.ratio) {
        text.push_str(&format!(
            "  {:6.1} % of OpenBLAS [{:.1}, {:.1}]",
            100.0 * ratio.median,
            100.0 * ratio.low,
            100.0 * ratio.high
        ));
    }
    text.push_str(&format!("  {bits}"));
    if m.slow {
        text.push_str(&format!(" ({} round{})", m.rounds, if m.rounds == 1 { "" } else { "s" }));
    }
    if m.bimodal {
        text.push_str(" (two modes)");
    }
    text
}

fn group_json(g: &Group) -> Value {
    let row = |name: &str, m: &MeasureRow| {
        json!({
            "name": name,
            "gflops": m.gflops,
            "median_s": m.median,
            "best_s": m.best,
            "of_roof": m.of_peak.as_ref().map(|i| json!([i.low, i.median, i.high])),
            "of_baseline": m.ratio.as_ref().map(|i| json!([i.low, i.median, i.high])),
            "rounds": m.rounds,
            "slow": m.slow,
            "bimodal": m.bimodal,
        })
    };
    let rows: Vec<Value> = g
        .rows
        .iter()
        .map(|r| json!({ "name": r.name, "nest": r.nest, "differing": r.differing, "measured": measured(g, r).map(|m| row(&r.name, m)) }))
        .collect();
    let library = match &g.library {
        Library::Found { name, measured } => {
            json!({ "found": true, "name": name, "measured": g.report.rows.get(*measured).map(|m| row(name, m)) })
        }
        Library::Missing { fix } => json!({ "found": false, "fix": fix }),
        Library::NoCounterpart => Value::Null,
    };
    let sizes: serde_json::Map<String, Value> = g.sizes.iter().map(|(n, v)| (n.clone(), json!(v))).collect();
    json!({
        "name": g.name, "sizes": sizes, "element": g.element.to_string(), "flops": g.flops, "bytes": g.bytes, "sampled": g.sampled,
        "roof_gflops": g.report.probe.best, "baseline": g.report.baseline, "rounds": g.report.rounds_kept,
        "rounds_run": g.report.rounds_run, "noisy": g.report.noisy, "rows": rows, "library": library,
    })
}
