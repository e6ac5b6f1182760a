//! `bulk`: throughput of an established connection, in every combination that was asked for.

use bench_allocator::Kind;
use serde::{Deserialize, Serialize};

use crate::cli::{Api, BulkArgs, Provider};
use crate::measure::{self, Plan, Rates, Work};
use crate::plot::Bar;
use crate::progress::Progress;
use crate::statistics::{Summary, ratio, rounded};
use crate::suites::Suite;
use crate::table::{Align, Table};
use crate::workload::{Direction, Result, Scenario, Workload};
use crate::{limit, this, upstream};

/// One line of the result, as `--json` prints it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    bench: String,
    #[serde(rename = "impl")]
    implementation: String,
    provider: String,
    suite: String,
    api: String,
    direction: String,
    allocator: String,
    threads: usize,
    /// Millions of bytes of plaintext a second: the median over the rounds.
    mb_per_s: f64,
    /// This throughput over upstream's in the same round: the median over the rounds.
    ratio_to_upstream: f64,
    /// This throughput over that of the bare AEAD in the same round: the median over the rounds.
    share_of_limit: f64,
    allocations_per_record: f64,
}

/// A [`Row`] and what only the table shows.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Measured {
    #[serde(flatten)]
    pub(crate) row: Row,
    /// The tenth and the ninetieth percentile of `mb_per_s`.
    mb_per_s_spread: (f64, f64),
    ns_per_record: f64,
}

/// Measures, on the allocator that this process runs on.
pub(crate) fn measure(args: &BulkArgs, allocator: Kind) -> Result<Vec<Measured>> {
    let providers = args.connection.provider.providers();
    let suite = Suite::find(&args.suite, &providers)?;
    let identities = args.connection.key_type.identities();
    let mut rows = Vec::new();
    for provider in providers {
        let scenario = Scenario {
            provider,
            suite: suite.clone(),
            identities,
            max_fragment_size: args.connection.max_fragment_size,
            plaintext_size: args.plaintext_size,
        };
        for api in args.api.apis() {
            for direction in Direction::ALL {
                let contest = Contest {
                    args,
                    allocator,
                    scenario: &scenario,
                    api,
                    direction,
                };
                rows.extend(contest.measure()?);
            }
        }
    }
    Ok(rows)
}

/// One implementation's way to do the work.
struct Contender {
    name: &'static str,
    build: fn(Direction, &Scenario) -> Result<Box<dyn Workload>>,
    /// False for a contender that is measured only for comparison.
    has_row: bool,
}

/// The contenders for `api`: the one measured, upstream and the limit, in this order.
///
/// Upstream has no in-place encryption; its unbuffered API is what a program would use instead.
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

/// One API in one direction: what is measured interleaved.
struct Contest<'a> {
    args: &'a BulkArgs,
    allocator: Kind,
    scenario: &'a Scenario,
    api: Api,
    direction: Direction,
}

impl Contest<'_> {
    fn measure(&self) -> Result<Vec<Measured>> {
        match (self.api, self.direction) {
            // receiving is in place in every API, and this is a way to receive
            (Api::InPlace, Direction::Receive) | (Api::FillBuf, Direction::Send) => {
                return Ok(Vec::new());
            }
            _ => {}
        }
        let contenders = contenders(self.api);
        let progress = Progress::new();
        let label = format!(
            "{} · {} · {} {}",
            self.allocator.name(),
            self.scenario.provider.name(),
            self.api.name(),
            self.direction.name()
        );
        let build = || -> Result<Vec<_>> {
            let built = contenders.iter();
            built
                .map(|contender| (contender.build)(self.direction, self.scenario))
                .collect()
        };
        let counts = count_allocations(&mut build()?)?;
        let rates = measure::interleaved(
            &Plan::new(self.args.multiplier, contenders.len(), self.args.threads),
            &Work {
                build: &build,
                batch_len: self.scenario.batch_len(),
                progress: &|done| progress.show(&label, done),
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
        rates: &Rates,
        counts: Counts,
    ) -> Option<Measured> {
        let record_len = self.scenario.batch_len() as f64 / counts.records;
        let threads = self.args.threads;
        let rate = Summary::of(rates[index].clone())?;
        Some(Measured {
            row: Row {
                bench: "bulk".to_owned(),
                implementation: implementation.to_owned(),
                provider: self.scenario.provider.name().to_owned(),
                suite: self.scenario.suite.name.clone(),
                api: self.api.name().to_owned(),
                direction: self.direction.name().to_owned(),
                allocator: self.allocator.name().to_owned(),
                threads,
                mb_per_s: rounded(rate.median / 1e6, 1),
                ratio_to_upstream: rounded(ratio(&rates[index], &rates[UPSTREAM])?, 4),
                share_of_limit: rounded(ratio(&rates[index], &rates[LIMIT])?, 4),
                allocations_per_record: rounded(counts.allocations / counts.records, 4),
            },
            mb_per_s_spread: (rounded(rate.p10 / 1e6, 1), rounded(rate.p90 / 1e6, 1)),
            ns_per_record: rounded(1e9 * record_len * threads as f64 / rate.median, 1),
        })
    }
}

/// Counts of one batch.
#[derive(Clone, Copy)]
struct Counts {
    allocations: f64,
    records: f64,
}

/// Counts allocations in a pass of its own: nothing here is timed, and nothing is counted while something is
/// timed.
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

/// The rows as a table for people.
pub(crate) fn table(args: &BulkArgs, rows: &[Measured]) -> String {
    let mut text = String::new();
    for provider in Provider::ALL {
        let mut table = Table::new(&[
            ("allocator", Align::Left),
            ("implementation", Align::Left),
            ("API", Align::Left),
            ("direction", Align::Left),
            ("MB/s", Align::Right),
            ("p10–p90", Align::Right),
            ("ns/record", Align::Right),
            ("to upstream", Align::Right),
            ("of limit", Align::Right),
            ("allocations/record", Align::Right),
        ]);
        for measured in rows {
            if measured.row.provider == provider.name() {
                table.push(cells(measured));
            }
        }
        if table.is_empty() {
            continue;
        }
        let threads = match args.threads {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        };
        text += &format!(
            "{} · {} · writes of {} bytes · {threads}\n\n{table}\n",
            args.suite,
            provider.name(),
            args.plaintext_size,
        );
    }
    text += "\
MB/s: millions of bytes of plaintext a second, median over the rounds and its 10th to 90th percentile.
limit: the provider's AEAD alone. Figures compare within this run only.
buffered: includes the copies into and out of the pipe and, receiving, out to the application.
fill-buf: buffered, for an application that looks at what came where it lies.
in-place: against upstream's unbuffered sending, for want of one in place.
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
        row.direction.clone(),
        megabytes(row.mb_per_s),
        format!("{}–{}", megabytes(low), megabytes(high)),
        format!("{:.0}", measured.ns_per_record),
        format!("{:.2} ×", row.ratio_to_upstream),
        format!("{:.1} %", 100.0 * row.share_of_limit),
        format!("{:.2}", row.allocations_per_record),
    ]
}

