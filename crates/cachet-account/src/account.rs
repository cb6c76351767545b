//! The account of a function: its operations, how often each runs, and what each does.
//!
//! Where a block has more than one statement that does something, each is looked into; the scope of a `var` or a `let`
//! inside a loop counts as one. What is left when nothing is to be looked into is an *operation*: a loop with all that is
//! in it, most of the time. A call's operations stand in its place, in the caller's sizes and names.

use crate::chain;
use crate::count::{Count, Range, Ranges};
use crate::scope::Scope;
pub use crate::tally::{Mode, Place, What};
use crate::tally::{Shared, Tally, Walk};
use cachet_core::ir::{Block, Device, Fun, Program, Stmt, StmtKind, TypeParam, Var};
use cachet_core::vectors;
use std::collections::BTreeMap;

/// What a function does.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Whether every count is exact for all sizes; otherwise they are upper bounds, with every block a full one.
    pub exact: bool,
    /// Its operations, in program order.
    pub operations: Vec<Operation>,
    /// What variables are called, by their numbers; the function's sizes come first.
    names: Vec<String>,
    /// Its sizes, by name.
    pub sizes: Vec<(String, Var)>,
    /// The bytes of a value of each open type parameter, by name: `sizeof S.Value`.
    pub open: Vec<(String, Var)>,
}

/// An operation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// `loop`, `grid`, `store`, ..
    pub kind: &'static str,
    /// The device that it runs on.
    pub device: String,
    /// The variables of its loops, from the outermost down to where something else happens.
    pub over: Vec<String>,
    /// The functions that are called on the way to it.
    pub within: Vec<String>,
    /// How often it runs.
    pub times: Count,
    /// What happens each time; `None` where that differs and has no common bound.
    pub each: Option<BTreeMap<What, Count>>,
    /// What happens in all.
    pub total: BTreeMap<What, Count>,
}

/// The account of a function. Its type parameters may be open.
pub fn account(program: &Program, fun: &Fun, mode: Mode) -> Account {
    let mut out = counted(program, fun, mode);
    out.exact = mode == Mode::Exact || {
        let exact = counted(program, fun, Mode::Exact);
        let same = |a: &Operation, b: &Operation| a.times == b.times && a.total == b.total;
        exact.operations.len() == out.operations.len()
            && exact.operations.iter().zip(&out.operations).all(|(a, b)| same(a, b))
    };
    out
}

impl Account {
    /// What a variable is called.
    pub fn name_of(&self, v: Var) -> String {
        self.names.get(v.index()).cloned().unwrap_or_default()
    }

    /// What all operations do together.
    pub fn total(&self) -> BTreeMap<What, Count> {
        let mut out = Tally::default();
        for o in &self.operations {
            out.join(&Tally(o.total.clone()));
        }
        out.0
    }
}

fn counted(program: &Program, fun: &Fun, mode: Mode) -> Account {
    let mut found = Found::default();
    let names = walking(program, fun, mode, &mut |walk| found.block(walk, &fun.body, false));
    let sizes = fun.sizes.iter().map(|v| (fun.vars[v.index()].name.clone(), *v)).collect();
    let open = fun.type_params.iter().enumerate();
    let open = open.map(|(n, t)| (format!("sizeof {}.Value", t.name), Var((fun.vars.len() + n) as u32))).collect();
    Account { name: fun.name.clone(), exact: false, operations: found.operations, names, sizes, open }
}

/// Walks a function in its own sizes, and says what variables are called.
pub(crate) fn walking(
    program: &Program,
    fun: &Fun,
    mode: Mode,
    walk: &mut dyn FnMut(&mut Walk<'_, '_>),
) -> Vec<String> {
    let mut shared = Shared { names: fun.vars.iter().map(|v| v.name.clone()).collect(), depth: 0 };
    let mut ranges = Ranges::default();
    for v in &fun.sizes {
        ranges.enter(*v, Range::Size);
    }
    let mut values = BTreeMap::new();
    for (n, t) in fun.type_params.iter().enumerate() {
        let v = Var(shared.names.len() as u32);
        shared.names.push(format!("sizeof {}.Value", t.name));
        ranges.enter(v, Range::Size);
        values.insert(TypeParam(n as u32), Count::var(v));
    }
    let scope = Scope { program, fun, base: 0, sizes: BTreeMap::new(), blocks: BTreeMap::new(), ranges };
    walk(&mut Walk { scope, mode, lent: BTreeMap::new(), values, locals: None, shared: &mut shared });
    shared.names
}

