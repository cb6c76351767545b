//! Indices as counts, inside the loops around them.

use crate::count::{Count, Range, Ranges, Sign};
use cachet_core::ir::{BlockPart, Domain, Fun, Guard, Ix, Program, Rel, Var, VarKind};
use std::collections::BTreeMap;

/// A function's body being walked, perhaps on behalf of a caller.
pub(crate) struct Scope<'a> {
    pub program: &'a Program,
    pub fun: &'a Fun,
    /// What is added to its variables' numbers, so that those of callers and callees are apart.
    pub base: u32,
    /// Its sizes, in the caller's terms.
    pub sizes: BTreeMap<Var, Count>,
    /// Where the blocks of a loop over blocks begin, and their size.
    pub blocks: BTreeMap<Var, (Count, i64)>,
    /// The loops around, those around the call first.
    pub ranges: Ranges,
}

impl<'a> Scope<'a> {
    /// A function's sizes alone.
    pub fn of(program: &'a Program, fun: &'a Fun, ranges: Ranges) -> Scope<'a> {
        Scope { program, fun, base: 0, sizes: BTreeMap::new(), blocks: BTreeMap::new(), ranges }
    }

    /// A variable, as counts know it.
    pub fn var(&self, v: Var) -> Var {
        Var(self.base + v.0)
    }

    pub fn ix(&self, ix: &Ix) -> Count {
        let two = |a, b| (self.ix(a), self.ix(b));
        match ix {
            Ix::Lit(n) => Count::lit(*n),
            Ix::Var(v) => match self.fun.vars[v.index()].kind {
                VarKind::Size => self.sizes.get(v).cloned().unwrap_or_else(|| Count::var(self.var(*v))),
                VarKind::Index | VarKind::Block | VarKind::Lane(_) | VarKind::Instr(..) => Count::var(self.var(*v)),
            },
            Ix::Add(a, b) => self.ix(a).plus(&self.ix(b)),
            Ix::Sub(a, b) => self.ix(a).minus(&self.ix(b)),
            Ix::Mul(n, a) => self.ix(a).scaled(*n),
            Ix::Div(a, n) => self.floor(&self.ix(a), *n),
            Ix::Mod(a, n) => {
                let a = self.ix(a);
                a.minus(&self.floor(&a, *n).scaled(*n))
            }
            Ix::Min(a, b) => {
                let (a, b) = two(a, b);
                a.smaller(&b, &self.ranges)
            }
            Ix::Max(a, b) => {
                let (a, b) = two(a, b);
                a.larger(&b, &self.ranges)
            }
            Ix::If(g, a, b) => {
                let (g, (a, b)) = (self.guard(g), two(a, b));
                g.times(&a).plus(&Count::lit(1).minus(&g).times(&b))
            }
            Ix::Block(g, part) => {
                let len = Count::atom(crate::count::Atom::Len(self.var(*g)));
                match part {
                    BlockPart::Lo => self.block_start(*g),
                    BlockPart::Hi => self.block_start(*g).plus(&len),
                    BlockPart::Len => len,
                    BlockPart::Idx => Count::var(self.var(*g)),
                }
            }
            Ix::InBlock(g, e) => self.block_start(*g).plus(&self.ix(e)),
        }
    }

    fn block_start(&self, g: Var) -> Count {
        match self.blocks.get(&g) {
            Some((lo, n)) => lo.plus(&Count::var(self.var(g)).scaled(*n)),
            None => Count::lost(),
        }
    }

    /// Whether a function's requirements say that a count is a multiple.
    fn is_multiple(&self, c: &Count, n: i64) -> bool {
        self.fun.requires.iter().any(|g| match g {
            Guard::Cmp(Rel::Eq, Ix::Mod(e, m), Ix::Lit(0)) => m % n == 0 && is_linear(e) && self.ix(e) == *c,
            _ => false,
        })
    }

    /// A quotient; 0 where the dividend is surely below the divisor.
    fn floor(&self, c: &Count, n: i64) -> Count {
        if self.is_multiple(c, n) {
            return c.shared(n);
        }
        let below = Count::lit(n - 1).minus(c);
        if self.ranges.not_negative(c) && self.ranges.not_negative(&below) { Count::zero() } else { c.floor(n) }
    }

    /// 1 where it holds, else 0.
    pub fn guard(&self, g: &Guard) -> Count {
        let one = Count::lit(1);
        match g {
            Guard::Const(b) => Count::lit(i128::from(*b)),
            Guard::Cmp(rel, a, b) => {
                let difference = self.ix(b).minus(&self.ix(a));
                let holds = |sign, c: &Count| c.holds(sign, &self.ranges);
                match rel {
                    Rel::Eq => holds(Sign::Zero, &difference),
                    Rel::Ne => one.minus(&holds(Sign::Zero, &difference)),
                    Rel::Le => holds(Sign::NotNegative, &difference),
                    Rel::Lt => holds(Sign::NotNegative, &difference.minus(&one)),
                }
            }
            Guard::And(a, b) => self.guard(a).times(&self.guard(b)),
            Guard::Or(a, b) => {
                let (a, b) = (self.guard(a), self.guard(b));
                a.plus(&b).minus(&a.times(&b))
            }
            Guard::Not(a) => one.minus(&self.guard(a)),
        }
    }

    /// What a loop's variable runs through.
    pub fn range(&self, domain: &Domain) -> Range {
        match domain {
            Domain::Range { lo, hi } => Range::Loop(self.ix(lo), self.ix(hi)),
            Domain::Blocks { lo, hi, size } => Range::Blocks(self.ix(lo), self.ix(hi), *size),
        }
    }

    /// Enters a loop.
    pub fn enter(&mut self, v: Var, range: &Range) {
        if let Range::Blocks(lo, _, n) = range {
            self.blocks.insert(v, (lo.clone(), *n));
        }
        self.ranges.enter(self.var(v), range.clone());
    }
}

/// Whether an index is made of sums and multiples alone.
fn is_linear(ix: &Ix) -> bool {
    match ix {
        Ix::Lit(_) | Ix::Var(_) => true,
        Ix::Add(a, b) | Ix::Sub(a, b) => is_linear(a) && is_linear(b),
        Ix::Mul(_, a) => is_linear(a),
        Ix::Div(..) | Ix::Mod(..) | Ix::Min(..) | Ix::Max(..) | Ix::If(..) | Ix::Block(..) | Ix::InBlock(..) => false,
    }
}
