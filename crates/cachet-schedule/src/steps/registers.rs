//! `registers (i, j) into c rows R lanes L through f`: a tile of an output is held in vector registers while its sums run.
//!
//! Two loops `i`, `j` directly around a sum that is stored to `c` become one loop over the sum's index, in which each row of
//! the tile is a vector: what changes along `j` only is loaded once as a vector, what changes along `i` only is one value for
//! all lanes. The tile starts from `c`, from a literal, or from either by a guard, as the sum did, and is stored back at the
//! end. Lanes beyond the loop's end are masked. `registers i into y lanes L through f` holds one vector, of the one loop
//! directly around the sum.

use super::{Named, Spot, locate, names};
use crate::refusal;
use cachet_core::ir::{
    Access, At, Block, BlockPart, Domain, Elem, Fold, Fun, Guard, Ix, Lit, Local, LocalInfo, Op, Program, Rel, Stmt,
    StmtKind, Ty, Var, VarKind, Word,
};
use cachet_core::pattern::{LoopRef, Move, MoveKind, PatIx, Side};
use cachet_core::rewrite::{Live, Subst, map_word};
use cachet_core::script::{RegistersCall, Rewrite, StepCall};
use cachet_source::{Diagnostic, Span, codes};

/// The most rows, and the most lanes, of a tile.
const MOST: i64 = 1024;

/// What helps where the sum is a loop already.
const BEFORE_OPENED: &str = "hold the tile before the sum is opened: `registers` makes the loop over its index itself";

/// The two loops, the sum, and where it is stored.
struct Site<'f> {
    spot: Spot,
    row: Option<(Var, Domain)>,
    lane: (Var, Domain),
    to: &'f Access,
    fold: &'f Fold,
    span: At,
}

/// A tile in the making.
struct Tile<'a> {
    program: &'a Program,
    after: Fun,
    site: Site<'a>,
    acc: Local,
    elem: Elem,
    lanes: i64,
    /// How many rows and lanes are in use.
    used: (Option<Ix>, Ix),
    /// Names of locals that the recipe undoes, innermost first.
    copies: Vec<String>,
}

/// Holds a tile in registers.
pub fn apply(program: &Program, fun: &Fun, call: &StepCall, registers: &RegistersCall) -> Result<Rewrite, Diagnostic> {
    let (row, lane, into) = named(registers, call)?;
    let rows = registers.row.as_ref().map(|(_, rows)| (*rows, "rows"));
    for (n, what) in rows.into_iter().chain([(registers.lanes, "lanes")]) {
        if !(1..=MOST).contains(&n.0) {
            let message = format!("a tile has from 1 to {MOST} {what}, not {}", n.0);
            return Err(refused(n.1, message, call));
        }
    }
    let site = site(fun, (row.as_ref(), &lane, &into), call)?;
    let used = bounds(fun, &site, (row.as_ref(), &lane), registers, call)?;
    through(program, fun, &site, registers, call)?;
    let info = &fun.locals[site.fold.acc.index()];
    let Ty::Elem(elem) = info.ty else {
        let d = refused(registers.through.1, "a tile holds a machine's elements".into(), call);
        return Err(d.help("bind the type parameter first: `schedule s of f @(S = PlusTimes f32) =`"));
    };
    let mut after = fun.clone();
    let dims = rows.map(|((rows, _), _)| rows).into_iter().chain([registers.lanes.0]).collect();
    let acc = LocalInfo { name: info.name.clone(), ty: info.ty.clone(), dims, vector: true, mutable: true };
    let acc = after.add_local(acc);
    let lanes = registers.lanes.0;
    let mut tile = Tile { program, after, site, acc, elem, lanes, used, copies: Vec::new() };
    let (made, start) = tile.block(call)?;
    let recipe = tile.recipe(row.as_ref(), &lane, &into, start, call);
    let from = tile.site.spot.site();
    let mut after = tile.after;
    match from.replace(&mut after, made) {
        Some(to) => Ok(Rewrite { after, from, to, recipe }),
        None => Err(refused(lane.span, "the loop is gone".into(), call)),
    }
}

