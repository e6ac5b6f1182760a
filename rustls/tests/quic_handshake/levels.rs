//! Tests of messages and the keys that protect them.

use harness::peers::configs::product;
use rustls::{AlertDescription, HandshakeKind, PeerMisbehaved};

use super::*;

const HANDSHAKE: Option<&str> = Some("Handshake");
const ONE_RTT: Option<&str> = Some("1-RTT");

fn calls(written: &[Written]) -> Vec<(Vec<u8>, Option<&'static str>)> {
    let call = |written: &Written| (written.types(), written.keys);
    written.iter().map(call).collect()
}

fn apart(pair: (Connection, Connection)) -> (ClientConnection, ServerConnection) {
    match pair {
        (Connection::Client(client), Connection::Server(server)) => (client, server),
        _ => panic!("the sides are exchanged"),
    }
}

/// The client and server connections report the same values as [`Connection`].
#[test]
fn client_and_server_types_report_the_values_of_a_connection() {
    for configs in PROVIDERS.map(Configs::new) {
        let (client, server) = apart((configs.client(), configs.server()));
        assert_eq!(client.quic_transport_parameters(), None);
        assert_eq!(client.tls13_tickets_received(), 0);
        assert_eq!(server.quic_transport_parameters(), None);
        assert_eq!(server.server_name(), None);

        let (client, server) = apart(configs.connected());
        assert_eq!(client.quic_transport_parameters(), Some(SERVER_PARAMETERS));
        assert_eq!(client.tls13_tickets_received(), 2);
        assert_eq!(server.quic_transport_parameters(), Some(CLIENT_PARAMETERS));
        let name = server.server_name().map(str::to_owned);
        assert_eq!(name, Some(server_name().to_str().into_owned()));

        // a client with the session, and an unexpected message
        let (mut client, _) = apart((configs.client(), configs.server()));
        assert!(client.zero_rtt_keys().is_some());
        assert_eq!(client.alert(), None);
        client.read_hs(&message(20, &[])).unwrap_err();
        assert_eq!(client.alert(), Some(AlertDescription::UnexpectedMessage));
    }
}

#[test]
fn messages_and_keys_come_in_the_order_of_the_packets() {
    for configs in PROVIDERS.map(Configs::new) {
        let (mut client, mut server) = (configs.client(), configs.server());
        assert!(write_all(&mut server).is_empty());

        let hello = write_all(&mut client);
        assert_eq!(calls(&hello), [(vec![1], None)]);
        server.read_hs(&hello[0].bytes).unwrap();
        assert_eq!(server.quic_transport_parameters(), Some(CLIENT_PARAMETERS));

        let flight = write_all(&mut server);
        assert_eq!(
            calls(&flight),
            [(vec![2], HANDSHAKE), (vec![8, 11, 15, 20], ONE_RTT)]
        );
        client.read_hs(&flight[0].bytes).unwrap();
        assert_eq!(calls(&write_all(&mut client)), [(vec![], HANDSHAKE)]);
        assert_eq!(client.quic_transport_parameters(), None);
        client.read_hs(&flight[1].bytes).unwrap();
        assert_eq!(client.quic_transport_parameters(), Some(SERVER_PARAMETERS));
        assert!(!client.is_handshaking());

        let finished = write_all(&mut client);
        assert_eq!(calls(&finished), [(vec![20], ONE_RTT)]);
        assert!(server.is_handshaking());
        server.read_hs(&finished[0].bytes).unwrap();
        assert!(!server.is_handshaking());

        let tickets = write_all(&mut server);
        assert_eq!(calls(&tickets), [(vec![4, 4], None)]);
        client.read_hs(&tickets[0].bytes).unwrap();
        assert!(write_all(&mut client).is_empty());
    }
}

/// RFC 9001 §4.1.3: data never uses another level's keys, even if it is written late.
#[test]
fn late_writes_do_not_mix_levels() {
    for (provider, len) in product(PROVIDERS, [1, usize::MAX]) {
        let configs = Configs::new(provider);
        let (mut client, mut server) = (configs.client(), configs.server());
        relay(&mut client, &mut server);
        for written in write_all(&mut server) {
            client.read_hs(&[]).unwrap();
            for piece in written.bytes.chunks(len) {
                client.read_hs(piece).unwrap();
            }
        }
        assert_eq!(
            calls(&write_all(&mut client)),
            [(vec![], HANDSHAKE), (vec![20], ONE_RTT)]
        );
    }
}

#[test]
fn a_retry_changes_no_keys() {
    for provider in PROVIDERS {
        let mut configs = Configs::new(provider);
        configs.server = Arc::new(retrying(provider));

        let (mut client, mut server) = (configs.client(), configs.server());
        relay(&mut client, &mut server);
        let retry = write_all(&mut server);
        assert_eq!(calls(&retry), [(vec![2], None)]);
        client.read_hs(&retry[0].bytes).unwrap();
        let second = write_all(&mut client);
        assert_eq!(calls(&second), [(vec![1], None)]);
        server.read_hs(&second[0].bytes).unwrap();
        exchange(&mut client, &mut server);
        assert!(!server.is_handshaking());
        for conn in [client, server] {
            assert_eq!(
                conn.handshake_kind(),
                Some(HandshakeKind::FullWithHelloRetryRequest)
            );
        }
    }
}

#[test]
fn write_hs_appends_to_the_buffer() {
    let configs = Configs::new(Provider::Ring);
    for capacity in [4, 4000] {
        let mut buf = Vec::with_capacity(capacity);
        buf.extend(b"here");
        assert!(configs.client().write_hs(&mut buf).is_none());
        assert_eq!(buf[..4], *b"here");
        assert_eq!(split(&buf[4..]).len(), 1);
    }
}

/// RFC 9846 §5.1: no handshake bytes may follow a message that changes keys.
#[test]
fn nothing_may_follow_a_message_that_changes_keys() {
    let configs = Configs::new(Provider::Ring);
    let hello = write(&mut configs.client()).bytes;
    for more in [&[20][..], &hello] {
        let mut server = configs.server();
        refused(&mut server, &[&hello, more].concat());
    }

    for reads_hello in [false, true] {
        let (mut client, mut server) = (configs.client(), configs.server());
        relay(&mut client, &mut server);
        let [hello, flight] = two_levels(&mut server);
        if reads_hello {
            client.read_hs(&hello).unwrap();
            refused(&mut client, &[&flight[..], &[4]].concat());
        } else {
            refused(&mut client, &[hello, flight].concat());
        }
    }
}

fn refused(conn: &mut Connection, bytes: &[u8]) {
    let error = PeerMisbehaved::KeyEpochWithPendingFragment;
    assert_eq!(conn.read_hs(bytes), Err(error.into()));
    assert_eq!(conn.alert(), Some(AlertDescription::UnexpectedMessage));
}
