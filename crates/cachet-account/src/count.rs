//! How often, in sizes: polynomials over sizes, quotients, maxima and sums.
//!
//! ```text
//! count ::= sum of  rational * atom ^ n * ..
//! atom  ::= size | loop variable | length of a block | floor (count / n) | ceil (count / n)
//!         | max count count | min count count | [count >= 0] | [count == 0] | sum x in count .. count . count
//! ```
//!
//! Every count that is made here is a whole number for all values of its variables. The length of a loop is `max 0 (hi - lo)`,
//! so that a loop that does not run never takes anything away from another row. Arithmetic is exact: a number beyond 128
//! bits, or a polynomial of thousands of terms, makes a count *lost*, and what is lost stays so.

mod bound;
mod closed;
mod dominate;
mod ratio;
mod text;
mod value;

pub use bound::{Range, Ranges};
pub use ratio::Ratio;
pub use text::Names;
pub use value::Values;

use cachet_core::ir::Var;
use std::collections::BTreeMap;

/// The largest number of terms of a polynomial.
const MOST_TERMS: usize = 2048;

/// A polynomial over atoms.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Count {
    /// Products of atoms, each with a positive power, and their factors, none of them 0.
    terms: BTreeMap<Monomial, Ratio>,
    lost: bool,
}

/// A product of atoms with positive powers.
pub type Monomial = BTreeMap<Atom, u32>;

/// What a count is made of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Atom {
    /// A size, the variable of a plain loop, or the number of a block.
    Var(Var),
    /// The length of the block that a variable of a loop over blocks stands for.
    Len(Var),
    /// A quotient by a literal > 0, rounded down.
    Floor(Box<Count>, i64),
    /// A quotient by a literal > 0, rounded up.
    Ceil(Box<Count>, i64),
    /// The larger.
    Max(Box<Count>, Box<Count>),
    /// The smaller.
    Min(Box<Count>, Box<Count>),
    /// 1 where a count has this sign, else 0.
    Holds(Sign, Box<Count>),
    /// The sum over a variable of a count.
    Sum(Box<Summed>),
}

/// What a count is compared with 0 for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sign {
    /// `>= 0`
    NotNegative,
    /// `== 0`
    Zero,
}

/// `sum var in lo .. hi . body`
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Summed {
    /// The variable.
    pub var: Var,
    /// Its first value.
    pub lo: Count,
    /// One past its last value; there is none where this is not above `lo`.
    pub hi: Count,
    /// What is added.
    pub body: Count,
}

impl Count {
    /// Nothing.
    pub fn zero() -> Count {
        Count::default()
    }

    /// A literal.
    pub fn lit(n: impl Into<i128>) -> Count {
        Count::ratio(Ratio::whole(n.into()))
    }

    /// A size or a variable.
    pub fn var(v: Var) -> Count {
        Count::atom(Atom::Var(v))
    }

    /// One atom.
    pub fn atom(a: Atom) -> Count {
        let mut out = Count::zero();
        out.add_term(BTreeMap::from([(a, 1)]), Ratio::ONE);
        out
    }

    /// What is too large to be counted.
    pub fn lost() -> Count {
        Count { terms: BTreeMap::new(), lost: true }
    }

    fn ratio(r: Ratio) -> Count {
        let mut out = Count::zero();
        out.add_term(BTreeMap::new(), r);
        out
    }

