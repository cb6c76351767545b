//! What is this file? A library is recognised by its functions, and its products are bound.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::matmul::{Describe, Functions, Matmul};
use super::routines::{Cblas, DnnlGemm, Gemm, Gemv, OpenGemm, Routine, Xsmm, XsmmDispatch, dnnl_product};
use super::search::Candidate;
use super::{Family, Numbers, Peer, Product};

/// The products of a library.
pub(super) enum Interface {
    /// One routine for each element type.
    Both(Routine<f32>, Routine<f64>),
    /// Of 32-bit floats, and of short numbers where its version is known.
    Dnnl(DnnlGemm, Option<Box<Matmul>>),
    /// Kernels that are made for each size.
    Xsmm(Xsmm<f32>, Xsmm<f64>),
}

impl Interface {
    /// Whether it has products of these elements, of whatever extents.
    pub fn knows(&self, numbers: Numbers) -> bool {
        match (self, numbers) {
            (Interface::Both(..) | Interface::Xsmm(..), Numbers::F32 | Numbers::F64) => true,
            (Interface::Dnnl(..), Numbers::F32) => true,
            (Interface::Dnnl(..), Numbers::F64) => false,
            (Interface::Dnnl(_, matmul), Numbers::Bf16 | Numbers::U8I8 | Numbers::I8I8) => matmul.is_some(),
            (Interface::Both(..) | Interface::Xsmm(..), Numbers::Bf16 | Numbers::U8I8 | Numbers::I8I8) => false,
        }
    }

    /// The largest size that its integers hold.
    pub fn largest(&self) -> usize {
        match self {
            Interface::Both(Routine::Cblas32(_), _) | Interface::Xsmm(..) => c_int::MAX as usize,
            Interface::Both(Routine::Cblas64(_) | Routine::Open(..), _) | Interface::Dnnl(..) => i64::MAX as usize,
        }
    }

    /// Whether it computes a product of these extents, of elements that it knows.
    pub fn has(&self, numbers: Numbers, p: &Product) -> bool {
        match (self, numbers) {
            (Interface::Dnnl(_, Some(matmul)), Numbers::Bf16 | Numbers::U8I8 | Numbers::I8I8) => matmul.has(numbers, p),
            (Interface::Both(..) | Interface::Dnnl(..), _) => true,
            (Interface::Xsmm(made, _), Numbers::F32) => made.kernel(p).is_some(),
            (Interface::Xsmm(_, made), Numbers::F64) => made.kernel(p).is_some(),
            (Interface::Xsmm(..), Numbers::Bf16 | Numbers::U8I8 | Numbers::I8I8) => false,
        }
    }

    pub fn single(&self, p: &Product, a: &[f32], b: &[f32], c: &mut [f32]) {
        match self {
            Interface::Both(routine, _) => routine.product(p, a, b, c),
            Interface::Dnnl(f, _) => dnnl_product(*f, p, a, b, c),
            Interface::Xsmm(made, _) => made.product(p, a, b, c),
        }
    }

    pub fn double(&self, p: &Product, a: &[f64], b: &[f64], c: &mut [f64]) {
        match self {
            Interface::Both(_, routine) => routine.product(p, a, b, c),
            Interface::Xsmm(_, made) => made.product(p, a, b, c),
            Interface::Dnnl(..) => panic!("oneDNN has no product of 64-bit floats"),
        }
    }

    /// A product of short numbers, whose elements have the types of `numbers`.
    pub fn short<A, B, C>(&self, numbers: Numbers, p: &Product, a: &[A], b: &[B], c: &mut [C]) {
        p.check(a.len(), b.len(), c.len());
        let Interface::Dnnl(_, Some(matmul)) = self else { panic!("this library has no product of short numbers") };
        let addresses = [a.as_ptr().cast_mut().cast(), b.as_ptr().cast_mut().cast(), c.as_mut_ptr().cast()];
        // SAFETY: the slices cover the matrices by the check; the first two are only read, the third is borrowed.
        unsafe { matmul.product(numbers, p, addresses) };
    }
}

