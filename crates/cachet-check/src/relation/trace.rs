//! What a recipe does, line by line: both programs as text after each of its lines.
//!
//! The lines are applied by the code that makes the conditions, so what is shown is what was checked.

use super::Relation;
use cachet_core::ir::Block;
use cachet_core::pattern::MoveKind;
use cachet_core::print::statements;

/// The two programs at one point of a recipe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TracedMove {
    /// The point.
    pub at: Point,
    /// `S` as it then is.
    pub s: String,
    /// `T` as it then is.
    pub t: String,
    /// How many conditions there are by then.
    pub conditions: usize,
}

/// A point of a recipe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Point {
    /// Before its first line.
    Start,
    /// After a line, in the program's names: `interchange S.j`.
    After(String),
    /// After the two programs were compared line by line.
    Compared,
}

impl Point {
    /// After a line of a recipe.
    pub(super) fn after(line: &MoveKind) -> Point {
        Point::After(line.to_string())
    }
}

impl Relation<'_> {
    /// Notes both programs, where that is asked for.
    pub(super) fn note(&mut self, at: impl FnOnce() -> Point, s: &Block, t: &Block) {
        let Some(mut trace) = self.trace.take() else { return };
        let names = self.names();
        let (s, t) = (statements(&names, s), statements(&names, t));
        trace.push(TracedMove { at: at(), s, t, conditions: self.conditions.len() });
        self.trace = Some(trace);
    }
}
