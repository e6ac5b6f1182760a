use alloc::collections::VecDeque;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::convert::Infallible;

use proptest::prelude::*;

use super::super::OutgoingBuffer;
use super::super::moved::MOVED;
use super::*;
use crate::record::MAX_FRAGMENT_LEN;

/// Builds a received record: a header and `payload_len` bytes of `fill`.
fn record(payload_len: usize, fill: u8) -> Vec<u8> {
    let mut bytes = vec![fill; HEADER_LEN + payload_len];
    bytes[..3].copy_from_slice(&[23, 3, 3]);
    bytes[3..HEADER_LEN].copy_from_slice(&(payload_len as u16).to_be_bytes());
    bytes
}

/// Lets `buffer` read from the front of `bytes` once. Returns the number of bytes read.
fn receive_once(buffer: &mut ReceiveBuffer, bytes: &[u8]) -> usize {
    let read = buffer.receive(|room| {
        let len = Ord::min(room.len(), bytes.len());
        room[..len].copy_from_slice(&bytes[..len]);
        Ok::<_, Infallible>(len)
    });
    read.unwrap()
}

/// Returns the length of the room that `buffer` offers.
fn room_len(buffer: &mut ReceiveBuffer) -> usize {
    let mut len = 0;
    let _ = buffer.receive(|room| {
        len = room.len();
        Err(())
    });
    len
}

/// Receives all of `bytes`, with as many reads as needed.
fn receive(buffer: &mut ReceiveBuffer, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let len = receive_once(buffer, bytes);
        bytes = &bytes[len..];
    }
}

#[test]
#[cfg_attr(miri, ignore = "many megabytes")]
fn received_bytes_are_moved_at_most_a_few_times() {
    for payload_len in [20, 100, 1000, 16401] {
        let mut buffer = ReceiveBuffer::default();
        buffer.park();
        let record = record(payload_len, 1);
        let mut opened = VecDeque::new();
        let (mut received, mut kept) = (0, 0);
        MOVED.set(0);
        // 15 kB of plaintext are always unread
        while received < 10 << 20 {
            receive(&mut buffer, &record);
            received += record.len();
            buffer.keep(record.len(), HEADER_LEN..record.len() - 17);
            kept += payload_len - 17;
            opened.push_back(payload_len - 17);
            while kept > 15_000 {
                let len = opened.pop_front().unwrap();
                buffer.consume(len);
                kept -= len;
            }
        }
        assert!(
            MOVED.get() <= 4 * received + 100_000,
            "{} bytes",
            MOVED.get()
        );
    }
}

#[test]
#[cfg_attr(miri, ignore = "many megabytes")]
fn padding_does_not_take_memory() {
    let mut padded = record(MAX_FRAGMENT_LEN + 17, 0);
    padded[HEADER_LEN] = b'x';
    let mut buffer = ReceiveBuffer::default();
    buffer.park();
    MOVED.set(0);
    for count in 1..=16 * 1024 {
        receive(&mut buffer, &padded);
        buffer.keep(padded.len(), HEADER_LEN..HEADER_LEN + 1);
        assert_eq!(buffer.unread(), count);
        assert!(buffer.memory.len() <= 64 * 1024, "after {count}");
    }
    let received = 16 * 1024 * padded.len();
    assert!(MOVED.get() <= 4 * received, "{} bytes moved", MOVED.get());
    let mut out = vec![0; 16 * 1024];
    assert_eq!(buffer.read(&mut out), out.len());
    assert!(out.iter().all(|byte| *byte == b'x'));
    assert!(buffer.memory.is_empty());
}

/// The length field of a marker has only two bytes.
#[test]
fn unread_plaintext_may_be_longer_than_one_record() {
    let mut buffer = ReceiveBuffer::default();
    let mut expected = Vec::new();
    for i in 0..300_u32 {
        let record = record(1000, i as u8);
        receive(&mut buffer, &record);
        buffer.keep(
            record.len(),
            HEADER_LEN + 8..record.len() - 100 - i as usize,
        );
        expected.extend_from_slice(&record[HEADER_LEN + 8..record.len() - 100 - i as usize]);
    }
    let mut out = vec![0; expected.len() + 1];
    assert_eq!(buffer.read(&mut out), expected.len());
    assert_eq!(out[..expected.len()], expected);
}

