//! The manifest that tools read: everything that a loader has to know to call the functions of a package.

use super::header::{ParameterNames, TYPE_NAMES, c_type, parameter_names};
use super::{Function, Package};
use cachet_codegen::{Access, Array, Door, ErrorKind, MOST_AXES, SCRATCH_ALIGN, type_code};
use cachet_core::ir::{Guard, Ix, MAX_DIM, Rel, Ty};
use serde_json::{Map, Value, json};

/// The version of what this module writes; it grows when a key goes or changes its meaning.
pub const VERSION: u32 = 1;

/// A package's manifest, and a line end.
pub fn text(package: &Package) -> String {
    let value = json!({
        "manifest": VERSION,
        "cachetc": env!("CARGO_PKG_VERSION"),
        "prefix": package.prefix,
        "source": package.source,
        "target": {
            "triple": package.target.target.triple,
            "cpu": package.target.target.cpu,
            "features": package.target.target.features,
            "vector_bits": package.target.vector_bits,
        },
        "array": description(),
        "error_kinds": ErrorKind::ALL.iter().map(|k| (k.name().to_string(), json!(*k as u8))).collect::<Map<_, _>>(),
        "functions": package.functions.iter().map(function).collect::<Vec<_>>(),
    });
    // What is made of maps with text as keys can be written.
    serde_json::to_string_pretty(&value).map_or_else(|_| String::new(), |text| text + "\n")
}

/// The struct by which a checked entry is told what an array is.
fn description() -> Value {
    let field = |name: &str, c_type: &str, offset: usize, count: usize| json!({ "name": name, "c_type": c_type, "offset": offset, "count": count });
    let axes = MOST_AXES;
    json!({
        "bytes": 16 + 16 * axes,
        "align": 8,
        "fields": [
            field("data", "void *", 0, 1),
            field("type", "int32_t", 8, 1),
            field("rank", "int32_t", 12, 1),
            field("shape", "int64_t", 16, axes),
            field("strides", "int64_t", 16 + 8 * axes, axes),
        ],
        "types": TYPE_NAMES.iter().map(|(name, code)| (name.to_ascii_lowercase(), json!(code))).collect::<Map<_, _>>(),
    })
}

fn function(function: &Function) -> Value {
    let (door, names) = (&function.door, parameter_names(&function.door));
    let symbols = json!({
        "plain": door.symbol,
        "checked": format!("{}_checked", door.symbol),
        "error": format!("{}_error", door.symbol),
        "scratch_bytes": (!door.scratch.is_empty()).then(|| format!("{}_scratch_bytes", door.symbol)),
    });
    let sizes = door.sizes.iter().zip(&names.sizes).enumerate().map(|(n, (name, c_name))| {
        json!({ "name": name, "c_name": c_name, "least": 0, "most": MAX_DIM, "from": found(function, n) })
    });
    let all = door.arrays.iter().zip(names.arrays.iter().zip(&names.strides));
    let arrays = all.map(|(a, (c_name, strides))| array(a, Some((c_name, strides)), function));
    let scratch = (!door.scratch.is_empty()).then(|| {
        json!({
            "align": SCRATCH_ALIGN,
            "arrays": door.scratch.iter().map(|a| array(a, None, function)).collect::<Vec<_>>(),
        })
    });
    let errors = door.errors.iter().map(|e| json!({ "code": e.code, "kind": e.kind.name(), "text": e.text }));
    json!({
        "name": function.name,
        "claim": function.claim,
        "symbols": symbols,
        "sizes": sizes.collect::<Vec<_>>(),
        "arrays": arrays.collect::<Vec<_>>(),
        "scratch": scratch,
        "pool": door.pool,
        "requires": door.requires,
        "arguments": { "plain": plain(function, &names), "checked": checked(function, &names) },
        "errors": errors.collect::<Vec<_>>(),
    })
}

/// Where a size can be seen: the first axis of an array that is as long.
fn found(function: &Function, size: usize) -> Value {
    for array in &function.door.arrays {
        if let Some(axis) = array.extent_sizes.iter().position(|e| *e == Some(size)) {
            return json!({ "array": array.name, "axis": axis });
        }
    }
    Value::Null
}

fn array(array: &Array, names: Option<(&String, &Vec<String>)>, function: &Function) -> Value {
    let access = match array.access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Update => "update",
        Access::Scratch => "scratch",
    };
    json!({
        "name": array.name,
        "c_name": names.map(|(c_name, _)| c_name),
        "access": access,
        "type": type_name(&array.elem, function),
        "type_code": type_code(&array.elem),
        "c_type": c_type(&array.elem, &function.records),
        "fields": fields(&array.elem, function),
        "bytes": array.size_align.0,
        "align": array.size_align.1,
        "shape": array.extents,
        "layout": array.layout,
        "memory": array.physical,
        "shape_terms": array.extent_ixs.iter().map(|e| term(e, &function.door)).collect::<Vec<_>>(),
        "memory_terms": array.physical_ixs.iter().map(|e| term(e, &function.door)).collect::<Vec<_>>(),
        "strides": strides(array),
        "given_strides": names.map(|(_, strides)| strides).filter(|s| !s.is_empty()),
    })
}

