//! The versions of the contenders, as the lock file has them.

use std::path::Path;

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let lock = std::fs::read_to_string(Path::new(&folder).join("Cargo.lock")).expect("a lock file beside the manifest");
    println!("cargo::rerun-if-changed=Cargo.lock");
    for (name, variable) in [("gemm", "GEMM_VERSION"), ("matrixmultiply", "MATRIXMULTIPLY_VERSION")] {
        let entry = format!("name = \"{name}\"\nversion = \"");
        let version = lock.split(&entry).nth(1).and_then(|rest| rest.split('"').next());
        println!("cargo::rustc-env={variable}={}", version.expect("the lock file names every dependency"));
    }
}
