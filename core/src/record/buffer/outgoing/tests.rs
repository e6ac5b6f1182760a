use alloc::collections::VecDeque;
use alloc::vec::Vec;
use alloc::{format, vec};

use proptest::prelude::*;

use super::super::moved::MOVED;
use super::super::received::tests::config;
use super::*;

#[test]
fn outgoing_bytes_keep_their_order_and_memory_is_released_when_all_are_sent() {
    let mut buffer = OutgoingBuffer::default();
    assert!(buffer.is_empty() && buffer.pending().is_empty());
    buffer.append(b"hello ");
    let room = buffer.room(5);
    assert_eq!(room.len(), 5);
    room.copy_from_slice(b"world");
    assert_eq!(buffer.pending(), b"hello ", "not committed yet");
    buffer.commit(3);
    assert_eq!(buffer.pending(), b"hello wor");
    buffer.consume(4);
    assert_eq!((buffer.len(), buffer.pending()), (5, &b"o wor"[..]));
    assert!(!buffer.last.memory.is_empty());
    buffer.consume(6);
    assert!(buffer.is_empty() && buffer.last.memory.is_empty());

    // unused room does not hold memory
    assert_eq!(buffer.room(100).len(), 100);
    buffer.commit(0);
    assert!(buffer.last.memory.is_empty());
    buffer.append(b"");
    assert!(buffer.last.memory.is_empty());
}

#[test]
fn an_outgoing_buffer_moves_bytes_before_it_grows() {
    let mut buffer = OutgoingBuffer::default();
    buffer.append(&[1; 1000]);
    let len = buffer.last.memory.len();
    buffer.consume(600);
    buffer.append(&[2; 500]);
    assert_eq!(buffer.last.memory.len(), len);
    assert_eq!(buffer.pending(), [vec![1; 400], vec![2; 500]].concat());
    buffer.append(&[3; 2000]);
    assert!(buffer.last.memory.len() >= 2900);
    assert_eq!(buffer.pending()[900..], [3; 2000]);
}

/// Adopted memory that is full has room at its front once a part is sent.
#[test]
fn nothing_is_added_to_adopted_memory() {
    let (receiver, sender) = (Owner::new(), Owner::new());
    let mut memory = pool::take(256, receiver);
    memory.write(0, &[1; 256]);
    let mut buffer = OutgoingBuffer::new(sender);
    buffer.adopt(SealedRecords {
        memory,
        range: 0..256,
        owner: receiver,
    });
    buffer.consume(200);
    buffer.append(&[2; 50]);
    let pieces: Vec<_> = buffer.pieces().collect();
    assert_eq!(pieces, [&[1; 56][..], &[2; 50]]);
}

/// Holds for any amount of unsent output, and any size of a single send.
#[test]
#[cfg_attr(miri, ignore = "many megabytes")]
fn outgoing_bytes_are_moved_at_most_a_few_times() {
    for waiting in [100, 5_000, 64 * 1024, (1 << 20) - 5_000, 1 << 20] {
        for piece in [100, 4096] {
            let mut buffer = OutgoingBuffer::default();
            buffer.append(&vec![1; waiting]);
            MOVED.set(0);
            let rounds = 10 * (1 << 20) / piece;
            for _ in 0..rounds {
                buffer.append(&vec![2; piece]);
                buffer.consume(piece);
            }
            // plus the moves while the memory grows until moving pays off
            let most = 4 * rounds * piece + 4 * (waiting + piece);
            assert!(MOVED.get() <= most, "{} bytes of {most}", MOVED.get());
            let len = buffer.last.memory.len();
            assert!(
                len <= 3 * (waiting + piece) + 1024,
                "{len} bytes for {waiting} unsent"
            );
        }
    }
    // the same if the output is written bit by bit
    let mut buffer = OutgoingBuffer::default();
    MOVED.set(0);
    for _ in 0..(1 << 20) / 100 {
        buffer.append(&[3; 100]);
    }
    assert!(MOVED.get() <= 2 << 20, "{} bytes", MOVED.get());
}

#[test]
fn debug_shows_only_lengths() {
    let mut buffer = OutgoingBuffer::default();
    buffer.append(b"secret");
    buffer.consume(1);
    assert_eq!(
        format!("{buffer:?}"),
        "OutgoingBuffer { len: 5, memory_len: 256 }"
    );
}

