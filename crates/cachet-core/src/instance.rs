//! Binding type parameters: a generic function at an implementation.
//!
//! An instance only substitutes: `S.Value` becomes the implementation's type and `S.mul_add x y z` the body of its
//! `mul_add`, so whatever was proved of the generic function holds for every instance.

use crate::ir::{
    Binding, Buffer, BufferInfo, Call, Fold, Fun, FunId, Local, LocalInfo, Op, Parts, Program, Pure, Reduce, Stmt,
    StmtKind, Ty, Word,
};
use crate::rewrite::Subst;

/// `matmul_PlusTimes_f32`: a function's name at implementations.
pub fn instance_name(program: &Program, name: &str, types: &[Binding]) -> String {
    let mut out = name.to_string();
    for b in types {
        if let Binding::Impl(i) = b
            && let Some(imp) = program.impls.get(i.index())
        {
            for word in imp.name.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
                out.push('_');
                out.push_str(word);
            }
        }
    }
    out
}

/// The function with its type parameters bound, one binding each. The name stays.
///
/// Bindings to a caller's parameters (`Binding::Param`) keep operations abstract under the caller's parameter.
pub fn instantiate(program: &Program, fun: &Fun, types: &[Binding]) -> Fun {
    if types.is_empty() {
        return fun.clone();
    }
    let mut bind = Bind { program, types, locals: fun.locals.clone() };
    let body = bind.block(&fun.body);
    let mut out = fun.clone();
    out.locals = bind.locals;
    for l in &mut out.locals {
        l.ty = bind_ty(program, types, &l.ty);
    }
    for b in &mut out.buffers {
        b.elem = bind_ty(program, types, &b.elem);
    }
    out.body = body;
    for b in types {
        if let Binding::Impl(id) = b
            && !out.algebras.contains(id)
        {
            out.algebras.push(*id);
        }
    }
    if types.iter().all(|t| matches!(t, Binding::Impl(_))) {
        out.type_params.clear();
    }
    out
}

/// A pure function's value, its parameters replaced: what an application means.
///
/// An argument that is not atomic and is used more than once is named by a `let`, so that the value stays as large as
/// the call. New locals go to `locals`.
pub fn unfold(program: &Program, pure: &Pure, args: &[Word], locals: &mut Vec<LocalInfo>) -> Word {
    let mut subst = Subst::default();
    let mut lets = Vec::new();
    let offset = locals.len() as u32;
    for (i, info) in pure.locals.iter().enumerate() {
        locals.push(info.clone());
        subst.locals.insert(Local(i as u32), Word::Local(Local(offset + i as u32), vec![]));
    }
    for (param, arg) in pure.params.iter().zip(args) {
        let atomic = matches!(arg, Word::Lit(_) | Word::Local(..));
        if atomic || uses(&pure.body, *param) <= 1 {
            subst.locals.insert(*param, arg.clone());
        } else {
            lets.push((Local(offset + param.0), arg.clone()));
        }
    }
    let body = subst.word(&unfold_all(program, &pure.body, locals));
    lets.into_iter().rev().fold(body, |body, (l, w)| Word::Let(l, Box::new(w), Box::new(body)))
}

/// A copy of `of` to start a schedule from: instantiated where `types` are given, under another name.
pub fn derive(program: &Program, of: FunId, name: &str, types: &[Binding]) -> Fun {
    let source = &program.funs[of.index()];
    let mut fun = instantiate(program, source, types);
    fun.name = name.to_string();
    fun
}

/// Gives a function scratch parameters, after those that it has. Nothing uses them yet.
pub fn add_scratch(fun: &mut Fun, own: &[BufferInfo]) {
    for info in own {
        let id = Buffer(fun.buffers.len() as u32);
        fun.buffers.push(info.clone());
        fun.params.push(id);
        fun.scratch.push(id);
    }
}

/// The type with parameters bound.
pub fn bind_ty(program: &Program, types: &[Binding], ty: &Ty) -> Ty {
    match ty {
        Ty::Elem(e) => Ty::Elem(*e),
        Ty::Abstract(p) => match types.get(p.index()) {
            Some(Binding::Impl(i)) => program.impls.get(i.index()).map_or_else(|| ty.clone(), |i| i.value.clone()),
            Some(Binding::Param(q)) => Ty::Abstract(*q),
            None => ty.clone(),
        },
        Ty::Tuple(parts) => {
            Ty::Tuple(Parts { types: parts.iter().map(|t| bind_ty(program, types, t)).collect(), record: parts.record })
        }
    }
}

fn uses(word: &Word, local: Local) -> usize {
    struct Uses(Local, usize);
    impl crate::rewrite::Visit for Uses {
        fn word(&mut self, word: &Word) {
            if matches!(word, Word::Local(l, _) if *l == self.0) {
                self.1 += 1;
            }
            crate::rewrite::visit_word(self, word);
        }
    }
    let mut count = Uses(local, 0);
    crate::rewrite::Visit::word(&mut count, word);
    count.1
}

