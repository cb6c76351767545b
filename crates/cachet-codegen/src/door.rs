//! How does a program in C call a function, and what is checked when it does?
//!
//! A function of a library has these symbols, and nothing else of it can be seen:
//!
//! ```text
//! void    NAME(int64_t size, .., void* array, int64_t stride, .., void* scratch, pool*)
//! int32_t NAME_checked(int64_t size, .., const array*, .., void* scratch, size_t bytes, pool*)
//! char*   NAME_error(int32_t code)
//! size_t  NAME_scratch_bytes(int64_t size, ..)
//! ```
//!
//! `NAME` believes its caller. `NAME_checked` is told of each array what it is ([`DESCRIPTION`]), tests everything that
//! `NAME` takes for granted and can be tested ([`ErrorKind`]), and calls it. What a function needs as working space is one
//! piece of memory of the caller, which is cut here into the arrays that the function has as scratch parameters. The last
//! parameters are left out where a function has no use for them. Strides are there where it was asked for ([`Array::strides`]):
//! one for each axis but the last, along which elements are neighbours.
//!
//! Sizes are whatever a caller writes, so index arithmetic here is exact or says that it is not (`door/exact.rs`).

mod checks;
mod exact;

use crate::emitter::Emitter;
use crate::function::{self, Outcome};
use crate::support::Support;
use crate::types::{is_abstract, size_align};
use cachet_core::ir::{Buffer, Fun, Ix, Program, Role, Strides, Ty, Var};
use cachet_core::layout;
use cachet_core::print::Names;
use cachet_source::{Diagnostic, codes};
use exact::Exact;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The processor families whose doors are built: each says in its own way how it rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// x86-64, with MXCSR.
    X86_64,
    /// AArch64, with FPCR.
    Aarch64,
}

/// A function as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Door {
    /// The symbol of the plain entry; the others' follow from it.
    pub symbol: String,
    /// Names of the sizes, in order.
    pub sizes: Vec<String>,
    /// What stands for them in extents.
    pub size_vars: Vec<Var>,
    /// The arrays, in order.
    pub arrays: Vec<Array>,
    /// The arrays that the working space is cut into, in order; empty where none is needed.
    pub scratch: Vec<Array>,
    /// Whether the last parameter is a pool.
    pub pool: bool,
    /// What the sizes must satisfy, as it is written.
    pub requires: Vec<String>,
    /// What the checked entry may return besides 0.
    pub errors: Vec<ErrorText>,
}

/// A parameter that is an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// What an element is.
    pub elem: Ty,
    /// Size and alignment of an element, in bytes.
    pub size_align: (u64, u64),
    /// What is done with it.
    pub access: Access,
    /// Its extents in sizes, as they are written.
    pub extents: Vec<String>,
    /// The same for tools.
    pub extent_ixs: Vec<Ix>,
    /// Extents that are nothing but a size: which.
    pub extent_sizes: Vec<Option<usize>>,
    /// The name of its layout; `None` where the last axis is contiguous.
    pub layout: Option<String>,
    /// Its axes in memory, outermost first, in sizes.
    pub physical: Vec<String>,
    /// The same for tools.
    pub physical_ixs: Vec<Ix>,
    /// How many strides follow its address: 0 where it is contiguous.
    pub strides: usize,
}

/// The parameters, by their number, that can have strides: those with rows one after another that a caller provides.
pub(crate) fn may_be_strided(fun: &Fun) -> Vec<usize> {
    let rows = |b: &Buffer| {
        let info = &fun.buffers[b.index()];
        info.extents.len() > 1 && layout::ops(&info.layout).is_empty() && !fun.scratch.contains(b)
    };
    fun.params.iter().enumerate().filter(|(_, b)| rows(b)).map(|(n, _)| n).collect()
}

/// What is done with an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is read.
    Read,
    /// All of it is written, and what was there is not read.
    Write,
    /// It is read and written.
    Update,
    /// It is working space.
    Scratch,
}

