//! Clearing OpenBLAS's variables is allowed while the process has one thread, and refused afterwards.
//!
//! Runs without the test harness, which would start threads. The process starts itself with the variables set.

mod common;

use std::process::Command;

use cachet_runtime::{Family, clear_openblas_environment};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("child") => child(),
        _ => parent(),
    }
}

fn parent() {
    let output = Command::new(std::env::current_exe().expect("this test"))
        .arg("child")
        .env("OPENBLAS_CORETYPE", "Prescott")
        .env("OPENBLAS_L2_SIZE", "512")
        .output()
        .expect("starts");
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}", output.status);
}

fn child() {
    refused_with_two_threads();
    if !cfg!(target_os = "linux") {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("{}\n", format_args!("skipped: threads cannot be counted here")),
        );
        return;
    }
    let cleared = clear_openblas_environment().expect("one thread");
    assert_eq!(cleared, ["OPENBLAS_CORETYPE=Prescott", "OPENBLAS_L2_SIZE=512"]);
    assert!(std::env::var_os("OPENBLAS_CORETYPE").is_none() && std::env::var_os("OPENBLAS_L2_SIZE").is_none());
    assert!(clear_openblas_environment().expect("nothing left to do").is_empty());
    for blas in common::peers("openblas", Family::OpenBlas) {
        println!("{} runs its kernels for {}", blas.name(), blas.code_path());
        assert_ne!(blas.code_path().to_lowercase(), "prescott", "it chose for itself");
    }
}

fn refused_with_two_threads() {
    let (stop, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || wait.recv());
    let error = clear_openblas_environment().expect_err("two threads");
    assert!(error.to_string().contains("env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE"), "{error}");
    assert!(std::env::var_os("OPENBLAS_CORETYPE").is_some());
    drop(stop);
    let ended = thread.join().expect("no panic");
    assert!(ended.is_err(), "the channel was closed");
    // The kernel removes a joined thread from its list a moment after `join` returns.
    while std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1) {
        std::thread::yield_now();
    }
}
