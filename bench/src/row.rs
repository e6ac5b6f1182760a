//! One line of a result, as a JSON object.

use harness::peers::pairs::Result;
use serde_json::{Map, Value};

use crate::choices::{Allocator, Choice, Provider};
use crate::statistics::{quantiles, ratio};

/// The keys that say what was measured, in the order in which tables show them. All other keys are
/// figures.
pub(crate) fn subject_keys() -> impl Iterator<Item = &'static str> {
    let keys = "bench provider suite version group key_type topic work primitive role session client_auth certificates verified \
        api direction sharing state way plaintext_size working_set write_size read_size threads connections \
        allocator impl";
    keys.split(' ')
}

/// The subject of a measurement and its figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row(Map<String, Value>);

impl Row {
    pub(crate) fn new(
        bench: &str,
        implementation: &str,
        provider: Provider,
        allocator: Allocator,
    ) -> Self {
        Self(Map::new())
            .with("bench", bench)
            .with("impl", implementation)
            .with("provider", provider.name())
            .with("allocator", allocator.name())
    }

    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Removes `key`.
    pub(crate) fn without(mut self, key: &str) -> Self {
        self.0.remove(key);
        self
    }

    /// Adds `value`, rounded to `places` decimal places.
    pub(crate) fn rounded(self, key: &str, value: f64, places: i32) -> Self {
        let unit = 10f64.powi(places);
        self.with(key, (value * unit).round() / unit)
    }

    /// Adds the median of `samples` and their 10th and 90th percentile, in `unit`.
    pub(crate) fn median(self, key: &str, samples: &[f64], unit: f64) -> Result<Self> {
        let quantiles = quantiles(samples, [0.5, 0.1, 0.9]).ok_or("nothing was measured")?;
        let named = ["", "_p10", "_p90"].iter().zip(quantiles);
        Ok(named.fold(self, |row, (suffix, value)| {
            row.rounded(&format!("{key}{suffix}"), value / unit, 1)
        }))
    }

    /// Adds the median of a contender's `rates` in `unit`, and its ratios to those of upstream and
    /// the limit, round by round. `prefix` precedes each key.
    pub(crate) fn compared(
        self,
        prefix: &str,
        key: &str,
        [rates, upstream, limit]: [&[f64]; 3],
        unit: f64,
    ) -> Result<Self> {
        let keys = ["ratio_to_upstream", "share_of_limit"].map(|key| format!("{prefix}{key}"));
        let row = self.median(&format!("{prefix}{key}"), rates, unit)?;
        row.ratio(&keys[0], ratio(rates, upstream))?
            .ratio(&keys[1], ratio(rates, limit))
    }

    /// Adds `value` as a ratio.
    pub(crate) fn ratio(self, key: &str, value: Option<f64>) -> Result<Self> {
        Ok(self.rounded(key, value.ok_or("nothing was measured")?, 4))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// The text of `key`, or nothing.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(Value::as_f64)
    }

    /// The keys of all figures.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &str> {
        let keys = self.0.keys().map(String::as_str);
        keys.filter(|key| *key != "machine" && subject_keys().all(|of_subject| of_subject != *key))
    }

    /// Returns the values that identify the row's subject, except for the keys `without`.
    pub(crate) fn subject(&self, without: &[&str]) -> Vec<Option<&Value>> {
        let keys = subject_keys().filter(|key| !without.contains(key));
        keys.map(|key| self.get(key)).collect()
    }

    pub(crate) fn parse(line: &str) -> serde_json::Result<Self> {
        serde_json::from_str(line).map(Self)
    }

    /// Parses an output of `--json`.
    pub(crate) fn read_all(file: &std::path::Path) -> Result<Vec<Self>> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let rows: serde_json::Result<_> = text.lines().map(Self::parse).collect();
        Ok(rows.map_err(|error| format!("{} is no output of --json: {error}", file.display()))?)
    }

    pub(crate) fn json(&self) -> String {
        Value::from(self.0.clone()).to_string()
    }
}
