//! Do two functions leave the same words in the same cells? Run both at concrete sizes and compare.
//!
//! What a parameter holds on entry is a free symbol per cell, except for what is `produces` or scratch, which starts
//! unwritten; nothing is computed, so two results are equal only if every operation was applied to the same operands
//! in the same order. Indices turned into words are literals, pure functions are unfolded, and operations of a type
//! parameter stay opaque.
//!
//! Accesses are checked on the way: bounds, unwritten cells, windows of grids, arguments of calls.

mod run;
mod term;

use cachet_core::ir::{At, Buffer, Fun, Program, Role};
use run::{Machine, Stop};
use term::Terms;

/// How much a run may do: statements, steps of folds and operations.
const MAX_EVENTS: u64 = 2_000_000;
/// How deep words are shown.
const SHOWN: usize = 3;

/// What became of two runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// All observable cells hold the same words.
    Same,
    /// A cell holds different words.
    Differs(Difference),
    /// One of the runs did something that it must not.
    Fault {
        /// Which.
        side: Side,
        /// What.
        fault: Fault,
    },
    /// The sizes do not satisfy what both functions require.
    NotApplicable,
    /// The runs are beyond the limit on events.
    TooBig,
}

/// A cell that holds different words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The first parameter, in order, with such a cell; `print` for what is printed.
    pub buffer: String,
    /// Its first such cell, in row-major order.
    pub cell: Vec<i64>,
    /// The first function's word.
    pub s: String,
    /// The second function's word.
    pub t: String,
}

/// One of two runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The first.
    S,
    /// The second.
    T,
}

/// Something that no program may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What, with the access as written and its values.
    pub text: String,
    /// Where.
    pub span: At,
}

/// Runs two functions of one signature at the same sizes.
pub fn compare(program: &Program, s: &Fun, t: &Fun, sizes: &[i64]) -> Comparison {
    compare_within(program, s, t, sizes, &mut (2 * MAX_EVENTS))
}

/// As [`compare`], taking the events of both runs from a budget.
pub(crate) fn compare_within(program: &Program, s: &Fun, t: &Fun, sizes: &[i64], budget: &mut u64) -> Comparison {
    let mut terms = Terms::default();
    let mut sides = Vec::new();
    for (fun, side) in [(s, Side::S), (t, Side::T)] {
        let events = (*budget).min(MAX_EVENTS);
        let mut machine = Machine::new(program, &mut terms, events);
        let ran = machine.whole(fun, sizes);
        *budget -= events - machine.left();
        match ran {
            Ok(()) => sides.push(machine.finish()),
            Err(Stop::Fault(fault)) => return Comparison::Fault { side, fault },
            Err(Stop::NotApplicable) => return Comparison::NotApplicable,
            Err(Stop::TooBig) => return Comparison::TooBig,
        }
    }
    let (a, b) = (&sides[0], &sides[1]);
    for (i, param) in s.params.iter().enumerate() {
        if !observable(s, *param) {
            continue;
        }
        let (Some(x), Some(y)) = (a.params.get(i), b.params.get(i)) else { continue };
        for (cell, (p, q)) in x.iter().zip(y).enumerate() {
            if p != q {
                let show =
                    |fun: &Fun, w: &Option<u32>| w.map_or("unwritten".into(), |w| terms.show(program, fun, w, SHOWN));
                return Comparison::Differs(Difference {
                    buffer: s.buffers.get(param.index()).map_or("?".into(), |b| b.name.clone()),
                    cell: run::indices(cell, &a.extents[i]),
                    s: show(s, p),
                    t: show(t, q),
                });
            }
        }
    }
    for n in 0..a.printed.len().max(b.printed.len()) {
        let (p, q) = (a.printed.get(n).copied(), b.printed.get(n).copied());
        if p != q {
            let show = |fun: &Fun, w: Option<u32>| w.map_or("nothing".into(), |w| terms.show(program, fun, w, SHOWN));
            return Comparison::Differs(Difference {
                buffer: "print".into(),
                cell: vec![n as i64],
                s: show(s, p),
                t: show(t, q),
            });
        }
    }
    Comparison::Same
}

/// What a function does wrong at some sizes, if anything: accesses out of bounds or to unwritten cells, an output not
/// written everywhere, arguments that overlap, windows of grids.
pub fn run_one(program: &Program, fun: &Fun, sizes: &[i64]) -> Option<Fault> {
    run_within(program, fun, sizes, &mut { MAX_EVENTS })
}

/// As [`run_one`], taking the events of the run from a budget.
pub(crate) fn run_within(program: &Program, fun: &Fun, sizes: &[i64], budget: &mut u64) -> Option<Fault> {
    let mut terms = Terms::default();
    let events = (*budget).min(MAX_EVENTS);
    let mut machine = Machine::new(program, &mut terms, events);
    let ran = machine.whole(fun, sizes);
    *budget -= events - machine.left();
    match ran {
        Err(Stop::Fault(fault)) => Some(fault),
        Ok(()) | Err(Stop::NotApplicable | Stop::TooBig) => None,
    }
}

fn observable(fun: &Fun, param: Buffer) -> bool {
    fun.buffers.get(param.index()).is_some_and(|b| b.role == Role::Mut) && !fun.scratch.contains(&param)
}
