//! `bulk`: throughput of an established connection, in all requested combinations.

use bytesize::ByteSize;
use clap::Args;
use itertools::{Itertools, iproduct};

use super::job::{Entry, Job, Run, Steps};
use crate::arguments::{Connection, in_range};
use crate::choices::{Api, Choice, Direction, Several, Threads, chosen, several};
use crate::measure::{Contender, Rates, Work, rounds};
use crate::row::Row;
use crate::statistics::ratio;
use crate::tables::TO_BOTH;
use crate::workload::{Result, Slowest, Traffic, Workload};
use crate::{limit, machine, this, upstream};

pub(super) const ENTRY: Entry = Entry {
    in_all: &[
        "",
        "--plaintext-size=64",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "--allocator=system --working-set=WORKING_SET --threads=THREADS",
    ],
    ..Entry::of::<Bulk>("bulk", "mb_per_s", "allocations_per_record", TO_BOTH)
};

/// Throughput of an established connection
#[derive(Args, Clone, Debug)]
pub(crate) struct Bulk {
    #[command(flatten)]
    pub(crate) connection: Connection,

    /// The API for passing data to the connection
    #[arg(long, value_parser = several::<Api>(), value_delimiter = ',', default_value = "all")]
    pub(crate) api: Vec<Several<Api>>,

    /// The number of threads, each with its own connections; throughputs are summed. `1..4` or
    /// `1,2,4` measures each number
    #[arg(long, default_value = "1", value_name = "N")]
    pub(crate) threads: Threads,

    /// The bytes that the application writes at a time
    #[arg(long, default_value_t = 16384, value_name = "BYTES", value_parser = in_range(1..=16 << 20))]
    pub(crate) plaintext_size: usize,

    /// Bytes of plaintext for each thread, more than the last-level cache (64MiB, for example), so
    /// that memory bandwidth counts. By default, one write is repeated. Takes about six times this
    /// much memory
    #[arg(long, value_name = "BYTES")]
    pub(crate) working_set: Option<ByteSize>,
}

/// The names of the workloads that are measured in turns, in their order.
const NAMES: [&str; 3] = ["this", "upstream", "limit"];
const UPSTREAM: usize = 1;
const LIMIT: usize = 2;

/// The measured halves of connections: all APIs receive in place, and `fill-buf` is a way to
/// receive.
fn exists(api: Api, direction: Direction) -> bool {
    let none = [
        (Api::InPlace, Direction::Receive),
        (Api::FillBuf, Direction::Send),
    ];
    !none.contains(&(api, direction))
}

impl Job for Bulk {
    fn threads(&self) -> &[usize] {
        &self.threads.0
    }

    fn note(&self, run: &Run) -> String {
        let rounds = rounds(SHARE * run.common.multiplier);
        format!("Medians of {rounds} rounds on each allocator\n")
    }

    fn steps<'a>(&'a self, run: &'a Run) -> Result<Steps<'a>> {
        let working_set = self.working_set.map(|bytes| bytes.as_u64());
        let most = self.threads.0.iter().max().copied().unwrap_or(1) as u64;
        machine::check_room(6 * most * working_set.unwrap_or(0))?;
        let apis = iproduct!(chosen(&self.api), Direction::ALL);
        let apis = apis.filter(|(api, direction)| exists(*api, **direction));
        let all = iproduct!(run.scenarios(&self.connection)?, apis, &self.threads.0);
        Ok(Box::new(all.map(
            move |(connection, (api, &direction), &threads)| {
                let traffic = Traffic {
                    connection,
                    plaintext_size: self.plaintext_size,
                    working_set: working_set.map(|bytes| bytes as usize),
                };
                let comparison = Comparison {
                    run,
                    traffic,
                    api,
                    direction,
                    threads,
                };
                comparison.rows()
            },
        )))
    }
}

/// The measuring time of one API in one direction as a part of the usual one, so that a run on all
/// allocators takes less than two minutes.
const SHARE: f64 = 0.6;

/// One API in one direction.
struct Comparison<'a> {
    run: &'a Run,
    traffic: Traffic,
    api: Api,
    direction: Direction,
    threads: usize,
}

