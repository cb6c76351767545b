//! What the formatter writes for each shape of the language.

use super::good;
use crate::{MAX_DEPTH, Unformatted, ast, format, parse};
use cachet_source::{FileId, codes};

/// A file's typed syntax without its places: equal for texts that say the same.
pub(super) fn said(file: &ast::File) -> String {
    let text = format!("{file:?}");
    let mut out = String::with_capacity(text.len() / 2);
    let mut parts = text.split("Span {");
    out.extend(parts.next());
    for part in parts {
        let (_, rest) = part.split_once('}').expect("a span is one pair of braces");
        out.push_str(rest);
    }
    out
}

/// The comments of a text, in order.
pub(super) fn comments(text: &str) -> Vec<String> {
    let tree = parse(text, FileId(0)).tree;
    let tokens = tree.descendants_with_tokens().filter_map(|e| e.into_token());
    tokens.filter(|t| t.kind() == crate::SyntaxKind::Comment).map(|t| t.text().trim_end().to_owned()).collect()
}

/// The formatted text, after a look at everything that holds of every text that parses.
pub(super) fn sound(text: &str) -> String {
    let formatted = format(text, FileId(0)).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let before = parse(text, FileId(0));
    assert!(before.diagnostics.is_empty(), "{text}");
    assert_eq!(said(&good(&formatted)), said(&before.ast), "{text}\n--- formatted\n{formatted}");
    assert_eq!(comments(&formatted), comments(text), "{text}\n--- formatted\n{formatted}");
    let again = format(&formatted, FileId(0)).unwrap_or_else(|e| panic!("{e:?}\n{formatted}"));
    assert_eq!(again, formatted, "not idempotent");
    assert!(formatted.is_empty() || formatted.ends_with('\n') && !formatted.ends_with("\n\n"), "{formatted:?}");
    assert!(!formatted.contains("\n\n\n") && !formatted.contains('\r') && !formatted.starts_with('\u{feff}'));
    assert!(formatted.lines().all(|l| l.trim_end() == l), "{formatted:?}");
    formatted
}

fn is(text: &str, want: &str) {
    let got = sound(text);
    assert!(got == want, "--- text\n{text}\n--- wanted\n{want}\n--- got\n{got}");
}

/// In the body of `fn f () =`.
fn body(text: &str, want: &str) {
    is(&format!("fn f () =\n{text}"), &format!("fn f () =\n{want}"));
}

#[test]
fn headers_and_bodies() {
    is(
        "contraction mv\n  (reads a:[f32;M,K])\n  ( reads x : [ f32 ; K ] )\n  ->out y: [f32; M]=\n      y[i]=sum k.a[i,k]*x[k]\n",
        "contraction mv\n    (reads a: [f32; M, K])\n    (reads x: [f32; K])\n    -> out y: [f32; M] =\n  y[i] = sum k. a[i, k] * x[k]\n",
    );
    is(
        "fn twice\n(reads a: [f32;\nN])\n(mut c: [f32; N])\n -> f32\n  produces Init c,\nrequires N > 0,\n     Init a\nscratch p\n=\n other a c\n",
        "fn twice\n    (reads a: [f32;\n        N])\n    (mut c: [f32; N])\n    -> f32\nproduces Init c,\nrequires N > 0,\n  Init a\nscratch p\n=\n  other a c\n",
    );
    is("fn f () requires N > 0,\n  M > 0 =\n g x\n", "fn f () requires N > 0,\n    M > 0 =\n  g x\n");
    is(
        "schedule quick of mv @ (R=PlusTimes f32)\n (mut p: [f32; M, 64] in Panels 4 at DRAM) =\n zero(i)y\n",
        "schedule quick of mv @(R = PlusTimes f32)\n    (mut p: [f32; M, 64] in Panels 4 at DRAM) =\n  zero (i) y\n",
    );
    is("fn f\n    (x: f32) = g\n      x\n", "fn f\n    (x: f32) = g\n  x\n");
}

