//! Schedules, steps, step functions and recipes.

use super::{Block, Clause, Expr, Ident, Param, Path, Shape, Targ, Type};
use cachet_source::Span;

/// `schedule NAME of NAME @(…) on D (…) = …`.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    /// The name.
    pub name: Ident,
    /// What is scheduled: a contraction, a function or another schedule.
    pub of: Ident,
    /// `@` arguments.
    pub targs: Vec<Targ>,
    /// `on DEVICE`, before or after the parameters.
    pub device: Option<Ident>,
    /// The schedule's own parameters.
    pub params: Vec<Param>,
    /// Clauses.
    pub clauses: Vec<Clause>,
    /// The steps; none is legal.
    pub steps: Vec<Step>,
    /// Where.
    pub span: Span,
}

/// `schedule fn NAME (i, j, k) c (MC, MR) = …`.
#[derive(Clone, PartialEq, Debug)]
pub struct ScheduleFn {
    /// The name.
    pub name: Ident,
    /// Its parameters; no rank holes.
    pub params: Vec<StepParam>,
    /// The steps.
    pub steps: Vec<Step>,
    /// Where.
    pub span: Span,
}

/// A parameter of a schedule function or a step function.
#[derive(Clone, PartialEq, Debug)]
pub enum StepParam {
    /// `c`.
    Name(Ident),
    /// `(i, j)`, `(i.., k)`.
    Tuple {
        /// The names, at least one.
        items: Vec<TupleParam>,
        /// Where.
        span: Span,
    },
}

/// A name in a tuple of parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct TupleParam {
    /// The name.
    pub name: Ident,
    /// `i..`: a rank hole, any number of loops.
    pub rank: bool,
    /// Where.
    pub span: Span,
}

/// A loop of the program a step sees: `k`, `j.outer`, `i#2`.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopRef {
    /// The loop or index.
    pub name: Ident,
    /// `.outer`, `.inner`.
    pub part: Option<LoopPart>,
    /// `#2`: the second loop of that name from the outside.
    pub nth: Option<u64>,
    /// Where.
    pub span: Span,
}

/// A loop of the last split of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopPart {
    /// `.outer`
    Outer,
    /// `.inner`
    Inner,
}

/// A step of a schedule.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// What it is.
    pub kind: StepKind,
    /// Where.
    pub span: Span,
}

/// What a step is.
#[derive(Clone, PartialEq, Debug)]
pub enum StepKind {
    /// `split i by 16 as gi, 4 as ui ragged, j by 8`.
    Split(Vec<SplitIndex>),
    /// `order (gk, gj, i)`.
    Order(Vec<LoopRef>),
    /// `grid over (i, j)`.
    GridOver(Vec<LoopRef>),
    /// `pack a into P along g over (x, y) pad n with w`.
    Pack {
        /// The array.
        array: Ident,
        /// The buffer.
        into: Ident,
        /// At which loop.
        along: LoopRef,
        /// The copy's loops.
        over: Vec<NewName>,
        /// How many columns, filled with what.
        pad: Option<Box<(Expr, Expr)>>,
    },
    /// `pack_lanes a into P along g over (x, y, t) lanes n`.
    PackLanes {
        /// The array.
        array: Ident,
        /// The buffer.
        into: Ident,
        /// At which loop.
        along: LoopRef,
        /// Rows, groups of lanes, lane axis.
        over: Vec<NewName>,
        /// How many lanes.
        lanes: Box<Expr>,
    },
    /// `keep P along g within L into P'`.
    Keep {
        /// The buffer.
        buffer: Ident,
        /// At which loop.
        along: LoopRef,
        /// The level.
        level: Ident,
        /// The lease's name.
        into: NewName,
    },
    /// `registers (i, j) into c rows R lanes L through f`, `registers i into y lanes L through f`.
    Registers {
        /// The row loop and how many rows; a single vector has none.
        row: Option<(LoopRef, Box<Expr>)>,
        /// The lane loop.
        lane: LoopRef,
        /// The output.
        into: Ident,
        /// How many lanes.
        lanes: Box<Expr>,
        /// The step of the sum.
        through: Path,
    },
    /// `compute s at L into P`.
    Compute {
        /// The intermediate.
        name: Ident,
        /// The loop that encloses its uses.
        at: LoopRef,
        /// A scratch buffer for it.
        into: Option<Ident>,
    },
    /// `reduce j.inner by (max: halving, sum: order)`.
    Reduce {
        /// The loop.
        index: LoopRef,
        /// The parts of the block law.
        parts: Vec<ReducePart>,
    },
    /// `parts [8, 16]`.
    Parts(Vec<Expr>),
    /// `element [f32; 8, 8]`.
    Element(Type),
    /// Any other step, library or user's, and schedule functions: `zero (i, j) c`.
    Call {
        /// The step.
        name: Ident,
        /// Its arguments.
        args: Vec<StepArg>,
    },
}

