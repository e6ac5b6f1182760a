//! Servers that request a client certificate.

use std::sync::Arc;

use harness::peers::configs::{Versions, product};
use harness::scripted::{Refused, ScriptedClient};
use harness::verifiers::this::Verifier;
use harness::wire::client_hello::*;
use harness::wire::*;
use rustls::AlertDescription::{
    BadCertificate, CertificateRequired, DecodeError, DecryptError, IllegalParameter,
    UnexpectedMessage, UnknownCA, UnsupportedExtension,
};
use rustls::certificates::VerifiedChains;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, HandshakeType,
    RootCertStore, ServerConfig, SignatureScheme,
};

use crate::handshake_server::second_flight::{clients, refusal};
use crate::handshake_server::servers::{Identity, PROVIDERS, Setup, ours_with};

const ECDSA_SECP256R1_SHA256: u16 = 0x0403;

fn setup(client: &Identity) -> Setup {
    let mut setup = Setup::new(PROVIDERS[0]);
    setup.client_certs = client.chain();
    setup
}

/// Sends the certificate of `identity` and a signature with its key.
pub(crate) fn authenticate(
    client: &mut ScriptedClient,
    identity: &Identity,
) -> Result<(), Refused> {
    present(client, &identity.cert, identity)
}

/// Sends `certificate` and a signature with the key of `signer`.
fn present(
    client: &mut ScriptedClient,
    certificate: &[u8],
    signer: &Identity,
) -> Result<(), Refused> {
    client.send(&ScriptedClient::certificate(&[], &[certificate], &[]))?;
    let verify = client.certificate_verify(&*signer.signing_key(), ECDSA_SECP256R1_SHA256);
    client.send(&verify)
}

#[test]
fn the_flight_requests_a_certificate() {
    let client = Identity::new();
    for mut client in clients(&setup(&client)) {
        assert_eq!(
            client.flight_types(),
            [
                HandshakeType::EncryptedExtensions,
                HandshakeType::CertificateRequest,
                HandshakeType::Certificate,
                HandshakeType::CertificateVerify,
                HandshakeType::Finished,
            ]
        );
        let request = client.flight.swap_remove(1);
        let mut request = Reader::of_message(&request, HandshakeType::CertificateRequest.into());
        assert!(request.vector(1).is_empty(), "context");
        let extensions = request.extensions();
        let body = |typ| {
            let mut extensions = extensions.iter();
            &extensions.find(|(other, _)| *other == typ).unwrap().1
        };
        let schemes = Reader(body(SIGNATURE_ALGORITHMS)).vector(2);
        assert!(!schemes.is_empty());
        let mut authorities = Reader(Reader(body(CERTIFICATE_AUTHORITIES)).vector(2));
        assert!(!authorities.vector(2).is_empty());
        assert!(authorities.is_empty(), "one authority");
    }
}

#[test]
fn valid_certificates_are_accepted() {
    for (provider, optional) in product(PROVIDERS, [false, true]) {
        let identity = Identity::new();
        let mut setup = setup(&identity);
        setup.provider = provider;
        setup.client_auth_optional = optional;
        for mut client in clients(&setup) {
            authenticate(&mut client, &identity).unwrap();
            client.finish().unwrap();
            assert!(!client.server.is_handshaking());
            assert_eq!(client.server.peer_certificates(), [identity.cert.to_vec()]);
        }
    }
}

#[test]
fn an_empty_certificate_is_refused_unless_it_is_optional() {
    let empty = ScriptedClient::certificate(&[], &[], &[]);
    let mut setup = setup(&Identity::new());
    for mut client in clients(&setup) {
        // RFC 9846 §4.5.1.3
        let expected = refusal("NoCertificatesPresented", CertificateRequired);
        assert_eq!(client.send(&empty), expected);
    }
    setup.client_auth_optional = true;
    for mut client in clients(&setup) {
        client.send(&empty).unwrap();
        client.finish().unwrap();
        assert!(!client.server.is_handshaking());
        assert!(client.server.peer_certificates().is_empty());
    }
}

#[test]
fn certificates_that_do_not_verify_are_refused() {
    let (known, stranger) = (Identity::new(), Identity::new());
    for optional in [false, true] {
        let mut setup = setup(&known);
        setup.client_auth_optional = optional;
        for mut client in clients(&setup) {
            let expected = refusal("InvalidCertificate(UnknownIssuer)", UnknownCA);
            assert_eq!(authenticate(&mut client, &stranger), expected);
        }
        for mut client in clients(&setup) {
            let expected = refusal("InvalidCertificate(BadEncoding)", BadCertificate);
            assert_eq!(present(&mut client, b"garbage", &stranger), expected);
        }
    }
}

