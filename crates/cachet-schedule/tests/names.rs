//! Names: a step's own, the user's and the program's never get mixed up, and a wrong step stays as wrong as written.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_core::ir::{
    At, Block, Domain, Elem, Fun, Ix, Local, LocalInfo, Prim, Stmt, StmtKind, Ty, Var, VarKind, Word,
};
use cachet_core::pattern::{
    LoopRef, MoveKind, ParamKind, Params, Pat, PatCell, PatDomain, PatIx, PatSubst, PatWord, Side, StepDef,
};
use cachet_core::script::StepArg;
use common::{
    Start, acc, apply, array, body, buffer, call, cell, domain, float, fold, for_, fun, hoist_with, hole, index,
    interchange, line, loop_ref, name, op, param, pat_for, pat_store, product, product_nest, range, recipe, step,
    store, total, tuple, upto, word, word_at, zero,
};

#[test]
fn sloppy_loses_the_first_index() {
    let before = product(["i", "j", "k"], Start::Cell, false);
    let outer = PatDomain::Range(PatIx::Add(Box::new(hole("$lo")), Box::new(PatIx::Lit(1))), hole("$hi"));
    let sloppy = hoist_with("sloppy", outer, word_at("$step", acc(), vec![]));
    let made = apply(&before, &call("sloppy", vec![tuple(&["j", "k"]), name("c")]), &[sloppy]).unwrap();
    assert!(body(&made.after).contains("for k in 1 .. K do"), "{}", body(&made.after));
}

#[test]
fn backwards_reads_from_the_end() {
    let before = product(["i", "j", "k"], Start::Cell, false);
    let b = Box::new;
    let k = PatIx::Name("k".into());
    let back = PatIx::Sub(b(PatIx::Sub(b(hole("$hi")), b(PatIx::Lit(1)))), b(PatIx::Sub(b(k), b(hole("$lo")))));
    let backwards = hoist_with("backwards", range(), word_at("$step", acc(), vec![PatSubst::One("k".into(), back)]));
    let made = apply(&before, &call("backwards", vec![tuple(&["j", "k"]), name("c")]), &[backwards]).unwrap();
    let text = body(&made.after);
    assert!(text.contains("fma (load a[i, K - 1 - k]) (load b[K - 1 - k, j]) acc'0"), "{text}");
}

#[test]
fn a_steps_own_loop_gets_another_name_where_its_own_is_in_use() {
    // In use elsewhere in the program.
    let mut before = product(["i", "j", "k"], Start::Zero, false);
    let zi = index(&mut before, "zi");
    let fill = store(5, cell(buffer(&before, "c"), &[zi, zi]), float(1.0));
    before.body.insert(0, for_(4, zi, upto(Var(0)), vec![fill]));
    let made = apply(&before, &call("zero", vec![tuple(&["i", "j"]), name("c")]), &[zero()]).unwrap();
    assert!(body(&made.after).contains("for zi_2 in 0 .. M do for zj in 0 .. N do\n"), "{}", body(&made.after));

    // In use in the very place that is rewritten, and there kept.
    let before = product(["i", "j", "zi"], Start::Zero, false);
    let made = apply(&before, &call("zero", vec![tuple(&["i", "j"]), name("c")]), &[zero()]).unwrap();
    let text = body(&made.after);
    assert!(text.contains("for zi_2 in 0 .. M do for zj in 0 .. N do\n"), "{text}");
    assert!(text.contains("fold zi in 0 .. K"), "{text}");
}

