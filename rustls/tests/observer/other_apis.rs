//! Acceptors, split halves and kernel connections: each event is reported once, by the right one.

use std::io::Write;
use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::{Endpoint, ThisBuffered, handshake};
use harness::peers::events::{Event, Events};
use harness::peers::roles::{ROLES, Role};
use harness::providers::provider_that_refuses;
use harness::wire::frame;
use rustls::observer::End;
use rustls::server::{Accepted, Acceptor};
use rustls::split::{Receiver, Sender};
use rustls::{AlertDescription, Connection, ContentType};

use super::pairs::{
    Api, KEY_TYPE, Pair, Wire, amount, amount_of, closed, failed, finished, lines, summary,
};

/// Returns what an acceptor with this observer, if any, makes of `bytes`.
fn accept(observer: Option<&Arc<Events>>, bytes: &[u8]) -> Option<Accepted> {
    let mut acceptor = Acceptor::default();
    if let Some(observer) = observer {
        acceptor.set_observer(observer.clone());
    }
    acceptor.set_observer_context(7);
    let mut rest = bytes;
    while !rest.is_empty() {
        acceptor.read_tls(&mut rest).unwrap();
        match acceptor.accept() {
            Ok(Some(accepted)) => return Some(accepted),
            Ok(None) => {}
            Err(_) => return None,
        }
    }
    None
}

#[test]
fn the_observer_of_the_configuration_replaces_that_of_the_acceptor() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        for (is_observed, of_configuration) in product([false, true], [false, true]) {
            let pair = Pair::of(provider, versions);
            let pair = match of_configuration {
                true => pair,
                false => pair.edit(|_| (), |server| server.observer = None),
            };
            let own = Events::new();
            let mut client = Api::Buffered.end(&pair.client);
            let hello = client.take_output();
            let accepted = accept(is_observed.then_some(&own), &hello).unwrap();
            assert!(own.so_far().is_empty());
            let server = accepted.into_connection(pair.server.clone().server());
            let server = server.map_err(|(error, _)| error).unwrap();
            let server = ThisBuffered::new(server);
            let mut server = Wire::new(Box::new(server), false);
            server.received = amount_of(&hello);
            handshake(&mut client, &mut server);
            server.close();
            client.receive(&server.take_output()).unwrap();
            let amounts = (server.sent, server.received);
            drop(server);
            drop(client);
            let observer = match (is_observed, of_configuration) {
                (_, true) => &pair.of_server,
                (true, false) => &own,
                (false, false) => continue,
            };
            assert!(is_observed || own.take().is_empty());
            let events = observer.take_one();
            assert!(lines(&events).starts_with("begun; finished Full"));
            assert!(events.iter().all(|event| event.of.context == 7));
            assert_eq!(events[0].of.server_name.as_deref(), Some("server.example"));
            let closed = closed(&events);
            assert_eq!((amount(closed.sent), amount(closed.received)), amounts);
            assert_eq!(closed.end, End::Clean);
        }
    }
}

/// Connections that never get a configuration.
#[test]
fn the_observer_of_an_acceptor_sees_connections_without_a_configuration() {
    let own = Events::new();
    let pair = Pair::of(Provider::AwsLc, Versions::Tls13);
    let hello = Api::Buffered.end(&pair.client).take_output();
    let dropped = "failed in handshake: dropped application; closed dropped";
    let line = |name: Option<&str>| {
        let events = own.take_one();
        assert_eq!(events[0].of.server_name.as_deref(), name);
        assert!(events.iter().all(|event| event.of.context == 7));
        lines(&events)
    };

    assert!(accept(Some(&own), &hello[..20]).is_none());
    assert_eq!(line(None), format!("begun; {dropped}"));
    drop(accept(Some(&own), &hello).unwrap());
    assert_eq!(line(Some("server.example")), format!("begun; {dropped}"));

    let mut acceptor = Acceptor::default();
    acceptor.set_observer(own.clone());
    acceptor.set_observer_context(7);
    acceptor.read_tls(&mut &[][..]).unwrap();
    assert!(acceptor.accept().unwrap().is_none());
    drop(acceptor);
    let ended = "failed in handshake: end_of_stream network; closed truncated";
    assert_eq!(line(None), format!("begun; {ended}"));

    // an acceptor has no alert for a peer that does not start a handshake
    let cases: [(&[u8], &str); 3] = [
        (
            b"GET / HTTP/1.1\r\n",
            "invalid_message.invalid_content_type peer, sent DecodeError",
        ),
        (&frame(23, b"data"), "inappropriate_message peer"),
        (
            &frame(22, &[20, 0, 0, 0]),
            "inappropriate_handshake_message peer, sent UnexpectedMessage",
        ),
    ];
    for (bytes, expected) in cases {
        assert!(accept(Some(&own), bytes).is_none());
        let expected = format!("begun; failed in handshake: {expected}; closed failed");
        assert_eq!(line(None), expected);
    }
}

