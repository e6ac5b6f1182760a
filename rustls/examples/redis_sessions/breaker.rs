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
///
/// Requests that were sent before a failure do not close it again. So it changes at most twice in
/// each pause, however the server behaves.
#[derive(Debug)]
pub(crate) struct Breaker {
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Closed,
    OpenUntil(Instant),
    Trial,
}

/// The permission to send one request. Dropping a trial without an outcome allows another one.
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    breaker: &'a Breaker,
    is_trial: bool,
}

impl Breaker {
    /// Creates a breaker that is closed, and after a failure stays open for `pause`.
    pub(crate) fn new(pause: Duration) -> Self {
        Self {
            pause,
            state: Mutex::new(State::Closed),
        }
    }

    /// Returns a permit if a request may be sent. After a pause one caller may try, and the others
    /// only once it has succeeded.
    pub(crate) fn permit(&self, now: Instant) -> Option<Permit<'_>> {
        let mut state = self.state();
        let is_trial = match *state {
            State::Closed => false,
            State::OpenUntil(end) if now >= end => true,
            State::OpenUntil(_) | State::Trial => return None,
        };
        if is_trial {
            *state = State::Trial;
        }
        Some(Permit {
            breaker: self,
            is_trial,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// Records the outcome of the request. Returns true if that has opened or closed the breaker.
    pub(crate) fn note(mut self, succeeded: bool, now: Instant) -> bool {
        let mut state = self.breaker.state();
        let was_closed = matches!(*state, State::Closed);
        if self.is_trial && succeeded {
            *state = State::Closed;
        } else if !succeeded && (self.is_trial || was_closed) {
            *state = State::OpenUntil(now + self.breaker.pause);
        }
        let is_closed = matches!(*state, State::Closed);
        drop(state);
        self.is_trial = false;
        was_closed != is_closed
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.is_trial {
            *self.breaker.state() = State::OpenUntil(Instant::now());
        }
    }
}
