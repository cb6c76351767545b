//! Where is a libLLVM that we can use?
//!
//! Places are tried in a fixed order; the first library that loads, is new enough and has the functions we call wins.
//! `CACHET_LLVM` decides alone when it is set: a wrong value is an error, not a reason to look elsewhere.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::api::Api;
use crate::error::{ToolError, ToolErrorKind};

/// The oldest LLVM whose textual IR and C API serve us.
pub(super) const OLDEST: u32 = 19;

/// The places where a libLLVM is looked for.
#[derive(Clone, Debug)]
pub struct Places {
    /// `CACHET_LLVM`: a library file, or a folder that holds one. Decides alone.
    pub named: Option<OsString>,
    /// The folder of the running executable.
    pub beside: Option<PathBuf>,
    /// The sysroot of the toolchain that built this program.
    pub build_sysroot: Option<PathBuf>,
    /// Whether to ask `rustc` for its sysroot, and to look into every installed rustup toolchain.
    pub ask_rustup: bool,
    /// Folders of distributions and package managers; a `*` stands for any one name.
    pub folders: Vec<PathBuf>,
}

impl Places {
    /// The places of this process: its environment, its executable, this system's usual folders.
    pub fn of_process() -> Places {
        let built_with = option_env!("CACHET_BUILD_SYSROOT").unwrap_or_default();
        Places {
            named: std::env::var_os("CACHET_LLVM").filter(|value| !value.is_empty()),
            beside: std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_path_buf)),
            build_sysroot: (!built_with.is_empty()).then(|| PathBuf::from(built_with)),
            ask_rustup: true,
            folders: SYSTEM_FOLDERS.iter().map(PathBuf::from).collect(),
        }
    }
}

const SYSTEM_FOLDERS: [&str; 9] = [
    "/usr/lib/llvm-*/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/opt/homebrew/opt/llvm/lib",
    "/usr/local/opt/llvm/lib",
    "/home/linuxbrew/.linuxbrew/opt/llvm/lib",
];

/// One library or place that was tried and did not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The file or folder.
    pub path: PathBuf,
    /// Why we looked there.
    pub origin: String,
    /// What was wrong with it.
    pub outcome: String,
}

/// A library that serves.
pub(super) struct Found {
    pub(super) api: &'static Api,
    pub(super) path: PathBuf,
    pub(super) origin: String,
}

/// Tries the places in order.
pub(super) fn find(places: &Places) -> (Option<Found>, Vec<Tried>) {
    let mut search = Search::default();
    if let Some(named) = &places.named {
        let path = Path::new(named);
        search.visit_named(path);
        return (search.found, search.tried);
    }
    if let Some(folder) = &places.beside {
        for folder in [folder.clone(), folder.join("lib"), folder.join("../lib")] {
            search.visit(&folder, "beside the executable");
        }
    }
    if let Some(sysroot) = &places.build_sysroot {
        search.visit_sysroot(sysroot, "the Rust toolchain that built this program");
    }
    if places.ask_rustup && search.found.is_none() {
        if let Some(sysroot) = ask_sysroot() {
            search.visit_sysroot(&sysroot, "the Rust toolchain (`rustc --print sysroot`)");
        }
        for toolchain in installed_toolchains() {
            search.visit_sysroot(&toolchain, "an installed Rust toolchain");
        }
    }
    for pattern in &places.folders {
        for folder in expand(pattern) {
            search.visit(&folder, "a system folder");
        }
    }
    (search.found, search.tried)
}

/// The message for a search that found nothing.
pub(super) fn not_found(places: &Places, tried: &[Tried]) -> ToolError {
    let detail: Vec<String> =
        tried.iter().map(|t| format!("  {}: {} ({})", t.path.display(), t.outcome, t.origin)).collect();
    let too_old = !tried.is_empty() && tried.iter().all(|t| t.outcome.contains("too old"));
    let kind = if too_old { ToolErrorKind::TooOld } else { ToolErrorKind::Missing };
    let message = match (&places.named, too_old) {
        (Some(named), _) => {
            format!("CACHET_LLVM is `{}`, which is no usable libLLVM", Path::new(named).display())
        }
        (None, true) => format!("every libLLVM found is older than LLVM {OLDEST}"),
        (None, false) => format!("no usable libLLVM found: native code needs LLVM {OLDEST} or later"),
    };
    let error = ToolError::new(kind, message).with_fix(fix(places));
    if detail.is_empty() { error } else { error.with_detail(format!("tried:\n{}", detail.join("\n"))) }
}

