//! Memory contents at the time of their deallocation. Tests search them for secrets that should
//! have been zeroized.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::{Cell, UnsafeCell};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::alloc::System;

/// The system's allocator, which can keep a copy of each freed block. Use it as the
/// `#[global_allocator]`.
pub struct KeepsFreed;

/// Runs `work`. Returns its result and the concatenated content of all blocks that this thread
/// freed during that time.
///
/// A reallocated block counts as freed, because it is luck if it need not move. Memory freed by
/// libraries in other languages is not seen.
///
/// # Panics
///
/// If [`KeepsFreed`] is not the allocator, if more than 16 MiB are freed, or if another call is in
/// progress.
pub fn record_freed<T>(work: impl FnOnce() -> T) -> (T, Vec<u8>) {
    assert!(
        !BUSY.swap(true, Ordering::SeqCst),
        "another call is in progress"
    );
    USED.store(0, Ordering::SeqCst);
    IS_RECORDING.set(true);
    let result = work();
    drop(core::hint::black_box(Box::new(0_u8)));
    IS_RECORDING.set(false);
    let used = USED.load(Ordering::SeqCst);
    assert_ne!(used, 0, "KeepsFreed is not the allocator of this program");
    assert!(used <= ROOM, "{used} bytes were freed");
    // SAFETY: `used` bytes lie in the arena. Only a recording thread writes to it, which is this
    // one: no other can begin before `BUSY` is false. All bytes are initialised, since `alloc`
    // returns zeroed memory.
    let freed = unsafe { core::slice::from_raw_parts(ARENA.0.get().cast::<u8>(), used) }.to_vec();
    BUSY.store(false, Ordering::SeqCst);
    (result, freed)
}

/// The most bytes that can be kept.
const ROOM: usize = 16 << 20;

struct Arena(UnsafeCell<[u8; ROOM]>);

// SAFETY: only the one thread that records touches it, see `record_freed`.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; ROOM]));

/// Bytes used in the arena; more than [`ROOM`] if it overflowed.
static USED: AtomicUsize = AtomicUsize::new(0);

/// True while a thread is in `record_freed`.
static BUSY: AtomicBool = AtomicBool::new(false);

std::thread_local! {
    // const-initialised and without a destructor, so that accessing it never allocates
    static IS_RECORDING: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: each method is `System`'s, or composed of `System`'s methods according to the contract of
// `GlobalAlloc`. Nothing here allocates or unwinds.
unsafe impl GlobalAlloc for KeepsFreed {
    /// Returns zeroed memory, so that every byte of a block may be read when it is freed.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that `new_size` does not overflow and is not zero, and that
        // `block` has this layout. The new block does not overlap the old one.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(block, new, Ord::min(layout.size(), new_size));
                self.dealloc(block, layout);
            }
            new
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if IS_RECORDING.get() {
            let size = layout.size();
            let start = USED.fetch_add(size, Ordering::SeqCst);
            if start.saturating_add(size) <= ROOM {
                // SAFETY: the block is `size` bytes long, and this call has reserved as much room
                // after `start`.
                unsafe {
                    let kept = ARENA.0.get().cast::<u8>().add(start);
                    ptr::copy_nonoverlapping(block, kept, size);
                }
            }
        }
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(block, layout) }
    }
}
