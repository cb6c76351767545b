//! `cachetc fmt`: what it writes where, what it leaves alone, and the repository's own files.

mod common;

use common::{cachetc, root, text};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Not in the one style.
const LOOSE: &str = "// x\r\nfn  f(x:f32)=\r\n      g x\r\n";
/// The same in the one style.
const NEAT: &str = "// x\nfn f (x: f32) =\n  g x\n";
/// Not a program.
const BROKEN: &str = "fn f () =\n    let = 3\n";

/// An empty folder of a test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder is made");
    folder
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the file is written");
    path.to_str().expect("a name in UTF-8").to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).expect("the file is there")
}

/// The compiler with a text on its standard input.
fn filter(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cachetc"))
        .args(args)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the compiler starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("the text is read");
    child.wait_with_output().expect("the compiler ends")
}

#[test]
fn the_repository_is_formatted() {
    let mut folders = ["examples", "library", "tests"].map(|f| root().join(f)).to_vec();
    let mut all = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                // Those files are about layout, and have every other one.
                if !path.ends_with("tests/suite/text") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == "cachet") {
                all.push(path.to_str().expect("a name in UTF-8").to_owned());
            }
        }
    }
    assert!(all.len() > 80, "the files are gone: {}", all.len());
    let mut args = vec!["fmt", "--check"];
    args.extend(all.iter().map(String::as_str));
    // Files that do not parse are reported on the other stream.
    assert_eq!(text(&cachetc(&args).stdout), "", "run `cachetc fmt` on these");
}

#[test]
fn files_are_rewritten_in_place() {
    let folder = folder("fmt_in_place");
    let (loose, neat) = (file(&folder, "loose.cachet", LOOSE), file(&folder, "neat.cachet", NEAT));
    let before = std::fs::metadata(&neat).and_then(|m| m.modified()).expect("a time");
    let out = cachetc(&["fmt", &loose, &neat]);
    assert_eq!((out.status.code(), text(&out.stdout), text(&out.stderr)), (Some(0), String::new(), String::new()));
    assert_eq!((read(&loose), read(&neat)), (NEAT.to_owned(), NEAT.to_owned()));
    assert_eq!(std::fs::metadata(&neat).and_then(|m| m.modified()).expect("a time"), before);
    assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 2);
}

#[test]
fn check_lists_and_changes_nothing() {
    let folder = folder("fmt_check");
    let (loose, neat) = (file(&folder, "loose.cachet", LOOSE), file(&folder, "neat.cachet", NEAT));
    let out = cachetc(&["fmt", "--check", &neat, &loose]);
    assert_eq!(
        (out.status.code(), text(&out.stdout), text(&out.stderr)),
        (Some(1), format!("{loose}\n"), String::new())
    );
    assert_eq!(read(&loose), LOOSE);
    assert_eq!(cachetc(&["fmt", "--check", &neat]).status.code(), Some(0));
}

#[test]
fn a_file_that_does_not_parse_is_left_alone() {
    let folder = folder("fmt_broken");
    let (broken, loose) = (file(&folder, "broken.cachet", BROKEN), file(&folder, "loose.cachet", LOOSE));
    for args in [vec!["fmt", "--check", &broken], vec!["fmt", &broken, &loose]] {
        let out = cachetc(&args);
        assert_eq!((out.status.code(), text(&out.stdout)), (Some(1), String::new()));
        let said = text(&out.stderr);
        assert!(said.starts_with("error[syntax]: ") && said.contains("broken.cachet:2:9"), "{said}");
    }
    assert_eq!((read(&broken), read(&loose)), (BROKEN.to_owned(), NEAT.to_owned()));
    std::fs::write(&broken, b"const A = 1 // \xff\n").expect("the file is written");
    let out = cachetc(&["fmt", "--error-format", "json", &broken]);
    let report: serde_json::Value = serde_json::from_str(text(&out.stderr).trim()).expect("one JSON object");
    assert_eq!((out.status.code(), &report["code"]), (Some(1), &serde_json::json!("encoding")));
}

#[test]
fn standard_input_to_standard_output() {
    let out = filter(&["fmt", "-"], LOOSE);
    assert_eq!((out.status.code(), text(&out.stdout), text(&out.stderr)), (Some(0), NEAT.to_owned(), String::new()));
    let out = filter(&["fmt", "-"], BROKEN);
    assert_eq!((out.status.code(), text(&out.stdout)), (Some(1), String::new()));
    assert!(text(&out.stderr).contains("standard input:2:9"));
    let out = filter(&["fmt", "--check", "-"], LOOSE);
    assert_eq!((out.status.code(), text(&out.stdout)), (Some(1), "standard input\n".to_owned()));
}

#[test]
fn what_cannot_be_read_or_written_is_2() {
    let folder = folder("fmt_unable");
    let missing = folder.join("missing.cachet");
    let out = cachetc(&["fmt", missing.to_str().expect("a name in UTF-8")]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).starts_with("error: cannot read "));
    assert_eq!(cachetc(&["fmt", folder.to_str().expect("a name in UTF-8")]).status.code(), Some(2));
    let locked = file(&folder, "locked.cachet", LOOSE);
    let mut permissions = std::fs::metadata(&locked).expect("the file").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&locked, permissions).expect("it is locked");
    let out = cachetc(&["fmt", &locked]);
    assert_eq!((out.status.code(), read(&locked)), (Some(2), LOOSE.to_owned()));
    assert!(text(&out.stderr).contains("cannot write"));
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("fmt_links");
    let loose = file(&folder, "loose.cachet", LOOSE);
    std::fs::set_permissions(&loose, std::fs::Permissions::from_mode(0o640)).expect("it is changed");
    let link = folder.join("link.cachet");
    std::os::unix::fs::symlink(&loose, &link).expect("it is linked");
    assert_eq!(cachetc(&["fmt", link.to_str().expect("a name in UTF-8")]).status.code(), Some(0));
    assert!(std::fs::symlink_metadata(&link).expect("the link").is_symlink());
    assert_eq!(read(&loose), NEAT);
    assert_eq!(std::fs::metadata(&loose).expect("the file").permissions().mode() & 0o777, 0o640);
}
