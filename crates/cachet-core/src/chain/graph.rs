//! Words with `let`s and pure functions written out, equal ones shared, and operations as patterns over them.

use crate::ir::{
    BufferInfo, Device, Domain, Elem, Fun, Guard, Local, LocalInfo, Op, Parts, Prim, Program, Pure, Ty, Var, Word,
};
use crate::rewrite::Live;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// A node by its position.
pub type Id = usize;

/// The most words that are looked at.
const MAX_WORDS: usize = 1 << 16;

/// One word.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A word that is not looked into.
    Word(Word),
    /// A local from outside, or a running total.
    Local(Local),
    /// An operand of a pattern.
    Any(u32),
    /// An operation of the host's arithmetic.
    Op(Op, Vec<Id>),
    /// Several words.
    Tuple(Vec<Id>),
    /// One of several.
    Part(Id, u32),
    /// A choice by indices.
    If(Guard, Id, Id),
    /// A sum.
    Fold {
        /// Its index.
        var: Var,
        /// Its range.
        domain: Domain,
        /// Its running total.
        acc: Local,
        /// What it starts from.
        init: Id,
        /// The next total.
        body: Id,
    },
}

type Free = Rc<BTreeSet<Local>>;

/// Words of one function.
pub struct Graph<'p> {
    program: &'p Program,
    /// The type of a pattern's operands.
    value: Ty,
    locals: &'p [LocalInfo],
    buffers: &'p [BufferInfo],
    nodes: Vec<Node>,
    /// The locals that each node mentions.
    free: Vec<Free>,
    /// The type of each, where it is known.
    types: Vec<Option<Ty>>,
    known: HashMap<Node, Id>,
    looked_at: usize,
    /// Whether a pure function is being written out: its locals have ids of their own.
    in_pure: bool,
}

/// What names stand for: `let`s, and parameters of the pure function at hand.
type Env = BTreeMap<Local, Id>;

