use alloc::boxed::Box;
use alloc::vec::Vec;
use alloc::{format, vec};

#[cfg(feature = "std")]
use super::super::buffer::{OutgoingBuffer, ReceiveBuffer};
use super::super::toy::{IdleAlgorithm, Protection, plaintext, sealed};
use super::*;
use crate::crypto::cipher::{AeadKey, Iv, Tls13AeadAlgorithm};
use crate::record::framing::Tls13Framing;
use crate::record::traffic::Traffic;

const DATA: ContentType = ContentType::ApplicationData;

/// Returns the payload lengths of the records in `bytes`, from their headers.
fn payload_lens(mut bytes: &[u8]) -> Vec<usize> {
    let mut lens = Vec::new();
    while let Some(&[_, _, _, high, low]) = bytes.first_chunk() {
        let len = usize::from(u16::from_be_bytes([high, low]));
        lens.push(len);
        bytes = &bytes[HEADER_LEN + len..];
    }
    assert!(bytes.is_empty());
    lens
}

fn insufficient(required_size: usize) -> SealError {
    SealError::InsufficientSize(InsufficientSizeError { required_size })
}

#[test]
#[cfg_attr(miri, ignore = "records of full length")]
fn the_limit_of_a_record_applies_to_its_plaintext() {
    for protection in Protection::ALL {
        let (head, tail) = protection.overhead();
        let expansion = head - HEADER_LEN + tail;
        for (len, plain_lens) in [
            (0, &[][..]),
            (1, &[1]),
            (16384, &[16384]),
            (16385, &[16384, 1]),
            (40000, &[16384, 16384, 7232]),
        ] {
            let records = sealed(&mut protection.sender(), DATA, &plaintext(len));
            let expected: Vec<_> = plain_lens.iter().map(|len| len + expansion).collect();
            assert_eq!(
                payload_lens(&records),
                expected,
                "{protection}, {len} bytes"
            );
        }
    }
}

#[test]
fn without_an_encrypter_records_are_unprotected_again() {
    for protection in Protection::ALL {
        let mut sender = protection.sender();
        sender.set_max_fragment_size(Some(100)).unwrap();
        sealed(&mut sender, DATA, &plaintext(10));
        sender.clear_encrypter();
        assert!(!sender.is_encrypting());
        let records = sealed(&mut sender, ContentType::Handshake, &plaintext(96));
        let expected = [
            &[22, 3, 3, 0, 95][..],
            &plaintext(96)[..95],
            &[22, 3, 3, 0, 1],
            &plaintext(96)[95..],
        ];
        assert_eq!(records, expected.concat(), "{protection}");

        // but not after `close`
        sender.close();
        sender.clear_encrypter();
        assert!(
            sender
                .seal(DATA, plaintext(1).as_slice().into(), &mut [0; 100])
                .is_err()
        );
    }
}

#[test]
#[cfg_attr(miri, ignore = "records of full length")]
fn max_fragment_size_counts_plaintext_and_header() {
    let mut sender = Protection::Tls13.sender();
    for size in [32, 33, 100, 16384, 16389] {
        sender.set_max_fragment_size(Some(size)).unwrap();
        assert_eq!(sender.max_fragment_len(), size - 5);
        assert_eq!(sender.in_place_room().max_payload, size - 5);
        let records = sealed(&mut sender, DATA, &plaintext(size - 4));
        assert_eq!(payload_lens(&records), [size - 5 + 17, 1 + 17]);
    }
    for size in [0, 5, 31, 16390, usize::MAX] {
        assert_eq!(
            sender.set_max_fragment_size(Some(size)),
            Err(Error::BadMaxFragmentSize),
            "{size}"
        );
        assert_eq!(sender.max_fragment_len(), 16384, "unchanged by the error");
    }
    sender.set_max_fragment_size(Some(32)).unwrap();
    sender.set_max_fragment_size(None).unwrap();
    assert_eq!(sender.max_fragment_len(), 16384);
}

