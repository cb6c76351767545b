//! Sums of integer multiples of names and a constant, with checked arithmetic: None means overflow.

/// `constant + sum of coefficient * name`; names ascend and coefficients are not 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Linear {
    /// Names, ascending, and their coefficients, none 0.
    pub terms: Vec<(u32, i128)>,
    /// What is added.
    pub constant: i128,
}

impl Linear {
    pub(crate) fn constant(constant: i128) -> Linear {
        Linear { terms: Vec::new(), constant }
    }

    pub(crate) fn name(name: u32) -> Linear {
        Linear { terms: vec![(name, 1)], constant: 0 }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.terms.is_empty() && self.constant == 0
    }

    pub(crate) fn coefficient(&self, name: u32) -> i128 {
        self.terms.iter().find(|term| term.0 == name).map_or(0, |term| term.1)
    }

    /// `self + factor * other`.
    pub(crate) fn plus(&self, factor: i128, other: &Linear) -> Option<Linear> {
        let constant = self.constant.checked_add(factor.checked_mul(other.constant)?)?;
        if factor == 0 || other.terms.is_empty() {
            return Some(Linear { terms: self.terms.clone(), constant });
        }
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(a), Some(b)) => a.0.cmp(&b.0),
            };
            let (mut name, mut coefficient) = (0, 0);
            if order.is_le()
                && let Some(term) = left.next()
            {
                (name, coefficient) = *term;
            }
            if order.is_ge()
                && let Some(term) = right.next()
            {
                name = term.0;
                coefficient = factor.checked_mul(term.1)?.checked_add(coefficient)?;
            }
            if coefficient != 0 {
                terms.push((name, coefficient));
            }
        }
        Some(Linear { terms, constant })
    }

    pub(crate) fn plus_constant(mut self, value: i128) -> Option<Linear> {
        self.constant = self.constant.checked_add(value)?;
        Some(self)
    }

    pub(crate) fn times(&self, factor: i128) -> Option<Linear> {
        Linear::constant(0).plus(factor, self)
    }

    /// The greatest common divisor of the coefficients; 0 without any.
    pub(crate) fn common_divisor(&self) -> u128 {
        let mut divisor = 0;
        for term in &self.terms {
            divisor = greatest_common_divisor(term.1.unsigned_abs(), divisor);
            if divisor == 1 {
                break;
            }
        }
        divisor
    }

    /// Divides by `divisor` >= 1, rounding the constant down; None if a coefficient is not divisible.
    pub(crate) fn divide_floor(mut self, divisor: i128) -> Option<Linear> {
        if divisor != 1 {
            for term in &mut self.terms {
                if term.1 % divisor != 0 {
                    return None;
                }
                term.1 /= divisor;
            }
            self.constant = self.constant.div_euclid(divisor);
        }
        Some(self)
    }

    /// Divides by `divisor` >= 1; None unless the constant and all coefficients are divisible.
    pub(crate) fn divide_exact(self, divisor: i128) -> Option<Linear> {
        if self.constant % divisor != 0 { None } else { self.divide_floor(divisor) }
    }

    /// The value at these values of the names. None on overflow or for a missing value.
    pub fn eval(&self, values: &[i128]) -> Option<i128> {
        self.terms.iter().try_fold(self.constant, |sum, (name, coefficient)| {
            sum.checked_add(coefficient.checked_mul(*values.get(*name as usize)?)?)
        })
    }
}

/// A sum that is being added up: its terms in any order, a name perhaps several times.
pub(crate) struct Sum {
    terms: Vec<(u32, i128)>,
    constant: i128,
}

impl From<i128> for Sum {
    fn from(constant: i128) -> Sum {
        Sum { terms: Vec::new(), constant }
    }
}

impl Sum {
    pub(crate) fn add_name(&mut self, factor: i128, name: u32) {
        self.terms.push((name, factor));
    }

    pub(crate) fn add_constant(&mut self, factor: i128, value: i128) -> Option<()> {
        self.constant = self.constant.checked_add(factor.checked_mul(value)?)?;
        Some(())
    }

    pub(crate) fn add(&mut self, factor: i128, value: &Linear) -> Option<()> {
        for (name, coefficient) in &value.terms {
            self.terms.push((*name, factor.checked_mul(*coefficient)?));
        }
        self.add_constant(factor, value.constant)
    }

    /// In order, each name once.
    pub(crate) fn linear(mut self) -> Option<Linear> {
        self.terms.sort_by_key(|term| term.0);
        let mut kept = 0usize;
        for at in 0..self.terms.len() {
            let (name, coefficient) = self.terms[at];
            match kept.checked_sub(1).map(|last| &mut self.terms[last]) {
                Some(last) if last.0 == name => last.1 = last.1.checked_add(coefficient)?,
                Some(last) if last.1 == 0 => *last = (name, coefficient),
                _ => {
                    self.terms[kept] = (name, coefficient);
                    kept += 1;
                }
            }
        }
        self.terms.truncate(kept);
        self.terms.pop_if(|last| last.1 == 0);
        Some(Linear { terms: self.terms, constant: self.constant })
    }
}

pub(crate) fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b
}

#[cfg(test)]
mod tests {
    use super::{Linear, Sum};

    fn linear(terms: &[(u32, i128)], constant: i128) -> Linear {
        Linear { terms: terms.to_vec(), constant }
    }

    #[test]
    fn sums_merge_and_cancel() {
        let a = linear(&[(0, 2), (3, -1), (7, 5)], 4);
        let b = linear(&[(0, 1), (2, 1), (7, 5)], 1);
        assert_eq!(a.plus(-2, &b), Some(linear(&[(2, -2), (3, -1), (7, -5)], 2)));
        assert_eq!(a.plus(-1, &a), Some(Linear::constant(0)));
        assert_eq!(sum(&[(1, &a), (-2, &b), (-1, &a), (2, &b)]), Some(Linear::constant(0)));
        let three = Linear::name(3);
        assert_eq!(sum(&[(1, &a), (1, &b), (1, &three)]), a.plus(1, &b).unwrap().plus(1, &three));
        assert_eq!(sum(&[(0, &a), (1, &b)]), Some(b.clone()));
        assert_eq!(sum(&[(1, &a), (3, &b)]), a.plus(3, &b));
    }

    fn sum(parts: &[(i128, &Linear)]) -> Option<Linear> {
        let mut sum = Sum::from(0);
        parts.iter().try_for_each(|(factor, part)| sum.add(*factor, part))?;
        sum.linear()
    }

    #[test]
    fn overflow_is_noticed() {
        let large = linear(&[(0, i128::MAX)], i128::MIN);
        assert_eq!(large.plus(1, &large), None);
        assert_eq!(large.times(-1), None);
        assert_eq!(large.clone().plus_constant(-1), None);
        assert_eq!(sum(&[(1, &large), (1, &Linear::name(0)), (1, &Linear::name(1))]), None);
        assert_eq!(large.eval(&[2]), None);
    }

    #[test]
    fn division_rounds_the_constant_down() {
        let e = linear(&[(1, 6), (2, -9)], -4);
        assert_eq!(e.common_divisor(), 3);
        assert_eq!(e.clone().divide_floor(3), Some(linear(&[(1, 2), (2, -3)], -2)));
        assert_eq!(e.clone().divide_floor(2), None);
        assert_eq!(e.divide_exact(3), None);
        assert_eq!(linear(&[], 7).common_divisor(), 0);
    }
}
