//! Schedules: the function they make, and their steps with schedule functions expanded.

use crate::elaborate::{Body, Done, Meaning, Reported, World};
use crate::functions::callees;
use crate::scope::{self, ItemRef};
use crate::tree::Tree;
use cachet_core::instance::{add_scratch, derive};
use cachet_core::instr::OUTER_FMA;
use cachet_core::ir::{Binding, BufferInfo, Fun, FunId, Ix, Lit, Op, Prim, Role, TypeParam};
use cachet_core::script::{
    DotCall, OuterCall, PackCall, RegistersCall, Script, SplitIndex, SplitLevel, SplitPart, StepArg, StepCall, StepForm,
};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{self, Item, StepKind, StepParam, TargItem};
use std::collections::BTreeMap;

/// How deep calls of schedule functions may nest.
const MAX_CALLS: usize = 64;
/// How many schedules may continue one another against the order of the text.
const MAX_CHAIN: usize = 256;
/// How many steps and calls of schedule functions a schedule may have once everything is expanded.
const MAX_STEPS: usize = 10_000;

/// Steps of the library to come, which are written like any other.
const LATER: &[&str] = &["tiles", "first_block", "last_block", "unroll", "chunks", "partials"];

/// The steps that need no import, of those that are built.
const BUILT_IN: &[&str] = &["split", "order", "grid over"];

/// A step that is called like those of the library, and is none.
const OUTER: &str = "outer_products";
/// The step that makes calls of an instruction out of several terms of a sum.
const DOT: &str = "dot_products";

/// Reserves the function that a schedule makes, and, before it, that of the schedule it continues.
pub(crate) fn reserve(world: &mut World<'_>, r: ItemRef) -> Done<()> {
    let mut chain = Vec::new();
    reserve_after(world, r, &mut chain)
}

fn reserve_after(world: &mut World<'_>, r: ItemRef, chain: &mut Vec<ItemRef>) -> Done<()> {
    let loaded = world.loaded;
    let Item::Schedule(s) = &loaded.units[r.unit].ast.items[r.item] else { return Ok(()) };
    if world.funs.contains_key(&r) {
        return Ok(());
    }
    if chain.contains(&r) {
        let d = Diagnostic::error(codes::RECURSION, s.name.span, format!("`{}` continues itself", s.name.name));
        return Err(world.report(d));
    }
    if world.refused.contains(&r) {
        return Err(Reported);
    }
    if chain.len() >= MAX_CHAIN {
        let message = format!("schedules continue one another more than {MAX_CHAIN} times");
        return Err(world.report(Diagnostic::error(codes::LIMIT, s.name.span, message)));
    }
    if let Some(d) = &s.device {
        return Err(world.report(Diagnostic::not_built(d.span, format!("schedules `on {}`", d.name))));
    }
    if let Some(c) = s.clauses.first() {
        return Err(world.report(Diagnostic::not_built(c.span, "clauses of schedules")));
    }
    let Some(of) = world.scope.find(r.unit, &s.of.name) else {
        let known: Vec<String> = world.scope.names(r.unit).map(String::from).collect();
        let d = scope::unknown(&s.of, "contraction, function or schedule", known.iter().map(String::as_str));
        return Err(world.report(d));
    };
    chain.push(r);
    if reserve_after(world, of, chain).is_err() {
        world.refused.insert(of);
        return Err(Reported);
    }
    chain.pop();
    let Some(id) = world.funs.get(&of).copied() else {
        if world.refused.contains(&of) {
            return Err(Reported);
        }
        let d = Diagnostic::error(
            codes::BINDING,
            s.of.span,
            format!("`{}` is {}, and cannot be scheduled", s.of.name, world.item(of)),
        );
        return Err(
            world.report(d.note("a schedule starts from a contraction, a function over arrays or another schedule"))
        );
    };
    let types = bindings(world, r.unit, id, &s.targs, s.of.span)?;
    let mut fun = derive(&world.module.program, id, &s.name.name, &types);
    fun.span = cachet_core::ir::At(s.name.span);
    let scratch = own_parameters(world, r.unit, s, &fun)?;
    add_scratch(&mut fun, &scratch);
    let made = FunId(world.module.program.funs.len() as u32);
    world.module.program.funs.push(fun);
    world.funs.insert(r, made);
    world.module.scripts.push(Script {
        name: s.name.name.clone(),
        fun: made,
        of: id,
        types,
        scratch,
        steps: vec![],
        span: s.name.span,
    });
    Ok(())
}