/// Tests any length of the memory block from which most of the output was sent.
#[test]
fn a_little_output_occupies_a_short_buffer() {
    let owner = Owner::new();
    // the pool has longer memory blocks
    for len in [1000, 17_000, 65_000] {
        let mut other = OutgoingBuffer::new(owner);
        other.append(&vec![1; len]);
    }
    let mut buffer = OutgoingBuffer::new(owner);
    buffer.append(&[2; 38]);
    assert_eq!(buffer.last.memory.len(), 256);
    buffer.append(&vec![2; 65_000]);
    buffer.consume(65_000);
    assert_eq!(buffer.pending(), [2; 38]);
    assert_eq!(buffer.last.memory.len(), 256);
}

/// Returns the bytes of memory that a buffer holds.
fn memory_len(buffer: &OutgoingBuffer) -> usize {
    let queued = buffer.queue.as_deref().into_iter().flatten();
    queued
        .chain([&buffer.last])
        .map(|piece| piece.memory.len())
        .sum()
}

#[test]
#[cfg_attr(miri, ignore = "many megabytes")]
fn memory_for_unlimited_output_is_proportional_and_released() {
    for len in [100, 5000, 16_406, 24_700, 37_000, 65_624, 120_000] {
        let mut buffer = OutgoingBuffer::default();
        let count = (4 << 20) / len;
        MOVED.set(0);
        for i in 0..count {
            buffer.append(&vec![i as u8; len]);
            let most = buffer.len() + buffer.len() / 2 + MAX_POOLED_LEN;
            assert!(
                memory_len(&buffer) <= most,
                "{} for {}",
                memory_len(&buffer),
                buffer.len()
            );
        }
        assert!(
            MOVED.get() <= 4 * MAX_POOLED_LEN,
            "{} bytes moved",
            MOVED.get()
        );
        assert_eq!(buffer.len(), count * len);
        assert_eq!(buffer.pieces().map(<[u8]>::len).sum::<usize>(), count * len);
        // consume 1000 bytes at a time, across all pieces
        let mut sent = 0;
        while !buffer.is_empty() {
            let pending = buffer.pending();
            let expected = (sent / len) as u8;
            assert_eq!(pending[0], expected);
            let now = Ord::min(1000, buffer.len());
            buffer.consume(now);
            sent += now;
            let most = buffer.len() + buffer.len() / 2 + 2 * Ord::max(MAX_POOLED_LEN, len);
            assert!(
                memory_len(&buffer) <= most,
                "{} for {}",
                memory_len(&buffer),
                buffer.len()
            );
        }
        assert_eq!(sent, count * len);
        assert!(buffer.queue.is_none() && buffer.last.memory.is_empty());
    }
}

/// Fails one allocation in each run.
#[test]
fn no_data_is_lost_if_memory_runs_out() {
    for limit in (0..400_000).step_by(9_999) {
        let mut buffer = OutgoingBuffer::default();
        let mut written = 0;
        pool::limit::set(limit);
        let ended = (0..40).any(|_| match buffer.try_room(16_406) {
            Ok(room) => {
                room.fill(7);
                buffer.commit(16_406);
                written += 16_406;
                false
            }
            Err(OutOfMemory) => true,
        });
        pool::limit::set(usize::MAX);
        assert!(ended);
        assert_eq!(buffer.len(), written);
        assert_eq!(
            buffer.pieces().flatten().filter(|byte| **byte == 7).count(),
            written
        );
        // it continues when there is memory again
        buffer.append(b"more");
        buffer.consume(written);
        assert_eq!(buffer.pending(), b"more");
    }
}

/// Two lengths within the address space may have a sum beyond it.
#[test]
fn a_length_beyond_the_address_space_is_an_allocation_error() {
    let mut buffer = OutgoingBuffer::default();
    assert_eq!(buffer.try_room(usize::MAX), Err(OutOfMemory));
    for len in [1000, 100_000] {
        buffer.append(&vec![1; len]);
        for more in [usize::MAX, usize::MAX - 1000, isize::MAX as usize + 1] {
            assert_eq!(buffer.try_room(more), Err(OutOfMemory));
        }
    }
    assert_eq!(buffer.len(), 101_000);
}

/// Builds a record with `payload_len` bytes of `fill`.
fn record(payload_len: u16, fill: u8) -> Vec<u8> {
    let mut bytes = vec![23, 3, 3];
    bytes.extend(payload_len.to_be_bytes());
    bytes.resize(bytes.len() + usize::from(payload_len), fill);
    bytes
}

