//! Do lines that are counted move? For each rung of the matrix product, a sum of rows and a transpose, what a brute-force
//! model of two caches counts for the program stands beside what valgrind's cachegrind counts for its machine code.
//!
//! Both are of one whole run that makes, fills and reads the arrays, less the same run without the kernel. The model is fed
//! with the accesses of the program as it is written after its schedule, with arrays at several places: one behind another,
//! at pages of their own, and at pages a few lines apart. The account is what the program asks for by itself, with every
//! access a line's share.

use cachet::pipeline::{self, Outcome};
use cachet::world::Disk;
use cachet_account::account::{Mode, What, account};
use cachet_account::cache::{Cache, Caches, Geometry};
use cachet_account::count::Values;
use cachet_account::trace::{Event, follow};
use cachet_core::ir::{Fun, Var};
use cachet_core::print::listing;
use clap::Args;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What to count.
#[derive(Args)]
pub struct Count {
    /// Sizes of the matrices; each is tried.
    #[arg(long, value_delimiter = ',', default_values_t = [96, 160, 256])]
    sizes: Vec<i64>,
    /// Sizes of what is summed and transposed.
    #[arg(long, value_delimiter = ',', default_values_t = [200, 512, 768])]
    large: Vec<i64>,
    /// Only these kernels.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// A `cachetc` that is built already.
    #[arg(long, default_value = "target/release/cachetc")]
    cachetc: PathBuf,
}

/// The rungs, the first without a schedule.
const RUNGS: [&str; 8] = ["matmul", "swapped", "tower", "packed", "larger", "rows_first", "wider", "fast"];
/// What goes through its memory once.
const ONCE: [&str; 3] = ["totals", "turned", "turned_in_blocks"];

/// Both caches: 32 KiB as on most processors, and a small last level.
const L1: (u64, u64, u64) = (32 << 10, 64, 8);
const LAST: (u64, u64, u64) = (1 << 20, 64, 16);
/// How far apart the two may be where the model is exact, in percent.
const APART: f64 = 5.0;
/// So few lines are the stack's and the run-time's.
const FEW: u64 = 64;

const HEAD: &str = "// Written by `cargo xtask cachegrind`.
module (platform = Avx2)

import \"cachet:platforms/x86-64-avx2\"
import \"cachet:layouts\"
import \"cachet:monoid\"
import \"cachet:steps\"
import \"../../examples/lib/gemm.cachet\"
import \"../../examples/lib/ladder.cachet\"

contraction totals (reads a: [f32; M, N]) -> out c: [f32; M] =
  c[i] = sum j. a[i, j]

contraction turned (reads a: [f32; M, N]) -> out c: [f32; N, M] =
  c[j, i] = a[i, j]

schedule turned_in_blocks of turned =
  split i by 16 as gi ragged
  split j by 16 as gj ragged
  order (gi, gj, i, j)

fn fill_rows (out x: [f32; M, N]) =
  for i in 0 .. M do
    for j in 0 .. N do
      store x[i, j] = (i % 3) as f32

fn fill_row (out x: [f32; M]) =
  for i in 0 .. M do
    store x[i] = (i % 3) as f32

";

/// Lines that one level did not have.
#[derive(Clone, Copy, Default, Debug)]
struct Missed {
    first: u64,
    last: u64,
}

/// What the model says with arrays at several places, and what was measured.
struct Pair {
    least: u64,
    most: u64,
    measured: u64,
}

impl Pair {
    fn of(model: impl Iterator<Item = u64> + Clone, measured: u64) -> Pair {
        Pair { least: model.clone().min().unwrap_or(0), most: model.max().unwrap_or(0), measured }
    }

    /// How far beyond what the model says, in percent.
    fn beyond(&self) -> f64 {
        let near = self.measured.clamp(self.least, self.most);
        100.0 * (self.measured as f64 - near as f64) / near.max(1) as f64
    }

    fn is_apart(&self) -> bool {
        let near = self.measured.clamp(self.least, self.most);
        self.beyond().abs() > APART && near.abs_diff(self.measured) > FEW
    }

    fn text(&self) -> String {
        let model =
            if self.least == self.most { self.least.to_string() } else { format!("{}..{}", self.least, self.most) };
        let beyond = match self.measured.max(self.most) <= FEW {
            true => "-".into(),
            false => format!("{:+.1}%", self.beyond()),
        };
        format!("{model:>19}{:>10}{beyond:>8}", self.measured)
    }
}

