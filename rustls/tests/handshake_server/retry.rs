//! HelloRetryRequest, and the ClientHellos that follow it.

use harness::peers::configs::product;
use harness::peers::endpoints::Endpoint;
use harness::scripted::ech::ENCRYPTED_CLIENT_HELLO;
use harness::wire::client_hello::*;
use harness::wire::*;
use rustls::AlertDescription::{
    HandshakeFailure, IllegalParameter, MissingExtension, NoApplicationProtocol, ProtocolVersion,
    UnexpectedMessage, UnsupportedCertificate,
};
use rustls::{HandshakeKind, HandshakeType};

use crate::handshake_server::client_hello::{
    Answer, answer, inappropriate_message, incompatible, misbehaved, refused,
};
use crate::handshake_server::servers::{PROVIDERS, Sent, Setup};

fn after_retry(setup: &Setup, first: &ClientHello, second: &ClientHello) -> [Answer; 2] {
    let records = [first.record(), second.record()];
    setup
        .both()
        .map(|mut server| answer(&mut *server, &records))
}

/// The body of an encrypted_client_hello extension that the server cannot decrypt.
fn outer_ech(payload: &[u8]) -> Vec<u8> {
    // outer; HKDF-SHA256, AES-128-GCM; config_id; enc is empty
    [&[0, 0, 1, 0, 1, 7, 0, 0][..], &u16_vec(payload)].concat()
}

/// A flight without a second change_cipher_spec.
fn flight() -> Answer {
    Answer {
        error: None,
        sent: vec![Sent::Handshake(HandshakeType::ServerHello), Sent::Encrypted],
    }
}

#[test]
fn allowed_changes_are_accepted() {
    let (first, second) = (ClientHello::without_share(), ClientHello::new());
    let with = |hello: &ClientHello, typ, body| hello.clone().and(typ, body);
    let both =
        |typ, [one, other]: [Vec<u8>; 2]| (with(&first, typ, one), with(&second, typ, other));
    let modes = with(&first, PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]));
    let two_psks = modes.and(PRE_SHARED_KEY, offered_psks(2, 2));
    let with_early_data = first.clone().with_early_data();
    let padded = with(&first, PADDING, vec![0; 9]);
    let reversed = second.clone().edit(|hello| hello.extensions.reverse());
    for (name, (first, second)) in [
        ("a share", (first.clone(), second.clone())),
        (
            "padding added",
            (first.clone(), with(&second, PADDING, vec![0; 9])),
        ),
        ("padding removed", (padded, second.clone())),
        (
            "early data removed",
            (with_early_data, second.clone().with_psk()),
        ),
        (
            "a pre-shared key removed",
            (two_psks, second.clone().with_psk()),
        ),
        (
            "an unsolicited cookie",
            (first.clone(), with(&second, COOKIE, u16_vec(b"c"))),
        ),
        ("an unknown extension", both(0x0a0a, [vec![1], vec![2]])),
        (
            "an inner hello encrypted again",
            both(
                ENCRYPTED_CLIENT_HELLO,
                [1, 2].map(|byte| outer_ech(&[byte; 32])),
            ),
        ),
        ("extensions in another order", (first.clone(), reversed)),
    ] {
        for provider in PROVIDERS {
            for answer in after_retry(&Setup::new(provider), &first, &second) {
                assert_eq!(answer, flight(), "{name}");
            }
        }
    }
}

#[test]
fn the_requested_group_is_the_client_s_first() {
    for (groups, share, payload) in [
        ([P256, X25519], P256, p256_share()),
        ([X25519, P256], X25519, x25519_share()),
    ] {
        let groups = u16_vec(&u16s(&groups));
        let first = ClientHello::without_share().with(SUPPORTED_GROUPS, groups.clone());
        let second = first
            .clone()
            .with(KEY_SHARE, key_shares(&[(share, &payload)]));
        for answer in after_retry(&Setup::new(PROVIDERS[0]), &first, &second) {
            assert_eq!(answer, flight());
        }

        let mut server = Setup::new(PROVIDERS[0]).ours();
        let retried = Some(HandshakeKind::FullWithHelloRetryRequest);
        server.receive(&first.record()).unwrap();
        assert_eq!(server.conn.handshake_kind(), retried);
        assert!(server.conn.negotiated_key_exchange_group().is_none());
        server.receive(&second.record()).unwrap();
        assert_eq!(server.conn.handshake_kind(), retried);
        let group = server.conn.negotiated_key_exchange_group().unwrap();
        assert_eq!(u16::from(group.name()), share);
    }
}

