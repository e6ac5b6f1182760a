//! Work with secrets, after which the stack is overwritten.
//!
//! Crypto libraries leave keys and outputs in their frames, and an optimising compiler copies
//! values that are moved. Such copies are never zeroized. They stay until other frames overwrite
//! them, and get into heap memory as the unused bytes of a value that is moved there.
//!
//! Callers overwrite the stack behind a group of steps, not behind each: 4 KiB take about 80 ns.

use core::hint::black_box;

/// Calls `work`, which derives secrets from prepared keys, and overwrites the 4 KiB of stack below
/// the caller.
///
/// The caller's frame is not overwritten. So `work` writes secrets into their final places, and
/// its result has none, unless behind a pointer. If `work` panics, nothing is overwritten.
#[inline(always)]
pub fn with_erased_stack<T>(work: impl FnOnce() -> T) -> T {
    let result = apart(work);
    // frames beyond a page would be probed
    erase::<{ 4096 - 128 }>();
    result
}

/// Like [`with_erased_stack`], for deeper frames: 8 KiB. Use it if `work` prepares keys, since
/// HMAC's have several copies on the stack; and behind the last derivation of a call.
#[inline(always)]
pub fn with_deep_stack_erased<T>(work: impl FnOnce() -> T) -> T {
    let result = apart(work);
    erase::<8192>();
    result
}

/// Has a frame of its own, which starts where that of [`erase`] does.
#[inline(never)]
fn apart<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[inline(never)]
fn erase<const LEN: usize>() {
    // the compiler cannot know that nothing reads these bytes
    black_box(&mut [0_u8; LEN]);
}
