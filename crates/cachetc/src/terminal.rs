//! Where text goes.

use crate::{ErrorFormat, json, render};
use cachet::pipeline::Outcome;
use std::io::{IsTerminal, Write};

/// Stack of the thread that works: nesting is bounded, and this is far more than the bound needs.
pub const STACK: usize = 256 << 20;

/// Whether standard error takes colours.
pub fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Prints every report of an outcome.
pub fn report(outcome: &Outcome, format: ErrorFormat) {
    let mut err = std::io::stderr().lock();
    for d in &outcome.diagnostics {
        let text = match format {
            ErrorFormat::Text => render::diagnostic(&outcome.sources, d, colours()) + "\n",
            ErrorFormat::Json => json::diagnostic(&outcome.sources, d).to_string(),
        };
        let _ = writeln!(err, "{text}");
    }
}

/// Prints on standard output; a closed pipe is not an error.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
}

/// Prints text that has its own line ends.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// A failure of a tool, in the form that was asked for.
pub fn unable(format: ErrorFormat, message: &str, help: Option<&str>) -> u8 {
    match format {
        ErrorFormat::Text => {
            eprintln!("error: {message}");
            if let Some(h) = help {
                eprintln!("  help: {h}");
            }
        }
        ErrorFormat::Json => {
            eprintln!("{}", serde_json::json!({ "kind": "tool", "code": "tool", "message": message, "helps": help }));
        }
    }
    crate::UNABLE
}
