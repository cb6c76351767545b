//! Interfaces, implementations and pure functions.

use crate::elaborate::{Body, Done, Meaning, Reported, World};
use crate::scope::{self, ItemRef};
use crate::{instructions, laws, layouts, limits, numbers};
use cachet_core::ir::{Impl, ImplId, Interface, Local, Op, Pure, PureId, Ty, TypeParam, TypeParamInfo, Word};
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{self, Block, ConstValue, FnResult, Ident, Item, Member, MemberFn};

/// How deep pure functions may apply one another.
const MAX_CHAIN: usize = 64;

/// Interfaces, implementations, pure functions, and the items that have no meaning yet.
pub(crate) fn item(world: &mut World<'_>, r: ItemRef) -> Done<()> {
    let loaded = world.loaded;
    match &loaded.units[r.unit].ast.items[r.item] {
        Item::Interface(i) => interface(world, r, i),
        Item::Impl(i) => implementation(world, r, i),
        Item::Fn(f) => match &f.result {
            Some(FnResult::Type(_)) if numbers::is_of_indices(f) => numbers::item(world, r),
            Some(FnResult::Type(result)) => pure(world, r, f, result),
            Some(FnResult::Outs(_)) | None => Ok(()),
        },
        Item::Proof(_) => numbers::item(world, r),
        Item::Layout(_) => layouts::item(world, r),
        Item::Instr(i) => instructions::item(world, r, i),
        Item::BuiltinStep(s) => Err(world.report(Diagnostic::not_built(s.name.span, "`builtin step`"))),
        Item::Const(_)
        | Item::Platform(_)
        | Item::Synth(_)
        | Item::Record(_)
        | Item::Contraction(_)
        | Item::Schedule(_)
        | Item::ScheduleFn(_)
        | Item::StepFn(_) => Ok(()),
    }
}

fn interface(world: &mut World<'_>, r: ItemRef, i: &ast::Interface) -> Done<()> {
    if world.interfaces.contains_key(&r) {
        return Ok(());
    }
    if let Some(p) = i.tparams.first() {
        return Err(world.report(Diagnostic::not_built(p.span, "interfaces with parameters")));
    }
    let mut methods: Vec<(String, u32)> = Vec::new();
    for m in &i.members {
        match m {
            Member::Const(c) if c.name.name == "Value" && c.value.is_none() => {}
            Member::Const(c) => {
                return Err(world.report(Diagnostic::not_built(c.span, "constants of an interface besides `Value`")));
            }
            Member::Fn(f) => {
                if methods.iter().any(|m| m.0 == f.name.name) {
                    return Err(world.report(Diagnostic::error(
                        codes::DUPLICATE_NAME,
                        f.name.span,
                        format!("`{}` is defined twice", f.name.name),
                    )));
                }
                methods.push((f.name.name.clone(), f.params.len() as u32));
            }
            Member::Law(_) => {}
        }
    }
    let mut made = Interface { name: i.name.name.clone(), methods, laws: Vec::new() };
    for m in &i.members {
        if let Member::Law(l) = m {
            let law = laws::read(world, l, &made)?;
            if let Some(r) = &l.reason {
                let d = Diagnostic::error(codes::LAW, r.span, "an interface wants laws; an implementation has reasons");
                return Err(world.report(d));
            }
            made.laws.push(law);
        }
    }
    let id = world.module.program.interfaces.len() as u32;
    world.module.program.interfaces.push(made);
    for m in &i.members {
        if let Member::Fn(f) = m
            && let Some(b) = &f.body
        {
            default_body(world, r, id, f, b)?;
        }
    }
    world.interfaces.insert(r, id);
    Ok(())
}

/// A default body, which has to make sense for every implementation.
fn default_body(world: &mut World<'_>, r: ItemRef, interface: u32, f: &MemberFn, b: &Block) -> Done<()> {
    let mut body = Body::new(r.unit);
    let any = TypeParam(0);
    body.type_params
        .push(TypeParamInfo { name: world.module.program.interfaces[interface as usize].name.clone(), interface });
    body.own = Some(any);
    let mut params = Vec::new();
    for p in &f.params {
        let l = body.add_local(&p.name.name, Ty::Abstract(any), false);
        body.bind(&p.name, Meaning::Local(l));
        params.push(l);
    }
    let name = f.name.name.clone();
    let Some(value) = b.to_expr() else {
        let message = format!("`{name}` has to end in a value");
        return Err(world.report(Diagnostic::error(codes::SYNTAX, b.span, message)));
    };
    let word = world.word_of(&mut body, &value, &Ty::Abstract(any))?.into_word();
    let pure = Pure { name: name.clone(), params, result: Ty::Abstract(any), body: word, locals: body.locals };
    world.defaults.insert((interface, name), pure);
    Ok(())
}

