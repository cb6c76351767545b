//! The small moves: each is an identity that needs little or nothing proved.
//!
//! | move | theorem | needs |
//! | --- | --- | --- |
//! | `first S.g` | `A; for g in D do B` is `for g in D do { if g is D's first then A; B }` | `D` is not empty; `A` binds nothing and `D` reads nothing that `A` writes (ranges never read memory) |
//! | `selfstore S.c` | `if g then store c[x] = w` is `store c[x] = if g then w else load c[x]` | – : writing a cell's own word back changes nothing |
//! | `unroll S.k` | a loop or sum of literal length is its copies | the length is a literal |
//! | `unfold S.f` | a pure function's call is its value | – |
//! | `given g` | what is proved is known | `g` |
//!
//! Near misses: `first` where the range may be empty (`K = 0` would store nothing); a loop of symbolic length unrolled.

use super::Relation;
use super::find::{Found, shown};
use super::needs;
use crate::condition::Kind;
use cachet_core::ir::{Block, BlockPart, Domain, Grid, Guard, Ix, Local, Rel, Stmt, StmtKind, Word};
use cachet_core::pattern::{LoopRef, PatGuard, Side};
use cachet_core::rewrite::{Subst, map_block_words, map_stmt_words, refresh};
use cachet_source::Diagnostic;

/// The longest loop that is unrolled.
const MAX_COPIES: i64 = 4_096;
/// The longest sum: its copies stand inside one another.
const MAX_TERMS: i64 = 256;

