//! `bulk`: throughput of an established connection, in all requested combinations.

use crate::choices::{Allocator, Api, Choice, Direction, chosen};
use crate::cli::{Bulk, Common};
use crate::measure::{self, Plan, Rates, Work};
use crate::report::Job;
use crate::row::Row;
use crate::statistics::ratio;
use crate::workload::{Result, Scenario, Slowest, Traffic, Workload};
use crate::{limit, machine, this, upstream};

type Build = fn(Direction, &Traffic) -> Result<Box<dyn Workload>>;

/// The names of the workloads that are measured in turns, in their order.
const NAMES: [&str; 3] = ["this", "upstream", "limit"];
const UPSTREAM: usize = 1;
const LIMIT: usize = 2;

/// Upstream has no in-place encryption; a program would use its unbuffered API instead.
fn builds(api: Api) -> [Build; 3] {
    use upstream::connection::{buffered, fill_buf, unbuffered};
    match api {
        Api::Buffered => [this::connection::buffered, buffered, limit::workload],
        Api::FillBuf => [this::connection::fill_buf, fill_buf, limit::workload],
        Api::Unbuffered => [this::connection::unbuffered, unbuffered, limit::workload],
        Api::InPlace => [this::in_place::workload, unbuffered, limit::in_place],
    }
}

impl Job for Bulk {
    fn common(&self) -> &Common {
        &self.common
    }

    fn threads(&self) -> &[usize] {
        &self.threads.0
    }

    fn check(&self) -> Result<()> {
        if let Some(bytes) = self.working_set {
            let threads = self.threads.0.iter().copied().max().unwrap_or(1) as u64;
            machine::check_room(6 * threads * bytes.as_u64())?;
        }
        Scenario::each(&self.connection, &self.common).map(drop)
    }

    fn measure(&self, allocator: Allocator) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for connection in Scenario::each(&self.connection, &self.common)? {
            let traffic = Traffic {
                connection,
                plaintext_size: self.plaintext_size,
                working_set: self.working_set.map(|bytes| bytes.as_u64() as usize),
            };
            for api in chosen(&self.api) {
                for &direction in Direction::ALL {
                    // all APIs receive in place, and `fill-buf` is a way to receive
                    if matches!(
                        (api, direction),
                        (Api::InPlace, Direction::Receive) | (Api::FillBuf, Direction::Send)
                    ) {
                        continue;
                    }
                    for &threads in &self.threads.0 {
                        let comparison = Comparison {
                            multiplier: self.common.multiplier,
                            allocator,
                            traffic: &traffic,
                            api,
                            direction,
                            threads,
                        };
                        rows.extend(comparison.rows()?);
                    }
                }
            }
        }
        Ok(rows)
    }
}

/// One API in one direction.
struct Comparison<'a> {
    multiplier: f64,
    allocator: Allocator,
    traffic: &'a Traffic,
    api: Api,
    direction: Direction,
    threads: usize,
}

