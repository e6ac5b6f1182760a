//! The allocator of tests that measure memory. The count is process-wide, so each of them is a
//! separate program.

#![allow(dead_code, reason = "each program uses a part")]

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Starts to count.
pub(crate) fn region() -> Region<'static, System> {
    Region::new(ALLOCATOR)
}

pub(crate) fn heap() -> usize {
    let stats = ALLOCATOR.stats();
    // both totals already include the changes of reallocations
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Returns the heap bytes that `value` holds. The value is dropped in a separate thread, whose
/// buffer pool ends with the thread.
pub(crate) fn held_by<T: Send>(value: T) -> usize {
    let before = heap();
    std::thread::scope(|scope| scope.spawn(|| drop(value)).join()).unwrap();
    before.saturating_sub(heap())
}

/// Warms up with a few calls of `round`, then asserts that many more allocate nothing.
pub(crate) fn assert_no_allocation(what: &str, mut round: impl FnMut()) {
    for _ in 0..10 {
        round();
    }
    let region = region();
    for _ in 0..50 {
        round();
    }
    let change = region.change();
    let counts = (
        change.allocations,
        change.reallocations,
        change.deallocations,
    );
    assert_eq!(counts, (0, 0, 0), "{what}");
}

/// Checks that the counter counts at all.
pub(crate) fn assert_counting() {
    let region = region();
    drop(Box::new([0u8; 100]));
    assert_ne!(region.change().allocations, 0);
}
