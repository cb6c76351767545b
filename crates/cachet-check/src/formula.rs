//! What can a condition say? Linear arithmetic over the mathematical integers, without quantifiers: sums,
//! multiplication, floor division and remainder by literals, `min`, `max`, `if`, comparisons, and, or, not.
//!
//! A [`Problem`] is *valid* when its hypotheses imply its goal for all integers. Evaluation ([`Problem::refuted_by`])
//! is the definition of that: a counterexample is shown only if it evaluates as one.
//!
//! Terms are trees of any shape, also very deep ones made from hostile input. Building, dropping, measuring and
//! printing never recurse; evaluation gives up beyond [`MAX_DEPTH`], and the prover and the certificate checker
//! refuse such problems.

mod text;

use serde::{Deserialize, Serialize};

/// The deepest nesting of terms and formulas that is evaluated, proved or checked.
pub const MAX_DEPTH: usize = 400;

/// The largest number of term and formula nodes of a problem that is proved or checked.
pub const MAX_SIZE: usize = 200_000;

/// A variable: an index into [`Problem::names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Var(pub u32);

/// An integer-valued term.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Term {
    /// A literal.
    Lit(i128),
    /// A variable.
    Var(Var),
    /// The sum of all parts; 0 if there are none.
    Add(Vec<Term>),
    /// A literal multiple.
    Mul(i128, Box<Term>),
    /// Floor division by a literal > 0.
    Div(Box<Term>, i128),
    /// The remainder of floor division by a literal n > 0: `0 <= x mod n < n`.
    Mod(Box<Term>, i128),
    /// The smaller of two.
    Min(Box<Term>, Box<Term>),
    /// The larger of two.
    Max(Box<Term>, Box<Term>),
    /// `if condition then first else second`.
    If(Box<Formula>, Box<Term>, Box<Term>),
}

/// A statement about integers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Formula {
    /// Always holds.
    True,
    /// Never holds.
    False,
    /// `a <= b`.
    Le(Term, Term),
    /// `a < b`.
    Lt(Term, Term),
    /// `a = b`.
    Eq(Term, Term),
    /// Negation.
    Not(Box<Formula>),
    /// All hold; true if there are none.
    And(Vec<Formula>),
    /// At least one holds; false if there are none.
    Or(Vec<Formula>),
}

/// A suggestion in which order to split cases. It never changes what a problem means.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Hint {
    /// Consider `a < b`, `a = b` and `a > b` apart.
    Trichotomy(Term, Term),
}

/// A condition: valid if, for all integers, the hypotheses together imply the goal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Problem {
    /// Display names of the variables, by index. They need not be unique.
    pub names: Vec<String>,
    /// What may be assumed.
    pub hypotheses: Vec<Formula>,
    /// What has to follow.
    pub goal: Formula,
    /// Split order suggestions, the outermost first.
    pub hints: Vec<Hint>,
}

/// A condition that others own the parts of, with the number of its variables.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// How many variables there are.
    pub variables: usize,
    /// What may be assumed.
    pub hypotheses: Vec<&'a Formula>,
    /// What has to follow.
    pub goal: &'a Formula,
    /// Split order suggestions, the outermost first.
    pub hints: &'a [Hint],
}

impl From<i128> for Term {
    fn from(value: i128) -> Term {
        Term::Lit(value)
    }
}

impl From<Var> for Term {
    fn from(var: Var) -> Term {
        Term::Var(var)
    }
}

#[allow(
    clippy::should_implement_trait,
    reason = "constructors of syntax; operators would hide that literals are needed"
)]
impl Term {
    /// The literal `value`.
    pub fn lit(value: i128) -> Term {
        Term::Lit(value)
    }

    /// `self + other`; sums are kept flat.
    pub fn add(mut self, other: impl Into<Term>) -> Term {
        let mut other = other.into();
        let mut parts = match &mut self {
            Term::Add(parts) => std::mem::take(parts),
            _ => vec![self],
        };
        match &mut other {
            Term::Add(more) => parts.append(more),
            _ => parts.push(other),
        }
        Term::Add(parts)
    }

    /// `self - other`.
    pub fn sub(self, other: impl Into<Term>) -> Term {
        self.add(other.into().times(-1))
    }

    /// `factor * self`.
    pub fn times(self, factor: i128) -> Term {
        Term::Mul(factor, Box::new(self))
    }

