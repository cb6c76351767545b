//! How is memory for many small trees had quickly? An allocator for a process that checks programs and ends.
//!
//! Conditions are trees of millions of small parts that live briefly, and a general allocator takes a third of the time that
//! proving them takes. Here every thread has shelves of free blocks, one for each size, and cuts new ones from large pieces
//! that are never given back to the system; a block goes to the shelf of the thread that frees it. No lock is taken but where a
//! thread starts, ends, or needs another piece. What is large comes from the system's allocator and goes back there.
//!
//! A thread that ends leaves its shelves to the next that starts, so memory does not grow with the number of threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// The allocator; a program names it as its global one.
pub struct Heap;

/// Blocks up to [`FINE`] bytes differ by this much, and are aligned to it.
const GRAIN: usize = 16;
/// Up to here there is a shelf for every multiple of [`GRAIN`].
const FINE: usize = 1024;
/// The largest block of a shelf.
const LARGEST: usize = 32 << 10;
/// Above [`FINE`] there are so many shelves for each doubling.
const STEPS: usize = 4;
const SHELVES: usize = FINE / GRAIN + STEPS * (LARGEST / FINE).ilog2() as usize;
/// How much is taken from the system at once.
const PIECE: usize = 1 << 20;
/// Of so many threads that have ended the shelves are kept.
const MOST_LEFT: usize = 64;

/// A free block: its first word is the next one.
struct Free {
    next: *mut Free,
}

struct Stock {
    shelves: [*mut Free; SHELVES],
    /// What is left of the newest piece.
    at: *mut u8,
    left: usize,
}

/// What is passed from thread to thread.
struct Left([Option<Stock>; MOST_LEFT]);

// SAFETY: a stock's blocks belong to whoever has the stock; the list hands each to one thread.
unsafe impl Send for Left {}

static LEFT: Mutex<Left> = Mutex::new(Left([const { None }; MOST_LEFT]));

/// Passes the shelves on when its thread ends.
struct AtEnd;

impl Drop for AtEnd {
    fn drop(&mut self) {
        let stock = STOCK.with(|s| {
            // SAFETY: the stock is only touched inside functions of this file that call nothing of the outside while they
            // do, so nobody else is in it.
            unsafe { std::mem::replace(&mut *s.get(), Stock::EMPTY) }
        });
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = left.0.iter_mut().find(|p| p.is_none()) {
            *place = Some(stock);
        }
    }
}

thread_local! {
    static STOCK: UnsafeCell<Stock> = const { UnsafeCell::new(Stock::EMPTY) };
    /// Whether the thread has begun to use shelves.
    static BEGUN: Cell<bool> = const { Cell::new(false) };
    static AT_END: AtEnd = const { AtEnd };
}

impl Stock {
    const EMPTY: Stock = Stock { shelves: [null_mut(); SHELVES], at: null_mut(), left: 0 };

    /// The first block of a shelf.
    #[inline]
    fn take(&mut self, shelf: usize) -> Option<*mut u8> {
        let first = self.shelves[shelf];
        if first.is_null() {
            return None;
        }
        // SAFETY: blocks on a shelf are free and begin with a `Free`, which `put` wrote.
        self.shelves[shelf] = unsafe { (*first).next };
        Some(first.cast())
    }

    #[inline]
    fn put(&mut self, shelf: usize, block: *mut u8) {
        let block: *mut Free = block.cast();
        // SAFETY: the block is free, has at least `GRAIN` bytes and is aligned to `GRAIN`.
        unsafe { (*block).next = self.shelves[shelf] };
        self.shelves[shelf] = block;
    }

    /// A block cut from the newest piece, if it still holds one.
    #[inline]
    fn cut(&mut self, size: usize) -> Option<*mut u8> {
        if size > self.left {
            return None;
        }
        let block = self.at;
        // SAFETY: `left` bytes from `at` on belong to the piece.
        self.at = unsafe { block.add(size) };
        self.left -= size;
        Some(block)
    }
}

