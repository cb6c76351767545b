//! Every file of `tests/refusals/` is refused, with exactly the text beside it, in one screen, and no internal id.

mod common;

use common::{cachetc, changed_lines, files, golden, text};

/// A screen.
const LINES: usize = 40;

#[test]
fn refusals_read_as_expected() {
    let all = files("tests/refusals", ".cachet");
    assert!(all.len() >= 100, "the refusals are gone: {}", all.len());
    let mut faults = Vec::new();
    for file in &all {
        let out = cachetc(&["check", file]);
        let said = text(&out.stderr);
        if out.status.code() != Some(1) {
            faults.push(format!("{file}: exit status {:?}\n{said}", out.status.code()));
        }
        if said.lines().count() > LINES {
            faults.push(format!("{file}: {} lines", said.lines().count()));
        }
        if let Some(id) =
            ["Var(", "Local(", "Buffer(", "FunId(", "Some(", "panicked"].iter().find(|id| said.contains(**id))
        {
            faults.push(format!("{file}: the text contains `{id}`"));
        }
        faults.extend(golden(&file.replace(".cachet", ".txt"), &said).err());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
fn only_lines_that_differ_are_shown() {
    assert_eq!(changed_lines("a\nb\nc\nd", "a\nc\nx\nd\n"), "line 2\n- b\nline 4\n+ x\nline 5\n+ \n");
    assert_eq!(changed_lines("same\n", "same\n"), "");
}

#[test]
fn json_has_the_same_facts() {
    let out = cachetc(&["check", "--error-format", "json", "tests/refusals/off_by_one.cachet"]);
    let line = text(&out.stderr);
    let report: serde_json::Value = serde_json::from_str(line.trim()).expect("one JSON object");
    assert_eq!(report["kind"], "wrong");
    assert_eq!(report["code"], "relation");
    assert_eq!(report["counterexample"]["values"][0][0], "K");
    assert_eq!(report["counterexample"]["values"][0][1], "1");
    assert_eq!(report["counterexample"]["replay"]["outcome"], "seen");
    assert_eq!(report["labels"][0]["primary"], true);
}

#[test]
fn a_byte_that_is_no_text_is_shown_where_it_stands() {
    let file = std::env::temp_dir().join(format!("cachet-no-text-{}.cachet", std::process::id()));
    std::fs::write(&file, b"fn main () =\n  // caf\xe9\n  print 1\n").expect("a file");
    let out = cachetc(&["check", &file.to_string_lossy()]);
    let said = text(&out.stderr);
    std::fs::remove_file(&file).expect("the file");
    assert!(said.contains(".cachet:2:9\n") && said.contains("2 |   // caf\u{fffd}\n"), "{said}");
}

#[test]
fn statuses_are_0_1_and_2() {
    assert_eq!(cachetc(&["check", "examples/matmul.cachet"]).status.code(), Some(0));
    assert_eq!(cachetc(&["check", "tests/refusals/off_by_one.cachet"]).status.code(), Some(1));
    assert_eq!(cachetc(&["check", "no/such/file.cachet"]).status.code(), Some(1));
    assert_eq!(cachetc(&["run", "examples/matvec.cachet"]).status.code(), Some(2));
    assert_eq!(cachetc(&["no-such-command"]).status.code(), Some(2));
}