/// After a read that does not fill the room, no more is expected for a while.
#[test]
fn memory_for_a_partial_record_is_proportional_to_the_received_bytes() {
    let bytes = record(16401, 7);
    for read in [1, 4, 5, 100, 256, 257, 4000, 4097, 9000, 16000] {
        let mut buffer = ReceiveBuffer::default();
        // pretend that long records have arrived before
        buffer.expected = (bytes.len() + HEADER_LEN) as u16;
        receive(&mut buffer, &bytes[..read]);
        buffer.park();
        let len = match pool::fitting_len(read) {
            12_288 => RECORD_LEN,
            len => len,
        };
        assert_eq!(buffer.memory.len(), len);
        assert_eq!(buffer.unopened(), &bytes[..read]);
        // a read that returns no bytes keeps no memory
        let room = room_len(&mut buffer);
        assert!(
            room >= Ord::min(READ_LEN, bytes.len() - read),
            "{room} bytes of room"
        );
        assert_eq!(buffer.memory.len(), len);

        receive(&mut buffer, &bytes[read..]);
        assert_eq!(buffer.unopened(), bytes);
        buffer.keep(bytes.len(), HEADER_LEN..HEADER_LEN + 16384);
        buffer.park();
        buffer.consume(16384);
        assert!(buffer.memory.is_empty());
    }
    // the same after the plaintext before it has been read
    let mut buffer = ReceiveBuffer::default();
    receive(&mut buffer, &record(16401, 7));
    receive(&mut buffer, &record(90, 8)[..50]);
    buffer.keep(5 + 16401, HEADER_LEN..HEADER_LEN + 16384);
    buffer.park();
    assert!(buffer.memory.len() >= RECORD_LEN);
    buffer.consume(15_000);
    assert!(buffer.memory.len() >= RECORD_LEN);
    // only a little is left
    buffer.consume(1383);
    assert_eq!((buffer.chunk(), buffer.memory.len()), (&[7][..], 256));
    buffer.consume(1);
    assert_eq!(buffer.memory.len(), 256);
    assert_eq!(buffer.unopened(), &record(90, 8)[..50]);
}

/// The peer sends single bytes.
#[test]
fn a_record_received_byte_by_byte_is_moved_at_most_three_times() {
    let bytes = record(16401, 7);
    let mut buffer = ReceiveBuffer::default();
    let mut longest = 0;
    MOVED.set(0);
    for (count, byte) in bytes.iter().enumerate() {
        assert_eq!(receive_once(&mut buffer, &[*byte]), 1);
        buffer.park();
        longest = Ord::max(longest, buffer.memory.len());
        assert!(buffer.memory.len() <= Ord::max(256, 4 * count));
    }
    assert_eq!(buffer.unopened(), bytes);
    assert_eq!(longest, RECORD_LEN);
    assert!(MOVED.get() <= 3 * bytes.len(), "{} bytes", MOVED.get());
}

/// While reads are filled, received bytes are not moved.
#[test]
fn a_record_received_at_once_is_not_moved() {
    let bytes = record(16401, 7);
    let mut buffer = ReceiveBuffer::default();
    for round in 0..10 {
        MOVED.set(0);
        let mut rest = &bytes[..];
        let mut reads = 0;
        while !rest.is_empty() {
            rest = &rest[receive_once(&mut buffer, rest)..];
            buffer.park();
            reads += 1;
        }
        buffer.keep(bytes.len(), HEADER_LEN..HEADER_LEN + 16384);
        buffer.park();
        assert_eq!(buffer.memory.len(), RECORD_LEN);
        buffer.consume(16384);
        // the first long record moves from a short memory block to a long one
        let (most_reads, most_moved) = if round == 0 { (2, READ_LEN) } else { (1, 0) };
        assert!(reads <= most_reads && MOVED.get() <= most_moved, "{round}");
    }
}

/// Uses buffers of all lengths, with all connections on one thread.
#[cfg(feature = "std")]
#[test]
fn a_reader_sees_no_bytes_of_another_connection() {
    let on_one_thread = || {
        for part in [10, 300, 5000, 16_400] {
            for fill in 1..20 {
                let mut buffer = ReceiveBuffer::new(Owner::new());
                let bytes = record(16_401, fill);
                let (first, last) = bytes.split_at(part);
                for mut rest in [first, last] {
                    while !rest.is_empty() {
                        let read = buffer.receive(|room| {
                            assert!(room.iter().all(|byte| *byte == 0 || *byte == fill));
                            let len = Ord::min(room.len(), rest.len());
                            room[..len].copy_from_slice(&rest[..len]);
                            Ok::<_, Infallible>(len)
                        });
                        rest = &rest[read.unwrap()..];
                        buffer.park();
                    }
                }
                assert_eq!(buffer.unopened(), bytes);
            }
        }
    };
    std::thread::spawn(on_one_thread).join().unwrap();
}

/// A short record follows long ones.
#[test]
fn memory_for_unread_plaintext_is_proportional_to_its_length() {
    let mut buffer = ReceiveBuffer::default();
    for long in [16401, 8000, 5000] {
        for len in [18, 1017, 4091, 5000, 9000, 16401] {
            let long = record(long, 1);
            receive(&mut buffer, &long);
            buffer.keep(long.len(), HEADER_LEN..long.len() - 17);
            buffer.consume(usize::MAX);
            let short = record(len, 2);
            receive(&mut buffer, &short);
            buffer.keep(short.len(), HEADER_LEN..short.len() - 17);
            buffer.park();
            let most = Ord::max(READ_LEN, pool::fitting_len(short.len() + HEADER_LEN));
            assert!(
                buffer.memory.len() <= most,
                "{} for {len}",
                buffer.memory.len()
            );
            assert_eq!(buffer.chunk(), vec![2; len - 17]);
            buffer.consume(usize::MAX);
            assert!(buffer.memory.is_empty());
        }
    }
}

