//! The library's steps on the programs they are for: what stands there afterwards, word for word.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_core::ir::{At, Domain, Ix, Prim, VarKind, Word};
use cachet_core::rewrite::Site;
use common::{
    Start, apply, body, buffer, call, cell, float, fold, for_, fun, hoist, index, interchange, name, op, product,
    recipe, span, store, total, tuple, upto, var, zero, zero_epilogue,
};

#[test]
fn hoist_on_a_matrix_product() {
    let before = product(["i", "j", "k"], Start::Cell, false);
    let made = apply(&before, &call("hoist", vec![tuple(&["j", "k"]), name("c")]), &[hoist()]).unwrap();
    assert_eq!(
        body(&made.after),
        "for i in 0 .. M do
  for k in 0 .. K do
    for j in 0 .. N do
      let acc'0 = load c[i, j]
      store c[i, j] = fma (load a[i, k]) (load b[k, j]) acc'0
"
    );
    assert_eq!(recipe(&made), ["per cell c fold S.k", "per cell c fold T.k", "interchange S.j"]);
    let inside_i = |site: &Site| site.path.len() == 1 && site.start == 0 && site.len == 1;
    assert!(inside_i(&made.from) && inside_i(&made.to));
}

#[test]
fn what_a_step_makes_points_at_its_text() {
    let before = product(["i", "j", "k"], Start::Cell, false);
    let made = apply(&before, &call("hoist", vec![tuple(&["j", "k"]), name("c")]), &[hoist()]).unwrap();
    let outer = &made.to.stmts(&made.after).unwrap()[0];
    assert_eq!(outer.span.0, span(900));
}

#[test]
fn arguments_are_found_by_the_programs_names() {
    let before = product(["row", "col", "inner"], Start::Cell, false);
    let made = apply(&before, &call("hoist", vec![tuple(&["col", "inner"]), name("c")]), &[hoist()]).unwrap();
    assert!(
        body(&made.after).contains("  for inner in 0 .. K do\n    for col in 0 .. N do\n"),
        "{}",
        body(&made.after)
    );
    assert_eq!(recipe(&made), ["per cell c fold S.inner", "per cell c fold T.inner", "interchange S.col"]);
}

#[test]
fn hoist_on_a_matrix_and_a_vector() {
    let mut f = fun(&["M", "K"], &[("a", &["M", "K"]), ("x", &["K"]), ("y", &["M"])]);
    let (i, k, acc) = (index(&mut f, "i"), index(&mut f, "k"), total(&mut f, "acc'0"));
    let (a, x, y) = (buffer(&f, "a"), buffer(&f, "x"), buffer(&f, "y"));
    let step = op(Prim::Fma, vec![Word::Load(cell(a, &[i, k])), Word::Load(cell(x, &[k])), Word::Local(acc, vec![])]);
    let sum = fold(k, upto(var(&f, "K")), acc, Word::Load(cell(y, &[i])), step);
    f.body = vec![for_(1, i, upto(var(&f, "M")), vec![store(2, cell(y, &[i]), sum)])];
    let made = apply(&f, &call("hoist", vec![tuple(&["i", "k"]), name("y")]), &[hoist()]).unwrap();
    assert_eq!(
        body(&made.after),
        "for k in 0 .. K do
  for i in 0 .. M do
    let acc'0 = load y[i]
    store y[i] = fma (load a[i, k]) (load x[k]) acc'0
"
    );
    assert_eq!(recipe(&made), ["per cell y fold S.k", "per cell y fold T.k", "interchange S.i"]);
}

#[test]
fn hoist_with_three_operands() {
    let mut f = fun(&["N", "K"], &[("a", &["K"]), ("b", &["K", "N"]), ("d", &["N"]), ("c", &["N"])]);
    let (j, k, acc) = (index(&mut f, "j"), index(&mut f, "k"), total(&mut f, "acc'0"));
    let (a, b, d, c) = (buffer(&f, "a"), buffer(&f, "b"), buffer(&f, "d"), buffer(&f, "c"));
    let product = op(Prim::Mul, vec![Word::Load(cell(a, &[k])), Word::Load(cell(b, &[k, j]))]);
    let step = op(Prim::Fma, vec![product, Word::Load(cell(d, &[j])), Word::Local(acc, vec![])]);
    let sum = fold(k, upto(var(&f, "K")), acc, Word::Load(cell(c, &[j])), step);
    f.body = vec![for_(1, j, upto(var(&f, "N")), vec![store(2, cell(c, &[j]), sum)])];
    let made = apply(&f, &call("hoist", vec![tuple(&["j", "k"]), name("c")]), &[hoist()]).unwrap();
    assert_eq!(
        body(&made.after),
        "for k in 0 .. K do
  for j in 0 .. N do
    let acc'0 = load c[j]
    store c[j] = fma (load a[k] * load b[k, j]) (load d[j]) acc'0
"
    );
}

