//! How do the core's types look in LLVM, as values and in memory?
//!
//! A value of any type is a list of *leaves*, scalars in order of a walk over the nested tuples. In SSA form a `bool` is
//! an `i1` and a 16-bit float its bits (`i16`): such floats are only stored and converted. In memory a `bool` is a byte.

use cachet_core::ir::{Elem, Ty};

/// A word as SSA values.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// Its type; no part is abstract.
    pub(crate) ty: Ty,
    /// A name or constant for each leaf.
    pub(crate) leaves: Vec<String>,
}

impl Value {
    /// A single element.
    pub(crate) fn scalar(elem: Elem, name: String) -> Value {
        Value { ty: Ty::Elem(elem), leaves: vec![name] }
    }

    /// The name of a single element.
    pub(crate) fn only(&self) -> &str {
        self.leaves.first().map_or("poison", String::as_str)
    }
}

/// The elements of a type, in order.
pub(crate) fn leaves(ty: &Ty) -> Vec<Elem> {
    let mut out = Vec::new();
    push_leaves(ty, &mut out);
    out
}

fn push_leaves(ty: &Ty, out: &mut Vec<Elem>) {
    match ty {
        Ty::Elem(e) => out.push(*e),
        Ty::Tuple(parts) => parts.iter().for_each(|t| push_leaves(t, out)),
        Ty::Abstract(_) => {}
    }
}

/// For each leaf, the path of struct fields to it.
pub(crate) fn paths(ty: &Ty) -> Vec<Vec<usize>> {
    let mut out = Vec::new();
    push_paths(ty, &mut Vec::new(), &mut out);
    out
}

fn push_paths(ty: &Ty, at: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) {
    match ty {
        Ty::Elem(_) => out.push(at.clone()),
        Ty::Tuple(parts) => {
            for (i, t) in parts.iter().enumerate() {
                at.push(i);
                push_paths(t, at, out);
                at.pop();
            }
        }
        Ty::Abstract(_) => {}
    }
}

/// Whether a type parameter is left in it.
pub(crate) fn is_abstract(ty: &Ty) -> bool {
    match ty {
        Ty::Elem(_) => false,
        Ty::Abstract(_) => true,
        Ty::Tuple(parts) => parts.iter().any(is_abstract),
    }
}

/// The type of an SSA value.
pub(crate) fn register(elem: Elem) -> &'static str {
    match elem {
        Elem::F64 => "double",
        Elem::F32 => "float",
        Elem::F16 | Elem::BF16 | Elem::I16 | Elem::U16 => "i16",
        Elem::I64 | Elem::U64 => "i64",
        Elem::I32 | Elem::U32 => "i32",
        Elem::I8 | Elem::U8 => "i8",
        Elem::Bool => "i1",
    }
}

/// The type of an element in memory.
pub(crate) fn memory(elem: Elem) -> &'static str {
    if elem == Elem::Bool { "i8" } else { register(elem) }
}

/// A type in memory.
pub(crate) fn in_memory(ty: &Ty) -> String {
    match ty {
        Ty::Elem(e) => memory(*e).into(),
        Ty::Tuple(parts) => {
            format!("{{ {} }}", parts.iter().map(in_memory).collect::<Vec<_>>().join(", ")).replace("{  }", "{}")
        }
        Ty::Abstract(_) => "opaque".into(),
    }
}

/// Size and alignment in memory, in bytes: what C says of the struct.
pub(crate) fn size_align(ty: &Ty) -> (u64, u64) {
    match ty {
        Ty::Elem(e) => (e.bytes(), e.bytes()),
        Ty::Tuple(parts) => {
            let (mut size, mut align) = (0u64, 1u64);
            for (s, a) in parts.iter().map(size_align) {
                size = size.next_multiple_of(a) + s;
                align = align.max(a);
            }
            (size.next_multiple_of(align), align)
        }
        Ty::Abstract(_) => (0, 1),
    }
}

/// The width of an element's bits.
pub(crate) fn bits(elem: Elem) -> u64 {
    if elem == Elem::Bool { 1 } else { elem.bytes() * 8 }
}

/// Whether an integer element has a sign.
pub(crate) fn is_signed(elem: Elem) -> bool {
    match elem {
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 => true,
        Elem::F64 | Elem::F32 | Elem::F16 | Elem::BF16 => true,
        Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 | Elem::Bool => false,
    }
}

/// The bits of the one NaN that is seen.
pub(crate) fn canonical_nan(elem: Elem) -> u64 {
    match elem {
        Elem::F64 => 0x7FF8_0000_0000_0000,
        Elem::F32 => 0x7FC0_0000,
        Elem::F16 => 0x7E00,
        Elem::BF16 => 0x7FC0,
        Elem::I64 | Elem::I32 | Elem::I16 | Elem::I8 | Elem::U64 | Elem::U32 | Elem::U16 | Elem::U8 | Elem::Bool => 0,
    }
}

/// A constant by its bits.
///
/// LLVM writes a `float` as the bits of the `double` with the same value; of a NaN, with the payload at the top.
pub(crate) fn constant(elem: Elem, bits: u64) -> String {
    match elem {
        Elem::F64 => format!("0x{bits:016X}"),
        Elem::F32 => {
            let x = f32::from_bits(bits as u32);
            if x.is_nan() {
                let (sign, payload) = (bits >> 31 & 1, bits & 0x7F_FFFF);
                return format!("0x{:016X}", sign << 63 | 0x7FF0_0000_0000_0000 | payload << 29);
            }
            format!("0x{:016X}", f64::from(x).to_bits())
        }
        Elem::Bool => (bits & 1 != 0).to_string(),
        Elem::I64 | Elem::U64 => (bits as i64).to_string(),
        Elem::I32 | Elem::U32 => (bits as u32 as i32).to_string(),
        Elem::I16 | Elem::U16 | Elem::F16 | Elem::BF16 => (bits as u16 as i16).to_string(),
        Elem::I8 | Elem::U8 => (bits as u8 as i8).to_string(),
    }
}
