//! A client whose verifier rejects the server's certificate: errors and alerts at both ends match
//! those of two upstream ends.

use std::sync::Arc;

use harness::peers::callbacks::Clock;
use harness::peers::configs::{KeyType, PROVIDERS, Provider, server_name};
use harness::peers::endpoints::{ThisBuffered, UpstreamBuffered};
use rustls::pki_types::ServerName;

use crate::behaviour::compared::{Log, assert_same, outcome};
use crate::cases::{Case, KEY_TYPE, Role};

/// Times when the test certificates are valid, not yet valid and expired.
const NOW: u64 = 1_800_000_000;
const BEFORE: u64 = 100_000_000;
const AFTER: u64 = 100_000_000_000;

macro_rules! scripts {
    ($module:ident, $tls:ident, $endpoint:ident) => {
        mod $module {
            use harness::peers::configs::$module::roots;
            use harness::verifiers::$module::Verifier;
            use $tls::client::WebPkiServerVerifier;
            use $tls::{CertificateError, Error, InvalidMessage, PeerIncompatible, PeerMisbehaved};

            use super::*;
            use crate::behaviour::connected::$module::client_config;

            fn against_upstream(
                provider: Provider,
                config: $tls::ClientConfig,
                name: ServerName<'static>,
            ) -> String {
                let mut conn = $endpoint::client_of(name, config);
                let mut peer = Case::tls13(provider, Role::Client).peer();
                outcome(&mut conn, &mut peer, Role::Client)
            }

            pub fn name(provider: Provider, name: ServerName<'static>) -> String {
                against_upstream(provider, client_config(provider), name)
            }

            pub fn time(provider: Provider, now: u64) -> String {
                let mut config = client_config(provider);
                config.time_provider = Clock::at(now);
                against_upstream(provider, config, server_name())
            }

            fn webpki(provider: Provider, key_type: KeyType) -> Arc<WebPkiServerVerifier> {
                let provider = Arc::new(provider.$module());
                let roots = roots(key_type);
                let builder = WebPkiServerVerifier::builder_with_provider(roots, provider);
                builder.build().unwrap()
            }

            /// Uses a client that trusts an authority other than the server's.
            pub fn issuer(provider: Provider) -> String {
                let mut config = client_config(provider);
                let webpki = webpki(provider, KeyType::EcdsaP384);
                config.dangerous().set_certificate_verifier(webpki);
                against_upstream(provider, config, server_name())
            }

            /// Uses an application's own verifier, with a name that webpki would reject.
            pub fn verifier(provider: Provider) -> Log {
                let certificate_errors = [
                    CertificateError::Expired,
                    CertificateError::Revoked,
                    CertificateError::UnknownIssuer,
                    CertificateError::BadSignature,
                    CertificateError::BadEncoding,
                    CertificateError::NotValidForName,
                    CertificateError::ApplicationVerificationFailure,
                    CertificateError::UnknownRevocationStatus,
                ];
                let other_errors = [
                    Error::General("no".into()),
                    Error::DecryptError,
                    // the verifier refers to other messages, not to those of this handshake
                    Error::InvalidMessage(InvalidMessage::MessageTooShort),
                    Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare),
                    Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
                    Error::HandshakeNotComplete,
                ];
                let errors = certificate_errors.map(Error::from).into_iter();
                let errors: Vec<_> = errors.chain(other_errors).collect();
                let mut log = Vec::new();
                let none = [(None, None)].into_iter();
                let certificate = errors.iter().map(|error| (Some(error.clone()), None));
                let signature = errors.iter().map(|error| (None, Some(error.clone())));
                for (certificate, signature) in none.chain(certificate).chain(signature) {
                    let mut verifier = Verifier::like_server_verifier(webpki(provider, KEY_TYPE))
                        .with_certificates(move |presented| {
                            let expected = &KEY_TYPE.identities().server.chain;
                            assert_eq!(*presented.end_entity, expected[0]);
                            assert!(presented.intermediates.is_empty());
                            assert!(presented.ocsp_response.is_empty());
                            assert_eq!(presented.server_name.unwrap().to_str(), "other.example");
                            certificate.clone().map_or(Ok(()), Err)
                        });
                    if let Some(error) = signature {
                        verifier = verifier.with_signatures(move |_| Err(error.clone()));
                    }
                    let mut config = client_config(provider);
                    let verifier = Arc::new(verifier);
                    config.dangerous().set_certificate_verifier(verifier);
                    let name = "other.example".try_into().unwrap();
                    log.push(against_upstream(provider, config, name));
                }
                log
            }
        }
    };
}

scripts!(this, rustls, ThisBuffered);
scripts!(upstream, rustls_upstream, UpstreamBuffered);

#[test]
fn certificates_for_other_names_have_the_same_outcome_as_upstream() {
    for provider in PROVIDERS {
        let (valid, address) = (["server.example", "SERVER.example"], ["127.0.0.1", "::1"]);
        let other = ["other.example", "sub.server.example"];
        for name in [valid, other, address].concat() {
            let name = ServerName::try_from(name).unwrap();
            let ours = this::name(provider, name.clone());
            assert_eq!(ours, upstream::name(provider, name));
        }
        let wrong = this::name(provider, "other.example".try_into().unwrap());
        assert!(wrong.contains("NotValidForName"), "{wrong}");
        assert!(wrong.contains("AlertReceived(BadCertificate)"), "{wrong}");
    }
}

#[test]
fn certificates_at_other_times_have_the_same_outcome_as_upstream() {
    for provider in PROVIDERS {
        for now in [BEFORE, NOW, AFTER] {
            assert_eq!(this::time(provider, now), upstream::time(provider, now));
        }
        assert!(this::time(provider, BEFORE).contains("NotValidYet"));
        assert!(this::time(provider, AFTER).contains("AlertReceived(CertificateExpired)"));
    }
}

#[test]
fn certificates_from_other_issuers_have_the_same_outcome_as_upstream() {
    for provider in PROVIDERS {
        let ours = this::issuer(provider);
        assert_eq!(ours, upstream::issuer(provider));
        assert!(ours.contains("UnknownIssuer"), "{ours}");
    }
}

#[test]
fn custom_verifiers_have_the_same_outcome_as_upstream() {
    for provider in PROVIDERS {
        let ours = this::verifier(provider);
        let what = format!("{provider:?}");
        assert_same(&what, &ours, &upstream::verifier(provider));
        let fails: Vec<_> = ours.iter().map(|end| end.contains("then")).collect();
        assert!(!fails[0] && fails[1..].iter().all(|it| *it), "{ours:#?}");
    }
}
