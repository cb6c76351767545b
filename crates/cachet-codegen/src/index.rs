//! How do indices and guards become 64-bit arithmetic?
//!
//! Sums, differences and products are proved to stay within 64 bits wherever they are used, and say so (`nsw`). What is
//! used only under a guard may overflow where the guard fails; conditions are therefore joined by `select`, through
//! which an overflow that nobody uses does not pass.

use crate::function::{Index, Lower, Outcome};
use cachet_core::ir::{BlockPart, Domain, Guard, Ix, Rel, Var};

/// The most iterations of a loop in a tile that LLVM may write out.
const FEW: i64 = 32;

impl Lower<'_, '_> {
    /// An index as an `i64`.
    pub(crate) fn ix(&mut self, ix: &Ix) -> Outcome<String> {
        Ok(match ix {
            Ix::Lit(n) => n.to_string(),
            Ix::Var(v) => match self.var(*v)? {
                Index::Plain(name) => name,
                Index::Block { .. } => return Err(self.ill_formed("a block stands alone")),
            },
            Ix::Add(a, b) => {
                let (a, b) = (self.ix(a)?, self.ix(b)?);
                self.add(&a, &b)
            }
            Ix::Sub(a, b) => {
                let (a, b) = (self.ix(a)?, self.ix(b)?);
                if b == "0" { a } else { self.em.def(format_args!("sub nsw i64 {a}, {b}")) }
            }
            Ix::Mul(n, a) => {
                let a = self.ix(a)?;
                if *n == 1 { a } else { self.em.def(format_args!("mul nsw i64 {a}, {n}")) }
            }
            Ix::Div(a, n) => {
                let a = self.ix(a)?;
                self.floor_div(&a, *n)
            }
            Ix::Mod(a, n) => {
                let a = self.ix(a)?;
                self.floor_mod(&a, *n)
            }
            Ix::Min(a, b) => {
                let (a, b) = (self.ix(a)?, self.ix(b)?);
                self.min(&a, &b)
            }
            Ix::Max(a, b) => {
                let (a, b) = (self.ix(a)?, self.ix(b)?);
                self.em.def(format_args!("call i64 @llvm.smax.i64(i64 {a}, i64 {b})"))
            }
            Ix::If(g, a, b) => {
                let g = self.guard(g)?;
                let (a, b) = (self.ix(a)?, self.ix(b)?);
                self.em.def(format_args!("select i1 {g}, i64 {a}, i64 {b}"))
            }
            Ix::Block(v, part) => {
                let (lo, hi, len, idx) = self.block_of(*v)?;
                match part {
                    BlockPart::Lo => lo,
                    BlockPart::Hi => hi,
                    BlockPart::Len => len,
                    BlockPart::Idx => idx,
                }
            }
            Ix::InBlock(v, e) => {
                let (lo, ..) = self.block_of(*v)?;
                let e = self.ix(e)?;
                self.add(&lo, &e)
            }
        })
    }

    /// A guard as an `i1`.
    pub(crate) fn guard(&mut self, guard: &Guard) -> Outcome<String> {
        Ok(match guard {
            Guard::Const(b) => b.to_string(),
            Guard::Cmp(rel, a, b) => {
                let (a, b) = (self.ix(a)?, self.ix(b)?);
                let rel = match rel {
                    Rel::Eq => "eq",
                    Rel::Ne => "ne",
                    Rel::Lt => "slt",
                    Rel::Le => "sle",
                };
                self.em.def(format_args!("icmp {rel} i64 {a}, {b}"))
            }
            Guard::And(a, b) => {
                let (a, b) = (self.guard(a)?, self.guard(b)?);
                self.em.def(format_args!("select i1 {a}, i1 {b}, i1 false"))
            }
            Guard::Or(a, b) => {
                let (a, b) = (self.guard(a)?, self.guard(b)?);
                self.em.def(format_args!("select i1 {a}, i1 true, i1 {b}"))
            }
            Guard::Not(a) => {
                let a = self.guard(a)?;
                self.em.def(format_args!("xor i1 {a}, true"))
            }
        })
    }

    fn block_of(&self, v: Var) -> Outcome<(String, String, String, String)> {
        match self.var(v)? {
            Index::Block { lo, hi, len, idx } => Ok((lo, hi, len, idx)),
            Index::Plain(_) => Err(self.ill_formed("a variable that is no block has parts")),
        }
    }

    pub(crate) fn add(&mut self, a: &str, b: &str) -> String {
        match (a, b) {
            ("0", b) => b.into(),
            (a, "0") => a.into(),
            (a, b) => self.em.def(format_args!("add nsw i64 {a}, {b}")),
        }
    }

    /// A product of two numbers that are not negative.
    pub(crate) fn scale(&mut self, a: &str, b: &str) -> String {
        match (a, b) {
            ("0", _) | (_, "0") => "0".into(),
            ("1", b) => b.into(),
            (a, "1") => a.into(),
            (a, b) => self.em.def(format_args!("mul nuw nsw i64 {a}, {b}")),
        }
    }

    pub(crate) fn min(&mut self, a: &str, b: &str) -> String {
        self.em.def(format_args!("call i64 @llvm.smin.i64(i64 {a}, i64 {b})"))
    }

