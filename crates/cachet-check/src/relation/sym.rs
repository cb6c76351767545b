//! Words as trees over the words that memory held: what a run of straight-line code leaves behind.
//!
//! Operations are uninterpreted, so two trees are the same word for every meaning of the operations exactly if they are
//! one tree for every value of the integers: [`same`] turns equality of words into a formula about integers
//! (checker design, section 5.1.2). For free symbols this is sound and complete.

use crate::formula::{Formula, Term, Var as Unknown};
use cachet_core::ir::{Device, Elem, Lit, Op, PureId, Shape};

/// The most parts of a word that is named or stored: each use copies it.
const MAX_SIZE: usize = 1 << 14;
/// How deep its parts nest at most.
const MAX_DEPTH: usize = 700;

/// The contents of something at some moment: an unknown function from tuples to words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Base(pub u32);

/// A word.
#[derive(Clone, PartialEq, Debug)]
pub enum Sym {
    /// A literal.
    Lit(Lit),
    /// An index as a word.
    Index(Term, Elem),
    /// What was in a cell.
    Cell(Base, Vec<Term>),
    /// An operation.
    Op(Op, Device, Vec<Sym>),
    /// A pure function.
    Apply(PureId, Vec<Sym>),
    /// Several words.
    Tuple(Vec<Sym>),
    /// One of several.
    Part(Box<Sym>, u32),
    /// A choice by integers.
    If(Formula, Box<Sym>, Box<Sym>),
    /// A running total.
    Fold(Box<SymFold>),
    /// A shaped reduction.
    Reduce(Box<SymReduce>),
}

/// A running total over `count` terms.
#[derive(Clone, PartialEq, Debug)]
pub struct SymFold {
    /// The number of the term, from 0, free in `body`.
    pub n: Unknown,
    /// How many terms.
    pub count: Term,
    /// The running total, free in `body` as a cell without subscripts.
    pub acc: Base,
    /// The start.
    pub init: Sym,
    /// The next total.
    pub body: Sym,
    /// Whether its terms may be regrouped.
    pub regroup: bool,
}

/// A shaped reduction over `count` terms.
#[derive(Clone, PartialEq, Debug)]
pub struct SymReduce {
    /// The number of the term, from 0, free in `element`.
    pub n: Unknown,
    /// How many terms.
    pub count: Term,
    /// One term.
    pub element: Sym,
    /// The two operands, free in `combine`.
    pub operands: (Base, Base),
    /// What joins two.
    pub combine: Sym,
    /// The value of none.
    pub empty: Sym,
    /// The order.
    pub shape: Shape,
}

impl Sym {
    /// One part of a word.
    pub fn part(self, n: u32) -> Sym {
        match self {
            Sym::Tuple(mut parts) if (n as usize) < parts.len() => parts.swap_remove(n as usize),
            other => Sym::Part(Box::new(other), n),
        }
    }

    /// How many parts it has, if these are few enough, and nested little enough, to be copied and compared.
    pub fn parts(&self) -> Option<usize> {
        let (mut todo, mut size) = (vec![(self, 0)], 0);
        while let Some((word, depth)) = todo.pop() {
            size += 1;
            if size > MAX_SIZE || depth > MAX_DEPTH {
                return None;
            }
            let below = depth + 1;
            match word {
                Sym::Lit(_) | Sym::Index(..) | Sym::Cell(..) => {}
                Sym::Op(_, _, args) | Sym::Apply(_, args) | Sym::Tuple(args) => {
                    todo.extend(args.iter().map(|w| (w, below)));
                }
                Sym::Part(w, _) => todo.push((w, below)),
                Sym::If(_, a, b) => todo.extend([(&**a, below), (&**b, below)]),
                Sym::Fold(f) => todo.extend([(&f.init, below), (&f.body, below)]),
                Sym::Reduce(r) => todo.extend([(&r.element, below), (&r.combine, below), (&r.empty, below)]),
            }
        }
        Some(size)
    }

    /// With an unknown and bases replaced.
    fn renamed(&self, n: (Unknown, Unknown), bases: &[(Base, Base)]) -> Sym {
        let all = |ws: &[Sym]| ws.iter().map(|w| w.renamed(n, bases)).collect();
        let term = |t: &Term| rename(t, n);
        match self {
            Sym::Lit(l) => Sym::Lit(*l),
            Sym::Index(t, e) => Sym::Index(term(t), *e),
            Sym::Cell(b, at) => {
                let base = bases.iter().find(|(from, _)| from == b).map_or(*b, |(_, to)| *to);
                Sym::Cell(base, at.iter().map(term).collect())
            }
            Sym::Op(op, d, args) => Sym::Op(*op, *d, all(args)),
            Sym::Apply(f, args) => Sym::Apply(*f, all(args)),
            Sym::Tuple(args) => Sym::Tuple(all(args)),
            Sym::Part(w, i) => Sym::Part(Box::new(w.renamed(n, bases)), *i),
            Sym::If(g, a, b) => {
                Sym::If(rename_formula(g, n), Box::new(a.renamed(n, bases)), Box::new(b.renamed(n, bases)))
            }
            Sym::Fold(f) => Sym::Fold(Box::new(SymFold {
                n: f.n,
                count: term(&f.count),
                acc: f.acc,
                init: f.init.renamed(n, bases),
                body: f.body.renamed(n, bases),
                regroup: f.regroup,
            })),
            Sym::Reduce(r) => Sym::Reduce(Box::new(SymReduce {
                n: r.n,
                count: term(&r.count),
                element: r.element.renamed(n, bases),
                operands: r.operands,
                combine: r.combine.renamed(n, bases),
                empty: r.empty.renamed(n, bases),
                shape: r.shape,
            })),
        }
    }
}

