//! A failed condition, run at the sizes of its counterexample: what would happen there?
//!
//! The oracle runs the program, or the two programs, on symbolic words and shares nothing with the checker but the IR's
//! types. What it sees makes a refusal concrete; what it does not see leaves "a model the search cannot rule out".
//! It never accepts anything.

mod numbers;

use cachet_check::condition::{Failure, Kind};
use cachet_core::ir::{Access, Fun, Program};
use cachet_core::rewrite::{Visit, visit_block};
use cachet_oracle::replay;
use cachet_oracle::symbolic::{Difference, Fault};
use cachet_source::{Counterexample, Diagnostic, Kind as Severity, Replay, Span};
use std::collections::BTreeSet;

/// A step that was refused: both programs.
pub fn of_step(program: &Program, before: &Fun, after: &Fun, failure: Failure) -> Diagnostic {
    let Some(sizes) = failure.sizes.clone() else { return failure.diagnostic };
    match failure.kind {
        Kind::Count
        | Kind::Start
        | Kind::Branch
        | Kind::Words
        | Kind::Cell
        | Kind::Order
        | Kind::Split
        | Kind::Map
        | Kind::Copied
        | Kind::Carried
        | Kind::Narrowed => different(program, before, after, failure.diagnostic, sizes),
        Kind::Law => regrouped(program, before, after, failure.diagnostic, sizes),
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
        | Kind::Mask
        | Kind::Lanes
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
        Kind::Law | Kind::Apart | Kind::Overflow | Kind::Extent | Kind::Fits | Kind::Requirement | Kind::Assertion => {
            failure.diagnostic
        }
        Kind::Count
        | Kind::Start
        | Kind::Branch
        | Kind::Words
        | Kind::Cell
        | Kind::Order
        | Kind::Split
        | Kind::Copied
        | Kind::Carried
        | Kind::Narrowed
        | Kind::Multiple
        | Kind::Map
        | Kind::Mask
        | Kind::Lanes
        | Kind::Given => failure.diagnostic,
    }
}

/// What the program does there, if it is what was to be proved impossible: a program may have several faults.
fn alone(program: &Program, fun: &Fun, failure: Failure, sizes: &[i64]) -> Diagnostic {
    let mut own = Accesses(BTreeSet::new());
    visit_block(&mut own, &fun.body);
    // What goes wrong inside a function that is called is the call's.
    let at_a_label = |fault: &Fault| {
        let labels = &failure.diagnostic.labels;
        // What a step's pattern reads has no place of its own.
        let placeless = fault.span.0.lo == fault.span.0.hi;
        placeless || !own.0.contains(&fault.span.0) || labels.iter().any(|l| l.span == fault.span.0)
    };
    let seen = replay::find_fault(program, fun, sizes, |fault| {
        let of_an_access = matches!(failure.kind, Kind::Bounds | Kind::Initialised | Kind::Window);
        let of_the_end = failure.kind == Kind::Written;
        (!of_an_access || at_a_label(fault)) && (!of_the_end || fault.span == fun.span)
    });
    with(failure.diagnostic, seen.map(|(at, fault)| vec![format!("{}{}", at_sizes(fun, &at), fault.text)]))
}

/// Where a function reads and writes.
struct Accesses(BTreeSet<Span>);

impl Visit for Accesses {
    fn load(&mut self, access: &Access) {
        self.0.insert(access.span.0);
    }
    fn store(&mut self, access: &Access) {
        self.0.insert(access.span.0);
    }
}

/// Sizes at which the words differ and the bits with them: a sum of two terms has the same bits in either order, one of
/// three has not.
fn different(program: &Program, before: &Fun, after: &Fun, d: Diagnostic, sizes: Vec<i64>) -> Diagnostic {
    let mut words = None;
    let mut start = sizes;
    for _ in 0..MOST_SIZES {
        let Some((at, difference)) = replay::find_difference(program, before, after, &start) else { break };
        let lines = difference_lines(after, &at, &difference);
        if numbers::differ(program, before, after, &at) != Some(false) {
            return with(d, Some(lines));
        }
        start = at.iter().map(|n| n + 1).collect();
        words = words.or(Some(lines));
    }
    match words {
        Some(lines) => other_words(d, &lines),
        None => with(d, None),
    }
}

/// A sum in another grouping, where a law is missing: its bits differ, or the report stands as it is.
fn regrouped(program: &Program, before: &Fun, after: &Fun, d: Diagnostic, sizes: Vec<i64>) -> Diagnostic {
    // One range at a time: that of the sum is enough.
    let one = |n: usize| sizes.iter().enumerate().map(|(m, size)| if m == n { *size } else { 1 }).collect();
    let starts: Vec<Vec<i64>> = (0..sizes.len()).rev().map(one).chain([sizes.clone()]).collect();
    for start in starts {
        match replay::find_difference(program, before, after, &start) {
            Some((at, difference)) if at == start && numbers::differ(program, before, after, &at) == Some(true) => {
                return with(d, Some(difference_lines(after, &at, &difference)));
            }
            Some(_) | None => {}
        }
    }
    d
}

/// How many sizes are tried for bits that differ.
const MOST_SIZES: usize = 4;

/// Other words that have the same bits whatever was tried: `x + x` and `x * 2.0`. No proof, and no fault seen.
fn other_words(mut d: Diagnostic, lines: &[String]) -> Diagnostic {
    d = with(d, None);
    let sides: Vec<&str> = lines.iter().skip(1).map(|l| l.trim()).collect();
    d.note(format!("the words differ, though no contents that were tried give other bits: {}", sides.join("; ")))
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
