//! A waiting connection still receives alerts, the end of the stream, and records that must wait.

use std::io::ErrorKind;
use std::sync::Arc;

use harness::operations::ends::{Api, End};
use harness::operations::kinds::KINDS;
use harness::operations::schedules::pump;
use harness::operations::{Plan, When, finish};
use rustls::server::Acceptor;
use rustls::{AlertDescription, Error};

use crate::operations::until_it_waits;

/// An unencrypted fatal handshake_failure.
pub(crate) const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];

#[test]
fn an_alert_ends_a_pending_operation() {
    // a TLS 1.3 server that signs has keys, and no longer reads an unprotected alert
    for (kind, operation) in [(0, "resolve"), (10, "resolve"), (10, "sign")] {
        for api in [Api::Buffered, Api::Unbuffered] {
            let plan = Arc::new(Plan::new(When::Never).only(operation));
            let (mut server, _client) = until_it_waits(&KINDS[kind], api, &plan).unwrap();
            let expected = Error::AlertReceived(AlertDescription::HandshakeFailure);
            assert_eq!(server.receive(&ALERT), Err(expected.clone()));
            assert!(!server.is_waiting());
            assert_eq!(plan.dropped(), 1, "the operation is over");
            assert_eq!(server.poll_once(), std::task::Poll::Ready(Err(expected)));
        }
    }
}

#[test]
fn a_connection_knows_if_it_needs_more_from_its_peer() {
    for api in [Api::Buffered, Api::Unbuffered, Api::Quic] {
        // (kind, operation, needs the peer): tickets of TLS 1.3 follow the client's Finished
        let cases = [
            (0, "resolve", true),
            (0, "sign", true),
            (3, "encrypt", false),
            (10, "sign", true),
        ];
        for (kind, operation, expected) in cases {
            let kind = &KINDS[kind];
            if !kind.runs_over(api) {
                continue;
            }
            let plan = Arc::new(Plan::new(When::Never).only(operation));
            let (server, client) = until_it_waits(kind, api, &plan).unwrap();
            assert_eq!(
                server.common().needs_peer(),
                expected,
                "{kind:?} {operation}"
            );
            // the client waits for nothing
            assert_eq!(client.common().needs_peer(), client.is_handshaking());
        }
    }
}

/// A record after the message whose operation is pending may be the peer's last one.
#[test]
fn a_connection_with_an_unprocessed_record_may_not_need_its_peer() {
    let plan = Arc::new(Plan::new(When::Never).only("sign"));
    let (mut server, _client) = until_it_waits(&KINDS[0], Api::Buffered, &plan).unwrap();
    assert!(server.common().needs_peer());
    server.receive(&[20, 3, 3, 0, 1, 1]).unwrap();
    assert!(server.common().needs_peer(), "it has been dropped");
    server.receive(&[23, 3, 3, 0, 40]).unwrap();
    assert!(server.common().needs_peer(), "it is incomplete");
    server.receive(&[0; 40]).unwrap();
    assert!(!server.common().needs_peer());
}

/// The client has the server's ServerHello, and therefore the keys of the handshake.
#[test]
fn an_encrypted_alert_ends_a_pending_operation() {
    for api in [Api::Buffered, Api::Unbuffered] {
        let plan = Arc::new(Plan::new(When::Never).only("sign"));
        let (mut server, mut client) = until_it_waits(&KINDS[0], api, &plan).unwrap();
        for bytes in server.output() {
            client.receive(&bytes).unwrap();
        }
        assert!(
            client.is_handshaking() && client.facts().contains("TLSv1_3"),
            "{api:?}"
        );
        // a record that cannot be decrypted
        let mut garbage = vec![23, 3, 3, 0, 32];
        garbage.extend([0; 32]);
        client.receive(&garbage).unwrap_err();
        let alert = client.output().concat();
        let error = server.receive(&alert).unwrap_err();
        let expected = Error::AlertReceived(AlertDescription::BadRecordMac);
        assert_eq!(error, expected);
        assert_eq!(plan.dropped(), 1);
    }
}

