//! Application data that a state has shown, from then until the application takes it.
//!
//! It lies in the caller's buffer, and the state's `discard` counts its record. So it is gone when the application
//! drops the state without taking it. An application that only asks for the length may mean to take it later: that
//! makes a copy, which the next state hands out.

use alloc::boxed::Box;
use alloc::vec::Vec;

use once_cell::race::OnceBox;
use zeroize::Zeroizing;

#[derive(Default)]
pub(super) struct Shown {
    progress: Progress,
    copy: OnceBox<Zeroizing<Vec<u8>>>,
}

#[derive(Default, PartialEq)]
enum Progress {
    /// There is none.
    #[default]
    Done,
    /// A state has shown it.
    Waits,
    /// A state has handed out the copy.
    CopyTaken,
}

impl Shown {
    /// True when the next call need not look here.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.progress == Progress::Done
    }

    /// True when application data was shown, and not taken.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        self.progress == Progress::Waits
    }

    /// True when it was not taken and there is no copy.
    pub(super) fn is_lost(&self) -> bool {
        self.waits() && self.copy.get().is_none()
    }

    #[inline]
    pub(super) fn show(&mut self) {
        self.progress = Progress::Waits;
    }

    /// Copies `payload`, once, so that it can be shown again. Returns its length, or that of the copy if it is shown
    /// again already; `None` when it was taken.
    pub(super) fn keep(&self, payload: &[u8]) -> Option<usize> {
        if !self.waits() {
            return None;
        }
        let copy = || Box::new(Zeroizing::new(payload.to_vec()));
        Some(self.copy.get_or_init(copy).len())
    }

    /// Takes it: `payload`, or the copy where `payload` is empty since its record was discarded.
    #[inline]
    pub(super) fn take<'a>(&'a mut self, payload: &'a [u8]) -> Option<&'a [u8]> {
        if !self.waits() {
            return None;
        }
        match self.copy.get() {
            None => {
                self.progress = Progress::Done;
                Some(payload)
            }
            Some(copy) => {
                self.progress = Progress::CopyTaken;
                Some(if payload.is_empty() { copy } else { payload })
            }
        }
    }

    pub(super) fn drop_copy_if_taken(&mut self) {
        if self.progress == Progress::CopyTaken {
            *self = Self::default();
        }
    }
}
