//! Leaves a server alone for a while after it has failed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// ```text
///   closed ──failure──► open for `pause` ──► one trial ──success──► closed
///                            ▲                   │
///                            └──────failure──────┘
/// ```
#[derive(Debug)]
pub(crate) struct Breaker {
    pause: Duration,
    /// Before when nothing is tried, after a failure.
    open_until: Mutex<Option<Instant>>,
}

impl Breaker {
    /// One that stays open for `pause`.
    pub(crate) fn new(pause: Duration) -> Self {
        Self {
            pause,
            open_until: Mutex::new(None),
        }
    }

    /// Whether to try. When a pause is over one caller may, and the others once that has succeeded.
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

    /// Notes the outcome of a try; true when it is another than that of the last one.
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
