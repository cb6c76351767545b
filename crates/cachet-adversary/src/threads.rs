//! Cases on several threads, with the same report as on one.

use crate::population::Report;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Cases that a thread takes at once.
const PORTION: usize = 64;
/// A thread's stack: programs and conditions nest, and what walks them recurses.
const STACK: usize = 64 << 20;

/// Runs the cases below `count` in portions; the reports are put together in the order of the cases.
pub fn run(count: usize, portion: impl Fn(Range<usize>) -> Report + Sync) -> Report {
    let parts = map(count.div_ceil(PORTION), |n| portion(n * PORTION..count.min((n + 1) * PORTION)));
    parts.into_iter().fold(Report::default(), Report::and)
}

/// The value of each number below `count`, in order.
pub fn map<T: Send>(count: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(count);
    let (next, made) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= count {
                    return;
                }
                let value = of(n);
                made.lock().unwrap().push((n, value));
            }
        };
        let started: Vec<_> = (0..threads)
            .map(|_| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).unwrap())
            .collect();
        for thread in started {
            if let Err(what) = thread.join() {
                std::panic::resume_unwind(what);
            }
        }
    });
    let mut made = made.into_inner().unwrap();
    made.sort_by_key(|(n, _)| *n);
    made.into_iter().map(|(_, value)| value).collect()
}
