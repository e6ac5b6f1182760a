//! Valid and invalid ClientHellos, and the answers to them.

use std::sync::{Arc, Mutex};

use harness::peers::callbacks::this::ServerKey;
use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product};
use harness::scripted::Refused;
use harness::wire::client_hello::{
    ALPN, ClientHello, EARLY_DATA, EC_POINT_FORMATS, EXTENDED_MASTER_SECRET, RENEGOTIATION_INFO,
    SERVER_NAME, SESSION_TICKET, SIGNATURE_ALGORITHMS, STATUS_REQUEST, SUPPORTED_GROUPS,
    SUPPORTED_VERSIONS, X448, host_name, protocols,
};
use harness::wire::{u8_vec, u16_vec, u16s, vector};
use rustls::HandshakeType;

use super::{Server, Setup, servers, servers_with};

/// Describes the outcome of `hello`: the answer and the rest of the handshake, or the refusal.
fn outcome(server: &Server, hello: &ClientHello) -> String {
    let mut client = match server.connect(hello, None) {
        Ok(client) => client,
        Err(Refused { error, alert }) => return format!("{error} {alert:?}"),
    };
    let result = client.finish();
    let mut extensions = client.extensions.clone();
    // RFC 8422 §5.2 requires it in the answer; upstream omits it
    extensions.retain(|(typ, _)| *typ != EC_POINT_FORMATS);
    extensions.sort();
    format!(
        "{result:?} {:?} {extensions:?} {:?} {}",
        client.suite,
        client.flight_types(),
        client.server.negotiated()
    )
}

/// Hellos that upstream answers in the same way.
fn hellos() -> Vec<(&'static str, ClientHello)> {
    let hello = ClientHello::tls12;
    let versions = |versions: &[u16]| u8_vec(&u16s(versions));
    vec![
        ("usual", hello()),
        (
            "no null compression",
            hello().edit(|it| it.compression = vec![1]),
        ),
        (
            "two compressions",
            hello().edit(|it| it.compression = vec![1, 0]),
        ),
        ("early data", hello().and(EARLY_DATA, vec![])),
        ("no groups", hello().without(SUPPORTED_GROUPS)),
        (
            "unknown groups",
            hello().with(SUPPORTED_GROUPS, u16_vec(&u16s(&[X448]))),
        ),
        ("no point formats", hello().without(EC_POINT_FORMATS)),
        (
            "compressed points",
            hello().with(EC_POINT_FORMATS, u8_vec(&[1, 2])),
        ),
        (
            "all point formats",
            hello().with(EC_POINT_FORMATS, u8_vec(&[2, 1, 0])),
        ),
        ("no schemes", hello().without(SIGNATURE_ALGORITHMS)),
        (
            "schemes of another key",
            hello().with(SIGNATURE_ALGORITHMS, u16_vec(&u16s(&[0x0804]))),
        ),
        (
            "no extended master secret",
            hello().without(EXTENDED_MASTER_SECRET),
        ),
        ("no renegotiation info", hello().without(RENEGOTIATION_INFO)),
        (
            "renegotiation info as a suite",
            hello()
                .without(RENEGOTIATION_INFO)
                .edit(|it| it.cipher_suites.push(0x00ff)),
        ),
        (
            "suites of another key",
            hello().edit(|it| it.cipher_suites = vec![0xc02f]),
        ),
        (
            "unknown suites",
            hello().edit(|it| it.cipher_suites = vec![0x009c]),
        ),
        ("TLS 1.1", hello().edit(|it| it.legacy_version = 0x0302)),
        (
            "TLS 1.3 in legacy_version",
            hello().edit(|it| it.legacy_version = 0x0304),
        ),
        (
            "TLS 1.1 with versions",
            hello()
                .edit(|it| it.legacy_version = 0x0302)
                .and(SUPPORTED_VERSIONS, versions(&[0x0303])),
        ),
        (
            "versions",
            hello().and(SUPPORTED_VERSIONS, versions(&[0x0303, 0x0302])),
        ),
        (
            "versions without 1.2 and 1.3",
            hello().and(SUPPORTED_VERSIONS, versions(&[0x0302])),
        ),
        (
            "an address as name",
            hello().with(SERVER_NAME, host_name(b"127.0.0.1")),
        ),
        ("no name", hello().without(SERVER_NAME)),
        (
            "protocols",
            hello().and(ALPN, protocols(&[b"h2", b"http/1.1"])),
        ),
        ("unknown protocols", hello().and(ALPN, protocols(&[b"h5"]))),
        (
            "an unknown session",
            hello().edit(|it| it.session_id = vec![3; 32]),
        ),
        (
            "a short session id",
            hello().edit(|it| it.session_id = vec![3; 3]),
        ),
        ("asks for a ticket", hello().and(SESSION_TICKET, vec![])),
        (
            "an unknown ticket",
            hello().and(SESSION_TICKET, vec![1; 50]),
        ),
        (
            "asks for a status",
            hello().and(STATUS_REQUEST, vec![1, 0, 0, 0, 0]),
        ),
    ]
}

