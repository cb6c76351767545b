//! Functions that no one may call.

use cachet_adversary::lie::{fun_id, program};
use cachet_check::checked::Checker;
use cachet_core::ir::{Domain, FunId, Guard, Ix, Reduce, Rel, Shape, StmtKind, Word};

#[track_caller]
fn refused(text: &str) -> String {
    let program = program(text);
    let id = fun_id(&program, "f");
    match Checker::new(program).accept_function(id) {
        Ok(_) => panic!("accepted"),
        Err(failures) => failures[0].diagnostic.message.clone(),
    }
}

/// A cell of a local array is memory like any other.
#[test]
fn cells_of_a_local_array_stay_inside_it() {
    let read = refused(
        "fn f (reads x: [f32; N]) (mut y: [f32; N]) =
  var t: [f32; 4] = 0.0
  for i in 0 .. N do
    store y[i] = load x[i] + t[i]
",
    );
    assert!(read.contains("an access stays inside t"), "{read}");
    let written = refused(
        "fn f (reads x: [f32; N]) (mut y: [f32; N]) =
  var t: [f32; 4] = 0.0
  for i in 0 .. 4 do
    t[i - 1] = 2.0
  for i in 0 .. N do
    store y[i] = load x[i] + t[0]
",
    );
    assert!(written.contains("an access stays inside t"), "{written}");
}

/// Every iteration makes a buffer of its own: what an earlier one wrote is gone.
#[test]
fn a_buffer_made_in_a_loop_starts_unwritten_each_time() {
    let message = refused(
        "fn f (mut y: [f32; N]) =
  for i in 0 .. N do
    alloc p: [f32; 1]
    if 0 < i then
      store y[i] = load p[0]
    store p[0] = load y[i]
",
    );
    assert!(message.contains("is written before it is read"), "{message}");
}

/// An extent that is a loop's variable may be below 0.
#[test]
fn a_loop_variable_is_no_size() {
    let message = refused(
        "fn f (mut y: [f32; N]) =
  for i in -2 .. 1 do
    alloc p: [f32; i]
    for j in 0 .. N do
      store y[j] = 0.0
",
    );
    assert!(message.contains("an extent of p is not negative"), "{message}");
}

/// Halving comes out even for powers of two only, and nothing proves that of a size.
#[test]
fn a_size_is_not_halved() {
    let mut program = program(
        "fn f (reads x: [f32; N]) (mut y: [f32; 1]) =
  store y[0] = fold i in 0 .. N from 0.0 as acc: f32 do acc + load x[i]
",
    );
    let f = &mut program.funs[0];
    let info = f.locals[0].clone();
    let operands = (f.add_local(info.clone()), f.add_local(info));
    let StmtKind::Store { word, .. } = &mut f.body[0].kind else { panic!("a store") };
    let Word::Fold(sum) = word.clone() else { panic!("a sum") };
    let Word::Op { op, arith, args } = sum.body else { panic!("an operation") };
    let both = vec![Word::Local(operands.0, vec![]), Word::Local(operands.1, vec![])];
    let made = |domain: Domain| {
        Word::Reduce(Box::new(Reduce {
            var: sum.var,
            domain,
            element: args[1].clone(),
            operands,
            combine: Word::Op { op, arith, args: both.clone() },
            empty: sum.init.clone(),
            shape: Shape::Halving,
            span: sum.span,
        }))
    };
    *word = made(sum.domain.clone());
    f.requires.push(Guard::Cmp(Rel::Le, Ix::Lit(8), Ix::Var(f.sizes[0])));
    let accepts = |domain: Option<Domain>| {
        let mut program = program.clone();
        if let (Some(d), StmtKind::Store { word, .. }) = (domain, &mut program.funs[0].body[0].kind) {
            *word = made(d);
        }
        Checker::new(program).accept_function(FunId(0)).is_ok()
    };
    let range = |n| Some(Domain::Range { lo: Ix::Lit(0), hi: Ix::Lit(n) });
    assert!(!accepts(None) && !accepts(range(6)));
    assert!(accepts(range(8)) && accepts(range(0)));
}

/// Each window is compared with every other, so there is an end to them.
#[test]
fn a_grid_has_so_many_windows_at_most() {
    let text = |count: usize| {
        let windows: Vec<String> = (0..count).map(|k| format!("x[i, {k}]")).collect();
        format!(
            "fn f (mut x: [f32; N, {count}]) =\n  grid i in 0 .. N writes {} do\n    store x[i, 0] = 1.0\n",
            windows.join(", ")
        )
    };
    let message = refused(&text(257));
    assert!(message.contains("more than 256 windows"), "{message}");
    let program = program(&text(20));
    assert!(Checker::new(program).accept_function(FunId(0)).is_ok());
}
