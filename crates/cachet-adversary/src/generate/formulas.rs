//! Random conditions, as the prover takes them.
//!
//! [`Boxed::draw`] makes conditions of every shape whose variables live in a small box, so that all points can be tried;
//! [`Boxed::draw_real`] makes such as programs lead to: sizes, blocks and their short ends, copies of a loop's variable,
//! floor division by block sizes, `min`, `max`, lexicographic orders. [`enlarge`] puts numbers around the limits of the
//! arithmetic into a formula.

use crate::mutate::formulas::{literals, shift_literal};
use crate::random::Random;
use cachet_check::formula::{Formula, Hint, Problem, Question, Term, Var};

/// A condition whose variables live in a box: its first hypotheses bound one variable each.
#[derive(Clone)]
pub struct Boxed {
    /// The condition.
    pub problem: Problem,
    /// The box: the smallest and the largest value of each variable.
    pub ranges: Vec<(i128, i128)>,
}

impl Boxed {
    /// Of any shape.
    pub fn draw(random: &mut Random) -> Boxed {
        let count = 1 + random.below(5);
        let most_points: i64 = random.pick(&[60, 60, 240, 1_200]);
        let mut ranges = Vec::new();
        let mut points = 1;
        for _ in 0..count {
            let width = random.between(1, 20.min((most_points / points).max(1)));
            let low = random.between(-6, 3);
            points *= width;
            ranges.push((i128::from(low), i128::from(low + width - 1)));
        }
        let mut hypotheses = bounds(&ranges);
        for _ in 0..random.below(4) {
            hypotheses.push(formula(random, count, 2));
        }
        let goal = formula(random, count, 3);
        let mut hints = Vec::new();
        for _ in 0..random.below(4) {
            hints.push(Hint::Trichotomy(term(random, count, 1), term(random, count, 1)));
        }
        let names = (0..count).map(|index| format!("v{index}")).collect();
        Boxed { problem: Problem { names, hypotheses, goal, hints }, ranges }
    }

    /// Like those of programs, true as they are drawn; half of them are then changed in one number.
    pub fn draw_real(random: &mut Random) -> Boxed {
        let mut made = Shape::default();
        let axes = 1 + random.below(2);
        let copies = if axes == 1 && random.once_in(2) { 2 } else { 1 };
        let all: Vec<Axis> = (0..axes).map(|n| made.axis(random, n, copies, axes * copies)).collect();
        let goal = made.goal(random, &all);
        let mut facts = made.facts;
        let mut goal = goal;
        if random.once_in(2) {
            // A fact or the goal says something slightly else.
            let at = random.below(2 * facts.len() + 2);
            let part = if at < facts.len() { &mut facts[at] } else { &mut goal };
            let count = literals(part);
            if count > 0 {
                *part = shift_literal(part, random.below(count), random.pick(&[-1, 1]));
            }
        }
        let mut hypotheses = bounds(&made.ranges);
        hypotheses.extend(facts);
        Boxed { problem: Problem { names: made.names, hypotheses, goal, hints: made.hints }, ranges: made.ranges }
    }

    /// A point of the box that refutes the condition: all are tried, one after the other.
    pub fn refutation(&self) -> Option<Vec<i128>> {
        // What bounds the variables holds at every point.
        let question = self.problem.question();
        let hypotheses = question.hypotheses[self.ranges.len()..].to_vec();
        let inside = Question { hypotheses, ..question };
        self.points().find(|p| inside.refuted_by(p) == Some(true))
    }

    /// How many points the box has.
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|(low, high)| (high - low + 1) as u64).product()
    }

    fn points(&self) -> impl Iterator<Item = Vec<i128>> {
        (0..self.count()).map(|mut n| {
            let of = |(low, high): &(i128, i128)| {
                let width = (high - low + 1) as u64;
                let value = low + i128::from(n % width);
                n /= width;
                value
            };
            self.ranges.iter().map(of).collect()
        })
    }

    /// The condition without its box: no points can be tried for the whole of it.
    pub fn unbounded(&self) -> Problem {
        let mut problem = self.problem.clone();
        problem.hypotheses.drain(..self.ranges.len());
        problem
    }
}

fn bounds(ranges: &[(i128, i128)]) -> Vec<Formula> {
    let one = |(index, (low, high)): (u32, &(i128, i128))| {
        Formula::and([Term::Var(Var(index)).ge(*low), Term::Var(Var(index)).le(*high)])
    };
    (0u32..).zip(ranges).map(one).collect()
}

