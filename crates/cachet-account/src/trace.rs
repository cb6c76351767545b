//! What does a function touch, in order, where its sizes have values? Its loops, conditions and indices depend on no data,
//! so nothing has to be computed: its statements are walked one after another.
//!
//! It shares no rule with the counts in sizes; those are tried against it. The lanes of a vector statement come one after
//! another; what is the same in all of them happens in the first.

use cachet_core::instance::instantiate;
use cachet_core::ir::{
    Access, Binding, Block, BlockPart, Buffer, Call, Domain, Fold, Fun, Guard, Ix, Layout, Level, Local, Op, Prim,
    Program, Reduce, Rel, Shape, Stmt, StmtKind, Strides, Ty, Var, Word,
};
use cachet_core::layout;
use cachet_core::rewrite::{Live, Visit};
use cachet_core::vectors;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Something that happens.
#[derive(Debug)]
pub enum Event<'a> {
    /// An array comes into being: the function's parameters in their order, and what is allocated.
    Made {
        /// Its number.
        array: usize,
        /// The bytes from its first to its last.
        bytes: u64,
        /// Where it is kept.
        level: &'a Level,
    },
    /// The block ends that an array was allocated in.
    Gone {
        /// Its number.
        array: usize,
    },
    /// A cell is read or written.
    Touched(Touched<'a>),
    /// A lease begins.
    Leased {
        /// Its number.
        lease: usize,
        /// The array.
        array: usize,
        /// The bytes of the whole array.
        bytes: u64,
        /// Where it is kept otherwise.
        from: &'a Level,
        /// Where it is kept now.
        to: &'a Level,
        /// Whether it may be written.
        mutable: bool,
    },
    /// A lease ends.
    Ended {
        /// Its number.
        lease: usize,
    },
    /// An operation.
    Done(Prim),
}

/// A cell that is read or written.
#[derive(Debug)]
pub struct Touched<'a> {
    /// The array.
    pub array: usize,
    /// How far from its start, in bytes.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
    /// Whether it is written.
    pub written: bool,
    /// The name in force where it is an array of the function itself; what the caller calls a parameter.
    pub name: &'a str,
    /// The level that it is kept in under that name.
    pub level: &'a Level,
    /// The leases that it is touched through, the outermost first.
    pub leases: &'a [usize],
}

/// Why a function cannot be followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lost {
    /// A type parameter is open.
    Open,
    /// A size has no value, or an index leaves 64 bits.
    Unknown,
    /// More happens than was allowed.
    TooLong,
}

/// Follows a function at implementations and sizes, in the order of its size parameters; at most so many accesses and iterations.
pub fn follow(
    program: &Program,
    fun: &Fun,
    types: &[Binding],
    sizes: &[i64],
    most: u64,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<(), Lost> {
    let fun = instantiate(program, fun, types);
    let mut all = All { program, watch, left: most, arrays: 0, leases: 0, depth: 0 };
    let mut frame = Frame::new(&fun);
    for (v, n) in fun.sizes.iter().zip(sizes) {
        frame.values[v.index()] = Some(*n);
    }
    for p in &fun.params {
        let known = frame.made(*p, &mut all)?;
        frame.buffers[p.index()] = Some(known);
    }
    frame.block(&fun.body, &mut all)
}

struct All<'a> {
    program: &'a Program,
    watch: &'a mut dyn FnMut(Event<'_>),
    left: u64,
    arrays: usize,
    leases: usize,
    depth: usize,
}

/// An array, or a box of one.
struct Array {
    number: usize,
    /// The extents of the whole array.
    extents: Vec<i64>,
    layout: Layout,
    /// Distances in elements, where they are not the layout's.
    strides: Option<Vec<i64>>,
    bytes: u64,
    of_element: u64,
}

#[derive(Clone)]
struct Known {
    array: Rc<Array>,
    /// Where the box starts; empty for the whole.
    start: Rc<[i64]>,
    leases: Rc<[usize]>,
    name: Rc<str>,
    level: Rc<Level>,
}