#[test]
#[cfg_attr(miri, ignore = "records of full length")]
fn sealed_len_is_exact() {
    for protection in Protection::ALL {
        let mut sender = protection.sender();
        for limit in [None, Some(32), Some(105)] {
            sender.set_max_fragment_size(limit).unwrap();
            for len in (0..300).chain([16383, 16384, 16385, 32768, 32769, 100_000]) {
                let mut out = vec![0; 1 << 18];
                let used = sender.seal(DATA, (&plaintext(len)[..]).into(), &mut out);
                assert_eq!(used, Ok(sender.sealed_len(len)), "{protection}, {len}");
            }
        }
    }
    let mut plain = RecordSender::new();
    let mut out = vec![0; 50_000];
    for len in [0, 1, 16384, 16385, 40_000] {
        let used = plain.seal(DATA, (&plaintext(len)[..]).into(), &mut out);
        assert_eq!(used, Ok(plain.sealed_len(len)));
    }
    assert_eq!(
        Protection::Tls13.sender().sealed_len(usize::MAX),
        usize::MAX
    );
}

#[test]
fn a_short_output_buffer_loses_no_data() {
    let plain = plaintext(70);
    for protection in Protection::ALL {
        let mut sender = protection.sender();
        sender.set_max_fragment_size(Some(32)).unwrap(); // three records
        let expected = {
            let mut sender = protection.sender();
            sender.set_max_fragment_size(Some(32)).unwrap();
            sealed(&mut sender, DATA, &plain)
        };
        for len in 0..expected.len() {
            let mut out = vec![0xee; len];
            assert_eq!(
                sender.seal(DATA, (&plain[..]).into(), &mut out),
                Err(insufficient(expected.len()))
            );
            assert!(out.iter().all(|byte| *byte == 0xee), "{len} bytes touched");
            assert_eq!(sender.sequence(), 0);
        }
        assert_eq!(sealed(&mut sender, DATA, &plain), expected);
        assert_eq!(sender.sequence(), 3);
    }
}

#[test]
fn bytes_after_the_records_are_unchanged() {
    for protection in Protection::ALL {
        let mut out = vec![0xee; 100];
        let used = protection
            .sender()
            .seal(DATA, b"abc".into(), &mut out)
            .unwrap();
        assert!(out[used..].iter().all(|byte| *byte == 0xee));
    }
}

#[test]
fn scattered_and_in_place_records_equal_contiguous_ones() {
    // three full records, so no fragment can be shorter
    let plain = plaintext(81);
    for protection in Protection::ALL {
        let new_sender = || {
            let mut sender = protection.sender();
            sender.set_max_fragment_size(Some(32)).unwrap();
            sender
        };
        let expected = sealed(&mut new_sender(), DATA, &plain);

        for cut in (0..=plain.len()).step_by(if cfg!(miri) { 9 } else { 1 }) {
            let (front, back) = plain.split_at(cut);
            let chunks: [&[u8]; 4] = [front, &[], back, &[]];
            let mut out = vec![0; expected.len()];
            let payload = OutboundChunks::new(&chunks);
            new_sender().seal(DATA, payload, &mut out).unwrap();
            assert_eq!(out, expected, "{protection}, cut at {cut}");
        }

        let mut sender = new_sender();
        let room = sender.in_place_room();
        let mut in_place = Vec::new();
        for fragment in plain.chunks(room.max_payload) {
            // more room than needed, at an odd offset
            let start = room.headroom + 3;
            let mut buf = vec![0xee; start + fragment.len() + room.tailroom + 2];
            let payload = start..start + fragment.len();
            buf[payload.clone()].copy_from_slice(fragment);
            let record = sender.seal_in_place(DATA, &mut buf, payload).unwrap();
            assert_eq!(record, 3..buf.len() - 2);
            assert_eq!(buf[..3], [0xee; 3]);
            assert_eq!(buf[record.end..], [0xee; 2]);
            in_place.extend_from_slice(&buf[record]);
        }
        assert_eq!(in_place, expected, "{protection}, in place");
    }
}

