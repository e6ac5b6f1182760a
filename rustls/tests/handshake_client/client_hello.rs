//! Contents of a ClientHello: RFC 9846 §4.2.2 and §4.3.

use std::sync::Arc;

use harness::peers::configs::Versions;
use harness::peers::endpoints::Endpoint;
use harness::providers::constant::this::Group;
use harness::scripted::{Script, bytes};
use harness::verifiers::this::Verifier;
use harness::wire::client_hello::{
    ALPN, CERTIFICATE_AUTHORITIES, CLIENT_CERTIFICATE_TYPE, COOKIE, ClientHello, EARLY_DATA,
    PRE_SHARED_KEY, PSK_KEY_EXCHANGE_MODES, SERVER_CERTIFICATE_TYPE, SERVER_NAME,
    SIGNATURE_ALGORITHMS, STATUS_REQUEST, SUPPORTED_GROUPS, SUPPORTED_VERSIONS, TICKET_REQUEST,
    host_name, protocols, read_u16s,
};
use harness::wire::{Reader, plain_messages, u8_vec, u16_vec, u16s};
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Resumption, UnbufferedClientConnection,
};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::ServerName;
use rustls::{
    ClientConfig, ClientConnection, DistinguishedName, Error, NamedGroup, SignatureScheme,
};

use crate::handshake_client::Peers;
use crate::handshake_client::clients::{config, our_client, our_client_to, provider};

fn sent_to(server: &str, config: ClientConfig) -> ClientHello {
    let output = our_client_to(server, config).take_output();
    ClientHello::read(&plain_messages(&output))
}

fn config_with(provider: CryptoProvider) -> ClientConfig {
    config(&Peers::new().identity, provider)
}

#[test]
fn the_hello_has_fixed_fields_and_offers_what_is_configured() {
    let provider = provider();
    let suites = provider
        .cipher_suites
        .iter()
        .filter_map(|suite| suite.tls13());
    let suites: Vec<_> = suites.map(|suite| u16::from(suite.common.suite)).collect();
    let algorithms = provider.signature_verification_algorithms;
    let schemes = algorithms.supported_schemes();
    let mut config = config_with(provider);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let hello = sent_to("example.com", config);

    assert_eq!(hello.legacy_version, 0x0303);
    assert_eq!(hello.session_id.len(), 32);
    assert_eq!(hello.cipher_suites, suites);
    assert_eq!(hello.compression, [0]);
    assert!(hello.trailing.is_empty());

    let schemes: Vec<u16> = schemes.into_iter().map(u16::from).collect();
    let ocsp = [1, 0, 0, 0, 0];
    for (typ, body) in [
        (SERVER_NAME, host_name(b"example.com")),
        (SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0304]))),
        (SUPPORTED_GROUPS, u16_vec(&u16s(&[29, 23]))),
        (SIGNATURE_ALGORITHMS, u16_vec(&u16s(&schemes))),
        (PSK_KEY_EXCHANGE_MODES, u8_vec(&[1])),
        (STATUS_REQUEST, ocsp.to_vec()),
        (ALPN, protocols(&[b"h2", b"http/1.1"])),
    ] {
        assert_eq!(hello.extension(typ), Some(&body[..]), "extension {typ}");
    }
    assert_eq!(share_groups(&hello), [NamedGroup::X25519]);
    assert_eq!(hello.extension(COOKIE), None);
    assert_eq!(hello.extension(CERTIFICATE_AUTHORITIES), None);
}

fn share_groups(hello: &ClientHello) -> Vec<NamedGroup> {
    let shares = hello.key_shares().into_iter();
    shares.map(|(group, _)| group.into()).collect()
}

#[test]
fn the_random_session_id_and_order_differ_between_connections() {
    let config = config_with(provider());
    let hellos: Vec<ClientHello> = (0..8)
        .map(|_| sent_to("localhost", config.clone()))
        .collect();
    let first = hellos[0].extension_types();
    assert!(hellos.iter().any(|hello| hello.extension_types() != first));
    for (i, a) in hellos.iter().enumerate() {
        for b in &hellos[..i] {
            assert_ne!(a.random, b.random);
            assert_ne!(a.session_id, b.session_id);
            assert_ne!(a.session_id, a.random);
        }
    }
}

/// An answer to an extension is rejected as unsolicited exactly if the extension was not sent.
#[test]
fn exactly_the_sent_extensions_count_as_offered() {
    let mut with_all = config_with(provider());
    with_all.alpn_protocols = vec![b"h2".to_vec()];
    with_all
        .dangerous()
        .set_certificate_verifier(naming_an_authority());
    let mut with_little = config_with(provider());
    with_little.enable_sni = false;

    let known = [
        (SERVER_NAME, vec![]),
        (SUPPORTED_GROUPS, u16_vec(&u16s(&[29]))),
        (ALPN, protocols(&[b"h2"])),
        (CLIENT_CERTIFICATE_TYPE, vec![0]),
        (SERVER_CERTIFICATE_TYPE, vec![0]),
        (PRE_SHARED_KEY, vec![0, 0]),
        (EARLY_DATA, vec![]),
        (COOKIE, u16_vec(&[1])),
        (TICKET_REQUEST, vec![0]),
    ];
    let peers = Peers::new();
    for config in [with_all, with_little] {
        let config = Arc::new(config);
        let sent = sent_to("localhost", Arc::unwrap_or_clone(config.clone())).extension_types();
        for typ in (0..=0x100).chain([0x0a0a, 0xfe0d, 0xff01, 0xffff]) {
            let body = known.iter().find(|(other, _)| *other == typ);
            let body = body.map_or(&[][..], |(_, body)| body);
            let mut script = Script::new();
            script.flight.truncate(1);
            script.encrypted_extensions = vec![bytes(typ, body)];
            let outcome = peers.identity.run(&mut our_client(config.clone()), &script);
            let error = outcome.error.unwrap_or_default();
            let is_unsolicited = error.contains("UnsolicitedEncryptedExtension");
            assert_eq!(is_unsolicited, !sent.contains(&typ), "{typ}: {error}");
        }
    }
}

