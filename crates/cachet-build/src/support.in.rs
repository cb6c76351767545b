
/// Elements of a slice with extents: the first is the element at index 0 along every axis.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T, const AXES: usize> {
    data: &'a [T],
    shape: [usize; AXES],
    strides: [usize; AXES],
}

/// The same to be written.
#[derive(Debug)]
pub struct ViewMut<'a, T, const AXES: usize> {
    data: &'a mut [T],
    shape: [usize; AXES],
    strides: [usize; AXES],
}

/// How many elements lie between neighbours along each axis of rows that follow each other.
fn contiguous<const AXES: usize>(shape: [usize; AXES]) -> [usize; AXES] {
    let (mut strides, mut step) = ([1; AXES], 1_usize);
    for axis in (0..AXES).rev() {
        strides[axis] = step;
        step = step.saturating_mul(shape[axis]);
    }
    strides
}

impl<'a, T, const AXES: usize> View<'a, T, AXES> {
    /// Rows that follow each other. Whether there are enough elements is tested where the view is used.
    pub fn new(data: &'a [T], shape: [usize; AXES]) -> Self {
        View { data, shape, strides: contiguous(shape) }
    }

    /// Neighbours along each axis lie so many elements apart.
    pub fn strided(data: &'a [T], shape: [usize; AXES], strides: [usize; AXES]) -> Self {
        View { data, shape, strides }
    }
}

impl<'a, T, const AXES: usize> ViewMut<'a, T, AXES> {
    /// Rows that follow each other. Whether there are enough elements is tested where the view is used.
    pub fn new(data: &'a mut [T], shape: [usize; AXES]) -> Self {
        ViewMut { data, shape, strides: contiguous(shape) }
    }

    /// Neighbours along each axis lie so many elements apart.
    pub fn strided(data: &'a mut [T], shape: [usize; AXES], strides: [usize; AXES]) -> Self {
        ViewMut { data, shape, strides }
    }
}

impl<'a, T> From<&'a [T]> for View<'a, T, 1> {
    fn from(data: &'a [T]) -> Self {
        View::new(data, [data.len()])
    }
}

impl<'a, T> From<&'a Vec<T>> for View<'a, T, 1> {
    fn from(data: &'a Vec<T>) -> Self {
        View::new(data, [data.len()])
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for View<'a, T, 1> {
    fn from(data: &'a [T; N]) -> Self {
        View::new(data, [N])
    }
}

impl<'a, T, const N: usize> From<&'a [[T; N]]> for View<'a, T, 2> {
    fn from(data: &'a [[T; N]]) -> Self {
        View::new(data.as_flattened(), [data.len(), N])
    }
}

impl<'a, T, const AXES: usize> From<(&'a [T], [usize; AXES])> for View<'a, T, AXES> {
    fn from((data, shape): (&'a [T], [usize; AXES])) -> Self {
        View::new(data, shape)
    }
}

impl<'a, T, const AXES: usize> From<(&'a Vec<T>, [usize; AXES])> for View<'a, T, AXES> {
    fn from((data, shape): (&'a Vec<T>, [usize; AXES])) -> Self {
        View::new(data, shape)
    }
}

impl<'a, T> From<&'a mut [T]> for ViewMut<'a, T, 1> {
    fn from(data: &'a mut [T]) -> Self {
        let shape = [data.len()];
        ViewMut::new(data, shape)
    }
}

impl<'a, T> From<&'a mut Vec<T>> for ViewMut<'a, T, 1> {
    fn from(data: &'a mut Vec<T>) -> Self {
        let shape = [data.len()];
        ViewMut::new(data, shape)
    }
}

impl<'a, T, const N: usize> From<&'a mut [T; N]> for ViewMut<'a, T, 1> {
    fn from(data: &'a mut [T; N]) -> Self {
        ViewMut::new(data, [N])
    }
}

impl<'a, T, const N: usize> From<&'a mut [[T; N]]> for ViewMut<'a, T, 2> {
    fn from(data: &'a mut [[T; N]]) -> Self {
        let shape = [data.len(), N];
        ViewMut::new(data.as_flattened_mut(), shape)
    }
}

impl<'a, T, const AXES: usize> From<(&'a mut [T], [usize; AXES])> for ViewMut<'a, T, AXES> {
    fn from((data, shape): (&'a mut [T], [usize; AXES])) -> Self {
        ViewMut::new(data, shape)
    }
}

impl<'a, T, const AXES: usize> From<(&'a mut Vec<T>, [usize; AXES])> for ViewMut<'a, T, AXES> {
    fn from((data, shape): (&'a mut Vec<T>, [usize; AXES])) -> Self {
        ViewMut::new(data, shape)
    }
}

/// The bits of an IEEE binary16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The bits of a bfloat16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// A call that a kernel cannot take. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The function.
    pub function: &'static str,
    /// What the checked entry returned; 0 where a slice was found to be too short before that.
    pub code: i32,
    /// What is wrong.
    pub text: std::borrow::Cow<'static, str>,
}

impl Error {
    fn short(function: &'static str, array: &str, has: usize) -> Error {
        Error { function, code: 0, text: format!("{array} has {has} elements, and its shape and strides reach beyond them").into() }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.function, self.text)
    }
}

impl std::error::Error for Error {}

