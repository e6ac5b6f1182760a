//! Servers that request a client certificate.

use std::sync::Arc;

use harness::peers::configs::Versions;
use harness::scripted::{Refused, ScriptedClient};
use harness::verifiers::hooked::{Hook, Hooked};
use harness::verifiers::this::Verifier;
use harness::wire::client_hello::*;
use harness::wire::*;
use rustls::AlertDescription::{DecodeError, DecryptError, UnknownCA};
use rustls::certificates::VerifiedChains;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, HandshakeType, RootCertStore, ServerConfig, SignatureScheme};

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

/// Makes connections use another verifier.
#[derive(Debug)]
struct Current(Arc<dyn ClientCertVerifier>);

impl Hook for Current {
    fn called(&self, _: &'static str) -> bool {
        false
    }

    fn current_client_verifier(&self) -> Option<Arc<dyn ClientCertVerifier>> {
        Some(self.0.clone())
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
    // accepts everything, if it is not replaced
    let replaced = |current: &Arc<_>| {
        let current: Arc<dyn ClientCertVerifier> = Arc::clone(current);
        let lax = Verifier::accepting(Versions::Both, &current.supported_verify_schemes());
        Hooked::new(Arc::new(lax), Current(current))
    };
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
fn a_context_in_the_certificate_message_is_refused() {
    let identity = Identity::new();
    for chain in [&[&identity.cert[..]][..], &[]] {
        let message = ScriptedClient::certificate(b"context", chain, &[]);
        let [ours, theirs] = clients(&setup(&identity)).map(|mut client| client.send(&message));
        assert_eq!(
            ours,
            refusal("InvalidMessage(InvalidCertRequest)", DecodeError)
        );
        // upstream's alert differs
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
            let expected = if requests_auth { &b""[..] } else { b"half" };
            assert_eq!(client.plaintext, expected);
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