/// Creates a client of a server with this verifier.
fn verified_by(
    verifier: Arc<dyn ClientCertVerifier>,
    verified_chains: VerifiedChains,
) -> ScriptedClient {
    let setup = Setup::new(PROVIDERS[0]);
    let mut config = ServerConfig::builder_with_provider(Arc::new(setup.crypto.clone()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(setup.identity.chain(), setup.identity.key())
        .unwrap();
    config.verified_chains = Arc::new(verified_chains);
    let server = Box::new(ours_with(config));
    ScriptedClient::new(server, &setup.provider.this(), ClientHello::new())
}

/// A verifier that requests certificates and delegates everything else to its current verifier.
#[derive(Debug)]
struct Replaced(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for Replaced {
    fn current_verifier(&self) -> Option<Arc<dyn ClientCertVerifier>> {
        Some(self.0.clone())
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
}

/// A server rejects a certificate as soon as it arrives, unless it may know the chain. Then it
/// waits for the signature.
#[test]
fn a_verifier_without_rules_refuses_a_certificate_immediately() {
    let (known, stranger) = (Identity::new(), Identity::new());
    let crypto = PROVIDERS[0].this().into();
    let mut roots = RootCertStore::empty();
    roots.add(known.cert.clone()).unwrap();
    let rules = WebPkiClientVerifier::builder_with_provider(roots.into(), crypto)
        .build()
        .unwrap();
    let no_rules: Arc<dyn ClientCertVerifier> = Arc::new(
        Verifier::like_client_verifier(rules.clone())
            .with_certificates(|_| Err(CertificateError::UnknownIssuer.into())),
    );
    let replaced = |current: &Arc<_>| Arc::new(Replaced(Arc::clone(current)));
    let (keeps, keeps_none) = (VerifiedChains::default, VerifiedChains::disabled);
    for (verifier, verified_chains, waits) in [
        (rules.clone(), keeps(), true),
        (rules.clone(), keeps_none(), false),
        (no_rules.clone(), keeps(), false),
        (no_rules.clone(), keeps_none(), false),
        (replaced(&rules) as _, keeps(), true),
        (replaced(&rules), keeps_none(), false),
        (replaced(&no_rules), keeps(), false),
    ] {
        let what = format!("{verifier:?}, {verified_chains:?}");
        let mut client = verified_by(verifier, verified_chains);
        let certificate = ScriptedClient::certificate(&[], &[&stranger.cert], &[]);
        let mut answer = client.send(&certificate);
        assert_eq!(answer.is_ok(), waits, "{what}");
        if waits {
            let key = stranger.signing_key();
            let verify = client.certificate_verify(&*key, ECDSA_SECP256R1_SHA256);
            answer = client.send(&verify);
        }
        let expected = refusal("InvalidCertificate(UnknownIssuer)", UnknownCA);
        assert_eq!(answer, expected, "{what}");
    }
}

#[test]
fn certificate_messages_with_unsolicited_content_are_refused() {
    let identity = Identity::new();
    let ocsp = [&[0, 5, 0, 5, 1][..], &[0, 0, 1, 9]].concat();
    let alpn = [0, 16, 0, 0];
    const CONTEXT: &str = "InvalidMessage(InvalidCertRequest)";
    const UNKNOWN: &str = "InvalidMessage(UnknownCertificateExtension)";
    const UNSOLICITED: &str = "PeerMisbehaved(UnsolicitedCertExtension)";
    let cert = &[&identity.cert[..]][..];
    let (none, unknown) = (&[][..], &[0x77, 0x77, 0, 0]);
    for (context, chain, extensions, error, alert) in [
        (&b"context"[..], cert, none, CONTEXT, DecodeError),
        (b"context", &[], none, CONTEXT, DecodeError),
        (b"", cert, &ocsp, UNSOLICITED, UnsupportedExtension),
        (b"", cert, unknown, UNKNOWN, UnsupportedExtension),
        (b"", cert, &alpn, UNKNOWN, UnsupportedExtension),
    ] {
        let message = ScriptedClient::certificate(context, chain, extensions);
        let [ours, theirs] = clients(&setup(&identity)).map(|mut client| client.send(&message));
        assert_eq!(ours, refusal(error, alert), "{context:?} {extensions:?}");
        // upstream sends other alerts for some of them, or none
        assert_eq!(ours.unwrap_err().error, theirs.unwrap_err().error);
    }
}

#[test]
fn signatures_must_verify() {
    let (identity, other) = (Identity::new(), Identity::new());
    let certificate = ScriptedClient::certificate(&[], &[&identity.cert], &[]);
    for what in ["another key", "another transcript", "an empty signature"] {
        for mut client in clients(&setup(&identity)) {
            let key = identity.signing_key();
            let before = client.certificate_verify(&*key, ECDSA_SECP256R1_SHA256);
            client.send(&certificate).unwrap();
            let verify = match what {
                "another key" => {
                    client.certificate_verify(&*other.signing_key(), ECDSA_SECP256R1_SHA256)
                }
                "another transcript" => before,
                _ => ScriptedClient::certificate_verify_of(ECDSA_SECP256R1_SHA256, &[]),
            };
            let expected = refusal("InvalidCertificate(BadSignature)", DecryptError);
            assert_eq!(client.send(&verify), expected, "{what}");
        }
    }
}

#[test]
fn signature_schemes_must_be_requested() {
    let identity = Identity::new();
    let certificate = ScriptedClient::certificate(&[], &[&identity.cert], &[]);
    let error = "PeerMisbehaved(SignedHandshakeWithUnadvertisedSigScheme)";
    // RSASSA-PKCS1-v1_5, SHA-1, and an unassigned scheme
    for scheme in [0x0401, 0x0203, 0x0999] {
        for mut client in clients(&setup(&identity)) {
            client.send(&certificate).unwrap();
            let verify = ScriptedClient::certificate_verify_of(scheme, &[1; 70]);
            assert_eq!(client.send(&verify), refusal(error, IllegalParameter));
        }
    }
}

#[test]
fn messages_out_of_order_are_unexpected() {
    let identity = Identity::new();
    let certificate = ScriptedClient::certificate(&[], &[&identity.cert], &[]);
    let verify = ScriptedClient::certificate_verify_of(ECDSA_SECP256R1_SHA256, &[1]);
    let finished = message(HandshakeType::Finished.into(), &[0; 32]);
    let cases: Vec<Vec<&[u8]>> = vec![
        vec![&finished],
        vec![&verify],
        vec![&certificate, &finished],
        vec![&certificate, &certificate],
    ];
    for messages in cases {
        let [ours, theirs] = clients(&setup(&identity)).map(|mut client| {
            let (last, first) = messages.split_last().unwrap();
            for message in first {
                client.send(message).unwrap();
            }
            client.send(last).unwrap_err()
        });
        assert_eq!(ours, theirs);
        assert_eq!(ours.alert, Some(vec![2, UnexpectedMessage.into()]));
    }
}

#[test]
fn half_rtt_data_waits_for_the_client_to_authenticate() {
    for requests_auth in [false, true] {
        let mut setup = Setup::new(PROVIDERS[0]);
        setup.send_half_rtt_data = true;
        if requests_auth {
            setup.client_certs = Identity::new().chain();
        }
        for server in setup.both() {
            let mut client =
                ScriptedClient::new(server, &setup.provider.this(), ClientHello::new());
            client.server.send(b"half");
            client.receive_output();
            assert_eq!(
                client.plaintext,
                if requests_auth { &b""[..] } else { b"half" }
            );
            assert!(client.server.is_handshaking());
            if !requests_auth {
                client.finish().unwrap();
                assert!(!client.server.is_handshaking());
            }
        }
    }
    let [mut client, _] = clients(&Setup::new(PROVIDERS[0]));
    client.server.send(b"not half");
    client.receive_output();
    assert_eq!(client.plaintext, b"");
    client.finish().unwrap();
    assert_eq!(client.plaintext, b"not half");
}

#[test]
fn a_verifier_cannot_allow_a_scheme_that_tls13_forbids() {
    for (scheme, is_accepted) in [(0x0807, true), (0x0401, false), (0x0403, false)] {
        // accepts any signature, by a scheme that TLS 1.3 excludes
        let schemes = [SignatureScheme::RSA_PKCS1_SHA256, SignatureScheme::ED25519];
        let verifier = Verifier::accepting(Versions::Both, &schemes);
        let mut client = verified_by(Arc::new(verifier), VerifiedChains::default());
        let certificate = ScriptedClient::certificate(&[], &[b"anything"], &[]);
        client.send(&certificate).unwrap();
        let verify = ScriptedClient::certificate_verify_of(scheme, &[1]);
        assert_eq!(client.send(&verify).is_ok(), is_accepted, "{scheme:#x}");
    }
}
