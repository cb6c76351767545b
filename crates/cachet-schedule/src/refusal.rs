//! Why a step could not be applied.

use crate::capture::{Arg, Args};
use crate::find::Reason;
use crate::{loops, show};
use cachet_core::ir::{Fun, Var, VarKind};
use cachet_core::pattern::{Pat, StepDef};
use cachet_core::rewrite::Live;
use cachet_core::script::StepCall;
use cachet_source::{Diagnostic, Span, codes, nearest};
use std::collections::BTreeSet;

/// Adds the calls of schedule functions that lead to a step.
pub fn with_callers(d: Diagnostic, call: &StepCall) -> Diagnostic {
    call.callers.iter().rev().fold(d, |d, c| d.also(*c, "called from here"))
}

/// No step of that name.
pub fn unknown_step(call: &StepCall, steps: &[StepDef]) -> Diagnostic {
    let d = Diagnostic::error(codes::UNKNOWN_NAME, call.span, format!("there is no step `{}`", call.name));
    let d = match nearest(&call.name, steps.iter().map(|s| s.name.as_str())) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help("the library's steps come with `import \"cachet:steps\"`"),
    };
    with_callers(d, call)
}

/// No buffer of that name.
pub fn unknown_buffer(fun: &Fun, name: &str, span: Span, call: &StepCall) -> Diagnostic {
    let d = Diagnostic::error(codes::UNKNOWN_NAME, span, format!("there is no array `{name}` in `{}`", fun.name));
    let live = Live::of(fun);
    let known: Vec<&str> = live.buffers.iter().map(|b| fun.buffers[b.index()].name.as_str()).collect();
    let d = match nearest(name, known.iter().copied()) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.note(format!("the arrays are {}", known.join(", "))),
    };
    with_callers(d, call)
}

/// A loop that does not exist.
fn unknown_loop(fun: &Fun, name: &str, call: &StepCall) -> Diagnostic {
    let message = format!("there is no loop or sum over `{name}` in the program at this step");
    let d = Diagnostic::error(codes::UNKNOWN_NAME, call.span, message);
    with_callers(with_loops(d, fun, name), call)
}

/// Adds the loop that may be meant by a name, or all loops.
pub fn with_loops(d: Diagnostic, fun: &Fun, name: &str) -> Diagnostic {
    let known = loops_of(fun);
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => d.note("it has no loops"),
        None => d.note(format!("its nests are {}", loops::nests(fun))),
    }
}

fn loops_of(fun: &Fun) -> BTreeSet<String> {
    let live = Live::of(fun);
    let loops =
        live.vars.iter().map(|v| &fun.vars[v.index()]).filter(|v| matches!(v.kind, VarKind::Index | VarKind::Block));
    loops.map(|v| v.name.clone()).collect()
}

/// The pattern is nowhere; the reason is the nearest place's, if there is a place to look at.
pub fn no_match(fun: &Fun, step: &StepDef, args: &Args, call: &StepCall, reason: Option<Reason>) -> Diagnostic {
    for (name, nth) in args.values().flat_map(wanted_loops) {
        if !loops_of(fun).contains(name) {
            return unknown_loop(fun, name, call);
        }
        let order = loops::of(&fun.body);
        let count = order.iter().filter(|v| fun.vars[v.index()].name == *name && !loops::is_lane(fun, **v)).count();
        if nth.is_some_and(|n| n == 0 || n as usize > count) {
            let n = nth.unwrap_or(0);
            let are = if count == 1 { "there is 1".to_string() } else { format!("there are {count}") };
            let message = format!("number {n} of the loops over `{name}` is asked for, and {are}");
            return with_callers(Diagnostic::error(codes::STEP_ARGUMENT, call.span, message), call);
        }
    }
    let kind = wrong_kind(fun, step, args);
    let nearest = if kind.is_some() { None } else { reason.as_ref() };
    let why = kind.as_deref().or(nearest.map(|r| r.text.as_str())).unwrap_or("it has no place with as many statements");
    let mut d =
        Diagnostic::error(codes::NO_MATCH, call.span, format!("`{}` does not fit the program: {why}", step.name));
    // A place that another step made is no place of the user's file.
    let here = |s: &Span| s.lo != s.hi && *s != call.span && (s.file == call.span.file || s.file == fun.span.0.file);
    if let Some(span) = nearest.map(|r| r.span).filter(here) {
        d = d.also(span, "the nearest place is made here");
    }
    d = d.note(format!("the nests of the program are {}", loops::nests(fun)));
    d = d.note(format!("`{}` looks for\n{}", show::head(step), show::from(step)));
    if kind.is_some() {
        d = d.help("`zero` and then `hoist` or `order` make a loop of a sum");
    }
    if why.contains(FROM_ITS_CELL) {
        d = d.help("run `zero` first: it writes the start to the cells and lets the sum continue from there");
    }
    with_callers(d, call)
}

