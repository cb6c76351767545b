//! A sample of outputs against the equations themselves.
//!
//! The evaluator of the equations shares nothing with the nest: not its loops, not its folds. It computes single
//! elements, so at full size it is asked for a few: the corners, and some in between.

use super::inputs::Inputs;
use crate::native::Problem;
use cachet_core::equations::{Contraction, Target};
use cachet_core::ir::{Binding, Program};
use cachet_oracle::equations::element;
use cachet_runtime::AlignedBuffer;

/// How many elements of each output are looked at besides the corners.
const SAMPLES: u64 = 24;

/// Compares; gives how many elements were compared.
pub(super) fn check(
    program: &Program,
    c: &Contraction,
    types: &[Binding],
    sizes: &[i64],
    inputs: &Inputs,
    outputs: &[AlignedBuffer],
) -> Result<usize, Problem> {
    let arrays =
        inputs.arrays().ok_or_else(|| Problem::User("the inputs are too large to evaluate the equations on".into()))?;
    let mut compared = 0;
    for e in &c.equations {
        let Target::Output(buffer) = e.target else { continue };
        let Some(param) = c.params.iter().position(|p| *p == buffer) else { continue };
        let Some(output) = c.outputs.iter().position(|p| *p == buffer) else { continue };
        for at in places(inputs.extents(param)) {
            let flat = at.iter().zip(inputs.extents(param)).fold(0, |flat, (i, n)| flat * n + i);
            let want = element(program, c, types, sizes, &arrays, output, &at).map_err(|e| {
                Problem::User(format!("the equations of `{}` cannot be evaluated at {at:?}: {e:?}", c.name))
            })?;
            if !inputs.holds(param, outputs[output].bytes(), flat as usize, &want) {
                return Err(Problem::User(format!(
                    "the nest of `{}` and its equations disagree at {at:?}: this is a bug of the compiler",
                    c.name
                )));
            }
            compared += 1;
        }
    }
    Ok(compared)
}

/// The corners of a box, and places spread over it.
fn places(extents: &[i64]) -> Vec<Vec<i64>> {
    if extents.contains(&0) {
        return vec![];
    }
    let corner = |mask: u64| -> Vec<i64> {
        extents.iter().enumerate().map(|(axis, n)| if mask >> axis & 1 == 1 { n - 1 } else { 0 }).collect()
    };
    let spread = |s: u64| -> Vec<i64> {
        let step = |axis: usize, n: i64| {
            (s.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17 * axis as u32 + 5) % n as u64) as i64
        };
        extents.iter().enumerate().map(|(axis, n)| step(axis, *n)).collect()
    };
    let mut out: Vec<Vec<i64>> = (0..1u64 << extents.len().min(4)).map(corner).collect();
    out.extend((1..=SAMPLES).map(spread));
    out
}