/// The operations of an implementation in the interface's order: its own, then the defaults of the others, each of which
/// may apply what is defined before it.
fn methods(
    world: &mut World<'_>,
    r: ItemRef,
    i: &ast::Impl,
    interface: u32,
    (name, value): (&str, &Ty),
) -> Done<Vec<PureId>> {
    let wanted = world.module.program.interfaces[interface as usize].clone();
    let mut made: Vec<Option<PureId>> = vec![None; wanted.methods.len()];
    for (at, (method, arity)) in wanted.methods.iter().enumerate() {
        let found = i.members.iter().find_map(|m| match m {
            Member::Fn(f) if f.name.name == *method => Some(f),
            _ => None,
        });
        let Some(f) = found else { continue };
        if f.params.len() as u32 != *arity {
            let message = format!("`{method}` of {} takes {arity} operands, not {}", wanted.name, f.params.len());
            return Err(world.report(Diagnostic::error(codes::ARITY, f.span, message)));
        }
        let Some(b) = &f.body else {
            return Err(world.report(Diagnostic::error(codes::BINDING, f.span, format!("`{method}` has no body"))));
        };
        let params: Vec<(&Ident, Ty)> = f.params.iter().map(|p| (&p.name, value.clone())).collect();
        made[at] = Some(word_function(world, Body::new(r.unit), &format!("{name}.{method}"), params, value, b)?);
    }
    for (at, (method, _)) in wanted.methods.iter().enumerate().filter(|(at, _)| made[*at].is_none()).collect::<Vec<_>>()
    {
        let Some(default) = world.defaults.get(&(interface, method.clone())).cloned() else {
            let message = format!("`{name}` does not define `{method}` of {}", wanted.name);
            return Err(world.report(Diagnostic::error(codes::BINDING, i.target.span, message)));
        };
        let body = match bound(&default.body, &made) {
            Ok(body) => body,
            Err(m) => {
                let other = wanted.methods.get(m as usize).map_or("?", |m| m.0.as_str());
                let message =
                    format!("`{name}` takes the default of `{method}`, which applies `{other}`, which comes later");
                let d = Diagnostic::error(codes::BINDING, i.target.span, message);
                return Err(world.report(d.help(format!("define `{other}`, or `{method}` itself"))));
            }
        };
        let mut locals = default.locals;
        locals.iter_mut().filter(|l| matches!(l.ty, Ty::Abstract(_))).for_each(|l| l.ty = value.clone());
        let pure =
            Pure { name: format!("{name}.{method}"), params: default.params, result: value.clone(), body, locals };
        made[at] = Some(add_pure(world, pure, i.target.span)?);
    }
    made.into_iter().map(|id| id.ok_or(Reported)).collect()
}

/// A default body with the operations of one implementation; one that is not there yet is named.
fn bound(word: &Word, made: &[Option<PureId>]) -> Result<Word, u32> {
    let all = |ws: &[Word]| ws.iter().map(|w| bound(w, made)).collect::<Result<Vec<_>, _>>();
    let one = |w: &Word| bound(w, made).map(Box::new);
    Ok(match word {
        Word::Op { op: Op::Method(_, m), arith: _, args } => match made.get(*m as usize).copied().flatten() {
            Some(f) => Word::Apply(f, all(args)?),
            None => return Err(*m),
        },
        Word::Op { op, arith, args } => Word::Op { op: *op, arith: *arith, args: all(args)? },
        Word::Apply(f, args) => Word::Apply(*f, all(args)?),
        Word::Tuple(parts) => Word::Tuple(all(parts)?),
        Word::Part(w, n) => Word::Part(one(w)?, *n),
        Word::Let(l, a, b) => Word::Let(*l, one(a)?, one(b)?),
        // A default body has neither indices nor arrays.
        Word::Lit(_)
        | Word::Local(..)
        | Word::Index(..)
        | Word::Load(_)
        | Word::If(..)
        | Word::Fold(_)
        | Word::Reduce(_)
        | Word::Differing(..) => word.clone(),
    })
}

