//! Does this condition hold? [`prove`] decides, and shows why: a certificate that the independent checker accepts, or
//! values that evaluate to a counterexample. Everything else is *undecided*, which callers treat as a refusal.
//!
//! The verdict is a function of the problem alone: limits count steps, never time.

mod cone;
mod eliminate;
mod proof;
mod record;
mod search;

#[cfg(test)]
mod tests;

use crate::certificate::{self, Certificate, Definition, Fact, Linear, Reading};
use crate::formula::{Formula, Hint, Problem, Question, Term, Var};
use cone::Cones;
use proof::{Assumptions, Opener, Proof};
use record::Stop;
use search::{End, Node, Search};

/// A value for every variable, by index.
pub type Model = Vec<i128>;

/// What became of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Valid; the certificate has been checked.
    Proved(Certificate),
    /// Not valid; the hypotheses hold and the goal fails at these values, as evaluated.
    Refuted(Model),
    /// Not decided within the limits.
    Undecided {
        /// Why, in words.
        reason: String,
    },
}

/// Whether facts can hold together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Satisfaction {
    /// They hold at these values, as evaluated.
    Witness(Model),
    /// They contradict each other; the certificate proves the problem with these hypotheses and the goal `false`.
    Empty(Certificate),
    /// Not decided within the limits.
    Undecided {
        /// Why, in words.
        reason: String,
    },
}

/// Re-solves spent on one smaller counterexample, at most.
const MOST_RESOLVES: usize = 40;

/// Decides a problem.
pub fn prove(problem: &Problem) -> Verdict {
    prove_question(&problem.question())
}

/// The same of a problem that others own.
pub fn prove_question(problem: &Question<'_>) -> Verdict {
    let verdict = match attempt(problem) {
        Ok(verdict) => verdict,
        Err(reason) => return Verdict::Undecided { reason },
    };
    match &verdict {
        Verdict::Proved(proof) => match certificate::check_question(problem, proof) {
            Ok(()) => verdict,
            Err(reason) => Verdict::Undecided { reason: format!("the proof found was rejected: {reason}") },
        },
        Verdict::Refuted(model) if problem.refuted_by(model) == Some(true) => verdict,
        Verdict::Refuted(_) => {
            Verdict::Undecided { reason: "the counterexample found does not evaluate as one".into() }
        }
        Verdict::Undecided { .. } => verdict,
    }
}

/// Whether `formulas` can hold together.
pub fn satisfiable(formulas: &[Formula], names: &[String]) -> Satisfaction {
    let problem =
        Problem { names: names.to_vec(), hypotheses: formulas.to_vec(), goal: Formula::False, hints: Vec::new() };
    match prove(&problem) {
        Verdict::Refuted(model) => Satisfaction::Witness(model),
        Verdict::Proved(certificate) => Satisfaction::Empty(certificate),
        Verdict::Undecided { reason } => Satisfaction::Undecided { reason },
    }
}

/// A counterexample with smaller values: each variable of `order` in turn gets the smallest absolute value it can have
/// given those before it. The result always refutes the problem if `model` does.
pub fn minimise(problem: &Problem, model: &Model, order: &[Var]) -> Model {
    let mut problem = problem.clone();
    let mut model = model.clone();
    let mut left = MOST_RESOLVES;
    for var in order {
        let index = var.0 as usize;
        let Some(value) = model.get(index).copied() else { continue };
        // Values below `low` in size are impossible; the model's own is possible.
        let mut low = 0;
        let mut high = value.unsigned_abs();
        let mut first = true;
        while low < high && left > 0 {
            left -= 1;
            // 0 is the most likely answer, then the present value.
            let bound = if first { low } else { low + (high - low) / 2 };
            let Ok(limit) = i128::try_from(bound) else { break };
            problem.hypotheses.push(Formula::and([Term::Var(*var).ge(-limit), Term::Var(*var).le(limit)]));
            let verdict = prove(&problem);
            problem.hypotheses.pop();
            match verdict {
                Verdict::Refuted(smaller) => {
                    high = smaller[index].unsigned_abs();
                    model = smaller;
                }
                Verdict::Proved(_) => low = bound + 1,
                Verdict::Undecided { .. } => break,
            }
            first = false;
        }
        problem.hypotheses.push(Term::Var(*var).equals(model[index]));
    }
    model
}

/// Variables that the failure does not depend on, ascending: they do not occur in the conjuncts of the goal that
/// fail, once these are simplified; or every value of theirs near 0 gives a counterexample.
pub fn irrelevant(problem: &Problem, model: &Model) -> Vec<Var> {
    let relevant = relevant(problem, model);
    let mut out = Vec::new();
    for index in 0..problem.names.len() {
        let is_free = || {
            let mut changed = model.clone();
            (-FREE_RANGE..=FREE_RANGE).all(|value| {
                changed[index] = value;
                problem.refuted_by(&changed) == Some(true)
            })
        };
        if relevant.as_ref().is_some_and(|relevant| !relevant[index]) || is_free() {
            out.push(Var(index as u32));
        }
    }
    out
}

/// How far around 0 a variable is moved to see whether it matters.
const FREE_RANGE: i128 = 8;

