//! Which kinds of nodes does a program have, and how many of each?

use cachet_core::instance::instantiate;
use cachet_core::instr::{self, Applied, Operand};
use cachet_core::ir::{
    Binding, Block, BlockPart, Domain, Elem, Fun, FunId, Guard, Ix, Layout, Op, Prim, Program, Rel, Shape, Stmt,
    StmtKind, Ty, Var, Word,
};
use cachet_core::rewrite::{Visit, visit_block, visit_domain, visit_guard, visit_ix, visit_stmt, visit_word};
use cachet_core::vectors::{self, Lanes};
use std::collections::BTreeMap;

/// How many nodes there are, by the names in [`NODES`] and by operation and element type: `Add f32`.
pub type Counts = BTreeMap<String, u64>;

/// Every kind of node that has native code.
pub const NODES: &[&str] = &[
    "index: literal",
    "index: variable",
    "index: sum",
    "index: difference",
    "index: product",
    "index: quotient",
    "index: remainder",
    "index: min",
    "index: max",
    "index: choice",
    "index: block lo",
    "index: block hi",
    "index: block len",
    "index: block idx",
    "index: in a block",
    "guard: constant",
    "guard: ==",
    "guard: !=",
    "guard: <",
    "guard: <=",
    "guard: and",
    "guard: or",
    "guard: not",
    "domain: range",
    "domain: blocks",
    "word: literal",
    "word: index",
    "word: load",
    "word: local",
    "word: cell of a local",
    "word: operation",
    "word: method",
    "word: application",
    "word: tuple",
    "word: part",
    "word: let",
    "word: choice",
    "word: fold",
    "word: reduce in order",
    "word: reduce by halving",
    "word: reduce in lanes",
    "word: differing",
    "statement: for",
    "statement: grid",
    "statement: grid inside a grid",
    "statement: if",
    "statement: let",
    "statement: var",
    "statement: assign",
    "statement: store",
    "statement: vector let",
    "statement: vector var",
    "statement: array of vectors",
    "statement: vector store",
    "statement: vector store, masked",
    "statement: vector assign",
    "statement: vector assign, masked",
    "statement: instruction",
    "instruction: lanes of a vector",
    "instruction: neighbours",
    "instruction: one value for all lanes",
    "instruction: not all lanes are read",
    "instruction: an index",
    "lanes: 1",
    "lanes: no power of two",
    "lanes: more than a register",
    "lanes: of 8 bits",
    "lanes: of 16 bits",
    "lanes: of 32 bits",
    "lanes: of 64 bits",
    "lanes: of bool",
    "lanes: written as vectors",
    "lanes: in a grid",
    "word: load with a mask",
    "word: lanes of a longer vector",
    "word: neighbours",
    "word: one value for all lanes",
    "statement: alloc",
    "statement: alloc in a layout",
    "statement: lease",
    "statement: call",
    "statement: call with types",
    "statement: call with a part",
    "statement: print",
    "head: requires",
    "head: produces",
    "head: scratch",
];

/// Every operation with an element type that it is counted for: the result's of a conversion, else its operands'.
pub fn operations() -> Vec<(Prim, Elem)> {
    let all = super::ELEMS;
    let integers: Vec<Elem> = all.into_iter().filter(|e| e.is_integer()).collect();
    let floats = vec![Elem::F64, Elem::F32];
    let numbers = [floats.clone(), integers.clone()].concat();
    let of = |prims: &[Prim], elems: &[Elem]| -> Vec<(Prim, Elem)> {
        prims.iter().flat_map(|p| elems.iter().map(|e| (*p, *e))).collect()
    };
    use Prim::{Abs, Add, And, Div, Eq, Fma, Le, Lt, Max, Min, Mul, Neg, Not, Or, Rem, Select, Sqrt, Sub, ToBits};
    let mut out = of(&[Add, Sub, Mul, Div, Max, Min, Neg, Abs, Eq, Lt, Le], &numbers);
    out.extend(of(&[Rem, Prim::WrappingAdd, Prim::WrappingSub, Prim::WrappingMul], &integers));
    out.extend(of(&[Fma, Sqrt], &floats));
    out.extend(of(&[And, Or, Not, Eq], &[Elem::Bool]));
    out.extend(of(&[Select], &all));
    out.extend(all.into_iter().filter(|e| e.is_float()).flat_map(|e| [(ToBits, e), (Prim::FromBits(e), e)]));
    out.extend(all.into_iter().filter(|e| *e != Elem::Bool).map(|e| (Prim::Cast(e), e)));
    out.extend(integers.iter().flat_map(|e| [(Prim::WrappingCast(*e), *e), (Prim::SaturatingCast(*e), *e)]));
    out
}