/// A record that consists of one piece is sealed without a copy.
#[test]
fn a_record_ends_at_the_end_of_a_slice_unless_that_adds_a_record() {
    for (pieces, expected) in [
        // a header, and data that fill a record
        (&[4, 27][..], &[4, 27][..]),
        (&[4, 0, 2, 54], &[6, 27, 27]),
        (&[20, 20, 20], &[20, 20, 20]),
        // these would need another record
        (&[4, 28], &[27, 5]),
        (&[4, 50], &[27, 27]),
        (&[4, 23], &[27]),
        (&[10; 8], &[27, 27, 26]),
        (&[28, 1], &[27, 2]),
    ] {
        for protection in Protection::ALL {
            let mut sender = protection.sender();
            sender.set_max_fragment_size(Some(32)).unwrap();
            let plain = plaintext(pieces.iter().sum());
            let mut rest = &plain[..];
            let chunks = pieces.iter().map(|len| {
                let (piece, later) = rest.split_at(*len);
                rest = later;
                piece
            });
            let chunks: Vec<_> = chunks.collect();
            let mut out = vec![0; sender.sealed_len(plain.len())];
            let used = sender.seal(DATA, OutboundChunks::new(&chunks), &mut out);
            assert_eq!(used, Ok(out.len()), "{protection}, {pieces:?}");
            let overhead = sender.sealed_len(1) - HEADER_LEN - 1;
            let lens: Vec<_> = payload_lens(&out)
                .iter()
                .map(|len| len - overhead)
                .collect();
            assert_eq!(lens, expected, "{protection}, {pieces:?}");
        }
    }
}

#[test]
fn in_place_room_equals_what_records_add() {
    for protection in Protection::ALL {
        let sender = protection.sender();
        let (head, tail) = protection.overhead();
        assert_eq!((sender.head_len(), sender.tail_len()), (head, tail));
        assert_eq!(
            sender.in_place_room(),
            InPlaceRoom {
                headroom: head,
                max_payload: 16384,
                tailroom: tail
            }
        );
    }
    let plain = RecordSender::new();
    assert_eq!((plain.head_len(), plain.tail_len()), (5, 0));
}

#[test]
fn in_place_errors_change_nothing() {
    for protection in Protection::ALL {
        let (head, tail) = protection.overhead();
        let mut sender = protection.sender();
        sender.set_max_fragment_size(Some(37)).unwrap();
        let mut buf = vec![0xee; head + 33 + tail];
        let end = buf.len();
        #[expect(clippy::reversed_empty_ranges, reason = "tests the error")]
        for (payload, error) in [
            (5..4, SealInPlaceError::PayloadOutOfBounds),
            (head..end + 1, SealInPlaceError::PayloadOutOfBounds),
            (end + 1..end + 1, SealInPlaceError::PayloadOutOfBounds),
            (
                head..head + 33,
                SealInPlaceError::PayloadTooLong { max: 32 },
            ),
            (0..1, SealInPlaceError::HeadroomTooShort { required: head }),
            // as long as possible
            (0..32, SealInPlaceError::HeadroomTooShort { required: head }),
            (
                head - 1..head,
                SealInPlaceError::HeadroomTooShort { required: head },
            ),
            (
                end - tail..end - tail + 1,
                SealInPlaceError::TailroomTooShort { required: tail },
            ),
            (
                end - 1..end,
                SealInPlaceError::TailroomTooShort { required: tail },
            ),
        ] {
            assert_eq!(
                sender.seal_in_place(DATA, &mut buf, payload.clone()),
                Err(error),
                "{protection}, {payload:?}"
            );
            assert!(buf.iter().all(|byte| *byte == 0xee));
            assert_eq!(sender.sequence(), 0);
        }
        // the headroom is exact, but the tailroom lacks a byte
        assert_eq!(
            sender.seal_in_place(DATA, &mut buf[..head + tail], head..head + 1),
            Err(SealInPlaceError::TailroomTooShort { required: tail })
        );
        // exactly the room needed
        let record = sender.seal_in_place(DATA, &mut buf, head..head + 32);
        assert_eq!(record, Ok(0..head + 32 + tail));
        // an empty payload makes no record, as in `seal`
        for at in [2, head, head + 1] {
            let record = sender.seal_in_place(DATA, &mut buf, at..at);
            assert_eq!(record, Ok(at..at), "{protection}");
        }
        assert_eq!(sender.sequence(), 1);
    }
}

