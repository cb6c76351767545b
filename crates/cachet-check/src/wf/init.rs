//! Written before read, and written everywhere.
//!
//! Theorem. Let a read happen at a context `G` at the tuple `h`. If for some writer `w` there are loop values `x`, given
//! as terms over what is known at the read, such that `G` implies that `x` lies in `w`'s domain, that `w` at `x` writes
//! the cell `h`, and `w` at `x` comes before the read in program order, then the cell has been written. The witness `x`
//! is a guess (the writer's subscripts solved for its loop variables); the condition says everything that makes it one.
//!
//! Near miss: a writer inside a loop that may not run. Its variable gets the loop's first value, whose membership in the
//! domain is part of the condition and fails at the size 0.
//!
//! A buffer that is made inside a loop is another one each time: only iterations of loops inside its own scope count as
//! earlier ones.
//!
//! A buffer that a call takes as scratch is unspecified afterwards: writers that are not surely later do not count.

use super::{root, somewhere};
use crate::condition::{Condition, Kind};
use crate::context::Context;
use crate::events::{Contexts, Event, Frame, FrameKind, INSIDE, What};
use crate::formula::{Formula, Term};
use cachet_core::ir::{Buffer, Call, Domain, Fun, Guard, Ix, Program, Role, Var};
use cachet_core::print::Names;
use cachet_core::rewrite::{Live, Visit};
use cachet_source::codes;
use std::collections::BTreeMap;

/// A condition is a disjunction over at most this many witnesses.
const MOST_WITNESSES: usize = 32;

/// Every read of something that did not come initialised.
pub(super) fn reads(
    program: &Program,
    fun: &Fun,
    events: &[Event],
    contexts: &mut Contexts<'_>,
    out: &mut Vec<Condition>,
) {
    let names = Names::of(program, fun);
    let writers = Writers::of(program, fun, events);
    for event in events {
        match &event.what {
            What::Read(a) => {
                let buffer = root(fun, a.buffer);
                if comes_initialised(fun, buffer) {
                    continue;
                }
                let cx = contexts.of(event);
                let at = cx.tuple(&a.at);
                let goal = writers.written(&cx, Some(event), buffer, &at);
                let claim = format!("{} is written before it is read", names.access(a));
                let span = if a.span.0.lo == a.span.0.hi { event.span } else { a.span.0 };
                let text = format!("`{}` may not have been written", names.access(a));
                out.push(Condition::new(Kind::Initialised, codes::UNINITIALISED, &cx, goal, claim).at(span, text));
            }
            What::ReadAll(b) => whole(fun, &writers, (event, contexts.of(event)), root(fun, *b), None, out),
            What::Call(c) => {
                for (view, param) in c.args.iter().zip(&program.funs[c.fun.index()].params) {
                    let callee = &program.funs[c.fun.index()];
                    if !callee.produces.contains(param) && !callee.scratch.contains(param) {
                        let here = (event, contexts.of(event));
                        whole(fun, &writers, here, root(fun, view.buffer), view.axes.as_deref(), out);
                    }
                }
            }
            What::Write(_) | What::Cell(..) | What::Convert(..) | What::Compare(..) | What::Alloc(_) => {}
        }
    }
}

/// Every element of each produced buffer.
pub(super) fn produced(program: &Program, fun: &Fun, events: &[Event], out: &mut Vec<Condition>) {
    let writers = Writers::of(program, fun, events);
    for b in &fun.produces {
        let mut cx = Context::entry(fun);
        let at = all_of(fun, &mut cx, *b, None);
        let goal = writers.written(&cx, None, *b, &at);
        let info = &fun.buffers[b.index()];
        out.push(
            Condition::new(
                Kind::Written,
                codes::NOT_WRITTEN,
                &cx,
                goal,
                format!("every cell of {} is written", info.name),
            )
            .at(info.span.0, format!("`{}` is an output: the caller relies on all of it", info.name)),
        );
    }
}

