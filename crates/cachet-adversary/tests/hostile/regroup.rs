//! Recipes that regroup what they may not. Regrouped words are other words, so here the interpreter is the judge: a lie
//! gives other bits for some contents.

use cachet_adversary::lie::{Lie, at, s};
use cachet_core::interpret::{Array, Options, prepare};
use cachet_core::ir::{Fold, Fun, FunId, Program, Ty, Word};
use cachet_core::pattern::{MoveKind, PatIx, Regrouping, Side};
use cachet_core::rewrite::map_block_words;

/// A sum that wraps around, one that keeps the last that is not 0 (its order matters, its grouping does not), one whose
/// laws are only said, and one without a word on grouping.
const OPERATIONS: &str = "interface Joining where
  const Value: Type
  fn none () -> Value
  fn join a b -> Value

impl Joining for Wrapped i64 where
  const Value = i64
  fn none () = 0
  fn join a b = wrapping_add a b
  law join associative exactly
  law join commutative exactly
  law join identity exactly

impl Joining for Last i64 where
  const Value = i64
  fn none () = 0
  fn join a b = if b == 0 then a else b
  law join associative exactly
  law join identity exactly

impl Joining for Said i64 where
  const Value = i64
  fn none () = 0
  fn join a b = wrapping_sub a b
  law join associative exactly
  law join identity exactly

impl Joining for Highest i64 where
  const Value = i64
  fn none () = 5
  fn join a b = max a b
  law join associative exactly
  law join commutative exactly
  law join idempotent exactly

impl Joining for Unsaid i32 where
  const Value = i32
  fn none () = 0
  fn join a b = wrapping_add a b

";

const ADDED: &str = "wrapping_add b (load x[k])";
const LAST: &str = "if load x[k] == 0 then b else load x[k]";

fn lie(name: &str, s: &str, t: &str) -> Lie {
    let head = |name: &str, body: &str| format!("fn {name} (reads x: [i64; N]) (mut y: [i64; 2]) =\n{body}\n");
    let lie = Lie::new(name, &format!("{OPERATIONS}{}\n{}", head("s", s), head("t", t)));
    assert!(lie.program.funs.len() == 2, "{name}");
    lie
}

fn regroup(name: &str, by: Regrouping) -> MoveKind {
    MoveKind::Regroup { of: s(name), op: "join".into(), by }
}

fn split(n: i64) -> MoveKind {
    MoveKind::Split { of: s("k"), by: PatIx::Lit(n), outer: "g".into(), ragged: true }
}

/// Whether the bits differ for some contents at some size.
fn differ(lie: &Lie) -> bool {
    let run = |program: &Program, fun: &Fun, x: &[u64], y: &[u64]| -> Vec<u64> {
        let mut program = program.clone();
        program.funs.push(fun.clone());
        let ready = prepare(&program, FunId(program.funs.len() as u32 - 1), &[]).expect("it can be run");
        let elem = |n: usize| match fun.buffers[fun.params[n].index()].elem {
            Ty::Elem(e) => e,
            Ty::Abstract(_) | Ty::Tuple(_) => panic!("elements are plain"),
        };
        let mut args = vec![
            Array::from_bits(elem(0), &[x.len() as i64], x.to_vec()).expect("an array"),
            Array::from_bits(elem(1), &[2], y.to_vec()).expect("an array"),
        ];
        ready.run(&[x.len() as i64], &mut args, &Options::default()).expect("it runs");
        args[1].bits().to_vec()
    };
    let contents = |n: usize, seed: u64| (0..n as u64).map(|i| (i * 7 + seed * 3 + 1) % 11 % 6).collect::<Vec<u64>>();
    (0..12).any(|n| {
        (0..5).any(|seed| {
            let (x, y) = (contents(n, seed), contents(2, seed + 1));
            run(&lie.program, lie.before(), &x, &y) != run(&lie.program, &lie.rewrite.after, &x, &y)
        })
    })
}

#[track_caller]
fn refused(lie: Lie) -> String {
    assert!(differ(&lie), "this is no lie");
    match lie.check() {
        Ok(()) => panic!("accepted, and wrong"),
        Err(failure) => failure.diagnostic.message,
    }
}

#[track_caller]
fn accepted(lie: Lie) {
    assert!(!differ(&lie), "this is a lie");
    if let Err(failure) = lie.check() {
        panic!("refused: {} {:?}", failure.diagnostic.message, failure.diagnostic.notes);
    }
}

/// The sum of `step` in blocks, each joined from `start` by `join`.
fn blocks(domain: &str, step: &str, start: &str, join: &str) -> String {
    let step = step.replace("x[k]", "x[g[k]]");
    format!(
        "  store y[0] = fold g in {domain} from 0 as a: i64 do\n    let c = fold k in 0 .. g.len from {start} as b: i64 do {step}\n    {join}"
    )
}

fn whole(step: &str) -> String {
    format!("  store y[0] = fold k in 0 .. N from 0 as b: i64 do {step}")
}

