use alloc::vec::Vec;

use super::*;
use crate::crypto::cipher::NONCE_LEN;
use crate::crypto::hash::HashAlgorithm;
use crate::crypto::quic::SAMPLE_LEN;
use crate::crypto::tls13::{OkmBlock, expand_label_block, expand_label_slice};
use crate::crypto::toy::{TLS13_SUITE, ToyHash, ToyQuic, tls13_suite};
use crate::enums::{CipherSuite, Side};

/// Returns key and IV of a packet key, which the keys of [`ToyQuic`] reveal.
fn key_and_iv(key: &dyn PacketKey) -> Vec<u8> {
    let mut payload = [0; ToyQuic::KEY_LEN + NONCE_LEN];
    key.encrypt_in_place(0, &[], &mut payload).unwrap();
    payload.to_vec()
}

/// Returns the first bytes of a header protection key.
fn mask(key: &dyn HeaderProtectionKey) -> [u8; 4] {
    let (mut first, mut number) = (3, [0; 4]);
    key.encrypt_in_place(&[0; SAMPLE_LEN], &mut first, &mut number)
        .unwrap();
    number
}

/// Returns key and IV derived from `secret`, and the first bytes of the header key (RFC 9001 §5.1).
fn derived(secret: &OkmBlock, prefix: &str) -> (Vec<u8>, [u8; 4]) {
    let expander = TLS13_SUITE.hkdf_provider.expander_for_okm(secret);
    let expand = |label: &str, len: usize| {
        let mut output = alloc::vec![0; len];
        let label = [prefix, label].concat();
        expand_label_slice(&*expander, label.as_bytes(), &[], &mut output).unwrap();
        output
    };
    let key_and_iv = [expand(" key", 16), expand(" iv", 12)].concat();
    let header_key = expand(" hp", 16);
    (key_and_iv, *header_key[1..].first_chunk().unwrap())
}

fn assert_derived(keys: &DirectionalKeys, secret: &OkmBlock, prefix: &str) {
    let (key_and_iv_expected, mask_expected) = derived(secret, prefix);
    assert_eq!(key_and_iv(&*keys.packet), key_and_iv_expected);
    assert_eq!(mask(&*keys.header), mask_expected);
}

fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap())
        .collect()
}

#[test]
fn initial_keys_are_derived_from_the_connection_id() {
    let suite = TLS13_SUITE.quic_suite().unwrap();
    for (version, salt, prefix) in [
        // RFC 9001 §5.2
        (
            Version::V1,
            "38762cf7f55934b34d179ae6a4c80cadccbb7f0a",
            "quic",
        ),
        // RFC 9369 §3.3
        (
            Version::V2,
            "0dede3def700a6db819381be6e269dcbf9bd2ed9",
            "quicv2",
        ),
        // draft-ietf-quic-tls-29 §5.2
        (
            Version::V1Draft,
            "afbfec289993d24c9e9786f19c6111e04390a899",
            "quic",
        ),
    ] {
        let initial_secret = suite
            .suite
            .hkdf_provider
            .extract_from_secret(Some(&hex(salt)), b"connection");
        let client_secret = expand_label_block(&*initial_secret, b"client in", &[]);
        let server_secret = expand_label_block(&*initial_secret, b"server in", &[]);

        let client = suite.keys(b"connection", Side::Client, version);
        assert_derived(&client.local, &client_secret, prefix);
        assert_derived(&client.remote, &server_secret, prefix);
        let server = suite.keys(b"connection", Side::Server, version);
        assert_derived(&server.local, &server_secret, prefix);
        assert_derived(&server.remote, &client_secret, prefix);
    }
    assert!(matches!(Version::default(), Version::V1));
}

#[test]
fn key_updates_derive_each_secret_from_the_previous_one() {
    let secrets = |side, version| {
        Secrets::new(
            TLS13_SUITE.quic_suite().unwrap(),
            version,
            side,
            &OkmBlock::new(b"client's"),
            &OkmBlock::new(b"server's"),
        )
    };
    for (version, prefix) in [(Version::V1, "quic"), (Version::V2, "quicv2")] {
        let mut client = secrets(Side::Client, version);
        let mut server = secrets(Side::Server, version);
        let keys = Keys::new(&client);
        assert_derived(&keys.local, &OkmBlock::new(b"client's"), prefix);
        assert_derived(&keys.remote, &OkmBlock::new(b"server's"), prefix);

        let next = |secret: &OkmBlock| {
            let expander = TLS13_SUITE.hkdf_provider.expander_for_okm(secret);
            let label = [prefix, " ku"].concat();
            expand_label_block(&*expander, label.as_bytes(), &[])
        };
        let mut clients = OkmBlock::new(b"client's");
        let mut servers = OkmBlock::new(b"server's");
        for _ in 0..3 {
            (clients, servers) = (next(&clients), next(&servers));
            let (ours, theirs) = (client.next_packet_keys(), server.next_packet_keys());
            assert_eq!(key_and_iv(&*ours.local), derived(&clients, prefix).0);
            assert_eq!(key_and_iv(&*ours.remote), derived(&servers, prefix).0);
            assert_eq!(key_and_iv(&*theirs.local), key_and_iv(&*ours.remote));
            assert_eq!(key_and_iv(&*theirs.remote), key_and_iv(&*ours.local));
        }
        // the copy continues from the generation of the original
        let next = client.clone().next_packet_keys();
        assert_eq!(
            key_and_iv(&*next.local),
            key_and_iv(&*client.next_packet_keys().local)
        );
    }
    assert!(!ToyQuic.fips());
}

#[test]
fn a_quic_suite_exists_if_the_suite_has_a_quic_part() {
    let suite = TLS13_SUITE.quic_suite().unwrap();
    assert_eq!(suite.suite, &TLS13_SUITE);
    static WITHOUT: Tls13CipherSuite = tls13_suite(
        CipherSuite::TLS13_AES_128_GCM_SHA256,
        &ToyHash(HashAlgorithm::SHA256),
        None,
    );
    assert!(WITHOUT.quic_suite().is_none());
    assert!(!WITHOUT.fips());
}