/// What a code stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorText {
    /// The kind's number in the low eight bits; above them, which check it was.
    pub code: i32,
    /// The kind.
    pub kind: ErrorKind,
    /// One sentence in the names of the function.
    pub text: String,
}

/// What can be wrong with a call, in the order in which it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ErrorKind {
    /// A size, or an extent that is made of sizes, is negative or too large.
    Size = 1,
    /// A requirement of the function does not hold.
    Requirement = 2,
    /// An array was not described.
    Missing = 3,
    /// Elements are of another type.
    Type = 4,
    /// An array has another number of axes.
    Rank = 5,
    /// An array has other extents.
    Shape = 6,
    /// An array's elements do not lie as they should.
    Strides = 7,
    /// An address is null, or runs past the end of memory.
    Address = 8,
    /// An address is not aligned.
    Alignment = 9,
    /// What is written overlaps something else.
    Overlap = 10,
    /// There is too little working space.
    Scratch = 11,
    /// A pool without a function.
    Pool = 12,
    /// The thread rounds in another way, or flushes subnormals.
    FloatMode = 13,
}

impl ErrorKind {
    /// All of them.
    pub const ALL: [ErrorKind; 13] = [
        ErrorKind::Size,
        ErrorKind::Requirement,
        ErrorKind::Missing,
        ErrorKind::Type,
        ErrorKind::Rank,
        ErrorKind::Shape,
        ErrorKind::Strides,
        ErrorKind::Address,
        ErrorKind::Alignment,
        ErrorKind::Overlap,
        ErrorKind::Scratch,
        ErrorKind::Pool,
        ErrorKind::FloatMode,
    ];

    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Size => "size",
            ErrorKind::Requirement => "requirement",
            ErrorKind::Missing => "missing",
            ErrorKind::Type => "type",
            ErrorKind::Rank => "rank",
            ErrorKind::Shape => "shape",
            ErrorKind::Strides => "strides",
            ErrorKind::Address => "address",
            ErrorKind::Alignment => "alignment",
            ErrorKind::Overlap => "overlap",
            ErrorKind::Scratch => "scratch",
            ErrorKind::Pool => "pool",
            ErrorKind::FloatMode => "float_mode",
        }
    }
}

/// The most axes that an array can be described with.
pub const MOST_AXES: usize = 8;
/// How working space and each array in it is aligned, in bytes.
pub const SCRATCH_ALIGN: u64 = 64;
/// A description: address, element type, number of axes, extents, strides in elements.
pub(crate) const DESCRIPTION: &str = "{ ptr, i32, i32, [8 x i64], [8 x i64] }";
/// The symbols of a door, after the plain one.
const SUFFIXES: [&str; 3] = ["_checked", "_error", "_scratch_bytes"];

impl Door {
    /// Every symbol of it.
    pub fn symbols(&self) -> Vec<String> {
        let with = |suffix: &&str| format!("{}{suffix}", self.symbol);
        let suffixes = if self.scratch.is_empty() { &SUFFIXES[..2] } else { &SUFFIXES[..] };
        std::iter::once(self.symbol.clone()).chain(suffixes.iter().map(with)).collect()
    }
}

/// A function that gets a door, with what its text is made of.
pub(crate) struct Frame<'a> {
    pub(crate) program: &'a Program,
    pub(crate) fun: &'a Fun,
    /// The symbol of the function itself.
    pub(crate) inner: &'a str,
    /// Its parameters, by their number, that have strides.
    pub(crate) strided: &'a [usize],
    pub(crate) door: Door,
    pub(crate) processor: Processor,
    /// What text there is so far needs of the module.
    pub(crate) needs: &'a mut BTreeSet<Support>,
}

