//! Which parts of a buffer can be lent as a buffer of their own?
//!
//! Those that lie in one piece, row-major: from some axis on the part is whole, and before it one index thick. The axis
//! between may be cut anywhere. Anything else would need distances that the callee does not know.

use crate::function::{Lower, Outcome};
use cachet_core::ir::{Ix, View};

impl Lower<'_, '_> {
    /// The address of what is lent.
    pub(crate) fn view(&mut self, view: &View) -> Outcome<String> {
        let memory = self.buffer(view.buffer)?.clone();
        let Some(axes) = &view.axes else { return Ok(memory.base) };
        let info = &self.fun.buffers[view.buffer.index()];
        let whole = |i: usize| {
            let (start, len) = &axes[i];
            same(start, &Ix::Lit(0)) && info.extents.get(i).is_some_and(|e| same(len, e))
        };
        let thick = axes.iter().position(|(_, len)| !same(len, &Ix::Lit(1))).unwrap_or(axes.len());
        if !(thick + 1..axes.len()).all(whole) {
            let text = format!("native code for a part of `{}` that does not lie in one piece", info.name);
            return Err(cachet_source::Diagnostic::not_built(view.span.0, text)
                .help("lend whole rows, or copy the part into an array of its own"));
        }
        let starts = axes.iter().map(|(start, _)| self.ix(start)).collect::<Outcome<Vec<_>>>()?;
        // Neither `nsw` nor `inbounds`: where the part is empty, nothing is said of where it would start.
        let mut first = String::from("0");
        for (axis, (start, extent)) in starts.iter().zip(&memory.extents).enumerate() {
            first = match &memory.strides {
                Some(strides) => {
                    let rows = match strides.get(axis) {
                        Some(stride) => self.em.def(format_args!("mul i64 {start}, {stride}")),
                        None => start.clone(),
                    };
                    self.em.def(format_args!("add i64 {first}, {rows}"))
                }
                None => {
                    let rows = self.em.def(format_args!("mul i64 {first}, {extent}"));
                    self.em.def(format_args!("add i64 {rows}, {start}"))
                }
            };
        }
        let ty = crate::types::in_memory(&memory.elem);
        Ok(self.em.def(format_args!("getelementptr {ty}, ptr {}, i64 {first}", memory.base)))
    }
}

/// Whether two indices are equal as sums of literal multiples of the same terms.
fn same(a: &Ix, b: &Ix) -> bool {
    let mut sum = Sum::default();
    sum.add(a, 1);
    sum.add(b, -1);
    !sum.beyond && sum.constant == 0 && sum.terms.iter().all(|(_, n)| *n == 0)
}

#[derive(Default)]
struct Sum<'a> {
    constant: i64,
    terms: Vec<(Term<'a>, i64)>,
    /// A coefficient left 64 bits: nothing is known.
    beyond: bool,
}

#[derive(PartialEq)]
enum Term<'a> {
    Other(&'a Ix),
    Lo(cachet_core::ir::Var),
    Len(cachet_core::ir::Var),
}

impl<'a> Sum<'a> {
    fn add(&mut self, ix: &'a Ix, by: i64) {
        use cachet_core::ir::BlockPart;
        match ix {
            Ix::Lit(n) => match n.checked_mul(by).and_then(|n| self.constant.checked_add(n)) {
                Some(n) => self.constant = n,
                None => self.beyond = true,
            },
            Ix::Add(a, b) => {
                self.add(a, by);
                self.add(b, by);
            }
            Ix::Sub(a, b) => {
                self.add(a, by);
                match by.checked_neg() {
                    Some(by) => self.add(b, by),
                    None => self.beyond = true,
                }
            }
            Ix::Mul(n, a) => match n.checked_mul(by) {
                Some(by) => self.add(a, by),
                None => self.beyond = true,
            },
            Ix::Block(v, BlockPart::Lo) => self.term(Term::Lo(*v), by),
            Ix::Block(v, BlockPart::Len) => self.term(Term::Len(*v), by),
            Ix::Block(v, BlockPart::Hi) => {
                self.term(Term::Lo(*v), by);
                self.term(Term::Len(*v), by);
            }
            Ix::InBlock(v, e) => {
                self.term(Term::Lo(*v), by);
                self.add(e, by);
            }
            Ix::Var(_)
            | Ix::Div(..)
            | Ix::Mod(..)
            | Ix::Min(..)
            | Ix::Max(..)
            | Ix::If(..)
            | Ix::Block(_, BlockPart::Idx) => {
                self.term(Term::Other(ix), by);
            }
        }
    }

    fn term(&mut self, term: Term<'a>, by: i64) {
        match self.terms.iter_mut().find(|(t, _)| *t == term) {
            Some((_, n)) => match n.checked_add(by) {
                Some(sum) => *n = sum,
                None => self.beyond = true,
            },
            None => self.terms.push((term, by)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cachet_core::ir::{BlockPart, Var};

    #[test]
    fn lengths_are_compared_as_sums() {
        let x = || Box::new(Ix::Var(Var(0)));
        let one = || Box::new(Ix::Lit(1));
        let next = Ix::Add(x(), one());
        assert!(same(&Ix::Sub(Box::new(next.clone()), x()), &Ix::Lit(1)));
        assert!(!same(&next, &Ix::Var(Var(0))));
        let (lo, hi, len) = (BlockPart::Lo, BlockPart::Hi, BlockPart::Len);
        let part = |p| Box::new(Ix::Block(Var(1), p));
        assert!(same(&Ix::Sub(part(hi), part(lo)), &Ix::Block(Var(1), len)));
        assert!(same(&Ix::Mul(2, x()), &Ix::Add(x(), x())));
        assert!(!same(&Ix::Div(x(), 2), &Ix::Div(x(), 3)));
        assert!(!same(&Ix::Mul(i64::MAX, Box::new(Ix::Mul(i64::MAX, x()))), &Ix::Lit(0)));
    }
}
