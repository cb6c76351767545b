//! Doubt is refusal: a prover that gives up, a worker that panics, a solver that does anything but answer.
//!
//! For each kind of condition. A condition that the prover cannot decide is refused in the words of one that was not
//! decided, now and when it is asked again. Solvers are shell scripts that lie, hang, crash, answer twice, print an error
//! first or without end: an agreement is counted only for the exact single answer, from a process that ended well.

use crate::population::{Population, Report, Share};
use crate::{threads, walk};
use cachet::cross::{self, Crossed, Dialect, Solver};
use cachet_check::condition::{Condition, Kind, discharge};
use cachet_check::context::{Context, Shown};
use cachet_check::formula::{Formula, MAX_DEPTH, MAX_SIZE, Term, Var};
use cachet_check::proofs::{Decided, Proofs};
use cachet_check::prover::{Verdict, prove};
use cachet_source::{Kind as Severity, codes};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The prover and its workers.
pub const PROVER: Population = Population {
    promise: "P8",
    name: "a prover in doubt",
    never: "a condition is accepted that was not proved",
    counts: [Kind::COUNT * DOUBTS.len(), Kind::COUNT * DOUBTS.len()],
    drawn: false,
    run: prover,
};

/// Solvers.
pub const SOLVERS: Population = Population {
    promise: "P8",
    name: "solvers that misbehave",
    never: "an agreement is counted without the exact single answer",
    counts: [Kind::COUNT * BEHAVIOURS.len(), Kind::COUNT * BEHAVIOURS.len()],
    drawn: false,
    run: solvers,
};

/// What the prover cannot do.
const DOUBTS: [&str; 6] = ["too many cases", "overflow", "overflow in a fact", "too deep", "too large", "divided by 0"];

fn doubtful(kind: Kind, doubt: &str) -> Condition {
    let mut cx = Context::default();
    let x = cx.unknown(Shown::Plain("x".into()));
    let goal = match doubt {
        "too many cases" => {
            pigeons(&mut cx);
            Formula::False
        }
        "overflow" => x.clone().times(i128::MAX).times(3).le(x.times(5)),
        "overflow in a fact" => {
            cx.fact(x.clone().times(i128::MAX).add(i128::MAX).times(2).ge(x.clone()));
            x.le(1)
        }
        "too deep" => (0..=MAX_DEPTH).fold(x, |t, _| Term::Add(vec![t, Term::Lit(0)])).le(7),
        "too large" => Formula::Or((0..=MAX_SIZE as i128 / 3).map(|n| x.clone().equals(n)).collect()),
        _ => x.div(0).equals(0),
    };
    Condition::new(kind, codes::RELATION, &cx, goal, "something")
}

/// Twelve pigeons in eleven holes: false, and no one here can show it.
fn pigeons(cx: &mut Context) {
    let all: Vec<Term> = (0..12).map(|p| cx.unknown(Shown::Plain(format!("p{p}")))).collect();
    for (n, p) in all.iter().enumerate() {
        cx.fact(Formula::Or((0..11).map(|hole| p.clone().equals(hole)).collect()));
        all[..n].iter().for_each(|q| cx.fact(p.clone().differs(q.clone())));
    }
}

fn prover(_: Share) -> Report {
    let mut report = Report::default();
    let mut proofs = Proofs::default();
    for kind in Kind::all() {
        for doubt in DOUBTS {
            report.cases += 1;
            let condition = doubtful(kind, doubt);
            let case = || format!("{kind:?}, {doubt}");
            for _ in 0..2 {
                match discharge(&mut proofs, std::slice::from_ref(&condition)) {
                    Ok(()) => report.fail("a condition that cannot be decided is accepted", case()),
                    Err(f) if f.diagnostic.kind != Severity::NotDecided || !f.diagnostic.refuses() => {
                        report.fail("what cannot be decided is not called so", case());
                    }
                    Err(_) => report.count("not decided, and refused"),
                }
            }
        }
        worker(kind, &mut report);
    }
    if proofs.decided().iter().any(|d| d.model.is_none()) {
        report.fail("something counts as proved", "");
    }
    let refused = report.counted("not decided, and refused");
    report.at_least("not decided, and refused", refused, 2 * (Kind::COUNT * DOUBTS.len()) as u64);
    let panics = report.counted("workers that panicked");
    report.at_least("workers that panicked", panics, Kind::COUNT as u64);
    report
}

