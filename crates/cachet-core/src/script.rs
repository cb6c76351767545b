//! What a file says, typed, and what one step proposes: the data that rooms hand to each other.

use crate::equations::Contraction;
use crate::ir::{Binding, BufferInfo, Fun, FunId, ImplId, InstrId, Level, Lit, Program};
use crate::number::Proof;
use crate::pattern::{Move, StepDef};
use crate::print::decimal;
use crate::rewrite::Site;
use cachet_source::Span;
use std::fmt;

/// A root file with everything it imports, typed and elaborated; nothing is proved yet.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Interfaces, implementations and functions. A schedule's function is in it too: until the schedule has run, it is
    /// the function that the schedule starts from, under the schedule's name.
    pub program: Program,
    /// Each contraction's equations and its plain nest.
    pub contractions: Vec<(Contraction, FunId)>,
    /// The steps written in the language, the library's and the user's, in the order in which a name is looked up.
    pub steps: Vec<StepDef>,
    /// Constants that were chosen, in the order of the files.
    pub chosen: Vec<Chosen>,
    /// What the files assert of constants and sizes, imported files first.
    pub proofs: Vec<Proof>,
    /// Schedules, each after the one it continues.
    pub scripts: Vec<Script>,
    /// `main`.
    pub main: Option<FunId>,
    /// The root file's contractions, schedules and functions in source order.
    pub items: Vec<FunId>,
    /// The implementations that are not the library's.
    pub own_impls: Vec<ImplId>,
}

/// What `synth const` chose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// The constant.
    pub name: String,
    /// Its value.
    pub value: i64,
    /// What was made small, as it is written, and how small it became.
    pub cost: (String, i128),
    /// The conditions without which another value would have been chosen, as they are written.
    pub bound_by: Vec<String>,
}

/// A schedule as it is written, schedule functions expanded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// Its name.
    pub name: String,
    /// The function it makes.
    pub fun: FunId,
    /// The function it starts from.
    pub of: FunId,
    /// What the type parameters of `of` are bound to; empty leaves them unbound.
    pub types: Vec<Binding>,
    /// Its own parameters, all scratch, with extents in the sizes of `of`.
    pub scratch: Vec<BufferInfo>,
    /// Its steps.
    pub steps: Vec<StepCall>,
    /// Where its head is written.
    pub span: Span,
}

/// A step with its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepCall {
    /// The step's name.
    pub name: String,
    /// Which kind of step it is, and its arguments.
    pub form: StepForm,
    /// Where it is written.
    pub span: Span,
    /// The calls of schedule functions that lead here, outermost first.
    pub callers: Vec<Span>,
}

/// A step's arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StepForm {
    /// A step written in the language: its arguments in order.
    Call(Vec<StepArg>),
    /// `split x by n as g, m as u ragged, ..`
    Split(Vec<SplitIndex>),
    /// `order (x, ..)`
    Order(Vec<StepArg>),
    /// `grid over (x, ..)`
    GridOver(Vec<StepArg>),
    /// `pack a into P along g over (x, y) pad n with w`
    Pack(PackCall),
    /// `keep P along g within L into Q`
    Keep {
        /// The buffer.
        buffer: StepArg,
        /// The loop in whose body it was filled.
        along: StepArg,
        /// The memory level.
        level: Level,
        /// The lease's name.
        into: StepArg,
    },
    /// `registers (i, j) into c rows R lanes L through f`, `registers i into y lanes L through f`
    Registers(RegistersCall),
    /// `outer_products i c U V f`
    OuterProducts(OuterCall),
    /// `dot_products k c f`
    DotProducts(DotCall),
    /// `reduce x by (op: order)`
    Reduce {
        /// The sum.
        of: StepArg,
        /// The operation that joins its terms, by its name.
        op: String,
        /// Where the operation is named.
        at: Span,
    },
}

/// The arguments of `pack`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackCall {
    /// The array.
    pub array: StepArg,
    /// The buffer for the copy.
    pub into: StepArg,
    /// The loop in whose body it is made.
    pub along: StepArg,
    /// The names of the copy's loops.
    pub over: Vec<StepArg>,
    /// How long the last axis is, and what the copy is filled up with.
    pub pad: Option<(i64, Lit)>,
    /// How many neighbours along the last axis are copied at once; `over` then names its groups and its lanes.
    pub lanes: Option<i64>,
}

/// The arguments of `registers`; numbers and names with where they are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegistersCall {
    /// The loop over rows and how many rows the tile has; a single vector has none.
    pub row: Option<(StepArg, (i64, Span))>,
    /// The loop over lanes.
    pub lane: StepArg,
    /// The array.
    pub into: StepArg,
    /// How many lanes.
    pub lanes: (i64, Span),
    /// The step of the sum.
    pub through: (String, Span),
}

/// The arguments of `outer_products`; numbers and names with where they are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OuterCall {
    /// The loop over the tile's rows.
    pub row: StepArg,
    /// The array.
    pub into: StepArg,
    /// How many rows a block has.
    pub rows: (i64, Span),
    /// How many columns.
    pub columns: (i64, Span),
    /// What updates a block: the instructions of a name, of which one has to fit.
    pub through: (Vec<InstrId>, String, Span),
}