/// A loop that is named where the pattern has a sum, or a sum where it has a loop.
fn wrong_kind(fun: &Fun, step: &StepDef, args: &Args) -> Option<String> {
    let mut wanted = Vec::new();
    looped(&step.from, &mut wanted);
    let all = loops::of(&fun.body);
    wanted.into_iter().find_map(|param| {
        let Some(Arg::Loop(name, None)) = args.get(param) else { return None };
        let mut named = all.iter().filter(|v| fun.vars[v.index()].name == *name).peekable();
        named.peek()?;
        let is_sum = |v: &Var| !loops::is_loop(&fun.body, *v);
        named
            .all(is_sum)
            .then(|| format!("`{name}` is a sum at this step, and `{}` wants a loop for `{param}`", show::head(step)))
    })
}

/// The parameters that stand for loops of a pattern.
fn looped<'a>(pats: &'a [Pat], out: &mut Vec<&'a str>) {
    for pat in pats {
        match pat {
            Pat::For { var, body, .. } | Pat::Grid { var, body, .. } => {
                out.push(var);
                looped(body, out);
            }
            Pat::ForAll { body, .. } => looped(body, out),
            Pat::If { then, els, .. } => {
                looped(then, out);
                looped(els, out);
            }
            Pat::Hole(..) | Pat::Let { .. } | Pat::Var { .. } | Pat::Assign { .. } | Pat::Store { .. } => {}
        }
    }
}

/// How the commonest reason ends.
pub const FROM_ITS_CELL: &str = "has to start from what its cell holds";

fn wanted_loops(arg: &Arg) -> Vec<(&String, Option<u32>)> {
    match arg {
        Arg::Loop(name, nth) => vec![(name, *nth)],
        Arg::Loops(all) => all.iter().map(|(name, nth)| (name, *nth)).collect(),
        Arg::Buffer(_) | Arg::New(_) | Arg::Size(_) => vec![],
    }
}

/// The pattern is in two places at one depth.
pub fn ambiguous(call: &StepCall, args: &Args, places: &[Span]) -> Diagnostic {
    let message = format!("`{}` fits {} places in the program", call.name, places.len());
    let mut d = Diagnostic::error(codes::AMBIGUOUS, call.span, message);
    for (i, p) in places.iter().enumerate() {
        if p.lo != p.hi {
            d = d.also(*p, format!("place {}", i + 1));
        }
    }
    let name = args.values().flat_map(wanted_loops).next().map_or("i", |(name, _)| name);
    let help =
        format!("write the loop's name with a number: `{name}#2` is the second loop over `{name}` in the program");
    with_callers(d.help(help), call)
}

/// A step's own text names something that is not there.
pub fn unbound(step: &StepDef, name: &str, call: &StepCall) -> Diagnostic {
    let message = format!("`to` of `{}` uses `{name}`, which nothing before it binds", step.name);
    with_callers(Diagnostic::error(codes::STEP_ARGUMENT, step.span.0, message).also(call.span, "asked for here"), call)
}

/// A step's own text that cannot be built.
pub fn unbuildable(step: &StepDef, what: &str, call: &StepCall) -> Diagnostic {
    let message = format!("`{}` cannot be applied here: {what}", step.name);
    with_callers(Diagnostic::error(codes::STEP_ARGUMENT, call.span, message).also(step.span.0, "the step"), call)
}

/// A name to introduce that means something already.
pub fn taken(step: &StepDef, name: &str, call: &StepCall) -> Diagnostic {
    let message =
        format!("`{}` would make `{name}`, a name that is reserved or in use where it would stand", step.name);
    let d = Diagnostic::error(codes::STEP_ARGUMENT, call.span, message);
    with_callers(d.help(format!("give `{}` another name for it", step.name)), call)
}
