//! SPLIT: a loop or sum in consecutive blocks.
//!
//! Theorem. Let `psi(g, k) = lo + n*g + k` map the pairs of the two loops on the right, in their order, one to one and
//! ascending onto `lo .. hi`. Then
//!
//! ```text
//! for x in lo .. hi do A(x)   is   for g in blocks (lo .. hi) n do for x in 0 .. g.len do A(g[x])
//!                             is   for g in 0 .. (hi - lo) / n do for x in 0 .. n do A(lo + n*g + x)    if n divides hi - lo
//! ```
//!
//! The same events run in the same order, whatever `A` does; likewise the steps of a sum, whose running total goes from
//! one block into the next. Where the range is empty there are no events on either side.
//!
//! The conditions are about `psi`: *into* (nothing is made that was not there), *onto* (everything is made) and *ascending*
//! (nothing is made twice or out of order).
//!
//! Near misses: blocks of full length at a ragged end; whole blocks of a range that is no multiple; a total for each block.

use super::Relation;
use super::find::{Found, shown};
use super::needs;
use crate::condition::Kind;
use crate::context::{Context, Shown};
use crate::formula::{Formula, Term};
use cachet_core::ir::{Block, BlockPart, Domain, Fold, Guard, Ix, LocalInfo, Rel, Stmt, StmtKind, Var, VarKind, Word};
use cachet_core::pattern::LoopRef;
use cachet_core::rewrite::{Subst, map_stmt_words};
use cachet_source::Diagnostic;

/// The parts of a split: range, size and whether the last block may be shorter.
struct Cut {
    lo: Ix,
    hi: Ix,
    size: i64,
    ragged: bool,
}

impl Cut {
    /// The loop over blocks.
    fn outer(&self) -> Domain {
        let (lo, hi) = (self.lo.clone(), self.hi.clone());
        if self.ragged {
            return Domain::Blocks { lo, hi, size: self.size };
        }
        Domain::Range { lo: Ix::Lit(0), hi: Ix::Div(Box::new(self.length()), self.size) }
    }

    fn length(&self) -> Ix {
        match &self.lo {
            Ix::Lit(0) => self.hi.clone(),
            lo => Ix::Sub(Box::new(self.hi.clone()), Box::new(lo.clone())),
        }
    }

    /// The loop inside block `g`.
    fn inner(&self, g: Var) -> Domain {
        let hi = if self.ragged { Ix::Block(g, BlockPart::Len) } else { Ix::Lit(self.size) };
        Domain::Range { lo: Ix::Lit(0), hi }
    }

    /// The index that `x` of block `g` stands for.
    fn index(&self, g: Var, x: Var) -> Ix {
        if self.ragged {
            return Ix::InBlock(g, Box::new(Ix::Var(x)));
        }
        let within = Ix::Add(Box::new(Ix::Mul(self.size, Box::new(Ix::Var(g)))), Box::new(Ix::Var(x)));
        Ix::Add(Box::new(self.lo.clone()), Box::new(within))
    }
}

