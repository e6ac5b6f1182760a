use alloc::vec::Vec;

use super::*;
use crate::crypto::aead::AeadError;
use crate::crypto::cipher::NONCE_LEN;
use crate::crypto::tls13::{OkmBlock, expand_label_block, expand_label_slice};
use crate::crypto::toy::{TLS13_SUITE, ToyAead, ToyQuic};
use crate::enums::Side;

const PACKET: &[u8] = b"payload of a packet";

fn key() -> AeadPacketKey<ToyAead> {
    AeadPacketKey::new(ToyAead(0x5a), Iv::new([7; NONCE_LEN]), 23, 52)
}

/// The payload sealed with the nonce of `path`, followed by its tag.
fn sealed(path: Option<u32>) -> ([u8; 19 + TAG_LEN], usize) {
    let mut packet = [0; 19 + TAG_LEN];
    let (payload, tag_place) = packet.split_at_mut(PACKET.len());
    payload.copy_from_slice(PACKET);
    let tag = match path {
        None => key().encrypt_in_place(9, b"header", payload),
        Some(path) => key().encrypt_in_place_for_path(path, 9, b"header", payload),
    };
    tag_place.copy_from_slice(tag.unwrap().as_ref());
    (packet, PACKET.len() + TAG_LEN)
}

#[test]
fn packet_opens_with_its_number_and_header_only() {
    let open = |number, header: &[u8]| {
        let (mut packet, len) = sealed(None);
        key()
            .decrypt_in_place(number, header, &mut packet[..len])
            .map(<[u8]>::to_vec)
    };
    assert_eq!(open(9, b"header").unwrap(), PACKET);
    assert_eq!(open(8, b"header"), Err(Error::DecryptError));
    assert_eq!(open(9, b"Header"), Err(Error::DecryptError));
    assert_eq!(
        key().decrypt_in_place(9, b"header", &mut [0; TAG_LEN - 1]),
        Err(Error::DecryptError)
    );
}

#[test]
fn packet_opens_on_its_path_only() {
    let open = |path, (mut packet, len): ([u8; 35], usize)| {
        key()
            .decrypt_in_place_for_path(path, 9, b"header", &mut packet[..len])
            .map(<[u8]>::to_vec)
    };
    assert_eq!(open(3, sealed(Some(3))).unwrap(), PACKET);
    assert_eq!(open(2, sealed(Some(3))), Err(Error::DecryptError));
    // path 0 has the nonce of single-path QUIC
    assert_eq!(open(0, sealed(None)).unwrap(), PACKET);
    assert_eq!(key().confidentiality_limit(), 23);
    assert_eq!(key().integrity_limit(), 52);
    assert_eq!(key().tag_len(), TAG_LEN);
}

struct FixedMask;

impl HeaderMask for FixedMask {
    fn mask(&self, _: &[u8; SAMPLE_LEN]) -> Result<[u8; MASK_LEN], AeadError> {
        Ok([0xff, 0x11, 0x22, 0x33, 0x44])
    }
}

#[test]
fn header_protection_covers_the_bits_and_bytes_of_the_rfc() {
    let key = MaskHeaderKey::new(FixedMask);
    let sample = [0; SAMPLE_LEN];
    // first byte, as masked, how many bytes of the packet number are masked
    for (first, masked, number_len) in [
        (0xc0_u8, 0xcf_u8, 1),
        (0xc1, 0xce, 2),
        (0xc3, 0xcc, 4),
        (0x40, 0x5f, 1),
        (0x42, 0x5d, 3),
    ] {
        let mut byte = first;
        let mut number = [0; 4];
        key.encrypt_in_place(&sample, &mut byte, &mut number)
            .unwrap();
        assert_eq!(byte, masked);
        let mut expected = [0x11, 0x22, 0x33, 0x44];
        expected[number_len..].fill(0);
        assert_eq!(number, expected);

        key.decrypt_in_place(&sample, &mut byte, &mut number)
            .unwrap();
        assert_eq!((byte, number), (first, [0; 4]));
    }
}