/// The type of an operation's result.
pub(super) fn result(prim: Prim, of: Elem) -> Elem {
    match prim {
        Prim::Eq | Prim::Lt | Prim::Le => Elem::Bool,
        Prim::ToBits if of == Elem::F64 => Elem::U64,
        Prim::ToBits if of == Elem::F32 => Elem::U32,
        Prim::ToBits => Elem::U16,
        _ => of,
    }
}

/// Counts what a function and all that it calls consist of.
pub fn count(program: &Program, id: FunId, counts: &mut Counts) {
    let mut todo = vec![(id, Vec::<Binding>::new())];
    let mut seen = Vec::new();
    while let Some((id, types)) = todo.pop() {
        if seen.contains(&(id, types.clone())) {
            continue;
        }
        seen.push((id, types.clone()));
        let generic = &program.funs[id.index()];
        one(program, generic, counts);
        // Calls inside name their own bindings once the function's are known.
        let fun = instantiate(program, generic, &types);
        let mut calls = Calls(vec![]);
        visit_block(&mut calls, &fun.body);
        todo.extend(calls.0);
    }
}

struct Calls(Vec<(FunId, Vec<Binding>)>);

impl Visit for Calls {
    fn stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Call(c) = &stmt.kind {
            self.0.push((c.fun, c.types.clone()));
        }
        visit_stmt(self, stmt);
    }
    fn word(&mut self, _: &Word) {}
    fn ix(&mut self, _: &Ix) {}
}

fn one(program: &Program, fun: &Fun, counts: &mut Counts) {
    let mut counter = Counter { program, fun, counts };
    for (what, n) in [
        ("head: requires", fun.requires.len()),
        ("head: produces", fun.produces.len()),
        ("head: scratch", fun.scratch.len()),
    ] {
        counter.more(what, n as u64);
    }
    fun.requires.iter().for_each(|g| counter.guard(g));
    visit_block(&mut counter, &fun.body);
    counter.vectors(&fun.body, false);
}

struct Counter<'a> {
    program: &'a Program,
    fun: &'a Fun,
    counts: &'a mut Counts,
}

impl Counter<'_> {
    fn more(&mut self, what: &str, n: u64) {
        *self.counts.entry(what.to_string()).or_default() += n;
    }

    fn operation(&mut self, prim: Prim, args: &[Word]) {
        let of = args.get(usize::from(prim == Prim::Select));
        let ty = of.and_then(|w| crate::parts::type_of(self.program, self.fun, w));
        let Some(Ty::Elem(e)) = ty else { return };
        let e = match prim {
            Prim::Cast(to) | Prim::WrappingCast(to) | Prim::SaturatingCast(to) | Prim::FromBits(to) => to,
            _ => e,
        };
        self.more(&name(prim, e), 1);
    }
}

/// As operations are counted: `Add F32`, `Cast I8`.
pub fn name(prim: Prim, e: Elem) -> String {
    let prim = format!("{prim:?}");
    format!("{} {e:?}", prim.split('(').next().unwrap_or_default())
}

