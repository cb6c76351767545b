//! Running a function on terms.

mod grid;
mod lanes;
mod lend;
mod word;

use super::Fault;
use super::term::{Id, Term, Terms};
use cachet_core::ir::{
    Access, At, Binding, BlockPart, Buffer, Domain, Fun, Guard, ImplId, Ix, MAX_DIM, Program, Rel, Role, Stmt,
    StmtKind, TypeParam, Var,
};
use cachet_core::print::Names;

/// Why a run ended early.
pub(super) enum Stop {
    Fault(Fault),
    NotApplicable,
    TooBig,
}

pub(super) type Ran<T> = Result<T, Stop>;

/// How deep calls may nest.
const MAX_CALLS: usize = 24;
/// How deep statements, words and calls together may nest on the native stack.
const MAX_STACK: usize = 1200;
/// How many cells all arrays together may have.
const MAX_CELLS: usize = 2_000_000;

/// Cells in row-major order; `None` where nothing was written.
struct Store {
    extents: Vec<i64>,
    cells: Vec<Option<Id>>,
}

/// A box of a store.
#[derive(Clone)]
struct View {
    store: usize,
    /// Start and length per axis, in the store's coordinates.
    axes: Vec<(i64, i64)>,
}

/// A loop's variable: the index or the block's start, its end, and its number.
type Value = (i64, i64, i64);

/// What a type parameter stands for.
#[derive(Clone, Copy)]
enum Bound {
    Impl(ImplId),
    /// A parameter of the outermost function.
    Top(TypeParam),
}

/// A function under way.
struct Frame<'p> {
    fun: &'p Fun,
    vars: Vec<Value>,
    locals: Vec<Vec<Id>>,
    views: Vec<Option<View>>,
    types: Vec<Bound>,
}

/// A grid iteration under way.
struct Iteration {
    first_own: usize,
    windows: Vec<View>,
}

/// A run.
pub(super) struct Machine<'p, 't> {
    program: &'p Program,
    terms: &'t mut Terms,
    events: u64,
    depth: usize,
    stores: Vec<Store>,
    frames: Vec<Frame<'p>>,
    iterations: Vec<Iteration>,
    printed: Vec<Id>,
    span: At,
}

/// What a run left behind.
pub(super) struct Finished {
    /// Per parameter.
    pub(super) params: Vec<Vec<Option<Id>>>,
    pub(super) extents: Vec<Vec<i64>>,
    pub(super) printed: Vec<Id>,
}

impl<'p, 't> Machine<'p, 't> {
    pub(super) fn new(program: &'p Program, terms: &'t mut Terms, events: u64) -> Machine<'p, 't> {
        Machine {
            program,
            terms,
            events,
            depth: 0,
            stores: vec![],
            frames: vec![],
            iterations: vec![],
            printed: vec![],
            span: At::default(),
        }
    }

    /// Runs a function on free symbols.
    pub(super) fn whole(&mut self, fun: &'p Fun, sizes: &[i64]) -> Ran<()> {
        if sizes.len() != fun.sizes.len() || sizes.iter().any(|n| *n < 0) {
            return Err(Stop::NotApplicable);
        }
        let types = (0..fun.type_params.len() as u32).map(|p| Bound::Top(TypeParam(p))).collect();
        self.frames.push(frame(fun, types));
        self.set_sizes(fun, sizes)?;
        for g in &fun.requires {
            if !self.guard(g)? {
                return Err(Stop::NotApplicable);
            }
        }
        for (n, p) in fun.params.iter().enumerate() {
            let extents = self.extents(*p)?;
            if extents.iter().any(|n| *n < 0) {
                return Err(Stop::NotApplicable);
            }
            let known = !fun.produces.contains(p) && !fun.scratch.contains(p);
            let store = self.make(&extents)?;
            if known {
                for cell in 0..self.stores[store].cells.len() {
                    let symbol = self.terms.make(Term::Cell(n as u32, indices(cell, &extents)));
                    self.stores[store].cells[cell] = Some(symbol);
                }
            }
            self.top().views[p.index()] = Some(View { store, axes: extents.iter().map(|n| (0, *n)).collect() });
        }
        self.block(&fun.body)?;
        self.produced()
    }

