//! A waiting connection still receives alerts, the end of the stream, and records that must wait.

use std::io::ErrorKind;
use std::sync::Arc;

use harness::operations::ends::{APIS, Api, End};
use harness::operations::kinds::KINDS;
use harness::operations::schedules::{pump, resumable};
use harness::operations::{Plan, When, finish};
use harness::peers::configs::{product, product3};
use rustls::server::Acceptor;
use rustls::{AlertDescription, Error};

use crate::operations::{OVER_RECORDS, buffered, deliver, pending, until_it_waits};

/// An unencrypted fatal handshake_failure.
pub(crate) const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];

#[test]
fn an_alert_ends_a_pending_operation() {
    // a TLS 1.3 server that signs has keys, and no longer reads an unprotected alert
    let waits = [(0, "resolve"), (10, "resolve"), (10, "sign")];
    for ((kind, operation), api) in product(waits, OVER_RECORDS) {
        let (mut server, _client, plan) = pending(&KINDS[kind], api, operation);
        let expected = Error::AlertReceived(AlertDescription::HandshakeFailure);
        assert_eq!(server.receive(&ALERT), Err(expected.clone()));
        assert!(!server.is_waiting());
        assert_eq!(plan.dropped(), 1, "the operation is over");
        assert_eq!(server.poll_once(), std::task::Poll::Ready(Err(expected)));
    }
}

#[test]
fn a_connection_knows_if_it_needs_more_from_its_peer() {
    // (kind, operation, needs the peer): tickets of TLS 1.3 follow the client's Finished
    let cases = [
        (0, "resolve", true),
        (0, "sign", true),
        (3, "encrypt", false),
        (10, "sign", true),
    ];
    for ((kind, operation, expected), api) in product(cases, APIS) {
        if KINDS[kind].runs_over(api) {
            let (server, client, _plan) = pending(&KINDS[kind], api, operation);
            let needs_peer = server.common().needs_peer();
            assert_eq!(needs_peer, expected, "{kind} {operation} {api:?}");
            // the client waits for nothing
            assert_eq!(client.common().needs_peer(), client.is_handshaking());
        }
    }
}

/// A record after the message whose operation is pending may be the peer's last one.
#[test]
fn a_connection_with_an_unprocessed_record_may_not_need_its_peer() {
    let (mut server, _client, _plan) = pending(&KINDS[0], Api::Buffered, "sign");
    assert!(server.common().needs_peer());
    server.receive(&[20, 3, 3, 0, 1, 1]).unwrap();
    assert!(server.common().needs_peer(), "it has been dropped");
    server.receive(&[23, 3, 3, 0, 40]).unwrap();
    assert!(server.common().needs_peer(), "it is incomplete");
    server.receive(&[0; 40]).unwrap();
    assert!(!server.common().needs_peer());
}

/// The client has the server's ServerHello, and therefore the keys of the handshake. TLS 1.3 drops
/// a change_cipher_spec immediately, because an alert may follow.
#[test]
fn an_encrypted_alert_ends_a_pending_operation() {
    let befores: [&[u8]; 2] = [&[], &[20, 3, 3, 0, 1, 1]];
    for (kind, api, before) in product3([0, 1], OVER_RECORDS, befores) {
        let (mut server, mut client, plan) = pending(&KINDS[kind], api, "sign");
        deliver(&mut server, &mut client);
        assert!(client.is_handshaking() && client.facts().contains("TLSv1_3"));
        client.receive(&garbage()).unwrap_err();
        server.receive(before).unwrap();
        assert!(server.is_waiting());
        let error = server.receive(&client.output().concat()).unwrap_err();
        let expected = Error::AlertReceived(AlertDescription::BadRecordMac);
        assert_eq!(error, expected, "{api:?}");
        assert_eq!(plan.dropped(), 1);
    }
}

/// Returns a record that cannot be decrypted.
fn garbage() -> Vec<u8> {
    [&[23, 3, 3, 0, 32][..], &[0; 32]].concat()
}

