//! Functions as the interpreter runs them: ids became slots, words got types, generics are bound.
//!
//! A frame has integer slots (four per variable: value or `lo`, then `hi`, `len`, `idx` of a block), word slots (one per
//! element of every local, and temporaries), and views (one per buffer).

use crate::ir::{At, Elem, Layout, Prim, Rel, Shape, Ty};

/// A function and everything that it reaches.
pub(super) struct Unit {
    pub(super) codes: Vec<Code>,
    pub(super) pures: Vec<PureCode>,
    pub(super) entry: usize,
}

/// A function at bindings of its type parameters.
pub(super) struct Code {
    pub(super) name: String,
    pub(super) sizes: Vec<(u32, String)>,
    pub(super) params: Vec<Param>,
    pub(super) requires: Vec<(Cond, String)>,
    pub(super) body: Vec<Step>,
    pub(super) ints: usize,
    pub(super) words: usize,
    pub(super) buffers: Vec<BufferCode>,
    /// How deep its statements and terms nest, which bounds the native stack that it takes.
    pub(super) depth: usize,
    pub(super) span: At,
}

/// A parameter.
pub(super) struct Param {
    pub(super) buffer: u32,
    pub(super) mode: Mode,
}

/// What a callee does with an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Reads,
    Mut,
    Produces,
    Scratch,
}

/// A buffer of a function.
pub(super) struct BufferCode {
    pub(super) name: String,
    pub(super) elem: Ty,
    pub(super) extents: Vec<Index>,
    pub(super) layout: Layout,
    pub(super) span: At,
}

/// A pure function.
#[derive(Default)]
pub(super) struct PureCode {
    /// First slot and width of each parameter.
    pub(super) params: Vec<(u32, u32)>,
    pub(super) words: usize,
    pub(super) body: Option<Word>,
    pub(super) width: u32,
    pub(super) depth: usize,
}

/// An index.
pub(super) enum Index {
    Const(i64),
    Slot(u32),
    Offset(u32, i64),
    /// Sum of slots times factors, and a constant.
    Linear(Box<[(u32, i64)]>, i64),
    Add(Box<(Index, Index)>),
    Sub(Box<(Index, Index)>),
    Mul(i64, Box<Index>),
    Div(Box<Index>, i64),
    Mod(Box<Index>, i64),
    Min(Box<(Index, Index)>),
    Max(Box<(Index, Index)>),
    If(Box<(Cond, Index, Index)>),
}

/// A guard.
pub(super) enum Cond {
    Const(bool),
    Cmp(Rel, Box<(Index, Index)>),
    And(Box<(Cond, Cond)>),
    Or(Box<(Cond, Cond)>),
    Not(Box<Cond>),
}

/// What a loop runs over.
pub(super) struct Range {
    /// The first of the variable's four slots.
    pub(super) slot: u32,
    pub(super) lo: Index,
    pub(super) hi: Index,
    /// The size of blocks; 0 for a plain loop.
    pub(super) block: i64,
}

/// A cell of a buffer.
pub(super) struct Cell {
    pub(super) buffer: u32,
    pub(super) at: Vec<Index>,
    /// As written.
    pub(super) text: String,
    pub(super) span: At,
}

/// A cell of a local array.
pub(super) struct LocalCell {
    pub(super) slot: u32,
    pub(super) width: u32,
    pub(super) dims: Vec<i64>,
    pub(super) at: Vec<Index>,
    pub(super) name: String,
}