#[test]
fn a_header_contains_type_version_and_length() {
    let first = |sender: &mut RecordSender, typ| {
        let record = sealed(sender, typ, b"abc");
        <[u8; 5]>::try_from(&record[..5]).unwrap()
    };
    let mut sender = RecordSender::new();
    assert!(!sender.is_encrypting());
    let record = sealed(&mut sender, ContentType::Handshake, b"abc");
    assert_eq!(record, [22, 3, 3, 0, 3, b'a', b'b', b'c']);
    // RFC 9846 §5.1: an initial ClientHello may have version 0x0301
    sender.set_plaintext_version(ProtocolVersion::TLSv1_0);
    assert_eq!(first(&mut sender, ContentType::Alert), [21, 3, 1, 0, 3]);

    let mut buf = [0; 8];
    buf[5..].copy_from_slice(b"abc");
    let record = sender.seal_in_place(ContentType::Alert, &mut buf, 5..8);
    assert_eq!(record, Ok(0..8));
    assert_eq!(buf, *b"\x15\x03\x01\x00\x03abc");

    // the version set for unprotected records is not used in protected ones
    sender.set_encrypter(Protection::Tls13.encrypter(), ProtocolVersion::TLSv1_3, 9);
    assert!(sender.is_encrypting());
    assert_eq!(first(&mut sender, ContentType::Alert), [23, 3, 3, 0, 20]);
    sender.set_encrypter(
        Protection::Tls12Gcm.encrypter(),
        ProtocolVersion::TLSv1_2,
        9,
    );
    assert_eq!(first(&mut sender, ContentType::Alert), [21, 3, 3, 0, 27]);
}

#[test]
fn the_sequence_restarts_with_each_key() {
    let mut sender = Protection::Tls13.sender();
    let first = sealed(&mut sender, DATA, b"abc");
    let second = sealed(&mut sender, DATA, b"abc");
    assert_ne!(first, second);
    assert_eq!(sender.sequence(), 2);
    sender.set_encrypter(Protection::Tls13.encrypter(), ProtocolVersion::TLSv1_3, 9);
    assert_eq!(sender.sequence(), 0);
    assert_eq!(sealed(&mut sender, DATA, b"abc"), first);
}

#[test]
fn sequence_numbers_do_not_wrap() {
    let mut sender = Protection::Tls13.sender();
    sender.set_max_fragment_size(Some(32)).unwrap();
    sender.seq = u64::MAX - 2;
    let mut out = vec![0xee; 200];
    // three records, two numbers left
    assert_eq!(
        sender.seal(DATA, (&plaintext(60)[..]).into(), &mut out),
        Err(SealError::Exhausted)
    );
    assert!(out.iter().all(|byte| *byte == 0xee));
    assert_eq!(sender.sequence(), u64::MAX - 2);

    sealed(&mut sender, DATA, &plaintext(54));
    assert_eq!(sender.sequence(), u64::MAX);
    assert_eq!(
        sender.seal(DATA, b"a".into(), &mut out),
        Err(SealError::Exhausted)
    );
    assert_eq!(
        sender.seal_in_place(DATA, &mut out, 20..30),
        Err(SealInPlaceError::Exhausted)
    );
    assert!(out.iter().all(|byte| *byte == 0xee));
    assert_eq!(sender.seal(DATA, (&[]).into(), &mut out), Ok(0));
    assert_eq!(sender.payload_left(), 0);
}

#[test]
fn payload_left_counts_records_and_keeps_one_for_the_key_update() {
    let mut sender = RecordSender::new();
    assert_eq!(sender.payload_left(), usize::MAX);
    sender.set_encrypter(Protection::Tls13.encrypter(), ProtocolVersion::TLSv1_3, 4);
    sender.set_max_fragment_size(Some(105)).unwrap();
    for left in [300, 200, 100, 0, 0] {
        assert_eq!(sender.payload_left(), left);
        sealed(&mut sender, DATA, b"a");
    }
    // records beyond the limit can still be sent, because alerts must be
    assert_eq!(sender.sequence(), 5);

    // if the AEAD has no limit, the sequence numbers set one; some are reserved for alerts
    for mut sender in [RecordSender::new(), Protection::Tls12Chacha20.sender()] {
        sender.seq = u64::MAX - 18;
        assert_eq!(sender.payload_left(), 16384);
        sealed(&mut sender, DATA, b"a");
        assert_eq!(sender.payload_left(), 0);
        sealed(&mut sender, ContentType::Alert, b"a");
    }

    sender.set_encrypter(Protection::Tls13.encrypter(), ProtocolVersion::TLSv1_3, 0);
    assert_eq!(sender.payload_left(), 0);
}

