//! From the IR to [`super::code`].

mod index;
mod statement;
mod word;

use super::array::flatten;
use super::code::{BufferCode, Code, Mode, Param, PureCode, Unit};
use super::{Trap, TrapKind, trap};
use crate::instance::bind_ty;
use crate::ir::{At, Binding, Fun, FunId, ImplId, LocalInfo, Program, Pure, PureId, Role, Ty, VarInfo};
use crate::print::Names;
use std::collections::BTreeMap;

pub(super) type Made<T> = Result<T, Box<Trap>>;

/// Compiles a function at bindings, and all that it reaches.
pub(super) fn compile(program: &Program, fun: FunId, types: &[Binding]) -> Result<Unit, Trap> {
    let mut all = All {
        program,
        codes: Vec::new(),
        known: BTreeMap::new(),
        pures: BTreeMap::new(),
        todo: Vec::new(),
        made: Vec::new(),
    };
    all.run(fun, types).map_err(|t| *t)
}

/// Work in progress. Functions are compiled from a list, so call chains do not recurse.
pub(super) struct All<'a> {
    pub(super) program: &'a Program,
    codes: Vec<Option<Code>>,
    known: BTreeMap<(FunId, Vec<ImplId>), usize>,
    pures: BTreeMap<PureId, u32>,
    todo: Vec<(usize, FunId, Vec<ImplId>)>,
    made: Vec<PureCode>,
}

impl<'a> All<'a> {
    fn run(&mut self, fun: FunId, types: &[Binding]) -> Made<Unit> {
        let mut impls = Vec::new();
        for t in types {
            match t {
                Binding::Impl(i) => impls.push(*i),
                Binding::Param(_) => return Err(malformed("a run needs implementations", At::default())),
            }
        }
        let entry = self.code(fun, impls);
        while let Some((at, fun, impls)) = self.todo.pop() {
            let program = self.program;
            let Some(source) = program.funs.get(fun.index()) else {
                return Err(malformed("a call of nothing", At::default()));
            };
            if source.type_params.len() != impls.len() {
                let text =
                    format!("`{}` has {} type parameters, not {}", source.name, source.type_params.len(), impls.len());
                return Err(malformed(text, source.span));
            }
            self.codes[at] = Some(function(self, source, &impls)?);
        }
        let codes = std::mem::take(&mut self.codes).into_iter().flatten().collect();
        Ok(Unit { codes, pures: std::mem::take(&mut self.made), entry })
    }

    /// The position of a function's code, which may still have to be made.
    pub(super) fn code(&mut self, fun: FunId, impls: Vec<ImplId>) -> usize {
        if let Some(at) = self.known.get(&(fun, impls.clone())) {
            return *at;
        }
        let at = self.codes.len();
        self.codes.push(None);
        self.known.insert((fun, impls.clone()), at);
        self.todo.push((at, fun, impls));
        at
    }

    /// The position of a pure function's code. Applications inside pure functions recurse as deep as such functions
    /// build on one another, which the validator bounds.
    pub(super) fn pure(&mut self, id: PureId, depth: usize) -> Made<u32> {
        if let Some(at) = self.pures.get(&id) {
            return Ok(*at);
        }
        let program = self.program;
        let Some(source) = program.pures.get(id.index()) else {
            return Err(malformed("an application of nothing", At::default()));
        };
        if depth > crate::ir::MAX_DEPTH {
            return Err(trap(
                TrapKind::Limit,
                format!("`{}` builds on too long a chain of functions", source.name),
                At::default(),
            ));
        }
        let code = pure_function(self, source, depth)?;
        self.made.push(code);
        let at = self.made.len() as u32 - 1;
        self.pures.insert(id, at);
        Ok(at)
    }

    pub(super) fn pure_code(&self, at: u32) -> &PureCode {
        &self.made[at as usize]
    }
}

/// What compiling one function or pure function needs.
pub(super) struct Compiler<'a, 'b> {
    pub(super) all: &'b mut All<'a>,
    pub(super) names: Names<'a>,
    pub(super) vars: &'a [VarInfo],
    pub(super) locals: &'a [LocalInfo],
    pub(super) types: Vec<Binding>,
    /// First slot, element width and type of each local.
    pub(super) slots: Vec<(u32, u32, Ty)>,
    pub(super) buffers: Vec<BufferCode>,
    pub(super) words: usize,
    pub(super) span: At,
    /// How deep the walk is, and the deepest it was.
    pub(super) depth: usize,
    pub(super) deepest: usize,
    /// How many pure functions enclose this one.
    pub(super) chain: usize,
}

/// More levels than any program within the limits on nesting has.
const MAX_WALK: usize = 6 * crate::ir::MAX_DEPTH;

