//! Nesting, measured without recursion.

use crate::ir::{Fun, Guard, Ix, MAX_DEPTH, Stmt, StmtKind, Word};

/// Terms may nest deeper than statements: every surface level makes at most a few levels of terms.
const MAX_TERM_DEPTH: usize = 4 * MAX_DEPTH;

/// A part of a program still to be looked at.
enum Part<'a> {
    Stmt(&'a Stmt),
    Word(&'a Word),
    Ix(&'a Ix),
    Guard(&'a Guard),
}

/// Whether a word stays within the limits.
pub(super) fn word_within(word: &Word) -> bool {
    walk(vec![(Part::Word(word), 0, 1)])
}

/// Whether a function's statements and terms stay within the limits.
pub(super) fn within(fun: &Fun) -> bool {
    let mut todo: Vec<(Part<'_>, usize, usize)> = fun.body.iter().map(|s| (Part::Stmt(s), 1, 0)).collect();
    todo.extend(fun.requires.iter().map(|g| (Part::Guard(g), 0, 1)));
    todo.extend(fun.buffers.iter().flat_map(|b| &b.extents).map(|e| (Part::Ix(e), 0, 1)));
    walk(todo)
}

/// Whether a block of statements does.
pub(super) fn block_within(block: &[Stmt]) -> bool {
    walk(block.iter().map(|s| (Part::Stmt(s), 1, 0)).collect())
}

fn walk(mut todo: Vec<(Part<'_>, usize, usize)>) -> bool {
    while let Some((part, stmts, terms)) = todo.pop() {
        if stmts > MAX_DEPTH || terms > MAX_TERM_DEPTH {
            return false;
        }
        let mut push = |p| todo.push((p, stmts, terms + 1));
        match part {
            Part::Ix(ix) => match ix {
                Ix::Lit(_) | Ix::Var(_) | Ix::Block(..) => {}
                Ix::Add(a, b) | Ix::Sub(a, b) | Ix::Min(a, b) | Ix::Max(a, b) => {
                    [a, b].into_iter().for_each(|i| push(Part::Ix(i)))
                }
                Ix::Mul(_, a) | Ix::Div(a, _) | Ix::Mod(a, _) | Ix::InBlock(_, a) => push(Part::Ix(a)),
                Ix::If(g, a, b) => {
                    push(Part::Guard(g));
                    push(Part::Ix(a));
                    push(Part::Ix(b));
                }
            },
            Part::Guard(g) => match g {
                Guard::Const(_) => {}
                Guard::Cmp(_, a, b) => [a, b].into_iter().for_each(|i| push(Part::Ix(i))),
                Guard::And(a, b) | Guard::Or(a, b) => [a, b].into_iter().for_each(|g| push(Part::Guard(g))),
                Guard::Not(a) => push(Part::Guard(a)),
            },
            Part::Word(w) => word(w, &mut push),
            Part::Stmt(s) => stmt(s, stmts, &mut todo),
        }
    }
    true
}

fn word<'a>(w: &'a Word, push: &mut impl FnMut(Part<'a>)) {
    match w {
        Word::Lit(_) | Word::Differing(..) => {}
        Word::Index(ix, _) => push(Part::Ix(ix)),
        Word::Load(a) => a.at.iter().for_each(|i| push(Part::Ix(i))),
        Word::Local(_, at) => at.iter().for_each(|i| push(Part::Ix(i))),
        Word::Op { args, .. } | Word::Apply(_, args) | Word::Tuple(args) => {
            args.iter().for_each(|w| push(Part::Word(w)))
        }
        Word::Part(w, _) => push(Part::Word(w)),
        Word::Let(_, a, b) => {
            push(Part::Word(a));
            push(Part::Word(b));
        }
        Word::If(g, a, b) => {
            push(Part::Guard(g));
            push(Part::Word(a));
            push(Part::Word(b));
        }
        Word::Fold(f) => {
            let (crate::ir::Domain::Range { lo, hi } | crate::ir::Domain::Blocks { lo, hi, .. }) = &f.domain;
            [lo, hi].into_iter().for_each(|i| push(Part::Ix(i)));
            [&f.init, &f.body].into_iter().for_each(|w| push(Part::Word(w)));
        }
        Word::Reduce(r) => {
            let (crate::ir::Domain::Range { lo, hi } | crate::ir::Domain::Blocks { lo, hi, .. }) = &r.domain;
            [lo, hi].into_iter().for_each(|i| push(Part::Ix(i)));
            [&r.element, &r.combine, &r.empty].into_iter().for_each(|w| push(Part::Word(w)));
        }
    }
}

fn stmt<'a>(s: &'a Stmt, stmts: usize, todo: &mut Vec<(Part<'a>, usize, usize)>) {
    let domain = |todo: &mut Vec<(Part<'a>, usize, usize)>, d: &'a crate::ir::Domain| {
        let (crate::ir::Domain::Range { lo, hi } | crate::ir::Domain::Blocks { lo, hi, .. }) = d;
        todo.extend([lo, hi].map(|i| (Part::Ix(i), stmts, 1)));
    };
    let block = |todo: &mut Vec<(Part<'a>, usize, usize)>, b: &'a [Stmt]| {
        todo.extend(b.iter().map(|s| (Part::Stmt(s), stmts + 1, 0)));
    };
    match &s.kind {
        StmtKind::For { domain: d, body, .. } => {
            domain(todo, d);
            block(todo, body);
        }
        StmtKind::Grid(g) => {
            g.axes.iter().for_each(|(_, d)| domain(todo, d));
            todo.extend(
                g.writes.iter().flat_map(|w| &w.axes).flat_map(|(s, n)| [s, n]).map(|i| (Part::Ix(i), stmts, 1)),
            );
            block(todo, &g.body);
        }
        StmtKind::If { guard, then, els } => {
            todo.push((Part::Guard(guard), stmts, 1));
            block(todo, then);
            block(todo, els);
        }
        StmtKind::Let { word, .. } | StmtKind::Var { init: word, .. } | StmtKind::Print(word) => {
            todo.push((Part::Word(word), stmts, 1));
        }
        StmtKind::Assign { at, word, .. } => {
            todo.push((Part::Word(word), stmts, 1));
            todo.extend(at.iter().map(|i| (Part::Ix(i), stmts, 1)));
        }
        StmtKind::Store { to, word } => {
            todo.push((Part::Word(word), stmts, 1));
            todo.extend(to.at.iter().map(|i| (Part::Ix(i), stmts, 1)));
        }
        StmtKind::Alloc(_) | StmtKind::Lease { .. } => {}
        StmtKind::Call(c) => {
            todo.extend(c.sizes.iter().map(|i| (Part::Ix(i), stmts, 1)));
            let axes = c.args.iter().filter_map(|a| a.axes.as_ref()).flatten();
            todo.extend(axes.flat_map(|(s, n)| [s, n]).map(|i| (Part::Ix(i), stmts, 1)));
        }
    }
}
