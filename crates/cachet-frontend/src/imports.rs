//! Files and their imports, each file once, every file after what it imports.

use crate::Files;
use cachet_source::{Diagnostic, FileId, Kind, Sources, Span, codes};
use cachet_syntax::{ast, decode, parse};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How long a chain of imports may be.
pub const MAX_IMPORT_DEPTH: usize = 64;

/// A parsed file.
pub(crate) struct Unit {
    pub ast: ast::File,
    /// The units it imports, by position.
    pub imports: Vec<usize>,
    /// Whether it is a file of the library.
    pub library: bool,
}

/// All files; the root is the last.
pub(crate) struct Loaded {
    pub units: Vec<Unit>,
}

impl Loaded {
    /// The root file's unit.
    pub fn root(&self) -> usize {
        self.units.len() - 1
    }
}

/// Reads the root and everything it imports. `None` where the root itself cannot be read.
pub(crate) fn read(root: &str, files: &dyn Files, sources: &mut Sources, out: &mut Vec<Diagnostic>) -> Option<Loaded> {
    let mut reader = Reader { files, sources, out, units: Vec::new(), known: BTreeMap::new(), chain: Vec::new() };
    let path = PathBuf::from(root);
    match reader.files.read(&path) {
        Ok(bytes) => {
            reader.file(root.to_string(), &path, &bytes)?;
            Some(Loaded { units: reader.units })
        }
        Err(e) => {
            reader.out.push(Diagnostic::new(Kind::Error, codes::FILE, format!("cannot read `{root}`: {}", reason(&e))));
            None
        }
    }
}

struct Reader<'a> {
    files: &'a dyn Files,
    sources: &'a mut Sources,
    out: &'a mut Vec<Diagnostic>,
    units: Vec<Unit>,
    /// Files by identity: their units once they are complete.
    known: BTreeMap<PathBuf, Vec<usize>>,
    /// The files being read, from the root on.
    chain: Vec<(PathBuf, String)>,
}

impl Reader<'_> {
    /// A file of the disk with everything it imports; gives its unit.
    fn file(&mut self, name: String, path: &Path, bytes: &[u8]) -> Option<usize> {
        let identity = self.files.identity(path);
        self.chain.push((identity.clone(), name.clone()));
        let id = self.sources.add(name, String::new());
        let unit = match decode(bytes, id) {
            Ok(text) => {
                self.sources.set_text(id, text);
                let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
                Some(self.text(id, text, Some(&base)))
            }
            Err(d) => {
                // So that the report can show its line.
                self.sources.set_text(id, String::from_utf8_lossy(bytes));
                self.out.push(*d);
                None
            }
        };
        self.chain.pop();
        self.known.insert(identity, unit.into_iter().collect());
        unit
    }

    /// A text that was read; relative imports start at `base`.
    fn text(&mut self, file: FileId, text: &str, base: Option<&Path>) -> usize {
        let parsed = parse(text, file);
        self.out.extend(parsed.diagnostics);
        let mut imports = Vec::new();
        for import in &parsed.ast.imports {
            imports.extend(self.import(&import.path.value, import.path.span, base));
        }
        self.units.push(Unit { ast: parsed.ast, imports, library: base.is_none() });
        self.units.len() - 1
    }

    fn import(&mut self, wanted: &str, span: Span, base: Option<&Path>) -> Vec<usize> {
        if self.chain.len() > MAX_IMPORT_DEPTH {
            self.out.push(Diagnostic::error(
                codes::LIMIT,
                span,
                format!("imports are chained deeper than {MAX_IMPORT_DEPTH}"),
            ));
            return vec![];
        }
        if wanted.starts_with("cachet:") {
            return self.library(wanted, span);
        }
        let Some(base) = base else {
            self.out.push(Diagnostic::error(
                codes::IMPORT_MISSING,
                span,
                format!("a library file cannot import `{wanted}`"),
            ));
            return vec![];
        };
        let path = base.join(wanted);
        let identity = self.files.identity(&path);
        if let Some(at) = self.chain.iter().position(|(i, _)| *i == identity) {
            let mut names: Vec<&str> = self.chain[at..].iter().map(|(_, n)| n.as_str()).collect();
            names.push(names[0]);
            let message = format!("`{}` imports itself", names[0]);
            self.out.push(Diagnostic::error(codes::IMPORT_CYCLE, span, message).note(names.join(" imports ")));
            return vec![];
        }
        if let Some(units) = self.known.get(&identity) {
            return units.clone();
        }
        match self.files.read(&path) {
            Ok(bytes) => self.file(path.display().to_string(), &path, &bytes).into_iter().collect(),
            Err(e) => {
                let message = format!("cannot import `{wanted}`: {}", reason(&e));
                self.out.push(
                    Diagnostic::error(codes::IMPORT_MISSING, span, message)
                        .note(format!("looked for {}", path.display()))
                        .help("a relative path starts at the file that imports it"),
                );
                vec![]
            }
        }
    }

    fn library(&mut self, wanted: &str, span: Span) -> Vec<usize> {
        let identity = PathBuf::from(wanted);
        if let Some(units) = self.known.get(&identity) {
            return units.clone();
        }
        let Some(files) = self.files.library(wanted) else {
            self.out.push(
                Diagnostic::error(codes::IMPORT_MISSING, span, format!("the library has no module `{wanted}`"))
                    .help("it has `cachet:steps` and `cachet:monoid`"),
            );
            return vec![];
        };
        let mut units = Vec::new();
        for (name, text) in files {
            let id = self.sources.add(name, text);
            units.push(self.text(id, text, None));
        }
        self.known.insert(identity, units.clone());
        units
    }
}

fn reason(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        std::io::ErrorKind::PermissionDenied => "it may not be read".into(),
        std::io::ErrorKind::IsADirectory => "it is a directory".into(),
        _ => e.to_string(),
    }
}
