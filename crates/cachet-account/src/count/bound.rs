//! What is a count at least, and at most, wherever the loops around it are?
//!
//! Loop variables are taken out one after another, the innermost first, each replaced by the end of its range that makes
//! the count smaller (or larger). Bounds hold where all those loops run; what comes out is in sizes alone.

use super::{Atom, Count, Monomial, Ratio};
use cachet_core::ir::Var;
use std::collections::BTreeMap;

/// The values of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Range {
    /// At least 0.
    Size,
    /// From the first to below the second.
    Loop(Count, Count),
    /// The blocks of so many from the first to below the second: numbers from 0, lengths from 1 to the size.
    Blocks(Count, Count, i64),
}

/// The variables in scope, outermost first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ranges {
    of: BTreeMap<Var, Range>,
    order: Vec<Var>,
}

/// Which bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Least,
    Most,
}

/// How deep questions about parts of a count may nest.
const DEPTH: u32 = 12;

impl Ranges {
    /// Enters the scope of a variable.
    pub fn enter(&mut self, v: Var, range: Range) {
        self.order.push(v);
        self.of.insert(v, range);
    }

    /// Leaves the innermost scope.
    pub fn leave(&mut self) {
        if let Some(v) = self.order.pop() {
            self.of.remove(&v);
        }
    }

    /// The loop variables in scope, innermost first.
    fn loops(&self) -> impl Iterator<Item = Var> {
        self.order.iter().rev().copied().filter(|v| self.of.get(v) != Some(&Range::Size))
    }

    /// How many loops are in scope.
    pub fn depth(&self) -> usize {
        self.order.len()
    }

    /// Whether a count is surely at least 0.
    pub fn not_negative(&self, c: &Count) -> bool {
        self.at_least_0(c, DEPTH)
    }

    /// At most this, without the variables of loops. `None` where no bound was found.
    pub fn most(&self, c: &Count) -> Option<Count> {
        let mut out = c.clone();
        for v in self.loops() {
            out = self.without(&out, v, End::Most, DEPTH)?;
        }
        (!out.is_lost()).then_some(out)
    }

    /// At most this, without one variable.
    pub fn most_over(&self, c: &Count, v: Var) -> Option<Count> {
        self.without(c, v, End::Most, DEPTH)
    }

    fn at_least_0(&self, c: &Count, depth: u32) -> bool {
        if depth == 0 || c.is_lost() {
            return false;
        }
        if self.plainly(c, depth) {
            return true;
        }
        let mut least = c.clone();
        for v in self.loops() {
            if !least.depends(v) {
                continue;
            }
            match self.without(&least, v, End::Least, depth - 1) {
                Some(l) => least = l,
                None => return false,
            }
            if self.plainly(&least, depth - 1) {
                return true;
            }
        }
        self.plainly(&self.rounded(&least, depth), depth)
    }

    /// Whether no term takes anything away.
    fn plainly(&self, c: &Count, depth: u32) -> bool {
        !c.is_lost() && c.terms().all(|(m, r)| !r.is_negative() && m.keys().all(|a| self.atom_at_least_0(a, depth)))
    }

    fn atom_at_least_0(&self, a: &Atom, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        match a {
            Atom::Var(v) => match self.of.get(v) {
                Some(Range::Size | Range::Blocks(..)) => true,
                Some(Range::Loop(lo, _)) => self.at_least_0(lo, depth),
                None => false,
            },
            Atom::Len(_) | Atom::Holds(..) => true,
            Atom::Floor(a, _) | Atom::Ceil(a, _) => self.at_least_0(a, depth),
            Atom::Max(a, b) => self.at_least_0(a, depth) || self.at_least_0(b, depth),
            Atom::Min(a, b) => self.at_least_0(a, depth) && self.at_least_0(b, depth),
            Atom::Sum(s) => {
                let mut inside = self.clone();
                inside.enter(s.var, Range::Loop(s.lo.clone(), s.hi.clone()));
                inside.at_least_0(&s.body, depth)
            }
        }
    }

    /// At least this: quotients by what they are rounded from.
    fn rounded(&self, c: &Count, depth: u32) -> Count {
        let mut out = Count::zero();
        for (m, r) in c.terms() {
            let mut term = Count::ratio(r);
            for (a, n) in m {
                let part = match a {
                    Atom::Floor(..) | Atom::Ceil(..) if *n == 1 && self.others(m, a, depth) => {
                        unrounded(a, r.is_negative())
                    }
                    _ => None,
                };
                term = term.times(&part.unwrap_or_else(|| Count::atom(a.clone()).power(*n)));
            }
            out = out.plus(&term);
        }
        out
    }