/// A random term over so many variables.
pub fn term(random: &mut Random, variables: usize, depth: usize) -> Term {
    if depth == 0 || random.once_in(5) {
        return match random.below(3) {
            0 => Term::Lit(random.between(-9, 9).into()),
            _ => Term::Var(Var(random.below(variables) as u32)),
        };
    }
    let below = |random: &mut Random| term(random, variables, depth - 1);
    match random.below(12) {
        0..=3 => Term::Add((0..2 + random.below(2)).map(|_| below(random)).collect()),
        4..=6 => below(random).times(random.between(-7, 7).into()),
        7 => below(random).div(random.between(1, 9).into()),
        8 => below(random).rem(random.between(1, 9).into()),
        9 => below(random).min(below(random)),
        10 => below(random).max(below(random)),
        _ => {
            let (a, b) = (below(random), below(random));
            Term::ite(formula(random, variables, depth - 1), a, b)
        }
    }
}

/// A random formula over so many variables.
pub fn formula(random: &mut Random, variables: usize, depth: usize) -> Formula {
    if depth > 0 && random.below(3) > 0 {
        let below = |random: &mut Random| formula(random, variables, depth - 1);
        return match random.below(8) {
            0..=2 => Formula::And((0..2 + random.below(2)).map(|_| below(random)).collect()),
            3..=5 => Formula::Or((0..2 + random.below(2)).map(|_| below(random)).collect()),
            6 => Formula::Not(Box::new(below(random))),
            _ => below(random).iff(below(random)),
        };
    }
    let (a, b) = (term(random, variables, 2), term(random, variables, 2));
    match random.below(16) {
        0 => Formula::True,
        1 => Formula::False,
        2..=5 => Formula::Le(a, b),
        6..=9 => Formula::Lt(a, b),
        10..=13 => Formula::Eq(a, b),
        _ => Formula::ne(a, b),
    }
}

/// A range of a program, and where in it somebody stands.
struct Axis {
    size: Term,
    /// The block size, if it is in blocks.
    block: Option<i128>,
    /// For each copy: the block's number, if there are blocks, and the place in the block or range.
    at: Vec<(Option<Term>, Term)>,
}

impl Axis {
    fn index(&self, copy: usize) -> Term {
        match (&self.at[copy], self.block) {
            ((Some(g), x), Some(n)) => g.clone().times(n).add(x.clone()),
            ((_, x), _) => x.clone(),
        }
    }
}

#[derive(Default)]
struct Shape {
    names: Vec<String>,
    ranges: Vec<(i128, i128)>,
    facts: Vec<Formula>,
    hints: Vec<Hint>,
}

impl Shape {
    fn var(&mut self, name: String, low: i128, high: i128) -> Term {
        self.names.push(name);
        self.ranges.push((low, high));
        Term::Var(Var(self.names.len() as u32 - 1))
    }

    /// `crowded`: how many loops there are in all; the more, the smaller the box.
    fn axis(&mut self, random: &mut Random, n: usize, copies: usize, crowded: usize) -> Axis {
        let block = (random.below(4) > 0).then(|| i128::from(random.between(2, if crowded > 1 { 3 } else { 6 })));
        let most = block.map_or(4, |b| if crowded > 1 { b + 1 } else { 2 * b + 1 });
        let low = if crowded > 1 { 0 } else { -1 };
        let size = self.var(format!("N{n}"), 0, most);
        let mut at = Vec::new();
        for copy in 0..copies {
            let prime = "'".repeat(copy);
            let Some(b) = block else {
                let x = self.var(format!("x{n}{prime}"), low, most);
                self.facts.push(Formula::within(0, x.clone(), size.clone()));
                at.push((None, x));
                continue;
            };
            let g = self.var(format!("g{n}{prime}"), low, most / b + 1);
            let x = self.var(format!("x{n}{prime}"), low, b);
            let first = g.clone().times(b);
            self.facts.push(g.clone().ge(0));
            self.facts.push(first.clone().lt(size.clone()));
            let length = match random.below(3) {
                0 => Term::lit(b).min(size.clone().sub(first)),
                1 => first.clone().add(b).min(size.clone()).sub(first),
                _ => {
                    let short = first.clone().add(b).gt(size.clone());
                    Term::ite(short, size.clone().sub(first), b)
                }
            };
            self.facts.push(Formula::within(0, x.clone(), length));
            at.push((Some(g), x));
        }
        Axis { size, block, at }
    }

