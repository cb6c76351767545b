//! Every code has a page, and every page is true: its first program is refused with exactly that code, its second is
//! accepted.

mod common;

use common::{cachetc, cachetc_in, root, scratch, text};
use std::collections::BTreeSet;

/// Codes whose page has no programs, with the reason.
const WITHOUT_PROGRAMS: &[(&str, &str)] = &[
    ("encoding", "a page of text cannot hold bytes that are no text"),
    ("too-deep", "the program would fill pages; `crates/cachet-syntax/src/tests/totality.rs` tries it"),
    ("dead-code", "a warning refuses nothing"),
    ("unused", "a warning refuses nothing"),
    ("tool", "the machine causes it, not a program"),
    ("file", "the file system causes it, not a program"),
];

#[test]
fn each_example_fails_as_its_page_says_and_is_mended() {
    let out = cachetc(&["explain", "--json"]);
    let pages: serde_json::Value = serde_json::from_str(&text(&out.stdout)).expect("JSON");
    let pages = pages.as_array().expect("a list");
    assert!(pages.len() > 30, "the codes are gone");
    let folder = scratch("explain");
    let mut faults = Vec::new();
    let mut without = BTreeSet::new();
    for page in pages {
        let code = page["code"].as_str().expect("a code");
        let sections = page["sections"].as_array().expect("sections");
        let headings: Vec<&str> = sections.iter().filter_map(|s| s["heading"].as_str()).collect();
        let programs: Vec<&str> = sections.iter().filter_map(|s| s["program"].as_str()).collect();
        if sections.iter().all(|s| s["text"].as_str().is_none_or(str::is_empty)) {
            faults.push(format!("{code}: nothing is explained"));
        }
        let (fails, mended) = match (headings.as_slice(), programs.as_slice()) {
            (["Meaning", "An example that fails", "Mended"], [fails, mended]) => (fails, mended),
            (["Meaning", "What helps"], []) => {
                without.insert(code);
                continue;
            }
            _ => {
                faults.push(format!("{code}: has sections {headings:?} and {} programs", programs.len()));
                continue;
            }
        };
        for (program, wanted) in [(fails, Some(code)), (mended, None)] {
            std::fs::write(folder.join("example.cachet"), program).expect("a temporary file");
            let out = cachetc_in(&folder, &["check", "--error-format", "json", "example.cachet"]);
            let said = text(&out.stderr);
            let found: BTreeSet<String> = said
                .lines()
                .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap_or_default())
                .map(|r| r["code"].as_str().unwrap_or("?").to_string())
                .collect();
            if !found.iter().map(String::as_str).eq(wanted) || out.status.code() != Some(i32::from(wanted.is_some())) {
                faults.push(format!("{code}: wanted {wanted:?}, found {found:?}\n{program}\n{said}"));
            }
        }
    }
    assert_eq!(without, WITHOUT_PROGRAMS.iter().map(|(c, _)| *c).collect());
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
fn every_page_has_a_code() {
    let out = cachetc(&["explain"]);
    let listed: BTreeSet<String> =
        text(&out.stdout).lines().filter_map(|l| l.split_whitespace().next()).map(|c| format!("{c}.md")).collect();
    let pages = std::fs::read_dir(root().join("docs/errors")).expect("the pages are there");
    let pages: BTreeSet<String> = pages.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
    assert_eq!(listed, pages);
}

#[test]
fn a_page_is_printed_and_an_unknown_code_gets_a_suggestion() {
    let out = cachetc(&["explain", "bounds", "mode"]);
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0));
    assert!(said.starts_with("bounds: an access that may leave its array\n"), "{said}");
    assert!(said.contains("\nmode: "), "{said}");
    assert!(said.contains("      fn differences"), "{said}");
    assert!(!said.contains("```"), "{said}");
    let out = cachetc(&["explain", "boudns"]);
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(text(&out.stderr), "error: there is no code `boudns`\n  help: did you mean `bounds`?\n");
    let out = cachetc(&["explain", "quite-another"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("`cachetc explain` lists every code"));
}

#[test]
fn where_more_is_said_comes_once_a_run_and_only_in_text() {
    let files = ["tests/refusals/off_by_one.cachet", "tests/refusals/order_matters.cachet"];
    let out = cachetc(&["check", files[0], files[1]]);
    let said = text(&out.stderr);
    assert_eq!(said.lines().filter(|l| l.starts_with("for more:")).count(), 1, "{said}");
    assert_eq!(said.lines().last(), Some("for more: cachetc explain relation"));
    let out = cachetc(&["check", "--error-format", "json", files[0], files[1]]);
    assert!(text(&out.stderr).lines().all(|l| l.starts_with('{')));
    let out = cachetc(&["check", "examples/matmul.cachet"]);
    assert_eq!(text(&out.stderr), "");
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let plain = cachetc(&["check", "tests/refusals/off_by_one.cachet"]);
    assert!(!text(&plain.stderr).contains('\u{1b}'));
    let always = cachetc(&["check", "--color", "always", "tests/refusals/off_by_one.cachet"]);
    assert!(text(&always.stderr).contains("\u{1b}[1m\u{1b}[95mwrong[relation]"), "{}", text(&always.stderr));
}
