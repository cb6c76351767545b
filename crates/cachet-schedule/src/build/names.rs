//! Names of what `to` binds. They are chosen when the whole program stands, so that a name is taken exactly if the
//! program uses it: what is replaced gives its names back, and what holes bring keeps its own.

use crate::capture::{Arg, Args};
use cachet_core::ir::{Buffer, Fun, Local, Stmt, StmtKind, Var, Word};
use cachet_core::names::taken;
use cachet_core::rewrite::{Arm, Site};
use std::collections::BTreeSet;

/// A binder without a name yet.
#[derive(Debug)]
pub struct Invented {
    /// The pattern's name: binders under one name of the pattern get one name.
    pub pattern: String,
    /// The name it gets where that is free.
    pub wanted: String,
    /// What to name.
    pub id: Id,
}

/// Something with a name.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Id {
    /// A loop or sum.
    Var(Var),
    /// A local.
    Local(Local),
    /// An allocation or lease.
    Buffer(Buffer),
}

/// Names the step's own binders.
pub fn invent(fun: &mut Fun, invented: &[Invented]) {
    for (n, one) in invented.iter().enumerate() {
        let known = invented[..n].iter().find(|o| o.pattern == one.pattern && o.wanted == one.wanted);
        let name = match known {
            Some(known) => name(fun, known.id).to_string(),
            None => fun.fresh_name(&one.wanted),
        };
        rename(fun, one.id, name);
    }
}

/// Renames what would be bound where its name is in use already. A name that the call gave is not ours to change: it
/// comes back as the error.
pub fn part(fun: &mut Fun, args: &Args, site: &Site) -> Result<(), String> {
    // Each round gives one binder a name that nothing else has, so there are at most as many rounds as binders.
    while let Some((id, name)) = clash(fun, site) {
        if args.values().any(|a| matches!(a, Arg::New(n) if *n == name)) {
            return Err(name);
        }
        let fresh = fun.fresh_name(&name);
        rename(fun, id, fresh);
    }
    Ok(())
}

/// The first name of a site that is bound where it means something already.
pub fn clashing(fun: &Fun, site: &Site) -> Option<String> {
    clash(fun, site).map(|(_, name)| name)
}

fn name(fun: &Fun, id: Id) -> &str {
    match id {
        Id::Var(v) => &fun.vars[v.index()].name,
        Id::Local(l) => &fun.locals[l.index()].name,
        Id::Buffer(b) => &fun.buffers[b.index()].name,
    }
}

fn rename(fun: &mut Fun, id: Id, name: String) {
    match id {
        Id::Var(v) => fun.vars[v.index()].name = name,
        Id::Local(l) => fun.locals[l.index()].name = name,
        Id::Buffer(b) => fun.buffers[b.index()].name = name,
    }
}

/// The first binder of the site whose name is reserved or means something else there.
fn clash(fun: &Fun, site: &Site) -> Option<(Id, String)> {
    let mut scope = Scope { fun, names: taken().collect(), clash: None };
    scope.names.extend(fun.sizes.iter().map(|v| fun.vars[v.index()].name.as_str()));
    scope.names.extend(fun.params.iter().map(|b| fun.buffers[b.index()].name.as_str()));
    // What stands before the site in its block and around it is in scope.
    let mut block = &fun.body;
    for turn in &site.path {
        block[..turn.at].iter().for_each(|s| scope.before(s));
        let stmt = block.get(turn.at)?;
        match (&stmt.kind, turn.arm) {
            (StmtKind::For { var, body, .. }, _) => {
                scope.names.insert(&fun.vars[var.index()].name);
                block = body;
            }
            (StmtKind::Grid(g), _) => {
                scope.names.extend(g.axes.iter().map(|(v, _)| fun.vars[v.index()].name.as_str()));
                block = &g.body;
            }
            (StmtKind::If { then, .. }, Arm::First) => block = then,
            (StmtKind::If { els, .. }, Arm::Else) => block = els,
            _ => return None,
        }
    }
    block[..site.start].iter().for_each(|s| scope.before(s));
    scope.block(&block[site.start..site.start + site.len]);
    scope.clash
}

#[derive(Clone)]
struct Scope<'f> {
    fun: &'f Fun,
    names: BTreeSet<&'f str>,
    clash: Option<(Id, String)>,
}

impl<'f> Scope<'f> {
    /// Takes a statement's names as known, whatever they are.
    fn before(&mut self, stmt: &Stmt) {
        let name = match &stmt.kind {
            StmtKind::Let { local, .. } | StmtKind::Var { local, .. } => &self.fun.locals[local.index()].name,
            StmtKind::Alloc(b) | StmtKind::Lease { lease: b, .. } => &self.fun.buffers[b.index()].name,
            StmtKind::For { .. }
            | StmtKind::Grid(_)
            | StmtKind::If { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => return,
        };
        self.names.insert(name);
    }

    fn bind(&mut self, id: Id) {
        let fun = self.fun;
        let name = name(fun, id);
        if !self.names.insert(name) && self.clash.is_none() {
            self.clash = Some((id, name.to_string()));
        }
    }

    /// Binds, goes on with what is inside, and forgets what was bound.
    fn within(&mut self, ids: &[Id], inside: impl FnOnce(&mut Scope<'f>)) {
        let mut inner = self.clone();
        ids.iter().for_each(|id| inner.bind(*id));
        inside(&mut inner);
        self.clash = inner.clash;
    }

    fn block(&mut self, block: &[Stmt]) {
        self.within(&[], |scope| block.iter().for_each(|s| scope.stmt(s)));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For { var, body, .. } => self.within(&[Id::Var(*var)], |s| s.block(body)),
            StmtKind::Grid(g) => {
                let axes: Vec<Id> = g.axes.iter().map(|(v, _)| Id::Var(*v)).collect();
                self.within(&axes, |s| s.block(&g.body));
            }
            StmtKind::If { then, els, .. } => {
                self.block(then);
                self.block(els);
            }
            StmtKind::Let { local, word } | StmtKind::Var { local, init: word } => {
                self.word(word);
                self.bind(Id::Local(*local));
            }
            StmtKind::Assign { word, .. } | StmtKind::Store { word, .. } | StmtKind::Print(word) => self.word(word),
            StmtKind::Alloc(b) | StmtKind::Lease { lease: b, .. } => self.bind(Id::Buffer(*b)),
            StmtKind::Call(_) => {}
        }
    }

    fn word(&mut self, word: &Word) {
        match word {
            Word::Lit(_) | Word::Index(..) | Word::Load(_) | Word::Local(..) | Word::Differing(..) => {}
            Word::Op { args, .. } | Word::Apply(_, args) | Word::Tuple(args) => args.iter().for_each(|w| self.word(w)),
            Word::Part(w, _) => self.word(w),
            Word::Let(l, a, b) => {
                self.word(a);
                self.within(&[Id::Local(*l)], |s| s.word(b));
            }
            Word::If(_, a, b) => {
                self.word(a);
                self.word(b);
            }
            Word::Fold(f) => {
                self.word(&f.init);
                self.within(&[Id::Var(f.var), Id::Local(f.acc)], |s| s.word(&f.body));
            }
            Word::Reduce(r) => {
                self.word(&r.empty);
                self.within(&[Id::Var(r.var)], |s| s.word(&r.element));
                self.within(&[Id::Local(r.operands.0), Id::Local(r.operands.1)], |s| s.word(&r.combine));
            }
        }
    }
}
