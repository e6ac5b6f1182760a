//! Percentiles.

/// Returns the median of `values`; of none, 0.
pub fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// Returns the value below which a `share` of `values` lies, interpolated linearly.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_or_the_mean_of_the_two_around_it() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn a_percentile_lies_between_its_neighbours() {
        let values = [10.0, 0.0, 20.0];
        assert_eq!(percentile(&values, 0.0), 0.0);
        assert_eq!(percentile(&values, 0.75), 15.0);
        assert_eq!(percentile(&values, 1.0), 20.0);
    }
}
