//! Which iterations reach a place in a function? Loops, blocks and guards, evaluated straight from the program at concrete
//! sizes; nothing is shared with what the checker makes of them.

use cachet_check::events::{Frame, FrameKind};
use cachet_core::ir::{BlockPart, Domain, Fun, Guard, Ix, Rel, Var};
use std::collections::BTreeMap;

/// What a variable stands for.
#[derive(Clone, Copy)]
enum Stands {
    Index(i128),
    Block { lo: i128, hi: i128, size: i128, number: i128 },
}

/// Values of variables.
#[derive(Clone, Default)]
pub struct Values(BTreeMap<Var, Stands>);

/// Iterations that a search looks at, at most.
const MOST: usize = 20_000;

impl Values {
    /// A function's sizes; `None` where its requirements do not hold at them.
    pub fn of_sizes(fun: &Fun, sizes: &[i128]) -> Option<Values> {
        let all = fun.sizes.iter().zip(sizes).map(|(v, n)| (*v, Stands::Index(*n))).collect();
        let values = Values(all);
        fun.requires.iter().all(|g| values.guard(g) == Some(true)).then_some(values)
    }

    /// The value of an index; `None` where it has none.
    fn index(&self, ix: &Ix) -> Option<i128> {
        Some(match ix {
            Ix::Lit(n) => i128::from(*n),
            Ix::Var(v) => match self.0.get(v)? {
                Stands::Index(n) | Stands::Block { number: n, .. } => *n,
            },
            Ix::Add(a, b) => self.index(a)?.checked_add(self.index(b)?)?,
            Ix::Sub(a, b) => self.index(a)?.checked_sub(self.index(b)?)?,
            Ix::Mul(n, a) => self.index(a)?.checked_mul(i128::from(*n))?,
            Ix::Div(a, n) => self.index(a)?.div_euclid(i128::from(*n)),
            Ix::Mod(a, n) => self.index(a)?.rem_euclid(i128::from(*n)),
            Ix::Min(a, b) => self.index(a)?.min(self.index(b)?),
            Ix::Max(a, b) => self.index(a)?.max(self.index(b)?),
            Ix::If(g, a, b) => self.index(if self.guard(g)? { a } else { b })?,
            Ix::Block(v, part) => {
                let Stands::Block { lo, hi, size, number } = *self.0.get(v)? else { return None };
                let first = lo + number * size;
                let end = hi.min(first + size);
                match part {
                    BlockPart::Lo => first,
                    BlockPart::Hi => end,
                    BlockPart::Len => end - first,
                    BlockPart::Idx => number,
                }
            }
            Ix::InBlock(v, e) => {
                let Stands::Block { lo, size, number, .. } = *self.0.get(v)? else { return None };
                lo + number * size + self.index(e)?
            }
        })
    }

    fn guard(&self, guard: &Guard) -> Option<bool> {
        Some(match guard {
            Guard::Const(b) => *b,
            Guard::Cmp(rel, a, b) => {
                let (a, b) = (self.index(a)?, self.index(b)?);
                match rel {
                    Rel::Eq => a == b,
                    Rel::Ne => a != b,
                    Rel::Lt => a < b,
                    Rel::Le => a <= b,
                }
            }
            Guard::And(a, b) => self.guard(a)? && self.guard(b)?,
            Guard::Or(a, b) => self.guard(a)? || self.guard(b)?,
            Guard::Not(a) => !self.guard(a)?,
        })
    }

    /// How many iterations a loop has here.
    fn count(&self, domain: &Domain) -> Option<i128> {
        Some(match domain {
            Domain::Range { lo, hi } => (self.index(hi)? - self.index(lo)?).max(0),
            Domain::Blocks { lo, hi, size } => {
                let size = i128::from(*size);
                (self.index(hi)? - self.index(lo)? + size - 1).div_euclid(size).max(0)
            }
        })
    }

    /// In one iteration of a loop, counted from 0.
    fn inside(&self, var: Var, domain: &Domain, n: i128) -> Option<Values> {
        let stands = match domain {
            Domain::Range { lo, .. } => Stands::Index(self.index(lo)? + n),
            Domain::Blocks { lo, hi, size } => {
                Stands::Block { lo: self.index(lo)?, hi: self.index(hi)?, size: i128::from(*size), number: n }
            }
        };
        let mut inner = self.clone();
        inner.0.insert(var, stands);
        Some(inner)
    }
}

/// Whether a place under these frames is reached at a model of its context: the sizes, then for each loop from the outside
/// in its index or its block's number.
pub fn reaches(fun: &Fun, frames: &[Frame], model: &[i128]) -> bool {
    let (sizes, rest) = model.split_at(fun.sizes.len().min(model.len()));
    let mut rest = rest.iter();
    let Some(mut values) = Values::of_sizes(fun, sizes) else { return false };
    for frame in frames {
        match &frame.kind {
            FrameKind::Loop(var, domain) => {
                let (Some(n), Some(count)) = (rest.next(), values.count(domain)) else { return false };
                let first = match domain {
                    Domain::Range { lo, .. } => values.index(lo),
                    Domain::Blocks { .. } => Some(0),
                };
                let Some(n) = first.map(|first| n - first).filter(|n| (0..count).contains(n)) else { return false };
                let Some(inner) = values.inside(*var, domain, n) else { return false };
                values = inner;
            }
            FrameKind::Guard(guard, wanted) => {
                if values.guard(guard) != Some(*wanted) {
                    return false;
                }
            }
        }
    }
    rest.next().is_none()
}

/// Whether some iteration reaches a place at these sizes; `None` where there are too many to look at.
pub fn reached(fun: &Fun, frames: &[Frame], sizes: &[i128]) -> Option<bool> {
    let Some(values) = Values::of_sizes(fun, sizes) else { return Some(false) };
    let mut open = vec![(values, 0usize)];
    let mut left = MOST;
    while let Some((values, depth)) = open.pop() {
        left = left.checked_sub(1)?;
        let Some(frame) = frames.get(depth) else { return Some(true) };
        match &frame.kind {
            FrameKind::Loop(var, domain) => {
                let count = values.count(domain)?;
                if count > MOST as i128 {
                    return None;
                }
                for n in (0..count).rev() {
                    open.push((values.inside(*var, domain, n)?, depth + 1));
                }
            }
            FrameKind::Guard(guard, wanted) => {
                if values.guard(guard)? == *wanted {
                    open.push((values, depth + 1));
                }
            }
        }
    }
    Some(false)
}
