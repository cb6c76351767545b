//! Small texts that say something twice, and that twice, and so on.

use super::{Hostile, MAIN, PRODUCT};

pub(super) fn all() -> Vec<Hostile> {
    let mut out = vec![
        Hostile::text("sixty constants, each twice the one before", constants(60)),
        Hostile::text("two hundred schedule functions, each calling the next", schedule_functions(200, 1)),
        Hostile::text("sixty schedule functions, each calling the next twice", schedule_functions(60, 2)).refused(),
        Hostile::text("twelve schedule functions, each calling the next twice", schedule_functions(12, 2)),
        Hostile::text("sixty pure functions, each calling the next twice", pure_functions(60)),
        Hostile::text("sixty functions, each calling the next twice", functions(60)),
        Hostile::text("sixty functions of indices, each applying the next twice", index_functions(60)),
        Hostile::text("sixty functions of indices in the extent of an array", index_extents(60)),
        Hostile::text("sixty records, each with two of the one before", records(60)),
        Hostile::text("two hundred records, each with four of the one before", records_wide(200)),
        Hostile::text("sixty lets, each of two of the one before", lets(60)),
        Hostile::text("sixty lets within one value", lets_in(60)),
        Hostile::text("sixty lets of indices", index_lets(60)),
        Hostile::text("sixty lets of choices", choice_lets(60)),
        Hostile::text("sixty lets of conditions", condition_lets(60)),
        Hostile::text("sixty intermediates, each of two of the one before", intermediates(60)),
        Hostile::text("sixty generic functions, each calling the next twice", generic(60)),
        Hostile::text("sixty implementations, each of the one before", implementations(60)),
        Hostile::text("a name that doubles with every step", names(40)),
        Hostile::text("thirty splits of one loop", splits(30)),
        Hostile::text("a hundred splits of one loop", splits(100)).one_of_many(),
        Hostile::text("a hundred splits of a split", nested_splits(100)),
        Hostile::text("a step that doubles a body", doubling_step(40)),
        Hostile::text(
            "two hundred interchanges",
            format!(
                "{PRODUCT}schedule s of product =\n{}\n{MAIN}",
                "  interchange (i, j)\n  interchange (j, i)\n".repeat(100)
            ),
        ),
        Hostile::text("two hundred schedules of schedules", schedules(200)),
    ];
    out.extend(diamonds());
    out
}

fn constants(n: usize) -> String {
    let c = |i: usize| format!("const A{} = A{i} + A{i}\n", i + 1);
    format!("const A0 = 1\n{}\n{MAIN}", (0..n).map(c).collect::<String>())
}

fn schedule_functions(n: usize, times: usize) -> String {
    let f = |i: usize| format!("schedule fn s{i} (i, j) =\n{}\n", format!("  s{} (i, j)\n", i + 1).repeat(times));
    format!(
        "{PRODUCT}{}schedule fn s{n} (i, j) =\n  interchange (i, j)\n  interchange (j, i)\n\nschedule s of product =\n  s0 (i, j)\n\n{MAIN}",
        (0..n).map(f).collect::<String>()
    )
}

fn pure_functions(n: usize) -> String {
    let f = |i: usize| format!("fn f{i} (x: f32) -> f32 = f{0} x + f{0} (x + 1.0)\n\n", i + 1);
    format!(
        "{}fn f{n} (x: f32) -> f32 = x\n\nfn g (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do store y[i] = f0 (load x[i])\n\n{MAIN}",
        (0..n).map(f).collect::<String>()
    )
}

fn functions(n: usize) -> String {
    let f = |i: usize| format!("fn f{i} (mut x: [f32; N]) =\n  f{0} x\n  f{0} x\n\n", i + 1);
    format!(
        "{}fn f{n} (mut x: [f32; N]) =\n  for i in 0 .. N do store x[i] = 1.0\n\n{MAIN}",
        (0..n).map(f).collect::<String>()
    )
}

fn index_functions(n: usize) -> String {
    let f = |i: usize| format!("fn f{i} (i: Nat) -> Nat = f{0} i + f{0} (i + 1)\n\n", i + 1);
    format!(
        "{}fn f{n} (i: Nat) -> Nat = i\n\nfn g (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do store y[i] = load x[f0 i % N]\n\n{MAIN}",
        (0..n).map(f).collect::<String>()
    )
}

fn index_extents(n: usize) -> String {
    let f = |i: usize| format!("fn f{i} (i: Nat) -> Nat = f{0} i + f{0} i\n\n", i + 1);
    format!(
        "{}fn f{n} (i: Nat) -> Nat = i\n\nconst A = f0 1\n\nproof p =\n  assert f0 N >= N\n\nfn g (reads x: [f32; f0 N]) -> out y: [f32; 1] =\n  store y[0] = 1.0\n\n{MAIN}",
        (0..n).map(f).collect::<String>()
    )
}

fn records(n: usize) -> String {
    let r = |i: usize| format!("record R{} where\n  a: R{i}\n  b: R{i}\n\n", i + 1);
    format!(
        "record R0 where\n  a: f32\n  b: f32\n\n{}fn f (reads x: [R{n}; N]) (mut y: [R{n}; N]) =\n  for i in 0 .. N do store y[i] = load x[i]\n\n{MAIN}",
        (0..n).map(r).collect::<String>()
    )
}

fn records_wide(n: usize) -> String {
    let r = |i: usize| format!("record R{i} where\n  a: R{0}\n  b: R{0}\n  c: R{0}\n  d: R{0}\n\n", i + 1);
    format!("{}record R{n} where\n  a: f32\n\n{MAIN}", (0..n).map(r).collect::<String>())
}

