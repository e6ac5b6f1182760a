//! The global allocator of the bench binary: the system's, jemalloc or mimalloc. It is chosen at
//! the process's first allocation, and can count allocations.
//!
//! A process has one `#[global_allocator]`, fixed at compile time. So comparing three of them in
//! one plain `cargo run` needs one that delegates. The environment ([`VARIABLE`]) selects the
//! allocator, because no other configuration exists before the first allocation. The choice is
//! final, because memory must return to the allocator that it came from.
//!
//! The choice and the counting flag share a byte. An uncounted allocation therefore costs one
//! relaxed load and one predicted branch more than the allocator itself.
//!
//! For tests, [`KeepsFreed`] keeps the content of freed memory, and [`record_stack`] that of a
//! stack.
//!
//! This is the only package of the workspace with unsafe code: `GlobalAlloc` is an unsafe trait,
//! and only threads of the C library take a stack from their creator.

mod freed;
#[cfg(unix)]
mod stack;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::alloc::System;

pub use freed::{KeepsFreed, record_freed};
use mimalloc::MiMalloc;
#[cfg(unix)]
pub use stack::record_stack;
#[cfg(not(target_env = "msvc"))]
use tikv_jemallocator::Jemalloc;

/// The environment variable that selects the allocator: one of [`Kind::name`], otherwise the
/// system's.
pub const VARIABLE: &str = "BENCH_HEAP";

const VARIABLE_C: &CStr = c"BENCH_HEAP";

/// An allocator that this process may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The allocator of the operating system's C library.
    System,
    /// jemalloc; the system's allocator where jemalloc does not build (MSVC).
    Jemalloc,
    /// mimalloc
    Mimalloc,
}

impl Kind {
    /// All allocators.
    pub const ALL: [Self; 3] = [Self::System, Self::Jemalloc, Self::Mimalloc];

    /// The name in [`VARIABLE`] and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Jemalloc => "jemalloc",
            Self::Mimalloc => "mimalloc",
        }
    }
}

/// The allocator this process runs on.
pub fn selected() -> Kind {
    match state() & KIND {
        JEMALLOC => Kind::Jemalloc,
        MIMALLOC => Kind::Mimalloc,
        _ => Kind::System,
    }
}

/// Heap activity during a call of [`count`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The number of allocations, including reallocations.
    pub allocations: u64,

    /// The bytes requested by these allocations.
    pub taken: u64,

    /// The growth of the memory in use in bytes; negative if it shrank. Counts requested sizes, not
    /// the rounded ones, so it does not depend on the allocator.
    pub bytes: i64,
}

/// Runs `work` and counts the process's allocations during that time, on all threads.
///
/// Counts do not nest: `work` must not call this.
pub fn count<T>(work: impl FnOnce() -> T) -> (T, Counted) {
    let before = so_far();
    STATE.fetch_or(COUNTING, Ordering::SeqCst);
    let result = work();
    STATE.fetch_and(!COUNTING, Ordering::SeqCst);
    let after = so_far();
    let counted = Counted {
        allocations: after.allocations - before.allocations,
        taken: after.taken - before.taken,
        bytes: after.bytes - before.bytes,
    };
    (result, counted)
}

/// All counts so far. The difference of two calls within the work of [`count`] is the activity
/// between them.
pub fn so_far() -> Counted {
    Counted {
        allocations: ALLOCATIONS.load(Ordering::SeqCst),
        taken: TAKEN.load(Ordering::SeqCst),
        bytes: BYTES.load(Ordering::SeqCst),
    }
}

/// The highest `bytes` of [`so_far`] since the last call of this function.
pub fn take_peak() -> i64 {
    PEAK.swap(BYTES.load(Ordering::SeqCst), Ordering::SeqCst)
}

/// Like `bytes` of [`so_far`], for the calling thread only: memory that it allocated, minus memory
/// that it freed.
pub fn bytes_of_this_thread() -> i64 {
    OF_THREAD.get()
}

/// The allocator to use as the `#[global_allocator]`.
pub struct Selected;

/// Calls `$method` of the allocator in `$state`.
macro_rules! delegate {
    ($state:expr, $method:ident($($argument:expr),*)) => {
        match $state & KIND {
            // SAFETY (all): the caller upholds the contract of the method of the same name, which
            // every allocator shares. `KIND` never changes, so memory is always freed by the
            // allocator that allocated it.
            #[cfg(not(target_env = "msvc"))]
            JEMALLOC => unsafe { Jemalloc.$method($($argument),*) },
            MIMALLOC => unsafe { MiMalloc.$method($($argument),*) },
            _ => unsafe { System.$method($($argument),*) },
        }
    };
}

// SAFETY: every method passes its arguments unchanged to the method of the same name of another
// `GlobalAlloc`. This is always the same one, and its result is returned. Nothing here allocates or
// unwinds.
#[allow(clippy::undocumented_unsafe_blocks)] // stated once, in `delegate`
unsafe impl GlobalAlloc for Selected {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let state = state();
        if state & COUNTING != 0 {
            record(1, layout.size(), 0);
        }
        delegate!(state, alloc(layout))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let state = state();
        if state & COUNTING != 0 {
            record(1, layout.size(), 0);
        }
        delegate!(state, alloc_zeroed(layout))
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let state = state();
        if state & COUNTING != 0 {
            record(1, new_size, layout.size());
        }
        delegate!(state, realloc(ptr, layout, new_size))
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        let state = state();
        if state & COUNTING != 0 {
            record(0, 0, layout.size());
        }
        delegate!(state, dealloc(ptr, layout))
    }
}

/// The chosen allocator in the low bits, [`COUNTING`] above them.
static STATE: AtomicU8 = AtomicU8::new(UNDECIDED);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static TAKEN: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

thread_local! {
    // const-initialised and without a destructor, so that accessing it never allocates
    static OF_THREAD: Cell<i64> = const { Cell::new(0) };
}

const UNDECIDED: u8 = 0;
const SYSTEM: u8 = 1;
const JEMALLOC: u8 = 2;
const MIMALLOC: u8 = 3;
const KIND: u8 = 0x0f;
const COUNTING: u8 = 0x80;

#[inline]
fn state() -> u8 {
    match STATE.load(Ordering::Relaxed) {
        UNDECIDED => decide(),
        state => state,
    }
}

/// Reads the environment with the C library's function, which does not allocate.
#[cold]
fn decide() -> u8 {
    // SAFETY: the name is a C string. Nothing modifies the environment now: this runs within the
    // first allocation of the process, before `main`.
    let value = unsafe { libc::getenv(VARIABLE_C.as_ptr()) };
    let chosen = if value.is_null() {
        SYSTEM
    } else {
        // SAFETY: `getenv` returns null or a C string.
        match unsafe { CStr::from_ptr(value) }.to_bytes() {
            b"jemalloc" if cfg!(not(target_env = "msvc")) => JEMALLOC,
            b"mimalloc" => MIMALLOC,
            _ => SYSTEM,
        }
    };
    STATE
        .compare_exchange(UNDECIDED, chosen, Ordering::SeqCst, Ordering::SeqCst)
        .map_or_else(|decided| decided, |_| chosen)
}

#[cold]
fn record(allocations: u64, taken: usize, given_back: usize) {
    ALLOCATIONS.fetch_add(allocations, Ordering::Relaxed);
    TAKEN.fetch_add(taken as u64, Ordering::Relaxed);
    let change = taken as i64 - given_back as i64;
    let before = BYTES.fetch_add(change, Ordering::Relaxed);
    PEAK.fetch_max(before + change, Ordering::Relaxed);
    OF_THREAD.set(OF_THREAD.get() + change);
}
