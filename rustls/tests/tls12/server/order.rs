//! Flights with missing, early, repeated or unexpected messages. Error and alert equal upstream's,
//! except for the listed deviations.

use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Versions};
use harness::peers::endpoints::ThisBuffered;
use harness::scripted::Refused;
use harness::scripted::tls12::client::ScriptedClient;
use harness::verifiers::this::Verifier;
use harness::wire::client_hello::{ClientHello, SIGNATURE_ALGORITHMS};
use harness::wire::{Reader, message, u16_vec, u16s};
use rustls::ContentType::{Alert, ApplicationData, ChangeCipherSpec, Handshake};
use rustls::{HandshakeType, SignatureScheme};

use super::{Setup, servers};

type Result = std::result::Result<(), Refused>;
type Flight = fn(&mut ScriptedClient) -> Result;

/// Sends everything up to the ClientKeyExchange.
fn exchange_keys(client: &mut ScriptedClient) -> Result {
    let message = client.key_exchange();
    client.send(&message)
}

fn send_finished(client: &mut ScriptedClient) -> Result {
    let message = client.finished();
    client.send(&message)
}

fn send_hello(client: &mut ScriptedClient) -> Result {
    client.send_raw(Handshake, &ClientHello::tls12().message())
}

fn send_empty(client: &mut ScriptedClient, typ: HandshakeType) -> Result {
    client.send_raw(Handshake, &message(typ.into(), &[]))
}

