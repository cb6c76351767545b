//! Where do two programs differ? Small sizes, tried in a fixed order.

use crate::symbolic::{Comparison, Difference, Fault, compare_within, run_within};
use cachet_core::ir::{Domain, Fun, Guard, Ix, Program, Rel, Word};
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

/// Sizes to try: the given ones, then small ones in order of their sum, then those around the functions' block sizes. Of a
/// size of which multiples are required, only those.
fn candidates(funs: &[&Fun], dims: usize, start: &[i64]) -> Vec<Vec<i64>> {
    let steps = steps(funs, dims);
    let mut out: Vec<Vec<i64>> = Vec::new();
    if start.len() == dims {
        // A counterexample leaves open what its condition does not speak of, and a sum of no terms shows no difference.
        for least in [0, 1, 2] {
            out.push(start.iter().zip(&steps).map(|(n, step)| up((*n).max(least), *step)).collect());
        }
        out[0] = start.to_vec();
        out.dedup();
    }
    let few = [0, 1, 2, 3];
    let multiples: Vec<Vec<i64>> = steps.iter().map(|step| few.map(|n| n * step).to_vec()).collect();
    let small = tuples(&multiples, MAX_TUPLES / 2);
    let around: BTreeSet<i64> = factors(funs)
        .into_iter()
        .flat_map(|n| [n - 1, n, n + 1, 2 * n, 2 * n + 1])
        .filter(|n| *n <= MAX_BORDER)
        .collect();
    let values = |step: &i64| -> Vec<i64> {
        let all: BTreeSet<i64> = few.iter().chain(&around).map(|n| up(*n, *step)).collect();
        all.into_iter().collect()
    };
    let values: Vec<Vec<i64>> = steps.iter().map(values).collect();
    let wide = tuples(&values, 40 * MAX_TUPLES);
    // One dimension at a time around the blocks first: most differences show where one dimension is ragged.
    let mut single: Vec<Vec<i64>> = Vec::new();
    for (d, values) in values.iter().enumerate() {
        for v in values {
            let mut at: Vec<i64> = steps.iter().map(|step| up(2, *step)).collect();
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

/// The first multiple of a step from a number on.
fn up(n: i64, step: i64) -> i64 {
    n.checked_add(step - 1).map_or(n, |n| n / step * step)
}

/// Of what each size has to be a multiple: `N % 16 == 0` says so, and one where nothing does.
fn steps(funs: &[&Fun], dims: usize) -> Vec<i64> {
    let mut out = vec![1; dims];
    for fun in funs {
        for guard in &fun.requires {
            let Guard::Cmp(Rel::Eq, Ix::Mod(of, n), Ix::Lit(0)) = guard else { continue };
            let size = fun.sizes.iter().position(|s| Ix::Var(*s) == **of);
            if let Some(step) = size.and_then(|size| out.get_mut(size))
                && (1..=MAX_BORDER).contains(n)
            {
                let both = (1..=*n).map(|m| m * *step).find(|m| m % n == 0);
                *step = both.filter(|m| *m <= MAX_BORDER).unwrap_or(*step);
            }
        }
    }
    out
}

/// Tuples of the values of each size, by their sum, then in order; not many more than `most` are ever held.
fn tuples(values: &[Vec<i64>], most: usize) -> Vec<Vec<i64>> {
    let mut out = vec![Vec::new()];
    for values in values {
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
