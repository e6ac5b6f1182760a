//! A client's resolver: the arguments it receives from a CertificateRequest and the use of its
//! answer, in each version.

use std::sync::Arc;

use harness::peers::callbacks::this::ClientKey;
use harness::peers::callbacks::{self};
use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider, Versions};
use harness::peers::endpoints::{Endpoint, exchange, handshake};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, SignatureScheme};
use rustls_upstream as theirs;

use crate::kit::{Setup, this, upstream};

/// The version settings of clients.
fn versions() -> Vec<Versions> {
    vec![Versions::Tls12, Versions::Tls13]
}

fn our_key(provider: Provider, key_type: KeyType) -> CertifiedKey {
    let identity = &key_type.identities().client;
    let chain = identity.chain.clone();
    CertifiedKey::from_der(chain, identity.key(), &provider.this()).unwrap()
}

fn their_key(provider: Provider, key_type: KeyType) -> theirs::sign::CertifiedKey {
    let identity = &key_type.identities().client;
    let chain = identity.chain.clone();
    theirs::sign::CertifiedKey::from_der(chain, identity.key(), &provider.upstream()).unwrap()
}

fn client_config(setup: Setup, resolver: Arc<ClientKey>) -> ClientConfig {
    let mut config = this::client_config(setup);
    config.client_auth_cert_resolver = resolver;
    config
}

/// Resolvers receive the server's authority names, one per root, and its verifier's schemes.
/// Upstream's resolver receives the same.
#[test]
fn resolvers_receive_names_and_schemes() {
    for provider in PROVIDERS {
        for versions in versions() {
            let setup = Setup {
                versions,
                ..Setup::new(provider)
            };
            for roots in [1, 2, 3] {
                let key_types = [KeyType::EcdsaP256, KeyType::Ed25519, KeyType::EcdsaP384];
                let mut store = theirs::RootCertStore::empty();
                for key_type in &key_types[..roots] {
                    store.add(key_type.identities().ca.clone()).unwrap();
                }
                let names: Vec<_> = store.subjects();
                let names: Vec<Vec<u8>> = names.iter().map(|it| it.as_ref().to_vec()).collect();
                let verifier = theirs::server::WebPkiClientVerifier::builder_with_provider(
                    Arc::new(store),
                    Arc::new(provider.upstream()),
                )
                .build()
                .unwrap();
                let server = || {
                    let crypto = Arc::new(provider.upstream());
                    let identity = &setup.key_type.identities().server;
                    let builder = theirs::ServerConfig::builder_with_provider(crypto)
                        .with_protocol_versions(
                            &versions.choose(&theirs::version::TLS12, &theirs::version::TLS13),
                        )
                        .unwrap()
                        .with_client_cert_verifier(verifier.clone());
                    let config = builder.with_single_cert(identity.chain.clone(), identity.key());
                    upstream::server(config.unwrap())
                };

                let ours = ClientKey::new(Some(our_key(provider, KeyType::EcdsaP256).into()));
                let mut client = this::client(client_config(setup, ours.clone()));
                handshake(&mut client, &mut server());
                let theirs = callbacks::upstream::ClientKey::new(Some(
                    their_key(provider, KeyType::EcdsaP256).into(),
                ));
                let mut config = upstream::client_config(setup);
                config.client_auth_cert_resolver = theirs.clone();
                handshake(&mut upstream::client(config), &mut server());

                let [(hints, schemes)] = &ours.asked()[..] else {
                    panic!("asked once");
                };
                assert_eq!(*hints, names);
                assert!(schemes.contains(&0x0403));
                assert_eq!(ours.asked(), theirs.asked(), "{setup:?}");
            }
        }
    }
}

/// A key that fits no scheme of the server is not used.
#[test]
fn a_key_that_cannot_sign_is_not_sent() {
    for versions in versions() {
        let setup = Setup {
            versions,
            ..Setup::new(Provider::AwsLc)
        };
        let optional = || {
            let mut crypto = Provider::AwsLc.this();
            // only ECDSA with P-256
            let algorithms = &mut crypto.signature_verification_algorithms;
            let mut mapping = algorithms.mapping.chunks(1);
            algorithms.mapping = mapping
                .find(|one| one[0].0 == SignatureScheme::ECDSA_NISTP256_SHA256)
                .unwrap();
            let mut config = harness::peers::configs::this::server_of(
                versions,
                crypto,
                KeyType::EcdsaP256,
                ClientAuth::OptionalAbsent,
            );
            config.alpn_protocols.clear();
            this::server(config)
        };
        for (key_type, is_sent) in [(KeyType::EcdsaP256, true), (KeyType::Ed25519, false)] {
            let resolver = ClientKey::new(Some(our_key(Provider::AwsLc, key_type).into()));
            let mut client = this::client(client_config(setup, resolver.clone()));
            let mut server = optional();
            handshake(&mut client, &mut server);
            assert_eq!(resolver.asked()[0].1, [0x0403]);
            assert_eq!(!server.peer_certificates().is_empty(), is_sent);
        }
    }
}

/// Without a certificate, an empty Certificate is sent. The server continues if it does not require
/// one.
#[test]
fn a_resolver_may_return_nothing() {
    for provider in PROVIDERS {
        for versions in versions() {
            let setup = Setup {
                versions,
                ..Setup::new(provider)
            };
            let with = |auth| {
                let mut config = harness::peers::configs::upstream::server_of(
                    versions,
                    provider.upstream(),
                    setup.key_type,
                    auth,
                );
                config.alpn_protocols.clear();
                upstream::server(config)
            };
            for has_certs in [false, true] {
                let resolver = ClientKey::claiming(has_certs, None);
                let mut server = with(ClientAuth::OptionalAbsent);
                let mut client = this::client(client_config(setup, resolver.clone()));
                handshake(&mut client, &mut server);
                assert!(server.peer_certificates().is_empty());
                assert_eq!(resolver.asked().len(), 1);

                let mut server = with(ClientAuth::Required);
                let mut client = this::client(client_config(setup, resolver.clone()));
                let error = exchange(&mut client, &mut server).unwrap_err();
                assert_eq!(error, "server: NoCertificatesPresented");
                let alert_error = client.receive(&server.take_output()).unwrap_err();
                assert_eq!(alert_error, "AlertReceived(CertificateRequired)");
            }
        }
    }
}

/// The resolver is not called without a CertificateRequest.
#[test]
fn resolvers_wait_for_a_request() {
    for versions in versions() {
        let setup = Setup {
            versions,
            ..Setup::new(Provider::AwsLc)
        };
        let resolver = ClientKey::new(Some(our_key(Provider::AwsLc, KeyType::EcdsaP256).into()));
        let mut client = this::client(client_config(setup, resolver.clone()));
        handshake(
            &mut client,
            &mut upstream::server(upstream::server_config(setup)),
        );
        assert_eq!(resolver.asked(), []);
    }
}
