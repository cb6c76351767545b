//! The few C library functions that the standard library does not offer, declared by hand.

use std::ffi::{c_int, c_long, c_void};

pub(crate) const PROT_NONE: c_int = 0;
pub(crate) const PROT_READ: c_int = 1;
pub(crate) const PROT_WRITE: c_int = 2;
pub(crate) const MAP_PRIVATE: c_int = 2;
#[cfg(target_os = "linux")]
pub(crate) const MAP_ANONYMOUS: c_int = 0x20;
#[cfg(not(target_os = "linux"))]
pub(crate) const MAP_ANONYMOUS: c_int = 0x1000;
#[cfg(target_os = "linux")]
pub(crate) const MADV_HUGEPAGE: c_int = 14;
#[cfg(target_os = "linux")]
const SC_PAGESIZE: c_int = 30;
#[cfg(not(target_os = "linux"))]
const SC_PAGESIZE: c_int = 29;
#[cfg(target_os = "linux")]
pub(crate) const RUSAGE: c_int = 1; // RUSAGE_THREAD
#[cfg(not(target_os = "linux"))]
pub(crate) const RUSAGE: c_int = 0; // RUSAGE_SELF

/// The clock of what processors spend on the calling thread.
#[cfg(target_os = "linux")]
pub(crate) const CLOCK_THREAD: c_int = 3;
#[cfg(not(target_os = "linux"))]
pub(crate) const CLOCK_THREAD: c_int = 16;

/// The clock of what processors spend on all threads of the process.
#[cfg(target_os = "linux")]
pub(crate) const CLOCK_PROCESS: c_int = 2;
#[cfg(not(target_os = "linux"))]
pub(crate) const CLOCK_PROCESS: c_int = 12;

/// `struct timespec` on every 64-bit Unix.
#[repr(C)]
#[derive(Default)]
pub(crate) struct TimeSpec {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: c_long,
}

/// Two `timeval`s (32 bytes on every 64-bit Unix), then fourteen counters of type `long`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct ResourceUsage {
    pub(crate) times: [i64; 4],
    pub(crate) counters: [c_long; 14],
}

impl ResourceUsage {
    /// Position of `ru_nivcsw` among the counters.
    pub(crate) const INVOLUNTARY_SWITCHES: usize = 13;
}

unsafe extern "C" {
    pub(crate) fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    pub(crate) fn munmap(address: *mut c_void, length: usize) -> c_int;
    pub(crate) fn mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int;
    #[cfg(target_os = "linux")]
    pub(crate) fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    fn sysconf(name: c_int) -> c_long;
    pub(crate) fn clock_gettime(clock: c_int, time: *mut TimeSpec) -> c_int;
    pub(crate) fn getrusage(who: c_int, usage: *mut ResourceUsage) -> c_int;
    #[cfg(target_os = "linux")]
    pub(crate) fn sched_getcpu() -> c_int;
    #[cfg(target_os = "linux")]
    pub(crate) fn gettid() -> c_int;
    #[cfg(target_os = "linux")]
    pub(crate) fn sched_getaffinity(thread: c_int, size: usize, mask: *mut u64) -> c_int;
    #[cfg(target_os = "linux")]
    pub(crate) fn sched_setaffinity(thread: c_int, size: usize, mask: *const u64) -> c_int;
}

/// Bytes of a memory page.
pub(crate) fn page_size() -> usize {
    // SAFETY: `sysconf` has no preconditions; an unknown name answers -1.
    let answer = unsafe { sysconf(SC_PAGESIZE) };
    usize::try_from(answer).ok().filter(|size| size.is_power_of_two()).unwrap_or(16384)
}

/// Maps fresh zeroed private memory, readable and writable; `None` when the system has none.
pub(crate) fn map(length: usize) -> Option<std::ptr::NonNull<u8>> {
    // SAFETY: an anonymous private mapping at an address of the system's choice touches no existing memory.
    let address =
        unsafe { mmap(std::ptr::null_mut(), length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
    if address.addr() == usize::MAX {
        return None;
    }
    std::ptr::NonNull::new(address.cast())
}
