//! What do grids leave on pools of several threads?
//!
//! Each accepted grid is run as machine code on every number of threads, its iterations dealt out in another order each time or
//! handed out as threads get to them. Its arrays lie between pages that may not be touched, with the data at one end of them or
//! the other, and what it has to write starts poisoned.

use crate::population::Scale;
use crate::runs::{bytes, fill, words};
use cachet_core::interpret::Array;
use cachet_core::ir::{Fun, Role};
use cachet_runtime::{BufferArg, Flush, GuardBuffer, Kernel, Order, Pool};

/// Numbers of threads, the one that asks included.
pub const THREADS: [usize; 5] = [1, 2, 3, 7, 16];

/// Pools to run a grid on.
pub struct Pools {
    /// For each number of threads, one that deals and one that does not.
    pools: Vec<[Pool; 2]>,
    /// How often a grid is run on each number of threads.
    runs: usize,
}

impl Pools {
    /// Pools whose orders are drawn from a seed.
    pub fn new(seed: u64, scale: Scale) -> Result<Pools, String> {
        let runs = match scale {
            Scale::Ordinary => 4,
            Scale::Nightly => 20,
        };
        let pool = |threads, order| Pool::in_order(threads, order).map_err(|e| e.to_string());
        let both = |threads: usize| {
            let seed = seed.wrapping_add(threads as u64);
            Ok([pool(threads, Order::Dealt { seed })?, pool(threads, Order::Free)?])
        };
        Ok(Pools { pools: THREADS.into_iter().map(both).collect::<Result<_, String>>()?, runs })
    }

    /// How often a grid is run on each number of threads.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// Each number of threads, for one of a grid's runs.
    pub fn for_run(&self, run: usize) -> impl Iterator<Item = OnThreads<'_>> {
        let (free, flush) = (run % 4 == 3, if run % 4 < 2 { Flush::End } else { Flush::Start });
        self.pools.iter().map(move |both| OnThreads { pool: &both[usize::from(free)], free, flush })
    }
}

/// One way of running a grid.
pub struct OnThreads<'a> {
    pool: &'a Pool,
    free: bool,
    flush: Flush,
}

impl OnThreads<'_> {
    /// The words of every parameter after a call.
    pub fn call(&self, fun: &Fun, kernel: &Kernel, sizes: &[i64], start: &[Array]) -> Result<Vec<Vec<u64>>, String> {
        let told = |e: cachet_runtime::ToolError| e.to_string();
        let mut memory = Vec::new();
        for array in start {
            let mut m = GuardBuffer::new(bytes(array), self.flush).map_err(told)?;
            fill(array, m.bytes_mut());
            memory.push(m);
        }
        let args = memory.iter_mut().zip(&fun.params);
        let mut args: Vec<BufferArg<'_>> = args
            .map(|(m, p)| match fun.buffers[p.index()].role {
                Role::Reads => BufferArg::Read(m.bytes()),
                Role::Mut | Role::Alloc | Role::Lease(_) => BufferArg::Write(m.bytes_mut()),
            })
            .collect();
        kernel.call_on(self.pool.interface(), sizes, &mut args).map_err(told)?;
        drop(args);
        if !memory.iter().all(GuardBuffer::slack_is_intact) {
            return Err("a write beside an array".into());
        }
        Ok(start.iter().zip(&memory).map(|(array, m)| words(array, m.bytes())).collect())
    }
}

impl std::fmt::Display for OnThreads<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = if self.free { "handed out" } else { "dealt" };
        write!(f, "compiled, {how} to {} threads", self.pool.threads())
    }
}
