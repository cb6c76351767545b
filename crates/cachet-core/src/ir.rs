//! The loop IR, as data.
//!
//! ```text
//! ix     ::= n | x | ix + ix | ix - ix | n * ix | ix / n | ix % n | min | max | if g then ix else ix
//!          | b.lo | b.hi | b.len | b.idx | b[ix]                      b is the variable of a loop over blocks
//! guard  ::= ix (= | != | < | <=) ix | g && g | g || g | !g | true | false
//! domain ::= ix .. ix | blocks (ix .. ix) n                           n is a literal > 0
//! word   ::= literal | index as T | load B[ix, ..] | x | x[ix, ..] | op word.. | f word.. | (word, ..) | word.n
//!          | let x = word in word | if g then word else word | fold | reduce | differing B B
//! stmt   ::= for | grid | if | let | var | x := word | store B[ix, ..] = word | alloc | lease | call | print
//! ```
//!
//! Division is floor division, `0 <= ix % n < n`, and divisors and factors are literals, so every condition about
//! indices is linear. Names are ids into dense tables of the enclosing [`Fun`]; a table only ever grows, so that a
//! program before a step and the program after it share their ids. Every binder has an id of its own: nothing is
//! shadowed.

pub use crate::instr::Instr;
use crate::law::{Law, StatedLaw};
pub use crate::record::{Parts, RecordInfo};
use crate::resources::Resources;
use cachet_source::Span;
use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);
        impl $name {
            /// The position in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A size, a loop variable, or the variable of a loop over blocks: an entry of [`Fun::vars`].
    Var
    /// A `let`, a `var`, an accumulator or a parameter of a pure function: an entry of [`Fun::locals`] or [`Pure::locals`].
    Local
    /// A parameter, an allocation or a lease: an entry of [`Fun::buffers`].
    Buffer
    /// A function of [`Program::funs`].
    FunId
    /// A pure function of [`Program::pures`].
    PureId
    /// An implementation of [`Program::impls`].
    ImplId
    /// A record of [`Program::records`].
    Record
    /// An instruction of [`Program::instrs`].
    InstrId
    /// A type parameter of the enclosing function: an entry of [`Fun::type_params`].
    TypeParam
    /// A device of [`Program::devices`]; 0 is the host.
    Device
}

impl Device {
    /// The processor that runs `main`.
    pub const HOST: Device = Device(0);
}

/// A place in the source. It never takes part in comparisons: two terms are equal if they mean the same.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct At(pub Span);

impl PartialEq for At {
    fn eq(&self, _: &At) -> bool {
        true
    }
}
impl Eq for At {}
impl std::hash::Hash for At {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

// ---------------------------------------------------------------- indices

/// An index: a mathematical integer.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Ix {
    /// A literal.
    Lit(i64),
    /// A size or a loop variable. The variable of a loop over blocks may not stand alone.
    Var(Var),
    /// Sum.
    Add(Box<Ix>, Box<Ix>),
    /// Difference.
    Sub(Box<Ix>, Box<Ix>),
    /// Product with a literal.
    Mul(i64, Box<Ix>),
    /// Floor division by a literal > 0.
    Div(Box<Ix>, i64),
    /// Remainder by a literal > 0; never negative.
    Mod(Box<Ix>, i64),
    /// The smaller.
    Min(Box<Ix>, Box<Ix>),
    /// The larger.
    Max(Box<Ix>, Box<Ix>),
    /// Choice by a guard.
    If(Box<Guard>, Box<Ix>, Box<Ix>),
    /// `b.lo`, `b.hi`, `b.len`, `b.idx` of a block variable.
    Block(Var, BlockPart),
    /// `b[e]`, which is `b.lo + e`.
    InBlock(Var, Box<Ix>),
}

/// The parts of a block: of `blocks (lo .. hi) n`, number `idx` has `lo + n * idx`, at most `n` long.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum BlockPart {
    /// First index.
    Lo,
    /// One past the last index.
    Hi,
    /// How many: at least 1, at most the block size.
    Len,
    /// Which block, from 0.
    Idx,
}

/// A condition on indices.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Guard {
    /// Always, or never.
    Const(bool),
    /// A comparison.
    Cmp(Rel, Ix, Ix),
    /// Both.
    And(Box<Guard>, Box<Guard>),
    /// Either.
    Or(Box<Guard>, Box<Guard>),
    /// Not.
    Not(Box<Guard>),
}

