//! What are the two sides of a law, as operations on elements?
//!
//! Pure functions are written out, tuples taken apart, equal terms shared. A node's operands stand before it.

use crate::formula::Problem;
use crate::proofs::Decided;
use crate::prover::{self, Verdict};
use cachet_core::ir::{Elem, Lit, Op, Prim, Program, PureId, Ty, Word};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A node by its position.
pub type Id = usize;

/// One operation on elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// An element that the law is about.
    Var(u32),
    /// A literal.
    Lit(Lit),
    /// An operation; the type is that of its operands (of `select`: of the two choices).
    Op(Prim, Elem, Vec<Id>),
}

/// A value: an element, or several.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// An element with its type.
    Leaf(Id, Elem),
    /// Several.
    Tuple(Vec<Value>),
}

impl Value {
    /// The elements, in order.
    pub fn leaves(&self) -> Vec<(Id, Elem)> {
        match self {
            Value::Leaf(id, elem) => vec![(*id, *elem)],
            Value::Tuple(parts) => parts.iter().flat_map(Value::leaves).collect(),
        }
    }
}

/// Terms with the elements that they are about.
#[derive(Default)]
pub struct Terms {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Name and type of each element.
    pub vars: Vec<(String, Elem)>,
    known: HashMap<Node, Id>,
    /// The conditions on integers that proofs about these elements came to.
    asked: Rc<RefCell<Vec<Decided>>>,
}

impl Terms {
    /// No terms about some elements.
    #[cfg(test)]
    pub fn about(vars: &[(String, Elem)]) -> Terms {
        Terms { vars: vars.to_vec(), ..Terms::default() }
    }

    /// No terms about the same elements.
    pub fn beside(&self) -> Terms {
        Terms { vars: self.vars.clone(), asked: Rc::clone(&self.asked), ..Terms::default() }
    }

    /// Decides a condition that a proof about these elements comes to.
    pub fn prove(&self, problem: &Problem) -> Verdict {
        let verdict = prover::prove(problem);
        let model = match &verdict {
            Verdict::Proved(_) => None,
            Verdict::Refuted(model) => Some(model.clone()),
            Verdict::Undecided { .. } => return verdict,
        };
        self.asked.borrow_mut().push(Decided { problem: problem.clone(), model });
        verdict
    }

    /// The conditions that were decided so.
    pub fn asked(&self) -> Vec<Decided> {
        self.asked.borrow().clone()
    }