/// Reading stops at the first record that must wait, so that the buffer stays short, but not
/// earlier, so that the end of the stream is noticed.
#[test]
fn a_waiting_connection_reads_up_to_one_record() {
    let (mut server, _client, plan) = pending(&KINDS[0], Api::Buffered, "resolve");
    let server = buffered(&mut server);
    for byte in &garbage() {
        assert!(server.wants_read());
        server.read_tls(&mut &[*byte][..]).unwrap();
        assert!(server.process_new_packets().unwrap().is_waiting());
    }
    assert!(!server.wants_read());
    // a level-triggered loop may still read, within the usual limit
    let flood = vec![0; 1 << 20];
    let mut rest = &flood[..];
    let full = loop {
        if let Err(error) = server.read_tls(&mut rest) {
            break error;
        }
        assert!(server.process_new_packets().unwrap().is_waiting());
    };
    assert_eq!(full.kind(), ErrorKind::InvalidData);
    assert!(rest.len() > (1 << 20) - (64 << 10));
    assert_eq!(plan.dropped(), 0);
}

/// The record's length is impossible, so it can never be complete.
#[test]
fn an_impossible_header_does_not_fill_the_buffer() {
    let (mut server, _client, _plan) = pending(&KINDS[0], Api::Buffered, "resolve");
    let server = buffered(&mut server);
    let mut bytes = vec![22, 3, 3, 0xff, 0xff];
    bytes.resize(1 << 20, 0);
    let mut rest = &bytes[..];
    while server.wants_read() {
        server.read_tls(&mut rest).unwrap();
        server.process_new_packets().unwrap();
    }
    assert!(rest.len() > (1 << 20) - (64 << 10));
}

/// QUIC has no records, so the connection itself must hold the bytes. The first message may have
/// the maximum length, and there is space for another one after it.
#[test]
fn a_waiting_quic_connection_buffers_little() {
    let (mut server, _client, plan) = pending(&KINDS[0], Api::Quic, "resolve");
    let message = [&[1, 0, 0xff, 0xff][..], &[0; 0xffff]].concat();
    for _ in 0..2 {
        assert_eq!(server.receive(&message), Ok(()));
    }
    assert!(server.is_waiting());
    let error = rustls::InvalidMessage::HandshakePayloadTooLarge;
    assert_eq!(server.receive(&[1]), Err(error.into()));
    assert_eq!(plan.dropped(), 1);
}

/// The client's close_notify after its Finished only ends its data, even if the server is still
/// storing the session.
#[test]
fn a_close_notify_after_the_finished_does_not_end_an_operation() {
    for kind in KINDS.iter().filter(|kind| !kind.has_early_data()) {
        let plan = Arc::new(Plan::new(When::After(1)));
        let world = resumable(kind, Api::Buffered, &plan);
        let [mut client, mut server] = Api::Buffered.ends(&world, true);
        let mut has_closed = false;
        while server.is_handshaking() || !has_closed {
            deliver(&mut server, &mut client);
            finish(|task| client.poll(task)).unwrap();
            if !client.is_handshaking() && !has_closed {
                buffered(&mut client).send_close_notify();
                has_closed = true;
            }
            deliver(&mut client, &mut server);
            finish(|task| server.poll(task)).unwrap();
        }
        let state = buffered(&mut server).process_new_packets().unwrap();
        assert!(state.peer_has_closed(), "{kind:?}");
    }
}

/// The result of the operation determines the outcome, and not an error in later records.
#[test]
fn records_other_than_alerts_wait_for_the_operation() {
    let waits = [(0, "sign"), (1, "verify_server_cert"), (11, "sign")];
    for ((kind, operation), api) in product(waits, OVER_RECORDS) {
        let (mut waiting, _other, _plan) = pending(&KINDS[kind], api, operation);
        waiting.receive(&garbage()).unwrap();
        assert!(waiting.is_waiting());
    }
}

