//! `load connections`: thousands of connections in one process, idle and while all of them move
//! data.

use bench_allocator::{Kind, so_far};
use serde::{Deserialize, Serialize};

use crate::cli::{Api, LoadConnectionsArgs, RunArgs};
use crate::plot::Point;
use crate::report::{self, Cell, Job, Subject};
use crate::statistics::rounded;
use crate::workload::{Result, Scenario};
use crate::{measure, socket, this, upstream};

/// Many connected pairs.
pub(crate) trait ManyPairs {
    /// Sends `data` to every connection, which does not hand it out yet.
    fn hold(&mut self, data: Move) -> Result<()>;

    /// Delivers the rest to every connection and reads all of `data`.
    fn read(&mut self, data: Move) -> Result<()>;

    /// Drops all connections; returns the heap bytes freed by clients and by servers.
    fn give_back(&mut self) -> [i64; 2];
}

/// The data sent to each connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub(crate) len: usize,
    /// True if the whole record arrives at once and waits to be read. Otherwise its last bytes
    /// arrive later.
    pub(crate) is_whole: bool,
}

/// The number of bytes of a record that arrive later.
pub(crate) const REST: usize = 16;

/// The moves of each round, with their names.
const MOVES: [(&str, Move); 6] = [
    ("1 byte waits", Move::whole(1)),
    ("1 kB waits", Move::whole(1000)),
    ("16 KiB wait", Move::whole(1 << 14)),
    ("part of a record of 1 byte", Move::part(1)),
    ("part of a record of 1 kB", Move::part(1000)),
    ("part of a record of 16 KiB", Move::part(1 << 14)),
];

impl Move {
    const fn whole(len: usize) -> Self {
        Self {
            len,
            is_whole: true,
        }
    }

    const fn part(len: usize) -> Self {
        Self {
            len,
            is_whole: false,
        }
    }
}

const ROUNDS: usize = 4;

/// One figure.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    subject: Subject,
    transport: String,
    connections: usize,
    state: String,
    /// Heap bytes per connection; the mean over clients and servers, unless the state names one.
    bytes_per_connection: f64,
    /// The growth of the heap from the end of the first round to that of the last.
    growth_bytes: i64,
}

impl Job for LoadConnectionsArgs {
    type Row = Row;

    const NOTES: &'static str = "\
Heap bytes requested from Rust's global allocator. idle: freed by dropping them after all data was read. waits: every
connection holds received data that was not read; part: a record without its last 16 bytes; with the unbuffered API
that is the application's memory. resident: growth of the process, including C's allocator, where the system
reports it. growth: of the whole heap over the rounds after the first.";

    const UNIT: &'static str = "bytes";

    fn args(&self) -> &RunArgs {
        &self.run
    }

    fn title(&self) -> String {
        format!("{}, heap of one of many connections", self.suite)
    }

    fn check(&self) -> Result<()> {
        Scenario::each(&self.suite, &self.run, &self.connection)?;
        if self.tcp {
            // two sockets for each pair, and some for the process
            harness::peers::os::allow_files(2 * self.pairs() + 32)?;
        }
        Ok(())
    }

    fn measure(&self, allocator: Kind) -> Result<Vec<Row>> {
        self.check()?;
        let scenarios = Scenario::each(&self.suite, &self.run, &self.connection)?;
        let apis: &[Api] = if self.tcp {
            &[Api::Buffered]
        } else {
            &[Api::Buffered, Api::Unbuffered]
        };
        let steps = scenarios.len() * apis.len() * CONTENDERS.len();
        let label = format!("{} · {} pairs", allocator.name(), self.pairs());
        let progress = measure::progress(label, steps * (ROUNDS + 1));
        let mut rows = Vec::new();
        for scenario in &scenarios {
            for &api in apis {
                for (name, connect) in CONTENDERS {
                    // one-time setup happens with a process's first connections and belongs to none
                    connect(api, scenario, 1, self.tcp)?;
                    let (totals, _) = bench_allocator::count(|| {
                        let resident = socket::resident_bytes();
                        let mut pairs = connect(api, scenario, self.pairs(), self.tcp)?;
                        progress.inc(1);
                        Totals::new(&mut *pairs, resident, || progress.inc(1))
                    });
                    let totals = totals?;
                    if name == "this" && totals.growth > 0 {
                        let (growth, api) = (totals.growth, api.name());
                        return Err(format!("{api}: the heap grew by {growth} bytes").into());
                    }
                    let subject =
                        Subject::new("load-connections", name, scenario, api.name(), allocator);
                    rows.extend(self.rows(&subject, &totals));
                }
            }
        }
        progress.finish_and_clear();
        Ok(rows)
    }
}

