//! `bulk`: throughput of an established connection, in all requested combinations.

use bench_allocator::Kind;
use serde::{Deserialize, Serialize};

use crate::cli::{Api, BulkArgs, RunArgs};
use crate::measure::{self, Plan, Rates, Work};
use crate::plot::Point;
use crate::report::{self, Cell, Job, Subject, spread};
use crate::statistics::{Summary, ratio, rounded};
use crate::workload::{Direction, Result, Scenario, Traffic, Workload};
use crate::{limit, this, upstream};

/// One line of the result.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    subject: Subject,
    direction: String,
    threads: usize,
    plaintext_size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    working_set: Option<usize>,
    /// Millions of plaintext bytes per second: the median over the rounds.
    mb_per_s: f64,
    /// The ratio to upstream's throughput in the same round: the median over the rounds.
    ratio_to_upstream: f64,
    /// The ratio to the bare AEAD's throughput in the same round: the median over the rounds.
    share_of_limit: f64,
    allocations_per_record: f64,
    /// The 10th and 90th percentile of `mb_per_s`.
    mb_per_s_spread: (f64, f64),
    ns_per_record: f64,
}

impl Job for BulkArgs {
    type Row = Row;

    const NOTES: &'static str = "\
MB/s: millions of plaintext bytes per second, median over the rounds and its 10th to 90th percentile.
limit: the provider's AEAD alone. Figures compare within this run only.
buffered: includes the copies into and out of the pipe and, when receiving, to the application.
fill-buf: buffered, for an application that reads the plaintext in place.
in-place: compared with upstream's unbuffered sending, since upstream cannot send in place.";

    const UNIT: &'static str = "MB/s";

    fn args(&self) -> &RunArgs {
        &self.run
    }

    fn title(&self) -> String {
        let memory = self.working_set.map_or_else(String::new, |bytes| {
            format!(" through {bytes} bytes a thread")
        });
        format!(
            "{}, writes of {} bytes{memory}",
            self.suite, self.plaintext_size
        )
    }

    fn check(&self) -> Result<()> {
        Scenario::each(&self.suite, &self.run, &self.connection).map(drop)
    }

    fn measure(&self, allocator: Kind) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for connection in Scenario::each(&self.suite, &self.run, &self.connection)? {
            let traffic = Traffic {
                connection,
                plaintext_size: self.plaintext_size,
                working_set: self.working_set,
            };
            for api in self.api.apis() {
                for direction in Direction::ALL {
                    for &threads in &self.threads.0 {
                        let contest = Contest {
                            multiplier: self.time.multiplier,
                            allocator,
                            traffic: &traffic,
                            api,
                            direction,
                            threads,
                        };
                        rows.extend(contest.measure()?);
                    }
                }
            }
        }
        Ok(rows)
    }
}

/// The work of one implementation.
struct Contender {
    name: &'static str,
    build: fn(Direction, &Traffic) -> Result<Box<dyn Workload>>,
    /// False for a contender that serves only as a reference.
    has_row: bool,
}

/// The contenders for `api`: the measured one, upstream and the limit, in this order.
///
/// Upstream has no in-place encryption; a program would use its unbuffered API instead.
fn contenders(api: Api) -> [Contender; 3] {
    let contender = |name, build| Contender {
        name,
        build,
        has_row: true,
    };
    match api {
        Api::Buffered => [
            contender("this", this::connection::buffered),
            contender("upstream", upstream::connection::buffered),
            contender("limit", limit::workload),
        ],
        Api::FillBuf => [
            contender("this", this::connection::fill_buf),
            contender("upstream", upstream::connection::fill_buf),
            contender("limit", limit::workload),
        ],
        Api::Unbuffered => [
            contender("this", this::connection::unbuffered),
            contender("upstream", upstream::connection::unbuffered),
            contender("limit", limit::workload),
        ],
        Api::InPlace => [
            contender("this", this::in_place::workload),
            Contender {
                has_row: false,
                ..contender("upstream", upstream::connection::unbuffered)
            },
            contender("limit", limit::in_place),
        ],
    }
}

const UPSTREAM: usize = 1;
const LIMIT: usize = 2;

