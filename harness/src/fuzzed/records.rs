//! The receiving half of the record layer, without keys, and the joiner behind it.

use rustls::{ContentType, Error};
use rustls_core::record::joiner::HandshakeJoiner;
use rustls_core::record::receiver::{RecordHeader, RecordReceiver};
use rustls_core::record::{HEADER_LEN, MAX_FRAGMENT_LEN};

/// Feeds any bytes to a [`RecordReceiver`]: what it opens lies within what it was given, handshake messages
/// come out as they went in, and an incomplete record changes nothing.
pub(crate) fn records(input: &[u8]) {
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
            } else {
                Err(Error::PeerSentOversizedRecord)
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
            if joiner.push(payload).is_err() {
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

/// Length of the first record of `bytes`, which has one.
pub(crate) fn first_record_len(bytes: &[u8]) -> usize {
    HEADER_LEN + usize::from(u16::from_be_bytes([bytes[3], bytes[4]]))
}

/// Length of all whole records at the front of `bytes`.
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