fn comes_initialised(fun: &Fun, buffer: Buffer) -> bool {
    match fun.buffers[buffer.index()].role {
        Role::Reads => true,
        Role::Mut => !fun.produces.contains(&buffer) && !fun.scratch.contains(&buffer),
        Role::Alloc | Role::Lease(_) => false,
    }
}

fn whole(
    fun: &Fun,
    writers: &Writers,
    (event, mut cx): (&Event, Context),
    buffer: Buffer,
    axes: Option<&[(Ix, Ix)]>,
    out: &mut Vec<Condition>,
) {
    if comes_initialised(fun, buffer) {
        return;
    }
    let at = all_of(fun, &mut cx, buffer, axes);
    let goal = writers.written(&cx, Some(event), buffer, &at);
    let name = &fun.buffers[buffer.index()].name;
    let claim = format!("every cell of {name} is written before it is read");
    let text = format!("all of `{name}` is read here");
    out.push(Condition::new(Kind::Initialised, codes::UNINITIALISED, &cx, goal, claim).at(event.span, text));
}

fn all_of(fun: &Fun, cx: &mut Context, buffer: Buffer, axes: Option<&[(Ix, Ix)]>) -> Vec<Term> {
    let bounds: Vec<(Term, Term)> = match axes {
        Some(axes) => axes.iter().map(|(s, n)| (cx.ix(s), cx.ix(n))).collect(),
        None => fun.buffers[buffer.index()].extents.iter().map(|e| (Term::Lit(0), cx.ix(e))).collect(),
    };
    somewhere(cx, &bounds)
}

/// What a writer writes: a cell, or a box of cells.
#[derive(Clone, Debug)]
enum Cells {
    One(Vec<Ix>),
    Box(Vec<(Ix, Ix)>),
}

struct Writer {
    event: Event,
    buffer: Buffer,
    cells: Cells,
}

impl Writer {
    /// Whether it writes more than a cell, with the statements that it shares with a reader as they are there.
    fn fills(&self, shared: usize) -> bool {
        let own = |f: &Frame| f.depth != INSIDE && f.depth > shared && matches!(f.kind, FrameKind::Loop(..));
        matches!(self.cells, Cells::Box(_)) || self.event.frames.iter().any(own)
    }

    /// Whether it plainly writes another cell: by one number where another is asked for.
    fn misses(&self, at: &[Term]) -> bool {
        let Cells::One(cell) = &self.cells else { return false };
        cell.iter().zip(at).any(|(ix, t)| matches!((ix, t), (Ix::Lit(n), Term::Lit(m)) if i128::from(*n) != *m))
    }
}

struct Writers {
    writers: Vec<Writer>,
    /// Calls that leave a buffer unspecified.
    kills: Vec<(Event, Buffer)>,
    /// How many statements enclose the place where a buffer is made.
    made: BTreeMap<Buffer, usize>,
}

impl Writers {
    fn of(program: &Program, fun: &Fun, events: &[Event]) -> Writers {
        let mut out = Writers { writers: Vec::new(), kills: Vec::new(), made: BTreeMap::new() };
        for event in events {
            match &event.what {
                What::Write(a) => out.writers.push(Writer {
                    event: event.clone(),
                    buffer: root(fun, a.buffer),
                    cells: Cells::One(a.at.clone()),
                }),
                What::Call(c) => out.call(program, fun, event, c),
                What::Alloc(b) => {
                    out.made.insert(*b, event.path.len());
                }
                What::Read(_) | What::Cell(..) | What::Convert(..) | What::ReadAll(_) | What::Compare(..) => {}
            }
        }
        out
    }

    fn call(&mut self, program: &Program, fun: &Fun, event: &Event, c: &Call) {
        let callee = &program.funs[c.fun.index()];
        for (view, param) in c.args.iter().zip(&callee.params) {
            let buffer = root(fun, view.buffer);
            if callee.scratch.contains(param) {
                self.kills.push((event.clone(), buffer));
            } else if callee.produces.contains(param) {
                let axes = view.axes.clone().unwrap_or_else(|| {
                    fun.buffers[buffer.index()].extents.iter().map(|e| (Ix::Lit(0), e.clone())).collect()
                });
                self.writers.push(Writer { event: event.clone(), buffer, cells: Cells::Box(axes) });
            }
        }
    }

