//! `duplex`: one end of a connection sends and receives at the same time, on two threads. Its
//! halves are split, or the whole connection is behind a mutex. Both are compared with one
//! direction alone.
//!
//! Only the work of that end is timed. Its peer makes the records in advance, and the records that
//! it sends only go to memory. So two processors are enough:
//!
//! ```text
//!   thread 1   writer, write_tls                          ─► memory, the same for each write
//!   thread 2   read_tls, process_new_packets, reader      ◄─ records, made before
//! ```
//!
//! One direction alone runs on a whole connection without a mutex. With both, the receiving thread
//! has a fixed amount of work. The other thread sends until that is done, so that both are busy all
//! the time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bench_allocator::Kind;
use serde::{Deserialize, Serialize};

use crate::cli::{DuplexArgs, RunArgs};
use crate::plot::Point;
use crate::report::{self, Cell, Job, Subject, spread};
use crate::statistics::{Summary, median, rounded};
use crate::workload::{Result, Scenario};
use crate::{measure, this, upstream};

/// One end of an established connection.
pub(crate) trait End {
    /// Lets the peer make the records for the next [`Self::run`].
    fn prepare(&mut self) -> Result<()>;

    fn run(&mut self, work: Work) -> Result<Done>;
}

/// The directions that an end uses at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Work {
    Send,
    Receive,
    Both,
}

/// The plaintext bytes sent and received, and the time that it took.
pub(crate) struct Done {
    moved: [usize; 2],
    time: Duration,
}

impl Done {
    /// Bytes sent and received per second.
    fn rates(&self) -> [f64; 2] {
        self.moved
            .map(|bytes| bytes as f64 / self.time.as_secs_f64())
    }
}

/// The amount of data that an end sends and receives.
#[derive(Clone, Copy)]
pub(crate) struct Amount {
    pub(crate) write_size: usize,
    pub(crate) writes: usize,
}

/// Times sending alone; `send` returns the number of plaintext bytes sent.
pub(crate) fn sending(send: impl FnOnce() -> Result<usize>) -> Result<Done> {
    let start = Instant::now();
    let sent = send()?;
    Ok(Done {
        moved: [sent, 0],
        time: start.elapsed(),
    })
}

/// Times receiving alone.
pub(crate) fn receiving(receive: impl FnOnce() -> Result<usize>) -> Result<Done> {
    let start = Instant::now();
    let received = receive()?;
    Ok(Done {
        moved: [0, received],
        time: start.elapsed(),
    })
}

/// Times both: runs `receive` once, and `send` repeatedly on another thread until then.
pub(crate) fn both(
    mut send: impl FnMut() -> Result<usize> + Send,
    receive: impl FnOnce() -> Result<usize>,
) -> Result<Done> {
    let (begin, is_over) = (Barrier::new(2), AtomicBool::new(false));
    thread::scope(|scope| {
        let sending = scope.spawn(|| -> Result<usize> {
            let mut sent = 0;
            begin.wait();
            while !is_over.load(Ordering::Relaxed) {
                sent += send()?;
            }
            Ok(sent)
        });
        begin.wait();
        let start = Instant::now();
        let received = receive();
        let time = start.elapsed();
        is_over.store(true, Ordering::Relaxed);
        let sent = sending
            .join()
            .map_err(|_| "the sending thread panicked")??;
        Ok(Done {
            moved: [sent, received?],
            time,
        })
    })
}

/// One line of the result.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    subject: Subject,
    direction: String,
    /// The way two threads share the connection.
    sharing: String,
    threads: usize,
    write_size: usize,
    /// Millions of plaintext bytes per second, both directions together: the median over the
    /// rounds.
    mb_per_s: f64,
    /// The sum of both directions, each as a fraction of that direction alone. Compares within the
    /// same implementation and round; the median over the rounds.
    ratio_to_one_direction: f64,
    /// The 10th and 90th percentile of `mb_per_s`.
    mb_per_s_spread: (f64, f64),
}

type Build = fn(&Scenario, Amount) -> Result<Box<dyn End>>;

/// The ends that are measured.
const ENDS: [Build; 3] = [
    this::connection::duplex::whole,
    this::split::halves,
    upstream::connection::duplex::whole,
];

