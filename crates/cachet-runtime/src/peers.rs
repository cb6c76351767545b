//! Named libraries to compare with, loaded at run time: OpenBLAS.
//!
//! Looked for in `CACHET_OPENBLAS`, the Python package `scipy-openblas32`, and the system's folders. Some machines set
//! `OPENBLAS_CORETYPE` and `OPENBLAS_L2_SIZE`, which make the library run kernels for another processor. It reads them
//! when it is loaded, so a benchmark calls [`clear_openblas_environment`] first thing in `main`, before any thread
//! exists, and reports [`OpenBlas::core_name`], the kernel the library then runs.

use std::ffi::{CStr, OsString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::error::{ToolError, ToolErrorKind};
use crate::llvm::expand;

/// The variables that choose OpenBLAS's kernel and block sizes against its own judgement.
const FORCING: [&str; 2] = ["OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"];

/// Where OpenBLAS is looked for.
#[derive(Clone, Debug)]
pub struct OpenBlasSearch {
    /// `CACHET_OPENBLAS`: a library file. Decides alone.
    pub named: Option<OsString>,
    /// Whether to ask `python3` and to look into the usual package folders.
    pub ask_python: bool,
    /// Files of distributions and package managers.
    pub files: Vec<PathBuf>,
}

impl OpenBlasSearch {
    /// The places of this process.
    pub fn of_process() -> OpenBlasSearch {
        OpenBlasSearch {
            named: std::env::var_os("CACHET_OPENBLAS").filter(|value| !value.is_empty()),
            ask_python: true,
            files: SYSTEM_FILES.iter().map(PathBuf::from).collect(),
        }
    }
}

const SYSTEM_FILES: [&str; 8] = [
    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "/usr/lib/x86_64-linux-gnu/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/libopenblas.so.0",
    "/usr/lib64/libopenblas.so.0",
    "/usr/lib/libopenblas.so",
    "/opt/homebrew/opt/openblas/lib/libopenblas.dylib",
    "/usr/local/opt/openblas/lib/libopenblas.dylib",
];

const PACKAGE_FOLDERS: [&str; 4] = [
    ".local/lib/python3*/site-packages",
    ".pyenv/versions/3*/lib/python3*/site-packages",
    ".venv/lib/python3*/site-packages",
    "venv/lib/python3*/site-packages",
];

type SetThreads = unsafe extern "C" fn(c_int);
type GetText = unsafe extern "C" fn() -> *const c_char;
type Gemm<T> = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    T,
    *const T,
    c_int,
    *const T,
    c_int,
    T,
    *mut T,
    c_int,
);
type Gemv<T> = unsafe extern "C" fn(c_int, c_int, c_int, c_int, T, *const T, c_int, *const T, c_int, T, *mut T, c_int);

/// A loaded OpenBLAS, set to one thread.
pub struct OpenBlas {
    path: PathBuf,
    origin: String,
    forced: Vec<String>,
    set_threads: SetThreads,
    config: String,
    core_name: GetText,
    sgemm: Gemm<f32>,
    dgemm: Gemm<f64>,
    sgemv: Gemv<f32>,
    dgemv: Gemv<f64>,
}

/// What a search for OpenBLAS found, for `doctor`.
#[derive(Clone, Debug)]
pub struct OpenBlasReport {
    /// The library file.
    pub path: Option<PathBuf>,
    /// Why it was looked for there.
    pub origin: Option<String>,
    /// Its own description of its version and build.
    pub config: Option<String>,
    /// The kernel it runs.
    pub core_name: Option<String>,
    /// Variables that were set when it was loaded and choose its kernel.
    pub forced: Vec<String>,
    /// Why it cannot be used, with the command that fixes it.
    pub problem: Option<ToolError>,
}

/// Looks for OpenBLAS and says what was found.
pub fn report_openblas(search: &OpenBlasSearch) -> OpenBlasReport {
    match OpenBlas::load_from(search) {
        Ok(library) => OpenBlasReport {
            path: Some(library.path.clone()),
            origin: Some(library.origin.clone()),
            config: Some(library.config.clone()),
            core_name: Some(library.core_name()),
            forced: library.forced.clone(),
            problem: None,
        },
        Err(problem) => OpenBlasReport {
            path: None,
            origin: None,
            config: None,
            core_name: None,
            forced: Vec::new(),
            problem: Some(problem),
        },
    }
}

