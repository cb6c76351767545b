//! Which operations bound a call, and how fast does one core do them?
//!
//! Those of the instruction that does most of them in the same time, among the multiply-adds of the elements and the
//! instructions that the kernels use where the processor has them; all are measured in registers.

use super::arithmetic::Arithmetic;
use crate::native::{self, Problem};
use cachet_core::instr::{self, Instr};
use cachet_core::ir::{Elem, FunId, Program};
use cachet_runtime::{Llvm, PeakProbe, ProbeElement};
use std::collections::BTreeSet;

/// An instruction that may bound a call.
pub(super) struct Candidate<'a> {
    instr: &'a Instr,
    /// Operations of one use.
    operations: f64,
}

/// The instructions of functions that do more than one multiply-add for a lane of their result: others are no faster than
/// multiply-adds are.
pub(super) fn candidates<'a>(program: &'a Program, arithmetic: &Arithmetic<'_>, funs: &[FunId]) -> Vec<Candidate<'a>> {
    let used: BTreeSet<_> = funs.iter().flat_map(|f| instr::uses(program, *f)).collect();
    let all = used.into_iter().filter_map(|id| program.instrs.get(id.index()));
    let of = |instr| Candidate { instr, operations: arithmetic.of_instruction(instr) };
    all.map(of).filter(|c| c.operations > 2.0 * c.instr.lanes as f64).collect()
}

/// The probe of the fastest, and the instruction's name where it is one.
pub(super) fn probe(
    llvm: &Llvm,
    candidates: &[Candidate<'_>],
    sums: Elem,
) -> Result<(PeakProbe, Option<String>), Problem> {
    let element = if sums == Elem::F64 { ProbeElement::F64 } else { ProbeElement::F32 };
    let mut best = (PeakProbe::of_multiply_adds(llvm, element).map_err(Problem::Tool)?, None);
    let host = llvm.host().map_err(Problem::Tool)?;
    let loops = candidates.iter().filter(|c| c.instr.elem == sums);
    let loops: Vec<_> = loops.filter_map(|c| Some((c, native::probe(c.instr, c.operations, &host)?))).collect();
    if loops.is_empty() {
        return Ok(best);
    }
    let mut peak = if matches!(sums, Elem::F32 | Elem::F64) { best.0.peak() } else { 0.0 };
    for (candidate, of) in loops {
        let mut probe = PeakProbe::of_loop(llvm, of).map_err(Problem::Tool)?;
        let reached = probe.peak();
        if reached > peak {
            (best, peak) = ((probe, Some(candidate.instr.name.clone())), reached);
        }
    }
    Ok(best)
}
