use alloc::vec;
use alloc::vec::Vec;

use super::super::toy::{IV, IdleAlgorithm, KEY, Protection, plaintext};
use super::*;
use crate::crypto::aead::InPlace;
use crate::crypto::bulk_cipher::BulkCipher;
use crate::crypto::cipher::OutboundChunks;
use crate::crypto::toy::{ToyAead, ToyAlgorithm, ToyOpeningKey};
use crate::error::PeerMisbehaved;

const SEQ: u64 = 0x0102_0304_0506_0708;

/// The nonce of record [`SEQ`], computed by hand: the number, left-padded, XORed into [`IV`].
const NONCE: [u8; 12] = [
    1,
    2,
    3,
    4,
    5 ^ 1,
    6 ^ 2,
    7 ^ 3,
    8 ^ 4,
    9 ^ 5,
    10 ^ 6,
    11 ^ 7,
    12 ^ 8,
];

/// Returns the toy AEAD's ciphertext and tag for these inputs.
fn toy_sealed(aad: &[u8], plain: &[u8]) -> Vec<u8> {
    let mut out = vec![0; plain.len() + TAG_LEN];
    InPlace(ToyAead(KEY))
        .seal(Nonce(NONCE), aad, plain, &[], &mut out)
        .unwrap();
    out
}

fn encrypted(protection: Protection, typ: ContentType, payload: OutboundChunks<'_>) -> Vec<u8> {
    let mut encrypter = protection.encrypter();
    let mut out = vec![0xee; encrypter.encrypted_payload_len(payload.len())];
    let msg = OutboundPlainMessage {
        typ,
        version: ProtocolVersion::TLSv1_2,
        payload,
    };
    assert_eq!(encrypter.encrypt(msg, SEQ, &mut out), Ok(out.len()));
    out
}

/// Returns the type and content of an opened record.
fn decrypted(
    protection: Protection,
    outer_type: ContentType,
    payload: &mut [u8],
) -> Result<(ContentType, Vec<u8>), Error> {
    let msg = InboundOpaqueMessage::new(outer_type, ProtocolVersion::TLSv1_2, payload);
    let plain = protection.decrypter().decrypt(msg, SEQ)?;
    Ok((plain.typ, plain.payload.to_vec()))
}

fn outer_type(protection: Protection, typ: ContentType) -> ContentType {
    match protection {
        Protection::Tls13 => ContentType::ApplicationData,
        _ => typ,
    }
}

#[test]
fn a_tls13_record_matches_the_rfc() {
    // RFC 9846 §5.2: the header is the additional data, the content type follows the content
    let record = encrypted(Protection::Tls13, ContentType::Handshake, b"hello".into());
    assert_eq!(record, toy_sealed(&[23, 3, 3, 0, 22], b"hello\x16"));
}

#[test]
fn a_tls12_gcm_record_matches_the_rfc() {
    // RFC 5246 §6.2.3.3, RFC 5288 §3: seq ‖ header with the plaintext's length; explicit nonce
    // first
    let record = encrypted(Protection::Tls12Gcm, ContentType::Alert, b"hello".into());
    let aad = [1, 2, 3, 4, 5, 6, 7, 8, 21, 3, 3, 0, 5];
    assert_eq!(record[..8], NONCE[4..]);
    assert_eq!(record[8..], toy_sealed(&aad, b"hello"));
}

