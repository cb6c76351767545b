use super::{again, find, good, load_text, only, print, reports};
use cachet_core::ir::{Binding, Ix, StmtKind};

/// The first report of a text.
fn first(text: &str) -> String {
    reports(text).first().cloned().unwrap_or_default()
}

/// A function over an input `a`, an output `c` and a size, with the body given.
fn body(lines: &str) -> String {
    format!("fn f (reads a: [f32; M, N]) (mut c: [f32; M, N]) =\n{lines}\n")
}

#[test]
fn loops_blocks_and_guards_print_as_they_are_written() {
    let text = "fn f
    (reads a: [f32; M, N])
    (mut c: [f32; M, N])
requires M <= N, N % 4 == 0
=
  for gi in blocks (0 .. M) 16 do
    for i in 0 .. gi.len do
      for j in 0 .. N do
        if gi[i] < j && j < N - 1 then
          let t = load a[gi[i], j]
          store c[gi[i], j] = fma t t (load c[gi[i], j])
        else
          store c[gi[i], j] = (gi.lo + i * 2) as f32 / 3.0
";
    let printed = again(text, "f");
    assert_eq!(printed, text);
}

#[test]
fn locals_and_their_cells() {
    let text = "fn f
    (reads a: [f32; 8])
    (mut c: [f32; 8])
=
  var t: [f32; 2, 4] = 0.0
  var s: f32 = 1.0
  for r in 0 .. 2 do
    for l in 0 .. 4 do
      t[r, l] = load a[r * 4 + l] * s
      s = s + t[r, l]
  for i in 0 .. 8 do
    store c[i] = t[i / 4, i % 4]
";
    assert_eq!(again(text, "f"), text);
}

#[test]
fn words() {
    let text = "fn f
    (reads a: [f32; N])
    (reads b: [u32; N])
    (mut c: [f32; N])
=
  for i in 0 .. N do
    let x: f32 = if i == 0 then Num.infinity () else load a[i - 1]
    let y = select (x < 0.0 || !(x <= 1.0)) (-x) (sqrt (abs x))
    let z: f32 = from_bits (load b[i])
    let w = min (max y z) 1.0e-10
    store c[i] = if to_bits w == 7 then w as f64 as f32 else 0.1
";
    let printed = again(text, "f");
    assert!(printed.contains("let x = if i == 0 then Num.infinity () else load a[i - 1]"), "{printed}");
    assert!(printed.contains("select (x < 0.0 || !(x <= 1.0)) (-x) (sqrt (abs x))"), "{printed}");
    assert!(
        printed.contains("select (to_bits w == 7) ((w as f64) as f32) 0.1")
            || printed.contains("select (to_bits w == 7)"),
        "{printed}"
    );
}

#[test]
fn a_decimal_is_rounded_once() {
    // The double next to this decimal lies exactly between two floats and would be rounded the wrong way.
    let text = "fn f (mut c: [f32; 1]) =\n  store c[0] = 1.000000059604644775390626\n";
    let module = good(text);
    let StmtKind::Store { word: cachet_core::ir::Word::Lit(l), .. } = &find(&module, "f").1.body[0].kind else {
        panic!()
    };
    assert_eq!(l.bits, u64::from(0x3F80_0001u32));
}

#[test]
fn pure_functions_are_applied_in_any_order() {
    let text = "fn f (reads a: [f32; N]) -> out c: [f32; N] =
  for i in 0 .. N do
    store c[i] = twice (load a[i])

fn twice (x: f32) -> f32 = plus x x
fn plus (x: f32) (y: f32) -> f32 =
  let s = x + y
  s
";
    let module = good(text);
    assert!(print(&module, "f").contains("store c[i] = twice (load a[i])"));
    assert_eq!(module.program.pures.len(), 2);
    assert!(only("fn f (x: f32) -> f32 = g x\nfn g (x: f32) -> f32 = f x\n").0.starts_with("recursion: "));
    assert!(only("fn f (x: f32) -> f32 = x + f x\n").0.starts_with("recursion: `f` calls itself"));
}

