//! Functions, proposals and assertions written by hand, each wrong in a way that few changes happen upon.

use crate::lie::{Lie, s};
use cachet_core::ir::Ix;
use cachet_core::pattern::{MoveKind, PatIx, Side};

/// A function that does what no function may.
pub struct Wrong {
    /// What is wrong, in a few words.
    pub what: &'static str,
    /// Its text; the function is called `f`. Where another one is called `exact`, it says what `f` should leave.
    pub text: &'static str,
}

/// Functions whose fault shows in other words than those of exact arithmetic, or at sizes far apart.
pub const FUNCTIONS: &[Wrong] = &[
    Wrong {
        what: "a sum of two that does not fit",
        text: "fn f (reads x: [i32; N]) (mut y: [i64; N]) =
  for i in 0 .. N do
    store y[i] = (load x[i] + load x[i]) as i64

fn exact (reads x: [i32; N]) (mut y: [i64; N]) =
  for i in 0 .. N do
    store y[i] = (load x[i] as i64) + (load x[i] as i64)
",
    },
    Wrong {
        what: "a product that does not fit",
        text: "fn f (reads x: [i16; N]) (mut y: [i64; N]) =
  for i in 0 .. N do
    store y[i] = (load x[i] * load x[i]) as i64

fn exact (reads x: [i16; N]) (mut y: [i64; N]) =
  for i in 0 .. N do
    store y[i] = (load x[i] as i64) * (load x[i] as i64)
",
    },
    Wrong {
        what: "a difference below 0 of what has no sign",
        text: "fn f (reads x: [u32; N]) (mut y: [i64; N]) =
  for i in 0 .. N do
    store y[i] = (load x[i] - 7) as i64

fn exact (reads x: [u32; N]) (mut y: [i64; N]) =
  for i in 0 .. N do
    store y[i] = (load x[i] as i64) - 7
",
    },
    Wrong {
        what: "a mask of more lanes than there are",
        text: "fn f (reads x: [f32; N]) (mut y: [f32; N + 8]) =
  store y[0 ..+ 4] = splat 1.0 mask N
",
    },
    Wrong {
        what: "a mask below none",
        text: "fn f (reads x: [f32; N]) (mut y: [f32; 8]) requires N <= 7 =
  store y[0 ..+ 4] = splat 1.0 mask N - 3
",
    },
    Wrong {
        what: "lanes moved up by one in their array",
        text: "fn f (reads x: [f32; N]) (mut y: [f32; N + 8]) =
  store y[1 ..+ 4] = load y[0 ..+ 4]
",
    },
    Wrong {
        what: "lanes moved down by one in their array",
        text: "fn f (reads x: [f32; N]) (mut y: [i32; N + 8]) =
  for i in 0 .. N do
    store y[i ..+ 7] = max (load y[i + 1 ..+ 7]) (splat 3)
",
    },
    Wrong {
        what: "an index as a byte",
        text: "fn f (mut y: [i8; N]) =
  for i in 0 .. N do
    store y[i] = (i * 40) as i8
",
    },
    Wrong {
        what: "an index below 0 as a word without a sign",
        text: "fn f (mut y: [u32; N]) =
  for i in 0 .. N do
    store y[i] = (i - 3) as u32
",
    },
    Wrong {
        what: "an array as long as a loop's variable that may be below 0",
        text: "fn f (mut y: [f32; N]) =
  for i in -2 .. 1 do
    alloc p: [f32; i]
    for j in 0 .. N do
      store y[j] = 0.0
",
    },
    Wrong {
        what: "an array shorter than nothing",
        text: "fn f (mut y: [f32; N]) =
  alloc p: [f32; N - 3]
  for j in 0 .. N do
    store y[j] = 0.0
",
    },
    Wrong {
        what: "a call that does not meet a requirement",
        text: "fn halves (mut y: [f32; N])
requires N % 2 == 0
=
  for i in 0 .. N do
    store y[i] = 0.0

fn f (mut y: [f32; N]) =
  halves y
",
    },
    Wrong {
        what: "a call with as many as it may not have",
        text: "fn some (mut y: [f32; N])
requires 1 <= N
=
  for i in 0 .. N do
    store y[i] = 0.0

fn f (mut y: [f32; N]) =
  some y
",
    },
];

