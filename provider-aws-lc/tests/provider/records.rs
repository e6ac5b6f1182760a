//! Seals and opens records of every cipher suite with both providers: each opens those of the
//! other.

use rustls_core::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, Iv, MessageDecrypter, MessageEncrypter, OutboundPlainMessage,
};
use rustls_core::enums::{ContentType, ProtocolVersion};
use rustls_core::record::MAX_FRAGMENT_LEN;
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

/// Seals `plain` as one piece. Returns the encrypted payload.
fn seal(suite: SupportedCipherSuite, plain: &[u8]) -> Vec<u8> {
    let mut encrypter = encrypter(suite);
    let mut record = vec![0xee; encrypter.encrypted_payload_len(plain.len())];
    let message = OutboundPlainMessage {
        typ: ContentType::ApplicationData,
        version: ProtocolVersion::TLSv1_2,
        payload: plain.into(),
    };
    let len = encrypter.encrypt(message, SEQ, &mut record).unwrap();
    assert_eq!(len, record.len());
    record
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
            let mut records = suites.map(|suite| seal(suite, &plain));
            // with FIPS, the explicit nonces of TLS 1.2 differ
            if !cfg!(feature = "fips") {
                assert!(records[0] == records[1], "{:?} {len}", suites[1]);
            }
            for (suite, record) in suites.iter().zip(records.iter_mut().rev()) {
                let typ = ContentType::ApplicationData;
                let record = InboundOpaqueMessage::new(typ, ProtocolVersion::TLSv1_2, record);
                let mut decrypter = decrypter(*suite);
                let opened = decrypter.decrypt(record, SEQ).unwrap();
                assert_eq!(opened.typ, typ);
                assert!(*opened.payload == plain, "{suite:?} {len}");
            }
        }
    }
}
