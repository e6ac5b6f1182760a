//! Whole handshakes with upstream's client.

use std::sync::{Arc, Mutex};
use std::vec;
use std::vec::Vec;

use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls_upstream as theirs;
use rustls_upstream::client::WebPkiServerVerifier;
use rustls_upstream::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};

use super::peers::{Identity, PROVIDERS, Provider, Secrets, Server, Setup};
use crate::{HandshakeKind, ServerConnection, enums};

/// What upstream's client is to be like.
struct Client {
    provider: theirs::crypto::CryptoProvider,
    alpn: Vec<Vec<u8>>,
    identity: Option<Identity>,
    secrets: Arc<Secrets>,
    ocsp: Arc<Mutex<Vec<u8>>>,
}

impl Client {
    fn new(provider: Provider) -> Self {
        Self {
            provider: provider.theirs(),
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
        let builder = theirs::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&theirs::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(KeepsOcsp {
                verifier,
                ocsp: self.ocsp.clone(),
            }));
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

/// A verifier that keeps the OCSP response.
#[derive(Debug)]
struct KeepsOcsp {
    verifier: Arc<WebPkiServerVerifier>,
    ocsp: Arc<Mutex<Vec<u8>>>,
}

impl ServerCertVerifier for KeepsOcsp {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, theirs::Error> {
        *self.ocsp.lock().unwrap() = ocsp_response.to_vec();
        self.verifier
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &theirs::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, theirs::Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &theirs::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, theirs::Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<theirs::SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// Moves bytes back and forth until nobody has any.
fn exchange(client: &mut theirs::ClientConnection, server: &mut ServerConnection) {
    loop {
        let mut to_server = vec![];
        while client.wants_write() {
            client.write_tls(&mut to_server).unwrap();
        }
        server.feed(&to_server).unwrap();
        let to_client = server.output();
        if to_server.is_empty() && to_client.is_empty() {
            return;
        }
        let mut rest = &to_client[..];
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets().unwrap();
        }
    }
}

fn handshake(client: &Client, setup: &Setup) -> (theirs::ClientConnection, ServerConnection) {
    let mut client = client.connection(setup);
    let mut server = setup.ours();
    exchange(&mut client, &mut server);
    assert!(!client.is_handshaking());
    assert!(server.is_done());
    (client, server)
}

/// Both sides came to the same conclusions, and can talk.
fn check_agreement(client: &mut theirs::ClientConnection, server: &mut ServerConnection) {
    use std::io::{Read, Write};

    assert_eq!(
        server.protocol_version(),
        Some(enums::ProtocolVersion::TLSv1_3)
    );
    let suite = server.negotiated_cipher_suite().unwrap().suite();
    let their_suite = client.negotiated_cipher_suite().unwrap().suite();
    assert_eq!(u16::from(suite), u16::from(their_suite));
    let group = server.negotiated_key_exchange_group().unwrap().name();
    let their_group = client.negotiated_key_exchange_group().unwrap().name();
    assert_eq!(u16::from(group), u16::from(their_group));
    assert_eq!(server.alpn_protocol(), client.alpn_protocol());

    for context in [None, Some(&b"context"[..])] {
        assert_eq!(
            server
                .export_keying_material([0; 40], b"label", context)
                .unwrap(),
            client
                .export_keying_material([0; 40], b"label", context)
                .unwrap()
        );
    }

    client.writer().write_all(b"from the client").unwrap();
    server.write(b"from the server");
    exchange(client, server);
    let mut received = [0; 15];
    client.reader().read_exact(&mut received).unwrap();
    assert_eq!(&received, b"from the server");
    assert_eq!(server.plaintext(), b"from the client");
}

#[test]
fn every_suite_and_group() {
    for provider in PROVIDERS {
        let all = provider.theirs();
        for suite in all
            .cipher_suites
            .iter()
            .filter(|suite| suite.tls13().is_some())
        {
            for group in &all.kx_groups {
                let setup = Setup::new(*provider);
                let mut client = Client::new(*provider);
                client.provider.cipher_suites = vec![*suite];
                client.provider.kx_groups = vec![*group];
                let (mut client, mut server) = handshake(&client, &setup);
                check_agreement(&mut client, &mut server);
                assert_eq!(server.handshake_kind(), Some(HandshakeKind::Full));
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
            let mut setup = Setup::new(*provider);
            setup.identity = Identity::with_algorithm(algorithm);
            let mut client = Client::new(*provider);
            client.identity = Some(Identity::with_algorithm(algorithm));
            setup.client_certs = client.identity.as_ref().unwrap().chain();

            let (mut client, mut server) = handshake(&client, &setup);
            check_agreement(&mut client, &mut server);
            assert_eq!(server.client_chain(), Some(setup.client_certs));
        }
    }
}

#[test]
fn retried_handshakes() {
    for provider in PROVIDERS {
        let mut setup = Setup::new(*provider);
        let mut client = Client::new(*provider);
        // the client prefers what the server does not have
        client
            .provider
            .kx_groups
            .retain(|group| u16::from(group.name()) < 0x100);
        let mut config = setup.our_config();
        let mut ours = provider.ours().as_ref().clone();
        let second = client.provider.kx_groups[1].name();
        ours.kx_groups
            .retain(|group| u16::from(group.name()) == u16::from(second));
        config.provider = ours.into();
        setup.secrets = Arc::default();
        config.key_log = setup.secrets.clone();

        let secrets = client.secrets.clone();
        let mut client = client.connection(&setup);
        let mut server = ServerConnection::new(config.into()).unwrap();
        exchange(&mut client, &mut server);
        assert!(server.is_done());
        check_agreement(&mut client, &mut server);
        let kind = server.handshake_kind();
        assert_eq!(kind, Some(HandshakeKind::FullWithHelloRetryRequest));
        assert_eq!(secrets.take(), setup.secrets.take());
    }
}

#[test]
fn both_sides_log_the_same_secrets() {
    let setup = Setup::new(PROVIDERS[0]);
    let client = Client::new(PROVIDERS[0]);
    handshake(&client, &setup);
    let logged = setup.secrets.take();
    assert_eq!(logged.len(), 5);
    assert_eq!(logged, client.secrets.take());
}

#[test]
fn protocol_and_server_name() {
    let mut setup = Setup::new(PROVIDERS[0]);
    setup.alpn = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let mut client = Client::new(PROVIDERS[0]);
    client.alpn = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    let (mut client, mut server) = handshake(&client, &setup);
    check_agreement(&mut client, &mut server);
    assert_eq!(server.alpn_protocol(), Some(&b"h2"[..]));
    assert_eq!(server.server_name(), Some("localhost"));
}

#[test]
fn ocsp_response_is_stapled() {
    for ocsp in [vec![], b"response".to_vec()] {
        let mut setup = Setup::new(PROVIDERS[0]);
        setup.ocsp = ocsp.clone();
        let client = Client::new(PROVIDERS[0]);
        handshake(&client, &setup);
        assert_eq!(*client.ocsp.lock().unwrap(), ocsp);
    }
}

#[test]
fn clients_may_decline_to_authenticate() {
    let mut setup = Setup::new(PROVIDERS[0]);
    setup.client_certs = Identity::new().chain();
    setup.client_auth_optional = true;
    let (_, server) = handshake(&Client::new(PROVIDERS[0]), &setup);
    assert_eq!(server.client_chain(), None);
}

#[test]
fn offered_tickets_get_a_full_handshake() {
    let setup = Setup::new(PROVIDERS[0]);
    let config = Client::new(PROVIDERS[0]).config(&setup);
    for connection in 0..2 {
        let name = ServerName::try_from("localhost").unwrap();
        let mut client = theirs::ClientConnection::new(config.clone(), name).unwrap();
        let mut server = setup.ours();
        exchange(&mut client, &mut server);
        check_agreement(&mut client, &mut server);
        assert_eq!(server.handshake_kind(), Some(HandshakeKind::Full));
        assert_eq!(
            client.tls13_tickets_received(),
            2,
            "connection {connection}"
        );
    }
}

#[test]
fn keys_are_refreshed_from_either_side() {
    let setup = Setup::new(PROVIDERS[0]);
    let (mut client, mut server) = handshake(&Client::new(PROVIDERS[0]), &setup);
    for _ in 0..3 {
        server.refresh_traffic_keys().unwrap();
        check_agreement(&mut client, &mut server);
        client.refresh_traffic_keys().unwrap();
        check_agreement(&mut client, &mut server);
    }
}

#[test]
fn nothing_is_exported_or_refreshed_before_the_end() {
    let setup = Setup::new(PROVIDERS[0]);
    let mut server = setup.ours();
    let not_complete = Err(crate::Error::HandshakeNotComplete);
    for hello in [None, Some(super::hello_bytes::Hello::new())] {
        if let Some(hello) = hello {
            server.feed(&hello.record()).unwrap();
        }
        assert_eq!(server.refresh_traffic_keys(), not_complete);
        let exported = server.export_keying_material([0; 8], b"label", None);
        assert_eq!(exported.map(|_| ()), not_complete);
    }
}

#[test]
fn established_state_is_small() {
    // DESIGN §9: 2.3 kB for an idle connection, of which this is the handshake's part
    let traffic = size_of::<crate::tls13::traffic::Traffic>();
    assert!(traffic <= 512, "{traffic} bytes");
}
