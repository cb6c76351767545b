//! What the project does to itself: `cargo xtask adversary`, `cargo xtask nightly`, `cargo xtask evidence`,
//! `cargo xtask sweep-tiles`, `cargo xtask cachegrind`, `cargo xtask rank`.

mod cachegrind;
mod evidence;
mod rank;
mod tiles;

use cachet_adversary::population::{Part, Population, Ran, Scale, fresh_seed};
use cachet_adversary::{populations, table};
use clap::{Args, Parser, Subcommand};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the project does to itself.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the populations at their ordinary sizes and print one table.
    Adversary(Choice),
    /// The same at the large sizes.
    Nightly(Night),
    /// Measure the template of an instruction against its reference body, and write the record.
    Evidence(evidence::Arguments),
    /// Measure every tile of registers that fits, beside the one that the platform's numbers choose.
    SweepTiles(tiles::Sweep),
    /// Count lines by the model and by valgrind's cachegrind, side by side.
    Cachegrind(cachegrind::Count),
    /// Draw schedules of the matrix product, predict what bounds them, measure them, and compare the two orders.
    Rank(rank::Rank),
}

#[derive(Args)]
struct Choice {
    /// Promises (`P3`) or names of populations; all of them if none is given.
    which: Vec<String>,
    /// The table as JSON.
    #[arg(long)]
    json: bool,
    /// Repeat a run with the fresh seed that it printed.
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Args)]
struct Night {
    #[command(flatten)]
    choice: Choice,
    /// One of so many parts, `2/5`: for what takes longer than there is time.
    #[arg(long, default_value = "1/1")]
    part: Part,
}

fn main() -> ExitCode {
    cachet_adversary::native::serve_if_asked();
    let (choice, scale, part) = match Arguments::parse().task {
        Task::Adversary(choice) => (choice, Scale::Ordinary, Part::WHOLE),
        Task::Nightly(night) => (night.choice, Scale::Nightly, night.part),
        Task::Evidence(arguments) => return done(evidence::run(&arguments)),
        Task::SweepTiles(sweep) => return done(tiles::run(&sweep)),
        Task::Cachegrind(count) => return done(cachegrind::run(&count)),
        Task::Rank(rank) => return done(rank::run(&rank)),
    };
    let chosen: Vec<&'static Population> = match choice.which.as_slice() {
        [] => populations::all().iter().collect(),
        which => which.iter().flat_map(|word| populations::named(word)).collect(),
    };
    if chosen.is_empty() {
        let names: Vec<String> = populations::all().iter().map(|p| format!("  {} {}", p.promise, p.name)).collect();
        eprintln!("no such population; there are\n{}", names.join("\n"));
        return ExitCode::from(2);
    }
    let seed = choice.seed.unwrap_or_else(fresh_seed);
    let ran = run(&chosen, |p| p.try_out(scale, seed, part));
    match choice.json {
        true => println!("{:#}", table::json(&ran)),
        false => print!("{}", table::text(&ran)),
    }
    ExitCode::from(u8::from(!ran.iter().all(Ran::passed)))
}

fn done(result: Result<ExitCode, String>) -> ExitCode {
    result.unwrap_or_else(|why| {
        eprintln!("{why}");
        ExitCode::from(2)
    })
}

/// Each on a thread as one becomes free; in the order of the list.
fn run(chosen: &[&'static Population], one: impl Fn(&'static Population) -> Ran + Sync) -> Vec<Ran> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((n, p)) = {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    chosen.get(n).map(|p| (n, *p))
                } {
                    eprintln!("{} {} ..", p.promise, p.name);
                    let ran = one(p);
                    if let Ok(mut done) = done.lock() {
                        done.push((n, ran));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, ran)| ran).collect()
}