    /// Floor division by `n`, which must be > 0 for the term to have a value.
    pub fn div(self, n: i128) -> Term {
        Term::Div(Box::new(self), n)
    }

    /// Remainder of floor division by `n`, which must be > 0 for the term to have a value.
    pub fn rem(self, n: i128) -> Term {
        Term::Mod(Box::new(self), n)
    }

    /// The smaller of both.
    pub fn min(self, other: impl Into<Term>) -> Term {
        Term::Min(Box::new(self), Box::new(other.into()))
    }

    /// The larger of both.
    pub fn max(self, other: impl Into<Term>) -> Term {
        Term::Max(Box::new(self), Box::new(other.into()))
    }

    /// `if condition then yes else no`.
    pub fn ite(condition: Formula, yes: impl Into<Term>, no: impl Into<Term>) -> Term {
        Term::If(Box::new(condition), Box::new(yes.into()), Box::new(no.into()))
    }

    /// `self <= other`.
    pub fn le(self, other: impl Into<Term>) -> Formula {
        Formula::Le(self, other.into())
    }

    /// `self < other`.
    pub fn lt(self, other: impl Into<Term>) -> Formula {
        Formula::Lt(self, other.into())
    }

    /// `self >= other`.
    pub fn ge(self, other: impl Into<Term>) -> Formula {
        Formula::Le(other.into(), self)
    }

    /// `self > other`.
    pub fn gt(self, other: impl Into<Term>) -> Formula {
        Formula::Lt(other.into(), self)
    }

    /// `self = other`.
    pub fn equals(self, other: impl Into<Term>) -> Formula {
        Formula::Eq(self, other.into())
    }

    /// `self != other`.
    pub fn differs(self, other: impl Into<Term>) -> Formula {
        Formula::not(Formula::Eq(self, other.into()))
    }

    /// The value when variable `i` has the value `values[i]`. None on overflow, a missing value, a divisor <= 0, or
    /// nesting beyond [`MAX_DEPTH`].
    pub fn eval(&self, values: &[i128]) -> Option<i128> {
        eval_term(self, values, MAX_DEPTH)
    }

    /// The term with variable `i` replaced by `replacements[i]` where there is one. None beyond [`MAX_DEPTH`].
    pub fn substitute(&self, replacements: &[Option<Term>]) -> Option<Term> {
        substitute_term(self, replacements, MAX_DEPTH)
    }

    /// Calls `visit` for every variable occurrence, left to right.
    pub fn visit_variables(&self, visit: &mut impl FnMut(Var)) {
        walk(Node::Term(self), &mut |node, _| {
            if let Node::Term(Term::Var(var)) = node {
                visit(*var);
            }
            true
        });
    }
}

impl Formula {
    /// `a != b`.
    pub fn ne(a: impl Into<Term>, b: impl Into<Term>) -> Formula {
        Formula::not(Formula::Eq(a.into(), b.into()))
    }

    /// Negation; a double negation disappears.
    #[allow(clippy::should_implement_trait, reason = "a constructor, used as Formula::not(f)")]
    pub fn not(mut inner: Formula) -> Formula {
        match &mut inner {
            Formula::True => Formula::False,
            Formula::False => Formula::True,
            Formula::Not(within) => std::mem::replace(&mut **within, Formula::True),
            Formula::Le(..) | Formula::Lt(..) | Formula::Eq(..) | Formula::And(_) | Formula::Or(_) => {
                Formula::Not(Box::new(inner))
            }
        }
    }

    /// All of `parts`; nested conjunctions are flattened.
    pub fn and(parts: impl IntoIterator<Item = Formula>) -> Formula {
        let mut flat = Vec::new();
        for part in parts {
            flat.append(&mut part.conjuncts());
        }
        match flat.len() {
            0 => Formula::True,
            1 => flat.remove(0),
            _ => Formula::And(flat),
        }
    }

    /// One of `parts`; nested disjunctions are flattened.
    pub fn or(parts: impl IntoIterator<Item = Formula>) -> Formula {
        let mut flat = Vec::new();
        for mut part in parts {
            match &mut part {
                Formula::False => {}
                Formula::Or(inner) => flat.append(inner),
                _ => flat.push(part),
            }
        }
        match flat.len() {
            0 => Formula::False,
            1 => flat.remove(0),
            _ => Formula::Or(flat),
        }
    }

    /// `self => other`.
    pub fn implies(self, other: Formula) -> Formula {
        Formula::or([Formula::not(self), other])
    }

