//! The limits of a waiting connection: the bytes and alerts that it receives, and those that it
//! leaves in its buffers.

use std::sync::Arc;
use std::time::Duration;

use harness::operations::ends::{APIS, Api, End};
use harness::operations::kinds::KINDS;
use harness::operations::schedules::{connect, pump, resumable};
use harness::operations::{Plan, When, finish};
use harness::peers::configs::{Provider, product, product3};
use harness::peers::endpoints::ThisBuffered;
use harness::scripted::{OfferedPsk, SUITE, ScriptedClient};
use harness::wire::client_hello::ClientHello;
use harness::wire::record;
use rustls::pki_types::UnixTime;
use rustls::server::UnbufferedServerConnection;
use rustls::time_provider::TimeProvider;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{AlertDescription, Error, PeerMisbehaved};

use crate::operations::interruptions::ALERT;
use crate::operations::{OVER_RECORDS, buffered, pending};

const SEEN: Error = Error::AlertReceived(AlertDescription::HandshakeFailure);

/// Creates an alert of level warning. TLS 1.3 treats some of them as errors.
fn warning(description: AlertDescription) -> Vec<u8> {
    record(21, &[1, description.into()])
}

/// It handles each message immediately, so nothing accumulates.
#[test]
fn a_quic_connection_that_does_not_wait_accepts_more() {
    const TICKETS: u32 = 2000;

    let plan = Arc::new(Plan::new(When::NoFuture));
    let mut world = KINDS[0].world(Api::Quic, &plan);
    Arc::make_mut(&mut world.server).send_tls13_tickets = TICKETS as usize;
    let [mut client, mut server] = Api::Quic.ends(&world, true);
    assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
    assert_eq!(client.tickets_received(), TICKETS);
}

#[test]
fn records_other_than_alerts_stay_in_the_buffer() {
    let others = [
        record(22, &[16, 0, 0, 0]),
        // as long as an encrypted alert
        record(23, &[0; 19]),
        record(21, &[2]),
        record(21, &[2, 40, 0]),
    ];
    let waits = [(0, "resolve"), (10, "resolve"), (10, "sign")];
    for ((kind, operation), other) in product(waits, &others) {
        let (mut server, _client, _plan) = pending(&KINDS[kind], Api::Buffered, operation);
        let server = buffered(&mut server);
        assert!(server.wants_read());
        server.read_tls(&mut &other[..]).unwrap();
        assert!(server.process_new_packets().unwrap().is_waiting());
        assert!(!server.wants_read(), "{operation} {other:?}");
    }
}

/// Handshake bytes before an alert must be handled first.
#[test]
fn an_alert_waits_for_messages_before_it() {
    for api in OVER_RECORDS {
        // the server's flight is one record
        let (mut client, _server, _plan) = pending(&KINDS[10], api, "verify_server_cert");
        assert_eq!(client.receive(&ALERT), Ok(()), "{api:?}");
        assert!(client.is_waiting());
    }
}

#[test]
fn an_alert_after_the_message_that_waits_ends_the_operation() {
    for api in OVER_RECORDS {
        let plan = Arc::new(Plan::new(When::Never).only("resolve"));
        let [mut client, mut server] = api.ends(&KINDS[0].world(api, &plan), true);
        let hello = client.output().concat();
        let received = server.receive(&[&hello[..], &ALERT].concat());
        assert_eq!(received, Err(SEEN), "{api:?}");
        assert_eq!(plan.dropped(), 1);
    }
}

/// A connection with a partial record still waits for its operation, not for more bytes.
#[test]
fn a_partial_record_does_not_change_the_state() {
    let (server, _client, _plan) = pending(&KINDS[0], Api::Unbuffered, "resolve");
    let End::Server(mut server) = server else {
        unreachable!("it is an unbuffered server");
    };
    for len in 0..ALERT.len() {
        let part = &mut ALERT[..len].to_vec();
        let UnbufferedStatus { discard, state, .. } = server.conn.process_tls_records(part);
        let state = state.unwrap();
        assert!(
            matches!(state, ConnectionState::WaitingForOperation),
            "{len}: {state:?}"
        );
        assert_eq!(discard, 0);
    }
}

/// The client can then decrypt what follows, and encrypts its own alerts.
#[test]
fn queued_messages_are_sent_before_a_connection_waits() {
    let plan = Arc::new(Plan::new(When::Never).only("sign"));
    let world = KINDS[0].world(Api::Unbuffered, &plan);
    let [mut client, _] = Api::Buffered.ends(&world, false);
    let mut incoming = client.output().concat();
    let mut server = UnbufferedServerConnection::new(world.server).unwrap();
    server.set_async(true);
    let mut states = Vec::new();
    loop {
        let UnbufferedStatus { discard, state, .. } = server.process_tls_records(&mut incoming);
        let state = state.unwrap();
        states.push(format!("{state:?}"));
        match state {
            ConnectionState::EncodeTlsData(mut state) => {
                state.encode(&mut [0; 4096]).unwrap();
            }
            ConnectionState::TransmitTlsData(state) => state.done(),
            _ => break,
        }
        incoming.drain(..discard);
    }
    states.dedup();
    let expected = ["EncodeTlsData", "TransmitTlsData", "WaitingForOperation"];
    assert_eq!(states, expected);
}

