//! What does a problem say, in numbered facts? Its hypotheses, then its negated goal, then the axioms of the names
//! that stand for quotients, minima and conditional terms; every fact in negation normal form over linear sums.
//!
//! Names are the variables, then one for each different term that is not linear, in the order of reading. These
//! identities are used, each exact for all integers (`n > 0`, floor division):
//!
//! - `x mod n = x - n (x div n)`; `(n a + c) div n = a + c div n`; `(g a + c) div (g n) = (a + c div g) div n`;
//!   `(x div m + c) div n = (x + m c) div (m n)`
//! - `min(a, b) = a + min(0, b - a)`; `max(a, b) = b - min(0, b - a)`; `min(0, -d) = min(0, d) - d`
//! - `if c then a else b = b + (if c then a - b else 0)`; `if d >= 0 then d else 0 = max(0, d)`, also with `d + 1` or
//!   `-d` or `-d - 1` for the second `d` (then a minimum)

use super::linear::{Linear, Sum, greatest_common_divisor};
use crate::formula::{Formula, Question, Term, Var};
use std::collections::HashMap;
use std::ops::Range;

/// A statement about names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Fact {
    /// `e >= 0`.
    AtLeastZero(Linear),
    /// `e = 0`.
    Zero(Linear),
    /// A contradiction.
    False,
    /// All facts of one of the lists hold. There are at least two lists, none empty.
    OneOf(Vec<Vec<Fact>>),
}

/// What a name that is not a variable stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Definition {
    /// `dividend div divisor`.
    Quotient {
        /// What is divided.
        dividend: Linear,
        /// By what.
        divisor: i128,
    },
    /// `min(0, operand)`; the operand's first coefficient is positive.
    Least {
        /// Beside 0.
        operand: Linear,
    },
    /// `operand` when all of `yes` hold, 0 when all of `no` hold, which is the negation of `yes`.
    Choice {
        /// The condition.
        yes: Vec<Fact>,
        /// Its negation.
        no: Vec<Fact>,
        /// The value where it holds.
        operand: Linear,
    },
}

/// A problem as facts: integers satisfy all of them iff they are a counterexample.
pub struct Reading {
    /// Hypotheses, negated goal, axioms.
    pub facts: Vec<Fact>,
    /// Which facts are the negated goal.
    pub goal: Range<usize>,
    /// How many names are variables.
    pub variables: u32,
    /// The other names.
    pub definitions: Vec<Definition>,
}

impl Reading {
    /// Reads a problem.
    ///
    /// # Errors
    /// Why it is too deep, too large or malformed.
    pub fn of(problem: &Question<'_>) -> Result<Reading, String> {
        problem.measure()?;
        let variables = u32::try_from(problem.variables).map_err(|_| "too many variables")?;
        let mut reader = Reader { variables, definitions: Vec::new(), known: HashMap::new() };
        let mut facts = Vec::new();
        for hypothesis in &problem.hypotheses {
            reader.formula(hypothesis, true, &mut facts)?;
        }
        let start = facts.len();
        reader.formula(problem.goal, false, &mut facts)?;
        let goal = start..facts.len();
        for (index, definition) in reader.definitions.iter().enumerate() {
            axioms(&Linear::name(variables + index as u32), definition, &mut facts).ok_or(OVERFLOW)?;
        }
        Ok(Reading { facts, goal, variables, definitions: reader.definitions })
    }

    pub(crate) fn name_count(&self) -> u32 {
        self.variables + self.definitions.len() as u32
    }
}

impl Fact {
    /// Whether no integers satisfy it, as seen from its constant and the common divisor of its coefficients.
    pub(crate) fn is_absurd(&self) -> bool {
        match self {
            Fact::AtLeastZero(e) => e.terms.is_empty() && e.constant < 0,
            Fact::Zero(e) if e.terms.is_empty() => e.constant != 0,
            Fact::Zero(e) => e.constant.unsigned_abs() % e.common_divisor() != 0,
            Fact::False => true,
            Fact::OneOf(_) => false,
        }
    }

