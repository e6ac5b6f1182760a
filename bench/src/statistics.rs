//! Median and spread of samples.

/// The median of the samples and their spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    /// A tenth of the samples is lower.
    pub(crate) p10: f64,
    /// A tenth of the samples is higher.
    pub(crate) p90: f64,
}

impl Summary {
    /// Summarises `samples`, in any order. `None` if there are none.
    pub(crate) fn of(mut samples: Vec<f64>) -> Option<Self> {
        samples.sort_by(f64::total_cmp);
        Some(Self {
            median: quantile(&samples, 0.5)?,
            p10: quantile(&samples, 0.1)?,
            p90: quantile(&samples, 0.9)?,
        })
    }
}

/// The median of `samples`, in any order. `None` if there are none.
pub(crate) fn median(samples: Vec<f64>) -> Option<f64> {
    Summary::of(samples).map(|summary| summary.median)
}

/// The median of the ratios of `a` to `b`, round by round. `None` if there are none.
pub(crate) fn ratio(a: &[f64], b: &[f64]) -> Option<f64> {
    median(a.iter().zip(b).map(|(a, b)| a / b).collect())
}

/// Rounds `value` to `places` decimal places.
pub(crate) fn rounded(value: f64, places: i32) -> f64 {
    let unit = 10f64.powi(places);
    (value * unit).round() / unit
}

/// The quantile `q` of `sorted`, interpolated linearly between its two neighbours.
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = q * last as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(below + (above - below) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_known_samples() {
        let summary = Summary::of((0..=10).rev().map(f64::from).collect()).unwrap();
        assert_eq!((summary.p10, summary.median, summary.p90), (1.0, 5.0, 9.0));

        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![7.0]), Some(7.0));
        assert_eq!(median(vec![]), None);

        let single = Summary::of(vec![3.0]).unwrap();
        assert_eq!((single.p10, single.p90), (3.0, 3.0));
    }

    #[test]
    fn one_outlier_does_not_move_the_median() {
        assert_eq!(median(vec![1.0, 1.0, 1.0, 1.0, 1e9]), Some(1.0));
    }
}
