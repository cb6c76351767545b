//! Does the account rank schedules as measurement does?
//!
//! Schedules of the matrix product are drawn from a seed: orders of plain loops, blocks in several orders, copies of one or
//! both operands that are kept near, tiles of registers. Each is predicted by what bounds it on the platform, in cycles: once
//! by the account alone, for which only what a program keeps is near, and once with the lines of a brute-force model of the
//! platform's caches in place of its levels. `cachetc bench` measures them. Spearman's coefficient says how alike two orders
//! are; ties share their rank.

use cachet::pipeline;
use cachet::world::Disk;
use cachet_account::account::{Mode, account};
use cachet_account::cache::{Cache, Caches, Geometry};
use cachet_account::count::Values;
use cachet_account::limits::{Limit, limits};
use cachet_account::reuse::fetched;
use cachet_account::trace::{Event, follow};
use cachet_adversary::population::FIXED;
use cachet_adversary::random::Random;
use cachet_core::ir::{Fun, Program};
use cachet_machine::platform::Platform;
use clap::Args;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What to rank.
#[derive(Args)]
pub struct Rank {
    /// The platform: the end of a name that `cachetc platform list` prints after `cachet:platforms/`.
    #[arg(long, default_value = "zen5")]
    platform: String,
    /// How many schedules.
    #[arg(long, default_value_t = 40)]
    count: usize,
    /// What they are drawn from.
    #[arg(long, default_value_t = FIXED)]
    seed: u64,
    /// Rows, columns and terms of the product.
    #[arg(long, default_value_t = 240)]
    size: i64,
    /// Seconds to measure.
    #[arg(long, default_value_t = 40)]
    seconds: u64,
    /// A file for the seconds that were measured: read if it is there, else written.
    #[arg(long)]
    times: Option<PathBuf>,
    /// A `cachetc` that is built already.
    #[arg(long, default_value = "target/release/cachetc")]
    cachetc: PathBuf,
}

/// Draws for one that is new and that is accepted.
const TRIES: usize = 50;

/// A schedule that was drawn.
struct Drawn {
    name: String,
    /// Cycles, and which part of the machine they are of: by the account, and with the model's lines.
    predicted: Limit,
    modelled: Limit,
    seconds: f64,
    steps: String,
}

/// Draws, predicts, measures, and prints the table.
pub fn run(rank: &Rank) -> Result<ExitCode, String> {
    let folder = Path::new("target/rank");
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let name = platform(rank)?;
    let schedules = draw(rank, folder, &name)?;
    let file = folder.join("rank.cachet");
    let text = program(rank, &name, schedules.iter().map(|(n, t)| (n.as_str(), t.as_str())));
    std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut all = predicted(rank, &file, &schedules)?;
    measure(rank, &file, &mut all)?;
    all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    println!("{} schedules of {} drawn from {}, on {name}, one core", all.len(), rank.size, rank.seed);
    println!("{:>12} {:>12} {:<14} {:>12} {:<14} schedule", "measured ms", "account", "", "with lines", "");
    for d in &all {
        let step = |l: &&str| !l.starts_with("(mut") && !l.starts_with("zero") && !["", "="].contains(l);
        let steps: Vec<&str> = d.steps.lines().map(str::trim).filter(step).collect();
        let (a, b) = (&d.predicted, &d.modelled);
        println!(
            "{:>12.3} {:>12.0} {:<14} {:>12.0} {:<14} {}",
            1e3 * d.seconds,
            a.cycles,
            a.part,
            b.cycles,
            b.part,
            steps.join("; ")
        );
    }
    let seconds: Vec<f64> = all.iter().map(|d| d.seconds).collect();
    let of = |f: fn(&Drawn) -> f64| all.iter().map(f).collect::<Vec<f64>>();
    for (what, x) in [("account", of(|d| d.predicted.cycles)), ("account with lines", of(|d| d.modelled.cycles))] {
        let rho = correlation(&ranks(&x), &ranks(&seconds));
        println!("{what}: rank correlation {rho:.3}; {} of its predictions are tied", ties(&x));
    }
    Ok(ExitCode::SUCCESS)
}

/// A platform's own name.
fn platform(rank: &Rank) -> Result<String, String> {
    let file = format!("platforms/{}.cachet", rank.platform);
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    let name = text.lines().find_map(|l| l.strip_prefix("platform ")?.split(' ').next());
    name.map(String::from).ok_or_else(|| format!("{file} describes no platform"))
}

