//! Which libraries compute the same, and how is each of them called? Loaded at run time to be measured beside kernels.
//!
//! [`find_peers`] looks in the places of a [`PeerSearch`] and takes what it finds by its functions, whatever the file's
//! name: OpenBLAS in its builds (names with the prefix `scipy_`, with the suffix `64_`, integers of 32 or 64 bits),
//! BLIS, oneDNN, MKL, libxsmm, and any library with the small interface of `benches/README.md`. Each tells its version and the
//! code it runs on this processor, and is told how many threads it may have through its own function; a library that
//! cannot be told is left out.
//!
//! Some machines set `OPENBLAS_CORETYPE` and `OPENBLAS_L2_SIZE`, which make OpenBLAS run kernels for another processor.
//! It reads them when it is loaded, so a benchmark calls [`clear_openblas_environment`] first thing in `main`, before any
//! thread exists, and reports [`Peer::code_path`], the kernels the library then runs.

mod bind;
mod matmul;
mod routines;
mod search;

use std::path::{Path, PathBuf};

use crate::error::{ToolError, ToolErrorKind};
use bind::Interface;
pub use search::PeerSearch;

/// The variables that choose OpenBLAS's kernel and block sizes against its own judgement.
const FORCING: [&str; 2] = ["OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"];

/// Whose library it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// OpenBLAS.
    OpenBlas,
    /// BLIS.
    Blis,
    /// oneDNN.
    OneDnn,
    /// Intel's MKL.
    Mkl,
    /// libxsmm, which makes a kernel for each size.
    Xsmm,
    /// A library with the interface of `benches/README.md`.
    Open,
}

/// `C = A · B`, with `A` of `m × k`, `B` of `k × n`, `C` of `m × n`, all row after row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Rows of `A` and `C`.
    pub m: usize,
    /// Columns of `B` and `C`.
    pub n: usize,
    /// Columns of `A`, rows of `B`.
    pub k: usize,
    /// `A` lies as `k × m`.
    pub a_transposed: bool,
    /// `B` lies as `n × k`.
    pub b_transposed: bool,
    /// `B` and `C` are vectors (`n = 1`): the library's product of a matrix and a vector, where it has one.
    pub vector: bool,
}

/// What the elements of `A`, `B` and `C` are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
    /// `A` and `B` of bf16, as their bits; `C` of 32-bit floats.
    Bf16,
    /// `A` of unsigned bytes, `B` of signed ones, `C` of 32-bit integers.
    U8I8,
    /// `A` and `B` of signed bytes, `C` of 32-bit integers.
    I8I8,
}

/// A library that was found, or one contender of it.
pub struct Peer {
    family: Family,
    name: String,
    version: String,
    code_path: String,
    build: String,
    path: PathBuf,
    origin: String,
    threads: usize,
    interface: Interface,
}

/// Peers, and what was not found.
#[derive(Debug)]
pub struct Peers {
    /// In the order of the search.
    pub found: Vec<Peer>,
    /// Families of which nothing was found, and listed files that could not be used.
    pub absent: Vec<AbsentPeer>,
}

/// What there is no peer of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsentPeer {
    /// The family or the file.
    pub name: String,
    /// `None` for a file.
    pub family: Option<Family>,
    /// Why.
    pub reason: String,
    /// How to get it.
    pub fix: String,
}