    /// `self <=> other`.
    pub fn iff(self, other: Formula) -> Formula {
        Formula::or([
            Formula::and([self.clone(), other.clone()]),
            Formula::and([Formula::not(self), Formula::not(other)]),
        ])
    }

    /// The conjuncts of a conjunction, one level deep; any other formula alone.
    pub fn conjuncts(mut self) -> Vec<Formula> {
        match &mut self {
            Formula::True => Vec::new(),
            Formula::And(parts) => std::mem::take(parts),
            _ => vec![self],
        }
    }

    /// `lo <= x < hi`.
    pub fn within(lo: impl Into<Term>, x: Term, hi: impl Into<Term>) -> Formula {
        Formula::And(vec![Formula::Le(lo.into(), x.clone()), Formula::Lt(x, hi.into())])
    }

    /// Whether it holds when variable `i` has the value `values[i]`. None as for [`Term::eval`]; every part is
    /// evaluated, so that a formula without a value is never hidden by its neighbour.
    pub fn eval(&self, values: &[i128]) -> Option<bool> {
        eval_formula(self, values, MAX_DEPTH)
    }

    /// The formula with variable `i` replaced by `replacements[i]` where there is one. None beyond [`MAX_DEPTH`].
    pub fn substitute(&self, replacements: &[Option<Term>]) -> Option<Formula> {
        substitute_formula(self, replacements, MAX_DEPTH)
    }

    /// Calls `visit` for every variable occurrence, left to right.
    pub fn visit_variables(&self, visit: &mut impl FnMut(Var)) {
        walk(Node::Formula(self), &mut |node, _| {
            if let Node::Term(Term::Var(var)) = node {
                visit(*var);
            }
            true
        });
    }
}

impl Problem {
    /// The same, of which this one owns the parts.
    pub fn question(&self) -> Question<'_> {
        let hypotheses = self.hypotheses.iter().collect();
        Question { variables: self.names.len(), hypotheses, goal: &self.goal, hints: &self.hints }
    }

    /// Whether `values` make every hypothesis true and the goal false. None if something has no value there.
    pub fn refuted_by(&self, values: &[i128]) -> Option<bool> {
        self.question().refuted_by(values)
    }

    /// Whether it holds at `values`: some hypothesis is false or the goal is true. None if something has no value.
    pub fn eval(&self, values: &[i128]) -> Option<bool> {
        self.refuted_by(values).map(|refuted| !refuted)
    }

    /// Why the problem is too deep, too large or malformed to be worked on.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn measure(&self) -> Result<(), String> {
        self.question().measure()
    }
}

impl Question<'_> {
    /// Whether `values` make every hypothesis true and the goal false. None if something has no value there.
    pub fn refuted_by(&self, values: &[i128]) -> Option<bool> {
        let mut refuted = !self.goal.eval(values)?;
        for hypothesis in &self.hypotheses {
            refuted &= hypothesis.eval(values)?;
        }
        Some(refuted)
    }

    /// Why the problem is too deep, too large or malformed to be worked on.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn measure(&self) -> Result<(), String> {
        let mut size = 0;
        let mut fault = None;
        let roots = self.hypotheses.iter().copied().chain([self.goal]).map(Node::Formula);
        let hints = self.hints.iter().flat_map(|Hint::Trichotomy(a, b)| [Node::Term(a), Node::Term(b)]);
        let mut stack = Vec::new();
        for root in roots.chain(hints) {
            walk_with(&mut stack, root, &mut |node, depth| {
                size += 1;
                if depth > MAX_DEPTH {
                    fault = Some(format!("the condition is nested deeper than {MAX_DEPTH}"));
                } else if size > MAX_SIZE {
                    fault = Some(format!("the condition has more than {MAX_SIZE} parts"));
                } else if let Node::Term(Term::Div(_, n) | Term::Mod(_, n)) = node
                    && *n <= 0
                {
                    fault = Some(format!("a division by {n}"));
                } else if let Node::Term(Term::Var(Var(index))) = node
                    && *index as usize >= self.variables
                {
                    fault = Some(format!("the variable {index} has no name"));
                }
                fault.is_none()
            });
            if fault.is_some() {
                break;
            }
        }
        fault.map_or(Ok(()), Err)
    }
}

