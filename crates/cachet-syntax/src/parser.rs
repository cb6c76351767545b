//! The parser: recursive descent over tokens with columns, with one report per broken entry.
//!
//! One pass makes both the lossless tree and the typed syntax. A function of the grammar takes the tokens of its
//! construct into the tree and returns the typed node, or returns [`Broken`] once it has reported what is wrong; the
//! innermost block's loop then puts the rest of the entry into an error node, drops the entry and goes on with the
//! next one. So a report never multiplies, and siblings of a broken entry survive.
//!
//! Invariants: every token enters the tree once, in order, with the trivia before it; recursion is bounded by
//! [`MAX_DEPTH`], the height of an expression by [`MAX_HEIGHT`]; every loop takes a token or ends.

mod expr;
mod header;
mod item;
mod messages;
mod platform;
mod recipe;
mod reductions;
mod schedule;
mod stmt;
mod types;

use crate::ast::{File, Ident, Str};
use crate::kind::SyntaxKind::{self, End};
use crate::layout::{Frames, Token};
use crate::lexer::RawToken;
use crate::{MAX_DEPTH, MAX_HEIGHT};
use cachet_source::{Code, Diagnostic, FileId, Span, codes};
use rowan::{Checkpoint, GreenNode, GreenNodeBuilder, Language};

/// The entry breaks the grammar, and that has been reported.
#[derive(Debug)]
pub(crate) struct Broken;

/// A typed node, or a reported break.
pub(crate) type P<T> = Result<T, Broken>;

/// What the surroundings forbid or allow. Brackets reset all but `holes`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mode {
    /// In a binder: the first dot ends it.
    pub(crate) no_dot: bool,
    /// In an item's header: clause words end an expression or type, and some tokens may stand at the item's column.
    pub(crate) header: bool,
    /// In a size: no application but of `ceil`, `floor`, `min`, `max`.
    pub(crate) size: bool,
    /// Before a brace that is not a record literal's.
    pub(crate) no_record: bool,
    /// In a step function.
    pub(crate) holes: bool,
}

/// The state to go back to when an entry is broken.
#[derive(Clone, Copy)]
struct Saved {
    open: usize,
    frames: usize,
    depth: usize,
    mode: Mode,
}

/// The parser's state.
pub(crate) struct Parser<'t> {
    text: &'t str,
    file: FileId,
    raw: &'t [RawToken],
    tokens: &'t [Token],
    pos: usize,
    raw_pos: usize,
    frames: Frames,
    builder: GreenNodeBuilder<'static>,
    open: usize,
    depth: usize,
    /// The height of the expression returned last.
    height: usize,
    mode: Mode,
    /// How the step being read is written, for its reports.
    form: Option<&'static str>,
    diagnostics: Vec<Diagnostic>,
    broken: Vec<Span>,
}

/// Parses the tokens of a file.
pub(crate) fn parse_tokens(
    text: &str,
    file: FileId,
    raw: &[RawToken],
    tokens: &[Token],
) -> (GreenNode, File, Vec<Diagnostic>) {
    let mut parser = Parser {
        text,
        file,
        raw,
        tokens,
        pos: 0,
        raw_pos: 0,
        frames: Frames::new(),
        builder: GreenNodeBuilder::new(),
        open: 0,
        depth: 0,
        height: 0,
        mode: Mode::default(),
        form: None,
        diagnostics: Vec::new(),
        broken: Vec::new(),
    };
    parser.start(SyntaxKind::Root);
    let mut file = parser.file_entries();
    parser.flush(raw.len());
    parser.finish();
    file.broken = std::mem::take(&mut parser.broken);
    (parser.builder.finish(), file, parser.diagnostics)
}