    /// Whether it could not be counted.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether it is 0 whatever the sizes are.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty() && !self.lost
    }

    /// Its value, if it is the same whatever the sizes are.
    pub fn literal(&self) -> Option<Ratio> {
        match self.terms.first_key_value() {
            _ if self.lost => None,
            None => Some(Ratio::ZERO),
            Some((m, r)) if m.is_empty() && self.terms.len() == 1 => Some(*r),
            Some(_) => None,
        }
    }

    /// Its terms.
    pub fn terms(&self) -> impl Iterator<Item = (&Monomial, Ratio)> {
        self.terms.iter().map(|(m, r)| (m, *r))
    }

    fn add_term(&mut self, m: Monomial, r: Ratio) {
        if r.is_zero() || self.lost {
            return;
        }
        let old = self.terms.remove(&m).unwrap_or(Ratio::ZERO);
        match old.plus(r) {
            Some(sum) if sum.is_zero() => {}
            Some(sum) if self.terms.len() < MOST_TERMS => {
                self.terms.insert(m, sum);
            }
            Some(_) | None => *self = Count::lost(),
        }
    }

    /// Sum.
    pub fn plus(&self, other: &Count) -> Count {
        if self.lost || other.lost {
            return Count::lost();
        }
        let mut out = self.clone();
        for (m, r) in &other.terms {
            out.add_term(m.clone(), *r);
        }
        out
    }

    /// Difference.
    pub fn minus(&self, other: &Count) -> Count {
        self.plus(&other.times(&Count::lit(-1)))
    }

    /// Product.
    pub fn times(&self, other: &Count) -> Count {
        if self.lost || other.lost || self.terms.len() * other.terms.len() > MOST_TERMS * 8 {
            return Count::lost();
        }
        let mut out = Count::zero();
        for (m, r) in &self.terms {
            for (n, s) in &other.terms {
                let Some(factor) = r.times(*s) else { return Count::lost() };
                out.add_term(product(m, n), factor);
            }
        }
        out
    }

    /// A multiple.
    pub fn scaled(&self, by: impl Into<i128>) -> Count {
        self.times(&Count::lit(by))
    }

    /// The quotient by a literal > 0 that leaves nothing over.
    pub fn shared(&self, n: i64) -> Count {
        Ratio::new(1, n.into()).map_or_else(Count::lost, |r| self.times(&Count::ratio(r)))
    }

    /// A power.
    pub fn power(&self, n: u32) -> Count {
        (0..n).fold(Count::lit(1), |p, _| p.times(self))
    }

    /// What is true of its atoms, wherever they stand.
    pub fn any(&self, test: &mut dyn FnMut(&Atom) -> bool) -> bool {
        self.terms.keys().flat_map(BTreeMap::keys).any(|a| test(a) || a.parts().any(|c| c.any(test)))
    }

    /// Whether it depends on a variable or on the block that it stands for.
    pub fn depends(&self, v: Var) -> bool {
        self.any(&mut |a| *a == Atom::Var(v) || *a == Atom::Len(v))
    }

    /// Every atom replaced, from the inside out.
    pub fn map(&self, with: &mut dyn FnMut(&Atom) -> Option<Count>) -> Count {
        if self.lost {
            return Count::lost();
        }
        let mut out = Count::zero();
        for (m, r) in &self.terms {
            let mut term = Count::ratio(*r);
            for (a, n) in m {
                let atom = with(a).unwrap_or_else(|| a.map(with));
                term = term.times(&atom.power(*n));
            }
            out = out.plus(&term);
        }
        out
    }

    /// A variable and its block's length replaced.
    pub fn put(&self, var: Var, by: &Count, len: Option<&Count>) -> Count {
        self.map(&mut |a| match a {
            Atom::Var(v) if *v == var => Some(by.clone()),
            Atom::Len(v) if *v == var => len.cloned(),
            _ => None,
        })
    }

    /// The variables of sums inside renamed.
    pub fn with_bound(&self, name: &mut dyn FnMut(Var) -> Var) -> Count {
        self.map(&mut |a| {
            let Atom::Sum(s) = a else { return None };
            let var = name(s.var);
            let body = s.body.put(s.var, &Count::var(var), None).with_bound(name);
            let (lo, hi) = (s.lo.with_bound(name), s.hi.with_bound(name));
            Some(Count::atom(Atom::Sum(Box::new(Summed { var, lo, hi, body }))))
        })
    }

    /// The quotient by a literal > 0, rounded down. What is divided evenly stays outside.
    pub fn floor(&self, n: i64) -> Count {
        self.quotient(n, Atom::Floor, Ratio::floor)
    }

    /// The quotient by a literal > 0, rounded up.
    pub fn ceil(&self, n: i64) -> Count {
        self.quotient(n, Atom::Ceil, Ratio::ceil)
    }

    fn quotient(&self, n: i64, atom: fn(Box<Count>, i64) -> Atom, round: fn(Ratio) -> i128) -> Count {
        if self.lost || n <= 0 {
            return Count::lost();
        }
        let by = Ratio::new(1, n.into());
        let (mut even, mut rest) = (Count::zero(), Count::zero());
        for (m, r) in &self.terms {
            match by.and_then(|by| r.times(by)) {
                // Terms with fractions are whole only together.
                Some(q) if q.is_whole() && self.is_integral() => even.add_term(m.clone(), q),
                Some(_) => rest.add_term(m.clone(), *r),
                None => return Count::lost(),
            }
        }
        let rest = match rest.literal().and_then(|r| r.times(by?)) {
            Some(r) => Count::lit(round(r)),
            None => Count::atom(atom(Box::new(rest), n)),
        };
        even.plus(&rest)
    }

    /// Whether all its factors are whole numbers.
    fn is_integral(&self) -> bool {
        self.terms.values().all(|r| r.is_whole())
    }

    /// The larger of two.
    pub fn larger(&self, other: &Count, ranges: &Ranges) -> Count {
        if ranges.not_negative(&self.minus(other)) {
            self.clone()
        } else if ranges.not_negative(&other.minus(self)) {
            other.clone()
        } else if self.lost || other.lost {
            Count::lost()
        } else {
            let (a, b) = if self <= other { (self, other) } else { (other, self) };
            Count::atom(Atom::Max(Box::new(a.clone()), Box::new(b.clone())))
        }
    }

    /// The smaller of two.
    pub fn smaller(&self, other: &Count, ranges: &Ranges) -> Count {
        if ranges.not_negative(&self.minus(other)) {
            other.clone()
        } else if ranges.not_negative(&other.minus(self)) {
            self.clone()
        } else if self.lost || other.lost {
            Count::lost()
        } else {
            let (a, b) = if self <= other { (self, other) } else { (other, self) };
            Count::atom(Atom::Min(Box::new(a.clone()), Box::new(b.clone())))
        }
    }

    /// A comparison with 0 in smallest whole numbers; `None` where its factors are no whole numbers.
    fn reduced(&self, sign: Sign) -> Option<Count> {
        let constant = self.terms.get(&Monomial::new()).copied().unwrap_or(Ratio::ZERO);
        let mut by: i128 = 0;
        for (m, r) in &self.terms {
            if !r.is_whole() {
                return None;
            }
            if !m.is_empty() {
                by = i128::try_from(ratio::divisor(by.unsigned_abs(), r.floor().unsigned_abs())).ok()?;
            }
        }
        let by = Ratio::new(1, by)?;
        let even = constant.times(by)?;
        let constant = Count::ratio(match sign {
            Sign::NotNegative => Ratio::whole(even.floor()),
            Sign::Zero if even.is_whole() => even,
            Sign::Zero => return None,
        });
        let mut out = Count::zero();
        for (m, r) in self.terms.iter().filter(|(m, _)| !m.is_empty()) {
            out.add_term(m.clone(), r.times(by)?);
        }
        let flip = sign == Sign::Zero && out.terms.first_key_value().is_some_and(|(_, r)| r.is_negative());
        let out = out.plus(&constant);
        Some(if flip { out.scaled(-1) } else { out })
    }

    /// 1 where it has a sign, else 0.
    pub fn holds(&self, sign: Sign, ranges: &Ranges) -> Count {
        let reduced = self.reduced(sign);
        if let Some(c) = reduced.filter(|c| c != self) {
            return c.holds(sign, ranges);
        }
        let negative = |c: &Count| ranges.not_negative(&Count::lit(-1).minus(c));
        let always = match sign {
            Sign::NotNegative => ranges.not_negative(self),
            Sign::Zero => self.is_zero(),
        };
        let never = match sign {
            Sign::NotNegative => negative(self),
            Sign::Zero => negative(self) || ranges.not_negative(&self.minus(&Count::lit(1))),
        };
        match (always, never) {
            (true, _) => Count::lit(1),
            (_, true) => Count::zero(),
            _ if self.lost => Count::lost(),
            _ => Count::atom(Atom::Holds(sign, Box::new(self.clone()))),
        }
    }
}

