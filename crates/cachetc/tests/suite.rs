//! Every file of `tests/suite/`, in every mode.
//!
//! A file is formatted, checked, its listings are read again, its schedules are run against what they start from, its
//! contractions against their equations, and its `main` in the interpreter and as machine code, on several numbers of
//! threads where it has grids. What `main` prints is the text beside the file, `FILE.out`, and what the file is warned of is
//! `FILE.warnings.txt`. Of a file without `main`, every function is run both ways.

#![allow(clippy::expect_used, reason = "tests")]

#[path = "suite/cells.rs"]
mod cells;
mod common;
#[path = "suite/files.rs"]
mod files;
#[path = "suite/listings.rs"]
mod listings;
#[path = "suite/machine.rs"]
mod machine;
#[path = "suite/runs.rs"]
mod runs;

use cachet::pipeline::Outcome;
use cachet_core::interpret;
use cachet_runtime::Llvm;
use common::{cachetc, golden, skipped, text};
use files::{Suite, check};
use runs::Counts;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Nesting is bounded, and this is far more than the bound needs.
const STACK: usize = 256 << 20;
/// How many files are tried at once.
const THREADS: usize = 2;

#[test]
fn every_file_holds_in_every_mode() {
    let suite = Suite::load();
    let native = Llvm::load().map_err(|e| e.message);
    let next = AtomicUsize::new(0);
    let found = Mutex::new((Counts::default(), Vec::new()));
    let work = || {
        while let Some(file) = suite.files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (counts, faults) = one(file, native.as_ref().ok());
            let mut found = found.lock().expect("no thread has failed");
            found.0.add(&counts);
            found.1.extend(faults.into_iter().map(|f| format!("{file}: {f}")));
        }
    };
    std::thread::scope(|s| {
        let start = |_| std::thread::Builder::new().stack_size(STACK).spawn_scoped(s, work).expect("a thread");
        let started: Vec<_> = (0..THREADS).map(start).collect();
        started.into_iter().for_each(|t| t.join().expect("no panic"));
    });
    let (counts, mut faults) = found.into_inner().expect("no thread has failed");
    faults.sort();
    if let Err(why) = &native {
        skipped("llvm", why);
        println!("skipped: {} programs and all other functions, natively", counts.programs);
    }
    println!("{} files: {counts}", suite.files.len());
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n\n"));
    assert!(suite.files.len() >= 220, "the suite is gone: {} files", suite.files.len());
    assert!(counts.threads > 2000 || native.is_err(), "grids ran on too few threads: {counts}");
    assert!(
        counts.schedules > 600 && counts.listings > 600 && counts.elements > 1000,
        "too little was tried: {counts}"
    );
}

/// One file; what was tried, and what is wrong.
fn one(file: &str, llvm: Option<&Llvm>) -> (Counts, Vec<String>) {
    let text = files::read(file);
    let mut counts = Counts::default();
    let mut faults = Vec::new();
    let outcome = check(file, &text);
    if let Some(said) = refusals(&outcome) {
        return (counts, vec![said]);
    }
    faults.extend(formatted(file, &text, &outcome).err());
    if !outcome.diagnostics.is_empty() {
        let said = cachetc(&["check", file]).stderr;
        faults.extend(golden(&file.replace(".cachet", ".warnings.txt"), &self::text(&said)).err());
    }
    match listings::again(file, &text, &outcome) {
        Ok(read) => counts.listings += read,
        Err(fault) => faults.push(fault),
    }
    faults.extend(runs::contractions(&outcome, &mut counts).err());
    faults.extend(runs::schedules(&outcome, &mut counts).err());
    faults.extend(program(file, &outcome, llvm.is_some(), &mut counts).err());
    if let (Some(llvm), None) = (llvm, outcome.module.main) {
        faults.extend(machine::functions(&outcome, llvm, &mut counts).err());
    }
    (counts, faults)
}

/// Why a file is not accepted in every item; warnings refuse nothing.
fn refusals(outcome: &Outcome) -> Option<String> {
    let said: Vec<String> = outcome.diagnostics.iter().filter(|d| d.refuses()).map(|d| d.message.clone()).collect();
    let open = |id: &&cachet_core::ir::FunId| !outcome.checked.accepts(**id);
    if said.is_empty() && outcome.module.items.iter().find(open).is_none() {
        return None;
    }
    Some(format!("refused: {}", said.join("; ")))
}

/// Formatting twice is formatting once, and the formatted file means the same.
fn formatted(file: &str, text: &str, outcome: &Outcome) -> Result<(), String> {
    let once = files::formatted(text)?;
    if files::formatted(&once)? != once {
        return Err("formatting it twice is not formatting it once".into());
    }
    if once == text {
        return Ok(());
    }
    let after = check(file, &once);
    if let Some(said) = refusals(&after) {
        return Err(format!("formatted, it is {said}"));
    }
    if listings::all(outcome) != listings::all(&after) {
        return Err("formatted, it has other listings".into());
    }
    if claims(outcome) != claims(&after) {
        return Err("formatted, it has other claims".into());
    }
    Ok(())
}

fn claims(outcome: &Outcome) -> Vec<String> {
    let trusted = |id| cachet::evidence::trusted(outcome.checked.program(), id);
    outcome.claims.iter().map(|(id, c)| cachet::claim::text(c, &outcome.module.chosen, &trusted(*id))).collect()
}

/// `main`, interpreted and native.
fn program(file: &str, outcome: &Outcome, natively: bool, counts: &mut Counts) -> Result<(), String> {
    let Some(main) = outcome.module.main else { return Ok(()) };
    counts.programs += 1;
    let mut said = String::new();
    interpret::run_main(outcome.checked.program(), main, &mut said)
        .map_err(|t| format!("interpreted, `main` stops: {}", t.text))?;
    golden(&file.replace(".cachet", ".out"), &said)?;
    if !natively {
        return Ok(());
    }
    let threads = if machine::has_grids(outcome) { &machine::THREADS[..] } else { &[1] };
    for threads in threads {
        let out = cachetc(&["run", file, "--threads", &threads.to_string()]);
        let (printed, complaint) = (text(&out.stdout), text(&out.stderr));
        if out.status.code() != Some(0) {
            return Err(format!("on {threads} threads, `main` ends with {:?}: {complaint}", out.status.code()));
        }
        if printed != said {
            return Err(format!("on {threads} threads, `main` prints\n{printed}and interpreted\n{said}"));
        }
        counts.threads += u64::from(*threads > 1);
    }
    Ok(())
}
