//! One end of a connection that uses both directions at once.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use harness::peers::pairs::{Result, check_received};

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
