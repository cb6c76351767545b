//! How long `cachetc check`, `cachetc account` and `cachetc build` take: one new process per sample, from its start to its end.
//!
//! `cargo bench -p cachetc --bench check`; with a folder after `--`, the large file is written there to be looked at.
//!
//! *Cold* is without any kept proofs, *again* with those of the same file, and *edited* after the size of one block was
//! changed.

mod compiled;
mod large;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Processes per file; the first ones bring the files into memory.
const WARM_UP: usize = 3;
const SAMPLES: usize = 21;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check");
    std::fs::create_dir_all(&scratch).expect("a folder to write to");
    for file in
        ["examples/matmul.cachet", "examples/layer.cachet", "examples/products.cachet", "tests/suite/schedules.cachet"]
    {
        report(file, &root.join(file), None, &scratch);
    }
    for file in examples(&root) {
        let name = format!("account of examples/{}", file.file_name().unwrap_or_default().to_string_lossy());
        let cache = scratch.join("proofs");
        let (cold, again) = cold_and_again(&["account"], &file, &cache);
        println!("{name}: cold {cold}, again {again}");
    }
    for (name, schedule) in compiled::FILES {
        let (file, object) = (scratch.join(format!("{name}.cachet")), scratch.join(format!("{name}.o")));
        std::fs::write(&file, compiled::file(&root, schedule)).expect("a schedule's file can be written");
        report(name, &file, None, &scratch);
        let object = object.display().to_string();
        let build = ["build", "--emit", "obj", "-o", &object];
        let (cold, again) = cold_and_again(&build, &file, &scratch.join("proofs"));
        println!("{name}, to an object file: cold {cold}, again {again}");
    }
    let text = large::large();
    let counts = ["\ncontraction ", "\nschedule "].map(|item| text.matches(item).count());
    let name = format!("{} lines, {} contractions, {} schedules", text.lines().count(), counts[0], counts[1]);
    let folder = std::env::args().skip(1).find(|a| !a.starts_with('-')).map_or(scratch.clone(), PathBuf::from);
    let file = folder.join("large.cachet");
    std::fs::write(&file, &text).expect("the large file can be written");
    report(&name, &file, Some(&text), &scratch);
}

/// Times one file; `text` where it may also be edited.
fn report(name: &str, file: &Path, text: Option<&str>, scratch: &Path) {
    let cache = scratch.join("proofs");
    let (cold, again) = cold_and_again(&["check"], file, &cache);
    println!("{name}: cold {cold}, again {again}");
    if let Some(text) = text {
        let edited = scratch.join("edited.cachet");
        let times = samples(|n| {
            std::fs::write(&edited, text.replace("by 88 as gj", &format!("by {} as gj", 1000 + n)))
                .expect("the edited file can be written");
            once(&["check"], &edited, &cache)
        });
        println!("{name}: edited {times}");
    }
}

/// Without any kept proofs, and with those of the same file.
fn cold_and_again(command: &[&str], file: &Path, cache: &Path) -> (String, String) {
    let cold = samples(|_| {
        let _ = std::fs::remove_dir_all(cache);
        once(command, file, cache)
    });
    (cold, samples(|_| once(command, file, cache)))
}

/// The programs of `examples/`, in the order of their names.
fn examples(root: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(root.join("examples")).expect("there are examples");
    let mut out: Vec<PathBuf> = all.filter_map(|f| Some(f.ok()?.path())).collect();
    out.retain(|f| f.extension().is_some_and(|e| e == "cachet"));
    out.sort();
    out
}

/// The median and the worst.
fn samples(mut one: impl FnMut(usize) -> f64) -> String {
    let mut times: Vec<f64> = (0..WARM_UP + SAMPLES).map(&mut one).skip(WARM_UP).collect();
    times.sort_by(f64::total_cmp);
    format!("{:.1} ms (worst {:.1} of {SAMPLES})", 1e3 * times[SAMPLES / 2], 1e3 * times[SAMPLES - 1])
}

fn once(command: &[&str], file: &Path, cache: &Path) -> f64 {
    let start = Instant::now();
    let out = Command::new(env!("CARGO_BIN_EXE_cachetc")).args(command).arg(file).env("CACHET_CACHE", cache).output();
    let elapsed = start.elapsed().as_secs_f64();
    match out {
        Ok(out) if out.status.success() => elapsed,
        Ok(out) => panic!("{}: {}", file.display(), String::from_utf8_lossy(&out.stderr)),
        Err(e) => panic!("{}: {e}", file.display()),
    }
}
