//! Every program with a `main` prints one text: in the interpreter, compiled into the process, and as an executable.

mod common;

use cachet_source::codes;
use common::{cachetc, files, golden, root, scratch, skipped, text};
use std::process::Command;

#[test]
fn interpreter_native_and_executable_print_the_same() {
    let native = cachet_runtime::Llvm::load().map_err(|e| e.message);
    let linker = cachet_runtime::find_linker().map_err(|e| e.message);
    let with_main: Vec<String> = files("examples", ".cachet")
        .into_iter()
        .chain(files("tests/suite", ".cachet"))
        .filter(|f| std::fs::read_to_string(root().join(f)).is_ok_and(|t| t.contains("\nfn main ()")))
        .collect();
    assert!(!with_main.is_empty());
    let mut skips = 0;
    for file in &with_main {
        let out = cachetc(&["run", "--interpret", file]);
        let said = text(&out.stdout);
        assert_eq!(out.status.code(), Some(0), "{file}: {}", text(&out.stderr));
        golden(&file.replace("examples/", "tests/suite/").replace(".cachet", ".out"), &said)
            .expect("the program prints what it did");
        if let Err(why) = &native {
            skips += usize::from(skipped("llvm", why));
            continue;
        }
        let out = cachetc(&["run", file]);
        assert_eq!(
            (out.status.code(), text(&out.stdout)),
            (Some(0), said.clone()),
            "{file}, natively: {}",
            text(&out.stderr)
        );
        if let Err(why) = &linker {
            skips += usize::from(skipped("cc", why));
            continue;
        }
        let folder = scratch("program").display().to_string();
        let out = cachetc(&["build", file, "--emit", "exe", "--prefix", "program", "-o", &folder]);
        let built = std::path::Path::new(&folder).join("program");
        assert_eq!(out.status.code(), Some(0), "{file}: {}", text(&out.stderr));
        let out = Command::new(&built).output().expect("the executable starts");
        assert_eq!((out.status.code(), text(&out.stdout)), (Some(0), said), "{file}, executable");
    }
    println!("{} programs, {skips} skipped", with_main.len());
}

#[test]
fn listings_and_claims_read_as_expected() {
    let own = |file: &String| {
        let text = std::fs::read_to_string(root().join(file)).expect("an example");
        text.contains("\ncontraction ") || text.contains("\nschedule ")
    };
    for file in files("examples", ".cachet").into_iter().filter(own) {
        let out = cachetc(&["scheduled", "--steps", &file]);
        assert_eq!(out.status.code(), Some(0), "{file}: {}", text(&out.stderr));
        let expected = file.replace("examples/", "tests/suite/").replace(".cachet", ".steps.txt");
        golden(&expected, &text(&out.stdout)).expect("the listing is as it was");
    }
}

/// A file that only names a platform is about the schedules that it imports; with another platform the same lines choose
/// other numbers.
#[test]
fn two_platforms_choose_two_tiles() {
    for (file, rows, vectors, panels) in [
        ("examples/ladder.cachet", 6, 4, "[f32; 1024, 1024] in ColumnPanels 64"),
        ("examples/ladder_avx2.cachet", 6, 2, "[f32; 1024, 1024] in ColumnPanels 16"),
    ] {
        let checked = text(&cachetc(&["check", file]).stdout);
        assert!(checked.starts_with(&format!("{file}: 1 contraction, 8 schedules, ")), "{checked}");
        let said = text(&cachetc(&["scheduled", file, "fast"]).stdout);
        for wanted in [format!("chosen ROWS = {rows},"), format!("chosen VECTORS = {vectors},"), panels.to_string()] {
            assert!(said.contains(&wanted), "{file} lacks `{wanted}`: {said}");
        }
    }
    let both = text(&cachetc(&["scheduled", "examples/gemm.cachet"]).stdout);
    for name in ["fn matmul {S : Semiring}", "fn single", "fn single_bands", "fn double", "fn double_bands"] {
        assert!(both.contains(&format!("{name}\n")), "{name}: {both}");
    }
}