/// The shelf for blocks of at least `size` bytes, and how large those are.
#[inline]
fn shelf(size: usize) -> (usize, usize) {
    if size <= FINE {
        let n = size.div_ceil(GRAIN).max(1);
        return (n - 1, n * GRAIN);
    }
    // Between two powers of two there are `STEPS` sizes; a size that is the smaller power belongs to the doubling below.
    let doubling = (size - 1).ilog2();
    let step = (1usize << doubling) / STEPS;
    let n = (size - (1 << doubling)).div_ceil(step);
    let place = FINE / GRAIN + STEPS * (doubling - FINE.ilog2()) as usize + n - 1;
    (place, (1 << doubling) + n * step)
}

/// Whether such a block lies on a shelf.
#[inline]
fn shelved(layout: &Layout) -> bool {
    layout.size() <= LARGEST && layout.align() <= GRAIN
}

/// A block where neither the shelf nor the piece has one.
#[cold]
fn refill(shelf: usize, size: usize) -> *mut u8 {
    if !BEGUN.replace(true) {
        if let Some(stock) = LEFT.lock().unwrap_or_else(PoisonError::into_inner).0.iter_mut().find_map(Option::take) {
            // SAFETY: as in `AtEnd`. A thread that has not begun has nothing on its shelves but what others allocated
            // and it has freed; those blocks are few and are left.
            STOCK.with(|s| unsafe { *s.get() = stock });
        }
        // Registering what runs at the thread's end may allocate, and finds the shelves usable.
        let _ = AT_END.try_with(|_| ());
        return allocate(shelf, size);
    }
    let layout = const {
        match Layout::from_size_align(PIECE, 64) {
            Ok(layout) => layout,
            Err(_) => unreachable!(),
        }
    };
    // SAFETY: the layout has a size.
    let piece = unsafe { System.alloc(layout) };
    if piece.is_null() {
        return piece;
    }
    STOCK.with(|s| {
        // SAFETY: as in `AtEnd`.
        let stock = unsafe { &mut *s.get() };
        (stock.at, stock.left) = (piece, PIECE);
        stock.cut(size).unwrap_or(null_mut())
    })
}

#[inline]
fn allocate(shelf: usize, size: usize) -> *mut u8 {
    let found = STOCK.with(|s| {
        // SAFETY: as in `AtEnd`.
        let stock = unsafe { &mut *s.get() };
        stock.take(shelf).or_else(|| stock.cut(size))
    });
    found.unwrap_or_else(|| refill(shelf, size))
}

