//! A visitor that reaches every part of a block, in program order.

use crate::ir::{Access, Domain, Fun, FunId, Guard, Ix, Stmt, StmtKind, View, Window, Word};

/// What to do at each part. The default of each method goes on to the parts inside.
pub trait Visit {
    /// An index.
    fn ix(&mut self, ix: &Ix) {
        visit_ix(self, ix);
    }
    /// A guard.
    fn guard(&mut self, guard: &Guard) {
        visit_guard(self, guard);
    }
    /// A domain.
    fn domain(&mut self, domain: &Domain) {
        visit_domain(self, domain);
    }
    /// A word.
    fn word(&mut self, word: &Word) {
        visit_word(self, word);
    }
    /// A statement.
    fn stmt(&mut self, stmt: &Stmt) {
        visit_stmt(self, stmt);
    }
    /// A cell that is read.
    fn load(&mut self, access: &Access) {
        access.at.iter().for_each(|i| self.ix(i));
    }
    /// A cell that is written.
    fn store(&mut self, access: &Access) {
        access.at.iter().for_each(|i| self.ix(i));
    }
}

/// The parts of an index.
pub fn visit_ix<V: Visit + ?Sized>(v: &mut V, ix: &Ix) {
    match ix {
        Ix::Lit(_) | Ix::Var(_) | Ix::Block(..) => {}
        Ix::Add(a, b) | Ix::Sub(a, b) | Ix::Min(a, b) | Ix::Max(a, b) => {
            v.ix(a);
            v.ix(b);
        }
        Ix::Mul(_, a) | Ix::Div(a, _) | Ix::Mod(a, _) | Ix::InBlock(_, a) => v.ix(a),
        Ix::If(g, a, b) => {
            v.guard(g);
            v.ix(a);
            v.ix(b);
        }
    }
}

/// The parts of a guard.
pub fn visit_guard<V: Visit + ?Sized>(v: &mut V, guard: &Guard) {
    match guard {
        Guard::Const(_) => {}
        Guard::Cmp(_, a, b) => {
            v.ix(a);
            v.ix(b);
        }
        Guard::And(a, b) | Guard::Or(a, b) => {
            v.guard(a);
            v.guard(b);
        }
        Guard::Not(a) => v.guard(a),
    }
}

/// The parts of a domain.
pub fn visit_domain<V: Visit + ?Sized>(v: &mut V, domain: &Domain) {
    match domain {
        Domain::Range { lo, hi } | Domain::Blocks { lo, hi, size: _ } => {
            v.ix(lo);
            v.ix(hi);
        }
    }
}

/// The parts of a word.
pub fn visit_word<V: Visit + ?Sized>(v: &mut V, word: &Word) {
    match word {
        Word::Lit(_) | Word::Differing(..) => {}
        Word::Index(ix, _) => v.ix(ix),
        Word::Load(access) => v.load(access),
        Word::Local(_, at) => at.iter().for_each(|i| v.ix(i)),
        Word::Op { op: _, arith: _, args } | Word::Apply(_, args) | Word::Tuple(args) => {
            args.iter().for_each(|w| v.word(w))
        }
        Word::Part(w, _) => v.word(w),
        Word::Let(_, a, b) => {
            v.word(a);
            v.word(b);
        }
        Word::If(g, a, b) => {
            v.guard(g);
            v.word(a);
            v.word(b);
        }
        Word::Fold(f) => {
            v.domain(&f.domain);
            v.word(&f.init);
            v.word(&f.body);
        }
        Word::Reduce(r) => {
            v.domain(&r.domain);
            v.word(&r.empty);
            v.word(&r.element);
            v.word(&r.combine);
        }
    }
}

/// The parts of a statement.
pub fn visit_stmt<V: Visit + ?Sized>(v: &mut V, stmt: &Stmt) {
    match &stmt.kind {
        StmtKind::For { var: _, domain, body } => {
            v.domain(domain);
            visit_block(v, body);
        }
        StmtKind::Grid(g) => {
            g.axes.iter().for_each(|(_, d)| v.domain(d));
            for Window { buffer: _, axes } in &g.writes {
                visit_axes(v, axes);
            }
            visit_block(v, &g.body);
        }
        StmtKind::If { guard, then, els } => {
            v.guard(guard);
            visit_block(v, then);
            visit_block(v, els);
        }
        StmtKind::Let { local: _, word } | StmtKind::Var { local: _, init: word } | StmtKind::Print(word) => {
            v.word(word)
        }
        StmtKind::Assign { local: _, at, word } => {
            at.iter().for_each(|i| v.ix(i));
            v.word(word);
        }
        StmtKind::Store { to, word } => {
            v.word(word);
            v.store(to);
        }
        StmtKind::Alloc(_) | StmtKind::Lease { .. } => {}
        StmtKind::Call(call) => {
            call.sizes.iter().for_each(|i| v.ix(i));
            for View { buffer: _, axes, span: _ } in &call.args {
                visit_axes(v, axes.as_deref().unwrap_or(&[]));
            }
        }
    }
}

/// The functions that a function calls, once for each call.
pub fn callees(fun: &Fun) -> Vec<FunId> {
    struct Calls(Vec<FunId>);
    impl Visit for Calls {
        fn stmt(&mut self, stmt: &Stmt) {
            if let StmtKind::Call(c) = &stmt.kind {
                self.0.push(c.fun);
            }
            visit_stmt(self, stmt);
        }

        /// A word computes, and calls nothing.
        fn word(&mut self, _: &Word) {}

        fn ix(&mut self, _: &Ix) {}
    }
    let mut out = Calls(Vec::new());
    visit_block(&mut out, &fun.body);
    out.0
}

/// Every statement of a block.
pub fn visit_block<V: Visit + ?Sized>(v: &mut V, block: &[Stmt]) {
    block.iter().for_each(|s| v.stmt(s));
}

fn visit_axes<V: Visit + ?Sized>(v: &mut V, axes: &[(Ix, Ix)]) {
    for (start, len) in axes {
        v.ix(start);
        v.ix(len);
    }
}
