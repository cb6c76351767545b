//! Layouts and strides.

use crate::ir::{BufferInfo, Layout, LayoutOp, Strides, Var};

/// What is wrong with a buffer's layout or strides, if anything.
pub(super) fn fault(info: &BufferInfo, sizes: &[Var]) -> Option<&'static str> {
    if let Strides::Given(strides) = &info.strides {
        if strides.len() != info.extents.len() {
            return Some("has not one stride per axis");
        }
        if strides.iter().any(|s| !sizes.contains(s)) {
            return Some("has a stride that is not a size");
        }
    }
    let Layout::Named { name: _, ops } = &info.layout else { return None };
    let mut axes = info.extents.len();
    for op in ops {
        match op {
            LayoutOp::Split { axis, by, pad: _, back: _ } => {
                if *axis as usize >= axes || *by <= 0 {
                    return Some("has a layout that splits what there is not");
                }
                axes += 1;
            }
            LayoutOp::Order(order) => {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                if sorted.len() != axes || sorted.iter().enumerate().any(|(n, a)| *a as usize != n) {
                    return Some("has a layout whose order is no permutation");
                }
            }
        }
    }
    None
}