impl Comparison<'_> {
    fn rows(&self) -> Result<Vec<Row>> {
        let counts = count_allocations(&mut self.build()?)?;
        let plan = Plan::new(self.multiplier, NAMES.len(), self.threads);
        let (build, is_streamed) = (|| self.build(), self.traffic.working_set.is_some());
        let rates = if is_streamed {
            measure::interleaved(&plan, &self.work(&build))?
        } else {
            measure::over_layouts(&plan, &self.work(&build))?
        };
        let slowest = self.slowest()?;

        let mut rows = Vec::new();
        for (index, name) in NAMES.into_iter().enumerate() {
            if (self.api, index) == (Api::InPlace, UPSTREAM) {
                continue;
            }
            let row = self.row(name, index, &rates, counts[index])?;
            rows.push(match &slowest {
                Some(rates) => figures(row, "slowest_offset_", index, rates)?,
                None => row,
            });
        }
        Ok(rows)
    }

    fn build(&self) -> Result<Vec<Box<dyn Workload>>> {
        let builds = builds(self.api).into_iter();
        builds
            .map(|build| build(self.direction, self.traffic))
            .collect()
    }

    fn work<'w, W>(&self, build: &'w (dyn Fn() -> Result<Vec<W>> + Sync)) -> Work<'w, W> {
        Work {
            build,
            batch_len: self.traffic.batch_len(),
            label: format!(
                "{} · {} · {} {}",
                self.allocator.name(),
                self.traffic.connection.provider.name(),
                self.api.name(),
                self.direction.name()
            ),
        }
    }

    /// Measures each workload at the offset of the application's buffer at which it is slowest.
    fn slowest(&self) -> Result<Option<Rates<1>>> {
        // shorter copies are fast everywhere
        if self.traffic.working_set.is_some() || self.traffic.plaintext_size < 2048 {
            return Ok(None);
        }
        // the limit copies nothing, but both implementations may
        let mut implementations = self.build()?;
        implementations.truncate(LIMIT);
        if !implementations.iter_mut().all(|workload| workload.place(0)) {
            return Ok(None);
        }
        let stride = if self.multiplier < 0.1 { 32 } else { 1 };
        let build = || {
            let built = self.build()?.into_iter();
            built
                .map(|workload| Slowest::new(workload, stride))
                .collect()
        };
        let plan = Plan::new(self.multiplier / 3.0, NAMES.len(), self.threads);
        measure::interleaved(&plan, &self.work(&build)).map(Some)
    }

    fn row(&self, name: &str, index: usize, rates: &Rates<1>, counts: Counts) -> Result<Row> {
        let Traffic {
            connection,
            plaintext_size,
            working_set,
        } = self.traffic;
        let record_len = self.traffic.batch_len() as f64 / counts.records;
        let mut row = Row::new("bulk", name, connection.provider, self.allocator)
            .with("suite", &connection.suite.name[..])
            .with("api", self.api.name())
            .with("direction", self.direction.name())
            .with("threads", self.threads)
            .with("plaintext_size", *plaintext_size);
        if let Some(bytes) = *working_set {
            row = row.with("working_set", bytes);
        }
        let times = rates[index][0].iter();
        let times: Vec<_> = times
            .map(|rate| record_len * self.threads as f64 / rate)
            .collect();
        figures(row, "", index, rates)?
            .median("ns_per_record", &times, 1e-9)
            .map(|row| {
                row.rounded(
                    "allocations_per_record",
                    counts.allocations / counts.records,
                    4,
                )
            })
    }
}

/// Adds the throughput of workload `index` and its ratios to the others', with `prefix` before each
/// key. Ratios compare within a round.
fn figures(row: Row, prefix: &str, index: usize, rates: &Rates<1>) -> Result<Row> {
    let ([of_this], [upstream], [limit]) = (&rates[index], &rates[UPSTREAM], &rates[LIMIT]);
    row.median(&format!("{prefix}mb_per_s"), of_this, 1e6)?
        .ratio(
            &format!("{prefix}ratio_to_upstream"),
            ratio(of_this, upstream),
        )?
        .ratio(&format!("{prefix}share_of_limit"), ratio(of_this, limit))
}

/// The counts of one batch.
#[derive(Clone, Copy)]
struct Counts {
    allocations: f64,
    records: f64,
}

/// Counts allocations in a separate pass, so that counting does not disturb the timing.
fn count_allocations(workloads: &mut [Box<dyn Workload>]) -> Result<Vec<Counts>> {
    let counts = workloads.iter_mut().map(|workload| {
        for _ in 0..4 {
            workload.prepare()?;
            workload.run()?;
        }
        workload.prepare()?;
        let (result, counted) = bench_allocator::count(|| workload.run());
        result?;
        Ok(Counts {
            allocations: counted.allocations as f64,
            records: workload.records().max(1) as f64,
        })
    });
    counts.collect()
}
