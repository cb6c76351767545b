//! How is a product computed by a library, through which interface?

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::ptr::null;

use super::Product;

/// `cblas_?gemm` with integers `I`.
pub(super) type Gemm<I, T> =
    unsafe extern "C" fn(c_int, c_int, c_int, I, I, I, T, *const T, I, *const T, I, T, *mut T, I);
/// `cblas_?gemv` with integers `I`.
pub(super) type Gemv<I, T> = unsafe extern "C" fn(c_int, c_int, I, I, T, *const T, I, *const T, I, T, *mut T, I);
/// `dnnl_sgemm`.
pub(super) type DnnlGemm = unsafe extern "C" fn(
    c_char,
    c_char,
    i64,
    i64,
    i64,
    f32,
    *const f32,
    i64,
    *const f32,
    i64,
    f32,
    *mut f32,
    i64,
) -> c_int;
/// `cachet_peer_?gemm`: contender, sizes, A with strides, B with strides, C.
pub(super) type OpenGemm<T> =
    unsafe extern "C" fn(i64, *const i64, *const T, *const i64, *const T, *const i64, *mut T) -> i32;

/// `libxsmm_?mmdispatch`: m, n, k, the distances of columns, alpha, beta, flags, prefetching.
pub(super) type XsmmDispatch<T> = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    *const c_int,
    *const c_int,
    *const c_int,
    *const T,
    *const T,
    *const c_int,
    *const c_int,
) -> Option<XsmmKernel<T>>;
/// What libxsmm generates: A, B, C.
pub(super) type XsmmKernel<T> = unsafe extern "C" fn(*const T, *const T, *mut T);

/// Kernels that are made for the sizes of a product.
pub(super) struct Xsmm<T> {
    pub dispatch: XsmmDispatch<T>,
    /// The last one, so that calls of one size are calls of the kernel.
    pub last: Cell<Option<Made<T>>>,
}

/// The extents, and the kernel where there is one.
pub(super) type Made<T> = ([usize; 3], Option<XsmmKernel<T>>);

/// The functions of CBLAS for one element type.
#[derive(Clone, Copy)]
pub(super) struct Cblas<I, T> {
    pub gemm: Gemm<I, T>,
    pub gemv: Gemv<I, T>,
}

/// How products of one element type are computed.
#[derive(Clone, Copy)]
pub(super) enum Routine<T> {
    /// CBLAS with 32-bit integers.
    Cblas32(Cblas<c_int, T>),
    /// CBLAS with 64-bit integers.
    Cblas64(Cblas<i64, T>),
    /// A contender of a library with this crate's own interface.
    Open(OpenGemm<T>, i64),
}

/// `CblasRowMajor`, `CblasNoTrans`, `CblasTrans`.
const ROW_MAJOR: c_int = 101;
const AS_IT_IS: c_int = 111;
const TRANSPOSED: c_int = 112;

impl<T: Copy + From<u8>> Routine<T> {
    /// `C = A · B`, all three of the product's extents.
    pub fn product(&self, p: &Product, a: &[T], b: &[T], c: &mut [T]) {
        p.check(a.len(), b.len(), c.len());
        match self {
            Routine::Cblas32(f) => f.product(p, a, b, c),
            Routine::Cblas64(f) => f.product(p, a, b, c),
            Routine::Open(f, contender) => {
                let sizes = [p.m as i64, p.n as i64, p.k as i64];
                let (of_a, of_b) = (strides(p.a_transposed, p.m, p.k), strides(p.b_transposed, p.k, p.n));
                // SAFETY: the slices cover the matrices by the check above; the borrows keep the written one apart.
                let status = unsafe {
                    let (a, b) = (a.as_ptr(), b.as_ptr());
                    f(*contender, sizes.as_ptr(), a, of_a.as_ptr(), b, of_b.as_ptr(), c.as_mut_ptr())
                };
                assert_eq!(status, 0, "a peer that offers products refused one");
            }
        }
    }
}

