//! Tests of connections with the provider validated for FIPS 140-3, between two ends of this crate
//! and with upstream.

use harness::either;
use harness::peers::configs::{ClientAuth, KeyType, Provider, Versions, product, this, upstream};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, UpstreamBuffered, handshake, send_and_check,
};
use rustls::crypto::{CryptoProvider, default_fips_provider, fastest};
use rustls::{ClientConfig, Connection, ServerConfig};

const KEY_TYPES: [KeyType; 3] = [KeyType::EcdsaP256, KeyType::EcdsaP384, KeyType::Rsa2048];

fn configs(versions: Versions, key_type: KeyType) -> (ClientConfig, ServerConfig) {
    let auth = ClientAuth::Required;
    (
        this::client_of(versions, default_fips_provider(), key_type, auth),
        this::server_of(versions, default_fips_provider(), key_type, auth),
    )
}

fn for_all(test: impl Fn(Versions, KeyType)) {
    for (versions, key_type) in product([Versions::Tls12, Versions::Tls13], KEY_TYPES) {
        test(versions, key_type);
    }
}

fn connect(client: &mut dyn Endpoint, server: &mut dyn Endpoint) {
    handshake(client, server);
    send_and_check(client, server, b"from the client");
    send_and_check(server, client, b"from the server");
}

fn assert_approved(conn: &Connection) {
    let suite = conn.negotiated_cipher_suite().unwrap();
    assert!(suite.fips(), "{suite:?}");
    let group = conn.negotiated_key_exchange_group().unwrap();
    assert!(group.fips(), "{group:?}");
    assert!(either!(rustls: conn, conn => conn.fips()));
}

#[test]
fn everything_offered_is_approved() {
    let provider = default_fips_provider();
    assert!(provider.fips());
    assert!(provider.cipher_suites.iter().all(|suite| suite.fips()));
    assert!(provider.kx_groups.iter().all(|group| group.fips()));
    for_all(|versions, key_type| {
        let (mut client, mut server) = configs(versions, key_type);
        assert!(client.require_ems && server.require_ems);
        assert!(client.fips() && server.fips());
        // without a required extended master secret, the configuration is not approved, even if TLS
        // 1.2 is disabled
        client.require_ems = false;
        server.require_ems = false;
        assert!(!client.fips() && !server.fips());
    });
}

/// The feature `ring` is also enabled, and does not change the default.
#[test]
fn the_provider_is_the_default() {
    assert!(CryptoProvider::get_default().is_none());
    assert!(ClientConfig::builder().crypto_provider().fips());
    assert!(fastest::default_provider().fips());
    assert!(ServerConfig::builder().crypto_provider().fips());
}

#[test]
fn two_ends_of_this_crate_connect() {
    for_all(|versions, key_type| {
        let (client, server) = configs(versions, key_type);
        let mut client = ThisBuffered::client(client);
        let mut server = ThisBuffered::server(server);
        connect(&mut client, &mut server);
        assert_approved(&client.conn);
        assert_approved(&server.conn);
    });
}

#[test]
fn a_connection_with_upstream_without_fips_works() {
    let ring = || Provider::Ring.upstream();
    for_all(|versions, key_type| {
        let (client, server) = configs(versions, key_type);
        let auth = ClientAuth::Required;
        let other_client = upstream::client_of(versions, ring(), key_type, auth);
        let other_server = upstream::server_of(versions, ring(), key_type, auth);

        let mut client = ThisBuffered::client(client);
        connect(&mut client, &mut UpstreamBuffered::server(other_server));
        assert_approved(&client.conn);

        let mut server = ThisBuffered::server(server);
        connect(&mut UpstreamBuffered::client(other_client), &mut server);
        assert_approved(&server.conn);
    });
}
