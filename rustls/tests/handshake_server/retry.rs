//! HelloRetryRequest, and the ClientHellos that follow it.

use harness::peers::configs::product;
use harness::peers::endpoints::Endpoint;
use harness::scripted::ech::ENCRYPTED_CLIENT_HELLO;
use harness::table;
use harness::wire::client_hello::*;
use harness::wire::*;
use rustls::AlertDescription::{
    HandshakeFailure, IllegalParameter, MissingExtension, NoApplicationProtocol, ProtocolVersion,
    UnexpectedMessage, UnsupportedCertificate,
};
use rustls::{HandshakeKind, HandshakeType};

use crate::handshake_server::client_hello::{Answer, answer, incompatible, misbehaved, refused};
use crate::handshake_server::servers::{PROVIDERS, Sent, Setup};

/// Returns the body of an encrypted_client_hello extension that the server cannot decrypt.
fn outer_ech(payload: &[u8]) -> Vec<u8> {
    // outer; HKDF-SHA256, AES-128-GCM; config_id; enc is empty
    [&[0, 0, 1, 0, 1, 7, 0, 0][..], &u16_vec(payload)].concat()
}

/// Creates a flight without a second change_cipher_spec.
fn flight() -> Answer {
    Answer {
        error: None,
        sent: vec![Sent::Handshake(HandshakeType::ServerHello), Sent::Encrypted],
    }
}