/// A worker panics in the middle; what it leaves behind proves nothing.
fn worker(kind: Kind, report: &mut Report) {
    let condition = |bound: i128| {
        let mut cx = Context::default();
        let x = cx.unknown(Shown::Plain("x".into()));
        cx.fact(Formula::within(0, x.clone(), 40));
        Condition::new(kind, codes::RELATION, &cx, x.div(4).le(bound), "x is small")
    };
    let mut proofs = Proofs::default();
    let mut fork = proofs.fork();
    let ended = std::thread::scope(|scope| {
        let work = || {
            for bound in 0..12 {
                fork.prove(&condition(bound));
                if bound == 6 {
                    // Not `panic!`: nothing is printed for it.
                    std::panic::resume_unwind(Box::new("a worker panics"));
                }
            }
        };
        scope.spawn(work).join()
    });
    report.add("workers that panicked", u64::from(ended.is_err()));
    for bound in 0..12 {
        let proved = matches!(proofs.prove(&condition(bound)), Verdict::Proved(_));
        if proved != (bound >= 9) {
            report.fail("another verdict after a worker's panic", format!("{kind:?} {bound}"));
        }
    }
}

// ---------------------------------------------------------------- solvers

/// What a script does for each condition that it reads, what it does before and after all of them, and what may be counted.
struct Behaviour {
    name: &'static str,
    before: &'static str,
    /// Where it is asked for an answer.
    answer: &'static str,
    /// Where it is asked to say a marker, which is in `$m`.
    mark: &'static str,
    after: &'static str,
    counts: Counts,
}

/// What may be counted of what a script says.
#[derive(PartialEq)]
enum Counts {
    /// That conditions hold.
    Holds,
    /// That conditions fail.
    Fails,
    /// That it gave up.
    Unknown,
    /// Nothing.
    Nothing,
    /// Nothing, and it has to be stopped.
    Stopped,
}

const fn says(name: &'static str, answer: &'static str, counts: Counts) -> Behaviour {
    Behaviour { name, before: "", answer, mark: ECHO, after: "", counts }
}

const fn around(name: &'static str, before: &'static str, after: &'static str, counts: Counts) -> Behaviour {
    Behaviour { name, before, answer: "echo unsat", mark: ECHO, after, counts }
}

const fn marks(name: &'static str, mark: &'static str) -> Behaviour {
    Behaviour { name, before: "", answer: "echo unsat", mark, after: "", counts: Counts::Nothing }
}

const ECHO: &str = r#"echo "$m""#;

