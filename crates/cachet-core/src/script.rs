//! What a file says, typed, and what one step proposes: the data that rooms hand to each other.

use crate::equations::Contraction;
use crate::ir::{Binding, Fun, FunId, Program};
use crate::number::Proof;
use crate::pattern::{Move, StepDef};
use crate::rewrite::Site;
use cachet_source::Span;

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
    /// What the files assert of constants and sizes, imported files first.
    pub proofs: Vec<Proof>,
    /// Schedules, each after the one it continues.
    pub scripts: Vec<Script>,
    /// `main`.
    pub main: Option<FunId>,
    /// The root file's contractions, schedules and functions in source order.
    pub items: Vec<FunId>,
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
    /// Its arguments, in order.
    pub args: Vec<StepArg>,
    /// Where it is written.
    pub span: Span,
    /// The calls of schedule functions that lead here, outermost first.
    pub callers: Vec<Span>,
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