#[test]
fn a_key_protects_as_much_data_as_fits_its_remaining_records() {
    let mut sender = RecordSender::new();
    sender.set_encrypter(Protection::Tls13.encrypter(), ProtocolVersion::TLSv1_3, 4);
    sender.set_max_fragment_size(Some(105)).unwrap();
    for left in [3, 2, 1, 0, 0] {
        for len in [0, 1, 99, 100, 101, 199, 200, 201, 299, 300, 301, usize::MAX] {
            let fits = left != 0 && len <= left * 100;
            assert_eq!(sender.can_protect(len), fits, "{len} of {left}");
            let fits_one = left != 0 && len != 0 && len <= 100;
            assert_eq!(sender.can_protect_one(len), fits_one, "{len} of {left}");
        }
        let used = sealed(&mut sender, DATA, b"a").len();
        assert_eq!(sender.record_len(1), used);
        assert_eq!(sender.record_len(0), used - 1);
    }
}

#[test]
fn a_retired_key_protects_no_more_payload() {
    for uses in [0, 2] {
        let mut sender = RecordSender::new();
        sender.set_encrypter(Protection::Tls13.encrypter(), ProtocolVersion::TLSv1_3, 10);
        sender.set_max_fragment_size(Some(105)).unwrap();
        for _ in 0..uses {
            sealed(&mut sender, DATA, b"a");
        }
        assert!(sender.can_protect(1));
        sender.retire_key();
        sender.retire_key();
        assert!(!sender.can_protect(0) && !sender.can_protect(1));
        assert_eq!(sender.payload_left(), 0);
        // the next key can protect a full payload
        assert_eq!(sender.payload_per_key(), 900);
        // one more record for the KeyUpdate, or for an alert
        sealed(&mut sender, ContentType::Handshake, b"a");
        assert_eq!(sender.sequence(), uses + 1);

        sender.set_encrypter(Protection::Tls13.encrypter(), ProtocolVersion::TLSv1_3, 10);
        assert_eq!(sender.payload_left(), 900);
    }
}

/// Claims to have written `claimed` bytes.
struct Liar {
    claimed: Result<usize, EncryptError>,
}

impl MessageEncrypter for Liar {
    fn encrypt(
        &mut self,
        _: OutboundPlainMessage<'_>,
        _: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        out.fill(1);
        self.claimed
    }

    fn encrypt_in_place(
        &mut self,
        _: ContentType,
        _: ProtocolVersion,
        _: usize,
        _: u64,
        _: &mut [u8],
    ) -> Result<usize, EncryptError> {
        self.claimed
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + 7
    }

    fn payload_offset(&self) -> usize {
        3
    }
}

#[test]
fn a_wrong_output_length_from_an_encrypter_uses_up_the_sequence_number() {
    for claimed in [
        Ok(0),
        Ok(9),
        Ok(11),
        Ok(usize::MAX),
        Err(EncryptError::Failed),
        Err(EncryptError::InsufficientSize(InsufficientSizeError {
            required_size: 12,
        })),
    ] {
        let mut sender = RecordSender::new();
        sender.set_encrypter(Box::new(Liar { claimed }), ProtocolVersion::TLSv1_3, 9);
        assert_eq!(sender.in_place_room().headroom, 8);
        assert_eq!(sender.in_place_room().tailroom, 4);
        let mut out = [0xee; 40];
        assert_eq!(
            sender.seal(DATA, b"abc".into(), &mut out),
            Err(SealError::Failed)
        );
        assert_eq!(out[15..], [0xee; 25], "room beyond the requested length");
        assert_eq!(sender.sequence(), 1, "a number is never used twice");
        assert_eq!(
            sender.seal_in_place(DATA, &mut out, 8..11),
            Err(SealInPlaceError::Failed)
        );
        assert_eq!(sender.sequence(), 2);
    }
    let mut sender = RecordSender::default();
    sender.set_encrypter(
        Box::new(Liar { claimed: Ok(10) }),
        ProtocolVersion::TLSv1_3,
        9,
    );
    assert_eq!(sealed(&mut sender, DATA, b"abc").len(), 15);
}

/// An encrypter that claims these lengths, and claims to have filled its output.
struct Claims {
    expansion: usize,
    offset: usize,
    /// Called when the encrypter is dropped.
    dropped: fn(),
}

