//! How often certificates are read, for tests that say when they are not.

use core::cell::Cell;

std::thread_local! {
    static READS: Cell<usize> = const { Cell::new(0) };
}

/// A certificate is parsed, or one of its properties is.
pub(crate) fn note() {
    READS.set(READS.get() + 1);
}

/// How often that was so on this thread.
pub(crate) fn count() -> usize {
    READS.get()
}
