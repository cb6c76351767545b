//! `pack a into P along g over (x, y)`: what the body of a loop reads of an array is copied first, and read from the copy.
//!
//! The copy has, along each axis, the smallest interval that holds the reads of all iterations inside the loop, and its
//! indices count from where that interval starts: of `a[gi[ui[i]], gk[k]]` along `gi`, `P[ui[i], k]`, copied for
//! `x in 0 .. gi.len` and `y in 0 .. gk.len`.

use super::{Named, locate, names};
use crate::refusal;
use cachet_core::ir::{
    Access, At, Block, BlockPart, Buffer, Domain, Fun, Guard, Ix, Lit, Rel, Role, Stmt, StmtKind, Var, VarKind, Word,
};
use cachet_core::linear::{difference, sum};
use cachet_core::pattern::{LoopRef, Move, MoveKind, Side};
use cachet_core::rewrite::{Live, Visit, map_block_words, refresh, visit_block, visit_stmt, visit_word};
use cachet_core::script::{PackCall, Rewrite, StepCall};
use cachet_core::windows;
use cachet_source::{Diagnostic, Span, codes};
use std::collections::BTreeMap;

/// The most neighbours that are copied at once.
const MOST_LANES: i64 = 4096;

/// Along one axis: where the copied interval starts, how long it is, and inside which blocks it counts.
struct Axis {
    /// Blocks that are fixed while the body runs, outermost first.
    blocks: Vec<Var>,
    lo: Ix,
    len: Ix,
}

/// Puts the copy first in the loop's body.
pub fn apply(fun: &Fun, call: &StepCall, pack: &PackCall) -> Result<Rewrite, Diagnostic> {
    let refuse = |span: Span, message: String| {
        Err(refusal::with_callers(Diagnostic::error(codes::STEP_ARGUMENT, span, message), call))
    };
    let [array, into, along] = three(pack, call)?;
    let over = names(&pack.over, call)?;
    let spot = locate(fun, &along, call)?;
    let Some(Stmt { kind, span }) = spot.stmt(fun) else { return refuse(along.span, "the loop is gone".into()) };
    let body = match kind {
        StmtKind::For { body, .. } => body,
        StmtKind::Grid(g) => &g.body,
        _ => return refuse(along.span, format!("`{}` is a sum, and a copy is made in the body of a loop", along.name)),
    };
    let a = array_of(fun, &array, call)?;
    let p = scratch_of(fun, &into, call)?;
    let reads = reads_of(body, a);
    if reads.accesses.is_empty() {
        let message = format!("the body of `{}` does not read `{}`", along.name, array.name);
        return refuse(array.span, message);
    }
    if reads.written {
        let message =
            format!("`{}` is written in the body of `{}`, so a copy of it would not stay true", array.name, along.name);
        return refuse(array.span, message);
    }
    let rank = fun.buffers[a.index()].extents.len();
    // In lanes, the last axis has two names: of its groups and of a group's lanes.
    let named = over.len() - usize::from(pack.lanes.is_some()).min(over.len());
    if named != rank || fun.buffers[p.index()].extents.len() != rank {
        let lanes = if pack.lanes.is_some() { ", and a name for the lanes" } else { "" };
        let message = format!(
            "`{}` has {}, `{}` has {}, and {} given for the copy: a copy has as many of each{lanes}",
            array.name,
            count(rank, "axis", "axes"),
            into.name,
            fun.buffers[p.index()].extents.len(),
            count(over.len(), "name is", "names are"),
        );
        return refuse(into.span, message);
    }
    if let Some(n) = pack.lanes
        && !(1..=MOST_LANES).contains(&n)
    {
        return refuse(call.span, format!("from 1 to {MOST_LANES} neighbours are copied at once, not {n}"));
    }
    let axes: Vec<Axis> = (0..rank).map(|n| axis(fun, &reads, a, n)).collect();
    let mut after = fun.clone();
    let kinds = (0..over.len()).map(|n| match pack.lanes {
        Some(_) if n == rank => VarKind::Lane(pack.lanes.unwrap_or(1)),
        Some(_) if n + 1 == rank => VarKind::Block,
        _ => VarKind::Index,
    });
    let vars: Vec<Var> = over.iter().zip(kinds).map(|(n, kind)| after.add_var(n.name.clone(), kind)).collect();
    let copy = match (pack.lanes, vars.split_at(rank.saturating_sub(1))) {
        (Some(lanes), (rows, [group, lane])) => in_lanes((a, p), &axes, (rows, *group, *lane), lanes, At(call.span)),
        _ => nest((a, p), &axes, &vars, pack.pad.as_ref(), At(call.span)),
    };
    let read = map_block_words(body, &mut |w| match w {
        Word::Load(access) if access.buffer == a => Word::Load(Access {
            buffer: p,
            at: access.at.iter().zip(&axes).map(|(ix, axis)| axis.local(ix)).collect(),
            span: access.span,
        }),
        w => w,
    });
    let first = read.iter().take_while(|s| is_copy(fun, s)).count();
    let mut inside = read;
    inside.insert(first, copy);
    let made = match kind {
        StmtKind::For { var, domain, .. } => StmtKind::For { var: *var, domain: domain.clone(), body: inside },
        StmtKind::Grid(g) => StmtKind::Grid(Box::new(cachet_core::ir::Grid { body: inside, ..(**g).clone() })),
        other => other.clone(),
    };
    let site = spot.site();
    let made = refresh(&mut after, &[Stmt { kind: made, span: *span }]);
    let mut lines = vec![MoveKind::Copy(Side::T, into.name.clone())];
    if let ([.., group, lane], Some(_)) = (over.as_slice(), pack.lanes) {
        let of = |n: &Named| LoopRef { side: Side::T, name: n.name.clone(), nth: 1, rank: false };
        lines.insert(0, MoveKind::Join(of(group), of(lane)));
    }
    let recipe = lines.into_iter().map(|kind| Move { kind, span: At(call.span) }).collect();
    match site.replace(&mut after, made) {
        Some(to) => {
            if let Some(name) = crate::build::names::clashing(&after, &to)
                && let Some(at) = over.iter().find(|n| n.name == name)
            {
                let message =
                    format!("`{name}` is in use where the copy's loop would stand: two loops cannot share a name");
                return refuse(at.span, message);
            }
            Ok(Rewrite { after, from: site, to, recipe })
        }
        None => refuse(along.span, "the loop is gone".into()),
    }
}

