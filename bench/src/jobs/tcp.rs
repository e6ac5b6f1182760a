//! `tcp`: both ends over loopback TCP in one process, this library beside upstream.

use clap::Args;
use itertools::{Itertools, iproduct};

use super::job::{Entry, Job, Run, Step};
use crate::arguments::{Connection, in_range};
use crate::measure::{Timed, Work};
use crate::row::Row;
use crate::statistics::ratio;
use crate::tables::View;
use crate::workload::tcp::{Sizes, Transfer};
use crate::workload::{Result, Scenario};
use crate::{this, upstream};

pub(super) const ENTRY: Entry = Entry {
    name: "tcp",
    help: "Both ends over loopback TCP in one process, each on its own thread",
    view: View {
        main: "mb_per_s",
        side_by_side: "cpu_s_per_gb system_calls_per_mb",
        once: "ratio_to_upstream",
        ..View::GENERAL
    },
    ..Entry::of::<Tcp>()
};

/// The arguments of `tcp`.
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

type Build = fn(Sizes, &Scenario) -> Result<Box<dyn Transfer>>;

/// This library first, upstream second.
const BUILDS: [(&str, Build); 2] = [
    ("this", this::connection::tcp::transfer),
    ("upstream", upstream::connection::tcp::transfer),
];

/// A transfer of a fixed length. Its parts are the time, the processor time and the system calls.
struct Writes(Box<dyn Transfer>, usize);

impl Timed<3> for Writes {
    fn batch(&mut self) -> Result<[f64; 3]> {
        let cost = self.0.run(self.1)?;
        Ok([cost.seconds, cost.cpu_seconds, cost.calls as f64])
    }

    fn is_busy(&self) -> bool {
        false
    }
}

impl Job for Tcp {
    fn steps<'a>(&'a self, run: &'a Run) -> Result<Vec<Step<'a>>> {
        let scenarios = run.scenarios(&self.connection)?;
        let steps = iproduct!(scenarios, &self.write_sizes).map(|(scenario, &write)| -> Step<'a> {
            let read = self.read_size;
            Box::new(move || compare(run, &scenario, Sizes { write, read }))
        });
        Ok(steps.collect())
    }
}

/// The bytes of one transfer: enough to make the start of the threads negligible.
const BYTES: f64 = 4e6;
const FEWEST_BYTES: f64 = 250e3;

fn compare(run: &Run, scenario: &Scenario, sizes: Sizes) -> Result<Vec<Row>> {
    let multiplier = run.common.multiplier;
    let bytes = (BYTES * multiplier).clamp(FEWEST_BYTES, BYTES);
    let writes = (bytes as usize).div_ceil(sizes.write);
    let build = || {
        let built = BUILDS.iter().map(|(_, build)| build(sizes, scenario));
        built.map_ok(|transfer| Writes(transfer, writes)).collect()
    };
    let label = format!("{} · tcp {}", scenario.provider.name(), sizes.write);
    let work = Work {
        batch_len: writes * sizes.write,
        ..Work::new(&build, BUILDS.len(), multiplier, &label)
    };
    let rates = work.interleaved()?;
    let of_each = BUILDS.iter().zip(&rates);
    let rows = of_each.map(|((name, _), [rate, per_cpu_second, per_call])| {
        let mean = |rates: &[f64], unit: f64| {
            rates.iter().map(|rate| unit / rate).sum::<f64>() / rates.len() as f64
        };
        run.row_of(name, scenario, "stream")
            .with("write_size", sizes.write)
            .with("read_size", sizes.read)
            .rounded("cpu_s_per_gb", mean(per_cpu_second, 1e9), 4)
            .rounded("system_calls_per_mb", mean(per_call, 1e6), 2)
            .median("mb_per_s", rate, 1e6)?
            .ratio("ratio_to_upstream", ratio(rate, &rates[1][0]))
    });
    rows.collect()
}
