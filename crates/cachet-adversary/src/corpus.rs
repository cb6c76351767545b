//! Which texts does the repository have, and what does the compiler see when one of them is another?

use cachet::world::World;
use cachet_frontend::Files;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The folders with programs and what these import, below the repository's root.
const FOLDERS: [&str; 6] = ["examples", "library", "platforms", "tests/refused", "tests/refusals", "tests/suite"];

/// The repository's programs, by their place below its root.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// In the order of their names.
    pub files: Vec<(String, String)>,
    /// Where each is in `files`.
    by_path: BTreeMap<PathBuf, usize>,
}

/// The repository's root.
pub fn root() -> PathBuf {
    normal(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

/// A path without `.` and `..`, as if there were no links.
pub fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => out.push(part),
        }
    }
    out
}

impl Corpus {
    /// Reads them.
    pub fn read() -> Corpus {
        let root = root();
        let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|f| root.join(f)).collect();
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "cachet") {
                    let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                    // A file that is no text is a refusal's business, and nothing to start from.
                    files.extend(std::fs::read_to_string(&path).ok().map(|text| (name, text)));
                }
            }
        }
        files.sort();
        assert!(files.len() > 300, "the files are gone: {}", files.len());
        let by_path = files.iter().enumerate().map(|(n, (name, _))| (PathBuf::from(name), n)).collect();
        Corpus { files, by_path }
    }

    /// Those below a folder.
    pub fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a (String, String)> {
        self.files.iter().filter(move |(name, _)| Path::new(name).starts_with(folder))
    }

    /// The repository with one file replaced.
    pub fn with<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> Altered<'a> {
        Altered { corpus: self, name: Path::new(name), bytes }
    }
}

/// The repository with one file replaced.
#[derive(Clone, Copy)]
pub struct Altered<'a> {
    corpus: &'a Corpus,
    name: &'a Path,
    bytes: &'a [u8],
}

impl World for Altered<'_> {
    fn files(&self) -> &dyn Files {
        self
    }
}

impl Files for Altered<'_> {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        let path = normal(path);
        if path == self.name {
            return Ok(self.bytes.to_vec());
        }
        let found = self.corpus.by_path.get(&path).map(|n| self.corpus.files[*n].1.clone().into_bytes());
        found.ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }

    fn identity(&self, path: &Path) -> PathBuf {
        normal(path)
    }

    fn library(&self, name: &str) -> Option<Vec<(&'static str, &'static str)>> {
        cachet::library::files(name)
    }
}