impl Counter<'_> {
    /// Counts vector statements, which are loops to everything else.
    fn vectors(&mut self, block: &Block, in_grid: bool) {
        for (n, s) in block.iter().enumerate() {
            if let Some(lanes) = vectors::of(&self.fun.vars, s) {
                let before = n.checked_sub(1).map(|n| &block[n]);
                let named = before.is_some_and(|b| vectors::let_of(self.fun, b, s).is_some());
                self.vector(&lanes, named);
                self.more("lanes: in a grid", u64::from(in_grid));
                continue;
            }
            match &s.kind {
                StmtKind::For { body, .. } => self.vectors(body, in_grid),
                StmtKind::Grid(g) => self.vectors(&g.body, true),
                StmtKind::If { then, els, .. } => {
                    self.vectors(then, in_grid);
                    self.vectors(els, in_grid);
                }
                StmtKind::Var { local, .. } => {
                    let info = &self.fun.locals[local.index()];
                    self.more("statement: vector var", u64::from(info.vector && info.mutable));
                    self.more("statement: array of vectors", u64::from(info.vector && info.dims.len() > 1));
                }
                StmtKind::Let { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Store { .. }
                | StmtKind::Alloc(_)
                | StmtKind::Lease { .. }
                | StmtKind::Call(_)
                | StmtKind::Print(_) => {}
            }
        }
    }

    fn vector(&mut self, lanes: &Lanes<'_>, named: bool) {
        let (ty, word, what) = match &lanes.stmt.kind {
            StmtKind::Store { to, word } => {
                (&self.fun.buffers[to.buffer.index()].elem, word, "statement: vector store")
            }
            StmtKind::Assign { local, word, .. } if named => {
                (&self.fun.locals[local.index()].ty, word, "statement: vector let")
            }
            StmtKind::Assign { local, word, .. } => {
                (&self.fun.locals[local.index()].ty, word, "statement: vector assign")
            }
            _ => return,
        };
        self.more(&if lanes.masked() { format!("{what}, masked") } else { what.into() }, 1);
        let Ty::Elem(e) = ty else { return };
        let bits = match (*e, e.bytes()) {
            (Elem::Bool, _) => "lanes: of bool",
            (_, 1) => "lanes: of 8 bits",
            (_, 2) => "lanes: of 16 bits",
            (_, 4) => "lanes: of 32 bits",
            _ => "lanes: of 64 bits",
        };
        self.more(bits, 1);
        self.more("lanes: 1", u64::from(lanes.count == 1));
        self.more("lanes: no power of two", u64::from(lanes.count.count_ones() > 1));
        self.more("lanes: more than a register", u64::from(lanes.count as u64 * e.bytes() > 64));
        if let Some(applied) = instr::applied(self.program, &self.fun.vars, lanes) {
            self.instruction(&applied, lanes);
        }
        let written = vectors::is_written(self.program, &self.fun.vars, &self.fun.locals, lanes);
        self.more("lanes: written as vectors", u64::from(written));
        let mut words = LaneWords { fun: self.fun, lane: lanes.var, count: lanes.count, seen: vec![] };
        words.word(word);
        words.seen.into_iter().for_each(|what| self.more(what, 1));
    }
}

impl Counter<'_> {
    fn instruction(&mut self, applied: &Applied<'_>, lanes: &Lanes<'_>) {
        self.more("statement: instruction", 1);
        for (param, operand) in applied.instr.params.iter().zip(&applied.operands) {
            let what = match operand {
                Operand::Index(_) => "instruction: an index",
                Operand::Vector(of) => match of.at(&Ix::Var(lanes.var)) {
                    word if !vectors::varies_word(&word, lanes.var) => "instruction: one value for all lanes",
                    Word::Load(_) => "instruction: neighbours",
                    _ => "instruction: lanes of a vector",
                },
            };
            self.more(what, 1);
            let some = matches!(operand, Operand::Vector(_)) && !applied.instr.reads_all(*param);
            self.more("instruction: not all lanes are read", u64::from(some));
        }
    }
}

/// What lanes read.
struct LaneWords<'a> {
    fun: &'a Fun,
    lane: Var,
    count: i64,
    seen: Vec<&'static str>,
}

impl Visit for LaneWords<'_> {
    fn word(&mut self, word: &Word) {
        if !vectors::varies_word(word, self.lane) {
            return self.seen.push("word: one value for all lanes");
        }
        if vectors::masked_load(word, self.lane).is_some() {
            self.seen.push("word: load with a mask");
        }
        match word {
            Word::Load(a) if vectors::window(&a.at, self.lane).is_some() => self.seen.push("word: neighbours"),
            Word::Local(l, _) => {
                let longer = self.fun.locals[l.index()].dims.last() != Some(&self.count);
                self.seen.extend(longer.then_some("word: lanes of a longer vector"));
            }
            _ => {}
        }
        visit_word(self, word);
    }

    fn ix(&mut self, _: &Ix) {}
}

