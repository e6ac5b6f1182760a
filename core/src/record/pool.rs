//! The memory of record buffers, in a few lengths, and a pool for each thread of what no connection uses.
//!
//! A connection needs a buffer only from the first byte of a record to the last, and a thread works on few
//! connections at a time. So a handful of buffers serves any number of connections, stays in the cache, and
//! is cheap to take and to give back. Without feature `std` there is no thread-local storage to keep them in:
//! each is allocated and freed.
//!
//! Buffers are zeroed only when they are allocated. Afterwards they may hold old bytes; the positions that
//! their user keeps tell which bytes are valid.

use alloc::vec;
use alloc::vec::Vec;

use super::{HEADER_LEN, MAX_WIRE_PAYLOAD_LEN};

/// Room for the longest record of all versions and the header of the next.
pub(super) const RECORD_LEN: usize = 2 * HEADER_LEN + MAX_WIRE_PAYLOAD_LEN;

/// The lengths there are: from part of a small record up to 64 KiB of application data plus what records add
/// to it. Longer buffers are not kept.
const LENS: [usize; 7] = [
    1 << 10,
    1 << 11,
    1 << 12,
    1 << 13,
    RECORD_LEN,
    2 * RECORD_LEN,
    80 * 1024,
];

/// A buffer of [`fitting_len`] bytes. Its content is arbitrary.
pub(super) fn take(len: usize) -> Vec<u8> {
    #[cfg(feature = "std")]
    if let Some(memory) = threads::take(len) {
        return memory;
    }
    vec![0; fitting_len(len)]
}

/// As [`take`], but rather a longer one that is there than a new one: for output, which is gone soon. The pool
/// has few, so however many connections wait to write, few of them hold more than they need.
pub(super) fn take_spare(len: usize) -> Vec<u8> {
    #[cfg(feature = "std")]
    if let Some(memory) = threads::take(len).or_else(|| take_longer(len)) {
        return memory;
    }
    vec![0; fitting_len(len)]
}

/// The shortest that is there of those longer than [`take`] would return.
#[cfg(feature = "std")]
#[cold]
fn take_longer(len: usize) -> Option<Vec<u8>> {
    LENS.into_iter()
        .filter(|longer| *longer > len)
        .find_map(threads::take)
}

/// Gives back what [`take`] returned, or any other vector.
pub(super) fn give(memory: Vec<u8>) {
    #[cfg(feature = "std")]
    threads::give(memory);
    #[cfg(not(feature = "std"))]
    drop(memory);
}

/// Length of the buffer that [`take`] returns for `len` bytes.
pub(super) fn fitting_len(len: usize) -> usize {
    match class(len) {
        Some(class) => LENS[class],
        // longer ones double, so that a buffer that grows bit by bit is copied only a few times
        None => len.next_power_of_two(),
    }
}

/// The index of the shortest of [`LENS`] that has `len` bytes.
#[inline]
fn class(len: usize) -> Option<usize> {
    // nearly always this one
    const RECORD: usize = 4;
    if len > LENS[RECORD - 1] && len <= LENS[RECORD] {
        return Some(RECORD);
    }
    LENS.into_iter().position(|class| class >= len)
}

#[cfg(feature = "std")]
mod threads {
    use alloc::vec::Vec;
    use core::cell::RefCell;

    use super::{LENS, class};

    /// How many buffers of a length a thread keeps: enough for both directions of a connection and of the one
    /// it forwards to; half as many of those longer than a record.
    const fn slots(class: usize) -> usize {
        if LENS[class] <= super::RECORD_LEN {
            4
        } else {
            2
        }
    }

    /// A stack, since the buffer given back last is the one most likely in the cache.
    #[derive(Default)]
    struct Stack {
        slots: [Vec<u8>; 4],
        used: usize,
    }

    impl Stack {
        const EMPTY: Self = Self {
            slots: [const { Vec::new() }; 4],
            used: 0,
        };
    }

    std::thread_local! {
        static POOL: RefCell<[Stack; LENS.len()]> = const {
            RefCell::new([const { Stack::EMPTY }; LENS.len()])
        };
    }

