//! First ClientHellos, valid and invalid.

use core::slice;

use harness::peers::endpoints::Endpoint;
use harness::wire::client_hello::*;
use harness::wire::*;
use rustls::{AlertDescription, HandshakeType};

use crate::servers::{PROVIDERS, Sent, Setup, records, server_name};

/// A server's response to the last of several records.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) error: Option<String>,
    pub(crate) sent: Vec<Sent>,
}

pub(crate) fn answer(server: &mut dyn Endpoint, received: &[Vec<u8>]) -> Answer {
    let mut error = None;
    let mut output = vec![];
    for record in received {
        assert_eq!(error, None, "the server gave up too early");
        error = server.receive(record).err();
        output = server.take_output();
    }
    Answer {
        error,
        sent: records(&output),
    }
}

pub(crate) fn refused(error: &str, alert: AlertDescription) -> Answer {
    Answer {
        error: Some(error.to_string()),
        sent: vec![Sent::Alert(alert)],
    }
}

pub(crate) fn flight() -> Answer {
    Answer {
        error: None,
        sent: vec![
            Sent::Handshake(HandshakeType::ServerHello),
            Sent::ChangeCipherSpec,
            Sent::Encrypted,
        ],
    }
}

pub(crate) fn retry_request() -> Answer {
    Answer {
        error: None,
        sent: vec![
            Sent::Handshake(HandshakeType::ServerHello),
            Sent::ChangeCipherSpec,
        ],
    }
}

/// Asserts that both crates' servers give the expected answer.
pub(crate) fn expect_same(setup: &Setup, cases: Vec<(&str, ClientHello, Answer)>) {
    for (name, hello, expected) in cases {
        let records = [hello.record()];
        for mut server in setup.both() {
            assert_eq!(answer(&mut *server, &records), expected, "{name}");
        }
        let unbuffered = answer(&mut setup.ours_unbuffered(), &records);
        assert_eq!(unbuffered, expected, "{name}, unbuffered");
    }
}

/// Asserts that only this crate's server gives the expected answer.
fn expect_ours(setup: &Setup, cases: Vec<(&str, ClientHello, Answer)>) {
    for (name, hello, expected) in cases {
        let records = [hello.record()];
        assert_eq!(answer(&mut setup.ours(), &records), expected, "{name}");
        let unbuffered = answer(&mut setup.ours_unbuffered(), &records);
        assert_eq!(unbuffered, expected, "{name}, unbuffered");
        assert_ne!(
            answer(&mut setup.theirs(), &records),
            expected,
            "{name}: not a difference"
        );
    }
}

#[test]
fn versions() {
    const NOT_OFFERED: &str = "PeerIncompatible(Tls12NotOffered)";
    const NEITHER: &str = "PeerIncompatible(Tls12NotOfferedOrEnabled)";
    const NO_EXTENSION: &str = "PeerIncompatible(SupportedVersionsExtensionRequired)";
    use AlertDescription::{DecodeError, ProtocolVersion};

    let versions =
        |versions: &[u16]| ClientHello::new().with(SUPPORTED_VERSIONS, u8_vec(&u16s(versions)));
    let legacy = |version| {
        ClientHello::new()
            .without(SUPPORTED_VERSIONS)
            .edit(|hello| hello.legacy_version = version)
    };
    expect_same(
        &Setup::new(PROVIDERS[0]),
        vec![
            ("1.3", ClientHello::new(), flight()),
            ("unknown and 1.3", versions(&[0x0a0a, 0x0304]), flight()),
            ("1.2 and 1.3", versions(&[0x0303, 0x0304]), flight()),
            (
                "1.2",
                versions(&[0x0303]),
                refused(NEITHER, ProtocolVersion),
            ),
            (
                "unknown",
                versions(&[0x0a0a]),
                refused(NEITHER, ProtocolVersion),
            ),
            (
                "1.2, 1.2 style",
                legacy(0x0303),
                refused(NO_EXTENSION, ProtocolVersion),
            ),
            (
                "1.3, 1.2 style",
                legacy(0x0304),
                refused(NO_EXTENSION, ProtocolVersion),
            ),
            ("1.1", legacy(0x0302), refused(NOT_OFFERED, ProtocolVersion)),
            (
                "none",
                versions(&[]),
                refused(
                    "InvalidMessage(IllegalEmptyList(\"ProtocolVersions\"))",
                    DecodeError,
                ),
            ),
        ],
    );
    // RFC 9846 §E.2: protocol_version, but upstream first complains about signature_algorithms
    expect_ours(
        &Setup::new(PROVIDERS[0]),
        vec![(
            "no extensions",
            ClientHello::new().edit(|hello| hello.extensions = vec![]),
            refused(NO_EXTENSION, ProtocolVersion),
        )],
    );
    // RFC 9846 §4.2.2: legacy_version must be 0x0303, which upstream does not check
    for version in [0x0300, 0x0301, 0x0302, 0x0304, 0x0403] {
        expect_ours(
            &Setup::new(PROVIDERS[0]),
            vec![(
                "legacy_version",
                ClientHello::new().edit(|hello| hello.legacy_version = version),
                refused(NOT_OFFERED, ProtocolVersion),
            )],
        );
    }
}

