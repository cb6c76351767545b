//! The schedules whose steps are changed, as text. Blocks are of 2, 3 and 4.

/// In place, with order that matters, with sums, and with steps of a user's own.
pub const OWN: &str = r#"import "cachet:steps"

// Each element of `y` takes a term a row, in the order of the rows.
fn grow (reads a: [f32; M, N]) (mut y: [f32; N]) =
  for i in 0 .. M do
    for j in 0 .. N do
      store y[j] = load y[j] * load a[i, j] + load a[i, j]

schedule ragged_columns of grow =
  split j by 3 as gj ragged
  order (gj, i, j)
  parallel gj

schedule whole_columns of grow =
  split j by 4 as gj, 2 as uj
  order (gj, uj, i, j)
  grid over (gj, uj)

schedule rows_and_columns of grow =
  split i by 2 as gi ragged, j by 3 as gj
  order (gj, gi, i, j)
  grid over gj

schedule strips of grow =
  strip j 2 (p, r)
  interchange (i, p)
  parallel p

// Each element is made from the one above it and the one before it.
fn wave (mut c: [f32; M, N]) =
  for i in 0 .. M do
    for j in 0 .. N do
      store c[i, j] = load c[i, j] * (if 0 < i then load c[i - 1, j] else 3.0) + (if 0 < j then load c[i, j - 1] else 5.0)

schedule waves of wave =
  diagonal (i, j)

schedule tiles of wave =
  split i by 2 as gi ragged, j by 3 as gj ragged
  order (gi, gj, i, j)

fn scale (reads a: [f32; N]) (mut y: [f32; N]) =
  for i in 0 .. N do
    store y[i] = load y[i] * load a[i]

schedule backwards of scale =
  reversed i

schedule cut_in_blocks of scale =
  cut i 3 g
  parallel g

schedule odd_and_even of scale =
  paired i (p, r)

schedule even_apart of scale =
  when_even i (p, r)

schedule known of scale =
  nonempty i

fn thirds (reads a: [f32; M, 3]) (mut y: [f32; M]) =
  for i in 0 .. M do
    for j in 0 .. 3 do
      store y[i] = load y[i] * load a[i, j]

schedule written_out of thirds =
  thrice j

contraction product
    (reads a: [f32; M, K])
    (reads b: [f32; K, N])
    -> out c: [f32; M, N] =
  c[i, j] = sum k. a[i, k] * b[k, j]

schedule deep of product =
  zero (i, j) c
  split k by 2 as gk ragged
  order (gk, i, j)
  grid over i

schedule first of product =
  split k by 3 as gk ragged
  order (gk, i, j)

schedule first_whole of product =
  split k by 2 as gk

schedule points of product =
  grid over (j, i)

schedule bands of product =
  split i by 2 as gi ragged
  parallel gi

schedule packed of product (mut packA: [f32; 4, 3]) (mut packB: [f32; 3, 2]) =
  zero (i, j) c
  split k by 3 as gk ragged
  split i by 4 as gi, 2 as ui ragged
  split j by 2 as gj ragged
  order (gk, gj, gi, ui, i, j)
  pack b into packB along gj over (b0, b1) pad 2 with 0.0
  pack a into packA along gi over (a0, a1)

step fn diagonal (i, j) =
  from
    for i in 0 .. $M do
      for j in 0 .. $N do
        $body
  to
    for d in 0 .. $M + $N - 1 do
      for i in max 0 (d - $N + 1) .. min $M (d + 1) do
        $body[j := d - i]
  relate
    reorder S to T all: by (i = i, j = d - i) back (d = i + j, i = i)

step fn reversed i =
  from
    for i in $lo .. $hi do
      $body
  to
    for i in $lo .. $hi do
      $body[i := $lo + $hi - 1 - i]
  relate
    reorder S to T all: by (i = $lo + $hi - 1 - i) back (i = $lo + $hi - 1 - i)

step fn cut i n g =
  from
    for i in $lo .. $hi do
      $body
  to
    for g in blocks ($lo .. $hi) n do
      for i in 0 .. g.len do
        $body[i := g[i]]
  relate
    split S.i by n as g ragged

step fn paired i (p, r) =
  from
    for i in $lo .. $hi do
      $body
  to
    for r in 0 .. 2 do
      for p in 0 .. ($hi - $lo) / 2 do
        $body[i := $lo + (p * 2 + r)]
  relate
    split S.i by 2 as p
    order S (i, p)

step fn when_even i (p, r) =
  from
    for i in 0 .. $N do
      $body
  to
    if $N % 2 == 0 then
      for p in 0 .. $N / 2 do
        for r in 0 .. 2 do
          $body[i := 2 * p + r]
    else
      for i in 0 .. $N do
        $body
  relate
    case $N % 2 == 0 { split S.i by 2 as p } else {}

step fn nonempty i =
  from
    for i in 0 .. $N do
      $body
  to
    for i in 0 .. max $N 1 do
      $body
  relate
    given 1 <= $N

