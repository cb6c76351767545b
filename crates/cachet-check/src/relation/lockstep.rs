//! LOCKSTEP: two programs that run side by side hold the same words all the way.
//!
//! Theorem. Pair the statements of the two sides in order: loops with loops, branches with branches. If paired loops run
//! the same number of times, paired branches are taken alike, and every run of straight-line code, started with the same
//! words in everything that is compared, leaves the same words, then both sides end with the same memory. Induction over
//! the paired iterations; the invariant is equality of every buffer and of every coupled local.
//!
//! At the head of a loop whatever either body writes is *forgotten*: both sides get one fresh unknown for it, so the
//! condition on the body holds for every iteration, however it was reached. What is not compared (a local of one side
//! without a partner) gets unknowns of its own on each side, never shared ones. After the loop it is forgotten again.
//!
//! Near misses: a loop that is one shorter; a body whose words differ only in one iteration; a local that only one side
//! has and that differs when read later.

use super::Relation;
use super::sym::{Base, Sym, SymFold, SymReduce, distance, identical, same};
use crate::condition::Kind;
use crate::context::{Context, Shown};
use crate::formula::{Formula, Term, Var as Unknown};
use cachet_core::ir::{Block, Buffer, Domain, Guard, Local, Stmt, StmtKind, Var, Word};
use cachet_core::pattern::Side;
use cachet_core::rewrite::{Visit, visit_block, visit_stmt};
use cachet_source::Diagnostic;
use std::collections::{BTreeMap, BTreeSet};

/// What has contents. A local that both sides have is named by `S`'s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    Buffer(Buffer),
    Local(Local),
    Private(Side, Local),
}

/// What one side has written since the two were last known to agree.
#[derive(Clone, Default)]
struct Written {
    cells: Vec<Cell>,
}

/// A write.
#[derive(Clone)]
struct Cell {
    at: Vec<Term>,
    word: Kept,
    /// As it is written.
    text: Word,
}

/// A word that is named or stored, and how many parts it has: each use copies them.
#[derive(Clone)]
struct Kept {
    sym: Sym,
    parts: usize,
}

/// The most parts that one statement may copy from words that are named or stored.
const MOST_COPIED: usize = 1 << 18;

/// One side's memory.
#[derive(Clone)]
struct Run {
    cx: Context,
    lets: BTreeMap<Local, Kept>,
    written: BTreeMap<Key, Written>,
    /// Contents of locals that the other side does not have.
    private: BTreeMap<Key, Base>,
}

/// Both sides.
#[derive(Clone)]
struct Pair {
    s: Run,
    t: Run,
    /// Contents that both sides share.
    shared: BTreeMap<Key, Base>,
    /// `T`'s locals with a partner, and `S`'s locals with one.
    partner: BTreeMap<Local, Local>,
    coupled: BTreeSet<Local>,
    /// Locals declared on either side of the fragment.
    declared: BTreeSet<Local>,
    next: u32,
    /// How many parts the statement at hand has copied.
    copied: usize,
    /// Whether a word was too large to be kept. What stands for it equals nothing.
    outgrown: bool,
}

/// Where words are compared, for messages.
#[derive(Clone)]
enum When {
    End,
    Each(String, String),
    Before(String, String),
}

