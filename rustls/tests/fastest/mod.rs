//! Tests of the provider with the fastest parts of both libraries, and of every other mixture:
//! bytes are the same as those of each library, connections work, and sessions and tickets work
//! with other mixtures.

mod compositions;
mod sessions;

use std::fmt::Debug;

use compositions::{COMPOSITIONS, composition};
use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Versions, product};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered, handshake, send_and_check,
    talk_and_close,
};
use provider_checks as checks;
use rustls::crypto::blocks::BulkCipher;
use rustls::crypto::cipher::{
    AeadKey, Iv, MessageDecrypter, MessageEncrypter, OutboundPlainMessage,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs, fastest, ring};
use rustls::{CipherSuite, ContentType, ProtocolVersion, SupportedCipherSuite};

/// Returns the type of key with which a server can use `suite`.
fn key_type(suite: SupportedCipherSuite) -> KeyType {
    match format!("{suite:?}").contains("RSA") {
        true => KeyType::Rsa2048,
        false => KeyType::EcdsaP256,
    }
}

fn versions(suite: SupportedCipherSuite) -> Versions {
    match suite {
        SupportedCipherSuite::Tls12(_) => Versions::Tls12,
        SupportedCipherSuite::Tls13(_) => Versions::Tls13,
    }
}

/// Returns `provider` with only the suite that has the code point of `suite`.
fn only(mut provider: CryptoProvider, suite: SupportedCipherSuite) -> CryptoProvider {
    let suites = &mut provider.cipher_suites;
    suites.retain(|it| it.suite() == suite.suite());
    provider
}

/// Returns the suites of all mixtures and of both libraries, one list for each code point.
fn variants() -> impl Iterator<Item = Vec<SupportedCipherSuite>> {
    let all = COMPOSITIONS.map(composition).into_iter();
    let all = all.chain([
        fastest::default_provider(),
        aws_lc_rs::default_provider(),
        ring::default_provider(),
    ]);
    let all: Vec<_> = all.flat_map(|provider| provider.cipher_suites).collect();
    fastest::ALL_CIPHER_SUITES.iter().map(move |suite| {
        let same = all.iter().filter(|it| it.suite() == suite.suite());
        same.copied().collect()
    })
}

fn assert_all_equal<T: PartialEq + Debug>(of: SupportedCipherSuite, values: Vec<T>) {
    for value in &values {
        assert_eq!(value, &values[0], "{of:?}");
    }
}

fn sealed(encrypter: &mut dyn MessageEncrypter, payload: &[u8], seq: u64) -> Vec<u8> {
    let message = OutboundPlainMessage {
        typ: ContentType::ApplicationData,
        version: ProtocolVersion::TLSv1_2,
        payload: payload.into(),
    };
    let mut out = vec![0; encrypter.encrypted_payload_len(payload.len())];
    encrypter.encrypt(message, seq, &mut out).unwrap();
    out
}

const PAYLOAD_LENS: [usize; 6] = [0, 1, 64, 255, 1400, 16_384];

#[test]
fn the_lists_match_aws_lc_rs() {
    let names = |suites: &[SupportedCipherSuite]| format!("{suites:?}");
    let all = names(aws_lc_rs::ALL_CIPHER_SUITES);
    assert_eq!(names(fastest::ALL_CIPHER_SUITES), all);
    assert_eq!(names(fastest::DEFAULT_CIPHER_SUITES), all);
    let (ours, theirs) = (fastest::default_provider(), aws_lc_rs::default_provider());
    assert_eq!(names(&ours.cipher_suites), names(&theirs.cipher_suites));
    assert_eq!(
        format!("{:?}", ours.kx_groups),
        format!("{:?}", theirs.kx_groups)
    );
    for (ours, theirs) in ours.cipher_suites.iter().zip(&theirs.cipher_suites) {
        let (common, expected) = (ours.common(), theirs.common());
        assert_eq!(common.confidentiality_limit, expected.confidentiality_limit);
        if let (SupportedCipherSuite::Tls12(ours), SupportedCipherSuite::Tls12(theirs)) =
            (ours, theirs)
        {
            assert_eq!((ours.kx, ours.sign), (theirs.kx, theirs.sign));
        }
    }
}

