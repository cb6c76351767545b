//! What is worth knowing and refuses nothing.

mod text;

use text::load;

/// The reports of a text, which refuse nothing.
fn warnings(text: &str) -> Vec<String> {
    let outcome = load(text);
    assert!(!outcome.refused(), "{:?}", outcome.diagnostics);
    outcome.diagnostics.iter().map(|d| format!("{}: {}", d.code.0, d.message)).collect()
}

#[test]
fn code_that_no_sizes_reach() {
    let text = "const EDGE = 0
fn g (reads x: [f32; N]) -> out y: [f32; N]
requires N % 2 == 0
=
  for i in 0 .. N do
    if i % 2 == 1 && i + 1 > N then
      store y[i] = 0.0
    else
      if i < N then
        store y[i] = load x[i]
      else
        store y[0] = 1.0
  for i in 0 .. EDGE do
    for j in N .. 0 do
      store y[i] = load x[j]
";
    assert_eq!(
        warnings(text),
        [
            "dead-code: this branch never runs: i % 2 == 1 && N < i + 1 never holds",
            "dead-code: the `else` of this branch never runs: i < N always holds",
            "dead-code: this loop never runs: i in 0 .. 0",
        ]
    );
    // Some sizes reach each of these.
    let text = "fn g (reads x: [f32; N]) (mut y: [f32; N]) =
  for i in 4 .. N do
    if i > 100 then
      store y[i] = load x[i]
    else
      for k in 5 .. i do
        store y[k] = 1.0
";
    assert_eq!(warnings(text), Vec::<String>::new());
}

#[test]
fn intermediates_that_nothing_uses() {
    let text = "contraction f (reads x: [f32; N]) -> out y: [f32; N] =
  s[i] = x[i] * x[i]
  t[i] = x[i]
  u[i] = s[i]
  y[i] = let v = t[i] in v + v
";
    assert_eq!(warnings(text), ["unused: nothing uses `u`, so it is never computed"]);
}