impl Comparison<'_> {
    fn rows(&self) -> Result<Vec<Row>> {
        let counts = count(self.build()?)?;
        let build = || {
            Ok(self
                .build()?
                .into_iter()
                .map(|it| it as Contender<1>)
                .collect())
        };
        let work = self.work(&build, SHARE * self.run.common.multiplier);
        let rates = if self.traffic.working_set.is_some() {
            work.interleaved()?
        } else {
            work.over_layouts()?
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

    /// Upstream has no in-place encryption; a program would use its unbuffered API instead.
    fn build(&self) -> Result<Vec<Box<dyn Workload>>> {
        let (api, direction, traffic) = (self.api, self.direction, &self.traffic);
        let this = match api {
            Api::InPlace => this::in_place::workload(traffic),
            api => this::connection::bulk::workload(api, direction, traffic),
        };
        let upstream = upstream::connection::bulk::workload(api, direction, traffic);
        let limit = limit::records(api, direction, traffic);
        Ok(vec![this?, upstream?, limit?])
    }

    fn work<'w>(
        &self,
        build: &'w (dyn Fn() -> Result<Vec<Contender<1>>> + Sync),
        multiplier: f64,
    ) -> Work<'w, 1> {
        let provider = self.traffic.connection.provider.name();
        let (api, direction) = (self.api.name(), self.direction.name());
        let label = format!("{provider} · {api} {direction}");
        Work {
            batch_len: self.traffic.batch_len(),
            threads: self.threads,
            ..Work::new(build, NAMES.len(), multiplier, &label)
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
        let multiplier = self.run.common.multiplier;
        let stride = if multiplier < 0.1 { 32 } else { 1 };
        let slowest = |workload| Ok(Box::new(Slowest::new(workload, stride)?) as Contender<1>);
        let build = || self.build()?.into_iter().map(slowest).collect();
        let work = self.work(&build, SHARE * multiplier / 3.0);
        work.interleaved().map(Some)
    }

    fn row(&self, name: &str, index: usize, rates: &Rates<1>, counts: (f64, f64)) -> Result<Row> {
        let (traffic, (allocations, records)) = (&self.traffic, counts);
        let record_len = traffic.batch_len() as f64 / records;
        let mut row = self
            .run
            .row_of(name, &traffic.connection, self.api.name())
            .with("direction", self.direction.name())
            .with("threads", self.threads)
            .with("plaintext_size", traffic.plaintext_size);
        if let Some(bytes) = traffic.working_set {
            row = row.with("working_set", bytes);
        }
        let time = |rate| record_len * self.threads as f64 / rate;
        let times = rates[index][0].iter().map(time).collect_vec();
        let row = figures(row, "", index, rates)?.median("ns_per_record", &times, 1e-9)?;
        Ok(row.rounded("allocations_per_record", allocations / records, 4))
    }
}

/// Adds the throughput of workload `index` and its ratios to the others', with `prefix` before each
/// key. Ratios compare within a round.
fn figures(row: Row, prefix: &str, index: usize, rates: &Rates<1>) -> Result<Row> {
    let ([own], [upstream], [limit]) = (&rates[index], &rates[UPSTREAM], &rates[LIMIT]);
    row.median(&format!("{prefix}mb_per_s"), own, 1e6)?
        .ratio(&format!("{prefix}ratio_to_upstream"), ratio(own, upstream))?
        .ratio(&format!("{prefix}share_of_limit"), ratio(own, limit))
}

/// Counts the allocations and records of one batch of each, in a separate pass, so that counting
/// does not disturb the timing.
fn count(workloads: Vec<Box<dyn Workload>>) -> Result<Vec<(f64, f64)>> {
    let counts = workloads.into_iter().map(|mut workload| {
        for _ in 0..4 {
            workload.prepare()?;
            workload.run()?;
        }
        workload.prepare()?;
        let (result, counted) = bench_allocator::count(|| workload.run());
        result?;
        Ok((counted.allocations as f64, workload.records().max(1) as f64))
    });
    counts.collect()
}
