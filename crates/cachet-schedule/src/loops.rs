//! The loops and sums of a block in program order, an outer one before those inside it: what `i#2` counts.

use cachet_core::ir::{Fun, Stmt, StmtKind, Var, Word};
use cachet_core::rewrite::{Visit, visit_block, visit_stmt, visit_word};

/// All of a block.
pub fn of(block: &[Stmt]) -> Vec<Var> {
    let mut loops = Loops(Vec::new());
    visit_block(&mut loops, block);
    loops.0
}

/// Which of its name a loop is, from 1.
pub fn number(fun: &Fun, loops: &[Var], var: Var) -> Option<u32> {
    let name = &fun.vars[var.index()].name;
    let at = loops.iter().filter(|v| fun.vars[v.index()].name == *name).position(|v| *v == var)?;
    Some(at as u32 + 1)
}

struct Loops(Vec<Var>);

impl Visit for Loops {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For { var, .. } => self.0.push(*var),
            StmtKind::Grid(g) => self.0.extend(g.axes.iter().map(|(v, _)| *v)),
            StmtKind::If { .. }
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => {}
        }
        visit_stmt(self, stmt);
    }

    fn word(&mut self, word: &Word) {
        if let Word::Fold(f) = word {
            self.0.push(f.var);
        }
        visit_word(self, word);
    }
}
