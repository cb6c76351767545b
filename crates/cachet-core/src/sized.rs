//! What is an extent worth where the sizes have values?

use crate::ir::{Ix, Var};

/// The value of an index that no loop takes part in; `None` where one does, a variable has no value, or it leaves 64 bits.
pub fn value(ix: &Ix, of: &impl Fn(Var) -> Option<i64>) -> Option<i64> {
    match ix {
        Ix::Lit(n) => Some(*n),
        Ix::Var(v) => of(*v),
        Ix::Add(a, b) => value(a, of)?.checked_add(value(b, of)?),
        Ix::Sub(a, b) => value(a, of)?.checked_sub(value(b, of)?),
        Ix::Mul(n, a) => value(a, of)?.checked_mul(*n),
        Ix::Div(a, n) => value(a, of)?.checked_div_euclid(*n),
        Ix::Mod(a, n) => value(a, of)?.checked_rem_euclid(*n),
        Ix::Min(a, b) => Some(value(a, of)?.min(value(b, of)?)),
        Ix::Max(a, b) => Some(value(a, of)?.max(value(b, of)?)),
        Ix::If(..) | Ix::Block(..) | Ix::InBlock(..) => None,
    }
}
