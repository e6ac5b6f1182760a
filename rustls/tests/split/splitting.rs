//! Tests of the conditions for splitting a connection, and of the handling of its buffered data.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

use harness::either;
use harness::peers::configs::{PROVIDERS, SERVER_NAME, Versions};
use harness::peers::endpoints::{Endpoint, ThisUnbuffered, Transfer, exchange};
use harness::peers::pairs::this::Configs;
use harness::peers::roles::this::Config;
use rustls::Error;
use rustls::client::EchStatus;
use rustls::split::{Receiver, Sender};

use crate::split::kit::{
    Halves, KEY_TYPE, KEY_UPDATE, PROTECTION, Role, cases, split, tls13_cases,
};

#[test]
fn halves_can_be_sent_to_other_threads() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Sender>();
    check::<Receiver<rustls::client::ClientConnectionData>>();
    check::<Receiver<rustls::server::ServerConnectionData>>();
}

#[test]
fn a_connection_cannot_be_split_before_its_handshake_completes() {
    for case in cases() {
        let (mut conn, mut peer) = (case.config().connection(), case.peer());
        // after each flight, the split is rejected, and the connection is returned so that the
        // handshake continues
        loop {
            let out = conn.output();
            peer.receive(&out).unwrap();
            let back = peer.take_output();
            if conn.is_handshaking() {
                conn = refused(conn, &Error::HandshakeNotComplete);
            } else if out.is_empty() && back.is_empty() {
                break;
            }
            conn.input(&back);
        }
        split(conn).talk(&mut peer, b"complete");
    }
}

/// Asserts that splitting fails, and returns the connection.
fn refused(conn: rustls::Connection, expected: &Error) -> rustls::Connection {
    either!(rustls: conn, conn => {
        let refused = conn.into_split().unwrap_err();
        assert_eq!(refused.error(), expected);
        refused.into_connection().into()
    })
}

#[test]
fn a_failed_connection_cannot_be_split() {
    for case in cases() {
        let (mut conn, mut peer) = case.connected();
        peer.send(b"read later");
        let mut bytes = peer.take_output();
        bytes.extend_from_slice(&[23, 3, 3, 0, 20]);
        bytes.extend_from_slice(&[9; 20]);
        conn.read_tls(&mut &bytes[..]).unwrap();
        let error = conn.process_new_packets().unwrap_err();
        assert_eq!(error, Error::DecryptError);
        let mut conn = refused(conn, &error);
        // nothing is lost
        let mut plaintext = [0; 10];
        conn.reader().read_exact(&mut plaintext).unwrap();
        assert_eq!(plaintext, *b"read later");
        let mut out = Vec::new();
        conn.write_tls(&mut out).unwrap();
        assert!(peer.receive(&out).unwrap_err().contains("BadRecordMac"));
    }
}

#[test]
fn buffered_data_survives_the_split() {
    for case in cases() {
        let (mut conn, mut peer) = case.connected();
        conn.writer().write_all(b"waits to be sent").unwrap();
        let room = conn.writer().room_left();
        peer.send(b"waits to be read");
        let mut bytes = peer.take_output();
        peer.send(b"waits to be completed");
        let rest = peer.take_output();
        let (begun, to_come) = rest.split_at(10);
        bytes.extend_from_slice(begun);
        conn.input(&bytes);

        let mut halves = split(conn);
        assert!(halves.sender.wants_write());
        assert_eq!(halves.sender.writer().room_left(), room);
        let out = halves.output();
        assert_eq!(halves.sender.writer().room_left(), Some(64 * 1024));
        assert_eq!(peer.read_from(&out), b"waits to be sent");
        assert!(!halves.receiver.wants_read());
        assert_eq!(halves.read_buffered(), b"waits to be read");
        assert!(halves.receiver.wants_read());
        halves.receive(to_come).unwrap();
        assert_eq!(halves.read_buffered(), b"waits to be completed");
        halves.talk(&mut peer, b"on");
    }
}

/// The halves send or await a KeyUpdate that either side requested before the split.
#[test]
fn pending_key_updates_survive_the_split() {
    for case in tls13_cases() {
        let (mut conn, mut peer) = case.connected();
        peer.refresh_traffic_keys();
        conn.input(&peer.take_output());
        let mut halves = split(conn);
        assert!(halves.sender.wants_write());
        halves.talk(&mut peer, b"owed");

        // our request precedes the split; its answer comes after our next update, which therefore
        // requests none
        let (mut conn, mut peer) = case.connected();
        conn.refresh_traffic_keys().unwrap();
        let mut halves = split(conn);
        peer.receive(&halves.send(b"first")).unwrap();
        assert_eq!(peer.send(b"x"), 1);
        let answer = peer.take_output();
        assert_eq!(answer.len(), KEY_UPDATE + 1 + PROTECTION);
        halves.sender.refresh_traffic_keys().unwrap();
        peer.receive(&halves.output()).unwrap();
        assert_eq!(peer.send(b"y"), 1);
        let no_answer = peer.take_output();
        assert_eq!(no_answer.len(), 1 + PROTECTION);
        halves.receive(&answer).unwrap();
        halves.receive(&no_answer).unwrap();
        assert_eq!(halves.read_buffered(), b"xy");
    }
}

