//! The text of safe functions around a library's checked entries.

use crate::description::{Array, Field, Function, Manifest, expression};

/// What every file begins with: views, errors, working space, pools.
const SUPPORT: &str = include_str!("support.in.rs");

/// A file of Rust with all functions of a library.
///
/// # Errors
/// A type of elements that is not known.
pub(crate) fn text(manifest: &Manifest) -> Result<String, String> {
    let mut out = format!("// Made from {} by cachet-build: safe functions around its kernels.\n", manifest.source);
    out.push_str(SUPPORT);
    // Of a module of their own, so that no name of theirs meets one of ours.
    out.push_str("\npub mod kernels {\n");
    out.push_str(&records(manifest)?);
    out.push_str(&declarations(manifest));
    for function in &manifest.functions {
        out.push_str(&one(function, &manifest.prefix)?);
    }
    out.push_str("}\n");
    // The file is included into a module of somebody else, whose rules are about their own code.
    let unused = "#[allow(unused, non_snake_case, non_camel_case_types, unsafe_code, clippy::all, clippy::pedantic, \
                  reason = \"generated\")]";
    let used = "#[allow(unused_imports, reason = \"generated\")]\npub use generated::{Bf16, Error, F16, Pool, Scratch, Threads, View, \
                ViewMut};\n#[allow(unused_imports, reason = \"generated\")]\npub use generated::kernels::*;\n";
    Ok(format!("{unused}\nmod generated {{\n{out}}}\n{used}"))
}

/// A name of Rust: keywords are written raw, or with a `_` where that is not allowed.
fn name(text: &str) -> String {
    match text {
        "self" | "Self" | "super" | "crate" | "_" => format!("{text}_"),
        _ if KEYWORDS.contains(&text) => format!("r#{text}"),
        _ => text.into(),
    }
}

/// A name of a parameter, which is none of those that a function has beside them.
fn parameter(text: &str) -> String {
    let ours = ["array_", "raw_", "size_"].iter().any(|p| text.starts_with(p));
    if ours || ["scratch", "pool", "code"].contains(&text) { format!("{text}_") } else { name(text) }
}

const KEYWORDS: [&str; 49] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// A type of elements; records are named without the prefix.
fn element(ty: &str, prefix: &str, is_record: bool) -> Result<String, String> {
    Ok(match ty {
        _ if is_record => name(ty.strip_prefix(&format!("{prefix}_")).unwrap_or(ty)),
        "f64" | "f32" | "i64" | "i32" | "i16" | "i8" | "u64" | "u32" | "u16" | "u8" | "bool" => ty.into(),
        "f16" => "super::F16".into(),
        "bf16" => "super::Bf16".into(),
        other => return Err(format!("elements of type `{other}` are not known to this version of cachet-build")),
    })
}

/// Structs for records, each once.
fn records(manifest: &Manifest) -> Result<String, String> {
    let mut found: Vec<(&str, &[Field])> = Vec::new();
    for array in manifest.functions.iter().flat_map(|f| &f.arrays) {
        if let Some(fields) = &array.fields {
            collect(&array.ty, fields, &mut found);
        }
    }
    let mut out = String::new();
    for (ty, fields) in found {
        out.push_str(&format!(
            "\n/// A record of the kernels.\n#[derive(Clone, Copy, Debug, Default, PartialEq)]\n#[repr(C)]\npub struct {} {{\n",
            element(ty, &manifest.prefix, true)?
        ));
        for field in fields {
            let ty = element(&field.ty, &manifest.prefix, field.fields.is_some())?;
            out.push_str(&format!("    pub {}: {ty},\n", name(&field.name)));
        }
        out.push_str("}\n");
    }
    Ok(out)
}

fn collect<'a>(ty: &'a str, fields: &'a [Field], found: &mut Vec<(&'a str, &'a [Field])>) {
    for field in fields {
        if let Some(inner) = &field.fields {
            collect(&field.ty, inner, found);
        }
    }
    if !found.iter().any(|(t, _)| *t == ty) {
        found.push((ty, fields));
    }
}

/// The entries of the library.
fn declarations(manifest: &Manifest) -> String {
    let mut out = String::from("\nunsafe extern \"C\" {\n");
    for f in &manifest.functions {
        let mut parameters = vec!["_: i64"; f.sizes.len()];
        parameters.extend(f.arrays.iter().map(|_| "_: *const super::RawArray"));
        if f.scratch.is_some() {
            parameters.extend(["_: *mut std::ffi::c_void", "_: usize"]);
        }
        parameters.extend(f.pool.then_some("_: *const super::RawPool"));
        out.push_str(&format!("    fn {}({}) -> i32;\n", f.symbols.checked, parameters.join(", ")));
        out.push_str(&format!("    fn {}(_: i32) -> *const std::ffi::c_char;\n", f.symbols.error));
        if let Some(symbol) = &f.symbols.scratch_bytes {
            out.push_str(&format!("    fn {symbol}({}) -> usize;\n", vec!["_: i64"; f.sizes.len()].join(", ")));
        }
    }
    out.push_str("}\n");
    out
}

fn one(f: &Function, prefix: &str) -> Result<String, String> {
    let mut out = scratch_bytes(f);
    out.push_str(&documentation(f));
    let mut parameters = Vec::new();
    for size in f.sizes.iter().filter(|s| seen(f, s.from.as_ref()).is_none()) {
        parameters.push(format!("{}: usize", parameter(&size.name)));
    }
    for array in &f.arrays {
        let (ty, view) = (element(&array.ty, prefix, array.fields.is_some())?, view(array));
        parameters.push(format!(
            "{}: impl Into<super::{view}<'a, {ty}, {}>>",
            parameter(&array.name),
            array.shape.len()
        ));
    }
    parameters.extend(f.scratch.as_ref().map(|_| "scratch: &mut super::Scratch".into()));
    parameters.extend(f.pool.then(|| "pool: Option<&dyn super::Pool>".into()));
    let function = name(&f.name);
    out.push_str(&format!("pub fn {function}<'a>({}) -> Result<(), super::Error> {{\n", parameters.join(", ")));
    out.push_str(&body(f));
    out.push_str("}\n");
    Ok(out)
}

