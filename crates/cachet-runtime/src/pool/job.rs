//! Into which ranges are the iterations of a grid cut, and in which order are they handed out?

use super::{GridBody, Order};
use std::ffi::c_void;

/// Ranges for each thread, so that one that is held up holds up little.
const RANGES_PER_THREAD: u64 = 8;
/// The most ranges that are dealt out.
const MOST_DEALT: u64 = 4096;

/// A grid under way.
#[derive(Clone, Copy)]
pub(super) struct Job {
    body: GridBody,
    env: *mut c_void,
    count: u64,
    /// Iterations in a range; the last range may have fewer.
    size: u64,
    /// How many ranges there are.
    pub(super) ranges: u64,
    /// The range at a place in the order is `place * step + start`, modulo the number of ranges.
    step: u64,
    start: u64,
}

impl Job {
    /// No iterations.
    pub(super) const NONE: Job =
        Job { body: nothing, env: std::ptr::null_mut(), count: 0, size: 1, ranges: 0, step: 1, start: 0 };

    pub(super) fn new(body: GridBody, env: *mut c_void, count: u64, threads: usize, order: Order, number: u64) -> Job {
        let drawn = match order {
            Order::Free => 0,
            Order::Dealt { seed } => mixed(seed ^ mixed(number)),
        };
        let size = match order {
            Order::Free => count.div_ceil(RANGES_PER_THREAD * threads as u64),
            Order::Dealt { .. } => (1 + drawn % 3).max(count.div_ceil(MOST_DEALT)),
        };
        let ranges = count.div_ceil(size);
        let (step, start) = match order {
            Order::Free => (1, 0),
            Order::Dealt { .. } => (prime_to(ranges, mixed(drawn)), mixed(!drawn) % ranges),
        };
        Job { body, env, count, size, ranges, step, start }
    }

    /// Runs the range at a place in the order.
    ///
    /// # Safety
    /// The one who asked for the grid waits for it, and each place is run once.
    pub(super) unsafe fn run(&self, place: u64) {
        let (first, last) = self.range(place);
        // SAFETY: the numbers are below `count`, and in no other range.
        unsafe { (self.body)(self.env, first, last) };
    }

    fn range(&self, place: u64) -> (i64, i64) {
        let turned = (u128::from(place) * u128::from(self.step) + u128::from(self.start)) % u128::from(self.ranges);
        let first = turned as u64 * self.size;
        // `count` is at most the largest `i64`, and nothing here lies beyond it.
        (first as i64, (first + self.size.min(self.count - first)) as i64)
    }
}

unsafe extern "C" fn nothing(_: *mut c_void, _: i64, _: i64) {}

/// A number that has no divisor in common with `n`, from a drawn one on.
fn prime_to(n: u64, drawn: u64) -> u64 {
    let mut at = 1 + drawn % n;
    while common_divisor(at, n) != 1 {
        at = 1 + at % n;
    }
    at
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A number that looks drawn.
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    n ^ (n >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_in_one_range() {
        let orders = [Order::Free, Order::Dealt { seed: 0 }, Order::Dealt { seed: 7 }, Order::Dealt { seed: u64::MAX }];
        for order in orders {
            for (count, threads, number) in
                [1, 2, 3, 7, 8, 100, 4097, 20_000].into_iter().flat_map(|c| [(c, 1, 1), (c, 3, 2), (c, 16, 3)])
            {
                let job = Job::new(nothing, std::ptr::null_mut(), count, threads, order, number);
                let mut ranges: Vec<_> = (0..job.ranges).map(|p| job.range(p)).collect();
                let in_order = ranges.is_sorted();
                assert!(in_order || order != Order::Free);
                ranges.sort_unstable();
                let mut next = 0;
                for (first, last) in ranges {
                    assert!(first == next && last > first, "{order:?} {count} {threads}");
                    next = last;
                }
                assert_eq!(next as u64, count, "{order:?} {threads}");
            }
        }
    }

    #[test]
    fn the_largest_count_does_not_overflow() {
        for order in [Order::Free, Order::Dealt { seed: 3 }] {
            let job = Job::new(nothing, std::ptr::null_mut(), i64::MAX as u64, MOST, order, 1);
            assert_eq!((0..job.ranges).map(|p| job.range(p).1).max(), Some(i64::MAX));
        }
    }

    const MOST: usize = super::super::MOST_THREADS;

    #[test]
    fn dealt_orders_differ() {
        let order = |seed, number| {
            let job = Job::new(nothing, std::ptr::null_mut(), 1000, 7, Order::Dealt { seed }, number);
            (0..job.ranges).map(|p| job.range(p).0).collect::<Vec<_>>()
        };
        assert_ne!(order(1, 1), order(1, 2));
        assert_ne!(order(1, 1), order(2, 1));
        assert!(!order(1, 1).is_sorted());
    }
}
