//! Instantiation: `to` with what the match found, under fresh ids.
//!
//! Names. A binder of `to` that is a parameter of the step gets the argument's name; one of the step's own keeps its
//! text where that is free, else `_2`, .. is added. The loops of a rank hole in `to` take the rank's names: the same name
//! as in `from` gives the arguments' names, another, `zi..` beside `i..`, gives each its own with the text before the
//! common ending in front: `zi`, `zj`.
//!
//! What a hole holds mentions the loops of `from`. Each is replaced by the loop that now stands under the same pattern
//! name, unless `[k := e]` says otherwise. Everything bound inside a hole gets fresh ids each time it is put.

pub(crate) mod names;
mod recipe;
mod words;

use crate::capture::{Arg, Args, Bound, Capture, Held};
use crate::find::Found;
use crate::{needs, refusal, tidy};
use cachet_core::ir::{
    At, Block, Device, Domain, Fun, Grid, Guard, Ix, Local, LocalInfo, Program, Stmt, StmtKind, Ty, Var, VarKind, Word,
};
use cachet_core::pattern::{Pat, PatDomain, PatGuard, PatIx, StepDef};
use cachet_core::print::Names;
use cachet_core::rewrite::{Live, Subst, Visit, refresh, visit_block, visit_word};
use cachet_core::script::{Rewrite, StepCall};
use cachet_source::Diagnostic;
use std::collections::BTreeMap;

/// Puts `to` in the place of what was found.
pub fn instantiate(
    program: &Program,
    fun: &Fun,
    step: &StepDef,
    args: &Args,
    found: Found,
    call: &StepCall,
) -> Result<Rewrite, Diagnostic> {
    let mut after = fun.clone();
    let replaced = found.site.stmts(fun).unwrap_or(&[]);
    let mut build = Build {
        program,
        step,
        args,
        call,
        capture: &found.capture,
        arith: arithmetic(replaced),
        fun: &mut after,
        vars: BTreeMap::new(),
        ranks: BTreeMap::new(),
        locals: BTreeMap::new(),
        declared: Subst::default(),
        forced: Vec::new(),
        made: Vec::new(),
        invented: Vec::new(),
    };
    let to = tidy::starts(&build.block(&step.to)?);
    let (made, invented) = (std::mem::take(&mut build.made), std::mem::take(&mut build.invented));
    let Some(site) = found.site.replace(&mut after, to) else {
        return Err(refusal::unbuildable(step, "its place is gone", call));
    };
    names::invent(&mut after, &invented);
    names::part(&mut after, args, &site).map_err(|name| refusal::taken(step, &name, call))?;
    let sight = recipe::Sight { fun, bound: &found.capture.loops, site: &found.site };
    let recipe = recipe::translate(step, args, &found.capture, &sight, (&after, &made, &site), call)?;
    needs::require(&mut after, &recipe, fun, &found.site);
    Ok(Rewrite { after, from: found.site, to: site, recipe })
}

/// The arithmetic of what is replaced: the first operation's, else the host's.
fn arithmetic(block: &[Stmt]) -> Device {
    struct First(Option<Device>);
    impl Visit for First {
        fn word(&mut self, word: &Word) {
            if let Word::Op { arith, .. } = word {
                self.0 = self.0.or(Some(*arith));
            }
            visit_word(self, word);
        }
    }
    let mut first = First(None);
    visit_block(&mut first, block);
    first.0.unwrap_or(Device::HOST)
}

pub(crate) struct Build<'a> {
    program: &'a Program,
    step: &'a StepDef,
    args: &'a Args,
    call: &'a StepCall,
    capture: &'a Capture,
    arith: Device,
    fun: &'a mut Fun,
    /// What the pattern's names stand for at this point of `to`.
    vars: BTreeMap<String, Var>,
    ranks: BTreeMap<String, Vec<Var>>,
    locals: BTreeMap<String, Local>,
    /// What holes before this point of a block declare: the names in `from` as those of the copies, for the holes after them.
    declared: Subst,
    /// Replacements that hold for the text inside a hole's brackets.
    forced: Vec<(Var, Ix)>,
    /// The loops that `to` made, by the pattern's name, in order.
    made: Vec<Bound>,
    /// Binders of the step's own, to be named when the whole program stands.
    invented: Vec<names::Invented>,
}