#[test]
fn calls_bind_types_and_sizes() {
    let text = r#"
import "cachet:monoid"
contraction matmul {S : Semiring} (reads a: [S.Value; M, K]) (reads b: [S.Value; K, N]) -> out c: [S.Value; M, N] =
  c[i, j] = sum k. a[i, k] * b[k, j]

fn twice {T : Semiring} (reads a: [T.Value; L, L]) -> out c: [T.Value; L, L] =
  alloc t: [T.Value; L, L]
  matmul @(S = T) a a t
  matmul @(S = T) t a c

fn main () =
  alloc a: [f32; 4, 4]
  for i in 0 .. 4 do
    for j in 0 .. 4 do
      store a[i, j] = (i + j) as f32
  alloc c: [f32; 2, 4]
  matmul @(S = MinPlus f32) a[1 ..+ 2, 0 ..+ 4] a c
  print (load c[0, 0])
  print 0.5
  print 3
"#;
    let module = good(text);
    let (id, main) = find(&module, "main");
    assert_eq!(module.main, Some(id));
    let StmtKind::Call(c) = &main.body[3].kind else { panic!() };
    assert_eq!(c.sizes, [Ix::Lit(2), Ix::Lit(4), Ix::Lit(4)]);
    assert!(matches!(c.types[..], [Binding::Impl(_)]));
    let (_, twice) = find(&module, "twice");
    let StmtKind::Call(c) = &twice.body[1].kind else { panic!() };
    assert!(matches!(c.types[..], [Binding::Param(_)]));
    assert!(c.sizes.iter().all(|s| matches!(s, Ix::Var(_))));
    let printed = print(&module, "main");
    assert!(printed.contains("matmul @(S = MinPlus f32) a[1 ..+ 2, 0 ..+ 4] a c"), "{printed}");
}

#[test]
fn wrong_calls_are_refused() {
    let call = |line: &str| {
        let callee = "fn g (reads x: [f32; N]) (mut y: [f32; N]) =\n  for i in 0 .. N do\n    store y[i] = load x[i]\n";
        let text = format!(
            "{callee}\nfn f (reads a: [f32; 4]) (mut b: [f32; 4]) (mut d: [f64; 4]) (mut e: [f32; 5]) (mut m: [f32; 2, 2]) =\n  {line}\n"
        );
        first(&text)
    };
    assert_eq!(call("g a b"), "");
    assert_eq!(call("g a"), "arity: `g` takes 2 arguments, and 1 is given [g a]");
    assert_eq!(call("g b a"), "mode: `a` is `reads`, and parameter 2 (`y`) of `g` is written [a]");
    assert_eq!(call("g a d"), "type-mismatch: `d` holds f64, and parameter 2 (`y`) of `g` holds f32 [d]");
    assert_eq!(call("g a e"), "size: axis 1 of `e` is 5 long, and `g` wants 4 there [e]");
    assert_eq!(call("g a m"), "arity: `m` has 2 axes, and parameter 2 (`y`) of `g` has 1 axis [m]");
    assert_eq!(
        call("g a (load b[0])"),
        "type-mismatch: parameter 2 (`y`) of `g` is an array, and this is not [(load b[0])]"
    );
    assert_eq!(call("h a b"), "unknown-name: there is no function `h` here [h]");
    assert_eq!(call("g @(S = PlusTimes f32) a b"), "unknown-name: there is no type parameter of `g` `S` here [S]");
    assert_eq!(call("g a b[0 ..+ 4, 0]"), "arity: `b` takes 1 subscripts, and 2 are given [b[0 ..+ 4, 0]]");
}

