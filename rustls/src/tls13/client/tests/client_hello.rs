//! What a ClientHello offers: RFC 9846 §4.2.2 and §4.3.

use std::boxed::Box;
use std::sync::Arc;
use std::vec;
use std::vec::Vec;

use pki_types::ServerName;
use rustls_core::codec::Codec;

use super::Peers;
use super::clients::{Client, Ours, config, provider};
use super::scripted_server::{plain_messages, read_client_hello};
use crate::client::danger::ServerCertVerifier;
use crate::client::{
    ClientConfig, ClientConnectionData, ClientSessionMemoryCache, ClientSessionStore, Resumption,
};
use crate::conn::CommonState;
use crate::conn::machine::Context;
use crate::crypto::{ActiveKeyExchange, CryptoProvider, SharedSecret, SupportedKxGroup};
use crate::enums::{
    Compression, ExtensionType, NamedGroup, ProtocolVersion, PskKeyExchangeMode, Side,
};
use crate::error::Error;
use crate::msgs::client_extensions::CertificateStatusRequest;
use crate::msgs::server_name::ServerNamePayload;
use crate::tls13::client::hello::Offer;

fn sent_to(server: &str, config: ClientConfig) -> Vec<u8> {
    plain_messages(&Ours::to(server, config).output())
}

fn config_with(provider: CryptoProvider) -> ClientConfig {
    config(&Peers::new().identity, provider)
}

#[test]
fn fixed_fields_and_what_the_configuration_offers() {
    let provider = provider();
    let suites: Vec<_> = provider
        .cipher_suites
        .iter()
        .filter_map(|suite| suite.tls13())
        .map(|suite| suite.common.suite)
        .collect();
    let schemes = provider
        .signature_verification_algorithms
        .supported_schemes();
    let mut config = config_with(provider);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let sent = sent_to("example.com", config);
    let hello = read_client_hello(&sent);

    assert_eq!(hello.legacy_version, ProtocolVersion::TLSv1_2);
    assert_eq!(hello.legacy_session_id.as_ref().len(), 32);
    assert_eq!(*hello.cipher_suites, suites);
    assert_eq!(*hello.compression_methods, [Compression::Null]);

    let extensions = &hello.extensions;
    assert!(matches!(
        &extensions.server_name,
        Some(ServerNamePayload::DnsName(name)) if name.as_ref() == "example.com"
    ));
    assert_eq!(
        extensions.supported_versions.as_deref(),
        Some(&[ProtocolVersion::TLSv1_3][..])
    );
    assert_eq!(
        extensions.supported_groups.as_deref(),
        Some(&[NamedGroup::X25519, NamedGroup::secp256r1][..])
    );
    assert_eq!(extensions.signature_algorithms, Some(schemes.into()));
    assert_eq!(
        extensions.psk_key_exchange_modes.as_deref(),
        Some(&[PskKeyExchangeMode::PskDheKe][..])
    );
    assert_eq!(
        extensions.status_request,
        Some(CertificateStatusRequest::Ocsp)
    );
    let names = extensions.alpn_protocol_names.as_ref().unwrap();
    let names: Vec<&[u8]> = names.iter().map(|name| name.0).collect();
    assert_eq!(names, [&b"h2"[..], b"http/1.1"]);
    assert_eq!(share_groups(&sent), [NamedGroup::X25519]);
    assert_eq!(extensions.cookie, None);
    assert_eq!(extensions.certificate_authorities, None);
}

fn share_groups(sent: &[u8]) -> Vec<NamedGroup> {
    let hello = read_client_hello(sent);
    let shares = hello.extensions.key_shares.unwrap();
    shares.iter().map(|share| share.group).collect()
}

#[test]
fn the_name_is_sent_unless_it_is_an_address_or_not_wanted() {
    let server_name = |server, enable_sni| {
        let mut config = config_with(provider());
        config.enable_sni = enable_sni;
        let sent = sent_to(server, config);
        read_client_hello(&sent).extensions.server_name.is_some()
    };
    assert!(server_name("example.com", true));
    assert!(!server_name("example.com", false));
    assert!(!server_name("192.0.2.1", true));
    assert!(!server_name("2001:db8::1", true));
}