impl Atom {
    /// The counts that it is made of.
    pub fn parts(&self) -> impl Iterator<Item = &Count> {
        let (a, b, c): (Option<&Count>, Option<&Count>, Option<&Count>) = match self {
            Atom::Var(_) | Atom::Len(_) => (None, None, None),
            Atom::Floor(a, _) | Atom::Ceil(a, _) | Atom::Holds(_, a) => (Some(a), None, None),
            Atom::Max(a, b) | Atom::Min(a, b) => (Some(a), Some(b), None),
            Atom::Sum(s) => (Some(&s.lo), Some(&s.hi), Some(&s.body)),
        };
        [a, b, c].into_iter().flatten()
    }

    /// With the atoms inside replaced.
    fn map(&self, with: &mut dyn FnMut(&Atom) -> Option<Count>) -> Count {
        let none = Ranges::default();
        match self {
            Atom::Var(_) | Atom::Len(_) => Count::atom(self.clone()),
            Atom::Floor(a, n) => a.map(with).floor(*n),
            Atom::Ceil(a, n) => a.map(with).ceil(*n),
            Atom::Max(a, b) => a.map(with).larger(&b.map(with), &none),
            Atom::Min(a, b) => a.map(with).smaller(&b.map(with), &none),
            Atom::Holds(sign, a) => a.map(with).holds(*sign, &none),
            Atom::Sum(s) => {
                let (lo, hi, body) = (s.lo.map(with), s.hi.map(with), s.body.map(with));
                if lo.is_lost() || hi.is_lost() || body.is_lost() {
                    return Count::lost();
                }
                Count::atom(Atom::Sum(Box::new(Summed { var: s.var, lo, hi, body })))
            }
        }
    }
}

fn product(a: &Monomial, b: &Monomial) -> Monomial {
    let mut out = a.clone();
    for (atom, n) in b {
        let power = out.entry(atom.clone()).or_insert(0);
        // A truth value is its own square.
        *power = if matches!(atom, Atom::Holds(..)) { 1 } else { *power + n };
    }
    out
}

#[cfg(test)]
mod tests;
