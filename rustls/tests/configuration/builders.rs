//! Builders and constructors return the same errors as upstream's for the same arguments. The text
//! of an error without a more specific variant begins with upstream's text.

use std::sync::Arc;

use harness::comparison::agree;
use harness::peers::configs::{self, ClientAuth, KEY_TYPES, KeyType, PROVIDERS, Provider, product};
use harness::providers::ffdhe::{self, Key};
use rustls_upstream::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, PrivatePkcs1KeyDer,
    PrivatePkcs8KeyDer, PrivateSec1KeyDer, ServerName,
};

use crate::configuration::refused::{or_panic, outcome, outcomes};

/// Returns certificate chains with all kinds of mistakes, and a valid one.
fn chains() -> Vec<(&'static str, Vec<CertificateDer<'static>>)> {
    let good = &KeyType::EcdsaP256.identities().server.chain;
    let cut = good[0][..good[0].len() - 1].to_vec();
    let more = [&good[0][..], &[0]].concat();
    let other = &KeyType::EcdsaP384.identities().server.chain;
    vec![
        ("no certificate", vec![]),
        ("an empty certificate", vec![vec![].into()]),
        ("no DER", vec![b"certificate".to_vec().into()]),
        ("a cut certificate", vec![cut.into()]),
        ("an extra byte", vec![more.into()]),
        ("of another key", other.clone()),
        ("good, then none", [&good[..], &[vec![].into()]].concat()),
        ("good", good.clone()),
    ]
}

/// Returns private keys with all kinds of mistakes, and valid ones of each kind.
fn keys() -> Vec<(String, PrivateKeyDer<'static>)> {
    let good = KeyType::EcdsaP256.identities().server.key();
    let PrivateKeyDer::Pkcs8(pkcs8) = &good else {
        panic!("keys are PKCS#8");
    };
    let bytes = pkcs8.secret_pkcs8_der();
    let mut changed = bytes.to_vec();
    changed[40] ^= 1;
    let bytes = bytes.to_vec();
    let cut = bytes[..bytes.len() - 1].to_vec();
    let pkcs8 = |der: Vec<u8>| PrivateKeyDer::from(PrivatePkcs8KeyDer::from(der));
    let pkcs1 = |der: Vec<u8>| PrivateKeyDer::from(PrivatePkcs1KeyDer::from(der));
    let sec1 = |der: Vec<u8>| PrivateKeyDer::from(PrivateSec1KeyDer::from(der));
    let mut keys = vec![
        ("empty PKCS#8".to_owned(), pkcs8(vec![])),
        ("empty PKCS#1".into(), pkcs1(vec![])),
        ("empty SEC1".into(), sec1(vec![])),
        ("PKCS#8 as PKCS#1".into(), pkcs1(bytes.clone())),
        ("PKCS#8 as SEC1".into(), sec1(bytes)),
        ("cut".into(), pkcs8(cut)),
        ("of another public key".into(), pkcs8(changed)),
    ];
    for key_type in KEY_TYPES {
        let identity = &key_type.identities().server;
        keys.push((format!("{key_type:?}"), identity.key()));
    }
    keys
}

