//! Core functions as textual LLVM IR (19 or later, opaque pointers).
//!
//! The program has been checked: accesses are in bounds, outputs are written, what is lent does not overlap, and index
//! arithmetic stays within 64 bits. The text says so to LLVM where it helps (`inbounds`, `nsw`, `noalias`), and claims
//! nothing else: no fast-math flag, no contraction, floats as bit patterns. Only text leaves; nothing is compiled here.
//!
//! What the text means at its borders:
//! - `void NAME(i64 size, .., ptr buffer, ..)`, and `void NAME__packed(ptr sizes, ptr buffers)` for uniform calls;
//! - a function with a grid, or that calls one, has a last parameter `ptr pool`, which `NAME__packed` reads from behind the
//!   buffers' addresses: null, or `struct { void* state; void (*run)(void* state, void (*body)(void* env, int64_t first,
//!   int64_t last), void* env, int64_t count); }`. `run` calls `body` so that each of the numbers `0 .. count` is in exactly
//!   one range, from any threads, in any order, at once or not; it returns when all of them are done, and does not unwind;
//! - a program has `i32 main()` and `i32 cachet_main(ptr pool)`;
//! - a buffer is row-major; an element is its LLVM type (`bool` a byte that is 0 or 1), a tuple a struct laid out as C
//!   would;
//! - of the C library it needs `aligned_alloc`, `free`, `fflush`, `perror` and `exit` where memory is allocated, and
//!   `printf`, `snprintf`, `strtod`, `strchr`, `atoi` and `fflush` where something is printed;
//! - where there is no memory, it writes why to standard error and ends the process with status 2.
//!
//! The program has passed `cachet_core::validate`; what is valid and has no native code is refused.

#![allow(clippy::result_large_err, reason = "a refusal ends the emission: its size does not matter")]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]

mod chains;
mod convert;
mod copies;
mod digits;
mod door;
mod emitter;
mod function;
mod grid;
mod index;
mod instr;
mod known;
mod lanes;
mod memory;
mod module;
mod reduce;
mod stmt;
mod support;
mod tile;
mod turn;
mod types;
mod view;
mod weave;
mod word;

use cachet_core::ir::{Binding, FunId, Program};
use cachet_source::Diagnostic;
pub use chains::{Chains, chains};
pub use door::{Access, Array, Door, ErrorKind, ErrorText, MOST_AXES, Processor, SCRATCH_ALIGN, type_code};
pub use instr::template;

/// What the text is for. None of it changes a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// LLVM's name of the processor; empty for the target's baseline.
    pub cpu: String,
    /// Comma-separated, each with `+` or `-`; may be empty.
    pub features: String,
    /// Width of the vectors that LLVM should prefer, in bits; 0 leaves it to LLVM.
    pub vector_bits: u32,
}

/// A function that may be called from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its symbol; `__packed` appended is the symbol of the uniform entry.
    pub name: String,
    /// Number of `i64` sizes.
    pub sizes: usize,
    /// Number of buffers.
    pub buffers: usize,
    /// Whether its last parameter is a pool.
    pub pool: bool,
}

/// A module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// LLVM IR.
    pub ir: String,
    /// What was asked for, in that order.
    pub entries: Vec<Entry>,
}

/// A function that programs in C may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Which.
    pub fun: FunId,
    /// At which implementations.
    pub types: Vec<Binding>,
    /// The symbol of its plain entry: a name of C.
    pub symbol: String,
    /// Whether rows of its arrays may lie apart: then callers say how far.
    pub strided: bool,
}

/// A module that programs in C may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// LLVM IR.
    pub ir: String,
    /// What was asked for, in that order.
    pub doors: Vec<Door>,
}

/// What may become code: a program whose functions the checker has accepted. Whoever makes one says so.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(&'a Program);

impl<'a> From<&'a Program> for Input<'a> {
    fn from(program: &'a Program) -> Input<'a> {
        Input(program)
    }
}

/// Functions at implementations, with everything they call.
pub fn emit<'a>(
    program: impl Into<Input<'a>>,
    funs: &[(FunId, Vec<Binding>)],
    options: &Options,
) -> Result<Text, Diagnostic> {
    module::emit(program.into().0, funs, options)
}

/// A program: C's `i32 @main()`, which runs a function without parameters and returns 0, or 1 where its output could
/// not be written, and `i32 @cachet_main(ptr pool)`, which does so on a pool.
pub fn emit_main<'a>(program: impl Into<Input<'a>>, main: FunId, options: &Options) -> Result<Text, Diagnostic> {
    module::emit_main(program.into().0, main, options)
}

/// A library: each function with an entry that believes its caller and one that checks, see [`Door`]. Nothing else can be
/// seen from outside, there is no global state, and nothing of the C library is needed; functions of which
/// [`leans_on`] says something are not for it.
pub fn emit_library<'a>(
    program: impl Into<Input<'a>>,
    exports: &[Export],
    processor: Processor,
    options: &Options,
) -> Result<Library, Diagnostic> {
    module::emit_library(program.into().0, exports, processor, options)
}

/// What a function, or one that it calls, does for which it needs the C library: `allocates memory`, `prints`.
pub fn leans_on<'a>(
    program: impl Into<Input<'a>>,
    fun: (FunId, &[Binding]),
    options: &Options,
) -> Result<Option<&'static str>, Diagnostic> {
    module::leans_on(program.into().0, fun, options)
}
