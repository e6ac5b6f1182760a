//! Sessions expire together with the certificates that the client verified.

use std::sync::Arc;

use harness::peers::callbacks::Clock;
use harness::peers::clients;
use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product3};
use harness::peers::endpoints::{UpstreamBuffered, exchange};
use harness::peers::pki::{self, Issuer};
use harness::verifiers::raw_keys;
use harness::verifiers::this::Verifier;
use rcgen::date_time_ymd;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore};
use rustls_upstream::server::{AlwaysResolvesServerRawPublicKeys, ResolvesServerCert};
use rustls_upstream::sign::{CertifiedKey, SingleCertAndKey};

use crate::resumption::kind_of;

/// The time when the first certificate expires: 2028-01-01, inclusive.
const END: u64 = 1_830_297_600;

const HOUR: u64 = 60 * 60;

/// A server's certificate and key, and the authorities above it.
struct Chain {
    root: Issuer,
    intermediate: Issuer,
    key: rcgen::KeyPair,
    end_entity: CertificateDer<'static>,
}

impl Chain {
    /// Creates a chain whose intermediate and end-entity certificates expire at the start of these
    /// years.
    fn new(intermediate: i32, end_entity: i32) -> Self {
        let root = pki::root("root", |_| ());
        let intermediate = pki::intermediate("intermediate", &root, |params| {
            params.not_after = date_time_ymd(intermediate, 1, 1);
        });
        let key = pki::key();
        let end_entity = pki::leaf_of(&key, &intermediate, |params| {
            params.not_after = date_time_ymd(end_entity, 1, 1);
        });
        Self {
            root,
            intermediate,
            key,
            end_entity,
        }
    }

    fn server(&self, provider: Provider, versions: Versions) -> Server {
        let chain = vec![self.end_entity.clone(), self.intermediate.der().clone()];
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der());
        let crypto = provider.upstream();
        let key = CertifiedKey::from_der(chain, key.into(), &crypto).unwrap();
        server_with(provider, versions, Arc::new(SingleCertAndKey::from(key)))
    }

    fn webpki(&self, provider: Provider) -> Arc<dyn ServerCertVerifier> {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.der().clone()).unwrap();
        let crypto = provider.this().into();
        WebPkiServerVerifier::builder_with_provider(roots.into(), crypto)
            .build()
            .unwrap()
    }
}

type Server = Arc<rustls_upstream::ServerConfig>;

fn server_with(
    provider: Provider,
    versions: Versions,
    resolver: Arc<dyn ResolvesServerCert>,
) -> Server {
    let (crypto, key_type) = (provider.upstream(), KeyType::Ed25519);
    let mut config = configs::upstream::server_of(versions, crypto, key_type, ClientAuth::None);
    config.cert_resolver = resolver;
    config.alpn_protocols.clear();
    Arc::new(config)
}

/// A client and its clock.
struct Client {
    inner: clients::Client,
    clock: Arc<Clock>,
}

impl Client {
    fn new(
        provider: Provider,
        versions: Versions,
        unbuffered: bool,
        verifier: Arc<dyn ServerCertVerifier>,
    ) -> Self {
        let clock = Clock::at(END);
        let versions = versions.choose(&rustls::version::TLS12, &rustls::version::TLS13);
        let config = ClientConfig::builder_with_details(provider.this().into(), clock.clone() as _)
            .with_protocol_versions(&versions)
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        let api = match unbuffered {
            true => clients::Client::Unbuffered,
            false => clients::Client::Buffered,
        };
        let inner = api(Arc::new(config));
        Self { inner, clock }
    }

    /// Connects at time `now` and returns the kind of handshake, or the error.
    fn connect(&self, now: u64, server: &Server) -> String {
        self.clock.set(now);
        let mut client = self.inner.connect_to(pki::SERVER.try_into().unwrap());
        let mut server = UpstreamBuffered::server(server.clone());
        match exchange(&mut *client, &mut server) {
            Ok(()) => kind_of(&*client),
            Err(error) => error,
        }
    }
}

fn for_each_client(test: impl Fn(Provider, Versions, bool)) {
    let versions = [Versions::Tls12, Versions::Tls13];
    for (provider, versions, unbuffered) in product3(PROVIDERS, versions, [false, true]) {
        test(provider, versions, unbuffered);
    }
}

/// The session expires together with the certificate that expires first, no matter how often it was
/// resumed.
#[test]
fn a_session_expires_with_the_verified_path() {
    for_each_client(|provider, versions, unbuffered| {
        for chain in [Chain::new(2029, 2028), Chain::new(2028, 2029)] {
            let server = chain.server(provider, versions);
            let client = Client::new(provider, versions, unbuffered, chain.webpki(provider));
            assert_eq!(client.connect(END - HOUR, &server), "Full");
            for before in [HOUR - 1, HOUR / 2, 1, 0] {
                assert_eq!(client.connect(END - before, &server), "Resumed");
            }
            let error = client.connect(END + 1, &server);
            assert!(error.contains("Expired"), "{error}");
        }
    });
}

/// The library does not know the path that the other verifier used.
#[test]
fn a_session_of_another_verifier_expires_with_the_end_entity() {
    for_each_client(|provider, versions, unbuffered| {
        let client = |chain: &Chain| {
            let verifier = Verifier::like_server_verifier(chain.webpki(provider));
            Client::new(provider, versions, unbuffered, Arc::new(verifier))
        };
        let chain = Chain::new(2029, 2028);
        let server = chain.server(provider, versions);
        // also if the session begins in its last second
        for times in [&[END - HOUR, END][..], &[END]] {
            let client = client(&chain);
            let kinds: Vec<_> = times
                .iter()
                .map(|now| client.connect(*now, &server))
                .collect();
            assert_eq!(kinds, ["Full", "Resumed"][..times.len()]);
            let error = client.connect(END + 1, &server);
            assert!(error.contains("Expired"), "{error}");
        }

        let chain = Chain::new(2028, 2029);
        let (client_2, server) = (client(&chain), chain.server(provider, versions));
        assert_eq!(client_2.connect(END - HOUR, &server), "Full");
        assert_eq!(client_2.connect(END + 1, &server), "Resumed");
    });
}

/// A verifier that accepts expired certificates does not prevent resumption.
#[test]
fn a_verifier_that_ignores_expiry_permits_sessions() {
    for_each_client(|provider, versions, unbuffered| {
        let chain = Chain::new(2028, 2028);
        let server = chain.server(provider, versions);
        for expired_at in [END + 1, END + HOUR] {
            let verifier = Verifier::like_server_verifier(chain.webpki(provider))
                .with_certificates(|_| Ok(()));
            let client = Client::new(provider, versions, unbuffered, Arc::new(verifier));
            assert_eq!(client.connect(expired_at, &server), "Full");
            assert_eq!(client.connect(expired_at + HOUR, &server), "Resumed");
        }
    });
}

#[test]
fn raw_public_keys_do_not_expire() {
    let identity = &KeyType::Ed25519.identities().server;
    for provider in PROVIDERS {
        let key = raw_keys::upstream::raw_key(identity, provider);
        let resolver = Arc::new(AlwaysResolvesServerRawPublicKeys::new(key));
        let server = server_with(provider, Versions::Tls13, resolver);
        let verifier = Arc::new(raw_keys::this::verifier(identity, provider));
        let client = Client::new(provider, Versions::Tls13, false, verifier);
        assert_eq!(client.connect(END, &server), "Full");
        assert_eq!(client.connect(END + 20 * HOUR, &server), "Resumed");
    }
}
