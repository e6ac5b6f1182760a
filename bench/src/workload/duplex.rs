//! One end of a connection that uses both directions at once.

use core::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use harness::peers::pairs::{Result, check_received};

use crate::measure::{Batches, Contender};

/// The directions that an end uses at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Use {
    Send,
    Receive,
    Both,
}

/// The bytes that the application writes at a time.
pub(crate) const WRITE_SIZE: usize = 16384;

/// Returns one end of an established connection, with memory for its application and its peer. The
/// parts of its work are the two directions, each of the same number of writes.
///
/// `peer` appends the records of a plaintext to memory, and so does `send`. `receive` reads all
/// records through the memory of the application, and returns the length of their plaintext.
pub(crate) fn end(
    directions: Use,
    writes: usize,
    mut peer: impl FnMut(&[u8], &mut Vec<u8>) -> Result<()> + 'static,
    mut send: impl FnMut(&[u8], &mut Vec<u8>) -> Result<()> + Send + 'static,
    mut receive: impl FnMut(&[u8], &mut [u8]) -> Result<usize> + 'static,
) -> Contender<2> {
    let plaintext = vec![0x17; WRITE_SIZE];
    let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
    let mut application = vec![0; 16384];
    let run = move || {
        incoming.clear();
        if directions != Use::Send {
            (0..writes).try_for_each(|_| peer(&plaintext, &mut incoming))?;
        }
        let send = || {
            outgoing.clear();
            send(black_box(&plaintext), &mut outgoing)?;
            black_box(&outgoing[..]);
            Ok(())
        };
        let receive = || check_received(receive(&incoming, &mut application)?, WRITE_SIZE * writes);
        let (sent, seconds) = timed(directions, writes, send, receive)?;
        // the time that the usual amount would take; infinite in an unused direction
        Ok(match directions {
            Use::Send => [seconds, f64::INFINITY],
            Use::Receive => [f64::INFINITY, seconds],
            Use::Both => [seconds * writes as f64 / sent as f64, seconds],
        })
    };
    let is_busy = directions != Use::Both;
    Box::new(Batches { run, is_busy })
}

/// Times `send` for each write, or `receive` once; or `receive` once, and meanwhile
/// `send` repeatedly on another thread. Returns the number of writes, and the seconds that it took.
fn timed(
    directions: Use,
    writes: usize,
    mut send: impl FnMut() -> Result<()> + Send,
    receive: impl FnOnce() -> Result<()>,
) -> Result<(usize, f64)> {
    let start = Instant::now();
    match directions {
        Use::Send => (0..writes).try_for_each(|_| send())?,
        Use::Receive => receive()?,
        Use::Both => {
            let (begin, is_over) = (Barrier::new(2), AtomicBool::new(false));
            return thread::scope(|scope| {
                let sending = scope.spawn(|| -> Result<usize> {
                    let mut sent = 0;
                    begin.wait();
                    while !is_over.load(Ordering::Relaxed) {
                        send()?;
                        sent += 1;
                    }
                    Ok(sent)
                });
                begin.wait();
                let start = Instant::now();
                let received = receive();
                let seconds = start.elapsed().as_secs_f64();
                is_over.store(true, Ordering::Relaxed);
                let sent = sending.join().map_err(|_| "the sending thread panicked")?;
                received.and(sent).map(|sent| (sent, seconds))
            });
        }
    }
    Ok((writes, start.elapsed().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_one_thread_ends_both() {
        let fails = || Err("it failed".into());
        assert!(timed(Use::Both, 1, || Ok(()), fails).is_err());
        let failed = AtomicBool::new(false);
        let send = || {
            failed.store(true, Ordering::SeqCst);
            Err("it failed".into())
        };
        let receive = || {
            while !failed.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            Ok(())
        };
        assert!(timed(Use::Both, 1, send, receive).is_err());
    }
}