/// A name that a step is asked to introduce.
pub type NewName = Ident;

/// One index of a `split`.
#[derive(Clone, PartialEq, Debug)]
pub struct SplitIndex {
    /// The loop or sum.
    pub index: LoopRef,
    /// Its levels, outermost first; every one named if there are several.
    pub levels: Vec<SplitLevel>,
    /// Whether the last block may be shorter; covers all levels.
    pub ragged: bool,
    /// Where.
    pub span: Span,
}

/// `16 as gi`.
#[derive(Clone, PartialEq, Debug)]
pub struct SplitLevel {
    /// The block's length.
    pub size: Expr,
    /// The new loop's name.
    pub name: Option<NewName>,
    /// Where.
    pub span: Span,
}

/// `max: halving`.
#[derive(Clone, PartialEq, Debug)]
pub struct ReducePart {
    /// The part of the block law.
    pub name: Ident,
    /// In which order.
    pub shape: Shape,
    /// Where.
    pub span: Span,
}

/// An argument of a step that has no syntax of its own.
#[derive(Clone, PartialEq, Debug)]
pub enum StepArg {
    /// A bare name (of anything), or a loop: `c`, `i.outer`, `i#2`, `simdgroup_mma8`.
    Loop(LoopRef),
    /// A number, or inside a tuple any expression that is not a bare loop.
    Expr(Expr),
    /// `[f32; 8, 8]`.
    Type(Type),
    /// `(i, j)`, `(16, MR * 2)`; one element for `(i)`.
    Tuple {
        /// The elements: loops and expressions.
        items: Vec<StepArg>,
        /// Where.
        span: Span,
    },
}

impl StepArg {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            StepArg::Loop(l) => l.span,
            StepArg::Expr(e) => e.span,
            StepArg::Type(t) => t.span,
            StepArg::Tuple { span, .. } => *span,
        }
    }
}

/// `step fn NAME … = from … to … relate …`.
#[derive(Clone, PartialEq, Debug)]
pub struct StepFn {
    /// The name.
    pub name: Ident,
    /// Its parameters.
    pub params: Vec<StepParam>,
    /// The pattern.
    pub from: Block,
    /// What replaces it.
    pub to: Block,
    /// The recipe; empty without `relate`.
    pub relate: Vec<Move>,
    /// Where.
    pub span: Span,
}

/// `builtin step WORD … relate …`: library files only.
#[derive(Clone, PartialEq, Debug)]
pub struct BuiltinStep {
    /// The step's first word.
    pub name: Ident,
    /// The rest of its shape, token by token, as written.
    pub signature: Vec<Ident>,
    /// The recipe; empty without `relate`.
    pub relate: Vec<Move>,
    /// Where.
    pub span: Span,
}

/// Which of the two programs a recipe speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// Before.
    S,
    /// After.
    T,
}

/// `S.k`, `T.$acc`, `S.i#2`.
#[derive(Clone, PartialEq, Debug)]
pub struct SideRef {
    /// Which program.
    pub side: Side,
    /// A loop, local, buffer, function or label of it.
    pub name: Ident,
    /// `#2`: the second loop of that name from the outside.
    pub nth: Option<u64>,
    /// Where.
    pub span: Span,
}

/// A line of a recipe.
#[derive(Clone, PartialEq, Debug)]
pub struct Move {
    /// What it is.
    pub kind: MoveKind,
    /// Where.
    pub span: Span,
}