fn refused(span: Span, message: String, call: &StepCall) -> Diagnostic {
    refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, span, message), call)
}

/// The loop over rows, where there is one, the loop over lanes, and the array.
fn named(registers: &RegistersCall, call: &StepCall) -> Result<(Option<Named>, Named, Named), Diagnostic> {
    let args = registers.row.iter().map(|(row, _)| row).chain([&registers.lane, &registers.into]).cloned();
    let mut named = names(&args.collect::<Vec<_>>(), call)?;
    match (named.pop(), named.pop(), named.pop()) {
        (Some(into), Some(lane), row) => Ok((row, lane, into)),
        _ => Err(refused(call.span, "`registers` names one or two loops and an array".into(), call)),
    }
}

/// The two loops directly around a sum that is stored, or the one.
fn site<'f>(
    fun: &'f Fun,
    (row, lane, into): (Option<&Named>, &Named, &Named),
    call: &StepCall,
) -> Result<Site<'f>, Diagnostic> {
    let first = row.unwrap_or(lane);
    let spot = match row {
        Some(row) => locate_nest(fun, row, lane, call)?,
        None => locate(fun, lane, call)?,
    };
    let shape = |why: String| {
        let d = refused(first.span, why, call);
        d.note(match row {
            Some(_) => {
                "`registers (i, j) into c` wants `for i .. do for j .. do store c[..] = fold ..`, one directly in the other"
            }
            None => "`registers i into y` wants `for i .. do store y[..] = fold ..`",
        })
    };
    let name = |v: Var| fun.vars[v.index()].name.as_str();
    for named in row.into_iter().chain([lane]) {
        let at = locate(fun, named, call)?;
        if !crate::loops::is_loop(&fun.body, at.var) {
            let loops = if row.is_some() { "a tile has two loops" } else { "a vector has a loop" };
            return Err(refused(named.span, format!("`{}` is a sum, and {loops}", named.name), call)
                .help("the loop over the sum's index is made by `registers`, outside the tile's rows"));
        }
    }
    let Some(Stmt { kind: StmtKind::For { var: outer, domain: first, body }, span }) = spot.stmt(fun) else {
        return Err(shape(format!("`{}` is not a loop", first.name)));
    };
    let (row_loop, lane_loop, body, innermost) = match row {
        None => (None, (*outer, first.clone()), body, *outer),
        Some(row) => {
            let apart = || shape(format!("`{}` and `{}` are not directly inside one another", row.name, lane.name));
            let [Stmt { kind: StmtKind::For { var: inner, domain: second, body }, .. }] = body.as_slice() else {
                return Err(apart());
            };
            if name(*outer) == row.name && name(*inner) == lane.name {
                (Some((*outer, first.clone())), (*inner, second.clone()), body, *inner)
            } else if name(*outer) == lane.name && name(*inner) == row.name {
                (Some((*inner, second.clone())), (*outer, first.clone()), body, *inner)
            } else {
                return Err(apart());
            }
        }
    };
    let [Stmt { kind: StmtKind::Store { to, word }, .. }] = body.as_slice() else {
        let d = shape(format!("what stands in `{}` is not one store", name(innermost)));
        return Err(d.help(match body.as_slice() {
            [Stmt { kind: StmtKind::For { .. }, .. }] if row.is_none() => {
                "name the loop directly around the sum; with the one around it, it makes a tile: `registers (i, j) into c`"
            }
            _ => BEFORE_OPENED,
        }));
    };
    let Word::Fold(fold) = word else {
        let d = shape("what is stored there is no sum".into());
        return Err(match crate::loops::of(body).is_empty() {
            true => d.help(BEFORE_OPENED),
            false => {
                d.help("run `zero` first: it leaves the sum alone in its store, and what is done with it elsewhere")
            }
        });
    };
    if fun.buffers[to.buffer.index()].name != into.name {
        let message = format!("the sum is stored to `{}`, not to `{}`", fun.buffers[to.buffer.index()].name, into.name);
        return Err(refused(into.span, message, call));
    }
    let depends = |d: &Domain, on: &[Var]| {
        let (Domain::Range { lo, hi } | Domain::Blocks { lo, hi, .. }) = d;
        [lo, hi].into_iter().any(|ix| Live::of_ix(ix).vars.iter().any(|v| on.contains(v)))
    };
    let both: Vec<Var> = row_loop.iter().map(|(v, _)| *v).chain([lane_loop.0]).collect();
    let entangled = row_loop.iter().map(|(_, d)| d).chain([&lane_loop.1, &fold.domain]).any(|d| depends(d, &both));
    if entangled {
        return Err(shape("the ranges of the tile and of its sum depend on one another".into()));
    }
    Ok(Site { spot, row: row_loop, lane: lane_loop, to, fold, span: *span })
}

