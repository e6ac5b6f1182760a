//! Tests of clients that have a session with one server and are routed to another one that shares
//! ticketer and storage.

use std::sync::Arc;

use harness::peers::clients::Client;
use harness::peers::configs::{self, KeyType, PROVIDERS, Provider, Versions, product, product3};
use harness::peers::endpoints::{Endpoint, ThisBuffered, exchange, send_and_check};
use harness::peers::pki::{self, Issuer};
use harness::peers::servers::Settings;
use harness::verifiers::raw_keys;
use rustls::ServerConfig;
use rustls::server::{AlwaysResolvesServerRawPublicKeys, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SingleCertAndKey};

const OTHER: &str = "other.example";

/// Servers that may share sessions, and their authority.
struct Site {
    provider: Provider,
    authority: Issuer,
    config: ServerConfig,
}

/// The place where a site keeps sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SessionPlace {
    InTickets,
    InStorage,
}

const PLACES: [SessionPlace; 2] = [SessionPlace::InTickets, SessionPlace::InStorage];

impl Site {
    fn new(provider: Provider, versions: Versions, kept: SessionPlace) -> Self {
        let authority = pki::root("authority", |_| ());
        let resolver = resolver(certified_key(provider, &authority, &[pki::SERVER]));
        let crypto = Arc::new(provider.this());
        let versions = versions.choose(&rustls::version::TLS12, &rustls::version::TLS13);
        let mut config = ServerConfig::builder_with_provider(crypto)
            .with_protocol_versions(&versions)
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.max_early_data_size = 1000;
        if kept == SessionPlace::InTickets {
            config.ticketer = Settings::sealed(provider).ours().ticketer;
        }
        Self {
            provider,
            authority,
            config,
        }
    }

    fn server(&self) -> Arc<ServerConfig> {
        Arc::new(self.config.clone())
    }

    /// Returns another server of the site, with its own key and a certificate for `names`.
    fn with_certificate_for(&self, names: &[&str]) -> Arc<ServerConfig> {
        let mut config = self.config.clone();
        config.cert_resolver = resolver(certified_key(self.provider, &self.authority, names));
        Arc::new(config)
    }

    /// Returns clients of both crates that trust the site.
    fn clients(&self, versions: Versions, with_sni: bool) -> [Client; 2] {
        macro_rules! config {
            ($module:ident) => {{
                let (authority, provider) = (self.authority.der(), self.provider.$module());
                let mut config = configs::$module::client_trusting(authority, versions, provider);
                config.enable_sni = with_sni;
                config.enable_early_data = true;
                config.into()
            }};
        }
        [
            Client::Upstream(config!(upstream)),
            Client::Buffered(config!(this)),
        ]
    }
}

fn certified_key(provider: Provider, authority: &Issuer, names: &[&str]) -> CertifiedKey {
    let key = pki::key();
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    let names = rcgen::CertificateParams::new(names)
        .unwrap()
        .subject_alt_names;
    let certificate = pki::leaf_of(&key, authority, |params| params.subject_alt_names = names);
    let key = pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    CertifiedKey::from_der(vec![certificate], key.into(), &provider.this()).unwrap()
}

fn resolver(key: CertifiedKey) -> Arc<dyn ResolvesServerCert> {
    Arc::new(SingleCertAndKey::from(key))
}

/// The outcome of a connection.
#[derive(Debug, PartialEq)]
enum Outcome {
    Full,
    Resumed { early_data: usize },
    Refused { early_data: usize },
}

const RESUMED: Outcome = Outcome::Resumed { early_data: 0 };

/// Connects and sends as much early data as the client may.
fn connect(client: &Client, server: &Arc<ServerConfig>) -> Outcome {
    let mut client = client.connect_to(pki::SERVER.try_into().unwrap());
    client.send_early(b"early");
    let mut server = ThisBuffered::server(server.clone());
    let result = exchange(&mut *client, &mut server);
    let mut received = Vec::new();
    server.read_early_into(&mut received);
    let early_data = received.len();
    if let Err(error) = result {
        assert!(error.contains("NotValidForName"), "{error}");
        return Outcome::Refused { early_data };
    }
    let negotiated = server.negotiated();
    send_and_check(&mut *client, &mut server, b"from the client");
    send_and_check(&mut server, &mut *client, b"from the server");
    if negotiated.ends_with("Some(Resumed)") {
        Outcome::Resumed { early_data }
    } else {
        assert_eq!(early_data, 0);
        Outcome::Full
    }
}

