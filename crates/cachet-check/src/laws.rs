//! Does an implementation have the laws that it states?
//!
//! A law over the reals is proved ([`reals`]) or, with a reason, taken on trust; one that is seen to be false is refused,
//! whatever the reason. A law that holds `exactly` is proved ([`exact`]) or refused: claims about bits may rest on it.

mod exact;
mod polynomial;
mod reals;
mod terms;

use crate::proofs::Decided;
use cachet_core::chain::Operation;
use cachet_core::interpret::scalar;
use cachet_core::ir::{Binding, Fun, Impl, ImplId, Interface, Program, PureId, Word};
use cachet_core::law::{Law, Property, Sense, StatedLaw};
use cachet_core::rewrite::{Visit, visit_word};
use cachet_source::{Counterexample, Diagnostic, Kind as Severity, codes};
use reals::Infinities;
use terms::{Terms, Value};

/// A law that an implementation has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownLaw {
    /// The law.
    pub law: Law,
    /// Why it may be used.
    pub basis: Basis,
}

/// Why a law may be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Basis {
    /// It was proved here.
    Proved,
    /// It was not, and the file gives this reason.
    Trusted(String),
}

/// How an operation stands to a property of the words themselves.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Standing {
    /// It has it: proved of an implementation, wanted of a type parameter by its interface.
    Proved,
    /// An implementation states it, and it is false.
    False(Fails),
    /// An implementation states it, and it was not proved, for this reason.
    NotProved(String),
    /// Nobody states it.
    Missing {
        /// It is stated over the reals.
        over_reals: bool,
        /// What a proof would find.
        found: Found,
    },
}

/// Where an equation is false: the elements, and both sides where they are known.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Fails {
    /// Names and values.
    pub values: Vec<(String, String)>,
    /// The values of both sides.
    pub sides: Option<Sides>,
}

/// What a proof of a property that nobody states finds.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Found {
    /// It holds.
    Holds,
    /// It is false.
    Fails(Fails),
    /// It is not decided, or about operations that nobody knows.
    Nothing,
}

/// How an operation stands to a property of the words themselves. Nothing is taken on trust.
pub(crate) fn standing(program: &Program, fun: &Fun, op: &Operation, property: Property) -> Standing {
    let stated = op.stated(program, fun);
    let states = |sense| stated.contains(&Law { property, sense });
    let over_reals = states(Sense::Reals);
    let Binding::Impl(id) = op.of else {
        let missing = Standing::Missing { over_reals, found: Found::Nothing };
        return if states(Sense::Exactly) { Standing::Proved } else { missing };
    };
    let Some(imp) = program.impls.get(id.index()) else {
        return Standing::Missing { over_reals: false, found: Found::Nothing };
    };
    let outcome = match equations(program, imp, property) {
        Some((terms, sides)) => prove(program, imp, Sense::Exactly, &terms, &sides),
        None => Outcome::Unknown("its operations are more than operations on elements".into()),
    };
    match (outcome, states(Sense::Exactly)) {
        (Outcome::Holds, true) => Standing::Proved,
        (Outcome::Fails(values, sides), true) => Standing::False(Fails { values, sides }),
        (Outcome::Unknown(why), true) => Standing::NotProved(why),
        (Outcome::Holds, false) => Standing::Missing { over_reals, found: Found::Holds },
        (Outcome::Fails(values, sides), false) => {
            Standing::Missing { over_reals, found: Found::Fails(Fails { values, sides }) }
        }
        (Outcome::Unknown(_), false) => Standing::Missing { over_reals, found: Found::Nothing },
    }
}

/// Whether an implementation states a law and has it: nothing is taken on trust.
pub(crate) fn proved(program: &Program, id: ImplId, law: Law) -> bool {
    let stated = |imp: &&Impl| imp.laws.iter().any(|s| s.law == law);
    let sides = |imp: &Impl| equations(program, imp, law.property);
    program.impls.get(id.index()).filter(stated).is_some_and(|imp| {
        sides(imp).is_some_and(|(terms, sides)| prove(program, imp, law.sense, &terms, &sides) == Outcome::Holds)
    })
}

/// The values of both sides.
pub(crate) type Sides = (String, String);

/// What became of an equation.
#[derive(Clone, PartialEq, Debug)]
enum Outcome {
    Holds,
    /// It is false where the elements have these values; what the sides are there.
    Fails(Vec<(String, String)>, Option<Sides>),
    /// It was not decided, for this reason.
    Unknown(String),
}