#[test]
fn hellos_are_answered_as_by_upstream() {
    for (provider, versions) in product(PROVIDERS, [Versions::Tls12, Versions::Both]) {
        for tickets in [false, true] {
            let setup = Setup {
                versions,
                tickets,
                ..Setup::new(provider)
            };
            let servers = servers(setup);
            let (upstream, ours) = servers.split_last().unwrap();
            for (what, hello) in hellos() {
                let expected = outcome(upstream, &hello);
                for server in ours {
                    assert_eq!(
                        outcome(server, &hello),
                        expected,
                        "{what}, {setup:?}, {}",
                        server.name
                    );
                }
            }
        }
    }
}

#[test]
fn a_server_of_tls13_alone_refuses_them() {
    for provider in PROVIDERS {
        let setup = Setup {
            versions: Versions::Tls13,
            ..Setup::new(provider)
        };
        for server in servers(setup) {
            assert_eq!(
                outcome(&server, &ClientHello::tls12()),
                "PeerIncompatible(SupportedVersionsExtensionRequired) Some([2, 70])"
            );
        }
    }
}

#[test]
fn the_extended_master_secret_can_be_required() {
    for provider in PROVIDERS {
        let servers = servers_with(
            Setup::new(provider),
            |ours| ours.require_ems = true,
            |theirs| theirs.require_ems = true,
        );
        for server in servers {
            let without = ClientHello::tls12().without(EXTENDED_MASTER_SECRET);
            assert_eq!(
                outcome(&server, &without),
                "PeerIncompatible(ExtendedMasterSecretExtensionRequired) Some([2, 40])"
            );
            assert!(outcome(&server, &ClientHello::tls12()).starts_with("Ok"));
        }
    }
}

/// RFC 5746 §3.6; upstream does not check it.
#[test]
fn an_initial_handshake_renegotiates_nothing() {
    for provider in PROVIDERS {
        for server in servers(Setup::new(provider)).iter().take(2) {
            let hello = ClientHello::tls12().with(RENEGOTIATION_INFO, u8_vec(&[7; 12]));
            assert_eq!(
                outcome(server, &hello),
                "InvalidMessage(TrailingData(\"RenegotiationInfo\")) Some([2, 40])"
            );
        }
    }
}

/// RFC 9846 §4.2.3.
#[test]
fn a_server_that_has_tls13_marks_its_random() {
    for provider in PROVIDERS {
        for (versions, is_marked) in [(Versions::Tls12, false), (Versions::Both, true)] {
            let setup = Setup {
                versions,
                ..Setup::new(provider)
            };
            for server in servers(setup) {
                let client = server.connect(&ClientHello::tls12(), None).unwrap();
                // after header and version
                let random = &client.flight[0][4 + 2..][..32];
                assert_eq!(
                    random.ends_with(b"DOWNGRD\x01"),
                    is_marked,
                    "{}",
                    server.name
                );
            }
        }
    }
}

#[test]
fn suites_follow_the_certificate_and_the_preference() {
    for provider in PROVIDERS {
        for (key_type, first) in [(KeyType::EcdsaP256, 0xc02b), (KeyType::Rsa2048, 0xc02f)] {
            for ignore_client_order in [false, true] {
                let setup = Setup {
                    key_type,
                    ..Setup::new(provider)
                };
                let servers = servers_with(
                    setup,
                    |ours| ours.ignore_client_order = ignore_client_order,
                    |theirs| theirs.ignore_client_order = ignore_client_order,
                );
                let hello = ClientHello::tls12();
                let expected = outcome(&servers[2], &hello);
                assert!(expected.starts_with("Ok"), "{expected}");
                let suites: Vec<u16> = servers
                    .iter()
                    .map(|server| server.connect(&hello, None).unwrap().suite.into())
                    .collect();
                assert!(
                    suites.iter().all(|suite| *suite == suites[2]),
                    "{suites:x?}"
                );
                assert_eq!(suites[0] == first, !ignore_client_order, "{suites:x?}");
            }
        }
    }
}

