//! Does a proposed program differ from the one before, and does a function do what none may? By evaluators that share
//! nothing with the checker.

use crate::judge::{self, Seen};
use crate::random::Random;
use cachet_core::ir::{Fun, FunId, Program};
use cachet_core::validate::validate_fun;
use cachet_oracle::symbolic::{Comparison, Side, compare};

/// Who says whether two programs differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judge {
    /// The oracle: two results are the same only if the same operations were applied to the same words in the same order.
    Symbols,
    /// The interpreter: the bits, for regrouped sums are other words.
    Bits,
}

/// Runs of the interpreter that a comparison of bits takes.
const RUNS: usize = 60;

impl Judge {
    /// What differs, if anything: words, or something that the second one does and no program may.
    pub fn differs(self, program: &Program, before: &Fun, after: &Fun) -> Option<String> {
        if let Err(faults) = validate_fun(program, after) {
            return Some(format!("it is no program: {}", faults.first().map_or("", |f| &f.text)));
        }
        match self {
            Judge::Symbols => symbols(program, before, after),
            Judge::Bits => bits(program, before, after),
        }
    }
}

fn symbols(program: &Program, before: &Fun, after: &Fun) -> Option<String> {
    sizes(before.sizes.len()).iter().find_map(|at| match compare(program, before, after, at) {
        Comparison::Same | Comparison::NotApplicable => None,
        Comparison::Differs(d) => Some(format!("at {at:?} {}{:?} is {} for {}", d.buffer, d.cell, d.t, d.s)),
        Comparison::Fault { side: Side::T, fault } => Some(format!("at {at:?}: {}", fault.text)),
        Comparison::Fault { side: Side::S, fault } => panic!("{} at {at:?}: {}", before.name, fault.text),
        Comparison::TooBig => panic!("{} at {at:?} is beyond the oracle", before.name),
    })
}

fn bits(program: &Program, before: &Fun, after: &Fun) -> Option<String> {
    let (mut random, id) = (Random(0xB175), FunId(0));
    let program = &Program { funs: vec![before.clone()], ..program.clone() };
    let all = sizes(before.sizes.len());
    (0..RUNS).find_map(|_| {
        let at = random.pick(&all);
        match judge::compare(program, id, before, after, &at, &mut random) {
            Seen::Same | Seen::Nothing => None,
            Seen::Other(what) => Some(format!("{what} at {at:?}")),
        }
    })
}

/// Up to two dimensions every pair from 9 down to 0: twice the length of a block of 4, and one more. Of more, one at a
/// time from 9 to 0 beside others that whole blocks divide, and small ones.
fn sizes(dims: usize) -> Vec<Vec<i64>> {
    if dims <= 2 {
        let tuple = |n: usize| (0..dims).map(|d| (n / 10usize.pow(d as u32) % 10) as i64).collect();
        return (0..10usize.pow(dims as u32)).rev().map(tuple).collect();
    }
    let mut out = Vec::new();
    for d in 0..dims {
        for n in (0..10).rev() {
            let mut at = vec![4; dims];
            at[d] = n;
            out.push(at);
        }
    }
    out.extend(
        (0..3usize.pow(dims as u32)).map(|n| (0..dims).map(|d| (n / 3usize.pow(d as u32) % 3) as i64).collect()),
    );
    out
}

/// What a function does at some sizes that no function may: small ones, and single ones around the ends of blocks of up
/// to 8.
pub fn fault(program: &Program, fun: &Fun) -> Option<String> {
    small(fun.sizes.len()).into_iter().find_map(|at| match compare(program, fun, fun, &at) {
        Comparison::Same | Comparison::NotApplicable | Comparison::TooBig => None,
        Comparison::Differs(d) => Some(format!("{at:?}: {} differs from itself", d.buffer)),
        Comparison::Fault { fault, .. } => Some(format!("{at:?}: {}", fault.text)),
    })
}

fn small(dims: usize) -> Vec<Vec<i64>> {
    let base = [1, 14, 8, 5, 3][dims.min(4)];
    let digit = |n: i64, d: usize| n / i64::pow(base, d as u32) % base;
    let small = (0..i64::pow(base, dims as u32)).map(|n| (0..dims).map(|d| digit(n, d)).collect());
    let around = (0..dims).flat_map(|d| {
        [5, 6, 7, 9, 12, 13, 17].map(|n| {
            let mut at = vec![4; dims];
            at[d] = n;
            at
        })
    });
    small.chain(around).collect()
}

/// What the oracle sees to differ at a few sizes, to whom a regrouped sum is another word.
pub fn words_differ(program: &Program, before: &Fun, after: &Fun) -> Option<String> {
    let dims = before.sizes.len();
    [vec![3; dims], vec![7; dims], vec![12; dims]].iter().find_map(|at| match compare(program, before, after, at) {
        Comparison::Differs(d) => Some(format!("{}{:?} is another word at {at:?}", d.buffer, d.cell)),
        Comparison::Same | Comparison::NotApplicable | Comparison::TooBig | Comparison::Fault { .. } => None,
    })
}