/// A measurement of one of [`ENDS`].
struct Contender {
    name: &'static str,
    sharing: &'static str,
    end: usize,
    work: Work,
    /// The index in [`CONTENDERS`] where the same implementation sends alone; it receives alone at
    /// the next one.
    alone: usize,
}

const fn contender(
    name: &'static str,
    sharing: &'static str,
    end: usize,
    work: Work,
    alone: usize,
) -> Contender {
    Contender {
        name,
        sharing,
        end,
        work,
        alone,
    }
}

const CONTENDERS: [Contender; 7] = [
    contender("this", "none", 0, Work::Send, 0),
    contender("this", "none", 0, Work::Receive, 0),
    contender("this", "mutex", 0, Work::Both, 0),
    contender("this", "split", 1, Work::Both, 0),
    contender("upstream", "none", 2, Work::Send, 4),
    contender("upstream", "none", 2, Work::Receive, 4),
    contender("upstream", "mutex", 2, Work::Both, 4),
];

impl Work {
    const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Both => "both",
        }
    }

    const fn threads(self) -> usize {
        match self {
            Self::Both => 2,
            Self::Send | Self::Receive => 1,
        }
    }
}

impl Job for DuplexArgs {
    type Row = Row;

    const NOTES: &'static str = "\
MB/s: millions of plaintext bytes per second, both directions together; median over the rounds and its 10th to 90th
percentile. Work of one end only: incoming records are made in advance, outgoing ones go to memory.
to one direction: the sum of both directions, each relative to that direction alone on one thread. Taking turns gives 1;
2 is the most for two processors with no other work. Figures compare within this run only.";

    const UNIT: &'static str = "MB/s";

    fn args(&self) -> &RunArgs {
        &self.run
    }

    fn title(&self) -> String {
        format!("{}, both directions at once", self.suite)
    }

    fn check(&self) -> Result<()> {
        Scenario::each(&self.suite, &self.run, &self.connection).map(drop)
    }

    fn measure(&self, allocator: Kind) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for scenario in Scenario::each(&self.suite, &self.run, &self.connection)? {
            for &write_size in &self.write_sizes {
                let contest = Contest {
                    multiplier: self.time.multiplier,
                    allocator,
                    write_size,
                    scenario: &scenario,
                };
                rows.extend(contest.measure()?);
            }
        }
        Ok(rows)
    }
}

/// One provider and one size of writes. The contenders are measured in turns.
struct Contest<'a> {
    multiplier: f64,
    allocator: Kind,
    write_size: usize,
    scenario: &'a Scenario,
}

impl Contest<'_> {
    const ROUNDS: f64 = 60.0;
    const FEWEST_ROUNDS: f64 = 3.0;
    /// The plaintext bytes received in one turn: enough to make the start of the threads
    /// negligible.
    const BYTES: f64 = 16e6;
    const FEWEST_BYTES: f64 = 250e3;

    fn measure(&self) -> Result<Vec<Row>> {
        let rounds = (Self::ROUNDS * self.multiplier).max(Self::FEWEST_ROUNDS) as usize;
        let bytes = (Self::BYTES * self.multiplier).clamp(Self::FEWEST_BYTES, Self::BYTES);
        let amount = Amount {
            write_size: self.write_size,
            writes: (bytes as usize).div_ceil(self.write_size),
        };
        let label = format!(
            "{} · {} · duplex {}",
            self.allocator.name(),
            self.scenario.provider.name(),
            self.write_size,
        );
        let progress = measure::progress(label, rounds);

        let mut ends = Vec::new();
        for build in ENDS {
            ends.push(build(self.scenario, amount)?);
        }
        let mut rates = CONTENDERS.map(|_| Vec::with_capacity(rounds));
        // the first round only warms up buffers and caches
        for round in 0..=rounds {
            for place in 0..CONTENDERS.len() {
                // the order rotates, so that no contender always follows the same one
                let index = (place + round) % CONTENDERS.len();
                let Contender { end, work, .. } = CONTENDERS[index];
                if work != Work::Send {
                    ends[end].prepare()?;
                }
                let done = ends[end].run(work)?;
                if round != 0 {
                    rates[index].push(done.rates());
                }
            }
            progress.inc(u64::from(round != 0));
        }
        progress.finish_and_clear();

        let rows = (0..CONTENDERS.len()).map(|index| self.row(index, &rates));
        Ok(rows.collect::<Option<_>>().ok_or("nothing was measured")?)
    }

    fn row(&self, index: usize, rates: &[Vec<[f64; 2]>]) -> Option<Row> {
        let of_this = &CONTENDERS[index];
        let alone = rates[of_this.alone].iter().zip(&rates[of_this.alone + 1]);
        let shares = rates[index].iter().zip(alone);
        let shares = shares
            .map(|(of_this, (send, receive))| of_this[0] / send[0] + of_this[1] / receive[1])
            .collect();
        let rate = rates[index].iter().map(|rates| rates.iter().sum());
        let rate = Summary::of(rate.collect())?;
        Some(Row {
            subject: Subject::new(
                "duplex",
                of_this.name,
                self.scenario,
                "buffered",
                self.allocator,
            ),
            direction: of_this.work.name().to_owned(),
            sharing: of_this.sharing.to_owned(),
            threads: of_this.work.threads(),
            write_size: self.write_size,
            mb_per_s: rounded(rate.median / 1e6, 1),
            ratio_to_one_direction: rounded(median(shares)?, 4),
            mb_per_s_spread: spread(&rate, 1e6),
        })
    }
}