#[test]
fn a_name_of_what_is_replaced_is_free_again() {
    // `q` of the program goes, so the step's own `q` is not `q_2`.
    let mut f = fun(&["N"], &[("c", &["N"])]);
    let q = index(&mut f, "q");
    f.body = vec![for_(1, q, upto(Var(0)), vec![store(2, cell(buffer(&f, "c"), &[q]), float(1.0))])];
    let renaming = step(
        "renaming",
        vec![Params::One(param("t", ParamKind::Loop))],
        vec![pat_for("t", domain("$A"), vec![pat_store(PatCell::Hole("$cell".into(), vec![]), word("$w"))])],
        vec![pat_for(
            "q",
            domain("$A"),
            vec![pat_store(
                PatCell::Hole("$cell".into(), vec![PatSubst::One("t".into(), PatIx::Name("q".into()))]),
                word("$w"),
            )],
        )],
        vec![],
    );
    let made = apply(&f, &call("renaming", vec![name("q")]), &[renaming]).unwrap();
    assert_eq!(body(&made.after), "for q in 0 .. N do\n  store c[q] = 1.0\n");
}

/// `strip t n (p, r)`, its body a store.
fn strip() -> StepDef {
    let b = Box::new;
    let n = || b(PatIx::Name("n".into()));
    let t = PatIx::Add(
        b(PatIx::Add(b(hole("$lo")), b(PatIx::Mul(b(PatIx::Name("p".into())), n())))),
        b(PatIx::Name("r".into())),
    );
    let put = |w| PatSubst::One("t".into(), w);
    let groups = PatIx::Div(b(PatIx::Sub(b(hole("$hi")), b(hole("$lo")))), n());
    step(
        "strip",
        vec![
            Params::One(param("t", ParamKind::Loop)),
            Params::One(param("n", ParamKind::Size)),
            Params::Tuple(vec![param("p", ParamKind::New), param("r", ParamKind::New)]),
        ],
        vec![pat_for("t", range(), vec![pat_store(PatCell::Hole("$cell".into(), vec![]), word("$w"))])],
        vec![pat_for(
            "p",
            PatDomain::Range(PatIx::Lit(0), groups),
            vec![pat_for(
                "r",
                PatDomain::Range(PatIx::Lit(0), PatIx::Name("n".into())),
                vec![pat_store(
                    PatCell::Hole("$cell".into(), vec![put(t.clone())]),
                    PatWord::Hole { name: "$w".into(), inside: None, substs: vec![put(t)] },
                )],
            )],
        )],
        vec![],
    )
}

fn rows() -> Fun {
    let mut f = fun(&["N"], &[("a", &["N"]), ("c", &["N"])]);
    let t = index(&mut f, "t");
    let (a, c) = (buffer(&f, "a"), buffer(&f, "c"));
    f.body = vec![for_(1, t, upto(Var(0)), vec![store(2, cell(c, &[t]), Word::Load(cell(a, &[t])))])];
    f
}

#[test]
fn sizes_and_new_names_come_from_the_call() {
    let args = vec![name("t"), StepArg::Number(16, common::span(3)), tuple(&["pa", "ra"])];
    let made = apply(&rows(), &call("strip", args), &[strip()]).unwrap();
    assert_eq!(
        body(&made.after),
        "for pa in 0 .. N / 16 do
  for ra in 0 .. 16 do
    store c[pa * 16 + ra] = load a[pa * 16 + ra]
"
    );
}

#[test]
fn a_new_name_that_is_taken_is_refused() {
    for taken in ["N", "a", "for"] {
        let args = vec![name("t"), StepArg::Number(16, common::span(3)), tuple(&["pa", taken])];
        let d = apply(&rows(), &call("strip", args), &[strip()]).unwrap_err();
        assert!(d.message.contains(&format!("`{taken}`")), "{d:?}");
    }
    let args = vec![name("t"), StepArg::Number(16, common::span(3)), tuple(&["pa", "pa"])];
    let d = apply(&rows(), &call("strip", args), &[strip()]).unwrap_err();
    assert!(d.message.contains("`pa`"), "{d:?}");
}