/// Formats a throughput with at least three digits.
fn megabytes(mb_per_s: f64) -> String {
    if mb_per_s < 100.0 {
        format!("{mb_per_s:.1}")
    } else {
        format!("{mb_per_s:.0}")
    }
}

/// The rows as bars.
pub(crate) fn bars(rows: &[Measured]) -> Vec<Bar> {
    let bar = |measured: &Measured| {
        let row = &measured.row;
        Bar {
            group: format!(
                "{} · {} · {} {}",
                row.provider, row.allocator, row.api, row.direction
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

    /// The arguments of a `bulk` run as short as can be.
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

    #[test]
    fn every_combination_has_its_row() {
        let rows = measure(&args(&[]), Kind::System).unwrap();
        for provider in ["aws-lc-rs", "ring"] {
            let mut seen = BTreeSet::new();
            for Measured { row, .. } in &rows {
                if row.provider == provider {
                    seen.insert(
                        [&row.implementation, &row.api, &row.direction].map(String::as_str),
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
        for Measured { row, .. } in rows {
            assert!(row.mb_per_s > 0.0, "{row:?}");
            if row.implementation == "limit" {
                assert_eq!(row.share_of_limit, 1.0);
            }
        }
    }

    #[test]
    fn odd_sizes_and_fragments_are_carried_whole() {
        // every run checks that what was received is what was sent
        for sizes in [
            ["--plaintext-size=1", "--max-fragment-size=32"],
            ["--plaintext-size=100", "--max-fragment-size=64"],
            ["--plaintext-size=100000", "--max-fragment-size=16389"],
            ["--plaintext-size=16385", "--threads=2"],
        ] {
            let rows = measure(&args(&sizes), Kind::System).unwrap();
            assert_eq!(rows.len(), 2 * 17, "{sizes:?}");
        }
    }

    #[test]
    fn json_has_the_keys_that_are_promised() {
        let rows = measure(&args(&["--api=buffered", "--provider=ring"]), Kind::System).unwrap();
        let json = serde_json::to_value(&rows[0].row).unwrap();
        let keys: BTreeSet<_> = json
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let expected = "bench impl provider suite api direction allocator threads mb_per_s \
                        ratio_to_upstream share_of_limit allocations_per_record";
        assert_eq!(keys, expected.split_whitespace().collect());

        // what the measuring process prints is what the one that started it reads
        let line = serde_json::to_string(&rows[0]).unwrap();
        let read: Measured = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
    }

    #[test]
    fn the_table_shows_every_row() {
        let args = args(&["--api=in-place"]);
        let rows = measure(&args, Kind::System).unwrap();
        let text = table(&args, &rows);
        assert_eq!(text.matches("in-place  ").count(), rows.len(), "{text}");
        assert!(text.contains("· aws-lc-rs · writes of 16384 bytes · 1 thread"));
        assert!(text.contains("· ring ·"));
        assert_eq!(bars(&rows).len(), rows.len());
    }
}
