//! Do other provers agree? Conditions that were decided, asked again of z3 and cvc5, as processes.
//!
//! Nothing here can change a verdict: what was decided comes in by reference, and a count goes out. An answer counts only
//! where a process said exactly what it was to say: for each condition one line, `sat`, `unsat` or `unknown`, and then the
//! line that we asked for; nothing before, between or after; and ended well. A process that did anything else has answered
//! nothing of what it was asked.
//!
//! Several conditions go to one process, each after a full `(reset)`; limits count steps, and the clock is only there for a
//! process that never ends.

mod find;
mod process;

pub use find::find;
pub use process::TOO_LONG;

use crate::pipeline::Outcome;
use cachet_check::formula::Problem;
use cachet_check::laws;
use cachet_check::proofs::Decided;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Conditions that one process is asked.
const PORTION: usize = 32;
/// At most so many processes at once.
const MOST_THREADS: usize = 16;
/// How long a process may take that does not end by itself.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Whose options a solver understands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// z3.
    Z3,
    /// cvc5.
    Cvc5,
}

impl Dialect {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Z3 => "z3",
            Dialect::Cvc5 => "cvc5",
        }
    }

    /// Reads standard input; so much work for each condition and no more, the same on every machine.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Dialect::Z3 => &["-in", "-smt2", "rlimit=20000000"],
            Dialect::Cvc5 => &["--lang=smt2", "--rlimit-per=2000000"],
        }
    }
}

/// A solver that was found.
#[derive(Clone, Debug)]
pub struct Solver {
    /// Whose options it understands.
    pub dialect: Dialect,
    /// Its version, as it says.
    pub version: String,
    /// The program.
    pub path: PathBuf,
    /// How long one process may take.
    pub patience: Duration,
}

/// What a solver said of a condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It holds.
    Holds,
    /// It fails.
    Fails,
    /// The solver gave up.
    Unknown,
    /// No answer: the process did something else, which is said.
    None(String),
}

/// What a solver said of all conditions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tally {
    /// The solver and its version.
    pub solver: String,
    /// How many it was asked.
    pub asked: usize,
    /// On how many it agrees.
    pub agreed: usize,
    /// On how many it gave up.
    pub gave_up: usize,
    /// How many got no answer, by what happened instead.
    pub silent: BTreeMap<String, usize>,
}

/// Somebody is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disagreement {
    /// The solver and its version.
    pub solver: String,
    /// Whether we proved the condition; if not, we have values for which it fails.
    pub proved: bool,
    /// The condition, as the solver was asked it.
    pub text: String,
}

/// What came of asking.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Crossed {
    /// Each solver's answers.
    pub tallies: Vec<Tally>,
    /// Each condition on which a solver does not agree.
    pub disagreements: Vec<Disagreement>,
}

/// Every different condition that was decided of a file, those of its own implementations' laws included.
pub fn conditions(outcome: &Outcome) -> Vec<Decided> {
    let program = outcome.checked.program();
    let laws = outcome.module.own_impls.iter().flat_map(|imp| laws::conditions(program, *imp));
    let all = outcome.proofs.decided().into_iter().chain(laws);
    all.map(|d| (d.problem.canonical(), d)).collect::<BTreeMap<String, Decided>>().into_values().collect()
}

/// Asks each solver about each condition. The order of the solvers and of the conditions is the order of the result.
pub fn ask(solvers: &[Solver], conditions: &[Decided]) -> Crossed {
    let texts: Vec<String> = conditions.iter().map(|d| d.problem.smt_lib()).collect();
    let portions: Vec<(&Solver, &[String])> =
        solvers.iter().flat_map(|s| texts.chunks(PORTION).map(move |part| (s, part))).collect();
    let answers = on_threads(portions.len(), |n| portions[n].0.answers(portions[n].1));
    let mut answers = answers.into_iter().flatten();
    let mut out = Crossed::default();
    for s in solvers {
        let solver = format!("{} {}", s.dialect.name(), s.version);
        let mut tally = Tally { solver, asked: texts.len(), agreed: 0, gave_up: 0, silent: BTreeMap::new() };
        for (decided, text) in conditions.iter().zip(&texts) {
            let proved = decided.model.is_none();
            match (answers.next(), proved) {
                (Some(Answer::Holds), true) | (Some(Answer::Fails), false) => tally.agreed += 1,
                (Some(Answer::Holds), false) | (Some(Answer::Fails), true) => {
                    let (solver, text) = (tally.solver.clone(), text.clone());
                    out.disagreements.push(Disagreement { solver, proved, text });
                }
                (Some(Answer::Unknown), _) => tally.gave_up += 1,
                (Some(Answer::None(why)), _) => *tally.silent.entry(why).or_default() += 1,
                (None, _) => *tally.silent.entry("it was not asked".into()).or_default() += 1,
            }
        }
        out.tallies.push(tally);
    }
    out
}

impl Solver {
    /// What it says of one condition, in a process of its own.
    pub fn answer(&self, problem: &Problem) -> Answer {
        self.answers(&[problem.smt_lib()]).pop().unwrap_or(Answer::Unknown)
    }

