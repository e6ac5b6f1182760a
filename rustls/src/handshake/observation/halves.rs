//! State that the observations of both halves of a split connection share, so that the connection's
//! failure and its end are reported only once.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, Ordering};

use once_cell::race::OnceBox;

use super::Ending;

/// The state that both halves share.
pub(crate) struct Halves {
    /// True once a failure has been reported.
    has_failed: AtomicBool,
    /// The end of the half that was dropped first.
    first: OnceBox<Ending>,
}

impl Halves {
    pub(super) fn new() -> Self {
        Self {
            has_failed: AtomicBool::new(false),
            first: OnceBox::new(),
        }
    }

    /// Marks the failure of the connection as reported. Returns false if it already was.
    pub(super) fn fail(&self) -> bool {
        !self.has_failed.swap(true, Ordering::AcqRel)
    }

    /// Records the end of one half. Returns the end of the whole connection if the other half has
    /// already ended.
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
