//! Tests of the number of bytes that a server hashes to decide on a resumption.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::peers::callbacks::this::ServerKey;
use harness::peers::configs::{self, ClientAuth, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, exchange};
use harness::peers::pki;
use harness::peers::servers::{KEY_TYPE, Settings};
use harness::providers::leak;
use harness::providers::suites::this::changed;
use rustls::crypto::CryptoProvider;
use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;
use rustls::{CipherSuiteCommon, ServerConfig};

/// A hash function that counts the bytes that it hashes.
struct Counting {
    inner: &'static dyn Hash,
    bytes: &'static AtomicUsize,
}

impl Hash for Counting {
    fn start(&self) -> Box<dyn Context> {
        Box::new(CountingContext {
            inner: self.inner.start(),
            bytes: self.bytes,
        })
    }

    fn hash(&self, data: &[u8]) -> Output {
        self.bytes.fetch_add(data.len(), Ordering::Relaxed);
        self.inner.hash(data)
    }

    fn output_len(&self) -> usize {
        self.inner.output_len()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.inner.algorithm()
    }
}

struct CountingContext {
    inner: Box<dyn Context>,
    bytes: &'static AtomicUsize,
}

impl Context for CountingContext {
    fn fork_finish(&self) -> Output {
        self.inner.fork_finish()
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Self {
            inner: self.inner.fork(),
            bytes: self.bytes,
        })
    }

    fn finish(self: Box<Self>) -> Output {
        self.inner.finish()
    }

    fn update(&mut self, data: &[u8]) {
        self.bytes.fetch_add(data.len(), Ordering::Relaxed);
        self.inner.update(data);
    }
}

/// Returns `provider`, and the number of bytes that its suites have hashed.
fn counting(provider: Provider) -> (CryptoProvider, &'static AtomicUsize) {
    let bytes: &'static AtomicUsize = leak(AtomicUsize::new(0));
    let mut crypto = provider.this();
    for suite in &mut crypto.cipher_suites {
        let count = |common: &mut CipherSuiteCommon| {
            let inner = common.hash_provider;
            common.hash_provider = leak(Counting { inner, bytes });
        };
        *suite = changed(
            *suite,
            |suite| count(&mut suite.common),
            |suite| count(&mut suite.common),
        );
    }
    (crypto, bytes)
}

/// Creates a server that accepts clients of this many authorities in addition to the client's.
fn server(
    crypto: CryptoProvider,
    versions: Versions,
    authorities: usize,
    settings: &Settings,
) -> ServerConfig {
    let mut roots = rustls::RootCertStore::clone(&configs::this::roots(KEY_TYPE));
    let subject = "of one authority of many ".repeat(4);
    let root = pki::root(&subject, |_| ());
    for _ in 0..authorities {
        roots.add(root.der().clone()).unwrap();
    }
    let crypto = Arc::new(crypto);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), crypto.clone());
    let identity = &KEY_TYPE.identities().server;
    let versions = versions.choose(&rustls::version::TLS12, &rustls::version::TLS13);
    // not that of the harness, whose keys may be others for each handshake
    let mut config = ServerConfig::builder_with_provider(crypto)
        .with_protocol_versions(&versions)
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(identity.chain.clone(), identity.key())
        .unwrap();
    config.ticketer = settings.ours().ticketer;
    config
}

/// Returns the number of bytes hashed in one resumed handshake with a changed configuration.
fn hashed_to_resume(
    provider: Provider,
    versions: Versions,
    authorities: usize,
    change: impl FnOnce(&mut ServerConfig),
) -> usize {
    let (crypto, bytes) = counting(provider);
    let mut server = server(crypto, versions, authorities, &Settings::sealed(provider));
    change(&mut server);
    let server = Arc::new(server);
    let (crypto, auth) = (provider.upstream(), ClientAuth::Required);
    let client = Arc::new(configs::upstream::client_of(
        versions, crypto, KEY_TYPE, auth,
    ));
    let mut before = 0;
    for kind in ["Full", "Resumed", "Resumed"] {
        before = bytes.load(Ordering::Relaxed);
        let mut client = UpstreamBuffered::client(client.clone());
        let mut server = ThisBuffered::server(server.clone());
        exchange(&mut client, &mut server).unwrap();
        assert!(server.negotiated().contains(kind));
    }
    bytes.load(Ordering::Relaxed) - before
}

#[test]
fn the_names_of_authorities_are_not_hashed_again() {
    for (provider, versions) in product(PROVIDERS, [Versions::Tls12, Versions::Tls13]) {
        let [few, many] =
            [1, 150].map(|number| hashed_to_resume(provider, versions, number, |_| ()));
        assert_eq!(few, many);
    }
}

#[test]
fn a_certificate_is_hashed_once_for_each_object() {
    let identity = &KEY_TYPE.identities().server;
    for (provider, versions) in product(PROVIDERS, [Versions::Tls12, Versions::Tls13]) {
        let key = CertifiedKey::from_der(identity.chain.clone(), identity.key(), &provider.this());
        let key = key.unwrap();
        let kept = hashed_to_resume(provider, versions, 1, |_| ());
        let copied = hashed_to_resume(provider, versions, 1, |config| {
            // a new copy of the same certificate each time
            config.cert_resolver = ServerKey::by(move |_| Some(Arc::new(key.clone())));
        });
        assert_eq!(copied, kept + identity.chain[0].len());
    }
}