#[test]
fn a_hole_used_twice_gets_its_own_binders_each_time() {
    // `apply` validates that everything is bound once.
    let mut f = fun(&["N", "K"], &[("a", &["N", "K"]), ("c", &["N"])]);
    let (j, k, s) = (index(&mut f, "j"), index(&mut f, "k"), total(&mut f, "s"));
    let (a, c) = (buffer(&f, "a"), buffer(&f, "c"));
    let sum =
        fold(k, upto(Var(1)), s, float(0.0), op(Prim::Add, vec![Word::Local(s, vec![]), Word::Load(cell(a, &[j, k]))]));
    f.body = vec![for_(1, j, upto(Var(0)), vec![store(2, cell(c, &[j]), sum)])];
    let twice = step(
        "twice",
        vec![Params::One(param("j", ParamKind::Loop))],
        vec![pat_for("j", domain("$A"), vec![Pat::Hole("$body".into(), vec![])])],
        vec![
            pat_for("j", domain("$A"), vec![Pat::Hole("$body".into(), vec![])]),
            pat_for("j", domain("$A"), vec![Pat::Hole("$body".into(), vec![])]),
        ],
        vec![line(MoveKind::Fuse(loop_ref(Side::T, "j"), LoopRef { nth: 2, ..loop_ref(Side::T, "j") }))],
    );
    let made = apply(&f, &call("twice", vec![name("j")]), &[twice]).unwrap();
    let once = "for j in 0 .. N do
  store c[j] =
    fold k in 0 .. K from 0.0 as s: f32 do
      s + load a[j, k]
";
    assert_eq!(body(&made.after), format!("{once}{once}"));
    assert_eq!(recipe(&made), ["fuse T.j, T.j#2"]);
}

/// `fuse i`: two loops of one name over one range become one.
fn fuse() -> StepDef {
    let body = |h: &str| vec![pat_for("i", domain("$A"), vec![Pat::Hole(h.into(), vec![])])];
    step(
        "fuse",
        vec![Params::One(param("i", ParamKind::Loop))],
        [body("$first"), body("$second")].concat(),
        vec![pat_for("i", domain("$A"), vec![Pat::Hole("$first".into(), vec![]), Pat::Hole("$second".into(), vec![])])],
        vec![line(MoveKind::Fuse(loop_ref(Side::S, "i"), LoopRef { nth: 2, ..loop_ref(Side::S, "i") }))],
    )
}

#[test]
fn one_name_of_a_pattern_may_stand_for_two_loops_side_by_side() {
    let mut f = fun(&["N"], &[("d", &["N"]), ("c", &["N"])]);
    let c = buffer(&f, "c");
    f.body = (0..3)
        .map(|n| {
            let i = index(&mut f, "i");
            for_(10 * n, i, upto(Var(0)), vec![store(10 * n + 1, cell(c, &[i]), float(n as f32))])
        })
        .collect();
    // Three in a row: two pairs fit.
    let d = apply(&f, &call("fuse", vec![name("i")]), &[fuse()]).unwrap_err();
    assert_eq!(d.code.0, "ambiguous");
    let made = apply(&f, &call("fuse", vec![name("i#2")]), &[fuse()]).unwrap();
    assert_eq!(
        body(&made.after),
        "for i in 0 .. N do
  store c[i] = 0.0
for i in 0 .. N do
  store c[i] = 1.0
  store c[i] = 2.0
"
    );
    assert_eq!(recipe(&made), ["fuse S.i, S.i#2"]);
}

#[test]
fn what_two_holes_bring_into_one_block_is_told_apart() {
    // Both bodies have a `let x`.
    let mut f = fun(&["N"], &[("a", &["N"]), ("c", &["N"])]);
    let (a, c) = (buffer(&f, "a"), buffer(&f, "c"));
    f.body = (0..2)
        .map(|n| {
            let (i, x) = (index(&mut f, "i"), total(&mut f, "x"));
            let word = Word::Load(cell(a, &[i]));
            let load = Stmt { kind: StmtKind::Let { local: x, word }, span: At::default() };
            for_(10 * n, i, upto(Var(0)), vec![load, store(10 * n + 1, cell(c, &[i]), Word::Local(x, vec![]))])
        })
        .collect();
    let made = apply(&f, &call("fuse", vec![name("i")]), &[fuse()]).unwrap();
    assert_eq!(
        body(&made.after),
        "for i in 0 .. N do
  let x = load a[i]
  store c[i] = x
  let x_2 = load a[i]
  store c[i] = x_2
"
    );
}

