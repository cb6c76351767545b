//! The reads, writes and calls of a function, each with where it stands and what encloses it.

use cachet_core::ir::{Access, Block, Buffer, Call, Domain, Elem, Fun, Guard, Ix, Local, Stmt, StmtKind, Var, Word};
use cachet_core::rewrite::{Arm, Turn};
use cachet_source::Span;
use std::collections::BTreeMap;

use crate::context::Context;

/// Something that encloses an event.
#[derive(Clone, Debug)]
pub struct Frame {
    /// How many statements enclose it, counted from the function's body; [`INSIDE`] for a fold inside the statement.
    pub depth: usize,
    /// What it is.
    pub kind: FrameKind,
}

/// The depth of frames that belong to a word.
pub const INSIDE: usize = usize::MAX;

/// What encloses an event.
#[derive(Clone, Debug)]
pub enum FrameKind {
    /// A loop, a grid's axis, a fold.
    Loop(Var, Domain),
    /// A guard that holds, or that does not.
    Guard(Guard, bool),
}

/// What happens.
#[derive(Clone, Debug)]
pub enum What {
    /// A cell is read.
    Read(Access),
    /// A cell is written.
    Write(Access),
    /// A cell of a local array is read or written.
    Cell(Local, Vec<Ix>),
    /// An index becomes a word of an element type.
    Convert(Ix, Elem),
    /// A whole buffer is read.
    ReadAll(Buffer),
    /// Two buffers are compared element by element.
    Compare(Buffer, Buffer),
    /// A buffer is made.
    Alloc(Buffer),
    /// A function runs.
    Call(Call),
}

/// Something that happens, once per iteration of what encloses it.
#[derive(Clone, Debug)]
pub struct Event {
    /// The blocks entered on the way to the statement.
    pub path: Vec<Turn>,
    /// The statement's position in its block.
    pub at: usize,
    /// What encloses it, outermost first.
    pub frames: Vec<Frame>,
    /// What happens.
    pub what: What,
    /// Where the statement is written.
    pub span: Span,
}

/// The contexts of a function's events: events of one block share what is known around the block.
pub struct Contexts<'f> {
    fun: &'f Fun,
    blocks: BTreeMap<Vec<Turn>, Context>,
}

impl<'f> Contexts<'f> {
    /// Of a function's own events.
    pub fn new(fun: &'f Fun) -> Contexts<'f> {
        Contexts { fun, blocks: BTreeMap::new() }
    }

    /// What is known where an event happens.
    pub fn of(&mut self, event: &Event) -> Context {
        let fun = self.fun;
        let outside = || {
            let mut cx = Context::entry(fun);
            event.frames.iter().filter(|f| f.depth != INSIDE).for_each(|f| enter(fun, &mut cx, f));
            cx
        };
        let mut cx = match self.blocks.get(&event.path) {
            Some(known) => known.clone(),
            None => self.blocks.entry(event.path.clone()).or_insert(outside()).clone(),
        };
        event.frames.iter().filter(|f| f.depth == INSIDE).for_each(|f| enter(fun, &mut cx, f));
        cx
    }
}

/// Adds what a frame says.
pub fn enter(fun: &Fun, cx: &mut Context, frame: &Frame) {
    match &frame.kind {
        FrameKind::Loop(var, domain) => cx.enter(&fun.vars[var.index()].name, *var, domain),
        FrameKind::Guard(guard, true) => cx.assume(guard),
        FrameKind::Guard(guard, false) => cx.assume(&Guard::Not(Box::new(guard.clone()))),
    }
}

/// All events of a function, in program order; in a statement, reads before writes.
pub fn events(fun: &Fun) -> Vec<Event> {
    let mut walk = Walk::default();
    walk.block(&fun.body);
    walk.out
}

/// The events of one block, as if it were a function's body.
pub fn events_of(block: &Block) -> Vec<Event> {
    let mut walk = Walk::default();
    walk.block(block);
    walk.out
}

#[derive(Default)]
struct Walk {
    path: Vec<Turn>,
    at: usize,
    frames: Vec<Frame>,
    span: Span,
    out: Vec<Event>,
}

impl Walk {
    fn emit(&mut self, what: What) {
        self.out.push(Event {
            path: self.path.clone(),
            at: self.at,
            frames: self.frames.clone(),
            what,
            span: self.span,
        });
    }

