//! Counting by running: every loop is run for fixed sizes, and what happens in it is noted one by one. Nothing here knows
//! closed forms.

use cachet_account::account::{Place, What};
use cachet_core::instance::instantiate;
use cachet_core::ir::{
    Access, Block, BlockPart, Buffer, Call, Domain, Elem, Fun, Guard, Ix, Local, LocalInfo, Op, Program, Reduce, Rel,
    Role, Shape, Stmt, StmtKind, Ty, Var, Word,
};
use cachet_core::rewrite::{Live, Visit};
use cachet_core::vectors;
use std::collections::{BTreeMap, BTreeSet};

/// A block: where it starts and ends, and its number.
type Piece = (i64, i64, i64);

pub struct Running<'a> {
    program: &'a Program,
    fun: &'a Fun,
    vars: BTreeMap<Var, i64>,
    blocks: BTreeMap<Var, Piece>,
    lent: BTreeMap<Buffer, Place>,
    locals: Option<&'a [LocalInfo]>,
    seen: BTreeMap<What, i128>,
    /// Statements that may still run.
    fuel: u64,
}

struct Lane {
    var: Var,
    count: i64,
    /// Whether this is the first active one: what is the same in all lanes happens with it.
    first: bool,
    varying: BTreeSet<Local>,
}

impl<'a> Running<'a> {
    /// What happens; `None` where the sizes are not what is required, or the run takes too long.
    pub fn of(program: &'a Program, fun: &'a Fun, sizes: &[i64]) -> Option<BTreeMap<What, i128>> {
        let vars = fun.sizes.iter().copied().zip(sizes.iter().copied()).collect();
        let mut run = Running {
            program,
            fun,
            vars,
            blocks: BTreeMap::new(),
            lent: BTreeMap::new(),
            locals: None,
            seen: BTreeMap::new(),
            fuel: 300_000,
        };
        if !fun.requires.iter().all(|g| run.guard(g)) {
            return None;
        }
        run.block(&fun.body)?;
        run.seen.retain(|_, n| *n != 0);
        Some(run.seen)
    }

    fn note(&mut self, what: What, n: i128) {
        *self.seen.entry(what).or_default() += n;
    }

    fn ix(&self, ix: &Ix) -> i64 {
        match ix {
            Ix::Lit(n) => *n,
            Ix::Var(v) => self.vars[v],
            Ix::Add(a, b) => self.ix(a) + self.ix(b),
            Ix::Sub(a, b) => self.ix(a) - self.ix(b),
            Ix::Mul(n, a) => n * self.ix(a),
            Ix::Div(a, n) => self.ix(a).div_euclid(*n),
            Ix::Mod(a, n) => self.ix(a).rem_euclid(*n),
            Ix::Min(a, b) => self.ix(a).min(self.ix(b)),
            Ix::Max(a, b) => self.ix(a).max(self.ix(b)),
            Ix::If(g, a, b) => self.ix(if self.guard(g) { a } else { b }),
            Ix::Block(g, part) => {
                let (lo, hi, idx) = self.blocks[g];
                match part {
                    BlockPart::Lo => lo,
                    BlockPart::Hi => hi,
                    BlockPart::Len => hi - lo,
                    BlockPart::Idx => idx,
                }
            }
            Ix::InBlock(g, e) => self.blocks[g].0 + self.ix(e),
        }
    }

    fn guard(&self, g: &Guard) -> bool {
        match g {
            Guard::Const(b) => *b,
            Guard::Cmp(rel, a, b) => {
                let (a, b) = (self.ix(a), self.ix(b));
                match rel {
                    Rel::Eq => a == b,
                    Rel::Ne => a != b,
                    Rel::Lt => a < b,
                    Rel::Le => a <= b,
                }
            }
            Guard::And(a, b) => self.guard(a) && self.guard(b),
            Guard::Or(a, b) => self.guard(a) || self.guard(b),
            Guard::Not(a) => !self.guard(a),
        }
    }

    fn block(&mut self, block: &Block) -> Option<()> {
        block.iter().try_for_each(|s| self.stmt(s))
    }