/// Applications inside a pure function's body name other pure functions; recursion is refused before this runs.
fn unfold_all(program: &Program, word: &Word, locals: &mut Vec<LocalInfo>) -> Word {
    let mut bind = Bind { program, types: &[], locals: std::mem::take(locals) };
    let out = bind.word(word);
    *locals = bind.locals;
    out
}

struct Bind<'a> {
    program: &'a Program,
    types: &'a [Binding],
    locals: Vec<LocalInfo>,
}

impl Bind<'_> {
    fn block(&mut self, block: &[Stmt]) -> Vec<Stmt> {
        block.iter().map(|s| self.stmt(s)).collect()
    }

    fn stmt(&mut self, s: &Stmt) -> Stmt {
        let kind = match &s.kind {
            StmtKind::For { var, domain, body } => {
                StmtKind::For { var: *var, domain: domain.clone(), body: self.block(body) }
            }
            StmtKind::Grid(g) => {
                let mut g = g.clone();
                g.body = self.block(&g.body);
                StmtKind::Grid(g)
            }
            StmtKind::If { guard, then, els } => {
                StmtKind::If { guard: guard.clone(), then: self.block(then), els: self.block(els) }
            }
            StmtKind::Let { local, word } => StmtKind::Let { local: *local, word: self.word(word) },
            StmtKind::Var { local, init } => StmtKind::Var { local: *local, init: self.word(init) },
            StmtKind::Assign { local, at, word } => {
                StmtKind::Assign { local: *local, at: at.clone(), word: self.word(word) }
            }
            StmtKind::Store { to, word } => StmtKind::Store { to: to.clone(), word: self.word(word) },
            StmtKind::Alloc(b) => StmtKind::Alloc(*b),
            StmtKind::Lease { lease, of, mutable } => StmtKind::Lease { lease: *lease, of: *of, mutable: *mutable },
            StmtKind::Call(c) => StmtKind::Call(Box::new(Call {
                types: c.types.iter().map(|t| self.binding(*t)).collect(),
                ..(**c).clone()
            })),
            StmtKind::Print(w) => StmtKind::Print(self.word(w)),
        };
        Stmt { kind, span: s.span }
    }

    fn binding(&self, binding: Binding) -> Binding {
        match binding {
            Binding::Param(p) => self.types.get(p.index()).copied().unwrap_or(binding),
            Binding::Impl(_) => binding,
        }
    }

    fn words(&mut self, words: &[Word]) -> Vec<Word> {
        words.iter().map(|w| self.word(w)).collect()
    }

    fn word(&mut self, word: &Word) -> Word {
        match word {
            Word::Lit(_) | Word::Index(..) | Word::Load(_) | Word::Local(..) | Word::Differing(..) => word.clone(),
            Word::Op { op: Op::Method(p, m), arith, args } => {
                let args = self.words(args);
                match self.types.get(p.index()) {
                    Some(Binding::Impl(i)) => {
                        let program = self.program;
                        let method = program.impls.get(i.index()).and_then(|i| i.methods.get(*m as usize));
                        match method.and_then(|f| program.pures.get(f.index())) {
                            Some(pure) => unfold(program, pure, &args, &mut self.locals),
                            None => Word::Op { op: Op::Method(*p, *m), arith: *arith, args },
                        }
                    }
                    Some(Binding::Param(q)) => Word::Op { op: Op::Method(*q, *m), arith: *arith, args },
                    None => Word::Op { op: Op::Method(*p, *m), arith: *arith, args },
                }
            }
            Word::Op { op, arith, args } => Word::Op { op: *op, arith: *arith, args: self.words(args) },
            Word::Apply(f, args) => {
                let args = self.words(args);
                let program = self.program;
                match program.pures.get(f.index()) {
                    Some(pure) => unfold(program, pure, &args, &mut self.locals),
                    None => Word::Apply(*f, args),
                }
            }
            Word::Tuple(parts) => Word::Tuple(self.words(parts)),
            Word::Part(w, n) => self.word(w).part(*n),
            Word::Let(l, a, b) => Word::Let(*l, Box::new(self.word(a)), Box::new(self.word(b))),
            Word::If(g, a, b) => Word::If(g.clone(), Box::new(self.word(a)), Box::new(self.word(b))),
            Word::Fold(f) => Word::Fold(Box::new(Fold {
                var: f.var,
                domain: f.domain.clone(),
                acc: f.acc,
                init: self.word(&f.init),
                body: self.word(&f.body),
                regroup: f.regroup,
                span: f.span,
            })),
            Word::Reduce(r) => Word::Reduce(Box::new(Reduce {
                var: r.var,
                domain: r.domain.clone(),
                element: self.word(&r.element),
                operands: r.operands,
                combine: self.word(&r.combine),
                empty: self.word(&r.empty),
                shape: r.shape,
                span: r.span,
            })),
        }
    }
}