/// The outer of two loops, whichever of them that is.
fn locate_nest(fun: &Fun, row: &Named, lane: &Named, call: &StepCall) -> Result<Spot, Diagnostic> {
    let (a, b) = (locate(fun, row, call)?, locate(fun, lane, call)?);
    Ok(if a.path.len() <= b.path.len() { a } else { b })
}

/// How many rows and lanes are in use; the tile has to be as large.
fn bounds(
    fun: &Fun,
    site: &Site<'_>,
    (row, lane): (Option<&Named>, &Named),
    registers: &RegistersCall,
    call: &StepCall,
) -> Result<(Option<Ix>, Ix), Diagnostic> {
    let mut used = Vec::new();
    let rows = match (&site.row, row, &registers.row) {
        (Some(loop_), Some(row), Some((_, rows))) => Some(((loop_, row), *rows, "rows")),
        _ => None,
    };
    for ((loop_, named), (size, span), what) in rows.into_iter().chain([((&site.lane, lane), registers.lanes, "lanes")])
    {
        let Domain::Range { lo: Ix::Lit(0), hi } = &loop_.1 else {
            let message = format!("`{}` does not run from 0, one index after another", named.name);
            return Err(refused(named.span, message, call));
        };
        match most(fun, hi, site) {
            Some(n) if n <= size => {}
            Some(n) => {
                let held = if site.row.is_some() { "tile" } else { "vector" };
                let message = format!("`{}` has up to {n} iterations, and the {held} has {size} {what}", named.name);
                return Err(refused(span, message, call));
            }
            None => {
                let message = format!("how many iterations `{}` has is not bounded by a number", named.name);
                let help = format!("split it first: `split {} by {size} as g{} ragged`", named.name, named.name);
                return Err(refused(named.span, message, call).help(help));
            }
        }
        used.push(hi.clone());
    }
    match used.pop() {
        Some(lanes) => Ok((used.pop(), lanes)),
        None => Err(refused(call.span, "`registers` names a loop".into(), call)),
    }
}

/// What a loop's end is at most: a block is no longer than its size.
fn most(fun: &Fun, hi: &Ix, site: &Site<'_>) -> Option<i64> {
    match hi {
        Ix::Lit(n) => Some(*n),
        Ix::Block(g, BlockPart::Len) => {
            let around = site.spot.site();
            around.enclosing(fun)?.into_iter().find_map(|(s, _)| match &s.kind {
                StmtKind::For { var, domain: Domain::Blocks { size, .. }, .. } if var == g => Some(*size),
                StmtKind::Grid(grid) => grid.axes.iter().find_map(|(v, d)| match d {
                    Domain::Blocks { size, .. } if v == g => Some(*size),
                    _ => None,
                }),
                _ => None,
            })
        }
        Ix::Min(a, b) => match (most(fun, a, site), most(fun, b, site)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        },
        _ => None,
    }
}

