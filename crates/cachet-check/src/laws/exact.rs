//! Are two terms equal as words, as the host computes them?
//!
//! Theorem. Two terms are equal for all words, two NaN being one value, if they are one term after rewriting by the
//! identities of [`Tidy`], those of rings for `+ - *` of integers among them; or if they are equal for every order that
//! their elements can have, where `max`, `min`, `and`, `or`, `not`, comparisons, choices and signs are read as functions
//! of that order and every other operation as any word that depends on its operands only. A float that is no NaN has a place in the order of all of them, -0.0 below 0.0; a
//! NaN wins `max` and `min`.
//!
//! `+ - *` of integers give the low bits of what does not fit, as they do wherever a schedule has moved them; that nothing
//! is lost is proved where a function is written, and is no part of a law. An operation that is not known to have a value
//! for all words has to occur on both sides or on neither.
//!
//! Near miss: `(a + b) + c = a + (b + c)` of floats; words at which the sides differ are looked for first.

use super::Outcome;
use super::terms::{Id, Node, Terms};
use crate::formula::{Formula, Problem, Term, Var};
use crate::prover::Verdict;
use cachet_core::interpret::scalar;
use cachet_core::ir::{Elem, Lit, Prim};
use cachet_core::print::{decimal, print_float};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most combinations of words that are tried.
const MAX_TRIED: usize = 20_000;

/// Whether two terms are equal.
pub fn equal(terms: &Terms, left: Id, right: Id) -> Outcome {
    if let Some(shown) = differing(terms, left, right) {
        return shown;
    }
    let mut tidy = Tidy { terms: terms.beside(), rings: HashMap::new(), by_ring: HashMap::new() };
    let (left, right) = match tidy.all(terms, left, right) {
        Some(both) => both,
        None => return Outcome::Unknown("it is too large".into()),
    };
    let terms = tidy.terms;
    let partial = |root: Id| -> BTreeSet<Id> {
        terms.needed(&[root]).into_iter().filter(|id| may_fail(&terms.nodes[*id])).collect()
    };
    if partial(left) != partial(right) {
        return Outcome::Unknown("an integer operation may overflow on one side only".into());
    }
    if left == right {
        return Outcome::Holds;
    }
    by_order(&terms, left, right)
}

/// Whether an operation has no value for some words.
fn may_fail(node: &Node) -> bool {
    match node {
        Node::Var(_) | Node::Lit(_) => false,
        Node::Op(prim, elem, _) => {
            let integer = scalar::range(*elem).is_some();
            match prim {
                Prim::Div | Prim::Rem | Prim::Fma | Prim::Neg | Prim::Abs | Prim::Sqrt => integer,
                Prim::Cast(_) => integer,
                Prim::Add
                | Prim::Sub
                | Prim::Mul
                | Prim::WrappingAdd
                | Prim::WrappingSub
                | Prim::WrappingMul
                | Prim::WrappingCast(_)
                | Prim::SaturatingCast(_)
                | Prim::Max
                | Prim::Min
                | Prim::Eq
                | Prim::Lt
                | Prim::Le
                | Prim::And
                | Prim::Or
                | Prim::Not
                | Prim::Select
                | Prim::FromBits(_)
                | Prim::ToBits => false,
            }
        }
    }
}

