//! Functions that no one may call.

use crate::lie::{fun_id, program};
use cachet_check::checked::Checker;

#[track_caller]
fn refused(name: &str, text: &str) -> String {
    let program = program(name, text);
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
        "local_read",
        "fn f (reads x: [f32; N]) (mut y: [f32; N]) =
  var t: [f32; 4] = 0.0
  for i in 0 .. N do
    store y[i] = load x[i] + t[i]
",
    );
    assert!(read.contains("an access stays inside t"), "{read}");
    let written = refused(
        "local_write",
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
        "made_again",
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
        "negative",
        "fn f (mut y: [f32; N]) =
  for i in -2 .. 1 do
    alloc p: [f32; i]
    for j in 0 .. N do
      store y[j] = 0.0
",
    );
    assert!(message.contains("an extent of p is not negative"), "{message}");
}