    /// That the cell was written before the reader, or at all where there is none.
    fn written(&self, cx: &Context, reader: Option<&Event>, buffer: Buffer, at: &[Term]) -> Formula {
        let (mut before, mut around) = (Vec::new(), Vec::new());
        let outside = self.made.get(&buffer).copied().unwrap_or(0);
        let may = |w: &&Writer| w.buffer == buffer && !w.misses(at) && !self.killed(w);
        for w in self.writers.iter().rev().filter(may) {
            match order(&w.event, reader) {
                Order::Before(shared) => before.push((w, shared)),
                Order::Around(shared) => around.push((w, shared)),
            }
        }
        let before_all = before.iter().map(|(w, shared)| witness(cx, w, *shared, None, at));
        // Where a loop of writers precedes the read outright, earlier iterations of the read's own loops add nothing but
        // cases. A single cell written first is where a running total starts; the others come from those iterations.
        let filled = before.iter().any(|(w, shared)| w.fills(*shared));
        let around = around.iter().take(if filled { 0 } else { usize::MAX });
        let earlier = around.flat_map(|(w, shared)| earlier_iterations(cx, w, outside..*shared, at));
        Formula::or(before_all.chain(earlier).take(MOST_WITNESSES))
    }

    /// Whether the buffer may be unspecified after this writer because of a call.
    fn killed(&self, w: &Writer) -> bool {
        self.kills
            .iter()
            .any(|(kill, buffer)| *buffer == w.buffer && !matches!(order(kill, Some(&w.event)), Order::Before(0)))
    }
}

enum Order {
    /// Every event of the first under equal values of so many enclosing statements comes before the second.
    Before(usize),
    /// Not outright; so many enclosing statements are shared.
    Around(usize),
}

fn order(first: &Event, second: Option<&Event>) -> Order {
    let Some(second) = second else { return Order::Before(0) };
    let shared = first.path.iter().zip(&second.path).take_while(|(a, b)| a == b).count();
    let position = |e: &Event| e.path.get(shared).map_or(e.at, |t| t.at);
    if position(first) < position(second) { Order::Before(shared) } else { Order::Around(shared) }
}

/// Witnesses in an earlier iteration of a loop that encloses both, at a depth above `depths.start` and up to its end: its
/// first, and the one before. Loops that the cell does not mention come first, the innermost before those around it: they
/// return to a cell.
fn earlier_iterations(cx: &Context, w: &Writer, depths: std::ops::Range<usize>, at: &[Term]) -> Vec<Formula> {
    let mut out = Vec::new();
    let mentioned: Live = match &w.cells {
        Cells::One(cell) => live_of(cell.iter()),
        Cells::Box(axes) => live_of(axes.iter().flat_map(|(s, n)| [s, n])),
    };
    let mut around: Vec<&Frame> =
        w.event.frames.iter().filter(|f| depths.start < f.depth && f.depth <= depths.end).collect();
    around.sort_by_key(|f| match &f.kind {
        FrameKind::Loop(var, _) => (mentioned.vars.contains(var), std::cmp::Reverse(f.depth)),
        FrameKind::Guard(..) => (true, std::cmp::Reverse(0)),
    });
    for frame in around {
        let FrameKind::Loop(var, domain) = &frame.kind else { continue };
        let Some(now) = cx.counter(*var) else { continue };
        let first = match domain {
            Domain::Range { lo, .. } => cx.ix(lo),
            Domain::Blocks { .. } => Term::Lit(0),
        };
        for then in [first, now.clone().sub(1)] {
            let earlier = then.clone().lt(now.clone());
            let there = witness(cx, w, frame.depth - 1, Some((*var, then)), at);
            out.push(Formula::and([earlier, there]));
        }
    }
    out
}

fn live_of<'i>(ixs: impl Iterator<Item = &'i Ix>) -> Live {
    let mut live = Live::default();
    ixs.for_each(|i| live.ix(i));
    live
}

