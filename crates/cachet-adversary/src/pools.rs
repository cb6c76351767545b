//! What do grids leave on pools of several threads?
//!
//! Each accepted grid is run as machine code on every number of threads, its iterations dealt out in another order each time or
//! handed out as threads get to them. Its arrays lie between pages that may not be touched, with the data at one end of them or
//! the other, and what it has to write starts poisoned.

use crate::population::Scale;
use crate::runs::{fill, room, words};
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
        for (n, array) in start.iter().enumerate() {
            let mut m = GuardBuffer::new(room(fun, n, array), self.flush).map_err(told)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{memory, runs};
    use cachet_core::ir::{Elem, FunId};
    use cachet_runtime::KernelArity;

    /// Each iteration reads what the one before has left, which the checker refuses: the orders show it.
    #[test]
    fn a_grid_whose_iterations_meet_is_seen_to() {
        let Ok(llvm) = runs::llvm() else { return };
        let target = cachet_codegen::Options { cpu: String::new(), features: String::new(), vector_bits: 0 };
        let text =
            "fn wrong (mut x: [i64; N]) =\n  grid i in 1 .. N do\n    store x[i] = wrapping_add (load x[i - 1]) 1\n";
        let program = memory::loaded(text).program;
        let text = cachet_codegen::emit(&program, &[(FunId(0), vec![])], &target).unwrap();
        let jit = llvm.compile_and_load(&text.ir).unwrap();
        let kernel = jit.kernel(&text.entries[0].name, KernelArity { sizes: 1, buffers: 1 }).unwrap();
        let start = [Array::from_bits(Elem::I64, &[100], vec![0; 100]).unwrap()];
        let alone = runs::ready(&program, FunId(0), &[]).unwrap();
        let in_order: Vec<u64> = (0..100).collect();
        let pools = Pools::new(1, Scale::Ordinary).unwrap();
        let left = |run| pools.for_run(run).map(|way| way.call(&alone.fun, &kernel, &[100], &start).unwrap().remove(0));
        let dealt: Vec<Vec<u64>> = (0..3).flat_map(left).collect();
        assert_eq!(dealt.len(), 3 * THREADS.len());
        assert!(dealt.iter().all(|words| *words != in_order), "{dealt:?}");
        assert_eq!(left(3).next(), Some(in_order));
    }
}
