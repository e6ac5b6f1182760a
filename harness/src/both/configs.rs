//! Client and server configurations, built for whichever rustls crate (`tls`) this module is
//! compiled against.

use std::sync::Arc;

use pki_types::CertificateDer;

use super::tls;
use super::tls::crypto::CryptoProvider;
use super::tls::server::WebPkiClientVerifier;
use super::tls::server::danger::ClientCertVerifier;
use super::tls::version::{TLS12, TLS13};
use crate::peers::configs::{ClientAuth, KeyType, Provider, Versions};
use crate::wire::client_hello::{P256, X25519};

pub fn roots(key_type: KeyType) -> Arc<tls::RootCertStore> {
    trusted([&key_type.identities().ca])
}

/// Creates a store with these roots.
pub fn trusted<'a>(
    roots: impl IntoIterator<Item = &'a CertificateDer<'static>>,
) -> Arc<tls::RootCertStore> {
    let mut store = tls::RootCertStore::empty();
    for root in roots {
        store.add(root.clone()).unwrap();
    }
    Arc::new(store)
}

/// Returns the provider with only this suite.
pub fn provider_of(provider: Provider, suite: impl Into<u16>) -> CryptoProvider {
    let (mut provider, suite) = (super::provider(provider), suite.into());
    let suites = &mut provider.cipher_suites;
    suites.retain(|known| u16::from(known.suite()) == suite);
    assert_eq!(suites.len(), 1);
    provider
}

/// Creates a client with only TLS 1.3.
pub fn client(provider: CryptoProvider, key_type: KeyType, auth: ClientAuth) -> tls::ClientConfig {
    client_of(Versions::Tls13, provider, key_type, auth)
}

pub fn client_of(
    versions: Versions,
    provider: CryptoProvider,
    key_type: KeyType,
    auth: ClientAuth,
) -> tls::ClientConfig {
    let builder = tls::ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&versions.choose(&TLS12, &TLS13))
        .unwrap()
        .with_root_certificates(roots(key_type));
    let mut config = if auth.is_presented() {
        let identity = &key_type.identities().client;
        builder
            .with_client_auth_cert(identity.chain.clone(), identity.key())
            .unwrap()
    } else {
        builder.with_no_client_auth()
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // independent of the enabled features
    config.cert_compressors.clear();
    config.cert_decompressors.clear();
    super::prepare_client(&mut config, roots(key_type));
    config
}

/// Creates a client for the scripted server with this certificate.
pub fn client_trusting(
    certificate: &CertificateDer<'static>,
    versions: Versions,
    provider: CryptoProvider,
) -> tls::ClientConfig {
    let mut roots = tls::RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    tls::ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&versions.choose(&TLS12, &TLS13))
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// Returns `provider` with X25519 and secp256r1 only, so that a script can name an unsupported
/// group.
pub fn with_few_groups(mut provider: CryptoProvider) -> CryptoProvider {
    let place = |name| {
        [X25519, P256]
            .iter()
            .position(|few| *few == u16::from(name))
    };
    provider.kx_groups.retain(|it| place(it.name()).is_some());
    provider.kx_groups.sort_by_key(|it| place(it.name()));
    provider
}

/// Creates a server with only TLS 1.3.
pub fn server(provider: CryptoProvider, key_type: KeyType, auth: ClientAuth) -> tls::ServerConfig {
    server_of(Versions::Tls13, provider, key_type, auth)
}

pub fn server_of(
    versions: Versions,
    provider: CryptoProvider,
    key_type: KeyType,
    auth: ClientAuth,
) -> tls::ServerConfig {
    let crypto = Arc::new(provider.clone());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(key_type), crypto);
    let verifier = match auth {
        ClientAuth::None => WebPkiClientVerifier::no_client_auth(),
        ClientAuth::Required => verifier.build().unwrap(),
        _ => verifier.allow_unauthenticated().build().unwrap(),
    };
    let verifier = super::prepare_verifier(verifier);
    server_verifying(versions, provider, key_type, verifier)
}

/// Creates a server that verifies clients with `verifier`.
pub fn server_verifying(
    versions: Versions,
    provider: CryptoProvider,
    key_type: KeyType,
    verifier: Arc<dyn ClientCertVerifier>,
) -> tls::ServerConfig {
    let identity = &key_type.identities().server;
    let mut config = tls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&versions.choose(&TLS12, &TLS13))
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(identity.chain.clone(), identity.key())
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    config.cert_compressors.clear();
    config.cert_decompressors.clear();
    super::prepare_server(&mut config);
    config
}
