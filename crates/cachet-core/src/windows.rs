//! What may one iteration of a grid write? The boxes that hold its stores.
//!
//! Per written buffer one box that holds its stores and what is read of it, per axis the smallest interval that can be read off:
//! inner loop variables are replaced by the ends of their ranges. Where nothing can be read off, or the interval might have
//! a negative length, the whole axis. The guess is not believed: the checker proves that each
//! iteration stays inside its windows and that the windows are apart.

use crate::ir::{
    Access, Block, BlockPart, Buffer, BufferInfo, Domain, Ix, Role, Stmt, StmtKind, Var, View, Window, Word,
};
use crate::linear::{Linear, difference, multiple, sum};
use crate::rewrite::{Live, Visit, visit_block, visit_stmt, visit_word};
use std::collections::{BTreeMap, BTreeSet};

/// The windows of a grid's body, in the order in which its buffers are first written. Buffers made inside have none.
///
/// `axes` are the grid's own variables. Along an axis that tells iterations apart only stores count: a read of another
/// iteration's part is to be seen as that.
pub fn infer(buffers: &[BufferInfo], axes: &[Var], body: &Block) -> Vec<Window> {
    let (boxes, reads) = (Vec::new(), Vec::new());
    let mut found =
        Stores { buffers, inner: BTreeMap::new(), own: BTreeSet::new(), leases: BTreeMap::new(), boxes, reads };
    visit_block(&mut found, body);
    found.widen(axes);
    let Stores { own, boxes, .. } = found;
    boxes
        .into_iter()
        .filter(|(b, _)| !own.contains(b))
        .map(|(buffer, axes)| Window {
            buffer,
            axes: axes.into_iter().map(|(lo, hi)| (lo.clone(), difference(&hi, &lo))).collect(),
        })
        .collect()
}

/// The interval that an index runs through while the loops of a block run, in terms of what is known outside: from, and up
/// to but not including. `None` where it cannot be read off. A guess, like all here.
pub fn interval(inner: &BTreeMap<Var, Domain>, ix: &Ix) -> Option<(Ix, Ix)> {
    let (own, boxes, reads) = (BTreeSet::new(), Vec::new(), Vec::new());
    Stores { buffers: &[], inner: inner.clone(), own, leases: BTreeMap::new(), boxes, reads }.closed(ix)
}

/// From, and up to but not including.
pub type Span = (Ix, Ix);

struct Stores<'a> {
    buffers: &'a [BufferInfo],
    /// Loops and sums inside the grid.
    inner: BTreeMap<Var, Domain>,
    own: BTreeSet<Buffer>,
    /// Leases inside the body: outside it their arrays go by their own names.
    leases: BTreeMap<Buffer, Buffer>,
    boxes: Vec<(Buffer, Vec<Span>)>,
    /// What is read, in order.
    reads: Vec<(Buffer, Vec<Span>)>,
}

impl Visit for Stores<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For { var, domain, .. } => {
                self.inner.insert(*var, domain.clone());
            }
            StmtKind::Grid(g) => self.inner.extend(g.axes.iter().cloned()),
            StmtKind::Alloc(b) => {
                self.own.insert(*b);
            }
            StmtKind::Lease { lease, of, .. } => {
                self.leases.insert(*lease, *of);
            }
            StmtKind::Call(c) => c.args.iter().for_each(|v| self.lend(v)),
            StmtKind::Store { .. }
            | StmtKind::If { .. }
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Print(_) => {}
        }
        visit_stmt(self, stmt);
    }

    fn word(&mut self, word: &Word) {
        match word {
            Word::Fold(f) => {
                self.inner.insert(f.var, f.domain.clone());
            }
            Word::Reduce(r) => {
                self.inner.insert(r.var, r.domain.clone());
            }
            Word::Lit(_)
            | Word::Index(..)
            | Word::Load(_)
            | Word::Local(..)
            | Word::Op { .. }
            | Word::Apply(..)
            | Word::Tuple(_)
            | Word::Part(..)
            | Word::Let(..)
            | Word::If(..)
            | Word::Differing(..) => {}
        }
        visit_word(self, word);
    }

    fn store(&mut self, access: &Access) {
        let spans = self.spans(access);
        self.reach(self.root(access.buffer), spans);
    }

    fn load(&mut self, access: &Access) {
        let spans = self.spans(access);
        self.reads.push((self.root(access.buffer), spans));
    }
}