#[test]
fn the_provider_passes_the_checks_of_all_providers() {
    let provider = fastest::default_provider();
    checks::check_random(provider.secure_random);
    checks::check_groups(fastest::ALL_KX_GROUPS);
    checks::check_approval(
        &provider,
        fastest::ALL_CIPHER_SUITES,
        fastest::ALL_KX_GROUPS,
        false,
    );
    for provider in COMPOSITIONS.map(composition).iter().chain([&provider]) {
        checks::check_quic(&provider.cipher_suites, true);
        for suite in &provider.cipher_suites {
            let cipher = match suite.suite() {
                CipherSuite::TLS13_AES_128_GCM_SHA256 => BulkCipher::Aes128Gcm,
                CipherSuite::TLS13_AES_256_GCM_SHA384 => BulkCipher::Aes256Gcm,
                CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => BulkCipher::Chacha20Poly1305,
                _ => continue,
            };
            let quic = suite.tls13().unwrap().quic.unwrap();
            checks::check_packet_protection(quic, cipher);
        }
    }
}

#[test]
fn records_have_the_same_bytes_in_every_combination() {
    for suites in variants() {
        let of = suites[0];
        for len in PAYLOAD_LENS {
            let payload: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let records = suites.iter().map(|suite| {
                let mut encrypter = encrypter(*suite);
                [0, 1, 77].map(|seq| sealed(&mut *encrypter, &payload, seq))
            });
            let records: Vec<_> = records.collect();
            for suite in &suites {
                let opened = decrypter(*suite)
                    .decrypt(
                        rustls::crypto::cipher::InboundOpaqueMessage::new(
                            ContentType::ApplicationData,
                            ProtocolVersion::TLSv1_2,
                            &mut records[0][2].clone(),
                        ),
                        77,
                    )
                    .map(|message| message.payload.to_vec());
                assert_eq!(opened.unwrap(), payload, "{of:?}");
            }
            assert_all_equal(of, records);
        }
    }
}

fn encrypter(suite: SupportedCipherSuite) -> Box<dyn MessageEncrypter> {
    match suite {
        SupportedCipherSuite::Tls13(suite) => {
            let key = AeadKey::new(&[3; 32][..suite.aead_alg.key_len()]);
            suite.aead_alg.encrypter(key, Iv::new([5; 12]))
        }
        SupportedCipherSuite::Tls12(suite) => {
            let shape = suite.aead_alg.key_block_shape();
            let key = AeadKey::new(&[3; 32][..shape.enc_key_len]);
            let iv = &[5; 12][..shape.fixed_iv_len];
            let explicit = &[7; 8][..shape.explicit_nonce_len];
            suite.aead_alg.encrypter(key, iv, explicit)
        }
    }
}

fn decrypter(suite: SupportedCipherSuite) -> Box<dyn MessageDecrypter> {
    match suite {
        SupportedCipherSuite::Tls13(suite) => {
            let key = AeadKey::new(&[3; 32][..suite.aead_alg.key_len()]);
            suite.aead_alg.decrypter(key, Iv::new([5; 12]))
        }
        SupportedCipherSuite::Tls12(suite) => {
            let shape = suite.aead_alg.key_block_shape();
            let key = AeadKey::new(&[3; 32][..shape.enc_key_len]);
            suite
                .aead_alg
                .decrypter(key, &[5; 12][..shape.fixed_iv_len])
        }
    }
}

#[test]
fn packets_and_header_protection_have_the_same_bytes_in_every_combination() {
    for suites in variants() {
        let quic = suites.iter().filter_map(|suite| suite.tls13()?.quic);
        let packets = quic.map(|quic| {
            let key = || AeadKey::new(&[3; 32][..quic.aead_key_len()]);
            let mut payload = [9; 1200];
            let tag = quic
                .packet_key(key(), Iv::new([5; 12]))
                .encrypt_in_place(7, b"header", &mut payload)
                .unwrap();
            let (mut first, mut number) = (0x43, [1, 2, 3, 4]);
            quic.header_protection_key(key())
                .encrypt_in_place(&payload[..16], &mut first, &mut number)
                .unwrap();
            (payload, tag.as_ref().to_vec(), first, number)
        });
        assert_all_equal(suites[0], packets.collect());
    }
}