/// Removes the variables that slow OpenBLAS down from this process's environment, and returns those that were set.
///
/// To be called first thing in `main`: the environment may only be changed while the process has one thread, which is
/// checked. Where it cannot be checked (no `/proc`), variables that are set are an error that names the command to use.
pub fn clear_openblas_environment() -> Result<Vec<String>, ToolError> {
    let set: Vec<String> = forcing_variables();
    if set.is_empty() {
        return Ok(Vec::new());
    }
    let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count).unwrap_or(0);
    if threads != 1 {
        let text = "OPENBLAS variables are set and this process cannot safely change its environment";
        let unset: Vec<String> = set.iter().map(|variable| format!("-u {}", name_of(variable))).collect();
        return Err(ToolError::new(ToolErrorKind::Misuse, text)
            .with_detail(set.join("\n"))
            .with_fix(format!("start the program with `env {} …`", unset.join(" "))));
    }
    for variable in FORCING {
        // SAFETY: the process has exactly one thread, this one, so nobody reads the environment meanwhile.
        unsafe { std::env::remove_var(variable) };
    }
    Ok(set)
}

fn forcing_variables() -> Vec<String> {
    FORCING.iter().filter_map(|name| Some(format!("{name}={}", std::env::var_os(name)?.to_string_lossy()))).collect()
}

fn name_of(variable: &str) -> &str {
    variable.split_once('=').map_or(variable, |(name, _)| name)
}

impl OpenBlas {
    /// Finds and loads the library in the places of this process.
    pub fn load() -> Result<OpenBlas, ToolError> {
        OpenBlas::load_from(&OpenBlasSearch::of_process())
    }

    /// Finds and loads the library in the given places.
    pub fn load_from(search: &OpenBlasSearch) -> Result<OpenBlas, ToolError> {
        let mut tried = Vec::new();
        for (path, origin) in candidates(search) {
            match bind(&path, &origin) {
                Ok(library) => return Ok(library),
                Err(outcome) => tried.push(format!("  {}: {outcome} ({origin})", path.display())),
            }
        }
        let message = match &search.named {
            Some(named) => format!("CACHET_OPENBLAS is `{}`, which is no usable OpenBLAS", Path::new(named).display()),
            None => "OpenBLAS was not found".to_owned(),
        };
        let error = ToolError::new(ToolErrorKind::Missing, message).with_fix(install_line());
        Err(if tried.is_empty() { error } else { error.with_detail(format!("tried:\n{}", tried.join("\n"))) })
    }

    /// The library file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why it was looked for there.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Its own description: version, build options.
    pub fn config(&self) -> &str {
        &self.config
    }

    /// Variables, as `NAME=value`, that were set when it was loaded and choose its kernel.
    pub fn forced(&self) -> &[String] {
        &self.forced
    }

    /// The processor whose kernels it runs.
    pub fn core_name(&self) -> String {
        // SAFETY: no arguments; the string belongs to the library, which is never unloaded.
        unsafe { text_of((self.core_name)()) }
    }

    /// Sets how many threads it uses from now on.
    pub fn set_threads(&self, threads: usize) {
        let threads = c_int::try_from(threads.max(1)).unwrap_or(c_int::MAX);
        // SAFETY: any positive number is allowed.
        unsafe { (self.set_threads)(threads) };
    }

    /// `C ← alpha · A · B + beta · C` with row-major `A[m, k]`, `B[k, n]`, `C[m, n]`, 32-bit.
    #[expect(clippy::too_many_arguments, reason = "the shape of BLAS")]
    pub fn sgemm(&self, m: usize, n: usize, k: usize, alpha: f32, a: &[f32], b: &[f32], beta: f32, c: &mut [f32]) {
        gemm(self.sgemm, (m, n, k), (alpha, beta), a, b, c);
    }

