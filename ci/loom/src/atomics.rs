//! Loom's atomics, for the file with the library's lock-free state.

use std::sync::OnceLock;

pub(crate) use loom::sync::atomic::{AtomicU8, Ordering};

/// `once_cell::race::OnceBox`: a cell that is filled once (`Release`) and read (`Acquire`).
pub(crate) struct OnceBox<F> {
    /// The synchronisation of readers, like the pointer of the real cell. The value behind it
    /// provides no ordering: loom runs one thread at a time and does not see it.
    is_set: loom::sync::atomic::AtomicBool,
    value: OnceLock<Box<F>>,
}

impl<F> OnceBox<F> {
    pub(crate) fn new() -> Self {
        Self {
            is_set: loom::sync::atomic::AtomicBool::new(false),
            value: OnceLock::new(),
        }
    }

    pub(crate) fn set(&self, value: Box<F>) -> Result<(), Box<F>> {
        self.value.set(value)?;
        self.is_set.store(true, Ordering::Release);
        Ok(())
    }

    pub(crate) fn get(&self) -> Option<&F> {
        let is_set = self.is_set.load(Ordering::Acquire);
        self.value.get().filter(|_| is_set).map(|value| &**value)
    }
}