/// That the writer, with loops up to depth `shared` as at the reader, one loop perhaps moved, and the others solved
/// for, runs and writes the cell.
fn witness(cx: &Context, w: &Writer, shared: usize, moved: Option<(Var, Term)>, at: &[Term]) -> Formula {
    let frames: Vec<&Frame> = w.event.frames.iter().filter(|f| f.depth != INSIDE && f.depth > shared).collect();
    let mut there = cx.clone();
    if let Some((var, then)) = &moved {
        let domain = frames.iter().find_map(|f| match &f.kind {
            FrameKind::Loop(v, d) if v == var => Some(d),
            FrameKind::Loop(..) | FrameKind::Guard(..) => None,
        });
        domain.iter().for_each(|d| there.place(*var, d, then.clone()));
    }
    let solved = match &w.cells {
        Cells::One(cell) => solve(&frames, moved.as_ref().map(|m| m.0), cell.iter(), &there, at),
        // The box that starts last at or before the cell, along each axis.
        Cells::Box(axes) => {
            solve(&frames, moved.as_ref().map(|m| m.0), axes.iter().map(|(start, _)| start), &there, at)
        }
    };
    let mut parts = Vec::new();
    for frame in &frames {
        match &frame.kind {
            FrameKind::Loop(var, domain) => {
                let value = match &moved {
                    Some((v, t)) if v == var => t.clone(),
                    _ => solved.get(var).cloned().unwrap_or_else(|| match domain {
                        Domain::Range { lo, .. } => there.ix(lo),
                        Domain::Blocks { .. } => Term::Lit(0),
                    }),
                };
                there.place(*var, domain, value);
                parts.push(there.membership(*var, domain));
            }
            FrameKind::Guard(g, true) => parts.push(there.guard(g)),
            FrameKind::Guard(g, false) => parts.push(there.guard(&Guard::Not(Box::new(g.clone())))),
        }
    }
    match &w.cells {
        Cells::One(cell) => parts.push(crate::condition::same_tuple(&there.tuple(cell), at)),
        Cells::Box(axes) => {
            for ((start, len), y) in axes.iter().zip(at) {
                let start = there.ix(start);
                parts.push(Formula::within(start.clone(), y.clone(), start.add(there.ix(len))));
            }
        }
    }
    Formula::and(parts)
}

/// Loop values at which the subscripts `cell` give the tuple `at`, for as many loops as can be found. A subscript with one
/// loop left gives that loop, `d - i` with `i` known; one with several is read as a number in mixed radix,
/// `16 * gi + 4 * ui + i`. A loop that is found and starts at a place that another one gives, `i in g.lo .. g.hi`, gives
/// the other. A loop that comes by its quotient and its remainder, `l / 8` and `l % 8`, is found from both.
fn solve<'i>(
    frames: &[&Frame],
    fixed: Option<Var>,
    cell: impl Iterator<Item = &'i Ix>,
    cx: &Context,
    at: &[Term],
) -> BTreeMap<Var, Term> {
    let loops: Vec<(Var, Domain)> = frames
        .iter()
        .filter_map(|f| match &f.kind {
            FrameKind::Loop(v, d) if Some(*v) != fixed => Some((*v, d.clone())),
            FrameKind::Loop(..) | FrameKind::Guard(..) => None,
        })
        .collect();
    let unknown: BTreeMap<Var, Domain> = loops.iter().cloned().collect();
    let mut out: BTreeMap<Var, Term> = BTreeMap::new();
    let mut equations: Vec<(Linear, Term)> = Vec::new();
    let mut parts = Parts(Vec::new());
    for (ix, target) in cell.zip(at) {
        let mut linear = Linear::default();
        if linear.add(ix, 1, &unknown, cx, &mut parts) {
            equations.push((linear, target.clone()));
        }
    }
    // Each round finds a loop or ends.
    loop {
        let found = out.len();
        for (linear, target) in &equations {
            one_left(linear, target, &mut out);
        }
        if out.len() > found {
            continue;
        }
        if let Some((linear, target)) = equations.iter().find(|(l, _)| l.left(&out).count() > 1) {
            mixed_radix(linear, target, &loops, &unknown, cx, &mut out);
        }
        if out.len() == found {
            parts.joined(&mut out);
        }
        if out.len() == found {
            from_starts(&loops, &unknown, cx, &mut out);
        }
        if out.len() == found {
            return out;
        }
    }
}

