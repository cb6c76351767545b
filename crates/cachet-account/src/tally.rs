//! What happens in a statement: bytes read and written, work, and what the machine is asked for.
//!
//! A vector statement is a loop over its active lanes. What is the same in all lanes happens once for the statement, if
//! any lane is active, and is then a move to all lanes (`splat`) unless it is a literal. Where a condition differs between
//! lanes, what stands under it happens in each lane on its own.

use crate::along;
use crate::count::{Count, Range, Sign};
use crate::scope::Scope;
use cachet_core::instance::instantiate;
use cachet_core::ir::{
    Access, Binding, Buffer, Call, Domain, Elem, Fold, FunId, Level, Local, LocalInfo, Op, Program, PureId, Reduce,
    Role, Shape, Stmt, StmtKind, Ty, TypeParam, Var, Word,
};
use cachet_core::rewrite::{Live, Visit};
use cachet_core::vectors;
use std::collections::{BTreeMap, BTreeSet};

/// A buffer under the name in force, and the level that it is kept in there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The position of the parameter that it is, or is a lease of; others come after all parameters.
    pub order: u32,
    /// Its name.
    pub name: String,
    /// `DRAM`, `L2`, ..
    pub level: String,
}

/// Something that is counted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// Bytes read.
    Read(Place),
    /// Bytes written.
    Written(Place),
    /// Operations of this name, one for each lane; moves one for each use.
    Work(String),
    /// Operations as they are issued: of so many lanes at once.
    Issued {
        /// The operation's name.
        op: String,
        /// The type of its lanes, where it is known.
        elem: Option<Elem>,
        /// How many lanes.
        lanes: i64,
    },
    /// Loads as they are issued, of so many bytes at once.
    Load(i64),
    /// Stores likewise.
    Store(i64),
    /// Operations that wait for one another, each for the value of the one before.
    Chained {
        /// The operation's name.
        op: String,
        /// The type of its lanes, where it is known.
        elem: Option<Elem>,
    },
    /// Of these, so many are what a compiler issues for several iterations of a loop at once, as many as a register has lanes.
    Along(Box<What>),
    /// So many of the loads of so many bytes are of a cell that the iteration before has loaded.
    Same(i64),
}

/// How often everything happens.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally(pub BTreeMap<What, Count>);

impl Tally {
    pub fn add(&mut self, what: What, n: &Count) {
        if n.is_zero() {
            return;
        }
        let sum = self.0.entry(what).or_default();
        *sum = sum.plus(n);
    }

    pub fn join(&mut self, other: &Tally) {
        for (what, n) in &other.0 {
            self.add(what.clone(), n);
        }
    }

    pub fn map(&self, f: impl Fn(&Count) -> Count) -> Tally {
        let mut out = Tally::default();
        for (what, n) in &self.0 {
            out.add(what.clone(), &f(n));
        }
        out
    }

    pub fn try_map(&self, f: impl Fn(&Count) -> Option<Count>) -> Option<Tally> {
        let mut out = Tally::default();
        for (what, n) in &self.0 {
            out.add(what.clone(), &f(n)?);
        }
        Some(out)
    }
}

/// Whether blocks count as they are, or as full ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// As they are.
    Exact,
    /// As full ones: an upper bound.
    Full,
}

impl Mode {
    /// A count inside a loop, summed over it.
    pub fn sum(self, c: &Count, v: Var, range: &Range, ranges: &crate::count::Ranges) -> Count {
        match self {
            Mode::Exact => c.summed(v, range, ranges),
            Mode::Full => c.summed_at_most(v, range, ranges),
        }
    }
}

/// Names of variables, by the numbers that counts know them by, and what is lent to the function being walked.
#[derive(Default)]
pub(crate) struct Shared {
    pub names: Vec<String>,
    /// How many calls are open.
    pub depth: usize,
}

