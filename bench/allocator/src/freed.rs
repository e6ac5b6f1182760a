//! What is left in memory that was given back: a test looks there for secrets that should be gone.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::{Cell, UnsafeCell};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::alloc::System;

/// The system's allocator, which can keep a copy of each block that is given back, to be put behind
/// `#[global_allocator]`.
pub struct KeepsFreed;

/// Runs `work`; returns what it returns, and the content of all blocks that this thread gave back meanwhile, in a row.
///
/// A block that grows or shrinks counts as given back: that it need not move is luck. What other languages'
/// libraries give back is not seen.
///
/// # Panics
///
/// If [`KeepsFreed`] is not the allocator, or more than 16 MiB are given back, or another call is under way.
pub fn record_freed<T>(work: impl FnOnce() -> T) -> (T, Vec<u8>) {
    assert!(
        !BUSY.swap(true, Ordering::SeqCst),
        "another call is under way"
    );
    USED.store(0, Ordering::SeqCst);
    IS_RECORDING.set(true);
    let result = work();
    drop(core::hint::black_box(Box::new(0_u8)));
    IS_RECORDING.set(false);
    let used = USED.load(Ordering::SeqCst);
    assert_ne!(used, 0, "KeepsFreed is not the allocator of this program");
    assert!(used <= ROOM, "{used} bytes were given back");
    // SAFETY: `used` bytes lie in the arena, which only a thread that records writes to. This one did, and no other can
    // begin before `BUSY` is false. All of them are initialised, as `alloc` hands out nothing else.
    let freed = unsafe { core::slice::from_raw_parts(ARENA.0.get().cast::<u8>(), used) }.to_vec();
    BUSY.store(false, Ordering::SeqCst);
    (result, freed)
}

/// How many bytes can be kept.
const ROOM: usize = 16 << 20;

struct Arena(UnsafeCell<[u8; ROOM]>);

// SAFETY: only the one thread that records touches it, see `record_freed`.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; ROOM]));

/// Bytes in the arena, or more when there was no room.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Some thread is in `record_freed`.
static BUSY: AtomicBool = AtomicBool::new(false);

std::thread_local! {
    // without a destructor, and made when the program is compiled: to look at it allocates nothing
    static IS_RECORDING: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: each method is `System`'s, or made of its methods by the contract of `GlobalAlloc`. Nothing here allocates
// or unwinds.
unsafe impl GlobalAlloc for KeepsFreed {
    /// All zeros, so that each byte of a block can be read when it comes back.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller makes sure that `new_size` does not overflow and is not zero, and that `block` is of this
        // layout; the new block is another one.
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
                // SAFETY: the block is `size` bytes long, and so much room is behind `start`, which is this call's.
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
