//! Statements and domains.

use super::{Expr, ExprKind, Ident, Index, ParamType, Place, Type};
use cachet_source::Span;

/// The entries of a block, in order. May be empty only where every entry was broken.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// The statements. The last may be the block's value: [`StmtKind::Expr`], or an `if` whose branches are values;
    /// [`Block::to_expr`] reads it so.
    pub stmts: Vec<Stmt>,
    /// Where.
    pub span: Span,
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where.
    pub span: Span,
}

/// What a statement is.
#[derive(Clone, PartialEq, Debug)]
pub enum StmtKind {
    /// `for i in lo .. hi do …`.
    For {
        /// The variable, or a rank hole `i..`.
        var: LoopVar,
        /// Its values.
        domain: Domain,
        /// What is repeated.
        body: Block,
    },
    /// `grid on D i in …, j in … by tile (…) parts […] writes … do …`.
    Grid {
        /// The device; the host without one.
        device: Option<Ident>,
        /// The indices.
        indices: Vec<GridIndex>,
        /// `by tile (si, sj) parts [h, w]`.
        tile: Option<Tile>,
        /// The declared windows; none means that they are inferred.
        writes: Vec<Window>,
        /// One iteration.
        body: Block,
    },
    /// `if c then … else …`.
    If {
        /// The condition.
        cond: Expr,
        /// What happens where it holds.
        then: Block,
        /// What happens where it does not.
        els: Option<Block>,
    },
    /// `let x: T = e`.
    Let {
        /// The name.
        name: Ident,
        /// Its type, if written.
        ty: Option<Type>,
        /// Its value.
        value: Expr,
    },
    /// `var x: T = e`.
    Var {
        /// The name.
        name: Ident,
        /// Its type, if written.
        ty: Option<Type>,
        /// Its first value.
        value: Expr,
    },
    /// `x = e`, `x[i] = e`.
    Assign {
        /// A variable or a cell of one.
        place: Place,
        /// Its new value.
        value: Expr,
    },
    /// `store c[i, j] = e mask n`. A mask directly after a `load` belongs to the load.
    Store {
        /// Where to.
        place: Place,
        /// What.
        value: Expr,
        /// How many leading lanes.
        mask: Option<Expr>,
    },
    /// `lease mut P' = P at L`.
    Lease {
        /// Whether it may be written.
        mutable: bool,
        /// The new name.
        name: Ident,
        /// The buffer.
        buffer: Ident,
        /// The level.
        level: Ident,
    },
    /// `alloc P: [T; n] in Layout at L`.
    Alloc {
        /// The buffer.
        name: Ident,
        /// Its type.
        ty: ParamType,
    },
    /// A call (`packed a b c`), or a block's value as its last entry.
    Expr(Expr),
    /// `$body`, `$body[t := e]`: a hole that stands for statements.
    Hole {
        /// The hole.
        hole: Ident,
        /// Bracket groups after it, in order.
        groups: Vec<Vec<Index>>,
    },
}

/// A loop's variable.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopVar {
    /// The name.
    pub name: Ident,
    /// `i..`: any number of nested loops, only in step functions.
    pub rank: bool,
    /// Where.
    pub span: Span,
}

/// The values of a loop's variable.
#[derive(Clone, PartialEq, Debug)]
pub struct Domain {
    /// Which.
    pub kind: DomainKind,
    /// Where.
    pub span: Span,
}

/// The forms of a domain.
#[derive(Clone, PartialEq, Debug)]
pub enum DomainKind {
    /// `lo .. hi`.
    Range {
        /// First.
        lo: Expr,
        /// One past the last.
        hi: Expr,
    },
    /// `blocks (lo .. hi) n`.
    Blocks {
        /// First.
        lo: Expr,
        /// One past the last.
        hi: Expr,
        /// The length of a block.
        size: Expr,
    },
    /// `$A`: any domain.
    Hole(Ident),
    /// `$A..`: the domains of a rank hole's loops.
    RankHole(Ident),
}

/// `i in 0 .. M` of a grid.
#[derive(Clone, PartialEq, Debug)]
pub struct GridIndex {
    /// The variable.
    pub var: LoopVar,
    /// Its values.
    pub domain: Domain,
    /// Where.
    pub span: Span,
}

/// `by tile (si, sj) parts [h, w]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Tile {
    /// The coordinates of the part.
    pub vars: Vec<Ident>,
    /// The extents of a part.
    pub parts: Vec<Expr>,
    /// Where.
    pub span: Span,
}

/// `c[i, j] as ct` after `writes`.
#[derive(Clone, PartialEq, Debug)]
pub struct Window {
    /// What an iteration may write.
    pub place: Place,
    /// The window's name inside the grid.
    pub alias: Option<Ident>,
    /// Where.
    pub span: Span,
}

impl Stmt {
    /// The statement read as a value: an expression, or an `if` whose branches are values.
    pub fn to_expr(&self) -> Option<Expr> {
        match &self.kind {
            StmtKind::Expr(e) => Some(e.clone()),
            StmtKind::Hole { hole, groups } => {
                let hole_expr = Expr::new(ExprKind::Hole(hole.clone()), hole.span);
                Some(groups.iter().fold(hole_expr, |base, group| {
                    let indices = group.clone();
                    Expr::new(ExprKind::Index { base: Box::new(base), indices }, self.span)
                }))
            }
            StmtKind::If { cond, then, els: Some(els) } => {
                let (then, els) = (then.to_expr()?, els.to_expr()?);
                let kind = ExprKind::If { cond: Box::new(cond.clone()), then: Box::new(then), els: Box::new(els) };
                Some(Expr::new(kind, self.span))
            }
            StmtKind::If { els: None, .. }
            | StmtKind::For { .. }
            | StmtKind::Grid { .. }
            | StmtKind::Let { .. }
            | StmtKind::Var { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Store { .. }
            | StmtKind::Lease { .. }
            | StmtKind::Alloc { .. } => None,
        }
    }
}
