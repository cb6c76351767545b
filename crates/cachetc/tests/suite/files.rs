//! The files of the suite, and checking a text in a file's place.

use crate::common::root;
use cachet::pipeline::{self, Outcome};
use cachet::world::{Disk, World};
use cachet_frontend::Files;
use cachet_source::FileId;
use cachet_syntax::{Unformatted, format};
use std::path::{Path, PathBuf};

/// The suite's files, relative to the project's root.
pub struct Suite {
    /// Sorted.
    pub files: Vec<String>,
}

impl Suite {
    /// All `.cachet` files under `tests/suite/`.
    pub fn load() -> Suite {
        let mut files = Vec::new();
        let mut open = vec![PathBuf::from("tests/suite")];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(root().join(&folder)).expect("the folder is there") {
                let path = folder.join(entry.expect("an entry").file_name());
                if root().join(&path).is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|e| e == "cachet") {
                    files.push(path.display().to_string());
                }
            }
        }
        files.sort();
        Suite { files }
    }
}

/// A file's text, decoded as the compiler decodes it: without its byte order mark.
pub fn read(file: &str) -> String {
    let bytes = std::fs::read(root().join(file)).expect("the file is there");
    cachet_syntax::decode(&bytes, FileId(0)).expect("it is text").to_string()
}

/// The text in the one style.
pub fn formatted(text: &str) -> Result<String, String> {
    format(text, FileId(0)).map_err(|e| match e {
        Unformatted::Broken(all) => {
            format!("it does not parse: {}", all.first().map_or("", |d| d.message.as_str()))
        }
        Unformatted::TooLong => "formatted, it is too long".to_string(),
        Unformatted::Changed => "formatted, it is another program".to_string(),
    })
}

/// Checks a text as if it stood in a file: imports are found from there.
pub fn check(file: &str, text: &str) -> Outcome {
    let path = root().join(file);
    let world = InPlace { path: path.clone(), text: text.to_string() };
    pipeline::check(&path.display().to_string(), &world)
}

/// The disk, except for one file.
struct InPlace {
    path: PathBuf,
    text: String,
}

impl World for InPlace {
    fn files(&self) -> &dyn Files {
        self
    }
}

impl Files for InPlace {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        if path == self.path { Ok(self.text.clone().into_bytes()) } else { Disk::default().read(path) }
    }

    fn identity(&self, path: &Path) -> PathBuf {
        Disk::default().identity(path)
    }

    fn library(&self, name: &str) -> Option<Vec<(&'static str, &'static str)>> {
        Disk::default().library(name)
    }
}