/// A comparison of indices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Rel {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
}

/// What a loop runs over, ascending.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Domain {
    /// `lo .. hi`; empty where `hi <= lo`.
    Range {
        /// First.
        lo: Ix,
        /// One past the last.
        hi: Ix,
    },
    /// `blocks (lo .. hi) size`: consecutive pieces, the last perhaps shorter.
    Blocks {
        /// First.
        lo: Ix,
        /// One past the last.
        hi: Ix,
        /// Literal size of a block, > 0.
        size: i64,
    },
}

// ---------------------------------------------------------------- types

/// A machine's element type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Elem {
    F64,
    F32,
    F16,
    BF16,
    I64,
    I32,
    I16,
    I8,
    U64,
    U32,
    U16,
    U8,
    Bool,
}

impl Elem {
    /// Size in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Elem::F64 | Elem::I64 | Elem::U64 => 8,
            Elem::F32 | Elem::I32 | Elem::U32 => 4,
            Elem::F16 | Elem::BF16 | Elem::I16 | Elem::U16 => 2,
            Elem::I8 | Elem::U8 | Elem::Bool => 1,
        }
    }

    /// Whether it is an integer type; `bool` is none.
    pub fn is_integer(self) -> bool {
        !self.is_float() && self != Elem::Bool
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Elem::F64 | Elem::F32 | Elem::F16 | Elem::BF16)
    }
}

/// The type of a word. A record is a tuple of its fields.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Ty {
    /// A machine's element.
    Elem(Elem),
    /// `S.Value` of a type parameter: nothing is known about it.
    Abstract(TypeParam),
    /// Several words.
    Tuple(Parts),
}

// ---------------------------------------------------------------- words

/// A literal, as bits of its type (in the low bits of the word).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Lit {
    /// Its type.
    pub elem: Elem,
    /// Its bits.
    pub bits: u64,
}

/// One cell of a buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Access {
    /// The buffer.
    pub buffer: Buffer,
    /// One index per axis.
    pub at: Vec<Ix>,
    /// Where it is written.
    pub span: At,
}

/// Data.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Word {
    /// A literal.
    Lit(Lit),
    /// An index turned into a word: `(i * 7 % 17) as f32`. Exact for integers where it fits, else rounded to nearest even.
    Index(Ix, Elem),
    /// The word in a cell.
    Load(Access),
    /// A local; an array's cell has one index per axis.
    Local(Local, Vec<Ix>),
    /// An operation under an arithmetic.
    Op {
        /// Which.
        op: Op,
        /// Whose arithmetic.
        arith: Device,
        /// Its operands, in order.
        args: Vec<Word>,
    },
    /// A pure function's value.
    Apply(PureId, Vec<Word>),
    /// Several words as one.
    Tuple(Vec<Word>),
    /// One of several, from 0.
    Part(Box<Word>, u32),
    /// `let x = a in b`.
    Let(Local, Box<Word>, Box<Word>),
    /// Choice by a guard.
    If(Box<Guard>, Box<Word>, Box<Word>),
    /// A running total, ascending.
    Fold(Box<Fold>),
    /// A reduction with a declared shape.
    Reduce(Box<Reduce>),
    /// How many elements of two buffers of one shape have different bits (NaN equals NaN), as `i64`. Host code only.
    Differing(Buffer, Buffer),
}

/// `fold var in domain from init as acc do body`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Fold {
    /// The summed index.
    pub var: Var,
    /// Its range.
    pub domain: Domain,
    /// The running total, in scope in `body`; it may be a tuple.
    pub acc: Local,
    /// What it starts from; the value where the domain is empty.
    pub init: Word,
    /// The next total.
    pub body: Word,
    /// Whether the contraction permits regrouping (`[reassoc]`).
    pub regroup: bool,
    /// Where it is written.
    pub span: At,
}

/// `reduce` of `element` over a domain, combined in a declared shape.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Reduce {
    /// The reduced index.
    pub var: Var,
    /// Its range.
    pub domain: Domain,
    /// One term.
    pub element: Word,
    /// The two operands of `combine`.
    pub operands: (Local, Local),
    /// What joins two.
    pub combine: Word,
    /// The value of an empty reduction, and the start of [`Shape::Order`].
    pub empty: Word,
    /// The order in which terms are joined.
    pub shape: Shape,
    /// Where it is written.
    pub span: At,
}

