//! The client against upstream's server: handshakes, secrets, tickets and KeyUpdate.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::peers::callbacks::KeyLines;
use harness::peers::callbacks::this::Sessions;
use harness::peers::configs::product;
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, send_and_check};
use rustls::client::{ClientSessionMemoryCache, ClientSessionStore, Resumption};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, HandshakeKind, NamedGroup, SignatureScheme};
use rustls_upstream::server::WebPkiClientVerifier;

use crate::Peers;
use crate::clients::{config, full_provider, our_client, provider};

/// A self-signed certificate for one side, and its key.
struct Credentials {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Credentials {
    fn new() -> Self {
        let generated = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        Self {
            certificate: generated.cert.der().clone(),
            key: generated.signing_key.serialize_der().into(),
        }
    }

    fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.clone_key())
    }
}

/// Credentials for both sides, and configurations that tests may change.
struct Pair {
    server: Credentials,
    client: Credentials,
}

impl Pair {
    fn new() -> Self {
        Self {
            server: Credentials::new(),
            client: Credentials::new(),
        }
    }

    fn client_config(&self, provider: rustls::crypto::CryptoProvider) -> ClientConfig {
        let mut peers = Peers::new();
        peers.identity.certificate = self.server.certificate.clone();
        config(&peers.identity, provider)
    }

    /// A server without client authentication, or with a certificate that is `required` or
    /// optional.
    fn server_config(&self, required: Option<bool>) -> rustls_upstream::ServerConfig {
        let provider = Arc::new(rustls_upstream::crypto::aws_lc_rs::default_provider());
        let mut roots = rustls_upstream::RootCertStore::empty();
        roots.add(self.client.certificate.clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone());
        let builder = rustls_upstream::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        match required {
            None => builder.with_no_client_auth(),
            Some(true) => builder.with_client_cert_verifier(verifier.build().unwrap()),
            Some(false) => {
                builder.with_client_cert_verifier(verifier.allow_unauthenticated().build().unwrap())
            }
        }
        .with_single_cert(vec![self.server.certificate.clone()], self.server.key())
        .unwrap()
    }
}

fn their_server(config: impl Into<Arc<rustls_upstream::ServerConfig>>) -> UpstreamBuffered {
    UpstreamBuffered::server(config)
}

struct Connected {
    client: ThisBuffered,
    server: UpstreamBuffered,
}

impl Connected {
    /// Completes a handshake and delivers the messages after it.
    fn new(
        client: impl Into<Arc<ClientConfig>>,
        server: impl Into<Arc<rustls_upstream::ServerConfig>>,
    ) -> Self {
        let mut connected = Self {
            client: our_client(client),
            server: their_server(server),
        };
        while connected.client.is_handshaking() || connected.server.is_handshaking() {
            assert!(connected.exchange().unwrap(), "both ends wait");
        }
        connected.exchange().unwrap();
        connected
    }

    /// Delivers the output of both sides; true if there was any.
    fn exchange(&mut self) -> Result<bool, String> {
        let to_server = self.client.take_output();
        self.server.receive(&to_server)?;
        let to_client = self.server.take_output();
        self.client.receive(&to_client)?;
        Ok(!to_server.is_empty() || !to_client.is_empty())
    }

    /// Sends application data in both directions.
    fn check_traffic(&mut self) {
        send_and_check(&mut self.client, &mut self.server, b"to the server");
        send_and_check(&mut self.server, &mut self.client, b"to the client");
    }

    fn kind(&self) -> Option<HandshakeKind> {
        self.client.conn.handshake_kind()
    }
}

#[test]
fn every_suite_and_group() {
    let pair = Pair::new();
    let server = Arc::new(pair.server_config(None));
    let all = full_provider();
    for suite in all
        .cipher_suites
        .iter()
        .filter(|suite| suite.tls13().is_some())
    {
        for group in &all.kx_groups {
            let mut provider = all.clone();
            provider.cipher_suites = vec![*suite];
            provider.kx_groups = vec![*group];
            let mut connected = Connected::new(pair.client_config(provider), server.clone());
            connected.check_traffic();

            let common = &connected.client.conn;
            assert_eq!(common.negotiated_cipher_suite(), Some(*suite));
            let negotiated = common.negotiated_key_exchange_group().unwrap();
            assert_eq!(negotiated.name(), group.name());
            assert_eq!(
                common.protocol_version(),
                Some(rustls::ProtocolVersion::TLSv1_3)
            );
            assert_eq!(
                common.peer_certificates(),
                Some(&[pair.server.certificate.clone()][..])
            );
            assert_eq!(connected.kind(), Some(HandshakeKind::Full));
        }
    }
}

