//! Who runs the iterations of a grid?
//!
//! Generated code knows of threads no more than this, which a caller can write as well as we:
//!
//! ```text
//! struct cachet_pool {
//!     void* state;
//!     void (*run)(void* state, void (*body)(void* env, int64_t first, int64_t last), void* env, int64_t count);
//! };
//! ```
//!
//! `run` calls `body` with ranges `first .. last` so that each of the numbers `0 .. count` is in exactly one of them, from any
//! threads, in any order, at once or not, and returns when all calls have. It may be called from within a `body`, and it does
//! not unwind. Where generated code is given null in place of a pool, it runs the iterations itself.
//!
//! [`Pool`] is ours: threads that are parked between grids. Ranges are handed out as threads get to them, so that none waits for
//! another that was held up; which thread runs what differs from run to run, and no result depends on it, for the iterations of
//! a grid are proved not to meet. Whoever asks while the pool is busy, from within a grid or from another thread, runs its
//! iterations itself.

mod job;

use crate::error::{ToolError, ToolErrorKind};
use crate::fpmode::FpGuard;
use job::Job;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Runs the iterations `first .. last` of a grid.
pub type GridBody = unsafe extern "C" fn(env: *mut c_void, first: i64, last: i64);

/// Has `body` called for all of `0 .. count`.
pub type RunGrid = unsafe extern "C" fn(state: *mut c_void, body: GridBody, env: *mut c_void, count: i64);

/// `struct cachet_pool`: what generated code is given.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PoolInterface {
    state: *mut c_void,
    run: RunGrid,
}

impl PoolInterface {
    /// A pool of one's own.
    ///
    /// # Safety
    /// `run` does what this module says of it, with this `state`, as long as the pool is in use.
    pub const unsafe fn new(state: *mut c_void, run: RunGrid) -> PoolInterface {
        PoolInterface { state, run }
    }

    /// Its address, as generated code takes it.
    pub(crate) fn address(&self) -> *mut u8 {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}

/// Which thread runs which iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Whoever is free takes the next ones.
    Free,
    /// Every thread runs some, in an order drawn anew for each grid; for trying that it does not matter.
    Dealt {
        /// What it is drawn from.
        seed: u64,
    },
}

/// The most threads of a pool.
pub const MOST_THREADS: usize = 1024;
/// The stack of each: generated code takes up to 256 KiB a function.
const STACK: usize = 16 << 20;
/// How often a thread looks for the next grid, or for the end of one, before it sleeps.
const SPINS: u32 = 2000;

/// Threads that share the iterations of grids with whoever asks.
pub struct Pool {
    interface: PoolInterface,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

// SAFETY: the pointer in the interface is that of `shared`, which is made for several threads.
unsafe impl Send for Pool {}
// SAFETY: as above; `run` may be called from several threads.
unsafe impl Sync for Pool {}

impl Pool {
    /// So many threads, the one that asks included.
    ///
    /// # Errors
    /// It is none or too many, or the system has no more threads.
    pub fn new(threads: usize) -> Result<Pool, ToolError> {
        Pool::in_order(threads, Order::Free)
    }

