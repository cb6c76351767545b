//! Sums over loops in closed form.
//!
//! A polynomial in the loop's variable is summed by its powers; a condition that bounds the variable shortens the loop; of
//! blocks all but the last are full, so a sum over them is one over the full ones and one over what is left. What has no
//! closed form stays a sum, with the same value.

use super::{Atom, Count, Monomial, Range, Ranges, Ratio, Sign, Summed};
use cachet_core::ir::Var;
use std::collections::BTreeMap;

impl Count {
    /// The sum over a variable of a loop. `ranges` are those around the loop.
    pub fn summed(&self, v: Var, range: &Range, ranges: &Ranges) -> Count {
        match range {
            Range::Size => Count::lost(),
            Range::Loop(lo, hi) => over_range(self, v, lo, hi, ranges),
            Range::Blocks(lo, hi, n) => over_blocks(self, v, (lo, hi, *n), ranges),
        }
    }

    /// At most the sum over a variable: every block counts as a full one.
    pub fn summed_at_most(&self, v: Var, range: &Range, ranges: &Ranges) -> Count {
        let Range::Blocks(lo, hi, n) = range else { return self.summed(v, range, ranges) };
        let mut inside = ranges.clone();
        inside.enter(v, range.clone());
        let trip = hi.minus(lo).larger(&Count::zero(), ranges).ceil(*n);
        let full = full_blocks(self, v, *n, &inside).or_else(|| inside.most_over(self, v));
        match full {
            Some(body) if body.depends(v) => over_range(&body, v, &Count::zero(), &trip, ranges),
            Some(body) => body.times(&trip),
            None => self.summed(v, range, ranges),
        }
    }
}

/// With the length of every block at its largest, if the count grows with it; the block's number stays.
fn full_blocks(c: &Count, v: Var, n: i64, ranges: &Ranges) -> Option<Count> {
    if !c.any(&mut |a| *a == Atom::Len(v)) {
        return Some(c.clone());
    }
    // A name of its own for the number, which the bound leaves alone.
    let number = c.any(&mut |a| *a == Atom::Var(v));
    if number {
        return None;
    }
    let most = ranges.most_over(c, v)?;
    debug_assert!(n > 0 && !most.depends(v));
    Some(most)
}

fn over_blocks(c: &Count, v: Var, (lo, hi, n): (&Count, &Count, i64), ranges: &Ranges) -> Count {
    let all = hi.minus(lo).larger(&Count::zero(), ranges);
    let full = all.floor(n);
    let left = all.minus(&full.scaled(n));
    let some_left = all.ceil(n).minus(&full);
    let mut out = Count::zero();
    for (m, r) in c.terms() {
        let (with, rest) = apart(m, v);
        let rest = rest.times(&Count::ratio(r));
        let len = Monomial::from([(Atom::Len(v), 1)]);
        let sum = if with.is_empty() {
            all.ceil(n)
        } else if with == len {
            all.clone()
        } else {
            let body = of(with);
            let whole = body.put(v, &Count::var(v), Some(&Count::lit(n)));
            let whole = over_range(&whole, v, &Count::zero(), &full, ranges);
            let last = body.put(v, &full, Some(&left));
            let none_left = body.put(v, &full, Some(&Count::zero()));
            // What is 0 for a block of no length needs no question whether there is one.
            whole.plus(&if none_left.is_zero() { last } else { last.times(&some_left) })
        };
        out = out.plus(&sum.times(&rest));
    }
    if c.is_lost() { Count::lost() } else { out }
}

fn over_range(c: &Count, v: Var, lo: &Count, hi: &Count, ranges: &Ranges) -> Count {
    let mut out = Count::zero();
    for (m, r) in c.terms() {
        let (with, rest) = apart(m, v);
        let sum = product_over(with, v, lo, hi, ranges);
        out = out.plus(&sum.times(&rest).times(&Count::ratio(r)));
    }
    if c.is_lost() { Count::lost() } else { out }
}

/// The sum of a product of atoms that all depend on the variable.
fn product_over(mut with: Monomial, v: Var, lo: &Count, hi: &Count, ranges: &Ranges) -> Count {
    let bound = with.keys().find_map(|a| Some((a.clone(), clipped(a, v, lo, hi, ranges)?)));
    if let Some((a, (lo, hi))) = bound {
        with.remove(&a);
        return product_over(with, v, &lo, &hi, ranges);
    }
    let trip = hi.minus(lo).larger(&Count::zero(), ranges);
    if trip.is_zero() {
        return Count::zero();
    }
    if let Some(sum) = alone(&with).and_then(|a| pieces(a, v, lo, &trip, ranges)) {
        return sum;
    }
    match with.iter().next() {
        None => trip,
        Some((Atom::Var(_), p)) if with.len() == 1 => shifted_powers(*p, lo, &trip),
        Some(_) => {
            let (lo, hi, body) = (lo.clone(), hi.clone(), of(with));
            if lo.is_lost() || hi.is_lost() {
                return Count::lost();
            }
            Count::atom(Atom::Sum(Box::new(Summed { var: v, lo, hi, body })))
        }
    }
}

