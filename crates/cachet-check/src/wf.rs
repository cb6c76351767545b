//! Well-formedness: what is proved of every function, scheduled or not, for all sizes that satisfy its requirements.
//!
//! | kind | the condition |
//! | --- | --- |
//! | Bounds | every index of every access is at least 0 and below its extent |
//! | Initialised | whatever is read was written before, or came initialised |
//! | Written | every element of each `produces` buffer is written |
//! | Overflow | integer arithmetic fits its type, where it is written ([`overflow`]) |
//! | Converts | an index that becomes a word of an integer type fits it |
//! | Extent | a declared extent that is not a plain size is at least 0 |
//! | View | a lent box lies inside its buffer |
//! | Fits | an argument has the extents that the parameter declares; compared buffers have one shape |
//! | Requirement | a called function's requirements hold |
//! | Apart | what a call lends to be written is apart from everything else it lends |
//! | Windows, Window | see [`grid`] |
//! | Mask, Lanes | see [`lanes`] |
//!
//! Scope, types and arity are the validator's; it has run before. Index arithmetic is shown to fit 64 bits by intervals
//! ([`range`]), and the requirements are shown to have a witness.

mod dead;
mod grid;
mod init;
mod lanes;
mod lend;
pub mod overflow;
pub mod range;

pub use dead::dead;

use crate::condition::{Condition, Failure, Kind, Wording, misfit};
use crate::context::{Context, Shown};
use crate::events::{Contexts, Event, Frame, FrameKind, What, events};
use crate::formula::{Formula, Term};
use crate::proofs::Proofs;
use crate::prover::Verdict;
use cachet_core::ir::{
    Access, Buffer, BufferInfo, Domain, Elem, Fun, Ix, Layout, Local, Program, Role, Strides, Var, VarKind,
};
use cachet_core::layout;
use cachet_core::print::Names;
use cachet_core::rewrite::Live;
use cachet_core::vectors::count_of;
use cachet_source::{Diagnostic, Kind as Severity, codes};
use std::sync::Arc;

/// The conditions of a function, in the order in which they are reported.
///
/// # Errors
/// What can be refused without a proof: contradictory requirements, arithmetic beyond 64 bits, layouts that differ.
pub fn conditions(program: &Program, fun: &Fun, proofs: &mut Proofs) -> Result<Vec<Condition>, Box<Failure>> {
    witness(program, fun, proofs)?;
    range::check(program, fun)?;
    let events = events(fun);
    let names = Names::of(program, fun);
    let mut contexts = Contexts::new(fun);
    let mut out = Vec::new();
    for p in &fun.params {
        extents(&names, fun, *p, &Context::entry(fun), &mut out);
    }
    for event in &events {
        let cx = contexts.of(event);
        match &event.what {
            What::Read(a) | What::Write(a) => bounds(&names, fun, &cx, a, event, &mut out),
            What::Cell(l, at) => cells(&names, fun, &cx, (*l, at), event, &mut out),
            What::Alloc(b) => extents(&names, fun, *b, &cx, &mut out),
            What::Compare(a, b) => same_shape(&names, fun, &cx, (*a, *b), event, &mut out),
            What::Call(c) => lend::call(program, fun, &cx, c, event, &mut out)?,
            What::Convert(ix, elem) => converts(&names, &cx, (ix, *elem), event, &mut out),
            What::ReadAll(_) => {}
        }
    }
    grid::conditions(program, fun, &mut out)?;
    lanes::conditions(program, fun, &mut out);
    init::reads(program, fun, &events, &mut contexts, &mut out);
    init::produced(program, fun, &events, &mut out);
    Ok(out)
}

/// The buffer itself, of a lease.
pub(crate) fn root(fun: &Fun, mut buffer: Buffer) -> Buffer {
    // A lease names a buffer declared before it, so this ends.
    while let Role::Lease(of) = fun.buffers[buffer.index()].role {
        if of >= buffer {
            break;
        }
        buffer = of;
    }
    buffer
}

