//! Are two terms equal over the real numbers?
//!
//! Theorem. Read every element as a real number, or as an infinity that the operations of the implementation name, and
//! every operation without rounding. The two sides agree everywhere if, for each choice of which elements are infinite,
//! they agree: (1) as polynomials with equal coefficients; or (2) as trees of minima, maxima and choices over *linear*
//! terms, where a statement about all reals follows from the one about all integers in which each constant `c` is `c * t`
//! for an unknown `t >= 1`, because a counterexample in fractions becomes one in integers by a common denominator `t`, and
//! one in reals has one in fractions near it.
//!
//! Near miss: `max (a + b) 0 = max a 0 + max b 0` holds where both are above 0, and the prover shows the other case.

use super::polynomial::{Polynomial, Rational};
use super::terms::{Id, Node, Terms};
use super::{Outcome, Sides};
use crate::formula::{Formula, Problem, Term, Var};
use crate::prover::{self, Verdict};
use cachet_core::interpret::scalar;
use cachet_core::ir::{Elem, Lit, Prim};

/// The most choices of infinite elements.
const MAX_CASES: usize = 1 << 10;
/// The largest tree.
const MAX_PARTS: usize = 4096;

/// Which infinities belong to the numbers, because an operation names them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Infinities {
    /// Above all.
    pub above: bool,
    /// Below all.
    pub below: bool,
}

/// A value over the reals.
#[derive(Clone, PartialEq, Debug)]
enum Real {
    /// Above (or below) all.
    Infinite(bool),
    Number(Tree),
    Truth(Condition),
}

/// A number as a piecewise polynomial.
#[derive(Clone, PartialEq, Debug)]
enum Tree {
    Poly(Polynomial),
    Add(Box<Tree>, Box<Tree>),
    Min(Box<Tree>, Box<Tree>),
    Max(Box<Tree>, Box<Tree>),
    If(Box<Condition>, Box<Tree>, Box<Tree>),
}