impl Relation<'_> {
    /// Compares what is left of the two sides after the recipe.
    pub(super) fn lockstep(&mut self, s: &Block, t: &Block) -> Result<(), Diagnostic> {
        let run = |cx: &Context| Run {
            cx: cx.clone(),
            lets: BTreeMap::new(),
            written: BTreeMap::new(),
            private: BTreeMap::new(),
        };
        let mut pair = Pair {
            s: run(&self.context),
            t: run(&self.context),
            shared: BTreeMap::new(),
            partner: BTreeMap::new(),
            coupled: BTreeSet::new(),
            declared: BTreeSet::new(),
            next: 0,
            copied: 0,
            outgrown: false,
        };
        self.pair_blocks(s, t, &mut pair, &When::End)
    }

    fn pair_blocks(&mut self, s: &[Stmt], t: &[Stmt], pair: &mut Pair, when: &When) -> Result<(), Diagnostic> {
        let (mut s, mut t) = (s, t);
        let mut declared = Vec::new();
        loop {
            let (run_s, run_t);
            (run_s, s) = s.split_at(straight(s));
            (run_t, t) = t.split_at(straight(t));
            self.straight_line(run_s, run_t, pair, &mut declared)?;
            match (s, t) {
                ([], []) => {
                    for key in &declared {
                        pair.s.written.remove(key);
                        pair.t.written.remove(key);
                    }
                    return self.agree(pair, when);
                }
                ([a, rest_s @ ..], [b, rest_t @ ..]) => {
                    self.pair_statements(a, b, pair)?;
                    (s, t) = (rest_s, rest_t);
                }
                ([a, ..], []) => return Err(self.shape(&format!("S has {} where T has nothing more", self.kind_of(a)))),
                ([], [b, ..]) => return Err(self.shape(&format!("T has {} where S has nothing more", self.kind_of(b)))),
            }
        }
    }

    fn shape(&self, what: &str) -> Diagnostic {
        let message = format!("relation {}: {what}", self.asked.name);
        let mut d = Diagnostic::error(cachet_source::codes::RECIPE, self.asked.span, message)
            .note("the two programs must agree line by line once the recipe has been applied");
        for caller in self.asked.callers.iter().rev() {
            d = d.also(*caller, "called from here");
        }
        d
    }

    fn kind_of(&self, stmt: &Stmt) -> String {
        match &stmt.kind {
            StmtKind::For { var, .. } => format!("a loop over {}", self.names().var(*var)),
            StmtKind::Grid(_) => "a grid".into(),
            StmtKind::If { guard, .. } => format!("a branch on {}", self.names().guard(guard)),
            StmtKind::Store { to, .. } => format!("a store to {}", self.names().buffer(to.buffer)),
            StmtKind::Let { .. } | StmtKind::Var { .. } | StmtKind::Assign { .. } => "a local".into(),
            StmtKind::Alloc(_) => "an allocation".into(),
            StmtKind::Lease { .. } => "a lease".into(),
            StmtKind::Call(_) => "a call".into(),
            StmtKind::Print(_) => "a print".into(),
        }
    }

    fn pair_statements(&mut self, a: &Stmt, b: &Stmt, pair: &mut Pair) -> Result<(), Diagnostic> {
        match (&a.kind, &b.kind) {
            (StmtKind::For { var: v, domain: d, body: x }, StmtKind::For { var: w, domain: e, body: y }) => {
                self.pair_loops((*v, d, x), (*w, e, y), pair)
            }
            (StmtKind::If { guard: g, then: p, els: q }, StmtKind::If { guard: h, then: u, els: v }) => {
                self.pair_branches((g, p, q), (h, u, v), pair)
            }
            _ => {
                let (a, b) = (self.kind_of(a), self.kind_of(b));
                Err(self.shape(&format!("S has {a} where T has {b}")))
            }
        }
    }

    fn pair_loops(
        &mut self,
        s: (Var, &Domain, &Block),
        t: (Var, &Domain, &Block),
        pair: &mut Pair,
    ) -> Result<(), Diagnostic> {
        let (at_s, at_t) = (self.names().var(s.0).to_string(), self.names().var(t.0).to_string());
        let loops = format!("the loops at S.{at_s} and T.{at_t}");
        self.agree(pair, &When::Before(at_s.clone(), at_t.clone()))?;
        let note =
            format!("S.{at_s} runs over {}, T.{at_t} over {}", self.names().domain(s.1), self.names().domain(t.1));
        let same_trips = match (s.1, t.1) {
            (Domain::Range { .. }, Domain::Range { .. }) => pair.s.cx.count(s.1).equals(pair.t.cx.count(t.1)),
            (Domain::Blocks { lo, hi, size: m }, Domain::Blocks { lo: lo_t, hi: hi_t, size: n }) if m == n => {
                Formula::and([pair.s.cx.ix(lo).equals(pair.t.cx.ix(lo_t)), pair.s.cx.ix(hi).equals(pair.t.cx.ix(hi_t))])
            }
            _ => return Err(self.shape(&format!("{loops} run over different kinds of ranges")).note(note)),
        };
        self.emit(
            Kind::Count,
            &pair.s.cx.clone(),
            same_trips,
            &format!("{loops} run the same number of times"),
            &[note],
            &[],
        );
        let helps = self.rounding([t.1]);
        self.helped(helps);
        let mut touched = BTreeSet::new();
        self.forgotten(s.2, Side::S, pair, &mut touched);
        self.forgotten(t.2, Side::T, pair, &mut touched);
        forget(pair, &touched);
        let mut inside = pair.clone();
        inside.s.cx.enter(&at_s, s.0, s.1);
        inside.t.cx.continue_from(&inside.s.cx);
        let counter = inside.s.cx.counter(s.0).unwrap_or(Term::Lit(0));
        let counter = match (s.1, t.1) {
            (Domain::Range { lo, .. }, Domain::Range { lo: lo_t, .. }) => {
                shifted(counter, pair.s.cx.ix(lo), pair.t.cx.ix(lo_t))
            }
            _ => counter,
        };
        inside.t.cx.place(t.0, t.1, counter);
        self.pair_blocks(s.2, t.2, &mut inside, &When::Each(at_s, at_t))?;
        pair.next = inside.next;
        forget(pair, &touched);
        Ok(())
    }

    fn pair_branches(
        &mut self,
        s: (&Guard, &Block, &Block),
        t: (&Guard, &Block, &Block),
        pair: &mut Pair,
    ) -> Result<(), Diagnostic> {
        let (g, h) = (self.names().guard(s.0), self.names().guard(t.0));
        self.agree(pair, &When::Before(format!("if {g}"), format!("if {h}")))?;
        let alike = pair.s.cx.guard(s.0).iff(pair.t.cx.guard(t.0));
        let what = format!("the two runs take the same branch at S: {g} and T: {h}");
        self.emit(Kind::Branch, &pair.s.cx.clone(), alike, &what, &[], &[]);
        let mut touched = BTreeSet::new();
        for (block, side) in [(s.1, Side::S), (s.2, Side::S), (t.1, Side::T), (t.2, Side::T)] {
            self.forgotten(block, side, pair, &mut touched);
        }
        for (holds, x, y) in [(true, s.1, t.1), (false, s.2, t.2)] {
            let mut inside = pair.clone();
            let fact = inside.s.cx.guard(s.0);
            inside.s.cx.fact(if holds { fact } else { Formula::not(fact) });
            inside.t.cx.continue_from(&inside.s.cx);
            self.pair_blocks(x, y, &mut inside, &When::Each(format!("if {g}"), format!("if {h}")))?;
            pair.next = inside.next;
        }
        forget(pair, &touched);
        Ok(())
    }

    /// What a block may write, as keys of the pair.
    fn forgotten(&self, block: &Block, side: Side, pair: &Pair, out: &mut BTreeSet<Key>) {
        struct Writes<'a>(&'a Relation<'a>, BTreeSet<Buffer>, BTreeSet<Local>);
        impl Visit for Writes<'_> {
            fn stmt(&mut self, stmt: &Stmt) {
                match &stmt.kind {
                    StmtKind::Store { to, .. } => {
                        self.1.insert(crate::wf::root(&self.0.fun, to.buffer));
                    }
                    StmtKind::Assign { local, .. } => {
                        self.2.insert(*local);
                    }
                    StmtKind::For { .. }
                    | StmtKind::Grid(_)
                    | StmtKind::If { .. }
                    | StmtKind::Let { .. }
                    | StmtKind::Var { .. }
                    | StmtKind::Alloc(_)
                    | StmtKind::Lease { .. }
                    | StmtKind::Call(_)
                    | StmtKind::Print(_) => {}
                }
                visit_stmt(self, stmt);
            }
        }
        let mut writes = Writes(self, BTreeSet::new(), BTreeSet::new());
        visit_block(&mut writes, block);
        out.extend(writes.1.into_iter().map(Key::Buffer));
        out.extend(writes.2.into_iter().map(|l| pair.key(side, l)));
    }

    /// Runs straight-line code on both sides.
    fn straight_line(
        &mut self,
        s: &[Stmt],
        t: &[Stmt],
        pair: &mut Pair,
        declared: &mut Vec<Key>,
    ) -> Result<(), Diagnostic> {
        let vars = |run: &[Stmt]| -> Vec<Local> {
            run.iter()
                .filter_map(|x| if let StmtKind::Var { local, .. } = x.kind { Some(local) } else { None })
                .collect()
        };
        let (in_s, in_t) = (vars(s), vars(t));
        pair.declared.extend(in_s.iter().chain(&in_t));
        let info = |l: &Local| &self.fun.locals[l.index()];
        let mut couples = Vec::new();
        for (a, b) in in_s.iter().zip(&in_t) {
            if info(a).ty == info(b).ty && info(a).dims == info(b).dims {
                pair.partner.insert(*b, *a);
                pair.coupled.insert(*a);
                couples.push((*a, *b));
            }
        }
        declared.extend(in_s.iter().map(|l| pair.key(Side::S, *l)));
        declared.extend(in_t.iter().map(|l| pair.key(Side::T, *l)));
        let mut starts: BTreeMap<(bool, Local), Kept> = BTreeMap::new();
        for stmt in s {
            self.execute(stmt, Side::S, pair, &mut starts)?;
        }
        pair.t.cx.continue_from(&pair.s.cx.clone());
        for stmt in t {
            self.execute(stmt, Side::T, pair, &mut starts)?;
        }
        pair.s.cx.continue_from(&pair.t.cx.clone());
        self.within_bounds(pair)?;
        for (a, b) in couples {
            if let (Some(x), Some(y)) = (starts.get(&(true, a)), starts.get(&(false, b))) {
                let what = format!("the two runs start from the same words in {}", self.names().local(a));
                let goal = self.same(&x.sym, &y.sym)?;
                self.emit(Kind::Start, &pair.s.cx.clone(), goal, &what, &[], &[]);
            }
        }
        Ok(())
    }

    fn execute(
        &mut self,
        stmt: &Stmt,
        side: Side,
        pair: &mut Pair,
        starts: &mut BTreeMap<(bool, Local), Kept>,
    ) -> Result<(), Diagnostic> {
        pair.copied = 0;
        match &stmt.kind {
            StmtKind::Let { local, word } => {
                let value = self.kept(word, side, pair);
                pair.run(side).lets.insert(*local, value);
            }
            StmtKind::Var { local, init } => {
                let value = self.kept(init, side, pair);
                starts.insert((side == Side::S, *local), value.clone());
                let key = pair.key(side, *local);
                pair.fresh_contents(key);
                if self.fun.locals[local.index()].dims.is_empty() {
                    let cell = Cell { at: vec![], word: value, text: init.clone() };
                    pair.run(side).written.insert(key, Written { cells: vec![cell] });
                }
            }
            StmtKind::Assign { local, at, word } => {
                let value = self.kept(word, side, pair);
                let at = pair.run(side).cx.tuple(at);
                let key = pair.key(side, *local);
                let cell = Cell { at, word: value, text: word.clone() };
                pair.run(side).written.entry(key).or_default().cells.push(cell);
            }
            StmtKind::Store { to, word } => {
                let value = self.kept(word, side, pair);
                let at = pair.run(side).cx.tuple(&to.at);
                let key = Key::Buffer(crate::wf::root(&self.fun, to.buffer));
                let cell = Cell { at, word: value, text: word.clone() };
                pair.run(side).written.entry(key).or_default().cells.push(cell);
            }
            StmtKind::Call(_)
            | StmtKind::Print(_)
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Grid(_) => {
                return Err(self.shape(&format!("{} cannot be compared; write it out instead", self.kind_of(stmt))));
            }
            StmtKind::For { .. } | StmtKind::If { .. } => {}
        }
        Ok(())
    }

    /// A word that is named or stored, and so may be copied any number of times.
    fn kept(&mut self, word: &Word, side: Side, pair: &mut Pair) -> Kept {
        if !pair.outgrown {
            let sym = self.word(word, side, pair);
            if let Some(parts) = sym.parts() {
                return Kept { sym, parts };
            }
            pair.outgrown = true;
        }
        Kept { sym: Sym::Cell(pair.base(), vec![]), parts: 1 }
    }

    fn within_bounds(&self, pair: &Pair) -> Result<(), Diagnostic> {
        match pair.outgrown {
            true => Err(self.shape("a word that is named or stored is too large to be compared")),
            false => Ok(()),
        }
    }

    /// A word as a tree over what memory held.
    fn word(&mut self, word: &Word, side: Side, pair: &mut Pair) -> Sym {
        let all = |this: &mut Self, ws: &[Word], pair: &mut Pair| ws.iter().map(|w| this.word(w, side, pair)).collect();
        match word {
            Word::Lit(l) => Sym::Lit(*l),
            Word::Index(ix, e) => Sym::Index(pair.run(side).cx.ix(ix), *e),
            Word::Load(a) => {
                let at = pair.run(side).cx.tuple(&a.at);
                pair.read(side, Key::Buffer(crate::wf::root(&self.fun, a.buffer)), &at)
            }
            Word::Local(l, at) => {
                if let Some(value) = pair.run(side).lets.get(l) {
                    let parts = value.parts;
                    if pair.copies(parts) {
                        return pair.run(side).lets[l].sym.clone();
                    }
                    return Sym::Cell(pair.base(), vec![]);
                }
                let at = pair.run(side).cx.tuple(at);
                let key = pair.key(side, *l);
                pair.read(side, key, &at)
            }
            Word::Op { op, arith, args } => Sym::Op(*op, *arith, all(self, args, pair)),
            Word::Apply(f, args) => Sym::Apply(*f, all(self, args, pair)),
            Word::Tuple(args) => Sym::Tuple(all(self, args, pair)),
            Word::Part(w, n) => self.word(w, side, pair).part(*n),
            Word::Let(l, a, b) => {
                let value = self.kept(a, side, pair);
                pair.run(side).lets.insert(*l, value);
                self.word(b, side, pair)
            }
            Word::If(g, a, b) => {
                let guard = pair.run(side).cx.guard(g);
                let (a, b) = (self.word(a, side, pair), self.word(b, side, pair));
                Sym::If(guard, Box::new(a), Box::new(b))
            }
            Word::Fold(f) => {
                let init = self.word(&f.init, side, pair);
                let (n, count) = self.terms(f.var, &f.domain, side, pair);
                let acc = pair.base();
                pair.run(side).lets.insert(f.acc, Kept { sym: Sym::Cell(acc, vec![]), parts: 1 });
                let body = self.word(&f.body, side, pair);
                Sym::Fold(Box::new(SymFold { n, count, acc, init, body, regroup: f.regroup }))
            }
            Word::Reduce(r) => {
                let empty = self.word(&r.empty, side, pair);
                let (n, count) = self.terms(r.var, &r.domain, side, pair);
                let element = self.word(&r.element, side, pair);
                let operands = (pair.base(), pair.base());
                for (local, base) in [(r.operands.0, operands.0), (r.operands.1, operands.1)] {
                    pair.run(side).lets.insert(local, Kept { sym: Sym::Cell(base, vec![]), parts: 1 });
                }
                let combine = self.word(&r.combine, side, pair);
                Sym::Reduce(Box::new(SymReduce { n, count, element, operands, combine, empty, shape: r.shape }))
            }
            // Host code only, and never inside what a step replaces: an unknown of its own, equal to nothing.
            Word::Differing(..) => Sym::Cell(pair.base(), vec![]),
        }
    }

    /// Binds the variable of a fold to the `n`-th element of its domain. That `n` is in range is *not* assumed: the fold
    /// may be empty.
    fn terms(&self, var: Var, domain: &Domain, side: Side, pair: &mut Pair) -> (Unknown, Term) {
        let name = self.names().var(var).to_string();
        let run = pair.run(side);
        let count = run.cx.count(domain);
        let n = run.cx.unknown(Shown::Plain(name));
        let Term::Var(unknown) = n else { return (Unknown(u32::MAX), count) };
        let value = match domain {
            Domain::Range { lo, .. } => shifted(n.clone(), Term::Lit(0), run.cx.ix(lo)),
            Domain::Blocks { .. } => n.clone(),
        };
        run.cx.place(var, domain, value);
        let cx = run.cx.clone();
        pair.other(side).cx.continue_from(&cx);
        (unknown, count)
    }

    /// Emits that everything either side wrote holds the same words on both, and from there on takes it as one.
    fn agree(&mut self, pair: &mut Pair, when: &When) -> Result<(), Diagnostic> {
        let keys: BTreeSet<Key> = pair.s.written.keys().chain(pair.t.written.keys()).copied().collect();
        for key in keys {
            if matches!(key, Key::Private(..)) {
                continue;
            }
            let what = format!("the two runs hold the same words in {} {}", self.place(key), moment(when));
            let (s, t) = (
                pair.s.written.get(&key).cloned().unwrap_or_default(),
                pair.t.written.get(&key).cloned().unwrap_or_default(),
            );
            let paired = s.cells.len() == t.cells.len()
                && s.cells
                    .iter()
                    .zip(&t.cells)
                    .all(|(x, y)| x.at.len() == y.at.len() && x.at.iter().zip(&y.at).all(|(a, b)| identical(a, b)));
            let mut notes = Vec::new();
            if let Some(n) = self.parameter_note(key) {
                notes.push(n);
            }
            if paired {
                for (a, b) in s.cells.iter().zip(&t.cells) {
                    let mut notes = notes.clone();
                    notes.push(format!("S stores {}", self.names().word(&a.text)));
                    notes.push(format!("T stores {}", self.names().word(&b.text)));
                    let goal = self.same(&a.word.sym, &b.word.sym)?;
                    self.emit(Kind::Words, &pair.s.cx.clone(), goal, &what, &notes, &[]);
                }
            } else {
                let rank = s.cells.first().or(t.cells.first()).map_or(0, |c| c.at.len());
                let y: Vec<Term> = (0..rank).map(|i| pair.s.cx.unknown(Shown::Hidden(format!("y{i}")))).collect();
                pair.t.cx.continue_from(&pair.s.cx.clone());
                pair.copied = 0;
                let (a, b) = (pair.read(Side::S, key, &y), pair.read(Side::T, key, &y));
                self.within_bounds(pair)?;
                let goal = self.same(&a, &b)?;
                self.emit(Kind::Words, &pair.s.cx.clone(), goal, &what, &notes, &[]);
            }
            pair.s.written.remove(&key);
            pair.t.written.remove(&key);
            pair.fresh_contents(key);
        }
        Ok(())
    }

    fn same(&self, a: &Sym, b: &Sym) -> Result<Formula, Diagnostic> {
        same(a, b).ok_or_else(|| self.shape("two words choose among too many others to be compared"))
    }

    fn place(&self, key: Key) -> String {
        match key {
            Key::Buffer(b) => match self.fun.params.iter().position(|p| *p == b) {
                Some(i) => format!("parameter {}", i + 1),
                None => self.names().buffer(b).to_string(),
            },
            Key::Local(l) | Key::Private(_, l) => self.names().local(l).to_string(),
        }
    }

    fn parameter_note(&self, key: Key) -> Option<String> {
        let Key::Buffer(b) = key else { return None };
        let i = self.fun.params.iter().position(|p| *p == b)?;
        Some(format!("parameter {} is `{}`", i + 1, self.names().buffer(b)))
    }
}