/// Gives every schedule's function the body of what it starts from: functions get theirs after their heads.
pub(crate) fn refresh(world: &mut World<'_>) {
    for s in &world.module.scripts {
        let span = world.module.program.funs[s.fun.index()].span;
        let mut fun = derive(&world.module.program, s.of, &s.name, &s.types);
        fun.span = span;
        add_scratch(&mut fun, &s.scratch);
        world.module.program.funs[s.fun.index()] = fun;
    }
}

/// A schedule's own parameters, whose extents may use the sizes of what is scheduled.
fn own_parameters(world: &mut World<'_>, unit: usize, s: &ast::Schedule, fun: &Fun) -> Done<Vec<BufferInfo>> {
    let mut body = Body::new(unit);
    body.vars.clone_from(&fun.vars);
    body.sizes.clone_from(&fun.sizes);
    body.type_params.clone_from(&fun.type_params);
    body.buffers.clone_from(&fun.buffers);
    let sizes = fun.sizes.iter().map(|v| (fun.vars[v.index()].name.clone(), Meaning::Var(*v)));
    let types = fun.type_params.iter().enumerate();
    let types = types.map(|(n, p)| (p.name.clone(), Meaning::TypeParam(TypeParam(n as u32))));
    let params = fun.params.iter().map(|b| (fun.buffers[b.index()].name.clone(), Meaning::Buffer(*b)));
    body.names = sizes.chain(types).chain(params).collect();
    for p in &s.params {
        if p.mode != Some(ast::Mode::Mut) {
            let message = format!("`{}` is scratch, as all parameters of a schedule are: write `mut`", p.name.name);
            return Err(world.report(Diagnostic::error(codes::MODE, p.span, message)));
        }
        world.buffer_of(&mut body, &p.name, &p.ty, Role::Mut, false)?;
    }
    Ok(body.buffers.split_off(fun.buffers.len()))
}

/// `@(S = PlusTimes f32)` for a schedule: all type parameters or none.
fn bindings(world: &mut World<'_>, unit: usize, of: FunId, targs: &[ast::Targ], span: Span) -> Done<Vec<Binding>> {
    let params = world.module.program.funs[of.index()].type_params.clone();
    let mut given: BTreeMap<String, Binding> = BTreeMap::new();
    for item in targs.iter().flat_map(|t| &t.items) {
        let TargItem::Bind { name, value, span } = item else {
            let d = Diagnostic::error(
                codes::BINDING,
                targs[0].span,
                "a type parameter is bound by its name: `@(S = PlusTimes f32)`",
            );
            return Err(world.report(d));
        };
        let Some(p) = params.iter().find(|p| p.name == name.name) else {
            let d = scope::unknown(name, "type parameter", params.iter().map(|p| p.name.as_str()));
            let of = &world.module.program.funs[of.index()].name;
            let d = if params.is_empty() { d.note(format!("`{of}` has none: its types are given")) } else { d };
            return Err(world.report(d));
        };
        let ast::TypeArg::Type(ty) = value else {
            return Err(world.report(Diagnostic::error(
                codes::BINDING,
                *span,
                "the name of an implementation is wanted here",
            )));
        };
        let written = world.impl_name(ty)?;
        let Some(id) = world.implementation(unit, &written) else {
            return Err(world.unknown_implementation(unit, Some(p.interface), &written, ty.span));
        };
        let imp = &world.module.program.impls[id.index()];
        if imp.interface != p.interface {
            let wanted = &world.module.program.interfaces[p.interface as usize].name;
            let d = Diagnostic::error(codes::BINDING, ty.span, format!("`{written}` does not implement {wanted}"));
            return Err(world.report(d));
        }
        given.insert(name.name.clone(), Binding::Impl(id));
    }
    if given.is_empty() {
        return Ok(vec![]);
    }
    let all: Option<Vec<Binding>> = params.iter().map(|p| given.get(&p.name).copied()).collect();
    all.ok_or_else(|| world.report(Diagnostic::error(codes::BINDING, span, "bind every type parameter, or none")))
}