    /// A node, the same for the same operation on the same operands.
    pub fn node(&mut self, node: Node) -> Id {
        if let Some(id) = self.known.get(&node) {
            return *id;
        }
        self.nodes.push(node.clone());
        self.known.insert(node, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    /// Any value of a type.
    pub fn any(&mut self, name: &str, ty: &Ty) -> Option<Value> {
        match ty {
            Ty::Elem(elem) => {
                self.vars.push((name.to_string(), *elem));
                let id = self.node(Node::Var(self.vars.len() as u32 - 1));
                Some(Value::Leaf(id, *elem))
            }
            Ty::Tuple(parts) => {
                let part = |(n, ty): (usize, &Ty)| self.any(&format!("{name}.{n}"), ty);
                parts.iter().enumerate().map(part).collect::<Option<Vec<_>>>().map(Value::Tuple)
            }
            Ty::Abstract(_) => None,
        }
    }

    /// A pure function's value. `None` where it is none of operations on elements.
    pub fn apply(&mut self, program: &Program, f: PureId, args: &[Value]) -> Option<Value> {
        let pure = program.pures.get(f.index())?;
        let mut locals: Vec<Option<Value>> = vec![None; pure.locals.len()];
        for (p, a) in pure.params.iter().zip(args) {
            *locals.get_mut(p.index())? = Some(a.clone());
        }
        self.word(program, &pure.body, &mut locals)
    }

    /// The depth of words is bounded, and that of pure functions with what they apply written out too.
    fn word(&mut self, program: &Program, w: &Word, locals: &mut Vec<Option<Value>>) -> Option<Value> {
        match w {
            Word::Lit(l) => Some(Value::Leaf(self.node(Node::Lit(*l)), l.elem)),
            Word::Local(l, at) if at.is_empty() => locals.get(l.index())?.clone(),
            Word::Op { op: Op::Prim(prim), arith: _, args } => {
                let args: Vec<Value> =
                    args.iter().map(|a| self.word(program, a, locals)).collect::<Option<Vec<_>>>()?;
                self.operation(*prim, &args)
            }
            Word::Apply(f, args) => {
                let args: Vec<Value> =
                    args.iter().map(|a| self.word(program, a, locals)).collect::<Option<Vec<_>>>()?;
                self.apply(program, *f, &args)
            }
            Word::Tuple(parts) => {
                let parts = parts.iter().map(|p| self.word(program, p, locals)).collect::<Option<Vec<_>>>()?;
                Some(Value::Tuple(parts))
            }
            Word::Part(of, n) => match self.word(program, of, locals)? {
                Value::Tuple(parts) => parts.get(*n as usize).cloned(),
                Value::Leaf(..) => None,
            },
            Word::Let(l, a, b) => {
                let value = self.word(program, a, locals)?;
                *locals.get_mut(l.index())? = Some(value);
                self.word(program, b, locals)
            }
            Word::Local(..)
            | Word::Op { op: Op::Method(..), .. }
            | Word::Index(..)
            | Word::Load(_)
            | Word::If(..)
            | Word::Fold(_)
            | Word::Reduce(_)
            | Word::Differing(..) => None,
        }
    }

    fn operation(&mut self, prim: Prim, args: &[Value]) -> Option<Value> {
        if let (Prim::Select, [c, Value::Tuple(a), Value::Tuple(b)]) = (prim, args) {
            let part = |(a, b): (&Value, &Value)| self.operation(Prim::Select, &[c.clone(), a.clone(), b.clone()]);
            return a.iter().zip(b).map(part).collect::<Option<Vec<_>>>().map(Value::Tuple);
        }
        let leaves: Vec<(Id, Elem)> = args
            .iter()
            .map(|a| match a {
                Value::Leaf(id, elem) => Some((*id, *elem)),
                Value::Tuple(_) => None,
            })
            .collect::<Option<Vec<_>>>()?;
        let elem = leaves.get(usize::from(prim == Prim::Select))?.1;
        let id = self.node(Node::Op(prim, elem, leaves.iter().map(|l| l.0).collect()));
        Some(Value::Leaf(id, result(prim, elem)))
    }

    /// The nodes that some others are made of, those included, in order.
    pub fn needed(&self, roots: &[Id]) -> Vec<Id> {
        let mut needed = vec![false; self.nodes.len()];
        for r in roots {
            needed[*r] = true;
        }
        for (id, node) in self.nodes.iter().enumerate().rev() {
            if let (true, Node::Op(_, _, args)) = (needed[id], node) {
                args.iter().for_each(|a| needed[*a] = true);
            }
        }
        (0..self.nodes.len()).filter(|id| needed[*id]).collect()
    }
}

/// The type of an operation's result.
pub fn result(prim: Prim, elem: Elem) -> Elem {
    match prim {
        Prim::Eq | Prim::Lt | Prim::Le => Elem::Bool,
        Prim::Cast(to) | Prim::WrappingCast(to) | Prim::SaturatingCast(to) | Prim::FromBits(to) => to,
        Prim::ToBits => match elem.bytes() {
            8 => Elem::U64,
            4 => Elem::U32,
            2 => Elem::U16,
            _ => Elem::U8,
        },
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
        | Prim::Sqrt
        | Prim::And
        | Prim::Or
        | Prim::Not
        | Prim::Select => elem,
    }
}
