use alloc::string::ToString;
use alloc::vec::Vec;
use alloc::{format, vec};

use super::*;
use crate::codec::Payload;
use crate::error::PeerMisbehaved;

const IV: [u8; 12] = [0x10, 0x20, 0x30, 0x40, 0, 0, 0, 0, 0, 0, 0, 0xff];

#[test]
fn nonce_is_the_padded_sequence_number_xored_into_the_iv() {
    let nonce = |seq| Nonce::new(&Iv::new(IV), seq).0;
    assert_eq!(nonce(0), IV);
    assert_eq!(
        nonce(0x0102_0304_0506_0708),
        [0x10, 0x20, 0x30, 0x40, 1, 2, 3, 4, 5, 6, 7, 8 ^ 0xff]
    );
    assert_eq!(nonce(u64::MAX)[..4], IV[..4]);
    assert_eq!(nonce(u64::MAX)[11], 0);
}

#[test]
fn nonce_of_a_path_starts_with_its_identifier() {
    let iv = Iv::from(IV);
    assert_eq!(Nonce::for_path(0, &iv, 7).0, Nonce::new(&iv, 7).0);
    assert_eq!(
        Nonce::for_path(0x0a0b_0c0d, &iv, 1).0,
        [0x1a, 0x2b, 0x3c, 0x4d, 0, 0, 0, 0, 0, 0, 0, 0xfe]
    );
}

#[test]
fn additional_data_matches_the_rfcs() {
    // RFC 9846 §5.2: the header of the record
    assert_eq!(make_tls13_aad(0x1234), [23, 3, 3, 0x12, 0x34]);
    // RFC 5246 §6.2.3.3: sequence number, type, version, length
    assert_eq!(
        make_tls12_aad(
            0x0102_0304_0506_0708,
            ContentType::Handshake,
            ProtocolVersion::TLSv1_2,
            0x1234
        ),
        [1, 2, 3, 4, 5, 6, 7, 8, 22, 3, 3, 0x12, 0x34]
    );
}

#[test]
fn keys_and_ivs_keep_their_bytes() {
    assert_eq!(Iv::copy(&IV).as_ref(), IV);
    assert_eq!(Iv::new(IV).clone().as_ref(), IV);
    assert_eq!(Iv::default().as_ref(), [0; 12]);
    assert_eq!(AeadKey::new(&[1, 2, 3]).as_ref(), [1, 2, 3]);
    assert_eq!(AeadKey::from([7; 32]).as_ref(), [7; 32]);
    let key: Vec<u8> = (0..32).collect();
    assert_eq!(AeadKey::new(&key).with_length(16).as_ref(), &key[..16]);
}

#[test]
#[should_panic]
fn an_iv_of_the_wrong_length_panics() {
    Iv::copy(&IV[1..]);
}

#[test]
fn check_size_truncates_long_output_and_rejects_short_output() {
    let mut out = [0; 10];
    assert_eq!(
        EncryptError::check_size(&mut out, 10).map(|out| out.len()),
        Ok(10)
    );
    assert_eq!(
        EncryptError::check_size(&mut out, 3).map(|out| out.len()),
        Ok(3)
    );
    assert_eq!(
        EncryptError::check_size(&mut out, 11),
        Err(EncryptError::InsufficientSize(InsufficientSizeError {
            required_size: 11
        }))
    );
}

#[test]
fn errors_name_their_cause() {
    let short = InsufficientSizeError { required_size: 77 };
    assert!(short.to_string().contains("77 bytes"));
    let short = EncryptError::InsufficientSize(short);
    assert!(short.to_string().contains("77 bytes"));
    assert_eq!(EncryptError::Failed.to_string(), "encryption failed");
    assert_eq!(Error::from(short), Error::EncryptError);
    assert_eq!(
        EncryptError::from(crate::crypto::aead::AeadError),
        EncryptError::Failed
    );
    assert_eq!(
        Error::from(UnsupportedOperationError),
        Error::General("operation not supported".into())
    );
}

/// Splits `bytes` into chunks with the lengths `lens`, followed by the rest.
fn chunked<'a>(bytes: &'a [u8], lens: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut chunks = Vec::new();
    for len in lens {
        let (chunk, behind) = rest.split_at(*len);
        chunks.push(chunk);
        rest = behind;
    }
    chunks.push(rest);
    chunks
}

