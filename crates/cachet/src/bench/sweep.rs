//! A contraction at several sizes: how its schedules do over all of them.

use super::Group;
use cachet_runtime::Interval;

/// One contraction over its sizes.
pub struct Sweep<'a> {
    /// The contraction's instance name.
    pub name: &'a str,
    /// In the order they were measured.
    pub groups: Vec<&'a Group>,
    /// Whether ratios are to the fastest library at each size; otherwise they are shares of the roof.
    pub to_fastest: bool,
    /// One for each kernel.
    pub columns: Vec<Column>,
}

/// A kernel over the sizes.
pub struct Column {
    /// Its name.
    pub name: String,
    /// For each size; `None` where it was not timed there.
    pub ratios: Vec<Option<Interval>>,
    /// The geometric mean of the medians.
    pub mean: Option<f64>,
    /// The least median, and at which of the sizes it is.
    pub least: Option<(f64, usize)>,
}

/// The contractions that were measured at several sizes.
pub fn sweeps(groups: &[Group]) -> Vec<Sweep<'_>> {
    let mut out: Vec<Sweep<'_>> = Vec::new();
    for group in groups {
        match out.last_mut().filter(|s| same_kernels(s.groups[0], group)) {
            Some(sweep) => sweep.groups.push(group),
            None => out.push(Sweep { name: &group.name, groups: vec![group], to_fastest: true, columns: vec![] }),
        }
    }
    out.retain(|s| s.groups.len() > 1);
    for sweep in &mut out {
        sweep.to_fastest = sweep.groups.iter().any(|g| g.fastest.is_some());
        let kernels = &sweep.groups[0].rows;
        // The nest is what the others are compared with; alone, it is what was asked for.
        let shown = (0..kernels.len()).filter(|row| kernels.len() == 1 || !kernels[*row].nest);
        sweep.columns = shown.map(|row| column(&sweep.groups, row, sweep.to_fastest)).collect();
    }
    out
}

fn same_kernels(a: &Group, b: &Group) -> bool {
    a.name == b.name && a.rows.len() == b.rows.len() && a.rows.iter().zip(&b.rows).all(|(x, y)| x.name == y.name)
}

fn column(groups: &[&Group], row: usize, to_fastest: bool) -> Column {
    let ratio = |g: &&Group| {
        let timed = g.rows[row].timed?;
        if to_fastest { timed.of_fastest } else { timed.of_roof }
    };
    let ratios: Vec<Option<Interval>> = groups.iter().map(ratio).collect();
    let medians: Vec<(f64, usize)> =
        ratios.iter().enumerate().filter_map(|(n, r)| Some((r.as_ref()?.median, n))).collect();
    let logarithms: f64 = medians.iter().map(|(m, _)| m.ln()).sum();
    Column {
        name: groups[0].rows[row].name.clone(),
        mean: (!medians.is_empty()).then(|| (logarithms / medians.len() as f64).exp()),
        least: medians.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)),
        ratios,
    }
}
