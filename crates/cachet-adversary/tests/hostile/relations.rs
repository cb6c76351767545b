//! Recipes whose moves would claim more than they keep.

use cachet_adversary::lie::{Lie, given, gives, s};
use cachet_core::ir::{Guard, Ix, Rel, StmtKind, Word};
use cachet_core::pattern::{MoveKind, PatGuard, PatIx};

/// `order` that names a loop twice would run its iterations once for each.
#[test]
fn an_order_names_a_loop_once() {
    let lie = Lie::new(
        "twice",
        "fn s (mut c: [f32; M]) =
  for i in 0 .. M do
    store c[i] = load c[i] * 3.0

fn t (mut c: [f32; M]) =
  for p in 0 .. M do
    for i in 0 .. M do
      store c[i] = load c[i] * 3.0
",
    );
    let message = lie.by(vec![MoveKind::Order(vec![s("i"), s("i")])]).is_refused();
    assert!(message.contains("more than once"), "{message}");
}

/// `T`'s outer loop has the id of a loop inside `S`'s body: what the map puts there would be captured.
#[test]
fn a_map_is_not_captured_by_loops_of_the_body() {
    let lie = Lie::new(
        "captured_inside",
        "fn s (reads a: [f32; M, M]) (mut c: [f32; M, M]) =
  for i in 0 .. M do
    for k in 0 .. M do
      store c[i, k] = load a[i, k]

fn t (reads a: [f32; M, M]) (mut c: [f32; M, M]) =
  for k in 0 .. M do
    for q in 0 .. M do
      store c[q, q] = load a[q, q]
",
    );
    let i = lie.var("i");
    let k = lie.var("k");
    let reorder = MoveKind::Reorder { by: vec![gives(i, Ix::Var(k))], back: vec![gives(k, Ix::Var(i))] };
    lie.by(vec![reorder]).is_refused();
}

/// `T`'s loop has the id of a loop around `S`'s nest.
#[test]
fn a_loop_of_t_does_not_capture_what_surrounds_s() {
    let lie = Lie::new(
        "captured_outside",
        "fn s (reads a: [f32; M, M]) (mut c: [f32; M, M]) =
  for z in 0 .. M do
    for i in 0 .. M do
      store c[z, i] = load a[z, i]

fn t (reads a: [f32; M, M]) (mut c: [f32; M, M]) =
  for w in 0 .. M do
    for z in 0 .. M do
      store c[z, z] = load a[z, z]
",
    );
    let i = lie.var("i");
    let z = lie.var("z");
    let reorder = MoveKind::Reorder { by: vec![gives(i, Ix::Var(z))], back: vec![gives(z, Ix::Var(i))] };
    lie.by(vec![reorder]).is_refused();
}

/// The same shared ids where nothing is captured: an honest renaming.
#[test]
fn shared_ids_alone_are_no_reason_to_refuse() {
    let lie = Lie::new(
        "shared",
        "fn s (reads a: [f32; M, M]) (mut c: [f32; M, M]) =
  for i in 0 .. M do
    for k in 0 .. M do
      store c[i, k] = load a[i, k]

fn t (reads a: [f32; M, M]) (mut c: [f32; M, M]) =
  for k in 0 .. M do
    for q in 0 .. M do
      store c[M - 1 - k, q] = load a[M - 1 - k, q]
",
    );
    let m = Ix::Var(lie.before().sizes[0]);
    let mirror = |v| {
        let last = Ix::Sub(Box::new(m.clone()), Box::new(Ix::Lit(1)));
        Ix::Sub(Box::new(last), Box::new(Ix::Var(v)))
    };
    let (i, k) = (lie.var("i"), lie.var("k"));
    let reorder = MoveKind::Reorder { by: vec![gives(i, mirror(k))], back: vec![gives(k, mirror(i))] };
    lie.by(vec![reorder]).is_accepted();
}

/// A map may speak of nothing that its side does not know.
#[test]
fn a_map_names_only_what_is_known() {
    for unknown in [7_000_000, 2] {
        let lie = Lie::new(
            "unknown",
            "fn s (mut c: [f32; M]) =
  for i in 0 .. M do
    store c[i] = 1.0
  for j in 0 .. M do
    store c[j] = load c[j] + 2.0

fn t (mut c: [f32; M]) =
  for p in 0 .. M do
    store c[0] = 1.0
  for j in 0 .. M do
    store c[j] = load c[j] + 2.0
",
        );
        let (i, p) = (lie.var("i"), lie.var("p"));
        let far = cachet_core::ir::Var(unknown);
        let reorder = MoveKind::Reorder { by: vec![gives(i, Ix::Var(far))], back: vec![gives(p, Ix::Var(far))] };
        lie.by(vec![reorder]).is_refused();
    }
}

/// An outer sum unrolled puts an inner one in two branches; what holds in one may not be used in the other.
#[test]
fn a_sum_in_two_branches_is_split_in_each() {
    let sum = "fold v in 0 .. N from 1.0 as t: f32 do t + load a[v]";
    let blocks = |n: u32| {
        format!(
            "(fold g in 0 .. N / 4 from 1.0 as u{n}: f32 do fold v in 0 .. 4 from u{n} as t{n}: f32 do t{n} + load a[4 * g + v])"
        )
    };
    let text = format!(
        "fn s (reads a: [f32; N]) (mut c: [f32; 1]) =
  store c[0] = fold k in 0 .. 1 from ({sum}) as r: f32 do
    if N % 4 == 0 then r else r * 5.0

fn t (reads a: [f32; N]) (mut c: [f32; 1]) =
  store c[0] = if N % 4 == 0 then {} else {} * 5.0
",
        blocks(1),
        blocks(2)
    );
    let lie = Lie::new("two_branches", &text);
    let split = MoveKind::Split { of: s("v"), by: PatIx::Lit(4), outer: "g".into(), ragged: false };
    lie.by(vec![MoveKind::Unroll(s("k")), split]).is_refused();
}