/// Flights of a client without a CertificateRequest.
const FLIGHTS: &[(&str, Flight)] = &[
    ("nothing wrong", |c| c.finish()),
    ("change_cipher_spec before the keys", |c| {
        c.send_raw(ChangeCipherSpec, &[1])
    }),
    ("change_cipher_spec twice", |c| {
        exchange_keys(c)?;
        c.change_cipher_spec()?;
        c.send_raw(ChangeCipherSpec, &[1])
    }),
    ("change_cipher_spec twice in the clear", |c| {
        exchange_keys(c)?;
        c.send_raw(ChangeCipherSpec, &[1])?;
        c.send_raw(ChangeCipherSpec, &[1])
    }),
    ("another change_cipher_spec", |c| {
        exchange_keys(c)?;
        c.send_raw(ChangeCipherSpec, &[2])
    }),
    ("a long change_cipher_spec", |c| {
        exchange_keys(c)?;
        c.send_raw(ChangeCipherSpec, &[1, 1])
    }),
    ("an empty change_cipher_spec", |c| {
        exchange_keys(c)?;
        c.send_raw(ChangeCipherSpec, &[])
    }),
    ("change_cipher_spec after part of a message", |c| {
        exchange_keys(c)?;
        c.send_raw(Handshake, &[0x14, 0, 0])?;
        c.send_raw(ChangeCipherSpec, &[1])
    }),
    ("no change_cipher_spec", |c| {
        exchange_keys(c)?;
        send_finished(c)
    }),
    // a protected Finished, as it looks to a server without keys; real ciphertext would declare a
    // random length
    ("no change_cipher_spec, but keys", |c| {
        exchange_keys(c)?;
        c.send_raw(Handshake, &[0xa5; 40])
    }),
    ("a Finished in the clear", |c| {
        exchange_keys(c)?;
        c.send_raw(ChangeCipherSpec, &[1])?;
        send_finished(c)
    }),
    ("another message after change_cipher_spec", |c| {
        exchange_keys(c)?;
        c.change_cipher_spec()?;
        send_hello(c)
    }),
    ("an empty Finished", |c| {
        exchange_keys(c)?;
        c.change_cipher_spec()?;
        send_empty(c, HandshakeType::Finished)
    }),
    ("a short Finished", |c| {
        exchange_keys(c)?;
        c.change_cipher_spec()?;
        c.send_raw(Handshake, &message(0x14, &[0; 11]))
    }),
    ("a Finished followed by more", |c| {
        exchange_keys(c)?;
        c.change_cipher_spec()?;
        let two = [c.finished(), vec![1]].concat();
        c.send_raw(Handshake, &two)
    }),
    ("two Finished", |c| {
        exchange_keys(c)?;
        c.change_cipher_spec()?;
        let two = c.finished().repeat(2);
        c.send_raw(Handshake, &two)
    }),
    ("two ClientKeyExchanges", |c| {
        let two = c.key_exchange().repeat(2);
        c.send_raw(Handshake, &two)
    }),
    ("an empty ClientKeyExchange", |c| {
        send_empty(c, HandshakeType::ClientKeyExchange)
    }),
    ("an empty share", |c| {
        c.send_raw(Handshake, &message(0x10, &[0]))
    }),
    ("a wrong share", |c| {
        c.send_raw(Handshake, &message(0x10, &[3, 4, 5, 6]))
    }),
    ("a share of zeros", |c| {
        c.send_raw(Handshake, &message(0x10, &[&[32][..], &[0; 32]].concat()))
    }),
    ("a share followed by more", |c| {
        c.send_raw(Handshake, &message(0x10, &[&[32][..], &[9; 33]].concat()))
    }),
    ("an unsolicited certificate", |c| {
        c.send_raw(Handshake, &ScriptedClient::certificate(&[]))
    }),
    ("a CertificateVerify without certificate", |c| {
        exchange_keys(c)?;
        c.send_raw(
            Handshake,
            &ScriptedClient::certificate_verify_of(0x0403, &[1; 70]),
        )
    }),
    ("a second ClientHello", send_hello),
    ("a ServerHelloDone", |c| {
        send_empty(c, HandshakeType::ServerHelloDone)
    }),
    ("a HelloRequest", |c| {
        send_empty(c, HandshakeType::HelloRequest)
    }),
    ("application data instead of keys", |c| {
        c.send_raw(ApplicationData, b"data")
    }),
    ("application data instead of change_cipher_spec", |c| {
        exchange_keys(c)?;
        c.send_raw(ApplicationData, b"data")
    }),
    ("application data instead of Finished", |c| {
        exchange_keys(c)?;
        c.change_cipher_spec()?;
        c.send_raw(ApplicationData, b"data")
    }),
    ("no application data instead of Finished", |c| {
        exchange_keys(c)?;
        c.change_cipher_spec()?;
        c.send_raw(ApplicationData, b"")
    }),
    ("application data right behind Finished", |c| {
        exchange_keys(c)?;
        c.change_cipher_spec()?;
        send_finished(c)?;
        c.send_raw(ApplicationData, b"data")
    }),
    ("change_cipher_spec after the handshake", |c| {
        c.finish()?;
        c.send_raw(ChangeCipherSpec, &[1])
    }),
    ("a Finished after the handshake", |c| {
        c.finish()?;
        send_finished(c)
    }),
    ("a KeyUpdate after the handshake", |c| {
        c.finish()?;
        c.send_raw(Handshake, &message(24, &[0]))
    }),
    ("a ClientKeyExchange after the handshake", |c| {
        c.finish()?;
        send_empty(c, HandshakeType::ClientKeyExchange)
    }),
    ("an attempt to renegotiate", |c| {
        c.finish()?;
        send_hello(c)?;
        assert_eq!(c.alerts, [[1, 100]]);
        c.send_raw(ApplicationData, b"data")
    }),
    ("two attempts to renegotiate", |c| {
        c.finish()?;
        send_hello(c)?;
        c.send_raw(ApplicationData, b"data")?;
        send_hello(c)
    }),
    ("warnings", |c| {
        for _ in 0..4 {
            c.send_raw(Alert, &[1, 100])?;
        }
        c.finish()
    }),
    ("too many warnings", |c| {
        for _ in 0..5 {
            c.send_raw(Alert, &[1, 100])?;
        }
        c.finish()
    }),
    ("warnings after the handshake", |c| {
        c.finish()?;
        for _ in 0..4 {
            c.send_raw(Alert, &[1, 110])?;
            c.send_raw(ApplicationData, b"data")?;
        }
        c.send_raw(Alert, &[1, 110])
    }),
    ("user_canceled", |c| {
        c.send_raw(Alert, &[1, 90])?;
        c.send_raw(Alert, &[1, 0])
    }),
    ("close_notify during the handshake", |c| {
        c.send_raw(Alert, &[1, 0])?;
        c.finish()
    }),
    ("close_notify before Finished", |c| {
        exchange_keys(c)?;
        c.change_cipher_spec()?;
        c.send_raw(Alert, &[1, 0])?;
        send_finished(c)
    }),
    ("close_notify after the handshake", |c| {
        c.finish()?;
        c.send_raw(Alert, &[1, 0])
    }),
    ("a fatal close_notify", |c| {
        c.finish()?;
        c.send_raw(Alert, &[2, 0])
    }),
    ("a fatal alert", |c| c.send_raw(Alert, &[2, 40])),
    ("an alert with an invalid level", |c| {
        c.send_raw(Alert, &[3, 40])
    }),
    ("a short alert", |c| c.send_raw(Alert, &[1])),
    ("a long alert", |c| c.send_raw(Alert, &[1, 40, 1])),
    ("an unknown warning", |c| {
        c.send_raw(Alert, &[1, 255])?;
        c.finish()
    }),
    ("an empty handshake record", |c| {
        exchange_keys(c)?;
        c.change_cipher_spec()?;
        c.send_raw(Handshake, &[])
    }),
];