// Looking.
impl<'t> Parser<'t> {
    /// The current token, whether or not it belongs to the current entry.
    fn token(&self) -> Option<&'t Token> {
        self.tokens.get(self.pos)
    }

    /// Whether the token `at` lies outside the current entry.
    fn ends_at(&self, at: usize) -> bool {
        match self.tokens.get(at) {
            None => true,
            Some(t) => self.frames.ends_at(t, at) && !self.continues_header(t),
        }
    }

    /// A header goes on at its item's column with these tokens and no others.
    fn continues_header(&self, t: &Token) -> bool {
        self.mode.header
            && t.col == self.frames.column()
            && (matches!(t.kind, SyntaxKind::LParen | SyntaxKind::Arrow | SyntaxKind::Eq)
                || CLAUSES.contains(&self.text_of(t)))
    }

    /// The current token's kind; [`End`] where the entry or the text ends.
    pub(crate) fn peek(&self) -> SyntaxKind {
        match self.token() {
            Some(t) if !self.ends_at(self.pos) => t.kind,
            _ => End,
        }
    }

    /// The kind of the token `n` further on; [`End`] past the entry's end.
    pub(crate) fn nth(&self, n: usize) -> SyntaxKind {
        if (self.pos..=self.pos + n).any(|at| self.ends_at(at)) {
            return End;
        }
        self.tokens.get(self.pos + n).map_or(End, |t| t.kind)
    }

    /// The text of the token `n` further on, empty past the entry's end.
    pub(crate) fn nth_text(&self, n: usize) -> &'t str {
        match self.nth(n) {
            End => "",
            _ => self.tokens.get(self.pos + n).map_or("", |t| self.text_of(t)),
        }
    }

    fn text_of(&self, t: &Token) -> &'t str {
        &self.text[t.lo as usize..t.hi as usize]
    }

    pub(crate) fn at(&self, kind: SyntaxKind) -> bool {
        self.peek() == kind
    }

    /// Whether the current token is this word, reserved or not.
    pub(crate) fn at_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    /// The current token, if it is a word.
    pub(crate) fn word(&self) -> Option<&'t str> {
        match self.peek() {
            SyntaxKind::Name | SyntaxKind::Keyword => self.token().map(|t| self.text_of(t)),
            _ => None,
        }
    }

    /// Whether nothing stands between the current token and the one before it.
    pub(crate) fn touches(&self) -> bool {
        self.touches_at(self.pos)
    }

    fn touches_at(&self, at: usize) -> bool {
        match (at.checked_sub(1).and_then(|i| self.tokens.get(i)), self.tokens.get(at)) {
            (Some(before), Some(t)) => before.hi == t.lo,
            _ => false,
        }
    }

    /// Whether the token `n` further on touches the one before it.
    pub(crate) fn nth_touches(&self, n: usize) -> bool {
        self.touches_at(self.pos + n)
    }

    /// The first byte of the current token.
    pub(crate) fn here(&self) -> u32 {
        self.token().map_or(self.text.len() as u32, |t| t.lo)
    }

    /// The span from `lo` to the end of the last token taken.
    pub(crate) fn span_from(&self, lo: u32) -> Span {
        Span::new(self.file, lo, self.last_end().max(lo))
    }

    fn last_end(&self) -> u32 {
        self.pos.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or(0, |t| t.hi)
    }
}

/// The words that start a clause of a header.
pub(crate) const CLAUSES: &[&str] = &["produces", "requires", "scratch", "working_set", "movement"];

// Taking.
impl<'t> Parser<'t> {
    fn flush(&mut self, until: usize) {
        for token in self.raw.get(self.raw_pos..until).unwrap_or_default() {
            let text = &self.text[token.lo as usize..token.hi as usize];
            self.builder.token(crate::Cachet::kind_to_raw(token.kind), text);
        }
        self.raw_pos = self.raw_pos.max(until);
    }

    fn flush_trivia(&mut self) {
        let until = self.token().map_or(self.raw.len(), |t| t.raw as usize);
        self.flush(until);
    }

    /// Takes the current token.
    pub(crate) fn bump(&mut self) {
        if let Some(t) = self.token() {
            self.flush(t.raw as usize + 1);
            self.pos += 1;
        }
    }

    pub(crate) fn start(&mut self, kind: SyntaxKind) {
        if kind != SyntaxKind::Root {
            self.flush_trivia();
        }
        self.builder.start_node(crate::Cachet::kind_to_raw(kind));
        self.open += 1;
    }

    pub(crate) fn checkpoint(&mut self) -> Checkpoint {
        self.flush_trivia();
        self.builder.checkpoint()
    }

    pub(crate) fn start_at(&mut self, checkpoint: Checkpoint, kind: SyntaxKind) {
        self.builder.start_node_at(checkpoint, crate::Cachet::kind_to_raw(kind));
        self.open += 1;
    }

    pub(crate) fn finish(&mut self) {
        self.builder.finish_node();
        self.open -= 1;
    }

    /// A node around what `f` takes.
    pub(crate) fn node<T>(&mut self, kind: SyntaxKind, f: impl FnOnce(&mut Self) -> P<T>) -> P<T> {
        self.start(kind);
        let value = f(self)?;
        self.finish();
        Ok(value)
    }

