//! Every program that differs from one by a single change: in a bound, a subscript, a guard, a window, a word, or in which
//! statements there are and how they are nested.
//!
//! Each function returns all single changes of its argument, so that a change deep inside is lifted through what stands
//! around it.

use cachet_core::ir::{
    Access, Block, BlockPart, Buffer, Call, Device, Domain, Elem, Fold, Fun, Grid, Guard, Ix, Lit, Local, Op, Prim,
    Reduce, Rel, Stmt, StmtKind, Var, VarKind, View, Window, Word,
};
use cachet_core::rewrite::{Subst, refresh};

type Changes<T> = Vec<(String, T)>;

/// The changes of a block. The function's tables grow by the ids that copies need.
pub fn of(fun: &mut Fun, block: &Block) -> Changes<Block> {
    let mut out: Changes<Block> = Vec::new();
    let mut change = Change { fun, indices: Vec::new(), blocks: Vec::new() };
    for (what, b) in change.block(block) {
        if b != *block && out.iter().all(|(_, other)| *other != b) {
            out.push((what, b));
        }
    }
    out
}

struct Change<'a> {
    fun: &'a mut Fun,
    /// Loop variables in scope.
    indices: Vec<Var>,
    /// Blocks in scope, with their sizes.
    blocks: Vec<(Var, i64)>,
}

fn lift<T, U>(changes: Changes<T>, wrap: impl Fn(T) -> U) -> Changes<U> {
    changes.into_iter().map(|(what, t)| (what, wrap(t))).collect()
}

fn within<T>(place: &str, changes: Changes<T>) -> Changes<T> {
    changes.into_iter().map(|(what, t)| (format!("{place}: {what}"), t)).collect()
}

fn add(ix: &Ix, n: i64) -> Ix {
    Ix::Add(Box::new(ix.clone()), Box::new(Ix::Lit(n)))
}

