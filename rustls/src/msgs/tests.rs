//! Tests for the TLS 1.3 messages: they survive a round trip, truncated ones are errors, and
//! reading never panics. `upstream` compares the errors of malformed messages. `tls12` has the
//! tests for TLS 1.2.

mod decoded;
mod samples;
#[cfg(feature = "tls12")]
mod tls12;
mod upstream;

use alloc::vec;

use proptest::prelude::*;
use rustls_core::enums::{
    CipherSuite, Compression, ExtensionType, KeyUpdateRequest, NamedGroup, ProtocolVersion,
};
use smallvec::smallvec;

use self::decoded::{Decoded, Payload};
use self::samples::{SAMPLE_SEED, message, samples};
use super::client_extensions::ClientExtensions;
use super::client_hello::{ClientHello, Random, SessionId};
use super::extensions::{KeyShareEntry, ProtocolName};
use super::*;

/// Encodes a message that was read; `None` for a message that is never sent.
fn encode_again(message: Decoded<'_>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match message.payload {
        Payload::ClientHello(mut m) => {
            m.extensions.order_seed = SAMPLE_SEED;
            m.encode_message(&mut bytes).unwrap();
        }
        Payload::ServerHello(m) => m.encode_message(&mut bytes).unwrap(),
        Payload::HelloRetryRequest(m) => m.encode_message(&mut bytes).unwrap(),
        Payload::EncryptedExtensions(m) => m.encode_message(&mut bytes).unwrap(),
        Payload::CertificateRequest(m) => m.encode_message(&mut bytes).unwrap(),
        Payload::Certificate(m) => m.encode_message(&mut bytes).unwrap(),
        Payload::CertificateVerify(m) => m.encode_message(&mut bytes).unwrap(),
        Payload::Finished(verify_data) => Finished(verify_data).encode_message(&mut bytes).unwrap(),
        Payload::NewSessionTicket(m) => m.encode_message(&mut bytes).unwrap(),
        Payload::KeyUpdate(m) => m.encode_message(&mut bytes).unwrap(),
        Payload::Unknown => return None,
    }
    Some(bytes)
}

#[test]
fn every_message_round_trips() {
    for (name, bytes) in samples() {
        let message = Decoded::read(&bytes).unwrap();
        assert_eq!(u8::from(message.typ), bytes[0], "{name}");
        assert_eq!(message.encoded, bytes, "{name}");
        assert_eq!(encode_again(message), Some(bytes), "{name}");
    }
}

#[test]
fn a_truncated_message_is_an_error() {
    for (name, bytes) in samples() {
        let typ = bytes[0];
        let body = &bytes[4..];
        for len in 0..body.len() {
            // truncated by its length field, and by the end of the bytes
            let cut = message(typ, &body[..len]);
            match (name, len) {
                ("Finished", _) => continue,
                // RFC 9846 §4.2.2 and RFC 5246 §7.4.1.3: the extensions may be omitted
                ("ClientHello", 75) | ("ServerHello", 70) => {
                    Decoded::read(&cut).unwrap();
                }
                _ => {
                    Decoded::read(&cut).expect_err(name);
                }
            }
            Decoded::read(&bytes[..4 + len]).expect_err(name);
        }
    }
}

#[test]
fn a_message_ends_at_the_length_in_its_header() {
    for (name, bytes) in samples() {
        let trailing = [&bytes[..], &[0]].concat();
        assert_eq!(
            Decoded::read(&trailing).err(),
            Some(InvalidMessage::TrailingData("HandshakeMessage"))
        );
        if name != "Finished" {
            let longer = message(bytes[0], &trailing[4..]);
            assert!(
                matches!(Decoded::read(&longer), Err(InvalidMessage::TrailingData(_))),
                "{name}"
            );
        }
    }
}

#[test]
fn messages_of_other_types_only_report_their_type() {
    for typ in [0, 3, 7, 12, 14, 16, 21, 22, 25, 200, 255] {
        let bytes = message(typ, b"body");
        let read = Decoded::read(&bytes).unwrap();
        assert_eq!(read.typ, HandshakeType::from(typ));
        assert!(matches!(read.payload, Payload::Unknown));
    }
}

#[test]
fn a_flight_is_encoded_into_one_vector() {
    let mut flight = vec![];
    Finished(&[1, 2]).encode_message(&mut flight).unwrap();
    KeyUpdateRequest::UpdateRequested
        .encode_message(&mut flight)
        .unwrap();
    assert_eq!(flight, [20, 0, 0, 2, 1, 2, 24, 0, 0, 1, 1]);
}

#[test]
fn an_unknown_key_update_request_is_read_without_error() {
    let bytes = message(24, &[2]);
    let read = Decoded::read(&bytes).unwrap();
    assert!(matches!(
        read.payload,
        Payload::KeyUpdate(KeyUpdateRequest::Unknown(2))
    ));
}