fn fix(places: &Places) -> String {
    if places.named.is_some() {
        return format!(
            "unset CACHET_LLVM, or set it to the file of a libLLVM of version {OLDEST} or later, such as \
             `export CACHET_LLVM=$(ls $(rustc --print sysroot)/lib/libLLVM.so.*)`"
        );
    }
    if cfg!(target_os = "macos") {
        "run `brew install llvm`, or set CACHET_LLVM to the file of a libLLVM".to_owned()
    } else {
        format!(
            "run `rustup toolchain install stable` (it ships one), or `apt-get install libllvm{OLDEST}`, or set \
             CACHET_LLVM to the file of a libLLVM"
        )
    }
}

#[derive(Default)]
struct Search {
    found: Option<Found>,
    tried: Vec<Tried>,
    seen: BTreeSet<PathBuf>,
}

impl Search {
    fn visit_named(&mut self, path: &Path) {
        let origin = "CACHET_LLVM";
        if path.is_dir() {
            self.visit(path, origin);
            if self.found.is_none() && self.tried.is_empty() {
                self.note(path, origin, "the folder holds no libLLVM".to_owned());
            }
        } else if path.exists() {
            self.try_file(path, origin);
        } else {
            self.note(path, origin, "there is no such file".to_owned());
        }
    }

    fn visit_sysroot(&mut self, sysroot: &Path, origin: &str) {
        self.visit(&sysroot.join("lib"), origin);
        for folder in expand(&sysroot.join("lib/rustlib/*/lib")) {
            self.visit(&folder, origin);
        }
    }

    fn visit(&mut self, folder: &Path, origin: &str) {
        for file in libraries_in(folder) {
            if self.found.is_some() {
                return;
            }
            self.try_file(&file, origin);
        }
    }

    fn try_file(&mut self, file: &Path, origin: &str) {
        let real = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
        if !self.seen.insert(real.clone()) {
            return;
        }
        match load(&real) {
            Ok(api) => {
                self.found = Some(Found { api, path: real, origin: origin.to_owned() });
            }
            Err(outcome) => self.note(file, origin, outcome),
        }
    }

    fn note(&mut self, path: &Path, origin: &str, outcome: String) {
        self.tried.push(Tried { path: path.to_path_buf(), origin: origin.to_owned(), outcome });
    }
}

/// Libraries stay loaded for the life of the process: code and tables of LLVM are referred to from everywhere.
static LOADED: Mutex<Vec<(PathBuf, &'static Api)>> = Mutex::new(Vec::new());

fn load(file: &Path) -> Result<&'static Api, String> {
    let mut loaded = LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, api)) = loaded.iter().find(|(path, _)| path == file) {
        return Ok(api);
    }
    if let Some(major) = version_in_name(file).filter(|major| *major < OLDEST) {
        return Err(too_old(&major.to_string()));
    }
    if !is_shared_library(file) {
        return Err("not a shared library".to_owned());
    }
    // SAFETY: loading runs the library's constructors; it is a libLLVM by its name, or one the user named. Local
    // visibility keeps its symbols from those of another LLVM in this process.
    let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|error| format!("cannot be loaded: {error}"))?;
    check_version(&library)?;
    let api = Api::bind(library).map_err(|symbol| format!("lacks the function `{symbol}`"))?;
    api.initialise_targets();
    // SAFETY: the handler is a function of the type that LLVM calls.
    unsafe { (api.install_fatal_handler)(super::fatal) };
    let api: &'static Api = Box::leak(Box::new(api));
    loaded.push((file.to_path_buf(), api));
    Ok(api)
}

fn check_version(library: &Library) -> Result<(), String> {
    type GetVersion = unsafe extern "C" fn(*mut u32, *mut u32, *mut u32);
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: where the name exists it has this type; it writes three integers.
    unsafe {
        let version = library
            .get::<GetVersion>(b"LLVMGetVersion")
            .map_err(|_| "not a libLLVM, or one that is too old to tell its version".to_owned())?;
        version(&raw mut major, &raw mut minor, &raw mut patch);
    }
    if major < OLDEST { Err(too_old(&format!("{major}.{minor}.{patch}"))) } else { Ok(()) }
}

fn too_old(version: &str) -> String {
    format!("LLVM {version} is too old, {OLDEST} or later is needed")
}

/// Files named like a libLLVM, newest version first.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_library_name(path) && is_shared_library(path))
        .collect();
    files.sort_by(|a, b| version_in_name(b).cmp(&version_in_name(a)).then_with(|| a.cmp(b)));
    files
}

fn is_library_name(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let Some(rest) = name.strip_prefix("libLLVM") else {
        return false;
    };
    (rest.starts_with('.') || rest.starts_with('-')) && (rest.contains(".so") || rest.ends_with(".dylib"))
}

