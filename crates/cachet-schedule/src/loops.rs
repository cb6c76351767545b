//! The loops and sums of a block in program order, an outer one before those inside it: what `i#2` counts.

use cachet_core::ir::{Domain, Fold, Fun, Stmt, StmtKind, Var, Word};
use cachet_core::rewrite::{Visit, visit_block, visit_stmt, visit_word};

/// All of a block.
pub fn of(block: &[Stmt]) -> Vec<Var> {
    let mut loops = Loops(Vec::new());
    visit_block(&mut loops, block);
    loops.0
}

/// The nests of a block, each from its outermost loop to its innermost, in words: `(zi, zj), (i, j, sum k)`.
pub fn nests(fun: &Fun) -> String {
    let mut nests = Nests { fun, outer: Vec::new(), found: Vec::new() };
    visit_block(&mut nests, &fun.body);
    nests.found.join(", ")
}

struct Nests<'a> {
    fun: &'a Fun,
    outer: Vec<String>,
    found: Vec<String>,
}

impl Nests<'_> {
    /// What stands inside some loops; where no other loop does, they are a nest.
    fn enter(&mut self, loops: Vec<String>, inside: impl FnOnce(&mut Self)) {
        let (depth, before) = (self.outer.len(), self.found.len());
        self.outer.extend(loops);
        inside(self);
        if self.found.len() == before {
            self.found.push(format!("({})", self.outer.join(", ")));
        }
        self.outer.truncate(depth);
    }
}

impl Visit for Nests<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        let name = |v: &Var| self.fun.vars[v.index()].name.clone();
        match &stmt.kind {
            StmtKind::For { var, .. } if is_lane(self.fun, *var) => visit_stmt(self, stmt),
            StmtKind::For { var, .. } => self.enter(vec![name(var)], |n| visit_stmt(n, stmt)),
            StmtKind::Grid(g) => {
                let axes = g.axes.iter().map(|(v, _)| format!("grid {}", name(v))).collect();
                self.enter(axes, |n| visit_stmt(n, stmt));
            }
            StmtKind::If { .. }
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => visit_stmt(self, stmt),
        }
    }

    fn word(&mut self, word: &Word) {
        match word {
            Word::Fold(f) => {
                let name = format!("sum {}", self.fun.vars[f.var.index()].name);
                self.enter(vec![name], |n| visit_word(n, word));
            }
            _ => visit_word(self, word),
        }
    }
}

/// Whether a variable counts the lanes of a vector. It is no loop that a step can be asked to change, whatever its name:
/// it is the compiler's.
pub fn is_lane(fun: &Fun, var: Var) -> bool {
    cachet_core::vectors::count_of(&fun.vars, var).is_some()
}

/// Which of its name a loop is, from 1.
pub fn number(fun: &Fun, loops: &[Var], var: Var) -> Option<u32> {
    let name = &fun.vars[var.index()].name;
    let at = loops.iter().filter(|v| fun.vars[v.index()].name == *name).position(|v| *v == var)?;
    Some(at as u32 + 1)
}

/// Whether a variable is a loop's, and no sum's.
pub fn is_loop(block: &[Stmt], var: Var) -> bool {
    struct Find(Var, bool);
    impl Visit for Find {
        fn stmt(&mut self, stmt: &Stmt) {
            match &stmt.kind {
                StmtKind::For { var, .. } => self.1 |= *var == self.0,
                StmtKind::Grid(g) => self.1 |= g.axes.iter().any(|(v, _)| *v == self.0),
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
            visit_stmt(self, stmt);
        }
    }
    let mut find = Find(var, false);
    visit_block(&mut find, block);
    find.1
}

/// The range of the first loop or sum of a name in a block.
pub fn domain(fun: &Fun, block: &[Stmt], name: &str) -> Option<Domain> {
    let mut found = Ranges(Vec::new());
    visit_block(&mut found, block);
    found.0.into_iter().find(|(v, _)| fun.vars[v.index()].name == name).map(|(_, d)| d)
}

/// The range of a loop or sum that stands in a statement, itself included.
pub fn domain_of(stmt: &Stmt, var: Var) -> Option<Domain> {
    let mut found = Ranges(Vec::new());
    visit_block(&mut found, std::slice::from_ref(stmt));
    found.0.into_iter().find(|(v, _)| *v == var).map(|(_, d)| d)
}

/// A sum of a statement.
pub fn fold_of(stmt: &Stmt, var: Var) -> Option<Fold> {
    struct Find(Var, Option<Fold>);
    impl Visit for Find {
        fn word(&mut self, word: &Word) {
            match word {
                Word::Fold(f) if f.var == self.0 => self.1 = Some((**f).clone()),
                _ => visit_word(self, word),
            }
        }
    }
    let mut find = Find(var, None);
    visit_block(&mut find, std::slice::from_ref(stmt));
    find.1
}

struct Ranges(Vec<(Var, Domain)>);

impl Visit for Ranges {
    fn stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::For { var, domain, .. } = &stmt.kind {
            self.0.push((*var, domain.clone()));
        }
        visit_stmt(self, stmt);
    }

    fn word(&mut self, word: &Word) {
        if let Word::Fold(f) = word {
            self.0.push((f.var, f.domain.clone()));
        }
        visit_word(self, word);
    }
}

struct Loops(Vec<Var>);

impl Visit for Loops {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For { var, .. } => self.0.push(*var),
            StmtKind::Grid(g) => self.0.extend(g.axes.iter().map(|(v, _)| *v)),
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
        visit_stmt(self, stmt);
    }

    fn word(&mut self, word: &Word) {
        if let Word::Fold(f) = word {
            self.0.push(f.var);
        }
        visit_word(self, word);
    }
}
