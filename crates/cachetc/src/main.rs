//! `cachetc`: arguments in, text out. The only door that prints.

mod account;
mod bench;
mod build;
mod changed;
mod check;
mod compare;
mod cross;
mod doctor;
mod explain;
mod fmt;
mod heat;
mod json;
mod new;
mod platform;
mod render;
mod run;
mod scheduled;
mod terminal;
mod test;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

// Programs and proofs are trees of small parts.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static HEAP: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// All well.
pub const OK: u8 = 0;
/// A refusal, or a user's error.
pub const REFUSED: u8 = 1;
/// The command could not do its work.
pub const UNABLE: u8 = 2;

/// Kernels with proofs: write what to compute as an equation, how as a schedule, and the compiler proves that each
/// rewrite keeps the result bit for bit.
#[derive(Parser)]
#[command(name = "cachetc", version, disable_help_subcommand = true, disable_help_flag = true)]
struct Arguments {
    /// Print help.
    #[arg(short, long, global = true, action = ArgAction::HelpShort)]
    help: Option<bool>,
    #[command(subcommand)]
    command: Command,
    /// How problems are reported.
    #[arg(long, global = true, value_enum, default_value_t = ErrorFormat::Text)]
    error_format: ErrorFormat,
    /// When to use colours; `NO_COLOR` in the environment is respected.
    #[arg(long, global = true, value_enum, default_value_t = terminal::Colour::Auto)]
    color: terminal::Colour,
}

/// How problems are reported.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ErrorFormat {
    /// For people, on standard error.
    Text,
    /// One JSON object a line, on standard error.
    Json,
}

#[derive(Subcommand)]
enum Command {
    /// Parse, type and prove; print problems and one summary line.
    Check {
        /// Root files.
        #[arg(required = true)]
        files: Vec<String>,
        /// Ask z3 and cvc5 about every condition as well. No verdict depends on it; without a solver, or if one disagrees,
        /// the status is 2.
        #[arg(long)]
        cross: bool,
    },
    /// Print the loops of contractions and schedules, and what is claimed of them.
    Scheduled {
        /// The root file.
        file: String,
        /// Only this contraction or schedule.
        name: Option<String>,
        /// The program after every step, lines that are new marked `// <`, and what was proved there.
        #[arg(long)]
        steps: bool,
        /// Both programs after every line of each step's recipe, and every condition.
        #[arg(long)]
        relate: bool,
        /// The same facts for tools.
        #[arg(long)]
        json: bool,
    },
    /// What contractions, schedules and functions do and move: how often each operation runs, in sizes, and the bytes and
    /// the work of each; with the platform of the file, what bounds it.
    Account {
        /// The root file.
        file: String,
        /// Only this contraction, schedule or function.
        name: Option<String>,
        /// Numbers for sizes: `M=1024,N=1024,K=1024`.
        #[arg(long)]
        at: Option<String>,
        /// Count what is left over by blocks as it is, not as full blocks.
        #[arg(long)]
        exact: bool,
        /// Two functions side by side: the rows that differ, and which decision makes them.
        #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["name", "exact"])]
        compare: Option<Vec<String>>,
        /// The same facts for tools.
        #[arg(long)]
        json: bool,
    },
    /// Run `main`.
    Run {
        /// The root file.
        file: String,
        /// In the reference interpreter instead of natively.
        #[arg(long)]
        interpret: bool,
        /// How many threads the iterations of grids run on; by default one for each core. No result depends on it.
        #[arg(long, conflicts_with = "interpret")]
        threads: Option<usize>,
    },
    /// Run `main` natively and in the interpreter; both must print the same, and what FILE.expected beside it has.
    Test {
        /// Root files.
        #[arg(required = true)]
        files: Vec<String>,
        /// Only in the interpreter.
        #[arg(long)]
        interpret: bool,
        /// Write what is printed to FILE.expected.
        #[arg(long)]
        bless: bool,
    },
    /// Make a folder with a kernel that checks, runs and passes its test.
    New {
        /// The folder; it must not exist.
        name: PathBuf,
    },
    /// Build libraries that programs in other languages link with, a header, a description for tools, and the program from
    /// `main`.
    Build(build::Arguments),
    /// Compare bits, then measure against a named library.
    Bench(bench::Arguments),
    /// Rewrite files in the one style: indentation, blanks, blank lines.
    Fmt {
        /// The files; `-` reads standard input and writes standard output.
        #[arg(required = true)]
        files: Vec<String>,
        /// Change nothing; list the files that would change.
        #[arg(long)]
        check: bool,
    },
    /// What a code of a report means, an example that fails, and how to mend it; without a code, a list of them.
    Explain {
        /// Codes: what stands in brackets in a report's first line.
        codes: Vec<String>,
        /// The same facts for tools.
        #[arg(long)]
        json: bool,
    },
    /// Descriptions of machines: which there are, what one says, and a draft of this machine's.
    #[command(subcommand)]
    Platform(platform::Action),
    /// What was found on this machine, and what is missing.
    Doctor {
        /// The same facts for tools.
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    // Libraries we compare with read these when they are loaded; it has to happen before any thread exists.
    let cleared = cachet_runtime::clear_openblas_environment().unwrap_or_default();
    let arguments = match Arguments::try_parse() {
        Ok(a) => a,
        Err(e) => {
            let _ = e.print();
            return ExitCode::from(if e.use_stderr() { UNABLE } else { OK });
        }
    };
    // Programs nest up to the published limit; the walkers recurse with them, so they get a stack that surely suffices.
    let worker = std::thread::Builder::new().stack_size(terminal::STACK).spawn(move || dispatch(arguments, &cleared));
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(_)) => ExitCode::from(101),
        Err(e) => {
            eprintln!("error: could not start: {e}");
            ExitCode::from(UNABLE)
        }
    }
}

fn dispatch(arguments: Arguments, cleared: &[String]) -> u8 {
    terminal::choose(arguments.color);
    let format = arguments.error_format;
    match arguments.command {
        Command::Check { files, cross } => check::run(&files, cross, format),
        Command::Scheduled { file, name, steps, relate, json } => {
            scheduled::run(&file, name.as_deref(), scheduled::Options { steps, relate, json }, format)
        }
        Command::Account { file, name, at, exact, compare, json } => {
            let options = account::Options { at, exact, json };
            match compare.as_deref() {
                Some([a, b]) => compare::run(&file, [a, b], &options, format),
                Some(_) | None => account::run(&file, name.as_deref(), &options, format),
            }
        }
        Command::Run { file, interpret, threads } => run::run(&file, interpret, threads, format),
        Command::Test { files, interpret, bless } => test::run(&files, test::Options { interpret, bless }, format),
        Command::New { name } => new::run(&name, format),
        Command::Build(arguments) => build::run(&arguments, format),
        Command::Bench(arguments) => bench::run(&arguments, cleared, format),
        Command::Fmt { files, check } => fmt::run(&files, check, format),
        Command::Explain { codes, json } => explain::run(&codes, json, format),
        Command::Platform(action) => platform::run(&action, format),
        Command::Doctor { json } => doctor::run(json),
    }
}
