//! Every program with a `main` prints one text: in the interpreter, compiled into the process, and as an executable.

mod common;

use common::{cachetc, files, golden, root, skipped, text};
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
        let built = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("program");
        let out = cachetc(&["build", file, "-o", &built.display().to_string()]);
        assert_eq!(out.status.code(), Some(0), "{file}: {}", text(&out.stderr));
        let out = Command::new(&built).output().expect("the executable starts");
        assert_eq!((out.status.code(), text(&out.stdout)), (Some(0), said), "{file}, executable");
    }
    println!("{} programs, {skips} skipped", with_main.len());
}

#[test]
fn listings_and_claims_read_as_expected() {
    for file in files("examples", ".cachet") {
        let out = cachetc(&["scheduled", "--steps", &file]);
        assert_eq!(out.status.code(), Some(0), "{file}: {}", text(&out.stderr));
        let expected = file.replace("examples/", "tests/suite/").replace(".cachet", ".steps.txt");
        golden(&expected, &text(&out.stdout)).expect("the listing is as it was");
    }
}

#[test]
fn a_listing_is_a_program_again() {
    // What `scheduled` prints for a function parses, types and prints the same.
    for file in files("examples", ".cachet") {
        let out = cachetc(&["scheduled", "--json", &file]);
        let all: serde_json::Value = serde_json::from_str(&text(&out.stdout)).expect("JSON");
        for item in all["items"].as_array().expect("items") {
            let listing = item["listing"].as_str().expect("a listing");
            let again = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("again.cachet");
            std::fs::write(&again, format!("import \"cachet:monoid\"\n\n{listing}")).expect("a temporary file");
            let out = cachetc(&["scheduled", &again.display().to_string()]);
            assert_eq!(out.status.code(), Some(0), "{file}\n{listing}\n{}", text(&out.stderr));
            assert_eq!(text(&out.stdout).trim_end(), listing.trim_end(), "{file}");
        }
    }
}
