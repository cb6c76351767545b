//! The same program compiled on other machines, as far as one machine can be another: the same bytes.
//!
//! Each run is a process of its own, so every run has other hash seeds. What differs besides is listed in [`OTHERS`].

use crate::command::{Ended, Folder, cachetc, command, run};
use crate::corpus::Corpus;
use crate::population::{Population, Report, Scale, Share};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Every example, and files of the suite.
pub const EQUAL_BYTES: Population = Population {
    promise: "P14",
    name: "compiled again elsewhere",
    never: "a differing byte in listings, claims, conditions, reports, LLVM IR, object files or results",
    counts: [22, 400],
    drawn: false,
    run: equal_bytes,
};

/// What is compared.
const PRODUCTS: [Product; 6] = [
    Product {
        what: "listings, claims and conditions",
        arguments: &["scheduled", "--relate"],
        file: None,
        of_llvm: false,
    },
    Product { what: "the same for tools", arguments: &["scheduled", "--json"], file: None, of_llvm: false },
    Product { what: "reports for tools", arguments: &["check", "--error-format", "json"], file: None, of_llvm: false },
    Product {
        what: "LLVM IR",
        arguments: &["build", "--emit", "llvm-ir", "-o", "out.ll"],
        file: Some("out.ll"),
        of_llvm: false,
    },
    Product { what: "object file", arguments: &["build", "-o", "out.o"], file: Some("out.o"), of_llvm: true },
    Product { what: "results", arguments: &["run"], file: None, of_llvm: false },
];

struct Product {
    what: &'static str,
    arguments: &'static [&'static str],
    /// What is written besides what is printed.
    file: Option<&'static str>,
    /// Whether another LLVM may make another one.
    of_llvm: bool,
}

