//! Application data that a state holds and the application has not taken yet.
//!
//! The data is in the caller's buffer, and the state's `discard` includes its record. So the data
//! is lost if the application drops the state without taking it. An application that only peeks at
//! the length may take the data later. So peeking makes a copy, which the next state returns.

use alloc::boxed::Box;
use alloc::vec::Vec;

use once_cell::race::OnceBox;
use rustls_core::copy;
use zeroize::Zeroizing;

#[derive(Default)]
pub(super) struct PendingPayload {
    stage: PayloadStage,
    copy: OnceBox<Zeroizing<Vec<u8>>>,
}

#[derive(Default, PartialEq)]
enum PayloadStage {
    /// No data is pending.
    #[default]
    Empty,
    /// A state holds the data.
    Pending,
    /// The application took the copy, which is still allocated.
    CopyTaken,
}

impl PendingPayload {
    /// True if neither data nor a copy remains.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.stage == PayloadStage::Empty
    }

    /// True if application data was returned and not taken.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.stage == PayloadStage::Pending
    }

    /// True if the data was not taken and there is no copy.
    pub(super) fn is_lost(&self) -> bool {
        self.is_pending() && self.copy.get().is_none()
    }

    #[inline]
    pub(super) fn announce(&mut self) {
        self.stage = PayloadStage::Pending;
    }

    /// Copies `payload` unless there is a copy already, and returns the length of the copy. Returns
    /// `None` if the data was taken.
    pub(super) fn copy_once(&self, payload: &[u8]) -> Option<usize> {
        if !self.is_pending() {
            return None;
        }
        let copy = || Box::new(Zeroizing::new(copy::to_vec(payload)));
        Some(self.copy.get_or_init(copy).len())
    }

    /// Returns `payload`, or the copy if `payload` is empty because its record was discarded.
    /// Returns `None` if the data was taken.
    #[inline]
    pub(super) fn take<'a>(&'a mut self, payload: &'a [u8]) -> Option<&'a [u8]> {
        if !self.is_pending() {
            return None;
        }
        match self.copy.get() {
            None => {
                self.stage = PayloadStage::Empty;
                Some(payload)
            }
            Some(copy) => {
                self.stage = PayloadStage::CopyTaken;
                Some(if payload.is_empty() { copy } else { payload })
            }
        }
    }

    pub(super) fn drop_copy_if_taken(&mut self) {
        if self.stage == PayloadStage::CopyTaken {
            *self = Self::default();
        }
    }
}