/// A guard that is too deep to be renamed may not turn into one that never holds.
#[test]
fn a_guard_too_deep_to_handle_is_not_dropped() {
    let mut lie = Lie::new(
        "deep",
        "fn s (reads a: [f32; N]) (mut c: [f32; 1]) =
  store c[0] = fold k in 0 .. N from 1.0 as r: f32 do
    let v = r + load a[k]
    v

fn t (reads a: [f32; N]) (mut c: [f32; 1]) =
  store c[0] = fold k in 0 .. N from 1.0 as r: f32 do
    let v = r + load a[k]
    if k == 0 then 7.0 else v
",
    );
    fn deepen(w: &mut Word) {
        match w {
            Word::Let(_, _, b) => deepen(b),
            Word::Fold(f) => deepen(&mut f.body),
            Word::If(g, ..) => {
                let Guard::Cmp(Rel::Eq, k, _) = &**g else { panic!("a comparison") };
                let mut deep = k.clone();
                // The index itself at every even depth.
                for _ in 0..300 {
                    deep = Ix::Sub(Box::new(k.clone()), Box::new(deep));
                }
                **g = Guard::Cmp(Rel::Eq, deep, Ix::Lit(0));
            }
            _ => {}
        }
    }
    let StmtKind::Store { word, .. } = &mut lie.rewrite.after.body[0].kind else { panic!("a store") };
    deepen(word);
    lie.is_refused();
}

/// What nothing binds at the site has no value, so it can neither be given nor decide a case (A13).
#[test]
fn a_condition_names_only_what_is_known() {
    let text = "fn s (mut c: [f32; M]) =
  for i in 0 .. M do
    store c[i] = 1.0

fn t (mut c: [f32; M]) =
  for p in 0 .. M do
    if p < 3 then
      store c[p] = 1.0
    else
      store c[p] = 2.0
";
    let below_three = |v| Guard::Cmp(Rel::Lt, Ix::Var(v), Ix::Lit(3));
    let lie = Lie::new("condition", text);
    for v in [lie.var("i"), lie.var("p"), cachet_core::ir::Var(7_000_000)] {
        let case = MoveKind::Case { guard: PatGuard::Known(below_three(v)), then: vec![], els: vec![] };
        for line in [given(below_three(v)), case] {
            let message = Lie::new("condition", text).by(vec![line]).is_refused();
            assert!(message.contains("is not known there"), "{message}");
        }
    }
}

/// A total that is used twice doubles with every term that is written out, and one that is not grows deep.
#[test]
fn words_that_grow_are_refused() {
    let lines = "    x = x * x\n".repeat(80);
    let doubled = format!(
        "fn s (mut c: [f32; 1]) =
  var x: f32 = 2.0
  for i in 0 .. 1 do
{lines}  store c[0] = x

fn t (mut c: [f32; 1]) =
  var x: f32 = 2.0
  for i in 0 .. 1 do
{lines}    x = x + x
  store c[0] = x
"
    );
    assert!(Lie::new("doubled_lines", &doubled).check().is_err());
    let twice = |last: &str| {
        format!(
            "(reads a: [f32; 200]) (mut c: [f32; 1]) =
  store c[0] = fold k in 0 .. 200 from 2.0 as r: f32 do
    r * r {last} load a[k]
"
        )
    };
    let text = format!("fn s {}\nfn t {}", twice("+"), twice("-"));
    assert!(Lie::new("doubled_sum", &text).by(vec![MoveKind::Unroll(s("k"))]).check().is_err());
    let chain = |last: &str| {
        format!(
            "(reads a: [f32; 4000]) (mut c: [f32; 1]) =
  for k in 0 .. 4000 do
    store c[0] = load c[0] {last} load a[k]
"
        )
    };
    let text = format!("fn s {}\nfn t {}", chain("+"), chain("-"));
    assert!(Lie::new("chain", &text).by(vec![MoveKind::Unroll(s("k"))]).check().is_err());
}

/// A store to a cell that is plainly another one is passed over; one to a cell that may be the same is not.
#[test]
fn a_store_is_passed_over_only_where_it_misses() {
    let text = |between: &str, word: &str| {
        let body = |word: &str| {
            format!(
                "(mut c: [f32; 2 * M + 8]) (mut y: [f32; M, M]) =
  for i in 0 .. M do
    for j in 0 .. M do
      store c[i] = 1.0
      store c[{between}] = 2.0
      store y[i, j] = {word}
"
            )
        };
        format!("fn s {}\nfn t {}", body("load c[i]"), body(word))
    };
    Lie::new("plainly", &text("i + 3", "1.0")).is_accepted();
    Lie::new("plainly_the_last", &text("M + 7", "1.0")).is_accepted();
    Lie::new("the_same", &text("2 * i - i", "2.0")).is_accepted();
    for between in ["j", "i / 2", "i + j", "min i j"] {
        Lie::new("perhaps", &text(between, "1.0")).is_refused();
        Lie::new("perhaps_not", &text(between, "2.0")).check().expect_err("each may be the last store");
    }
}
