//! Handshakes with upstream rustls in both roles, with data in both directions: every TLS 1.3
//! suite, every group, every kind of key.

use std::io::{Read, Write};
use std::sync::Arc;

use provider_rustcrypto::{ALL_CIPHER_SUITES, ALL_KX_GROUPS, default_provider};
use rcgen::{
    CertificateParams, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
    SignatureAlgorithm,
};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CipherSuite, NamedGroup, ProtocolVersion, SupportedCipherSuite};
use rustls_upstream as upstream;

/// A self-signed certificate for localhost and its key.
struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    fn new(algorithm: &'static SignatureAlgorithm) -> Self {
        let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
        let params = CertificateParams::new(["localhost".into()]).unwrap();
        Self {
            certificate: params.self_signed(&key).unwrap().into(),
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        }
    }
}

/// Returns this crate's provider with one suite and one group.
fn provider(suite: SupportedCipherSuite, group: &'static dyn SupportedKxGroup) -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![suite],
        kx_groups: vec![group],
        ..default_provider()
    }
}

fn our_client(provider: CryptoProvider, identity: &Identity) -> rustls::ClientConnection {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(identity.certificate.clone()).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    rustls::ClientConnection::new(config.into(), localhost()).unwrap()
}

fn our_server(provider: CryptoProvider, identity: &Identity) -> rustls::ServerConnection {
    let config = rustls::ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate.clone()], identity.key.clone_key())
        .unwrap();
    rustls::ServerConnection::new(config.into()).unwrap()
}

fn upstream_provider() -> Arc<upstream::crypto::CryptoProvider> {
    Arc::new(upstream::crypto::ring::default_provider())
}

fn upstream_client(identity: &Identity) -> upstream::ClientConnection {
    let mut roots = upstream::RootCertStore::empty();
    roots.add(identity.certificate.clone()).unwrap();
    let config = upstream::ClientConfig::builder_with_provider(upstream_provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    upstream::ClientConnection::new(config.into(), localhost()).unwrap()
}

fn upstream_server(identity: &Identity) -> upstream::ServerConnection {
    let config = upstream::ServerConfig::builder_with_provider(upstream_provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate.clone()], identity.key.clone_key())
        .unwrap();
    upstream::ServerConnection::new(config.into()).unwrap()
}

fn localhost() -> ServerName<'static> {
    "localhost".try_into().unwrap()
}

/// One end of a connection, of this crate or of upstream.
trait End {
    fn is_handshaking(&self) -> bool;

    /// Returns the output of this end.
    fn take(&mut self) -> Vec<u8>;

    fn give(&mut self, bytes: &[u8]);

    fn write(&mut self, plaintext: &[u8]);

    /// Reads as many bytes as `expected` has, and compares them.
    fn expect(&mut self, expected: &[u8]);

    /// Returns the code points of suite and group.
    fn negotiated(&self) -> (u16, u16);
}

macro_rules! impl_end {
    ($($end:ty),*) => {$(
        impl End for $end {
            fn is_handshaking(&self) -> bool {
                (**self).is_handshaking()
            }

            fn take(&mut self) -> Vec<u8> {
                let mut bytes = Vec::new();
                while self.wants_write() {
                    self.write_tls(&mut bytes).unwrap();
                }
                bytes
            }

            fn give(&mut self, mut bytes: &[u8]) {
                while !bytes.is_empty() {
                    self.read_tls(&mut bytes).unwrap();
                    self.process_new_packets().unwrap();
                }
            }

            fn write(&mut self, plaintext: &[u8]) {
                self.writer().write_all(plaintext).unwrap();
            }

            fn expect(&mut self, expected: &[u8]) {
                let mut plaintext = vec![0; expected.len()];
                self.reader().read_exact(&mut plaintext).unwrap();
                assert!(plaintext == expected);
            }

            fn negotiated(&self) -> (u16, u16) {
                assert_eq!(
                    self.protocol_version().map(u16::from),
                    Some(ProtocolVersion::TLSv1_3.into())
                );
                let suite = self.negotiated_cipher_suite().unwrap().suite();
                let group = self.negotiated_key_exchange_group().unwrap().name();
                (suite.into(), group.into())
            }
        }
    )*};
}

impl_end!(
    rustls::ClientConnection,
    rustls::ServerConnection,
    upstream::ClientConnection,
    upstream::ServerConnection
);

/// Completes a handshake and sends some records in each direction.
fn talk(client: &mut dyn End, server: &mut dyn End, suite: CipherSuite, group: NamedGroup) {
    let mut turns = 0;
    while client.is_handshaking() || server.is_handshaking() {
        server.give(&client.take());
        client.give(&server.take());
        turns += 1;
        assert!(turns < 10, "the handshake does not end");
    }
    let negotiated = (suite.into(), group.into());
    assert_eq!(client.negotiated(), negotiated);
    assert_eq!(server.negotiated(), negotiated);

    let plaintext: Vec<u8> = (0..16_384_u32).map(|i| (i % 251) as u8).collect();
    for len in [1, 100, plaintext.len()] {
        client.write(&plaintext[..len]);
        server.give(&client.take());
        server.expect(&plaintext[..len]);
        server.write(&plaintext[..len]);
        client.give(&server.take());
        client.expect(&plaintext[..len]);
    }
}

/// Connects in both roles, with this suite, group and kind of key.
fn talk_in_both_roles(
    suite: SupportedCipherSuite,
    group: &'static dyn SupportedKxGroup,
    identity: &Identity,
) {
    let mut client = our_client(provider(suite, group), identity);
    let mut server = upstream_server(identity);
    talk(&mut client, &mut server, suite.suite(), group.name());

    let mut client = upstream_client(identity);
    let mut server = our_server(provider(suite, group), identity);
    talk(&mut client, &mut server, suite.suite(), group.name());
}

fn tls13_suites() -> impl Iterator<Item = SupportedCipherSuite> {
    let suites = ALL_CIPHER_SUITES.iter().copied();
    suites.filter(|suite| suite.tls13().is_some())
}

#[test]
fn every_suite_and_group_works_with_upstream() {
    assert_eq!((tls13_suites().count(), ALL_KX_GROUPS.len()), (3, 3));
    let identity = Identity::new(&PKCS_ECDSA_P256_SHA256);
    for suite in tls13_suites() {
        for group in ALL_KX_GROUPS {
            talk_in_both_roles(suite, *group, &identity);
        }
    }
}

#[test]
fn every_kind_of_key_works_with_upstream() {
    let suite = tls13_suites().next().unwrap();
    for algorithm in [
        &PKCS_ECDSA_P256_SHA256,
        &PKCS_ECDSA_P384_SHA384,
        &PKCS_ED25519,
    ] {
        talk_in_both_roles(suite, ALL_KX_GROUPS[0], &Identity::new(algorithm));
    }
}

/// The client rejects a certificate that the authority did not sign.
#[test]
fn a_forged_certificate_is_rejected() {
    let honest = Identity::new(&PKCS_ECDSA_P256_SHA256);
    let other = Identity::new(&PKCS_ECDSA_P256_SHA256);
    let mut client = our_client(default_provider(), &honest);
    let mut server = upstream_server(&other);
    server.give(&client.take());
    let flight = server.take();
    client.read_tls(&mut flight.as_slice()).unwrap();
    let refused = client.process_new_packets().unwrap_err();
    assert!(
        matches!(refused, rustls::Error::InvalidCertificate(_)),
        "{refused:?}"
    );
}
