//! Do a contraction and its schedules give the same bits, wherever they are run?
//!
//! The programs are `tests/suite/kernels_*.cachet`. Compared are
//!
//! - native schedules with the native nest, at every size of a set and on hostile inputs at the small ones;
//! - interpreted schedules with the interpreted nest;
//! - the native nest with the interpreted one;
//! - the interpreted nest with the evaluator of the equations, which shares nothing with it;
//! - a sum over nothing with the semiring's zero.
//!
//! Two NaN count as equal, whatever their payloads; everything else is compared as bits. Outputs are poisoned before
//! each run, and no poison may survive it.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

#[path = "bits/data.rs"]
mod data;
#[path = "bits/families.rs"]
mod families;
#[path = "bits/interpreted.rs"]
mod interpreted;
#[path = "bits/native.rs"]
mod native;
#[path = "bits/work.rs"]
mod work;

use cachet_runtime::Llvm;
use families::Suite;

/// libLLVM, or `None` after saying what is skipped; a failure where it is required.
fn llvm(suite: &Suite, what: &str) -> Option<Llvm> {
    match Llvm::load() {
        Ok(llvm) => Some(llvm),
        Err(e) => {
            let required = std::env::var("CACHET_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|t| t.trim() == "llvm"), "llvm is required and missing: {e}");
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!(
                    "{}\n",
                    format_args!("skipped: {what}, {} instances: libLLVM is missing: {e}", suite.instances.len())
                ),
            );
            None
        }
    }
}

/// How many choices of sizes are run, for the record: of four sizes they are a sample.
fn choices(run_at: fn(usize) -> Vec<Vec<i64>>) -> String {
    format!("{}, {}, {}", run_at(2).len(), run_at(3).len(), run_at(4).len())
}

#[test]
fn the_suite_has_what_it_is_for() {
    let suite = Suite::get();
    assert_eq!(suite.files.len(), 6, "files");
    assert_eq!(suite.instances.len(), 6 * 6, "six instances a file: four implementations, f32 and f64");
    for i in &suite.instances {
        let copied = i.schedules.iter().filter(|s| suite.name(i, **s).ends_with("_copied")).count();
        assert!(copied > 0 && copied < i.schedules.len(), "{}: by the library's steps and by copies", i.label);
    }
}

#[test]
fn native_schedules_have_the_bits_of_the_native_nest() {
    let suite = Suite::get();
    let Some(llvm) = llvm(suite, "native schedules") else { return };
    let counts = work::each(suite, &|i| native::schedules(suite, i, &llvm));
    println!("native schedules against the native nest: {counts}");
    println!("choices of two, three and four sizes: {}", choices(native::run_at));
}

#[test]
fn native_kernels_stay_inside_their_buffers() {
    let suite = Suite::get();
    let Some(llvm) = llvm(suite, "guarded buffers") else { return };
    let counts = work::each(suite, &|i| native::guarded(suite, i, &llvm));
    println!("native kernels between guard pages: {counts}");
}

#[test]
fn the_native_nest_has_the_bits_of_the_interpreted_nest() {
    let suite = Suite::get();
    let Some(llvm) = llvm(suite, "the native nest") else { return };
    let counts = work::each(suite, &|i| native::nest(suite, i, &llvm));
    println!("native nest against the interpreted nest: {counts}");
}

#[test]
fn interpreted_schedules_have_the_bits_of_the_interpreted_nest() {
    let suite = Suite::get();
    let counts = work::each(suite, &|i| interpreted::schedules(suite, i));
    println!("interpreted schedules against the interpreted nest: {counts}");
    println!("choices of two, three and four sizes: {}", choices(interpreted::run_at));
}

#[test]
fn another_order_of_a_sum_shows() {
    let suite = Suite::get();
    let counts = work::each(suite, &|i| interpreted::another_order(suite, i));
    assert_eq!(counts.runs, 4, "two implementations, f32 and f64");
}

#[test]
fn the_interpreted_nest_has_the_bits_of_the_equations() {
    let suite = Suite::get();
    let counts = work::each(suite, &|i| interpreted::equations(suite, i));
    println!("interpreted nest against the equations: {counts}");
}

#[test]
fn a_sum_over_nothing_is_the_zero() {
    let suite = Suite::get();
    let counts = work::each(suite, &|i| interpreted::empty_sums(suite, i));
    println!("interpreted sums over nothing: {counts}");
    let Some(llvm) = llvm(suite, "native sums over nothing") else { return };
    let counts = work::each(suite, &|i| native::empty_sums(suite, i, &llvm));
    println!("native sums over nothing: {counts}");
}
