//! Functions over arrays, written by hand: heads first, so that calls find each other in any order, then bodies.

use crate::elaborate::{Body, Done, World};
use crate::head::Clauses;
use crate::limits::{self, Extent};
use crate::scope::ItemRef;
use cachet_core::ir::{At, Buffer, Fun, FunId, Ix, Role, Stmt, StmtKind, Word};
use cachet_core::rewrite::number_grids;
use cachet_core::validate::validate_fun;
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{self, FnItem, FnResult, Item};
use std::collections::BTreeSet;

/// The head of a function over arrays: it gets its id, and a body later.
pub(crate) fn declare(world: &mut World<'_>, r: ItemRef) -> Done<()> {
    let Some(f) = over_arrays(world, r) else { return Ok(()) };
    let (body, head) = head(world, r, f)?;
    let fun = Fun {
        name: f.name.name.clone(),
        type_params: body.type_params,
        sizes: body.sizes,
        params: head.params,
        requires: head.clauses.requires,
        produces: head.clauses.produces,
        algebras: vec![],
        scratch: head.clauses.scratch,
        resources: head.clauses.resources,
        body: vec![],
        vars: body.vars,
        locals: body.locals,
        buffers: body.buffers,
        span: At(f.name.span),
    };
    let id = FunId(world.module.program.funs.len() as u32);
    if f.name.name == "main" && r.unit == world.loaded.root() {
        main_head(world, f, &fun)?;
        world.module.main = Some(id);
    }
    world.module.program.funs.push(fun);
    world.funs.insert(r, id);
    Ok(())
}

/// The body of a declared function.
pub(crate) fn define(world: &mut World<'_>, r: ItemRef) -> Done<()> {
    let Some(f) = over_arrays(world, r) else { return Ok(()) };
    let Some(id) = world.funs.get(&r).copied() else { return Ok(()) };
    // The head was accepted when it was declared, so this reports nothing.
    let (mut body, _) = head(world, r, f)?;
    let stmts = match unit_body(&f.body) {
        true => vec![],
        false => {
            let mut stmts = world.block(&mut body, &f.body)?;
            number_grids(&mut stmts);
            stmts
        }
    };
    refuse_large(world, &stmts)?;
    let fun = &mut world.module.program.funs[id.index()];
    fun.body = stmts;
    fun.vars = body.vars;
    fun.locals = body.locals;
    fun.buffers = body.buffers;
    Ok(())
}

/// Functions that call themselves, directly or through others, are refused, each circle once.
pub(crate) fn refuse_recursion(world: &mut World<'_>) {
    let funs: Vec<(ItemRef, FunId)> = world.funs.iter().map(|(r, f)| (*r, *f)).collect();
    let calls: Vec<Vec<FunId>> = world.module.program.funs.iter().map(callees).collect();
    let mut told: BTreeSet<FunId> = BTreeSet::new();
    for (r, f) in &funs {
        if told.contains(f) {
            continue;
        }
        let Some(circle) = circle_through(*f, &calls) else { continue };
        told.extend(circle.iter().copied());
        let name = |f: &FunId| format!("`{}`", world.module.program.funs[f.index()].name);
        let span = world.module.program.funs[f.index()].span.0;
        let message = match circle.as_slice() {
            [_] => format!("{} calls itself", name(f)),
            _ => {
                let mut names: Vec<String> = circle.iter().map(name).collect();
                names.push(name(f));
                format!("{} calls itself: {}", name(f), names.join(" calls "))
            }
        };
        world.report(
            Diagnostic::error(codes::RECURSION, span, message)
                .note("a program ends: calls go one way, and repetition is a loop"),
        );
        for (other, g) in &funs {
            if circle.contains(g) {
                world.refused.insert(*other);
            }
        }
        world.refused.insert(*r);
    }
}

/// Refuses what is beyond the limits of a program, or breaks one of its rules that nothing above has named.
pub(crate) fn refuse_faults(world: &mut World<'_>) {
    let funs: Vec<(ItemRef, FunId)> = world.funs.iter().map(|(r, f)| (*r, *f)).collect();
    for (r, id) in funs {
        if world.refused.contains(&r) {
            continue;
        }
        let fun = &world.module.program.funs[id.index()];
        let Err(faults) = validate_fun(&world.module.program, fun) else { continue };
        let mut told = BTreeSet::new();
        for f in faults.into_iter().filter(|f| told.insert(f.text.clone())) {
            let code = if f.rule == "depth" { codes::LIMIT } else { codes::TYPE_MISMATCH };
            world.report(Diagnostic::error(code, f.span.0, f.text));
        }
        world.refused.insert(r);
    }
}

/// A word whose pure functions would make it too large.
fn refuse_large(world: &mut World<'_>, stmts: &[Stmt]) -> Done<()> {
    struct Large<'a>(&'a [Extent], Option<(Span, String)>, Span);
    impl cachet_core::rewrite::Visit for Large<'_> {
        fn stmt(&mut self, s: &Stmt) {
            self.2 = s.span.0;
            cachet_core::rewrite::visit_stmt(self, s);
        }
        fn word(&mut self, w: &Word) {
            if let (None, Some(excess)) = (&self.1, limits::word(w, self.0).excess()) {
                self.1 = Some((self.2, excess));
            }
        }
    }
    let mut large = Large(&world.extents, None, Span::default());
    cachet_core::rewrite::visit_block(&mut large, stmts);
    match large.1 {
        None => Ok(()),
        Some((span, excess)) => {
            let message = format!("a value here {excess} once what it applies is written out");
            Err(world.report(Diagnostic::error(codes::LIMIT, span, message)))
        }
    }
}

