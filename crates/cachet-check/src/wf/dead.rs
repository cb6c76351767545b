//! Is there code that no sizes reach?
//!
//! A loop or branch whose context has no witness never runs, whatever is proved of it. That is no fault of the program's
//! meaning, so it is a warning. Nothing inside is looked at again.

use crate::context::Context;
use crate::proofs::Proofs;
use crate::prover::Verdict;
use cachet_core::ir::{Block, Domain, Fun, Guard, Program, Stmt, StmtKind, Var};
use cachet_core::print::Names;
use cachet_source::{Diagnostic, Kind as Severity, Span, codes};

/// At most this many warnings of one function.
const MOST_WARNINGS: usize = 8;

/// A warning for each outermost loop and branch that never runs, in the order of the program.
pub fn dead(program: &Program, fun: &Fun, proofs: &mut Proofs) -> Vec<Diagnostic> {
    let mut walk = Walk { fun, names: Names::of(program, fun), proofs, out: Vec::new() };
    walk.block(&Context::entry(fun), &fun.body);
    walk.out
}

struct Walk<'a> {
    fun: &'a Fun,
    names: Names<'a>,
    proofs: &'a mut Proofs,
    out: Vec<Diagnostic>,
}

impl Walk<'_> {
    fn block(&mut self, cx: &Context, block: &Block) {
        for s in block {
            self.stmt(cx, s);
        }
    }

    fn stmt(&mut self, cx: &Context, s: &Stmt) {
        if self.out.len() >= MOST_WARNINGS {
            return;
        }
        match &s.kind {
            StmtKind::For { var, domain, body } => self.nest(cx, &[(*var, domain)], body, s.span.0),
            StmtKind::Grid(g) => {
                let axes: Vec<(Var, &Domain)> = g.axes.iter().map(|(v, d)| (*v, d)).collect();
                self.nest(cx, &axes, &g.body, s.span.0);
            }
            StmtKind::If { guard, then, els } => {
                self.branch(cx, guard, then, s.span.0);
                if !els.is_empty() {
                    self.branch(cx, &Guard::Not(Box::new(guard.clone())), els, s.span.0);
                }
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

    fn nest(&mut self, cx: &Context, axes: &[(Var, &Domain)], body: &Block, span: Span) {
        let mut inner = cx.clone();
        for (var, domain) in axes {
            inner.enter(self.names.var(*var), *var, domain);
        }
        if self.reached(&inner) {
            return self.block(&inner, body);
        }
        let over: Vec<String> =
            axes.iter().map(|(v, d)| format!("{} in {}", self.names.var(*v), self.names.domain(d))).collect();
        self.warn(format!("this loop never runs: {}", over.join(", ")), span);
    }

    fn branch(&mut self, cx: &Context, guard: &Guard, body: &Block, span: Span) {
        let mut inner = cx.clone();
        inner.assume(guard);
        if self.reached(&inner) {
            return self.block(&inner, body);
        }
        let message = match guard {
            Guard::Not(g) => format!("the `else` of this branch never runs: {} always holds", self.names.guard(g)),
            g => format!("this branch never runs: {} never holds", self.names.guard(g)),
        };
        self.warn(message, span);
    }

    /// Whether some sizes may reach a place. What is not decided may be reached.
    fn reached(&mut self, cx: &Context) -> bool {
        !matches!(self.proofs.witness(cx), Verdict::Proved(_))
    }

    fn warn(&mut self, message: String, span: Span) {
        let mut d = Diagnostic::new(Severity::Warning, codes::DEAD_CODE, message).at(span, "");
        if !self.fun.requires.is_empty() {
            let requires: Vec<String> = self.fun.requires.iter().map(|g| self.names.guard(g)).collect();
            d = d.note(format!("`{}` requires {}", self.fun.name, requires.join(", ")));
        }
        self.out.push(d);
    }
}
