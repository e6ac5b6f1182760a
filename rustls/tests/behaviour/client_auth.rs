//! Client certificates that are missing, from the wrong authority or expired, and the hints passed
//! to a client's resolver. All outcomes are compared with those of two upstream ends.

use std::sync::Arc;

use harness::peers::callbacks::Clock;
use harness::peers::callbacks::this::ClientKey;
use harness::peers::configs::{
    ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, product3,
};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, exchange};

use crate::behaviour::compared::{Log, assert_same, outcome};
use crate::behaviour::connected::this::client_config;
use crate::cases::{KEY_TYPE, Role, tls13_cases};

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

/// The server's policies on client certificates.
const CLIENT_AUTHS: [ClientAuth; 3] = [
    ClientAuth::None,
    ClientAuth::OptionalAbsent,
    ClientAuth::Required,
];
const HAS: [Has; 4] = [Has::Nothing, Has::Good, Has::Unknown, Has::Servers];

/// A time at which every test certificate has expired.
const FAR_FUTURE: u64 = 100_000_000_000;

macro_rules! scripts {
    ($module:ident, $tls:ident, $endpoint:ident) => {
        mod $module {
            use harness::peers::callbacks::$module::ClientKey;
            use harness::peers::configs::$module::{self as configs, server_verifying};
            use harness::verifiers::$module::Verifier;
            use $tls::sign::{CertifiedKey, SingleCertAndKey};
            use $tls::{CertificateError, Error};

            use super::*;
            use crate::behaviour::connected::$module::client_config;

            pub fn client(provider: Provider, has: Has) -> $endpoint {
                let mut config = client_config(provider);
                let identity = match has {
                    Has::Nothing => return $endpoint::client(config),
                    Has::Good => &KEY_TYPE.identities().client,
                    Has::Unknown => &KeyType::EcdsaP256.identities().client,
                    Has::Servers => &KEY_TYPE.identities().server,
                };
                let (chain, key) = (identity.chain.clone(), identity.key());
                let key = CertifiedKey::from_der(chain, key, &provider.$module()).unwrap();
                config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(key));
                $endpoint::client(config)
            }

            pub fn server(provider: Provider, auth: ClientAuth, late: bool) -> $endpoint {
                let mut config = configs::server(provider.$module(), KEY_TYPE, auth);
                if late {
                    config.time_provider = Clock::at(FAR_FUTURE);
                }
                $endpoint::server(config)
            }

            /// Handshake outcomes with an application's own verifiers.
            pub fn verifiers(provider: Provider) -> Log {
                let errors = [
                    Error::InvalidCertificate(CertificateError::Revoked),
                    Error::InvalidCertificate(CertificateError::BadSignature),
                    Error::General("no".into()),
                    Error::DecryptError,
                ];
                let outcomes = product([true, false], errors).map(|(certificate, error)| {
                    let crypto = provider.$module();
                    let schemes = crypto.signature_verification_algorithms.supported_schemes();
                    let of_signature = error.clone();
                    let verifier = Verifier::accepting(Versions::Tls13, &schemes)
                        .with_certificates(move |_| match certificate {
                            true => Err(error.clone()),
                            false => Ok(()),
                        })
                        .with_signatures(move |_| Err(of_signature.clone()));
                    let (versions, verifier) = (Versions::Tls13, Arc::new(verifier));
                    let config = server_verifying(versions, crypto, KEY_TYPE, verifier);
                    let mut peer = super::upstream::client(provider, Has::Good);
                    outcome(&mut $endpoint::server(config), &mut peer, Role::Server)
                });
                outcomes.collect()
            }

            /// Returns the hints, and how the handshake ends without a certificate.
            pub fn resolver_sees(provider: Provider, auth: ClientAuth) -> Log {
                let resolver = ClientKey::new(None);
                let mut config = client_config(provider);
                config.client_auth_cert_resolver = resolver.clone();
                let mut peer = super::upstream::server(provider, auth, false);
                let end = outcome(&mut $endpoint::client(config), &mut peer, Role::Client);
                let calls = resolver.calls().into_iter();
                let mut log: Vec<_> = calls.map(|call| format!("{call:02x?}")).collect();
                log.push(end);
                log
            }
        }
    };
}