fn lets(n: usize) -> String {
    let l = |i: usize| format!("    let x{} = x{i} + x{i}\n", i + 1);
    format!(
        "fn f (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do\n    let x0 = load x[i]\n{}    store y[i] = x{n}\n\n{MAIN}",
        (0..n).map(l).collect::<String>()
    )
}

fn lets_in(n: usize) -> String {
    let l = |i: usize| format!("let x{} = x{i} * x{i} in ", i + 1);
    format!(
        "contraction f\n    (reads x: [f32; N])\n    -> out y: [f32; N] =\n  y[i] = let x0 = x[i] in {}x{n}\n\n{MAIN}",
        (0..n).map(l).collect::<String>()
    )
}

fn index_lets(n: usize) -> String {
    let l = |i: usize| format!("    let i{} = i{i} + i{i}\n", i + 1);
    format!(
        "fn f (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do\n    let i0 = i\n{}    store y[i] = load x[i{n} % N]\n\n{MAIN}",
        (0..n).map(l).collect::<String>()
    )
}

fn choice_lets(n: usize) -> String {
    let l = |i: usize| format!("    let i{} = if i{i} % {} == 0 then i{i} else N - 1 - i{i}\n", i + 1, i + 2);
    format!(
        "fn f (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do\n    let i0 = i\n{}    store y[i] = load x[i{n}]\n\n{MAIN}",
        (0..n).map(l).collect::<String>()
    )
}

fn condition_lets(n: usize) -> String {
    let l = |i: usize| format!("    let b{} = (b{i} && i % {} == 0) || (!b{i} && i < N)\n", i + 1, i + 2);
    format!(
        "fn f (reads x: [f32; N]) (mut y: [f32; N]) =\n  for i in 0 .. N do\n    let b0 = i < N\n{}    if b{n} then store y[i] = load x[i]\n\n{MAIN}",
        (0..n).map(l).collect::<String>()
    )
}

fn intermediates(n: usize) -> String {
    let e = |i: usize| format!("  t{}[i] = t{i}[i] * t{i}[i]\n", i + 1);
    format!(
        "contraction f\n    (reads x: [f32; N])\n    -> out y: [f32; N] =\n  t0[i] = x[i]\n{}  y[i] = t{n}[i]\n\n{MAIN}",
        (0..n).map(e).collect::<String>()
    )
}

fn generic(n: usize) -> String {
    let f = |i: usize| format!("fn f{i} {{S : Semiring}} (mut x: [S.Value; N]) =\n  f{0} x\n  f{0} x\n\n", i + 1);
    format!(
        "import \"cachet:monoid\"\n\n{}fn f{n} {{S : Semiring}} (mut x: [S.Value; N]) =\n  for i in 0 .. N do store x[i] = S.zero ()\n\n{MAIN}",
        (0..n).map(f).collect::<String>()
    )
}

fn implementations(n: usize) -> String {
    let i = |i: usize| {
        format!(
            "impl Monoid for A{} f32 where\n  const Value = f32\n  fn empty () = 0.0\n  fn combine a b = (A{i} f32).combine a (A{i}.combine b a)\n\n",
            i + 1
        )
    };
    format!("import \"cachet:monoid\"\n\n{}{MAIN}", (0..n).map(i).collect::<String>())
}

fn names(n: usize) -> String {
    let split = |i: usize| format!("  split i{} by 2\n", ".inner".repeat(i));
    format!("{PRODUCT}schedule s of product =\n{}\n{MAIN}", (0..n).map(split).collect::<String>())
}

fn splits(n: usize) -> String {
    let split = |i: usize| format!("  split i by 4 as g{i} ragged\n");
    format!("{PRODUCT}schedule s of product =\n{}\n{MAIN}", (0..n).map(split).collect::<String>())
}

fn nested_splits(n: usize) -> String {
    let levels: Vec<String> = (0..n).map(|i| format!("{} as g{i}", 1u64 << (62 - i.min(60)))).collect();
    format!("{PRODUCT}schedule s of product =\n  split i by {} ragged\n\n{MAIN}", levels.join(", "))
}

fn doubling_step(n: usize) -> String {
    format!(
        "{PRODUCT}step fn twice i =\n  from\n    for i in $A do\n      $body\n  to\n    for i in $A do\n      $body\n    for i in $A do\n      $body\n\nfn f (reads x: [f32; N]) -> out y: [f32; N] =\n  for i in 0 .. N do store y[i] = load x[i]\n\nschedule s of f =\n{}\n{MAIN}",
        "  twice i\n".repeat(n)
    )
}

fn schedules(n: usize) -> String {
    let s = |i: usize| {
        format!(
            "schedule s{} of s{i} =\n  interchange ({})\n\n",
            i + 1,
            if i.is_multiple_of(2) { "i, j" } else { "j, i" }
        )
    };
    format!(
        "{PRODUCT}schedule s0 of product =\n  zero (i, j) c\n  hoist (j, k) c\n  interchange (i, k)\n  interchange (k, i)\n\n{}{MAIN}",
        (0..n).map(s).collect::<String>()
    )
}

/// Files that each import the two of the next layer.
fn diamonds() -> Vec<Hostile> {
    let n = 30;
    let layer = |i: usize| format!("import \"a{0}.cachet\"\nimport \"b{0}.cachet\"\n", i + 1);
    let mut out =
        Hostile::text("thirty layers of two files that import both of the next", format!("{}{MAIN}", layer(0)));
    for i in 1..=n {
        for side in ["a", "b"] {
            let text = if i < n { layer(i) } else { String::new() };
            let text = format!("{text}const {}{i} = 1\n", side.to_uppercase());
            out = out.with(&format!("{side}{i}.cachet"), super::Entry::File(text.into()));
        }
    }
    vec![out]
}
