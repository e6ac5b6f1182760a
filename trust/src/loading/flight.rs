//! A load, and the threads that are waiting for it.
//!
//! A reload must begin after it was requested. If a load is in progress, the callers of a reload
//! share a flight that has not begun. It begins after the current load ends.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{Loaded, Source};

pub(super) struct Flight<S: Source> {
    state: Mutex<State<S>>,
    ended: Condvar,
}

/// The result of a load, for all threads that waited.
pub(super) type Outcome<S> = Result<Loaded<S>, Arc<<S as Source>::Error>>;

enum State<S: Source> {
    /// The load has not begun yet.
    Due,
    UnderWay(Before<S>),
    /// The load has ended. There is no outcome if the source panicked.
    Ended(Before<S>, Option<Outcome<S>>),
}

/// The version of the source before the load began.
type Before<S> = Option<<S as Source>::Version>;

impl<S: Source> Flight<S> {
    /// Creates a flight whose load is due.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::Due),
            ended: Condvar::new(),
        })
    }

    /// Marks the load as begun by the caller. Returns false if another thread has begun it.
    pub(super) fn begin(&self, version: Option<&S::Version>) -> bool {
        let mut state = self.lock();
        let is_due = matches!(*state, State::Due);
        if is_due {
            *state = State::UnderWay(version.cloned());
        }
        is_due
    }

    pub(super) fn end(&self, outcome: Option<Outcome<S>>) {
        let mut state = self.lock();
        let before = match &mut *state {
            State::UnderWay(before) => before.take(),
            State::Due | State::Ended(..) => None,
        };
        *state = State::Ended(before, outcome);
        self.ended.notify_all();
    }

    /// Waits until a begun load ends. Returns `None` if the source panicked, in which case the
    /// caller must try again.
    pub(super) fn wait(&self) -> Option<Outcome<S>> {
        let mut state = self.lock();
        loop {
            match &*state {
                State::Ended(_, outcome) => return outcome.clone(),
                State::Due | State::UnderWay(_) => {
                    state = self
                        .ended
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// True if the source had this version before the load began.
    pub(super) fn began_at(&self, version: Option<&S::Version>) -> bool {
        match &*self.lock() {
            State::UnderWay(before) | State::Ended(before, _) => before.as_ref() == version,
            State::Due => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
