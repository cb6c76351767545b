//! What does a function leave in its outputs: interpreted, and as machine code?
//!
//! Inputs are hostile; outputs are poisoned before a run, and every element has to be written by it.

use crate::judge;
use cachet_core::instance::instantiate;
use cachet_core::interpret::{Array, Options, Prepared, TrapKind, prepare, scalar};
use cachet_core::ir::{Binding, Elem, Fun, FunId, Program, Ty};
use cachet_oracle::hostile::{Kind, poison};
use cachet_runtime::{AlignedBuffer, BufferArg, Kernel, Llvm};

/// A run that takes more steps is none of ours.
const MOST_STEPS: u64 = 4_000_000;

/// A function at an implementation, ready to be interpreted.
pub struct Ready {
    /// The function, bound.
    pub fun: Fun,
    code: Prepared,
}

/// What a run leaves: the words of each output.
pub type Words = Vec<Vec<u64>>;

/// Why a run leaves nothing.
pub enum Stopped {
    /// The function's requirements do not hold at these sizes.
    NotFor,
    /// It did what no program may.
    Trapped(String),
}

/// Prepares a function at an implementation.
pub fn ready(program: &Program, id: FunId, types: &[Binding]) -> Result<Ready, String> {
    let fun = instantiate(program, &program.funs[id.index()], types);
    let code = prepare(program, id, types).map_err(|t| t.text)?;
    Ok(Ready { fun, code })
}

/// The places of a function's outputs among its parameters.
pub fn outputs(fun: &Fun) -> Vec<usize> {
    (0..fun.params.len()).filter(|n| fun.produces.contains(&fun.params[*n])).collect()
}

/// Arrays for a function: hostile inputs, poisoned outputs.
pub fn start(fun: &Fun, sizes: &[i64], kind: Kind, seed: u64) -> Vec<Array> {
    judge::fresh(fun, sizes, kind, seed, &outputs(fun))
}

/// Arrays for a function that has parameters of its own after another's: scratch, in which nothing is written.
pub fn with_scratch(fun: &Fun, sizes: &[i64], start: &[Array]) -> Vec<Array> {
    let own = fun.params.iter().zip(judge::extents(fun, sizes)).skip(start.len());
    let own = own.map(|(p, extents)| {
        let elem = &fun.buffers[p.index()].elem;
        let mut array = Array::new(elem, &extents).unwrap();
        array.poison(poison(judge::leaves(elem)[0]));
        array
    });
    start.iter().cloned().chain(own).collect()
}

/// How many bytes a parameter takes in memory, with what its layout fills up.
pub fn room(fun: &Fun, n: usize, array: &Array) -> usize {
    let (_, size, cells) = layout(array);
    let info = &fun.buffers[fun.params[n].index()];
    let room = cachet_core::layout::room(&info.layout, array.extents()).unwrap_or_default();
    size * cells.max(room as usize)
}

impl Ready {
    /// What it leaves, its grids' iterations in some order.
    pub fn interpreted(&self, sizes: &[i64], start: &[Array], shuffle: Option<u64>) -> Result<Words, Stopped> {
        let mut arrays = start.to_vec();
        let options = Options { shuffle, max_steps: MOST_STEPS, ..Options::default() };
        self.code.run(sizes, &mut arrays, &options).map_err(|t| match t.kind {
            TrapKind::RequirementViolated => Stopped::NotFor,
            _ => Stopped::Trapped(t.text),
        })?;
        let outputs = outputs(&self.fun);
        if let Some(n) = outputs.iter().find(|n| arrays[**n].written().contains(&false)) {
            let name = &self.fun.buffers[self.fun.params[*n].index()].name;
            return Err(Stopped::Trapped(format!("`{name}` is not wholly written")));
        }
        Ok(outputs.iter().map(|n| arrays[*n].bits().to_vec()).collect())
    }

    /// Where two runs differ.
    pub fn difference(&self, want: &Words, got: &Words) -> Option<String> {
        for (n, (want, got)) in outputs(&self.fun).into_iter().zip(want.iter().zip(got)) {
            let info = &self.fun.buffers[self.fun.params[n].index()];
            let elems = judge::leaves(&info.elem);
            if want.len() != got.len() {
                return Some(format!("`{}` has {} words instead of {}", info.name, got.len(), want.len()));
            }
            let mut words = want.iter().zip(got).zip(elems.iter().cycle());
            if let Some(at) = words.position(|((x, y), e)| !scalar::same(*e, *x, *y)) {
                let (x, y) = (want[at], got[at]);
                return Some(format!("word {at} of `{}` is {y:#x} instead of {x:#x}", info.name));
            }
        }
        None
    }