#[test]
fn debug_shows_only_lengths() {
    let mut buffer = ReceiveBuffer::default();
    receive(&mut buffer, &[record(10, 207), record(20, 208)].concat());
    buffer.keep(15, 5..9);
    let memory_len = READ_LEN;
    assert_eq!(
        format!("{buffer:?}"),
        format!("ReceiveBuffer {{ unread: 4, unopened: 25, memory_len: {memory_len} }}")
    );
}

#[cfg(feature = "std")]
#[test]
fn no_memory_is_allocated_in_steady_state() {
    let in_steady_state = || {
        let owner = Owner::new();
        let mut outgoing = OutgoingBuffer::new(owner);
        let mut received = ReceiveBuffer::new(owner);
        let record = record(16401, 7);
        // high enough for every allocation, which it counts
        const LIMIT: usize = usize::MAX - 1;
        for round in 0..20 {
            if round == 5 {
                pool::limit::set(LIMIT);
            }
            // sent: one record at a time, then four at once
            outgoing.append(&record);
            outgoing.consume(record.len());
            for _ in 0..4 {
                outgoing.append(&record);
            }
            outgoing.consume(4 * record.len());

            receive(&mut received, &record);
            received.keep(record.len(), HEADER_LEN..HEADER_LEN + 16384);
            receive(&mut received, &record[..4]);
            received.consume(16384);
            receive(&mut received, &record[4..]);
            received.discard(record.len());
            assert!(outgoing.is_empty() && received.memory.is_empty());
        }
        assert_eq!(pool::limit::left(), LIMIT);
    };
    std::thread::spawn(in_steady_state).join().unwrap();
}

#[test]
fn there_is_room_to_receive_one_record_and_an_alert() {
    let mut buffer = ReceiveBuffer::default();
    assert_eq!(room_len(&mut buffer), READ_LEN);
    receive(&mut buffer, &record(16401, 7)[..4]);
    assert_eq!(room_len(&mut buffer), READ_LEN, "no whole header yet");
    receive(&mut buffer, &record(16401, 7)[4..100]);
    assert_eq!(
        room_len(&mut buffer),
        HEADER_LEN + 16401 - 100 + HEADER_LEN + GCM_ALERT_LEN
    );
    receive(&mut buffer, &record(16401, 7)[100..]);
    assert_eq!(room_len(&mut buffer), READ_LEN, "a whole record is there");
    // a record of the maximum length fits
    buffer.discard(HEADER_LEN + 16401);
    let longest = record(MAX_WIRE_PAYLOAD_LEN, 9);
    let (most, last) = longest.split_at(longest.len() - 1);
    receive(&mut buffer, most);
    assert!(!buffer.is_full());
    receive(&mut buffer, last);
    assert_eq!(buffer.unopened(), longest);
    assert!(buffer.is_full());
    buffer.keep(longest.len(), HEADER_LEN..longest.len());
    assert!(!buffer.is_full(), "opened records do not count");
}

/// Reads as much of `stream` as there is room for, and opens and consumes all records in it.
/// Returns the numbers of bytes read and moved.
fn one_read(buffer: &mut ReceiveBuffer, stream: &mut &[u8]) -> (usize, usize) {
    MOVED.set(0);
    let now = receive_once(buffer, stream);
    *stream = &stream[now..];
    while let Some((header, rest)) = buffer.unopened().split_first_chunk::<HEADER_LEN>() {
        let payload_len = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if rest.len() < payload_len {
            break;
        }
        buffer.keep(
            HEADER_LEN + payload_len,
            HEADER_LEN..HEADER_LEN + payload_len,
        );
    }
    buffer.park();
    while buffer.unread() != 0 {
        buffer.consume(usize::MAX);
    }
    (now, MOVED.get())
}

#[test]
#[cfg_attr(miri, ignore = "many megabytes")]
fn small_records_are_read_together_and_hardly_moved() {
    for payload_len in [30, 100, 1041, 4113, 8000] {
        let record = record(payload_len, 1);
        let stream = record.repeat((1 << 20) / record.len());
        let mut stream = &stream[..];
        let mut buffer = ReceiveBuffer::default();
        let (mut reads, mut moved) = (0, 0);
        while !stream.is_empty() {
            let (read, moved_now) = one_read(&mut buffer, &mut stream);
            // the buffer adapts to the length of the records within a few reads
            if reads < 10 {
                let most = Ord::max(READ_LEN << reads, 2 * record.len());
                assert!(read <= most, "{read} bytes in read {reads}");
            } else if !stream.is_empty() {
                assert!(
                    read > MAX_AHEAD - record.len(),
                    "{read} bytes in read {reads}"
                );
                // the header of the next record moves to a memory block that fits, and back
                assert!(
                    moved_now <= 2 * HEADER_LEN,
                    "{moved_now} bytes in read {reads} of {payload_len}, {read} bytes"
                );
            }
            moved += moved_now;
            reads += 1;
        }
        assert!(
            reads <= (1 << 20) / (MAX_AHEAD - record.len()) + 10,
            "{reads} reads"
        );
        assert!(
            moved <= 4 * READ_LEN + reads * 2 * HEADER_LEN,
            "{moved} bytes moved"
        );
    }
}

