//! A typed expression, between the syntax and the two things it becomes: a word of a loop nest, or a value of an
//! equation.

use cachet_core::equations::{Binder, Combine, Expr, Sum};
use cachet_core::ir::{
    Access, At, Buffer, Device, Domain, Elem, Fold, Guard, Ix, Lit, Local, Op, PureId, Ty, Var, Word,
};
use std::collections::BTreeMap;

/// A typed expression.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Lit(Lit),
    Index(Ix, Elem),
    Load(Access),
    Local(Local, Vec<Ix>),
    Op(Op, Vec<Tree>),
    Apply(PureId, Vec<Tree>),
    /// A record's fields.
    Tuple(Vec<Tree>),
    Part(Box<Tree>, u32),
    If(Guard, Box<Tree>, Box<Tree>),
    Let(Local, Box<Tree>, Box<Tree>),
    Fold(Box<FoldTree>),
    /// Of a contraction.
    Sum(Box<SumTree>),
    /// An intermediate's element.
    Value(u32, Vec<Ix>),
    Differing(Buffer, Buffer),
}

#[derive(Clone, Debug)]
pub(crate) struct FoldTree {
    pub var: Var,
    pub domain: Domain,
    pub acc: Local,
    pub init: Tree,
    pub body: Tree,
    pub span: At,
}

#[derive(Clone, Debug)]
pub(crate) struct SumTree {
    pub binders: Vec<(Var, Option<Guard>)>,
    pub zero: Tree,
    pub add: Combine,
    /// The operation on a product and the chain, and the product's own.
    pub mul_add: Option<(Combine, Op)>,
    pub body: Tree,
    pub ty: Ty,
    pub regroup: bool,
    pub span: At,
}

impl Tree {
    /// A field of a record: of one that is written out, the field's own value.
    pub fn part(self, n: u32) -> Tree {
        match self {
            Tree::Tuple(mut parts) if (n as usize) < parts.len() => parts.swap_remove(n as usize),
            other => Tree::Part(Box::new(other), n),
        }
    }

    /// As a word. Sums and intermediates are a contraction's and do not occur in functions.
    pub fn into_word(self) -> Word {
        let all = |ts: Vec<Tree>| ts.into_iter().map(Tree::into_word).collect();
        match self {
            Tree::Lit(l) => Word::Lit(l),
            Tree::Index(ix, e) => Word::Index(ix, e),
            Tree::Load(a) => Word::Load(a),
            Tree::Local(l, at) => Word::Local(l, at),
            Tree::Op(op, args) => Word::Op { op, arith: Device::HOST, args: all(args) },
            Tree::Apply(f, args) => Word::Apply(f, all(args)),
            Tree::Tuple(parts) => Word::Tuple(all(parts)),
            Tree::Part(w, n) => w.into_word().part(n),
            Tree::If(g, a, b) => Word::If(Box::new(g), Box::new(a.into_word()), Box::new(b.into_word())),
            Tree::Let(l, a, b) => Word::Let(l, Box::new(a.into_word()), Box::new(b.into_word())),
            Tree::Fold(f) => Word::Fold(Box::new(Fold {
                var: f.var,
                domain: f.domain,
                acc: f.acc,
                init: f.init.into_word(),
                body: f.body.into_word(),
                regroup: false,
                span: f.span,
            })),
            Tree::Differing(a, b) => Word::Differing(a, b),
            // Elaboration of functions refuses both before it makes them.
            Tree::Sum(s) => s.zero.into_word(),
            Tree::Value(..) => Word::Tuple(vec![]),
        }
    }

    /// As a value of an equation, with the ranges that were found for its summed indices. Local arrays and folds do not
    /// occur there.
    pub fn into_expr(self, ranges: &BTreeMap<Var, Domain>) -> Option<Expr> {
        let all = |ts: Vec<Tree>| ts.into_iter().map(|t| t.into_expr(ranges)).collect::<Option<Vec<_>>>();
        Some(match self {
            Tree::Lit(l) => Expr::Lit(l),
            Tree::Index(ix, e) => Expr::Index(ix, e),
            Tree::Load(a) => Expr::Read(a),
            Tree::Op(op, args) => Expr::Op(op, Device::HOST, all(args)?),
            Tree::Apply(f, args) => Expr::Apply(f, all(args)?),
            Tree::Tuple(parts) => Expr::Tuple(all(parts)?),
            Tree::Part(w, n) => Expr::Part(Box::new(w.into_expr(ranges)?), n),
            Tree::If(g, a, b) => Expr::If(Box::new(g), Box::new(a.into_expr(ranges)?), Box::new(b.into_expr(ranges)?)),
            Tree::Value(n, at) => Expr::Value(n, at),
            Tree::Sum(s) => {
                let mut binders = Vec::new();
                for (var, guard) in s.binders {
                    binders.push(Binder { var, domain: ranges.get(&var)?.clone(), guard });
                }
                Expr::Sum(Box::new(Sum {
                    binders,
                    zero: s.zero.into_expr(ranges)?,
                    add: s.add,
                    mul_add: s.mul_add,
                    arith: Device::HOST,
                    body: s.body.into_expr(ranges)?,
                    ty: s.ty,
                    regroup: s.regroup,
                    span: s.span,
                }))
            }
            Tree::Let(l, a, b) => Expr::Let(l, Box::new(a.into_expr(ranges)?), Box::new(b.into_expr(ranges)?)),
            Tree::Local(l, at) if at.is_empty() => Expr::Local(l),
            Tree::Local(..) | Tree::Fold(_) | Tree::Differing(..) => return None,
        })
    }
}