    /// Whether all other factors of a product are sizes: then it grows with this one.
    fn others(&self, m: &Monomial, a: &Atom, depth: u32) -> bool {
        m.keys().filter(|b| *b != a).all(|b| matches!(b, Atom::Var(_)) && self.atom_at_least_0(b, depth))
    }

    /// A bound that does not have a variable.
    fn without(&self, c: &Count, v: Var, end: End, depth: u32) -> Option<Count> {
        let c = &self.block_ends(c, v, end);
        let mut out = Count::zero();
        for (m, r) in c.terms() {
            let (with, rest): (Monomial, Monomial) = m.clone().into_iter().partition(|(a, _)| one(a).depends(v));
            let rest = Count { terms: BTreeMap::from([(rest, Ratio::ONE)]), lost: false };
            let end = if r.is_negative() { end.other() } else { end };
            let mut term = rest.times(&Count::ratio(r));
            let several = with.len() > 1 || with.values().any(|n| *n > 1);
            if !with.is_empty() && !self.at_least_0(&rest, depth.checked_sub(1)?) {
                return None;
            }
            for (a, n) in &with {
                let bound = self.atom_without(a, v, end, depth.checked_sub(1)?)?;
                let smaller = if end == End::Least { bound.clone() } else { one(a) };
                if several && !self.at_least_0(&smaller, depth.checked_sub(1)?) {
                    return None;
                }
                term = term.times(&bound.power(*n));
            }
            out = out.plus(&term);
        }
        (!out.is_lost()).then_some(out)
    }

    /// `-(n * g + len g)`, with which the end of a block is taken away, is at least what takes the end of all blocks away.
    fn block_ends(&self, c: &Count, v: Var, end: End) -> Count {
        let Some(Range::Blocks(lo, hi, n)) = self.of.get(&v) else { return c.clone() };
        let factor = |a: Atom| c.terms.get(&BTreeMap::from([(a, 1)])).copied().unwrap_or(Ratio::ZERO);
        let (number, len) = (factor(Atom::Var(v)), factor(Atom::Len(v)));
        let upwards = (end == End::Most) != len.is_negative();
        let same = len.times(Ratio::whole((*n).into())) == Some(number);
        if len.is_zero() || !upwards || !same {
            return c.clone();
        }
        let block = Count::atom(Atom::Var(v)).scaled(*n).plus(&Count::atom(Atom::Len(v)));
        c.minus(&block.times(&Count::ratio(len))).plus(&hi.minus(lo).times(&Count::ratio(len)))
    }

    fn atom_without(&self, a: &Atom, v: Var, end: End, depth: u32) -> Option<Count> {
        let inside = |c: &Count| self.without(c, v, end, depth);
        let none = Ranges::default();
        Some(match (a, self.of.get(&v)?) {
            (_, Range::Size) => return None,
            (Atom::Var(_), Range::Loop(lo, hi)) => match end {
                End::Least => lo.clone(),
                End::Most => hi.minus(&Count::lit(1)),
            },
            (Atom::Var(_), Range::Blocks(lo, hi, n)) => match end {
                End::Least => Count::zero(),
                End::Most => hi.minus(lo).ceil(*n).minus(&Count::lit(1)),
            },
            (Atom::Len(_), Range::Blocks(_, _, n)) => Count::lit(if end == End::Least { 1 } else { *n }),
            (Atom::Len(_), Range::Loop(..)) => return None,
            (Atom::Floor(a, n), _) => inside(a)?.floor(*n),
            (Atom::Ceil(a, n), _) => inside(a)?.ceil(*n),
            (Atom::Max(a, b), _) => inside(a)?.larger(&inside(b)?, &none),
            (Atom::Min(a, b), _) => inside(a)?.smaller(&inside(b)?, &none),
            (Atom::Holds(..), _) => Count::lit(i128::from(end == End::Most)),
            (Atom::Sum(_), _) => return None,
        })
    }
}

impl End {
    fn other(self) -> End {
        match self {
            End::Least => End::Most,
            End::Most => End::Least,
        }
    }
}

fn one(a: &Atom) -> Count {
    Count::atom(a.clone())
}

/// A quotient's exact value, moved to the side that makes a term smaller.
fn unrounded(a: &Atom, negative: bool) -> Option<Count> {
    let (Atom::Floor(c, n) | Atom::Ceil(c, n)) = a else { return None };
    let slack = match (a, negative) {
        (Atom::Floor(..), false) => 1 - n,
        (Atom::Ceil(..), true) => n - 1,
        _ => 0,
    };
    Some(c.plus(&Count::lit(slack)).times(&Count::ratio(Ratio::new(1, (*n).into())?)))
}
