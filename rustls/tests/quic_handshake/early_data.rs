//! Tests of 0-RTT keys, and of the values that sessions remember for early data.

use harness::peers::configs::product;
use rustls::HandshakeKind;
use rustls::quic::PacketKey;

use super::*;

/// Returns configurations whose client has stored a session.
fn with_session(provider: Provider) -> Configs {
    let configs = Configs::new(provider);
    configs.connected();
    configs
}

fn is_accepted(client: &Connection) -> bool {
    match client {
        Connection::Client(client) => client.is_early_data_accepted(),
        Connection::Server(_) => panic!("a server"),
    }
}

fn reject(server: &mut Connection) {
    match server {
        Connection::Server(server) => server.reject_early_data(),
        Connection::Client(_) => panic!("a client"),
    }
}

/// True if `server` opens the packets that `client` protects.
fn keys_match(client: &dyn PacketKey, server: &dyn PacketKey) -> bool {
    let mut packet = b"early".to_vec();
    let tag = client.encrypt_in_place(0, b"header", &mut packet).unwrap();
    packet.extend(tag.as_ref());
    server.decrypt_in_place(0, b"header", &mut packet) == Ok(b"early")
}

#[test]
fn early_data_keys_last_until_the_handshake_is_complete() {
    for configs in PROVIDERS.map(with_session) {
        let (mut client, mut server) = (configs.client(), configs.server());
        let client_keys = client.zero_rtt_keys().unwrap();
        assert_eq!(client.quic_transport_parameters(), Some(SERVER_PARAMETERS));
        assert!(server.zero_rtt_keys().is_none());

        relay(&mut client, &mut server);
        let server_keys = server.zero_rtt_keys().unwrap();
        assert!(keys_match(&*client_keys.packet, &*server_keys.packet));
        assert!(client.zero_rtt_keys().is_some());

        relay(&mut server, &mut client);
        assert!(client.zero_rtt_keys().is_none());
        assert!(server.zero_rtt_keys().is_some());
        relay(&mut client, &mut server);
        assert!(server.zero_rtt_keys().is_none());
        assert!(is_accepted(&client));
        assert_eq!(server.handshake_kind(), Some(HandshakeKind::Resumed));
    }
}

/// A client drops its keys with the message that rejects early data: the ServerHello without
/// resumption, EncryptedExtensions otherwise.
#[test]
fn early_data_keys_are_dropped_when_a_client_learns_of_the_rejection() {
    for (provider, resumes) in product(PROVIDERS, [true, false]) {
        let mut configs = with_session(provider);
        if !resumes {
            configs.server = Arc::new(server_config(provider.this()));
        }
        let (mut client, mut server) = (configs.client(), configs.server());
        assert!(client.zero_rtt_keys().is_some());
        if resumes {
            reject(&mut server);
        }
        relay(&mut client, &mut server);
        assert!(server.zero_rtt_keys().is_none());
        let [hello, flight] = two_levels(&mut server);
        client.read_hs(&hello).unwrap();
        assert_eq!(client.zero_rtt_keys().is_some(), resumes);
        for message in split(&flight) {
            client.read_hs(message).unwrap();
            assert!(client.zero_rtt_keys().is_none());
        }
        exchange(&mut client, &mut server);
        assert!(!is_accepted(&client) && !server.is_handshaking());
        let kind = if resumes {
            HandshakeKind::Resumed
        } else {
            HandshakeKind::Full
        };
        assert_eq!(server.handshake_kind(), Some(kind));
    }
}

/// A late rejection discards the server's keys, and the handshake still completes.
#[test]
fn a_server_can_reject_early_data_after_the_client_hello() {
    let configs = with_session(Provider::Ring);
    let (mut client, mut server) = (configs.client(), configs.server());
    relay(&mut client, &mut server);
    reject(&mut server);
    assert!(server.zero_rtt_keys().is_none());
    exchange(&mut client, &mut server);
    assert!(!server.is_handshaking());
}

/// RFC 9846 §4.3.10: early data is rejected by a HelloRetryRequest.
#[test]
fn early_data_keys_are_dropped_after_a_retry() {
    for provider in PROVIDERS {
        let mut configs = with_session(provider);
        let mut config = retrying(provider);
        config.session_storage = configs.server.session_storage.clone();
        configs.server = Arc::new(config);

        let (mut client, mut server) = (configs.client(), configs.server());
        assert!(client.zero_rtt_keys().is_some());
        relay(&mut client, &mut server);
        assert!(server.zero_rtt_keys().is_none());
        relay(&mut server, &mut client);
        assert!(client.zero_rtt_keys().is_none());
        assert_eq!(client.quic_transport_parameters(), Some(SERVER_PARAMETERS));
        exchange(&mut client, &mut server);
        assert_eq!(client.handshake_kind(), Some(HandshakeKind::Resumed));
        assert!(!is_accepted(&client) && !server.is_handshaking());
    }
}
