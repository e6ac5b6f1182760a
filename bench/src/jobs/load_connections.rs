//! `load connections`: the memory of thousands of connections, idle and while all of them hold
//! data.

use bench_allocator::{count, so_far};
use clap::Args;
use itertools::iproduct;

use super::job::{Entry, Job, Run};
use super::memory::CONNECT;
use crate::arguments::Connection;
use crate::choices::{Api, Choice};
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
}

/// The number of client-server pairs in a long measurement.
const PAIRS: f64 = 10_000.0;

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
    fn measure(&self, run: &Run) -> Result<()> {
        let pairs = (PAIRS * run.common.multiplier).max(4.0) as usize;
        let all = iproduct!(run.scenarios(&self.connection)?, CONNECT);
        let progress = measure::progress(&format!("{pairs} pairs"), all.clone().count());
        for (scenario, (name, connect)) in all {
            let connect = |pairs| connect(Api::Buffered, &scenario, pairs);
            // one-time setup happens with a process's first connections
            connect(1)?;
            let (states, growth) = count(|| measured(pairs, connect)).0?;
            progress.inc(1);
            if name == "this" && growth > 0 {
                return Err(format!("the heap grew by {growth} bytes").into());
            }
            let row = run
                .row_of(name, &scenario, Api::Buffered.name())
                .with("connections", 2 * pairs)
                .with("growth_bytes", growth);
            let rows = states.into_iter().map(|(state, bytes)| {
                let row = row.clone().with("state", state);
                row.rounded("bytes_per_connection", bytes, 1)
            });
            run.print(rows)?;
        }
        Ok(())
    }
}

/// Returns the bytes of one of the connections that `connect` creates, in each state; and the
/// growth of the heap from the end of the first round to that of the last. Call it within the work
/// of [`count`].
fn measured(
    pairs: usize,
    connect: impl FnOnce(usize) -> Result<Box<dyn Pairs>>,
) -> Result<(Vec<(&'static str, f64)>, i64)> {
    let resident = machine::resident_bytes();
    let mut all = connect(pairs)?;
    // later, fragmentation counts, too, by the data that all connections held at once
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
    // it is less than the heap if the process reused memory of earlier connections
    let growth = resident.map(|(before, now)| now - before);
    let growth = growth.filter(|bytes| *bytes > idle);
    states.extend(growth.map(|bytes| ("resident", mean(bytes))));
    Ok((states, end - first))
}