/// Gives every script its steps. A script whose steps cannot be read is left out: its function is refused.
pub(crate) fn expand_all(world: &mut World<'_>, items: &[ItemRef]) {
    for r in items {
        let loaded = world.loaded;
        match &loaded.units[r.unit].ast.items[r.item] {
            Item::Schedule(s) if world.funs.contains_key(r) => {
                let mut expansion = Expansion {
                    unit: r.unit,
                    steps: Vec::new(),
                    callers: Vec::new(),
                    names: BTreeMap::new(),
                    count: 0,
                    scratch: Vec::new(),
                };
                let fun = world.funs.get(r).copied();
                if let Some(fun) = fun.map(|f| &world.module.program.funs[f.index()]) {
                    expansion.scratch = fun.scratch.iter().map(|b| fun.buffers[b.index()].clone()).collect();
                }
                let position = world.module.scripts.iter().position(|x| Some(x.fun) == fun);
                let calls = position.is_some_and(|i| {
                    let of = world.module.scripts[i].of;
                    !callees(&world.module.program.funs[of.index()]).is_empty()
                });
                let done = if calls {
                    let what = format!("scheduling a function that calls others (`{}`)", s.of.name);
                    Err(world.report(Diagnostic::not_built(s.of.span, what)))
                } else {
                    expansion.steps(world, r.unit, &s.steps)
                };
                match (done, position) {
                    (Ok(()), Some(i)) => world.module.scripts[i].steps = expansion.steps,
                    (Err(Reported), Some(_)) => {
                        world.refused.insert(*r);
                    }
                    (_, None) => {}
                }
            }
            Item::ScheduleFn(s) => check_schedule_fn(world, s),
            _ => {}
        }
    }
}

/// A schedule function that nothing calls still may not have two parameters of one name.
fn check_schedule_fn(world: &mut World<'_>, s: &ast::ScheduleFn) {
    let mut seen: Vec<&str> = Vec::new();
    for p in s.params.iter().flat_map(names) {
        if seen.contains(&p.name.as_str()) {
            world.out.push(Diagnostic::error(
                codes::DUPLICATE_NAME,
                p.span,
                format!("`{}` is a parameter already", p.name),
            ));
        }
        seen.push(&p.name);
    }
}

fn names(p: &StepParam) -> Vec<&ast::Ident> {
    match p {
        StepParam::Name(n) => vec![n],
        StepParam::Tuple { items, .. } => items.iter().map(|i| &i.name).collect(),
    }
}

struct Expansion {
    unit: usize,
    steps: Vec<StepCall>,
    /// Calls that are being expanded: the schedule function and where it is called.
    callers: Vec<(ItemRef, Span)>,
    /// What parameters of the schedule function at hand stand for.
    names: BTreeMap<String, StepArg>,
    /// Steps and calls so far.
    count: usize,
    /// The schedule's own parameters, and those of the schedules that it continues.
    scratch: Vec<BufferInfo>,
}

impl Expansion {
    fn steps(&mut self, world: &mut World<'_>, unit: usize, steps: &[ast::Step]) -> Done<()> {
        let outer = std::mem::replace(&mut self.unit, unit);
        let mut result = Ok(());
        for s in steps {
            if self.step(world, s).is_err() {
                result = Err(Reported);
                // The same function may be called again and again: its problem is told once.
                if !self.callers.is_empty() || self.count > MAX_STEPS {
                    break;
                }
            }
        }
        self.unit = outer;
        result
    }

