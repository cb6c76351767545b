//! Characters that no source file holds.

use crate::MAX_BYTES;
use cachet_source::{Diagnostic, FileId, Span, codes};

/// The text of a file's bytes.
///
/// # Errors
///
/// A report at the first byte that is not UTF-8.
pub fn decode(bytes: &[u8], file: FileId) -> Result<&str, Box<Diagnostic>> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = u32::try_from(error.valid_up_to()).unwrap_or(u32::MAX);
        // Before the byte: that place is in the file, and in whatever is shown of it.
        let report = Diagnostic::error(codes::ENCODING, Span::new(file, at, at), "the file is not UTF-8");
        Box::new(report.note("the byte here starts no character"))
    })
}

/// NUL, a bare carriage return, and the characters that reorder displayed text.
pub(crate) fn is_forbidden(c: char) -> bool {
    c == '\0' || c == '\r' || is_bidi_control(c)
}

fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether the text is short enough for offsets and for one compilation.
pub(crate) fn check_length(text: &str, file: FileId) -> Option<Diagnostic> {
    if text.len() <= MAX_BYTES {
        return None;
    }
    let message = format!("the file has {} bytes; at most {MAX_BYTES} are read", text.len());
    Some(Diagnostic::error(codes::LIMIT, Span::new(file, 0, 0), message).help("split it, and import the parts"))
}

/// Reports forbidden characters wherever they stand: one report a kind, with their number.
pub(crate) fn check_characters(text: &str, file: FileId, diagnostics: &mut Vec<Diagnostic>) {
    let suspicious = |b: u8| b == 0 || b == b'\r' || b >= 0x80;
    if !text.bytes().any(suspicious) {
        return;
    }
    let mut found: [(Option<Span>, usize); 3] = [(None, 0); 3];
    let bytes = text.as_bytes();
    for (i, c) in text.char_indices() {
        let kind = match c {
            '\0' => 0,
            '\r' if bytes.get(i + 1) != Some(&b'\n') => 1,
            c if is_bidi_control(c) => 2,
            _ => continue,
        };
        let span = Span::new(file, i as u32, (i + c.len_utf8()) as u32);
        found[kind] = (found[kind].0.or(Some(span)), found[kind].1 + 1);
    }
    let messages = [
        "a NUL character",
        "a carriage return that ends no line",
        "a control character that changes the direction of displayed text",
    ];
    for ((span, count), message) in found.into_iter().zip(messages) {
        let Some(span) = span else { continue };
        let mut report = Diagnostic::error(codes::ENCODING, span, message).help("remove it");
        if count > 1 {
            report = report.note(format!("there are {count} of them in the file"));
        }
        diagnostics.push(report);
    }
}
