//! Numbers that do not fit, and sizes whose products do not.

use super::{Hostile, MAIN, PRODUCT};

/// Around the ends of what fits.
const LARGE: [&str; 8] = [
    "2147483648",
    "4294967296",
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "170141183460469231731687303715884105728",
];

pub(super) fn all() -> Vec<Hostile> {
    let digits = "7".repeat(100_000);
    let mut out = vec![
        Hostile::text("a literal of a hundred thousand digits", format!("const A = {digits}\n")).refused(),
        Hostile::text(
            "a dimension of a hundred thousand digits",
            format!("fn f (reads x: [f32; {digits}]) = print 1\n"),
        )
        .refused(),
        Hostile::text("a float of a hundred thousand digits", format!("const A : f32 = {digits}.5\n{MAIN}")),
        Hostile::text("a float with a hundred thousand places", format!("const A : f64 = 0.{digits}\n{MAIN}")),
        Hostile::text("an exponent of a hundred thousand digits", format!("const A : f64 = 1.0e{digits}\n{MAIN}")),
        Hostile::text(
            "an index of a hundred thousand digits",
            format!("fn main () =\n  alloc x: [f32; 2]\n  print (load x[{digits}])\n"),
        )
        .refused(),
        Hostile::text("an exponent far below", format!("const A : f64 = 1.0e-999999999999\n{MAIN}")),
        Hostile::text("underlines without end", format!("const A = 1{}\n", "_".repeat(100_000))),
        Hostile::text("constants to the power of a thousand", powers(1_000)).refused(),
        Hostile::text("a divisor of zero", format!("const A = 1 / 0\nconst B = 1 % (A - A)\n{MAIN}")).refused(),
        Hostile::text(
            "the smallest divided by minus one",
            format!("const A : i64 = (-9223372036854775807 - 1) / -1\n{MAIN}"),
        ),
        Hostile::text(
            "extents whose product overflows",
            "fn main () =\n  alloc x: [f32; 4294967296, 4294967296, 4]\n  print 1\n",
        ),
        Hostile::text(
            "an array of a terabyte",
            "fn main () =\n  alloc x: [f64; 1048576, 1048576]\n  store x[0, 0] = 1.5\n  print (load x[0, 0])\n",
        ),
        Hostile::text(
            "a coefficient that overflows",
            format!(
                "fn f (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do store y[i] = load x[(i * 9223372036854775807) / 9223372036854775807]\n\n{MAIN}"
            ),
        ),
        Hostile::text(
            "sizes times sizes",
            format!(
                "fn f (reads x: [f32; N * M * K * N * M]) -> out y: [f32; N] =\n  for i in 0 .. N do store y[i] = load x[i * M * K * N]\n\n{MAIN}"
            ),
        ),
        Hostile::text("sixteen dimensions", dimensions(16)),
        Hostile::text("five hundred dimensions", dimensions(500)),
    ];
    for n in LARGE {
        out.push(Hostile::text(
            format!("a dimension of {n}"),
            format!("fn main () =\n  alloc x: [f32; {n}]\n  print 1\n"),
        ));
        out.push(Hostile::text(format!("a parameter's dimension of {n}"), format!("fn f (reads x: [f32; {n}, {n}]) -> out y: [f32; {n}] =\n  for i in 0 .. {n} do store y[i] = load x[i, i]\n\n{MAIN}")));
        out.push(Hostile::text(
            format!("a loop from {n}"),
            format!("fn main () =\n  for i in {n} .. {n} do\n    print 1\n"),
        ));
        out.push(Hostile::text(
            format!("a loop's end beyond {n}"),
            format!(
                "fn f (mut x: [f32; N]) =\n  for i in 0 .. N + {n} do\n    if i < N then store x[i] = 1.0\n\n{MAIN}"
            ),
        ));
        out.push(Hostile::text(format!("blocks of {n}"), format!("fn f (mut x: [f32; N]) =\n  for g in blocks (0 .. N) {n} do\n    for i in 0 .. g.len do store x[g[i]] = 1.0\n\n{MAIN}")));
        out.push(Hostile::text(format!("a product of {n} with itself"), format!("const A = {n} * {n}\n{MAIN}")));
        out.push(Hostile::text(
            format!("an integer word {n}"),
            format!("fn main () =\n  print ({n} as i64)\n  print (0 - {n})\n"),
        ));
        out.push(Hostile::text(format!("a remainder by {n}"), format!("fn f (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do store y[i] = load x[(i * {n}) % N]\n\n{MAIN}")));
        out.push(Hostile::text(format!("a split by {n}"), format!("{PRODUCT}schedule s of product =\n  zero (i, j) c\n  split k by {n} as gk ragged\n  split i by {n} ragged\n\n{MAIN}")));
    }
    for n in ["0", "-1", "1", "4611686018427387904", "K", "(K - K)", "1 / 0", "0x10", "1.5", "\"4\""] {
        for ragged in ["", " ragged"] {
            out.push(Hostile::text(
                format!("a split by {n}{ragged}"),
                format!("{PRODUCT}schedule s of product =\n  split k by {n} as gk{ragged}\n\n{MAIN}"),
            ));
        }
        out.push(Hostile::text(
            format!("a strip of {n}"),
            format!("{PRODUCT}schedule s of product =\n  strip i by {n} as gi\n  parallel gi\n\n{MAIN}"),
        ));
    }
    out
}

fn powers(n: usize) -> String {
    let c = |i: usize| format!("const A{} = A{i} * A{i}\n", i + 1);
    format!("const A0 = 3\n{}\n{MAIN}", (0..n).map(c).collect::<String>())
}

fn dimensions(n: usize) -> String {
    let ones = vec!["2"; n].join(", ");
    let at = vec!["1"; n].join(", ");
    format!("fn f (reads x: [f32; {ones}]) -> out y: [f32; 1] =\n  store y[0] = load x[{at}]\n\n{MAIN}")
}
