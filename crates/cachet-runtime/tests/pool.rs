//! Pools: every iteration once, in the strict mode, on whatever pool a caller brings.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(unsafe_code, reason = "stands in for generated code, and for a pool in C")]

mod common;

use cachet_runtime::{
    BufferArg, FpGuard, FpMode, GridBody, KernelArity, MOST_THREADS, Order, Pool, PoolInterface, RunGrid,
};
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread::ThreadId;

const THREADS: [usize; 5] = [1, 2, 3, 7, 16];

fn pools() -> impl Iterator<Item = Pool> {
    let orders = [Order::Free, Order::Dealt { seed: 1 }, Order::Dealt { seed: 99 }];
    THREADS.into_iter().flat_map(move |n| orders.map(|order| Pool::in_order(n, order).unwrap()))
}

/// What the iterations of a grid in these tests see and do.
#[derive(Default)]
struct Seen {
    /// How often each number ran.
    times: Vec<AtomicU32>,
    threads: Mutex<BTreeSet<String>>,
    lax: AtomicBool,
    calls: AtomicUsize,
    /// What each range runs besides.
    inner: Option<(PoolInterface, Box<Seen>)>,
    /// How many threads have to be there before a range ends.
    together: usize,
}

// SAFETY: the interface is that of a pool, which may be used from any thread.
unsafe impl Sync for Seen {}

impl Seen {
    fn of(count: usize) -> Seen {
        Seen { times: (0..count).map(|_| AtomicU32::new(0)).collect(), ..Seen::default() }
    }

    fn each_ran(&self, times: u32) -> bool {
        self.times.iter().all(|t| t.load(Ordering::Relaxed) == times)
    }
}

fn me() -> String {
    let id: ThreadId = std::thread::current().id();
    format!("{id:?}")
}

unsafe extern "C" fn body(env: *mut c_void, first: i64, last: i64) {
    // SAFETY: every grid of these tests is run with the address of a `Seen`.
    let seen = unsafe { &*env.cast::<Seen>().cast_const() };
    seen.calls.fetch_add(1, Ordering::Relaxed);
    if !FpMode::current().is_strict() {
        seen.lax.store(true, Ordering::Relaxed);
    }
    seen.threads.lock().unwrap().insert(me());
    for n in first..last {
        seen.times[n as usize].fetch_add(1, Ordering::Relaxed);
    }
    if let Some((pool, inner)) = &seen.inner {
        run(pool, inner);
    }
    while seen.threads.lock().unwrap().len() < seen.together {
        std::thread::yield_now();
    }
}

/// A pool as generated code sees it.
#[repr(C)]
struct Raw {
    state: *mut c_void,
    run: RunGrid,
}

fn run(pool: &PoolInterface, seen: &Seen) {
    let raw = std::ptr::from_ref(pool).cast::<Raw>();
    let env = std::ptr::from_ref(seen).cast_mut().cast();
    // SAFETY: the two structs are the same by the documentation; the body runs on any thread.
    unsafe { ((*raw).run)((*raw).state, body, env, seen.times.len() as i64) };
}

#[test]
fn every_iteration_runs_once() {
    for pool in pools() {
        for count in [0, 1, 2, 3, 6, 7, 8, 50, 1000] {
            for times in 1..4 {
                let seen = Seen::of(count);
                (0..times).for_each(|_| run(pool.interface(), &seen));
                assert!(seen.each_ran(times), "{pool:?} {count}");
            }
        }
    }
}

#[test]
fn a_pool_is_used_again_and_again() {
    for pool in pools() {
        let seen = Seen::of(40);
        let times = if pool.threads() > 8 { 200 } else { 1000 };
        (0..times).for_each(|_| run(pool.interface(), &seen));
        assert!(seen.each_ran(times), "{pool:?}");
    }
}

#[test]
fn dealt_iterations_run_on_every_thread() {
    for threads in THREADS {
        let pool = Pool::in_order(threads, Order::Dealt { seed: 5 }).unwrap();
        let seen = Seen::of(100);
        run(pool.interface(), &seen);
        assert_eq!(seen.threads.into_inner().unwrap().len(), threads);
    }
}

/// Would not end if the threads did not run at once.
#[test]
fn whoever_is_free_takes_part() {
    for threads in THREADS {
        let pool = Pool::new(threads).unwrap();
        for _ in 0..20 {
            let seen = Seen { together: threads, ..Seen::of(threads) };
            run(pool.interface(), &seen);
            assert!(seen.each_ran(1));
        }
    }
}

#[test]
fn every_thread_is_strict_and_is_left_as_it_was() {
    // New threads are in the mode of the one that starts them.
    let _lax = FpGuard::enter_mode(FpMode::STRICT.with_flushing());
    for pool in pools() {
        let seen = Seen::of(100);
        run(pool.interface(), &seen);
        assert!(FpMode::current().flushes_subnormals());
        assert!(!seen.lax.into_inner(), "{pool:?}");
    }
}