/// The first two messages of the handshake in RFC 8448 §3.
#[rustfmt::skip]
const RFC8448_CLIENT_HELLO: &[u8] = &[
    0x01, 0x00, 0x00, 0xc0, 0x03, 0x03, 0xcb, 0x34, 0xec, 0xb1, 0xe7, 0x81, 0x63, 0xba, 0x1c, 0x38,
    0xc6, 0xda, 0xcb, 0x19, 0x6a, 0x6d, 0xff, 0xa2, 0x1a, 0x8d, 0x99, 0x12, 0xec, 0x18, 0xa2, 0xef,
    0x62, 0x83, 0x02, 0x4d, 0xec, 0xe7, 0x00, 0x00, 0x06, 0x13, 0x01, 0x13, 0x03, 0x13, 0x02, 0x01,
    0x00, 0x00, 0x91, 0x00, 0x00, 0x00, 0x0b, 0x00, 0x09, 0x00, 0x00, 0x06, 0x73, 0x65, 0x72, 0x76,
    0x65, 0x72, 0xff, 0x01, 0x00, 0x01, 0x00, 0x00, 0x0a, 0x00, 0x14, 0x00, 0x12, 0x00, 0x1d, 0x00,
    0x17, 0x00, 0x18, 0x00, 0x19, 0x01, 0x00, 0x01, 0x01, 0x01, 0x02, 0x01, 0x03, 0x01, 0x04, 0x00,
    0x23, 0x00, 0x00, 0x00, 0x33, 0x00, 0x26, 0x00, 0x24, 0x00, 0x1d, 0x00, 0x20, 0x99, 0x38, 0x1d,
    0xe5, 0x60, 0xe4, 0xbd, 0x43, 0xd2, 0x3d, 0x8e, 0x43, 0x5a, 0x7d, 0xba, 0xfe, 0xb3, 0xc0, 0x6e,
    0x51, 0xc1, 0x3c, 0xae, 0x4d, 0x54, 0x13, 0x69, 0x1e, 0x52, 0x9a, 0xaf, 0x2c, 0x00, 0x2b, 0x00,
    0x03, 0x02, 0x03, 0x04, 0x00, 0x0d, 0x00, 0x20, 0x00, 0x1e, 0x04, 0x03, 0x05, 0x03, 0x06, 0x03,
    0x02, 0x03, 0x08, 0x04, 0x08, 0x05, 0x08, 0x06, 0x04, 0x01, 0x05, 0x01, 0x06, 0x01, 0x02, 0x01,
    0x04, 0x02, 0x05, 0x02, 0x06, 0x02, 0x02, 0x02, 0x00, 0x2d, 0x00, 0x02, 0x01, 0x01, 0x00, 0x1c,
    0x00, 0x02, 0x40, 0x01,
];

#[rustfmt::skip]
const RFC8448_SERVER_HELLO: &[u8] = &[
    0x02, 0x00, 0x00, 0x56, 0x03, 0x03, 0xa6, 0xaf, 0x06, 0xa4, 0x12, 0x18, 0x60, 0xdc, 0x5e, 0x6e,
    0x60, 0x24, 0x9c, 0xd3, 0x4c, 0x95, 0x93, 0x0c, 0x8a, 0xc5, 0xcb, 0x14, 0x34, 0xda, 0xc1, 0x55,
    0x77, 0x2e, 0xd3, 0xe2, 0x69, 0x28, 0x00, 0x13, 0x01, 0x00, 0x00, 0x2e, 0x00, 0x33, 0x00, 0x24,
    0x00, 0x1d, 0x00, 0x20, 0xc9, 0x82, 0x88, 0x76, 0x11, 0x20, 0x95, 0xfe, 0x66, 0x76, 0x2b, 0xdb,
    0xf7, 0xc6, 0x72, 0xe1, 0x56, 0xd6, 0xcc, 0x25, 0x3b, 0x83, 0x3d, 0xf1, 0xdd, 0x69, 0xb1, 0xb0,
    0x4e, 0x75, 0x1f, 0x0f, 0x00, 0x2b, 0x00, 0x02, 0x03, 0x04,
];