#[test]
fn chunks_equal_their_concatenation() {
    const STEP: usize = if cfg!(miri) { 13 } else { 1 };
    let bytes: Vec<u8> = (0..40).collect();
    for lens in [&[][..], &[40], &[0, 10, 0, 0, 29, 1], &[1; 39]] {
        let chunks = chunked(&bytes, lens);
        let all = OutboundChunks::new(&chunks);
        assert_eq!((all.len(), all.is_empty()), (40, false));
        for from in (0..=40).step_by(STEP) {
            let (_, back) = all.split_at(from);
            for len in (0..=40 - from).step_by(STEP) {
                let (part, rest) = back.split_at(len);
                let expected = &bytes[from..from + len];
                assert_eq!(part.to_vec(), expected, "{lens:?}, {from}, {len}");
                assert_eq!(part.len(), len);
                assert_eq!(part.is_empty(), len == 0);
                assert_eq!(rest.to_vec(), &bytes[from + len..]);

                let mut out = [0xee; 41];
                part.copy_to_slice(&mut out);
                assert_eq!(&out[..len], expected);
                assert!(out[len..].iter().all(|byte| *byte == 0xee));

                let mut vec = vec![9];
                part.copy_to_vec(&mut vec);
                assert_eq!((vec[0], &vec[1..]), (9, expected));
            }
        }
        let (front, back) = all.split_at(41);
        assert_eq!((front.len(), back.len()), (40, 0));
    }
}

#[test]
fn contiguous_chunks_are_recognised() {
    let bytes: Vec<u8> = (0..40).collect();
    let chunks = chunked(&bytes, &[0, 10, 0, 0, 29, 1]);
    let all = OutboundChunks::new(&chunks);
    assert_eq!(all.as_single(), None);
    let piece = |from, len| all.split_at(from).1.split_at(len).0.as_single();
    assert_eq!(piece(0, 10), Some(&bytes[..10]));
    assert_eq!(piece(3, 7), Some(&bytes[3..10]));
    assert_eq!(piece(10, 29), Some(&bytes[10..39]));
    assert_eq!(piece(38, 1), Some(&bytes[38..39]));
    assert_eq!(piece(39, 1), Some(&bytes[39..]));
    assert_eq!(piece(20, 0), Some(&[][..]));
    assert_eq!(piece(9, 2), None);
    assert_eq!(piece(38, 2), None);

    assert_eq!(
        OutboundChunks::from(&bytes[..]).as_single(),
        Some(&bytes[..])
    );
    assert_eq!(OutboundChunks::from(b"abc").as_single(), Some(&b"abc"[..]));
    assert_eq!(OutboundChunks::new(&[&bytes]).as_single(), Some(&bytes[..]));
    for empty in [
        OutboundChunks::new(&[]),
        OutboundChunks::new_empty(),
        OutboundChunks::new(&[&[], &[]]),
    ] {
        assert!(empty.is_empty());
        assert_eq!(empty.as_single(), Some(&[][..]));
        assert!(empty.to_vec().is_empty());
    }
}

#[test]
fn chunks_with_reversed_bounds_are_empty() {
    let chunks = OutboundChunks::Multiple {
        chunks: &[b"abc", b"def"],
        start: 5,
        end: 2,
    };
    assert!(chunks.is_empty());
    assert!(chunks.to_vec().is_empty());
}

/// Overlapping pieces may have a total length beyond the address space. With 64 bits, this test
/// would take too long.
#[cfg(target_pointer_width = "32")]
#[test]
fn chunks_whose_total_exceeds_usize_max_are_truncated() {
    const LEN: usize = 1 << 26;
    let mut bytes = vec![0; LEN];
    bytes[0] = 1;
    let chunks = [&bytes[..]; 65];
    let all = OutboundChunks::new(&chunks);
    assert_eq!(all.len(), usize::MAX);
    let (front, back) = all.split_at(3);
    assert_eq!(front.to_vec(), [1, 0, 0]);
    assert_eq!(back.len(), usize::MAX - 3);
    let (front, back) = back.split_at(63 * LEN - 4);
    assert_eq!(front.len(), 63 * LEN - 4);
    assert_eq!(back.split_at(3).0.to_vec(), [0, 1, 0]);
    let (_, last) = all.split_at(usize::MAX - 2);
    assert_eq!(last.to_vec(), [0, 0]);
}

