//! Which loops stand around each access, and which of them does it depend on?
//!
//! A loop runs over a *dimension*: the range that it, or the loop whose block it goes through, was made from. Blocks of rows
//! and the rows of a block are both of `0 .. M`. A loop that an access does not depend on repeats it.

use crate::account;
use crate::count::{Atom, Count, Range};
use crate::resources::{bytes_of, span_at};
use crate::tally::{Mode, Place, Walk};
use cachet_core::ir::{Access, Block, Buffer, Call, Domain, Fun, Program, Stmt, StmtKind, Var, Word};
use cachet_core::rewrite::Live;
use std::collections::{BTreeMap, BTreeSet};

/// A loop around something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Around {
    /// Its variable's name.
    pub name: String,
    /// Its dimension: `0 .. M`.
    pub of: String,
    /// How many values a block has, where it runs over blocks.
    pub size: Option<i64>,
    /// At most how often it runs each time.
    pub trips: Option<Count>,
    /// Whether what it stands around depends on it.
    pub needed: bool,
}

/// An array that is read, written or kept near somewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The array: its own name, not a lease's, and the level that it is kept in.
    pub place: Place,
    /// What happens.
    pub how: How,
    /// The bytes of an element, or, of a lease, from the first to the last; nothing where they are not known.
    pub bytes: Option<i64>,
    /// The loops around, outermost first.
    pub loops: Vec<Around>,
}

/// What happens to an array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum How {
    /// It is read.
    Read,
    /// It is written.
    Written,
    /// It is brought to the level, to stay there for a while.
    Leased,
}

/// Everything that a function touches, and the loops around it.
pub fn touches(program: &Program, fun: &Fun) -> Vec<Touch> {
    let mut found = Found::default();
    account::walking(program, fun, Mode::Full, &mut |walk| found.block(walk, &fun.body));
    found.touches
}

#[derive(Default)]
struct Found {
    /// The loops around, with the variables that counts know them by.
    loops: Vec<(Var, Around)>,
    /// What the arguments of the calls around depend on, by parameter.
    lent: BTreeMap<Buffer, BTreeSet<Var>>,
    /// What is written into an array that is filled from elsewhere depends on these loops.
    filled: BTreeMap<Buffer, BTreeSet<Var>>,
    touches: Vec<Touch>,
}

impl Found {
    fn block(&mut self, walk: &mut Walk<'_, '_>, block: &Block) {
        block.iter().for_each(|s| self.stmt(walk, s));
    }

    fn stmt(&mut self, walk: &mut Walk<'_, '_>, s: &Stmt) {
        match &s.kind {
            StmtKind::For { var, domain, body } => {
                self.over(walk, &[(*var, domain.clone())], &mut |f, walk| f.block(walk, body));
            }
            StmtKind::Grid(g) => self.over(walk, &g.axes, &mut |f, walk| f.block(walk, &g.body)),
            StmtKind::If { guard: _, then, els } => {
                self.block(walk, then);
                self.block(walk, els);
            }
            StmtKind::Let { word, .. } | StmtKind::Var { init: word, .. } | StmtKind::Assign { word, .. } => {
                self.word(walk, word);
            }
            StmtKind::Print(word) => self.word(walk, word),
            StmtKind::Store { to, word } => {
                self.word(walk, word);
                let from = Live::of_word(word).vars;
                let from: BTreeSet<Var> = from.iter().map(|v| walk.scope.var(*v)).collect();
                self.access(walk, to, How::Written, &from);
                self.filled.entry(root(walk, to.buffer)).or_default().extend(from);
            }
            StmtKind::Alloc(_) => {}
            StmtKind::Lease { lease, of, mutable: _ } => {
                if walk.scope.fun.buffers[lease.index()].level != walk.scope.fun.buffers[of.index()].level {
                    let filled = self.filled.get(&root(walk, *of)).cloned().unwrap_or_default();
                    self.touch(walk, *lease, How::Leased, &filled);
                }
            }
            StmtKind::Call(c) => self.call(walk, c),
        }
    }

    fn over(
        &mut self,
        walk: &mut Walk<'_, '_>,
        axes: &[(Var, Domain)],
        inside: &mut dyn FnMut(&mut Found, &mut Walk<'_, '_>),
    ) {
        for (v, domain) in axes {
            let range = walk.scope.range(domain);
            let (size, trips) = match &range {
                Range::Size => (None, None),
                Range::Loop(lo, hi) => (None, Some(hi.minus(lo).larger(&Count::zero(), &walk.scope.ranges))),
                Range::Blocks(lo, hi, n) => (Some(*n), Some(hi.minus(lo).ceil(*n))),
            };
            let trips = trips.and_then(|t| walk.scope.ranges.most(&t));
            let of = self.dimension(walk, &range);
            walk.scope.enter(*v, &range);
            let name = walk.scope.fun.vars[v.index()].name.clone();
            self.loops.push((walk.scope.var(*v), Around { name, of, size, trips, needed: false }));
        }
        inside(self, walk);
        for _ in axes {
            walk.scope.ranges.leave();
            self.loops.pop();
        }
    }