#[test]
fn a_gcm_key_with_its_own_counter_has_the_sequence_number_as_explicit_nonce() {
    struct Counting;

    impl AeadAlgorithm for Counting {
        type SealingKey = InPlace<ToyAead>;
        type OpeningKey = ToyOpeningKey;

        const CIPHER: BulkCipher = BulkCipher::Aes256Gcm;
        const NONCES_GROW: bool = true;

        fn sealing_key(key: &AeadKey) -> InPlace<ToyAead> {
            ToyAlgorithm::sealing_key(key)
        }

        fn opening_key(key: &AeadKey) -> ToyOpeningKey {
            ToyAlgorithm::opening_key(key)
        }
    }

    let framing = Tls12GcmFraming::<Counting>::NEW;
    let key = || AeadKey::new(&[KEY; 32]);
    let (salt, explicit) = IV.split_at(4);
    let mut encrypter = framing.encrypter(key(), salt, explicit);
    let mut decrypter = framing.decrypter(key(), salt);
    for seq in [0, 1, SEQ] {
        let mut record = vec![0; encrypter.encrypted_payload_len(5)];
        let msg = OutboundPlainMessage {
            typ: ContentType::Alert,
            version: ProtocolVersion::TLSv1_2,
            payload: b"hello".into(),
        };
        encrypter.encrypt(msg, seq, &mut record).unwrap();
        assert_eq!(record[..8], u64::to_be_bytes(seq));
        let msg =
            InboundOpaqueMessage::new(ContentType::Alert, ProtocolVersion::TLSv1_2, &mut record);
        assert_eq!(decrypter.decrypt(msg, seq).unwrap().payload, b"hello");
    }
    // RFC 5288 §3: a later user of the key counts up from a nonce that no sequence number reaches
    let secrets = framing.extract_keys(key(), salt, explicit);
    let Ok(ConnectionTrafficSecrets::Aes256Gcm { iv, .. }) = secrets else {
        panic!("secrets of another cipher");
    };
    assert_eq!(iv.as_ref(), [salt, &[0x80, 0, 0, 0, 0, 0, 0, 0]].concat());
}

#[test]
fn a_tls12_chacha20_record_matches_the_rfc() {
    // RFC 7905 §2: no explicit nonce
    let record = encrypted(
        Protection::Tls12Chacha20,
        ContentType::Alert,
        b"hello".into(),
    );
    let aad = [1, 2, 3, 4, 5, 6, 7, 8, 21, 3, 3, 0, 5];
    assert_eq!(record, toy_sealed(&aad, b"hello"));
}

#[test]
fn scattered_and_in_place_records_equal_contiguous_ones() {
    let plain = plaintext(700);
    for protection in Protection::ALL {
        for len in [0, 1, 15, 16, 17, 255, 256, 700] {
            let plain = &plain[..len];
            let typ = ContentType::ApplicationData;
            let expected = encrypted(protection, typ, plain.into());

            let (front, back) = plain.split_at(len / 3);
            for chunks in [
                &[front, back][..],
                &[&[], front, &[], &[], back, &[]],
                &[&[], plain],
            ] {
                let scattered = encrypted(protection, typ, OutboundChunks::new(chunks));
                assert_eq!(scattered, expected, "{protection}, {len} bytes scattered");
            }

            let mut encrypter = protection.encrypter();
            let mut out = vec![0xee; expected.len() + 3];
            let offset = encrypter.payload_offset();
            out[offset..offset + len].copy_from_slice(plain);
            let version = ProtocolVersion::TLSv1_2;
            let written = encrypter.encrypt_in_place(typ, version, len, SEQ, &mut out);
            assert_eq!(written, Ok(expected.len()));
            assert_eq!(out[..expected.len()], expected, "{protection}, in place");
            assert_eq!(out[expected.len()..], [0xee; 3], "bytes beyond the record");
        }
    }
}

#[test]
fn short_output_is_rejected_unchanged() {
    for protection in Protection::ALL {
        let mut encrypter = protection.encrypter();
        let required_size = encrypter.encrypted_payload_len(9);
        let refused = Err(EncryptError::InsufficientSize(
            crate::crypto::cipher::InsufficientSizeError { required_size },
        ));
        let (typ, version) = (ContentType::ApplicationData, ProtocolVersion::TLSv1_2);
        for len in 0..required_size {
            let mut out = vec![0xee; len];
            let msg = OutboundPlainMessage {
                typ,
                version,
                payload: (&[7; 9]).into(),
            };
            assert_eq!(encrypter.encrypt(msg, 0, &mut out), refused);
            let in_place = encrypter.encrypt_in_place(typ, version, 9, 0, &mut out);
            assert_eq!(in_place, refused);
            assert!(out.iter().all(|byte| *byte == 0xee));
        }
    }
}

#[test]
fn sealed_records_can_be_opened() {
    for protection in Protection::ALL {
        for typ in [ContentType::Handshake, ContentType::ApplicationData] {
            for len in [0, 1, 300, if cfg!(miri) { 1000 } else { MAX_FRAGMENT_LEN }] {
                let plain = plaintext(len);
                let mut record = encrypted(protection, typ, plain[..].into());
                let opened = decrypted(protection, outer_type(protection, typ), &mut record);
                assert_eq!(opened, Ok((typ, plain)), "{protection}");
            }
        }
    }
}

