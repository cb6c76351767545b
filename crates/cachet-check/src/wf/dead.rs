//! Is there code that no sizes reach?
//!
//! A loop or branch whose context has no witness never runs, whatever is proved of it, and a fold's term or a choice's
//! value is never computed. That is no fault of the program's meaning, so it is a warning. Nothing inside is looked at
//! again.

use crate::context::Context;
use crate::proofs::Proofs;
use crate::prover::Verdict;
use cachet_core::ir::{Block, Domain, Fun, Guard, Program, Stmt, StmtKind, Var, Word};
use cachet_core::print::Names;
use cachet_source::{Diagnostic, Kind as Severity, Span, codes};

/// At most this many warnings of one function.
const MOST_WARNINGS: usize = 8;

/// A warning for each outermost loop, branch, fold and choice that never runs, in the order of the program.
pub fn dead(program: &Program, fun: &Fun, proofs: &mut Proofs) -> Vec<Diagnostic> {
    let mut walk = Walk { fun, names: Names::of(program, fun), proofs, out: Vec::new(), more: false };
    walk.block(&Context::entry(fun), &fun.body);
    walk.out
}

struct Walk<'a> {
    fun: &'a Fun,
    names: Names<'a>,
    proofs: &'a mut Proofs,
    out: Vec<Diagnostic>,
    /// Whether there is more than is told.
    more: bool,
}

impl Walk<'_> {
    fn block(&mut self, cx: &Context, block: &Block) {
        for s in block {
            self.stmt(cx, s);
        }
    }

    fn stmt(&mut self, cx: &Context, s: &Stmt) {
        if self.more {
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
            StmtKind::Let { local: _, word }
            | StmtKind::Var { local: _, init: word }
            | StmtKind::Assign { word, .. }
            | StmtKind::Store { to: _, word }
            | StmtKind::Print(word) => self.word(cx, word, s.span.0),
            StmtKind::Alloc(_) | StmtKind::Lease { .. } | StmtKind::Call(_) => {}
        }
    }

    fn word(&mut self, cx: &Context, word: &Word, span: Span) {
        if self.more {
            return;
        }
        match word {
            Word::Lit(_) | Word::Local(..) | Word::Index(..) | Word::Load(_) | Word::Differing(..) => {}
            Word::Op { op: _, arith: _, args } | Word::Apply(_, args) | Word::Tuple(args) => {
                args.iter().for_each(|w| self.word(cx, w, span));
            }
            Word::Part(w, _) => self.word(cx, w, span),
            Word::Let(_, a, b) => {
                self.word(cx, a, span);
                self.word(cx, b, span);
            }
            Word::If(guard, a, b) => {
                self.choice(cx, guard, a, span);
                self.choice(cx, &Guard::Not(guard.clone()), b, span);
            }
            Word::Fold(f) => {
                self.word(cx, &f.init, span);
                self.terms(cx, (f.var, &f.domain), &f.body, span);
            }
            Word::Reduce(r) => {
                self.word(cx, &r.empty, span);
                self.terms(cx, (r.var, &r.domain), &r.element, span);
                self.word(cx, &r.combine, span);
            }
        }
    }

    fn choice(&mut self, cx: &Context, guard: &Guard, word: &Word, span: Span) {
        let mut inner = cx.clone();
        inner.assume(guard);
        if self.reached(&inner) {
            return self.word(&inner, word, span);
        }
        let message = match guard {
            Guard::Not(g) => format!("the `else` of this choice is never taken: {} always holds", self.names.guard(g)),
            g => format!("this choice is never taken: {} never holds", self.names.guard(g)),
        };
        self.warn(message, span);
    }

    fn terms(&mut self, cx: &Context, (var, domain): (Var, &Domain), word: &Word, span: Span) {
        let mut inner = cx.clone();
        inner.enter(self.names.var(var), var, domain);
        if self.reached(&inner) {
            return self.word(&inner, word, span);
        }
        self.warn(format!("there are no terms here: {} in {}", self.names.var(var), self.names.domain(domain)), span);
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
        if let (true, Some(last)) = (self.out.len() == MOST_WARNINGS, self.out.last_mut()) {
            last.notes
                .push(format!("more of `{}` never runs: these are the first {MOST_WARNINGS} places", self.fun.name));
            self.more = true;
            return;
        }
        let mut d = Diagnostic::new(Severity::Warning, codes::DEAD_CODE, message).at(span, "");
        if !self.fun.requires.is_empty() {
            let requires: Vec<String> = self.fun.requires.iter().map(|g| self.names.guard(g)).collect();
            d = d.note(format!("`{}` requires {}", self.fun.name, requires.join(", ")));
        }
        self.out.push(d);
    }
}
