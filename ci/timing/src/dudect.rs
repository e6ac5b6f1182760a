//! Tests whether the time of an operation depends on which of two inputs it gets. The method is
//! that of Reparaz, Balasch and Verbauwhede, "Dude, is my code constant time?" (2017).
//!
//! One of the two inputs is drawn at random for each measurement, so that any drift affects both
//! alike. Welch's t is the distance between the two means in standard errors. It is computed over
//! all measurements, and over those below each of a hundred limits, because interruptions hide
//! small differences. It is also computed over the squared distances from the mean, because equal
//! means may have different spreads.

use core::time::Duration;

use harness::wire::Noise;

use crate::Result;

/// An operation that times itself on the input of a class, 0 or 1. It prepares both inputs in the
/// same way and place.
pub(crate) type Subject = Box<dyn FnMut(usize) -> Result<Duration>>;

/// The result of a subject's measurements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finding {
    /// The number of measurements.
    pub(crate) measurements: usize,
    /// Welch's t over all measurements.
    pub(crate) t_of_all: f64,
    /// The t farthest from zero in all tests.
    pub(crate) t: f64,
    /// The median in nanoseconds, both classes together.
    pub(crate) median: f64,
    /// The mean nanoseconds by which class 0 takes longer, in the test that found `t`; squared if
    /// that is the test of the spreads.
    pub(crate) difference: f64,
}

/// Takes `measurements` measurements of `subject`, after a tenth as many for warm-up.
pub(crate) fn measure(subject: &mut Subject, measurements: usize, seed: u64) -> Result<Finding> {
    let mut noise = Noise::new(seed);
    let mut times = Vec::with_capacity(measurements);
    for number in 0..measurements + measurements / 10 {
        let class = (noise.next() >> 63) as usize;
        let time = subject(class)?.as_nanos() as f64;
        if number >= measurements / 10 {
            times.push((class, time));
        }
    }
    evaluate(&times).ok_or_else(|| "too few measurements".into())
}

/// The number of limits.
const LIMITS: i32 = 100;

/// The fewest measurements of a class that a test needs.
const FEWEST: f64 = 20.0;

fn evaluate(times: &[(usize, f64)]) -> Option<Finding> {
    let mut sorted: Vec<_> = times.iter().map(|(_, time)| *time).collect();
    sorted.sort_by(f64::total_cmp);
    let quantile = |q: f64| sorted.get((q * sorted.len() as f64) as usize).copied();

    let all = Welch::of(times.iter().copied());
    let mut worst = all;
    let mut consider = |test: Welch| {
        if test.t().abs() > worst.t().abs() {
            worst = test;
        }
    };
    for limit in 1..=LIMITS {
        // the limits approach the longest measurement
        let limit = quantile(1.0 - 0.5f64.powf(f64::from(limit) / 10.0))?;
        let shorter = times.iter().copied().filter(|(_, time)| *time < limit);
        consider(Welch::of(shorter));
    }
    let longest = quantile(0.999)?;
    let shorter = || times.iter().copied().filter(|(_, time)| *time < longest);
    let means = Welch::of(shorter()).means();
    consider(Welch::of(
        shorter().map(|(class, time)| (class, (time - means[class]).powi(2))),
    ));
    let [first, second] = worst.means();
    Some(Finding {
        measurements: times.len(),
        t_of_all: all.t(),
        t: worst.t(),
        median: quantile(0.5)?,
        difference: first - second,
    })
}

/// Count, mean and sum of squared distances from the mean, for each class (Welford's method).
#[derive(Clone, Copy, Default)]
struct Welch([(f64, f64, f64); 2]);

impl Welch {
    fn of(samples: impl Iterator<Item = (usize, f64)>) -> Self {
        let mut test = Self::default();
        for (class, sample) in samples {
            let (count, mean, squares) = &mut test.0[class];
            *count += 1.0;
            let distance = sample - *mean;
            *mean += distance / *count;
            *squares += distance * (sample - *mean);
        }
        test
    }

    fn means(&self) -> [f64; 2] {
        self.0.map(|(_, mean, _)| mean)
    }

    /// Welch's t. Zero if there are too few samples, or all are equal.
    fn t(&self) -> f64 {
        if self.0.iter().any(|(count, ..)| *count < FEWEST) {
            return 0.0;
        }
        let [first, second] = self.means();
        let variances = self
            .0
            .map(|(count, _, squares)| squares / (count - 1.0) / count);
        let error = (variances[0] + variances[1]).sqrt();
        if error == 0.0 {
            return 0.0;
        }
        (first - second) / error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` times of each class, from 0 to `spread` above `least`.
    fn times(least: [f64; 2], spread: [usize; 2], count: usize) -> Vec<(usize, f64)> {
        let mut noise = Noise::new(7);
        let both = (0..count).flat_map(|_| [0, 1]);
        both.map(|class| (class, least[class] + noise.up_to(spread[class]) as f64))
            .collect()
    }

    #[test]
    fn welchs_t_has_its_textbook_value() {
        // 1..=20 and 11..=30: means 10.5 and 20.5, both variances 35, so 10 / √(35/20 + 35/20)
        let first = (1..=20).map(|time| (0, f64::from(time)));
        let second = (11..=30).map(|time| (1, f64::from(time)));
        let t = Welch::of(first.chain(second)).t();
        assert!((t + 10.0 / 3.5f64.sqrt()).abs() < 1e-9, "{t}");
    }

    #[test]
    fn equal_times_give_no_difference() {
        let found = evaluate(&times([500.0; 2], [100; 2], 20_000)).unwrap();
        assert_eq!(found.measurements, 40_000);
        assert!(found.t.abs() < 4.5, "{found:?}");
        // a clock that does not advance
        assert_eq!(evaluate(&times([500.0; 2], [1; 2], 1000)).unwrap().t, 0.0);
    }

    #[test]
    fn a_higher_mean_and_a_wider_spread_are_found() {
        let found = evaluate(&times([503.0, 500.0], [100; 2], 20_000)).unwrap();
        assert!(found.t > 4.5 && found.t_of_all > 4.5, "{found:?}");
        assert!((found.difference - 3.0).abs() < 2.0, "{found:?}");

        let found = evaluate(&times([475.0, 500.0], [150, 100], 20_000)).unwrap();
        assert!(found.t_of_all.abs() < 4.5, "one mean: {found:?}");
        assert!(found.t.abs() > 4.5, "{found:?}");
    }

    #[test]
    fn a_small_difference_is_found_among_interruptions() {
        let mut times = times([502.0, 500.0], [20; 2], 20_000);
        let mut noise = Noise::new(3);
        for (_, time) in &mut times {
            if noise.up_to(50) == 1 {
                *time += 1e4 * noise.up_to(1000) as f64;
            }
        }
        let found = evaluate(&times).unwrap();
        assert!(found.t_of_all.abs() < 4.5 && found.t > 4.5, "{found:?}");
    }
}