fn count(n: usize, one: &str, several: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { several })
}

fn three(pack: &PackCall, call: &StepCall) -> Result<[Named; 3], Diagnostic> {
    let args = [pack.array.clone(), pack.into.clone(), pack.along.clone()];
    let named = names(&args, call)?;
    named.try_into().map_err(|_| {
        refusal::with_callers(
            Diagnostic::error(codes::STEP_ARGUMENT, call.span, "`pack` names an array, a buffer and a loop"),
            call,
        )
    })
}

pub(super) fn array_of(fun: &Fun, name: &Named, call: &StepCall) -> Result<Buffer, Diagnostic> {
    let found = (0..fun.buffers.len() as u32).map(Buffer).rev().find(|b| fun.buffers[b.index()].name == name.name);
    found.ok_or_else(|| {
        let known: Vec<&str> = fun.params.iter().map(|b| fun.buffers[b.index()].name.as_str()).collect();
        let message = format!("there is no array `{}` in the program", name.name);
        let d = Diagnostic::error(codes::UNKNOWN_NAME, name.span, message);
        refusal::with_callers(d.note(format!("its arrays are {}", known.join(", "))), call)
    })
}

/// The schedule's own parameter of a name, which nothing uses yet.
fn scratch_of(fun: &Fun, name: &Named, call: &StepCall) -> Result<Buffer, Diagnostic> {
    let p = array_of(fun, name, call)?;
    let refuse = |message: String, help: String| {
        let d = Diagnostic::error(codes::STEP_ARGUMENT, name.span, message).help(help);
        Err(refusal::with_callers(d, call))
    };
    if fun.buffers[p.index()].role != Role::Mut || !fun.scratch.contains(&p) {
        let message = format!("`{}` is not scratch: what is copied into it would be seen outside", name.name);
        return refuse(message, "give the schedule a parameter of its own: `(mut packA: [f32; 16, 16])`".into());
    }
    if Live::of_block(&fun.body).buffers.contains(&p) {
        let message = format!("`{}` is in use already, and a second copy would overwrite the first", name.name);
        return refuse(message, "give the schedule another parameter for this copy".into());
    }
    Ok(p)
}

/// Reads of an array in a block, and the loops and sums there.
struct Reads {
    array: Buffer,
    inner: BTreeMap<Var, Domain>,
    accesses: Vec<Read>,
    /// What holds where the words that are being visited are computed.
    below: Vec<(Var, Ix)>,
    written: bool,
}

/// One read, and the ends that its place sets to variables of loops around it: lanes that are left out are not read.
struct Read {
    access: Access,
    below: Vec<(Var, Ix)>,
}

