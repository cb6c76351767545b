//! Order statistics of small samples.

/// The middle of a sample and the range of its middle 80 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Median.
    pub median: f64,
    /// 10 % quantile.
    pub low: f64,
    /// 90 % quantile.
    pub high: f64,
}

/// Median with the 10–90 % interval; `None` for an empty sample.
pub fn interval(sample: &[f64]) -> Option<Interval> {
    let sorted = sorted(sample);
    let at = |share| quantile_of_sorted(&sorted, share);
    (!sorted.is_empty()).then(|| Interval { median: at(0.5), low: at(0.1), high: at(0.9) })
}

/// The median; NaN for an empty sample.
pub fn median(sample: &[f64]) -> f64 {
    quantile(sample, 0.5)
}

/// The quantile at a share in 0..=1, linear between neighbours (order statistic `share · (n − 1)`); NaN for an empty
/// sample.
pub fn quantile(sample: &[f64], share: f64) -> f64 {
    quantile_of_sorted(&sorted(sample), share)
}

/// Fewer values than this do not show modes.
const LEAST_FOR_MODES: usize = 8;
/// The share of the variance that splitting in two must explain. A uniform sample reaches 0.75, a normal one 0.64.
const EXPLAINED: f64 = 0.85;
/// Modes closer than this, relative to the lower one, are not worth a warning.
const APART: f64 = 0.03;
/// A mode holds at least this share of the values: less is outliers.
const LEAST_SHARE: f64 = 0.2;

/// Two groups that a sample falls into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Mean of the lower group.
    pub low: f64,
    /// Mean of the upper group.
    pub high: f64,
    /// The share of the values that the lower group has.
    pub share_low: f64,
}

/// The two groups that the values fall into, if they do: the best split of the sorted values into a lower and an upper
/// part (Otsu's criterion) explains at least 85 % of the variance, either part has at least 20 % of the values, and the
/// means differ by more than 3 %. One group, uniform or normal, reaches 75 and 64 %.
pub fn modes(sample: &[f64]) -> Option<Modes> {
    let values = sorted(sample);
    if values.len() < LEAST_FOR_MODES {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if total == 0.0 {
        return None;
    }
    let least = (count * LEAST_SHARE).ceil() as usize;
    let split = |at: usize| {
        let (lower, upper) = values.split_at(at);
        let (low, high) = (mean_of(lower), mean_of(upper));
        let (n, m) = (lower.len() as f64, upper.len() as f64);
        let between = n * (low - mean).powi(2) + m * (high - mean).powi(2);
        (between / total, Modes { low, high, share_low: n / count })
    };
    let best = (least..=values.len() - least).map(split).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > EXPLAINED && best.1.high - best.1.low > APART * best.1.low.abs()).then_some(best.1)
}

fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut values = sample.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

fn quantile_of_sorted(values: &[f64], share: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else {
        return f64::NAN;
    };
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let part = position - below as f64;
    values[below] + (values[above] - values[below]) * part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_linear_between_neighbours() {
        let sample = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(median(&sample), 3.0);
        assert_eq!(quantile(&sample, 0.0), 1.0);
        assert_eq!(quantile(&sample, 1.0), 5.0);
        assert_eq!(quantile(&sample, 0.125), 1.5);
        assert_eq!(median(&[1.0, 2.0]), 1.5);
        assert_eq!(median(&[7.0]), 7.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn interval_is_the_middle_eighty_percent() {
        let sample: Vec<f64> = (0..=10).rev().map(f64::from).collect();
        assert_eq!(interval(&sample), Some(Interval { median: 5.0, low: 1.0, high: 9.0 }));
        assert_eq!(interval(&[]), None);
    }

    #[test]
    fn two_modes_are_seen() {
        let two: Vec<f64> = (0..30).map(|i| if i % 3 == 0 { 1.2 } else { 1.0 } + f64::from(i % 5) * 0.001).collect();
        let found = modes(&two).unwrap();
        assert!((found.low - 1.002).abs() < 0.001 && (found.high - 1.202).abs() < 0.001, "{found:?}");
        assert!((found.share_low - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn one_mode_is_not_two() {
        let uniform: Vec<f64> = (0..31).map(|i| 1.0 + f64::from(i) * 0.01).collect();
        assert_eq!(modes(&uniform), None);
        assert_eq!(modes(&[1.0; 31]), None);
        let outlier: Vec<f64> = (0..31).map(|i| if i == 7 { 9.0 } else { 1.0 + f64::from(i % 4) * 0.001 }).collect();
        assert_eq!(modes(&outlier), None);
        let close: Vec<f64> = (0..30).map(|i| if i % 2 == 0 { 1.0 } else { 1.01 }).collect();
        assert_eq!(modes(&close), None);
        assert_eq!(modes(&[1.0, 2.0]), None);
    }
}
