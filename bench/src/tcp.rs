//! `tcp`: both ends over loopback TCP in one process, this library beside upstream.

use std::time::{Duration, Instant};

use bench_allocator::Kind;
use serde::{Deserialize, Serialize};

use crate::cli::{Provider, TcpApi, TcpArgs};
use crate::plot::Bar;
use crate::progress::Progress;
use crate::statistics::{Summary, median, ratio, rounded};
use crate::suites::Suite;
use crate::table::{Align, Table};
use crate::workload::{Result, Scenario};
use crate::{this, upstream};

/// An established connection over TCP, and two applications.
pub(crate) trait Transfer {
    /// One application writes so many times, the other reads all of it.
    fn run(&mut self, writes: usize) -> Result<Cost>;
}

/// Of one [`Transfer::run`], both ends together.
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    /// System calls on the two sockets.
    pub(crate) calls: u64,
}

/// Bytes that the two applications hand over at a time.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) write: usize,
    pub(crate) read: usize,
}

/// One line of the result, as `--json` prints it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    bench: String,
    #[serde(rename = "impl")]
    implementation: String,
    provider: String,
    suite: String,
    api: String,
    allocator: String,
    write_size: usize,
    read_size: usize,
    /// Millions of bytes of plaintext a second: the median over the rounds.
    mb_per_s: f64,
    /// This throughput over upstream's in the same round: the median over the rounds.
    ratio_to_upstream: f64,
    /// Processor seconds of both threads for 10⁹ bytes: the median over the rounds.
    cpu_s_per_gb: f64,
    /// Of all rounds.
    system_calls_per_mb: f64,
}

/// A [`Row`] and what only the table shows.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Measured {
    #[serde(flatten)]
    pub(crate) row: Row,
    /// The tenth and the ninetieth percentile of `mb_per_s`.
    mb_per_s_spread: (f64, f64),
}

type Build = fn(TcpApi, Sizes, &Scenario) -> Result<Box<dyn Transfer>>;

/// Upstream is the second, and the last.
const CONTENDERS: [(&str, Build); 2] = [
    ("this", this::connection::tcp::transfer),
    ("upstream", upstream::connection::tcp::transfer),
];
const UPSTREAM: usize = 1;

/// Measures, on the allocator that this process runs on.
pub(crate) fn measure(args: &TcpArgs, allocator: Kind) -> Result<Vec<Measured>> {
    let providers = args.connection.provider.providers();
    let suite = Suite::find(&args.suite, &providers)?;
    let mut rows = Vec::new();
    for provider in providers {
        for api in args.api.apis() {
            for &write in &args.write_sizes {
                let contest = Contest {
                    args,
                    allocator,
                    api,
                    sizes: Sizes {
                        write,
                        read: args.read_size,
                    },
                    scenario: Scenario {
                        provider,
                        suite: suite.clone(),
                        identities: args.connection.key_type.identities(),
                        max_fragment_size: args.connection.max_fragment_size,
                        plaintext_size: write,
                    },
                };
                rows.extend(contest.measure()?);
            }
        }
    }
    Ok(rows)
}

/// How much is measured.
struct Plan {
    rounds: usize,
    /// Of one transfer.
    bytes: usize,
    /// When this is over, no further round begins.
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

/// One way to use a connection, with one size of writes: what is measured interleaved.
struct Contest<'a> {
    args: &'a TcpArgs,
    allocator: Kind,
    api: TcpApi,
    sizes: Sizes,
    scenario: Scenario,
}

/// What was measured of one contender, round by round.
#[derive(Default)]
struct Samples {
    rates: Vec<f64>,
    cpu_per_byte: Vec<f64>,
    calls: u64,
    bytes: usize,
}

