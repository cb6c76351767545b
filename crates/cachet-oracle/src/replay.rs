//! Where do two programs differ? Small sizes, tried in a fixed order.

use crate::symbolic::{Comparison, Difference, Fault, compare_within, run_within};
use cachet_core::ir::{Domain, Fun, Program, Word};
use cachet_core::rewrite::{Visit, visit_block, visit_domain, visit_word};
use std::collections::BTreeSet;

/// How many tuples of sizes are tried.
const MAX_TUPLES: usize = 300;
/// The largest size near a block's border that is tried.
const MAX_BORDER: i64 = 260;
/// How many events all runs of a search together may have.
const MAX_SEARCH: u64 = 20_000_000;

/// The first sizes at which two functions differ, starting with the given ones.
pub fn find_difference(program: &Program, s: &Fun, t: &Fun, start: &[i64]) -> Option<(Vec<i64>, Difference)> {
    let mut budget = MAX_SEARCH;
    candidates(&[s, t], s.sizes.len(), start).into_iter().find_map(|sizes| {
        match compare_within(program, s, t, &sizes, &mut budget) {
            Comparison::Differs(d) => Some((sizes, d)),
            Comparison::Same | Comparison::Fault { .. } | Comparison::NotApplicable | Comparison::TooBig => None,
        }
    })
}

/// The first sizes at which a function does something that it must not and that is wanted, starting with the given ones.
pub fn find_fault(
    program: &Program,
    fun: &Fun,
    start: &[i64],
    wanted: impl Fn(&Fault) -> bool,
) -> Option<(Vec<i64>, Fault)> {
    let mut budget = MAX_SEARCH;
    candidates(&[fun], fun.sizes.len(), start).into_iter().find_map(|sizes| {
        let fault = run_within(program, fun, &sizes, &mut budget).filter(&wanted)?;
        Some((sizes, fault))
    })
}

/// Sizes to try: the given ones, then small ones in order of their sum, then those around the functions' block sizes.
fn candidates(funs: &[&Fun], dims: usize, start: &[i64]) -> Vec<Vec<i64>> {
    let mut out: Vec<Vec<i64>> = Vec::new();
    if start.len() == dims {
        out.push(start.to_vec());
    }
    let small = tuples(&[0, 1, 2, 3], dims, MAX_TUPLES / 2);
    let around: BTreeSet<i64> = factors(funs)
        .into_iter()
        .flat_map(|n| [n - 1, n, n + 1, 2 * n, 2 * n + 1])
        .filter(|n| *n <= MAX_BORDER)
        .collect();
    let mut values: Vec<i64> = [0, 1, 2, 3].into_iter().chain(around).collect();
    values.sort_unstable();
    values.dedup();
    let wide = tuples(&values, dims, 40 * MAX_TUPLES);
    // One dimension at a time around the blocks first: most differences show where one dimension is ragged.
    let mut single: Vec<Vec<i64>> = Vec::new();
    for d in 0..dims {
        for v in &values {
            let mut at = vec![2; dims];
            at[d] = *v;
            single.push(at);
        }
    }
    for t in small.into_iter().chain(single).chain(wide) {
        if out.len() >= MAX_TUPLES {
            break;
        }
        if !out.contains(&t) {
            out.push(t);
        }
    }
    out
}

/// Tuples of the values, by their sum, then in order; not many more than `most` are ever held.
fn tuples(values: &[i64], dims: usize, most: usize) -> Vec<Vec<i64>> {
    let mut out = vec![Vec::new()];
    for _ in 0..dims {
        let mut next: Vec<Vec<i64>> =
            out.iter().flat_map(|t: &Vec<i64>| values.iter().map(move |v| [t.as_slice(), &[*v]].concat())).collect();
        next.sort_by_key(|t| (t.iter().sum::<i64>(), t.clone()));
        next.truncate(most);
        out = next;
    }
    out
}

/// The block sizes that occur in functions.
fn factors(funs: &[&Fun]) -> BTreeSet<i64> {
    struct Sizes(BTreeSet<i64>);
    impl Visit for Sizes {
        fn domain(&mut self, domain: &Domain) {
            if let Domain::Blocks { size, .. } = domain {
                self.0.insert(*size);
            }
            visit_domain(self, domain);
        }
        fn word(&mut self, word: &Word) {
            visit_word(self, word);
        }
    }
    let mut out = Sizes(BTreeSet::new());
    for f in funs {
        visit_block(&mut out, &f.body);
    }
    out.0
}
