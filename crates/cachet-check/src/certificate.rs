//! Is this proof a proof? A certificate is a list of [`Line`]s; [`check`] reads the problem *as given*, replays the
//! lines, and accepts only if every case ends in a contradiction. It shares no code with the search and does not
//! search itself.
//!
//! **Facts.** The problem is read into numbered facts ([`Reading`]): the hypotheses, the negated goal, and the
//! defining axioms of every quotient, minimum and conditional term. A fact is `e >= 0`, `e = 0`, `false`, or a
//! disjunction of lists of facts. Each line adds facts, numbered on, or opens cases. [`Line::Absurd`] closes the
//! innermost open case; the facts added since it was opened are forgotten, and the next one begins.
//!
//! **Why it is sound.** Each line keeps: if integers satisfy all facts so far, then they (extended by the value of
//! a defined name) satisfy the facts of one of the open cases. When all cases are closed there are no such integers.
//! Arithmetic is checked; an overflow rejects the certificate.

mod linear;
mod reading;

pub use linear::Linear;
pub use reading::{Definition, Fact, Reading, all_hold};

use crate::formula::{Problem, Question};
use serde::{Deserialize, Serialize};

/// A proof that a problem is valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The steps, each case after the line that opened it.
    pub lines: Vec<Line>,
}

/// One step of a proof. Numbers of facts count from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Line {
    /// Adds `e >= 0`, where `e` is the sum of multiples of facts, divided by `divisor`: it divides every coefficient,
    /// and the constant is rounded down. Multipliers of inequalities are >= 0.
    Combine {
        /// Facts and multipliers.
        parts: Vec<(u32, i128)>,
        /// At least 1.
        divisor: i128,
    },
    /// Adds `e = 0`, where `e` is the sum of multiples of equalities, divided exactly.
    Equate {
        /// Equalities and multipliers.
        parts: Vec<(u32, i128)>,
        /// At least 1.
        divisor: i128,
    },
    /// From `e >= 0` and `-e >= 0` adds `e = 0`.
    Squeeze(u32, u32),
    /// Gives a name to an integer combination of earlier ones: adds `name - (combination + constant) = 0`.
    Define {
        /// Names and their coefficients.
        terms: Vec<(u32, i128)>,
        /// The constant.
        constant: i128,
    },
    /// Opens one case for each alternative of a disjunction.
    Split(u32),
    /// Opens the cases `e >= 0` and `-e - 1 >= 0`, which cover the integers.
    Cut {
        /// Names and their coefficients.
        terms: Vec<(u32, i128)>,
        /// The constant.
        constant: i128,
    },
    /// Closes a case: the fact is `false`, `c >= 0` with `c < 0`, or an equality whose coefficients have a common
    /// divisor that does not divide its constant.
    Absurd(u32),
}

/// Whether `certificate` proves `problem`.
///
/// # Errors
/// Which line is wrong, and why.
pub fn check(problem: &Problem, certificate: &Certificate) -> Result<(), String> {
    check_question(&problem.question(), certificate)
}

/// The same of a problem that others own.
///
/// # Errors
/// Which line is wrong, and why.
pub fn check_question(problem: &Question<'_>, certificate: &Certificate) -> Result<(), String> {
    let reading = Reading::of(problem)?;
    let facts = reading.facts.iter().map(Held::Given).collect();
    let mut replay = Replay { facts, names: reading.name_count(), open: Vec::new(), done: false };
    for (number, line) in certificate.lines.iter().enumerate() {
        replay.step(line).map_err(|reason| format!("line {number}: {reason}"))?;
    }
    if replay.done { Ok(()) } else { Err("a case is left open".into()) }
}

/// A fact of the problem, or one that a line added.
enum Held<'a> {
    Given(&'a Fact),
    Made(Fact),
}

impl Held<'_> {
    fn fact(&self) -> &Fact {
        match self {
            Held::Given(fact) => fact,
            Held::Made(fact) => fact,
        }
    }
}

/// Alternatives that still have to be refuted, the next one last, and the point to go back to.
struct Open<'a> {
    facts: usize,
    names: u32,
    alternatives: Vec<Vec<Held<'a>>>,
}

struct Replay<'a> {
    facts: Vec<Held<'a>>,
    names: u32,
    open: Vec<Open<'a>>,
    done: bool,
}

