//! Conditions as data: what has to be proved, why, where, and how to say that it was not.
//!
//! Everything that could go wrong is a [`Condition`] with a [`Kind`]. The rules generate conditions, one function
//! discharges them. Nothing here can make a program count as checked.

use crate::context::{self, Context, Facts, Shown};
use crate::formula::{Formula, Hint, Problem, Term, Var as Unknown};
use crate::proofs::Proofs;
use crate::prover::{self, Verdict};
use cachet_source::{Code, Counterexample, Diagnostic, Kind as Severity, Label, Span, codes};
use std::sync::Arc;

/// What a condition is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// An access stays inside its buffer.
    Bounds,
    /// What is read has been written.
    Initialised,
    /// An output is written everywhere.
    Written,
    /// What a call lends is apart.
    Apart,
    /// A view lies inside its buffer and has a length.
    View,
    /// An index fits the integer type that it becomes a word of.
    Converts,
    /// Integer arithmetic fits its type, and divisors are positive.
    Overflow,
    /// A declared extent is not negative.
    Extent,
    /// An argument has the extents that the parameter declares.
    Fits,
    /// A called function's requirement holds.
    Requirement,
    /// Two loops run the same number of times, over blocks of the same lengths.
    Count,
    /// Two locals start from the same words.
    Start,
    /// Two programs take the same branch.
    Branch,
    /// Two programs hold the same words.
    Words,
    /// A sum does not read its own cell.
    Cell,
    /// Reordered iterations touch different cells.
    Order,
    /// An operation has a law that a regrouped sum rests on.
    Law,
    /// Blocks run through a range once and ascending.
    Split,
    /// A length is a multiple of a block's.
    Multiple,
    /// Two nests have the same iterations.
    Map,
    /// A copy is read where it was made.
    Copied,
    /// What a local holds of an array are different cells of it, and all that is used of the local.
    Carried,
    /// What is left out of a local is not used.
    Narrowed,
    /// A condition that a recipe gives holds.
    Given,
    /// The windows of a grid's iterations are disjoint.
    Windows,
    /// An iteration of a grid stays inside its window.
    Window,
    /// A mask counts lanes that there are.
    Mask,
    /// The lanes of a vector statement touch nothing of one another's.
    Lanes,
    /// What a file asserts.
    Assertion,
}

impl Kind {
    /// How many there are.
    pub const COUNT: usize = Kind::Assertion as usize + 1;

    /// All of them.
    pub fn all() -> impl Iterator<Item = Kind> {
        std::iter::successors(Some(Kind::Bounds), |kind| kind.next())
    }

    /// The one after it: a new kind has to be put in the row.
    fn next(self) -> Option<Kind> {
        Some(match self {
            Kind::Bounds => Kind::Initialised,
            Kind::Initialised => Kind::Written,
            Kind::Written => Kind::Apart,
            Kind::Apart => Kind::View,
            Kind::View => Kind::Converts,
            Kind::Converts => Kind::Overflow,
            Kind::Overflow => Kind::Extent,
            Kind::Extent => Kind::Fits,
            Kind::Fits => Kind::Requirement,
            Kind::Requirement => Kind::Count,
            Kind::Count => Kind::Start,
            Kind::Start => Kind::Branch,
            Kind::Branch => Kind::Words,
            Kind::Words => Kind::Cell,
            Kind::Cell => Kind::Order,
            Kind::Order => Kind::Law,
            Kind::Law => Kind::Split,
            Kind::Split => Kind::Multiple,
            Kind::Multiple => Kind::Map,
            Kind::Map => Kind::Copied,
            Kind::Copied => Kind::Carried,
            Kind::Carried => Kind::Narrowed,
            Kind::Narrowed => Kind::Given,
            Kind::Given => Kind::Windows,
            Kind::Windows => Kind::Window,
            Kind::Window => Kind::Mask,
            Kind::Mask => Kind::Lanes,
            Kind::Lanes => Kind::Assertion,
            Kind::Assertion => return None,
        })
    }
}