const BEHAVIOURS: [Behaviour; 33] = [
    says("says that everything holds", "echo unsat", Counts::Holds),
    says("says that everything fails", "echo sat", Counts::Fails),
    says("gives up", "echo unknown", Counts::Unknown),
    says("answers twice", "echo unsat; echo unsat", Counts::Nothing),
    says("answers both", "echo unsat; echo sat", Counts::Nothing),
    says("answers both in one line", "echo unsat sat", Counts::Nothing),
    says("does not answer", ":", Counts::Nothing),
    says("answers with nothing", "echo", Counts::Nothing),
    says("prints an error first", "echo '(error \"line 1: no\")'; echo unsat", Counts::Nothing),
    says("prints an error afterwards", "echo unsat; echo '(error \"line 1: no\")'", Counts::Nothing),
    says("prints a warning first", "echo 'WARNING: old'; echo unsat", Counts::Nothing),
    says("answers in capitals", "echo UNSAT", Counts::Nothing),
    says("answers with a blank", "echo 'unsat '", Counts::Nothing),
    says("answers with more", "echo unsatisfiable", Counts::Nothing),
    says("answers with a prompt", "echo '> unsat'", Counts::Nothing),
    says("answers with a model", "echo sat; echo '(model)'", Counts::Nothing),
    says("ran out of time", "echo timeout", Counts::Nothing),
    says("answers in bytes that are no text", r"printf '\377unsat\n'", Counts::Nothing),
    says("answers with a NUL", r"printf 'unsat\000\n'", Counts::Nothing),
    says("crashes", "exit 3", Counts::Nothing),
    says("is killed", "kill -9 $$", Counts::Nothing),
    around("answers, and ends badly", "", "exit 1", Counts::Nothing),
    around("answers, and is killed", "", "kill -9 $$", Counts::Nothing),
    around("answers, and says more", "", "echo done", Counts::Nothing),
    around("greets first", "echo hello", "", Counts::Nothing),
    around("never ends", "", "exec sleep 1000", Counts::Stopped),
    around("closes its output and never ends", "", "exec sleep 1000 >&-", Counts::Stopped),
    around("never begins", "exec sleep 1000", "", Counts::Stopped),
    around("prints without end", "while :; do echo unsat; done", "", Counts::Stopped),
    around("prints one endless line", "while :; do printf unsat; done", "", Counts::Stopped),
    marks("leaves out the markers", ":"),
    marks("says the markers twice", r#"echo "$m"; echo "$m""#),
    marks("says other markers", "echo condition 99"),
];

fn script(b: &Behaviour) -> String {
    format!(
        "#!/bin/sh\n{}\nwhile IFS= read -r line; do case \"$line\" in\n\"(check-sat)\") {} ;;\n\"(echo \"*) m=${{line#*\\\"}}; \
         m=${{m%\\\"*}}; {} ;;\nesac; done\n{}\n",
        b.before, b.answer, b.mark, b.after
    )
}

/// How long a script that has to be stopped may run.
const SHORT: Duration = Duration::from_millis(400);
/// How long others may take; none does.
const LONG: Duration = Duration::from_secs(60);

fn solvers(_: Share) -> Report {
    let mut report = Report::default();
    if !Path::new("/bin/sh").exists() {
        report.skipped = Some("no shell for scripts that stand for solvers".into());
        return report;
    }
    let folder = std::env::temp_dir().join(format!("cachet-solvers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let kinds = by_kind();
    report.counts.insert("kinds of conditions".into(), kinds.len() as u64);
    report.at_least("kinds of conditions with examples", kinds.len() as u64, 20);
    let together: Vec<Decided> = kinds.values().flatten().cloned().collect();
    let reports = threads::map(BEHAVIOURS.len(), |n| {
        let (b, mut report) = (&BEHAVIOURS[n], Report::default());
        let path = executable(&folder, n, &script(b));
        let dialect = if n % 2 == 0 { Dialect::Z3 } else { Dialect::Cvc5 };
        let stopped = b.counts == Counts::Stopped;
        let patience = if stopped { SHORT } else { LONG };
        let solver = Solver { dialect, version: b.name.into(), path, patience };
        if stopped {
            // All kinds at once: each such process takes its time.
            judge(b, &together, &cross::ask(&[solver], &together), &mut report);
        } else {
            for conditions in kinds.values() {
                judge(b, conditions, &cross::ask(std::slice::from_ref(&solver), conditions), &mut report);
            }
        }
        report
    });
    for r in reports {
        report = report.and(r);
    }
    no_programs(&folder, &together, &mut report);
    let _ = std::fs::remove_dir_all(&folder);
    let cases = report.cases;
    report.at_least("conditions asked about", cases, 2 * 20 * BEHAVIOURS.len() as u64);
    for what in ["agreements that are answers", "disagreements that are answers", "without an answer"] {
        let got = report.counted(what);
        report.at_least(what, got, 20);
    }
    report
}

fn judge(b: &Behaviour, conditions: &[Decided], crossed: &Crossed, report: &mut Report) {
    report.cases += conditions.len() as u64;
    let tally = &crossed.tallies[0];
    let proved = conditions.iter().filter(|d| d.model.is_none()).count();
    let refuted = conditions.len() - proved;
    let (agreed, against, gave_up) = match b.counts {
        Counts::Holds => (proved, refuted, 0),
        Counts::Fails => (refuted, proved, 0),
        Counts::Unknown => (0, 0, conditions.len()),
        Counts::Nothing | Counts::Stopped => (0, 0, 0),
    };
    let silent: usize = tally.silent.values().sum();
    let all = agreed + against + gave_up;
    if (tally.agreed, crossed.disagreements.len(), tally.gave_up, silent)
        != (agreed, against, gave_up, conditions.len() - all)
    {
        report.fail(format!("a solver that {}: {crossed:?}", b.name), script(b));
    }
    report.add("agreements that are answers", agreed as u64);
    report.add("disagreements that are answers", against as u64);
    report.add("without an answer", silent as u64);
}

/// What cannot be started at all.
fn no_programs(folder: &Path, conditions: &[Decided], report: &mut Report) {
    let text = folder.join("text");
    std::fs::write(&text, "unsat\n").unwrap();
    for path in [folder.join("nothing"), folder.to_path_buf(), text] {
        let solver = Solver { dialect: Dialect::Z3, version: "none".into(), path, patience: LONG };
        let none = says("cannot be started", "", Counts::Nothing);
        judge(&none, conditions, &cross::ask(&[solver], conditions), report);
    }
}

/// Written by another process: a file that this one has open to write cannot be started, nor while a fork of it exists.
fn executable(folder: &Path, n: usize, text: &str) -> PathBuf {
    let path = folder.join(format!("solver{n}"));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(&path).stdin(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    path
}

/// For each kind a condition that holds and one that fails, of those that the project's files lead to. A kind of which all
/// hold there, or fail, has one with another goal beside it.
fn by_kind() -> BTreeMap<Kind, Vec<Decided>> {
    let files: Vec<_> = ["examples", "tests/refusals"].into_iter().flat_map(walk::files).collect();
    let files = [files, walk::files("tests/suite")].concat();
    let found = threads::map(files.len(), |n| {
        let mut out: BTreeMap<Kind, Vec<Decided>> = BTreeMap::new();
        let walk = walk::module(&files[n]).map(|m| walk::walk(&m)).unwrap_or_default();
        for c in walk.pieces.iter().flat_map(|p| &p.conditions) {
            let of_kind = out.entry(c.kind).or_default();
            if of_kind.is_empty() {
                let problem = c.problem();
                match prove(&problem) {
                    Verdict::Proved(_) => of_kind.push(Decided { problem, model: None }),
                    Verdict::Refuted(model) => of_kind.push(Decided { problem, model: Some(model) }),
                    Verdict::Undecided { .. } => {}
                }
            }
        }
        out
    });
    let mut all: BTreeMap<Kind, Vec<Decided>> = BTreeMap::new();
    for (kind, decided) in found.into_iter().flatten() {
        let of_kind = all.entry(kind).or_default();
        for d in decided {
            if of_kind.iter().all(|e| e.model.is_some() != d.model.is_some()) {
                of_kind.push(d);
            }
        }
    }
    for decided in all.values_mut().filter(|d| d.len() == 1) {
        let mut other = decided[0].problem.clone();
        if decided[0].model.is_some() {
            other.goal = Formula::True;
        } else {
            let more = Var(other.names.len() as u32);
            other.names.push("more".into());
            other.goal = Term::Var(more).ge(0);
        }
        let model = match prove(&other) {
            Verdict::Refuted(model) => Some(model),
            Verdict::Proved(_) | Verdict::Undecided { .. } => None,
        };
        decided.push(Decided { problem: other, model });
    }
    all.retain(|_, d| !d.is_empty());
    all
}