/// Creates a verifier that names an authority.
fn naming_an_authority() -> Arc<Verifier> {
    let hints = vec![DistinguishedName::in_sequence(b"name")];
    let verifier = Verifier::accepting(Versions::Tls13, &[SignatureScheme::ED25519]);
    Arc::new(verifier.with_hints(hints, 0))
}

#[test]
fn the_hello_offers_authorities_and_schemes_of_the_verifier() {
    let mut config = config_with(provider());
    config
        .dangerous()
        .set_certificate_verifier(naming_an_authority());
    let hello = sent_to("localhost", config);
    let mut authorities = Reader(hello.extension(CERTIFICATE_AUTHORITIES).unwrap());
    assert_eq!(authorities.vector(2), b"\x00\x06\x30\x04name");
    let schemes = Reader(hello.extension(SIGNATURE_ALGORITHMS).unwrap()).vector(2);
    assert_eq!(read_u16s(schemes), [u16::from(SignatureScheme::ED25519)]);
}

#[test]
fn the_group_that_a_server_chose_before_is_tried_first() {
    let store = Arc::new(ClientSessionMemoryCache::new(32));
    let mut config = config_with(provider());
    config.resumption = Resumption::store(store.clone());
    let hinted = |server: &'static str, group| {
        store.set_kx_hint(ServerName::try_from(server).unwrap(), group);
        share_groups(&sent_to(server, config.clone()))
    };
    let (x25519, p256) = ([NamedGroup::X25519], [NamedGroup::secp256r1]);
    assert_eq!(hinted("a.example", NamedGroup::secp256r1), p256);
    // a group that is no longer offered
    assert_eq!(hinted("b.example", NamedGroup::secp384r1), x25519);
}

#[test]
fn groups_without_tls13_and_duplicates_are_left_out() {
    let mut provider = provider();
    let x25519 = provider.kx_groups[0];
    provider.kx_groups = vec![only_tls12(), x25519, x25519];
    let hello = sent_to("localhost", config_with(provider));
    let groups = Reader(hello.extension(SUPPORTED_GROUPS).unwrap()).vector(2);
    assert_eq!(read_u16s(groups), [u16::from(NamedGroup::X25519)]);
    assert_eq!(share_groups(&hello), [NamedGroup::X25519]);
}

/// Returns a group that TLS 1.3 cannot use.
fn only_tls12() -> &'static dyn SupportedKxGroup {
    Group::only_tls12(NamedGroup::secp521r1).leak()
}

/// Returns a hybrid with X25519 as its component.
fn hybrid() -> &'static dyn SupportedKxGroup {
    let mut hybrid = Group::new(NamedGroup::X25519MLKEM768, b"hybrid");
    hybrid.component = Some((NamedGroup::X25519, b"component".to_vec()));
    hybrid.leak()
}

#[test]
fn the_component_of_a_hybrid_is_offered_if_it_is_listed_later() {
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
    assert_eq!(shares(vec![hybrid(), x25519]), both);
    assert_eq!(shares(vec![hybrid(), secp256r1, x25519]), both);
    assert_eq!(shares(vec![hybrid(), secp256r1]), both[..1]);
    assert_eq!(shares(vec![x25519, hybrid()]), both[1..]);
}

#[cfg(all(feature = "aws_lc_rs", feature = "prefer-post-quantum"))]
#[test]
fn a_hybrid_is_offered_by_default() {
    use crate::handshake_client::clients::full_provider;
    let hello = sent_to("localhost", config_with(full_provider()));
    let both = [NamedGroup::X25519MLKEM768, NamedGroup::X25519];
    assert_eq!(share_groups(&hello), both);
}

/// Asserts that creating a connection returns an [`Error::General`] in either API.
#[track_caller]
fn refuse_to_start(config: ClientConfig) {
    let config = Arc::new(config);
    let name = ServerName::try_from("localhost").unwrap();
    let buffered = ClientConnection::new(config.clone(), name.clone()).map(drop);
    assert!(matches!(buffered, Err(Error::General(_))));
    let unbuffered = UnbufferedClientConnection::new(config, name).map(drop);
    assert!(matches!(unbuffered, Err(Error::General(_))));
}

#[test]
fn alpn_lists_that_cannot_be_encoded_prevent_a_connection() {
    let with = |alpn_protocols| {
        let mut config = config_with(provider());
        config.alpn_protocols = alpn_protocols;
        config
    };
    refuse_to_start(with(vec![vec![]]));
    refuse_to_start(with(vec![b"h2".to_vec(), vec![b'a'; 256]]));
    refuse_to_start(with(vec![vec![b'a'; 255]; 225]));

    let longest = with(vec![vec![b'a'; 255]; 224]);
    let hello = sent_to("localhost", longest);
    let names = Reader(hello.extension(ALPN).unwrap()).vector(2);
    assert_eq!(names.len(), 224 * 256);
}

#[test]
fn a_configuration_needs_a_group_for_tls13() {
    let mut provider = provider();
    provider.kx_groups = vec![only_tls12()];
    let built = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13]);
    assert!(matches!(built.err(), Some(Error::General(_))));
}