/// A schedule of a schedule rests on the laws of both, and one that regroups nothing on none.
#[test]
fn claims_list_the_laws_they_rest_on() {
    let said = |file: &str, name: &str| text(&cachetc(&["scheduled", file, name]).stdout);
    let again = said("tests/suite/regrouped.cachet", "shortest_in_rows");
    let laws: Vec<&str> = again.lines().filter_map(|l| l.strip_prefix("  by ")).collect();
    assert_eq!(
        laws,
        ["add associative exactly of MinPlus f32, proved", "add identity exactly of MinPlus f32, proved"],
        "{again}"
    );
    assert!(!said("examples/matmul.cachet", "swapped").contains("  by "));
}

#[test]
fn recipes_read_as_expected() {
    for (file, name, expected) in [
        ("examples/matmul.cachet", "swapped", "tests/suite/matmul.relate.txt"),
        ("examples/layer.cachet", "", "tests/suite/layer.relate.txt"),
        ("tests/suite/regrouped.cachet", "modular", "tests/suite/regrouped.relate.txt"),
    ] {
        let all = ["scheduled", "--relate", file, name];
        let out = cachetc(if name.is_empty() { &all[..3] } else { &all });
        assert_eq!(out.status.code(), Some(0), "{file}: {}", text(&out.stderr));
        golden(expected, &text(&out.stdout)).expect("the recipe's programs are as they were");
    }
}

/// Parses, types and prints a listing as a program of its own; `after_steps` where it is a step's.
fn again(listing: &str, file: &str, after_steps: bool) -> String {
    let name = listing.split_whitespace().nth(1).expect("a name");
    let declared = declarations(file, name);
    let again = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("again.cachet");
    let layouts = ["PanelMajor", "ColumnPanels"].iter().any(|l| listing.contains(l));
    let imports =
        if layouts { "import \"cachet:layouts\"\nimport \"cachet:monoid\"\n" } else { "import \"cachet:monoid\"\n" };
    // Levels are those of the file's platform, and instructions have a module of their own.
    let whole = std::fs::read_to_string(root().join(file)).expect("a file");
    let needed = |l: &&str| {
        ["module (platform", "import \"cachet:platforms/", "import \"cachet:instructions/"]
            .iter()
            .any(|n| l.starts_with(n))
    };
    let own: String = whole.lines().filter(needed).map(|l| format!("{l}\n")).collect();
    std::fs::write(&again, format!("{own}{imports}\n{declared}\n{listing}")).expect("a temporary file");
    let outcome = cachet::pipeline::check(&again.display().to_string(), &cachet::world::Disk::default());
    // Of a schedule's program it was proved that it holds the words of another, whose sums fit; written by hand it sums up
    // in cells, of which nothing is known.
    let allowed = |code| after_steps && code == codes::OVERFLOW;
    let faults: Vec<_> = outcome.diagnostics.iter().filter(|d| !allowed(d.code)).collect();
    assert!(faults.is_empty(), "{file}\n{listing}\n{faults:?}");
    let program = outcome.checked.program();
    let fun = program.funs.iter().find(|f| f.name == name).expect("the function is there");
    cachet_core::print::listing(program, fun).trim_end().to_string()
}

/// The functions in what `scheduled --steps` prints: from a line that starts with `fn` to a blank one.
fn functions(said: &str) -> Vec<String> {
    let parts = said.split("\n\n").filter(|p| p.starts_with("fn "));
    parts.map(|p| format!("{}\n", p.trim_end())).collect()
}