impl Relation<'_> {
    /// Moves the statement before a loop into its first iteration.
    pub(super) fn first(&mut self, block: &mut Block, wanted: &LoopRef) -> Result<(), Diagnostic> {
        let spot = self.find_loop(block, wanted)?;
        let cx = self.context_of(block, &spot.path);
        let place = format!("{}.{}", wanted.side, shown(wanted));
        let stmts = spot.block(block).ok_or_else(|| self.misfit(format!("there is no loop {place}")))?;
        let Some(before) = spot.at.checked_sub(1).and_then(|at| stmts.get(at)).cloned() else {
            return Err(self.misfit(format!("no statement stands before {place}")));
        };
        if !matches!(before.kind, StmtKind::Store { .. }) {
            return Err(self.misfit(format!("what stands before {place} is no store")));
        }
        let Some(Stmt { kind: StmtKind::For { var, domain, body }, span }) = stmts.get(spot.at).cloned() else {
            return Err(self.misfit(format!("{place} is not a loop")));
        };
        let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, size: _ }) = &domain;
        let counter = match &domain {
            Domain::Range { .. } => Ix::Var(var),
            Domain::Blocks { .. } => Ix::Block(var, BlockPart::Lo),
        };
        let guard = Guard::Cmp(Rel::Eq, counter, lo.clone());
        let needed = Guard::Cmp(Rel::Lt, lo.clone(), hi.clone());
        let what = format!("the first iteration of {place} runs: {}", self.names().guard(&needed));
        let goal = cx.guard(&needed);
        let needed = match &needed {
            // `0 < K / 64` is no condition of the closed list; `0 < K` is what a user can give.
            Guard::Cmp(Rel::Lt, Ix::Lit(0), Ix::Div(k, _)) => Guard::Cmp(Rel::Lt, Ix::Lit(0), (**k).clone()),
            g => g.clone(),
        };
        self.needs.extend(needs::allowed(&self.fun, &needed));
        self.emit(Kind::Given, &cx, goal, &what, &[], &[]);
        let mut inside = vec![Stmt { kind: StmtKind::If { guard, then: vec![before], els: vec![] }, span }];
        inside.extend(body);
        if let Some(stmts) = spot.block(block) {
            stmts.splice(spot.at - 1..=spot.at, [Stmt { kind: StmtKind::For { var, domain, body: inside }, span }]);
        }
        Ok(())
    }

    /// Guarded stores to a buffer as stores of a choice.
    pub(super) fn selfstore(&mut self, block: &mut Block, side: Side, buffer: &str) -> Result<(), Diagnostic> {
        let mut count = 0;
        *block = self.selfstores(block, buffer, &mut count);
        if count == 0 {
            return Err(self.misfit(format!("{side} has no `if` around one store to {buffer}")));
        }
        Ok(())
    }

    fn selfstores(&self, block: &Block, buffer: &str, count: &mut usize) -> Block {
        let mut out = Vec::new();
        for s in block {
            let kind = match &s.kind {
                StmtKind::If { guard, then, els } => match (then.as_slice(), els.as_slice()) {
                    ([Stmt { kind: StmtKind::Store { to, word }, .. }], [])
                        if self.names().buffer(to.buffer) == buffer =>
                    {
                        *count += 1;
                        let own = Word::Load(to.clone());
                        let word = Word::If(Box::new(guard.clone()), Box::new(word.clone()), Box::new(own));
                        StmtKind::Store { to: to.clone(), word }
                    }
                    _ => StmtKind::If {
                        guard: guard.clone(),
                        then: self.selfstores(then, buffer, count),
                        els: self.selfstores(els, buffer, count),
                    },
                },
                StmtKind::For { var, domain, body } => {
                    StmtKind::For { var: *var, domain: domain.clone(), body: self.selfstores(body, buffer, count) }
                }
                StmtKind::Grid(_)
                | StmtKind::Let { .. }
                | StmtKind::Var { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Store { .. }
                | StmtKind::Alloc(_)
                | StmtKind::Lease { .. }
                | StmtKind::Call(_)
                | StmtKind::Print(_) => s.kind.clone(),
            };
            out.push(Stmt { kind, span: s.span });
        }
        out
    }

    /// A loop or sum of literal length as its copies.
    pub(super) fn unroll(&mut self, block: &mut Block, wanted: &LoopRef) -> Result<(), Diagnostic> {
        let place = format!("{}.{}", wanted.side, shown(wanted));
        let found = self.find(block, wanted)?;
        let (Found::Loop(spot) | Found::Fold(spot)) = &found;
        let missing = || self.misfit(format!("there is no loop or sum {place}"));
        let stmt = spot.block(block).and_then(|b| b.get(spot.at)).ok_or_else(missing)?.clone();
        let most = if matches!(found, Found::Loop(_)) { MAX_COPIES } else { MAX_TERMS };
        let bounds = |d: &Domain| match d {
            Domain::Range { lo: Ix::Lit(lo), hi: Ix::Lit(hi) } if hi.checked_sub(*lo)? <= most => Some((*lo, *hi)),
            Domain::Range { .. } | Domain::Blocks { .. } => None,
        };
        let symbolic = || self.misfit(format!("{place} is not of a literal length of at most {most}"));
        // Copies in copies multiply: what they come to is known before they are made.
        let together = |copies: i64, of: usize| {
            let parts = usize::try_from(copies).unwrap_or(0).saturating_mul(of);
            let many = || self.misfit(format!("the copies of {place} have more than {} parts", super::MAX_PARTS));
            if parts > super::MAX_PARTS { Err(many()) } else { Ok(()) }
        };
        let made = match (&found, &stmt.kind) {
            (Found::Loop(_), StmtKind::For { var, domain, body }) => {
                let (lo, hi) = bounds(domain).ok_or_else(symbolic)?;
                together(hi - lo, super::parts(body))?;
                let mut out = Vec::new();
                for n in lo..hi {
                    let copy = Subst::var(*var, Ix::Lit(n)).block(body);
                    let copy = refresh(&mut self.fun, &copy);
                    if binds(&copy) {
                        return Err(self.misfit(format!("{place} declares names, which its copies would share")));
                    }
                    out.extend(copy);
                }
                out
            }
            (Found::Loop(_), _) => return Err(symbolic()),
            (Found::Fold(_), _) => {
                let (_, fold) = self.fold_named(block, &stmt, wanted).ok_or_else(missing)?;
                let (lo, hi) = bounds(&fold.domain).ok_or_else(symbolic)?;
                together(hi - lo, super::parts(std::slice::from_ref(&stmt)))?;
                let mut total = fold.init.clone();
                // Named, not copied: two copies of a sum in it would share their ids, under different guards.
                for n in lo..hi {
                    let step = Subst::var(fold.var, Ix::Lit(n)).word(&fold.body);
                    total = self.refreshed(&Word::Let(fold.acc, Box::new(total), Box::new(step)));
                }
                vec![map_stmt_words(&stmt, &mut |w| match w {
                    Word::Fold(f) if f.var == fold.var => total.clone(),
                    w => w,
                })]
            }
        };
        if let Some(stmts) = spot.block(block) {
            stmts.splice(spot.at..=spot.at, made);
        }
        Ok(())
    }

    /// Fresh ids for what a word binds: copies of it may not share binders.
    pub(super) fn refreshed(&mut self, word: &Word) -> Word {
        let carrier = vec![Stmt { kind: StmtKind::Print(word.clone()), span: Default::default() }];
        match refresh(&mut self.fun, &carrier).pop().map(|s| s.kind) {
            Some(StmtKind::Print(w)) => w,
            _ => word.clone(),
        }
    }

    /// Calls of a pure function as their values.
    pub(super) fn unfold(&mut self, block: &mut Block, side: Side, name: &str) -> Result<(), Diagnostic> {
        let named =
            |r: &Self, p: &cachet_core::ir::PureId| r.program.pures.get(p.index()).is_some_and(|f| f.name == name);
        let program = self.program;
        let mut found = false;
        let mut fun = self.fun.clone();
        *block = map_block_words(block, &mut |w| match &w {
            Word::Apply(p, args) if named(self, p) => {
                found = true;
                match program.pures.get(p.index()) {
                    Some(pure) => value(&mut fun, pure, args),
                    None => w,
                }
            }
            _ => w,
        });
        self.fun = fun;
        if found { Ok(()) } else { Err(self.misfit(format!("{side} has no call of a pure function `{name}`"))) }
    }

    /// Something that is proved once and then known.
    pub(super) fn given(&mut self, guard: &PatGuard) -> Result<(), Diagnostic> {
        let PatGuard::Known(guard) = guard else { return Err(self.misfit("the condition is not one of the program")) };
        let cx = self.context.clone();
        self.known_guard(&cx, guard)?;
        let text = self.names().guard(guard);
        self.needs.extend(needs::allowed(&self.fun, guard));
        self.emit(Kind::Given, &cx, cx.guard(guard), &text, &[], &[]);
        self.context.assume(guard);
        Ok(())
    }
}