/// The text of a function's door, and what it is.
pub(crate) fn define(
    program: &Program,
    fun: &Fun,
    (inner, symbol, strided): (&str, &str, &[usize]),
    (pool, processor): (bool, Processor),
    needs: &mut BTreeSet<Support>,
) -> Outcome<(String, Door)> {
    let door = describe(program, fun, (symbol, strided), pool)?;
    let mut frame = Frame { program, fun, inner, strided, door, processor, needs };
    let mut out = frame.plain()?;
    if !frame.door.scratch.is_empty() {
        out.push_str(&frame.scratch_bytes()?);
    }
    out.push_str(&frame.checked()?);
    out.push_str(&frame.error_texts());
    Ok((out, frame.door))
}

/// What others need to know of a function.
fn describe(program: &Program, fun: &Fun, (symbol, strided): (&str, &[usize]), pool: bool) -> Outcome<Door> {
    let names = Names::of(program, fun);
    let sizes = fun.sizes.iter().map(|v| names.var(*v).to_string()).collect();
    let requires = fun.requires.iter().map(|g| names.requirement(g)).collect();
    let one = |(n, b): (usize, &Buffer)| {
        let array = array(&names, fun, *b)?;
        let strides = if strided.contains(&n) { array.extents.len() - 1 } else { 0 };
        Ok(Array { strides, ..array })
    };
    let all = fun.params.iter().enumerate().map(one).collect::<Outcome<Vec<_>>>()?;
    let (scratch, arrays) = all.into_iter().partition(|a: &Array| a.access == Access::Scratch);
    let size_vars = fun.sizes.clone();
    Ok(Door { symbol: symbol.into(), sizes, size_vars, arrays, scratch, pool, requires, errors: Vec::new() })
}

fn array(names: &Names<'_>, fun: &Fun, b: Buffer) -> Outcome<Array> {
    let info = &fun.buffers[b.index()];
    if is_abstract(&info.elem) {
        let text = format!("`{}` has a type parameter that is not bound: there is no native code for it", fun.name);
        return Err(Diagnostic::error(codes::BINDING, info.span.0, text));
    }
    if info.strides != Strides::Contiguous {
        return Err(Diagnostic::not_built(
            info.span.0,
            format!("native code for the given strides of `{}`", info.name),
        ));
    }
    if info.extents.len() > MOST_AXES {
        let what = format!("an entry point for C with an array of more than {MOST_AXES} axes, as `{}` is", info.name);
        return Err(Diagnostic::not_built(info.span.0, what));
    }
    let access = match info.role {
        _ if fun.scratch.contains(&b) => Access::Scratch,
        Role::Mut if fun.produces.contains(&b) => Access::Write,
        Role::Mut => Access::Update,
        Role::Reads | Role::Alloc | Role::Lease(_) => Access::Read,
    };
    let texts = |list: &[Ix]| list.iter().map(|e| names.ix(e)).collect::<Vec<_>>();
    let size_of = |e: &Ix| match e {
        Ix::Var(v) => fun.sizes.iter().position(|s| s == v),
        _ => None,
    };
    let physical = layout::physical(&info.layout, &info.extents);
    Ok(Array {
        name: info.name.clone(),
        elem: info.elem.clone(),
        size_align: size_align(&info.elem),
        access,
        extents: texts(&info.extents),
        extent_ixs: info.extents.clone(),
        extent_sizes: info.extents.iter().map(size_of).collect(),
        layout: match &info.layout {
            cachet_core::ir::Layout::RowMajor => None,
            cachet_core::ir::Layout::Named { name, ops: _ } => Some(name.clone()),
        },
        physical: texts(&physical),
        physical_ixs: physical,
        strides: 0,
    })
}

