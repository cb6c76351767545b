//! The interpreter's side: nest against schedules, against the equations, and sums over nothing.

use crate::data::{SMALL, arrays, by_parity, choices, difference, every, params, same, sampled};
use crate::families::{Instance, Suite};
use crate::work::Counts;
use cachet_core::interpret::{Array, Options, Prepared, prepare};
use cachet_core::ir::FunId;
use cachet_oracle::equations::element;
use cachet_oracle::hostile::Kind;

/// One in so many choices of four sizes is interpreted, besides the small ones; prime to the number of sizes.
const STRIDE: usize = 29;

/// A function of an instance, ready to run.
pub fn ready(suite: &Suite, i: &Instance, id: FunId) -> Prepared {
    let bound = if suite.fun(i, id).type_params.is_empty() { &[][..] } else { &i.types };
    prepare(suite.program(i), id, bound).unwrap_or_else(|t| panic!("{}: {}", suite.name(i, id), t.text))
}

/// The output's words after a run, or what went wrong.
pub fn output(kernel: &Prepared, sizes: &[i64], args: &[Array]) -> Result<Vec<u64>, String> {
    let mut args = args.to_vec();
    kernel.run(sizes, &mut args, &Options::default()).map_err(|t| t.text)?;
    let out = args.last().expect("an output");
    match out.written().iter().position(|w| !w) {
        Some(at) => Err(format!("element {at} was not written")),
        None => Ok(out.bits().to_vec()),
    }
}

/// Nest against every schedule, hostile and ordinary inputs in turn.
pub fn schedules(suite: &Suite, i: &Instance) -> Result<Counts, String> {
    let nest = ready(suite, i, i.nest);
    let kernels: Vec<Prepared> = i.schedules.iter().map(|s| ready(suite, i, *s)).collect();
    let mut counts = Counts::default();
    for sizes in run_at(suite.fun(i, i.nest).sizes.len()) {
        let kind = by_parity(&sizes);
        let args = arrays(i.elem, &params(suite, i, &sizes, kind));
        let at = |what: &str, text: String| format!("{}, {what} at {sizes:?}, {kind:?}: {text}", i.label);
        let want = output(&nest, &sizes, &args).map_err(|t| at("nest", t))?;
        for (id, kernel) in i.schedules.iter().zip(&kernels).filter(|k| suite.takes(i, *k.0, &sizes)) {
            let got = output(kernel, &sizes, &args).map_err(|t| at(suite.name(i, *id), t))?;
            if let Some(text) = difference(i.elem, &want, &got) {
                return Err(at(suite.name(i, *id), text));
            }
            counts.runs += 1;
            counts.elements += want.len() as u64;
        }
    }
    Ok(counts)
}

/// The sizes that schedules are interpreted at: every choice of the small ones, and a sample of all up to 17.
pub fn run_at(count: usize) -> Vec<Vec<i64>> {
    let stride = match count {
        0..=2 => 1,
        3 => 23,
        _ => 1009,
    };
    let mut out = choices(&SMALL, count, STRIDE);
    out.extend(sampled(count, stride));
    out
}

/// That sums in another order would show: reversing every input of a matrix applied to a vector reverses the result
/// and the order of its sums.
pub fn another_order(suite: &Suite, i: &Instance) -> Result<Counts, String> {
    let mut counts = Counts::default();
    // The smaller of two numbers is the same in any order.
    if i.label.contains("MinPlus") || !i.label.starts_with("apply") {
        return Ok(counts);
    }
    let nest = ready(suite, i, i.nest);
    let mut params = params(suite, i, &[17, 17], Kind::Ordinary);
    let forward = output(&nest, &[17, 17], &arrays(i.elem, &params))?;
    params.iter_mut().filter_map(|p| p.words.as_mut()).for_each(|w| w.reverse());
    let mut backward = output(&nest, &[17, 17], &arrays(i.elem, &params))?;
    backward.reverse();
    if difference(i.elem, &forward, &backward).is_none() {
        return Err(format!("{}: the order of a sum does not show on these inputs", i.label));
    }
    counts.runs += 1;
    counts.elements += forward.len() as u64;
    Ok(counts)
}