#[test]
fn type_parameters_are_bound_by_name_and_interface() {
    let call = |line: &str| {
        format!(
            "import \"cachet:monoid\"\nfn g {{S : Semiring}} (mut y: [S.Value; N]) =\n  for i in 0 .. N do\n    \
             store y[i] = S.zero ()\n\nfn f (mut b: [f32; 4]) =\n  {line}\n"
        )
    };
    assert_eq!(first(&call("g @(S = PlusTimes f32) b")), "");
    let (message, helps) = only(&call("g b"));
    assert_eq!(message, "binding: `g` does not say what `S` is [g]");
    assert_eq!(helps, ["write `g @(S = PlusTimes f32)`"]);
    assert_eq!(
        first(&call("g @(S = Sum f32) b")),
        "binding: `Sum f32` is a Monoid, and a Semiring is wanted here [Sum f32]"
    );
    assert_eq!(
        first(&call("g @(S = PlusTimes f64) b")),
        "type-mismatch: `b` holds f32, and parameter 1 (`y`) of `g` holds f64 [b]"
    );
    let (message, helps) = only(&call("g @(S = PlusTime f32) b"));
    assert_eq!(message, "unknown-name: there is no implementation `PlusTime f32` here [PlusTime f32]");
    assert_eq!(helps, ["did you mean `PlusTimes f32`?"]);
    assert!(first(&call("g @(S = PlusTimes f32) @(S = PlusTimes f32) b")).starts_with("binding: `S` is bound twice"));
}

#[test]
fn modes_and_kinds_are_kept_apart() {
    for (lines, wanted) in [
        ("  store a[0, 0] = 1.0", "mode: `a` is `reads`, and cannot be stored to [a[0, 0]]"),
        ("  let t = 1 as f32\n  t = 2.0", "mode: `t` is a `let` and keeps its value [t]"),
        ("  store c[0, 0] = M", "type-mismatch: `M` is an index, and a value is wanted here [M]"),
        ("  store c[0, 0] = a", "type-mismatch: `a` is an array, and one value is wanted here [a]"),
        ("  store c[0, 0] = 1", "literal: 1 is a whole number, and f32 is wanted here [1]"),
        ("  store c[0, 0] = 1.0e99", "literal: 1.0e99 is out of the range of f32 [1.0e99]"),
        ("  let t = 1.0", "literal: the type of 1.0 is not known here [1.0]"),
        ("  store c[0] = 1.0", "arity: `c` has 2 axes, and 1 subscript is given [c[0]]"),
        (
            "  store c[load a[0, 0], 0] = 1.0",
            "word-as-index: what is loaded cannot be an index, a bound or a condition [load a[0, 0]]",
        ),
        ("  let t = load a[0, 0]\n  store c[t, 0] = 1.0", "word-as-index: `t` is data and cannot be an index [t]"),
        (
            "  if load a[0, 0] < 1.0 then\n    store c[0, 0] = 1.0",
            "word-as-index: data cannot decide what runs [load a[0, 0] < 1.0]",
        ),
        (
            "  store c[M * N, 0] = 1.0",
            "word-as-index: an index is linear: one factor of a product has to be a number [M * N]",
        ),
        ("  for i in 0 .. M do\n    i = 3", "word-as-index: `i` is an index, and indices are never assigned [i]"),
        ("  c[0, 0] = 1.0", "type-mismatch: `c` is an array: its elements are written by `store` [c[0, 0]]"),
        ("  load a[0, 0]", "type-mismatch: a statement is wanted here, and this is a value [load a[0, 0]]"),
        (
            "  store c[0, 0] = load a[0, 0] + (load a[0, 0] as f64)",
            "type-mismatch: this is f64, and f32 is wanted here [(load a[0, 0] as f64)]",
        ),
        ("  for g in blocks (0 .. M) 4 do\n    store c[g, 0] = 1.0", "word-as-index: `g` is a block"),
        ("  store c[x, 0] = 1.0", "unknown-name: there is no index or size `x` here [x]"),
    ] {
        assert!(first(&body(lines)).starts_with(wanted), "{lines}: {:?}", reports(&body(lines)));
    }
}

