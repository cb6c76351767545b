//! Contractions: equations with free and summed indices, their ranges found from where an index stands alone.

use crate::contraction_to_loops;
use crate::elaborate::{Body, Done, Meaning, Reported, World};
use crate::limits;
use crate::scope::ItemRef;
use cachet_core::equations::{Contraction, Equation, Expr, Target};
use cachet_core::ir::{At, Buffer, Domain, FunId, Ix, Role, Var, VarKind};
use cachet_core::print::Names;
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{self, ClauseKind, FnResult, Index, Item};
use std::collections::BTreeMap;

/// Elaborates a contraction and its plain nest.
pub(crate) fn item(world: &mut World<'_>, r: ItemRef) -> Done<()> {
    let loaded = world.loaded;
    let Item::Contraction(c) = &loaded.units[r.unit].ast.items[r.item] else { return Ok(()) };
    let contraction = elaborate(world, r, c)?;
    for (equation, extent) in contraction.equations.iter().zip(limits::equations(&contraction, &world.extents)) {
        if let Some(excess) = extent.excess() {
            let message = format!("this equation's value {excess} once the intermediates it uses are written out");
            return Err(world.report(Diagnostic::error(codes::LIMIT, equation.span.0, message)));
        }
    }
    let nest = contraction_to_loops::nest(&world.module.program, &contraction);
    let id = FunId(world.module.program.funs.len() as u32);
    world.module.program.funs.push(nest);
    world.module.contractions.push((contraction, id));
    world.funs.insert(r, id);
    Ok(())
}

fn elaborate(world: &mut World<'_>, r: ItemRef, c: &ast::Contraction) -> Done<Contraction> {
    let mut body = Body::new(r.unit);
    body.values = Some(Vec::new());
    world.type_params(&mut body, &c.tparams)?;
    let FnResult::Outs(outs) = &c.result else {
        return Err(world.report(Diagnostic::error(
            codes::OUTPUT,
            c.span,
            "a contraction fills arrays: `-> out c: [f32; M, N]`",
        )));
    };
    let all: Vec<&ast::Param> = c.params.iter().chain(outs).collect();
    world.bind_all_sizes(&mut body, &all)?;
    let (mut params, mut outputs) = (Vec::new(), Vec::new());
    for p in &c.params {
        let (role, out) = world.mode(p)?;
        if role != Role::Reads && !out {
            let d = Diagnostic::error(
                codes::MODE,
                p.span,
                format!("a contraction reads its inputs: `reads {}`", p.name.name),
            )
            .help("to add to what an array holds, read it as an input of its own, or write a function");
            return Err(world.report(d));
        }
        let b = world.param(&mut body, p, role)?;
        params.push(b);
        if out {
            outputs.push(b);
        }
    }
    for p in outs {
        let b = world.param(&mut body, p, Role::Mut)?;
        params.push(b);
        outputs.push(b);
    }
    for b in &outputs {
        let name = &body.buffers[b.index()].name;
        body.unreadable.insert(*b, format!("`{name}` is the output and cannot be read in its own equations"));
    }
    if let Some(other) = c.clauses.iter().find(|c| !matches!(c.kind, ClauseKind::Requires(_))) {
        let d = Diagnostic::error(codes::SYNTAX, other.span, "a contraction has no clause but `requires`");
        return Err(
            world.report(d.note("its outputs are its outputs; what else a function says of itself, a schedule adds"))
        );
    }
    let clauses = world.clauses(&body, &c.clauses)?;
    let mut equations = Vec::new();
    for e in &c.equations {
        let made = equation(world, &mut body, e, &outputs, &equations)?;
        equations.push(made);
    }
    for b in &outputs {
        let info = &body.buffers[b.index()];
        if !equations.iter().any(|e| e.target == Target::Output(*b)) {
            let d = Diagnostic::error(codes::OUTPUT, info.span.0, format!("`{}` has no equation", info.name));
            return Err(world.report(d));
        }
    }
    warn_unused(world, &equations);
    Ok(Contraction {
        name: c.name.name.clone(),
        type_params: body.type_params,
        sizes: body.sizes,
        params,
        outputs,
        requires: clauses.requires,
        equations,
        vars: body.vars,
        locals: body.locals,
        buffers: body.buffers,
        span: At(c.name.span),
    })
}