fn claims(expansion: usize, offset: usize) -> Claims {
    Claims {
        expansion,
        offset,
        dropped: || (),
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        (self.dropped)();
    }
}

impl MessageEncrypter for Claims {
    fn encrypt(
        &mut self,
        _: OutboundPlainMessage<'_>,
        _: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        Ok(out.len())
    }

    fn encrypt_in_place(
        &mut self,
        _: ContentType,
        _: ProtocolVersion,
        _: usize,
        _: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        Ok(out.len())
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        self.expansion.saturating_add(payload_len)
    }

    fn payload_offset(&self) -> usize {
        self.offset
    }
}

#[test]
fn an_encrypter_with_impossible_lengths_seals_nothing() {
    for (version, most) in [
        (ProtocolVersion::TLSv1_3, 256),
        (ProtocolVersion::TLSv1_2, 2048),
    ] {
        let huge = [most + 1, 20_000, usize::MAX / 2, usize::MAX];
        let beyond = [1, most].into_iter().chain(huge).map(|offset| (0, offset));
        let equal = huge.map(|len| (len, len));
        for (expansion, offset) in huge
            .map(|len| (len, 0))
            .into_iter()
            .chain(equal)
            .chain(beyond)
        {
            let mut sender = RecordSender::new();
            let encrypter = Box::new(claims(expansion, offset));
            assert!(!sender.set_encrypter(encrypter, version, 9));
            let mut out = [0; 40];
            let sealed = sender.seal(DATA, b"abc".into(), &mut out);
            assert_eq!(sealed, Err(SealError::Failed), "{expansion} {offset}");
            let in_place = sender.seal_in_place(DATA, &mut out, 8..11);
            assert_eq!(in_place, Err(SealInPlaceError::Failed));
            assert_eq!(sender.sealed_len(3), 8);
        }
        for (expansion, offset) in [(0, 0), (most, 0), (most, most)] {
            let mut sender = RecordSender::new();
            let encrypter = Box::new(claims(expansion, offset));
            assert!(sender.set_encrypter(encrypter, version, 9));
            assert_eq!(
                sealed(&mut sender, DATA, b"abc").len(),
                8 + most.min(expansion)
            );
        }
    }
}

/// Claims to have written everything, but writes nothing.
struct Idle;

impl MessageEncrypter for Idle {
    fn encrypt(
        &mut self,
        _: OutboundPlainMessage<'_>,
        _: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        Ok(out.len())
    }

    fn encrypt_in_place(
        &mut self,
        _: ContentType,
        _: ProtocolVersion,
        _: usize,
        _: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        Ok(out.len())
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + 17
    }

    fn payload_offset(&self) -> usize {
        0
    }
}

#[cfg(feature = "std")]
#[test]
fn an_external_encrypter_sees_no_bytes_of_another_connection() {
    const SECRET: u8 = 0x5a;
    // plaintext received by one connection
    let mut received = ReceiveBuffer::default();
    let read = received.receive(|room| {
        room.fill(SECRET);
        room[..HEADER_LEN].copy_from_slice(&[23, 3, 3, 0x0f, 0xfb]);
        Ok::<_, ()>(room.len())
    });
    let len = read.unwrap();
    received.keep(len, HEADER_LEN..len);
    received.consume(len);

    // another connection seals in the same memory
    let mut sender = RecordSender::new();
    sender.set_encrypter(Box::new(Idle), ProtocolVersion::TLSv1_3, 9);
    let mut outgoing = OutgoingBuffer::default();
    let room = outgoing.room(sender.sealed_len(16384));
    assert!(!room.contains(&SECRET));
    let len = sender.seal(DATA, (&[1; 16384]).into(), room).unwrap();
    outgoing.commit(len);
    assert!(!outgoing.pending().contains(&SECRET));
}