step fn thrice j =
  from
    for j in 0 .. 3 do
      $body
  to
    $body[j := 0]
    $body[j := 1]
    $body[j := 2]
  relate
    unroll S.j
"#;

/// The library's and the built-in steps on sums of all kinds: generic ones, of one and two dimensions, of three operands,
/// over two indices, under an epilogue, of integers, and bound at an implementation.
pub const SUMS: &str = r#"import "cachet:monoid"
import "cachet:steps"

contraction matmul {S : Semiring}
    (reads a: [S.Value; M, K])
    (reads b: [S.Value; K, N])
    -> out c: [S.Value; M, N] =
  c[i, j] = sum k. a[i, k] * b[k, j]

schedule swapped of matmul =
  zero (i, j) c
  hoist (j, k) c
  interchange (i, k)

schedule rows of matmul =
  zero (i, j) c
  hoist (j, k) c
  parallel i

schedule tiled of matmul =
  zero (i, j) c
  split k by 2 as gk ragged
  split i by 4 as gi, 2 as ui ragged
  order (gk, gi, ui, i, j)

schedule shortest of matmul @(S = MinPlus f32) =
  zero (i, j) c
  hoist (j, k) c
  grid over i

contraction matvec {S : Semiring}
    (reads a: [S.Value; M, K])
    (reads x: [S.Value; K])
    -> out y: [S.Value; M] =
  y[i] = sum k. a[i, k] * x[k]

schedule columns of matvec =
  zero i y
  hoist (i, k) y
  strip i 2 (p, r)

schedule dots of matvec =
  split k by 3 as gk ragged
  parallel i

contraction scaled {S : Semiring}
    (reads a: [S.Value; M, K])
    (reads d: [S.Value; K])
    (reads b: [S.Value; K, N])
    -> out c: [S.Value; M, N] =
  c[i, j] = sum k. a[i, k] * d[k] * b[k, j]

schedule scaled_swapped of scaled =
  zero (i, j) c
  hoist (j, k) c
  split j by 2 as gj
  order (i, gj, k, j)

contraction double {S : Semiring}
    (reads a: [S.Value; M, K, L])
    (reads b: [S.Value; L, K])
    -> out c: [S.Value; M] =
  c[i] = sum k, l. a[i, k, l] * b[l, k]

schedule double_swapped of double =
  zero i c
  hoist (i, k) c

schedule double_split of double =
  split k by 2 as gk ragged
  grid over i

contraction layer
    (reads a: [f32; M, K])
    (reads b: [f32; K, N])
    (reads bias: [f32; N])
    -> out c: [f32; M, N] =
  c[i, j] = max (bias[j] + (sum k. a[i, k] * b[k, j])) 0.0

schedule layer_swapped of layer =
  zero (i, j) c
  hoist (j, k) c

contraction product
    (reads a: [i8; M, K])
    (reads b: [i8; K, N])
    -> out c: [i32; M, N]
requires K <= 131071
=
  c[i, j] = sum k. (a[i, k] as i32) * (b[k, j] as i32)

schedule product_swapped of product =
  zero (i, j) c
  hoist (j, k) c
  strip j 2 (p, r)
  interchange (k, p)

// Each row is made from the row before it.
fn below (mut c: [f32; M, N]) =
  for i in 0 .. M - 1 do
    for j in 0 .. N do
      store c[i + 1, j] = load c[i, j] * load c[i + 1, j]

schedule shifted of below =
  interchange (i, j)
"#;

/// A maximum, a sum that wraps around, one that keeps the last that is not 0 (its order matters), shortest paths, and
/// steps of a user's own. Blocks are of 2 and 3.
pub const REGROUPED: &str = r#"import "cachet:monoid"
import "cachet:steps"

interface Joining where
  const Value: Type
  fn empty () -> Value
  fn combine a b -> Value

impl Joining for Last i64 where
  const Value = i64
  fn empty () = 0
  fn combine a b = if b == 0 then a else b
  law associative exactly
  law identity exactly

contraction last
    (reads x: [i64; M, N])
    -> out y: [i64; M] =
  y[i] = reduce Last i64 j. x[i, j]

schedule last_in_blocks of last =
  zero i y
  split j by 2 as gj ragged
  reduce j.inner by (combine: order)

schedule last_across of last =
  zero i y
  split j by 2 as gj ragged
  order (gj, i)
  reduce j by (combine: order)

contraction largest
    (reads x: [f32; M, N])
    (reads s: [f32; M])
    -> out y: [f32; M] =
  y[i] = s[i] * (reduce Max f32 j where j != 1. x[i, j])

schedule largest_in_levels of largest =
  split j by 3 as gj, 2 as uj ragged
  reduce j.inner by (combine: order)
  reduce uj by (combine: order)

contraction added
    (reads x: [u32; M, N])
    -> out y: [u32; M] =
  y[i] = reduce WrappingSum u32 j. wrapping_mul x[i, j] 3