/// Something to be proved.
#[derive(Clone, Debug)]
pub struct Condition {
    /// What it is about.
    pub kind: Kind,
    /// What may be assumed.
    pub facts: Facts,
    /// What has to follow.
    pub goal: Formula,
    /// Suggestions to the prover.
    pub hints: Arc<Vec<Hint>>,
    /// What could not be proved, if it is not: the rest of `could not prove ..`.
    pub claim: Wording,
    /// The kind of problem it is if it fails.
    pub code: Code,
    /// Where; the first is the primary one.
    pub places: Vec<(Span, Arc<str>)>,
    /// Facts that explain a failure.
    pub notes: Vec<String>,
    /// What would help.
    pub helps: Vec<String>,
    shown: Arc<Vec<Arc<Shown>>>,
    sizes: usize,
    /// Unknowns whose values say what is wrong even where other values would do.
    keep: Vec<Unknown>,
}

/// What a condition says, in words. Most conditions are proved and never read, so bounds are put into words when they are.
#[derive(Clone, Debug)]
pub enum Wording {
    /// As it is.
    Text(String),
    /// `what: lo <= x < hi`
    Within {
        /// What it is about.
        what: Arc<str>,
        /// The lower bound.
        lo: Arc<str>,
        /// What is bounded.
        x: Arc<str>,
        /// What it stays below.
        hi: Arc<str>,
    },
}

impl From<String> for Wording {
    fn from(text: String) -> Wording {
        Wording::Text(text)
    }
}

impl From<&str> for Wording {
    fn from(text: &str) -> Wording {
        Wording::Text(text.into())
    }
}

impl std::fmt::Display for Wording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wording::Text(text) => f.write_str(text),
            Wording::Within { what, lo, x, hi } => write!(f, "{what}: {lo} <= {x} < {hi}"),
        }
    }
}

impl Wording {
    /// The two halves of a bound.
    fn sides(&self) -> Option<[String; 2]> {
        match self {
            Wording::Text(_) => None,
            Wording::Within { what, lo, x, hi } => {
                Some([format!("{what}: {lo} <= {x}"), format!("{what}: {x} < {hi}")])
            }
        }
    }
}

impl Condition {
    /// That `goal` holds in `cx`.
    pub fn new(kind: Kind, code: Code, cx: &Context, goal: Formula, claim: impl Into<Wording>) -> Condition {
        Condition {
            kind,
            facts: cx.facts().clone(),
            goal,
            hints: cx.hints().clone(),
            claim: claim.into(),
            code,
            places: Vec::with_capacity(2),
            notes: Vec::new(),
            helps: Vec::new(),
            shown: cx.shown().clone(),
            sizes: cx.sizes(),
            keep: Vec::new(),
        }
    }

    /// The statement about integers.
    pub fn problem(&self) -> Problem {
        context::problem(&self.shown, &self.facts, &self.goal, &self.hints)
    }

    /// The conditions that a bound consists of.
    fn sides(&self) -> Vec<Condition> {
        let (Some(texts), Formula::And(parts)) = (self.claim.sides(), &self.goal) else { return Vec::new() };
        let side =
            |(goal, text): (&Formula, String)| Condition { goal: goal.clone(), claim: text.into(), ..self.clone() };
        parts.iter().zip(texts).map(side).collect()
    }

    /// How its unknowns print, by number.
    pub(crate) fn shown(&self) -> &[Arc<Shown>] {
        &self.shown
    }

    /// Adds a place.
    pub fn at(mut self, span: Span, text: impl Into<Arc<str>>) -> Condition {
        self.places.push((span, text.into()));
        self
    }

    /// Shows the values of some unknowns in any counterexample.
    pub fn keep(mut self, terms: &[Term]) -> Condition {
        self.keep.extend(terms.iter().filter_map(|t| if let Term::Var(v) = t { Some(*v) } else { None }));
        self
    }

    /// Adds a fact.
    pub fn note(mut self, text: impl Into<String>) -> Condition {
        self.notes.push(text.into());
        self
    }

    /// Adds what would help.
    pub fn help(mut self, text: impl Into<String>) -> Condition {
        self.helps.push(text.into());
        self
    }
}

/// What is left of a condition that was proved.
#[derive(Clone, Debug)]
pub struct Proved {
    /// What it was about.
    pub kind: Kind,
    /// What was proved.
    pub claim: Wording,
}

impl From<Condition> for Proved {
    fn from(c: Condition) -> Proved {
        Proved { kind: c.kind, claim: c.claim }
    }
}