#[test]
fn a_word_that_needs_its_running_total_is_not_put_without_one() {
    let before = product(["i", "j", "k"], Start::Cell, false);
    let lost = hoist_with("lost", range(), word("$other"));
    let d = apply(&before, &call("lost", vec![tuple(&["j", "k"]), name("c")]), &[lost]).unwrap_err();
    assert!(d.code.0 == "step-argument" && d.message.contains("`$other`"), "{d:?}");
    // `$step` alone continues with the total of that name, and is refused where there is none.
    let kept = hoist_with("kept", range(), word("$step"));
    let made = apply(&before, &call("kept", vec![tuple(&["j", "k"]), name("c")]), &[kept]).unwrap();
    assert!(body(&made.after).contains("store c[i, j] = fma (load a[i, k]) (load b[k, j]) acc'0"));
    let mut bare = hoist_with("bare", range(), word("$step"));
    bare.to = vec![pat_for(
        "k",
        range(),
        vec![pat_for(
            "j",
            PatDomain::Range(hole("$a"), hole("$b")),
            vec![pat_store(PatCell::Hole("$cell".into(), vec![]), word("$step"))],
        )],
    )];
    let d = apply(&before, &call("bare", vec![tuple(&["j", "k"]), name("c")]), &[bare]).unwrap_err();
    assert!(d.code.0 == "step-argument" && d.message.contains("`$step[..]`"), "{d:?}");
}

#[test]
fn equal_names_of_different_loops_are_numbered_in_the_recipe() {
    // Two sums over `k` of the program are `k` and `l` of the step.
    let mut f = fun(&["N"], &[("a", &["N"]), ("c", &["N"])]);
    let (a, c) = (buffer(&f, "a"), buffer(&f, "c"));
    let sum = |f: &mut Fun| {
        let (k, s) = (index(f, "k"), total(f, "s"));
        fold(k, upto(Var(0)), s, float(0.0), op(Prim::Add, vec![Word::Local(s, vec![]), Word::Load(cell(a, &[k]))]))
    };
    let (x, y) = (sum(&mut f), sum(&mut f));
    let i = index(&mut f, "i");
    f.body = vec![for_(1, i, upto(Var(0)), vec![store(2, cell(c, &[i]), x), store(3, cell(c, &[i]), y)])];
    let pat = |var: &str, acc: &str, hole: &str| {
        pat_store(
            PatCell::Hole("$cell".into(), vec![]),
            PatWord::Fold {
                var: var.into(),
                domain: domain("$A"),
                acc: acc.into(),
                ty: None,
                init: Box::new(word("$z")),
                body: Box::new(word(hole)),
            },
        )
    };
    let block = || vec![pat("k", "$s", "$x"), pat("l", "$t", "$y")];
    let same = step(
        "same",
        vec![array("c")],
        block(),
        block(),
        [(Side::S, "l"), (Side::T, "l"), (Side::S, "k")]
            .map(|(s, n)| line(MoveKind::PerCell { buffer: "c".into(), fold: loop_ref(s, n) }))
            .into(),
    );
    let made = apply(&f, &call("same", vec![name("c")]), &[same]).unwrap();
    assert_eq!(body(&made.after), body(&f));
    assert_eq!(recipe(&made), ["per cell c fold S.k#2", "per cell c fold T.k#2", "per cell c fold S.k"]);
}

