//! A file of the length that people stop reading at: a thousand lines, twenty contractions, sixty schedules.
//!
//! There are ten kinds of product, and two of each kind; all differ in the sizes of their blocks, so that few conditions
//! are found to be known from a schedule before.

use std::fmt::Write;

/// A kind of product: its name, its inputs, what stands before `i, j` in its output, and its right side.
struct Product {
    name: &'static str,
    inputs: &'static [&'static str],
    batch: &'static str,
    value: &'static str,
    /// The loops that set and finish the output, where there are any beside the product's own.
    finish: bool,
}

const PRODUCTS: [Product; 10] = [
    product("plain", &["a: [S.Value; M, K]", "b: [S.Value; K, N]"], "sum k. a[i, k] * b[k, j]"),
    product("right", &["a: [S.Value; M, K]", "b: [S.Value; N, K]"], "sum k. a[i, k] * b[j, k]"),
    product("left", &["a: [S.Value; K, M]", "b: [S.Value; K, N]"], "sum k. a[k, i] * b[k, j]"),
    product("both", &["a: [S.Value; K, M]", "b: [S.Value; N, K]"], "sum k. a[k, i] * b[j, k]"),
    product("shifted", &["a: [S.Value; M + K]", "b: [S.Value; K, N]"], "sum k. a[i + k] * b[k, j]"),
    product(
        "weighted",
        &["a: [S.Value; M, K]", "d: [S.Value; K]", "b: [S.Value; K, N]"],
        "sum k. a[i, k] * d[k] * b[k, j]",
    ),
    product("paired", &["a: [S.Value; M, K, 2]", "b: [S.Value; K, 2, N]"], "sum k, h. a[i, k, h] * b[k, h, j]"),
    Product {
        batch: "n, ",
        ..product("batched", &["a: [S.Value; B, M, K]", "b: [S.Value; B, K, N]"], "sum k. a[n, i, k] * b[n, k, j]")
    },
    Product {
        finish: true,
        ..product(
            "biased",
            &["a: [S.Value; M, K]", "b: [S.Value; K, N]", "d: [S.Value; N]"],
            "(sum k. a[i, k] * b[k, j]) + d[j]",
        )
    },
    Product {
        finish: true,
        ..product(
            "gated",
            &["a: [S.Value; M, K]", "b: [S.Value; K, N]", "g: [S.Value; M, N]"],
            "g[i, j] * (sum k. a[i, k] * b[k, j])",
        )
    },
];

const fn product(name: &'static str, inputs: &'static [&'static str], value: &'static str) -> Product {
    Product { name, inputs, batch: "", value, finish: false }
}

/// The text of the file.
pub fn large() -> String {
    let mut out =
        String::from("// Twenty products, each in three orders.\nimport \"cachet:monoid\"\nimport \"cachet:steps\"\n");
    for (at, product) in PRODUCTS.iter().chain(&PRODUCTS).enumerate() {
        let _ = write!(out, "{}", section(product, at));
    }
    out
}

/// One contraction and its schedules.
fn section(p: &Product, at: usize) -> String {
    let name = format!("{}{at}", p.name);
    let (large, small, deep) = (16 + 8 * at, 2 + at, 32 + 16 * at);
    let (zeroed, product, extent) = match p.batch {
        "" => ("i, j", "i, j", "M, N"),
        _ => ("n, i, j", "n, i, j", "B, M, N"),
    };
    let mut out = format!(
        "\n//\n// {name}\n//\n// What it computes, for any semiring; what becomes of it is below, in the same bits.\n\ncontraction {name} {{S : Semiring}}\n"
    );
    for input in p.inputs {
        let _ = writeln!(out, "    (reads {input})");
    }
    let _ = writeln!(
        out,
        "    -> out c: [S.Value; {extent}] =\n  // The sum comes first, in the order of its index.\n  c[{product}] = {}",
        p.value
    );
    let _ = write!(
        out,
        "
// {name}, a row at a time.
// Each word of the left side is used along a whole row of the right one,
// and the sums of a row grow side by side.
schedule {name}_rows of {name} =
  // All sums start before any of them grows.
  zero ({zeroed}) c
  // The columns are the innermost loop.
  hoist (j, k) c

// {name}, in blocks: of the depth, of the columns, and of the rows in two levels.
// What is left over at the ends of each is a shorter block.
schedule {name}_blocks of {name} =
  zero ({zeroed}) c
  // The depth, so that a block of it fits a cache.
  split k by {deep} as gk ragged
  // Columns and rows.
  split j by {large} as gj ragged
  split i by {} as gi, {small} as ui ragged
  // A block of the right side stays while all rows pass it;
  // a few rows and columns of the output are in use at a time.
  order (gk, gj, gi, ui, i, j)

// {name}, in bands of rows that run side by side,
// on as many cores as there are.
// The rows have to come in whole bands.
schedule {name}_bands of {name} =
  zero ({zeroed}) c
  // Each band has all columns, in strips of two levels;
  // what is left over is a shorter strip.
  split i by {large} as gi
  split j by {deep} as gj, {large} as uj ragged
  // The sum is not cut.
  order (gi, gj, uj, i, j)
  // No two bands meet, for each writes rows of its own;
  // the sums in a band are in the order of the equation.
  parallel gi
",
        4 * small
    );
    if p.finish {
        out.push_str("  // What is done to the sums afterwards may run side by side too.\n  parallel fi\n");
    }
    out
}
