//! Tiles: the cuts and the order that they want, copies of what they read, and registers that hold them.

use super::loops::{Loop, Nest, nests};
use super::{Draw, arg, step};
use cachet_core::instance::add_scratch;
use cachet_core::ir::{
    BlockPart, Buffer, BufferInfo, Device, Domain, Fun, Ix, Layout, Level, Lit, Op, Role, Stmt, StmtKind, Ty, Var, Word,
};
use cachet_core::rewrite::{Visit, visit_block, visit_stmt, visit_word};
use cachet_core::script::{PackCall, RegistersCall, SplitIndex, SplitLevel, StepArg, StepCall, StepForm};
use cachet_schedule::Splits;
use cachet_source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// What is to be drawn next.
pub(super) enum Next {
    /// This.
    Step(Box<StepCall>),
    /// A copy.
    Pack,
    /// What a copy is called while it is kept.
    Keep,
    /// Registers.
    Registers,
}

impl Draw<'_> {
    /// What makes a tile of a nest with two loops of the result and a sum.
    pub(super) fn tile(&mut self, fun: &Fun, summed: &BTreeSet<String>) -> Option<Vec<Next>> {
        let fits = |n: &Nest| {
            let free = n.loops.iter().filter(|l| !summed.contains(&l.name) && l.whole).count();
            let named = || through(self.program, fun, n).is_some_and(|t| t.starts_with(char::is_alphabetic));
            free >= 2 && n.sums.len() == 1 && n.writes.is_some() && named()
        };
        let all: Vec<Nest> = nests(fun).into_iter().filter(fits).collect();
        let nest = (!all.is_empty()).then(|| self.random.pick(&all))?;
        let mut free: Vec<Loop> = nest.loops.clone();
        free.retain(|l| l.whole);
        let i = free.remove(self.random.below(free.len()));
        let j = free.remove(self.random.below(free.len()));
        let mut out = Vec::new();
        let loops: Vec<StepArg> = nest.loops.iter().map(Loop::arg).collect();
        if self.random.once_in(2) {
            let of = vec![StepArg::Tuple(loops, Span::default()), arg(&fun.buffers[nest.writes?.index()].name)];
            out.push(Next::Step(Box::new(step("zero", StepForm::Call(of)))));
        }
        let sizes = [self.random.between(1, 4), self.random.between(1, 5), self.random.between(2, 4)];
        let cut = |of: &Loop, size: i64, name: &str| SplitIndex {
            of: of.arg(),
            levels: vec![SplitLevel { size, name: Some(name.into()), span: Span::default() }],
            ragged: true,
            span: Span::default(),
        };
        let mut cuts = vec![cut(&i, sizes[0], "gi"), cut(&j, sizes[1], "gj")];
        let deep = self.random.once_in(2);
        if deep {
            cuts.insert(0, cut(&nest.sums[0], sizes[2], "gk"));
        }
        out.extend(cuts.into_iter().map(|c| Next::Step(Box::new(step("split", StepForm::Split(vec![c]))))));
        let mut order: Vec<StepArg> = deep.then(|| arg("gk")).into_iter().collect();
        order.extend(free.iter().map(Loop::arg));
        let mut two = [["gi", "gj"], ["gj", "gi"]][self.random.below(2)].map(arg).to_vec();
        order.append(&mut two);
        order.extend(if self.random.once_in(3) { [j.arg(), i.arg()] } else { [i.arg(), j.arg()] });
        out.push(Next::Step(Box::new(step("order", StepForm::Order(order)))));
        if self.random.once_in(4) {
            let call = vec![arg(["gi", "gj"][self.random.below(2)])];
            out.push(Next::Step(Box::new(step("parallel", StepForm::Call(call)))));
        }
        for _ in 0..self.random.below(3) {
            out.push(Next::Pack);
            if self.random.once_in(3) {
                out.push(Next::Keep);
            }
        }
        out.push(Next::Registers);
        Some(out)
    }

    /// The step that is to be next.
    pub(super) fn next(&mut self, next: Next, fun: &mut Fun, n: usize) -> Option<StepCall> {
        match next {
            Next::Step(call) => Some(*call),
            Next::Pack => self.pack(fun, n),
            Next::Keep => self.keep(n),
            Next::Registers => self.registers(fun),
        }
    }

    /// Any step of tiles.
    pub(super) fn of_tiles(&mut self, fun: &mut Fun, n: usize) -> Option<StepCall> {
        match self.random.below(16) {
            0 => self.registers(fun),
            1 => self.pack(fun, n),
            2 => self.keep(n),
            _ => None,
        }
    }

    /// The innermost two loops of a nest, or the innermost one, held in registers.
    fn registers(&mut self, fun: &Fun) -> Option<StepCall> {
        let held: Vec<(Nest, String)> = nests(fun)
            .into_iter()
            .filter(|n| !n.loops.is_empty())
            .filter_map(|n| through(self.program, fun, &n).map(|name| (n, name)))
            .filter(|(_, name)| name.starts_with(char::is_alphabetic))
            .collect();
        let (nest, through) = (!held.is_empty()).then(|| self.random.pick(&held))?;
        let into = arg(&fun.buffers[nest.writes?.index()].name);
        let through = (through, Span::default());
        let most = |l: &Loop| l.most.filter(|n| (1..=8).contains(n) && l.plain && !l.blocks);
        let lane = nest.loops.last()?;
        if nest.loops.len() < 2 || self.random.once_in(4) {
            let lanes = most(lane)? + [0, 0, 1, 3][self.random.below(4)];
            let (row, lane, lanes) = (None, lane.arg(), (lanes, Span::default()));
            return Some(step("registers", StepForm::Registers(RegistersCall { row, lane, into, lanes, through })));
        }
        let mut two = nest.loops[nest.loops.len() - 2..].to_vec();
        if self.random.once_in(3) {
            two.reverse();
        }
        let rows = most(&two[0])? + [0, 0, 1][self.random.below(3)];
        let lanes = most(&two[1])? + [0, 0, 1, 3][self.random.below(4)];
        Some(step(
            "registers",
            StepForm::Registers(RegistersCall {
                row: Some((two[0].arg(), (rows, Span::default()))),
                lane: two[1].arg(),
                into,
                lanes: (lanes, Span::default()),
                through,
            }),
        ))
    }

    /// A copy of what a loop's body reads, into a parameter that is declared for it.
    fn pack(&mut self, fun: &mut Fun, n: usize) -> Option<StepCall> {
        // What a tile loads is copied before there is one, and what a copy reads is copied once.
        if live_vectors(fun) {
            return None;
        }
        let all: Vec<Nest> = nests(fun).into_iter().filter(|n| !n.in_grid && !n.loops.is_empty()).collect();
        let nest = (!all.is_empty()).then(|| self.random.pick(&all))?;
        let along = self.random.pick(&nest.loops);
        (!along.name.starts_with('q')).then_some(())?;
        let along = along.arg();
        let arrays: Vec<Buffer> = fun
            .params
            .iter()
            .copied()
            .filter(|b| {
                fun.buffers[b.index()].role == Role::Reads && matches!(fun.buffers[b.index()].elem, Ty::Elem(_))
            })
            .collect();
        let array = (!arrays.is_empty()).then(|| self.random.pick(&arrays))?;
        let info = fun.buffers[array.index()].clone();
        (!self.copied.contains(&info.name)).then_some(())?;
        let Ty::Elem(elem) = info.elem else { return None };
        let extents = &self.contraction.inputs.iter().find(|a| a.name == info.name)?.extents.clone();
        let into = format!("p{n}");
        let rank = info.extents.len();
        let lanes = self.random.once_in(3).then(|| self.random.pick(&[1, 2, 3, 4, 8]));
        let names = ["a", "b", "c", "d", "e"].iter().take(rank + usize::from(lanes.is_some()));
        let over = names.map(|l| arg(&format!("q{n}{l}"))).collect();
        let mut call = PackCall { array: arg(&info.name), into: arg(&into), along, over, pad: None, lanes };
        // As large as the array is large enough; from the copy that is made then it is known how large it has to be.
        let mut tried = fun.clone();
        let level = Level { name: "DRAM".into(), device: Device::HOST };
        let whole = BufferInfo { name: into.clone(), role: Role::Mut, layout: Layout::RowMajor, level, ..info };
        add_scratch(&mut tried, std::slice::from_ref(&whole));
        let asked = step("pack", StepForm::Pack(call.clone()));
        let made = cachet_schedule::apply(self.program, &tried, &asked, self.steps, &mut Splits::default()).ok()?;
        let copied = lengths(&made.after, Buffer(tried.buffers.len() as u32 - 1));
        let mut dims: Vec<String> = extents.clone();
        let mut sizes = whole.extents.clone();
        for (axis, most) in copied.iter().enumerate().filter_map(|(n, most)| most.map(|m| (n, m))) {
            dims[axis] = most.to_string();
            sizes[axis] = Ix::Lit(most);
        }
        if let (None, Some(Some(most)), true) = (lanes, copied.last(), self.random.once_in(3)) {
            let filled = most + self.random.between(0, 2);
            call.pad = Some((filled, Lit { elem, bits: 0 }));
            dims[rank - 1] = filled.to_string();
            sizes[rank - 1] = Ix::Lit(filled);
        }
        let (layout, ops) = match (rank, self.random.below(3)) {
            (2, 0) => self.panels("PanelMajor"),
            (2, 1) => self.panels("ColumnPanels"),
            _ => (String::new(), Layout::RowMajor),
        };
        let elem = format!("{elem:?}").to_lowercase();
        self.scratch.push(format!("(mut {into}: [{elem}; {}]{layout} at DRAM)", dims.join(", ")));
        add_scratch(fun, &[BufferInfo { extents: sizes, layout: ops, ..whole }]);
        self.packed.push((into, call.along.clone()));
        self.copied.insert(arg_name(&call.array));
        Some(step(if lanes.is_some() { "pack_lanes" } else { "pack" }, StepForm::Pack(call)))
    }

    /// A layout of the library in panels along an axis. What its operations are is no matter here.
    fn panels(&mut self, name: &str) -> (String, Layout) {
        (format!(" in {name} {}", self.random.pick(&[1, 2, 3, 4, 8])), Layout::RowMajor)
    }

    /// A copy that is kept where it was made.
    fn keep(&mut self, n: usize) -> Option<StepCall> {
        let (packed, along) = self.packed.pop()?;
        let level = Level { name: "DRAM".into(), device: Device::HOST };
        Some(step("keep", StepForm::Keep { buffer: arg(&packed), along, level, into: arg(&format!("{packed}_{n}")) }))
    }
}

