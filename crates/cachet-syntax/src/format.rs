//! How does a program look, written in the one style?
//!
//! [`format`] keeps the author's tokens, line breaks and comments, and settles the rest:
//!
//! - blocks stand two columns right of what opens them, lines that go on with a header four, others two; a header's
//!   clauses, and an `=` on a line of its own, stand at the item's column;
//! - one blank between tokens, or none, by the tokens; a `[` that touches stays touching, as that makes it an index;
//! - a comment on a line of its own stands above what follows it, or in the block that ends there if it has that
//!   block's column; other comments stay at the end of their line, after two blanks;
//! - at most one blank line between entries, none where a block begins; one between items, except that imports and
//!   constants of one line may stand together;
//! - lines end with a line feed, the last one too; no byte order mark.
//!
//! Lines are never broken or joined, so the width of a line is the author's. Formatting a formatted text changes
//! nothing. The result is parsed again and compared with the text: a program that would change is not returned.

mod layout;
mod shape;
mod spacing;

use crate::{MAX_BYTES, parse};
use cachet_source::{Diagnostic, FileId};
use layout::Line;
use shape::{Event, Gap, Place, Shape, Token};

/// Why a text has no formatted form.
#[derive(Clone, Debug)]
pub enum Unformatted {
    /// It does not parse: the reports.
    Broken(Vec<Diagnostic>),
    /// The formatted text would be longer than [`MAX_BYTES`].
    TooLong,
    /// The formatted text would be another program: a bug of the formatter.
    Changed,
}

/// The text in the one style.
///
/// # Errors
///
/// See [`Unformatted`].
pub fn format(text: &str, file: FileId) -> Result<String, Unformatted> {
    let before = parse(text, file);
    if before.diagnostics.iter().any(Diagnostic::refuses) {
        return Err(Unformatted::Broken(before.diagnostics));
    }
    let shape = shape::shape(text, &before.tree);
    let formatted = write(&shape)?;
    if formatted == text || same_program(&shape, &formatted, file) { Ok(formatted) } else { Err(Unformatted::Changed) }
}

/// Whether `formatted` says what the text of `shape` says, comments included.
fn same_program(shape: &Shape<'_>, formatted: &str, file: FileId) -> bool {
    let after = parse(formatted, file);
    if after.diagnostics.iter().any(Diagnostic::refuses) {
        return false;
    }
    let after = shape::shape(formatted, &after.tree);
    let own = |c: &shape::Comment<'_>| c.own.is_some();
    shape::outline(shape).eq(shape::outline(&after))
        && shape::comments(shape).map(|c| (c.text, own(c))).eq(shape::comments(&after).map(|c| (c.text, own(c))))
}

fn write(shape: &Shape<'_>) -> Result<String, Unformatted> {
    let lines = layout::lines(shape);
    let tokens = shape.events.iter().filter_map(|event| match event {
        Event::Token(token) => Some(token),
        Event::Open(_) | Event::Close => None,
    });
    let mut writer = Writer::default();
    let mut before: Option<&Token<'_>> = None;
    for (token, line) in tokens.zip(&lines) {
        writer.gap(&token.gap, line, token.place == Place::Entry);
        if line.indent.is_none() && before.is_some_and(|before| spacing::blank(before, token)) {
            writer.out.push(' ');
        }
        writer.out.push_str(token.text);
        if writer.out.len() > MAX_BYTES {
            return Err(Unformatted::TooLong);
        }
        before = Some(token);
    }
    if let Some(end) = lines.last() {
        writer.end(&shape.end, end);
    }
    if writer.out.len() > MAX_BYTES { Err(Unformatted::TooLong) } else { Ok(writer.out) }
}

#[derive(Default)]
struct Writer {
    out: String,
    /// The item written last.
    above: Option<layout::Group>,
}

