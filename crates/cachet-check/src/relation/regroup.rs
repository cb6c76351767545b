//! REGROUP: the terms of a sum joined by themselves first. The only rule that changes the order of additions.
//!
//! Theorem. Let `F(w)` be `fold k in D from w as b do C(b)` with `C(b)` a chain of `op` from `b`: `b` is carried along one
//! way and joined, by `op`, with words that do not know it (`cachet_core::chain`). If
//!
//! ```text
//! op (op a x) y = op a (op x y)        op w z = w        for all words a, x, y and for this w
//! ```
//!
//! then `F(w)` is `op w (F(z))`. Proof. Every chain `C` has `C(w) = op w (C(z))`, by induction over its text: `b` itself is
//! `op w z = w`; `op C x` is `op (op w (C z)) x = op w (op (C z) x)`; a choice by indices takes the same branch on both
//! sides; a sum is a chain of its steps, as many on both sides. Where the range is empty, `F(w) = w = op w z`.
//!
//! | by | `z` | why `op w z = w` |
//! | --- | --- | --- |
//! | `associative` | the identity of `op` | `identity`, on the right: `z` stands there |
//! | `idempotent` | `e`, from which the whole sum starts | `w` is a chain from `e`, and `op`, being `commutative` and `idempotent`, takes up `e` twice as once |
//!
//! `op x C` asks for `commutative` besides, and a step `fused p q C` for `mul_add`: `fused p q c = op c (mul p q)`. Laws are
//! those that hold `exactly`, two NaN being one value, and that the checker has proved of the implementation. Of a type
//! parameter they are those that its interface wants `exactly`; whoever binds the parameter has to have them.
//!
//! In a nest that `split` has made of one sum, `w` is the total so far: each block is summed by itself and then joined.
//! A loop that updates one cell is read as the sum that it is (`CELL`).
//!
//! Near misses: floating-point addition (`associative` over the reals only); a step that reads its total twice; an identity
//! that is one on the left only; blocks of a sum, which is not idempotent, that each start from the sum's start; a start
//! that is no chain of the sum's; a loop around the cell, whose total is not one word.

mod refusals;

use super::Relation;
use super::find::{Found, shown};
use crate::laws::{self, Standing};
use cachet_core::chain::{Break, Operation, Uses, operations, sums};
use cachet_core::ir::{Access, Binding, Block, Fold, Local, LocalInfo, Stmt, StmtKind, Word};
use cachet_core::law::{Law, Property};
use cachet_core::pattern::{LoopRef, Regrouping};
use cachet_core::rewrite::{Live, Visit, map_block_words, map_stmt_words, visit_word};
use cachet_source::Diagnostic;

/// The most words of what a sum starts from: lines that regroup may follow one another, and each doubles it.
const MAX_START: usize = 1 << 12;

/// A law that a step rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsedLaw {
    /// Whose.
    pub of: Binding,
    /// The law.
    pub law: Law,
}

/// The sum to be regrouped, and what it is made of.
struct Sum {
    fold: Fold,
    /// The sums that it continues, outermost first.
    around: Vec<Fold>,
    /// Where its total lives in a cell.
    cell: Option<Access>,
}

/// An operation that a sum is made of, and what that takes.
struct Made {
    op: Operation,
    needed: Vec<Property>,
}

