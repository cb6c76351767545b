//! How many lines does a level fetch at most, if it keeps what was used last, whatever the program says of it?
//!
//! A level holds so many lines. The *footprint* of a nest is a bound on how many lines it touches: for each array the smaller
//! of the whole and of the boxes that its accesses go through. A nest whose footprint fits fetches no line twice. One that does
//! not fit fetches what its parts fetch, one after another; and where two iterations of a loop fit together, an array that all of them
//! touch in the same place is fetched once for the whole loop, and one that they go through piece by piece, in order, so many lines as
//! the pieces have.
//!
//! Theorem. For a cache of one set that lets the least recently used line go, and arrays that begin at a line, this is an upper
//! bound at every size. For between two uses of a line inside a nest that fits, no more lines are used than the level has.
//! Sets of few ways, and what is fetched ahead, are not in it.

mod form;

use crate::account;
use crate::count::{Count, Values};
use crate::tally::{Mode, Walk};
use cachet_core::ir::{
    Access, Block, Buffer, Call, Domain, Fun, Ix, Layout, Program, Stmt, StmtKind, Strides, Ty, Var, View, Word,
};
use cachet_core::layout;
use cachet_core::rewrite::{Visit, visit_stmt, visit_word};
use cachet_machine::platform::Platform;
use form::{Atom, Form, Loop, common};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The bytes that a level fetches at most.
#[derive(Clone, PartialEq, Debug)]
pub struct Fetched {
    /// The level.
    pub into: String,
    /// The one behind it.
    pub from: String,
    /// How many bytes.
    pub bytes: f64,
}

/// What each level of a platform fetches at fixed sizes. `None` where a size has no value, or an extent depends on a loop.
pub fn fetched(program: &Program, fun: &Fun, values: &Values, platform: &Platform) -> Option<Vec<Fetched>> {
    let nest = Nest::of(program, fun, values)?;
    let behind = platform.levels.iter().skip(1);
    let levels = platform.levels.iter().zip(behind).filter_map(|(level, behind)| {
        let g = crate::cache::Geometry::of_part(level)?;
        let lines = nest.lines(g.capacity() / g.line, g.line);
        Some(Fetched { into: level.name.clone(), from: behind.name.clone(), bytes: lines * g.line as f64 })
    });
    Some(levels.collect())
}

/// The lines of so many bytes that a cache of so many lines does not have at most, at fixed sizes.
pub fn lines(program: &Program, fun: &Fun, values: &Values, (capacity, line): (u64, u64)) -> Option<f64> {
    Some(Nest::of(program, fun, values)?.lines(capacity, line))
}

/// A function's loops and accesses, without anything else.
#[derive(Default)]
struct Nest {
    loops: Vec<Loop>,
    arrays: Vec<Array>,
    accesses: Vec<Touch>,
    root: Node,
}

/// An access.
struct Touch {
    array: usize,
    at: Vec<Form>,
    /// What decides whether it happens at all, and not in the iterations from one to another.
    under: Rc<Vec<Form>>,
}

struct Array {
    element: i64,
    extents: Vec<i64>,
    layout: Layout,
    /// Whether its elements lie where the layout says.
    plain: bool,
    /// The loops around where it is made: it is another one in each iteration.
    fresh: Vec<usize>,
}

enum Node {
    Access(usize),
    All(Vec<Node>),
    Loop(usize, Box<Node>),
}

impl Default for Node {
    fn default() -> Node {
        Node::All(Vec::new())
    }
}

/// An array, and what moves each of an access's subscripts.
type Direction<'n> = (usize, Vec<&'n [(Atom, i64)]>);

/// Lines of each array.
type Lines = BTreeMap<usize, f64>;

impl Nest {
    fn of(program: &Program, fun: &Fun, values: &Values) -> Option<Nest> {
        let mut made = Maker { nest: Nest::default(), values, around: Vec::new(), lost: false };
        account::walking(program, fun, Mode::Full, &mut |walk| {
            let mut known = Known::default();
            for p in &fun.params {
                made.array(walk, &mut known, *p);
            }
            let root = made.block(walk, &mut known, &walk.scope.fun.body);
            made.nest.root = root;
        });
        (!made.lost).then_some(made.nest)
    }

    fn lines(&self, capacity: u64, line: u64) -> f64 {
        let cache = Cache { nest: self, capacity: capacity as f64, line: line as i64 };
        cache.fetched(&self.root).values().sum()
    }
}