impl Build<'_> {
    fn unbound(&self, name: &str) -> Diagnostic {
        refusal::unbound(self.step, name, self.call)
    }

    fn unbuildable(&self, what: &str) -> Diagnostic {
        refusal::unbuildable(self.step, what, self.call)
    }

    /// A loop or sum of `to`, with the name that it gets.
    fn make_loop(&mut self, name: &str, kind: VarKind) -> Var {
        let known = match self.args.get(name) {
            Some(Arg::Loop(actual, _) | Arg::New(actual)) => Some(actual.clone()),
            // A loop that `from` binds under a name of the step's own keeps the program's name.
            _ => self.capture.bound(name).and_then(|b| b.vars.first()).map(|v| self.fun.vars[v.index()].name.clone()),
        };
        let var = match known {
            Some(known) => self.fun.add_var(known, kind),
            None => self.invent_var(name, name.to_string(), kind),
        };
        self.made.push(Bound { name: name.to_string(), vars: vec![var], regroup: false });
        var
    }

    fn invent_var(&mut self, pattern: &str, wanted: String, kind: VarKind) -> Var {
        let var = self.fun.add_var("", kind);
        self.invented.push(names::Invented { pattern: pattern.to_string(), wanted, id: names::Id::Var(var) });
        var
    }

    fn block(&mut self, pats: &[Pat]) -> Result<Block, Diagnostic> {
        let (vars, ranks, locals) = (self.vars.clone(), self.ranks.clone(), self.locals.clone());
        let declared = self.declared.clone();
        let mut out = Vec::new();
        for p in pats {
            self.stmt(p, &mut out)?;
        }
        (self.vars, self.ranks, self.locals, self.declared) = (vars, ranks, locals, declared);
        Ok(out)
    }

    fn stmt(&mut self, pat: &Pat, out: &mut Block) -> Result<(), Diagnostic> {
        match pat {
            Pat::Hole(name, substs) => {
                let Some(Held::Stmts(stmts)) = self.capture.held.get(name) else { return Err(self.unbound(name)) };
                let replaced = self.overrides(substs)?;
                let subst = self.current(name, &Live::of_block(stmts), &replaced)?;
                let copy = refresh(self.fun, &subst.block(stmts));
                self.declare_copies(stmts, &copy);
                out.extend(copy);
            }
            Pat::For { var, domain, body, span } => {
                let domain = self.domain(domain)?;
                let fresh = self.make_loop(var, kind_of(&domain));
                let outer = self.vars.insert(var.clone(), fresh);
                let body = self.block(body)?;
                restore(&mut self.vars, var, outer);
                out.push(Stmt { kind: StmtKind::For { var: fresh, domain, body }, span: *span });
            }
            Pat::ForAll { vars, domains, body, span } => out.push(self.nest(vars, domains, body, *span)?),
            Pat::Grid { var, domain, body, span } => {
                let domain = self.domain(domain)?;
                let fresh = self.make_loop(var, kind_of(&domain));
                let outer = self.vars.insert(var.clone(), fresh);
                let body = self.block(body)?;
                restore(&mut self.vars, var, outer);
                let writes = cachet_core::windows::infer(&self.fun.buffers, &[fresh], &body);
                let grid = Grid { device: self.arith, level: 0, axes: vec![(fresh, domain)], writes, body };
                out.push(Stmt { kind: StmtKind::Grid(Box::new(grid)), span: *span });
            }
            Pat::If { guard, then, els, span } => {
                let guard = self.guard(guard)?;
                let (then, els) = (self.block(then)?, self.block(els)?);
                out.push(Stmt { kind: StmtKind::If { guard, then, els }, span: *span });
            }
            Pat::Let { local, word, span } => {
                let word = self.word(word, None)?;
                let fresh = self.declare(local, &word, None, false)?;
                out.push(Stmt { kind: StmtKind::Let { local: fresh, word }, span: *span });
            }
            Pat::Var { local, ty, init, span } => {
                let ty = self.pattern_ty(ty.as_ref())?;
                let init = self.word(init, ty.as_ref())?;
                let fresh = self.declare(local, &init, ty, true)?;
                out.push(Stmt { kind: StmtKind::Var { local: fresh, init }, span: *span });
            }
            Pat::Assign { local, word, span } => {
                let to = self.local(local)?;
                let ty = self.fun.locals[to.index()].ty.clone();
                let word = self.word(word, Some(&ty))?;
                out.push(Stmt { kind: StmtKind::Assign { local: to, at: vec![], word }, span: *span });
            }
            Pat::Store { to, word, span } => {
                let to = self.cell(to)?;
                let ty = self.fun.buffers[to.buffer.index()].elem.clone();
                let word = self.word(word, Some(&ty))?;
                out.push(Stmt { kind: StmtKind::Store { to, word }, span: *span });
            }
        }
        Ok(())
    }

    /// What statements declare for those after them is declared by their copies.
    fn declare_copies(&mut self, stmts: &[Stmt], copies: &[Stmt]) {
        for (stmt, copy) in stmts.iter().zip(copies) {
            match (&stmt.kind, &copy.kind) {
                (
                    StmtKind::Let { local: old, .. } | StmtKind::Var { local: old, .. },
                    StmtKind::Let { local: new, .. } | StmtKind::Var { local: new, .. },
                ) => {
                    self.declared.locals.insert(*old, Word::Local(*new, vec![]));
                }
                (
                    StmtKind::Alloc(old) | StmtKind::Lease { lease: old, .. },
                    StmtKind::Alloc(new) | StmtKind::Lease { lease: new, .. },
                ) => {
                    self.declared.buffers.insert(*old, *new);
                }
                _ => {}
            }
        }
    }

    /// The loops of a rank hole, each over the range captured for it.
    fn nest(&mut self, vars: &str, domains: &str, body: &[Pat], span: At) -> Result<Stmt, Diagnostic> {
        let capture = self.capture;
        let Some(Held::Domains(ranges)) = capture.held.get(domains) else { return Err(self.unbound(domains)) };
        // The rank of `from` whose ranges these are: its variables may occur in inner ranges.
        let source = capture.loops.iter().find(|b| domains_of(&self.step.from, &b.name) == Some(domains));
        let Some(source) = source else { return Err(self.unbound(domains)) };
        let (mut fresh, mut loops, mut inner) = (Vec::new(), Vec::new(), Vec::new());
        for (range, old) in ranges.iter().zip(&source.vars) {
            let domain = self.current(domains, &live_of_domain(range), &inner)?.domain(range);
            let actual = self.fun.vars[old.index()].name.clone();
            let var = if capture.bound(vars).is_some() {
                self.fun.add_var(actual, kind_of(&domain))
            } else {
                self.invent_var(vars, rank_name(vars, &source.name, &actual), kind_of(&domain))
            };
            inner.push((*old, Ix::Var(var)));
            fresh.push(var);
            loops.push((var, domain));
        }
        self.made.push(Bound { name: vars.to_string(), vars: fresh.clone(), regroup: false });
        let outer = self.ranks.insert(vars.to_string(), fresh);
        let mut body = self.block(body)?;
        restore(&mut self.ranks, vars, outer);
        for (var, domain) in loops.into_iter().rev() {
            body = vec![Stmt { kind: StmtKind::For { var, domain, body }, span }];
        }
        body.into_iter().next().ok_or_else(|| self.unbound(vars))
    }

    /// A local of `to`: one that `from` declares under the same name keeps the program's name and type.
    fn declare(&mut self, name: &str, word: &Word, ty: Option<Ty>, mutable: bool) -> Result<Local, Diagnostic> {
        let known = self.capture.local(name).map(|l| self.fun.locals[l.index()].clone());
        let ty = ty.or_else(|| known.as_ref().map(|k| k.ty.clone())).or_else(|| self.type_of(word));
        let Some(ty) = ty else { return Err(self.unbuildable(&format!("the type of `{name}` is not known"))) };
        let info = |name: String| LocalInfo { name, ty, dims: vec![], vector: false, mutable };
        let local = match known {
            Some(known) => self.fun.add_local(info(known.name)),
            None => {
                let local = self.fun.add_local(info(String::new()));
                let wanted = name.trim_start_matches('$').to_string();
                self.invented.push(names::Invented { pattern: name.to_string(), wanted, id: names::Id::Local(local) });
                local
            }
        };
        self.locals.insert(name.to_string(), local);
        Ok(local)
    }

    /// A use of a local: one that `to` declares, else one that stands outside what is replaced.
    fn local(&self, name: &str) -> Result<Local, Diagnostic> {
        match (self.locals.get(name), self.capture.held.get(name)) {
            (Some(l), _) | (None, Some(Held::Name(l))) => Ok(*l),
            _ => Err(self.unbound(name)),
        }
    }

    fn domain(&mut self, d: &PatDomain) -> Result<Domain, Diagnostic> {
        match d {
            PatDomain::Hole(name) => match self.capture.held.get(name) {
                Some(Held::Domain(d)) => Ok(self.current(name, &live_of_domain(d), &[])?.domain(d)),
                _ => Err(self.unbound(name)),
            },
            PatDomain::Range(a, b) => Ok(Domain::Range { lo: self.ix(a)?, hi: self.ix(b)? }),
            PatDomain::Blocks(a, b, n) => {
                let size = self.literal(n)?;
                if size <= 0 {
                    return Err(self.unbuildable(&format!("a block size has to be above 0, not {size}")));
                }
                Ok(Domain::Blocks { lo: self.ix(a)?, hi: self.ix(b)?, size })
            }
        }
    }

    fn literal(&mut self, i: &PatIx) -> Result<i64, Diagnostic> {
        match self.ix(i)? {
            Ix::Lit(n) => Ok(n),
            _ => Err(self.unbuildable("a size has to be a number")),
        }
    }

    /// An index, its literals folded.
    pub(crate) fn ix(&mut self, i: &PatIx) -> Result<Ix, Diagnostic> {
        match i {
            PatIx::Hole(name) => match self.capture.held.get(name) {
                Some(Held::Ix(ix)) => Ok(tidy::ix(&self.current(name, &Live::of_ix(ix), &[])?.ix(ix))),
                _ => Err(self.unbound(name)),
            },
            PatIx::Name(name) => match (self.args.get(name), self.vars.get(name)) {
                (Some(Arg::Size(n)), _) => Ok(Ix::Lit(*n)),
                (_, Some(v)) if self.is_block(*v) => {
                    Err(self.unbuildable(&format!("`{name}` runs over blocks, and only its parts are indices")))
                }
                (_, Some(v)) => Ok(Ix::Var(*v)),
                _ => Err(self.unbound(name)),
            },
            PatIx::Lit(n) => Ok(Ix::Lit(*n)),
            PatIx::Add(a, b) => Ok(tidy::add(self.ix(a)?, self.ix(b)?)),
            PatIx::Sub(a, b) => Ok(tidy::sub(self.ix(a)?, self.ix(b)?)),
            PatIx::Mul(a, b) => match (self.ix(a)?, self.ix(b)?) {
                (Ix::Lit(n), x) | (x, Ix::Lit(n)) => Ok(tidy::mul(n, x)),
                _ => Err(self.unbuildable("a product needs a number on one side")),
            },
            PatIx::Div(a, b) | PatIx::Mod(a, b) => {
                let (x, n) = (self.ix(a)?, self.literal(b)?);
                if n <= 0 {
                    return Err(self.unbuildable(&format!("a divisor has to be above 0, not {n}")));
                }
                Ok(if matches!(i, PatIx::Div(..)) { tidy::div(x, n) } else { tidy::rem(x, n) })
            }
            PatIx::Min(a, b) => Ok(Ix::Min(Box::new(self.ix(a)?), Box::new(self.ix(b)?))),
            PatIx::Max(a, b) => Ok(Ix::Max(Box::new(self.ix(a)?), Box::new(self.ix(b)?))),
            PatIx::Part(name, part) => self.block_var(name).map(|v| Ix::Block(v, *part)),
            PatIx::InBlock(name, e) => {
                let v = self.block_var(name)?;
                Ok(Ix::InBlock(v, Box::new(self.ix(e)?)))
            }
            PatIx::Known(i) => Ok(i.clone()),
        }
    }

    fn block_var(&self, name: &str) -> Result<Var, Diagnostic> {
        let var = self.vars.get(name).copied().ok_or_else(|| self.unbound(name))?;
        if self.is_block(var) {
            return Ok(var);
        }
        Err(self.unbuildable(&format!("`{name}` runs over indices and has no parts")))
    }

    fn is_block(&self, var: Var) -> bool {
        self.fun.vars[var.index()].kind == VarKind::Block
    }

    fn guard(&mut self, g: &PatGuard) -> Result<Guard, Diagnostic> {
        Ok(match g {
            PatGuard::Cmp(r, a, b) => Guard::Cmp(*r, self.ix(a)?, self.ix(b)?),
            PatGuard::And(a, b) => Guard::And(Box::new(self.guard(a)?), Box::new(self.guard(b)?)),
            PatGuard::Or(a, b) => Guard::Or(Box::new(self.guard(a)?), Box::new(self.guard(b)?)),
            PatGuard::Not(a) => Guard::Not(Box::new(self.guard(a)?)),
            PatGuard::Known(g) => g.clone(),
        })
    }

    /// What the loops and locals of `from` have become at this point of `to`, with replacements of the pattern's own,
    /// for a hole that mentions `live`.
    pub(crate) fn current(&self, hole: &str, live: &Live, replaced: &[(Var, Ix)]) -> Result<Subst, Diagnostic> {
        let mut subst = Subst::default();
        let capture = self.capture;
        for bound in &capture.loops {
            let now = match self.ranks.get(&bound.name) {
                Some(all) => all.clone(),
                None => self.vars.get(&bound.name).copied().into_iter().collect(),
            };
            subst.vars.extend(bound.vars.iter().copied().zip(now.into_iter().map(Ix::Var)));
        }
        for (name, old) in &capture.locals {
            if let Some(new) = self.locals.get(name) {
                subst.locals.insert(*old, Word::Local(*new, vec![]));
            }
        }
        subst.locals.extend(self.declared.locals.clone());
        subst.buffers.extend(self.declared.buffers.clone());
        subst.vars.extend(self.forced.iter().cloned());
        subst.vars.extend(replaced.iter().cloned());
        for var in capture.loops.iter().flat_map(|b| &b.vars).filter(|v| live.vars.contains(v)) {
            self.replaceable(hole, *var, subst.vars.get(var))?;
        }
        Ok(subst)
    }

    /// What a hole holds, as the subject of a sentence about what it depends on.
    fn depends(&self, hole: &str) -> String {
        let held = match self.capture.held.get(hole) {
            Some(Held::Domain(_) | Held::Domains(_)) => "a loop's range",
            Some(Held::Ix(_)) => "an index",
            Some(Held::Cell(_)) => "a cell",
            Some(Held::Word(..)) => "a word",
            Some(Held::Stmts(_)) => "a statement",
            Some(Held::Name(_) | Held::Ty(_)) | None => "a part",
        };
        let names = Names::of(self.program, self.fun);
        let text = match self.capture.held.get(hole) {
            Some(Held::Domain(d)) => Some(names.domain(d)),
            Some(Held::Ix(i)) => Some(names.ix(i)),
            Some(Held::Cell(a)) => Some(names.access(a)),
            Some(Held::Domains(_) | Held::Word(..) | Held::Stmts(_) | Held::Name(_) | Held::Ty(_)) | None => None,
        };
        match text {
            Some(text) => format!("{held} (`{hole}`, here `{text}`) depends"),
            None => format!("{held} (`{hole}`) depends"),
        }
    }

    /// Whether a loop that a hole mentions has become something that can stand in its place.
    fn replaceable(&self, hole: &str, var: Var, by: Option<&Ix>) -> Result<(), Diagnostic> {
        let name = &self.fun.vars[var.index()].name;
        let stays_block = |by: &Ix| matches!(by, Ix::Var(v) if self.is_block(*v));
        match by {
            None => Err(self
                .unbuildable(&format!("{} on the loop over `{name}`, and would stand outside it", self.depends(hole)))),
            Some(by) if self.is_block(var) != stays_block(by) => {
                let kinds = if self.is_block(var) { "blocks, and no index" } else { "indices, and no block" };
                Err(self.unbuildable(&format!("`{name}` runs over {kinds} can take its place in `{hole}`")))
            }
            Some(_) => Ok(()),
        }
    }
}

