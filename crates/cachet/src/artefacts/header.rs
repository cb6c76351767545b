//! The header that C and C++ read: what each function computes, what it is given, and what is promised.

use super::{Function, Package};
use cachet_codegen::{Access, Array, Door, ErrorKind, MOST_AXES, SCRATCH_ALIGN};
use cachet_core::ir::{Elem, Fun, Program, Ty};
use std::fmt::Write;

/// The text of a package's header.
pub fn text(package: &Package) -> String {
    let guard = format!("{}_CACHET_H", package.prefix.to_ascii_uppercase());
    let mut out = introduction(package);
    // Writing to a `String` cannot fail.
    let _ = write!(out, "#ifndef {guard}\n#define {guard}\n\n");
    out.push_str("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n");
    out.push_str(&types());
    out.push_str("#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    out.push_str(&structs(package));
    for function in &package.functions {
        out.push_str(&declarations(function));
    }
    let _ = write!(out, "#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */\n");
    out
}

/// Names of a door's parameters in C, in the order in which they are passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterNames {
    /// The sizes.
    pub sizes: Vec<String>,
    /// The arrays.
    pub arrays: Vec<String>,
    /// The strides of each array, where it has some.
    pub strides: Vec<Vec<String>>,
    /// The working space.
    pub scratch: String,
    /// How large it is.
    pub scratch_bytes: String,
    /// The pool.
    pub pool: String,
}

/// Names that C and C++ allow, each once. Where the language's do not, they get a `_`.
pub fn parameter_names(door: &Door) -> ParameterNames {
    let mut taken: Vec<String> = Vec::new();
    let mut name = |wanted: &str| {
        let mut name = wanted.to_string();
        while RESERVED.contains(&name.as_str()) || taken.contains(&name) {
            name.push('_');
        }
        taken.push(name.clone());
        name
    };
    let sizes = door.sizes.iter().map(|n| name(n)).collect();
    let arrays = door.arrays.iter().map(|a| name(&a.name)).collect();
    let scratch = (name("scratch"), name("scratch_bytes"), name("pool"));
    let stride = |a: &Array, axis: usize| match a.strides {
        1 => format!("{}_stride", a.name),
        _ => format!("{}_stride{axis}", a.name),
    };
    let strides = door.arrays.iter().map(|a| (0..a.strides).map(|axis| name(&stride(a, axis))).collect()).collect();
    let (scratch, scratch_bytes, pool) = scratch;
    ParameterNames { sizes, arrays, strides, scratch, scratch_bytes, pool }
}

/// The type of an element in C.
pub fn c_type(ty: &Ty, records: &[(String, Ty, Vec<String>)]) -> String {
    match ty {
        Ty::Elem(e) => c_elem(*e).into(),
        Ty::Tuple(_) | Ty::Abstract(_) => {
            records.iter().find(|(_, t, _)| t.is(ty)).map_or_else(|| "void".into(), |(name, ..)| name.clone())
        }
    }
}

/// The records among the elements of a function's arrays, each after those that it has as fields.
pub fn records(program: &Program, fun: &Fun, prefix: &str) -> Vec<(String, Ty, Vec<String>)> {
    let mut out: Vec<(String, Ty, Vec<String>)> = Vec::new();
    for b in fun.params.iter().filter(|b| !fun.scratch.contains(b)) {
        collect(program, &fun.buffers[b.index()].elem, prefix, &mut out);
    }
    out
}

fn collect(program: &Program, ty: &Ty, prefix: &str, out: &mut Vec<(String, Ty, Vec<String>)>) {
    let Ty::Tuple(parts) = ty else { return };
    for part in parts.iter() {
        collect(program, part, prefix, out);
    }
    if out.iter().any(|(_, t, _)| t.is(ty)) {
        return;
    }
    let of_position = |n: usize| format!("part{n}");
    let (name, fields) = match parts.info(program) {
        Some(info) => (format!("{prefix}_{}", info.name), info.fields.iter().map(|f| safe(f)).collect()),
        None => (format!("{prefix}_{}", tuple_name(ty)), (0..parts.len()).map(of_position).collect()),
    };
    out.push((name, ty.clone(), fields));
}

/// `f32_i64`: a name for several words that have none.
fn tuple_name(ty: &Ty) -> String {
    match ty {
        Ty::Elem(e) => format!("{e:?}").to_ascii_lowercase(),
        Ty::Abstract(_) => "any".into(),
        Ty::Tuple(parts) => {
            format!("tuple{}_{}", parts.len(), parts.iter().map(tuple_name).collect::<Vec<_>>().join("_"))
        }
    }
}

fn safe(name: &str) -> String {
    if RESERVED.contains(&name) { format!("{name}_") } else { name.into() }
}

