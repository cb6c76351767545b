//! Calls of functions over arrays: type parameters bound, arrays lent, sizes found.

use crate::elaborate::{Body, Done, Meaning, Reported, World};
use crate::platforms::OUTERMOST;
use crate::scope;
use cachet_core::instance::bind_ty;
use cachet_core::ir::{At, Binding, Call, Fun, Ix, Role, StmtKind, Var, View};
use cachet_core::rewrite::Subst;
use cachet_source::{Diagnostic, Span, codes};
use cachet_syntax::ast::{Expr, ExprKind, Ident, Index, Item, Targ, TargItem, TypeArg, TypeKind};
use std::collections::BTreeMap;

impl World<'_> {
    /// `f @(S = ..) a b c`.
    pub(crate) fn call(
        &mut self,
        body: &mut Body,
        name: &Ident,
        targs: &[Targ],
        args: &[&Expr],
        span: Span,
    ) -> Done<StmtKind> {
        let fun = self.callee(body, name)?;
        let callee = self.module.program.funs[fun.index()].clone();
        let (given, targs) = self.given_sizes(body, &callee, targs)?;
        let types = self.bindings(body, name, &callee, &targs)?;
        if args.len() != callee.params.len() {
            let n = callee.params.len();
            let message = format!(
                "`{}` takes {n} argument{}, and {}",
                name.name,
                if n == 1 { "" } else { "s" },
                scope::given(args.len())
            );
            let lent: Vec<&str> = callee.params.iter().map(|b| callee.buffers[b.index()].name.as_str()).collect();
            let d = Diagnostic::error(codes::ARITY, span, message).also(callee.span.0, "defined here");
            return Err(self.report(if lent.is_empty() {
                d
            } else {
                d.note(format!("its parameters are {}", lent.join(", ")))
            }));
        }
        let mut views = Vec::new();
        for (i, a) in args.iter().enumerate() {
            views.push(self.lend(body, name, &callee, i, &types, a)?);
        }
        let sizes = self.sizes_of(body, name, &callee, (&views, &given), span)?;
        Ok(StmtKind::Call(Box::new(Call { fun, types, sizes, args: views })))
    }

    /// The sizes that `@(n = 8)` gives, and what else stands there.
    fn given_sizes(&mut self, body: &Body, callee: &Fun, targs: &[Targ]) -> Done<(BTreeMap<Var, Ix>, Vec<Targ>)> {
        let mut given = BTreeMap::new();
        let mut rest = targs.to_vec();
        for targ in &mut rest {
            for item in std::mem::take(&mut targ.items) {
                let size = match &item {
                    TargItem::Bind { name, .. } => {
                        callee.sizes.iter().find(|s| callee.vars[s.index()].name == name.name).copied()
                    }
                    TargItem::Path(_) | TargItem::Value(_) => None,
                };
                let (Some(size), TargItem::Bind { name, value, span }) = (size, &item) else {
                    targ.items.push(item);
                    continue;
                };
                let value = match value {
                    TypeArg::Size(e) => e.clone(),
                    TypeArg::Type(t) => match t.as_path().and_then(|p| p.as_ident()) {
                        Some(n) => Expr::new(ExprKind::Name(n.clone()), t.span),
                        None => {
                            let message = format!("`{}` is a size, and this is none", name.name);
                            return Err(self.report(Diagnostic::error(codes::BINDING, t.span, message)));
                        }
                    },
                };
                let ix = self.ix(body, &value)?;
                if given.insert(size, ix).is_some() {
                    let message = format!("`{}` is bound twice", name.name);
                    return Err(self.report(Diagnostic::error(codes::BINDING, *span, message)));
                }
            }
        }
        rest.retain(|t| !t.items.is_empty());
        Ok((given, rest))
    }

    fn callee(&mut self, body: &Body, name: &Ident) -> Done<cachet_core::ir::FunId> {
        if let Some(r) = self.scope.find(body.unit, &name.name) {
            if self.refused.contains(&r) {
                return Err(Reported);
            }
            if let Some(f) = self.funs.get(&r) {
                return Ok(*f);
            }
            let message = match self.pures.contains_key(&r) {
                true => format!("`{}` computes a value, and a statement is wanted here", name.name),
                false => format!("`{}` is {}, and cannot be called", name.name, self.item(r)),
            };
            return Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, name.span, message)));
        }
        if body.find(&name.name).is_some() {
            let message = format!("`{}` is not a function", name.name);
            return Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, name.span, message)));
        }
        let known: Vec<String> = self.scope.names(body.unit).map(String::from).chain(["print".to_string()]).collect();
        let d = scope::unknown(name, "function", known.iter().map(String::as_str));
        Err(self.report(d))
    }

    /// What each type parameter of a function is bound to; `@(..)` binds all of them or, in a schedule's head, none.
    pub(crate) fn bindings(&mut self, body: &Body, name: &Ident, callee: &Fun, targs: &[Targ]) -> Done<Vec<Binding>> {
        let mut bound: Vec<Option<Binding>> = vec![None; callee.type_params.len()];
        for item in targs.iter().flat_map(|t| &t.items) {
            let TargItem::Bind { name: param, value, span } = item else {
                let example = callee.type_params.first().map_or("S", |p| &p.name);
                let at = targs.first().map_or(name.span, |t| t.span);
                let d = Diagnostic::error(codes::BINDING, at, "say which type parameter this is for");
                return Err(self.report(d.help(format!("write `@({example} = ..)`"))));
            };
            let Some(at) = callee.type_params.iter().position(|p| p.name == param.name) else {
                let what = format!("type parameter of `{}`", name.name);
                let d = scope::unknown(param, &what, callee.type_params.iter().map(|p| p.name.as_str()));
                return Err(self.report(d));
            };
            if bound[at].is_some() {
                let message = format!("`{}` is bound twice", param.name);
                return Err(self.report(Diagnostic::error(codes::BINDING, *span, message)));
            }
            bound[at] = Some(self.binding(body, callee, at, value)?);
        }
        let mut out = Vec::new();
        for (b, p) in bound.iter().zip(&callee.type_params) {
            let Some(b) = b else {
                let message = format!("`{}` does not say what `{}` is", name.name, p.name);
                let interface = p.interface;
                let known = self.implementations_of(body.unit, interface);
                let d = Diagnostic::error(codes::BINDING, name.span, message)
                    .note("an implementation is never guessed: several share one element type");
                let example = known.first().map_or("..", String::as_str);
                return Err(self.report(d.help(format!("write `{} @({} = {example})`", name.name, p.name))));
            };
            out.push(*b);
        }
        Ok(out)
    }

    /// The implementations of an interface that a file sees.
    fn implementations_of(&self, unit: usize, interface: u32) -> Vec<String> {
        let all = self.impls.iter().filter(|(u, ..)| self.sees(unit, *u));
        all.filter(|(_, _, i)| self.module.program.impls[i.index()].interface == interface)
            .map(|(_, n, _)| n.clone())
            .collect()
    }

    /// An implementation that there is not, with those that there are; silent where it was refused.
    pub(crate) fn unknown_implementation(
        &mut self,
        unit: usize,
        interface: Option<u32>,
        name: &str,
        span: Span,
    ) -> Reported {
        let first = |name: &str| name.split(' ').next().unwrap_or(name).to_string();
        let refused = self.refused.iter().any(|r| match &self.loaded.units[r.unit].ast.items[r.item] {
            Item::Impl(i) => {
                matches!(&i.target.kind, TypeKind::Named { path, .. } if path.text() == first(name))
            }
            _ => false,
        });
        if refused {
            return Reported;
        }
        let known = match interface {
            Some(i) => self.implementations_of(unit, i),
            None => self.implementations(unit),
        };
        let d = Diagnostic::error(codes::UNKNOWN_NAME, span, format!("there is no implementation `{name}` here"));
        let typed = known.iter().find(|k| k.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
        let near = scope::nearest(name, known.iter().map(String::as_str)).or_else(|| {
            let word = scope::nearest(name, known.iter().map(|k| k.split(' ').next().unwrap_or(k)))?;
            known.iter().find(|k| first(k) == word).cloned()
        });
        let d = match (typed, near) {
            (Some(typed), _) => d.help(format!("its name has a type as well: `{typed}`")),
            (None, Some(near)) => d.help(format!("did you mean `{near}`?")),
            (None, None) if known.is_empty() => d.help("the library's are imported with `import \"cachet:monoid\"`"),
            (None, None) => {
                let mut words: Vec<String> = known.iter().map(|k| first(k)).collect();
                words.sort();
                words.dedup();
                d.note(format!("there are {}, each with its type: `{}`", words.join(", "), known[0]))
            }
        };
        self.report(d)
    }

    fn binding(&mut self, body: &Body, callee: &Fun, at: usize, value: &TypeArg) -> Done<Binding> {
        let param = &callee.type_params[at];
        let TypeArg::Type(ty) = value else {
            let message = format!("`{}` is bound to an implementation, not to a number", param.name);
            return Err(self.report(Diagnostic::error(codes::BINDING, value.span(), message)));
        };
        let own = ty.as_path().and_then(|p| p.as_ident()).and_then(|n| body.find(&n.name));
        if let Some(Meaning::TypeParam(p)) = own {
            let p = *p;
            let has = body.type_params[p.index()].interface;
            self.same_interface(has, param.interface, &body.type_params[p.index()].name.clone(), ty.span)?;
            return Ok(Binding::Param(p));
        }
        let name = self.impl_name(ty)?;
        let Some(id) = self.implementation(body.unit, &name) else {
            return Err(self.unknown_implementation(body.unit, Some(param.interface), &name, ty.span));
        };
        let has = self.module.program.impls[id.index()].interface;
        self.same_interface(has, param.interface, &name, ty.span)?;
        Ok(Binding::Impl(id))
    }

    fn same_interface(&mut self, has: u32, wanted: u32, name: &str, span: Span) -> Done<()> {
        if has == wanted {
            return Ok(());
        }
        let text = |i: u32| self.module.program.interfaces[i as usize].name.clone();
        let message = format!("`{name}` is a {}, and a {} is wanted here", text(has), text(wanted));
        Err(self.report(Diagnostic::error(codes::BINDING, span, message)))
    }

    /// One argument: an array by its name, or a box of it.
    fn lend(
        &mut self,
        body: &mut Body,
        fun: &Ident,
        callee: &Fun,
        i: usize,
        types: &[Binding],
        a: &Expr,
    ) -> Done<View> {
        let (base, indices): (&Expr, Option<&[Index]>) = match &a.kind {
            ExprKind::Index { base, indices } => (base, Some(indices)),
            _ => (a, None),
        };
        let param = &callee.buffers[callee.params[i].index()];
        let place = format!("parameter {} (`{}`) of `{}`", i + 1, param.name, fun.name);
        let Some(name) = base.as_ident() else {
            let d = Diagnostic::error(codes::TYPE_MISMATCH, a.span, format!("{place} is an array, and this is not"));
            return Err(self.report(d.help("arrays are lent by name; a value is stored to one first")));
        };
        let window = match body.find(&name.name) {
            Some(Meaning::Window(b, axes)) => Some((*b, axes.clone())),
            _ => None,
        };
        let buffer = match &window {
            Some((b, _)) => *b,
            None => self.buffer(body, name)?,
        };
        let info = body.buffers[buffer.index()].clone();
        if param.role != Role::Reads && info.role == Role::Reads {
            let message = format!("`{}` is `reads`, and {place} is written", name.name);
            let d = Diagnostic::error(codes::MODE, a.span, message).also(info.span.0, "declared here");
            return Err(self.report(d));
        }
        let wanted = bind_ty(&self.module.program, types, &param.elem);
        if !wanted.is(&info.elem) {
            let (have, want) = (self.ty_text(body, &info.elem), self.ty_text(body, &wanted));
            let message = format!("`{}` holds {have}, and {place} holds {want}", name.name);
            return Err(self.report(Diagnostic::error(codes::TYPE_MISMATCH, a.span, message)));
        }
        if info.extents.len() != param.extents.len() {
            let axes = |n: usize| if n == 1 { "1 axis".to_string() } else { format!("{n} axes") };
            let message = format!(
                "`{}` has {}, and {place} has {}",
                name.name,
                axes(info.extents.len()),
                axes(param.extents.len())
            );
            let mut d = Diagnostic::error(codes::ARITY, a.span, message);
            if indices.is_some() {
                d = d.help("a part of an array has all axes of the array, one index being an axis of length 1");
            }
            return Err(self.report(d));
        }
        // A level other than the outermost is a promise to the callee.
        if param.level.name != OUTERMOST && param.level != info.level {
            let (is, wanted) = (&info.level.name, &param.level.name);
            let message = format!("`{}` is kept at {is}, and {place} is kept at {wanted}", name.name);
            let d = Diagnostic::error(codes::TYPE_MISMATCH, a.span, message).also(info.span.0, "declared here");
            return Err(self.report(d.help(format!("lease it: `lease near = {} at {wanted}`", name.name))));
        }
        let axes = match window {
            Some((_, axes)) => Some(self.part_of_window(body, name, axes, indices, a.span)?),
            None => indices.map(|i| self.window(body, name, i, info.extents.len(), a.span)).transpose()?,
        };
        Ok(View { buffer, axes, span: At(a.span) })
    }

    /// `[lo ..+ n, i ..+ 1]`: a start and a length per axis.
    pub(crate) fn window(
        &mut self,
        body: &Body,
        name: &Ident,
        indices: &[Index],
        rank: usize,
        span: Span,
    ) -> Done<Vec<(Ix, Ix)>> {
        if indices.len() != rank {
            let message = format!("`{}` takes {rank} subscripts, and {}", name.name, scope::given(indices.len()));
            return Err(self.report(Diagnostic::error(codes::ARITY, span, message)));
        }
        let mut axes = Vec::new();
        for i in indices {
            match i {
                Index::Window { lo, len, .. } => axes.push((self.ix(body, lo)?, self.ix(body, len)?)),
                Index::At(e) => axes.push((self.ix(body, e)?, Ix::Lit(1))),
                Index::Subst { span, .. } | Index::RankSubst { span, .. } => {
                    let d = Diagnostic::error(codes::SYNTAX, *span, "substitutions stand in step functions only");
                    return Err(self.report(d));
                }
            }
        }
        Ok(axes)
    }

    /// The callee's sizes in the caller's terms: those that are given, and each other from the first axis whose extent it
    /// is. Extents that are numbers
    /// on both sides are compared here; that the others agree is proved.
    fn sizes_of(
        &mut self,
        body: &Body,
        name: &Ident,
        callee: &Fun,
        (views, named): (&[View], &BTreeMap<Var, Ix>),
        span: Span,
    ) -> Done<Vec<Ix>> {
        let given: Vec<Vec<Ix>> = views
            .iter()
            .map(|v| match &v.axes {
                Some(axes) => axes.iter().map(|a| a.1.clone()).collect(),
                None => body.buffers[v.buffer.index()].extents.clone(),
            })
            .collect();
        let mut subst = Subst::default();
        let mut sizes = Vec::new();
        for s in &callee.sizes {
            let found = callee.params.iter().zip(&given).find_map(|(p, extents)| {
                callee.buffers[p.index()].extents.iter().zip(extents).find(|(e, _)| **e == Ix::Var(*s)).map(|(_, g)| g)
            });
            let Some(ix) = named.get(s).or(found) else {
                let message = format!("the size `{}` of `{}` cannot be found", callee.vars[s.index()].name, name.name);
                let d = Diagnostic::error(codes::SIZE, span, message);
                let example = &callee.vars[s.index()].name;
                return Err(self.report(d.help(format!("say what it is: `{} @({example} = 8)`", name.name))));
            };
            subst.vars.insert(*s, ix.clone());
            sizes.push(ix.clone());
        }
        for ((p, extents), v) in callee.params.iter().zip(&given).zip(views) {
            let info = &callee.buffers[p.index()];
            for (axis, (wanted, have)) in info.extents.iter().zip(extents).enumerate() {
                if let (Some(w), Some(h)) = (number(&subst.ix(wanted)), number(have))
                    && w != h
                {
                    let message = format!(
                        "axis {} of `{}` is {h} long, and `{}` wants {w} there",
                        axis + 1,
                        body.buffers[v.buffer.index()].name,
                        name.name
                    );
                    let d = Diagnostic::error(codes::SIZE, v.span.0, message).also(info.span.0, "for this parameter");
                    return Err(self.report(d));
                }
            }
        }
        Ok(sizes)
    }
}

/// The value of an index without variables.
fn number(ix: &Ix) -> Option<i64> {
    match ix {
        Ix::Lit(n) => Some(*n),
        Ix::Add(a, b) => number(a)?.checked_add(number(b)?),
        Ix::Sub(a, b) => number(a)?.checked_sub(number(b)?),
        Ix::Mul(n, a) => n.checked_mul(number(a)?),
        Ix::Div(a, n) => number(a)?.checked_div_euclid(*n),
        Ix::Mod(a, n) => number(a)?.checked_rem_euclid(*n),
        Ix::Min(a, b) => Some(number(a)?.min(number(b)?)),
        Ix::Max(a, b) => Some(number(a)?.max(number(b)?)),
        Ix::Var(_) | Ix::If(..) | Ix::Block(..) | Ix::InBlock(..) => None,
    }
}