impl Relation<'_> {
    /// Joins the terms of the sum named by themselves first.
    pub(super) fn regroup(
        &mut self,
        block: &mut Block,
        wanted: &LoopRef,
        op: &str,
        by: Regrouping,
    ) -> Result<(), Diagnostic> {
        let found = self.find(block, wanted)?;
        let (Found::Loop(spot) | Found::Fold(spot)) = &found;
        let missing = || self.misfit(format!("{} has no loop or sum over {}", wanted.side, shown(wanted)));
        let stmt = spot.block(block).and_then(|b| b.get(spot.at)).ok_or_else(missing)?.clone();
        let sum = match &found {
            Found::Fold(_) => self.sum_in(block, &stmt, wanted)?,
            Found::Loop(_) => self.cell_sum(&stmt, wanted)?,
        };
        self.try_at = Some(self.telling_sizes(block, &sum.fold.domain));
        let made = self.made_of(&sum, op, by, wanted)?;
        self.lawful(&sum, &made, wanted)?;
        self.try_at = None;
        if let Some(to) = &sum.cell {
            let cx = self.context_of(block, &spot.path);
            self.own_cell_unread(&cx, to, &sum.fold, None, wanted)?;
        }
        let joined = self.joined(&sum, &made, by, wanted)?;
        let made = match &sum.cell {
            Some(to) => Stmt { kind: StmtKind::Store { to: to.clone(), word: joined }, span: stmt.span },
            None => map_stmt_words(&stmt, &mut |w| match w {
                Word::Fold(f) if f.var == sum.fold.var => joined.clone(),
                w => w,
            }),
        };
        if let Some(slot) = spot.block(block).and_then(|b| b.get_mut(spot.at)) {
            *slot = made;
        }
        Ok(())
    }

    /// The sum that is named in a statement, with those that it continues.
    fn sum_in(&self, block: &Block, stmt: &Stmt, wanted: &LoopRef) -> Result<Sum, Diagnostic> {
        let missing = || self.misfit(format!("{} has no sum over {}", wanted.side, shown(wanted)));
        let earlier = self.before_in_stmt(block, wanted)?;
        let all = sums(stmt);
        let named = |f: &Fold| self.names().var(f.var) == wanted.name;
        let (fold, around) = all.iter().filter(|(f, _)| named(f)).nth(earlier).cloned().ok_or_else(missing)?;
        if all.iter().filter(|(f, _)| f.var == fold.var).count() > 1 {
            return Err(self.misfit(format!("the sum at {}.{} stands there twice", wanted.side, shown(wanted))));
        }
        Ok(Sum { fold, around, cell: None })
    }

    /// A loop that does nothing but update one cell, as the sum that it is.
    fn cell_sum(&mut self, stmt: &Stmt, wanted: &LoopRef) -> Result<Sum, Diagnostic> {
        let place = format!("{}.{}", wanted.side, shown(wanted));
        let no_sum = |why: &str| self.misfit(format!("the loop at {place} is no sum in a cell: {why}"));
        let StmtKind::For { var, domain, body } = &stmt.kind else {
            return Err(no_sum("the iterations of a grid have no order"));
        };
        let (total, to, word) = match body.as_slice() {
            [
                Stmt { kind: StmtKind::Let { local, word: Word::Load(own) }, .. },
                Stmt { kind: StmtKind::Store { to, word }, .. },
            ] if own == to => (Some(*local), to, word),
            [Stmt { kind: StmtKind::Store { to, word }, .. }] => (None, to, word),
            _ => return Err(no_sum("its body is more than the update of one cell")),
        };
        if to.at.iter().any(|ix| Live::of_ix(ix).vars.contains(var)) {
            return Err(no_sum("its iterations update different cells"));
        }
        let ty = self.fun.buffers[to.buffer.index()].elem.clone();
        let info = LocalInfo { name: "total".into(), ty, dims: vec![], vector: false, mutable: false };
        let acc = total.unwrap_or_else(|| self.fun.add_local(info));
        let (body, init) = (with_total(word, to, acc, stmt), Word::Load(to.clone()));
        let fold = Fold { var: *var, domain: domain.clone(), acc, init, body, regroup: false, span: stmt.span };
        Ok(Sum { fold, around: vec![], cell: Some(to.clone()) })
    }

    /// The operation of that name that the sum is made of.
    fn made_of(&self, sum: &Sum, op: &str, by: Regrouping, wanted: &LoopRef) -> Result<Made, Diagnostic> {
        let (own, others) = operations(self.program, &self.fun, op);
        let mut nearest: Option<(Operation, Break)> = None;
        for candidates in [&own, &others] {
            let mut fitting: Option<Made> = None;
            for op in candidates {
                match self.chain_of(sum, *op, by) {
                    Ok(made) if self.all_hold(&made) => return Ok(made),
                    Ok(made) => fitting = fitting.or(Some(made)),
                    Err(why) if nearest.is_none_or(|(_, known)| known < why) => nearest = Some((*op, why)),
                    Err(_) => {}
                }
            }
            if let Some(made) = fitting {
                return Ok(made);
            }
        }
        Err(self.no_chain(sum, op, nearest.filter(|(_, why)| !own.is_empty() || *why != Break::Other), wanted))
    }

    fn all_hold(&self, made: &Made) -> bool {
        made.needed.iter().all(|p| laws::standing(self.program, &self.fun, &made.op, *p) == Standing::Proved)
    }

    /// The sum as a chain of an operation: what it takes.
    fn chain_of(&self, sum: &Sum, op: Operation, by: Regrouping) -> Result<Made, Break> {
        let chain = |word: &Word, from: Local| op.chain(self.program, &self.fun, word, from);
        let mut uses = chain(&sum.fold.body, sum.fold.acc)?;
        let mut needed = vec![Property::Associative(op.method)];
        match by {
            Regrouping::Associative => {
                // Without an identity by name there is none to start from; the law is then found missing.
                let element = op.element(self.program, &self.fun).unwrap_or(u32::MAX);
                needed.push(Property::Identity { op: op.method, element });
            }
            Regrouping::Idempotent => {
                let mut inner = &sum.fold.init;
                for f in sum.around.iter().rev() {
                    for (word, from) in [(inner, f.acc), (&f.body, f.acc)] {
                        let more = chain(word, from)?;
                        uses = Uses { commuted: uses.commuted || more.commuted, fused: uses.fused.or(more.fused) };
                    }
                    inner = &f.init;
                }
                needed.insert(0, Property::Idempotent(op.method));
                needed.push(Property::Commutative(op.method));
            }
        }
        if uses.commuted && !needed.contains(&Property::Commutative(op.method)) {
            needed.push(Property::Commutative(op.method));
        }
        if uses.fused.is_some() {
            let law = op.stated(self.program, &self.fun).into_iter().map(|l| l.property).find(
                |p| matches!(p, Property::MulAdd { fused, add, .. } if Some(*fused) == uses.fused && *add == op.method),
            );
            needed.push(law.ok_or(Break::Other)?);
        }
        Ok(Made { op, needed })
    }

    /// The sum with its terms joined first.
    fn joined(&mut self, sum: &Sum, made: &Made, by: Regrouping, wanted: &LoopRef) -> Result<Word, Diagnostic> {
        let place = format!("{}.{}", wanted.side, shown(wanted));
        let mut locals = std::mem::take(&mut self.fun.locals);
        let z = match by {
            Regrouping::Associative => made
                .op
                .element(self.program, &self.fun)
                .and_then(|e| made.op.apply(self.program, e, vec![], &mut locals)),
            Regrouping::Idempotent => Some(sum.around.first().unwrap_or(&sum.fold).init.clone()),
        };
        self.fun.locals = locals;
        let z = z.ok_or_else(|| self.misfit(format!("the terms at {place} have no word to start from")))?;
        if words(&z) > MAX_START {
            return Err(self.misfit(format!("what the sum at {place} starts from is too large to stand there twice")));
        }
        let z = if by == Regrouping::Idempotent { self.refreshed(&z) } else { z };
        let own = Word::Fold(Box::new(Fold { init: z, ..sum.fold.clone() }));
        let mut locals = std::mem::take(&mut self.fun.locals);
        let word = made.op.apply(self.program, made.op.method, vec![sum.fold.init.clone(), own], &mut locals);
        self.fun.locals = locals;
        word.ok_or_else(|| self.misfit(format!("the operation that joins the terms at {place} is not there")))
    }
}

/// How many words stand in a word.
fn words(word: &Word) -> usize {
    struct Count(usize);
    impl Visit for Count {
        fn word(&mut self, word: &Word) {
            self.0 += 1;
            visit_word(self, word);
        }
    }
    let mut count = Count(0);
    count.word(word);
    count.0
}

/// A word with the loads of a cell replaced by a total.
fn with_total(word: &Word, cell: &Access, total: Local, like: &Stmt) -> Word {
    let carrier = vec![Stmt { kind: StmtKind::Print(word.clone()), span: like.span }];
    let mapped = map_block_words(&carrier, &mut |w| match w {
        Word::Load(a) if a == *cell => Word::Local(total, vec![]),
        w => w,
    });
    match mapped.into_iter().next().map(|s| s.kind) {
        Some(StmtKind::Print(w)) => w,
        _ => word.clone(),
    }
}