fn c_elem(e: Elem) -> &'static str {
    match e {
        Elem::F64 => "double",
        Elem::F32 => "float",
        Elem::F16 | Elem::BF16 | Elem::U16 => "uint16_t",
        Elem::I64 => "int64_t",
        Elem::I32 => "int32_t",
        Elem::I16 => "int16_t",
        Elem::I8 => "int8_t",
        Elem::U64 => "uint64_t",
        Elem::U32 => "uint32_t",
        Elem::U8 => "uint8_t",
        Elem::Bool => "bool",
    }
}

/// What a name of C says too little of.
fn remark(ty: &Ty) -> &'static str {
    match ty {
        Ty::Elem(Elem::F16) => ", the bits of IEEE binary16",
        Ty::Elem(Elem::BF16) => ", the bits of a bfloat16",
        Ty::Elem(_) | Ty::Tuple(_) | Ty::Abstract(_) => "",
    }
}

fn introduction(package: &Package) -> String {
    let (prefix, source) = (&package.prefix, comment(&package.source));
    format!(
        "/* {prefix}.h: made from {source} by cachetc {version} for {target}.\n\
         \x20*\n\
         \x20* Every function has two entries. The plain one believes its caller: arrays are where it is told, and have the\n\
         \x20* extents, the order of elements and the alignment that stand beside them; what is written overlaps nothing else\n\
         \x20* that is passed; the thread rounds to nearest and keeps subnormals, as every program does at its start. The one that\n\
         \x20* ends in _checked is told of each array what it is, tests all of that, and returns 0, or a code of which _error\n\
         \x20* gives the text; then nothing has been written.\n\
         \x20*\n\
         \x20* Nothing is allocated, no global state is read or written, and any number of threads may call at once. A pool, where a\n\
         \x20* function takes one, is who runs iterations at once; null runs them on the calling thread, with the same bits.\n\
         \x20*/\n",
        version = env!("CARGO_PKG_VERSION"),
        target = comment(&package.target.words()),
    )
}

/// What all headers of this kind share: they may be included together.
fn types() -> String {
    let mut out = format!(
        "#ifndef CACHET_TYPES_1\n\
         #define CACHET_TYPES_1\n\
         \n\
         /* An array, for the checked entries. */\n\
         typedef struct cachet_array {{\n\
         \x20 const void *data;\n\
         \x20 int32_t type;       /* what an element is: CACHET_F32, .. */\n\
         \x20 int32_t rank;       /* how many axes there are, at most {MOST_AXES} */\n\
         \x20 int64_t shape[{MOST_AXES}];   /* extents, outermost first */\n\
         \x20 int64_t strides[{MOST_AXES}]; /* how many elements lie between neighbours along each axis; 0 where a layout says it */\n\
         }} cachet_array;\n\
         \n\
         /* Who runs iterations at once. run calls body with ranges first .. last so that each of the numbers 0 .. count is in\n\
         \x20* exactly one of them, from any threads, in any order, at once or not, and returns when all calls have. The threads have\n\
         \x20* the default floating-point mode. It may be called from within a body. */\n\
         typedef struct cachet_pool {{\n\
         \x20 void *state;\n\
         \x20 void (*run)(void *state, void (*body)(void *env, int64_t first, int64_t last), void *env, int64_t count);\n\
         }} cachet_pool;\n\
         \n\
         enum {{\n"
    );
    for (name, code) in TYPE_NAMES {
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "  CACHET_{name} = {code},");
    }
    out.push_str("};\n\n/* What is wrong with a call: CACHET_ERROR_KIND of what a checked entry returned. */\nenum {\n  CACHET_OK = 0,\n");
    for kind in ErrorKind::ALL {
        let _ = writeln!(out, "  CACHET_ERROR_{} = {},", kind.name().to_ascii_uppercase(), kind as u8);
    }
    out.push_str("};\n#define CACHET_ERROR_KIND(code) ((code) & 255)\n\n#endif /* CACHET_TYPES_1 */\n\n");
    out
}

/// What a description says of an element, and its number.
pub const TYPE_NAMES: [(&str, i32); 14] = [
    ("F64", 1),
    ("F32", 2),
    ("F16", 3),
    ("BF16", 4),
    ("I64", 5),
    ("I32", 6),
    ("I16", 7),
    ("I8", 8),
    ("U64", 9),
    ("U32", 10),
    ("U16", 11),
    ("U8", 12),
    ("BOOL", 13),
    ("RECORD", 64),
];

fn structs(package: &Package) -> String {
    let mut done: Vec<&str> = Vec::new();
    let mut out = String::new();
    for function in &package.functions {
        for (name, ty, fields) in &function.records {
            let Ty::Tuple(parts) = ty else { continue };
            if done.contains(&name.as_str()) {
                continue;
            }
            done.push(name);
            let line = |(ty, field): (&Ty, &String)| format!("  {} {field};\n", c_type(ty, &function.records));
            let lines: String = parts.iter().zip(fields).map(line).collect();
            let _ = write!(out, "typedef struct {name} {{\n{lines}}} {name};\n\n");
        }
    }
    out
}

