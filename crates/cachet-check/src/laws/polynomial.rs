//! Polynomials with rational coefficients, exact in 128 bits or not at all.
//!
//! Two polynomials are equal for all real values of their variables exactly if their coefficients are.

use std::collections::BTreeMap;

/// A fraction in lowest terms, its denominator above 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rational {
    /// Above the line.
    pub num: i128,
    /// Below it.
    pub den: i128,
}

impl Rational {
    /// A whole number.
    pub fn whole(num: i128) -> Rational {
        Rational { num, den: 1 }
    }

    /// `num / den`; `None` where `den` is 0 or something does not fit.
    pub fn new(num: i128, den: i128) -> Option<Rational> {
        if den == 0 || num == i128::MIN || den == i128::MIN {
            return None;
        }
        let g = gcd(num.unsigned_abs(), den.unsigned_abs());
        let g = i128::try_from(g).ok()?.max(1) * den.signum();
        Some(Rational { num: num / g, den: den / g })
    }

    /// A finite float's value.
    pub fn of(x: f64) -> Option<Rational> {
        if !x.is_finite() {
            return None;
        }
        let (mut mantissa, mut scale) = (x, 0u32);
        while mantissa.fract() != 0.0 {
            mantissa *= 2.0;
            scale += 1;
            if scale > 100 {
                return None;
            }
        }
        (mantissa.abs() < 2f64.powi(100)).then(|| Rational::new(mantissa as i128, 1i128.checked_shl(scale)?)).flatten()
    }

    /// Sum.
    pub fn add(self, other: Rational) -> Option<Rational> {
        let (a, b) = (self.num.checked_mul(other.den)?, other.num.checked_mul(self.den)?);
        Rational::new(a.checked_add(b)?, self.den.checked_mul(other.den)?)
    }

    /// Product.
    pub fn mul(self, other: Rational) -> Option<Rational> {
        Rational::new(self.num.checked_mul(other.num)?, self.den.checked_mul(other.den)?)
    }
}

impl std::fmt::Display for Rational {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.den {
            1 => write!(f, "{}", self.num),
            den => write!(f, "{}/{den}", self.num),
        }
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A product of variables: each with its exponent, above 0.
pub type Monomial = Vec<(u32, u32)>;

/// A polynomial: no coefficient is 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Polynomial {
    /// Coefficients.
    pub terms: BTreeMap<Monomial, Rational>,
}

/// The most terms of a polynomial.
const MAX_TERMS: usize = 4096;

impl Polynomial {
    /// A number.
    pub fn constant(r: Rational) -> Polynomial {
        let mut p = Polynomial::default();
        if r.num != 0 {
            p.terms.insert(vec![], r);
        }
        p
    }

    /// A variable.
    pub fn var(v: u32) -> Polynomial {
        Polynomial { terms: BTreeMap::from([(vec![(v, 1)], Rational::whole(1))]) }
    }

    /// Its value, if it has no variables.
    pub fn as_constant(&self) -> Option<Rational> {
        match self.terms.len() {
            0 => Some(Rational::whole(0)),
            1 => self.terms.get(&vec![]).copied(),
            _ => None,
        }
    }

    /// Sum.
    pub fn add(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut out = self.clone();
        for (m, c) in &other.terms {
            out.put(m.clone(), *c)?;
        }
        Some(out)
    }

    /// Product with a number.
    pub fn scaled(&self, by: Rational) -> Option<Polynomial> {
        self.mul(&Polynomial::constant(by))
    }

    /// Product.
    pub fn mul(&self, other: &Polynomial) -> Option<Polynomial> {
        if self.terms.len() * other.terms.len() > 16 * MAX_TERMS {
            return None;
        }
        let mut out = Polynomial::default();
        for (m, a) in &self.terms {
            for (n, b) in &other.terms {
                let mut product: BTreeMap<u32, u32> = m.iter().copied().collect();
                for (v, e) in n {
                    let slot = product.entry(*v).or_insert(0);
                    *slot = slot.checked_add(*e)?;
                }
                out.put(product.into_iter().collect(), a.mul(*b)?)?;
            }
        }
        Some(out)
    }

    fn put(&mut self, m: Monomial, c: Rational) -> Option<()> {
        let sum = self.terms.get(&m).copied().unwrap_or(Rational::whole(0)).add(c)?;
        if sum.num == 0 {
            self.terms.remove(&m);
        } else {
            self.terms.insert(m, sum);
        }
        (self.terms.len() <= MAX_TERMS).then_some(())
    }

    /// Its value where the variables have these.
    pub fn at(&self, values: &[i128]) -> Option<Rational> {
        let mut sum = Rational::whole(0);
        for (m, c) in &self.terms {
            let mut product = *c;
            for (v, e) in m {
                for _ in 0..*e {
                    product = product.mul(Rational::whole(*values.get(*v as usize)?))?;
                }
            }
            sum = sum.add(product)?;
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::{Polynomial, Rational};

    #[test]
    fn numbers_of_floats_are_exact() {
        assert_eq!(Rational::of(0.75), Rational::new(3, 4));
        assert_eq!(Rational::of(-1.5), Rational::new(-6, 4));
        assert_eq!(Rational::of(f64::INFINITY), None);
        assert_eq!(Rational::of(1e300), None);
        assert_eq!(Rational::of(5e-324), None);
        assert_eq!(Rational::new(i128::MAX, 1).and_then(|r| r.add(Rational::whole(1))), None);
    }

    #[test]
    fn products_are_multiplied_out() {
        let (a, b) = (Polynomial::var(0), Polynomial::var(1));
        let minus_b = b.scaled(Rational::whole(-1)).unwrap();
        let product = a.add(&b).unwrap().mul(&a.add(&minus_b).unwrap()).unwrap();
        let squares = a.mul(&a).unwrap().add(&b.mul(&minus_b).unwrap()).unwrap();
        assert_eq!(product, squares);
        assert_eq!(product.at(&[5, 3]), Some(Rational::whole(16)));
        assert_eq!(
            product.add(&product.scaled(Rational::whole(-1)).unwrap()).unwrap().as_constant(),
            Some(Rational::whole(0))
        );
    }
}
