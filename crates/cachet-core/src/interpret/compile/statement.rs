//! Statements.

use super::{Compiler, Made};
use crate::interpret::code::{CallCode, GridCode, Index, Step, StepKind, ViewCode, WindowCode};
use crate::ir::{Binding, Buffer, Call, Grid, Ix, Local, Stmt, StmtKind, Ty, View, Word};

impl Compiler<'_, '_> {
    /// The statements of a block.
    pub(super) fn block(&mut self, block: &[Stmt]) -> Made<Vec<Step>> {
        self.down()?;
        let mut out = Vec::with_capacity(block.len());
        for s in block {
            self.span = s.span;
            out.push(Step { kind: self.statement(s)?, span: s.span });
        }
        self.up();
        Ok(out)
    }

    fn statement(&mut self, s: &Stmt) -> Made<StepKind> {
        Ok(match &s.kind {
            StmtKind::For { var, domain, body } => StepKind::For(self.range(*var, domain)?, self.block(body)?),
            StmtKind::Grid(g) => StepKind::Grid(Box::new(self.grid(g)?)),
            StmtKind::If { guard, then, els } => StepKind::If(self.cond(guard)?, self.block(then)?, self.block(els)?),
            StmtKind::Let { local, word } => self.declare(*local, word)?,
            StmtKind::Var { local, init } => self.declare(*local, init)?,
            StmtKind::Assign { local, at, word } => {
                let (code, ty) = self.word(word)?;
                if at.is_empty() {
                    let (slot, width) = self.single(*local, &ty)?;
                    let temp = if width == 1 { None } else { Some(self.temp(width as usize)?) };
                    return Ok(StepKind::Set { slot, width, temp, word: code });
                }
                let to = self.local_cell(*local, at)?;
                if self.slots[local.index()].2 != ty {
                    return Err(self.malformed(format!("`{}` gets a word of another type", to.name)));
                }
                StepKind::SetCell { temp: self.temp(to.width as usize)?, to, word: code }
            }
            StmtKind::Store { to, word } => {
                let (code, ty) = self.word(word)?;
                let to = self.cell(to)?;
                if self.buffers[to.buffer as usize].elem != ty {
                    return Err(self.malformed("a word of another type is stored"));
                }
                let width = self.width(&ty)?;
                StepKind::Store { to, width, temp: self.temp(width as usize)?, word: code }
            }
            StmtKind::Alloc(b) => StepKind::Alloc(self.buffer(*b)?),
            StmtKind::Lease { lease, of, mutable: _ } => {
                let (lease, of) = (self.buffer(*lease)?, self.buffer(*of)?);
                let rank = |b: u32| (&self.buffers[b as usize].elem, self.buffers[b as usize].extents.len());
                if rank(lease) != rank(of) {
                    return Err(self.malformed("a lease of another shape"));
                }
                StepKind::Lease { lease, of }
            }
            StmtKind::Call(c) => StepKind::Call(Box::new(self.call(c)?)),
            StmtKind::Print(w) => match self.word(w)? {
                (code, Ty::Elem(e)) => StepKind::Print(code, e),
                _ => return Err(self.malformed("`print` takes one element")),
            },
        })
    }

    fn buffer(&self, b: Buffer) -> Made<u32> {
        if b.index() < self.buffers.len() { Ok(b.0) } else { Err(self.malformed("a buffer without an entry")) }
    }

    fn declare(&mut self, local: Local, word: &Word) -> Made<StepKind> {
        let (word, ty) = self.word(word)?;
        let Some((slot, width, own)) = self.slots.get(local.index()) else {
            return Err(self.malformed("a local without an entry"));
        };
        let (slot, width) = (*slot, *width);
        let info = &self.locals[local.index()];
        if *own != ty {
            return Err(self.malformed(format!("`{}` gets a word of another type", info.name)));
        }
        if info.dims.is_empty() {
            return Ok(StepKind::Set { slot, width, temp: None, word });
        }
        let cells = crate::interpret::array::cell_count(&info.dims).unwrap_or(0);
        // The first word is computed apart from the cells: an array may have none.
        let temp = self.temp(width as usize)?;
        Ok(StepKind::Fill { slot, width, temp, cells, word })
    }

    fn grid(&mut self, g: &Grid) -> Made<GridCode> {
        let axes = g.axes.iter().map(|(v, d)| self.range(*v, d)).collect::<Made<Vec<_>>>()?;
        let mut windows = Vec::new();
        for w in &g.writes {
            let buffer = self.buffer(w.buffer)?;
            let text = self.names.window(w.buffer, &w.axes);
            windows.push(WindowCode { buffer, axes: self.axes(buffer, &w.axes)?, text });
        }
        Ok(GridCode { axes, windows, body: self.block(&g.body)? })
    }

    fn axes(&mut self, buffer: u32, axes: &[(Ix, Ix)]) -> Made<Vec<(Index, Index)>> {
        if axes.len() != self.buffers[buffer as usize].extents.len() {
            return Err(self.malformed("a part of a buffer with another number of axes"));
        }
        axes.iter().map(|(s, n)| Ok((self.index(s)?, self.index(n)?))).collect()
    }

    fn call(&mut self, c: &Call) -> Made<CallCode> {
        let program = self.all.program;
        let Some(callee) = program.funs.get(c.fun.index()) else { return Err(self.malformed("a call of nothing")) };
        let mut impls = Vec::new();
        for t in &c.types {
            let bound = match t {
                Binding::Impl(_) => Some(*t),
                Binding::Param(p) => self.types.get(p.index()).copied(),
            };
            let Some(Binding::Impl(i)) = bound else { return Err(self.malformed("a call at an unbound type")) };
            impls.push(i);
        }
        if (c.sizes.len(), c.args.len()) != (callee.sizes.len(), callee.params.len()) {
            return Err(self.malformed(format!("a call of `{}` with too many or too few arguments", callee.name)));
        }
        let sizes = c.sizes.iter().map(|i| self.index(i)).collect::<Made<Vec<_>>>()?;
        let mut args = Vec::new();
        for (view, param) in c.args.iter().zip(&callee.params) {
            args.push(self.view(view)?);
            let bound: Vec<Binding> = impls.iter().map(|i| Binding::Impl(*i)).collect();
            let wanted = callee
                .buffers
                .get(param.index())
                .map(|p| (crate::instance::bind_ty(program, &bound, &p.elem), p.extents.len()));
            let lent = &self.buffers[view.buffer.index()];
            if wanted != Some((lent.elem.clone(), lent.extents.len())) {
                return Err(self.malformed(format!("`{}` does not fit its parameter of `{}`", lent.name, callee.name)));
            }
        }
        Ok(CallCode { code: self.all.code(c.fun, impls), sizes, args })
    }

    fn view(&mut self, view: &View) -> Made<ViewCode> {
        let buffer = self.buffer(view.buffer)?;
        let (axes, text) = match &view.axes {
            Some(axes) => (Some(self.axes(buffer, axes)?), self.names.window(view.buffer, axes)),
            None => (None, self.names.buffer(view.buffer).to_string()),
        };
        Ok(ViewCode { buffer, axes, text, span: view.span })
    }
}
