//! Which line belongs to which entry?
//!
//! A *block* is a list of *entries* whose first tokens stand at one column. A line that starts right of that column
//! continues the entry above it; one that starts at the column is the next entry; one that starts left of it ends the
//! block. Inside brackets lines do not count, except in a block opened there; a bracket that nothing closes ends with
//! its entry, so that the lines below are read as they look.
//!
//! Whether a token may open a block is known only to the grammar (`=` does in `let x =` and not in `(n = 4)`), so the
//! parser opens and closes frames here and asks where the current entry ends; the columns are computed once, before.

use crate::kind::SyntaxKind;
use crate::lexer::RawToken;
use cachet_source::{Diagnostic, FileId, Span, codes};

/// A token that is not trivia, with its place in the layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: SyntaxKind,
    pub(crate) lo: u32,
    pub(crate) hi: u32,
    /// Its index among all tokens.
    pub(crate) raw: u32,
    /// The column of the line's first token, from 0; meaningful only where `first` holds.
    pub(crate) col: u32,
    /// Whether nothing but blanks stands before it on its line.
    pub(crate) first: bool,
    /// Whether it opens a bracket that nothing closes.
    pub(crate) unclosed: bool,
}

/// How many columns a tab advances to a multiple of: it is refused, and the rest of the file should still be read as
/// its author sees it.
const TAB: u32 = 4;

/// Finds the column of every line's first token; refuses tabs there.
pub(crate) fn columns(text: &str, file: FileId, raw: &[RawToken], diagnostics: &mut Vec<Diagnostic>) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(raw.len() / 2);
    let (mut first, mut col) = (true, 0);
    let (mut tab, mut tabs) = (None, 0);
    let mut line_tab = None;
    for (index, token) in raw.iter().enumerate() {
        match token.kind {
            SyntaxKind::Whitespace => {
                let blank = &text[token.lo as usize..token.hi as usize];
                let indent_at = blank.rfind('\n').map(|i| i + 1);
                if let Some(at) = indent_at {
                    (first, col, line_tab) = (true, 0, None);
                    indent(&blank[at..], token.lo + at as u32, &mut col, &mut line_tab);
                } else if first {
                    indent(blank, token.lo, &mut col, &mut line_tab);
                }
            }
            SyntaxKind::Comment | SyntaxKind::Bom => {}
            kind => {
                if first && let Some(at) = line_tab.take() {
                    tab = tab.or(Some(at));
                    tabs += 1;
                }
                tokens.push(Token { kind, lo: token.lo, hi: token.hi, raw: index as u32, col, first, unclosed: false });
                first = false;
            }
        }
    }
    mark_unclosed(text, &mut tokens);
    if let Some(at) = tab {
        let mut report = Diagnostic::error(codes::LAYOUT, Span::new(file, at, at + 1), "a tab in the indentation")
            .help("indent with spaces, two a level");
        if tabs > 1 {
            report = report.note(format!("{tabs} lines are indented with tabs"));
        }
        diagnostics.push(report);
    }
    tokens
}

/// Marks the brackets that nothing closes: another kind of bracket, or the next item, comes first.
fn mark_unclosed(text: &str, tokens: &mut [Token]) {
    let mut open: Vec<usize> = Vec::new();
    // How many of each kind are open, so that a stray closer costs nothing.
    let mut counts = [0usize; 3];
    let slot = |kind: SyntaxKind| match kind {
        SyntaxKind::LParen => 0,
        SyntaxKind::LBracket => 1,
        _ => 2,
    };
    for at in 0..tokens.len() {
        let token = tokens[at];
        let partner = match token.kind {
            SyntaxKind::LParen | SyntaxKind::LBracket | SyntaxKind::LBrace => {
                open.push(at);
                counts[slot(token.kind)] += 1;
                continue;
            }
            SyntaxKind::RParen => SyntaxKind::LParen,
            SyntaxKind::RBracket => SyntaxKind::LBracket,
            SyntaxKind::RBrace => SyntaxKind::LBrace,
            SyntaxKind::Keyword if token.first && token.col == 0 => {
                if ITEM_WORDS.contains(&&text[token.lo as usize..token.hi as usize]) {
                    open.drain(..).for_each(|i| tokens[i].unclosed = true);
                    counts = [0; 3];
                }
                continue;
            }
            _ => continue,
        };
        if counts[slot(partner)] == 0 {
            continue;
        }
        while let Some(last) = open.pop() {
            counts[slot(tokens[last].kind)] -= 1;
            if tokens[last].kind == partner {
                break;
            }
            tokens[last].unclosed = true;
        }
    }
    open.into_iter().for_each(|i| tokens[i].unclosed = true);
}

