//! A contraction as its equations, before any loop exists.
//!
//! Two readers use it and share nothing else: elaboration, which makes the plain nest, and the evaluator of the
//! equations, which computes single elements straight from here and so checks the nest.

use crate::ir::{
    Access, At, Buffer, BufferInfo, Device, Domain, Elem, Guard, Ix, Lit, Local, LocalInfo, Op, PureId, Ty,
    TypeParamInfo, Var, VarInfo,
};
use serde::{Deserialize, Serialize};

/// A function given by an equation per output element.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Contraction {
    /// Its name.
    pub name: String,
    /// Type parameters.
    pub type_params: Vec<TypeParamInfo>,
    /// Size parameters in order of first occurrence.
    pub sizes: Vec<Var>,
    /// Parameters in order; outputs last.
    pub params: Vec<Buffer>,
    /// The outputs among them.
    pub outputs: Vec<Buffer>,
    /// What a caller must prove of the sizes.
    pub requires: Vec<Guard>,
    /// Equations in order; one may use the intermediates of earlier ones.
    pub equations: Vec<Equation>,
    /// Sizes and indices.
    pub vars: Vec<VarInfo>,
    /// What `let`s name.
    pub locals: Vec<LocalInfo>,
    /// Parameters.
    pub buffers: Vec<BufferInfo>,
    /// Where it is written.
    pub span: At,
}

/// `target[indices] = value`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Equation {
    /// What it defines.
    pub target: Target,
    /// The free indices, one per axis, distinct.
    pub indices: Vec<Var>,
    /// The range of each free index.
    pub ranges: Vec<Domain>,
    /// An element's value.
    pub value: Expr,
    /// The type of an element.
    pub ty: Ty,
    /// Where it is written.
    pub span: At,
}

/// What an equation defines.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Target {
    /// Every element of an output.
    Output(Buffer),
    /// A value without storage, known to later equations by the position of this one.
    Intermediate(String),
}

/// A value in an equation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Expr {
    /// A literal.
    Lit(Lit),
    /// An index as a word.
    Index(Ix, Elem),
    /// An input's element.
    Read(Access),
    /// An earlier equation's element.
    Value(u32, Vec<Ix>),
    /// An operation.
    Op(Op, Device, Vec<Expr>),
    /// A pure function's value.
    Apply(PureId, Vec<Expr>),
    /// Several words as one.
    Tuple(Vec<Expr>),
    /// One of several, from 0.
    Part(Box<Expr>, u32),
    /// `let x = a in b`.
    Let(Local, Box<Expr>, Box<Expr>),
    /// What a `let` names.
    Local(Local),
    /// Choice by a guard.
    If(Box<Guard>, Box<Expr>, Box<Expr>),
    /// `sum k, l. body`: one chain, the first binder outermost.
    Sum(Box<Sum>),
}

/// `sum[flag] binders. body`, or a `reduce`, of a monoid (then `mul_add` is `None`) or of a semiring.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sum {
    /// The summed indices, outermost first.
    pub binders: Vec<Binder>,
    /// What the chain starts from.
    pub zero: Expr,
    /// Joins the chain (first operand) and a term.
    pub add: Combine,
    /// The operation `(x, y, chain)` used instead where the body is a product `x * y` at its top, and that product's operation.
    pub mul_add: Option<(Combine, Op)>,
    /// The arithmetic of `add` and `mul_add`.
    pub arith: Device,
    /// A term.
    pub body: Expr,
    /// The type of the chain.
    pub ty: Ty,
    /// Whether regrouping is permitted.
    pub regroup: bool,
    /// Where it is written.
    pub span: At,
}

/// How a term joins the chain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Combine {
    /// By an operation `(chain, term)`.
    Op(Op),
    /// By a pure function `(chain, term)`.
    Apply(PureId),
}

/// A summed index.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Binder {
    /// The index.
    pub var: Var,
    /// Its range.
    pub domain: Domain,
    /// Terms where this does not hold are skipped.
    pub guard: Option<Guard>,
}