    /// Whether it holds for these values of the names. None on overflow.
    pub fn eval(&self, values: &[i128]) -> Option<bool> {
        match self {
            Fact::AtLeastZero(e) => e.eval(values).map(|value| value >= 0),
            Fact::Zero(e) => e.eval(values).map(|value| value == 0),
            Fact::False => Some(false),
            Fact::OneOf(alternatives) => {
                alternatives.iter().try_fold(false, |any, facts| Some(any || all_hold(facts, values)?))
            }
        }
    }
}

/// Whether all of them hold for these values of the names. None on overflow.
pub fn all_hold(facts: &[Fact], values: &[i128]) -> Option<bool> {
    facts.iter().try_fold(true, |all, fact| Some(all && fact.eval(values)?))
}

const OVERFLOW: &str = "a number in the condition is too large";

/// The facts that determine `name`; None on overflow.
fn axioms(name: &Linear, definition: &Definition, facts: &mut Vec<Fact>) -> Option<()> {
    match definition {
        Definition::Quotient { dividend, divisor } => {
            let remainder = dividend.plus(divisor.checked_neg()?, name)?;
            facts.push(Fact::AtLeastZero(remainder.times(-1)?.plus_constant(divisor - 1)?));
            facts.push(Fact::AtLeastZero(remainder));
        }
        Definition::Least { operand } => {
            let (below_zero, below_operand) = (name.times(-1)?, operand.plus(-1, name)?);
            let above_operand = below_operand.times(-1)?;
            facts.push(Fact::AtLeastZero(below_zero));
            facts.push(Fact::AtLeastZero(below_operand));
            facts
                .push(Fact::OneOf(vec![vec![Fact::AtLeastZero(name.clone())], vec![Fact::AtLeastZero(above_operand)]]));
        }
        Definition::Choice { yes, no, operand } => {
            let case = |condition: &[Fact], value: Linear| {
                let mut facts = condition.to_vec();
                facts.push(Fact::Zero(value));
                facts
            };
            facts.push(Fact::OneOf(vec![case(yes, name.plus(-1, operand)?), case(no, name.clone())]));
        }
    }
    Some(())
}

struct Reader {
    variables: u32,
    definitions: Vec<Definition>,
    known: HashMap<Definition, u32>,
}

impl Reader {
    /// Adds the facts of `formula`, or of its negation, to a conjunction.
    fn formula(&mut self, formula: &Formula, holds: bool, facts: &mut Vec<Fact>) -> Result<(), String> {
        match (formula, holds) {
            (Formula::True, true) | (Formula::False, false) => {}
            (Formula::False, true) | (Formula::True, false) => facts.push(Fact::False),
            (Formula::Le(a, b), true) | (Formula::Lt(b, a), false) => facts.extend(at_least_zero(self.gap(a, b, 0)?)),
            (Formula::Lt(a, b), true) | (Formula::Le(b, a), false) => facts.extend(at_least_zero(self.gap(a, b, -1)?)),
            (Formula::Eq(a, b), true) => {
                let e = self.gap(a, b, 0)?;
                facts.extend((!e.is_zero()).then_some(Fact::Zero(e)));
            }
            (Formula::Eq(a, b), false) => {
                let above = self.gap(a, b, -1)?;
                let below = above.times(-1).and_then(|e| e.plus_constant(-2)).ok_or(OVERFLOW)?;
                one_of([below, above].map(|e| at_least_zero(e).into_iter().collect()), facts);
            }
            (Formula::Not(inner), _) => self.formula(inner, !holds, facts)?,
            (Formula::And(parts), true) | (Formula::Or(parts), false) => {
                for part in parts {
                    self.formula(part, holds, facts)?;
                }
            }
            (Formula::Or(parts), true) | (Formula::And(parts), false) => {
                let mut alternatives = Vec::with_capacity(parts.len());
                for part in parts {
                    let mut alternative = Vec::new();
                    self.formula(part, holds, &mut alternative)?;
                    alternatives.push(alternative);
                }
                one_of(alternatives, facts);
            }
        }
        Ok(())
    }

