//! Which solvers are there? Those that `CACHET_SMT` names; without it those on the path, and z3 where Python keeps the
//! programs of its packages.

use super::{Dialect, PATIENCE, Solver, process};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a solver may take to say its version.
const SOON: Duration = Duration::from_secs(20);

/// The solvers, at most one of each kind, in a fixed order. `CACHET_SMT=` (empty) finds none.
pub fn find() -> Vec<Solver> {
    if let Some(named) = std::env::var_os("CACHET_SMT") {
        let found: Vec<Solver> = std::env::split_paths(&named).filter_map(|p| known(&p)).collect();
        return [Dialect::Z3, Dialect::Cvc5]
            .into_iter()
            .filter_map(|d| found.iter().find(|s| s.dialect == d).cloned())
            .collect();
    }
    let z3 = on_path("z3").and_then(|p| known(&p)).or_else(|| known(&python_scripts()?.join("z3")));
    let cvc5 = on_path("cvc5").and_then(|p| known(&p));
    z3.into_iter().chain(cvc5).collect()
}

/// A program that says which solver it is.
fn known(path: &Path) -> Option<Solver> {
    if !path.is_file() {
        return None;
    }
    let said = process::run(path, &["--version"], String::new(), 1 << 16, SOON).ok()?;
    let first = said.lines().next()?.to_string();
    // `Z3 version 4.8.12 - 64 bit`, `This is cvc5 version 1.0.3 [..]`.
    let dialect = match () {
        () if first.contains("Z3 version") => Dialect::Z3,
        () if first.contains("cvc5 version") => Dialect::Cvc5,
        () => return None,
    };
    let version = first.split("version ").nth(1)?.split(' ').next()?.to_string();
    Some(Solver { dialect, version, path: path.to_path_buf(), patience: PATIENCE })
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|p| p.is_file())
}

fn python_scripts() -> Option<PathBuf> {
    let question = "import sysconfig; print(sysconfig.get_path('scripts'))";
    let said = process::run(&on_path("python3")?, &["-c", question], String::new(), 1 << 16, SOON).ok()?;
    Some(PathBuf::from(said.trim()))
}
