//! How large and how fast are the levels of memory?

use super::stopwatch::{Effort, compile, enough, seconds, settled};
use super::system::Cache;
use super::text::{Turn, Vector};
use super::{Bench, DetectedPart, Reading, why};
use crate::buffer::AlignedBuffer;
use crate::error::{ToolError, ToolErrorKind};
use crate::llvm::Kernel;
use std::time::{Duration, Instant};

/// Bytes of one step of a stream.
const BLOCK: usize = 1024;
/// Loads of one turn of a chase.
const HOPS: usize = 16;
/// The memory that the outermost level is measured in: several times the last cache, within bounds.
const LEAST_MEMORY: u64 = 64 << 20;
/// The most of it.
const MOST_MEMORY: u64 = 256 << 20;
/// A cache ends where its loads take so much longer than well inside it.
const BEYOND: f64 = 1.7;
/// A line where nobody says how long one is.
const LINE: u64 = 64;
/// Windows of a chase, at least.
const LEAST_CHASES: usize = 4;
/// At most.
const MOST_CHASES: usize = 60;
/// Pairs of each.
const CHASE_PAIRS: usize = 4;
/// How long a chase goes on that has its least windows.
const CHASED: Duration = Duration::from_millis(200);
/// For what is quick.
const NEAR: Effort = Effort { windows: 15, pairs: 6 };
/// For what takes milliseconds.
const FAR: Effort = Effort { windows: 5, pairs: 3 };

/// The kernels, and memory for them.
struct Memory {
    chase: Kernel,
    read: Kernel,
    write: Kernel,
    buffer: AlignedBuffer,
    written: AlignedBuffer,
}

/// Every cache that the system names, and the memory behind them.
pub(super) fn measure(bench: &mut Bench<'_>, caches: &[Cache]) -> Vec<DetectedPart> {
    let last = caches.last().map_or(0, |c| c.capacity);
    let most = (4 * last).clamp(LEAST_MEMORY, MOST_MEMORY);
    let mut memory = Memory::new(bench, most as usize);
    let mut parts = Vec::new();
    let mut inner = 0;
    for cache in caches {
        let numbers = match &mut memory {
            Ok(memory) => of_cache(bench, memory, cache, inner),
            Err(e) => said(cache, &why(e)),
        };
        parts.push(DetectedPart { name: format!("L{}", cache.level), numbers });
        inner = cache.capacity;
    }
    let mut numbers = Vec::new();
    let line = caches.last().and_then(|c| Some((c.line?, c.source)));
    numbers.push(match line {
        Some((line, source)) => Reading::new("line", line as i64, source),
        None => Reading::missing("line", "the system does not say"),
    });
    if let Ok(memory) = &mut memory {
        // Beyond what this buffer can show, the number would be that of a cache.
        if most >= 2 * last {
            let line = line.map_or(LINE, |l| l.0);
            numbers.push(latency(memory.hops(bench, most, line, 0), most));
            numbers.extend(streams(bench, memory, most, FAR));
        } else {
            let why = format!("the last cache is not much smaller than the {} that probes may take", bytes(most));
            numbers.push(Reading::missing("latency", why));
        }
    }
    parts.push(DetectedPart { name: "DRAM".to_owned(), numbers });
    if caches.is_empty() {
        let why = "neither the system nor the processor describes its caches";
        parts.insert(0, DetectedPart { name: "L1".to_owned(), numbers: vec![Reading::missing("capacity", why)] });
    }
    parts
}

/// What the system says, where nothing can be measured.
fn said(cache: &Cache, why: &str) -> Vec<Reading> {
    let mut out = vec![Reading::new("capacity", cache.capacity as i64, cache.source)];
    out.extend(shape(cache));
    out.push(Reading::missing("latency", why));
    out
}

fn shape(cache: &Cache) -> Vec<Reading> {
    [("line", cache.line), ("ways", cache.ways), ("shared", cache.shared)]
        .into_iter()
        .map(|(field, value)| match value {
            Some(n) => Reading::new(field, n as i64, cache.source),
            None => Reading::missing(field, "the system does not say"),
        })
        .collect()
}