/// Quotients and remainders of loops, as unknowns of their own: the loop, by what, whether it is the remainder.
struct Parts(Vec<(Var, i64, bool)>);

impl Parts {
    /// The unknown, which is no variable of the function.
    fn unknown(&mut self, part: (Var, i64, bool)) -> Var {
        let at = self.0.iter().position(|p| *p == part).unwrap_or_else(|| {
            self.0.push(part);
            self.0.len() - 1
        });
        Var(u32::MAX - at as u32)
    }

    /// The loops of which both are found.
    fn joined(&mut self, out: &mut BTreeMap<Var, Term>) {
        for (v, n, remainder) in self.0.clone() {
            let mut part = |remainder| out.get(&self.unknown((v, n, remainder))).cloned();
            if let (false, Some(q), Some(r)) = (remainder || out.contains_key(&v), part(false), part(true)) {
                out.insert(v, q.times(i128::from(n)).add(r));
            }
        }
    }
}

/// The loop of an equation where all others are known.
fn one_left(linear: &Linear, target: &Term, out: &mut BTreeMap<Var, Term>) {
    let left: Vec<(Var, i128)> = linear.left(out).collect();
    let [(v, c)] = left[..] else { return };
    let rest = linear.rest(target, out);
    let value = match c {
        c if c > 0 => quotient(rest, c),
        c => quotient(rest.times(-1), -c),
    };
    out.insert(v, value);
}

fn quotient(rest: Term, c: i128) -> Term {
    if c == 1 { rest } else { rest.div(c) }
}

/// The loops of an equation as the digits of a number, the largest factor first; of equal factors the outer loop has the
/// number and the inner one nothing, as with blocks of one. A loop whose factor has another sign than the largest one, as
/// in a walk from the end of a strip, is a digit by what is left to its end.
fn mixed_radix(
    linear: &Linear,
    target: &Term,
    loops: &[(Var, Domain)],
    unknown: &BTreeMap<Var, Domain>,
    cx: &Context,
    out: &mut BTreeMap<Var, Term>,
) {
    let mut digits: Vec<(Var, i128)> = linear.left(out).collect();
    let depth = |v: &Var| loops.iter().position(|(x, _)| x == v);
    digits.sort_by_key(|(v, c)| (std::cmp::Reverse(c.unsigned_abs()), depth(v)));
    let mut rest = linear.rest(target, out);
    if digits.first().is_some_and(|(_, c)| *c < 0) {
        digits.iter_mut().for_each(|(_, c)| *c = -*c);
        rest = rest.times(-1);
    }
    let mut ends: BTreeMap<Var, Term> = BTreeMap::new();
    for (v, c) in digits.iter_mut().filter(|(_, c)| *c < 0) {
        let Some(Domain::Range { hi, .. }) = unknown.get(v) else { return };
        if Live::of_ix(hi).vars.iter().any(|x| unknown.contains_key(x)) {
            return;
        }
        let last = cx.ix(hi).sub(Term::Lit(1));
        rest = rest.sub(last.clone().times(*c));
        ends.insert(*v, last);
        *c = -*c;
    }
    let last = digits.len();
    for (n, (v, c)) in digits.into_iter().enumerate() {
        let digit = quotient(rest.clone(), c);
        out.insert(v, ends.remove(&v).map_or(digit.clone(), |end| end.sub(digit)));
        if n + 1 < last {
            rest = if c == 1 { Term::Lit(0) } else { rest.rem(c) };
        }
    }
}

