//! RELAYOUT: a local array's cells under other subscripts.
//!
//! Theorem. Let `t` be a local array, declared with one word for all of its cells, and let `e` map its subscripts one to one
//! into those of an array `u` that the program does not have. Then the program with `u[e(x)]` for every `t[x]`, declared with
//! the same word, is the same to everybody else: `u` holds at `e(x)` what `t` held at `x`, and nobody asks for its other
//! cells. That every subscript of `t` is one is a condition of the program itself.
//!
//! Near misses: a map that takes two cells to one; one that leaves `u`; one that names something else than subscripts, or two
//! of them alike.

use super::Relation;
use crate::condition::{Kind, same_tuple};
use crate::formula::Formula;
use cachet_core::ir::{Block, Domain, Ix, LocalInfo, Stmt, StmtKind, Var, Word};
use cachet_core::pattern::Side;
use cachet_core::rewrite::{Live, Subst, Visit, map_block_words};
use cachet_source::Diagnostic;

impl Relation<'_> {
    /// Names a local's cells as those of another, of which each axis has a length.
    pub(super) fn relayout(
        &mut self,
        block: &mut Block,
        (side, name): (Side, &str),
        (other, dims): (&str, &[i64]),
        axes: &[Var],
        cell: &[Ix],
    ) -> Result<(), Diagnostic> {
        let (local, spot) = self.declaration(block, side, name)?;
        let info = self.fun.locals[local.index()].clone();
        if info.dims.len() != axes.len() || dims.len() != cell.len() {
            return Err(self.misfit(format!("{name} has {} axes, and the map is of another number", info.dims.len())));
        }
        if (1..axes.len()).any(|n| axes[..n].contains(&axes[n])) {
            return Err(self.misfit(format!("the map names two axes of {name} alike")));
        }
        let mut live = Live::default();
        cell.iter().for_each(|ix| live.ix(ix));
        if let Some(v) = live.vars.iter().find(|v| !axes.contains(v)) {
            let text = format!("the map names {}, which is no subscript of {name}", self.names().var(*v));
            return Err(self.misfit(text));
        }
        let mut around = self.context_of(block, &spot.path);
        let range = |n: i64| Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(n) };
        for (v, n) in axes.iter().zip(&info.dims) {
            around.enter(self.names().var(*v), *v, &range(*n));
        }
        let within = cell.iter().zip(dims).map(|(ix, n)| Formula::within(0, around.ix(ix), i128::from(*n)));
        let goal = Formula::and(within.collect::<Vec<_>>());
        let what = format!("every cell of {name} is one of {other}");
        self.emit(Kind::Carried, &around, goal, &what, &[], &[]);
        let mut second = around.clone();
        let mut different = Vec::new();
        for (v, n) in axes.iter().zip(&info.dims) {
            second.enter_again(self.names().var(*v), *v, &range(*n));
            let (Some(x), Some(y)) = (around.counter(*v), second.counter(*v)) else {
                return Err(self.misfit("a subscript of the map has no value"));
            };
            different.push(x.differs(y));
        }
        second.fact(Formula::or(different));
        let goal = Formula::not(same_tuple(&around.tuple(cell), &second.tuple(cell)));
        let what = format!("two cells of {name} are two cells of {other}");
        self.emit(Kind::Carried, &second, goal, &what, &[], &[]);
        let renamed = LocalInfo { name: other.to_string(), dims: dims.to_vec(), ..info };
        let to = self.fun.add_local(renamed);
        let placed = |at: &[Ix]| -> Vec<Ix> {
            let mut subst = Subst::default();
            axes.iter().zip(at).for_each(|(v, ix)| {
                subst.vars.insert(*v, ix.clone());
            });
            cell.iter().map(|ix| subst.ix(ix)).collect()
        };
        let words = map_block_words(block, &mut |w| match &w {
            Word::Local(l, at) if *l == local => Word::Local(to, placed(at)),
            _ => w,
        });
        *block = targets(words, &mut |kind| match kind {
            StmtKind::Var { local: l, init } if l == local => StmtKind::Var { local: to, init },
            StmtKind::Assign { local: l, at, word } if l == local => {
                StmtKind::Assign { local: to, at: placed(&at), word }
            }
            kind => kind,
        });
        Ok(())
    }
}

/// A block with what its statements name changed, statement by statement.
fn targets(block: Block, change: &mut dyn FnMut(StmtKind) -> StmtKind) -> Block {
    block
        .into_iter()
        .map(|s| {
            let kind = match s.kind {
                StmtKind::For { var, domain, body } => StmtKind::For { var, domain, body: targets(body, change) },
                StmtKind::If { guard, then, els } => {
                    StmtKind::If { guard, then: targets(then, change), els: targets(els, change) }
                }
                StmtKind::Grid(mut g) => {
                    g.body = targets(g.body, change);
                    StmtKind::Grid(g)
                }
                kind @ (StmtKind::Let { .. }
                | StmtKind::Var { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Store { .. }
                | StmtKind::Alloc(_)
                | StmtKind::Lease { .. }
                | StmtKind::Call(_)
                | StmtKind::Print(_)) => change(kind),
            };
            Stmt { kind, span: s.span }
        })
        .collect()
}
