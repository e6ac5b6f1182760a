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

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use clap::Args;
use itertools::{Itertools, iproduct, izip};

use super::{Job, Run, Step};
use crate::cli::{Connection, in_range};
use crate::measure::{Timed, Work};
use crate::row::Row;
use crate::statistics::median;
use crate::workload::{Result, Scenario, check_received};
use crate::{this, upstream};

/// The arguments of `duplex`.
#[derive(Args)]
pub(crate) struct Duplex {
    #[command(flatten)]
    connection: Connection,

    /// The bytes that the application writes at a time; several sizes may be separated by commas
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "16384",
          value_parser = in_range(1..=1 << 20))]
    write_sizes: Vec<usize>,
}

/// The directions that an end uses at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Use {
    Send,
    Receive,
    Both,
}

/// One end of an established connection.
pub(crate) trait End {
    /// Lets the peer make the records for the next [`Self::run`].
    fn prepare(&mut self) -> Result<()>;

    /// Returns the plaintext bytes sent and received, and the seconds that it took.
    fn run(&mut self, directions: Use) -> Result<Done>;
}

/// The plaintext bytes sent and received, and the seconds that it took.
pub(crate) type Done = ([usize; 2], f64);

/// The amount of data that an end sends and receives.
#[derive(Clone, Copy)]
pub(crate) struct Amount {
    pub(crate) write_size: usize,
    pub(crate) writes: usize,
}

/// Times `directions`: `send` for each write of `amount`, or `receive` once; or `receive` once, and
/// meanwhile `send` repeatedly on another thread. Each returns the number of plaintext bytes.
pub(crate) fn timed(
    directions: Use,
    Amount { write_size, writes }: Amount,
    mut send: impl FnMut() -> Result<usize> + Send,
    receive: impl FnOnce() -> Result<usize>,
) -> Result<Done> {
    let start = Instant::now();
    let ([sent, received], seconds) = match directions {
        Use::Send => {
            let sent = (0..writes).map(|_| send()).sum::<Result<usize>>()?;
            return Ok(([sent, 0], start.elapsed().as_secs_f64()));
        }
        Use::Receive => ([0, receive()?], start.elapsed().as_secs_f64()),
        Use::Both => {
            let (begin, is_over) = (Barrier::new(2), AtomicBool::new(false));
            thread::scope(|scope| -> Result<Done> {
                let sending = scope.spawn(|| -> Result<usize> {
                    let mut sent = 0;
                    begin.wait();
                    while !is_over.load(Ordering::Relaxed) {
                        sent += send()?;
                    }
                    Ok(sent)
                });
                begin.wait();
                let start = Instant::now();
                let received = receive();
                let seconds = start.elapsed().as_secs_f64();
                is_over.store(true, Ordering::Relaxed);
                let sent = sending.join().map_err(|_| "the sending thread panicked")?;
                Ok(([sent?, received?], seconds))
            })?
        }
    };
    check_received(received, write_size * writes)?;
    Ok(([sent, received], seconds))
}

type Build = fn(&Scenario, Amount) -> Result<Box<dyn End>>;

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

/// An end that is used in one way. Its parts are the two directions.
struct Used {
    end: Box<dyn End>,
    directions: Use,
    len: usize,
}

impl Timed<2> for Used {
    fn batch(&mut self) -> Result<[f64; 2]> {
        if self.directions != Use::Send {
            self.end.prepare()?;
        }
        let (moved, seconds) = self.end.run(self.directions)?;
        // the time that the usual amount would take; infinite in an unused direction
        Ok(moved.map(|bytes| seconds * self.len as f64 / bytes as f64))
    }

    fn is_busy(&self) -> bool {
        self.directions != Use::Both
    }
}

impl Job for Duplex {
    fn steps<'a>(&'a self, run: &'a Run) -> Result<Vec<Step<'a>>> {
        let scenarios = run.scenarios(&self.connection)?;
        let steps = iproduct!(scenarios, &self.write_sizes);
        let steps = steps.map(|(scenario, &write_size)| -> Step<'a> {
            Box::new(move || compare(run, &scenario, write_size))
        });
        Ok(steps.collect())
    }
}

/// The plaintext bytes received in one batch: enough to make the start of the threads negligible.
const BYTES: f64 = 8e6;
const FEWEST_BYTES: f64 = 250e3;

fn compare(run: &Run, scenario: &Scenario, write_size: usize) -> Result<Vec<Row>> {
    let multiplier = run.common.multiplier;
    let bytes = (BYTES * multiplier).clamp(FEWEST_BYTES, BYTES);
    let writes = (bytes as usize).div_ceil(write_size);
    let (amount, len) = (Amount { write_size, writes }, write_size * writes);
    let work = Work {
        build: &|| {
            let built = WAYS.iter().map(|(_, _, build, directions)| {
                let (end, directions) = (build(scenario, amount)?, *directions);
                Ok(Used {
                    end,
                    directions,
                    len,
                })
            });
            built.collect()
        },
        workloads: WAYS.len(),
        batch_len: len,
        threads: 1,
        multiplier: 2.0 * multiplier,
        label: format!("{} · duplex {write_size}", scenario.provider.name()),
    };
    let rates = work.interleaved()?;
    let rows = izip!(WAYS, &rates).map(|((name, sharing, _, directions), [sent, received])| {
        let alone = WAYS
            .iter()
            .position(|way| way.0 == name)
            .unwrap_or_default();
        let ([send_alone, _], [_, receive_alone]) = (&rates[alone], &rates[alone + 1]);
        let sums = izip!(sent, received).map(|(sent, received)| sent + received);
        let shares = izip!(sent, received, send_alone, receive_alone)
            .map(|(sent, received, s, r)| sent / s + received / r);
        run.row_of(name, scenario, "buffered")
            .with("direction", format!("{directions:?}").to_lowercase())
            .with("sharing", sharing)
            .with("threads", if directions == Use::Both { 2 } else { 1 })
            .with("write_size", write_size)
            .median("mb_per_s", &sums.collect_vec(), 1e6)?
            .ratio("ratio_to_one_direction", median(&shares.collect_vec()))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_one_thread_ends_both() {
        let amount = Amount {
            write_size: 1,
            writes: 1,
        };
        let fails = || Err("it failed".into());
        assert!(timed(Use::Both, amount, || Ok(1), fails).is_err());
        let failed = AtomicBool::new(false);
        let send = || {
            failed.store(true, Ordering::SeqCst);
            Err("it failed".into())
        };
        let receive = || {
            while !failed.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            Ok(1)
        };
        assert!(timed(Use::Both, amount, send, receive).is_err());
    }
}