/// A configuration may reject the ClientHello, or be wrong itself.
#[test]
fn a_connection_that_its_configuration_rejects_is_reported_as_failed() {
    let own = Events::new();
    let pair = Pair::of(Provider::AwsLc, Versions::Tls12);
    let other = Pair::of(Provider::AwsLc, Versions::Tls13);
    let hello = Api::Buffered.end(&pair.client).take_output();
    for is_observed in [false, true] {
        let accepted = accept(is_observed.then_some(&own), &hello).unwrap();
        let config = other.server.clone().server();
        let (error, mut alert) = accepted.into_connection(config).unwrap_err();
        let mut bytes = Vec::new();
        alert.write_all(&mut bytes).unwrap();
        assert_eq!(bytes, frame(21, &[2, 70]));
        let events = other.of_server.take_one();
        let failed = failed(&events).unwrap();
        assert_eq!(failed.error.as_ref(), Some(&error));
        let sent = AlertDescription::ProtocolVersion;
        assert_eq!(failed.alert, Some(rustls::observer::Alert::Sent(sent)));
        assert_eq!(amount(closed(&events).sent), amount_of(&bytes));
        assert_eq!(amount(closed(&events).received), amount_of(&hello));

        let wrong = other.edit(|_| (), |server| server.max_fragment_size = Some(7));
        let accepted = accept(is_observed.then_some(&own), &hello).unwrap();
        drop(accepted.into_connection(wrong.server.server()).unwrap_err());
        let expected = "begun; failed in handshake: bad_max_fragment_size local; closed failed";
        assert_eq!(lines(&other.of_server.take_one()), expected);
    }
    assert!(own.take().is_empty());
    drop(Api::Buffered.end(&other.client));
}

fn halves(
    pair: &Pair,
) -> (
    Sender,
    Receiver<rustls::client::ClientConnectionData>,
    Box<dyn Endpoint>,
) {
    let (mut client, mut server) = (pair.client.buffered(), pair.server.buffered());
    handshake(&mut client, &mut server);
    let Connection::Client(client) = client.conn else {
        panic!("a client");
    };
    let (sender, receiver) = client.into_split().unwrap();
    (sender, receiver, Box::new(server))
}

fn output(sender: &mut Sender) -> Vec<u8> {
    let mut out = Vec::new();
    while sender.wants_write() {
        sender.write_tls(&mut out).unwrap();
    }
    out
}

fn after_handshake(events: &[Event]) -> String {
    let lines = lines(events);
    let (_, rest) = lines.rsplit_once("session stored; ").unwrap();
    rest.to_owned()
}

/// The half that notices a failure reports it, and the half that is dropped last reports the end.
#[test]
fn halves_report_each_event_once() {
    for (provider, sender_is_first) in product(PROVIDERS, [true, false]) {
        let pair = Pair::of(provider, Versions::Tls13);
        let (mut sender, mut receiver, mut server) = halves(&pair);
        server.refresh_traffic_keys();
        server.send(b"data");
        receiver.read_tls(&mut &server.take_output()[..]).unwrap();
        receiver.process_new_packets().unwrap();
        sender.refresh_traffic_keys().unwrap();
        server.receive(&output(&mut sender)).unwrap();
        let forged = [&[23, 3, 3, 0, 40][..], &[9; 40]].concat();
        receiver.read_tls(&mut &forged[..]).unwrap();
        receiver.process_new_packets().unwrap_err();
        receiver.process_new_packets().unwrap_err();
        server.receive(&output(&mut sender)).unwrap_err();
        sender.writer().write_all(b"more").unwrap_err();
        if sender_is_first {
            drop(sender);
            drop(receiver);
        } else {
            drop(receiver);
            drop(sender);
        }
        let expected = "keys receiving; keys sending; failed later: decrypt_error peer, \
                        sent BadRecordMac; closed failed";
        let events = pair.of_client.take_one();
        assert_eq!(after_handshake(&events), expected);
        assert!(!closed(&events).close_notify_sent && !closed(&events).close_notify_received);
        drop(server);
        let server = pair.of_server.take_one();
        let received = closed(&server).received;
        assert_eq!(amount(closed(&events).sent), amount(received));
    }
}

#[test]
fn a_failure_of_the_sending_half_is_reported_once() {
    for (provider, sender_is_first) in product(PROVIDERS, [true, false]) {
        let refuses = provider_that_refuses(provider, &[ContentType::ApplicationData]);
        let pair = Pair::with(provider, Versions::Tls13, ClientAuth::None, |client, _| {
            *client = configs::this::client(refuses, KEY_TYPE, ClientAuth::None);
        });
        let (mut sender, mut receiver, _server) = halves(&pair);
        sender.writer().write_all(b"data").unwrap_err();
        sender.writer().write_all(b"data").unwrap_err();
        receiver.process_new_packets().unwrap_err();
        if sender_is_first {
            drop(sender);
            drop(receiver);
        } else {
            drop(receiver);
            drop(sender);
        }
        let expected = "failed later: encrypt_error local; closed failed";
        assert!(lines(&pair.of_client.take_one()).ends_with(expected));
    }
}