/// Counts, and prints the table.
pub fn run(count: &Count) -> Result<ExitCode, String> {
    let folder = Path::new("target/cachegrind");
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let head = checked(folder, "head", HEAD)?;
    println!(
        "lines: by the model (sets, ways, the least recently used goes), by cachegrind, and bytes that the account asks DRAM for, in lines"
    );
    let head_of = |level: &str| format!("{:>19}{:>10}{:>8}", format!("{level} model"), "measured", "");
    println!("{:<17}{:>5} {} {} {:>11}", "kernel", "size", head_of("L1"), head_of("last"), "account");
    let mut apart = 0;
    let all = RUNGS.iter().flat_map(|k| count.sizes.iter().map(move |n| (*k, *n)));
    let all = all.chain(ONCE.iter().flat_map(|k| count.large.iter().map(move |n| (*k, *n))));
    for (kernel, n) in all.filter(|(k, _)| count.only.is_empty() || count.only.iter().any(|o| o == k)) {
        let program = head.checked.program();
        let find = |name: &str| program.funs.iter().find(|f| f.name == name);
        let fun = find(kernel).ok_or_else(|| format!("no {kernel}"))?;
        let (with, without) = mains(&listing(program, fun), kernel, n)?;
        let (mut model, mut measured) = (Vec::new(), Vec::new());
        for (name, main) in [("with", with), ("without", without)] {
            let text = format!("{HEAD}{main}");
            let outcome = checked(folder, name, &text)?;
            model.push(modelled(&outcome)?);
            measured.push(cachegrind(count, folder, name)?);
        }
        let less = |a: &Missed, b: &Missed| Missed { first: a.first - b.first, last: a.last.saturating_sub(b.last) };
        let measured = less(&measured[0], &measured[1]);
        let model: Vec<Missed> = model[0].iter().zip(&model[1]).map(|(a, b)| less(a, b)).collect();
        let asked = asked(&head, fun, n);
        let first = Pair::of(model.iter().map(|m| m.first), measured.first);
        let last = Pair::of(model.iter().map(|m| m.last), measured.last);
        apart += u32::from(first.is_apart()) + u32::from(last.is_apart());
        println!("{kernel:<17}{n:>5} {} {} {asked:>11}", first.text(), last.text());
    }
    println!("{apart} of the pairs are more than {APART} % apart");
    Ok(ExitCode::SUCCESS)
}

fn checked(folder: &Path, name: &str, text: &str) -> Result<Outcome, String> {
    let file = folder.join(format!("{name}.cachet"));
    std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
    let outcome = pipeline::check(&file.to_string_lossy(), &Disk::default());
    match outcome.diagnostics.iter().find(|d| d.refuses()) {
        Some(d) => Err(format!("{}: {}", file.display(), d.message)),
        None => Ok(outcome),
    }
}

/// A `main` that makes and fills the arrays of a header, calls the kernel and reads a cell; and one that does not call it.
fn mains(listing: &str, kernel: &str, n: i64) -> Result<(String, String), String> {
    let header = listing.split("\n=\n").next().unwrap_or(listing);
    let mut scratch: Vec<&str> = Vec::new();
    for line in header.lines().filter_map(|l| l.strip_prefix("scratch ")) {
        scratch.extend(line.split(", "));
    }
    let (mut made, mut names) = (String::new(), Vec::new());
    for param in header.lines().flat_map(|l| l.split('(').skip(1)) {
        let Some((param, _)) = param.rsplit_once(')') else { continue };
        let words = param.split_once(' ').map_or(param, |(_, rest)| rest);
        let Some((name, ty)) = words.split_once(": ") else { continue };
        let mut sized = ty.replace("S.Value", "f32");
        for size in ["M", "N", "K"] {
            for (before, after) in [("; ", ","), ("; ", "]"), (", ", ","), (", ", "]")] {
                sized = sized.replace(&format!("{before}{size}{after}"), &format!("{before}{n}{after}"));
            }
        }
        let _ = writeln!(made, "  alloc {name}: {sized}");
        if !scratch.contains(&name) {
            let fill = if sized.matches(',').count() == 0 { "fill_row" } else { "fill_rows" };
            let _ = writeln!(made, "  {fill} {name}");
        }
        names.push(name.to_string());
    }
    if names.is_empty() {
        return Err(format!("{kernel} has no parameters in\n{header}"));
    }
    // What is filled has to be written before: a store of all cells by an `out` parameter says so.
    let cell = if kernel == "totals" { "c[0]" } else { "c[0, 0]" };
    let bound = if kernel == "matmul" { " @(S = PlusTimes f32)" } else { "" };
    let call = format!("  {kernel}{bound} {}\n", names.join(" "));
    let print = format!("  print (load {cell})\n");
    Ok((format!("fn main () =\n{made}{call}{print}"), format!("fn main () =\n{made}{print}")))
}