#[test]
fn the_only_record_is_found_even_if_partly_sent() {
    // the long ones are in two pieces
    for payload_len in [20, 60_000] {
        let [first, second] = [1, 2].map(|fill| record(payload_len, fill));
        let mut buffer = OutgoingBuffer::default();
        buffer.append(&first);
        assert_eq!(buffer.only_record(), Some(&first[..]));
        buffer.consume(7);
        assert_eq!(buffer.only_record(), Some(&first[7..]));
        buffer.append(&second);
        assert_eq!(buffer.only_record(), None);
        buffer.consume(first.len() - 7);
        assert_eq!(buffer.only_record(), Some(&second[..]));
    }
}

#[test]
fn one_call_can_consume_all_pieces() {
    for dropped in [210_000, 210_001, usize::MAX] {
        let mut buffer = OutgoingBuffer::default();
        for _ in 0..3 {
            buffer.append(&[1; 70_000]);
        }
        assert!(buffer.queue.is_some());
        buffer.consume(dropped);
        assert!(buffer.is_empty() && buffer.pieces().next().is_none());
        assert_eq!(memory_len(&buffer), 0);
        buffer.append(b"more");
        assert_eq!(buffer.pending(), b"more");
    }
}

#[cfg(feature = "std")]
#[test]
fn room_contains_no_bytes_of_another_connection() {
    let on_one_thread = || {
        for len in [100, 5000, 16_406, 65_000, 100_000] {
            for fill in 1..20 {
                let mut buffer = OutgoingBuffer::new(Owner::new());
                for len in [len, 300] {
                    let room = buffer.room(len);
                    assert!(room.iter().all(|byte| *byte == 0 || *byte == fill));
                    room.fill(fill);
                    buffer.commit(len);
                }
                buffer.consume(len / 2);
                assert!(buffer.pieces().flatten().all(|byte| *byte == fill));
            }
        }
    };
    std::thread::spawn(on_one_thread).join().unwrap();
}

#[test]
fn an_unused_new_piece_does_not_change_the_others() {
    let records = [1, 2, 3].map(|fill| record(60_000, fill));
    for count in 1..=3 {
        let mut buffer = OutgoingBuffer::default();
        for record in &records[..count] {
            buffer.append(record);
        }
        // the first record is partly sent
        buffer.consume(7);
        buffer.room(20_000);
        buffer.commit(0);
        let unsent = records[..count].concat().split_off(7);
        assert_eq!(buffer.pieces().collect::<Vec<_>>().concat(), unsent);
        assert_eq!(buffer.len(), unsent.len());
        assert!(buffer.records().eq([&records[0][7..]]));
        buffer.append(b"more");
        let expected = [&unsent[..], b"more"].concat();
        assert_eq!(buffer.pieces().collect::<Vec<_>>().concat(), expected);
    }
}

#[test]
fn an_unused_new_piece_is_released() {
    let mut buffer = OutgoingBuffer::default();
    buffer.append(&[1; 70_000]);
    assert!(buffer.queue.is_none());
    buffer.room(20_000);
    assert!(buffer.queue.is_some() && !buffer.is_empty());
    buffer.commit(0);
    assert!(buffer.queue.is_none());
    assert_eq!(buffer.pending(), [1; 70_000]);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn outgoing_bytes_are_neither_lost_nor_reordered(
        steps in prop::collection::vec((0..3_u8, 0..30_000_usize), 0..100),
    ) {
        let mut buffer = OutgoingBuffer::default();
        let mut model = VecDeque::new();
        for (i, (kind, len)) in steps.into_iter().enumerate() {
            let bytes = vec![i as u8; len];
            match kind {
                0 => {
                    buffer.append(&bytes);
                    model.extend(bytes);
                }
                1 => {
                    let room = buffer.room(len);
                    prop_assert_eq!(room.len(), len);
                    room.copy_from_slice(&bytes);
                    buffer.commit(len / 2);
                    model.extend(&bytes[..len / 2]);
                }
                _ => {
                    buffer.consume(len);
                    model.drain(..Ord::min(len, model.len()));
                }
            }
            let pending: Vec<_> = buffer.pieces().flatten().copied().collect();
            prop_assert_eq!(pending, model.make_contiguous());
            prop_assert_eq!(buffer.len(), model.len());
            prop_assert_eq!(buffer.is_empty(), model.is_empty());
            prop_assert_eq!(buffer.last.memory.is_empty(), model.is_empty());
        }
    }
}
