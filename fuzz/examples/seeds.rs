//! Writes each target's first inputs: `cargo run --manifest-path fuzz/Cargo.toml --example seeds`.

use cachet_adversary::fuzzing::TARGETS;
use std::path::Path;

fn main() -> std::io::Result<()> {
    for target in &TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
        std::fs::create_dir_all(&folder)?;
        let seeds = (target.seeds)();
        for (n, bytes) in seeds.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{n:04}")), bytes)?;
        }
        println!("{}: {} seeds", target.name, seeds.len());
    }
    Ok(())
}
