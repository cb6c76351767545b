//! `cachetc check --cross`: what is counted, what is reported, and that no verdict depends on it.

mod common;

use common::{files, root, scratch, skipped, text};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn check(folder: &Path, arguments: &[&str], solvers: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cachetc"))
        .arg("check")
        .args(arguments)
        .current_dir(root())
        .env("NO_COLOR", "1")
        .env("CACHET_SMT", solvers)
        .env("TMPDIR", folder)
        .output()
        .expect("the compiler starts")
}

/// A script that says that it is z3, and that everything is so.
fn liar(folder: &Path, answer: &str) -> String {
    let path = folder.join("liar");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'Z3 version 0.1 - made up'; exit; fi\n\
         while IFS= read -r line; do case \"$line\" in\n\"(check-sat)\") echo {answer} ;;\n\
         \"(echo \"*) m=${{line#*\\\"}}; echo \"${{m%\\\"*}}\" ;;\nesac; done\n"
    );
    // By another process: a file that this one has open to write cannot be started.
    let put = Command::new("/bin/sh")
        .args(["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\""])
        .args([path.as_os_str(), script.as_ref()])
        .status();
    assert!(put.expect("a shell").success());
    path.display().to_string()
}

#[test]
fn a_verdict_never_depends_on_it() {
    let folder = scratch("cross");
    let cases = [("examples/matvec.cachet", 0), ("tests/refusals/off_by_one.cachet", 1)];
    for (file, status) in cases {
        let plain = check(&folder, &[file], "");
        assert_eq!(plain.status.code(), Some(status));
        let summary = text(&plain.stdout);
        // No solver: the verdict stands, and the wish is not met.
        let none = check(&folder, &["--cross", file], "");
        assert_eq!(none.status.code(), Some(2));
        assert_eq!(text(&none.stdout), summary);
        assert!(text(&none.stderr).starts_with(&text(&plain.stderr)), "{}", text(&none.stderr));
        assert!(text(&none.stderr).contains("no solver to cross-check with was found"), "{}", text(&none.stderr));
        // One that lies.
        for answer in ["sat", "unsat"] {
            let lied = check(&folder, &["--cross", file], &liar(&folder, answer));
            let (out, err) = (text(&lied.stdout), text(&lied.stderr));
            assert!(out.starts_with(summary.trim_end()), "{out}");
            // Each file has conditions that hold, and contexts with a witness, so both answers are somewhere wrong.
            assert_eq!(lied.status.code(), Some(2), "{out}{err}");
            assert!(err.contains("a bug in Cachet or in the solver"), "{err}");
            assert!(out.contains("disagrees on"), "{out}");
        }
        // One that says something else.
        let silent = check(&folder, &["--cross", file], &liar(&folder, "maybe"));
        assert_eq!(silent.status.code(), Some(status));
        assert!(text(&silent.stdout).contains("agrees on 0 of"), "{}", text(&silent.stdout));
        assert!(text(&silent.stdout).contains("without an answer: it said something else: maybe"));
    }
    let kept: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder")
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "smt2"))
        .collect();
    assert!(!kept.is_empty(), "conditions are kept in files");
    for file in kept {
        let said = std::fs::read_to_string(file).expect("a text");
        assert!(said.starts_with("; cachetc ") && said.ends_with("(check-sat)\n"), "{said}");
    }
}

#[test]
fn disagreements_are_reports_for_tools_as_well() {
    let folder = scratch("cross_json");
    let out = check(&folder, &["--cross", "--error-format", "json", "examples/matvec.cachet"], &liar(&folder, "sat"));
    let said = text(&out.stderr);
    assert!(!said.is_empty());
    for line in said.lines() {
        let report: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(report["kind"], "tool");
    }
}

#[test]
fn solvers_agree_on_an_example() {
    let out = Command::new(env!("CARGO_BIN_EXE_cachetc"))
        .args(["check", "--cross"])
        .args(files("examples", ".cachet").first())
        .current_dir(root())
        .env_remove("CACHET_SMT")
        .output()
        .expect("the compiler starts");
    let said = text(&out.stdout);
    for solver in ["z3", "cvc5"] {
        if !said.contains(&format!("{solver} ")) {
            skipped(solver, "it agrees with nobody");
            continue;
        }
        assert_eq!(out.status.code(), Some(0), "{said}{}", text(&out.stderr));
        let part =
            said.split(&format!("{solver} ")).nth(1).and_then(|p| p.split("agrees on ").nth(1)).expect("a count");
        let counts: Vec<&str> = part.split([',', '\n']).next().expect("a count").split(" of ").collect();
        assert_eq!(counts[0], counts[1], "{said}");
    }
}
