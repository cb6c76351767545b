//! Replacing words bottom up.

use crate::ir::{Block, Device, Fold, Reduce, Stmt, StmtKind, Word};

/// A word with every word in it, itself last, given to `f`.
pub fn map_word(word: &Word, f: &mut dyn FnMut(Word) -> Word) -> Word {
    let rebuilt = {
        let mut one = |w: &Word| Box::new(map_word(w, f));
        match word {
            Word::Lit(_) | Word::Index(..) | Word::Load(_) | Word::Local(..) | Word::Differing(..) => word.clone(),
            Word::Op { op, arith, args } => Word::Op { op: *op, arith: *arith, args: map_all(args, f) },
            Word::Apply(p, args) => Word::Apply(*p, map_all(args, f)),
            Word::Tuple(args) => Word::Tuple(map_all(args, f)),
            Word::Part(w, n) => Word::Part(one(w), *n),
            Word::Let(l, a, b) => Word::Let(*l, one(a), one(b)),
            Word::If(g, a, b) => Word::If(g.clone(), one(a), one(b)),
            Word::Fold(x) => {
                let (init, body) = (map_word(&x.init, f), map_word(&x.body, f));
                Word::Fold(Box::new(Fold { init, body, ..(**x).clone() }))
            }
            Word::Reduce(x) => {
                let (element, combine) = (map_word(&x.element, f), map_word(&x.combine, f));
                let empty = map_word(&x.empty, f);
                Word::Reduce(Box::new(Reduce { element, combine, empty, ..(**x).clone() }))
            }
        }
    };
    f(rebuilt)
}

fn map_all(words: &[Word], f: &mut dyn FnMut(Word) -> Word) -> Vec<Word> {
    words.iter().map(|w| map_word(w, f)).collect()
}

/// Gives every grid of the host its level: 0 where it stands in no other, and one more for each that it stands in.
pub fn number_grids(block: &mut Block) {
    fn inside(block: &mut Block, level: u32) {
        for s in block {
            match &mut s.kind {
                StmtKind::For { body, .. } => inside(body, level),
                StmtKind::Grid(g) => {
                    let host = g.device == Device::HOST;
                    if host {
                        g.level = level;
                    }
                    inside(&mut g.body, level + u32::from(host));
                }
                StmtKind::If { guard: _, then, els } => {
                    inside(then, level);
                    inside(els, level);
                }
                StmtKind::Let { .. }
                | StmtKind::Var { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Store { .. }
                | StmtKind::Alloc(_)
                | StmtKind::Lease { .. }
                | StmtKind::Call(_)
                | StmtKind::Print(_) => {}
            }
        }
    }
    inside(block, 0);
}

/// A block with the words of its statements, however deep, mapped.
pub fn map_block_words(block: &Block, f: &mut dyn FnMut(Word) -> Word) -> Block {
    block.iter().map(|s| map_stmt_words(s, f)).collect()
}

/// A statement with its words mapped.
pub fn map_stmt_words(stmt: &Stmt, f: &mut dyn FnMut(Word) -> Word) -> Stmt {
    let kind = match &stmt.kind {
        StmtKind::For { var, domain, body } => {
            StmtKind::For { var: *var, domain: domain.clone(), body: map_block_words(body, f) }
        }
        StmtKind::Grid(g) => {
            let mut g = g.clone();
            g.body = map_block_words(&g.body, f);
            StmtKind::Grid(g)
        }
        StmtKind::If { guard, then, els } => {
            StmtKind::If { guard: guard.clone(), then: map_block_words(then, f), els: map_block_words(els, f) }
        }
        StmtKind::Let { local, word } => StmtKind::Let { local: *local, word: map_word(word, f) },
        StmtKind::Var { local, init } => StmtKind::Var { local: *local, init: map_word(init, f) },
        StmtKind::Assign { local, at, word } => {
            StmtKind::Assign { local: *local, at: at.clone(), word: map_word(word, f) }
        }
        StmtKind::Store { to, word } => StmtKind::Store { to: to.clone(), word: map_word(word, f) },
        StmtKind::Print(word) => StmtKind::Print(map_word(word, f)),
        StmtKind::Alloc(_) | StmtKind::Lease { .. } | StmtKind::Call(_) => stmt.kind.clone(),
    };
    Stmt { kind, span: stmt.span }
}