#[test]
fn output_is_cleared_only_for_external_encrypters() {
    let clears_output = |sender: &RecordSender| match &sender.protection {
        super::Protection::Sealed(sealer) => sealer.clears_output,
        _ => unreachable!("the sender has a key"),
    };
    for protection in Protection::ALL {
        assert!(!clears_output(&protection.sender()), "{protection}");
    }
    let mut sender = Protection::Tls13.sender();
    sender.set_encrypter(Box::new(Idle), ProtocolVersion::TLSv1_3, 9);
    assert!(clears_output(&sender));
    let records = sealed(&mut sender, DATA, &plaintext(40_000));
    for record in records.chunks(HEADER_LEN + 16384 + 17) {
        assert!(record[HEADER_LEN..].iter().all(|byte| *byte == 0));
    }
    // framing does not need the memory cleared, but its key may
    let framing = Tls13Framing::<IdleAlgorithm>::NEW;
    let encrypter = framing.encrypter(AeadKey::from([0; 32]), Iv::new([0; 12]));
    sender.set_encrypter(encrypter, ProtocolVersion::TLSv1_3, 9);
    assert!(clears_output(&sender));
    sender.set_encrypter(Box::new(Idle), ProtocolVersion::TLSv1_3, 9);
    // memory that is sealed in place belongs to the caller
    let mut buf = [7; 40];
    sender.seal_in_place(DATA, &mut buf, 10..20).unwrap();
    assert_eq!(buf[10..20], [7; 10]);
}

#[test]
fn debug_shows_the_state_of_a_sender() {
    assert_eq!(Error::from(insufficient(7)), Error::EncryptError);
    assert_eq!(
        format!("{:?}", RecordSender::new()),
        "RecordSender { encrypting: false, seq: 0, .. }"
    );
}

#[test]
fn nothing_is_sealed_after_close() {
    for mut sender in [RecordSender::new(), Protection::Tls13.sender()] {
        let mut out = [0xee; 100];
        sender.close();
        assert!(!sender.is_encrypting());
        for payload in [&b"abc"[..], b""] {
            let sealed = sender.seal(DATA, payload.into(), &mut out);
            assert_eq!(sealed, Err(SealError::Exhausted));
            let sealed = sender.seal_in_place(DATA, &mut out, 40..40 + payload.len());
            assert_eq!(sealed, Err(SealInPlaceError::Exhausted));
        }
        assert_eq!(out, [0xee; 100]);
        assert_eq!(sender.payload_left(), 0);

        // even with another key
        sender.set_encrypter(Protection::Tls13.encrypter(), ProtocolVersion::TLSv1_3, 100);
        let sealed = sender.seal(DATA, b"abc".into(), &mut out);
        assert_eq!(sealed, Err(SealError::Exhausted));
        assert!(!sender.is_encrypting());
    }
}

/// Each connection holds one of each, even while idle.
#[cfg(target_pointer_width = "64")]
#[test]
fn the_structs_of_both_directions_are_small() {
    assert_eq!(size_of::<RecordSender>(), 72);
    assert_eq!(size_of::<crate::record::receiver::RecordReceiver>(), 56);
}

/// Returns a sender that counts, in the same state as `sender`.
fn counting(mut sender: RecordSender) -> RecordSender {
    sender.count(Box::default());
    sender
}

/// Returns the result of sealing, and the output.
fn seal(sender: &mut RecordSender, payload: &[u8]) -> (Result<usize, SealError>, Vec<u8>) {
    let mut out = vec![0xee; 300];
    let sealed = sender.seal(DATA, payload.into(), &mut out);
    (sealed, out)
}

