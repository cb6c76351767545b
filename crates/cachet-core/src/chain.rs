//! Is a word a chain of an operation, and what does the operation need for it?
//!
//! A *chain of `op` from `b`* carries `b` along one way, and joins it with words that know nothing of it:
//!
//! ```text
//! chain(b) ::= b | op chain(b) x | op x chain(b) | fused p q chain(b)
//!            | if g then chain(b) else chain(b)
//!            | fold k in D from chain(b) as c do chain(c)
//!            | let y = w in chain(b) | let y = chain(b) in chain(y)
//! ```
//!
//! where `x`, `p`, `q` and `w` do not mention `b`. An operation is recognised by what it computes, written out: an
//! instance has the implementation's `min a b` where the generic function had `S.add a b`.

mod graph;

use crate::instance::unfold;
use crate::ir::{
    Binding, Device, Fold, Fun, ImplId, Interface, Local, LocalInfo, Op, Program, Pure, Stmt, Ty, TypeParam, Word,
};
use crate::law::{Law, Property};
use crate::rewrite::{Live, Visit, visit_block, visit_word};
use graph::{Graph, Id, Node};
use std::collections::BTreeSet;

/// An operation of two operands: of an implementation, or of a type parameter's interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Whose.
    pub of: Binding,
    /// Which, by its position in [`Interface::methods`].
    pub method: u32,
}

/// What a chain uses beyond the operation with the chain as its first operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Uses {
    /// The chain is the second operand somewhere.
    pub commuted: bool,
    /// The operation of three operands that takes a product and the chain, if it occurs.
    pub fused: Option<u32>,
}

/// Why a word is no chain; the more is known of it, the greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Break {
    /// What the running total goes through is not the operation.
    Other,
    /// It is too large to look through.
    Large,
    /// It does not know the running total: it starts anew.
    Anew,
    /// Both operands know the running total.
    Twice,
}

/// Operations of a name with two operands that a function's sums may be made of: those of its type parameters and of the
/// implementations that it names, then those of all others that the program knows.
pub fn operations(program: &Program, fun: &Fun, name: &str) -> (Vec<Operation>, Vec<Operation>) {
    let method = |interface: u32| {
        let methods = &program.interfaces.get(interface as usize)?.methods;
        methods.iter().position(|(n, operands)| n == name && *operands == 2).map(|m| m as u32)
    };
    let of_impl = |id: ImplId| {
        let method = method(program.impls.get(id.index())?.interface)?;
        Some(Operation { of: Binding::Impl(id), method })
    };
    let of_param = |(n, p): (usize, &crate::ir::TypeParamInfo)| {
        Some(Operation { of: Binding::Param(TypeParam(n as u32)), method: method(p.interface)? })
    };
    let own: Vec<Operation> = fun
        .type_params
        .iter()
        .enumerate()
        .filter_map(of_param)
        .chain(fun.algebras.iter().filter_map(|id| of_impl(*id)))
        .collect();
    let all = (0..program.impls.len() as u32).map(ImplId).filter(|id| !fun.algebras.contains(id));
    (own, all.filter_map(of_impl).collect())
}

/// The sums of a statement's words, in the order in which loops are counted, each with those around it that it belongs
/// to one chain with, outermost first: each starts from the running total of the one before.
pub fn sums(stmt: &Stmt) -> Vec<(Fold, Vec<Fold>)> {
    struct Sums {
        around: Vec<Fold>,
        all: Vec<(Fold, Vec<Fold>)>,
    }
    impl Visit for Sums {
        fn word(&mut self, word: &Word) {
            let Word::Fold(f) = word else { return visit_word(self, word) };
            let (mut start, mut first) = (&f.init, self.around.len());
            while let Some(before) = first.checked_sub(1).and_then(|n| self.around.get(n))
                && Live::of_word(start).locals.contains(&before.acc)
            {
                (start, first) = (&before.init, first - 1);
            }
            self.all.push(((**f).clone(), self.around[first..].to_vec()));
            self.word(&f.init);
            self.around.push((**f).clone());
            self.word(&f.body);
            self.around.pop();
        }
    }
    let mut sums = Sums { around: vec![], all: vec![] };
    visit_block(&mut sums, std::slice::from_ref(stmt));
    sums.all
}

