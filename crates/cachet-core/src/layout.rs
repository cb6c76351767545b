//! Where does a layout put an element?
//!
//! A layout turns the axes of an array into other axes, and the elements lie row-major over those. `Split` replaces an
//! axis by two: which group, and the place in the group. `Order` puts the axes in another order. Both are one to one, so
//! different elements have different places.
//!
//! `PanelMajor 4` of `[M, K]`: split axis 0 by 4, order (group, k, row), so the physical axes are `ceil (M / 4), K, 4`.

use crate::ir::{Ix, Layout, LayoutOp};

/// The operations of a layout.
pub fn ops(layout: &Layout) -> &[LayoutOp] {
    match layout {
        Layout::RowMajor => &[],
        Layout::Named { name: _, ops } => ops,
    }
}

/// A layout in a message: `in PanelMajor 4`.
pub fn words(layout: &Layout) -> String {
    match layout {
        Layout::RowMajor => "row after row".into(),
        Layout::Named { name, ops: _ } => format!("in {name}"),
    }
}

/// The axes that an array of these extents has in memory, outermost first. A split without `pad` is of a multiple.
pub fn physical(layout: &Layout, extents: &[Ix]) -> Vec<Ix> {
    let outer = |extent: Ix, by: i64| Ix::Div(Box::new(crate::linear::sum(&extent, &Ix::Lit(by - 1))), by);
    over(ops(layout), extents.to_vec(), |extent, by, _| match extent {
        Ix::Lit(n) => (Ix::Lit(groups(n, by)), Ix::Lit(by)),
        extent => (outer(extent, by), Ix::Lit(by)),
    })
}

/// The same of numbers, none of them negative.
pub fn physical_lengths(layout: &Layout, extents: &[i64]) -> Vec<i64> {
    over(ops(layout), extents.to_vec(), |extent, by, _| (groups(extent, by), by))
}

/// How many elements an array has room for, with what its layout fills up; `None` where that is beyond 64 bits.
pub fn room(layout: &Layout, extents: &[i64]) -> Option<i64> {
    let lengths = physical_lengths(layout, extents);
    // Nothing has room in nothing, however long it is.
    if lengths.contains(&0) { Some(0) } else { lengths.into_iter().try_fold(1i64, i64::checked_mul) }
}

/// How many elements lie before the one at an index that is inside the extents.
pub fn place(layout: &Layout, extents: &[i64], at: &[i64]) -> i64 {
    let lengths = physical_lengths(layout, extents);
    let at = over(ops(layout), at.to_vec(), |i, by, back| {
        let place = i.rem_euclid(by);
        (i.div_euclid(by), if back { by - 1 - place } else { place })
    });
    at.iter().zip(&lengths).fold(0, |place, (i, n)| place * n + i)
}

/// What has to be divisible by what: the extents that are split without `pad`.
pub fn divided(layout: &Layout, extents: &[Ix]) -> Vec<(Ix, i64)> {
    let mut axes = extents.to_vec();
    let mut out = Vec::new();
    for op in ops(layout) {
        if let LayoutOp::Split { axis, by, pad: false, back: _ } = op {
            out.push((axes[*axis as usize].clone(), *by));
        }
        let one = Layout::Named { name: String::new(), ops: vec![op.clone()] };
        axes = physical(&one, &axes);
    }
    out
}

/// Follows the operations through a list of axes. `split` gives the two that an axis becomes, the outer one first; the last
/// of what it is given is whether places are counted from a group's end.
pub fn over<T>(ops: &[LayoutOp], mut axes: Vec<T>, mut split: impl FnMut(T, i64, bool) -> (T, T)) -> Vec<T> {
    for op in ops {
        match op {
            LayoutOp::Split { axis, by, pad: _, back } => {
                let (outer, inner) = split(axes.remove(*axis as usize), *by, *back);
                axes.insert(*axis as usize, inner);
                axes.insert(*axis as usize, outer);
            }
            LayoutOp::Order(order) => {
                let mut open: Vec<Option<T>> = axes.into_iter().map(Some).collect();
                axes = order.iter().filter_map(|a| open[*a as usize].take()).collect();
            }
        }
    }
    axes
}

/// `ceil (extent / by)`
fn groups(extent: i64, by: i64) -> i64 {
    extent.div_euclid(by) + i64::from(extent.rem_euclid(by) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panels(r: i64) -> Layout {
        let ops = vec![LayoutOp::Split { axis: 0, by: r, pad: true, back: false }, LayoutOp::Order(vec![0, 2, 1])];
        Layout::Named { name: format!("Panels {r}"), ops }
    }

    #[test]
    fn panels_are_groups_of_rows_column_after_column() {
        assert_eq!(physical_lengths(&panels(4), &[10, 3]), [3, 3, 4]);
        assert_eq!(room(&panels(4), &[10, 3]), Some(36));
        assert_eq!(physical_lengths(&panels(4), &[0, 3]), [0, 3, 4]);
        assert_eq!(room(&Layout::RowMajor, &[i64::MAX, 2]), None);
        assert_eq!(room(&Layout::RowMajor, &[i64::MAX, 2, 0]), Some(0));
        let n = Ix::Var(crate::ir::Var(0));
        let third = Ix::Div(Box::new(crate::linear::sum(&n, &Ix::Lit(3))), 4);
        assert_eq!(physical(&panels(4), &[n, Ix::Lit(5)]), [third, Ix::Lit(5), Ix::Lit(4)]);
    }

    #[test]
    fn every_element_has_a_place_of_its_own() {
        for layout in [Layout::RowMajor, panels(1), panels(4), panels(7)] {
            for extents in [[5, 3], [8, 1], [1, 9]] {
                let mut seen = std::collections::BTreeSet::new();
                for i in 0..extents[0] {
                    for k in 0..extents[1] {
                        let at = place(&layout, &extents, &[i, k]);
                        assert!(at < room(&layout, &extents).unwrap());
                        seen.insert(at);
                    }
                }
                assert_eq!(seen.len() as i64, extents[0] * extents[1]);
            }
        }
    }

    #[test]
    fn what_is_not_filled_up_has_to_be_divisible() {
        let by = |by, axis| LayoutOp::Split { axis, by, pad: false, back: false };
        let layout = Layout::Named { name: "L".into(), ops: vec![by(8, 0), by(2, 0)] };
        let divided = divided(&layout, &[Ix::Lit(64)]);
        assert_eq!(divided, [(Ix::Lit(64), 8), (Ix::Lit(8), 2)]);
    }
}
