//! `tcp`: both ends over loopback TCP in one process, this library beside upstream.

use clap::Args;
use itertools::iproduct;

use super::job::{Both, Entry, Job, Run, both};
use crate::arguments::Connection;
use crate::choices::Choice;
use crate::measure::{Contender, Work};
use crate::row::Row;
use crate::statistics::ratio;
use crate::workload::socket::READ_SIZE;
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
}

/// The bytes that the sender writes at a time.
const WRITE_SIZES: [usize; 4] = [1024, 4096, 16384, 65536];

/// The parts are the time, the processor time and the system calls.
type Build = fn(&Scenario, usize, usize) -> Result<Contender<3>>;

const BUILDS: Both<Build> = both!(tcp::transfer);

impl Job for Tcp {
    fn measure(&self, run: &Run) -> Result<()> {
        for (scenario, write_size) in iproduct!(run.scenarios(&self.connection)?, WRITE_SIZES) {
            run.print(compare(run, &scenario, write_size)?)?;
        }
        Ok(())
    }
}

fn compare(run: &Run, scenario: &Scenario, write_size: usize) -> Result<Vec<Row>> {
    let multiplier = run.common.multiplier;
    // enough to make the start of the threads negligible
    let bytes = (4e6 * multiplier).clamp(250e3, 4e6) as usize;
    let writes = bytes.div_ceil(write_size);
    let build = |(_, build): (_, Build)| build(scenario, write_size, writes);
    let build = || BUILDS.into_iter().map(build).collect();
    let label = format!("{} · tcp {write_size}", scenario.provider.name());
    let rates = Work::new(&build, writes * write_size, multiplier, label).interleaved()?;
    let of_each = BUILDS.iter().zip(&rates);
    let rows = of_each.map(|((name, _), [rate, per_cpu_second, per_call])| {
        let mean = |rates: &[f64], unit: f64| {
            rates.iter().map(|rate| unit / rate).sum::<f64>() / rates.len() as f64
        };
        run.row_of(name, scenario, "stream")
            .with("write_size", write_size)
            .with("read_size", READ_SIZE)
            .rounded("cpu_s_per_gb", mean(per_cpu_second, 1e9), 4)
            .rounded("system_calls_per_mb", mean(per_call, 1e6), 2)
            .median("mb_per_s", rate, 1e6)?
            .ratio("ratio_to_upstream", ratio(rate, &rates[1][0]))
    });
    rows.collect()
}