    /// As [`OpenBlas::sgemm`], 64-bit.
    #[expect(clippy::too_many_arguments, reason = "the shape of BLAS")]
    pub fn dgemm(&self, m: usize, n: usize, k: usize, alpha: f64, a: &[f64], b: &[f64], beta: f64, c: &mut [f64]) {
        gemm(self.dgemm, (m, n, k), (alpha, beta), a, b, c);
    }

    /// `y ← alpha · A · x + beta · y` with row-major `A[m, n]`, 32-bit.
    #[expect(clippy::too_many_arguments, reason = "the shape of BLAS")]
    pub fn sgemv(&self, m: usize, n: usize, alpha: f32, a: &[f32], x: &[f32], beta: f32, y: &mut [f32]) {
        gemv(self.sgemv, (m, n), (alpha, beta), a, x, y);
    }

    /// As [`OpenBlas::sgemv`], 64-bit.
    #[expect(clippy::too_many_arguments, reason = "the shape of BLAS")]
    pub fn dgemv(&self, m: usize, n: usize, alpha: f64, a: &[f64], x: &[f64], beta: f64, y: &mut [f64]) {
        gemv(self.dgemv, (m, n), (alpha, beta), a, x, y);
    }
}

impl std::fmt::Debug for OpenBlas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenBlas").field("path", &self.path).field("config", &self.config).finish_non_exhaustive()
    }
}

/// `CblasRowMajor`, `CblasNoTrans`.
const ROW_MAJOR: c_int = 101;
const AS_IT_IS: c_int = 111;

fn gemm<T: Copy>(
    function: Gemm<T>,
    (m, n, k): (usize, usize, usize),
    (alpha, beta): (T, T),
    a: &[T],
    b: &[T],
    c: &mut [T],
) {
    check_extent("A", a.len(), m, k);
    check_extent("B", b.len(), k, n);
    check_extent("C", c.len(), m, n);
    let (lda, ldb, ldc) = (int(k.max(1)), int(n.max(1)), int(n.max(1)));
    // SAFETY: the library has this function with this type; the slices cover the matrices by the checks above, and
    // the borrows keep the written one apart from the read ones.
    unsafe {
        function(
            ROW_MAJOR,
            AS_IT_IS,
            AS_IT_IS,
            int(m),
            int(n),
            int(k),
            alpha,
            a.as_ptr(),
            lda,
            b.as_ptr(),
            ldb,
            beta,
            c.as_mut_ptr(),
            ldc,
        );
    }
}

fn gemv<T: Copy>(function: Gemv<T>, (m, n): (usize, usize), (alpha, beta): (T, T), a: &[T], x: &[T], y: &mut [T]) {
    check_extent("A", a.len(), m, n);
    check_extent("x", x.len(), 1, n);
    check_extent("y", y.len(), 1, m);
    let lda = int(n.max(1));
    // SAFETY: as in `gemm`.
    unsafe {
        function(ROW_MAJOR, AS_IT_IS, int(m), int(n), alpha, a.as_ptr(), lda, x.as_ptr(), 1, beta, y.as_mut_ptr(), 1);
    }
}

fn check_extent(name: &str, len: usize, rows: usize, columns: usize) {
    let needed = rows.checked_mul(columns);
    assert!(needed.is_some_and(|needed| needed <= len), "{name} holds {len} elements, not {rows} x {columns}");
}

fn int(size: usize) -> c_int {
    c_int::try_from(size).expect("OpenBLAS with 32-bit integers takes sizes below 2^31")
}

fn candidates(search: &OpenBlasSearch) -> Vec<(PathBuf, String)> {
    if let Some(named) = &search.named {
        return vec![(PathBuf::from(named), "CACHET_OPENBLAS".to_owned())];
    }
    let mut found = Vec::new();
    if search.ask_python {
        let folders = python_folder().into_iter().chain(package_folders());
        for folder in folders {
            for file in expand(&folder.join("libscipy_openblas*")) {
                found.push((file, "the Python package scipy-openblas32".to_owned()));
            }
        }
    }
    let files = search.files.iter().filter(|file| file.exists());
    found.extend(files.map(|file| (file.clone(), "a system folder".to_owned())));
    found
}