#[test]
fn a_counting_sender_seals_like_any_other() {
    type Change = fn(&mut RecordSender, Protection);
    let changes: [Change; 7] = [
        |_, _| {},
        |sender, _| sender.set_max_fragment_size(Some(32)).unwrap(),
        |sender, _| sender.retire_key(),
        |sender, it| {
            sender.set_encrypter(it.encrypter(), it.version(), 1);
        },
        |sender, _| sender.clear_encrypter(),
        |sender, _| sender.set_plaintext_version(ProtocolVersion::TLSv1_0),
        |sender, _| sender.close(),
    ];
    for protection in Protection::ALL {
        for begins_plain in [false, true] {
            let new = || match begins_plain {
                true => RecordSender::new(),
                false => protection.sender(),
            };
            let (mut plain, mut counted) = (new(), counting(new()));
            let mut expected = Traffic::default();
            // again after `close`
            for change in changes.iter().chain(&changes) {
                change(&mut plain, protection);
                change(&mut counted, protection);
                for len in [1, 90, 0, 400] {
                    let before = plain.sequence();
                    let sealed = seal(&mut plain, &plaintext(len));
                    assert_eq!(seal(&mut counted, &plaintext(len)), sealed, "{len}");
                    if let (Ok(len), _) = sealed {
                        expected.add(plain.sequence() - before, len);
                    }
                }
                for payload in [40..60, 0..10, 290..310, 50..50] {
                    let (mut buf, mut same) = (plaintext(300), plaintext(300));
                    let range = plain.seal_in_place(DATA, &mut buf, payload.clone());
                    let counted = counted.seal_in_place(DATA, &mut same, payload);
                    assert_eq!((&counted, same), (&range, buf));
                    if let Ok(range @ Range { start: ..40, .. }) = range {
                        expected.add(1, range.len());
                    }
                }
                assert_eq!(format!("{counted:?}"), format!("{plain:?}"));
                assert_eq!(counted.sealed_len(200), plain.sealed_len(200));
                assert_eq!(counted.payload_left(), plain.payload_left());
                assert_eq!(counted.in_place_room(), plain.in_place_room());
                assert_eq!(counted.traffic(), Some(expected));
                assert_eq!(plain.traffic(), None);
            }
        }
    }
}

/// The memory of a counter outlives its connection.
#[test]
fn a_stopped_counter_holds_no_key() {
    let mut sender = counting(Protection::Tls13.sender());
    let counter = sender.stop_counting().unwrap();
    assert!(matches!(counter.protection, super::Protection::Closed));
    assert!(sender.is_encrypting());
    let (sealed, _) = seal(&mut sender, b"uncounted");
    assert!(sealed.is_ok());
    sender.count(counter);
    assert_eq!(sender.traffic(), Some(Traffic::default()));
}

#[cfg(feature = "std")]
#[test]
fn counts_survive_a_panic_in_the_encrypter() {
    struct Panics(Box<dyn MessageEncrypter>);

    impl MessageEncrypter for Panics {
        fn encrypt(
            &mut self,
            msg: OutboundPlainMessage<'_>,
            seq: u64,
            out: &mut [u8],
        ) -> Result<usize, EncryptError> {
            assert_eq!(seq, 0);
            self.0.encrypt(msg, seq, out)
        }

        fn encrypt_in_place(
            &mut self,
            _: ContentType,
            _: ProtocolVersion,
            _: usize,
            _: u64,
            _: &mut [u8],
        ) -> Result<usize, EncryptError> {
            Err(EncryptError::Failed)
        }

        fn encrypted_payload_len(&self, payload_len: usize) -> usize {
            self.0.encrypted_payload_len(payload_len)
        }

        fn payload_offset(&self) -> usize {
            self.0.payload_offset()
        }
    }

    let mut sender = counting(RecordSender::new());
    let encrypter = Box::new(Panics(Protection::Tls13.encrypter()));
    sender.set_encrypter(encrypter, ProtocolVersion::TLSv1_3, u64::MAX);
    assert_eq!(seal(&mut sender, b"sent").0, Ok(26));
    let sealing = std::panic::AssertUnwindSafe(|| seal(&mut sender, b"not sent"));
    assert!(std::panic::catch_unwind(sealing).is_err());
    let mut expected = Traffic::default();
    expected.add(1, 26);
    assert_eq!(sender.traffic(), Some(expected));
}

/// The encrypter may belong to the application, and so may its `drop`.
#[cfg(feature = "std")]
#[test]
fn the_sender_stays_intact_if_dropping_its_encrypter_panics() {
    for is_counted in [false, true] {
        let mut sender = RecordSender::new();
        if is_counted {
            sender = counting(sender);
        }
        let encrypter = Box::new(Claims {
            expansion: 17,
            offset: 0,
            dropped: || panic!("as planned"),
        });
        sender.set_encrypter(encrypter, ProtocolVersion::TLSv1_3, 9);
        assert!(seal(&mut sender, b"early data").0.is_ok());
        let clearing = std::panic::AssertUnwindSafe(|| sender.clear_encrypter());
        assert!(std::panic::catch_unwind(clearing).is_err());
        assert!(!sender.is_encrypting());
        assert_eq!(sender.sequence(), 0);
        assert_eq!(seal(&mut sender, b"abc").0, Ok(8), "{is_counted}");
    }
}