/// Words that are worth trying.
fn samples(elem: Elem) -> Vec<u64> {
    let floats: [f64; 12] =
        [1.0, 0.0, -0.0, -1.0, 3.0, 0.1, 16777216.0, -33554432.0, 1e30, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    match elem {
        Elem::F64 => floats.iter().map(|x| x.to_bits()).chain([f64::MAX.to_bits(), 0x4340_0000_0000_0000]).collect(),
        Elem::F32 => floats.iter().map(|x| *x as f32).chain([f32::MAX]).map(|x| u64::from(x.to_bits())).collect(),
        Elem::Bool => vec![0, 1],
        Elem::F16 | Elem::BF16 => vec![],
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => {
            let (lo, hi) = scalar::range(elem).unwrap_or((0, 0));
            [0, 1, 2, 3, -1, 7, lo, lo + 1, hi, hi - 1]
                .into_iter()
                .filter_map(|n| scalar::from_int(elem, n).ok())
                .collect()
        }
    }
}

/// Words at which the sides have different values.
fn differing(terms: &Terms, left: Id, right: Id) -> Option<Outcome> {
    let choices: Vec<Vec<u64>> = terms.vars.iter().map(|v| samples(v.1)).collect();
    let all = choices.iter().try_fold(1usize, |n, c| n.checked_mul(c.len())).filter(|n| *n <= MAX_TRIED)?;
    let needed = terms.needed(&[left, right]);
    (0..all).find_map(|n| {
        let mut rest = n;
        let words: Vec<u64> = choices
            .iter()
            .map(|c| {
                let word = c[rest % c.len()];
                rest /= c.len();
                word
            })
            .collect();
        let mut values: Vec<Option<(u64, Elem)>> = vec![None; terms.nodes.len()];
        for id in &needed {
            values[*id] = match &terms.nodes[*id] {
                Node::Var(v) => Some((words[*v as usize], terms.vars[*v as usize].1)),
                Node::Lit(l) => Some((l.bits, l.elem)),
                Node::Op(prim, elem, args) => {
                    let args: Option<Vec<u64>> = args.iter().map(|a| values[*a].map(|v| v.0)).collect();
                    let value = args.and_then(|args| scalar::primitive(*prim, *elem, &args, false).ok());
                    value.map(|v| (v, super::terms::result(*prim, *elem)))
                }
            };
        }
        let different = match (values[left], values[right]) {
            (Some((a, elem)), Some((b, _))) => !scalar::same(elem, a, b),
            // Without a value on one side, the law does not hold there either; on both, there is nothing to compare.
            (a, b) => a.is_some() != b.is_some(),
        };
        let at = |v: usize| (terms.vars[v].0.clone(), text(terms.vars[v].1, words[v]));
        let side = |id: Id| values[id].map_or_else(|| "an overflow".into(), |(bits, elem)| text(elem, bits));
        different.then(|| Outcome::Fails((0..words.len()).map(at).collect(), Some((side(left), side(right)))))
    })
}

/// A word as a message shows it.
fn text(elem: Elem, bits: u64) -> String {
    match scalar::to_f64(elem, bits) {
        Some(x) if !x.is_finite() => print_float(x),
        _ => decimal(Lit { elem, bits }),
    }
}

/// Terms rewritten by what holds of single operations, bit for bit.
struct Tidy {
    terms: Terms,
    /// What each node of arithmetic that wraps around is, as a polynomial.
    rings: HashMap<Id, Ring>,
    /// The first node of each polynomial.
    by_ring: HashMap<(Elem, Ring), Id>,
}

/// A polynomial over other nodes with coefficients modulo 2^n, none of which is 0: arithmetic that wraps around is that of
/// a ring, so two nodes with one polynomial are equal for all words.
type Ring = BTreeMap<Vec<(Id, u32)>, u64>;

/// The most terms of such a polynomial.
const MAX_TERMS: usize = 256;

impl Tidy {
    /// Both terms, rewritten.
    fn all(&mut self, from: &Terms, left: Id, right: Id) -> Option<(Id, Id)> {
        let mut ids: Vec<Option<Id>> = vec![None; from.nodes.len()];
        for id in from.needed(&[left, right]) {
            ids[id] = Some(match &from.nodes[id] {
                Node::Op(prim, elem, args) => {
                    let args = args.iter().map(|a| ids[*a]).collect::<Option<Vec<Id>>>()?;
                    self.operation(*prim, *elem, args)
                }
                node => self.terms.node(node.clone()),
            });
        }
        Some((ids[left]?, ids[right]?))
    }

    /// The node of arithmetic that wraps around, as that of integers does; `None` for other operations, and beyond the
    /// limit on terms.
    fn ring(&mut self, prim: Prim, elem: Elem, args: &[Id]) -> Option<Id> {
        let [a, b] = args else { return None };
        let prim = match prim {
            Prim::Add if elem.is_integer() => Prim::WrappingAdd,
            Prim::Sub if elem.is_integer() => Prim::WrappingSub,
            Prim::Mul if elem.is_integer() => Prim::WrappingMul,
            prim => prim,
        };
        let (a, b) = (self.polynomial(*a), self.polynomial(*b));
        let mut out = Ring::new();
        let mut put = |m: Vec<(Id, u32)>, c: u64| {
            let slot = out.entry(m).or_insert(0);
            *slot = slot.wrapping_add(c);
        };
        match prim {
            Prim::WrappingAdd => a.into_iter().chain(b).for_each(|(m, c)| put(m, c)),
            Prim::WrappingSub => {
                a.into_iter().chain(b.into_iter().map(|(m, c)| (m, c.wrapping_neg()))).for_each(|(m, c)| put(m, c));
            }
            Prim::WrappingMul if a.len() * b.len() <= 16 * MAX_TERMS => {
                for (m, c) in &a {
                    for (n, d) in &b {
                        let mut product: BTreeMap<Id, u32> = m.iter().copied().collect();
                        for (v, e) in n {
                            let slot = product.entry(*v).or_insert(0);
                            *slot = slot.checked_add(*e)?;
                        }
                        put(product.into_iter().collect(), c.wrapping_mul(*d));
                    }
                }
            }
            _ => return None,
        }
        let mask = u64::MAX >> (64 - 8 * elem.bytes());
        out.values_mut().for_each(|c| *c &= mask);
        out.retain(|_, c| *c != 0);
        if out.len() > MAX_TERMS {
            return None;
        }
        let only = if out.len() == 1 { out.first_key_value() } else { None };
        match only {
            Some((m, 1)) if m.len() == 1 && m[0].1 == 1 => return Some(m[0].0),
            Some((m, c)) if m.is_empty() => return Some(self.terms.node(Node::Lit(Lit { elem, bits: *c }))),
            _ if out.is_empty() => return Some(self.terms.node(Node::Lit(Lit { elem, bits: 0 }))),
            _ => {}
        }
        if let Some(id) = self.by_ring.get(&(elem, out.clone())) {
            return Some(*id);
        }
        let id = self.terms.node(Node::Op(prim, elem, args.to_vec()));
        self.by_ring.insert((elem, out.clone()), id);
        self.rings.insert(id, out);
        Some(id)
    }

    fn polynomial(&self, id: Id) -> Ring {
        match (self.rings.get(&id), self.literal(id)) {
            (Some(ring), _) => ring.clone(),
            (None, Some(l)) if l.bits == 0 => Ring::new(),
            (None, Some(l)) => Ring::from([(vec![], l.bits)]),
            (None, None) => Ring::from([(vec![(id, 1)], 1)]),
        }
    }

    fn literal(&self, id: Id) -> Option<Lit> {
        match self.terms.nodes[id] {
            Node::Lit(l) => Some(l),
            Node::Var(_) | Node::Op(..) => None,
        }
    }

    fn is(&self, id: Id, elem: Elem, float: f64, integer: i128) -> bool {
        let wanted = match elem {
            Elem::F64 => Some(float.to_bits()),
            Elem::F32 => Some(u64::from((float as f32).to_bits())),
            Elem::F16 | Elem::BF16 | Elem::Bool => None,
            Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => {
                scalar::from_int(elem, integer).ok()
            }
        };
        wanted.is_some() && self.literal(id).map(|l| l.bits) == wanted
    }

    fn operation(&mut self, prim: Prim, elem: Elem, mut args: Vec<Id>) -> Id {
        let literals: Option<Vec<u64>> = args.iter().map(|a| self.literal(*a).map(|l| l.bits)).collect();
        if let Some(words) = literals
            && let Ok(bits) = scalar::primitive(prim, elem, &words, false)
        {
            return self.terms.node(Node::Lit(Lit { elem: super::terms::result(prim, elem), bits }));
        }
        if let Some(id) = self.ring(prim, elem, &args) {
            return id;
        }
        match (prim, args.as_mut_slice()) {
            // The order of two operands is no matter to these.
            (Prim::Add | Prim::Mul | Prim::Max | Prim::Min | Prim::And | Prim::Or | Prim::Eq, [a, b])
            | (Prim::Fma, [a, b, _])
                if *a > *b =>
            {
                std::mem::swap(a, b);
            }
            _ => {}
        }
        match (prim, args.as_slice()) {
            // -0.0 is what adding leaves alone: 0.0 would turn -0.0 into itself.
            (Prim::Add, [a, b]) if self.is(*b, elem, -0.0, 0) => return *a,
            (Prim::Add, [a, b]) if self.is(*a, elem, -0.0, 0) => return *b,
            (Prim::Sub, [a, b]) if self.is(*b, elem, 0.0, 0) => return *a,
            (Prim::Mul, [a, b]) if self.is(*b, elem, 1.0, 1) => return *a,
            (Prim::Mul, [a, b]) if self.is(*a, elem, 1.0, 1) => return *b,
            // A product that is rounded once, and a sum that is.
            (Prim::Fma, [a, b, c]) if self.is(*c, elem, -0.0, 0) => {
                return self.operation(Prim::Mul, elem, vec![*a, *b]);
            }
            (Prim::Fma, [a, b, c]) if self.is(*b, elem, 1.0, 1) => {
                return self.operation(Prim::Add, elem, vec![*a, *c]);
            }
            (Prim::Fma, [a, b, c]) if self.is(*a, elem, 1.0, 1) => {
                return self.operation(Prim::Add, elem, vec![*b, *c]);
            }
            _ => {}
        }
        self.terms.node(Node::Op(prim, elem, args))
    }
}

/// A word by its place in the order of its type.
#[derive(Clone)]
enum Place {
    /// Whether it is a NaN, and where it stands if it is none.
    Float(Formula, Term),
    Integer(Term),
    Truth(Formula),
}

/// Where a float stands among all of its type; `None` for a NaN.
fn place(elem: Elem, bits: u64) -> Option<i128> {
    if scalar::is_nan(elem, bits) {
        return None;
    }
    let sign = 1u64 << (8 * elem.bytes() - 1);
    Some(if bits & sign == 0 { i128::from(bits) } else { -1 - i128::from(bits & !sign) })
}

struct Order<'a> {
    terms: &'a Terms,
    names: Vec<String>,
    facts: Vec<Formula>,
    /// Whether something stands for any word at all.
    loose: bool,
}

