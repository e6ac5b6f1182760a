//! Checks packet protection with Appendix A of RFC 9001 and of RFC 9369: from connection IDs and
//! secrets to the bytes of packets, and back.

use rustls_core::blocks::SAMPLE_LEN;
use rustls_core::crypto::cipher::{AeadKey, Iv};
use rustls_core::crypto::quic::{HeaderProtectionKey, PacketKey};
use rustls_core::crypto::tls13::OkmBlock;
use rustls_core::enums::{CipherSuite, Side};
use rustls_core::error::Error;
use rustls_core::quic::{DirectionalKeys, PacketKeySet, Secrets, Suite};
use rustls_core::suites::SupportedCipherSuite;

use self::vectors::{CLIENT_CRYPTO_FRAME, CONNECTION_ID, SECRET, SERVER_PAYLOAD, VECTORS, Vectors};
use crate::hex;

mod vectors;

/// Checks the TLS 1.3 suites among `suites`. They must be those of RFC 9001 and have QUIC parts.
///
/// `multipath` is false for a provider whose keys accept each packet number only once over all
/// paths.
pub fn check_quic(suites: &[SupportedCipherSuite], multipath: bool) {
    let quic_suite = |name| {
        let suite = suites.iter().find(|suite| suite.suite() == name);
        suite.unwrap().tls13().unwrap().quic_suite().unwrap()
    };

    for vectors in &VECTORS {
        check_initial_packets(quic_suite(CipherSuite::TLS13_AES_128_GCM_SHA256), vectors);
        check_short_packet(
            quic_suite(CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
            vectors,
        );
    }

    // §6.6
    let aes_gcm = (1 << 23, 1 << 52);
    for (name, limits) in [
        (CipherSuite::TLS13_AES_128_GCM_SHA256, aes_gcm),
        (CipherSuite::TLS13_AES_256_GCM_SHA384, aes_gcm),
        (
            CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
            (u64::MAX, 1 << 36),
        ),
    ] {
        let key = packet_key(quic_suite(name));
        assert_eq!((key.confidentiality_limit(), key.integrity_limit()), limits);
        check_binding(&*key);
        check_first_numbers(quic_suite(name));
        if multipath {
            check_paths(&*key);
            check_nonce_of_path(quic_suite(name));
        }
    }
}

/// Checks the packets of §A.1 to §A.3.
fn check_initial_packets(suite: Suite, vectors: &Vectors) {
    let keys = |side| suite.keys(&hex(CONNECTION_ID), side, vectors.version);
    let (client, server) = (keys(Side::Client), keys(Side::Server));
    let [of_client, of_server] = &vectors.initial_keys;
    for (keys, expected) in [
        (&client.local, of_client),
        (&server.remote, of_client),
        (&server.local, of_server),
        (&client.remote, of_server),
    ] {
        check_keys(suite, keys, expected);
    }

    let mut payload = hex(CLIENT_CRYPTO_FRAME);
    payload.resize(1162, 0);
    check_packet(
        &client.local,
        &server.remote,
        2,
        hex(vectors.client_header),
        payload,
        hex(vectors.client_initial),
    );
    check_packet(
        &server.local,
        &client.remote,
        1,
        hex(vectors.server_header),
        hex(SERVER_PAYLOAD),
        hex(vectors.server_initial),
    );
}

/// Checks the packet of §A.5.
fn check_short_packet(suite: Suite, vectors: &Vectors) {
    let version = vectors.version;
    let keys = |secret| {
        DirectionalKeys::new(
            suite.suite,
            suite.quic,
            &OkmBlock::new(&hex(secret)),
            version,
        )
    };
    check_keys(suite, &keys(SECRET), &vectors.chacha20_keys);
    check_packet(
        &keys(SECRET),
        &keys(SECRET),
        654360564,
        hex("4200bff4"),
        hex("01"),
        hex(vectors.chacha20_packet),
    );

    let secret = OkmBlock::new(&hex(SECRET));
    let mut secrets = Secrets::new(suite, version, Side::Client, &secret, &secret);
    let PacketKeySet { local, remote } = secrets.next_packet_keys();
    let expected = sealed(&*keys(vectors.chacha20_updated).packet);
    assert_eq!([sealed(&*local), sealed(&*remote)], [&expected[..]; 2]);
}

/// Checks that `derived` has the key, IV and header protection key in `expected`.
fn check_keys(suite: Suite, derived: &DirectionalKeys, expected: &[&str; 3]) {
    let [key, iv, header_key] = expected.map(hex);
    let key = suite
        .quic
        .packet_key(aead_key(&key), Iv::copy(iv[..].try_into().unwrap()));
    assert_eq!(sealed(&*derived.packet), sealed(&*key));
    let header_key = suite.quic.header_protection_key(aead_key(&header_key));
    assert_eq!(mask(&*derived.header), mask(&*header_key));
}

fn aead_key(bytes: &[u8]) -> AeadKey {
    let mut key = [0; 32];
    key[..bytes.len()].copy_from_slice(bytes);
    AeadKey::from(key).with_length(bytes.len())
}

/// Seals fixed bytes, so that the result depends only on key and IV.
fn sealed(key: &dyn PacketKey) -> Vec<u8> {
    let mut payload = [7; 40];
    let tag = key.encrypt_in_place(0, b"header", &mut payload).unwrap();
    [&payload, tag.as_ref()].concat()
}

/// Applies a header key to a fixed header.
fn mask(key: &dyn HeaderProtectionKey) -> (u8, [u8; 4]) {
    let (mut first, mut number) = (0xc3, [0; 4]);
    key.encrypt_in_place(&[9; SAMPLE_LEN], &mut first, &mut number)
        .unwrap();
    (first, number)
}

/// Protects the packet as a sender and unprotects it as a receiver.
fn check_packet(
    sender: &DirectionalKeys,
    receiver: &DirectionalKeys,
    packet_number: u64,
    header: Vec<u8>,
    payload: Vec<u8>,
    expected: Vec<u8>,
) {
    let number_len = usize::from(header[0] & 3) + 1;
    let number_at = header.len() - number_len;

    let mut packet = [&header[..], &payload].concat();
    let tag = sender
        .packet
        .encrypt_in_place(packet_number, &header, &mut packet[header.len()..])
        .unwrap();
    packet.extend_from_slice(tag.as_ref());
    let (head, tail) = packet.split_at_mut(number_at + 4);
    let (first, number) = split_header(head, number_at);
    sender
        .header
        .encrypt_in_place(&tail[..SAMPLE_LEN], first, &mut number[..number_len])
        .unwrap();
    assert_eq!(packet, expected);

    let (head, tail) = packet.split_at_mut(number_at + 4);
    let (first, number) = split_header(head, number_at);
    receiver
        .header
        .decrypt_in_place(&tail[..SAMPLE_LEN], first, number)
        .unwrap();
    let (head, sealed) = packet.split_at_mut(header.len());
    assert_eq!(head, header);
    let opened = receiver
        .packet
        .decrypt_in_place(packet_number, head, sealed)
        .unwrap();
    assert_eq!(opened, payload);
}

/// Splits off the first byte and the four bytes at the packet number.
fn split_header(head: &mut [u8], number_at: usize) -> (&mut u8, &mut [u8]) {
    let (first, rest) = head.split_first_mut().unwrap();
    (first, &mut rest[number_at - 1..])
}

/// Checks that a packet only opens with its number and header.
fn check_binding(key: &dyn PacketKey) {
    let mut payload = *b"sixteen bytes of";
    let tag = key.encrypt_in_place(7, b"header", &mut payload);
    let sealed = [&payload[..], tag.unwrap().as_ref()].concat();
    let open = |number, header: &[u8]| {
        let mut sealed = sealed.clone();
        let opened = key.decrypt_in_place(number, header, &mut sealed);
        opened.map(|payload| payload.to_vec())
    };
    assert_eq!(open(7, b"header").unwrap(), b"sixteen bytes of");
    assert_eq!(open(8, b"header"), Err(Error::DecryptError));
    assert_eq!(open(7, b"Header"), Err(Error::DecryptError));
    assert!(key.decrypt_in_place(7, b"header", &mut [0; 15]).is_err());
}

/// Checks that the first packet under a key may have any number: numbers continue when keys change
/// (RFC 9001 §6).
fn check_first_numbers(suite: Suite) {
    for first in [0, 1, 2, 3, 8, 1000, (1 << 32) - 20] {
        let key = packet_key(suite);
        for number in first..first + 64 {
            let mut packet = [7; 20];
            let tag = key.encrypt_in_place(number, b"header", &mut packet);
            let mut sealed = [&packet[..], tag.unwrap().as_ref()].concat();
            let opened = key.decrypt_in_place(number, b"header", &mut sealed);
            assert_eq!(opened.unwrap(), [7; 20], "{number} after {first}");
        }
    }
}

/// Checks that a packet only opens on its path.
fn check_paths(key: &dyn PacketKey) {
    let mut payload = *b"sixteen bytes of";
    let tag = key.encrypt_in_place_for_path(3, 8, b"header", &mut payload);
    let sealed = [&payload[..], tag.unwrap().as_ref()].concat();
    let open = |path, number| {
        let mut sealed = sealed.clone();
        let opened = key.decrypt_in_place_for_path(path, number, b"header", &mut sealed);
        opened.map(|payload| payload.to_vec())
    };
    assert_eq!(open(3, 8).unwrap(), b"sixteen bytes of");
    assert_eq!(open(4, 8), Err(Error::DecryptError));
    assert_eq!(open(3, 9), Err(Error::DecryptError));
}

/// Checks the example nonce of draft-ietf-quic-multipath: path 3, packet aead.
fn check_nonce_of_path(suite: Suite) {
    let sealed = |iv, path, number| {
        let mut payload = *b"sixteen bytes of";
        let key = suite.quic.packet_key(
            AeadKey::from([5; 32]).with_length(suite.quic.aead_key_len()),
            Iv::copy(hex(iv)[..].try_into().unwrap()),
        );
        let tag = key.encrypt_in_place_for_path(path, number, b"header", &mut payload);
        [&payload[..], tag.unwrap().as_ref()].concat()
    };
    assert_eq!(
        sealed("6b26114b9cba2b63a9e8dd4f", 3, 0xaead),
        sealed("6b2611489cba2b63a9e873e2", 0, 0),
    );
}

fn packet_key(suite: Suite) -> Box<dyn PacketKey> {
    let key = AeadKey::from([5; 32]).with_length(suite.quic.aead_key_len());
    suite.quic.packet_key(key, Iv::new([9; 12]))
}