impl<'a, 'b> Compiler<'a, 'b> {
    fn new(all: &'b mut All<'a>, names: Names<'a>, impls: &[ImplId], chain: usize) -> Made<Compiler<'a, 'b>> {
        let mut out = Compiler {
            all,
            names,
            vars: names.vars,
            locals: names.locals,
            types: impls.iter().map(|i| Binding::Impl(*i)).collect(),
            slots: Vec::new(),
            buffers: Vec::new(),
            words: 0,
            span: At::default(),
            depth: 0,
            deepest: 0,
            chain,
        };
        for info in names.locals {
            let ty = out.bound(&info.ty);
            let width = out.width(&ty)?;
            let cells = super::array::cell_count(&info.dims).filter(|c| *c <= 1 << 24);
            let Some(cells) = cells else {
                return Err(trap(TrapKind::Limit, format!("`{}` is too large for a local", info.name), At::default()));
            };
            let slot = out.temp(width as usize * cells)?;
            out.slots.push((slot, width, ty));
        }
        Ok(out)
    }

    pub(super) fn bound(&self, ty: &Ty) -> Ty {
        bind_ty(self.all.program, &self.types, ty)
    }

    pub(super) fn width(&self, ty: &Ty) -> Made<u32> {
        match flatten(ty) {
            Some(leaves) => Ok(leaves.len() as u32),
            None => Err(self.malformed("a type parameter without a binding")),
        }
    }

    /// Fresh word slots.
    pub(super) fn temp(&mut self, width: usize) -> Made<u32> {
        let slot = self.words;
        self.words += width;
        if self.words > 1 << 26 {
            return Err(trap(TrapKind::Limit, "the locals of a function are too large", self.span));
        }
        Ok(slot as u32)
    }

    pub(super) fn malformed(&self, text: impl Into<String>) -> Box<Trap> {
        malformed(text, self.span)
    }

    /// Goes one level down; the caller comes up again with [`Compiler::up`].
    pub(super) fn down(&mut self) -> Made<()> {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        if self.depth > MAX_WALK {
            return Err(trap(TrapKind::Limit, "the program nests too deep", self.span));
        }
        Ok(())
    }

    pub(super) fn up(&mut self) {
        self.depth -= 1;
    }
}

fn function<'a>(all: &mut All<'a>, fun: &'a Fun, impls: &[ImplId]) -> Made<Code> {
    let names = Names::of(all.program, fun);
    let mut c = Compiler::new(all, names, impls, 0)?;
    c.span = fun.span;
    for info in &fun.buffers {
        let elem = c.bound(&info.elem);
        c.width(&elem)?;
        let extents = info.extents.iter().map(|e| c.index(e)).collect::<Made<Vec<_>>>()?;
        let layout = info.layout.clone();
        c.buffers.push(BufferCode { name: info.name.clone(), elem, extents, layout, span: info.span });
    }
    let mut params = Vec::new();
    for p in &fun.params {
        let Some(info) = fun.buffers.get(p.index()) else { return Err(c.malformed("a parameter without an entry")) };
        let mode = match info.role {
            Role::Mut if fun.scratch.contains(p) => Mode::Scratch,
            Role::Mut if fun.produces.contains(p) => Mode::Produces,
            Role::Mut => Mode::Mut,
            Role::Reads => Mode::Reads,
            Role::Alloc | Role::Lease(_) => return Err(c.malformed("a parameter that is not one")),
        };
        params.push(Param { buffer: p.0, mode });
    }
    let mut sizes = Vec::new();
    for s in &fun.sizes {
        sizes.push((c.slot(*s)?, names.var(*s).to_string()));
    }
    let requires = fun.requires.iter().map(|g| Ok((c.cond(g)?, names.guard(g)))).collect::<Made<Vec<_>>>()?;
    let body = c.block(&fun.body)?;
    Ok(Code {
        name: fun.name.clone(),
        sizes,
        params,
        requires,
        body,
        ints: 4 * fun.vars.len(),
        words: c.words,
        buffers: c.buffers,
        depth: c.deepest,
        span: fun.span,
    })
}

fn pure_function<'a>(all: &mut All<'a>, pure: &'a Pure, chain: usize) -> Made<PureCode> {
    let mut c = Compiler::new(all, Names::of_pure(all.program, pure), &[], chain)?;
    let (body, ty) = c.word(&pure.body)?;
    if ty != pure.result {
        return Err(c.malformed(format!("`{}` gives another type than it says", pure.name)));
    }
    let width = c.width(&ty)?;
    let mut params = Vec::new();
    for p in &pure.params {
        let Some((slot, width, _)) = c.slots.get(p.index()) else {
            return Err(c.malformed("a parameter without an entry"));
        };
        params.push((*slot, *width));
    }
    Ok(PureCode { params, words: c.words, body: Some(body), width, depth: c.deepest })
}

pub(super) fn malformed(text: impl Into<String>, span: At) -> Box<Trap> {
    trap(TrapKind::Malformed, text, span)
}