    /// How many more events the run might have had.
    pub(super) fn left(&self) -> u64 {
        self.events
    }

    /// What the parameters of the outermost function hold.
    pub(super) fn finish(self) -> Finished {
        let params = self.frames.first().map_or(0, |f| f.fun.params.len());
        let mut out = Finished { params: vec![], extents: vec![], printed: self.printed };
        for s in self.stores.into_iter().take(params) {
            out.params.push(s.cells);
            out.extents.push(s.extents);
        }
        out
    }

    /// Every cell of what the function produces is written.
    fn produced(&mut self) -> Ran<()> {
        let fun = self.fun();
        for p in &fun.produces {
            let Some(view) = self.here().views[p.index()].clone() else { continue };
            for at in points(&view) {
                if self.stores[view.store].cells[self.position(view.store, &at)].is_none() {
                    let own: Vec<i64> = at.iter().zip(&view.axes).map(|(i, a)| i - a.0).collect();
                    let text = format!("`{}` leaves {}{own:?} unwritten", fun.name, fun.buffers[p.index()].name);
                    return Err(Stop::Fault(Fault { text, span: fun.span }));
                }
            }
        }
        Ok(())
    }

    fn here(&self) -> &Frame<'p> {
        &self.frames[self.frames.len() - 1]
    }

    fn top(&mut self) -> &mut Frame<'p> {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn fun(&self) -> &'p Fun {
        self.here().fun
    }

    fn names(&self) -> Names<'p> {
        Names::of(self.program, self.fun())
    }

    fn fault<T>(&self, text: impl Into<String>, span: At) -> Ran<T> {
        Err(Stop::Fault(Fault { text: text.into(), span }))
    }

    fn event(&mut self) -> Ran<()> {
        if self.events == 0 || self.terms.len() > 1 << 22 {
            return Err(Stop::TooBig);
        }
        self.events -= 1;
        Ok(())
    }

    /// Goes one level down; the caller comes up again, unless the run ends.
    fn down(&mut self) -> Ran<()> {
        self.depth += 1;
        if self.depth > MAX_STACK { Err(Stop::TooBig) } else { Ok(()) }
    }

    fn make(&mut self, extents: &[i64]) -> Ran<usize> {
        let cells = match extents.contains(&0) {
            true => Some(0),
            false => extents.iter().try_fold(1usize, |c, n| c.checked_mul(usize::try_from(*n).ok()?)),
        };
        let held: usize = self.stores.iter().map(|s| s.cells.len()).sum();
        match cells {
            Some(cells) if cells.saturating_add(held) <= MAX_CELLS => {
                self.stores.push(Store { extents: extents.to_vec(), cells: vec![None; cells] });
                Ok(self.stores.len() - 1)
            }
            _ => Err(Stop::TooBig),
        }
    }

    fn position(&self, store: usize, at: &[i64]) -> usize {
        at.iter().zip(&self.stores[store].extents).fold(0, |p, (i, n)| p * *n as usize + *i as usize)
    }

    fn set_sizes(&mut self, fun: &Fun, sizes: &[i64]) -> Ran<()> {
        for (v, n) in fun.sizes.iter().zip(sizes) {
            self.top().vars[v.index()] = (*n, 0, 0);
        }
        Ok(())
    }

    fn extents(&self, b: Buffer) -> Ran<Vec<i64>> {
        self.fun().buffers[b.index()].extents.iter().map(|e| self.ix(e)).collect()
    }

    /// An index.
    fn ix(&self, ix: &Ix) -> Ran<i64> {
        let var = |v: &Var| self.here().vars[v.index()];
        let value = match ix {
            Ix::Lit(n) => Some(*n),
            Ix::Var(v) => Some(var(v).0),
            Ix::Add(a, b) => self.ix(a)?.checked_add(self.ix(b)?),
            Ix::Sub(a, b) => self.ix(a)?.checked_sub(self.ix(b)?),
            Ix::Mul(n, a) => self.ix(a)?.checked_mul(*n),
            Ix::Div(a, n) if *n > 0 => Some(self.ix(a)?.div_euclid(*n)),
            Ix::Mod(a, n) if *n > 0 => Some(self.ix(a)?.rem_euclid(*n)),
            Ix::Div(..) | Ix::Mod(..) => None,
            Ix::Min(a, b) => Some(self.ix(a)?.min(self.ix(b)?)),
            Ix::Max(a, b) => Some(self.ix(a)?.max(self.ix(b)?)),
            Ix::If(g, a, b) => Some(if self.guard(g)? { self.ix(a)? } else { self.ix(b)? }),
            Ix::Block(v, BlockPart::Lo) => Some(var(v).0),
            Ix::Block(v, BlockPart::Hi) => Some(var(v).1),
            Ix::Block(v, BlockPart::Len) => var(v).1.checked_sub(var(v).0),
            Ix::Block(v, BlockPart::Idx) => Some(var(v).2),
            Ix::InBlock(v, a) => var(v).0.checked_add(self.ix(a)?),
        };
        value.ok_or(Stop::TooBig)
    }

    fn ixs(&self, at: &[Ix]) -> Ran<Vec<i64>> {
        at.iter().map(|i| self.ix(i)).collect()
    }

    /// A guard.
    fn guard(&self, g: &Guard) -> Ran<bool> {
        Ok(match g {
            Guard::Const(c) => *c,
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

    /// The values that a loop's variable takes.
    fn turns(&mut self, d: &Domain) -> Ran<Vec<Value>> {
        let (lo, hi, size) = match d {
            Domain::Range { lo, hi } => (self.ix(lo)?, self.ix(hi)?, 1),
            Domain::Blocks { lo, hi, size } => (self.ix(lo)?, self.ix(hi)?, (*size).max(1)),
        };
        let mut out = Vec::new();
        let (mut at, mut number) = (lo, 0);
        while at < hi {
            self.event()?;
            let end = at.saturating_add(size).min(hi);
            out.push((at, end, number));
            (at, number) = (end, number + 1);
        }
        Ok(out)
    }

    fn block(&mut self, block: &'p [Stmt]) -> Ran<()> {
        self.down()?;
        let stores = self.stores.len();
        for s in block {
            self.span = s.span;
            self.event()?;
            self.stmt(s)?;
        }
        // What the block made ends with it. Its names go too: a function that was refused may use one out of scope.
        for s in block {
            if let StmtKind::Alloc(b) | StmtKind::Lease { lease: b, .. } = s.kind {
                self.top().views[b.index()] = None;
            }
        }
        self.stores.truncate(stores);
        self.depth -= 1;
        Ok(())
    }

    fn stmt(&mut self, s: &'p Stmt) -> Ran<()> {
        match &s.kind {
            StmtKind::For { var, domain, body } => {
                if let Some(lanes) = cachet_core::vectors::of(&self.fun().vars, s) {
                    return self.lanes(&lanes, domain);
                }
                for turn in self.turns(domain)? {
                    self.top().vars[var.index()] = turn;
                    self.block(body)?;
                }
            }
            StmtKind::Grid(g) => self.grid(g)?,
            StmtKind::If { guard, then, els } => {
                let side = if self.guard(guard)? { then } else { els };
                self.block(side)?;
            }
            StmtKind::Let { local, word } | StmtKind::Var { local, init: word } => {
                let id = self.word(word)?;
                let cells =
                    self.fun().locals[local.index()].dims.iter().try_fold(1usize, |c, n| c.checked_mul(*n as usize));
                match cells {
                    Some(cells) if cells <= MAX_CELLS => self.top().locals[local.index()] = vec![id; cells],
                    _ => return Err(Stop::TooBig),
                }
            }
            StmtKind::Assign { local, at, word } => {
                let id = self.word(word)?;
                let cell = self.local_cell(*local, at)?;
                self.top().locals[local.index()][cell] = id;
            }
            StmtKind::Store { to, word } => {
                let id = self.word(word)?;
                let (store, cell) = self.find(to, true)?;
                self.stores[store].cells[cell] = Some(id);
            }
            StmtKind::Alloc(b) => {
                let extents = self.extents(*b)?;
                if let Some(n) = extents.iter().find(|n| !(0..=MAX_DIM).contains(*n)) {
                    let info = &self.fun().buffers[b.index()];
                    return self.fault(format!("an extent of `{}` would be {n}", info.name), info.span);
                }
                let store = self.make(&extents)?;
                self.top().views[b.index()] = Some(View { store, axes: extents.iter().map(|n| (0, *n)).collect() });
            }
            StmtKind::Lease { lease, of, mutable: _ } => {
                let view = self.here().views[of.index()].clone();
                self.top().views[lease.index()] = view;
            }
            StmtKind::Call(c) => self.call(c)?,
            StmtKind::Print(w) => {
                let id = self.word(w)?;
                self.printed.push(id);
            }
        }
        Ok(())
    }

    /// Store and position of a cell, after all checks.
    fn find(&mut self, access: &'p Access, write: bool) -> Ran<(usize, usize)> {
        let info = &self.fun().buffers[access.buffer.index()];
        let at = self.ixs(&access.at)?;
        if write && info.role == Role::Reads {
            return self.fault(
                format!("`{}` is read only and `{}` writes it", info.name, self.names().access(access)),
                access.span,
            );
        }
        let Some(view) = self.here().views[access.buffer.index()].clone() else {
            return self.fault(format!("`{}` does not exist yet", info.name), access.span);
        };
        if view.axes.len() != at.len() || at.iter().zip(&view.axes).any(|(i, a)| *i < 0 || *i >= a.1) {
            let extents: Vec<i64> = view.axes.iter().map(|a| a.1).collect();
            let text =
                format!("`{}` is {}{at:?}, outside its extents {extents:?}", self.names().access(access), info.name);
            return self.fault(text, access.span);
        }
        let at: Vec<i64> = at.iter().zip(&view.axes).map(|(i, a)| a.0 + i).collect();
        let cell = View { store: view.store, axes: at.iter().map(|i| (*i, 1)).collect() };
        if !self.may_touch(&cell, write) {
            let verb = if write { "writes" } else { "reads" };
            let text =
                format!("a grid iteration {verb} `{}`, at {at:?}, outside its windows", self.names().access(access));
            return self.fault(text, access.span);
        }
        Ok((view.store, self.position(view.store, &at)))
    }

    fn local_cell(&mut self, local: cachet_core::ir::Local, at: &[Ix]) -> Ran<usize> {
        let info = &self.fun().locals[local.index()];
        let at = self.ixs(at)?;
        let mut cell = 0usize;
        if at.len() != info.dims.len() {
            return self.fault(format!("`{}` with the wrong number of subscripts", info.name), self.span);
        }
        for (i, n) in at.iter().zip(&info.dims) {
            if i < &0 || i >= n {
                return self.fault(
                    format!("`{}` is used at {at:?}, outside its extents {:?}", info.name, info.dims),
                    self.span,
                );
            }
            cell = cell * *n as usize + *i as usize;
        }
        Ok(cell)
    }

    fn bound(&self, binding: Binding) -> Bound {
        match binding {
            Binding::Impl(i) => Bound::Impl(i),
            Binding::Param(p) => self.here().types.get(p.index()).copied().unwrap_or(Bound::Top(p)),
        }
    }
}

fn frame(fun: &Fun, types: Vec<Bound>) -> Frame<'_> {
    Frame {
        fun,
        vars: vec![(0, 0, 0); fun.vars.len()],
        locals: vec![Vec::new(); fun.locals.len()],
        views: vec![None; fun.buffers.len()],
        types,
    }
}

/// The indices of the cell at a row-major position.
pub(super) fn indices(mut cell: usize, extents: &[i64]) -> Vec<i64> {
    let mut at = vec![0; extents.len()];
    for (i, n) in at.iter_mut().zip(extents).rev() {
        *i = (cell % (*n).max(1) as usize) as i64;
        cell /= (*n).max(1) as usize;
    }
    at
}

/// The cells of a view, in the store's coordinates.
fn points(view: &View) -> Vec<Vec<i64>> {
    // Other axes may be as long as no memory is.
    if view.axes.iter().any(|(_, len)| *len == 0) {
        return Vec::new();
    }
    let mut out = vec![Vec::new()];
    for (start, len) in &view.axes {
        out = out
            .into_iter()
            .flat_map(|p: Vec<i64>| (*start..start + len).map(move |i| [p.as_slice(), &[i]].concat()))
            .collect();
    }
    out
}