struct Cache<'n> {
    nest: &'n Nest,
    capacity: f64,
    line: i64,
}

impl Cache<'_> {
    fn fetched(&self, node: &Node) -> Lines {
        let all = self.footprint(node);
        if all.values().sum::<f64>() <= self.capacity {
            return all;
        }
        let mut out = Lines::new();
        match node {
            Node::Access(_) => return all,
            Node::All(parts) => {
                for part in parts {
                    self.fetched(part).into_iter().for_each(|(a, n)| *out.entry(a).or_default() += n);
                }
            }
            Node::Loop(l, body) => {
                let one = self.footprint(body);
                let moves: BTreeSet<usize> =
                    accesses(body).filter(|a| self.moves(*a, *l)).map(|a| self.nest.accesses[a].array).collect();
                let again: f64 = one.iter().filter(|(a, _)| moves.contains(a)).map(|(_, n)| n).sum();
                let trips = self.nest.loops[*l].trips as f64;
                if one.values().sum::<f64>() + again <= self.capacity {
                    let in_order = self.in_order(*l, body);
                    for (a, n) in one {
                        let most = match moves.contains(&a) {
                            false => all.get(&a).copied().unwrap_or(n),
                            true => in_order.get(&a).map_or(trips * n, |lines| lines.min(trips * n)),
                        };
                        out.insert(a, most);
                    }
                } else {
                    self.fetched(body).into_iter().for_each(|(a, n)| *out.entry(a).or_default() += trips * n);
                }
            }
        }
        out
    }

    /// The lines of arrays whose every line all accesses use in iterations one after another, each access for itself.
    fn in_order(&self, l: usize, body: &Node) -> Lines {
        let mut inside = BTreeSet::new();
        loops(body, &mut inside);
        let mut seen = BTreeSet::new();
        let (mut out, mut lost) = (Lines::new(), BTreeSet::new());
        for a in accesses(body) {
            let Touch { array, at, under } = &self.nest.accesses[a];
            if !seen.insert((*array, at)) {
                continue;
            }
            let of = &self.nest.arrays[*array];
            let conditional = under.iter().any(|f| f.depends(&self.nest.loops, l));
            if conditional || of.fresh.contains(&l) || !self.goes_on(at, l, &inside) {
                lost.insert(*array);
                continue;
            }
            inside.insert(l);
            *out.entry(*array).or_default() += of.pieces(at, &self.nest.loops, &inside, self.line);
            inside.remove(&l);
        }
        out.retain(|a, _| !lost.contains(a));
        out
    }

    /// Whether each element of what an access goes through in a loop is used in iterations one after another: the loop's index is in
    /// one subscript, and what one iteration uses there has no gaps.
    fn goes_on(&self, at: &[Form], l: usize, inside: &BTreeSet<usize>) -> bool {
        let loops = &self.nest.loops;
        let mut moving = at.iter().filter(|f| f.depends(loops, l));
        let (Some(f), None) = (moving.next(), moving.next()) else { return at.iter().all(|f| !f.depends(loops, l)) };
        let of_loop = |a: &Atom| matches!(a, Atom::Index(m) | Atom::First(m) if *m == l);
        let longest = f.terms.iter().filter_map(|(a, n)| match a {
            Atom::Index(m) if *n == 1 && inside.contains(m) && loops[*m].lo.terms.is_empty() => Some(loops[*m].trips),
            _ => None,
        });
        let longest = longest.max().unwrap_or(0);
        f.terms.iter().all(|(a, n)| {
            let moves = Form { terms: vec![(a.clone(), 1)], constant: 0 };
            match a {
                a if of_loop(a) => true,
                _ if moves.depends(loops, l) => false,
                _ if moves.spread(loops, inside) == 0 => true,
                Atom::Index(m) => *n == 1 && loops[*m].lo.terms.is_empty(),
                Atom::First(m) => *n == 1 && loops[*m].block.is_some_and(|size| size <= longest),
                Atom::Length(_)
                | Atom::Number(_)
                | Atom::Quotient(..)
                | Atom::Remainder(..)
                | Atom::OneOf(_)
                | Atom::Unknown(_)
                | Atom::Everywhere => false,
            }
        })
    }

    /// Whether an access goes elsewhere in other iterations of a loop, or does not happen in some.
    fn moves(&self, access: usize, l: usize) -> bool {
        let Touch { array, at, under } = &self.nest.accesses[access];
        let depends = |f: &Form| f.depends(&self.nest.loops, l);
        self.nest.arrays[*array].fresh.contains(&l) || at.iter().chain(&**under).any(depends)
    }

    fn footprint(&self, node: &Node) -> Lines {
        let mut inside = BTreeSet::new();
        loops(node, &mut inside);
        // Accesses that differ by a number go through one box together.
        let mut boxes: BTreeMap<Direction<'_>, Vec<(i64, i64)>> = BTreeMap::new();
        for a in accesses(node) {
            let Touch { array, at, under: _ } = &self.nest.accesses[a];
            let terms = at.iter().map(|f| f.terms.as_slice()).collect();
            let constants = at.iter().map(|f| (f.constant, f.constant));
            match boxes.entry((*array, terms)) {
                std::collections::btree_map::Entry::Vacant(e) => {
                    e.insert(constants.collect());
                }
                std::collections::btree_map::Entry::Occupied(mut e) => {
                    for (known, (c, _)) in e.get_mut().iter_mut().zip(constants) {
                        *known = (known.0.min(c), known.1.max(c));
                    }
                }
            }
        }
        let mut out = Lines::new();
        for ((array, terms), constants) in boxes {
            let forms = terms.iter().zip(constants);
            let at: Vec<(Form, i64)> =
                forms.map(|(t, (least, most))| (Form { terms: t.to_vec(), constant: least }, most - least)).collect();
            *out.entry(array).or_default() += self.nest.arrays[array].lines(&at, &self.nest.loops, &inside, self.line);
        }
        for (array, n) in &mut out {
            let of = &self.nest.arrays[*array];
            let copies = of.fresh.iter().filter(|l| inside.contains(l)).map(|l| self.nest.loops[*l].trips as f64);
            *n = n.min(of.whole(self.line)) * copies.product::<f64>();
        }
        out
    }
}

