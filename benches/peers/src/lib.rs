//! Rust crates as peers of `cachetc bench`: the C interface that it asks of a library that it does not know.
//!
//! Every function takes the number of a contender. A product writes `C` row after row; element `(i, k)` of `A` lies at
//! `a[i * row_a + k * column_a]`, and the same for `B`. It gives 0 when it was computed.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A contender.
struct Contender {
    name: &'static CStr,
    version: &'static str,
    path: fn() -> &'static CStr,
    most_threads: usize,
    single: Product<f32>,
    double: Product<f64>,
}

/// `m, n, k`; `A` with its strides; `B` with its strides; `C`.
type Product<T> = unsafe fn([usize; 3], Matrix<T>, Matrix<T>, *mut T);

/// A matrix that is read, with the distances between its rows and between its columns.
#[derive(Clone, Copy)]
struct Matrix<T> {
    start: *const T,
    row: isize,
    column: isize,
}

const CONTENDERS: [Contender; 2] = [
    Contender {
        name: c"gemm",
        version: concat!(env!("GEMM_VERSION"), "\0"),
        path: gemm_path,
        most_threads: usize::MAX,
        single: gemm_product::<f32>,
        double: gemm_product::<f64>,
    },
    Contender {
        name: c"matrixmultiply",
        version: concat!(env!("MATRIXMULTIPLY_VERSION"), "\0"),
        path: matrixmultiply_path,
        most_threads: 1,
        single: matrixmultiply_single,
        double: matrixmultiply_double,
    },
];

/// For `gemm`; the other has one.
static THREADS: AtomicUsize = AtomicUsize::new(1);

/// How many contenders there are.
#[unsafe(no_mangle)]
pub extern "C" fn cachet_peer_count() -> i64 {
    CONTENDERS.len() as i64
}

/// A contender's name, or null.
#[unsafe(no_mangle)]
pub extern "C" fn cachet_peer_name(peer: i64) -> *const c_char {
    contender(peer).map_or(std::ptr::null(), |c| c.name.as_ptr())
}

/// Its version, or null.
#[unsafe(no_mangle)]
pub extern "C" fn cachet_peer_version(peer: i64) -> *const c_char {
    contender(peer).map_or(std::ptr::null(), |c| c.version.as_ptr().cast())
}

/// The code it runs on this processor, or null.
#[unsafe(no_mangle)]
pub extern "C" fn cachet_peer_code_path(peer: i64) -> *const c_char {
    contender(peer).map_or(std::ptr::null(), |c| (c.path)().as_ptr())
}

/// Sets how many threads a contender may use, and gives how many it will use.
#[unsafe(no_mangle)]
pub extern "C" fn cachet_peer_set_threads(peer: i64, threads: i64) -> i64 {
    let Some(contender) = contender(peer) else { return 0 };
    let threads = usize::try_from(threads).unwrap_or(1).clamp(1, contender.most_threads);
    if contender.most_threads > 1 {
        THREADS.store(threads, Ordering::Relaxed);
    }
    threads as i64
}

/// `C = A · B`, 32-bit.
///
/// # Safety
/// The matrices have `m · k`, `k · n` and `m · n` elements at these strides, and `C` overlaps no other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cachet_peer_sgemm(
    peer: i64,
    sizes: *const i64,
    a: *const f32,
    strides_a: *const i64,
    b: *const f32,
    strides_b: *const i64,
    c: *mut f32,
) -> i32 {
    let Some(contender) = contender(peer) else { return 1 };
    // SAFETY: by this function's contract; three sizes, two strides each.
    unsafe { (contender.single)(extents(sizes), matrix(a, strides_a), matrix(b, strides_b), c) };
    0
}

/// `C = A · B`, 64-bit.
///
/// # Safety
/// As [`cachet_peer_sgemm`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cachet_peer_dgemm(
    peer: i64,
    sizes: *const i64,
    a: *const f64,
    strides_a: *const i64,
    b: *const f64,
    strides_b: *const i64,
    c: *mut f64,
) -> i32 {
    let Some(contender) = contender(peer) else { return 1 };
    // SAFETY: by this function's contract; three sizes, two strides each.
    unsafe { (contender.double)(extents(sizes), matrix(a, strides_a), matrix(b, strides_b), c) };
    0
}

fn contender(peer: i64) -> Option<&'static Contender> {
    CONTENDERS.get(usize::try_from(peer).ok()?)
}

/// # Safety
/// Three sizes, none negative.
unsafe fn extents(sizes: *const i64) -> [usize; 3] {
    // SAFETY: by this function's contract.
    [0, 1, 2].map(|at| unsafe { *sizes.add(at) } as usize)
}

/// # Safety
/// Two strides.
unsafe fn matrix<T>(start: *const T, strides: *const i64) -> Matrix<T> {
    // SAFETY: by this function's contract.
    unsafe { Matrix { start, row: *strides as isize, column: *strides.add(1) as isize } }
}

/// # Safety
/// As [`cachet_peer_sgemm`].
unsafe fn gemm_product<T: Copy + From<u8> + 'static>([m, n, k]: [usize; 3], a: Matrix<T>, b: Matrix<T>, c: *mut T) {
    let threads = THREADS.load(Ordering::Relaxed);
    let parallelism = if threads == 1 { gemm::Parallelism::None } else { gemm::Parallelism::Rayon(threads) };
    let (zero, one) = (T::from(0), T::from(1));
    // SAFETY: by this function's contract; the crate's order is column stride, row stride.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c,
            1,
            n as isize,
            false,
            a.start,
            a.column,
            a.row,
            b.start,
            b.column,
            b.row,
            zero,
            one,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// # Safety
/// As [`cachet_peer_sgemm`].
unsafe fn matrixmultiply_single([m, n, k]: [usize; 3], a: Matrix<f32>, b: Matrix<f32>, c: *mut f32) {
    // SAFETY: by this function's contract.
    unsafe {
        matrixmultiply::sgemm(m, k, n, 1.0, a.start, a.row, a.column, b.start, b.row, b.column, 0.0, c, n as isize, 1);
    }
}

/// # Safety
/// As [`cachet_peer_sgemm`].
unsafe fn matrixmultiply_double([m, n, k]: [usize; 3], a: Matrix<f64>, b: Matrix<f64>, c: *mut f64) {
    // SAFETY: by this function's contract.
    unsafe {
        matrixmultiply::dgemm(m, k, n, 1.0, a.start, a.row, a.column, b.start, b.row, b.column, 0.0, c, n as isize, 1);
    }
}

/// What `gemm` finds on this processor.
fn gemm_path() -> &'static CStr {
    widest(c"scalar")
}

/// What `matrixmultiply` finds on this processor.
fn matrixmultiply_path() -> &'static CStr {
    widest(c"generic")
}

/// Both ask for the same features in the same order.
#[cfg(target_arch = "x86_64")]
fn widest(otherwise: &'static CStr) -> &'static CStr {
    if std::arch::is_x86_feature_detected!("avx512f") {
        c"avx512f"
    } else if std::arch::is_x86_feature_detected!("fma") {
        c"fma"
    } else {
        otherwise
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn widest(otherwise: &'static CStr) -> &'static CStr {
    if cfg!(target_arch = "aarch64") { c"neon" } else { otherwise }
}
