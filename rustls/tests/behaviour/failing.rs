//! Tests of behaviour after a failure: only the alert is sent, and no key is kept. Unauthenticated
//! data never ends a stream.

use std::io::{ErrorKind, Read, Write};

use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, exchange};
use harness::providers::provider_that_refuses;
use harness::wire;
use rustls::unbuffered::ConnectionState;
use rustls::{AlertDescription, Connection, ContentType, Error, InPlaceError, ProtocolVersion};

use crate::behaviour::connected::encrypt_in_place;
use crate::behaviour::connected::this::{connected, exchange_all, fresh, input, output};
use crate::cases::{Role, cases, tls13_cases, tls13_cases_of};

const CLOSE_NOTIFY: [u8; 7] = *b"\x15\x03\x03\x00\x02\x01\x00";

/// Once TLS 1.3 is negotiated, a close_notify means that the peer refuses to continue.
#[test]
fn a_close_notify_in_the_middle_of_a_handshake_ends_it() {
    for case in tls13_cases() {
        let mut conn = fresh(case);
        let mut peer = case.peer();
        peer.receive(&output(&mut conn)).unwrap();
        let first_record = wire::records(&peer.take_output())[0].to_bytes();
        input(&mut conn, &first_record).unwrap();
        assert_eq!(conn.protocol_version(), Some(ProtocolVersion::TLSv1_3));

        let error = input(&mut conn, &CLOSE_NOTIFY).unwrap_err();
        assert_eq!(error, Error::AlertReceived(AlertDescription::CloseNotify));
        let read = conn.reader().read(&mut [0]).unwrap_err();
        assert_eq!(read.kind(), ErrorKind::WouldBlock);
    }
}

/// Tries every way to send after a failure.
fn assert_sends_nothing(conn: &mut Connection, expected: &Error) {
    assert_eq!(conn.process_new_packets().unwrap_err(), *expected);
    assert!(!conn.wants_write());
    let error = conn.writer().write(b"data").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let source = error.get_ref().and_then(|error| error.downcast_ref());
    assert_eq!(source, Some(expected));
    let mut buf = [0; 100];
    let in_place = encrypt_in_place(conn, &mut buf, 20..40);
    assert_eq!(in_place, Err(InPlaceError::EncryptExhausted));
    assert_eq!(buf, [0; 100]);
    assert_eq!(conn.refresh_traffic_keys().unwrap_err(), *expected);
    let exported = conn.export_keying_material([0; 32], b"label", None);
    assert_eq!(exported.unwrap_err(), *expected);
    conn.send_close_notify();
    assert!(!conn.wants_write());
}

#[test]
fn nothing_is_sent_after_a_failure() {
    for case in tls13_cases() {
        println!("{case:?}");
        // a fatal alert
        let (mut conn, mut peer) = connected(case);
        peer.receive(b"\x17\x03\x03\x00\x20 thirty-two bytes of no one's key")
            .unwrap_err();
        let error = input(&mut conn, &peer.take_output()).unwrap_err();
        assert_eq!(error, Error::AlertReceived(AlertDescription::BadRecordMac));
        assert_sends_nothing(&mut conn, &error);

        // too many KeyUpdates
        let (mut conn, mut peer) = connected(case);
        let error = loop {
            peer.refresh_traffic_keys();
            if let Err(error) = input(&mut conn, &peer.take_output()) {
                break error;
            }
            // answers that the peer never receives
            output(&mut conn);
        };
        assert_sends_nothing(&mut conn, &error);

        // a forged record: the alert is sealed before the keys are dropped, and nothing follows it
        let (mut conn, mut peer) = connected(case);
        let error = input(&mut conn, b"\x17\x03\x03\x00\x11 seventeen of them").unwrap_err();
        assert_eq!(error, Error::DecryptError);
        let alert_error = peer.receive(&output(&mut conn)).unwrap_err();
        assert_eq!(alert_error, "AlertReceived(BadRecordMac)");
        assert_sends_nothing(&mut conn, &error);

        // a failed handshake: plaintext buffered for its end is never sent
        let mut conn = fresh(case);
        output(&mut conn);
        conn.writer().write_all(b"waits").unwrap();
        let error = input(&mut conn, b"\x16\x03\x03\x00\x04\x14\x00\x00\x00").unwrap_err();
        // unexpected_message, in the clear
        assert_eq!(output(&mut conn), b"\x15\x03\x03\x00\x02\x02\x0a");
        assert_sends_nothing(&mut conn, &error);
    }
}