/// Schedules of which one step is wrong where it is asked for.
pub const SCHEDULES: &[Wrong] = &[
    Wrong {
        what: "a sum that reads the cells it is kept in",
        text: "step fn opened (i, k) c =
  from
    for i in $A do
      store $cell = fold k in $lo .. $hi from (load $cell) as $acc: $E do $step
  to
    for i in $A do
      for k in $lo .. $hi do
        let $acc = load $cell
        store $cell = $step[$acc]
  relate
    per cell c fold S.k

fn f (mut c: [f32; N]) =
  for i in 0 .. N do
    store c[i] = fold k in 0 .. N from (load c[i]) as t: f32 do t + load c[k]

schedule wrong of f =
  opened (i, k) c
",
    },
    Wrong {
        what: "a sum that reads its own cell at one place",
        text: "step fn opened (i, k) c =
  from
    for i in $A do
      store $cell = fold k in $lo .. $hi from (load $cell) as $acc: $E do $step
  to
    for i in $A do
      for k in $lo .. $hi do
        let $acc = load $cell
        store $cell = $step[$acc]
  relate
    per cell c fold S.k

fn f (mut c: [f32; 4, 4]) =
  for i in 0 .. 4 do
    store c[i, 3] = fold k in 0 .. 4 from (load c[i, 3]) as t: f32 do t * 2.0 + load c[i, k]

schedule wrong of f =
  opened (i, k) c
",
    },
    Wrong {
        what: "an exact split of a length that may be no multiple",
        text: "step fn halved i g =
  from
    for i in $lo .. $hi do
      $body
  to
    for g in 0 .. ($hi - $lo) / 2 do
      for i in 0 .. 2 do
        $body[i := $lo + (2 * g + i)]
  relate
    split S.i by 2 as g

fn f (mut y: [f32; 8]) =
  for m in 0 .. 8 do
    for i in 0 .. m do
      store y[i] = load y[i] * 2.0 + 1.0

fn h (mut y: [f32; 9]) =
  for m in 0 .. 3 do
    for i in m .. 8 do
      store y[i] = load y[i] * 2.0 + 1.0

schedule wrong of f =
  halved i g

schedule shifted of h =
  halved i g
",
    },
    Wrong {
        what: "loops exchanged that follow one another",
        text: "import \"cachet:steps\"

fn f (mut c: [f32; M, N]) =
  for i in 0 .. M - 1 do
    for j in 0 .. N - 1 do
      store c[i + 1, j] = load c[i, j + 1] * 2.0

fn g (mut c: [f32; M, N]) =
  for i in 0 .. M do
    for j in 0 .. N do
      store c[0, 0] = load c[0, 0] * 2.0 + load c[i, j]

schedule across of f =
  interchange (i, j)

schedule inside of g =
  interchange (i, j)
",
    },
    Wrong {
        what: "sums of floats regrouped",
        text: "import \"cachet:monoid\"

contraction total
    (reads x: [f32; M, N])
    -> out y: [f32; M] =
  y[i] = sum j. x[i, j]

contraction row
    (reads x: [f64; N, 1])
    -> out y: [f64; 1] =
  y[i] = sum j. x[j, i] * x[j, i]

schedule wrong of total =
  split j by 2 as gj ragged
  reduce j.inner by (add: order)

schedule squares of row =
  split j by 3 as gj ragged
  reduce j.inner by (add: order)
",
    },
    Wrong {
        what: "an iteration mapped to where none is",
        text: "step fn shifted i =
  from
    for i in 0 .. $N do
      $body
  to
    for i in 0 .. $N do
      $body[i := i / 2]
  relate
    reorder S to T all: by (i = i / 2) back (i = i)

step fn mirrored i =
  from
    for i in 0 .. $N do
      $body
  to
    for i in 0 .. $N do
      $body[i := max (i - 1) 0]
  relate
    reorder S to T all: by (i = max (i - 1) 0) back (i = i)

fn f (reads x: [f32; N]) (mut y: [f32; N]) =
  for i in 0 .. N do
    store y[i] = load x[i] * 2.0

schedule twice of f =
  shifted i

schedule clipped of f =
  mirrored i
",
    },
];

