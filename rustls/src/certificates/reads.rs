//! Counts certificate parsing, so that tests can check that nothing is parsed needlessly.

use core::cell::Cell;

std::thread_local! {
    static READS: Cell<usize> = const { Cell::new(0) };
}

/// Counts the parsing of a certificate or of one property.
pub(crate) fn count_one() {
    READS.set(READS.get() + 1);
}

/// Returns the count on this thread.
pub(crate) fn count() -> usize {
    READS.get()
}
