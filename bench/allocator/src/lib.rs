//! The global allocator of the bench binary: the system's, jemalloc or mimalloc, chosen once when the
//! process makes its first allocation, and able to count.
//!
//! A process has one `#[global_allocator]`, fixed when it is compiled, so comparing three from one plain
//! `cargo run` takes one that delegates. Which allocator it delegates to is read from the environment
//! ([`VARIABLE`]), the only configuration there is before the first allocation. It cannot change later:
//! memory must go back to the allocator it came from.
//!
//! Choice and counting flag are one byte, so an allocation that is not counted costs one relaxed load
//! and one predicted branch over calling the allocator itself.
//!
//! For tests, another one keeps what is given back: [`KeepsFreed`].
//!
//! This is the only package of the workspace with unsafe code: `GlobalAlloc` is an unsafe trait.

mod freed;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::alloc::System;

pub use freed::{KeepsFreed, record_freed};
use mimalloc::MiMalloc;
#[cfg(not(target_env = "msvc"))]
use tikv_jemallocator::Jemalloc;

/// The environment variable that chooses: one of [`Kind::name`], else the system's allocator.
pub const VARIABLE: &str = "BENCH_HEAP";

const VARIABLE_C: &CStr = c"BENCH_HEAP";

/// An allocator that this process may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// That of the operating system's C library.
    System,
    /// jemalloc; where it does not build (MSVC), the system's takes its place.
    Jemalloc,
    /// mimalloc
    Mimalloc,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::System, Self::Jemalloc, Self::Mimalloc];

    /// Its name, as [`VARIABLE`] and the command line spell it.
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

/// What happened on the heap while [`count`] counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// How many times memory was asked for, growing what was there included.
    pub allocations: u64,

    /// How many bytes that were, in all.
    pub taken: u64,

    /// By how many bytes the memory in use grew; negative when it shrank. Sizes are those asked for,
    /// not what an allocator rounds them to, so they do not depend on which it is.
    pub bytes: i64,
}

/// Runs `work` and counts what the process allocates meanwhile, on all its threads.
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

/// All that was ever counted: what lies between two calls within the work of [`count`] happened there.
pub fn so_far() -> Counted {
    Counted {
        allocations: ALLOCATIONS.load(Ordering::SeqCst),
        taken: TAKEN.load(Ordering::SeqCst),
        bytes: BYTES.load(Ordering::SeqCst),
    }
}

/// The highest that `bytes` of [`so_far`] was since the last call of this.
pub fn take_peak() -> i64 {
    PEAK.swap(BYTES.load(Ordering::SeqCst), Ordering::SeqCst)
}

/// As `bytes` of [`so_far`], by the calling thread alone: memory that it has taken, less what it has given back.
pub fn bytes_of_this_thread() -> i64 {
    OF_THREAD.get()
}

/// The allocator to put behind `#[global_allocator]`.
pub struct Selected;

/// Calls `$method` of the allocator that `$state` names.
macro_rules! hand_on {
    ($state:expr, $method:ident($($argument:expr),*)) => {
        match $state & KIND {
            // SAFETY (all): the caller upholds the contract of the method of the same name, which every
            // allocator shares. `KIND` never changes, so memory is always freed by the allocator that
            // allocated it.
            #[cfg(not(target_env = "msvc"))]
            JEMALLOC => unsafe { Jemalloc.$method($($argument),*) },
            MIMALLOC => unsafe { MiMalloc.$method($($argument),*) },
            _ => unsafe { System.$method($($argument),*) },
        }
    };
}

// SAFETY: every method hands its arguments unchanged to the method of the same name of an allocator that
// is itself a `GlobalAlloc`, always the same one, and returns what that returns. Nothing here allocates
// or unwinds.
#[allow(clippy::undocumented_unsafe_blocks)] // stated once, in `hand_on`
unsafe impl GlobalAlloc for Selected {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let state = state();
        if state & COUNTING != 0 {
            record(1, layout.size(), 0);
        }
        hand_on!(state, alloc(layout))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let state = state();
        if state & COUNTING != 0 {
            record(1, layout.size(), 0);
        }
        hand_on!(state, alloc_zeroed(layout))
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let state = state();
        if state & COUNTING != 0 {
            record(1, new_size, layout.size());
        }
        hand_on!(state, realloc(ptr, layout, new_size))
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        let state = state();
        if state & COUNTING != 0 {
            record(0, 0, layout.size());
        }
        hand_on!(state, dealloc(ptr, layout))
    }
}

/// The chosen allocator in the low bits, [`COUNTING`] above them.
static STATE: AtomicU8 = AtomicU8::new(UNDECIDED);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static TAKEN: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

thread_local! {
    // nothing is allocated for it, nor dropped with the thread
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

/// Reads the environment, by the C library's function, which does not allocate.
#[cold]
fn decide() -> u8 {
    // SAFETY: the name is a C string. The environment is not changed at the time: this runs within the
    // first allocation of the process, before `main`.
    let value = unsafe { libc::getenv(VARIABLE_C.as_ptr()) };
    let chosen = if value.is_null() {
        SYSTEM
    } else {
        // SAFETY: what `getenv` returns is null or a C string.
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