/// The major version in `libLLVM.so.22.1`, `libLLVM-22.so`, `libLLVM-22-rust-….so`, where there is one.
fn version_in_name(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.strip_prefix("libLLVM")?;
    let rest = name.strip_prefix(".so.").or_else(|| name.strip_prefix('-'))?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Whether a file begins like an ELF or a Mach-O file; a linker script of the same name does not.
fn is_shared_library(path: &Path) -> bool {
    const ELF: [u8; 4] = *b"\x7FELF";
    const MACH_O: [u8; 4] = [0xCF, 0xFA, 0xED, 0xFE];
    const UNIVERSAL: [u8; 4] = [0xCA, 0xFE, 0xBA, 0xBE];
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic));
    read.is_ok() && [ELF, MACH_O, UNIVERSAL].contains(&magic)
}

fn ask_sysroot() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(PathBuf::from(text.trim()))
}

fn installed_toolchains() -> Vec<PathBuf> {
    let home = std::env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".rustup")));
    home.map(|home| expand(&home.join("toolchains/*"))).unwrap_or_default()
}

/// Expands `*` in the names of a path; sorted, existing paths only.
pub(crate) fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::new()];
    for part in pattern.components() {
        let Some((head, tail)) = part.as_os_str().to_str().and_then(|name| name.split_once('*')) else {
            for path in &mut paths {
                path.push(part);
            }
            continue;
        };
        paths = paths.iter().flat_map(|folder| matching(folder, head, tail)).collect();
    }
    paths.retain(|path| path.exists());
    paths
}

fn matching(folder: &Path, head: &str, tail: &str) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            entry.file_name().to_str().is_some_and(|name| {
                name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
            })
        })
        .map(|entry| entry.path())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere() -> Places {
        Places { named: None, beside: None, build_sysroot: None, ask_rustup: false, folders: Vec::new() }
    }

    fn failure(places: &Places) -> ToolError {
        let (found, tried) = find(places);
        assert!(found.is_none());
        not_found(places, &tried)
    }

    #[test]
    fn a_wrong_variable_is_an_error_even_when_others_exist() {
        let places = Places { named: Some("/nonsense/libLLVM.so".into()), ..Places::of_process() };
        let error = failure(&places);
        assert_eq!(error.kind, ToolErrorKind::Missing);
        assert!(error.message.contains("CACHET_LLVM is `/nonsense/libLLVM.so`"), "{error}");
        assert!(error.detail.as_deref().unwrap().contains("no such file"), "{error}");
        assert!(error.fix.as_deref().unwrap().contains("unset CACHET_LLVM"), "{error}");
    }

    #[test]
    fn a_file_that_is_no_library_is_refused() {
        let folder = std::env::temp_dir().join(format!("cachet-find-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("libLLVM.so");
        std::fs::write(&file, "INPUT(libLLVM.so.22)").unwrap();
        let text = failure(&Places { named: Some(file.into()), ..nowhere() }).to_string();
        assert!(text.contains("not a shared library"), "{text}");
        let text = failure(&Places { named: Some(folder.clone().into()), ..nowhere() }).to_string();
        assert!(text.contains("holds no libLLVM"), "{text}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn finding_nothing_names_the_command_that_fixes_it() {
        let error = failure(&nowhere());
        assert!(error.fix.as_deref().unwrap().contains("install"), "{error}");
        assert!(error.message.contains("LLVM 19 or later"), "{error}");
    }

    #[test]
    fn old_libraries_are_refused_by_name_before_they_are_loaded() {
        let folder = std::env::temp_dir().join(format!("cachet-old-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("libLLVM-14.so.1"), b"\x7FELF and nothing more").unwrap();
        let error = failure(&Places { folders: vec![folder.clone()], ..nowhere() });
        assert_eq!(error.kind, ToolErrorKind::TooOld);
        assert!(error.to_string().contains("LLVM 14 is too old"), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn versions_are_read_from_names() {
        let version = |name: &str| version_in_name(Path::new(name));
        assert_eq!(version("libLLVM.so.22.1-rust-1.95.0-stable"), Some(22));
        assert_eq!(version("libLLVM-14.0.6.so.1"), Some(14));
        assert_eq!(version("libLLVM-19.so"), Some(19));
        assert_eq!(version("libLLVM.so"), None);
        assert!(!is_library_name(Path::new("libLLVMCore.a")));
        assert!(is_library_name(Path::new("libLLVM.dylib")));
    }

    #[test]
    fn stars_expand_in_order() {
        let folder = std::env::temp_dir().join(format!("cachet-star-{}", std::process::id()));
        for name in ["llvm-19/lib", "llvm-20/lib", "other/lib"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        let found = expand(&folder.join("llvm-*/lib"));
        assert_eq!(found, [folder.join("llvm-19/lib"), folder.join("llvm-20/lib")]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
