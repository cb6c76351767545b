//! From a checked program to machine code: the one way there.
//!
//! Code generation is given a program only here, and only for functions that the checker has accepted: a
//! [`cachet_check::checked::Checked`] is what this takes, and nothing but the checker makes one.

use crate::artefacts::target::Resolved;
use crate::pipeline::Outcome;
use cachet_codegen::{Chains, Entry, Options, Text};
use cachet_core::instr::{Instr, Template};
use cachet_core::ir::{Binding, FunId};
use cachet_runtime::{
    HostTarget, Jit, Kernel, KernelArity, Llvm, Module, OptLevel, PeakProbe, Pool, ProbeLoop, ToolError, ToolErrorKind,
};
use cachet_source::Diagnostic;

/// Why there is no machine code.
#[derive(Clone, Debug)]
pub enum Problem {
    /// Something in the program.
    Refused(Box<Diagnostic>),
    /// Something outside the compiler.
    Tool(ToolError),
    /// What was asked for makes no sense.
    User(String),
}

/// Compiled functions, in the order asked for.
pub struct Native {
    jit: Jit,
    entries: Vec<Entry>,
}

impl Native {
    /// Each function, callable.
    pub fn kernels(&self) -> Result<Vec<Kernel>, Problem> {
        let kernel = |e: &Entry| self.jit.kernel(&e.name, KernelArity { sizes: e.sizes, buffers: e.buffers });
        self.entries.iter().map(|e| kernel(e).map_err(Problem::Tool)).collect()
    }
}

/// Compiles functions at implementations into this process.
pub fn compile(outcome: &Outcome, funs: &[(FunId, Vec<Binding>)], llvm: &Llvm) -> Result<Native, Problem> {
    for (f, types) in funs {
        accepted(outcome, *f)?;
        if !outcome.checked.may_bind(*f, types) {
            let name = &outcome.checked.program().funs[f.index()].name;
            let text = format!("`{name}` regroups a sum by laws that an implementation asked for here does not have");
            return Err(Problem::User(text));
        }
    }
    let host = llvm.host().map_err(Problem::Tool)?;
    let text = cachet_codegen::emit(outcome.checked.program(), funs, &options(&host)).map_err(refused)?;
    let module = llvm.compile(&text.ir, &host.target(), OptLevel::O3).map_err(Problem::Tool)?;
    Ok(Native { jit: module.load().map_err(Problem::Tool)?, entries: text.entries })
}

/// A function with the reference body of every instruction in place of its template.
pub(crate) fn compile_bodies(outcome: &Outcome, fun: FunId, llvm: &Llvm) -> Result<Native, Problem> {
    accepted(outcome, fun)?;
    let mut program = outcome.checked.program().clone();
    program.instrs.iter_mut().for_each(|i| i.templates.clear());
    let host = llvm.host().map_err(Problem::Tool)?;
    let text = cachet_codegen::emit(&program, &[(fun, vec![])], &options(&host)).map_err(refused)?;
    let module = llvm.compile(&text.ir, &host.target(), OptLevel::O3).map_err(Problem::Tool)?;
    Ok(Native { jit: module.load().map_err(Problem::Tool)?, entries: text.entries })
}

/// The template that code for this machine has in place of an instruction's body.
pub(crate) fn template<'i>(instr: &'i Instr, host: &HostTarget) -> Option<&'i Template> {
    cachet_codegen::template(instr, &options(host))
}

/// The loop that measures how fast this machine does an instruction of so many operations; `None` where it has no template
/// for it that can be measured so.
pub(crate) fn probe(instr: &Instr, operations: f64, host: &HostTarget) -> Option<ProbeLoop> {
    let count = PeakProbe::chains(host, instr.elem.bytes() as usize * instr.lanes as usize);
    let Chains { ir, name, input, output } = cachet_codegen::chains(instr, &options(host), count)?;
    Some(ProbeLoop { ir, name, operations: count as f64 * operations, input, output })
}

/// The whole program from `main`, compiled.
pub fn compile_main(outcome: &Outcome, llvm: &Llvm) -> Result<Module, Problem> {
    let host = llvm.host().map_err(Problem::Tool)?;
    let text = main_text(outcome, &host)?;
    llvm.compile(&text.ir, &host.target(), OptLevel::O3).map_err(Problem::Tool)
}

/// The whole program from `main`, as LLVM IR before LLVM has seen it.
pub fn main_text(outcome: &Outcome, host: &HostTarget) -> Result<Text, Problem> {
    let Some(main) = outcome.module.main else {
        return Err(Problem::User("the file has no `main`".into()));
    };
    accepted(outcome, main)?;
    cachet_codegen::emit_main(outcome.checked.program(), main, &options(host)).map_err(refused)
}

/// The whole program from `main`, compiled for a target.
pub fn compile_main_for(outcome: &Outcome, llvm: &Llvm, target: &Resolved) -> Result<(String, Module), Problem> {
    let Some(main) = outcome.module.main else {
        return Err(Problem::User("the file has no `main`".into()));
    };
    accepted(outcome, main)?;
    let text = cachet_codegen::emit_main(outcome.checked.program(), main, &target.options()).map_err(refused)?;
    let module = llvm.compile(&text.ir, &target.target, OptLevel::O3).map_err(Problem::Tool)?;
    Ok((text.ir, module))
}

/// Runs `main` in this process, its grids on so many threads, and gives its exit status.
pub fn run_main(outcome: &Outcome, llvm: &Llvm, threads: usize) -> Result<i32, Problem> {
    let pool = Pool::new(threads).map_err(Problem::Tool)?;
    let jit = compile_main(outcome, llvm)?.load().map_err(Problem::Tool)?;
    jit.run_main_on("cachet_main", pool.interface()).map_err(Problem::Tool)
}

pub(crate) fn accepted(outcome: &Outcome, fun: FunId) -> Result<(), Problem> {
    if outcome.checked.accepts(fun) {
        return Ok(());
    }
    let name = &outcome.checked.program().funs[fun.index()].name;
    Err(Problem::User(format!("`{name}` was refused, so there is no code for it")))
}

fn refused(d: Diagnostic) -> Problem {
    Problem::Refused(Box::new(d))
}

fn options(host: &HostTarget) -> Options {
    Options { cpu: host.cpu.clone(), features: host.features.clone(), vector_bits: (host.vector_bytes() * 8) as u32 }
}

/// A tool error that says that something is missing.
pub fn is_missing(e: &ToolError) -> bool {
    matches!(e.kind, ToolErrorKind::Missing | ToolErrorKind::TooOld)
}
