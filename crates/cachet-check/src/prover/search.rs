//! In which order are cases split? Each node of the search holds the linear facts of its branch in solved form and
//! the disjunctions that are still open. Its values, if there are any, either satisfy everything, and then they are
//! a counterexample; or some disjunction is false at them. Of those, one with the fewest alternatives that are still
//! possible is split; one with a single possible alternative is no choice at all.
//!
//! A case refuted without its own assumption refutes its node, and the other cases need not be looked at.

use super::eliminate::{Outcome, Scratch, System};
use super::proof::{Assumptions, Opener, Proof};
use super::record::{Id, Record, Stop};
use crate::certificate::{Definition, Fact, Linear, Reading, all_hold};
use std::ops::RangeInclusive;

/// What became of a node.
pub(super) enum End {
    Refuted(Proof),
    /// Values of the problem's names that satisfy all facts of the node's cone.
    Found(Vec<i128>),
}

/// Cases looked at in one search, at most. The hardest conditions of our library need some tens.
const MOST_CASES: usize = 4_000;

/// Choices nested in each other, at most.
const DEEPEST: usize = 200;

/// False disjunctions of a node that are examined before one is chosen.
const MOST_EXAMINED: usize = 8;

pub(super) struct Search<'a> {
    reading: &'a Reading,
    pub(super) record: Record,
    scratch: Scratch,
    cases: usize,
    /// Differences whose sign to consider, in order.
    hints: Vec<Linear>,
    /// The facts to be satisfied, axioms excepted.
    wanted: Vec<&'a Fact>,
}

/// A branch of the search.
#[derive(Clone, Default)]
pub(super) struct Node<'a> {
    system: System,
    open: Vec<(Id, &'a [Vec<Fact>])>,
    absurd: Option<Id>,
    /// How many sides of hints have been considered; two for each hint.
    hinted: usize,
    /// An expression known to be in this range, which is to be split.
    range: Option<(Linear, RangeInclusive<i128>)>,
}

enum Settled {
    Refuted(Proof),
    Found(Vec<i128>),
    /// Values that satisfy the linear facts.
    Values(Vec<i128>),
    Gap {
        name: u32,
        lower: Id,
        upper: Id,
    },
}

struct Case<'a> {
    assumptions: Assumptions,
    node: Node<'a>,
    settled: Settled,
}

/// A split with a single case left.
struct Forced {
    opener: Opener,
    before: Vec<(Assumptions, Proof)>,
    left: Assumptions,
    after: Vec<(Assumptions, Proof)>,
}