fn program<'a>(rank: &Rank, platform: &str, all: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = format!(
        "// Written by `cargo xtask rank`.\nmodule (platform = {platform})\n\nimport \"cachet:platforms/{}\"\n\
         import \"cachet:layouts\"\nimport \"cachet:monoid\"\nimport \"cachet:steps\"\n\
         import \"../../examples/lib/gemm.cachet\"\n",
        rank.platform
    );
    for (name, steps) in all {
        let _ = write!(out, "\nschedule {name} of matmul @(S = PlusTimes f32){steps}");
    }
    out
}

/// Different ones that are accepted.
fn draw(rank: &Rank, folder: &Path, platform: &str) -> Result<Vec<(String, String)>, String> {
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    let mut random = Random(rank.seed);
    for _ in 0..TRIES * rank.count {
        if out.len() == rank.count {
            return Ok(out);
        }
        let steps = steps(&mut random);
        if !seen.insert(steps.clone()) {
            continue;
        }
        let name = format!("drawn_{}", out.len() + 1);
        let text = program(rank, platform, std::iter::once((name.as_str(), steps.as_str())));
        let file = folder.join("one.cachet");
        std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        let outcome = pipeline::check(&file.to_string_lossy(), &Disk::default());
        match outcome.refused() {
            true => eprintln!("refused: {}", outcome.diagnostics[0].message),
            false => out.push((name, steps)),
        }
    }
    Err(format!("of what was drawn only {} were accepted", out.len()))
}

fn shuffled(random: &mut Random, names: &[&str]) -> Vec<String> {
    let mut left: Vec<&str> = names.to_vec();
    let mut out = Vec::new();
    while !left.is_empty() {
        out.push(left.remove(random.below(left.len())).to_string());
    }
    out
}

/// The header's end, and steps.
fn steps(random: &mut Random) -> String {
    let [mc, nc, kc] =
        [random.pick(&[16, 32, 64, 128]), random.pick(&[64, 128, 256]), random.pick(&[32, 64, 128, 256])];
    match random.below(8) {
        0 => {
            let order = shuffled(random, &["i", "j", "k"]);
            format!(" =\n  zero (i, j) c\n  order ({})\n", order.join(", "))
        }
        1 | 2 => {
            let (outer, inner) = (shuffled(random, &["gi", "gj", "gk"]), shuffled(random, &["i", "j", "k"]));
            format!(
                " =\n  zero (i, j) c\n  split k by {kc} as gk ragged\n  split i by {mc} as gi ragged\n  \
                 split j by {nc} as gj ragged\n  order ({}, {})\n",
                outer.join(", "),
                inner.join(", ")
            )
        }
        kind => {
            let lanes = random.pick(&[16, 32, 64]);
            let rows = random.pick(&[2, 4, 6, 8]);
            let mc = mc / rows * rows;
            let outer = if random.once_in(2) { "gk, gj, gi" } else { "gk, gi, gj" };
            let mut header = String::new();
            let mut steps = format!(
                "  zero (i, j) c\n  split k by {kc} as gk ragged\n  split i by {mc} as gi, {rows} as ui ragged\n  \
                 split j by {lanes} as gj ragged\n  order ({outer}, ui, i, j)\n"
            );
            let near = random.once_in(2);
            if kind % 2 == 0 {
                let _ = write!(header, "\n    (mut packB: [f32; {kc}, {lanes}])");
                steps.push_str("  pack b into packB along gj over (b0, b1)\n");
                if near {
                    steps.push_str("  keep packB along gj within L1 into packB_L1\n");
                }
            }
            if kind > 4 {
                let _ = write!(header, "\n    (mut packA: [f32; {mc}, {kc}] in PanelMajor {rows})");
                steps.push_str("  pack a into packA along gi over (a0, a1)\n");
                if near {
                    steps.push_str("  keep packA along gi within L2 into packA_L2\n");
                }
            }
            format!("{header} =\n{steps}  registers (i, j) into c rows {rows} lanes {lanes} through fma\n")
        }
    }
}

fn predicted(rank: &Rank, file: &Path, schedules: &[(String, String)]) -> Result<Vec<Drawn>, String> {
    let path = file.to_string_lossy();
    let outcome = pipeline::check(&path, &Disk::default());
    let platform = outcome.platform.as_ref().ok_or("the file has no platform")?;
    let program = outcome.checked.program();
    let one = |(name, steps): &(String, String)| {
        let fun = program.funs.iter().find(|f| f.name == *name).ok_or_else(|| format!("no {name}"))?;
        let values: Values = fun.sizes.iter().map(|v| (*v, i128::from(rank.size))).collect();
        let fetched = fetched(program, fun, &values, platform);
        let all =
            limits(&account(program, fun, Mode::Exact), &values, platform, fetched.as_deref()).unwrap_or_default();
        let most = all.first().ok_or_else(|| format!("nothing bounds {name}"))?;
        let moved = |l: &Limit| [" reads", " writes"].iter().any(|w| l.part.ends_with(w)) || l.part.contains(" to ");
        let inside = all.iter().filter(|l| !moved(l)).cloned();
        let both = inside.chain(transport(rank, program, fun, platform)?);
        let modelled = both.max_by(|a, b| a.cycles.total_cmp(&b.cycles)).ok_or("nothing bounds it")?;
        Ok(Drawn { name: name.clone(), predicted: most.clone(), modelled, seconds: f64::NAN, steps: steps.clone() })
    };
    schedules.iter().map(one).collect()
}