impl report::Row for Row {
    const TABLE_ONLY: &'static [&'static str] = &["mb_per_s_spread"];

    fn heading(&self) -> String {
        format!(
            "{} · {} · both directions at once · writes of {} bytes",
            self.subject.suite, self.subject.provider, self.write_size
        )
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = self.subject.cells();
        cells.push(Cell::text("direction", &self.direction));
        cells.push(Cell::text("shared by", &self.sharing));
        cells.push(Cell::number("threads", self.threads.to_string()));
        cells.extend(Cell::rate("MB/s", self.mb_per_s, self.mb_per_s_spread));
        cells.push(Cell::ratio("to one direction", self.ratio_to_one_direction));
        cells
    }

    fn point(&self) -> Option<Point> {
        let what = format!(" {} {}", self.direction, self.sharing);
        Some(self.subject.point(&what, self.threads, self.mb_per_s))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    /// The arguments of the shortest possible run.
    fn args(more: &[&str]) -> DuplexArgs {
        let fixed = ["bench", "duplex", "--multiplier=0.001"];
        let cli = Cli::try_parse_from(fixed.iter().chain(more)).unwrap();
        match cli.command {
            Command::Duplex(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_contender_has_its_row() {
        // every run checks that the received bytes equal the sent ones
        for more in [
            &[][..],
            &["--write-sizes=100,50000"],
            &["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"],
        ] {
            let args = args(more);
            let rows = args.measure(Kind::System).unwrap();
            assert_eq!(rows.len(), 2 * args.write_sizes.len() * CONTENDERS.len());
            for row in &rows {
                assert!(row.mb_per_s > 0.0, "{row:?}");
                assert!(row.ratio_to_one_direction > 0.0, "{row:?}");
                assert_eq!(row.threads == 2, row.sharing != "none", "{row:?}");
                if row.threads == 1 {
                    assert_eq!(row.ratio_to_one_direction, 1.0, "{row:?}");
                }
            }
            let text = report::tables(&rows);
            assert_eq!(text.matches("\n| system ").count(), rows.len(), "{text}");
        }
    }

    #[test]
    fn json_has_the_documented_keys() {
        let rows = args(&["--provider=ring"]).measure(Kind::System).unwrap();
        let json = report::json(&rows[0]).unwrap();
        let keys = json.as_object().unwrap().keys();
        let promised = "bench impl provider suite api direction sharing allocator threads write_size mb_per_s \
                        ratio_to_one_direction";
        assert_eq!(
            keys.map(String::as_str).collect::<BTreeSet<_>>(),
            promised.split_whitespace().collect()
        );
        let line = serde_json::to_string(&rows[0]).unwrap();
        let read: Row = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
    }

    #[test]
    fn a_failure_of_one_thread_ends_both() {
        let fails = || Err("it failed".into());
        assert!(both(|| Ok(1), fails).is_err());
        let failed = AtomicBool::new(false);
        let outcome = both(
            || {
                failed.store(true, Ordering::SeqCst);
                Err("it failed".into())
            },
            || {
                while !failed.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                Ok(1)
            },
        );
        assert!(outcome.is_err());
    }
}
