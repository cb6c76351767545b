//! Whole files in the language, one a style of program: what the totality tests mutate.

/// Every text here parses without a report.
pub(super) const CORPUS: &[&str] = &[
    r#"module shop (platform = Desk)
import "cachet:steps"
import "../lib/tables.cachet"

// A generic product.
contraction mv {R : Semiring}
    (reads a: [R.Value; M, K])
    (reads x: [R.Value; K])
    -> out y: [R.Value; M] =
  y[i] = sum k. a[i, k] * x[k]

contraction soft
    (reads x: [f32; N, 8])
    -> out y: [f32; N, 8], out total: [f32; N]
requires N > 0
=
  e[i, j] = exp (x[i, j])
  total[i] = sum[reassoc] j. e[i, j]
  y[i, j] = e[i, j] / (sum k in 0 .. 8 where k <= i. e[i, k])

contraction best (reads x: [f32; N]) -> out y: [f32; 1] =
  y[o] = normal (reduce[reassoc] Top f32 j. mark (x[j]) 1.0)

schedule quick of mv @(R = PlusTimes f32)
    (mut pa: [f32; M, 64] in Panels 4 at DRAM) =
  cut (i, k) y (64, 8)

  // Bands for the threads.
  parallel gi
  pack a into pa along gk over (a0, a1)
  keep pa along gk within L2 into pa_L2
  registers (i, j) into y rows 4 lanes 8 through fma

schedule fn cut (i, k) y (A, B) =
  zero (i) y
  split k by A as gk ragged, i by B as gi, 4 as ui
  order (gk, gi, ui, i)

schedule plain of quick on Gpu =
"#,
    r#"const LANES : Nat = platform.lanes @Vec @f32
synth const W : Nat =
  minimize w in (w): w where
    w > 0, w <= 32,
    LANES * ceil (w / LANES) >=
      platform.fma_pipes @Vec
proof wide =
  assert W % LANES == 0 && !(W == 0)

record Pair where
  a: f32
  b: Vec f32 4

interface Fold where
  const Value
  fn empty () -> Value
  fn merge a b
  law merge associative over reals
  law empty identity exactly

impl Fold for Pairs f32 where
  const Value = Pair
  fn empty () = Pair { a = -Num.infinity (), b = -0.0 }
  fn merge (x: Pair) (y: Pair) =
    let a = max x.a y.a
    Pair { a, b = x.b + y.b }
  law merge associative over reals = "two \"sums\", side by side"

layout Panels (r) [i, k] =
  split i by r pad as p
  order p, k, i

instr fn spread (x: Vec f32 4) -> Vec f32 4 =
  fma x x x
  by_target metal
    "{result} = fma({x}, {x}, {x});"

platform Desk where
  target x86_64 feature avx2
  level L1 capacity = 32768 line = 64 source "measured"
  level DRAM
  unit Vec where
    lanes @f32 = 8 source "manual"
    fma_pipes = 2
  device Gpu where
    target metal
    arithmetic flush_subnormals
    group = 32
"#,
    r#"fn copy_in
    (reads a: [f32; M, K])
    (mut p: [f32; 16, 16] in Panels 4 at L2)
    (out c: [f32; M])
scratch p
requires M % 16 == 0, Init c
working_set
  @L2 { keep p = descriptor p }
movement
  traffic p_pull = ceil (M / 16) *
    lines (span_bytes p.span) from DRAM to L2 and back
  traffic 8 from DRAM to L1
=
  for zi in 0 .. M do for zj in 0 .. 1 do
    store c[zi] = -0.0
  for gi in blocks (0 .. M) 16 do
    for ui in blocks (0 .. gi.len) 4 do
      let row: Vec f32 8 = load a[gi[ui[0]], 0 ..+ 8] mask gi.len else 0.0
      var acc'0: [Vec f32 8; 4] = repeat (-0.0)
      acc'0[1] =
        fma row
          row acc'0[1]
      if gi.lo == 0 then
        store c[gi[0]] = fold k in 0 .. K from -0.0 as t: f32 do
          let w = load a[gi[0], k]
          fma w w t
      else if gi.hi == M then f c
      else
        store c[gi[0] ..+ 8] = row mask 8 - gi.len
    lease mut p_L1 = p at L1
    g @(S = MinPlus f32) a c[gi.lo ..+ 16] p_L1

fn shaded (reads x: [f32; 64, 8]) (mut y: [f32; 64, 8]) =
  grid on Gpu gi in 0 .. 64 / 16, gj in 0 .. 1
      by tile (si, sj) parts [8, 8]
      writes y[gi * 16 ..+ 16, 0 ..+ 8] as yt do
    let s: [f32; 16, 8] = load x[gi * 16 ..+ 16, 0 ..+ 8]
    let m = max
        s
        (reduce Max f32 over cols by halving do s)
    store yt = exp (s - m) / (reduce Sum f32 over cols by order do s)

fn main () =
  alloc d: [f32; 4, 4]
  for i in 0 .. 4 do
    store d[i, i] = (i * 7 % 17) as f32
  shaded d d
  print (load d[3, 3])
  print (differing d d)
"#,
    r#"step fn begin (i.., k) c =
  from
    for i.. in $A.. do
      store $cell = $post[fold k in $lo .. $hi from $z as $acc: $E do $step]
  to
    for zi.. in $A.. do
      store $cell[i.. := zi..] = $z
    for i.. in $A.. do
      store $cell = fold k in $lo .. $hi from (load $cell) as $acc: $E do $step
    for i.. in $A.. do
      store $cell = $post[load $cell]
  relate
    per cell c fold S.k at [i, j]
    reorder S to T init: back (gk = 0) all: by (i = i)
    case $lo < $hi then
      copy T.P
    else evaluate
    carry T.$acc as c

step fn turn (i, j) n =
  from
    for i in $A do
      for j in $B do
        $body
  to
    for j in $B do for i in $A do
      $body[i := i + n][j := j]

builtin step split x by n as g (ragged)?
  relate
    split S.x by n as g
"#,
    // Layouts that are legal and rare.
    r#"fn odd
(reads a: [f32; M])
() (b: f32)
 -> f32
requires M > 0,
  M < (
9), Init a
working_set
    @L1 { keep a = descriptor a }
=
    let y = f (fold k in 0 .. K
       from x as acc do
        if k == 0 then
          acc
        else
          g acc k
      , h) (fold k in 0 .. K from x as acc do
          let t = acc
          g t
   , 1)
    let z = if a then
        b
      else if c then
        d
      else
        norm (
  fold i in 0 .. N from (if p then q
else r) as s do
          s +
            i
)
    let w = if a then b
       else
          c
    if (
  a) then
      if b then let v = load c[i,
   j] mask n
          else 0.0
      else
        for i in blocks (
0 .. M) 4 do for j in 0 ..
              N do
           store c[i] =
              v
    else if b then f x else if c then
          g x
    else g (
      )

step fn one (i..) =
  from
      for i.. in $A.. do
          $body
    to
      $body[i.. :=
 zi..]
    relate
      case a < b then
        case b < c then copy S.x
        else
          copy T.x
      else
        case a == b { copy S.x,
 copy T.x } else {}

step fn two i = from
     $body
   to
     $body

builtin step three a (b
  c)?
    relate
       evaluate

builtin step four x relate

interface Ring where
  const Zero: f32 =
     0.0
  fn add a b
    -> Value
  =
     a
       + b
  fn mul a
  (b: f32) () = a

platform P where
  unit U where
     x =
       3
     y @f32 = 4 source
       "here"
  device D where target
     metal
"#,
];
