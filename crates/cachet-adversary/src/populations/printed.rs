//! Functions drawn at random, printed and read again: what is read computes what was printed.
//!
//! Drawn is what the language has words for. The listing of each, with what it calls, is read as a file of its own after the
//! library that it is drawn over, and both are run in the interpreter on the same words.

use crate::generate::functions::coverage::{Counts, count};
use crate::generate::functions::{Drawn, Use, draw, library, library_text};
use crate::memory;
use crate::minimise::functions::{Case, show, smaller};
use crate::minimise::within;
use crate::population::{Population, Report, Share};
use crate::random::Random;
use crate::sides::{Input, alone, inputs, interpreted, ready};
use cachet_core::ir::{Fun, FunId, Program};
use cachet_core::print::listing;

/// Printed and read.
pub const PRINTED: Population = Population {
    promise: "P3",
    name: "functions drawn, printed and read again",
    never: "a listing reads as a function that computes something else",
    counts: [500, 20_000],
    drawn: true,
    run,
};

/// How many inputs a function has.
const INPUTS: usize = 6;
/// Tries that making a failure small may take.
const TRIES: usize = 3_000;

/// What came of a listing.
pub enum Read {
    /// It computes the same.
    Same,
    /// It computes something else.
    Other(String),
    /// It is no program.
    Refused,
    /// It did not run on either side.
    Nothing,
}

fn run(share: Share) -> Report {
    let mut report = Report::default();
    let keep = |text: &str| Some(text.to_string());
    for n in 0..share.count {
        report.cases += 1;
        let (case, drawn, inputs) = drawn(share.seed, n);
        match read(&case, &drawn, &inputs, &keep) {
            Read::Same => report.count("read as the same"),
            Read::Nothing => report.count("does not run"),
            Read::Refused => report.count("refused"),
            Read::Other(_) => {
                let other = |c: &Case| matches!(read(c, &drawn, &inputs, &keep), Read::Other(_));
                let least = within(TRIES, case, smaller, other);
                if let Read::Other(what) = read(&least, &drawn, &inputs, &keep) {
                    report.fail(what, show(&least));
                }
            }
        }
    }
    let same = report.counted("read as the same");
    report.at_least_percent("read as the same", same, 85, share.count as u64);
    report
}

/// A function on its own, and inputs.
pub fn drawn(seed: u64, n: usize) -> (Case, Drawn, Vec<Input>) {
    let mut program = library();
    let mut random = Random::case(!seed, n);
    let drawn = draw(&mut random, &mut program, &format!("drawn{n}"), Use::Text);
    let inputs = inputs(&program.funs[drawn.fun.index()], &mut random, INPUTS);
    (alone(&program, &drawn, &[]), drawn, inputs)
}

/// Prints a function, reads it, and runs both.
pub fn read(case: &Case, drawn: &Drawn, inputs: &[Input], change: &dyn Fn(&str) -> Option<String>) -> Read {
    let fun = &case.program.funs[case.fun.index()];
    let mut text = String::new();
    for f in case.program.funs.iter().skip(library().funs.len()).filter(|f| f.name != "unused") {
        text.push_str(&listing(&case.program, f));
        text.push('\n');
    }
    let Some(text) = change(&text) else { return Read::Nothing };
    let Ok(module) = memory::read(&format!("{}\n{text}", library_text())) else { return Read::Refused };
    let Some(at) = module.program.funs.iter().position(|f| f.name == fun.name) else {
        return Read::Other("it is gone".into());
    };
    let again = &module.program.funs[at];
    if let Some(what) = other_operations(&case.program, case.fun, &module.program, FunId(at as u32)) {
        return Read::Other(what);
    }
    let (Ok(one), Ok(two)) = (ready(&case.program, case.fun), ready(&module.program, FunId(at as u32))) else {
        return Read::Other("it does not compile".into());
    };
    let mut ran = false;
    for input in inputs {
        let Ok(before) = interpreted(&one, fun, &drawn.lending, input) else { continue };
        ran = true;
        let sizes = again.sizes.iter().map(|v| size(fun, &input.sizes, &again.vars[v.index()].name)).collect();
        let input = Input { sizes, ..input.clone() };
        match interpreted(&two, again, &drawn.lending, &input) {
            Ok(after) if after.printed != before.printed => return Read::Other("it prints another line".into()),
            Ok(after) => {
                let mut pairs = before.arrays.iter().zip(&after.arrays);
                if let Some(n) = pairs.position(|(a, b)| crate::judge::difference(a, b).is_some()) {
                    return Read::Other(format!("another word in array {n}"));
                }
            }
            Err(t) => return Read::Other(format!("it ends early: {}", t.text)),
        }
    }
    if ran { Read::Same } else { Read::Nothing }
}

fn size(fun: &Fun, sizes: &[i64], name: &str) -> i64 {
    let named = fun.sizes.iter().zip(sizes).find(|(v, _)| fun.vars[v.index()].name == name);
    named.map_or(0, |(_, n)| *n)
}

/// Operations on integers that wrap, and those that do not, are told apart by the checker and not by a run.
fn other_operations(before: &Program, one: FunId, after: &Program, two: FunId) -> Option<String> {
    let [mut a, mut b] = [Counts::new(), Counts::new()];
    count(before, one, &mut a);
    count(after, two, &mut b);
    let told = |(what, _): &(&String, &u64)| what.starts_with("Wrapping");
    let (a, b): (Vec<_>, Vec<_>) = (a.iter().filter(told).collect(), b.iter().filter(told).collect());
    (a != b).then(|| format!("it has other operations: {a:?} and {b:?}"))
}