impl Pair {
    fn run(&mut self, side: Side) -> &mut Run {
        match side {
            Side::S => &mut self.s,
            Side::T => &mut self.t,
        }
    }

    fn other(&mut self, side: Side) -> &mut Run {
        match side {
            Side::S => &mut self.t,
            Side::T => &mut self.s,
        }
    }

    fn base(&mut self) -> Base {
        self.next += 1;
        Base(self.next)
    }

    /// A local's key: shared with its partner, private to its side, or, declared outside, the same for both.
    fn key(&self, side: Side, local: Local) -> Key {
        match side {
            Side::T if self.partner.contains_key(&local) => Key::Local(self.partner[&local]),
            Side::S if self.coupled.contains(&local) => Key::Local(local),
            _ if self.declared.contains(&local) => Key::Private(side, local),
            _ => Key::Local(local),
        }
    }

    /// New unknown contents: one unknown for both sides, or, for what only one side has, one of its own.
    fn fresh_contents(&mut self, key: Key) {
        let base = self.base();
        match key {
            Key::Private(side, _) => {
                self.run(side).private.insert(key, base);
            }
            Key::Buffer(_) | Key::Local(_) => {
                self.shared.insert(key, base);
            }
        }
    }

    /// What a cell holds: the newest write to it, or what was there.
    fn read(&mut self, side: Side, key: Key, at: &[Term]) -> Sym {
        let known = match key {
            Key::Private(..) => self.run(side).private.get(&key).copied(),
            Key::Buffer(_) | Key::Local(_) => self.shared.get(&key).copied(),
        };
        if known.is_none() {
            self.fresh_contents(key);
        }
        let base = match key {
            Key::Private(..) => self.run(side).private.get(&key).copied(),
            Key::Buffer(_) | Key::Local(_) => self.shared.get(&key).copied(),
        };
        let written = self.run(side).written.get(&key).map_or(&[][..], |w| &w.cells);
        let hits = |to: &[Term]| to.len() == at.len() && to.iter().zip(at).all(|(x, y)| identical(x, y));
        // Plainly another cell: one subscript is so much more or less, whatever the indices are.
        let misses = |to: &[Term]| to.iter().zip(at).any(|(x, y)| distance(x, y).is_some_and(|d| d != 0));
        // What was written before the newest write to this very cell does not matter.
        let newest = written.iter().rposition(|cell| hits(&cell.at));
        let older = newest.unwrap_or(0);
        let here: Vec<usize> = (older..written.len()).filter(|n| !misses(&written[*n].at)).collect();
        let parts = here.iter().map(|n| written[*n].word.parts + 1).sum();
        if !self.copies(parts) {
            return Sym::Cell(self.base(), vec![]);
        }
        let written = self.run(side).written.get(&key).map_or(&[][..], |w| &w.cells);
        let mut word = Sym::Cell(base.unwrap_or(Base(0)), at.to_vec());
        for cell in here.into_iter().map(|n| &written[n]) {
            let there = cell.word.sym.clone();
            word = match hits(&cell.at) {
                true => there,
                false => Sym::If(crate::condition::same_tuple(&cell.at, at), Box::new(there), Box::new(word)),
            };
        }
        word
    }