/// Working space: bytes that begin where kernels want them to. It can be used again by every call.
pub struct Scratch {
    memory: Vec<Line>,
    bytes: usize,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "kernels read and write it")] [u8; 64]);

impl Scratch {
    /// So many bytes.
    pub fn new(bytes: usize) -> Scratch {
        Scratch { memory: vec![Line([0; 64]); bytes.div_ceil(64)], bytes }
    }

    /// At least so many bytes from now on.
    pub fn grow(&mut self, bytes: usize) {
        if bytes > self.bytes {
            *self = Scratch::new(bytes);
        }
    }
}

/// Who runs iterations at once.
///
/// # Safety
/// `run` calls `body` with ranges `first, last` so that each of the numbers `0 .. count` is in exactly one of them, from any
/// threads, in any order, at once or not, and returns when all calls have. The threads have the default floating-point mode.
pub unsafe trait Pool: Sync {
    /// Runs `0 .. count`.
    fn run(&self, count: i64, body: &(dyn Fn(i64, i64) + Sync));
}

/// So many threads, made for each call: for programs that have no pool.
#[derive(Clone, Copy, Debug)]
pub struct Threads(pub usize);

// SAFETY: the ranges of `t` and `t + 1` meet and do not overlap, the first begins at 0, and the last ends at `count`; the scope
// ends when all of them are done, and new threads have the floating-point mode of the one that makes them.
unsafe impl Pool for Threads {
    fn run(&self, count: i64, body: &(dyn Fn(i64, i64) + Sync)) {
        let threads = self.0.clamp(1, 1 << 10) as i64;
        let range = |t: i64| {
            let at = |t: i64| (i128::from(count) * i128::from(t) / i128::from(threads)) as i64;
            (at(t), at(t + 1))
        };
        std::thread::scope(|scope| {
            let mut started = Vec::new();
            for t in 1..threads {
                let (first, last) = range(t);
                match std::thread::Builder::new().spawn_scoped(scope, move || body(first, last)) {
                    Ok(thread) => started.push(thread),
                    Err(_) => body(first, last),
                }
            }
            let (first, last) = range(0);
            body(first, last);
            // A handle that is dropped detaches its thread, and glibc 2.36 may then read a stack that is already unmapped.
            for thread in started {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
    }
}

/// `cachet_array`
#[repr(C)]
struct RawArray {
    data: *const std::ffi::c_void,
    ty: i32,
    axes: i32,
    shape: [i64; 8],
    strides: [i64; 8],
}

impl RawArray {
    /// An array with strides, if all of its elements are among those that there are.
    fn strided<T, const AXES: usize>(
        data: *const T,
        len: usize,
        (shape, strides): ([usize; AXES], [usize; AXES]),
        ty: i32,
    ) -> Option<RawArray> {
        let mut reach = 1_usize;
        for (extent, stride) in shape.iter().zip(strides) {
            reach = match extent.checked_sub(1) {
                Some(more) => more.checked_mul(stride)?.checked_add(reach)?,
                None => return RawArray::of(data, shape, strides, ty),
            };
        }
        if reach > len { None } else { RawArray::of(data, shape, strides, ty) }
    }

    fn of<T, const AXES: usize>(
        data: *const T,
        shape: [usize; AXES],
        strides: [usize; AXES],
        ty: i32,
    ) -> Option<RawArray> {
        let mut raw = RawArray { data: data.cast(), ty, axes: AXES as i32, shape: [0; 8], strides: [0; 8] };
        for axis in 0..AXES {
            raw.shape[axis] = i64::try_from(shape[axis]).ok()?;
            raw.strides[axis] = i64::try_from(strides[axis]).ok()?;
        }
        Some(raw)
    }
}

/// `cachet_pool`
#[repr(C)]
struct RawPool {
    state: *const std::ffi::c_void,
    run: extern "C" fn(*const std::ffi::c_void, Body, *mut std::ffi::c_void, i64),
}

type Body = extern "C" fn(*mut std::ffi::c_void, i64, i64);

/// What iterations share, for any thread.
struct Shared(*mut std::ffi::c_void);

// SAFETY: a kernel's iterations may run on any threads at once.
unsafe impl Sync for Shared {}

impl Shared {
    fn env(&self) -> *mut std::ffi::c_void {
        self.0
    }
}

extern "C" fn run_on(state: *const std::ffi::c_void, body: Body, env: *mut std::ffi::c_void, count: i64) {
    // SAFETY: `state` is what `raw_pool` made of a reference that lives until the kernel returns.
    let pool = unsafe { *state.cast::<&dyn Pool>() };
    let shared = Shared(env);
    pool.run(count, &|first, last| body(shared.env(), first, last));
}

fn raw_pool(pool: &&dyn Pool) -> RawPool {
    RawPool { state: std::ptr::from_ref(pool).cast(), run: run_on }
}

fn null_or(raw: &Option<RawPool>) -> *const RawPool {
    raw.as_ref().map_or(std::ptr::null(), std::ptr::from_ref)
}

/// The error that a code stands for.
fn error(function: &'static str, code: i32, text: unsafe extern "C" fn(i32) -> *const std::ffi::c_char) -> Error {
    // SAFETY: the library's texts are constants of the program, and end with a zero.
    let text = unsafe { std::ffi::CStr::from_ptr(text(code)) };
    Error { function, code, text: text.to_string_lossy() }
}
