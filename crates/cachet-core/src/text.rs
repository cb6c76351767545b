//! The exact text form of a program: JSON of the IR, every id as it is, source places included.
//!
//! For tools and for tests of one phase at a time. People read [`crate::print`].

use crate::ir::Program;

/// A text that is not a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError(pub String);

/// How deep the text's brackets may nest: far beyond any program within the limits on nesting.
const MAX_BRACKETS: usize = 4096;

/// The program as text.
pub fn write(program: &Program) -> String {
    serde_json::to_string_pretty(program).unwrap_or_else(|e| format!("\"{e}\""))
}

/// The program of a text. Ids are not checked here: that is the validator's work.
pub fn read(text: &str) -> Result<Program, TextError> {
    let depth = nesting(text);
    if depth > MAX_BRACKETS {
        return Err(TextError(format!("brackets nest {depth} deep; the limit is {MAX_BRACKETS}")));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let program = serde::Deserialize::deserialize(&mut reader).map_err(|e| TextError(e.to_string()))?;
    reader.end().map_err(|e| TextError(e.to_string()))?;
    Ok(program)
}

fn nesting(text: &str) -> usize {
    let (mut depth, mut most, mut quoted, mut escaped) = (0usize, 0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => {
                depth += 1;
                most = most.max(depth);
            }
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    most
}
