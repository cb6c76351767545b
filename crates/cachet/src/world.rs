//! What the compiler may ask of the outside: files. Everything else it computes.

use crate::library;
use cachet_frontend::Files;
use std::path::{Path, PathBuf};

/// The outside.
pub trait World {
    /// Where files come from.
    fn files(&self) -> &dyn Files;
}

/// The file system, and the library in the executable.
pub struct Disk;

/// The largest file that is read, in bytes: a little above the limit on sources, so that the parser says which it is.
const MOST_BYTES: u64 = 5 << 20;

impl World for Disk {
    fn files(&self) -> &dyn Files {
        self
    }
}

impl Files for Disk {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        use std::io::Read;
        // A device or a pipe could block or never end; only plain files are sources.
        if !std::fs::metadata(path)?.is_file() {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a plain file"));
        }
        let mut out = Vec::new();
        std::fs::File::open(path)?.take(MOST_BYTES).read_to_end(&mut out)?;
        Ok(out)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
    }

    fn library(&self, name: &str) -> Option<Vec<(&'static str, &'static str)>> {
        library::files(name)
    }
}
