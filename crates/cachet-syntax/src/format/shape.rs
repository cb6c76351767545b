//! Which tokens are there, and how do they stand?
//!
//! The lossless tree becomes a flat list of nodes that open and close and of tokens with their place in the layout.
//! Two texts with one [`outline`] are parsed alike: the parser decides by the kinds and texts of tokens, by where
//! entries begin, and by whether some tokens touch, and the last shows in the kinds of nodes. So their typed syntax is
//! equal, places aside.

use crate::kind::{SyntaxKind, SyntaxNode, SyntaxToken};
use rowan::{NodeOrToken, WalkEvent};

/// How a token stands on its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// After another token.
    Inline,
    /// First on its line, and the first token of an entry.
    Entry,
    /// First on its line, and goes on with an entry at the entry's own column: `else`, a clause, a header's `=`.
    AtEntry,
    /// First on its line, and closes a bracket.
    Closer,
    /// First on its line, and goes on with an entry.
    Continuation,
}

/// What a token does to the brackets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bracket {
    None,
    Opens,
    Closes,
}

/// A token that is not trivia.
#[derive(Clone, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: SyntaxKind,
    /// The kind of the node it stands in.
    pub(super) parent: SyntaxKind,
    pub(super) text: &'t str,
    pub(super) place: Place,
    /// Whether it is a `..` and the last token of its node.
    pub(super) last: bool,
    /// Whether nothing stands between it and the token before it.
    pub(super) touches: bool,
    /// Whether it opens or closes a bracket in which lines do not count.
    pub(super) bracket: Bracket,
    /// What stands between it and the token before it.
    pub(super) gap: Gap<'t>,
}

/// Comments and blank lines before a token or the end of the text.
#[derive(Clone, Default, Debug)]
pub(super) struct Gap<'t> {
    pub(super) comments: Vec<Comment<'t>>,
    /// Whether blank lines stand directly before the token.
    pub(super) blank: bool,
}

/// A comment.
#[derive(Clone, Debug)]
pub(super) struct Comment<'t> {
    /// The text from `//`, without blanks at its end.
    pub(super) text: &'t str,
    /// Its column, if it stands on a line of its own.
    pub(super) own: Option<usize>,
    /// Whether blank lines stand directly before it.
    pub(super) blank: bool,
}

/// A node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) kind: SyntaxKind,
    /// The column of its entries, if it is a block on lines of its own.
    pub(super) block: Option<usize>,
    /// Whether its parent's entry goes on after it on a line of its own that stands right of the entry's column.
    pub(super) tail: bool,
    /// The number of the token that ends its header: the first of a block on lines of its own, or an item's `=`.
    pub(super) body: Option<usize>,
    /// Whether it is on one line.
    pub(super) one_line: bool,
}

/// The tree, flat.
#[derive(Debug)]
pub(super) enum Event<'t> {
    Open(Node),
    Close,
    Token(Token<'t>),
}

/// A file's events, and what stands after its last token.
#[derive(Debug)]
pub(super) struct Shape<'t> {
    pub(super) events: Vec<Event<'t>>,
    pub(super) end: Gap<'t>,
}

/// The shape of a text that was parsed without a report.
pub(super) fn shape<'t>(text: &'t str, tree: &SyntaxNode) -> Shape<'t> {
    let mut walk = Walk::new(text);
    for event in tree.preorder_with_tokens() {
        match event {
            WalkEvent::Enter(NodeOrToken::Node(node)) => walk.open(node.kind(), node.text_range().start().into()),
            WalkEvent::Leave(NodeOrToken::Node(_)) => walk.close(),
            WalkEvent::Enter(NodeOrToken::Token(token)) => walk.take(&token),
            WalkEvent::Leave(NodeOrToken::Token(_)) => {}
        }
    }
    Shape { events: walk.events, end: walk.gap }
}

/// What decides how a text is parsed; see the module's header.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Mark<'t> {
    Open(SyntaxKind),
    Close,
    Token(SyntaxKind, &'t str, bool),
}

/// The marks of a shape.
pub(super) fn outline<'s, 't>(shape: &'s Shape<'t>) -> impl Iterator<Item = Mark<'t>> + 's {
    shape.events.iter().map(|event| match event {
        Event::Open(node) => Mark::Open(node.kind),
        Event::Close => Mark::Close,
        Event::Token(t) => Mark::Token(t.kind, t.text, t.place == Place::Entry),
    })
}

