//! For build scripts: safe Rust functions from a `.cachet` file.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), cachet_build::Error> {
//!     cachet_build::Build::new("kernels/dense.cachet").write()
//! }
//! ```
//!
//! ```ignore
//! // src/main.rs
//! mod dense {
//!     include!(concat!(env!("OUT_DIR"), "/dense.rs"));
//! }
//!
//! let mut scratch = dense::Scratch::new(dense::product_scratch_bytes(m, k, n).unwrap());
//! dense::product((&a[..], [m, k]), (&b[..], [k, n]), (&mut c[..], [m, n]), &mut scratch)?;
//! ```
//!
//! The compiler is a program, `cachetc`: the one that [`Build::compiler`] or `CACHETC` names, or the one on the path. It
//! builds a static library, which cargo links, and describes it; from the description comes the text of the functions. An
//! array is a view of a slice: its elements with extents and, where rows lie apart, strides. Every call is tested by the
//! checked entry of its kernel, so that no safe program can make one touch what it was not lent.
//!
//! Code is made for the target that cargo builds for; on x86-64 that is any processor with AVX2 unless
//! [`Build::cpu`] names another, or [`Build::native`] the one that builds.

mod description;
mod functions;

use description::Manifest;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is built, and how.
#[derive(Clone, Debug)]
pub struct Build {
    file: PathBuf,
    names: Vec<String>,
    implementations: Vec<String>,
    prefix: Option<String>,
    cpu: Option<String>,
    features: Option<String>,
    native: bool,
    compiler: Option<PathBuf>,
    out: Option<PathBuf>,
}

/// Why nothing was built.
pub struct Error(String);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// As it is displayed: this is what cargo shows of a build script's `main`.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl Build {
    /// All functions of a file that can be built.
    pub fn new(file: impl Into<PathBuf>) -> Build {
        Build {
            file: file.into(),
            names: Vec::new(),
            implementations: Vec::new(),
            prefix: None,
            cpu: None,
            features: None,
            native: false,
            compiler: None,
            out: None,
        }
    }

    /// Only these functions.
    #[must_use]
    pub fn only<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Build {
        self.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Binds type parameters, as `PlusTimes f32`; again for several.
    #[must_use]
    pub fn implementation(mut self, name: impl Into<String>) -> Build {
        self.implementations.push(name.into());
        self
    }

    /// What the names of symbols and files begin with; by default the file's name.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Build {
        self.prefix = Some(prefix.into());
        self
    }

    /// The processor to build for, by LLVM's name.
    #[must_use]
    pub fn cpu(mut self, cpu: impl Into<String>) -> Build {
        self.cpu = Some(cpu.into());
        self
    }

    /// Features of the processor, each with `+` or `-`.
    #[must_use]
    pub fn features(mut self, features: impl Into<String>) -> Build {
        self.features = Some(features.into());
        self
    }

    /// Builds for the processor that builds, where that is also the target. What is made may not run on others.
    #[must_use]
    pub fn native(mut self) -> Build {
        self.native = true;
        self
    }

    /// The compiler's program.
    #[must_use]
    pub fn compiler(mut self, program: impl Into<PathBuf>) -> Build {
        self.compiler = Some(program.into());
        self
    }

    /// Where files are written; by default cargo's `OUT_DIR`.
    #[must_use]
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Build {
        self.out = Some(folder.into());
        self
    }

    /// Builds, writes `PREFIX.rs` into `OUT_DIR`, and tells cargo what to link and what to watch.
    ///
    /// # Errors
    /// There is no compiler, it refused the file, or a file could not be written. The message is the compiler's report.
    pub fn write(&self) -> Result<(), Error> {
        let out = match &self.out {
            Some(folder) => folder.clone(),
            None => std::env::var_os("OUT_DIR")
                .map(PathBuf::from)
                .ok_or_else(|| Error("OUT_DIR is not set: this runs in a build script, or after `out_dir`".into()))?,
        };
        let instructions = self.write_to(&out)?;
        // A build script speaks to cargo this way.
        println!("{instructions}");
        Ok(())
    }

    /// The same into a folder; what cargo has to be told.
    fn write_to(&self, out: &Path) -> Result<String, Error> {
        let compiler = self.found();
        let mut command = Command::new(&compiler);
        command.arg("build").arg(&self.file).args(&self.names).arg("-o").arg(out);
        command.args(["--strided", "--emit", "static,manifest,deps"]).env("NO_COLOR", "1");
        for name in &self.implementations {
            command.args(["--with", name]);
        }
        let target = (!self.native || !is_host()).then(|| std::env::var("TARGET").ok()).flatten();
        let options = [("prefix", &self.prefix), ("target", &target), ("cpu", &self.cpu), ("features", &self.features)];
        for (name, value) in options {
            if let Some(value) = value {
                command.arg(format!("--{name}={value}"));
            }
        }
        let done = command.output().map_err(|e| {
            let name = compiler.display();
            Error(format!(
                "the Cachet compiler `{name}` does not start: {e}\nset CACHETC to its program, or put `cachetc` on the path"
            ))
        })?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            return Err(Error(format!("`{}` was not built\n{}", self.file.display(), said.trim_end())));
        }
        let said = String::from_utf8_lossy(&done.stdout);
        let manifest = said
            .split_whitespace()
            .find(|w| w.ends_with(".json"))
            .ok_or_else(|| Error(format!("`{}` has nothing to build\n{said}", self.file.display())))?;
        let path = out.join(manifest);
        let manifest = Manifest::parse(&read(&path)?).map_err(|e| Error(format!("`{}`: {e}", path.display())))?;
        let text = functions::text(&manifest).map_err(Error)?;
        let file = out.join(format!("{}.rs", manifest.prefix));
        std::fs::write(&file, text).map_err(|e| Error(format!("`{}` cannot be written: {e}", file.display())))?;
        let deps = read(&out.join(format!("{}.d", manifest.prefix)))?;
        Ok(instructions(out, &manifest.prefix, &compiler, &deps))
    }

    fn found(&self) -> PathBuf {
        let named = std::env::var_os("CACHETC").filter(|v| !v.is_empty()).map(PathBuf::from);
        self.compiler.clone().or(named).unwrap_or_else(|| "cachetc".into())
    }
}

