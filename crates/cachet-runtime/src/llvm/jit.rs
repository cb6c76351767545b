//! Object code linked into this process, and safe calls of what codegen promised about it.
//!
//! The code is trusted as any linked object is: it comes from a checked program, through the text that was compiled.
//! Symbols it does not define (`malloc`, `snprintf`, …) are those of this process.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use super::api::{Api, LlJit, LlvmError, Problems};
use super::c_string;
use crate::error::{ToolError, ToolErrorKind};
use crate::fpmode::FpGuard;
use crate::pool::PoolInterface;

/// The suffix of the uniform entry of a kernel.
const PACKED: &str = "__packed";

/// Code linked into this process; kernels keep it alive.
#[derive(Clone)]
pub struct Jit {
    session: Arc<Session>,
}

struct Session {
    api: &'static Api,
    raw: *mut LlJit,
    /// What the session reports beside its return values, such as the symbols that are missing.
    problems: Box<Problems>,
}

// SAFETY: LLJIT locks its session; look-ups may come from any thread.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: ours; every kernel holds an `Arc` of this session, so none of its code can run any more.
        unsafe {
            let error = (self.api.jit_dispose)(self.raw);
            // Tearing down cannot be retried and has no one to report to.
            let _ = self.api.take_error(error);
        }
    }
}

/// How many sizes and buffers a kernel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelArity {
    /// Number of `int64_t` sizes.
    pub sizes: usize,
    /// Number of buffers.
    pub buffers: usize,
}

