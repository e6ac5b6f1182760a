//! The rules that verifiers state.

use std::sync::Arc;
use std::vec::Vec;
use std::{format, vec};

use pki_types::CertificateDer;

use super::pki::{Issuer, SERVER, crl, leaf, now, root};
use super::providers;
use crate::RootCertStore;
use crate::certificates::{RevocationList, VerifierRules};
use crate::client::danger::ServerCertVerifier;
use crate::config::webpki::{WebPkiClientVerifier, WebPkiServerVerifier};
use crate::crypto::CryptoProvider;

/// The settings of both builders.
#[derive(Clone)]
struct Settings {
    provider: Arc<CryptoProvider>,
    roots: Arc<RootCertStore>,
    lists: Vec<Arc<RevocationList>>,
    only_check_end_entity: bool,
    allow_unknown_status: bool,
    enforce_expiration: bool,
}

impl Settings {
    /// Returns the rules of a server's and a client's verifier.
    fn rules(&self) -> [VerifierRules; 2] {
        macro_rules! rules {
            ($verifier:ident) => {{
                let (roots, provider) = (self.roots.clone(), self.provider.clone());
                let builder = $verifier::builder_with_provider(roots, provider);
                let mut builder = match self.lists.is_empty() {
                    true => builder,
                    false => builder.with_shared_crls(self.lists.clone()),
                };
                if self.only_check_end_entity {
                    builder = builder.only_check_end_entity_revocation();
                }
                if self.allow_unknown_status {
                    builder = builder.allow_unknown_revocation_status();
                }
                if self.enforce_expiration {
                    builder = builder.enforce_revocation_expiration();
                }
                builder.build().unwrap().rules().unwrap()
            }};
        }
        [rules!(WebPkiServerVerifier), rules!(WebPkiClientVerifier)]
    }
}

/// The roots are hashed only when a chain is looked up or kept, because many programs create a
/// configuration for each connection, or wrap a verifier in one without rules.
#[test]
fn rules_are_hashed_only_when_needed() {
    let issuer = root("Late", |_| ());
    let certificate = leaf(&issuer, |_| ());
    for (provider, _) in providers() {
        for is_needed in [false, true] {
            let mut roots = RootCertStore::empty();
            roots.add(issuer.der().clone()).unwrap();
            let mut roots = Arc::new(roots);
            let verifier =
                WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone())
                    .build()
                    .unwrap();
            let name = pki_types::ServerName::try_from(SERVER).unwrap();
            let verified = verifier
                .verify_server_cert(&certificate, &[], &name, &[], now())
                .unwrap();
            assert!(format!("{verifier:?} {:?}", verified.0).contains("<uninit>"));
            if is_needed {
                // the proof of the verifier has its rules, which are the same each time
                let rules = verifier.rules();
                assert_eq!((verified.0.rules(), verifier.rules()), (rules, rules));
                assert!(rules.is_some());
            }
            drop((verifier, verified));
            // digests of roots are remembered by a weak reference
            assert_eq!(Arc::get_mut(&mut roots).is_some(), !is_needed);
        }
    }
}

#[test]
fn every_setting_of_a_builder_changes_the_rules() {
    let issuers = [root("One", |_| ()), root("Other", |_| ())];
    let roots = |issuers: &[Issuer]| {
        let mut roots = RootCertStore::empty();
        for issuer in issuers {
            roots.add(issuer.der().clone()).unwrap();
        }
        Arc::new(roots)
    };
    let lists = [0, 1].map(|at| RevocationList::from_der(crl(&issuers[at], &[1], |_| ())).unwrap());
    for (provider, _) in providers() {
        let settings = Settings {
            provider: provider.clone(),
            roots: roots(&issuers),
            lists: lists.to_vec(),
            only_check_end_entity: false,
            allow_unknown_status: false,
            enforce_expiration: false,
        };
        let mut fewer = (*provider).clone();
        let algorithms = &mut fewer.signature_verification_algorithms;
        algorithms.all = &algorithms.all[1..];
        let all = [
            settings.clone(),
            Settings {
                roots: roots(&issuers[..1]),
                ..settings.clone()
            },
            Settings {
                lists: vec![],
                ..settings.clone()
            },
            Settings {
                lists: lists[..1].to_vec(),
                ..settings.clone()
            },
            Settings {
                only_check_end_entity: true,
                ..settings.clone()
            },
            Settings {
                allow_unknown_status: true,
                ..settings.clone()
            },
            Settings {
                enforce_expiration: true,
                ..settings.clone()
            },
            Settings {
                provider: Arc::new(fewer),
                ..settings.clone()
            },
        ];
        let mut seen = Vec::new();
        for (number, settings) in all.iter().enumerate() {
            for rules in settings.rules() {
                assert!(!seen.contains(&rules), "{number}");
                seen.push(rules);
            }
            assert_eq!(settings.rules(), seen[2 * number..]);
        }

        // the verifier of a configuration that has only roots
        let [of_servers, _] = all[2].rules();
        let by_default = WebPkiServerVerifier::without_revocation(roots(&issuers), &provider);
        assert_eq!(by_default.rules(), Some(of_servers));
    }
}

#[test]
fn a_known_certificate_is_rechecked_for_the_name() {
    let issuer = root("Root", |_| ());
    let mut roots = RootCertStore::empty();
    roots.add(issuer.der().clone()).unwrap();
    let roots = Arc::new(roots);
    let end_entity = leaf(&issuer, |_| ());
    let malformed = CertificateDer::from(&b"malformed"[..]);
    for (provider, _) in providers() {
        let verifier = WebPkiServerVerifier::without_revocation(roots.clone(), &provider);
        for (certificate, name, is_accepted) in [
            (&end_entity, SERVER, true),
            (&end_entity, "other.example", false),
            (&malformed, SERVER, false),
        ] {
            let name = name.try_into().unwrap();
            let recheck = verifier.recheck_server_cert(certificate, &[], &name, &[], now());
            assert_eq!(recheck, is_accepted, "{name:?}");
        }
    }
}
