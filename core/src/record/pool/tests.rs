use core::cell::RefCell;

use super::*;

/// Runs `test` on a thread with a new pool.
fn on_a_new_thread(test: impl FnOnce() + Send + 'static) {
    std::thread::spawn(test).join().unwrap();
}

/// Takes a buffer for `owner` and fills it with `fill`.
fn take_filled(len: usize, owner: Owner, fill: u8) -> Memory {
    let mut memory = take(len, owner);
    memory.expose(len);
    memory[..len].fill(fill);
    memory
}

fn put_all_back(memories: impl IntoIterator<Item = Memory>, owner: Owner) {
    for memory in memories {
        put_back(memory, owner);
    }
}

#[test]
fn the_buffer_that_was_returned_last_is_taken_first() {
    on_a_new_thread(|| {
        let owner = Owner::new();
        let memories = [1000, 1024, 257].map(|len| take(len, owner));
        let addresses = memories.each_ref().map(|memory| memory.as_ptr());
        put_all_back(memories, owner);
        let again = [(); 3].map(|()| take(500, owner));
        let again = again.each_ref().map(|memory| memory.as_ptr());
        assert!(again.iter().eq(addresses.iter().rev()));
    });
}

#[test]
fn buffers_are_no_longer_than_needed() {
    on_a_new_thread(|| {
        let owner = Owner::new();
        for len in LENS.into_iter().rev() {
            put_back(take(len, owner), owner);
        }
        for (len, taken) in [
            (0, 256),
            (1, 256),
            (257, 1024),
            (1025, 2048),
            (8193, 12 * 1024),
            (12_289, RECORD_LEN),
            (RECORD_LEN, RECORD_LEN),
            (RECORD_LEN + 1, 2 * RECORD_LEN),
            (66_000, 72 * 1024),
            (72 * 1024 + 1, 72 * 1024 + 1),
            (1_000_000, 1_000_000),
        ] {
            assert_eq!(take(len, owner).len(), taken, "{len}");
        }
    });
}

#[test]
fn output_pieces_are_not_much_longer_than_needed() {
    on_a_new_thread(|| {
        let owner = Owner::new();
        for (len, taken) in [
            (1, 256),
            (1025, 2048),
            (2 * RECORD_LEN, 2 * RECORD_LEN),
            // more than half the maximum, so that it is not mistaken for a pooled buffer
            (2 * RECORD_LEN + 1, 36 * 1024 + 1),
            (50_000, 50_000),
            (MAX_POOLED_LEN / 5 * 4 - 1, MAX_POOLED_LEN / 5 * 4 - 1),
            (MAX_POOLED_LEN / 5 * 4, MAX_POOLED_LEN),
            (MAX_POOLED_LEN, MAX_POOLED_LEN),
            (MAX_POOLED_LEN + 1, MAX_POOLED_LEN + 1),
        ] {
            let memory = try_take_close(len, owner).unwrap();
            assert_eq!(memory.len(), taken, "{len}");
        }
    });
}

#[test]
fn an_impossible_length_is_an_error() {
    assert!(try_take(usize::MAX, Owner::default()).is_err());
    assert!(try_take_close(usize::MAX, Owner::default()).is_err());
}

/// Takes `count` buffers of `len` bytes and gives them back. Returns the number of bytes that the
/// pool keeps.
fn kept(len: usize, count: usize) -> usize {
    let owner = Owner::new();
    let memories: Vec<_> = (0..count).map(|_| take_filled(len, owner, 7)).collect();
    put_all_back(memories, owner);
    let taken: Vec<_> = (0..count).map(|_| take(len, owner)).collect();
    let kept = taken.iter().filter(|memory| memory[0] == 7);
    kept.map(|memory| memory.len()).sum()
}

#[test]
fn the_pool_keeps_few_buffers_of_a_length() {
    for (len, expected) in [
        (256, 5 * 256),
        (1024, 5 * 1024),
        (RECORD_LEN, 5 * RECORD_LEN),
        (2 * RECORD_LEN, 3 * 2 * RECORD_LEN),
        (72 * 1024, 2 * 72 * 1024),
        (128 * 1024, 0),
    ] {
        on_a_new_thread(move || assert_eq!(kept(len, 10), expected, "{len}"));
    }
}

/// Holds for any lengths that a thread has used. The most recently used buffers stay.
#[test]
fn the_pool_keeps_no_more_than_its_budget() {
    on_a_new_thread(|| {
        let owner = Owner::new();
        for _ in 0..3 {
            for len in LENS.into_iter().chain(LENS.into_iter().rev()) {
                let memories: Vec<_> = (0..6).map(|_| take_filled(len, owner, 7)).collect();
                put_all_back(memories, owner);
                assert!(
                    threads::pooled_len() <= 160 * 1024,
                    "{} bytes",
                    threads::pooled_len()
                );
            }
        }
        // the buffers of one connection in both directions, and those of another connection
        for len in [MAX_POOLED_LEN, RECORD_LEN] {
            put_back(take_filled(len, owner, 7), owner);
        }
        for len in &LENS[..5] {
            put_back(take(*len, owner), owner);
        }
        let again = [MAX_POOLED_LEN, RECORD_LEN].map(|len| take(len, owner));
        for memory in again {
            assert_eq!(memory[0], 7);
            put_back(memory, owner);
        }
    });
}

