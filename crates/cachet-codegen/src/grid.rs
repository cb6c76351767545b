//! How do a grid's iterations become something that several threads can share?
//!
//! A grid that stands in no other is taken out of its function. Its iterations are numbered from 0 in the order of nested
//! loops, and become two functions of their own:
//!
//! - `NAME.gridN.part(i64 first, i64 last, ..)` runs the iterations `first .. last`; what the body uses from outside are its
//!   parameters, those that the grid writes `noalias`, so that LLVM knows as much of them as it did in place;
//! - `NAME.gridN(ptr env, i64 first, i64 last)` reads those parameters from a struct that the grid filled, and calls it. This
//!   is what a pool is given.
//!
//! Where the grid stood, the pool's `run` is called with the struct and the number of iterations or, where the pool is null,
//! the function itself with all of them. A pool is two pointers, a state and a `run`, and reaches a grid as the last parameter
//! `ptr pool` of every function that has one or calls one that does. Inside an iteration there is no pool: what is called there
//! is given null.

use crate::emitter::Emitter;
use crate::function::{Index, Lower, Outcome, Place};
use crate::memory::Memory;
use crate::types::{Value, leaves, register};
use cachet_core::ir::{Block, Call, Device, Domain, FunId, Grid, Ix, Program, Stmt, StmtKind, Var, Word};
use cachet_core::rewrite::{Visit, callees, visit_block, visit_ix, visit_stmt};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The grids that were taken out of a function.
pub(crate) struct Grids {
    /// The function's symbol.
    symbol: String,
    texts: Vec<String>,
    /// Whether the statements being lowered are those of an iteration.
    inside: bool,
}

impl Grids {
    pub(crate) fn new(symbol: &str) -> Grids {
        Grids { symbol: symbol.into(), texts: Vec::new(), inside: false }
    }

    /// The text of the functions that grids became.
    pub(crate) fn finish(self) -> String {
        self.texts.concat()
    }
}

/// Which functions take a pool: those with a grid, and those that call one of them.
pub(crate) fn that_take_a_pool(program: &Program) -> BTreeSet<FunId> {
    let mut callers: Vec<Vec<u32>> = vec![Vec::new(); program.funs.len()];
    let mut found = Vec::new();
    for (n, fun) in (0u32..).zip(&program.funs) {
        for callee in callees(fun) {
            if let Some(callers) = callers.get_mut(callee.index()) {
                callers.push(n);
            }
        }
        let mut grids = HasGrid(false);
        visit_block(&mut grids, &fun.body);
        if grids.0 {
            found.push(n);
        }
    }
    let mut out = BTreeSet::new();
    while let Some(n) = found.pop() {
        if out.insert(FunId(n)) {
            found.extend(&callers[n as usize]);
        }
    }
    out
}

struct HasGrid(bool);

impl Visit for HasGrid {
    fn stmt(&mut self, stmt: &Stmt) {
        self.0 |= matches!(&stmt.kind, StmtKind::Grid(g) if g.device == Device::HOST);
        visit_stmt(self, stmt);
    }

    /// There is no grid in a word.
    fn word(&mut self, _: &Word) {}
}

/// An axis of a grid, evaluated where the grid stands.
#[derive(Clone)]
struct Axis {
    var: Var,
    lo: String,
    hi: String,
    /// How many indices, never negative.
    trips: String,
    /// The size of its blocks, where it has blocks.
    block: Option<i64>,
}

/// Something of the function around a grid that its iterations may use.
struct Capture {
    /// Its name there.
    outer: String,
    /// Its name inside.
    inner: String,
    /// Its LLVM type.
    ty: &'static str,
}

/// Stand-ins for everything that is known where a grid stands. Only those that occur in the text of its body become parameters:
/// names of loops that have ended are still known there, and are not used.
#[derive(Default)]
struct Captures(Vec<Capture>);

impl Captures {
    /// The stand-in of a name; a constant stands for itself. What has one name outside has one inside.
    fn of(&mut self, outer: &str, ty: &'static str) -> String {
        if !outer.starts_with('%') {
            return outer.into();
        }
        if let Some(known) = self.0.iter().find(|c| c.outer == outer) {
            return known.inner.clone();
        }
        let inner = format!("%c{}", self.0.len());
        self.0.push(Capture { outer: outer.into(), inner: inner.clone(), ty });
        inner
    }

    fn number(&mut self, outer: &str) -> String {
        self.of(outer, "i64")
    }

    fn index(&mut self, index: &Index) -> Index {
        match index {
            Index::Plain(name) => Index::Plain(self.number(name)),
            Index::Block { lo, hi, len, idx } => {
                Index::Block { lo: self.number(lo), hi: self.number(hi), len: self.number(len), idx: self.number(idx) }
            }
        }
    }