    fn step(&mut self, world: &mut World<'_>, s: &ast::Step) -> Done<()> {
        self.count += 1;
        if self.count > MAX_STEPS {
            let message = format!("the schedule has more than {MAX_STEPS} steps");
            return Err(world.report(Diagnostic::error(codes::LIMIT, s.span, message)));
        }
        let form = match &s.kind {
            StepKind::Call { name, args } => return self.named(world, s, name, args),
            StepKind::Split(indices) => {
                StepForm::Split(indices.iter().map(|i| self.split_index(world, i)).collect::<Done<Vec<_>>>()?)
            }
            StepKind::Order(loops) => StepForm::Order(self.loops(world, loops)?),
            StepKind::GridOver(loops) => StepForm::GridOver(self.loops(world, loops)?),
            StepKind::Reduce { index, parts } => self.reduce(world, index, parts, s.span)?,
            StepKind::Pack { array, into, along, over, pad } => {
                let over = over.iter().map(|n| self.new_name(n)).collect();
                let pad = match pad.as_deref() {
                    Some((n, with)) => Some((self.size(world, n)?, self.filling(world, with, into)?)),
                    None => None,
                };
                let along = self.loop_arg(world, along)?;
                let (array, into) = (self.new_name(array), self.new_name(into));
                StepForm::Pack(PackCall { array, into, along, over, pad, lanes: None })
            }
            StepKind::PackLanes { array, into, along, over, lanes } => {
                let over = over.iter().map(|n| self.new_name(n)).collect();
                let lanes = Some(self.size(world, lanes)?);
                let along = self.loop_arg(world, along)?;
                let (array, into) = (self.new_name(array), self.new_name(into));
                StepForm::Pack(PackCall { array, into, along, over, pad: None, lanes })
            }
            StepKind::Registers { row, lane, into, lanes, through } => StepForm::Registers(RegistersCall {
                row: match row {
                    Some((row, rows)) => Some((self.loop_arg(world, row)?, (self.size(world, rows)?, rows.span))),
                    None => None,
                },
                lane: self.loop_arg(world, lane)?,
                into: self.new_name(into),
                lanes: (self.size(world, lanes)?, lanes.span),
                through: (through.text(), through.span),
            }),
            StepKind::Keep { buffer, along, level, into } => StepForm::Keep {
                buffer: self.new_name(buffer),
                along: self.loop_arg(world, along)?,
                level: world.level(level)?,
                into: self.new_name(into),
            },
            StepKind::Compute { .. } | StepKind::Parts(_) | StepKind::Element(_) => {
                return Err(world.report(Diagnostic::not_built(s.span, format!("the step `{}`", built_in(&s.kind)))));
            }
        };
        self.push(built_in(&s.kind).replace(' ', "_"), form, s.span);
        Ok(())
    }

    fn push(&mut self, name: String, form: StepForm, span: Span) {
        let callers = self.callers.iter().map(|(_, span)| *span).collect();
        self.steps.push(StepCall { name, form, span, callers });
    }

    fn loops(&mut self, world: &mut World<'_>, loops: &[ast::LoopRef]) -> Done<Vec<StepArg>> {
        loops.iter().map(|l| self.loop_arg(world, l)).collect()
    }

    /// One operation, and the terms that it joins in order.
    fn reduce(
        &mut self,
        world: &mut World<'_>,
        index: &ast::LoopRef,
        parts: &[ast::ReducePart],
        span: Span,
    ) -> Done<StepForm> {
        let of = self.loop_arg(world, index)?;
        let [part] = parts else {
            return Err(
                world.report(Diagnostic::not_built(span, "the step `reduce` with several parts, a law of blocks"))
            );
        };
        match part.shape.kind {
            ast::ShapeKind::Order => Ok(StepForm::Reduce { of, op: part.name.name.clone(), at: part.name.span }),
            ast::ShapeKind::Halving
            | ast::ShapeKind::Lanes(_)
            | ast::ShapeKind::Chunks(_)
            | ast::ShapeKind::Partials(_) => {
                let what = "the step `reduce` in another shape than `order`";
                Err(world.report(Diagnostic::not_built(part.shape.span, what)))
            }
        }
    }

    fn split_index(&mut self, world: &mut World<'_>, i: &ast::SplitIndex) -> Done<SplitIndex> {
        let of = self.loop_arg(world, &i.index)?;
        let mut levels = Vec::new();
        for l in &i.levels {
            let name = match &l.name {
                None => None,
                // A parameter of the schedule function stands for the name that it is given.
                Some(n) => Some(match self.names.get(&n.name) {
                    Some(StepArg::Name { name, .. }) => name.clone(),
                    Some(StepArg::Number(..) | StepArg::Tuple(..)) | None => n.name.clone(),
                }),
            };
            levels.push(SplitLevel { size: self.size(world, &l.size)?, name, span: l.span });
        }
        Ok(SplitIndex { of, levels, ragged: i.ragged, span: i.span })
    }

    /// The name that a step is given, or what a schedule function's parameter of that name stands for.
    fn new_name(&self, name: &ast::Ident) -> StepArg {
        match self.names.get(&name.name) {
            Some(given) => given.clone(),
            None => StepArg::Name { name: name.name.clone(), nth: None, part: None, span: name.span },
        }
    }