/// For each variable whether it occurs in a failing conjunct of the goal. None if that cannot be told.
fn relevant(problem: &Problem, model: &Model) -> Option<Vec<bool>> {
    problem.measure().ok()?;
    let mut failing = Vec::new();
    let mut parts = vec![&problem.goal];
    while let Some(part) = parts.pop() {
        match part {
            Formula::And(inner) => parts.extend(inner),
            _ if part.eval(model)? => {}
            _ => failing.push(part.clone()),
        }
    }
    let goal = Formula::and(failing);
    let reading =
        Reading::of(&Question { variables: problem.names.len(), hypotheses: Vec::new(), goal: &goal, hints: &[] })
            .ok()?;
    let mut seen = vec![false; reading.name_count() as usize];
    for fact in &reading.facts[reading.goal.clone()] {
        cone::visit_names(fact, &mut |name| seen[name as usize] = true);
    }
    // Definitions mention earlier names only.
    for (index, definition) in reading.definitions.iter().enumerate().rev() {
        if seen[reading.variables as usize + index] {
            let mut see = |name: u32| seen[name as usize] = true;
            match definition {
                Definition::Quotient { dividend: e, .. } | Definition::Least { operand: e } => {
                    e.terms.iter().for_each(|term| see(term.0));
                }
                Definition::Choice { yes, operand, no: _ } => {
                    operand.terms.iter().for_each(|term| see(term.0));
                    yes.iter().for_each(|fact| cone::visit_names(fact, &mut see));
                }
            }
        }
    }
    seen.truncate(reading.variables as usize);
    Some(seen)
}

fn attempt(problem: &Question<'_>) -> Result<Verdict, String> {
    let reading = Reading::of(problem)?;
    let hints = problem.hints.iter().filter_map(|hint| difference(hint, reading.variables)).collect();
    decide(&reading, hints).map_err(|stop| {
        match stop {
            Stop::Overflow => "a number became too large",
            Stop::Budget => "too many cases",
            Stop::Confused => "the search contradicted itself",
        }
        .into()
    })
}

/// Decides each alternative of the negated goal within the facts that are connected with it.
fn decide(reading: &Reading, hints: Vec<Linear>) -> Result<Verdict, Stop> {
    let mut search = Search::new(reading, hints)?;
    let cones = Cones::of(reading);
    let goal = &reading.facts[reading.goal.clone()];
    let mut refuted = Vec::new();
    let opener = match goal {
        [Fact::OneOf(alternatives)] => {
            for alternative in alternatives {
                match with_goal(&mut search, reading, &cones, alternative, None)? {
                    (_, End::Found(model)) => return Ok(Verdict::Refuted(model)),
                    (assumptions, End::Refuted(proof)) if !proof.uses(assumptions) => return proved(proof, reading),
                    (assumptions, End::Refuted(proof)) => refuted.push((assumptions, proof)),
                }
            }
            Opener::Fact(reading.goal.start as u32)
        }
        _ => {
            return match with_goal(&mut search, reading, &cones, goal, Some(reading.goal.start as u32))? {
                (_, End::Found(model)) => Ok(Verdict::Refuted(model)),
                (_, End::Refuted(proof)) => proved(proof, reading),
            };
        }
    };
    proved(Proof::join(&opener, refuted), reading)
}

fn proved(proof: Proof, reading: &Reading) -> Result<Verdict, Stop> {
    let certificate = proof.certificate(reading.facts.len(), reading.name_count());
    certificate.map(Verdict::Proved).ok_or(Stop::Confused)
}

/// Decides the facts of `goal`, recorded from number `known` on or else assumed here, together with the rest of the
/// problem: first those facts that share names with them, directly or not, then the others.
fn with_goal<'a>(
    search: &mut Search<'a>,
    reading: &'a Reading,
    cones: &Cones,
    goal: &'a [Fact],
    known: Option<u32>,
) -> Result<(Assumptions, End), Stop> {
    let mark = search.record.mark();
    let cone = cones.around(goal);
    let (mut near, mut far) = (Node::default(), Node::default());
    let (mut near_wanted, mut far_wanted) = (Vec::new(), Vec::new());
    let axioms = reading.goal.end;
    for (index, fact) in reading.facts.iter().enumerate() {
        if reading.goal.contains(&index) {
            continue;
        }
        let inside = cones.is_in(index, &cone);
        let (node, wanted) = if inside { (&mut near, &mut near_wanted) } else { (&mut far, &mut far_wanted) };
        node.add(index as u32, fact);
        if index < axioms {
            wanted.push(fact);
        }
    }
    let assumptions = match known {
        Some(first) => {
            for (fact, id) in goal.iter().zip(first..) {
                near.add(id, fact);
            }
            Assumptions { first, end: first + goal.len() as u32 }
        }
        None => search.assume(goal, &mut near)?,
    };
    near_wanted.extend(goal);
    let has_far = !far_wanted.is_empty();
    let mut end = search.decide(near, near_wanted)?;
    if let End::Found(model) = &mut end {
        model.truncate(reading.variables as usize);
        if has_far {
            match search.decide(far, far_wanted)? {
                End::Found(others) => {
                    for (name, value) in model.iter_mut().enumerate() {
                        if !cones.has_name(name as u32, &cone) {
                            *value = others[name];
                        }
                    }
                }
                refuted @ End::Refuted(_) => end = refuted,
            }
        }
    }
    search.record.release(mark);
    Ok((assumptions, end))
}

/// The difference of a hint's sides, if they are linear in variables.
fn difference(Hint::Trichotomy(a, b): &Hint, variables: u32) -> Option<Linear> {
    let difference = linear(a, variables)?.plus(-1, &linear(b, variables)?)?;
    (!difference.terms.is_empty()).then_some(difference)
}

fn linear(term: &Term, variables: u32) -> Option<Linear> {
    match term {
        Term::Lit(value) => Some(Linear::constant(*value)),
        Term::Var(Var(index)) => (*index < variables).then(|| Linear::name(*index)),
        Term::Add(parts) => {
            parts.iter().try_fold(Linear::constant(0), |sum, part| sum.plus(1, &linear(part, variables)?))
        }
        Term::Mul(factor, inner) => linear(inner, variables)?.times(*factor),
        Term::Div(..) | Term::Mod(..) | Term::Min(..) | Term::Max(..) | Term::If(..) => None,
    }
}
