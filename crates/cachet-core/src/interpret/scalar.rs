//! The element operations: what each [`Prim`] gives, bit for bit.
//!
//! An element is its bits in the low bits of a `u64`, the others zero. A computed NaN is always the canonical one:
//! which NaN a machine gives cannot be told apart by programs, and this way runs are reproducible. Copies, `select`
//! and `from_bits` keep every bit.

use super::half::{BF16, F16, Format, to_odd};
use crate::ir::{Elem, Prim};

const NAN32: u64 = 0x7fc0_0000;
const NAN64: u64 = 0x7ff8_0000_0000_0000;

/// Why an operation has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoValue {
    /// An index does not fit the integer type that it becomes a word of.
    Overflow,
    /// Operands of these types are not taken.
    Refused,
}

/// An element operation on operands of type `elem` (for `select`: of the two choices).
///
/// `flush` is the arithmetic of devices without subnormals: operands and results of `+ - * / fma sqrt` that are
/// subnormal count as zero of their sign.
pub fn primitive(prim: Prim, elem: Elem, args: &[u64], flush: bool) -> Result<u64, NoValue> {
    match (prim, args) {
        (Prim::Select, [c, a, b]) => Ok(if *c != 0 { *a } else { *b }),
        (Prim::Cast(to) | Prim::WrappingCast(to), [a]) => cast(elem, to, *a),
        (Prim::SaturatingCast(to), [a]) => {
            let (lo, hi) = range(to).ok_or(NoValue::Refused)?;
            Ok(low_bits(to, to_int(elem, *a).clamp(lo, hi)))
        }
        (Prim::FromBits(_), [a]) => Ok(*a),
        (Prim::ToBits, [a]) => Ok(canonical(elem, *a)),
        (Prim::And, [a, b]) => Ok(a & b),
        (Prim::Or, [a, b]) => Ok(a | b),
        (Prim::Not, [a]) => Ok(a ^ 1),
        _ => match elem {
            Elem::F32 => single(prim, args, flush),
            Elem::F64 => double(prim, args, flush),
            Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => {
                integer(prim, elem, args)
            }
            Elem::Bool => match (prim, args) {
                (Prim::Eq, [a, b]) => Ok(u64::from(a == b)),
                _ => Err(NoValue::Refused),
            },
            Elem::F16 | Elem::BF16 => Err(NoValue::Refused),
        },
    }
}

/// Whether an element is a NaN.
pub fn is_nan(elem: Elem, bits: u64) -> bool {
    match elem {
        Elem::F64 => f64::from_bits(bits).is_nan(),
        Elem::F32 => f32::from_bits(bits as u32).is_nan(),
        Elem::F16 => F16.is_nan(bits as u16),
        Elem::BF16 => BF16.is_nan(bits as u16),
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 | Elem::Bool => {
            false
        }
    }
}

/// Whether two elements are one value: the same bits, or two NaNs.
pub fn same(elem: Elem, a: u64, b: u64) -> bool {
    a == b || (is_nan(elem, a) && is_nan(elem, b))
}

/// The element, or the canonical NaN of its type for any NaN.
pub fn canonical(elem: Elem, bits: u64) -> u64 {
    if !is_nan(elem, bits) {
        return bits;
    }
    match elem {
        Elem::F64 => NAN64,
        Elem::F32 => NAN32,
        Elem::F16 => u64::from(F16.nan()),
        Elem::BF16 => u64::from(BF16.nan()),
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 | Elem::Bool => {
            bits
        }
    }
}

/// A float element as `f64`, exactly; `None` for the other types.
pub fn to_f64(elem: Elem, bits: u64) -> Option<f64> {
    match elem {
        Elem::F64 => Some(f64::from_bits(bits)),
        Elem::F32 => Some(f64::from(f32::from_bits(bits as u32))),
        Elem::F16 => Some(F16.widen(bits as u16)),
        Elem::BF16 => Some(BF16.widen(bits as u16)),
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 | Elem::Bool => {
            None
        }
    }
}

