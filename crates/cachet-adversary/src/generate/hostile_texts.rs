//! Which programs are written to hurt? As files: deep, long, large, doubling, circular, and with bytes that hide.
//!
//! Each is small enough to be written, and would be large, slow or endless in a compiler that trusted it. None needs to be
//! accepted. Those that [`Hostile::wanted`] says are fine have to be.

mod circles;
mod deep;
mod doubling;
mod names;
mod numbers;
mod odd;

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A program that is written to hurt.
#[derive(Clone, Debug)]
pub struct Hostile {
    /// What it is, in a few words.
    pub name: String,
    /// What is in its folder.
    pub entries: BTreeMap<PathBuf, Entry>,
    /// What has to become of it.
    pub wanted: Wanted,
    /// Whether it is one of very many that differ in a name or number: only the longer run takes it.
    pub one_of_many: bool,
}

/// What is at a place in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A file.
    File(Vec<u8>),
    /// A folder.
    Folder,
    /// A pipe that nobody writes to.
    Pipe,
    /// A link to a place.
    Link(PathBuf),
}

/// What has to become of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Whatever; an answer in time.
    Answer,
    /// It is refused.
    Refused,
    /// It is accepted, and does the same natively as in the interpreter.
    Fine,
}

/// The root file.
pub const ROOT: &str = "root.cachet";

impl Hostile {
    /// One file.
    pub fn text(name: impl Into<String>, text: impl Into<Vec<u8>>) -> Hostile {
        let entries = [(PathBuf::from(ROOT), Entry::File(text.into()))].into();
        Hostile { name: name.into(), entries, wanted: Wanted::Answer, one_of_many: false }
    }

    /// With something beside it.
    pub fn with(mut self, place: &str, entry: Entry) -> Hostile {
        self.entries.insert(place.into(), entry);
        self
    }

    /// It has to be refused.
    pub fn refused(self) -> Hostile {
        Hostile { wanted: Wanted::Refused, ..self }
    }

    /// It has to be accepted.
    pub fn fine(self) -> Hostile {
        Hostile { wanted: Wanted::Fine, ..self }
    }

    /// There are very many like it.
    pub fn one_of_many(self) -> Hostile {
        Hostile { one_of_many: true, ..self }
    }

    /// Puts it into a folder, which is empty.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn write(&self, folder: &std::path::Path) -> std::io::Result<()> {
        for (place, entry) in &self.entries {
            let at = folder.join(place);
            if let Some(parent) = at.parent() {
                std::fs::create_dir_all(parent)?;
            }
            match entry {
                Entry::File(bytes) => std::fs::write(at, bytes)?,
                Entry::Folder => std::fs::create_dir_all(at)?,
                Entry::Pipe => drop(std::process::Command::new("mkfifo").arg(at).status()?),
                #[cfg(unix)]
                Entry::Link(to) => std::os::unix::fs::symlink(to, at)?,
                #[cfg(not(unix))]
                Entry::Link(_) => {}
            }
        }
        Ok(())
    }
}

/// All of them.
pub fn all() -> Vec<Hostile> {
    let parts = [deep::all(), numbers::all(), doubling::all(), circles::all(), names::all(), odd::all()];
    parts.into_iter().flatten().collect()
}

/// Something short that is accepted, for the rest of a file.
const MAIN: &str = "fn main () =\n  alloc x: [f32; 2]\n  store x[1] = 1.5\n  print (load x[1])\n";

/// The matrix product, for schedules.
const PRODUCT: &str = "import \"cachet:monoid\"\nimport \"cachet:steps\"\n\ncontraction product {S : Semiring}\n    (reads a: \
                       [S.Value; M, K])\n    (reads b: [S.Value; K, N])\n    -> out c: [S.Value; M, N] =\n  c[i, j] = sum k. a[i, k] * b[k, j]\n\n";