impl<'a> Replay<'a> {
    fn step(&mut self, line: &Line) -> Result<(), String> {
        if self.done {
            return Err("the proof has already ended".into());
        }
        match line {
            Line::Combine { parts, divisor } => {
                let sum = self.sum(parts, *divisor, false)?.divide_floor(*divisor).ok_or("not divisible")?;
                self.facts.push(Held::Made(Fact::AtLeastZero(sum)));
            }
            Line::Equate { parts, divisor } => {
                let sum = self.sum(parts, *divisor, true)?.divide_exact(*divisor).ok_or("not divisible")?;
                self.facts.push(Held::Made(Fact::Zero(sum)));
            }
            Line::Squeeze(above, below) => {
                let (Fact::AtLeastZero(e), Fact::AtLeastZero(f)) = (self.fact(*above)?, self.fact(*below)?) else {
                    return Err("not two inequalities".into());
                };
                if !e.plus(1, f).is_some_and(|sum| sum.is_zero()) {
                    return Err("not opposite inequalities".into());
                }
                let equality = Fact::Zero(e.clone());
                self.facts.push(Held::Made(equality));
            }
            Line::Define { terms, constant } => {
                let value = self.expression(terms, *constant)?;
                let name = Linear::name(self.names);
                self.names = self.names.checked_add(1).ok_or("too many names")?;
                self.facts.push(Held::Made(Fact::Zero(name.plus(-1, &value).ok_or("overflow")?)));
            }
            Line::Split(number) => {
                let alternatives = self.alternatives(*number)?;
                self.begin(alternatives)?;
            }
            Line::Cut { terms, constant } => {
                let e = self.expression(terms, *constant)?;
                let opposite = e.times(-1).and_then(|e| e.plus_constant(-1)).ok_or("overflow")?;
                let case = |e| vec![Held::Made(Fact::AtLeastZero(e))];
                self.begin(vec![case(e), case(opposite)])?;
            }
            Line::Absurd(number) => {
                if !self.fact(*number)?.is_absurd() {
                    return Err(format!("fact {number} is not absurd"));
                }
                self.close();
            }
        }
        Ok(())
    }

    fn fact(&self, number: u32) -> Result<&Fact, String> {
        self.facts.get(number as usize).map(Held::fact).ok_or_else(|| format!("there is no fact {number}"))
    }

    /// The sum of multiples of facts.
    fn sum(&self, parts: &[(u32, i128)], divisor: i128, equalities_only: bool) -> Result<Linear, String> {
        if divisor < 1 {
            return Err("a divisor below 1".into());
        }
        let mut sum = Linear::constant(0);
        for (number, multiplier) in parts {
            let part = match self.fact(*number)? {
                Fact::Zero(e) => e,
                Fact::AtLeastZero(_) if equalities_only => return Err(format!("fact {number} is no equality")),
                Fact::AtLeastZero(_) if *multiplier < 0 => return Err("a negative multiple of an inequality".into()),
                Fact::AtLeastZero(e) => e,
                Fact::False | Fact::OneOf(_) => return Err(format!("fact {number} is not linear")),
            };
            sum = sum.plus(*multiplier, part).ok_or("overflow")?;
        }
        Ok(sum)
    }

    fn expression(&self, terms: &[(u32, i128)], constant: i128) -> Result<Linear, String> {
        let mut sum = Linear::constant(constant);
        for (name, coefficient) in terms {
            if *name >= self.names {
                return Err(format!("there is no name {name}"));
            }
            sum = sum.plus(*coefficient, &Linear::name(*name)).ok_or("overflow")?;
        }
        Ok(sum)
    }

    fn alternatives(&self, number: u32) -> Result<Vec<Vec<Held<'a>>>, String> {
        match self.facts.get(number as usize) {
            Some(Held::Given(Fact::OneOf(alternatives))) => {
                Ok(alternatives.iter().map(|facts| facts.iter().map(Held::Given).collect()).collect())
            }
            _ => Err(format!("fact {number} is not a disjunction")),
        }
    }

    fn begin(&mut self, mut alternatives: Vec<Vec<Held<'a>>>) -> Result<(), String> {
        alternatives.reverse();
        let first = alternatives.pop().ok_or("a split without cases")?;
        self.open.push(Open { facts: self.facts.len(), names: self.names, alternatives });
        self.facts.extend(first);
        Ok(())
    }

    /// Goes on with the next open case, or ends.
    fn close(&mut self) {
        while let Some(last) = self.open.last_mut() {
            if let Some(next) = last.alternatives.pop() {
                self.facts.truncate(last.facts);
                self.names = last.names;
                self.facts.extend(next);
                return;
            }
            self.open.pop();
        }
        self.done = true;
    }
}
