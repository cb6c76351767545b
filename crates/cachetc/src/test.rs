//! `cachetc test`: does `main` print the same natively, in the interpreter, and as it did before?
//!
//! The text that is expected stands beside `FILE.cachet` in `FILE.expected`. A native run is a process of its own, so
//! that a program that stops cannot take the others with it.

use crate::{ErrorFormat, OK, REFUSED, UNABLE, run, terminal};
use cachet_core::interpret;
use cachet_runtime::{Llvm, write_file};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What was asked for besides the files.
#[derive(Clone, Copy)]
pub struct Options {
    /// Only in the interpreter.
    pub interpret: bool,
    /// Write what is printed as what is expected.
    pub bless: bool,
}

/// Why a file did not pass.
enum Failed {
    /// Two texts differ, or the program was refused.
    Differs(String),
    /// It could not be run.
    Unable(String, Option<String>),
    /// It has been said already; the exit status.
    Said(u8),
}

/// Tests each file, prints a line for each, and gives the worst status.
pub fn run(files: &[String], options: Options, format: ErrorFormat) -> u8 {
    let mut worst = OK;
    for file in files {
        let code = match test(file, options, format) {
            Ok(how) => {
                terminal::say(&format!("ok      {file}: {how}"));
                OK
            }
            Err(Failed::Differs(why)) => {
                terminal::say(&format!("differs {file}: {why}"));
                REFUSED
            }
            Err(Failed::Unable(why, help)) => {
                terminal::say(&format!("not run {file}"));
                terminal::unable(format, &why, help.as_deref())
            }
            Err(Failed::Said(code)) => {
                terminal::say(&format!("not run {file}"));
                code
            }
        };
        worst = worst.max(code);
    }
    worst
}

fn test(file: &str, options: Options, format: ErrorFormat) -> Result<String, Failed> {
    let said = interpreted(file, format)?;
    if !options.interpret {
        same("natively", &natively(file)?, "in the interpreter", &said)?;
    }
    let ways = if options.interpret { "in the interpreter" } else { "natively and in the interpreter" };
    let count = said.lines().count();
    let lines = format!("{count} line{}", if count == 1 { "" } else { "s" });
    let path = Path::new(file).with_extension("expected");
    let beside = path.display();
    if options.bless {
        write_file(&path, said.as_bytes()).map_err(|e| Failed::Unable(e.message, e.fix))?;
        return Ok(format!("{lines}, {ways}; written to {beside}"));
    }
    match std::fs::read_to_string(&path) {
        Ok(expected) => {
            same("it printed", &said, &format!("{beside} has"), &expected)?;
            Ok(format!("{lines}, {ways}, as in {beside}"))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(format!("{lines}, {ways}; there is no {beside}")),
        Err(e) => Err(Failed::Unable(format!("cannot read `{beside}`: {e}"), None)),
    }
}

/// What `main` prints in the reference interpreter.
fn interpreted(file: &str, format: ErrorFormat) -> Result<String, Failed> {
    let outcome = terminal::checked(file);
    terminal::report(outcome, format);
    if let Some(code) = run::no_main(file, outcome, format) {
        return Err(Failed::Said(code));
    }
    let Some(main) = outcome.module.main else { return Err(Failed::Said(UNABLE)) };
    let mut text = String::new();
    interpret::run_main(outcome.checked.program(), main, &mut text)
        .map_err(|trap| Failed::Unable(format!("the run in the interpreter stopped: {}", trap.text), None))?;
    Ok(text)
}

/// What `main` prints natively.
fn natively(file: &str) -> Result<String, Failed> {
    // Asked here first, so that a missing LLVM is reported in the words and the form that were asked for.
    Llvm::load().map_err(|e| Failed::Unable(e.message, e.fix.or(Some("`--interpret` tests without LLVM".into()))))?;
    let start = |e: std::io::Error| Failed::Unable(format!("cannot start the native run: {e}"), None);
    let this: PathBuf = std::env::current_exe().map_err(start)?;
    let out = Command::new(this).args(["run", "--color", "never", "--"]).arg(file).output().map_err(start)?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(Failed::Unable(format!("the native run ended with {}\n{}", out.status, said.trim_end()), None));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// That two texts agree, or the first line in which they do not.
fn same(one: &str, a: &str, other: &str, b: &str) -> Result<(), Failed> {
    if a == b {
        return Ok(());
    }
    let (mut x, mut y) = (a.lines(), b.lines());
    let mut line = 1;
    loop {
        match (x.next(), y.next()) {
            (Some(p), Some(q)) if p == q => line += 1,
            (None, None) => {
                return Err(Failed::Differs(format!("{one} and {other} the same lines, ended differently")));
            }
            (p, q) => {
                let shown = |l: Option<&str>| l.map_or("nothing more".to_string(), |l| format!("`{l}`"));
                return Err(Failed::Differs(format!("line {line}: {one} {}, {other} {}", shown(p), shown(q))));
            }
        }
    }
}
