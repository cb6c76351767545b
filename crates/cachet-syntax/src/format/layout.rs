//! At which column does a line start?
//!
//! Entries of a block stand two columns right of the line on which the construct that owns the block starts. A line
//! that goes on with an entry stands two columns right of it, or four in a header, so that it is not taken for the
//! body; within brackets it counts from the line that has the bracket.

use super::shape::{Bracket, Event, Node, Place, Shape, Token};
use crate::kind::SyntaxKind;

/// Columns from a block to the block in it.
const STEP: usize = 2;
/// Columns from a header's first line to its others.
const HEADER: usize = 4;

/// The line that a token starts, and what stands before it.
#[derive(Clone, Default, Debug)]
pub(super) struct Line {
    /// Its column, if the token starts one.
    pub(super) indent: Option<usize>,
    /// Whether the token is the first of a block on lines of its own, or of the file.
    pub(super) opens: bool,
    /// The blocks that closed since the token before: their columns in the text and in the output.
    pub(super) closed: Vec<(usize, usize)>,
    /// Where an item starts: what it may stand directly below.
    pub(super) item: Option<Group>,
}

/// The line of each token, in order; the last is the end of the text.
pub(super) fn lines(shape: &Shape<'_>) -> Vec<Line> {
    let mut walk = Walk::default();
    let next = shape.events.iter().skip(1).map(Some).chain(std::iter::once(None));
    for (event, next) in shape.events.iter().zip(next) {
        match event {
            Event::Open(node) => walk.open(node, next),
            Event::Close => walk.close(),
            Event::Token(token) => walk.token(token),
        }
    }
    let opens = walk.out.is_empty();
    walk.out.push(Line { indent: Some(0), opens, closed: walk.closed, item: None });
    walk.out
}

enum Frame {
    Block {
        col: usize,
        indent: usize,
    },
    /// A bracket, and the column of its line.
    Bracket {
        line: usize,
    },
}

impl Frame {
    /// The column from which lines in it are counted.
    fn line(&self) -> usize {
        match self {
            Frame::Block { indent: line, .. } | Frame::Bracket { line } => *line,
        }
    }
}

/// A node that is open.
struct Opened {
    /// The number of its first token.
    first: usize,
    /// The number of the token that ends its header.
    body: Option<usize>,
    /// Whether it is a clause at its item's column, whose lines are its own and not the header's.
    clause: bool,
    /// Where it is a block on lines of its own: the column from which its own was counted.
    base: Option<usize>,
    tail: bool,
    group: Group,
}

/// Items of one line that may stand directly below one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Group {
    /// The module's name and imports.
    Head,
    /// Constants.
    Constants,
    /// Anything else: a blank line stands above it.
    Alone,
}

#[derive(Default)]
struct Walk {
    out: Vec<Line>,
    /// The column of the line that has the last token.
    line: usize,
    /// The column from which a construct that starts with a token is counted: that of the token's line, but in
    /// `else if` that of the first `if`.
    line_of: Vec<usize>,
    frames: Vec<Frame>,
    nodes: Vec<Opened>,
    opens: bool,
    closed: Vec<(usize, usize)>,
    /// Where the entry around a closed block goes on.
    tail: Option<usize>,
    /// After an `else` that goes on with an entry behind a block: the column from which its `if` was counted.
    branch: Option<usize>,
    /// The line on which the last token stands, if that token starts it and its block belongs below it.
    opener: Option<usize>,
}

impl Walk {
    fn open(&mut self, node: &Node, next: Option<&Event<'_>>) {
        let base = node.block.map(|col| {
            let owner = self.nodes.last().and_then(|n| self.line_of.get(n.first)).copied();
            let base = self.opener.or(owner);
            let indent = base.map_or(0, |base| base + if node.tail { 2 * STEP } else { STEP });
            self.frames.push(Frame::Block { col, indent });
            self.opens = true;
            base.unwrap_or(0)
        });
        let clause =
            node.kind == SyntaxKind::Clause && matches!(next, Some(Event::Token(Token { place: Place::AtEntry, .. })));
        let group = match node.kind {
            SyntaxKind::Module | SyntaxKind::Import if node.one_line => Group::Head,
            SyntaxKind::ConstItem if node.one_line => Group::Constants,
            _ => Group::Alone,
        };
        self.nodes.push(Opened { first: self.out.len(), body: node.body, clause, base, tail: node.tail, group });
    }

    fn close(&mut self) {
        let Some(Opened { base: Some(base), tail, .. }) = self.nodes.pop() else { return };
        if let Some(Frame::Block { col, indent }) = self.frames.pop() {
            self.closed.push((col, indent));
        }
        self.tail = tail.then_some(base + STEP);
    }

    fn token(&mut self, token: &Token<'_>) {
        let number = self.out.len();
        let indent = self.indent(token.place, number);
        let line = indent.unwrap_or(self.line);
        match token.bracket {
            Bracket::Opens => self.frames.push(Frame::Bracket { line }),
            Bracket::Closes => drop(self.frames.pop()),
            Bracket::None => {}
        }
        self.line = line;
        let branch = self.branch.take().filter(|_| token.text == "if" && indent.is_none());
        self.line_of.push(branch.unwrap_or(line));
        self.branch = self.tail.filter(|_| token.text == "else" && indent.is_some()).map(|tail| tail - STEP);
        self.opener = indent.filter(|_| matches!(token.text, "else" | "relate"));
        self.tail = None;
        let item = self.nodes.get(1).filter(|n| n.first == number).map(|n| n.group);
        let opens = std::mem::take(&mut self.opens);
        self.out.push(Line { indent, opens, closed: std::mem::take(&mut self.closed), item });
    }

    fn indent(&self, place: Place, number: usize) -> Option<usize> {
        match (place, self.frames.last()) {
            (Place::Inline, _) => None,
            (_, None) => Some(0),
            (Place::Entry | Place::AtEntry | Place::Closer, Some(frame)) => Some(frame.line()),
            (Place::Continuation, Some(frame)) => {
                let plain = || match self.header(number) {
                    Some(line) => line.max(frame.line()) + HEADER,
                    None => frame.line() + STEP,
                };
                Some(self.tail.unwrap_or_else(plain))
            }
        }
    }

    /// The column of the line on which the header starts that goes on with token `number`, if one does.
    fn header(&self, number: usize) -> Option<usize> {
        // What starts with this token is not gone on with.
        for node in self.nodes.iter().rev().skip_while(|n| n.first == number) {
            if node.base.is_some() {
                return None;
            }
            if node.body.is_some_and(|body| body > number) {
                return self.line_of.get(node.first).copied();
            }
            if node.clause {
                return None;
            }
        }
        None
    }
}
