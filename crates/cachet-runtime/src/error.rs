//! What the runtime says when a tool, the operating system or the machine cannot do what was asked.

use std::fmt;

/// What went wrong, for choosing an exit status; the text is in [`ToolError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolErrorKind {
    /// A tool or library was not found, or could not be loaded.
    Missing,
    /// A tool was found and is too old.
    TooOld,
    /// The text handed to LLVM is not valid, or LLVM could not compile it.
    BadInput,
    /// The machine or the target lacks something that the bits depend on.
    Unsupported,
    /// The operating system refused a file, a process or memory.
    Io,
    /// A tool ran and reported failure.
    Failed,
    /// The caller's arguments do not fit together.
    Misuse,
}

/// A failure outside the compiler: what, the tool's own words, and the command that fixes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    /// The class of failure.
    pub kind: ToolErrorKind,
    /// One sentence that stands alone.
    pub message: String,
    /// The tool's own output, or what was tried.
    pub detail: Option<String>,
    /// What to run or change; a command where there is one.
    pub fix: Option<String>,
}

impl ToolError {
    /// A failure with a message and nothing else yet.
    pub fn new(kind: ToolErrorKind, message: impl Into<String>) -> ToolError {
        ToolError { kind, message: message.into(), detail: None, fix: None }
    }

    /// Adds the tool's own words.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> ToolError {
        self.detail = Some(detail.into());
        self
    }

    /// Adds the remedy.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> ToolError {
        self.fix = Some(fix.into());
        self
    }

    pub(crate) fn io(doing: impl fmt::Display, error: &std::io::Error) -> ToolError {
        ToolError::new(ToolErrorKind::Io, format!("cannot {doing}: {error}"))
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(detail) = &self.detail {
            write!(f, "\n{}", detail.trim_end())?;
        }
        if let Some(fix) = &self.fix {
            write!(f, "\nhelp: {fix}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ToolError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_message_detail_and_fix_in_that_order() {
        let error = ToolError::new(ToolErrorKind::Missing, "no x").with_detail("tried y\n").with_fix("install x");
        assert_eq!(error.to_string(), "no x\ntried y\nhelp: install x");
    }
}
