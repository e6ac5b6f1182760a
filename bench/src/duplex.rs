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

use crate::choices::Allocator;
use crate::cli::{Common, Duplex};
use crate::measure::{self, Plan, Timed, Work};
use crate::report::Job;
use crate::row::Row;
use crate::statistics::median;
use crate::workload::{Result, Scenario};
use crate::{this, upstream};

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

/// Times `directions`: `send` for each of `writes`, or `receive` once; or `receive` once, and
/// meanwhile `send` repeatedly on another thread. Each returns the number of plaintext bytes.
pub(crate) fn timed(
    directions: Use,
    writes: usize,
    mut send: impl FnMut() -> Result<usize> + Send,
    receive: impl FnOnce() -> Result<usize>,
) -> Result<Done> {
    let start = Instant::now();
    match directions {
        Use::Send => {
            let sent = (0..writes).map(|_| send()).sum::<Result<usize>>()?;
            Ok(([sent, 0], start.elapsed().as_secs_f64()))
        }
        Use::Receive => {
            let received = receive()?;
            Ok(([0, received], start.elapsed().as_secs_f64()))
        }
        Use::Both => {
            let (begin, is_over) = (Barrier::new(2), AtomicBool::new(false));
            thread::scope(|scope| {
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
                let sent = sending
                    .join()
                    .map_err(|_| "the sending thread panicked")??;
                Ok(([sent, received?], seconds))
            })
        }
    }
}

/// One way to use an end.
struct Way {
    implementation: &'static str,
    sharing: &'static str,
    build: fn(&Scenario, Amount) -> Result<Box<dyn End>>,
    directions: Use,
    /// The index in [`WAYS`] where the same implementation sends alone; it receives alone at the
    /// next one.
    alone: usize,
}

const WAYS: [Way; 7] = [
    Way::of_this("none", this::connection::duplex::whole, Use::Send),
    Way::of_this("none", this::connection::duplex::whole, Use::Receive),
    Way::of_this("mutex", this::connection::duplex::whole, Use::Both),
    Way::of_this("split", this::split::halves, Use::Both),
    Way::of_upstream("none", Use::Send),
    Way::of_upstream("none", Use::Receive),
    Way::of_upstream("mutex", Use::Both),
];

impl Way {
    const fn of_this(
        sharing: &'static str,
        build: fn(&Scenario, Amount) -> Result<Box<dyn End>>,
        directions: Use,
    ) -> Self {
        Self {
            implementation: "this",
            sharing,
            build,
            directions,
            alone: 0,
        }
    }

    const fn of_upstream(sharing: &'static str, directions: Use) -> Self {
        Self {
            implementation: "upstream",
            alone: 4,
            ..Self::of_this(sharing, upstream::connection::duplex::whole, directions)
        }
    }
}

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
    fn common(&self) -> &Common {
        &self.common
    }

    fn check(&self) -> Result<()> {
        Scenario::each(&self.connection, &self.common).map(drop)
    }

    fn measure(&self, allocator: Allocator) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for scenario in Scenario::each(&self.connection, &self.common)? {
            for &write_size in &self.write_sizes {
                rows.extend(self.compare(allocator, &scenario, write_size)?);
            }
        }
        Ok(rows)
    }
}

impl Duplex {
    /// The plaintext bytes received in one batch: enough to make the start of the threads
    /// negligible.
    const BYTES: f64 = 8e6;
    const FEWEST_BYTES: f64 = 250e3;

    fn compare(
        &self,
        allocator: Allocator,
        scenario: &Scenario,
        write_size: usize,
    ) -> Result<Vec<Row>> {
        let multiplier = self.common.multiplier;
        let bytes = (Self::BYTES * multiplier).clamp(Self::FEWEST_BYTES, Self::BYTES);
        let amount = Amount {
            write_size,
            writes: (bytes as usize).div_ceil(write_size),
        };
        let len = amount.write_size * amount.writes;
        let work = Work {
            build: &|| {
                let built = WAYS.iter().map(|way| {
                    Ok(Used {
                        end: (way.build)(scenario, amount)?,
                        directions: way.directions,
                        len,
                    })
                });
                built.collect()
            },
            batch_len: len,
            label: format!(
                "{} · {} · duplex {write_size}",
                allocator.name(),
                scenario.provider.name()
            ),
        };
        let rates = measure::interleaved(&Plan::new(2.0 * multiplier, WAYS.len(), 1), &work)?;
        let rows = WAYS.iter().zip(&rates).map(|(way, [sent, received])| {
            let ([send_alone, _], [_, receive_alone]) = (&rates[way.alone], &rates[way.alone + 1]);
            let sums = sent
                .iter()
                .zip(received)
                .map(|(sent, received)| sent + received);
            let alone = send_alone.iter().zip(receive_alone);
            let shares = sent.iter().zip(received).zip(alone);
            let shares = shares.map(|((sent, received), (s, r))| sent / s + received / r);
            Row::new("duplex", way.implementation, scenario.provider, allocator)
                .with("suite", &scenario.suite.name[..])
                .with("api", "buffered")
                .with("direction", format!("{:?}", way.directions).to_lowercase())
                .with("sharing", way.sharing)
                .with("threads", if way.directions == Use::Both { 2 } else { 1 })
                .with("write_size", write_size)
                .median("mb_per_s", &sums.collect::<Vec<_>>(), 1e6)?
                .ratio("ratio_to_one_direction", median(shares.collect()))
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_one_thread_ends_both() {
        let fails = || Err("it failed".into());
        assert!(timed(Use::Both, 1, || Ok(1), fails).is_err());
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
        assert!(timed(Use::Both, 1, send, receive).is_err());
    }
}
