//! One end of a connection that uses both directions at once.

use core::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use harness::peers::pairs::{Result, check_received};

use crate::measure::{Contender, Timed};

/// The directions that an end uses at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Use {
    Send,
    Receive,
    Both,
}

/// The work of an end, and its amount.
#[derive(Clone, Copy)]
pub(crate) struct Amount {
    pub(crate) directions: Use,
    pub(crate) write_size: usize,
    pub(crate) writes: usize,
}

/// Returns one end of an established connection, with memory for its application and its peer. The
/// parts of its work are the two directions.
///
/// `peer` appends the records of a plaintext to memory, and so does `send`. `receive` reads all
/// records through the memory of the application, and returns the length of their plaintext.
pub(crate) fn end(
    amount: Amount,
    mut peer: impl FnMut(&[u8], &mut Vec<u8>) -> Result<()> + 'static,
    mut send: impl FnMut(&[u8], &mut Vec<u8>) -> Result<()> + Send + 'static,
    mut receive: impl FnMut(&[u8], &mut [u8]) -> Result<usize> + 'static,
) -> Contender<2> {
    let plaintext = vec![0x17; amount.write_size];
    let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
    let mut application = vec![0; 16384];
    let batch = move || {
        incoming.clear();
        if amount.directions != Use::Send {
            (0..amount.writes).try_for_each(|_| peer(&plaintext, &mut incoming))?;
        }
        let send = || {
            outgoing.clear();
            send(black_box(&plaintext), &mut outgoing)?;
            black_box(&outgoing[..]);
            Ok(amount.write_size)
        };
        let (moved, seconds) = timed(amount, send, || receive(&incoming, &mut application))?;
        // the time that the usual amount would take; infinite in an unused direction
        let len = (amount.write_size * amount.writes) as f64;
        Ok(moved.map(|bytes| seconds * len / bytes as f64))
    };
    let is_busy = amount.directions != Use::Both;
    Box::new(End { batch, is_busy })
}

struct End<B> {
    batch: B,
    is_busy: bool,
}

impl<B: FnMut() -> Result<[f64; 2]>> Timed<2> for End<B> {
    fn batch(&mut self) -> Result<[f64; 2]> {
        (self.batch)()
    }

    fn is_busy(&self) -> bool {
        self.is_busy
    }
}

/// Times `send` for each write of `amount`, or `receive` once; or `receive` once, and meanwhile
/// `send` repeatedly on another thread. Each returns the number of plaintext bytes. Returns those
/// sent and received, and the seconds that it took.
fn timed(
    amount: Amount,
    mut send: impl FnMut() -> Result<usize> + Send,
    receive: impl FnOnce() -> Result<usize>,
) -> Result<([usize; 2], f64)> {
    let Amount {
        directions,
        write_size,
        writes,
    } = amount;
    let start = Instant::now();
    let ([sent, received], seconds) = match directions {
        Use::Send => {
            let sent = (0..writes).map(|_| send()).sum::<Result<usize>>()?;
            return Ok(([sent, 0], start.elapsed().as_secs_f64()));
        }
        Use::Receive => ([0, receive()?], start.elapsed().as_secs_f64()),
        Use::Both => {
            let (begin, is_over) = (Barrier::new(2), AtomicBool::new(false));
            thread::scope(|scope| -> Result<_> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_one_thread_ends_both() {
        let amount = Amount {
            directions: Use::Both,
            write_size: 1,
            writes: 1,
        };
        let fails = || Err("it failed".into());
        assert!(timed(amount, || Ok(1), fails).is_err());
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
        assert!(timed(amount, send, receive).is_err());
    }
}