scripts!(this, rustls, ThisBuffered);
scripts!(upstream, rustls_upstream, UpstreamBuffered);

#[test]
fn every_client_certificate_has_the_same_outcome_as_upstream() {
    for case in tls13_cases() {
        for (auth, has, late) in product3(CLIENT_AUTHS, HAS, [false, true]) {
            let provider = case.provider;
            let their_client = || upstream::client(provider, has);
            let their_server = || upstream::server(provider, auth, late);
            // how the handshake ends, and the certificates that the server has then
            let end = |client: &mut dyn Endpoint, server: &mut dyn Endpoint| {
                let outcome = outcome(&mut *client, &mut *server, Role::Client);
                (outcome, server.peer_certificates())
            };
            let (ours, seen_by_server) = match case.role {
                Role::Client => end(&mut this::client(provider, has), &mut their_server()),
                Role::Server => end(&mut their_client(), &mut this::server(provider, auth, late)),
            };
            let (theirs, _) = end(&mut their_client(), &mut their_server());
            let what = format!("{case:?} {auth:?} {has:?} {late}");
            assert_eq!(ours, theirs, "{what}");
            if auth == ClientAuth::Required
                && let Some((error, alert)) = refusal(has, late)
            {
                let alert = format!("AlertReceived({alert})");
                let is_named = ours.contains(error) && ours.contains(&alert);
                assert!(is_named, "{what}: {ours}");
            }
            // no certificate is sent without a request
            let is_sent = !matches!((auth, has), (ClientAuth::None, _) | (_, Has::Nothing));
            assert!(seen_by_server.is_empty() || is_sent, "{what}");
        }
    }
}

/// Returns the error of a server that requires a certificate, and its alert.
fn refusal(has: Has, late: bool) -> Option<(&'static str, &'static str)> {
    match (has, late) {
        (Has::Nothing, false) => Some(("NoCertificatesPresented", "CertificateRequired")),
        (Has::Unknown, false) => Some(("UnknownIssuer", "UnknownCA")),
        (Has::Good, true) => Some(("Expired", "CertificateExpired")),
        (Has::Servers, false) => Some(("InvalidPurpose", "UnsupportedCertificate")),
        _ => None,
    }
}

#[test]
fn the_resolver_gets_the_same_hints_as_upstream() {
    for (provider, auth) in product(PROVIDERS, CLIENT_AUTHS) {
        let ours = this::resolver_sees(provider, auth);
        let theirs = upstream::resolver_sees(provider, auth);
        assert_same(&format!("{provider:?} {auth:?}"), &ours, &theirs);
    }
}

#[test]
fn custom_verifiers_have_the_same_outcome_as_upstream() {
    for provider in PROVIDERS {
        let ours = this::verifiers(provider);
        let theirs = upstream::verifiers(provider);
        assert_same(&format!("{provider:?}"), &ours, &theirs);
        assert!(ours.iter().all(|end| end.contains("then")), "{ours:#?}");
    }
}

/// RFC 9846 §4.5.2: no CertificateVerify follows an empty Certificate. A server that does not
/// require a certificate completes the handshake.
#[test]
fn no_signature_follows_an_empty_certificate() {
    for provider in PROVIDERS {
        let key = KEY_TYPE.identities().client.key();
        let key = provider.this().key_provider.load_private_key(key).unwrap();
        let key = Arc::new(rustls::sign::CertifiedKey::new(Vec::new(), key));
        let mut client = client_config(provider);
        client.client_auth_cert_resolver = ClientKey::new(Some(key));
        let mut server = upstream::server(provider, ClientAuth::OptionalAbsent, false);
        exchange(&mut ThisBuffered::client(client), &mut server).unwrap();
        assert!(!server.is_handshaking());
        assert!(server.peer_certificates().is_empty());
    }
}
