//! Statements: what fills arrays, loops, grids, calls, and the rest.

use super::{Cells, Draw, Lending, Mut, Use, bx, cell, coverage, plus, words};
use cachet_core::ir::{
    At, Binding, Block, Call, Domain, Elem, Fun, Grid, Guard, ImplId, Ix, Layout, Prim, Rel, Role, Stmt, StmtKind, Ty,
    Var, VarKind, View, Window, Word,
};

/// How many statements a block may start with.
const MOST_STATEMENTS: usize = 3;

impl Draw<'_> {
    /// Something that holds of some sizes and not of others.
    pub(super) fn requirement(&mut self) {
        let size = self.pick(&self.sizes.clone());
        let n = self.random.between(0, 2);
        let guard = match self.below(3) {
            0 => Guard::Cmp(Rel::Le, Ix::Lit(n), Ix::Var(size)),
            1 => Guard::Not(bx(Guard::Cmp(Rel::Eq, Ix::Var(size), Ix::Lit(n)))),
            _ => Guard::Cmp(Rel::Eq, Ix::Mod(bx(Ix::Var(size)), 1 + n), Ix::Lit(0)),
        };
        self.fun.requires.push(guard);
    }

    /// One operation on words as they lie in arrays of its operands' types, to an array that it fills: nothing hides what it
    /// computes.
    pub(super) fn plain(&mut self, lending: &mut Vec<Lending>) -> Stmt {
        let (prim, of) = self.pick(&self.wanted.clone());
        let extent = self.extent();
        let i = self.var("f", VarKind::Index);
        let summed = matches!(prim, Prim::Add | Prim::Sub) && of.is_float() && self.random.once_in(2);
        let types = if summed { vec![of; 3] } else { self.operands(prim, of) };
        let mut arrays: Vec<Cells> = Vec::new();
        let mut args = Vec::new();
        for ty in types.into_iter().map(Ty::Elem) {
            let from = match arrays.iter().find(|a| a.ty == ty) {
                Some(a) => a.clone(),
                None => {
                    let cells = self.param(&ty, vec![extent.clone()], Role::Reads);
                    lending.push(Lending::Filled);
                    arrays.push(cells.clone());
                    cells
                }
            };
            // The next cell where there is one: operands that are alike tell little.
            let last = plus(extent.clone(), -1);
            let at = match args.len() {
                0 => Ix::Var(i),
                n => Ix::Min(bx(plus(Ix::Var(i), n as i64)), bx(last)),
            };
            args.push(Word::Load(cell(from.buffer, vec![at])));
        }
        let out = self.param(&Ty::Elem(coverage::result(prim, of)), vec![extent.clone()], Role::Mut);
        lending.push(Lending::WrittenOnly);
        self.fun.produces.push(out.buffer);
        self.buffers.extend(arrays);
        let word = match (summed, args.as_slice()) {
            (true, [a, b, c]) => words::op(prim, vec![words::op(Prim::Mul, vec![a.clone(), b.clone()]), c.clone()]),
            _ => words::op(prim, args),
        };
        let body = vec![stmt(StmtKind::Store { to: cell(out.buffer, vec![Ix::Var(i)]), word })];
        stmt(StmtKind::For { var: i, domain: Domain::Range { lo: Ix::Lit(0), hi: extent }, body })
    }

    /// Writes every cell of what is produced or is scratch, so that it may be read.
    pub(super) fn fills(&mut self) -> Block {
        let first = [self.fun.produces.clone(), self.fun.scratch.clone()].concat();
        let all: Vec<Cells> = self.buffers.iter().filter(|c| first.contains(&c.buffer)).cloned().collect();
        // What is not filled yet is not read by what fills another.
        self.buffers.retain(|c| !first.contains(&c.buffer));
        let mut out = Vec::new();
        for cells in all {
            out.push(self.fill(&cells));
            self.buffers.push(cells);
        }
        out
    }

    /// A loop over every axis of an array.
    fn fill(&mut self, cells: &Cells) -> Stmt {
        let mut axes = Vec::new();
        for e in &cells.extents {
            let var = self.var("f", VarKind::Index);
            self.indices.push(var);
            self.loops += 1;
            axes.push((var, Domain::Range { lo: Ix::Lit(0), hi: e.clone() }));
        }
        let word = self.word(&cells.ty, 2);
        let at = axes.iter().map(|(v, _)| Ix::Var(*v)).collect();
        for (var, _) in &axes {
            self.indices.retain(|i| i != var);
            self.loops -= 1;
        }
        let store = stmt(StmtKind::Store { to: cell(cells.buffer, at), word });
        axes.into_iter()
            .rev()
            .fold(store, |inner, (var, domain)| stmt(StmtKind::For { var, domain, body: vec![inner] }))
    }

    /// Statements whose names are known to its end.
    pub(super) fn block(&mut self, depth: usize) -> Block {
        let scope = (self.lets.len(), self.muts.len(), self.buffers.clone(), self.vectors.len());
        let count = 1 + self.below(MOST_STATEMENTS);
        let mut out = Vec::new();
        for _ in 0..count {
            self.stmt(depth, &mut out);
        }
        if out.is_empty() {
            let kind = self.variable();
            out.push(stmt(kind));
        }
        self.lets.truncate(scope.0);
        self.muts.truncate(scope.1);
        self.buffers = scope.2;
        self.vectors.truncate(scope.3);
        out
    }

    fn stmt(&mut self, depth: usize, out: &mut Block) {
        if self.wide && self.random.once_in(3) {
            return self.vector(out);
        }
        if !self.in_grid && self.random.once_in(30) {
            self.lease(out);
        }
        let kind = match self.below(if depth == 0 { 8 } else { 17 }) {
            0 => {
                let ty = self.ty();
                let word = self.word(&ty, 2);
                let local = self.local("l", ty.clone(), &[], false);
                self.lets.push((local, ty));
                StmtKind::Let { local, word }
            }
            1 => self.variable(),
            2 | 3 if self.muts.iter().any(|m| m.assigned) => {
                let all: Vec<Mut> = self.muts.iter().filter(|m| m.assigned).cloned().collect();
                let m = self.pick(&all);
                let (at, word) = (self.inside(&m.dims), self.word(&m.ty, 3));
                StmtKind::Assign { local: m.local, at, word }
            }
            8 => StmtKind::If { guard: self.guard(2), then: self.block(depth - 1), els: self.block(depth - 1) },
            9..12 if self.loops < 3 => {
                let (var, domain) = self.enter();
                let body = self.block(depth - 1);
                self.leave(var, &domain);
                StmtKind::For { var, domain, body }
            }
            12 | 13 if !self.in_grid && self.loops < 2 => return self.grid(depth, out),
            14 | 16 if !self.in_grid => return self.call(out),
            15 if self.loops == 0 && !self.in_grid => return self.allocate(out),
            7 if !self.in_grid && self.loops == 0 => {
                let e = self.elem_ty();
                match self.random.once_in(2) {
                    true => StmtKind::Print(self.word(&e, 2)),
                    false => return self.count_differences(out),
                }
            }
            _ => return self.store(out),
        };
        out.push(stmt(kind));
    }

    fn variable(&mut self) -> StmtKind {
        let ty = self.ty();
        let dims = self.pick(&[vec![], vec![], vec![5], vec![2, 3]]);
        let init = self.word(&ty, 2);
        let local = self.local("v", ty.clone(), &dims, true);
        self.muts.push(Mut { local, ty, dims, assigned: true });
        StmtKind::Var { local, init }
    }

    /// A word to a cell of something that may be written; nothing where no cell is sure to be there.
    fn store(&mut self, out: &mut Block) {
        let all: Vec<Cells> = self.buffers.iter().filter(|b| b.writes).cloned().collect();
        if all.is_empty() {
            return;
        }
        let to = self.pick(&all);
        if let Some(at) = self.inside_of(&to) {
            let word = self.word(&to.ty, 3);
            out.push(stmt(StmtKind::Store { to: cell(to.buffer, at), word }));
        }
    }

    /// An array of one's own, filled.
    fn allocate(&mut self, out: &mut Block) {
        let (ty, extents) = (self.ty(), self.extents());
        self.allocated(&ty, extents, true, out);
    }

    pub(super) fn allocated(&mut self, ty: &Ty, extents: Vec<Ix>, laid_out: bool, out: &mut Block) -> Cells {
        let cells = self.buffer(ty, extents, Role::Alloc);
        if laid_out && self.what == Use::Native && self.random.once_in(2) {
            self.fun.buffers[cells.buffer.index()].layout = self.layout(cells.extents.len());
        }
        out.push(stmt(StmtKind::Alloc(cells.buffer)));
        out.push(self.fill(&cells));
        self.buffers.push(cells.clone());
        cells
    }

    /// How many cells of two arrays of one shape differ, stored where there is a place for it.
    fn count_differences(&mut self, out: &mut Block) {
        let all: Vec<Cells> = self.buffers.iter().filter(|b| b.reads && b.only.is_none()).cloned().collect();
        if all.is_empty() {
            return;
        }
        let a = self.pick(&all);
        let b = match all.iter().find(|b| b.buffer != a.buffer && b.ty == a.ty && b.extents == a.extents) {
            Some(b) => b.clone(),
            None => self.allocated(&a.ty, a.extents.clone(), true, out),
        };
        let local = self.local("d", Ty::Elem(Elem::I64), &[], false);
        out.push(stmt(StmtKind::Let { local, word: Word::Differing(a.buffer, b.buffer) }));
        self.lets.push((local, Ty::Elem(Elem::I64)));
        self.store(out);
    }

    /// A grid over the first axis, or both, of something that may be written: an iteration has its cell or its row, and
    /// reads nothing that another one writes.
    fn grid(&mut self, depth: usize, out: &mut Block) {
        let all: Vec<Cells> = self.buffers.iter().filter(|b| b.writes && b.only.is_none()).cloned().collect();
        if all.is_empty() {
            return;
        }
        let own = self.pick(&all);
        let outer =
            (self.indices.clone(), self.blocks.clone(), self.buffers.clone(), self.muts.clone(), self.some.len());
        let vectors = self.vectors.clone();
        let (axes, window, at, around) = self.axes(&own);
        self.in_grid = true;
        self.loops += axes.len();
        self.some.extend(axes.iter().filter_map(|(_, d)| match d {
            Domain::Range { lo: Ix::Lit(0..), hi: Ix::Var(v) }
            | Domain::Blocks { lo: Ix::Lit(0..), hi: Ix::Var(v), .. } => Some(*v),
            Domain::Range { .. } | Domain::Blocks { .. } => None,
        }));
        // A function's own array may be read whole where nobody writes it: no other is written here.
        self.buffers.iter_mut().for_each(|b| b.writes = false);
        self.buffers.retain(|b| b.buffer != own.buffer);
        self.buffers.push(Cells { only: Some(at), ..own.clone() });
        self.muts.iter_mut().for_each(|m| m.assigned = false);
        self.vectors.iter_mut().for_each(|v| v.assigned = false);
        let mut body = Vec::new();
        if self.random.once_in(3) {
            self.stages(&mut body);
        }
        body.extend(self.block(depth.saturating_sub(2)));
        self.store(&mut body);
        self.loops -= axes.len();
        self.in_grid = false;
        (self.indices, self.blocks, self.buffers, self.muts) = (outer.0, outer.1, outer.2, outer.3);
        self.vectors = vectors;
        self.some.truncate(outer.4);
        let body = match around {
            Some((var, domain)) => vec![stmt(StmtKind::For { var, domain, body })],
            None => body,
        };
        let writes = vec![Window { buffer: own.buffer, axes: window }];
        out.push(stmt(StmtKind::Grid(Box::new(Grid {
            device: cachet_core::ir::Device::HOST,
            level: 0,
            axes,
            writes,
            body,
        }))));
    }

    /// Stages of an iteration: a grid inside it fills an array that it has for itself, and in another one each iteration may read
    /// what all of the first have written.
    fn stages(&mut self, out: &mut Block) {
        let (ty, extents) = (self.ty(), self.extents());
        for _ in 0..2 {
            let own = self.buffer(&ty, extents.clone(), Role::Alloc);
            out.push(stmt(StmtKind::Alloc(own.buffer)));
            let one = |this: &mut Self, e: &Ix| {
                (this.var("p", VarKind::Index), Domain::Range { lo: Ix::Lit(0), hi: e.clone() })
            };
            let axes: Vec<(Var, Domain)> = extents.iter().map(|e| one(self, e)).collect();
            self.indices.extend(axes.iter().map(|(v, _)| *v));
            self.loops += axes.len();
            let word = self.word(&ty, 2);
            self.loops -= axes.len();
            self.indices.truncate(self.indices.len() - axes.len());
            let at: Vec<Ix> = axes.iter().map(|(v, _)| Ix::Var(*v)).collect();
            let window = at.iter().map(|i| (i.clone(), Ix::Lit(1))).collect();
            let writes = vec![Window { buffer: own.buffer, axes: window }];
            let body = vec![stmt(StmtKind::Store { to: cell(own.buffer, at), word })];
            let device = cachet_core::ir::Device::HOST;
            out.push(stmt(StmtKind::Grid(Box::new(Grid { device, level: 1, axes, writes, body }))));
            self.buffers.push(Cells { writes: false, ..own });
        }
    }

    /// The axes of a grid for an array, the window of an iteration, the cell that it may touch, and for a grid over blocks
    /// the loop over one's rows.
    #[allow(clippy::type_complexity, reason = "four things that are made together, once")]
    fn axes(&mut self, own: &Cells) -> (Vec<(Var, Domain)>, Vec<(Ix, Ix)>, Vec<Ix>, Option<(Var, Domain)>) {
        let (mut axes, mut window, mut at) = (Vec::new(), Vec::new(), Vec::new());
        let mut around = None;
        for (n, e) in own.extents.clone().iter().enumerate() {
            if n == 0 && self.random.once_in(3) {
                let g = self.var("g", VarKind::Block);
                let size = self.random.between(1, 3);
                axes.push((g, Domain::Blocks { lo: Ix::Lit(0), hi: e.clone(), size }));
                self.blocks.push(g);
                use cachet_core::ir::BlockPart::{Hi, Len, Lo};
                let i = self.var("i", VarKind::Index);
                self.indices.push(i);
                around = Some((i, Domain::Range { lo: Ix::Block(g, Lo), hi: Ix::Block(g, Hi) }));
                window.push((Ix::Block(g, Lo), Ix::Block(g, Len)));
                at.push(Ix::Var(i));
            } else if n == 0 || self.random.once_in(2) {
                let i = self.var("i", VarKind::Index);
                self.indices.push(i);
                axes.push((i, Domain::Range { lo: Ix::Lit(0), hi: e.clone() }));
                window.push((Ix::Var(i), Ix::Lit(1)));
                at.push(Ix::Var(i));
            } else {
                window.push((Ix::Lit(0), e.clone()));
                // Where the axis has no index, the store has none either: a size is taken to be above 0 only under its loop.
                at.push(match e {
                    Ix::Lit(k) => Ix::Lit(self.random.between(0, k - 1)),
                    _ => {
                        let i = self.var("i", VarKind::Index);
                        self.indices.push(i);
                        axes.push((i, Domain::Range { lo: Ix::Lit(0), hi: e.clone() }));
                        window.pop();
                        window.push((Ix::Var(i), Ix::Lit(1)));
                        Ix::Var(i)
                    }
                });
            }
        }
        (axes, window, at, around)
    }

    /// A call of a function that was drawn before, or of a generic one at an implementation.
    fn call(&mut self, out: &mut Block) {
        if self.callees.is_empty() {
            return self.store(out);
        }
        let id = self.pick(&self.callees.clone());
        let callee: &Fun = &self.program.funs[id.index()];
        let types: Vec<Binding> = callee
            .type_params
            .iter()
            .map(|_| Binding::Impl(ImplId(self.random.below(self.program.impls.len()) as u32)))
            .collect();
        let extent = self.extent();
        let mut args: Vec<View> = Vec::new();
        let mut written = Vec::new();
        for p in &callee.params {
            let info = &callee.buffers[p.index()];
            let ty = cachet_core::instance::bind_ty(self.program, &types, &info.elem);
            let writes = info.role == Role::Mut;
            let cells = self.argument(&ty, &extent, writes, &written, &args, out);
            if writes {
                written.push(cells.buffer);
            }
            args.push(View { buffer: cells.buffer, axes: None, span: At::default() });
        }
        let (size, args) = self.shortened(&extent, args);
        out.push(stmt(StmtKind::Call(Box::new(Call { fun: id, types, sizes: vec![size; callee.sizes.len()], args }))));
    }

    /// An array of one axis for an argument: one that is there, or a new one.
    fn argument(
        &mut self,
        ty: &Ty,
        extent: &Ix,
        writes: bool,
        written: &[cachet_core::ir::Buffer],
        lent: &[View],
        out: &mut Block,
    ) -> Cells {
        let fits = |b: &&Cells| {
            let apart = !written.contains(&b.buffer) && (!writes || lent.iter().all(|v| v.buffer != b.buffer));
            b.reads
                && (b.writes || !writes)
                && b.only.is_none()
                && apart
                && b.ty == *ty
                && self.fun.buffers[b.buffer.index()].layout == Layout::RowMajor
                && b.extents[..] == [extent.clone()]
        };
        let all: Vec<Cells> = self.buffers.iter().filter(fits).cloned().collect();
        match all.is_empty() {
            false => self.pick(&all),
            true => self.allocated(ty, vec![extent.clone()], false, out),
        }
    }

    /// Perhaps only a part of each argument: the same of all.
    fn shortened(&mut self, extent: &Ix, mut args: Vec<View>) -> (Ix, Vec<View>) {
        if self.what == Use::Text && self.random.once_in(2) || self.random.once_in(2) {
            return (extent.clone(), args);
        }
        let (start, len) = match extent {
            Ix::Lit(n) => {
                let start = self.random.between(0, *n);
                (Ix::Lit(start), Ix::Lit(self.random.between(0, n - start)))
            }
            Ix::Add(n, more) => match **more {
                Ix::Lit(m) => (Ix::Lit(1), plus((**n).clone(), m - 1)),
                _ => (Ix::Lit(0), extent.clone()),
            },
            whole => (Ix::Lit(0), Ix::Min(bx(whole.clone()), bx(Ix::Lit(self.random.between(0, 4))))),
        };
        args.iter_mut().for_each(|a| a.axes = Some(vec![(start.clone(), len.clone())]));
        (len, args)
    }
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: At::default() }
}