/// The functions that a function calls.
pub(crate) fn callees(fun: &Fun) -> Vec<FunId> {
    struct Calls(Vec<FunId>);
    impl cachet_core::rewrite::Visit for Calls {
        fn stmt(&mut self, s: &Stmt) {
            if let StmtKind::Call(c) = &s.kind {
                self.0.push(c.fun);
            }
            cachet_core::rewrite::visit_stmt(self, s);
        }
    }
    let mut calls = Calls(vec![]);
    cachet_core::rewrite::visit_block(&mut calls, &fun.body);
    calls.0.sort_unstable();
    calls.0.dedup();
    calls.0
}

/// A shortest circle of calls through a function, from it on.
fn circle_through(start: FunId, calls: &[Vec<FunId>]) -> Option<Vec<FunId>> {
    let mut from: Vec<Option<FunId>> = vec![None; calls.len()];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(f) = queue.pop_front() {
        for g in &calls[f.index()] {
            if *g == start {
                let mut circle = vec![f];
                let mut at = f;
                while at != start {
                    let before = from[at.index()]?;
                    circle.push(before);
                    at = before;
                }
                circle.reverse();
                return Some(circle);
            }
            if from[g.index()].is_none() {
                from[g.index()] = Some(f);
                queue.push_back(*g);
            }
        }
    }
    None
}

struct Head {
    params: Vec<Buffer>,
    clauses: Clauses,
}

fn head(world: &mut World<'_>, r: ItemRef, f: &FnItem) -> Done<(Body, Head)> {
    let mut body = Body::new(r.unit);
    world.type_params(&mut body, &f.tparams)?;
    let outs: &[ast::Param] = match &f.result {
        Some(FnResult::Outs(outs)) => outs,
        Some(FnResult::Type(_)) | None => &[],
    };
    let all: Vec<&ast::Param> = f.params.iter().chain(outs).collect();
    world.bind_all_sizes(&mut body, &all)?;
    let (mut params, mut produced) = (Vec::new(), Vec::new());
    for p in &f.params {
        if p.mode.is_none() {
            word_param(world, p)?;
        }
        let (role, out) = world.mode(p)?;
        let b = world.param(&mut body, p, role)?;
        params.push(b);
        if out {
            produced.push(b);
        }
    }
    for p in outs {
        let b = world.param(&mut body, p, Role::Mut)?;
        params.push(b);
        produced.push(b);
    }
    unbound_sizes(world, &body, &params)?;
    let mut clauses = world.clauses(&body, &f.clauses)?;
    produced.extend(clauses.produces.iter().copied().filter(|b| !produced.contains(b)).collect::<Vec<_>>());
    clauses.produces = produced;
    if let Some(b) = clauses.produces.iter().find(|b| clauses.scratch.contains(b)) {
        let info = &body.buffers[b.index()];
        let message = format!("`{}` is an output and scratch at once", info.name);
        return Err(world.report(Diagnostic::error(codes::MODE, info.span.0, message)));
    }
    Ok((body, Head { params, clauses }))
}

/// A word as a parameter of a function over arrays has no place in the core; arrays of one element do.
fn word_param(world: &mut World<'_>, p: &ast::Param) -> Done<()> {
    match &p.ty.ty.kind {
        ast::TypeKind::Array { .. } => Ok(()),
        ast::TypeKind::Named { .. } | ast::TypeKind::Hole(_) => {
            let what = format!("a word as a parameter of a function over arrays (`{}`)", p.name.name);
            let d = Diagnostic::not_built(p.span, what);
            Err(world.report(d.help(format!("lend an array of one element: `(reads {}: [f32; 1])`", p.name.name))))
        }
    }
}

/// Every size is the whole extent of some axis, so that calls can find it, or a parameter that they can name.
fn unbound_sizes(world: &mut World<'_>, body: &Body, params: &[Buffer]) -> Done<()> {
    for s in body.sizes.iter().filter(|s| !body.named_sizes.contains(s)) {
        let bare = |b: &Buffer| body.buffers[b.index()].extents.contains(&Ix::Var(*s));
        if !params.iter().any(bare) {
            let name = &body.vars[s.index()].name;
            let message = format!("the size `{name}` is not the extent of any axis");
            let span = params.first().map(|b| body.buffers[b.index()].span.0).unwrap_or_default();
            return Err(world.report(Diagnostic::error(codes::SIZE, span, message)));
        }
    }
    Ok(())
}

fn main_head(world: &mut World<'_>, f: &FnItem, fun: &Fun) -> Done<()> {
    if fun.params.is_empty() && fun.type_params.is_empty() {
        return Ok(());
    }
    let d = Diagnostic::error(codes::ARITY, f.name.span, "`main` takes no parameters: nothing could give it any");
    Err(world.report(d.help("make its arrays by `alloc`")))
}

/// A function that is not pure.
fn over_arrays<'a>(world: &World<'a>, r: ItemRef) -> Option<&'a FnItem> {
    let loaded = world.loaded;
    match &loaded.units[r.unit].ast.items[r.item] {
        Item::Fn(f) if !matches!(f.result, Some(FnResult::Type(_))) => Some(f),
        _ => None,
    }
}

/// `fn nothing () = ()`.
fn unit_body(block: &ast::Block) -> bool {
    match block.stmts.as_slice() {
        [only] => matches!(&only.kind, ast::StmtKind::Expr(e) if matches!(e.kind, ast::ExprKind::Unit)),
        _ => false,
    }
}
