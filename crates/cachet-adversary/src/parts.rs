//! Where in a function can something be changed? Every part of it, one after another, each to be written over.

use cachet_core::ir::{Access, Block, Domain, Elem, Fun, Guard, Ix, Op, Prim, Program, Stmt, StmtKind, Ty, Word};

/// A part of a function.
pub enum Part<'a> {
    /// Statements in order.
    Block(&'a mut Block),
    /// A word.
    Word(&'a mut Word),
    /// An index.
    Ix(&'a mut Ix),
    /// A guard.
    Guard(&'a mut Guard),
    /// What a loop, a fold or a reduction runs over.
    Domain(&'a mut Domain),
}

/// Gives every part of a function's body to `f`, the outer ones before those inside; what is written over a part is walked
/// in its place.
pub fn edit(fun: &mut Fun, f: &mut dyn FnMut(Part<'_>)) {
    block(&mut fun.body, f);
}

/// Gives the parts of a word, and the word first.
pub fn edit_word(w: &mut Word, f: &mut dyn FnMut(Part<'_>)) {
    word(w, f);
}

fn block(stmts: &mut Block, f: &mut dyn FnMut(Part<'_>)) {
    f(Part::Block(stmts));
    stmts.iter_mut().for_each(|s| stmt(s, f));
}

fn stmt(s: &mut Stmt, f: &mut dyn FnMut(Part<'_>)) {
    match &mut s.kind {
        StmtKind::For { var: _, domain: d, body } => {
            domain(d, f);
            block(body, f);
        }
        StmtKind::Grid(g) => {
            g.axes.iter_mut().for_each(|(_, d)| domain(d, f));
            for w in &mut g.writes {
                axes(&mut w.axes, f);
            }
            block(&mut g.body, f);
        }
        StmtKind::If { guard: g, then, els } => {
            guard(g, f);
            block(then, f);
            block(els, f);
        }
        StmtKind::Let { local: _, word: w } | StmtKind::Var { local: _, init: w } | StmtKind::Print(w) => word(w, f),
        StmtKind::Assign { local: _, at, word: w } => {
            at.iter_mut().for_each(|i| ix(i, f));
            word(w, f);
        }
        StmtKind::Store { to, word: w } => {
            word(w, f);
            access(to, f);
        }
        StmtKind::Alloc(_) | StmtKind::Lease { .. } => {}
        StmtKind::Call(c) => {
            c.sizes.iter_mut().for_each(|i| ix(i, f));
            for v in &mut c.args {
                axes(v.axes.as_deref_mut().unwrap_or(&mut []), f);
            }
        }
    }
}

fn axes(all: &mut [(Ix, Ix)], f: &mut dyn FnMut(Part<'_>)) {
    for (start, len) in all {
        ix(start, f);
        ix(len, f);
    }
}

fn access(a: &mut Access, f: &mut dyn FnMut(Part<'_>)) {
    a.at.iter_mut().for_each(|i| ix(i, f));
}

fn domain(d: &mut Domain, f: &mut dyn FnMut(Part<'_>)) {
    f(Part::Domain(d));
    let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, size: _ }) = d;
    ix(lo, f);
    ix(hi, f);
}

fn word(w: &mut Word, f: &mut dyn FnMut(Part<'_>)) {
    f(Part::Word(w));
    match w {
        Word::Lit(_) | Word::Differing(..) => {}
        Word::Index(i, _) => ix(i, f),
        Word::Load(a) => access(a, f),
        Word::Local(_, at) => at.iter_mut().for_each(|i| ix(i, f)),
        Word::Op { op: _, arith: _, args } | Word::Apply(_, args) | Word::Tuple(args) => {
            args.iter_mut().for_each(|w| word(w, f));
        }
        Word::Part(w, _) => word(w, f),
        Word::Let(_, a, b) => {
            word(a, f);
            word(b, f);
        }
        Word::If(g, a, b) => {
            guard(g, f);
            word(a, f);
            word(b, f);
        }
        Word::Fold(x) => {
            domain(&mut x.domain, f);
            word(&mut x.init, f);
            word(&mut x.body, f);
        }
        Word::Reduce(x) => {
            domain(&mut x.domain, f);
            word(&mut x.empty, f);
            word(&mut x.element, f);
            word(&mut x.combine, f);
        }
    }
}

fn guard(g: &mut Guard, f: &mut dyn FnMut(Part<'_>)) {
    f(Part::Guard(g));
    match g {
        Guard::Const(_) => {}
        Guard::Cmp(_, a, b) => {
            ix(a, f);
            ix(b, f);
        }
        Guard::And(a, b) | Guard::Or(a, b) => {
            guard(a, f);
            guard(b, f);
        }
        Guard::Not(a) => guard(a, f),
    }
}

fn ix(i: &mut Ix, f: &mut dyn FnMut(Part<'_>)) {
    f(Part::Ix(i));
    match i {
        Ix::Lit(_) | Ix::Var(_) | Ix::Block(..) => {}
        Ix::Add(a, b) | Ix::Sub(a, b) | Ix::Min(a, b) | Ix::Max(a, b) => {
            ix(a, f);
            ix(b, f);
        }
        Ix::Mul(_, a) | Ix::Div(a, _) | Ix::Mod(a, _) | Ix::InBlock(_, a) => ix(a, f),
        Ix::If(g, a, b) => {
            guard(g, f);
            ix(a, f);
            ix(b, f);
        }
    }
}

/// The type of a word of a valid function.
pub fn type_of(program: &Program, fun: &Fun, word: &Word) -> Option<Ty> {
    let elem = |e: Elem| Some(Ty::Elem(e));
    match word {
        Word::Lit(l) => elem(l.elem),
        Word::Index(_, e) => elem(*e),
        Word::Load(a) => fun.buffers.get(a.buffer.index()).map(|b| b.elem.clone()),
        Word::Local(l, _) => fun.locals.get(l.index()).map(|l| l.ty.clone()),
        Word::Op { op: Op::Method(p, _), .. } => Some(Ty::Abstract(*p)),
        Word::Op { op: Op::Prim(prim), arith: _, args } => {
            let arg = |n: usize| type_of(program, fun, args.get(n)?);
            match prim {
                Prim::Add
                | Prim::Sub
                | Prim::Mul
                | Prim::Div
                | Prim::Rem
                | Prim::WrappingAdd
                | Prim::WrappingSub
                | Prim::WrappingMul
                | Prim::Fma
                | Prim::Max
                | Prim::Min
                | Prim::Neg
                | Prim::Abs
                | Prim::Sqrt => arg(0),
                Prim::Eq | Prim::Lt | Prim::Le | Prim::And | Prim::Or | Prim::Not => elem(Elem::Bool),
                Prim::Select => arg(1),
                Prim::Cast(e) | Prim::WrappingCast(e) | Prim::SaturatingCast(e) | Prim::FromBits(e) => elem(*e),
                Prim::ToBits => match arg(0)? {
                    Ty::Elem(Elem::F64) => elem(Elem::U64),
                    Ty::Elem(Elem::F32) => elem(Elem::U32),
                    Ty::Elem(_) => elem(Elem::U16),
                    Ty::Abstract(_) | Ty::Tuple(_) => None,
                },
            }
        }
        Word::Apply(f, _) => program.pures.get(f.index()).map(|p| p.result.clone()),
        Word::Tuple(parts) => parts.iter().map(|w| type_of(program, fun, w)).collect::<Option<_>>().map(Ty::Tuple),
        Word::Part(w, n) => match type_of(program, fun, w)? {
            Ty::Tuple(parts) => parts.get(*n as usize).cloned(),
            Ty::Elem(_) | Ty::Abstract(_) => None,
        },
        Word::Let(_, _, b) => type_of(program, fun, b),
        Word::If(_, a, _) => type_of(program, fun, a),
        Word::Fold(f) => type_of(program, fun, &f.init),
        Word::Reduce(r) => type_of(program, fun, &r.empty),
        Word::Differing(..) => elem(Elem::I64),
    }
}
