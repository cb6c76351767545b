//! Random conditions, decided by the prover and by trying every point of a box.

use super::super::search::value_of;
use super::super::{Verdict, prove};
use crate::certificate::{Definition, Reading, all_hold, check};
use crate::formula::{Formula, Hint, Problem, Term, Var};

/// The generator splitmix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// From `low` to `high`, both included.
    pub(super) fn between(&mut self, low: i128, high: i128) -> i128 {
        low + i128::from(self.next()) % (high - low + 1)
    }
}

/// A condition whose variables live in a box: hypothesis `v` bounds variable `v`.
pub(super) struct Boxed {
    pub(super) problem: Problem,
    ranges: Vec<(i128, i128)>,
}

/// Points of a box, at most.
const MOST_POINTS: i128 = 1_200;

impl Boxed {
    pub(super) fn random(random: &mut Random) -> Boxed {
        let count = 1 + random.below(5);
        let mut ranges = Vec::new();
        let mut points = 1;
        for _ in 0..count {
            let width = random.between(1, 20.min((MOST_POINTS / points).max(1)));
            let low = random.between(-6, 3);
            points *= width;
            ranges.push((low, low + width - 1));
        }
        let mut hypotheses: Vec<Formula> = (0u32..)
            .zip(&ranges)
            .map(|(index, (low, high))| Formula::and([Term::Var(Var(index)).ge(*low), Term::Var(Var(index)).le(*high)]))
            .collect();
        for _ in 0..random.below(4) {
            hypotheses.push(random_formula(random, count, 2));
        }
        let goal = random_formula(random, count, 3);
        let names = (0..count).map(|index| format!("v{index}")).collect();
        Boxed { problem: Problem { names, hypotheses, goal, hints: Vec::new() }, ranges }
    }

    /// A point of the box that refutes the condition.
    pub(super) fn refutation(&self) -> Option<Vec<i128>> {
        let mut point: Vec<i128> = self.ranges.iter().map(|range| range.0).collect();
        loop {
            if self.problem.refuted_by(&point).unwrap() {
                return Some(point);
            }
            let mut place = 0;
            loop {
                if place == point.len() {
                    return None;
                }
                point[place] += 1;
                if point[place] <= self.ranges[place].1 {
                    break;
                }
                point[place] = self.ranges[place].0;
                place += 1;
            }
        }
    }
}

pub(super) fn random_term(random: &mut Random, variables: usize, depth: usize) -> Term {
    if depth == 0 || random.below(5) == 0 {
        return match random.below(3) {
            0 => Term::Lit(random.between(-9, 9)),
            _ => Term::Var(Var(random.below(variables) as u32)),
        };
    }
    let below = |random: &mut Random| random_term(random, variables, depth - 1);
    match random.below(12) {
        0..=3 => Term::Add((0..2 + random.below(2)).map(|_| below(random)).collect()),
        4..=6 => below(random).times(random.between(-7, 7)),
        7 => below(random).div(random.between(1, 9)),
        8 => below(random).rem(random.between(1, 9)),
        9 => below(random).min(below(random)),
        10 => below(random).max(below(random)),
        _ => {
            let (a, b) = (below(random), below(random));
            Term::ite(random_formula(random, variables, depth - 1), a, b)
        }
    }
}

pub(super) fn random_formula(random: &mut Random, variables: usize, depth: usize) -> Formula {
    if depth > 0 && random.below(3) > 0 {
        let below = |random: &mut Random| random_formula(random, variables, depth - 1);
        return match random.below(8) {
            0..=2 => Formula::And((0..2 + random.below(2)).map(|_| below(random)).collect()),
            3..=5 => Formula::Or((0..2 + random.below(2)).map(|_| below(random)).collect()),
            6 => Formula::Not(Box::new(below(random))),
            _ => below(random).iff(below(random)),
        };
    }
    let (a, b) = (random_term(random, variables, 2), random_term(random, variables, 2));
    match random.below(16) {
        0 => Formula::True,
        1 => Formula::False,
        2..=5 => Formula::Le(a, b),
        6..=9 => Formula::Lt(a, b),
        10..=13 => Formula::Eq(a, b),
        _ => Formula::ne(a, b),
    }
}

