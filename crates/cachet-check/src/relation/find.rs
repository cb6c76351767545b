//! Finding the loop or fold that a line of a recipe names.

use super::Relation;
use crate::events::{Frame, FrameKind, INSIDE};
use cachet_core::ir::{Block, Domain, Fold, Fun, Stmt, StmtKind, Var, Word};
use cachet_core::pattern::LoopRef;
use cachet_core::rewrite::{Arm, Turn, Visit, visit_block, visit_word};
use cachet_source::Diagnostic;

/// Where something stands: the blocks entered and the position in the last one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Spot {
    pub path: Vec<Turn>,
    pub at: usize,
}

impl Spot {
    /// The block it stands in.
    pub fn block<'a>(&self, block: &'a mut Block) -> Option<&'a mut Block> {
        self.path.iter().try_fold(block, |block, turn| match (&mut block.get_mut(turn.at)?.kind, turn.arm) {
            (StmtKind::For { body, .. }, Arm::First) => Some(body),
            (StmtKind::Grid(g), Arm::First) => Some(&mut g.body),
            (StmtKind::If { then, .. }, Arm::First) => Some(then),
            (StmtKind::If { els, .. }, Arm::Else) => Some(els),
            _ => None,
        })
    }
}

/// A loop statement, or the statement that contains a fold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Loop(Spot),
    Fold(Spot),
}

impl Relation<'_> {
    /// The loop or fold named, the outermost and first in program order being number 1.
    pub(super) fn find(&self, block: &Block, wanted: &LoopRef) -> Result<Found, Diagnostic> {
        let mut finder = Finder { relation: self, name: &wanted.name, path: Vec::new(), found: Vec::new() };
        finder.block(block);
        match finder.found.into_iter().nth(wanted.nth.max(1) as usize - 1) {
            Some(found) => Ok(found),
            None => Err(self.misfit(format!("{} has no loop or sum over {}", wanted.side, shown(wanted)))),
        }
    }

    /// The loop named; a fold of that name is a misfit.
    pub(super) fn find_loop(&self, block: &Block, wanted: &LoopRef) -> Result<Spot, Diagnostic> {
        match self.find(block, wanted)? {
            Found::Loop(spot) => Ok(spot),
            Found::Fold(_) => {
                Err(self.misfit(format!("{}.{} is a sum, and a loop is wanted", wanted.side, shown(wanted))))
            }
        }
    }
}

impl Relation<'_> {
    /// The sum named, which stands in a statement without a body, with the sums and guards around it there.
    pub(super) fn fold_named(&self, block: &Block, stmt: &Stmt, wanted: &LoopRef) -> Option<(Vec<Frame>, Fold)> {
        fold_in(&self.fun, stmt, &wanted.name, self.before_in_stmt(block, wanted).ok()?)
    }

    /// How many sums of that name stand before it in its statement.
    pub(super) fn before_in_stmt(&self, block: &Block, wanted: &LoopRef) -> Result<usize, Diagnostic> {
        let here = self.find(block, wanted)?;
        let earlier = (1..wanted.nth.max(1)).map(|nth| self.find(block, &LoopRef { nth, ..wanted.clone() }));
        Ok(earlier.filter(|found| found.as_ref().ok() == Some(&here)).count())
    }
}

/// `k`, or `k#2`.
pub(super) fn shown(wanted: &LoopRef) -> String {
    if wanted.nth > 1 { format!("{}#{}", wanted.name, wanted.nth) } else { wanted.name.clone() }
}

struct Finder<'a> {
    relation: &'a Relation<'a>,
    name: &'a str,
    path: Vec<Turn>,
    found: Vec<Found>,
}

impl Finder<'_> {
    fn block(&mut self, block: &[Stmt]) {
        for (at, stmt) in block.iter().enumerate() {
            let spot = || Spot { path: self.path.clone(), at };
            match &stmt.kind {
                StmtKind::For { var, domain: _, body } => {
                    if self.relation.fun.vars[var.index()].name == self.name {
                        let spot = spot();
                        self.found.push(Found::Loop(spot));
                    }
                    self.inside(at, Arm::First, body);
                }
                StmtKind::Grid(g) => {
                    if g.axes.iter().any(|(v, _)| self.relation.fun.vars[v.index()].name == self.name) {
                        let spot = spot();
                        self.found.push(Found::Loop(spot));
                    }
                    self.inside(at, Arm::First, &g.body);
                }
                StmtKind::If { guard: _, then, els } => {
                    self.inside(at, Arm::First, then);
                    self.inside(at, Arm::Else, els);
                }
                StmtKind::Let { .. }
                | StmtKind::Var { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Store { .. }
                | StmtKind::Print(_)
                | StmtKind::Alloc(_)
                | StmtKind::Lease { .. }
                | StmtKind::Call(_) => {
                    let mut folds = Folds { finder: self, count: 0 };
                    visit_block(&mut folds, std::slice::from_ref(stmt));
                    for _ in 0..folds.count {
                        let spot = Spot { path: self.path.clone(), at };
                        self.found.push(Found::Fold(spot));
                    }
                }
            }
        }
    }

    fn inside(&mut self, at: usize, arm: Arm, block: &[Stmt]) {
        self.path.push(Turn { at, arm });
        self.block(block);
        self.path.pop();
    }
}

