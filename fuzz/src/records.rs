//! The record layer without keys: opening records, joining messages, and the buffers for received
//! and outgoing data.

mod buffers;

use rustls::{ContentType, Error, InvalidMessage};
use rustls_core::record::joiner::{HandshakeJoiner, MAX_HANDSHAKE_LEN};
use rustls_core::record::receiver::{RecordHeader, RecordReceiver};
use rustls_core::record::{HEADER_LEN, MAX_FRAGMENT_LEN, MAX_WIRE_PAYLOAD_LEN};

use super::input::Input;

/// The first byte chooses the part to test with the rest.
pub fn records(input: &[u8]) {
    let &[what, ref rest @ ..] = input else {
        return;
    };
    match what % 4 {
        0 => open_and_join(rest),
        1 => join(&mut Input::new(rest)),
        2 => buffers::receive(&mut Input::new(rest)),
        _ => buffers::send(&mut Input::new(rest)),
    }
}

/// Feeds arbitrary bytes to a [`RecordReceiver`]. Opened records must lie within the input,
/// handshake messages must come out unchanged, and an incomplete record must change nothing.
fn open_and_join(input: &[u8]) {
    let mut receiver = RecordReceiver::new();
    let mut joiner = HandshakeJoiner::default();
    let mut buffer = input.to_vec();
    let mut rest = &mut buffer[..];
    let (mut pushed, mut popped) = (Vec::new(), Vec::new());
    loop {
        if let Ok(Some(header)) = RecordHeader::read(rest) {
            let mut cut = rest[..Ord::min(rest.len(), header.record_len() - 1)].to_vec();
            let expected = if header.payload_len <= MAX_FRAGMENT_LEN {
                Ok(None)
            } else if header.payload_len <= MAX_WIRE_PAYLOAD_LEN {
                Err(Error::PeerSentOversizedRecord)
            } else {
                Err(InvalidMessage::MessageTooLarge.into())
            };
            assert_eq!(receiver.open(&mut cut), expected);
        }
        let Ok(Some(record)) = receiver.open(rest) else {
            break;
        };
        assert!(record.payload.start >= HEADER_LEN && record.payload.end <= record.record_len);
        assert!(record.payload.len() <= MAX_FRAGMENT_LEN);
        if record.typ == ContentType::Handshake {
            let payload = &rest[record.payload];
            pushed.extend_from_slice(payload);
            let Ok(mut rest) = joiner.begin(payload) else {
                break;
            };
            while let Some(message) = joiner.next_in(&mut rest) {
                popped.extend_from_slice(message);
            }
            if joiner.keep(rest).is_err() {
                break;
            }
            while let Ok(Some(message)) = joiner.next_message() {
                popped.extend_from_slice(&message);
                joiner.give_back(message);
            }
        }
        rest = &mut rest[record.record_len..];
    }
    assert!(pushed.starts_with(&popped));
}

/// The most operations of an input.
const MOST_OPERATIONS: usize = 300;

/// Joins messages of any length from pieces of any length, returns some where they lie, and lends
/// one at any time. They must come out unchanged; messages that are too long are errors.
fn join(input: &mut Input<'_>) {
    let mut joiner = HandshakeJoiner::default();
    let (mut pushed, mut popped) = (Vec::new(), Vec::new());
    let mut wire = Vec::new();
    let mut lent = None;
    while input.begins_step(MOST_OPERATIONS) {
        match input.byte() % 8 {
            0 | 1 => {
                let len = input.len();
                let message = wire.len() as u8;
                wire.extend([message, 0, (len >> 8) as u8, len as u8]);
                wire.extend((0..len).map(|at| (at ^ len) as u8));
            }
            2 | 3 => {
                let len = input.len().min(wire.len());
                let piece: Vec<u8> = wire.drain(..len).collect();
                joiner.push(&piece).unwrap();
                pushed.extend(piece);
            }
            4 => {
                let len = input.len().min(wire.len());
                let piece: Vec<u8> = wire.drain(..len).collect();
                pushed.extend(&piece);
                let mut rest = joiner.begin(&piece).unwrap();
                for _ in 0..input.byte() % 4 {
                    if let Some(message) = joiner.next_in(&mut rest) {
                        popped.extend_from_slice(message);
                        assert!(pushed.starts_with(&popped));
                        assert_eq!(joiner.len(), rest.len());
                    }
                }
                joiner.keep(rest).unwrap();
            }
            5 => {
                // a length beyond the limit
                let message = [1, 1 | input.byte(), 0, 0];
                if lent.is_none() && wire.is_empty() && popped.len() == pushed.len() {
                    assert!(joiner.push(&message).is_err());
                    return;
                }
            }
            6 => {
                let peeked = joiner.peek().map(<[u8]>::to_vec);
                assert!(lent.is_none() || peeked.is_none());
                let next = joiner.next_message().unwrap();
                assert_eq!(next.as_deref(), peeked.as_deref());
                if let Some(message) = next {
                    assert!(message.len() <= 4 + MAX_HANDSHAKE_LEN);
                    popped.extend_from_slice(&message);
                    assert!(pushed.starts_with(&popped));
                    lent = Some(message);
                }
            }
            _ => {
                if let Some(message) = lent.take() {
                    joiner.give_back(message);
                }
            }
        }
        assert_eq!(joiner.is_empty(), pushed.len() == popped.len());
    }
    if let Some(message) = lent {
        joiner.give_back(message);
    }
    joiner.push(&wire).unwrap();
    pushed.extend(wire);
    while let Some(message) = joiner.next_message().unwrap() {
        popped.extend_from_slice(&message);
        joiner.give_back(message);
    }
    assert!(joiner.is_empty() && popped == pushed);
}

/// The length of all complete records at the front of `bytes`.
pub(crate) fn total_len(bytes: &[u8]) -> usize {
    let mut len = 0;
    while let Ok(Some(header)) = RecordHeader::read(&bytes[len..]) {
        if header.record_len() > bytes.len() - len {
            break;
        }
        len += header.record_len();
    }
    len
}
