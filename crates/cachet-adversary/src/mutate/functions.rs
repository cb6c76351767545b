//! Functions that differ from one by one change: in their bodies, requirements and extents.

use super::programs;
use cachet_core::ir::{Fun, Ix};

/// Every one.
pub fn of(fun: &Fun) -> Vec<(String, Fun)> {
    let mut grown = fun.clone();
    let bodies = programs::of(&mut grown, &fun.body);
    let mut out: Vec<_> = bodies.into_iter().map(|(what, body)| (what, Fun { body, ..grown.clone() })).collect();
    for n in 0..fun.requires.len() {
        let mut f = fun.clone();
        f.requires.remove(n);
        out.push((format!("requirement {n} lost"), f));
    }
    for (b, info) in fun.buffers.iter().enumerate() {
        for (axis, extent) in info.extents.iter().enumerate() {
            for by in [-1, 1] {
                let mut f = fun.clone();
                f.buffers[b].extents[axis] = Ix::Add(Box::new(extent.clone()), Box::new(Ix::Lit(by)));
                out.push((format!("extent {axis} of {} {by:+}", info.name), f));
            }
        }
    }
    out
}