/// The nest against the equations, in every element at sizes up to four.
pub fn equations(suite: &Suite, i: &Instance) -> Result<Counts, String> {
    let nest = ready(suite, i, i.nest);
    let (program, contraction) = (suite.program(i), suite.contraction(i));
    let mut counts = Counts::default();
    for sizes in every(&[0, 1, 2, 3, 4], contraction.sizes.len()) {
        let kind = by_parity(&sizes);
        let args = arrays(i.elem, &params(suite, i, &sizes, kind));
        let got = output(&nest, &sizes, &args).map_err(|t| format!("{} at {sizes:?}: {t}", i.label))?;
        let extents = args.last().expect("an output").extents();
        for (flat, word) in got.iter().enumerate() {
            let at = indices(flat as i64, extents);
            let want = element(program, contraction, &i.types, &sizes, &args, 0, &at)
                .map_err(|e| format!("{} at {sizes:?}, {at:?}: {e:?}", i.label))?;
            if !want.bits().is_some_and(|w| same(i.elem, w, *word)) {
                return Err(format!("{} at {sizes:?}, {kind:?}, {at:?}: {word:#x} and not {want:?}", i.label));
            }
        }
        counts.runs += 1;
        counts.elements += got.len() as u64;
    }
    Ok(counts)
}

/// Indices of a cell, row-major.
fn indices(mut flat: i64, extents: &[i64]) -> Vec<i64> {
    let mut out: Vec<i64> = extents
        .iter()
        .rev()
        .map(|n| {
            let at = flat % n;
            flat /= n;
            at
        })
        .collect();
    out.reverse();
    out
}

/// Nest and schedules where the sum has no terms.
pub fn empty_sums(suite: &Suite, i: &Instance) -> Result<Counts, String> {
    let all: Vec<(FunId, Prepared)> = functions(i).map(|f| (f, ready(suite, i, f))).collect();
    let mut counts = Counts::default();
    for sizes in without_terms(suite, i) {
        let args = arrays(i.elem, &params(suite, i, &sizes, Kind::Special));
        for (id, kernel) in all.iter().filter(|f| suite.takes(i, f.0, &sizes)) {
            let name = suite.name(i, *id);
            let got = output(kernel, &sizes, &args).map_err(|t| format!("{}, {name} at {sizes:?}: {t}", i.label))?;
            zeros(i, name, &sizes, &got)?;
            counts.runs += 1;
            counts.elements += got.len() as u64;
        }
    }
    Ok(counts)
}

/// The nest, then the schedules.
pub fn functions(i: &Instance) -> impl Iterator<Item = FunId> + '_ {
    std::iter::once(i.nest).chain(i.schedules.iter().copied())
}

/// Sizes with no terms in the sum; none under an epilogue, where something else than the sum is stored.
pub fn without_terms(suite: &Suite, i: &Instance) -> Vec<Vec<i64>> {
    let fun = suite.fun(i, i.nest);
    let summed: Vec<usize> =
        (0..fun.sizes.len()).filter(|n| matches!(fun.vars[fun.sizes[*n].index()].name.as_str(), "K" | "L")).collect();
    assert!(!summed.is_empty(), "{}: a sum", i.label);
    let some = |sizes: &Vec<i64>| summed.iter().any(|n| sizes[*n] == 0);
    if i.epilogue { vec![] } else { every(&[0, 1, 3, 17], fun.sizes.len()).into_iter().filter(some).collect() }
}

/// Whether all words are the semiring's zero, bit for bit.
pub fn zeros(i: &Instance, name: &str, sizes: &[i64], got: &[u64]) -> Result<(), String> {
    match got.iter().position(|w| *w != i.zero) {
        None => Ok(()),
        Some(at) => {
            Err(format!("{}, {name} at {sizes:?}: element {at} is {:#x} and not {:#x}", i.label, got[at], i.zero))
        }
    }
}