/// This crate's answers where upstream's differ, with reasons.
#[rustfmt::skip] // a table
const DEVIATIONS: &[(&str, &str, &str)] = &[
    ("change_cipher_spec twice", "InappropriateMessage { expect_types: [Handshake], got_type: ChangeCipherSpec } / [2, 10]",
        "upstream decrypts it first"),
    ("change_cipher_spec after the handshake", "InappropriateMessage { expect_types: [ApplicationData], got_type: ChangeCipherSpec } / [2, 10]",
        "the same"),
    ("change_cipher_spec twice in the clear", "DecryptError / [2, 20]",
        "RFC 5246 §7.1: everything after the first is protected"),
    ("application data instead of change_cipher_spec", "InappropriateMessage { expect_types: [Handshake], got_type: ApplicationData } / [2, 10]",
        "only the expected types differ"),
    ("an empty Finished", "InvalidMessage(MissingData(\"Finished\")) / [2, 50]",
        "RFC 5246 §7.2.2: a wrong length is a decode_error"),
    ("a short Finished", "InvalidMessage(MissingData(\"Finished\")) / [2, 50]",
        "the same"),
    ("an empty handshake record", "InvalidMessage(InvalidEmptyPayload) / [2, 50]",
        "RFC 5246 §6.2.1: no empty fragments of the handshake"),
    ("change_cipher_spec after part of a message", "PeerMisbehaved(MessageInterleavedWithHandshakeMessage) / [2, 10]",
        "the peer receives an alert"),
    ("no change_cipher_spec, but keys", "InvalidMessage(HandshakePayloadTooLarge) / [2, 50]",
        "the peer receives an alert"),
    ("an empty ClientKeyExchange", "InvalidMessage(MissingData(\"u8\")) / [2, 50]",
        "the peer receives an alert"),
    ("an empty share", "InvalidMessage(IllegalEmptyValue) / [2, 50]",
        "the peer receives an alert"),
];

fn outcome(result: Result) -> String {
    match result {
        Ok(()) => "fine".into(),
        Err(Refused { error, alert: None }) => format!("{error} / none"),
        Err(Refused {
            error,
            alert: Some(alert),
        }) => format!("{error} / {alert:?}"),
    }
}

#[test]
fn every_wrong_flight_is_refused_as_upstream_refuses_it() {
    for provider in PROVIDERS {
        compare(Setup::new(provider), FLIGHTS);
    }
}

fn compare(setup: Setup, flights: &[(&str, Flight)]) {
    let servers = servers(setup);
    for (what, flight) in flights {
        let outcomes = servers.iter().map(|server| {
            let mut client = server.connect(&ClientHello::tls12(), None).unwrap();
            outcome(flight(&mut client))
        });
        let outcomes: Vec<_> = outcomes.collect();
        let [buffered, unbuffered, theirs] = &outcomes[..] else {
            panic!("there are three servers");
        };
        assert_eq!(buffered, unbuffered, "{what}");
        match DEVIATIONS.iter().find(|(case, ..)| case == what) {
            Some((_, ours, _)) => {
                assert_eq!(buffered, ours, "{what}");
                assert_ne!(buffered, theirs, "{what} is no deviation");
            }
            None => assert_eq!(buffered, theirs, "{what}"),
        }
    }
}

/// A certificate that is accepted.
fn certificate() -> Vec<u8> {
    let chain = &KeyType::EcdsaP256.identities().client.chain;
    ScriptedClient::certificate(&[&*chain[0]])
}

fn send_certificate(client: &mut ScriptedClient) -> Result {
    client.send(&certificate())?;
    exchange_keys(client)
}

fn verify_with(client: &mut ScriptedClient, scheme: u16) -> Result {
    let key = KeyType::EcdsaP256.identities().client.key();
    let key = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
    let message = client.certificate_verify(&*key, scheme);
    client.send(&message)
}

fn change_and_finish(client: &mut ScriptedClient) -> Result {
    client.change_cipher_spec()?;
    send_finished(client)
}