#[test]
fn random_session_id_and_order_differ_between_connections() {
    let config = config_with(provider());
    let hellos: Vec<Vec<u8>> = (0..8)
        .map(|_| sent_to("localhost", config.clone()))
        .collect();
    let orders: Vec<Vec<ExtensionType>> = hellos
        .iter()
        .map(|hello| read_client_hello(hello).extensions.received)
        .collect();
    assert!(orders.iter().any(|order| *order != orders[0]));
    for (i, a) in hellos.iter().enumerate() {
        for b in &hellos[..i] {
            let (a, b) = (read_client_hello(a), read_client_hello(b));
            assert_ne!(a.random, b.random);
            assert_ne!(a.legacy_session_id, b.legacy_session_id);
        }
    }
}

#[test]
fn what_is_known_as_offered_is_what_is_sent() {
    let mut with_all = config_with(provider());
    with_all.alpn_protocols = vec![b"h2".to_vec()];
    with_all
        .dangerous()
        .set_certificate_verifier(Arc::new(Hints));
    let mut with_little = config_with(provider());
    with_little.enable_sni = false;

    for config in [with_all, with_little] {
        let sent = sent_to("localhost", config.clone());
        let sent = read_client_hello(&sent).extensions.received;
        let alpn_protocols = config.alpn_protocols.clone();
        let name = ServerName::try_from("localhost").unwrap();
        let offer = Offer::new(Arc::new(config), name, alpn_protocols).unwrap();
        for typ in (0..=u16::MAX).map(ExtensionType::from) {
            assert_eq!(offer.offers(typ), sent.contains(&typ), "{typ:?}");
        }
    }
}

/// A verifier that names authorities.
#[derive(Debug)]
struct Hints;

impl ServerCertVerifier for Hints {
    fn verify_server_cert(
        &self,
        _end_entity: &pki_types::CertificateDer<'_>,
        _intermediates: &[pki_types::CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: pki_types::UnixTime,
    ) -> Result<crate::client::danger::ServerCertVerified, Error> {
        Err(Error::General("not called".into()))
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &pki_types::CertificateDer<'_>,
        _dss: &crate::DigitallySignedStruct,
    ) -> Result<crate::client::danger::HandshakeSignatureValid, Error> {
        Err(Error::General("not called".into()))
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &pki_types::CertificateDer<'_>,
        _dss: &crate::DigitallySignedStruct,
    ) -> Result<crate::client::danger::HandshakeSignatureValid, Error> {
        Err(Error::General("not called".into()))
    }

    fn supported_verify_schemes(&self) -> Vec<crate::SignatureScheme> {
        vec![crate::SignatureScheme::ED25519]
    }

    fn root_hint_subjects(&self) -> Option<&[crate::DistinguishedName]> {
        static HINTS: std::sync::OnceLock<Vec<crate::DistinguishedName>> =
            std::sync::OnceLock::new();
        Some(HINTS.get_or_init(|| vec![crate::DistinguishedName::in_sequence(b"name")]))
    }
}

#[test]
fn authorities_and_schemes_are_the_verifiers() {
    let mut config = config_with(provider());
    config.dangerous().set_certificate_verifier(Arc::new(Hints));
    let sent = sent_to("localhost", config);
    let extensions = read_client_hello(&sent).extensions;
    let authorities = extensions.certificate_authorities.unwrap();
    assert_eq!(authorities[0].get_encoding(), b"\x00\x06\x30\x04name");
    assert_eq!(
        extensions.signature_algorithms,
        Some([crate::SignatureScheme::ED25519].into())
    );
}

#[test]
fn the_group_a_server_chose_before_is_tried_first() {
    let store = Arc::new(ClientSessionMemoryCache::new(32));
    let mut config = config_with(provider());
    config.resumption = Resumption::store(store.clone());
    let hinted = |server: &'static str, group| {
        store.set_kx_hint(ServerName::try_from(server).unwrap(), group);
        share_groups(&sent_to(server, config.clone()))
    };
    assert_eq!(
        hinted("a.example", NamedGroup::secp256r1),
        [NamedGroup::secp256r1]
    );
    // one that is not offered any more
    assert_eq!(
        hinted("b.example", NamedGroup::secp384r1),
        [NamedGroup::X25519]
    );
}

#[test]
fn groups_without_tls13_and_duplicates_are_left_out() {
    let mut provider = provider();
    let x25519 = provider.kx_groups[0];
    provider.kx_groups = vec![&OnlyTls12, x25519, x25519];
    let sent = sent_to("localhost", config_with(provider));
    let groups = read_client_hello(&sent).extensions.supported_groups;
    assert_eq!(groups, Some([NamedGroup::X25519].into()));
    assert_eq!(share_groups(&sent), [NamedGroup::X25519]);
}