/// Calls `test` with each site and the outcome of a successful resumption there, including accepted
/// early data.
fn for_each_site(test: impl Fn(&Site, Versions, Outcome)) {
    let versions = [Versions::Tls12, Versions::Tls13];
    for (provider, versions, kept) in product3(PROVIDERS, versions, PLACES) {
        let early_data = match (versions, kept) {
            (Versions::Tls13, SessionPlace::InStorage) => 5,
            _ => 0,
        };
        let resumed = Outcome::Resumed { early_data };
        test(&Site::new(provider, versions, kept), versions, resumed);
    }
}

/// A session resumes at a server with another certificate for the requested name: a renewed one, or
/// one for more names. If a server has another name, the client receives the certificate, and no
/// server reads its early data.
#[test]
fn a_server_with_another_name_resumes_no_session() {
    for_each_site(|site, versions, resumed| {
        let server = site.server();
        let other = site.with_certificate_for(&[OTHER]);
        for client in site.clients(versions, true) {
            assert_eq!(connect(&client, &server), Outcome::Full);
            assert_eq!(connect(&client, &server), resumed);
            assert_eq!(connect(&client, &other), Outcome::Refused { early_data: 0 });
        }
        for client in site.clients(versions, true) {
            let renewed = site.with_certificate_for(&[pki::SERVER]);
            let both = site.with_certificate_for(&[OTHER, pki::SERVER]);
            assert_eq!(connect(&client, &server), Outcome::Full);
            for (what, server) in [
                ("same", &server),
                ("renewed", &renewed),
                ("renewed again", &renewed),
                ("old", &server),
                ("renewed after the old", &renewed),
                ("both names", &both),
            ] {
                assert_eq!(connect(&client, server), resumed, "{what}");
            }
            assert_eq!(connect(&client, &other), Outcome::Refused { early_data: 0 });
        }
    });
}

/// Without a name, only an equal certificate shows that the server is the same.
#[test]
fn without_a_name_the_certificate_must_be_the_same() {
    for_each_site(|site, versions, resumed| {
        for client in site.clients(versions, false) {
            let (server, renewed) = (site.server(), site.with_certificate_for(&[pki::SERVER]));
            for server in [&server, &renewed] {
                assert_eq!(connect(&client, server), Outcome::Full);
                assert_eq!(connect(&client, server), resumed);
            }
        }
    });
}

/// Certificates with equal bytes are the same, whichever object holds them.
#[test]
fn a_session_resumes_with_an_equal_certificate() {
    for_each_site(|site, versions, resumed| {
        let key = certified_key(site.provider, &site.authority, &[pki::SERVER]);
        let [first, second] = [key.clone(), key].map(|key| {
            let mut config = site.config.clone();
            config.cert_resolver = resolver(key);
            Arc::new(config)
        });
        for client in site.clients(versions, false) {
            assert_eq!(connect(&client, &first), Outcome::Full);
            assert_eq!(connect(&client, &second), resumed);
        }
    });
}

/// RFC 7250: a raw public key contains no name.
#[test]
fn a_session_with_a_raw_public_key_resumes_only_with_the_same_key() {
    let identities = KeyType::Ed25519.identities();
    for (provider, kept) in product(PROVIDERS, PLACES) {
        let site = Site::new(provider, Versions::Tls13, kept);
        let [first, second] = [&identities.server, &identities.client].map(|identity| {
            let key = raw_keys::this::raw_key(identity, provider);
            let mut config = site.config.clone();
            config.max_early_data_size = 0;
            config.cert_resolver = Arc::new(AlwaysResolvesServerRawPublicKeys::new(key));
            Arc::new(config)
        });
        let verifier = raw_keys::upstream::verifier(&identities.server, provider);
        let config =
            rustls_upstream::ClientConfig::builder_with_provider(provider.upstream().into())
                .with_protocol_versions(&[&rustls_upstream::version::TLS13])
                .unwrap()
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
                .with_no_client_auth();
        let client = Client::Upstream(config.into());
        assert_eq!(connect(&client, &first), Outcome::Full);
        assert_eq!(connect(&client, &first), RESUMED);
        let mut server = ThisBuffered::server(second.clone());
        let mut client = client.connect_to(pki::SERVER.try_into().unwrap());
        let error = exchange(&mut *client, &mut server).unwrap_err();
        assert!(error.contains("UnknownIssuer"), "{error}");
    }
}
