//! From files to a typed module: the only room that sees both the surface and the core.
//!
//! | phase | file |
//! | --- | --- |
//! | files and their imports | `imports` |
//! | which name means what | `scope` |
//! | constants, proofs, functions of indices | `constants`, `numbers` |
//! | records | `records` |
//! | instructions | `instructions` |
//! | interfaces, implementations, pure functions; their laws | `algebra`, `laws` |
//! | parameters, sizes, clauses | `head` |
//! | expressions, typed | `tree`, `elaborate` |
//! | contractions to equations, and to their plain nest | `contractions`, `contraction_to_loops` |
//! | functions by hand, and `main` | `functions`, `statements`, `grids`, `calls` |
//! | step definitions to patterns | `steps` |
//! | schedules, schedule functions expanded | `schedules` |
//! | how large values may become | `limits` |
//! | the module without what was refused | `assemble` |
//!
//! What parses and has no meaning yet is refused with *not built yet*, and only the item that contains it. A refused
//! item does not hide the next; what depends on it is left out silently, for the reason is already given.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]

mod algebra;
mod assemble;
mod calls;
mod constants;
mod contraction_to_loops;
mod contractions;
mod elaborate;
mod functions;
mod grids;
mod head;
mod imports;
mod instructions;
mod laws;
mod layouts;
mod limits;
mod numbers;
mod platforms;
mod records;
mod resources;
mod schedules;
mod scope;
mod statements;
mod steps;
mod synth;
#[cfg(test)]
mod tests;
mod tree;

use cachet_core::script::Module;
use cachet_machine::platform::Platform;
use cachet_source::{Diagnostic, Sources};
use std::path::{Path, PathBuf};

pub use imports::MAX_IMPORT_DEPTH;

/// Where files come from.
pub trait Files {
    /// The bytes of a file.
    ///
    /// # Errors
    /// Whatever the system says.
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>>;
    /// One name for a file however it is reached, so that a cycle through a link is seen.
    fn identity(&self, path: &Path) -> PathBuf;
    /// The files of a library module, `cachet:NAME`: the name that messages print, and the text.
    fn library(&self, name: &str) -> Option<Vec<(&'static str, &'static str)>>;
}

/// Reads a root file and everything it imports, and elaborates it. Problems are given in the order of the phases; the
/// module has every item that was not refused.
pub fn load(root: &str, files: &dyn Files, sources: &mut Sources) -> (Option<Module>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let Some(loaded) = imports::read(root, files, sources, &mut diagnostics) else { return (None, diagnostics) };
    let scope = scope::Scope::new(&loaded, &mut diagnostics);
    let module = elaborate::module(&loaded, &scope, sources, &mut diagnostics);
    (Some(module), diagnostics)
}

/// The platform that a file names, if it names one that is described without problems.
pub fn platform(root: &str, files: &dyn Files) -> Option<Platform> {
    let (mut diagnostics, mut sources) = (Vec::new(), Sources::new());
    let loaded = imports::read(root, files, &mut sources, &mut diagnostics)?;
    let scope = scope::Scope::new(&loaded, &mut diagnostics);
    elaborate::named(&loaded, &scope, &sources, &mut diagnostics)
}

/// The platforms that a file describes, itself or by its imports, and the problems of these descriptions.
pub fn platforms(root: &str, files: &dyn Files, sources: &mut Sources) -> (Vec<Platform>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let Some(loaded) = imports::read(root, files, sources, &mut diagnostics) else { return (vec![], diagnostics) };
    let scope = scope::Scope::new(&loaded, &mut diagnostics);
    let platforms = elaborate::described(&loaded, &scope, sources, &mut diagnostics);
    (platforms, diagnostics)
}