fn rename(t: &Term, (from, to): (Unknown, Unknown)) -> Term {
    let mut with = vec![None; from.0 as usize + 1];
    with[from.0 as usize] = Some(Term::Var(to));
    // Too deep to substitute is too deep to prove: an unknown without a name makes the prover give up.
    t.substitute(&with).unwrap_or(Term::Var(Unknown(u32::MAX)))
}

fn rename_formula(f: &Formula, (from, to): (Unknown, Unknown)) -> Formula {
    let mut with = vec![None; from.0 as usize + 1];
    with[from.0 as usize] = Some(Term::Var(to));
    f.substitute(&with).unwrap_or_else(|| Term::Var(Unknown(u32::MAX)).lt(0))
}

/// That two words, the first of `S` and the second of `T`, are the same, whatever the operations mean; `None` where that
/// is too long a formula. A step does not give permission to regroup, so what `T` permits `S` does.
pub fn same(a: &Sym, b: &Sym) -> Option<Formula> {
    let mut pairs = Pairs { left: MOST_PAIRS };
    let formula = pairs.same(a, b);
    (pairs.left > 0).then_some(formula)
}

/// The most pairs of parts that one comparison takes. Two choices of many words each are compared word by word: the
/// formula may be as long as one is times the other, and the prover reads none as long as this.
const MOST_PAIRS: usize = 1 << 18;

/// A comparison under way.
struct Pairs {
    /// How many more pairs may be looked at.
    left: usize,
}

impl Pairs {
    fn same(&mut self, a: &Sym, b: &Sym) -> Formula {
        if self.left == 0 {
            return Formula::False;
        }
        self.left -= 1;
        match (a, b) {
            // One condition decides both.
            (Sym::If(g, x, y), Sym::If(h, u, v)) if g == h => choice(g, self.same(x, u), self.same(y, v)),
            (Sym::If(g, x, y), _) => choice(g, self.same(x, b), self.same(y, b)),
            (_, Sym::If(g, x, y)) => choice(g, self.same(a, x), self.same(a, y)),
            (Sym::Lit(x), Sym::Lit(y)) => truth(x == y),
            (Sym::Index(x, e), Sym::Index(y, f)) if e == f => equal(x, y),
            (Sym::Cell(x, at), Sym::Cell(y, to)) if x == y && at.len() == to.len() => {
                Formula::and(at.iter().zip(to).map(|(s, t)| equal(s, t)))
            }
            (Sym::Op(o, d, x), Sym::Op(p, e, y)) if o == p && d == e => self.all_same(x, y),
            (Sym::Apply(f, x), Sym::Apply(g, y)) if f == g => self.all_same(x, y),
            (Sym::Tuple(x), Sym::Tuple(y)) => self.all_same(x, y),
            (Sym::Part(x, n), Sym::Part(y, m)) if n == m => self.same(x, y),
            (Sym::Fold(x), Sym::Fold(y)) if x.regroup || !y.regroup => {
                let body = y.body.renamed((y.n, x.n), &[(y.acc, x.acc)]);
                Formula::and([
                    equal(&x.count, &y.count),
                    self.same(&x.init, &y.init),
                    in_range(x.n, &x.count).implies(self.same(&x.body, &body)),
                ])
            }
            (Sym::Reduce(x), Sym::Reduce(y)) if x.shape == y.shape => {
                let element = y.element.renamed((y.n, x.n), &[]);
                let operands = [(y.operands.0, x.operands.0), (y.operands.1, x.operands.1)];
                let combine = y.combine.renamed((y.n, x.n), &operands);
                Formula::and([
                    equal(&x.count, &y.count),
                    self.same(&x.empty, &y.empty),
                    self.same(&x.combine, &combine),
                    in_range(x.n, &x.count).implies(self.same(&x.element, &element)),
                ])
            }
            _ => Formula::False,
        }
    }

    fn all_same(&mut self, x: &[Sym], y: &[Sym]) -> Formula {
        if x.len() != y.len() {
            return Formula::False;
        }
        Formula::and(x.iter().zip(y).map(|(a, b)| self.same(a, b)))
    }
}

fn choice(g: &Formula, yes: Formula, no: Formula) -> Formula {
    if yes == no {
        return yes;
    }
    Formula::and([g.clone().implies(yes), Formula::or([g.clone(), no])])
}

fn truth(holds: bool) -> Formula {
    if holds { Formula::True } else { Formula::False }
}