#[test]
fn what_is_broken_is_said_once_and_hides_nothing_else() {
    let text = "fn f (mut c: [f32; 2]) =
  let t = vector
  store c[0] = t
  store c[1] = missing

fn g (mut c: [f32; 2]) =
  f c

fn h (mut c: [f32; 2]) =
  store c[0] = 1.0
";
    let (module, diagnostics) = load_text(text);
    assert_eq!(diagnostics.len(), 2, "{:?}", reports(text));
    assert_eq!(module.program.funs.len(), 1);
    assert_eq!(module.items.len(), 1);
    assert_eq!(find(&module, "h").0.index(), 0);
}

#[test]
fn recursion_is_refused_once_for_a_circle() {
    let text = "fn f (mut c: [f32; 2]) =\n  g c\n\nfn g (mut c: [f32; 2]) =\n  f c\n\nfn main () =\n  alloc c: [f32; 2]\n  f c\n";
    let (message, _) = only(text);
    assert_eq!(message, "recursion: `f` calls itself: `f` calls `g` calls `f` [f]");
    let (module, _) = load_text(text);
    assert_eq!((module.program.funs.len(), module.main), (0, None));
}

#[test]
fn main_takes_nothing() {
    assert!(
        only("fn main (mut c: [f32; 2]) =\n  store c[0] = 1.0\n").0.starts_with("arity: `main` takes no parameters")
    );
}

#[test]
fn what_has_no_meaning_yet_is_named() {
    for (lines, wanted) in [("  store c[0, 0] = tanh 1.0", "tanh"), ("  store c[0, 0] = exp 1.0", "exp")] {
        let report = first(&body(lines));
        assert!(
            report.starts_with("not-built: not built yet: ") && report.contains(wanted),
            "{lines}: {:?}",
            reports(&body(lines))
        );
    }
}

#[test]
fn platforms_levels_and_layouts_are_looked_up() {
    for (lines, wanted) in [
        ("  lease mut p = c at L2\n  store p[0, 0] = 1.0", "unknown-name: there is no memory level `L2`"),
        ("  alloc t: [f32; 4, 4] in PanelMajor 4", "unknown-name: there is no layout `PanelMajor` here"),
    ] {
        let report = first(&body(lines));
        assert!(report.starts_with(wanted), "{lines}: {report}");
    }
    for (text, wanted) in [
        ("synth const NR: Nat = minimize n in (n): n where n >= 1\n", "size: no condition gives the largest `n`"),
        ("layout P (r) [i, k] = order k, j\n", "unknown-name: there is no axis `j`"),
        ("module (platform = AppleSilicon)\n", "unknown-name: there is no platform `AppleSilicon`"),
    ] {
        let report = first(text);
        assert!(report.starts_with(wanted), "{text}: {report}");
    }
}

#[test]
fn values_that_grow_without_end_are_refused() {
    let mut text = String::from("contraction f (reads a: [f32; N]) -> out c: [f32; N] =\n  s0[i] = a[i]\n");
    for n in 1..40 {
        text += &format!("  s{n}[i] = s{0}[i] + s{0}[i]\n", n - 1);
    }
    text += "  c[i] = s39[i]\n";
    assert!(only(&text).0.starts_with("limit: this equation's value has more than 65536 parts"), "{:?}", only(&text));
    let mut text = String::from("fn f0 (x: f32) -> f32 = x + x\n");
    for n in 1..40 {
        text += &format!("fn f{n} (x: f32) -> f32 = f{0} x + f{0} x\n", n - 1);
    }
    assert!(reports(&text)[0].starts_with("limit: `f14` has more than 65536 parts"), "{:?}", reports(&text)[0]);
    assert_eq!(reports(&text).len(), 1);
}

