//! Where does a step's `from` stand? The outermost place wins; two at one depth are ambiguous.

use crate::capture::{Arg, Args, Capture};
use crate::matching::{MOST_WAYS, Matcher};
use crate::{loops, refusal};
use cachet_core::ir::{Access, Block, Buffer, Fun, Program, Stmt, StmtKind, Var};
use cachet_core::pattern::{MoveKind, Pat, Side, StepDef};
use cachet_core::rewrite::{Arm, Site, Turn, Visit, visit_block};
use cachet_core::script::StepCall;
use cachet_source::{Diagnostic, Span};
use std::cell::Cell;
use std::collections::BTreeSet;

/// A match and its place.
#[derive(Debug)]
pub struct Found {
    /// The statements that match.
    pub site: Site,
    /// What they bind.
    pub capture: Capture,
}

/// Why a place does not match: how far the match got, where, and what was there instead.
#[derive(Clone, Debug)]
pub struct Reason {
    /// How many parts of the pattern matched before this one did not.
    pub progress: usize,
    /// What was wanted and what was there.
    pub text: String,
    /// Where.
    pub span: Span,
}

impl Reason {
    /// The one that got further.
    pub fn nearer(a: Option<Reason>, b: Option<Reason>) -> Option<Reason> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if b.progress > a.progress { b } else { a }),
            (a, b) => a.or(b),
        }
    }
}

/// The place to rewrite; the inner result says why there is none.
pub fn site(
    program: &Program,
    fun: &Fun,
    step: &StepDef,
    args: &Args,
    call: &StepCall,
) -> Result<Result<Found, Option<Reason>>, Diagnostic> {
    let order: Vec<Var> = loops::of(&fun.body).into_iter().filter(|v| !loops::is_lane(fun, *v)).collect();
    let ways = Cell::new(MOST_WAYS);
    let (path, found) = (Vec::new(), Vec::new());
    let mut search = Search { program, fun, step, args, order: &order, ways: &ways, path, found, nearest: None };
    search.block(&fun.body);
    let depth = search.found.iter().map(|f| f.site.path.len()).min();
    let mut outermost: Vec<Found> = search.found.into_iter().filter(|f| Some(f.site.path.len()) == depth).collect();
    if outermost.len() > 1 {
        let first = |f: &Found| f.site.stmts(fun).and_then(|s| s.first()).map(|s| s.span.0);
        let places: Vec<Span> = outermost.iter().filter_map(first).collect();
        return Err(refusal::ambiguous(call, args, &places));
    }
    Ok(outermost.pop().ok_or(search.nearest))
}

struct Search<'a> {
    program: &'a Program,
    fun: &'a Fun,
    step: &'a StepDef,
    args: &'a Args,
    order: &'a [Var],
    ways: &'a Cell<usize>,
    path: Vec<Turn>,
    found: Vec<Found>,
    nearest: Option<Reason>,
}

impl Search<'_> {
    fn block(&mut self, block: &Block) {
        let holes = self.step.from.iter().filter(|p| matches!(p, Pat::Hole(..))).count();
        let fixed = self.step.from.len() - holes;
        let mut free = 0;
        for start in 0..block.len() {
            // A hole among the outermost statements takes as many as it can; then the next place begins after them.
            let most = if holes == 0 { fixed } else { block.len() - start };
            let lengths = (fixed.max(1)..=most).rev().filter(|len| start >= free && start + len <= block.len());
            if let Some(len) = lengths.into_iter().find(|len| self.fits(block, start, *len))
                && holes > 0
            {
                free = start + len;
            }
            self.inside(start, block);
        }
    }

    fn fits(&mut self, block: &Block, start: usize, len: usize) -> bool {
        let mut matcher = Matcher::new(self.program, self.fun, self.args, self.order, self.ways);
        let stmts = &block[start..start + len];
        let reason = if !matcher.stmts(&self.step.from, stmts) {
            matcher.reason
        } else if let Some(array) = self.unstored(stmts) {
            let text = format!("nothing is stored to `{array}` here");
            Some(Reason { progress: matcher.progress, text, span: stmts[0].span.0 })
        } else {
            let site = Site { path: self.path.clone(), start, len };
            self.found.push(Found { site, capture: matcher.capture });
            return true;
        };
        self.nearest = Reason::nearer(self.nearest.take(), reason);
        false
    }

    /// An array of the recipe's `per cell c fold S.k` that the place does not store to: it cannot be the one meant.
    fn unstored(&self, stmts: &[Stmt]) -> Option<String> {
        let stored = Stores::of(stmts);
        self.step.recipe.iter().find_map(|line| match &line.kind {
            MoveKind::PerCell { buffer, fold } if fold.side == Side::S => match self.args.get(buffer) {
                Some(Arg::Buffer(b)) if !stored.contains(b) => Some(self.fun.buffers[b.index()].name.clone()),
                _ => None,
            },
            MoveKind::PerCell { .. }
            | MoveKind::Interchange(_)
            | MoveKind::Order(_)
            | MoveKind::Distribute { .. }
            | MoveKind::Fuse(..)
            | MoveKind::Split { .. }
            | MoveKind::Reorder { .. }
            | MoveKind::First(_)
            | MoveKind::SelfStore(..)
            | MoveKind::Copy(..)
            | MoveKind::Cut { .. }
            | MoveKind::Cover { .. }
            | MoveKind::Widen { .. }
            | MoveKind::Relayout { .. }
            | MoveKind::Join(..)
            | MoveKind::Carry { .. }
            | MoveKind::Narrow { .. }
            | MoveKind::Lanes(..)
            | MoveKind::Unroll(_)
            | MoveKind::Unfold(..)
            | MoveKind::Regroup { .. }
            | MoveKind::Case { .. }
            | MoveKind::Given(_) => None,
        })
    }

    fn inside(&mut self, at: usize, block: &Block) {
        let blocks: Vec<(Arm, &Block)> = match &block[at].kind {
            StmtKind::For { body, .. } => vec![(Arm::First, body)],
            StmtKind::Grid(g) => vec![(Arm::First, &g.body)],
            StmtKind::If { then, els, .. } => vec![(Arm::First, then), (Arm::Else, els)],
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => Vec::new(),
        };
        for (arm, inner) in blocks {
            self.path.push(Turn { at, arm });
            self.block(inner);
            self.path.pop();
        }
    }
}

/// The buffers that are stored to.
struct Stores(BTreeSet<Buffer>);

impl Stores {
    fn of(stmts: &[Stmt]) -> BTreeSet<Buffer> {
        let mut stores = Stores(BTreeSet::new());
        visit_block(&mut stores, stmts);
        stores.0
    }
}

impl Visit for Stores {
    fn store(&mut self, access: &Access) {
        self.0.insert(access.buffer);
    }
}
