//! `cachetc fmt`: files in the one style.

use crate::{ErrorFormat, OK, REFUSED, UNABLE, json, render, terminal};
use cachet::world::Disk;
use cachet_frontend::Files;
use cachet_source::{Diagnostic, FileId, Sources};
use cachet_syntax::{MAX_BYTES, Unformatted, decode, format};
use std::io::{Read, Write};
use std::path::Path;

/// Standard input instead of a file.
const STANDARD: &str = "-";

/// Rewrites files in place, or lists those that would change; `-` goes from standard input to standard output.
pub fn run(files: &[String], check: bool, errors: ErrorFormat) -> u8 {
    files.iter().map(|file| one(file, check, errors)).max().unwrap_or(OK)
}

fn one(file: &str, check: bool, errors: ErrorFormat) -> u8 {
    let bytes = match read(file) {
        Ok(bytes) => bytes,
        Err(e) => return terminal::unable(errors, &format!("cannot read {}: {e}", shown(file)), None),
    };
    let text = match decode(&bytes, FileId(0)) {
        Ok(text) => text,
        Err(d) => return refused(file, &String::from_utf8_lossy(&bytes), &[*d], errors),
    };
    let formatted = match format(text, FileId(0)) {
        Ok(formatted) => formatted,
        Err(Unformatted::Broken(diagnostics)) => return refused(file, text, &diagnostics, errors),
        Err(Unformatted::TooLong) => {
            let message = format!("{}: indented, it would have more than {MAX_BYTES} bytes", shown(file));
            return terminal::unable(errors, &message, Some("it is left as it is; split it, and import the parts"));
        }
        Err(Unformatted::Changed) => {
            let message = format!("{}: formatting it would change the program", shown(file));
            return terminal::unable(errors, &message, Some("it is left as it is; this is a bug of cachetc"));
        }
    };
    if check {
        if formatted == text {
            return OK;
        }
        terminal::say(shown(file));
        return REFUSED;
    }
    if file == STANDARD {
        terminal::print(&formatted);
        return OK;
    }
    if formatted == text {
        return OK;
    }
    match replace(Path::new(file), &formatted) {
        Ok(()) => OK,
        Err(e) => terminal::unable(errors, &format!("cannot write {file}: {e}"), None),
    }
}

fn shown(file: &str) -> &str {
    if file == STANDARD { "standard input" } else { file }
}

fn read(file: &str) -> std::io::Result<Vec<u8>> {
    if file != STANDARD {
        return Disk::default().read(Path::new(file));
    }
    let mut bytes = Vec::new();
    // One byte beyond the limit, so that the parser says which limit it is.
    std::io::stdin().lock().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes beside the file first, so that a full disk leaves the file as it was; follows links and keeps permissions.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let path = std::fs::canonicalize(path)?;
    let permissions = std::fs::metadata(&path)?.permissions();
    if permissions.readonly() {
        return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = std::fs::File::create_new(&beside).and_then(|mut out| {
        out.write_all(text.as_bytes())?;
        out.set_permissions(permissions)?;
        out.sync_all()?;
        std::fs::rename(&beside, &path)
    });
    if written.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn refused(file: &str, text: &str, diagnostics: &[Diagnostic], errors: ErrorFormat) -> u8 {
    let mut sources = Sources::new();
    sources.add(shown(file), text);
    for d in diagnostics {
        let text = match errors {
            ErrorFormat::Text => render::diagnostic(&sources, d, terminal::colours()) + "\n",
            ErrorFormat::Json => json::diagnostic(&sources, d).to_string(),
        };
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
    REFUSED
}

const _: () = assert!(OK < REFUSED && REFUSED < UNABLE);
