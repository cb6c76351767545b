//! Where text goes.

use crate::{ErrorFormat, json, render};
use cachet::pipeline::{self, Outcome};
use cachet::world::Disk;
use cachet_source::{Code, Diagnostic, Sources};
use clap::ValueEnum;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Stack of the thread that works: nesting is bounded, and this is far more than the bound needs.
pub const STACK: usize = 256 << 20;

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What `--color` says: a property of the process, like its standard streams. Set once, before anything is printed.
static COLOUR: OnceLock<Colour> = OnceLock::new();

/// Sets when to use colours.
pub fn choose(colour: Colour) {
    COLOUR.get_or_init(|| colour);
}

/// Whether standard error takes colours.
pub fn colours() -> bool {
    coloured(std::io::stderr().is_terminal())
}

/// Whether standard output takes colours.
pub fn colours_out() -> bool {
    coloured(std::io::stdout().is_terminal())
}

fn coloured(terminal: bool) -> bool {
    match COLOUR.get().unwrap_or(&Colour::Auto) {
        Colour::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        Colour::Always => true,
        Colour::Never => false,
    }
}

/// Prints every report of an outcome, and where more is said about them.
pub fn report(outcome: &Outcome, format: ErrorFormat) {
    reports(&outcome.sources, &outcome.diagnostics, format);
    more(&outcome.diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(), format);
}

/// As many reports as somebody may read; tools get all of them.
const MOST_REPORTS: usize = 100;

/// Prints reports only. Of very many, those that refuse something come first.
pub fn reports(sources: &Sources, reports: &[Diagnostic], format: ErrorFormat) {
    let mut err = std::io::stderr().lock();
    match format {
        ErrorFormat::Text => {
            let mut shown: Vec<&Diagnostic> = reports.iter().collect();
            if shown.len() > MOST_REPORTS {
                shown.sort_by_key(|d| !d.refuses());
                shown.truncate(MOST_REPORTS);
            }
            for d in &shown {
                let _ = writeln!(err, "{}\n", render::diagnostic(sources, d, colours()));
            }
            if shown.len() < reports.len() {
                let more = reports.len() - shown.len();
                let _ = writeln!(err, "and {more} more reports; `--error-format json` prints them all\n");
            }
        }
        ErrorFormat::Json => {
            for d in reports {
                let _ = writeln!(err, "{}", json::diagnostic(sources, d));
            }
        }
    }
}

/// Says once where more is said about the codes of a run's reports; in text only, as JSON has them already.
pub fn more(codes: &[Code], format: ErrorFormat) {
    if let (ErrorFormat::Text, Some(line)) = (format, render::footer(codes)) {
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }
}

/// Prints on standard output; a closed pipe is not an error.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
}

/// Prints text that has its own line ends.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// A failure of a tool, in the form that was asked for.
pub fn unable(format: ErrorFormat, message: &str, help: Option<&str>) -> u8 {
    match format {
        ErrorFormat::Text => {
            eprintln!("error: {message}");
            if let Some(h) = help {
                eprintln!("  help: {h}");
            }
        }
        ErrorFormat::Json => eprintln!("{}", json::unable(message, help)),
    }
    crate::UNABLE
}

/// The file system, with a folder for proofs that later runs may use again: `CACHET_CACHE`, else `cachet` in the user's
/// cache. `CACHET_CACHE=` (empty) keeps none.
pub fn disk() -> Disk {
    Disk::keeping_proofs(proofs_folder())
}

/// A file and what it imports, checked. It stays in memory until the process ends, which is soon: taking it apart takes longer
/// than it is worth.
pub fn checked(file: &str) -> &'static Outcome {
    Box::leak(Box::new(pipeline::check(file, &disk())))
}

/// The same, and what is made ready meanwhile for what comes after: finding and loading a library takes milliseconds of its
/// own.
pub fn checked_meanwhile<T: Send>(file: &str, ready: impl Fn() -> T + Sync) -> (&'static Outcome, T) {
    std::thread::scope(|scope| {
        let beside = std::thread::Builder::new().spawn_scoped(scope, &ready).ok();
        let outcome = checked(file);
        let made = beside.and_then(|thread| thread.join().ok());
        // Without a thread it is made now.
        (outcome, made.unwrap_or_else(&ready))
    })
}

/// Where proofs are kept.
pub fn proofs_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let folder = match set("CACHET_CACHE") {
        Some(folder) => Some(folder),
        None => set("XDG_CACHE_HOME")
            .filter(|p| p.is_absolute())
            .or_else(|| set("HOME").filter(|p| p.is_absolute()).map(|home| home.join(".cache")))
            .map(|cache| cache.join("cachet")),
    };
    folder.filter(|f| !f.as_os_str().is_empty()).map(|f| f.join("proofs"))
}