#[derive(Clone, PartialEq, Debug)]
enum Condition {
    Const(bool),
    /// An element that is a `bool`.
    Var(u32),
    Eq(Tree, Tree),
    Lt(Tree, Tree),
    Le(Tree, Tree),
    Same(Box<Condition>, Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
}

type Found<T> = Result<T, &'static str>;

const TOO_LARGE: &str = "a number in it is too large or too small to be exact";

/// Whether two terms are equal.
pub fn equal(terms: &Terms, left: Id, right: Id, infinities: Infinities) -> Outcome {
    let kinds: Vec<Option<bool>> = std::iter::once(None)
        .chain(infinities.above.then_some(Some(true)))
        .chain(infinities.below.then_some(Some(false)))
        .collect();
    let floats: Vec<usize> = (0..terms.vars.len()).filter(|v| terms.vars[*v].1.is_float()).collect();
    let cases = (0..floats.len()).try_fold(1usize, |n, _| n.checked_mul(kinds.len()).filter(|n| *n <= MAX_CASES));
    let Some(cases) = cases else { return Outcome::Unknown("it has too many cases of infinite values".into()) };
    for case in 0..cases {
        let mut infinite = vec![None; terms.vars.len()];
        let mut rest = case;
        for v in &floats {
            infinite[*v] = kinds[rest % kinds.len()];
            rest /= kinds.len();
        }
        match one_case(terms, left, right, &infinite) {
            Outcome::Holds => {}
            other => return other,
        }
    }
    Outcome::Holds
}

fn one_case(terms: &Terms, left: Id, right: Id, infinite: &[Option<bool>]) -> Outcome {
    let mut values: Vec<Option<Real>> = vec![None; terms.nodes.len()];
    for id in terms.needed(&[left, right]) {
        match real(terms, &terms.nodes[id], &values, infinite) {
            Ok(value) => values[id] = Some(value),
            Err(why) => return Outcome::Unknown(why.into()),
        }
    }
    if left == right {
        return Outcome::Holds;
    }
    let (Some(l), Some(r)) = (values[left].take(), values[right].take()) else {
        return Outcome::Unknown("a side has no value".into());
    };
    let fails = |model: &[i128], sides: Option<Sides>| {
        let shown = terms.vars.iter().enumerate().map(|(v, (name, elem))| {
            let value = match (infinite[v], elem) {
                (Some(true), _) => "inf".to_string(),
                (Some(false), _) => "-inf".to_string(),
                (None, Elem::Bool) => (model.get(v) == Some(&1)).to_string(),
                (None, _) => model.get(v).copied().unwrap_or(0).to_string(),
            };
            (name.clone(), value)
        });
        Outcome::Fails(shown.collect(), sides)
    };
    match (l, r) {
        (Real::Infinite(a), Real::Infinite(b)) if a == b => Outcome::Holds,
        (Real::Infinite(_), Real::Infinite(_) | Real::Number(_)) | (Real::Number(_), Real::Infinite(_)) => {
            fails(&[], None)
        }
        (Real::Number(Tree::Poly(a)), Real::Number(Tree::Poly(b))) => {
            if a == b {
                return Outcome::Holds;
            }
            match differing(&a, &b, terms.vars.len()) {
                Some((model, sides)) => fails(&model, Some(sides)),
                None => Outcome::Fails(vec![], None),
            }
        }
        (Real::Number(a), Real::Number(b)) => decide(terms, &Condition::Eq(a, b), &fails),
        (Real::Truth(a), Real::Truth(b)) => decide(terms, &Condition::Same(Box::new(a), Box::new(b)), &fails),
        (Real::Truth(_), _) | (_, Real::Truth(_)) => Outcome::Unknown("its sides are of different types".into()),
    }
}

/// Small numbers at which two polynomials differ.
fn differing(a: &Polynomial, b: &Polynomial, vars: usize) -> Option<(Vec<i128>, Sides)> {
    const TRIED: [i128; 5] = [0, 1, 2, -1, 3];
    let all = TRIED.len().checked_pow(u32::try_from(vars).ok()?).filter(|n| *n <= 100_000)?;
    (0..all).find_map(|n| {
        let mut rest = n;
        let model: Vec<i128> = (0..vars)
            .map(|_| {
                let value = TRIED[rest % TRIED.len()];
                rest /= TRIED.len();
                value
            })
            .collect();
        let (x, y) = (a.at(&model)?, b.at(&model)?);
        (x != y).then(|| (model, (x.to_string(), y.to_string())))
    })
}

fn real(terms: &Terms, node: &Node, values: &[Option<Real>], infinite: &[Option<bool>]) -> Found<Real> {
    match node {
        Node::Var(v) => Ok(match infinite[*v as usize] {
            Some(above) => Real::Infinite(above),
            None if terms.vars[*v as usize].1 == Elem::Bool => Real::Truth(Condition::Var(*v)),
            None => Real::Number(Tree::Poly(Polynomial::var(*v))),
        }),
        Node::Lit(lit) => literal(*lit),
        Node::Op(prim, elem, args) => {
            let mut operands = Vec::new();
            for a in args {
                let value = values[*a].clone().ok_or("an operand has no value")?;
                operands.push(value);
            }
            operation(*prim, *elem, operands)
        }
    }
}

fn literal(lit: Lit) -> Found<Real> {
    if lit.elem == Elem::Bool {
        return Ok(Real::Truth(Condition::Const(lit.bits != 0)));
    }
    let number = match scalar::to_f64(lit.elem, lit.bits) {
        Some(x) if x.is_nan() => return Err("a NaN is no number"),
        Some(x) if x.is_infinite() => return Ok(Real::Infinite(x > 0.0)),
        Some(x) => Rational::of(x),
        None => Some(Rational::whole(scalar::to_int(lit.elem, lit.bits))),
    };
    number.map(|r| Real::Number(Tree::Poly(Polynomial::constant(r)))).ok_or(TOO_LARGE)
}

fn operation(prim: Prim, elem: Elem, args: Vec<Real>) -> Found<Real> {
    let mut take = args.into_iter();
    let (a, b, c) = (take.next(), take.next(), take.next());
    let missing = "an operand is missing";
    match (prim, a, b, c) {
        (Prim::Add, Some(a), Some(b), _) => add(a, b),
        (Prim::Sub, Some(a), Some(b), _) => add(a, negated(b)?),
        (Prim::Mul, Some(a), Some(b), _) => mul(a, b),
        (Prim::Fma, Some(a), Some(b), Some(c)) => add(mul(a, b)?, c),
        (Prim::Neg, Some(a), ..) => negated(a),
        (Prim::Abs, Some(a), ..) => larger(a.clone(), negated(a)?, true),
        (Prim::Max, Some(a), Some(b), _) => larger(a, b, true),
        (Prim::Min, Some(a), Some(b), _) => larger(a, b, false),
        (Prim::Div, Some(a), Some(Real::Number(Tree::Poly(p))), _) if elem.is_float() => {
            let by = p.as_constant().ok_or("a value in it is divided by another")?;
            let inverse = Rational::new(by.den, by.num).ok_or("a value in it is divided by 0")?;
            mul(a, Real::Number(Tree::Poly(Polynomial::constant(inverse))))
        }
        (Prim::Eq, Some(Real::Truth(a)), Some(Real::Truth(b)), _) => {
            Ok(Real::Truth(Condition::Same(Box::new(a), Box::new(b))))
        }
        (Prim::Eq | Prim::Lt | Prim::Le, Some(a), Some(b), _) => compare(prim, a, b),
        (Prim::And, Some(Real::Truth(a)), Some(Real::Truth(b)), _) => {
            Ok(Real::Truth(Condition::And(Box::new(a), Box::new(b))))
        }
        (Prim::Or, Some(Real::Truth(a)), Some(Real::Truth(b)), _) => {
            Ok(Real::Truth(Condition::Or(Box::new(a), Box::new(b))))
        }
        (Prim::Not, Some(Real::Truth(a)), ..) => Ok(Real::Truth(Condition::Not(Box::new(a)))),
        (Prim::Select, Some(c), Some(a), Some(b)) => select(c, a, b),
        (Prim::Cast(to), Some(a), ..) if to.is_float() && elem != Elem::Bool => Ok(a),
        (Prim::Div, ..) => Err("a value in it is divided by another"),
        (Prim::Rem, ..) => Err("it has a remainder"),
        (Prim::WrappingAdd | Prim::WrappingSub | Prim::WrappingMul, ..) => Err("it has arithmetic that wraps around"),
        (Prim::Sqrt, ..) => Err("it has a square root"),
        (Prim::Cast(_) | Prim::WrappingCast(_) | Prim::SaturatingCast(_) | Prim::FromBits(_) | Prim::ToBits, ..) => {
            Err("it has a conversion that is not exact over the reals")
        }
        (Prim::And | Prim::Or | Prim::Not, ..) => Err("a condition in it is none"),
        (
            Prim::Add
            | Prim::Sub
            | Prim::Mul
            | Prim::Fma
            | Prim::Neg
            | Prim::Abs
            | Prim::Max
            | Prim::Min
            | Prim::Eq
            | Prim::Lt
            | Prim::Le
            | Prim::Select,
            ..,
        ) => Err(missing),
    }
}

fn truth(value: Real) -> Found<Condition> {
    match value {
        Real::Truth(c) => Ok(c),
        Real::Number(_) | Real::Infinite(_) => Err("a condition in it is none"),
    }
}

fn negated(a: Real) -> Found<Real> {
    match a {
        Real::Infinite(above) => Ok(Real::Infinite(!above)),
        Real::Number(t) => scaled(&t, Rational::whole(-1)).map(Real::Number),
        Real::Truth(_) => Err("a condition in it is computed with"),
    }
}

fn add(a: Real, b: Real) -> Found<Real> {
    match (a, b) {
        (Real::Infinite(a), Real::Infinite(b)) if a != b => Err("infinities of both signs are added in it"),
        (Real::Infinite(a), Real::Infinite(_) | Real::Number(_)) | (Real::Number(_), Real::Infinite(a)) => {
            Ok(Real::Infinite(a))
        }
        (Real::Number(Tree::Poly(a)), Real::Number(Tree::Poly(b))) => {
            a.add(&b).map(|p| Real::Number(Tree::Poly(p))).ok_or(TOO_LARGE)
        }
        (Real::Number(a), Real::Number(b)) => bounded(Tree::Add(Box::new(a), Box::new(b))),
        (Real::Truth(_), _) | (_, Real::Truth(_)) => Err("a condition in it is computed with"),
    }
}

fn mul(a: Real, b: Real) -> Found<Real> {
    match (a, b) {
        (Real::Number(Tree::Poly(a)), Real::Number(Tree::Poly(b))) => {
            a.mul(&b).map(|p| Real::Number(Tree::Poly(p))).ok_or(TOO_LARGE)
        }
        (Real::Number(Tree::Poly(p)), other) | (other, Real::Number(Tree::Poly(p))) => match (p.as_constant(), other) {
            (Some(by), Real::Number(t)) => scaled(&t, by).map(Real::Number),
            (Some(by), Real::Infinite(above)) if by.num != 0 => Ok(Real::Infinite(above == (by.num > 0))),
            (_, Real::Infinite(_)) => Err("an infinity is multiplied in it"),
            (None, Real::Number(_)) => Err("a minimum, maximum or choice in it is multiplied"),
            (_, Real::Truth(_)) => Err("a condition in it is computed with"),
        },
        (Real::Infinite(_), _) | (_, Real::Infinite(_)) => Err("an infinity is multiplied in it"),
        (Real::Truth(_), _) | (_, Real::Truth(_)) => Err("a condition in it is computed with"),
        (Real::Number(_), Real::Number(_)) => Err("a minimum, maximum or choice in it is multiplied"),
    }
}

/// The larger of two, or the smaller.
fn larger(a: Real, b: Real, max: bool) -> Found<Real> {
    match (a, b) {
        // The infinity of the wanted end wins, the other never does.
        (Real::Infinite(x), other) | (other, Real::Infinite(x)) => Ok(if x == max { Real::Infinite(x) } else { other }),
        (Real::Number(a), Real::Number(b)) => {
            let make = if max { Tree::Max } else { Tree::Min };
            bounded(make(Box::new(a), Box::new(b)))
        }
        (Real::Truth(_), _) | (_, Real::Truth(_)) => Err("a condition in it is computed with"),
    }
}

fn compare(prim: Prim, a: Real, b: Real) -> Found<Real> {
    let known = |equal: bool, less: bool| {
        let holds = match prim {
            Prim::Eq => equal,
            Prim::Lt => less,
            _ => less || equal,
        };
        Ok(Real::Truth(Condition::Const(holds)))
    };
    match (a, b) {
        (Real::Infinite(a), Real::Infinite(b)) => known(a == b, !a && b),
        (Real::Infinite(above), Real::Number(_)) => known(false, !above),
        (Real::Number(_), Real::Infinite(above)) => known(false, above),
        (Real::Number(a), Real::Number(b)) => Ok(Real::Truth(match prim {
            Prim::Eq => Condition::Eq(a, b),
            Prim::Lt => Condition::Lt(a, b),
            _ => Condition::Le(a, b),
        })),
        (Real::Truth(_), _) | (_, Real::Truth(_)) => Err("a condition in it is compared with a number"),
    }
}

fn select(c: Real, a: Real, b: Real) -> Found<Real> {
    match (truth(c)?, a, b) {
        (Condition::Const(true), a, _) => Ok(a),
        (Condition::Const(false), _, b) => Ok(b),
        (_, Real::Infinite(a), Real::Infinite(b)) if a == b => Ok(Real::Infinite(a)),
        (c, Real::Number(a), Real::Number(b)) => bounded(Tree::If(Box::new(c), Box::new(a), Box::new(b))),
        (c, Real::Truth(a), Real::Truth(b)) => {
            let first = Condition::And(Box::new(c.clone()), Box::new(a));
            let second = Condition::And(Box::new(Condition::Not(Box::new(c))), Box::new(b));
            Ok(Real::Truth(Condition::Or(Box::new(first), Box::new(second))))
        }
        (_, Real::Infinite(_) | Real::Number(_) | Real::Truth(_), _) => {
            Err("a choice in it is between a number and an infinity")
        }
    }
}

fn scaled(t: &Tree, by: Rational) -> Found<Tree> {
    let two = |a: &Tree, b: &Tree| Ok::<_, &'static str>((Box::new(scaled(a, by)?), Box::new(scaled(b, by)?)));
    Ok(match t {
        Tree::Poly(p) => Tree::Poly(p.scaled(by).ok_or(TOO_LARGE)?),
        Tree::Add(a, b) => two(a, b).map(|(a, b)| Tree::Add(a, b))?,
        // A factor below 0 turns the order around.
        Tree::Min(a, b) if by.num < 0 => two(a, b).map(|(a, b)| Tree::Max(a, b))?,
        Tree::Max(a, b) if by.num < 0 => two(a, b).map(|(a, b)| Tree::Min(a, b))?,
        Tree::Min(a, b) => two(a, b).map(|(a, b)| Tree::Min(a, b))?,
        Tree::Max(a, b) => two(a, b).map(|(a, b)| Tree::Max(a, b))?,
        Tree::If(c, a, b) => two(a, b).map(|(a, b)| Tree::If(c.clone(), a, b))?,
    })
}

fn bounded(t: Tree) -> Found<Real> {
    if parts(&t) > MAX_PARTS { Err("it is too large") } else { Ok(Real::Number(t)) }
}

fn parts(t: &Tree) -> usize {
    match t {
        Tree::Poly(_) => 1,
        Tree::Add(a, b) | Tree::Min(a, b) | Tree::Max(a, b) => 1 + parts(a) + parts(b),
        Tree::If(c, a, b) => 1 + condition_parts(c) + parts(a) + parts(b),
    }
}

fn condition_parts(c: &Condition) -> usize {
    match c {
        Condition::Const(_) | Condition::Var(_) => 1,
        Condition::Eq(a, b) | Condition::Lt(a, b) | Condition::Le(a, b) => 1 + parts(a) + parts(b),
        Condition::Same(a, b) | Condition::And(a, b) | Condition::Or(a, b) => {
            1 + condition_parts(a) + condition_parts(b)
        }
        Condition::Not(a) => 1 + condition_parts(a),
    }
}

/// Gives a condition to the prover.
fn decide(terms: &Terms, goal: &Condition, fails: &dyn Fn(&[i128], Option<Sides>) -> Outcome) -> Outcome {
    let mut common = 1;
    if let Err(why) = denominators(goal, &mut common) {
        return Outcome::Unknown(why.into());
    }
    let scale = Scale { common, one: Var(terms.vars.len() as u32) };
    let goal = match scale.condition(goal) {
        Ok(goal) => goal,
        Err(why) => return Outcome::Unknown(why.into()),
    };
    let mut names: Vec<String> = terms.vars.iter().map(|v| v.0.clone()).collect();
    names.push("one".into());
    let mut hypotheses = vec![Term::Var(scale.one).ge(1)];
    for (v, (_, elem)) in terms.vars.iter().enumerate() {
        let x = Term::Var(Var(v as u32));
        if *elem == Elem::Bool {
            hypotheses.push(Formula::within(0, x, 2));
        } else if let Some((lo, hi)) = scalar::range(*elem) {
            hypotheses.push(Term::Var(scale.one).times(lo).le(x.clone()));
            hypotheses.push(x.le(Term::Var(scale.one).times(hi)));
        }
    }
    let mut problem = Problem { names, hypotheses, goal, hints: vec![] };
    match terms.prove(&problem) {
        Verdict::Proved(_) => Outcome::Holds,
        Verdict::Undecided { reason } => Outcome::Unknown(format!("the prover gave up: {reason}")),
        Verdict::Refuted(_) => {
            // With `one` at 1 the model's numbers are the elements' own.
            problem.hypotheses.push(Term::Var(scale.one).equals(1));
            match terms.prove(&problem) {
                Verdict::Refuted(model) => {
                    let order: Vec<Var> = (0..terms.vars.len() as u32).map(Var).collect();
                    fails(&prover::minimise(&problem, &model, &order), None)
                }
                Verdict::Proved(_) | Verdict::Undecided { .. } => {
                    Outcome::Unknown("a counterexample was found, but none in whole numbers".into())
                }
            }
        }
    }
}

fn denominators(c: &Condition, common: &mut i128) -> Found<()> {
    match c {
        Condition::Const(_) | Condition::Var(_) => Ok(()),
        Condition::Eq(a, b) | Condition::Lt(a, b) | Condition::Le(a, b) => {
            tree_denominators(a, common)?;
            tree_denominators(b, common)
        }
        Condition::Same(a, b) | Condition::And(a, b) | Condition::Or(a, b) => {
            denominators(a, common)?;
            denominators(b, common)
        }
        Condition::Not(a) => denominators(a, common),
    }
}

fn tree_denominators(t: &Tree, common: &mut i128) -> Found<()> {
    match t {
        Tree::Poly(p) => {
            for c in p.terms.values() {
                // `common / c.den` in lowest terms has the missing factor below the line.
                let missing = Rational::new(*common, c.den).ok_or(TOO_LARGE)?.den;
                *common = common.checked_mul(missing).ok_or(TOO_LARGE)?;
            }
            Ok(())
        }
        Tree::Add(a, b) | Tree::Min(a, b) | Tree::Max(a, b) => {
            tree_denominators(a, common)?;
            tree_denominators(b, common)
        }
        Tree::If(c, a, b) => {
            denominators(c, common)?;
            tree_denominators(a, common)?;
            tree_denominators(b, common)
        }
    }
}

/// Everything `common` times as large, so that coefficients are whole.
struct Scale {
    common: i128,
    /// What stands for 1.
    one: Var,
}

impl Scale {
    fn tree(&self, t: &Tree) -> Found<Term> {
        Ok(match t {
            Tree::Poly(p) => {
                let mut sum = Term::Add(vec![]);
                for (m, c) in &p.terms {
                    let factor = c.mul(Rational::whole(self.common)).filter(|f| f.den == 1).ok_or(TOO_LARGE)?.num;
                    let var = match m.as_slice() {
                        [] => self.one,
                        [(v, 1)] => Var(*v),
                        _ => return Err("a product of values stands in a minimum, a maximum or a choice"),
                    };
                    sum = sum.add(Term::Var(var).times(factor));
                }
                sum
            }
            Tree::Add(a, b) => self.tree(a)?.add(self.tree(b)?),
            Tree::Min(a, b) => self.tree(a)?.min(self.tree(b)?),
            Tree::Max(a, b) => self.tree(a)?.max(self.tree(b)?),
            Tree::If(c, a, b) => Term::ite(self.condition(c)?, self.tree(a)?, self.tree(b)?),
        })
    }

    fn condition(&self, c: &Condition) -> Found<Formula> {
        Ok(match c {
            Condition::Const(true) => Formula::True,
            Condition::Const(false) => Formula::False,
            Condition::Var(v) => Term::Var(Var(*v)).equals(1),
            Condition::Eq(a, b) => self.tree(a)?.equals(self.tree(b)?),
            Condition::Lt(a, b) => self.tree(a)?.lt(self.tree(b)?),
            Condition::Le(a, b) => self.tree(a)?.le(self.tree(b)?),
            Condition::Same(a, b) => self.condition(a)?.iff(self.condition(b)?),
            Condition::And(a, b) => Formula::and([self.condition(a)?, self.condition(b)?]),
            Condition::Or(a, b) => Formula::or([self.condition(a)?, self.condition(b)?]),
            Condition::Not(a) => Formula::not(self.condition(a)?),
        })
    }
}