    fn answers(&self, texts: &[String]) -> Vec<Answer> {
        answers(texts, self.patience, &|texts, patience| together(self, texts, patience))
    }
}

/// What one process says of some conditions; if it takes too long over several, what two say that have half of them and half
/// the time each. So one that is hard takes no other's answer away, and the whole at most six times the patience.
fn answers(
    texts: &[String],
    patience: Duration,
    process: &impl Fn(&[String], Duration) -> Result<Vec<Answer>, String>,
) -> Vec<Answer> {
    match process(texts, patience) {
        Ok(answers) => answers,
        Err(why) if why == TOO_LONG && texts.len() > 1 => {
            let (some, others) = texts.split_at(texts.len() / 2);
            [answers(some, patience / 2, process), answers(others, patience / 2, process)].concat()
        }
        Err(why) => vec![Answer::None(why); texts.len()],
    }
}

/// What one process says of some conditions.
fn together(solver: &Solver, texts: &[String], patience: Duration) -> Result<Vec<Answer>, String> {
    let mut input = String::new();
    for (n, text) in texts.iter().enumerate() {
        if n > 0 {
            input.push_str("(reset)\n");
        }
        input.push_str(text);
        input.push_str(&format!("(echo \"{}\")\n", marker(n)));
    }
    // A line for each answer and each marker, and some room: what says more is stopped.
    let most = 64 * texts.len() + 1_024;
    let said = process::run(&solver.path, solver.dialect.arguments(), input, most, patience)?;
    read(&said, texts.len())
}

fn marker(n: usize) -> String {
    format!("condition {n}")
}

/// The answers, if that is all there is.
fn read(out: &str, count: usize) -> Result<Vec<Answer>, String> {
    let mut lines = out.lines();
    let mut answers = Vec::new();
    for n in 0..count {
        answers.push(match lines.next() {
            Some("unsat") => Answer::Holds,
            Some("sat") => Answer::Fails,
            Some("unknown") => Answer::Unknown,
            Some(other) => return Err(format!("it said something else: {}", first(other))),
            None => return Err("it did not answer".into()),
        });
        // One of them prints strings with their quotes.
        let said = lines.next().map(|l| l.strip_prefix('"').and_then(|l| l.strip_suffix('"')).unwrap_or(l));
        match said {
            Some(line) if line == marker(n) => {}
            Some(other) => return Err(format!("it said something else: {}", first(other))),
            None => return Err("it did not answer".into()),
        }
    }
    match lines.next() {
        Some(more) => Err(format!("it said something else: {}", first(more))),
        None if out.ends_with('\n') => Ok(answers),
        None => Err("its last line has no end".into()),
    }
}

/// The beginning of a line.
fn first(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// The value of each number below `count`, in order.
fn on_threads<T: Send>(count: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).clamp(1, MOST_THREADS).min(count);
    let (next, made) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= count {
                return;
            }
            let value = of(n);
            made.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(n, value);
        }
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        started.into_iter().for_each(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
    made.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exactly_the_answers_count() {
        let two = "unsat\ncondition 0\nsat\n\"condition 1\"\n";
        assert_eq!(read(two, 2), Ok(vec![Answer::Holds, Answer::Fails]));
        assert_eq!(read("unknown\ncondition 0\n", 1), Ok(vec![Answer::Unknown]));
        for wrong in [
            "",
            "unsat\n",
            "unsat\ncondition 0",
            "unsat\nunsat\ncondition 0\n",
            "(error \"no\")\nunsat\ncondition 0\n",
            "unsat\ncondition 0\nunsat\n",
            "unsat\ncondition 1\n",
            " unsat\ncondition 0\n",
            "unsat \ncondition 0\n",
            "UNSAT\ncondition 0\n",
            "condition 0\nunsat\n",
            "unsat\ncondition 0\n\n",
        ] {
            assert!(read(wrong, 1).is_err(), "{wrong:?}");
        }
        for end in 0..two.len() {
            assert!(read(&two[..end], 2).is_err(), "{:?}", &two[..end]);
        }
    }

    #[test]
    fn a_hard_condition_takes_no_answer_away_and_little_time() {
        let texts: Vec<String> = (0..PORTION).map(|n| n.to_string()).collect();
        for hard in 0..PORTION {
            let taken = std::cell::Cell::new(Duration::ZERO);
            let process = |part: &[String], patience: Duration| {
                if !part.contains(&texts[hard]) {
                    return Ok(vec![Answer::Holds; part.len()]);
                }
                taken.set(taken.get() + patience);
                Err(TOO_LONG.into())
            };
            let said = answers(&texts, PATIENCE, &process);
            assert_eq!(said.len(), texts.len());
            assert!(said.iter().enumerate().all(|(n, a)| (*a == Answer::Holds) == (n != hard)), "{hard}: {said:?}");
            assert!(taken.get() < 2 * PATIENCE, "{hard}: {:?}", taken.get());
        }
        let crashed = answers(&texts, PATIENCE, &|_, _| Err("it ended with a signal".into()));
        assert_eq!(crashed, vec![Answer::None("it ended with a signal".into()); texts.len()]);
    }
}
