//! Programs that are written to hurt, through every command that takes a file: an answer, in time, in little memory.

use crate::command::{self, Ended, Folder, cachetc, run, tail};
use crate::generate::hostile_texts::{self, Entry, Hostile, ROOT, Wanted};
use crate::population::{Population, Report, Scale, Share};
use std::path::Path;
use std::time::Duration;

/// All of them, with the real executable.
pub const ALL: Population = Population {
    promise: "P13",
    name: "hostile programs",
    never: "more than 2 s to parse and type, 10 s with proofs, 512 MiB; an exit status other than 0, 1, 2; a panic",
    counts: [1_000, 1_000],
    drawn: false,
    run: hostile,
};

/// Parsing and typing.
const PARSE: Duration = Duration::from_secs(2);
/// With proofs.
const PROVE: Duration = Duration::from_secs(10);
/// KiB.
const MEMORY: u64 = 512 << 10;
/// A process that takes so much longer than the promise is stopped.
const STOP: Duration = Duration::from_secs(40);

/// What a library is compiled from.
const TEXT: &str = "out.ll";
/// The command that compiles it.
const BUILD: &[&str] = &["build", ROOT, "-o", "out"];
/// LLVM takes time and memory in proportion to its text, and for more than this more than the promise has.
const MOST_TEXT: u64 = 20 << 20;

/// So many commands are tried of every program.
const FIRST: usize = 2;

/// The commands that take a file, and how long they may take.
const COMMANDS: [(&[&str], Duration); 9] = [
    (&["check", ROOT], PROVE),
    (&["fmt", "--check", ROOT], PARSE),
    (&["check", "--error-format", "json", ROOT], PROVE),
    (&["scheduled", "--relate", ROOT], PROVE),
    (&["run", "--interpret", ROOT], PROVE),
    (&["build", ROOT, "--emit", "llvm-ir", "-o", TEXT], PROVE),
    (BUILD, PROVE),
    (&["test", ROOT], PROVE),
    (&["bench", ROOT, "--size", "2", "--seconds", "0"], PROVE),
];

fn hostile(share: Share) -> Report {
    let mut report = Report::default();
    let binary = match cachetc() {
        Ok(binary) => binary,
        Err(why) => {
            report.skipped = Some(why);
            return report;
        }
    };
    let all = hostile_texts::all();
    let chosen = all.iter().filter(|case| share.scale == Scale::Nightly || !case.one_of_many);
    for case in chosen.take(share.count) {
        report.cases += 1;
        let folder = Folder::new("hostile").unwrap();
        case.write(&folder.0).unwrap();
        tried(binary, case, &folder.0, share.scale, &mut report);
    }
    report.at_least("programs", report.cases, 300);
    report.at_least("accepted", report.counted("accepted"), 50);
    report.at_least("refused", report.counted("refused"), 100);
    report.at_most("too much text for LLVM", report.counted("too much text for LLVM"), 10, report.cases);
    report
}

/// Every command. Those that would only repeat a refusal have their turn in the longer run.
fn tried(binary: &Path, case: &Hostile, folder: &Path, scale: Scale, report: &mut Report) {
    let mut refused = false;
    for (n, (arguments, most)) in COMMANDS.iter().enumerate() {
        if n >= FIRST && refused && scale == Scale::Ordinary {
            return;
        }
        if *arguments == BUILD && std::fs::metadata(folder.join(TEXT)).is_ok_and(|text| text.len() > MOST_TEXT) {
            report.count("too much text for LLVM");
            continue;
        }
        let ended = measured(binary, arguments, folder, *most);
        report.count("runs");
        for (what, now) in [("KiB at most", ended.peak), ("ms at most", ended.cpu.as_millis() as u64)] {
            let most = report.counts.entry(what.into()).or_default();
            *most = now.max(*most);
        }
        let what = wrong(&ended, *most).or_else(|| match n {
            0 => unwanted(case.wanted, &ended),
            _ if arguments[0] == "test" => differs(&ended),
            _ => None,
        });
        if n == 0 {
            refused = ended.status != Some(0);
            report.count(if refused { "refused" } else { "accepted" });
        }
        if let Some(what) = what {
            report.fail(format!("{}: `cachetc {}`: {what}", case.name, arguments.join(" ")), shown(case));
            // The others would say the same.
            return;
        }
    }
}

/// A run, and again if it was slow: the machine may have been busy.
fn measured(binary: &Path, arguments: &[&str], folder: &Path, most: Duration) -> Ended {
    let once = || run(command::command(binary, folder).args(arguments), STOP).unwrap();
    let first = once();
    if first.cpu.max(first.wall) <= most {
        return first;
    }
    let again = once();
    if again.cpu < first.cpu { again } else { first }
}

/// What the promise says must not happen. A process that waits for something is not slow by its processor's time.
fn wrong(ended: &Ended, most: Duration) -> Option<String> {
    ended.fell_over().or_else(|| {
        let slow = ended.cpu > most || ended.wall > 4 * most;
        let large = ended.peak > MEMORY;
        match (slow, large) {
            (true, _) => Some(format!("it takes {:?} of a processor, {:?} in all", ended.cpu, ended.wall)),
            (_, true) => Some(format!("it takes {} MiB", ended.peak >> 10)),
            (false, false) => None,
        }
    })
}

fn unwanted(wanted: Wanted, ended: &Ended) -> Option<String> {
    match (wanted, ended.status) {
        (Wanted::Refused, Some(0)) => Some("it is accepted".into()),
        (Wanted::Fine, Some(1 | 2)) => Some(format!("it is refused: {}", tail(&ended.said()))),
        (Wanted::Answer | Wanted::Refused | Wanted::Fine, _) => None,
    }
}

/// Whether `main` does something else natively.
fn differs(ended: &Ended) -> Option<String> {
    let out = String::from_utf8_lossy(&ended.out);
    out.contains("differs ").then(|| format!("natively it is another: {}", tail(&out)))
}

/// What it starts with, and where the rest is.
fn shown(case: &Hostile) -> String {
    let Some(Entry::File(bytes)) = case.entries.get(Path::new(ROOT)) else { return format!("{:?}", case.entries) };
    let start: String = String::from_utf8_lossy(bytes).chars().take(600).collect();
    format!("{start}\n({} bytes, {} files; generate/hostile_texts, \"{}\")", bytes.len(), case.entries.len(), case.name)
}