/// The order of a reduction, which is part of its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Shape {
    /// Left to right from the empty value.
    Order,
    /// Pairs `i` with `i + n / 2`, then `n / 4`, ..; the length is a power of two (or 0).
    Halving,
    /// So many interleaved chains from the empty value, combined by halving.
    Lanes(u32),
}

/// An operation on words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Op {
    /// An element type's own.
    Prim(Prim),
    /// An operation of a type parameter's interface, by its position in [`Interface::methods`].
    Method(TypeParam, u32),
}

/// The operations of element types. Operands have the same type unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Prim {
    /// Sum, rounded once. Of integers the low bits; that nothing is lost is proved where it is written.
    Add,
    /// Difference, likewise.
    Sub,
    /// Product, likewise.
    Mul,
    /// Quotient; of integers rounded down, by a divisor that is proved to be positive where it is written. By 0 it is 0.
    Div,
    /// What is left by the quotient of integers.
    Rem,
    /// Sum of integers modulo 2^n.
    WrappingAdd,
    /// Difference of integers modulo 2^n.
    WrappingSub,
    /// Product of integers modulo 2^n.
    WrappingMul,
    /// `a * b + c` with one rounding.
    Fma,
    /// IEEE 754-2019 `maximum`: a NaN wins, `+0 > -0`.
    Max,
    /// IEEE 754-2019 `minimum`.
    Min,
    /// Sign flipped; of a NaN the canonical NaN.
    Neg,
    /// Sign cleared; of a NaN the canonical NaN.
    Abs,
    /// Square root, correctly rounded.
    Sqrt,
    /// `a == b` as `bool`; false for NaN.
    Eq,
    /// `a < b` as `bool`; false for NaN.
    Lt,
    /// `a <= b` as `bool`; false for NaN.
    Le,
    /// Both.
    And,
    /// Either.
    Or,
    /// Not.
    Not,
    /// `select c a b`: `a` where the `bool` `c` holds; both are evaluated.
    Select,
    /// Conversion to another element type. Float to narrower float and integer to float: to nearest even. Float to
    /// integer: towards zero, saturating, NaN to 0. Integer to integer: the low bits; that it fits is proved where it is
    /// written.
    Cast(Elem),
    /// Integer to integer, the low bits.
    WrappingCast(Elem),
    /// Integer to integer, the nearest that there is.
    SaturatingCast(Elem),
    /// The float of the same width with these bits.
    FromBits(Elem),
    /// The bits; of a NaN the canonical NaN's.
    ToBits,
}

// ---------------------------------------------------------------- statements

/// Statements in order. A `let`, `var`, `alloc` or `lease` is in scope to the end of its block.
pub type Block = Vec<Stmt>;

/// A statement and where it comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it is written: in a schedule's program, the contraction's equation or the step's `to`.
    pub span: At,
}

/// What a statement does.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum StmtKind {
    /// Runs its body for each index, ascending.
    For {
        /// The loop variable.
        var: Var,
        /// Its range.
        domain: Domain,
        /// The body.
        body: Block,
    },
    /// Runs its body for each tuple of indices, in any order or at once.
    Grid(Box<Grid>),
    /// Runs one of two blocks.
    If {
        /// Which.
        guard: Guard,
        /// Where it holds.
        then: Block,
        /// Where it does not.
        els: Block,
    },
    /// Names a word.
    Let {
        /// The name.
        local: Local,
        /// Its word.
        word: Word,
    },
    /// Declares a local that may be assigned; every cell starts as `init`.
    Var {
        /// The name.
        local: Local,
        /// Its first word.
        init: Word,
    },
    /// Gives a `var`, or one cell of it, a new word.
    Assign {
        /// The name.
        local: Local,
        /// The cell.
        at: Vec<Ix>,
        /// The word.
        word: Word,
    },
    /// Writes a cell.
    Store {
        /// The cell.
        to: Access,
        /// The word.
        word: Word,
    },
    /// Makes an uninitialised buffer.
    Alloc(Buffer),
    /// Names a buffer's stay in a level; meanwhile the buffer's own name may not be used.
    Lease {
        /// The new name.
        lease: Buffer,
        /// The buffer.
        of: Buffer,
        /// Whether it may be written and is exclusive.
        mutable: bool,
    },
    /// Runs a function.
    Call(Box<Call>),
    /// Writes one word on a line of its own. Host code only.
    Print(Word),
}

