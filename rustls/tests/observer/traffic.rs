//! The amounts of data in events, compared with the bytes on the wire.

use std::io::Write;

use harness::peers::configs::{self, ClientAuth, PROVIDERS, Provider, Versions, product, product3};
use harness::peers::endpoints::{Endpoint, Transfer, handshake};
use harness::peers::events::{Event, Events, What};
use harness::peers::roles::Role;
use harness::providers::provider_with_limit;
use harness::wire;
use rustls::observer::Traffic;

use super::pairs::{
    Amount, Api, KEY_TYPE, Pair, RECORDS, amount, amount_of, closed, finished, lines, plus,
};

/// The events of a handshake have the data up to them, with what is still queued.
#[test]
fn the_traffic_of_a_finished_handshake_includes_queued_output() {
    for (provider, versions, api) in product3(PROVIDERS, Versions::EACH, RECORDS) {
        let pair = Pair::of(provider, versions);
        let [mut client, mut server] = pair.ends([api; 2]);
        while client.is_handshaking() || server.is_handshaking() {
            for (from, to) in [(0, 1), (1, 0)] {
                let ends = [&mut client, &mut server];
                let [from, to] = match (from, to) {
                    (0, _) => ends,
                    _ => {
                        let [client, server] = ends;
                        [server, client]
                    }
                };
                let bytes = from.take_output();
                if !to.is_handshaking() {
                    continue;
                }
                to.receive(&bytes).unwrap();
                if to.is_handshaking() {
                    continue;
                }
                // what is queued now is a part of the event
                let rest = to.take_output();
                let events = match to.peer_certificates().is_empty() {
                    true => &pair.of_server,
                    false => &pair.of_client,
                };
                let facts = finished_so_far(events);
                let sent = (to.sent.0, to.sent.1);
                assert_eq!(amount(facts.0), sent, "{provider:?} {versions:?} {api:?}");
                assert_eq!(amount(facts.1), to.received);
                from.receive(&rest).unwrap();
            }
        }
        drop((client, server));
        let _ = (pair.of_client.take_one(), pair.of_server.take_one());
    }
}

fn finished_so_far(events: &Events) -> (Traffic, Traffic) {
    let events = events.so_far();
    let facts = finished(&events);
    (facts.sent, facts.received)
}

/// Key updates, several records in a call, and padding are counted, too.
#[test]
fn all_records_are_counted_until_the_end() {
    for (provider, versions, api) in product3(PROVIDERS, Versions::EACH, RECORDS) {
        let pair = Pair::of(provider, versions);
        let [mut client, mut server] = pair.ends([api; 2]);
        handshake(&mut client, &mut server);
        for len in [1, 100, 16_384, 16_385, 70_000] {
            client.send(&vec![1; len]);
            server.receive(&client.take_output()).unwrap();
            let _ = server.read_all();
            if versions == Versions::Tls13 {
                server.refresh_traffic_keys();
            }
            server.send(&vec![2; len]);
            client.receive(&server.take_output()).unwrap();
            let _ = client.read_all();
        }
        client.close();
        server.receive(&client.take_output()).unwrap();
        let amounts = [
            (client.sent, client.received),
            (server.sent, server.received),
        ];
        drop((client, server));
        for (events, (sent, received)) in
            [&pair.of_client, &pair.of_server].into_iter().zip(amounts)
        {
            let events = events.take_one();
            assert_eq!(amount(closed(&events).sent), sent);
            assert_eq!(amount(closed(&events).received), received);
            let updates = |event: &&Event| matches!(event.what, What::KeysUpdated(_));
            let expected = match versions {
                // each update of one side is answered by the other
                Versions::Tls13 => 10,
                _ => 0,
            };
            assert_eq!(events.iter().filter(updates).count(), expected);
        }
    }
}

/// Early data that a server skips is received all the same.
#[test]
fn skipped_early_data_is_counted() {
    for (provider, api) in product(PROVIDERS, RECORDS) {
        let pair = Pair::of(provider, Versions::Tls13).edit(
            |client| client.enable_early_data = true,
            |server| server.max_early_data_size = 1000,
        );
        pair.connect([api; 2], None);
        let rejecting = pair.edit(|_| (), |server| server.alpn_protocols.clear());
        let [mut client, mut server] = rejecting.ends([api; 2]);
        client.send_early(&[7; 300]);
        handshake(&mut client, &mut server);
        let amounts = [
            (client.sent, client.received),
            (server.sent, server.received),
        ];
        drop((client, server));
        let ends = [&pair.of_client, &pair.of_server];
        for (events, (sent, received)) in ends.into_iter().zip(amounts) {
            let events = events.take_one();
            assert_eq!(amount(closed(&events).sent), sent);
            assert_eq!(amount(closed(&events).received), received);
        }
    }
}

