//! Which tile of registers is fastest on this machine, of all that fit, and how far from it is the chosen one?
//!
//! A file with one schedule for each tile is written and measured by `cachetc bench`. One more schedule has the tile that
//! `examples/lib/tiles.cachet` chooses by chains, load slots and registers; nothing here knows which one that is.

use clap::Args;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// What to sweep.
#[derive(Args)]
pub struct Sweep {
    /// The platform: the end of a name that `cachetc platform list` prints after `cachet:platforms/`.
    #[arg(long, default_value = "x86-64-avx512")]
    platform: String,
    /// `f32` or `f64`.
    #[arg(long, default_value = "f32")]
    element: String,
    /// The most rows of a tile.
    #[arg(long, default_value_t = 16)]
    rows: u32,
    /// The most vectors of a row of a tile.
    #[arg(long, default_value_t = 8)]
    vectors: u32,
    /// Seconds to measure.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// A `cachetc` that is built already.
    #[arg(long)]
    cachetc: Option<PathBuf>,
}

/// How far from the best tile the chosen one may be, in percent.
const BEHIND: f64 = 5.0;

/// Whole tiles of most shapes: few rows are left over, and no columns for up to seven vectors of 16 lanes.
const SIZES: &str = "M=480,N=6720,K=256";

/// Measures, prints the table, and fails where the chosen tile is more than [`BEHIND`] percent behind the best one.
pub fn run(sweep: &Sweep) -> Result<ExitCode, String> {
    let (name, registers) = described(sweep)?;
    let tiles: Vec<(u32, u32)> = (1..=sweep.rows)
        .flat_map(|r| (1..=sweep.vectors).map(move |v| (r, v)))
        .filter(|(r, v)| r * v + v < registers)
        .collect();
    let folder = Path::new("target/tiles");
    std::fs::create_dir_all(folder).map_err(|e| format!("target/tiles: {e}"))?;
    let file = folder.join("tiles.cachet");
    std::fs::write(&file, program(sweep, &name, &tiles)).map_err(|e| format!("{}: {e}", file.display()))?;
    eprintln!("{} tiles, {}; {SIZES}", tiles.len(), file.display());
    let seconds = sweep.seconds.to_string();
    let file = file.to_string_lossy();
    let out = cachetc(sweep, &["bench", &file, "--at", SIZES, "--seconds", &seconds, "--no-peers", "--json"])?;
    let measured: Value = serde_json::from_str(&out).map_err(|e| format!("what was measured: {e}"))?;
    let speed = |name: &str| row(&measured, name);
    let chosen = speed("chosen").ok_or("the chosen tile was not timed")?;
    Ok(table(&tiles, &|r, v| speed(&tile(r, v)), chosen))
}

fn tile(rows: u32, vectors: u32) -> String {
    format!("tile_{rows}_{vectors}")
}

fn cachetc(sweep: &Sweep, arguments: &[&str]) -> Result<String, String> {
    let mut command = match &sweep.cachetc {
        Some(path) => Command::new(path),
        None => {
            let mut cargo = Command::new("cargo");
            cargo.args(["run", "--release", "-q", "-p", "cachetc", "--"]);
            cargo
        }
    };
    let out = command.args(arguments).stderr(Stdio::inherit()).output().map_err(|e| format!("cachetc: {e}"))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    if out.status.success() { Ok(text) } else { Err(format!("cachetc {}: {}", arguments.join(" "), out.status)) }
}

/// A platform's own name, and how many vector registers it has.
fn described(sweep: &Sweep) -> Result<(String, u32), String> {
    let file = format!("platforms/{}.cachet", sweep.platform);
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let after = |word: &str, by: usize| words.iter().position(|w| *w == word).and_then(|n| words.get(n + by)).copied();
    let name = text.lines().find_map(|l| l.strip_prefix("platform ")).and_then(|l| l.split(' ').next());
    let registers = after("registers", 2).and_then(|n| n.parse().ok());
    match (name, registers) {
        (Some(name), Some(registers)) => Ok((name.into(), registers)),
        _ => Err(format!("{file} describes no platform with registers")),
    }
}

/// A schedule for each tile. Every one has blocks of the same size in bytes, in whole tiles.
fn program(sweep: &Sweep, platform: &str, tiles: &[(u32, u32)]) -> String {
    let element = &sweep.element;
    let (columns, band) = if element == "f64" { ("COLS64", "BAND64") } else { ("COLS", "BAND") };
    let mut out = format!(
        "// Written by `cargo xtask sweep-tiles`.\n\
         module (platform = {platform})\n\n\
         import \"cachet:platforms/{}\"\n\
         import \"cachet:layouts\"\n\
         import \"cachet:monoid\"\n\
         import \"../../examples/lib/gemm.cachet\"\n\
         import \"../../examples/lib/tiles.cachet\"\n\n\
         const WHOLE = platform.lanes @Vec @{element}\n",
        sweep.platform
    );
    // Writing to a `String` cannot fail.
    let mut schedule = |name: &str, rows: &str, columns: &str| {
        let _ = write!(
            out,
            "\nschedule {name} of matmul @(S = PlusTimes {element})\n    \
             (mut packB: [{element}; DEPTH, 6720 / ({columns}) * ({columns})] in ColumnPanels ({columns})) =\n  \
             panels (i, j, k) c (b, packB) ({band} / {rows} * {rows}, {rows}, 6720 / ({columns}) * ({columns}), {columns}, DEPTH)\n"
        );
    };
    for (r, v) in tiles {
        schedule(&tile(*r, *v), &r.to_string(), &format!("{v} * WHOLE"));
    }
    schedule("chosen", "ROWS", columns);
    out
}

/// What share of the roof a row reaches, as the median of rounds.
fn row(measured: &Value, name: &str) -> Option<f64> {
    let groups = measured["groups"].as_array()?;
    let rows = groups.iter().filter_map(|g| g["rows"].as_array()).flatten();
    rows.filter(|r| r["name"] == name).find_map(|r| r["measured"]["of_roof"][1].as_f64())
}

fn table(tiles: &[(u32, u32)], speed: &dyn Fn(u32, u32) -> Option<f64>, chosen: f64) -> ExitCode {
    let all: Vec<(u32, u32, f64)> = tiles.iter().filter_map(|(r, v)| Some((*r, *v, speed(*r, *v)?))).collect();
    let Some(best) = all.iter().copied().max_by(|a, b| a.2.total_cmp(&b.2)) else {
        eprintln!("no tile was timed");
        return ExitCode::from(2);
    };
    let (rows, vectors) = (all.iter().map(|a| a.0).max().unwrap_or(0), all.iter().map(|a| a.1).max().unwrap_or(0));
    println!("speed in percent of the roof; rows down, vectors across");
    println!("      {}", (1..=vectors).map(|v| format!("{v:>6}")).collect::<String>());
    for r in 1..=rows {
        let cell =
            |v| all.iter().find(|a| (a.0, a.1) == (r, v)).map_or("     .".into(), |a| format!("{:>6.1}", 100.0 * a.2));
        println!("{r:>6}{}", (1..=vectors).map(cell).collect::<String>());
    }
    let (r, v, most) = best;
    let share = 100.0 * chosen / most;
    println!("the best: {r} rows of {v} vectors; the chosen one: {share:.1} % of it");
    ExitCode::from(u8::from(share < 100.0 - BEHIND))
}