impl Operation {
    /// The interface that it is an operation of.
    pub fn interface<'p>(&self, program: &'p Program, fun: &Fun) -> Option<&'p Interface> {
        let at = match self.of {
            Binding::Impl(id) => program.impls.get(id.index())?.interface,
            Binding::Param(p) => fun.type_params.get(p.index())?.interface,
        };
        program.interfaces.get(at as usize)
    }

    /// What people call whose operation it is: `MinPlus f32`, or the type parameter's name.
    pub fn owner(&self, program: &Program, fun: &Fun) -> String {
        match self.of {
            Binding::Impl(id) => program.impls.get(id.index()).map_or_else(String::new, |i| i.name.clone()),
            Binding::Param(p) => fun.type_params.get(p.index()).map_or_else(String::new, |i| i.name.clone()),
        }
    }

    /// Its name.
    pub fn name(&self, program: &Program, fun: &Fun) -> String {
        let methods = self.interface(program, fun).map(|i| &i.methods);
        methods.and_then(|m| m.get(self.method as usize)).map_or_else(String::new, |m| m.0.clone())
    }

    /// The laws that are stated of it or wanted of it, in whichever sense. Nothing says that they hold.
    pub fn stated(&self, program: &Program, fun: &Fun) -> Vec<Law> {
        match self.of {
            Binding::Impl(id) => {
                program.impls.get(id.index()).map_or_else(Vec::new, |i| i.laws.iter().map(|s| s.law).collect())
            }
            Binding::Param(_) => self.interface(program, fun).map_or_else(Vec::new, |i| i.laws.clone()),
        }
    }

    /// The element that a law names as its identity.
    pub fn element(&self, program: &Program, fun: &Fun) -> Option<u32> {
        let wanted = self.interface(program, fun).map(|i| i.laws.as_slice()).unwrap_or_default();
        self.stated(program, fun).iter().chain(wanted).find_map(|l| match l.property {
            Property::Identity { op, element } if op == self.method => Some(element),
            _ => None,
        })
    }

    /// The operation of three operands that a law gives as a product and this operation.
    fn fused(&self, program: &Program, fun: &Fun) -> Option<u32> {
        self.stated(program, fun).iter().find_map(|l| match l.property {
            Property::MulAdd { fused, mul: _, add } if add == self.method => Some(fused),
            _ => None,
        })
    }

    /// The type that it is an operation on.
    fn value(&self, program: &Program) -> Option<Ty> {
        match self.of {
            Binding::Impl(id) => program.impls.get(id.index()).map(|i| i.value.clone()),
            Binding::Param(p) => Some(Ty::Abstract(p)),
        }
    }

    fn pure<'p>(&self, program: &'p Program, method: u32) -> Option<&'p Pure> {
        let Binding::Impl(id) = self.of else { return None };
        let f = program.impls.get(id.index())?.methods.get(method as usize)?;
        program.pures.get(f.index())
    }

    /// One of the interface's operations at some words, as an instance has it. New locals go to `locals`.
    pub fn apply(&self, program: &Program, method: u32, args: Vec<Word>, locals: &mut Vec<LocalInfo>) -> Option<Word> {
        match self.of {
            Binding::Impl(_) => Some(unfold(program, self.pure(program, method)?, &args, locals)),
            Binding::Param(p) => Some(Word::Op { op: Op::Method(p, method), arith: Device::HOST, args }),
        }
    }

    /// Whether a word is a chain of this operation from a local, and what it uses.
    ///
    /// # Errors
    /// What breaks the chain.
    pub fn chain(&self, program: &Program, fun: &Fun, word: &Word, from: Local) -> Result<Uses, Break> {
        let value = self.value(program).ok_or(Break::Other)?;
        let mut graph = Graph::new(program, fun, value.clone());
        let root = graph.word(word).ok_or(Break::Large)?;
        let joins = self.joins(program, fun, &mut graph).ok_or(Break::Large)?;
        let of_value = |l: Local| fun.locals.get(l.index()).is_some_and(|l| l.ty == value);
        let mut uses = Uses::default();
        let mut todo = vec![(root, from)];
        let mut seen = BTreeSet::new();
        while let Some((id, total)) = todo.pop() {
            if !seen.insert((id, total)) {
                continue;
            }
            if !of_value(total) {
                return Err(Break::Other);
            }
            if !graph.mentions(id, total) {
                return Err(Break::Anew);
            }
            match graph.node(id).clone() {
                Node::Local(l) if l == total => {}
                Node::If(_, a, b) => todo.extend([(a, total), (b, total)]),
                Node::Fold { acc, init, body, .. } if !graph.mentions(body, total) => {
                    todo.extend([(init, total), (body, acc)]);
                }
                Node::Fold { .. } => return Err(Break::Twice),
                Node::Word(_) | Node::Local(_) | Node::Any(_) | Node::Op(..) | Node::Tuple(_) | Node::Part(..) => {
                    todo.push((joined(&mut graph, &joins, (id, total), &mut uses)?, total));
                }
            }
        }
        Ok(uses)
    }

    /// The ways to join a chain with something, the plainest first.
    fn joins(&self, program: &Program, fun: &Fun, graph: &mut Graph<'_>) -> Option<Vec<Join>> {
        let mut out = Vec::new();
        let fused = self.fused(program, fun);
        for (method, operands) in std::iter::once((self.method, 2)).chain(fused.map(|f| (f, 3))) {
            let pattern = match self.of {
                Binding::Param(p) => {
                    let args = (0..operands).map(|n| graph.any(n)).collect();
                    graph.op(Op::Method(p, method), args)
                }
                Binding::Impl(_) => graph.pattern(self.pure(program, method)?)?,
            };
            out.push(Join { pattern, operands, fused: (operands == 3).then_some(method) });
        }
        Some(out)
    }
}

/// An operation as a pattern.
struct Join {
    pattern: Id,
    operands: u32,
    fused: Option<u32>,
}

/// The chain that a node joins with something, and how.
fn joined(graph: &mut Graph<'_>, joins: &[Join], (id, total): (Id, Local), uses: &mut Uses) -> Result<Id, Break> {
    let mut reason = Break::Other;
    for join in joins {
        let Some(operands) = graph.operands(join.pattern, join.operands, id) else { continue };
        let carries: Vec<bool> = operands.iter().map(|o| graph.mentions(*o, total)).collect();
        match (join.fused, carries.as_slice()) {
            (None, [true, false]) => return Ok(operands[0]),
            (None, [false, true]) => {
                uses.commuted = true;
                return Ok(operands[1]);
            }
            (Some(fused), [false, false, true]) => {
                uses.fused = Some(fused);
                return Ok(operands[2]);
            }
            _ => reason = Break::Twice,
        }
    }
    Err(reason)
}

#[cfg(test)]
mod tests;
