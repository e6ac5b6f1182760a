//! Whole handshakes with upstream's client.

use std::sync::{Arc, Mutex};

use harness::peers::callbacks::KeyLines;
use harness::peers::configs::Provider;
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, exchange};
use harness::verifiers::upstream::Verifier;
use rustls::pki_types::ServerName;
use rustls::{HandshakeKind, ProtocolVersion};
use rustls_upstream as theirs;
use rustls_upstream::client::WebPkiServerVerifier;
use rustls_upstream::client::danger::ServerCertVerifier;

use crate::servers::{Identity, PROVIDERS, Setup, server_name};

/// The settings of upstream's client.
struct Client {
    provider: theirs::crypto::CryptoProvider,
    alpn: Vec<Vec<u8>>,
    identity: Option<Identity>,
    secrets: Arc<KeyLines>,
    ocsp: Arc<Mutex<Vec<u8>>>,
}

impl Client {
    fn new(provider: Provider) -> Self {
        Self {
            provider: provider.upstream(),
            alpn: vec![],
            identity: None,
            secrets: Arc::default(),
            ocsp: Arc::default(),
        }
    }

    fn config(&self, setup: &Setup) -> Arc<theirs::ClientConfig> {
        let provider = Arc::new(self.provider.clone());
        let mut roots = theirs::RootCertStore::empty();
        roots.add(setup.identity.cert.clone()).unwrap();
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .build()
                .unwrap();
        let ocsp = self.ocsp.clone();
        let inner: Arc<dyn ServerCertVerifier> = verifier.clone();
        let verifier = Verifier::like_server_verifier(verifier).with_certificates(move |it| {
            *ocsp.lock().unwrap() = it.ocsp_response.to_vec();
            it.verify_server_by(&*inner)
        });
        let builder = theirs::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&theirs::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(identity.chain(), identity.key())
                .unwrap(),
        };
        config.alpn_protocols = self.alpn.clone();
        config.key_log = self.secrets.clone();
        Arc::new(config)
    }

    fn connection(&self, setup: &Setup) -> theirs::ClientConnection {
        let name = ServerName::try_from("localhost").unwrap();
        theirs::ClientConnection::new(self.config(setup), name).unwrap()
    }
}

fn connect(client: &Client, setup: &Setup) -> (UpstreamBuffered, ThisBuffered) {
    let mut client = UpstreamBuffered::new(client.connection(setup));
    let mut server = setup.ours();
    exchange(&mut client, &mut server).unwrap();
    assert!(!client.is_handshaking());
    assert!(!server.is_handshaking());
    (client, server)
}

/// Asserts that both sides agree and can exchange data.
fn check_agreement(client: &mut UpstreamBuffered, server: &mut ThisBuffered) {
    let (theirs, ours) = (&client.conn, &server.conn);
    assert_eq!(ours.protocol_version(), Some(ProtocolVersion::TLSv1_3));
    let suite = ours.negotiated_cipher_suite().unwrap().suite();
    let their_suite = theirs.negotiated_cipher_suite().unwrap().suite();
    assert_eq!(u16::from(suite), u16::from(their_suite));
    let group = ours.negotiated_key_exchange_group().unwrap().name();
    let their_group = theirs.negotiated_key_exchange_group().unwrap().name();
    assert_eq!(u16::from(group), u16::from(their_group));
    assert_eq!(ours.alpn_protocol(), theirs.alpn_protocol());

    for context in [None, Some(&b"context"[..])] {
        assert_eq!(
            ours.export_keying_material([0; 40], b"label", context)
                .unwrap(),
            theirs
                .export_keying_material([0; 40], b"label", context)
                .unwrap()
        );
    }

    client.send(b"from the client");
    server.send(b"from the server");
    exchange(client, server).unwrap();
    assert_eq!(read(client), b"from the server");
    assert_eq!(read(server), b"from the client");
}

fn read(end: &mut dyn Endpoint) -> Vec<u8> {
    end.read_all()
}

#[test]
fn every_suite_and_group() {
    for provider in PROVIDERS {
        let all = provider.upstream();
        for suite in all
            .cipher_suites
            .iter()
            .filter(|suite| suite.tls13().is_some())
        {
            for group in &all.kx_groups {
                let setup = Setup::new(provider);
                let mut client = Client::new(provider);
                client.provider.cipher_suites = vec![*suite];
                client.provider.kx_groups = vec![*group];
                let (mut client, mut server) = connect(&client, &setup);
                check_agreement(&mut client, &mut server);
                assert_eq!(server.conn.handshake_kind(), Some(HandshakeKind::Full));
            }
        }
    }
}