    pub(super) fn take(len: usize) -> Option<Vec<u8>> {
        let class = class(len)?;
        // there is no pool any more while the thread's locals are being destroyed
        POOL.try_with(|pool| {
            let stack = &mut pool.borrow_mut()[class];
            stack.used = stack.used.checked_sub(1)?;
            Some(core::mem::take(&mut stack.slots[stack.used]))
        })
        .ok()?
    }

    /// Keeps `memory` for the next [`take`], unless it has another length or there are enough.
    pub(super) fn give(memory: Vec<u8>) {
        let Some(class) = class(memory.len()).filter(|class| LENS[*class] == memory.len()) else {
            return;
        };
        let _ = POOL.try_with(|pool| {
            let stack = &mut pool.borrow_mut()[class];
            if stack.used < slots(class) {
                stack.slots[stack.used] = memory;
                stack.used += 1;
            }
        });
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use core::cell::RefCell;

    use super::*;

    /// Runs `test` with a pool of its own.
    fn on_a_new_thread(test: fn()) {
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn a_longer_memory_is_spared_a_new_one() {
        on_a_new_thread(|| {
            let record = take(RECORD_LEN);
            let address = record.as_ptr();
            give(record);
            let spare = take_spare(24);
            assert_eq!((spare.as_ptr(), spare.len()), (address, RECORD_LEN));
            // the one that fits comes first, and there is no other left
            give(take(24));
            assert_eq!(take_spare(24).len(), LENS[0]);
            assert_eq!(take_spare(24).len(), LENS[0]);
        });
    }

    #[test]
    fn the_last_given_is_the_first_taken() {
        on_a_new_thread(|| {
            let memories = [take(1000), take(1024), take(1)];
            let addresses = memories.each_ref().map(|memory| memory.as_ptr());
            memories.into_iter().for_each(give);
            let again = [(); 3].map(|()| take(5));
            let again = again.each_ref().map(|memory| memory.as_ptr());
            assert!(again.iter().eq(addresses.iter().rev()));
        });
    }

    #[test]
    fn memories_are_no_longer_than_fits() {
        on_a_new_thread(|| {
            for len in LENS.into_iter().rev() {
                give(take(len));
            }
            for (len, taken) in [
                (0, 1024),
                (1, 1024),
                (1025, 2048),
                (8193, RECORD_LEN),
                (RECORD_LEN, RECORD_LEN),
                (RECORD_LEN + 1, 2 * RECORD_LEN),
                (66_000, 80 * 1024),
                (80 * 1024 + 1, 128 * 1024),
                (1_000_000, 1 << 20),
            ] {
                let memory = take(len);
                assert_eq!((memory.len(), memory.capacity()), (taken, taken), "{len}");
            }
        });
    }

    #[test]
    fn the_pool_keeps_few_and_no_others() {
        on_a_new_thread(|| {
            let kept = |len: usize, others: usize| {
                let memories: Vec<_> = (0..10).map(|_| vec![7; len]).collect();
                let mut given: Vec<_> = memories.iter().map(|memory| memory.as_ptr()).collect();
                memories.into_iter().for_each(give);
                let taken: Vec<_> = (0..10).map(|_| take(others)).collect();
                let count = taken.iter().filter(|memory| memory[0] == 7).count();
                given.truncate(count);
                given.reverse();
                assert!(
                    taken[..count]
                        .iter()
                        .map(|memory| memory.as_ptr())
                        .eq(given)
                );
                count
            };
            assert_eq!(kept(1024, 1024), 4);
            assert_eq!(kept(RECORD_LEN, RECORD_LEN), 4);
            assert_eq!(kept(80 * 1024, 80 * 1024), 2);
            assert_eq!(kept(128 * 1024, 128 * 1024), 0);
            assert_eq!(kept(1000, 1000), 0);
            assert_eq!(kept(2048, 1024), 0);
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
            BEFORE.set(Some(AtExit(take(10))));
            give(take(10));
            AFTER.set(Some(AtExit(take(10))));
        });
    }
}