/// Every function's requirements have a witness: from a contradiction everything would follow.
fn witness(program: &Program, fun: &Fun, proofs: &mut Proofs) -> Result<(), Box<Failure>> {
    if fun.requires.is_empty() {
        return Ok(());
    }
    let cx = Context::entry(fun);
    let (severity, text) = match proofs.witness(&cx) {
        Verdict::Refuted(_) => return Ok(()),
        Verdict::Proved(_) => (Severity::Error, "no sizes satisfy the requirements of"),
        Verdict::Undecided { .. } => {
            (Severity::NotDecided, "could not decide whether any sizes satisfy the requirements of")
        }
    };
    let names = Names::of(program, fun);
    let all: Vec<String> = fun.requires.iter().map(|g| names.requirement(g)).collect();
    let d = Diagnostic::new(severity, codes::CONTRADICTION, format!("{text} `{}`", fun.name))
        .at(fun.span.0, "")
        .note(format!("together they are {}", all.join(", ")));
    Err(misfit(Kind::Requirement, d))
}

fn bounds(names: &Names<'_>, fun: &Fun, cx: &Context, a: &Access, event: &Event, out: &mut Vec<Condition>) {
    let info = &fun.buffers[a.buffer.index()];
    let outside: Arc<str> = format!("`{}` may be outside", names.access(a)).into();
    let has: Arc<str> = format!("`{}` has {} here", info.name, extent_words(names, info)).into();
    let place = place(a.span.0, event.span);
    let (what, zero): (Arc<str>, Arc<str>) = (format!("an access stays inside {}", info.name).into(), "0".into());
    for (ix, extent) in a.at.iter().zip(&info.extents) {
        let goal = Formula::within(0, cx.ix(ix), cx.ix(extent));
        let (x, hi) = (names.ix(ix).into(), names.ix(extent).into());
        let claim = Wording::Within { what: what.clone(), lo: zero.clone(), x, hi };
        let mut c = Condition::new(Kind::Bounds, codes::BOUNDS, cx, goal, claim);
        if let Some((lane, masked)) = lane_of(fun, ix, event) {
            c = c.note(format!("`{}` counts the lanes of the vector", names.var(lane)));
            if !masked {
                c = c.help("lanes beyond the end are left out by a mask: `store c[g.lo ..+ 8] = x mask g.len`");
            }
        }
        out.push(c.at(place, outside.clone()).at(info.span.0, has.clone()));
    }
}

/// The lane that an index depends on, and whether some of the lanes are left out.
fn lane_of(fun: &Fun, ix: &Ix, event: &Event) -> Option<(Var, bool)> {
    let lane = Live::of_ix(ix).vars.into_iter().find(|v| count_of(&fun.vars, *v).is_some())?;
    let whole = count_of(&fun.vars, lane).map(Ix::Lit)?;
    let all =
        |f: &Frame| matches!(&f.kind, FrameKind::Loop(v, Domain::Range { lo: _, hi }) if *v == lane && *hi == whole);
    Some((lane, !event.frames.iter().any(all)))
}

/// As [`bounds`], of a local array.
fn cells(names: &Names<'_>, fun: &Fun, cx: &Context, (l, at): (Local, &[Ix]), event: &Event, out: &mut Vec<Condition>) {
    let info = &fun.locals[l.index()];
    for (ix, n) in at.iter().zip(&info.dims) {
        let goal = Formula::within(0, cx.ix(ix), i128::from(*n));
        let what = format!("an access stays inside {}", info.name).into();
        let claim = Wording::Within { what, lo: "0".into(), x: names.ix(ix).into(), hi: n.to_string().into() };
        let note = format!("`{}` has {n} cells there", info.name);
        out.push(Condition::new(Kind::Bounds, codes::BOUNDS, cx, goal, claim).at(event.span, "").note(note));
    }
}

