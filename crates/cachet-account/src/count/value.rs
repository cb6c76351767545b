//! What is a count where the sizes have values?

use super::{Atom, Count, Ratio, Sign};
use cachet_core::ir::Var;
use std::collections::BTreeMap;

/// How many terms of sums are added before giving up.
const MOST_STEPS: u64 = 20_000_000;

/// Values of sizes.
pub type Values = BTreeMap<Var, i128>;

impl Count {
    /// The value; `None` where a variable has none, a number leaves 128 bits, or a sum has too many terms. A bound may be no
    /// whole number; what it bounds is one, so it is rounded down.
    pub fn value(&self, of: &Values) -> Option<i128> {
        let mut of = of.clone();
        let mut steps = MOST_STEPS;
        self.exact(&mut of, &mut steps).map(Ratio::floor)
    }

    fn exact(&self, of: &mut Values, steps: &mut u64) -> Option<Ratio> {
        if self.lost {
            return None;
        }
        let mut sum = Ratio::ZERO;
        for (m, r) in &self.terms {
            *steps = steps.checked_sub(1)?;
            let mut term = *r;
            for (a, n) in m {
                let value = Ratio::whole(a.exact(of, steps)?);
                for _ in 0..*n {
                    term = term.times(value)?;
                }
            }
            sum = sum.plus(term)?;
        }
        Some(sum)
    }

    fn whole(&self, of: &mut Values, steps: &mut u64) -> Option<i128> {
        self.exact(of, steps).filter(|r| r.is_whole()).map(Ratio::floor)
    }
}

impl Atom {
    fn exact(&self, of: &mut Values, steps: &mut u64) -> Option<i128> {
        match self {
            Atom::Var(v) => of.get(v).copied(),
            Atom::Len(_) => None,
            Atom::Floor(a, n) => Some(a.whole(of, steps)?.div_euclid((*n).into())),
            Atom::Ceil(a, n) => {
                let a = a.whole(of, steps)?;
                Some(a.checked_add(i128::from(*n) - 1)?.div_euclid((*n).into()))
            }
            Atom::Max(a, b) => Some(a.whole(of, steps)?.max(b.whole(of, steps)?)),
            Atom::Min(a, b) => Some(a.whole(of, steps)?.min(b.whole(of, steps)?)),
            Atom::Holds(sign, a) => {
                let a = a.whole(of, steps)?;
                Some(i128::from(match sign {
                    Sign::NotNegative => a >= 0,
                    Sign::Zero => a == 0,
                }))
            }
            Atom::Sum(s) => {
                let (lo, hi) = (s.lo.whole(of, steps)?, s.hi.whole(of, steps)?);
                let before = of.get(&s.var).copied();
                let mut sum = Ratio::ZERO;
                let mut at = lo;
                while at < hi {
                    *steps = steps.checked_sub(1)?;
                    of.insert(s.var, at);
                    sum = sum.plus(s.body.exact(of, steps)?)?;
                    at += 1;
                }
                match before {
                    Some(b) => of.insert(s.var, b),
                    None => of.remove(&s.var),
                };
                sum.is_whole().then(|| sum.floor())
            }
        }
    }
}