/// Flights of a client that receives a CertificateRequest but need not have a certificate.
const AUTHENTICATED: &[(&str, Flight)] = &[
    ("a good certificate", |c| {
        send_certificate(c)?;
        verify_with(c, 0x0403)?;
        change_and_finish(c)
    }),
    ("no certificate", |c| {
        c.send(&ScriptedClient::certificate(&[]))?;
        exchange_keys(c)?;
        change_and_finish(c)
    }),
    ("no Certificate", exchange_keys),
    ("an unreadable certificate", |c| {
        c.send(&ScriptedClient::certificate(&[b"no certificate"]))
    }),
    ("a certificate for a server", |c| {
        let chain = &KeyType::EcdsaP256.identities().server.chain;
        c.send(&ScriptedClient::certificate(&[&*chain[0]]))
    }),
    ("a certificate of another authority", |c| {
        let chain = &KeyType::Rsa2048.identities().client.chain;
        c.send(&ScriptedClient::certificate(&[&*chain[0]]))
    }),
    ("no CertificateVerify", |c| {
        send_certificate(c)?;
        c.send_raw(ChangeCipherSpec, &[1])
    }),
    ("no CertificateVerify and no change_cipher_spec", |c| {
        send_certificate(c)?;
        send_finished(c)
    }),
    ("a CertificateVerify before the keys", |c| {
        c.send(&certificate())?;
        verify_with(c, 0x0403)
    }),
    ("a CertificateVerify without certificate", |c| {
        c.send(&ScriptedClient::certificate(&[]))?;
        exchange_keys(c)?;
        verify_with(c, 0x0403)
    }),
    ("two CertificateVerifys", |c| {
        send_certificate(c)?;
        verify_with(c, 0x0403)?;
        verify_with(c, 0x0403)
    }),
    ("a scheme that was not offered", |c| {
        send_certificate(c)?;
        c.send(&ScriptedClient::certificate_verify_of(0x0203, &[1; 70]))
    }),
    ("a scheme of another key", |c| {
        send_certificate(c)?;
        c.send(&ScriptedClient::certificate_verify_of(0x0804, &[1; 256]))
    }),
    ("a wrong signature", |c| {
        send_certificate(c)?;
        c.send(&ScriptedClient::certificate_verify_of(0x0403, &[1; 70]))
    }),
    ("an empty signature", |c| {
        send_certificate(c)?;
        c.send(&ScriptedClient::certificate_verify_of(0x0403, &[]))
    }),
    ("a signature over too much", |c| {
        send_certificate(c)?;
        let key = KeyType::EcdsaP256.identities().client.key();
        let key = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
        let early = c.certificate_verify(&*key, 0x0403);
        c.send(&early)?;
        let late = c.certificate_verify(&*key, 0x0403);
        c.send(&late)
    }),
];

#[test]
fn every_wrong_authentication_is_refused_as_upstream_refuses_it() {
    for provider in PROVIDERS {
        compare(
            Setup {
                auth: ClientAuth::OptionalPresent,
                ..Setup::new(provider)
            },
            AUTHENTICATED,
        );
    }
}

/// A flight that ends there.
const MANDATORY: &[(&str, Flight)] = &[("no certificate where one is required", |c| {
    c.send(&ScriptedClient::certificate(&[]))
})];

#[test]
fn a_client_without_certificate_is_refused_where_one_is_required() {
    for provider in PROVIDERS {
        compare(
            Setup {
                auth: ClientAuth::Required,
                ..Setup::new(provider)
            },
            MANDATORY,
        );
    }
}