impl Stores<'_> {
    /// The array that a lease is another name of, as far as its name is known outside.
    fn root(&self, mut buffer: Buffer) -> Buffer {
        while let Some(of) = self.leases.get(&buffer) {
            buffer = *of;
        }
        buffer
    }

    /// What is read of a written buffer, along the axes that no variable of the grid tells apart.
    fn widen(&mut self, axes: &[Var]) {
        for (buffer, spans) in std::mem::take(&mut self.reads) {
            let Some((_, known)) = self.boxes.iter_mut().find(|(b, _)| *b == buffer) else { continue };
            let extents = &self.buffers[buffer.index()].extents;
            for ((k, s), extent) in known.iter_mut().zip(spans).zip(extents) {
                let mut live = Live::of_ix(&k.0).vars;
                live.extend(Live::of_ix(&k.1).vars);
                if !axes.iter().any(|v| live.contains(v)) {
                    *k = hull(k, &s, extent);
                }
            }
        }
    }

    fn spans(&self, access: &Access) -> Vec<Span> {
        let extents = &self.buffers[access.buffer.index()].extents;
        access.at.iter().zip(extents).map(|(i, e)| self.closed(i).unwrap_or((Ix::Lit(0), e.clone()))).collect()
    }

    /// What is lent may be written, unless its role says that it never is.
    fn lend(&mut self, view: &View) {
        let info = &self.buffers[view.buffer.index()];
        if info.role == Role::Reads {
            return;
        }
        let whole: Vec<Span> = info.extents.iter().map(|e| (Ix::Lit(0), e.clone())).collect();
        let spans = match &view.axes {
            None => whole,
            Some(axes) => axes
                .iter()
                .zip(whole)
                .map(|((start, len), whole)| {
                    let end = self.closed(&sum(start, len)).map(|(_, hi)| difference(&hi, &Ix::Lit(1)));
                    match (self.closed(start), end) {
                        (Some((lo, _)), Some(hi)) => (lo, hi),
                        _ => whole,
                    }
                })
                .collect(),
        };
        self.reach(self.root(view.buffer), spans);
    }

    fn reach(&mut self, buffer: Buffer, spans: Vec<Span>) {
        match self.boxes.iter_mut().find(|(b, _)| *b == buffer) {
            None => self.boxes.push((buffer, spans)),
            Some((_, known)) => {
                let extents = &self.buffers[buffer.index()].extents;
                for ((k, s), extent) in known.iter_mut().zip(spans).zip(extents) {
                    *k = hull(k, &s, extent);
                }
            }
        }
    }

    /// The interval of an index, in terms of what is known outside the grid's body. A block's length inside is at most
    /// its size.
    fn closed(&self, ix: &Ix) -> Option<Span> {
        let (lo, hi) = self.span(ix)?;
        let hi = self.without_lengths(&hi)?;
        let open = |i: &Ix| Live::of_ix(i).vars.iter().any(|v| self.inner.contains_key(v));
        (!open(&lo) && !open(&hi) && self.is_natural(&difference(&hi, &lo))).then_some((lo, hi))
    }

    /// Whether an index is surely not negative, as far as can be seen.
    fn is_natural(&self, ix: &Ix) -> bool {
        let natural = |t: &Ix| match t {
            Ix::Block(..) | Ix::Mod(..) => true,
            // A size, or a loop around the grid: most start at 0, and whether this one does is not decided here.
            Ix::Var(_) => true,
            Ix::Div(a, _) => self.is_natural(a),
            Ix::Lit(_)
            | Ix::Add(..)
            | Ix::Sub(..)
            | Ix::Mul(..)
            | Ix::Min(..)
            | Ix::Max(..)
            | Ix::If(..)
            | Ix::InBlock(..) => false,
        };
        Linear::of(ix).is_some_and(|l| l.constant >= 0 && l.terms.iter().all(|(n, t)| *n > 0 && natural(t)))
    }

    fn without_lengths(&self, ix: &Ix) -> Option<Ix> {
        let Linear { terms, constant } = Linear::of(ix)?;
        let mut out = Linear { terms: Vec::new(), constant };
        for (n, t) in &terms {
            match t {
                Ix::Block(g, BlockPart::Len) if *n > 0 => match self.inner.get(g) {
                    Some(Domain::Blocks { size, .. }) => out.add(*n, &Ix::Lit(*size))?,
                    Some(Domain::Range { .. }) | None => out.add(*n, t)?,
                },
                t => out.add(*n, t)?,
            }
        }
        Some(out.to_ix())
    }

    /// The interval that an index runs through while the loops inside the grid run.
    fn span(&self, ix: &Ix) -> Option<Span> {
        let point = |i: &Ix| (i.clone(), sum(i, &Ix::Lit(1)));
        match ix {
            Ix::Lit(_) => Some(point(ix)),
            Ix::Var(v) => match self.inner.get(v) {
                None => Some(point(ix)),
                Some(Domain::Range { lo, hi }) => Some((self.span(lo)?.0, self.last(hi)?)),
                Some(Domain::Blocks { .. }) => None,
            },
            Ix::Add(a, b) => {
                let ((al, ah), (bl, bh)) = (self.span(a)?, self.span(b)?);
                Some((sum(&al, &bl), difference(&sum(&ah, &bh), &Ix::Lit(1))))
            }
            Ix::Sub(a, b) => {
                let ((al, ah), (bl, bh)) = (self.span(a)?, self.span(b)?);
                Some((sum(&difference(&al, &bh), &Ix::Lit(1)), difference(&ah, &bl)))
            }
            Ix::Mul(n, a) => {
                let (lo, hi) = self.span(a)?;
                let last = difference(&hi, &Ix::Lit(1));
                let (from, to) = if *n >= 0 { (&lo, &last) } else { (&last, &lo) };
                Some((multiple(*n, from), sum(&multiple(*n, to), &Ix::Lit(1))))
            }
            Ix::Div(a, n) => {
                let (lo, hi) = self.span(a)?;
                let last = Ix::Div(Box::new(difference(&hi, &Ix::Lit(1))), *n);
                Some((Ix::Div(Box::new(lo), *n), sum(&last, &Ix::Lit(1))))
            }
            Ix::Mod(a, n) => {
                let (lo, hi) = self.span(a)?;
                Some(if hi == sum(&lo, &Ix::Lit(1)) { point(ix) } else { (Ix::Lit(0), Ix::Lit(*n)) })
            }
            Ix::InBlock(g, e) => self.in_block(*g, e),
            Ix::Block(g, part) => match self.inner.get(g) {
                None => Some(point(ix)),
                Some(Domain::Blocks { lo, hi, size }) => match part {
                    BlockPart::Lo => Some((self.span(lo)?.0, self.last(hi)?)),
                    BlockPart::Hi => Some((sum(&self.span(lo)?.0, &Ix::Lit(1)), sum(&self.last(hi)?, &Ix::Lit(1)))),
                    BlockPart::Len => Some((Ix::Lit(1), Ix::Lit(size.checked_add(1)?))),
                    BlockPart::Idx => None,
                },
                Some(Domain::Range { .. }) => None,
            },
            Ix::Min(..) | Ix::Max(..) | Ix::If(..) => None,
        }
    }

    /// `g[e]`: inside the block where `e` is, and inside all blocks where `g` is a loop inside the grid.
    fn in_block(&self, g: Var, e: &Ix) -> Option<Span> {
        let (from, to) = self.span(e)?;
        let Some(domain) = self.inner.get(&g) else {
            let first = Ix::Block(g, BlockPart::Lo);
            return Some((sum(&first, &from), sum(&first, &to)));
        };
        let Domain::Blocks { lo, hi, .. } = domain else { return None };
        let within = from == Ix::Lit(0) && to == Ix::Block(g, BlockPart::Len);
        let (first, last) = (self.span(lo)?.0, self.last(hi)?);
        if within {
            return Some((first, last));
        }
        // The block's own length says nothing once the block is gone.
        let beyond = self.span(&difference(&to, &Ix::Lit(1)))?.1;
        Some((sum(&first, &from), difference(&sum(&last, &beyond), &Ix::Lit(1))))
    }

    /// The largest value that the end of a range takes.
    fn last(&self, hi: &Ix) -> Option<Ix> {
        match hi {
            // The end of a loop inside a block of the grid's own iteration stays as it is.
            Ix::Block(g, BlockPart::Len) if !self.inner.contains_key(g) => Some(hi.clone()),
            Ix::Block(g, BlockPart::Len) => Some(Ix::Block(*g, BlockPart::Len)),
            hi => Some(difference(&self.span(hi)?.1, &Ix::Lit(1))),
        }
    }
}

/// The smallest interval that holds two. What is accessed lies between 0 and the extent of its axis, so an interval that
/// starts or ends there cannot grow.
pub fn hull(a: &Span, b: &Span, extent: &Ix) -> Span {
    let zero = [&a.0, &b.0].into_iter().find(|i| **i == Ix::Lit(0));
    let whole = [&a.1, &b.1].into_iter().find(|i| difference(i, extent) == Ix::Lit(0));
    let lo = zero.cloned().unwrap_or_else(|| smaller(&a.0, &b.0, true));
    let hi = whole.cloned().unwrap_or_else(|| smaller(&a.1, &b.1, false));
    (lo, hi)
}

/// The smaller, or the larger, of two ends.
fn smaller(a: &Ix, b: &Ix, smaller: bool) -> Ix {
    match difference(a, b) {
        Ix::Lit(n) => {
            if (n <= 0) == smaller {
                a.clone()
            } else {
                b.clone()
            }
        }
        _ if smaller => Ix::Min(Box::new(a.clone()), Box::new(b.clone())),
        _ => Ix::Max(Box::new(a.clone()), Box::new(b.clone())),
    }
}
