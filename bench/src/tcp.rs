//! `tcp`: both ends over loopback TCP in one process, this library beside upstream.

use std::time::{Duration, Instant};

use bench_allocator::Kind;
use serde::{Deserialize, Serialize};

use crate::cli::{RunArgs, TcpApi, TcpArgs};
use crate::plot::Point;
use crate::report::{self, Cell, Job, Subject, spread};
use crate::statistics::{Summary, median, ratio, rounded};
use crate::workload::{Result, Scenario};
use crate::{measure, this, upstream};

/// An established connection over TCP and its two applications.
pub(crate) trait Transfer {
    /// Lets one application write `writes` times and the other read all of it.
    fn run(&mut self, writes: usize) -> Result<Cost>;
}

/// The cost of one [`Transfer::run`], both ends together.
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    /// System calls on the two sockets.
    pub(crate) calls: u64,
}

/// The bytes that the two applications write and ask for at a time.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) write: usize,
    pub(crate) read: usize,
}

/// One line of the result.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    subject: Subject,
    write_size: usize,
    read_size: usize,
    /// Millions of plaintext bytes per second: the median over the rounds.
    mb_per_s: f64,
    /// The ratio to upstream's throughput in the same round: the median over the rounds.
    ratio_to_upstream: f64,
    /// Processor seconds of both threads for 10⁹ bytes: the median over the rounds.
    cpu_s_per_gb: f64,
    /// The mean over all rounds.
    system_calls_per_mb: f64,
    /// The 10th and 90th percentile of `mb_per_s`.
    mb_per_s_spread: (f64, f64),
}

type Build = fn(TcpApi, Sizes, &Scenario) -> Result<Box<dyn Transfer>>;

/// This library first, upstream second.
const CONTENDERS: [(&str, Build); 2] = [
    ("this", this::connection::tcp::transfer),
    ("upstream", upstream::connection::tcp::transfer),
];
const UPSTREAM: usize = 1;

impl Job for TcpArgs {
    type Row = Row;

    const NOTES: &'static str = "\
MB/s: millions of plaintext bytes per second, median over the rounds and its 10th to 90th percentile.
CPU s/GB: processor time of both ends for 10⁹ bytes, including the kernel's. system calls: of both ends.
stream: `Stream`. calls: writer, write_tls; read_tls, process_new_packets, reader.
The kernel decides from turn to turn whether the two threads share a processor: the spread shows it.
Figures compare within this run only.";

    const UNIT: &'static str = "MB/s";

    fn args(&self) -> &RunArgs {
        &self.run
    }

    fn title(&self) -> String {
        format!("{}, loopback TCP", self.suite)
    }

    fn check(&self) -> Result<()> {
        Scenario::each(&self.suite, &self.run, &self.connection).map(drop)
    }

    fn measure(&self, allocator: Kind) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for scenario in Scenario::each(&self.suite, &self.run, &self.connection)? {
            for api in self.api.apis() {
                for &write in &self.write_sizes {
                    let contest = Contest {
                        multiplier: self.time.multiplier,
                        allocator,
                        api,
                        sizes: Sizes {
                            write,
                            read: self.read_size,
                        },
                        scenario: &scenario,
                    };
                    rows.extend(contest.measure()?);
                }
            }
        }
        Ok(rows)
    }
}

/// The size of a measurement.
struct Plan {
    rounds: usize,
    /// The bytes of one transfer.
    bytes: usize,
    /// No further round begins after this time.
    limit: Duration,
}

impl Plan {
    const ROUNDS: f64 = 100.0;
    const FEWEST_ROUNDS: f64 = 3.0;
    const BYTES: f64 = 8e6;
    const FEWEST_BYTES: f64 = 250e3;
    const LIMIT: Duration = Duration::from_secs(10);

    fn new(multiplier: f64) -> Self {
        Self {
            rounds: (Self::ROUNDS * multiplier).max(Self::FEWEST_ROUNDS) as usize,
            bytes: (Self::BYTES * multiplier).clamp(Self::FEWEST_BYTES, Self::BYTES) as usize,
            limit: Self::LIMIT.mul_f64(multiplier.max(1.0)),
        }
    }
}

/// One API with one size of writes. The contenders are measured in turns.
struct Contest<'a> {
    multiplier: f64,
    allocator: Kind,
    api: TcpApi,
    sizes: Sizes,
    scenario: &'a Scenario,
}

/// The samples of one contender.
#[derive(Default)]
struct Samples {
    rates: Vec<f64>,
    cpu_per_byte: Vec<f64>,
    calls: u64,
    bytes: usize,
}

