//! The values of all rounds, and their tables.

use std::fmt::Write;

use driver::document;
use driver::statistics::{median, percentile};
use serde_json::json;

use crate::contenders::{BASELINE, Contender, OLD_STREAMS, THIS};
use crate::sample::{Sample, Usage};
use crate::scenarios::{DUPLEX, Scenario};

pub(crate) struct Results<'a> {
    scenarios: &'a [Scenario],
    contenders: &'a [Contender],
    /// The samples of each round, by scenario, then by contender.
    samples: Vec<Vec<Vec<Sample>>>,
}

/// A measure, its unit, and its value in a sample.
type Measure = (&'static str, fn(Usage, f64) -> f64);

const MEASURES: [Measure; 4] = [
    ("CPU s", |usage, _| usage.cpu),
    ("seconds", |_, elapsed| elapsed),
    ("calls", |usage, _| usage.calls),
    ("peak MB", |usage, _| usage.peak),
];

/// The rows of README's table.
const SUMMARY: [&str; 7] = [
    "download 16 KiB",
    "download 64 KiB",
    "HTTP/1.1 body",
    "HTTP/2 body",
    "HTTP/1.1 requests",
    "connections, full handshakes",
    "proxy 16 KiB, the proxy alone",
];

/// The samples of a row.
struct Row<'a> {
    name: String,
    scenario: &'a Scenario,
    /// By contender, then by round: the resources, and the elapsed time.
    values: Vec<Vec<(Usage, f64)>>,
}

impl<'a> Results<'a> {
    pub(crate) fn new(scenarios: &'a [Scenario], contenders: &'a [Contender]) -> Self {
        Self {
            scenarios,
            contenders,
            samples: vec![vec![Vec::new(); contenders.len()]; scenarios.len()],
        }
    }

    /// Adds a sample of the scenario and the contender with these indices.
    pub(crate) fn add(&mut self, scenario: usize, contender: usize, sample: Sample) {
        self.samples[scenario][contender].push(sample);
    }

    /// Returns a row for each scenario, and one more for each proxy.
    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows = Vec::new();
        for (scenario, samples) in self.scenarios.iter().zip(&self.samples) {
            let row = |name: String, usage: fn(&Sample) -> Option<Usage>| Row {
                name,
                scenario,
                values: samples
                    .iter()
                    .map(|samples| {
                        let values = samples.iter();
                        values
                            .filter_map(|sample| Some((usage(sample)?, sample.elapsed)))
                            .collect()
                    })
                    .collect(),
            };
            rows.push(row(scenario.name.clone(), |sample| Some(sample.total)));
            if scenario.has_proxy() {
                let name = format!("{}, the proxy alone", scenario.name);
                rows.push(row(name, |sample| sample.proxy));
            }
        }
        rows
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.contenders
            .iter()
            .position(|contender| contender.name == name)
    }

    /// Returns the table of CPU time for a terminal, and how both directions at once compare with
    /// one.
    pub(crate) fn table(&self) -> String {
        let lines = self.lines(MEASURES[0], |_| true);
        document::terminal(&lines) + &document::wrapped(&self.duplex())
    }

    /// Returns [`Self::table`] in Markdown, as BENCHMARKS.md has it: without uploads, which mirror
    /// downloads, and without the larger pieces through a proxy and on one connection, whose ratios
    /// are about those of the next smaller ones.
    pub(crate) fn documented(&self) -> String {
        let is_shown = |row: &str| {
            let is_larger = row.ends_with("256 KiB") || row.starts_with("proxy 64 KiB");
            !row.starts_with("upload") && !is_larger
        };
        document::table(&self.lines(MEASURES[0], is_shown)) + &self.duplex()
    }

    pub(crate) fn details(&self) -> String {
        let tables = MEASURES[1..].iter();
        let tables = tables.map(|measure| document::terminal(&self.lines(*measure, |_| true)));
        tables.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn summary(&self) -> String {
        document::table(&self.lines(MEASURES[0], |row| SUMMARY.contains(&row)))
    }

    /// Returns the lines of a table of ratios to the baseline, whose own column is absolute.
    fn lines(&self, measure: Measure, is_shown: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
        let (unit, value) = measure;
        let mut lines = vec![vec![unit.to_owned()]];
        lines[0].extend(self.contenders.iter().map(|known| known.name.to_owned()));
        for row in self.rows() {
            if !is_shown(&row.name) {
                continue;
            }
            let mut line = vec![row.name.clone()];
            for (contender, values) in self.contenders.iter().zip(&row.values) {
                line.push(match contender.name {
                    BASELINE => {
                        let values: Vec<_> = values
                            .iter()
                            .map(|(usage, time)| value(*usage, *time))
                            .collect();
                        let whole = if unit.starts_with("peak") {
                            String::new()
                        } else {
                            format!("/{}", row.scenario.unit.name())
                        };
                        format!("{}{whole}", rounded(median(&values)))
                    }
                    _ => row.ratio(contender.name, self, value),
                });
            }
            lines.push(line);
        }
        lines
    }

    /// Returns the rates of both directions on two processors, in those of one on one.
    fn duplex(&self) -> String {
        let rows = self.rows();
        let find = |name: &str| rows.iter().find(|row| row.name == name);
        let mut places = Vec::new();
        for (place, one, both) in DUPLEX {
            let one: Option<Vec<_>> = one.iter().map(|name| find(name)).collect();
            let (Some(one), Some(both)) = (one, find(both)) else {
                continue;
            };
            let mut ratios = Vec::new();
            for (index, contender) in self.contenders.iter().enumerate() {
                let rounds = both.values[index].iter().enumerate();
                let each: Vec<_> = rounds
                    .map(|(round, (_, elapsed))| {
                        let alone = one.iter().map(|row| 1.0 / row.values[index][round].1);
                        one.len() as f64 / alone.sum::<f64>() / elapsed
                    })
                    .collect();
                if !each.is_empty() {
                    ratios.push(format!("{} {:.2}", contender.name, median(&each)));
                }
            }
            places.push(format!("{place} {}", ratios.join(", ")));
        }
        if places.is_empty() {
            return String::new();
        }
        let places = places.join("; ");
        format!("\nThroughput of both directions on two processors / one on one: {places}.\n")
    }

    /// Returns a line of JSON for each row, contender and measure.
    pub(crate) fn json(&self, caption: &str) -> String {
        let mut lines = String::new();
        for row in self.rows() {
            for (index, contender) in self.contenders.iter().enumerate() {
                if row.values[index].is_empty() {
                    continue;
                }
                for (unit, value) in MEASURES {
                    let values: Vec<_> = row.values[index]
                        .iter()
                        .map(|(usage, time)| value(*usage, *time))
                        .collect();
                    let ratios = row.ratios(index, self.index(BASELINE), value);
                    let to_old_streams = row.ratios(index, self.index(OLD_STREAMS), value);
                    let line = json!({
                        "row": row.name, "contender": contender.name, "measure": unit,
                        "per": row.scenario.unit.name(), "value": median(&values),
                        "ratio": median(&ratios), "ratio_p10": percentile(&ratios, 0.1),
                        "ratio_p90": percentile(&ratios, 0.9),
                        "ratio_to_old_streams": median(&to_old_streams), "run": caption,
                    });
                    // writing to a string cannot fail
                    let _ = writeln!(lines, "{line}");
                }
            }
        }
        lines
    }
}