/// What a line of a recipe is.
#[derive(Clone, PartialEq, Debug)]
pub enum MoveKind {
    /// `per cell c fold S.k at [i, j]`.
    PerCell {
        /// The buffer.
        buffer: Ident,
        /// The fold's loop.
        fold: SideRef,
        /// The cell.
        at: Option<Vec<Expr>>,
    },
    /// `fold var S.k`.
    FoldVar(SideRef),
    /// `interchange S.j`.
    Interchange(SideRef),
    /// `order S (k, i, j)`, `order S.upd (kb, i)`.
    Order {
        /// Which program.
        side: Side,
        /// A label: `init`, `upd`, `fin`.
        label: Option<Ident>,
        /// The loops, outermost first.
        loops: Vec<LoopRef>,
    },
    /// `distribute S.i at 1`.
    Distribute {
        /// The loop.
        index: SideRef,
        /// Before which statement.
        at: Expr,
    },
    /// `fuse S.i, S.j`.
    Fuse(SideRef, SideRef),
    /// `split S.k by n as gk ragged`.
    Split {
        /// The loop.
        index: SideRef,
        /// The block's length.
        by: Expr,
        /// The new loop.
        name: Ident,
        /// Whether the last block may be shorter.
        ragged: bool,
    },
    /// `cut S.k at e`.
    Cut {
        /// The loop.
        index: SideRef,
        /// Where the second begins.
        at: Expr,
    },
    /// `join T.t, T.l`.
    Join(SideRef, SideRef),
    /// `reorder S to T init: back (gk = 0) all: by (…) back (…)`.
    Reorder {
        /// From.
        from: Side,
        /// To.
        to: Side,
        /// One a label.
        lines: Vec<ReorderLine>,
    },
    /// `carry T.t as c`.
    Carry {
        /// The local.
        local: SideRef,
        /// The buffer it carries cells of.
        buffer: Ident,
    },
    /// `copy T.P`.
    Copy(SideRef),
    /// `selfstore T.c`.
    SelfStore(SideRef),
    /// `lanes T (l)`.
    Lanes {
        /// Which program.
        side: Side,
        /// The lane loops' names.
        names: Vec<Ident>,
    },
    /// `narrow T.acc axis 1 to gj.len`.
    Narrow {
        /// The local.
        local: SideRef,
        /// The axis.
        axis: Expr,
        /// Its new extent.
        to: Expr,
    },
    /// `relayout T.blocks [q, u] as acc [(q / 2) * 8 + u, …]`.
    Relayout {
        /// The local.
        local: SideRef,
        /// Its indices.
        from: Vec<Expr>,
        /// The new local.
        name: Ident,
        /// Its indices.
        to: Vec<Expr>,
    },
    /// `rename T.P' as P`.
    Rename {
        /// The buffer.
        buffer: SideRef,
        /// Its name on the other side.
        name: Ident,
    },
    /// `dead T.P`.
    Dead(SideRef),
    /// `share T.t over d`.
    Share {
        /// The local.
        local: SideRef,
        /// The loop it does not depend on.
        over: Ident,
    },
    /// `unfold T.mma`.
    Unfold(SideRef),
    /// `unroll S.q`.
    Unroll(SideRef),
    /// `case c { … } else { … }`, or with `then` and `else` blocks.
    Case {
        /// The condition.
        condition: Expr,
        /// The recipe where it holds.
        then: Vec<Move>,
        /// The recipe where it does not.
        els: Vec<Move>,
    },
    /// `given $lo < $hi`.
    Given(Expr),
    /// `grid S.i, S.j`.
    Grid(Vec<SideRef>),
    /// `arithmetic D`.
    Arithmetic(Ident),
    /// `regroup S.j (max: halving, sum: order) by block`, `regroup S.k chunks 8 by associative`.
    Regroup {
        /// The loop.
        index: SideRef,
        /// One unnamed shape, or the named parts of a block law.
        form: Vec<(Option<Ident>, Shape)>,
        /// The law.
        law: Ident,
    },
    /// `evaluate`.
    Evaluate,
}

/// `init: by (x = e) back (y = e)`.
#[derive(Clone, PartialEq, Debug)]
pub struct ReorderLine {
    /// `init`, `upd`, `fin`, `all`.
    pub label: Ident,
    /// Where each instance goes.
    pub by: Vec<(Ident, Expr)>,
    /// Where each instance comes from.
    pub back: Vec<(Ident, Expr)>,
    /// Where.
    pub span: Span,
}
