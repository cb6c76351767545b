//! A contraction's plain nest: one loop per free index, sums as folds inside, intermediates inlined at every use.
//!
//! ```text
//! c[i, j] = sum k. a[i, k] * b[k, j]
//!   is   for i in 0 .. M do for j in 0 .. N do
//!          store c[i, j] = fold k in 0 .. K from -0.0 as acc'0: f32 do fma (load a[i, k]) (load b[k, j]) acc'0
//! ```
//!
//! A product at the top of a sum joins the chain by `mul_add`, anything else by `add`. A total has the number of its sum,
//! counted through the equations in the order in which sums begin, so each copy of an inlined one has the same. Where an
//! inlined sum's index has the name of a loop around it, it takes a fresh one: a name means one thing at a time.

use cachet_core::equations::{Combine, Contraction, Equation, Expr, Sum, Target};
use cachet_core::instance::unfold;
use cachet_core::ir::{
    Access, Block, Fold, Fun, Guard, ImplId, Ix, Local, LocalInfo, Op, Program, PureId, Stmt, StmtKind, Var, Word,
};
use cachet_core::rewrite::Subst;
use std::collections::BTreeSet;

/// The nest.
pub(crate) fn nest(program: &Program, c: &Contraction) -> Fun {
    let fun = Fun {
        name: c.name.clone(),
        type_params: c.type_params.clone(),
        algebras: c.equations.iter().flat_map(|e| monoids(program, &e.value)).fold(vec![], |mut all, id| {
            if !all.contains(&id) {
                all.push(id);
            }
            all
        }),
        sizes: c.sizes.clone(),
        params: c.params.clone(),
        requires: c.requires.clone(),
        produces: c.outputs.clone(),
        scratch: vec![],
        resources: Default::default(),
        body: vec![],
        vars: c.vars.clone(),
        locals: vec![],
        buffers: c.buffers.clone(),
        span: c.span,
    };
    let mut first = 0;
    let firsts = c.equations.iter().map(|e| {
        let before = first;
        first += sums(&e.value);
        before
    });
    let mut lower = Lower {
        program,
        c,
        fun,
        firsts: firsts.collect(),
        totals: 0,
        used: BTreeSet::new(),
        around: Vec::new(),
        lets: Vec::new(),
    };
    let mut body = Vec::new();
    for (n, e) in c.equations.iter().enumerate() {
        if let Target::Output(buffer) = e.target {
            lower.totals = lower.firsts[n];
            body.push(lower.equation(e, buffer));
        }
    }
    lower.fun.body = body;
    lower.fun
}

struct Lower<'a> {
    program: &'a Program,
    c: &'a Contraction,
    fun: Fun,
    /// The number of each equation's first sum.
    firsts: Vec<u32>,
    /// The next sum's number.
    totals: u32,
    /// Summed indices that are a loop already.
    used: BTreeSet<Var>,
    /// The loops around what is made.
    around: Vec<Var>,
    /// The `let`s around what is made: the equation's local, and the nest's.
    lets: Vec<(Local, Local)>,
}

/// The implementations whose operations join the terms of a value's sums.
fn monoids(program: &Program, e: &Expr) -> Vec<ImplId> {
    match e {
        Expr::Lit(_) | Expr::Index(..) | Expr::Read(_) | Expr::Value(..) | Expr::Local(_) => vec![],
        Expr::Op(_, _, args) | Expr::Apply(_, args) | Expr::Tuple(args) => {
            args.iter().flat_map(|a| monoids(program, a)).collect()
        }
        Expr::Part(w, _) => monoids(program, w),
        Expr::Let(_, a, b) | Expr::If(_, a, b) => [a, b].into_iter().flat_map(|w| monoids(program, w)).collect(),
        Expr::Sum(s) => {
            let own = match &s.add {
                Combine::Op(_) => None,
                Combine::Apply(f) => program.impls.iter().position(|i| i.methods.contains(f)),
            };
            own.map(|n| ImplId(n as u32)).into_iter().chain(monoids(program, &s.body)).collect()
        }
    }
}

/// How many sums a value has.
fn sums(e: &Expr) -> u32 {
    match e {
        Expr::Lit(_) | Expr::Index(..) | Expr::Read(_) | Expr::Value(..) | Expr::Local(_) => 0,
        Expr::Op(_, _, args) | Expr::Apply(_, args) | Expr::Tuple(args) => args.iter().map(sums).sum(),
        Expr::Part(w, _) => sums(w),
        Expr::Let(_, a, b) | Expr::If(_, a, b) => sums(a) + sums(b),
        Expr::Sum(s) => 1 + sums(&s.body),
    }
}