/// A buffer passed to a kernel.
#[derive(Debug)]
pub enum BufferArg<'a> {
    /// Read only: may be passed twice.
    Read(&'a [u8]),
    /// Written: overlaps nothing.
    Write(&'a mut [u8]),
}

impl BufferArg<'_> {
    fn address(&mut self) -> *mut u8 {
        match self {
            BufferArg::Read(bytes) => bytes.as_ptr().cast_mut(),
            BufferArg::Write(bytes) => bytes.as_mut_ptr(),
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            BufferArg::Read(bytes) => bytes.len(),
            BufferArg::Write(bytes) => bytes.len(),
        }
    }

    /// Whether it holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

type PackedEntry = extern "C" fn(*const i64, *const *mut u8);

/// A function of generated code, callable with slices.
#[derive(Clone)]
pub struct Kernel {
    _code: Code,
    entry: PackedEntry,
    name: String,
    arity: KernelArity,
}

impl Jit {
    /// Links object files of this machine's target into this process.
    pub(super) fn link(api: &'static Api, objects: &[&[u8]]) -> Result<Jit, ToolError> {
        let mut raw = ptr::null_mut();
        // SAFETY: creating consumes the builder; the error is consumed once.
        unsafe {
            let builder = (api.jit_builder)();
            let error = (api.jit_create)(&raw mut raw, builder);
            api.take_error(error).map_err(|text| failed("LLVM cannot start its JIT", text))?;
        }
        let session = Session { api, raw, problems: Problems::new(api) };
        // SAFETY: the session is live, and ends before the problems its handler notes. The generator is consumed by the library it is added to; adding an object
        // consumes its buffer in every case.
        unsafe {
            let data = session.problems.as_handler_data();
            (api.session_set_reporter)((api.jit_session)(raw), note_problem, data);
            let library = (api.jit_main_dylib)(raw);
            let mut generator = ptr::null_mut();
            let prefix = (api.jit_prefix)(raw);
            let error = (api.process_generator)(&raw mut generator, prefix, ptr::null(), ptr::null());
            api.take_error(error).map_err(|text| failed("LLVM cannot search this process for symbols", text))?;
            (api.dylib_add_generator)(library, generator);
            for object in objects {
                let error = (api.jit_add_object)(raw, library, api.copy_buffer(object));
                api.take_error(error).map_err(|text| failed("LLVM's JIT refuses the object code", text))?;
            }
        }
        Ok(Jit { session: Arc::new(session) })
    }

    /// The address of a symbol; links what it needs.
    pub fn symbol(&self, name: &str) -> Result<*const u8, ToolError> {
        let symbol = c_string(name, "the symbol")?;
        let mut address = 0;
        // SAFETY: the session is live; the error is consumed once.
        let outcome = unsafe {
            let api = self.session.api;
            api.take_error((api.jit_lookup)(self.session.raw, &raw mut address, symbol.as_ptr()))
        };
        outcome.map_err(|text| {
            let reported = self.session.problems.take();
            let detail = if reported.is_empty() { text } else { format!("{text}\n{reported}") };
            failed(&format!("the compiled code cannot provide `{name}`"), detail)
        })?;
        usize::try_from(address)
            .ok()
            .filter(|address| *address != 0)
            .map(ptr::with_exposed_provenance)
            .ok_or_else(|| failed(&format!("the compiled code cannot provide `{name}`"), "no address".to_owned()))
    }

    /// The kernel `name`, through its entry `name__packed`.
    pub fn kernel(&self, name: &str, arity: KernelArity) -> Result<Kernel, ToolError> {
        let address = self.symbol(&format!("{name}{PACKED}"))?;
        // SAFETY: by the convention in the crate's documentation, a symbol with this suffix has this type; the code
        // stays mapped while the kernel holds the session.
        let entry = unsafe { std::mem::transmute::<*const u8, PackedEntry>(address) };
        Ok(Kernel { _code: Code::Session(Arc::clone(&self.session)), entry, name: name.to_owned(), arity })
    }

    /// Runs `i32 name()`, a program's main function, in the strict floating-point mode, and returns its result. What
    /// it printed through the C library is flushed.
    pub fn run_main(&self, name: &str) -> Result<i32, ToolError> {
        let address = self.symbol(name)?;
        // SAFETY: by convention the program's main function takes nothing and returns an `i32`; the code stays
        // mapped while `self` lives.
        let main = unsafe { std::mem::transmute::<*const u8, extern "C" fn() -> i32>(address) };
        Ok(run_to_the_end(|| main()))
    }

    /// Runs `i32 name(ptr pool)`, a program's main function that shares its work with a pool, in the same way.
    pub fn run_main_on(&self, name: &str, pool: &PoolInterface) -> Result<i32, ToolError> {
        let address = self.symbol(name)?;
        // SAFETY: by convention such a function takes a pool and returns an `i32`; the code stays mapped while `self` lives.
        let main = unsafe { std::mem::transmute::<*const u8, extern "C" fn(*mut u8) -> i32>(address) };
        Ok(run_to_the_end(|| main(pool.address())))
    }
}

fn run_to_the_end(main: impl FnOnce() -> i32) -> i32 {
    let mode = FpGuard::enter();
    let status = main();
    drop(mode);
    // SAFETY: a null stream flushes all output streams of the C library.
    unsafe { fflush(ptr::null_mut()) };
    status
}

unsafe extern "C" {
    fn fflush(stream: *mut c_void) -> c_int;
}

impl std::fmt::Debug for Jit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jit").finish_non_exhaustive()
    }
}