#[test]
fn interchange_takes_any_body() {
    let mut f = fun(&["M", "N"], &[("a", &["M", "N"]), ("c", &["M", "N"])]);
    let (i, j, k, acc) = (index(&mut f, "i"), index(&mut f, "j"), index(&mut f, "k"), total(&mut f, "s"));
    let (a, c, m, n) = (buffer(&f, "a"), buffer(&f, "c"), var(&f, "M"), var(&f, "N"));
    let sum =
        fold(k, upto(m), acc, float(0.0), op(Prim::Add, vec![Word::Local(acc, vec![]), Word::Load(cell(a, &[k, j]))]));
    let inner = vec![store(3, cell(c, &[i, j]), float(1.0)), store(4, cell(c, &[i, j]), sum)];
    f.body = vec![for_(1, i, upto(m), vec![for_(2, j, Domain::Range { lo: Ix::Lit(1), hi: Ix::Var(n) }, inner)])];
    let made = apply(&f, &call("interchange", vec![tuple(&["i", "j"])]), &[interchange()]).unwrap();
    assert_eq!(
        body(&made.after),
        "for j in 1 .. N do
  for i in 0 .. M do
    store c[i, j] = 1.0
    store c[i, j] =
      fold k in 0 .. M from 0.0 as s: f32 do
        s + load a[k, j]
"
    );
    assert_eq!(recipe(&made), ["interchange S.i"]);
    // A body keeps its own places.
    let body = Site { path: vec![turn(), turn()], start: 0, len: 2 };
    let stmts = body.stmts(&made.after).unwrap();
    assert_eq!([stmts[0].span.0, stmts[1].span.0], [span(3), span(4)]);
}

fn turn() -> cachet_core::rewrite::Turn {
    cachet_core::rewrite::Turn { at: 0, arm: cachet_core::rewrite::Arm::First }
}

#[test]
fn interchange_of_loops_over_blocks() {
    let mut f = fun(&["M", "N"], &[("c", &["M", "N"])]);
    let (gi, j, i) = (f.add_var("gi", VarKind::Block), index(&mut f, "j"), index(&mut f, "i"));
    let (c, m, n) = (buffer(&f, "c"), var(&f, "M"), var(&f, "N"));
    let blocks = Domain::Blocks { lo: Ix::Lit(0), hi: Ix::Var(m), size: 32 };
    let inside = Domain::Range { lo: Ix::Lit(0), hi: Ix::Block(gi, cachet_core::ir::BlockPart::Len) };
    let at = vec![Ix::InBlock(gi, Box::new(Ix::Var(i))), Ix::Var(j)];
    let to = cachet_core::ir::Access { buffer: c, at, span: At::default() };
    f.body =
        vec![for_(1, gi, blocks, vec![for_(2, j, upto(n), vec![for_(3, i, inside, vec![store(4, to, float(1.0))])])])];
    let made = apply(&f, &call("interchange", vec![tuple(&["gi", "j"])]), &[interchange()]).unwrap();
    assert_eq!(
        body(&made.after),
        "for j in 0 .. N do for gi in blocks (0 .. M) 32 do for i in 0 .. gi.len do\n  store c[gi[i], j] = 1.0\n"
    );
}

const ZEROED: &str = "for zi in 0 .. M do for zj in 0 .. N do
  store c[zi, zj] = -0.0
for i in 0 .. M do
  for j in 0 .. N do
    store c[i, j] =
      fold k in 0 .. K from (load c[i, j]) as acc'0: f32 do
        fma (load a[i, k]) (load b[k, j]) acc'0
";

#[test]
fn zero_on_a_matrix_product() {
    let before = product(["i", "j", "k"], Start::Zero, false);
    let steps = [zero(), zero_epilogue()];
    let made = apply(&before, &call("zero", vec![tuple(&["i", "j"]), name("c")]), &steps).unwrap();
    let text = body(&made.after).replace("from load c[i, j] as", "from (load c[i, j]) as");
    assert_eq!(text, ZEROED);
    assert_eq!(recipe(&made), ["per cell c fold S.k", "per cell c fold T.k", "distribute S.i at 1"]);
    assert_eq!((made.from.len, made.to.len), (1, 2));
}

