//! `load connections`: the memory of thousands of connections, idle and while all of them hold
//! data.

use bench_allocator::{count, so_far};
use clap::Args;
use itertools::iproduct;

use super::job::{Entry, Job, Run, Step};
use super::memory::{APIS, IMPLEMENTATIONS};
use crate::arguments::{Connection, in_range};
use crate::choices::Choice;
use crate::row::Row;
use crate::tables::View;
use crate::workload::memory::{Data, Pairs};
use crate::workload::{Result, Scenario};
use crate::{machine, measure};

pub(super) const ENTRY: Entry = Entry {
    name: "load connections",
    help: "Thousands of connections in one process: memory while idle and while data waits in all",
    view: View {
        main: "bytes_per_connection",
        once: "growth_bytes",
        ..View::GENERAL
    },
    ..Entry::of::<LoadConnections>()
};

/// The arguments of `load connections`.
#[derive(Args)]
pub(crate) struct LoadConnections {
    #[command(flatten)]
    connection: Connection,

    /// The number of client-server pairs to establish at once
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = in_range(4..=1 << 20))]
    connections: usize,
}

const ROUNDS: usize = 4;

/// The states of each round, with their names.
const STATES: [(&str, Data); 6] = [
    ("1 byte waits", Data::new(1, false)),
    ("1 kB waits", Data::new(1000, false)),
    ("16 KiB wait", Data::new(1 << 14, false)),
    ("part of a record of 1 byte", Data::new(1, true)),
    ("part of a record of 1 kB", Data::new(1000, true)),
    ("part of a record of 16 KiB", Data::new(1 << 14, true)),
];

impl Job for LoadConnections {
    fn steps<'a>(&'a self, run: &'a Run) -> Result<Vec<Step<'a>>> {
        let scenarios = run.scenarios(&self.connection)?;
        Ok(vec![Box::new(move || self.measure(run, &scenarios))])
    }
}

impl LoadConnections {
    fn measure(&self, run: &Run, scenarios: &[Scenario]) -> Result<Vec<Row>> {
        let pairs = (self.connections as f64 * run.common.multiplier).max(4.0) as usize;
        let all = iproduct!(scenarios, APIS, IMPLEMENTATIONS);
        let progress = measure::progress(&format!("{pairs} pairs"), all.clone().count());
        let mut rows = Vec::new();
        for (scenario, api, (name, connect, _)) in all {
            // one-time setup happens with a process's first connections
            connect(api, scenario, 1)?;
            let (totals, _) = count(|| {
                let resident = machine::resident_bytes();
                Totals::new(&mut *connect(api, scenario, pairs)?, resident)
            });
            let totals = totals?;
            progress.inc(1);
            if name == "this" && totals.growth > 0 {
                let (growth, api) = (totals.growth, api.name());
                return Err(format!("{api}: the heap grew by {growth} bytes").into());
            }
            let row = run.row_of(name, scenario, api.name());
            let row = row
                .with("connections", 2 * pairs)
                .with("growth_bytes", totals.growth);
            rows.extend(totals.of_each(pairs).into_iter().map(|(state, bytes)| {
                let row = row.clone().with("state", state);
                row.rounded("bytes_per_connection", bytes, 1)
            }));
        }
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
