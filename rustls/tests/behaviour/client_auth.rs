//! Client certificates that are missing, from the wrong authority or expired, and the hints passed
//! to a client's resolver. All outcomes are compared with those of two upstream ends.

use std::sync::Arc;

use harness::peers::callbacks::Clock;
use harness::peers::callbacks::this::ClientKey;
use harness::peers::configs::{
    self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, product3,
};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, exchange};

use crate::behaviour::compared::{assert_same, for_all, outcome};
use crate::behaviour::connected::{self, KEY_TYPE, Role};

/// The server's policy on client certificates.
#[derive(Clone, Copy, Debug)]
enum Asks {
    Nothing,
    Optional,
    Required,
}

/// The client's certificate.
#[derive(Clone, Copy, Debug)]
enum Has {
    Nothing,
    Good,
    /// From an authority that the server does not trust.
    Unknown,
    /// A server certificate.
    Servers,
}

const ASKS: [Asks; 3] = [Asks::Nothing, Asks::Optional, Asks::Required];
const HAS: [Has; 4] = [Has::Nothing, Has::Good, Has::Unknown, Has::Servers];

/// A time at which every test certificate has expired.
const FAR_FUTURE: u64 = 100_000_000_000;

macro_rules! scripts {
    ($module:ident, $tls:ident, $endpoint:ident) => {
        mod $module {
            use harness::peers::callbacks::$module::ClientKey;
            use harness::peers::configs::$module::roots;
            use harness::verifiers::$module::Verifier;
            use $tls::server::WebPkiClientVerifier;
            use $tls::version::TLS13;
            use $tls::{CertificateError, Error};

            use super::*;
            use crate::behaviour::connected::$module as connections;

            pub fn client(provider: Provider, has: Has) -> $endpoint {
                let builder =
                    $tls::ClientConfig::builder_with_provider(Arc::new(provider.$module()))
                        .with_protocol_versions(&[&TLS13])
                        .unwrap()
                        .with_root_certificates(roots(KEY_TYPE));
                let identity = match has {
                    Has::Nothing => None,
                    Has::Good => Some(&KEY_TYPE.identities().client),
                    Has::Unknown => Some(&KeyType::EcdsaP256.identities().client),
                    Has::Servers => Some(&KEY_TYPE.identities().server),
                };
                $endpoint::new(connections::client(match identity {
                    None => builder.with_no_client_auth(),
                    Some(identity) => builder
                        .with_client_auth_cert(identity.chain.clone(), identity.key())
                        .unwrap(),
                }))
            }

            pub fn server(provider: Provider, asks: Asks, late: bool) -> $endpoint {
                let crypto = Arc::new(provider.$module());
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(roots(KEY_TYPE), crypto.clone());
                let verifier = match asks {
                    Asks::Nothing => WebPkiClientVerifier::no_client_auth(),
                    Asks::Optional => verifier.allow_unauthenticated().build().unwrap(),
                    Asks::Required => verifier.build().unwrap(),
                };
                let identity = &KEY_TYPE.identities().server;
                let mut config = $tls::ServerConfig::builder_with_provider(crypto)
                    .with_protocol_versions(&[&TLS13])
                    .unwrap()
                    .with_client_cert_verifier(verifier)
                    .with_single_cert(identity.chain.clone(), identity.key())
                    .unwrap();
                if late {
                    config.time_provider = Clock::at(FAR_FUTURE);
                }
                $endpoint::new(connections::server(config))
            }

            /// Handshake outcomes with an application's own verifiers.
            pub fn verifiers(provider: Provider) -> Vec<String> {
                let mut log = Vec::new();
                for certificate in [true, false] {
                    for error in [
                        Error::InvalidCertificate(CertificateError::Revoked),
                        Error::InvalidCertificate(CertificateError::BadSignature),
                        Error::General("no".into()),
                        Error::DecryptError,
                    ] {
                        let crypto = Arc::new(provider.$module());
                        let schemes = crypto.signature_verification_algorithms.supported_schemes();
                        let of_signature = error.clone();
                        let verifier = Verifier::accepting(Versions::Tls13, &schemes)
                            .with_certificates(move |_| match certificate {
                                true => Err(error.clone()),
                                false => Ok(()),
                            })
                            .with_signatures(move |_| Err(of_signature.clone()));
                        let identity = &KEY_TYPE.identities().server;
                        let config = $tls::ServerConfig::builder_with_provider(crypto)
                            .with_protocol_versions(&[&TLS13])
                            .unwrap()
                            .with_client_cert_verifier(Arc::new(verifier))
                            .with_single_cert(identity.chain.clone(), identity.key())
                            .unwrap();
                        let mut conn = $endpoint::new(connections::server(config));
                        let mut peer = super::upstream::client(provider, Has::Good);
                        log.push(outcome(&mut conn, &mut peer, Role::Server));
                    }
                }
                log
            }

            /// Returns the hints, and how the handshake ends without a certificate.
            pub fn resolver_sees(provider: Provider, asks: Asks) -> Vec<String> {
                let resolver = ClientKey::new(None);
                let mut config = connections::client_config(provider);
                config.client_auth_cert_resolver = resolver.clone();
                let mut conn = $endpoint::new(connections::client(config));
                let mut peer = super::upstream::server(provider, asks, false);
                let end = outcome(&mut conn, &mut peer, Role::Client);
                let asked = resolver.asked().into_iter();
                let mut log: Vec<_> = asked.map(|asked| format!("{asked:02x?}")).collect();
                log.push(end);
                log
            }
        }
    };
}