fn arg_name(arg: &StepArg) -> String {
    arg.to_string()
}

/// Whether there is a tile already.
fn live_vectors(fun: &Fun) -> bool {
    cachet_core::rewrite::Live::of(fun).locals.iter().any(|l| fun.locals[l.index()].vector)
}

/// The operation that a nest's sum goes on by.
fn through(program: &cachet_core::ir::Program, fun: &Fun, nest: &Nest) -> Option<String> {
    let sum = nest.sums.first()?.var;
    let mut folds = Folds(BTreeMap::new());
    visit_block(&mut folds, &fun.body);
    match folds.0.get(&sum)? {
        Word::Op { op: Op::Prim(p), .. } => Some(p.to_string()),
        Word::Apply(f, _) => program.pures.get(f.index()).map(|p| p.name.clone()),
        _ => None,
    }
}

struct Folds(BTreeMap<Var, Word>);

impl Visit for Folds {
    fn word(&mut self, word: &Word) {
        if let Word::Fold(f) = word {
            self.0.insert(f.var, f.body.clone());
        }
        visit_word(self, word);
    }
}

/// How long the loops of the nest that fills an array are at most, axis by axis, where that is a literal.
fn lengths(fun: &Fun, of: Buffer) -> Vec<Option<i64>> {
    struct Fills(Buffer, BTreeMap<Var, Domain>, Vec<Ix>);
    impl Visit for Fills {
        fn stmt(&mut self, s: &Stmt) {
            match &s.kind {
                StmtKind::For { var, domain, .. } => drop(self.1.insert(*var, domain.clone())),
                StmtKind::Grid(g) => self.1.extend(g.axes.iter().cloned()),
                StmtKind::Store { to, .. } if to.buffer == self.0 => self.2 = to.at.clone(),
                _ => {}
            }
            visit_stmt(self, s);
        }
    }
    let mut fills = Fills(of, BTreeMap::new(), vec![]);
    visit_block(&mut fills, &fun.body);
    let domain = |v: &Var| fills.1.get(v);
    let most = |ix: &Ix| {
        let (Ix::Var(v) | Ix::InBlock(v, _)) = ix else { return None };
        let (Domain::Range { hi, .. } | Domain::Blocks { hi, .. }) = domain(v)?;
        match hi {
            Ix::Lit(n) => Some(*n),
            Ix::Block(g, BlockPart::Len) => match domain(g)? {
                Domain::Blocks { size, .. } => Some(*size),
                Domain::Range { .. } => None,
            },
            _ => None,
        }
    };
    fills.2.iter().map(most).collect()
}