/// Loops that the start of a known one is made of.
fn from_starts(loops: &[(Var, Domain)], unknown: &BTreeMap<Var, Domain>, cx: &Context, out: &mut BTreeMap<Var, Term>) {
    for (v, domain) in loops {
        let (Some(value), Domain::Range { lo, .. }) = (out.get(v).cloned(), domain) else { continue };
        let mut linear = Linear::default();
        if linear.add(lo, 1, unknown, cx, &mut Parts(Vec::new())) {
            one_left(&linear, &value, out);
        }
    }
}

struct Linear {
    coefficients: BTreeMap<Var, i128>,
    known: Term,
}

impl Default for Linear {
    fn default() -> Linear {
        Linear { coefficients: BTreeMap::new(), known: Term::Lit(0) }
    }
}

impl Linear {
    /// The loops that are not known yet, with their factors.
    fn left<'a>(&'a self, known: &'a BTreeMap<Var, Term>) -> impl Iterator<Item = (Var, i128)> + 'a {
        self.coefficients.iter().map(|(v, c)| (*v, *c)).filter(|(v, c)| *c != 0 && !known.contains_key(v))
    }

    /// What the loops that are left have to add up to.
    fn rest(&self, target: &Term, known: &BTreeMap<Var, Term>) -> Term {
        let mut rest = target.clone().sub(self.known.clone());
        for (v, c) in &self.coefficients {
            if let Some(value) = known.get(v) {
                rest = rest.sub(value.clone().times(*c));
            }
        }
        rest
    }

    /// Adds `factor * ix`; false where an unknown stands in something that is not linear.
    fn add(&mut self, ix: &Ix, factor: i128, unknown: &BTreeMap<Var, Domain>, cx: &Context, parts: &mut Parts) -> bool {
        let known = |this: &mut Linear| {
            this.known = std::mem::replace(&mut this.known, Term::Lit(0)).add(cx.ix(ix).times(factor));
            true
        };
        match ix {
            Ix::Var(v) if unknown.contains_key(v) => {
                *self.coefficients.entry(*v).or_insert(0) += factor;
                true
            }
            Ix::Lit(_) | Ix::Var(_) => known(self),
            Ix::Add(a, b) => self.add(a, factor, unknown, cx, parts) && self.add(b, factor, unknown, cx, parts),
            Ix::Sub(a, b) => self.add(a, factor, unknown, cx, parts) && self.add(b, -factor, unknown, cx, parts),
            Ix::Mul(n, a) => match factor.checked_mul(i128::from(*n)) {
                Some(f) => self.add(a, f, unknown, cx, parts),
                None => false,
            },
            Ix::InBlock(v, e) => match unknown.get(v) {
                Some(Domain::Blocks { lo, size, .. }) => {
                    *self.coefficients.entry(*v).or_insert(0) += factor * i128::from(*size);
                    self.add(lo, factor, unknown, cx, parts) && self.add(e, factor, unknown, cx, parts)
                }
                Some(Domain::Range { .. }) => false,
                None => {
                    let lo = Ix::Block(*v, cachet_core::ir::BlockPart::Lo);
                    self.add(&lo, factor, unknown, cx, parts) && self.add(e, factor, unknown, cx, parts)
                }
            },
            Ix::Block(v, cachet_core::ir::BlockPart::Lo) if unknown.contains_key(v) => match unknown.get(v) {
                Some(Domain::Blocks { lo, size, .. }) => {
                    *self.coefficients.entry(*v).or_insert(0) += factor * i128::from(*size);
                    self.add(lo, factor, unknown, cx, parts)
                }
                _ => false,
            },
            Ix::Div(x, n) | Ix::Mod(x, n) if matches!(&**x, Ix::Var(v) if unknown.contains_key(v)) => {
                let Ix::Var(v) = &**x else { return false };
                let part = parts.unknown((*v, *n, matches!(ix, Ix::Mod(..))));
                *self.coefficients.entry(part).or_insert(0) += factor;
                true
            }
            Ix::Div(..) | Ix::Mod(..) | Ix::Min(..) | Ix::Max(..) | Ix::If(..) | Ix::Block(..) => {
                let live = Live::of_ix(ix);
                !live.vars.iter().any(|v| unknown.contains_key(v)) && known(self)
            }
        }
    }
}