#[test]
fn header_protection_refuses_wrong_lengths_and_changes_nothing() {
    let key = MaskHeaderKey::new(FixedMask);
    let mut first = 0xc3;
    let mut number = [0; 5];
    for sample_len in [SAMPLE_LEN - 1, SAMPLE_LEN + 1] {
        assert!(
            key.encrypt_in_place(&[0; 17][..sample_len], &mut first, &mut number[..4])
                .is_err()
        );
    }
    assert!(
        key.decrypt_in_place(&[0; SAMPLE_LEN], &mut first, &mut number)
            .is_err()
    );
    assert_eq!((first, number), (0xc3, [0; 5]));
}

#[test]
fn header_protection_fails_with_its_cipher() {
    struct Broken;

    impl HeaderMask for Broken {
        fn mask(&self, _: &[u8; SAMPLE_LEN]) -> Result<[u8; MASK_LEN], AeadError> {
            Err(AeadError)
        }
    }

    let key = MaskHeaderKey::new(Broken);
    let (mut first, mut number) = (0xc3, [7; 4]);
    let failed = key.encrypt_in_place(&[0; SAMPLE_LEN], &mut first, &mut number);
    assert!(matches!(failed, Err(Error::General(_))));
    assert_eq!((first, number), (0xc3, [7; 4]));
    assert_eq!(key.sample_len(), SAMPLE_LEN);
}

#[test]
fn paths_are_refused_unless_a_key_knows_them() {
    struct OnePath;

    impl PacketKey for OnePath {
        fn encrypt_in_place(&self, _: u64, _: &[u8], _: &mut [u8]) -> Result<Tag, Error> {
            Ok(Tag::from(&[0; TAG_LEN][..]))
        }

        fn decrypt_in_place<'a>(
            &self,
            _: u64,
            _: &[u8],
            payload: &'a mut [u8],
        ) -> Result<&'a [u8], Error> {
            Ok(payload)
        }

        fn tag_len(&self) -> usize {
            TAG_LEN
        }

        fn confidentiality_limit(&self) -> u64 {
            0
        }

        fn integrity_limit(&self) -> u64 {
            0
        }
    }

    assert!(matches!(
        OnePath.encrypt_in_place_for_path(0, 0, &[], &mut []),
        Err(Error::EncryptError)
    ));
    assert_eq!(
        OnePath.decrypt_in_place_for_path(0, 0, &[], &mut []),
        Err(Error::DecryptError)
    );
}

/// What a packet key was made of: key and IV, which those of [`ToyQuic`] give away.
fn key_and_iv(key: &dyn PacketKey) -> Vec<u8> {
    let mut payload = [0; ToyQuic::KEY_LEN + NONCE_LEN];
    key.encrypt_in_place(0, &[], &mut payload).unwrap();
    payload.to_vec()
}

/// The first bytes of what a header protection key was made of.
fn mask(key: &dyn HeaderProtectionKey) -> [u8; 4] {
    let (mut first, mut number) = (3, [0; 4]);
    key.encrypt_in_place(&[0; SAMPLE_LEN], &mut first, &mut number)
        .unwrap();
    number
}

/// Key and IV from `secret`, and the bytes of the header key that make the mask, by RFC 9001 §5.1.
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
fn initial_keys_come_from_the_connection_id() {
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
fn key_update_goes_from_secret_to_secret() {
    let secrets = |side, version| {
        Secrets::new(
            TLS13_SUITE.quic_suite().unwrap(),
            version,
            side,
            OkmBlock::new(b"client's"),
            OkmBlock::new(b"server's"),
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
        // the copy goes on from where it was made
        let next = client.clone().next_packet_keys();
        assert_eq!(
            key_and_iv(&*next.local),
            key_and_iv(&*client.next_packet_keys().local)
        );
    }
    assert!(!ToyQuic.fips());
}
