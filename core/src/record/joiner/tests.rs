use alloc::{format, vec};

use super::*;

fn message(len: usize) -> Vec<u8> {
    let mut bytes = vec![1, (len >> 16) as u8, (len >> 8) as u8, len as u8];
    bytes.extend((0..len).map(|i| i as u8));
    bytes
}

/// Returns the complete messages. Each is returned before the next is taken.
fn messages(joiner: &mut HandshakeJoiner) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    while let Some(message) = joiner.next_message().unwrap() {
        seen.push(message.to_vec());
        joiner.give_back(message);
    }
    seen
}

/// Processes a payload as a connection does. Returns the messages that are then complete.
fn take_in(joiner: &mut HandshakeJoiner, payload: &[u8]) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    let mut rest = joiner.begin(payload).unwrap();
    while let Some(message) = joiner.next_in(&mut rest) {
        assert_eq!(joiner.len(), rest.len());
        assert_eq!(joiner.is_empty(), rest.is_empty());
        seen.push(message.to_vec());
    }
    joiner.keep(rest).unwrap();
    seen.extend(messages(joiner));
    seen
}

#[test]
fn whole_messages_are_returned_in_place() {
    let stream = [message(3), message(0), message(300)].concat();
    let mut joiner = HandshakeJoiner::default();
    let mut rest = joiner.begin(&stream).unwrap();
    for (len, left) in [(7, 308), (4, 304), (304, 0)] {
        let at = rest.as_ptr();
        let message = joiner.next_in(&mut rest).unwrap();
        assert_eq!((message.as_ptr(), message.len()), (at, len));
        assert_eq!(joiner.len(), left);
    }
    assert_eq!(joiner.next_in(&mut rest), None);
    joiner.keep(rest).unwrap();
    assert!(joiner.is_empty());
    assert_eq!(joiner.memory.capacity(), 0);
}

#[test]
fn messages_read_in_place_survive_any_split() {
    let expected = [message(0), message(1), message(300), message(2)];
    let stream = expected.concat();
    for cut in (1..stream.len()).step_by(if cfg!(miri) { 29 } else { 1 }) {
        let mut joiner = HandshakeJoiner::default();
        let payloads = stream.chunks(cut);
        let seen: Vec<_> = payloads.flat_map(|it| take_in(&mut joiner, it)).collect();
        assert_eq!(seen, expected, "split every {cut} bytes");
        assert!(joiner.is_empty());
        assert_eq!(joiner.memory.capacity(), 0);
    }
}

#[test]
fn messages_that_are_not_taken_in_place_are_kept() {
    let stream = [message(3), message(5), message(0)].concat();
    for taken in 0..=3 {
        let mut joiner = HandshakeJoiner::default();
        let mut rest = joiner.begin(&stream).unwrap();
        for _ in 0..taken {
            joiner.next_in(&mut rest).unwrap();
        }
        let left = rest.len();
        joiner.keep(rest).unwrap();
        assert_eq!(joiner.len(), left);

        // the messages of the next record come after these
        let next = [message(9), message(1)].concat();
        if taken != 3 {
            assert_eq!(joiner.begin(&next).unwrap(), &[]);
        } else {
            assert_eq!(joiner.begin(&next).unwrap(), next);
            joiner.keep(&next).unwrap();
        }
        let all = [3, 5, 0, 9, 1].map(message);
        assert_eq!(messages(&mut joiner), all[taken..]);
    }
}

#[test]
fn a_piece_that_contains_an_overlong_message_is_rejected() {
    let stream = [&message(1)[..], &[2, 1, 0, 0]].concat();
    let mut joiner = HandshakeJoiner::default();
    let error = Err(InvalidMessage::HandshakePayloadTooLarge);
    assert_eq!(joiner.begin(&stream), error);
    // the same if a message has begun before
    let mut joiner = HandshakeJoiner::default();
    joiner.push(&[1, 0]).unwrap();
    assert_eq!(joiner.begin(&[&[0, 0], &stream[..]].concat()), error);
}

#[test]
fn messages_survive_any_split() {
    let expected = [message(0), message(1), message(300), message(2)];
    let stream = expected.concat();
    for cut in (1..stream.len()).step_by(if cfg!(miri) { 29 } else { 1 }) {
        let mut joiner = HandshakeJoiner::default();
        let mut seen = Vec::new();
        for payload in stream.chunks(cut) {
            joiner.push(payload).unwrap();
            seen.extend(messages(&mut joiner));
        }
        assert_eq!(seen, expected, "split every {cut} bytes");
        assert!(joiner.is_empty());
        assert_eq!(joiner.memory.capacity(), 0);
    }
}