/// The version determines whether a warning is an error: TLS 1.3 does not tolerate these.
#[test]
fn a_warning_waits_for_the_version() {
    let descriptions = [
        AlertDescription::CloseNotify,
        AlertDescription::UserCanceled,
        AlertDescription::NoRenegotiation,
    ];
    for (kind, api, description) in product3([0, 10], OVER_RECORDS, descriptions) {
        let [expected, result] = [false, true].map(|is_async| {
            let plan = Arc::new(Plan::new(When::After(1)).only("resolve"));
            let [mut client, mut server] = api.ends(&KINDS[kind].world(api, &plan), is_async);
            server.receive(&client.output().concat()).unwrap();
            assert_eq!(server.is_waiting(), is_async);
            let received = server.receive(&warning(description));
            received.and_then(|()| finish(|task| server.poll(task)))
        });
        assert_eq!(result, expected, "{kind} {api:?} {description:?}");
    }
}

#[test]
fn warnings_are_counted_while_a_connection_waits() {
    for api in OVER_RECORDS {
        let (mut server, _client, _plan) = pending(&KINDS[10], api, "sign");
        let warning = warning(AlertDescription::NoRenegotiation);
        let mut results = (0..100).map(|_| server.receive(&warning));
        let error = results.find_map(Result::err);
        let expected = PeerMisbehaved::TooManyWarningAlertsReceived;
        assert_eq!(error, Some(expected.into()), "{api:?}");
    }
}

/// The early data waits for its key. It must not be mistaken for an alert.
#[test]
fn early_data_with_the_length_of_an_alert_is_received() {
    let kinds = KINDS.iter().filter(|kind| kind.has_early_data());
    for (kind, api) in product(kinds, OVER_RECORDS) {
        let received = [When::NoFuture, When::After(1)].map(|when| {
            let plan = Arc::new(Plan::new(when).only("take"));
            let [mut client, mut server] = api.ends(&resumable(kind, api, &plan), true);
            client.send_early(b"ok");
            assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
            server.early_data()
        });
        assert_eq!(received[0], received[1], "{kind:?} {api:?}");
    }
}

/// Before the retry, the server looks up the session to learn how much early data it must skip.
#[test]
fn the_session_is_looked_up_before_a_retry_if_early_data_is_offered() {
    for api in APIS {
        let plan = Arc::new(Plan::new(When::After(1)));
        connect(&KINDS[9], api, &plan, true);
        let calls = plan.calls();
        let operations: Vec<_> = calls.iter().map(|call| call.operation).collect();
        let expected = ["resolve", "get", "resolve", "take"];
        assert_eq!(operations[..4], expected, "{api:?}");
    }
}

/// A clock that shows a time after all certificates have expired, once a signature is being
/// verified.
#[derive(Debug)]
struct Slow {
    plan: Arc<Plan>,
    operation: &'static str,
}

impl TimeProvider for Slow {
    fn current_time(&self) -> Option<UnixTime> {
        let mut now = Duration::from_secs(UnixTime::now().as_secs());
        if self.plan.futures().contains(self.operation) {
            now += Duration::from_secs(3000 * 366 * 24 * 60 * 60);
        }
        Some(UnixTime::since_unix_epoch(now))
    }
}

/// The chain is verified together with the signature. It may expire before that.
#[test]
fn a_chain_that_expires_before_its_signature_is_verified_is_rejected() {
    for (kind, operation) in [
        (0, "verify_tls13_signature"),
        (10, "verify_tls12_signature"),
    ] {
        for api in APIS.into_iter().filter(|api| KINDS[kind].runs_over(*api)) {
            let plan = Arc::new(Plan::new(When::After(1)).only(operation));
            let mut world = KINDS[kind].world(api, &plan);
            Arc::make_mut(&mut world.client).time_provider = Arc::new(Slow {
                plan: plan.clone(),
                operation,
            });
            let [mut client, mut server] = api.ends(&world, true);
            let [result, _] = pump(&mut client, &mut server);
            let error = result.unwrap_err();
            assert!(matches!(error, Error::InvalidCertificate(_)), "{error:?}");
        }
    }
}

/// RFC 9846 §6.1: nothing follows a close_notify, and the client has its keys already.
#[test]
fn no_tickets_follow_a_close_notify() {
    let plan = Arc::new(Plan::new(When::After(1)).only("put"));
    let mut world = KINDS[0].world(Api::Buffered, &plan);
    Arc::make_mut(&mut world.server).send_half_rtt_data = true;
    let [mut client, mut server] = Api::Buffered.ends(&world, true);
    while !server.is_waiting() {
        server.receive(&client.output().concat()).unwrap();
        client.receive(&server.output().concat()).unwrap();
    }
    buffered(&mut server).send_close_notify();
    let closing = server.output().concat();
    assert!(!closing.is_empty());
    assert_eq!(finish(|task| server.poll(task)), Ok(()));
    assert!(server.output().is_empty() && !server.is_handshaking());
    client.receive(&closing).unwrap();
}

/// The storage may have sessions under keys of other lengths, but they are not TLS 1.3 sessions.
#[test]
fn a_ticket_of_another_length_is_not_looked_up() {
    let provider = Provider::Ring.this();
    for (len, is_taken) in [(31, false), (32, true), (34, false)] {
        let plan = Arc::new(Plan::new(When::Ready));
        let world = KINDS[0].world(Api::Buffered, &plan);
        let server = rustls::ServerConnection::new(world.server).unwrap();
        let mut server = ThisBuffered::new(server);
        server.conn.set_async(true);
        let offer = OfferedPsk::new(SUITE, vec![7; 32], &vec![3; len], 0);
        let hello = ClientHello::new();
        ScriptedClient::offering(Box::new(server), &provider, hello, Some(&offer)).unwrap();
        assert_eq!(plan.futures().contains("take"), is_taken, "{len}");
    }
}
