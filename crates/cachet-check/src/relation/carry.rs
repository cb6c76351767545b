//! CARRY: a local that holds cells of an array while they are worked on.
//!
//! Theorem. Let `t` be a local array and `Box` the ranges of loops `x`, all over what is known where `t` is declared; let
//! `C(x)` be a cell of `B`, one for each `x`. Let one block be
//!
//! ```text
//! var t = z;  (for y in Box do t[y] := w(y));  N;  for x in Box do store B[C(x)] = f(t[x]);  R
//! ```
//!
//! where `R` does not know `t`, `N` does not touch `B` and touches `t` inside `Box` only, `w` reads of `B` at most `C(y)` and
//! of `t` nothing, and `f` reads neither `B` nor anything of `t` but `t[x]`. Then it is
//!
//! ```text
//! (for y in Box do store B[C(y)] = w(y));  N with B[C(h)] for each t[h];  for x in Box do store B[C(x)] = f(load B[C(x)]);  R
//! ```
//!
//! Where nothing loads `t`, the first nest stores `z`, which reads neither. A nest that would only store a cell's own word
//! back is left out. On the left `t[x]` is always what `B[C(x)]` is on the right: so it starts, each statement of `N` keeps
//! it so, since different cells of `t` are different cells of `B`, and at the end both are in `B`.
//!
//! Near misses: two cells of `t` for one of `B`; a cell of `t` that is used and not stored back; a tile that is loaded from
//! one place and stored to another; an array that is read while its cells are held.

use super::Relation;
use super::copy::axes_of;
use super::find::{Spot, nest_of, walk};
use crate::condition::{Kind, same_tuple};
use crate::context::Context;
use crate::events::{What, enter, events_of};
use crate::formula::Formula;
use cachet_core::ir::{Access, Block, Buffer, Domain, Ix, Local, Stmt, StmtKind, Var, Word};
use cachet_core::pattern::Side;
use cachet_core::rewrite::{Live, Subst, map_word};
use cachet_source::Diagnostic;

/// A nest of loops around one statement.
struct Nest {
    loops: Vec<(Var, Domain)>,
    /// Which loop each axis of the local follows.
    axes: Vec<Var>,
    word: Word,
    stmt: Stmt,
}

/// What holds cells of an array.
struct Held {
    local: Local,
    buffer: Buffer,
    /// The nest that stores them back, and the cell.
    back: Nest,
    cell: Access,
}

impl Held {
    /// The array's cell that a cell of the local stands for.
    fn at(&self, at: &[Ix]) -> Access {
        let mut subst = Subst::default();
        for (var, ix) in self.back.axes.iter().zip(at) {
            subst.vars.insert(*var, ix.clone());
        }
        subst.access(&self.cell)
    }
}

