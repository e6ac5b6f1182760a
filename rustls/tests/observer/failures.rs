//! Failures: a connection that fails reports it once, with the error that its caller gets and the
//! alert on the wire.

use std::io::Write;
use std::sync::Arc;

use harness::comparison::{Alert as WireAlert, Outcome};
use harness::peers::configs::{
    self, ClientAuth, PROVIDERS, Provider, Versions, product, product3, server_name,
};
use harness::peers::endpoints::{Endpoint, ThisUnbuffered, Transfer, handshake};
use harness::peers::events::{Event, Events, Failed};
use harness::peers::roles::Role;
use harness::providers::provider_that_refuses;
use harness::providers::transparent::TAG;
use harness::scripted::recorded::flights::{ALERT, HANDSHAKE, Record, encode};
use harness::scripted::recorded::{Scene, scenes};
use harness::wire::{frame, message};
use rustls::client::UnbufferedClientConnection;
use rustls::observer::{Alert, End, Fault};
use rustls::server::UnbufferedServerConnection;
use rustls::{ClientConnection, ContentType, Error, ServerConnection, quic};

use super::ends::{Accepting, Changing};
use super::pairs::{Api, KEY_TYPE, Pair, RECORDS, closed, failed, finished, lines};

/// Feeds `bytes` to an observed receiver of the scene, and compares its events with its outcome.
fn feed(scene: &Scene, what: &str, bytes: &[u8]) {
    let feed = |api: &str, connect: &dyn Fn(Arc<Events>) -> Box<dyn Endpoint>| {
        let events = Events::new();
        let mut end = connect(events.clone());
        let outcome = Outcome::new(&mut *end, bytes);
        drop(end);
        let events = events.take_one();
        let lines = lines(&events);
        let case = format!("{}, {api}: {what}: {outcome}\n{lines}", scene.name);
        check(&outcome, &events, scene.is_quic(), &case);
    };
    for api in scene.apis() {
        feed(&format!("{api:?}"), &|events| scene.observed(*api, events));
    }
    if scene.side() == Role::Server && !scene.is_quic() {
        feed("accepted", &|events| {
            scene.observed_as(events, |configs| {
                Changing::boxed(Accepting::new(configs.server.clone()))
            })
        });
    }
}

fn check(outcome: &Outcome, events: &[Event], is_quic: bool, case: &str) {
    let failed = failed(events);
    let error = failed.and_then(|failed| failed.error.as_ref());
    match &outcome.error {
        // this layer is not the connection's
        Some(text) if is_quic && error.is_none() => {
            let is_others = text == "no CRYPTO bytes" || text.starts_with("AlertReceived");
            assert!(is_others, "{case}");
        }
        Some(text) => {
            assert_eq!(
                error.map(|it| format!("{it:?}")).as_ref(),
                Some(text),
                "{case}"
            );
            check_failed(outcome, failed.unwrap(), case);
            assert_eq!(closed(events).end, End::Failed, "{case}");
        }
        None => {
            assert_eq!(error, None, "{case}");
            assert_eq!(failed.is_some(), outcome.is_handshaking, "{case}");
            let end = match outcome.peer_has_closed {
                true => End::Clean,
                false => End::Dropped,
            };
            assert_eq!(closed(events).end, end, "{case}");
            assert_eq!(
                closed(events).close_notify_received,
                outcome.peer_has_closed,
                "{case}"
            );
        }
    }
}

fn check_failed(outcome: &Outcome, failed: &Failed, case: &str) {
    assert_eq!(failed.during_handshake, outcome.is_handshaking, "{case}");
    let on_wire = match outcome.alert {
        WireAlert::Sent([2, description]) => Some(description.into()),
        _ => None,
    };
    match (failed.alert, on_wire) {
        (Some(Alert::Received(alert)), _) => {
            assert_eq!(failed.error, Some(Error::AlertReceived(alert)), "{case}");
        }
        (Some(Alert::Sent(alert)), on_wire) => assert_eq!(Some(alert), on_wire, "{case}"),
        (None, on_wire) => assert_eq!(on_wire, None, "{case}"),
        (other, _) => panic!("{other:?}: {case}"),
    }
    // upstream's bytes were changed, and the connection itself is in order
    assert_eq!(failed.fault, Fault::Peer, "{case}");
}