#[test]
fn a_closed_direction_stays_closed() {
    for case in cases() {
        // closed by the peer
        let (mut conn, mut peer) = case.connected();
        peer.send(b"the last");
        peer.close();
        conn.input(&peer.take_output());
        let mut halves = split(conn);
        assert!(halves.receiver.peer_has_closed());
        let (plaintext, end) = halves.read();
        assert_eq!(plaintext, b"the last");
        end.unwrap();
        let received = peer.read_from(&halves.send(b"half closed"));
        assert_eq!(received, b"half closed");

        // closed by us
        let (mut conn, mut peer) = case.connected();
        conn.send_close_notify();
        let mut halves = split(conn);
        let error = halves.sender.writer().write(b"more").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        let out = halves.output();
        peer.receive(&out).unwrap();
        assert!(peer.peer_has_closed());
        peer.send(b"half closed");
        halves.receive(&peer.take_output()).unwrap();
        assert_eq!(halves.read_buffered(), b"half closed");
    }
}

#[test]
fn both_halves_know_what_was_negotiated() {
    for case in cases() {
        let (conn, peer) = case.connected();
        macro_rules! facts {
            ($of:expr) => {
                (
                    $of.protocol_version(),
                    $of.negotiated_cipher_suite(),
                    $of.negotiated_key_exchange_group().map(|it| it.name()),
                    $of.alpn_protocol().map(<[u8]>::to_vec),
                    $of.handshake_kind(),
                    $of.peer_certificates().map(<[_]>::to_vec),
                )
            };
        }
        let (expected, exported) = (facts!(conn), peer.exported());
        macro_rules! split {
            ($conn:ident) => {{
                let (sender, receiver) = $conn.into_split().unwrap();
                assert_eq!(facts!(sender), expected);
                assert_eq!(facts!(receiver), expected);
                let context = Some(&b"context"[..]);
                let ours = receiver.export_keying_material([0; 32], b"label", context);
                assert_eq!(ours.ok(), exported);
                receiver
            }};
        }
        match conn {
            rustls::Connection::Client(conn) => {
                let receiver = split!(conn);
                assert_eq!(receiver.tls13_tickets_received() != 0, case.is_tls13());
                assert_eq!(receiver.ech_status(), EchStatus::NotOffered);
            }
            rustls::Connection::Server(conn) => {
                let receiver = split!(conn);
                assert_eq!(receiver.server_name(), Some(SERVER_NAME));
                assert_eq!(receiver.received_resumption_data(), None);
            }
        }
    }
}

/// Early data accepted before the split can be read after it.
#[test]
fn early_data_survives_the_split() {
    for provider in PROVIDERS {
        let mut configs = Configs::new(Versions::Tls13, provider.this(), KEY_TYPE);
        Arc::make_mut(&mut configs.client).enable_early_data = true;
        Arc::make_mut(&mut configs.server).max_early_data_size = 1000;
        for is_resumed in [false, true] {
            let (mut client, mut server) = configs.ends().unwrap();
            if is_resumed {
                let early = client.early_data().unwrap().write(b"early").unwrap();
                assert_eq!(early, 5);
            }
            while client.wants_write() || server.wants_write() {
                server.input(&client.output());
                client.input(&server.output());
            }
            let (_, receiver) = client.into_split().unwrap();
            assert_eq!(receiver.is_early_data_accepted(), is_resumed);
            let (_, mut receiver) = server.into_split().unwrap();
            let mut early = Vec::new();
            if let Some(mut reader) = receiver.early_data() {
                reader.read_to_end(&mut early).unwrap();
            }
            assert_eq!(early, if is_resumed { &b"early"[..] } else { b"" });
        }
    }
}

#[test]
fn unbuffered_connections_can_be_split() {
    for case in cases() {
        let mut peer = case.peer();
        macro_rules! split {
            ($conn:expr) => {{
                let refused = $conn.conn.into_split().unwrap_err();
                assert_eq!(*refused.error(), Error::HandshakeNotComplete);
                let mut conn = ThisUnbuffered::new(refused.into_connection());
                let (client, server): (&mut dyn Endpoint, &mut dyn Endpoint) =
                    case.role.client_and_server(&mut conn, &mut peer);
                exchange(client, server).unwrap();
                conn.conn.into_split().unwrap().into()
            }};
        }
        let mut halves: Halves = match case.config() {
            Config::Client(config) => split!(ThisUnbuffered::client(config)),
            Config::Server(config) => split!(ThisUnbuffered::server(config)),
        };
        halves.talk(&mut peer, b"unbuffered before");
    }
}

/// Data that an unbuffered connection has offered must be taken before the split.
#[test]
fn data_that_was_only_peeked_is_not_lost() {
    for case in cases().filter(|case| case.role == Role::Client) {
        let (mut conn, mut peer) = (ThisUnbuffered::client(case.config().client()), case.peer());
        exchange(&mut conn, &mut peer).unwrap();
        let mut conn = conn.conn;
        peer.send(b"text before");
        let mut incoming = peer.take_output();
        peer.send(b"opened after");
        incoming.extend(peer.take_output());
        let status = conn.process_tls_records(&mut incoming);
        let used = status.discard;
        let Ok(rustls::unbuffered::ConnectionState::ReadTraffic(state)) = status.state else {
            panic!("no data");
        };
        state.peek_len();
        let refused = conn.into_split().unwrap_err();
        assert!(matches!(refused.error(), Error::General(_)));
        let mut conn = refused.into_connection();
        let state = conn.process_tls_records(&mut []).state;
        let Ok(rustls::unbuffered::ConnectionState::ReadTraffic(mut state)) = state else {
            panic!("no data");
        };
        let record = state.next_record().unwrap().unwrap();
        assert_eq!(record.payload, b"text before");
        let (_, mut receiver) = conn.into_split().unwrap();
        let record = receiver.open_in_place(&mut incoming[used..]).unwrap();
        assert_eq!(record.payload, b"opened after");
        assert_eq!(used + record.discard, incoming.len());
    }
}