#[test]
fn a_waiting_connection_reads_the_end_of_the_stream() {
    let (mut server, _client, _plan) = pending(&KINDS[0], Api::Buffered, "sign");
    let server = buffered(&mut server);
    server.write_tls(&mut Vec::new()).unwrap();
    assert!(server.wants_read());
    assert_eq!(server.read_tls(&mut &[][..]).unwrap(), 0);
}

/// Nothing can follow a close_notify, and the server's flight has not been sent yet.
#[test]
fn a_close_notify_is_sent_after_the_pending_flight() {
    for operation in ["resolve", "sign"] {
        let plan = Arc::new(Plan::new(When::After(1)).only(operation));
        let (mut server, mut client) = until_it_waits(&KINDS[0], Api::Buffered, &plan).unwrap();
        deliver(&mut server, &mut client);
        let conn = buffered(&mut server);
        conn.send_close_notify();
        assert!(!conn.wants_write());
        finish(|task| server.poll(task)).unwrap();
        assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
        let state = buffered(&mut client).process_new_packets().unwrap();
        assert!(state.peer_has_closed());
    }
}

/// Handshake bytes after the message that is being answered cause an error, as without waiting.
#[test]
fn misaligned_messages_are_rejected() {
    for api in OVER_RECORDS {
        let plan = Arc::new(Plan::new(When::After(1)));
        let [mut client, mut server] = api.ends(&KINDS[0].world(api, &plan), true);
        let mut hello = client.output().concat();
        // a second message in the same record
        let len = u16::from_be_bytes([hello[3], hello[4]]) + 4;
        hello[3..5].copy_from_slice(&len.to_be_bytes());
        hello.extend([1, 0, 0, 0]);
        let received = server.receive(&hello);
        let result = received.and_then(|()| finish(|task| server.poll(task)));
        let error = result.unwrap_err();
        let expected = rustls::PeerMisbehaved::KeyEpochWithPendingFragment;
        assert_eq!(error, expected.into());
    }
}

/// QUIC may deliver such bytes while the call for the message is pending.
#[test]
fn misaligned_messages_that_arrive_during_a_call_are_rejected() {
    let retried = KINDS
        .iter()
        .position(|kind| format!("{kind:?}").contains("retried"));
    for kind in [0, retried.unwrap()] {
        let plan = Arc::new(Plan::new(When::After(1)));
        let [mut client, mut server] = Api::Quic.ends(&KINDS[kind].world(Api::Quic, &plan), true);
        server.receive(&client.output().concat()).unwrap();
        assert!(server.is_waiting());
        server.receive(&[1, 0, 0, 0]).unwrap();
        let error = finish(|task| server.poll(task)).unwrap_err();
        let expected = rustls::PeerMisbehaved::KeyEpochWithPendingFragment;
        assert_eq!(error, expected.into());
        assert_eq!(server.output().concat(), []);
    }
}

/// The accepted hello may override the setting.
#[test]
fn an_acceptor_passes_set_async_to_its_connection() {
    let settings = product([false, true], [None, Some(false), Some(true)]);
    for (of_acceptor, of_accepted) in settings {
        let plan = Arc::new(Plan::new(When::After(1)));
        let world = KINDS[0].world(Api::Buffered, &plan);
        let [mut client, _] = Api::Buffered.ends(&world, false);
        let mut acceptor = Acceptor::default();
        acceptor.set_async(of_acceptor);
        let hello = client.output().concat();
        acceptor.read_tls(&mut &hello[..]).unwrap();
        let mut accepted = acceptor.accept().unwrap().unwrap();
        if let Some(is_async) = of_accepted {
            accepted.set_async(is_async);
        }
        let server = accepted.into_connection(world.server).unwrap();
        let is_async = of_accepted.unwrap_or(of_acceptor);
        assert_eq!(server.is_waiting(), is_async);
        let mut server = End::Buffered(server.into());
        finish(|task| server.poll(task)).unwrap();
        assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
        assert_eq!(plan.futures().contains("resolve"), is_async);
    }
}