/// The lengths of reads, in records, from a peer that sends long records as fast as they are read.
#[test]
#[cfg_attr(miri, ignore = "many megabytes")]
fn long_records_of_a_stream_are_read_up_to_64_kib_at_a_time() {
    for (most, payload_len, steady) in
        [(1 << 20, 16401, 4), (1 << 16, 12_000, 4), (40_000, 8400, 2)]
    {
        let record = record(payload_len, 1);
        let stream = record.repeat(40);
        let mut stream = &stream[..];
        let mut buffer = ReceiveBuffer::default();
        buffer.read_for(most);
        let mut lens = Vec::new();
        while !stream.is_empty() {
            let (read, moved) = one_read(&mut buffer, &mut stream);
            if !stream.is_empty() {
                assert!(
                    moved <= READ_LEN + 2 * (HEADER_LEN + GCM_ALERT_LEN),
                    "{moved}"
                );
            }
            lens.push(read.div_ceil(record.len()));
        }
        // the first read finds the length; each later read has room for twice as many records as
        // the one before it, if that was filled
        assert_eq!(lens[..4], [1, 1, 2, steady], "{payload_len}");
        assert_eq!(lens[5..8], [steady; 3], "{payload_len}: {lens:?}");
        assert!(buffer.memory.is_empty());
    }
}

/// A peer may send the header of each frame in a record of its own.
#[test]
fn a_short_record_is_read_together_with_the_long_one_after_it() {
    let stream = [record(26, 1), record(16401, 2)].concat().repeat(20);
    let mut stream = &stream[..];
    let mut buffer = ReceiveBuffer::default();
    let mut reads = 0;
    while !stream.is_empty() {
        let (_, moved) = one_read(&mut buffer, &mut stream);
        assert!(reads < 4 || moved <= HEADER_LEN + GCM_ALERT_LEN, "{moved}");
        reads += 1;
    }
    assert!(reads <= 24, "{reads}");

    // short records that follow are read as usual
    let stream = record(400, 3).repeat(200);
    let mut stream = &stream[..];
    one_read(&mut buffer, &mut stream);
    one_read(&mut buffer, &mut stream);
    let (read, _) = one_read(&mut buffer, &mut stream);
    assert_eq!(read % 405, 0);
}

/// Returns a buffer whose next read has room for four records of `stream`.
fn streaming(stream: &mut &[u8]) -> ReceiveBuffer {
    let mut buffer = ReceiveBuffer::default();
    buffer.read_for(1 << 16);
    for _ in 0..4 {
        one_read(&mut buffer, stream);
    }
    buffer
}

#[test]
fn a_reader_with_little_room_does_not_shorten_the_reads_of_the_next() {
    let stream = record(16401, 1).repeat(20);
    let mut stream = &stream[..];
    let mut buffer = streaming(&mut stream);
    for (room, records) in [(16_383, 1), (1 << 15, 2), (1 << 16, 4)] {
        buffer.read_for(room);
        let (read, _) = one_read(&mut buffer, &mut stream);
        assert_eq!(read.div_ceil(16406), records);
    }
}

#[test]
fn a_short_read_ends_the_long_reads() {
    let stream = record(16401, 1).repeat(12);
    let mut stream = &stream[..];
    let mut buffer = streaming(&mut stream);
    assert!(room_len(&mut buffer) > 60_000);
    // half a record arrives, and then the rest
    let (half, mut rest) = stream.split_at(8000);
    one_read(&mut buffer, &mut &half[..]);
    assert!(room_len(&mut buffer) < 10_000);
    one_read(&mut buffer, &mut rest);
    assert!(room_len(&mut buffer) < 2 * RECORD_LEN + GCM_ALERT_LEN);
}

/// Unread plaintext and a long read share one memory block of the pool.
#[test]
fn long_reads_leave_room_for_unread_plaintext() {
    let long = record(16401, 1);
    let stream = long.repeat(12);
    let mut stream = &stream[..];
    let mut buffer = streaming(&mut stream);
    for _ in 0..3 {
        let read = receive_once(&mut buffer, stream);
        stream = &stream[read..];
        while buffer.unopened().len() >= long.len() {
            buffer.keep(long.len(), HEADER_LEN..HEADER_LEN + 16384);
        }
        buffer.park();
        assert!(buffer.memory.len() <= MAX_POOLED_LEN);
        // the application reads all but one record
        while buffer.unread() > 16384 {
            buffer.consume(buffer.unread() - 16384);
        }
    }
}