#[test]
fn the_client_hello_of_rfc8448_is_read() {
    let message = Decoded::read(RFC8448_CLIENT_HELLO).unwrap();
    let Payload::ClientHello(hello) = message.payload else {
        panic!("{message:?}");
    };
    assert_eq!(hello.legacy_version, ProtocolVersion::TLSv1_2);
    assert_eq!(hello.random.0[..4], [0xcb, 0x34, 0xec, 0xb1]);
    assert_eq!(hello.legacy_session_id, SessionId::EMPTY);
    assert_eq!(
        *hello.cipher_suites,
        [
            CipherSuite::TLS13_AES_128_GCM_SHA256,
            CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
            CipherSuite::TLS13_AES_256_GCM_SHA384,
        ]
    );
    assert_eq!(*hello.compression_methods, [Compression::Null]);

    let extensions = hello.extensions;
    let Some(server_name::ServerNamePayload::DnsName(name)) = extensions.server_name else {
        panic!("{extensions:?}");
    };
    assert_eq!(name.as_ref(), "server");
    assert_eq!(
        extensions.supported_groups.map(|groups| groups.len()),
        Some(9)
    );
    assert_eq!(
        extensions.signature_algorithms.map(|schemes| schemes.len()),
        Some(15)
    );
    assert_eq!(
        extensions.supported_versions,
        Some(smallvec![ProtocolVersion::TLSv1_3])
    );
    let [share] = extensions.key_shares.as_deref().unwrap() else {
        panic!("not one key share");
    };
    assert_eq!((share.group, share.payload.len()), (NamedGroup::X25519, 32));
    assert_eq!(extensions.session_ticket, Some(&[][..]));
    assert_eq!(extensions.renegotiation_info, Some(&[][..]));
    // the last one is record_size_limit, which this library ignores
    assert_eq!(
        extensions.received[..],
        [0, 0xff01, 10, 35, 51, 43, 13, 45, 28].map(ExtensionType::from)
    );
}

#[test]
fn the_server_hello_of_rfc8448_is_read() {
    let message = Decoded::read(RFC8448_SERVER_HELLO).unwrap();
    let Payload::ServerHello(hello) = message.payload else {
        panic!("{message:?}");
    };
    assert_eq!(hello.cipher_suite, CipherSuite::TLS13_AES_128_GCM_SHA256);
    assert_eq!(
        hello.extensions.supported_version,
        Some(ProtocolVersion::TLSv1_3)
    );
    let share = hello.extensions.key_share.unwrap();
    assert_eq!(
        (share.group, share.payload[..2] == [0xc9, 0x82]),
        (NamedGroup::X25519, true)
    );
    assert_eq!(
        hello.extensions.received[..],
        [ExtensionType::KeyShare, ExtensionType::SupportedVersions]
    );
}

proptest! {
    #[test]
    fn reading_never_panics(typ in 0..30u8, body: Vec<u8>) {
        let bytes = message(typ, &body);
        // an accepted message keeps its meaning when it is sent again
        if let Ok(read) = Decoded::read(&bytes) {
            let Some(again) = encode_again(read) else { return Ok(()) };
            let reread = Decoded::read(&again).unwrap();
            prop_assert_eq!(encode_again(reread), Some(again));
        }
    }

    #[test]
    fn damaged_messages_never_panic(
        which in 0..samples().len(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let (_, mut bytes) = samples().swap_remove(which);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(read) = Decoded::read(&bytes) {
            let Some(again) = encode_again(read) else { return Ok(()) };
            let reread = Decoded::read(&again).unwrap();
            prop_assert_eq!(encode_again(reread), Some(again));
        }
    }

    #[test]
    fn client_hellos_round_trip(
        random: [u8; 32],
        session_id: Option<[u8; 32]>,
        suites in proptest::collection::vec(any::<u16>(), 1..100),
        groups in proptest::option::of(proptest::collection::vec(any::<u16>(), 1..100)),
        shares in proptest::option::of(proptest::collection::vec(
            (any::<u16>(), proptest::collection::vec(any::<u8>(), 1..2000)),
            0..4,
        )),
        protocols in proptest::option::of(proptest::collection::vec(
            proptest::collection::vec(any::<u8>(), 1..256),
            1..20,
        )),
        cookie in proptest::option::of(proptest::collection::vec(any::<u8>(), 1..1000)),
        order_seed: u32,
    ) {
        let hello = ClientHello {
            legacy_version: ProtocolVersion::TLSv1_2,
            random: Random(random),
            legacy_session_id: session_id.map_or(SessionId::EMPTY, SessionId::from),
            cipher_suites: suites.into_iter().map(CipherSuite::from).collect(),
            compression_methods: smallvec![Compression::Null],
            extensions: ClientExtensions {
                supported_groups: groups
                    .map(|groups| groups.into_iter().map(NamedGroup::from).collect()),
                key_shares: shares.as_ref().map(|shares| {
                    shares
                        .iter()
                        .map(|(group, payload)| KeyShareEntry { group: (*group).into(), payload })
                        .collect()
                }),
                alpn_protocol_names: protocols
                    .as_ref()
                    .map(|names| names.iter().map(|name| ProtocolName(name)).collect()),
                cookie: cookie.as_deref(),
                order_seed,
                ..ClientExtensions::default()
            },
        };
        let mut bytes = vec![];
        hello.encode_message(&mut bytes).unwrap();
        let read = Decoded::read(&bytes).unwrap();
        let Payload::ClientHello(mut read) = read.payload else {
            panic!("{read:?}");
        };
        read.extensions.order_seed = order_seed;
        read.extensions.received.clear();
        prop_assert_eq!(read, hello);
    }
}