/// RFC 9846 §6.1: data written before a close_notify is sent before it.
#[test]
fn a_close_notify_follows_written_data() {
    for case in cases() {
        let mut conn = fresh(case);
        let mut peer = case.peer();
        let hello = output(&mut conn);
        conn.writer().write_all(b"before").unwrap();
        conn.send_close_notify();
        conn.send_close_notify();
        assert!(!conn.wants_write(), "nothing is sent in the clear");
        assert_eq!(conn.writer().write(b"behind").unwrap(), 6, "dropped");
        peer.receive(&hello).unwrap();
        assert_eq!(exchange_all(&mut conn, &mut peer), b"before");
        assert!(peer.peer_has_closed());
        // the peer may still send
        peer.send(b"answer");
        let received = ThisBuffered::new(conn).read_from(&peer.take_output());
        assert_eq!(received, b"answer");
    }
}

/// A flight that cannot be sealed ends the connection in both APIs.
#[test]
fn a_flight_that_cannot_be_sealed_is_an_error() {
    for case in tls13_cases() {
        let refused = &[ContentType::Handshake, ContentType::Alert];
        let config = case.config_over(provider_that_refuses(case.provider, refused));
        let (mut conn, mut unbuffered) = (config.connection(), config.unbuffered());
        let mut peer = case.peer();
        let error = loop {
            peer.receive(&output(&mut conn)).unwrap();
            if let Err(error) = input(&mut conn, &peer.take_output()) {
                break error;
            }
        };
        assert_eq!(error, Error::EncryptError);
        assert!(conn.is_handshaking());

        let mut peer = case.peer();
        let (client, server) = case.role.client_and_server(&mut *unbuffered, &mut peer);
        let error = exchange(client, server).unwrap_err();
        assert!(error.ends_with(": EncryptError"), "{error}");
    }
}

/// Unread data can still be read after the connection has failed.
#[test]
fn unread_data_can_be_read_after_a_failure() {
    for case in tls13_cases_of(Role::Client) {
        let ours = provider_that_refuses(case.provider, &[ContentType::ApplicationData]);
        let mut conn = ThisUnbuffered::client(case.config_over(ours).client());
        let mut peer = case.peer();
        exchange(&mut conn, &mut peer).unwrap();
        let mut conn = conn.conn;
        peer.send(b"read later");
        let mut incoming = peer.take_output();
        let status = conn.process_tls_records(&mut incoming);
        let Ok(ConnectionState::ReadTraffic(traffic)) = status.state else {
            panic!("{:?}", status.state);
        };
        assert_eq!(traffic.peek_len().unwrap().get(), 10);
        let mut traffic = conn.write_traffic().unwrap();
        traffic.encrypt(b"x", &mut [0; 100]).unwrap_err();
        // the data was authenticated before the failure
        let status = conn.process_tls_records(&mut []);
        let Ok(ConnectionState::ReadTraffic(mut traffic)) = status.state else {
            panic!("{:?}", status.state);
        };
        let record = traffic.next_record().unwrap().unwrap();
        assert_eq!(record.payload, b"read later");
        loop {
            match conn.process_tls_records(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(mut alert)) => {
                    alert.encode(&mut [0; 100]).unwrap();
                }
                Ok(ConnectionState::TransmitTlsData(state)) => state.done(),
                other => {
                    assert_eq!(other.unwrap_err(), Error::EncryptError);
                    break;
                }
            }
        }
        let status = conn.process_tls_records(&mut []);
        assert_eq!(status.state.unwrap_err(), Error::EncryptError);
    }
}

/// The failed seal uses up a sequence number and may leave a partial record.
#[test]
fn data_that_cannot_be_sealed_ends_the_connection() {
    for case in tls13_cases() {
        for in_place in [false, true] {
            let ours = provider_that_refuses(case.provider, &[ContentType::ApplicationData]);
            let mut conn = case.config_over(ours).connection();
            exchange_all(&mut conn, &mut case.peer());
            if in_place {
                let error = encrypt_in_place(&mut conn, &mut [0; 100], 20..40).unwrap_err();
                assert_eq!(error, InPlaceError::CipherFailed);
            } else {
                let error = conn.writer().write(b"data").unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidData);
            }
            assert_sends_nothing(&mut conn, &Error::EncryptError);
        }
    }
}