/// The arguments of `dot_products`; names with where they are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DotCall {
    /// The loop over the sum's index.
    pub sum: StepArg,
    /// The array.
    pub into: StepArg,
    /// The instruction that adds.
    pub through: (InstrId, String, Span),
}

/// One index of a `split`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitIndex {
    /// The loop or sum.
    pub of: StepArg,
    /// Sizes of blocks from the outermost in, each with the name of its loop where one is given.
    pub levels: Vec<SplitLevel>,
    /// Whether the last block of each level may be shorter.
    pub ragged: bool,
    /// Where it is written.
    pub span: Span,
}

/// One level of blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitLevel {
    /// The size, as written: it may be no size at all.
    pub size: i64,
    /// `as g`
    pub name: Option<String>,
    /// Where it is written.
    pub span: Span,
}

/// The outermost or the innermost loop of a loop's last split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SplitPart {
    /// `x.outer`
    Outer,
    /// `x.inner`
    Inner,
}

/// An argument of a step, not yet looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StepArg {
    /// A loop, a buffer or a new name; `nth` is the `2` of `i#2`.
    Name {
        /// The name.
        name: String,
        /// Which of that name, from 1; `None` where it must be the only one.
        nth: Option<u32>,
        /// `.outer` or `.inner`.
        part: Option<SplitPart>,
        /// Where it is written.
        span: Span,
    },
    /// A size.
    Number(i64, Span),
    /// Several.
    Tuple(Vec<StepArg>, Span),
}

impl StepArg {
    /// Where it is written.
    pub fn span(&self) -> Span {
        match self {
            StepArg::Name { span, .. } | StepArg::Number(_, span) | StepArg::Tuple(_, span) => *span,
        }
    }
}

/// What a step proposes: another program, where it differs, and how to relate the two. Nothing in it is believed.
#[derive(Clone, Debug)]
pub struct Rewrite {
    /// The program after the step. It shares the ids of the program before.
    pub after: Fun,
    /// What is replaced, in the program before.
    pub from: Site,
    /// What stands there, in the program after.
    pub to: Site,
    /// How to relate them, in the programs' names.
    pub recipe: Vec<Move>,
}

impl StepCall {
    /// The step's own words, as a schedule has them.
    pub fn word(&self) -> &str {
        match &self.form {
            StepForm::GridOver(_) => "grid over",
            StepForm::Call(_)
            | StepForm::Split(_)
            | StepForm::Order(_)
            | StepForm::Pack(_)
            | StepForm::Keep { .. }
            | StepForm::Registers(_)
            | StepForm::OuterProducts(_)
            | StepForm::DotProducts(_)
            | StepForm::Reduce { .. } => &self.name,
        }
    }
}

/// A step as it is written.
impl fmt::Display for StepCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            StepForm::Call(args) => {
                f.write_str(&self.name)?;
                args.iter().try_for_each(|a| write!(f, " {a}"))
            }
            StepForm::Order(args) => write!(f, "order ({})", list(args)),
            StepForm::GridOver(args) => write!(f, "grid over ({})", list(args)),
            StepForm::Split(indices) => write!(f, "split {}", list(indices)),
            StepForm::Registers(RegistersCall { row, lane, into, lanes: (lanes, _), through: (through, _) }) => {
                match row {
                    Some((row, (rows, _))) => write!(f, "registers ({row}, {lane}) into {into} rows {rows}")?,
                    None => write!(f, "registers {lane} into {into}")?,
                }
                write!(f, " lanes {lanes} through {through}")
            }
            StepForm::DotProducts(d) => write!(f, "dot_products {} {} {}", d.sum, d.into, d.through.1),
            StepForm::OuterProducts(o) => {
                write!(f, "outer_products {} {} {} {} {}", o.row, o.into, o.rows.0, o.columns.0, o.through.1)
            }
            StepForm::Pack(PackCall { array, into, along, over, pad: _, lanes: Some(lanes) }) => {
                write!(f, "pack_lanes {array} into {into} along {along} over ({}) lanes {lanes}", list(over))
            }
            StepForm::Pack(PackCall { array, into, along, over, pad, lanes: None }) => {
                write!(f, "pack {array} into {into} along {along} over ({})", list(over))?;
                pad.map_or(Ok(()), |(n, w)| write!(f, " pad {n} with {}", decimal(w)))
            }
            StepForm::Keep { buffer, along, level, into } => {
                write!(f, "keep {buffer} along {along} within {} into {into}", level.name)
            }
            StepForm::Reduce { of, op, at: _ } => write!(f, "reduce {of} by ({op}: order)"),
        }
    }
}

impl fmt::Display for StepArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepArg::Name { name, nth, part, .. } => {
                let part = match part {
                    Some(SplitPart::Outer) => ".outer",
                    Some(SplitPart::Inner) => ".inner",
                    None => "",
                };
                write!(f, "{name}{part}")?;
                nth.map_or(Ok(()), |n| write!(f, "#{n}"))
            }
            StepArg::Number(n, _) => write!(f, "{n}"),
            StepArg::Tuple(parts, _) => write!(f, "({})", list(parts)),
        }
    }
}

impl fmt::Display for SplitIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}{}", self.of, list(&self.levels), if self.ragged { " ragged" } else { "" })
    }
}

impl fmt::Display for SplitLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.size)?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, " as {name}"))
    }
}

fn list<T: fmt::Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