    pub(crate) fn eat(&mut self, kind: SyntaxKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    pub(crate) fn expect(&mut self, kind: SyntaxKind, what: &str) -> P<()> {
        if self.eat(kind) { Ok(()) } else { Err(self.unexpected(what)) }
    }

    pub(crate) fn expect_word(&mut self, word: &str) -> P<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    /// The current token as an identifier, whatever it is.
    pub(crate) fn take(&mut self) -> Ident {
        let lo = self.here();
        let name = self.token().map_or("", |t| self.text_of(t)).to_owned();
        self.bump();
        Ident { name, span: self.span_from(lo) }
    }

    /// A name; a hole too in a step function.
    pub(crate) fn name(&mut self, what: &str) -> P<Ident> {
        match self.peek() {
            SyntaxKind::Name => Ok(self.take()),
            SyntaxKind::Hole if self.mode.holes => Ok(self.take()),
            _ => Err(self.unexpected(what)),
        }
    }

    pub(crate) fn string(&mut self, what: &str) -> P<Str> {
        if !self.at(SyntaxKind::String) {
            return Err(self.unexpected(what));
        }
        let token = self.take();
        let (lo, inner) = (token.span.lo + 1, &token.name[1..token.name.len() - 1]);
        let mut value = String::with_capacity(inner.len());
        let mut chars = inner.char_indices();
        while let Some((i, c)) = chars.next() {
            if c != '\\' {
                value.push(c);
                continue;
            }
            match chars.next() {
                Some((_, '"')) => value.push('"'),
                Some((_, '\\')) => value.push('\\'),
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                other => {
                    let len = 1 + other.map_or(0, |(_, c)| c.len_utf8()) as u32;
                    let at = Span::new(self.file, lo + i as u32, lo + i as u32 + len);
                    let report = Diagnostic::error(codes::TOKEN, at, "an escape that strings do not have")
                        .help("strings have the escapes `\\\"`, `\\\\`, `\\n` and `\\t`");
                    return Err(self.report(report));
                }
            }
        }
        Ok(Str { value, span: token.span })
    }
}

// Structure.
impl Parser<'_> {
    /// Runs `f` with a changed mode.
    pub(crate) fn with_mode<T>(&mut self, change: impl FnOnce(&mut Mode), f: impl FnOnce(&mut Self) -> P<T>) -> P<T> {
        let saved = self.mode;
        change(&mut self.mode);
        let value = f(self)?;
        self.mode = saved;
        Ok(value)
    }