impl<I: Copy + TryFrom<usize>, T: Copy + From<u8>> Cblas<I, T> {
    fn product(&self, p: &Product, a: &[T], b: &[T], c: &mut [T]) {
        let (zero, one) = (T::from(0), T::from(1));
        let turned = |transposed: bool| if transposed { TRANSPOSED } else { AS_IT_IS };
        let (rows, columns) = if p.a_transposed { (p.k, p.m) } else { (p.m, p.k) };
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        let (turned_a, turned_b) = (turned(p.a_transposed), turned(p.b_transposed));
        let lda = int(columns.max(1));
        if p.vector {
            let (rows, columns, by_one) = (int(rows), int(columns), int(1));
            // SAFETY: the library has this function with this type; the caller checked the extents.
            unsafe { (self.gemv)(ROW_MAJOR, turned_a, rows, columns, one, a, lda, b, by_one, zero, c, by_one) };
            return;
        }
        let ldb = int(if p.b_transposed { p.k.max(1) } else { p.n.max(1) });
        let (m, n, k, ldc) = (int(p.m), int(p.n), int(p.k), int(p.n.max(1)));
        // SAFETY: as above.
        unsafe { (self.gemm)(ROW_MAJOR, turned_a, turned_b, m, n, k, one, a, lda, b, ldb, zero, c, ldc) };
    }
}

/// `C = A · B` by oneDNN, which has it for 32-bit floats.
pub(super) fn dnnl_product(f: DnnlGemm, p: &Product, a: &[f32], b: &[f32], c: &mut [f32]) {
    p.check(a.len(), b.len(), c.len());
    let letter = |transposed: bool| if transposed { b'T' } else { b'N' } as c_char;
    let lda = if p.a_transposed { p.m } else { p.k }.max(1) as i64;
    let ldb = if p.b_transposed { p.k } else { p.n }.max(1) as i64;
    let (ta, tb, ldc) = (letter(p.a_transposed), letter(p.b_transposed), p.n.max(1) as i64);
    let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
    // SAFETY: the library has this function with this type; the extents were checked.
    let status = unsafe { f(ta, tb, p.m as i64, p.n as i64, p.k as i64, 1.0, a, lda, b, ldb, 0.0, c, ldc) };
    assert_eq!(status, 0, "oneDNN refused a product");
}

impl<T: Copy + From<u8>> Xsmm<T> {
    /// The kernel for a product, where there is one.
    pub fn kernel(&self, p: &Product) -> Option<XsmmKernel<T>> {
        if p.a_transposed || p.b_transposed || p.vector {
            return None;
        }
        let sizes = [p.m, p.n, p.k];
        if let Some((_, made)) = self.last.get().filter(|(known, _)| *known == sizes) {
            return made;
        }
        let made = self.make(p);
        self.last.set(Some((sizes, made)));
        made
    }

    /// Its matrices lie column after column: the transposed of `A · B` is that of `B` times that of `A`.
    fn make(&self, p: &Product) -> Option<XsmmKernel<T>> {
        let fits = |n: usize| c_int::try_from(n).ok().filter(|n| *n > 0);
        let (m, n, k) = (fits(p.m)?, fits(p.n)?, fits(p.k)?);
        let (one, zero) = (T::from(1), T::from(0));
        // SAFETY: the library has this function with this type, and reads the numbers before it returns.
        unsafe {
            (self.dispatch)(
                n,
                m,
                k,
                &raw const n,
                &raw const k,
                &raw const n,
                &raw const one,
                &raw const zero,
                null(),
                null(),
            )
        }
    }

    /// `C = A · B`.
    pub fn product(&self, p: &Product, a: &[T], b: &[T], c: &mut [T]) {
        p.check(a.len(), b.len(), c.len());
        let Some(kernel) = self.kernel(p) else { panic!("libxsmm has no kernel for a product that was not refused") };
        // SAFETY: the kernel was made for these extents, and the slices cover them.
        unsafe { kernel(b.as_ptr(), a.as_ptr(), c.as_mut_ptr()) };
    }
}

fn strides(transposed: bool, rows: usize, columns: usize) -> [i64; 2] {
    if transposed { [1, rows as i64] } else { [columns as i64, 1] }
}

fn int<I: TryFrom<usize>>(size: usize) -> I {
    I::try_from(size).ok().expect("sizes were checked to fit the library's integers")
}
