//! The values of all rounds, and the ratios of each round.

use std::fmt::Write;

use driver::statistics::{median, percentile};
use kit::Scenario;
use serde_json::json;

use crate::contenders::{BASELINE, Contender};

/// The values of some scenarios and contenders.
pub(crate) struct Results<'a> {
    pub(crate) contenders: Vec<&'a Contender>,
    scenarios: Vec<Scenario>,
    /// The values of each round, by row, then by contender.
    values: Vec<Vec<Vec<f64>>>,
    pub(crate) notes: Vec<String>,
}

/// A row and its cells, in the order of the contenders.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) cells: Vec<Option<Cell>>,
}

/// The results of one contender in one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    /// The median of all rounds, in the row's unit.
    pub(crate) value: f64,
    /// The median of the ratios of each round to 0.23.46. More is better.
    pub(crate) ratio: f64,
    /// The 10th and 90th percentile of these ratios.
    pub(crate) spread: [f64; 2],
}

impl<'a> Results<'a> {
    pub(crate) fn new(scenarios: &[Scenario], contenders: &[&'a Contender]) -> Self {
        Self {
            contenders: contenders.to_vec(),
            scenarios: scenarios.to_vec(),
            values: vec![vec![Vec::new(); contenders.len()]; 2 * scenarios.len()],
            notes: Vec::new(),
        }
    }

    /// Adds the values of a round, in the scenario and of the contender with these indices.
    pub(crate) fn add(&mut self, scenario: usize, contender: usize, values: [f64; 2]) {
        for (side, value) in values.into_iter().enumerate() {
            self.values[2 * scenario + side][contender].push(value);
        }
    }

    /// Keeps a reason why there is no value, once.
    pub(crate) fn note(&mut self, scenario: &Scenario, contender: &Contender, reason: &str) {
        let note = format!("{}, {}: {reason}", contender.name, scenario.name());
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the index of 0.23.46, if it was measured.
    pub(crate) fn baseline(&self) -> Option<usize> {
        let mut contenders = self.contenders.iter();
        contenders.position(|known| known.name == BASELINE)
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        let named = self.scenarios.iter().flat_map(|scenario| {
            let unit = scenario.unit();
            scenario.rows().map(|name| (name, unit))
        });
        let baseline = self.baseline();
        let rows = named.zip(&self.values).map(|((name, unit), values)| {
            let baseline = baseline.map_or(&[][..], |index| &values[index]);
            let cells = values.iter().map(|values| cell(values, baseline)).collect();
            Row { name, unit, cells }
        });
        rows.collect()
    }

    /// Returns a line of JSON for each cell.
    pub(crate) fn json(&self) -> String {
        let mut lines = String::new();
        for row in self.rows() {
            for (contender, cell) in self.contenders.iter().zip(&row.cells) {
                let Some(cell) = cell else { continue };
                let line = json!({
                    "row": row.name, "contender": contender.name, "version": contender.version(),
                    "unit": row.unit, "value": cell.value, "ratio": cell.ratio,
                    "ratio_p10": cell.spread[0], "ratio_p90": cell.spread[1],
                });
                // writing to a string cannot fail
                let _ = writeln!(lines, "{line}");
            }
        }
        lines
    }
}

impl Cell {
    /// True if the ratios differ so much between rounds that their median says little.
    pub(crate) fn is_noisy(&self) -> bool {
        self.spread[1] - self.spread[0] > 0.15 * self.ratio
    }
}

/// Returns `None` if there are no values, or no baseline.
fn cell(values: &[f64], baseline: &[f64]) -> Option<Cell> {
    let ratios = baseline.iter().zip(values);
    let ratios: Vec<_> = ratios.map(|(baseline, value)| baseline / value).collect();
    (!ratios.is_empty()).then(|| Cell {
        value: median(values),
        ratio: median(&ratios),
        spread: [0.1, 0.9].map(|share| percentile(&ratios, share)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contenders;

    #[test]
    fn ratios_are_taken_within_each_round() {
        let all: Vec<_> = contenders::ALL.iter().collect();
        let baseline = all.iter().position(|known| known.name == BASELINE).unwrap();
        let mut results = Results::new(&Scenario::all()[..1], &all);
        // the machine is twice as slow in the second round
        for (slow, own) in [(1.0, 50.0), (2.0, 50.0), (1.0, 50.0)] {
            results.add(0, baseline, [100.0 * slow, 10.0 * slow]);
            results.add(0, 0, [own * slow, 20.0 * slow]);
        }
        let rows = results.rows();
        let [send, receive] = &rows[..] else {
            panic!("{} rows", rows.len());
        };
        let expected = Cell {
            value: 50.0,
            ratio: 2.0,
            spread: [2.0, 2.0],
        };
        assert_eq!(send.cells[0], Some(expected));
        assert_eq!(receive.cells[0].unwrap().ratio, 0.5);
        assert_eq!(send.cells[baseline].unwrap().ratio, 1.0);
        assert_eq!(send.cells[1], None);
        assert_eq!(results.json().lines().count(), 4);
    }
}