/// The comments of a shape, in order.
pub(super) fn comments<'s, 't>(shape: &'s Shape<'t>) -> impl Iterator<Item = &'s Comment<'t>> {
    let gaps = shape.events.iter().filter_map(|event| match event {
        Event::Token(t) => Some(&t.gap),
        Event::Open(_) | Event::Close => None,
    });
    gaps.chain(std::iter::once(&shape.end)).flat_map(|gap| &gap.comments)
}

enum Frame<'t> {
    /// A block at a column, where the current child of its node starts, and its entry's first token.
    Block {
        col: usize,
        child: usize,
        entry: usize,
        first: &'t str,
    },
    Bracket,
}

/// A node that is open: where its event stands, where its text starts.
struct Opened {
    event: usize,
    start: usize,
    frame: bool,
}

struct Walk<'t> {
    text: &'t str,
    events: Vec<Event<'t>>,
    frames: Vec<Frame<'t>>,
    nodes: Vec<Opened>,
    gap: Gap<'t>,
    /// How many tokens there were.
    tokens: usize,
    /// The kind of the last token.
    before: Option<SyntaxKind>,
    /// The column here, if nothing but blanks stands before it on its line.
    column: Option<usize>,
    blank: bool,
    /// Where the last token ended.
    end: usize,
    /// The event of the outermost block that closed since the last token.
    closed: Option<usize>,
}