    /// A literal that a copy into an array of this schedule is filled up with.
    fn filling(&mut self, world: &mut World<'_>, with: &ast::Expr, into: &ast::Ident) -> Done<Lit> {
        let StepArg::Name { name, .. } = self.new_name(into) else { return Err(self.no_array(world, into)) };
        let elem = self.scratch.iter().find(|b| b.name == name).map(|b| b.elem.clone());
        let Some(elem) = elem else { return Err(self.no_array(world, into)) };
        let tree = world.word_of(&mut Body::new(self.unit), with, &elem)?;
        match tree {
            Tree::Lit(lit) => Ok(lit),
            // What has no literals of its own has bits.
            Tree::Op(Op::Prim(Prim::FromBits(elem)), args) if of_bits(&args).is_some() => {
                Ok(Lit { elem, bits: of_bits(&args).unwrap_or_default() })
            }
            _ => {
                let message = "a copy is filled up with a literal: `pad 16 with 0.0`";
                Err(world.report(Diagnostic::error(codes::STEP_ARGUMENT, with.span, message)))
            }
        }
    }

    fn no_array(&self, world: &mut World<'_>, name: &ast::Ident) -> Reported {
        let known = self.scratch.iter().map(|b| b.name.as_str());
        world.report(scope::unknown(name, "parameter of this schedule", known))
    }