/// A statement moved into the loop after it, and the first and the last one of a loop's body moved out: initialised once
/// for all, or again each time.
fn moved(block: &Block, n: usize) -> Changes<Block> {
    let mut out = Vec::new();
    if let Some(StmtKind::For { var, domain, body }) = block.get(n + 1).map(|s| &s.kind) {
        let body = [std::slice::from_ref(&block[n]), body].concat();
        let mut all = block.clone();
        let kind = StmtKind::For { var: *var, domain: domain.clone(), body };
        all.splice(n..=n + 1, [Stmt { kind, span: block[n + 1].span }]);
        out.push(("moved into the loop after it".into(), all));
    }
    if let StmtKind::For { var, domain, body } = &block[n].kind
        && let [Stmt { kind: StmtKind::Var { .. }, .. }, filled, rest @ ..] = body.as_slice()
        && matches!(filled.kind, StmtKind::For { .. })
        && !rest.is_empty()
    {
        let kind = StmtKind::For { var: *var, domain: domain.clone(), body: rest.to_vec() };
        let mut all = block.clone();
        all.splice(n..=n, [body[0].clone(), body[1].clone(), Stmt { kind, span: block[n].span }]);
        out.push(("a vector moved out of its loop".into(), all));
    }
    let (body, around): (&Block, Box<dyn Fn(Block) -> StmtKind + '_>) = match &block[n].kind {
        StmtKind::For { var, domain, body } => {
            (body, Box::new(|body| StmtKind::For { var: *var, domain: domain.clone(), body }))
        }
        StmtKind::Grid(g) => (&g.body, Box::new(|body| StmtKind::Grid(Box::new(Grid { body, ..(**g).clone() })))),
        StmtKind::If { .. }
        | StmtKind::Let { .. }
        | StmtKind::Var { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Store { .. }
        | StmtKind::Alloc(_)
        | StmtKind::Lease { .. }
        | StmtKind::Call(_)
        | StmtKind::Print(_) => return out,
    };
    if body.len() > 1 {
        let less = |body: &[Stmt]| Stmt { kind: around(body.to_vec()), span: block[n].span };
        let with = |two: [Stmt; 2]| {
            let mut all = block.clone();
            all.splice(n..=n, two);
            all
        };
        out.push(("first one moved out of its loop".into(), with([body[0].clone(), less(&body[1..])])));
        let last = body.len() - 1;
        out.push(("last one moved out of its loop".into(), with([less(&body[..last]), body[last].clone()])));
    }
    out
}

/// Another sign, which is 0.0 for -0.0, or another value.
fn literals(lit: &Lit) -> Changes<Word> {
    let sign = 1u64 << (8 * lit.elem.bytes() - 1);
    let made = |bits: u64| Word::Lit(Lit { elem: lit.elem, bits });
    match lit.elem {
        Elem::Bool => vec![("another literal".into(), made(lit.bits ^ 1))],
        Elem::F64 | Elem::F32 | Elem::F16 | Elem::BF16 => {
            vec![("another sign".into(), made(lit.bits ^ sign)), ("another literal".into(), made(lit.bits ^ 1))]
        }
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 => {
            vec![("another literal".into(), made(lit.bits ^ 1))]
        }
    }
}

/// Other operations of as many operands.
fn others(op: Prim) -> &'static [Prim] {
    match op {
        Prim::Add => &[Prim::Sub, Prim::Mul],
        Prim::Sub => &[Prim::Add],
        Prim::Mul => &[Prim::Add],
        Prim::Div => &[Prim::Rem],
        Prim::Rem => &[Prim::Div],
        Prim::WrappingAdd => &[Prim::WrappingSub, Prim::Add],
        Prim::WrappingSub => &[Prim::WrappingAdd],
        Prim::WrappingMul => &[Prim::WrappingAdd, Prim::Mul],
        Prim::Max => &[Prim::Min],
        Prim::Min => &[Prim::Max],
        Prim::Eq => &[Prim::Le],
        Prim::Lt => &[Prim::Le],
        Prim::Le => &[Prim::Lt],
        Prim::And => &[Prim::Or],
        Prim::Or => &[Prim::And],
        Prim::Neg => &[Prim::Abs],
        Prim::Abs => &[Prim::Neg],
        Prim::Fma
        | Prim::Sqrt
        | Prim::Not
        | Prim::Select
        | Prim::Cast(_)
        | Prim::WrappingCast(_)
        | Prim::SaturatingCast(_)
        | Prim::FromBits(_)
        | Prim::ToBits => &[],
    }
}

/// One rounding for two, or two for one.
fn rounded(op: Op, arith: Device, args: &[Word]) -> Option<Word> {
    let prim = |p: Prim, args: Vec<Word>| Word::Op { op: Op::Prim(p), arith, args };
    match (op, args) {
        (Op::Prim(Prim::Fma), [a, b, c]) => {
            Some(prim(Prim::Add, vec![prim(Prim::Mul, vec![a.clone(), b.clone()]), c.clone()]))
        }
        (Op::Prim(Prim::Add), [Word::Op { op: Op::Prim(Prim::Mul), args: factors, .. }, c])
        | (Op::Prim(Prim::Add), [c, Word::Op { op: Op::Prim(Prim::Mul), args: factors, .. }]) => {
            Some(prim(Prim::Fma, factors.iter().chain([c]).cloned().collect()))
        }
        _ => None,
    }
}