impl Contest<'_> {
    fn measure(&self) -> Result<Vec<Measured>> {
        let plan = Plan::new(self.args.multiplier);
        let writes = plan.bytes.div_ceil(self.sizes.write);
        let progress = Progress::new();
        let label = format!(
            "{} · {} · tcp {} {}",
            self.allocator.name(),
            self.scenario.provider.name(),
            self.api.name(),
            self.sizes.write,
        );

        let mut transfers = Vec::new();
        for (_, build) in CONTENDERS {
            let mut transfer = build(self.api, self.sizes, &self.scenario)?;
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
                // the order changes from round to round: nobody always follows the same
                let index = if round.is_multiple_of(2) {
                    place
                } else {
                    CONTENDERS.len() - 1 - place
                };
                let cost = transfers[index].run(writes)?;
                samples[index].add(&cost, writes * self.sizes.write);
            }
            progress.show(&label, (round + 1) as f64 / plan.rounds as f64);
        }

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

    fn row(&self, name: &str, samples: &Samples, to_upstream: Option<f64>) -> Option<Measured> {
        let rate = Summary::of(samples.rates.clone())?;
        Some(Measured {
            row: Row {
                bench: "tcp".to_owned(),
                implementation: name.to_owned(),
                provider: self.scenario.provider.name().to_owned(),
                suite: self.scenario.suite.name.clone(),
                api: self.api.name().to_owned(),
                allocator: self.allocator.name().to_owned(),
                write_size: self.sizes.write,
                read_size: self.sizes.read,
                mb_per_s: rounded(rate.median / 1e6, 1),
                ratio_to_upstream: rounded(to_upstream?, 4),
                cpu_s_per_gb: rounded(1e9 * median(samples.cpu_per_byte.clone())?, 4),
                system_calls_per_mb: rounded(1e6 * samples.calls as f64 / samples.bytes as f64, 2),
            },
            mb_per_s_spread: (rounded(rate.p10 / 1e6, 1), rounded(rate.p90 / 1e6, 1)),
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

/// The rows as a table for people.
pub(crate) fn table(args: &TcpArgs, rows: &[Measured]) -> String {
    let mut text = String::new();
    for provider in Provider::ALL {
        let mut table = Table::new(&[
            ("allocator", Align::Left),
            ("implementation", Align::Left),
            ("API", Align::Left),
            ("bytes/write", Align::Right),
            ("MB/s", Align::Right),
            ("p10–p90", Align::Right),
            ("to upstream", Align::Right),
            ("CPU s/GB", Align::Right),
            ("system calls/MB", Align::Right),
        ]);
        for measured in rows {
            if measured.row.provider == provider.name() {
                table.push(cells(measured));
            }
        }
        if !table.is_empty() {
            text += &format!(
                "{} · {} · loopback TCP · reads of {} bytes\n\n{table}\n",
                args.suite,
                provider.name(),
                args.read_size,
            );
        }
    }
    text += "\
MB/s: millions of bytes of plaintext a second, median over the rounds and its 10th to 90th percentile.
CPU s/GB: processor time of both ends for 10⁹ bytes, the kernel's included. system calls: of both ends.
stream: `Stream`. calls: writer, write_tls; read_tls, process_new_packets, reader.
The kernel decides from turn to turn whether the two threads share a processor: the spread shows it.
Figures compare within this run only.
";
    text
}

fn cells(measured: &Measured) -> Vec<String> {
    let row = &measured.row;
    let (low, high) = measured.mb_per_s_spread;
    vec![
        row.allocator.clone(),
        row.implementation.clone(),
        row.api.clone(),
        row.write_size.to_string(),
        format!("{:.0}", row.mb_per_s),
        format!("{low:.0}–{high:.0}"),
        format!("{:.2} ×", row.ratio_to_upstream),
        format!("{:.3}", row.cpu_s_per_gb),
        format!("{:.1}", row.system_calls_per_mb),
    ]
}

/// The rows as bars.
pub(crate) fn bars(rows: &[Measured]) -> Vec<Bar> {
    let bar = |measured: &Measured| {
        let row = &measured.row;
        Bar {
            group: format!(
                "{} · {} · {} · {} bytes",
                row.provider, row.allocator, row.api, row.write_size
            ),
            series: row.implementation.clone(),
            value: row.mb_per_s,
        }
    };
    rows.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    /// The arguments of a run as short as can be.
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
        let args = args(&[]);
        let rows = measure(&args, Kind::System).unwrap();
        let mut seen = BTreeSet::new();
        for Measured { row, .. } in &rows {
            assert!(row.mb_per_s > 0.0 && row.ratio_to_upstream > 0.0, "{row:?}");
            // both ends make at least one for each of the longest writes
            assert!(row.system_calls_per_mb >= 2e6 / 65536.0, "{row:?}");
            assert_eq!(row.cpu_s_per_gb > 0.0, cfg!(unix), "{row:?}");
            seen.insert((
                &row.provider[..],
                &row.implementation[..],
                &row.api[..],
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
        let text = table(&args, &rows);
        assert_eq!(text.matches("system  ").count(), rows.len(), "{text}");
        assert_eq!(bars(&rows).len(), rows.len());
    }

    #[test]
    fn odd_sizes_are_carried_whole() {
        // a transfer ends when all has come, and fails when that takes too long
        let sizes = "--write-sizes=100,16385,100000";
        for more in [["--read-size=1"], ["--read-size=100000"]] {
            let args = args(
                &[
                    &[sizes, "--provider=ring", "--max-fragment-size=1000"],
                    &more[..],
                ]
                .concat(),
            );
            assert_eq!(measure(&args, Kind::System).unwrap().len(), 2 * 2 * 3);
        }
    }
}
