//! How do statements run?

use crate::function::{Lower, Outcome, Place};
use crate::instr::Used;
use crate::support::Support;
use crate::types::{Value, is_signed, register};
use cachet_core::ir::{Block, Call, Device, Domain, Elem, Role, Stmt, StmtKind, Ty, Var, Word};
use cachet_core::vectors;

impl Lower<'_, '_> {
    /// A block.
    pub(crate) fn block(&mut self, block: &Block) -> Outcome<()> {
        self.block_in_place(block)
    }

    /// Statements in order; what they allocate is freed at the end.
    pub(crate) fn block_in_place(&mut self, block: &[Stmt]) -> Outcome<()> {
        let mut allocated = Vec::new();
        for (n, s) in block.iter().enumerate() {
            self.span = s.span;
            if self.tile(&block[n..])? {
                break;
            }
            // A vector `let` is filled by the statement after it.
            if let StmtKind::Var { local, init } = &s.kind
                && self.fun.locals.get(local.index()).is_some_and(|i| i.vector && i.ty != Ty::Elem(Elem::Bool))
            {
                let filled = block.get(n + 1).is_some_and(|next| vectors::let_of(self.fun, s, next).is_some());
                let init = self.word(init)?;
                self.declare_vectors(*local, &init, filled)?;
                continue;
            }
            if let Some(base) = self.stmt(s)? {
                allocated.push(base);
            }
        }
        for base in allocated.iter().rev() {
            self.release(base);
        }
        Ok(())
    }

    /// A loop's iterations, written out or one after another.
    fn turns(&mut self, var: Var, domain: &Domain, body: &Block) -> Outcome<()> {
        let whole = self.written_out(var, domain, body)?
            || self.turned(var, domain, body)?
            || self.turning_copy(var, domain, body)?
            || self.weaving_copy(var, domain, body)?;
        if !whole {
            self.domain(var, domain, &[], &mut |this, _| {
                this.block(body)?;
                Ok(vec![])
            })?;
        }
        Ok(())
    }

    /// One statement; the address of what it allocates.
    fn stmt(&mut self, stmt: &Stmt) -> Outcome<Option<String>> {
        self.span = stmt.span;
        match &stmt.kind {
            StmtKind::For { var, domain, body } => {
                if let Some(lanes) = vectors::of(&self.fun.vars, stmt) {
                    match self.instruction(&lanes)? {
                        Used::Whole => return Ok(None),
                        Used::Unless(after) => {
                            self.domain(*var, domain, &[], &mut |this, _| {
                                this.block(body)?;
                                Ok(vec![])
                            })?;
                            self.em.jump(&after);
                            self.em.open(&after);
                            return Ok(None);
                        }
                        Used::No if self.lanes(&lanes)? => return Ok(None),
                        Used::No => {}
                    }
                }
                // The matrix unit is entered once for all blocks; where it is not free, the loop follows.
                let unless = match self.blocks_of(*var, domain, body)? {
                    Used::Whole => return Ok(None),
                    Used::Unless(after) => Some(after),
                    Used::No => None,
                };
                self.without_unit += usize::from(unless.is_some());
                let done = self.turns(*var, domain, body);
                self.without_unit -= usize::from(unless.is_some());
                done?;
                if let Some(after) = unless {
                    self.em.jump(&after);
                    self.em.open(&after);
                }
                return Ok(None);
            }
            StmtKind::Grid(g) if g.device == Device::HOST => self.grid(g)?,
            StmtKind::Grid(_) => return Err(self.not_built("native code for grids of devices")),
            StmtKind::If { guard, then, els } => {
                let cond = self.guard(guard)?;
                let (yes, no, after) = (self.em.block(), self.em.block(), self.em.block());
                self.em.branch(&cond, &yes, &no);
                for (label, body) in [(yes, then), (no, els)] {
                    self.em.open(&label);
                    self.block(body)?;
                    self.em.jump(&after);
                }
                self.em.open(&after);
            }
            StmtKind::Let { local, word } => {
                let value = self.word(word)?;
                self.bind(*local, Place::Value(value));
            }
            StmtKind::Var { local, init } => {
                let init = self.word(init)?;
                self.declare(*local, &init)?;
            }
            StmtKind::Assign { local, at, word } => {
                let value = self.word(word)?;
                self.assign(*local, at, &value)?;
            }
            StmtKind::Store { to, word } => {
                let value = self.word(word)?;
                self.store(to, &value)?;
            }
            StmtKind::Alloc(b) => return Ok(Some(self.allocate(*b)?)),
            StmtKind::Lease { lease, of, mutable: _ } => {
                let memory = self.buffer(*of)?.clone();
                self.bind_buffer(*lease, memory);
            }
            StmtKind::Call(call) => self.call(call)?,
            StmtKind::Print(word) => self.print(word)?,
        }
        Ok(None)
    }

    /// A grid's iterations, one after another: no iteration can see another's effects, so any order will do.
    pub(crate) fn axes(&mut self, axes: &[(Var, Domain)], body: &Block) -> Outcome<()> {
        let Some(((var, domain), rest)) = axes.split_first() else { return self.block(body) };
        self.domain(*var, domain, &[], &mut |this, _| {
            this.axes(rest, body)?;
            Ok(vec![])
        })?;
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Outcome<()> {
        let program = self.program;
        let Some(callee) = program.funs.get(call.fun.index()) else { return Err(self.ill_formed("a call of nothing")) };
        let mut args = Vec::new();
        for size in &call.sizes {
            args.push(format!("i64 {}", self.ix(size)?));
        }
        let (mut strided, mut strides) = (Vec::new(), Vec::new());
        for (n, (view, param)) in call.args.iter().zip(&callee.params).enumerate() {
            let at = self.view(view)?;
            if let Some(given) = &self.buffer(view.buffer)?.strides {
                strided.push(n);
                strides.extend(given.iter().map(|s| format!("i64 {s}")));
            }
            let written = callee.buffers.get(param.index()).is_some_and(|b| b.role == Role::Mut);
            args.push(format!("ptr {}{at}", if written { "noalias " } else { "" }));
        }
        if args.len() != callee.sizes.len() + callee.params.len() {
            return Err(self.ill_formed("a call has too many or too few arguments"));
        }
        args.extend(strides);
        args.extend(self.pool_argument(call));
        let symbol = self.callee(call.fun, &call.types, &strided)?;
        self.em.line(format_args!("call void @{symbol}({})", args.join(", ")));
        Ok(())
    }

    /// Floats print as `f64`, whose digits tell every narrower float apart.
    fn print(&mut self, word: &Word) -> Outcome<()> {
        let value = self.word(word)?;
        let Value { ty: Ty::Elem(elem), .. } = value else { return Err(self.ill_formed("a tuple is printed")) };
        let (support, to) = match elem {
            Elem::F64 | Elem::F32 | Elem::F16 | Elem::BF16 => (Support::PrintFloat, Elem::F64),
            Elem::Bool => (Support::PrintBool, Elem::Bool),
            _ if is_signed(elem) => (Support::PrintSigned, Elem::I64),
            _ => (Support::PrintUnsigned, Elem::U64),
        };
        let name = self.convert(elem, to, value.only());
        self.module.needs(support);
        self.em.line(format_args!("call void @{}({} {name})", support.symbol(), register(to)));
        Ok(())
    }
}
