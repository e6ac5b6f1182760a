//! HelloRetryRequest, and the ClientHellos that follow it.

use harness::peers::endpoints::Endpoint;
use harness::scripted::ech::ENCRYPTED_CLIENT_HELLO;
use harness::wire::client_hello::*;
use harness::wire::*;
use rustls::AlertDescription::{
    HandshakeFailure, IllegalParameter, MissingExtension, ProtocolVersion, UnexpectedMessage,
};
use rustls::{HandshakeKind, HandshakeType};

use crate::client_hello::{
    Answer, answer, inappropriate_message, incompatible, misbehaved, refused,
};
use crate::servers::{PROVIDERS, Sent, Setup};

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

/// RFC 9846 §4.2.2: the same ClientHello, with a single share.
#[test]
fn other_changes_are_refused_that_upstream_accepts() {
    let changed = misbehaved("RefusedToFollowHelloRetryRequest", IllegalParameter);
    let name = misbehaved("ServerNameDifferedOnRetry", IllegalParameter);
    let with = |typ, body| ClientHello::new().with(typ, body);
    let session_id = |id: &[u8]| ClientHello::new().edit(|hello| hello.session_id = id.to_vec());
    let random = ClientHello::new().edit(|hello| hello.random = [2; 32]);
    let two_shares = shares(&[(X25519, &x25519_share()), (P256, &p256_share())]);
    for (what, second, expected) in [
        ("random", random, &changed),
        ("session ID", session_id(&[6; 32]), &changed),
        ("no session ID", session_id(&[]), &changed),
        ("two shares", two_shares, &changed),
        ("fewer suites", suites(&[0x1301]), &changed),
        ("fewer groups", groups(&[X25519]), &changed),
        ("more groups", groups(&[X25519, P256, X448]), &changed),
        (
            "schemes",
            with(SIGNATURE_ALGORITHMS, u16_vec(&u16s(&[0x0403]))),
            &changed,
        ),
        (
            "versions",
            with(SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0304, 0x0303]))),
            &changed,
        ),
        ("ALPN", with(ALPN, protocols(&[b"h2"])), &changed),
        (
            "PSK modes",
            with(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1])),
            &changed,
        ),
        ("ticket", with(SESSION_TICKET, vec![]), &changed),
        (
            "master secret",
            with(EXTENDED_MASTER_SECRET, vec![]),
            &changed,
        ),
        // upstream refuses these two, without an alert
        ("name", with(SERVER_NAME, host_name(b"other")), &name),
        ("no name", ClientHello::new().without(SERVER_NAME), &name),
    ] {
        let first = ClientHello::without_share();
        let [ours, theirs] = after_retry(&Setup::new(PROVIDERS[0]), &first, &second);
        assert_eq!(ours, *expected, "{what}");
        assert_ne!(ours, theirs, "{what}: not a difference");
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