#[test]
fn wrong_messages_are_reported_as_the_caller_sees_them() {
    for scene in scenes(false) {
        let messages = scene.messages(scene.flight());
        feed(&scene, "unchanged", scene.flight());
        for at in 0..messages.len() {
            let change = |what: &str, change: &dyn Fn(&mut Vec<Record>)| {
                let mut messages = messages.clone();
                change(&mut messages);
                feed(&scene, &format!("message {at} {what}"), &encode(&messages));
            };
            change("missing", &|messages| drop(messages.remove(at)));
            change("twice", &|messages| {
                messages.insert(at, messages[at].clone())
            });
            change("with its protection inverted", &|messages| {
                messages[at].protected ^= true;
            });
            change("a byte longer", &|messages| messages[at].content.push(0));
            change("of another type", &|messages| {
                if messages[at].typ == HANDSHAKE {
                    messages[at].content[0] ^= 0x40;
                }
            });
            for typ in [ALERT, 20, 99] {
                change(&format!("after a record of type {typ}"), &|messages| {
                    messages.insert(at, Record::plain(typ, &[2, 40]));
                    messages[at].protected = messages[at + 1].protected;
                });
            }
        }
    }
}

#[test]
fn wrong_bytes_are_reported_as_the_caller_sees_them() {
    for scene in scenes(true) {
        for at in (0..scene.flight().len()).step_by(7) {
            let mut flight = scene.flight().to_vec();
            flight[at] ^= 0x21;
            feed(&scene, &format!("byte {at}"), &flight);
            flight.truncate(at);
            feed(&scene, &format!("cut at {at}"), &flight);
        }
    }
}

/// A failure after the handshake belongs to the connection, and its peer receives the alert.
#[test]
fn both_sides_report_a_failure_after_the_handshake() {
    for (provider, versions, api) in product3(PROVIDERS, Versions::EACH, RECORDS) {
        let pair = Pair::of(provider, versions);
        let [mut client, mut server] = pair.ends([api; 2]);
        handshake(&mut client, &mut server);
        client.send(b"data");
        let mut record = client.take_output();
        *record.last_mut().unwrap() ^= 1;
        server.receive(&record).unwrap_err();
        client.receive(&server.take_output()).unwrap_err();
        // later calls report nothing more
        server.process().unwrap_err();
        client.process().unwrap_err();
        drop((client, server));
        let expected = [
            "failed later: alert_received.bad_record_mac peer, received BadRecordMac; closed failed",
            "failed later: decrypt_error peer, sent BadRecordMac; closed failed",
        ];
        for (events, expected) in [&pair.of_client, &pair.of_server].into_iter().zip(expected) {
            let events = events.take_one();
            assert!(lines(&events).ends_with(expected), "{}", lines(&events));
            let facts = &failed(&events).unwrap().handshake;
            assert_eq!(facts.cipher_suite, finished(&events).cipher_suite);
            // the record that was rejected is not counted
            assert_eq!(closed(&events).received, facts.received);
        }
    }
}

/// Over QUIC, messages may still be wrong.
#[test]
fn quic_connections_report_a_failure_after_the_handshake() {
    for provider in PROVIDERS {
        let pair = Pair::of(provider, Versions::Tls13);
        let [mut client, mut server] = pair.ends([Api::Quic; 2]);
        handshake(&mut client, &mut server);
        let finished = frame(
            23,
            &[&message(20, &[7; 32])[..], &[HANDSHAKE], &TAG].concat(),
        );
        for mut end in [client, server] {
            end.receive(&finished).unwrap_err();
            end.process().unwrap_err();
        }
        let expected = "failed later: inappropriate_handshake_message peer, \
                        sent UnexpectedMessage; closed failed";
        for events in [&pair.of_client, &pair.of_server] {
            let lines = lines(&events.take_one());
            assert!(lines.ends_with(expected), "{lines}");
        }
    }
}