impl Visit for Counter<'_> {
    fn ix(&mut self, ix: &Ix) {
        self.more(
            match ix {
                Ix::Lit(_) => "index: literal",
                Ix::Var(_) => "index: variable",
                Ix::Add(..) => "index: sum",
                Ix::Sub(..) => "index: difference",
                Ix::Mul(..) => "index: product",
                Ix::Div(..) => "index: quotient",
                Ix::Mod(..) => "index: remainder",
                Ix::Min(..) => "index: min",
                Ix::Max(..) => "index: max",
                Ix::If(..) => "index: choice",
                Ix::Block(_, BlockPart::Lo) => "index: block lo",
                Ix::Block(_, BlockPart::Hi) => "index: block hi",
                Ix::Block(_, BlockPart::Len) => "index: block len",
                Ix::Block(_, BlockPart::Idx) => "index: block idx",
                Ix::InBlock(..) => "index: in a block",
            },
            1,
        );
        visit_ix(self, ix);
    }

    fn guard(&mut self, guard: &Guard) {
        self.more(
            match guard {
                Guard::Const(_) => "guard: constant",
                Guard::Cmp(Rel::Eq, ..) => "guard: ==",
                Guard::Cmp(Rel::Ne, ..) => "guard: !=",
                Guard::Cmp(Rel::Lt, ..) => "guard: <",
                Guard::Cmp(Rel::Le, ..) => "guard: <=",
                Guard::And(..) => "guard: and",
                Guard::Or(..) => "guard: or",
                Guard::Not(_) => "guard: not",
            },
            1,
        );
        visit_guard(self, guard);
    }

    fn domain(&mut self, domain: &Domain) {
        self.more(
            match domain {
                Domain::Range { .. } => "domain: range",
                Domain::Blocks { .. } => "domain: blocks",
            },
            1,
        );
        visit_domain(self, domain);
    }

    fn word(&mut self, word: &Word) {
        self.more(
            match word {
                Word::Lit(_) => "word: literal",
                Word::Index(..) => "word: index",
                Word::Load(_) => "word: load",
                Word::Local(_, at) if at.is_empty() => "word: local",
                Word::Local(..) => "word: cell of a local",
                Word::Op { op: Op::Prim(_), .. } => "word: operation",
                Word::Op { op: Op::Method(..), .. } => "word: method",
                Word::Apply(..) => "word: application",
                Word::Tuple(_) => "word: tuple",
                Word::Part(..) => "word: part",
                Word::Let(..) => "word: let",
                Word::If(..) => "word: choice",
                Word::Fold(_) => "word: fold",
                Word::Reduce(r) => match r.shape {
                    Shape::Order => "word: reduce in order",
                    Shape::Halving => "word: reduce by halving",
                    Shape::Lanes(_) => "word: reduce in lanes",
                },
                Word::Differing(..) => "word: differing",
            },
            1,
        );
        if let Word::Op { op: Op::Prim(prim), args, .. } = word {
            self.operation(*prim, args);
        }
        visit_word(self, word);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.more(
            match &stmt.kind {
                StmtKind::For { .. } => "statement: for",
                StmtKind::Grid(g) if g.level > 0 => "statement: grid inside a grid",
                StmtKind::Grid(_) => "statement: grid",
                StmtKind::If { .. } => "statement: if",
                StmtKind::Let { .. } => "statement: let",
                StmtKind::Var { .. } => "statement: var",
                StmtKind::Assign { .. } => "statement: assign",
                StmtKind::Store { .. } => "statement: store",
                StmtKind::Alloc(b) if self.fun.buffers[b.index()].layout != Layout::RowMajor => {
                    "statement: alloc in a layout"
                }
                StmtKind::Alloc(_) => "statement: alloc",
                StmtKind::Lease { .. } => "statement: lease",
                StmtKind::Call(c) if c.args.iter().any(|a| a.axes.is_some()) => "statement: call with a part",
                StmtKind::Call(c) if !c.types.is_empty() => "statement: call with types",
                StmtKind::Call(_) => "statement: call",
                StmtKind::Print(_) => "statement: print",
            },
            1,
        );
        visit_stmt(self, stmt);
    }
}
