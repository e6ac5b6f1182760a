//! `tcp`: both ends over loopback TCP in one process, this library beside upstream.

use clap::Args;
use itertools::iproduct;

use super::job::{Both, Entry, Job, Run, Steps, both};
use crate::arguments::{Connection, in_range};
use crate::choices::Choice;
use crate::measure::{Contender, Work};
use crate::row::Row;
use crate::statistics::ratio;
use crate::workload::socket::Transfer;
use crate::workload::{Result, Scenario};

pub(super) const ENTRY: Entry = Entry::of::<Tcp>(
    "tcp",
    "mb_per_s",
    "cpu_s_per_gb system_calls_per_mb",
    "ratio_to_upstream",
);

/// Both ends over loopback TCP in one process, each on its own thread
#[derive(Args)]
pub(crate) struct Tcp {
    #[command(flatten)]
    connection: Connection,

    /// The bytes that the sender writes at a time; several sizes may be separated by commas
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "1024,4096,16384,65536",
          value_parser = in_range(1..=1 << 20))]
    write_sizes: Vec<usize>,

    /// The bytes that the receiver asks for at a time
    #[arg(long, default_value_t = 65536, value_name = "BYTES", value_parser = in_range(1..=1 << 20))]
    read_size: usize,
}

/// This library first, upstream second. The parts are the time, the processor time and the system
/// calls.
const BUILDS: Both<fn(&Scenario, Transfer) -> Result<Contender<3>>> = both!(tcp::transfer);

impl Job for Tcp {
    fn steps<'a>(&'a self, run: &'a Run) -> Result<Steps<'a>> {
        let all = iproduct!(run.scenarios(&self.connection)?, &self.write_sizes);
        Ok(Box::new(all.map(|(scenario, &write_size)| {
            compare(run, &scenario, write_size, self.read_size)
        })))
    }
}

/// The bytes of one transfer: enough to make the start of the threads negligible.
const BYTES: f64 = 4e6;
const FEWEST_BYTES: f64 = 250e3;

fn compare(
    run: &Run,
    scenario: &Scenario,
    write_size: usize,
    read_size: usize,
) -> Result<Vec<Row>> {
    let multiplier = run.common.multiplier;
    let bytes = (BYTES * multiplier).clamp(FEWEST_BYTES, BYTES);
    let transfer = Transfer {
        write_size,
        read_size,
        writes: (bytes as usize).div_ceil(write_size),
    };
    let build = || {
        BUILDS
            .iter()
            .map(|(_, build)| build(scenario, transfer))
            .collect()
    };
    let label = format!("{} · tcp {write_size}", scenario.provider.name());
    let work = Work {
        batch_len: transfer.writes * write_size,
        ..Work::new(&build, BUILDS.len(), multiplier, &label)
    };
    let rates = work.interleaved()?;
    let of_each = BUILDS.iter().zip(&rates);
    let rows = of_each.map(|((name, _), [rate, per_cpu_second, per_call])| {
        let mean = |rates: &[f64], unit: f64| {
            rates.iter().map(|rate| unit / rate).sum::<f64>() / rates.len() as f64
        };
        run.row_of(name, scenario, "stream")
            .with("write_size", write_size)
            .with("read_size", read_size)
            .rounded("cpu_s_per_gb", mean(per_cpu_second, 1e9), 4)
            .rounded("system_calls_per_mb", mean(per_call, 1e6), 2)
            .median("mb_per_s", rate, 1e6)?
            .ratio("ratio_to_upstream", ratio(rate, &rates[1][0]))
    });
    rows.collect()
}
