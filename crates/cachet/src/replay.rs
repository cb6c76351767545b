//! A failed condition, run at the sizes of its counterexample: what would happen there?
//!
//! The oracle runs the program, or the two programs, on symbolic words and shares nothing with the checker but the IR's
//! types. What it sees makes a refusal concrete; what it does not see leaves "a model the search cannot rule out".
//! It never accepts anything.

use cachet_check::condition::{Failure, Kind};
use cachet_core::ir::{Fun, Program};
use cachet_oracle::replay;
use cachet_oracle::symbolic::Difference;
use cachet_source::{Counterexample, Diagnostic, Kind as Severity, Replay};

/// A step that was refused: both programs.
pub fn of_step(program: &Program, before: &Fun, after: &Fun, failure: Failure) -> Diagnostic {
    let Some(sizes) = failure.sizes.clone() else { return failure.diagnostic };
    match failure.kind {
        Kind::Count | Kind::Start | Kind::Branch | Kind::Words | Kind::Cell | Kind::Order | Kind::Split | Kind::Map => {
            let found = replay::find_difference(program, before, after, &sizes);
            let lines = found.map(|(at, difference)| difference_lines(after, &at, &difference));
            with(failure.diagnostic, lines)
        }
        Kind::Bounds
        | Kind::Initialised
        | Kind::Written
        | Kind::View
        | Kind::Apart
        | Kind::Converts
        | Kind::Windows
        | Kind::Window => alone(program, after, failure, &sizes),
        Kind::Overflow
        | Kind::Extent
        | Kind::Fits
        | Kind::Requirement
        | Kind::Multiple
        | Kind::Given
        | Kind::Assertion => failure.diagnostic,
    }
}

/// A function that was refused.
pub fn of_function(program: &Program, fun: &Fun, failure: Failure) -> Diagnostic {
    let Some(sizes) = failure.sizes.clone() else { return failure.diagnostic };
    match failure.kind {
        Kind::Bounds
        | Kind::Initialised
        | Kind::Written
        | Kind::View
        | Kind::Converts
        | Kind::Windows
        | Kind::Window => alone(program, fun, failure, &sizes),
        // That parts of one array overlap is plain from the call; sizes that do not fit are the caller's to show.
        Kind::Apart | Kind::Overflow | Kind::Extent | Kind::Fits | Kind::Requirement | Kind::Assertion => {
            failure.diagnostic
        }
        Kind::Count
        | Kind::Start
        | Kind::Branch
        | Kind::Words
        | Kind::Cell
        | Kind::Order
        | Kind::Split
        | Kind::Multiple
        | Kind::Map
        | Kind::Given => failure.diagnostic,
    }
}

fn alone(program: &Program, fun: &Fun, failure: Failure, sizes: &[i64]) -> Diagnostic {
    let seen = replay::find_fault(program, fun, sizes);
    with(failure.diagnostic, seen.map(|(at, fault)| vec![format!("{}{}", at_sizes(fun, &at), fault.text)]))
}

fn with(mut d: Diagnostic, lines: Option<Vec<String>>) -> Diagnostic {
    let replay = match lines {
        Some(lines) => {
            d.kind = Severity::Wrong;
            Replay::Seen { lines }
        }
        None => Replay::NotSeen,
    };
    d.counterexample.get_or_insert_with(Counterexample::default).replay = Some(replay);
    d
}

/// `at M = 1, N = 1, K = 1 `; empty without sizes.
fn at_sizes(fun: &Fun, sizes: &[i64]) -> String {
    let parts: Vec<String> =
        fun.sizes.iter().zip(sizes).map(|(v, n)| format!("{} = {n}", fun.vars[v.index()].name)).collect();
    if parts.is_empty() { String::new() } else { format!("at {} ", parts.join(", ")) }
}

fn difference_lines(fun: &Fun, sizes: &[i64], d: &Difference) -> Vec<String> {
    let at: Vec<String> = d.cell.iter().map(i64::to_string).collect();
    vec![
        format!("{}the results differ in {}[{}]:", at_sizes(fun, sizes), d.buffer, at.join(", ")),
        format!("  S: {}", d.s),
        format!("  T: {}", d.t),
    ]
}