fn equal(a: &Term, b: &Term) -> Formula {
    if identical(a, b) { Formula::True } else { a.clone().equals(b.clone()) }
}

/// A term of the running index: the body matters only where there is a term at all.
fn in_range(n: Unknown, count: &Term) -> Formula {
    Formula::within(0, Term::Var(n), count.clone())
}

/// Whether two terms are the same sum of the same parts, whatever the order and grouping: no proof is needed.
pub fn identical(a: &Term, b: &Term) -> bool {
    distance(a, b) == Some(0)
}

/// How much larger the first term is than the second, where that is plainly one number whatever the variables are.
pub fn distance(a: &Term, b: &Term) -> Option<i128> {
    let mut parts: Vec<(&Term, i128)> = Vec::new();
    let mut constant = 0i128;
    let sum = collect(a, 1, &mut parts, &mut constant) && collect(b, -1, &mut parts, &mut constant);
    (sum && parts.iter().all(|(_, c)| *c == 0)).then_some(constant)
}

/// Adds `factor * t`; false on overflow, and where a variable is not known: two of those need not be one.
fn collect<'a>(t: &'a Term, factor: i128, parts: &mut Vec<(&'a Term, i128)>, constant: &mut i128) -> bool {
    match t {
        Term::Lit(n) => match factor.checked_mul(*n).and_then(|x| constant.checked_add(x)) {
            Some(sum) => {
                *constant = sum;
                true
            }
            None => false,
        },
        Term::Add(ts) => ts.iter().all(|t| collect(t, factor, parts, constant)),
        Term::Mul(n, t) => factor.checked_mul(*n).is_some_and(|f| collect(t, f, parts, constant)),
        Term::Var(_) | Term::Div(..) | Term::Mod(..) | Term::Min(..) | Term::Max(..) | Term::If(..) => {
            let mut known = true;
            t.visit_variables(&mut |v| known &= v != Unknown(u32::MAX));
            if !known {
                return false;
            }
            match parts.iter_mut().find(|(p, _)| *p == t) {
                Some((_, c)) => match c.checked_add(factor) {
                    Some(sum) => {
                        *c = sum;
                        true
                    }
                    None => false,
                },
                None => {
                    parts.push((t, factor));
                    true
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_identical_in_any_order() {
        let (x, y) = (Term::Var(Unknown(0)), Term::Var(Unknown(1)));
        let a = x.clone().add(y.clone()).add(1);
        let b = Term::Lit(3).add(y.clone().times(1)).sub(2).add(x.clone());
        assert!(identical(&a, &b));
        assert!(!identical(&a, &x.clone().add(1)));
        assert!(!identical(&x, &y));
        assert_eq!(distance(&a.clone().add(1), &b), Some(1));
        assert_eq!(distance(&x.clone().div(2), &x.clone().div(3)), None);
        let nothing = Term::Var(Unknown(u32::MAX));
        assert!(!identical(&nothing, &nothing) && !identical(&nothing.clone().div(2), &nothing.div(2)));
    }

    #[test]
    fn different_operations_are_never_the_same_word() {
        use cachet_core::ir::Prim;
        let c = |b| Sym::Cell(Base(b), vec![]);
        let op = |p, a: Sym, b: Sym| Sym::Op(Op::Prim(p), Device::HOST, vec![a, b]);
        let same = |a: &Sym, b: &Sym| same(a, b).unwrap();
        assert_eq!(same(&op(Prim::Add, c(0), c(1)), &op(Prim::Add, c(0), c(1))).eval(&[]), Some(true));
        assert_eq!(same(&op(Prim::Add, c(0), c(1)), &op(Prim::Add, c(1), c(0))).eval(&[]), Some(false));
        assert_eq!(same(&op(Prim::Add, c(0), c(1)), &op(Prim::Mul, c(0), c(1))).eval(&[]), Some(false));
        let zero = |bits| Sym::Lit(Lit { elem: Elem::F32, bits });
        assert_eq!(same(&zero(0), &zero(0x8000_0000)).eval(&[]), Some(false));
    }

    /// A choice among `2^depth` words by conditions on `x + shift`.
    fn choices(depth: u32, shift: i128) -> Sym {
        if depth == 0 {
            return Sym::Cell(Base(0), vec![Term::Var(Unknown(0)).add(shift)]);
        }
        let guard = Term::Var(Unknown(0)).add(shift).rem(i128::from(depth) + 1).equals(0);
        Sym::If(guard, Box::new(choices(depth - 1, 2 * shift)), Box::new(choices(depth - 1, 2 * shift + 1)))
    }

    #[test]
    fn choices_of_choices_are_compared_within_bounds() {
        let few = same(&choices(3, 1), &choices(3, 1)).unwrap();
        assert!((-9..9).all(|x| few.eval(&[x]) == Some(true)));
        let other = same(&choices(3, 1), &choices(3, 2)).unwrap();
        assert!((-9..9).any(|x| other.eval(&[x]) == Some(false)));
        assert!(same(&choices(11, 1), &choices(11, 1)).is_some(), "by one condition at a time");
        assert!(same(&choices(11, 1), &choices(11, 2)).is_none(), "four million pairs");
    }
}