/// One API in one direction. Its contenders are measured in turns.
struct Contest<'a> {
    multiplier: f64,
    allocator: Kind,
    traffic: &'a Traffic,
    api: Api,
    direction: Direction,
    threads: usize,
}

impl Contest<'_> {
    fn measure(&self) -> Result<Vec<Row>> {
        match (self.api, self.direction) {
            // all APIs receive in place, and `fill-buf` is a way to receive
            (Api::InPlace, Direction::Receive) | (Api::FillBuf, Direction::Send) => {
                return Ok(Vec::new());
            }
            _ => {}
        }
        let contenders = contenders(self.api);
        let build = || -> Result<Vec<_>> {
            let built = contenders.iter();
            built
                .map(|contender| (contender.build)(self.direction, self.traffic))
                .collect()
        };
        let counts = count_allocations(&mut build()?)?;
        let rates = measure::interleaved(
            &Plan::new(self.multiplier, contenders.len(), self.threads),
            &Work {
                build: &build,
                batch_len: self.traffic.batch_len(),
                label: format!(
                    "{} · {} · {} {}",
                    self.allocator.name(),
                    self.traffic.connection.provider.name(),
                    self.api.name(),
                    self.direction.name()
                ),
            },
        )?;

        let mut rows = Vec::new();
        for (index, contender) in contenders.iter().enumerate() {
            if contender.has_row {
                let row = self.row(contender.name, index, &rates, counts[index]);
                rows.push(row.ok_or("nothing was measured")?);
            }
        }
        Ok(rows)
    }

    fn row(
        &self,
        implementation: &str,
        index: usize,
        rates: &Rates<1>,
        counts: Counts,
    ) -> Option<Row> {
        let record_len = self.traffic.batch_len() as f64 / counts.records;
        let ([rates], [upstream], [limit]) = (&rates[index], &rates[UPSTREAM], &rates[LIMIT]);
        let rate = Summary::of(rates.clone())?;
        Some(Row {
            subject: Subject::new(
                "bulk",
                implementation,
                &self.traffic.connection,
                self.api.name(),
                self.allocator,
            ),
            direction: self.direction.name().to_owned(),
            threads: self.threads,
            plaintext_size: self.traffic.plaintext_size,
            working_set: self.traffic.working_set,
            mb_per_s: rounded(rate.median / 1e6, 1),
            ratio_to_upstream: rounded(ratio(rates, upstream)?, 4),
            share_of_limit: rounded(ratio(rates, limit)?, 4),
            allocations_per_record: rounded(counts.allocations / counts.records, 4),
            mb_per_s_spread: spread(&rate, 1e6),
            ns_per_record: rounded(1e9 * record_len * self.threads as f64 / rate.median, 1),
        })
    }
}

/// The counts of one batch.
#[derive(Clone, Copy)]
struct Counts {
    allocations: f64,
    records: f64,
}

