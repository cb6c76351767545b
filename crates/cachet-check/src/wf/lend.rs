//! Calls: what is lent fits, satisfies what is required, and is apart.

use super::{root, same_layout};
use crate::condition::{Condition, Failure, Kind, misfit};
use crate::context::Context;
use crate::events::Event;
use crate::formula::{Formula, Term};
use cachet_core::ir::{Call, Fun, Ix, MAX_DIM, Program, Role, VarKind, View};
use cachet_core::layout;
use cachet_core::print::Names;
use cachet_core::rewrite::{Live, Subst, Visit};
use cachet_source::{Diagnostic, codes};

/// The conditions of one call.
pub(super) fn call(
    program: &Program,
    fun: &Fun,
    cx: &Context,
    call: &Call,
    event: &Event,
    out: &mut Vec<Condition>,
) -> Result<(), Box<Failure>> {
    let callee = &program.funs[call.fun.index()];
    let names = Names::of(program, fun);
    let mut subst = Subst::default();
    for (size, value) in callee.sizes.iter().zip(&call.sizes) {
        subst.vars.insert(*size, value.clone());
        let natural = match value {
            Ix::Var(v) => fun.vars[v.index()].kind == VarKind::Size,
            value => matches!(value, Ix::Lit(0..)),
        };
        if !natural {
            let claim = format!("a size of {} is not negative: 0 <= {}", callee.name, names.ix(value));
            out.push(
                Condition::new(Kind::Extent, codes::SIZE, cx, Term::Lit(0).le(cx.ix(value)), claim).at(event.span, ""),
            );
        }
    }
    named_sizes(&names, fun, cx, (call, callee), event, out);
    for (view, param) in call.args.iter().zip(&callee.params) {
        let info = &callee.buffers[param.index()];
        let arg = &fun.buffers[view.buffer.index()];
        if !same_layout((&info.layout, &info.strides), (&arg.layout, &arg.strides)) {
            let message = format!("`{}` does not lie in memory as `{}` of `{}` must", arg.name, info.name, callee.name);
            let (lies, wanted) = (layout::words(&arg.layout), layout::words(&info.layout));
            let mut d = Diagnostic::error(codes::SIZE, event.span, message).at(arg.span.0, format!("it lies {lies}"));
            d = d.at(info.span.0, format!("this is wanted {wanted}"));
            let d = d.help("copy it into an array of that layout");
            return Err(misfit(Kind::Fits, d));
        }
        if view.axes.is_some() && !layout::ops(&arg.layout).is_empty() {
            let message = format!("a part of `{}` cannot be lent: its layout puts it in several pieces", arg.name);
            let d = Diagnostic::error(codes::SIZE, view.span.0, message).at(event.span, "");
            return Err(misfit(Kind::Fits, d.help("lend the whole of it, or copy the part into an array of its own")));
        }
        inside(&names, fun, cx, view, event, out);
        in_one_piece(&names, fun, cx, view, event, out);
        fits(&names, fun, cx, (view, info, &subst, &callee.name), event, out);
    }
    for required in &callee.requires {
        let g = subst.guard(required);
        let text = Names::of(program, callee).requirement(required);
        let claim = format!("the call of {} meets its requirement: {text}", callee.name);
        let mut c = Condition::new(Kind::Requirement, codes::REQUIREMENT, cx, cx.guard(&g), claim).at(event.span, "");
        let mut live = Live::default();
        live.guard(required);
        for (size, value) in callee.sizes.iter().zip(&call.sizes).filter(|(s, _)| live.vars.contains(s)) {
            let (size, value) = (&callee.vars[size.index()].name, names.ix(value));
            if *size != value {
                c.notes.push(format!("in this call {size} is {value}"));
            }
        }
        let mut about = Live::default();
        about.guard(&g);
        c.helps.push(if about.vars.is_empty() {
            format!("call it at sizes that meet it, or another function: `{}` is not made for these", callee.name)
        } else {
            format!("add `requires {}` to `{}`", names.requirement(&g), fun.name)
        });
        out.push(c);
    }
    apart(program, fun, cx, call, event, out);
    Ok(())
}

