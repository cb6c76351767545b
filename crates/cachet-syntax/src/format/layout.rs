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
    /// Where an item starts: whether it may stand directly below another such.
    pub(super) item: Option<bool>,
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

/// A node that is open.
struct Opened {
    /// The number of its first token.
    first: usize,
    /// The number of the last token that ends a header which the node is part of, within the innermost block.
    header: usize,
    /// Where it is a block on lines of its own: the column from which its own was counted.
    base: Option<usize>,
    tail: bool,
    compact: bool,
}

#[derive(Default)]
struct Walk {
    out: Vec<Line>,
    /// The column of each token's line.
    line_of: Vec<usize>,
    frames: Vec<Frame>,
    nodes: Vec<Opened>,
    opens: bool,
    closed: Vec<(usize, usize)>,
    /// Where the entry around a closed block goes on.
    tail: Option<usize>,
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
        // A clause at its item's column has its own lines; one on the header's line is part of the header.
        let clause =
            node.kind == SyntaxKind::Clause && matches!(next, Some(Event::Token(Token { place: Place::AtEntry, .. })));
        let outer = if base.is_some() || clause { 0 } else { self.nodes.last().map_or(0, |n| n.header) };
        let header = outer.max(node.body.unwrap_or(0));
        let compact =
            matches!(node.kind, SyntaxKind::Module | SyntaxKind::Import | SyntaxKind::ConstItem) && node.one_line;
        self.nodes.push(Opened { first: self.out.len(), header, base, tail: node.tail, compact });
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
        let line = indent.or(self.line_of.last().copied()).unwrap_or(0);
        match token.bracket {
            Bracket::Opens => self.frames.push(Frame::Bracket { line }),
            Bracket::Closes => drop(self.frames.pop()),
            Bracket::None => {}
        }
        self.line_of.push(line);
        self.opener = indent.filter(|_| matches!(token.text, "else" | "relate"));
        self.tail = None;
        let item = self.nodes.get(1).filter(|n| n.first == number).map(|n| n.compact);
        let opens = std::mem::take(&mut self.opens);
        self.out.push(Line { indent, opens, closed: std::mem::take(&mut self.closed), item });
    }

    fn indent(&self, place: Place, number: usize) -> Option<usize> {
        let header = self.nodes.last().is_some_and(|n| n.header > number);
        let step = if header { HEADER } else { STEP };
        match (place, self.frames.last()) {
            (Place::Inline, _) => None,
            (_, None) => Some(0),
            (Place::Continuation, _) if self.tail.is_some() => self.tail,
            (Place::Continuation, Some(Frame::Block { indent, .. })) => Some(indent + step),
            (Place::Continuation, Some(Frame::Bracket { line })) => Some(line + step),
            (Place::Entry | Place::AtEntry | Place::Closer, Some(Frame::Block { indent: at, .. })) => Some(*at),
            (Place::Entry | Place::AtEntry | Place::Closer, Some(Frame::Bracket { line: at })) => Some(*at),
        }
    }
}
