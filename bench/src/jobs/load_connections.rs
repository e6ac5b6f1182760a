//! `load connections`: the memory of thousands of connections, idle and while all of them hold
//! data.

use bench_allocator::{count, so_far};
use clap::Args;
use itertools::iproduct;

use super::job::{Entry, Job, Run, Steps};
use super::memory::{APIS, CONNECT};
use crate::arguments::{Connection, in_range};
use crate::choices::Choice;
use crate::workload::Result;
use crate::workload::memory::{Data, Pairs};
use crate::{machine, measure};

pub(super) const ENTRY: Entry = Entry::of::<LoadConnections>(
    "load connections",
    "bytes_per_connection",
    "",
    "growth_bytes",
);

/// Thousands of connections in one process: memory while idle and while data waits in all
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
    fn steps<'a>(&'a self, run: &'a Run) -> Result<Steps<'a>> {
        let pairs = (self.connections as f64 * run.common.multiplier).max(4.0) as usize;
        let all = iproduct!(run.scenarios(&self.connection)?, APIS, CONNECT);
        let (label, count_of_all) = (format!("{pairs} pairs"), all.clone().count());
        let mut progress = None;
        Ok(Box::new(all.map(
            move |(scenario, api, (name, connect))| {
                let progress =
                    progress.get_or_insert_with(|| measure::progress(&label, count_of_all));
                // one-time setup happens with a process's first connections
                connect(api, &scenario, 1)?;
                let (states, _) = count(|| measured(pairs, || connect(api, &scenario, pairs)));
                let (states, growth) = states?;
                progress.inc(1);
                if name == "this" && growth > 0 {
                    let api = api.name();
                    return Err(format!("{api}: the heap grew by {growth} bytes").into());
                }
                let row = run.row_of(name, &scenario, api.name());
                let row = row
                    .with("connections", 2 * pairs)
                    .with("growth_bytes", growth);
                let rows = states.into_iter().map(|(state, bytes)| {
                    let row = row.clone().with("state", state);
                    row.rounded("bytes_per_connection", bytes, 1)
                });
                Ok(rows.collect())
            },
        )))
    }
}

/// The bytes of one of the connections that `connect` returns, in each state; and the growth of the
/// heap from the end of the first round to that of the last. Call it within the work of [`count`].
fn measured(
    pairs: usize,
    connect: impl FnOnce() -> Result<Box<dyn Pairs>>,
) -> Result<(Vec<(&'static str, f64)>, i64)> {
    let resident = machine::resident_bytes();
    let mut all = connect()?;
    // later, it depends on the allocator's fragments of what the connections held together
    let resident = resident.zip(machine::resident_bytes());
    let mut ends = Vec::with_capacity(ROUNDS);
    let mut held = Vec::with_capacity(STATES.len());
    for _ in 0..ROUNDS {
        held.clear();
        for (_, data) in STATES {
            all.hold(data)?;
            held.push(so_far().bytes);
            all.read(data)?;
        }
        ends.push(so_far().bytes);
    }
    let (first, end) = (ends[0], ends[ROUNDS - 1]);
    let [client, server] = all.give_back();
    let idle = client + server;

    let mean = |bytes: i64| bytes as f64 / (2 * pairs) as f64;
    let mut states = vec![
        ("idle client", mean(2 * client)),
        ("idle server", mean(2 * server)),
    ];
    let held = STATES.iter().zip(held);
    states.extend(held.map(|((name, _), bytes)| (*name, mean(idle + bytes - end))));
    // less than the heap if the process reused memory of earlier connections
    let growth = resident.map(|(before, now)| now - before);
    states.extend(
        growth
            .filter(|bytes| *bytes > idle)
            .map(|bytes| ("resident", mean(bytes))),
    );
    Ok((states, end - first))
}
