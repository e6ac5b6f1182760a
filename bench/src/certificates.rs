//! `certificates`: work on certificates that are parsed once, cached and shared, compared with the
//! same work without caches.

mod files;
pub(crate) mod from_files;
pub(crate) mod parsed;
mod peers;

use bench_allocator::count;
use peers::Authority;

use crate::choices::{Allocator, Provider};
use crate::cli::{Certificates, Common};
use crate::handshake::Spent;
use crate::measure::{self, Operation, Plan, Repeated, Timed, Work};
use crate::report::Job;
use crate::row::Row;
use crate::statistics::ratio;
use crate::workload::Result;

/// Repeatable work, which returns its costs.
pub(crate) type Costly = Box<dyn FnMut() -> Result<Spent>>;

impl Timed<1> for Costly {
    fn batch(&mut self) -> Result<[f64; 1]> {
        Ok([self()?.seconds])
    }
}

/// A way to do a piece of work.
struct Way<'a> {
    implementation: &'static str,
    name: &'static str,
    build: Box<dyn Fn() -> Result<Costly> + Sync + 'a>,
}

impl<'a> Way<'a> {
    fn new(
        implementation: &'static str,
        name: &'static str,
        build: impl Fn() -> Result<Costly> + Sync + 'a,
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
        Self::new(implementation, name, move || {
            let mut repeated = Repeated::new(operation()?)?;
            let mut counted = None;
            Ok(Box::new(move || {
                // the first call counts the heap activity of a single operation
                if counted.is_none() {
                    let mut spent = Spent::default();
                    spent.by(|| repeated.once())?;
                    counted = Some(spent);
                }
                let [seconds] = repeated.batch()?;
                Ok(Spent {
                    seconds,
                    ..counted.unwrap_or_default()
                })
            }))
        })
    }
}

/// A piece of work, and the settings of the run.
struct Comparison {
    multiplier: f64,
    allocator: Allocator,
    provider: Provider,
}

impl Comparison {
    /// The measuring time of one piece of work as a part of that of a comparison of connections,
    /// because there are many.
    const SHARE: f64 = 0.5;

    /// Scales the number `most` to the length of this run, but to at least `fewest`.
    fn scaled(&self, most: usize, fewest: usize) -> usize {
        let scaled = (most as f64 * self.multiplier) as usize;
        scaled.clamp(fewest, most)
    }

    fn row(&self, topic: &str, work: &str, implementation: &str, way: &str) -> Row {
        Row::new(
            "certificates",
            implementation,
            self.provider,
            self.allocator,
        )
        .with("topic", topic)
        .with("work", work)
        .with("way", way)
    }

    /// Measures `ways` in turns. The others are compared with the first one.
    fn rows(&self, topic: &str, work: &str, ways: &[Way<'_>]) -> Result<Vec<Row>> {
        let build = || {
            ways.iter()
                .map(|way| (way.build)())
                .collect::<Result<Vec<_>>>()
        };
        let mut costs = Vec::new();
        for mut built in build()? {
            // fills the caches first
            built()?;
            let again = (ways[costs.len()].build)()?;
            costs.push(count(again).0?);
        }
        let plan = Plan::new(Self::SHARE * self.multiplier, ways.len(), 1);
        let work_of_all = Work {
            build: &build,
            batch_len: 1,
            label: format!("{} · {work}", self.allocator.name()),
        };
        let rates = measure::interleaved(&plan, &work_of_all)?;
        let rows = ways
            .iter()
            .zip(&costs)
            .zip(&rates)
            .map(|((way, spent), [rate])| {
                let times: Vec<_> = rate.iter().map(|rate| 1e9 / rate).collect();
                self.row(topic, work, way.implementation, way.name)
                    .with("allocations_per_op", spent.allocations)
                    .with("heap_bytes_per_op", spent.heap_bytes)
                    .median("ns_per_op", &times, 1.0)?
                    .ratio("times_as_fast", ratio(rate, &rates[0][0]))
            });
        rows.collect()
    }
}

impl Job for Certificates {
    fn common(&self) -> &Common {
        &self.common
    }

    fn measure(&self, allocator: Allocator) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for (index, provider) in self.common.providers().into_iter().enumerate() {
            let comparison = Comparison {
                multiplier: self.common.multiplier,
                allocator,
                provider,
            };
            let authority = Authority::new();
            // parsing does not depend on the provider
            if index == 0 {
                rows.extend(parsed::properties(&comparison, &authority)?);
                rows.extend(parsed::revocation(&comparison)?);
            }
            rows.extend(from_files::own(&comparison, &authority)?);
            rows.extend(from_files::roots(&comparison)?);
            rows.extend(peers::resumption(&comparison, &authority)?);
        }
        Ok(rows)
    }
}
