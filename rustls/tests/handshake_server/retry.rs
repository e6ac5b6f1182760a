//! HelloRetryRequest, and the ClientHellos that follow it.

use harness::peers::configs::product;
use harness::peers::endpoints::Endpoint;
use harness::scripted::ech::ENCRYPTED_CLIENT_HELLO;
use harness::wire::client_hello::*;
use harness::wire::*;
use rustls::{AlertDescription, HandshakeKind, HandshakeType};

use crate::client_hello::{Answer, answer, refused};
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
    let first = ClientHello::without_share();
    let cases: Vec<(&str, ClientHello, ClientHello)> = vec![
        ("a share", first.clone(), ClientHello::new()),
        (
            "padding added",
            first.clone(),
            ClientHello::new().and(PADDING, vec![0; 9]),
        ),
        (
            "padding removed",
            first.clone().and(PADDING, vec![0; 9]),
            ClientHello::new(),
        ),
        (
            "early data removed",
            first.clone().with_early_data(),
            ClientHello::new().with_psk(),
        ),
        (
            "a pre-shared key removed",
            first
                .clone()
                .and(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]))
                .and(PRE_SHARED_KEY, offered_psks(2, 2)),
            ClientHello::new().with_psk(),
        ),
        (
            "an unsolicited cookie",
            first.clone(),
            ClientHello::new().and(COOKIE, u16_vec(b"c")),
        ),
        (
            "an unknown extension",
            first.clone().and(0x0a0a, vec![1]),
            ClientHello::new().and(0x0a0a, vec![2]),
        ),
        (
            "an inner hello encrypted again",
            first
                .clone()
                .and(ENCRYPTED_CLIENT_HELLO, outer_ech(&[1; 32])),
            ClientHello::new().and(ENCRYPTED_CLIENT_HELLO, outer_ech(&[2; 32])),
        ),
        (
            "extensions in another order",
            first,
            ClientHello::new().edit(|hello| hello.extensions.reverse()),
        ),
    ];
    for (provider, (name, first, second)) in product(PROVIDERS, &cases) {
        for answer in after_retry(&Setup::new(provider), first, second) {
            assert_eq!(answer, flight(), "{name}");
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
        server.receive(&first.record()).unwrap();
        assert_eq!(
            server.conn.handshake_kind(),
            Some(HandshakeKind::FullWithHelloRetryRequest)
        );
        assert!(server.conn.negotiated_key_exchange_group().is_none());
        server.receive(&second.record()).unwrap();
        assert_eq!(
            server.conn.handshake_kind(),
            Some(HandshakeKind::FullWithHelloRetryRequest)
        );
        let group = server.conn.negotiated_key_exchange_group().unwrap();
        assert_eq!(u16::from(group.name()), share);
    }
}

#[test]
fn other_changes_are_refused_as_upstream_does() {
    use AlertDescription::{HandshakeFailure, IllegalParameter, MissingExtension, ProtocolVersion};

    const REFUSED: &str = "PeerMisbehaved(RefusedToFollowHelloRetryRequest)";
    const SUITE: &str = "PeerMisbehaved(CipherSuiteDifferedOnRetry)";
    const EARLY_DATA: &str = "PeerMisbehaved(EarlyDataAttemptedInSecondClientHello)";
    const NO_PSK: &str = "PeerMisbehaved(MissingPskExtensionInSecondClientHello)";
    let suites =
        |suites: &[u16]| ClientHello::new().edit(|hello| hello.cipher_suites = suites.to_vec());
    let first = ClientHello::without_share();
    for (first, second, expected) in [
        (&first, first.clone(), refused(REFUSED, IllegalParameter)),
        (
            &first,
            ClientHello::new().with(KEY_SHARE, key_shares(&[(P256, &p256_share())])),
            refused(REFUSED, IllegalParameter),
        ),
        (
            &first,
            ClientHello::new().with(SUPPORTED_GROUPS, u16_vec(&u16s(&[P256]))),
            refused(REFUSED, IllegalParameter),
        ),
        // the requested group is offered, but no longer first
        (
            &first,
            ClientHello::new().with(SUPPORTED_GROUPS, u16_vec(&u16s(&[P256, X25519]))),
            refused(REFUSED, IllegalParameter),
        ),
        (&first, suites(&[0x1302]), refused(SUITE, IllegalParameter)),
        (
            &first,
            suites(&[0x1302, 0x1301]),
            refused(SUITE, IllegalParameter),
        ),
        (
            &first,
            suites(&[0x1309]),
            refused("PeerIncompatible(NoCipherSuitesInCommon)", HandshakeFailure),
        ),
        (
            &first,
            ClientHello::new().with_early_data(),
            refused(EARLY_DATA, IllegalParameter),
        ),
        (
            &first.clone().with_psk(),
            ClientHello::new(),
            refused(NO_PSK, MissingExtension),
        ),
        (
            &first,
            ClientHello::new().without(SUPPORTED_VERSIONS),
            refused(
                "PeerIncompatible(SupportedVersionsExtensionRequired)",
                ProtocolVersion,
            ),
        ),
        (
            &first,
            ClientHello::new().edit(|hello| hello.compression = vec![1]),
            refused(
                "PeerIncompatible(NullCompressionRequired)",
                IllegalParameter,
            ),
        ),
        (
            &first,
            ClientHello::new().with(KEY_SHARE, key_shares(&[(X25519, &[0; 32])])),
            refused("PeerMisbehaved(InvalidKeyShare)", IllegalParameter),
        ),
    ] {
        for answer in after_retry(&Setup::new(PROVIDERS[0]), first, &second) {
            assert_eq!(answer, expected);
        }
    }
}