fn declarations(function: &Function) -> String {
    let (door, names) = (&function.door, parameter_names(&function.door));
    let symbol = &door.symbol;
    let mut out = about(function, &names);
    let sizes: Vec<String> = names.sizes.iter().map(|n| format!("int64_t {n}")).collect();
    let mut plain = sizes.clone();
    let mut checked = sizes.clone();
    for ((array, name), strides) in door.arrays.iter().zip(&names.arrays).zip(&names.strides) {
        let constant = if array.access == Access::Read { "const " } else { "" };
        plain.push(format!("{constant}{} *{name}", c_type(&array.elem, &function.records)));
        plain.extend(strides.iter().map(|s| format!("int64_t {s}")));
        checked.push(format!("const cachet_array *{name}"));
    }
    if !door.scratch.is_empty() {
        plain.push(format!("void *{}", names.scratch));
        checked.push(format!("void *{}, size_t {}", names.scratch, names.scratch_bytes));
    }
    if door.pool {
        plain.push(format!("const cachet_pool *{}", names.pool));
        checked.push(format!("const cachet_pool *{}", names.pool));
    }
    let _ = writeln!(out, "{}", prototype("void", symbol, "", &plain));
    let _ = writeln!(out, "{}", prototype("int32_t", symbol, "_checked", &checked));
    let _ = writeln!(out, "const char *{symbol}_error(int32_t code);");
    if !door.scratch.is_empty() {
        let _ = writeln!(out, "{}", prototype("size_t", symbol, "_scratch_bytes", &sizes));
    }
    out.push('\n');
    out
}

/// On one line where it fits.
fn prototype(result: &str, symbol: &str, suffix: &str, parameters: &[String]) -> String {
    let parameters = if parameters.is_empty() { "void".into() } else { parameters.join(", ") };
    format!("{result} {symbol}{suffix}({parameters});")
}

/// What a function is, as a comment.
fn about(function: &Function, names: &ParameterNames) -> String {
    let door = &function.door;
    let mut out = format!("/* {}: {}\n *\n", comment(&function.name), comment(&function.claim));
    let wide = names.arrays.iter().map(String::len).max().unwrap_or(0).max("scratch".len());
    for ((array, name), strides) in door.arrays.iter().zip(&names.arrays).zip(&names.strides) {
        let _ = writeln!(out, " *   {name:wide$}  {}", comment(&array_words(array, strides, function)));
    }
    if !door.scratch.is_empty() {
        let (name, sizes) = (&names.scratch, names.sizes.join(", "));
        let _ = writeln!(
            out,
            " *   {name:wide$}  working space: {}_scratch_bytes({sizes}) bytes, aligned to {SCRATCH_ALIGN}, apart from all arrays",
            door.symbol
        );
    }
    if !door.sizes.is_empty() {
        let sizes = names.sizes.join(", ");
        let _ = write!(out, " *\n * {sizes}: from 0 to 2^40; an array has less than 2^47 bytes.\n");
    }
    for requirement in &door.requires {
        let _ = writeln!(out, " * Requires {}.", comment(requirement));
    }
    out.push_str(" */\n");
    out
}

fn array_words(array: &Array, strides: &[String], function: &Function) -> String {
    let access = match array.access {
        Access::Read => "read",
        Access::Write => "written in full, apart from all others",
        Access::Update => "read and written, apart from all others",
        Access::Scratch => "working space",
    };
    let order = match &array.layout {
        None if strides.is_empty() => "row after row".into(),
        None => format!("neighbours along the axes [{}, 1] elements apart", strides.join(", ")),
        Some(name) => format!("in {name}, which is [{}] row after row", array.physical.join(", ")),
    };
    let (ty, remark) = (c_type(&array.elem, &function.records), remark(&array.elem));
    format!("[{}] of {ty}{remark}, {order}, aligned to {}, {access}", array.extents.join(", "), array.size_align.1)
}

/// Text that does not end a comment.
fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace(['\n', '\r'], " ")
}

/// What may not be the name of a parameter or a field: keywords of C and C++, and names that compilers or the headers
/// included here define as macros.
const RESERVED: [&str; 131] = [
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "atomic_cancel",
    "atomic_commit",
    "atomic_noexcept",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reflexpr",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "synchronized",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "NULL",
    "I",
    "complex",
    "imaginary",
    "linux",
    "unix",
    "i386",
    "offsetof",
    "fortran",
    "far",
    "near",
    "huge",
    "pascal",
    "cdecl",
    "interface",
    "small",
    "hyper",
    "signals",
    "slots",
    "emit",
    "foreach",
    "errno",
    "stdin",
    "stdout",
    "stderr",
    "EOF",
    "assert",
    "signbit",
    "isnan",
    "isinf",
    "min",
];