impl Read {
    /// The loops and sums inside, as far as this read sees of them.
    fn seen(&self, inner: &BTreeMap<Var, Domain>) -> BTreeMap<Var, Domain> {
        let mut seen = inner.clone();
        // An end that changes inside might depend on the variable itself.
        let fixed = |end: &Ix| Live::of_ix(end).vars.iter().all(|v| !inner.contains_key(v));
        for (var, end) in self.below.iter().filter(|(_, end)| fixed(end)) {
            if let Some(Domain::Range { lo: _, hi }) = seen.get_mut(var) {
                *hi = end.clone();
            }
        }
        seen
    }
}

fn reads_of(body: &Block, array: Buffer) -> Reads {
    let mut reads = Reads { array, inner: BTreeMap::new(), accesses: Vec::new(), below: Vec::new(), written: false };
    visit_block(&mut reads, body);
    reads
}

impl Visit for Reads {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For { var, domain, .. } => drop(self.inner.insert(*var, domain.clone())),
            StmtKind::Grid(g) => self.inner.extend(g.axes.iter().cloned()),
            StmtKind::Call(c) => self.written |= c.args.iter().any(|v| v.buffer == self.array),
            StmtKind::If { .. }
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Print(_) => {}
        }
        visit_stmt(self, stmt);
    }

    fn word(&mut self, word: &Word) {
        match word {
            Word::Fold(f) => drop(self.inner.insert(f.var, f.domain.clone())),
            Word::Reduce(r) => drop(self.inner.insert(r.var, r.domain.clone())),
            Word::If(guard, then, other) => {
                if let Guard::Cmp(Rel::Lt, Ix::Var(var), end) = &**guard {
                    self.guard(guard);
                    self.below.push((*var, end.clone()));
                    self.word(then);
                    self.below.pop();
                    self.word(other);
                    return;
                }
            }
            _ => {}
        }
        visit_word(self, word);
    }

    fn load(&mut self, access: &Access) {
        if access.buffer == self.array {
            self.accesses.push(Read { access: access.clone(), below: self.below.clone() });
        }
    }

    fn store(&mut self, access: &Access) {
        self.written |= access.buffer == self.array;
    }
}

impl Axis {
    /// An index of the array, counted in the copy.
    fn local(&self, ix: &Ix) -> Ix {
        let mut ix = ix;
        for _ in &self.blocks {
            match ix {
                Ix::InBlock(_, e) => ix = e,
                _ => break,
            }
        }
        difference(&opened(ix, &self.lo), &self.lo)
    }

    /// The index of the array that an index of the copy stands for.
    fn global(&self, x: Var) -> Ix {
        self.global_of(Ix::Var(x))
    }

    fn global_of(&self, x: Ix) -> Ix {
        let within = sum(&self.lo, &x);
        self.blocks.iter().rev().fold(within, |e, g| Ix::InBlock(*g, Box::new(e)))
    }
}

/// An index with `g[e]` as `g.lo + e` wherever `g.lo` is taken from it.
fn opened(ix: &Ix, lo: &Ix) -> Ix {
    match ix {
        Ix::Add(a, b) => sum(&opened(a, lo), &opened(b, lo)),
        Ix::Sub(a, b) => difference(&opened(a, lo), &opened(b, lo)),
        Ix::InBlock(g, e) if Live::of_ix(lo).vars.contains(g) => sum(&Ix::Block(*g, BlockPart::Lo), &opened(e, lo)),
        Ix::Lit(_)
        | Ix::Var(_)
        | Ix::Mul(..)
        | Ix::Div(..)
        | Ix::Mod(..)
        | Ix::Min(..)
        | Ix::Max(..)
        | Ix::If(..)
        | Ix::Block(..)
        | Ix::InBlock(..) => ix.clone(),
    }
}

/// The blocks around an index that no loop inside the body changes, and the index in the innermost of them.
fn fixed<'i>(inner: &BTreeMap<Var, Domain>, mut ix: &'i Ix) -> (Vec<Var>, &'i Ix) {
    let mut blocks = Vec::new();
    while let Ix::InBlock(g, e) = ix {
        if inner.contains_key(g) {
            break;
        }
        blocks.push(*g);
        ix = e;
    }
    (blocks, ix)
}