/// A size that no array has is what the call says; inside the function it counts as one, so it has to be one here.
fn named_sizes(
    names: &Names<'_>,
    fun: &Fun,
    cx: &Context,
    (call, callee): (&Call, &Fun),
    event: &Event,
    out: &mut Vec<Condition>,
) {
    for at in callee.named_sizes() {
        let Some(value) = call.sizes.get(at) else { continue };
        if matches!(value, Ix::Lit(0..=MAX_DIM)) || matches!(value, Ix::Var(v) if fun.sizes.contains(v)) {
            continue;
        }
        let name = &callee.vars[callee.sizes[at].index()].name;
        let text = names.ix(value);
        for (goal, text) in [
            (Term::Lit(0).le(cx.ix(value)), format!("0 <= {text}")),
            (cx.ix(value).le(i128::from(MAX_DIM)), format!("{text} <= {MAX_DIM}")),
        ] {
            let claim = format!("`{name}` of {} is a size, at least 0 and at most 2^40: {text}", callee.name);
            let c = Condition::new(Kind::Extent, codes::SIZE, cx, goal, claim).at(event.span, "");
            out.push(c.help(format!("add `requires {text}` to `{}`", fun.name)));
        }
    }
}

/// The extents of what is lent.
fn lengths<'a>(fun: &'a Fun, view: &'a View) -> Vec<(Ix, &'a Ix)> {
    match &view.axes {
        None => fun.buffers[view.buffer.index()].extents.iter().map(|e| (Ix::Lit(0), e)).collect(),
        Some(axes) => axes.iter().map(|(s, n)| (s.clone(), n)).collect(),
    }
}

fn inside(names: &Names<'_>, fun: &Fun, cx: &Context, view: &View, event: &Event, out: &mut Vec<Condition>) {
    let Some(axes) = &view.axes else { return };
    let info = &fun.buffers[view.buffer.index()];
    for ((start, len), extent) in axes.iter().zip(&info.extents) {
        let (s, n, e) = (cx.ix(start), cx.ix(len), cx.ix(extent));
        let end = Ix::Add(Box::new(start.clone()), Box::new(len.clone()));
        for (goal, text) in [
            (Term::Lit(0).le(s.clone()), format!("0 <= {}", names.ix(start))),
            (Term::Lit(0).le(n.clone()), format!("0 <= {}", names.ix(len))),
            (s.add(n).le(e), format!("{} <= {}", names.ix(&end), names.ix(extent))),
        ] {
            let claim = format!("a lent part stays inside {}: {text}", info.name);
            out.push(Condition::new(Kind::View, codes::BOUNDS, cx, goal, claim).at(view.span.0, "").at(event.span, ""));
        }
    }
}

/// A parameter's elements lie one after another, so those of a part that is lent must too: up to some axis it is at most
/// one index thick, and after that axis it is whole. A part without elements lies anywhere.
fn in_one_piece(names: &Names<'_>, fun: &Fun, cx: &Context, view: &View, event: &Event, out: &mut Vec<Condition>) {
    let Some(axes) = view.axes.as_ref().filter(|a| a.len() > 1) else { return };
    let info = &fun.buffers[view.buffer.index()];
    let mut ways: Vec<Formula> = axes.iter().map(|(_, len)| cx.ix(len).le(0)).collect();
    for cut in 0..axes.len() {
        let thin = axes[..cut].iter().map(|(_, len)| cx.ix(len).le(1));
        let whole = axes[cut + 1..]
            .iter()
            .zip(&info.extents[cut + 1..])
            .map(|((start, len), extent)| Formula::and([cx.ix(start).equals(0), cx.ix(len).equals(cx.ix(extent))]));
        ways.push(Formula::and(thin.chain(whole)));
    }
    let claim = format!("the lent part lies in one piece: {}", names.window(view.buffer, axes));
    out.push(
        Condition::new(Kind::Fits, codes::SIZE, cx, Formula::or(ways), claim)
            .at(view.span.0, "")
            .at(event.span, "")
            .note("the elements of a parameter lie one after another, and a function knows no other distances")
            .help("lend whole rows, or copy the part into an array of its own"),
    );
}