fn is_host() -> bool {
    std::env::var_os("TARGET") == std::env::var_os("HOST")
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|e| Error(format!("`{}` cannot be read: {e}", path.display())))
}

/// What cargo is told: where the library is, that it is to be linked, and what it was made from.
fn instructions(out: &Path, prefix: &str, compiler: &Path, deps: &str) -> String {
    let mut lines = vec![
        format!("cargo::rustc-link-search=native={}", out.display()),
        format!("cargo::rustc-link-lib=static={prefix}"),
        "cargo::rerun-if-env-changed=CACHETC".into(),
    ];
    if compiler.is_file() {
        lines.push(format!("cargo::rerun-if-changed={}", compiler.display()));
    }
    lines.extend(sources(deps).iter().map(|file| format!("cargo::rerun-if-changed={file}")));
    lines.join("\n")
}

/// The files that a rule for `make` names as read: each has a rule of its own.
fn sources(deps: &str) -> Vec<String> {
    let rules = deps.lines().skip(1).filter_map(|l| l.strip_suffix(':'));
    rules.map(|name| name.replace("\\ ", " ").replace("\\#", "#").replace("$$", "$")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_watched() {
        let deps = "out/a.a: my\\ files/a.cachet b$$.cachet\n\nmy\\ files/a.cachet:\n\nb$$.cachet:\n";
        assert_eq!(sources(deps), ["my files/a.cachet", "b$.cachet"]);
        let told = instructions(Path::new("/out"), "a", Path::new("cachetc"), deps);
        assert!(told.contains("cargo::rustc-link-lib=static=a\n"), "{told}");
        assert!(told.contains("cargo::rerun-if-changed=my files/a.cachet\n"), "{told}");
    }

    #[test]
    fn without_a_compiler_the_message_says_what_to_do() {
        let build = Build::new("a.cachet").compiler("/no/such/cachetc");
        let error = build.write_to(Path::new("/no/such/folder")).unwrap_err();
        assert!(error.to_string().contains("set CACHETC to its program"), "{error}");
    }
}
