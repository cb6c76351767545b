//! `cachetc bench`: bits first, then speed.

mod chart;
mod page;
mod table;
mod tools;

use crate::run::problem;
use crate::{ErrorFormat, OK, REFUSED, UNABLE, terminal};
use cachet::bench::{self, Group, Measured, Options, Sizes, sweeps};
use cachet::native::Problem;
use cachet_runtime::{Llvm, MeasureRow, PeerSearch};
use clap::Args;
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
    /// Several of them, one measurement after the other: `--sizes 64,96,128`.
    #[arg(long, value_delimiter = ',')]
    sizes: Vec<i64>,
    /// Sizes by name, the others by `--size`; again for another measurement: `--at M=64,N=64,K=512`.
    #[arg(long)]
    at: Vec<String>,
    /// The implementation for type parameters that are not bound.
    #[arg(long, default_value = "PlusTimes f32")]
    with: String,
    /// Seconds to spend on each contraction at each size.
    #[arg(long, default_value_t = 12)]
    seconds: u64,
    /// Seed of the inputs; by default another one each time, which is printed.
    #[arg(long)]
    seed: Option<u64>,
    /// How many threads grids run on, and the libraries.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Compare with no libraries.
    #[arg(long)]
    no_peers: bool,
    /// Write a page with charts: one file that loads nothing.
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
    /// The same facts for tools.
    #[arg(long)]
    json: bool,
}

/// What a measurement stands beside.
pub(crate) struct Surroundings {
    pub seed: u64,
    /// Variables of the environment that were left out.
    pub cleared: Vec<String>,
    /// The processor that code was made for.
    pub processor: String,
    pub llvm: String,
}

/// Measures and prints.
pub fn run(arguments: &Arguments, cleared: &[String], format: ErrorFormat) -> u8 {
    let (outcome, llvm) = terminal::checked_meanwhile(&arguments.file, Llvm::load);
    terminal::report(outcome, format);
    if outcome.items().is_empty() {
        return if outcome.refused() { REFUSED } else { UNABLE };
    }
    let sizes = match sizes(arguments) {
        Ok(sizes) => sizes,
        Err(text) => return terminal::unable(format, &text, None),
    };
    let options = Options {
        names: arguments.names.clone(),
        sizes,
        implementation: arguments.with.clone(),
        budget: Duration::from_secs(arguments.seconds),
        seed: arguments.seed.unwrap_or_else(fresh_seed),
        peers: (!arguments.no_peers).then(PeerSearch::of_process),
        threads: arguments.threads,
    };
    let measured = llvm.map_err(Problem::Tool).and_then(|llvm| {
        let processor = llvm.host().map_err(Problem::Tool)?.cpu;
        Ok((bench::run(outcome, &llvm, &options)?, processor, llvm.version().to_string()))
    });
    let (measured, processor, llvm) = match measured {
        Ok(measured) => measured,
        Err(p) => return problem(outcome, &p, format),
    };
    if measured.groups.is_empty() {
        return terminal::unable(
            format,
            "there is nothing to measure: no contraction or schedule of these names was accepted",
            None,
        );
    }
    let surroundings = Surroundings { seed: options.seed, cleared: cleared.to_vec(), processor, llvm };
    if arguments.json {
        terminal::say(&tools::document(&measured, &surroundings).to_string());
    } else {
        print(&measured, &surroundings);
    }
    if let Some(file) = &arguments.html {
        let text = page::page(&arguments.file, &measured, &surroundings);
        if let Err(e) = std::fs::write(file, text) {
            return terminal::unable(format, &format!("cannot write `{file}`: {e}"), None);
        }
    }
    let wrong = measured.groups.iter().flat_map(|g| &g.rows).any(|r| r.differing > 0);
    if wrong || outcome.refused() { REFUSED } else { OK }
}

fn print(measured: &Measured, surroundings: &Surroundings) {
    for g in &measured.groups {
        terminal::say(&table::group(g, surroundings.seed));
    }
    for s in &sweeps(&measured.groups) {
        terminal::say(&table::sweep(s));
    }
    for a in &measured.absent {
        terminal::say(&format!("not compared with {}: {}; to have it, {}", a.name, a.reason, a.fix));
    }
    let compared = measured.groups.iter().any(|g| !g.peers.is_empty());
    for name in surroundings.cleared.iter().filter(|_| compared) {
        terminal::say(&format!("({name} was set and would slow OpenBLAS down; it was left out for this run)"));
    }
}

fn sizes(arguments: &Arguments) -> Result<Vec<Sizes>, String> {
    let mut all: Vec<Sizes> = arguments.sizes.iter().map(|n| Sizes::all(*n)).collect();
    for text in &arguments.at {
        let named: Result<Vec<(String, i64)>, String> = text.split(',').map(named_size).collect();
        all.push(Sizes { named: named?, others: arguments.size });
    }
    if all.is_empty() {
        all.push(Sizes::all(arguments.size));
    }
    let values = all.iter().flat_map(|s| s.named.iter().map(|(_, v)| *v).chain([s.others]));
    match values.into_iter().find(|v| !(1..=1 << 20).contains(v)) {
        Some(v) => Err(format!("a size to measure lies between 1 and 1048576, and {v} does not")),
        None => Ok(all),
    }
}

fn named_size(text: &str) -> Result<(String, i64), String> {
    let parts = text.split_once('=').map(|(name, value)| (name.trim(), value.trim().parse::<i64>()));
    match parts {
        Some((name, Ok(value))) if !name.is_empty() => Ok((name.to_owned(), value)),
        _ => Err(format!("`{text}` is no size: `--at` takes names with values, as `--at M=64,K=512`")),
    }
}

fn fresh_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_nanos() as u64)
}

/// What was measured of a row.
pub(crate) fn facts<'a>(g: &'a Group, timed: &Option<bench::Timed>) -> Option<&'a MeasureRow> {
    timed.as_ref().and_then(|t| g.report.rows.get(t.at))
}

/// The sizes of a group.
pub(crate) fn sizes_text(g: &Group) -> String {
    g.sizes.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_by_name() {
        assert_eq!(named_size("M=64"), Ok(("M".into(), 64)));
        assert_eq!(named_size(" K = 7 "), Ok(("K".into(), 7)));
        for wrong in ["M", "=4", "M=", "M=x", ""] {
            assert!(named_size(wrong).is_err_and(|text| text.contains("--at M=64,K=512")), "{wrong}");
        }
    }
}