/// A ClientHello with these suites, groups or key shares.
fn suites(suites: &[u16]) -> ClientHello {
    ClientHello::new().edit(|hello| hello.cipher_suites = suites.to_vec())
}

fn groups(groups: &[u16]) -> ClientHello {
    ClientHello::new().with(SUPPORTED_GROUPS, u16_vec(&u16s(groups)))
}

fn shares(shares: &[(u16, &[u8])]) -> ClientHello {
    ClientHello::new().with(KEY_SHARE, key_shares(shares))
}

#[test]
fn other_changes_are_refused_as_upstream_does() {
    let changed = misbehaved("RefusedToFollowHelloRetryRequest", IllegalParameter);
    let suite = misbehaved("CipherSuiteDifferedOnRetry", IllegalParameter);
    let early_data = misbehaved("EarlyDataAttemptedInSecondClientHello", IllegalParameter);
    let no_psk = misbehaved("MissingPskExtensionInSecondClientHello", MissingExtension);
    let no_suite = incompatible("NoCipherSuitesInCommon", HandshakeFailure);
    let no_version = incompatible("SupportedVersionsExtensionRequired", ProtocolVersion);
    let not_null = incompatible("NullCompressionRequired", IllegalParameter);
    let wrong_share = misbehaved("InvalidKeyShare", IllegalParameter);

    let without_version = ClientHello::new().without(SUPPORTED_VERSIONS);
    let compressed = ClientHello::new().edit(|hello| hello.compression = vec![1]);
    let first = ClientHello::without_share();
    let with_psk = first.clone().with_psk();
    for (what, first, second, expected) in [
        ("nothing", &first, first.clone(), &changed),
        (
            "another share",
            &first,
            shares(&[(P256, &p256_share())]),
            &changed,
        ),
        ("other groups", &first, groups(&[P256]), &changed),
        (
            "the order of groups",
            &first,
            groups(&[P256, X25519]),
            &changed,
        ),
        ("other suites", &first, suites(&[0x1302]), &suite),
        (
            "the order of suites",
            &first,
            suites(&[0x1302, 0x1301]),
            &suite,
        ),
        ("unknown suites", &first, suites(&[0x1309]), &no_suite),
        (
            "early data",
            &first,
            ClientHello::new().with_early_data(),
            &early_data,
        ),
        ("no PSK", &with_psk, ClientHello::new(), &no_psk),
        ("no version", &first, without_version, &no_version),
        ("compression", &first, compressed, &not_null),
        (
            "a share of zeros",
            &first,
            shares(&[(X25519, &[0; 32])]),
            &wrong_share,
        ),
    ] {
        for answer in after_retry(&Setup::new(PROVIDERS[0]), first, &second) {
            assert_eq!(answer, *expected, "{what}");
        }
    }
}

/// Upstream refuses another name, too, but without an alert.
#[test]
fn another_name_is_rejected() {
    let name = misbehaved("ServerNameDifferedOnRetry", IllegalParameter);
    let without = |hello: ClientHello| hello.without(SERVER_NAME);
    let first = ClientHello::without_share();
    for (first, second) in [
        (
            first.clone(),
            ClientHello::new().with(SERVER_NAME, host_name(b"other")),
        ),
        (first.clone(), without(ClientHello::new())),
        (without(first), ClientHello::new()),
    ] {
        let [ours, theirs] = after_retry(&Setup::new(PROVIDERS[0]), &first, &second);
        assert_eq!(ours, name);
        assert_eq!((ours.error, vec![]), (theirs.error, theirs.sent));
    }
}