    fn goal(&mut self, random: &mut Random, all: &[Axis]) -> Formula {
        let axis = &all[random.below(all.len())];
        let (index, size) = (axis.index(0), axis.size.clone());
        if axis.at.len() == 2 && random.below(4) > 0 {
            return self.order(random, axis);
        }
        let n = axis.block.unwrap_or(i128::from(random.between(2, 5)));
        match random.below(7) {
            0 => Formula::within(0, index, size),
            1 => match (&axis.at[0], axis.block) {
                ((Some(g), x), Some(n)) => {
                    Formula::and([index.clone().div(n).equals(g.clone()), index.rem(n).equals(x.clone())])
                }
                _ => index.clone().div(n).times(n).add(index.clone().rem(n)).equals(index),
            },
            // How many blocks there are, and what is left over.
            2 => size.clone().add(n - 1).div(n).equals(size.clone().div(n).add(size.rem(n).min(1))),
            3 => size.clone().div(n).times(n).max(0).le(size),
            4 => {
                let empty = size.clone().le(0);
                Formula::not(empty.clone()).iff(size.gt(0)).implies(Formula::or([empty, index.ge(0)]))
            }
            5 => index.div(n).le(size.sub(1).max(0).div(n)),
            _ => size.clone().sub(1).sub(index.clone()).max(0).equals(size.sub(index).sub(1)),
        }
    }

    /// Two copies of a loop's variables: what comes earlier in one order comes earlier in the other.
    fn order(&mut self, random: &mut Random, axis: &Axis) -> Formula {
        let parts = |copy: usize| -> Vec<Term> {
            let (g, x) = &axis.at[copy];
            g.iter().chain([x]).cloned().collect()
        };
        let (one, two) = (parts(0), parts(1));
        self.hints.extend(one.iter().zip(&two).map(|(a, b)| Hint::Trichotomy(a.clone(), b.clone())));
        self.facts.push(before(&one, &two));
        let (first, second) = (axis.index(0), axis.index(1));
        match random.below(3) {
            0 => first.lt(second),
            1 => first.differs(second),
            _ => first.max(second.clone()).equals(second),
        }
    }
}

/// Lexicographically.
fn before(one: &[Term], two: &[Term]) -> Formula {
    Formula::or((0..one.len()).map(|n| {
        let same = (0..n).map(|m| one[m].clone().equals(two[m].clone()));
        Formula::and(same.chain([one[n].clone().lt(two[n].clone())]))
    }))
}

/// The condition that an order of loops keeps conflicting updates apart: a nest of up to three ranges, each whole, in
/// blocks or in blocks of blocks, and any order of its loops. Sizes have no limits.
pub fn order_of_loops(random: &mut Random) -> Problem {
    let dimensions = 1 + random.below(3);
    let mut names: Vec<String> = (0..dimensions).map(|axis| format!("N{axis}")).collect();
    let mut blocks: Vec<Vec<i128>> = Vec::new();
    for axis in 0..dimensions {
        let inner = i128::from(random.between(2, 9));
        let outer = inner * i128::from(random.between(1, 5)) + i128::from(random.between(0, 1));
        blocks.push(random.pick(&[vec![1], vec![outer, 1], vec![outer, inner, 1]]));
        for prime in ["", "'"] {
            names.extend((0..blocks[axis].len()).map(|level| format!("x{axis}{level}{prime}")));
        }
    }
    let mut next = dimensions as u32;
    let mut loops: Vec<(Term, Term)> = Vec::new();
    let (mut hypotheses, mut cells) = (Vec::new(), Vec::new());
    for (axis, factors) in blocks.iter().enumerate() {
        let copies = [(); 2].map(|()| {
            let vars: Vec<Term> = (0..factors.len() as u32).map(|n| Term::Var(Var(next + n))).collect();
            next += factors.len() as u32;
            let mut sum = Term::Add(Vec::new());
            for level in (0..factors.len()).rev() {
                sum = vars[level].clone().times(factors[level]).add(sum);
                hypotheses.push(vars[level].clone().ge(0));
                if level > 0 {
                    hypotheses.push(sum.clone().lt(factors[level - 1]));
                }
            }
            hypotheses.push(sum.clone().lt(Term::Var(Var(axis as u32))));
            (vars, sum)
        });
        let [(one, a), (two, b)] = copies;
        loops.extend(one.into_iter().zip(two));
        cells.push(a.equals(b));
    }
    let mut order = loops.clone();
    for place in (1..order.len()).rev() {
        order.swap(place, random.below(place + 1));
    }
    let (one, two): (Vec<Term>, Vec<Term>) = loops.iter().cloned().unzip();
    let (after, first): (Vec<Term>, Vec<Term>) = order.into_iter().map(|(a, b)| (b, a)).unzip();
    hypotheses.push(before(&one, &two));
    hypotheses.push(before(&after, &first));
    // Some axes are summed over: the cell does not depend on them.
    let kept = if dimensions > 1 { dimensions - random.below(2) } else { 1 };
    let goal = Formula::not(Formula::and(cells.into_iter().take(kept)));
    let hints = loops.into_iter().map(|(a, b)| Hint::Trichotomy(a, b)).collect();
    Problem { names, hypotheses, goal, hints }
}