impl<'a> Search<'a> {
    /// Records all facts of the problem under their own numbers.
    pub(super) fn new(reading: &'a Reading, hints: Vec<Linear>) -> Result<Search<'a>, Stop> {
        let mut record = Record::new(reading.name_count());
        for fact in &reading.facts {
            record.assume(fact)?;
        }
        Ok(Search { reading, record, scratch: Scratch::default(), cases: 0, hints, wanted: Vec::new() })
    }

    /// Decides the node; `wanted` are the facts in it that are not axioms.
    pub(super) fn decide(&mut self, mut node: Node<'a>, wanted: Vec<&'a Fact>) -> Result<End, Stop> {
        self.wanted = wanted;
        let settled = self.settle(&mut node)?;
        self.refute(node, settled, 0)
    }

    /// Assumes the facts of a case.
    pub(super) fn assume(&mut self, facts: &'a [Fact], node: &mut Node<'a>) -> Result<Assumptions, Stop> {
        let first = self.record.next_id();
        for fact in facts {
            let id = self.record.assume(fact)?;
            node.add(id, fact);
        }
        Ok(Assumptions { first, end: self.record.next_id() })
    }

    fn settle(&mut self, node: &mut Node<'a>) -> Result<Settled, Stop> {
        if let Some(absurd) = node.absurd {
            return Ok(Settled::Refuted(Proof::leaf(absurd, &self.record)));
        }
        Ok(match node.system.close(&mut self.record, &mut self.scratch)? {
            Outcome::Absurd(id) => Settled::Refuted(Proof::leaf(id, &self.record)),
            Outcome::Gap { name, lower, upper } => Settled::Gap { name, lower, upper },
            Outcome::Values(values) => match self.satisfying(&values) {
                Some(values) => Settled::Found(values),
                None => Settled::Values(values),
            },
        })
    }

    /// The values of the variables with the others computed from them, if they satisfy everything.
    fn satisfying(&self, values: &[i128]) -> Option<Vec<i128>> {
        let mut exact = values[..self.reading.variables as usize].to_vec();
        for definition in &self.reading.definitions {
            exact.push(value_of(definition, &exact)?);
        }
        let mut wanted = self.wanted.iter();
        wanted.all(|fact| fact.eval(&exact) == Some(true)).then_some(exact)
    }

    fn refute(&mut self, mut node: Node<'a>, mut settled: Settled, depth: usize) -> Result<End, Stop> {
        let mark = self.record.mark();
        let mut forced: Vec<Forced> = Vec::new();
        loop {
            let (opener, cases) = match settled {
                Settled::Found(values) => return Ok(End::Found(values)),
                Settled::Refuted(proof) => {
                    self.record.release(mark);
                    return Ok(End::Refuted(unwind(forced, proof)));
                }
                Settled::Values(values) => self.split(&node, &values)?,
                Settled::Gap { name, lower, upper } => self.split_gap(&node, name, lower, upper)?,
            };
            if cases.iter().filter(|case| !case.is_refuted()).count() == 1 {
                (node, settled) = force(opener, cases, &mut forced)?;
                continue;
            }
            settled = match self.each_case(&opener, cases, depth)? {
                End::Found(values) => Settled::Found(values),
                End::Refuted(proof) => Settled::Refuted(proof),
            };
        }
    }

    /// Refutes one case after the other.
    fn each_case(&mut self, opener: &Opener, cases: Vec<Case<'a>>, depth: usize) -> Result<End, Stop> {
        if depth >= DEEPEST {
            return Err(Stop::Budget);
        }
        let mut refuted = Vec::with_capacity(cases.len());
        for case in cases {
            match self.refute(case.node, case.settled, depth + 1)? {
                End::Found(values) => return Ok(End::Found(values)),
                End::Refuted(proof) if !proof.uses(case.assumptions) => return Ok(End::Refuted(proof)),
                End::Refuted(proof) => refuted.push((case.assumptions, proof)),
            }
        }
        Ok(End::Refuted(Proof::join(opener, refuted)))
    }

    /// The cases of the best split at a node whose values do not satisfy everything.
    fn split(&mut self, node: &Node<'a>, values: &[i128]) -> Result<(Opener, Vec<Case<'a>>), Stop> {
        if node.range.is_some() {
            return self.split_range(node);
        }
        let mut best: Option<(usize, Opener, Vec<Case<'a>>)> = None;
        let mut examined = 0;
        for (place, (id, alternatives)) in node.open.iter().enumerate() {
            if holds_somewhere(alternatives, values)? {
                continue;
            }
            let mut rest = node.clone();
            rest.open.remove(place);
            let mut cases = Vec::with_capacity(alternatives.len());
            for alternative in *alternatives {
                let case = self.case(&rest, |search, node| search.assume(alternative, node))?;
                if matches!(case.settled, Settled::Found(_)) {
                    return Ok((Opener::Fact(*id), vec![case]));
                }
                cases.push(case);
            }
            let possible = cases.iter().filter(|case| !case.is_refuted()).count();
            if possible <= 1 {
                return Ok((Opener::Fact(*id), cases));
            }
            if best.as_ref().is_none_or(|best| possible < best.0) {
                best = Some((possible, Opener::Fact(*id), cases));
            }
            examined += 1;
            if examined == MOST_EXAMINED {
                break;
            }
        }
        if node.hinted < 2 * self.hints.len() && best.as_ref().is_none_or(|best| best.0 > 2) {
            return self.split_hint(node);
        }
        best.map(|(_, opener, cases)| (opener, cases)).ok_or(Stop::Confused)
    }

    /// Considers `a >= b` against `a < b`, then `a > b` against `a <= b`.
    fn split_hint(&mut self, node: &Node<'a>) -> Result<(Opener, Vec<Case<'a>>), Stop> {
        let hint = &self.hints[node.hinted / 2];
        let e = if node.hinted.is_multiple_of(2) { Some(hint.clone()) } else { hint.clone().plus_constant(-1) };
        let mut next = node.clone();
        next.hinted += 1;
        self.cut(&next, e.ok_or(Stop::Overflow)?, |_, _, _| Ok(()))
    }

    /// Halves the range of a node.
    fn split_range(&mut self, node: &Node<'a>) -> Result<(Opener, Vec<Case<'a>>), Stop> {
        let Some((e, range)) = &node.range else { return Err(Stop::Confused) };
        let (low, high) = (*range.start(), *range.end());
        let middle = low + (high - low) / 2;
        let above = e.clone().plus_constant(-middle - 1).ok_or(Stop::Overflow)?;
        self.cut(node, above, |_, node, upper| {
            let part = if upper { middle + 1..=high } else { low..=middle };
            node.narrow(e.clone(), part);
            Ok(())
        })
    }

    /// Cases for rows `b x >= L` and `a x <= U` without an integer between them: either `b U - a L` is so large that
    /// there always is one, or `b x - L` and `U - a x` are small.
    fn split_gap(&mut self, node: &Node<'a>, name: u32, lower: Id, upper: Id) -> Result<(Opener, Vec<Case<'a>>), Stop> {
        if node.range.is_some() {
            return self.split_range(node);
        }
        let (above, below) = (self.record.e(lower).clone(), self.record.e(upper).clone());
        let b = above.coefficient(name);
        let a = below.coefficient(name).checked_neg().ok_or(Stop::Overflow)?;
        let most = (a - 1).checked_mul(b - 1).ok_or(Stop::Overflow)?;
        let room = above.times(a).and_then(|e| e.plus(b, &below)?.plus_constant(-most)).ok_or(Stop::Overflow)?;
        let room = self.record.expand(&room)?;
        let slack = self.record.expand(if a > b { &above } else { &below })?;
        let steps = (most - 1) / a.max(b);
        self.cut(node, room, |record, node, roomy| {
            if !roomy {
                // Its slack is not negative, and at most `steps` because the other row's is not negative either.
                let tight = record.next_id() - 1;
                let (row, other, factor) = if a > b { (lower, upper, b) } else { (upper, lower, a) };
                node.system.add(row);
                node.system.add(record.combine(super::record::Shape::AtLeastZero, &[(tight, 1), (other, factor)])?);
                node.narrow(slack.clone(), 0..=steps);
            }
            Ok(())
        })
    }

    /// The cases `e >= 0` and `-e - 1 >= 0`.
    fn cut(
        &mut self,
        node: &Node<'a>,
        e: Linear,
        then: impl Fn(&mut Record, &mut Node<'a>, bool) -> Result<(), Stop>,
    ) -> Result<(Opener, Vec<Case<'a>>), Stop> {
        let opposite = e.times(-1).and_then(|e| e.plus_constant(-1)).ok_or(Stop::Overflow)?;
        let mut cases = Vec::with_capacity(2);
        for (assumed, holds) in [(e.clone(), true), (opposite, false)] {
            cases.push(self.case(node, |search, node| {
                let first = search.record.assume(&Fact::AtLeastZero(assumed))?;
                node.system.add(first);
                then(&mut search.record, node, holds)?;
                Ok(Assumptions { first, end: first + 1 })
            })?);
        }
        Ok((Opener::Cut(e), cases))
    }

    /// A copy of the node with the assumptions of a case, settled.
    fn case(
        &mut self,
        node: &Node<'a>,
        assume: impl FnOnce(&mut Search<'a>, &mut Node<'a>) -> Result<Assumptions, Stop>,
    ) -> Result<Case<'a>, Stop> {
        self.cases += 1;
        if self.cases > MOST_CASES {
            return Err(Stop::Budget);
        }
        let mark = self.record.mark();
        self.record.charge(node.open.len())?;
        let mut node = node.clone();
        let assumptions = assume(self, &mut node)?;
        let settled = self.settle(&mut node)?;
        if matches!(settled, Settled::Refuted(_)) {
            self.record.release(mark);
        }
        Ok(Case { assumptions, node, settled })
    }
}

impl<'a> Node<'a> {
    /// Adds a recorded fact.
    pub(super) fn add(&mut self, id: Id, fact: &'a Fact) {
        match fact {
            Fact::AtLeastZero(_) | Fact::Zero(_) => self.system.add(id),
            Fact::OneOf(alternatives) => self.open.push((id, alternatives)),
            Fact::False => self.absurd = Some(id),
        }
    }

    /// Remembers a range that still has to be split.
    fn narrow(&mut self, e: Linear, range: RangeInclusive<i128>) {
        self.range = (range.start() < range.end()).then_some((e, range));
    }
}

impl Case<'_> {
    fn is_refuted(&self) -> bool {
        matches!(self.settled, Settled::Refuted(_))
    }
}

/// Goes on with the only case left.
fn force<'a>(opener: Opener, cases: Vec<Case<'a>>, forced: &mut Vec<Forced>) -> Result<(Node<'a>, Settled), Stop> {
    let (mut before, mut after, mut left) = (Vec::new(), Vec::new(), None);
    for case in cases {
        match case.settled {
            Settled::Refuted(proof) if !proof.uses(case.assumptions) => {
                return Ok((case.node, Settled::Refuted(proof)));
            }
            Settled::Refuted(proof) if left.is_none() => before.push((case.assumptions, proof)),
            Settled::Refuted(proof) => after.push((case.assumptions, proof)),
            open => left = Some((case.assumptions, case.node, open)),
        }
    }
    let (left, node, settled) = left.ok_or(Stop::Confused)?;
    forced.push(Forced { opener, before, left, after });
    Ok((node, settled))
}

/// The refutation of the first node from that of the last.
fn unwind(forced: Vec<Forced>, mut proof: Proof) -> Proof {
    for Forced { opener, mut before, left, after } in forced.into_iter().rev() {
        if proof.uses(left) {
            before.push((left, proof));
            before.extend(after);
            proof = Proof::join(&opener, before);
        }
    }
    proof
}

fn holds_somewhere(alternatives: &[Vec<Fact>], values: &[i128]) -> Result<bool, Stop> {
    for facts in alternatives {
        if all_hold(facts, values).ok_or(Stop::Overflow)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the name of a definition stands for, given the values of the names before it.
pub(super) fn value_of(definition: &Definition, values: &[i128]) -> Option<i128> {
    match definition {
        Definition::Quotient { dividend, divisor } => Some(dividend.eval(values)?.div_euclid(*divisor)),
        Definition::Least { operand } => Some(operand.eval(values)?.min(0)),
        Definition::Choice { yes, operand, no: _ } => {
            if all_hold(yes, values)? {
                operand.eval(values)
            } else {
                Some(0)
            }
        }
    }
}
