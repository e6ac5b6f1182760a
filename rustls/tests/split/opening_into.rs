//! Records that a receiving half opens straight into memory of the application.

use std::io::{ErrorKind, Read, Write};

use harness::peers::endpoints::Endpoint;
use harness::providers::provider_that_refuses;
use rustls::{ContentType, Error};

use crate::split::kit::{cases, split, tls13_cases};

#[test]
fn data_around_a_key_update_arrives_in_order_and_the_sender_answers_it() {
    for case in tls13_cases() {
        let (mut halves, mut peer) = case.split();
        peer.send(b"one");
        peer.refresh_traffic_keys();
        peer.send(b"two");
        let records = peer.take_output();
        halves.receiver.read_tls(&mut &records[..]).unwrap();
        let mut buf = [0xb3; 100];
        let (len, state) = halves.receiver.process_into(&mut buf).unwrap();
        assert_eq!(&buf[..len], b"onetwo", "{case:?}");
        assert_eq!(state.plaintext_bytes_to_read(), 0);
        assert!(state.sender_wants_write());
        halves.talk(&mut peer, b"owed");
    }
}

#[test]
fn data_before_an_error_is_still_unread_and_the_sender_sends_the_alert() {
    for case in cases() {
        let (mut halves, mut peer) = case.split();
        peer.send(b"before");
        let mut records = peer.take_output();
        peer.send(&[0x5a; 50]);
        records.extend(peer.take_output());
        *records.last_mut().unwrap() ^= 1;
        halves.receiver.read_tls(&mut &records[..]).unwrap();
        let mut buf = [0xb3; 100];
        let error = halves.receiver.process_into(&mut buf).unwrap_err();
        assert_eq!(error, Error::DecryptError);
        assert!(!buf.contains(&0x5a), "{case:?}");
        let mut received = Vec::new();
        let rest = halves.receiver.reader().read_to_end(&mut received);
        assert_eq!(rest.unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(received, b"before");
        assert_eq!(halves.receiver.process_into(&mut buf).unwrap_err(), error);
        let alert = peer.receive(&halves.output());
        assert_eq!(alert.unwrap_err(), "AlertReceived(BadRecordMac)");
    }
}

#[test]
fn nothing_is_opened_after_the_sender_has_failed() {
    for case in tls13_cases() {
        let ours = provider_that_refuses(case.provider, &[ContentType::ApplicationData]);
        let (conn, mut peer) = case.connected_over(ours);
        let mut halves = split(conn);
        peer.send(b"read later");
        halves.receive(&peer.take_output()).unwrap();
        peer.send(b"not opened");
        let record = peer.take_output();
        halves.receiver.read_tls(&mut &record[..]).unwrap();
        halves.sender.writer().write(b"x").unwrap_err();
        let mut buf = [0xb3; 100];
        for _ in 0..2 {
            let error = halves.receiver.process_into(&mut buf).unwrap_err();
            assert_eq!(error, Error::EncryptError, "{case:?}");
        }
        assert_eq!(buf, [0xb3; 100]);
        assert_eq!(halves.read_buffered(), b"read later");
    }
}
