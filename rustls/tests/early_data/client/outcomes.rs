//! Early data that is accepted, rejected or never offered.

use std::io::Write;
use std::sync::Arc;

use harness::peers::callbacks::KeyLines;
use harness::peers::configs::{
    self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, product3, server_name,
};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, Transfer, exchange, handshake, send_and_check, talk_and_close,
};
use harness::table;
use harness::wire::client_hello::{ClientHello, PRE_SHARED_KEY};
use harness::wire::plain_messages;
use rustls::client::UnbufferedClientConnection;
use rustls::{ClientConfig, ClientConnection, NamedGroup};

use super::clients::{
    APIS, Api, Client, LIMIT, ServerConfig, client_config, encode, prime, primed, read_early,
    server, server_config,
};

/// Offers early data to a server. Returns the early data that the server read.
fn offer(
    api: Api,
    client_config: &Arc<ClientConfig>,
    server_config: &Arc<ServerConfig>,
) -> (Client, Option<Vec<u8>>) {
    let (mut client, flight) = Client::start(api, client_config, &[b"early"]);
    let mut server = server(server_config);
    server.receive(&flight).unwrap();
    let read = read_early(&mut server);
    handshake(client.endpoint(), &mut server);
    talk_and_close(client.endpoint(), &mut server);
    (client, read)
}

/// A server that does not accept early data skips it and resumes the session, or makes a full
/// handshake if it does not know the ticket. After a HelloRetryRequest, the client continues
/// without encryption, with the ticket but without early data.
#[test]
fn rejected_early_data_is_lost_and_reported() {
    for (provider, api, reason) in product3(PROVIDERS, APIS, ["protocol", "ticket", "group"]) {
        let (client_config, accepting) = primed(provider, LIMIT);
        let mut rejecting = server_config(provider);
        if reason == "group" {
            let mut crypto = provider.upstream();
            let is_secp384r1 = |name| u16::from(name) == NamedGroup::secp384r1.into();
            crypto.kx_groups.retain(|group| is_secp384r1(group.name()));
            rejecting = configs::upstream::server(crypto, KeyType::Ed25519, ClientAuth::None);
            rejecting.max_early_data_size = LIMIT;
        }
        if reason != "ticket" {
            rejecting.session_storage = accepting.session_storage.clone();
        }
        if reason == "protocol" {
            rejecting.alpn_protocols = vec![b"h2".to_vec()];
        }
        let (mut client, read) = offer(api, &client_config, &Arc::new(rejecting));
        assert!(!client.is_early_data_accepted(), "{reason}");
        assert_eq!(read, None, "{reason}");
        let kind = if reason == "ticket" {
            "(Full)"
        } else {
            "(Resumed)"
        };
        let negotiated = client.endpoint().negotiated();
        assert!(negotiated.contains(kind), "{reason}: {negotiated}");
    }
}

fn starts_with_early_data(config: impl Into<Arc<ClientConfig>>) -> bool {
    ThisBuffered::client(config)
        .as_client()
        .early_data()
        .is_some()
}

#[test]
fn early_data_is_offered_only_if_all_conditions_hold() {
    type Change = fn(&mut ClientConfig);
    const CASES: [(&str, u32, Change, bool); 6] = table! {
        "unchanged": LIMIT, |_| {}, true;
        "disabled": LIMIT, |config| config.enable_early_data = false, false;
        "the session's protocol": LIMIT, |config| config.alpn_protocols.rotate_left(1), true;
        // with another protocol, the server must reject early data
        "another protocol": LIMIT, |config| config.alpn_protocols.truncate(1), true;
        "no protocol": LIMIT, |config| config.alpn_protocols.clear(), true;
        "a session without early data": 0, |_| {}, false;
    };
    for provider in PROVIDERS {
        for (what, limit, change, due) in CASES {
            let (config, _) = primed(provider, limit);
            // the session's protocol is http/1.1
            assert_eq!(config.alpn_protocols, [&b"h2"[..], b"http/1.1"]);
            let mut config = (*config).clone();
            change(&mut config);
            assert_eq!(starts_with_early_data(config), due, "{what}");
        }
        assert!(
            !starts_with_early_data(client_config(provider)),
            "no session"
        );
    }
}

/// Application data written during the handshake follows the early data and survives its rejection.
#[test]
fn application_data_waits_for_the_handshake() {
    for (provider, accepted) in product(PROVIDERS, [true, false]) {
        let (client_config, server_config) = primed(provider, LIMIT);
        let mut conn = ClientConnection::new(client_config, server_name()).unwrap();
        conn.early_data().unwrap().write_all(b"early").unwrap();
        conn.writer().write_all(b"late").unwrap();
        conn.early_data().unwrap().write_all(b" data").unwrap();
        conn.send_close_notify();
        assert!(conn.early_data().is_none(), "after close_notify");

        let mut client = ThisBuffered::new(conn);
        let other = Arc::new(self::server_config(provider));
        let mut server = server(if accepted { &server_config } else { &other });
        server.receive(&client.take_output()).unwrap();
        let early = read_early(&mut server);
        assert_eq!(early, accepted.then(|| b"early data".to_vec()));
        exchange(&mut client, &mut server).unwrap();
        let late = server.read_all();
        assert_eq!(late, b"late");
        assert!(server.peer_has_closed());
    }
}