#[test]
fn honest_blocks_are_accepted() {
    let lines = || vec![split(4), regroup("k", Regrouping::Associative)];
    let all = "blocks (0 .. N) 4";
    accepted(lie("added", &whole(ADDED), &blocks(all, ADDED, "0", "wrapping_add a c")).by(lines()));
    accepted(lie("last", &whole(LAST), &blocks(all, LAST, "0", "if c == 0 then a else c")).by(lines()));
}

#[test]
fn blocks_are_neither_left_out_nor_taken_twice() {
    for domain in ["blocks (4 .. N) 4", "blocks (0 .. N - 1) 4", "blocks (0 .. N) 3"] {
        let t = blocks(domain, ADDED, "0", "wrapping_add a c");
        let lie = lie("blocks", &whole(ADDED), &t).by(vec![split(4), regroup("k", Regrouping::Associative)]);
        // Blocks of another size add up all the same; the recipe is about blocks of four.
        if domain.ends_with('3') {
            assert!(lie.check().is_err());
        } else {
            refused(lie);
        }
    }
    let twice = blocks("blocks (0 .. N) 4", ADDED, "0", "wrapping_add (wrapping_add a c) c");
    refused(lie("twice", &whole(ADDED), &twice).by(vec![split(4), regroup("k", Regrouping::Associative)]));
}

#[test]
fn the_order_stays_where_nothing_commutes() {
    let t = blocks("blocks (0 .. N) 4", LAST, "0", "if a == 0 then c else a");
    refused(lie("turned", &whole(LAST), &t).by(vec![split(4), regroup("k", Regrouping::Associative)]));
    let backwards = "if b == 0 then load x[k] else b";
    let turned = format!("  store y[0] = fold k in 0 .. N from 0 as b: i64 do {backwards}");
    let t = blocks("blocks (0 .. N) 4", backwards, "0", "if c == 0 then a else c");
    let message = refused(lie("first", &turned, &t).by(vec![split(4), regroup("k", Regrouping::Associative)]));
    assert!(message.contains("join commutative exactly"), "{message}");
}

#[test]
fn a_block_starts_from_the_identity() {
    for start in ["1", "load y[1]", "a"] {
        let t = blocks("blocks (0 .. N) 4", ADDED, start, "wrapping_add a c");
        refused(lie("start", &whole(ADDED), &t).by(vec![split(4), regroup("k", Regrouping::Associative)]));
    }
    let t = blocks("blocks (0 .. N) 4", ADDED, "0", "c");
    refused(lie("forgotten", &whole(ADDED), &t).by(vec![split(4), regroup("k", Regrouping::Associative)]));
}

#[test]
fn a_sum_does_not_take_up_its_start_twice() {
    let s = "  store y[0] = fold k in 0 .. N from load y[1] as b: i64 do wrapping_add b (load x[k])";
    let t = "  store y[0] = fold g in blocks (0 .. N) 4 from load y[1] as a: i64 do
    wrapping_add a (fold k in 0 .. g.len from load y[1] as b: i64 do wrapping_add b (load x[g[k]]))";
    let message = refused(lie("counted", s, t).by(vec![split(4), regroup("k", Regrouping::Idempotent)]));
    assert!(message.contains("join idempotent exactly"), "{message}");
}

/// An operation that takes up a word twice as once: from the whole's start, and from nothing else.
#[test]
fn a_maximum_starts_from_its_own_start() {
    let s = "  store y[0] = fold k in 0 .. N from load y[1] as b: i64 do max b (load x[k])";
    let t = |start: &str| {
        format!(
            "  store y[0] = fold g in blocks (0 .. N) 4 from load y[1] as a: i64 do
    max a (fold k in 0 .. g.len from {start} as b: i64 do max b (load x[g[k]]))"
        )
    };
    let lines = || vec![split(4), regroup("k", Regrouping::Idempotent)];
    accepted(lie("largest", s, &t("load y[1]")).by(lines()));
    refused(lie("seven", s, &t("7")).by(lines()));
    // `none` of Highest is no identity, and nobody says so.
    let message = refused(lie("none", s, &t("5")).by(vec![split(4), regroup("k", Regrouping::Associative)]));
    assert!(message.contains("join identity exactly"), "{message}");
}

/// Blocks that do not go on from one another are no sum of all.
#[test]
fn what_starts_anew_is_not_joined() {
    let s = "  store y[0] = fold g in blocks (0 .. N) 4 from 3 as a: i64 do
    fold k in 0 .. g.len from 0 as b: i64 do max b (load x[g[k]])";
    let t = "  store y[0] = fold g in blocks (0 .. N) 4 from 3 as a: i64 do
    max a (fold k in 0 .. g.len from 3 as b: i64 do max b (load x[g[k]]))";
    for by in [Regrouping::Idempotent, Regrouping::Associative] {
        refused(lie("anew", s, t).by(vec![regroup("k", by)]));
    }
    // The sum over blocks forgets what it started from: its totals are no chain from there.
    let s = "  store y[0] = fold g in blocks (0 .. N) 4 from 4 as a: i64 do
    fold k in 0 .. g.len from wrapping_sub a 9 as b: i64 do max b (load x[g[k]])";
    let t = "  store y[0] = fold g in blocks (0 .. N) 4 from 4 as a: i64 do
    max (wrapping_sub a 9) (fold k in 0 .. g.len from 4 as b: i64 do max b (load x[g[k]]))";
    refused(lie("less", s, t).by(vec![regroup("k", Regrouping::Idempotent)]));
}

