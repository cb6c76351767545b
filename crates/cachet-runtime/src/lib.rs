//! Everything that touches the machine: LLVM, the JIT, the linker, raw memory, the floating-point mode, time.
//!
//! This is the only home of `unsafe`. It contains no compiler: what it compiles is LLVM's textual IR, and it neither
//! knows nor asks where the text came from. Nothing here prints; every failure is a [`ToolError`] with the exact
//! command that fixes it where there is one.
//!
//! # How generated code is called
//!
//! Kernels have an ordinary C signature, `void NAME(int64_t size, …, void* buffer, …)`, which differs from kernel to
//! kernel. So that one safe wrapper serves all, the text also defines for each of them the uniform entry
//!
//! ```text
//! define void @NAME__packed(ptr %sizes, ptr %buffers)
//! ```
//!
//! where `%sizes` points at the sizes as consecutive `i64`, and `%buffers` at the addresses of the buffers as
//! consecutive `ptr`, both in the order of the C signature. It loads them and calls `@NAME`. Behind the buffers lies one more
//! address, null or that of a [`PoolInterface`], which is `@NAME`'s last parameter where it runs iterations at once, and not
//! read where it does not. [`Jit::kernel`] looks up `NAME__packed`; [`Kernel::call`] passes slices.
//!
//! The counts are checked here, the extents are not: the caller compares each buffer's length with the kernel's
//! contract before the call, as every door from C, Rust or Python must.

#![allow(unsafe_code, reason = "the one crate that calls C, runs generated code and maps memory")]
#![deny(clippy::undocumented_unsafe_blocks)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]

#[cfg(not(unix))]
compile_error!("cachet-runtime knows Linux and macOS");

mod buffer;
mod clock;
mod detect;
mod error;
mod fpmode;
mod link;
mod llvm;
mod measure;
mod peers;
mod pool;
mod probe;
mod sys;
mod traffic;

pub use buffer::{AlignedBuffer, Flush, GuardBuffer, Scalar, fill_poison, first_poison, view, view_mut};
pub use clock::{PinnedThread, cpu_count, involuntary_switches};
pub use detect::{Detected, DetectedPart, Reading, detect};
pub use error::{ToolError, ToolErrorKind};
pub use fpmode::{FpGuard, FpMode};
pub use link::{
    ArchiveMember, LinkReport, Linker, find_linker, find_linker_for, link_executable, link_executable_by, link_library,
    link_shared, write_archive, write_file,
};
pub use llvm::{
    BufferArg, HostTarget, Jit, Kernel, KernelArity, Llvm, LlvmReport, Module, OptLevel, Places, PreparedCall, Target,
    Tried, report_llvm,
};
pub use measure::{
    Contender, Interval, MeasureOptions, MeasureReport, MeasureRow, Modes, ProbeSummary, RoundRecord, interval,
    measure, median, modes, quantile,
};
pub use peers::{
    AbsentPeer, Family, Numbers, Peer, PeerSearch, Peers, Product, clear_openblas_environment, find_peers,
};
pub use pool::{GridBody, MOST_THREADS, Order, Pool, PoolInterface, RunGrid};
pub use probe::{Peak, PeakProbe, ProbeElement, ProbeLoop};
pub use traffic::{Traffic, TrafficProbe};
