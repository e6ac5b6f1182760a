//! Tests for the TLS 1.2 messages: they survive a round trip, truncated ones are errors, and rustls
//! 0.23 rejects the same bytes with the same error.

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use pki_types::CertificateDer;
use proptest::prelude::*;
use rustls_core::codec::{Codec, Reader};
use rustls_core::enums::{
    CipherSuite, ClientCertificateType, Compression, ECPointFormat, HandshakeType,
    KeyExchangeAlgorithm, NamedGroup, ProtocolVersion, SignatureScheme,
};
use rustls_core::error::{Error, InvalidMessage};
use rustls_core::ffdhe_groups::FFDHE2048;
use rustls_upstream::ContentType;
use rustls_upstream::internal::msgs::base::Payload;
use rustls_upstream::internal::msgs::message::{Message, PlainMessage};
use smallvec::smallvec;

use super::samples::{encode, message};
use crate::msgs::certificate::CertificateStatus;
use crate::msgs::certificate_request::DistinguishedName;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::client_hello::{Random, SessionId};
use crate::msgs::extensions::ProtocolName;
use crate::msgs::server_hello::{self, Received, ServerHello, ServerHelloExtensions};
use crate::msgs::tls12::certificate::CertificateChain;
use crate::msgs::tls12::certificate_request::CertificateRequest;
use crate::msgs::tls12::key_exchange::{
    ClientKeyExchange, ServerKeyExchange, ServerKeyExchangeParams,
};
use crate::msgs::tls12::session_ticket::NewSessionTicket;
use crate::msgs::tls12::{HelloRequest, ServerHelloDone};
use crate::msgs::{EncodeMessage, HandshakeMessage};

/// Decodes a message and encodes it again. A HelloRequest is returned as received, because it is
/// never sent, and so is a HelloRetryRequest.
fn reencode(bytes: &[u8], algorithm: KeyExchangeAlgorithm) -> Result<Vec<u8>, InvalidMessage> {
    let message = HandshakeMessage::new(bytes)?;
    Ok(match message.typ {
        HandshakeType::HelloRequest => {
            let HelloRequest = message.decode(HelloRequest::read)?;
            bytes.to_vec()
        }
        HandshakeType::ServerHello => match message.decode(server_hello::read)? {
            Received::ServerHello(hello) => encode(&hello),
            Received::HelloRetryRequest(_) => bytes.to_vec(),
        },
        HandshakeType::Certificate => encode(&message.decode(CertificateChain::read)?),
        HandshakeType::CertificateStatus => encode(&message.decode(CertificateStatus::read)?),
        HandshakeType::ServerKeyExchange => {
            encode(&message.decode(|r| ServerKeyExchange::read(r, algorithm))?)
        }
        HandshakeType::CertificateRequest => encode(&message.decode(CertificateRequest::read)?),
        HandshakeType::ServerHelloDone => encode(&message.decode(ServerHelloDone::read)?),
        HandshakeType::ClientKeyExchange => {
            encode(&message.decode(|r| ClientKeyExchange::read(r, algorithm))?)
        }
        HandshakeType::NewSessionTicket => encode(&message.decode(NewSessionTicket::read)?),
        other => panic!("{other:?}"),
    })
}

use KeyExchangeAlgorithm::{DHE, ECDHE};