/// An index that becomes an integer word has to fit its type; a float takes any, rounded.
fn converts(names: &Names<'_>, cx: &Context, (ix, elem): (&Ix, Elem), event: &Event, out: &mut Vec<Condition>) {
    let bits = 8 * elem.bytes() as u32;
    let (lo, hi) = match elem {
        Elem::F64 | Elem::F32 | Elem::F16 | Elem::BF16 | Elem::Bool => return,
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => (0, (1i128 << bits) - 1),
    };
    let i = cx.ix(ix);
    let text = names.ix(ix);
    let sides = [(Term::Lit(lo).le(i.clone()), format!("{lo} <= {text}")), (i.le(hi), format!("{text} <= {hi}"))];
    for (goal, side) in sides {
        let claim = format!("an index fits {elem}: {side}");
        let c = Condition::new(Kind::Converts, codes::OVERFLOW, cx, goal, claim).at(event.span, "");
        out.push(c.help(format!("bound its range by `requires`, or use a wider type: `{text} as i64`")));
    }
}

/// The access's own place where it has one.
fn place(own: cachet_source::Span, stmt: cachet_source::Span) -> cachet_source::Span {
    if own.lo == own.hi { stmt } else { own }
}

fn extent_words(names: &Names<'_>, info: &BufferInfo) -> String {
    let extents: Vec<String> = info.extents.iter().map(|e| names.ix(e)).collect();
    match extents.len() {
        1 => format!("{} elements", extents[0]),
        _ => format!("the extents {}", extents.join(", ")),
    }
}

fn extents(names: &Names<'_>, fun: &Fun, buffer: Buffer, cx: &Context, out: &mut Vec<Condition>) {
    let info = &fun.buffers[buffer.index()];
    for e in &info.extents {
        match e {
            Ix::Var(v) if fun.vars[v.index()].kind == VarKind::Size => {}
            Ix::Lit(n) if *n >= 0 => {}
            _ => out.push(
                Condition::new(
                    Kind::Extent,
                    codes::SIZE,
                    cx,
                    Term::Lit(0).le(cx.ix(e)),
                    format!("an extent of {} is not negative: 0 <= {}", info.name, names.ix(e)),
                )
                .at(info.span.0, "")
                .help(format!("add `requires {} >= 0`", names.ix(e))),
            ),
        }
    }
    divided(names, info, cx, out);
}

/// Where a layout cuts an axis without filling up the last group, there must be none to fill up.
fn divided(names: &Names<'_>, info: &BufferInfo, cx: &Context, out: &mut Vec<Condition>) {
    for (extent, by) in layout::divided(&info.layout, &info.extents) {
        let rest = Ix::Mod(Box::new(extent), by);
        let text = format!("{} == 0", names.ix(&rest));
        let claim = format!("the layout of {} makes whole groups: {text}", info.name);
        let c = Condition::new(Kind::Multiple, codes::SIZE, cx, cx.ix(&rest).equals(0), claim).at(info.span.0, "");
        out.push(c.help(format!("add `requires {text}`, or let the layout fill up the last group: `split .. pad`")));
    }
}

fn same_shape(
    names: &Names<'_>,
    fun: &Fun,
    cx: &Context,
    pair: (Buffer, Buffer),
    event: &Event,
    out: &mut Vec<Condition>,
) {
    let (a, b) = (&fun.buffers[pair.0.index()], &fun.buffers[pair.1.index()]);
    for (x, y) in a.extents.iter().zip(&b.extents) {
        let claim = format!("{} and {} have the same extents: {} == {}", a.name, b.name, names.ix(x), names.ix(y));
        out.push(Condition::new(Kind::Fits, codes::SIZE, cx, cx.ix(x).equals(cx.ix(y)), claim).at(event.span, ""));
    }
}

/// A fresh tuple inside a box, as unknowns of the context.
fn somewhere(cx: &mut Context, starts_lens: &[(Term, Term)]) -> Vec<Term> {
    starts_lens
        .iter()
        .enumerate()
        .map(|(axis, (start, len))| {
            let y = cx.unknown(Shown::Hidden(format!("y{axis}")));
            cx.fact(Formula::within(start.clone(), y.clone(), start.clone().add(len.clone())));
            y
        })
        .collect()
}

/// Whether an argument lies in memory as its parameter declares.
fn same_layout(a: (&Layout, &Strides), b: (&Layout, &Strides)) -> bool {
    layout::ops(a.0) == layout::ops(b.0) && a.1 == b.1
}