    /// `b - a + constant`.
    fn gap(&mut self, a: &Term, b: &Term, constant: i128) -> Result<Linear, String> {
        let mut sum = Sum::from(constant);
        self.add(a, -1, &mut sum)?;
        self.add(b, 1, &mut sum)?;
        sum.linear().ok_or_else(|| OVERFLOW.into())
    }

    fn term(&mut self, term: &Term) -> Result<Linear, String> {
        let mut sum = Sum::from(0);
        self.add(term, 1, &mut sum)?;
        sum.linear().ok_or_else(|| OVERFLOW.into())
    }

    /// Adds a multiple of a term.
    fn add(&mut self, term: &Term, factor: i128, sum: &mut Sum) -> Result<(), String> {
        let value = match term {
            Term::Lit(value) => return sum.add_constant(factor, *value).ok_or_else(|| OVERFLOW.into()),
            Term::Var(Var(index)) => {
                sum.add_name(factor, *index);
                return Ok(());
            }
            Term::Add(parts) => return parts.iter().try_for_each(|part| self.add(part, factor, sum)),
            Term::Mul(by, inner) => {
                let factor = factor.checked_mul(*by).ok_or(OVERFLOW)?;
                return self.add(inner, factor, sum);
            }
            Term::Div(inner, n) => {
                let dividend = self.term(inner)?;
                self.quotient(&dividend, *n)
            }
            Term::Mod(inner, n) => {
                let dividend = self.term(inner)?;
                self.quotient(&dividend, *n).and_then(|quotient| dividend.plus(n.checked_neg()?, &quotient))
            }
            Term::Min(a, b) => {
                let (a, b) = (self.term(a)?, self.term(b)?);
                b.plus(-1, &a).and_then(|operand| a.plus(1, &self.least(operand)?))
            }
            Term::Max(a, b) => {
                let (a, b) = (self.term(a)?, self.term(b)?);
                b.plus(-1, &a).and_then(|operand| b.plus(-1, &self.least(operand)?))
            }
            Term::If(condition, a, b) => {
                let mut yes = Vec::new();
                self.formula(condition, true, &mut yes)?;
                // Not read a second time: conditions nested in conditions would double the work at each level.
                let no = negation(&yes).ok_or(OVERFLOW)?;
                let (a, b) = (self.term(a)?, self.term(b)?);
                a.plus(-1, &b).and_then(|operand| b.plus(1, &self.choice(yes, no, operand)?))
            }
        };
        value.and_then(|value| sum.add(factor, &value)).ok_or_else(|| OVERFLOW.into())
    }

    fn named(&mut self, definition: Definition) -> Linear {
        let next = self.variables + self.definitions.len() as u32;
        let name = *self.known.entry(definition).or_insert_with_key(|definition| {
            self.definitions.push(definition.clone());
            next
        });
        Linear::name(name)
    }

    /// `dividend div n`; None on overflow.
    fn quotient(&mut self, dividend: &Linear, n: i128) -> Option<Linear> {
        let mut whole = Linear::constant(0);
        let mut rest = Linear::constant(dividend.constant.rem_euclid(n));
        whole.constant = dividend.constant.div_euclid(n);
        for (name, coefficient) in &dividend.terms {
            let (quotient, remainder) = (coefficient.div_euclid(n), coefficient.rem_euclid(n));
            whole.terms.extend((quotient != 0).then_some((*name, quotient)));
            rest.terms.extend((remainder != 0).then_some((*name, remainder)));
        }
        // Here 0 <= rest.constant < n, and all coefficients of the rest are below n.
        let common = greatest_common_divisor(rest.common_divisor(), n.unsigned_abs()) as i128;
        let n = n / common;
        let rest = rest.divide_floor(common)?;
        if rest.terms.is_empty() {
            return whole.plus_constant(rest.constant.div_euclid(n));
        }
        let definition = match (&rest.terms[..], self.definition_of(rest.terms[0].0)) {
            ([(_, 1)], Some(Definition::Quotient { dividend, divisor })) => {
                let shift = divisor.checked_mul(rest.constant)?;
                let (dividend, divisor) = (dividend.clone().plus_constant(shift)?, divisor.checked_mul(n)?);
                return whole.plus(1, &self.quotient(&dividend, divisor)?);
            }
            _ => Definition::Quotient { dividend: rest, divisor: n },
        };
        whole.plus(1, &self.named(definition))
    }