#[test]
fn compression_and_session_ids() {
    use AlertDescription::{DecodeError, IllegalParameter};

    let compression =
        |methods: &[u8]| ClientHello::new().edit(|hello| hello.compression = methods.to_vec());
    let session_id = |len| ClientHello::new().edit(|hello| hello.session_id = vec![1; len]);
    const INCORRECT: &str = "PeerMisbehaved(OfferedIncorrectCompressions)";
    const NOT_NULL: &str = "PeerIncompatible(NullCompressionRequired)";
    expect_same(
        &Setup::new(PROVIDERS[0]),
        vec![
            (
                "null and deflate",
                compression(&[0, 1]),
                refused(INCORRECT, IllegalParameter),
            ),
            (
                "deflate",
                compression(&[1]),
                refused(NOT_NULL, IllegalParameter),
            ),
            (
                "none",
                compression(&[]),
                refused(
                    "InvalidMessage(IllegalEmptyList(\"Compressions\"))",
                    DecodeError,
                ),
            ),
            ("short session id", session_id(1), flight()),
            (
                "long session id",
                session_id(33),
                refused("InvalidMessage(TrailingData(\"SessionID\"))", DecodeError),
            ),
        ],
    );
    // RFC 9846 §E.4: change_cipher_spec answers a session ID; upstream always sends one
    let without = |answer: Answer| Answer {
        sent: answer
            .sent
            .into_iter()
            .filter(|sent| *sent != Sent::ChangeCipherSpec)
            .collect(),
        ..answer
    };
    expect_ours(
        &Setup::new(PROVIDERS[0]),
        vec![
            ("no session id", session_id(0), without(flight())),
            (
                "no session id, retried",
                session_id(0).with(KEY_SHARE, key_shares(&[])),
                without(retry_request()),
            ),
        ],
    );
}

#[test]
fn mandatory_extensions() {
    use AlertDescription::{HandshakeFailure, MissingExtension};

    // RFC 9846 §9.2: missing_extension, but upstream sends handshake_failure
    const SIGNATURES: &str = "PeerIncompatible(SignatureAlgorithmsExtensionRequired)";
    const GROUPS: &str = "PeerIncompatible(NamedGroupsExtensionRequired)";
    const SHARE: &str = "PeerIncompatible(KeyShareExtensionRequired)";
    for (typ, error) in [
        (SIGNATURE_ALGORITHMS, SIGNATURES),
        (SUPPORTED_GROUPS, GROUPS),
        (KEY_SHARE, SHARE),
    ] {
        for hello in [ClientHello::new(), ClientHello::new().with_psk()] {
            expect_ours(
                &Setup::new(PROVIDERS[0]),
                vec![(
                    "missing",
                    hello.without(typ),
                    refused(error, MissingExtension),
                )],
            );
        }
    }

    let no_groups = ClientHello::new().with(SUPPORTED_GROUPS, u16_vec(&u16s(&[X448])));
    let no_suites = ClientHello::new().edit(|hello| hello.cipher_suites = vec![0x1309, 0xc02b]);
    expect_same(
        &Setup::new(PROVIDERS[0]),
        vec![
            (
                "no group in common",
                no_groups,
                refused("PeerIncompatible(NoKxGroupsInCommon)", HandshakeFailure),
            ),
            (
                "no cipher suite in common",
                no_suites,
                refused("PeerIncompatible(NoCipherSuitesInCommon)", HandshakeFailure),
            ),
        ],
    );
}