#[test]
fn any_changed_byte_is_detected() {
    for protection in Protection::ALL {
        let typ = ContentType::ApplicationData;
        let record = encrypted(protection, typ, b"some plaintext".into());
        for at in 0..record.len() {
            let mut changed = record.clone();
            changed[at] ^= 0x10;
            let opened = decrypted(protection, typ, &mut changed);
            assert_eq!(opened, Err(Error::DecryptError), "{protection}, byte {at}");
        }
        for len in 0..record.len() {
            let opened = decrypted(protection, typ, &mut record[..len].to_vec());
            assert_eq!(
                opened,
                Err(Error::DecryptError),
                "{protection}, cut to {len}"
            );
        }
        // RFC 9846 §5.2, RFC 5246 §6.2.3.3: the header is authenticated
        for (typ, version) in [
            (ContentType::Handshake, ProtocolVersion::TLSv1_2),
            (typ, ProtocolVersion::TLSv1_0),
        ] {
            let mut record = record.clone();
            let msg = InboundOpaqueMessage::new(typ, version, &mut record);
            let opened = protection.decrypter().decrypt(msg, SEQ);
            assert_eq!(opened.err(), Some(Error::DecryptError), "{protection}");
        }
        // the sequence number is authenticated too
        let mut record = record;
        let msg = InboundOpaqueMessage::new(typ, ProtocolVersion::TLSv1_2, &mut record);
        let opened = protection.decrypter().decrypt(msg, SEQ + 1);
        assert_eq!(opened.err(), Some(Error::DecryptError), "{protection}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "records of full length")]
fn oversized_plaintext_is_rejected_after_opening() {
    for protection in Protection::ALL {
        let typ = ContentType::ApplicationData;
        let plain = vec![1; MAX_FRAGMENT_LEN + 1];
        let mut record = encrypted(protection, typ, plain[..].into());
        assert_eq!(
            decrypted(protection, typ, &mut record),
            Err(Error::PeerSentOversizedRecord),
            "{protection}"
        );
    }
}

#[test]
fn framings_report_the_properties_of_their_algorithm() {
    let tls13 = Tls13Framing::<IdleAlgorithm>::NEW;
    let gcm = Tls12GcmFraming::<IdleAlgorithm>::NEW;
    let chacha20 = Tls12Chacha20Framing::<IdleAlgorithm>::NEW;
    assert!(tls13.fips() && gcm.fips() && chacha20.fips());

    let key = || AeadKey::new(&[KEY; 32]);
    let overwrites =
        |encrypter: Box<dyn MessageEncrypter>| encrypter.overwrites_output(FromThisCrate::new());
    for encrypter in [
        tls13.encrypter(key(), Iv::new(IV)),
        gcm.encrypter(key(), &IV[..4], &IV[4..]),
        chacha20.encrypter(key(), &IV, &[]),
    ] {
        assert!(!overwrites(encrypter));
    }
    for protection in Protection::ALL {
        assert!(overwrites(protection.encrypter()), "{protection}");
    }
}

/// A provider's key may rely on a tag being present.
#[test]
fn records_without_a_tag_do_not_reach_the_key() {
    let key = || AeadKey::new(&[KEY; 32]);
    for mut decrypter in [
        Tls13Framing::<IdleAlgorithm>::NEW.decrypter(key(), Iv::new(IV)),
        Tls12GcmFraming::<IdleAlgorithm>::NEW.decrypter(key(), &IV[..4]),
        Tls12Chacha20Framing::<IdleAlgorithm>::NEW.decrypter(key(), &IV),
    ] {
        for typ in [ContentType::ApplicationData, ContentType::Handshake] {
            for len in 0..30 {
                let mut payload = vec![0; len];
                let msg = InboundOpaqueMessage::new(typ, ProtocolVersion::TLSv1_2, &mut payload);
                assert_eq!(decrypter.decrypt(msg, 0).err(), Some(Error::DecryptError));
            }
        }
    }
}

#[test]
fn max_content_len_is_the_payload_minus_its_overhead() {
    for protection in Protection::ALL {
        let (encrypter, decrypter) = (protection.encrypter(), protection.decrypter());
        for len in [0, 1, 2, 300, MAX_FRAGMENT_LEN] {
            let payload_len = encrypter.encrypted_payload_len(len);
            assert_eq!(decrypter.max_content_len(payload_len), len, "{protection}");
        }
        for too_short in 0..encrypter.encrypted_payload_len(0) {
            assert_eq!(decrypter.max_content_len(too_short), 0, "{protection}");
        }
    }
}

/// RFC 9846 §5.2: the version in the header of a protected record is authenticated, but has no
/// meaning.
#[test]
fn the_authenticated_version_of_a_tls13_record_is_not_interpreted() {
    for minor in [1, 2, 4] {
        let mut record = toy_sealed(&[23, 3, minor, 0, 22], b"hello\x16");
        let version = ProtocolVersion::from(0x0300 + u16::from(minor));
        let msg = InboundOpaqueMessage::new(ContentType::ApplicationData, version, &mut record);
        let mut decrypter = Protection::Tls13.decrypter();
        let opened = decrypter.decrypt(msg, SEQ).unwrap();
        assert_eq!(
            (opened.typ, opened.payload),
            (ContentType::Handshake, &b"hello"[..])
        );
    }
}

/// Opens a TLS 1.3 record with this `TLSInnerPlaintext`.
fn opened_inner(inner: &[u8]) -> Result<(ContentType, Vec<u8>), Error> {
    let [high, low] = ((inner.len() + TAG_LEN) as u16).to_be_bytes();
    let mut record = toy_sealed(&[23, 3, 3, high, low], inner);
    decrypted(Protection::Tls13, ContentType::ApplicationData, &mut record)
}

#[test]
#[cfg_attr(miri, ignore = "records of full length")]
fn tls13_padding_is_removed_and_bounded() {
    let padded = |content: &[u8], zeros: usize| [content, &vec![0; zeros]].concat();
    for zeros in [0, 1, 300, MAX_FRAGMENT_LEN - 5] {
        // zeros at the end of the content are not padding
        assert_eq!(
            opened_inner(&padded(b"ab\0\0\x00\x17", zeros)),
            Ok((ContentType::ApplicationData, b"ab\0\0\0".to_vec()))
        );
        assert_eq!(
            opened_inner(&padded(b"\x16", zeros)),
            Ok((ContentType::Handshake, vec![]))
        );
    }
    // RFC 9846 §5.4: padding counts towards the limit
    let too_long = padded(b"a\x17", MAX_FRAGMENT_LEN);
    assert_eq!(opened_inner(&too_long), Err(Error::PeerSentOversizedRecord));
    assert!(opened_inner(&too_long[..MAX_FRAGMENT_LEN + 1]).is_ok());
}

#[test]
#[cfg_attr(miri, ignore = "records of full length")]
fn tls13_plaintext_without_type_is_rejected() {
    for zeros in [0, 1, MAX_FRAGMENT_LEN + 1] {
        assert_eq!(
            opened_inner(&vec![0; zeros]),
            Err(PeerMisbehaved::IllegalTlsInnerPlaintext.into()),
            "{zeros} zeros"
        );
    }
}

#[test]
fn key_blocks_and_extracted_keys_have_the_required_lengths() {
    let gcm = Tls12GcmFraming::<ToyAlgorithm>::NEW;
    let chacha20 = Tls12Chacha20Framing::<ToyAlgorithm>::NEW;
    let tls13 = Tls13Framing::<ToyAlgorithm>::NEW;
    // RFC 5288 §3, RFC 7905 §2: lengths of key, implicit nonce and explicit nonce
    let shape = |alg: &dyn Tls12AeadAlgorithm| {
        let shape = alg.key_block_shape();
        (
            shape.enc_key_len,
            shape.fixed_iv_len,
            shape.explicit_nonce_len,
        )
    };
    assert_eq!(shape(&gcm), (32, 4, 8));
    assert_eq!(shape(&chacha20), (32, 12, 0));
    assert_eq!(tls13.key_len(), 32);

    let key = || AeadKey::new(&[9; 32]);
    for secrets in [
        tls13.extract_keys(key(), Iv::new(IV)),
        gcm.extract_keys(key(), &IV[..4], &IV[4..]),
        chacha20.extract_keys(key(), &IV, &[]),
    ] {
        let Ok(ConnectionTrafficSecrets::Aes256Gcm { key, iv }) = secrets else {
            panic!("secrets of another cipher");
        };
        assert_eq!((key.as_ref(), iv.as_ref()), (&[9; 32][..], &IV[..]));
    }
    assert!(!tls13.fips() && !gcm.fips() && !chacha20.fips());
}

/// Decrypts `payload`, the body of a record with application data, to the front of `out`.
fn decrypted_into(
    protection: Protection,
    payload: &[u8],
    out: &mut [u8],
) -> Option<Result<(ContentType, usize), Error>> {
    let mut decrypter = protection.decrypter();
    decrypter.decrypt_into(payload, SEQ, out, FromThisCrate::new())
}

#[test]
fn decrypting_into_other_memory_equals_decrypting_in_place() {
    let data = ContentType::ApplicationData;
    for protection in Protection::ALL {
        let inner_types = match protection {
            Protection::Tls13 => &[data, ContentType::Handshake][..],
            _ => &[data],
        };
        for (typ, len) in inner_types
            .iter()
            .flat_map(|typ| [0, 1, 100].map(|len| (*typ, len)))
        {
            let plain = plaintext(len);
            let sealed = encrypted(protection, typ, plain[..].into());
            let mut out = vec![0xee; 200];
            let opened = decrypted_into(protection, &sealed, &mut out);
            assert_eq!(opened, Some(Ok((typ, len))), "{protection}");
            assert_eq!(out[..len], plain);
            let written = len + usize::from(protection == Protection::Tls13);
            assert!(
                out[written..].iter().all(|byte| *byte == 0xee),
                "{protection}"
            );

            // the same memory, and a byte less
            assert_eq!(
                decrypted_into(protection, &sealed, &mut out[..written]),
                opened
            );
            if let Some(short) = written.checked_sub(1) {
                out.fill(0xee);
                assert_eq!(decrypted_into(protection, &sealed, &mut out[..short]), None);
                assert_eq!(out, [0xee; 200]);
            }
        }
        for len in 0..TAG_LEN {
            assert_eq!(
                decrypted_into(protection, &vec![0; len], &mut [0; 99]),
                None
            );
        }
    }
}

#[test]
fn nothing_of_a_rejected_record_stays_in_memory() {
    for protection in Protection::ALL {
        let sealed = encrypted(protection, ContentType::ApplicationData, b"hello".into());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            let mut out = [0xee; 50];
            let opened = decrypted_into(protection, &changed, &mut out);
            assert_eq!(opened, Some(Err(Error::DecryptError)), "{protection}");
            assert!(
                out.iter().all(|byte| matches!(byte, 0 | 0xee)),
                "{protection}: {out:?}"
            );
        }
        // authentic, but too long
        let payload = plaintext(MAX_FRAGMENT_LEN + 1);
        let sealed = encrypted(protection, ContentType::ApplicationData, payload[..].into());
        let mut out = vec![0xee; 2 * MAX_FRAGMENT_LEN];
        let opened = decrypted_into(protection, &sealed, &mut out);
        assert_eq!(opened, Some(Err(Error::PeerSentOversizedRecord)));
        assert!(
            out.iter().all(|byte| matches!(byte, 0 | 0xee)),
            "{protection}"
        );
    }
    // without a content type
    let sealed = encrypted(
        Protection::Tls13,
        ContentType::Unknown(0),
        b"\0\0"[..].into(),
    );
    let opened = decrypted_into(Protection::Tls13, &sealed, &mut [0xee; 50]);
    let error = PeerMisbehaved::IllegalTlsInnerPlaintext;
    assert_eq!(opened, Some(Err(error.into())));
}

#[test]
fn keys_do_not_open_into_other_memory_by_default() {
    let mut key = InPlace(ToyAead(KEY));
    let opened = key.open_into(Nonce(NONCE), b"", b"", &[0; TAG_LEN], &mut []);
    assert_eq!(opened, None);
}