/// Each half knows the end of its own direction.
#[test]
fn a_close_notify_in_either_direction_is_reported_as_a_clean_end() {
    for (sends, receives) in product([false, true], [false, true]) {
        let pair = Pair::of(Provider::AwsLc, Versions::Tls13);
        let (mut sender, mut receiver, mut server) = halves(&pair);
        if sends {
            sender.send_close_notify();
            server.receive(&output(&mut sender)).unwrap();
        }
        if receives {
            server.close();
            receiver.read_tls(&mut &server.take_output()[..]).unwrap();
            receiver.process_new_packets().unwrap();
        }
        drop((sender, receiver));
        let events = pair.of_client.take_one();
        let closed = closed(&events);
        assert_eq!(closed.close_notify_sent, sends);
        assert_eq!(closed.close_notify_received, receives);
        let expected = match sends || receives {
            true => End::Clean,
            false => End::Dropped,
        };
        assert_eq!(closed.end, expected);
    }
}

/// The end of the stream is the receiving half's, even if this side has closed.
#[test]
fn a_truncated_stream_of_halves_is_reported_but_is_no_failure() {
    for (provider, closes) in product(PROVIDERS, [false, true]) {
        let pair = Pair::of(provider, Versions::Tls13);
        let (mut sender, mut receiver, _server) = halves(&pair);
        if closes {
            sender.send_close_notify();
        }
        assert_eq!(receiver.read_tls(&mut &[][..]).unwrap(), 0);
        receiver.process_new_packets().unwrap();
        drop((receiver, sender));
        let events = pair.of_client.take_one();
        assert!(failed(&events).is_none());
        assert_eq!(closed(&events).end, End::Truncated);
        assert_eq!(closed(&events).close_notify_sent, closes);
    }
}

/// A kernel connection reports the keys that its application replaces, and no records.
#[test]
fn kernel_connections_report_key_updates() {
    for provider in PROVIDERS {
        let pair = Pair::of(provider, Versions::Tls13);
        let [mut client, mut server] = pair.ends([Api::Kernel; 2]);
        handshake(&mut client, &mut server);
        client.refresh_traffic_keys();
        server.receive(&client.take_output()).unwrap();
        client.receive(&server.take_output()).unwrap();
        drop((client, server));
        let (client, server) = (pair.of_client.take_one(), pair.of_server.take_one());
        let expected = "session stored; keys sending; keys receiving; closed extracted";
        assert!(lines(&client).ends_with(expected), "{}", lines(&client));
        let expected = "session stored; keys receiving; keys sending; closed extracted";
        assert!(lines(&server).ends_with(expected), "{}", lines(&server));
        for events in [client, server] {
            assert_eq!(closed(&events).sent, finished(&events).sent);
            assert_eq!(closed(&events).received, finished(&events).received);
        }
    }
}

#[test]
fn extracting_the_secrets_ends_a_connection() {
    for ((provider, versions), role) in product(product(PROVIDERS, Versions::EACH), ROLES) {
        let pair = Pair::of(provider, versions);
        let (config, events) = match role {
            Role::Client => (pair.client.clone(), &pair.of_client),
            Role::Server => (pair.server.clone(), &pair.of_server),
        };
        let peer = match role {
            Role::Client => &pair.server,
            Role::Server => &pair.client,
        };
        for is_allowed in [false, true] {
            let config = match is_allowed {
                true => config.clone().extractable(),
                false => config.clone(),
            };
            let (mut end, mut peer) = (config.buffered(), peer.buffered());
            role.handshake(&mut end, &mut peer);
            let extracted = end.conn.dangerous_extract_secrets();
            assert_eq!(extracted.is_ok(), is_allowed);
            // either way, it has consumed the connection
            let expected = match is_allowed {
                true => End::Extracted,
                false => End::Dropped,
            };
            let events = events.take_one();
            assert_eq!(closed(&events).end, expected);
            assert!(failed(&events).is_none());
            assert_eq!(closed(&events).sent, finished(&events).sent);
        }
    }
}

/// An application sets its number before the connection reads anything.
#[test]
fn events_carry_the_applications_number() {
    let pair = Pair::of(Provider::AwsLc, Versions::Tls13);
    let (mut client, mut server) = (pair.client.buffered(), pair.server.buffered());
    client.conn.set_observer_context(1);
    server.conn.set_observer_context(u64::MAX);
    handshake(&mut client, &mut server);
    drop(server);
    let Connection::Client(client) = client.conn else {
        panic!("a client");
    };
    let (sender, receiver) = client.into_split().unwrap();
    drop(receiver);
    drop(sender);
    let client = pair.of_client.take_one();
    // a client begins in its constructor
    let contexts: Vec<_> = client.iter().map(|event| event.of.context).collect();
    assert_eq!(contexts[0], 0);
    assert!(contexts[1..].iter().all(|context| *context == 1));
    let server = pair.of_server.take_one();
    assert!(server.iter().all(|event| event.of.context == u64::MAX));
    assert_eq!(summary(finished(&server)), "");
}