#[test]
fn said_is_not_proved() {
    let step = "wrapping_sub b (load x[k])";
    let t = blocks("blocks (0 .. N) 4", step, "0", "wrapping_sub a c");
    let message = refused(lie("said", &whole(step), &t).by(vec![split(4), regroup("k", Regrouping::Associative)]));
    assert!(message.contains("false of `Said i64`"), "{message}");
}

#[test]
fn a_total_is_used_once() {
    for (name, step) in
        [("twice", "wrapping_add b (wrapping_add b (load x[k]))"), ("other", "wrapping_mul b (load x[k])")]
    {
        let s = format!("  store y[0] = fold k in 0 .. N from 1 as b: i64 do {step}");
        let t = blocks("blocks (0 .. N) 4", step, "0", "wrapping_add a c").replacen("from 0", "from 1", 1);
        refused(lie(name, &s, &t).by(vec![split(4), regroup("k", Regrouping::Associative)]));
    }
}

/// A loop over cells that also reads what it has updated is no sum in a cell.
#[test]
fn a_cell_is_read_by_nothing_else() {
    let s = "  for k in 0 .. 2 do
    store y[0] = wrapping_add (load y[0]) (load y[1 - k])";
    let t =
        "  store y[0] = wrapping_add (load y[0]) (fold k in 0 .. 2 from 0 as b: i64 do wrapping_add b (load y[1 - k]))";
    refused(lie("own_cell", s, t).by(vec![regroup("k", Regrouping::Associative)]));
    let s = "  for k in 0 .. N do
    store y[k % 2] = wrapping_add (load y[k % 2]) (load x[k])";
    let t = "  store y[0] = wrapping_add (load y[0]) (fold k in 0 .. N from 0 as b: i64 do wrapping_add b (load x[k]))";
    refused(lie("two_cells", s, t).by(vec![regroup("k", Regrouping::Associative)]));
    let s = "  for k in 0 .. N do
    let b = load y[0]
    store y[0] = wrapping_add b (load x[k])";
    accepted(lie("cell", s, t).by(vec![regroup("k", Regrouping::Associative)]));
}

/// A law of one type is none of another, whatever the operations look like.
#[test]
fn a_law_belongs_to_its_type() {
    let text = |body: &str, name: &str| {
        format!("fn {name} (reads x: [f32; N]) (mut y: [f32; 2]) =\n  store y[0] = {body}\n\n")
    };
    let larger = "interface Joining where
  const Value: Type
  fn none () -> Value
  fn join a b -> Value

impl Joining for Larger i32 where
  const Value = i32
  fn none () = Num.lowest ()
  fn join a b = if a < b then b else a
  law join associative exactly
  law join commutative exactly
  law join idempotent exactly
  law join identity exactly

";
    let s = text("fold k in 0 .. N from 0.5 as b: f32 do if b < load x[k] then load x[k] else b", "s");
    let t = text(
        "fold g in blocks (0 .. N) 4 from 0.5 as a: f32 do
    let c = fold k in 0 .. g.len from 0.5 as b: f32 do if b < load x[g[k]] then load x[g[k]] else b
    if a < c then c else a",
        "t",
    );
    let lie = Lie::new("type", &format!("{larger}{s}{t}"));
    let lie = lie.by(vec![split(4), regroup("k", Regrouping::Idempotent)]);
    let message = lie.check().expect_err("refused").diagnostic.message;
    assert!(message.contains("is not its total joined"), "{message}");
}

/// Each use of another's law, and each line about a side that has none of it.
#[test]
fn lines_about_what_is_not_there() {
    let t = blocks("blocks (0 .. N) 4", ADDED, "0", "wrapping_add a c");
    for line in [
        MoveKind::Regroup { of: s("k"), op: "add".into(), by: Regrouping::Associative },
        MoveKind::Regroup { of: s("k"), op: "none".into(), by: Regrouping::Associative },
        MoveKind::Regroup { of: at(Side::S, "k", 2), op: "join".into(), by: Regrouping::Associative },
        MoveKind::Regroup { of: s("g"), op: "join".into(), by: Regrouping::Associative },
        MoveKind::Regroup { of: s("z"), op: "join".into(), by: Regrouping::Associative },
    ] {
        let lie = lie("lines", &whole(ADDED), &t).by(vec![split(4), line]);
        assert!(lie.check().is_err(), "{:?}", lie.rewrite.recipe);
    }
}

#[test]
fn a_step_gives_no_permission() {
    let text = whole(ADDED);
    let mut lie = lie("permitted", &text, &text);
    assert!(lie.check().is_ok());
    let after = &mut lie.rewrite.after;
    after.body = map_block_words(&after.body, &mut |word| match word {
        Word::Fold(f) => Word::Fold(Box::new(Fold { regroup: true, ..*f })),
        word => word,
    });
    assert!(lie.check().is_err(), "a sum that may be regrouped is no copy of one that may not");
}