/// A word. Its width, the number of its elements, is known from where it stands.
pub(super) enum Word {
    Lit(u64),
    Index(Index, Elem),
    Load(Box<Cell>),
    /// First slot and width.
    Local(u32, u32),
    LocalCell(Box<LocalCell>),
    /// `fma` of `f32` on an arithmetic with subnormals: the most frequent operation has a short way.
    Fma32(Box<[Word; 3]>),
    /// An operation on elements.
    Prim(Box<PrimCode>),
    /// `select` of words wider than an element.
    Select(Box<SelectCode>),
    Apply(Box<ApplyCode>),
    /// Parts with their widths.
    Tuple(Vec<(Word, u32)>),
    Part(Box<PartCode>),
    /// The local's slot and width, its word, and the word that uses it.
    Let(u32, u32, Box<(Word, Word)>),
    If(Box<(Cond, Word, Word)>),
    Fold(Box<FoldCode>),
    Reduce(Box<ReduceCode>),
    Differing(u32, u32, Vec<Elem>),
}

/// An operation on elements.
pub(super) struct PrimCode {
    pub(super) prim: Prim,
    pub(super) elem: Elem,
    pub(super) flush: bool,
    pub(super) args: Vec<Word>,
}

/// A choice by data; both sides are evaluated.
pub(super) struct SelectCode {
    pub(super) cond: Word,
    pub(super) sides: (Word, Word),
    pub(super) temp: u32,
    pub(super) width: u32,
}

/// A pure function's value.
pub(super) struct ApplyCode {
    pub(super) pure: u32,
    /// Arguments with the slots they are gathered in.
    pub(super) args: Vec<(Word, u32)>,
}

/// A part of a word.
pub(super) struct PartCode {
    pub(super) of: Word,
    pub(super) temp: u32,
    pub(super) first: u32,
    pub(super) width: u32,
}

/// A running total.
pub(super) struct FoldCode {
    pub(super) range: Range,
    pub(super) acc: u32,
    pub(super) temp: u32,
    pub(super) width: u32,
    pub(super) init: Word,
    pub(super) body: Word,
}

/// A reduction.
pub(super) struct ReduceCode {
    pub(super) range: Range,
    pub(super) shape: Shape,
    pub(super) operands: (u32, u32),
    pub(super) temp: u32,
    pub(super) width: u32,
    pub(super) element: Word,
    pub(super) combine: Word,
    pub(super) empty: Word,
    pub(super) span: At,
}

/// A statement.
pub(super) struct Step {
    pub(super) kind: StepKind,
    pub(super) span: At,
}

/// What a statement does.
pub(super) enum StepKind {
    For(Range, Vec<Step>),
    Grid(Box<GridCode>),
    If(Cond, Vec<Step>, Vec<Step>),
    /// Slot and width of a single local, for `let`, `var` and `:=`; the temporary where the word may read the local.
    Set {
        slot: u32,
        width: u32,
        temp: Option<u32>,
        word: Word,
    },
    /// Slot, width and number of cells of a local array.
    Fill {
        slot: u32,
        width: u32,
        temp: u32,
        cells: usize,
        word: Word,
    },
    SetCell {
        to: LocalCell,
        temp: u32,
        word: Word,
    },
    Store {
        to: Cell,
        width: u32,
        temp: u32,
        word: Word,
    },
    Alloc(u32),
    Lease {
        lease: u32,
        of: u32,
    },
    Call(Box<CallCode>),
    Print(Word, Elem),
}

/// A grid.
pub(super) struct GridCode {
    pub(super) axes: Vec<Range>,
    pub(super) windows: Vec<WindowCode>,
    pub(super) body: Vec<Step>,
}

/// A box of a buffer.
pub(super) struct WindowCode {
    pub(super) buffer: u32,
    /// Start and length per axis.
    pub(super) axes: Vec<(Index, Index)>,
    pub(super) text: String,
}

/// A call.
pub(super) struct CallCode {
    pub(super) code: usize,
    pub(super) sizes: Vec<Index>,
    pub(super) args: Vec<ViewCode>,
}

/// A buffer lent.
pub(super) struct ViewCode {
    pub(super) buffer: u32,
    pub(super) axes: Option<Vec<(Index, Index)>>,
    pub(super) text: String,
    pub(super) span: At,
}
