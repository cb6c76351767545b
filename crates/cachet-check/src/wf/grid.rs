//! Grids: iterations that may run in any order, or at once.
//!
//! Theorem. Let each iteration write only inside its windows, let the windows of two different iterations have no cell in
//! common, and let each iteration read, of the buffers that the grid writes, only its own windows. Then no iteration reads
//! or writes what another writes, so every interleaving of their events leaves what running them in order leaves.
//!
//! | kind | the condition |
//! | --- | --- |
//! | Windows | windows on one buffer, of two different iterations, have no cell in common |
//! | Window | a write, and a read of what the grid writes, stays inside a window of its own iteration |
//! | View | a window lies inside its buffer and has a length |
//!
//! Refused without a proof: an assignment to a local declared outside, and host
//! statements that are about order (`print`, `differing`).
//!
//! Near misses: a sum's own loop run in parallel; a store one column to the right; a window that reaches into the next.

use super::root;
use crate::condition::{Condition, Failure, Kind, misfit, same_tuple};
use crate::context::{Context, Shown};
use crate::events::{What, enter, events_of};
use crate::formula::{Formula, Term};
use cachet_core::ir::{Access, Block, Buffer, Call, Fun, Grid, Ix, Local, Program, Role, Stmt, StmtKind, View, Window};
use cachet_core::print::Names;
use cachet_core::rewrite::{Visit, visit_block, visit_stmt};
use cachet_source::{Diagnostic, Span, codes};
use std::collections::BTreeSet;

/// The most windows of a grid: each is compared with every other.
const MOST_WINDOWS: usize = 256;

/// The conditions of every grid of a function.
pub fn conditions(program: &Program, fun: &Fun, out: &mut Vec<Condition>) -> Result<(), Box<Failure>> {
    walk(program, fun, &Context::entry(fun), &fun.body, out)
}

fn walk(
    program: &Program,
    fun: &Fun,
    cx: &Context,
    block: &Block,
    out: &mut Vec<Condition>,
) -> Result<(), Box<Failure>> {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Grid(g) => {
                let site = Site { program, fun, names: Names::of(program, fun), grid: g, span: stmt.span.0 };
                site.conditions(cx, out)?;
                let mut inside = cx.clone();
                g.axes.iter().for_each(|(v, d)| inside.enter(&fun.vars[v.index()].name, *v, d));
                walk(program, fun, &inside, &g.body, out)?;
            }
            StmtKind::For { var, domain, body } => {
                let mut inside = cx.clone();
                inside.enter(&fun.vars[var.index()].name, *var, domain);
                walk(program, fun, &inside, body, out)?;
            }
            StmtKind::If { guard, then, els } => {
                let mut inside = cx.clone();
                inside.assume(guard);
                walk(program, fun, &inside, then, out)?;
                let mut inside = cx.clone();
                inside.assume(&cachet_core::ir::Guard::Not(Box::new(guard.clone())));
                walk(program, fun, &inside, els, out)?;
            }
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => {}
        }
    }
    Ok(())
}

struct Site<'a> {
    program: &'a Program,
    fun: &'a Fun,
    names: Names<'a>,
    grid: &'a Grid,
    span: Span,
}

/// A part of a buffer that an iteration reaches: one cell, or a box.
enum Reach<'a> {
    Cell(&'a Access),
    Box(Buffer, Vec<(Ix, Ix)>),
}

