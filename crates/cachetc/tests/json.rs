//! `docs/json.md` is true: reports have exactly the keys of its tables, and their places lie where they say.

mod common;

use common::{cachetc, files, root, skipped, text};
use serde_json::Value;
use std::collections::BTreeSet;

/// The first cells of the table that starts with `| key |` or `| kind |` under a heading.
fn table(heading: &str, first: &str) -> BTreeSet<String> {
    let page = std::fs::read_to_string(root().join("docs/json.md")).expect("the page is there");
    let section = page.split(&format!("\n## {heading}\n")).nth(1).expect("the heading is there").to_string();
    let section = section.split("\n## ").next().unwrap_or("").to_string();
    let rows = section.split(&format!("\n| {first} |")).nth(1).expect("the table is there").to_string();
    let rows = rows.split("\n\n").next().unwrap_or("").to_string();
    rows.lines().filter_map(|l| l.strip_prefix("| `")?.split('`').next()).map(String::from).collect()
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().map(|o| o.keys().cloned().collect()).unwrap_or_default()
}

fn reports(args: &[&str]) -> Vec<Value> {
    let mut all = vec!["--error-format", "json"];
    all.extend(args);
    let said = text(&cachetc(&all).stderr);
    said.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{args:?}: {e}\n{l}"))).collect()
}

/// The line and column of a byte, counted here by other means.
fn line_and_column(source: &str, byte: usize) -> (u64, u64) {
    let before = &source[..byte];
    let line = before.matches('\n').count() as u64 + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u64 + 1;
    (line, column)
}

fn check_place(place: &Value) {
    let name = place["file"].as_str().expect("a file");
    let at = |end: &str, part: &str| place[end][part].as_u64().expect("a number");
    assert_eq!(keys(&place["from"]), ["byte", "column", "line"].map(String::from).into(), "{place}");
    assert!(at("from", "byte") <= at("to", "byte"), "{place}");
    let Ok(source) = std::fs::read_to_string(root().join(name)) else {
        assert!(name.starts_with("cachet:"), "{place}");
        return;
    };
    for end in ["from", "to"] {
        let found = line_and_column(&source, at(end, "byte") as usize);
        assert_eq!(found, (at(end, "line"), at(end, "column")), "{place}");
    }
}

#[test]
fn accounts_have_the_keys_of_the_page() {
    let args = ["account", "--json", "tests/suite/accounts.cachet", "--at", "M=30,N=40,K=50"];
    let all: Value = serde_json::from_str(&text(&cachetc(&args).stdout)).expect("JSON");
    let wanted = table("`account --json`", "key");
    let (mut operations, mut limits) = (0, 0);
    for item in all["items"].as_array().expect("items") {
        for operation in item["operations"].as_array().expect("operations") {
            assert_eq!(keys(operation), wanted, "{operation}");
            assert!(operation["times"]["number"].is_i64() && operation["times"]["count"].is_string(), "{operation}");
            let rows = ["reads", "writes", "work"].map(|k| operation["total"][k].as_array().expect("rows").len());
            assert!(rows.iter().sum::<usize>() > 0, "{operation}");
            operations += 1;
        }
        limits += item["limits"].as_array().map_or(0, Vec::len);
    }
    assert!(operations > 8 && limits > 8, "{operations} {limits}");
}

#[test]
fn reports_have_the_keys_of_the_page_and_true_places() {
    let (report, label) = (table("A report", "key"), table("A label", "key"));
    let (counter, kinds) = (table("A counterexample", "key"), table("A report", "kind"));
    assert!(report.len() == 9 && label.len() == 5 && counter.len() == 2 && kinds.len() == 7, "the tables are gone");
    let mut seen = BTreeSet::new();
    let mut replays = BTreeSet::new();
    for file in files("tests/refusals", ".cachet") {
        let all = reports(&["check", &file]);
        assert!(!all.is_empty(), "{file}");
        for d in &all {
            assert_eq!(keys(d), report, "{file}");
            seen.insert(d["kind"].as_str().expect("a kind").to_string());
            let labels = d["labels"].as_array().expect("labels");
            assert!(labels.iter().all(|l| keys(l) == label), "{file}: {d}");
            labels.iter().chain(d["callers"].as_array().expect("callers")).for_each(check_place);
            if d["counterexample"].is_object() {
                assert_eq!(keys(&d["counterexample"]), counter, "{file}");
                let outcome = d["counterexample"]["replay"]["outcome"].as_str();
                replays.insert(outcome.unwrap_or("none").to_string());
                let lines = &d["counterexample"]["replay"]["lines"];
                assert_eq!(lines.is_array(), outcome == Some("seen"), "{file}: {d}");
            }
        }
    }
    for tool in [&["check", "no/such/file.cachet"][..], &["run", "examples/matvec.cachet"], &["explain", "nothing"]] {
        for d in reports(tool) {
            assert_eq!(keys(&d), report, "{tool:?}");
            seen.insert(d["kind"].as_str().expect("a kind").to_string());
        }
    }
    assert!(seen.is_subset(&kinds), "{seen:?}");
    for kind in ["error", "wrong", "not-proved", "not-decided", "not-built", "tool"] {
        assert!(seen.contains(kind), "no refusal shows `{kind}`: {seen:?}");
    }
    assert!(replays.contains("seen"), "{replays:?}");
}