/// What is different.
const OTHERS: [Other; 8] = [
    Other::OneProcessor,
    Other::Locale,
    Other::Folder,
    Other::WorkingFolder,
    Other::NoProofsYet,
    Other::ProofsKept,
    Other::ProofsBroken,
    Other::Llvm,
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Other {
    /// It may use one processor only, so there is one thread.
    OneProcessor,
    /// Languages, time zones, terminals.
    Locale,
    /// The sources are in another folder, with another name.
    Folder,
    /// It is called from elsewhere, with the whole path.
    WorkingFolder,
    /// It keeps proofs, and has none yet.
    NoProofsYet,
    /// It has all proofs from an earlier run.
    ProofsKept,
    /// What it has kept was altered.
    ProofsBroken,
    /// It uses another libLLVM.
    Llvm,
}

/// The places of one run of the population.
struct Places {
    binary: &'static Path,
    here: Folder,
    elsewhere: Folder,
    taskset: bool,
    other_llvm: Option<PathBuf>,
}

fn equal_bytes(share: Share) -> Report {
    let mut report = Report::default();
    let binary = match cachetc() {
        Ok(binary) => binary,
        Err(why) => return Report { skipped: Some(why), ..report },
    };
    let corpus = Corpus::read();
    let places = Places {
        binary,
        here: Folder::new("here").unwrap(),
        elsewhere: Folder::new("a folder, elsewhere \u{e9}").unwrap(),
        taskset: Command::new("taskset").args(["-c", "0", "true"]).status().is_ok_and(|s| s.success()),
        other_llvm: other_llvm(),
    };
    for (name, text) in &corpus.files {
        for folder in [&places.here, &places.elsewhere] {
            let at = folder.0.join(name);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(at, text).unwrap();
        }
    }
    // What examples share is compiled with them; a platform is named by them, not by it.
    let examples = corpus.below("examples").filter(|(name, _)| !name.starts_with("examples/lib/"));
    let examples: Vec<&String> = examples.map(|(name, _)| name).collect();
    let suite: Vec<&String> = corpus.below("tests/suite").map(|(name, _)| name).collect();
    let step = suite.len().div_ceil(share.count.saturating_sub(examples.len()).max(1)).max(1);
    let count = examples.len();
    for (n, name) in examples.into_iter().chain(suite.into_iter().step_by(step)).enumerate() {
        report.cases += 1;
        // An example is compiled in all ways; in the ordinary run a file of the suite in some.
        let others =
            OTHERS.iter().enumerate().filter(|(at, _)| n < count || share.scale == Scale::Nightly || (at + n) % 4 == 0);
        compared(&places, name, others.map(|(_, o)| *o), &mut report);
    }
    for product in &PRODUCTS {
        let got = report.counted(product.what);
        report.at_least(product.what, got, if product.file.is_some() { 20 } else { 60 });
    }
    report
}

fn compared(places: &Places, name: &str, others: impl Iterator<Item = Other>, report: &mut Report) {
    let made = |other: Option<Other>, product: &Product| once(places, name, other, product);
    let first: Vec<Option<(Ended, Vec<u8>)>> = PRODUCTS.iter().map(|p| made(None, p)).collect();
    for other in others {
        for (product, first) in PRODUCTS.iter().zip(&first) {
            let Some((first, bytes)) = first else { continue };
            if other == Other::Llvm && product.of_llvm {
                continue;
            }
            let Some((ended, again)) = made(Some(other), product) else {
                report.count(&format!("skipped: {other:?}"));
                continue;
            };
            report.count(product.what);
            let differs =
                match (ended.status == first.status, ended.out == first.out && again == *bytes, ended.err == first.err)
                {
                    (false, _, _) => "exit status",
                    (true, false, _) => "bytes",
                    (true, true, false) => "messages",
                    (true, true, true) => continue,
                };
            let what = format!("{name}: {other:?}: other {differs} of {}", product.what);
            report.fail(what, format!("before:\n{}\nafter:\n{}", short(first, bytes), short(&ended, &again)));
        }
    }
    for (product, first) in PRODUCTS.iter().zip(&first) {
        let Some((_, bytes)) = first else { continue };
        // Where a file was compiled is nobody's business.
        let places = [&places.here.0, &places.elsewhere.0].map(|p| p.to_string_lossy().into_owned());
        let leaks = places.iter().any(|p| bytes.windows(p.len()).any(|w| w == p.as_bytes()));
        if leaks {
            report.fail(format!("{name}: the {} has the folder in it", product.what), String::new());
        }
    }
}

/// One product, in some other surroundings; nothing where these cannot be had.
fn once(places: &Places, name: &str, other: Option<Other>, product: &Product) -> Option<(Ended, Vec<u8>)> {
    let home = match other {
        Some(Other::Folder) => &places.elsewhere.0,
        _ => &places.here.0,
    };
    let file = home.join(name);
    let (folder, argument) = match other {
        Some(Other::WorkingFolder) => (&places.elsewhere.0, file.to_string_lossy().into_owned()),
        _ => (home, name.to_string()),
    };
    let mut c = command(places.binary, folder);
    match other {
        None | Some(Other::Folder | Other::WorkingFolder) => {}
        Some(Other::OneProcessor) if !places.taskset => return None,
        Some(Other::OneProcessor) => {
            let mut on_one = command(Path::new("taskset"), folder);
            on_one.args(["-c", "0"]).arg(places.binary);
            c = on_one;
        }
        Some(Other::Locale) => drop(c.envs([
            ("LC_ALL", "tr_TR.UTF-8"),
            ("LANG", "ar_EG.UTF-8"),
            ("TZ", "Pacific/Chatham"),
            ("TERM", "xterm-256color"),
            ("COLUMNS", "33"),
            ("HOME", "/nonexistent"),
            ("USER", "somebody"),
            ("SOURCE_DATE_EPOCH", "1"),
        ])),
        Some(o @ (Other::NoProofsYet | Other::ProofsKept | Other::ProofsBroken)) => kept(places, name, o, &mut c),
        Some(Other::Llvm) => drop(c.env("CACHET_LLVM", places.other_llvm.as_ref()?)),
    }
    c.args(product.arguments).arg(argument);
    if let Some(file) = product.file {
        let _ = std::fs::remove_file(folder.join(file));
    }
    let mut ended = run(&mut c, Duration::from_secs(120)).ok()?;
    // Reports name files as they were given.
    for text in [&mut ended.out, &mut ended.err] {
        *text = String::from_utf8_lossy(text).replace(&*file.to_string_lossy(), name).into_bytes();
    }
    let bytes = product.file.map(|f| std::fs::read(folder.join(f)).unwrap_or_default()).unwrap_or_default();
    Some((ended, bytes))
}

/// Gives a command a folder for proofs: empty, with what an earlier run left there, or with that altered.
fn kept(places: &Places, name: &str, other: Other, c: &mut Command) {
    let folder = places.here.0.join(format!("proofs of {}", name.replace('/', " ")));
    let _ = std::fs::remove_dir_all(&folder);
    c.env("CACHET_CACHE", &folder);
    if other == Other::NoProofsYet {
        return;
    }
    let mut before = command(places.binary, &places.here.0);
    before.env("CACHET_CACHE", &folder).args(["check", name]);
    let _ = run(&mut before, Duration::from_secs(120));
    if other == Other::ProofsBroken {
        for entry in std::fs::read_dir(folder.join("proofs")).into_iter().flatten().flatten() {
            let mut bytes = std::fs::read(entry.path()).unwrap_or_default();
            // Each fifth byte from the tenth on, past the first line, which would make it no file of proofs at all.
            bytes.iter_mut().skip(40).step_by(5).for_each(|b| *b ^= 1 << (*b % 8));
            let _ = std::fs::write(entry.path(), bytes);
        }
    }
}

/// A libLLVM that is not the one that is found first.
fn other_llvm() -> Option<PathBuf> {
    let first = cachet_runtime::Llvm::load().ok()?;
    let first = std::fs::canonicalize(first.path()).ok()?;
    let places = [
        std::env::var_os("RUSTUP_HOME").map(PathBuf::from),
        std::env::var_os("HOME").map(|h| Path::new(&h).join(".rustup")),
    ];
    let toolchains =
        places.into_iter().flatten().filter_map(|p| std::fs::read_dir(p.join("toolchains")).ok()).flatten().flatten();
    let system = std::fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with("llvm-"));
    let libraries: BTreeSet<PathBuf> = toolchains
        .chain(system)
        .filter_map(|e| std::fs::read_dir(e.path().join("lib")).ok())
        .flatten()
        .flatten()
        .filter(|e| {
            e.file_name().to_string_lossy().starts_with("libLLVM") && e.file_name().to_string_lossy().contains(".so")
        })
        .filter_map(|e| std::fs::canonicalize(e.path()).ok())
        .collect();
    // Copies of one library tell nothing; those that are too old are refused by whoever loads them.
    let same = |p: &Path| std::fs::read(p).ok() == std::fs::read(&first).ok();
    libraries.into_iter().rev().find(|p| *p != first && usable(p) && !same(p))
}

/// Whether the executable finds a libLLVM usable.
fn usable(library: &Path) -> bool {
    let Ok(binary) = cachetc() else { return false };
    let doctor = Command::new(binary).args(["doctor", "--json"]).env("CACHET_LLVM", library).output();
    let found = doctor.ok().and_then(|d| serde_json::from_slice::<serde_json::Value>(&d.stdout).ok());
    let llvm = found.as_ref().and_then(|f| f.as_array()?.iter().find(|e| e["what"] == "LLVM"));
    llvm.is_some_and(|e| e["found"] == true)
}

/// The start of what was seen.
fn short(ended: &Ended, bytes: &[u8]) -> String {
    let part = |b: &[u8]| String::from_utf8_lossy(&b[..b.len().min(1500)]).into_owned();
    format!("status {:?}\n{}\n{}\n{}", ended.status, part(&ended.out), part(&ended.err), part(bytes))
}
