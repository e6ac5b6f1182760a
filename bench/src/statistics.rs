//! Median and spread of samples.

use itertools::Itertools;

/// The quantiles `wanted` of `samples`, interpolated linearly between neighbours. `None` if there
/// are no samples.
pub(crate) fn quantiles<const N: usize>(samples: &[f64], wanted: [f64; N]) -> Option<[f64; N]> {
    let sorted = samples.iter().copied().sorted_by(f64::total_cmp);
    let sorted = sorted.collect_vec();
    let last = sorted.len().checked_sub(1)?;
    Some(wanted.map(|quantile| {
        let at = quantile * last as f64;
        let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
        below + (above - below) * at.fract()
    }))
}

/// The median of `samples`, in any order. `None` if there are none.
pub(crate) fn median(samples: &[f64]) -> Option<f64> {
    quantiles(samples, [0.5]).map(|[median]| median)
}

/// The median of the ratios of `a` to `b`, round by round. `None` if there are none.
pub(crate) fn ratio(a: &[f64], b: &[f64]) -> Option<f64> {
    median(&a.iter().zip(b).map(|(a, b)| a / b).collect_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_known_samples_are_right() {
        let samples = (0..=10).rev().map(f64::from).collect_vec();
        assert_eq!(quantiles(&samples, [0.1, 0.5, 0.9]), Some([1.0, 5.0, 9.0]));
        assert_eq!(quantiles(&[3.0], [0.1, 0.9]), Some([3.0, 3.0]));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        // one outlier does not move it
        assert_eq!(median(&[1.0, 1.0, 1.0, 1.0, 1e9]), Some(1.0));
    }
}