#[test]
fn plaintext_of_discarded_records_can_be_put_back() {
    for lens in [
        &[1][..],
        &[16_384],
        &[16_384, 16_384, 16_384, 7],
        &[100; 20],
    ] {
        let mut buffer = ReceiveBuffer::default();
        let plaintext: Vec<u8> = (0..lens.iter().sum()).map(|at| (at % 251) as u8).collect();
        for len in lens {
            receive(&mut buffer, &record(len + 17, 0));
        }
        receive(&mut buffer, &record(30, 9));
        receive(&mut buffer, &record(50, 1)[..20]);
        for len in lens {
            buffer.discard(HEADER_LEN + len + 17);
        }
        // a record after them is opened in place
        buffer.keep(HEADER_LEN + 30, HEADER_LEN..HEADER_LEN + 13);
        buffer.keep_discarded(&plaintext);
        assert_eq!(buffer.unread(), plaintext.len() + 13);
        let mut out = vec![0; plaintext.len() + 20];
        let len = buffer.read(&mut out);
        assert_eq!(out[..len], [&plaintext[..], &[9; 13]].concat());
        assert_eq!(buffer.unopened(), &record(50, 1)[..20]);
    }
}

/// The room around plaintext in records of TLS 1.3.
const ROOM: InPlaceRoom = InPlaceRoom {
    headroom: HEADER_LEN,
    max_payload: MAX_FRAGMENT_LEN,
    tailroom: 17,
};

/// Returns a buffer with opened records of 1000 bytes of plaintext, each filled with its number,
/// and with `rest` behind them.
fn opened(owner: Owner, count: u8, rest: &[u8]) -> ReceiveBuffer {
    let mut buffer = ReceiveBuffer::new(owner);
    for number in 0..count {
        receive(&mut buffer, &record(1017, number));
    }
    receive(&mut buffer, rest);
    for _ in 0..count {
        buffer.keep(HEADER_LEN + 1017, HEADER_LEN..HEADER_LEN + 1000);
    }
    buffer
}

/// "Seals": fills the record with the plaintext's byte and 100.
fn seal(record: &mut [u8], payload: Range<usize>) -> Result<(), ()> {
    assert_eq!(
        (payload.start, record.len() - payload.end),
        (HEADER_LEN, 17)
    );
    let sealed = record[payload.start] + 100;
    record.fill(sealed);
    Ok(())
}

#[test]
fn records_sealed_in_place_are_sent_from_the_same_memory() {
    let mut buffer = opened(Owner::new(), 3, &[9; 300]);
    assert_eq!(buffer.sealable(ROOM), Some(3));
    let place = buffer.chunk().as_ptr();
    let mut outgoing = OutgoingBuffer::new(Owner::new());
    outgoing.adopt(buffer.take_sealed(seal).unwrap());
    assert_eq!((buffer.unread(), buffer.unopened()), (0, &mut [9; 300][..]));
    assert_eq!(outgoing.pending()[HEADER_LEN..].as_ptr(), place);

    // other output follows, in other memory
    outgoing.append(&[7; 50]);
    assert_eq!(outgoing.pieces().count(), 2);
    let mut sent = Vec::new();
    while !outgoing.is_empty() {
        let len = Ord::min(outgoing.pending().len(), 700);
        sent.extend_from_slice(&outgoing.pending()[..len]);
        outgoing.consume(len);
    }
    let expected: Vec<u8> = [(100, 1022), (101, 1022), (102, 1022), (7, 50)]
        .into_iter()
        .flat_map(|(byte, len)| vec![byte; len])
        .collect();
    assert!(sent == expected);
}

/// The memory returns to the connection that received, and others do not see its bytes.
#[test]
#[cfg(feature = "std")]
fn memory_of_sealed_records_returns_to_its_owner() {
    let (receiver, sender) = (Owner::new(), Owner::new());
    let mut buffer = opened(receiver, 3, &[]);
    let len = buffer.memory.len();
    let place = buffer.memory.as_ptr();
    let mut outgoing = OutgoingBuffer::new(sender);
    outgoing.adopt(buffer.take_sealed(seal).unwrap());
    assert!(buffer.memory.is_empty());
    // the short rest moves to memory of the sender
    outgoing.consume(2900);
    let mut memory = pool::take(len, receiver);
    assert_eq!(memory.as_ptr(), place);
    memory.expose(len);
    assert_eq!(memory[100], 100, "its own bytes need not be cleared");
    pool::put_back(memory, receiver);
    let mut memory = pool::take(len, sender);
    memory.expose(len);
    assert!(memory.iter().all(|byte| *byte == 0));
    assert_eq!(outgoing.pending(), [102; 166]);
}

