//! A load that is under way, and those who wait for it.

use alloc::sync::Arc;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::{Loaded, Source};

pub(super) struct Flight<S: Source> {
    /// The version of the source before the load began.
    pub(super) version: Option<S::Version>,
    state: Mutex<State<S>>,
    ended: Condvar,
}

type Outcome<S> = Result<Loaded<S>, Arc<<S as Source>::Error>>;

enum State<S: Source> {
    UnderWay,
    /// Without an outcome when the source panicked.
    Ended(Option<Outcome<S>>),
}

impl<S: Source> Flight<S> {
    pub(super) fn new(version: Option<S::Version>) -> Arc<Self> {
        Arc::new(Self {
            version,
            state: Mutex::new(State::UnderWay),
            ended: Condvar::new(),
        })
    }

    pub(super) fn end(&self, outcome: Option<Outcome<S>>) {
        *self.lock() = State::Ended(outcome);
        self.ended.notify_all();
    }

    /// Waits for the end. `None` when the source panicked: whoever still wants it has to load it.
    pub(super) fn wait(&self) -> Option<Outcome<S>> {
        let mut state = self.lock();
        loop {
            match &*state {
                State::Ended(outcome) => return outcome.clone(),
                State::UnderWay => {
                    state = self
                        .ended
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
