//! Exact fractions of 128-bit numbers.

/// A fraction in lowest terms; what is below the line is > 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ratio {
    over: i128,
    under: i128,
}

impl Ratio {
    /// 0
    pub const ZERO: Ratio = Ratio { over: 0, under: 1 };
    /// 1
    pub const ONE: Ratio = Ratio { over: 1, under: 1 };

    /// A whole number.
    pub fn whole(n: i128) -> Ratio {
        Ratio { over: n, under: 1 }
    }

    /// A fraction; `None` where 0 is below the line or 128 bits do not suffice.
    pub fn new(over: i128, under: i128) -> Option<Ratio> {
        let d = divisor(over.unsigned_abs(), under.unsigned_abs());
        let d = i128::try_from(d).ok().filter(|d| *d != 0)?;
        let sign = if under < 0 { -1 } else { 1 };
        (under != 0).then_some(())?;
        Some(Ratio { over: (over / d).checked_mul(sign)?, under: (under / d).checked_mul(sign)? })
    }

    /// What is above the line.
    pub fn over(self) -> i128 {
        self.over
    }

    /// What is below the line.
    pub fn under(self) -> i128 {
        self.under
    }

    /// Whether it is 0.
    pub fn is_zero(self) -> bool {
        self.over == 0
    }

    /// Whether it is a whole number.
    pub fn is_whole(self) -> bool {
        self.under == 1
    }

    /// Whether it is below 0.
    pub fn is_negative(self) -> bool {
        self.over < 0
    }

    /// The largest whole number that is not above it.
    pub fn floor(self) -> i128 {
        self.over.div_euclid(self.under)
    }

    /// The smallest whole number that is not below it.
    pub fn ceil(self) -> i128 {
        self.floor() + i128::from(!self.is_whole())
    }

    /// Sum.
    pub fn plus(self, other: Ratio) -> Option<Ratio> {
        let over = self.over.checked_mul(other.under)?.checked_add(other.over.checked_mul(self.under)?)?;
        Ratio::new(over, self.under.checked_mul(other.under)?)
    }

    /// Product.
    pub fn times(self, other: Ratio) -> Option<Ratio> {
        // Divided crosswise first, so that what fits in the end does not leave 128 bits on the way.
        let (a, b) = (Ratio::new(self.over, other.under)?, Ratio::new(other.over, self.under)?);
        Some(Ratio { over: a.over.checked_mul(b.over)?, under: a.under.checked_mul(b.under)? })
    }

    /// The closest number that a float has.
    pub fn to_f64(self) -> f64 {
        self.over as f64 / self.under as f64
    }
}

pub(super) fn divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
