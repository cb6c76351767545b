//! Vector statements: lanes that are computed together.
//!
//! Theorem. Let no two active lanes of a vector statement write one cell, and let none read what another writes. Then
//! reading all lanes and writing them leaves what running them one after another leaves, in any order.
//!
//! | kind | the condition |
//! | --- | --- |
//! | Mask | a mask counts from none of the lanes to all of them |
//! | Lanes | two lanes write different cells; a lane reads no cell that another one writes |
//!
//! Near misses: a vector that is moved by one place inside its array; lanes that share a cell; a mask beyond the lanes.

use super::root;
use crate::condition::{Condition, Kind, same_tuple};
use crate::context::Context;
use crate::events::{What, enter, events_of};
use crate::formula::{Formula, Term};
use cachet_core::ir::{Block, Buffer, Domain, Fun, Guard, Ix, Local, Program, StmtKind};
use cachet_core::print::Names;
use cachet_core::vectors::{self, Lanes};
use cachet_source::{Span, codes};

/// The conditions of every vector statement of a function.
pub(super) fn conditions(program: &Program, fun: &Fun, out: &mut Vec<Condition>) {
    if fun
        .vars
        .iter()
        .any(|v| matches!(v.kind, cachet_core::ir::VarKind::Lane(_) | cachet_core::ir::VarKind::Instr(..)))
    {
        let site = Site { fun, names: Names::of(program, fun) };
        site.block(&Context::entry(fun), &fun.body, out);
    }
}

struct Site<'a> {
    fun: &'a Fun,
    names: Names<'a>,
}

/// A cell that a lane touches.
enum Cell {
    Buffer(Buffer, Vec<Ix>),
    Local(Local, Vec<Ix>),
}

impl Site<'_> {
    fn block(&self, cx: &Context, block: &Block, out: &mut Vec<Condition>) {
        for stmt in block {
            if let Some(lanes) = vectors::of(&self.fun.vars, stmt) {
                self.mask(cx, &lanes, stmt.span.0, out);
                self.apart(cx, &lanes, stmt.span.0, out);
                continue;
            }
            let mut inside = cx.clone();
            match &stmt.kind {
                StmtKind::For { var, domain, body } => {
                    inside.enter(self.names.var(*var), *var, domain);
                    self.block(&inside, body, out);
                }
                StmtKind::Grid(g) => {
                    for (v, d) in &g.axes {
                        inside.enter(self.names.var(*v), *v, d);
                    }
                    self.block(&inside, &g.body, out);
                }
                StmtKind::If { guard, then, els } => {
                    inside.assume(guard);
                    self.block(&inside, then, out);
                    let mut outside = cx.clone();
                    outside.assume(&Guard::Not(Box::new(guard.clone())));
                    self.block(&outside, els, out);
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
    }

    fn mask(&self, cx: &Context, lanes: &Lanes<'_>, span: Span, out: &mut Vec<Condition>) {
        if !lanes.masked() {
            return;
        }
        let (active, count) = (cx.ix(lanes.active), i128::from(lanes.count));
        let text = self.names.ix(lanes.active);
        for (goal, side) in [
            (Term::Lit(0).le(active.clone()), format!("0 <= {text}")),
            (active.le(count), format!("{text} <= {count}")),
        ] {
            let claim = format!("a mask is between 0 and {count}: {side}");
            let c = Condition::new(Kind::Mask, codes::LANES, cx, goal, claim).at(span, "");
            out.push(c.help("a mask counts the leading lanes that take part"));
        }
    }

    /// What one lane writes, no other writes or reads.
    fn apart(&self, cx: &Context, lanes: &Lanes<'_>, span: Span, out: &mut Vec<Condition>) {
        let name = self.names.var(lanes.var);
        let domain = Domain::Range { lo: Ix::Lit(0), hi: lanes.active.clone() };
        let mut first = cx.clone();
        first.enter(name, lanes.var, &domain);
        let mut second = first.clone();
        second.enter_again(name, lanes.var, &domain);
        let (Some(x), Some(y)) = (first.counter(lanes.var), second.counter(lanes.var)) else { return };
        second.fact(x.clone().differs(y.clone()));
        second.hint(x, y);
        let written = match &lanes.stmt.kind {
            StmtKind::Store { to, word: _ } => Cell::Buffer(root(self.fun, to.buffer), to.at.clone()),
            StmtKind::Assign { local, at, word: _ } => Cell::Local(*local, at.clone()),
            _ => return,
        };
        for event in events_of(&vec![lanes.stmt.clone()]) {
            let (cell, writes) = match event.what {
                What::Read(a) => (Cell::Buffer(root(self.fun, a.buffer), a.at), false),
                What::Write(a) => (Cell::Buffer(root(self.fun, a.buffer), a.at), true),
                What::Cell(l, at) => {
                    let writes = matches!(&written, Cell::Local(w, own) if *w == l && *own == at);
                    (Cell::Local(l, at), writes)
                }
                What::Convert(..) | What::ReadAll(_) | What::Compare(..) | What::Alloc(_) | What::Call(_) => continue,
            };
            let (to, at, text) = match (&written, &cell) {
                (Cell::Buffer(a, to), Cell::Buffer(b, at)) if a == b => {
                    (to, at, (self.names.cell(self.names.buffer(*a), to), self.names.cell(self.names.buffer(*b), at)))
                }
                (Cell::Local(a, to), Cell::Local(b, at)) if a == b => {
                    (to, at, (self.names.cell(self.names.local(*a), to), self.names.cell(self.names.local(*b), at)))
                }
                _ => continue,
            };
            let mut here = second.clone();
            event.frames.iter().for_each(|f| enter(self.fun, &mut here, f));
            let goal = Formula::not(same_tuple(&first.tuple(to), &here.tuple(at)));
            let claim = match writes {
                true => format!("two lanes write different cells: {}", text.0),
                false => format!("a lane does not read what another lane writes: {} and {}", text.1, text.0),
            };
            let c = Condition::new(Kind::Lanes, codes::LANES, &here, goal, claim)
                .at(span, "these lanes are computed together");
            out.push(c.help("name what is read by a `let` of its own before it is written"));
        }
    }
}
