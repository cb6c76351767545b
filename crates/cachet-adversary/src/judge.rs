//! Two functions run side by side in the interpreter, on the same words.

use crate::random::Random;
use cachet_core::interpret::{Array, Options, TrapKind, Value, prepare, scalar};
use cachet_core::ir::{Elem, Fun, FunId, Program, Role, Ty};
use cachet_core::sized::value;
use cachet_oracle::hostile::{KINDS, Kind, fill, poison};

/// Sizes at which two programs are compared: nothing, one, and both sides of one, two and three blocks of 2, 3 and 4.
pub const SIZES: [i64; 11] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12];
/// How many choices of sizes a comparison takes.
const CHOICES: usize = 12;
/// A run that takes more steps is none of ours.
const MOST_STEPS: u64 = 1_000_000;

/// What two runs were seen to do.
pub enum Seen {
    /// They leave the same bits.
    Same,
    /// What differs, or what the second one does that no program may.
    Other(String),
    /// The second one's requirements do not hold at these sizes.
    Nothing,
}

/// The elements that a word consists of.
pub fn leaves(ty: &Ty) -> Vec<Elem> {
    match ty {
        Ty::Elem(e) => vec![*e],
        Ty::Tuple(parts) => parts.iter().flat_map(leaves).collect(),
        Ty::Abstract(_) => panic!("generic functions are bound before they run"),
    }
}

/// The extents of a function's parameters at some sizes.
pub fn extents(fun: &Fun, sizes: &[i64]) -> Vec<Vec<i64>> {
    let size = |v| fun.sizes.iter().position(|s| *s == v).map(|n| sizes[n]);
    let param = |p: &cachet_core::ir::Buffer| {
        let extents = fun.buffers[p.index()].extents.iter();
        extents.map(|e| value(e, &size).unwrap()).collect()
    };
    fun.params.iter().map(param).collect()
}

/// The same, where they are numbers at all.
pub fn extents_if_any(fun: &Fun, sizes: &[i64]) -> Option<Vec<Vec<i64>>> {
    let size = |v| fun.sizes.iter().position(|s| *s == v).map(|n| sizes[n]);
    let all = fun.params.iter().map(|p| fun.buffers[p.index()].extents.iter().map(|e| value(e, &size)).collect());
    all.collect()
}

/// Arrays for a function's parameters, all of them filled.
pub fn filled(fun: &Fun, sizes: &[i64], kind: Kind, seed: u64) -> Vec<Array> {
    let all = fun.params.iter().zip(extents(fun, sizes)).enumerate();
    all.map(|(n, (p, extents))| array(&fun.buffers[p.index()].elem, &extents, kind, seed.wrapping_add(n as u64)))
        .collect()
}

/// The same, but what a function only writes has not been written, and is poisoned.
pub fn fresh(fun: &Fun, sizes: &[i64], kind: Kind, seed: u64, outputs: &[usize]) -> Vec<Array> {
    let mut all = filled(fun, sizes, kind, seed);
    for n in outputs {
        let info = &fun.buffers[fun.params[*n].index()];
        assert!(info.role == Role::Mut, "{} is an input", info.name);
        let mut array = Array::new(&info.elem, all[*n].extents()).unwrap();
        array.poison(poison(leaves(&info.elem)[0]));
        all[*n] = array;
    }
    all
}

/// An array of any type, filled.
pub fn array(ty: &Ty, extents: &[i64], kind: Kind, seed: u64) -> Array {
    let count = extents.iter().product::<i64>() as usize;
    if let Ty::Elem(e) = ty {
        return Array::from_bits(*e, extents, fill(*e, seed, kind, count)).unwrap();
    }
    let elems = leaves(ty);
    let columns: Vec<Vec<u64>> =
        elems.iter().enumerate().map(|(n, e)| fill(*e, seed.rotate_left(n as u32), kind, count)).collect();
    let mut array = Array::new(ty, extents).unwrap();
    for cell in 0..count {
        let mut words = columns.iter().map(|c| c[cell]);
        assert!(array.set(&place(cell, extents), &word(ty, &mut words)));
    }
    array
}

/// Where the `n`th cell in row-major order is.
fn place(mut n: usize, extents: &[i64]) -> Vec<i64> {
    let mut at: Vec<i64> = extents
        .iter()
        .rev()
        .map(|e| {
            let here = n as i64 % e;
            n /= *e as usize;
            here
        })
        .collect();
    at.reverse();
    at
}

fn word(ty: &Ty, words: &mut impl Iterator<Item = u64>) -> Value {
    match ty {
        Ty::Elem(_) => Value::Bits(words.next().unwrap()),
        Ty::Tuple(parts) => Value::Tuple(parts.iter().map(|t| word(t, words)).collect()),
        Ty::Abstract(_) => panic!("generic functions are bound before they run"),
    }
}

/// The first word in which two arrays differ; two NaN are the same word.
pub fn difference(a: &Array, b: &Array) -> Option<usize> {
    let elems = leaves(a.elem().unwrap());
    assert_eq!(a.bits().len(), b.bits().len(), "arrays of the same shape");
    let mut words = a.bits().iter().zip(b.bits()).zip(elems.iter().cycle());
    words.position(|((x, y), e)| !scalar::same(*e, *x, *y))
}

/// Runs a function and the one that stands in its place on the same words, the second with its grids' iterations in some
/// order.
pub fn compare(program: &Program, id: FunId, before: &Fun, after: &Fun, at: &[i64], random: &mut Random) -> Seen {
    let kind = if random.once_in(3) { random.pick(&KINDS) } else { Kind::Ordinary };
    let start = filled(before, at, kind, random.next());
    let mut results = Vec::new();
    for (fun, shuffle) in [(before, None), (after, Some(random.next()))] {
        let mut program = program.clone();
        program.funs[id.index()] = fun.clone();
        let mut arrays = start.clone();
        let options = Options { shuffle, max_steps: MOST_STEPS, ..Options::default() };
        match prepare(&program, id, &[]).and_then(|p| p.run(at, &mut arrays, &options)) {
            Ok(()) => results.push(arrays),
            Err(t) if t.kind == TrapKind::RequirementViolated => return Seen::Nothing,
            Err(t) if shuffle.is_some() => return Seen::Other(t.text),
            Err(t) => panic!("{} at {at:?}: {}", before.name, t.text),
        }
    }
    let pairs = results[0].iter().zip(&results[1]).enumerate();
    let mut different = pairs.filter_map(|(n, (x, y))| difference(x, y).map(|word| (n, word)));
    match different.next() {
        Some((n, word)) => {
            let name = &before.buffers[before.params[n].index()].name;
            Seen::Other(format!("`{name}` differs in word {word}"))
        }
        None => Seen::Same,
    }
}

/// The first difference, and how many runs there were, at sizes drawn from [`SIZES`].
pub fn differs(program: &Program, id: FunId, before: &Fun, after: &Fun, random: &mut Random) -> (Option<String>, u64) {
    let mut runs = 0;
    for _ in 0..CHOICES {
        let at: Vec<i64> = before.sizes.iter().map(|_| random.pick(&SIZES)).collect();
        match compare(program, id, before, after, &at, random) {
            Seen::Same => runs += 1,
            Seen::Nothing => {}
            Seen::Other(what) => return (Some(format!("{what} at {at:?}")), runs),
        }
    }
    (None, runs)
}