// SAFETY: a block has the size and alignment that were asked for, belongs to whoever asked until it is freed, and its shelf
// follows from its layout, which is the same when it is freed. Nothing here unwinds.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if shelved(&layout) {
            let (shelf, size) = shelf(layout.size());
            return allocate(shelf, size);
        }
        // SAFETY: the caller's promise is the one asked for.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if shelved(&layout) {
            let (shelf, _) = shelf(layout.size());
            // SAFETY: as in `AtEnd`.
            return STOCK.with(|s| unsafe { (*s.get()).put(shelf, block) });
        }
        // SAFETY: the caller's promise is the one asked for; the block came from there.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if shelved(&layout) {
            // SAFETY: the caller's promise is the one asked for.
            let block = unsafe { self.alloc(layout) };
            if !block.is_null() {
                // SAFETY: the block has so many bytes.
                unsafe { block.write_bytes(0, layout.size()) };
            }
            return block;
        }
        // SAFETY: the caller's promise is the one asked for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that `size`, rounded up to the alignment, is no overflow.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (shelved(&layout), shelved(&wanted)) {
            (true, true) if shelf(layout.size()).0 == shelf(size).0 => return block,
            // SAFETY: the caller's promise is the one asked for; the block came from there.
            (false, false) => return unsafe { System.realloc(block, layout, size) },
            (true | false, true | false) => {}
        }
        // SAFETY: `wanted` has a size, as the caller promises.
        let new = unsafe { self.alloc(wanted) };
        if !new.is_null() {
            // SAFETY: both blocks have so many bytes and are apart; the old one is the caller's to give up.
            unsafe {
                new.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shelf_has_blocks_of_one_size() {
        let mut seen = [0; SHELVES];
        for size in 1..=LARGEST {
            let (place, has) = shelf(size);
            assert!(has >= size && (size <= GRAIN || has < size + size / 4 + GRAIN), "{size} in {has}");
            assert!(has % GRAIN == 0);
            assert!(seen[place] == 0 || seen[place] == has, "shelf {place} has {} and {has}", seen[place]);
            seen[place] = has;
        }
        assert!(seen.is_sorted() && seen[0] == GRAIN && seen[SHELVES - 1] == LARGEST);
    }

    /// A block filled with a number, so that two that share a byte are found out.
    struct Block(*mut u8, Layout, u8);

    impl Block {
        fn new(size: usize, align: usize, mark: u8) -> Block {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the layout has a size.
            let at = unsafe { if mark == 0 { Heap.alloc_zeroed(layout) } else { Heap.alloc(layout) } };
            assert!(!at.is_null() && (at as usize).is_multiple_of(align));
            let block = Block(at, layout, mark);
            if mark != 0 {
                block.fill();
            }
            block
        }

        fn fill(&self) {
            // SAFETY: the block has so many bytes and is ours.
            unsafe { self.0.write_bytes(self.2, self.1.size()) };
        }

        fn holds(&self, bytes: usize) {
            // SAFETY: as above; all of it was written.
            let all = unsafe { std::slice::from_raw_parts(self.0, bytes) };
            assert!(all.iter().all(|b| *b == self.2), "a block of {} was overwritten", self.1.size());
        }

        fn grow(&mut self, size: usize) {
            // SAFETY: the block is ours and has this layout.
            self.0 = unsafe { Heap.realloc(self.0, self.1, size) };
            assert!(!self.0.is_null());
            self.holds(self.1.size().min(size));
            self.1 = Layout::from_size_align(size, self.1.align()).unwrap();
            self.fill();
        }
    }

    impl Drop for Block {
        fn drop(&mut self) {
            self.holds(self.1.size());
            // SAFETY: the block is ours and has this layout.
            unsafe { Heap.dealloc(self.0, self.1) };
        }
    }

    // SAFETY: a block is memory of its own.
    unsafe impl Send for Block {}

    /// Blocks of many sizes and alignments, grown, shrunk and freed in another order.
    fn churn(seed: u64, keep: &mut Vec<Block>) {
        let mut state = seed;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..4000 {
            let most = [16, 200, 2000, 100_000][random(4) as usize];
            let size = 1 + random(most) as usize;
            match random(4) {
                0 | 1 => keep.push(Block::new(size, 1 << random(8), random(256) as u8)),
                2 if !keep.is_empty() => drop(keep.swap_remove(random(keep.len() as u64) as usize)),
                _ => {
                    let n = random(keep.len().max(1) as u64) as usize;
                    if let Some(block) = keep.get_mut(n) {
                        block.grow(size);
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_are_apart_and_keep_what_they_hold() {
        let mut keep = Vec::new();
        churn(1, &mut keep);
        // Each thread frees what the one before has left, and uses its shelves.
        for seed in 2..8 {
            keep = std::thread::spawn(move || {
                churn(seed, &mut keep);
                keep
            })
            .join()
            .unwrap();
        }
        let threads: Vec<_> = (8..12).map(|n| std::thread::spawn(move || churn(n, &mut Vec::new()))).collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
    }

    #[test]
    fn a_thread_that_starts_has_the_shelves_of_one_that_ended() {
        let place = || Block::new(LARGEST, 1, 7).0 as usize;
        let mut places: Vec<usize> = (0..50).map(|_| std::thread::spawn(place).join().unwrap()).collect();
        places.sort_unstable();
        places.dedup();
        // Other tests' threads come and go at the same time.
        assert!(places.len() < 40, "{} of 50 threads have taken memory of their own", places.len());
    }
}
