//! What a step adds to the requirements, and who has to meet them.

use cachet_adversary::lie::{Lie, fun_id, given, program, s};
use cachet_check::checked::Checker;
use cachet_check::relation::Asked;
use cachet_core::ir::{Guard, Ix, Rel};
use cachet_core::pattern::{MoveKind, PatIx};
use cachet_source::Span;

const DOUBLED: &str = "fn s (mut c: [f32; M]) =
  for i in 0 .. M do
    store c[i] = load c[i] * 3.0

fn t (mut c: [f32; M]) =
  for g in 0 .. M / 2 do
    for i in 0 .. 2 do
      store c[0 + (2 * g + i)] = load c[0 + (2 * g + i)] * 3.0

fn caller (mut c: [f32; M]) =
  s c

fn above (mut c: [f32; M]) =
  caller c
";

fn pairs() -> Vec<MoveKind> {
    vec![MoveKind::Split { of: s("i"), by: PatIx::Lit(2), outer: "g".into(), ragged: false }]
}

/// What a whole split needs is one of the few things that a step may require.
fn doubled(requires: Guard) -> Lie {
    let mut lie = Lie::new("doubled", DOUBLED).by(pairs());
    lie.rewrite.after.requires.push(requires);
    lie
}

fn even(lie: &Lie) -> Guard {
    let m = Ix::Var(lie.before().sizes[0]);
    Guard::Cmp(Rel::Eq, Ix::Mod(Box::new(m), 2), Ix::Lit(0))
}

#[test]
fn a_step_requires_only_what_its_recipe_needs() {
    let lie = Lie::new("doubled", DOUBLED).by(pairs());
    let m = || Ix::Var(lie.before().sizes[0]);
    doubled(even(&lie)).is_accepted();
    lie.is_refused();
    // Each makes the two programs agree, or holds of few sizes; none is in the recipe.
    let others = [
        Guard::Cmp(Rel::Eq, m(), Ix::Lit(0)),
        Guard::Cmp(Rel::Eq, Ix::Mod(Box::new(m()), 4), Ix::Lit(0)),
        Guard::Const(false),
        Guard::And(Box::new(even(&lie)), Box::new(even(&lie))),
    ];
    for other in others {
        assert!(doubled(other.clone()).check().is_err(), "{other:?}");
    }
}

/// From a contradiction everything would follow.
#[test]
fn a_given_contradiction_is_no_requirement() {
    let lie = Lie::new("doubled", DOUBLED);
    let m = Ix::Var(lie.before().sizes[0]);
    for never in [Guard::Const(false), Guard::Cmp(Rel::Lt, m, Ix::Lit(0))] {
        let mut lie = Lie::new("doubled", DOUBLED).by(vec![given(never.clone())]);
        lie.rewrite.after.requires.push(never);
        assert!(lie.check().is_err());
    }
}

/// Callers were checked against the function as it was.
#[test]
fn a_caller_is_checked_again_after_a_step() {
    let lie = Lie::new("doubled", DOUBLED).by(pairs());
    let lie = doubled(even(&lie));
    let (caller, above) = (fun_id(&lie.program, "caller"), fun_id(&lie.program, "above"));
    let mut checker = Checker::new(lie.program.clone());
    for id in [lie.s, caller, above] {
        checker.accept_function(id).expect("right so far");
    }
    let asked = Asked { name: "s_lie".into(), step: "lie".into(), span: Span::default(), callers: vec![] };
    checker.accept_step(lie.s, &lie.rewrite, &asked).expect("the step is right");
    assert!(!checker.accepts(caller) && !checker.accepts(above));
    let failures = checker.accept_function(caller).expect_err("it does not know that M is even");
    assert!(failures[0].diagnostic.message.contains("meets its requirement"), "{}", failures[0].diagnostic.message);
}

/// A schedule that starts anew, and one that is refused, take their callers with them.
#[test]
fn a_caller_falls_with_what_it_calls() {
    let program = program(DOUBLED);
    let [s, t, caller, above] = ["s", "t", "caller", "above"].map(|name| fun_id(&program, name));
    let accepted = || {
        let mut checker = Checker::new(program.clone());
        for id in [s, caller, above] {
            checker.accept_function(id).expect("right so far");
        }
        checker
    };
    let mut checker = accepted();
    checker.refuse(s);
    assert!(!checker.accepts(caller) && !checker.accepts(above));
    let mut checker = accepted();
    assert!(!checker.start(s, t, &[]), "t was not accepted");
    assert!(checker.accepts(above));
    assert!(checker.start(s, s, &[]));
    assert!(!checker.accepts(caller) && !checker.accepts(above));
}
