//! Texts as root files.

use cachet::pipeline::{Outcome, check};
use cachet::world::World;
use cachet_frontend::Files;
use std::path::{Path, PathBuf};

/// One file in memory, and the library.
struct Text(String);

impl World for Text {
    fn files(&self) -> &dyn Files {
        self
    }
}

impl Files for Text {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Ok(self.0.clone().into_bytes())
    }

    fn identity(&self, path: &Path) -> PathBuf {
        path.to_path_buf()
    }

    fn library(&self, name: &str) -> Option<Vec<(&'static str, &'static str)>> {
        cachet::library::files(name)
    }
}

/// Checks a text.
pub fn load(text: &str) -> Outcome {
    check("a.cachet", &Text(text.into()))
}