/// More early data may follow between the server's acceptance and its Finished.
#[test]
fn early_data_can_be_written_until_the_handshake_completes() {
    for provider in PROVIDERS {
        let (client_config, server_config) = primed(provider, LIMIT);
        let mut conn = ClientConnection::new(client_config, server_name()).unwrap();
        let mut server = server(&server_config);
        let mut wire = Vec::new();
        conn.write_tls(&mut wire).unwrap();
        server.receive(&wire).unwrap();
        assert!(!conn.is_early_data_accepted());

        let flight = server.take_output();
        let records = harness::wire::records(&flight);
        let mut read = Vec::new();
        for record in &records {
            if let Some(mut writer) = conn.early_data() {
                writer.write_all(b"more ").unwrap();
            }
            let mut bytes = &record.to_bytes()[..];
            conn.read_tls(&mut bytes).unwrap();
            conn.process_new_packets().unwrap();
            let client = conn.output();
            server.receive(&client).unwrap();
            read.extend(read_early(&mut server).unwrap_or_default());
        }
        assert!(conn.early_data().is_none());
        assert!(conn.is_early_data_accepted());
        assert!(!read.is_empty() && read.chunks(5).all(|piece| piece == b"more "));
        let mut client = ThisBuffered::new(conn);
        exchange(&mut client, &mut server).unwrap();
        send_and_check(&mut client, &mut server, b"after");
    }
}

#[test]
fn the_early_secrets_are_logged() {
    for (provider, api) in product(PROVIDERS, APIS) {
        let (ours, theirs) = (Arc::<KeyLines>::default(), Arc::<KeyLines>::default());
        let mut client_config = client_config(provider);
        client_config.key_log = ours.clone();
        let mut server_config = server_config(provider);
        server_config.key_log = theirs.clone();
        let (client_config, server_config) = (Arc::new(client_config), Arc::new(server_config));
        prime(&client_config, &server_config);
        ours.take();
        theirs.take();
        offer(api, &client_config, &server_config);
        let (ours, theirs) = (ours.lines(), theirs.lines());
        assert_eq!(ours[0].0, "CLIENT_EARLY_TRAFFIC_SECRET");
        assert_eq!(ours[1].0, "EARLY_EXPORTER_SECRET");
        for logged in &theirs {
            assert!(ours.contains(logged), "{logged:?}");
        }
        assert!(theirs.iter().any(|logged| logged.0 == ours[0].0));
    }
}

/// RFC 9846 §E.4: the only change_cipher_spec is sent between the ClientHello and early data.
#[test]
fn the_change_cipher_spec_comes_before_early_data() {
    for api in APIS {
        let (client_config, server_config) = primed(Provider::AwsLc, LIMIT);
        let (mut client, flight) = Client::start(api, &client_config, &[b"early"]);
        let types = |bytes: &[u8]| {
            let records = harness::wire::records(bytes);
            records.iter().map(|record| record.typ).collect::<Vec<_>>()
        };
        assert_eq!(types(&flight), [22, 20, 23]);
        let mut server = server(&server_config);
        server.receive(&flight).unwrap();
        client.endpoint().receive(&server.take_output()).unwrap();
        // EndOfEarlyData and Finished, each under its own keys
        assert_eq!(types(&client.endpoint().take_output()), [23, 23]);
    }
}

/// An unbuffered client without early data returns an error where it would encrypt such data.
#[test]
fn an_unbuffered_client_without_a_session_encrypts_no_early_data() {
    let config = Arc::new(client_config(Provider::AwsLc));
    let mut conn = UnbufferedClientConnection::new(config, server_name()).unwrap();
    let (_, mut state) = encode(&mut conn);
    assert!(state.may_encrypt_early_data().is_none());
    assert!(state.may_encrypt_app_data().is_none());
    state.done();
}

/// RFC 9846 §E.3: a client that offers early data accepts only TLS 1.3. An older server may have
/// replaced the original one, but an attacker may also have forced the downgrade.
#[test]
fn an_older_server_is_refused_if_early_data_was_offered() {
    for provider in PROVIDERS {
        let key_type = KeyType::Ed25519;
        let auth = ClientAuth::None;
        let old = |versions| {
            let crypto = provider.upstream();
            let mut config = configs::upstream::server_of(versions, crypto, key_type, auth);
            config.max_early_data_size = LIMIT;
            Arc::new(config)
        };
        for (api, enable_early_data) in product(APIS, [true, false]) {
            let (versions, crypto) = (Versions::Both, provider.this());
            let mut config = configs::this::client_of(versions, crypto, key_type, auth);
            config.enable_early_data = enable_early_data;
            let config = Arc::new(config);
            prime(&config, &old(Versions::Both));
            let (mut client, flight) = Client::start(api, &config, &[]);
            let hello = ClientHello::read(&plain_messages(&flight));
            assert!(hello.extension(PRE_SHARED_KEY).is_some());
            let mut old = server(&old(Versions::Tls12));
            // an older server does not process records that look like application data
            let hello_len = 5 + usize::from(u16::from_be_bytes([flight[3], flight[4]]));
            old.receive(&flight[..hello_len]).unwrap();
            let result = client.endpoint().receive(&old.take_output());
            if enable_early_data {
                let expected = "PeerMisbehaved(OfferedEarlyDataWithOldProtocolVersion)";
                assert_eq!(result.unwrap_err(), expected);
                assert!(client.endpoint().is_handshaking());
            } else {
                result.unwrap();
                handshake(client.endpoint(), &mut old);
                let negotiated = client.endpoint().negotiated();
                assert!(negotiated.starts_with("Some(TLSv1_2)"), "{negotiated}");
                assert!(negotiated.ends_with("Some(Full)"), "{negotiated}");
            }
        }
    }
}