#[test]
fn nesting_to_the_parsers_limit_is_safe() {
    let sum = vec!["load a[0, 0]"; 400].join(" + ");
    let report = first(&body(&format!("  store c[0, 0] = {sum}")));
    assert!(report.is_empty() || report.starts_with("limit:") || report.starts_with("too-deep:"), "{report}");
    let deep = format!("{}load a[0, 0]{}", "(1.0 - ".repeat(120), ")".repeat(120));
    let report = first(&body(&format!("  store c[0, 0] = {deep}")));
    assert!(report.is_empty() || report.starts_with("limit:") || report.starts_with("too-deep:"), "{report}");
    let loops: String = (0..126).map(|n| format!("{}for i{n} in 0 .. M do\n", " ".repeat(n + 2))).collect();
    let report = first(&body(&format!("{loops}{}store c[0, 0] = 1.0", " ".repeat(128))));
    assert!(report.is_empty() || report.starts_with("limit:") || report.starts_with("too-deep:"), "{report}");
}

#[test]
fn lets_inside_values_read_again() {
    let text = "fn f
    (reads a: [f32; N])
    (mut c: [f32; N])
=
  for i in 0 .. N do
    let x = load a[i] * (let t = load a[i] in t * t)
    store c[i] =
      let half: f32 = 0.5
      let s = if i == 0 then half else let b = load a[i - 1] in b * half
      fold k in 0 .. i from (let z = s in z * x) as acc: f32 do
        let e = load a[k]
        fma e e acc
";
    // Each `let` gets a line of its own, where what it names is known.
    let lines = "    let x =
      let t = load a[i]
      load a[i] * (t * t)
    store c[i] =
      let half: f32 = 0.5
      let s =
        if i == 0 then
          half
        else
          let b = load a[i - 1]
          b * half
      let z = s
      fold k in 0 .. i from (z * x) as acc: f32 do
        let e = load a[k]
        fma e e acc
";
    let printed = again(text, "f");
    assert!(printed.ends_with(lines), "{printed}");
    assert_eq!(again(&printed, "f"), printed);
    // A value on one line, and a name that stands for another inside.
    let text = "fn f (reads a: [f32; N]) (mut c: [f32; N]) =
  for i in 0 .. N do
    store c[i] = let t = load a[i] in (let t = t + t in t * t) - t
";
    let printed = again(text, "f");
    assert!(printed.contains("      let t_2 = t + t\n      t_2 * t_2 - t\n"), "{printed}");
}

#[test]
fn proofs_are_read_with_their_sizes() {
    let module = good("const W = 4\nproof p =\n  assert ceil (N / W) * W >= N // rounds up\n  assert 1 < 2\n");
    let [proof] = module.proofs.as_slice() else { panic!("{:?}", module.proofs) };
    assert_eq!((proof.asserts[0].text.as_str(), proof.asserts[0].sizes.len()), ("ceil (N / W) * W >= N", 1));
    assert_eq!(proof.asserts[0].claim.holds(&[5]), Ok(true));
    assert!(only("const w: f32 = 1.0\nproof p = assert w < 2\n").0.starts_with("type-mismatch: "));
    assert!(only("proof p = assert 1 + 2\n").0.starts_with("type-mismatch: "));
    assert!(only("proof p = assert platform.line >= 64\n").0.starts_with("unknown-name: this file names no platform"));
}

#[test]
fn functions_of_indices_are_written_out() {
    let text = "fn half (i: Nat) -> Nat =
  let two = 2
  i / two
fn far (i: Nat) (n: Nat) -> Nat = min (half i) n
fn f (reads a: [f32; N]) (mut c: [f32; N]) =
  for i in 0 .. half N do
    if half i < far N 3 then
      store c[i] = load a[far i (N - 1)]
";
    let printed = print(&good(text), "f");
    assert!(printed.contains("for i in 0 .. N / 2 do\n    if i / 2 < min (N / 2) 3 then"), "{printed}");
    assert!(printed.contains("load a[min (i / 2) (N - 1)]"), "{printed}");
    for (text, code) in [
        ("fn g (i: Nat) -> Nat = i + x\n", "unknown-name: "),
        ("fn g (i: Nat) -> Nat = i\nconst a = g 1 2\n", "arity: "),
        ("fn g (i: Nat) -> Nat = 1.0\n", "word-as-index: "),
        ("fn g (i: Nat) (i: Nat) -> Nat = i\n", "duplicate-name: "),
        ("fn g (i: Nat) -> Nat = h i\nfn h (i: Nat) -> Nat = g i\n", "recursion: "),
        ("const a = g 1\nfn g (i: Nat) -> Nat = i + a\n", "recursion: "),
        ("fn g (i: Nat) -> Nat = i\nfn w (x: f32) -> f32 = g x\n", "type-mismatch: "),
    ] {
        assert!(first(text).starts_with(code), "{text}: {:?}", reports(text));
    }
}

