//! Machine code's side: schedules against the nest, the nest against the interpreter, guard pages, sums over nothing.

use crate::data::{ALL, Param, arrays, by_parity, choices, difference, every, kinds, params};
use crate::families::{Instance, Suite};
use crate::interpreted::{functions, output, ready, without_terms, zeros};
use crate::work::Counts;
use cachet::native::compile;
use cachet_core::ir::{Binding, Elem, FunId};
use cachet_oracle::hostile::{Kind, poison};
use cachet_runtime::{AlignedBuffer, BufferArg, Flush, GuardBuffer, Kernel, Llvm};

/// One in so many choices of four sizes is run, besides the small ones; prime to the number of sizes.
const STRIDE: usize = 101;

/// The nest first, then the schedules.
fn kernels(suite: &Suite, i: &Instance, llvm: &Llvm) -> Vec<(FunId, Kernel)> {
    let bound = |id: FunId| if suite.fun(i, id).type_params.is_empty() { vec![] } else { i.types.clone() };
    let wanted: Vec<(FunId, Vec<Binding>)> = functions(i).map(|id| (id, bound(id))).collect();
    let native = compile(suite.outcome(i), &wanted, llvm).unwrap_or_else(|p| panic!("{}: {p:?}", i.label));
    let kernels = native.kernels().unwrap_or_else(|p| panic!("{}: {p:?}", i.label));
    functions(i).zip(kernels).collect()
}

/// Memory for a parameter, however it is laid out.
trait Memory {
    fn read(&self) -> &[u8];
    fn write(&mut self) -> &mut [u8];
}

impl Memory for AlignedBuffer {
    fn read(&self) -> &[u8] {
        self.bytes()
    }
    fn write(&mut self) -> &mut [u8] {
        self.bytes_mut()
    }
}

impl Memory for GuardBuffer {
    fn read(&self) -> &[u8] {
        self.bytes()
    }
    fn write(&mut self) -> &mut [u8] {
        self.bytes_mut()
    }
}

/// Every parameter in memory of its own, inputs filled and the output, which is the last, poisoned.
fn memory<M: Memory>(elem: Elem, params: &[Param], new: impl Fn(usize) -> M) -> Vec<M> {
    let width = elem.bytes() as usize;
    let one = |p: &Param| {
        let mut m = new(p.count() * width);
        match &p.words {
            Some(words) => {
                for (cell, w) in m.write().chunks_exact_mut(width).zip(words) {
                    cell.copy_from_slice(&w.to_le_bytes()[..width]);
                }
            }
            None => poisoned(elem, m.write()),
        }
        m
    };
    params.iter().map(one).collect()
}

fn poisoned(elem: Elem, bytes: &mut [u8]) {
    let width = elem.bytes() as usize;
    bytes.chunks_exact_mut(width).for_each(|cell| cell.copy_from_slice(&poison(elem).to_le_bytes()[..width]));
}

fn words(elem: Elem, bytes: &[u8]) -> Vec<u64> {
    let word = |cell: &[u8]| {
        let mut word = [0; 8];
        word[..cell.len()].copy_from_slice(cell);
        u64::from_le_bytes(word)
    };
    bytes.chunks_exact(elem.bytes() as usize).map(word).collect()
}

/// Poisons the output, runs, and gives the output's words; poison that is left is a failure.
fn run<M: Memory>(kernel: &Kernel, elem: Elem, sizes: &[i64], memory: &mut [M]) -> Result<Vec<u64>, String> {
    let (out, inputs) = memory.split_last_mut().expect("an output");
    poisoned(elem, out.write());
    let mut args: Vec<BufferArg<'_>> = inputs.iter().map(|m| BufferArg::Read(m.read())).collect();
    args.push(BufferArg::Write(out.write()));
    kernel.call(sizes, &mut args).map_err(|e| e.to_string())?;
    drop(args);
    let got = words(elem, out.read());
    match got.iter().position(|w| *w == poison(elem)) {
        Some(at) => Err(format!("element {at} was not written")),
        None => Ok(got),
    }
}

fn aligned(len: usize) -> AlignedBuffer {
    AlignedBuffer::new(len).expect("memory")
}

/// The sizes that schedules are run at.
pub fn run_at(count: usize) -> Vec<Vec<i64>> {
    choices(&ALL, count, STRIDE)
}