/// Passes everything from one connection on to another, as a proxy does.
#[test]
fn forwarded_records_are_counted() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let pairs = [0, 1].map(|_| Pair::of(provider, versions));
        let [(outer, from), (to, mut inner)] = pairs.each_ref().map(|pair| {
            let (mut client, mut server) = (pair.client.buffered(), pair.server.buffered());
            handshake(&mut client, &mut server);
            (client, server)
        });
        let (mut outer, mut from, mut to) = (outer.conn, from.conn, to.conn);
        let mut wires = [Vec::new(), Vec::new()];
        for len in [10, 16_384, 50_000] {
            outer.writer().write_all(&vec![3; len]).unwrap();
            let bytes = outer.output();
            wires[0].extend_from_slice(&bytes);
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                from.read_tls(&mut rest).unwrap();
                from.process_new_packets().unwrap();
                relay(&mut from, &mut to);
            }
            let bytes = to.output();
            wires[1].extend_from_slice(&bytes);
            assert_eq!(inner.read_from(&bytes).len(), len);
        }
        drop((outer, from, to, inner));
        let [outer, inner] = &pairs;
        let received = outer.of_server.take_one();
        let before = finished(&received).received;
        assert_eq!(
            amount(closed(&received).received),
            plus(amount(before), amount_of(&wires[0]))
        );
        let sent = inner.of_client.take_one();
        let before = finished(&sent).sent;
        assert_eq!(
            amount(closed(&sent).sent),
            plus(amount(before), amount_of(&wires[1]))
        );
        let _ = (outer.of_client.take_one(), inner.of_server.take_one());
    }
}

fn relay(from: &mut rustls::Connection, to: &mut rustls::Connection) {
    use rustls::Connection::{Client, Server};
    let (Server(from), Client(to)) = (from, to) else {
        panic!("a proxy is a server and a client");
    };
    while to.writer().write_received(&mut from.reader()).unwrap() != 0 {}
}

/// Splits a connection: both halves count for the whole.
#[test]
fn both_halves_of_a_connection_are_counted_together() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        for first in [Role::Client, Role::Server] {
            let pair = Pair::of(provider, versions);
            let (mut client, mut server) = (pair.client.buffered(), pair.server.buffered());
            handshake(&mut client, &mut server);
            let rustls::Connection::Client(client) = client.conn else {
                panic!("a client");
            };
            let (mut sender, mut receiver) = client.into_split().unwrap();
            let mut out = Vec::new();
            sender.writer().write_all(&[1; 40_000]).unwrap();
            while sender.wants_write() {
                sender.write_tls(&mut out).unwrap();
            }
            server.receive(&out).unwrap();
            let _ = server.read_all();
            server.send(&[2; 300]);
            let back = server.take_output();
            receiver.read_tls(&mut &back[..]).unwrap();
            receiver.process_new_packets().unwrap();
            // the half that is dropped last reports the end
            match first {
                Role::Client => {
                    drop(sender);
                    assert!(!is_closed(&pair.of_client));
                    drop(receiver);
                }
                Role::Server => {
                    drop(receiver);
                    assert!(!is_closed(&pair.of_client));
                    drop(sender);
                }
            }
            let events = pair.of_client.take_one();
            let facts = finished(&events);
            let tickets = closed_received(&events, &back);
            assert_eq!(
                amount(closed(&events).sent),
                plus(amount(facts.sent), amount_of(&out))
            );
            assert!(tickets);
            drop(server);
            let _ = pair.of_server.take_one();
        }
    }
}

/// True if the client received `back` last.
fn closed_received(events: &[Event], back: &[u8]) -> bool {
    let facts = finished(events);
    let least: Amount = plus(amount(facts.received), amount_of(back));
    let received = amount(closed(events).received);
    received.0 >= least.0 && received.1 >= least.1
}

fn is_closed(events: &Events) -> bool {
    let events = events.so_far();
    matches!(
        events.last().map(|event| &event.what),
        Some(What::Closed(_))
    )
}

/// Records in pieces count once they are whole.
#[test]
fn incomplete_records_are_not_counted() {
    let pair = Pair::of(Provider::AwsLc, Versions::Tls13);
    let [mut client, mut server] = pair.ends([Api::Buffered; 2]);
    let hello = client.take_output();
    let record = wire::records(&hello)[0].to_bytes();
    for byte in &record[..record.len() - 1] {
        server.receive(&[*byte]).unwrap();
    }
    drop(server);
    assert_eq!(amount(closed(&pair.of_server.take_one()).received), (0, 0));
    drop(client);
    let events = pair.of_client.take_one();
    assert_eq!(amount(closed(&events).sent), amount_of(&hello));
}

/// Data that waits for the end of the handshake may wear out keys before it is sent.
#[test]
fn keys_are_updated_after_the_handshake_has_finished() {
    for provider in PROVIDERS {
        let limited = provider_with_limit(provider, 4);
        let pair = Pair::with(provider, Versions::Tls13, ClientAuth::None, |client, _| {
            *client = configs::this::client(limited, KEY_TYPE, ClientAuth::None);
        });
        let (mut client, mut server) = (pair.client.buffered(), pair.server.buffered());
        let data = [7; 60_000];
        client.conn.set_buffer_limit(None);
        client.conn.writer().write_all(&data).unwrap();
        let mut received = 0;
        while received < data.len() {
            let bytes = client.take_output();
            server.receive(&bytes).unwrap();
            received += server.read_all().len();
            client.receive(&server.take_output()).unwrap();
        }
        drop((client, server));
        let lines = lines(&pair.of_client.take_one());
        assert!(
            lines.starts_with("begun; finished Full; keys sending"),
            "{lines}"
        );
        let _ = pair.of_server.take_one();
    }
}