    /// Whether the statement at hand may copy so many parts more.
    fn copies(&mut self, parts: usize) -> bool {
        self.copied = self.copied.saturating_add(parts);
        self.outgrown |= self.copied > MOST_COPIED;
        !self.outgrown
    }
}

fn forget(pair: &mut Pair, keys: &BTreeSet<Key>) {
    for key in keys {
        // Writes of locals without a partner are not compared, so they are dropped here.
        pair.s.written.remove(key);
        pair.t.written.remove(key);
        pair.fresh_contents(*key);
    }
}

/// `counter - from + to`, without the parts that are zero.
fn shifted(counter: Term, from: Term, to: Term) -> Term {
    if identical(&from, &to) {
        return counter;
    }
    counter.sub(from).add(to)
}

/// How many statements at the start are neither loops nor branches.
fn straight(block: &[Stmt]) -> usize {
    block
        .iter()
        .position(|s| matches!(s.kind, StmtKind::For { .. } | StmtKind::If { .. } | StmtKind::Grid(_)))
        .unwrap_or(block.len())
}

fn moment(when: &When) -> String {
    match when {
        When::End => "at the end".into(),
        When::Each(s, t) if s.starts_with("if ") => {
            format!("after the branches on {} and {}", &s[3..], t.trim_start_matches("if "))
        }
        When::Each(s, t) => format!("after each iteration of the loops at S.{s} and T.{t}"),
        When::Before(s, t) if s.starts_with("if ") => {
            format!("before the branches on {} and {}", &s[3..], t.trim_start_matches("if "))
        }
        When::Before(s, t) => format!("before the loops at S.{s} and T.{t}"),
    }
}