#[test]
fn grids_in_iterations_run_in_place() {
    for pool in pools() {
        let inner = Box::new(Seen::of(10));
        let seen = Seen { inner: Some((*pool.interface(), inner)), ..Seen::of(50) };
        run(pool.interface(), &seen);
        assert!(seen.each_ran(1));
        let inner = &seen.inner.as_ref().unwrap().1;
        let calls = seen.calls.load(Ordering::Relaxed);
        assert!(inner.each_ran(calls as u32), "{pool:?}");
        if pool.threads() > 1 {
            assert_eq!(inner.calls.load(Ordering::Relaxed), calls, "each in one piece");
        }
    }
}

#[test]
fn several_threads_share_a_pool() {
    for pool in pools() {
        let start = Barrier::new(3);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    start.wait();
                    for count in [1, 5, 30, 31] {
                        let seen = Seen::of(count);
                        (0..20).for_each(|_| run(pool.interface(), &seen));
                        assert!(seen.each_ran(20), "{pool:?}");
                    }
                });
            }
        });
    }
}

#[test]
fn pools_of_no_and_of_too_many_threads_are_refused() {
    for n in [0, MOST_THREADS + 1] {
        assert!(Pool::new(n).unwrap_err().message.contains("threads"));
    }
    assert_eq!(Pool::new(3).unwrap().threads(), 3);
}

/// Doubles `count` numbers, each an iteration.
const DOUBLED: &str = "
define void @part(ptr %env, i64 %first, i64 %last) {
entry:
  br label %head
head:
  %i = phi i64 [ %first, %entry ], [ %next, %inside ]
  %more = icmp slt i64 %i, %last
  br i1 %more, label %inside, label %after
inside:
  %at = getelementptr i64, ptr %env, i64 %i
  %x = load i64, ptr %at
  %y = add i64 %x, %x
  store i64 %y, ptr %at
  %next = add i64 %i, 1
  br label %head
after:
  ret void
}
define void @doubled(i64 %count, ptr %x, ptr %pool) {
entry:
  %none = icmp eq ptr %pool, null
  br i1 %none, label %alone, label %together
alone:
  call void @part(ptr %x, i64 0, i64 %count)
  ret void
together:
  %state = load ptr, ptr %pool
  %at = getelementptr { ptr, ptr }, ptr %pool, i64 0, i32 1
  %run = load ptr, ptr %at
  call void %run(ptr %state, ptr @part, ptr %x, i64 %count)
  ret void
}
define void @doubled__packed(ptr %sizes, ptr %buffers) {
  %count = load i64, ptr %sizes
  %x = load ptr, ptr %buffers
  %at = getelementptr ptr, ptr %buffers, i64 1
  %pool = load ptr, ptr %at
  call void @doubled(i64 %count, ptr %x, ptr %pool)
  ret void
}
";

/// A pool of the caller's: it runs the iterations one by one from the last, and counts its grids.
unsafe extern "C" fn backwards(state: *mut c_void, body: GridBody, env: *mut c_void, count: i64) {
    // SAFETY: the pool of the test has the address of a counter as its state.
    let grids = unsafe { &*state.cast::<AtomicUsize>().cast_const() };
    grids.fetch_add(1, Ordering::Relaxed);
    for n in (0..count).rev() {
        // SAFETY: each number once.
        unsafe { body(env, n, n + 1) };
    }
}

#[test]
fn generated_code_runs_on_whatever_pool_it_is_given() {
    let Some(llvm) = common::llvm() else { return };
    let jit = llvm.compile_and_load(DOUBLED).unwrap();
    let kernel = jit.kernel("doubled", KernelArity { sizes: 1, buffers: 1 }).unwrap();
    let given: Vec<u8> = (0..100_i64).flat_map(i64::to_le_bytes).collect();
    let doubled: Vec<u8> = (0..100_i64).flat_map(|n| (2 * n).to_le_bytes()).collect();
    let mut x = given.clone();
    kernel.call(&[100], &mut [BufferArg::Write(&mut x)]).unwrap();
    assert_eq!(x, doubled);
    for pool in pools() {
        let mut x = given.clone();
        kernel.call_on(pool.interface(), &[100], &mut [BufferArg::Write(&mut x)]).unwrap();
        assert_eq!(x, doubled, "{pool:?}");
    }
    let grids = AtomicUsize::new(0);
    // SAFETY: `backwards` does what a pool does; the counter outlives its use.
    let own = unsafe { PoolInterface::new(std::ptr::from_ref(&grids).cast_mut().cast(), backwards) };
    let mut x = given;
    kernel.call_on(&own, &[100], &mut [BufferArg::Write(&mut x)]).unwrap();
    assert_eq!((x, grids.into_inner()), (doubled, 1));
}