/// Decides each law that an implementation states, in order.
pub(crate) fn decide(program: &Program, id: ImplId) -> Vec<Result<KnownLaw, Box<Diagnostic>>> {
    let Some(imp) = program.impls.get(id.index()) else { return vec![] };
    imp.laws.iter().map(|stated| one(program, imp, stated)).collect()
}

fn one(program: &Program, imp: &Impl, stated: &StatedLaw) -> Result<KnownLaw, Box<Diagnostic>> {
    let law = stated.law;
    let text = program.interfaces.get(imp.interface as usize).map_or_else(String::new, |i| law.text(i));
    let outcome = match equations(program, imp, law.property) {
        Some((terms, sides)) => prove(program, imp, law.sense, &terms, &sides),
        None => Outcome::Unknown("its operations are more than operations on elements".into()),
    };
    let d = match (outcome, law.sense, &stated.reason) {
        (Outcome::Holds, _, _) => return Ok(KnownLaw { law, basis: Basis::Proved }),
        (Outcome::Unknown(_), Sense::Reals, Some(reason)) => {
            return Ok(KnownLaw { law, basis: Basis::Trusted(reason.clone()) });
        }
        (Outcome::Fails(values, sides), _, _) => {
            let mut d = Diagnostic::new(
                Severity::Wrong,
                codes::LAW,
                format!("the law `{text}` is false of `{}`: {}", imp.name, meaning(program, imp, law.property)),
            );
            d.counterexample = Some(Counterexample { values, replay: None });
            if let Some((left, right)) = sides {
                d = d.note(format!("there the left side is {left}, and the right side is {right}"));
            }
            d
        }
        (Outcome::Unknown(why), Sense::Reals, None) => {
            let message = format!("could not prove the law `{text}` of `{}`", imp.name);
            Diagnostic::new(Severity::NotProved, codes::LAW, message)
                .note(format!("it says {}", meaning(program, imp, law.property)))
                .note(format!("the proof does not get past this: {why}"))
                .help(format!("give a reason, and it is taken on trust: `law {text} = \"..\"`"))
        }
        (Outcome::Unknown(why), Sense::Exactly, reason) => {
            let message = format!("could not prove the law `{text}` of `{}`", imp.name);
            let mut d = Diagnostic::new(Severity::NotProved, codes::LAW, message)
                .note(format!("it says {}", meaning(program, imp, law.property)))
                .note(format!("the proof does not get past this: {why}"));
            if reason.is_some() {
                d = d.note("a law `exactly` is never taken on trust: claims about bits may rest on it");
            }
            d
        }
    };
    Err(Box::new(d.at(stated.span.0, "")))
}

/// The conditions on integers that deciding an implementation's laws comes to, as data.
pub fn conditions(program: &Program, id: ImplId) -> Vec<Decided> {
    let of = |imp: &Impl, stated: &StatedLaw| {
        let Some((terms, sides)) = equations(program, imp, stated.law.property) else { return Vec::new() };
        prove(program, imp, stated.law.sense, &terms, &sides);
        terms.asked()
    };
    program.impls.get(id.index()).map_or_else(Vec::new, |imp| imp.laws.iter().flat_map(|l| of(imp, l)).collect())
}

/// Pairs of values that a property says are equal.
fn equations(program: &Program, imp: &Impl, property: Property) -> Option<(Terms, Vec<(Value, Value)>)> {
    let mut terms = Terms::default();
    let count = match property {
        Property::Associative(_) | Property::Distributive { .. } | Property::MulAdd { .. } => 3,
        Property::Commutative(_) => 2,
        Property::Idempotent(_) | Property::Identity { .. } | Property::Annihilates { .. } => 1,
    };
    let mut any = Vec::new();
    for name in ["a", "b", "c"].iter().take(count) {
        any.push(terms.any(name, &imp.value)?);
    }
    let mut apply = |op: u32, args: &[&Value]| {
        let f: PureId = *imp.methods.get(op as usize)?;
        terms.apply(program, f, &args.iter().map(|a| (*a).clone()).collect::<Vec<_>>())
    };
    let sides = match (property, any.as_slice()) {
        (Property::Associative(op), [a, b, c]) => {
            let (ab, bc) = (apply(op, &[a, b])?, apply(op, &[b, c])?);
            vec![(apply(op, &[&ab, c])?, apply(op, &[a, &bc])?)]
        }
        (Property::Commutative(op), [a, b]) => vec![(apply(op, &[a, b])?, apply(op, &[b, a])?)],
        (Property::Idempotent(op), [a]) => vec![(apply(op, &[a, a])?, a.clone())],
        (Property::Identity { op, element }, [a]) => {
            let e = apply(element, &[])?;
            vec![(apply(op, &[&e, a])?, a.clone()), (apply(op, &[a, &e])?, a.clone())]
        }
        (Property::Distributive { mul, add }, [a, b, c]) => {
            let (bc, ab, ac) = (apply(add, &[b, c])?, apply(mul, &[a, b])?, apply(mul, &[a, c])?);
            let (ba, ca) = (apply(mul, &[b, a])?, apply(mul, &[c, a])?);
            vec![(apply(mul, &[a, &bc])?, apply(add, &[&ab, &ac])?), (apply(mul, &[&bc, a])?, apply(add, &[&ba, &ca])?)]
        }
        (Property::MulAdd { fused, mul, add }, [a, b, c]) => {
            let ab = apply(mul, &[a, b])?;
            vec![(apply(fused, &[a, b, c])?, apply(add, &[c, &ab])?)]
        }
        (Property::Annihilates { mul, zero }, [a]) => {
            let z = apply(zero, &[])?;
            vec![(apply(mul, &[&z, a])?, z.clone()), (apply(mul, &[a, &z])?, z)]
        }
        _ => return None,
    };
    Some((terms, sides))
}

