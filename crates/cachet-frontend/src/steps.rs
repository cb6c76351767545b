//! Step definitions: from the surface to patterns. A name is a loop, a buffer, a size or a new name by where it stands.

mod pattern;
mod recipe;

use crate::elaborate::{Done, World};
use crate::scope::{self, ItemRef};
use cachet_core::ir::At;
use cachet_core::pattern::{self as core, Param, ParamKind, Params, Pat, PatIx, PatWord, StepDef};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{self, Item, StepParam};
use std::collections::{BTreeMap, BTreeSet};

/// Turns a `step fn` into a pattern.
pub(crate) fn item(world: &mut World<'_>, r: ItemRef) -> Done<()> {
    let loaded = world.loaded;
    let Item::StepFn(s) = &loaded.units[r.unit].ast.items[r.item] else { return Ok(()) };
    let mut out = Vec::new();
    let mut reader = pattern::Reader::new(&mut out);
    let from = reader.block(&s.from);
    let to = reader.block(&s.to);
    world.out.extend(out);
    let (from, to) = (from?, to?);
    let recipe = recipe::lines(world, &s.relate)?;
    let mut places = Places::default();
    places.walk(&from, true);
    places.walk(&to, false);
    check_names(world, s, &places)?;
    let params = s.params.iter().map(|p| match p {
        StepParam::Name(n) => Params::One(places.param(&n.name, false)),
        StepParam::Tuple { items, .. } => {
            Params::Tuple(items.iter().map(|i| places.param(&i.name.name, i.rank)).collect())
        }
    });
    let params: Vec<Params> = params.collect();
    let recipe = recipe::with_ranks(recipe, &params);
    world.module.steps.push(StepDef { name: s.name.name.clone(), params, from, to, recipe, span: At(s.name.span) });
    Ok(())
}

/// Every name of a step means something: a parameter is used, a hole of `to` is found by `from`, and a recipe speaks of
/// loops that are there.
fn check_names(world: &mut World<'_>, s: &ast::StepFn, places: &Places) -> Done<()> {
    let params: Vec<&ast::Ident> = s.params.iter().flat_map(names).collect();
    for (i, p) in params.iter().enumerate() {
        if params[..i].iter().any(|other| other.name == p.name) {
            let message = format!("`{}` is a parameter already", p.name);
            return Err(world.report(Diagnostic::error(codes::DUPLICATE_NAME, p.span, message)));
        }
    }
    if let Some((hole, span)) = places.put.iter().find(|(hole, _)| !places.held.contains(*hole)) {
        let at = ast::Ident { name: hole.clone(), span: span.unwrap_or(s.name.span) };
        let d = scope::unknown(&at, "hole", places.held.iter().map(String::as_str));
        return Err(world.report(d.note("a hole of `to` stands for what `from` found in its place")));
    }
    recipe::check_names(world, &s.relate, &params, places)?;
    Ok(())
}

fn names(p: &StepParam) -> Vec<&ast::Ident> {
    match p {
        StepParam::Name(n) => vec![n],
        StepParam::Tuple { items, .. } => items.iter().map(|i| &i.name).collect(),
    }
}

/// Where names stand in a step.
#[derive(Default)]
struct Places {
    /// Holes of `from`.
    held: BTreeSet<String>,
    /// Holes of `to`, and the statement where each stands first.
    put: BTreeMap<String, Option<Span>>,
    /// The statement that is looked at.
    here: Option<Span>,
    /// Arrays that are named.
    buffers: BTreeSet<String>,
    /// Whether `from` is looked at.
    found: bool,
    /// Loops and sums that `from` binds.
    matched: BTreeSet<String>,
    /// Loops that `to` binds.
    made: BTreeSet<String>,
    /// Names that stand in an index.
    indices: BTreeSet<String>,
}

/// Where a statement of a pattern is written.
fn place(p: &Pat) -> Option<Span> {
    match p {
        Pat::Hole(..) => None,
        Pat::For { span, .. }
        | Pat::ForAll { span, .. }
        | Pat::Grid { span, .. }
        | Pat::If { span, .. }
        | Pat::Let { span, .. }
        | Pat::Var { span, .. }
        | Pat::Assign { span, .. }
        | Pat::Store { span, .. } => Some(span.0),
    }
}

impl Places {
    fn param(&self, name: &str, rank: bool) -> Param {
        let kind = if rank {
            ParamKind::Loops
        } else if self.matched.contains(name) {
            ParamKind::Loop
        } else if self.made.contains(name) {
            ParamKind::New
        } else if self.indices.contains(name) {
            ParamKind::Size
        } else {
            ParamKind::Buffer
        };
        Param { name: name.to_string(), kind }
    }

