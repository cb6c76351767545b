//! The swapped matmul beside what a C compiler makes of the same loops, and beside the naive nest, in paired rounds.
//!
//! `cargo bench -p cachet --bench swap` (needs LLVM and a C compiler)
//!
//! The C loop is the swap with one multiply-add per term, its arrays declared apart; compiled with
//! `-O3 -march=native`. All kernels run on the same inputs in one process, and their bits are compared first.

use cachet::native;
use cachet::pipeline;
use cachet::world::Disk;
use cachet_core::ir::{Binding, ImplId};
use cachet_runtime::{
    AlignedBuffer, BufferArg, Contender, Kernel, KernelArity, Llvm, MeasureOptions, PeakProbe, ProbeElement, measure,
};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Rows, columns and depth.
const SIZE: usize = 1024;

const C: &str = r#"
#include <stdint.h>
void swap__packed(const int64_t *sizes, void *const *buffers) {
  int64_t M = sizes[0], K = sizes[1], N = sizes[2];
  const float *restrict a = buffers[0], *restrict b = buffers[1];
  float *restrict c = buffers[2];
  for (int64_t i = 0; i < M; i++)
    for (int64_t j = 0; j < N; j++)
      c[i * N + j] = -0.0f;
  for (int64_t i = 0; i < M; i++)
    for (int64_t k = 0; k < K; k++)
      for (int64_t j = 0; j < N; j++)
        c[i * N + j] = __builtin_fmaf(a[i * K + k], b[k * N + j], c[i * N + j]);
}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let outcome = pipeline::check(&root.join("examples/matmul.cachet").display().to_string(), &Disk::default());
    let program = outcome.checked.program();
    let plus = program.impls.iter().position(|i| i.name == "PlusTimes f32").ok_or("no PlusTimes f32")?;
    let types = vec![Binding::Impl(ImplId(plus as u32))];
    let ids: Vec<_> = ["swapped", "matmul"].iter().filter_map(|n| outcome.find(n)).collect();
    let wanted: Vec<_> = ids.iter().map(|id| (*id, types.clone())).collect();
    let llvm = Llvm::load()?;
    let native = native::compile(&outcome, &wanted, &llvm).map_err(|p| format!("{p:?}"))?;
    let mut kernels = native.kernels().map_err(|p| format!("{p:?}"))?;
    kernels.insert(1, c_kernel()?);
    let names = ["swapped", "the same loops in C", "matmul (naive)"];

    let (a, b) = (input(1)?, input(2)?);
    let mut outputs: Vec<AlignedBuffer> =
        (0..kernels.len()).map(|_| AlignedBuffer::new(SIZE * SIZE * 4)).collect::<Result<_, _>>()?;
    let sizes = [SIZE as i64; 3];
    for (kernel, out) in kernels.iter().zip(&mut outputs) {
        kernel.call(
            &sizes,
            &mut [BufferArg::Read(a.bytes()), BufferArg::Read(b.bytes()), BufferArg::Write(out.bytes_mut())],
        )?;
    }
    let equal = outputs.iter().all(|o| o.bytes() == outputs[0].bytes());
    println!("bits of all three {}", if equal { "equal" } else { "DIFFER" });
    if !equal {
        return Err("kernels with different bits are not timed".into());
    }

    let mut arguments: Vec<[BufferArg<'_>; 3]> = outputs
        .iter_mut()
        .map(|o| [BufferArg::Read(a.bytes()), BufferArg::Read(b.bytes()), BufferArg::Write(o.bytes_mut())])
        .collect();
    let flops = 2.0 * (SIZE as f64).powi(3);
    let mut contenders = Vec::new();
    for ((kernel, args), name) in kernels.iter().zip(&mut arguments).zip(names) {
        let mut call = kernel.prepare(&sizes, args)?;
        contenders.push(Contender::new(name, Some(flops), move || call.run_in_this_mode()));
    }
    let mut probe = PeakProbe::of_multiply_adds(&llvm, ProbeElement::F32)?;
    let options = MeasureOptions { baseline: 1, budget: Duration::from_secs(40), ..MeasureOptions::default() };
    let report = measure(&mut contenders, &mut || probe.peaks(), &options)?;
    for row in &report.rows {
        let ratio = row
            .ratio
            .as_ref()
            .map(|r| format!("{:.3} of C [{:.3}, {:.3}]", r.median, r.low, r.high))
            .unwrap_or_default();
        println!("{:20} {:9.2} GFLOP/s {:10.3} ms  {ratio}", row.name, row.gflops.unwrap_or(0.0), 1e3 * row.median);
    }
    let times: Vec<f64> = report.rows.iter().map(|r| r.median).collect();
    println!("swapped is {:.1} times as fast as the naive nest", times[2] / times[0]);
    Ok(())
}

fn c_kernel() -> Result<Kernel, Box<dyn Error>> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, library) = (folder.join("swap.c"), folder.join("libswap.so"));
    std::fs::write(&source, C)?;
    let status = Command::new("cc")
        .args(["-O3", "-march=native", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .status()?;
    if !status.success() {
        return Err("the C compiler failed".into());
    }
    Ok(Kernel::from_library(&library, "swap", KernelArity { sizes: 3, buffers: 3 })?)
}

/// Words between -1 and 1.
fn input(seed: u32) -> Result<AlignedBuffer, Box<dyn Error>> {
    let mut out = AlignedBuffer::new(SIZE * SIZE * 4)?;
    let mut state = seed;
    for x in out.elements_mut::<f32>() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *x = (state >> 8) as f32 / (1 << 23) as f32 - 1.0;
    }
    Ok(out)
}
