//! Chains are not shared by configurations that were not set up for that, nor by peers that are not
//! authenticated. Sharing never affects a verdict.

use std::ptr;
use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Provider, Versions, product};
use rustls::certificates::{CacheStats, PeerChains};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::{CertificateError, ClientConfig, Error, HandshakeKind, ServerConfig};

use crate::peer_chains::kit::{Authority, connect, with_tickets};

fn all(test: impl Fn(Provider, Versions)) {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        test(provider, versions);
    }
}

fn client(provider: Provider, versions: Versions) -> ClientConfig {
    let authority = Authority::get();
    authority.client(provider, versions, authority.client_chain(0))
}

fn server(provider: Provider, versions: Versions) -> ServerConfig {
    Authority::get().server(provider, versions)
}

#[test]
fn configurations_share_chains_only_on_request() {
    all(|provider, versions| {
        for is_told in [false, true] {
            let first = server(provider, versions);
            let mut second = server(provider, versions);
            if is_told {
                second.peer_chains = first.peer_chains.clone();
            }
            let chain = Authority::get().client_chain(0);
            let client = || Authority::get().client(provider, versions, chain.clone());
            let (_, first) = connect(&Arc::new(client()), &Arc::new(first)).unwrap();
            let (_, second) = connect(&Arc::new(client()), &Arc::new(second)).unwrap();
            let chains = [&first, &second].map(|conn| conn.peer_certificates().unwrap());
            assert_eq!(chains[0], chains[1]);
            assert_eq!(ptr::eq(chains[0], chains[1]), is_told);
        }
    });
}

#[test]
fn a_clone_of_a_configuration_shares_its_chains() {
    let (provider, versions) = (Provider::Ring, Versions::Tls13);
    let (client, server) = (client(provider, versions), server(provider, versions));
    assert!(Arc::ptr_eq(
        &client.peer_chains,
        &client.clone().peer_chains
    ));
    assert!(Arc::ptr_eq(
        &server.peer_chains,
        &server.clone().peer_chains
    ));
}

/// Chains of other authorities, and ours presented without the key, are never added to the map on
/// either side.
#[test]
fn chains_of_unauthenticated_peers_are_not_kept() {
    let (authority, other) = (Authority::get(), Authority::new("theirs"));
    all(|provider, versions| {
        let expect = |client: ClientConfig, server: ServerConfig, error: Error| {
            let (client, server) = (Arc::new(client), Arc::new(server));
            for _ in 0..3 {
                assert_eq!(connect(&client, &server).err(), Some(error.clone()));
            }
            let chains = [&client.peer_chains, &server.peer_chains].map(|it| it.stats());
            let verified = [&client.verified_chains, &server.verified_chains].map(|it| it.stats());
            [(chains[0], verified[0]), (chains[1], verified[1])]
        };
        let assert_empty = |(chains, verified): (CacheStats, CacheStats)| {
            assert_eq!((chains.entries, chains.bytes, chains.hits), (0, Some(0), 0));
            assert_eq!((verified.entries, verified.hits), (0, 0));
        };
        let unknown = || Error::from(CertificateError::UnknownIssuer);
        let bad = || Error::from(CertificateError::BadSignature);

        for (steals, error) in [(false, unknown()), (true, bad())] {
            let mut untrusted = other.client(provider, versions, other.client_chain(0));
            let verifier = verifier_of(authority, provider);
            untrusted.dangerous().set_certificate_verifier(verifier);
            if steals {
                untrusted.client_auth_cert_resolver = stolen(authority, &other, provider);
            }
            let [_, of_server] = expect(untrusted, server(provider, versions), error);
            assert_empty(of_server);
        }

        let impostor = other.server(provider, versions);
        let [of_client, _] = expect(client(provider, versions), impostor, unknown());
        assert_empty(of_client);
    });
}

fn verifier_of(authority: &Authority, provider: Provider) -> Arc<WebPkiServerVerifier> {
    let crypto = Arc::new(provider.this());
    let builder = WebPkiServerVerifier::builder_with_provider(authority.roots(), crypto);
    builder.build().unwrap()
}

/// Creates a client's chain of `authority`, with the key of `other`, which does not match.
fn stolen(
    authority: &Authority,
    other: &Authority,
    provider: Provider,
) -> Arc<dyn rustls::client::ResolvesClientCert> {
    let key = provider.this().key_provider.load_private_key(other.key());
    let certified = rustls::sign::CertifiedKey::new(authority.client_chain(0), key.unwrap());
    Arc::new(rustls::sign::SingleCertAndKey::from(certified))
}

/// A server with another authority rejects a chain that the shared map knows, in full handshakes
/// and in resumptions.
#[test]
fn a_known_chain_is_still_verified() {
    let other = Authority::new("theirs");
    all(|provider, versions| {
        for sealed in [false, true] {
            let mut first = server(provider, versions);
            if sealed {
                first = with_tickets(first, provider);
            }
            let mut second = other.server(provider, versions);
            second.peer_chains = first.peer_chains.clone();
            second.session_storage = first.session_storage.clone();
            second.ticketer = first.ticketer.clone();
            second.cert_resolver = first.cert_resolver.clone();
            let client = Arc::new(client(provider, versions));
            let (first, second) = (Arc::new(first), Arc::new(second));
            let _live = connect(&client, &first).unwrap();
            let resumed = connect(&client, &first).unwrap();
            assert_eq!(resumed.1.handshake_kind(), Some(HandshakeKind::Resumed));
            let refusal = connect(&client, &second).err();
            assert_eq!(refusal, Some(CertificateError::UnknownIssuer.into()));
        }
    });
}

/// If more clients are connected than the map has room for, each is still identified by its own
/// chain.
#[test]
fn clients_are_not_confused_if_the_map_is_full() {
    let authority = Authority::get();
    all(|provider, versions| {
        let mut config = server(provider, versions);
        config.peer_chains = Arc::new(PeerChains::new(4));
        let server = Arc::new(config);
        let chains: [_; 10] = std::array::from_fn(|number| authority.client_chain(number));
        let mut live = Vec::new();
        for (_, chain) in product(0..2, &chains) {
            let mut client = authority.client(provider, versions, chain.clone());
            client.resumption = Resumption::disabled();
            let (_, conn) = connect(&Arc::new(client), &server).unwrap();
            assert_eq!(conn.peer_certificates(), Some(&chain[..]));
            live.push(conn);
        }
        let stats = server.peer_chains.stats();
        assert_eq!((stats.entries, stats.evictions), (4, 16));
        for (conn, chain) in live.iter().zip(chains.iter().cycle()) {
            assert_eq!(conn.peer_certificates(), Some(&chain[..]));
        }
    });
}