/// A node of a term or formula tree.
#[derive(Clone, Copy)]
enum Node<'a> {
    Term(&'a Term),
    Formula(&'a Formula),
}

/// Visits the nodes below `root` in preorder with their depths, without recursion, until `visit` returns false.
fn walk<'a>(root: Node<'a>, visit: &mut impl FnMut(Node<'a>, usize) -> bool) {
    walk_with(&mut Vec::new(), root, visit);
}

/// The same, with a list to work with.
fn walk_with<'a>(stack: &mut Vec<(Node<'a>, usize)>, root: Node<'a>, visit: &mut impl FnMut(Node<'a>, usize) -> bool) {
    stack.clear();
    stack.push((root, 0));
    while let Some((node, depth)) = stack.pop() {
        if !visit(node, depth) {
            return;
        }
        let first = stack.len();
        let mut below = |child| stack.push((child, depth + 1));
        match node {
            Node::Term(term) => match term {
                Term::Lit(_) | Term::Var(_) => {}
                Term::Add(parts) => parts.iter().for_each(|part| below(Node::Term(part))),
                Term::Mul(_, inner) | Term::Div(inner, _) | Term::Mod(inner, _) => below(Node::Term(inner)),
                Term::Min(a, b) | Term::Max(a, b) => [a, b].into_iter().for_each(|part| below(Node::Term(part))),
                Term::If(condition, a, b) => {
                    below(Node::Formula(condition));
                    below(Node::Term(a));
                    below(Node::Term(b));
                }
            },
            Node::Formula(formula) => match formula {
                Formula::True | Formula::False => {}
                Formula::Le(a, b) | Formula::Lt(a, b) | Formula::Eq(a, b) => {
                    below(Node::Term(a));
                    below(Node::Term(b));
                }
                Formula::Not(inner) => below(Node::Formula(inner)),
                Formula::And(parts) | Formula::Or(parts) => parts.iter().for_each(|part| below(Node::Formula(part))),
            },
        }
        stack[first..].reverse();
    }
}

fn eval_term(term: &Term, values: &[i128], fuel: usize) -> Option<i128> {
    let fuel = fuel.checked_sub(1)?;
    match term {
        Term::Lit(value) => Some(*value),
        Term::Var(Var(index)) => values.get(*index as usize).copied(),
        Term::Add(parts) => parts.iter().try_fold(0i128, |sum, part| sum.checked_add(eval_term(part, values, fuel)?)),
        Term::Mul(factor, inner) => factor.checked_mul(eval_term(inner, values, fuel)?),
        Term::Div(inner, n) => floor_divide(eval_term(inner, values, fuel)?, *n).map(|(quotient, _)| quotient),
        Term::Mod(inner, n) => floor_divide(eval_term(inner, values, fuel)?, *n).map(|(_, remainder)| remainder),
        Term::Min(a, b) => Some(eval_term(a, values, fuel)?.min(eval_term(b, values, fuel)?)),
        Term::Max(a, b) => Some(eval_term(a, values, fuel)?.max(eval_term(b, values, fuel)?)),
        Term::If(condition, a, b) => {
            let (a, b) = (eval_term(a, values, fuel)?, eval_term(b, values, fuel)?);
            Some(if eval_formula(condition, values, fuel)? { a } else { b })
        }
    }
}

fn eval_formula(formula: &Formula, values: &[i128], fuel: usize) -> Option<bool> {
    let fuel = fuel.checked_sub(1)?;
    let term = |t| eval_term(t, values, fuel);
    match formula {
        Formula::True => Some(true),
        Formula::False => Some(false),
        Formula::Le(a, b) => Some(term(a)? <= term(b)?),
        Formula::Lt(a, b) => Some(term(a)? < term(b)?),
        Formula::Eq(a, b) => Some(term(a)? == term(b)?),
        Formula::Not(inner) => Some(!eval_formula(inner, values, fuel)?),
        Formula::And(parts) => parts.iter().try_fold(true, |all, part| Some(all & eval_formula(part, values, fuel)?)),
        Formula::Or(parts) => parts.iter().try_fold(false, |any, part| Some(any | eval_formula(part, values, fuel)?)),
    }
}

/// Quotient and remainder; for divisors > 0 Euclidean division is floor division.
fn floor_divide(value: i128, n: i128) -> Option<(i128, i128)> {
    (n > 0).then(|| (value.div_euclid(n), value.rem_euclid(n)))
}