impl Frame<'_> {
    /// The scratch parameters, in order.
    fn scratch(&self) -> Vec<Buffer> {
        self.fun.params.iter().copied().filter(|b| self.fun.scratch.contains(b)).collect()
    }

    /// The other parameters, in order.
    fn arrays(&self) -> Vec<Buffer> {
        self.fun.params.iter().copied().filter(|b| !self.fun.scratch.contains(b)).collect()
    }

    /// The names of an array's strides, where it has some.
    fn strides_of(&self, b: Buffer) -> Vec<String> {
        let strided = self.strided.iter().any(|n| self.fun.params[*n] == b);
        if strided { function::strides(self.fun, b) } else { Vec::new() }
    }

    /// `i64 %n0, i64 %n1`: the sizes as parameters.
    fn size_parameters(&self) -> Vec<String> {
        (0..self.fun.sizes.len()).map(|i| format!("i64 noundef %n{i}")).collect()
    }

    /// The plain entry: the function, with its scratch parameters cut from one.
    fn plain(&mut self) -> Outcome<String> {
        let (arrays, scratch) = (self.arrays(), self.scratch());
        let mut parameters = self.size_parameters();
        for b in &arrays {
            parameters.push(match self.fun.buffers[b.index()].role {
                Role::Mut => format!("ptr noalias noundef %p{}", b.0),
                Role::Reads | Role::Alloc | Role::Lease(_) => format!("ptr readonly noundef %p{}", b.0),
            });
            parameters.extend(self.strides_of(*b).iter().map(|s| format!("i64 noundef {s}")));
        }
        parameters.extend((!scratch.is_empty()).then(|| "ptr noalias noundef %scratch".into()));
        parameters.extend(self.door.pool.then(|| "ptr %pool".to_string()));
        let mut em = Emitter::new();
        let places = self.cut(&mut em, &scratch)?;
        let mut args: Vec<String> = (0..self.fun.sizes.len()).map(|i| format!("i64 %n{i}")).collect();
        for b in &self.fun.params {
            let name =
                scratch.iter().position(|s| s == b).map_or_else(|| format!("%p{}", b.0), |at| places[at].clone());
            args.push(format!("ptr {name}"));
        }
        args.extend(self.fun.params.iter().flat_map(|b| self.strides_of(*b)).map(|s| format!("i64 {s}")));
        args.extend(self.door.pool.then(|| "ptr %pool".to_string()));
        // Not a part of this one: its code is what was measured, whoever calls it.
        em.line(format_args!("tail call void @{}({}) noinline", self.inner, args.join(", ")));
        em.line("ret void");
        Ok(format!("define void @{}({}) #0 {{\n{}}}\n\n", self.door.symbol, parameters.join(", "), em.finish()))
    }

    /// Where each scratch array begins.
    fn cut(&mut self, em: &mut Emitter, scratch: &[Buffer]) -> Outcome<Vec<String>> {
        let mut places = Vec::new();
        let mut offset = String::from("0");
        for (n, b) in scratch.iter().enumerate() {
            places.push(match offset.as_str() {
                "0" => "%scratch".into(),
                _ => em.def(format_args!("getelementptr inbounds i8, ptr %scratch, i64 {offset}")),
            });
            if n + 1 < scratch.len() {
                let bytes = Exact::new(self.fun, em, self.needs).bytes(*b)?;
                let rounded = rounded(em, &bytes);
                offset = em.def(format_args!("add i64 {offset}, {rounded}"));
            }
        }
        Ok(places)
    }

    /// How much working space there has to be; all bits set where the sizes are out of range, which no memory has.
    fn scratch_bytes(&mut self) -> Outcome<String> {
        let mut em = Emitter::new();
        let (fail, go_on) = (em.block(), em.block());
        let bad = self.bad_sizes(&mut em);
        em.branch(&bad, &fail, &go_on);
        em.open(&go_on);
        let (total, over) = self.scratch_total(&mut em)?;
        let result = em.def(format_args!("select i1 {over}, i64 -1, i64 {total}"));
        em.line(format_args!("ret i64 {result}"));
        em.open(&fail);
        em.line("ret i64 -1");
        let parameters = self.size_parameters().join(", ");
        Ok(format!("define i64 @{}_scratch_bytes({parameters}) #0 {{\n{}}}\n\n", self.door.symbol, em.finish()))
    }

    /// The bytes of all scratch arrays, and whether the arithmetic or an array was too large.
    fn scratch_total(&mut self, em: &mut Emitter) -> Outcome<(String, String)> {
        let (mut total, mut over) = (String::from("0"), String::from("false"));
        for b in self.scratch() {
            let mut exact = Exact::new(self.fun, em, self.needs);
            let bytes = exact.bytes(b)?;
            let beyond = exact.beyond(b, &bytes)?;
            over = em.def(format_args!("or i1 {over}, {beyond}"));
            let rounded = rounded(em, &bytes);
            total = em.def(format_args!("add i64 {total}, {rounded}"));
        }
        Ok((total, over))
    }

    /// Whether a size is negative or larger than a dimension may be.
    fn bad_sizes(&self, em: &mut Emitter) -> String {
        let mut bad = String::from("false");
        for i in 0..self.fun.sizes.len() {
            let beyond = em.def(format_args!("icmp ugt i64 %n{i}, {}", cachet_core::ir::MAX_DIM));
            bad = em.def(format_args!("or i1 {bad}, {beyond}"));
        }
        bad
    }

    /// The texts of the codes.
    fn error_texts(&self) -> String {
        let symbol = &self.door.symbol;
        let none = (0, "no error");
        let texts: Vec<(i32, &str)> =
            std::iter::once(none).chain(self.door.errors.iter().map(|e| (e.code, e.text.as_str()))).collect();
        let (mut constants, mut cases, mut blocks) = (String::new(), String::new(), String::new());
        for (n, (code, text)) in texts.iter().enumerate() {
            constants.push_str(&constant(&format!("{symbol}.text.{n}"), text));
            // Writing to a `String` cannot fail.
            let _ = write!(cases, " i32 {code}, label %c{n}");
            let _ = writeln!(blocks, "c{n}:\n  ret ptr @{symbol}.text.{n}");
        }
        constants.push_str(&constant(&format!("{symbol}.text.unknown"), "no error of this function has this code"));
        format!(
            "{constants}define ptr @{symbol}_error(i32 %code) #0 {{\nentry:\n  switch i32 %code, label %unknown [{cases} ]\n\
             {blocks}unknown:\n  ret ptr @{symbol}.text.unknown\n}}\n\n"
        )
    }
}