#[test]
fn numbers_count_the_loops_of_that_name_in_program_order() {
    let mut f = fun(&["M", "N", "K"], &[("a", &["M", "K"]), ("b", &["K", "N"]), ("c", &["M", "N"])]);
    let first = product_nest(&mut f, ["i", "j", "k"], Start::Cell, false, 10);
    let second = product_nest(&mut f, ["i", "j", "k"], Start::Cell, false, 20);
    f.body = vec![first, second];
    let steps = [interchange()];
    let d = apply(&f, &call("interchange", vec![tuple(&["i", "j"])]), &steps).unwrap_err();
    assert_eq!(d.code.0, "ambiguous");
    assert_eq!(d.labels.iter().filter(|l| !l.primary).map(|l| l.span.lo).collect::<Vec<_>>(), [10, 20]);
    assert!(d.helps.iter().any(|h| h.contains("i#2")), "{d:?}");
    for (args, at) in [(["i#1", "j"], 0), (["i#2", "j"], 1), (["i", "j#2"], 1), (["i#2", "j#2"], 1)] {
        let made = apply(&f, &call("interchange", vec![tuple(&args)]), &steps).unwrap();
        assert_eq!((made.from.start, made.from.path.len()), (at, 0), "{args:?}");
    }
    for args in [["i#3", "j"], ["i#1", "j#2"]] {
        assert!(apply(&f, &call("interchange", vec![tuple(&args)]), &steps).is_err(), "{args:?}");
    }
}

#[test]
fn a_number_is_the_loops_and_not_the_matches() {
    // The first `i` has no loop inside and does not fit; the second is still number 2.
    let mut f = fun(&["M", "N", "K"], &[("a", &["M", "K"]), ("b", &["K", "N"]), ("c", &["M", "N"])]);
    let i = index(&mut f, "i");
    let fill = for_(1, i, upto(Var(0)), vec![store(2, cell(buffer(&f, "c"), &[i, i]), float(1.0))]);
    let nest = product_nest(&mut f, ["i", "j", "k"], Start::Cell, false, 10);
    f.body = vec![fill, nest];
    for i in ["i", "i#2"] {
        let made = apply(&f, &call("interchange", vec![tuple(&[i, "j"])]), &[interchange()]).unwrap();
        assert_eq!(made.from.start, 1);
    }
    assert!(apply(&f, &call("interchange", vec![tuple(&["i#1", "j"])]), &[interchange()]).is_err());
}

#[test]
fn the_array_named_picks_the_nest() {
    let mut f = fun(&["M", "N", "K"], &[("a", &["M", "K"]), ("b", &["K", "N"]), ("c", &["M", "N"])]);
    let mut d = f.buffers[2].clone();
    d.name = "d".into();
    let d = f.add_buffer(d);
    f.params.push(d);
    let first = product_nest(&mut f, ["i", "j", "k"], Start::Zero, false, 10);
    let mut second = product_nest(&mut f, ["i", "j", "k"], Start::Zero, false, 20);
    second = cachet_core::rewrite::Subst { buffers: [(buffer(&f, "c"), d)].into(), ..Default::default() }.stmt(&second);
    f.body = vec![first, second];
    for (array, at) in [("c", 0), ("d", 1)] {
        let made = apply(&f, &call("zero", vec![tuple(&["i", "j"]), name(array)]), &[zero()]).unwrap();
        assert_eq!(made.from.start, at);
        assert_eq!(recipe(&made)[0], format!("per cell {array} fold S.k"));
    }
}

