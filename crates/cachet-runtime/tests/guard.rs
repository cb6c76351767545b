//! Guard pages end the process on the first byte outside the data.

mod common;

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use cachet_runtime::{BufferArg, Flush, GuardBuffer, KernelArity};
use common::{FMA_KERNEL, llvm};

const COUNT: usize = 37;

/// Runs the kernel in a process of its own, which is this test again, with `count` elements and the given placement.
fn child(test: &str, count: usize, flush: &str) -> ExitStatus {
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", test, "--nocapture"])
        .env("CACHET_GUARD_COUNT", count.to_string())
        .env("CACHET_GUARD_FLUSH", flush)
        .output()
        .expect("starts")
        .status
}

/// In such a process: runs the kernel. False elsewhere.
fn is_child() -> bool {
    let Ok(count) = std::env::var("CACHET_GUARD_COUNT") else { return false };
    let count: i64 = count.parse().expect("a count");
    let flush = match std::env::var("CACHET_GUARD_FLUSH").as_deref() {
        Ok("start") => Flush::Start,
        _ => Flush::End,
    };
    let buffer = || GuardBuffer::new(COUNT * 4, flush).expect("memory");
    let (a, b, mut y) = (buffer(), buffer(), buffer());
    let arity = KernelArity { sizes: 1, buffers: 3 };
    let kernel = llvm()
        .expect("LLVM, as in the parent")
        .compile_and_load(FMA_KERNEL)
        .and_then(|jit| jit.kernel("axpy", arity))
        .expect("compiles");
    let mut buffers = [BufferArg::Read(a.bytes()), BufferArg::Read(b.bytes()), BufferArg::Write(y.bytes_mut())];
    kernel.call(&[count], &mut buffers).expect("arity fits");
    assert!(y.slack_is_intact());
    true
}

fn is_memory_fault(status: ExitStatus) -> bool {
    const SIGBUS: [i32; 2] = [7, 10];
    const SIGSEGV: i32 = 11;
    status.signal().is_some_and(|signal| signal == SIGSEGV || SIGBUS.contains(&signal))
}

#[test]
fn the_right_size_runs() {
    if is_child() || llvm().is_none() {
        return;
    }
    for flush in ["start", "end"] {
        let status = child("the_right_size_runs", COUNT, flush);
        assert!(status.success(), "{flush}: {status}");
    }
}

#[test]
fn one_element_too_many_faults() {
    if is_child() || llvm().is_none() {
        return;
    }
    let status = child("one_element_too_many_faults", COUNT + 1, "end");
    assert!(is_memory_fault(status), "{status}");
}

#[test]
fn writes_behind_data_at_the_start_are_seen_in_the_slack() {
    if is_child() || llvm().is_none() {
        return;
    }
    let status = child("writes_behind_data_at_the_start_are_seen_in_the_slack", COUNT + 1, "start");
    assert!(!status.success() && !is_memory_fault(status), "{status}");
}
