//! What a block reads and writes, and when two such accesses cannot touch one cell.

use super::Relation;
use crate::context::Context;
use crate::events::{FrameKind, What, enter, events_of};
use crate::formula::Formula;
use cachet_core::ir::{Block, Buffer, Ix, Local, Stmt, StmtKind, Word};
use cachet_core::rewrite::{Visit, visit_block, visit_stmt, visit_word};
use cachet_source::{Diagnostic, Span};
use std::collections::BTreeSet;

/// Something with cells: a buffer, or a local that outlives the block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Place {
    Buffer(Buffer),
    Local(Local),
}

/// One access of a block, with the loops and guards of the block around it.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub place: Place,
    pub at: Vec<Ix>,
    pub write: bool,
    pub inner: Vec<FrameKind>,
    pub span: Span,
}

/// A cell of a local array, with what encloses it.
type CellUse = (Local, Vec<Ix>, Vec<FrameKind>, Span);

impl Relation<'_> {
    /// The accesses of a block to buffers and to locals declared outside it.
    pub(super) fn accesses(&self, block: &Block) -> Result<Vec<Access>, Diagnostic> {
        let (mut out, mut cells) = (Vec::new(), Vec::new());
        for event in events_of(block) {
            let inner: Vec<FrameKind> = event.frames.into_iter().map(|f| f.kind).collect();
            let (access, write) = match event.what {
                What::Read(a) => (a, false),
                What::Write(a) => (a, true),
                What::Call(c) => {
                    let name = self.program.funs.get(c.fun.index()).map_or("?", |f| &f.name);
                    return Err(self.misfit(format!(
                        "the call of {name} stands among the statements to be reordered; write its body out instead"
                    )));
                }
                What::Cell(l, at) if !at.is_empty() => {
                    cells.push((l, at, inner, event.span));
                    continue;
                }
                // That it fits is a condition of the program as a whole; locals follow below.
                What::Convert(..) | What::Cell(..) => continue,
                What::ReadAll(_) | What::Compare(..) | What::Alloc(_) => {
                    return Err(self.misfit("host statements such as `alloc` and `differing` cannot be reordered"));
                }
            };
            let buffer = crate::wf::root(&self.fun, access.buffer);
            let span = if access.span.0.lo == access.span.0.hi { event.span } else { access.span.0 };
            out.push(Access { place: Place::Buffer(buffer), at: access.at, write, inner, span });
        }
        self.locals(block, cells, &mut out)?;
        Ok(out)
    }

    fn locals(&self, block: &Block, cells: Vec<CellUse>, out: &mut Vec<Access>) -> Result<(), Diagnostic> {
        let mut uses = Locals::default();
        visit_block(&mut uses, block);
        if uses.prints {
            return Err(self.misfit("`print` stands among the statements to be reordered"));
        }
        // A cell of an array that is written somewhere counts as written wherever it is used.
        for (l, at, inner, span) in cells {
            if uses.written.contains(&l) && !uses.declared.contains(&l) {
                out.push(Access { place: Place::Local(l), at, write: true, inner, span });
            }
        }
        for (set, write) in [(&uses.read, false), (&uses.written, true)] {
            let single = |l: &&Local| self.fun.locals[l.index()].dims.is_empty();
            for l in set.difference(&uses.declared).filter(single) {
                out.push(Access {
                    place: Place::Local(*l),
                    at: Vec::new(),
                    write,
                    inner: Vec::new(),
                    span: Span::default(),
                });
            }
        }
        Ok(())
    }

    /// That two accesses, each in its own context, touch different cells; `None` where they cannot conflict anyway.
    /// The two contexts share their unknowns and facts and differ in what the loop variables mean.
    pub(super) fn apart(&self, first: (&Context, &Access), second: (&Context, &Access)) -> Option<(Context, Formula)> {
        let (a, b) = (first.1, second.1);
        if a.place != b.place || !(a.write || b.write) {
            return None;
        }
        let mut cx_a = first.0.clone();
        for kind in &a.inner {
            enter(&self.fun, &mut cx_a, &crate::events::Frame { depth: 0, kind: kind.clone() });
        }
        let mut cx_b = second.0.clone();
        cx_b.continue_from(&cx_a);
        for kind in &b.inner {
            match kind {
                FrameKind::Loop(v, d) => cx_b.enter_again(&self.fun.vars[v.index()].name, *v, d),
                FrameKind::Guard(..) => {
                    enter(&self.fun, &mut cx_b, &crate::events::Frame { depth: 0, kind: kind.clone() })
                }
            }
        }
        let goal = if a.at.is_empty() && b.at.is_empty() {
            Formula::False
        } else {
            Formula::not(crate::condition::same_tuple(&cx_a.tuple(&a.at), &cx_b.tuple(&b.at)))
        };
        Some((cx_b, goal))
    }
}

#[derive(Default)]
struct Locals {
    read: BTreeSet<Local>,
    written: BTreeSet<Local>,
    declared: BTreeSet<Local>,
    prints: bool,
}

impl Visit for Locals {
    fn word(&mut self, word: &Word) {
        match word {
            Word::Local(l, _) => {
                self.read.insert(*l);
            }
            Word::Let(l, _, _) => {
                self.declared.insert(*l);
            }
            Word::Fold(f) => {
                self.declared.insert(f.acc);
            }
            Word::Reduce(r) => self.declared.extend([r.operands.0, r.operands.1]),
            Word::Lit(_)
            | Word::Index(..)
            | Word::Load(_)
            | Word::Op { .. }
            | Word::Apply(..)
            | Word::Tuple(_)
            | Word::Part(..)
            | Word::If(..)
            | Word::Differing(..) => {}
        }
        visit_word(self, word);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let { local, .. } | StmtKind::Var { local, .. } => {
                self.declared.insert(*local);
            }
            StmtKind::Assign { local, .. } => {
                self.written.insert(*local);
            }
            StmtKind::Print(_) => self.prints = true,
            StmtKind::For { .. }
            | StmtKind::Grid(_)
            | StmtKind::If { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_) => {}
        }
        visit_stmt(self, stmt);
    }
}