#[test]
fn records_with_an_unsuitable_layout_are_not_sealed_in_place() {
    assert_eq!(ReceiveBuffer::default().sealable(ROOM), None, "none");
    let mut buffer = opened(Owner::new(), 2, &[]);
    for room in [
        InPlaceRoom {
            headroom: 13,
            ..ROOM
        },
        InPlaceRoom {
            tailroom: 16,
            ..ROOM
        },
        InPlaceRoom {
            max_payload: 999,
            ..ROOM
        },
    ] {
        assert_eq!(buffer.sealable(room), None, "{room:?}");
    }
    buffer.consume(1);
    assert_eq!(buffer.sealable(ROOM), None, "partly read");
    buffer.consume(999);
    assert_eq!(buffer.sealable(ROOM), Some(1));

    let mut padded = opened(Owner::new(), 1, &record(1017, 5));
    padded.keep(HEADER_LEN + 1017, HEADER_LEN..HEADER_LEN + 900);
    assert_eq!(padded.sealable(ROOM), None, "padding");
    let mut without_data = opened(Owner::new(), 1, &record(1017, 5));
    without_data.discard(HEADER_LEN + 1017);
    assert_eq!(without_data.sealable(ROOM), None, "a record without data");
    let much_behind = opened(Owner::new(), 1, &record(2000, 5)[..1500]);
    assert_eq!(much_behind.sealable(ROOM), None, "many bytes follow");
}

#[test]
fn unopened_bytes_stay_if_sealing_fails() {
    let mut buffer = opened(Owner::new(), 2, &[9; 300]);
    assert!(buffer.take_sealed(|_, _| Err(())).is_err());
    assert_eq!((buffer.unread(), buffer.unopened()), (0, &mut [9; 300][..]));
}

#[test]
fn chunks_are_the_unread_parts_of_records() {
    let mut buffer = opened(Owner::new(), 3, &[9; 300]);
    buffer.consume(400);
    let lens: Vec<usize> = buffer.chunks().map(<[u8]>::len).collect();
    assert_eq!(lens, [600, 1000, 1000]);
    buffer.consume_chunks(1700);
    assert_eq!(buffer.chunks().collect::<Vec<_>>(), [[2; 900]]);
    buffer.consume_chunks(usize::MAX);
    assert_eq!((buffer.unread(), buffer.chunks().count()), (0, 0));
}

#[test]
#[cfg_attr(miri, ignore = "many megabytes")]
fn a_long_record_after_small_ones_is_moved_by_at_most_their_length() {
    // more small records make longer reads
    for small in [1, 3, 20, 100, 1000] {
        let pattern = [&record(95, 1).repeat(small)[..], &record(16401, 2)].concat();
        let stream = pattern.repeat(8);
        let mut rest = &stream[..];
        let mut buffer = ReceiveBuffer::default();
        let mut moved = 0;
        while !rest.is_empty() {
            let (_, now) = one_read(&mut buffer, &mut rest);
            moved += now;
        }
        let most = 8 * (2 * READ_LEN + 2 * 100 * small);
        assert!(moved <= most, "{small}: {moved} bytes of {most}");
    }
}

#[test]
fn plaintext_is_returned_in_place() {
    let mut buffer = ReceiveBuffer::default();
    let [first, second, third] = [record(10, 1), record(30, 2), record(20, 3)];
    receive(&mut buffer, &[&first[..], &second, &third].concat());
    assert_eq!(buffer.unread(), 0);
    assert!(buffer.chunk().is_empty() && !buffer.all_opened());

    buffer.keep(first.len(), 7..11);
    buffer.keep(second.len(), 13..33);
    assert_eq!(buffer.unopened(), third);
    assert_eq!((buffer.unread(), buffer.chunk()), (24, &[1; 4][..]));
    buffer.consume(3);
    assert_eq!((buffer.unread(), buffer.chunk()), (21, &[1; 1][..]));
    // consuming never passes the end of the chunk
    buffer.consume(100);
    assert_eq!((buffer.unread(), buffer.chunk()), (20, &[2; 20][..]));

    buffer.keep(third.len(), 5..25);
    assert!(buffer.all_opened());
    let mut out = [0xee; 50];
    assert_eq!(buffer.read(&mut out[..25]), 25);
    assert_eq!(buffer.read(&mut out[25..]), 15);
    assert_eq!(out[..40], [[2; 20], [3; 20]].concat());
    assert_eq!(out[40..], [0xee; 10]);
    assert_eq!(buffer.read(&mut out), 0);
    assert!(buffer.memory.is_empty());
}

#[test]
fn records_without_plaintext_are_skipped() {
    let mut buffer = ReceiveBuffer::default();
    let bytes = record(10, 1);
    receive(&mut buffer, &[&bytes[..]; 6].concat());
    buffer.discard(15);
    buffer.keep(15, 5..8);
    buffer.discard(15);
    buffer.keep(15, 9..9);
    buffer.keep(15, 14..15);
    assert_eq!(buffer.unread(), 4);
    buffer.consume(3);
    assert_eq!(buffer.chunk(), [1]);
    buffer.consume(1);
    assert!(!buffer.memory.is_empty(), "one record is unopened");
    buffer.discard(15);
    assert!(buffer.memory.is_empty());
}