impl Relation<'_> {
    /// Works on an array's cells where they are, and not in a local.
    pub(super) fn carry(&mut self, block: &mut Block, side: Side, name: &str, buffer: &str) -> Result<(), Diagnostic> {
        let (local, spot) = self.declaration(block, side, name)?;
        let around = self.context_of(block, &spot.path);
        let Some(scope) = spot.block(block).cloned() else { return Ok(()) };
        let (held, end) = self.stored_back(side, (local, name), buffer, &scope[spot.at + 1..])?;
        let end = spot.at + 1 + end;
        self.bound_outside(&around, &held)?;
        let StmtKind::Var { local: _, init } = &scope[spot.at].kind else { return Ok(()) };
        let (start, from) = match self.loading(&held, scope.get(spot.at + 1)) {
            Some(nest) => (self.loaded(&around, &held, nest, name)?, spot.at + 2),
            None => (self.filled(&held, init, name)?, spot.at + 1),
        };
        let middle: Block = scope[from..end].to_vec();
        self.used_inside(&around, &held, &middle, name)?;
        self.different_cells(&around, &held, name);
        let mut made: Block = scope[..spot.at].to_vec();
        made.extend(start);
        made.extend(middle.iter().map(|s| self.in_place(&held, s)));
        made.extend(self.finished(&held, name)?);
        made.extend(scope[end + 1..].iter().cloned());
        if let Some(stmts) = spot.block(block) {
            *stmts = made;
        }
        Ok(())
    }

    /// The nest that stores a local's cells to an array, and where it stands; nothing after it knows the local.
    fn stored_back(
        &self,
        side: Side,
        (local, name): (Local, &str),
        buffer: &str,
        rest: &[Stmt],
    ) -> Result<(Held, usize), Diagnostic> {
        let none = || {
            self.misfit(format!(
                "in {side} no nest after the declaration of {name}, in its block, stores its cells to {buffer}"
            ))
        };
        let last = rest.iter().rposition(|s| Live::of_block(std::slice::from_ref(s)).locals.contains(&local));
        let last = last.ok_or_else(none)?;
        let (loops, stmt) = nest_of(&rest[last]);
        let StmtKind::Store { to, word } = &stmt.kind else { return Err(none()) };
        if self.names().buffer(crate::wf::root(&self.fun, to.buffer)) != buffer {
            return Err(none());
        }
        let cells = cells_of(word, local);
        let [at] = cells.as_slice() else {
            let text = format!("what is stored to {buffer} is not made of one cell of {name}");
            return Err(self.misfit(text));
        };
        let axes = self.axes(&loops, at).ok_or_else(|| {
            let cell = self.names().cell(name, at);
            self.misfit(format!("{cell} is stored to {buffer}, and each axis has to follow a loop of its own"))
        })?;
        let back = Nest { loops, axes, word: word.clone(), stmt: stmt.clone() };
        let buffer = crate::wf::root(&self.fun, to.buffer);
        Ok((Held { local, buffer, back, cell: to.clone() }, last))
    }

    /// Which loop each subscript is, each another one and all of them there.
    fn axes(&self, loops: &[(Var, Domain)], at: &[Ix]) -> Option<Vec<Var>> {
        let axes = axes_of(loops, at)?;
        let plain = loops.iter().all(|(_, d)| matches!(d, Domain::Range { .. }));
        (plain && axes.len() == loops.len()).then_some(axes)
    }

    /// The box and the cells have to mean one thing as long as the local lives, and the box is one: no range of it depends
    /// on another.
    fn bound_outside(&self, around: &Context, held: &Held) -> Result<(), Diagnostic> {
        let mut inside = around.clone();
        for (v, d) in &held.back.loops {
            let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, size: _ }) = d;
            self.known(around, [lo, hi])?;
            inside.enter(self.names().var(*v), *v, d);
        }
        self.known(&inside, &held.cell.at)
    }

    /// The nest that loads the local, where there is one: right after the declaration, over all of the local's axes.
    fn loading(&self, held: &Held, stmt: Option<&Stmt>) -> Option<Nest> {
        let (loops, stmt) = nest_of(stmt?);
        let StmtKind::Assign { local, at, word } = &stmt.kind else { return None };
        let axes = self.axes(&loops, at)?;
        let own = !Live::of_word(word).locals.contains(&held.local);
        (*local == held.local && own).then(|| Nest { loops, axes, word: word.clone(), stmt: stmt.clone() })
    }

    /// What loads the local, as what stores the same words to the array's cells; nothing where it only loads them.
    fn loaded(&mut self, around: &Context, held: &Held, nest: Nest, name: &str) -> Result<Block, Diagnostic> {
        // The nest in the loops of the one that stores back.
        let mut rename = Subst::default();
        for (from, to) in nest.axes.iter().zip(&held.back.axes) {
            rename.vars.insert(*from, Ix::Var(*to));
        }
        let word = rename.word(&nest.word);
        let mut ranges: Vec<(Var, Domain)> = Vec::new();
        for (v, d) in &nest.loops {
            let to = nest.axes.iter().position(|a| a == v).map_or(*v, |n| held.back.axes[n]);
            let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, size: _ }) = d;
            self.known(around, [lo, hi])?;
            ranges.push((to, d.clone()));
        }
        for (what, of, inside) in
            [("is stored back", &ranges, &held.back.loops), ("was loaded", &held.back.loops, &ranges)]
        {
            let mut cx = around.clone();
            for (v, d) in of {
                cx.enter(self.names().var(*v), *v, d);
            }
            let goal = Formula::and(inside.iter().map(|(v, d)| cx.membership(*v, d)));
            let what = format!("every cell of {name} that is held {what}");
            self.emit(Kind::Carried, &cx, goal, &what, &[], &[(nest.stmt.span.0, "loaded here".into())]);
        }
        let mut cx = around.clone();
        for (v, d) in &held.back.loops {
            cx.enter(self.names().var(*v), *v, d);
        }
        let read = vec![Stmt { kind: StmtKind::Print(word.clone()), span: nest.stmt.span }];
        for event in events_of(&read) {
            let What::Read(a) = &event.what else { continue };
            if crate::wf::root(&self.fun, a.buffer) != held.buffer {
                continue;
            }
            let mut here = cx.clone();
            event.frames.iter().for_each(|f| enter(&self.fun, &mut here, f));
            let goal = same_tuple(&here.tuple(&a.at), &here.tuple(&held.cell.at));
            let (from, to) = (self.names().access(a), self.names().access(&held.cell));
            let what = format!("{name} is loaded from where it is stored back: {from} is {to}");
            self.emit(Kind::Carried, &here, goal, &what, &[], &[(event.span, "loaded here".into())]);
        }
        let own = Word::Load(held.cell.clone());
        let root = |b: Buffer| crate::wf::root(&self.fun, b);
        let word = map_word(&word, &mut |w| match &w {
            Word::Load(a) if root(a.buffer) == held.buffer => own.clone(),
            _ => w,
        });
        let mut word = word;
        // A cell that is loaded under a condition which holds for all that are held is loaded.
        while let Word::If(guard, then, _) = &word
            && **then == own
        {
            let text = self.names().guard(guard);
            let what = format!("every cell of {name} that is held is loaded: {text}");
            let goal = cx.guard(guard);
            self.emit(Kind::Carried, &cx, goal, &what, &[], &[(nest.stmt.span.0, "loaded here".into())]);
            word = own.clone();
        }
        if word == own {
            return Ok(vec![]);
        }
        Ok(self.nest(held, word))
    }

    /// What the local starts from, as what is stored to the array's cells.
    fn filled(&mut self, held: &Held, init: &Word, name: &str) -> Result<Block, Diagnostic> {
        if self.reads(init, held.buffer) {
            let buffer = self.names().buffer(held.buffer);
            return Err(self.misfit(format!("what {name} starts from reads {buffer}, and it is not loaded by a nest")));
        }
        Ok(self.nest(held, init.clone()))
    }

    fn reads(&self, word: &Word, buffer: Buffer) -> bool {
        Live::of_word(word).buffers.iter().any(|b| crate::wf::root(&self.fun, *b) == buffer)
    }

    /// The box's loops around a store to the cell.
    fn nest(&mut self, held: &Held, word: Word) -> Block {
        let store = Stmt { kind: StmtKind::Store { to: held.cell.clone(), word }, span: held.back.stmt.span };
        let around = |inner: Stmt, (var, domain): &(Var, Domain)| Stmt {
            kind: StmtKind::For { var: *var, domain: domain.clone(), body: vec![inner] },
            span: held.back.stmt.span,
        };
        let nest = vec![held.back.loops.iter().rev().fold(store, around)];
        cachet_core::rewrite::refresh(&mut self.fun, &nest)
    }

    /// The conditions on what works on the local: it stays inside the box, and off the array.
    fn used_inside(&mut self, around: &Context, held: &Held, middle: &Block, name: &str) -> Result<(), Diagnostic> {
        let touched = Live::of_block(middle).buffers;
        if touched.iter().any(|b| crate::wf::root(&self.fun, *b) == held.buffer) {
            let buffer = self.names().buffer(held.buffer);
            return Err(self.misfit(format!("{buffer} is in use while {name} holds cells of it")));
        }
        for event in events_of(middle) {
            let What::Cell(l, at) = &event.what else { continue };
            if *l != held.local {
                continue;
            }
            let mut cx = around.clone();
            event.frames.iter().for_each(|f| enter(&self.fun, &mut cx, f));
            let mut subst = Subst::default();
            for (var, ix) in held.back.axes.iter().zip(at) {
                subst.vars.insert(*var, ix.clone());
            }
            let mut goals = Vec::new();
            let mut texts = Vec::new();
            for (v, d) in &held.back.loops {
                let Domain::Range { lo, hi } = d else { continue };
                let x = subst.ix(&Ix::Var(*v));
                goals.push(Formula::within(cx.ix(lo), cx.ix(&x), cx.ix(hi)));
                let names = self.names();
                texts.push(format!("{} <= {} < {}", names.ix(lo), names.ix(&x), names.ix(hi)));
            }
            let cell = self.names().cell(name, at);
            let what = format!("{cell} is a cell that is stored back: {}", texts.join(", "));
            self.emit(Kind::Carried, &cx, Formula::and(goals), &what, &[], &[(event.span, "used here".into())]);
        }
        Ok(())
    }

    /// The condition that no two cells of the local stand for one of the array.
    fn different_cells(&mut self, around: &Context, held: &Held, name: &str) {
        let mut first = around.clone();
        for (v, d) in &held.back.loops {
            first.enter(self.names().var(*v), *v, d);
        }
        let mut second = first.clone();
        let mut different = Vec::new();
        for (v, d) in &held.back.loops {
            second.enter_again(self.names().var(*v), *v, d);
            if let (Some(x), Some(y)) = (first.counter(*v), second.counter(*v)) {
                different.push(x.clone().differs(y.clone()));
                second.hint(x, y);
            }
        }
        second.fact(Formula::or(different));
        let goal = Formula::not(same_tuple(&first.tuple(&held.cell.at), &second.tuple(&held.cell.at)));
        let cell = self.names().access(&held.cell);
        let what = format!("two cells of {name} are two cells of {}: {cell}", self.names().buffer(held.buffer));
        let place = held.back.stmt.span.0;
        self.emit(Kind::Carried, &second, goal, &what, &[], &[(place, "stored back here".into())]);
    }

    /// A statement that works on the array's cells.
    fn in_place(&self, held: &Held, stmt: &Stmt) -> Stmt {
        let mapped = cachet_core::rewrite::map_stmt_words(stmt, &mut |w| match &w {
            Word::Local(l, at) if *l == held.local => Word::Load(held.at(at)),
            _ => w,
        });
        stored(held, mapped)
    }

    /// What is left of storing back: what is done to each cell on the way.
    fn finished(&mut self, held: &Held, name: &str) -> Result<Block, Diagnostic> {
        let buffer = self.names().buffer(held.buffer).to_string();
        if self.reads(&held.back.word, held.buffer) {
            return Err(self.misfit(format!("what is stored back from {name} reads {buffer}")));
        }
        let own = Word::Load(held.cell.clone());
        let word = map_word(&held.back.word, &mut |w| match &w {
            Word::Local(l, _) if *l == held.local => own.clone(),
            _ => w,
        });
        if word == own {
            return Ok(vec![]);
        }
        Ok(self.nest(held, word))
    }

    /// Vector statements are loops already; their lanes get names that later lines can use.
    pub(super) fn lanes(&mut self, block: &Block, side: Side, names: &[String]) -> Result<(), Diagnostic> {
        let mut lanes = Vec::new();
        walk(block, &mut Vec::new(), &mut |stmt, _: Spot| {
            if let StmtKind::For { var, .. } = &stmt.kind
                && cachet_core::vectors::count_of(&self.fun.vars, *var).is_some()
                && !lanes.contains(var)
            {
                lanes.push(*var);
            }
        });
        if lanes.is_empty() {
            return Err(self.misfit(format!("{side} has no vector statement")));
        }
        // One name for all, or the names in order, the last for those that are left.
        for (n, var) in lanes.iter().enumerate() {
            if let Some(name) = names.get(n).or(names.last()) {
                self.fun.vars[var.index()].name = name.clone();
            }
        }
        Ok(())
    }
}

