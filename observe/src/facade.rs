//! The observer for the crate `metrics`.

use core::fmt;
use core::time::Duration;
use std::sync::OnceLock;

use metrics::{Key, KeyName, Label, Level, Metadata, Unit, with_recorder};

use crate::catalog::{CELLS, Kind, METRICS, NAMED, Named, labels_of_cell};
use crate::recording::{Sink, observes};

static METADATA: Metadata<'static> =
    Metadata::new("rustls_observe", Level::INFO, Some(module_path!()));

/// Reports the events of connections to the recorder of the crate [`metrics`](::metrics), and thus
/// to its exporters.
///
/// The recorder is looked up for each event, so it may be installed later, or be local to a thread.
/// Keys whose labels have known values are created on first use and then reused. Call
/// [`describe`](Self::describe) once the recorder is installed to register help texts and units.
///
/// ```
/// use std::sync::Arc;
///
/// use rustls_observe::Metrics;
///
/// # fn configure(mut config: rustls::ServerConfig) {
/// let metrics = Metrics::new().with_label("listener", "public");
/// metrics.describe();
/// config.observer = Some(Arc::new(metrics));
/// # }
/// ```
pub struct Metrics {
    /// The `metrics` key of each cell, created when the cell is first used.
    keys: Box<[OnceLock<Key>]>,
    labels: Vec<Label>,
}

impl Metrics {
    /// Creates an observer for the recorder that is current when events happen.
    pub fn new() -> Self {
        Self {
            keys: (0..CELLS).map(|_| OnceLock::new()).collect(),
            labels: Vec::new(),
        }
    }

    /// Adds a label to all metrics, to distinguish the configurations of one process.
    #[must_use]
    pub fn with_label(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.labels.push(Label::new(name, value.into()));
        self.keys.fill_with(OnceLock::new);
        self
    }

    /// Registers the help text and the unit of each metric with the current recorder.
    pub fn describe(&self) {
        with_recorder(|recorder| {
            for metric in &METRICS {
                let name = KeyName::from_const_str(metric.name);
                let help = metric.help.into();
                match metric.kind {
                    Kind::Counter => recorder.describe_counter(name, Some(Unit::Count), help),
                    Kind::Bytes => recorder.describe_counter(name, Some(Unit::Bytes), help),
                    Kind::Gauge => recorder.describe_gauge(name, Some(Unit::Count), help),
                    Kind::Time => recorder.describe_histogram(name, Some(Unit::Seconds), help),
                }
            }
            for named in NAMED {
                let name = KeyName::from_const_str(named.name);
                recorder.describe_counter(name, Some(Unit::Count), named.help.into());
            }
        });
    }

    fn sink(&self) -> &Self {
        self
    }

    fn key(&self, cell: usize) -> &Key {
        self.keys[cell].get_or_init(|| {
            let (metric, labels) = labels_of_cell(cell);
            self.key_of(metric.name, labels)
        })
    }

    fn key_of(
        &self,
        name: &'static str,
        labels: impl IntoIterator<Item = (&'static str, &'static str)>,
    ) -> Key {
        let labels = labels.into_iter();
        let labels = labels.map(|(name, value)| Label::from_static_parts(name, value));
        Key::from_parts(name, labels.chain(self.labels.clone()).collect::<Vec<_>>())
    }
}

impl Sink for &Metrics {
    fn add(&self, cell: usize, amount: u64) {
        let key = self.key(cell);
        with_recorder(|recorder| recorder.register_counter(key, &METADATA).increment(amount));
    }

    fn shift(&self, cell: usize, rises: bool) {
        let key = self.key(cell);
        with_recorder(|recorder| {
            let gauge = recorder.register_gauge(key, &METADATA);
            match rises {
                true => gauge.increment(1.0),
                false => gauge.decrement(1.0),
            }
        });
    }

    fn time(&self, cell: usize, took: Duration) {
        let key = self.key(cell);
        with_recorder(|recorder| recorder.register_histogram(key, &METADATA).record(took));
    }

    fn add_named(&self, named: &'static Named, values: [&'static str; 4]) {
        let labels = named.labels.into_iter().zip(values);
        let key = self.key_of(named.name, labels.filter(|(name, _)| !name.is_empty()));
        with_recorder(|recorder| recorder.register_counter(&key, &METADATA).increment(1));
    }
}

observes!(Metrics);

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics")
            .field("labels", &self.labels)
            .finish_non_exhaustive()
    }
}