/// Returns a sample of each message, by name, with its key exchange.
fn samples() -> Vec<(&'static str, KeyExchangeAlgorithm, Vec<u8>)> {
    let chain = [
        CertificateDer::from(&b"end entity"[..]),
        CertificateDer::from(&b"issuer"[..]),
    ];
    let signature = DigitallySignedStruct::new(SignatureScheme::ED25519, vec![7; 64]);
    let key_exchange = |params| {
        encode(&ServerKeyExchange {
            params,
            signature: signature.clone(),
        })
    };
    let request = CertificateRequest {
        certificate_types: smallvec![
            ClientCertificateType::RsaSign,
            ClientCertificateType::EcdsaSign
        ],
        signature_schemes: smallvec![SignatureScheme::RSA_PKCS1_SHA256, SignatureScheme::ED25519],
        authorities: vec![DistinguishedName::in_sequence(b"name")],
    };
    let client_key = |algorithm| {
        encode(&ClientKeyExchange {
            algorithm,
            public: &[5; 65],
        })
    };
    vec![
        ("HelloRequest", ECDHE, message(0, &[])),
        ("ServerHello", ECDHE, encode(&server_hello())),
        ("Certificate", ECDHE, encode(&CertificateChain::new(&chain))),
        (
            "CertificateStatus",
            ECDHE,
            encode(&CertificateStatus(b"response")),
        ),
        (
            "ServerKeyExchange",
            ECDHE,
            key_exchange(ServerKeyExchangeParams::Ecdhe {
                group: NamedGroup::X25519,
                public: &[9; 32],
            }),
        ),
        (
            "ServerKeyExchange",
            DHE,
            key_exchange(ServerKeyExchangeParams::of_ffdhe(FFDHE2048, &[8; 256])),
        ),
        ("CertificateRequest", ECDHE, encode(&request)),
        ("ServerHelloDone", ECDHE, encode(&ServerHelloDone)),
        ("ClientKeyExchange", ECDHE, client_key(ECDHE)),
        ("ClientKeyExchange", DHE, client_key(DHE)),
        (
            "NewSessionTicket",
            ECDHE,
            encode(&NewSessionTicket {
                lifetime_hint: 3600,
                ticket: b"ticket",
            }),
        ),
    ]
}

fn server_hello() -> ServerHello<'static> {
    ServerHello {
        legacy_version: ProtocolVersion::TLSv1_2,
        random: Random([6; 32]),
        legacy_session_id_echo: SessionId::from([2; 32]),
        cipher_suite: CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        compression: Compression::Null,
        extensions: ServerHelloExtensions {
            server_name_ack: true,
            status_request_ack: true,
            ec_point_formats: Some(smallvec![ECPointFormat::Uncompressed]),
            selected_protocol: Some(ProtocolName(b"h2")),
            extended_master_secret_ack: true,
            session_ticket_ack: true,
            renegotiation_info: Some(&[]),
            ..ServerHelloExtensions::default()
        },
    }
}

#[test]
fn every_message_round_trips() {
    for (name, algorithm, bytes) in samples() {
        assert_eq!(
            reencode(&bytes, algorithm),
            Ok(bytes),
            "{name} {algorithm:?}"
        );
    }
}

#[test]
fn a_truncated_or_extended_message_is_an_error() {
    for (name, algorithm, bytes) in samples() {
        let body = &bytes[4..];
        for len in 0..body.len() {
            let cut = reencode(&message(bytes[0], &body[..len]), algorithm);
            // RFC 5246 §7.4.1.3: the extensions may be omitted
            if (name, len) == ("ServerHello", 70) {
                cut.unwrap();
            } else {
                cut.expect_err(name);
            }
            reencode(&bytes[..4 + len], algorithm).expect_err(name);
        }
        let longer = message(bytes[0], &[body, &[0]].concat());
        assert!(
            matches!(
                reencode(&longer, algorithm),
                Err(InvalidMessage::TrailingData(_) | InvalidMessage::InvalidDhParams)
            ),
            "{name}"
        );
    }
}

#[test]
fn a_hello_without_extensions_has_no_extension_block() {
    let hello = ServerHello {
        extensions: ServerHelloExtensions::default(),
        ..server_hello()
    };
    let bytes = encode(&hello);
    assert_eq!(bytes.len(), 4 + 2 + 32 + 33 + 2 + 1);
    assert_eq!(reencode(&bytes, ECDHE), Ok(bytes));
}

#[test]
fn the_signed_content_has_both_randoms_and_the_parameters() {
    // RFC 8422 §5.4: curve_type named_curve, secp256r1, and a point; RFC 5246 §7.4.3: p, g, Ys
    let ecdhe = [3, 0, 23, 3, 4, 5, 6];
    let dhe = [0, 2, 0, 23, 0, 1, 5, 0, 3, 1, 2, 3];
    for (algorithm, params) in [(ECDHE, &ecdhe[..]), (DHE, &dhe)] {
        let body = [params, &[8, 7, 0, 1, 9]].concat();
        let mut r = Reader::new(&body);
        let read = ServerKeyExchange::read(&mut r, algorithm).unwrap();
        assert!(!r.any_left());
        assert_eq!(read.params.algorithm(), algorithm);
        assert_eq!(read.signature.scheme, SignatureScheme::ED25519);
        assert_eq!(read.signature.signature(), [9]);
        let content = read
            .params
            .signed_content(&Random([1; 32]), &Random([2; 32]));
        assert_eq!(content, [&[1; 32], &[2; 32], params].concat());
    }
}

