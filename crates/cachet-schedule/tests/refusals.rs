//! Refusals: each says what the step wants, what is there instead, and what would help.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use cachet_core::ir::{Fun, Var};
use cachet_core::pattern::StepDef;
use cachet_core::script::{StepArg, StepCall};
use cachet_source::Diagnostic;
use common::{
    Start, apply, buffer, call, cell, float, for_, fun, hoist, index, interchange, name, product, store, tuple, upto,
    zero, zero_epilogue,
};

fn library() -> Vec<StepDef> {
    vec![zero(), zero_epilogue(), hoist(), interchange()]
}

fn refused(fun: &Fun, call: &StepCall) -> Diagnostic {
    apply(fun, call, &library()).unwrap_err()
}

fn text(d: &Diagnostic) -> String {
    format!("{}\n{}\n{}", d.message, d.notes.join("\n"), d.helps.join("\n"))
}

#[test]
fn no_such_step() {
    let f = product(["i", "j", "k"], Start::Zero, false);
    let d = refused(&f, &call("hoyst", vec![]));
    assert_eq!(d.code.0, "unknown-name");
    assert!(text(&d).contains("`hoist`"), "{d:?}");
}

#[test]
fn no_such_loop_or_array() {
    let f = product(["i", "row", "k"], Start::Cell, false);
    let d = refused(&f, &call("hoist", vec![tuple(&["rw", "k"]), name("c")]));
    assert_eq!(d.code.0, "unknown-name");
    assert!(d.message.contains("`rw`") && text(&d).contains("`row`"), "{d:?}");
    let d = refused(&f, &call("hoist", vec![tuple(&["row", "k"]), name("cc")]));
    assert_eq!(d.code.0, "unknown-name");
    assert!(d.message.contains("`cc`") && d.notes == ["the arrays are a, b, c"], "{d:?}");
}

#[test]
fn arguments_of_the_wrong_shape() {
    let f = product(["i", "j", "k"], Start::Cell, false);
    let number = || StepArg::Number(4, common::span(1));
    for args in [
        vec![],
        vec![tuple(&["j", "k"])],
        vec![tuple(&["j", "k"]), name("c"), name("c")],
        vec![tuple(&["j", "k", "i"]), name("c")],
        vec![tuple(&["j"]), name("c")],
        vec![name("j"), name("c")],
        vec![tuple(&["j", "k"]), number()],
        vec![number(), name("c")],
        vec![tuple(&["j", "k"]), tuple(&["c", "c"])],
    ] {
        let d = refused(&f, &call("hoist", args.clone()));
        assert_eq!(d.code.0, "step-argument", "{args:?} {d:?}");
        assert!(text(&d).contains("hoist (j, k) c"), "{args:?} {d:?}");
    }
    let d = refused(&f, &call("zero", vec![StepArg::Tuple(vec![], common::span(1)), name("c")]));
    assert!(text(&d).contains("zero (i..) c"), "{d:?}");
}

#[test]
fn the_sum_does_not_start_from_its_cell() {
    let f = product(["i", "j", "k"], Start::Zero, false);
    let d = refused(&f, &call("hoist", vec![tuple(&["j", "k"]), name("c")]));
    assert_eq!(d.code.0, "no-match");
    assert!(d.message.contains("starts from -0.0"), "{d:?}");
    assert!(d.helps.iter().any(|h| h.contains("`zero`")), "{d:?}");
    let from = "for j in $a .. $b do\n  store $cell = fold k in $lo .. $hi from (load $cell) as $acc: $E do $step";
    assert!(d.notes.iter().any(|n| n.contains(from)), "{d:?}");
}

#[test]
fn a_loop_that_holds_something_else() {
    let f = product(["i", "j", "k"], Start::Cell, false);
    // `i` holds a loop, not a store.
    let d = refused(&f, &call("hoist", vec![tuple(&["i", "k"]), name("c")]));
    assert_eq!(d.code.0, "no-match");
    assert!(d.message.contains("loop over j") && d.message.contains("store"), "{d:?}");
    // `j` holds the sum, not a loop over `i`.
    let d = refused(&f, &call("interchange", vec![tuple(&["j", "i"])]));
    assert_eq!(d.code.0, "no-match");
    assert!(d.message.contains("store"), "{d:?}");
}

#[test]
fn two_statements_where_one_is_wanted() {
    let mut f = fun(&["N"], &[("c", &["N"])]);
    let i = index(&mut f, "i");
    let c = buffer(&f, "c");
    let fill = |at: u32| store(at, cell(c, &[i]), float(1.0));
    f.body = vec![for_(1, i, upto(Var(0)), vec![fill(2), fill(3)])];
    let d = refused(&f, &call("zero", vec![name("i"), name("c")]));
    assert_eq!(d.code.0, "no-match");
    assert!(d.message.contains("the loop over i") && d.message.contains("2 statements"), "{d:?}");
}

#[test]
fn the_nearest_place_is_the_loop_named() {
    // The first nest has another name; the reason is about the second.
    let mut f = fun(&["N"], &[("c", &["N"])]);
    let c = buffer(&f, "c");
    let (t, i) = (index(&mut f, "t"), index(&mut f, "i"));
    f.body = vec![
        for_(10, t, upto(Var(0)), vec![store(11, cell(c, &[t]), float(1.0))]),
        for_(20, i, upto(Var(0)), vec![store(21, cell(c, &[i]), float(2.0))]),
    ];
    let d = refused(&f, &call("zero", vec![name("i"), name("c")]));
    assert!(d.message.contains("2.0"), "{d:?}");
    assert!(d.labels.iter().any(|l| !l.primary && l.span.lo == 21), "{d:?}");
}

#[test]
fn a_number_beyond_the_loops_of_that_name() {
    let f = product(["i", "j", "k"], Start::Cell, false);
    let d = refused(&f, &call("hoist", vec![tuple(&["j#2", "k"]), name("c")]));
    assert_eq!(d.code.0, "step-argument");
    assert!(d.message.contains("number 2") && d.message.contains("there is 1"), "{d:?}");
}

#[test]
fn a_pattern_longer_than_every_block() {
    let f = product(["i", "j", "k"], Start::Cell, false);
    let mut two = interchange();
    two.name = "two".into();
    two.from = [two.from.clone(), two.from].concat();
    let d = apply(&f, &call("two", vec![tuple(&["i", "j"])]), &[two]).unwrap_err();
    assert_eq!(d.code.0, "no-match", "{d:?}");
    let mut empty = f.clone();
    empty.body = vec![];
    let d = refused(&empty, &call("interchange", vec![tuple(&["i", "j"])]));
    assert_eq!(d.code.0, "unknown-name", "{d:?}");
    assert!(d.message.contains("`i`"), "{d:?}");
}

#[test]
fn an_epilogue_where_the_step_knows_none() {
    let f = product(["i", "j", "k"], Start::Zero, true);
    let d = apply(&f, &call("zero", vec![tuple(&["i", "j"]), name("c")]), &[zero()]).unwrap_err();
    assert_eq!(d.code.0, "no-match");
    assert!(d.message.contains("a sum over k is wanted"), "{d:?}");
}

#[test]
fn the_lines_of_helpers_are_named() {
    let f = product(["i", "j", "k"], Start::Zero, false);
    let mut c = call("hoist", vec![tuple(&["j", "k"]), name("c")]);
    c.callers = vec![common::span(31), common::span(32)];
    let d = refused(&f, &c);
    for at in [31, 32] {
        assert!(d.labels.iter().any(|l| l.span.lo == at), "{d:?}");
    }
}