/// An extent: a number, the name of a size, or an operator with its operands. `/` and `%` round down; a choice is `if` with a
/// condition and two terms.
fn term(ix: &Ix, door: &Door) -> Value {
    let two = |op: &str, a: &Ix, b: &Ix| json!([op, term(a, door), term(b, door)]);
    match ix {
        Ix::Lit(n) => json!(n),
        // Extents are made of sizes alone.
        Ix::Var(v) | Ix::Block(v, _) | Ix::InBlock(v, _) => {
            json!(door.size_vars.iter().position(|s| s == v).map(|at| &door.sizes[at]))
        }
        Ix::Add(a, b) => two("+", a, b),
        Ix::Sub(a, b) => two("-", a, b),
        Ix::Mul(n, a) => json!(["*", n, term(a, door)]),
        Ix::Div(a, n) => json!(["/", term(a, door), n]),
        Ix::Mod(a, n) => json!(["%", term(a, door), n]),
        Ix::Min(a, b) => two("min", a, b),
        Ix::Max(a, b) => two("max", a, b),
        Ix::If(g, a, b) => json!(["if", condition(g, door), term(a, door), term(b, door)]),
    }
}

fn condition(guard: &Guard, door: &Door) -> Value {
    match guard {
        Guard::Const(b) => json!(b),
        Guard::Cmp(rel, a, b) => {
            let op = match rel {
                Rel::Eq => "==",
                Rel::Ne => "!=",
                Rel::Lt => "<",
                Rel::Le => "<=",
            };
            json!([op, term(a, door), term(b, door)])
        }
        Guard::And(a, b) => json!(["and", condition(a, door), condition(b, door)]),
        Guard::Or(a, b) => json!(["or", condition(a, door), condition(b, door)]),
        Guard::Not(a) => json!(["not", condition(a, door)]),
    }
}

/// Strides in elements, each as the extents to be multiplied; `null` where a layout says where elements are, or the caller.
fn strides(array: &Array) -> Value {
    match array.layout {
        Some(_) => Value::Null,
        None if array.strides > 0 => Value::Null,
        None => (0..array.extents.len()).map(|axis| json!(array.extents[axis + 1..])).collect(),
    }
}

fn type_name(ty: &Ty, function: &Function) -> String {
    match ty {
        Ty::Elem(e) => e.to_string(),
        Ty::Tuple(_) | Ty::Abstract(_) => c_type(ty, &function.records),
    }
}

/// The fields of a record, nested ones within; `null` for an element that is none.
fn fields(ty: &Ty, function: &Function) -> Value {
    let Ty::Tuple(parts) = ty else { return Value::Null };
    let names =
        function.records.iter().find(|(_, t, _)| t.is(ty)).map(|(_, _, names)| names.clone()).unwrap_or_default();
    let field = |(name, ty): (&String, &Ty)| json!({ "name": name, "type": type_name(ty, function), "fields": fields(ty, function) });
    names.iter().zip(parts.iter()).map(field).collect()
}

fn argument(kind: &str, name: &str, c_type: String) -> Value {
    json!({ "is": kind, "name": name, "c_type": c_type })
}

/// The plain entry's parameters, in order.
fn plain(function: &Function, names: &ParameterNames) -> Vec<Value> {
    let door = &function.door;
    let mut out: Vec<Value> = names.sizes.iter().map(|n| argument("size", n, "int64_t".into())).collect();
    for ((array, name), strides) in door.arrays.iter().zip(&names.arrays).zip(&names.strides) {
        let constant = if array.access == Access::Read { "const " } else { "" };
        out.push(argument("array", name, format!("{constant}{} *", c_type(&array.elem, &function.records))));
        out.extend(strides.iter().map(|s| argument("stride", s, "int64_t".into())));
    }
    out.extend((!door.scratch.is_empty()).then(|| argument("scratch", &names.scratch, "void *".into())));
    out.extend(door.pool.then(|| argument("pool", &names.pool, "const cachet_pool *".into())));
    out
}

/// The checked entry's parameters, in order.
fn checked(function: &Function, names: &ParameterNames) -> Vec<Value> {
    let door = &function.door;
    let mut out: Vec<Value> = names.sizes.iter().map(|n| argument("size", n, "int64_t".into())).collect();
    out.extend(names.arrays.iter().map(|n| argument("array", n, "const cachet_array *".into())));
    if !door.scratch.is_empty() {
        out.push(argument("scratch", &names.scratch, "void *".into()));
        out.push(argument("scratch_bytes", &names.scratch_bytes, "size_t".into()));
    }
    out.extend(door.pool.then(|| argument("pool", &names.pool, "const cachet_pool *".into())));
    out
}
