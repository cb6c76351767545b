//! Text to syntax: lexer, layout, parser, lossless tree, typed syntax.
//!
//! [`parse`] always gives a tree whose tokens, one after another, are the text, and a typed [`ast::File`] of the
//! entries that obey the grammar. It never fails, never overflows the stack, and takes time linear in the text. Names
//! and types mean nothing here.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]

pub mod ast;
mod encoding;
mod format;
mod kind;
mod layout;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

pub use encoding::decode;
pub use format::{Unformatted, format};
pub use kind::{Cachet, SyntaxKind, SyntaxNode, SyntaxToken};

use cachet_source::{Diagnostic, FileId, Span};
use rowan::{GreenNodeBuilder, Language};

/// The longest text that is read, in bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// How deep blocks, brackets and types may nest.
pub const MAX_DEPTH: usize = 128;

/// How high one expression may grow, nesting and chains of operators together.
pub const MAX_HEIGHT: usize = 512;

/// What a text says.
#[derive(Clone, Debug)]
pub struct Parse {
    /// The lossless tree.
    pub tree: SyntaxNode,
    /// The typed syntax of the entries that obey the grammar.
    pub ast: ast::File,
    /// What is wrong, in the order in which it was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a file's text.
pub fn parse(text: &str, file: FileId) -> Parse {
    if let Some(report) = encoding::check_length(text, file) {
        return unread(text, file, report);
    }
    let mut diagnostics = Vec::new();
    encoding::check_characters(text, file, &mut diagnostics);
    let raw = lexer::lex(text);
    let tokens = layout::columns(text, file, &raw, &mut diagnostics);
    let (green, ast, errors) = parser::parse_tokens(text, file, &raw, &tokens);
    diagnostics.extend(errors);
    Parse { tree: SyntaxNode::new_root(green), ast, diagnostics }
}

/// A text beyond the limit: one token, no syntax. Offsets are clamped, as the spans' width may not hold them.
fn unread(text: &str, file: FileId, report: Diagnostic) -> Parse {
    let mut builder = GreenNodeBuilder::new();
    builder.start_node(Cachet::kind_to_raw(SyntaxKind::Root));
    builder.token(Cachet::kind_to_raw(SyntaxKind::Unknown), text);
    builder.finish_node();
    let span = Span::new(file, 0, u32::try_from(text.len()).unwrap_or(u32::MAX));
    let ast = ast::File { module: None, imports: Vec::new(), items: Vec::new(), broken: vec![span], span };
    Parse { tree: SyntaxNode::new_root(builder.finish()), ast, diagnostics: vec![report] }
}
