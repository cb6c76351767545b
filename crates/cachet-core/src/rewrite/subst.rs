//! Substitution, and fresh copies of blocks.

use super::live::Live;
use crate::ir::{
    Access, Block, BlockPart, Buffer, Call, Domain, Fold, Fun, Grid, Guard, Ix, Local, Reduce, Stmt, StmtKind, Var,
    View, Window, Word,
};
use std::collections::BTreeMap;

/// What to put for variables, locals and buffers. Anything not named stays.
///
/// A *binder* is renamed where its replacement is a plain variable or local, and otherwise kept; callers do not replace
/// a variable by an index inside its own scope's binder. The variable of a loop over blocks can be renamed, be left alone
/// where it stands as `g[e]`, `g.lo`, .., or be replaced by a [`Counted`] block.
#[derive(Clone, Debug, Default)]
pub struct Subst {
    /// Indices for variables.
    pub vars: BTreeMap<Var, Ix>,
    /// Words for locals. A local array can only be renamed.
    pub locals: BTreeMap<Local, Word>,
    /// Buffers for buffers.
    pub buffers: BTreeMap<Buffer, Buffer>,
    /// Blocks by their numbers, for variables of loops over blocks.
    pub blocks: BTreeMap<Var, Counted>,
    /// Indices for `g[x]`, by `g` and `x`.
    pub places: BTreeMap<(Var, Var), Ix>,
}

/// Block number `number` of `blocks (lo .. hi) size`. Its parts are plain arithmetic over these.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted {
    /// Where the blocks start.
    pub lo: Ix,
    /// Where they end.
    pub hi: Ix,
    /// How long each is, but perhaps the last.
    pub size: i64,
    /// Which, from 0.
    pub number: Ix,
}

impl Counted {
    fn part(&self, part: BlockPart) -> Ix {
        let b = Box::new;
        let first = Ix::Add(b(self.lo.clone()), b(Ix::Mul(self.size, b(self.number.clone()))));
        match part {
            BlockPart::Lo => first,
            BlockPart::Idx => self.number.clone(),
            BlockPart::Hi => Ix::Min(b(Ix::Add(b(first), b(Ix::Lit(self.size)))), b(self.hi.clone())),
            BlockPart::Len => Ix::Min(b(Ix::Lit(self.size)), b(Ix::Sub(b(self.hi.clone()), b(first)))),
        }
    }
}

impl Subst {
    /// Replaces one variable.
    pub fn var(var: Var, by: Ix) -> Subst {
        Subst { vars: BTreeMap::from([(var, by)]), ..Subst::default() }
    }

    /// Replaces one local.
    pub fn local(local: Local, by: Word) -> Subst {
        Subst { locals: BTreeMap::from([(local, by)]), ..Subst::default() }
    }

    fn binder(&self, var: Var) -> Var {
        match self.vars.get(&var) {
            Some(Ix::Var(to)) => *to,
            _ => var,
        }
    }

    fn local_binder(&self, local: Local) -> Local {
        match self.locals.get(&local) {
            Some(Word::Local(to, at)) if at.is_empty() => *to,
            _ => local,
        }
    }

    fn buffer(&self, buffer: Buffer) -> Buffer {
        self.buffers.get(&buffer).copied().unwrap_or(buffer)
    }

    fn place(&self, block: Var, x: &Ix) -> Option<&Ix> {
        match x {
            Ix::Var(x) => self.places.get(&(block, *x)),
            _ => None,
        }
    }

    /// In an index.
    pub fn ix(&self, ix: &Ix) -> Ix {
        let b = |i: &Ix| Box::new(self.ix(i));
        match ix {
            Ix::Lit(n) => Ix::Lit(*n),
            Ix::Var(v) => self.vars.get(v).cloned().unwrap_or(Ix::Var(*v)),
            Ix::Add(x, y) => Ix::Add(b(x), b(y)),
            Ix::Sub(x, y) => Ix::Sub(b(x), b(y)),
            Ix::Mul(n, x) => Ix::Mul(*n, b(x)),
            Ix::Div(x, n) => Ix::Div(b(x), *n),
            Ix::Mod(x, n) => Ix::Mod(b(x), *n),
            Ix::Min(x, y) => Ix::Min(b(x), b(y)),
            Ix::Max(x, y) => Ix::Max(b(x), b(y)),
            Ix::If(g, x, y) => Ix::If(Box::new(self.guard(g)), b(x), b(y)),
            Ix::Block(v, part) => match self.blocks.get(v) {
                Some(block) => block.part(*part),
                None => Ix::Block(self.binder(*v), *part),
            },
            Ix::InBlock(v, x) if self.place(*v, x).is_some() => self.place(*v, x).cloned().unwrap_or(Ix::Lit(0)),
            Ix::InBlock(v, x) => match self.blocks.get(v) {
                Some(block) => Ix::Add(Box::new(block.part(BlockPart::Lo)), b(x)),
                None => Ix::InBlock(self.binder(*v), b(x)),
            },
        }
    }