#[test]
fn callers_come_outermost_first() {
    let all = reports(&["check", "tests/refusals/helper_no_match.cachet"]);
    let lines: Vec<u64> = all[0]["callers"]
        .as_array()
        .expect("callers")
        .iter()
        .map(|c| c["from"]["line"].as_u64().expect("a line"))
        .collect();
    assert_eq!(lines, [14, 11]);
    assert_eq!(all[0]["labels"][0]["from"]["line"], 8);
}

#[test]
fn steps_and_pages_have_the_keys_of_the_page() {
    let said = text(&cachetc(&["scheduled", "--json", "examples/matmul.cachet"]).stdout);
    let all: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(keys(&all), ["items", "problems"].map(String::from).into());
    let wanted = table("`scheduled --json`", "key");
    let mut steps = 0;
    for item in all["items"].as_array().expect("items") {
        for step in item["steps"].as_array().map_or(&[][..], Vec::as_slice) {
            assert_eq!(keys(step), wanted);
            steps += 1;
        }
    }
    assert!(steps >= 5, "{steps}");
    let said = text(&cachetc(&["explain", "bounds", "--json"]).stdout);
    let pages: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(keys(&pages[0]), ["code", "sections", "title"].map(String::from).into());
    assert_eq!(keys(&pages[0]["sections"][0]), ["heading", "program", "text"].map(String::from).into());
}

#[test]
fn platforms_have_the_keys_of_the_page() {
    let out = text(&cachetc(&["platform", "show", "Hopper", "--json"]).stdout);
    let all: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(keys(&all[0]), table("`platform show --json`", "key"));
    let wanted = ["at", "counts", "field", "of", "source", "value"].map(String::from).into();
    assert!(all[0]["numbers"].as_array().is_some_and(|n| n.iter().all(|n| keys(n) == wanted)), "{out}");
    let wanted = ["flush_subnormals", "name", "targets"].map(String::from).into();
    assert!(all[0]["devices"].as_array().is_some_and(|d| d.len() == 2 && d.iter().all(|d| keys(d) == wanted)), "{out}");
}

/// A claim's keys, and the laws of one that rests on some.
#[test]
fn claims_have_the_keys_of_the_page_and_list_their_laws() {
    let file = "tests/suite/schedules/regrouped_own.cachet";
    let all: Value = serde_json::from_str(&text(&cachetc(&["scheduled", "--json", file]).stdout)).expect("JSON");
    let wanted = table("A claim", "key");
    let mut bases = BTreeSet::new();
    for item in all["items"].as_array().expect("items").iter().filter(|i| i["claim"].is_object()) {
        let claim = &item["claim"];
        assert_eq!(keys(claim), wanted);
        let laws = claim["by"].as_array().expect("laws");
        assert_eq!(laws.len(), 2, "{claim}");
        for law in laws {
            assert_eq!(keys(law), ["basis", "interface", "law", "of"].map(String::from).into());
            let basis = law["basis"].as_str().expect("a basis");
            assert_eq!(law["interface"].is_null(), basis == "proved", "{law}");
            bases.insert(format!("{} {basis}", law["of"].as_str().expect("whose")));
        }
    }
    // A generic schedule rests on what its interface wants; once it is bound, on what was proved.
    assert_eq!(
        bases,
        ["Composition u32 proved", "J wanted", "Leader i32 proved", "Total u32 proved"].map(String::from).into()
    );
}

#[test]
fn measurements_have_the_keys_of_the_page() {
    let said = text(&cachetc(&["doctor", "--json"]).stdout);
    let all: Value = serde_json::from_str(&said).expect("JSON");
    let found = all.as_array().expect("a list");
    assert!(found.len() >= 3 && found.iter().all(|f| keys(f) == table("`doctor --json`", "key")), "{all}");
    if !found.iter().any(|f| f["what"] == "LLVM" && f["found"] == true) {
        skipped("llvm", "nothing can be measured");
        return;
    }
    let out = cachetc(&["bench", "--json", "--sizes", "8,5", "--seconds", "1", "examples/matmul.cachet", "swapped"]);
    let all: Value = serde_json::from_str(&text(&out.stdout)).expect("JSON");
    assert_eq!(keys(&all), table("`bench --json`", "key"));
    let group = &all["groups"][0];
    assert_eq!(keys(group), table("A group", "key"));
    assert_eq!((group["flops"].as_f64(), group["bytes"].as_f64()), (Some(1024.0), Some(768.0)), "{group}");
    assert_eq!(keys(&group["roof"]), table("A roof", "key"));
    assert_eq!(group["roof"]["intensity"].as_f64(), Some(1024.0 / 768.0));
    let row = &group["rows"][1];
    let of_row = ["differing", "later", "measured", "name", "nest", "too_slow_s", "unmet"];
    assert_eq!(keys(row), of_row.map(String::from).into());
    assert_eq!(keys(&row["measured"]), table("What was measured", "key"));
    let share = row["measured"]["of_roof"].as_array().expect("an interval");
    assert!(share.len() == 3 && share[0].as_f64() <= share[1].as_f64(), "{share:?}");
    for peer in group["peers"].as_array().expect("a list") {
        let of_peer = ["code_path", "differing", "measured", "name", "path", "skipped", "threads"];
        assert_eq!(keys(peer), of_peer.map(String::from).into());
    }
    let sweep = &all["sweeps"][0];
    assert_eq!(keys(sweep), table("A sweep", "key"));
    assert_eq!(sweep["columns"].as_array().map(Vec::len), Some(1), "the nest is no column: {sweep}");
    assert_eq!(sweep["columns"][0]["ratios"].as_array().map(Vec::len), Some(2));
}
