//! How many cycles does a probe's turn take, on a machine that is shared and changes its clock?
//!
//! The clock is a chain of operations of one cycle each, timed in turn with the probe. A *window* is some such pairs; its
//! result is the ratio of the two shortest times. Of several windows the second smallest result counts: a neighbour makes
//! most of them too large, and only a clock that changed inside a window could make one too small.

use std::time::Instant;

use super::text::{self, Turn};
use crate::error::ToolError;
use crate::llvm::{BufferArg, HostTarget, Kernel, KernelArity, Llvm};

/// Operations of one turn of the clock.
const TICKS: usize = 32;
/// Turns of the clock in one run: some 15 microseconds.
const TICK_TURNS: i64 = 1500;
/// The shortest run of a probe, in seconds.
const SHORTEST: f64 = 30e-6;
/// The most turns of one run.
const MOST_TURNS: i64 = 1 << 24;

/// A compiled clock.
pub(super) struct Stopwatch {
    ticks: Kernel,
    operands: [u8; 16],
    result: [u8; 16],
    /// The shortest cycle so far, in seconds.
    cycle: f64,
}

/// How much is measured.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Windows.
    pub windows: usize,
    /// Pairs of a window.
    pub pairs: usize,
}

/// A compiled probe.
pub(super) fn compile(llvm: &Llvm, host: &HostTarget, turn: Turn) -> Result<Kernel, ToolError> {
    let sizes = match turn {
        Turn::Read(..) | Turn::Write(..) => 2,
        Turn::Ticks(_)
        | Turn::Arithmetic(..)
        | Turn::Loads(..)
        | Turn::Broadcasts(..)
        | Turn::Stores(..)
        | Turn::Chase(_) => 1,
    };
    let jit = llvm.compile_and_load(&text::module(host, turn))?;
    jit.kernel(text::NAME, KernelArity { sizes, buffers: 2 })
}

/// Runs a probe once and returns the seconds that took.
pub(super) fn seconds(kernel: &Kernel, sizes: &[i64], read: &[u8], write: &mut [u8]) -> Result<f64, ToolError> {
    let mut buffers = [BufferArg::Read(read), BufferArg::Write(write)];
    let mut call = kernel.prepare(sizes, &mut buffers)?;
    let start = Instant::now();
    call.run();
    Ok(start.elapsed().as_secs_f64().max(1e-9))
}

impl Stopwatch {
    /// Compiles the clock and waits until the core is warm.
    pub(super) fn new(llvm: &Llvm, host: &HostTarget) -> Result<Stopwatch, ToolError> {
        let ticks = compile(llvm, host, Turn::Ticks(TICKS))?;
        let mut operands = [0; 16];
        operands[..8].copy_from_slice(&0x0123_4567_89ab_cdef_u64.to_le_bytes());
        operands[8..].copy_from_slice(&0x0fed_cba9_8765_4321_u64.to_le_bytes());
        let mut clock = Stopwatch { ticks, operands, result: [0; 16], cycle: f64::INFINITY };
        let start = Instant::now();
        while start.elapsed().as_millis() < 50 {
            clock.tick()?;
        }
        Ok(clock)
    }

    /// Megahertz, by the shortest cycle.
    pub(super) fn megahertz(&self) -> f64 {
        1e-6 / self.cycle
    }

    /// Cycles of one turn of a probe: `run` makes so many turns and says how long they took.
    pub(super) fn cycles(
        &mut self,
        effort: Effort,
        run: &mut dyn FnMut(i64) -> Result<f64, ToolError>,
    ) -> Result<f64, ToolError> {
        let turns = enough(run)?;
        let mut results = Vec::new();
        for _ in 0..effort.windows {
            results.push(self.window(effort.pairs, turns, run)?);
        }
        Ok(settled(&mut results))
    }

    /// Cycles of one turn by one window.
    pub(super) fn window(
        &mut self,
        pairs: usize,
        turns: i64,
        run: &mut dyn FnMut(i64) -> Result<f64, ToolError>,
    ) -> Result<f64, ToolError> {
        let (mut cycle, mut probe) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..pairs {
            cycle = cycle.min(self.tick()?);
            probe = probe.min(run(turns)?);
        }
        Ok(probe / turns as f64 / cycle)
    }

    /// Seconds of one cycle, now.
    fn tick(&mut self) -> Result<f64, ToolError> {
        let taken = seconds(&self.ticks, &[TICK_TURNS], &self.operands, &mut self.result)?;
        let cycle = taken / (TICK_TURNS as f64 * TICKS as f64);
        self.cycle = self.cycle.min(cycle);
        Ok(cycle)
    }
}

/// So many turns that a run is long enough to be timed.
pub(super) fn enough(run: &mut dyn FnMut(i64) -> Result<f64, ToolError>) -> Result<i64, ToolError> {
    let mut turns = 1;
    while turns < MOST_TURNS && run(turns)? < SHORTEST {
        turns *= 2;
    }
    Ok(turns)
}

/// The second smallest, or the only one.
pub(super) fn settled(results: &mut [f64]) -> f64 {
    results.sort_by(f64::total_cmp);
    results.get(1).or(results.first()).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_small_result_is_not_believed() {
        assert_eq!(settled(&mut [4.1, 9.0, 2.0, 4.0]), 4.0);
        assert_eq!(settled(&mut [3.0]), 3.0);
        assert_eq!(settled(&mut []), f64::INFINITY);
    }

    #[test]
    fn turns_are_doubled_until_a_run_is_long_enough() {
        assert_eq!(enough(&mut |n| Ok(n as f64 * 1e-6)).unwrap(), 32);
        assert_eq!(enough(&mut |_| Ok(1.0)).unwrap(), 1);
        assert_eq!(enough(&mut |_| Ok(0.0)).unwrap(), MOST_TURNS);
    }
}
