//! Servers that change their version between connections, and handshakes in many small records.

use std::sync::Arc;

use harness::peers::configs::{
    ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, this, upstream,
};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered, exchange,
};
use harness::scripted::{Identity, SUPPORTED_VERSIONS, Script};
use harness::wire::client_hello::{ClientHello, PRE_SHARED_KEY};
use harness::wire::plain_messages;
use rustls::{ClientConfig, HandshakeKind, ProtocolVersion};
use rustls_upstream::ServerConfig;

use super::clients;

const KEY: KeyType = KeyType::EcdsaP256;
const AUTH: ClientAuth = ClientAuth::None;

fn server(provider: Provider, versions: Versions) -> Arc<ServerConfig> {
    let mut config = upstream::server_of(versions, provider.upstream(), KEY, AUTH);
    config.max_early_data_size = 1000;
    Arc::new(config)
}

/// Connects and returns the client, the result and the ClientHello.
fn connect(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> (ThisBuffered, Result<(), String>, ClientHello) {
    let mut client = ThisBuffered::client(client.clone());
    let mut server = UpstreamBuffered::server(server.clone());
    let output = client.take_output();
    let hello = ClientHello::read(&plain_messages(&output));
    // without the change_cipher_spec that precedes early data, which an old server rejects at once
    let record_len = 5 + usize::from(u16::from_be_bytes([output[3], output[4]]));
    let output = &output[..record_len];
    let result = server
        .receive(output)
        .and_then(|()| exchange(&mut client, &mut server));
    (client, result, hello)
}

#[test]
fn a_server_that_loses_tls13() {
    for (provider, early_data) in product(PROVIDERS, [false, true]) {
        let mut config = this::client_of(Versions::Both, provider.this(), KEY, AUTH);
        config.enable_early_data = early_data;
        let config = Arc::new(config);
        let (client, result, _) = connect(&config, &server(provider, Versions::Tls13));
        assert_eq!(result, Ok(()));
        let version = client.conn.protocol_version();
        assert_eq!(version, Some(ProtocolVersion::TLSv1_3));

        let (client, result, hello) = connect(&config, &server(provider, Versions::Tls12));
        assert!(hello.extension(PRE_SHARED_KEY).is_some());
        if early_data {
            // RFC 9846 §E.3: the server may have misread the early data
            let error = result.unwrap_err();
            assert!(
                error.contains("OfferedEarlyDataWithOldProtocolVersion"),
                "{error}"
            );
        } else {
            assert_eq!(result, Ok(()));
            let version = client.conn.protocol_version();
            assert_eq!(version, Some(ProtocolVersion::TLSv1_2));
            assert_eq!(client.conn.handshake_kind(), Some(HandshakeKind::Full));
        }
    }
}

#[test]
fn a_server_that_gains_tls13() {
    for provider in PROVIDERS {
        let config = this::client_of(Versions::Both, provider.this(), KEY, AUTH);
        let config = Arc::new(config);
        let old = server(provider, Versions::Tls12);
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let (client, result, _) = connect(&config, &old);
            assert_eq!(result, Ok(()));
            assert_eq!(client.conn.handshake_kind(), Some(kind));
        }

        let (client, result, hello) = connect(&config, &server(provider, Versions::Both));
        assert_eq!(result, Ok(()));
        // RFC 9846 §4.2.2: the session's ID, which the server echoes without resuming
        assert_eq!(hello.session_id.len(), 32);
        let version = client.conn.protocol_version();
        assert_eq!(version, Some(ProtocolVersion::TLSv1_3));
        assert_eq!(client.conn.handshake_kind(), Some(HandshakeKind::Full));
    }
}

/// RFC 9846 §4.2.4: a HelloRetryRequest fixes the version.
#[test]
fn a_retry_binds_to_tls13() {
    let identity = Identity::new(Provider::AwsLc.this());
    let mut script = Script::with_retry();
    let hello = &mut script.server_hello;
    hello
        .extensions
        .retain(|(typ, _)| *typ != SUPPORTED_VERSIONS);
    hello.suite = 0xc02b;
    for client in clients(Provider::AwsLc, Versions::Both) {
        let end = identity.run(&mut *client.connection(), &script);
        let error = end.error.unwrap_or_default();
        let due = match client.name {
            // upstream checks the suite first
            "upstream" => "SelectedDifferentCipherSuiteAfterRetry",
            _ => "AttemptedDowngradeToTls12",
        };
        assert!(error.contains(due), "{}: {error}", client.name);
        assert_eq!(end.alert.map(u8::from), Some(47), "{}", client.name);
    }
}

/// RFC 8446 §4.1.4 and before: a client of TLS 1.2 alone knows no HelloRetryRequest.
#[test]
fn tls12_has_no_retry() {
    let identity = Identity::new(Provider::AwsLc.this());
    for client in &clients(Provider::AwsLc, Versions::Tls12)[..2] {
        let end = identity.run(&mut *client.connection(), &Script::with_retry());
        let error = end.error.unwrap_or_default();
        let due = "InappropriateHandshakeMessage";
        assert!(error.contains(due), "{}: {error}", client.name);
    }
}

#[test]
fn flights_in_small_records_and_pieces() {
    let auth = ClientAuth::Required;
    for (provider, key) in product(PROVIDERS, [KeyType::EcdsaP256, KeyType::Rsa2048]) {
        let mut config = this::client_of(Versions::Tls12, provider.this(), key, auth);
        config.max_fragment_size = Some(40);
        let config = Arc::new(config);
        let mut server = upstream::server_of(Versions::Tls12, provider.upstream(), key, auth);
        server.max_fragment_size = Some(40);
        let server = Arc::new(server);
        for piece in [1, 7, 100] {
            let ends: [Box<dyn Endpoint>; 2] = [
                Box::new(ThisBuffered::client(config.clone())),
                Box::new(ThisUnbuffered::client(config.clone())),
            ];
            for mut client in ends {
                let mut server = UpstreamBuffered::server(server.clone());
                loop {
                    let to_server = client.take_output();
                    server.receive(&to_server).unwrap();
                    let to_client = server.take_output();
                    for piece in to_client.chunks(piece) {
                        client.receive(piece).unwrap();
                    }
                    if to_server.is_empty() && to_client.is_empty() {
                        break;
                    }
                }
                assert!(!client.is_handshaking() && !server.is_handshaking());
                assert_eq!(client.negotiated(), server.negotiated());
                assert_eq!(server.peer_certificates().len(), 1);
            }
        }
    }
}