#[test]
fn server_names() {
    use AlertDescription::{DecodeError, IllegalParameter};

    let name = |name: &[u8]| ClientHello::new().with(SERVER_NAME, host_name(name));
    let list = |list: &[u8]| ClientHello::new().with(SERVER_NAME, u16_vec(list));
    const NO_HOST_NAME: &str = "PeerMisbehaved(ServerNameMustContainOneHostName)";
    expect_same(
        &Setup::new(PROVIDERS[0]),
        vec![
            ("upper case", name(b"LOCALHOST"), flight()),
            ("an address", name(b"127.0.0.1"), flight()),
            ("none", ClientHello::new().without(SERVER_NAME), flight()),
            (
                "a space",
                name(b"local host"),
                refused(NO_HOST_NAME, IllegalParameter),
            ),
            (
                "another type",
                list(&[1, 0, 1, b'a']),
                refused(NO_HOST_NAME, IllegalParameter),
            ),
            (
                "two",
                list(&[0, 0, 1, b'a', 0, 0, 1, b'b']),
                refused("InvalidMessage(InvalidServerName)", DecodeError),
            ),
        ],
    );

    let mut server = Setup::new(PROVIDERS[0]).ours();
    server.receive(&name(b"Example.COM").record()).unwrap();
    assert_eq!(server_name(&server), Some("example.com"));
    let mut server = Setup::new(PROVIDERS[0]).ours();
    server.receive(&name(b"127.0.0.1").record()).unwrap();
    assert_eq!(server_name(&server), None);
}

#[test]
fn pre_shared_keys_are_checked_though_none_is_used() {
    use AlertDescription::{DecodeError, IllegalParameter, MissingExtension};

    let modes = || ClientHello::new().and(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]));
    let psks = |identities, binders| modes().and(PRE_SHARED_KEY, offered_psks(identities, binders));
    const MISMATCH: &str = "PeerMisbehaved(PskExtensionWithMismatchedIdsAndBinders)";
    expect_same(
        &Setup::new(PROVIDERS[0]),
        vec![
            ("good", psks(1, 1), flight()),
            ("two", psks(2, 2), flight()),
            ("early data", ClientHello::new().with_early_data(), flight()),
            (
                "a missing binder",
                psks(2, 1),
                refused(MISMATCH, IllegalParameter),
            ),
            (
                "an extra binder",
                psks(1, 2),
                refused(MISMATCH, IllegalParameter),
            ),
            (
                "no modes",
                ClientHello::new().and(PRE_SHARED_KEY, offered_psks(1, 1)),
                refused("PeerMisbehaved(MissingPskModesExtension)", MissingExtension),
            ),
            (
                "not last",
                ClientHello::new().with_psk().and(PADDING, vec![]),
                refused(
                    "InvalidMessage(PreSharedKeyIsNotFinalExtension)",
                    IllegalParameter,
                ),
            ),
            (
                "no identities",
                psks(0, 0),
                refused(
                    "InvalidMessage(IllegalEmptyList(\"PskIdentities\"))",
                    DecodeError,
                ),
            ),
        ],
    );
}