#[test]
fn accounts() {
    is(
        "fn f (reads p: [f32; M])\nworking_set\n    @L1{keep p=descriptor p}\n    @ L2 { keep q = descriptor q,\n  keep r = descriptor r }\nmovement\n traffic p_pull=ceil (M/16)*\n     lines (span_bytes p.span)\n   from DRAM to L1 and back\n traffic 8 from DRAM to L1\n=\n g p\n",
        "fn f (reads p: [f32; M])\nworking_set\n  @L1 { keep p = descriptor p }\n  @L2 { keep q = descriptor q,\n    keep r = descriptor r }\nmovement\n  traffic p_pull = ceil (M / 16) *\n    lines (span_bytes p.span)\n    from DRAM to L1 and back\n  traffic 8 from DRAM to L1\n=\n  g p\n",
    );
}

#[test]
fn constraints_that_wrap() {
    is(
        "synth const W : Nat =\n minimize w in (w) : w where\n  w > 0, w <= 32,\n  LANES*ceil (w/LANES) >=\n          platform.fma_pipes @ Vec\n",
        "synth const W : Nat =\n  minimize w in (w): w where\n    w > 0, w <= 32,\n    LANES * ceil (w / LANES) >=\n      platform.fma_pipes @Vec\n",
    );
}

#[test]
fn values_on_lines_of_their_own() {
    body("   let m2:f32=\n     max a\n      b\n   g m2\n", "  let m2: f32 =\n    max a\n      b\n  g m2\n");
    body(
        "  let m = max (max\n   (max a b)\n (max c d)\n ) (\n       e)\n",
        "  let m = max (max\n    (max a b)\n    (max c d)\n  ) (\n    e)\n",
    );
    body("  acc'0[1] =\n     fma row\n       row acc'0[1]\n", "  acc'0[1] =\n    fma row\n      row acc'0[1]\n");
    body(
        "  let y = if a then\n       b\n    else\n     c\n  g y\n",
        "  let y = if a then\n      b\n    else\n      c\n  g y\n",
    );
}

#[test]
fn branches() {
    body(
        "  let y = if a then\n     b\n    else if c then\n      d\n    else if e then\n      g\n    else\n     h\n",
        "  let y = if a then\n      b\n    else if c then\n      d\n    else if e then\n      g\n    else\n      h\n",
    );
    body(
        "   if a then\n        g x\n   else if b then h x\n   else\n    g y\n",
        "  if a then\n    g x\n  else if b then h x\n  else\n    g y\n",
    );
    body("  if a then g x\n     else h x\n", "  if a then g x\n  else h x\n");
    body(
        "  if a then\n     if b then g x\n     else h x\n  else k x\n",
        "  if a then\n    if b then g x\n    else h x\n  else k x\n",
    );
    body(
        "  if a &&\n     b then\n   g x\n  let z = load c[i] mask n\n   else 0.0\n",
        "  if a &&\n      b then\n    g x\n  let z = load c[i] mask n\n    else 0.0\n",
    );
    // An `if` below an `else` is a block of its own, and no `else if`.
    body(
        "  for i in 0 .. N do if a then\n    g x\n   else\n    if b then\n     h x\n",
        "  for i in 0 .. N do if a then\n      g x\n    else\n      if b then\n        h x\n",
    );
    body(
        "  if a then let z = load c[i] mask n\n        else 0.0\n",
        "  if a then let z = load c[i] mask n\n    else 0.0\n",
    );
}

#[test]
fn loops_and_grids() {
    is("fn main(\n  ) = g (\n )\n", "fn main (\n    ) = g (\n  )\n");
    body(
        " for i in 0..M do for j in 0 ..N do\n  store c[i,j]=0.0\n for i in 0 .. M do for j in 0 .. N do g c\n",
        "  for i in 0 .. M do for j in 0 .. N do\n    store c[i, j] = 0.0\n  for i in 0 .. M do for j in 0 .. N do g c\n",
    );
    body(
        " grid on Gpu i in 0 .. M / 16,j in blocks (0..N) 8\n  by tile (si,sj) parts [8,8]\n   writes c[i ..+16,j] as ct,\n   d[i] do\n  store ct=t\n",
        "  grid on Gpu i in 0 .. M / 16, j in blocks (0 .. N) 8\n      by tile (si, sj) parts [8, 8]\n      writes c[i ..+ 16, j] as ct,\n      d[i] do\n    store ct = t\n",
    );
    body(
        "  let y = f (fold k in 0 .. K from x as acc do\n          g acc k) (h\n z)\n  f y\n",
        "  let y = f (fold k in 0 .. K from x as acc do\n    g acc k) (h\n      z)\n  f y\n",
    );
    body(
        "  store c[i] = norm (\n      fold k in 0 .. K\n       from z as acc do\n       g acc\n  ) 2\n  g c\n",
        "  store c[i] = norm (\n    fold k in 0 .. K\n        from z as acc do\n      g acc\n  ) 2\n  g c\n",
    );
    body(
        "  let y = f (fold k in 0 .. K from x as acc do\n          g acc k\n     , z)\n",
        "  let y = f (fold k in 0 .. K from x as acc do\n      g acc k\n    , z)\n",
    );
}