/// An integer or `bool` element's value; 0 for floats.
pub fn to_int(elem: Elem, bits: u64) -> i128 {
    match elem {
        Elem::I64 => i128::from(bits as i64),
        Elem::I32 => i128::from(bits as u32 as i32),
        Elem::I16 => i128::from(bits as u16 as i16),
        Elem::I8 => i128::from(bits as u8 as i8),
        Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 | Elem::Bool => i128::from(bits),
        Elem::F64 | Elem::F32 | Elem::F16 | Elem::BF16 => 0,
    }
}

/// The smallest and largest value of an integer type; `None` for floats and `bool`.
pub fn range(elem: Elem) -> Option<(i128, i128)> {
    match elem {
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 => {
            let half = 1i128 << (8 * elem.bytes() - 1);
            Some((-half, half - 1))
        }
        Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => Some((0, (1i128 << (8 * elem.bytes())) - 1)),
        Elem::F64 | Elem::F32 | Elem::F16 | Elem::BF16 | Elem::Bool => None,
    }
}

/// An integer as an element: exact or refused for integer types, rounded to nearest even for floats.
pub fn from_int(elem: Elem, n: i128) -> Result<u64, NoValue> {
    match elem {
        Elem::F64 => Ok((n as f64).to_bits()),
        Elem::F32 => Ok(u64::from((n as f32).to_bits())),
        Elem::F16 => Ok(u64::from(F16.narrow(to_odd(n)))),
        Elem::BF16 => Ok(u64::from(BF16.narrow(to_odd(n)))),
        Elem::Bool => Err(NoValue::Refused),
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => {
            let (lo, hi) = range(elem).ok_or(NoValue::Refused)?;
            if n < lo || n > hi {
                return Err(NoValue::Overflow);
            }
            Ok(n as u64 & mask(elem))
        }
    }
}

fn mask(elem: Elem) -> u64 {
    u64::MAX >> (64 - 8 * elem.bytes())
}

/// The low bits of an integer: what is left of a result that may not fit.
pub fn low_bits(elem: Elem, n: i128) -> u64 {
    n as u64 & mask(elem)
}

/// A conversion: float to narrower float rounds to nearest even, float to integer truncates and saturates with 0 for
/// NaN, integer to float rounds to nearest even, integer to integer keeps the low bits.
pub fn cast(from: Elem, to: Elem, bits: u64) -> Result<u64, NoValue> {
    match to_f64(from, bits) {
        Some(x) => match to {
            _ if from == to => Ok(bits),
            Elem::F64 => Ok(if x.is_nan() { NAN64 } else { x.to_bits() }),
            Elem::F32 => Ok(if x.is_nan() { NAN32 } else { u64::from((x as f32).to_bits()) }),
            Elem::F16 => Ok(narrow(F16, x)),
            Elem::BF16 => Ok(narrow(BF16, x)),
            Elem::Bool => Err(NoValue::Refused),
            Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => {
                let (lo, hi) = range(to).ok_or(NoValue::Refused)?;
                Ok((x as i128).clamp(lo, hi) as u64 & mask(to))
            }
        },
        None if from == to => Ok(bits),
        None if to.is_integer() => Ok(low_bits(to, to_int(from, bits))),
        None => from_int(to, to_int(from, bits)),
    }
}

fn narrow(format: Format, x: f64) -> u64 {
    u64::from(format.narrow(x))
}