fn by_order(terms: &Terms, left: Id, right: Id) -> Outcome {
    let mut order = Order { terms, names: vec![], facts: vec![], loose: false };
    let mut places: Vec<Option<Place>> = vec![None; terms.nodes.len()];
    for id in terms.needed(&[left, right]) {
        places[id] = order.node(&terms.nodes[id], &places);
    }
    let goal = match (&places[left], &places[right]) {
        (Some(Place::Float(n, a)), Some(Place::Float(m, b))) => {
            Formula::and([n.clone().iff(m.clone()), Formula::or([n.clone(), a.clone().equals(b.clone())])])
        }
        (Some(Place::Integer(a)), Some(Place::Integer(b))) => a.clone().equals(b.clone()),
        (Some(Place::Truth(a)), Some(Place::Truth(b))) => a.clone().iff(b.clone()),
        _ => return Outcome::Unknown("it is about words without an order".into()),
    };
    let problem = Problem { names: order.names, hypotheses: order.facts, goal, hints: vec![] };
    match terms.prove(&problem) {
        Verdict::Proved(_) => Outcome::Holds,
        Verdict::Refuted(_) if order.loose => {
            Outcome::Unknown("it needs more than the order of words and what single operations do".into())
        }
        Verdict::Refuted(_) => Outcome::Unknown("the order of words does not decide it".into()),
        Verdict::Undecided { reason } => Outcome::Unknown(format!("the prover gave up: {reason}")),
    }
}