fn loops(node: &Node, out: &mut BTreeSet<usize>) {
    match node {
        Node::Access(_) => {}
        Node::All(parts) => parts.iter().for_each(|p| loops(p, out)),
        Node::Loop(l, body) => {
            out.insert(*l);
            loops(body, out);
        }
    }
}

fn accesses(node: &Node) -> Box<dyn Iterator<Item = usize> + '_> {
    match node {
        Node::Access(a) => Box::new(std::iter::once(*a)),
        Node::All(parts) => Box::new(parts.iter().flat_map(accesses)),
        Node::Loop(_, body) => accesses(body),
    }
}

/// An axis of a box in memory.
#[derive(Clone, Copy)]
struct Axis {
    /// How many indices the box has there, and the array.
    has: i64,
    of: i64,
    /// What the box's first index is a multiple of; 0 where it is 0.
    aligned: i64,
}

impl Array {
    /// Lines of all of it.
    fn whole(&self, line: i64) -> f64 {
        let elements = layout::physical_lengths(&self.layout, &self.extents).iter().map(|n| *n as f64).product::<f64>();
        (elements * self.element as f64 / line as f64).ceil()
    }

    /// Lines of the pieces that lie in order of the last axis in memory, each for itself.
    fn pieces(&self, at: &[Form], loops: &[Loop], inside: &BTreeSet<usize>, line: i64) -> f64 {
        let at: Vec<(Form, i64)> = at.iter().map(|f| (f.clone(), 0)).collect();
        let axes = self.axes(&at, loops, inside);
        let Some((last, others)) = axes.split_last() else { return 1.0 };
        if !self.plain {
            return axes.iter().map(|a| a.has as f64).product();
        }
        let (mut stride, mut aligned) = (last.of, last.aligned);
        for a in others.iter().rev() {
            aligned = common(aligned, a.aligned.saturating_mul(stride));
            if a.has > 1 {
                aligned = common(aligned, stride);
            }
            stride = stride.saturating_mul(a.of);
        }
        let first = common(aligned.saturating_mul(self.element), line);
        let bytes = last.has.saturating_mul(self.element);
        let most = ((line - first).saturating_add(bytes) as f64 / line as f64).ceil();
        others.iter().map(|a| a.has as f64).product::<f64>() * most
    }

