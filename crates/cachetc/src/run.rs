//! `cachetc run` and `cachetc build`.

use crate::{ErrorFormat, OK, REFUSED, UNABLE, terminal};
use cachet::native::{self, Problem};
use cachet::pipeline::{self, Outcome};
use cachet_core::interpret;
use cachet_runtime::{Llvm, MOST_THREADS, cpu_count, link_executable, write_file};
use clap::ValueEnum;
use std::path::Path;

/// What `build --emit` prints.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// LLVM IR as it leaves the compiler, before LLVM's passes.
    LlvmIr,
    /// Assembly.
    Asm,
}

/// Runs `main`, natively on so many threads, or in the interpreter. Both print the same text.
pub fn run(file: &str, in_interpreter: bool, threads: Option<usize>, format: ErrorFormat) -> u8 {
    let outcome = pipeline::check(file, &terminal::disk());
    terminal::report(&outcome, format);
    if let Some(code) = no_main(file, &outcome, format) {
        return code;
    }
    if in_interpreter {
        return interpreted(&outcome, format);
    }
    let threads = threads.unwrap_or_else(|| cpu_count().min(MOST_THREADS));
    match Llvm::load().map_err(Problem::Tool).and_then(|llvm| native::run_main(&outcome, &llvm, threads)) {
        Ok(0) => OK,
        Ok(_) => UNABLE,
        Err(p) => problem(&outcome, &p, format),
    }
}

/// Compiles `main`.
pub fn build(file: &str, output: &Path, emit: Option<Emit>, format: ErrorFormat) -> u8 {
    let outcome = pipeline::check(file, &terminal::disk());
    terminal::report(&outcome, format);
    if let Some(code) = no_main(file, &outcome, format) {
        return code;
    }
    match Llvm::load().map_err(Problem::Tool).and_then(|llvm| write(&outcome, &llvm, output, emit)) {
        Ok(()) => OK,
        Err(p) => problem(&outcome, &p, format),
    }
}

fn write(outcome: &Outcome, llvm: &Llvm, output: &Path, emit: Option<Emit>) -> Result<(), Problem> {
    if emit == Some(Emit::LlvmIr) {
        let host = llvm.host().map_err(Problem::Tool)?;
        let text = native::main_text(outcome, &host)?;
        return write_file(output, text.ir.as_bytes()).map_err(Problem::Tool);
    }
    let module = native::compile_main(outcome, llvm)?;
    if emit == Some(Emit::Asm) {
        let text = module.emit_assembly().map_err(Problem::Tool)?;
        return write_file(output, text.as_bytes()).map_err(Problem::Tool);
    }
    let object = module.emit_object().map_err(Problem::Tool)?;
    if output.extension().is_some_and(|e| e == "o") {
        return write_file(output, &object).map_err(Problem::Tool);
    }
    let beside = output.with_extension("cachet-object.o");
    write_file(&beside, &object).map_err(Problem::Tool)?;
    let linked = link_executable(&[&beside], output).map_err(Problem::Tool);
    // The object was a means; whether it can be removed does not matter to the executable.
    let _ = std::fs::remove_file(&beside);
    linked.map(|_| ())
}

fn interpreted(outcome: &Outcome, format: ErrorFormat) -> u8 {
    let Some(main) = outcome.module.main else { return UNABLE };
    let mut text = String::new();
    let done = interpret::run_main(outcome.checked.program(), main, &mut text);
    terminal::print(&text);
    match done {
        Ok(()) => OK,
        Err(trap) => terminal::unable(format, &format!("the run stopped: {}", trap.text), None),
    }
}

/// Why `main` cannot run, as an exit status.
pub fn no_main(file: &str, outcome: &Outcome, format: ErrorFormat) -> Option<u8> {
    match outcome.module.main {
        Some(main) if outcome.checked.accepts(main) => None,
        _ if outcome.refused() => Some(REFUSED),
        _ => {
            terminal::unable(format, &format!("`{file}` has no `main`"), Some("write `fn main () =` with what to do"));
            Some(UNABLE)
        }
    }
}

/// Reports what kept a command from its work.
pub fn problem(outcome: &Outcome, p: &Problem, format: ErrorFormat) -> u8 {
    match p {
        Problem::Refused(d) => {
            terminal::reports(&outcome.sources, std::slice::from_ref(&**d), format);
            terminal::more(&[d.code], format);
            UNABLE
        }
        Problem::Tool(e) => {
            let message = match &e.detail {
                Some(detail) => format!("{}\n{}", e.message, detail.trim_end()),
                None => e.message.clone(),
            };
            terminal::unable(format, &message, e.fix.as_deref())
        }
        Problem::User(text) => terminal::unable(format, text, None),
    }
}