#[test]
fn templates_and_platforms() {
    is(
        "instr fn spread (x: Vec f32 4)->Vec f32 4 =\n fma x x x\n by_target metal\n       \"{result}   =  x;\"\n       \"y\"\nplatform Desk where\n level L1 capacity=32768 line=64 source \"a  b\"\n unit Vec where\n  lanes @ f32=8\n",
        "instr fn spread (x: Vec f32 4) -> Vec f32 4 =\n  fma x x x\n  by_target metal\n    \"{result}   =  x;\"\n    \"y\"\n\nplatform Desk where\n  level L1 capacity = 32768 line = 64 source \"a  b\"\n  unit Vec where\n    lanes @f32 = 8\n",
    );
}

#[test]
fn steps() {
    is(
        "step fn turn(i.. ,k) n=\n from\n   for i.. in $A.. do\n     store $cell=$post[ fold k in $lo..$hi from $z as $acc:$E do $step ]\n to\n     $body[i..:=zi..][k:=k+n]\n relate\n   per cell c fold S . k at [i,j]\n   distribute S.i #2 at 1\n   case $lo<$hi then\n     copy T.P\n   else\n    evaluate\n   case a == b {copy S.x} else { }\n",
        "step fn turn (i.., k) n =\n  from\n    for i.. in $A.. do\n      store $cell = $post[fold k in $lo .. $hi from $z as $acc: $E do $step]\n  to\n    $body[i.. := zi..][k := k + n]\n  relate\n    per cell c fold S.k at [i, j]\n    distribute S.i#2 at 1\n    case $lo < $hi then\n      copy T.P\n    else\n      evaluate\n    case a == b { copy S.x } else {}\n",
    );
    is(
        "builtin step split x by  n as g (ragged)? {\n a } ?\n",
        "builtin step split x by n as g (ragged)? {\n  a } ?\n",
    );
}

#[test]
fn operators_and_brackets() {
    body("  let x=-1.0+ - 1.0 - -a-b*- -c\n", "  let x = -1.0 + - 1.0 - -a - b * - -c\n");
    body("  let x= ! a||! (b==c)&&d!=e\n", "  let x = !a || !(b == c) && d != e\n");
    body("  let x:Vec f64 (8*8)=repeat(-0.0)\n", "  let x: Vec f64 (8 * 8) = repeat (-0.0)\n");
    body("  let x: Foo [ f32;4 ] = a[ i ][j] as f32\n", "  let x: Foo [f32; 4] = a[i][j] as f32\n");
    body("  g @ ( S=MinPlus f32 )a c[gi.lo..+16,]( )\n", "  g @(S = MinPlus f32) a c[gi.lo ..+ 16,] ()\n");
    body("  let p = Pair{a,b=x.b}\n", "  let p = Pair { a, b = x.b }\n");
    body(
        "  let s = sum[reassoc] k in 0..3 where k<=i,l . e\n",
        "  let s = sum[reassoc] k in 0 .. 3 where k <= i, l. e\n",
    );
    body("  let s = reduce Top S.Value j.x\n", "  let s = reduce Top S.Value j. x\n");
    is(
        "interface I {S:Semiring , N : Nat} where\n const V :Type\n",
        "interface I {S : Semiring, N : Nat} where\n  const V: Type\n",
    );
    is("const N:Nat=4\n", "const N : Nat = 4\n");
}