/// Schedules against the nest at every size; hostile inputs of every kind at the small ones.
pub fn schedules(suite: &Suite, i: &Instance, llvm: &Llvm) -> Result<Counts, String> {
    let kernels = kernels(suite, i, llvm);
    let mut counts = Counts::default();
    for sizes in run_at(suite.fun(i, i.nest).sizes.len()) {
        for kind in kinds(&sizes) {
            let mut memory = memory(i.elem, &params(suite, i, &sizes, *kind), aligned);
            let mut want = Vec::new();
            for (n, (id, kernel)) in kernels.iter().enumerate().filter(|(_, k)| suite.takes(i, k.0, &sizes)) {
                let at = |text| format!("{}, {} at {sizes:?}, {kind:?}: {text}", i.label, suite.name(i, *id));
                let got = run(kernel, i.elem, &sizes, &mut memory).map_err(at)?;
                if n == 0 {
                    want = got;
                    continue;
                }
                if let Some(text) = difference(i.elem, &want, &got) {
                    return Err(at(text));
                }
                counts.runs += 1;
                counts.elements += want.len() as u64;
            }
        }
    }
    Ok(counts)
}

/// Every kernel between guard pages, flush with the one and then with the other, against the interpreted nest.
pub fn guarded(suite: &Suite, i: &Instance, llvm: &Llvm) -> Result<Counts, String> {
    let kernels = kernels(suite, i, llvm);
    let nest = ready(suite, i, i.nest);
    let mut counts = Counts::default();
    for sizes in every(&[0, 1, 3, 17], suite.fun(i, i.nest).sizes.len()) {
        let params = params(suite, i, &sizes, by_parity(&sizes));
        let want = output(&nest, &sizes, &arrays(i.elem, &params))?;
        for flush in [Flush::Start, Flush::End] {
            let mut memory = memory(i.elem, &params, |len| GuardBuffer::new(len, flush).expect("memory"));
            for (id, kernel) in kernels.iter().filter(|k| suite.takes(i, k.0, &sizes)) {
                let at = |text| format!("{}, {} at {sizes:?}, {flush:?}: {text}", i.label, suite.name(i, *id));
                let got = run(kernel, i.elem, &sizes, &mut memory).map_err(at)?;
                if let Some(text) = difference(i.elem, &want, &got) {
                    return Err(at(text));
                }
                if !memory.iter().all(GuardBuffer::slack_is_intact) {
                    return Err(at("wrote outside a buffer".into()));
                }
                counts.runs += 1;
                counts.elements += want.len() as u64;
            }
        }
    }
    Ok(counts)
}

/// The nest against the interpreted nest: every size up to nine, of four sizes those up to three and five and nine.
pub fn nest(suite: &Suite, i: &Instance, llvm: &Llvm) -> Result<Counts, String> {
    let kernels = kernels(suite, i, llvm);
    let interpreted = ready(suite, i, i.nest);
    let count = suite.fun(i, i.nest).sizes.len();
    let list: &[i64] = if count < 4 { &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9] } else { &[0, 1, 2, 3, 5, 9] };
    let mut counts = Counts::default();
    for sizes in every(list, count) {
        let kind = by_parity(&sizes);
        let params = params(suite, i, &sizes, kind);
        let at = |text: String| format!("{} at {sizes:?}, {kind:?}: {text}", i.label);
        let want = output(&interpreted, &sizes, &arrays(i.elem, &params)).map_err(at)?;
        let got = run(&kernels[0].1, i.elem, &sizes, &mut memory(i.elem, &params, aligned)).map_err(at)?;
        if let Some(text) = difference(i.elem, &want, &got) {
            return Err(at(text));
        }
        counts.runs += 1;
        counts.elements += want.len() as u64;
    }
    Ok(counts)
}

/// Nest and schedules where the sum has no terms.
pub fn empty_sums(suite: &Suite, i: &Instance, llvm: &Llvm) -> Result<Counts, String> {
    let kernels = kernels(suite, i, llvm);
    let mut counts = Counts::default();
    for sizes in without_terms(suite, i) {
        let mut memory = memory(i.elem, &params(suite, i, &sizes, Kind::Special), aligned);
        for (id, kernel) in kernels.iter().filter(|k| suite.takes(i, k.0, &sizes)) {
            let name = suite.name(i, *id);
            let at = |text| format!("{}, {name} at {sizes:?}: {text}", i.label);
            let got = run(kernel, i.elem, &sizes, &mut memory).map_err(at)?;
            zeros(i, name, &sizes, &got)?;
            counts.runs += 1;
            counts.elements += got.len() as u64;
        }
    }
    Ok(counts)
}