/// The next multiple of the alignment of scratch.
fn rounded(em: &mut Emitter, bytes: &str) -> String {
    let more = em.def(format_args!("add i64 {bytes}, {}", SCRATCH_ALIGN - 1));
    em.def(format_args!("and i64 {more}, -{SCRATCH_ALIGN}"))
}

/// A string that is seen from here only.
fn constant(name: &str, text: &str) -> String {
    let bytes: String = text
        .bytes()
        .map(|b| match b {
            b' '..=b'~' if b != b'"' && b != b'\\' => char::from(b).to_string(),
            _ => format!("\\{b:02X}"),
        })
        .collect();
    format!("@{name} = private unnamed_addr constant [{} x i8] c\"{bytes}\\00\"\n", text.len() + 1)
}

/// The number by which a description says what an element is; records have one number, as C's types keep them apart.
pub fn type_code(ty: &Ty) -> i32 {
    use cachet_core::ir::Elem;
    match ty {
        Ty::Elem(Elem::F64) => 1,
        Ty::Elem(Elem::F32) => 2,
        Ty::Elem(Elem::F16) => 3,
        Ty::Elem(Elem::BF16) => 4,
        Ty::Elem(Elem::I64) => 5,
        Ty::Elem(Elem::I32) => 6,
        Ty::Elem(Elem::I16) => 7,
        Ty::Elem(Elem::I8) => 8,
        Ty::Elem(Elem::U64) => 9,
        Ty::Elem(Elem::U32) => 10,
        Ty::Elem(Elem::U16) => 11,
        Ty::Elem(Elem::U8) => 12,
        Ty::Elem(Elem::Bool) => 13,
        Ty::Tuple(_) | Ty::Abstract(_) => 64,
    }
}