#[test]
fn unknown_and_duplicate_extensions() {
    use AlertDescription::{DecodeError, IllegalParameter};

    expect_same(
        &Setup::new(PROVIDERS[0]),
        vec![
            ("unknown", ClientHello::new().and(0x0a0a, vec![1]), flight()),
            (
                "padding",
                ClientHello::new().and(PADDING, vec![0; 100]),
                flight(),
            ),
            (
                "unsolicited cookie",
                ClientHello::new().and(COOKIE, u16_vec(b"c")),
                flight(),
            ),
            (
                "a known one twice",
                ClientHello::new().and(SERVER_NAME, host_name(b"localhost")),
                refused("InvalidMessage(DuplicateExtension(0))", IllegalParameter),
            ),
            (
                "an unknown one twice",
                ClientHello::new().and(0x7777, vec![]).and(0x7777, vec![]),
                refused(
                    "InvalidMessage(DuplicateExtension(30583))",
                    IllegalParameter,
                ),
            ),
            (
                "trailing data",
                ClientHello::new().edit(|hello| hello.trailing = vec![0]),
                refused(
                    "InvalidMessage(TrailingData(\"ClientHelloPayload\"))",
                    DecodeError,
                ),
            ),
        ],
    );
}

#[test]
fn first_message_must_be_a_client_hello() {
    use AlertDescription::UnexpectedMessage;

    let inappropriate = |typ: &str| {
        refused(
            &format!(
                "InappropriateHandshakeMessage {{ expect_types: [ClientHello], got_type: {typ} }}"
            ),
            UnexpectedMessage,
        )
    };
    let hello = ClientHello::new().message();
    let behind = |hello: &[u8], more: &[u8]| record(0x16, &[hello, more].concat());
    let pending = || {
        refused(
            "PeerMisbehaved(KeyEpochWithPendingFragment)",
            UnexpectedMessage,
        )
    };
    for (bytes, expected) in [
        (
            record(0x16, &message(20, &[0; 32])),
            inappropriate("Finished"),
        ),
        (
            record(0x16, &message(0, &[])),
            inappropriate("HelloRequest"),
        ),
        (record(0x16, &message(24, &[0])), inappropriate("KeyUpdate")),
        (
            record(0x16, &message(99, &[])),
            inappropriate("HandshakeType(0x63)"),
        ),
        // RFC 9846 §5.1: handshake messages must not span key changes
        (behind(&hello, &[20]), pending()),
        (behind(&hello, &hello), pending()),
        (
            behind(&ClientHello::without_share().message(), &[1]),
            pending(),
        ),
    ] {
        for mut server in Setup::new(PROVIDERS[0]).both() {
            assert_eq!(answer(&mut *server, slice::from_ref(&bytes)), expected);
        }
    }
}

#[test]
fn second_client_hello_is_unexpected() {
    let mut server = Setup::new(PROVIDERS[0]).ours();
    server.receive(&ClientHello::new().record()).unwrap();
    // a record in the clear no longer counts as one
    let error = server.receive(&ClientHello::new().record()).unwrap_err();
    assert_eq!(error, "DecryptError");
}

#[test]
fn every_cut_and_every_flip_gives_upstreams_answer() {
    let setup = Setup::new(PROVIDERS[0]);
    let good = ClientHello::new()
        .with_psk()
        .with(ALPN, protocols(&[b"aa"]))
        .message();
    // both crates treat these differently, as tested above: legacy_version and the session ID's
    // length
    let skipped = [4, 5];
    for at in (4..good.len()).filter(|at| !skipped.contains(at)) {
        let mut flipped = good.clone();
        flipped[at] ^= 0x55;
        let records = [record(0x16, &flipped)];
        let ours = answer(&mut setup.ours(), &records);
        let theirs = answer(&mut setup.theirs(), &records);
        assert_eq!(ours.error, theirs.error, "byte {at} flipped");
    }
    // without extensions it is no TLS 1.3 ClientHello, as tested above
    let no_extensions = 4 + 2 + 32 + 33 + 8 + 2;
    for len in (4..good.len()).filter(|len| *len != no_extensions) {
        let mut cut = good[..len].to_vec();
        let body_len = (len - 4) as u16;
        cut[2..4].copy_from_slice(&body_len.to_be_bytes());
        let records = [record(0x16, &cut)];
        let ours = answer(&mut setup.ours(), &records);
        let theirs = answer(&mut setup.theirs(), &records);
        assert_eq!(ours.error, theirs.error, "cut to {len}");
    }
}