#[test]
fn holes_for_statements_may_stand_anywhere() {
    // `$before`, the store of a sum, `$after`.
    let mut f = fun(&["N"], &[("a", &["N"]), ("c", &["N"])]);
    let (i, k, s) = (index(&mut f, "i"), index(&mut f, "k"), total(&mut f, "s"));
    let (a, c) = (buffer(&f, "a"), buffer(&f, "c"));
    let sum =
        fold(k, upto(Var(0)), s, float(0.0), op(Prim::Add, vec![Word::Local(s, vec![]), Word::Load(cell(a, &[k]))]));
    let to = || cell(c, &[i]);
    let block =
        vec![store(2, to(), float(1.0)), store(3, to(), float(2.0)), store(4, to(), sum), store(5, to(), float(3.0))];
    f.body = vec![for_(1, i, upto(Var(0)), block)];
    let hole = |n: &str| Pat::Hole(n.into(), vec![]);
    let the_sum = || pat_store(PatCell::Hole("$cell".into(), vec![]), common::pat_fold(word("$z")));
    let rotate = step(
        "rotate",
        vec![Params::One(param("i", ParamKind::Loop))],
        vec![pat_for("i", domain("$A"), vec![hole("$before"), the_sum(), hole("$after")])],
        vec![pat_for("i", domain("$A"), vec![hole("$after"), the_sum(), hole("$before")])],
        vec![],
    );
    let made = apply(&f, &call("rotate", vec![name("i")]), &[rotate]).unwrap();
    assert_eq!(
        body(&made.after),
        "for i in 0 .. N do
  store c[i] = 3.0
  store c[i] =
    fold k in 0 .. N from 0.0 as s: f32 do
      s + load a[k]
  store c[i] = 1.0
  store c[i] = 2.0
"
    );
}

#[test]
fn a_hole_that_stands_twice_holds_one_thing() {
    let mut f = fun(&["M", "N"], &[("a", &["M", "N"]), ("c", &["M", "N"])]);
    let (i, j) = (index(&mut f, "i"), index(&mut f, "j"));
    let fill = vec![store(3, cell(buffer(&f, "c"), &[i, j]), float(1.0))];
    f.body = vec![for_(1, i, upto(Var(0)), vec![for_(2, j, upto(Var(1)), fill)])];
    let square = |name: &str| {
        let mut s = interchange();
        s.name = name.into();
        s.from =
            vec![pat_for("i", domain("$A"), vec![pat_for("j", domain("$A"), vec![Pat::Hole("$body".into(), vec![])])])];
        s.to = s.from.clone();
        s
    };
    let d = apply(&f, &call("square", vec![tuple(&["i", "j"])]), &[square("square")]).unwrap_err();
    assert_eq!(d.code.0, "no-match");
    assert!(d.message.contains("$A"), "{d:?}");
}

#[test]
fn locals_of_a_pattern_are_renamed_in_what_holes_hold() {
    let mut f = fun(&["N"], &[("a", &["N"]), ("c", &["N"])]);
    let i = index(&mut f, "i");
    let (a, c) = (buffer(&f, "a"), buffer(&f, "c"));
    let x = f.add_local(LocalInfo {
        name: "x".into(),
        ty: Ty::Elem(Elem::F32),
        dims: vec![],
        vector: false,
        mutable: false,
    });
    let load = Stmt { kind: StmtKind::Let { local: x, word: Word::Load(cell(a, &[i])) }, span: At::default() };
    let use_x =
        |x: Local| vec![store(3, cell(c, &[i]), op(Prim::Add, vec![Word::Local(x, vec![]), Word::Local(x, vec![])]))];
    let block: Block = [vec![load], use_x(x)].concat();
    f.body = vec![for_(1, i, upto(Var(0)), block)];
    for local in ["$x", "x"] {
        let the_let = || Pat::Let { local: local.into(), word: word("$w"), span: At::default() };
        let all = || vec![pat_for("i", domain("$A"), vec![the_let(), Pat::Hole("$rest".into(), vec![])])];
        let same = step("same", vec![Params::One(param("i", ParamKind::Loop))], all(), all(), vec![]);
        let made = apply(&f, &call("same", vec![name("i")]), &[same]).unwrap();
        assert_eq!(body(&made.after), body(&f));
    }
}

#[test]
fn a_context_fits_exactly_one_place() {
    // `max (sum) (sum)`: two sums inside one word.
    let mut f = fun(&["N"], &[("a", &["N"]), ("c", &["N"])]);
    let (a, c) = (buffer(&f, "a"), buffer(&f, "c"));
    let sum = |f: &mut Fun| {
        let (k, s) = (index(f, "k"), total(f, "s"));
        fold(k, upto(Var(0)), s, float(0.0), op(Prim::Add, vec![Word::Local(s, vec![]), Word::Load(cell(a, &[k]))]))
    };
    let (x, y) = (sum(&mut f), sum(&mut f));
    let i = index(&mut f, "i");
    f.body = vec![for_(1, i, upto(Var(0)), vec![store(2, cell(c, &[i]), op(Prim::Max, vec![x, y]))])];
    let d = apply(&f, &call("zero", vec![name("i"), name("c")]), &[common::zero_epilogue()]).unwrap_err();
    assert_eq!(d.code.0, "no-match");
    assert!(d.message.contains("two"), "{d:?}");
}