/// Counts the folds of the wanted name in one statement.
struct Folds<'a, 'b> {
    finder: &'a Finder<'b>,
    count: usize,
}

impl Visit for Folds<'_, '_> {
    fn word(&mut self, word: &Word) {
        if let Word::Fold(f) = word
            && self.finder.relation.fun.vars[f.var.index()].name == self.finder.name
        {
            self.count += 1;
        }
        visit_word(self, word);
    }
}

/// A sum over a name in a statement without a body, with the sums and guards around it in the statement; so many of that
/// name stand before it.
fn fold_in(fun: &Fun, stmt: &Stmt, name: &str, before: usize) -> Option<(Vec<Frame>, Fold)> {
    let (mut frames, mut before) = (Vec::new(), before);
    let word = match &stmt.kind {
        StmtKind::Let { word, .. }
        | StmtKind::Var { init: word, .. }
        | StmtKind::Assign { word, .. }
        | StmtKind::Store { word, .. }
        | StmtKind::Print(word) => word,
        StmtKind::For { .. }
        | StmtKind::Grid(_)
        | StmtKind::If { .. }
        | StmtKind::Alloc(_)
        | StmtKind::Lease { .. }
        | StmtKind::Call(_) => return None,
    };
    let fold = fold_of(fun, word, (name, &mut before), &mut frames)?;
    Some((frames, fold))
}

fn fold_of(fun: &Fun, word: &Word, (name, before): (&str, &mut usize), frames: &mut Vec<Frame>) -> Option<Fold> {
    fn under(
        fun: &Fun,
        kind: FrameKind,
        word: &Word,
        wanted: (&str, &mut usize),
        frames: &mut Vec<Frame>,
    ) -> Option<Fold> {
        frames.push(Frame { depth: INSIDE, kind });
        let found = fold_of(fun, word, wanted, frames);
        if found.is_none() {
            frames.pop();
        }
        found
    }
    if let Word::Fold(f) = word
        && fun.vars[f.var.index()].name == name
    {
        match before.checked_sub(1) {
            None => return Some((**f).clone()),
            Some(less) => *before = less,
        }
    }
    match word {
        Word::Lit(_) | Word::Index(..) | Word::Load(_) | Word::Local(..) | Word::Differing(..) => None,
        Word::Op { args, .. } | Word::Apply(_, args) | Word::Tuple(args) => {
            args.iter().find_map(|w| fold_of(fun, w, (name, before), frames))
        }
        Word::Part(w, _) => fold_of(fun, w, (name, before), frames),
        Word::Let(_, a, b) => {
            fold_of(fun, a, (name, before), frames).or_else(|| fold_of(fun, b, (name, before), frames))
        }
        Word::If(g, a, b) => under(fun, FrameKind::Guard((**g).clone(), true), a, (name, before), frames)
            .or_else(|| under(fun, FrameKind::Guard((**g).clone(), false), b, (name, before), frames)),
        Word::Fold(f) => fold_of(fun, &f.init, (name, before), frames)
            .or_else(|| under(fun, FrameKind::Loop(f.var, f.domain.clone()), &f.body, (name, before), frames)),
        Word::Reduce(r) => fold_of(fun, &r.empty, (name, before), frames)
            .or_else(|| under(fun, FrameKind::Loop(r.var, r.domain.clone()), &r.element, (name, before), frames))
            .or_else(|| fold_of(fun, &r.combine, (name, before), frames)),
    }
}

/// Every statement with where it stands, outer ones first.
pub(super) fn walk(block: &[Stmt], path: &mut Vec<Turn>, see: &mut dyn FnMut(&Stmt, Spot)) {
    for (at, stmt) in block.iter().enumerate() {
        see(stmt, Spot { path: path.clone(), at });
        let arms: [(Arm, &[Stmt]); 2] = match &stmt.kind {
            StmtKind::For { body, .. } => [(Arm::First, body), (Arm::Else, &[])],
            StmtKind::Grid(g) => [(Arm::First, &g.body), (Arm::Else, &[])],
            StmtKind::If { then, els, .. } => [(Arm::First, then), (Arm::Else, els)],
            StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Alloc(_)
            | StmtKind::Lease { .. }
            | StmtKind::Call(_)
            | StmtKind::Print(_) => continue,
        };
        for (arm, inner) in arms {
            path.push(Turn { at, arm });
            walk(inner, path, see);
            path.pop();
        }
    }
}

/// The loops directly inside one another, and the statement inside them.
pub(super) fn nest_of(stmt: &Stmt) -> (Vec<(Var, Domain)>, &Stmt) {
    let (mut loops, mut stmt) = (Vec::new(), stmt);
    while let StmtKind::For { var, domain, body } = &stmt.kind
        && let [only] = body.as_slice()
    {
        loops.push((*var, domain.clone()));
        stmt = only;
    }
    (loops, stmt)
}