/// What stands around an operation.
#[derive(Clone)]
enum Around {
    Loop(Var, Range),
    If(Count),
}

#[derive(Default)]
struct Found {
    around: Vec<Around>,
    within: Vec<String>,
    operations: Vec<Operation>,
}

/// One of the things that a block does.
enum Child<'b> {
    One(&'b Stmt),
    /// A `var` or `let` and what is in its scope.
    Scope(&'b [Stmt]),
}

impl Found {
    /// `inside`: whether a loop is around it, so that a `var`'s scope counts as one.
    fn block(&mut self, walk: &mut Walk<'_, '_>, block: &[Stmt], inside: bool) {
        for child in children(block, inside) {
            match child {
                Child::One(s) if !single(walk.scope.fun, s) => self.into(walk, s),
                Child::One(s) => self.operation(walk, std::slice::from_ref(s)),
                Child::Scope(stmts) => self.operation(walk, stmts),
            }
        }
    }

    fn into(&mut self, walk: &mut Walk<'_, '_>, s: &Stmt) {
        match &s.kind {
            StmtKind::For { var, domain, body } => {
                self.loops(walk, &[(*var, domain.clone())], body);
            }
            StmtKind::Grid(g) => self.loops(walk, &g.axes, &g.body),
            StmtKind::If { guard, then, els } => {
                let g = walk.scope.guard(guard);
                for (holds, block) in [(g.clone(), then), (Count::lit(1).minus(&g), els)] {
                    self.around.push(Around::If(holds));
                    self.block(walk, block, true);
                    self.around.pop();
                }
            }
            StmtKind::Call(c) => {
                let name = walk.scope.program.funs[c.fun.index()].name.clone();
                self.within.push(name);
                let done = walk.call(c, &mut |callee| {
                    let fun = callee.scope.fun;
                    self.block(callee, &fun.body, false);
                });
                if done.is_none() {
                    self.operation(walk, std::slice::from_ref(s));
                }
                self.within.pop();
            }
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Print(_) => self.operation(walk, std::slice::from_ref(s)),
        }
    }

    fn loops(&mut self, walk: &mut Walk<'_, '_>, axes: &[(Var, cachet_core::ir::Domain)], body: &Block) {
        for (v, domain) in axes {
            let range = walk.scope.range(domain);
            walk.scope.enter(*v, &range);
            self.around.push(Around::Loop(walk.scope.var(*v), range));
        }
        self.block(walk, body, true);
        for _ in axes {
            walk.scope.ranges.leave();
            self.around.pop();
        }
    }

    fn operation(&mut self, walk: &mut Walk<'_, '_>, stmts: &[Stmt]) {
        let mut tally = walk.block(stmts);
        tally.join(&chain::of(walk, stmts));
        let ranges = &walk.scope.ranges;
        let close = |c: &Count| self.close(c, walk.mode, ranges);
        let times = close(&Count::lit(1));
        let (each, total) = match walk.mode {
            Mode::Exact => {
                let each = tally.try_map(|c| (!self.depends(c)).then(|| c.clone()));
                (each, tally.map(close))
            }
            Mode::Full => {
                let each = tally.try_map(|c| ranges.most(c));
                let total = each.as_ref().map_or_else(|| tally.map(close), |e| e.map(|c| c.times(&times)));
                (each, total)
            }
        };
        let (kind, device, over) = described(walk, stmts);
        if total.0.is_empty() {
            return;
        }
        let (each, total) = (each.map(|e| e.0), total.0);
        self.operations.push(Operation { kind, device, over, within: self.within.clone(), times, each, total });
    }

    /// A count inside the loops around, summed over them.
    fn close(&self, c: &Count, mode: Mode, ranges: &Ranges) -> Count {
        let mut ranges = ranges.clone();
        self.around.iter().rev().fold(c.clone(), |c, around| match around {
            Around::If(holds) => c.times(holds),
            Around::Loop(v, range) => {
                ranges.leave();
                mode.sum(&c, *v, range, &ranges)
            }
        })
    }

    /// Whether a count differs between the runs of an operation.
    fn depends(&self, c: &Count) -> bool {
        self.around.iter().any(|a| matches!(a, Around::Loop(v, _) if c.depends(*v)))
    }
}

fn children(block: &[Stmt], inside: bool) -> Vec<Child<'_>> {
    let mut out = Vec::new();
    for (n, s) in block.iter().enumerate() {
        match &s.kind {
            StmtKind::Alloc(_) | StmtKind::Lease { .. } => {}
            StmtKind::Var { .. } | StmtKind::Let { .. } if inside => {
                out.push(Child::Scope(&block[n..]));
                break;
            }
            StmtKind::For { .. }
            | StmtKind::Grid(_)
            | StmtKind::If { .. }
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => out.push(Child::One(s)),
        }
    }
    out
}