/// `grid on D i in .., j in .. writes .. do`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Grid {
    /// Whose threads.
    pub device: Device,
    /// Which level of the device's hierarchy of threads, outermost 0. A grid of level 1 stands in one of level 0, and
    /// a sequence of such grids has a barrier between each two.
    pub level: u32,
    /// Indices and their ranges.
    pub axes: Vec<(Var, Domain)>,
    /// What one iteration may write.
    pub writes: Vec<Window>,
    /// The body.
    pub body: Block,
}

/// A box of a buffer: per axis a start and a length.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Window {
    /// The buffer.
    pub buffer: Buffer,
    /// Start and length per axis.
    pub axes: Vec<(Ix, Ix)>,
}

/// `f @(S = ..) x y`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Call {
    /// The function.
    pub fun: FunId,
    /// What its type parameters are bound to, in order.
    pub types: Vec<Binding>,
    /// Its sizes in the caller's terms, in order; found from the arguments, and proved to agree with all of them.
    pub sizes: Vec<Ix>,
    /// What is lent, per parameter.
    pub args: Vec<View>,
}

/// A buffer lent, whole or a box of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct View {
    /// The buffer.
    pub buffer: Buffer,
    /// Start and length per axis; `None` lends all of it.
    pub axes: Option<Vec<(Ix, Ix)>>,
    /// Where it is written.
    pub span: At,
}

/// What a type parameter is bound to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Binding {
    /// An implementation.
    Impl(ImplId),
    /// A type parameter of the caller.
    Param(TypeParam),
}

// ---------------------------------------------------------------- functions

/// A size or loop variable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VarInfo {
    /// The user's name. Two variables of disjoint scopes may share it.
    pub name: String,
    /// What it is.
    pub kind: VarKind,
}

/// What a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum VarKind {
    /// A size parameter: at least 0 and at most 2^40.
    Size,
    /// The variable of a plain loop, grid or fold.
    Index,
    /// The variable of a loop over blocks.
    Block,
    /// The variable of a vector statement: the lanes of so many that are active, from 0. See [`crate::vectors`].
    Lane(i64),
    /// Likewise, of one that an instruction is meant for. See [`crate::instr`].
    Instr(i64, InstrId),
}

/// A local.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LocalInfo {
    /// The user's name.
    pub name: String,
    /// The type of one cell.
    pub ty: Ty,
    /// Extents of an array of cells; empty for a single one.
    pub dims: Vec<i64>,
    /// Whether the last extent counts the lanes of vectors. A vector that may not be assigned is declared and filled by
    /// two statements, one right after the other.
    #[serde(default)]
    pub vector: bool,
    /// Whether it may be assigned.
    pub mutable: bool,
}

/// A buffer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BufferInfo {
    /// The user's name.
    pub name: String,
    /// The type of an element.
    pub elem: Ty,
    /// Extents, outermost axis first.
    pub extents: Vec<Ix>,
    /// Where an element lies.
    pub layout: Layout,
    /// Distances between neighbours along each axis.
    pub strides: Strides,
    /// The memory level it is kept in.
    pub level: Level,
    /// Where it comes from.
    pub role: Role,
    /// Where it is declared.
    pub span: At,
}

/// Where a buffer comes from and what may be done with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Role {
    /// `reads`: initialised, never written; may overlap other `reads`.
    Reads,
    /// `mut`: apart from everything else lent at once. With `produces` or `scratch` its contents on entry are unknown.
    Mut,
    /// Made by `alloc`.
    Alloc,
    /// Another name for a buffer, made by `lease`.
    Lease(Buffer),
}

/// How tuples become offsets. Built from operations that are injective.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Layout {
    /// The last axis is contiguous.
    RowMajor,
    /// A layout of the language: its name with arguments, and its operations in order.
    Named {
        /// As written: `PanelMajor 4`.
        name: String,
        /// What it does.
        ops: Vec<LayoutOp>,
    },
}