    fn bind(&mut self, name: &str, matched: bool) {
        if matched {
            self.matched.insert(name.to_string())
        } else {
            self.made.insert(name.to_string())
        };
    }

    fn hole(&mut self, name: &str) {
        if name.starts_with('$') {
            match self.found {
                true => self.held.insert(name.to_string()),
                false => {
                    let here = self.here;
                    self.put.entry(name.to_string()).or_insert(here).is_none()
                }
            };
        }
    }

    fn ty(&mut self, ty: Option<&core::PatTy>) {
        if let Some(core::PatTy::Hole(name)) = ty {
            self.hole(name);
        }
    }

    fn walk(&mut self, pats: &[Pat], matched: bool) {
        self.found = matched;
        for p in pats {
            self.here = place(p).or(self.here);
            match p {
                Pat::Hole(name, substs) => {
                    self.hole(name);
                    self.substs(substs);
                }
                Pat::For { var, domain, body, .. } | Pat::Grid { var, domain, body, .. } => {
                    self.bind(var, matched);
                    self.domain(domain);
                    self.walk(body, matched);
                }
                Pat::ForAll { vars, domains, body, .. } => {
                    self.bind(vars, matched);
                    self.hole(domains);
                    self.walk(body, matched);
                }
                Pat::If { guard, then, els, .. } => {
                    self.guard(guard);
                    self.walk(then, matched);
                    self.walk(els, matched);
                }
                Pat::Let { local, word, .. } | Pat::Assign { local, word, .. } => {
                    self.hole(local);
                    self.word(word, matched);
                }
                Pat::Var { local, ty, init, .. } => {
                    self.hole(local);
                    self.ty(ty.as_ref());
                    self.word(init, matched);
                }
                Pat::Store { to, word, .. } => {
                    self.cell(to);
                    self.word(word, matched);
                }
            }
        }
    }

    fn domain(&mut self, d: &core::PatDomain) {
        match d {
            core::PatDomain::Hole(name) => self.hole(name),
            core::PatDomain::Range(a, b) => [a, b].into_iter().for_each(|i| self.ix(i)),
            core::PatDomain::Blocks(a, b, n) => [a, b, n].into_iter().for_each(|i| self.ix(i)),
        }
    }

    fn ix(&mut self, i: &PatIx) {
        match i {
            PatIx::Name(n) => {
                self.indices.insert(n.clone());
            }
            PatIx::Hole(name) => self.hole(name),
            PatIx::Lit(_) | PatIx::Part(..) | PatIx::Known(_) => {}
            PatIx::Add(a, b)
            | PatIx::Sub(a, b)
            | PatIx::Mul(a, b)
            | PatIx::Div(a, b)
            | PatIx::Mod(a, b)
            | PatIx::Min(a, b)
            | PatIx::Max(a, b) => {
                self.ix(a);
                self.ix(b);
            }
            PatIx::InBlock(_, e) => self.ix(e),
        }
    }

    fn guard(&mut self, g: &core::PatGuard) {
        match g {
            core::PatGuard::Cmp(_, a, b) => {
                self.ix(a);
                self.ix(b);
            }
            core::PatGuard::And(a, b) | core::PatGuard::Or(a, b) => {
                self.guard(a);
                self.guard(b);
            }
            core::PatGuard::Not(a) => self.guard(a),
            core::PatGuard::Known(_) => {}
        }
    }

    fn substs(&mut self, all: &[core::PatSubst]) {
        for s in all {
            if let core::PatSubst::One(_, i) = s {
                self.ix(i);
            }
        }
    }

    fn cell(&mut self, c: &core::PatCell) {
        match c {
            core::PatCell::Hole(name, substs) => {
                self.hole(name);
                self.substs(substs);
            }
            core::PatCell::Named(name, at) => {
                self.buffers.insert(name.clone());
                at.iter().for_each(|i| self.ix(i));
            }
        }
    }

    fn word(&mut self, w: &PatWord, matched: bool) {
        match w {
            PatWord::Hole { name, inside, substs } => {
                self.hole(name);
                if let Some(w) = inside {
                    self.word(w, matched);
                }
                self.substs(substs);
            }
            PatWord::Local(name) => self.hole(name),
            PatWord::Float(_) => {}
            PatWord::Load(c) => self.cell(c),
            PatWord::Prim(_, args) => args.iter().for_each(|w| self.word(w, matched)),
            PatWord::If(g, a, b) => {
                self.guard(g);
                self.word(a, matched);
                self.word(b, matched);
            }
            PatWord::Fold { var, domain, acc, ty, init, body } => {
                self.bind(var, matched);
                self.hole(acc);
                self.ty(ty.as_ref());
                self.domain(domain);
                self.word(init, matched);
                self.word(body, matched);
            }
        }
    }
}