#[test]
fn every_kind_of_key() {
    for provider in PROVIDERS {
        for algorithm in [
            &rcgen::PKCS_ECDSA_P256_SHA256,
            &rcgen::PKCS_ECDSA_P384_SHA384,
            &rcgen::PKCS_ED25519,
            &rcgen::PKCS_RSA_SHA256,
        ] {
            let mut setup = Setup::new(provider);
            setup.identity = Identity::with_algorithm(algorithm);
            let mut client = Client::new(provider);
            client.identity = Some(Identity::with_algorithm(algorithm));
            setup.client_certs = client.identity.as_ref().unwrap().chain();

            let (mut client, mut server) = connect(&client, &setup);
            check_agreement(&mut client, &mut server);
            let sent: Vec<Vec<u8>> = setup
                .client_certs
                .iter()
                .map(|cert| cert.to_vec())
                .collect();
            assert_eq!(server.peer_certificates(), sent);
        }
    }
}

#[test]
fn retried_handshakes() {
    for provider in PROVIDERS {
        let mut setup = Setup::new(provider);
        let mut client = Client::new(provider);
        // the client prefers a group that the server lacks
        client
            .provider
            .kx_groups
            .retain(|group| u16::from(group.name()) < 0x100);
        let second = client.provider.kx_groups[1].name();
        let groups = &mut setup.crypto.kx_groups;
        groups.retain(|group| u16::from(group.name()) == u16::from(second));

        let secrets = client.secrets.clone();
        let (mut client, mut server) = connect(&client, &setup);
        check_agreement(&mut client, &mut server);
        let kind = server.conn.handshake_kind();
        assert_eq!(kind, Some(HandshakeKind::FullWithHelloRetryRequest));
        assert_eq!(secrets.sorted(), setup.secrets.sorted());
    }
}

#[test]
fn both_sides_log_the_same_secrets() {
    let setup = Setup::new(PROVIDERS[0]);
    let client = Client::new(PROVIDERS[0]);
    connect(&client, &setup);
    let logged = setup.secrets.sorted();
    assert_eq!(logged.len(), 5);
    assert_eq!(logged, client.secrets.sorted());
}

#[test]
fn protocol_and_server_name() {
    let mut setup = Setup::new(PROVIDERS[0]);
    setup.alpn = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let mut client = Client::new(PROVIDERS[0]);
    client.alpn = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    let (mut client, mut server) = connect(&client, &setup);
    check_agreement(&mut client, &mut server);
    assert_eq!(server.conn.alpn_protocol(), Some(&b"h2"[..]));
    assert_eq!(server_name(&server), Some("localhost"));
}

#[test]
fn ocsp_response_is_stapled() {
    for ocsp in [vec![], b"response".to_vec()] {
        let mut setup = Setup::new(PROVIDERS[0]);
        setup.ocsp = ocsp.clone();
        let client = Client::new(PROVIDERS[0]);
        connect(&client, &setup);
        assert_eq!(*client.ocsp.lock().unwrap(), ocsp);
    }
}

#[test]
fn clients_may_decline_to_authenticate() {
    let mut setup = Setup::new(PROVIDERS[0]);
    setup.client_certs = Identity::new().chain();
    setup.client_auth_optional = true;
    let (_, server) = connect(&Client::new(PROVIDERS[0]), &setup);
    assert!(server.peer_certificates().is_empty());
}

#[test]
fn offered_tickets_get_a_full_handshake() {
    let setup = Setup::new(PROVIDERS[0]);
    let config = Client::new(PROVIDERS[0]).config(&setup);
    for connection in 0..2 {
        let name = ServerName::try_from("localhost").unwrap();
        let client = theirs::ClientConnection::new(config.clone(), name).unwrap();
        let (mut client, mut server) = (UpstreamBuffered::new(client), setup.ours());
        exchange(&mut client, &mut server).unwrap();
        check_agreement(&mut client, &mut server);
        assert_eq!(server.conn.handshake_kind(), Some(HandshakeKind::Full));
        let client = client.as_client();
        let tickets = client.tls13_tickets_received();
        assert_eq!(tickets, 2, "connection {connection}");
    }
}

#[test]
fn keys_are_refreshed_from_either_side() {
    let setup = Setup::new(PROVIDERS[0]);
    let (mut client, mut server) = connect(&Client::new(PROVIDERS[0]), &setup);
    for _ in 0..3 {
        server.refresh_traffic_keys();
        check_agreement(&mut client, &mut server);
        client.refresh_traffic_keys();
        check_agreement(&mut client, &mut server);
    }
}

#[test]
fn nothing_is_exported_or_refreshed_before_the_end() {
    let setup = Setup::new(PROVIDERS[0]);
    let mut server = setup.ours();
    let not_complete = Err(rustls::Error::HandshakeNotComplete);
    for hello in [None, Some(harness::wire::client_hello::ClientHello::new())] {
        if let Some(hello) = hello {
            server.receive(&hello.record()).unwrap();
        }
        assert_eq!(server.conn.refresh_traffic_keys(), not_complete);
        let exported = server.conn.export_keying_material([0; 8], b"label", None);
        assert_eq!(exported.map(|_| ()), not_complete);
    }
}
