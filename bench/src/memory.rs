//! `memory`: heap bytes of idle connections, and allocations of handshakes. `load connections`: the
//! same of thousands of connections, idle and while all of them hold data.

use std::thread;

use bench_allocator::{count, so_far};

use crate::choices::{Allocator, Api, Choice, Role};
use crate::cli::{Common, LoadConnections, Memory};
use crate::report::Job;
use crate::row::Row;
use crate::workload::{Result, Scenario};
use crate::{machine, measure, this, upstream};

/// Many connected pairs.
pub(crate) trait Pairs {
    /// Sends `data` to every connection, which does not hand it out yet.
    fn hold(&mut self, data: Data) -> Result<()>;

    /// Delivers the rest to every connection and reads all of `data`.
    fn read(&mut self, data: Data) -> Result<()>;

    /// Drops all connections; returns the heap bytes freed by clients and by servers.
    fn give_back(&mut self) -> [i64; 2];
}

/// The data sent to each connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    pub(crate) len: usize,
    /// True if the last [`REST`] bytes of the record arrive later. Otherwise the whole record
    /// arrives at once and waits to be read.
    pub(crate) is_part: bool,
}

/// The number of bytes of a record that arrive later.
pub(crate) const REST: usize = 16;

/// The states of each round, with their names.
const STATES: [(&str, Data); 6] = [
    ("1 byte waits", Data::new(1, false)),
    ("1 kB waits", Data::new(1000, false)),
    ("16 KiB wait", Data::new(1 << 14, false)),
    ("part of a record of 1 byte", Data::new(1, true)),
    ("part of a record of 1 kB", Data::new(1000, true)),
    ("part of a record of 16 KiB", Data::new(1 << 14, true)),
];

impl Data {
    pub(crate) const fn new(len: usize, is_part: bool) -> Self {
        Self { len, is_part }
    }
}

const ROUNDS: usize = 4;

/// The APIs that hold data in different places.
const APIS: [Api; 2] = [Api::Buffered, Api::Unbuffered];

/// The functions of one implementation.
struct Implementation {
    name: &'static str,
    connect: fn(Api, &Scenario, usize) -> Result<Box<dyn Pairs>>,
    handshake_allocations: fn(Api, &Scenario) -> Result<u64>,
}

const IMPLEMENTATIONS: [Implementation; 2] = [
    Implementation {
        name: "this",
        connect: this::connection::many_pairs::connect,
        handshake_allocations: this::connection::many_pairs::handshake_allocations,
    },
    Implementation {
        name: "upstream",
        connect: upstream::connection::many_pairs::connect,
        handshake_allocations: upstream::connection::many_pairs::handshake_allocations,
    },
];

/// Heap bytes that dropping `pairs` frees, after 1 MiB each way if `used`.
fn idle(mut pairs: Box<dyn Pairs>, used: bool) -> Result<[i64; 2]> {
    for _ in 0..if used { 64 } else { 0 } {
        pairs.hold(Data::new(1 << 14, false))?;
        pairs.read(Data::new(1 << 14, false))?;
    }
    Ok(pairs.give_back())
}

impl Job for Memory {
    fn common(&self) -> &Common {
        &self.common
    }

    fn check(&self) -> Result<()> {
        Scenario::each(&self.connection, &self.common).map(drop)
    }

    fn measure(&self, allocator: Allocator) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for scenario in Scenario::each(&self.connection, &self.common)? {
            for implementation in &IMPLEMENTATIONS {
                rows.extend(self.measure_one(allocator, &scenario, implementation)?);
            }
        }
        Ok(rows)
    }
}

impl Memory {
    fn measure_one(
        &self,
        allocator: Allocator,
        scenario: &Scenario,
        implementation: &Implementation,
    ) -> Result<Vec<Row>> {
        let connect = implementation.connect;
        let row = |api: Api| {
            Row::new("memory", implementation.name, scenario.provider, allocator)
                .with("suite", &scenario.suite.name[..])
                .with("api", api.name())
                .with("connections", self.connections)
        };
        // one-time setup happens with a process's first connection and belongs to none
        for api in APIS {
            idle(connect(api, scenario, 1)?, true)?;
        }
        let mut rows = Vec::new();
        for api in APIS {
            for (state, used) in [("fresh", false), ("after-traffic", true)] {
                let (bytes, _) = count(|| {
                    connect(api, scenario, self.connections).and_then(|pairs| idle(pairs, used))
                });
                for (role, bytes) in Role::ALL.iter().zip(bytes?) {
                    let bytes = bytes as f64 / self.connections as f64;
                    let row = row(api).with("role", role.name()).with("state", state);
                    rows.push(row.with("bytes_per_connection", bytes));
                }
            }
        }
        for api in APIS {
            let allocations = (implementation.handshake_allocations)(api, scenario)?;
            rows.push(row(api).with("allocations_per_handshake", allocations));
        }
        // a fresh thread, which has had no connection
        let kept = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let work =
                    || connect(Api::Buffered, scenario, 2).and_then(|pairs| idle(pairs, true));
                let (done, counted) = count(work);
                done.map(|_| counted.bytes)
            });
            thread.join()
        });
        let kept = kept.map_err(|_| "the measuring thread panicked")??;
        rows.push(row(Api::Buffered).with("pool_bytes_per_thread", kept));
        Ok(rows)
    }
}