/// RFC 5246 §7.4.8: the signature's hash is that of its scheme, not that of the suite.
#[test]
fn signatures_with_another_hash_than_the_suites() {
    for provider in PROVIDERS {
        for (key_type, scheme) in [
            (KeyType::EcdsaP256, 0x0403),
            (KeyType::EcdsaP384, 0x0503),
            (KeyType::Rsa2048, 0x0601),
            (KeyType::Rsa2048, 0x0401),
            (KeyType::Rsa2048, 0x0805),
            (KeyType::Ed25519, 0x0807),
        ] {
            for suites in [[0xc02b, 0xc02f], [0xc02c, 0xc030]] {
                let setup = Setup {
                    key_type,
                    auth: ClientAuth::Required,
                    ..Setup::new(provider)
                };
                for server in servers(setup) {
                    let hello = ClientHello::tls12()
                        .edit(|hello| hello.cipher_suites = suites.to_vec())
                        .with(
                            SIGNATURE_ALGORITHMS,
                            u16_vec(&u16s(&[0x0403, 0x0503, 0x0804, 0x0807])),
                        );
                    let mut client = server.connect(&hello, None).unwrap();
                    let identity = &key_type.identities().client;
                    let key = rustls::crypto::ring::sign::any_supported_type(&identity.key());
                    client
                        .send(&ScriptedClient::certificate(&[&*identity.chain[0]]))
                        .unwrap();
                    exchange_keys(&mut client).unwrap();
                    let message = client.certificate_verify(&*key.unwrap(), scheme);
                    client.send(&message).unwrap();
                    change_and_finish(&mut client).unwrap();
                    assert!(client.server_finished);
                    assert_eq!(client.server.peer_certificates(), [&*identity.chain[0]]);
                }
            }
        }
    }
}

/// RFC 5246 §7.2.1: nothing follows a close_notify.
#[test]
fn a_closed_server_ignores_renegotiation() {
    for provider in PROVIDERS {
        for server in servers(Setup::new(provider)).iter().take(2) {
            let mut client = server.connect(&ClientHello::tls12(), None).unwrap();
            client.finish().unwrap();
            client.server.close();
            client.receive_output();
            assert_eq!(client.alerts, [[1, 0]]);
            send_hello(&mut client).unwrap();
            assert_eq!(client.alerts, [[1, 0]], "{}", server.name);
        }
    }
}

/// RFC 5246 §7.4.8: the algorithm must be in the CertificateRequest, whatever the verifier accepts.
#[test]
fn a_scheme_must_have_been_requested() {
    for provider in PROVIDERS {
        let identity = &KeyType::EcdsaP256.identities().server;
        let requested = [SignatureScheme::ECDSA_NISTP256_SHA256];
        let verifier = Verifier::accepting(Versions::Tls12, &requested);
        let config = rustls::ServerConfig::builder_with_provider(Arc::new(provider.this()))
            .with_protocol_versions(&[&rustls::version::TLS12])
            .unwrap()
            .with_client_cert_verifier(Arc::new(verifier))
            .with_single_cert(identity.chain.clone(), identity.key());
        let config = Arc::new(config.unwrap());
        for (scheme, is_refused) in [(0x0403, false), (0x0503, true), (0x0201, true)] {
            let conn = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut client = ScriptedClient::new(
                Box::new(ThisBuffered::new(conn)),
                &provider.this(),
                &ClientHello::tls12(),
                None,
            )
            .unwrap();
            send_certificate(&mut client).unwrap();
            let result = client.send(&ScriptedClient::certificate_verify_of(scheme, &[1; 70]));
            let refused = "PeerMisbehaved(SignedHandshakeWithUnadvertisedSigScheme) / [2, 47]";
            let expected = if is_refused { refused } else { "fine" };
            assert_eq!(outcome(result), expected);
        }
    }
}

/// draft-ietf-tls-mldsa §4: ML-DSA is for TLS 1.3. A server must not offer it, because it would
/// refuse it.
#[test]
fn every_scheme_that_is_offered_is_accepted() {
    for provider in PROVIDERS {
        let setup = Setup {
            auth: ClientAuth::Required,
            ..Setup::new(provider)
        };
        let algorithms = provider.this().signature_verification_algorithms;
        let expected = algorithms
            .supported_schemes()
            .into_iter()
            .map(u16::from)
            .filter(|scheme| !(0x0904..=0x0906).contains(scheme));
        let expected: Vec<u16> = expected.collect();
        for server in &servers(setup) {
            let mut client = server.connect(&ClientHello::tls12(), None).unwrap();
            let request = client.message_of(HandshakeType::CertificateRequest);
            let mut body = Reader(&request.unwrap()[4..]);
            let _types = body.vector(1);
            let offered = body.vector(2).chunks_exact(2);
            let offered = offered.map(|it| u16::from_be_bytes([it[0], it[1]]));
            assert_eq!(offered.collect::<Vec<_>>(), expected);

            // a scheme that was not offered is refused with this error
            send_certificate(&mut client).unwrap();
            let result = client.send(&ScriptedClient::certificate_verify_of(0x0904, &[1; 70]));
            let refused = "PeerMisbehaved(SignedHandshakeWithUnadvertisedSigScheme) / [2, 47]";
            assert_eq!(outcome(result), refused);
        }
    }
}