    /// A literal size, constants and parameters put in.
    fn size(&mut self, world: &mut World<'_>, e: &ast::Expr) -> Done<i64> {
        let mut body = Body::new(self.unit);
        for (name, value) in &self.names {
            if let StepArg::Number(n, _) = value {
                body.names.push((name.clone(), Meaning::Ix(Ix::Lit(*n))));
            }
        }
        let not_literal = |world: &mut World<'_>| {
            let d = Diagnostic::error(
                codes::STEP_ARGUMENT,
                e.span,
                "the size of a block is a number, known before any array is",
            );
            Err(world.report(d.help("write a literal, or name one: `const KC = 256`")))
        };
        if let ast::ExprKind::Name(n) = &e.kind
            && !body.names.iter().any(|(known, _)| *known == n.name)
            && world.scope.find(self.unit, &n.name).is_none_or(|r| world.constant(r, &n.name).is_none())
        {
            return not_literal(world);
        }
        match world.ix(&body, e)? {
            Ix::Lit(n) => Ok(n),
            _ => not_literal(world),
        }
    }

    /// `outer_products i c U V f`
    fn outer_products(&mut self, world: &mut World<'_>, s: &ast::Step, args: &[StepArg]) -> Done<StepForm> {
        let shape = || {
            let message = "`outer_products` takes the loop over the rows, the output, two numbers and an instruction";
            let d = Diagnostic::error(codes::STEP_ARGUMENT, s.span, message);
            d.help("for example `outer_products i c 8 8 outer_fma_f64x8`")
        };
        let [row, into, StepArg::Number(u, first), StepArg::Number(v, second), StepArg::Name { name, span, .. }] = args
        else {
            return Err(world.report(shape()));
        };
        let found = world.scope.find(self.unit, name);
        let ids = match found {
            Some(r) => world.instrs.get(&r).map(|id| vec![*id]),
            None if name == OUTER_FMA => Some(world.outer_fmas(*u, *v)),
            None => None,
        };
        let Some(ids) = ids else {
            if found.is_some_and(|r| world.refused.contains(&r)) {
                return Err(Reported);
            }
            let message = match found {
                Some(r) => format!("`{name}` is {}, not an instruction", world.item(r)),
                None => format!("there is no instruction `{name}`"),
            };
            let d = Diagnostic::error(codes::UNKNOWN_NAME, *span, message);
            let help = "`outer_fma_primitive` is known everywhere; others of matrix units come with \
                        `import \"cachet:instructions/sme\"`";
            return Err(world.report(d.help(help)));
        };
        Ok(StepForm::OuterProducts(OuterCall {
            row: row.clone(),
            into: into.clone(),
            rows: (*u, *first),
            columns: (*v, *second),
            through: (ids, name.clone(), *span),
        }))
    }

    /// `dot_products k c f`
    fn dot_products(&mut self, world: &mut World<'_>, s: &ast::Step, args: &[StepArg]) -> Done<StepForm> {
        let [sum, into, StepArg::Name { name, span, .. }] = args else {
            let message = "`dot_products` takes the loop over a sum's index, the output and an instruction";
            let d = Diagnostic::error(codes::STEP_ARGUMENT, s.span, message);
            return Err(world.report(d.help("for example `dot_products k c dot_bf16x2`")));
        };
        let found = world.scope.find(self.unit, name);
        let Some(id) = found.and_then(|r| world.instrs.get(&r)).copied() else {
            if found.is_some_and(|r| world.refused.contains(&r)) {
                return Err(Reported);
            }
            let message = match found {
                Some(r) => format!("`{name}` is {}, not an instruction", world.item(r)),
                None => format!("there is no instruction `{name}`"),
            };
            let d = Diagnostic::error(codes::UNKNOWN_NAME, *span, message);
            let help = "those of the library come with `import \"cachet:simd\"`";
            return Err(world.report(d.help(help)));
        };
        Ok(StepForm::DotProducts(DotCall { sum: sum.clone(), into: into.clone(), through: (id, name.clone(), *span) }))
    }

    /// A step that is called by its name: of the library, the user's own, or a schedule function.
    fn named(&mut self, world: &mut World<'_>, s: &ast::Step, name: &ast::Ident, args: &[ast::StepArg]) -> Done<()> {
        let args = args.iter().map(|a| self.arg(world, a)).collect::<Done<Vec<_>>>()?;
        let found = world.scope.find(self.unit, &name.name);
        let loaded = world.loaded;
        match found.map(|r| (r, &loaded.units[r.unit].ast.items[r.item])) {
            Some((r, _)) if world.refused.contains(&r) => Err(Reported),
            Some((_, Item::StepFn(_))) => {
                self.push(name.name.clone(), StepForm::Call(args), s.span);
                Ok(())
            }
            Some((r, Item::ScheduleFn(f))) => self.call(world, r, f, args, s.span),
            Some((r, _)) => {
                let d = Diagnostic::error(
                    codes::STEP_ARGUMENT,
                    name.span,
                    format!("`{}` is {}, not a step", name.name, world.item(r)),
                );
                Err(world.report(d))
            }
            None if name.name == DOT => {
                let form = self.dot_products(world, s, &args)?;
                self.push(DOT.into(), form, s.span);
                Ok(())
            }
            None if name.name == OUTER => {
                let form = self.outer_products(world, s, &args)?;
                self.push(OUTER.into(), form, s.span);
                Ok(())
            }
            None if LATER.contains(&name.name.as_str()) => {
                Err(world.report(Diagnostic::not_built(s.span, format!("the step `{}`", name.name))))
            }
            None => {
                let known = self.known_steps(world);
                let mut d = scope::unknown(name, "step", known.iter().map(String::as_str));
                if d.helps.is_empty() {
                    d = match known.iter().any(|k| k == "hoist") {
                        true => d.note(format!("the steps here are {}, {}", BUILT_IN.join(", "), known.join(", "))),
                        false => d.help("the library's steps come with `import \"cachet:steps\"`"),
                    };
                }
                Err(world.report(d))
            }
        }
    }

    fn known_steps(&self, world: &World<'_>) -> Vec<String> {
        let named = world.scope.names(self.unit).filter(|n| {
            let item = world.scope.find(self.unit, n).map(|r| &world.loaded.units[r.unit].ast.items[r.item]);
            matches!(item, Some(Item::StepFn(_) | Item::ScheduleFn(_)))
        });
        named.map(String::from).collect()
    }

    fn call(
        &mut self,
        world: &mut World<'_>,
        r: ItemRef,
        f: &ast::ScheduleFn,
        args: Vec<StepArg>,
        span: Span,
    ) -> Done<()> {
        if self.callers.iter().any(|(c, _)| *c == r) {
            return Err(world.report(Diagnostic::error(
                codes::RECURSION,
                span,
                format!("`{}` calls itself", f.name.name),
            )));
        }
        if self.callers.len() >= MAX_CALLS {
            return Err(world.report(Diagnostic::error(
                codes::LIMIT,
                span,
                format!("schedule functions nest deeper than {MAX_CALLS}"),
            )));
        }
        let mut names = BTreeMap::new();
        let fits = f.params.len() == args.len()
            && f.params.iter().zip(args).all(|(p, a)| match (p, a) {
                // `(4 * 2)` is one size in parentheses.
                (StepParam::Name(n), StepArg::Tuple(parts, _)) if parts.len() == 1 => {
                    names.insert(n.name.clone(), parts[0].clone()).is_none()
                }
                (StepParam::Name(n), a) => names.insert(n.name.clone(), a).is_none(),
                (StepParam::Tuple { items, .. }, StepArg::Tuple(parts, _)) if items.len() == parts.len() => {
                    items.iter().zip(parts).all(|(i, a)| names.insert(i.name.name.clone(), a).is_none())
                }
                (StepParam::Tuple { items, .. }, a @ (StepArg::Name { .. } | StepArg::Number(..)))
                    if items.len() == 1 =>
                {
                    names.insert(items[0].name.name.clone(), a).is_none()
                }
                (StepParam::Tuple { .. }, _) => false,
            });
        if !fits {
            let head: Vec<String> = f.params.iter().map(shape).collect();
            let d = Diagnostic::error(
                codes::STEP_ARGUMENT,
                span,
                format!("the arguments of `{}` do not have the shape of its parameters", f.name.name),
            )
            .help(format!("it is written `{} {}`", f.name.name, head.join(" ")));
            return Err(world.report(d));
        }
        let outer = std::mem::replace(&mut self.names, names);
        self.callers.push((r, span));
        let result = self.steps(world, r.unit, &f.steps);
        self.callers.pop();
        self.names = outer;
        result
    }

    /// A name of a loop, an array or a size; a parameter stands for what it is given.
    fn loop_arg(&mut self, world: &mut World<'_>, l: &ast::LoopRef) -> Done<StepArg> {
        let nth = l.nth.and_then(|n| u32::try_from(n).ok());
        let part = l.part.map(|p| match p {
            ast::LoopPart::Outer => SplitPart::Outer,
            ast::LoopPart::Inner => SplitPart::Inner,
        });
        if let Some(given) = self.names.get(&l.name.name) {
            return Ok(match given.clone() {
                StepArg::Name { name, nth: n, part: p, span } => {
                    StepArg::Name { name, nth: nth.or(n), part: part.or(p), span }
                }
                given => given,
            });
        }
        // A constant of the file is a size; anything else is looked up in the program when the step runs.
        let constant = world.scope.find(self.unit, &l.name.name).and_then(|r| world.constant(r, &l.name.name));
        Ok(match constant {
            Some(n) if part.is_none() => StepArg::Number(n, l.span),
            _ => StepArg::Name { name: l.name.name.clone(), nth, part, span: l.span },
        })
    }

    fn arg(&mut self, world: &mut World<'_>, a: &ast::StepArg) -> Done<StepArg> {
        match a {
            ast::StepArg::Loop(l) => self.loop_arg(world, l),
            ast::StepArg::Type(t) => Err(world.report(Diagnostic::not_built(t.span, "types as arguments of steps"))),
            ast::StepArg::Tuple { items, span } => {
                let items = items.iter().map(|i| self.arg(world, i)).collect::<Done<Vec<_>>>()?;
                Ok(StepArg::Tuple(items, *span))
            }
            ast::StepArg::Expr(e) => {
                let mut body = Body::new(self.unit);
                for (name, value) in &self.names {
                    if let StepArg::Number(n, _) = value {
                        body.names.push((name.clone(), Meaning::Ix(Ix::Lit(*n))));
                    }
                }
                match world.ix(&body, e)? {
                    Ix::Lit(n) => Ok(StepArg::Number(n, e.span)),
                    _ => Err(world.report(Diagnostic::error(
                        codes::STEP_ARGUMENT,
                        e.span,
                        "a size given to a step is a number",
                    ))),
                }
            }
        }
    }
}

fn shape(p: &StepParam) -> String {
    match p {
        StepParam::Name(n) => n.name.clone(),
        StepParam::Tuple { items, .. } => {
            format!("({})", items.iter().map(|i| i.name.name.as_str()).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The word of a step with a syntax of its own.
fn built_in(kind: &StepKind) -> &'static str {
    match kind {
        StepKind::Split(_) => "split",
        StepKind::Order(_) => "order",
        StepKind::GridOver(_) => "grid over",
        StepKind::Pack { .. } => "pack",
        StepKind::PackLanes { .. } => "pack_lanes",
        StepKind::Keep { .. } => "keep",
        StepKind::Registers { .. } => "registers",
        StepKind::Compute { .. } => "compute",
        StepKind::Reduce { .. } => "reduce",
        StepKind::Parts(_) => "parts",
        StepKind::Element(_) => "element",
        StepKind::Call { .. } => "call",
    }
}

/// The bits that are written.
fn of_bits(args: &[Tree]) -> Option<u64> {
    match args {
        [Tree::Lit(lit)] => Some(lit.bits),
        [Tree::Index(Ix::Lit(n), _)] => u64::try_from(*n).ok(),
        _ => None,
    }
}