impl Writer {
    /// Comments and blank lines before a token, and its line's indentation.
    fn gap(&mut self, gap: &Gap<'_>, line: &Line, entry: bool) {
        let forced = match (self.above, line.item) {
            (Some(a), Some(b)) if a == b && a != layout::Group::Alone => false,
            (Some(_), Some(_)) => !blank_above(gap, line),
            (None, _) | (_, None) => false,
        };
        self.above = line.item.or(self.above);
        let mut blank = Blank { kept: entry, first: line.opens, forced };
        self.comments(gap, line, &mut blank);
        if let Some(indent) = line.indent {
            self.start_line(indent, blank.before(gap.blank, true, false));
        }
    }

    fn end(&mut self, gap: &Gap<'_>, line: &Line) {
        let mut blank = Blank { kept: true, first: line.opens, forced: false };
        self.comments(gap, line, &mut blank);
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    fn comments(&mut self, gap: &Gap<'_>, line: &Line, blank: &mut Blank) {
        for comment in &gap.comments {
            match comment.own {
                None => self.out.push_str("  "),
                Some(col) => {
                    let inner = inner(line, col);
                    let indent = inner.or(line.indent).unwrap_or(0);
                    self.start_line(indent, blank.before(comment.blank, inner.is_none(), inner.is_some()));
                }
            }
            self.out.push_str(comment.text);
        }
    }

    fn start_line(&mut self, indent: usize, blank: bool) {
        if !self.out.is_empty() {
            self.out.push_str(if blank { "\n\n" } else { "\n" });
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
    }
}

/// The blank lines of one gap.
struct Blank {
    /// Whether one may stand before what follows the gap.
    kept: bool,
    /// Whether the next line is the first of its block.
    first: bool,
    /// Whether one has to stand before what follows the gap, and has not yet.
    forced: bool,
}

impl Blank {
    /// Whether a blank line stands before the next line: `written` in the text, of what follows or of a closed block.
    fn before(&mut self, written: bool, follows: bool, closed: bool) -> bool {
        let forced = follows && std::mem::take(&mut self.forced);
        let first = std::mem::take(&mut self.first);
        forced || (written && !first && (self.kept || closed))
    }
}

/// The column of the block that ends here and to which a comment at `col` belongs.
fn inner(line: &Line, col: usize) -> Option<usize> {
    line.closed.iter().find(|(text, _)| *text == col).map(|(_, out)| *out)
}

/// Whether the text has a blank line before the token or one of the comments above it.
fn blank_above(gap: &Gap<'_>, line: &Line) -> bool {
    let above = |c: &shape::Comment<'_>| c.blank && c.own.is_some_and(|col| inner(line, col).is_none());
    gap.blank || gap.comments.iter().any(above)
}

#[cfg(test)]
mod tests {
    use super::{same_program, shape};
    use crate::parse;
    use cachet_source::FileId;

    fn same(a: &str, b: &str) -> bool {
        let parsed = parse(a, FileId(0));
        assert!(parsed.diagnostics.is_empty() && parse(b, FileId(0)).diagnostics.is_empty(), "{a}\n{b}");
        same_program(&shape::shape(a, &parsed.tree), b, FileId(0))
    }

    #[test]
    fn another_program_is_seen() {
        let f = |body: &str| format!("fn f () =\n{body}");
        assert!(same(&f("  g a // c\n"), &f("      g   a // c")));
        for (a, b) in [
            ("  g a\n  b\n", "  g a\n    b\n"),
            ("  if a then\n    g x\n    h x\n", "  if a then\n    g x\n  h x\n"),
            ("  let x = -1\n", "  let x = - 1\n"),
            ("  let x = 1 + 1\n", "  let x = 1 - 1\n"),
            ("  let x: Foo [f32; 4] = a\n", "  let x: Foo = a\n"),
            ("  g a // c\n", "  g a // d\n"),
            ("  g a // c\n", "  g a\n"),
            ("  g a // c\n", "  // c\n  g a\n"),
            ("  g a\n  // c\n  // d\n", "  g a\n  // d\n  // c\n"),
        ] {
            assert!(!same(&f(a), &f(b)), "{a}{b}");
        }
        let device = |d: &str| format!("platform P where\n  device D where\n{d}");
        assert!(!same(&device("    level L\n    line = 3\n"), &device("    level L line = 3\n")));
        assert!(!same_program(&shape::shape("", &parse("", FileId(0)).tree), "fn", FileId(0)));
    }
}
