//! `certificates`: work on certificates that are parsed once, cached and shared, compared with the
//! same work without caches.

mod from_files;
mod parsed;
mod peers;

use bench_allocator::count;
use clap::Args;
use itertools::{Itertools, izip};

use super::job::{Entry, Job, Run, Steps};
use crate::choices::Provider;
use crate::measure::{Contender, Operation, Work};
use crate::row::Row;
use crate::statistics::ratio;
use crate::tables::View;
use crate::workload::Result;
use crate::workload::certificates::{Costly, repeating};
use crate::workload::identities::Authority;

pub(super) const ENTRY: Entry = Entry {
    name: "certificates",
    help: "Certificate work with and without the caches that parse once and share",
    view: View {
        main: "ns_per_op bytes_per_session",
        side_by_side: "allocations_per_op heap_bytes_per_op",
        once: "times_as_fast",
        ..View::GENERAL
    },
    ..Entry::of::<Certificates>()
};

/// `certificates` has no arguments.
#[derive(Args)]
pub(crate) struct Certificates {}

/// A way to do a piece of work: the implementation, a name, and the work.
struct Way<'a>(
    &'static str,
    &'static str,
    Box<dyn Fn() -> Result<Costly> + Sync + 'a>,
);

impl<'a> Way<'a> {
    fn new(
        implementation: &'static str,
        name: &'static str,
        build: impl Fn() -> Result<Costly> + Sync + 'a,
    ) -> Self {
        Self(implementation, name, Box::new(build))
    }

    /// Creates a way that repeats the operation that `operation` returns.
    fn repeating(
        implementation: &'static str,
        name: &'static str,
        operation: impl Fn() -> Result<Operation> + Sync + 'a,
    ) -> Self {
        Self::new(implementation, name, move || repeating(operation()?))
    }
}

/// A piece of work in one run.
struct Comparison<'a> {
    run: &'a Run,
    provider: Provider,
}

impl Comparison<'_> {
    /// The measuring time of one piece of work as a part of that of a comparison of connections,
    /// because there are many.
    const SHARE: f64 = 0.5;

    /// Scales the number `most` to the length of this run, but to at least `fewest`.
    fn scaled(&self, most: usize, fewest: usize) -> usize {
        ((most as f64 * self.run.common.multiplier) as usize).clamp(fewest, most)
    }

    fn row(&self, topic: &str, work: &str, implementation: &str, way: &str) -> Row {
        let row = self.run.row(implementation, self.provider);
        row.with("topic", topic).with("work", work).with("way", way)
    }

    /// Measures `ways` in turns. The others are compared with the first one.
    fn rows(&self, topic: &str, work: &str, ways: &[Way<'_>]) -> Result<Vec<Row>> {
        let build_all = || ways.iter().map(|Way(_, _, build)| build());
        let mut costs = Vec::new();
        for Way(_, _, build) in ways {
            // fills the caches first
            build()?()?;
            costs.push(count(build()?).0?);
        }
        let build = || {
            build_all()
                .map_ok(|it| Box::new(it) as Contender<1>)
                .collect()
        };
        let multiplier = Self::SHARE * self.run.common.multiplier;
        let rates = Work::new(&build, ways.len(), multiplier, work).interleaved()?;
        let rows =
            izip!(ways, &costs, &rates).map(|(Way(implementation, way, _), spent, [rate])| {
                let times = rate.iter().map(|rate| 1e9 / rate).collect_vec();
                self.row(topic, work, implementation, way)
                    .with("allocations_per_op", spent.allocations)
                    .with("heap_bytes_per_op", spent.heap_bytes)
                    .median("ns_per_op", &times, 1.0)?
                    .ratio("times_as_fast", ratio(rate, &rates[0][0]))
            });
        rows.collect()
    }
}

impl Job for Certificates {
    fn steps<'a>(&'a self, run: &'a Run) -> Result<Steps<'a>> {
        let all = run.common.providers().into_iter().enumerate();
        Ok(Box::new(all.map(move |(index, provider)| {
            let (comparison, authority) = (&Comparison { run, provider }, &Authority::new(2));
            let mut rows = Vec::new();
            // parsing does not depend on the provider
            if index == 0 {
                rows.extend(parsed::properties(comparison, authority)?);
                rows.extend(parsed::revocation(comparison)?);
            }
            rows.extend(from_files::own(comparison, authority)?);
            rows.extend(from_files::roots(comparison)?);
            rows.extend(peers::resumption(comparison, authority)?);
            Ok(rows)
        })))
    }
}
