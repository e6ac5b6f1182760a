//! `memory`: heap bytes of idle connections, and allocations of handshakes.

use std::thread;

use bench_allocator::count;
use clap::Args;
use itertools::iproduct;

use super::job::{Both, Entry, Job, Run, both};
use crate::arguments::Connection;
use crate::choices::{Api, Choice, Role};
use crate::row::Row;
use crate::workload::memory::{Data, Pairs};
use crate::workload::{Result, Scenario};

pub(super) const ENTRY: Entry = Entry::of::<Memory>(
    "memory",
    "bytes_per_connection allocations_per_handshake pool_bytes_per_thread",
    "",
    "",
);

/// Heap bytes of idle connections and allocations per handshake
#[derive(Args)]
pub(crate) struct Memory {
    #[command(flatten)]
    connection: Connection,
}

/// The number of connections of each role.
const PAIRS: usize = 64;

/// The APIs that hold data in different places.
const APIS: [Api; 2] = [Api::Buffered, Api::Unbuffered];

/// Connects pairs.
type Connect = fn(Api, &Scenario, usize) -> Result<Box<dyn Pairs>>;

pub(super) const CONNECT: Both<Connect> = both!(many_pairs::connect);

/// Counts the allocations of a handshake.
type Allocations = fn(Api, &Scenario) -> Result<u64>;

const HANDSHAKE_ALLOCATIONS: Both<Allocations> = both!(many_pairs::handshake_allocations);

/// Heap bytes that dropping `pairs` frees, after 1 MiB each way if `used`.
fn idle(mut pairs: Box<dyn Pairs>, used: bool) -> Result<[i64; 2]> {
    for _ in 0..if used { 64 } else { 0 } {
        pairs.hold(Data::new(1 << 14, false))?;
        pairs.read(Data::new(1 << 14, false))?;
    }
    Ok(pairs.give_back())
}

impl Job for Memory {
    fn measure(&self, run: &Run) -> Result<()> {
        for (scenario, index) in iproduct!(run.scenarios(&self.connection)?, 0..CONNECT.len()) {
            run.print(rows(run, &scenario, index)?)?;
        }
        Ok(())
    }
}

fn rows(run: &Run, scenario: &Scenario, index: usize) -> Result<Vec<Row>> {
    let ((name, connect), (_, allocations)) = (CONNECT[index], HANDSHAKE_ALLOCATIONS[index]);
    let row = |api: Api| {
        let row = run.row_of(name, scenario, api.name());
        row.with("connections", PAIRS)
    };
    // one-time setup happens with a process's first connection and belongs to none
    for api in APIS {
        idle(connect(api, scenario, 1)?, true)?;
    }
    let mut rows = Vec::new();
    for (api, (state, used)) in iproduct!(APIS, [("fresh", false), ("after-traffic", true)]) {
        let connected = || idle(connect(api, scenario, PAIRS)?, used);
        for (role, bytes) in Role::ALL.iter().zip(count(connected).0?) {
            let row = row(api).with("role", role.name()).with("state", state);
            rows.push(row.with("bytes_per_connection", bytes as f64 / PAIRS as f64));
        }
    }
    for api in APIS {
        let allocations = allocations(api, scenario)?;
        rows.push(row(api).with("allocations_per_handshake", allocations));
    }
    // a fresh thread, which has had no connection
    let work = || idle(connect(Api::Buffered, scenario, 2)?, true);
    let kept = thread::scope(|scope| scope.spawn(|| count(work)).join());
    let (done, kept) = kept.map_err(|_| "the measuring thread panicked")?;
    done?;
    rows.push(row(Api::Buffered).with("pool_bytes_per_thread", kept.bytes));
    Ok(rows)
}
