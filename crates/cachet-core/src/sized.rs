//! What is an extent worth, and does a condition hold, where the sizes have values?

use crate::ir::{Guard, Ix, Rel, Var};

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

/// Whether a condition holds; `None` where its value is not known.
pub fn holds(guard: &Guard, of: &impl Fn(Var) -> Option<i64>) -> Option<bool> {
    Some(match guard {
        Guard::Const(b) => *b,
        Guard::Cmp(rel, a, b) => {
            let (a, b) = (value(a, of)?, value(b, of)?);
            match rel {
                Rel::Eq => a == b,
                Rel::Ne => a != b,
                Rel::Lt => a < b,
                Rel::Le => a <= b,
            }
        }
        Guard::And(a, b) => holds(a, of)? && holds(b, of)?,
        Guard::Or(a, b) => holds(a, of)? || holds(b, of)?,
        Guard::Not(a) => !holds(a, of)?,
    })
}
