//! What the compiler may ask of the outside: files. Everything else it computes.

use crate::library;
use cachet_frontend::Files;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// The outside.
pub trait World {
    /// Where files come from.
    fn files(&self) -> &dyn Files;

    /// The certificates that an earlier run on a root file left; empty if there are none. They are checked before use.
    fn kept_proofs(&self, _root: &str) -> Vec<u8> {
        Vec::new()
    }

    /// Leaves certificates for a later run. Whether that works makes no difference to this one.
    fn keep_proofs(&self, _root: &str, _bytes: &[u8]) {}
}

/// The file system, and the library in the executable.
#[derive(Default)]
pub struct Disk {
    /// A folder for proofs that later runs may use again.
    proofs: Option<PathBuf>,
}

impl Disk {
    /// With a folder for proofs; it is made when there is something to put in it.
    pub fn keeping_proofs(folder: Option<PathBuf>) -> Disk {
        Disk { proofs: folder }
    }

    /// One file for each root file, by its place.
    fn proofs_of(&self, root: &str) -> Option<PathBuf> {
        let mut h = std::hash::DefaultHasher::new();
        std::fs::canonicalize(root).ok()?.hash(&mut h);
        Some(self.proofs.as_ref()?.join(format!("{:016x}", h.finish())))
    }
}

/// The largest file that is read, in bytes: a little above the limit on sources, so that the parser says which it is.
const MOST_BYTES: u64 = 5 << 20;

/// The most that is read of kept proofs, in bytes: a little above what is ever left there.
const MOST_PROOFS: u64 = 65 << 20;

/// A plain file, up to so many bytes: a device or a pipe could block or never end.
fn read(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a plain file"));
    }
    let mut out = Vec::new();
    std::fs::File::open(path)?.take(most).read_to_end(&mut out)?;
    Ok(out)
}

impl World for Disk {
    fn files(&self) -> &dyn Files {
        self
    }

    fn kept_proofs(&self, root: &str) -> Vec<u8> {
        self.proofs_of(root).and_then(|f| read(&f, MOST_PROOFS).ok()).unwrap_or_default()
    }

    fn keep_proofs(&self, root: &str, bytes: &[u8]) {
        let Some(file) = self.proofs_of(root) else { return };
        // Another run may write at the same time: each writes its own file and puts it in place whole.
        let own = file.with_extension(std::process::id().to_string());
        let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        if folder.is_ok() && std::fs::write(&own, bytes).is_ok() && std::fs::rename(&own, &file).is_err() {
            let _ = std::fs::remove_file(&own);
        }
    }
}

impl Files for Disk {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        read(path, MOST_BYTES)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
    }

    fn library(&self, name: &str) -> Option<Vec<(&'static str, &'static str)>> {
        library::files(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of proofs may hold anything; only plain files are read.
    #[cfg(unix)]
    #[test]
    fn proofs_that_are_no_plain_file_are_none() -> std::io::Result<()> {
        let folder = std::env::temp_dir().join(format!("cachet-world-{}", std::process::id()));
        let root = folder.join("root.cachet");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(&root, "")?;
        let disk = Disk::keeping_proofs(Some(folder.join("proofs")));
        let root = root.to_string_lossy().into_owned();
        disk.keep_proofs(&root, b"some");
        assert_eq!(disk.kept_proofs(&root), b"some");
        let Some(file) = disk.proofs_of(&root) else { panic!("a root has a place for its proofs") };
        std::fs::remove_file(&file)?;
        std::os::unix::fs::symlink("/dev/zero", &file)?;
        assert_eq!(disk.kept_proofs(&root), b"");
        disk.keep_proofs(&root, b"others");
        assert_eq!(disk.kept_proofs(&root), b"others");
        std::fs::remove_dir_all(folder)
    }
}