#[test]
fn both_log_the_same_secrets() {
    let pair = Pair::new();
    let (ours, theirs) = (Arc::<KeyLines>::default(), Arc::<KeyLines>::default());
    let mut client = pair.client_config(provider());
    client.key_log = ours.clone();
    let mut server = pair.server_config(None);
    server.key_log = theirs.clone();
    Connected::new(client, server);

    assert_eq!(ours.sorted(), theirs.sorted());
    let labels: Vec<String> = ours.sorted().into_iter().map(|line| line.0).collect();
    assert_eq!(
        labels,
        [
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            "CLIENT_TRAFFIC_SECRET_0",
            "EXPORTER_SECRET",
            "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            "SERVER_TRAFFIC_SECRET_0",
        ]
    );
}

#[test]
fn both_export_the_same_material() {
    let pair = Pair::new();
    let connected = Connected::new(pair.client_config(provider()), pair.server_config(None));
    for (context, len) in product([None, Some(&b"context"[..])], [1, 32, 1000]) {
        let ours = connected
            .client
            .conn
            .export_keying_material(vec![0; len], b"label", context);
        let theirs = connected
            .server
            .conn
            .export_keying_material(vec![0; len], b"label", context);
        assert_eq!(ours.unwrap(), theirs.unwrap());
    }
    let export = |len| {
        let output = vec![0; len];
        connected
            .client
            .conn
            .export_keying_material(output, b"", None)
    };
    assert!(matches!(export(0), Err(rustls::Error::General(_))));
    assert!(matches!(export(1 << 16), Err(rustls::Error::General(_))));
}

#[test]
fn nothing_is_exported_or_refreshed_during_the_handshake() {
    let mut client = our_client(Pair::new().client_config(provider()));
    assert_eq!(
        client.conn.export_keying_material([0; 1], b"", None),
        Err(rustls::Error::HandshakeNotComplete)
    );
    assert_eq!(
        client.conn.refresh_traffic_keys(),
        Err(rustls::Error::HandshakeNotComplete)
    );
}

#[test]
fn client_authentication() {
    let pair = Pair::new();
    let with_certificate = |schemes: &[SignatureScheme]| {
        let mut config = pair.client_config(provider());
        let chain = vec![pair.client.certificate.clone()];
        let certified_key = CertifiedKey::from_der(chain, pair.client.key(), &provider()).unwrap();
        assert!(certified_key.key.choose_scheme(schemes).is_some());
        config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(certified_key));
        config
    };
    let with_certificate = with_certificate(&[SignatureScheme::ECDSA_NISTP256_SHA256]);

    for required in [true, false] {
        let server = pair.server_config(Some(required));
        let mut connected = Connected::new(with_certificate.clone(), server);
        connected.check_traffic();
        assert_eq!(
            connected.server.peer_certificates(),
            [pair.client.certificate.to_vec()]
        );
    }

    let optional = pair.server_config(Some(false));
    let mut connected = Connected::new(pair.client_config(provider()), optional);
    connected.check_traffic();
    assert!(connected.server.peer_certificates().is_empty());

    // a client sends no certificate without a request
    let not_asked = pair.server_config(None);
    let connected = Connected::new(with_certificate, not_asked);
    assert!(connected.server.peer_certificates().is_empty());
}

#[test]
fn a_server_that_requires_a_certificate_refuses_without() {
    let pair = Pair::new();
    let server = Arc::new(pair.server_config(Some(true)));
    let mut connected = Connected {
        client: our_client(pair.client_config(provider())),
        server: their_server(server),
    };
    connected.exchange().unwrap();
    assert_eq!(
        connected.exchange(),
        Err("NoCertificatesPresented".to_owned())
    );
    assert_eq!(
        connected.exchange(),
        Err("AlertReceived(CertificateRequired)".to_owned())
    );
}

#[test]
fn a_group_that_the_store_knows_is_not_stored_again() {
    let pair = Pair::new();
    let stored = Arc::new(AtomicUsize::new(0));
    let count = stored.clone();
    // stores groups but no sessions
    let store = Sessions::when(move |call| {
        count.fetch_add(usize::from(call == "set_kx_hint"), Ordering::Relaxed);
        call.ends_with("kx_hint")
    });
    let known = || store.kx_hint(&ServerName::try_from("localhost").unwrap());
    let mut client = pair.client_config(provider());
    client.resumption = Resumption::store(store.clone());
    let (client, server) = (Arc::new(client), Arc::new(pair.server_config(None)));
    for _ in 0..2 {
        Connected::new(client.clone(), server.clone()).check_traffic();
        assert_eq!(known(), Some(NamedGroup::X25519));
        assert_eq!(stored.load(Ordering::Relaxed), 1);
    }
    // a remembered group that is not offered leads to another, which is stored
    let name = ServerName::try_from("localhost").unwrap();
    store.set_kx_hint(name, NamedGroup::secp521r1);
    Connected::new(client, server).check_traffic();
    assert_eq!(known(), Some(NamedGroup::X25519));
    assert_eq!(stored.load(Ordering::Relaxed), 3);
}

