//! A server on a thread of its own, and the threads that make its signatures.

use core::time::Duration;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use harness::peers::os::{leave_first_processor, lower_priority};
use harness::peers::pairs::Result;

/// A server on a thread of its own, with established connections. A call sends messages on them,
/// and makes handshakes, for this time.
pub(crate) type Service = Box<dyn FnMut(Load, Duration) -> Result<Outcome>>;

/// The load of a [`Service`].
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Load {
    pub(crate) handshakes: Handshakes,
    /// True if the server's thread does not wait for signatures. Only this library has that.
    pub(crate) is_offloaded: bool,
}

/// The handshakes that clients begin.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Handshakes {
    None,
    PerSecond,
    /// Clients keep [`AT_ONCE`] handshakes in progress.
    AtOnce,
}

/// The most handshakes that are in progress at the same time.
pub(crate) const AT_ONCE: usize = 32;

/// The result of one call of a [`Service`].
pub(crate) struct Outcome {
    /// The seconds until the echo of each message.
    pub(crate) latencies: Vec<f64>,
    pub(crate) handshakes_per_s: f64,
}

/// The parameters of a service.
pub(crate) struct Setup {
    pub(crate) connections: usize,
    /// The handshakes of [`Handshakes::PerSecond`].
    pub(crate) per_second: usize,
    /// The time that each signature waits before it is made.
    pub(crate) delay: Duration,
    pub(crate) pool: Pool,
}

/// Threads that run jobs from one queue. They leave the first processor to the server, and end when
/// the pool and its clones are dropped.
#[derive(Clone)]
pub(crate) struct Pool(Sender<Box<dyn FnOnce() + Send>>);

impl Pool {
    pub(crate) fn new(threads: usize) -> Self {
        let (queue, jobs) = channel::<Box<dyn FnOnce() + Send>>();
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..threads {
            let jobs = jobs.clone();
            thread::spawn(move || {
                leave_first_processor();
                lower_priority();
                let lock = || jobs.lock().unwrap_or_else(PoisonError::into_inner);
                let next = || lock().recv();
                while let Ok(job) = next() {
                    job();
                }
            });
        }
        Self(queue)
    }

    pub(crate) fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        // the threads live as long as the queue
        let _ = self.0.send(job);
    }
}

/// The interval of messages, over all connections.
pub(crate) const INTERVAL: Duration = Duration::from_micros(500);