#[test]
fn a_listing_is_a_program_again() {
    // What `scheduled` prints for a function parses, types and prints the same; after every step, and with the marks of
    // changed lines.
    let mut marks = 0;
    let suites = ["tests/suite/records.cachet".to_string(), "tests/suite/integers.cachet".to_string()];
    for file in files("examples", ".cachet").into_iter().chain(suites) {
        let out = cachetc(&["scheduled", "--json", &file]);
        let all: serde_json::Value = serde_json::from_str(&text(&out.stdout)).expect("JSON");
        let mut listings = Vec::new();
        for item in all["items"].as_array().expect("items") {
            let steps = item["steps"].as_array().map_or(&[][..], Vec::as_slice);
            let of_steps = steps.iter().map(|s| &s["listing"]);
            let start = if steps.is_empty() { &item["listing"] } else { &item["start"] };
            let all = std::iter::once(start).chain(of_steps).filter_map(|l| l.as_str()).enumerate();
            listings.extend(all.map(|(n, l)| (l.to_string(), n > 0)));
        }
        for (listing, after_steps) in &listings {
            assert_eq!(again(listing, &file, *after_steps), listing.trim_end(), "{file}");
        }
        let out = cachetc(&["scheduled", "--steps", &file]);
        let marked = functions(&text(&out.stdout));
        assert_eq!(marked.len(), listings.len(), "{file}");
        for (marked, (plain, after_steps)) in marked.iter().zip(&listings) {
            marks += marked.matches("// <").count();
            assert_eq!(again(marked, &file, *after_steps), plain.trim_end(), "{file}");
        }
    }
    assert!(marks > 10, "the marks are gone: {marks}");
}

#[test]
fn json_has_what_the_text_says_of_steps() {
    let out = cachetc(&["scheduled", "--json", "examples/matmul.cachet", "swapped"]);
    let all: serde_json::Value = serde_json::from_str(&text(&out.stdout)).expect("JSON");
    let step = &all["items"][0]["steps"][1];
    assert_eq!(step["step"], "hoist (j, k) c");
    assert_eq!(step["changed"], serde_json::json!([10, 12, 13]));
    assert_eq!((&step["relate"][0]["point"], &step["relate"][0]["line"]), (&"start".into(), &serde_json::Value::Null));
    assert_eq!(step["relate"][3]["line"], "interchange S.j");
    assert_eq!(step["relate"][3]["S"], step["relate"][3]["T"]);
    assert_eq!((&step["relate"][4]["point"], step["relate"].as_array().map(Vec::len)), (&"compared".into(), Some(5)));
    let related =
        step["conditions"].as_array().expect("conditions").len() - step["of_program"].as_u64().unwrap_or(0) as usize;
    assert_eq!(step["relate"][4]["conditions"], related);
    let conditions = step["conditions"].as_array().expect("conditions");
    let proved = step["proved"].as_array().expect("kinds");
    let sum: u64 = proved.iter().filter_map(|p| p["count"].as_u64()).sum();
    assert_eq!(sum as usize, conditions.len());
    assert!(conditions.iter().any(|c| c["rule"] == "REORDER"));
}

#[test]
fn indices_are_coloured_for_those_who_ask() {
    let out = cachetc(&["scheduled", "--color", "always", "examples/matmul.cachet", "swapped"]);
    let said = text(&out.stdout);
    assert!(said.starts_with("indices by how often they change: \u{1b}[34mrarest"), "{said}");
    assert!(said.contains("store c[\u{1b}[34mi\u{1b}[0m, \u{1b}[31mj\u{1b}[0m] = "), "{said}");
    let out = cachetc(&["scheduled", "--color", "never", "examples/matmul.cachet", "swapped"]);
    assert!(!text(&out.stdout).contains('\u{1b}'));
}

/// What a file declares and an item of it may use by name: constants, records, implementations, layouts and other functions.
fn declarations(file: &str, item: &str) -> String {
    let source = std::fs::read_to_string(root().join(file)).expect("the file is there");
    let mut out = String::new();
    let mut keep = false;
    for line in source.lines() {
        if line.starts_with(|c: char| c.is_alphabetic() || c == '=') {
            let other = line.strip_prefix("fn ").is_some_and(|f| !f.starts_with("main ") && !f.starts_with(item));
            let clause = keep && ["requires ", "produces ", "scratch ", "="].iter().any(|w| line.starts_with(w));
            keep = other
                || clause
                || ["const ", "record ", "impl ", "interface ", "layout "].iter().any(|w| line.starts_with(w));
        } else if line.starts_with("//") {
            keep = false;
        }
        if keep {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}
