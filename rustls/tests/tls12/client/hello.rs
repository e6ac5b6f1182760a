//! The TLS 1.2 parts of a ClientHello, with TLS 1.3 or alone.

use std::sync::Arc;

use harness::peers::additions;
use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions};
use harness::peers::endpoints::{Endpoint, ThisBuffered};
use harness::scripted::Identity;
use harness::verifiers::this::Verifier;
use harness::wire::client_hello::{
    ALPN, CERTIFICATE_AUTHORITIES, ClientHello, EC_POINT_FORMATS, EXTENDED_MASTER_SECRET,
    KEY_SHARE, PSK_KEY_EXCHANGE_MODES, SERVER_NAME, SESSION_TICKET, SIGNATURE_ALGORITHMS,
    STATUS_REQUEST, SUPPORTED_GROUPS, SUPPORTED_VERSIONS,
};
use harness::wire::{plain_messages, u8_vec, u16_vec, u16s};
use rustls::client::{Resumption, Tls12Resumption, WebPkiServerVerifier};
use rustls::crypto::{ActiveKeyExchange, SupportedKxGroup};
use rustls::{ClientConfig, DistinguishedName, Error, NamedGroup, ProtocolVersion};

use super::{clients, localhost, this_config};

/// TLS_EMPTY_RENEGOTIATION_INFO_SCSV
const SCSV: u16 = 0x00ff;

fn sent(end: &mut dyn Endpoint) -> ClientHello {
    ClientHello::read(&plain_messages(&end.take_output()))
}

fn sent_by(config: ClientConfig) -> ClientHello {
    sent(&mut ThisBuffered::client_of(localhost(), config))
}

/// The types of the extensions that upstream may have, too.
fn types(hello: &ClientHello) -> Vec<u16> {
    let mut types = hello.extension_types();
    types.retain(|typ| !additions::EXTENSIONS.contains(typ));
    types.sort_unstable();
    types
}

#[test]
fn tls12_alone_has_nothing_of_tls13() {
    for provider in PROVIDERS {
        let clients = clients(provider, Versions::Tls12);
        let theirs = sent(&mut *clients[2].connection());
        for client in &clients[..2] {
            let hello = sent(&mut *client.connection());
            assert_eq!(hello.legacy_version, 0x0303);
            assert!(hello.session_id.is_empty());
            assert_eq!(hello.compression, [0]);
            let tls12 = theirs.cipher_suites.iter().copied();
            let tls12: Vec<u16> = tls12.filter(|suite| suite >> 8 != 0x13).collect();
            assert_eq!(hello.cipher_suites, tls12);
            assert_eq!(hello.cipher_suites.last(), Some(&SCSV));

            let due = [
                SERVER_NAME,
                STATUS_REQUEST,
                SUPPORTED_GROUPS,
                EC_POINT_FORMATS,
                SIGNATURE_ALGORITHMS,
                ALPN,
                EXTENDED_MASTER_SECRET,
                SESSION_TICKET,
            ];
            assert_eq!(types(&hello), due);
            for typ in due {
                assert_eq!(hello.extension(typ), theirs.extension(typ), "{typ}");
            }
        }
    }
}

#[test]
fn both_versions_offer_what_upstream_does() {
    for provider in PROVIDERS {
        let clients = clients(provider, Versions::Both);
        let theirs = sent(&mut *clients[2].connection());
        for client in &clients[..2] {
            let hello = sent(&mut *client.connection());
            assert_eq!(hello.legacy_version, 0x0303);
            assert_eq!(hello.session_id.len(), 32);
            assert_eq!(hello.cipher_suites, theirs.cipher_suites);
            assert_eq!(types(&hello), types(&theirs));
            for typ in types(&hello) {
                if typ != KEY_SHARE {
                    assert_eq!(hello.extension(typ), theirs.extension(typ), "{typ}");
                }
            }
            assert_eq!(
                hello.extension(SUPPORTED_VERSIONS),
                Some(&u8_vec(&u16s(&[0x0304, 0x0303]))[..])
            );
        }
    }
}

#[test]
fn tls13_alone_has_nothing_of_tls12() {
    let identity = Identity::new(Provider::AwsLc.this());
    let hello = sent_by(this_config(&identity, Provider::AwsLc, Versions::Tls13));
    assert!(hello.cipher_suites.iter().all(|suite| suite >> 8 == 0x13));
    for typ in [EC_POINT_FORMATS, EXTENDED_MASTER_SECRET, SESSION_TICKET] {
        assert_eq!(hello.extension(typ), None, "{typ}");
    }
}

#[test]
fn hints_at_authorities_are_for_tls13() {
    for (versions, offered) in [(Versions::Tls12, false), (Versions::Both, true)] {
        let identity = Identity::new(Provider::AwsLc.this());
        let mut config = this_config(&identity, Provider::AwsLc, versions);
        let verifier = WebPkiServerVerifier::builder_with_provider(
            harness::peers::configs::this::roots(KeyType::EcdsaP256),
            Provider::AwsLc.this().into(),
        );
        let hints = vec![DistinguishedName::in_sequence(b"authority")];
        let verifier =
            Verifier::like_server_verifier(verifier.build().unwrap()).with_hints(hints, 0);
        config
            .dangerous()
            .set_certificate_verifier(Arc::new(verifier));
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
        sent_by(config)
            .extension(SESSION_TICKET)
            .map(<[u8]>::to_vec)
    };
    assert_eq!(with(Resumption::default()), Some(vec![]));
    assert_eq!(with(Resumption::disabled()), None);
    for mode in [Tls12Resumption::SessionIdOnly, Tls12Resumption::Disabled] {
        assert_eq!(with(Resumption::default().tls12_resumption(mode)), None);
    }
}

#[test]
fn groups_are_those_of_the_versions_offered() {
    let groups = |versions| {
        let identity = Identity::new(Provider::AwsLc.this());
        let mut provider = Provider::AwsLc.this();
        // the others fail to start a key exchange
        provider.kx_groups = vec![
            rustls::crypto::aws_lc_rs::kx_group::X25519,
            &Only(NamedGroup::secp521r1, ProtocolVersion::TLSv1_2),
            &Only(NamedGroup::X448, ProtocolVersion::TLSv1_3),
        ];
        let hello = sent_by(with_provider(&identity, provider, versions));
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
    provider
        .kx_groups
        .retain(|group| group.name() == NamedGroup::X25519);
    provider
        .kx_groups
        .push(&Only(NamedGroup::FFDHE2048, ProtocolVersion::TLSv1_2));
    let hello = sent_by(with_provider(&identity, provider.clone(), Versions::Tls12));
    assert_eq!(hello.cipher_suites.len(), 6 + 1);

    // without an ECDHE group for TLS 1.2
    provider.kx_groups[0] = &Only(NamedGroup::X25519, ProtocolVersion::TLSv1_3);
    let built = ClientConfig::builder_with_provider(provider.into())
        .with_protocol_versions(&[&rustls::version::TLS12]);
    assert!(matches!(built.err(), Some(Error::General(_))));
}

fn with_provider(
    identity: &Identity,
    provider: rustls::crypto::CryptoProvider,
    versions: Versions,
) -> ClientConfig {
    use rustls::version::{TLS12, TLS13};
    let mut roots = rustls::RootCertStore::empty();
    roots.add(identity.certificate.clone()).unwrap();
    ClientConfig::builder_with_provider(provider.into())
        .with_protocol_versions(&versions.choose(&TLS12, &TLS13))
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
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