fn stored(held: &Held, stmt: Stmt) -> Stmt {
    let all = |block: Block| block.into_iter().map(|s| stored(held, s)).collect();
    let kind = match stmt.kind {
        StmtKind::Assign { local, at, word } if local == held.local => StmtKind::Store { to: held.at(&at), word },
        StmtKind::For { var, domain, body } => StmtKind::For { var, domain, body: all(body) },
        StmtKind::Grid(mut g) => {
            g.body = all(g.body);
            StmtKind::Grid(g)
        }
        StmtKind::If { guard, then, els } => StmtKind::If { guard, then: all(then), els: all(els) },
        kind @ (StmtKind::Let { .. }
        | StmtKind::Var { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Store { .. }
        | StmtKind::Alloc(_)
        | StmtKind::Lease { .. }
        | StmtKind::Call(_)
        | StmtKind::Print(_)) => kind,
    };
    Stmt { kind, span: stmt.span }
}

/// The cells of a local that a word reads, each once.
fn cells_of(word: &Word, local: Local) -> Vec<Vec<Ix>> {
    let mut out: Vec<Vec<Ix>> = Vec::new();
    map_word(word, &mut |w| {
        if let Word::Local(l, at) = &w
            && *l == local
            && !out.contains(at)
        {
            out.push(at.clone());
        }
        w
    });
    out
}
