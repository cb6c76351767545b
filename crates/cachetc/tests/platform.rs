//! `cachetc platform`, and the files of `platforms/`.

mod common;

use common::{cachetc, cachetc_in, files, scratch, skipped, text};
use serde_json::Value;

/// What `show --json` says of a platform or a file.
fn shown(name: &str) -> Vec<Value> {
    let out = cachetc(&["platform", "show", name, "--json"]);
    assert_eq!(out.status.code(), Some(0), "{name}: {}", text(&out.stderr));
    let all: Value = serde_json::from_str(&text(&out.stdout)).expect("JSON");
    all.as_array().expect("a list").clone()
}

/// A number of a platform.
#[derive(Debug)]
struct Number {
    of: String,
    field: String,
    at: Option<String>,
    value: i64,
    source: Option<String>,
}

fn numbers(platform: &Value) -> Vec<Number> {
    let text = |v: &Value| v.as_str().map(String::from);
    let one = |n: &Value| Number {
        of: text(&n["of"]).expect("of what"),
        field: text(&n["field"]).expect("which"),
        at: text(&n["at"]),
        value: n["value"].as_i64().expect("how many"),
        source: text(&n["source"]),
    };
    platform["numbers"].as_array().expect("numbers").iter().map(one).collect()
}

fn value(platform: &Value, of: &str, field: &str, at: Option<&str>) -> Option<i64> {
    let all = numbers(platform);
    all.iter().find(|n| n.of == of && n.field == field && n.at.as_deref() == at).map(|n| n.value)
}

#[test]
fn every_file_checks_is_formatted_and_names_the_source_of_every_number() {
    let all = files("platforms", ".cachet");
    assert!(all.len() >= 7, "the platforms are gone: {}", all.len());
    let listed = text(&cachetc(&["platform", "list"]).stdout);
    for file in &all {
        let out = cachetc(&["check", file]);
        assert_eq!((out.status.code(), text(&out.stderr).as_str()), (Some(0), ""), "{file}");
        assert_eq!(cachetc(&["fmt", "--check", file]).status.code(), Some(0), "{file} is not formatted");
        let platforms = shown(file);
        assert!(!platforms.is_empty(), "{file} describes nothing");
        for platform in &platforms {
            let numbers = numbers(platform);
            assert!(numbers.len() > 10, "{file}: {} numbers", numbers.len());
            for n in &numbers {
                assert!(n.source.as_ref().is_some_and(|s| s.trim().len() > 3), "{file}: no source: {n:?}");
            }
            let name = platform["name"].as_str().expect("a name");
            let module = file.replace("platforms/", "cachet:platforms/").replace(".cachet", "");
            let line = listed.lines().find(|l| l.starts_with(name)).unwrap_or_default();
            assert!(line.contains(&format!("import \"{module}\"")), "{name} is listed as `{line}`");
        }
    }
    assert_eq!(listed.lines().count(), all.len(), "{listed}");
}

#[test]
fn descriptions_fit_together() {
    for file in files("platforms", ".cachet") {
        for platform in shown(&file) {
            let number = |of: &str, field: &str, at| value(&platform, of, field, at);
            // A register holds its lanes, and caches grow outwards.
            let bits = number("Vec", "register_bits", None).expect("bits");
            assert_eq!(number("Vec", "lanes", Some("f32")), Some(bits / 32), "{file}");
            assert_eq!(number("Vec", "lanes", Some("f64")), Some(bits / 64), "{file}");
            assert!(number("L1", "capacity", None) < number("L2", "capacity", None), "{file}");
            for field in ["fma_pipes", "fma_latency", "registers", "load_slots"] {
                assert!(number("Vec", field, None).is_some_and(|n| n > 0), "{file}: {field}");
            }
            assert!(number("L1", "line", None).is_some_and(|n| n == 64 || n == 128), "{file}");
        }
    }
}

#[test]
fn a_table_names_units_and_sources() {
    let out = text(&cachetc(&["platform", "show", "Hopper"]).stdout);
    for line in [
        "Hopper, cachet:platforms/hopper",
        "level Shared of H200",
        "device H100, ptx with sm_90a",
        "  group                    32  lanes that run together: CUDA programming guide, compute capability 9.0: lanes of a warp",
    ] {
        assert!(out.lines().any(|l| l == line), "{line}\n{out}");
    }
    let apple = text(&cachetc(&["platform", "show", "apple-silicon"]).stdout);
    assert!(apple.contains("device M4Gpu, metal, flushes subnormals\n"), "{apple}");
    let none = cachetc(&["platform", "show", "Zen40"]);
    let said = text(&none.stderr);
    assert_eq!(none.status.code(), Some(2));
    assert!(said.contains("no platform `Zen40` is described") && said.contains("Zen4"), "{said}");
    let wrong = cachetc(&["platform", "show", "tests/refusals/platform_described.cachet"]);
    assert_eq!(wrong.status.code(), Some(1));
}

#[test]
fn what_is_detected_is_accepted_and_says_how_it_was_measured() {
    let folder = scratch("detect");
    let out = cachetc_in(&folder, &["platform", "detect", "--name", "Here", "-o", "here.cachet"]);
    if let Err(why) = cachet_runtime::Llvm::load() {
        assert_eq!(out.status.code(), Some(2));
        skipped("llvm", &why.message);
        return;
    }
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let file = folder.join("here.cachet");
    let draft = std::fs::read_to_string(&file).expect("the draft");
    let path = file.to_string_lossy();
    let checked = cachetc(&["check", &path]);
    assert_eq!((checked.status.code(), text(&checked.stderr).as_str()), (Some(0), ""), "{draft}");
    assert_eq!(cachetc(&["fmt", "--check", &path]).status.code(), Some(0), "{draft}");
    let platforms = shown(&path);
    let [here] = platforms.as_slice() else { panic!("{draft}") };
    let numbers = numbers(here);
    assert!(numbers.iter().all(|n| n.source.is_some()), "{draft}");
    // On a machine that never comes to rest a rate may be less than one; then the draft says that it was not measured.
    for (field, most) in [("fma_pipes", 8), ("fma_latency", 100), ("load_slots", 8), ("clock", 10_000)] {
        let Some(n) = numbers.iter().find(|n| n.of == "Vec" && n.field == field) else {
            assert!(draft.contains(&format!("    // not measured: {field}: measured: ")), "{field}: {draft}");
            continue;
        };
        let measured = n.source.as_ref().is_some_and(|s| s.starts_with("measured: "));
        assert!((1..=most).contains(&n.value) && measured, "{n:?}");
    }
    let latency = |of: &str| value(here, of, "latency", None);
    if let (Some(near), Some(far)) = (latency("L1"), latency("DRAM")) {
        assert!(near >= 2 && near < far, "{draft}");
    }
    let again = cachetc_in(&folder, &["platform", "detect", "-o", "here.cachet"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("`here.cachet` exists"), "{}", text(&again.stderr));
    let name = cachetc_in(&folder, &["platform", "detect", "--name", "not a name"]);
    assert_eq!(name.status.code(), Some(2));
    assert!(text(&name.stderr).contains("`not a name` would be refused"), "{}", text(&name.stderr));
}