    /// In a guard.
    pub fn guard(&self, guard: &Guard) -> Guard {
        let b = |g: &Guard| Box::new(self.guard(g));
        match guard {
            Guard::Const(c) => Guard::Const(*c),
            Guard::Cmp(rel, x, y) => Guard::Cmp(*rel, self.ix(x), self.ix(y)),
            Guard::And(x, y) => Guard::And(b(x), b(y)),
            Guard::Or(x, y) => Guard::Or(b(x), b(y)),
            Guard::Not(x) => Guard::Not(b(x)),
        }
    }

    /// In a domain.
    pub fn domain(&self, domain: &Domain) -> Domain {
        match domain {
            Domain::Range { lo, hi } => Domain::Range { lo: self.ix(lo), hi: self.ix(hi) },
            Domain::Blocks { lo, hi, size } => Domain::Blocks { lo: self.ix(lo), hi: self.ix(hi), size: *size },
        }
    }

    /// In a cell.
    pub fn access(&self, access: &Access) -> Access {
        Access { buffer: self.buffer(access.buffer), at: self.ixs(&access.at), span: access.span }
    }

    fn ixs(&self, ixs: &[Ix]) -> Vec<Ix> {
        ixs.iter().map(|i| self.ix(i)).collect()
    }

    fn axes(&self, axes: &[(Ix, Ix)]) -> Vec<(Ix, Ix)> {
        axes.iter().map(|(s, n)| (self.ix(s), self.ix(n))).collect()
    }

    /// In a word.
    pub fn word(&self, word: &Word) -> Word {
        let b = |w: &Word| Box::new(self.word(w));
        let all = |ws: &[Word]| ws.iter().map(|w| self.word(w)).collect();
        match word {
            Word::Lit(l) => Word::Lit(*l),
            Word::Index(ix, e) => Word::Index(self.ix(ix), *e),
            Word::Load(a) => Word::Load(self.access(a)),
            Word::Local(l, at) => match self.locals.get(l) {
                Some(Word::Local(to, none)) if none.is_empty() => Word::Local(*to, self.ixs(at)),
                Some(w) if at.is_empty() => w.clone(),
                _ => Word::Local(*l, self.ixs(at)),
            },
            Word::Op { op, arith, args } => Word::Op { op: *op, arith: *arith, args: all(args) },
            Word::Apply(f, args) => Word::Apply(*f, all(args)),
            Word::Tuple(args) => Word::Tuple(all(args)),
            Word::Part(w, n) => self.word(w).part(*n),
            Word::Let(l, x, y) => Word::Let(self.local_binder(*l), b(x), b(y)),
            Word::If(g, x, y) => Word::If(Box::new(self.guard(g)), b(x), b(y)),
            Word::Fold(f) => Word::Fold(Box::new(Fold {
                var: self.binder(f.var),
                domain: self.domain(&f.domain),
                acc: self.local_binder(f.acc),
                init: self.word(&f.init),
                body: self.word(&f.body),
                regroup: f.regroup,
                span: f.span,
            })),
            Word::Reduce(r) => Word::Reduce(Box::new(Reduce {
                var: self.binder(r.var),
                domain: self.domain(&r.domain),
                element: self.word(&r.element),
                operands: (self.local_binder(r.operands.0), self.local_binder(r.operands.1)),
                combine: self.word(&r.combine),
                empty: self.word(&r.empty),
                shape: r.shape,
                span: r.span,
            })),
            Word::Differing(x, y) => Word::Differing(self.buffer(*x), self.buffer(*y)),
        }
    }

