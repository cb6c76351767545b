//! A contraction's plain nest: one loop per free index, sums as folds inside, intermediates inlined at every use.
//!
//! ```text
//! c[i, j] = sum k. a[i, k] * b[k, j]
//!   is   for i in 0 .. M do for j in 0 .. N do
//!          store c[i, j] = fold k in 0 .. K from -0.0 as acc'0: f32 do fma (load a[i, k]) (load b[k, j]) acc'0
//! ```
//!
//! A product at the top of a sum joins the chain by `mul_add`, anything else by `add`. Totals are numbered through the
//! whole contraction in the order in which their sums begin.

use cachet_core::equations::{Combine, Contraction, Equation, Expr, Sum, Target};
use cachet_core::ir::{Access, Block, Fold, Fun, Guard, Ix, LocalInfo, Op, Stmt, StmtKind, Var, Word};
use cachet_core::rewrite::Subst;
use std::collections::BTreeSet;

/// The nest.
pub(crate) fn nest(c: &Contraction) -> Fun {
    let fun = Fun {
        name: c.name.clone(),
        type_params: c.type_params.clone(),
        sizes: c.sizes.clone(),
        params: c.params.clone(),
        requires: c.requires.clone(),
        produces: c.outputs.clone(),
        scratch: vec![],
        body: vec![],
        vars: c.vars.clone(),
        locals: vec![],
        buffers: c.buffers.clone(),
        span: c.span,
    };
    let mut lower = Lower { c, fun, totals: 0, used: BTreeSet::new() };
    let mut body = Vec::new();
    for e in &c.equations {
        if let Target::Output(buffer) = e.target {
            body.push(lower.equation(e, buffer));
        }
    }
    lower.fun.body = body;
    lower.fun
}

struct Lower<'a> {
    c: &'a Contraction,
    fun: Fun,
    totals: u32,
    /// Summed indices that are a loop already.
    used: BTreeSet<Var>,
}

impl Lower<'_> {
    fn equation(&mut self, e: &Equation, buffer: cachet_core::ir::Buffer) -> Stmt {
        let word = self.word(&e.value, &Subst::default());
        let at = e.indices.iter().map(|v| Ix::Var(*v)).collect();
        let mut body: Block = vec![Stmt { kind: StmtKind::Store { to: Access { buffer, at, span: e.span }, word }, span: e.span }];
        for (var, domain) in e.indices.iter().zip(&e.ranges).rev() {
            body = vec![Stmt { kind: StmtKind::For { var: *var, domain: domain.clone(), body }, span: e.span }];
        }
        // A contraction's output has at least one axis.
        body.pop().unwrap_or(Stmt { kind: StmtKind::If { guard: Guard::Const(false), then: vec![], els: vec![] }, span: e.span })
    }

    fn words(&mut self, args: &[Expr], subst: &Subst) -> Vec<Word> {
        args.iter().map(|a| self.word(a, subst)).collect()
    }

    /// A value as a word; `subst` says what the indices of an inlined intermediate are.
    fn word(&mut self, e: &Expr, subst: &Subst) -> Word {
        match e {
            Expr::Lit(l) => Word::Lit(*l),
            Expr::Index(ix, elem) => Word::Index(subst.ix(ix), *elem),
            Expr::Read(a) => Word::Load(subst.access(a)),
            Expr::Op(op, arith, args) => Word::Op { op: *op, arith: *arith, args: self.words(args, subst) },
            Expr::Apply(f, args) => Word::Apply(*f, self.words(args, subst)),
            Expr::Tuple(args) => Word::Tuple(self.words(args, subst)),
            Expr::Part(w, n) => Word::Part(Box::new(self.word(w, subst)), *n),
            Expr::If(g, a, b) => Word::If(Box::new(subst.guard(g)), Box::new(self.word(a, subst)), Box::new(self.word(b, subst))),
            Expr::Sum(s) => self.sum(s, subst),
            Expr::Value(n, at) => {
                let Some(equation) = self.c.equations.get(*n as usize) else { return Word::Tuple(vec![]) };
                let mut inner = Subst::default();
                for (v, ix) in equation.indices.iter().zip(at) {
                    inner.vars.insert(*v, subst.ix(ix));
                }
                self.word(&equation.value, &inner)
            }
        }
    }

    /// One chain: a fold inside a fold for each further binder, the inner one continuing the outer's total.
    fn sum(&mut self, s: &Sum, subst: &Subst) -> Word {
        let zero = self.word(&s.zero, subst);
        let number = self.totals;
        self.totals += 1;
        let mut subst = subst.clone();
        let mut loops = Vec::new();
        for b in &s.binders {
            let domain = subst.domain(&b.domain);
            let info = self.fun.vars[b.var.index()].clone();
            // Each use of an intermediate has a sum, so a loop, of its own.
            let var = if self.used.insert(b.var) { b.var } else { self.fun.add_var(info.name, info.kind) };
            subst.vars.insert(b.var, Ix::Var(var));
            let total = LocalInfo { name: format!("acc'{number}"), ty: s.ty.clone(), dims: vec![], mutable: false };
            let acc = self.fun.add_local(total);
            loops.push((var, domain, acc, b.guard.as_ref().map(|g| subst.guard(g))));
        }
        let Some(last) = loops.last().map(|l| Word::Local(l.2, vec![])) else { return zero };
        let mut next = self.term(s, last, &subst);
        for (i, (var, domain, acc, guard)) in loops.iter().enumerate().rev() {
            if let Some(g) = guard {
                next = Word::If(Box::new(g.clone()), Box::new(next), Box::new(Word::Local(*acc, vec![])));
            }
            let init = if i == 0 { zero.clone() } else { Word::Local(loops[i - 1].2, vec![]) };
            next = Word::Fold(Box::new(Fold {
                var: *var,
                domain: domain.clone(),
                acc: *acc,
                init,
                body: next,
                regroup: s.regroup,
                span: s.span,
            }));
        }
        next
    }

    /// The next total: the chain with one term.
    fn term(&mut self, s: &Sum, chain: Word, subst: &Subst) -> Word {
        let op = |op: Op, args: Vec<Word>| Word::Op { op, arith: s.arith, args };
        if let (Some((mul_add, mul)), Expr::Op(top, _, factors)) = (s.mul_add, &s.body)
            && *top == mul
            && factors.len() == 2
        {
            let mut args = self.words(factors, subst);
            args.push(chain);
            return op(mul_add, args);
        }
        let term = self.word(&s.body, subst);
        match &s.add {
            Combine::Op(add) => op(*add, vec![chain, term]),
            Combine::Apply(f) => Word::Apply(*f, vec![chain, term]),
        }
    }
}