    /// The same, with a say in who runs what.
    ///
    /// # Errors
    /// As for [`Pool::new`].
    pub fn in_order(threads: usize, order: Order) -> Result<Pool, ToolError> {
        if !(1..=MOST_THREADS).contains(&threads) {
            let text = format!("a pool has from 1 to {MOST_THREADS} threads, not {threads}");
            return Err(ToolError::new(ToolErrorKind::Misuse, text));
        }
        let shared = Arc::new(Shared::new(threads, order));
        let state = Arc::as_ptr(&shared).cast_mut().cast();
        let mut pool = Pool { interface: PoolInterface { state, run }, shared, threads: Vec::new() };
        for number in 1..threads {
            let shared = Arc::clone(&pool.shared);
            let builder = Builder::new().name(format!("cachet-{number}")).stack_size(STACK);
            let thread = builder.spawn(move || shared.work(number)).map_err(|e| {
                ToolError::new(ToolErrorKind::Failed, format!("thread {number} of a pool cannot be started"))
                    .with_detail(e.to_string())
            })?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// How many threads it has, the one that asks included.
    pub fn threads(&self) -> usize {
        self.shared.threads
    }

    /// As generated code takes it.
    pub fn interface(&self) -> &PoolInterface {
        &self.interface
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("threads", &self.shared.threads).finish_non_exhaustive()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        held(&self.shared.sleep).stop = true;
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A worker runs generated code alone, which does not unwind.
            let _ = thread.join();
        }
    }
}

/// The pool's `run`.
unsafe extern "C" fn run(state: *mut c_void, body: GridBody, env: *mut c_void, count: i64) {
    // SAFETY: the interface was made with the address of a `Shared` that its pool keeps alive, and is used no longer than it.
    let shared = unsafe { &*state.cast::<Shared>().cast_const() };
    let Ok(iterations @ 1..) = u64::try_from(count) else { return };
    // The same bits whichever thread computes them.
    let _mode = FpGuard::enter();
    let alone = shared.threads == 1 && shared.order == Order::Free;
    if iterations == 1 || alone || shared.busy.swap(true, Ordering::Acquire) {
        // SAFETY: by its contract `body` may be called with any range of the numbers, and is called once with all of them.
        unsafe { body(env, 0, count) };
        return;
    }
    shared.run(body, env, iterations);
    shared.busy.store(false, Ordering::Release);
}

/// Bits of [`Shared::state`]: how many workers are inside the job.
const INSIDE: u64 = (1 << 16) - 1;
/// Whether workers may enter.
const OPEN: u64 = 1 << 16;
/// Whether the one who asked is asleep until the last worker leaves.
const WAITING: u64 = 1 << 17;
/// The job's number is above all that.
const NUMBER: u32 = 32;

/// What the threads of a pool share.
struct Shared {
    threads: usize,
    order: Order,
    spins: u32,
    /// Whether a grid is being run; whoever sets it owns the job.
    busy: AtomicBool,
    /// See the constants. The job changes only while it is closed and nobody is inside.
    state: AtomicU64,
    job: UnsafeCell<Job>,
    /// The next range to be handed out.
    next: AtomicU64,
    /// How many workers have entered.
    entered: AtomicUsize,
    sleep: Mutex<Sleep>,
    wake: Condvar,
    end: Mutex<()>,
    ended: Condvar,
}

struct Sleep {
    asleep: usize,
    stop: bool,
}

// SAFETY: everything but the job locks itself or is atomic. The job is written by the owner of `busy` while `state` is closed
// and nobody is inside, and read only by threads that have entered, or own it.
unsafe impl Sync for Shared {}
// SAFETY: the addresses in the job are used only while who lent them waits in `run`.
unsafe impl Send for Shared {}

impl Shared {
    fn new(threads: usize, order: Order) -> Shared {
        Shared {
            threads,
            order,
            // More threads than cores only keep each other from working.
            spins: if threads > crate::clock::cpu_count() { 0 } else { SPINS },
            busy: AtomicBool::new(false),
            state: AtomicU64::new(0),
            job: UnsafeCell::new(Job::NONE),
            next: AtomicU64::new(0),
            entered: AtomicUsize::new(0),
            sleep: Mutex::new(Sleep { asleep: 0, stop: false }),
            wake: Condvar::new(),
            end: Mutex::new(()),
            ended: Condvar::new(),
        }
    }