struct Frame<'f> {
    fun: &'f Fun,
    values: Vec<Option<i64>>,
    /// Where a block begins, and how long it is.
    blocks: Vec<(i64, i64)>,
    buffers: Vec<Option<Known>>,
}

/// The lanes of a vector statement.
struct Lane {
    var: Var,
    first: bool,
    varying: BTreeSet<Local>,
}

/// What ends with a block.
enum End {
    Lease(usize),
    Array(usize),
}

type Done = Result<(), Lost>;

impl<'f> Frame<'f> {
    fn new(fun: &'f Fun) -> Frame<'f> {
        Frame {
            fun,
            values: vec![None; fun.vars.len()],
            blocks: vec![(0, 0); fun.vars.len()],
            buffers: vec![None; fun.buffers.len()],
        }
    }

    /// A parameter of the outermost function, or an array that is allocated.
    fn made(&self, b: Buffer, all: &mut All<'_>) -> Result<Known, Lost> {
        let info = &self.fun.buffers[b.index()];
        let extents: Vec<i64> = info.extents.iter().map(|e| self.ix(e)).collect::<Result<_, _>>()?;
        let of_element = size(&info.elem).ok_or(Lost::Open)?;
        let (strides, elements) = match &info.strides {
            Strides::Contiguous => (None, layout::room(&info.layout, &extents).ok_or(Lost::Unknown)?),
            Strides::Given(vars) => {
                let strides = vars.iter().map(|v| self.ix(&Ix::Var(*v))).collect::<Result<Vec<_>, _>>()?;
                let last: i64 = strides.iter().zip(&extents).map(|(s, n)| s * (n - 1)).sum();
                let all = if extents.contains(&0) { 0 } else { last + 1 };
                (Some(strides), all)
            }
        };
        let bytes = u64::try_from(elements).map_err(|_| Lost::Unknown)? * of_element;
        let number = all.arrays;
        all.arrays += 1;
        (all.watch)(Event::Made { array: number, bytes, level: &info.level });
        let array = Array { number, extents, layout: info.layout.clone(), strides, bytes, of_element };
        Ok(Known {
            array: Rc::new(array),
            start: Rc::from([]),
            leases: Rc::from([]),
            name: Rc::from(info.name.as_str()),
            level: Rc::new(info.level.clone()),
        })
    }

    fn block(&mut self, block: &Block, all: &mut All<'_>) -> Done {
        let mut open = Vec::new();
        for s in block {
            self.stmt(s, &mut open, all)?;
        }
        for end in open.into_iter().rev() {
            (all.watch)(match end {
                End::Lease(lease) => Event::Ended { lease },
                End::Array(array) => Event::Gone { array },
            });
        }
        Ok(())
    }

    fn stmt(&mut self, s: &Stmt, open: &mut Vec<End>, all: &mut All<'_>) -> Done {
        if let Some(lanes) = vectors::of(&self.fun.vars, s) {
            return self.lanes(&lanes, all);
        }
        match &s.kind {
            StmtKind::For { var, domain, body } => {
                self.over(&[(*var, domain.clone())], all, &mut |f, all| f.block(body, all))
            }
            StmtKind::Grid(g) => self.over(&g.axes, all, &mut |f, all| f.block(&g.body, all)),
            StmtKind::If { guard, then, els } => {
                let block = if self.guard(guard)? { then } else { els };
                self.block(block, all)
            }
            StmtKind::Let { word, .. } | StmtKind::Print(word) => self.word(word, None, all),
            StmtKind::Var { init, .. } => self.word(init, None, all),
            StmtKind::Assign { word, .. } => self.word(word, None, all),
            StmtKind::Store { to, word } => {
                self.word(word, None, all)?;
                self.touch(to, true, all)
            }
            StmtKind::Alloc(b) => {
                let known = self.made(*b, all)?;
                open.push(End::Array(known.array.number));
                self.buffers[b.index()] = Some(known);
                Ok(())
            }
            StmtKind::Lease { lease, of, mutable } => {
                let info = &self.fun.buffers[lease.index()];
                let known = self.known(*of)?.clone();
                let number = all.leases;
                all.leases += 1;
                open.push(End::Lease(number));
                (all.watch)(Event::Leased {
                    lease: number,
                    array: known.array.number,
                    bytes: known.array.bytes,
                    from: &known.level,
                    to: &info.level,
                    mutable: *mutable,
                });
                let leases = known.leases.iter().copied().chain([number]).collect();
                let (name, level) = (Rc::from(info.name.as_str()), Rc::new(info.level.clone()));
                self.buffers[lease.index()] = Some(Known { leases, name, level, ..known });
                Ok(())
            }
            StmtKind::Call(c) => self.call(c, all),
        }
    }

    fn over(
        &mut self,
        axes: &[(Var, Domain)],
        all: &mut All<'_>,
        body: &mut dyn FnMut(&mut Self, &mut All<'_>) -> Done,
    ) -> Done {
        let Some(((v, domain), rest)) = axes.split_first() else { return body(self, all) };
        let each = |f: &mut Self, n: i64, all: &mut All<'_>, body: &mut dyn FnMut(&mut Self, &mut All<'_>) -> Done| {
            all.left = all.left.checked_sub(1).ok_or(Lost::TooLong)?;
            f.values[v.index()] = Some(n);
            f.over(rest, all, body)
        };
        match domain {
            Domain::Range { lo, hi } => {
                for n in self.ix(lo)?..self.ix(hi)? {
                    each(self, n, all, body)?;
                }
            }
            Domain::Blocks { lo, hi, size } => {
                let (lo, hi) = (self.ix(lo)?, self.ix(hi)?);
                let mut start = lo;
                let mut n = 0;
                while start < hi {
                    self.blocks[v.index()] = (start, (*size).min(hi - start));
                    each(self, n, all, body)?;
                    start += size;
                    n += 1;
                }
            }
        }
        Ok(())
    }

    fn lanes(&mut self, lanes: &vectors::Lanes<'_>, all: &mut All<'_>) -> Done {
        let mut lane = Lane { var: lanes.var, first: true, varying: BTreeSet::new() };
        for n in 0..self.ix(lanes.active)? {
            self.values[lanes.var.index()] = Some(n);
            lane.first = n == 0;
            match &lanes.stmt.kind {
                StmtKind::Store { to, word } => {
                    self.word(word, Some(&mut lane), all)?;
                    self.touch(to, true, all)?;
                }
                StmtKind::Assign { word, .. } => self.word(word, Some(&mut lane), all)?,
                _ => self.stmt(lanes.stmt, &mut Vec::new(), all)?,
            }
        }
        Ok(())
    }

    fn word(&mut self, word: &Word, mut lane: Option<&mut Lane>, all: &mut All<'_>) -> Done {
        if let Some(l) = &lane
            && !varies(word, l)
        {
            return if l.first { self.word(word, None, all) } else { Ok(()) };
        }
        match word {
            Word::Lit(_) | Word::Index(..) | Word::Local(..) => Ok(()),
            Word::Load(a) => self.touch(a, false, all),
            Word::Op { op, args, .. } => {
                for a in args {
                    self.word(a, lane.as_deref_mut(), all)?;
                }
                match op {
                    Op::Prim(p) => (all.watch)(Event::Done(*p)),
                    Op::Method(..) => return Err(Lost::Open),
                }
                Ok(())
            }
            Word::Apply(p, args) => {
                for a in args {
                    self.word(a, lane.as_deref_mut(), all)?;
                }
                let pure = all.program.pures.get(p.index()).ok_or(Lost::Unknown)?;
                // It reads nothing.
                self.word(&pure.body, None, all)
            }
            Word::Tuple(parts) => parts.iter().try_for_each(|a| self.word(a, lane.as_deref_mut(), all)),
            Word::Part(a, _) => self.word(a, lane, all),
            Word::Let(local, a, b) => {
                let differs = lane.as_ref().is_some_and(|l| varies(a, l));
                self.word(a, lane.as_deref_mut(), all)?;
                if let (true, Some(l)) = (differs, &mut lane) {
                    l.varying.insert(*local);
                }
                self.word(b, lane, all)
            }
            Word::If(g, a, b) => {
                let word = if self.guard(g)? { a } else { b };
                let alone = lane.as_ref().is_some_and(|l| {
                    let mut live = Live::default();
                    live.guard(g);
                    live.vars.contains(&l.var) && vectors::masked_load(word_of(g, a, b).as_ref(), l.var).is_none()
                });
                self.word(word, if alone { None } else { lane }, all)
            }
            Word::Fold(f) => self.fold(f, all),
            Word::Reduce(r) => self.reduce(r, all),
            Word::Differing(a, b) => {
                for b in [a, b] {
                    let known = self.known(*b)?.clone();
                    let extents = self.extents(*b)?;
                    let mut at = vec![0; extents.len()];
                    if extents.iter().all(|n| *n > 0) {
                        while {
                            touched(&known, &at, false, all)?;
                            next(&mut at, &extents)
                        } {}
                    }
                }
                Ok(())
            }
        }
    }

    fn fold(&mut self, f: &Fold, all: &mut All<'_>) -> Done {
        self.word(&f.init, None, all)?;
        self.over(&[(f.var, f.domain.clone())], all, &mut |s, all| s.word(&f.body, None, all))
    }

    fn reduce(&mut self, r: &Reduce, all: &mut All<'_>) -> Done {
        self.word(&r.empty, None, all)?;
        let mut n: i64 = 0;
        self.over(&[(r.var, r.domain.clone())], all, &mut |s, all| {
            n += 1;
            s.word(&r.element, None, all)
        })?;
        let joins = match r.shape {
            Shape::Order => n,
            Shape::Halving => (n - 1).max(0),
            Shape::Lanes(lanes) => n + i64::from(lanes) - 1,
        };
        (0..joins).try_for_each(|_| self.word(&r.combine, None, all))
    }

    fn touch(&mut self, a: &Access, written: bool, all: &mut All<'_>) -> Done {
        let at: Vec<i64> = a.at.iter().map(|i| self.ix(i)).collect::<Result<_, _>>()?;
        touched(self.known(a.buffer)?, &at, written, all)
    }

    fn known(&self, b: Buffer) -> Result<&Known, Lost> {
        self.buffers.get(b.index()).and_then(Option::as_ref).ok_or(Lost::Unknown)
    }

    fn extents(&self, b: Buffer) -> Result<Vec<i64>, Lost> {
        self.fun.buffers[b.index()].extents.iter().map(|e| self.ix(e)).collect()
    }

    fn call(&mut self, c: &Call, all: &mut All<'_>) -> Done {
        if all.depth > cachet_core::ir::MAX_DEPTH {
            return Err(Lost::TooLong);
        }
        let callee = instantiate(all.program, &all.program.funs[c.fun.index()], &c.types);
        let mut frame = Frame::new(&callee);
        for (v, ix) in callee.sizes.iter().zip(&c.sizes) {
            frame.values[v.index()] = Some(self.ix(ix)?);
        }
        for (p, view) in callee.params.iter().zip(&c.args) {
            let mut known = self.known(view.buffer)?.clone();
            if let Some(axes) = &view.axes {
                let starts: Vec<i64> = axes.iter().map(|(s, _)| self.ix(s)).collect::<Result<_, _>>()?;
                let before = known.start.clone();
                known.start = starts.iter().enumerate().map(|(n, s)| s + before.get(n).copied().unwrap_or(0)).collect();
            }
            frame.buffers[p.index()] = Some(known);
        }
        all.depth += 1;
        let done = frame.block(&callee.body, all);
        all.depth -= 1;
        done
    }

    fn ix(&self, ix: &Ix) -> Result<i64, Lost> {
        let two = |a: &Ix, b: &Ix| Ok((self.ix(a)?, self.ix(b)?));
        let known = |n: Option<i64>| n.ok_or(Lost::Unknown);
        match ix {
            Ix::Lit(n) => Ok(*n),
            Ix::Var(v) => known(self.values[v.index()]),
            Ix::Add(a, b) => two(a, b).and_then(|(a, b)| known(a.checked_add(b))),
            Ix::Sub(a, b) => two(a, b).and_then(|(a, b)| known(a.checked_sub(b))),
            Ix::Mul(n, a) => known(self.ix(a)?.checked_mul(*n)),
            Ix::Div(a, n) => Ok(self.ix(a)?.div_euclid(*n)),
            Ix::Mod(a, n) => Ok(self.ix(a)?.rem_euclid(*n)),
            Ix::Min(a, b) => two(a, b).map(|(a, b)| a.min(b)),
            Ix::Max(a, b) => two(a, b).map(|(a, b)| a.max(b)),
            Ix::If(g, a, b) => self.ix(if self.guard(g)? { a } else { b }),
            Ix::Block(g, part) => {
                let (lo, len) = self.blocks[g.index()];
                match part {
                    BlockPart::Lo => Ok(lo),
                    BlockPart::Hi => Ok(lo + len),
                    BlockPart::Len => Ok(len),
                    BlockPart::Idx => known(self.values[g.index()]),
                }
            }
            Ix::InBlock(g, e) => Ok(self.blocks[g.index()].0 + self.ix(e)?),
        }
    }

    fn guard(&self, g: &Guard) -> Result<bool, Lost> {
        Ok(match g {
            Guard::Const(b) => *b,
            Guard::Cmp(rel, a, b) => {
                let (a, b) = (self.ix(a)?, self.ix(b)?);
                match rel {
                    Rel::Eq => a == b,
                    Rel::Ne => a != b,
                    Rel::Lt => a < b,
                    Rel::Le => a <= b,
                }
            }
            Guard::And(a, b) => self.guard(a)? && self.guard(b)?,
            Guard::Or(a, b) => self.guard(a)? || self.guard(b)?,
            Guard::Not(a) => !self.guard(a)?,
        })
    }
}

fn touched(known: &Known, at: &[i64], written: bool, all: &mut All<'_>) -> Done {
    all.left = all.left.checked_sub(1).ok_or(Lost::TooLong)?;
    let a = &*known.array;
    let at = |n: usize| at[n] + known.start.get(n).copied().unwrap_or(0);
    let place = match (&a.strides, &a.layout) {
        (Some(strides), _) => strides.iter().enumerate().map(|(n, s)| s * at(n)).sum(),
        (None, Layout::RowMajor) => a.extents.iter().enumerate().fold(0, |place, (n, extent)| place * extent + at(n)),
        (None, Layout::Named { .. }) => {
            let whole: Vec<i64> = (0..a.extents.len()).map(at).collect();
            layout::place(&a.layout, &a.extents, &whole)
        }
    };
    let offset = u64::try_from(place).map_err(|_| Lost::Unknown)? * a.of_element;
    (all.watch)(Event::Touched(Touched {
        array: a.number,
        offset,
        bytes: a.of_element,
        written,
        name: &known.name,
        level: &known.level,
        leases: &known.leases,
    }));
    Ok(())
}

/// The next index, row after row. Whether there is one.
fn next(at: &mut [i64], extents: &[i64]) -> bool {
    for n in (0..at.len()).rev() {
        at[n] += 1;
        if at[n] < extents[n] {
            return true;
        }
        at[n] = 0;
    }
    false
}

fn size(ty: &Ty) -> Option<u64> {
    match ty {
        Ty::Elem(e) => Some(e.bytes()),
        Ty::Abstract(_) => None,
        Ty::Tuple(parts) => parts.iter().map(size).sum(),
    }
}

fn varies(word: &Word, lane: &Lane) -> bool {
    let live = Live::of_word(word);
    live.vars.contains(&lane.var) || lane.varying.iter().any(|l| live.locals.contains(l))
}

fn word_of(g: &Guard, a: &Word, b: &Word) -> Box<Word> {
    Box::new(Word::If(Box::new(g.clone()), Box::new(a.clone()), Box::new(b.clone())))
}
