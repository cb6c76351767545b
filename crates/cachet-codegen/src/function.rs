//! What is a function in LLVM: its signature, its attributes, its uniform entry, and what its names stand for.

use crate::emitter::Emitter;
use crate::grid::Grids;
use crate::known::Known;
use crate::memory::Memory;
use crate::module::Module;
use crate::tile::Trim;
use crate::turn::Turned;
use crate::types::{Value, is_abstract};
use cachet_core::ir::{At, Buffer, Fun, FunId, Guard, Local, Program, Role, Strides, Ty, Var};
use cachet_core::layout;
use cachet_source::{Diagnostic, codes};
use std::fmt::Write;

/// The most bytes that the local arrays of one function may take on the stack.
const MAX_STACK_BYTES: i128 = 1 << 18;

pub(crate) type Outcome<T> = Result<T, Diagnostic>;

/// What a size or loop variable stands for.
#[derive(Clone)]
pub(crate) enum Index {
    /// An `i64`.
    Plain(String),
    /// The parts of a block.
    Block { lo: String, hi: String, len: String, idx: String },
}

/// What a local stands for.
#[derive(Clone)]
pub(crate) enum Place {
    /// A word that does not change.
    Value(Value),
    /// Stack slots, one per leaf; each holds all cells, row-major.
    Slots { ty: Ty, dims: Vec<i64>, slots: Vec<String> },
}

/// One function on its way to text.
pub(crate) struct Lower<'a, 'm> {
    pub(crate) program: &'a Program,
    pub(crate) fun: &'m Fun,
    pub(crate) module: &'m mut Module<'a>,
    pub(crate) em: Emitter,
    pub(crate) vars: Vec<Option<Index>>,
    pub(crate) locals: Vec<Option<Place>>,
    pub(crate) buffers: Vec<Option<Memory>>,
    /// The statement being lowered.
    pub(crate) span: At,
    /// Bytes of stack that local arrays may still take.
    pub(crate) stack: i128,
    /// Applications of pure functions around the word being lowered.
    pub(crate) applied: usize,
    pub(crate) grids: Grids,
    pub(crate) known: Known,
    /// Whether the statements being lowered are for a number of rows that is not known.
    pub(crate) any_rows: usize,
    /// Loops around whose iterations the matrix unit was asked for and is not free.
    pub(crate) without_unit: usize,
    /// Guards that are decided where code is being written.
    pub(crate) decided: Vec<(Guard, bool)>,
    /// Lanes that are left out where code is being written.
    pub(crate) trim: Option<Trim>,
    /// The loops around the statement being lowered, outermost first, with the sizes of their blocks.
    pub(crate) loops: Vec<(Var, Option<i64>)>,
    /// The loop that goes from one tile of registers to the next, where one is being loaded.
    pub(crate) tiles: Option<(Var, Option<i64>)>,
    /// Columns that are turned for the iterations that are being written, and the number of the one that is.
    pub(crate) turns: Vec<Turned>,
    pub(crate) turn: usize,
    /// Whether what follows a vector's declaration is being written for any number of lanes.
    pub(crate) any_lanes: usize,
}

/// `define` of one function, of what its grids became, and of its uniform entry where it may be called from outside.
///
/// The parameters that `strided` counts have rows apart: behind the addresses the function takes how far.
pub(crate) fn define(
    module: &mut Module<'_>,
    fun: &Fun,
    (symbol, strided): (&str, &[usize]),
    external: bool,
    pool: bool,
) -> Outcome<String> {
    let mut lower = Lower {
        program: module.program,
        fun,
        module,
        em: Emitter::new(),
        vars: vec![None; fun.vars.len()],
        locals: vec![None; fun.locals.len()],
        buffers: vec![None; fun.buffers.len()],
        span: fun.span,
        stack: MAX_STACK_BYTES,
        applied: 0,
        grids: Grids::new(symbol),
        known: Known::of(fun),
        any_rows: 0,
        without_unit: 0,
        decided: Vec::new(),
        trim: None,
        loops: Vec::new(),
        tiles: None,
        turns: Vec::new(),
        turn: 0,
        any_lanes: 0,
    };
    lower.parameters(strided)?;
    lower.block(&fun.body)?;
    lower.em.line("ret void");
    let linkage = if external { "" } else { "internal " };
    let head = format!("define {linkage}void @{symbol}({})", signature(fun, strided, pool));
    let mut out = lower.grids.finish();
    out.push_str(&format!("{head} #0 {{\n{}}}\n", lower.em.finish()));
    if external {
        out.push('\n');
        out.push_str(&packed(fun, symbol, pool));
    }
    Ok(out)
}

/// Parameters with their attributes: `noalias` for what is written, `readonly` for what is only read. Nothing is said
/// of two that are only read: they may overlap. The pool, where there is one, comes last.
fn signature(fun: &Fun, strided: &[usize], pool: bool) -> String {
    let sizes = fun.sizes.iter().map(|v| format!("i64 noundef %n{}", v.0));
    let buffers = fun.params.iter().map(|b| match fun.buffers[b.index()].role {
        Role::Mut => format!("ptr noalias noundef %p{}", b.0),
        Role::Reads | Role::Alloc | Role::Lease(_) => format!("ptr readonly noundef %p{}", b.0),
    });
    let strides = strided.iter().flat_map(|p| strides(fun, fun.params[*p]));
    let strides = strides.map(|s| format!("i64 noundef {s}"));
    sizes.chain(buffers).chain(strides).chain(pool.then(|| "ptr %pool".into())).collect::<Vec<_>>().join(", ")
}