/// The interval that holds the reads along an axis.
fn axis(fun: &Fun, reads: &Reads, array: Buffer, n: usize) -> Axis {
    let extent = &fun.buffers[array.index()].extents[n];
    let whole = || Axis { blocks: vec![], lo: Ix::Lit(0), len: extent.clone() };
    let mut found: Option<(Vec<Var>, (Ix, Ix))> = None;
    for read in &reads.accesses {
        let inner = read.seen(&reads.inner);
        let (blocks, ix) = fixed(&inner, &read.access.at[n]);
        let Some(span) = windows::interval(&inner, ix) else { return whole() };
        let end = blocks.last().map_or(extent.clone(), |g| Ix::Block(*g, BlockPart::Len));
        found = match found {
            None => Some((blocks, span)),
            Some((known, so_far)) if known == blocks => Some((known, windows::hull(&so_far, &span, &end))),
            Some(_) => return whole(),
        };
    }
    match found {
        Some((blocks, (lo, hi))) => Axis { blocks, len: exact(fun, difference(&hi, &lo)), lo },
        None => whole(),
    }
}

/// `M` for `n * (M / n)` where `M % n == 0` is required.
fn exact(fun: &Fun, len: Ix) -> Ix {
    if let Ix::Mul(n, quotient) = &len
        && let Ix::Div(whole, by) = &**quotient
        && n == by
        && fun.requires.contains(&Guard::Cmp(Rel::Eq, Ix::Mod(whole.clone(), *by), Ix::Lit(0)))
    {
        return (**whole).clone();
    }
    len
}

/// The copy: its last axis filled up to a length where that is asked for.
fn nest((a, p): (Buffer, Buffer), axes: &[Axis], vars: &[Var], pad: Option<&(i64, Lit)>, span: At) -> Stmt {
    let at = |buffer: Buffer, at: Vec<Ix>| Access { buffer, at, span };
    let source = at(a, axes.iter().zip(vars).map(|(axis, x)| axis.global(*x)).collect());
    let to = at(p, vars.iter().map(|x| Ix::Var(*x)).collect());
    let mut word = Word::Load(source);
    let mut lengths: Vec<Ix> = axes.iter().map(|a| a.len.clone()).collect();
    if let (Some((n, fill)), Some(len), Some(x)) = (pad, lengths.last_mut(), vars.last()) {
        let inside = Guard::Cmp(Rel::Lt, Ix::Var(*x), len.clone());
        word = Word::If(Box::new(inside), Box::new(word), Box::new(Word::Lit(*fill)));
        *len = Ix::Lit(*n);
    }
    let store = Stmt { kind: StmtKind::Store { to, word }, span };
    vars.iter().zip(lengths).rev().fold(store, |body, (var, hi)| {
        let domain = Domain::Range { lo: Ix::Lit(0), hi };
        Stmt { kind: StmtKind::For { var: *var, domain, body: vec![body] }, span }
    })
}

/// The copy with groups of neighbours along its last axis, each a vector; the last group is masked.
fn in_lanes(
    (a, p): (Buffer, Buffer),
    axes: &[Axis],
    (rows, group, lane): (&[Var], Var, Var),
    lanes: i64,
    span: At,
) -> Stmt {
    let Some((last, before)) = axes.split_last() else { return nest((a, p), axes, rows, None, span) };
    let at = |buffer: Buffer, at: Vec<Ix>| Access { buffer, at, span };
    let place = Ix::InBlock(group, Box::new(Ix::Var(lane)));
    let from = before.iter().zip(rows).map(|(axis, x)| axis.global(*x)).chain([last.global_of(place.clone())]);
    let source = at(a, from.collect());
    let to = at(p, rows.iter().map(|x| Ix::Var(*x)).chain([place]).collect());
    let store = Stmt { kind: StmtKind::Store { to, word: Word::Load(source) }, span };
    let around =
        |body: Stmt, (var, domain): (Var, Domain)| Stmt { kind: StmtKind::For { var, domain, body: vec![body] }, span };
    let vector = around(store, (lane, Domain::Range { lo: Ix::Lit(0), hi: Ix::Block(group, BlockPart::Len) }));
    let groups = around(vector, (group, Domain::Blocks { lo: Ix::Lit(0), hi: last.len.clone(), size: lanes }));
    let ranges = before.iter().zip(rows).map(|(axis, x)| (*x, Domain::Range { lo: Ix::Lit(0), hi: axis.len.clone() }));
    ranges.rev().fold(groups, around)
}

/// Whether a statement is a copy made before, or the lease of one.
fn is_copy(fun: &Fun, stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Lease { .. } => true,
        StmtKind::For { body, .. } => matches!(body.as_slice(), [only] if is_copy(fun, only)),
        StmtKind::Grid(g) => matches!(g.body.as_slice(), [only] if is_copy(fun, only)),
        StmtKind::Store { to, .. } => fun.scratch.contains(&to.buffer),
        _ => false,
    }
}
