//! The loops and sums of a program, nest by nest, as a step may name them.

use cachet_core::ir::{BlockPart, Buffer, Domain, Fun, Ix, Stmt, StmtKind, Var, Word};
use cachet_core::rewrite::{Live, Visit, visit_block, visit_stmt, visit_word};
use cachet_core::script::StepArg;
use cachet_source::Span;

/// A loop, a grid's axis or a sum.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Its variable.
    pub var: Var,
    /// Its name.
    pub name: String,
    /// Which of that name, where there are several.
    pub nth: Option<u32>,
    /// Whether it runs over blocks.
    pub blocks: bool,
    /// The variables that its range depends on and that are no sizes.
    pub needs: Vec<Var>,
    /// Whether its range is `0 .. N` for a size.
    pub whole: bool,
    /// Whether it counts from 0 to a size, a literal, or the length of a block.
    pub plain: bool,
    /// Its length, or the most that it can be, where that is a literal.
    pub most: Option<i64>,
}

/// Loops directly inside one another, and the sums of the store that they may end in.
#[derive(Clone, Debug, Default)]
pub struct Nest {
    /// The loops, outermost first.
    pub loops: Vec<Loop>,
    /// The sums, outermost first.
    pub sums: Vec<Loop>,
    /// What the innermost store writes.
    pub writes: Option<Buffer>,
    /// Whether a grid stands around it.
    pub in_grid: bool,
    /// Whether a grid stands in it.
    pub has_grid: bool,
}

impl Loop {
    /// As a step's argument.
    pub fn arg(&self) -> StepArg {
        StepArg::Name { name: self.name.clone(), nth: self.nth, part: None, span: Span::default() }
    }
}

/// The nests of a function, in program order.
pub fn nests(fun: &Fun) -> Vec<Nest> {
    let mut all = All(Vec::new());
    visit_block(&mut all, &fun.body);
    let mut found = Vec::new();
    block(fun, &all.0, &fun.body, &[], false, &mut found);
    found
}

/// Every loop and sum in program order: what `i#2` counts.
struct All(Vec<(Var, Domain)>);

impl Visit for All {
    fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::For { var, domain, .. } => self.0.push((*var, domain.clone())),
            StmtKind::Grid(g) => self.0.extend(g.axes.iter().cloned()),
            StmtKind::If { .. }
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => {}
        }
        visit_stmt(self, s);
    }

    fn word(&mut self, w: &Word) {
        if let Word::Fold(f) = w {
            self.0.push((f.var, f.domain.clone()));
        }
        visit_word(self, w);
    }
}

fn one(fun: &Fun, all: &[(Var, Domain)], var: Var, domain: &Domain) -> Loop {
    let name = &fun.vars[var.index()].name;
    let mut same = all.iter().map(|(v, _)| *v).filter(|v| fun.vars[v.index()].name == *name);
    let nth = (same.clone().count() > 1).then(|| same.position(|v| v == var).map_or(0, |n| n as u32 + 1));
    let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. }) = domain;
    let mut live = Live::of_ix(lo);
    live.vars.extend(Live::of_ix(hi).vars);
    let needs = live.vars.into_iter().filter(|v| !fun.sizes.contains(v)).collect();
    let from_0 = *lo == Ix::Lit(0);
    let whole = from_0 && matches!(hi, Ix::Var(v) if fun.sizes.contains(v));
    let most = match hi {
        Ix::Lit(n) => Some(*n),
        Ix::Block(v, BlockPart::Len) => all.iter().find(|(x, _)| x == v).and_then(|(_, d)| match d {
            Domain::Blocks { size, .. } => Some(*size),
            Domain::Range { .. } => None,
        }),
        _ => None,
    };
    let lengths = whole || most.is_some() || matches!(hi, Ix::Div(n, _) if matches!(**n, Ix::Var(_)));
    Loop {
        var,
        name: name.clone(),
        nth,
        blocks: matches!(domain, Domain::Blocks { .. }),
        needs,
        whole,
        plain: from_0 && lengths,
        most,
    }
}

/// Takes up the nests of a block that stands inside some loops of the same nest.
fn block(fun: &Fun, all: &[(Var, Domain)], stmts: &[Stmt], outer: &[Loop], in_grid: bool, found: &mut Vec<Nest>) {
    let alone = stmts.len() == 1;
    if !alone && !outer.is_empty() {
        let has_grid = has_grid(stmts);
        found.push(Nest { loops: outer.to_vec(), in_grid, has_grid, ..Nest::default() });
    }
    let outer = if alone { outer } else { &[] };
    for s in stmts {
        match &s.kind {
            StmtKind::For { var, domain, body } => {
                let mut loops = outer.to_vec();
                loops.push(one(fun, all, *var, domain));
                block(fun, all, body, &loops, in_grid, found);
            }
            StmtKind::Grid(g) => {
                if !outer.is_empty() {
                    found.push(Nest { loops: outer.to_vec(), in_grid, has_grid: true, ..Nest::default() });
                }
                block(fun, all, &g.body, &[], true, found);
            }
            StmtKind::If { then, els, .. } => {
                if !outer.is_empty() {
                    let has_grid = has_grid(then) || has_grid(els);
                    found.push(Nest { loops: outer.to_vec(), in_grid, has_grid, ..Nest::default() });
                }
                block(fun, all, then, &[], in_grid, found);
                block(fun, all, els, &[], in_grid, found);
            }
            StmtKind::Store { to, word } => {
                let mut sums = Sums(fun, all, Vec::new());
                sums.word(word);
                if !outer.is_empty() || !sums.2.is_empty() {
                    let writes = Some(to.buffer);
                    found.push(Nest { loops: outer.to_vec(), sums: sums.2, writes, in_grid, has_grid: false });
                }
            }
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => {}
        }
    }
}

fn has_grid(stmts: &[Stmt]) -> bool {
    struct Find(bool);
    impl Visit for Find {
        fn stmt(&mut self, s: &Stmt) {
            self.0 |= matches!(s.kind, StmtKind::Grid(_));
            visit_stmt(self, s);
        }
    }
    let mut find = Find(false);
    visit_block(&mut find, stmts);
    find.0
}

/// The sums of a word.
struct Sums<'a>(&'a Fun, &'a [(Var, Domain)], Vec<Loop>);

impl Visit for Sums<'_> {
    fn word(&mut self, w: &Word) {
        if let Word::Fold(f) = w {
            self.2.push(one(self.0, self.1, f.var, &f.domain));
        }
        visit_word(self, w);
    }
}
