//! What becomes of a text, from its first byte to the last that is printed of it?
//!
//! [`tried`] takes it through everything that the commands do, on a thread with the stack that they have, and says how far
//! it came, or what went wrong there.

use crate::corpus::Altered;
use cachet::claim;
use cachet::pipeline::{Outcome, check};
use cachet_core::interpret::{self, Options, TrapKind};
use cachet_core::print::listing;
use cachet_source::{Diagnostic, FileId, Sources};
use cachet_syntax::{SyntaxKind, SyntaxNode, Unformatted, ast, format, parse};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The stack of the thread on which the commands work.
pub const STACK: usize = 256 << 20;
/// A text that takes longer is taken for one that never ends.
const NEVER: Duration = Duration::from_secs(60);
/// How many steps of a program are interpreted, and how many elements it may have.
const RUN: Options = Options { shuffle: None, max_steps: 20_000, max_elements: 1 << 20 };

/// How far a text came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reached {
    /// It does not parse.
    Nothing,
    /// It parses, and its types are wrong.
    Parsed,
    /// Its types are right, and something was not proved.
    Typed,
    /// It is accepted, and has no `main` that runs to its end within the limits.
    Accepted,
    /// Its `main` ran.
    Ran,
}

/// What was seen of a text.
#[derive(Clone, Debug)]
pub struct Seen {
    /// How far it came, or what went wrong.
    pub reached: Result<Reached, String>,
    /// How long that took.
    pub time: Duration,
}

/// Takes the root file through the pipeline, on a thread with a name that a stack overflow's message will say.
pub fn tried(name: &str, root: &str, world: Altered<'_>, bytes: &[u8]) -> Seen {
    alone(name, || whole(root, world, bytes))
}

/// Does something that may panic or never end on a thread of its own. One that never ends is left behind.
pub fn alone(name: &str, work: impl FnOnce() -> Result<Reached, String> + Send) -> Seen {
    quiet();
    let start = Instant::now();
    let (done, result) = channel();
    let reached = std::thread::scope(|scope| {
        let work = move || {
            let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(PANIC.take()));
            let _ = done.send(result);
        };
        let thread = std::thread::Builder::new().name(format!("{QUIET}{name}")).stack_size(STACK);
        let thread = thread.spawn_scoped(scope, work).unwrap();
        let reached = match result.recv_timeout(NEVER) {
            Ok(result) => result,
            Err(RecvTimeoutError::Disconnected) => Err("its thread is gone".into()),
            // Threads that borrow cannot be left behind; whoever waits for this one should know for what.
            Err(RecvTimeoutError::Timeout) => {
                eprintln!("{name} takes longer than {} s", NEVER.as_secs());
                result.recv().unwrap_or_else(|_| Err("its thread is gone".into()))
            }
        };
        // Not dropped: glibc 2.36 detaches a thread in two parts, and reads the top of its stack in the second, which is
        // unmapped by then if the thread ended between them and its stack was too large to be kept.
        let _ = thread.join();
        reached
    });
    Seen { reached, time: start.elapsed() }
}

/// How the names of threads begin on which panics are expected, and not printed.
const QUIET: &str = "tried: ";

thread_local! {
    /// What the last panic of this thread said.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics of such threads off the standard error.
fn quiet() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name().is_some_and(|n| n.starts_with(QUIET)) {
                PANIC.set(info.to_string());
            } else {
                loud(info);
            }
        }));
    });
}

/// All of it.
fn whole(root: &str, world: Altered<'_>, bytes: &[u8]) -> Result<Reached, String> {
    let outcome = check(root, &world);
    for d in &outcome.diagnostics {
        report(&outcome.sources, d)?;
    }
    let parses = match std::str::from_utf8(bytes) {
        Ok(text) => formatted(text)?,
        Err(_) => false,
    };
    let refused = outcome.refused();
    match (parses, refused) {
        (false, false) => return Err("it is accepted, and does not parse".into()),
        (false, true) => return Ok(Reached::Nothing),
        (true, _) => {}
    }
    printed(&outcome)?;
    if refused {
        let (_, reports) = cachet_frontend::load(root, &world, &mut Sources::new());
        let typed = !reports.iter().any(Diagnostic::refuses);
        return Ok(if typed { Reached::Typed } else { Reached::Parsed });
    }
    let Some(main) = outcome.module.main.filter(|main| outcome.checked.accepts(*main)) else {
        return Ok(Reached::Accepted);
    };
    let mut out = String::new();
    let run = interpret::prepare(outcome.checked.program(), main, &[]);
    match run.and_then(|p| p.run_with(&[], &mut [], &RUN, &mut out)) {
        Ok(()) => Ok(Reached::Ran),
        Err(trap) if trap.kind == TrapKind::Limit => Ok(Reached::Accepted),
        Err(trap) => Err(format!("it is accepted, and its run stops: {}", trap.text)),
    }
}