macro_rules! float_ops {
    ($name:ident, $float:ty, $bits:ty, $nan:ident) => {
        fn $name(prim: Prim, args: &[u64], flush: bool) -> Result<u64, NoValue> {
            let of = |bits: u64| <$float>::from_bits(bits as $bits);
            let zeroed = |x: $float| if flush && x.is_subnormal() { (0.0 as $float).copysign(x) } else { x };
            let number = |x: $float| Ok(if x.is_nan() { $nan } else { u64::from(x.to_bits()) });
            let truth = |b: bool| Ok(u64::from(b));
            match (prim, args) {
                (Prim::Add, &[a, b]) => number(zeroed(zeroed(of(a)) + zeroed(of(b)))),
                (Prim::Sub, &[a, b]) => number(zeroed(zeroed(of(a)) - zeroed(of(b)))),
                (Prim::Mul, &[a, b]) => number(zeroed(zeroed(of(a)) * zeroed(of(b)))),
                (Prim::Div, &[a, b]) => number(zeroed(zeroed(of(a)) / zeroed(of(b)))),
                (Prim::Fma, &[a, b, c]) => number(zeroed(zeroed(of(a)).mul_add(zeroed(of(b)), zeroed(of(c))))),
                (Prim::Sqrt, &[a]) => number(zeroed(zeroed(of(a)).sqrt())),
                (Prim::Max, &[a, b]) => number(maximum(of(a), of(b))),
                (Prim::Min, &[a, b]) => number(-maximum(-of(a), -of(b))),
                (Prim::Neg, &[a]) => number(-of(a)),
                (Prim::Abs, &[a]) => number(of(a).abs()),
                (Prim::Eq, &[a, b]) => truth(of(a) == of(b)),
                (Prim::Lt, &[a, b]) => truth(of(a) < of(b)),
                (Prim::Le, &[a, b]) => truth(of(a) <= of(b)),
                _ => Err(NoValue::Refused),
            }
        }
    };
}

float_ops!(single, f32, u32, NAN32);
float_ops!(double, f64, u64, NAN64);

trait Float: Copy + PartialOrd {
    const NAN: Self;
    fn negative(self) -> bool;
}

impl Float for f32 {
    const NAN: f32 = f32::NAN;
    fn negative(self) -> bool {
        self.is_sign_negative()
    }
}

impl Float for f64 {
    const NAN: f64 = f64::NAN;
    fn negative(self) -> bool {
        self.is_sign_negative()
    }
}

/// IEEE 754-2019 `maximum`: a NaN wins, and `+0 > -0`.
fn maximum<F: Float>(a: F, b: F) -> F {
    if a > b {
        a
    } else if b > a {
        b
    } else if a == b {
        if a.negative() { b } else { a }
    } else {
        F::NAN
    }
}

/// The quotient rounded down; by 0 it is 0.
fn floor_div(a: i128, b: i128) -> i128 {
    match b {
        0 => 0,
        _ if a % b != 0 && (a < 0) != (b < 0) => a / b - 1,
        _ => a / b,
    }
}

fn integer(prim: Prim, elem: Elem, args: &[u64]) -> Result<u64, NoValue> {
    let of = |bits: u64| to_int(elem, bits);
    let low = |n: i128| Ok(low_bits(elem, n));
    let truth = |b: bool| Ok(u64::from(b));
    match (prim, args) {
        (Prim::Add | Prim::WrappingAdd, &[a, b]) => low(of(a) + of(b)),
        (Prim::Sub | Prim::WrappingSub, &[a, b]) => low(of(a) - of(b)),
        // Two factors of 64 bits may be beyond 128 bits with their sign, and only the low 64 count.
        (Prim::Mul | Prim::WrappingMul, &[a, b]) => low(of(a).wrapping_mul(of(b))),
        (Prim::Div, &[a, b]) => low(floor_div(of(a), of(b))),
        (Prim::Rem, &[a, b]) => low(of(a) - floor_div(of(a), of(b)) * of(b)),
        (Prim::Max, &[a, b]) => Ok(if of(a) < of(b) { b } else { a }),
        (Prim::Min, &[a, b]) => Ok(if of(b) < of(a) { b } else { a }),
        (Prim::Neg, &[a]) => low(-of(a)),
        (Prim::Abs, &[a]) => low(of(a).abs()),
        (Prim::Eq, &[a, b]) => truth(a == b),
        (Prim::Lt, &[a, b]) => truth(of(a) < of(b)),
        (Prim::Le, &[a, b]) => truth(of(a) <= of(b)),
        _ => Err(NoValue::Refused),
    }
}
