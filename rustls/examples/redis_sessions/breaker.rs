//! A circuit breaker: it pauses requests to a server that failed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Decides whether to send a request, by the outcome of earlier ones.
///
/// ```text
///   closed ──failure──► open for `pause` ──► one trial ──success──► closed
///                            ▲                   │
///                            └──────failure──────┘
/// ```
#[derive(Debug)]
pub(crate) struct Breaker {
    pause: Duration,
    /// The end of the pause, after a failure.
    open_until: Mutex<Option<Instant>>,
}

impl Breaker {
    /// Creates a breaker that is closed, and after a failure stays open for `pause`.
    pub(crate) fn new(pause: Duration) -> Self {
        Self {
            pause,
            open_until: Mutex::new(None),
        }
    }

    /// Returns true if a request may be sent. After a pause one caller may try, and the others only
    /// once it has succeeded.
    pub(crate) fn allows(&self, now: Instant) -> bool {
        let mut open_until = self.open_until();
        match *open_until {
            None => true,
            Some(until) if now < until => false,
            Some(_) => {
                *open_until = Some(now + self.pause);
                true
            }
        }
    }

    /// Records the outcome of a request. Returns true if it differs from the last one.
    pub(crate) fn note(&self, succeeded: bool, now: Instant) -> bool {
        let mut open_until = self.open_until();
        let had_succeeded = open_until.is_none();
        *open_until = (!succeeded).then(|| now + self.pause);
        had_succeeded != succeeded
    }

    fn open_until(&self) -> MutexGuard<'_, Option<Instant>> {
        self.open_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
