//! `ARCHITECTURE.md` is true: its paths exist, its rooms are the crates with the dependencies it says, and each row of
//! *built and refused* is tried.

mod common;

use common::{cachetc, root, text};
use std::collections::{BTreeMap, BTreeSet};

fn page() -> String {
    std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page is there")
}

/// The cells of the table rows under a heading.
fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let section = page.split(&format!("\n## {heading}\n")).nth(1).expect("the heading is there");
    let section = section.split("\n## ").next().unwrap_or("");
    let lines = section.lines().filter(|l| l.starts_with("| ") && !l.starts_with("| ---"));
    lines.skip(1).map(|l| l.trim_matches('|').split(" | ").map(|c| c.trim().to_string()).collect()).collect()
}

fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(String::from).collect()
}

#[test]
fn every_path_exists() {
    let folders = ["crates/", "library/", "examples/", "tests/", "docs/"];
    let paths: BTreeSet<String> =
        quoted(&page()).into_iter().filter(|q| folders.iter().any(|f| q.starts_with(f))).collect();
    let missing: Vec<&String> = paths.iter().filter(|p| !root().join(p).exists()).collect();
    assert!(paths.len() > 20 && missing.is_empty(), "missing: {missing:?}");
}

#[test]
fn every_crate_is_a_room_and_uses_what_the_page_says() {
    let mut said = BTreeMap::new();
    for row in rows(&page(), "Rooms") {
        let name = quoted(&row[0]).remove(0);
        said.insert(name, quoted(&row[1]).into_iter().collect::<BTreeSet<_>>());
    }
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("crates") {
        let manifest = std::fs::read_to_string(entry.expect("an entry").path().join("Cargo.toml")).expect("a manifest");
        let name = manifest.split("name = \"").nth(1).and_then(|s| s.split('"').next()).expect("a name").to_string();
        let section = manifest.split("[dependencies]").nth(1).unwrap_or("").split("\n[").next().unwrap_or("");
        let uses = section.lines().filter(|l| l.starts_with("cachet")).filter_map(|l| l.split('.').next());
        found.insert(name, uses.map(|l| l.trim().to_string()).collect::<BTreeSet<_>>());
    }
    assert_eq!(said, found);
    let shipped = found.iter().find(|(name, uses)| *name != "cachet-adversary" && uses.contains("cachet-adversary"));
    assert_eq!(shipped, None, "nothing that is shipped uses the adversary");
}

#[test]
fn what_is_built_is_accepted_and_the_rest_says_not_built() {
    let rows = rows(&page(), "Built and refused");
    let mut faults = Vec::new();
    let mut shown = BTreeSet::new();
    for row in &rows {
        let file = quoted(&row[2]).remove(0);
        shown.insert(file.clone());
        let out = cachetc(&["check", "--error-format", "json", &file]);
        let first = text(&out.stderr).lines().next().unwrap_or("{}").to_string();
        let report: serde_json::Value = serde_json::from_str(&first).unwrap_or_default();
        let right = match row[1].as_str() {
            "built" => out.status.code() == Some(0) && report == serde_json::json!({}),
            "refused" => out.status.code() == Some(1) && report["kind"] == "not-built",
            other => panic!("{other}?"),
        };
        if !right {
            faults.push(format!("{} ({}): {first}", row[0], file));
        }
    }
    for file in common::files("tests/refused", ".cachet").into_iter().chain(common::files("tests/suite", ".cachet")) {
        // Families of kernels that the bits tests run have rows of their own kind there.
        if file.starts_with("tests/refused/") && !shown.contains(&file) {
            faults.push(format!("{file} has no row"));
        }
    }
    assert!(rows.len() > 40 && faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_line_of_the_checklist_has_its_files() {
    let rows = rows(&page(), "Checklist");
    let mut faults = Vec::new();
    for row in &rows {
        let shown = quoted(&row[2]);
        if shown.is_empty() {
            faults.push(format!("{}: no file", row[0]));
        }
        faults.extend(shown.iter().filter_map(|file| misplaced(&row[1], file)));
    }
    assert!(rows.len() > 80 && faults.is_empty(), "{}", faults.join("\n"));
}

/// Why a file does not show what a line of the checklist says. The suite and the refusals are run by tests of their own.
fn misplaced(status: &str, file: &str) -> Option<String> {
    let fault = |why: &str| Some(format!("{file}: {why}"));
    if !root().join(file).is_file() {
        return fault("there is no such file");
    }
    match status {
        "built" if file.starts_with("tests/suite/") => None,
        "built" => fault("the suite does not run it"),
        "wrong" if !file.starts_with("tests/refusals/") => fault("it is not among the refusals"),
        "wrong" if root().join(file.replace(".cachet", ".txt")).is_file() => None,
        "wrong" => fault("the text of its refusal is missing"),
        "refused" if !file.starts_with("tests/refused/") => fault("it is not among what is not built"),
        "refused" => {
            let out = cachetc(&["check", "--error-format", "json", file]);
            let first = text(&out.stderr).lines().next().unwrap_or("{}").to_string();
            let report: serde_json::Value = serde_json::from_str(&first).unwrap_or_default();
            if report["kind"] == "not-built" { None } else { fault("it is not refused as not built") }
        }
        other => panic!("{other}?"),
    }
}