/// A condition that was not proved, ready to be reported, with the sizes at which a replay may show the fault.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What it was about.
    pub kind: Kind,
    /// The report, without a replay.
    pub diagnostic: Diagnostic,
    /// The function's sizes in the counterexample, in order; `None` where the budget ran out.
    pub sizes: Option<Vec<i64>>,
}

/// The verdict on each condition, in order. This gives verdicts and nothing else: no use of it, with conditions left
/// out or not, can make a program count as checked.
pub fn decide(conditions: &[Condition]) -> Vec<Verdict> {
    conditions.iter().map(|c| prover::prove(&c.problem())).collect()
}

/// Proves each condition in order, up to the first that fails.
pub fn discharge(proofs: &mut Proofs, conditions: &[Condition]) -> Result<(), Box<Failure>> {
    for c in conditions {
        let verdict = proofs.prove(c);
        if matches!(verdict, Verdict::Proved(_)) {
            continue;
        }
        // Of a bound it is said which side fails.
        let failed = |side: &Condition, verdict| match verdict {
            Verdict::Proved(_) => None,
            Verdict::Refuted(model) => Some(refuted(side, model)),
            Verdict::Undecided { reason } => Some(undecided(side, &reason)),
        };
        let side = c.sides().iter().find_map(|side| failed(side, proofs.prove(side)));
        if let Some(failure) = side.or_else(|| failed(c, verdict)) {
            return Err(Box::new(failure));
        }
    }
    Ok(())
}

fn refuted(c: &Condition, model: Vec<i128>) -> Failure {
    let order: Vec<Unknown> = (0..c.shown.len() as u32).map(Unknown).collect();
    let problem = c.problem();
    let model = prover::minimise(&problem, &model, &order);
    let loose = prover::irrelevant(&problem, &model);
    let mut values = Vec::new();
    for (i, shown) in c.shown.iter().enumerate() {
        if loose.contains(&Unknown(i as u32)) && !c.keep.contains(&Unknown(i as u32)) {
            continue;
        }
        match &**shown {
            Shown::Plain(name) => values.extend(model.get(i).map(|v| (name.clone(), v.to_string()))),
            Shown::Block { name, lo, hi, size } => {
                let (lo, hi) = (lo.eval(&model), hi.eval(&model));
                values.extend(lo.map(|lo| (name.clone(), format!("{lo}.."))));
                let len = lo.zip(hi).and_then(|(lo, hi)| hi.checked_sub(lo)).filter(|len| len < size);
                values.extend(len.map(|len| (format!("{name}.len"), len.to_string())));
            }
            Shown::Hidden(_) => {}
        }
    }
    let mut diagnostic = report(c, Severity::NotProved, format!("could not prove {}", c.claim));
    diagnostic.counterexample = Some(Counterexample { values, replay: None });
    let sizes = model.iter().take(c.sizes).map(|v| i64::try_from(*v).ok()).collect();
    Failure { kind: c.kind, diagnostic, sizes }
}

fn undecided(c: &Condition, reason: &str) -> Failure {
    let d = report(c, Severity::NotDecided, format!("could not decide {}", c.claim))
        .note(format!("the prover gave up: {reason}"));
    Failure { kind: c.kind, diagnostic: d, sizes: None }
}

fn report(c: &Condition, severity: Severity, message: String) -> Diagnostic {
    let mut d = Diagnostic::new(severity, c.code, message);
    d.labels = c
        .places
        .iter()
        .enumerate()
        .map(|(i, (span, text))| Label { span: *span, text: text.to_string(), primary: i == 0 })
        .collect();
    d.notes = c.notes.clone();
    d.helps = c.helps.clone();
    d
}

/// A structural misfit, as a failure.
pub fn misfit(kind: Kind, diagnostic: Diagnostic) -> Box<Failure> {
    Box::new(Failure { kind, diagnostic, sizes: None })
}

/// That two tuples of one length are equal.
pub fn same_tuple(a: &[Term], b: &[Term]) -> Formula {
    if a.len() != b.len() {
        return Formula::False;
    }
    Formula::and(a.iter().zip(b).map(|(x, y)| x.clone().equals(y.clone())))
}

/// The code of a relation's conditions.
pub const RELATION: Code = codes::RELATION;

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn the_row_of_kinds_is_whole() {
        let row: Vec<usize> = Kind::all().map(|kind| kind as usize).collect();
        assert_eq!(row, (0..Kind::COUNT).collect::<Vec<_>>());
    }
}