    fn axes(&self, at: &[(Form, i64)], loops: &[Loop], inside: &BTreeSet<usize>) -> Vec<Axis> {
        let logical = at.iter().zip(&self.extents).map(|((f, more), of)| Axis {
            has: length(f, *more, *of, loops, inside),
            of: *of,
            aligned: f.alignment(loops, inside),
        });
        layout::over(layout::ops(&self.layout), logical.collect(), |axis, by, back| {
            let (outer, inner) = split(axis, by);
            // From the end of its group, a part of one starts anywhere.
            let aligned = if back && inner.has < inner.of { 1 } else { inner.aligned };
            (outer, Axis { aligned, ..inner })
        })
    }

    /// Lines of the box that an access goes through; each form is given with how far others lie beyond it.
    fn lines(&self, at: &[(Form, i64)], loops: &[Loop], inside: &BTreeSet<usize>, line: i64) -> f64 {
        if !self.plain {
            let cells = at.iter().zip(&self.extents).map(|((f, more), e)| length(f, *more, *e, loops, inside) as f64);
            return cells.product();
        }
        let axes = self.axes(at, loops, inside);
        // Whole axes at the end make one piece with the next one.
        let (mut run, mut stride, mut aligned, mut pieces, mut open, mut far) = (1i64, 1i64, 0i64, 1f64, true, 0i64);
        for a in axes.iter().rev() {
            aligned = common(aligned, a.aligned.saturating_mul(stride));
            far = far.saturating_add((a.has - 1).max(0).saturating_mul(stride));
            if open {
                run = run.saturating_mul(a.has);
                open = a.has == a.of;
            } else {
                pieces *= a.has as f64;
                if a.has > 1 {
                    aligned = common(aligned, stride);
                }
            }
            stride = stride.saturating_mul(a.of);
        }
        let of = |elements: i64| {
            let first = common(aligned.saturating_mul(self.element), line);
            let bytes = elements.saturating_mul(self.element);
            ((line - first).saturating_add(bytes) as f64 / line as f64).ceil()
        };
        (pieces * of(run)).min(of(far.saturating_add(1)))
    }
}

/// How many indices a form goes through, at most all of the axis.
fn length(f: &Form, more: i64, of: i64, loops: &[Loop], inside: &BTreeSet<usize>) -> i64 {
    f.spread(loops, inside).saturating_add(more).saturating_add(1).min(of)
}

/// A box's axis that the layout splits in groups.
fn split(a: Axis, by: i64) -> (Axis, Axis) {
    let groups = a.of.div_euclid(by) + i64::from(a.of.rem_euclid(by) != 0);
    let up = |n: i64| n / by + i64::from(n % by != 0);
    if a.has == a.of {
        return (Axis { has: groups, of: groups, aligned: 0 }, Axis { has: by, of: by, aligned: 0 });
    }
    if a.aligned % by == 0 {
        let outer = Axis { has: up(a.has), of: groups, aligned: a.aligned / by };
        return (outer, Axis { has: a.has.min(by), of: by, aligned: 0 });
    }
    let step = common(a.aligned, by);
    if a.has <= step {
        return (Axis { has: 1, of: groups, aligned: 1 }, Axis { has: a.has, of: by, aligned: step });
    }
    let outer = Axis { has: (up(a.has - 1) + 1).min(groups), of: groups, aligned: 1 };
    (outer, Axis { has: by, of: by, aligned: 0 })
}

/// What a function's names stand for while it is walked.
#[derive(Clone, Default)]
struct Known {
    /// Arrays, with where a part that was lent begins.
    buffers: BTreeMap<Buffer, (usize, Vec<Form>)>,
    loops: BTreeMap<Var, usize>,
    /// What decides whether this is reached.
    under: Rc<Vec<Form>>,
}

struct Maker<'v> {
    nest: Nest,
    values: &'v Values,
    around: Vec<usize>,
    /// Whether something has no number.
    lost: bool,
}

