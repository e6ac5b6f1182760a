//! Seals and opens records of every cipher suite with both providers. The record does not depend on
//! how the plaintext is passed, and each provider opens the records of the other.

use rustls_core::crypto::cipher::{
    AeadKey, EncryptError, InboundOpaqueMessage, InsufficientSizeError, Iv, MessageDecrypter,
    MessageEncrypter, OutboundChunks, OutboundPlainMessage,
};
use rustls_core::enums::{ContentType, ProtocolVersion};
use rustls_core::error::{Error, PeerMisbehaved};
use rustls_core::record::sender::{RecordSender, SealInPlaceError};
use rustls_core::record::{HEADER_LEN, MAX_FRAGMENT_LEN};
use rustls_core::suites::SupportedCipherSuite;

/// Returns the suites of both providers, in pairs.
fn suites() -> impl Iterator<Item = [SupportedCipherSuite; 2]> {
    let aws_lc = rustls_provider_aws_lc::ALL_CIPHER_SUITES;
    let ring = rustls_provider_ring::ALL_CIPHER_SUITES;
    assert_eq!(aws_lc.len(), 9);
    aws_lc.iter().zip(ring).map(|(aws_lc, ring)| {
        assert_eq!(aws_lc.suite(), ring.suite());
        [*aws_lc, *ring]
    })
}

/// Returns all suites of both providers.
fn all_suites() -> impl Iterator<Item = SupportedCipherSuite> {
    suites().flatten()
}

fn encrypter(suite: SupportedCipherSuite) -> Box<dyn MessageEncrypter> {
    match suite {
        SupportedCipherSuite::Tls13(suite) => {
            let key = key(suite.aead_alg.key_len());
            suite.aead_alg.encrypter(key, Iv::new(IV))
        }
        SupportedCipherSuite::Tls12(suite) => {
            let shape = suite.aead_alg.key_block_shape();
            let (fixed, explicit) = IV.split_at(shape.fixed_iv_len);
            suite
                .aead_alg
                .encrypter(key(shape.enc_key_len), fixed, explicit)
        }
    }
}

fn decrypter(suite: SupportedCipherSuite) -> Box<dyn MessageDecrypter> {
    match suite {
        SupportedCipherSuite::Tls13(suite) => {
            let key = key(suite.aead_alg.key_len());
            suite.aead_alg.decrypter(key, Iv::new(IV))
        }
        SupportedCipherSuite::Tls12(suite) => {
            let shape = suite.aead_alg.key_block_shape();
            let fixed = &IV[..shape.fixed_iv_len];
            suite.aead_alg.decrypter(key(shape.enc_key_len), fixed)
        }
    }
}

fn key(len: usize) -> AeadKey {
    AeadKey::from([0x4b; 32]).with_length(len)
}

const IV: [u8; 12] = *b"twelve bytes";

/// A sequence number in which all bytes differ.
const SEQ: u64 = 0x0102_0304_0506_0708;

fn plaintext(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 % 251) as u8).collect()
}

