//! The values of counters when a snapshot was taken.

use core::fmt;
use core::time::Duration;

use crate::catalog::{Kind, METRICS, NAMED};

/// The values that [`Counters::snapshot`](crate::Counters::snapshot) read.
///
/// `Display` writes Prometheus' text format (version 0.0.4), so the output can be the response to a
/// scrape.
#[derive(Clone, Debug)]
pub struct Snapshot {
    samples: Vec<Sample>,
}

/// The value of a metric for one combination of its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The name of the metric.
    pub name: &'static str,
    /// The names and values of the labels.
    pub labels: Vec<(&'static str, &'static str)>,
    /// The value at the time of the snapshot.
    pub value: Value,
}

/// The value of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A number of events or bytes, which only grows.
    Count(u64),
    /// A number that rises and falls.
    Gauge(u64),
    /// Durations. `sum / count` is their average.
    Time {
        /// The number of durations.
        count: u64,
        /// The sum of the durations.
        sum: Duration,
    },
}

impl Value {
    /// Returns the number of events, bytes or durations, or the value of a gauge.
    pub fn count(self) -> u64 {
        match self {
            Self::Count(count) | Self::Gauge(count) | Self::Time { count, .. } => count,
        }
    }
}

impl Snapshot {
    pub(crate) fn new(samples: Vec<Sample>) -> Self {
        Self { samples }
    }

    /// Returns all values that are not zero, and all gauges, grouped by name.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Adds up the samples of metric `name` that have all of these labels. For durations, adds up
    /// their number.
    pub fn count(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let samples = self.matching(name, labels);
        samples.map(|sample| sample.value.count()).sum()
    }

    /// Adds up the durations of metric `name` that have all of these labels. Returns zero for
    /// metrics of other kinds.
    pub fn time(&self, name: &str, labels: &[(&str, &str)]) -> Duration {
        let samples = self.matching(name, labels);
        let times = samples.map(|sample| match sample.value {
            Value::Time { sum, .. } => sum,
            Value::Count(_) | Value::Gauge(_) => Duration::ZERO,
        });
        times.sum()
    }

    fn matching(&self, name: &str, labels: &[(&str, &str)]) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| {
            sample.name == name && labels.iter().all(|label| sample.labels.contains(label))
        })
    }
}

impl Sample {
    pub(crate) fn new(
        name: &'static str,
        labels: Vec<(&'static str, &'static str)>,
        value: Value,
    ) -> Self {
        Self {
            name,
            labels,
            value,
        }
    }

    /// Writes the line of a value. No label has a character that needs to be escaped.
    fn line(
        &self,
        f: &mut fmt::Formatter<'_>,
        suffix: &str,
        value: impl fmt::Display,
    ) -> fmt::Result {
        write!(f, "{}{suffix}{{", self.name)?;
        for (i, (name, value)) in self.labels.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{name}=\"{value}\"")?;
        }
        writeln!(f, "}} {value}")
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = "";
        for sample in &self.samples {
            if sample.name != last {
                last = sample.name;
                let (help, kind) = header(last);
                writeln!(f, "# HELP {last} {help}\n# TYPE {last} {kind}")?;
            }
            match sample.value {
                Value::Count(value) | Value::Gauge(value) => sample.line(f, "", value)?,
                Value::Time { count, sum } => {
                    sample.line(f, "_sum", sum.as_secs_f64())?;
                    sample.line(f, "_count", count)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the help text and Prometheus' type of a metric.
fn header(name: &str) -> (&'static str, &'static str) {
    if let Some(named) = NAMED.iter().find(|named| named.name == name) {
        return (named.help, "counter");
    }
    let metric = METRICS.iter().find(|metric| metric.name == name);
    metric.map_or(("", "untyped"), |metric| {
        let kind = match metric.kind {
            Kind::Counter | Kind::Bytes => "counter",
            Kind::Gauge => "gauge",
            // without quantiles
            Kind::Time => "summary",
        };
        (metric.help, kind)
    })
}