    /// Machines round towards zero: where the remainder is negative, the floor is one less. An arithmetic shift rounds
    /// down already.
    pub(crate) fn floor_div(&mut self, a: &str, n: i64) -> String {
        if n == 1 {
            return a.into();
        }
        if n.count_ones() == 1 {
            return self.em.def(format_args!("ashr i64 {a}, {}", n.trailing_zeros()));
        }
        let quotient = self.em.def(format_args!("sdiv i64 {a}, {n}"));
        let rest = self.em.def(format_args!("srem i64 {a}, {n}"));
        let below = self.em.def(format_args!("icmp slt i64 {rest}, 0"));
        let less = self.em.def(format_args!("sext i1 {below} to i64"));
        self.em.def(format_args!("add nsw i64 {quotient}, {less}"))
    }

    pub(crate) fn floor_mod(&mut self, a: &str, n: i64) -> String {
        if n.count_ones() == 1 {
            return self.em.def(format_args!("and i64 {a}, {}", n - 1));
        }
        let rest = self.em.def(format_args!("srem i64 {a}, {n}"));
        let below = self.em.def(format_args!("icmp slt i64 {rest}, 0"));
        let more = self.em.def(format_args!("select i1 {below}, i64 {n}, i64 0"));
        self.em.def(format_args!("add nsw i64 {rest}, {more}"))
    }

    /// Runs `body` for each index of a range, ascending. What `body` is given and returns are the words that go from
    /// one iteration to the next, each with its LLVM type; the result is what the last one left.
    #[expect(
        clippy::type_complexity,
        reason = "the closure borrows the emitter anew each time: no alias can say so shorter"
    )]
    pub(crate) fn range(
        &mut self,
        lo: &str,
        hi: &str,
        step: i64,
        carried: &[(&'static str, String)],
        body: &mut dyn FnMut(&mut Self, &str, &[String]) -> Outcome<Vec<String>>,
    ) -> Outcome<Vec<String>> {
        let before = self.em.here();
        let (head, inside, after) = (self.em.block(), self.em.block(), self.em.block());
        self.em.jump(&head);
        self.em.open(&head);
        let (index_line, index) = self.em.reserve();
        let phis: Vec<_> = carried.iter().map(|_| self.em.reserve()).collect();
        let names: Vec<String> = phis.iter().map(|(_, n)| n.clone()).collect();
        let more = self.em.def(format_args!("icmp slt i64 {index}, {hi}"));
        self.em.branch(&more, &inside, &after);
        self.em.open(&inside);
        let next = body(self, &index, &names)?;
        let following = self.em.def(format_args!("add nsw i64 {index}, {step}"));
        let latch = self.em.here();
        // A few iterations that are numbers are for LLVM to write out.
        let number = |text: &str| text.parse::<i64>().ok();
        let few = number(lo).zip(number(hi)).is_some_and(|(lo, hi)| hi.saturating_sub(lo) <= FEW);
        let kept = if self.tiles.is_some() && !few { self.module.as_written() } else { String::new() };
        self.em.line(format_args!("br label {head}{kept}"));
        self.em.fill(&index_line, &index, format_args!("phi i64 [ {lo}, {before} ], [ {following}, {latch} ]"));
        for (((at, name), (ty, first)), next) in phis.iter().zip(carried).zip(&next) {
            self.em.fill(at, name, format_args!("phi {ty} [ {first}, {before} ], [ {next}, {latch} ]"));
        }
        self.em.open(&after);
        Ok(names)
    }

    /// Runs `body` for each index or block of a domain, with the variable bound.
    #[expect(clippy::type_complexity, reason = "as in `range`")]
    pub(crate) fn domain(
        &mut self,
        var: Var,
        domain: &Domain,
        carried: &[(&'static str, String)],
        body: &mut dyn FnMut(&mut Self, &[String]) -> Outcome<Vec<String>>,
    ) -> Outcome<Vec<String>> {
        let size = match domain {
            Domain::Range { .. } => None,
            Domain::Blocks { size, .. } => Some(*size),
        };
        self.loops.push((var, size));
        let done = self.domain_inside(var, domain, carried, body);
        self.loops.pop();
        done
    }

    #[expect(clippy::type_complexity, reason = "as in `range`")]
    fn domain_inside(
        &mut self,
        var: Var,
        domain: &Domain,
        carried: &[(&'static str, String)],
        body: &mut dyn FnMut(&mut Self, &[String]) -> Outcome<Vec<String>>,
    ) -> Outcome<Vec<String>> {
        match domain {
            Domain::Range { lo, hi } => {
                let (lo, hi) = (self.ix(lo)?, self.ix(hi)?);
                self.range(&lo, &hi, 1, carried, &mut |this, index, names| {
                    this.bind_var(var, Index::Plain(index.into()));
                    body(this, names)
                })
            }
            Domain::Blocks { lo, hi, size } => {
                let (first, end) = (self.ix(lo)?, self.ix(hi)?);
                self.range(&first, &end, *size, carried, &mut |this, lo, names| {
                    this.bind_block(var, &first, &end, lo, *size);
                    body(this, names)
                })
            }
        }
    }

    /// Binds the variable of a loop over the blocks of `first .. end` to the one that starts at `lo`.
    pub(crate) fn bind_block(&mut self, var: Var, first: &str, end: &str, lo: &str, size: i64) {
        // `end - lo` does not overflow inside the loop, where `lo < end`.
        let rest = self.em.def(format_args!("sub nsw i64 {end}, {lo}"));
        let len = self.min(&rest, &size.to_string());
        let hi = self.em.def(format_args!("add nsw i64 {lo}, {len}"));
        let done = self.em.def(format_args!("sub nsw i64 {lo}, {first}"));
        let idx = self.floor_div(&done, size);
        self.bind_var(var, Index::Block { lo: lo.into(), hi, len, idx });
    }
}
