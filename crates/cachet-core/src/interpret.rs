//! What does a program compute? The reference interpreter is the definition.
//!
//! Everything that a proof excludes is checked while running and ends the run with a [`Trap`]: an access outside its
//! buffer, a read of a cell that nobody wrote, an integer that does not fit, a broken `requires`, arguments that overlap
//! though one is written, a grid iteration that reaches outside its windows or whose windows meet another's.
//!
//! - Cells are found by logical indices; layouts and strides concern addresses only.
//! - A call lends: the callee works on the caller's cells through a view. What it `produces` or uses as scratch starts
//!   unwritten; scratch is unwritten again afterwards.
//! - A grid runs its iterations one after another, in order or shuffled by a seed. Windows are evaluated on entry to an
//!   iteration; writes, and reads of any buffer that has a window, stay inside the iteration's own ones.
//! - Element operations are [`scalar`]'s. Words of tuples are kept flat: one slot per element.
//!
//! A function is compiled once per binding of its type parameters ([`prepare`]) to trees with resolved slots and element
//! types; running them allocates nothing per operation.

mod array;
mod code;
mod compile;
mod evaluate;
mod execute;
mod grid;
mod half;
mod lend;
mod machine;
pub mod scalar;

pub use array::{Array, Value};

use crate::ir::{At, Binding, FunId, Program};

/// Why a run ended early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trap {
    /// What kind of thing went wrong.
    pub kind: TrapKind,
    /// What happened, in the user's names.
    pub text: String,
    /// Where.
    pub span: At,
}

/// The kinds of [`Trap`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TrapKind {
    /// An access or a view outside its buffer.
    OutOfBounds {
        /// The buffer or local array.
        name: String,
        /// The indices.
        at: Vec<i64>,
    },
    /// A read of a cell that was not written.
    Uninitialised {
        /// The buffer.
        name: String,
        /// The indices.
        at: Vec<i64>,
    },
    /// An index that does not fit the integer type that it becomes a word of.
    Overflow,
    /// An index beyond 64 bits.
    IndexOverflow,
    /// A `requires` that does not hold.
    RequirementViolated,
    /// An argument whose extents are not what the parameter's sizes say.
    ExtentMismatch,
    /// Two arguments that overlap though one is written.
    Overlap,
    /// A grid iteration reached outside its windows.
    WindowViolated,
    /// Two grid iterations whose windows meet.
    WindowOverlap,
    /// A parameter that `produces` names was not written everywhere.
    NotProduced,
    /// A reduction by halving of a number of terms that is not a power of two.
    Shape,
    /// The run's limits on steps, memory or nesting.
    Limit,
    /// The program is not one: the validator refuses it.
    Malformed,
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Runs the iterations of grids in an order drawn from this seed.
    pub shuffle: Option<u64>,
    /// How many statements and steps of folds may run.
    pub max_steps: u64,
    /// How many elements all buffers and locals together may have.
    pub max_elements: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { shuffle: None, max_steps: u64::MAX, max_elements: 1 << 28 }
    }
}

/// Runs a function once: sizes and arguments in the order of its parameters. Arguments are lent: whether or not the run
/// ends well, they are in `args` afterwards, as the run left them.
pub fn run(
    program: &Program,
    fun: FunId,
    types: &[Binding],
    sizes: &[i64],
    args: &mut [Array],
    options: &Options,
) -> Result<(), Trap> {
    prepare(program, fun, types)?.run(sizes, args, options)
}

/// Runs a function without parameters and adds what it prints to `out`.
pub fn run_main(program: &Program, main: FunId, out: &mut String) -> Result<(), Trap> {
    prepare(program, main, &[])?.run_with(&[], &mut [], &Options::default(), out)
}

/// A function made ready to run many times.
pub struct Prepared {
    unit: code::Unit,
}

/// Compiles a function and all that it calls. The program has passed the validator; of one that has not, this or the
/// run may give [`TrapKind::Malformed`], and the run's result means nothing.
pub fn prepare(program: &Program, fun: FunId, types: &[Binding]) -> Result<Prepared, Trap> {
    Ok(Prepared { unit: compile::compile(program, fun, types)? })
}

impl Prepared {
    /// As [`run`].
    pub fn run(&self, sizes: &[i64], args: &mut [Array], options: &Options) -> Result<(), Trap> {
        self.run_with(sizes, args, options, &mut String::new())
    }

    /// As [`run`], adding what the function prints to `out`.
    pub fn run_with(&self, sizes: &[i64], args: &mut [Array], options: &Options, out: &mut String) -> Result<(), Trap> {
        machine::start(&self.unit, sizes, args, options, out).map_err(|t| *t)
    }
}

fn trap(kind: TrapKind, text: impl Into<String>, span: At) -> Box<Trap> {
    Box::new(Trap { kind, text: text.into(), span })
}

#[cfg(test)]
mod tests;