#[test]
fn plaintext_far_inside_its_record_is_kept() {
    let mut bytes = record(1000, 1);
    bytes[5 + 255] = 2;
    bytes[5 + 256] = 3;
    for start in [255, 256, 257, 999] {
        let mut buffer = ReceiveBuffer::default();
        receive(&mut buffer, &bytes);
        buffer.keep(bytes.len(), 5 + start..bytes.len());
        assert_eq!(buffer.chunk(), &bytes[5 + start..]);
        buffer.consume(usize::MAX);
        assert!(buffer.memory.is_empty());
    }
}

#[test]
fn unused_room_takes_no_memory() {
    let mut buffer = ReceiveBuffer::default();
    assert_eq!(room_len(&mut buffer), READ_LEN);
    assert!(buffer.memory.is_empty());
}

#[test]
fn dropping_unopened_records_keeps_unread_plaintext() {
    let mut buffer = ReceiveBuffer::default();
    receive(
        &mut buffer,
        &[&record(20, 7)[..], b"\x17\x03\x03\xff\xff"].concat(),
    );
    buffer.keep(HEADER_LEN + 20, HEADER_LEN..HEADER_LEN + 4);
    buffer.drop_unopened();
    assert!(buffer.all_opened());
    assert_eq!(buffer.chunk(), [7; 4]);
    buffer.consume(4);
    assert!(buffer.memory.is_empty());

    receive(&mut buffer, b"\x17\x03\x03\xff\xff");
    buffer.drop_unopened();
    assert!(buffer.memory.is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    /// Receives up to this many bytes.
    Receive(usize),
    /// Opens a record, if there is one, and keeps at most this much of it, from this offset on.
    Keep(usize, usize),
    Discard,
    Consume(usize),
    Read(usize),
    Park,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..6000_usize).prop_map(Step::Receive),
        4 => (0..600_usize, 0..300_usize).prop_map(|(len, at)| Step::Keep(len, at)),
        1 => Just(Step::Discard),
        2 => (0..700_usize).prop_map(Step::Consume),
        1 => (0..2000_usize).prop_map(Step::Read),
        1 => Just(Step::Park),
    ];
    prop::collection::vec(step, 0..120)
}

/// A straightforward model of [`ReceiveBuffer`].
#[derive(Default)]
struct ReceiveModel {
    unopened: VecDeque<u8>,
    plaintext: VecDeque<u8>,
}

impl ReceiveModel {
    /// Returns the length of the first record if it is complete.
    fn record_len(&mut self) -> Option<usize> {
        let bytes = self.unopened.make_contiguous();
        let &[_, _, _, high, low] = bytes.first_chunk()?;
        let len = HEADER_LEN + usize::from(u16::from_be_bytes([high, low]));
        (bytes.len() >= len).then_some(len)
    }
}

