//! Tests of the TLS 1.2 parts of a ClientHello, with and without TLS 1.3.

use std::sync::Arc;

use harness::peers::additions;
use harness::peers::configs::this::client_trusting;
use harness::peers::configs::{PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::{Endpoint, ThisBuffered};
use harness::scripted::Identity;
use harness::verifiers::this::Verifier;
use harness::wire::client_hello::{
    ALPN, CERTIFICATE_AUTHORITIES, ClientHello, EC_POINT_FORMATS, EXTENDED_MASTER_SECRET,
    KEY_SHARE, PSK_KEY_EXCHANGE_MODES, SERVER_NAME, SESSION_TICKET, SIGNATURE_ALGORITHMS,
    STATUS_REQUEST, SUPPORTED_GROUPS, SUPPORTED_VERSIONS,
};
use harness::wire::{plain_messages, u8_vec, u16_vec, u16s};
use rustls::client::{Resumption, Tls12Resumption};
use rustls::crypto::{ActiveKeyExchange, SupportedKxGroup};
use rustls::{
    ClientConfig, DistinguishedName, Error, NamedGroup, ProtocolVersion, SignatureScheme,
};

use super::{clients, localhost, this_config};

/// TLS_EMPTY_RENEGOTIATION_INFO_SCSV
const SCSV: u16 = 0x00ff;

fn sent(end: &mut dyn Endpoint) -> ClientHello {
    ClientHello::read(&plain_messages(&end.take_output()))
}

fn sent_by(config: ClientConfig) -> ClientHello {
    sent(&mut ThisBuffered::client_of(localhost(), config))
}

/// Returns the types of the extensions, without those that upstream does not have.
fn types(hello: &ClientHello) -> Vec<u16> {
    let mut types = hello.extension_types();
    types.retain(|typ| !additions::EXTENSIONS.contains(typ));
    types.sort_unstable();
    types
}

#[test]
fn the_hello_matches_upstream_and_offers_tls13_only_if_enabled() {
    for (provider, versions) in product(PROVIDERS, [Versions::Tls12, Versions::Both]) {
        let clients = clients(provider, versions);
        let theirs = sent(&mut *clients[2].connection());
        let (mut suites, mut due) = (theirs.cipher_suites.clone(), types(&theirs));
        if versions == Versions::Tls12 {
            suites.retain(|suite| suite >> 8 != 0x13);
            due = vec![
                SERVER_NAME,
                STATUS_REQUEST,
                SUPPORTED_GROUPS,
                EC_POINT_FORMATS,
                SIGNATURE_ALGORITHMS,
                ALPN,
                EXTENDED_MASTER_SECRET,
                SESSION_TICKET,
            ];
        }
        for client in &clients[..2] {
            let hello = sent(&mut *client.connection());
            assert_eq!(hello.legacy_version, 0x0303);
            assert_eq!(hello.compression, [0]);
            assert_eq!(hello.cipher_suites, suites);
            assert_eq!(types(&hello), due);
            for typ in due.iter().copied().filter(|typ| *typ != KEY_SHARE) {
                assert_eq!(hello.extension(typ), theirs.extension(typ), "{typ}");
            }
            if versions == Versions::Both {
                assert_eq!(hello.session_id.len(), 32);
                let versions = u8_vec(&u16s(&[0x0304, 0x0303]));
                assert_eq!(hello.extension(SUPPORTED_VERSIONS), Some(&versions[..]));
            } else {
                assert!(hello.session_id.is_empty());
                assert_eq!(hello.cipher_suites.last(), Some(&SCSV));
            }
        }
    }
}

#[test]
fn a_tls13_only_client_hello_offers_no_tls12_parameters() {
    let identity = Identity::new(Provider::AwsLc.this());
    let hello = sent_by(this_config(&identity, Provider::AwsLc, Versions::Tls13));
    assert!(hello.cipher_suites.iter().all(|suite| suite >> 8 == 0x13));
    for typ in [EC_POINT_FORMATS, EXTENDED_MASTER_SECRET, SESSION_TICKET] {
        assert_eq!(hello.extension(typ), None, "{typ}");
    }
}

#[test]
fn certificate_authorities_are_offered_only_with_tls13() {
    for (versions, offered) in [(Versions::Tls12, false), (Versions::Both, true)] {
        let identity = Identity::new(Provider::AwsLc.this());
        let mut config = this_config(&identity, Provider::AwsLc, versions);
        let hints = vec![DistinguishedName::in_sequence(b"authority")];
        let verifier = Verifier::accepting(versions, &[SignatureScheme::ED25519]);
        let verifier = Arc::new(verifier.with_hints(hints, 0));
        config.dangerous().set_certificate_verifier(verifier);
        let hello = sent_by(config);
        assert_eq!(hello.extension(CERTIFICATE_AUTHORITIES).is_some(), offered);
        assert_eq!(hello.extension(PSK_KEY_EXCHANGE_MODES).is_some(), offered);
    }
}

#[test]
fn tickets_are_requested_where_they_are_used() {
    let identity = Identity::new(Provider::AwsLc.this());
    let with = |resumption| {
        let mut config = this_config(&identity, Provider::AwsLc, Versions::Tls12);
        config.resumption = resumption;
        let hello = sent_by(config);
        hello.extension(SESSION_TICKET).map(<[u8]>::to_vec)
    };
    assert_eq!(with(Resumption::default()), Some(vec![]));
    assert_eq!(with(Resumption::disabled()), None);
    for mode in [Tls12Resumption::SessionIdOnly, Tls12Resumption::Disabled] {
        assert_eq!(with(Resumption::default().tls12_resumption(mode)), None);
    }
}

#[test]
fn groups_match_the_offered_versions() {
    let groups = |versions| {
        let identity = Identity::new(Provider::AwsLc.this());
        let mut provider = Provider::AwsLc.this();
        // the other groups fail to start a key exchange
        provider.kx_groups = vec![
            rustls::crypto::aws_lc_rs::kx_group::X25519,
            &Only(NamedGroup::secp521r1, ProtocolVersion::TLSv1_2),
            &Only(NamedGroup::X448, ProtocolVersion::TLSv1_3),
        ];
        let hello = sent_by(client_trusting(&identity.certificate, versions, provider));
        hello.extension(SUPPORTED_GROUPS).map(<[u8]>::to_vec)
    };
    let list = |names: &[u16]| Some(u16_vec(&u16s(names)));
    let (x25519, p521, x448) = (0x1d, 0x19, 0x1e);
    assert_eq!(groups(Versions::Tls12), list(&[x25519, p521]));
    assert_eq!(groups(Versions::Tls13), list(&[x25519, x448]));
    assert_eq!(groups(Versions::Both), list(&[x25519, p521, x448]));
}

#[test]
fn suites_without_a_group_are_left_out() {
    let identity = Identity::new(Provider::AwsLc.this());
    let mut provider = Provider::AwsLc.this();
    // all TLS 1.2 suites here are ECDHE
    let groups = &mut provider.kx_groups;
    groups.retain(|group| group.name() == NamedGroup::X25519);
    groups.push(&Only(NamedGroup::FFDHE2048, ProtocolVersion::TLSv1_2));
    let config = client_trusting(&identity.certificate, Versions::Tls12, provider.clone());
    let hello = sent_by(config);
    assert_eq!(hello.cipher_suites.len(), 6 + 1);

    // without an ECDHE group for TLS 1.2
    provider.kx_groups[0] = &Only(NamedGroup::X25519, ProtocolVersion::TLSv1_3);
    let built = ClientConfig::builder_with_provider(provider.into())
        .with_protocol_versions(&[&rustls::version::TLS12]);
    assert!(matches!(built.err(), Some(Error::General(_))));
}

/// A group of this name, for this version only.
#[derive(Debug)]
pub(super) struct Only(pub(super) NamedGroup, pub(super) ProtocolVersion);

impl SupportedKxGroup for Only {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Err(Error::General("must not be used".into()))
    }

    fn name(&self) -> NamedGroup {
        self.0
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == self.1
    }
}
