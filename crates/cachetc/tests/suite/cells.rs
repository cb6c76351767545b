//! The cells of arrays: elements, or records of them, in the interpreter and in memory.
//!
//! Two NaN count as equal, whatever their payloads; everything else is compared as bits.

use cachet_core::interpret::{Array, Value, scalar};
use cachet_core::ir::{self, Binding, Elem, Program, Ty};
use cachet_core::layout as memory;
use cachet_oracle::hostile::{Kind, fill, poison};
use cachet_runtime::AlignedBuffer;

/// Where the elements of one cell lie, as C lays them out.
struct Layout {
    /// Element and byte, in order.
    leaves: Vec<(Elem, usize)>,
    size: usize,
    align: usize,
}

fn layout(ty: &Ty) -> Layout {
    match ty {
        Ty::Elem(e) => {
            let size = e.bytes() as usize;
            Layout { leaves: vec![(*e, 0)], size, align: size }
        }
        Ty::Tuple(parts) => {
            let mut out = Layout { leaves: Vec::new(), size: 0, align: 1 };
            for part in parts.iter().map(layout) {
                let start = out.size.next_multiple_of(part.align);
                out.leaves.extend(part.leaves.into_iter().map(|(e, at)| (e, start + at)));
                out.size = start + part.size;
                out.align = out.align.max(part.align);
            }
            out.size = out.size.next_multiple_of(out.align);
            out
        }
        Ty::Abstract(_) => panic!("a type parameter is bound before a function is run"),
    }
}

/// A type with implementations in the place of its parameters.
pub fn bound(program: &Program, types: &[Binding], ty: &Ty) -> Ty {
    cachet_core::instance::bind_ty(program, types, ty)
}

/// An array that nothing has written yet. A read of it stops the interpreter; its words are marked all the same.
pub fn unwritten(ty: &Ty, extents: &[i64]) -> Array {
    let mut array = Array::new(ty, extents).expect("it fits");
    if let Ty::Elem(e) = ty {
        array.poison(poison(*e));
    }
    array
}

/// An array with contents; each field of a record has its own.
pub fn filled(ty: &Ty, extents: &[i64], seed: u64, kind: Kind) -> Array {
    let cells = extents.iter().product::<i64>() as usize;
    if let Ty::Elem(e) = ty {
        return Array::from_bits(*e, extents, fill(*e, seed, kind, cells)).expect("as many words as cells");
    }
    let leaves = layout(ty).leaves;
    let own = |(n, (e, _)): (u64, &(Elem, usize))| fill(*e, seed ^ (n << 32), kind, cells);
    let fields: Vec<Vec<u64>> = (0..).zip(&leaves).map(own).collect();
    let mut array = Array::new(ty, extents).expect("it fits");
    for cell in 0..cells {
        let mut words = fields.iter().map(|f| f[cell]);
        assert!(array.set(&indices(cell, extents), &value(ty, &mut words)), "the cell is there");
    }
    array
}

fn value(ty: &Ty, words: &mut dyn Iterator<Item = u64>) -> Value {
    match ty {
        Ty::Tuple(parts) => Value::Tuple(parts.iter().map(|p| value(p, words)).collect()),
        Ty::Elem(_) | Ty::Abstract(_) => Value::Bits(words.next().expect("a word for each field")),
    }
}

/// The words of a value, in the order of its fields.
pub fn words(value: &Value) -> Vec<u64> {
    match value {
        Value::Bits(b) => vec![*b],
        Value::Tuple(parts) => parts.iter().flat_map(words).collect(),
    }
}

/// Row-major indices of a cell.
pub fn indices(mut cell: usize, extents: &[i64]) -> Vec<i64> {
    let mut out = Vec::new();
    for n in extents.iter().rev() {
        out.push((cell % *n as usize) as i64);
        cell /= *n as usize;
    }
    out.reverse();
    out
}

/// How many words a cell of the array has.
pub fn width(array: &Array) -> usize {
    layout(array.elem().expect("an array has a type")).leaves.len()
}

/// The first word that differs, if any, of as many cells of a type: its place, and what is there instead of what.
pub fn difference(ty: Option<&Ty>, want: &[u64], got: &[u64]) -> Option<String> {
    let leaves = layout(ty.expect("an array has a type")).leaves;
    if want.len() != got.len() {
        return Some(format!("{} words instead of {}", got.len(), want.len()));
    }
    let pairs = want.iter().zip(got).zip(leaves.iter().cycle());
    let at = pairs.into_iter().position(|((a, b), (e, _))| !scalar::same(*e, *a, *b))?;
    let field = if leaves.len() == 1 { String::new() } else { format!(", field {}", at % leaves.len()) };
    Some(format!("element {}{field} is {:#x} instead of {:#x}", at / leaves.len(), got[at], want[at]))
}

/// The array as machine code has it in a layout; what was not written is poisoned.
pub fn laid_out(array: &Array, lies: &ir::Layout) -> AlignedBuffer {
    let Layout { leaves, size, .. } = layout(array.elem().expect("an array has a type"));
    let room = memory::room(lies, array.extents()).expect("it fits") as usize;
    let mut out = AlignedBuffer::new(room * size).expect("memory");
    for cell in out.bytes_mut().chunks_exact_mut(size) {
        for (e, at) in &leaves {
            let width = e.bytes() as usize;
            cell[*at..at + width].copy_from_slice(&poison(*e).to_le_bytes()[..width]);
        }
    }
    let cells = array.bits().chunks_exact(leaves.len()).zip(array.written());
    for (n, (words, _)) in cells.enumerate().filter(|(_, (_, written))| **written) {
        let start = memory::place(lies, array.extents(), &indices(n, array.extents())) as usize * size;
        for ((e, at), word) in leaves.iter().zip(words) {
            let width = e.bytes() as usize;
            let place = start + at;
            out.bytes_mut()[place..place + width].copy_from_slice(&word.to_le_bytes()[..width]);
        }
    }
    out
}

/// What lies in memory, as [`Array::bits`] has it.
pub fn read(array: &Array, lies: &ir::Layout, bytes: &[u8]) -> Vec<u64> {
    let Layout { leaves, size, .. } = layout(array.elem().expect("an array has a type"));
    let word = |start: usize, (e, at): &(Elem, usize)| {
        let mut word = [0; 8];
        let width = e.bytes() as usize;
        word[..width].copy_from_slice(&bytes[start + at..start + at + width]);
        u64::from_le_bytes(word)
    };
    let starts = (0..array.written().len())
        .map(|n| memory::place(lies, array.extents(), &indices(n, array.extents())) as usize * size);
    starts.flat_map(|start| leaves.iter().map(move |l| word(start, l))).collect()
}