/// Where arrays start: each begins so many bytes behind the next multiple of the first number.
const PLACES: [(u64, u64); 3] = [(64, 64), (4096, 64), (4096, 64 * 9)];

/// What the model counts for a whole run, for each of [`PLACES`].
fn modelled(outcome: &Outcome) -> Result<Vec<Missed>, String> {
    let main = outcome.module.main.ok_or("no main")?;
    let program = outcome.checked.program();
    let cache = |(capacity, line, ways)| Geometry::new(capacity, line, Some(ways)).map(Cache::new);
    let pair = || Some(Caches(vec![cache(L1)?, cache(LAST)?]));
    let mut all: Vec<Caches> = PLACES.iter().filter_map(|_| pair()).collect();
    let mut starts: Vec<[u64; PLACES.len()]> = Vec::new();
    let mut next = [0u64; PLACES.len()];
    let done = follow(program, &program.funs[main.index()], &[], &[], u64::MAX, &mut |event| match event {
        Event::Made { array, bytes, .. } => {
            for (n, (multiple, behind)) in PLACES.iter().enumerate() {
                next[n] =
                    next[n].next_multiple_of(*multiple) + behind * if *behind > 64 { array as u64 % 7 } else { 1 };
            }
            starts.resize(array + 1, next);
            next = next.map(|n| n + bytes);
        }
        Event::Touched(t) => {
            for (caches, start) in all.iter_mut().zip(&starts[t.array]) {
                caches.touch(start + t.offset, t.bytes);
            }
        }
        Event::Gone { .. } | Event::Leased { .. } | Event::Ended { .. } | Event::Done(_) => {}
    });
    done.map_err(|e| format!("main is not followed: {e:?}"))?;
    let missed = |c: &Caches| Missed { first: c.0[0].counted().missed, last: c.0[1].counted().missed };
    Ok(all.iter().map(missed).collect())
}

/// What cachegrind counts for a whole run.
fn cachegrind(count: &Count, folder: &Path, name: &str) -> Result<Missed, String> {
    let (file, built) = (folder.join(format!("{name}.cachet")), folder.join(format!("{name}.built")));
    let mut build = Command::new(&count.cachetc);
    build.arg("build").arg(&file).arg("-o").arg(&built).args(["--emit", "exe", "--cpu", "x86-64-v3"]);
    let done = build.output().map_err(|e| format!("{}: {e}", count.cachetc.display()))?;
    if !done.status.success() {
        return Err(format!("cachetc build: {}", String::from_utf8_lossy(&done.stderr)));
    }
    let cache = |(capacity, line, ways): (u64, u64, u64)| format!("{capacity},{ways},{line}");
    let out = folder.join("counts");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=cachegrind", "--cache-sim=yes"]);
    valgrind.arg(format!("--D1={}", cache(L1))).arg(format!("--LL={}", cache(LAST)));
    valgrind.arg(format!("--cachegrind-out-file={}", out.display())).arg(built.join(name));
    let done = valgrind.output().map_err(|e| format!("valgrind: {e}"))?;
    if !done.status.success() {
        return Err(format!("valgrind: {}", String::from_utf8_lossy(&done.stderr)));
    }
    let text = std::fs::read_to_string(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let row = |word: &str| text.lines().find_map(|l| l.strip_prefix(word)).unwrap_or_default().trim().to_string();
    let (events, summary) = (row("events:"), row("summary:"));
    let number = |event: &str| {
        let at = events.split_whitespace().position(|e| e == event)?;
        summary.split_whitespace().nth(at)?.parse::<u64>().ok()
    };
    let sum = |a: &str, b: &str| Some(number(a)? + number(b)?);
    match (sum("D1mr", "D1mw"), sum("DLmr", "DLmw")) {
        (Some(first), Some(last)) => Ok(Missed { first, last }),
        _ => Err(format!("{} has no counts of misses", out.display())),
    }
}

/// Bytes that the account asks DRAM for, in lines.
fn asked(of: &Outcome, fun: &Fun, n: i64) -> i128 {
    let mut values: Values = fun.sizes.iter().map(|v| (*v, i128::from(n))).collect();
    // Values of open types, here all of `f32`, have a size behind the function's own variables.
    values.extend((0..fun.type_params.len()).map(|t| (Var((fun.vars.len() + t) as u32), 4)));
    let total = account(of.checked.program(), fun, Mode::Exact).total();
    let bytes = total.iter().filter_map(|(what, n)| match what {
        What::Read(p) | What::Written(p) if p.level == "DRAM" => n.value(&values),
        _ => None,
    });
    bytes.sum::<i128>() / i128::from(L1.1)
}
