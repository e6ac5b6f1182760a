//! The threads that call the module.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustls::operation::{Job, Spawn};

/// The signatures that may wait for a thread. Further handshakes fail.
pub(crate) const QUEUE: usize = 1024;

/// Starts a pool of threads, which end after the pool was dropped.
///
/// tokio's `spawn_blocking` would start hundreds of threads, and queue jobs without a limit. A
/// module has few sessions, and one that hangs must not cost memory for each client that comes.
pub(crate) fn start(threads: usize) -> impl Spawn + 'static {
    let (queue, jobs) = mpsc::sync_channel(QUEUE);
    let jobs = Arc::new(Mutex::new(jobs));
    for _ in 0..threads {
        let jobs = jobs.clone();
        thread::spawn(move || {
            while let Some(job) = next(&jobs) {
                job();
            }
        });
    }
    // If the queue is full, this drops the job, which fails its handshake.
    move |job| drop(queue.try_send(job))
}

fn next(jobs: &Mutex<Receiver<Job>>) -> Option<Job> {
    let jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
    jobs.recv().ok()
}