/// A long buffer comes back while there are enough of all shorter lengths.
#[test]
fn a_long_buffer_that_returns_late_respects_the_budget() {
    on_a_new_thread(|| {
        let owner = Owner::new();
        let long = take(MAX_POOLED_LEN, owner);
        for len in [RECORD_LEN, 1 << 13, 1 << 12, 1 << 8] {
            let memories: Vec<_> = (0..5).map(|_| take(len, owner)).collect();
            put_all_back(memories, owner);
        }
        put_back(long, owner);
        assert!(
            threads::pooled_len() <= 160 * 1024,
            "{} bytes",
            threads::pooled_len()
        );
    });
}

#[test]
fn connections_that_take_turns_each_have_a_buffer() {
    on_a_new_thread(|| {
        let owners = [(); 2].map(|()| Owner::new());
        let mut addresses = Vec::new();
        for owner in owners {
            let memory = take_filled(RECORD_LEN, owner, 1);
            addresses.push(memory.as_ptr());
            put_back(memory, owner);
        }
        assert_ne!(addresses[0], addresses[1]);
        for _ in 0..4 {
            for (owner, address) in owners.iter().zip(&addresses) {
                let memory = take(RECORD_LEN, *owner);
                assert_eq!(memory.as_ptr(), *address);
                assert_eq!(memory.exposed as usize, RECORD_LEN, "its own bytes");
                put_back(memory, *owner);
            }
        }
        // a third connection gets the buffer that has been unused for longest
        let memory = take(RECORD_LEN, Owner::new());
        assert_eq!(memory.as_ptr(), addresses[0]);
    });
}

/// Otherwise, every other connection would cost an allocation.
#[test]
fn a_second_buffer_of_a_length_is_allocated_once_if_the_budget_allows() {
    on_a_new_thread(|| {
        let [first, second, third] = [(); 3].map(|()| Owner::new());
        let memory = take(1000, first);
        let address = memory.as_ptr();
        put_back(memory, first);
        let of_second = take(1000, second);
        assert_ne!(of_second.as_ptr(), address);
        assert_eq!(take(1000, third).as_ptr(), address);
    });
    // there are two already
    on_a_new_thread(|| {
        let first = Owner::new();
        let memories = [(); 2].map(|()| take(1000, first));
        let addresses = memories.each_ref().map(|memory| memory.as_ptr());
        put_all_back(memories, first);
        assert_eq!(take(1000, Owner::new()).as_ptr(), addresses[0]);
    });
    // the budget has no room for three of them
    on_a_new_thread(|| {
        let first = Owner::new();
        let memories = [(); 2].map(|()| take(MAX_POOLED_LEN, first));
        let addresses = memories.each_ref().map(|memory| memory.as_ptr());
        put_all_back(memories, first);
        let third = take(MAX_POOLED_LEN, Owner::new());
        assert!(addresses.contains(&third.as_ptr()));
    });
}

#[test]
fn each_connection_finds_its_buffer_among_others() {
    on_a_new_thread(|| {
        let owners = [(); 4].map(|()| Owner::new());
        let memories = owners.map(|owner| take(1000, owner));
        let addresses = memories.each_ref().map(|memory| memory.as_ptr());
        for (memory, owner) in memories.into_iter().zip(owners) {
            put_back(memory, owner);
        }
        // none of them is the newest
        put_back(take(1 << 13, owners[0]), owners[0]);
        for index in [1, 0, 2, 3] {
            let memory = take(1000, owners[index]);
            assert_eq!(memory.as_ptr(), addresses[index], "connection {index}");
        }
    });
}

#[test]
fn a_taken_buffer_is_no_longer_in_the_pool() {
    on_a_new_thread(|| {
        let owner = Owner::new();
        put_back(take(1000, owner), owner);
        assert_eq!(threads::pooled_len(), 1024);
        let _taken = take(1000, owner);
        assert_eq!(threads::pooled_len(), 0);
    });
}

#[test]
fn a_buffer_returned_to_a_full_size_class_is_reused_first() {
    on_a_new_thread(|| {
        let owner = Owner::new();
        let memories: Vec<_> = (0..5).map(|_| take(256, owner)).collect();
        let address = memories[4].as_ptr();
        let mut memories = memories.into_iter();
        put_all_back(memories.by_ref().take(4), owner);
        put_back(take(1024, owner), owner);
        put_all_back(memories, owner);
        assert_eq!(take(256, owner).as_ptr(), address);
    });
}