impl Relation<'_> {
    /// Splits the loop or sum named.
    pub(super) fn split(
        &mut self,
        block: &mut Block,
        wanted: &LoopRef,
        size: i64,
        outer: &str,
        ragged: bool,
    ) -> Result<(), Diagnostic> {
        if size <= 0 {
            return Err(self.misfit(format!("a block has to be longer than 0, not {size}")));
        }
        let found = self.find(block, wanted)?;
        let (Found::Loop(spot) | Found::Fold(spot)) = &found;
        let missing = || self.misfit(format!("{} has no loop or sum over {}", wanted.side, shown(wanted)));
        let mut cx = self.context_of(block, &spot.path);
        let stmt = spot.block(block).and_then(|b| b.get(spot.at)).ok_or_else(missing)?.clone();
        let (var, domain) = match (&found, &stmt.kind) {
            (Found::Loop(_), StmtKind::For { var, domain, .. }) => (*var, domain.clone()),
            (Found::Loop(_), _) => return Err(self.misfit("a grid's iterations have no order to split")),
            (Found::Fold(_), _) => {
                let (frames, fold) = self.fold_named(block, &stmt, wanted).ok_or_else(missing)?;
                for f in &frames {
                    crate::events::enter(&self.fun, &mut cx, f);
                }
                (fold.var, fold.domain)
            }
        };
        let Domain::Range { lo, hi } = domain else {
            let text = format!("{}.{} runs over blocks, and a plain range is wanted", wanted.side, shown(wanted));
            return Err(self.misfit(text));
        };
        let cut = Cut { lo, hi, size, ragged };
        self.ascending_onto(&cx, &cut, var, wanted);
        let kind = if ragged { VarKind::Block } else { VarKind::Index };
        let g = self.fun.add_var(outer, kind);
        let x = self.fun.add_var(self.names().var(var).to_string(), VarKind::Index);
        let index = Subst::var(var, cut.index(g, x));
        let made = match &stmt.kind {
            StmtKind::For { body, .. } if matches!(found, Found::Loop(_)) => {
                let inner = StmtKind::For { var: x, domain: cut.inner(g), body: index.block(body) };
                let body = vec![Stmt { kind: inner, span: stmt.span }];
                Stmt { kind: StmtKind::For { var: g, domain: cut.outer(), body }, span: stmt.span }
            }
            _ => map_stmt_words(&stmt, &mut |w| match w {
                Word::Fold(f) if f.var == var => self.split_fold(*f, &cut, (g, x), &index),
                w => w,
            }),
        };
        if let Some(slot) = spot.block(block).and_then(|b| b.get_mut(spot.at)) {
            *slot = made;
        }
        Ok(())
    }

    /// The blocks of a sum continue one running total.
    fn split_fold(&mut self, f: Fold, cut: &Cut, (g, x): (Var, Var), index: &Subst) -> Word {
        let info = self.fun.locals[f.acc.index()].clone();
        let total = self.fun.add_local(LocalInfo { name: format!("{}'", info.name), ..info });
        let inner = Fold {
            var: x,
            domain: cut.inner(g),
            acc: f.acc,
            init: Word::Local(total, vec![]),
            body: index.word(&f.body),
            regroup: f.regroup,
            span: f.span,
        };
        Word::Fold(Box::new(Fold {
            var: g,
            domain: cut.outer(),
            acc: total,
            init: f.init,
            body: Word::Fold(Box::new(inner)),
            regroup: f.regroup,
            span: f.span,
        }))
    }

    /// The conditions on the map from the two loops to the one.
    fn ascending_onto(&mut self, cx: &Context, cut: &Cut, var: Var, wanted: &LoopRef) {
        let place = format!("{}.{}", wanted.side, shown(wanted));
        let n = i128::from(cut.size);
        let (lo, hi) = (cx.ix(&cut.lo), cx.ix(&cut.hi));
        if !cut.ragged {
            let length = cut.length();
            let goal = cx.ix(&length).rem(n).equals(0);
            let text = self.names().ix(&length);
            let what = format!("{text} is a multiple of {n}");
            let needed = Guard::Cmp(Rel::Eq, Ix::Mod(Box::new(length), cut.size), Ix::Lit(0));
            self.needs.extend(needs::allowed(&self.fun, &needed));
            self.emit_multiple(cx, goal, &what);
        }
        // One pair of block and place, and a second one.
        let pair = |cx: &mut Context, prime: &str| -> (Term, Term, Term) {
            let g = cx.unknown(Shown::Hidden(format!("g{prime}")));
            let x = cx.unknown(Shown::Hidden(format!("x{prime}")));
            let made = lo.clone().add(g.clone().times(n)).add(x.clone());
            cx.fact(within(cut, (&lo, &hi), &g, &x));
            (g, x, made)
        };
        let mut one = cx.clone();
        let (g, x, made) = pair(&mut one, "");
        let into = Formula::within(lo.clone(), made.clone(), hi.clone());
        let what = format!("an iteration of the blocks of {place} has a counterpart in {place}");
        self.emit(Kind::Split, &one, into, &what, &[], &[]);

        let mut two = one.clone();
        let (g2, x2, made2) = pair(&mut two, "'");
        two.fact(Formula::or([g.clone().lt(g2.clone()), Formula::and([g.equals(g2), x.lt(x2)])]));
        let what = format!("the blocks of {place} run through it once and ascending");
        self.emit(Kind::Split, &two, made.lt(made2), &what, &[], &[]);

        let mut any = cx.clone();
        let name = self.names().var(var).to_string();
        let y = any.unknown(Shown::Plain(name));
        any.fact(Formula::within(lo.clone(), y.clone(), hi.clone()));
        let offset = y.sub(lo.clone());
        let goal = within(cut, (&lo, &hi), &offset.clone().div(n), &offset.rem(n));
        let what = format!("an iteration of {place} is made by its blocks");
        self.emit(Kind::Split, &any, goal, &what, &[], &[]);
    }
}

/// That `(g, x)` are a block and a place in it.
fn within(cut: &Cut, (lo, hi): (&Term, &Term), g: &Term, x: &Term) -> Formula {
    let n = i128::from(cut.size);
    let first = lo.clone().add(g.clone().times(n));
    let length = hi.clone().sub(lo.clone());
    if cut.ragged {
        return Formula::and([
            g.clone().ge(0),
            first.clone().lt(hi.clone()),
            Formula::within(0, x.clone(), n),
            first.add(x.clone()).lt(hi.clone()),
        ]);
    }
    Formula::and([Formula::within(0, g.clone(), length.div(n)), Formula::within(0, x.clone(), n)])
}