#[test]
fn agrees_with_brute_force() {
    let mut random = Random(1);
    let (mut proved, mut refuted, mut undecided) = (0, 0, 0);
    for number in 0..6_000 {
        let mut boxed = Boxed::random(&mut random);
        for _ in 0..random.below(4) {
            let mut side = || random_term(&mut random, boxed.ranges.len(), 1);
            boxed.problem.hints.push(Hint::Trichotomy(side(), side()));
        }
        let truth = boxed.refutation();
        match prove(&boxed.problem) {
            Verdict::Proved(certificate) => {
                assert_eq!(truth, None, "condition {number} is false\n{}", boxed.problem.canonical());
                check(&boxed.problem, &certificate).unwrap();
                proved += 1;
            }
            Verdict::Refuted(model) => {
                assert!(truth.is_some(), "condition {number} is true\n{}", boxed.problem.canonical());
                assert_eq!(boxed.problem.refuted_by(&model), Some(true));
                refuted += 1;
            }
            Verdict::Undecided { reason } => {
                println!("condition {number}: {reason}\n{}", boxed.problem.canonical());
                undecided += 1;
            }
        }
    }
    println!("{proved} proved, {refuted} refuted, {undecided} undecided");
    assert!(undecided <= 6, "{undecided} of 6,000 undecided");
    assert!(proved > 1_500 && refuted > 1_500, "{proved} proved, {refuted} refuted");
}

/// Without bounds nothing can be enumerated, but a proof must not be contradicted by any point of a box.
#[test]
fn unbounded_conditions_are_never_wrong() {
    let mut random = Random(2);
    let mut undecided = 0;
    for number in 0..2_000 {
        let mut boxed = Boxed::random(&mut random);
        boxed.problem.hypotheses.drain(..boxed.ranges.len());
        match prove(&boxed.problem) {
            Verdict::Proved(_) => {
                assert_eq!(boxed.refutation(), None, "condition {number}\n{}", boxed.problem.canonical());
            }
            Verdict::Refuted(model) => assert_eq!(boxed.problem.refuted_by(&model), Some(true)),
            Verdict::Undecided { .. } => undecided += 1,
        }
    }
    println!("{undecided} undecided");
    assert!(undecided <= 10, "{undecided} of 2,000 undecided");
}

#[test]
fn verdicts_repeat() {
    let mut random = Random(3);
    for _ in 0..200 {
        let problem = Boxed::random(&mut random).problem;
        let elsewhere = problem.clone();
        let other = std::thread::spawn(move || prove(&elsewhere)).join().unwrap();
        assert_eq!(prove(&problem), other);
    }
}

/// The verdict, not only its soundness, is independent of the names' order.
#[test]
fn renamed_variables_give_the_same_verdict() {
    let mut random = Random(4);
    for _ in 0..300 {
        let problem = Boxed::random(&mut random).problem;
        let count = problem.names.len() as u32;
        let swap: Vec<Option<Term>> = (0..count).map(|index| Some(Term::Var(Var(count - 1 - index)))).collect();
        let renamed = Problem {
            names: problem.names.clone(),
            hypotheses: problem.hypotheses.iter().rev().map(|part| part.substitute(&swap).unwrap()).collect(),
            goal: problem.goal.substitute(&swap).unwrap(),
            hints: Vec::new(),
        };
        let (one, two) = (prove(&problem), prove(&renamed));
        assert_eq!(std::mem::discriminant(&one), std::mem::discriminant(&two), "{}", problem.canonical());
    }
}

/// The checker's reading is trusted: its facts hold exactly at the counterexamples, with each name at the value that
/// it stands for, and with no other value.
#[test]
fn the_reading_says_what_the_problem_says() {
    let mut random = Random(5);
    let (mut refuting, mut names) = (0, [0; 3]);
    for _ in 0..4_000 {
        let mut boxed = Boxed::random(&mut random);
        boxed.problem.hypotheses.drain(..boxed.ranges.len());
        let problem = &boxed.problem;
        let reading = Reading::of(&problem.question()).unwrap();
        for definition in &reading.definitions {
            names[match definition {
                Definition::Quotient { .. } => 0,
                Definition::Least { .. } => 1,
                Definition::Choice { .. } => 2,
            }] += 1;
        }
        let (said, axioms) = reading.facts.split_at(reading.goal.end);
        for _ in 0..15 {
            let point: Vec<i128> = boxed.ranges.iter().map(|_| random.between(-20, 20)).collect();
            let mut values = point.clone();
            for definition in &reading.definitions {
                values.push(value_of(definition, &values).unwrap());
            }
            let refuted = problem.refuted_by(&point).unwrap();
            refuting += usize::from(refuted);
            assert_eq!(all_hold(said, &values), Some(refuted), "{point:?}\n{}", problem.canonical());
            assert_eq!(all_hold(axioms, &values), Some(true), "{point:?}\n{}", problem.canonical());
            if !reading.definitions.is_empty() {
                let place = point.len() + random.below(reading.definitions.len());
                values[place] += [-2, -1, 1, 2][random.below(4)];
                assert_eq!(all_hold(axioms, &values), Some(false), "{point:?}\n{}", problem.canonical());
            }
        }
    }
    assert!(refuting > 1_000 && names.iter().all(|count| *count > 500), "{refuting} {names:?}");
}