/// Reserved words that start items and stand in no bracket.
const ITEM_WORDS: &[&str] = &[
    "const",
    "synth",
    "proof",
    "record",
    "interface",
    "impl",
    "layout",
    "fn",
    "instr",
    "contraction",
    "schedule",
    "step",
    "builtin",
];

fn indent(blank: &str, lo: u32, col: &mut u32, tab: &mut Option<u32>) {
    for (i, c) in blank.char_indices() {
        match c {
            '\t' => {
                *tab = tab.or(Some(lo + i as u32));
                *col = (*col / TAB + 1) * TAB;
            }
            ' ' => *col += 1,
            _ => {}
        }
    }
}

/// What surrounds the current token.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Frame {
    /// A block at a column; its current entry starts with token number `entry`.
    Block { col: u32, entry: usize },
    /// Brackets. Unclosed ones end with the entry around them: the column and first token of that.
    Bracket { unclosed: Option<(u32, usize)> },
}

/// The frames around the current token, outermost first; the first is the file's block.
#[derive(Debug)]
pub(crate) struct Frames(Vec<Frame>);

impl Frames {
    /// The file's block, at column 0.
    pub(crate) fn new() -> Frames {
        Frames(vec![Frame::Block { col: 0, entry: 0 }])
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    pub(crate) fn open_bracket(&mut self, unclosed: bool) {
        let unclosed = match self.0.last() {
            Some(Frame::Block { col, entry }) if unclosed => Some((*col, *entry)),
            Some(Frame::Bracket { unclosed: outer }) if unclosed => *outer,
            _ => None,
        };
        self.0.push(Frame::Bracket { unclosed });
    }

    pub(crate) fn open_block(&mut self, col: u32) {
        self.0.push(Frame::Block { col, entry: usize::MAX });
    }

    pub(crate) fn close(&mut self) {
        self.0.pop();
    }

    /// Says that the next entry of the innermost block starts with token number `at`.
    pub(crate) fn begin_entry(&mut self, at: usize) {
        if let Some(Frame::Block { entry, .. }) = self.0.last_mut() {
            *entry = at;
        }
    }

    /// The first token of the innermost block's current entry.
    pub(crate) fn entry(&self) -> Option<usize> {
        self.0.iter().rev().find_map(|f| match f {
            Frame::Block { entry, .. } => Some(*entry),
            Frame::Bracket { .. } => None,
        })
    }

    /// The column of the innermost block, whether or not brackets stand in between.
    pub(crate) fn column(&self) -> u32 {
        let column = self.0.iter().rev().find_map(|f| match f {
            Frame::Block { col, .. } => Some(*col),
            Frame::Bracket { .. } => None,
        });
        column.unwrap_or(0)
    }

    /// Whether `token`, number `at`, stands outside the current entry.
    pub(crate) fn ends_at(&self, token: &Token, at: usize) -> bool {
        match self.0.last() {
            Some(Frame::Block { col, entry } | Frame::Bracket { unclosed: Some((col, entry)) }) => {
                token.first && token.col <= *col && at != *entry
            }
            Some(Frame::Bracket { unclosed: None }) | None => false,
        }
    }

    /// Whether brackets are open around the innermost block.
    pub(crate) fn in_brackets(&self) -> bool {
        self.0.iter().any(|f| matches!(f, Frame::Bracket { .. }))
    }

    /// The columns of the blocks around the current entry, innermost first, up to the nearest bracket; `None` at the
    /// end where a bracket hides the rest.
    pub(crate) fn enclosing(&self) -> impl Iterator<Item = Option<u32>> {
        let mut hidden = false;
        self.0.iter().rev().map_while(move |f| {
            if hidden {
                return None;
            }
            Some(match f {
                Frame::Block { col, .. } => Some(*col),
                Frame::Bracket { .. } => {
                    hidden = true;
                    None
                }
            })
        })
    }

    /// Whether a line may start at `col`.
    pub(crate) fn fits(&self, col: u32) -> bool {
        self.enclosing().any(|c| c.is_none_or(|c| c == col))
    }
}