/// A cache; the one inside it ends at `inner`.
fn of_cache(bench: &mut Bench<'_>, memory: &mut Memory, cache: &Cache, inner: u64) -> Vec<Reading> {
    let line = cache.line.unwrap_or(LINE);
    let well = well_inside(cache.capacity, inner);
    let hops = memory.hops(bench, well, line, inner);
    let capacity = match hops {
        Ok(near) => extent(cache, well, near, &mut |size| memory.hops(bench, size, line, inner)),
        Err(_) => Reading::new("capacity", cache.capacity as i64, cache.source),
    };
    let mut out = vec![capacity];
    out.extend(shape(cache));
    out.push(latency(hops, well));
    out.extend(streams(bench, memory, well, NEAR));
    out
}

/// A size that is surely in a cache, and not in the one inside it.
fn well_inside(capacity: u64, inner: u64) -> u64 {
    let half = capacity / 2;
    if inner == 0 || 4 * inner > half { half } else { 4 * inner }
}

/// What of a cache can be relied on: all of it, or where chases get slow.
fn extent(cache: &Cache, well: u64, near: f64, hops: &mut dyn FnMut(u64) -> Result<f64, ToolError>) -> Reading {
    let said = cache.capacity as i64;
    let mut slow: Option<(u64, f64)> = None;
    let mut size = cache.capacity / 4 * 3;
    loop {
        let Ok(taken) = hops(size) else { return Reading::new("capacity", said, cache.source) };
        if taken < BEYOND * near || size <= well {
            break;
        }
        slow = Some((size, taken));
        size = if size.is_power_of_two() { size / 4 * 3 } else { size / 3 * 2 };
    }
    let source = cache.source;
    match slow {
        None => {
            let text = format!("{source}; confirmed by a pointer chase through three quarters of it");
            Reading::new("capacity", said, text)
        }
        Some((beyond, taken)) => {
            let (size, text) = (size.max(well), bytes(beyond));
            let text = format!(
                "measured: a pointer chase takes {near:.0} cycles a load well inside and {taken:.0} in {text}; {source} says {}",
                bytes(cache.capacity)
            );
            Reading::new("capacity", size as i64, text)
        }
    }
}

fn latency(hops: Result<f64, ToolError>, size: u64) -> Reading {
    let source = |cycles: f64| format!("measured: pointer chase through {}, {cycles:.1} cycles a load", bytes(size));
    Reading::of("latency", hops.map(|cycles| (cycles.round() as i64, source(cycles))))
}

fn streams(bench: &mut Bench<'_>, memory: &mut Memory, size: u64, effort: Effort) -> [Reading; 2] {
    let read = memory.stream(bench, size, effort, false);
    let write = memory.stream(bench, size, effort, true);
    let source = |what: &str, rate: f64| {
        (rate.round() as i64, format!("measured: {what} {} in order, one core, bytes in 100 cycles", bytes(size)))
    };
    [
        Reading::of("bandwidth", read.map(|r| source("reading", r))),
        Reading::of("store_bandwidth", write.map(|r| source("writing", r))),
    ]
}

impl Memory {
    fn new(bench: &Bench<'_>, most: usize) -> Result<Memory, ToolError> {
        let v = Vector { bytes: bench.host.vector_bytes() };
        let kernel = |turn| compile(bench.llvm, &bench.host, turn);
        Ok(Memory {
            chase: kernel(Turn::Chase(HOPS))?,
            read: kernel(Turn::Read(v, BLOCK))?,
            write: kernel(Turn::Write(v, BLOCK))?,
            buffer: AlignedBuffer::new(most)?,
            written: AlignedBuffer::new(most)?,
        })
    }

