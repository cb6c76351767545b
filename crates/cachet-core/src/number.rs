//! What are the whole numbers outside programs: constants, and what a file asserts of them and of sizes?
//!
//! Unlike an index of the IR, a number here may be a product of any two others; it is evaluated exactly or not at all.
//! `/` is floor division, `%` its remainder, both by something above 0; [`Num::Ceil`] rounds an exact quotient up.

use cachet_source::Span;

/// A number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Num {
    /// A literal.
    Lit(i128),
    /// A size, at least 0: a position in the list that comes with it.
    Size(u32),
    /// Sum.
    Add(Box<Num>, Box<Num>),
    /// Difference.
    Sub(Box<Num>, Box<Num>),
    /// Product.
    Mul(Box<Num>, Box<Num>),
    /// The quotient, rounded down.
    Div(Box<Num>, Box<Num>),
    /// The quotient, rounded up.
    Ceil(Box<Num>, Box<Num>),
    /// The remainder of floor division.
    Mod(Box<Num>, Box<Num>),
    /// The smaller.
    Min(Box<Num>, Box<Num>),
    /// The larger.
    Max(Box<Num>, Box<Num>),
    /// Choice.
    If(Box<Claim>, Box<Num>, Box<Num>),
}

/// A statement about numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Claim {
    /// Always, or never.
    Const(bool),
    /// A comparison.
    Compare(Box<Comparison>),
    /// Both.
    And(Box<Claim>, Box<Claim>),
    /// Either.
    Or(Box<Claim>, Box<Claim>),
    /// Not.
    Not(Box<Claim>),
}

/// A comparison, and how its sides are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// Which.
    pub order: Order,
    /// Left side.
    pub lhs: Num,
    /// Right side.
    pub rhs: Num,
    /// The sides as they are written.
    pub texts: (String, String),
}

/// How two numbers are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Order {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// `proof NAME = assert ..`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// Its name.
    pub name: String,
    /// What has to hold.
    pub asserts: Vec<Assertion>,
    /// Where its name is written.
    pub span: Span,
}

/// `assert e`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assertion {
    /// The names in it that no constant has: sizes, for all values of which it has to hold.
    pub sizes: Vec<String>,
    /// What has to hold.
    pub claim: Claim,
    /// As it is written, on one line.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// Why a number has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It does not fit 128 bits.
    Overflow,
    /// It divides by this, which is not above 0.
    Divisor(i128),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Overflow => f.write_str("a number here does not fit 128 bits"),
            Fault::Divisor(n) => write!(f, "a number here is divided by {n}, and a divisor is above 0"),
        }
    }
}

impl Num {
    /// Its value where the sizes have these.
    ///
    /// # Errors
    /// Why it has none.
    pub fn value(&self, sizes: &[i128]) -> Result<i128, Fault> {
        let two = |a: &Num, b: &Num| Ok::<_, Fault>((a.value(sizes)?, b.value(sizes)?));
        let quotient = |a: &Num, b: &Num| match two(a, b)? {
            (_, d) if d <= 0 => Err(Fault::Divisor(d)),
            both => Ok(both),
        };
        match self {
            Num::Lit(n) => Ok(*n),
            Num::Size(s) => sizes.get(*s as usize).copied().ok_or(Fault::Overflow),
            Num::Add(a, b) => two(a, b).and_then(|(a, b)| a.checked_add(b).ok_or(Fault::Overflow)),
            Num::Sub(a, b) => two(a, b).and_then(|(a, b)| a.checked_sub(b).ok_or(Fault::Overflow)),
            Num::Mul(a, b) => two(a, b).and_then(|(a, b)| a.checked_mul(b).ok_or(Fault::Overflow)),
            Num::Div(a, b) => quotient(a, b).map(|(a, b)| a.div_euclid(b)),
            Num::Mod(a, b) => quotient(a, b).map(|(a, b)| a.rem_euclid(b)),
            Num::Ceil(a, b) => quotient(a, b).map(|(a, b)| a.div_euclid(b) + i128::from(a.rem_euclid(b) > 0)),
            Num::Min(a, b) => two(a, b).map(|(a, b)| a.min(b)),
            Num::Max(a, b) => two(a, b).map(|(a, b)| a.max(b)),
            Num::If(c, a, b) => if c.holds(sizes)? { a } else { b }.value(sizes),
        }
    }

    /// Whether no size occurs in it.
    pub fn is_ground(&self) -> bool {
        match self {
            Num::Lit(_) => true,
            Num::Size(_) => false,
            Num::Add(a, b)
            | Num::Sub(a, b)
            | Num::Mul(a, b)
            | Num::Div(a, b)
            | Num::Ceil(a, b)
            | Num::Mod(a, b)
            | Num::Min(a, b)
            | Num::Max(a, b) => a.is_ground() && b.is_ground(),
            Num::If(c, a, b) => c.is_ground() && a.is_ground() && b.is_ground(),
        }
    }