impl Row<'_> {
    /// Returns the ratios of each round.
    fn ratios(
        &self,
        contender: usize,
        baseline: Option<usize>,
        value: fn(Usage, f64) -> f64,
    ) -> Vec<f64> {
        let Some(baseline) = baseline else {
            return Vec::new();
        };
        let pairs = self.values[baseline].iter().zip(&self.values[contender]);
        pairs
            .map(|(old, new)| value(new.0, new.1) / value(old.0, old.1))
            .collect()
    }

    /// Returns the median of the ratios, for a table. `~` marks those that differ much between
    /// rounds; streams of this repository also have their ratio to those of tokio-rustls.
    fn ratio(&self, name: &str, results: &Results<'_>, value: fn(Usage, f64) -> f64) -> String {
        let Some(index) = results.index(name) else {
            return String::new();
        };
        let ratios = self.ratios(index, results.index(BASELINE), value);
        if ratios.is_empty() {
            return "–".to_owned();
        }
        let spread = percentile(&ratios, 0.9) - percentile(&ratios, 0.1);
        let noise = if spread > 0.15 { "~" } else { "" };
        let mut text = format!("{noise}{:.2}", median(&ratios));
        if name == THIS && results.index(OLD_STREAMS).is_some() {
            let ratios = self.ratios(index, results.index(OLD_STREAMS), value);
            let _ = write!(text, " ({:.2})", median(&ratios));
        }
        text
    }
}

/// Returns `value` with three digits.
fn rounded(value: f64) -> String {
    let digits = 2 - value.abs().max(1e-9).log10().floor() as i32;
    format!("{value:.*}", digits.max(0) as usize)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::scenarios;

    fn contender(name: &'static str) -> Contender {
        Contender {
            name,
            wire: "tls",
            program: PathBuf::new(),
        }
    }

    #[test]
    fn both_directions_are_compared_with_the_mean_rate_of_each_alone() {
        let mut scenarios = scenarios::all();
        scenarios.retain(Scenario::is_in_memory);
        let contenders = [BASELINE, "tcp"].map(contender);
        let mut results = Results::new(&scenarios, &contenders);
        for (place, elapsed) in [1.0, 3.0, 0.9375].into_iter().enumerate() {
            let (total, proxy) = (Usage::default(), None);
            let sample = Sample {
                total,
                proxy,
                elapsed,
            };
            results.add(place, 0, sample);
        }
        assert!(results.duplex().ends_with(": in memory 0.23 1.60.\n"));
        let table = results.table();
        assert_eq!(table.lines().filter(|line| line.ends_with('–')).count(), 3);
    }

    #[test]
    fn the_table_of_all_scenarios_fits_a_terminal() {
        let scenarios = scenarios::all();
        let contenders = [BASELINE, OLD_STREAMS, THIS, "tcp"].map(contender);
        let mut results = Results::new(&scenarios, &contenders);
        for (place, index) in (0..scenarios.len()).flat_map(|place| (0..4).map(move |i| (place, i)))
        {
            for cpu in [0.007_16, 0.0231] {
                let usage = Usage {
                    cpu,
                    ..Usage::default()
                };
                let sample = Sample {
                    total: usage,
                    proxy: Some(usage),
                    elapsed: cpu,
                };
                results.add(place, index, sample);
            }
        }
        let width = |text: String| text.lines().map(|line| line.chars().count()).max();
        assert!(width(results.table()) <= Some(document::WIDTH));
        assert!(width(results.details()) <= Some(document::WIDTH));
    }
}