#[test]
fn malformed_key_exchanges_are_rejected() {
    let server = |algorithm, body: &[u8]| {
        ServerKeyExchange::read(&mut Reader::new(body), algorithm)
            .map(|_| ())
            .unwrap_err()
    };
    // RFC 8422 §5.4: no explicit curves, and no empty point
    for typ in [0, 1, 2, 4] {
        let body = [typ, 0, 23, 1, 4, 8, 7, 0, 1, 9];
        assert_eq!(server(ECDHE, &body), InvalidMessage::UnsupportedCurveType);
    }
    assert_eq!(
        server(ECDHE, &[3, 0, 23, 0, 8, 7, 0, 1, 9]),
        InvalidMessage::IllegalEmptyValue
    );
    // RFC 5246 §7.4.3: no empty number
    for body in [
        &[0, 0, 0, 1, 5, 0, 1, 3, 8, 7, 0, 1, 9][..],
        &[0, 1, 7, 0, 0, 0, 1, 3, 8, 7, 0, 1, 9],
        &[0, 1, 7, 0, 1, 5, 0, 0, 8, 7, 0, 1, 9],
    ] {
        assert_eq!(server(DHE, body), InvalidMessage::IllegalEmptyValue);
    }
    for (algorithm, body) in [(ECDHE, &[0][..]), (DHE, &[0, 0])] {
        let mut r = Reader::new(body);
        assert_eq!(
            ClientKeyExchange::read(&mut r, algorithm),
            Err(InvalidMessage::IllegalEmptyValue)
        );
    }
}

#[test]
fn a_key_that_is_too_long_is_rejected() {
    for (algorithm, most) in [(ECDHE, 0xff), (DHE, 0xffff - 2)] {
        for (len, fits) in [(most, true), (most + 3, false)] {
            let public = vec![1; len];
            let mut bytes = vec![];
            let key = ClientKeyExchange {
                algorithm,
                public: &public,
            };
            let sent = key.encode_message(&mut bytes);
            assert_eq!(sent.is_ok(), fits, "{len}: {sent:?}");
            assert_eq!(matches!(sent, Err(Error::General(_))), !fits);
            assert_eq!(bytes.is_empty(), !fits);
        }
    }
    let mut bytes = vec![];
    let key = ServerKeyExchange {
        params: ServerKeyExchangeParams::Ecdhe {
            group: NamedGroup::Unknown(0xfe00),
            public: &[1; 256],
        },
        signature: DigitallySignedStruct::new(SignatureScheme::ED25519, vec![7; 64]),
    };
    key.encode_message(&mut bytes).unwrap_err();
    assert!(bytes.is_empty());
}

/// False for messages that upstream treats differently. It decodes key exchanges later, when it
/// knows the suite, and accepts a HelloRequest with contents (RFC 5246 §7.4.1.1: it has none).
fn is_comparable(name: &str) -> bool {
    !name.ends_with("KeyExchange") && name != "HelloRequest"
}

#[test]
fn undamaged_messages_are_read_as_upstream_reads_them() {
    for (name, _, bytes) in samples() {
        assert_eq!(upstream_verdict(&bytes), Ok(()), "{name}");
    }
}

#[test]
fn messages_with_a_changed_byte_are_read_as_upstream_reads_them() {
    for (name, algorithm, bytes) in samples() {
        for at in 4..bytes.len() {
            for value in [
                0,
                1,
                2,
                0x7f,
                0xff,
                bytes[at] ^ 1,
                bytes[at].wrapping_add(1),
            ] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let what = format!("{name}: {value:#04x} at {at}");
                assert_same_verdict(name, &what, algorithm, &damaged);
            }
        }
    }
}

