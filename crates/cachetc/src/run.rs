//! `cachetc run`.

use crate::{ErrorFormat, OK, REFUSED, UNABLE, terminal};
use cachet::native::{self, Problem};
use cachet::pipeline::Outcome;
use cachet_core::interpret;
use cachet_runtime::{Llvm, MOST_THREADS, cpu_count};

/// Runs `main`, natively on so many threads, or in the interpreter. Both print the same text.
pub fn run(file: &str, in_interpreter: bool, threads: Option<usize>, format: ErrorFormat) -> u8 {
    let (outcome, llvm) = terminal::checked_meanwhile(file, || (!in_interpreter).then(Llvm::load));
    terminal::report(outcome, format);
    if let Some(code) = no_main(file, outcome, format) {
        return code;
    }
    let Some(llvm) = llvm else { return interpreted(outcome, format) };
    let threads = threads.unwrap_or_else(|| cpu_count().min(MOST_THREADS));
    match llvm.map_err(Problem::Tool).and_then(|llvm| native::run_main(outcome, &llvm, threads)) {
        Ok(0) => OK,
        Ok(_) => UNABLE,
        Err(p) => problem(outcome, &p, format),
    }
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
