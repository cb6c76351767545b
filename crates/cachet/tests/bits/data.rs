//! Sizes, inputs, and what counts as the same word.

use crate::families::{Instance, Suite};
use cachet_core::interpret::Array;
use cachet_core::ir::{Elem, Ix, Role};
use cachet_oracle::hostile::{KINDS, Kind, fill, poison};

/// What native kernels are run at: nothing, the sides of vector widths, and sizes of several blocks.
pub const ALL: [i64; 11] = [0, 1, 2, 3, 5, 15, 16, 17, 40, 64, 100];
/// Those of them that hostile inputs and the interpreter are run at.
pub const SMALL: [i64; 8] = [0, 1, 2, 3, 5, 15, 16, 17];

/// Every choice of `count` sizes from a list.
pub fn every(list: &[i64], count: usize) -> Vec<Vec<i64>> {
    let total = list.len().pow(count as u32);
    let digit = |n: usize, axis: usize| list[n / list.len().pow(axis as u32) % list.len()];
    (0..total).map(|n| (0..count).map(|axis| digit(n, axis)).collect()).collect()
}

/// Every choice of up to three sizes. Of four sizes there are too many: every choice of those up to five, and one in
/// `stride` of the others; a stride prime to the list's length keeps every size of every dimension.
pub fn choices(list: &[i64], count: usize, stride: usize) -> Vec<Vec<i64>> {
    let all = every(list, count);
    if count < 4 {
        return all;
    }
    let kept: Vec<Vec<i64>> = all
        .into_iter()
        .enumerate()
        .filter(|(n, sizes)| n % stride == 0 || sizes.iter().all(|s| *s <= 5))
        .map(|(_, sizes)| sizes)
        .collect();
    for axis in 0..count {
        assert!(list.iter().all(|s| kept.iter().any(|k| k[axis] == *s)), "every size of dimension {axis}");
    }
    kept
}

/// One in `stride` of the choices of sizes up to 17, prime to their number so that each comes up in every dimension.
pub fn sampled(count: usize, stride: usize) -> Vec<Vec<i64>> {
    let list: Vec<i64> = (0..=17).collect();
    let kept: Vec<Vec<i64>> = every(&list, count).into_iter().step_by(stride).collect();
    for axis in 0..count {
        assert!(list.iter().all(|s| kept.iter().any(|k| k[axis] == *s)), "every size of dimension {axis}");
    }
    kept
}

/// The inputs of a run at a size: always ordinary ones, and at small sizes every hostile kind too.
pub fn kinds(sizes: &[i64]) -> &'static [Kind] {
    if sizes.iter().all(|s| *s <= 17) { &KINDS } else { &[Kind::Ordinary] }
}

/// A hostile kind where the sum of the sizes is odd, ordinary inputs where it is even.
pub fn by_parity(sizes: &[i64]) -> Kind {
    let sum: i64 = sizes.iter().sum();
    if sum % 2 == 0 { Kind::Ordinary } else { KINDS[(sum as usize / 2) % KINDS.len()] }
}

/// A parameter's contents.
pub struct Param {
    /// Axis lengths.
    pub extents: Vec<i64>,
    /// Words; `None` for an output.
    pub words: Option<Vec<u64>>,
}

impl Param {
    /// How many elements.
    pub fn count(&self) -> usize {
        self.extents.iter().product::<i64>() as usize
    }
}

/// The parameters of an instance at some sizes.
pub fn params(suite: &Suite, i: &Instance, sizes: &[i64], kind: Kind) -> Vec<Param> {
    let fun = suite.fun(i, i.nest);
    let size = |ix: &Ix| match ix {
        Ix::Var(v) => sizes[fun.sizes.iter().position(|s| s == v).expect("a size")],
        other => panic!("the suite's extents are sizes, and this is {other:?}"),
    };
    let seed = sizes.iter().fold(7, |seed: u64, s| seed.wrapping_mul(131).wrapping_add(*s as u64));
    let param = |(n, p): (usize, &cachet_core::ir::Buffer)| {
        let info = &fun.buffers[p.index()];
        let mut out = Param { extents: info.extents.iter().map(size).collect(), words: None };
        if matches!(info.role, Role::Reads) {
            out.words = Some(fill(i.elem, seed.wrapping_add(n as u64 * 7919), kind, out.count()));
        }
        out
    };
    fun.params.iter().enumerate().map(param).collect()
}

/// The parameters as the interpreter takes them, outputs unwritten and poisoned.
pub fn arrays(elem: Elem, params: &[Param]) -> Vec<Array> {
    let array = |p: &Param| match &p.words {
        Some(words) => Array::from_bits(elem, &p.extents, words.clone()).expect("as many words as elements"),
        None => {
            let mut a = Array::new(&cachet_core::ir::Ty::Elem(elem), &p.extents).expect("it fits");
            a.poison(poison(elem));
            a
        }
    };
    params.iter().map(array).collect()
}

/// Whether two words are the same: equal bits, or both NaN.
pub fn same(elem: Elem, a: u64, b: u64) -> bool {
    let nan = |x: u64| match elem {
        Elem::F64 => f64::from_bits(x).is_nan(),
        _ => f32::from_bits(x as u32).is_nan(),
    };
    a == b || (nan(a) && nan(b))
}

/// The first word that differs, as text.
pub fn difference(elem: Elem, want: &[u64], got: &[u64]) -> Option<String> {
    if want.len() != got.len() {
        return Some(format!("{} elements instead of {}", got.len(), want.len()));
    }
    let at = want.iter().zip(got).position(|(a, b)| !same(elem, *a, *b))?;
    Some(format!("element {at} is {:#x} instead of {:#x}", got[at], want[at]))
}