macro_rules! builders {
    ($module:ident, $tls:ident) => {
        mod $module {
            use $tls::client::{
                AlwaysResolvesClientRawPublicKeys, ResolvesClientCert, UnbufferedClientConnection,
                WebPkiServerVerifier,
            };
            use $tls::crypto::CryptoProvider;
            use $tls::server::{
                ResolvesServerCertUsingSni, UnbufferedServerConnection, WebPkiClientVerifier,
            };
            use $tls::sign::CertifiedKey;
            use $tls::version::{TLS12, TLS13};
            use $tls::{
                CipherSuite, ClientConfig, ClientConnection, ConfigBuilder, NamedGroup,
                RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion,
                WantsVersions,
            };

            use super::*;

            /// Tries providers that lack a part, with every choice of versions.
            pub(super) fn versions(provider: Provider) -> Vec<String> {
                fn chosen<S: $tls::ConfigSide>(
                    builder: ConfigBuilder<S, WantsVersions>,
                    choice: &[&'static SupportedProtocolVersion],
                ) -> String {
                    outcome(builder.with_protocol_versions(choice))
                }
                type Change = fn(&mut CryptoProvider);
                let changes: [(&str, Change); 9] = [
                    ("all", |_| {}),
                    ("no suites", |it| it.cipher_suites.clear()),
                    ("no groups", |it| it.kx_groups.clear()),
                    ("1.2 suites", |it| {
                        it.cipher_suites.retain(|suite| suite.tls13().is_none());
                    }),
                    ("1.3 suites", |it| {
                        it.cipher_suites.retain(|suite| suite.tls13().is_some());
                    }),
                    ("a suite without its group", |it| {
                        let aes = CipherSuite::TLS13_AES_128_GCM_SHA256;
                        it.cipher_suites.retain(|suite| suite.suite() == aes);
                        it.kx_groups
                            .retain(|group| group.name() == NamedGroup::FFDHE2048);
                    }),
                    ("finite-field groups only", |it| {
                        let (name, params) = (NamedGroup::FFDHE2048, $tls::ffdhe_groups::FFDHE2048);
                        it.kx_groups = vec![ffdhe::$module::Group::leak(name, params, Key::Random)];
                    }),
                    ("twice", |it| {
                        it.cipher_suites.extend(it.cipher_suites.clone());
                        it.kx_groups.extend(it.kx_groups.clone());
                    }),
                    ("hybrid only", |it| {
                        it.kx_groups
                            .retain(|group| group.name() == NamedGroup::X25519MLKEM768);
                    }),
                ];
                let choices: [&[&SupportedProtocolVersion]; 5] = [
                    &[],
                    &[&TLS12],
                    &[&TLS13],
                    &[&TLS12, &TLS13],
                    &[&TLS13, &TLS13],
                ];
                let mut log = Vec::new();
                for ((what, change), choice) in product(changes, choices) {
                    // this crate rejects the provider because no handshake could succeed
                    let is_hybrid = provider == Provider::AwsLc && what == "hybrid only";
                    if is_hybrid && choice == [&TLS12] {
                        continue;
                    }
                    let mut crypto = provider.$module();
                    change(&mut crypto);
                    let crypto = Arc::new(crypto);
                    let client =
                        chosen(ClientConfig::builder_with_provider(crypto.clone()), choice);
                    let server = chosen(ServerConfig::builder_with_provider(crypto), choice);
                    log.push(format!("{what} {choice:?} {client} {server}"));
                }
                log
            }

            fn client_builder(
                provider: Provider,
            ) -> ConfigBuilder<ClientConfig, $tls::client::WantsClientCert> {
                ClientConfig::builder_with_provider(Arc::new(provider.$module()))
                    .with_safe_default_protocol_versions()
                    .unwrap()
                    .with_root_certificates(RootCertStore::empty())
            }

            fn server_builder(
                provider: Provider,
            ) -> ConfigBuilder<ServerConfig, $tls::server::WantsServerCert> {
                ServerConfig::builder_with_provider(Arc::new(provider.$module()))
                    .with_safe_default_protocol_versions()
                    .unwrap()
                    .with_no_client_auth()
            }

            /// Tries every constructor that takes a chain and a key.
            pub(super) fn chains_and_keys(provider: Provider) -> Vec<String> {
                let mut log = Vec::new();
                for (chain_is, chain) in chains() {
                    for (key_is, key) in keys() {
                        let (chain, key) = (|| chain.clone(), || key.clone_key());
                        let client = client_builder(provider).with_client_auth_cert(chain(), key());
                        let server = server_builder(provider).with_single_cert(chain(), key());
                        let builder = server_builder(provider);
                        let stapled = builder.with_single_cert_with_ocsp(chain(), key(), vec![1]);
                        let from_der = CertifiedKey::from_der(chain(), key(), &provider.$module());
                        let outcomes = outcomes!(client, server, stapled, from_der);
                        log.push(format!("{chain_is}, {key_is}: {outcomes}"));
                    }
                }
                log
            }

            /// Loads keys alone and describes the result.
            pub(super) fn loaded(provider: Provider) -> Vec<String> {
                let loader = provider.$module().key_provider;
                let schemes = $tls::crypto::ring::default_provider()
                    .signature_verification_algorithms
                    .supported_schemes();
                let mut log = Vec::new();
                for (key_is, key) in keys() {
                    let loaded = loader.load_private_key(key);
                    log.push(format!("{key_is} {}", outcome(loaded.as_ref())));
                    if let Ok(key) = loaded {
                        let spki = key.public_key().map(|spki| spki.to_vec());
                        log.push(format!("{:?} {spki:?}", key.algorithm()));
                        for scheme in &schemes {
                            let signer = key.choose_scheme(&[*scheme]);
                            log.push(format!("{:?}", signer.map(|signer| signer.scheme())));
                        }
                        let chosen = key.choose_scheme(&schemes);
                        log.push(format!("{:?}", chosen.map(|signer| signer.scheme())));
                        let backwards: Vec<_> = schemes.iter().rev().copied().collect();
                        let chosen = key.choose_scheme(&backwards);
                        log.push(format!("{:?}", chosen.map(|signer| signer.scheme())));
                        for (chain_is, chain) in chains() {
                            let certified = CertifiedKey::new(chain, key.clone());
                            let outcomes =
                                outcomes!(certified.keys_match(), certified.end_entity_cert());
                            log.push(format!("{chain_is} {outcomes}"));
                        }
                        let raw = CertifiedKey::new(Vec::new(), key.clone());
                        let resolver = AlwaysResolvesClientRawPublicKeys::new(Arc::new(raw));
                        log.push(resolver.has_certs().to_string());
                    }
                }
                log
            }

            /// Tries resolvers by name.
            pub(super) fn names(provider: Provider) -> Vec<String> {
                let mut log = Vec::new();
                for (chain_is, chain) in chains() {
                    for name in [
                        "",
                        "server.example",
                        "Server.Example",
                        "server.example.",
                        "other.example",
                        "127.0.0.1",
                        "::1",
                        "*.example",
                        "a b",
                        "ex\u{e4}mple",
                    ] {
                        let key = KeyType::EcdsaP256.identities().server.key();
                        let key = provider.$module().key_provider.load_private_key(key);
                        let certified = CertifiedKey::new(chain.clone(), key.unwrap());
                        let mut resolver = ResolvesServerCertUsingSni::new();
                        let added = resolver.add(name, certified.clone());
                        let outcomes = outcomes!(added, resolver.add(name, certified));
                        log.push(format!("{chain_is} {name} {outcomes}"));
                    }
                }
                log
            }

            /// Tries roots and verifiers.
            pub(super) fn verifiers(provider: Provider) -> Vec<String> {
                let mut log = Vec::new();
                let mut roots = RootCertStore::empty();
                let identities = KeyType::EcdsaP256.identities();
                for (is, chain) in chains() {
                    for cert in chain {
                        log.push(format!("{is} {}", outcome(roots.add(cert))));
                    }
                }
                let parsed = roots
                    .add_parsable_certificates(chains().into_iter().flat_map(|(_, chain)| chain));
                log.push(format!("{parsed:?} {} {}", roots.len(), roots.is_empty()));
                log.push(format!("{:?}", RootCertStore::empty().subjects()));
                let mut good = RootCertStore::empty();
                good.add(identities.ca.clone()).unwrap();
                log.push(format!("{:?}", good.subjects()));
                let provider = || Arc::new(provider.$module());
                let of_servers = WebPkiServerVerifier::builder_with_provider;
                let of_clients = WebPkiClientVerifier::builder_with_provider;
                for roots in [RootCertStore::empty(), good].map(Arc::new) {
                    for crls in [vec![], vec![vec![]], vec![b"list".to_vec()]] {
                        let crls: Vec<CertificateRevocationListDer<'static>> =
                            crls.into_iter().map(Into::into).collect();
                        let servers = of_servers(roots.clone(), provider());
                        let clients = of_clients(roots.clone(), provider()).with_crls(crls.clone());
                        let servers = servers.with_crls(crls).build();
                        log.push(outcomes!(servers, clients.build()));
                    }
                    let builder = || of_clients(roots.clone(), provider());
                    let named = builder().add_root_hint_subjects(roots.subjects());
                    for verifier in [
                        builder().build(),
                        builder().allow_unauthenticated().build(),
                        builder().clear_root_hint_subjects().build(),
                        named.build(),
                    ] {
                        let Ok(verifier) = verifier else { continue };
                        log.push(format!(
                            "{} {} {:?} {:?} {}",
                            verifier.offer_client_auth(),
                            verifier.client_auth_mandatory(),
                            verifier.root_hint_subjects(),
                            verifier.supported_verify_schemes(),
                            verifier.requires_raw_public_keys(),
                        ));
                    }
                }
                let none = WebPkiClientVerifier::no_client_auth();
                let (offers, is_mandatory) =
                    (none.offer_client_auth(), none.client_auth_mandatory());
                log.push(format!("{offers} {is_mandatory}"));
                log
            }

            /// Tries configurations that connections reject, and some valid ones.
            pub(super) fn connections(provider: Provider) -> Vec<String> {
                let mut log = Vec::new();
                let (key_type, auth) = (KeyType::EcdsaP256, ClientAuth::None);
                let client = || configs::$module::client(provider.$module(), key_type, auth);
                let sizes = [0, 1, 31, 32, 33, 100, 16_384, 16_388, 16_389, 16_390];
                let sizes = sizes.into_iter().chain([1 << 16, usize::MAX]);
                for size in sizes.map(Some).chain([None]) {
                    let mut client = client();
                    client.max_fragment_size = size;
                    let mut server = configs::$module::server(provider.$module(), key_type, auth);
                    server.max_fragment_size = size;
                    let (client, server) = (Arc::new(client), Arc::new(server));
                    let name = configs::server_name;
                    let outcomes = outcomes!(
                        ClientConnection::new(client.clone(), name()),
                        ServerConnection::new(server.clone()),
                        UnbufferedClientConnection::new(client, name()),
                        UnbufferedServerConnection::new(server)
                    );
                    log.push(format!("{size:?} {outcomes}"));
                }
                let domains = ["localhost", "a.b.c.", "xn--exmple-cua.test"];
                let addresses = ["127.0.0.1", "::1"];
                let names = domains.into_iter().chain(addresses);
                for name in names.map(|name| ServerName::try_from(name).unwrap()) {
                    log.push(outcome(ClientConnection::new(Arc::new(client()), name)));
                }
                log
            }

            /// Tries values of limited length.
            pub(super) fn values() -> Vec<String> {
                let mut log = Vec::new();
                for len in [0, 1, 12, 31, 32, 33, 48, 64, 65, 1000] {
                    let bytes = vec![7; len];
                    use $tls::crypto::{hash, hmac, hpke, tls13};
                    log.push(format!("{len}"));
                    let len_of = |bytes: &[u8]| bytes.len().to_string();
                    log.push(or_panic(|| len_of(hash::Output::new(&bytes).as_ref())));
                    log.push(or_panic(|| len_of(hmac::Tag::new(&bytes).as_ref())));
                    log.push(or_panic(|| len_of(tls13::OkmBlock::new(&bytes).as_ref())));
                    log.push(or_panic(|| {
                        len_of(hpke::HpkePrivateKey::from(bytes.clone()).secret_bytes())
                    }));
                }
                log
            }
        }
    };
}

builders!(this, rustls);
builders!(upstream, rustls_upstream);

macro_rules! same {
    ($($log:ident),*) => {$(
        mod $log {
            use super::*;

            #[test]
            fn matches_upstream() {
                for provider in PROVIDERS {
                    let (ours, theirs) = (this::$log(provider), upstream::$log(provider));
                    let mut different = Vec::new();
                    for (ours, theirs) in ours.iter().zip(&theirs) {
                        if !agree(ours, theirs) {
                            different.push(format!("ours   {ours}\ntheirs {theirs}"));
                        }
                    }
                    assert!(different.is_empty(), "{provider:?}\n{}", different.join("\n"));
                    assert_eq!(ours.len(), theirs.len());
                }
            }
        }
    )*};
}

same!(
    versions,
    chains_and_keys,
    loaded,
    names,
    verifiers,
    connections
);

#[test]
fn values_that_are_too_long_are_refused_like_upstream() {
    assert_eq!(this::values(), upstream::values());
}