    /// What its machine code leaves.
    pub fn native(&self, kernel: &Kernel, sizes: &[i64], start: &[Array]) -> Result<Words, String> {
        let outputs = outputs(&self.fun);
        let mut memory = Vec::new();
        for (n, array) in start.iter().enumerate() {
            let mut m = AlignedBuffer::new(room(&self.fun, n, array)).map_err(|e| e.to_string())?;
            fill(array, m.bytes_mut());
            memory.push(m);
        }
        let mut args: Vec<BufferArg<'_>> = Vec::new();
        for (n, m) in memory.iter_mut().enumerate() {
            let written = outputs.contains(&n) || self.fun.scratch.contains(&self.fun.params[n]);
            args.push(if written { BufferArg::Write(m.bytes_mut()) } else { BufferArg::Read(m.bytes()) });
        }
        kernel.call(sizes, &mut args).map_err(|e| e.to_string())?;
        drop(args);
        Ok(outputs.iter().map(|n| words(&start[*n], memory[*n].bytes())).collect())
    }
}

/// libLLVM, or why there is no machine code.
pub fn llvm() -> Result<Llvm, String> {
    Llvm::load().map_err(|e| format!("llvm is missing: {e}"))
}

/// Where the elements of a type lie, as C lays them out: (element, byte) in order, size and alignment.
fn lay_out(ty: &Ty) -> (Vec<(Elem, usize)>, usize, usize) {
    match ty {
        Ty::Elem(e) => (vec![(*e, 0)], e.bytes() as usize, e.bytes() as usize),
        Ty::Tuple(parts) => {
            let (mut leaves, mut size, mut align) = (Vec::new(), 0usize, 1usize);
            for (inner, bytes, needed) in parts.iter().map(lay_out) {
                size = size.next_multiple_of(needed);
                leaves.extend(inner.into_iter().map(|(e, at)| (e, size + at)));
                size += bytes;
                align = align.max(needed);
            }
            (leaves, size.next_multiple_of(align), align)
        }
        Ty::Abstract(_) => panic!("generic functions are bound before they run"),
    }
}

fn layout(array: &Array) -> (Vec<(Elem, usize)>, usize, usize) {
    let (leaves, size, _) = lay_out(array.elem().unwrap());
    let cells = array.bits().len() / leaves.len();
    (leaves, size, cells)
}

/// How many bytes an array takes in memory.
pub fn bytes(array: &Array) -> usize {
    let (_, size, cells) = layout(array);
    cells * size
}

/// An array as it lies in memory; what was not written is poisoned.
pub fn fill(array: &Array, out: &mut [u8]) {
    let (leaves, size, _) = layout(array);
    for (cell, words) in array.bits().chunks(leaves.len()).enumerate() {
        for ((e, at), word) in leaves.iter().zip(words) {
            let word = if array.written()[cell] { *word } else { poison(*e) };
            let (start, width) = (cell * size + at, e.bytes() as usize);
            out[start..start + width].copy_from_slice(&word.to_le_bytes()[..width]);
        }
    }
    // What a layout fills up has no words of its own.
    let cells = array.bits().len() / leaves.len();
    for rest in out[cells * size..].chunks_exact_mut(size.max(1)) {
        for (e, at) in &leaves {
            let width = e.bytes() as usize;
            rest[*at..at + width].copy_from_slice(&poison(*e).to_le_bytes()[..width]);
        }
    }
}

/// The words of an array like another one, from its memory.
pub fn words(like: &Array, bytes: &[u8]) -> Vec<u64> {
    let (leaves, size, cells) = layout(like);
    let mut out = Vec::new();
    for cell in 0..cells {
        for (e, at) in &leaves {
            let mut word = [0; 8];
            let (start, width) = (cell * size + at, e.bytes() as usize);
            word[..width].copy_from_slice(&bytes[start..start + width]);
            out.push(u64::from_le_bytes(word));
        }
    }
    out
}

/// Every choice of a number of sizes from some, or a sample of so many, the same in every run.
pub fn choices(from: &[i64], count: usize, most: usize, random: &mut crate::random::Random) -> Vec<Vec<i64>> {
    let total = from.len().pow(count as u32);
    let digit = |n: usize, axis: usize| from[n / from.len().pow(axis as u32) % from.len()];
    let of = |n: usize| (0..count).map(|axis| digit(n, axis)).collect();
    if total <= most {
        return (0..total).map(of).collect();
    }
    (0..most).map(|_| of(random.below(total))).collect()
}