fn outbound(typ: ContentType, payload: OutboundChunks<'_>) -> OutboundPlainMessage<'_> {
    OutboundPlainMessage {
        typ,
        version: ProtocolVersion::TLSv1_2,
        payload,
    }
}

/// Seals `plain` as one piece. Returns the encrypted payload.
fn seal(suite: SupportedCipherSuite, typ: ContentType, plain: &[u8]) -> Vec<u8> {
    let mut encrypter = encrypter(suite);
    let mut record = vec![0xee; encrypter.encrypted_payload_len(plain.len())];
    let len = encrypter
        .encrypt(outbound(typ, plain.into()), SEQ, &mut record)
        .unwrap();
    assert_eq!(len, record.len());
    record
}

/// Opens a copy of `record`. Returns its type and content.
fn open(
    suite: SupportedCipherSuite,
    typ: ContentType,
    record: &[u8],
    seq: u64,
) -> Result<(ContentType, Vec<u8>), Error> {
    let mut record = record.to_vec();
    let msg = InboundOpaqueMessage::new(typ, ProtocolVersion::TLSv1_2, &mut record);
    let opened = decrypter(suite).decrypt(msg, seq)?;
    Ok((opened.typ, opened.payload.to_vec()))
}

/// Returns the type in the header of a record with content of type `typ`.
fn outer_type(suite: SupportedCipherSuite, typ: ContentType) -> ContentType {
    match suite {
        SupportedCipherSuite::Tls13(_) => ContentType::ApplicationData,
        SupportedCipherSuite::Tls12(_) => typ,
    }
}

#[test]
fn each_provider_opens_records_of_the_other() {
    let lengths = (0..=64)
        .chain(255..=257)
        .chain(1400..=1500)
        .chain(MAX_FRAGMENT_LEN - 1..=MAX_FRAGMENT_LEN);
    for len in lengths {
        let plain = plaintext(len);
        for suites in suites() {
            let typ = ContentType::ApplicationData;
            let records = suites.map(|suite| seal(suite, typ, &plain));
            // with FIPS, the explicit nonces of TLS 1.2 differ
            if !cfg!(feature = "fips") {
                assert!(records[0] == records[1], "{:?} {len}", suites[1]);
            }
            for (suite, record) in suites.iter().zip(records.iter().rev()) {
                let opened = open(*suite, typ, record, SEQ);
                assert!(opened == Ok((typ, plain.clone())), "{suite:?} {len}");
            }
        }
    }
}

#[test]
fn scattered_and_in_place_plaintext_give_the_same_record() {
    let lengths = [0, 1, 16, 17, 100, 1400, MAX_FRAGMENT_LEN];
    for (suite, len) in all_suites().flat_map(|suite| lengths.map(|len| (suite, len))) {
        let plain = plaintext(len);
        let typ = ContentType::Handshake;
        let expected = seal(suite, typ, &plain);

        for (one, two) in [(0, 0), (0, len), (len / 3, len / 2), (len, len)] {
            let pieces = [&plain[..one], &plain[one..two], &plain[two..]];
            let mut record = vec![0xee; expected.len()];
            let msg = outbound(typ, OutboundChunks::new(&pieces));
            encrypter(suite).encrypt(msg, SEQ, &mut record).unwrap();
            assert!(record == expected, "{suite:?} {len} in pieces");
        }

        let mut encrypter = encrypter(suite);
        let offset = encrypter.payload_offset();
        let mut record = vec![0xee; expected.len()];
        record[offset..][..len].copy_from_slice(&plain);
        let version = ProtocolVersion::TLSv1_2;
        let written = encrypter.encrypt_in_place(typ, version, len, SEQ, &mut record);
        assert_eq!(written, Ok(expected.len()));
        assert!(record == expected, "{suite:?} {len} in place");

        let opened = open(suite, outer_type(suite, typ), &record, SEQ);
        assert!(opened == Ok((typ, plain)), "{suite:?} {len}");
    }
}

#[test]
fn output_buffers_that_are_too_short_are_rejected_unchanged() {
    for suite in all_suites() {
        for len in [0, 1, 40] {
            let plain = plaintext(len);
            let typ = ContentType::ApplicationData;
            let expected = seal(suite, typ, &plain);
            let mut encrypter = encrypter(suite);
            let refused = Err(EncryptError::InsufficientSize(InsufficientSizeError {
                required_size: expected.len(),
            }));

            for out_len in 0..expected.len() {
                let mut out = vec![0xee; out_len];
                let msg = || outbound(typ, plain.as_slice().into());
                assert_eq!(encrypter.encrypt(msg(), SEQ, &mut out), refused);
                let version = ProtocolVersion::TLSv1_2;
                let in_place = encrypter.encrypt_in_place(typ, version, len, SEQ, &mut out);
                assert_eq!(in_place, refused);
                assert_eq!(out, vec![0xee; out_len], "{suite:?}");
            }

            let mut out = vec![0xee; expected.len() + 9];
            let msg = outbound(typ, plain.as_slice().into());
            let written = encrypter.encrypt(msg, SEQ, &mut out);
            assert_eq!(written, Ok(expected.len()), "{suite:?}");
            assert_eq!(out, [expected, vec![0xee; 9]].concat());
        }
    }
}

#[test]
fn tampered_and_truncated_records_fail() {
    for suite in all_suites() {
        let typ = ContentType::ApplicationData;
        let record = seal(suite, typ, &plaintext(50));
        assert!(open(suite, typ, &record, SEQ).is_ok());

        let failed = Err(Error::DecryptError);
        for at in 0..record.len() {
            let mut tampered = record.clone();
            tampered[at] ^= 1 << (at % 8);
            assert_eq!(open(suite, typ, &tampered, SEQ), failed, "{suite:?} {at}");
            assert_eq!(open(suite, typ, &record[..at], SEQ), failed, "{suite:?}");
            assert_eq!(open(suite, typ, &record[at + 1..], SEQ), failed);
        }
        assert_eq!(open(suite, typ, &[&record[..], &[0]].concat(), SEQ), failed);
        assert_eq!(open(suite, typ, &record, SEQ + 1), failed, "{suite:?}");
        if suite.tls12().is_some() {
            assert_eq!(open(suite, ContentType::Alert, &record, SEQ), failed);
        }
    }
}

#[test]
fn records_with_different_sequence_numbers_differ() {
    for suite in all_suites() {
        let mut encrypter = encrypter(suite);
        let mut seal = |seq| {
            let mut record = vec![0; encrypter.encrypted_payload_len(5)];
            let msg = outbound(ContentType::ApplicationData, b"hello".into());
            encrypter.encrypt(msg, seq, &mut record).unwrap();
            record
        };
        let numbers = [0, 1, 255, 256, 1 << 32, 1 << 63];
        let records = numbers.map(&mut seal);
        for (i, record) in records.iter().enumerate() {
            assert!(records[..i].iter().all(|earlier| earlier != record));
        }
    }
}

#[test]
fn tls13_padding_is_removed_and_bounded() {
    for suite in all_suites().filter(|suite| suite.tls13().is_some()) {
        let outer = ContentType::ApplicationData;
        // a content type of 0 is padding, so the last non-zero byte becomes the type
        let open_inner = |inner: &[u8]| {
            let (last, rest) = inner.split_last().unwrap();
            let record = seal(suite, ContentType::from(*last), rest);
            open(suite, outer, &record, SEQ)
        };

        for padding in [1, 2, 255, 1000] {
            let inner = [&b"hi\x16"[..], &vec![0; padding]].concat();
            let content = (ContentType::Handshake, b"hi".to_vec());
            assert_eq!(open_inner(&inner), Ok(content));
        }
        assert_eq!(open_inner(&[0x17]), Ok((outer, vec![])));

        let no_type = Err(PeerMisbehaved::IllegalTlsInnerPlaintext.into());
        for len in [1, 2, 16, MAX_FRAGMENT_LEN + 1] {
            assert_eq!(open_inner(&vec![0; len]), no_type, "{len} bytes");
        }

        let mut inner = vec![0; MAX_FRAGMENT_LEN + 1];
        inner[0] = 0x17;
        assert_eq!(open_inner(&inner), Ok((outer, vec![])));
        inner.push(0);
        assert_eq!(open_inner(&inner), Err(Error::PeerSentOversizedRecord));
    }
}

#[test]
fn oversized_plaintext_is_rejected_on_both_sides() {
    for suite in all_suites() {
        let typ = ContentType::ApplicationData;
        let record = seal(suite, typ, &plaintext(MAX_FRAGMENT_LEN + 1));
        let opened = open(suite, typ, &record, SEQ);
        assert_eq!(opened, Err(Error::PeerSentOversizedRecord), "{suite:?}");

        let mut sender = RecordSender::new();
        sender.set_encrypter(encrypter(suite), suite.version().version, u64::MAX);
        let plain = plaintext(MAX_FRAGMENT_LEN + 1);
        let (head, tail) = (sender.head_len(), sender.tail_len());
        let mut buf = [vec![0; head], plain.clone(), vec![0; tail]].concat();
        let sealed = sender.seal_in_place(typ, &mut buf, head..head + plain.len());
        let max = MAX_FRAGMENT_LEN;
        assert_eq!(sealed, Err(SealInPlaceError::PayloadTooLong { max }));

        // a real sender makes two records: a full one and one of one byte
        let mut out = vec![0; sender.sealed_len(plain.len())];
        let len = sender.seal(typ, plain.as_slice().into(), &mut out);
        assert_eq!(len, Ok(out.len()));
        let full = head + MAX_FRAGMENT_LEN + tail;
        assert_eq!(out.len(), full + head + 1 + tail);
        let first = open(suite, typ, &out[HEADER_LEN..full], 0).unwrap();
        let second = open(suite, typ, &out[full + HEADER_LEN..], 1).unwrap();
        assert!([first.1, second.1].concat() == plain);
    }
}
