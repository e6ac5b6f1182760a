//! Counts the allocations of this process, to show that none follow the handshake.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Returns the number of allocations and reallocations so far, in all threads.
pub(crate) fn allocations() -> usize {
    let stats = HEAP.stats();
    stats.allocations + stats.reallocations
}
