//! A server on its own thread, and the threads that make its signatures.

use core::time::Duration;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use harness::peers::os::{leave_first_processor, lower_priority};
use harness::peers::pairs::Result;

/// A server on its own thread, with established connections. A call sends messages on them for the
/// given time. Meanwhile, clients start the given number of handshakes per second, at most
/// [`AT_ONCE`] at a time. If the second argument is true, the server's thread does not wait for
/// signatures, which only this library supports. Returns the seconds until the echo of each
/// message, and the completed handshakes per second.
pub(crate) type Service = Box<dyn FnMut(f64, bool, Duration) -> Result<(Vec<f64>, f64)>>;

/// The most handshakes that are in progress at the same time.
pub(crate) const AT_ONCE: usize = 32;

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
