//! Which vectors are written lane by lane?
//!
//! A statement that a step made of vectors may have no form of its own, as one that reads every second element. It is
//! written as the loop over lanes that it means, and a vector that is assigned there is declared as one that changes.

use crate::ir::{Fun, Local, Program, Stmt, StmtKind, Var, Word};
use crate::rewrite::{Live, Visit, visit_block, visit_stmt, visit_word};
use crate::vectors;
use std::collections::BTreeSet;

/// The function with such vectors as ones that change.
pub(super) fn plain(program: &Program, mut fun: Fun) -> Fun {
    let mut found = Cells { program, fun: &fun, locals: BTreeSet::new(), loops: Vec::new() };
    visit_block(&mut found, &fun.body);
    let (locals, loops) = (found.locals, found.loops);
    for l in locals {
        let info = &mut fun.locals[l.index()];
        info.mutable |= info.vector;
    }
    named_apart(fun, loops)
}

/// The function with names for such loops that nothing else has. They are the compiler's, and may be a user's as well.
fn named_apart(mut fun: Fun, loops: Vec<Var>) -> Fun {
    if loops.is_empty() {
        return fun;
    }
    let live = Live::of(&fun);
    let others = live.vars.iter().filter(|v| vectors::count_of(&fun.vars, **v).is_none());
    let mut taken: BTreeSet<String> = others.map(|v| fun.vars[v.index()].name.clone()).collect();
    taken.extend(live.locals.iter().map(|l| fun.locals[l.index()].name.clone()));
    taken.extend(live.buffers.iter().map(|b| fun.buffers[b.index()].name.clone()));
    for var in loops {
        let name = &mut fun.vars[var.index()].name;
        if taken.contains(name) {
            let free = (2u64..).map(|n| format!("{name}_{n}")).find(|n| !taken.contains(n));
            *name = free.unwrap_or_default();
        }
    }
    fun
}

/// Locals of which statements that are no vector statements read or assign cells.
struct Cells<'f> {
    program: &'f Program,
    fun: &'f Fun,
    locals: BTreeSet<Local>,
    /// Lanes that are written as loops.
    loops: Vec<Var>,
}

impl Visit for Cells<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        match vectors::of(&self.fun.vars, stmt) {
            Some(lanes) if vectors::is_written(self.program, &self.fun.vars, &self.fun.locals, &lanes) => return,
            Some(lanes) => self.loops.push(lanes.var),
            None => {}
        }
        if let StmtKind::Assign { local, .. } = &stmt.kind {
            self.locals.insert(*local);
        }
        visit_stmt(self, stmt);
    }

    fn word(&mut self, word: &Word) {
        if let Word::Local(local, _) = word {
            self.locals.insert(*local);
        }
        visit_word(self, word);
    }
}