/// The names of a parameter's strides, outermost first; along the last axis elements are neighbours.
pub(crate) fn strides(fun: &Fun, b: Buffer) -> Vec<String> {
    let axes = fun.buffers[b.index()].extents.len();
    (0..axes.saturating_sub(1)).map(|axis| format!("%s{}x{axis}", b.0)).collect()
}

/// The uniform entry. A pool is read from behind the buffers' addresses.
fn packed(fun: &Fun, symbol: &str, pool: bool) -> String {
    let mut out = format!("define void @{symbol}__packed(ptr readonly %sizes, ptr readonly %buffers) #0 {{\nentry:\n");
    let mut args = Vec::new();
    // Writing to a `String` cannot fail.
    for i in 0..fun.sizes.len() {
        let _ = writeln!(out, "  %a{i} = getelementptr inbounds i64, ptr %sizes, i64 {i}");
        let _ = writeln!(out, "  %n{i} = load i64, ptr %a{i}");
        args.push(format!("i64 %n{i}"));
    }
    for i in 0..fun.params.len() {
        let _ = writeln!(out, "  %q{i} = getelementptr inbounds ptr, ptr %buffers, i64 {i}");
        let _ = writeln!(out, "  %p{i} = load ptr, ptr %q{i}");
        args.push(format!("ptr %p{i}"));
    }
    if pool {
        let _ = writeln!(out, "  %last = getelementptr inbounds ptr, ptr %buffers, i64 {}", fun.params.len());
        let _ = writeln!(out, "  %pool = load ptr, ptr %last");
        args.push("ptr %pool".into());
    }
    let _ = writeln!(out, "  call void @{symbol}({})\n  ret void\n}}", args.join(", "));
    out
}

impl Lower<'_, '_> {
    fn parameters(&mut self, strided: &[usize]) -> Outcome<()> {
        let fun = self.fun;
        for v in &fun.sizes {
            self.vars[v.index()] = Some(Index::Plain(format!("%n{}", v.0)));
        }
        for (n, b) in fun.params.iter().enumerate() {
            let mut memory = self.memory(*b, format!("%p{}", b.0))?;
            if strided.contains(&n) {
                memory.strides = Some(strides(fun, *b));
            }
            self.buffers[b.index()] = Some(memory);
        }
        Ok(())
    }

    /// What is known of a buffer that starts at `base`. Its extents are computed here.
    pub(crate) fn memory(&mut self, b: Buffer, base: String) -> Outcome<Memory> {
        let info = &self.fun.buffers[b.index()];
        if is_abstract(&info.elem) {
            return Err(self.unbound());
        }
        match info.strides {
            Strides::Contiguous => {}
            Strides::Given(_) => {
                let what = format!("native code for the given strides of `{}`", info.name);
                return Err(Diagnostic::not_built(info.span.0, what));
            }
        }
        if info.level.device.0 != 0 {
            let what = format!("native code for `{}` in memory of a device", info.name);
            return Err(Diagnostic::not_built(info.span.0, what));
        }
        let extents = info.extents.iter().map(|e| self.ix(e)).collect::<Outcome<Vec<_>>>()?;
        let ops = layout::ops(&info.layout).to_vec();
        let physical = if ops.is_empty() {
            extents.clone()
        } else {
            let physical = layout::physical(&info.layout, &info.extents);
            physical.iter().map(|e| self.ix(e)).collect::<Outcome<Vec<_>>>()?
        };
        Ok(Memory { base, elem: info.elem.clone(), extents, ops, physical, strides: None })
    }

    pub(crate) fn unbound(&self) -> Diagnostic {
        let text =
            format!("`{}` has a type parameter that is not bound: there is no native code for it", self.fun.name);
        Diagnostic::error(codes::BINDING, self.span.0, text)
    }

    pub(crate) fn not_built(&self, what: impl Into<String>) -> Diagnostic {
        Diagnostic::not_built(self.span.0, what)
    }

    /// A program that breaks a rule of the core, which `validate` would have refused.
    pub(crate) fn ill_formed(&self, what: &str) -> Diagnostic {
        let text = format!("`{}` is not a program: {what}", self.fun.name);
        Diagnostic::error(codes::UNKNOWN_NAME, self.span.0, text)
    }

    pub(crate) fn var(&self, v: Var) -> Outcome<Index> {
        let found = self.vars.get(v.index()).cloned().flatten();
        found.ok_or_else(|| self.ill_formed("a variable is used outside its loop"))
    }

    pub(crate) fn local(&self, l: Local) -> Outcome<&Place> {
        let found = self.locals.get(l.index()).and_then(Option::as_ref);
        found.ok_or_else(|| self.ill_formed("a local is used where it is not known"))
    }

    pub(crate) fn bind(&mut self, l: Local, place: Place) {
        if self.locals.len() <= l.index() {
            self.locals.resize(l.index() + 1, None);
        }
        self.locals[l.index()] = Some(place);
    }

    pub(crate) fn bind_var(&mut self, v: Var, index: Index) {
        if self.vars.len() <= v.index() {
            self.vars.resize(v.index() + 1, None);
        }
        self.vars[v.index()] = Some(index);
    }

    pub(crate) fn bind_buffer(&mut self, b: Buffer, memory: Memory) {
        if self.buffers.len() <= b.index() {
            self.buffers.resize(b.index() + 1, None);
        }
        self.buffers[b.index()] = Some(memory);
    }

    pub(crate) fn buffer(&self, b: Buffer) -> Outcome<&Memory> {
        let found = self.buffers.get(b.index()).and_then(Option::as_ref);
        found.ok_or_else(|| self.ill_formed("a buffer is used where it is not known"))
    }

    pub(crate) fn callee(
        &mut self,
        fun: FunId,
        types: &[cachet_core::ir::Binding],
        strided: &[usize],
    ) -> Outcome<String> {
        self.module.require(fun, types, strided, self.span)
    }
}