    /// One grid, by who owns the pool now.
    fn run(&self, body: GridBody, env: *mut c_void, count: u64) {
        let number = (self.state.load(Ordering::Relaxed) >> NUMBER).wrapping_add(1);
        let job = Job::new(body, env, count, self.threads, self.order, number);
        // SAFETY: the state is closed and nobody is inside: the one who asked before waited for that.
        unsafe { *self.job.get() = job };
        self.next.store(0, Ordering::Relaxed);
        self.entered.store(0, Ordering::Relaxed);
        self.open(number, &job);
        self.take_part(0);
        if self.order != Order::Free {
            while self.entered.load(Ordering::Relaxed) + 1 < self.threads {
                std::thread::yield_now();
            }
        }
        self.close();
    }

    /// Lets workers in, and wakes as many as there is work for.
    fn open(&self, number: u64, job: &Job) {
        let sleep = held(&self.sleep);
        self.state.store(number << NUMBER | OPEN, Ordering::Release);
        let asleep = sleep.asleep;
        drop(sleep);
        let wanted = match self.order {
            Order::Free => usize::try_from(job.ranges - 1).unwrap_or(asleep).min(asleep),
            Order::Dealt { .. } => asleep,
        };
        if wanted == asleep && asleep > 0 {
            self.wake.notify_all();
        } else {
            (0..wanted).for_each(|_| self.wake.notify_one());
        }
    }

    /// Lets no more workers in, and waits for those inside.
    fn close(&self) {
        let mut state = self.state.fetch_and(!OPEN, Ordering::AcqRel);
        for _ in 0..self.spins {
            if state & INSIDE == 0 {
                return;
            }
            std::hint::spin_loop();
            state = self.state.load(Ordering::Acquire);
        }
        if self.state.fetch_or(WAITING, Ordering::AcqRel) & INSIDE == 0 {
            return;
        }
        let mut end = held(&self.end);
        while self.state.load(Ordering::Acquire) & INSIDE != 0 {
            end = self.ended.wait(end).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What a worker does until the pool is dropped.
    fn work(&self, worker: usize) {
        let mut last = 0;
        while let Some(number) = self.enter_next(last) {
            last = number;
            self.entered.fetch_add(1, Ordering::Relaxed);
            let mode = FpGuard::enter();
            self.take_part(worker);
            drop(mode);
            self.leave();
        }
    }

    /// Enters a job with another number than the last one; `None` when the pool is dropped.
    fn enter_next(&self, last: u64) -> Option<u64> {
        for _ in 0..self.spins {
            if let Some(number) = self.enter(last) {
                return Some(number);
            }
            std::hint::spin_loop();
        }
        let mut sleep = held(&self.sleep);
        loop {
            if sleep.stop {
                return None;
            }
            // A job is opened under the same lock: it is seen here, or wakes who sleeps.
            if let Some(number) = self.enter(last) {
                return Some(number);
            }
            sleep.asleep += 1;
            sleep = self.wake.wait(sleep).unwrap_or_else(PoisonError::into_inner);
            sleep.asleep -= 1;
        }
    }

    fn enter(&self, last: u64) -> Option<u64> {
        let open = |state: u64| state & OPEN != 0 && state >> NUMBER != last;
        let next = |state: u64| open(state).then_some(state + 1);
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok().map(|state| state >> NUMBER)
    }

    fn leave(&self) {
        let state = self.state.fetch_sub(1, Ordering::AcqRel);
        if state & INSIDE == 1 && state & WAITING != 0 {
            drop(held(&self.end));
            self.ended.notify_one();
        }
    }

    /// Runs ranges until there are no more for this thread, which has entered or owns the job.
    fn take_part(&self, thread: usize) {
        // SAFETY: nobody writes the job while a thread is inside or its owner is here.
        let job = unsafe { *self.job.get() };
        let mut own = thread as u64;
        loop {
            let range = match self.order {
                Order::Free => self.next.fetch_add(1, Ordering::Relaxed),
                Order::Dealt { .. } => own,
            };
            own += self.threads as u64;
            if range >= job.ranges {
                return;
            }
            // SAFETY: each range is handed out once.
            unsafe { job.run(range) };
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