fn substitute_term(term: &Term, with: &[Option<Term>], fuel: usize) -> Option<Term> {
    let fuel = fuel.checked_sub(1)?;
    let sub = |inner: &Term| substitute_term(inner, with, fuel).map(Box::new);
    Some(match term {
        Term::Lit(value) => Term::Lit(*value),
        Term::Var(var) => with.get(var.0 as usize).cloned().flatten().unwrap_or(Term::Var(*var)),
        Term::Add(parts) => {
            Term::Add(parts.iter().map(|part| substitute_term(part, with, fuel)).collect::<Option<_>>()?)
        }
        Term::Mul(factor, inner) => Term::Mul(*factor, sub(inner)?),
        Term::Div(inner, n) => Term::Div(sub(inner)?, *n),
        Term::Mod(inner, n) => Term::Mod(sub(inner)?, *n),
        Term::Min(a, b) => Term::Min(sub(a)?, sub(b)?),
        Term::Max(a, b) => Term::Max(sub(a)?, sub(b)?),
        Term::If(condition, a, b) => Term::If(Box::new(substitute_formula(condition, with, fuel)?), sub(a)?, sub(b)?),
    })
}

fn substitute_formula(formula: &Formula, with: &[Option<Term>], fuel: usize) -> Option<Formula> {
    let fuel = fuel.checked_sub(1)?;
    let term = |inner: &Term| substitute_term(inner, with, fuel);
    let all = |parts: &[Formula]| parts.iter().map(|part| substitute_formula(part, with, fuel)).collect::<Option<_>>();
    Some(match formula {
        Formula::True => Formula::True,
        Formula::False => Formula::False,
        Formula::Le(a, b) => Formula::Le(term(a)?, term(b)?),
        Formula::Lt(a, b) => Formula::Lt(term(a)?, term(b)?),
        Formula::Eq(a, b) => Formula::Eq(term(a)?, term(b)?),
        Formula::Not(inner) => Formula::Not(Box::new(substitute_formula(inner, with, fuel)?)),
        Formula::And(parts) => Formula::And(all(parts)?),
        Formula::Or(parts) => Formula::Or(all(parts)?),
    })
}

/// Trees are taken apart with a list: the compiler's own drop recurses, and a hostile tree would overflow the stack.
impl Drop for Term {
    fn drop(&mut self) {
        if !self.is_shallow() {
            dismantle(|rest| rest.take_term(self));
        }
    }
}

impl Drop for Formula {
    fn drop(&mut self) {
        if !self.is_shallow() {
            dismantle(|rest| rest.take_formula(self));
        }
    }
}

/// Parts of trees still to be dropped.
#[derive(Default)]
struct Remains {
    terms: Vec<Term>,
    formulas: Vec<Formula>,
}

fn dismantle(start: impl FnOnce(&mut Remains)) {
    let mut rest = Remains::default();
    start(&mut rest);
    loop {
        if let Some(mut term) = rest.terms.pop() {
            rest.take_term(&mut term);
        } else if let Some(mut formula) = rest.formulas.pop() {
            rest.take_formula(&mut formula);
        } else {
            return;
        }
    }
}

impl Remains {
    fn keep_term(&mut self, term: &mut Term) {
        if !term.is_leaf() {
            self.terms.push(std::mem::replace(term, Term::Lit(0)));
        }
    }

    /// Moves the children of `term` that have children of their own to the list.
    fn take_term(&mut self, term: &mut Term) {
        match term {
            Term::Lit(_) | Term::Var(_) => {}
            Term::Add(parts) => parts.iter_mut().for_each(|part| self.keep_term(part)),
            Term::Mul(_, inner) | Term::Div(inner, _) | Term::Mod(inner, _) => self.keep_term(inner),
            Term::Min(a, b) | Term::Max(a, b) => {
                self.keep_term(a);
                self.keep_term(b);
            }
            Term::If(condition, a, b) => {
                self.formulas.push(std::mem::replace(condition, Formula::True));
                self.keep_term(a);
                self.keep_term(b);
            }
        }
    }

    fn take_formula(&mut self, formula: &mut Formula) {
        match formula {
            Formula::True | Formula::False => {}
            Formula::Le(a, b) | Formula::Lt(a, b) | Formula::Eq(a, b) => {
                self.keep_term(a);
                self.keep_term(b);
            }
            Formula::Not(inner) => self.formulas.push(std::mem::replace(inner, Formula::True)),
            Formula::And(parts) | Formula::Or(parts) => self.formulas.append(parts),
        }
    }
}

impl Term {
    fn is_leaf(&self) -> bool {
        matches!(self, Term::Lit(_) | Term::Var(_))
    }