#[test]
fn peeking_does_not_remove_the_message() {
    let stream = [message(3), message(300)].concat();
    for cut in (0..stream.len()).step_by(if cfg!(miri) { 29 } else { 1 }) {
        let mut joiner = HandshakeJoiner::default();
        assert_eq!(joiner.peek(), None);
        joiner.push(&stream[..cut]).unwrap();
        let seen = joiner.peek().map(<[u8]>::to_vec);
        assert_eq!(seen, (cut >= 7).then(|| message(3)), "split at {cut}");
        joiner.push(&stream[cut..]).unwrap();
        assert_eq!(joiner.peek(), Some(&message(3)[..]));

        let first = joiner.next_message().unwrap().unwrap();
        assert_eq!(joiner.peek(), None, "the memory is lent");
        joiner.give_back(first);
        assert_eq!(joiner.peek(), Some(&message(300)[..]));
        assert_eq!(messages(&mut joiner), [message(300)]);
        assert_eq!(joiner.peek(), None);
    }
}

#[test]
fn bytes_after_a_lent_message_are_detected() {
    let mut joiner = HandshakeJoiner::default();
    assert!(joiner.is_empty());
    joiner.push(&[1]).unwrap();
    assert!(!joiner.is_empty());
    joiner.push(&[0, 0, 2, 7]).unwrap();
    assert!(joiner.next_message().unwrap().is_none());
    assert!(!joiner.is_empty());

    joiner.push(&[8]).unwrap();
    let out = joiner.next_message().unwrap().unwrap();
    assert_eq!(*out, [1, 0, 0, 2, 7, 8]);
    assert!(joiner.is_empty(), "nothing follows it");
    joiner.give_back(out);
    assert!(joiner.is_empty());
    assert_eq!(joiner.memory.capacity(), 0);

    // followed by a whole message, or by the first byte of one
    for behind in [&[2, 0, 0, 0][..], &[2]] {
        joiner.push(&[&[1, 0, 0, 0], behind].concat()).unwrap();
        let out = joiner.next_message().unwrap().unwrap();
        assert!(!joiner.is_empty());
        joiner.give_back(out);
        assert!(!joiner.is_empty());
        joiner.push(&[0; 3][..4 - behind.len()]).unwrap();
        assert_eq!(messages(&mut joiner), [[2, 0, 0, 0]]);
        assert!(joiner.is_empty());
    }
}

#[test]
fn pieces_received_while_a_message_is_lent_are_kept() {
    let mut joiner = HandshakeJoiner::default();
    joiner.push(&[1, 0, 0, 0, 2, 0]).unwrap();
    let out = joiner.next_message().unwrap().unwrap();
    joiner.push(&[0, 1]).unwrap();
    joiner.push(&[9]).unwrap();
    assert!(!joiner.is_empty());
    assert!(joiner.next_message().unwrap().is_none(), "one at a time");
    joiner.give_back(out);
    assert_eq!(messages(&mut joiner), [[2, 0, 0, 1, 9]]);

    // their lengths are checked when they become the next message
    joiner.push(&[1, 0, 0, 0]).unwrap();
    let out = joiner.next_message().unwrap().unwrap();
    joiner.push(&[2, 1, 0, 0]).unwrap();
    joiner.give_back(out);
    assert_eq!(
        joiner.next_message().unwrap_err(),
        InvalidMessage::HandshakePayloadTooLarge
    );
}

/// The offsets in the lent memory do not apply to the new memory.
#[test]
fn pieces_received_while_a_message_is_lent_are_not_read() {
    // in the new memory, a length lies at the offset of the lent message: too long, or valid
    for content in [[0, 0xff, 0xff, 0xff], [0, 0, 0, 0]] {
        let second = [&[2, 0, 0, 4][..], &content].concat();
        let mut joiner = HandshakeJoiner::default();
        joiner.push(&[1, 0, 0, 0]).unwrap();
        let out = joiner.next_message().unwrap().unwrap();
        joiner.push(&second).unwrap();
        assert_eq!(joiner.peek(), None);
        joiner.give_back(out);
        assert_eq!(messages(&mut joiner), [second]);
    }
}