    fn definition_of(&self, name: u32) -> Option<&Definition> {
        self.definitions.get(name.checked_sub(self.variables)? as usize)
    }

    /// `min(0, operand)`; None on overflow.
    fn least(&mut self, operand: Linear) -> Option<Linear> {
        match operand.terms.first() {
            None => Some(Linear::constant(operand.constant.min(0))),
            Some((_, coefficient)) if *coefficient < 0 => {
                let least = self.named(Definition::Least { operand: operand.times(-1)? });
                least.plus(1, &operand)
            }
            Some(_) => Some(self.named(Definition::Least { operand })),
        }
    }

    /// `if yes then operand else 0`; None on overflow.
    fn choice(&mut self, yes: Vec<Fact>, no: Vec<Fact>, operand: Linear) -> Option<Linear> {
        if yes.is_empty() || operand.is_zero() {
            return Some(operand);
        }
        if no.is_empty() {
            return Some(Linear::constant(0));
        }
        if let [Fact::AtLeastZero(bound)] = &yes[..] {
            let next = bound.clone().plus_constant(1)?;
            if operand == *bound || operand == next {
                return operand.plus(-1, &self.least(operand.clone())?);
            }
            if operand == bound.times(-1)? || operand == next.times(-1)? {
                return self.least(operand);
            }
        }
        Some(self.named(Definition::Choice { yes, no, operand }))
    }
}

/// `e >= 0`, unless it is plainly true.
fn at_least_zero(e: Linear) -> Option<Fact> {
    (!e.terms.is_empty() || e.constant < 0).then_some(Fact::AtLeastZero(e))
}

/// The negation of a conjunction; None on overflow.
fn negation(facts: &[Fact]) -> Option<Vec<Fact>> {
    let mut alternatives = Vec::with_capacity(facts.len());
    for fact in facts {
        let mut alternative = Vec::new();
        match fact {
            Fact::False => {}
            Fact::AtLeastZero(e) => alternative.extend(at_least_zero(e.times(-1)?.plus_constant(-1)?)),
            Fact::Zero(e) => {
                let (above, below) = (e.clone().plus_constant(-1)?, e.times(-1)?.plus_constant(-1)?);
                one_of([below, above].map(|e| at_least_zero(e).into_iter().collect()), &mut alternative);
            }
            Fact::OneOf(inner) => {
                for facts in inner {
                    alternative.extend(negation(facts)?);
                }
            }
        }
        alternatives.push(alternative);
    }
    let mut out = Vec::new();
    one_of(alternatives, &mut out);
    Some(out)
}

/// Adds a disjunction, simplified: absurd alternatives are dropped, an empty one makes it true.
fn one_of(alternatives: impl IntoIterator<Item = Vec<Fact>>, facts: &mut Vec<Fact>) {
    let mut left: Vec<Vec<Fact>> = Vec::new();
    for alternative in alternatives {
        if alternative.is_empty() {
            return;
        }
        if !alternative.iter().any(Fact::is_absurd) {
            left.push(alternative);
        }
    }
    match left.len() {
        0 => facts.push(Fact::False),
        1 => facts.append(&mut left[0]),
        _ => facts.push(Fact::OneOf(left)),
    }
}