/// Numbers around the limits of what programs and the arithmetic can hold.
pub fn hostile_number(random: &mut Random) -> i128 {
    let size: i64 = random.pick(&[0, 1, 31, 40, 61, 62, 62, 63, 64, 100, 120, 126]);
    let near = (1i128 << size) + i128::from(random.between(-2, 2));
    match random.below(16) {
        0 => i128::MAX - i128::from(random.between(0, 2)),
        1 => i128::MIN + i128::from(random.between(0, 2)),
        2..=7 => -near,
        _ => near,
    }
}

/// Puts such numbers in the place of some of a formula's.
pub fn enlarge(formula: &mut Formula, random: &mut Random) {
    match formula {
        Formula::True | Formula::False => {}
        Formula::Le(a, b) | Formula::Lt(a, b) | Formula::Eq(a, b) => {
            enlarge_term(a, random);
            enlarge_term(b, random);
        }
        Formula::Not(inner) => enlarge(inner, random),
        Formula::And(parts) | Formula::Or(parts) => parts.iter_mut().for_each(|part| enlarge(part, random)),
    }
}

fn enlarge_term(term: &mut Term, random: &mut Random) {
    match term {
        Term::Lit(value) => {
            if random.once_in(4) {
                *value = hostile_number(random);
            }
        }
        Term::Var(_) => {}
        Term::Add(parts) => parts.iter_mut().for_each(|part| enlarge_term(part, random)),
        Term::Mul(n, inner) | Term::Div(inner, n) | Term::Mod(inner, n) => {
            if random.once_in(6) {
                *n = hostile_number(random);
            }
            enlarge_term(inner, random);
        }
        Term::Min(a, b) | Term::Max(a, b) => {
            enlarge_term(a, random);
            enlarge_term(b, random);
        }
        Term::If(condition, a, b) => {
            enlarge(condition, random);
            enlarge_term(a, random);
            enlarge_term(b, random);
        }
    }
}

/// The kinds of formulas and terms.
pub const KINDS: [&str; 18] = [
    "true",
    "false",
    "<=",
    "<",
    "=",
    "not",
    "and",
    "or",
    "literal",
    "variable",
    "sum",
    "multiple",
    "quotient",
    "remainder",
    "min",
    "max",
    "if",
    "hint",
];

/// Calls `see` with the number in [`KINDS`] of each kind that occurs.
pub fn visit_kinds(problem: &Problem, see: &mut impl FnMut(usize)) {
    problem.hypotheses.iter().chain([&problem.goal]).for_each(|f| formula_kinds(f, see));
    for Hint::Trichotomy(a, b) in &problem.hints {
        see(17);
        term_kinds(a, see);
        term_kinds(b, see);
    }
}

fn formula_kinds(formula: &Formula, see: &mut impl FnMut(usize)) {
    let comparison = |kind: usize, sides: [&Term; 2], see: &mut _| {
        count(kind, see);
        sides.into_iter().for_each(|t| term_kinds(t, see));
    };
    match formula {
        Formula::True => see(0),
        Formula::False => see(1),
        Formula::Le(a, b) => comparison(2, [a, b], see),
        Formula::Lt(a, b) => comparison(3, [a, b], see),
        Formula::Eq(a, b) => comparison(4, [a, b], see),
        Formula::Not(inner) => {
            see(5);
            formula_kinds(inner, see);
        }
        Formula::And(parts) => {
            see(6);
            parts.iter().for_each(|p| formula_kinds(p, see));
        }
        Formula::Or(parts) => {
            see(7);
            parts.iter().for_each(|p| formula_kinds(p, see));
        }
    }
}

fn count(kind: usize, see: &mut impl FnMut(usize)) {
    see(kind);
}

fn term_kinds(term: &Term, see: &mut impl FnMut(usize)) {
    let below = |kind: usize, parts: &[&Term], see: &mut _| {
        count(kind, see);
        parts.iter().for_each(|t| term_kinds(t, see));
    };
    match term {
        Term::Lit(_) => see(8),
        Term::Var(_) => see(9),
        Term::Add(parts) => {
            see(10);
            parts.iter().for_each(|t| term_kinds(t, see));
        }
        Term::Mul(_, t) => below(11, &[t], see),
        Term::Div(t, _) => below(12, &[t], see),
        Term::Mod(t, _) => below(13, &[t], see),
        Term::Min(a, b) => below(14, &[a, b], see),
        Term::Max(a, b) => below(15, &[a, b], see),
        Term::If(c, a, b) => {
            formula_kinds(c, see);
            below(16, &[a, b], see);
        }
    }
}
