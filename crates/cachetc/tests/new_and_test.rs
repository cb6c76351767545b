//! `cachetc new` makes a folder whose commands work as its README says, and `cachetc test` sees differences.

mod common;

use common::{cachetc, cachetc_in, scratch, skipped, text};

/// `cachetc test`, natively where that is possible.
fn tested(folder: &std::path::Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut all = vec!["test"];
    if let Err(e) = cachet_runtime::Llvm::load() {
        skipped("llvm", &e.message);
        all.push("--interpret");
    }
    all.extend(args);
    let out = cachetc_in(folder, &all);
    (out.status.code(), text(&out.stdout), text(&out.stderr))
}

#[test]
fn what_new_makes_checks_and_passes_its_test() {
    let folder = scratch("new");
    let out = cachetc_in(&folder, &["new", "mixing"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert_eq!(text(&out.stdout), "made mixing; next: cachetc test mixing/kernel.cachet\n");
    let made = folder.join("mixing");
    let readme = std::fs::read_to_string(made.join("README.md")).expect("a README");
    assert!(readme.starts_with("# mixing\n") && !readme.contains("NAME"), "{readme}");
    let out = cachetc_in(&made, &["check", "kernel.cachet"]);
    assert_eq!((out.status.code(), text(&out.stderr)), (Some(0), String::new()));
    assert!(text(&out.stdout).starts_with("kernel.cachet: 1 contraction, 2 schedules, "), "{}", text(&out.stdout));
    let (code, said, errors) = tested(&made, &["kernel.cachet"]);
    assert_eq!((code, errors), (Some(0), String::new()), "{said}");
    assert!(said.starts_with("ok      kernel.cachet: 3 lines, "), "{said}");
    assert!(said.ends_with(", as in kernel.expected\n"), "{said}");
    // Both schedules give the equation's bits.
    let expected = std::fs::read_to_string(made.join("kernel.expected")).expect("what is expected");
    assert_eq!(expected.lines().skip(1).collect::<Vec<_>>(), ["0", "0"]);
    let out = cachetc_in(&made, &["scheduled", "--steps", "kernel.cachet", "by_input"]);
    assert!(text(&out.stdout).contains("by_input: bits of mix\n"), "{}", text(&out.stdout));
}

#[test]
fn new_overwrites_nothing() {
    let folder = scratch("new_twice");
    std::fs::create_dir(folder.join("mine")).expect("a folder");
    std::fs::write(folder.join("mine/kernel.cachet"), "mine").expect("a file");
    let out = cachetc_in(&folder, &["new", "mine"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).starts_with("error: cannot make the folder `mine`: it exists\n"));
    assert_eq!(std::fs::read_to_string(folder.join("mine/kernel.cachet")).expect("still there"), "mine");
    assert!(!folder.join("mine/README.md").exists());
    assert_eq!(cachetc_in(&folder, &["new", "no/such/parent"]).status.code(), Some(2));
    assert_eq!(cachetc_in(&folder, &["new", ".."]).status.code(), Some(2));
}

#[test]
fn a_difference_is_seen_and_a_blessing_is_written() {
    let folder = scratch("test");
    let program = "fn main () =\n  print (1.5 + 2.0)\n  print (0.25 * 2.0)\n";
    std::fs::write(folder.join("sums.cachet"), program).expect("a file");
    let (code, said, _) = tested(&folder, &["sums.cachet"]);
    assert_eq!(code, Some(0));
    assert!(said.ends_with("; there is no sums.expected\n"), "{said}");
    std::fs::write(folder.join("sums.expected"), "3.5\n0.75\n").expect("a file");
    let (code, said, _) = tested(&folder, &["sums.cachet"]);
    assert_eq!(code, Some(1));
    assert_eq!(said, "differs sums.cachet: line 2: it printed `0.5`, sums.expected has `0.75`\n");
    std::fs::write(folder.join("sums.expected"), "3.5\n").expect("a file");
    let (code, said, _) = tested(&folder, &["sums.cachet"]);
    assert_eq!(code, Some(1));
    assert_eq!(said, "differs sums.cachet: line 2: it printed `0.5`, sums.expected has nothing more\n");
    let (code, said, _) = tested(&folder, &["--bless", "sums.cachet"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(std::fs::read_to_string(folder.join("sums.expected")).expect("written"), "3.5\n0.5\n");
}

#[test]
fn what_cannot_be_tested_is_not_passed() {
    let refused = cachetc(&["test", "tests/refusals/off_by_one.cachet"]);
    assert_eq!(refused.status.code(), Some(1));
    let without_main = cachetc(&["test", "examples/matvec.cachet"]);
    assert_eq!(without_main.status.code(), Some(2));
    assert_eq!(text(&without_main.stdout), "not run examples/matvec.cachet\n");
}