/// The domains' hole of a rank hole of `from`.
fn domains_of<'p>(from: &'p [Pat], rank: &str) -> Option<&'p str> {
    from.iter().find_map(|p| match p {
        Pat::ForAll { vars, domains, body, .. } => {
            if vars == rank {
                Some(domains.as_str())
            } else {
                domains_of(body, rank)
            }
        }
        Pat::For { body, .. } | Pat::Grid { body, .. } => domains_of(body, rank),
        Pat::If { then, els, .. } => domains_of(then, rank).or_else(|| domains_of(els, rank)),
        Pat::Hole(..) | Pat::Let { .. } | Pat::Var { .. } | Pat::Assign { .. } | Pat::Store { .. } => None,
    })
}

fn live_of_domain(domain: &Domain) -> Live {
    let mut live = Live::default();
    live.domain(domain);
    live
}

fn restore<T>(map: &mut BTreeMap<String, T>, name: &str, outer: Option<T>) {
    match outer {
        Some(v) => map.insert(name.to_string(), v),
        None => map.remove(name),
    };
}

fn kind_of(domain: &Domain) -> VarKind {
    match domain {
        Domain::Range { .. } => VarKind::Index,
        Domain::Blocks { .. } => VarKind::Block,
    }
}

/// `zi` for the loop `j` of the rank `i`: the text before the rank's own name, and the loop's name.
fn rank_name(text: &str, rank: &str, name: &str) -> String {
    match text.strip_suffix(rank) {
        Some(before) if !before.is_empty() => format!("{before}{name}"),
        _ => format!("{text}{name}"),
    }
}
