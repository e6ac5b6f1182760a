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
//! With both directions, the receiving thread has a fixed amount of work. The other thread sends
//! until that is done, so that both are busy all the time.

use clap::Args;
use itertools::{Itertools, izip};

use super::job::{Entry, Job, Run};
use crate::arguments::Connection;
use crate::choices::Choice;
use crate::measure::{Contender, Work};
use crate::row::Row;
use crate::statistics::median;
use crate::workload::duplex::{Use, WRITE_SIZE};
use crate::workload::{Result, Scenario};
use crate::{this, upstream};

pub(super) const ENTRY: Entry =
    Entry::of::<Duplex>("duplex", "mb_per_s", "ratio_to_one_direction", "");

/// Sends and receives at once on two threads: with a split connection, or one behind a mutex
#[derive(Args)]
pub(crate) struct Duplex {
    #[command(flatten)]
    connection: Connection,
}

type Build = fn(&Scenario, Use, usize) -> Result<Contender<2>>;

/// The ways to use an end: the implementation, how its threads share the connection, and the
/// directions. Each implementation first sends alone, then receives alone.
const WAYS: [(&str, &str, Build, Use); 7] = {
    use this::connection::duplex::whole;
    use upstream::connection::duplex::whole as of_upstream;
    [
        ("this", "none", whole, Use::Send),
        ("this", "none", whole, Use::Receive),
        ("this", "mutex", whole, Use::Both),
        ("this", "split", this::split::halves, Use::Both),
        ("upstream", "none", of_upstream, Use::Send),
        ("upstream", "none", of_upstream, Use::Receive),
        ("upstream", "mutex", of_upstream, Use::Both),
    ]
};

impl Job for Duplex {
    fn measure(&self, run: &Run) -> Result<()> {
        for scenario in run.scenarios(&self.connection)? {
            run.print(compare(run, &scenario)?)?;
        }
        Ok(())
    }
}

/// The plaintext bytes received in one batch: enough to make the start of the threads negligible.
const BYTES: f64 = 8e6;
const FEWEST_BYTES: f64 = 250e3;

fn compare(run: &Run, scenario: &Scenario) -> Result<Vec<Row>> {
    let multiplier = run.common.multiplier;
    let bytes = (BYTES * multiplier).clamp(FEWEST_BYTES, BYTES);
    let writes = (bytes as usize).div_ceil(WRITE_SIZE);
    let build = || {
        let built = WAYS.iter();
        let built = built.map(|&(_, _, build, directions)| build(scenario, directions, writes));
        built.collect()
    };
    let label = format!("{} · duplex", scenario.provider.name());
    let rates = Work::new(&build, WRITE_SIZE * writes, 2.0 * multiplier, label).interleaved()?;
    let rows = izip!(WAYS, &rates).map(|((name, sharing, _, directions), [sent, received])| {
        let alone = WAYS.iter().position(|way| way.0 == name);
        let alone = &rates[alone.unwrap_or_default()..];
        let ([send_alone, _], [_, receive_alone]) = (&alone[0], &alone[1]);
        let sums = izip!(sent, received).map(|(sent, received)| sent + received);
        let shares = izip!(sent, received, send_alone, receive_alone)
            .map(|(sent, received, s, r)| sent / s + received / r);
        run.row_of(name, scenario, "buffered")
            .with("direction", format!("{directions:?}").to_lowercase())
            .with("sharing", sharing)
            .with("threads", if directions == Use::Both { 2 } else { 1 })
            .with("write_size", WRITE_SIZE)
            .median("mb_per_s", &sums.collect_vec(), 1e6)?
            .ratio("ratio_to_one_direction", median(&shares.collect_vec()))
    });
    rows.collect()
}