    /// Runs `f` one level deeper.
    pub(crate) fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> P<T>) -> P<T> {
        if self.depth >= MAX_DEPTH {
            let report = self.error(codes::TOO_DEEP, format!("nesting deeper than {MAX_DEPTH} levels"));
            return Err(self.report(report.help("name the inner part with `let`, or move it into a function")));
        }
        self.depth += 1;
        let value = f(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Says that the expression returned last is the parent of ones of at most `children` height.
    pub(crate) fn grow(&mut self, children: usize) -> P<()> {
        self.height = children + 1;
        if self.height > MAX_HEIGHT {
            let message = format!("an expression of more than {MAX_HEIGHT} operations in a row");
            let report = self.error(codes::TOO_DEEP, message);
            return Err(self.report(report.help("name parts of it with `let`")));
        }
        Ok(())
    }

    /// `open X close`: lines inside do not count.
    pub(crate) fn bracketed<T>(&mut self, open: SyntaxKind, what: &str, f: impl FnOnce(&mut Self) -> P<T>) -> P<T> {
        let lo = self.here();
        let unclosed = self.token().is_some_and(|t| t.unclosed);
        self.expect(open, what)?;
        let opener = self.span_from(lo);
        let saved = self.mode;
        self.mode = Mode { holes: saved.holes, ..Mode::default() };
        self.frames.open_bracket(unclosed);
        let value = f(self)?;
        let (close, text) = match open {
            SyntaxKind::LParen => (SyntaxKind::RParen, "`)`"),
            SyntaxKind::LBracket => (SyntaxKind::RBracket, "`]`"),
            _ => (SyntaxKind::RBrace, "`}`"),
        };
        if !self.at(close) {
            return Err(self.unclosed(opener, text));
        }
        self.bump();
        self.frames.close();
        self.mode = saved;
        Ok(value)
    }

    /// `X,+` with an optional trailing comma.
    pub(crate) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> P<T>) -> P<Vec<T>> {
        let mut items = Vec::new();
        let mut height = 0;
        loop {
            items.push(item(self)?);
            height = height.max(self.height);
            if !self.eat(SyntaxKind::Comma) || self.list_ends() {
                self.height = height;
                return Ok(items);
            }
        }
    }

    fn list_ends(&self) -> bool {
        match self.peek() {
            End | SyntaxKind::RParen | SyntaxKind::RBracket | SyntaxKind::RBrace | SyntaxKind::Eq => true,
            SyntaxKind::Name => self.mode.header && CLAUSES.contains(&self.nth_text(0)),
            _ => false,
        }
    }

    /// A block after its opener: entries on the lines below, or one entry in line. Empty where the next line does not
    /// stand right of the enclosing block.
    pub(crate) fn block<T>(&mut self, mut entry: impl FnMut(&mut Self) -> P<T>) -> P<Vec<T>> {
        self.deeper(|p| {
            let saved = p.mode;
            p.mode = Mode { holes: saved.holes, ..Mode::default() };
            let entries = match p.token() {
                Some(t) if !t.first => vec![p.node(SyntaxKind::Block, &mut entry)?],
                Some(t) if t.col > p.frames.column() => p.indented(t.col, &mut entry)?,
                _ => Vec::new(),
            };
            p.mode = saved;
            Ok(entries)
        })
    }

    /// A block that must have an entry (a broken one counts).
    pub(crate) fn full_block<T>(&mut self, what: &str, entry: impl FnMut(&mut Self) -> P<T>) -> P<Vec<T>> {
        let (before, at) = (self.broken.len(), self.pos);
        let entries = self.block(entry)?;
        if entries.is_empty() && self.broken.len() == before {
            let column = self.frames.column() + 1;
            let opener = at.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or("", |t| self.text_of(t)).to_owned();
            let found = self.found();
            let report = self.error(codes::SYNTAX, format!("expected {what} after `{opener}`, found {found}"));
            let help = format!("write it on this line, or on the lines below, right of column {column}");
            return Err(self.report(report.help(help)));
        }
        Ok(entries)
    }

    fn indented<T>(&mut self, col: u32, entry: &mut impl FnMut(&mut Self) -> P<T>) -> P<Vec<T>> {
        self.start(SyntaxKind::Block);
        self.frames.open_block(col);
        let entries = self.entries(entry)?;
        self.frames.close();
        self.finish();
        Ok(entries)
    }

    /// The entries of the innermost block.
    pub(crate) fn entries<T>(&mut self, entry: &mut impl FnMut(&mut Self) -> P<T>) -> P<Vec<T>> {
        let col = self.frames.column();
        let brackets = self.frames.in_brackets();
        let mut entries = Vec::new();
        let mut height = 0;
        while let Some(t) = self.token() {
            self.frames.begin_entry(self.pos);
            let saved = Saved { open: self.open, frames: self.frames.len(), depth: self.depth, mode: self.mode };
            let lo = t.lo;
            let result = entry(self).and_then(|value| self.entry_end(brackets).map(|()| value));
            height = height.max(self.height);
            match result {
                Ok(value) => entries.push(value),
                Err(broken) if brackets => return Err(broken),
                Err(Broken) => self.recover(saved, lo),
            }
            self.skip_misplaced(col);
            match self.token() {
                Some(t) if self.ends_at(self.pos) && t.col == col => {}
                _ => break,
            }
        }
        self.height = height;
        Ok(entries)
    }

    /// An entry ends with its line, or with a bracket around the block.
    fn entry_end(&mut self, brackets: bool) -> P<()> {
        if brackets || self.at(End) { Ok(()) } else { Err(self.unexpected("the end of the entry")) }
    }

    /// Puts the rest of the entry into an error node.
    fn recover(&mut self, saved: Saved, lo: u32) {
        self.frames.truncate(saved.frames);
        self.mode = saved.mode;
        self.depth = saved.depth;
        self.form = None;
        if !self.at(End) {
            self.start(SyntaxKind::Error);
            while !self.at(End) {
                self.bump();
            }
            self.finish();
        }
        while self.open > saved.open {
            self.finish();
        }
        self.broken.push(self.span_from(lo));
    }

    /// Reports and skips lines left of the block at `col` that stand at no enclosing block's column.
    fn skip_misplaced(&mut self, col: u32) {
        let Some(t) = self.token() else { return };
        let sections = ["else", "to", "relate"];
        let misplaced = self.ends_at(self.pos) && t.col < col && !self.frames.fits(t.col);
        if !misplaced || sections.contains(&self.text_of(t)) {
            return;
        }
        let mut columns: Vec<u32> = self.frames.enclosing().flatten().map(|c| c + 1).collect();
        columns.reverse();
        let columns: Vec<String> = columns.iter().map(u32::to_string).collect();
        let span = Span::new(self.file, t.lo, t.hi);
        let message = format!("this line starts at column {}, where no block stands", t.col + 1);
        let help = format!("the blocks open here stand at columns {}", columns.join(", "));
        self.diagnostics.push(Diagnostic::error(codes::LAYOUT, span, message).help(help));
        self.start(SyntaxKind::Error);
        let lo = t.lo;
        loop {
            self.bump();
            match self.token() {
                Some(t) if !t.first || !self.frames.fits(t.col) => {}
                _ => break,
            }
        }
        self.finish();
        self.broken.push(self.span_from(lo));
    }

    /// Whether something has been dropped since `broken` was this long.
    pub(crate) fn broken_since(&self, before: usize) -> bool {
        self.broken.len() > before
    }

    pub(crate) fn broken_count(&self) -> usize {
        self.broken.len()
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) -> Broken {
        self.diagnostics.push(diagnostic);
        Broken
    }

    /// An error at the current token.
    pub(crate) fn error(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.found_span(), message)
    }

    /// An error elsewhere.
    pub(crate) fn error_at(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(codes::SYNTAX, span, message)
    }
}
