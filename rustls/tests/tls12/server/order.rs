//! Tests of flights with wrong certificates, signatures, warnings and attempts to renegotiate.
//! Error and alert equal upstream's.

use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Versions, product};
use harness::peers::servers::{Server, Settings};
use harness::scripted::Refused;
use harness::scripted::tls12::client::ScriptedClient;
use harness::table;
use harness::verifiers::this::Verifier;
use harness::wire::client_hello::{ClientHello, SIGNATURE_ALGORITHMS};
use harness::wire::{Reader, message, u8_vec, u16_vec, u16s};
use rustls::{ContentType, HandshakeType, SignatureScheme};

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
    /// Content of any type in one record.
    Raw(ContentType, &'static [u8]),
    /// A Certificate, or an empty one.
    Certificate(Option<&'static [u8]>),
    /// A Certificate with the chain of this key type, for a client or a server.
    ClientCertificate(KeyType),
    ServerCertificate(KeyType),
    /// A CertificateVerify by this key with this scheme, over the messages so far.
    Verify(KeyType, u16),
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
            Self::Raw(typ, content) => return client.send_raw(typ, content),
            Self::Certificate(certificate) => ScriptedClient::certificate(certificate.as_slice()),
            Self::ClientCertificate(key_type) => {
                ScriptedClient::certificate(&[&*key_type.identities().client.chain[0]])
            }
            Self::ServerCertificate(key_type) => {
                ScriptedClient::certificate(&[&*key_type.identities().server.chain[0]])
            }
            Self::Verify(key_type, scheme) => {
                let key = key_type.identities().client.key();
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

use ContentType::{Alert, ApplicationData, ChangeCipherSpec, Handshake};
use Part::*;

/// Sends a ClientHello.
const HELLO: Part = Other(|client| client.send_raw(Handshake, &ClientHello::tls12().message()));

/// A client's certificate that is accepted, and its signature.
const CERTIFICATE: Part = ClientCertificate(KeyType::EcdsaP256);
const VERIFY: Part = Verify(KeyType::EcdsaP256, 0x0403);

type Flight = (&'static str, &'static [Part]);

macro_rules! flights {
    ($($what:literal: [$($part:expr),*],)*) => { &[$(($what, &[$($part),*])),*] };
}

/// Flights of a client without a CertificateRequest.
const FLIGHTS: &[Flight] = flights! {
    "a share of zeros": [Other(|c| {
        c.send_raw(Handshake, &message(16, &u8_vec(&[0; 32])))
    })],
    "an unsolicited certificate": [Raw(Handshake, &[11, 0, 0, 3, 0, 0, 0])],
    "a CertificateVerify without certificate": [Keys, Claim(0x0403, 70)],
    "an attempt to renegotiate": [Rest, HELLO, Other(|c| {
        assert_eq!(c.alerts, [[1, 100]]);
        Ok(())
    }), Raw(ApplicationData, b"data")],
    "two attempts to renegotiate": [Rest, HELLO, Raw(ApplicationData, b"data"), HELLO],
    "warnings after the handshake": [Rest, Other(|c| {
        for _ in 0..4 {
            c.send_raw(Alert, &[1, 110])?;
            c.send_raw(ApplicationData, b"data")?;
        }
        Ok(())
    }), Raw(Alert, &[1, 110])],
    "user_canceled": [Raw(Alert, &[1, 90]), Raw(Alert, &[1, 0])],
};

/// Flights of a client that receives a CertificateRequest but need not have a certificate.
const AUTHENTICATED: &[Flight] = flights! {
    "an unreadable certificate": [Certificate(Some(b"no certificate")), Keys, VERIFY],
    "a certificate for a server": [ServerCertificate(KeyType::EcdsaP256), Keys, VERIFY],
    "a certificate of another authority": [ClientCertificate(KeyType::Rsa2048), Keys, VERIFY],
    "a scheme that was not offered": [CERTIFICATE, Keys, Claim(0x0203, 70)],
    "a scheme of another key": [CERTIFICATE, Keys, Claim(0x0804, 256)],
    "a wrong signature": [CERTIFICATE, Keys, Claim(0x0403, 70)],
    "an empty signature": [CERTIFICATE, Keys, Claim(0x0403, 0)],
};

/// Flights of a client that must have a certificate.
const MANDATORY: &[Flight] = flights! {
    "no certificate where one is required": [Certificate(None)],
};

/// Returns the outcome of this flight to a server.
fn outcome(server: &Server, flight: &[Part]) -> String {
    let mut client = server.connect_tls12(&ClientHello::tls12(), None).unwrap();
    match flight.iter().try_for_each(|part| part.send(&mut client)) {
        Ok(()) => "fine".into(),
        Err(Refused { error, alert }) => format!("{error} / {:?}", alert.unwrap_or_default()),
    }
}

/// `differential` sends every message in the wrong place or with a wrong length.
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
            let [buffered, unbuffered, theirs] =
                servers.each_ref().map(|server| outcome(server, flight));
            assert_eq!(buffered, theirs, "{what}");
            assert_eq!(unbuffered, theirs, "{what}");
        }
    }
}

/// RFC 5246 §7.1: a change_cipher_spec has one place, and everything after it is protected.
/// Upstream sends other errors or no alerts.
#[test]
fn a_misplaced_change_cipher_spec_is_refused() {
    const CCS: Part = Raw(ChangeCipherSpec, &[1]);
    let unexpected = |due: &str, got: &str| {
        format!("InappropriateMessage {{ expect_types: [{due}], got_type: {got} }} / [2, 10]")
    };
    let interleaved = "PeerMisbehaved(MessageInterleavedWithHandshakeMessage) / [2, 10]";
    let (data, ccs) = ("ApplicationData", "ChangeCipherSpec");
    for (what, flight, error) in table! {
        "part of a message": &[Keys, Raw(Handshake, &[20, 0, 0]), CCS][..], interleaved.into();
        "twice": &[Keys, Protect, CCS], unexpected("Handshake", ccs);
        "twice in the clear": &[Keys, CCS, CCS], "DecryptError / [2, 20]".into();
        "after the handshake": &[Rest, CCS], unexpected(data, ccs);
        "none": &[Keys, Raw(ApplicationData, b"data")], unexpected("Handshake", data);
    } {
        for settings in PROVIDERS.map(Settings::tls12) {
            for server in &settings.servers()[..2] {
                assert_eq!(outcome(server, flight), error, "{what} {}", server.name());
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
                for part in [
                    ClientCertificate(key_type),
                    Keys,
                    Verify(key_type, scheme),
                    Protect,
                    Finished,
                ] {
                    part.send(&mut client).unwrap();
                }
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
            HELLO.send(&mut client).unwrap();
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
                let flight = [CERTIFICATE, Keys, Claim(scheme, 70)];
                let what = format!("{} {scheme:#x}", server.name());
                assert_eq!(outcome(server, &flight), due, "{what}");
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
        for server in settings.servers() {
            let client = server.connect_tls12(&ClientHello::tls12(), None).unwrap();
            let request = client.message_of(HandshakeType::CertificateRequest);
            let mut body = Reader(&request.unwrap()[4..]);
            let _types = body.vector(1);
            let offered = body.vector(2).chunks_exact(2);
            let offered = offered.map(|it| u16::from_be_bytes([it[0], it[1]]));
            assert_eq!(offered.collect::<Vec<_>>(), expected, "{}", server.name());

            // a scheme that was not offered causes this error
            let flight = [CERTIFICATE, Keys, Claim(0x0904, 70)];
            assert_eq!(outcome(&server, &flight), UNREQUESTED, "{}", server.name());
        }
    }
}