    fn place(&mut self, place: &Place) -> Place {
        match place {
            Place::Value(value) => {
                let names = leaves(&value.ty).into_iter().zip(&value.leaves);
                let leaves = names.map(|(e, name)| self.of(name, register(e))).collect();
                Place::Value(Value { ty: value.ty.clone(), leaves })
            }
            Place::Slots { ty, dims, slots } => {
                let slots = slots.iter().map(|s| self.of(s, "ptr")).collect();
                Place::Slots { ty: ty.clone(), dims: dims.clone(), slots }
            }
        }
    }

    fn memory(&mut self, memory: &Memory) -> Memory {
        let Memory { base, elem, extents, ops, physical, strides } = memory;
        Memory {
            base: self.of(base, "ptr"),
            elem: elem.clone(),
            extents: extents.iter().map(|n| self.number(n)).collect(),
            ops: ops.clone(),
            physical: physical.iter().map(|n| self.number(n)).collect(),
            strides: strides.as_ref().map(|all| all.iter().map(|n| self.number(n)).collect()),
        }
    }

    fn axis(&mut self, axis: &Axis) -> Axis {
        let Axis { var, lo, hi, trips, block } = axis;
        Axis { var: *var, lo: self.number(lo), hi: self.number(hi), trips: self.number(trips), block: *block }
    }

    /// Those that occur in a text.
    fn used(self, text: &str) -> Vec<Capture> {
        let end = |c: char| !c.is_ascii_alphanumeric();
        let names: BTreeSet<&str> = text.split('%').skip(1).map(|rest| rest.split(end).next().unwrap_or("")).collect();
        self.0.into_iter().filter(|c| names.contains(&c.inner[1..])).collect()
    }
}

impl Lower<'_, '_> {
    /// A grid of the host.
    pub(crate) fn grid(&mut self, grid: &Grid) -> Outcome<()> {
        let shared = shared_axes(grid);
        if self.grids.inside || shared == 0 {
            return self.axes(&grid.axes, &grid.body);
        }
        let axes = grid.axes[..shared].iter().map(|(v, d)| self.axis(*v, d)).collect::<Outcome<Vec<_>>>()?;
        let count = self.iterations(&axes);
        let mut written = BTreeSet::new();
        for w in &grid.writes {
            written.insert(self.buffer(w.buffer)?.base.clone());
        }
        let name = format!("{}.grid{}", self.grids.symbol, self.grids.texts.len());
        let used = self.outlined(&name, grid, &axes, &written)?;
        self.run(&name, &used, &count);
        Ok(())
    }