#[test]
fn hashes_and_derived_keys_are_the_same_in_every_combination() {
    for suites in variants() {
        let derived = suites.iter().map(|suite| {
            let hash = suite.common().hash_provider;
            let mut out = vec![hash.hash(b"message").as_ref().to_vec()];
            let mut context = hash.start();
            context.update(b"mess");
            context.update(b"age");
            out.push(context.finish().as_ref().to_vec());
            match suite {
                SupportedCipherSuite::Tls13(suite) => {
                    for salt in [None, Some(&b"salt"[..])] {
                        let expander = suite.hkdf_provider.extract_from_secret(salt, b"secret");
                        out.push(expander.expand_block(&[b"info"]).as_ref().to_vec());
                    }
                }
                SupportedCipherSuite::Tls12(suite) => {
                    let mut keys = vec![0; 104];
                    let prf = suite.prf_provider;
                    prf.for_secret(&mut keys, b"secret", b"key expansion", b"seed");
                    out.push(keys);
                }
            }
            out
        });
        assert_all_equal(suites[0], derived.collect());
    }
}

/// Tries every suite in every mixture, at both ends and with upstream at the other end.
#[test]
fn every_combination_connects() {
    let mixtures = COMPOSITIONS.map(composition).into_iter();
    for provider in mixtures.chain([fastest::default_provider()]) {
        for &suite in fastest::ALL_CIPHER_SUITES {
            let (versions, key_type) = (versions(suite), key_type(suite));
            let auth = ClientAuth::Required;
            let ours = || only(provider.clone(), suite);
            let client = || configs::this::client_of(versions, ours(), key_type, auth);
            let server = || configs::this::server_of(versions, ours(), key_type, auth);
            connect(
                suite,
                &mut ThisUnbuffered::client(client()),
                &mut ThisUnbuffered::server(server()),
            );
            for other in PROVIDERS {
                let theirs = other.upstream();
                let other_client =
                    configs::upstream::client_of(versions, theirs.clone(), key_type, auth);
                let other_server = configs::upstream::server_of(versions, theirs, key_type, auth);
                connect(
                    suite,
                    &mut ThisBuffered::client(client()),
                    &mut UpstreamBuffered::server(other_server),
                );
                connect(
                    suite,
                    &mut UpstreamBuffered::client(other_client),
                    &mut ThisBuffered::server(server()),
                );
            }
        }
    }
}

fn connect(suite: SupportedCipherSuite, client: &mut dyn Endpoint, server: &mut dyn Endpoint) {
    handshake(client, server);
    let name = format!("{suite:?}");
    assert!(client.negotiated().contains(&name), "{name}");
    match suite {
        SupportedCipherSuite::Tls12(_) => {
            send_and_check(client, server, &[1; 20_000]);
            send_and_check(server, client, &[2; 20_000]);
        }
        // with key updates
        SupportedCipherSuite::Tls13(_) => talk_and_close(client, server),
    }
}

#[test]
fn every_group_connects() {
    for (versions, &group) in product([Versions::Tls12, Versions::Tls13], fastest::ALL_KX_GROUPS) {
        let version = versions.choose(ProtocolVersion::TLSv1_2, ProtocolVersion::TLSv1_3)[0];
        if !group.usable_for_version(version) {
            continue;
        }
        let provider = CryptoProvider {
            kx_groups: vec![group],
            ..fastest::default_provider()
        };
        let (key_type, auth) = (KeyType::EcdsaP256, ClientAuth::None);
        let client = configs::this::client_of(versions, provider.clone(), key_type, auth);
        let server = configs::this::server_of(versions, provider, key_type, auth);
        let (mut client, mut server) = (ThisBuffered::client(client), ThisBuffered::server(server));
        handshake(&mut client, &mut server);
        let negotiated = client.conn.negotiated_key_exchange_group().unwrap();
        assert_eq!(negotiated.name(), group.name());
    }
}