impl Maker<'_> {
    fn number(&mut self, n: Option<i64>) -> i64 {
        self.lost |= n.is_none();
        n.unwrap_or(1)
    }

    fn value(&self, c: &Count) -> Option<i64> {
        i64::try_from(c.value(self.values)?).ok()
    }

    fn form(&self, walk: &Walk<'_, '_>, known: &Known, ix: &Ix) -> Form {
        let size = |walk: &Walk<'_, '_>, ix: &Ix| self.value(&walk.scope.ix(ix));
        Form::of(walk, ix, &|v| known.loops.get(&v).copied(), &size)
    }

    fn array(&mut self, walk: &Walk<'_, '_>, known: &mut Known, b: Buffer) {
        let info = &walk.scope.fun.buffers[b.index()];
        let most = |e: &Ix| walk.scope.ranges.most(&walk.scope.ix(e)).and_then(|c| self.value(&c));
        let extents: Vec<Option<i64>> = info.extents.iter().map(most).collect();
        let extents = extents.into_iter().map(|n| self.number(n).max(0)).collect();
        let element = element(&info.elem);
        let element = self.number(element);
        let plain = matches!(info.strides, Strides::Contiguous);
        let array = Array { element, extents, layout: info.layout.clone(), plain, fresh: self.around.clone() };
        self.nest.arrays.push(array);
        known.buffers.insert(b, (self.nest.arrays.len() - 1, Vec::new()));
    }

    fn block(&mut self, walk: &mut Walk<'_, '_>, known: &mut Known, block: &Block) -> Node {
        Node::All(block.iter().map(|s| self.stmt(walk, known, s)).collect())
    }

    fn stmt(&mut self, walk: &mut Walk<'_, '_>, known: &mut Known, s: &Stmt) -> Node {
        match &s.kind {
            StmtKind::For { var, domain, body } => self.nest(walk, known, &[(*var, domain.clone())], body),
            StmtKind::Grid(g) => self.nest(walk, known, &g.axes, &g.body),
            StmtKind::If { guard, then, els } => {
                let mut live = cachet_core::rewrite::Live::default();
                live.guard(guard);
                let mut inside = known.clone();
                let forms = live.vars.iter().map(|v| self.form(walk, known, &Ix::Var(*v)));
                Rc::make_mut(&mut inside.under).extend(forms);
                Node::All(vec![self.block(walk, &mut inside.clone(), then), self.block(walk, &mut inside, els)])
            }
            StmtKind::Alloc(b) => {
                self.array(walk, known, *b);
                Node::default()
            }
            StmtKind::Lease { lease, of, .. } => {
                if let Some(array) = known.buffers.get(of).cloned() {
                    known.buffers.insert(*lease, array);
                }
                Node::default()
            }
            StmtKind::Call(c) => self.call(walk, known, c),
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Print(_) => {
                let mut words = Words { maker: self, walk, known, out: Vec::new() };
                words.stmt(s);
                Node::All(words.out)
            }
        }
    }

    fn nest(&mut self, walk: &mut Walk<'_, '_>, known: &mut Known, axes: &[(Var, Domain)], body: &Block) -> Node {
        let Some(((v, domain), rest)) = axes.split_first() else { return self.block(walk, &mut known.clone(), body) };
        self.over(walk, known, (*v, domain), &mut |this, walk, known| this.nest(walk, known, rest, body))
    }

    fn over(
        &mut self,
        walk: &mut Walk<'_, '_>,
        known: &mut Known,
        (v, domain): (Var, &Domain),
        body: &mut dyn FnMut(&mut Self, &mut Walk<'_, '_>, &mut Known) -> Node,
    ) -> Node {
        let range = walk.scope.range(domain);
        let trips = Mode::Full.sum(&Count::lit(1), walk.scope.var(v), &range, &walk.scope.ranges);
        let trips = walk.scope.ranges.most(&trips).and_then(|c| self.value(&c));
        let trips = self.number(trips).max(0);
        let (lo, hi, block) = match domain {
            Domain::Range { lo, hi } => (lo, hi, None),
            Domain::Blocks { lo, hi, size } => (lo, hi, Some(*size)),
        };
        let ends = [self.form(walk, known, lo), self.form(walk, known, hi)];
        let mut inside = known.clone();
        let jumps = ends.iter().filter(|f| f.jumps()).cloned();
        Rc::make_mut(&mut inside.under).extend(jumps);
        let [lo, _] = ends;
        self.nest.loops.push(Loop { trips, lo, block });
        let l = self.nest.loops.len() - 1;
        inside.loops.insert(v, l);
        walk.scope.enter(v, &range);
        self.around.push(l);
        let body = body(self, walk, &mut inside);
        self.around.pop();
        walk.scope.ranges.leave();
        Node::Loop(l, Box::new(body))
    }

    fn call(&mut self, walk: &mut Walk<'_, '_>, known: &Known, c: &Call) -> Node {
        let lent: Vec<_> = c.args.iter().map(|view| self.lent(walk, known, view)).collect();
        let under = known.under.clone();
        let done = walk.call(c, &mut |callee| {
            let mut inside = Known { under: under.clone(), ..Known::default() };
            for (p, array) in callee.scope.fun.params.iter().zip(&lent) {
                match array {
                    Some(array) => {
                        inside.buffers.insert(*p, array.clone());
                    }
                    None => self.lost = true,
                }
            }
            let fun = callee.scope.fun;
            self.block(callee, &mut inside, &fun.body)
        });
        self.lost |= done.is_none();
        done.unwrap_or_default()
    }

    fn lent(&self, walk: &Walk<'_, '_>, known: &Known, view: &View) -> Option<(usize, Vec<Form>)> {
        let (array, start) = known.buffers.get(&view.buffer)?.clone();
        let Some(axes) = &view.axes else { return Some((array, start)) };
        let here = axes.iter().map(|(s, _)| self.form(walk, known, s));
        let start = match start.is_empty() {
            true => here.collect(),
            false => here.zip(&start).map(|(f, s)| f.plus(1, s)).collect(),
        };
        Some((array, start))
    }

    fn access(&mut self, walk: &Walk<'_, '_>, known: &Known, a: &Access) -> Option<Node> {
        let (array, start) = known.buffers.get(&a.buffer)?.clone();
        let here = a.at.iter().map(|i| self.form(walk, known, i));
        let at = match start.is_empty() {
            true => here.collect(),
            false => here.zip(&start).map(|(f, s)| f.plus(1, s)).collect(),
        };
        self.nest.accesses.push(Touch { array, at, under: known.under.clone() });
        Some(Node::Access(self.nest.accesses.len() - 1))
    }
}

