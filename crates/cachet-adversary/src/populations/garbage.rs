//! Texts that somebody broke: nothing of the compiler falls over, and whatever it says is about a place in the text.

use crate::command::{Folder, cachetc, command, run};
use crate::corpus::Corpus;
use crate::minimise::minimise;
use crate::mutate::texts::{self, Pieces, Way};
use crate::population::{Population, Report, Share};
use crate::random::Random;
use crate::whole::{Reached, Seen, tried};
use std::collections::BTreeSet;
use std::time::Duration;

/// Mutants of the repository's programs, through the whole pipeline.
pub const IN_PROCESS: Population = Population {
    promise: "P12",
    name: "broken texts, in process",
    never: "a panic, a stack overflow, a report about a place outside the text, an accepted program that stops, a text \
            that takes more than 2 s",
    counts: [20_000, 1_000_000],
    drawn: true,
    run: in_process,
};

/// Some of them through the real executable.
pub const BY_COMMAND: Population = Population {
    promise: "P12",
    name: "broken texts, by command",
    never: "an exit status other than 0, 1, 2; a panic; more than 2 s",
    counts: [100, 3_000],
    drawn: true,
    run: by_command,
};

/// The longest that a broken text may take.
const SLOW: Duration = Duration::from_secs(2);
/// A process that takes longer is stopped.
const MOST: Duration = Duration::from_secs(40);
/// So many tries to make a failing text smaller.
const TRIES: usize = 3_000;

/// A broken text, and which file it was.
pub struct Broken {
    /// The file's place below the root.
    pub root: String,
    /// How it was broken.
    pub way: Way,
    /// What it is now.
    pub bytes: Vec<u8>,
}

/// The `n`th broken text from a seed.
pub fn draw(corpus: &Corpus, pieces: &Pieces<'_>, seed: u64, n: usize) -> Broken {
    let mut random = Random::case(seed, n);
    let way = random.pick(&[
        Way::Bytes,
        Way::Bytes,
        Way::Tokens,
        Way::Tokens,
        Way::Tokens,
        Way::Trees,
        Way::Trees,
        Way::Trees,
    ]);
    // Long files are many times as slow as the others, and no better.
    let file = (0..4).map(|_| random.below(corpus.files.len())).min_by_key(|n| corpus.files[*n].1.len());
    let file = if random.once_in(8) { random.below(corpus.files.len()) } else { file.unwrap_or(0) };
    let bytes = match random.once_in(40) {
        true => texts::scraps(&mut random).into_bytes(),
        false => texts::broken(&mut random, pieces, way, file),
    };
    Broken { root: corpus.files[file].0.clone(), way, bytes }
}

fn in_process(share: Share) -> Report {
    let mut report = Report::default();
    let corpus = Corpus::read();
    let pieces = Pieces::of(&corpus);
    let mut kinds = BTreeSet::new();
    let mut slowest = Duration::ZERO;
    for n in 0..share.count {
        report.cases += 1;
        let case = draw(&corpus, &pieces, share.seed, n);
        let name = format!("broken text {n} of seed {}", share.seed);
        let seen = judged(&corpus, &case.root, &case.bytes, &name);
        slowest = slowest.max(seen.time);
        match &seen.reached {
            Ok(reached) => {
                report.count(&format!("{} {reached:?}", case.way.word()).to_lowercase());
                report.add("past the parser", u64::from(*reached >= Reached::Parsed));
                report.add("past the types", u64::from(*reached >= Reached::Typed));
            }
            // One of each kind is made small and shown; of the others it is enough to know how many there are.
            Err(what) if kinds.insert(kind(what)) => {
                let small = smallest(&corpus, &case, what);
                report.fail(what.clone(), format!("{}:\n{}", case.root, shown(&small)));
            }
            Err(_) => report.count("more failures of the same kinds"),
        }
    }
    report.add("ms the slowest took", slowest.as_millis() as u64);
    report.at_least_percent("past the parser", report.counted("past the parser"), 20, report.cases);
    report.at_least_percent("past the types", report.counted("past the types"), 5, report.cases);
    for way in Way::ALL {
        let ran = report.counted(&format!("{} ran", way.word()));
        report.at_least(&format!("{} and still run", way.word()), ran, share.count as u64 / 2000);
    }
    report
}

/// What is done with the texts, one after another.
const COMMANDS: [&[&str]; 8] = [
    &["check"],
    &["check", "--error-format", "json"],
    &["fmt", "--check"],
    &["scheduled", "--relate"],
    &["scheduled", "--json"],
    &["test", "--interpret"],
    &["run"],
    &["build", "-o", "out.o"],
];

fn by_command(share: Share) -> Report {
    let mut report = Report::default();
    let binary = match cachetc() {
        Ok(binary) => binary,
        Err(why) => return Report { skipped: Some(why), ..report },
    };
    let corpus = Corpus::read();
    let pieces = Pieces::of(&corpus);
    let folder = Folder::new("broken").unwrap();
    for n in 0..share.count {
        report.cases += 1;
        let case = draw(&corpus, &pieces, !share.seed, n);
        std::fs::write(folder.0.join("a.cachet"), &case.bytes).unwrap();
        let arguments = COMMANDS[n % COMMANDS.len()];
        let once = || run(command(binary, &folder.0).args(arguments).arg("a.cachet"), MOST).unwrap();
        let mut ended = once();
        if ended.cpu.max(ended.wall) > SLOW {
            ended = once();
        }
        let slow = (ended.cpu > SLOW).then(|| format!("it takes {:?} of a processor", ended.cpu));
        match ended.fell_over().or(slow) {
            None => report.count(&format!("with status {}", ended.status.unwrap_or(-1))),
            Some(what) => report.fail(format!("`cachetc {}`: {what}", arguments.join(" ")), shown(&case.bytes)),
        }
    }
    for status in [0, 1] {
        let ended = report.counted(&format!("with status {status}"));
        report.at_least_percent(&format!("with status {status}"), ended, 1, report.cases);
    }
    report
}

/// What was seen of a text; a slow one is tried again, for the machine may have been busy.
fn judged(corpus: &Corpus, root: &str, bytes: &[u8], name: &str) -> Seen {
    let attempt = || tried(name, root, corpus.with(root, bytes), bytes);
    let seen = attempt();
    if seen.time <= SLOW || seen.reached.is_err() {
        return seen;
    }
    let again = attempt();
    match again.time.min(seen.time) {
        time if time > SLOW => Seen { reached: Err(format!("it takes {time:?}")), time },
        _ => again,
    }
}

/// What went wrong, without where and how much.
fn kind(what: &str) -> String {
    let quoted = what.lines().next().unwrap_or_default().split('`').step_by(2);
    quoted.flat_map(str::chars).filter(|c| !c.is_ascii_digit()).collect()
}

/// A text with less in it that fails in the same way.
fn smallest(corpus: &Corpus, case: &Broken, what: &str) -> Vec<u8> {
    let want = kind(what);
    let mut tries = 0;
    minimise(
        case.bytes.clone(),
        |b| texts::smaller(b),
        |bytes| {
            tries += 1;
            let fails = || judged(corpus, &case.root, bytes, "a smaller text").reached.is_err_and(|e| kind(&e) == want);
            tries < TRIES && fails()
        },
    )
}

/// Bytes as something to paste.
pub fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(|c| c == '\n' || !c.is_control()) => text.to_string(),
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("{:?}", bytes.escape_ascii().to_string()),
    }
}