#[test]
fn zero_and_hoist_one_after_the_other() {
    let before = product(["i", "j", "k"], Start::Zero, false);
    let steps = [zero(), zero_epilogue(), hoist()];
    let zeroed = apply(&before, &call("zero", vec![tuple(&["i", "j"]), name("c")]), &steps).unwrap().after;
    let made = apply(&zeroed, &call("hoist", vec![tuple(&["j", "k"]), name("c")]), &steps).unwrap();
    assert_eq!(
        body(&made.after),
        "for zi in 0 .. M do for zj in 0 .. N do
  store c[zi, zj] = -0.0
for i in 0 .. M do
  for k in 0 .. K do
    for j in 0 .. N do
      let acc'0 = load c[i, j]
      store c[i, j] = fma (load a[i, k]) (load b[k, j]) acc'0
"
    );
}

#[test]
fn zero_takes_part_of_a_nest_and_one_loop_without_parentheses() {
    let before = product(["i", "j", "k"], Start::Zero, false);
    let made = apply(&before, &call("zero", vec![name("j"), name("c")]), &[zero()]).unwrap();
    assert!(
        body(&made.after).starts_with(
            "for i in 0 .. M do\n  for zj in 0 .. N do\n    store c[i, zj] = -0.0\n  for j in 0 .. N do\n"
        ),
        "{}",
        body(&made.after)
    );
    assert_eq!(recipe(&made)[2], "distribute S.j at 1");
}

#[test]
fn zero_keeps_the_sums_own_name() {
    let before = product(["i", "j", "inner"], Start::Zero, false);
    let made = apply(&before, &call("zero", vec![tuple(&["i", "j"]), name("c")]), &[zero()]).unwrap();
    assert!(body(&made.after).contains("fold inner in 0 .. K from"), "{}", body(&made.after));
    assert_eq!(recipe(&made)[..2], ["per cell c fold S.inner", "per cell c fold T.inner"]);
}

#[test]
fn zero_under_an_epilogue_makes_a_last_nest() {
    let before = product(["i", "j", "k"], Start::Zero, true);
    let steps = [zero(), zero_epilogue()];
    let made = apply(&before, &call("zero", vec![tuple(&["i", "j"]), name("c")]), &steps).unwrap();
    let text = body(&made.after).replace("from load c[i, j] as", "from (load c[i, j]) as");
    assert_eq!(
        text,
        format!(
            "{ZEROED}for fi in 0 .. M do
  for fj in 0 .. N do
    store c[fi, fj] = max (load c[fi, fj]) 0.0
"
        )
    );
    assert_eq!((made.from.len, made.to.len), (1, 3));
}

#[test]
fn inner_ranges_follow_the_loops_they_depend_on() {
    // A triangle: `j` runs up to `i`.
    let mut f = fun(&["M", "K"], &[("a", &["M", "K"]), ("c", &["M", "M"])]);
    let (i, j, k, acc) = (index(&mut f, "i"), index(&mut f, "j"), index(&mut f, "k"), total(&mut f, "acc'0"));
    let (a, c) = (buffer(&f, "a"), buffer(&f, "c"));
    let sum = fold(
        k,
        upto(var(&f, "K")),
        acc,
        float(-0.0),
        op(Prim::Add, vec![Word::Local(acc, vec![]), Word::Load(cell(a, &[i, k]))]),
    );
    f.body = vec![for_(1, i, upto(var(&f, "M")), vec![for_(2, j, upto(i), vec![store(3, cell(c, &[i, j]), sum)])])];
    let made = apply(&f, &call("zero", vec![tuple(&["i", "j"]), name("c")]), &[zero()]).unwrap();
    let text = body(&made.after);
    assert!(text.starts_with("for zi in 0 .. M do for zj in 0 .. zi do\n  store c[zi, zj] = -0.0\n"), "{text}");
    assert!(text.contains("for i in 0 .. M do\n  for j in 0 .. i do\n"), "{text}");
}

#[test]
fn a_sum_that_may_be_regrouped_still_may() {
    let mut before = product(["i", "j", "k"], Start::Zero, false);
    set_regroup(&mut before.body);
    let made = apply(&before, &call("zero", vec![tuple(&["i", "j"]), name("c")]), &[zero()]).unwrap();
    assert!(format!("{:?}", made.after.body).contains("regroup: true"));
}

fn set_regroup(block: &mut [cachet_core::ir::Stmt]) {
    use cachet_core::ir::StmtKind;
    for s in block {
        match &mut s.kind {
            StmtKind::For { body, .. } => set_regroup(body),
            StmtKind::Store { word: Word::Fold(f), .. } => f.regroup = true,
            _ => {}
        }
    }
}