#[test]
fn functions_of_indices_that_explode_are_refused() {
    // Each doubles what it is given.
    let mut text = String::from("fn g0 (i: Nat) -> Nat = i + i\n");
    for n in 1..40 {
        text += &format!("fn g{n} (i: Nat) -> Nat = g{} (i + i)\n", n - 1);
    }
    assert!(first(&text).starts_with("limit: "), "{:?}", reports(&text));
    // Each applies another ten times and drops nine of the values.
    let mut text = String::from("fn g0 (i: Nat) -> Nat = i\n");
    for n in 1..20 {
        text += &format!("fn g{n} (i: Nat) -> Nat =\n");
        (0..10).for_each(|k| text += &format!("  let x{k} = g{} i\n", n - 1));
        text += "  x0\n";
    }
    assert!(first(&text).starts_with("limit: "), "{:?}", reports(&text));
}

#[test]
fn sizes_that_a_call_names_print_and_read_again() {
    let text = "fn f {n : Nat}
    (reads a: [f32; N])
    (mut c: [f32; N])
requires n <= N
=
  for i in n .. N do
    store c[i] = load a[i - n]
";
    assert_eq!(again(text, "f"), text);
    let module = good(&format!(
        "{text}fn g (reads a: [f32; N]) (mut c: [f32; N]) =\n  f @(n = (N / 2)) a c\n  f @(n = 3) a c\n"
    ));
    let printed = print(&module, "g");
    assert!(printed.contains("  f @(n = (N / 2)) a c\n  f @(n = 3) a c\n"), "{printed}");
    let call = |args: &str| format!("{text}fn g (reads a: [f32; N]) (mut c: [f32; N]) =\n  f {args}\n");
    for (args, wanted) in [
        ("a c", "size: "),
        ("@(n = 1, n = 2) a c", "binding: "),
        ("@(m = 1) a c", "unknown-name: "),
        ("@(n = a) a c", "word-as-index: "),
        ("@(n = PlusTimes f32) a c", "binding: "),
    ] {
        assert!(only(&call(args)).0.starts_with(wanted), "{args}: {:?}", reports(&call(args)));
    }
}

#[test]
fn defaults_mean_the_implementations_own_operations() {
    let text = "interface Ring where
  const Value: Type
  fn add a b -> Value
  fn twice a -> Value =
    let t = a + a
    t
impl Ring for Longest f32 where
  const Value = f32
  fn add a b = max a b
fn f {R : Ring} (reads a: [R.Value; N]) (mut c: [R.Value; N]) =
  for i in 0 .. N do
    store c[i] = R.twice (load a[i])
fn g (reads a: [f32; N]) (mut c: [f32; N]) =
  f @(R = Longest f32) a c
";
    let module = good(text);
    let instance = cachet_core::instance::instantiate(
        &module.program,
        find(&module, "f").1,
        &[Binding::Impl(cachet_core::ir::ImplId(0))],
    );
    let printed = cachet_core::print::listing(&module.program, &instance);
    assert!(printed.contains("let t = max a_2 a_2") && !printed.contains('+'), "{printed}");
    for (method, wanted) in [
        ("fn twice a -> Value = a + 1.0", "literal: "),
        ("fn twice a -> Value = other a", "unknown-name: "),
        ("fn twice a -> Value = add a", "arity: "),
    ] {
        let text = format!("interface Ring where\n  const Value: Type\n  fn add a b -> Value\n  {method}\n");
        assert!(only(&text).0.starts_with(wanted), "{method}: {:?}", reports(&text));
    }
}