#[test]
fn other_changes_are_refused_that_upstream_accepts() {
    use AlertDescription::IllegalParameter;

    // RFC 9846 §4.2.2: the same ClientHello, with a single share
    const REFUSED: &str = "PeerMisbehaved(RefusedToFollowHelloRetryRequest)";
    const NAME: &str = "PeerMisbehaved(ServerNameDifferedOnRetry)";
    let two_shares = key_shares(&[(X25519, &x25519_share()), (P256, &p256_share())]);
    for (second, error) in [
        (
            ClientHello::new().edit(|hello| hello.random = [2; 32]),
            REFUSED,
        ),
        (
            ClientHello::new().edit(|hello| hello.session_id = vec![6; 32]),
            REFUSED,
        ),
        (
            ClientHello::new().edit(|hello| hello.session_id = vec![]),
            REFUSED,
        ),
        (ClientHello::new().with(KEY_SHARE, two_shares), REFUSED),
        (
            ClientHello::new().edit(|hello| hello.cipher_suites = vec![0x1301]),
            REFUSED,
        ),
        (
            ClientHello::new().with(SUPPORTED_GROUPS, u16_vec(&u16s(&[X25519]))),
            REFUSED,
        ),
        (
            ClientHello::new().with(SUPPORTED_GROUPS, u16_vec(&u16s(&[X25519, P256, X448]))),
            REFUSED,
        ),
        (
            ClientHello::new().with(SIGNATURE_ALGORITHMS, u16_vec(&u16s(&[0x0403]))),
            REFUSED,
        ),
        (
            ClientHello::new().with(SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0304, 0x0303]))),
            REFUSED,
        ),
        (ClientHello::new().and(ALPN, protocols(&[b"h2"])), REFUSED),
        (
            ClientHello::new().and(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1])),
            REFUSED,
        ),
        (ClientHello::new().and(SESSION_TICKET, vec![]), REFUSED),
        (
            ClientHello::new().and(EXTENDED_MASTER_SECRET, vec![]),
            REFUSED,
        ),
        // upstream refuses these two, without an alert
        (
            ClientHello::new().with(SERVER_NAME, host_name(b"other")),
            NAME,
        ),
        (ClientHello::new().without(SERVER_NAME), NAME),
    ] {
        let [ours, theirs] = after_retry(
            &Setup::new(PROVIDERS[0]),
            &ClientHello::without_share(),
            &second,
        );
        assert_eq!(ours, refused(error, IllegalParameter));
        assert_ne!(ours, theirs, "not a difference");
    }
}

#[test]
fn only_a_client_hello_may_follow() {
    use AlertDescription::UnexpectedMessage;

    const FINISHED: &str =
        "InappropriateHandshakeMessage { expect_types: [ClientHello], got_type: Finished }";
    const APPLICATION_DATA: &str =
        "InappropriateMessage { expect_types: [Handshake], got_type: ApplicationData }";
    let first = ClientHello::without_share().record();
    for (second, error) in [
        (record(0x16, &message(20, &[0; 32])), FINISHED),
        (record(0x17, &[0; 40]), APPLICATION_DATA),
    ] {
        for mut server in Setup::new(PROVIDERS[0]).both() {
            let answer = answer(&mut *server, &[first.clone(), second.clone()]);
            assert_eq!(answer, refused(error, UnexpectedMessage));
        }
    }
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
        let error = "InappropriateMessage { expect_types: [Handshake], got_type: ApplicationData }";
        assert_eq!(
            answer(&mut *server, &too_much),
            refused(error, AlertDescription::UnexpectedMessage)
        );
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
            assert_eq!(
                answer(&mut *server, &records),
                refused(
                    "PeerMisbehaved(RejectedEarlyDataInterleavedWithHandshakeMessage)",
                    AlertDescription::UnexpectedMessage
                )
            );
        }
    }
}
