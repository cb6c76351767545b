//! Where did each fact of the search come from? Every fact has a number and an origin; when a contradiction is
//! found, following the origins back gives the steps that a certificate needs.
//!
//! Numbers are handed out in order and taken back on return from a case ([`Record::release`]), so along one branch of
//! the search they are unique and ascend.

use crate::certificate::{Fact, Linear};

/// The number of a fact in the [`Record`].
pub(super) type Id = u32;

/// Why the search stops without a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// A number beyond 128 bits.
    Overflow,
    /// More cases, rows or facts than allowed.
    Budget,
    /// An inconsistency of the search itself; never expected.
    Confused,
}

/// What a fact says, when it is linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `e >= 0`.
    AtLeastZero,
    /// `e = 0`.
    Zero,
    /// A disjunction or `false`: `e` is not used.
    Other,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// The problem, or the assumption of a case.
    Assumed,
    /// Multiples of other facts, at these places of the pool, divided.
    Combined { first: u32, end: u32, divisor: i128 },
    /// Two opposite inequalities.
    Squeezed(Id, Id),
    /// The definition of this name.
    Defined(u32),
}

pub(super) struct Entry {
    pub(super) shape: Shape,
    pub(super) e: Linear,
    /// A linear hash of the coefficients: opposite for opposite coefficients.
    pub(super) hash: u64,
    pub(super) origin: Origin,
}

/// All facts of the current branch.
pub(super) struct Record {
    entries: Vec<Entry>,
    pool: Vec<(Id, i128)>,
    /// The next free name.
    pub(super) names: u32,
    /// The definitions of the last names, in order.
    definitions: Vec<Id>,
    /// Work done so far, also for facts taken back.
    work: usize,
}

/// A point to return to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    entries: usize,
    pool: usize,
    names: u32,
}

/// Terms written in one search, at most (see [`Record::charge`]). A plain condition needs some hundreds.
const MOST_WORK: usize = 2_000_000;

impl Record {
    pub(super) fn new(names: u32) -> Record {
        Record {
            entries: Vec::with_capacity(128),
            pool: Vec::with_capacity(256),
            names,
            definitions: Vec::new(),
            work: 0,
        }
    }

    pub(super) fn get(&self, id: Id) -> &Entry {
        &self.entries[id as usize]
    }

    pub(super) fn e(&self, id: Id) -> &Linear {
        &self.entries[id as usize].e
    }

    pub(super) fn parts(&self, first: u32, end: u32) -> &[(Id, i128)] {
        &self.pool[first as usize..end as usize]
    }

    pub(super) fn next_id(&self) -> Id {
        self.entries.len() as Id
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { entries: self.entries.len(), pool: self.pool.len(), names: self.names }
    }

    pub(super) fn release(&mut self, mark: Mark) {
        self.entries.truncate(mark.entries);
        self.pool.truncate(mark.pool);
        self.definitions.truncate(self.definitions.len() - (self.names - mark.names) as usize);
        self.names = mark.names;
    }

    /// The fact that defines `name`, if the search made that name.
    pub(super) fn definition(&self, name: u32) -> Option<Id> {
        let first = self.names - self.definitions.len() as u32;
        self.definitions.get(name.checked_sub(first)? as usize).copied()
    }

    /// `e` without the names that the search made.
    pub(super) fn expand(&self, e: &Linear) -> Result<Linear, Stop> {
        let mut e = e.clone();
        // A definition mentions earlier names only, so the last name goes first.
        while let Some((name, coefficient)) = e.terms.last().copied() {
            let Some(definition) = self.definition(name) else { break };
            let multiple = coefficient.checked_neg().ok_or(Stop::Overflow)?;
            e = e.plus(multiple, self.e(definition)).ok_or(Stop::Overflow)?;
        }
        Ok(e)
    }

    /// Counts work, in units of a term that is written to memory.
    pub(super) fn charge(&mut self, work: usize) -> Result<(), Stop> {
        self.work += work;
        if self.work > MOST_WORK { Err(Stop::Budget) } else { Ok(()) }
    }

    fn push(&mut self, shape: Shape, e: Linear, origin: Origin) -> Result<Id, Stop> {
        self.charge(1 + e.terms.len())?;
        let mut hash = 0u64;
        for (name, coefficient) in &e.terms {
            hash = hash.wrapping_add(scatter(*name).wrapping_mul(*coefficient as u64));
        }
        self.entries.push(Entry { shape, e, hash, origin });
        Ok((self.entries.len() - 1) as Id)
    }

    /// Records a fact of the problem or of a case.
    pub(super) fn assume(&mut self, fact: &Fact) -> Result<Id, Stop> {
        match fact {
            Fact::AtLeastZero(e) => self.push(Shape::AtLeastZero, e.clone(), Origin::Assumed),
            Fact::Zero(e) => self.push(Shape::Zero, e.clone(), Origin::Assumed),
            Fact::False | Fact::OneOf(_) => self.push(Shape::Other, Linear::constant(0), Origin::Assumed),
        }
    }

    /// The sum of multiples of facts, divided by its common divisor. For an equality whose constant is not divisible
    /// the sum is left as it is: it is absurd.
    pub(super) fn combine(&mut self, shape: Shape, parts: &[(Id, i128)]) -> Result<Id, Stop> {
        let sum = match parts {
            [(a, 1), (b, m)] => self.e(*a).plus(*m, self.e(*b)),
            [(a, m), (b, n)] => self.e(*a).times(*m).and_then(|e| e.plus(*n, self.e(*b))),
            _ => parts.iter().try_fold(Linear::constant(0), |sum, (id, m)| sum.plus(*m, self.e(*id))),
        };
        let sum = sum.ok_or(Stop::Overflow)?;
        let common = i128::try_from(sum.common_divisor()).map_err(|_| Stop::Overflow)?;
        let absurd = shape == Shape::Zero && common > 1 && sum.constant % common != 0;
        let divisor = if common > 1 && !absurd { common } else { 1 };
        let e = sum.divide_floor(divisor).ok_or(Stop::Confused)?;
        let first = self.pool.len() as u32;
        self.pool.extend_from_slice(parts);
        let end = self.pool.len() as u32;
        self.push(shape, e, Origin::Combined { first, end, divisor })
    }

    /// From `e >= 0` and `-e >= 0`.
    pub(super) fn squeeze(&mut self, above: Id, below: Id) -> Result<Id, Stop> {
        let e = self.e(above).clone();
        self.push(Shape::Zero, e, Origin::Squeezed(above, below))
    }

    /// Gives a fresh name to `value`; the fact is `name - value = 0`.
    pub(super) fn define(&mut self, value: &Linear) -> Result<Id, Stop> {
        let name = self.names;
        let e = Linear::name(name).plus(-1, value).ok_or(Stop::Overflow)?;
        self.names += 1;
        self.definitions.push(self.entries.len() as Id);
        self.push(Shape::Zero, e, Origin::Defined(name))
    }
}

/// Different odd numbers for different names.
fn scatter(name: u32) -> u64 {
    (u64::from(name) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}