#[test]
fn comments_stay_where_they_belong() {
    is(
        "//a\n\n\n// b   \n  // c\nconst N : Nat = 1 // d\n// e\n      // f\nfn f // g\n // h\n  (x: f32) =\n // i\n\n    g x// j\n    // k\n\n    // l\n // m\n\n// n\n",
        "//a\n\n// b\n// c\nconst N : Nat = 1  // d\n\n// e\n// f\nfn f  // g\n    // h\n    (x: f32) =\n  // i\n\n  g x  // j\n  // k\n\n  // l\n// m\n\n// n\n",
    );
    body(
        "  if a then\n     g x\n     // in the branch\n  // before the other\n  else\n     h x\n     // in the other\n  // after both\n  g a // x\n   // between\n    b\n",
        "  if a then\n    g x\n    // in the branch\n  // before the other\n  else\n    h x\n    // in the other\n  // after both\n  g a  // x\n    // between\n    b\n",
    );
    is("// only\r\n", "// only\n");
    is(
        "fn f () =\n  g x\n  // still in f\nfn h () =\n  g x\n",
        "fn f () =\n  g x\n  // still in f\n\nfn h () =\n  g x\n",
    );
    is("fn f () =\n  g x\n// of h\nfn h () =\n  g x\n", "fn f () =\n  g x\n\n// of h\nfn h () =\n  g x\n");
    is("fn f () =\n  g x\n// after f\n\nfn h () =\n  g x\n", "fn f () =\n  g x\n// after f\n\nfn h () =\n  g x\n");
}

/// In braces as well as in blocks, an `else` may stand below its `case`, and does where it started a line.
#[test]
fn a_case_in_braces_goes_on_below() {
    let step = |recipe: &str| format!("step fn s i =\n  from\n    x\n  to\n    x\n  relate\n{recipe}");
    let below = step("    case 6 < i { given 1 < 2 }\n    else { given 2 < 3, given 3 < 4 }\n");
    is(&below, &below);
    is(&step("    case 6 < i { given 1 < 2 }\n          else { given 2 < 3, given 3 < 4 }\n"), &below);
}

#[test]
fn blank_lines() {
    is("", "");
    is("\n \n", "");
    is(
        "\n\nmodule m (platform = P)\nimport \"a\"\n\n\nimport \"b\"\nconst A = 1\nconst B = 2\nconst C =\n  3\nconst D = 4\nfn f () =\n\n  g x\n\n\n  h\n\n    x\n  g x",
        "module m (platform = P)\nimport \"a\"\n\nimport \"b\"\n\nconst A = 1\nconst B = 2\n\nconst C =\n  3\n\nconst D = 4\n\nfn f () =\n  g x\n\n  h\n    x\n  g x\n",
    );
    is(
        "\u{feff}fn f () =\r\n  g a\r\n\r\n  h a\r\nconst N: Nat = 3",
        "fn f () =\n  g a\n\n  h a\n\nconst N : Nat = 3\n",
    );
}

#[test]
fn a_text_that_does_not_parse_is_refused() {
    for text in ["fn f () =\n  let = 3\n", "fn", "\t", "const A = 1\u{0}", "fn f () =\n\tg x\n", "  const A = 1\n", "…"]
    {
        match format(text, FileId(0)) {
            Err(Unformatted::Broken(reports)) => assert!(!reports.is_empty()),
            other => assert!(text == "\t" && other.is_ok(), "{text:?}: {other:?}"),
        }
    }
    let Err(Unformatted::Broken(reports)) = format("const A = 1\nfn f () = let\n", FileId(0)) else { panic!() };
    assert_eq!((reports.len(), reports[0].code), (1, codes::SYNTAX));
}

#[test]
fn deep_and_long_texts() {
    let n = MAX_DEPTH - 8;
    let mut nest = String::from("fn f () =\n");
    for i in 0..n {
        nest += &format!("{}for i in 0 .. M do\n", " ".repeat(i + 1));
    }
    nest += &format!("{}g a\n", " ".repeat(n + 1));
    assert!(sound(&nest).contains(&format!("\n{}g a\n", " ".repeat(2 * n + 2))));
    sound(&format!("const A = {}x{}\n", "(\n".repeat(n), ")\n".repeat(n)));
    let many = "fn f () =\n  g ((x\n), // c\n y)\n".repeat(20_000);
    assert_eq!(sound(&many).lines().count(), 20_000 * 5 - 1);
    // A hundred brackets, each on a line of its own, push what is in them far to the right.
    let wide = format!(" =\n {}{}x{}\n", "(\n".repeat(100), "x +\n".repeat(400), ")".repeat(100));
    let items: Vec<String> = (0..40).map(|i| format!("const A{i}{wide}")).collect();
    assert!(sound(&items.concat()).len() > 40 * 400 * 100);
    assert!(matches!(format(&items.concat().repeat(4), FileId(0)), Err(Unformatted::TooLong)));
}