    /// Cycles of a load whose address is the value of the one before it, in so many bytes.
    fn hops(&mut self, bench: &mut Bench<'_>, size: u64, line: u64, inner: u64) -> Result<f64, ToolError> {
        let size = size as usize;
        let Some(room) = self.buffer.bytes_mut().get_mut(..size) else {
            return Err(ToolError::new(ToolErrorKind::Misuse, format!("{size} bytes are more than the buffer has")));
        };
        chain(room, line as usize);
        let mut at = [0_u8; 8];
        at.copy_from_slice(&room.as_ptr().expose_provenance().to_ne_bytes());
        let (room, other) = (self.buffer.bytes(), self.written.bytes());
        let mut nothing = [0_u8; 8];
        let mut fetch = |from: &[u8], bytes: usize| match bytes / BLOCK {
            0 => Ok(0.0),
            blocks => seconds(&self.read, &[1, blocks as i64], from, &mut nothing),
        };
        let chase = &self.chase;
        let mut run = |turns: i64| seconds(chase, &[turns], room, &mut at);
        let turns = enough(&mut run)?;
        let (mut results, start) = (Vec::new(), Instant::now());
        while results.len() < LEAST_CHASES || (results.len() < MOST_CHASES && start.elapsed() < CHASED) {
            // Neighbours may have used the cache: all of it is fetched again, and then the cache inside is filled with other
            // bytes. A window is short, so it hardly comes to a line twice.
            fetch(room, size)?;
            fetch(other, inner as usize)?;
            results.push(bench.clock.window(CHASE_PAIRS, turns, &mut run)?);
        }
        Ok(settled(&mut results) / HOPS as f64)
    }

    /// Bytes of 100 cycles, read or written in order.
    fn stream(&mut self, bench: &mut Bench<'_>, size: u64, effort: Effort, write: bool) -> Result<f64, ToolError> {
        let blocks = (size as usize / BLOCK).max(1);
        let kernel = if write { &self.write } else { &self.read };
        let (from, to) = (self.buffer.bytes(), self.written.bytes_mut());
        let mut run = |turns: i64| seconds(kernel, &[turns, blocks as i64], from, to);
        run(1)?;
        let cycles = bench.clock.cycles(effort, &mut run)?;
        Ok(100.0 * (blocks * BLOCK) as f64 / cycles)
    }
}

/// Makes every line's first word the address of another line, so that all of them are one ring in no order; returns how
/// many there are.
fn chain(room: &mut [u8], line: usize) -> usize {
    let base = room.as_mut_ptr().expose_provenance();
    let lines = room.len() / line;
    let mut order: Vec<u32> = (0..lines as u32).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for k in (1..lines).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(k, (state % (k as u64 + 1)) as usize);
    }
    for (k, from) in order.iter().enumerate() {
        let to = order[(k + 1) % lines] as usize;
        let at = *from as usize * line;
        room[at..at + 8].copy_from_slice(&(base + to * line).to_ne_bytes());
    }
    lines
}

/// `48 KiB`, `1.5 MiB`
fn bytes(n: u64) -> String {
    let (unit, name) = if n < 1 << 20 { (1 << 10, "KiB") } else { (1 << 20, "MiB") };
    if n.is_multiple_of(unit) {
        format!("{} {name}", n / unit)
    } else {
        format!("{:.1} {name}", n as f64 / unit as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_visits_every_line_once() {
        let mut room = vec![0_u8; 64 * 1000];
        let base = room.as_ptr().expose_provenance();
        assert_eq!(chain(&mut room, 64), 1000);
        let mut seen = vec![false; 1000];
        let mut at = 0;
        for _ in 0..1000 {
            assert!(!std::mem::replace(&mut seen[at], true));
            let next: [u8; 8] = room[at * 64..at * 64 + 8].try_into().unwrap();
            at = (usize::from_ne_bytes(next) - base) / 64;
        }
        assert_eq!(at, 0);
    }

    #[test]
    fn a_cache_is_believed_as_far_as_it_is_fast() {
        let mib = 1 << 20;
        let cache = Cache { level: 3, capacity: 32 * mib, line: None, ways: None, shared: None, source: "the system" };
        let whole = extent(&cache, 4 * mib, 50.0, &mut |_| Ok(52.0));
        assert_eq!(whole.value, Some(32 << 20));
        let part = extent(&cache, 4 * mib, 50.0, &mut |size| Ok(if size > 8 * mib { 200.0 } else { 55.0 }));
        assert_eq!(part.value, Some(8 << 20));
        assert!(part.source.contains("the system says 32 MiB") && part.source.contains("in 12 MiB"), "{}", part.source);
        let none = extent(&cache, 4 * mib, 50.0, &mut |_| Ok(200.0));
        assert_eq!(none.value, Some(4 << 20));
        assert_eq!(
            (well_inside(32 * mib, mib), well_inside(mib, 48 << 10), well_inside(48 << 10, 0)),
            (4 * mib, 192 << 10, 24 << 10)
        );
    }
}
