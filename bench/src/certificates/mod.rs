//! `certificates`: work on certificates that are parsed once, cached and shared, compared with the
//! same work without caches.
//!
//! Each topic has a file that lists contests. A contest is a piece of work and the ways to do it.

mod chains;
mod clients;
pub(crate) mod files;
pub(crate) mod own;
mod properties;
pub(crate) mod revocation;
mod roots;
#[cfg(test)]
mod tests;

use bench_allocator::{Counted, Kind};
use serde::{Deserialize, Serialize};

use crate::cli::{CertificatesArgs, Provider, RunArgs};
use crate::measure::{self, Operation, Plan, Rates, Repeated, Timed, Work};
use crate::plot::Point;
use crate::report::{self, Cell, Job, spread};
use crate::statistics::{Summary, ratio, rounded};
use crate::workload::Result;

/// Repeatable work, done in one way.
pub(crate) trait Contender {
    /// Does the work once; returns the seconds that it took.
    fn time(&mut self) -> Result<f64>;

    /// Does the work once; returns its heap usage.
    fn count(&mut self) -> Result<Counted>;
}

impl Timed<1> for Box<dyn Contender> {
    fn batch(&mut self) -> Result<[f64; 1]> {
        Ok([self.time()?])
    }
}

/// An operation that is measured as a whole.
impl Contender for Repeated {
    fn time(&mut self) -> Result<f64> {
        let [seconds] = self.batch()?;
        Ok(seconds)
    }

    fn count(&mut self) -> Result<Counted> {
        let (done, counted) = bench_allocator::count(|| self.once());
        done.map(|()| counted)
    }
}

/// A way to do a piece of work.
struct Way<'a> {
    implementation: &'static str,
    name: &'static str,
    build: Box<dyn Fn() -> Result<Box<dyn Contender>> + Sync + 'a>,
}

impl<'a> Way<'a> {
    fn new(
        implementation: &'static str,
        name: &'static str,
        build: impl Fn() -> Result<Box<dyn Contender>> + Sync + 'a,
    ) -> Self {
        Self {
            implementation,
            name,
            build: Box::new(build),
        }
    }

    /// Creates a way that repeats the operation that `operation` returns.
    fn repeating(
        implementation: &'static str,
        name: &'static str,
        operation: impl Fn() -> Result<Operation> + Sync + 'a,
    ) -> Self {
        let build =
            move || -> Result<Box<dyn Contender>> { Ok(Box::new(Repeated::new(operation()?)?)) };
        Self::new(implementation, name, build)
    }
}

/// One piece of work, and the ways to do it, which are measured in turns.
struct Contest<'a> {
    topic: &'static str,
    work: String,
    provider: Provider,
    /// The other ways are compared with the first one.
    ways: Vec<Way<'a>>,
}

/// The settings of all contests.
struct Run {
    multiplier: f64,
    allocator: Kind,
}

impl Run {
    /// The measuring time of one contest as a part of that of a comparison of connections, because
    /// there are many.
    const SHARE: f64 = 0.5;

    /// Scales the number `most` to the length of this run, but to at least `fewest`.
    fn scaled(&self, most: usize, fewest: usize) -> usize {
        let scaled = (most as f64 * self.multiplier) as usize;
        scaled.clamp(fewest, most)
    }

    fn measure(&self, contest: &Contest<'_>) -> Result<Vec<Row>> {
        let build = || -> Result<Vec<_>> {
            let ways = contest.ways.iter();
            ways.map(|way| (way.build)()).collect()
        };
        let counts = count(&mut build()?)?;
        let rates = measure::interleaved(
            &Plan::new(Self::SHARE * self.multiplier, contest.ways.len(), 1),
            &Work {
                build: &build,
                batch_len: 1,
                label: format!("{} · {}", self.allocator.name(), contest.work),
            },
        )?;
        let ways = contest.ways.iter().enumerate();
        ways.map(|(index, way)| {
            let figure = Figure::of(index, &rates, counts[index]).ok_or("nothing was measured")?;
            Ok(self.row(contest, way, figure))
        })
        .collect()
    }

    fn row(&self, contest: &Contest<'_>, way: &Way<'_>, figure: Figure) -> Row {
        Row {
            bench: "certificates".to_owned(),
            implementation: way.implementation.to_owned(),
            topic: contest.topic.to_owned(),
            work: contest.work.clone(),
            way: way.name.to_owned(),
            provider: contest.provider.name().to_owned(),
            allocator: self.allocator.name().to_owned(),
            figure,
        }
    }
}

/// Counts in a separate pass, so that counting does not disturb the timing.
fn count(contenders: &mut [Box<dyn Contender>]) -> Result<Vec<Counted>> {
    let counts = contenders.iter_mut().map(|contender| {
        // fills the caches first
        contender.time()?;
        contender.count()
    });
    counts.collect()
}