impl Site<'_> {
    fn conditions(&self, outside: &Context, out: &mut Vec<Condition>) -> Result<(), Box<Failure>> {
        self.shape()?;
        let mut cx = outside.clone();
        for (v, d) in &self.grid.axes {
            cx.enter(&self.fun.vars[v.index()].name, *v, d);
        }
        self.inside_buffers(&cx, out);
        self.apart(&cx, out);
        self.reaches(&cx, out)
    }

    /// `gi`, or `i, j`.
    fn axes(&self) -> String {
        self.grid.axes.iter().map(|(v, _)| self.names.var(*v)).collect::<Vec<_>>().join(", ")
    }

    fn refuse(&self, span: Span, message: String) -> Box<Failure> {
        misfit(Kind::Window, Diagnostic::error(codes::GRID, span, message))
    }

    fn shape(&self) -> Result<(), Box<Failure>> {
        let mut shape = Shape::default();
        visit_block(&mut shape, &self.grid.body);
        if let Some((span, what)) = shape.forbidden {
            let message = format!("{what} stands inside the grid over {}", self.axes());
            let d = Diagnostic::error(codes::GRID, span, message).also(self.span, "the grid");
            return Err(misfit(Kind::Window, d.note("the iterations of a grid may run in any order, or at once")));
        }
        if self.grid.writes.len() > MOST_WINDOWS {
            let message = format!("the grid over {} has more than {MOST_WINDOWS} windows", self.axes());
            return Err(self.refuse(self.span, message));
        }
        if let Some((local, span)) = shape.assigned.iter().find(|(l, _)| !shape.declared.contains(l)) {
            let name = self.names.local(*local);
            let message = format!(
                "the iterations of the grid over {} all assign `{name}`, which is declared outside it",
                self.axes()
            );
            return Err(self.refuse(*span, message));
        }
        Ok(())
    }

    fn windows(&self, buffer: Buffer) -> Vec<&Window> {
        let wanted = root(self.fun, buffer);
        self.grid.writes.iter().filter(|w| root(self.fun, w.buffer) == wanted).collect()
    }

    fn inside_buffers(&self, cx: &Context, out: &mut Vec<Condition>) {
        for w in &self.grid.writes {
            let info = &self.fun.buffers[w.buffer.index()];
            for ((start, len), extent) in w.axes.iter().zip(&info.extents) {
                let (s, n, e) = (cx.ix(start), cx.ix(len), cx.ix(extent));
                let text = |i: &Ix| self.names.ix(i);
                let sides = [
                    (Term::Lit(0).le(s.clone()), format!("0 <= {}", text(start))),
                    (Term::Lit(0).le(n.clone()), format!("0 <= {}", text(len))),
                    (s.add(n).le(e), format!("{} + {} <= {}", text(start), text(len), text(extent))),
                ];
                for (goal, side) in sides {
                    let claim = format!("a window lies inside {}: {side}", info.name);
                    out.push(Condition::new(Kind::View, codes::BOUNDS, cx, goal, claim).at(self.span, ""));
                }
            }
        }
    }

    /// Windows of two different iterations have no cell in common.
    fn apart(&self, cx: &Context, out: &mut Vec<Condition>) {
        let first = cx.clone();
        let mut second = first.clone();
        let (mut different, mut both) = (Vec::new(), Vec::new());
        for (v, d) in &self.grid.axes {
            second.enter_again(&self.fun.vars[v.index()].name, *v, d);
            if let (Some(x), Some(y)) = (first.counter(*v), second.counter(*v)) {
                different.push(x.clone().differs(y.clone()));
                both.extend([x.clone(), y.clone()]);
                second.hint(x, y);
            }
        }
        second.fact(Formula::or(different));
        for (n, one) in self.grid.writes.iter().enumerate() {
            for other in &self.grid.writes[n..] {
                if root(self.fun, one.buffer) != root(self.fun, other.buffer) {
                    continue;
                }
                let (mut p, mut q) = (first.clone(), second.clone());
                p.continue_from(&q);
                let goal = nothing_common(&p, &mut q, &one.axes, &other.axes);
                let name = self.names.buffer(one.buffer);
                let text = self.names.window(one.buffer, &one.axes);
                let claim =
                    format!("two iterations of the grid over {} write different parts of {name}: {text}", self.axes());
                let c = Condition::new(Kind::Windows, codes::GRID, &q, goal, claim)
                    .at(self.span, "these iterations may run at once")
                    .keep(&both);
                out.push(c);
            }
        }
    }

    /// Writes, and reads of what the grid writes, stay inside a window.
    fn reaches(&self, cx: &Context, out: &mut Vec<Condition>) -> Result<(), Box<Failure>> {
        let events = events_of(&self.grid.body);
        let own: BTreeSet<Buffer> =
            events.iter().filter_map(|e| if let What::Alloc(b) = e.what { Some(b) } else { None }).collect();
        for e in &events {
            let mut here = cx.clone();
            e.frames.iter().for_each(|f| enter(self.fun, &mut here, f));
            match &e.what {
                What::Read(a) => self.reach(&here, Reach::Cell(a), false, (&own, e.span), out)?,
                What::Write(a) => self.reach(&here, Reach::Cell(a), true, (&own, e.span), out)?,
                What::Call(c) => self.call(&here, c, (&own, e.span), out)?,
                What::Convert(..) | What::Cell(..) | What::Alloc(_) => {}
                What::ReadAll(b) => {
                    let name = self.names.buffer(*b);
                    return Err(
                        self.refuse(e.span, format!("all of `{name}` is read inside the grid over {}", self.axes()))
                    );
                }
                What::Compare(..) => {}
            }
        }
        Ok(())
    }

    fn call(
        &self,
        cx: &Context,
        call: &Call,
        own: (&BTreeSet<Buffer>, Span),
        out: &mut Vec<Condition>,
    ) -> Result<(), Box<Failure>> {
        let Some(callee) = self.program.funs.get(call.fun.index()) else { return Ok(()) };
        for (param, view) in callee.params.iter().zip(&call.args) {
            let written = callee.buffers[param.index()].role != Role::Reads;
            let reach = Reach::Box(view.buffer, self.box_of(view));
            self.reach(cx, reach, written, own, out)?;
        }
        Ok(())
    }

    /// The box that a view lends.
    fn box_of(&self, view: &View) -> Vec<(Ix, Ix)> {
        let whole = || self.fun.buffers[view.buffer.index()].extents.iter().map(|e| (Ix::Lit(0), e.clone())).collect();
        view.axes.clone().unwrap_or_else(whole)
    }

    fn reach(
        &self,
        cx: &Context,
        reach: Reach<'_>,
        write: bool,
        (own, span): (&BTreeSet<Buffer>, Span),
        out: &mut Vec<Condition>,
    ) -> Result<(), Box<Failure>> {
        let buffer = match &reach {
            Reach::Cell(a) => a.buffer,
            Reach::Box(b, _) => *b,
        };
        if own.contains(&root(self.fun, buffer)) {
            return Ok(());
        }
        let windows = self.windows(buffer);
        let name = self.names.buffer(buffer);
        if windows.is_empty() {
            if !write {
                return Ok(());
            }
            let message = format!("the grid over {} writes `{name}`, which has no window in it", self.axes());
            return Err(self.refuse(span, message));
        }
        let mut ways = Vec::new();
        let mut texts = Vec::new();
        let mut cx = cx.clone();
        let (points, cells): (Vec<Term>, Vec<String>) = match &reach {
            Reach::Cell(a) => (cx.tuple(&a.at), a.at.iter().map(|i| self.names.ix(i)).collect()),
            Reach::Box(_, axes) => {
                let sides: Vec<(Term, Term)> = axes.iter().map(|(s, n)| (cx.ix(s), cx.ix(n))).collect();
                let cells = axes.iter().map(|(s, n)| format!("({} ..+ {})", self.names.ix(s), self.names.ix(n)));
                (super::somewhere(&mut cx, &sides), cells.collect())
            }
        };
        for w in &windows {
            let mut sides = Vec::new();
            let mut words = Vec::new();
            for ((point, cell), (start, len)) in points.iter().zip(&cells).zip(&w.axes) {
                let (s, n) = (cx.ix(start), cx.ix(len));
                if *len == Ix::Lit(1) {
                    sides.push(point.clone().equals(s));
                    words.push(format!("{cell} == {}", self.names.ix(start)));
                } else {
                    sides.push(Formula::within(s.clone(), point.clone(), s.add(n)));
                    let (start, end) = (self.names.ix(start), self.names.ix(&cachet_core::linear::sum(start, len)));
                    words.push(format!("{start} <= {cell} && {cell} < {end}"));
                }
            }
            ways.push(Formula::and(sides));
            texts.push(words.join(" && "));
        }
        let claim = format!("a grid iteration reaches only its own window: {}", texts.join(" || "));
        let verb = if write { "written" } else { "read" };
        let place = match &reach {
            Reach::Cell(a) if a.span.0.lo != a.span.0.hi => a.span.0,
            Reach::Cell(_) | Reach::Box(..) => span,
        };
        let mut c = Condition::new(Kind::Window, codes::GRID, &cx, Formula::or(ways), claim)
            .at(place, format!("{verb} here"))
            .at(self.span, format!("the grid over {}", self.axes()));
        for w in &windows {
            c.notes.push(format!("an iteration's window is {}", self.names.window(w.buffer, &w.axes)));
        }
        if self.grid.level > 0 && !write {
            let help = "iterations wait for one another only where a grid ends: what others have written can be read in the next one";
            c.helps.push(help.into());
        }
        out.push(c);
        Ok(())
    }
}