#[test]
fn a_retry_is_remembered() {
    let pair = Pair::new();
    let mut server = pair.server_config(None);
    let mut provider_of_server = rustls_upstream::crypto::aws_lc_rs::default_provider();
    provider_of_server.kx_groups = vec![rustls_upstream::crypto::aws_lc_rs::kx_group::SECP256R1];
    let rebuilt = rustls_upstream::ServerConfig::builder_with_provider(provider_of_server.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(server.cert_resolver.clone());
    server = rebuilt;

    let store = Arc::new(ClientSessionMemoryCache::new(32));
    let mut client = pair.client_config(provider());
    client.resumption = Resumption::store(store.clone());
    let (client, server) = (Arc::new(client), Arc::new(server));

    let mut first = Connected::new(client.clone(), server.clone());
    first.check_traffic();
    assert_eq!(first.kind(), Some(HandshakeKind::FullWithHelloRetryRequest));
    let name = ServerName::try_from("localhost").unwrap();
    assert_eq!(store.kx_hint(&name), Some(NamedGroup::secp256r1));

    // a resumed handshake would not show whether there was a retry
    while store.take_tls13_ticket(&name).is_some() {}
    let mut second = Connected::new(client, server);
    second.check_traffic();
    assert_eq!(second.kind(), Some(HandshakeKind::Full));
}

#[cfg(all(feature = "aws_lc_rs", feature = "prefer-post-quantum"))]
#[test]
fn a_server_without_the_hybrid_uses_its_component() {
    let pair = Pair::new();
    let mut provider = rustls_upstream::crypto::aws_lc_rs::default_provider();
    provider.kx_groups = vec![rustls_upstream::crypto::aws_lc_rs::kx_group::X25519];
    let server = rustls_upstream::ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![pair.server.certificate.clone()], pair.server.key())
        .unwrap();
    let mut connected = Connected::new(pair.client_config(full_provider()), server);
    connected.check_traffic();
    assert_eq!(connected.kind(), Some(HandshakeKind::Full));
    let common = &connected.client.conn;
    let group = common.negotiated_key_exchange_group().unwrap();
    assert_eq!(group.name(), NamedGroup::X25519);
}

#[test]
fn tickets_are_stored() {
    let pair = Pair::new();
    let store = Arc::new(ClientSessionMemoryCache::new(32));
    let mut client = pair.client_config(provider());
    client.resumption = Resumption::store(store.clone());
    let mut server = pair.server_config(None);
    server.send_tls13_tickets = 3;
    let mut connected = Connected::new(client, server);
    assert_eq!(connected.client.as_client().tls13_tickets_received(), 3);
    let name = ServerName::try_from("localhost").unwrap();
    let stored = std::iter::from_fn(|| store.take_tls13_ticket(&name)).count();
    assert_eq!(stored, 3);
}

#[test]
fn alpn() {
    let pair = Pair::new();
    let mut client = pair.client_config(provider());
    client.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let mut server = pair.server_config(None);
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    let connected = Connected::new(client, server);
    let protocol = connected.client.conn.alpn_protocol();
    assert_eq!(protocol, Some(&b"http/1.1"[..]));
    assert_eq!(connected.server.conn.alpn_protocol(), protocol);
}

#[test]
fn key_update_in_both_directions() {
    let pair = Pair::new();
    let mut connected = Connected::new(pair.client_config(provider()), pair.server_config(None));
    for _ in 0..3 {
        connected.client.refresh_traffic_keys();
        connected.exchange().unwrap();
        connected.check_traffic();
        connected.server.refresh_traffic_keys();
        connected.exchange().unwrap();
        connected.check_traffic();
    }
    // the two updates cross on the wire
    connected.client.refresh_traffic_keys();
    connected.server.refresh_traffic_keys();
    connected.exchange().unwrap();
    connected.check_traffic();
    connected.check_traffic();
}

#[test]
fn key_updates_are_bounded_unless_data_comes_between() {
    let pair = Pair::new();
    let mut connected = Connected::new(pair.client_config(provider()), pair.server_config(None));
    for _ in 0..3 {
        for _ in 0..30 {
            connected.server.refresh_traffic_keys();
            connected.exchange().unwrap();
        }
        connected.check_traffic();
    }
    let too_many = (0..40).find_map(|_| {
        connected.server.refresh_traffic_keys();
        connected.exchange().err()
    });
    assert_eq!(
        too_many.as_deref(),
        Some("PeerMisbehaved(TooManyKeyUpdateRequests)")
    );
}

#[test]
fn answers_to_our_own_key_updates_are_not_counted() {
    let pair = Pair::new();
    let mut connected = Connected::new(pair.client_config(provider()), pair.server_config(None));
    for _ in 0..100 {
        connected.client.refresh_traffic_keys();
        connected.client.send(b"to the server");
        connected.exchange().unwrap();
    }
}