/// A group that TLS 1.3 cannot use.
#[derive(Debug)]
struct OnlyTls12;

impl SupportedKxGroup for OnlyTls12 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Err(Error::General("not called".into()))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_2
    }
}

/// A hybrid with X25519 as its component.
#[derive(Debug)]
struct Hybrid;

impl SupportedKxGroup for Hybrid {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(Self))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

impl ActiveKeyExchange for Hybrid {
    fn complete(self: Box<Self>, _: &[u8]) -> Result<SharedSecret, Error> {
        Err(Error::General("not called".into()))
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((NamedGroup::X25519, b"component"))
    }

    fn pub_key(&self) -> &[u8] {
        b"hybrid"
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

#[test]
fn the_component_of_a_hybrid_is_offered_if_it_comes_later_in_the_list() {
    let groups = provider().kx_groups;
    let shares = |kx_groups: Vec<&'static dyn SupportedKxGroup>| {
        let provider = CryptoProvider {
            kx_groups,
            ..provider()
        };
        share_groups(&sent_to("localhost", config_with(provider)))
    };
    let (x25519, secp256r1) = (groups[0], groups[1]);
    let both = [NamedGroup::X25519MLKEM768, NamedGroup::X25519];
    assert_eq!(shares(vec![&Hybrid, x25519]), both);
    assert_eq!(shares(vec![&Hybrid, secp256r1, x25519]), both);
    assert_eq!(shares(vec![&Hybrid, secp256r1]), both[..1]);
    assert_eq!(shares(vec![x25519, &Hybrid]), both[1..]);
}

#[cfg(all(feature = "aws_lc_rs", feature = "prefer-post-quantum"))]
#[test]
fn a_hybrid_is_offered_by_default() {
    assert_eq!(
        share_groups(&sent_to(
            "localhost",
            config_with(super::clients::full_provider())
        )),
        [NamedGroup::X25519MLKEM768, NamedGroup::X25519]
    );
}

#[test]
fn raw_public_keys_are_refused_at_the_start() {
    #[derive(Debug)]
    struct RawPublicKeys;

    impl crate::client::ResolvesClientCert for RawPublicKeys {
        fn resolve(
            &self,
            _: &[&[u8]],
            _: &[crate::SignatureScheme],
        ) -> Option<Arc<crate::sign::CertifiedKey>> {
            None
        }

        fn only_raw_public_keys(&self) -> bool {
            true
        }

        fn has_certs(&self) -> bool {
            true
        }
    }

    let mut config = config_with(provider());
    config.client_auth_cert_resolver = Arc::new(RawPublicKeys);
    refuse_to_start(config);
}

/// Nothing is sent and a [`Error::General`] returned.
#[track_caller]
fn refuse_to_start(config: ClientConfig) {
    let alpn_protocols = config.alpn_protocols.clone();
    let mut common = CommonState::new(Side::Client);
    let started = crate::tls13::client::start(
        Arc::new(config),
        ServerName::try_from("localhost").unwrap(),
        alpn_protocols,
        &mut Context {
            common: &mut common,
            data: &mut ClientConnectionData::default(),
        },
    );
    assert!(matches!(started.err(), Some(Error::General(_))));
    assert!(common.outgoing.is_empty());
}

#[test]
fn alpn_names_that_no_client_hello_can_carry_are_refused_at_the_start() {
    let with = |alpn_protocols| {
        let mut config = config_with(provider());
        config.alpn_protocols = alpn_protocols;
        config
    };
    refuse_to_start(with(vec![vec![]]));
    refuse_to_start(with(vec![b"h2".to_vec(), vec![b'a'; 256]]));
    refuse_to_start(with(vec![vec![b'a'; 255]; 225]));

    let longest = with(vec![vec![b'a'; 255]; 224]);
    let sent = sent_to("localhost", longest);
    let names = read_client_hello(&sent).extensions.alpn_protocol_names;
    assert_eq!(names.unwrap().len(), 224);
}

#[test]
fn without_a_group_for_tls13_there_is_no_start() {
    let mut config = config_with(provider());
    let mut provider = provider();
    provider.kx_groups = vec![&OnlyTls12];
    config.provider = Arc::new(provider);
    refuse_to_start(config);
}
