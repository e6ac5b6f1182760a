//! `tcp`: both ends over loopback TCP in one process, this library beside upstream.

use crate::choices::Allocator;
use crate::cli::{Common, Tcp};
use crate::measure::{self, Plan, Timed, Work};
use crate::report::Job;
use crate::row::Row;
use crate::statistics::ratio;
use crate::workload::{Result, Scenario};
use crate::{this, upstream};

/// An established connection over TCP and its two applications.
pub(crate) trait Transfer {
    /// Lets one application write `writes` times and the other read all of it.
    fn run(&mut self, writes: usize) -> Result<Cost>;
}

/// The cost of one [`Transfer::run`], both ends together.
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    /// System calls on the two sockets.
    pub(crate) calls: u64,
}

/// The bytes that the two applications write and ask for at a time.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) write: usize,
    pub(crate) read: usize,
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
    fn common(&self) -> &Common {
        &self.common
    }

    fn check(&self) -> Result<()> {
        Scenario::each(&self.connection, &self.common).map(drop)
    }

    fn measure(&self, allocator: Allocator) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for scenario in Scenario::each(&self.connection, &self.common)? {
            for &write in &self.write_sizes {
                let sizes = Sizes {
                    write,
                    read: self.read_size,
                };
                rows.extend(self.compare(allocator, &scenario, sizes)?);
            }
        }
        Ok(rows)
    }
}

impl Tcp {
    /// The bytes of one transfer: enough to make the start of the threads negligible.
    const BYTES: f64 = 4e6;
    const FEWEST_BYTES: f64 = 250e3;

    fn compare(&self, allocator: Allocator, scenario: &Scenario, sizes: Sizes) -> Result<Vec<Row>> {
        let multiplier = self.common.multiplier;
        let bytes = (Self::BYTES * multiplier).clamp(Self::FEWEST_BYTES, Self::BYTES);
        let writes = (bytes as usize).div_ceil(sizes.write);
        let work = Work {
            build: &|| {
                let built = BUILDS.iter().map(|(_, build)| build(sizes, scenario));
                built
                    .map(|transfer| Ok(Writes(transfer?, writes)))
                    .collect()
            },
            batch_len: writes * sizes.write,
            label: format!(
                "{} · {} · tcp {}",
                allocator.name(),
                scenario.provider.name(),
                sizes.write
            ),
        };
        let rates = measure::interleaved(&Plan::new(multiplier, BUILDS.len(), 1), &work)?;
        let of_each = BUILDS.iter().zip(&rates);
        let rows = of_each.map(|((name, _), [rate, per_cpu_second, per_call])| {
            let inverse = |rates: &[f64], unit| rates.iter().map(|rate| unit / rate).collect();
            let cpu: Vec<f64> = inverse(per_cpu_second, 1e9);
            let calls: Vec<f64> = inverse(per_call, 1e6);
            let mean = |samples: &[f64]| samples.iter().sum::<f64>() / samples.len() as f64;
            Row::new("tcp", name, scenario.provider, allocator)
                .with("suite", &scenario.suite.name[..])
                .with("api", "stream")
                .with("write_size", sizes.write)
                .with("read_size", sizes.read)
                .rounded("cpu_s_per_gb", mean(&cpu), 4)
                .rounded("system_calls_per_mb", mean(&calls), 2)
                .median("mb_per_s", rate, 1e6)?
                .ratio("ratio_to_upstream", ratio(rate, &rates[1][0]))
        });
        rows.collect()
    }
}