/// If each part kept all chunks, splitting a payload into records would take quadratic time.
#[test]
fn parts_keep_only_their_own_chunks() {
    let chunks: [&[u8]; 5] = [b"ab", b"cd", b"", b"ef", b"gh"];
    let chunks_of = |part: &OutboundChunks<'_>| match part {
        OutboundChunks::Multiple { chunks, .. } => chunks.concat(),
        OutboundChunks::Single(_) => panic!("there are several"),
    };
    let (front, back) = OutboundChunks::new(&chunks).split_at(3);
    assert_eq!(
        (chunks_of(&front), front.to_vec()),
        (b"abcd".to_vec(), b"abc".to_vec())
    );
    assert_eq!(
        (chunks_of(&back), back.to_vec()),
        (b"cdefgh".to_vec(), b"defgh".to_vec())
    );
    let (middle, back) = back.split_at(2);
    assert_eq!(
        (chunks_of(&middle), middle.to_vec()),
        (b"cdef".to_vec(), b"de".to_vec())
    );
    assert_eq!(
        (chunks_of(&back), back.to_vec()),
        (b"efgh".to_vec(), b"fgh".to_vec())
    );
}

#[test]
fn a_borrowed_payload_can_only_be_shortened() {
    let mut bytes = *b"payload";
    let mut msg =
        InboundOpaqueMessage::new(ContentType::Alert, ProtocolVersion::TLSv1_2, &mut bytes);
    msg.payload[0] = b'P';
    msg.payload.truncate(100);
    assert_eq!(*msg.payload, *b"Payload");
    msg.payload.truncate(3);
    assert_eq!(*msg.payload, *b"Pay");
    msg.payload.truncate(7);
    assert_eq!(*msg.payload, *b"Pay");
    let plain = msg.into_plain_message();
    assert_eq!(plain.typ, ContentType::Alert);
    assert_eq!(plain.version, ProtocolVersion::TLSv1_2);
    assert_eq!(plain.payload, b"Pay");
    assert_eq!(bytes, *b"Payload");
}

#[test]
fn a_plain_message_may_be_part_of_the_payload() {
    let mut bytes = *b"payload";
    let msg = InboundOpaqueMessage::new(ContentType::Alert, ProtocolVersion::TLSv1_2, &mut bytes);
    assert_eq!(msg.into_plain_message_range(3..6).payload, b"loa");
}

#[test]
fn an_inner_plaintext_ends_with_type_and_padding() {
    let unpadded = |inner: &[u8]| {
        let mut inner = inner.to_vec();
        InboundOpaqueMessage::new(
            ContentType::ApplicationData,
            ProtocolVersion::TLSv1_2,
            &mut inner,
        )
        .into_tls13_unpadded_message()
        .map(|msg| (msg.typ, msg.payload.to_vec()))
    };
    assert_eq!(
        unpadded(b"hello\x16\0\0"),
        Ok((ContentType::Handshake, b"hello".to_vec()))
    );
    assert_eq!(unpadded(&[23]), Ok((ContentType::ApplicationData, vec![])));
    for zeros in [0, 1, MAX_FRAGMENT_LEN + 1] {
        assert_eq!(
            unpadded(&vec![0; zeros]),
            Err(PeerMisbehaved::IllegalTlsInnerPlaintext.into())
        );
    }
    for padding in (0..70).chain([MAX_FRAGMENT_LEN - 2]) {
        for before in [&b"\x16"[..], b"a\x16", b"\0\0\x16"] {
            let inner = [before, &vec![0; padding]].concat();
            let content = before[..before.len() - 1].to_vec();
            assert_eq!(unpadded(&inner), Ok((ContentType::Handshake, content)));
        }
    }
    let longest = vec![23; MAX_FRAGMENT_LEN + 1];
    assert_eq!(unpadded(&longest).unwrap().1, longest[1..]);
    assert_eq!(
        unpadded(&vec![23; MAX_FRAGMENT_LEN + 2]),
        Err(Error::PeerSentOversizedRecord)
    );
}

#[test]
fn a_plain_message_can_be_borrowed_for_either_direction() {
    let msg = PlainMessage {
        typ: ContentType::Alert,
        version: ProtocolVersion::TLSv1_2,
        payload: Payload::from(vec![2, 40]),
    };
    let outbound = msg.borrow_outbound();
    assert_eq!((outbound.typ, outbound.version), (msg.typ, msg.version));
    assert_eq!(outbound.payload.as_single(), Some(&[2, 40][..]));
    let inbound = msg.borrow_inbound();
    assert_eq!((inbound.typ, inbound.version), (msg.typ, msg.version));
    assert_eq!(inbound.payload, [2, 40]);
    assert!(format!("{outbound:?} {inbound:?} {msg:?}").contains("Alert"));
}
