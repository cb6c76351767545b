//! The schedules whose steps are changed, as text.

/// In place, with order that matters, with sums, and with steps of a user's own. Blocks are of 2, 3 and 4.
pub const TEXT: &str = r#"import "cachet:steps"

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

/// Every step of every schedule: the schedule and how many steps it has.
pub const PLACES: &[(&str, usize)] = &[
    ("ragged_columns", 3),
    ("whole_columns", 3),
    ("rows_and_columns", 3),
    ("strips", 3),
    ("waves", 1),
    ("tiles", 2),
    ("backwards", 1),
    ("cut_in_blocks", 2),
    ("odd_and_even", 1),
    ("even_apart", 1),
    ("known", 1),
    ("written_out", 1),
    ("deep", 4),
    ("first", 2),
    ("first_whole", 1),
    ("points", 1),
    ("bands", 2),
];
