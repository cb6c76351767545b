//! What does a manifest say? The parts of it that functions are made from.

use serde::Deserialize;
use serde_json::Value;

/// The version of manifests that is understood here.
const VERSION: u32 = 1;

/// A library that was built.
#[derive(Deserialize)]
pub(crate) struct Manifest {
    pub(crate) prefix: String,
    pub(crate) source: String,
    pub(crate) functions: Vec<Function>,
}

/// A function of it.
#[derive(Deserialize)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) claim: String,
    pub(crate) symbols: Symbols,
    pub(crate) sizes: Vec<Size>,
    pub(crate) arrays: Vec<Array>,
    pub(crate) scratch: Option<Value>,
    pub(crate) pool: bool,
    pub(crate) requires: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Symbols {
    pub(crate) checked: String,
    pub(crate) error: String,
    pub(crate) scratch_bytes: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Size {
    pub(crate) name: String,
    /// The axis of an array that is as long.
    pub(crate) from: Option<From>,
}

#[derive(Deserialize)]
pub(crate) struct From {
    pub(crate) array: String,
    pub(crate) axis: usize,
}

#[derive(Deserialize)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) access: String,
    #[serde(rename = "type")]
    pub(crate) ty: String,
    pub(crate) type_code: i32,
    pub(crate) fields: Option<Vec<Field>>,
    pub(crate) shape: Vec<String>,
    pub(crate) layout: Option<String>,
    pub(crate) memory_terms: Vec<Value>,
}

#[derive(Deserialize)]
pub(crate) struct Field {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) ty: String,
    pub(crate) fields: Option<Vec<Field>>,
}

impl Manifest {
    /// Reads one.
    ///
    /// # Errors
    /// It is none, or one of another version.
    pub(crate) fn parse(text: &str) -> Result<Manifest, String> {
        let value: Value = serde_json::from_str(text).map_err(|e| format!("this is no manifest: {e}"))?;
        let version = value["manifest"].as_u64();
        if version != Some(VERSION.into()) {
            let found = version.map_or("no version".into(), |v| format!("version {v}"));
            return Err(format!("this manifest has {found}, and version {VERSION} is read here"));
        }
        serde_json::from_value(value).map_err(|e| format!("this manifest lacks something: {e}"))
    }
}

impl Array {
    /// Whether the kernel writes it.
    pub(crate) fn written(&self) -> bool {
        self.access != "read"
    }
}

/// An extent as an expression of Rust in `i128`, in which nothing of a caller's sizes overflows.
pub(crate) fn expression(term: &Value) -> String {
    if let Some(n) = term.as_i64() {
        return format!("({n}_i128)");
    }
    if let Some(name) = term.as_str() {
        return format!("(size_{name} as i128)");
    }
    let part = |n: usize| expression(&term[n]);
    match term[0].as_str().unwrap_or_default() {
        "+" => format!("({} + {})", part(1), part(2)),
        "-" => format!("({} - {})", part(1), part(2)),
        "*" => format!("({} * {})", part(1), part(2)),
        "/" => format!("{}.div_euclid({})", part(1), part(2)),
        "%" => format!("{}.rem_euclid({})", part(1), part(2)),
        "min" => format!("{}.min({})", part(1), part(2)),
        "max" => format!("{}.max({})", part(1), part(2)),
        // The rest is a choice.
        _ => format!("(if {} {{ {} }} else {{ {} }})", condition(&term[1]), part(2), part(3)),
    }
}

fn condition(guard: &Value) -> String {
    if let Some(known) = guard.as_bool() {
        return known.to_string();
    }
    match guard[0].as_str().unwrap_or_default() {
        op @ ("==" | "!=" | "<" | "<=") => format!("({} {op} {})", expression(&guard[1]), expression(&guard[2])),
        "and" => format!("({} && {})", condition(&guard[1]), condition(&guard[2])),
        "or" => format!("({} || {})", condition(&guard[1]), condition(&guard[2])),
        // The rest is a negation.
        _ => format!("!{}", condition(&guard[1])),
    }
}
