//! Every program of the guide is what the guide says: accepted, or refused with the code in its first line.

mod common;

use common::{cachetc_in, root, scratch, text};
use std::collections::BTreeSet;

#[test]
fn programs_of_the_guide_are_as_it_says() {
    let guide = std::fs::read_to_string(root().join("docs/guide.md")).expect("the guide");
    let programs: Vec<&str> = guide.split("```cachet\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(programs.len() > 6, "the guide has programs");
    let folder = scratch("guide");
    let mut refused = 0;
    for program in programs {
        let wanted: BTreeSet<String> =
            program.strip_prefix("// refused: ").and_then(|p| p.lines().next()).into_iter().map(String::from).collect();
        std::fs::write(folder.join("guide.cachet"), program).expect("a temporary file");
        let out = cachetc_in(&folder, &["check", "--error-format", "json", "guide.cachet"]);
        let said = text(&out.stderr);
        let found: BTreeSet<String> = said
            .lines()
            .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap_or_default())
            .map(|r| r["code"].as_str().unwrap_or("?").to_string())
            .collect();
        assert_eq!(found, wanted, "{program}\n{said}");
        assert_eq!(out.status.code(), Some(i32::from(!wanted.is_empty())), "{program}");
        refused += usize::from(!wanted.is_empty());
    }
    assert!(refused > 0, "some are refused");
}