/// Nests without loops over lanes, and none that stand in a tile.
pub(super) fn without_tiles(fun: &Fun, nests: Vec<Nest>) -> Vec<Nest> {
    struct Tiles<'f>(&'f Fun, BTreeSet<Var>);
    impl Visit for Tiles<'_> {
        fn stmt(&mut self, s: &Stmt) {
            if let StmtKind::For { var, body, .. } = &s.kind {
                let fun = self.0;
                let vector = |s: &Stmt| match &s.kind {
                    StmtKind::Assign { local, .. } | StmtKind::Var { local, .. } => fun.locals[local.index()].vector,
                    _ => false,
                };
                let lanes = cachet_core::vectors::count_of(&fun.vars, *var).is_some();
                let around = body.iter().any(|s| some(s, &|s| declares(fun, s)));
                // A copy is made once in each iteration: these keep their order, and run one after the other.
                let name = &fun.vars[var.index()].name;
                let copies = !name.starts_with('q') && body.iter().any(|s| some(s, &|s| fills(fun, s)));
                if lanes || copies || !around && body.iter().any(|s| some(s, &vector)) {
                    self.1.insert(*var);
                }
            }
            visit_stmt(self, s);
        }
    }
    let mut tiles = Tiles(fun, BTreeSet::new());
    visit_block(&mut tiles, &fun.body);
    nests.into_iter().filter(|n| n.loops.iter().all(|l| !tiles.1.contains(&l.var))).collect()
}

fn fills(fun: &Fun, s: &Stmt) -> bool {
    matches!(&s.kind, StmtKind::Store { to, .. } if fun.scratch.contains(&to.buffer))
}

/// Whether a statement declares an array of vectors.
fn declares(fun: &Fun, s: &Stmt) -> bool {
    matches!(&s.kind, StmtKind::Var { local, .. } if fun.locals[local.index()].dims.len() > 1)
}

/// Whether something holds of a statement or of one in its loops.
fn some(s: &Stmt, holds: &dyn Fn(&Stmt) -> bool) -> bool {
    holds(s)
        || match &s.kind {
            StmtKind::For { body, .. } => body.iter().any(|s| some(s, holds)),
            StmtKind::Grid(g) => g.body.iter().any(|s| some(s, holds)),
            _ => false,
        }
}