#[test]
fn truncated_and_extended_messages_are_read_as_upstream_reads_them() {
    for (name, algorithm, bytes) in samples() {
        let body = &bytes[4..];
        for at in 0..=body.len() {
            let (front, back) = body.split_at(at);
            let cut = message(bytes[0], front);
            assert_same_verdict(name, &format!("{name} truncated to {at}"), algorithm, &cut);
            for value in [0, 1, 0xff] {
                let stretched = message(bytes[0], &[front, &[value], back].concat());
                let what = format!("{name} with {value} inserted at {at}");
                assert_same_verdict(name, &what, algorithm, &stretched);
            }
        }
    }
}

#[test]
fn certificate_lists_are_read_as_upstream_reads_them() {
    let entry = |len: usize| {
        let [_, prefix @ ..] = (len as u32).to_be_bytes();
        [&prefix[..], &vec![1; len]].concat()
    };
    let list = |entries: &[u8]| {
        let [_, prefix @ ..] = (entries.len() as u32).to_be_bytes();
        message(11, &[&prefix[..], entries].concat())
    };
    for (name, bytes) in [
        ("none", list(&[])),
        ("three", list(&[entry(1), entry(300), entry(2)].concat())),
        ("half an entry", list(&entry(3)[..5])),
        ("of maximum length", list(&entry(0x1_0000 - 3))),
        ("longer", list(&entry(0x1_0000 - 2))),
        ("claims to be longer", message(11, &[1, 0, 1])),
        ("an empty ticket", message(4, &[0, 0, 0, 0, 0, 0])),
        ("an empty response", message(22, &[1, 0, 0, 0])),
        ("another status", message(22, &[2, 0, 0, 1, 9])),
        ("no types", message(13, &[0, 0, 2, 4, 3, 0, 0])),
        ("no schemes", message(13, &[1, 64, 0, 0, 0, 0])),
        ("half a scheme", message(13, &[1, 64, 0, 1, 4, 0, 0])),
        (
            "an empty authority",
            message(13, &[1, 64, 0, 2, 4, 3, 0, 2, 0, 0]),
        ),
        ("no authorities", message(13, &[1, 64, 0, 2, 4, 3, 0, 0])),
    ] {
        assert_same_verdict(name, name, ECDHE, &bytes);
    }
    // RFC 5246 §7.4.2: a certificate has at least one byte
    for empty in [list(&entry(0)), list(&[entry(9), entry(0)].concat())] {
        assert_eq!(
            reencode(&empty, ECDHE),
            Err(InvalidMessage::IllegalEmptyValue)
        );
        assert_eq!(upstream_verdict(&empty), Ok(()));
    }
}

fn upstream_verdict(bytes: &[u8]) -> Result<(), String> {
    Message::try_from(PlainMessage {
        typ: ContentType::Handshake,
        version: rustls_upstream::ProtocolVersion::TLSv1_2,
        payload: Payload::new(bytes.to_vec()),
    })
    .map(|_| ())
    .map_err(|error| format!("{error:?}"))
}

/// The handshake type of a Certificate.
const CERTIFICATE: u8 = 11;

#[track_caller]
fn assert_same_verdict(name: &str, what: &str, algorithm: KeyExchangeAlgorithm, bytes: &[u8]) {
    let read = reencode(bytes, algorithm);
    if bytes[0] == CERTIFICATE && read == Err(InvalidMessage::IllegalEmptyValue) {
        // upstream accepts an empty certificate and continues after it
        return;
    }
    let ours = read.map(|_| ()).map_err(|error| format!("{error:?}"));
    if is_comparable(name) {
        assert_eq!(ours, upstream_verdict(bytes), "{what}: {bytes:02x?}");
    }
}

proptest! {
    #[test]
    fn reading_never_panics(
        typ in prop::sample::select(vec![0, 2, 4, 11, 12, 13, 14, 16, 22]),
        finite_field: bool,
        body: Vec<u8>,
    ) {
        let algorithm = if finite_field { DHE } else { ECDHE };
        // an accepted message keeps its meaning when it is sent again
        if let Ok(read) = reencode(&message(typ, &body), algorithm) {
            prop_assert_eq!(reencode(&read, algorithm), Ok(read));
        }
    }
}