    /// The range that a loop, or the loop whose block it goes through, was made from.
    fn dimension(&self, walk: &Walk<'_, '_>, range: &Range) -> String {
        let (lo, hi) = match range {
            Range::Size => return String::new(),
            Range::Loop(lo, hi) | Range::Blocks(lo, hi, _) => (lo, hi),
        };
        let length = hi.minus(lo);
        for (v, l) in self.loops.iter().rev() {
            if length.any(&mut |a| *a == Atom::Len(*v)) {
                return l.of.clone();
            }
        }
        // Whole blocks of a dimension are of it.
        let by = length.terms().map(|(_, r)| r.under()).max().unwrap_or(1);
        let names = |v: Var| walk.shared.names.get(v.index()).cloned().unwrap_or_default();
        let hi = if by > 1 && lo.is_zero() { hi.scaled(by) } else { hi.clone() };
        format!("{} .. {}", lo.text(&names), hi.text(&names))
    }

    fn word(&mut self, walk: &mut Walk<'_, '_>, word: &Word) {
        match word {
            Word::Lit(_) | Word::Index(..) | Word::Local(..) => {}
            Word::Load(a) => self.access(walk, a, How::Read, &BTreeSet::new()),
            Word::Op { args, .. } | Word::Apply(_, args) | Word::Tuple(args) => {
                args.iter().for_each(|a| self.word(walk, a));
            }
            Word::Part(a, _) => self.word(walk, a),
            Word::Let(_, a, b) | Word::If(_, a, b) => {
                self.word(walk, a);
                self.word(walk, b);
            }
            Word::Fold(f) => {
                self.word(walk, &f.init);
                self.over(walk, &[(f.var, f.domain.clone())], &mut |s, walk| s.word(walk, &f.body));
            }
            Word::Reduce(r) => {
                self.over(walk, &[(r.var, r.domain.clone())], &mut |s, walk| s.word(walk, &r.element));
            }
            Word::Differing(a, b) => {
                for b in [a, b] {
                    self.touch(walk, *b, How::Read, &BTreeSet::new());
                }
            }
        }
    }

    /// `also`: what a word that is written depends on.
    fn access(&mut self, walk: &Walk<'_, '_>, a: &Access, how: How, also: &BTreeSet<Var>) {
        let vars = a.at.iter().flat_map(|ix| Live::of_ix(ix).vars);
        let vars = vars.map(|v| walk.scope.var(v)).chain(also.iter().copied()).collect();
        self.touch(walk, a.buffer, how, &vars);
    }

    fn touch(&mut self, walk: &Walk<'_, '_>, b: Buffer, how: How, vars: &BTreeSet<Var>) {
        let lent = self.lent.get(&root(walk, b));
        let needed = |v: &Var| vars.contains(v) || lent.is_some_and(|l| l.contains(v));
        let loops = self.loops.iter().map(|(v, l)| Around { needed: needed(v), ..l.clone() }).collect();
        let (place, own) = (walk.place(b), walk.place(root(walk, b)));
        let fun = walk.scope.fun;
        let bytes = match how {
            How::Leased => span_at(fun, root(walk, b), &crate::fit::required(fun)),
            How::Read | How::Written => bytes_of(&fun.buffers[b.index()].elem),
        };
        let touch = Touch { place: Place { name: own.name, ..place }, how, bytes, loops };
        if !self.touches.contains(&touch) {
            self.touches.push(touch);
        }
    }

    fn call(&mut self, walk: &mut Walk<'_, '_>, c: &Call) {
        let mut args = Vec::new();
        for view in &c.args {
            let axes = view.axes.iter().flatten();
            let vars = axes.flat_map(|(start, _)| Live::of_ix(start).vars).map(|v| walk.scope.var(v));
            let mut vars: BTreeSet<Var> = vars.collect();
            vars.extend(self.lent.get(&root(walk, view.buffer)).into_iter().flatten().copied());
            args.push(vars);
        }
        let (lent, filled) = (std::mem::take(&mut self.lent), std::mem::take(&mut self.filled));
        walk.call(c, &mut |callee| {
            self.lent = callee.scope.fun.params.iter().copied().zip(args.iter().cloned()).collect();
            let fun = callee.scope.fun;
            self.block(callee, &fun.body);
        });
        (self.lent, self.filled) = (lent, filled);
    }
}

fn root(walk: &Walk<'_, '_>, b: Buffer) -> Buffer {
    crate::resources::root(walk.scope.fun, b)
}
