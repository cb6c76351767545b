//! Indices as sums of multiples, so that what loops outside a nest decide falls out of how far an index goes inside it.

use crate::tally::Walk;
use cachet_core::ir::{BlockPart, Ix, VarKind};
use std::collections::BTreeSet;

/// What an index is made of. Loops go by their numbers in the nest.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Atom {
    /// A plain loop's index.
    Index(usize),
    /// The first index of a block, its length, and its number.
    First(usize),
    Length(usize),
    Number(usize),
    /// A quotient or a remainder.
    Quotient(Box<Form>, i64),
    Remainder(Box<Form>, i64),
    /// The least or the largest of some.
    OneOf(Vec<Form>),
    /// Anything that depends on these loops.
    Unknown(Vec<usize>),
    /// All indices at once.
    Everywhere,
}

/// `constant + sum of factor * atom`; no atom twice.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) struct Form {
    pub terms: Vec<(Atom, i64)>,
    pub constant: i64,
}

/// A loop of the nest.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    /// How many iterations it has at most.
    pub trips: i64,
    /// Where it starts.
    pub lo: Form,
    /// The size of its blocks.
    pub block: Option<i64>,
}

/// Beyond what any array has.
const FAR: i64 = 1 << 50;

impl Form {
    fn lit(constant: i64) -> Form {
        Form { terms: Vec::new(), constant }
    }

    fn atom(a: Atom) -> Form {
        Form { terms: vec![(a, 1)], constant: 0 }
    }

    pub(super) fn plus(mut self, factor: i64, other: &Form) -> Form {
        self.constant = self.constant.saturating_add(factor.saturating_mul(other.constant));
        for (a, n) in &other.terms {
            let n = n.saturating_mul(factor);
            match self.terms.iter_mut().find(|(b, _)| a == b) {
                Some((_, m)) => *m = m.saturating_add(n),
                None => self.terms.push((a.clone(), n)),
            }
        }
        self.terms.retain(|(_, n)| *n != 0);
        self.terms.sort();
        self
    }

    /// An index where a walk stands; `number` gives the loops of its variables, `size` the values of sizes.
    pub(super) fn of(
        walk: &Walk<'_, '_>,
        ix: &Ix,
        number: &dyn Fn(cachet_core::ir::Var) -> Option<usize>,
        size: &dyn Fn(&Walk<'_, '_>, &Ix) -> Option<i64>,
    ) -> Form {
        let of = |i: &Ix| Form::of(walk, i, number, size);
        let block = |v, part: &BlockPart| match (number(v), part) {
            (None, _) => Form::atom(Atom::Unknown(Vec::new())),
            (Some(g), BlockPart::Lo) => Form::atom(Atom::First(g)),
            (Some(g), BlockPart::Hi) => Form::atom(Atom::First(g)).plus(1, &Form::atom(Atom::Length(g))),
            (Some(g), BlockPart::Len) => Form::atom(Atom::Length(g)),
            (Some(g), BlockPart::Idx) => Form::atom(Atom::Number(g)),
        };
        match ix {
            Ix::Lit(n) => Form::lit(*n),
            Ix::Var(v) => match walk.scope.fun.vars[v.index()].kind {
                VarKind::Size => size(walk, ix).map_or_else(|| Form::atom(Atom::Unknown(Vec::new())), Form::lit),
                VarKind::Index | VarKind::Block | VarKind::Lane(_) | VarKind::Instr(..) => {
                    number(*v).map_or_else(|| Form::atom(Atom::Unknown(Vec::new())), |l| Form::atom(Atom::Index(l)))
                }
            },
            Ix::Add(a, b) => of(a).plus(1, &of(b)),
            Ix::Sub(a, b) => of(a).plus(-1, &of(b)),
            Ix::Mul(n, a) => Form::lit(0).plus(*n, &of(a)),
            Ix::Div(a, n) => part(of(a), *n, true),
            Ix::Mod(a, n) => part(of(a), *n, false),
            Ix::Min(a, b) | Ix::Max(a, b) => {
                let (a, b) = (of(a), of(b));
                if a == b { a } else { Form::atom(Atom::OneOf(vec![a, b])) }
            }
            Ix::If(..) => {
                let live = cachet_core::rewrite::Live::of_ix(ix);
                Form::atom(Atom::Unknown(live.vars.iter().filter_map(|v| number(*v)).collect()))
            }
            Ix::Block(g, part) => block(*g, part),
            Ix::InBlock(g, e) => block(*g, &BlockPart::Lo).plus(1, &of(e)),
        }
    }

