//! Builds the kernels. `CACHETC` names the compiler, or it is on the path.

fn main() -> Result<(), cachet_build::Error> {
    cachet_build::Build::new("../dense.cachet").write()
}
