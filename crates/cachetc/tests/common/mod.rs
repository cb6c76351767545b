//! Running the compiler as a user does.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The project's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace has a root")
}

/// The compiler with arguments, in the project's root, without colours.
pub fn cachetc(args: &[&str]) -> Output {
    cachetc_in(&root(), args)
}

/// The same in another folder.
pub fn cachetc_in(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cachetc"))
        .args(args)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("the compiler starts")
}

/// An empty folder for one test.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.is_file() {
        std::fs::remove_file(&folder).expect("the old file goes");
    } else if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the old folder goes");
    }
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Text of a stream.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Files of a folder with an ending, relative to the root, sorted.
pub fn files(folder: &str, ending: &str) -> Vec<String> {
    let mut out: Vec<String> = std::fs::read_dir(root().join(folder))
        .expect("the folder is there")
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter(|n| n.ends_with(ending))
        .map(|n| format!("{folder}/{n}"))
        .collect();
    out.sort();
    out
}

/// Compares with the expected text beside a file, or writes it where `CACHET_BLESS` is set.
pub fn golden(expected: &str, actual: &str) -> Result<(), String> {
    let path = root().join(expected);
    if std::env::var_os("CACHET_BLESS").is_some() {
        return std::fs::write(&path, actual).map_err(|e| format!("{expected}: {e}"));
    }
    let wanted = std::fs::read_to_string(&path).map_err(|e| format!("{expected}: {e}; run with CACHET_BLESS=1"))?;
    if wanted == actual {
        return Ok(());
    }
    let changes = changed_lines(&wanted, actual);
    Err(format!("{expected} differs; bless it if this is right (- expected, + actual):\n{changes}"))
}

/// The lines of two texts that differ, each run of them after the number of its first line: what both have (the longest
/// common subsequence of lines) is left out.
pub fn changed_lines(wanted: &str, actual: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (wanted.split('\n').collect(), actual.split('\n').collect());
    // common[i][j]: how many lines old[i..] and new[j..] have in common.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] =
                if old[i] == new[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut out, mut i, mut j, mut together) = (String::new(), 0, 0, true);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j, together) = (i + 1, j + 1, true);
            continue;
        }
        if std::mem::take(&mut together) {
            out.push_str(&format!("line {}\n", i + 1));
        }
        if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            out.push_str(&format!("- {}\n", old[i]));
            i += 1;
        } else {
            out.push_str(&format!("+ {}\n", new[j]));
            j += 1;
        }
    }
    out
}

/// Whether a tool may be missing: then the test says so and is counted as skipped, unless `CACHET_REQUIRE` names it.
pub fn skipped(tool: &str, why: &str) -> bool {
    let required = std::env::var("CACHET_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|t| t.trim() == tool), "{tool} is required and missing: {why}");
    let _ = std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!("{}\n", format_args!("skipped: {tool} is missing: {why}")),
    );
    true
}