scripts!(this, rustls, ThisBuffered);
scripts!(upstream, rustls_upstream, UpstreamBuffered);

#[test]
fn every_certificate_for_every_demand() {
    for_all(|provider, role| {
        for (asks, has, late) in product3(ASKS, HAS, [false, true]) {
            let their_client = || upstream::client(provider, has);
            let their_server = || upstream::server(provider, asks, late);
            // how it ends, and the certificates that the server then has
            let end = |client: &mut dyn Endpoint, server: &mut dyn Endpoint| {
                let outcome = outcome(&mut *client, &mut *server, Role::Client);
                (outcome, server.peer_certificates())
            };
            let (ours, seen_by_server) = match role {
                Role::Client => end(&mut this::client(provider, has), &mut their_server()),
                Role::Server => end(&mut their_client(), &mut this::server(provider, asks, late)),
            };
            let (theirs, _) = end(&mut their_client(), &mut their_server());
            let what = format!("{provider:?} {role:?} {asks:?} {has:?} {late}");
            assert_eq!(ours, theirs, "{what}");
            // no certificate is sent without a request
            let is_sent = !matches!((asks, has), (Asks::Nothing, _) | (_, Has::Nothing));
            assert!(seen_by_server.is_empty() || is_sent, "{what}");
        }
    });
}

/// Checks that the outcomes compared above name the expected errors.
#[test]
fn refusals_name_their_reason() {
    let cases = [
        (
            Has::Nothing,
            false,
            "NoCertificatesPresented",
            "CertificateRequired",
        ),
        (Has::Unknown, false, "UnknownIssuer", "UnknownCA"),
        (Has::Good, true, "Expired", "CertificateExpired"),
        (
            Has::Servers,
            false,
            "InvalidPurpose",
            "UnsupportedCertificate",
        ),
    ];
    for (provider, (has, late, error, alert)) in product(PROVIDERS, cases) {
        let alert = format!("AlertReceived({alert})");
        let mut server = this::server(provider, Asks::Required, late);
        let mut their_server = upstream::server(provider, Asks::Required, late);
        let mut client = this::client(provider, has);
        let mut their_client = upstream::client(provider, has);
        for end in [
            outcome(&mut server, &mut their_client, Role::Server),
            outcome(&mut client, &mut their_server, Role::Client),
        ] {
            assert!(end.contains(error) && end.contains(&alert), "{has:?} {end}");
        }
    }
}

#[test]
fn hints_for_the_resolver() {
    for (provider, asks) in product(PROVIDERS, ASKS) {
        let ours = this::resolver_sees(provider, asks);
        let theirs = upstream::resolver_sees(provider, asks);
        assert_same(&format!("{provider:?} {asks:?}"), &ours, &theirs);
    }
}

#[test]
fn verifiers_of_the_application() {
    for provider in PROVIDERS {
        let ours = this::verifiers(provider);
        assert_same(
            &format!("{provider:?}"),
            &ours,
            &upstream::verifiers(provider),
        );
        assert!(ours.iter().all(|end| end.contains("then")), "{ours:#?}");
    }
}

/// RFC 9846 §4.5.2: no CertificateVerify follows an empty Certificate. A server that does not
/// require a certificate completes the handshake.
#[test]
fn a_key_without_a_certificate_signs_nothing() {
    for provider in PROVIDERS {
        let key = KEY_TYPE.identities().client.key();
        let key = provider.this().key_provider.load_private_key(key).unwrap();
        let key = Arc::new(rustls::sign::CertifiedKey::new(Vec::new(), key));
        let mut client = configs::this::client(provider.this(), KEY_TYPE, ClientAuth::None);
        client.client_auth_cert_resolver = ClientKey::new(Some(key));
        let server =
            configs::upstream::server(provider.upstream(), KEY_TYPE, ClientAuth::OptionalAbsent);

        let mut client = ThisBuffered::new(connected::this::client(client));
        let mut server = UpstreamBuffered::new(connected::upstream::server(server));
        exchange(&mut client, &mut server).unwrap();
        assert!(!server.is_handshaking());
        assert!(server.peer_certificates().is_empty());
    }
}
