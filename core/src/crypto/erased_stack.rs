//! Functions that overwrite the stack after work with secrets.
//!
//! Crypto libraries leave keys and outputs in their stack frames, and an optimising compiler copies
//! values that are moved. Such copies are never zeroized: they stay until other frames overwrite
//! them. They can also reach heap memory, in the unused bytes of a value that is moved there.
//!
//! Callers overwrite the stack after a group of steps, not after each, because overwriting 4 KiB
//! takes 25 to 80 ns. The maximum depth of the frames that hold secrets, in bytes, in an optimised
//! build:
//!
//! | | aws-lc-rs, ring |
//! |---|---|
//! | preparing an HMAC key, and deriving from it | 2518 |
//! | creating an AEAD key | 4455 |
//! | the PRF of the FIPS module, with its key | 4902 |

use core::hint::black_box;

/// Calls `work`, which derives secrets with HMAC. Then overwrites almost 4 KiB of stack below the
/// caller.
///
/// The caller's frame is not overwritten. So `work` must write secrets into their final places, and
/// must not return any, except behind a pointer. If `work` panics, nothing is overwritten.
#[inline(always)]
pub fn with_erased_stack<T>(work: impl FnOnce() -> T) -> T {
    let result = apart(work);
    // the compiler would probe each page of a larger frame
    erase::<{ 4096 - 128 }>();
    result
}

/// Like [`with_erased_stack`], but overwrites 8 KiB, for deeper frames. Use it if `work` creates an
/// AEAD key, completes a key exchange, or calls a library's own key derivation.
#[inline(always)]
pub fn with_deep_stack_erased<T>(work: impl FnOnce() -> T) -> T {
    let result = apart(work);
    erase::<8192>();
    result
}

/// Calls `work` in a separate frame, which starts where the frame of [`erase`] will start.
#[inline(never)]
fn apart<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[inline(never)]
fn erase<const LEN: usize>() {
    // the compiler cannot know that nothing reads these bytes
    black_box(&mut [0_u8; LEN]);
}