schedule added_in_cells of added =
  zero i y
  hoist (i, j) y
  split j by 3 as gj ragged
  order (gj, i, j)
  reduce j by (combine: order)

contraction nearest {S : Semiring}
    (reads a: [S.Value; M, K])
    (reads x: [S.Value; K])
    -> out y: [S.Value; M] =
  y[i] = sum k. a[i, k] * x[k]

schedule shortest of nearest @(S = MinPlus f32) =
  split k by 2 as gk
  reduce k.inner by (add: order)

step fn blocked k n g =
  from
    store $cell = fold k in $lo .. $hi from $z as $acc: $E do $step
  to
    store $cell =
      fold g in blocks ($lo .. $hi) n from $z as total: $E do
        min total (fold k in 0 .. g.len from $z as $acc: $E do $step[$acc][k := g[k]])
  relate
    split S.k by n as g ragged
    regroup S.k (add: order) by idempotent

schedule by_own_step of nearest @(S = MinPlus f32) =
  blocked k 3 gk
"#;

/// Tiles held in registers, from each start that a sum may have; copies, whole, filled up and in lanes; what is kept.
pub(super) const TILES: &str = r#"
import "cachet:steps"
import "cachet:monoid"
import "cachet:layouts"

contraction matmul {S : Semiring}
    (reads a: [S.Value; M, K])
    (reads b: [S.Value; K, N])
    -> out c: [S.Value; M, N] =
  c[i, j] = sum k. a[i, k] * b[k, j]

schedule tile_goes_on of matmul @(S = PlusTimes f32) =
  zero (i, j) c
  split k by 3 as gk ragged
  split i by 2 as gi ragged
  split j by 4 as gj ragged
  order (gk, gi, gj, i, j)
  registers (i, j) into c rows 2 lanes 4 through fma

schedule tile_from_nothing of matmul @(S = PlusTimes f64) =
  split i by 3 as gi ragged
  split j by 2 as gj ragged
  order (gi, gj, i, j)
  registers (i, j) into c rows 3 lanes 3 through fma

schedule tile_first of matmul @(S = PlusTimes f32) =
  split k by 2 as gk ragged
  split i by 2 as gi ragged
  split j by 3 as gj ragged
  order (gk, gi, gj, i, j)
  registers (i, j) into c rows 2 lanes 3 through fma

schedule tile_turned of matmul @(S = MinPlus f32) =
  split i by 2 as gi ragged
  split j by 3 as gj ragged
  order (gj, gi, j, i)
  registers (i, j) into c rows 2 lanes 3 through min

schedule tile_exact of matmul @(S = PlusTimes f32) =
  zero (i, j) c
  split i by 2 as gi
  split j by 2 as gj
  order (gi, gj, i, j)
  registers (i, j) into c rows 2 lanes 2 through fma

schedule tile_packed of matmul @(S = PlusTimes f32)
    (mut packB: [f32; 3, 4] in ColumnPanels 2 at DRAM) =
  zero (i, j) c
  split k by 3 as gk ragged
  split i by 2 as gi ragged
  split j by 4 as gj, 2 as uj ragged
  order (gk, gj, gi, uj, i, j)
  parallel gi
  pack_lanes b into packB along gj over (b0, b1, bt) lanes 3
  registers (i, j) into c rows 2 lanes 2 through fma

// Two terms at once, the second first.
instr fn two_terms (a: Vec f32 2) (b: Vec f32 4) (acc: Vec f32 2) -> Vec f32 2 =
  var sums: Vec f32 2 = acc
  for l in 0 .. 2 do
    let first = fma (a[1]) (b[2 * l + 1]) (acc[l])
    sums[l] = fma (a[0]) (b[2 * l]) first
  sums

schedule grouped_in_parts of matmul @(S = PlusTimes f32) =
  split i by 2 as gi ragged
  split j by 4 as gj ragged
  order (gi, gj, i, j)
  registers (i, j) into c rows 2 lanes 4 through fma
  dot_products k c two_terms

schedule grouped_from_cells of matmul @(S = PlusTimes f32) =
  zero (i, j) c
  split k by 3 as gk ragged
  split i by 2 as gi
  split j by 2 as gj
  order (gk, gi, gj, i, j)
  registers (i, j) into c rows 2 lanes 2 through fma
  dot_products k c two_terms

instr fn outer_of_two (column: Vec f32 2) (row: Vec f32 2) (acc: Vec f32 4) -> Vec f32 4 =
  var sums: Vec f32 4 = acc
  for l in 0 .. 4 do
    sums[l] = fma (column[l / 2]) (row[l % 2]) (acc[l])
  sums

schedule blocks_left_over of matmul @(S = PlusTimes f32) =
  split i by 4 as gi ragged
  split j by 4 as gj ragged
  order (gi, gj, i, j)
  registers (i, j) into c rows 4 lanes 4 through fma
  outer_products i c 2 2 outer_of_two
"#;