impl<'p> Graph<'p> {
    /// No words yet.
    pub fn new(program: &'p Program, fun: &'p Fun, value: Ty) -> Graph<'p> {
        Graph {
            program,
            value,
            locals: &fun.locals,
            buffers: &fun.buffers,
            nodes: Vec::new(),
            free: Vec::new(),
            types: Vec::new(),
            known: HashMap::new(),
            looked_at: 0,
            in_pure: false,
        }
    }

    /// A node.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// Whether a local occurs in a word.
    pub fn mentions(&self, id: Id, local: Local) -> bool {
        self.free[id].contains(&local)
    }

    /// An operand of a pattern.
    pub fn any(&mut self, n: u32) -> Id {
        self.put(Node::Any(n), Free::default())
    }

    /// An operation. That of integers gives the low bits, whether or not the rest was proved to be nothing.
    pub fn op(&mut self, op: Op, args: Vec<Id>) -> Id {
        let integer = matches!(args.first().and_then(|a| self.types[*a].as_ref()), Some(Ty::Elem(e)) if e.is_integer());
        let op = match op {
            Op::Prim(Prim::Add) if integer => Op::Prim(Prim::WrappingAdd),
            Op::Prim(Prim::Sub) if integer => Op::Prim(Prim::WrappingSub),
            Op::Prim(Prim::Mul) if integer => Op::Prim(Prim::WrappingMul),
            op => op,
        };
        let free = self.all_free(&args);
        self.put(Node::Op(op, args), free)
    }

    fn put(&mut self, node: Node, free: Free) -> Id {
        if let Some(id) = self.known.get(&node) {
            return *id;
        }
        let ty = self.type_of(&node);
        self.types.push(ty);
        self.nodes.push(node.clone());
        self.free.push(free);
        self.known.insert(node, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn type_of(&self, node: &Node) -> Option<Ty> {
        let of = |id: &Id| self.types[*id].clone();
        match node {
            Node::Word(Word::Lit(l)) => Some(Ty::Elem(l.elem)),
            Node::Word(Word::Index(_, elem)) => Some(Ty::Elem(*elem)),
            Node::Word(Word::Load(a)) => self.buffers.get(a.buffer.index()).map(|b| b.elem.clone()),
            Node::Word(Word::Local(l, _)) | Node::Local(l) | Node::Fold { acc: l, .. } => {
                self.locals.get(l.index()).map(|l| l.ty.clone())
            }
            Node::Word(Word::Reduce(r)) => self.locals.get(r.operands.0.index()).map(|l| l.ty.clone()),
            Node::Any(_) => Some(self.value.clone()),
            Node::Word(_) => None,
            Node::Op(Op::Method(p, _), _) => Some(Ty::Abstract(*p)),
            Node::Op(Op::Prim(prim), args) => match prim {
                Prim::Eq | Prim::Lt | Prim::Le => Some(Ty::Elem(Elem::Bool)),
                Prim::Cast(to) | Prim::WrappingCast(to) | Prim::SaturatingCast(to) | Prim::FromBits(to) => {
                    Some(Ty::Elem(*to))
                }
                Prim::ToBits => None,
                Prim::Select => args.get(1).and_then(of),
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
                | Prim::Not => args.first().and_then(of),
            },
            Node::Tuple(parts) => {
                let types = parts.iter().map(of).collect::<Option<Vec<Ty>>>()?;
                Some(Ty::Tuple(Parts { types, record: None }))
            }
            Node::Part(id, n) => match of(id) {
                Some(Ty::Tuple(parts)) => parts.types.get(*n as usize).cloned(),
                Some(Ty::Elem(_) | Ty::Abstract(_)) | None => None,
            },
            Node::If(_, a, _) => of(a),
        }
    }

    fn all_free(&self, ids: &[Id]) -> Free {
        match ids {
            [] => Free::default(),
            [one] => Rc::clone(&self.free[*one]),
            all => Rc::new(all.iter().flat_map(|i| self.free[*i].iter().copied()).collect()),
        }
    }

    /// A word of the function; `None` where it is too large.
    pub fn word(&mut self, word: &Word) -> Option<Id> {
        self.read(word, &mut Env::new())
    }

    /// A pure function's value with its parameters as operands.
    pub fn pattern(&mut self, pure: &Pure) -> Option<Id> {
        let mut env = Env::new();
        for (n, p) in pure.params.iter().enumerate() {
            let id = self.any(n as u32);
            env.insert(*p, id);
        }
        self.value(pure, env)
    }

    /// What a pure function's body is, its parameters being known.
    fn value(&mut self, pure: &Pure, mut env: Env) -> Option<Id> {
        let outer = std::mem::replace(&mut self.in_pure, true);
        let value = self.read(&pure.body, &mut env);
        self.in_pure = outer;
        value
    }

    fn read(&mut self, word: &Word, env: &mut Env) -> Option<Id> {
        self.looked_at += 1;
        if self.looked_at > MAX_WORDS {
            return None;
        }
        Some(match word {
            Word::Local(l, at) if at.is_empty() => match env.get(l) {
                Some(id) => *id,
                None if self.in_pure => return None,
                None => self.put(Node::Local(*l), Rc::new(BTreeSet::from([*l]))),
            },
            Word::Op { op, arith: Device::HOST, args } => {
                let args = self.all(args, env)?;
                self.op(*op, args)
            }
            Word::Apply(f, args) => {
                let args = self.all(args, env)?;
                let pure = self.program.pures.get(f.index())?;
                let env = pure.params.iter().copied().zip(args).collect();
                self.value(pure, env)?
            }
            Word::Tuple(parts) => {
                let parts = self.all(parts, env)?;
                self.tuple(parts)
            }
            Word::Part(w, n) => {
                let of = self.read(w, env)?;
                self.part(of, *n)
            }
            Word::Let(l, a, b) => {
                let value = self.read(a, env)?;
                env.insert(*l, value);
                self.read(b, env)?
            }
            // A pure function's own loops and choices of indices: none is known, and their names would be taken for others.
            Word::If(..) | Word::Fold(_) | Word::Reduce(_) if self.in_pure => return None,
            Word::If(g, a, b) => {
                let (a, b) = (self.read(a, env)?, self.read(b, env)?);
                let free = self.all_free(&[a, b]);
                self.put(Node::If((**g).clone(), a, b), free)
            }
            Word::Fold(f) => {
                let (init, body) = (self.read(&f.init, env)?, self.read(&f.body, env)?);
                let free = self.all_free(&[init, body]);
                self.put(Node::Fold { var: f.var, domain: f.domain.clone(), acc: f.acc, init, body }, free)
            }
            Word::Lit(_)
            | Word::Index(..)
            | Word::Load(_)
            | Word::Local(..)
            | Word::Op { .. }
            | Word::Reduce(_)
            | Word::Differing(..) => {
                let (mut free, locals) = (BTreeSet::new(), Live::of_word(word).locals);
                if self.in_pure && !locals.is_empty() {
                    return None;
                }
                for l in locals {
                    match env.get(&l) {
                        Some(id) => free.extend(self.free[*id].iter().copied()),
                        None => {
                            free.insert(l);
                        }
                    }
                }
                self.put(Node::Word(word.clone()), Rc::new(free))
            }
        })
    }

    fn all(&mut self, words: &[Word], env: &mut Env) -> Option<Vec<Id>> {
        words.iter().map(|w| self.read(w, env)).collect()
    }

    /// How many parts a word is known to have.
    fn parts(&self, id: Id) -> Option<usize> {
        let local = match &self.nodes[id] {
            Node::Local(l) | Node::Fold { acc: l, .. } => l,
            Node::Tuple(parts) => return Some(parts.len()),
            Node::Word(_) | Node::Any(_) | Node::Op(..) | Node::Part(..) | Node::If(..) => return None,
        };
        match self.locals.get(local.index()).map(|l| &l.ty) {
            Some(Ty::Tuple(parts)) => Some(parts.types.len()),
            Some(Ty::Elem(_) | Ty::Abstract(_)) | None => None,
        }
    }

    /// All parts of a word, in order, are that word.
    fn tuple(&mut self, parts: Vec<Id>) -> Id {
        if let Some(Node::Part(of, 0)) = parts.first().map(|p| self.nodes[*p].clone())
            && self.parts(of) == Some(parts.len())
            && parts.iter().enumerate().all(|(n, p)| self.nodes[*p] == Node::Part(of, n as u32))
        {
            return of;
        }
        let free = self.all_free(&parts);
        self.put(Node::Tuple(parts), free)
    }

    fn part(&mut self, of: Id, n: u32) -> Id {
        self.looked_at += 1;
        match self.nodes[of].clone() {
            Node::Tuple(parts) if (n as usize) < parts.len() => parts[n as usize],
            // A choice of tuples is a tuple of choices.
            Node::Op(Op::Prim(Prim::Select), args) if args.len() == 3 && self.looked_at <= MAX_WORDS => {
                let (a, b) = (self.part(args[1], n), self.part(args[2], n));
                self.op(Op::Prim(Prim::Select), vec![args[0], a, b])
            }
            _ => {
                let free = Rc::clone(&self.free[of]);
                self.put(Node::Part(of, n), free)
            }
        }
    }

    /// So many operands with which a pattern is this very word.
    pub fn operands(&mut self, pattern: Id, count: u32, id: Id) -> Option<Vec<Id>> {
        let mut found = Found::default();
        if !self.unify(pattern, id, &mut found) {
            return None;
        }
        let arity = if let Ty::Tuple(parts) = &self.value { parts.types.len() } else { 0 };
        let mut out = Vec::new();
        for n in 0..count {
            let parts: Vec<Option<Id>> = (0..arity as u32).map(|p| found.parts.get(&(n, p)).copied()).collect();
            let operand = match (found.whole.get(&n).copied(), parts.iter().copied().collect::<Option<Vec<Id>>>()) {
                (Some(id), _) => {
                    for (p, part) in parts.into_iter().enumerate() {
                        if part.is_some_and(|part| self.part(id, p as u32) != part) {
                            return None;
                        }
                    }
                    id
                }
                (None, Some(parts)) if !parts.is_empty() => self.tuple(parts),
                // An operand that the operation does not look at could be anything.
                (None, _) => return None,
            };
            if self.types[operand].as_ref() != Some(&self.value) {
                return None;
            }
            out.push(operand);
        }
        Some(out)
    }

    /// The depth of a pattern is that of an operation's text.
    fn unify(&self, pattern: Id, id: Id, found: &mut Found) -> bool {
        if let Some(before) = found.seen.insert(pattern, id) {
            return before == id;
        }
        match (&self.nodes[pattern], &self.nodes[id]) {
            (Node::Any(n), _) => found.whole.insert(*n, id).is_none_or(|before| before == id),
            (Node::Part(of, part), _) if matches!(self.nodes[*of], Node::Any(_)) => {
                let Node::Any(n) = self.nodes[*of] else { return false };
                found.parts.insert((n, *part), id).is_none_or(|before| before == id)
            }
            (Node::Op(p, a), Node::Op(q, b)) if p == q => self.unify_all(a, b, found),
            (Node::Tuple(a), Node::Tuple(b)) => self.unify_all(a, b, found),
            (Node::Part(a, n), Node::Part(b, m)) if n == m => self.unify(*a, *b, found),
            _ => pattern == id,
        }
    }

    fn unify_all(&self, a: &[Id], b: &[Id], found: &mut Found) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.unify(*a, *b, found))
    }
}

/// What a pattern's operands are.
#[derive(Default)]
struct Found {
    whole: BTreeMap<u32, Id>,
    parts: BTreeMap<(u32, u32), Id>,
    seen: HashMap<Id, Id>,
}
