//! State that the observations of the two halves of a split connection share, so that one of them
//! reports each event that happens once.

use alloc::boxed::Box;

use super::Ending;
use crate::handshake::atomics::{AtomicU8, OnceBox, Ordering};

/// The state of both halves.
pub(crate) struct Halves {
    /// 1 once a failure has been reported.
    failed: AtomicU8,
    /// The ending of the half that was dropped first.
    first: OnceBox<Ending>,
}

impl Halves {
    pub(super) fn new() -> Self {
        Self {
            failed: AtomicU8::new(0),
            first: OnceBox::new(),
        }
    }

    /// Marks the connection as failed. Returns true if it was not: the caller reports the failure.
    pub(super) fn fail(&self) -> bool {
        self.failed.fetch_or(1, Ordering::AcqRel) == 0
    }

    /// Ends one half. Returns the ending of the whole connection to the half that ends last.
    pub(super) fn end(&self, ending: Ending) -> Option<Ending> {
        match self.first.set(Box::new(ending)) {
            Ok(()) => None,
            Err(_) => Some(match self.first.get() {
                Some(first) => first.and(ending),
                None => ending,
            }),
        }
    }
}