/// One line of the result.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    bench: String,
    #[serde(rename = "impl")]
    implementation: String,
    topic: String,
    work: String,
    way: String,
    provider: String,
    allocator: String,
    #[serde(flatten)]
    figure: Figure,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Figure {
    Cost {
        /// The median over the rounds.
        ns_per_op: f64,
        /// The ratio of the first way's time to this one in the same round: the median over the
        /// rounds.
        times_as_fast: f64,
        allocations_per_op: u64,
        /// All requested bytes, however short-lived.
        heap_bytes_per_op: u64,
        /// The 10th and 90th percentile of `ns_per_op`.
        ns_per_op_spread: (f64, f64),
    },
    Stored {
        /// The number of sessions.
        sessions: usize,
        /// Heap bytes per session.
        bytes_per_session: f64,
    },
}

impl Figure {
    fn of(index: usize, rates: &Rates<1>, counted: Counted) -> Option<Self> {
        let ([first], [rates]) = (&rates[0], &rates[index]);
        let times = Summary::of(rates.iter().map(|rate| 1e9 / rate).collect())?;
        Some(Self::Cost {
            ns_per_op: rounded(times.median, 1),
            times_as_fast: rounded(ratio(rates, first)?, 4),
            allocations_per_op: counted.allocations,
            heap_bytes_per_op: counted.taken,
            ns_per_op_spread: spread(&times, 1.0),
        })
    }
}

impl Job for CertificatesArgs {
    type Row = Row;

    const NOTES: &'static str = "\
ns: median over the rounds and its 10th to 90th percentile. as fast: speed relative to the first way in the
same round, median over the rounds. allocations, heap bytes: of one operation; all bytes requested. Allocations in
C code are not counted. Figures compare within this run only.
roots: time of the client only; connection alone: with roots parsed in advance, the lower bound of the others.
resumption: time of the given sides only, from creating the connection to dropping it. Upstream does not verify the
client's certificates at resumption, so compare the rows without verification, too.";

    const UNIT: &'static str = "times as fast as the first way";

    fn args(&self) -> &RunArgs {
        &self.run
    }

    fn title(&self) -> String {
        "certificates, parsed once and shared".to_owned()
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn measure(&self, allocator: Kind) -> Result<Vec<Row>> {
        let run = Run {
            multiplier: self.time.multiplier,
            allocator,
        };
        let mut rows = Vec::new();
        let providers = self.run.provider.providers();
        if let Some(&any) = providers.first() {
            // parsing does not depend on the provider
            rows.extend(properties::measure(&run, any)?);
            rows.extend(revocation::measure(&run, any)?);
        }
        for provider in providers {
            rows.extend(roots::measure(&run, provider)?);
            rows.extend(chains::measure(&run, provider)?);
            rows.extend(own::measure(&run, provider)?);
        }
        Ok(rows)
    }
}

impl report::Row for Row {
    const TABLE_ONLY: &'static [&'static str] = &["ns_per_op_spread"];

    fn heading(&self) -> String {
        let held = match self.figure {
            Figure::Cost { .. } => "",
            Figure::Stored { .. } => ", held",
        };
        format!("{}{held} · {}", self.topic, self.provider)
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = vec![
            Cell::text("allocator", &self.allocator),
            Cell::text("work", &self.work),
            Cell::text("implementation", &self.implementation),
            Cell::text("way", &self.way),
        ];
        match self.figure {
            Figure::Cost {
                ns_per_op,
                times_as_fast,
                allocations_per_op,
                heap_bytes_per_op,
                ns_per_op_spread,
            } => {
                cells.extend(Cell::rate("ns", ns_per_op, ns_per_op_spread));
                cells.extend([
                    Cell::ratio("as fast", times_as_fast),
                    Cell::number("allocations", allocations_per_op.to_string()),
                    Cell::number("heap bytes", heap_bytes_per_op.to_string()),
                ]);
            }
            Figure::Stored {
                sessions,
                bytes_per_session,
            } => cells.extend([
                Cell::number("sessions", sessions.to_string()),
                Cell::number("bytes each", format!("{bytes_per_session:.0}")),
            ]),
        }
        cells
    }

    fn part(&self) -> &str {
        &self.topic
    }

    /// Draws ratios, since the times of handshakes and of accesses have no common scale.
    fn point(&self) -> Option<Point> {
        let Figure::Cost { times_as_fast, .. } = self.figure else {
            return None;
        };
        let provider = &self.provider;
        Some(Point {
            group: format!("{provider} · {} · {}", self.allocator, self.work),
            series: format!("{}, {}", self.implementation, self.way),
            threads: 1,
            value: times_as_fast,
        })
    }
}