impl<'t> Walk<'t> {
    fn new(text: &'t str) -> Walk<'t> {
        Walk {
            text,
            events: Vec::new(),
            frames: Vec::new(),
            nodes: Vec::new(),
            gap: Gap::default(),
            tokens: 0,
            before: None,
            column: Some(0),
            blank: false,
            end: 0,
            closed: None,
        }
    }

    /// Nodes but the root start at a token that is not trivia.
    fn open(&mut self, kind: SyntaxKind, start: usize) {
        self.child(start);
        let root = kind == SyntaxKind::Root;
        let block = if root { Some(0) } else { self.column.filter(|_| kind == SyntaxKind::Block) };
        if let (Some(_), Some(parent)) = (block, self.nodes.last()) {
            self.end_header(parent.event);
        }
        if let Some(col) = block {
            self.frames.push(Frame::Block { col, child: start, entry: start, first: "" });
        }
        self.nodes.push(Opened { event: self.events.len(), start, frame: block.is_some() });
        self.events.push(Event::Open(Node { kind, block, tail: false, body: None, one_line: true }));
    }

    /// Says where the child of the innermost block's node starts, if it is one that starts here.
    fn child(&mut self, start: usize) {
        if self.nodes.last().is_some_and(|n| n.frame)
            && let Some(Frame::Block { child, .. }) = self.frames.last_mut()
        {
            *child = start;
        }
    }

    fn end_header(&mut self, event: usize) {
        let tokens = self.tokens;
        if let Some(Event::Open(node)) = self.events.get_mut(event) {
            node.body = node.body.or(Some(tokens));
        }
    }

    fn close(&mut self) {
        let Some(opened) = self.nodes.pop() else { return };
        if opened.frame {
            self.frames.pop();
            self.closed = Some(opened.event);
        }
        self.events.push(Event::Close);
    }

    fn take(&mut self, token: &SyntaxToken) {
        let range = token.text_range();
        let (start, end) = (usize::from(range.start()), usize::from(range.end()));
        let text = &self.text[start..end];
        match token.kind() {
            SyntaxKind::Bom => {}
            SyntaxKind::Whitespace => self.blanks(text),
            SyntaxKind::Comment => {
                let text = text.trim_end_matches([' ', '\t', '\r']);
                let blank = std::mem::take(&mut self.blank);
                self.gap.comments.push(Comment { text, own: self.column, blank });
            }
            kind => {
                self.child(start);
                self.token(token, kind, text, start);
                self.end = end;
            }
        }
    }

    fn blanks(&mut self, text: &str) {
        let lines = text.bytes().filter(|b| *b == b'\n').count();
        self.blank = lines > 1;
        let indent = text.rsplit('\n').next().unwrap_or("");
        if lines > 0 || self.column.is_some() {
            self.column = Some(indent.chars().filter(|c| *c != '\r').count());
        }
    }

    fn token(&mut self, token: &SyntaxToken, kind: SyntaxKind, text: &'t str, start: usize) {
        let parent = token.parent();
        let last = kind == SyntaxKind::DotDot && parent.as_ref().and_then(|p| p.last_token()).as_ref() == Some(token);
        let parent = parent.map_or(SyntaxKind::Root, |p| p.kind());
        let bracket = self.bracket(token, kind, parent);
        let place = self.place(kind, parent, bracket, text, start);
        if place == Place::Continuation
            && let Some(Event::Open(node)) = self.closed.and_then(|event| self.events.get_mut(event))
        {
            node.tail = true;
        }
        self.closed = None;
        match bracket {
            Bracket::Opens => self.frames.push(Frame::Bracket),
            Bracket::Closes => drop(self.frames.pop()),
            Bracket::None => {}
        }
        if let Some(parent_node) = self.nodes.last()
            && ends_header(parent, kind, text)
        {
            self.end_header(parent_node.event);
        }
        if place != Place::Inline {
            self.count_line(start);
        }
        let mut gap = std::mem::take(&mut self.gap);
        gap.blank = std::mem::take(&mut self.blank);
        let touches = start == self.end && start > 0;
        self.events.push(Event::Token(Token { kind, parent, text, place, last, touches, bracket, gap }));
        self.tokens += 1;
        self.before = Some(kind);
        self.column = None;
    }

    /// The words of a built-in step are free, and so are its brackets; `()` is one thing, in which lines do count.
    fn bracket(&self, token: &SyntaxToken, kind: SyntaxKind, parent: SyntaxKind) -> Bracket {
        let after = || {
            let mut next = token.next_token();
            while let Some(trivia) = next.as_ref().filter(|t| t.kind().is_trivia()) {
                next = trivia.next_token();
            }
            next.map(|t| t.kind())
        };
        match kind {
            _ if parent == SyntaxKind::BuiltinStepItem => Bracket::None,
            SyntaxKind::LParen if after() == Some(SyntaxKind::RParen) => Bracket::None,
            SyntaxKind::RParen if self.before == Some(SyntaxKind::LParen) => Bracket::None,
            SyntaxKind::LParen | SyntaxKind::LBracket | SyntaxKind::LBrace => Bracket::Opens,
            SyntaxKind::RParen | SyntaxKind::RBracket | SyntaxKind::RBrace => Bracket::Closes,
            _ => Bracket::None,
        }
    }

    fn place(&mut self, kind: SyntaxKind, parent: SyntaxKind, bracket: Bracket, text: &'t str, start: usize) -> Place {
        let (Some(column), Some(node)) = (self.column, self.nodes.last()) else { return Place::Inline };
        match self.frames.last_mut() {
            None => Place::Entry,
            Some(Frame::Bracket) if bracket == Bracket::Closes => Place::Closer,
            Some(Frame::Bracket) => Place::Continuation,
            Some(Frame::Block { col, child, entry, first }) => {
                if column == *col && *child == start {
                    (*entry, *first) = (start, text);
                    return Place::Entry;
                }
                let at_entry = match (kind, parent) {
                    (SyntaxKind::Keyword, SyntaxKind::IfStmt | SyntaxKind::IfExpr) => text == "else" && *first == "if",
                    (SyntaxKind::Keyword, SyntaxKind::Move) => text == "else" && node.start == *entry,
                    (SyntaxKind::Eq, _) => node.start == *entry && has_header(parent),
                    (_, SyntaxKind::Clause) => node.start == start,
                    _ => false,
                };
                if at_entry { Place::AtEntry } else { Place::Continuation }
            }
        }
    }

    /// Notes that a line begins in the item, unless it is the item's first.
    fn count_line(&mut self, start: usize) {
        if let Some(item) = self.nodes.get(1).filter(|item| item.start != start)
            && let Some(Event::Open(node)) = self.events.get_mut(item.event)
        {
            node.one_line = false;
        }
    }
}

/// Whether the token, directly in a node of kind `parent`, ends the node's header.
fn ends_header(parent: SyntaxKind, kind: SyntaxKind, text: &str) -> bool {
    (kind == SyntaxKind::Eq && has_header(parent)) || (parent == SyntaxKind::BuiltinStepItem && text == "relate")
}

/// The items and members whose header ends with `=`, which may stand at the item's own column.
fn has_header(kind: SyntaxKind) -> bool {
    matches!(
        kind,
        SyntaxKind::ConstItem
            | SyntaxKind::SynthItem
            | SyntaxKind::ProofItem
            | SyntaxKind::LayoutItem
            | SyntaxKind::FnItem
            | SyntaxKind::InstrItem
            | SyntaxKind::ContractionItem
            | SyntaxKind::ScheduleItem
            | SyntaxKind::ScheduleFnItem
            | SyntaxKind::StepFnItem
            | SyntaxKind::MemberConst
            | SyntaxKind::MemberFn
    )
}