fn fits(
    names: &Names<'_>,
    fun: &Fun,
    cx: &Context,
    (view, param, subst, callee): (&View, &cachet_core::ir::BufferInfo, &Subst, &str),
    event: &Event,
    out: &mut Vec<Condition>,
) {
    let arg = &fun.buffers[view.buffer.index()].name;
    for (axis, ((_, len), want)) in lengths(fun, view).into_iter().zip(&param.extents).enumerate() {
        let want = subst.ix(want);
        if want == *len {
            continue;
        }
        let claim = format!(
            "{arg} fits `{}` of {callee}: axis {axis} has {}, wanted {}",
            param.name,
            names.ix(len),
            names.ix(&want)
        );
        let goal = cx.ix(len).equals(cx.ix(&want));
        out.push(Condition::new(Kind::Fits, codes::SIZE, cx, goal, claim).at(event.span, ""));
    }
}

/// What is lent to be written is apart from everything else lent at once. Two buffers of this function are apart if one
/// of them may be written (the caller of this function has proved so) or was made here; parts of one buffer are apart
/// if on some axis one ends before the other starts, or one is empty.
fn apart(program: &Program, fun: &Fun, cx: &Context, call: &Call, event: &Event, out: &mut Vec<Condition>) {
    let callee = &program.funs[call.fun.index()];
    let written = |i: usize| callee.params.get(i).is_some_and(|p| callee.buffers[p.index()].role == Role::Mut);
    for i in 0..call.args.len() {
        for j in i + 1..call.args.len() {
            let (a, b) = (&call.args[i], &call.args[j]);
            if root(fun, a.buffer) != root(fun, b.buffer) || !(written(i) || written(j)) {
                continue;
            }
            let mut ways = Vec::new();
            for ((s, n), (t, m)) in lengths(fun, a).into_iter().zip(lengths(fun, b)) {
                let (s, n, t, m) = (cx.ix(&s), cx.ix(n), cx.ix(&t), cx.ix(m));
                ways.push(s.clone().add(n.clone()).le(t.clone()));
                ways.push(t.add(m.clone()).le(s));
                ways.push(n.le(0));
                ways.push(m.le(0));
            }
            let names = Names::of(program, fun);
            let claim = format!(
                "the call of {} lends parts of one whole at once, which must be apart: Disjoint {} {}",
                callee.name,
                interval(&names, fun, a),
                interval(&names, fun, b)
            );
            let name = |i: usize| callee.params.get(i).map_or("", |p| &callee.buffers[p.index()].name);
            let part = &fun.buffers[a.buffer.index()].name;
            let writes = if written(j) { j } else { i };
            let c = Condition::new(Kind::Apart, codes::OVERLAP, cx, Formula::or(ways), claim)
                .at(event.span, format!("`{part}` is lent as `{}` and as `{}`", name(i), name(j)))
                .note(format!(
                    "`{}` writes its parameter {} ({}), so nothing else may overlap it",
                    callee.name,
                    writes + 1,
                    name(writes)
                ))
                .help(format!("lend another buffer as `{}`", name(writes)));
            out.push(c);
        }
    }
}

/// A lent region in words: a whole buffer as an interval of its allocation, a part as its box.
fn interval(names: &Names<'_>, fun: &Fun, view: &View) -> String {
    let info = &fun.buffers[view.buffer.index()];
    if let Some(axes) = &view.axes {
        return format!("(part {})", names.window(view.buffer, axes));
    }
    let literal = info.extents.iter().try_fold(1i64, |all, e| match e {
        Ix::Lit(n) => all.checked_mul(*n),
        _ => None,
    });
    let count = literal.map_or_else(
        || {
            info.extents
                .iter()
                .map(|e| match e {
                    Ix::Var(_) | Ix::Lit(_) => names.ix(e),
                    _ => format!("({})", names.ix(e)),
                })
                .collect::<Vec<_>>()
                .join(" * ")
        },
        |n| n.to_string(),
    );
    format!("(interval (allocated region) 0 ({count} * sizeof {}))", names.ty(&info.elem))
}
