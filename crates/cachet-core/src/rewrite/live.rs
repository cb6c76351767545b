//! The ids that occur in a function or a block. Tables only grow, so an entry may be a leftover of an earlier program.

use super::visit::{Visit, visit_block, visit_ix, visit_stmt, visit_word};
use crate::ir::{Access, Buffer, Fun, Ix, Local, Stmt, StmtKind, Var, Word};
use std::collections::BTreeSet;

/// The ids that occur, bound or used.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Sizes and loop variables.
    pub vars: BTreeSet<Var>,
    /// Locals.
    pub locals: BTreeSet<Local>,
    /// Buffers.
    pub buffers: BTreeSet<Buffer>,
}

impl Live {
    /// All ids of a function: its head's and its body's.
    pub fn of(fun: &Fun) -> Live {
        let mut live = Live::default();
        live.vars.extend(&fun.sizes);
        live.buffers.extend(&fun.params);
        visit_block(&mut live, &fun.body);
        live
    }

    /// The ids of a block.
    pub fn of_block(block: &[Stmt]) -> Live {
        let mut live = Live::default();
        visit_block(&mut live, block);
        live
    }

    /// The ids of a word.
    pub fn of_word(word: &Word) -> Live {
        let mut live = Live::default();
        live.word(word);
        live
    }

    /// The ids of an index.
    pub fn of_ix(ix: &Ix) -> Live {
        let mut live = Live::default();
        live.ix(ix);
        live
    }
}

impl Visit for Live {
    fn ix(&mut self, ix: &Ix) {
        if let Ix::Var(v) | Ix::Block(v, _) | Ix::InBlock(v, _) = ix {
            self.vars.insert(*v);
        }
        visit_ix(self, ix);
    }

    fn word(&mut self, word: &Word) {
        match word {
            Word::Local(l, _) | Word::Let(l, _, _) => {
                self.locals.insert(*l);
            }
            Word::Fold(f) => {
                self.vars.insert(f.var);
                self.locals.insert(f.acc);
            }
            Word::Reduce(r) => {
                self.vars.insert(r.var);
                self.locals.extend([r.operands.0, r.operands.1]);
            }
            Word::Differing(a, b) => self.buffers.extend([*a, *b]),
            Word::Lit(_)
            | Word::Index(..)
            | Word::Load(_)
            | Word::Op { .. }
            | Word::Apply(..)
            | Word::Tuple(_)
            | Word::Part(..)
            | Word::If(..) => {}
        }
        visit_word(self, word);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For { var, .. } => {
                self.vars.insert(*var);
            }
            StmtKind::Grid(g) => {
                self.vars.extend(g.axes.iter().map(|(v, _)| *v));
                self.buffers.extend(g.writes.iter().map(|w| w.buffer));
            }
            StmtKind::Let { local, .. } | StmtKind::Var { local, .. } | StmtKind::Assign { local, .. } => {
                self.locals.insert(*local);
            }
            StmtKind::Alloc(b) => {
                self.buffers.insert(*b);
            }
            StmtKind::Lease { lease, of, .. } => self.buffers.extend([*lease, *of]),
            StmtKind::Call(c) => self.buffers.extend(c.args.iter().map(|a| a.buffer)),
            StmtKind::If { .. } | StmtKind::Store { .. } | StmtKind::Print(_) => {}
        }
        visit_stmt(self, stmt);
    }

    fn load(&mut self, access: &Access) {
        self.buffers.insert(access.buffer);
        access.at.iter().for_each(|i| self.ix(i));
    }

    fn store(&mut self, access: &Access) {
        self.load(access);
    }
}
