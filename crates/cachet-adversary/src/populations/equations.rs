//! Contractions drawn at random: is every element what its equations say?
//!
//! The evaluator of the equations makes single elements straight from the text's typed equations; the plain nest comes from
//! elaboration, and is run by the interpreter. The two share nothing but the operations on elements. All sizes from 0 to 3
//! are tried of each dimension, or a sample where there are many.

use crate::generate::contractions::{self, Contraction};
use crate::memory;
use crate::minimise::minimise;
use crate::population::{Population, Report, Share};
use crate::random::Random;
use crate::runs::{self, Stopped, Words};
use cachet::pipeline::Outcome;
use cachet_core::interpret::Value;
use cachet_core::ir::{Binding, ImplId};
use cachet_oracle::equations::element;
use cachet_oracle::hostile::KINDS;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The population.
pub const EQUATIONS: Population = Population {
    promise: "P5",
    name: "contractions and their equations",
    never: "an element of the plain nest is not what its equation says",
    counts: [600, 20_000],
    drawn: true,
    run,
};

/// Each dimension.
const SIZES: [i64; 4] = [0, 1, 2, 3];
/// Choices of sizes: all of four dimensions and fewer.
const MOST_CHOICES: usize = 256;
/// Contractions that are checked as one text.
const TOGETHER: usize = 20;

fn run(share: Share) -> Report {
    let mut report = Report::default();
    let drawn: Vec<Contraction> =
        (0..share.count).map(|n| contractions::draw(&mut Random::case(share.seed, n), &format!("drawn{n}"))).collect();
    for (batch, some) in drawn.chunks(TOGETHER).enumerate() {
        let together = memory::checked(&text(some));
        let of = |c: &Contraction| together.module.contractions.iter().any(|(of, _)| of.name == c.name);
        let all = some.iter().all(of);
        for (n, c) in some.iter().enumerate() {
            report.cases += 1;
            c.constructs.iter().for_each(|what| report.count(what));
            // One that is not understood may hide the others.
            let alone = (!all).then(|| memory::checked(&text(std::slice::from_ref(c))));
            let outcome = alone.as_ref().unwrap_or(&together);
            let random = || Random::case(!share.seed, batch * TOGETHER + n);
            if let Err(what) = tried(outcome, c, &mut random(), &mut report) {
                let still = |c: &Contraction| {
                    let outcome = memory::checked(&text(std::slice::from_ref(c)));
                    tried(&outcome, c, &mut random(), &mut Report::default()).is_err()
                };
                report.fail(what, minimise(c.clone(), Contraction::smaller, still).text());
            }
        }
    }
    for what in CONSTRUCTS {
        let (got, wanted) = (report.counted(what), (share.count as u64 / 60).max(1));
        report.at_least(what, got, wanted);
    }
    let refused = report.counted("contractions refused");
    report.at_most("contractions refused", refused, 5, share.count as u64);
    let elements = report.counted("elements");
    report.at_least("elements", elements, 300 * share.count as u64);
    report
}

/// What there has to be some of.
const CONSTRUCTS: &[&str] = &[
    "a guard",
    "a range",
    "a sum in a sum",
    "a sum over two",
    "a term beside the sum",
    "a window",
    "an array read twice",
    "an epilogue",
    "an index as a word",
    "an operand with an operation",
    "any semiring",
    "bool",
    "every other",
    "f32",
    "f64",
    "i32",
    "intermediates",
    "let",
    "no sum",
    "one operand",
    "rank four",
    "records of a maximum",
    "records of two sums",
    "records read",
    "reduce",
    "scaled by a vector",
    "several outputs",
    "several sums",
    "shifted",
    "sum",
    "three indices",
    "three operands",
    "transposed operand",
    "transposed result",
    "turned round",
];

/// A comparison, or a panic.
fn tried(outcome: &Outcome, c: &Contraction, random: &mut Random, report: &mut Report) -> Result<(), String> {
    let run = AssertUnwindSafe(|| try_one(outcome, c, random, report));
    catch_unwind(run).unwrap_or_else(|_| Err("a panic".into()))
}

/// Compares one contraction; an element that differs is an error.
fn try_one(outcome: &Outcome, c: &Contraction, random: &mut Random, report: &mut Report) -> Result<(), String> {
    let found = outcome.module.contractions.iter().find(|(of, _)| of.name == c.name);
    let accepted = found.filter(|(_, id)| outcome.checked.accepts(*id));
    let Some((equations, id)) = accepted else {
        report.count("contractions refused");
        let why = outcome.diagnostics.iter().find(|d| d.refuses()).map_or("?", |d| d.code.0);
        report.count(&format!("refused: {why}"));
        return Ok(());
    };
    let program = outcome.checked.program();
    let types = binding(outcome, c, random);
    let ready = runs::ready(program, *id, &types)?;
    for sizes in runs::choices(&SIZES, ready.fun.sizes.len(), MOST_CHOICES, random) {
        let start = runs::start(&ready.fun, &sizes, random.pick(&KINDS), random.next());
        let want = match ready.interpreted(&sizes, &start, None) {
            Ok(words) => words,
            Err(Stopped::NotFor) => continue,
            Err(Stopped::Trapped(what)) => return Err(format!("{what} at {sizes:?}")),
        };
        let mut got = Words::new();
        for (n, at) in runs::outputs(&ready.fun).into_iter().enumerate() {
            let mut words = Vec::new();
            for cell in cells(start[at].extents()) {
                let value = element(program, equations, &types, &sizes, &start, n, &cell);
                let value = value.map_err(|e| format!("no element {cell:?} at {sizes:?}: {e:?}"))?;
                flat(&value, &mut words);
                report.count("elements");
            }
            got.push(words);
        }
        if let Some(what) = ready.difference(&got, &want) {
            return Err(format!("{what} at {sizes:?}"));
        }
        report.count("choices of sizes");
    }
    Ok(())
}

/// An implementation for a generic contraction.
fn binding(outcome: &Outcome, c: &Contraction, random: &mut Random) -> Vec<Binding> {
    if c.algebra.instances.is_empty() {
        return vec![];
    }
    let name = random.pick(c.algebra.instances);
    let at = outcome.checked.program().impls.iter().position(|i| i.name == name).unwrap();
    vec![Binding::Impl(ImplId(at as u32))]
}

fn flat(value: &Value, out: &mut Vec<u64>) {
    match value {
        Value::Bits(b) => out.push(*b),
        Value::Tuple(parts) => parts.iter().for_each(|p| flat(p, out)),
    }
}

/// The places of an array, in row-major order.
fn cells(extents: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![vec![]];
    for e in extents {
        all = all.iter().flat_map(|at| (0..*e).map(|n| [at.as_slice(), &[n]].concat())).collect();
    }
    all
}

fn text(some: &[Contraction]) -> String {
    let all: String = some.iter().map(Contraction::text).collect::<Vec<_>>().join("\n");
    // What generic ones are run at has to be there as well.
    let at: Vec<&str> = some.iter().flat_map(|c| c.algebra.instances).copied().collect();
    format!("{}{all}", contractions::prelude(&format!("{all} {}", at.join(" "))))
}