    fn is_shallow(&self) -> bool {
        match self {
            Term::Lit(_) | Term::Var(_) => true,
            Term::Add(parts) => parts.iter().all(Term::is_leaf),
            Term::Mul(_, inner) | Term::Div(inner, _) | Term::Mod(inner, _) => inner.is_leaf(),
            Term::Min(a, b) | Term::Max(a, b) => a.is_leaf() && b.is_leaf(),
            Term::If(..) => false,
        }
    }
}

impl Formula {
    fn is_shallow(&self) -> bool {
        match self {
            Formula::True | Formula::False => true,
            Formula::Le(a, b) | Formula::Lt(a, b) | Formula::Eq(a, b) => a.is_leaf() && b.is_leaf(),
            Formula::Not(_) => false,
            Formula::And(parts) | Formula::Or(parts) => parts.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Formula, Problem, Term, Var};

    fn x() -> Term {
        Term::Var(Var(0))
    }

    #[test]
    fn division_rounds_down() {
        for value in -9..=9 {
            let quotient = x().div(4).eval(&[value]).unwrap();
            let remainder = x().rem(4).eval(&[value]).unwrap();
            assert_eq!(4 * quotient + remainder, value);
            assert!((0..4).contains(&remainder));
        }
    }

    #[test]
    fn what_has_no_value_is_not_hidden() {
        let bad = x().div(0).le(0);
        assert_eq!(Formula::Or(vec![Formula::True, bad.clone()]).eval(&[1]), None);
        assert_eq!(Formula::And(vec![Formula::False, bad.clone()]).eval(&[1]), None);
        assert_eq!(Term::ite(bad, 1, 2).eval(&[1]), None);
        assert_eq!(x().times(i128::MAX).eval(&[2]), None);
        assert_eq!(x().eval(&[]), None);
    }

    #[test]
    fn constructors_keep_things_flat() {
        let sum = x().add(1).add(x().add(2));
        assert_eq!(sum, Term::Add(vec![x(), Term::Lit(1), x(), Term::Lit(2)]));
        let (a, b, c) = (x().le(1), x().lt(2), x().equals(3));
        let all = Formula::and([a.clone(), Formula::and([b.clone(), c.clone()]), Formula::True]);
        assert_eq!(all, Formula::And(vec![a.clone(), b.clone(), c.clone()]));
        assert_eq!(all.conjuncts().len(), 3);
        assert_eq!(Formula::or([Formula::or([a.clone(), b.clone()]), Formula::False]), Formula::Or(vec![a.clone(), b]));
        assert_eq!(Formula::not(Formula::not(a.clone())), a);
        assert_eq!(Formula::and([]), Formula::True);
        assert_eq!(Formula::or([]), Formula::False);
    }

    #[test]
    fn implication_and_equivalence() {
        let (a, b) = (x().ge(0), x().ge(2));
        for value in -1..4 {
            let holds = |formula: &Formula| formula.eval(&[value]).unwrap();
            let (left, right) = (holds(&a), holds(&b));
            assert_eq!(holds(&a.clone().implies(b.clone())), !left || right);
            assert_eq!(holds(&a.clone().iff(b.clone())), left == right);
            assert_eq!(holds(&Formula::ne(x(), 2)), value != 2);
            assert_eq!(holds(&Formula::within(0, x(), 2)), (0..2).contains(&value));
        }
    }

    #[test]
    fn substitution_and_variables() {
        let y = || Term::Var(Var(1));
        let formula = Formula::not(Term::ite(x().le(y()), x().min(3), y().div(2)).equals(x().rem(5)));
        let mut seen = Vec::new();
        formula.visit_variables(&mut |var| seen.push(var.0));
        assert_eq!(seen, [0, 1, 0, 1, 0]);
        let replaced = formula.substitute(&[Some(y().add(1))]).unwrap();
        for value in -5..5 {
            assert_eq!(replaced.eval(&[99, value]), formula.eval(&[value + 1, value]));
        }
    }

    #[test]
    fn refuted_by_is_the_meaning_of_a_problem() {
        let problem = Problem {
            names: vec!["x".into()],
            hypotheses: vec![x().ge(0), x().le(9)],
            goal: x().lt(9),
            hints: Vec::new(),
        };
        assert_eq!([-1, 8, 9, 10].map(|value| problem.refuted_by(&[value]).unwrap()), [false, false, true, false]);
        assert_eq!(problem.eval(&[9]), Some(false));
    }
}