    /// How many parts it has.
    pub fn parts(&self) -> usize {
        match self {
            Num::Lit(_) | Num::Size(_) => 1,
            Num::Add(a, b)
            | Num::Sub(a, b)
            | Num::Mul(a, b)
            | Num::Div(a, b)
            | Num::Ceil(a, b)
            | Num::Mod(a, b)
            | Num::Min(a, b)
            | Num::Max(a, b) => 1 + a.parts() + b.parts(),
            Num::If(c, a, b) => 1 + c.parts() + a.parts() + b.parts(),
        }
    }
}

impl Claim {
    /// Whether it holds where the sizes have these values.
    ///
    /// # Errors
    /// Why a number in it has no value.
    pub fn holds(&self, sizes: &[i128]) -> Result<bool, Fault> {
        match self {
            Claim::Const(b) => Ok(*b),
            Claim::Compare(c) => {
                let (a, b) = (c.lhs.value(sizes)?, c.rhs.value(sizes)?);
                Ok(match c.order {
                    Order::Eq => a == b,
                    Order::Ne => a != b,
                    Order::Lt => a < b,
                    Order::Le => a <= b,
                    Order::Gt => a > b,
                    Order::Ge => a >= b,
                })
            }
            // Both sides are evaluated: what has no value is never hidden by its neighbour.
            Claim::And(a, b) => {
                let (a, b) = (a.holds(sizes)?, b.holds(sizes)?);
                Ok(a && b)
            }
            Claim::Or(a, b) => {
                let (a, b) = (a.holds(sizes)?, b.holds(sizes)?);
                Ok(a || b)
            }
            Claim::Not(a) => a.holds(sizes).map(|b| !b),
        }
    }

    /// Whether no size occurs in it.
    pub fn is_ground(&self) -> bool {
        match self {
            Claim::Const(_) => true,
            Claim::Compare(c) => c.lhs.is_ground() && c.rhs.is_ground(),
            Claim::And(a, b) | Claim::Or(a, b) => a.is_ground() && b.is_ground(),
            Claim::Not(a) => a.is_ground(),
        }
    }

    /// How many parts it has.
    pub fn parts(&self) -> usize {
        match self {
            Claim::Const(_) => 1,
            Claim::Compare(c) => 1 + c.lhs.parts() + c.rhs.parts(),
            Claim::And(a, b) | Claim::Or(a, b) => 1 + a.parts() + b.parts(),
            Claim::Not(a) => 1 + a.parts(),
        }
    }

    /// The comparisons that do not have the truth which the whole needs from them, in order: of a statement that is
    /// false, the ones to look at.
    pub fn culprits(&self, sizes: &[i128]) -> Vec<&Comparison> {
        let mut out = Vec::new();
        self.blame(sizes, true, &mut out);
        out
    }

    fn blame<'a>(&'a self, sizes: &[i128], wanted: bool, out: &mut Vec<&'a Comparison>) {
        match self {
            Claim::Const(_) => {}
            Claim::Compare(c) => {
                if self.holds(sizes).is_ok_and(|b| b != wanted) {
                    out.push(c);
                }
            }
            Claim::And(a, b) | Claim::Or(a, b) => {
                a.blame(sizes, wanted, out);
                b.blame(sizes, wanted, out);
            }
            Claim::Not(a) => a.blame(sizes, !wanted, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Claim, Comparison, Fault, Num, Order};

    fn lit(n: i128) -> Box<Num> {
        Box::new(Num::Lit(n))
    }

    #[test]
    fn quotients_are_rounded_as_they_say() {
        for (a, floor, ceil, rest) in [(7, 3, 4, 1), (8, 4, 4, 0), (-7, -4, -3, 1), (0, 0, 0, 0)] {
            assert_eq!(Num::Div(lit(a), lit(2)).value(&[]), Ok(floor));
            assert_eq!(Num::Ceil(lit(a), lit(2)).value(&[]), Ok(ceil));
            assert_eq!(Num::Mod(lit(a), lit(2)).value(&[]), Ok(rest));
        }
        assert_eq!(Num::Div(lit(1), lit(0)).value(&[]), Err(Fault::Divisor(0)));
        assert_eq!(Num::Ceil(lit(1), lit(-2)).value(&[]), Err(Fault::Divisor(-2)));
        assert_eq!(Num::Mul(lit(i128::MAX), lit(2)).value(&[]), Err(Fault::Overflow));
    }

    #[test]
    fn what_is_false_names_its_comparisons() {
        let compare = |order, a, b| {
            let texts = (String::new(), String::new());
            Claim::Compare(Box::new(Comparison { order, lhs: Num::Lit(a), rhs: Num::Lit(b), texts }))
        };
        let good = compare(Order::Le, 1, 2);
        let bad = compare(Order::Ge, 1, 2);
        let both = Claim::And(Box::new(good.clone()), Box::new(bad.clone()));
        assert_eq!(both.culprits(&[]).len(), 1);
        assert_eq!(Claim::Not(Box::new(good)).culprits(&[]).len(), 1);
        assert_eq!(Claim::Or(Box::new(bad.clone()), Box::new(bad)).culprits(&[]).len(), 2);
    }
}