/// A report's places are in the text, between characters, and it says something.
fn report(sources: &Sources, d: &Diagnostic) -> Result<(), String> {
    let places = d.labels.iter().map(|l| l.span).chain(d.callers.iter().copied());
    for span in places {
        let known = sources.iter().find(|(id, _)| *id == span.file);
        let Some((_, file)) = known else { return Err(format!("a report is about no file: {}", d.message)) };
        if span.lo > span.hi || file.text.get(span.lo as usize..span.hi as usize).is_none() {
            return Err(format!(
                "a report is about bytes {} to {} of `{}`: {}",
                span.lo, span.hi, file.name, d.message
            ));
        }
    }
    match d.message.trim().is_empty() {
        true => Err(format!("a report without words: {}", d.code.0)),
        false => Ok(()),
    }
}

/// Whether a text parses; and if it does, everything that holds of the formatted text.
pub fn formatted(text: &str) -> Result<bool, String> {
    let before = parse(text, FileId(0));
    if before.tree.text() != text {
        return Err("the tree is not the text".into());
    }
    for d in &before.diagnostics {
        let within = d.span().is_some_and(|s| s.lo <= s.hi && text.get(s.lo as usize..s.hi as usize).is_some());
        if !within {
            return Err(format!("the parser's report is about a place outside: {}", d.message));
        }
    }
    if !before.ast.broken.is_empty() && before.diagnostics.is_empty() {
        return Err("entries are broken, and nothing is reported".into());
    }
    let once = match (format(text, FileId(0)), before.diagnostics.is_empty()) {
        (Ok(once), true) => once,
        (Err(Unformatted::Broken(reports)), false) if !reports.is_empty() => return Ok(false),
        (Ok(_), false) => return Err("a broken text is formatted".into()),
        (Err(why), _) => return Err(format!("it is not formatted: {why:?}")),
    };
    let after = parse(&once, FileId(0));
    if !after.diagnostics.is_empty() || said(&after.ast) != said(&before.ast) {
        return Err(format!("the formatted text says something else:\n{once}"));
    }
    if comments(&before.tree) != comments(&after.tree) {
        return Err(format!("the formatted text has other comments:\n{once}"));
    }
    match format(&once, FileId(0)) {
        Ok(twice) if twice == once => Ok(true),
        _ => Err(format!("formatted again it is another:\n{once}")),
    }
}

/// What a file says, without where.
fn said(file: &ast::File) -> String {
    let text = format!("{file:?}");
    let mut parts = text.split("Span {");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + part.split_once('}').map_or(part, |(_, rest)| rest))
}

/// The comments of a text, in order.
fn comments(tree: &SyntaxNode) -> Vec<String> {
    let tokens = tree.descendants_with_tokens().filter_map(|e| e.into_token());
    tokens.filter(|t| t.kind() == SyntaxKind::Comment).map(|t| t.text().trim_end().to_owned()).collect()
}

/// Prints what there is to print.
fn printed(outcome: &Outcome) -> Result<(), String> {
    for id in &outcome.module.items {
        let program = outcome.checked.program();
        let fun = &program.funs[id.index()];
        let text = listing(program, fun);
        if outcome.checked.accepts(*id) && text.trim().is_empty() {
            return Err(format!("`{}` is accepted, and prints as nothing", fun.name));
        }
    }
    for claim in outcome.claims.values() {
        if claim::text(claim, &[], &[]).trim().is_empty() {
            return Err("a claim says nothing".into());
        }
    }
    Ok(())
}
