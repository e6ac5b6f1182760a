//! `bulk`: throughput of an established connection, in all requested combinations.

use bytesize::ByteSize;
use clap::Args;
use itertools::{Itertools, iproduct};

use super::job::{Entry, Job, Run};
use crate::arguments::{Connection, in_range};
use crate::choices::{Api, Choice, Direction, names, one};
use crate::measure::{Contender, Work, rounds};
use crate::row::Row;
use crate::statistics::ratio;
use crate::tables::TO_BOTH;
use crate::workload::{Result, Traffic, Workload, on_threads, slowest};
use crate::{limit, this, upstream};

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

    /// The APIs for passing data to the connection
    #[arg(long = "api", value_parser = one::<Api>(), value_delimiter = ',',
          default_values = names::<Api>())]
    pub(crate) apis: Vec<Api>,

    /// The numbers of threads, each with its own connections and working set
    #[arg(long, default_value = "1", value_name = "N", value_delimiter = ',',
          value_parser = in_range(1..=1024), requires = "working_set")]
    pub(crate) threads: Vec<usize>,

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
/// The place of the limit with copies, which only buffered APIs have.
const COPYING_LIMIT: usize = 3;

/// True if this half of a connection is measured. `in-place` would receive as `unbuffered` does,
/// and `fill-buf` and `open-into` only receive.
fn exists(half: &(&Api, &Direction)) -> bool {
    !matches!(
        half,
        (Api::InPlace, Direction::Receive) | (Api::FillBuf | Api::OpenInto, Direction::Send)
    )
}

impl Job for Bulk {
    fn note(&self, run: &Run) -> String {
        let rounds = rounds(SHARE * run.common.multiplier);
        format!("Medians of {rounds} rounds on each allocator\n")
    }

    fn measure(&self, run: &Run) -> Result<()> {
        let halves = iproduct!(&self.apis, Direction::ALL).filter(exists);
        let all = iproduct!(run.scenarios(&self.connection)?, halves, &self.threads);
        for (connection, (&api, &direction), &threads) in all {
            let traffic = Traffic {
                connection,
                plaintext_size: self.plaintext_size,
                working_set: self.working_set.map(|bytes| bytes.as_u64() as usize),
                is_quick: run.common.multiplier < 0.1,
            };
            run.print(compare(run, &traffic, api, direction, threads)?)?;
        }
        Ok(())
    }
}

/// The share of the usual measuring time for one API in one direction. It keeps a run on all
/// allocators below two minutes.
const SHARE: f64 = 0.6;

/// Copies of fewer bytes are equally fast at all offsets.
const SHORTEST_SLOW: usize = 2048;

/// Measures one API in one direction.
fn compare(
    run: &Run,
    traffic: &Traffic,
    api: Api,
    direction: Direction,
    threads: usize,
) -> Result<Vec<Row>> {
    let is_buffered = !matches!(api, Api::Unbuffered | Api::InPlace);
    let builds = &BUILDS[..COPYING_LIMIT + usize::from(is_buffered)];
    let build = || -> Result<Vec<_>> {
        let built = builds.iter().map(|build| {
            let build = |_| build(api, direction, traffic);
            on_threads((0..threads).map(build).collect::<Result<_>>()?)
        });
        built.collect()
    };
    let counts = builds.iter();
    let counts = counts.map(|build| count(build(api, direction, traffic)?));
    let counts: Vec<_> = counts.collect::<Result<_>>()?;
    let multiplier = run.common.multiplier;
    let provider = traffic.connection.provider.name();
    let label = format!("{provider} · {} {}", api.name(), direction.name());
    let batch_len = threads * traffic.batch_len();
    let records = traffic.records() as f64;
    let timed = |workload| workload as Contender<1>;
    let build_timed = || Ok(build()?.into_iter().map(timed).collect());
    let work = Work::new(&build_timed, batch_len, SHARE * multiplier, &label);
    let is_streamed = traffic.working_set.is_some();
    let rates = if is_streamed {
        work.interleaved()?
    } else {
        work.over_layouts()?
    };

    // the limit copies nothing, but both implementations may
    let copies = |workload: &mut Box<dyn Workload>| workload.place(0);
    let may_be_slow = !is_streamed
        && traffic.plaintext_size >= SHORTEST_SLOW
        && build()?[..LIMIT].iter_mut().all(copies);
    let stride = if traffic.is_quick { 32 } else { 1 };
    let slowest = |workload| slowest(workload, stride);
    let build_slowest = || build()?.into_iter().map(slowest).collect();
    let slowest = Work::new(&build_slowest, batch_len, SHARE * multiplier / 3.0, label);
    let slowest = may_be_slow.then(|| slowest.interleaved()).transpose()?;

    let mut rows = Vec::new();
    for (index, name) in NAMES.into_iter().enumerate() {
        if (api, index) == (Api::InPlace, UPSTREAM) {
            continue;
        }
        let times = rates[index][0].iter();
        let times = times.map(|rate| batch_len as f64 / records / rate);
        let mut row = run
            .row_of(name, &traffic.connection, api.name())
            .with("direction", direction.name())
            .with("threads", threads)
            .with("plaintext_size", traffic.plaintext_size)
            .rounded("allocations_per_record", counts[index] / records, 4)
            .median("ns_per_record", &times.collect_vec(), 1e-9)?;
        if let Some(bytes) = traffic.working_set {
            row = row.with("working_set", bytes);
        }
        let slowest = slowest.iter().map(|rates| ("slowest_offset_", rates));
        for (prefix, rates) in [("", &rates)].into_iter().chain(slowest) {
            let of = |index: usize| &rates[index][0][..];
            let compared = [of(index), of(UPSTREAM), of(LIMIT)];
            row = row.compared(prefix, "mb_per_s", compared, 1e6)?;
            if let Some(limit) = rates.get(COPYING_LIMIT) {
                let key = format!("{prefix}share_of_copying_limit");
                row = row.ratio(&key, ratio(of(index), &limit[0]))?;
            }
        }
        rows.push(row);
    }
    Ok(rows)
}

type Build = fn(Api, Direction, &Traffic) -> Result<Box<dyn Workload>>;

/// Upstream cannot encrypt in place, or open records into the application's buffer. A program would
/// use its unbuffered or buffered API instead.
const BUILDS: [Build; 4] = [
    this::bulk::workload,
    upstream::connection::bulk::workload,
    |api, direction, traffic| limit::records(api, direction, traffic, false),
    |api, direction, traffic| limit::records(api, direction, traffic, true),
];

/// Counts the allocations of one batch, in a separate pass, so that counting does not disturb the
/// timing.
fn count(mut workload: Box<dyn Workload>) -> Result<f64> {
    for _ in 0..4 {
        workload.prepare()?;
        workload.run()?;
    }
    workload.prepare()?;
    let (result, counted) = bench_allocator::count(|| workload.run());
    result.map(|()| counted.allocations as f64)
}