/// The application sends the alert of a connection whose keys it has taken.
#[test]
fn a_kernel_connection_reports_a_failure_once() {
    // with an extension that belongs in ClientHello and CertificateRequest
    const TICKET: [u8; 18] = [0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 7, 0, 4, 0, 27, 0, 0];
    for provider in PROVIDERS {
        let pair = Pair::of(provider, Versions::Tls13);
        let mut client = ThisUnbuffered::client(pair.client.clone().extractable().client());
        let mut server = pair.server.buffered();
        handshake(&mut client, &mut server);
        let (_, mut client) = client.conn.dangerous_into_kernel_connection().unwrap();
        client.handle_new_session_ticket(&TICKET).unwrap_err();
        client.handle_new_session_ticket(&TICKET).unwrap_err();
        assert!(client.update_tx_secret().is_err());
        drop(client);
        let lines = lines(&pair.of_client.take_one());
        let expected = "session stored; failed later: \
                        peer_misbehaved.disallowed_encrypted_extension peer; closed failed";
        assert!(lines.ends_with(expected), "{lines}");
    }
}

#[test]
fn a_failing_cipher_is_reported_as_this_sides_fault() {
    for provider in PROVIDERS {
        let pair = Pair::with(provider, Versions::Tls13, ClientAuth::None, |client, _| {
            let refuses = provider_that_refuses(provider, &[ContentType::ApplicationData]);
            *client = configs::this::client(refuses, KEY_TYPE, ClientAuth::None);
        });
        let mut server = pair.server.buffered();
        let mut client = pair.client.buffered();
        handshake(&mut client, &mut server);
        client.conn.writer().write_all(b"data").unwrap_err();
        client.conn.writer().write_all(b"data").unwrap_err();
        // no alert can be sealed either
        assert!(client.take_output().is_empty());
        drop(client);
        let lines = lines(&pair.of_client.take_one());
        let expected = "failed later: encrypt_error local; closed failed";
        assert!(lines.ends_with(expected), "{lines}");
    }
}

/// A connection that cannot be created has failed, too.
#[test]
fn errors_of_constructors_are_reported() {
    let pair = Pair::of(Provider::Ring, Versions::Tls13).edit(
        |client| client.max_fragment_size = Some(7),
        |server| server.max_fragment_size = Some(7),
    );
    let (client, server) = (pair.client.clone().client(), pair.server.clone().server());
    let of_client = "begun; failed in handshake: bad_max_fragment_size local; closed failed";
    let client_lines = || {
        let events = pair.of_client.take_one();
        assert_eq!(events[0].of.server_name.as_deref(), Some("server.example"));
        lines(&events)
    };
    drop(ClientConnection::new(client.clone(), server_name()).unwrap_err());
    assert_eq!(client_lines(), of_client);
    drop(UnbufferedClientConnection::new(client.clone(), server_name()).unwrap_err());
    assert_eq!(client_lines(), of_client);
    let v1 = quic::Version::V1;
    drop(quic::ClientConnection::new(client, v1, server_name(), vec![]).unwrap_err());
    assert_eq!(client_lines(), of_client);

    let of_server = || lines(&pair.of_server.take_one());
    drop(ServerConnection::new(server.clone()).unwrap_err());
    assert_eq!(of_server(), of_client);
    drop(UnbufferedServerConnection::new(server.clone()).unwrap_err());
    assert_eq!(of_server(), of_client);
    drop(quic::ServerConnection::new(server, v1, vec![]).unwrap_err());
    assert_eq!(of_server(), of_client);

    // the ClientHello cannot be created
    let pair = Pair::of(Provider::Ring, Versions::Tls13)
        .edit(|client| client.alpn_protocols = vec![vec![]], |_| ());
    pair.client.try_connection().unwrap_err();
    let lines = lines(&pair.of_client.take_one());
    let expected = "begun; failed in handshake: general local; closed failed";
    assert_eq!(lines, expected);
}