/// An intermediate that no equation uses has no effect.
fn warn_unused(world: &mut World<'_>, equations: &[Equation]) {
    let mut used = vec![false; equations.len()];
    for e in equations {
        mark_used(&e.value, &mut used);
    }
    for (e, _) in equations.iter().zip(used).filter(|(_, used)| !used) {
        if let Target::Intermediate(name) = &e.target {
            let message = format!("nothing uses `{name}`, so it is never computed");
            let d = Diagnostic::new(cachet_source::Kind::Warning, codes::UNUSED, message);
            world.report(d.at(e.span.0, ""));
        }
    }
}

fn mark_used(e: &Expr, used: &mut [bool]) {
    match e {
        Expr::Lit(_) | Expr::Index(..) | Expr::Read(_) | Expr::Local(_) => {}
        Expr::Value(n, _) => {
            if let Some(slot) = used.get_mut(*n as usize) {
                *slot = true;
            }
        }
        Expr::Op(_, _, args) | Expr::Apply(_, args) | Expr::Tuple(args) => args.iter().for_each(|a| mark_used(a, used)),
        Expr::Part(w, _) => mark_used(w, used),
        Expr::Let(_, a, b) | Expr::If(_, a, b) => {
            mark_used(a, used);
            mark_used(b, used);
        }
        Expr::Sum(s) => {
            mark_used(&s.zero, used);
            mark_used(&s.body, used);
        }
    }
}

fn equation(
    world: &mut World<'_>,
    body: &mut Body,
    e: &ast::Equation,
    outputs: &[Buffer],
    before: &[Equation],
) -> Done<Equation> {
    let target = match body.find(&e.name.name) {
        Some(Meaning::Buffer(b)) if outputs.contains(b) => Target::Output(*b),
        Some(Meaning::Buffer(_)) => {
            let d = Diagnostic::error(
                codes::OUTPUT,
                e.name.span,
                format!("`{}` is an input and is not defined here", e.name.name),
            );
            return Err(world.report(d));
        }
        None => Target::Intermediate(e.name.name.clone()),
        Some(_) => {
            let d =
                Diagnostic::error(codes::DUPLICATE_NAME, e.name.span, format!("`{}` is defined already", e.name.name));
            return Err(world.report(d));
        }
    };
    if let Some(other) = before.iter().find(|o| o.target == target) {
        let d = Diagnostic::error(codes::OUTPUT, e.name.span, format!("`{}` has two equations", e.name.name));
        return Err(world.report(d.also(other.span.0, "the first")));
    }
    let depth = body.names.len();
    body.lone.clear();
    body.given.clear();
    let indices = free_indices(world, body, e)?;
    if let Target::Output(b) = &target {
        let extents = body.buffers[b.index()].extents.clone();
        if extents.len() != indices.len() {
            let message = format!(
                "`{}` takes {} indices, and {}",
                e.name.name,
                extents.len(),
                crate::scope::given(indices.len())
            );
            return Err(world.report(Diagnostic::error(codes::ARITY, e.name.span, message)));
        }
        for ((v, extent), i) in indices.iter().zip(extents).zip(&e.indices) {
            body.lone.push((*v, extent, i.span()));
        }
    }
    let want = match &target {
        Target::Output(b) => Some(body.buffers[b.index()].elem.clone()),
        Target::Intermediate(_) => None,
    };
    let (tree, ty) = match &want {
        Some(ty) => (world.word_of(body, &e.value, ty)?, ty.clone()),
        None => world.word(body, &e.value, None)?,
    };
    let ranges = ranges(world, body)?;
    let mut free = Vec::new();
    for (v, i) in indices.iter().zip(&e.indices) {
        match ranges.get(v) {
            Some(d) => free.push(d.clone()),
            None => return Err(no_range(world, body, *v, i.span(), true)),
        }
    }
    let Some(value) = tree.into_expr(&ranges) else {
        // Only a sum's index without a range is left out.
        let own = indices.first().map_or(0, |v| v.index());
        let missing = body
            .vars
            .iter()
            .enumerate()
            .skip(own)
            .find(|(i, info)| info.kind == VarKind::Index && !ranges.contains_key(&Var(*i as u32)));
        let v = missing.map_or(Var(0), |(i, _)| Var(i as u32));
        return Err(no_range(world, body, v, e.value.span, false));
    };
    body.names.truncate(depth);
    let extents = free.iter().map(|d| match d {
        Domain::Range { hi, .. } | Domain::Blocks { hi, .. } => hi.clone(),
    });
    let extents: Vec<Ix> = extents.collect();
    if let Target::Intermediate(name) = &target {
        body.names.push((name.clone(), Meaning::Value(before.len() as u32)));
    }
    if let Some(values) = &mut body.values {
        values.push((extents, ty.clone()));
    }
    Ok(Equation { target, indices, ranges: free, value, ty, span: At(e.span) })
}