/// Runs few cases and no files under Miri, which is slow and has no file system.
pub(in crate::record) fn config() -> ProptestConfig {
    if cfg!(miri) {
        ProptestConfig {
            cases: 2,
            failure_persistence: None,
            ..ProptestConfig::default()
        }
    } else {
        ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn received_bytes_are_neither_lost_nor_reordered(
        lens in prop::collection::vec(0..5000_usize, 1..20),
        steps in steps(),
    ) {
        let mut stream = VecDeque::new();
        for (i, len) in lens.iter().enumerate() {
            let mut bytes = record(*len, 0);
            for (j, byte) in bytes[HEADER_LEN..].iter_mut().enumerate() {
                *byte = (i * 31 + j) as u8;
            }
            stream.extend(bytes);
        }
        let mut buffer = ReceiveBuffer::default();
        let mut model = ReceiveModel::default();
        for step in steps {
            match step {
                Step::Receive(len) => {
                    let len = Ord::min(len, stream.len());
                    let read = receive_once(&mut buffer, &stream.make_contiguous()[..len]);
                    prop_assert!(read != 0 || len == 0);
                    model.unopened.extend(stream.drain(..read));
                }
                Step::Keep(len, at) => {
                    let Some(record_len) = model.record_len() else { continue };
                    let start = Ord::min(HEADER_LEN + at, record_len);
                    let end = Ord::min(start + len, record_len);
                    buffer.keep(record_len, start..end);
                    let bytes: Vec<_> = model.unopened.drain(..record_len).collect();
                    model.plaintext.extend(&bytes[start..end]);
                }
                Step::Discard => {
                    let Some(record_len) = model.record_len() else { continue };
                    buffer.discard(record_len);
                    model.unopened.drain(..record_len);
                }
                Step::Consume(len) => {
                    let len = Ord::min(len, buffer.chunk().len());
                    buffer.consume(len);
                    model.plaintext.drain(..len);
                }
                Step::Park => buffer.park(),
                Step::Read(len) => {
                    let mut out = vec![0; len];
                    let read = buffer.read(&mut out);
                    prop_assert_eq!(read, Ord::min(len, model.plaintext.len()));
                    let expected: Vec<_> = model.plaintext.drain(..read).collect();
                    prop_assert_eq!(&out[..read], expected);
                }
            }
            prop_assert_eq!(buffer.unopened(), model.unopened.make_contiguous());
            prop_assert_eq!(buffer.all_opened(), model.unopened.is_empty());
            prop_assert_eq!(buffer.unread(), model.plaintext.len());
            let chunk = buffer.chunk();
            prop_assert_eq!(chunk.is_empty(), model.plaintext.is_empty());
            prop_assert!(model.plaintext.make_contiguous().starts_with(chunk));
            if model.unopened.is_empty() && model.plaintext.is_empty() {
                prop_assert!(buffer.memory.is_empty());
            }
        }
    }
}

/// Records of hostile lengths are received in random pieces, opened, and read or sealed for another
/// connection, which sends random pieces.
#[test]
#[cfg_attr(miri, ignore = "many megabytes")]
fn sealed_records_of_any_length_keep_their_order() {
    const LENS: [usize; 9] = [18, 30, 239, 1017, 4074, 8300, 8400, 16_401, 17];
    let mut seed = 1_u64;
    let mut up_to = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        1 + (seed >> 33) as usize % most
    };
    let mut taken = 0;
    for round in 0..300 {
        let (mut stream, mut expected) = (VecDeque::new(), Vec::new());
        let (first, second) = (LENS[up_to(9) - 1], LENS[up_to(9) - 1]);
        for number in 0..40_usize {
            let len = match round % 3 {
                0 => LENS[up_to(9) - 1],
                _ if number % 2 == 0 => first,
                _ => second,
            };
            let mut bytes = record(len, 0);
            for byte in &mut bytes[HEADER_LEN..HEADER_LEN + len - 17] {
                *byte = up_to(100) as u8;
                expected.push(*byte);
            }
            stream.extend(bytes);
        }
        let mut buffer = ReceiveBuffer::new(Owner::new());
        let mut outgoing = OutgoingBuffer::new(Owner::new());
        let (mut passed, mut wire) = (Vec::new(), Vec::new());
        while !stream.is_empty() || buffer.unread() != 0 {
            buffer.read_for([0, 1000, 70_000][up_to(3) - 1]);
            if buffer.unread() < 16_385 && !buffer.is_full() {
                let given = [stream.len(), up_to(20_000), 0][up_to(3) - 1].min(stream.len());
                let mut offered = 0;
                let read = buffer.receive(|room| {
                    offered = room.len();
                    let len = given.min(room.len());
                    for (place, byte) in room.iter_mut().zip(stream.drain(..len)) {
                        *place = byte;
                    }
                    Ok::<_, ()>(len)
                });
                read.unwrap();
                assert!((1..=MAX_POOLED_LEN).contains(&offered), "{offered}");
            }
            while let Some(&[.., high, low]) = buffer.unopened().first_chunk::<HEADER_LEN>() {
                let len = usize::from(u16::from_be_bytes([high, low]));
                if buffer.unopened().len() < HEADER_LEN + len {
                    break;
                }
                buffer.keep(HEADER_LEN + len, HEADER_LEN..HEADER_LEN + len - 17);
            }
            buffer.park();
            assert!(buffer.memory.len() <= 2 * MAX_POOLED_LEN);
            let unread = buffer.unread();
            match up_to(4) {
                1 => {
                    let mut out = vec![0; up_to(5000)];
                    let len = buffer.read(&mut out);
                    while !outgoing.is_empty() {
                        let len = outgoing.pending().len();
                        wire.extend_from_slice(&outgoing.pending()[..len]);
                        outgoing.consume(len);
                    }
                    passed.append(&mut wire);
                    passed.extend_from_slice(&out[..len]);
                }
                2 => {}
                _ => {
                    let Some(count) = buffer.sealable(ROOM).filter(|_| outgoing.is_empty()) else {
                        continue;
                    };
                    let (mut seen, mut sum) = (0, 0);
                    let sealed = buffer.take_sealed(|record, payload| {
                        assert_eq!(record.len(), payload.len() + HEADER_LEN + 17);
                        (seen, sum) = (seen + 1, sum + payload.len());
                        wire.extend_from_slice(&record[payload]);
                        Ok::<_, ()>(())
                    });
                    passed.append(&mut wire);
                    let sealed = sealed.unwrap();
                    let all = sealed.memory[sealed.range.clone()].to_vec();
                    outgoing.adopt(sealed);
                    assert_eq!((seen, sum, buffer.unread()), (count, unread, 0));
                    taken += count;
                    let mut sent = Vec::new();
                    let mut more = Vec::new();
                    while !outgoing.is_empty() {
                        if up_to(4) == 1 && more.len() < 100 {
                            let extra = record(up_to(20), 250);
                            outgoing.append(&extra);
                            more.extend(extra);
                        }
                        let len = up_to(outgoing.pending().len());
                        sent.extend_from_slice(&outgoing.pending()[..len]);
                        outgoing.consume(len);
                    }
                    assert!(sent == [all, more].concat());
                }
            }
        }
        assert!(passed == expected, "{round}");
        assert!(buffer.memory.is_empty() && outgoing.is_empty());
    }
    assert!(taken > 1000, "{taken}");
}