/// What keeps a kernel's code mapped.
#[derive(Clone)]
enum Code {
    Session(#[expect(dead_code, reason = "held, not read")] Arc<Session>),
    Library(#[expect(dead_code, reason = "held, not read")] Arc<libloading::Library>),
}

impl Kernel {
    /// A kernel of a shared library, through its entry `name__packed`: one that was built before, or by another compiler
    /// to stand beside ours.
    ///
    /// # Errors
    /// The library cannot be loaded, or has no such entry.
    pub fn from_library(path: &std::path::Path, name: &str, arity: KernelArity) -> Result<Kernel, ToolError> {
        let refuse = |e: libloading::Error| {
            ToolError::new(ToolErrorKind::Missing, format!("`{}` does not provide `{name}`", path.display()))
                .with_detail(e.to_string())
        };
        // SAFETY: the library's start-up code runs; the caller names a library that was built to be called.
        let library = unsafe { libloading::Library::new(path) }.map_err(refuse)?;
        // SAFETY: by the convention in the crate's documentation, a symbol with this suffix has this type; the code stays
        // mapped while the kernel holds the library.
        let entry =
            unsafe { library.get::<PackedEntry>(format!("{name}{PACKED}").as_bytes()) }.map(|e| *e).map_err(refuse)?;
        Ok(Kernel { _code: Code::Library(Arc::new(library)), entry, name: name.to_owned(), arity })
    }

    /// Its name, without suffix.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many sizes and buffers it takes.
    pub fn arity(&self) -> KernelArity {
        self.arity
    }

    /// Calls it once, in the strict floating-point mode.
    pub fn call(&self, sizes: &[i64], buffers: &mut [BufferArg<'_>]) -> Result<(), ToolError> {
        self.prepare(sizes, buffers).map(|mut call| call.run())
    }

    /// Calls it once, in the strict floating-point mode, with a pool to share the iterations of its grids.
    pub fn call_on(&self, pool: &PoolInterface, sizes: &[i64], buffers: &mut [BufferArg<'_>]) -> Result<(), ToolError> {
        self.prepare(sizes, buffers).map(|call| call.on(pool).run())
    }

    /// Lays the arguments out once, for calls that are timed.
    pub fn prepare<'a>(
        &'a self,
        sizes: &[i64],
        buffers: &'a mut [BufferArg<'_>],
    ) -> Result<PreparedCall<'a>, ToolError> {
        let given = KernelArity { sizes: sizes.len(), buffers: buffers.len() };
        if given != self.arity {
            let text = format!(
                "`{}` takes {} sizes and {} buffers, and was given {} and {}",
                self.name, self.arity.sizes, self.arity.buffers, given.sizes, given.buffers
            );
            return Err(ToolError::new(ToolErrorKind::Misuse, text));
        }
        Ok(PreparedCall {
            entry: self.entry,
            sizes: sizes.to_vec(),
            addresses: buffers.iter_mut().map(BufferArg::address).chain([ptr::null_mut()]).collect(),
            _borrows: PhantomData,
        })
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name).field("arity", &self.arity).finish_non_exhaustive()
    }
}

/// A call with its arguments in place; it borrows the kernel and the buffers.
#[derive(Debug)]
pub struct PreparedCall<'a> {
    entry: PackedEntry,
    sizes: Vec<i64>,
    /// The buffers', and the pool's.
    addresses: Vec<*mut u8>,
    _borrows: PhantomData<&'a mut [u8]>,
}

impl<'a> PreparedCall<'a> {
    /// With a pool to share the iterations of grids.
    #[must_use]
    pub fn on(mut self, pool: &'a PoolInterface) -> PreparedCall<'a> {
        if let Some(last) = self.addresses.last_mut() {
            *last = pool.address();
        }
        self
    }

    /// Runs the kernel, in the strict floating-point mode.
    pub fn run(&mut self) {
        let _mode = FpGuard::enter();
        self.run_in_this_mode();
    }

    /// Runs the kernel without looking at the floating-point mode; for timed loops inside an [`FpGuard`].
    pub fn run_in_this_mode(&mut self) {
        (self.entry)(self.sizes.as_ptr(), self.addresses.as_ptr());
    }
}

/// Called by the JIT for each problem; without a handler it prints them.
extern "C" fn note_problem(data: *mut c_void, error: *mut LlvmError) {
    // SAFETY: `data` is what `Jit::link` registered, which lives as long as the session; the error is ours to consume.
    unsafe {
        let problems = &*data.cast::<Problems>().cast_const();
        if let Err(text) = problems.api.take_error(error) {
            problems.note(text);
        }
    }
}

fn failed(message: &str, detail: String) -> ToolError {
    ToolError::new(ToolErrorKind::Failed, message).with_detail(detail)
}