impl Order<'_> {
    fn unknown(&mut self) -> Term {
        self.names.push(format!("w{}", self.names.len()));
        Term::Var(Var(self.names.len() as u32 - 1))
    }

    /// Any word of a type.
    fn any(&mut self, elem: Elem) -> Place {
        let x = self.unknown();
        match elem {
            Elem::Bool => {
                self.facts.push(Formula::within(0, x.clone(), 2));
                Place::Truth(x.equals(1))
            }
            Elem::F64 | Elem::F32 | Elem::F16 | Elem::BF16 => {
                let nan = self.unknown();
                self.facts.push(Formula::within(0, nan.clone(), 2));
                let infinity = match elem {
                    Elem::F64 => f64::INFINITY.to_bits(),
                    Elem::F32 => u64::from(f32::INFINITY.to_bits()),
                    _ => return Place::Float(nan.equals(1), x),
                };
                let top = i128::from(infinity);
                self.facts.push(x.clone().le(top));
                self.facts.push(x.clone().ge(-1 - top));
                Place::Float(nan.equals(1), x)
            }
            Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => {
                if let Some((lo, hi)) = scalar::range(elem) {
                    self.facts.push(x.clone().ge(lo));
                    self.facts.push(x.clone().le(hi));
                }
                Place::Integer(x)
            }
        }
    }

    fn node(&mut self, node: &Node, places: &[Option<Place>]) -> Option<Place> {
        match node {
            Node::Var(v) => {
                let elem = self.terms.vars[*v as usize].1;
                Some(self.any(elem))
            }
            Node::Lit(l) => Some(match l.elem {
                Elem::Bool => Place::Truth(if l.bits == 0 { Formula::False } else { Formula::True }),
                e if e.is_float() => match place(e, l.bits) {
                    Some(at) => Place::Float(Formula::False, Term::Lit(at)),
                    None => Place::Float(Formula::True, Term::Lit(0)),
                },
                e => Place::Integer(Term::Lit(scalar::to_int(e, l.bits))),
            }),
            Node::Op(prim, elem, args) => {
                let operands: Vec<Place> = args.iter().map(|a| places[*a].clone()).collect::<Option<Vec<_>>>()?;
                Some(self.operation(*prim, &operands).unwrap_or_else(|| {
                    self.loose = true;
                    self.any(super::terms::result(*prim, *elem))
                }))
            }
        }
    }

    /// An operation that is a function of the order; `None` for the others.
    fn operation(&self, prim: Prim, args: &[Place]) -> Option<Place> {
        // Comparisons do not tell -0.0 from 0.0, which stand side by side.
        let value = |x: &Term| Term::ite(x.clone().lt(0), x.clone().add(1), x.clone());
        Some(match (prim, args) {
            (Prim::Max, [Place::Float(n, a), Place::Float(m, b)]) => {
                Place::Float(Formula::or([n.clone(), m.clone()]), a.clone().max(b.clone()))
            }
            (Prim::Min, [Place::Float(n, a), Place::Float(m, b)]) => {
                Place::Float(Formula::or([n.clone(), m.clone()]), a.clone().min(b.clone()))
            }
            (Prim::Max, [Place::Integer(a), Place::Integer(b)]) => Place::Integer(a.clone().max(b.clone())),
            (Prim::Min, [Place::Integer(a), Place::Integer(b)]) => Place::Integer(a.clone().min(b.clone())),
            (Prim::Neg, [Place::Float(n, a)]) => Place::Float(n.clone(), Term::Lit(-1).sub(a.clone())),
            (Prim::Abs, [Place::Float(n, a)]) => {
                Place::Float(n.clone(), Term::ite(a.clone().lt(0), Term::Lit(-1).sub(a.clone()), a.clone()))
            }
            (Prim::And, [Place::Truth(a), Place::Truth(b)]) => Place::Truth(Formula::and([a.clone(), b.clone()])),
            (Prim::Or, [Place::Truth(a), Place::Truth(b)]) => Place::Truth(Formula::or([a.clone(), b.clone()])),
            (Prim::Not, [Place::Truth(a)]) => Place::Truth(Formula::not(a.clone())),
            (Prim::Eq, [Place::Truth(a), Place::Truth(b)]) => Place::Truth(a.clone().iff(b.clone())),
            (Prim::Eq | Prim::Lt | Prim::Le, [Place::Integer(a), Place::Integer(b)]) => {
                Place::Truth(compare(prim, a.clone(), b.clone()))
            }
            (Prim::Eq | Prim::Lt | Prim::Le, [Place::Float(n, a), Place::Float(m, b)]) => Place::Truth(Formula::and([
                Formula::not(n.clone()),
                Formula::not(m.clone()),
                compare(prim, value(a), value(b)),
            ])),
            (Prim::Select, [Place::Truth(c), a, b]) => match (a, b) {
                (Place::Float(n, a), Place::Float(m, b)) => {
                    let nan = Formula::or([
                        Formula::and([c.clone(), n.clone()]),
                        Formula::and([Formula::not(c.clone()), m.clone()]),
                    ]);
                    Place::Float(nan, Term::ite(c.clone(), a.clone(), b.clone()))
                }
                (Place::Integer(a), Place::Integer(b)) => Place::Integer(Term::ite(c.clone(), a.clone(), b.clone())),
                (Place::Truth(a), Place::Truth(b)) => Place::Truth(Formula::or([
                    Formula::and([c.clone(), a.clone()]),
                    Formula::and([Formula::not(c.clone()), b.clone()]),
                ])),
                _ => return None,
            },
            _ => return None,
        })
    }
}