impl LoadConnectionsArgs {
    /// The number of pairs.
    fn pairs(&self) -> usize {
        let scaled = self.connections as f64 * self.time.multiplier;
        (scaled as usize).max(4)
    }

    fn rows(&self, subject: &Subject, totals: &Totals) -> Vec<Row> {
        let pairs = self.pairs() as f64;
        let row = |state: &str, bytes: f64| Row {
            subject: subject.clone(),
            transport: if self.tcp { "TCP" } else { "memory" }.to_owned(),
            connections: 2 * self.pairs(),
            state: state.to_owned(),
            bytes_per_connection: rounded(bytes, 1),
            growth_bytes: totals.growth,
        };
        let mut rows = vec![
            row("idle client", totals.idle[0] as f64 / pairs),
            row("idle server", totals.idle[1] as f64 / pairs),
        ];
        let idle: i64 = totals.idle.iter().sum();
        let held = MOVES.iter().zip(&totals.held);
        rows.extend(
            held.map(|((state, _), more)| row(state, (idle + more) as f64 / (2.0 * pairs))),
        );
        // zero if the process reused memory of earlier connections
        let resident = totals.resident.iter().filter(|bytes| **bytes > 0);
        rows.extend(resident.map(|bytes| row("resident", *bytes as f64 / (2.0 * pairs))));
        rows
    }
}

type Connect = fn(Api, &Scenario, usize, bool) -> Result<Box<dyn ManyPairs>>;

const CONTENDERS: [(&str, Connect); 2] = [
    ("this", this::connection::many_pairs::connected),
    ("upstream", upstream::connection::many_pairs::connected),
];

/// The figures of all pairs together.
struct Totals {
    idle: [i64; 2],
    /// The heap bytes in each of [`MOVES`], minus those at the end of a round.
    held: Vec<i64>,
    growth: i64,
    resident: Option<i64>,
}

impl Totals {
    /// Runs the rounds. Call it within the work of [`bench_allocator::count`].
    fn new(
        pairs: &mut dyn ManyPairs,
        resident: Option<i64>,
        round_done: impl Fn(),
    ) -> Result<Self> {
        let mut ends = Vec::with_capacity(ROUNDS);
        let mut held = Vec::with_capacity(MOVES.len());
        for _ in 0..ROUNDS {
            held.clear();
            for (_, data) in MOVES {
                pairs.hold(data)?;
                held.push(so_far().bytes);
                pairs.read(data)?;
            }
            ends.push(so_far().bytes);
            round_done();
        }
        let resident = resident
            .zip(socket::resident_bytes())
            .map(|(before, now)| now - before);
        let end = ends[ROUNDS - 1];
        for bytes in &mut held {
            *bytes -= end;
        }
        Ok(Self {
            growth: end - ends[0],
            idle: pairs.give_back(),
            held,
            resident,
        })
    }
}

impl report::Row for Row {
    fn heading(&self) -> String {
        format!(
            "{} · {} · {} connections over {}",
            self.subject.suite, self.subject.provider, self.connections, self.transport
        )
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = self.subject.cells();
        cells.extend([
            Cell::text("state", &self.state),
            Cell::number(
                "bytes per connection",
                format!("{:.0}", self.bytes_per_connection),
            ),
            Cell::number("growth", self.growth_bytes.to_string()),
        ]);
        cells
    }

    /// Only idle connections are drawn.
    fn point(&self) -> Option<Point> {
        let role = self.state.strip_prefix("idle")?;
        Some(self.subject.point(role, 1, self.bytes_per_connection))
    }
}