/// The indices on the left: plain names, each once.
fn free_indices(world: &mut World<'_>, body: &mut Body, e: &ast::Equation) -> Done<Vec<Var>> {
    let mut out: Vec<(String, Var)> = Vec::new();
    for i in &e.indices {
        let name = match i {
            Index::At(x) => x.as_ident(),
            Index::Window { .. } | Index::Subst { .. } | Index::RankSubst { .. } => None,
        };
        let Some(name) = name else {
            let d =
                Diagnostic::error(codes::OUTPUT, i.span(), "an index on the left is a plain name: each names one axis");
            return Err(world.report(d));
        };
        if out.iter().any(|(n, _)| *n == name.name) {
            let d = Diagnostic::error(
                codes::OUTPUT,
                name.span,
                format!("`{}` names two axes, so most elements would have no equation", name.name),
            );
            return Err(world.report(d));
        }
        if body.find(&name.name).is_some() {
            let d = Diagnostic::error(
                codes::DUPLICATE_NAME,
                name.span,
                format!("`{}` is defined already, and is an index here", name.name),
            )
            .help("rename one: an index, a size and an array have names of their own");
            return Err(world.report(d));
        }
        let v = body.add_var(&name.name, VarKind::Index);
        body.bind(name, Meaning::Var(v));
        out.push((name.name.clone(), v));
    }
    Ok(out.into_iter().map(|(_, v)| v).collect())
}

/// The range of every index: what a sum gives it, or the extents of the axes that it indexes alone, which agree.
fn ranges(world: &mut World<'_>, body: &Body) -> Done<BTreeMap<Var, Domain>> {
    let mut out: BTreeMap<Var, (Domain, Span)> = BTreeMap::new();
    for (v, d) in &body.given {
        out.insert(*v, (d.clone(), Span::default()));
    }
    for (v, extent, span) in &body.lone {
        if body.vars[v.index()].kind != VarKind::Index {
            continue;
        }
        let domain = Domain::Range { lo: Ix::Lit(0), hi: extent.clone() };
        match out.get(v) {
            None => {
                out.insert(*v, (domain, *span));
            }
            // A range that is written wins; that the accesses stay inside is proved of the nest.
            Some(_) if body.given.contains_key(v) => {}
            Some((known, _)) if *known == domain => {}
            Some((known, first)) => {
                let tables = (body.buffers.as_slice(), body.type_params.as_slice());
                let names = Names::of_tables(&world.module.program, &body.vars, &body.locals, tables);
                let (Domain::Range { hi: x, .. } | Domain::Blocks { hi: x, .. }) = known;
                let name = &body.vars[v.index()].name;
                let message = format!(
                    "`{name}` runs over {} here and over {} there, which may be different",
                    names.ix(extent),
                    names.ix(x)
                );
                let d = Diagnostic::error(codes::SIZE, *span, message).also(*first, "there").help(
                    "give both axes the same size; part of a longer axis is named by arithmetic, as in `x[i + 0]`",
                );
                return Err(world.report(d));
            }
        }
    }
    Ok(out.into_iter().map(|(v, (d, _))| (v, d)).collect())
}

fn no_range(world: &mut World<'_>, body: &Body, v: Var, span: Span, free: bool) -> Reported {
    let name = body.vars.get(v.index()).map_or("?", |i| &i.name);
    let d = Diagnostic::error(codes::INDEX_RANGE, span, format!("the range of `{name}` is not known"))
        .note("an index takes its range from an axis that it indexes alone, as in `a[k]`");
    world.report(match free {
        true => d.help(format!("read something along it: an axis indexed by `{name}` alone")),
        false => d.help(format!("write it: `sum {name} in 0 .. 3. ..`")),
    })
}
