//! Tests of flights with missing, early, repeated or unexpected messages. Error and alert equal
//! upstream's, except for the listed deviations.

use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Versions, product};
use harness::peers::servers::Settings;
use harness::scripted::Refused;
use harness::scripted::tls12::client::ScriptedClient;
use harness::verifiers::this::Verifier;
use harness::wire::client_hello::{ClientHello, SIGNATURE_ALGORITHMS};
use harness::wire::{Reader, message, u8_vec, u16_vec, u16s};
use rustls::{ContentType, HandshakeType, SignatureScheme};

use super::authenticate;

type Result = std::result::Result<(), Refused>;

/// A part of a client's flight.
enum Part {
    /// The ClientKeyExchange.
    Keys,
    /// A change_cipher_spec; the following records are protected.
    Protect,
    Finished,
    /// The rest of the handshake without a certificate.
    Rest,
    /// A ClientHello.
    Hello,
    ChangeCipherSpec(&'static [u8]),
    Handshake(&'static [u8]),
    Data(&'static [u8]),
    Alert(&'static [u8]),
    /// A Certificate with the chain of this key type, for a client or a server.
    Certificate(Option<&'static [u8]>),
    ClientCertificate(KeyType),
    ServerCertificate(KeyType),
    /// A CertificateVerify with this scheme, over the messages so far.
    Verify(u16),
    /// A CertificateVerify with this scheme and this many bytes of signature.
    Claim(u16, usize),
    Other(fn(&mut ScriptedClient) -> Result),
}

impl Part {
    fn send(&self, client: &mut ScriptedClient) -> Result {
        let message = match *self {
            Self::Keys => client.key_exchange(),
            Self::Protect => return client.change_cipher_spec(),
            Self::Finished => client.finished(),
            Self::Rest => return client.finish(),
            Self::Hello => {
                return client.send_raw(ContentType::Handshake, &ClientHello::tls12().message());
            }
            Self::ChangeCipherSpec(content) => {
                return client.send_raw(ContentType::ChangeCipherSpec, content);
            }
            Self::Handshake(content) => return client.send_raw(ContentType::Handshake, content),
            Self::Data(content) => return client.send_raw(ContentType::ApplicationData, content),
            Self::Alert(content) => return client.send_raw(ContentType::Alert, content),
            Self::Certificate(certificate) => ScriptedClient::certificate(certificate.as_slice()),
            Self::ClientCertificate(key_type) => {
                ScriptedClient::certificate(&[&*key_type.identities().client.chain[0]])
            }
            Self::ServerCertificate(key_type) => {
                ScriptedClient::certificate(&[&*key_type.identities().server.chain[0]])
            }
            Self::Verify(scheme) => {
                let key = KeyType::EcdsaP256.identities().client.key();
                let key = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
                client.certificate_verify(&*key, scheme)
            }
            Self::Claim(scheme, len) => {
                ScriptedClient::certificate_verify_of(scheme, &vec![1; len])
            }
            Self::Other(send) => return send(client),
        };
        client.send(&message)
    }
}

use Part::*;

type Flight = (&'static str, &'static [Part]);

macro_rules! flights {
    ($($what:literal: [$($part:expr),*],)*) => { &[$(($what, &[$($part),*])),*] };
}

/// A client's certificate that is accepted.
const CERTIFICATE: Part = ClientCertificate(KeyType::EcdsaP256);

/// Flights of a client without a CertificateRequest.
const FLIGHTS: &[Flight] = flights! {
    "nothing wrong": [Rest],
    "change_cipher_spec before the keys": [ChangeCipherSpec(&[1])],
    "change_cipher_spec twice": [Keys, Protect, ChangeCipherSpec(&[1])],
    "change_cipher_spec twice in the clear": [Keys, ChangeCipherSpec(&[1]), ChangeCipherSpec(&[1])],
    "another change_cipher_spec": [Keys, ChangeCipherSpec(&[2])],
    "a long change_cipher_spec": [Keys, ChangeCipherSpec(&[1, 1])],
    "an empty change_cipher_spec": [Keys, ChangeCipherSpec(&[])],
    "change_cipher_spec after part of a message":
        [Keys, Handshake(&[0x14, 0, 0]), ChangeCipherSpec(&[1])],
    "no change_cipher_spec": [Keys, Finished],
    // a protected Finished, as it looks to a server without keys; real ciphertext would declare a
    // random length
    "no change_cipher_spec, but keys": [Keys, Handshake(&[0xa5; 40])],
    "a Finished in the clear": [Keys, ChangeCipherSpec(&[1]), Finished],
    "another message after change_cipher_spec": [Keys, Protect, Hello],
    "an empty Finished": [Keys, Protect, Handshake(&[20, 0, 0, 0])],
    "a short Finished":
        [Keys, Protect, Handshake(&[20, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
    "a Finished followed by more": [Keys, Protect, Other(|c| {
        let two = [c.finished(), vec![1]].concat();
        c.send_raw(ContentType::Handshake, &two)
    })],
    "two Finished": [Keys, Protect, Other(|c| {
        let two = c.finished().repeat(2);
        c.send_raw(ContentType::Handshake, &two)
    })],
    "two ClientKeyExchanges": [Other(|c| {
        let two = c.key_exchange().repeat(2);
        c.send_raw(ContentType::Handshake, &two)
    })],
    "an empty ClientKeyExchange": [Handshake(&[16, 0, 0, 0])],
    "an empty share": [Handshake(&[16, 0, 0, 1, 0])],
    "a wrong share": [Handshake(&[16, 0, 0, 4, 3, 4, 5, 6])],
    "a share of zeros": [Other(|c| {
        c.send_raw(ContentType::Handshake, &message(16, &u8_vec(&[0; 32])))
    })],
    "a share followed by more": [Other(|c| {
        c.send_raw(ContentType::Handshake, &message(16, &[&[32][..], &[9; 33]].concat()))
    })],
    "an unsolicited certificate": [Handshake(&[11, 0, 0, 3, 0, 0, 0])],
    "a CertificateVerify without certificate": [Keys, Claim(0x0403, 70)],
    "a second ClientHello": [Hello],
    "a ServerHelloDone": [Handshake(&[14, 0, 0, 0])],
    "a HelloRequest": [Handshake(&[0, 0, 0, 0])],
    "application data instead of keys": [Data(b"data")],
    "application data instead of change_cipher_spec": [Keys, Data(b"data")],
    "application data instead of Finished": [Keys, Protect, Data(b"data")],
    "no application data instead of Finished": [Keys, Protect, Data(b"")],
    "application data right behind Finished": [Keys, Protect, Finished, Data(b"data")],
    "change_cipher_spec after the handshake": [Rest, ChangeCipherSpec(&[1])],
    "a Finished after the handshake": [Rest, Finished],
    "a KeyUpdate after the handshake": [Rest, Handshake(&[24, 0, 0, 1, 0])],
    "a ClientKeyExchange after the handshake": [Rest, Handshake(&[16, 0, 0, 0])],
    "an attempt to renegotiate": [Rest, Hello, Other(|c| {
        assert_eq!(c.alerts, [[1, 100]]);
        Ok(())
    }), Data(b"data")],
    "two attempts to renegotiate": [Rest, Hello, Data(b"data"), Hello],
    "warnings": [Alert(&WARNING), Alert(&WARNING), Alert(&WARNING), Alert(&WARNING), Rest],
    "too many warnings":
        [Alert(&WARNING), Alert(&WARNING), Alert(&WARNING), Alert(&WARNING), Alert(&WARNING), Rest],
    "warnings after the handshake": [Rest, Other(|c| {
        for _ in 0..4 {
            Alert(&[1, 110]).send(c)?;
            Data(b"data").send(c)?;
        }
        Ok(())
    }), Alert(&[1, 110])],
    "user_canceled": [Alert(&[1, 90]), Alert(&[1, 0])],
    "close_notify during the handshake": [Alert(&[1, 0]), Rest],
    "close_notify before Finished": [Keys, Protect, Alert(&[1, 0]), Finished],
    "close_notify after the handshake": [Rest, Alert(&[1, 0])],
    "a fatal close_notify": [Rest, Alert(&[2, 0])],
    "a fatal alert": [Alert(&[2, 40])],
    "an alert with an invalid level": [Alert(&[3, 40])],
    "a short alert": [Alert(&[1])],
    "a long alert": [Alert(&[1, 40, 1])],
    "an unknown warning": [Alert(&[1, 255]), Rest],
    "an empty handshake record": [Keys, Protect, Handshake(&[])],
};

/// The content of a no_renegotiation alert.
const WARNING: [u8; 2] = [1, 100];

/// Flights of a client that receives a CertificateRequest but need not have a certificate.
const AUTHENTICATED: &[Flight] = flights! {
    "a good certificate": [CERTIFICATE, Keys, Verify(0x0403), Protect, Finished],
    "no certificate": [Certificate(None), Keys, Protect, Finished],
    "no Certificate": [Keys],
    "an unreadable certificate": [Certificate(Some(b"no certificate")), Keys, Verify(0x0403)],
    "a certificate for a server": [ServerCertificate(KeyType::EcdsaP256), Keys, Verify(0x0403)],
    "a certificate of another authority": [ClientCertificate(KeyType::Rsa2048), Keys, Verify(0x0403)],
    "no CertificateVerify": [CERTIFICATE, Keys, ChangeCipherSpec(&[1])],
    "no CertificateVerify and no change_cipher_spec": [CERTIFICATE, Keys, Finished],
    "a CertificateVerify before the keys": [CERTIFICATE, Verify(0x0403)],
    "a CertificateVerify without certificate": [Certificate(None), Keys, Verify(0x0403)],
    "two CertificateVerifys": [CERTIFICATE, Keys, Verify(0x0403), Verify(0x0403)],
    "a scheme that was not offered": [CERTIFICATE, Keys, Claim(0x0203, 70)],
    "a scheme of another key": [CERTIFICATE, Keys, Claim(0x0804, 256)],
    "a wrong signature": [CERTIFICATE, Keys, Claim(0x0403, 70)],
    "an empty signature": [CERTIFICATE, Keys, Claim(0x0403, 0)],
};

/// Flights of a client that must have a certificate.
const MANDATORY: &[Flight] = flights! {
    "no certificate where one is required": [Certificate(None)],
};

/// This crate's reactions where upstream's differ, with reasons.
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
fn every_wrong_flight_is_refused_like_upstream() {
    for (provider, (auth, flights)) in product(
        PROVIDERS,
        [
            (ClientAuth::None, FLIGHTS),
            (ClientAuth::OptionalPresent, AUTHENTICATED),
            (ClientAuth::Required, MANDATORY),
        ],
    ) {
        let settings = Settings::tls12(provider).edit(|it| it.auth = auth);
        let servers = settings.servers();
        for (what, flight) in flights {
            let [buffered, unbuffered, theirs] = servers.each_ref().map(|server| {
                let mut client = server.connect_tls12(&ClientHello::tls12(), None).unwrap();
                outcome(flight.iter().try_for_each(|part| part.send(&mut client)))
            });
            assert_eq!(buffered, unbuffered, "{what}");
            match DEVIATIONS.iter().find(|(case, ..)| case == what) {
                Some((_, ours, _)) => {
                    assert_eq!(buffered, *ours, "{what}");
                    assert_ne!(buffered, theirs, "{what} is no deviation");
                }
                None => assert_eq!(buffered, theirs, "{what}"),
            }
        }
    }
}

/// RFC 5246 §7.4.8: the hash of the signature is that of the scheme, not that of the suite.
#[test]
fn a_signature_may_have_another_hash_than_the_suite() {
    for (provider, (key_type, scheme)) in product(
        PROVIDERS,
        [
            (KeyType::EcdsaP256, 0x0403),
            (KeyType::EcdsaP384, 0x0503),
            (KeyType::Rsa2048, 0x0601),
            (KeyType::Rsa2048, 0x0401),
            (KeyType::Rsa2048, 0x0805),
            (KeyType::Ed25519, 0x0807),
        ],
    ) {
        let settings = Settings {
            key_type,
            auth: ClientAuth::Required,
            ..Settings::tls12(provider)
        };
        let certificate = &key_type.identities().client.chain[0];
        for suites in [[0xc02b, 0xc02f], [0xc02c, 0xc030]] {
            let hello = ClientHello::tls12()
                .edit(|hello| hello.cipher_suites = suites.to_vec())
                .with(
                    SIGNATURE_ALGORITHMS,
                    u16_vec(&u16s(&[0x0403, 0x0503, 0x0804, 0x0807])),
                );
            for server in settings.servers() {
                let mut client = server.connect_tls12(&hello, None).unwrap();
                authenticate(&mut client, key_type, scheme);
                assert!(client.server_finished, "{} {scheme:#x}", server.name());
                assert_eq!(client.server.peer_certificates(), [&**certificate]);
            }
        }
    }
}

/// RFC 5246 §7.2.1: nothing may follow a close_notify.
#[test]
fn a_closed_server_ignores_renegotiation() {
    for provider in PROVIDERS {
        for server in &Settings::tls12(provider).servers()[..2] {
            let mut client = server.connect_tls12(&ClientHello::tls12(), None).unwrap();
            client.finish().unwrap();
            client.server.close();
            client.receive_output();
            assert_eq!(client.alerts, [[1, 0]]);
            Hello.send(&mut client).unwrap();
            assert_eq!(client.alerts, [[1, 0]], "{}", server.name());
        }
    }
}

/// RFC 5246 §7.4.8: the algorithm must be in the CertificateRequest, even if the verifier would
/// accept others.
#[test]
fn a_signature_with_an_unrequested_scheme_is_refused() {
    for provider in PROVIDERS {
        let requested = [SignatureScheme::ECDSA_NISTP256_SHA256];
        let verifier = Arc::new(Verifier::accepting(Versions::Tls12, &requested));
        let servers = Settings::tls12(provider).servers_with(
            |config| {
                *config = rustls::ServerConfig::builder_with_provider(Arc::new(provider.this()))
                    .with_protocol_versions(&[&rustls::version::TLS12])
                    .unwrap()
                    .with_client_cert_verifier(verifier.clone())
                    .with_cert_resolver(config.cert_resolver.clone());
            },
            |_| (),
        );
        for server in &servers[..2] {
            for (scheme, due) in [
                (0x0403, "fine"),
                (0x0503, UNREQUESTED),
                (0x0201, UNREQUESTED),
            ] {
                let mut client = server.connect_tls12(&ClientHello::tls12(), None).unwrap();
                let flight = [CERTIFICATE, Keys, Claim(scheme, 70)];
                let result = flight.iter().try_for_each(|part| part.send(&mut client));
                assert_eq!(outcome(result), due, "{} {scheme:#x}", server.name());
            }
        }
    }
}

const UNREQUESTED: &str = "PeerMisbehaved(SignedHandshakeWithUnadvertisedSigScheme) / [2, 47]";

/// draft-ietf-tls-mldsa §4: ML-DSA is only for TLS 1.3. A server must not offer it for TLS 1.2,
/// because it would reject it.
#[test]
fn every_scheme_that_is_offered_is_accepted() {
    for provider in PROVIDERS {
        let settings = Settings::tls12(provider).edit(|it| it.auth = ClientAuth::Required);
        let algorithms = provider.this().signature_verification_algorithms;
        let supported = algorithms.supported_schemes();
        let mut expected: Vec<u16> = supported.into_iter().map(u16::from).collect();
        expected.retain(|scheme| !(0x0904..=0x0906).contains(scheme));
        for server in &settings.servers() {
            let mut client = server.connect_tls12(&ClientHello::tls12(), None).unwrap();
            let request = client.message_of(HandshakeType::CertificateRequest);
            let mut body = Reader(&request.unwrap()[4..]);
            let _types = body.vector(1);
            let offered = body.vector(2).chunks_exact(2);
            let offered = offered.map(|it| u16::from_be_bytes([it[0], it[1]]));
            assert_eq!(offered.collect::<Vec<_>>(), expected, "{}", server.name());

            // a scheme that was not offered causes this error
            let flight = [CERTIFICATE, Keys, Claim(0x0904, 70)];
            let result = flight.iter().try_for_each(|part| part.send(&mut client));
            assert_eq!(outcome(result), UNREQUESTED, "{}", server.name());
        }
    }
}
