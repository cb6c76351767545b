//! Each population at its ordinary size: nothing that must not happen, and enough of it to the point.
//!
//! `--nocapture` prints what was counted; `CACHET_SEED` repeats a fresh seed.

#![allow(clippy::unwrap_used, reason = "tests")]

use cachet_adversary::population::{Part, Population, Scale, fresh_seed};
use cachet_adversary::{populations, table};
use std::io::Write;

fn try_out(p: &'static Population) {
    let ran = p.try_out(Scale::Ordinary, fresh_seed(), Part::WHOLE);
    let details = table::details(&ran);
    assert!(ran.passed(), "{details}");
    if let Some(why) = &ran.report.skipped {
        // Past the capture of a test's output: what was skipped is always seen.
        let line = format!("skipped {} of {}: {why}\n", p.counts[0], p.name);
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return;
    }
    println!("{details}");
}

macro_rules! promises {
    ($($name:ident),*) => {
        $(
            #[test]
            fn $name() {
                let promise = stringify!($name);
                let all = populations::named(promise);
                assert!(!all.is_empty(), "no population of {promise}");
                all.into_iter().for_each(try_out);
            }
        )*

        #[test]
        fn every_promise_is_tried() {
            let tried = [$(stringify!($name)),*];
            for p in populations::all() {
                assert!(tried.iter().any(|t| p.promise.eq_ignore_ascii_case(t)), "{} is not tried", p.name);
            }
        }
    };
}

/// Where this program was started to run generated code, it does nothing else.
#[test]
fn native_child() {
    cachet_adversary::native::serve_if_asked();
}

promises!(p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17, p18, p19, p20);