#[test]
fn the_requested_group_is_the_first_of_the_client() {
    for (groups, share, payload) in [
        ([P256, X25519], P256, p256_share()),
        ([X25519, P256], X25519, x25519_share()),
    ] {
        let groups = u16_vec(&u16s(&groups));
        let first = ClientHello::without_share().with(SUPPORTED_GROUPS, groups.clone());
        let second = first
            .clone()
            .with(KEY_SHARE, key_shares(&[(share, &payload)]));
        let records = [first.record(), second.record()];
        Setup::new(PROVIDERS[0]).expect_answer("", &records, &flight());

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

/// Returns a ClientHello with these suites, groups or key shares.
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
fn forbidden_changes_of_the_second_hello_are_refused_like_upstream() {
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
    for (what, second, expected) in table! {
        "nothing": first.clone(), &changed;
        "another share": shares(&[(P256, &p256_share())]), &changed;
        "other groups": groups(&[P256]), &changed;
        "the order of groups": groups(&[P256, X25519]), &changed;
        "other suites": suites(&[0x1302]), &suite;
        "the order of suites": suites(&[0x1302, 0x1301]), &suite;
        "unknown suites": suites(&[0x1309]), &no_suite;
        "early data": ClientHello::new().with_early_data(), &early_data;
        "no PSK": ClientHello::new(), &no_psk;
        "no version": without_version, &no_version;
        "compression": compressed, &not_null;
        "a share of zeros": shares(&[(X25519, &[0; 32])]), &wrong_share;
    } {
        let first = match what {
            "no PSK" => first.clone().with_psk(),
            _ => first.clone(),
        };
        let records = [first.record(), second.record()];
        Setup::new(PROVIDERS[0]).expect_answer(what, &records, expected);
    }
}

/// Upstream also rejects another name, but without an alert.
#[test]
fn another_name_is_rejected() {
    let name = misbehaved("ServerNameDifferedOnRetry", IllegalParameter);
    let (first, second) = (ClientHello::without_share(), ClientHello::new());
    let other_name = second.clone().with(SERVER_NAME, host_name(b"other"));
    for (what, first, second) in table! {
        "another": first.clone(), other_name;
        "none": first.clone(), second.clone().without(SERVER_NAME);
        "one at last": first.without(SERVER_NAME), second;
    } {
        let records = [first.record(), second.record()];
        let answers = Setup::new(PROVIDERS[0])
            .all()
            .map(|mut it| answer(&mut *it, &records));
        let [ours, unbuffered, theirs] = answers;
        assert_eq!((&ours, &unbuffered), (&name, &name), "{what}");
        assert_eq!((ours.error, vec![]), (theirs.error, theirs.sent), "{what}");
    }
}

/// Returns the changes that do not lead to another version, suite, group or name, one at a time.
/// Clients that make some of them are in use: Mbed TLS before 2024 and s2n-tls before May 2022 send
/// a new random, and hs-tls and NanoSSL list only the requested group.
fn harmless_changes() -> Vec<(&'static str, (ClientHello, ClientHello))> {
    let (first, second) = (ClientHello::without_share(), ClientHello::new());
    // a change of the second hello, of the first, and of both
    let edited = |edit: fn(&mut ClientHello)| (first.clone(), second.clone().edit(edit));
    let with = |typ, body| (first.clone(), second.clone().with(typ, body));
    let without = |typ, body| (first.clone().with(typ, body), second.clone());
    let changed = |typ, [before, after]: [Vec<u8>; 2]| {
        let first = first.clone().with(typ, before);
        (first, second.clone().with(typ, after))
    };
    let names = |name: &[u8]| protocols(&[name]);
    let two_shares = key_shares(&[(P256, &p256_share()), (X25519, &x25519_share())]);
    let modes = first.clone().and(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]));
    let two_psks = modes.and(PRE_SHARED_KEY, offered_psks(2, 2));
    let early_data = first.clone().with_early_data();
    Vec::from(table! {
        "a share": (first.clone(), second.clone());
        "random": edited(|hello| hello.random = [2; 32]);
        "session ID": edited(|hello| hello.session_id = vec![6; 32]);
        "no session ID": edited(|hello| hello.session_id.clear());
        "order of extensions": edited(|hello| hello.extensions.reverse());
        "fewer suites": edited(|hello| hello.cipher_suites = vec![0x1301]);
        "fewer groups": with(SUPPORTED_GROUPS, u16_vec(&u16s(&[X25519])));
        "more groups": with(SUPPORTED_GROUPS, u16_vec(&u16s(&[X448, X25519, P256])));
        "two shares": with(KEY_SHARE, two_shares);
        "schemes": with(SIGNATURE_ALGORITHMS, u16_vec(&u16s(&[0x0403])));
        "versions": with(SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0304, 0x0303])));
        "ALPN": with(ALPN, names(b"h2"));
        "another protocol": changed(ALPN, [names(b"h2"), names(b"http/1.1")]);
        "a protocol at last": changed(ALPN, [names(b"x"), names(b"h2")]);
        "PSK modes": with(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]));
        "no PSK modes": without(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]));
        "a PSK": (first.clone(), second.clone().with_psk());
        "one PSK of two": (two_psks, second.clone().with_psk());
        "no early data": (early_data, second.clone().with_psk());
        "ticket": with(SESSION_TICKET, vec![]);
        "master secret": with(EXTENDED_MASTER_SECRET, vec![]);
        "status": with(STATUS_REQUEST, vec![1, 0, 0, 0, 0]);
        "server's type": with(SERVER_CERTIFICATE_TYPE, u8_vec(&[0]));
        "client's type": changed(CLIENT_CERTIFICATE_TYPE, [u8_vec(&[2]), u8_vec(&[0])]);
        "authorities": with(CERTIFICATE_AUTHORITIES, u16_vec(&u16_vec(&[0x30, 0])));
        "name in capitals": with(SERVER_NAME, host_name(b"LOCALHOST"));
        "padding": with(PADDING, vec![0; 9]);
        "no padding": without(PADDING, vec![0; 9]);
        "an unsolicited cookie": with(COOKIE, u16_vec(b"c"));
        "an unknown extension": changed(0x0a0a, [vec![1], vec![2]]);
        "an inner hello encrypted again":
            changed(ENCRYPTED_CLIENT_HELLO, [1, 2].map(|byte| outer_ech(&[byte; 32])));
    })
}