/// The atom that a product is.
fn alone(m: &Monomial) -> Option<&Atom> {
    match m.iter().next() {
        Some((a, 1)) if m.len() == 1 => Some(a),
        _ => None,
    }
}

/// `sum v in lo .. lo + n . max 0 (min w (x - w v))`: pieces of `w` of what there is.
fn pieces(a: &Atom, v: Var, lo: &Count, n: &Count, ranges: &Ranges) -> Option<Count> {
    let (part, w) = clamped(a)?;
    let by = Ratio::whole(-w);
    if part.terms.get(&Monomial::from([(Atom::Var(v), 1)])) != Some(&by) {
        return None;
    }
    let all = part.minus(&Count::var(v).scaled(-w));
    if all.depends(v) {
        return None;
    }
    let left = all.minus(&lo.scaled(w));
    Some(left.smaller(&n.scaled(w), ranges).larger(&Count::zero(), ranges))
}

/// What is held between 0 and a whole number.
fn clamped(a: &Atom) -> Option<(&Count, i128)> {
    let zero = |c: &Count| c.is_zero().then_some(0);
    let most = |c: &Count| c.literal().filter(|r| r.is_whole()).map(Ratio::floor).filter(|w| *w > 0);
    match a {
        Atom::Max(x, y) => {
            let (inside, _) = beside(x, y, zero)?;
            let Atom::Min(x, y) = atom_of(inside)? else { return None };
            beside(x, y, most)
        }
        Atom::Min(x, y) => {
            let (inside, w) = beside(x, y, most)?;
            let Atom::Max(x, y) = atom_of(inside)? else { return None };
            Some((beside(x, y, zero)?.0, w))
        }
        Atom::Var(_) | Atom::Len(_) | Atom::Floor(..) | Atom::Ceil(..) | Atom::Holds(..) | Atom::Sum(_) => None,
    }
}

/// The atom that a count is.
fn atom_of(c: &Count) -> Option<&Atom> {
    match c.terms.first_key_value() {
        Some((m, r)) if c.terms.len() == 1 && *r == Ratio::ONE && !c.lost => alone(m),
        _ => None,
    }
}

/// One of two counts that is a number, and the other.
fn beside<'a>(a: &'a Count, b: &'a Count, number: impl Fn(&Count) -> Option<i128>) -> Option<(&'a Count, i128)> {
    number(a).map(|n| (b, n)).or_else(|| number(b).map(|n| (a, n)))
}

/// The range in which a condition holds that says `v >= e` or `v <= e`, or `v == e`.
fn clipped(a: &Atom, v: Var, lo: &Count, hi: &Count, ranges: &Ranges) -> Option<(Count, Count)> {
    let Atom::Holds(sign, c) = a else { return None };
    let plain = Monomial::from([(Atom::Var(v), 1)]);
    let factor = *c.terms.get(&plain)?;
    let rest = c.minus(&Count::var(v).times(&Count::ratio(factor)));
    if rest.depends(v) || !(factor == Ratio::ONE || factor == Ratio::whole(-1)) {
        return None;
    }
    let at = if factor == Ratio::ONE { rest.scaled(-1) } else { rest };
    let above = at.plus(&Count::lit(1));
    Some(match (sign, factor.is_negative()) {
        (Sign::NotNegative, false) => (lo.larger(&at, ranges), hi.clone()),
        (Sign::NotNegative, true) => (lo.clone(), hi.smaller(&above, ranges)),
        (Sign::Zero, _) => (lo.larger(&at, ranges), hi.smaller(&above, ranges)),
    })
}

/// `sum t in 0 .. n . (lo + t) ^ p`
fn shifted_powers(p: u32, lo: &Count, n: &Count) -> Count {
    let mut out = Count::zero();
    let mut choose: i128 = 1;
    for k in 0..=p {
        let term = lo.power(p - k).times(&powers(k, n)).scaled(choose);
        out = out.plus(&term);
        choose = choose * i128::from(p - k) / i128::from(k + 1);
    }
    out
}

/// `sum t in 0 .. n . t ^ p`, from the sums of lower powers:
/// `n ^ (p + 1) = sum of ((t + 1) ^ (p + 1) - t ^ (p + 1))`, multiplied out.
fn powers(p: u32, n: &Count) -> Count {
    let mut rest = n.power(p + 1);
    let mut choose: i128 = 1;
    for k in 0..p {
        rest = rest.minus(&powers(k, n).scaled(choose));
        choose = choose * i128::from(p + 1 - k) / i128::from(k + 1);
    }
    match Ratio::new(1, i128::from(p) + 1) {
        Some(r) => rest.times(&Count::ratio(r)),
        None => Count::lost(),
    }
}

fn apart(m: &Monomial, v: Var) -> (Monomial, Count) {
    let (with, rest) = m.clone().into_iter().partition(|(a, _)| Count::atom(a.clone()).depends(v));
    (with, of(rest))
}

fn of(m: Monomial) -> Count {
    Count { terms: BTreeMap::from([(m, Ratio::ONE)]), lost: false }
}
