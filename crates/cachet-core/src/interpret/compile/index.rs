//! Indices and guards. What is linear becomes a sum over slots; the rest stays a tree.

use super::{Compiler, Made};
use crate::interpret::code::{Cond, Index, Range};
use crate::ir::{BlockPart, Domain, Guard, Ix, Var, VarKind};
use std::collections::BTreeMap;

/// A sum over slots.
#[derive(Clone, Default)]
struct Linear {
    terms: BTreeMap<u32, i64>,
    constant: i64,
}

impl Linear {
    fn plus(mut self, other: &Linear, factor: i64) -> Option<Linear> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (slot, n) in &other.terms {
            let term = self.terms.entry(*slot).or_insert(0);
            *term = term.checked_add(n.checked_mul(factor)?)?;
        }
        self.terms.retain(|_, n| *n != 0);
        Some(self)
    }
}

impl Compiler<'_, '_> {
    /// The first slot of a variable.
    pub(in super::super) fn slot(&self, var: Var) -> Made<u32> {
        if var.index() < self.vars.len() { Ok(4 * var.0) } else { Err(self.malformed("a variable without an entry")) }
    }

    /// An index.
    pub(in super::super) fn index(&mut self, ix: &Ix) -> Made<Index> {
        self.down()?;
        let out = match self.linear(ix)? {
            Some(l) => {
                let terms: Vec<(u32, i64)> = l.terms.into_iter().collect();
                match terms.as_slice() {
                    [] => Index::Const(l.constant),
                    [(slot, 1)] if l.constant == 0 => Index::Slot(*slot),
                    [(slot, 1)] => Index::Offset(*slot, l.constant),
                    _ => Index::Linear(terms.into(), l.constant),
                }
            }
            None => self.tree(ix)?,
        };
        self.up();
        Ok(out)
    }

    fn pair(&mut self, a: &Ix, b: &Ix) -> Made<Box<(Index, Index)>> {
        Ok(Box::new((self.index(a)?, self.index(b)?)))
    }

    fn tree(&mut self, ix: &Ix) -> Made<Index> {
        Ok(match ix {
            Ix::Lit(n) => Index::Const(*n),
            Ix::Var(v) => Index::Slot(self.slot(*v)?),
            Ix::Add(a, b) => Index::Add(self.pair(a, b)?),
            Ix::Sub(a, b) => Index::Sub(self.pair(a, b)?),
            Ix::Mul(n, a) => Index::Mul(*n, Box::new(self.index(a)?)),
            Ix::Div(a, n) => Index::Div(Box::new(self.index(a)?), self.divisor(*n)?),
            Ix::Mod(a, n) => Index::Mod(Box::new(self.index(a)?), self.divisor(*n)?),
            Ix::Min(a, b) => Index::Min(self.pair(a, b)?),
            Ix::Max(a, b) => Index::Max(self.pair(a, b)?),
            Ix::If(g, a, b) => Index::If(Box::new((self.cond(g)?, self.index(a)?, self.index(b)?))),
            Ix::Block(v, part) => Index::Slot(self.slot(*v)? + block_slot(*part)),
            Ix::InBlock(v, a) => Index::Add(Box::new((Index::Slot(self.slot(*v)?), self.index(a)?))),
        })
    }

    fn divisor(&self, n: i64) -> Made<i64> {
        if n > 0 { Ok(n) } else { Err(self.malformed("a divisor that is not above 0")) }
    }

    /// The sum that an index is, if it is one and its numbers fit.
    fn linear(&mut self, ix: &Ix) -> Made<Option<Linear>> {
        self.down()?;
        let slot = |slot: u32| Linear { terms: BTreeMap::from([(slot, 1)]), constant: 0 };
        let out = match ix {
            Ix::Lit(n) => Some(Linear { terms: BTreeMap::new(), constant: *n }),
            Ix::Var(v) => {
                let var = self.slot(*v)?;
                if self.vars[v.index()].kind == VarKind::Block {
                    return Err(self.malformed("a block variable stands alone"));
                }
                Some(slot(var))
            }
            Ix::Block(v, part) => Some(slot(self.slot(*v)? + block_slot(*part))),
            Ix::InBlock(v, a) => {
                let base = slot(self.slot(*v)?);
                self.linear(a)?.and_then(|a| base.plus(&a, 1))
            }
            Ix::Add(a, b) => match (self.linear(a)?, self.linear(b)?) {
                (Some(a), Some(b)) => a.plus(&b, 1),
                _ => None,
            },
            Ix::Sub(a, b) => match (self.linear(a)?, self.linear(b)?) {
                (Some(a), Some(b)) => a.plus(&b, -1),
                _ => None,
            },
            Ix::Mul(n, a) => self.linear(a)?.and_then(|a| Linear::default().plus(&a, *n)),
            Ix::Div(..) | Ix::Mod(..) | Ix::Min(..) | Ix::Max(..) | Ix::If(..) => None,
        };
        self.up();
        Ok(out)
    }

    /// A guard.
    pub(in super::super) fn cond(&mut self, guard: &Guard) -> Made<Cond> {
        self.down()?;
        let out = match guard {
            Guard::Const(c) => Cond::Const(*c),
            Guard::Cmp(rel, a, b) => Cond::Cmp(*rel, self.pair(a, b)?),
            Guard::And(a, b) => Cond::And(Box::new((self.cond(a)?, self.cond(b)?))),
            Guard::Or(a, b) => Cond::Or(Box::new((self.cond(a)?, self.cond(b)?))),
            Guard::Not(a) => Cond::Not(Box::new(self.cond(a)?)),
        };
        self.up();
        Ok(out)
    }

    /// A loop's range.
    pub(in super::super) fn range(&mut self, var: Var, domain: &Domain) -> Made<Range> {
        let slot = self.slot(var)?;
        let (lo, hi, block) = match domain {
            Domain::Range { lo, hi } => (lo, hi, 0),
            Domain::Blocks { lo, hi, size } => (lo, hi, self.divisor(*size)?),
        };
        if (self.vars[var.index()].kind == VarKind::Block) != (block > 0) {
            return Err(self.malformed("a variable that does not fit its loop"));
        }
        Ok(Range { slot, lo: self.index(lo)?, hi: self.index(hi)?, block })
    }
}

fn block_slot(part: BlockPart) -> u32 {
    match part {
        BlockPart::Lo => 0,
        BlockPart::Hi => 1,
        BlockPart::Len => 2,
        BlockPart::Idx => 3,
    }
}