    /// In a statement.
    pub fn stmt(&self, stmt: &Stmt) -> Stmt {
        let kind = match &stmt.kind {
            StmtKind::For { var, domain, body } => {
                StmtKind::For { var: self.binder(*var), domain: self.domain(domain), body: self.block(body) }
            }
            StmtKind::Grid(g) => StmtKind::Grid(Box::new(Grid {
                device: g.device,
                level: g.level,
                axes: g.axes.iter().map(|(v, d)| (self.binder(*v), self.domain(d))).collect(),
                writes: g
                    .writes
                    .iter()
                    .map(|w| Window { buffer: self.buffer(w.buffer), axes: self.axes(&w.axes) })
                    .collect(),
                body: self.block(&g.body),
            })),
            StmtKind::If { guard, then, els } => {
                StmtKind::If { guard: self.guard(guard), then: self.block(then), els: self.block(els) }
            }
            StmtKind::Let { local, word } => StmtKind::Let { local: self.local_binder(*local), word: self.word(word) },
            StmtKind::Var { local, init } => StmtKind::Var { local: self.local_binder(*local), init: self.word(init) },
            StmtKind::Assign { local, at, word } => {
                StmtKind::Assign { local: self.local_binder(*local), at: self.ixs(at), word: self.word(word) }
            }
            StmtKind::Store { to, word } => StmtKind::Store { to: self.access(to), word: self.word(word) },
            StmtKind::Alloc(b) => StmtKind::Alloc(self.buffer(*b)),
            StmtKind::Lease { lease, of, mutable } => {
                StmtKind::Lease { lease: self.buffer(*lease), of: self.buffer(*of), mutable: *mutable }
            }
            StmtKind::Call(c) => StmtKind::Call(Box::new(Call {
                fun: c.fun,
                types: c.types.clone(),
                sizes: self.ixs(&c.sizes),
                args: c
                    .args
                    .iter()
                    .map(|v| View {
                        buffer: self.buffer(v.buffer),
                        axes: v.axes.as_ref().map(|a| self.axes(a)),
                        span: v.span,
                    })
                    .collect(),
            })),
            StmtKind::Print(w) => StmtKind::Print(self.word(w)),
        };
        Stmt { kind, span: stmt.span }
    }

    /// In a block.
    pub fn block(&self, block: &[Stmt]) -> Block {
        block.iter().map(|s| self.stmt(s)).collect()
    }
}

/// A copy of a block with fresh ids for everything it binds, under the same names.
pub fn refresh(fun: &mut Fun, block: &[Stmt]) -> Block {
    let subst = fresh_binders(fun, &bound(block));
    subst.block(block)
}

/// The ids that a block binds: loop variables, folds, locals, allocations and leases.
fn bound(block: &[Stmt]) -> Live {
    struct Bound(Live);
    impl super::Visit for Bound {
        fn word(&mut self, word: &Word) {
            match word {
                Word::Let(l, _, _) => {
                    self.0.locals.insert(*l);
                }
                Word::Fold(f) => {
                    self.0.vars.insert(f.var);
                    self.0.locals.insert(f.acc);
                }
                Word::Reduce(r) => {
                    self.0.vars.insert(r.var);
                    self.0.locals.extend([r.operands.0, r.operands.1]);
                }
                Word::Lit(_)
                | Word::Index(..)
                | Word::Load(_)
                | Word::Local(..)
                | Word::Op { .. }
                | Word::Apply(..)
                | Word::Tuple(_)
                | Word::Part(..)
                | Word::If(..)
                | Word::Differing(..) => {}
            }
            super::visit_word(self, word);
        }
        fn stmt(&mut self, stmt: &Stmt) {
            match &stmt.kind {
                StmtKind::For { var, .. } => {
                    self.0.vars.insert(*var);
                }
                StmtKind::Grid(g) => self.0.vars.extend(g.axes.iter().map(|(v, _)| *v)),
                StmtKind::Let { local, .. } | StmtKind::Var { local, .. } => {
                    self.0.locals.insert(*local);
                }
                StmtKind::Alloc(b) => {
                    self.0.buffers.insert(*b);
                }
                StmtKind::Lease { lease, .. } => {
                    self.0.buffers.insert(*lease);
                }
                StmtKind::If { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Store { .. }
                | StmtKind::Call(_)
                | StmtKind::Print(_) => {}
            }
            super::visit_stmt(self, stmt);
        }
    }
    let mut out = Bound(Live::default());
    super::visit_block(&mut out, block);
    out.0
}

fn fresh_binders(fun: &mut Fun, bound: &Live) -> Subst {
    let mut subst = Subst::default();
    for v in &bound.vars {
        let info = fun.vars[v.index()].clone();
        let to = fun.add_var(info.name, info.kind);
        subst.vars.insert(*v, Ix::Var(to));
    }
    for l in &bound.locals {
        let info = fun.locals[l.index()].clone();
        let to = fun.add_local(info);
        subst.locals.insert(*l, Word::Local(to, vec![]));
    }
    for b in &bound.buffers {
        let info = fun.buffers[b.index()].clone();
        let to = fun.add_buffer(info);
        subst.buffers.insert(*b, to);
    }
    subst
}