    /// Does something for each value of a loop's variable, and says how many there were.
    fn each(&mut self, v: Var, domain: &Domain, f: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<i64> {
        let mut n = 0;
        match domain {
            Domain::Range { lo, hi } => {
                for i in self.ix(lo)..self.ix(hi) {
                    self.vars.insert(v, i);
                    f(self)?;
                    n += 1;
                }
            }
            Domain::Blocks { lo, hi, size } => {
                let (mut at, hi) = (self.ix(lo), self.ix(hi));
                while at < hi {
                    self.blocks.insert(v, (at, hi.min(at + size), n));
                    f(self)?;
                    at += size;
                    n += 1;
                }
            }
        }
        Some(n)
    }

    fn nest(&mut self, axes: &[(Var, Domain)], body: &Block) -> Option<()> {
        match axes.split_first() {
            None => self.block(body),
            Some(((v, domain), rest)) => self.each(*v, domain, &mut |run| run.nest(rest, body)).map(|_| ()),
        }
    }

    fn stmt(&mut self, s: &Stmt) -> Option<()> {
        self.fuel = self.fuel.checked_sub(1)?;
        if let Some(lanes) = vectors::of(&self.fun.vars, s) {
            let (active, count, var) = (self.ix(lanes.active), lanes.count, lanes.var);
            for l in 0..active {
                self.vars.insert(var, l);
                let mut lane = Lane { var, count, first: l == 0, varying: BTreeSet::new() };
                match &lanes.stmt.kind {
                    StmtKind::Store { to, word } => {
                        self.word(word, Some(&mut lane))?;
                        self.moved(to, true, Some(&lane));
                    }
                    StmtKind::Assign { word, .. } => self.word(word, Some(&mut lane))?,
                    _ => return None,
                }
            }
            return Some(());
        }
        match &s.kind {
            StmtKind::For { var, domain, body } => self.nest(&[(*var, domain.clone())], body),
            StmtKind::Grid(g) => self.nest(&g.axes, &g.body),
            StmtKind::If { guard, then, els } => self.block(if self.guard(guard) { then } else { els }),
            StmtKind::Let { word, .. } | StmtKind::Print(word) | StmtKind::Assign { word, .. } => self.word(word, None),
            StmtKind::Var { init, .. } => self.word(init, None),
            StmtKind::Store { to, word } => {
                self.word(word, None)?;
                self.moved(to, true, None);
                Some(())
            }
            StmtKind::Alloc(_) | StmtKind::Lease { .. } => Some(()),
            StmtKind::Call(c) => self.call(c),
        }
    }

    fn call(&mut self, c: &Call) -> Option<()> {
        let fun = instantiate(self.program, &self.program.funs[c.fun.index()], &c.types);
        let vars = fun.sizes.iter().copied().zip(c.sizes.iter().map(|s| self.ix(s))).collect();
        let lent = fun.params.iter().copied().zip(c.args.iter().map(|v| self.place(v.buffer))).collect();
        let seen = std::mem::take(&mut self.seen);
        let mut inside = Running {
            program: self.program,
            fun: &fun,
            vars,
            blocks: BTreeMap::new(),
            lent,
            locals: None,
            seen,
            fuel: self.fuel,
        };
        inside.block(&fun.body)?;
        (self.seen, self.fuel) = (inside.seen, inside.fuel);
        Some(())
    }

    fn varies(word: &Word, lane: &Lane) -> bool {
        let live = Live::of_word(word);
        live.vars.contains(&lane.var) || lane.varying.iter().any(|l| live.locals.contains(l))
    }

    fn word(&mut self, word: &Word, lane: Option<&mut Lane>) -> Option<()> {
        self.fuel = self.fuel.checked_sub(1)?;
        let Some(lane) = lane else { return self.plain(word, &mut None) };
        if Self::varies(word, lane) {
            return self.plain(word, &mut Some(lane));
        }
        if lane.first && !matches!(word, Word::Lit(_)) {
            self.note(What::Work("splat".into()), 1);
            self.plain(word, &mut None)?;
        }
        Some(())
    }

    fn parts(&mut self, words: &[Word], lane: &mut Option<&mut Lane>) -> Option<()> {
        words.iter().try_for_each(|w| self.word(w, lane.as_deref_mut()))
    }

    fn plain(&mut self, word: &Word, lane: &mut Option<&mut Lane>) -> Option<()> {
        match word {
            Word::Lit(_) | Word::Index(..) | Word::Local(..) => {}
            Word::Load(a) => self.moved(a, false, lane.as_deref()),
            Word::Op { op, args, .. } => {
                let name = match op {
                    Op::Prim(p) => p.to_string(),
                    Op::Method(t, m) => {
                        let of = self.fun.type_params[t.index()].interface;
                        self.program.interfaces[of as usize].methods[*m as usize].0.clone()
                    }
                };
                self.note(What::Work(name.clone()), 1);
                let elem = self.elem_of(word);
                self.issued(What::Issued { op: name, elem, lanes: lane.as_ref().map_or(1, |l| l.count) }, lane);
                self.parts(args, lane)?;
            }
            Word::Apply(p, args) => {
                let pure = &self.program.pures[p.index()];
                let before = self.locals.replace(&pure.locals);
                let seen = std::mem::take(&mut self.seen);
                self.plain(&pure.body, &mut None)?;
                let inside = std::mem::replace(&mut self.seen, seen);
                self.locals = before;
                for (what, n) in inside {
                    match what {
                        What::Issued { op, elem, lanes: _ } => {
                            let lanes = lane.as_ref().map_or(1, |l| l.count);
                            for _ in 0..n {
                                self.issued(What::Issued { op: op.clone(), elem, lanes }, lane);
                            }
                        }
                        what => self.note(what, n),
                    }
                }
                self.parts(args, lane)?;
            }
            Word::Tuple(parts) => self.parts(parts, lane)?,
            Word::Part(a, _) => self.word(a, lane.as_deref_mut())?,
            Word::Let(local, a, b) => {
                let varies = lane.as_ref().is_some_and(|l| Self::varies(a, l));
                self.word(a, lane.as_deref_mut())?;
                if let (true, Some(l)) = (varies, lane.as_deref_mut()) {
                    l.varying.insert(*local);
                }
                self.word(b, lane.as_deref_mut())?;
            }
            Word::If(g, a, b) => {
                let holds = self.guard(g);
                let taken = if holds { a } else { b };
                let Some(l) = lane.as_deref_mut() else { return self.plain(taken, &mut None) };
                let mut live = Live::default();
                live.guard(g);
                if !live.vars.contains(&l.var) {
                    return self.word(taken, Some(l));
                }
                if vectors::masked_load(word, l.var).is_some() {
                    // The load is issued for the statement, whether or not a lane of it is read.
                    if let Word::Load(access) = &**a {
                        self.issued(What::Load(l.count * self.bytes(access.buffer)), lane);
                        if holds {
                            let n = self.bytes(access.buffer).into();
                            self.note(What::Read(self.place(access.buffer)), n);
                        }
                    }
                    return Some(());
                }
                self.plain(taken, &mut None)?;
            }
            Word::Fold(f) => {
                self.word(&f.init, None)?;
                self.each(f.var, &f.domain, &mut |run| run.word(&f.body, None))?;
            }
            Word::Reduce(r) => self.reduce(r)?,
            Word::Differing(a, b) => {
                for b in [*a, *b] {
                    let extents = &self.fun.buffers[b.index()].extents;
                    let n: i64 = extents.iter().map(|e| self.ix(e)).product::<i64>() * self.bytes(b);
                    self.note(What::Read(self.place(b)), n.into());
                }
            }
        }
        Some(())
    }

    fn reduce(&mut self, r: &Reduce) -> Option<()> {
        self.word(&r.empty, None)?;
        let n = self.each(r.var, &r.domain, &mut |run| run.word(&r.element, None))?;
        let joins = match r.shape {
            Shape::Order => n,
            Shape::Halving => (n - 1).max(0),
            Shape::Lanes(lanes) => n + i64::from(lanes) - 1,
        };
        (0..joins).try_for_each(|_| self.word(&r.combine, None))
    }

    /// Something that is done for all lanes at once.
    fn issued(&mut self, what: What, lane: &Option<&mut Lane>) {
        if lane.as_ref().is_none_or(|l| l.first) {
            self.note(what, 1);
        }
    }

    fn moved(&mut self, a: &Access, written: bool, lane: Option<&Lane>) {
        let (place, bytes) = (self.place(a.buffer), self.bytes(a.buffer));
        let at_once = if self.open(a.buffer) { 0 } else { bytes * lane.map_or(1, |l| l.count) };
        let (moved, asked) = match written {
            true => (What::Written(place), What::Store(at_once)),
            false => (What::Read(place), What::Load(at_once)),
        };
        self.note(moved, bytes.into());
        if lane.is_none_or(|l| l.first) {
            self.note(asked, 1);
        }
    }

    fn bytes(&self, b: Buffer) -> i64 {
        fn of(ty: &Ty) -> i64 {
            match ty {
                Ty::Elem(e) => e.bytes() as i64,
                Ty::Abstract(_) => 1,
                Ty::Tuple(parts) => parts.iter().map(of).sum(),
            }
        }
        of(&self.fun.buffers[b.index()].elem)
    }

    fn open(&self, b: Buffer) -> bool {
        fn of(ty: &Ty) -> bool {
            match ty {
                Ty::Elem(_) => false,
                Ty::Abstract(_) => true,
                Ty::Tuple(parts) => parts.iter().any(of),
            }
        }
        of(&self.fun.buffers[b.index()].elem)
    }

    fn place(&self, b: Buffer) -> Place {
        if let Some(p) = self.lent.get(&b) {
            return p.clone();
        }
        let info = &self.fun.buffers[b.index()];
        let mut root = b;
        while let Role::Lease(of) = self.fun.buffers[root.index()].role {
            root = of;
        }
        let own = self.fun.params.iter().position(|p| *p == root).map_or(u32::MAX, |n| n as u32);
        let order = self.lent.get(&root).map_or(own, |p| p.order);
        Place { order, name: info.name.clone(), level: info.level.name.clone() }
    }

    fn elem_of(&self, word: &Word) -> Option<Elem> {
        let ty = match word {
            Word::Lit(l) => return Some(l.elem),
            Word::Index(_, e) => return Some(*e),
            Word::Load(a) => &self.fun.buffers[a.buffer.index()].elem,
            Word::Local(l, _) => &self.locals.unwrap_or(&self.fun.locals)[l.index()].ty,
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
}