fn view(array: &Array) -> &'static str {
    if array.written() { "ViewMut" } else { "View" }
}

/// The array and axis that tell a size.
fn seen<'a>(f: &'a Function, from: Option<&crate::description::From>) -> Option<(usize, &'a Array, usize)> {
    let from = from?;
    f.arrays.iter().enumerate().find(|(_, a)| a.name == from.array).map(|(n, a)| (n, a, from.axis))
}

fn body(f: &Function) -> String {
    let shown = &f.name;
    let mut out = String::new();
    for (n, array) in f.arrays.iter().enumerate() {
        let (ty, axes) = (view(array), array.shape.len());
        out.push_str(&format!("    let array_{n}: super::{ty}<'_, _, {axes}> = {}.into();\n", parameter(&array.name)));
    }
    for size in &f.sizes {
        let value = match seen(f, size.from.as_ref()) {
            Some((n, _, axis)) => format!("array_{n}.shape[{axis}]"),
            None => parameter(&size.name),
        };
        // A size that is too large for this is refused as one.
        out.push_str(&format!("    let size_{} = i64::try_from({value}).unwrap_or(i64::MAX);\n", size.name));
    }
    for (n, array) in f.arrays.iter().enumerate() {
        let pointer = if array.written() { "as_mut_ptr().cast_const()" } else { "as_ptr()" };
        let (shape, strides) = (format!("array_{n}.shape"), format!("array_{n}.strides"));
        let (code, axes) = (array.type_code, array.shape.len());
        let raw = match &array.layout {
            None => format!(
                "super::RawArray::strided(array_{n}.data.{pointer}, array_{n}.data.len(), ({shape}, {strides}), {code})"
            ),
            Some(_) => {
                let all: Vec<String> = array.memory_terms.iter().map(expression).collect();
                let sum = all.iter().map(|e| format!(".and_then(|n| n.checked_mul({e}))")).collect::<String>();
                format!(
                    "Some(1_i128){sum}.filter(|n| *n <= array_{n}.data.len() as i128)\
                     .and_then(|_| super::RawArray::of(array_{n}.data.{pointer}, {shape}, [0; {axes}], {code}))"
                )
            }
        };
        let array = &array.name;
        out.push_str(&format!(
            "    let raw_{n} = {raw}.ok_or_else(|| super::Error::short({shown:?}, {array:?}, array_{n}.data.len()))?;\n"
        ));
    }
    if f.pool {
        out.push_str("    let raw_pool = pool.as_ref().map(super::raw_pool);\n");
    }
    let mut arguments: Vec<String> = f.sizes.iter().map(|s| format!("size_{}", s.name)).collect();
    arguments.extend((0..f.arrays.len()).map(|n| format!("&raw_{n}")));
    if f.scratch.is_some() {
        arguments.extend(["scratch.memory.as_mut_ptr().cast()".into(), "scratch.bytes".into()]);
    }
    arguments.extend(f.pool.then(|| "super::null_or(&raw_pool)".into()));
    out.push_str(&format!(
        "    // SAFETY: each array has all the elements that its description speaks of, those that are written are lent \
         mutably, and the\n    // entry tests the rest.\n    let code = unsafe {{ {}({}) }};\n    if code == 0 {{ Ok(()) }} else {{ \
         Err(super::error({shown:?}, code, {})) }}\n",
        f.symbols.checked,
        arguments.join(", "),
        f.symbols.error
    ));
    out
}

fn scratch_bytes(f: &Function) -> String {
    let Some(symbol) = &f.symbols.scratch_bytes else { return String::new() };
    let parameters: Vec<String> = f.sizes.iter().map(|s| format!("{}: usize", name(&s.name))).collect();
    let arguments: Vec<String> = f.sizes.iter().map(|s| format!("i64::try_from({}).ok()?", name(&s.name))).collect();
    format!(
        "\n/// How many bytes of working space [`{}`] needs; none for sizes that no memory has.\npub fn {}({}) -> Option<usize> {{\n    \
         // SAFETY: it computes a number.\n    let bytes = unsafe {{ {symbol}({}) }};\n    (bytes != usize::MAX).then_some(bytes)\n}}\n",
        f.name,
        name(&format!("{}_scratch_bytes", f.name)),
        parameters.join(", "),
        arguments.join(", ")
    )
}

fn documentation(f: &Function) -> String {
    let mut out = format!("\n/// {}\n///\n", f.claim);
    for array in &f.arrays {
        let access = match array.access.as_str() {
            "read" => "read",
            "write" => "written in full",
            _ => "read and written",
        };
        let layout = array.layout.as_ref().map_or(String::new(), |l| format!(", as {l} lays it out"));
        out.push_str(&format!(
            "/// - `{}`: `[{}]` of `{}`{layout}, {access}\n",
            array.name,
            array.shape.join(", "),
            array.ty
        ));
    }
    for requirement in &f.requires {
        out.push_str(&format!("///\n/// Requires `{requirement}`.\n"));
    }
    out.push_str("///\n/// # Errors\n/// What is passed is not as the kernel has it; then nothing was written.\n");
    out
}