pub(crate) struct Walk<'a, 's> {
    pub scope: Scope<'a>,
    pub mode: Mode,
    /// What the caller calls this function's parameters.
    pub lent: BTreeMap<Buffer, Place>,
    /// The bytes of a value of each type parameter that is still open.
    pub values: BTreeMap<TypeParam, Count>,
    /// The locals of the pure function being walked.
    pub locals: Option<&'a [LocalInfo]>,
    pub shared: &'s mut Shared,
}

/// The lanes that a word is evaluated in.
struct Lane {
    var: Var,
    count: i64,
    /// Locals of the word that differ between lanes.
    varying: BTreeSet<Local>,
    /// What is the same in all lanes, and its words.
    once: Tally,
}

impl<'a> Walk<'a, '_> {
    pub fn block(&mut self, stmts: &[Stmt]) -> Tally {
        let mut out = Tally::default();
        for s in stmts {
            out.join(&self.stmt(s));
        }
        out
    }

    pub fn stmt(&mut self, s: &Stmt) -> Tally {
        if let Some(lanes) = vectors::of(&self.scope.fun.vars, s) {
            return self.lanes(&lanes);
        }
        match &s.kind {
            StmtKind::For { var, domain, body } => self.over(&[(*var, domain.clone())], body),
            StmtKind::Grid(g) => self.over(&g.axes, &g.body),
            StmtKind::If { guard, then, els } => {
                let g = self.scope.guard(guard);
                let mut out = self.block(then).map(|c| c.times(&g));
                let not = Count::lit(1).minus(&g);
                out.join(&self.block(els).map(|c| c.times(&not)));
                out
            }
            StmtKind::Let { local: _, word } | StmtKind::Print(word) => self.alone(word),
            StmtKind::Var { local: _, init } => self.alone(init),
            StmtKind::Assign { local: _, at: _, word } => self.alone(word),
            StmtKind::Store { to, word } => {
                let mut out = self.alone(word);
                self.access(&mut out, to, true);
                out
            }
            StmtKind::Alloc(_) | StmtKind::Lease { .. } => Tally::default(),
            StmtKind::Call(c) => self.call(c, &mut |walk| walk.block(&walk.scope.fun.body)).unwrap_or_default(),
        }
    }

    fn over(&mut self, axes: &[(Var, Domain)], body: &[Stmt]) -> Tally {
        let Some(((v, domain), rest)) = axes.split_first() else { return self.block(body) };
        let range = self.scope.range(domain);
        self.scope.enter(*v, &range);
        let mut inside = self.over(rest, body);
        if rest.is_empty() {
            inside.join(&along::issued(self, *v, body, &inside));
        }
        self.scope.ranges.leave();
        self.sum(&inside, *v, &range)
    }

    pub fn sum(&self, inside: &Tally, v: Var, range: &Range) -> Tally {
        inside.map(|c| self.mode.sum(c, self.scope.var(v), range, &self.scope.ranges))
    }

    /// A vector statement.
    fn lanes(&mut self, lanes: &vectors::Lanes<'_>) -> Tally {
        let range = Range::Loop(Count::zero(), self.scope.ix(lanes.active));
        let some = self.scope.ix(lanes.active).minus(&Count::lit(1)).holds(Sign::NotNegative, &self.scope.ranges);
        let mut lane = Lane { var: lanes.var, count: lanes.count, varying: BTreeSet::new(), once: Tally::default() };
        self.scope.enter(lanes.var, &range);
        let mut each = Tally::default();
        match &lanes.stmt.kind {
            StmtKind::Store { to, word } => {
                self.word(&mut each, word, Some(&mut lane));
                each.add(What::Written(self.place(to.buffer)), &self.elem_bytes(to.buffer));
                lane.once.add(What::Store(self.at_once(to.buffer, lane.count)), &Count::lit(1));
            }
            StmtKind::Assign { local: _, at: _, word } => self.word(&mut each, word, Some(&mut lane)),
            _ => each.join(&self.stmt(lanes.stmt)),
        }
        self.scope.ranges.leave();
        let mut out = self.sum(&each, lanes.var, &range);
        out.join(&lane.once.map(|c| c.times(&some)));
        out
    }

    fn alone(&mut self, word: &Word) -> Tally {
        let mut out = Tally::default();
        self.word(&mut out, word, None);
        out
    }

    fn word(&mut self, out: &mut Tally, word: &Word, mut lane: Option<&mut Lane>) {
        if let Some(l) = &mut lane
            && !varies(word, l)
        {
            let mut once = std::mem::take(&mut l.once);
            if !matches!(word, Word::Lit(_)) {
                once.add(What::Work("splat".into()), &Count::lit(1));
                self.word(&mut once, word, None);
            }
            l.once = once;
            return;
        }
        match word {
            Word::Lit(_) | Word::Index(..) | Word::Local(..) => {}
            Word::Load(a) => match lane {
                Some(l) => {
                    out.add(What::Read(self.place(a.buffer)), &self.elem_bytes(a.buffer));
                    l.once.add(What::Load(self.at_once(a.buffer, l.count)), &Count::lit(1));
                }
                None => self.access(out, a, false),
            },
            Word::Op { op, arith: _, args } => {
                let name = self.op_name(*op);
                let elem = self.elem_of(word);
                out.add(What::Work(name.clone()), &Count::lit(1));
                match &mut lane {
                    Some(l) => l.once.add(What::Issued { op: name, elem, lanes: l.count }, &Count::lit(1)),
                    None => out.add(What::Issued { op: name, elem, lanes: 1 }, &Count::lit(1)),
                }
                args.iter().for_each(|a| self.word(out, a, lane.as_deref_mut()));
            }
            Word::Apply(p, args) => {
                let body = self.pure(*p);
                let lanes = lane.as_ref().map_or(1, |l| l.count);
                for (what, n) in body.0 {
                    match (what, &mut lane) {
                        (What::Issued { op, elem, lanes: _ }, Some(l)) => {
                            l.once.add(What::Issued { op, elem, lanes }, &n);
                        }
                        (what, _) => out.add(what, &n),
                    }
                }
                args.iter().for_each(|a| self.word(out, a, lane.as_deref_mut()));
            }
            Word::Tuple(parts) => parts.iter().for_each(|a| self.word(out, a, lane.as_deref_mut())),
            Word::Part(a, _) => self.word(out, a, lane),
            Word::Let(local, a, b) => {
                let differs = lane.as_ref().is_some_and(|l| varies(a, l));
                self.word(out, a, lane.as_deref_mut());
                if let (true, Some(l)) = (differs, &mut lane) {
                    l.varying.insert(*local);
                }
                self.word(out, b, lane);
            }
            Word::If(g, a, b) => {
                let holds = self.scope.guard(g);
                let not = Count::lit(1).minus(&holds);
                let differs = lane.as_ref().is_some_and(|l| guard_varies(g, l.var));
                for (holds, word) in [(holds, a), (not, b)] {
                    match &mut lane {
                        // What is issued for all lanes at once is issued whatever the condition says.
                        Some(l)
                            if differs
                                && vectors::masked_load(&Word::If(g.clone(), a.clone(), b.clone()), l.var)
                                    .is_some() =>
                        {
                            let mut inside = Tally::default();
                            self.word(&mut inside, word, Some(l));
                            out.join(&inside.map(|c| c.times(&holds)));
                        }
                        Some(l) if !differs => {
                            let before = std::mem::take(&mut l.once);
                            let mut inside = Tally::default();
                            self.word(&mut inside, word, Some(l));
                            let once = std::mem::replace(&mut l.once, before);
                            out.join(&inside.map(|c| c.times(&holds)));
                            l.once.join(&once.map(|c| c.times(&holds)));
                        }
                        Some(_) | None => out.join(&self.alone(word).map(|c| c.times(&holds))),
                    }
                }
            }
            Word::Fold(f) => self.fold(out, f),
            Word::Reduce(r) => self.reduce(out, r),
            Word::Differing(a, b) => {
                for b in [a, b] {
                    let all = self.elements(*b).times(&self.elem_bytes(*b));
                    out.add(What::Read(self.place(*b)), &all);
                }
            }
        }
    }

    fn fold(&mut self, out: &mut Tally, f: &Fold) {
        let range = self.scope.range(&f.domain);
        self.word(out, &f.init, None);
        self.scope.enter(f.var, &range);
        let step = self.alone(&f.body);
        self.scope.ranges.leave();
        out.join(&self.sum(&step, f.var, &range));
    }

    fn reduce(&mut self, out: &mut Tally, r: &Reduce) {
        let range = self.scope.range(&r.domain);
        self.scope.enter(r.var, &range);
        let element = self.alone(&r.element);
        self.scope.ranges.leave();
        out.join(&self.sum(&element, r.var, &range));
        let n = self.mode.sum(&Count::lit(1), self.scope.var(r.var), &range, &self.scope.ranges);
        let joins = match r.shape {
            Shape::Order => n,
            Shape::Halving => n.minus(&Count::lit(1)).larger(&Count::zero(), &self.scope.ranges),
            Shape::Lanes(lanes) => n.plus(&Count::lit(i128::from(lanes) - 1)),
        };
        self.word(out, &r.empty, None);
        out.join(&self.alone(&r.combine).map(|c| c.times(&joins)));
    }

    /// What a pure function does.
    fn pure(&mut self, id: PureId) -> Tally {
        let pure = &self.scope.program.pures[id.index()];
        let before = self.locals.replace(&pure.locals);
        let out = self.alone(&pure.body);
        self.locals = before;
        out
    }

    fn access(&self, out: &mut Tally, a: &Access, written: bool) {
        let place = self.place(a.buffer);
        let (moved, asked) = if written {
            (What::Written(place), What::Store(self.at_once(a.buffer, 1)))
        } else {
            (What::Read(place), What::Load(self.at_once(a.buffer, 1)))
        };
        out.add(moved, &self.elem_bytes(a.buffer));
        out.add(asked, &Count::lit(1));
    }

    /// The bytes of an element.
    fn elem_bytes(&self, b: Buffer) -> Count {
        self.ty_bytes(&self.scope.fun.buffers[b.index()].elem)
    }

    fn ty_bytes(&self, ty: &Ty) -> Count {
        match ty {
            Ty::Elem(e) => Count::lit(e.bytes()),
            Ty::Abstract(t) => self.values.get(t).cloned().unwrap_or_else(Count::lost),
            Ty::Tuple(parts) => parts.iter().fold(Count::zero(), |n, p| n.plus(&self.ty_bytes(p))),
        }
    }

    /// The bytes of one load or store of so many lanes; 0 where nobody knows.
    pub fn at_once(&self, b: Buffer, lanes: i64) -> i64 {
        let bytes = self.elem_bytes(b).literal().and_then(|r| i64::try_from(r.floor()).ok());
        bytes.map_or(0, |b| b.saturating_mul(lanes))
    }

    fn elements(&self, b: Buffer) -> Count {
        let extents = &self.scope.fun.buffers[b.index()].extents;
        extents.iter().fold(Count::lit(1), |n, e| n.times(&self.scope.ix(e)))
    }

    pub fn place(&self, b: Buffer) -> Place {
        let fun = self.scope.fun;
        if let Some(p) = self.lent.get(&b) {
            return p.clone();
        }
        let info = &fun.buffers[b.index()];
        let mut root = b;
        while let Role::Lease(of) = fun.buffers[root.index()].role {
            root = of;
        }
        let order = match self.lent.get(&root) {
            Some(p) => p.order,
            None => fun.params.iter().position(|p| *p == root).map_or(u32::MAX, |n| n as u32),
        };
        Place { order, name: info.name.clone(), level: level_name(self.scope.program, &info.level) }
    }

    pub fn op_name(&self, op: Op) -> String {
        match op {
            Op::Prim(p) => p.to_string(),
            Op::Method(t, m) => {
                let interface = self.scope.fun.type_params.get(t.index()).map(|p| p.interface);
                let methods = interface.and_then(|i| self.scope.program.interfaces.get(i as usize)).map(|i| &i.methods);
                methods.and_then(|m_| m_.get(m as usize)).map_or_else(String::new, |m| m.0.clone())
            }
        }
    }

    /// The type of the operands of an operation, as far as they say.
    pub fn elem_of(&self, word: &Word) -> Option<Elem> {
        let ty = match word {
            Word::Lit(l) => return Some(l.elem),
            Word::Index(_, e) => return Some(*e),
            Word::Load(a) => &self.scope.fun.buffers.get(a.buffer.index())?.elem,
            Word::Local(l, _) => &self.locals.unwrap_or(&self.scope.fun.locals).get(l.index())?.ty,
            Word::Op { args, .. } | Word::Apply(_, args) => return args.iter().find_map(|a| self.elem_of(a)),
            Word::If(_, a, b) => return self.elem_of(a).or_else(|| self.elem_of(b)),
            Word::Let(_, _, b) => return self.elem_of(b),
            Word::Tuple(_) | Word::Part(..) | Word::Fold(_) | Word::Reduce(_) | Word::Differing(..) => return None,
        };
        match ty {
            Ty::Elem(e) => Some(*e),
            Ty::Abstract(_) | Ty::Tuple(_) => None,
        }
    }

    /// The bytes of a callee's type parameters' values: a caller's that it is bound to keep their place in the callee.
    fn values_of(&self, c: &Call) -> BTreeMap<TypeParam, Count> {
        let bound = c.types.iter().filter_map(|b| match b {
            Binding::Impl(_) => None,
            Binding::Param(p) => Some((*p, self.values.get(p)?.clone())),
        });
        bound.collect()
    }

    /// Walks a callee with its sizes and parameters in the caller's terms. `None` where calls nest without end.
    pub fn call<T>(&mut self, c: &Call, f: &mut dyn FnMut(&mut Walk<'_, '_>) -> T) -> Option<T> {
        if self.shared.depth >= cachet_core::ir::MAX_DEPTH {
            return None;
        }
        let program = self.scope.program;
        let fun = callee(program, c.fun, c);
        let sizes = fun.sizes.iter().zip(&c.sizes).map(|(v, ix)| (*v, self.scope.ix(ix))).collect();
        let lent = fun.params.iter().zip(&c.args).map(|(p, view)| (*p, self.place(view.buffer))).collect();
        let values = self.values_of(c);
        let base = self.shared.names.len() as u32;
        self.shared.names.extend(fun.vars.iter().map(|v| v.name.clone()));
        self.shared.depth += 1;
        let ranges = self.scope.ranges.clone();
        let scope = Scope { program, fun: &fun, base, sizes, blocks: BTreeMap::new(), ranges };
        let mut walk = Walk { scope, mode: self.mode, lent, values, locals: None, shared: self.shared };
        let out = f(&mut walk);
        self.shared.depth -= 1;
        Some(out)
    }
}

fn callee(program: &Program, id: FunId, c: &Call) -> cachet_core::ir::Fun {
    instantiate(program, &program.funs[id.index()], &c.types)
}

/// `L2`, or `Gpu L2` of a device.
fn level_name(program: &Program, level: &Level) -> String {
    match program.devices.get(level.device.index()) {
        Some(d) if level.device != cachet_core::ir::Device::HOST => format!("{} {}", d.name, level.name),
        _ => level.name.clone(),
    }
}

fn varies(word: &Word, lane: &Lane) -> bool {
    let live = Live::of_word(word);
    live.vars.contains(&lane.var) || lane.varying.iter().any(|l| live.locals.contains(l))
}

fn guard_varies(g: &cachet_core::ir::Guard, lane: Var) -> bool {
    let mut live = Live::default();
    live.guard(g);
    live.vars.contains(&lane)
}
