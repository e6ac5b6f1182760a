//! Tests of a client's resolver: its arguments, which come from a CertificateRequest, and the use
//! of its result, in each version.

use std::sync::Arc;

use harness::peers::callbacks;
use harness::peers::callbacks::this::ClientKey;
use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::{Endpoint, handshake};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, SignatureScheme};
use rustls_upstream as theirs;
use rustls_upstream::server::WebPkiClientVerifier;

use crate::certificates::kit::{Setup, assert_refused, this, upstream};

/// Returns each provider and version.
fn setups() -> impl Iterator<Item = Setup> {
    product(PROVIDERS, Versions::EACH)
        .map(|(provider, versions)| Setup::new(provider).over(versions))
}

fn our_key(provider: Provider, key_type: KeyType) -> Arc<CertifiedKey> {
    let identity = &key_type.identities().client;
    let chain = identity.chain.clone();
    let key = CertifiedKey::from_der(chain, identity.key(), &provider.this());
    Arc::new(key.unwrap())
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
    for (setup, roots) in product(setups(), [1, 2, 3]) {
        let Setup {
            provider, versions, ..
        } = setup;
        let key_types = [KeyType::EcdsaP256, KeyType::Ed25519, KeyType::EcdsaP384];
        let roots = key_types[..roots].iter().map(|it| &it.identities().ca);
        let store = configs::upstream::trusted(roots);
        let names = store.subjects();
        let names: Vec<Vec<u8>> = names.iter().map(|it| it.as_ref().to_vec()).collect();
        let crypto = provider.upstream();
        let verifier = WebPkiClientVerifier::builder_with_provider(store, crypto.clone().into());
        let verifier = verifier.build().unwrap();
        let server =
            configs::upstream::server_verifying(versions, crypto, setup.key_type, verifier);
        let server = Arc::new(server);

        let ours = ClientKey::new(Some(our_key(provider, KeyType::EcdsaP256)));
        let mut client = this::client(client_config(setup, ours.clone()));
        handshake(&mut client, &mut upstream::server(server.clone()));
        let identity = &KeyType::EcdsaP256.identities().client;
        let (chain, crypto) = (identity.chain.clone(), provider.upstream());
        let key = theirs::sign::CertifiedKey::from_der(chain, identity.key(), &crypto);
        let theirs = callbacks::upstream::ClientKey::new(Some(key.unwrap().into()));
        let mut config = upstream::client_config(setup);
        config.client_auth_cert_resolver = theirs.clone();
        handshake(&mut upstream::client(config), &mut upstream::server(server));

        let [(hints, schemes)] = &ours.calls()[..] else {
            panic!("not called exactly once");
        };
        assert_eq!(*hints, names);
        assert!(schemes.contains(&0x0403));
        assert_eq!(ours.calls(), theirs.calls(), "{setup:?}");
    }
}

/// A key that cannot sign with any scheme of the server is not used.
#[test]
fn a_key_that_cannot_sign_is_not_sent() {
    for setup in setups() {
        let provider = setup.provider;
        let mut crypto = provider.this();
        // only ECDSA with P-256
        let algorithms = &mut crypto.signature_verification_algorithms;
        let mut mapping = algorithms.mapping.chunks(1);
        let p256 = SignatureScheme::ECDSA_NISTP256_SHA256;
        algorithms.mapping = mapping.find(|one| one[0].0 == p256).unwrap();
        let auth = ClientAuth::OptionalAbsent;
        let mut optional =
            configs::this::server_of(setup.versions, crypto, KeyType::EcdsaP256, auth);
        optional.alpn_protocols.clear();
        let optional = Arc::new(optional);
        for (key_type, is_sent) in [(KeyType::EcdsaP256, true), (KeyType::Ed25519, false)] {
            let resolver = ClientKey::new(Some(our_key(provider, key_type)));
            let mut client = this::client(client_config(setup, resolver.clone()));
            let mut server = this::server(optional.clone());
            handshake(&mut client, &mut server);
            assert_eq!(resolver.calls()[0].1, [0x0403]);
            assert_eq!(!server.peer_certificates().is_empty(), is_sent);
        }
    }
}

/// Without a certificate, an empty Certificate is sent. The server continues if it does not require
/// one.
#[test]
fn an_empty_certificate_is_sent_if_the_resolver_returns_none() {
    for (setup, has_certs) in product(setups(), [false, true]) {
        let with = |auth| {
            let crypto = setup.provider.upstream();
            let mut config =
                configs::upstream::server_of(setup.versions, crypto, setup.key_type, auth);
            config.alpn_protocols.clear();
            upstream::server(config)
        };
        let resolver = ClientKey::claiming(has_certs, None);
        let mut server = with(ClientAuth::OptionalAbsent);
        let mut client = this::client(client_config(setup, resolver.clone()));
        handshake(&mut client, &mut server);
        assert!(server.peer_certificates().is_empty());
        assert_eq!(resolver.calls().len(), 1);

        let mut server = with(ClientAuth::Required);
        let mut client = this::client(client_config(setup, resolver.clone()));
        let error = "server: NoCertificatesPresented";
        assert_refused(&mut client, &mut server, error, "CertificateRequired");
    }
}

/// The resolver is not called without a CertificateRequest.
#[test]
fn resolvers_are_called_only_if_the_server_requests_a_certificate() {
    for setup in setups() {
        let resolver = ClientKey::new(Some(our_key(setup.provider, KeyType::EcdsaP256)));
        let mut client = this::client(client_config(setup, resolver.clone()));
        handshake(&mut client, &mut upstream::server_of(setup));
        assert_eq!(resolver.calls(), []);
    }
}