/// Loads a file and says which peers it holds.
pub(super) fn bind(candidate: &Candidate, threads: usize) -> Result<Vec<Peer>, String> {
    // SAFETY: loading runs the library's constructors; it has the name of a known library, or the user listed it.
    let library = unsafe { Library::open(Some(&candidate.path), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|error| format!("cannot be loaded: {error}"))?;
    let symbols = Symbols { library: &library };
    // SAFETY: where a library has the functions that only one family has, all its functions have that family's types.
    let peers = unsafe {
        if symbols.has("dnnl_version") {
            onednn(&symbols, threads).map(|p| vec![p])
        } else if symbols.has("MKL_Get_Version") {
            mkl(&symbols, threads).map(|p| vec![p])
        } else if symbols.has("bli_info_get_version_str") {
            blis(&symbols, threads).map(|p| vec![p])
        } else if symbols.has("libxsmm_smmdispatch") {
            xsmm(&symbols).map(|p| vec![p])
        } else if symbols.has("cachet_peer_count") {
            open(&symbols, threads)
        } else {
            openblas(&symbols, threads).map(|p| vec![p])
        }
    }?;
    // These libraries start threads of their own, so they cannot be unloaded: the handle is given up.
    std::mem::forget(library);
    let place = |mut peer: Peer| {
        peer.path = candidate.path.clone();
        peer.origin = candidate.origin.clone();
        peer
    };
    Ok(peers.into_iter().map(place).collect())
}

fn peer(family: Family, version: String, code_path: String, build: String, threads: usize, i: Interface) -> Peer {
    let name = format!("{} {version}", family.name());
    let (path, origin) = (std::path::PathBuf::new(), String::new());
    Peer { family, name, version, code_path, build, path, origin, threads, interface: i }
}

/// # Safety
/// The library is an OpenBLAS if it has that library's functions.
unsafe fn openblas(s: &Symbols<'_>, threads: usize) -> Result<Peer, String> {
    type Text = unsafe extern "C" fn() -> *const c_char;
    type Number = unsafe extern "C" fn() -> c_int;
    type SetThreads = unsafe extern "C" fn(c_int);
    // SAFETY: by the contract, these are OpenBLAS's functions; strings belong to the library, which stays loaded.
    unsafe {
        let (config, affixes) = s.find::<Text>("openblas_get_config").ok_or(UNKNOWN)?;
        let config = text_of(config());
        let core = text_of(s.with::<Text>("openblas_get_corename", affixes)?());
        s.with::<SetThreads>("openblas_set_num_threads", affixes)?(count(threads));
        let threads = s.with::<Number>("openblas_get_num_threads", affixes)?();
        let wide = config.contains("USE64BITINT");
        let version = config.split_whitespace().nth(1).unwrap_or("?").to_owned();
        let threading = match s.with::<Number>("openblas_get_parallel", affixes).map(|f| f()) {
            Ok(0) => "serial",
            Ok(2) => "OpenMP",
            Ok(_) => "pthreads",
            Err(_) => "",
        };
        let build = format!("{threading}{}", if wide { " 64-bit integers" } else { "" });
        let interface = if wide {
            Interface::Both(Routine::Cblas64(s.cblas('s', affixes)?), Routine::Cblas64(s.cblas('d', affixes)?))
        } else {
            Interface::Both(Routine::Cblas32(s.cblas('s', affixes)?), Routine::Cblas32(s.cblas('d', affixes)?))
        };
        Ok(peer(Family::OpenBlas, version, core, build.trim().to_owned(), threads.max(1) as usize, interface))
    }
}

/// # Safety
/// The library is a BLIS.
unsafe fn blis(s: &Symbols<'_>, threads: usize) -> Result<Peer, String> {
    type Text = unsafe extern "C" fn() -> *const c_char;
    type Number = unsafe extern "C" fn() -> isize;
    // SAFETY: by the contract, these are BLIS's functions, its `gint_t` as wide as a pointer.
    unsafe {
        let version = text_of(s.plain::<Text>("bli_info_get_version_str")?());
        let arch = s.plain::<unsafe extern "C" fn() -> c_int>("bli_arch_query_id")?();
        let code = text_of(s.plain::<unsafe extern "C" fn(c_int) -> *const c_char>("bli_arch_string")?(arch));
        s.plain::<unsafe extern "C" fn(isize)>("bli_thread_set_num_threads")?(threads as isize);
        let parallel = s.plain::<Number>("bli_info_get_enable_threading").is_ok_and(|f| f() != 0);
        let wide = s.plain::<Number>("bli_info_get_blas_int_type_size").is_ok_and(|f| f() == 64);
        let build = if parallel { "threaded" } else { "serial" };
        let interface = if wide {
            Interface::Both(Routine::Cblas64(s.cblas('s', PLAIN)?), Routine::Cblas64(s.cblas('d', PLAIN)?))
        } else {
            Interface::Both(Routine::Cblas32(s.cblas('s', PLAIN)?), Routine::Cblas32(s.cblas('d', PLAIN)?))
        };
        let threads = if parallel { threads } else { 1 };
        Ok(peer(Family::Blis, version, code, build.to_owned(), threads, interface))
    }
}

/// # Safety
/// The library is a oneDNN.
unsafe fn onednn(s: &Symbols<'_>, threads: usize) -> Result<Peer, String> {
    /// The start of `dnnl_version_t`, whose later fields differ between versions.
    #[repr(C)]
    struct Version {
        major: c_int,
        minor: c_int,
        patch: c_int,
        hash: *const c_char,
        cpu_runtime: c_uint,
    }
    const SEQUENTIAL: c_uint = 1;
    const OPENMP: c_uint = 2;
    // SAFETY: by the contract, these are oneDNN's functions; it gives a version that stays where it is. The search for
    // a symbol goes on in the libraries that oneDNN needs, where the OpenMP that it uses is.
    unsafe {
        let version = s.plain::<unsafe extern "C" fn() -> *const Version>("dnnl_version")?().as_ref();
        let version = version.ok_or("does not tell its version")?;
        let (build, threads) = match version.cpu_runtime {
            SEQUENTIAL => ("serial", 1),
            OPENMP => {
                s.plain::<unsafe extern "C" fn(c_int)>("omp_set_num_threads")?(count(threads));
                ("OpenMP", threads)
            }
            _ => return Err("runs on threads whose number cannot be set from outside".to_owned()),
        };
        let isa = s.plain::<unsafe extern "C" fn() -> c_int>("dnnl_get_effective_cpu_isa").map(|f| f());
        let code = isa.map_or("unknown".to_owned(), |isa| dnnl_isa(version.major, isa));
        let number = format!("{}.{}.{}", version.major, version.minor, version.patch);
        let interface = Interface::Dnnl(s.plain("dnnl_sgemm")?, matmul(s).map(Box::new));
        Ok(peer(Family::OneDnn, number, code, build.to_owned(), threads, interface))
    }
}

/// Its primitive for products, by the interface that it has.
///
/// # Safety
/// The library is a oneDNN.
unsafe fn matmul(s: &Symbols<'_>) -> Option<Matmul> {
    // SAFETY: by the contract; each name has one type in the versions that have it.
    unsafe {
        let describe = if s.has("dnnl_matmul_desc_init") {
            let shape = s.plain("dnnl_memory_desc_init_by_strides").ok()?;
            let (wish, choose) = (s.plain("dnnl_matmul_desc_init").ok()?, s.plain("dnnl_primitive_desc_create").ok()?);
            Describe::InPlace(shape, wish, choose)
        } else {
            let shape = s.plain("dnnl_memory_desc_create_with_strides").ok()?;
            let choose = s.plain("dnnl_matmul_primitive_desc_create").ok()?;
            Describe::Apart(shape, choose, s.plain("dnnl_memory_desc_destroy").ok()?)
        };
        let functions = Functions {
            describe,
            primitive: s.plain("dnnl_primitive_create").ok()?,
            memory: s.plain("dnnl_memory_create").ok()?,
            set_address: s.plain("dnnl_memory_set_data_handle").ok()?,
            execute: s.plain("dnnl_primitive_execute").ok()?,
            wait: s.plain("dnnl_stream_wait").ok()?,
            end_description: s.plain("dnnl_primitive_desc_destroy").ok()?,
            end_primitive: s.plain("dnnl_primitive_destroy").ok()?,
            end_memory: s.plain("dnnl_memory_destroy").ok()?,
        };
        Matmul::new(functions, s.plain("dnnl_engine_create").ok()?, s.plain("dnnl_stream_create").ok()?)
    }
}

/// The names of `dnnl_cpu_isa_t`; two of them have other values since version 3.
fn dnnl_isa(major: c_int, isa: c_int) -> String {
    let known = [
        (0x1, "sse41"),
        (0x3, "avx"),
        (0x7, "avx2"),
        (0xf, if major < 3 { "avx512_mic" } else { "avx2_vnni" }),
        (0x1f, if major < 3 { "avx512_mic_4ops" } else { "avx2_vnni_2" }),
        (0x27, "avx512_core"),
        (0x67, "avx512_core_vnni"),
        (0xe7, "avx512_core_bf16"),
        (0x1ef, "avx512_core_fp16"),
        (0x3e7, "avx512_core_amx"),
        (0xfef, "avx512_core_amx"),
        (0x1fef, "avx512_core_amx_fp16"),
    ];
    known
        .iter()
        .find(|(value, _)| *value == isa)
        .map_or_else(|| format!("isa {isa:#x}"), |(_, name)| (*name).to_owned())
}

/// # Safety
/// The library is the run-time interface of MKL.
unsafe fn mkl(s: &Symbols<'_>, threads: usize) -> Result<Peer, String> {
    /// `MKLVersion`.
    #[repr(C)]
    struct Version {
        major: c_int,
        minor: c_int,
        update: c_int,
        status: *const c_char,
        build: *const c_char,
        processor: *const c_char,
        platform: *const c_char,
    }
    const INTEGERS_OF_32_BITS: c_int = 0;
    const SEQUENTIAL: c_int = 1;
    const GNU_OPENMP: c_int = 3;
    type Choose = unsafe extern "C" fn(c_int) -> c_int;
    // SAFETY: by the contract, these are MKL's functions. Both layers are chosen before any other call, as it wants.
    unsafe {
        s.plain::<Choose>("MKL_Set_Interface_Layer")?(INTEGERS_OF_32_BITS);
        let layer = if threads == 1 { SEQUENTIAL } else { GNU_OPENMP };
        s.plain::<Choose>("MKL_Set_Threading_Layer")?(layer);
        s.plain::<unsafe extern "C" fn(c_int)>("MKL_Set_Num_Threads")?(count(threads));
        let threads = s.plain::<unsafe extern "C" fn() -> c_int>("MKL_Get_Max_Threads")?().max(1) as usize;
        let mut version: Version = std::mem::zeroed();
        s.plain::<unsafe extern "C" fn(*mut c_void)>("MKL_Get_Version")?((&raw mut version).cast());
        let number = format!("{}.{}.{}", version.major, version.minor, version.update);
        let build = if threads == 1 { "sequential" } else { "GNU OpenMP" };
        let interface = Interface::Both(Routine::Cblas32(s.cblas('s', PLAIN)?), Routine::Cblas32(s.cblas('d', PLAIN)?));
        Ok(peer(Family::Mkl, number, text_of(version.processor), build.to_owned(), threads, interface))
    }
}

/// # Safety
/// The library is a libxsmm.
unsafe fn xsmm(s: &Symbols<'_>) -> Result<Peer, String> {
    // SAFETY: by the contract, these are libxsmm's functions; strings belong to the library, which stays loaded.
    unsafe {
        s.plain::<unsafe extern "C" fn()>("libxsmm_init")?();
        let code = text_of(s.plain::<unsafe extern "C" fn() -> *const c_char>("libxsmm_get_target_arch")?());
        let single = Xsmm { dispatch: s.plain::<XsmmDispatch<f32>>("libxsmm_smmdispatch")?, last: Cell::new(None) };
        let double = Xsmm { dispatch: s.plain::<XsmmDispatch<f64>>("libxsmm_dmmdispatch")?, last: Cell::new(None) };
        let interface = Interface::Xsmm(single, double);
        // It does not tell its version, and its kernels run on the thread that calls them.
        let mut p = peer(Family::Xsmm, "unknown".to_owned(), code, "serial".to_owned(), 1, interface);
        p.name = Family::Xsmm.name().to_owned();
        Ok(p)
    }
}

/// # Safety
/// The library has the interface of `benches/README.md`.
unsafe fn open(s: &Symbols<'_>, threads: usize) -> Result<Vec<Peer>, String> {
    type Text = unsafe extern "C" fn(i64) -> *const c_char;
    // SAFETY: by the contract; strings belong to the library, which stays loaded.
    unsafe {
        let count = s.plain::<unsafe extern "C" fn() -> i64>("cachet_peer_count")?();
        let (name, version) = (s.plain::<Text>("cachet_peer_name")?, s.plain::<Text>("cachet_peer_version")?);
        let path = s.plain::<Text>("cachet_peer_code_path")?;
        let set = s.plain::<unsafe extern "C" fn(i64, i64) -> i64>("cachet_peer_set_threads")?;
        let single = s.plain::<OpenGemm<f32>>("cachet_peer_sgemm")?;
        let double = s.plain::<OpenGemm<f64>>("cachet_peer_dgemm")?;
        let contender = |at: i64| {
            let threads = set(at, threads as i64).max(1) as usize;
            let interface = Interface::Both(Routine::Open(single, at), Routine::Open(double, at));
            let version = text_of(version(at));
            let mut p = peer(Family::Open, version.clone(), text_of(path(at)), String::new(), threads, interface);
            p.name = format!("{} {version}", text_of(name(at)));
            p
        };
        Ok((0..count).map(contender).collect())
    }
}

const UNKNOWN: &str = "has the functions of no library that is known here";

/// What stands before and behind a function's name.
type Affixes = (&'static str, &'static str);
const PLAIN: Affixes = ("", "");
const AFFIXES: [Affixes; 6] = [("scipy_", ""), ("scipy_", "64_"), PLAIN, ("", "64_"), ("", "_64"), ("", "_64_")];

struct Symbols<'a> {
    library: &'a Library,
}