/// An operation of a layout on a list of axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum LayoutOp {
    /// Replaces an axis by (axis / by, axis % by), the second perhaps from the end, rounding its extent up where `pad`.
    Split {
        /// Which axis.
        axis: u32,
        /// Literal > 0.
        by: i64,
        /// Whether a ragged extent is allowed and padded.
        pad: bool,
        /// Whether the places of a group are counted from its end.
        back: bool,
    },
    /// The axes' new order, outermost first: a permutation.
    Order(Vec<u32>),
}

/// Distances between neighbours, in elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Strides {
    /// What the layout says.
    Contiguous,
    /// One size parameter per axis, outermost first.
    Given(Vec<Var>),
}

/// A memory level of a device.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Level {
    /// `DRAM`, `L2`, ..
    pub name: String,
    /// Whose.
    pub device: Device,
}

/// A type parameter, `S : Semiring`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TypeParamInfo {
    /// Its name.
    pub name: String,
    /// Its interface, an index into [`Program::interfaces`].
    pub interface: u32,
}

/// A function over buffers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fun {
    /// Its name; an instance's is `matmul_PlusTimes_f32`.
    pub name: String,
    /// Type parameters.
    pub type_params: Vec<TypeParamInfo>,
    /// Implementations that its sums are made of: those that its type parameters were bound to, and the monoids of its
    /// reductions. They say by which names their operations and laws go, and change no result.
    #[serde(default)]
    pub algebras: Vec<ImplId>,
    /// Size parameters, in order of first occurrence.
    pub sizes: Vec<Var>,
    /// Parameters, in order.
    pub params: Vec<Buffer>,
    /// What a caller must prove of the sizes.
    pub requires: Vec<Guard>,
    /// Parameters whose every element is written.
    pub produces: Vec<Buffer>,
    /// Parameters whose contents are nobody's on entry and on exit.
    pub scratch: Vec<Buffer>,
    /// What it keeps near and moves, at most.
    #[serde(default)]
    pub resources: Resources,
    /// The body.
    pub body: Block,
    /// Sizes and loop variables.
    pub vars: Vec<VarInfo>,
    /// Locals.
    pub locals: Vec<LocalInfo>,
    /// Buffers.
    pub buffers: Vec<BufferInfo>,
    /// Where it is written.
    pub span: At,
}

/// A pure function of words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pure {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<Local>,
    /// Its value's type.
    pub result: Ty,
    /// Its value.
    pub body: Word,
    /// Parameters and `let`s.
    pub locals: Vec<LocalInfo>,
}

/// An interface: a type `Value` and operations on it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Operations: name and number of operands, all of type `Value`, with a result of type `Value`.
    pub methods: Vec<(String, u32)>,
    /// What every implementation has to state of them.
    pub laws: Vec<Law>,
}

/// An implementation of an interface.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Impl {
    /// As written: `PlusTimes f32`.
    pub name: String,
    /// An index into [`Program::interfaces`].
    pub interface: u32,
    /// What `Value` is.
    pub value: Ty,
    /// The operations, in the interface's order.
    pub methods: Vec<PureId>,
    /// What it states of them; whether they hold is for the checker to say.
    pub laws: Vec<StatedLaw>,
}

/// A device: the host, or one that a platform file describes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// Whether its arithmetic flushes subnormals.
    pub flush_subnormals: bool,
}

/// Everything that one root file defines or imports, with calls by id.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Devices; the first is the host.
    pub devices: Vec<DeviceInfo>,
    /// Records, for printing.
    pub records: Vec<RecordInfo>,
    /// Interfaces.
    pub interfaces: Vec<Interface>,
    /// Implementations.
    pub impls: Vec<Impl>,
    /// Pure functions.
    pub pures: Vec<Pure>,
    /// Instructions.
    #[serde(default)]
    pub instrs: Vec<Instr>,
    /// Functions.
    pub funs: Vec<Fun>,
}

impl Default for Program {
    fn default() -> Program {
        let host = DeviceInfo { name: "host".into(), flush_subnormals: false };
        Program {
            devices: vec![host],
            records: vec![],
            interfaces: vec![],
            impls: vec![],
            pures: vec![],
            instrs: vec![],
            funs: vec![],
        }
    }
}

/// The largest dimension.
pub const MAX_DIM: i64 = 1 << 40;
/// One more than the largest array, in bytes.
pub const MAX_BYTES: i128 = 1 << 47;
/// How deep statements and terms may nest.
pub const MAX_DEPTH: usize = 128;