impl Change<'_> {
    fn name(&self, v: Var) -> String {
        self.fun.vars[v.index()].name.clone()
    }

    fn enter(&mut self, v: Var, d: &Domain) {
        match d {
            Domain::Range { .. } => self.indices.push(v),
            Domain::Blocks { size, .. } => self.blocks.push((v, *size)),
        }
    }

    fn leave(&mut self, v: Var) {
        self.indices.retain(|x| *x != v);
        self.blocks.retain(|(x, _)| *x != v);
    }

    fn block(&mut self, block: &Block) -> Changes<Block> {
        let mut out = Vec::new();
        for (n, s) in block.iter().enumerate() {
            let put = |with: Vec<Stmt>| {
                let mut all = block.clone();
                all.splice(n..=n, with);
                all
            };
            out.push((format!("statement {n} dropped"), put(vec![])));
            if !matches!(s.kind, StmtKind::Let { .. } | StmtKind::Var { .. }) {
                let copy = refresh(self.fun, std::slice::from_ref(s));
                out.push((format!("statement {n} twice"), put([vec![s.clone()], copy].concat())));
                let again = self.fun.add_var("again", VarKind::Index);
                let domain = Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(2) };
                let kind = StmtKind::For { var: again, domain, body: vec![s.clone()] };
                out.push((format!("statement {n} in a loop of 2"), put(vec![Stmt { kind, span: s.span }])));
            }
            if n + 1 < block.len() {
                let mut swapped = block.clone();
                swapped.swap(n, n + 1);
                out.push((format!("statements {n} and {} swapped", n + 1), swapped));
            }
            out.extend(lift(self.stmt(s), |s| put(vec![s])));
            out.extend(moved(block, n));
        }
        out
    }

    fn stmt(&mut self, s: &Stmt) -> Changes<Stmt> {
        let kinds = match &s.kind {
            StmtKind::For { var, domain, body } => self.loops(*var, domain, body),
            StmtKind::Grid(g) => self.grid(g),
            StmtKind::If { guard, then, els } => {
                let made = |g: &Guard, then: &Block, els: &Block| StmtKind::If {
                    guard: g.clone(),
                    then: then.clone(),
                    els: els.clone(),
                };
                let mut out = lift(self.guard(guard), |g| made(&g, then, els));
                out.push(("branches swapped".into(), made(guard, els, then)));
                out.extend(lift(self.block(then), |b| made(guard, &b, els)));
                out.extend(lift(self.block(els), |b| made(guard, then, &b)));
                out
            }
            StmtKind::Let { local, word } => lift(self.word(word), |word| StmtKind::Let { local: *local, word }),
            StmtKind::Var { local, init } => lift(self.word(init), |init| StmtKind::Var { local: *local, init }),
            StmtKind::Assign { local, at, word } => {
                let mut out = lift(self.word(word), |word| StmtKind::Assign { local: *local, at: at.clone(), word });
                for n in 0..at.len() {
                    let with = |ix: Ix| {
                        let mut at = at.clone();
                        at[n] = ix;
                        StmtKind::Assign { local: *local, at, word: word.clone() }
                    };
                    out.extend(within("cell", lift(self.ix(&at[n]), with)));
                }
                out
            }
            StmtKind::Store { to, word } => {
                let mut out = lift(self.access(to), |to| StmtKind::Store { to, word: word.clone() });
                out.extend(lift(self.word(word), |word| StmtKind::Store { to: to.clone(), word }));
                out
            }
            StmtKind::Call(c) => lift(self.call(c), |c| StmtKind::Call(Box::new(c))),
            StmtKind::Alloc(_) | StmtKind::Lease { .. } | StmtKind::Print(_) => Vec::new(),
        };
        lift(kinds, |kind| Stmt { kind, span: s.span })
    }

    /// A size or a side of what is lent changed, another buffer lent, or two arguments exchanged.
    fn call(&mut self, c: &Call) -> Changes<Call> {
        let mut out = Vec::new();
        for n in 0..c.sizes.len() {
            let with = |ix: Ix| {
                let mut c = c.clone();
                c.sizes[n] = ix;
                c
            };
            out.extend(within("size", lift(self.ix(&c.sizes[n]), with)));
        }
        for (n, view) in c.args.iter().enumerate() {
            let with = |view: View| {
                let mut c = c.clone();
                c.args[n] = view;
                c
            };
            for (m, (start, len)) in view.axes.iter().flatten().enumerate() {
                let side = |side: (Ix, Ix)| {
                    let mut view = view.clone();
                    view.axes.iter_mut().for_each(|axes| axes[m] = side.clone());
                    view
                };
                out.extend(within("lent from", lift(self.ix(start), |s| with(side((s, len.clone()))))));
                out.extend(within("lent length", lift(self.ix(len), |l| with(side((start.clone(), l))))));
            }
            out.push(("lent whole".into(), with(View { axes: None, ..view.clone() })));
            let buffers: Vec<Buffer> = (0..self.fun.buffers.len() as u32).map(Buffer).collect();
            let like = |b: &Buffer| {
                let (x, y) = (&self.fun.buffers[b.index()], &self.fun.buffers[view.buffer.index()]);
                *b != view.buffer && x.elem == y.elem && x.extents.len() == y.extents.len()
            };
            for buffer in buffers.into_iter().filter(like) {
                out.push(("another buffer lent".into(), with(View { buffer, ..view.clone() })));
            }
            if n + 1 < c.args.len() {
                let mut c = c.clone();
                c.args.swap(n, n + 1);
                out.push(("arguments exchanged".into(), c));
            }
        }
        out
    }

    fn loops(&mut self, var: Var, domain: &Domain, body: &Block) -> Changes<StmtKind> {
        let made = |domain: Domain, body: Block| StmtKind::For { var, domain, body };
        let mut out = lift(self.domain(domain), |d| made(d, body.clone()));
        if let Domain::Range { lo, hi } = domain {
            let last = Ix::Sub(Box::new(Ix::Add(Box::new(lo.clone()), Box::new(hi.clone()))), Box::new(Ix::Lit(1)));
            let mirrored = Ix::Sub(Box::new(last), Box::new(Ix::Var(var)));
            let back = Subst::var(var, mirrored).block(body);
            out.push(("backwards".into(), made(domain.clone(), back)));
        }
        if let [Stmt { kind: StmtKind::For { var: inner, domain: d, body: rest }, span }] = body.as_slice() {
            let moved = made(domain.clone(), rest.clone());
            let body = vec![Stmt { kind: moved, span: *span }];
            out.push(("inside its inner loop".into(), StmtKind::For { var: *inner, domain: d.clone(), body }));
        }
        if let VarKind::Lane(n) = self.fun.vars[var.index()].kind {
            out.push(("without its mask".into(), made(Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(n) }, body.clone())));
        }
        let writes = cachet_core::windows::infer(&self.fun.buffers, &[var], body);
        let axes = vec![(var, domain.clone())];
        let grid = Grid { device: Device::HOST, level: 0, axes, writes, body: body.clone() };
        out.push(("in parallel".into(), StmtKind::Grid(Box::new(grid))));
        self.enter(var, domain);
        out.extend(lift(self.block(body), |b| made(domain.clone(), b)));
        self.leave(var);
        within(&self.name(var), out)
    }

    fn grid(&mut self, g: &Grid) -> Changes<StmtKind> {
        let mut out: Changes<Grid> = Vec::new();
        for (n, (v, d)) in g.axes.iter().enumerate() {
            let name = self.name(*v);
            let with = |d: Domain| {
                let mut g = g.clone();
                g.axes[n].1 = d;
                g
            };
            out.extend(within(&name, lift(self.domain(d), with)));
        }
        g.axes.iter().for_each(|(v, d)| self.enter(*v, d));
        for n in 0..g.writes.len() {
            let with = |w: Option<Window>| {
                let mut g = g.clone();
                g.writes.splice(n..=n, w);
                g
            };
            out.push((format!("window {n} dropped"), with(None)));
            out.extend(lift(self.window(&g.writes[n]), |w| with(Some(w))));
        }
        out.extend(lift(self.block(&g.body), |body| Grid { body, ..g.clone() }));
        g.axes.iter().for_each(|(v, _)| self.leave(*v));
        lift(within("grid", out), |g| StmtKind::Grid(Box::new(g)))
    }

    /// A window with a side moved, longer, shorter, of no length, or the whole axis; or with two sides exchanged.
    fn window(&mut self, w: &Window) -> Changes<Window> {
        let extents = self.fun.buffers[w.buffer.index()].extents.clone();
        let mut out = Vec::new();
        for (n, (start, len)) in w.axes.iter().enumerate() {
            let with = |side: (Ix, Ix)| {
                let mut w = w.clone();
                w.axes[n] = side;
                w
            };
            out.extend(within("window", lift(self.ix(start), |s| with((s, len.clone())))));
            out.extend(within("window's length", lift(self.ix(len), |l| with((start.clone(), l)))));
            out.push(("window of the whole axis".into(), with((Ix::Lit(0), extents[n].clone()))));
            out.push(("window of nothing".into(), with((start.clone(), Ix::Lit(0)))));
            out.push(("window of a negative length".into(), with((add(start, 1), Ix::Lit(-1)))));
        }
        if w.axes.len() > 1 {
            let mut turned = w.clone();
            turned.axes.swap(0, 1);
            out.push(("window's axes exchanged".into(), turned));
        }
        out
    }

    fn domain(&mut self, domain: &Domain) -> Changes<Domain> {
        let mut out = Vec::new();
        match domain {
            Domain::Range { lo, hi } => {
                let made = |lo: Ix, hi: Ix| Domain::Range { lo, hi };
                out.extend(within("from", lift(self.ix(lo), |lo| made(lo, hi.clone()))));
                out.extend(within("to", lift(self.ix(hi), |hi| made(lo.clone(), hi))));
                out.push(("bounds exchanged".into(), made(hi.clone(), lo.clone())));
                out.push(("one iteration".into(), made(lo.clone(), add(lo, 1))));
            }
            Domain::Blocks { lo, hi, size } => {
                let made = |lo: Ix, hi: Ix, size: i64| Domain::Blocks { lo, hi, size };
                out.extend(within("from", lift(self.ix(lo), |lo| made(lo, hi.clone(), *size))));
                out.extend(within("to", lift(self.ix(hi), |hi| made(lo.clone(), hi, *size))));
                for n in [size - 1, size + 1, 2 * size, 1] {
                    out.push((format!("blocks of {n}"), made(lo.clone(), hi.clone(), n)));
                }
            }
        }
        out
    }

    fn ix(&mut self, ix: &Ix) -> Changes<Ix> {
        let mut out = vec![("+ 1".to_string(), add(ix, 1)), ("- 1".to_string(), add(ix, -1))];
        out.extend(self.inside(ix));
        out
    }

    /// The changes of an index other than being one more or less.
    fn inside(&mut self, ix: &Ix) -> Changes<Ix> {
        let mut out: Changes<Ix> = Vec::new();
        let two = |a: &Ix, b: &Ix, made: fn(Box<Ix>, Box<Ix>) -> Ix, this: &mut Self| {
            let mut out = lift(this.inside(a), |a| made(Box::new(a), Box::new(b.clone())));
            out.extend(lift(this.inside(b), |b| made(Box::new(a.clone()), Box::new(b))));
            out.push(("only the first part".into(), a.clone()));
            out.push(("only the second part".into(), b.clone()));
            out
        };
        match ix {
            Ix::Lit(n) => out.push((format!("{} for {n}", 2 * n + 1), Ix::Lit(2 * n + 1))),
            Ix::Var(v) => {
                for other in self.indices.iter().filter(|o| *o != v) {
                    out.push((format!("{} for {}", self.name(*other), self.name(*v)), Ix::Var(*other)));
                }
                for (g, _) in &self.blocks {
                    out.push((format!("{}'s start", self.name(*g)), Ix::Block(*g, BlockPart::Lo)));
                }
                out.push(("0 for a variable".into(), Ix::Lit(0)));
            }
            Ix::Add(a, b) => out.extend(two(a, b, Ix::Add, self)),
            Ix::Sub(a, b) => {
                out.extend(two(a, b, Ix::Sub, self));
                out.push(("turned round".into(), Ix::Sub(b.clone(), a.clone())));
            }
            Ix::Min(a, b) => out.extend(two(a, b, Ix::Min, self)),
            Ix::Max(a, b) => out.extend(two(a, b, Ix::Max, self)),
            Ix::Mul(n, a) => {
                out.extend(lift(self.inside(a), |a| Ix::Mul(*n, Box::new(a))));
                out.extend([n - 1, n + 1].map(|n| (format!("times {n}"), Ix::Mul(n, a.clone()))));
            }
            Ix::Div(a, n) => {
                out.extend(lift(self.ix(a), |a| Ix::Div(Box::new(a), *n)));
                out.extend([n - 1, n + 1, 2 * n].map(|n| (format!("divided by {n}"), Ix::Div(a.clone(), n))));
            }
            Ix::Mod(a, n) => {
                out.extend(lift(self.ix(a), |a| Ix::Mod(Box::new(a), *n)));
                out.extend([n - 1, n + 1, 2 * n].map(|n| (format!("modulo {n}"), Ix::Mod(a.clone(), n))));
            }
            Ix::If(g, a, b) => {
                out.extend(lift(self.guard(g), |g| Ix::If(Box::new(g), a.clone(), b.clone())));
                out.extend([("always".to_string(), (**a).clone()), ("never".to_string(), (**b).clone())]);
            }
            Ix::Block(g, part) => {
                for other in [BlockPart::Lo, BlockPart::Hi, BlockPart::Len, BlockPart::Idx] {
                    if other != *part {
                        out.push((format!("another part of {}", self.name(*g)), Ix::Block(*g, other)));
                    }
                }
                for (other, size) in &self.blocks {
                    if other != g {
                        out.push((format!("{}'s part", self.name(*other)), Ix::Block(*other, *part)));
                    } else {
                        out.push((format!("{size} for a part"), Ix::Lit(*size)));
                    }
                }
            }
            Ix::InBlock(g, e) => {
                out.extend(lift(self.inside(e), |e| Ix::InBlock(*g, Box::new(e))));
                out.push(("without its block".into(), (**e).clone()));
                for (other, _) in self.blocks.iter().filter(|(o, _)| o != g) {
                    out.push((format!("in {}", self.name(*other)), Ix::InBlock(*other, e.clone())));
                }
            }
        }
        out
    }

    fn guard(&mut self, guard: &Guard) -> Changes<Guard> {
        let mut out: Changes<Guard> = vec![
            ("guard turned round".into(), Guard::Not(Box::new(guard.clone()))),
            ("guard always".into(), Guard::Const(true)),
            ("guard never".into(), Guard::Const(false)),
        ];
        match guard {
            Guard::Const(_) => {}
            Guard::Cmp(rel, a, b) => {
                for other in [Rel::Eq, Rel::Ne, Rel::Lt, Rel::Le] {
                    out.push((format!("guard {other:?}"), Guard::Cmp(other, a.clone(), b.clone())));
                }
                out.extend(lift(self.ix(a), |a| Guard::Cmp(*rel, a, b.clone())));
                out.extend(lift(self.ix(b), |b| Guard::Cmp(*rel, a.clone(), b)));
            }
            Guard::And(a, b) | Guard::Or(a, b) => out.extend([
                ("half a guard".to_string(), (**a).clone()),
                ("other half".to_string(), (**b).clone()),
                ("both".to_string(), Guard::And(a.clone(), b.clone())),
                ("either".to_string(), Guard::Or(a.clone(), b.clone())),
            ]),
            Guard::Not(a) => out.extend(lift(self.guard(a), |a| Guard::Not(Box::new(a)))),
        }
        out
    }

    fn access(&mut self, a: &Access) -> Changes<Access> {
        let mut out = Vec::new();
        for n in 0..a.at.len() {
            let with = |ix: Ix| {
                let mut a = a.clone();
                a.at[n] = ix;
                a
            };
            out.extend(within("subscript", lift(self.ix(&a.at[n]), with)));
        }
        if a.at.len() > 1 {
            let mut turned = a.clone();
            turned.at.swap(0, 1);
            out.push(("subscripts exchanged".into(), turned));
        }
        let like = |b: &Buffer| {
            let (x, y) = (&self.fun.buffers[b.index()], &self.fun.buffers[a.buffer.index()]);
            *b != a.buffer && x.elem == y.elem && x.extents.len() == y.extents.len()
        };
        for b in self.fun.params.iter().filter(|b| like(b)) {
            out.push(("another buffer".into(), Access { buffer: *b, ..a.clone() }));
        }
        out
    }

    /// Other vectors of as many lanes.
    fn vectors_like(&self, of: Local) -> Vec<Local> {
        let info = &self.fun.locals[of.index()];
        let like = |l: &Local| {
            let other = &self.fun.locals[l.index()];
            *l != of && info.vector && other.vector && other.dims == info.dims && other.ty == info.ty
        };
        (0..self.fun.locals.len() as u32).map(Local).filter(like).collect()
    }

    fn word(&mut self, w: &Word) -> Changes<Word> {
        let one = Word::Lit(Lit { elem: Elem::F32, bits: 0x3F80_0000 });
        let mut out = vec![("1.0 for a word".to_string(), one)];
        match w {
            Word::Load(a) => out.extend(lift(self.access(a), Word::Load)),
            Word::Op { op, arith, args } => {
                let made = |op: Op, args: Vec<Word>| Word::Op { op, arith: *arith, args };
                if args.len() > 1 {
                    let mut turned = args.clone();
                    turned.swap(0, 1);
                    out.push(("operands exchanged".into(), made(*op, turned)));
                    if args.len() > 2 {
                        let mut turned = args.clone();
                        turned.reverse();
                        out.push(("operands turned round".into(), made(*op, turned)));
                    }
                }
                if let Op::Prim(prim) = op {
                    let other = |p: &Prim| ("another operation".to_string(), made(Op::Prim(*p), args.clone()));
                    out.extend(others(*prim).iter().map(other));
                }
                out.extend(rounded(*op, *arith, args).map(|w| ("rounded another way".to_string(), w)));
                if let Op::Method(p, n) = op {
                    // Of a semiring: the other operation of two operands, and the other element.
                    out.push(("another operation".into(), made(Op::Method(*p, n ^ 1), args.clone())));
                }
                for n in 0..args.len() {
                    let with = |w: Word| {
                        let mut args = args.clone();
                        args[n] = w;
                        made(*op, args)
                    };
                    out.extend(lift(self.word(&args[n]), with));
                    out.push(("only an operand".into(), args[n].clone()));
                }
            }
            Word::If(g, a, b) => {
                out.extend(lift(self.guard(g), |g| Word::If(Box::new(g), a.clone(), b.clone())));
                out.extend([("always".to_string(), (**a).clone()), ("never".to_string(), (**b).clone())]);
                out.extend(lift(self.word(a), |a| Word::If(g.clone(), Box::new(a), b.clone())));
                out.extend(lift(self.word(b), |b| Word::If(g.clone(), a.clone(), Box::new(b))));
            }
            Word::Let(l, a, b) => {
                out.extend(lift(self.word(a), |a| Word::Let(*l, Box::new(a), b.clone())));
                out.extend(lift(self.word(b), |b| Word::Let(*l, a.clone(), Box::new(b))));
            }
            Word::Fold(f) => out.extend(self.fold(f)),
            Word::Index(ix, elem) => out.extend(lift(self.ix(ix), |ix| Word::Index(ix, *elem))),
            Word::Local(l, at) => {
                for other in self.vectors_like(*l) {
                    out.push(("another vector".into(), Word::Local(other, at.clone())));
                }
                for n in 0..at.len() {
                    let with = |ix: Ix| {
                        let mut at = at.clone();
                        at[n] = ix;
                        Word::Local(*l, at)
                    };
                    out.extend(within("cell", lift(self.ix(&at[n]), with)));
                }
            }
            Word::Apply(f, args) => out.extend(self.words(args, |args| Word::Apply(*f, args))),
            Word::Tuple(parts) => out.extend(self.words(parts, Word::Tuple)),
            Word::Part(w, n) => {
                out.extend(lift(self.word(w), |w| Word::Part(Box::new(w), *n)));
                out.push(("the next field".into(), Word::Part(w.clone(), n + 1)));
                out.push(("the first field".into(), Word::Part(w.clone(), 0)));
            }
            Word::Reduce(r) => {
                let made = |r: Reduce| Word::Reduce(Box::new(r));
                out.extend(lift(self.domain(&r.domain), |domain| made(Reduce { domain, ..(**r).clone() })));
                self.enter(r.var, &r.domain);
                out.extend(lift(self.word(&r.element), |element| made(Reduce { element, ..(**r).clone() })));
                self.leave(r.var);
            }
            Word::Lit(lit) => out.extend(literals(lit)),
            Word::Differing(..) => {}
        }
        out
    }

    /// A sum of its first half and of its second half, each with a total of its own.
    fn two_totals(&mut self, f: &Fold) -> Option<Word> {
        let (Domain::Range { lo, hi }, Word::Op { op, arith, .. }) = (&f.domain, &f.body) else { return None };
        let half = Ix::Div(Box::new(Ix::Add(Box::new(lo.clone()), Box::new(hi.clone()))), 2);
        let part = |lo: &Ix, hi: &Ix| {
            let domain = Domain::Range { lo: lo.clone(), hi: hi.clone() };
            Word::Fold(Box::new(Fold { domain, ..f.clone() }))
        };
        let two = [part(lo, &half), part(&half, hi)];
        let of = Stmt { kind: StmtKind::Print(two[1].clone()), span: f.span };
        let StmtKind::Print(second) = refresh(self.fun, &[of]).pop()?.kind else { return None };
        let args = vec![two[0].clone(), second];
        let op = if let Op::Prim(Prim::Fma) = op { Op::Prim(Prim::Add) } else { *op };
        Some(Word::Op { op, arith: *arith, args })
    }

    fn words(&mut self, all: &[Word], made: impl Fn(Vec<Word>) -> Word) -> Changes<Word> {
        let mut out = Vec::new();
        for n in 0..all.len() {
            let with = |w: Word| {
                let mut all = all.to_vec();
                all[n] = w;
                made(all)
            };
            out.extend(lift(self.word(&all[n]), with));
        }
        if all.len() > 1 {
            let mut turned = all.to_vec();
            turned.swap(0, 1);
            out.push(("parts exchanged".into(), made(turned)));
        }
        out
    }

    fn fold(&mut self, f: &Fold) -> Changes<Word> {
        let made = |f: Fold| Word::Fold(Box::new(f));
        let mut out = lift(self.domain(&f.domain), |domain| made(Fold { domain, ..f.clone() }));
        out.extend(lift(self.word(&f.init), |init| made(Fold { init, ..f.clone() })));
        out.push(("only the sum's start".into(), f.init.clone()));
        out.extend(self.two_totals(f).map(|w| ("two totals".to_string(), w)));
        self.enter(f.var, &f.domain);
        out.extend(lift(self.word(&f.body), |body| made(Fold { body, ..f.clone() })));
        self.leave(f.var);
        within(&format!("sum over {}", self.name(f.var)), out)
    }
}