/// These errors are specific to QUIC.
#[test]
fn errors_of_quic_constructors_are_reported() {
    let v1 = quic::Version::V1;
    let expected = "begun; failed in handshake: general local; closed failed";
    let check = |events: &Events, server_name| {
        let events = events.take_one();
        assert_eq!(lines(&events), expected);
        assert_eq!(events[0].of.carrier.label(), "quic");
        assert_eq!(events[0].of.server_name.as_deref(), server_name);
    };

    let pair = Pair::of(Provider::Ring, Versions::Tls12);
    let (client, server) = (pair.client.clone().client(), pair.server.clone().server());
    let error = quic::ClientConnection::new(client, v1, server_name(), vec![]).unwrap_err();
    let no_tls13 = Error::General("TLS 1.3 support is required for QUIC".into());
    assert_eq!(error, no_tls13);
    check(&pair.of_client, Some("server.example"));
    let error = quic::ServerConnection::new(server, v1, vec![]).unwrap_err();
    assert_eq!(error, no_tls13);
    check(&pair.of_server, None);

    let pair = Pair::of(Provider::Ring, Versions::Tls13)
        .edit(|_| (), |server| server.max_early_data_size = 1000);
    let server = pair.server.clone().server();
    let error = quic::ServerConnection::new(server, v1, vec![]).unwrap_err();
    let limit = "QUIC sessions must set a max early data of 0 or 2^32-1";
    assert_eq!(error, Error::General(limit.into()));
    check(&pair.of_server, None);
}

/// The stream ends during the handshake, before or after the first message.
#[test]
fn an_early_end_of_the_stream_is_reported_as_the_networks_fault() {
    let expected = "failed in handshake: end_of_stream network; closed truncated";
    for versions in Versions::EACH {
        let pair = Pair::of(Provider::AwsLc, versions);
        let mut server = pair.server.connection();
        server.read_tls(&mut &[][..]).unwrap();
        server.process_new_packets().unwrap();
        drop(server);
        assert_eq!(
            lines(&pair.of_server.take_one()),
            format!("begun; {expected}")
        );

        let mut client = pair.client.connection();
        let mut server = pair.server.connection();
        server.input(&client.output());
        server.read_tls(&mut &[][..]).unwrap();
        client.read_tls(&mut &[][..]).unwrap();
        client.process_new_packets().unwrap();
        drop((client, server));
        for events in [&pair.of_client, &pair.of_server] {
            assert_eq!(lines(&events.take_one()), format!("begun; {expected}"));
        }
    }
}

/// An end of the stream after the handshake is no failure of the connection, but no clean end.
#[test]
fn a_truncated_stream_is_reported_but_is_no_failure() {
    for versions in Versions::EACH {
        let pair = Pair::of(Provider::AwsLc, versions);
        let mut ends = [pair.client.buffered(), pair.server.buffered()];
        let [client, server] = &mut ends;
        handshake(client, server);
        server.conn.read_tls(&mut &[][..]).unwrap();
        client.close();
        drop(ends);
        let client = pair.of_client.take_one();
        assert_eq!(closed(&client).end, End::Clean);
        assert!(closed(&client).close_notify_sent);
        let server = pair.of_server.take_one();
        assert_eq!(closed(&server).end, End::Truncated);
        assert!(failed(&server).is_none());
    }
}

/// Anything may come in place of a handshake.
#[test]
fn a_peer_that_does_not_speak_tls_is_reported() {
    let pair = Pair::of(Provider::AwsLc, Versions::Both);
    let cases: [(&[u8], &str); 4] = [
        (
            b"GET / HTTP/1.1\r\n",
            "invalid_message.invalid_content_type peer, sent DecodeError",
        ),
        (
            &frame(23, b"data"),
            "inappropriate_message peer, sent UnexpectedMessage",
        ),
        (
            &frame(ALERT, &[2, 40]),
            "alert_received.handshake_failure peer, received HandshakeFailure",
        ),
        (
            &frame(HANDSHAKE, &[20, 0, 0, 0]),
            "inappropriate_handshake_message peer, sent UnexpectedMessage",
        ),
    ];
    for ((bytes, expected), api) in product(cases, [Api::Buffered, Api::Unbuffered]) {
        let mut server = api.end(&pair.server);
        server.receive(bytes).unwrap_err();
        drop(server);
        let lines = lines(&pair.of_server.take_one());
        let expected = format!("begun; failed in handshake: {expected}; closed failed");
        assert_eq!(lines, expected);
    }
}