/// The value of a pure function: its parameters as `let`s, so that no argument is copied.
fn value(fun: &mut cachet_core::ir::Fun, pure: &cachet_core::ir::Pure, args: &[Word]) -> Word {
    let mut subst = Subst::default();
    let fresh: Vec<Local> = pure.locals.iter().map(|info| fun.add_local(info.clone())).collect();
    for (i, l) in fresh.iter().enumerate() {
        subst.locals.insert(Local(i as u32), Word::Local(*l, vec![]));
    }
    let mut out = subst.word(&pure.body);
    for (p, a) in pure.params.iter().zip(args).rev() {
        if let Some(l) = fresh.get(p.index()) {
            out = Word::Let(*l, Box::new(a.clone()), Box::new(out));
        }
    }
    out
}

fn binds(block: &[Stmt]) -> bool {
    block.iter().any(|s| {
        matches!(s.kind, StmtKind::Let { .. } | StmtKind::Var { .. } | StmtKind::Alloc(_) | StmtKind::Lease { .. })
    })
}

/// A block with what is leased under its own name.
///
/// A lease is another name for an array, whose own name is not used while it is in force: both programs are well-formed.
pub(super) fn leases_as_names(fun: &cachet_core::ir::Fun, block: &[Stmt]) -> Block {
    let mut names = Subst::default();
    let leases = (0..fun.buffers.len() as u32).map(cachet_core::ir::Buffer);
    for b in leases.filter(|b| matches!(fun.buffers[b.index()].role, cachet_core::ir::Role::Lease(_))) {
        names.buffers.insert(b, crate::wf::root(fun, b));
    }
    if names.buffers.is_empty() {
        return block.to_vec();
    }
    without_leases(&names.block(block))
}

fn without_leases(block: &[Stmt]) -> Block {
    let mut out = Vec::new();
    for s in block {
        let kind = match &s.kind {
            StmtKind::Lease { .. } => continue,
            StmtKind::For { var, domain, body } => {
                StmtKind::For { var: *var, domain: domain.clone(), body: without_leases(body) }
            }
            StmtKind::Grid(g) => StmtKind::Grid(Box::new(Grid { body: without_leases(&g.body), ..(**g).clone() })),
            StmtKind::If { guard, then, els } => {
                StmtKind::If { guard: guard.clone(), then: without_leases(then), els: without_leases(els) }
            }
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Call(_)
            | StmtKind::Print(_) => s.kind.clone(),
        };
        out.push(Stmt { kind, span: s.span });
    }
    out
}

/// A block with every grid of the host as loops, one axis inside another.
///
/// Both programs are well-formed, so the iterations of each grid touch nothing of one another's: any interleaving of
/// them leaves what running them in order leaves.
pub(super) fn grids_as_loops(block: &Block) -> Block {
    block
        .iter()
        .map(|s| {
            let kind = match &s.kind {
                StmtKind::Grid(g) => return grid_as_loops(g, s),
                StmtKind::For { var, domain, body } => {
                    StmtKind::For { var: *var, domain: domain.clone(), body: grids_as_loops(body) }
                }
                StmtKind::If { guard, then, els } => {
                    StmtKind::If { guard: guard.clone(), then: grids_as_loops(then), els: grids_as_loops(els) }
                }
                StmtKind::Let { .. }
                | StmtKind::Var { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Store { .. }
                | StmtKind::Alloc(_)
                | StmtKind::Lease { .. }
                | StmtKind::Call(_)
                | StmtKind::Print(_) => s.kind.clone(),
            };
            Stmt { kind, span: s.span }
        })
        .collect()
}

fn grid_as_loops(g: &Grid, like: &Stmt) -> Stmt {
    let mut body = grids_as_loops(&g.body);
    for (var, domain) in g.axes.iter().rev() {
        body = vec![Stmt { kind: StmtKind::For { var: *var, domain: domain.clone(), body }, span: like.span }];
    }
    // A grid has an axis: the validator has seen to it.
    body.into_iter().next().unwrap_or_else(|| like.clone())
}