    /// How far apart two of its values are at most, while the loops `inside` run and all others stand still.
    pub(super) fn spread(&self, loops: &[Loop], inside: &BTreeSet<usize>) -> i64 {
        let all = self.terms.iter().map(|(a, n)| a.spread(loops, inside).saturating_mul(n.saturating_abs()));
        all.fold(0, i64::saturating_add).min(FAR)
    }

    /// Anything at all.
    pub(super) fn anywhere() -> Form {
        Form::atom(Atom::Everywhere)
    }

    /// Whether it may go up and down again while a loop goes on.
    pub(super) fn jumps(&self) -> bool {
        self.terms.iter().any(|(a, _)| match a {
            Atom::Remainder(..) | Atom::OneOf(_) | Atom::Unknown(_) => true,
            Atom::Quotient(of, _) => of.jumps(),
            Atom::Index(_) | Atom::First(_) | Atom::Length(_) | Atom::Number(_) | Atom::Everywhere => false,
        })
    }

    /// Whether its values may differ between iterations of a loop.
    pub(super) fn depends(&self, loops: &[Loop], on: usize) -> bool {
        self.spread(loops, &BTreeSet::from([on])) > 0
    }

    /// What its least value is surely a multiple of; 0 where that is 0 itself.
    pub(super) fn alignment(&self, loops: &[Loop], inside: &BTreeSet<usize>) -> i64 {
        self.terms.iter().fold(self.constant, |all, (a, n)| {
            let first = match a {
                Atom::Index(l) if *n > 0 && inside.contains(l) => loops[*l].lo.alignment(loops, inside),
                Atom::First(l) if *n > 0 => {
                    let size = if inside.contains(l) { 0 } else { loops[*l].block.unwrap_or(1) };
                    common(loops[*l].lo.alignment(loops, inside), size)
                }
                Atom::Number(l) if *n > 0 && inside.contains(l) => 0,
                Atom::Index(_)
                | Atom::First(_)
                | Atom::Number(_)
                | Atom::Length(_)
                | Atom::Quotient(..)
                | Atom::Remainder(..)
                | Atom::OneOf(_)
                | Atom::Unknown(_)
                | Atom::Everywhere => 1,
            };
            common(all, n.saturating_mul(first))
        })
    }
}

fn part(of: Form, n: i64, quotient: bool) -> Form {
    if of.terms.is_empty() {
        return Form::lit(if quotient { of.constant.div_euclid(n) } else { of.constant.rem_euclid(n) });
    }
    Form::atom(if quotient { Atom::Quotient(Box::new(of), n) } else { Atom::Remainder(Box::new(of), n) })
}

impl Atom {
    fn spread(&self, loops: &[Loop], inside: &BTreeSet<usize>) -> i64 {
        let further = |l: usize, step: i64| {
            let own = if inside.contains(&l) { (loops[l].trips - 1).max(0).saturating_mul(step) } else { 0 };
            // Where it starts may move with loops around it.
            own.saturating_add(loops[l].lo.spread(loops, inside))
        };
        match self {
            Atom::Index(l) => further(*l, 1),
            Atom::First(l) => further(*l, loops[*l].block.unwrap_or(1)),
            Atom::Length(l) if inside.contains(l) => loops[*l].block.unwrap_or(1) - 1,
            Atom::Length(_) => 0,
            Atom::Number(l) if inside.contains(l) => (loops[*l].trips - 1).max(0),
            Atom::Number(_) => 0,
            Atom::Quotient(of, n) => match of.spread(loops, inside) {
                0 => 0,
                far => far / n + i64::from(far % n != 0),
            },
            Atom::Remainder(of, n) => {
                if of.spread(loops, inside) == 0 {
                    0
                } else {
                    n - 1
                }
            }
            Atom::OneOf(all) => all.iter().map(|f| f.spread(loops, inside)).max().unwrap_or(0),
            Atom::Unknown(on) if on.iter().any(|l| inside.contains(l)) => FAR,
            Atom::Unknown(_) => 0,
            Atom::Everywhere => FAR,
        }
    }
}

/// The greatest number that divides both; 0 is divided by all.
pub(super) fn common(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while a != 0 {
        (a, b) = (b % a, a);
    }
    i64::try_from(b).unwrap_or(1)
}