impl Job for LoadConnections {
    fn common(&self) -> &Common {
        &self.common
    }

    fn check(&self) -> Result<()> {
        Scenario::each(&self.connection, &self.common).map(drop)
    }

    fn measure(&self, allocator: Allocator) -> Result<Vec<Row>> {
        let pairs = (self.connections as f64 * self.common.multiplier).max(4.0) as usize;
        let scenarios = Scenario::each(&self.connection, &self.common)?;
        let steps = scenarios.len() * APIS.len() * IMPLEMENTATIONS.len();
        let label = format!("{} · {pairs} pairs", allocator.name());
        let progress = measure::progress(label, steps);
        let mut rows = Vec::new();
        for scenario in &scenarios {
            for api in APIS {
                for Implementation { name, connect, .. } in &IMPLEMENTATIONS {
                    // one-time setup happens with a process's first connections
                    connect(api, scenario, 1)?;
                    let (totals, _) = count(|| {
                        let resident = machine::resident_bytes();
                        Totals::new(&mut *connect(api, scenario, pairs)?, resident)
                    });
                    let totals = totals?;
                    progress.inc(1);
                    if *name == "this" && totals.growth > 0 {
                        let (growth, api) = (totals.growth, api.name());
                        return Err(format!("{api}: the heap grew by {growth} bytes").into());
                    }
                    let row = Row::new("load-connections", name, scenario.provider, allocator)
                        .with("suite", &scenario.suite.name[..])
                        .with("api", api.name())
                        .with("connections", 2 * pairs)
                        .with("growth_bytes", totals.growth);
                    let states = totals.of_each(pairs).into_iter();
                    rows.extend(states.map(|(state, bytes)| {
                        let row = row.clone().with("state", state);
                        row.rounded("bytes_per_connection", bytes, 1)
                    }));
                }
            }
        }
        progress.finish_and_clear();
        Ok(rows)
    }
}

/// The figures of all pairs together.
struct Totals {
    idle: [i64; 2],
    /// The heap bytes in each of [`STATES`], minus those at the end of a round.
    held: Vec<i64>,
    /// The growth of the heap from the end of the first round to that of the last.
    growth: i64,
    resident: Option<i64>,
}

impl Totals {
    /// Runs the rounds. Call it within the work of [`count`].
    fn new(pairs: &mut dyn Pairs, resident: Option<i64>) -> Result<Self> {
        let mut ends = Vec::with_capacity(ROUNDS);
        let mut held = Vec::with_capacity(STATES.len());
        for _ in 0..ROUNDS {
            held.clear();
            for (_, data) in STATES {
                pairs.hold(data)?;
                held.push(so_far().bytes);
                pairs.read(data)?;
            }
            ends.push(so_far().bytes);
        }
        let now = machine::resident_bytes();
        let end = ends[ROUNDS - 1];
        Ok(Self {
            growth: end - ends[0],
            idle: pairs.give_back(),
            held: held.iter().map(|bytes| bytes - end).collect(),
            resident: resident.zip(now).map(|(before, now)| now - before),
        })
    }

    /// The bytes of one of `2 * pairs` connections, in each state.
    fn of_each(&self, pairs: usize) -> Vec<(&'static str, f64)> {
        let pairs = pairs as f64;
        let idle: i64 = self.idle.iter().sum();
        let mut states = vec![
            ("idle client", self.idle[0] as f64 / pairs),
            ("idle server", self.idle[1] as f64 / pairs),
        ];
        let mean = |bytes: i64| bytes as f64 / (2.0 * pairs);
        let held = STATES.iter().zip(&self.held);
        states.extend(held.map(|((name, _), more)| (*name, mean(idle + more))));
        // zero if the process reused memory of earlier connections
        let resident = self.resident.filter(|bytes| *bytes > 0);
        states.extend(resident.map(|bytes| ("resident", mean(bytes))));
        states
    }
}
