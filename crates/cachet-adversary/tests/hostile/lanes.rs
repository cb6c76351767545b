//! Vectors that are none: loops over lanes around something else, of no lanes or too many, and masks beyond them.

use cachet_adversary::lie::{Lie, program};
use cachet_check::checked::Checker;
use cachet_core::ir::{Domain, Fun, FunId, Ix, Program, StmtKind, VarKind};
use cachet_core::pattern::{MoveKind, PatIx, Side};
use cachet_core::validate::validate_fun;

const VECTORS: &str = "fn f (reads x: [f32; N]) (mut y: [f32; N + 8]) =
  let v: Vec f32 4 = splat 1.0
  store y[0 ..+ 4] = v
";

/// The rule that a changed function breaks, and that the checker refuses it without falling.
#[track_caller]
fn breaks(rule: &str, change: impl FnOnce(&mut Fun)) {
    let mut program: Program = program(VECTORS);
    assert!(Checker::new(program.clone()).accept_function(FunId(0)).is_ok(), "the unchanged one is accepted");
    change(&mut program.funs[0]);
    let faults = validate_fun(&program, &program.funs[0]).expect_err("it is a program");
    assert!(faults.iter().any(|f| f.rule == rule), "{faults:?}");
    assert!(Checker::new(program).accept_function(FunId(0)).is_err(), "accepted");
}

fn count(fun: &mut Fun, lanes: i64) {
    for v in fun.vars.iter_mut().filter(|v| matches!(v.kind, VarKind::Lane(_))) {
        v.kind = VarKind::Lane(lanes);
    }
}

/// The body of the last loop over lanes.
fn last(fun: &mut Fun) -> (&mut Domain, &mut Vec<cachet_core::ir::Stmt>) {
    match fun.body.last_mut().map(|s| &mut s.kind) {
        Some(StmtKind::For { domain, body, .. }) => (domain, body),
        _ => panic!("the last statement is a loop over lanes"),
    }
}

#[test]
fn lanes_are_some_and_not_too_many() {
    for lanes in [0, -1, i64::MIN, 4097, 1 << 40, i64::MAX] {
        breaks("kinds", |f| count(f, lanes));
    }
}

#[test]
fn lanes_run_over_one_store_or_assignment() {
    breaks("vectors", |f| {
        let (_, body) = last(f);
        let again = body[0].clone();
        body.push(again);
    });
    breaks("vectors", |f| last(f).1.clear());
    breaks("vectors", |f| {
        // A plain loop of the same lanes around the statement: the variable is bound twice, and the outer one runs over a loop.
        let whole = f.body.last().cloned().expect("there is one");
        last(f).1[0] = whole;
    });
}

#[test]
fn lanes_count_from_nothing() {
    breaks("kinds", |f| {
        let (domain, _) = last(f);
        *domain = Domain::Range { lo: Ix::Lit(1), hi: Ix::Lit(4) };
    });
    breaks("kinds", |f| {
        let (domain, _) = last(f);
        *domain = Domain::Blocks { lo: Ix::Lit(0), hi: Ix::Lit(4), size: 2 };
    });
}

#[test]
fn a_vector_let_is_filled_once_and_at_once() {
    // Twice.
    breaks("writes", |f| {
        let fill = f.body[1].clone();
        f.body.insert(2, fill);
    });
    // Not at all, and after something else.
    breaks("vectors", |f| drop(f.body.remove(1)));
    breaks("vectors", |f| f.body.swap(1, 2));
}

/// A mask is a number like any other until it is proved to be no larger than the lanes.
#[test]
fn a_mask_as_large_as_an_array() {
    for mask in ["1099511627776", "N", "N - 5", "0 - 1"] {
        let text =
            format!("fn f (reads x: [f32; N]) (mut y: [f32; N + 8]) =\n  store y[0 ..+ 4] = splat 1.0 mask {mask}\n");
        let failures = Checker::new(program(&text)).accept_function(FunId(0)).expect_err(mask);
        assert!(failures.iter().any(|f| f.diagnostic.code == cachet_source::codes::LANES), "{mask}: {failures:?}");
    }
}

/// Bounds and axes that name nothing, numbers beyond all lanes: refused, and nothing falls.
#[test]
fn recipes_that_narrow_what_there_is_not() {
    let text = |mask: &str| {
        format!(
            "(reads x: [f32; N]) (mut y: [f32; N + 8]) =
  var t: [Vec f32 4; 2] = splat 0.0
  for i in 0 .. 2 do
    t[i] = splat 1.0
  for i in 0 .. 2 do
    store y[i ..+ 4] = t[i] mask {mask}
"
        )
    };
    let functions = format!("fn s {}\nfn t {}", text("2"), text("3"));
    for (axis, to) in [(0, 2), (1, 4), (1, 3), (2, 0), (u32::MAX, 0), (1, i64::MAX), (1, i64::MIN), (0, -1)] {
        let narrow = MoveKind::Narrow { side: Side::T, local: "t".into(), axis, to: PatIx::Known(Ix::Lit(to)) };
        for recipe in [
            vec![narrow.clone()],
            vec![narrow.clone(), MoveKind::Carry { side: Side::T, local: "t".into(), buffer: "y".into() }],
            vec![MoveKind::Copy(Side::T, "t".into()), narrow],
        ] {
            assert!(Lie::new("masks", &functions).by(recipe).check().is_err(), "accepted: {axis} to {to}");
        }
    }
    for names in [vec![], vec!["i".to_string()], vec!["y".to_string(); 9]] {
        assert!(Lie::new("masks", &functions).by(vec![MoveKind::Lanes(Side::T, names)]).check().is_err());
    }
}
