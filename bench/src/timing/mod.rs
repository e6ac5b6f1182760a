//! `timing`: tests whether the time to reject a forgery depends on where it is wrong. Only a
//! report: no check depends on its figures.
//!
//! Each line is an operation on one of two inputs, which are wrong in a secret's first or last
//! byte. A comparison that stops at the first difference takes longer for the latter.

mod controls;
mod dudect;
mod forgery;

use bench_allocator::Kind;
use serde::{Deserialize, Serialize};

pub(crate) use self::dudect::Subject;
pub(crate) use self::forgery::Forgery;
use crate::cli::{Provider, RunArgs, TimingArgs};
use crate::plot::Point;
use crate::report::{self, Cell, Job};
use crate::statistics::rounded;
use crate::workload::Result;
use crate::{measure, this, upstream};

/// A subject and its description.
pub(crate) struct Case {
    pub(crate) operation: String,
    /// The inputs of class 0 and class 1.
    pub(crate) inputs: [&'static str; 2],
    /// The provider of the cryptography, if any.
    pub(crate) provider: Option<Provider>,
    /// The cost of one measurement, including preparation, in units of a cheap one.
    pub(crate) cost: usize,
    pub(crate) build: Box<dyn Fn() -> Result<Subject>>,
}

/// All cases with their implementations.
fn cases(providers: &[Provider]) -> Vec<(&'static str, Case)> {
    let named = |name, cases: Vec<Case>| cases.into_iter().map(move |case| (name, case));
    let mut all: Vec<_> = named("control", controls::cases()).collect();
    all.extend(named("this", this::connection::timing::cases(providers)));
    all.extend(named("this", this::timing::cases(providers)));
    all.extend(named(
        "upstream",
        upstream::connection::timing::cases(providers),
    ));
    // sorts the same operation of both implementations into adjacent lines
    let order: Vec<_> = all.iter().map(|(_, case)| case.operation.clone()).collect();
    all.sort_by_key(|(_, case)| order.iter().position(|known| *known == case.operation));
    all
}

/// The number of measurements of a subject with cost 1.
const MEASUREMENTS: f64 = 1e6;

/// The limit below which t is due to chance, as used by the method's authors.
const CHANCE: f64 = 4.5;

/// One line of the result.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    bench: String,
    #[serde(rename = "impl")]
    implementation: String,
    provider: String,
    operation: String,
    inputs: [String; 2],
    allocator: String,
    measurements: usize,
    /// The largest t of all tests, and that of all measurements.
    t: f64,
    t_of_all: f64,
    ns_per_op: f64,
    difference: f64,
}

impl Job for TimingArgs {
    type Row = Row;

    const NOTES: &'static str = "\
The method is dudect's (Reparaz, Balasch, Verbauwhede 2017): inputs drawn at random, Welch's t over all measurements and
over those below each of a hundred limits, and of the spreads; t is the one farthest from 0. Up to ±4.5 is chance, more means
a difference in time between the two inputs. The controls show that a real difference is found and no false one.
Nanoseconds: the median of both inputs. Difference: between the means in the test that found t (squared if the spreads
differ). This is evidence for this machine and build, not a proof.";

    const UNIT: &'static str = "t";

    fn args(&self) -> &RunArgs {
        &self.run
    }

    fn title(&self) -> String {
        "time and secrets".to_owned()
    }

    fn check(&self) -> Result<()> {
        if self.chosen().is_empty() {
            let mut all: Vec<_> = cases(&self.run.provider.providers())
                .into_iter()
                .map(|(_, case)| case.operation)
                .collect();
            all.dedup();
            return Err(format!(
                "no operation has \"{}\" in its name; the operations are:\n  {}",
                self.filter,
                all.join("\n  ")
            )
            .into());
        }
        Ok(())
    }

    fn measure(&self, allocator: Kind) -> Result<Vec<Row>> {
        let cases = self.chosen();
        let progress = measure::progress("timing".to_owned(), cases.len());
        let rows = cases.into_iter().enumerate().map(|(number, (name, case))| {
            let measurements = MEASUREMENTS * self.time.multiplier / case.cost as f64;
            let measurements = Ord::max(measurements as usize, 1000);
            let found = dudect::measure(&mut (case.build)()?, measurements, number as u64)
                .map_err(|error| format!("{name}, {}: {error}", case.operation))?;
            progress.inc(1);
            Ok(Row {
                bench: "timing".to_owned(),
                implementation: name.to_owned(),
                provider: case.provider.map_or("-", Provider::name).to_owned(),
                operation: case.operation,
                inputs: case.inputs.map(str::to_owned),
                allocator: allocator.name().to_owned(),
                measurements: found.measurements,
                t: rounded(found.t, 2),
                t_of_all: rounded(found.t_of_all, 2),
                ns_per_op: rounded(found.median, 1),
                difference: rounded(found.difference, 2),
            })
        });
        let rows = rows.collect();
        progress.finish_and_clear();
        rows
    }
}

impl TimingArgs {
    /// The cases to measure.
    fn chosen(&self) -> Vec<(&'static str, Case)> {
        let filter = self.filter.to_lowercase();
        let mut chosen = cases(&self.run.provider.providers());
        chosen.retain(|(_, case)| case.operation.to_lowercase().contains(&filter));
        chosen
    }
}

impl report::Row for Row {
    fn heading(&self) -> String {
        "Time and secrets".to_owned()
    }

    fn cells(&self) -> Vec<Cell> {
        let [first, second] = &self.inputs;
        vec![
            Cell::text("operation", &self.operation),
            Cell::text("inputs", format!("{first} / {second}")),
            Cell::text("implementation", &self.implementation),
            Cell::text("provider", &self.provider),
            Cell::number("ns", format!("{:.0}", self.ns_per_op)),
            Cell::number("measurements", self.measurements.to_string()),
            Cell::number("t of all", format!("{:+.1}", self.t_of_all)),
            Cell::number("t", format!("{:+.1}", self.t)),
            Cell::number("difference", format!("{:+.1}", self.difference)),
            Cell::text(
                "seen",
                if self.t.abs() > CHANCE {
                    "a difference"
                } else {
                    "none"
                },
            ),
        ]
    }

    fn point(&self) -> Option<Point> {
        Some(Point {
            group: format!("{} · {}", self.operation, self.inputs.join(" / ")),
            series: format!("{} · {}", self.implementation, self.provider),
            threads: 1,
            value: self.t.abs(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each builder checks that the unchanged input is accepted and the wrong ones are rejected.
    #[test]
    fn every_case_can_be_measured() {
        for (name, case) in cases(&Provider::ALL) {
            let mut subject = (case.build)().unwrap_or_else(|error| {
                panic!("{name}, {}: {error}", case.operation);
            });
            for class in [0, 1, 1, 0] {
                subject(class).unwrap();
            }
        }
    }
}