fn prove(program: &Program, imp: &Impl, sense: Sense, terms: &Terms, sides: &[(Value, Value)]) -> Outcome {
    let infinities = infinities(program, imp);
    for (left, right) in sides {
        let (left, right) = (left.leaves(), right.leaves());
        if left.len() != right.len() {
            return Outcome::Unknown("its sides are of different types".into());
        }
        for ((l, _), (r, _)) in left.into_iter().zip(right) {
            let outcome = match sense {
                Sense::Reals => reals::equal(terms, l, r, infinities),
                Sense::Exactly => exact::equal(terms, l, r),
            };
            if outcome != Outcome::Holds {
                return outcome;
            }
        }
    }
    Outcome::Holds
}

/// The infinities that an implementation's operations name: they belong to its numbers.
fn infinities(program: &Program, imp: &Impl) -> Infinities {
    struct Found<'a>(&'a Program, Infinities);
    impl Visit for Found<'_> {
        fn word(&mut self, word: &Word) {
            match word {
                Word::Lit(l) => {
                    if let Some(x) = scalar::to_f64(l.elem, l.bits).filter(|x| x.is_infinite()) {
                        self.1.above |= x > 0.0;
                        self.1.below |= x < 0.0;
                    }
                }
                // The depth of applications is bounded.
                Word::Apply(f, _) => {
                    if let Some(pure) = self.0.pures.get(f.index()) {
                        self.word(&pure.body);
                    }
                }
                _ => {}
            }
            visit_word(self, word);
        }
    }
    let mut found = Found(program, Infinities::default());
    for f in &imp.methods {
        if let Some(pure) = program.pures.get(f.index()) {
            found.word(&pure.body);
        }
    }
    found.1
}

/// A property in the implementation's own names.
fn meaning(program: &Program, imp: &Impl, property: Property) -> String {
    says(program.interfaces.get(imp.interface as usize), property)
}

/// A property in an interface's own names.
pub(crate) fn says(interface: Option<&Interface>, property: Property) -> String {
    let name = |op: u32| interface.and_then(|i| i.methods.get(op as usize)).map_or("?", |m| m.0.as_str());
    match property {
        Property::Associative(op) => {
            let op = name(op);
            format!("{op} ({op} a b) c == {op} a ({op} b c)")
        }
        Property::Commutative(op) => format!("{op} a b == {op} b a", op = name(op)),
        Property::Idempotent(op) => format!("{} a a == a", name(op)),
        Property::Identity { op, element } => {
            let (op, e) = (name(op), name(element));
            format!("{op} ({e} ()) a == a and {op} a ({e} ()) == a")
        }
        Property::Distributive { mul, add } => {
            let (mul, add) = (name(mul), name(add));
            format!("{mul} a ({add} b c) == {add} ({mul} a b) ({mul} a c), and from the right")
        }
        Property::MulAdd { fused, mul, add } => {
            format!("{} a b c == {} c ({} a b)", name(fused), name(add), name(mul))
        }
        Property::Annihilates { mul, zero } => {
            let (mul, zero) = (name(mul), name(zero));
            format!("{mul} ({zero} ()) a == {zero} () and {mul} a ({zero} ()) == {zero} ()")
        }
    }
}