    /// What a function that takes a pool is given.
    pub(crate) fn pool(&self) -> &'static str {
        if self.grids.inside { "null" } else { "%pool" }
    }

    /// What a call passes besides sizes and buffers.
    pub(crate) fn pool_argument(&self, call: &Call) -> Option<String> {
        self.module.takes_a_pool(call.fun).then(|| format!("ptr {}", self.pool()))
    }

    fn axis(&mut self, var: Var, domain: &Domain) -> Outcome<Axis> {
        let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. }) = domain;
        let (lo, hi) = (self.ix(lo)?, self.ix(hi)?);
        let block = match domain {
            Domain::Range { .. } => None,
            Domain::Blocks { size, .. } => Some(*size),
        };
        let trips = match literal_trips(&lo, &hi, block) {
            Some(trips) => trips.to_string(),
            None => self.trips(&lo, &hi, block),
        };
        Ok(Axis { var, lo, hi, trips, block })
    }

    fn trips(&mut self, lo: &str, hi: &str, block: Option<i64>) -> String {
        // Without `nsw`: of bounds that are the wrong way round nothing is proved.
        let span = self.em.def(format_args!("sub i64 {hi}, {lo}"));
        let some = self.em.def(format_args!("icmp slt i64 {lo}, {hi}"));
        let span = self.em.def(format_args!("select i1 {some}, i64 {span}, i64 0"));
        let Some(size) = block else { return span };
        let up = self.add(&span, &(size - 1).to_string());
        self.floor_div(&up, size)
    }

    /// How many iterations there are. From 2^63 on, which nobody sees the end of, it stays below.
    fn iterations(&mut self, axes: &[Axis]) -> String {
        let mut count = String::from("1");
        for axis in axes {
            if count == "1" {
                count.clone_from(&axis.trips);
                continue;
            }
            let ty = "{ i64, i1 }";
            let both =
                self.em.def(format_args!("call {ty} @llvm.smul.with.overflow.i64(i64 {count}, i64 {})", axis.trips));
            let product = self.em.def(format_args!("extractvalue {ty} {both}, 0"));
            let over = self.em.def(format_args!("extractvalue {ty} {both}, 1"));
            count = self.em.def(format_args!("select i1 {over}, i64 {}, i64 {product}", i64::MAX));
        }
        count
    }

    /// Writes the two functions; what they use from outside.
    fn outlined(
        &mut self,
        name: &str,
        grid: &Grid,
        axes: &[Axis],
        written: &BTreeSet<String>,
    ) -> Outcome<Vec<Capture>> {
        let mut captures = Captures::default();
        let axes: Vec<Axis> = axes.iter().map(|a| captures.axis(a)).collect();
        let vars = self.vars.iter().map(|v| v.as_ref().map(|v| captures.index(v))).collect();
        let locals = self.locals.iter().map(|l| l.as_ref().map(|l| captures.place(l))).collect();
        let buffers = self.buffers.iter().map(|b| b.as_ref().map(|b| captures.memory(b))).collect();
        let em = Emitter::after(self.em.len());
        let outside = (
            std::mem::replace(&mut self.em, em),
            std::mem::replace(&mut self.vars, vars),
            std::mem::replace(&mut self.locals, locals),
            std::mem::replace(&mut self.buffers, buffers),
        );
        self.grids.inside = true;
        let done = self.numbered(&axes, grid);
        self.grids.inside = false;
        let em;
        (em, self.vars, self.locals, self.buffers) =
            (std::mem::replace(&mut self.em, outside.0), outside.1, outside.2, outside.3);
        done?;
        self.em.count(em.len());
        let body = em.finish();
        let used = captures.used(&body);
        self.grids.texts.push(functions(name, &used, written, &body));
        Ok(used)
    }

    /// The iterations `%first .. %last`. The last axis is a loop in each row of it, so that rows are told apart once a row, and
    /// a grid of one axis is a plain loop.
    fn numbered(&mut self, axes: &[Axis], grid: &Grid) -> Outcome<()> {
        let Some((inner, outer)) = axes.split_last() else { return Err(self.ill_formed("a grid without an axis")) };
        let rest = &grid.axes[axes.len()..];
        if outer.is_empty() {
            self.range("%first", "%last", 1, &[], &mut |this, number, _| {
                this.iteration(inner, number, rest, &grid.body)?;
                Ok(vec![])
            })?;
            self.em.line("ret void");
            return Ok(());
        }
        // Where there is an iteration, no axis is empty, and can be divided by.
        let some = self.em.def("icmp slt i64 %first, %last");
        let (rows, after) = (self.em.block(), self.em.block());
        self.em.branch(&some, &rows, &after);
        self.em.open(&rows);
        let trips = &inner.trips;
        let first_row = self.em.def(format_args!("udiv i64 %first, {trips}"));
        let last = self.em.def("sub nuw nsw i64 %last, 1");
        let last_row = self.em.def(format_args!("udiv i64 {last}, {trips}"));
        let end_row = self.em.def(format_args!("add nuw nsw i64 {last_row}, 1"));
        self.range(&first_row, &end_row, 1, &[], &mut |this, row, _| {
            let before = this.em.def(format_args!("mul nuw nsw i64 {row}, {trips}"));
            let from = this.em.def(format_args!("sub nsw i64 %first, {before}"));
            let from = this.em.def(format_args!("call i64 @llvm.smax.i64(i64 {from}, i64 0)"));
            let to = this.em.def(format_args!("sub nsw i64 %last, {before}"));
            let to = this.min(&to, trips);
            this.row(outer, row);
            this.range(&from, &to, 1, &[], &mut |this, number, _| {
                this.iteration(inner, number, rest, &grid.body)?;
                Ok(vec![])
            })?;
            Ok(vec![])
        })?;
        self.em.jump(&after);
        self.em.open(&after);
        self.em.line("ret void");
        Ok(())
    }

    /// Binds all axes but the last, for a row of the last.
    fn row(&mut self, axes: &[Axis], row: &str) {
        let mut number = row.to_string();
        for (n, axis) in axes.iter().enumerate().rev() {
            if n == 0 {
                self.at(axis, &number);
                return;
            }
            let here = self.em.def(format_args!("urem i64 {number}, {}", axis.trips));
            number = self.em.def(format_args!("udiv i64 {number}, {}", axis.trips));
            self.at(axis, &here);
        }
    }

    fn iteration(&mut self, axis: &Axis, number: &str, rest: &[(Var, Domain)], body: &Block) -> Outcome<()> {
        self.at(axis, number);
        self.axes(rest, body)
    }

    /// Binds an axis to its index or block of a number.
    fn at(&mut self, axis: &Axis, number: &str) {
        let Some(size) = axis.block else {
            let index = self.add(&axis.lo, number);
            return self.bind_var(axis.var, Index::Plain(index));
        };
        let before = self.scale(number, &size.to_string());
        let lo = self.add(&axis.lo, &before);
        let rest = self.em.def(format_args!("sub nsw i64 {}, {lo}", axis.hi));
        let len = self.min(&rest, &size.to_string());
        let hi = self.em.def(format_args!("add nsw i64 {lo}, {len}"));
        self.bind_var(axis.var, Index::Block { lo, hi, len, idx: number.into() });
    }

    /// Fills the struct and calls the pool or, without one, the function.
    fn run(&mut self, name: &str, used: &[Capture], count: &str) {
        let ty = environment(used);
        let env = self.em.slot(&ty);
        for (n, c) in used.iter().enumerate() {
            let at = self.em.def(format_args!("getelementptr inbounds {ty}, ptr {env}, i64 0, i32 {n}"));
            self.em.line(format_args!("store {} {}, ptr {at}", c.ty, c.outer));
        }
        let none = self.em.def("icmp eq ptr %pool, null");
        let (here, there, after) = (self.em.block(), self.em.block(), self.em.block());
        self.em.branch(&none, &here, &there);
        self.em.open(&here);
        self.em.line(format_args!("call void @{name}(ptr {env}, i64 0, i64 {count})"));
        self.em.jump(&after);
        self.em.open(&there);
        let state = self.em.def("load ptr, ptr %pool");
        let at = self.em.def("getelementptr inbounds { ptr, ptr }, ptr %pool, i64 0, i32 1");
        let run = self.em.def(format_args!("load ptr, ptr {at}"));
        self.em.line(format_args!("call void {run}(ptr {state}, ptr @{name}, ptr {env}, i64 {count}) nounwind"));
        self.em.jump(&after);
        self.em.open(&after);
    }
}

