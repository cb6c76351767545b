//! A place in a function: some statements that stand one after another in one block.

use crate::ir::{Block, Fun, Stmt, StmtKind};

/// Which block of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Arm {
    /// The body of a loop or grid, or the `then` of an `if`.
    First,
    /// The `else`.
    Else,
}

/// One step down: into a block of the statement at a position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Turn {
    /// The statement's position in its block.
    pub at: usize,
    /// Which of its blocks.
    pub arm: Arm,
}

/// The statements `start .. start + len` of the block that `path` leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// From the function's body down.
    pub path: Vec<Turn>,
    /// The first statement.
    pub start: usize,
    /// How many.
    pub len: usize,
}

/// The block of a statement, if it has that one.
fn arm_of(stmt: &Stmt, arm: Arm) -> Option<&Block> {
    match (&stmt.kind, arm) {
        (StmtKind::For { body, .. }, Arm::First) => Some(body),
        (StmtKind::Grid(g), Arm::First) => Some(&g.body),
        (StmtKind::If { then, .. }, Arm::First) => Some(then),
        (StmtKind::If { els, .. }, Arm::Else) => Some(els),
        _ => None,
    }
}

fn arm_of_mut(stmt: &mut Stmt, arm: Arm) -> Option<&mut Block> {
    match (&mut stmt.kind, arm) {
        (StmtKind::For { body, .. }, Arm::First) => Some(body),
        (StmtKind::Grid(g), Arm::First) => Some(&mut g.body),
        (StmtKind::If { then, .. }, Arm::First) => Some(then),
        (StmtKind::If { els, .. }, Arm::Else) => Some(els),
        _ => None,
    }
}

impl Site {
    /// The block that contains the site.
    pub fn block<'a>(&self, fun: &'a Fun) -> Option<&'a Block> {
        self.path.iter().try_fold(&fun.body, |block, turn| arm_of(block.get(turn.at)?, turn.arm))
    }

    /// The site's statements.
    pub fn stmts<'a>(&self, fun: &'a Fun) -> Option<&'a [Stmt]> {
        self.block(fun)?.get(self.start..self.start.checked_add(self.len)?)
    }

    /// The statements that enclose the site, outermost first, each with the block that was entered.
    pub fn enclosing<'a>(&self, fun: &'a Fun) -> Option<Vec<(&'a Stmt, Arm)>> {
        let mut block = &fun.body;
        let mut out = Vec::with_capacity(self.path.len());
        for turn in &self.path {
            let stmt = block.get(turn.at)?;
            out.push((stmt, turn.arm));
            block = arm_of(stmt, turn.arm)?;
        }
        Some(out)
    }

    /// Puts other statements in the site's place and gives the site they then have.
    pub fn replace(&self, fun: &mut Fun, with: Block) -> Option<Site> {
        let mut block = &mut fun.body;
        for turn in &self.path {
            block = arm_of_mut(block.get_mut(turn.at)?, turn.arm)?;
        }
        let end = self.start.checked_add(self.len).filter(|end| *end <= block.len())?;
        let len = with.len();
        block.splice(self.start..end, with);
        Some(Site { path: self.path.clone(), start: self.start, len })
    }
}
