//! Where are the libraries looked for?
//!
//! In this order: the files and folders that `CACHET_PEERS` lists, between colons; for OpenBLAS the file that
//! `CACHET_OPENBLAS` names, and then no other place; the Python packages `scipy-openblas32`, `scipy-openblas64` and
//! `mkl`; the folders of `LD_LIBRARY_PATH` and of the system, with the names that distributions give the files. A file
//! that several places lead to counts once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Family;
use crate::llvm::expand;

/// Where peers are looked for.
#[derive(Clone, Debug)]
pub struct PeerSearch {
    /// `CACHET_PEERS`: files and folders.
    pub listed: Vec<PathBuf>,
    /// `CACHET_OPENBLAS`: a library file, instead of every other OpenBLAS.
    pub openblas: Option<PathBuf>,
    /// Whether to ask `python3` and to look into the usual package folders.
    pub ask_python: bool,
    /// Folders to look into for the names of [`Family::file_names`].
    pub folders: Vec<PathBuf>,
}

/// A file that may be a peer.
pub(super) struct Candidate {
    pub path: PathBuf,
    /// Why it was looked for there.
    pub origin: String,
    /// What it is expected to be; `None` for a file that the user lists.
    pub family: Option<Family>,
}

impl PeerSearch {
    /// The places of this process.
    pub fn of_process() -> PeerSearch {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let paths = |value: OsString| std::env::split_paths(&value).collect::<Vec<_>>();
        let mut folders: Vec<PathBuf> = set("LD_LIBRARY_PATH").map(paths).unwrap_or_default();
        folders.extend(SYSTEM_FOLDERS.iter().map(PathBuf::from));
        PeerSearch {
            listed: set("CACHET_PEERS").map(paths).unwrap_or_default(),
            openblas: set("CACHET_OPENBLAS").map(PathBuf::from),
            ask_python: true,
            folders,
        }
    }

    /// No place at all.
    pub fn nowhere() -> PeerSearch {
        PeerSearch { listed: vec![], openblas: None, ask_python: false, folders: vec![] }
    }

    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let mut all: Vec<Candidate> = Vec::new();
        for path in self.listed.iter().filter(|path| !path.as_os_str().is_empty()) {
            let files = if path.is_dir() { libraries_in(path) } else { vec![path.clone()] };
            all.extend(files.into_iter().map(|path| candidate(path, "CACHET_PEERS", None)));
        }
        if let Some(path) = &self.openblas {
            all.push(candidate(path.clone(), "CACHET_OPENBLAS", Some(Family::OpenBlas)));
        }
        if self.ask_python {
            all.extend(python_packages());
        }
        for family in Family::NAMED {
            let names = family.file_names();
            let files = self.folders.iter().flat_map(|f| names.iter().flat_map(|name| expand(&f.join(name))));
            all.extend(files.map(|path| {
                let origin = path.parent().map_or(String::new(), |folder| folder.display().to_string());
                Candidate { path, origin, family: Some(family) }
            }));
        }
        if self.openblas.is_some() {
            let elsewhere = |c: &Candidate| c.family == Some(Family::OpenBlas) && c.origin != "CACHET_OPENBLAS";
            all.retain(|c| !elsewhere(c));
        }
        without_repetitions(all)
    }
}

const SYSTEM_FOLDERS: [&str; 11] = [
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/opt/homebrew/opt/openblas/lib",
    "/opt/homebrew/opt/blis/lib",
    "/opt/homebrew/opt/onednn/lib",
    "/usr/local/opt/openblas/lib",
    "/usr/local/opt/blis/lib",
    "/opt/intel/oneapi/mkl/latest/lib",
];

const PACKAGE_FOLDERS: [&str; 4] = [
    ".local/lib/python3*/site-packages",
    ".pyenv/versions/3*/lib/python3*/site-packages",
    ".venv/lib/python3*/site-packages",
    "venv/lib/python3*/site-packages",
];

/// Prints the package folders of the interpreter and the folder that `mkl` installs into.
const QUESTION: &str = "import sys, sysconfig, site
folders = [sysconfig.get_path('purelib'), sysconfig.get_path('platlib'), site.getusersitepackages()]
print('\\n'.join(folders + [sys.prefix + '/lib']))";

fn candidate(path: PathBuf, origin: &str, family: Option<Family>) -> Candidate {
    Candidate { path, origin: origin.to_owned(), family }
}

fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    ["lib*.so", "lib*.dylib"].iter().flat_map(|name| expand(&folder.join(name))).collect()
}

fn python_packages() -> Vec<Candidate> {
    let mut folders = interpreter_folders();
    if let Some(home) = std::env::var_os("HOME") {
        folders.extend(PACKAGE_FOLDERS.iter().flat_map(|folder| expand(&Path::new(&home).join(folder))));
    }
    if let Some(environment) = std::env::var_os("VIRTUAL_ENV") {
        folders.extend(expand(&Path::new(&environment).join("lib/python3*/site-packages")));
        folders.push(Path::new(&environment).join("lib"));
    }
    for pattern in ["/usr/local/lib/python3*/dist-packages", "/usr/local/lib/python3*/site-packages"] {
        folders.extend(expand(Path::new(pattern)));
    }
    let mut found = Vec::new();
    for folder in &folders {
        for package in ["scipy_openblas32", "scipy_openblas64"] {
            let origin = format!("PyPI {}", package.replace('_', "-"));
            let files = expand(&folder.join(package).join("lib/libscipy_openblas*"));
            found.extend(files.into_iter().map(|path| candidate(path, &origin, Some(Family::OpenBlas))));
        }
        let files = expand(&folder.join("libmkl_rt.*"));
        found.extend(files.into_iter().map(|path| candidate(path, "PyPI mkl", Some(Family::Mkl))));
    }
    found
}

fn interpreter_folders() -> Vec<PathBuf> {
    let Ok(output) = Command::new("python3").args(["-c", QUESTION]).output() else { return vec![] };
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success()).unwrap_or_default();
    text.lines().map(PathBuf::from).collect()
}

/// The first of several paths to one file.
fn without_repetitions(all: Vec<Candidate>) -> Vec<Candidate> {
    let mut seen: Vec<PathBuf> = Vec::new();
    all.into_iter()
        .filter(|c| {
            let file = c.path.canonicalize().unwrap_or_else(|_| c.path.clone());
            let new = !seen.contains(&file);
            if new {
                seen.push(file);
            }
            new
        })
        .collect()
}