fn implementation(world: &mut World<'_>, r: ItemRef, i: &ast::Impl) -> Done<()> {
    let found = world.scope.find(r.unit, &i.interface.name);
    let loaded = world.loaded;
    if let Some(f) = found
        && !world.refused.contains(&f)
        && let Item::Interface(needed) = &loaded.units[f.unit].ast.items[f.item]
        && interface(world, f, needed).is_err()
    {
        // The interface may stand after what implements it.
        world.refused.insert(f);
    }
    let Some(interface) = found.and_then(|f| world.interfaces.get(&f)).copied() else {
        if found.is_some_and(|f| world.refused.contains(&f)) {
            return Err(Reported);
        }
        let known: Vec<String> = world.module.program.interfaces.iter().map(|i| i.name.clone()).collect();
        let d = scope::unknown(&i.interface, "interface", known.iter().map(String::as_str));
        return Err(world.report(d));
    };
    let name = world.impl_name(&i.target)?;
    if world.implementation(r.unit, &name).is_some() {
        return Err(world.report(Diagnostic::error(
            codes::DUPLICATE_NAME,
            i.target.span,
            format!("`{name}` is implemented already"),
        )));
    }
    let body = Body::new(r.unit);
    let value = i.members.iter().find_map(|m| match m {
        Member::Const(c) if c.name.name == "Value" => {
            c.value.as_ref().and_then(ConstValue::to_type).map(|t| (t, c.span))
        }
        _ => None,
    });
    let Some((ty, _)) = value else {
        let d = Diagnostic::error(codes::BINDING, i.span, format!("`{name}` does not say what `Value` is"))
            .help("add `const Value = f32`");
        return Err(world.report(d));
    };
    let value = world.word_type(&body, &ty)?;
    let wanted = world.module.program.interfaces[interface as usize].clone();
    for m in &i.members {
        match m {
            Member::Fn(f) if !wanted.methods.iter().any(|m| m.0 == f.name.name) => {
                let known: Vec<&str> = wanted.methods.iter().map(|m| m.0.as_str()).collect();
                let d = scope::unknown(&f.name, &format!("operation of {}", wanted.name), known.iter().copied());
                let d = if d.helps.is_empty() { d.note(format!("its operations are {}", known.join(", "))) } else { d };
                return Err(world.report(d));
            }
            Member::Fn(_) | Member::Const(_) | Member::Law(_) => {}
        }
    }
    let methods = methods(world, r, i, interface, (&name, &value))?;
    let laws = laws::stated(world, i, &wanted, &name)?;
    let id = ImplId(world.module.program.impls.len() as u32);
    world.module.program.impls.push(Impl { name: name.clone(), interface, value, methods, laws });
    world.impls.push((r.unit, name, id));
    Ok(())
}

