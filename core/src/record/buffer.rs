//! The buffers that a connection owns: one for outgoing records, one for received data.
//!
//! Each holds memory only while it is not empty, roughly in proportion to its content. With feature
//! `std`, memory blocks of up to 72 KiB come from a per-thread pool and return there. So an idle
//! connection holds no buffer and a busy one rarely allocates.
//!
//! If moving bytes within a buffer gains less room than a quarter of their number, the buffer
//! grows, so that the next move gains more. So each byte is copied only a few times, however slowly
//! a buffer is drained or filled.

mod outgoing;
mod received;

use core::fmt;
use core::ops::Range;

pub use self::outgoing::OutgoingBuffer;
pub use self::received::ReceiveBuffer;
use super::pool::{self, Memory};
pub use super::pool::{OutOfMemory, Owner};
use crate::copy;

/// Records that were received, opened, and sealed again for a different connection, all in the same
/// memory:
///
/// ```text
///   received   │ header │ ciphertext │ type, tag │ header │ ciphertext │ type, tag │
///   opened     │ marker │ plaintext  │           │ marker │ plaintext  │           │
///   sealed     │ header │ ciphertext │ type, tag │ header │ ciphertext │ type, tag │
/// ```
///
/// [`ReceiveBuffer::take_sealed`] creates them, and [`OutgoingBuffer::adopt`] queues them. When
/// they have been sent, the memory returns to the pool with the receiving connection as its owner.
/// That connection can reuse it without clearing it, because the other connection left only
/// ciphertext in it.
pub struct SealedRecords {
    memory: Memory,
    range: Range<usize>,
    owner: Owner,
}

impl Drop for SealedRecords {
    fn drop(&mut self) {
        release(&mut self.memory, self.owner);
    }
}

impl fmt::Debug for SealedRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedRecords")
            .field("len", &self.range.len())
            .finish_non_exhaustive()
    }
}

/// True if gaining `gained` bytes of room justifies moving `moved` bytes.
#[inline]
fn justifies_move(gained: usize, moved: usize) -> bool {
    gained >= moved / 4
}

/// Returns `memory`, if any, to the pool.
#[inline]
fn release(memory: &mut Memory, owner: Owner) {
    if !memory.is_empty() {
        pool::put_back(core::mem::take(memory), owner);
    }
}

/// Copies the bytes at `range` of `memory` to the front of `other`, which then replaces `memory`.
fn move_to(memory: &mut Memory, range: Range<usize>, mut other: Memory, owner: Owner) {
    #[cfg(test)]
    moved::count(range.len());
    other.write(0, &memory[range]);
    pool::put_back(core::mem::replace(memory, other), owner);
}

/// Moves `range` of `memory` down to `to`.
fn move_down(memory: &mut [u8], range: Range<usize>, to: usize) {
    if range.start != to {
        #[cfg(test)]
        moved::count(range.len());
        copy::move_down(memory, range, to);
    }
}

#[cfg(test)]
mod moved {
    use core::cell::Cell;

    std::thread_local! {
        /// The number of bytes that this thread's buffers have moved, within one memory block or to
        /// another.
        pub(super) static MOVED: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn count(len: usize) {
        MOVED.set(MOVED.get() + len);
    }
}