impl Symbols<'_> {
    fn has(&self, name: &str) -> bool {
        // SAFETY: the address is not used.
        unsafe { self.library.get::<*const c_void>(name.as_bytes()) }.is_ok()
    }

    /// A function with any of the affixes, and which it has.
    ///
    /// # Safety
    /// The function of this name has type `F`, a function pointer.
    unsafe fn find<F: Copy>(&self, name: &str) -> Option<(F, Affixes)> {
        // SAFETY: by the contract of this function.
        AFFIXES.into_iter().find_map(|affixes| Some((unsafe { self.with::<F>(name, affixes) }.ok()?, affixes)))
    }

    /// # Safety
    /// As [`Symbols::find`].
    unsafe fn with<F: Copy>(&self, name: &str, (before, behind): Affixes) -> Result<F, String> {
        // SAFETY: by the contract of this function.
        let found = unsafe { self.library.get::<F>(format!("{before}{name}{behind}").as_bytes()) };
        found.map(|f| *f).map_err(|_| format!("lacks the function `{before}{name}{behind}`"))
    }

    /// # Safety
    /// As [`Symbols::find`].
    unsafe fn plain<F: Copy>(&self, name: &str) -> Result<F, String> {
        // SAFETY: by the contract of this function.
        unsafe { self.with(name, PLAIN) }
    }

    /// # Safety
    /// The library's functions of CBLAS have integers `I`, and those of this letter elements `T`.
    unsafe fn cblas<I: Copy, T: Copy>(&self, letter: char, affixes: Affixes) -> Result<Cblas<I, T>, String> {
        // SAFETY: by the contract of this function.
        unsafe {
            Ok(Cblas {
                gemm: self.with::<Gemm<I, T>>(&format!("cblas_{letter}gemm"), affixes)?,
                gemv: self.with::<Gemv<I, T>>(&format!("cblas_{letter}gemv"), affixes)?,
            })
        }
    }
}

fn count(threads: usize) -> c_int {
    c_int::try_from(threads.max(1)).unwrap_or(c_int::MAX)
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