/// That the sum's step is the one that is named, applied to the running total once.
fn through(
    program: &Program,
    fun: &Fun,
    site: &Site<'_>,
    registers: &RegistersCall,
    call: &StepCall,
) -> Result<(), Diagnostic> {
    let (name, span) = &registers.through;
    let names = cachet_core::print::Names::of(program, fun);
    let total = Word::Local(site.fold.acc, vec![]);
    let found = match &site.fold.body {
        Word::Op { op: Op::Prim(p), args, .. } if args.contains(&total) => p.to_string(),
        Word::Apply(f, args) if args.contains(&total) => program.pures[f.index()].name.clone(),
        Word::Op { op: Op::Method(..), .. } => {
            let step = names.word(&site.fold.body);
            let d = refused(*span, format!("the step of the sum is not known yet: it is `{step}`"), call);
            return Err(d.help("bind the type parameter first: `schedule s of f @(S = PlusTimes f32) =`"));
        }
        _ => String::new(),
    };
    if found == *name {
        return Ok(());
    }
    let step = names.word(&site.fold.body);
    let message = format!("the sum's step is not `{name}` of what it adds and the total");
    let d = refused(*span, message, call).note(format!("its step is `{step}`"));
    Err(if found.is_empty() { d } else { d.help(format!("write `through {found}`")) })
}

/// How the tile starts.
#[derive(Clone, Copy, PartialEq)]
enum Start {
    /// From what the cells hold.
    Cells,
    /// From something else in some or all runs, so that the sum's start is a store of its own.
    Stored,
}