/// Looks for peers and sets each to a number of threads. To be called by the thread that will measure: some libraries
/// keep that number for every calling thread.
pub fn find_peers(search: &PeerSearch, threads: usize) -> Peers {
    let mut found: Vec<Peer> = Vec::new();
    let mut absent: Vec<AbsentPeer> = Vec::new();
    let mut tried: Vec<(Family, String)> = Vec::new();
    for candidate in search.candidates() {
        match bind::bind(&candidate, threads) {
            Ok(peers) => found.extend(peers),
            Err(reason) => match candidate.family {
                Some(family) => tried.push((family, format!("{}: {reason}", candidate.path.display()))),
                None => absent.push(AbsentPeer {
                    name: candidate.path.display().to_string(),
                    family: None,
                    reason,
                    fix: "name libraries with a known interface in CACHET_PEERS".to_owned(),
                }),
            },
        }
    }
    for family in Family::ALL.into_iter().filter(|f| !found.iter().any(|p| p.family == *f)) {
        let Some(fix) = family.fix() else { continue };
        let of_family: Vec<&str> = tried.iter().filter(|(f, _)| *f == family).map(|(_, text)| text.as_str()).collect();
        let reason = if of_family.is_empty() { "not found".to_owned() } else { of_family.join("; ") };
        let (name, fix) = (family.name().to_owned(), fix.to_owned());
        absent.push(AbsentPeer { name, family: Some(family), reason, fix });
    }
    name_apart(&mut found);
    Peers { found, absent }
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

impl Family {
    /// Families that are looked for by file name.
    pub(self) const NAMED: [Family; 5] = [Family::OpenBlas, Family::Blis, Family::OneDnn, Family::Mkl, Family::Xsmm];
    /// All of them.
    const ALL: [Family; 6] = [Family::OpenBlas, Family::Blis, Family::OneDnn, Family::Mkl, Family::Xsmm, Family::Open];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Family::OpenBlas => "OpenBLAS",
            Family::Blis => "BLIS",
            Family::OneDnn => "oneDNN",
            Family::Mkl => "MKL",
            Family::Xsmm => "libxsmm",
            Family::Open => "the Rust crates gemm and matrixmultiply",
        }
    }

    /// Whether products of these elements by such libraries are called here.
    pub fn computes(self, numbers: Numbers) -> bool {
        match (self, numbers) {
            (_, Numbers::F32) => true,
            (family, Numbers::F64) => family != Family::OneDnn,
            (family, Numbers::Bf16 | Numbers::U8I8 | Numbers::I8I8) => family == Family::OneDnn,
        }
    }

    /// What its files are called, below a folder of libraries.
    fn file_names(self) -> &'static [&'static str] {
        match self {
            Family::OpenBlas => {
                &["openblas-*/libopenblas.so.0", "libopenblas.so.0", "libopenblas.so", "libopenblas.dylib"]
            }
            Family::Blis => &["blis-*/libblis.so.*", "libblis.so.*", "libblis.so", "libblis.dylib"],
            Family::OneDnn => &["libdnnl.so.2", "libdnnl.so.3", "libdnnl.so", "libdnnl.dylib"],
            Family::Xsmm => &["libxsmm.so*"],
            Family::Mkl => &["libmkl_rt.so.2", "libmkl_rt.so.3", "libmkl_rt.so"],
            Family::Open => &[],
        }
    }

    /// How to get it; `None` where it does not exist for this processor.
    fn fix(self) -> Option<&'static str> {
        match self {
            Family::OpenBlas if cfg!(target_os = "macos") => {
                Some("run `pip install scipy-openblas32`, or `brew install openblas`")
            }
            Family::OpenBlas => Some("run `pip install scipy-openblas32`, or `apt-get install libopenblas0-pthread`"),
            Family::Blis if cfg!(target_os = "macos") => Some("run `brew install blis`"),
            Family::Blis => Some("run `apt-get install libblis4-serial`"),
            Family::OneDnn if cfg!(target_os = "macos") => Some("run `brew install onednn`"),
            Family::OneDnn => Some("run `apt-get install libdnnl2`"),
            Family::Mkl if cfg!(target_arch = "x86_64") => Some("run `pip install mkl`"),
            Family::Mkl => None,
            Family::Xsmm if cfg!(target_arch = "x86_64") => Some(
                "run `apt-get install libxsmm-dev`, make one file of it by `gcc -shared -o libxsmm.so -Wl,--whole-archive \
                 /usr/lib/libxsmm.a /usr/lib/libxsmmnoblas.a -Wl,--no-whole-archive -lm`, and put its path into CACHET_PEERS",
            ),
            Family::Xsmm => None,
            Family::Open => Some(
                "run `cargo build --release --manifest-path benches/peers/Cargo.toml` and put \
                 `benches/peers/target/release/libcachet_peers.so` into CACHET_PEERS",
            ),
        }
    }
}