#[test]
fn trivial_sums_in_indices_do_not_matter() {
    // `0 + i` in the load, `i` in the store.
    let mut f = product(["i", "j", "k"], Start::Cell, false);
    fn set(block: &mut [Stmt]) {
        for s in block {
            match &mut s.kind {
                StmtKind::For { body, .. } => set(body),
                StmtKind::Store { word: Word::Fold(f), .. } => {
                    if let Word::Load(a) = &mut f.init {
                        a.at[0] = Ix::Add(Box::new(Ix::Lit(0)), Box::new(a.at[0].clone()));
                    }
                }
                _ => {}
            }
        }
    }
    set(&mut f.body);
    apply(&f, &call("hoist", vec![tuple(&["j", "k"]), name("c")]), &[common::hoist()]).unwrap();
}

#[test]
fn a_loop_over_blocks_cannot_be_replaced_by_an_index() {
    let mut f = fun(&["N"], &[("c", &["N"])]);
    let g = f.add_var("g", VarKind::Block);
    let c = buffer(&f, "c");
    let at = cachet_core::ir::Access { buffer: c, at: vec![Ix::InBlock(g, Box::new(Ix::Lit(0)))], span: At::default() };
    let blocks = Domain::Blocks { lo: Ix::Lit(0), hi: Ix::Var(Var(0)), size: 4 };
    f.body = vec![for_(1, g, blocks, vec![store(2, at, float(1.0))])];
    let cell_at = |e: PatIx| PatCell::Hole("$cell".into(), vec![PatSubst::One("t".into(), e)]);
    let flat = |e: PatIx| {
        step(
            "flat",
            vec![Params::One(param("t", ParamKind::Loop))],
            vec![pat_for("t", domain("$A"), vec![pat_store(PatCell::Hole("$cell".into(), vec![]), word("$w"))])],
            vec![pat_for("q", PatDomain::Range(PatIx::Lit(0), PatIx::Lit(4)), vec![pat_store(cell_at(e), word("$w"))])],
            vec![],
        )
    };
    let d = apply(&f, &call("flat", vec![name("g")]), &[flat(PatIx::Name("q".into()))]).unwrap_err();
    assert_eq!(d.code.0, "step-argument");
    assert!(d.message.contains("blocks"), "{d:?}");
}

#[test]
fn what_a_hole_holds_must_be_in_scope_where_it_is_put() {
    // The store stands outside the loop that its cell mentions.
    let lost = step(
        "lost",
        vec![Params::One(param("t", ParamKind::Loop))],
        vec![pat_for("t", domain("$A"), vec![pat_store(PatCell::Hole("$cell".into(), vec![]), word("$w"))])],
        vec![pat_store(PatCell::Hole("$cell".into(), vec![]), word("$w"))],
        vec![],
    );
    let d = apply(&rows(), &call("lost", vec![name("t")]), &[lost]).unwrap_err();
    assert_eq!(d.code.0, "step-argument");
    assert!(d.message.contains("`t`"), "{d:?}");
}

#[test]
fn a_rank_of_the_steps_own_takes_the_names_of_the_nest() {
    let before = product(["row", "col", "k"], Start::Zero, false);
    let made = apply(&before, &call("zero", vec![tuple(&["row", "col"]), name("c")]), &[zero()]).unwrap();
    assert!(body(&made.after).starts_with("for zrow in 0 .. M do for zcol in 0 .. N do\n"), "{}", body(&made.after));
}