impl Tile<'_> {
    /// The statements that the two loops become.
    fn block(&mut self, call: &StepCall) -> Result<(Block, Start), Diagnostic> {
        let fold = self.site.fold.clone();
        let own = Word::Load(self.site.to.clone());
        let (declared, loading, start) = match &fold.init {
            word if *word == own => (self.zero(), Some(own.clone()), Start::Cells),
            Word::Lit(_) => (fold.init.clone(), None, Start::Stored),
            Word::If(g, z, c) if **c == own && self.shared(&[&self.guarded(g), z]) => {
                let word = Word::If(g.clone(), z.clone(), Box::new(own.clone()));
                (self.zero(), Some(word), Start::Stored)
            }
            word if self.shared(&[word]) && !Live::of_word(word).buffers.contains(&self.site.to.buffer) => {
                (word.clone(), None, Start::Stored)
            }
            other => {
                let names = cachet_core::print::Names::of(self.program, &self.after);
                let message = format!("the sum starts from `{}`", names.word(other));
                let d = refused(call.span, message, call);
                return Err(d.note(
                    "a tile starts from its cells, from one word for all of them, or from either by a guard on indices",
                ));
            }
        };
        let span = self.site.span;
        let mut out = vec![Stmt { kind: StmtKind::Var { local: self.acc, init: declared }, span }];
        if let Some(word) = loading {
            out.extend(self.rows(|tile, i| {
                let (l, at) = tile.lane(i);
                let word = tile.masked(&tile.at(&word, i, l), l);
                vec![tile.over_lanes(l, Ix::Lit(tile.lanes), StmtKind::Assign { local: tile.acc, at, word })]
            }));
        }
        out.push(self.sum(&fold));
        out.extend(self.rows(|tile, i| {
            let (l, at) = tile.lane(i);
            let to = tile.cell(i, l);
            let word = Word::Local(tile.acc, at);
            vec![tile.over_lanes(l, tile.used.1.clone(), StmtKind::Store { to, word })]
        }));
        Ok((out, start))
    }

    /// The loop over the sum's index: what changes with the lanes only is named once, what changes with the rows in each row.
    fn sum(&mut self, fold: &Fold) -> Stmt {
        let span = self.site.span;
        let total = Word::Local(fold.acc, vec![]);
        let args = match &fold.body {
            Word::Op { args, .. } | Word::Apply(_, args) => args.clone(),
            _ => Vec::new(),
        };
        let (mut before, mut names): (Block, Vec<Option<Local>>) = (Vec::new(), Vec::new());
        for arg in &args {
            let (by_row, by_lane) = self.changes(arg);
            names.push((*arg != total && by_lane && !by_row).then(|| {
                let local = self.vector("lanes");
                let l = self.lane_var();
                let word = self.masked(&self.at(arg, None, l), l);
                before.extend(self.filled(local, l, word));
                local
            }));
        }
        let body = self.rows(|tile, i| {
            let mut inside: Block = Vec::new();
            let mut operands: Vec<Option<Local>> = Vec::new();
            for (arg, shared) in args.iter().zip(&names) {
                if *arg == total {
                    operands.push(None);
                    continue;
                }
                if let Some(lanes) = shared {
                    operands.push(Some(*lanes));
                    continue;
                }
                let (_, by_lane) = tile.changes(arg);
                let local = tile.vector(if by_lane { "cells" } else { "row" });
                let l = tile.lane_var();
                let word = tile.at(arg, i, l);
                let word = if by_lane { tile.masked(&word, l) } else { word };
                inside.extend(tile.filled(local, l, word));
                operands.push(Some(local));
            }
            let (l, at) = tile.lane(i);
            let words: Vec<Word> = operands
                .iter()
                .map(|local| match local {
                    Some(local) => Word::Local(*local, vec![Ix::Var(l)]),
                    None => Word::Local(tile.acc, at.clone()),
                })
                .collect();
            let word = match &fold.body {
                Word::Op { op, arith, .. } => Word::Op { op: *op, arith: *arith, args: words },
                Word::Apply(f, _) => Word::Apply(*f, words),
                other => other.clone(),
            };
            inside.push(tile.over_lanes(l, Ix::Lit(tile.lanes), StmtKind::Assign { local: tile.acc, at, word }));
            inside
        });
        before.extend(body);
        Stmt { kind: StmtKind::For { var: fold.var, domain: fold.domain.clone(), body: before }, span }
    }

    fn zero(&self) -> Word {
        Word::Lit(Lit { elem: self.elem, bits: 0 })
    }

    /// A guard as a word, to look into it.
    fn guarded(&self, guard: &Guard) -> Word {
        Word::If(Box::new(guard.clone()), Box::new(self.zero()), Box::new(self.zero()))
    }

    /// Whether words are the same for the whole tile.
    fn shared(&self, words: &[&Word]) -> bool {
        words.iter().all(|w| self.changes(w) == (false, false))
    }

    /// Whether a word changes with the row, and with the lane.
    fn changes(&self, word: &Word) -> (bool, bool) {
        let vars = Live::of_word(word).vars;
        (self.site.row.as_ref().is_some_and(|(row, _)| vars.contains(row)), vars.contains(&self.site.lane.0))
    }

    /// A loop over the rows in use; what stands in it, where there are no rows.
    fn rows(&mut self, body: impl FnOnce(&mut Self, Option<Var>) -> Block) -> Block {
        let (Some((row, _)), Some(hi)) = (&self.site.row, self.used.0.clone()) else { return body(self, None) };
        let name = self.after.vars[row.index()].name.clone();
        let i = self.after.add_var(name, VarKind::Index);
        let body = body(self, Some(i));
        let domain = Domain::Range { lo: Ix::Lit(0), hi };
        vec![Stmt { kind: StmtKind::For { var: i, domain, body }, span: self.site.span }]
    }

    fn lane_var(&mut self) -> Var {
        self.after.add_var("l", VarKind::Lane(self.lanes))
    }

    /// A lane, and the tile's cell in it.
    fn lane(&mut self, i: Option<Var>) -> (Var, Vec<Ix>) {
        let l = self.lane_var();
        (l, i.into_iter().chain([l]).map(Ix::Var).collect())
    }

    fn over_lanes(&self, l: Var, active: Ix, kind: StmtKind) -> Stmt {
        let domain = Domain::Range { lo: Ix::Lit(0), hi: active };
        let span = self.site.span;
        Stmt { kind: StmtKind::For { var: l, domain, body: vec![Stmt { kind, span }] }, span }
    }

    /// A word in a row and a lane.
    fn at(&self, word: &Word, i: Option<Var>, l: Var) -> Word {
        self.subst(i, l).word(word)
    }

    fn cell(&self, i: Option<Var>, l: Var) -> Access {
        self.subst(i, l).access(self.site.to)
    }

    fn subst(&self, i: Option<Var>, l: Var) -> Subst {
        let mut subst = Subst::var(self.site.lane.0, Ix::Var(l));
        if let (Some(i), Some((row, _))) = (i, &self.site.row) {
            subst.vars.insert(*row, Ix::Var(i));
        }
        subst
    }

    /// A word that loads only in lanes that are in use; in the others it has something else.
    fn masked(&self, word: &Word, l: Var) -> Word {
        if self.used.1 == Ix::Lit(self.lanes) {
            return word.clone();
        }
        let buffers = &self.after.buffers;
        map_word(word, &mut |w| match &w {
            Word::Load(a) if a.at.iter().any(|ix| cachet_core::vectors::varies(ix, l)) => {
                let Ty::Elem(elem) = buffers[a.buffer.index()].elem else { return w };
                let other = Word::Lit(Lit { elem, bits: 0 });
                let guard = Guard::Cmp(Rel::Lt, Ix::Var(l), self.used.1.clone());
                Word::If(Box::new(guard), Box::new(w), Box::new(other))
            }
            _ => w,
        })
    }

    /// A vector with a name that nothing in the program has.
    fn vector(&mut self, name: &str) -> Local {
        let live = Live::of(&self.after);
        let taken = |n: &str, copies: &[String]| {
            copies.iter().any(|c| c == n)
                || live.locals.iter().any(|l| self.after.locals[l.index()].name == n)
                || live.vars.iter().any(|v| self.after.vars[v.index()].name == n)
                || live.buffers.iter().any(|b| self.after.buffers[b.index()].name == n)
        };
        let name = match taken(name, &self.copies) {
            false => name.to_string(),
            true => (2u64..).map(|n| format!("{name}_{n}")).find(|n| !taken(n, &self.copies)).unwrap_or_default(),
        };
        self.copies.push(name.clone());
        let ty = Ty::Elem(self.elem);
        self.after.add_local(LocalInfo { name, ty, dims: vec![self.lanes], vector: true, mutable: false })
    }

    /// A vector `let`.
    fn filled(&self, local: Local, l: Var, word: Word) -> Block {
        let span = self.site.span;
        let declare = Stmt { kind: StmtKind::Var { local, init: self.zero() }, span };
        let assign = StmtKind::Assign { local, at: vec![Ix::Var(l)], word };
        vec![declare, self.over_lanes(l, Ix::Lit(self.lanes), assign)]
    }

    /// `T` is undone down to its cells; `S` is the same sums as updates, the sum's index outermost.
    fn recipe(&self, row: Option<&Named>, lane: &Named, into: &Named, start: Start, call: &StepCall) -> Vec<Move> {
        let acc = self.after.locals[self.acc.index()].name.clone();
        let sum = self.after.vars[self.site.fold.var.index()].name.clone();
        let s = |name: &str, nth: u32| LoopRef { side: Side::S, name: name.to_string(), nth, rank: false };
        let mut lines: Vec<MoveKind> =
            self.copies.iter().rev().map(|name| MoveKind::Copy(Side::T, name.clone())).collect();
        if self.used.1 != Ix::Lit(self.lanes) {
            let to = PatIx::Known(self.used.1.clone());
            lines.push(MoveKind::Narrow { side: Side::T, local: acc.clone(), axis: u32::from(row.is_some()), to });
        }
        lines.push(MoveKind::Carry { side: Side::T, local: acc, buffer: into.name.clone() });
        lines.push(MoveKind::PerCell { buffer: into.name.clone(), fold: s(&sum, 1) });
        let outer = self.site.spot.var;
        let nth = match start {
            Start::Cells => 1,
            Start::Stored => {
                let name = self.after.vars[outer.index()].name.clone();
                lines.push(MoveKind::Distribute { of: s(&name, 1), at: 1 });
                // The tile is filled row by row.
                if row.is_some() && outer == self.site.lane.0 {
                    lines.push(MoveKind::Interchange(s(&name, 1)));
                }
                2
            }
        };
        let loops = row.into_iter().chain([lane]).map(|l| s(&l.name, nth));
        lines.push(MoveKind::Order([s(&sum, 1)].into_iter().chain(loops).collect()));
        lines.into_iter().map(|kind| Move { kind, span: At(call.span) }).collect()
    }
}
