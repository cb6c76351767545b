//! Files that are nowhere but here.

use cachet::pipeline::{Outcome, check};
use cachet::world::{Disk, World};
use cachet_core::script::Module;
use cachet_frontend::Files;
use cachet_source::{Diagnostic, Sources};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files in memory, by name, and the library.
#[derive(Clone, Default)]
pub struct Memory(pub BTreeMap<PathBuf, Vec<u8>>);

/// What the one file of [`Memory::text`] is called.
pub const ROOT: &str = "a.cachet";

impl Memory {
    /// One file.
    pub fn text(text: impl Into<Vec<u8>>) -> Memory {
        Memory([(PathBuf::from(ROOT), text.into())].into())
    }
}

impl World for Memory {
    fn files(&self) -> &dyn Files {
        self
    }
}

impl Files for Memory {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.0.get(path).cloned().ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }

    fn identity(&self, path: &Path) -> PathBuf {
        path.to_path_buf()
    }

    fn library(&self, name: &str) -> Option<Vec<(&'static str, &'static str)>> {
        cachet::library::files(name)
    }
}

/// Checks a text.
pub fn checked(text: &str) -> Outcome {
    check(ROOT, &Memory::text(text))
}

/// A text's typed items, unchecked; a generator's text has them.
pub fn loaded(text: &str) -> Module {
    let mut sources = Sources::new();
    let (module, diagnostics) = cachet_frontend::load(ROOT, &Memory::text(text), &mut sources);
    if let Some(d) = diagnostics.iter().find(|d| d.refuses()) {
        panic!("{}: {:?} in\n{text}", d.message, refused_at(d, text));
    }
    module.unwrap()
}

/// The typed items of a file of the project, unchecked.
pub fn on_disk(path: &str) -> Module {
    let mut sources = Sources::new();
    let (module, diagnostics) = cachet_frontend::load(path, Disk::default().files(), &mut sources);
    if let Some(d) = diagnostics.iter().find(|d| d.refuses()) {
        panic!("{path}: {}", d.message);
    }
    module.unwrap()
}

/// A text's typed items, or why it has none.
pub fn read(text: &str) -> Result<Module, String> {
    let mut sources = Sources::new();
    let (module, diagnostics) = cachet_frontend::load(ROOT, &Memory::text(text), &mut sources);
    match diagnostics.into_iter().find(|d| d.refuses()) {
        Some(d) => Err(d.message),
        None => module.ok_or_else(|| "there is nothing in it".into()),
    }
}

/// The words that a report is about.
pub fn refused_at<'a>(d: &Diagnostic, text: &'a str) -> Option<&'a str> {
    d.span().and_then(|s| text.get(s.lo as usize..s.hi as usize))
}