/// Reading stops at the first record that must wait, so that the buffer stays short, but not
/// earlier, so that the end of the stream is noticed.
#[test]
fn a_waiting_connection_reads_up_to_one_record() {
    let plan = Arc::new(Plan::new(When::Never).only("resolve"));
    let (server, _client) = until_it_waits(&KINDS[0], Api::Buffered, &plan).unwrap();
    let End::Buffered(mut server) = server else {
        unreachable!("it is buffered");
    };
    let record = [&[23, 3, 3, 0, 32][..], &[0; 32]].concat();
    for byte in &record {
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
    let plan = Arc::new(Plan::new(When::Never).only("resolve"));
    let (server, _client) = until_it_waits(&KINDS[0], Api::Buffered, &plan).unwrap();
    let End::Buffered(mut server) = server else {
        unreachable!("it is buffered");
    };
    let mut bytes = vec![22, 3, 3, 0xff, 0xff];
    bytes.resize(1 << 20, 0);
    let mut rest = &bytes[..];
    while server.wants_read() {
        server.read_tls(&mut rest).unwrap();
        server.process_new_packets().unwrap();
    }
    assert!(rest.len() > (1 << 20) - (64 << 10));
}

/// QUIC has no records, so the connection itself must hold the bytes.
#[test]
fn a_waiting_quic_connection_buffers_little() {
    let plan = Arc::new(Plan::new(When::Never).only("resolve"));
    let (mut server, _client) = until_it_waits(&KINDS[0], Api::Quic, &plan).unwrap();
    // complete messages, none of which is too long
    let message = [&[1, 0, 0x10, 0][..], &[0; 0x1000]].concat();
    let mut taken = 0;
    let error = loop {
        match server.receive(&message) {
            Ok(()) => taken += message.len(),
            Err(error) => break error,
        }
    };
    assert_eq!(
        error,
        rustls::InvalidMessage::HandshakePayloadTooLarge.into()
    );
    assert!(taken < 3 << 16, "{taken}");
    assert_eq!(plan.dropped(), 1);
}

/// The client's close_notify after its Finished only ends its data, even if the server is still
/// storing the session.
#[test]
fn a_close_notify_after_the_finished_does_not_end_an_operation() {
    for kind in KINDS.iter().filter(|kind| !kind.has_early_data()) {
        let plan = Arc::new(Plan::new(When::After(1)));
        let world = harness::operations::schedules::resumable(kind, Api::Buffered, &plan);
        let [mut client, mut server] = Api::Buffered.ends(&world, true);
        let mut has_closed = false;
        while server.is_handshaking() || !has_closed {
            for bytes in server.output() {
                client.receive(&bytes).unwrap();
            }
            finish(|task| client.poll(task)).unwrap();
            if let End::Buffered(conn) = &mut client {
                if !conn.is_handshaking() && !has_closed {
                    conn.send_close_notify();
                    has_closed = true;
                }
            }
            for bytes in client.output() {
                server.receive(&bytes).unwrap();
            }
            finish(|task| server.poll(task)).unwrap();
        }
        let End::Buffered(conn) = &mut server else {
            unreachable!("it is buffered");
        };
        assert!(
            conn.process_new_packets().unwrap().peer_has_closed(),
            "{kind:?}"
        );
    }
}

/// The result of the operation determines the outcome, and not an error in later records.
#[test]
fn records_other_than_alerts_wait_for_the_operation() {
    for (kind, operation) in [(0, "sign"), (1, "verify_server_cert"), (11, "sign")] {
        for api in [Api::Buffered, Api::Unbuffered] {
            let plan = Arc::new(Plan::new(When::Never).only(operation));
            let (mut waiting, _other) = until_it_waits(&KINDS[kind], api, &plan).unwrap();
            let garbage = [&[23, 3, 3, 0, 32][..], &[0; 32]].concat();
            waiting.receive(&garbage).unwrap();
            assert!(waiting.is_waiting());
        }
    }
}

#[test]
fn a_waiting_connection_reads_the_end_of_the_stream() {
    let plan = Arc::new(Plan::new(When::Never).only("sign"));
    let (server, _client) = until_it_waits(&KINDS[0], Api::Buffered, &plan).unwrap();
    let End::Buffered(mut server) = server else {
        unreachable!("it is buffered");
    };
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
        for bytes in server.output() {
            client.receive(&bytes).unwrap();
        }
        let End::Buffered(conn) = &mut server else {
            unreachable!("it is buffered");
        };
        conn.send_close_notify();
        assert!(!conn.wants_write());
        finish(|task| server.poll(task)).unwrap();
        assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
        let End::Buffered(conn) = &mut client else {
            unreachable!("it is buffered");
        };
        assert!(conn.process_new_packets().unwrap().peer_has_closed());
    }
}

/// Handshake bytes after the message that is being answered cause an error, as without waiting.
#[test]
fn misaligned_messages_are_rejected() {
    for api in [Api::Buffered, Api::Unbuffered] {
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

#[test]
fn an_acceptor_passes_set_async_to_its_connection() {
    let plan = Arc::new(Plan::new(When::After(1)));
    let world = KINDS[0].world(Api::Buffered, &plan);
    let [mut client, _] = Api::Buffered.ends(&world, false);
    let mut acceptor = Acceptor::default();
    acceptor.set_async(true);
    for bytes in client.output() {
        acceptor.read_tls(&mut &bytes[..]).unwrap();
    }
    let accepted = acceptor.accept().unwrap().unwrap();
    let server = accepted.into_connection(world.server).unwrap();
    assert!(server.is_waiting());
    let mut server = End::Buffered(server.into());
    finish(|task| server.poll(task)).unwrap();
    assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
    assert!(plan.futures().contains("resolve"));
}