#[test]
fn no_message_is_returned_after_a_dropped_one() {
    let mut joiner = HandshakeJoiner::default();
    joiner.push(&[1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
    drop(joiner.next_message().unwrap().unwrap());
    assert!(!joiner.is_empty());
    joiner.push(&[3, 0, 0, 0]).unwrap();
    assert!(joiner.next_message().unwrap().is_none());
}

#[test]
fn length_is_limited_before_memory_is_allocated() {
    let mut joiner = HandshakeJoiner::default();
    joiner.push(&[1, 0, 0xff, 0xff]).unwrap();
    let mut joiner = HandshakeJoiner::default();
    joiner.push(&[1, 1, 0]).unwrap();
    assert_eq!(
        joiner.push(&[0]),
        Err(InvalidMessage::HandshakePayloadTooLarge)
    );
    assert!(joiner.memory.capacity() <= STEP);
    assert_eq!(
        joiner.next_message().unwrap_err(),
        InvalidMessage::HandshakePayloadTooLarge
    );
    // the check covers any buffered message
    let mut joiner = HandshakeJoiner::default();
    assert_eq!(
        joiner.push(&[1, 0, 0, 1, 7, 2, 0, 0, 0, 3, 1, 0, 0]),
        Err(InvalidMessage::HandshakePayloadTooLarge)
    );
}

#[test]
fn memory_is_proportional_to_the_received_bytes() {
    const SENT: usize = if cfg!(miri) { 5_000 } else { 60_000 };
    // a message received byte by byte, whose header announces a long one
    let mut joiner = HandshakeJoiner::default();
    let mut steps = 0;
    for (i, byte) in message(MAX_HANDSHAKE_LEN)[..SENT].iter().enumerate() {
        let before = joiner.memory.capacity();
        joiner.push(&[*byte]).unwrap();
        assert!(joiner.next_message().unwrap().is_none());
        assert!(joiner.memory.capacity() <= i + i / 4 + 2 * STEP);
        steps += usize::from(joiner.memory.capacity() != before);
    }
    assert!(steps <= SENT / STEP + 1, "{steps} steps");

    // the same for messages that are not taken
    let mut joiner = HandshakeJoiner::default();
    let mut steps = 0;
    for byte in [24, 0, 0, 0].repeat(STEP) {
        let before = joiner.memory.capacity();
        joiner.push(&[byte]).unwrap();
        assert!(joiner.memory.capacity() >= STEP);
        steps += usize::from(joiner.memory.capacity() != before);
    }
    assert!(steps <= 4, "{steps} steps");

    // messages already returned take no room while the rest of the next one is missing
    let mut joiner = HandshakeJoiner::default();
    joiner.push(&[&message(15_000)[..], &[1]].concat()).unwrap();
    assert_eq!(messages(&mut joiner), [message(15_000)]);
    assert!(joiner.memory.capacity() <= STEP);
    joiner.push(&[0, 0, 0]).unwrap();
    assert_eq!(messages(&mut joiner), [message(0)]);
}

#[test]
fn small_messages_are_moved_at_most_once() {
    const TOTAL: usize = if cfg!(miri) { 1 << 11 } else { 1 << 16 };
    let stream = [24, 0, 0, 0].repeat(TOTAL / 4);
    for cut in [TOTAL, 16384, 1000, 7, 1] {
        let mut joiner = HandshakeJoiner::default();
        let mut count = 0;
        for payload in stream.chunks(cut) {
            joiner.push(payload).unwrap();
            let memory = joiner.memory.as_ptr();
            while let Some(message) = joiner.next_message().unwrap() {
                assert_eq!(*message, [24, 0, 0, 0]);
                assert_eq!(
                    message.memory.as_ptr(),
                    memory,
                    "all messages of a piece have the same address"
                );
                joiner.give_back(message);
                count += 1;
            }
        }
        assert_eq!(count, TOTAL / 4);
        assert!(joiner.moved <= TOTAL, "{} bytes moved", joiner.moved);
    }
    // also if all pieces arrive before the first message is taken
    let mut joiner = HandshakeJoiner::default();
    for payload in stream.chunks(100) {
        joiner.push(payload).unwrap();
    }
    assert_eq!(messages(&mut joiner).len(), TOTAL / 4);
    assert_eq!(joiner.moved, 0);
}

#[test]
fn debug_shows_only_lengths() {
    let mut joiner = HandshakeJoiner::default();
    joiner.push(&[1, 0, 0, 1, 207, 2]).unwrap();
    let message = joiner.next_message().unwrap().unwrap();
    assert_eq!(format!("{message:?}"), "JoinedMessage { len: 5, .. }");
    assert_eq!(
        format!("{joiner:?}"),
        "HandshakeJoiner { waiting: 1, lent: true, .. }"
    );
}

/// Each byte arrives in its own record.
#[test]
#[cfg_attr(miri, ignore = "many bytes")]
fn a_message_in_small_pieces_is_moved_only_a_few_times() {
    let message = [&[1, 0, 0xfd, 0xe8][..], &[7; 65_000]].concat();
    let mut joiner = HandshakeJoiner::default();
    let (mut capacity, mut growths, mut moved) = (0, 0, 0);
    for (count, byte) in message.iter().enumerate() {
        joiner.push(&[*byte]).unwrap();
        if joiner.memory.capacity() != capacity {
            capacity = joiner.memory.capacity();
            growths += 1;
            moved += count;
        }
        assert!(
            capacity <= count + count / 4 + 2 * STEP,
            "{capacity} for {count}"
        );
    }
    assert_eq!(capacity, message.len());
    assert!(
        growths <= 30 && moved <= 6 * message.len(),
        "{growths}, {moved}"
    );
}