fn compare(prim: Prim, a: Term, b: Term) -> Formula {
    match prim {
        Prim::Lt => a.lt(b),
        Prim::Le => a.le(b),
        _ => a.equals(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes both sides from an operation and elements.
    type Make = fn(&dyn Fn(Prim, Id, Id) -> Id, &[Id]) -> (Id, Id);

    /// Elements of a type, and both sides by operations on them.
    fn sides(elem: Elem, make: Make) -> Outcome {
        let names = ["a", "b", "c"].map(|n| (n.to_string(), elem));
        let mut terms = Terms::about(&names);
        let mut atoms: Vec<Id> = (0..3).map(|v| terms.node(Node::Var(v))).collect();
        atoms.push(terms.node(Node::Lit(Lit { elem, bits: 1 })));
        let terms = std::cell::RefCell::new(terms);
        let op = |prim: Prim, a: Id, b: Id| terms.borrow_mut().node(Node::Op(prim, elem, vec![a, b]));
        let (left, right) = make(&op, &atoms);
        equal(&terms.borrow(), left, right)
    }

    #[test]
    fn arithmetic_that_wraps_around_is_a_rings() {
        use Prim::{Max, WrappingAdd as Add, WrappingMul as Mul, WrappingSub as Sub};
        for elem in [Elem::I64, Elem::I32, Elem::I8, Elem::U64, Elem::U8] {
            let holds = |make: Make| {
                assert_eq!(sides(elem, make), Outcome::Holds, "{elem}");
            };
            holds(|op, v| (op(Add, op(Add, v[0], v[1]), v[2]), op(Add, v[0], op(Add, v[1], v[2]))));
            holds(|op, v| (op(Mul, op(Mul, v[0], v[1]), v[2]), op(Mul, v[0], op(Mul, v[1], v[2]))));
            holds(|op, v| {
                let (ab, ac) = (op(Mul, v[0], v[1]), op(Mul, v[0], v[2]));
                (op(Mul, v[0], op(Add, v[1], v[2])), op(Add, ab, ac))
            });
            holds(|op, v| (op(Mul, v[0], v[3]), v[0]));
            holds(|op, v| (op(Sub, op(Add, v[0], v[1]), v[1]), v[0]));
            holds(|op, v| {
                let (ab, ba) = (op(Add, v[0], v[1]), op(Add, v[1], v[0]));
                (op(Max, ab, v[2]), op(Max, v[2], ba))
            });
        }
    }

    #[test]
    fn what_no_ring_has() {
        use Prim::{Add, Max, WrappingAdd, WrappingMul};
        let fails = |o: Outcome| matches!(o, Outcome::Fails(..));
        assert!(fails(sides(Elem::I32, |op, v| (op(WrappingMul, v[0], v[1]), op(WrappingAdd, v[0], v[1])))));
        // The order of words is not kept by a sum that wraps around.
        assert!(fails(sides(Elem::I8, |op, v| {
            let (ac, bc) = (op(WrappingAdd, v[0], v[2]), op(WrappingAdd, v[1], v[2]));
            (op(WrappingAdd, op(Max, v[0], v[1]), v[2]), op(Max, ac, bc))
        })));
        // A plain sum of integers gives the low bits too; one of floats does not.
        let plain =
            |elem| sides(elem, |op, v| (op(Add, op(Add, v[0], v[1]), v[2]), op(Add, v[0], op(Add, v[1], v[2]))));
        assert_eq!(plain(Elem::I32), Outcome::Holds);
        assert!(fails(plain(Elem::F32)) && fails(plain(Elem::F64)));
    }
}
