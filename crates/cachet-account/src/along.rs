//! Which plain loops does a compiler make into vectors?
//!
//! An innermost loop whose iterations store to neighbouring cells, and load from neighbours or always from one cell, is issued
//! for as many iterations at once as a register has lanes: no iteration waits for another. What is loaded from one cell all the
//! time is loaded once. A loop whose accesses lie further apart, or that adds to one cell, is issued one iteration after another.

use crate::count::Count;
use crate::tally::{Tally, Walk, What};
use cachet_core::ir::{Access, BlockPart, Ix, Layout, Stmt, StmtKind, Strides, Var, Word};
use cachet_core::linear::Linear;
use cachet_core::rewrite::{Live, Visit, visit_stmt, visit_word};

/// What of an iteration of a loop over `v` with this body is issued for many at once, or once for all; nothing where it is issued as
/// it stands.
pub(crate) fn issued(walk: &Walk<'_, '_>, v: Var, body: &[Stmt], each: &Tally) -> Tally {
    let mut found = Found { plain: true, ..Found::default() };
    body.iter().for_each(|s| found.stmt(s));
    let moving = |a: &Access| step(walk, v, a) == Some(1);
    let vectors = found.plain
        && !found.stores.is_empty()
        && found.stores.iter().all(moving)
        && found.loads.iter().all(|a| step(walk, v, a).is_some())
        && found.loads.iter().all(|a| found.stores.iter().all(|s| s.buffer != a.buffer || s.at == a.at));
    let mut out = Tally::default();
    if !vectors {
        return out;
    }
    for (what, n) in &each.0 {
        if matches!(what, What::Issued { .. } | What::Store(_)) {
            out.add(What::Along(Box::new(what.clone())), n);
        }
    }
    for a in &found.loads {
        let bytes = walk.at_once(a.buffer, 1);
        let how = if moving(a) { What::Along(Box::new(What::Load(bytes))) } else { What::Same(bytes) };
        out.add(how, &Count::lit(1));
    }
    out
}

/// How many elements an access goes on with each iteration, where that is none or one.
fn step(walk: &Walk<'_, '_>, v: Var, a: &Access) -> Option<i64> {
    let info = &walk.scope.fun.buffers[a.buffer.index()];
    if !a.at.iter().any(|ix| Live::of_ix(ix).vars.contains(&v)) {
        return Some(0);
    }
    let (last, others) = a.at.split_last()?;
    let plain = info.layout == Layout::RowMajor && info.strides == Strides::Contiguous;
    let still = others.iter().all(|ix| !Live::of_ix(ix).vars.contains(&v));
    (plain && still && factor(last, v) == Some(1)).then_some(1)
}

/// The factor of a variable in an index, where it is in no other term.
fn factor(ix: &Ix, v: Var) -> Option<i64> {
    let mut out = 0;
    for (n, t) in Linear::of(ix)?.terms {
        match &t {
            Ix::Var(w) if *w == v => out += n,
            Ix::InBlock(g, e) if *g != v => out += n * factor(e, v)?,
            Ix::Block(_, BlockPart::Lo | BlockPart::Hi | BlockPart::Len | BlockPart::Idx) => {}
            t if !Live::of_ix(t).vars.contains(&v) => {}
            _ => return None,
        }
    }
    Some(out)
}

#[derive(Default)]
struct Found {
    plain: bool,
    loads: Vec<Access>,
    stores: Vec<Access>,
}

impl Visit for Found {
    fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Let { .. } | StmtKind::Store { .. } => visit_stmt(self, s),
            StmtKind::For { .. }
            | StmtKind::Grid(_)
            | StmtKind::If { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => self.plain = false,
        }
    }

    fn word(&mut self, word: &Word) {
        match word {
            Word::Lit(_) | Word::Load(_) | Word::Local(..) | Word::Op { .. } | Word::Apply(..) | Word::Let(..) => {
                visit_word(self, word);
            }
            Word::Index(..)
            | Word::Tuple(_)
            | Word::Part(..)
            | Word::If(..)
            | Word::Fold(_)
            | Word::Reduce(_)
            | Word::Differing(..) => self.plain = false,
        }
    }

    fn load(&mut self, a: &Access) {
        self.loads.push(a.clone());
    }

    fn store(&mut self, a: &Access) {
        self.stores.push(a.clone());
    }
}