/// That two boxes have no cell in common, each in its own context.
fn nothing_common(p: &Context, q: &mut Context, one: &[(Ix, Ix)], other: &[(Ix, Ix)]) -> Formula {
    let point = |axes: &[(Ix, Ix)]| axes.iter().all(|(_, n)| *n == Ix::Lit(1));
    let starts = |cx: &Context, axes: &[(Ix, Ix)]| -> Vec<Term> { axes.iter().map(|(s, _)| cx.ix(s)).collect() };
    if point(one) && point(other) {
        return Formula::not(same_tuple(&starts(p, one), &starts(q, other)));
    }
    // A cell in both would be a contradiction.
    for (axis, ((s, n), (t, m))) in one.iter().zip(other).enumerate() {
        let (s, n, t, m) = (p.ix(s), p.ix(n), q.ix(t), q.ix(m));
        let x = q.unknown(Shown::Hidden(format!("x{axis}")));
        q.fact(Formula::within(s.clone(), x.clone(), s.add(n)));
        q.fact(Formula::within(t.clone(), x, t.add(m)));
    }
    Formula::False
}

/// What a grid's body may not contain, and the locals that it assigns.
#[derive(Default)]
struct Shape {
    forbidden: Option<(Span, &'static str)>,
    assigned: Vec<(Local, Span)>,
    declared: BTreeSet<Local>,
}

impl Visit for Shape {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Print(_) => self.forbid(stmt, "`print`"),
            StmtKind::Assign { local, .. } => self.assigned.push((*local, stmt.span.0)),
            StmtKind::Let { local, .. } | StmtKind::Var { local, .. } => {
                self.declared.insert(*local);
            }
            StmtKind::For { .. }
            | StmtKind::Grid(_)
            | StmtKind::If { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_) => {}
        }
        visit_stmt(self, stmt);
    }
}

impl Shape {
    fn forbid(&mut self, stmt: &Stmt, what: &'static str) {
        self.forbidden = self.forbidden.or(Some((stmt.span.0, what)));
    }
}
