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

/// A stack: the buffer given back last is the one most likely in the cache.
struct Pool {
    slots: [Vec<u8>; SLOTS],
    used: usize,
}

std::thread_local! {
    static POOL: RefCell<Pool> = const {
        RefCell::new(Pool {
            slots: [const { Vec::new() }; SLOTS],
            used: 0,
        })
    };
}

/// The buffer that was given back last, or an empty one. Its content is arbitrary.
///
/// It may be shorter than is needed; whoever grows it gives back a longer one, so that soon all are
/// long enough.
pub(super) fn take() -> Vec<u8> {
    // during the destruction of the thread's locals there is no pool any more
    POOL.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        pool.used = pool.used.saturating_sub(1);
        let last = pool.used;
        core::mem::take(&mut pool.slots[last])
    })
    .unwrap_or_default()
}

/// Keeps `buffer` for the next [`take`], unless it is too long or there are enough.
pub(super) fn give(buffer: Vec<u8>) {
    if buffer.is_empty() || buffer.capacity() > MAX_KEPT_LEN {
        return;
    }
    let _ = POOL.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        let next = pool.used;
        if let Some(slot) = pool.slots.get_mut(next) {
            *slot = buffer;
            pool.used += 1;
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
    fn the_last_given_is_the_first_taken() {
        on_a_new_thread(|| {
            assert!(take().is_empty());
            for len in [300, 100, 200] {
                give(vec![0; len]);
            }
            assert_eq!([(); 4].map(|()| take().len()), [200, 100, 300, 0]);
        });
    }

    #[test]
    fn what_was_given_is_what_is_taken() {
        on_a_new_thread(|| {
            let buffer = vec![7; 1000];
            let address = buffer.as_ptr();
            give(buffer);
            for _ in 0..10 {
                let buffer = take();
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
            assert!(take().is_empty());

            for len in [MAX_KEPT_LEN, 1, 2, 3, 4] {
                give(vec![0; len]);
            }
            assert_eq!([(); 5].map(|()| take().len()), [3, 2, 1, MAX_KEPT_LEN, 0]);
        });
    }

    #[test]
    fn buffers_may_outlive_the_pool() {
        struct AtExit(Vec<u8>);

        impl Drop for AtExit {
            fn drop(&mut self) {
                give(core::mem::take(&mut self.0));
                drop(take());
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
