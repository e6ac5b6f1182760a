use std::boxed::Box;
use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, vec};

use pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls_core::crypto::{ActiveKeyExchange, SupportedKxGroup};

use super::*;
use crate::config::resolver::client_hello::{DecodedLists, Lists};
use crate::config::versions::{ALL_VERSIONS, TLS13};
use crate::enums::{NamedGroup, ProtocolVersion};
use crate::error::InconsistentKeys;
use crate::providers::any_provider;
use crate::server::WebPkiClientVerifier;
use crate::{ClientConfig, RootCertStore, ServerConfig};

/// Returns the result of the first step for this provider and these versions, which must be the
/// same for both sides.
fn verdict(
    provider: &CryptoProvider,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<(), Error> {
    let provider = Arc::new(provider.clone());
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)
        .map(|_| ());
    let server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map(|_| ());
    assert_eq!(client, server);
    client
}

#[track_caller]
fn assert_refused(verdict: Result<(), Error>, because: &str) {
    match verdict {
        Err(Error::General(text)) => assert!(text.contains(because), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_supported_set_of_versions_is_accepted() {
    let provider = any_provider();
    assert_eq!(verdict(&provider, ALL_VERSIONS), Ok(()));
    assert_eq!(verdict(&provider, &[&TLS13]), Ok(()));
    assert_refused(
        verdict(&provider, &[]),
        "no usable cipher suites configured",
    );

    #[cfg(feature = "tls12")]
    {
        use crate::config::versions::TLS12;
        assert_eq!(verdict(&provider, &[&TLS12, &TLS13]), Ok(()));
        assert_eq!(verdict(&provider, &[&TLS12]), Ok(()));
    }
}

/// Returns the versions that a configuration with this provider enables.
fn enabled(
    provider: &CryptoProvider,
    versions: &[&'static SupportedProtocolVersion],
) -> Vec<ProtocolVersion> {
    let config = ClientConfig::builder_with_provider(provider.clone().into())
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let enabled: Vec<_> = config.versions.iter().collect();
    for version in [ProtocolVersion::TLSv1_2, ProtocolVersion::TLSv1_3] {
        assert_eq!(
            config.versions.contains(version),
            enabled.contains(&version)
        );
    }
    enabled
}

#[test]
fn versions_are_enabled_newest_first() {
    let provider = any_provider();
    let newest = ProtocolVersion::TLSv1_3;
    assert_eq!(enabled(&provider, &[&TLS13]), [newest]);
    #[cfg(feature = "tls12")]
    {
        use crate::config::versions::TLS12;
        let older = ProtocolVersion::TLSv1_2;
        assert_eq!(enabled(&provider, &[&TLS12]), [older]);
        assert_eq!(enabled(&provider, &[&TLS12, &TLS13]), [newest, older]);
    }
}

#[cfg(feature = "tls12")]
#[test]
fn versions_without_provider_support_are_skipped() {
    use crate::config::versions::TLS12;
    let older = ProtocolVersion::TLSv1_2;
    for (version, requested) in [(ProtocolVersion::TLSv1_3, &TLS12), (older, &TLS13)] {
        let mut provider = any_provider();
        provider
            .cipher_suites
            .retain(|suite| suite.version().version == version);
        assert_eq!(enabled(&provider, ALL_VERSIONS), [version]);
        assert_refused(
            verdict(&provider, &[requested]),
            "no usable cipher suites configured",
        );

        let mut provider = any_provider();
        provider.kx_groups = match version {
            ProtocolVersion::TLSv1_2 => vec![&Group(NamedGroup::X25519, ProtocolVersion::TLSv1_2)],
            _ => vec![&Group(NamedGroup::X25519, ProtocolVersion::TLSv1_3)],
        };
        assert_eq!(enabled(&provider, ALL_VERSIONS), [version]);
        assert_refused(
            verdict(&provider, &[requested]),
            "no key exchange group for",
        );
    }
}

#[test]
fn a_provider_without_suites_is_rejected() {
    let mut provider = any_provider();
    provider
        .cipher_suites
        .retain(|suite| suite.tls13().is_none());
    assert_refused(
        verdict(&provider, &[&TLS13]),
        "no usable cipher suites configured",
    );
    provider.cipher_suites.clear();
    assert_refused(
        verdict(&provider, ALL_VERSIONS),
        "no usable cipher suites configured",
    );
}

#[test]
fn a_provider_without_groups_is_rejected() {
    let mut provider = any_provider();

    provider.kx_groups.clear();
    assert_refused(verdict(&provider, ALL_VERSIONS), "no kx groups configured");

    provider.kx_groups = vec![&Group(NamedGroup::X25519, ProtocolVersion::TLSv1_2)];
    assert_refused(verdict(&provider, &[&TLS13]), "no key exchange group for");

    provider.kx_groups = vec![&Group(NamedGroup::X25519, ProtocolVersion::TLSv1_3)];
    assert_eq!(verdict(&provider, ALL_VERSIONS), Ok(()));

    // all suites of TLS 1.2 are ECDHE
    provider.kx_groups = vec![&Group(NamedGroup::FFDHE2048, ProtocolVersion::TLSv1_3)];
    #[cfg(feature = "tls12")]
    assert_refused(
        verdict(&provider, ALL_VERSIONS),
        "no [ECDHE]-compatible key exchange groups",
    );
    provider
        .cipher_suites
        .retain(|suite| suite.tls13().is_some());
    assert_eq!(verdict(&provider, ALL_VERSIONS), Ok(()));
}

/// A group with this name that supports only this version.
#[derive(Debug)]
struct Group(NamedGroup, ProtocolVersion);

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Err(Error::General("not for use".into()))
    }

    fn name(&self) -> NamedGroup {
        self.0
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == self.1
    }
}

#[test]
fn clients_have_the_documented_defaults() {
    let provider = Arc::new(any_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap();
    assert!(Arc::ptr_eq(builder.crypto_provider(), &provider));
    assert!(format!("{builder:?}").contains("TLSv1_3"));

    let config = builder
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    assert!(config.alpn_protocols.is_empty());
    assert!(config.check_selected_alpn);
    assert_eq!(config.max_fragment_size, None);
    assert!(config.enable_sni);
    assert!(!config.key_log.will_log("EXPORTER_SECRET"));
    assert!(!config.client_auth_cert_resolver.has_certs());
    assert!(config.client_auth_cert_resolver.resolve(&[], &[]).is_none());
    assert!(Arc::ptr_eq(config.crypto_provider(), &provider));
    assert_eq!(config.fips(), provider.fips());
    assert_eq!(
        config.configured_verifier.supported_verify_schemes(),
        provider
            .signature_verification_algorithms
            .supported_schemes()
    );
    assert!(config.configured_verifier.root_hint_subjects().is_none());
    assert!(!config.configured_verifier.requires_raw_public_keys());
}

#[test]
fn servers_have_the_documented_defaults() {
    let (cert, key) = identity("server.example");
    let provider = Arc::new(any_provider());
    let config = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert], key)
        .unwrap();
    assert!(!config.ignore_client_order);
    assert_eq!(config.max_fragment_size, None);
    assert!(config.session_storage.can_cache());
    assert!(!config.ticketer.enabled());
    assert!(config.alpn_protocols.is_empty());
    assert!(!config.key_log.will_log("EXPORTER_SECRET"));
    assert_eq!(config.send_tls13_tickets, 2);
    assert!(!config.configured_verifier.offer_client_auth());
    assert!(!config.configured_verifier.client_auth_mandatory());
    assert!(Arc::ptr_eq(config.crypto_provider(), &provider));
    assert_eq!(config.fips(), provider.fips());
}

#[test]
fn certificate_and_key_must_match() {
    let (cert, key) = identity("a.example");
    let (other_cert, _) = identity("a.example");
    let no_key = || PrivateKeyDer::from(PrivatePkcs8KeyDer::from(vec![1]));

    let client = |certs, key| {
        ClientConfig::builder_with_provider(any_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_client_auth_cert(certs, key)
            .map(|config| config.client_auth_cert_resolver)
    };
    let server = |certs, key| {
        ServerConfig::builder_with_provider(any_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(certs, key)
            .map(|_| ())
    };

    let resolver = client(vec![cert.clone()], key.clone_key()).unwrap();
    assert!(resolver.has_certs());
    let resolved = resolver.resolve(&[], &[]).unwrap();
    assert_eq!(resolved.end_entity_cert(), Ok(&cert));
    assert_eq!(server(vec![cert.clone()], key.clone_key()), Ok(()));

    for (certs, key, error) in [
        (
            vec![other_cert],
            key.clone_key(),
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch),
        ),
        (vec![], key.clone_key(), Error::NoCertificatesPresented),
    ] {
        let refused = client(certs.clone(), key.clone_key()).map(|_| ());
        assert_eq!(refused, Err(error.clone()));
        assert_eq!(server(certs, key), Err(error));
    }
    for certs in [vec![], vec![cert]] {
        assert!(matches!(server(certs, no_key()), Err(Error::General(_))));
    }
}

#[test]
fn ocsp_response_is_stapled_unless_empty() {
    for (response, stapled) in [(vec![], None), (vec![1, 2], Some(vec![1, 2]))] {
        let (cert, key) = identity("server.example");
        let config = ServerConfig::builder_with_provider(any_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert_with_ocsp(vec![cert], key, response)
            .unwrap();
        let resolved = config
            .cert_resolver
            .resolve(crate::server::ClientHello {
                server_name: None,
                lists: Lists::Decoded(DecodedLists::default()),
            })
            .unwrap();
        assert_eq!(resolved.ocsp, stapled);
    }
}

#[test]
fn configurations_use_the_given_clock() {
    #[derive(Debug)]
    struct Clock(Option<u64>);

    impl TimeProvider for Clock {
        fn current_time(&self) -> Option<UnixTime> {
            self.0
                .map(|secs| UnixTime::since_unix_epoch(core::time::Duration::from_secs(secs)))
        }
    }

    for (clock, time) in [(Some(7), Ok(7)), (None, Err(Error::FailedToGetCurrentTime))] {
        let client =
            ClientConfig::builder_with_details(any_provider().into(), Arc::new(Clock(clock)))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(RootCertStore::empty())
                .with_no_client_auth();
        let server =
            ServerConfig::builder_with_details(any_provider().into(), Arc::new(Clock(clock)))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(crate::server::ResolvesServerCertUsingSni::new()));
        assert_eq!(client.current_time().map(|time| time.as_secs()), time);
        assert_eq!(server.current_time().map(|time| time.as_secs()), time);
    }
}

#[test]
fn verifiers_can_be_replaced() {
    let (cert, _) = identity("server.example");
    let mut roots = RootCertStore::empty();
    roots.add(cert).unwrap();
    let roots = Arc::new(roots);

    let builder =
        || WebPkiClientVerifier::builder_with_provider(roots.clone(), any_provider().into());
    for (verifier, mandatory, hints) in [
        (builder(), true, 1),
        (builder().allow_unauthenticated(), false, 1),
        (builder().clear_root_hint_subjects(), true, 0),
        (
            builder().add_root_hint_subjects([vec![0x30, 0].into()]),
            true,
            2,
        ),
    ] {
        let config = ServerConfig::builder_with_provider(any_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_cert_resolver(Arc::new(crate::server::ResolvesServerCertUsingSni::new()));
        assert!(config.configured_verifier.offer_client_auth());
        assert_eq!(
            config.configured_verifier.client_auth_mandatory(),
            mandatory
        );
        assert_eq!(config.configured_verifier.root_hint_subjects().len(), hints);
    }

    let no_client_auth = WebPkiClientVerifier::no_client_auth();
    assert!(!no_client_auth.offer_client_auth());
    assert!(no_client_auth.supported_verify_schemes().is_empty());

    let mut client = ClientConfig::builder_with_provider(any_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots.clone())
        .with_no_client_auth();
    let before = Arc::as_ptr(&client.configured_verifier);
    let verifier: Arc<dyn crate::client::danger::ServerCertVerifier> =
        crate::client::WebPkiServerVerifier::builder_with_provider(roots, any_provider().into())
            .build()
            .unwrap();
    client
        .dangerous()
        .set_certificate_verifier(verifier.clone());
    assert!(Arc::ptr_eq(&client.configured_verifier, &verifier));
    assert!(!core::ptr::addr_eq(
        before,
        Arc::as_ptr(&client.configured_verifier)
    ));
}

/// Creates a self-signed certificate for `name` and its key.
fn identity(name: &str) -> (pki_types::CertificateDer<'static>, PrivateKeyDer<'static>) {
    let names: [String; 1] = [name.to_string()];
    let identity = rcgen::generate_simple_self_signed(names).unwrap();
    let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
    (identity.cert.der().clone(), key.into())
}
