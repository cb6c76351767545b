//! Texts of a page at most: what they become, or why they are refused.

mod contractions;
mod functions;
mod grids;
mod imports;
mod refusals;
mod steps;

use crate::{Files, load};
use cachet_core::ir::{Fun, FunId};
use cachet_core::print::listing;
use cachet_core::script::Module;
use cachet_core::validate::validate;
use cachet_source::{Diagnostic, Sources};
use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Files in memory and the real library.
#[derive(Default)]
pub(crate) struct Memory(BTreeMap<PathBuf, String>);

impl Memory {
    pub fn with(mut self, path: &str, text: &str) -> Memory {
        self.0.insert(PathBuf::from(path), text.to_string());
        self
    }
}

impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.0.get(&self.identity(path)) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn identity(&self, path: &Path) -> PathBuf {
        let mut out = PathBuf::new();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    out.pop();
                }
                other => out.push(other),
            }
        }
        out
    }

    fn library(&self, name: &str) -> Option<Vec<(&'static str, &'static str)>> {
        match name {
            "cachet:monoid" => Some(vec![("cachet:monoid", include_str!("../../../library/algebra/semiring.cachet"))]),
            "cachet:steps" => Some(vec![
                ("cachet:steps/zero", include_str!("../../../library/steps/zero.cachet")),
                ("cachet:steps/hoist", include_str!("../../../library/steps/hoist.cachet")),
                ("cachet:steps/interchange", include_str!("../../../library/steps/interchange.cachet")),
            ]),
            _ => None,
        }
    }
}

pub(crate) fn load_files(root: &str, files: &Memory) -> (Option<Module>, Vec<Diagnostic>, Sources) {
    let mut sources = Sources::new();
    let (module, diagnostics) = load(root, files, &mut sources);
    if let Some(m) = &module {
        assert_eq!(validate(&m.program), Ok(()), "what is loaded is a program");
    }
    (module, diagnostics, sources)
}

pub(crate) fn load_text(text: &str) -> (Module, Vec<Diagnostic>) {
    let (module, diagnostics, _) = load_files("a.cachet", &Memory::default().with("a.cachet", text));
    (module.unwrap(), diagnostics)
}

/// A text without problems.
pub(crate) fn good(text: &str) -> Module {
    let (module, diagnostics) = load_text(text);
    assert_eq!(lines(&diagnostics), Vec::<String>::new(), "{text}");
    module
}

/// `code: message` of each report.
pub(crate) fn lines(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics.iter().map(|d| format!("{}: {}", d.code.0, d.message)).collect()
}

/// The reports of a text, each with the text it points at.
pub(crate) fn reports(text: &str) -> Vec<String> {
    let (_, diagnostics, sources) = load_files("a.cachet", &Memory::default().with("a.cachet", text));
    let place = |d: &Diagnostic| d.span().map_or("", |s| sources.text(s)).lines().next().unwrap_or("").to_string();
    diagnostics.iter().map(|d| format!("{}: {} [{}]", d.code.0, d.message, place(d))).collect()
}

/// The only report of a text, and the helps that it gives.
pub(crate) fn only(text: &str) -> (String, Vec<String>) {
    let (_, mut diagnostics) = load_text(text);
    let all = reports(text);
    assert_eq!(all.len(), 1, "{all:#?}");
    (all[0].clone(), diagnostics.remove(0).helps)
}

pub(crate) fn find<'m>(module: &'m Module, name: &str) -> (FunId, &'m Fun) {
    let at = module.program.funs.iter().position(|f| f.name == name).unwrap();
    (FunId(at as u32), &module.program.funs[at])
}

pub(crate) fn print(module: &Module, name: &str) -> String {
    listing(&module.program, find(module, name).1)
}

/// Loads a text, prints a function, loads the printed text, and prints again: both listings are the same.
pub(crate) fn again(text: &str, name: &str) -> String {
    let first = print(&good(text), name);
    let imports = "import \"cachet:monoid\"\n\n";
    let second = print(&good(&format!("{imports}{first}")), name);
    assert_eq!(first, second);
    first
}