/// How many indices or blocks there are between two literals.
fn literal_trips(lo: &str, hi: &str, block: Option<i64>) -> Option<i64> {
    let (lo, hi): (i64, i64) = (lo.parse().ok()?, hi.parse().ok()?);
    let size = block.unwrap_or(1);
    hi.checked_sub(lo)?.max(0).checked_add(size - 1)?.checked_div(size)
}

/// How many of a grid's axes are shared out: the first ones, up to one whose bounds depend on another.
fn shared_axes(grid: &Grid) -> usize {
    let mut before: Vec<Var> = Vec::new();
    for (n, (var, domain)) in grid.axes.iter().enumerate() {
        let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. }) = domain;
        let mut depends = Mentions { vars: &before, found: false };
        depends.ix(lo);
        depends.ix(hi);
        if depends.found {
            return n;
        }
        before.push(*var);
    }
    grid.axes.len()
}

struct Mentions<'a> {
    vars: &'a [Var],
    found: bool,
}

impl Visit for Mentions<'_> {
    fn ix(&mut self, ix: &Ix) {
        if let Ix::Var(v) | Ix::Block(v, _) | Ix::InBlock(v, _) = ix {
            self.found |= self.vars.contains(v);
        }
        visit_ix(self, ix);
    }
}

/// The struct that carries what is used from outside.
fn environment(used: &[Capture]) -> String {
    format!("{{ {} }}", used.iter().map(|c| c.ty).collect::<Vec<_>>().join(", ")).replace("{  }", "{}")
}

/// The text of the two functions.
fn functions(name: &str, used: &[Capture], written: &BTreeSet<String>, body: &str) -> String {
    let parameter = |c: &Capture| {
        let facts = match (c.ty, written.contains(&c.outer)) {
            ("ptr", true) => " noalias",
            ("ptr", false) => " readonly",
            _ => "",
        };
        format!(", {}{facts} {}", c.ty, c.inner)
    };
    let parameters: String = used.iter().map(parameter).collect();
    let mut out = format!(
        "define internal void @{name}.part(i64 noundef %first, i64 noundef %last{parameters}) noinline #0 {{\n{body}}}\n\n"
    );
    let ty = environment(used);
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "define internal void @{name}(ptr %env, i64 %first, i64 %last) #0 {{\nentry:");
    for (n, c) in used.iter().enumerate() {
        let _ = writeln!(out, "  %a{n} = getelementptr inbounds {ty}, ptr %env, i64 0, i32 {n}");
        let _ = writeln!(out, "  {} = load {}, ptr %a{n}", c.inner, c.ty);
    }
    let arguments: String = used.iter().map(|c| format!(", {} {}", c.ty, c.inner)).collect();
    let _ = writeln!(out, "  call void @{name}.part(i64 %first, i64 %last{arguments})\n  ret void\n}}\n");
    out
}
