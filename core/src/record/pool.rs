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

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// Runs `test` with a pool of its own.
    fn on_a_new_thread(test: fn()) {
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn the_shortest_that_is_long_enough_is_taken_else_the_longest() {
        on_a_new_thread(|| {
            assert!(take(1).is_empty());
            for len in [300, 100, 200] {
                give(vec![0; len]);
            }
            let lens = [150, 150, 150, 150].map(|len| take(len).len());
            assert_eq!(lens, [200, 300, 100, 0]);
        });
    }

    #[test]
    fn what_was_given_is_what_is_taken() {
        on_a_new_thread(|| {
            let buffer = vec![7; 1000];
            let address = buffer.as_ptr();
            give(buffer);
            for _ in 0..10 {
                let buffer = take(1000);
                assert_eq!((buffer.as_ptr(), buffer.len()), (address, 1000));
                give(buffer);
            }
        });
    }

    #[test]
    fn the_pool_keeps_few_and_no_long_ones() {
        on_a_new_thread(|| {
            give(vec![0; MAX_KEPT_LEN + 1]);
            give(Vec::new());
            let mut roomy = Vec::with_capacity(MAX_KEPT_LEN + 1);
            roomy.push(0);
            give(roomy);
            assert!(take(1).is_empty());

            give(vec![0; MAX_KEPT_LEN]);
            for len in 1..=2 * SLOTS {
                give(vec![0; len]);
            }
            // the longest are kept; the shorter made way
            let mut lens: Vec<_> = (0..=SLOTS).map(|_| take(1).len()).collect();
            lens.sort();
            assert_eq!(lens, [0, 6, 7, 8, MAX_KEPT_LEN]);

            // and a shorter one than all does not replace any
            for len in [5, 5, 5, 5, 4] {
                give(vec![0; len]);
            }
            let lens: Vec<_> = (0..=SLOTS).map(|_| take(1).len()).collect();
            assert_eq!(lens, [5, 5, 5, 5, 0]);
        });
    }

    #[test]
    fn buffers_may_outlive_the_pool() {
        struct AtExit(Vec<u8>);

        impl Drop for AtExit {
            fn drop(&mut self) {
                give(core::mem::take(&mut self.0));
                drop(take(10));
            }
        }

        std::thread_local! {
            static BEFORE: RefCell<Option<AtExit>> = const { RefCell::new(None) };
            static AFTER: RefCell<Option<AtExit>> = const { RefCell::new(None) };
        }

        // one of the two is dropped after the pool, whichever order the platform has
        on_a_new_thread(|| {
            BEFORE.set(Some(AtExit(vec![0; 10])));
            give(vec![0; 10]);
            AFTER.set(Some(AtExit(vec![0; 10])));
        });
    }
}