/// The accesses of a statement that has no others inside.
struct Words<'m, 'v, 'w, 'a, 's, 'k> {
    maker: &'m mut Maker<'v>,
    walk: &'w mut Walk<'a, 's>,
    known: &'k mut Known,
    out: Vec<Node>,
}

impl Words<'_, '_, '_, '_, '_, '_> {
    fn inside(&mut self, over: (Var, &Domain), word: &Word) {
        let node = self.maker.over(self.walk, self.known, over, &mut |maker, walk, known| {
            let mut words = Words { maker, walk, known, out: Vec::new() };
            words.word(word);
            Node::All(words.out)
        });
        self.out.push(node);
    }

    fn all_of(&mut self, b: Buffer) {
        let Some((array, _)) = self.known.buffers.get(&b) else { return };
        let under = self.known.under.clone();
        let at = self.maker.nest.arrays[*array].extents.iter().map(|_| Form::anywhere()).collect();
        self.maker.nest.accesses.push(Touch { array: *array, at, under });
        self.out.push(Node::Access(self.maker.nest.accesses.len() - 1));
    }
}

impl Visit for Words<'_, '_, '_, '_, '_, '_> {
    fn stmt(&mut self, s: &Stmt) {
        visit_stmt(self, s);
    }

    fn word(&mut self, word: &Word) {
        match word {
            Word::Fold(f) => {
                self.word(&f.init);
                self.inside((f.var, &f.domain), &f.body);
            }
            Word::Reduce(r) => {
                self.word(&r.empty);
                self.inside((r.var, &r.domain), &r.element);
            }
            Word::If(guard, a, b) => {
                let mut live = cachet_core::rewrite::Live::default();
                live.guard(guard);
                let before = self.known.under.clone();
                let forms: Vec<Form> =
                    live.vars.iter().map(|v| self.maker.form(self.walk, self.known, &Ix::Var(*v))).collect();
                Rc::make_mut(&mut self.known.under).extend(forms);
                self.word(a);
                self.word(b);
                self.known.under = before;
            }
            Word::Differing(a, b) => {
                self.all_of(*a);
                self.all_of(*b);
            }
            Word::Lit(_)
            | Word::Index(..)
            | Word::Load(_)
            | Word::Local(..)
            | Word::Op { .. }
            | Word::Apply(..)
            | Word::Tuple(_)
            | Word::Part(..)
            | Word::Let(..) => visit_word(self, word),
        }
    }

    fn load(&mut self, a: &Access) {
        let node = self.maker.access(self.walk, self.known, a);
        self.out.extend(node);
    }

    fn store(&mut self, a: &Access) {
        self.load(a);
    }
}

/// The bytes of an element; `None` for an open type.
fn element(ty: &Ty) -> Option<i64> {
    match ty {
        Ty::Elem(e) => i64::try_from(e.bytes()).ok(),
        Ty::Abstract(_) => None,
        Ty::Tuple(parts) => parts.iter().try_fold(0, |n, p| Some(n + element(p)?)),
    }
}