/// The changes that do not lead to another version, suite, group or name, one at a time. Clients
/// that make some of them are in use: Mbed TLS before 2024 and s2n-tls before May 2022 draw a new
/// random, hs-tls and NanoSSL list the requested group alone.
fn harmless_changes() -> Vec<(&'static str, ClientHello, ClientHello)> {
    let (first, second) = (ClientHello::without_share(), ClientHello::new());
    let with = |typ, body| (first.clone(), second.clone().with(typ, body));
    let edited =
        |edit: &dyn Fn(&mut ClientHello)| (first.clone(), second.clone().edit(|hello| edit(hello)));
    let changed = |typ, [before, after]: [Vec<u8>; 2]| {
        (
            first.clone().with(typ, before),
            second.clone().with(typ, after),
        )
    };
    let schemes = |schemes: &[u16]| u16_vec(&u16s(schemes));
    let two_shares = key_shares(&[(P256, &p256_share()), (X25519, &x25519_share())]);
    let modes = (
        first.clone().with(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1])),
        second.clone(),
    );
    let types = changed(CLIENT_CERTIFICATE_TYPE, [u8_vec(&[2]), u8_vec(&[0])]);
    let cases = vec![
        ("random", edited(&|hello| hello.random = [2; 32])),
        (
            "session ID",
            edited(&|hello| hello.session_id = vec![6; 32]),
        ),
        ("no session ID", edited(&|hello| hello.session_id.clear())),
        (
            "fewer suites",
            edited(&|hello| hello.cipher_suites = vec![0x1301]),
        ),
        ("fewer groups", with(SUPPORTED_GROUPS, schemes(&[X25519]))),
        (
            "more groups",
            with(SUPPORTED_GROUPS, schemes(&[X448, X25519, P256])),
        ),
        ("two shares", with(KEY_SHARE, two_shares)),
        ("schemes", with(SIGNATURE_ALGORITHMS, schemes(&[0x0403]))),
        (
            "versions",
            with(SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0304, 0x0303]))),
        ),
        ("ALPN", with(ALPN, protocols(&[b"h2"]))),
        (
            "another protocol",
            changed(ALPN, [protocols(&[b"h2"]), protocols(&[b"http/1.1"])]),
        ),
        (
            "a protocol at last",
            changed(ALPN, [protocols(&[b"x"]), protocols(&[b"h2"])]),
        ),
        ("PSK modes", with(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]))),
        ("no PSK modes", modes),
        ("a PSK", (first.clone(), second.clone().with_psk())),
        ("ticket", with(SESSION_TICKET, vec![])),
        ("master secret", with(EXTENDED_MASTER_SECRET, vec![])),
        ("status", with(STATUS_REQUEST, vec![1, 0, 0, 0, 0])),
        ("server's type", with(SERVER_CERTIFICATE_TYPE, u8_vec(&[0]))),
        ("client's type", types),
        (
            "authorities",
            with(CERTIFICATE_AUTHORITIES, u16_vec(&u16_vec(&[0x30, 0]))),
        ),
        (
            "name in capitals",
            with(SERVER_NAME, host_name(b"LOCALHOST")),
        ),
    ];
    let flat = |(what, (first, second))| (what, first, second);
    cases.into_iter().map(flat).collect()
}

#[test]
fn harmless_changes_are_accepted_as_by_upstream() {
    for (provider, has_client_auth) in product(PROVIDERS, [false, true]) {
        let mut setup = Setup::new(provider);
        setup.alpn = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        if has_client_auth {
            setup.client_certs = setup.identity.chain();
        }
        for (what, first, second) in harmless_changes() {
            let records = [first.record(), second.record()];
            assert_eq!(
                answer(&mut setup.ours_unbuffered(), &records),
                flight(),
                "{what}"
            );
            let (mut ours, mut theirs) = (setup.ours(), setup.theirs());
            assert_eq!(answer(&mut ours, &records), flight(), "{what}");
            assert_eq!(answer(&mut theirs, &records), flight(), "{what}");
            assert_eq!(ours.accessors(), theirs.accessors(), "{what}");
        }
    }
}

/// The second ClientHello is judged by what it offers itself, even if the first one was better.
#[test]
fn the_second_hello_determines_the_other_parameters() {
    let no_protocol = refused("NoApplicationProtocol", NoApplicationProtocol);
    let no_scheme = incompatible("NoSignatureSchemesInCommon", HandshakeFailure);
    let wrong_type = incompatible("IncorrectCertificateTypeExtension", UnsupportedCertificate);
    let first = ClientHello::without_share();
    for (typ, good, bad, expected) in [
        (ALPN, protocols(&[b"h2"]), protocols(&[b"x"]), &no_protocol),
        (
            SIGNATURE_ALGORITHMS,
            u16_vec(&u16s(&[0x0403])),
            u16_vec(&u16s(&[0x0804])),
            &no_scheme,
        ),
        (
            SERVER_CERTIFICATE_TYPE,
            u8_vec(&[0]),
            u8_vec(&[2]),
            &wrong_type,
        ),
        (
            CLIENT_CERTIFICATE_TYPE,
            u8_vec(&[0]),
            u8_vec(&[2]),
            &wrong_type,
        ),
    ] {
        let mut setup = Setup::new(PROVIDERS[0]);
        setup.alpn = vec![b"h2".to_vec()];
        setup.client_certs = setup.identity.chain();
        let records = [
            first.clone().with(typ, good).record(),
            ClientHello::new().with(typ, bad).record(),
        ];
        assert_eq!(answer(&mut setup.ours(), &records), *expected, "{typ}");
        // upstream sends its ServerHello first
        let theirs = answer(&mut setup.theirs(), &records);
        assert_eq!(theirs.error, expected.error, "{typ}");
    }
}

