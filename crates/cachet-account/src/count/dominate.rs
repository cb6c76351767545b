//! Is a count at least 0 because each product that is taken away is covered by products that are added?
//!
//! One product covers another if its factors can be paired with the other's so that each is at least its partner, or so
//! many times of it: `ceil (x / n)` is at most `ceil (x / m)` for `m <= n`, and at most `x`; `x` is at most `n ceil (x / n)`, and
//! `ceil (x / m)` at most `ceil (n / m)` times `ceil (x / n)`. No factor is below 0.

use super::{Atom, Count, Monomial, Ranges, Ratio};

/// More factors than these are not paired.
const MOST_FACTORS: usize = 8;

impl Ranges {
    /// Whether what is added covers what is taken away, product by product.
    pub fn covered(&self, c: &Count) -> bool {
        if c.is_lost() {
            return false;
        }
        let natural = |m: &Monomial| m.keys().all(|a| self.not_negative(&Count::atom(a.clone())));
        let mut left: Vec<(Vec<&Atom>, Ratio)> = Vec::new();
        let mut taken: Vec<(Vec<&Atom>, Ratio)> = Vec::new();
        for (m, r) in c.terms() {
            if !natural(m) {
                return false;
            }
            let factors: Vec<&Atom> = m.iter().flat_map(|(a, n)| std::iter::repeat_n(a, *n as usize)).collect();
            if factors.len() > MOST_FACTORS {
                return false;
            }
            if r.is_negative() {
                taken.push((factors, r));
            } else {
                left.push((factors, r));
            }
        }
        // What few can cover goes first.
        let covers = |t: &[&Atom]| left.iter().filter(|(p, _)| paired(t, p).is_some()).count();
        taken.sort_by_key(|(t, _)| covers(t));
        taken.into_iter().all(|(t, r)| cover(&t, r, &mut left).is_some())
    }
}

/// Takes from products what covers so many times (below 0) another one.
fn cover(of: &[&Atom], r: Ratio, left: &mut [(Vec<&Atom>, Ratio)]) -> Option<()> {
    let mut need = r.times(Ratio::whole(-1))?;
    for (p, have) in left.iter_mut() {
        let Some(times) = paired(of, p) else { continue };
        let all = need.times(times)?;
        let rest = have.plus(all.times(Ratio::whole(-1))?)?;
        if !rest.is_negative() {
            *have = rest;
            return Some(());
        }
        // All of it, and what is then still needed.
        let covered = have.times(Ratio::new(times.under(), times.over())?)?;
        need = need.plus(covered.times(Ratio::whole(-1))?)?;
        *have = Ratio::ZERO;
    }
    None
}

/// How many times a product covers another whose factors are paired with its own.
fn paired(of: &[&Atom], by: &[&Atom]) -> Option<Ratio> {
    let Some((first, rest)) = of.split_first() else { return by.is_empty().then_some(Ratio::ONE) };
    if of.len() != by.len() {
        return None;
    }
    let mut best: Option<Ratio> = None;
    for n in 0..by.len() {
        let Some(times) = at_most(first, by[n]) else { continue };
        let others: Vec<&Atom> = by.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, a)| *a).collect();
        let all = paired(rest, &others).and_then(|r| r.times(times));
        let less = |than: Ratio| {
            let difference = all?.plus(than.times(Ratio::whole(-1))?)?;
            Some(difference.is_negative())
        };
        if all.is_some() && best.is_none_or(|b| less(b) == Some(true)) {
            best = all;
        }
    }
    best
}

/// So many times the second is at least the first.
fn at_most(a: &Atom, b: &Atom) -> Option<Ratio> {
    if a == b {
        return Some(Ratio::ONE);
    }
    let is = |c: &Count, atom: &Atom| *c == Count::atom(atom.clone());
    match (a, b) {
        (Atom::Ceil(x, n), Atom::Ceil(y, m)) if x == y => match m <= n {
            true => Some(Ratio::ONE),
            false => Some(Ratio::whole((i128::from(*m) + i128::from(*n) - 1).div_euclid((*n).into()))),
        },
        (Atom::Floor(x, n), Atom::Ceil(y, m) | Atom::Floor(y, m)) if x == y && m <= n => Some(Ratio::ONE),
        (Atom::Ceil(x, _) | Atom::Floor(x, _), v) if is(x, v) => Some(Ratio::ONE),
        (v, Atom::Ceil(x, n)) if is(x, v) => Some(Ratio::whole((*n).into())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Count, Range, Ranges};
    use cachet_core::ir::Var;

    #[test]
    fn blocks_of_other_sizes_are_compared() {
        let (mut ranges, [k, m, l]) = (Ranges::default(), [0, 1, 2].map(Var));
        [k, m, l].iter().for_each(|v| ranges.enter(*v, Range::Size));
        let blocks = |n: i64| Count::var(k).ceil(n).times(&Count::var(m).ceil(n)).times(&Count::var(l).ceil(64));
        let covered = |small: &Count, large: &Count| ranges.covered(&large.minus(small));
        assert!(covered(&blocks(32), &blocks(16)) && !covered(&blocks(16), &blocks(32)));
        assert!(covered(&blocks(16), &blocks(32).scaled(4)) && !covered(&blocks(16), &blocks(32).scaled(3)));
        let each = Count::var(k).times(&Count::var(m)).times(&Count::var(l).ceil(64));
        assert!(covered(&blocks(8), &each) && covered(&each, &blocks(8).scaled(64)));
        assert!(!covered(&each, &blocks(8).scaled(63)));
        // Two that are taken away share one that is added.
        assert!(covered(&blocks(32).plus(&blocks(64)), &blocks(16).scaled(2)));
        assert!(!covered(&blocks(32).plus(&blocks(64)), &blocks(16)));
        // A factor more may be 0.
        assert!(!covered(&Count::var(k).ceil(8), &blocks(8)));
    }
}