impl World<'_> {
    /// In a default body of an interface that has this operation: what it belongs to.
    pub(crate) fn own_operation(&self, body: &Body, name: &str) -> Option<TypeParam> {
        let p = body.own?;
        let interface = body.type_params[p.index()].interface as usize;
        self.module.program.interfaces[interface].methods.iter().any(|m| m.0 == name).then_some(p)
    }

    /// A pure function that a value applies: it is elaborated at its first use, so that the order in a file is free.
    pub(crate) fn pure_function(&mut self, r: ItemRef, used: &Ident) -> Done<Option<PureId>> {
        if self.refused.contains(&r) {
            return Err(Reported);
        }
        let loaded = self.loaded;
        let Item::Fn(f) = &loaded.units[r.unit].ast.items[r.item] else { return Ok(None) };
        let Some(FnResult::Type(_)) = &f.result else { return Ok(None) };
        if numbers::is_of_indices(f) {
            let message = format!("`{}` gives an index, and a value is wanted here", f.name.name);
            let d = Diagnostic::error(codes::TYPE_MISMATCH, used.span, message);
            return Err(self.report(d.help(format!("turn it into one: `({} ..) as f32`", f.name.name))));
        }
        if !self.pures.contains_key(&r) {
            self.not_circular(r, used, MAX_CHAIN)?;
            if let Err(reported) = item(self, r) {
                self.refused.insert(r);
                return Err(reported);
            }
        }
        Ok(self.pures.get(&r).copied())
    }

    /// Refuses a function that applies itself, and chains of applications that are too long.
    pub(crate) fn not_circular(&mut self, r: ItemRef, used: &Ident, most: usize) -> Done<()> {
        if let Some(at) = self.pending.iter().position(|p| *p == r) {
            let names: Vec<String> = self.pending[at..].iter().chain([&r]).map(|p| self.pure_name(*p)).collect();
            let message = match names.as_slice() {
                [only, _] => format!("{only} calls itself"),
                _ => format!("{} calls itself: {}", names[0], names.join(" calls ")),
            };
            return Err(self.report(Diagnostic::error(codes::RECURSION, used.span, message)));
        }
        if self.pending.len() >= most {
            let message = format!("pure functions apply one another more than {most} deep");
            return Err(self.report(Diagnostic::error(codes::LIMIT, used.span, message)));
        }
        Ok(())
    }

    fn pure_name(&self, r: ItemRef) -> String {
        match self.loaded.units[r.unit].ast.items[r.item].names().first() {
            Some(n) => format!("`{}`", n.name),
            None => "it".into(),
        }
    }
}

fn pure(world: &mut World<'_>, r: ItemRef, f: &ast::FnItem, result: &ast::Type) -> Done<()> {
    if world.pures.contains_key(&r) {
        return Ok(());
    }
    world.pending.push(r);
    let done = pure_now(world, r, f, result);
    world.pending.pop();
    done
}

fn pure_now(world: &mut World<'_>, r: ItemRef, f: &ast::FnItem, result: &ast::Type) -> Done<()> {
    if let Some(p) = f.tparams.first() {
        return Err(world.report(Diagnostic::not_built(p.span, "type parameters of pure functions")));
    }
    let body = Body::new(r.unit);
    let mut params = Vec::new();
    for p in &f.params {
        if p.mode.is_some() {
            let d = Diagnostic::error(codes::MODE, p.span, "a function with a value takes words, not arrays");
            return Err(world.report(d));
        }
        if p.ty.ty.as_path().is_some_and(|t| t.text() == "Nat") {
            return Err(world.report(Diagnostic::not_built(p.span, "indices as parameters of functions of words")));
        }
        params.push((&p.name, world.word_type(&body, &p.ty.ty)?));
    }
    let result = world.word_type(&body, result)?;
    let id = word_function(world, body, &f.name.name, params, &result, &f.body)?;
    world.pures.insert(r, id);
    Ok(())
}

/// A pure function of words. What it applies is elaborated before it, so nothing is recursive.
fn word_function(
    world: &mut World<'_>,
    mut body: Body,
    name: &str,
    params: Vec<(&Ident, Ty)>,
    result: &Ty,
    block: &Block,
) -> Done<PureId> {
    let mut locals: Vec<Local> = Vec::new();
    for (p, ty) in params {
        let l = body.add_local(&p.name, ty, false);
        body.bind(p, Meaning::Local(l));
        locals.push(l);
    }
    let Some(value) = block.to_expr() else {
        return Err(world.report(Diagnostic::error(
            codes::SYNTAX,
            block.span,
            format!("`{name}` has to end in a value"),
        )));
    };
    let tree = world.word_of(&mut body, &value, result)?;
    let pure = Pure {
        name: name.to_string(),
        params: locals,
        result: result.clone(),
        body: tree.into_word(),
        locals: body.locals,
    };
    add_pure(world, pure, block.span)
}

/// Adds a pure function that is not too large.
fn add_pure(world: &mut World<'_>, pure: Pure, span: Span) -> Done<PureId> {
    let extent = limits::word(&pure.body, &world.extents);
    if let Some(excess) = extent.excess() {
        let message = format!("`{}` {excess} once what it applies is written out", pure.name);
        return Err(world.report(Diagnostic::error(codes::LIMIT, span, message)));
    }
    world.extents.push(extent);
    world.module.program.pures.push(pure);
    Ok(PureId(world.module.program.pures.len() as u32 - 1))
}