/// Servers with this crate's first, whose resolver staples `response`.
fn stapling(provider: Provider, response: &[u8]) -> Vec<Server> {
    let identity = &KeyType::EcdsaP256.identities().server;
    servers_with(
        Setup::new(provider),
        |config| {
            let mut key = rustls::sign::CertifiedKey::from_der(
                identity.chain.clone(),
                identity.key(),
                config.crypto_provider(),
            )
            .unwrap();
            key.ocsp = Some(response.to_vec());
            config.cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(key));
        },
        |config| {
            let mut key = rustls_upstream::sign::CertifiedKey::from_der(
                identity.chain.clone(),
                identity.key(),
                config.crypto_provider(),
            )
            .unwrap();
            key.ocsp = Some(response.to_vec());
            config.cert_resolver = Arc::new(rustls_upstream::sign::SingleCertAndKey::from(key));
        },
    )
}

/// RFC 6066 §8: a response is stapled on request.
#[test]
fn the_status_is_stapled() {
    for provider in PROVIDERS {
        let response = b"a response that nobody reads";
        for server in stapling(provider, response) {
            let hello = ClientHello::tls12().and(STATUS_REQUEST, vec![1, 0, 0, 0, 0]);
            let mut client = server.connect(&hello, None).unwrap();
            assert_eq!(
                client.flight_types(),
                [
                    HandshakeType::ServerHello,
                    HandshakeType::Certificate,
                    HandshakeType::CertificateStatus,
                    HandshakeType::ServerKeyExchange,
                    HandshakeType::ServerHelloDone,
                ]
            );
            assert!(client.extensions.contains(&(STATUS_REQUEST, vec![])));
            let status = client.message_of(HandshakeType::CertificateStatus).unwrap();
            assert_eq!(status[4..], [&[1][..], &vector(3, response)].concat());
            client.finish().unwrap();
            assert!(client.server_finished);

            let mut others = vec![ClientHello::tls12()];
            // upstream takes any type of status for OCSP
            if server.name != "upstream" {
                others.push(ClientHello::tls12().and(STATUS_REQUEST, vec![2, 0, 0, 0, 0]));
            }
            for hello in others {
                let client = server.connect(&hello, None).unwrap();
                let status = client.message_of(HandshakeType::CertificateStatus);
                assert_eq!(status, None, "{}", server.name);
                assert!(!client.extensions.contains(&(STATUS_REQUEST, vec![])));
            }
        }
    }
}

/// RFC 6066 §8: an OCSPResponse has at least one byte. Debug builds of upstream's server panic.
#[test]
fn an_empty_status_counts_as_none() {
    let hello = ClientHello::tls12().and(STATUS_REQUEST, vec![1, 0, 0, 0, 0]);
    for provider in PROVIDERS {
        let servers = stapling(provider, b"");
        for server in servers.iter().filter(|server| server.name != "upstream") {
            let mut client = server.connect(&hello, None).unwrap();
            let status = client.message_of(HandshakeType::CertificateStatus);
            assert_eq!(status, None, "{}", server.name);
            assert!(!client.extensions.contains(&(STATUS_REQUEST, vec![])));
            client.finish().unwrap();
        }
    }
}

/// The resolver only sees schemes that a common suite can use, because a certificate for any other
/// would not help.
#[test]
fn resolvers_see_the_schemes_that_suites_can_use() {
    for provider in PROVIDERS {
        let identity = &KeyType::EcdsaP256.identities().server;
        let key = rustls::sign::CertifiedKey::from_der(
            identity.chain.clone(),
            identity.key(),
            &provider.this(),
        );
        let key = Arc::new(key.unwrap());
        let schemes = Arc::new(Mutex::new(Vec::new()));
        let seen = schemes.clone();
        let resolver = ServerKey::by(move |hello| {
            *seen.lock().unwrap() = hello.signature_schemes().to_vec();
            Some(key.clone())
        });
        let servers = servers_with(
            Setup::new(provider),
            |config| config.cert_resolver = resolver,
            |_| (),
        );
        let all = [0x0403, 0x0804, 0x0807, 0x0401];
        for (suites, expected) in [
            (vec![0xc02b, 0xc02f], &all[..]),
            (vec![0xc02b], &[0x0403, 0x0807]),
            (vec![0xc02f], &[0x0804, 0x0401]),
        ] {
            let hello = ClientHello::tls12()
                .edit(|hello| hello.cipher_suites = suites)
                .with(SIGNATURE_ALGORITHMS, u16_vec(&u16s(&all)));
            // the result does not matter, only the schemes do
            let _ = servers[0].connect(&hello, None);
            let received = schemes.lock().unwrap();
            let received: Vec<u16> = received.iter().map(|scheme| u16::from(*scheme)).collect();
            assert_eq!(received, expected);
        }
    }
}
