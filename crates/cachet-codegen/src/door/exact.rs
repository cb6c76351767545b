//! Index arithmetic over sizes that nothing is known of but that each is a dimension: how large is an array?
//!
//! Inside a function every index is proved to fit 64 bits. Here the sizes are a caller's, and what they make may not fit:
//! every operation tells whether it did, and all of it is refused where one did not.

use crate::emitter::Emitter;
use crate::function::Outcome;
use crate::support::Support;
use crate::types::size_align;
use cachet_core::ir::{Buffer, Fun, Guard, Ix, MAX_BYTES, MAX_DIM, Rel};
use cachet_core::layout;
use cachet_source::{Diagnostic, codes};
use std::collections::BTreeSet;

/// A place in the text where indices become numbers.
pub(super) struct Exact<'a, 'e> {
    fun: &'a Fun,
    em: &'e mut Emitter,
    needs: &'e mut BTreeSet<Support>,
    /// Whether something did not fit, so far.
    over: String,
}

impl<'a, 'e> Exact<'a, 'e> {
    pub(super) fn new(fun: &'a Fun, em: &'e mut Emitter, needs: &'e mut BTreeSet<Support>) -> Exact<'a, 'e> {
        Exact { fun, em, needs, over: "false".into() }
    }

    /// Whether something did not fit 64 bits.
    pub(super) fn over(&self) -> String {
        self.over.clone()
    }

    /// An index. Sizes are `%n0`, `%n1`, ..
    pub(super) fn ix(&mut self, ix: &Ix) -> Outcome<String> {
        Ok(match ix {
            Ix::Lit(n) => n.to_string(),
            Ix::Var(v) => match self.fun.sizes.iter().position(|s| s == v) {
                Some(at) => format!("%n{at}"),
                None => return Err(self.ill_formed()),
            },
            Ix::Add(a, b) => {
                let (a, b) = (self.ix(a)?, self.ix(b)?);
                self.may_overflow("sadd", &a, &b)
            }
            Ix::Sub(a, b) => {
                let (a, b) = (self.ix(a)?, self.ix(b)?);
                self.may_overflow("ssub", &a, &b)
            }
            Ix::Mul(n, a) => {
                let a = self.ix(a)?;
                self.may_overflow("smul", &a, &n.to_string())
            }
            Ix::Div(a, n) => {
                let a = self.ix(a)?;
                let (quotient, rest) = (self.op("sdiv", &a, *n), self.op("srem", &a, *n));
                let below = self.em.def(format_args!("icmp slt i64 {rest}, 0"));
                let less = self.em.def(format_args!("sext i1 {below} to i64"));
                self.em.def(format_args!("add i64 {quotient}, {less}"))
            }
            Ix::Mod(a, n) => {
                let a = self.ix(a)?;
                let rest = self.op("srem", &a, *n);
                let below = self.em.def(format_args!("icmp slt i64 {rest}, 0"));
                let more = self.em.def(format_args!("select i1 {below}, i64 {n}, i64 0"));
                self.em.def(format_args!("add i64 {rest}, {more}"))
            }
            Ix::Min(a, b) => {
                let (a, b) = (self.ix(a)?, self.ix(b)?);
                self.em.def(format_args!("call i64 @llvm.smin.i64(i64 {a}, i64 {b})"))
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
            Ix::Block(..) | Ix::InBlock(..) => return Err(self.ill_formed()),
        })
    }

    /// A guard as an `i1`.
    pub(super) fn guard(&mut self, guard: &Guard) -> Outcome<String> {
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
                self.em.def(format_args!("and i1 {a}, {b}"))
            }
            Guard::Or(a, b) => {
                let (a, b) = (self.guard(a)?, self.guard(b)?);
                self.em.def(format_args!("or i1 {a}, {b}"))
            }
            Guard::Not(a) => {
                let a = self.guard(a)?;
                self.em.def(format_args!("xor i1 {a}, true"))
            }
        })
    }

    /// How many bytes an array takes; from the largest array on, which none reaches, it stays there.
    pub(super) fn bytes(&mut self, b: Buffer) -> Outcome<String> {
        let info = &self.fun.buffers[b.index()];
        let mut product = size_align(&info.elem).0.to_string();
        for extent in layout::physical(&info.layout, &info.extents) {
            let extent = self.ix(&extent)?;
            product = self.product(&product, &extent);
        }
        Ok(product)
    }

    /// A product of numbers that are not negative, at most that of the largest array.
    pub(super) fn product(&mut self, a: &str, b: &str) -> String {
        match (a, b) {
            ("1", b) => b.into(),
            (a, "1") => a.into(),
            (a, b) => {
                self.needs.insert(Support::Product);
                self.em.def(format_args!("call i64 @{}(i64 {a}, i64 {b})", Support::Product.symbol()))
            }
        }
    }

    /// Whether an array that takes so many bytes cannot be: it is too large, or an extent is no dimension, or the
    /// arithmetic did not fit.
    pub(super) fn beyond(&mut self, b: Buffer, bytes: &str) -> Outcome<String> {
        let extents = self.fun.buffers[b.index()].extents.clone();
        let mut beyond = self.em.def(format_args!("icmp uge i64 {bytes}, {MAX_BYTES}"));
        for extent in &extents {
            let extent = self.ix(extent)?;
            let wrong = self.em.def(format_args!("icmp ugt i64 {extent}, {MAX_DIM}"));
            beyond = self.em.def(format_args!("or i1 {beyond}, {wrong}"));
        }
        let over = self.over();
        Ok(self.em.def(format_args!("or i1 {beyond}, {over}")))
    }

    fn may_overflow(&mut self, op: &str, a: &str, b: &str) -> String {
        let both = self.em.def(format_args!("call {{ i64, i1 }} @llvm.{op}.with.overflow.i64(i64 {a}, i64 {b})"));
        let value = self.em.def(format_args!("extractvalue {{ i64, i1 }} {both}, 0"));
        let over = self.em.def(format_args!("extractvalue {{ i64, i1 }} {both}, 1"));
        let before = &self.over;
        self.over = self.em.def(format_args!("or i1 {before}, {over}"));
        value
    }

    fn op(&mut self, op: &str, a: &str, n: i64) -> String {
        self.em.def(format_args!("{op} i64 {a}, {n}"))
    }

    fn ill_formed(&self) -> Diagnostic {
        let text =
            format!("`{}` is not a program: an extent or a requirement is of something that is no size", self.fun.name);
        Diagnostic::error(codes::UNKNOWN_NAME, self.fun.span.0, text)
    }
}
