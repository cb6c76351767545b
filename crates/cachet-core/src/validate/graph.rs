//! What functions reach through calls and applications, without recursion.

use super::Fault;
use crate::ir::{At, FunId, Op, Program, PureId, StmtKind, Word};
use crate::rewrite::{Visit, visit_block, visit_stmt, visit_word};

/// What matters of a function where it is called inside a grid.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// It prints or counts differences.
    pub(super) host: bool,
    /// It has a grid.
    pub(super) grid: bool,
}

/// Calls that go round, and pure functions that do.
pub(super) fn cycles(program: &Program) -> Vec<Fault> {
    let calls: Vec<Vec<usize>> = program.funs.iter().map(|f| Uses::of_block(program, &f.body).funs).collect();
    let pures: Vec<Vec<usize>> = program.pures.iter().map(|p| Uses::of_word(program, &p.body).pures).collect();
    let mut out = Vec::new();
    if let Some(at) = on_cycle(&calls) {
        let f = &program.funs[at];
        out.push(Fault {
            rule: "graphs",
            text: format!("`{}` calls itself, perhaps through others", f.name),
            span: f.span,
        });
    }
    if let Some(at) = on_cycle(&pures) {
        let text = format!("`{}` is defined by itself, perhaps through others", program.pures[at].name);
        out.push(Fault { rule: "graphs", text, span: At::default() });
    }
    out
}

/// What a function reaches. The call graph has no cycle.
pub(super) fn reach(program: &Program, from: FunId) -> Reach {
    let mut seen = vec![false; program.funs.len()];
    let mut todo = vec![from.index()];
    let mut out = Reach::default();
    while let Some(at) = todo.pop() {
        if at >= seen.len() || std::mem::replace(&mut seen[at], true) {
            continue;
        }
        let uses = Uses::of_block(program, &program.funs[at].body);
        out.host |= uses.host;
        out.grid |= uses.grid;
        todo.extend(uses.funs);
    }
    out
}

/// A node on a cycle, if there is one.
fn on_cycle(edges: &[Vec<usize>]) -> Option<usize> {
    let mut incoming = vec![0usize; edges.len()];
    for to in edges.iter().flatten().filter(|to| **to < edges.len()) {
        incoming[*to] += 1;
    }
    let mut free: Vec<usize> = (0..edges.len()).filter(|n| incoming[*n] == 0).collect();
    let mut done = 0;
    while let Some(n) = free.pop() {
        done += 1;
        for to in edges[n].iter().filter(|to| **to < edges.len()) {
            incoming[*to] -= 1;
            if incoming[*to] == 0 {
                free.push(*to);
            }
        }
    }
    // Nodes that a cycle leads to are left as well; a walk backwards along what is left stays on the cycle in the end.
    if done == edges.len() {
        return None;
    }
    let mut at = (0..edges.len()).find(|n| incoming[*n] > 0)?;
    for _ in 0..edges.len() {
        at = (0..edges.len()).find(|n| incoming[*n] > 0 && edges[*n].contains(&at)).unwrap_or(at);
    }
    Some(at)
}

/// What a body names directly.
struct Uses<'a> {
    program: &'a Program,
    funs: Vec<usize>,
    pures: Vec<usize>,
    host: bool,
    grid: bool,
}

impl<'a> Uses<'a> {
    fn of_block(program: &'a Program, block: &[crate::ir::Stmt]) -> Uses<'a> {
        let mut out = Uses { program, funs: vec![], pures: vec![], host: false, grid: false };
        visit_block(&mut out, block);
        out
    }

    fn of_word(program: &'a Program, word: &Word) -> Uses<'a> {
        let mut out = Uses { program, funs: vec![], pures: vec![], host: false, grid: false };
        out.word(word);
        out
    }
}

impl Visit for Uses<'_> {
    fn word(&mut self, word: &Word) {
        match word {
            Word::Apply(PureId(f), _) => self.pures.push(*f as usize),
            Word::Differing(..) => self.host = true,
            Word::Op { op: Op::Prim(_) | Op::Method(..), .. }
            | Word::Lit(_)
            | Word::Index(..)
            | Word::Load(_)
            | Word::Local(..)
            | Word::Tuple(_)
            | Word::Part(..)
            | Word::Let(..)
            | Word::If(..)
            | Word::Fold(_)
            | Word::Reduce(_) => {}
        }
        visit_word(self, word);
    }

    fn stmt(&mut self, stmt: &crate::ir::Stmt) {
        match &stmt.kind {
            StmtKind::Call(c) if c.fun.index() < self.program.funs.len() => self.funs.push(c.fun.index()),
            StmtKind::Print(_) => self.host = true,
            StmtKind::Grid(_) => self.grid = true,
            StmtKind::Call(_)
            | StmtKind::For { .. }
            | StmtKind::If { .. }
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. } => {}
        }
        visit_stmt(self, stmt);
    }
}
