//! An index as a sum of literal multiples and a literal: how windows and bounds come out short.

use crate::ir::Ix;

/// `n1 * t1 + n2 * t2 + .. + constant`, each `t` something that is no sum.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Linear {
    /// Factors, not 0, and what they multiply, in order of first occurrence.
    pub terms: Vec<(i64, Ix)>,
    /// The literal part.
    pub constant: i64,
}

impl Linear {
    /// Of an index; `None` where a factor leaves 64 bits.
    pub fn of(ix: &Ix) -> Option<Linear> {
        let mut out = Linear::default();
        out.add(1, ix)?;
        Some(out)
    }

    /// Adds a multiple of an index.
    pub fn add(&mut self, factor: i64, ix: &Ix) -> Option<()> {
        match ix {
            Ix::Lit(n) => self.constant = self.constant.checked_add(factor.checked_mul(*n)?)?,
            Ix::Add(a, b) => {
                self.add(factor, a)?;
                self.add(factor, b)?;
            }
            Ix::Sub(a, b) => {
                self.add(factor, a)?;
                self.add(factor.checked_neg()?, b)?;
            }
            Ix::Mul(n, a) => self.add(factor.checked_mul(*n)?, a)?,
            Ix::Var(_)
            | Ix::Div(..)
            | Ix::Mod(..)
            | Ix::Min(..)
            | Ix::Max(..)
            | Ix::If(..)
            | Ix::Block(..)
            | Ix::InBlock(..) => match self.terms.iter_mut().find(|(_, t)| t == ix) {
                Some((n, _)) => *n = n.checked_add(factor)?,
                None => self.terms.push((factor, ix.clone())),
            },
        }
        self.terms.retain(|(n, _)| *n != 0);
        Some(())
    }

    /// As an index: first what is added, then what is taken away, the literal last.
    pub fn to_ix(&self) -> Ix {
        let mut out: Option<Ix> = None;
        let (plus, minus): (Vec<_>, Vec<_>) = self.terms.iter().partition(|(n, _)| *n > 0);
        for (n, t) in plus {
            let term = if *n == 1 { t.clone() } else { Ix::Mul(*n, Box::new(t.clone())) };
            out = Some(match out {
                None => term,
                Some(sum) => Ix::Add(Box::new(sum), Box::new(term)),
            });
        }
        let mut rest = self.constant;
        let mut sum = match out {
            Some(sum) => sum,
            None => Ix::Lit(std::mem::take(&mut rest)),
        };
        for (n, t) in minus {
            let term = if *n == -1 { t.clone() } else { Ix::Mul(n.saturating_neg(), Box::new(t.clone())) };
            sum = Ix::Sub(Box::new(sum), Box::new(term));
        }
        match rest {
            0 => sum,
            n if n > 0 => Ix::Add(Box::new(sum), Box::new(Ix::Lit(n))),
            n => Ix::Sub(Box::new(sum), Box::new(Ix::Lit(n.saturating_neg()))),
        }
    }
}

/// `a + b`, with like terms joined.
pub fn sum(a: &Ix, b: &Ix) -> Ix {
    let joined = Linear::of(a).and_then(|mut l| l.add(1, b).map(|()| l.to_ix()));
    joined.unwrap_or_else(|| Ix::Add(Box::new(a.clone()), Box::new(b.clone())))
}

/// `a - b`, with like terms joined.
pub fn difference(a: &Ix, b: &Ix) -> Ix {
    let joined = Linear::of(a).and_then(|mut l| l.add(-1, b).map(|()| l.to_ix()));
    joined.unwrap_or_else(|| Ix::Sub(Box::new(a.clone()), Box::new(b.clone())))
}

/// `n * a`.
pub fn multiple(n: i64, a: &Ix) -> Ix {
    let mut l = Linear::default();
    l.add(n, a).map_or_else(|| Ix::Mul(n, Box::new(a.clone())), |()| l.to_ix())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Var;

    #[test]
    fn like_terms_are_joined() {
        let (x, y) = (Ix::Var(Var(0)), Ix::Var(Var(1)));
        assert_eq!(difference(&sum(&multiple(64, &x), &Ix::Lit(64)), &multiple(64, &x)), Ix::Lit(64));
        assert_eq!(sum(&x, &difference(&y, &x)), y);
        assert_eq!(difference(&Ix::Lit(3), &x), Ix::Sub(Box::new(Ix::Lit(3)), Box::new(x.clone())));
        assert_eq!(sum(&multiple(2, &x), &Ix::Lit(-1)), Ix::Sub(Box::new(multiple(2, &x)), Box::new(Ix::Lit(1))));
    }
}
