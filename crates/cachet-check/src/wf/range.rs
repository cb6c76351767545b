//! Index arithmetic fits 64 bits: intervals from the published limits on sizes.

use crate::condition::{Failure, Kind, misfit};
use cachet_core::ir::{BlockPart, Domain, Fun, Guard, Ix, MAX_DIM, Program, Stmt, StmtKind, Var, VarKind, Word};
use cachet_core::layout;
use cachet_core::print::Names;
use cachet_core::rewrite::{Visit, visit_block, visit_ix, visit_stmt, visit_word};
use cachet_source::{Diagnostic, Span, codes};
use std::collections::BTreeMap;

/// The smallest and the largest value.
type Interval = (i128, i128);

/// Room is left for one more addition by generated code.
const LIMIT: i128 = i64::MAX as i128 / 4;

/// Every index of the function stays within 64 bits.
pub fn check(program: &Program, fun: &Fun) -> Result<(), Box<Failure>> {
    let mut walk = Walk::entry(fun);
    for g in &fun.requires {
        walk.guard(g);
    }
    for b in &fun.buffers {
        b.extents.iter().for_each(|e| walk.ix(e));
        layout::physical(&b.layout, &b.extents).iter().for_each(|e| walk.ix(e));
    }
    visit_block(&mut walk, &fun.body);
    match walk.bad {
        None => Ok(()),
        Some((ix, span)) => {
            let text = Names::of(program, fun).ix(&ix);
            let d = Diagnostic::error(codes::OVERFLOW, span, format!("index arithmetic may leave 64 bits: {text}"))
                .note("a size is at most 2^40");
            Err(misfit(Kind::Bounds, d))
        }
    }
}

/// The intervals of indices, as far as the walk has come.
pub(super) struct Walk<'a> {
    fun: &'a Fun,
    vars: BTreeMap<Var, Interval>,
    /// Of a block variable: first and one past the last index, and the size.
    blocks: BTreeMap<Var, (Interval, Interval, i128)>,
    span: Span,
    bad: Option<(Ix, Span)>,
}

impl<'a> Walk<'a> {
    /// At a function's entry: sizes within their limits.
    pub(super) fn entry(fun: &'a Fun) -> Walk<'a> {
        let vars = fun.sizes.iter().map(|s| (*s, (0, i128::from(MAX_DIM)))).collect();
        Walk { fun, vars, blocks: BTreeMap::new(), span: fun.span.0, bad: None }
    }

    /// Adds that a variable lies between two numbers.
    pub(super) fn narrow(&mut self, var: Var, lo: i128, hi: i128) {
        if let Some((least, most)) = self.vars.get_mut(&var) {
            *least = (*least).max(lo);
            // Contradictory requirements are refused elsewhere; an interval stays one.
            *most = (*most).min(hi).max(*least);
        }
    }

    pub(super) fn bind(&mut self, var: Var, domain: &Domain) {
        match domain {
            Domain::Range { lo, hi } => {
                let (lo, hi) = (self.interval(lo), self.interval(hi));
                self.vars.insert(var, (lo.0, (hi.1 - 1).max(lo.0)));
            }
            Domain::Blocks { lo, hi, size } => {
                let (lo, hi) = (self.interval(lo), self.interval(hi));
                self.blocks.insert(var, (lo, hi, i128::from(*size)));
            }
        }
    }

    pub(super) fn interval(&self, ix: &Ix) -> Interval {
        match ix {
            Ix::Lit(n) => (i128::from(*n), i128::from(*n)),
            Ix::Var(v) => match self.vars.get(v) {
                Some(i) => *i,
                // Not bound yet: an extent that mentions a loop variable is looked at again inside the loop.
                None if self.fun.vars[v.index()].kind != VarKind::Size => (0, i128::from(MAX_DIM)),
                None => (0, i128::from(MAX_DIM)),
            },
            Ix::Add(a, b) => {
                let (a, b) = (self.interval(a), self.interval(b));
                (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
            }
            Ix::Sub(a, b) => {
                let (a, b) = (self.interval(a), self.interval(b));
                (a.0.saturating_sub(b.1), a.1.saturating_sub(b.0))
            }
            Ix::Mul(n, a) => {
                let a = self.interval(a);
                let n = i128::from(*n);
                let (x, y) = (a.0.saturating_mul(n), a.1.saturating_mul(n));
                (x.min(y), x.max(y))
            }
            Ix::Div(a, n) => {
                let a = self.interval(a);
                let n = i128::from(*n).max(1);
                (a.0.div_euclid(n), a.1.div_euclid(n))
            }
            Ix::Mod(_, n) => (0, i128::from(*n) - 1),
            Ix::Min(a, b) => {
                let (a, b) = (self.interval(a), self.interval(b));
                (a.0.min(b.0), a.1.min(b.1))
            }
            Ix::Max(a, b) => {
                let (a, b) = (self.interval(a), self.interval(b));
                (a.0.max(b.0), a.1.max(b.1))
            }
            Ix::If(_, a, b) => {
                let (a, b) = (self.interval(a), self.interval(b));
                (a.0.min(b.0), a.1.max(b.1))
            }
            Ix::Block(v, part) => match (self.blocks.get(v), part) {
                (Some((lo, hi, _)), BlockPart::Lo) => (lo.0, hi.1.max(lo.0)),
                (Some((lo, hi, n)), BlockPart::Hi) => (lo.0, hi.1.max(lo.0).saturating_add(*n)),
                (Some((_, _, n)), BlockPart::Len) => (0, *n),
                (Some((lo, hi, n)), BlockPart::Idx) => (0, (hi.1 - lo.0).max(0).div_euclid((*n).max(1)) + 1),
                (None, _) => (0, i128::from(MAX_DIM)),
            },
            Ix::InBlock(v, e) => {
                let e = self.interval(e);
                match self.blocks.get(v) {
                    Some((lo, hi, _)) => (lo.0.saturating_add(e.0), hi.1.max(lo.0).saturating_add(e.1)),
                    None => (e.0, e.1.saturating_add(i128::from(MAX_DIM))),
                }
            }
        }
    }
}

impl Visit for Walk<'_> {
    fn ix(&mut self, ix: &Ix) {
        let (lo, hi) = self.interval(ix);
        if self.bad.is_none() && (lo < -LIMIT || hi > LIMIT) {
            self.bad = Some((ix.clone(), self.span));
        }
        visit_ix(self, ix);
    }

    fn guard(&mut self, guard: &Guard) {
        cachet_core::rewrite::visit_guard(self, guard);
    }

    fn word(&mut self, word: &Word) {
        match word {
            Word::Fold(f) => self.bind(f.var, &f.domain),
            Word::Reduce(r) => self.bind(r.var, &r.domain),
            _ => {}
        }
        visit_word(self, word);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.span = stmt.span.0;
        match &stmt.kind {
            StmtKind::For { var, domain, .. } => self.bind(*var, domain),
            StmtKind::Grid(g) => g.axes.iter().for_each(|(v, d)| self.bind(*v, d)),
            StmtKind::Alloc(b) => {
                let extents = self.fun.buffers[b.index()].extents.iter();
                extents.for_each(|e| self.ix(e));
            }
            _ => {}
        }
        visit_stmt(self, stmt);
    }
}