/// The platform's caches with their bandwidths behind them, and what the lines that each does not have take.
fn transport(rank: &Rank, program: &Program, fun: &Fun, platform: &Platform) -> Result<Vec<Limit>, String> {
    let levels: Vec<_> = platform.levels.iter().filter_map(|l| Some((l, Geometry::of_part(l)?))).collect();
    let mut caches = Caches(levels.iter().map(|(_, g)| Cache::new(*g)).collect());
    let (mut starts, mut next) = (Vec::new(), 0u64);
    let sizes: Vec<i64> = fun.sizes.iter().map(|_| rank.size).collect();
    let done = follow(program, fun, &[], &sizes, u64::MAX, &mut |event| match event {
        Event::Made { array, bytes, .. } => {
            starts.resize(array + 1, next);
            next = (next + bytes).next_multiple_of(4096) + 64;
        }
        Event::Touched(t) => caches.touch(starts[t.array] + t.offset, t.bytes),
        Event::Gone { .. } | Event::Leased { .. } | Event::Ended { .. } | Event::Done(_) => {}
    });
    done.map_err(|e| format!("{} is not followed: {e:?}", fun.name))?;
    let behind = platform.levels.iter().skip(1);
    let one = levels.iter().zip(&caches.0).zip(behind).filter_map(|(((level, g), cache), behind)| {
        let bandwidth = behind.fields.iter().find(|f| f.name == "bandwidth")?.value as f64 / 100.0;
        let bytes = (cache.counted().missed * g.line) as f64;
        Some(Limit { part: format!("{} to {}", behind.name, level.name), cycles: bytes / bandwidth })
    });
    Ok(one.collect())
}

fn measure(rank: &Rank, file: &Path, all: &mut [Drawn]) -> Result<(), String> {
    let mut bench = Command::new(&rank.cachetc);
    bench.arg("bench").arg(file).args(["--json", "--no-peers", "--size", &rank.size.to_string()]);
    bench.args(["--seconds", &rank.seconds.to_string()]);
    let kept = rank.times.as_ref().and_then(|f| std::fs::read_to_string(f).ok());
    let text = match kept {
        Some(text) => text,
        None => {
            let out = bench.output().map_err(|e| format!("{}: {e}", rank.cachetc.display()))?;
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            if let Some(file) = &rank.times {
                std::fs::write(file, &text).map_err(|e| format!("{}: {e}", file.display()))?;
            }
            text
        }
    };
    let measured: Value = serde_json::from_str(&text).map_err(|e| format!("what was measured: {e}: {text}"))?;
    let groups = measured["groups"].as_array().into_iter().flatten();
    let rows: Vec<&Value> = groups.filter_map(|g| g["rows"].as_array()).flatten().collect();
    for d in all {
        let row = rows.iter().find(|r| r["name"] == d.name.as_str());
        let time = row.and_then(|r| r["measured"]["median_s"].as_f64());
        d.seconds = time.ok_or_else(|| format!("{} was not timed", d.name))?;
    }
    Ok(())
}

/// The rank of each; equal ones share the mean of theirs.
fn ranks(of: &[f64]) -> Vec<f64> {
    let below = |x: f64| of.iter().filter(|y| **y < x).count() as f64;
    let equal = |x: f64| of.iter().filter(|y| **y == x).count() as f64;
    of.iter().map(|x| below(*x) + (equal(*x) + 1.0) / 2.0).collect()
}

fn ties(of: &[f64]) -> usize {
    of.iter().filter(|x| of.iter().filter(|y| y == x).count() > 1).count()
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (m, n) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| f(x - m, y - n)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::{correlation, ranks, ties};

    #[test]
    fn equal_numbers_share_their_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
        assert_eq!(ties(&[3.0, 1.0, 3.0, 9.0]), 2);
    }

    #[test]
    fn orders_that_agree_and_that_do_not() {
        let up = ranks(&[1.0, 2.0, 5.0, 7.0]);
        assert_eq!(correlation(&up, &ranks(&[10.0, 20.0, 21.0, 90.0])), 1.0);
        assert_eq!(correlation(&up, &ranks(&[4.0, 3.0, 2.0, 1.0])), -1.0);
    }
}