impl Contest<'_> {
    fn measure(&self) -> Result<Vec<Row>> {
        let plan = Plan::new(self.multiplier);
        let writes = plan.bytes.div_ceil(self.sizes.write);
        let label = format!(
            "{} · {} · tcp {} {}",
            self.allocator.name(),
            self.scenario.provider.name(),
            self.api.name(),
            self.sizes.write,
        );
        let progress = measure::progress(label, plan.rounds);

        let mut transfers = Vec::new();
        for (_, build) in CONTENDERS {
            let mut transfer = build(self.api, self.sizes, self.scenario)?;
            transfer.run(writes)?;
            transfers.push(transfer);
        }
        let mut samples: [Samples; CONTENDERS.len()] = Default::default();
        let start = Instant::now();
        for round in 0..plan.rounds {
            if round >= Plan::FEWEST_ROUNDS as usize && start.elapsed() > plan.limit {
                break;
            }
            for place in 0..CONTENDERS.len() {
                // the order alternates, so that no contender always runs after the same one
                let index = if round.is_multiple_of(2) {
                    place
                } else {
                    CONTENDERS.len() - 1 - place
                };
                let cost = transfers[index].run(writes)?;
                samples[index].add(&cost, writes * self.sizes.write);
            }
            progress.inc(1);
        }
        progress.finish_and_clear();

        let mut rows = Vec::new();
        for ((name, _), of_this) in CONTENDERS.iter().zip(&samples) {
            let to_upstream = ratio(&of_this.rates, &samples[UPSTREAM].rates);
            rows.push(
                self.row(name, of_this, to_upstream)
                    .ok_or("nothing was measured")?,
            );
        }
        Ok(rows)
    }

    fn row(&self, name: &str, samples: &Samples, to_upstream: Option<f64>) -> Option<Row> {
        let rate = Summary::of(samples.rates.clone())?;
        Some(Row {
            subject: Subject::new("tcp", name, self.scenario, self.api.name(), self.allocator),
            write_size: self.sizes.write,
            read_size: self.sizes.read,
            mb_per_s: rounded(rate.median / 1e6, 1),
            ratio_to_upstream: rounded(to_upstream?, 4),
            cpu_s_per_gb: rounded(1e9 * median(samples.cpu_per_byte.clone())?, 4),
            system_calls_per_mb: rounded(1e6 * samples.calls as f64 / samples.bytes as f64, 2),
            mb_per_s_spread: spread(&rate, 1e6),
        })
    }
}

impl Samples {
    fn add(&mut self, cost: &Cost, bytes: usize) {
        self.rates.push(bytes as f64 / cost.seconds);
        self.cpu_per_byte.push(cost.cpu_seconds / bytes as f64);
        self.calls += cost.calls;
        self.bytes += bytes;
    }
}

impl report::Row for Row {
    const TABLE_ONLY: &'static [&'static str] = &["mb_per_s_spread"];

    fn heading(&self) -> String {
        format!(
            "{} · {} · loopback TCP · reads of {} bytes",
            self.subject.suite, self.subject.provider, self.read_size
        )
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = self.subject.cells();
        cells.push(Cell::number("bytes/write", self.write_size.to_string()));
        cells.extend(Cell::rate("MB/s", self.mb_per_s, self.mb_per_s_spread));
        cells.extend([
            Cell::ratio("to upstream", self.ratio_to_upstream),
            Cell::number("CPU s/GB", format!("{:.3}", self.cpu_s_per_gb)),
            Cell::number(
                "system calls/MB",
                format!("{:.1}", self.system_calls_per_mb),
            ),
        ]);
        cells
    }

    fn point(&self) -> Option<Point> {
        let what = format!(" · {} bytes", self.write_size);
        Some(self.subject.point(&what, 1, self.mb_per_s))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    /// The arguments of the shortest possible run.
    fn args(more: &[&str]) -> TcpArgs {
        let fixed = ["bench", "tcp", "--multiplier=0.001"];
        let cli = Cli::try_parse_from(fixed.iter().chain(more)).unwrap();
        match cli.command {
            Command::Tcp(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_combination_has_its_row() {
        let rows = args(&[]).measure(Kind::System).unwrap();
        let mut seen = BTreeSet::new();
        for row in &rows {
            assert!(row.mb_per_s > 0.0 && row.ratio_to_upstream > 0.0, "{row:?}");
            // both ends make at least one call for each of the largest writes
            assert!(row.system_calls_per_mb >= 2e6 / 65536.0, "{row:?}");
            assert_eq!(row.cpu_s_per_gb > 0.0, cfg!(unix), "{row:?}");
            seen.insert((
                &row.subject.provider[..],
                &row.subject.implementation[..],
                &row.subject.api[..],
                row.write_size,
            ));
        }
        let mut expected = BTreeSet::new();
        for provider in ["aws-lc-rs", "ring"] {
            for implementation in ["this", "upstream"] {
                for api in ["stream", "calls"] {
                    for size in [1024, 4096, 16384, 65536] {
                        expected.insert((provider, implementation, api, size));
                    }
                }
            }
        }
        assert_eq!(seen, expected);
        assert_eq!(rows.len(), expected.len());
        let text = report::tables(&rows);
        assert_eq!(text.matches("\n| system ").count(), rows.len(), "{text}");
    }

    #[test]
    fn odd_sizes_arrive_complete() {
        // a transfer ends when all bytes have arrived, or fails after a timeout
        let sizes = "--write-sizes=100,16385,100000";
        for more in [["--read-size=1"], ["--read-size=100000"]] {
            let args = args(
                &[
                    &[sizes, "--provider=ring", "--max-fragment-size=1000"],
                    &more[..],
                ]
                .concat(),
            );
            assert_eq!(args.measure(Kind::System).unwrap().len(), 2 * 2 * 3);
        }
    }
}