/// Counts allocations in a separate pass, so that counting does not disturb the timing.
fn count_allocations(workloads: &mut [Box<dyn Workload>]) -> Result<Vec<Counts>> {
    const WARM_UP: usize = 4;
    let counts = workloads.iter_mut().map(|workload| {
        for _ in 0..WARM_UP {
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

impl report::Row for Row {
    const TABLE_ONLY: &'static [&'static str] =
        &["plaintext_size", "mb_per_s_spread", "ns_per_record"];

    fn heading(&self) -> String {
        let memory = self.working_set.map_or_else(String::new, |bytes| {
            format!(" · each thread walks through {bytes} bytes")
        });
        format!(
            "{} · {} · writes of {} bytes{memory}",
            self.subject.suite, self.subject.provider, self.plaintext_size
        )
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = self.subject.cells();
        cells.push(Cell::text("direction", &self.direction));
        cells.push(Cell::number("threads", self.threads.to_string()));
        cells.extend(Cell::rate("MB/s", self.mb_per_s, self.mb_per_s_spread));
        cells.extend([
            Cell::number("ns/record", format!("{:.0}", self.ns_per_record)),
            Cell::ratio("to upstream", self.ratio_to_upstream),
            Cell::share("of limit", self.share_of_limit),
            Cell::number(
                "allocations/record",
                format!("{:.2}", self.allocations_per_record),
            ),
        ]);
        cells
    }

    fn point(&self) -> Option<Point> {
        let what = format!(" {}", self.direction);
        Some(self.subject.point(&what, self.threads, self.mb_per_s))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::plot::charts;

    /// The arguments of the shortest possible `bulk` run.
    fn args(more: &[&str]) -> BulkArgs {
        let fixed = [
            "bench",
            "bulk",
            "TLS13_AES_128_GCM_SHA256",
            "--multiplier=0.001",
        ];
        let cli = Cli::try_parse_from(fixed.iter().chain(more)).unwrap();
        match cli.command {
            Command::Bulk(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn measure(more: &[&str]) -> Vec<Row> {
        args(more).measure(Kind::System).unwrap()
    }

    #[test]
    fn every_combination_has_its_row() {
        let rows = measure(&[]);
        for provider in ["aws-lc-rs", "ring"] {
            let mut seen = BTreeSet::new();
            for Row {
                subject, direction, ..
            } in &rows
            {
                if subject.provider == provider {
                    seen.insert(
                        [&subject.implementation, &subject.api, direction].map(String::as_str),
                    );
                }
            }
            let mut expected = BTreeSet::new();
            for implementation in ["this", "upstream", "limit"] {
                for api in ["buffered", "unbuffered"] {
                    expected.insert([implementation, api, "send"]);
                    expected.insert([implementation, api, "receive"]);
                }
            }
            for implementation in ["this", "upstream", "limit"] {
                expected.insert([implementation, "fill-buf", "receive"]);
            }
            expected.insert(["this", "in-place", "send"]);
            expected.insert(["limit", "in-place", "send"]);
            assert_eq!(seen, expected);
        }
        assert_eq!(rows.len(), 2 * 17);
        for row in rows {
            assert!(row.mb_per_s > 0.0, "{row:?}");
            if row.subject.implementation == "limit" {
                assert_eq!(row.share_of_limit, 1.0);
            }
        }
    }

    #[test]
    fn odd_sizes_and_fragments_arrive_complete() {
        // every run checks that the received bytes equal the sent ones
        for sizes in [
            ["--plaintext-size=1", "--max-fragment-size=32"],
            ["--plaintext-size=100", "--max-fragment-size=64"],
            ["--plaintext-size=100000", "--max-fragment-size=16389"],
            ["--plaintext-size=16385", "--threads=2"],
            ["--plaintext-size=1000", "--working-set=300KiB"],
            ["--plaintext-size=50000", "--working-set=1"],
        ] {
            assert_eq!(measure(&sizes).len(), 2 * 17, "{sizes:?}");
        }
    }

    #[test]
    fn every_number_of_threads_has_rows_and_a_point_on_a_curve() {
        let rows = measure(&["--api=unbuffered", "--provider=ring", "--threads=1..2"]);
        let threads: Vec<_> = rows.iter().map(|row| row.threads).collect();
        assert_eq!(threads, [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2]);
        let points = rows.iter().filter_map(report::Row::point).collect();
        assert_eq!(charts("t", "MB/s", points).len(), 2);
    }

    #[test]
    fn json_has_the_documented_keys() {
        let promised = "bench impl provider suite api direction allocator threads mb_per_s \
                        ratio_to_upstream share_of_limit allocations_per_record";
        for (flag, more) in [
            ("--threads=1", None),
            ("--working-set=1000", Some("working_set")),
        ] {
            let rows = measure(&["--api=buffered", "--provider=ring", flag]);
            let json = report::json(&rows[0]).unwrap();
            let keys = json.as_object().unwrap().keys();
            let expected = promised.split_whitespace().chain(more);
            assert_eq!(
                keys.map(String::as_str).collect::<BTreeSet<_>>(),
                expected.collect()
            );

            // the parent process must be able to read the rows of the measuring process
            let line = serde_json::to_string(&rows[0]).unwrap();
            let read: Row = serde_json::from_str(&line).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), line);
        }
    }

    #[test]
    fn the_table_shows_every_row() {
        let rows = measure(&["--api=in-place"]);
        let text = report::tables(&rows);
        assert_eq!(text.matches("| in-place ").count(), rows.len(), "{text}");
        assert!(
            text.contains("· aws-lc-rs · writes of 16384 bytes"),
            "{text}"
        );
        assert!(text.contains("· ring ·"), "{text}");
    }
}