/// A key log identifies a connection by a random, of which there are two.
#[test]
fn secrets_are_logged_under_the_second_random() {
    let first = ClientHello::without_share().record();
    let second = ClientHello::new().edit(|hello| hello.random = [2; 32]);
    for setup in PROVIDERS.map(Setup::new) {
        for (randoms, mut server) in setup.both_logging() {
            server.receive(&first).unwrap();
            server.receive(&second.record()).unwrap();
            let randoms = randoms.0.lock().unwrap();
            assert!(!randoms.is_empty());
            assert!(randoms.iter().all(|random| *random == [2; 32]));
        }
    }
}

#[test]
fn only_a_client_hello_may_follow() {
    let first = ClientHello::without_share().record();
    for (second, expected) in [
        (
            record(0x16, &message(20, &[0; 32])),
            inappropriate_message("ClientHello", "Finished"),
        ),
        (record(0x17, &[0; 40]), application_data()),
    ] {
        for mut server in Setup::new(PROVIDERS[0]).both() {
            let answer = answer(&mut *server, &[first.clone(), second.clone()]);
            assert_eq!(answer, expected);
        }
    }
}

/// The answer to application data instead of a ClientHello.
fn application_data() -> Answer {
    let error = "InappropriateMessage { expect_types: [Handshake], got_type: ApplicationData }";
    refused(error, UnexpectedMessage)
}

#[test]
fn change_cipher_spec_is_dropped_in_between() {
    let records = [
        ClientHello::without_share().record(),
        record(0x14, &[1]),
        ClientHello::new().record(),
    ];
    for mut server in Setup::new(PROVIDERS[0]).both() {
        assert_eq!(answer(&mut *server, &records), flight());
    }
}

#[test]
fn early_data_is_skipped_until_the_second_client_hello() {
    let early = |len| record(0x17, &vec![0; len]);
    let first = ClientHello::without_share().with_early_data().record();
    let second = ClientHello::new().with_psk().record();
    // RFC 9846 §4.7.1: only content counts, without the 17 bytes of protection. Upstream counts
    // those, too
    let good = [
        first.clone(),
        early(16_000 + 17),
        early(384 + 17),
        second.clone(),
    ];
    let good_for_both = [first.clone(), early(16_000), early(384), second.clone()];
    let too_much = [first.clone(), early(16_000 + 17), early(385 + 17)];
    let too_late = [first, early(40), second, early(40)];
    for mut server in Setup::new(PROVIDERS[0]).both() {
        assert_eq!(answer(&mut *server, &good_for_both), flight());
    }
    let mut server = Setup::new(PROVIDERS[0]).ours();
    assert_eq!(answer(&mut server, &good), flight());
    for mut server in Setup::new(PROVIDERS[0]).both() {
        assert_eq!(answer(&mut *server, &too_much), application_data());
    }
    let answer = answer(&mut Setup::new(PROVIDERS[0]).ours(), &too_late);
    assert_eq!(answer.error.unwrap(), "DecryptError");
}

/// RFC 9846 §5.1: skipped early data must not interrupt a message either. Upstream reports another
/// error and sends no alert.
#[test]
fn early_data_within_the_second_hello_is_refused() {
    let first = ClientHello::without_share().with_early_data();
    let second = ClientHello::new().with_psk().message();
    for setup in PROVIDERS.map(Setup::new) {
        let servers: [Box<dyn Endpoint>; 2] =
            [Box::new(setup.ours()), Box::new(setup.ours_unbuffered())];
        for mut server in servers {
            let records = [
                first.record(),
                record(0x16, &second[..9]),
                record(0x17, &[7; 40]),
            ];
            let error = "RejectedEarlyDataInterleavedWithHandshakeMessage";
            let expected = misbehaved(error, UnexpectedMessage);
            assert_eq!(answer(&mut *server, &records), expected);
        }
    }
}