fn python_folder() -> Option<PathBuf> {
    let question = "import scipy_openblas32; print(scipy_openblas32.get_lib_dir())";
    let output = Command::new("python3").args(["-c", question]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(PathBuf::from(text.trim()))
}

fn package_folders() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    if let Some(home) = std::env::var_os("HOME") {
        roots.extend(PACKAGE_FOLDERS.iter().map(|folder| Path::new(&home).join(folder)));
    }
    if let Some(environment) = std::env::var_os("VIRTUAL_ENV") {
        roots.push(Path::new(&environment).join("lib/python3*/site-packages"));
    }
    roots.push(PathBuf::from("/usr/local/lib/python3*/dist-packages"));
    roots.push(PathBuf::from("/usr/local/lib/python3*/site-packages"));
    roots.iter().flat_map(|root| expand(&root.join("scipy_openblas32/lib"))).collect()
}

fn bind(path: &Path, origin: &str) -> Result<OpenBlas, String> {
    let forced = forcing_variables();
    // SAFETY: loading runs the library's constructors; it is an OpenBLAS by its name, or one the user named.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|error| format!("cannot be loaded: {error}"))?;
    // SAFETY: where an OpenBLAS with 32-bit integers has these names, they have these types.
    let library = unsafe {
        let found = Symbols { library: &library };
        OpenBlas {
            path: path.to_path_buf(),
            origin: origin.to_owned(),
            forced,
            set_threads: found.get("openblas_set_num_threads")?,
            config: text_of((found.get::<GetText>("openblas_get_config")?)()),
            core_name: found.get("openblas_get_corename")?,
            sgemm: found.get("cblas_sgemm")?,
            dgemm: found.get("cblas_dgemm")?,
            sgemv: found.get("cblas_sgemv")?,
            dgemv: found.get("cblas_dgemv")?,
        }
        .keep(library)
    };
    if library.config.contains("USE64BITINT") {
        return Err("is built with 64-bit integers; the interface with 32-bit integers is needed".to_owned());
    }
    library.set_threads(1);
    Ok(library)
}

impl OpenBlas {
    /// OpenBLAS starts threads of its own, so it cannot be unloaded: the handle is given up.
    fn keep(self, library: Library) -> OpenBlas {
        std::mem::forget(library);
        self
    }
}

struct Symbols<'a> {
    library: &'a Library,
}

impl Symbols<'_> {
    /// A function, with the prefix of the Python package or without.
    ///
    /// # Safety
    /// The function of this name has type `F`, a function pointer.
    unsafe fn get<F: Copy>(&self, name: &str) -> Result<F, String> {
        for prefix in ["scipy_", ""] {
            // SAFETY: by the contract of this function.
            if let Ok(function) = unsafe { self.library.get::<F>(format!("{prefix}{name}").as_bytes()) } {
                return Ok(*function);
            }
        }
        Err(format!("lacks the function `{name}`"))
    }
}

/// # Safety
/// `text` is null or a C string.
unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the contract of this function.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn install_line() -> &'static str {
    if cfg!(target_os = "macos") {
        "run `pip install scipy-openblas32`, or `brew install openblas`"
    } else {
        "run `pip install scipy-openblas32`, or `apt-get install libopenblas0-pthread`"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_nothing_names_the_install_lines() {
        let search = OpenBlasSearch { named: None, ask_python: false, files: Vec::new() };
        let error = OpenBlas::load_from(&search).unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Missing);
        assert!(error.fix.unwrap().contains("pip install scipy-openblas32"));
        assert!(report_openblas(&search).problem.is_some());
    }

    #[test]
    fn a_wrong_variable_decides_alone() {
        let search = OpenBlasSearch { named: Some("/nonsense/libopenblas.so".into()), ..OpenBlasSearch::of_process() };
        let error = OpenBlas::load_from(&search).unwrap_err();
        assert!(error.message.contains("/nonsense/libopenblas.so"), "{error}");
        assert!(error.detail.unwrap().contains("cannot be loaded"));
    }

    #[test]
    #[should_panic(expected = "A holds 3 elements, not 2 x 2")]
    fn short_matrices_are_refused() {
        check_extent("A", 3, 2, 2);
    }
}
