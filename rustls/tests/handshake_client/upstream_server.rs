//! Tests of the client with upstream's server: groups, and which of them the client remembers.
//! `matrix` and `behaviour` test what both sides have in common.

use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, Provider, server_name};
use harness::peers::endpoints::{ThisBuffered, UpstreamBuffered, handshake, send_and_check};
use rustls::client::{ClientSessionMemoryCache, ClientSessionStore, Resumption};
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, HandshakeKind, NamedGroup};

use crate::handshake_client::clients::provider;

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// Creates upstream's server with those of its groups that `has` selects. It requires a
/// certificate.
fn server_config(
    has: impl Fn(rustls_upstream::NamedGroup) -> bool,
) -> rustls_upstream::ServerConfig {
    let mut provider = Provider::AwsLc.upstream();
    provider.kx_groups.retain(|group| has(group.name()));
    configs::upstream::server(provider, KEY_TYPE, ClientAuth::Required)
}

fn client_config(provider: CryptoProvider) -> ClientConfig {
    configs::this::client(provider, KEY_TYPE, ClientAuth::Required)
}

/// Completes a handshake and sends data in both directions.
fn connect(
    client: impl Into<Arc<ClientConfig>>,
    server: impl Into<Arc<rustls_upstream::ServerConfig>>,
) -> (ThisBuffered, UpstreamBuffered) {
    let (mut client, mut server) = (
        ThisBuffered::client(client),
        UpstreamBuffered::server(server),
    );
    handshake(&mut client, &mut server);
    send_and_check(&mut client, &mut server, b"to the server");
    send_and_check(&mut server, &mut client, b"to the client");
    (client, server)
}

#[test]
fn the_group_of_a_retry_is_remembered() {
    let server = server_config(|group| group == rustls_upstream::NamedGroup::secp256r1);
    let store = Arc::new(ClientSessionMemoryCache::new(32));
    let mut client = client_config(provider());
    client.resumption = Resumption::store(store.clone());
    let (client, server) = (Arc::new(client), Arc::new(server));

    let (first, _) = connect(client.clone(), server.clone());
    let kind = first.conn.handshake_kind();
    assert_eq!(kind, Some(HandshakeKind::FullWithHelloRetryRequest));
    let name = server_name();
    assert_eq!(store.kx_hint(&name), Some(NamedGroup::secp256r1));

    // a resumed handshake would not show whether there was a retry
    while store.take_tls13_ticket(&name).is_some() {}
    let (second, _) = connect(client, server);
    assert_eq!(second.conn.handshake_kind(), Some(HandshakeKind::Full));
}

#[cfg(all(feature = "aws_lc_rs", feature = "prefer-post-quantum"))]
#[test]
fn a_server_without_the_hybrid_uses_its_component() {
    let server = server_config(|group| group == rustls_upstream::NamedGroup::X25519);
    let (client, _) = connect(
        client_config(crate::handshake_client::clients::full_provider()),
        server,
    );
    assert_eq!(client.conn.handshake_kind(), Some(HandshakeKind::Full));
    let group = client.conn.negotiated_key_exchange_group().unwrap();
    assert_eq!(group.name(), NamedGroup::X25519);
}