impl Lower<'_> {
    fn equation(&mut self, e: &Equation, buffer: cachet_core::ir::Buffer) -> Stmt {
        self.around.clone_from(&e.indices);
        let word = self.word(&e.value, &Subst::default());
        let at = e.indices.iter().map(|v| Ix::Var(*v)).collect();
        let mut body: Block =
            vec![Stmt { kind: StmtKind::Store { to: Access { buffer, at, span: e.span }, word }, span: e.span }];
        for (var, domain) in e.indices.iter().zip(&e.ranges).rev() {
            body = vec![Stmt { kind: StmtKind::For { var: *var, domain: domain.clone(), body }, span: e.span }];
        }
        // A contraction's output has at least one axis.
        body.pop().unwrap_or(Stmt {
            kind: StmtKind::If { guard: Guard::Const(false), then: vec![], els: vec![] },
            span: e.span,
        })
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
            Expr::If(g, a, b) => {
                Word::If(Box::new(subst.guard(g)), Box::new(self.word(a, subst)), Box::new(self.word(b, subst)))
            }
            Expr::Sum(s) => self.sum(s, subst),
            Expr::Let(l, a, b) => {
                let value = self.word(a, subst);
                // Each use of an intermediate has locals of its own.
                let info = self.c.locals[l.index()].clone();
                let name = self.free_name(&info.name);
                let local = self.fun.add_local(LocalInfo { name, ..info });
                self.lets.push((*l, local));
                let rest = self.word(b, subst);
                self.lets.pop();
                Word::Let(local, Box::new(value), Box::new(rest))
            }
            Expr::Local(l) => match self.lets.iter().rev().find(|(own, _)| own == l) {
                Some((_, local)) => Word::Local(*local, vec![]),
                // Elaboration binds a local before it uses it.
                None => Word::Tuple(vec![]),
            },
            Expr::Value(n, at) => {
                let Some(equation) = self.c.equations.get(*n as usize) else { return Word::Tuple(vec![]) };
                let mut inner = Subst::default();
                for (v, ix) in equation.indices.iter().zip(at) {
                    inner.vars.insert(*v, subst.ix(ix));
                }
                let outer = std::mem::replace(&mut self.totals, self.firsts[*n as usize]);
                let word = self.word(&equation.value, &inner);
                self.totals = outer;
                word
            }
        }
    }

    /// One chain: a fold inside a fold for each further binder, the inner one continuing the outer's total.
    fn sum(&mut self, s: &Sum, subst: &Subst) -> Word {
        let zero = match &s.zero {
            Expr::Apply(f, args) if args.is_empty() => self.operation(*f, &[]),
            zero => self.word(zero, subst),
        };
        let number = self.totals;
        self.totals += 1;
        let mut subst = subst.clone();
        let mut loops = Vec::new();
        let depth = self.around.len();
        for b in &s.binders {
            let domain = subst.domain(&b.domain);
            let info = self.fun.vars[b.var.index()].clone();
            // Each use of an intermediate has a sum, so a loop, of its own.
            let name = self.free_name(&info.name);
            let var = match self.used.insert(b.var) && name == info.name {
                true => b.var,
                false => self.fun.add_var(name, info.kind),
            };
            self.around.push(var);
            subst.vars.insert(b.var, Ix::Var(var));
            let total = LocalInfo {
                name: format!("acc'{number}"),
                ty: s.ty.clone(),
                dims: vec![],
                vector: false,
                mutable: false,
            };
            let acc = self.fun.add_local(total);
            loops.push((var, domain, acc, b.guard.as_ref().map(|g| subst.guard(g))));
        }
        let Some(last) = loops.last().map(|l| Word::Local(l.2, vec![])) else { return zero };
        let mut next = self.term(s, last, &subst);
        self.around.truncate(depth);
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

    /// An implementation's own operation has no name in the language: what it computes stands in its place.
    fn operation(&mut self, f: PureId, args: &[Word]) -> Word {
        match self.program.pures.get(f.index()) {
            Some(pure) => unfold(self.program, pure, args, &mut self.fun.locals),
            None => Word::Apply(f, args.to_vec()),
        }
    }

    /// One step of a semiring's sum. Where the implementation does nothing but call a function that has a name, the step is
    /// that function: steps of schedules and instructions know it by its name.
    fn step(&mut self, f: PureId, args: &[Word]) -> Word {
        let own = |g: &PureId| self.program.impls.iter().any(|i| i.methods.contains(g));
        if let Some(pure) = self.program.pures.get(f.index())
            && let Word::Apply(g, given) = &pure.body
            && !own(g)
        {
            let place = |w: &Word| match w {
                Word::Local(l, at) if at.is_empty() => args.get(pure.params.iter().position(|p| p == l)?).cloned(),
                _ => None,
            };
            if let Some(given) = given.iter().map(place).collect::<Option<Vec<_>>>() {
                return Word::Apply(*g, given);
            }
        }
        self.operation(f, args)
    }

    /// The name, or the first of `k_2`, `k_3`, .. that neither a loop or `let` around, nor a size, nor an
    /// array has.
    fn free_name(&self, wanted: &str) -> String {
        let vars = self.around.iter().chain(&self.fun.sizes).map(|v| self.fun.vars[v.index()].name.as_str());
        let lets = self.lets.iter().map(|(_, l)| self.fun.locals[l.index()].name.as_str());
        let taken: BTreeSet<&str> = vars.chain(lets).chain(self.fun.buffers.iter().map(|b| b.name.as_str())).collect();
        let others = (2u64..).map(|n| format!("{wanted}_{n}"));
        std::iter::once(wanted.to_string()).chain(others).find(|n| !taken.contains(n.as_str())).unwrap_or_default()
    }

    /// The next total: the chain with one term.
    fn term(&mut self, s: &Sum, chain: Word, subst: &Subst) -> Word {
        let op = |op: Op, args: Vec<Word>| Word::Op { op, arith: s.arith, args };
        if let (Some((mul_add, mul)), Expr::Op(top, _, factors)) = (&s.mul_add, &s.body)
            && top == mul
            && factors.len() == 2
        {
            let mut args = self.words(factors, subst);
            args.push(chain);
            return match mul_add {
                Combine::Op(fused) => op(*fused, args),
                Combine::Apply(f) => self.step(*f, &args),
            };
        }
        let term = self.word(&s.body, subst);
        match &s.add {
            Combine::Op(add) => op(*add, vec![chain, term]),
            Combine::Apply(f) => self.operation(*f, &[chain, term]),
        }
    }
}
