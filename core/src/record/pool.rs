//! The record buffers that a thread's connections share: those no connection is using.
//!
//! A connection needs a buffer from the first byte of a record to the last, and a thread works on few
//! connections at a time. So a handful of buffers serves any number of connections, stays in the
//! cache, and costs nothing to take and to give back. What a thread keeps is bounded by
//! [`SLOTS`] × [`MAX_KEPT_LEN`](super::buffer::MAX_KEPT_LEN) bytes.

use alloc::vec::Vec;
use core::cell::RefCell;

use super::buffer::MAX_KEPT_LEN;

/// How many buffers a thread keeps: for both directions of a connection and of the one it forwards to.
const SLOTS: usize = 4;

std::thread_local! {
    static POOL: RefCell<[Vec<u8>; SLOTS]> = const { RefCell::new([const { Vec::new() }; SLOTS]) };
}

/// The shortest buffer that has `len` bytes, else the longest there is (to be grown), else an empty
/// one. Its content is arbitrary.
pub(super) fn take(len: usize) -> Vec<u8> {
    // during the destruction of the thread's locals there is no pool any more
    POOL.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        let slot = pool.iter_mut().max_by_key(|slot| match slot.len() >= len {
            true => (true, usize::MAX - slot.len()),
            false => (false, slot.len()),
        });
        slot.map(core::mem::take).unwrap_or_default()
    })
    .unwrap_or_default()
}

/// Keeps `buffer` for the next [`take`], in the place of the shortest if that is shorter.
pub(super) fn give(buffer: Vec<u8>) {
    if buffer.is_empty() || buffer.capacity() > MAX_KEPT_LEN {
        return;
    }
    let _ = POOL.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        let slot = pool.iter_mut().min_by_key(|slot| slot.len());
        if let Some(slot) = slot.filter(|slot| slot.len() < buffer.len()) {
            *slot = buffer;
        }
    });
}