/// This holds for any order of lengths and connections.
#[test]
#[cfg_attr(miri, ignore = "many steps")]
fn no_sequence_of_steps_exceeds_the_budget() {
    on_a_new_thread(|| {
        let owners = [(); 3].map(|()| Owner::new());
        let mut held: Vec<Memory> = Vec::new();
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let random = (state >> 33) as usize;
            let owner = owners[random % 3];
            if held.len() == 12 || random % 7 < 3 && !held.is_empty() {
                put_back(held.swap_remove(random / 21 % held.len()), owner);
            } else {
                held.push(take(LENS[random / 21 % LENS.len()], owner));
            }
            let pooled = threads::pooled_len();
            assert!(pooled <= BUDGET, "{pooled} bytes");
        }
    });
}

/// Clears only the bytes that the new owner can see.
#[test]
fn stale_bytes_of_another_connection_are_cleared() {
    on_a_new_thread(|| {
        let [first, second] = [(); 2].map(|()| Owner::new());
        for _ in 0..4 {
            put_back(take(1000, Owner::new()), first);
        }
        let memories = [(); 4].map(|()| take_filled(1000, first, 7));
        put_all_back(memories, first);

        let mut memory = take(1000, second);
        assert_eq!(memory[..1000], [7; 1000]);
        memory.expose(10);
        assert_eq!(memory[..10], [0; 10]);
        memory[..10].fill(8);
        // the rest still holds the other connection's bytes
        put_back(memory, second);
        let mut memory = take(1000, second);
        assert_eq!(memory[..10], [8; 10]);
        memory.expose(20);
        assert_eq!(memory[..20], [[8; 10], [0; 10]].concat());
        memory.write(20, &[9; 10]);
        memory.expose(1000);
        assert_eq!(memory[..30], [[8; 10], [0; 10], [9; 10]].concat());
        assert_eq!(memory[30..], [0; 994]);
        put_back(memory, second);

        // bytes in front of what is written are cleared as well
        let mut memory = take(1000, second);
        memory.change_owner();
        memory.write(20, &[9; 10]);
        assert_eq!(memory[..30], [[0; 20].as_slice(), &[9; 10]].concat());
        put_back(memory, second);

        // and back again
        let mut memory = take(1000, second);
        memory.change_owner();
        memory.expose(1024);
        assert_eq!(memory[..], [0; 1024]);
    });
}

/// The allocator can then return the memory of the other buffers to the system.
#[test]
fn the_first_buffers_of_a_burst_stay_in_the_pool() {
    on_a_new_thread(|| {
        let owner = Owner::new();
        let burst = |count| (0..count).map(|i| take([256, 1024][i % 2], owner));
        let memories: Vec<_> = burst(20).collect();
        let first: Vec<_> = memories[..8].iter().map(|memory| memory.as_ptr()).collect();
        put_all_back(memories, owner);
        // the last one of the burst is still the newest
        let kept: Vec<_> = burst(10).collect();
        let kept: Vec<_> = kept.iter().map(|memory| memory.as_ptr()).collect();
        assert!(first.iter().all(|address| kept.contains(address)));
    });
}

/// The pool frees the returned memory instead of the previous newest, which keeps its owner.
#[test]
fn a_full_pool_still_clears_stale_bytes() {
    on_a_new_thread(|| {
        let [first, second] = [(); 2].map(|()| Owner::new());
        let of_first = [(); 5].map(|()| take_filled(1000, first, 7));
        let of_second = take_filled(1000, second, 8);
        put_all_back(of_first, first);
        put_back(of_second, second);
        let mut memory = take(1000, second);
        memory.expose(1000);
        assert_eq!(memory[..1000], [0; 1000]);
    });
}

#[test]
fn memory_of_the_default_owner_is_cleared_each_time() {
    on_a_new_thread(|| {
        let nobody = Owner::default();
        for _ in 0..20 {
            let mut memory = take(RECORD_LEN, nobody);
            memory.expose(RECORD_LEN);
            assert!(memory.iter().all(|byte| *byte == 0));
            memory.fill(7);
            put_back(memory, nobody);
        }
    });
}

#[test]
fn buffers_can_outlive_the_pool() {
    struct AtExit(Memory);

    impl Drop for AtExit {
        fn drop(&mut self) {
            put_back(core::mem::take(&mut self.0), Owner::default());
            drop(take(10, Owner::default()));
        }
    }

    std::thread_local! {
        static BEFORE: RefCell<Option<AtExit>> = const { RefCell::new(None) };
        static AFTER: RefCell<Option<AtExit>> = const { RefCell::new(None) };
    }

    // one of the two is dropped after the pool; which one depends on the platform
    on_a_new_thread(|| {
        BEFORE.set(Some(AtExit(take(10, Owner::default()))));
        put_back(take(10, Owner::default()), Owner::default());
        AFTER.set(Some(AtExit(take(10, Owner::default()))));
    });
}
