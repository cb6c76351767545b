//! How long `cachetc check` takes, cold: one new process per sample, from its start to its end.
//!
//! `cargo bench -p cachetc --bench check`

use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Processes per file; the first ones bring the files into memory.
const WARM_UP: usize = 3;
const SAMPLES: usize = 21;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in
        ["examples/matmul.cachet", "examples/layer.cachet", "examples/products.cachet", "tests/suite/schedules.cachet"]
    {
        let mut times: Vec<f64> = (0..WARM_UP + SAMPLES).map(|_| once(&root, file)).skip(WARM_UP).collect();
        times.sort_by(f64::total_cmp);
        println!(
            "{file}: median {:.2} ms, worst {:.2} ms of {SAMPLES}",
            1e3 * times[SAMPLES / 2],
            1e3 * times[SAMPLES - 1]
        );
    }
}

fn once(root: &Path, file: &str) -> f64 {
    let start = Instant::now();
    let out = Command::new(env!("CARGO_BIN_EXE_cachetc")).args(["check", file]).current_dir(root).output();
    let elapsed = start.elapsed().as_secs_f64();
    match out {
        Ok(out) if out.status.success() => elapsed,
        Ok(out) => panic!("{file}: {}", String::from_utf8_lossy(&out.stderr)),
        Err(e) => panic!("{file}: {e}"),
    }
}