/// Whether there is nothing to look into: at most one thing happens in it, at every depth.
fn single(fun: &Fun, s: &Stmt) -> bool {
    if vectors::of(&fun.vars, s).is_some() {
        return true;
    }
    let block = |b: &Block| match children(b, true).as_slice() {
        [] | [Child::Scope(_)] => true,
        [Child::One(s)] => single(fun, s),
        _ => false,
    };
    match &s.kind {
        StmtKind::For { body, .. } => block(body),
        StmtKind::Grid(g) => block(&g.body),
        StmtKind::If { guard: _, then, els } => block(then) && block(els),
        StmtKind::Call(_) => false,
        StmtKind::Let { .. }
        | StmtKind::Var { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Store { .. }
        | StmtKind::Alloc(_)
        | StmtKind::Lease { .. }
        | StmtKind::Print(_) => true,
    }
}

/// An operation's kind, its device and the variables of its loops.
fn described(walk: &Walk<'_, '_>, stmts: &[Stmt]) -> (&'static str, String, Vec<String>) {
    let fun = walk.scope.fun;
    let name = |v: &Var| fun.vars[v.index()].name.clone();
    let mut over = Vec::new();
    let mut device = Device::HOST;
    let mut kind = None;
    let mut at = stmts;
    loop {
        let (word, next): (&'static str, Option<&Block>) = match at {
            [s] => match &s.kind {
                StmtKind::For { var, domain: _, body } => {
                    let lane = vectors::count_of(&fun.vars, *var).is_some();
                    if !lane {
                        over.push(name(var));
                    }
                    (if lane { "vector" } else { "loop" }, (!lane).then_some(body))
                }
                StmtKind::Grid(g) => {
                    over.extend(g.axes.iter().map(|(v, _)| name(v)));
                    device = g.device;
                    (if g.device == Device::HOST { "loop" } else { "grid" }, Some(&g.body))
                }
                StmtKind::If { .. } => ("if", None),
                StmtKind::Let { .. } => ("let", None),
                StmtKind::Var { .. } => ("var", None),
                StmtKind::Assign { .. } => ("assign", None),
                StmtKind::Store { .. } => ("store", None),
                StmtKind::Call(_) => ("call", None),
                StmtKind::Print(_) => ("print", None),
                StmtKind::Alloc(_) | StmtKind::Lease { .. } => ("block", None),
            },
            _ => ("block", None),
        };
        kind.get_or_insert(word);
        match next {
            Some(body) => at = body,
            None => break,
        }
    }
    let device = walk.scope.program.devices.get(device.index()).map_or_else(String::new, |d| d.name.clone());
    (kind.unwrap_or("block"), device, over)
}
