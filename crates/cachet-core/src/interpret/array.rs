//! Arrays as the interpreter keeps them: cells in row-major order of their logical indices, whatever the layout.

use crate::ir::{Elem, Ty};

/// A word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// An element, as bits in the low bits.
    Bits(u64),
    /// Several words.
    Tuple(Box<[Value]>),
}

impl Value {
    /// The bits of an element.
    pub fn bits(&self) -> Option<u64> {
        match self {
            Value::Bits(b) => Some(*b),
            Value::Tuple(_) => None,
        }
    }
}

/// An array and which of its cells have been written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Array {
    pub(super) elems: Vec<Elem>,
    pub(super) shape: Option<Ty>,
    pub(super) extents: Vec<i64>,
    /// One run of `elems.len()` per cell.
    pub(super) cells: Vec<u64>,
    /// One per cell.
    pub(super) written: Vec<bool>,
}

impl Array {
    /// An array whose cells have not been written. `None` for a type parameter's elements, a negative extent, or more
    /// cells than fit.
    pub fn new(elem: &Ty, extents: &[i64]) -> Option<Array> {
        let elems = flatten(elem)?;
        let cells = cell_count(extents)?;
        let words = cells.checked_mul(elems.len())?;
        Some(Array {
            elems,
            shape: Some(elem.clone()),
            extents: extents.to_vec(),
            cells: vec![0; words],
            written: vec![false; cells],
        })
    }

    /// An array of elements, all written, in row-major order. `None` where the number of elements is another.
    pub fn from_bits(elem: Elem, extents: &[i64], bits: Vec<u64>) -> Option<Array> {
        let cells = cell_count(extents)?;
        (cells == bits.len()).then(|| Array {
            elems: vec![elem],
            shape: Some(Ty::Elem(elem)),
            extents: extents.to_vec(),
            cells: bits,
            written: vec![true; cells],
        })
    }

    /// An array of `f32`s.
    pub fn from_f32(extents: &[i64], values: &[f32]) -> Option<Array> {
        Array::from_bits(Elem::F32, extents, values.iter().map(|x| u64::from(x.to_bits())).collect())
    }

    /// The extents.
    pub fn extents(&self) -> &[i64] {
        &self.extents
    }

    /// The type of a cell.
    pub fn elem(&self) -> Option<&Ty> {
        self.shape.as_ref()
    }

    /// All bits in row-major order, the parts of a tuple one after another.
    pub fn bits(&self) -> &[u64] {
        &self.cells
    }

    /// Which cells have been written, in row-major order.
    pub fn written(&self) -> &[bool] {
        &self.written
    }

    /// A cell that has been written.
    pub fn get(&self, at: &[i64]) -> Option<Value> {
        let cell = self.position(at)?;
        if !self.written[cell] {
            return None;
        }
        let width = self.elems.len();
        let mut leaves = self.cells[cell * width..(cell + 1) * width].iter();
        Some(value_of(self.shape.as_ref()?, &mut leaves))
    }

    /// Writes a cell; false where there is no such cell or the word has another shape.
    pub fn set(&mut self, at: &[i64], value: &Value) -> bool {
        let mut leaves = Vec::with_capacity(self.elems.len());
        leaves_of(value, &mut leaves);
        match self.position(at) {
            Some(cell) if leaves.len() == self.elems.len() => {
                let width = leaves.len();
                self.cells[cell * width..(cell + 1) * width].copy_from_slice(&leaves);
                self.written[cell] = true;
                true
            }
            _ => false,
        }
    }

    /// Forgets all cells and fills them with other bits, so that a read of them would show.
    pub fn poison(&mut self, bits: u64) {
        self.cells.fill(bits);
        self.written.fill(false);
    }

    fn position(&self, at: &[i64]) -> Option<usize> {
        if at.len() != self.extents.len() {
            return None;
        }
        let mut cell = 0usize;
        for (i, n) in at.iter().zip(&self.extents) {
            if i < &0 || i >= n {
                return None;
            }
            cell = cell * *n as usize + *i as usize;
        }
        Some(cell)
    }
}

/// How many cells, where no extent is negative and the number is in reach of memory.
pub(super) fn cell_count(extents: &[i64]) -> Option<usize> {
    if extents.contains(&0) {
        return extents.iter().all(|n| *n >= 0).then_some(0);
    }
    let mut cells = 1usize;
    for n in extents {
        cells = cells.checked_mul(usize::try_from(*n).ok()?)?;
    }
    (cells <= 1 << 40).then_some(cells)
}

/// The elements that a word of this type consists of, in order.
pub(super) fn flatten(ty: &Ty) -> Option<Vec<Elem>> {
    match ty {
        Ty::Elem(e) => Some(vec![*e]),
        Ty::Abstract(_) => None,
        Ty::Tuple(parts) => {
            let mut out = Vec::new();
            for p in parts.iter() {
                out.extend(flatten(p)?);
            }
            Some(out)
        }
    }
}

/// The word that the next bits are.
pub(super) fn value_of<'a>(ty: &Ty, leaves: &mut impl Iterator<Item = &'a u64>) -> Value {
    match ty {
        Ty::Elem(_) | Ty::Abstract(_) => Value::Bits(leaves.next().copied().unwrap_or(0)),
        Ty::Tuple(parts) => Value::Tuple(parts.iter().map(|p| value_of(p, leaves)).collect()),
    }
}

/// A word's bits in order.
fn leaves_of(value: &Value, out: &mut Vec<u64>) {
    match value {
        Value::Bits(b) => out.push(*b),
        Value::Tuple(parts) => parts.iter().for_each(|p| leaves_of(p, out)),
    }
}