impl Peer {
    /// Whose it is.
    pub fn family(&self) -> Family {
        self.family
    }

    /// A name that no other peer of the search has: the library, its version, and its build where two would be equal.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The code it runs on this processor.
    pub fn code_path(&self) -> &str {
        &self.code_path
    }

    /// How it was built.
    pub fn build(&self) -> &str {
        &self.build
    }

    /// The library file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why it was looked for there.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// How many threads it has; fewer than were asked for where it has no more.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Why it does not compute a product of these elements, where it does not.
    pub fn lacks(&self, numbers: Numbers, product: &Product) -> Option<String> {
        if !self.interface.knows(numbers) {
            return Some(format!("it has no product of {} that is called here", numbers.name()));
        }
        let largest = product.m.max(product.n).max(product.k);
        if largest > self.interface.largest() {
            return Some(format!("its integers do not hold the size {largest}"));
        }
        let has = self.interface.has(numbers, product);
        (!has).then(|| "it makes no kernel for this product".to_owned())
    }

    /// `C = A · B`, 32-bit.
    ///
    /// # Panics
    /// Where the slices are shorter than the product says, or [`Peer::lacks`] gives a reason.
    pub fn product_f32(&self, product: &Product, a: &[f32], b: &[f32], c: &mut [f32]) {
        self.interface.single(product, a, b, c);
    }

    /// `C = A · B`, 64-bit.
    ///
    /// # Panics
    /// As [`Peer::product_f32`].
    pub fn product_f64(&self, product: &Product, a: &[f64], b: &[f64], c: &mut [f64]) {
        self.interface.double(product, a, b, c);
    }

    /// `C = A · B` of bf16, given as their bits.
    ///
    /// # Panics
    /// As [`Peer::product_f32`].
    pub fn product_bf16(&self, product: &Product, a: &[u16], b: &[u16], c: &mut [f32]) {
        self.interface.short(Numbers::Bf16, product, a, b, c);
    }

    /// `C = A · B` of unsigned and signed bytes.
    ///
    /// # Panics
    /// As [`Peer::product_f32`].
    pub fn product_u8i8(&self, product: &Product, a: &[u8], b: &[i8], c: &mut [i32]) {
        self.interface.short(Numbers::U8I8, product, a, b, c);
    }

    /// `C = A · B` of signed bytes.
    ///
    /// # Panics
    /// As [`Peer::product_f32`].
    pub fn product_i8i8(&self, product: &Product, a: &[i8], b: &[i8], c: &mut [i32]) {
        self.interface.short(Numbers::I8I8, product, a, b, c);
    }
}

impl Numbers {
    /// Its name in a message.
    fn name(self) -> &'static str {
        match self {
            Numbers::F32 => "32-bit floats",
            Numbers::F64 => "64-bit floats",
            Numbers::Bf16 => "bf16",
            Numbers::U8I8 => "unsigned and signed bytes",
            Numbers::I8I8 => "signed bytes",
        }
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("name", &self.name).field("path", &self.path).finish_non_exhaustive()
    }
}

impl Product {
    fn check(&self, a: usize, b: usize, c: usize) {
        for (name, len, rows, columns) in [("A", a, self.m, self.k), ("B", b, self.k, self.n), ("C", c, self.m, self.n)]
        {
            let needed = rows.checked_mul(columns);
            assert!(needed.is_some_and(|needed| needed <= len), "{name} holds {len} elements, not {rows} x {columns}");
        }
        assert!(!self.vector || self.n == 1, "a vector has one column");
    }
}

/// Adds to names that occur twice how the library was built, then where it lies.
fn name_apart(peers: &mut [Peer]) {
    let more: [fn(&Peer) -> String; 2] = [|p| p.build.clone(), |p| p.path.display().to_string()];
    for of in more {
        let names: Vec<String> = peers.iter().map(|p| p.name.clone()).collect();
        for peer in peers.iter_mut().filter(|p| names.iter().filter(|n| **n == p.name).count() > 1) {
            let more = of(peer);
            if !more.is_empty() {
                peer.name = format!("{} {more}", peer.name);
            }
        }
    }
}