    fn block(&mut self, block: &[Stmt]) {
        let outer = self.at;
        for (at, stmt) in block.iter().enumerate() {
            self.at = at;
            self.span = stmt.span.0;
            self.stmt(stmt);
        }
        self.at = outer;
    }

    /// Goes into a block of the statement at hand, under more frames.
    fn inside(&mut self, arm: Arm, frames: Vec<FrameKind>, block: &[Stmt]) {
        let (at, count) = (self.at, self.frames.len());
        self.path.push(Turn { at, arm });
        let depth = self.path.len();
        self.frames.extend(frames.into_iter().map(|kind| Frame { depth, kind }));
        self.block(block);
        self.frames.truncate(count);
        self.path.pop();
        self.at = at;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For { var, domain, body } => {
                self.inside(Arm::First, vec![FrameKind::Loop(*var, domain.clone())], body);
            }
            StmtKind::Grid(g) => {
                let frames = g.axes.iter().map(|(v, d)| FrameKind::Loop(*v, d.clone())).collect();
                self.inside(Arm::First, frames, &g.body);
            }
            StmtKind::If { guard, then, els } => {
                self.inside(Arm::First, vec![FrameKind::Guard(guard.clone(), true)], then);
                self.inside(Arm::Else, vec![FrameKind::Guard(guard.clone(), false)], els);
            }
            StmtKind::Let { local: _, word } | StmtKind::Var { local: _, init: word } | StmtKind::Print(word) => {
                self.word(word)
            }
            StmtKind::Assign { local, at, word } => {
                self.word(word);
                self.cell(*local, at);
            }
            StmtKind::Store { to, word } => {
                self.word(word);
                self.emit(What::Write(to.clone()));
            }
            StmtKind::Alloc(b) => self.emit(What::Alloc(*b)),
            StmtKind::Lease { .. } => {}
            StmtKind::Call(c) => self.emit(What::Call((**c).clone())),
        }
    }

    fn under(&mut self, kind: FrameKind, word: &Word) {
        self.frames.push(Frame { depth: INSIDE, kind });
        self.word(word);
        self.frames.pop();
    }

    fn cell(&mut self, local: Local, at: &[Ix]) {
        if !at.is_empty() {
            self.emit(What::Cell(local, at.to_vec()));
        }
    }

    fn word(&mut self, word: &Word) {
        match word {
            Word::Lit(_) => {}
            Word::Local(l, at) => self.cell(*l, at),
            Word::Index(ix, elem) => self.emit(What::Convert(ix.clone(), *elem)),
            Word::Load(a) => self.emit(What::Read(a.clone())),
            Word::Op { op: _, arith: _, args } | Word::Apply(_, args) | Word::Tuple(args) => {
                args.iter().for_each(|w| self.word(w));
            }
            Word::Part(w, _) => self.word(w),
            Word::Let(_, a, b) => {
                self.word(a);
                self.word(b);
            }
            Word::If(g, a, b) => {
                self.under(FrameKind::Guard((**g).clone(), true), a);
                self.under(FrameKind::Guard((**g).clone(), false), b);
            }
            Word::Fold(f) => {
                self.word(&f.init);
                self.under(FrameKind::Loop(f.var, f.domain.clone()), &f.body);
            }
            Word::Reduce(r) => {
                self.word(&r.empty);
                self.under(FrameKind::Loop(r.var, r.domain.clone()), &r.element);
                self.word(&r.combine);
            }
            Word::Differing(a, b) => {
                self.emit(What::Compare(*a, *b));
                self.emit(What::ReadAll(*a));
                self.emit(What::ReadAll(*b));
            }
        }
    }
}