/// Assertions that are false at some sizes.
pub const ASSERTIONS: &[&str] = &[
    "ceil (N / 4) * 4 == N",
    "floor (N / 2) + ceil (N / 2) == N + 1",
    "max M N + min M N != M + N",
    "M < N || M > N",
    "M % 3 <= 1",
    "N - 1 >= 0",
];

/// Proposals of which one kind of condition tells that they are wrong.
pub fn proposals() -> Vec<Lie> {
    let (none, first) = (Vec::new, || vec![MoveKind::First(s("k"))]);
    [
        ("another start", started("0"), started("1"), none()),
        ("another start in a loop", started_in_loop("i"), started_in_loop("0"), none()),
        ("another guard", branched("i < 3"), branched("i < 4"), none()),
        ("half of a guard", branched("i < 3 && 1 < N"), branched("i < 3"), none()),
        ("a first of none", FIRST.0.into(), FIRST.1.into(), first()),
        ("a first of a block of none", FIRST_OF_HALF.0.into(), FIRST_OF_HALF.1.into(), first()),
        ("a dead cell that is read", held("0 .. 2", "3"), held("0 .. 4", "3"), narrowed(2)),
        ("a bound beyond what is filled", held("0 .. 3", "2"), held("0 .. 2", "2"), narrowed(3)),
        ("a cell after those that are copies", copied("3"), held("0 .. 2", "3"), copy()),
        ("a cell before those that are copies", copied("0"), held("1 .. 4", "0"), copy()),
    ]
    .into_iter()
    .map(|(name, s, t, recipe)| Lie::new(name, &format!("fn s {s}\nfn t {t}")).by(recipe))
    .collect()
}

/// Some of an array's cells filled, and one read.
fn held(filled: &str, read: &str) -> String {
    format!(
        "(reads a: [f32; 4]) (mut c: [f32; N]) =
  for i in 0 .. N do
    var x: [f32; 4] = 0.0
    for l in {filled} do
      x[l] = load a[l]
    store c[i] = x[{read}]
"
    )
}

fn copied(read: &str) -> String {
    format!("(reads a: [f32; 4]) (mut c: [f32; N]) =\n  for i in 0 .. N do\n    store c[i] = load a[{read}]\n")
}

fn copy() -> Vec<MoveKind> {
    vec![MoveKind::Copy(Side::T, "x".into())]
}

fn narrowed(to: i64) -> Vec<MoveKind> {
    vec![MoveKind::Narrow { side: Side::T, local: "x".into(), axis: 0, to: PatIx::Known(Ix::Lit(to)) }]
}

fn started(at: &str) -> String {
    format!(
        "(reads a: [f32; 4]) (mut c: [f32; N]) =
  var x: f32 = load a[{at}]
  for i in 0 .. N do
    x = x * 2.0
    store c[i] = x
"
    )
}

fn started_in_loop(at: &str) -> String {
    format!(
        "(reads a: [f32; N]) (mut c: [f32; N, 2]) =
  for i in 0 .. N do
    var x: f32 = load a[{at}]
    for j in 0 .. 2 do
      x = x * 2.0
      store c[i, j] = x
"
    )
}

fn branched(guard: &str) -> String {
    format!(
        "(mut c: [f32; N]) =
  for i in 0 .. N do
    if {guard} then
      store c[i] = 1.0
    else
      store c[i] = 2.0
"
    )
}

/// A start that is stored before a loop, and in the loop's first iteration: there may be none.
const FIRST: (&str, &str) = (
    "(reads a: [f32; K]) (mut c: [f32; 1]) =
  store c[0] = 0.0
  for k in 0 .. K do
    store c[0] = load c[0] + load a[k]
",
    "(reads a: [f32; K]) (mut c: [f32; 1]) =
  for k in 0 .. K do
    if k == 0 then
      store c[0] = 0.0
    store c[0] = load c[0] + load a[k]
",
);

/// The same in a loop that has an iteration for every two.
const FIRST_OF_HALF: (&str, &str) = (
    "(reads a: [f32; K]) (mut c: [f32; 1]) =
  store c[0] = 0.0
  for k in 0 .. K / 2 do
    store c[0] = load c[0] + load a[2 * k]
",
    "(reads a: [f32; K]) (mut c: [f32; 1]) =
  for k in 0 .. K / 2 do
    if k == 0 then
      store c[0] = 0.0
    store c[0] = load c[0] + load a[2 * k]
",
);