#[test]
fn harmless_changes_are_accepted_like_upstream() {
    for (provider, has_client_auth) in product(PROVIDERS, [false, true]) {
        let mut setup = Setup::new(provider);
        setup.alpn = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        if has_client_auth {
            setup.client_certs = setup.identity.chain();
        }
        for (what, (first, second)) in harmless_changes() {
            let records = [first.record(), second.record()];
            setup.expect_answer(what, &records, &flight());
            let (mut ours, mut theirs) = (setup.ours(), setup.theirs());
            assert_eq!(answer(&mut ours, &records), answer(&mut theirs, &records));
            assert_eq!(ours.accessors(), theirs.accessors(), "{what}");
        }
    }
}

/// Only the second ClientHello determines the outcome, even if the first one offered more.
#[test]
fn the_second_hello_determines_the_other_parameters() {
    let no_protocol = refused("NoApplicationProtocol", NoApplicationProtocol);
    let no_scheme = incompatible("NoSignatureSchemesInCommon", HandshakeFailure);
    let wrong_type = incompatible("IncorrectCertificateTypeExtension", UnsupportedCertificate);
    let first = ClientHello::without_share();
    let schemes = |scheme| u16_vec(&u16s(&[scheme]));
    let types = |typ| u8_vec(&[typ]);
    for (typ, good, bad, expected) in [
        (ALPN, protocols(&[b"h2"]), protocols(&[b"x"]), &no_protocol),
        (
            SIGNATURE_ALGORITHMS,
            schemes(0x0403),
            schemes(0x0804),
            &no_scheme,
        ),
        (SERVER_CERTIFICATE_TYPE, types(0), types(2), &wrong_type),
        (CLIENT_CERTIFICATE_TYPE, types(0), types(2), &wrong_type),
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
        for mut server in setup.all() {
            server.receive(&first).unwrap();
            server.receive(&second.record()).unwrap();
            let lines = setup.key_log.take();
            assert!(!lines.is_empty());
            assert!(lines.iter().all(|(_, random, _)| *random == [2; 32]));
        }
    }
}

/// Returns the answer to application data instead of a ClientHello.
fn application_data() -> Answer {
    let error = "InappropriateMessage { expect_types: [Handshake], got_type: ApplicationData }";
    refused(error, UnexpectedMessage)
}

#[test]
fn early_data_is_skipped_until_the_second_client_hello() {
    let setup = Setup::new(PROVIDERS[0]);
    let early = |len| record(0x17, &vec![0; len]);
    let first = || ClientHello::without_share().with_early_data().record();
    let second = || ClientHello::new().with_psk().record();
    let within = [first(), early(16_000), early(384), second()];
    setup.expect_answer("within the limit", &within, &flight());
    let too_much = [first(), early(16_000 + 17), early(385 + 17)];
    setup.expect_answer("too much", &too_much, &application_data());
    // RFC 9846 §4.7.1: only content counts, without the 17 bytes of overhead. Upstream also counts
    // those
    let the_limit = [first(), early(16_000 + 17), early(384 + 17), second()];
    let too_late = [first(), early(40), second(), early(40)];
    for mut server in setup.both_apis() {
        assert_eq!(answer(&mut *server, &the_limit), flight());
    }
    for mut server in setup.both_apis() {
        let answer = answer(&mut *server, &too_late);
        assert_eq!(answer.error.unwrap(), "DecryptError");
    }
}

/// RFC 9846 §5.1: skipped early data must not interrupt a message either. Upstream reports another
/// error and sends no alert.
#[test]
fn early_data_within_the_second_hello_is_refused() {
    let first = ClientHello::without_share().with_early_data().record();
    let half = record(0x16, &ClientHello::new().with_psk().message()[..9]);
    let error = "RejectedEarlyDataInterleavedWithHandshakeMessage";
    for setup in PROVIDERS.map(Setup::new) {
        for mut server in setup.both_apis() {
            let records = [first.clone(), half.clone(), record(0x17, &[7; 40])];
            let expected = misbehaved(error, UnexpectedMessage);
            assert_eq!(answer(&mut *server, &records), expected);
        }
    }
}
