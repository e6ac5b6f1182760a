//! Tests of failures: one in either half ends both. The peer receives one alert and nothing after
//! it, and all later calls return the error.

use std::io::Write;

use harness::peers::endpoints::Endpoint;
use harness::providers::provider_that_refuses;
use rustls::unbuffered::EncryptError;
use rustls::{AlertDescription, ContentType, Error, InPlaceError, InvalidMessage, PeerMisbehaved};

use crate::split::kit::{
    ALERT, APPLICATION_DATA, Bare, Case, HANDSHAKE, Halves, cases, split, tls_error, tls13_cases,
};

/// Asserts that the sending half sends nothing more and reports the error.
fn sends_nothing(sender: &mut rustls::split::Sender, expected: &Error) {
    for _ in 0..2 {
        assert_eq!(sender.error().as_ref(), Some(expected));
        let error = sender.writer().write(b"more").unwrap_err();
        assert_eq!(tls_error(error), *expected);
        let pieces = [std::io::IoSlice::new(b"more")];
        let error = sender.writer().write_vectored(&pieces).unwrap_err();
        assert_eq!(tls_error(error), *expected);
        let mut buf = [0; 100];
        assert!(matches!(
            sender.encrypt(b"more", &mut buf),
            Err(EncryptError::EncryptExhausted)
        ));
        let in_place = sender.encrypt_in_place(&mut buf, 40..60);
        assert_eq!(in_place.unwrap_err(), InPlaceError::EncryptExhausted);
        assert_eq!(sender.refresh_traffic_keys().unwrap_err(), *expected);
        sender.send_close_notify();
        assert_eq!(buf, [0; 100]);
        assert!(!sender.wants_write());
        assert_eq!(sender.take_tls(&mut buf).unwrap(), 0);
        assert_eq!(sender.write_tls(&mut Vec::new()).unwrap(), 0);
    }
}

/// Asserts that the receiving half accepts nothing more and reports the error.
fn receives_nothing(halves: &mut Halves, peer: &mut Bare, expected: &Error) {
    for _ in 0..2 {
        let record = peer.seals.seal(APPLICATION_DATA, b"more");
        let error = halves.receive(&record).unwrap_err();
        assert_eq!(error, *expected);
        let error = halves.receiver.process().unwrap_err();
        assert_eq!(error, *expected);
        assert_eq!(halves.receiver.exported().unwrap_err(), *expected);
    }
    assert!(halves.read_buffered().is_empty());
}

/// A message from the peer that ends the connection, with the error and its alert.
type Mistake = (
    &'static str,
    fn(Case, &mut Bare) -> Vec<u8>,
    Error,
    Option<u8>,
);

fn mistakes(case: Case) -> Vec<Mistake> {
    let mut mistakes: Vec<Mistake> = vec![
        (
            "a forged record",
            |_, peer| {
                let mut record = peer.seals.seal(APPLICATION_DATA, b"forged");
                *record.last_mut().unwrap() ^= 1;
                record
            },
            Error::DecryptError,
            Some(20),
        ),
        (
            "not a record",
            |_, _| b"GET / HTTP/1.1".to_vec(),
            InvalidMessage::InvalidContentType.into(),
            Some(50),
        ),
        (
            "an alert",
            |_, peer| peer.seals.seal(ALERT, &[2, 80]),
            Error::AlertReceived(AlertDescription::InternalError),
            None,
        ),
        (
            "two alerts in a record",
            |_, peer| peer.seals.seal(ALERT, &[2, 80, 2, 80]),
            InvalidMessage::TrailingData("AlertMessagePayload").into(),
            Some(50),
        ),
        (
            "empty records",
            |_, peer| {
                (0..33)
                    .flat_map(|_| peer.seals.seal(APPLICATION_DATA, b""))
                    .collect()
            },
            PeerMisbehaved::TooManyEmptyFragments.into(),
            Some(10),
        ),
    ];
    if case.is_tls13() {
        mistakes.push((
            "data after a KeyUpdate in its record",
            |_, peer| peer.seals.seal(HANDSHAKE, &[24, 0, 0, 1, 0, 24]),
            PeerMisbehaved::KeyEpochWithPendingFragment.into(),
            Some(10),
        ));
        mistakes.push((
            "a KeyUpdate of another kind",
            |_, peer| peer.seals.seal(HANDSHAKE, &[24, 0, 0, 1, 2]),
            InvalidMessage::InvalidKeyUpdate.into(),
            Some(47),
        ));
    }
    mistakes
}

#[test]
fn the_sender_sends_the_alert_of_the_receiver() {
    for case in cases() {
        for (what, mistake, expected, alert) in mistakes(case) {
            for noticed_by in 0..6 {
                let (mut halves, mut peer) = case.split_from_bare();
                halves.sender.writer().write_all(b"before").unwrap();
                let mut bytes = peer.seals.seal(APPLICATION_DATA, b"read later");
                bytes.extend(mistake(case, &mut peer));
                let error = halves.receive(&bytes).unwrap_err();
                assert_eq!(error, expected, "{case:?}: {what}");
                let wants = halves.receiver.sender_wants_write();
                assert_eq!(wants, alert.is_some(), "{case:?}: {what}");
                // earlier data can still be read
                assert_eq!(halves.read_buffered(), b"read later");
                receives_nothing(&mut halves, &mut peer, &expected);

                // any first call of the sender has this effect
                let sender = &mut halves.sender;
                assert_eq!(sender.writer().room_left(), Some(0));
                let mut buf = [0; 100];
                match noticed_by {
                    0 => drop(sender.writer().write(b"more").unwrap_err()),
                    1 => drop(sender.encrypt(b"more", &mut buf).unwrap_err()),
                    2 => drop(sender.encrypt_in_place(&mut buf, 40..60).unwrap_err()),
                    3 => drop(sender.refresh_traffic_keys().unwrap_err()),
                    4 => sender.send_close_notify(),
                    _ => {}
                }
                let out = halves.output();
                let mut records = vec![(APPLICATION_DATA, b"before".to_vec())];
                records.extend(alert.map(|alert| (ALERT, vec![2, alert])));
                assert_eq!(peer.open_all(&out), records, "{case:?}: {what}");
                assert!(!halves.receiver.sender_wants_write());
                sends_nothing(&mut halves.sender, &expected);
            }
        }
    }
}

/// RFC 9846 §6.1: nothing may follow a close_notify, not even an alert.
#[test]
fn a_closed_sender_sends_no_alert() {
    for case in cases() {
        for (what, mistake, expected, _) in mistakes(case) {
            let (mut halves, mut peer) = case.split_from_bare();
            halves.sender.send_close_notify();
            let error = halves.receive(&mistake(case, &mut peer)).unwrap_err();
            assert_eq!(error, expected, "{case:?}: {what}");
            assert!(!halves.receiver.sender_wants_write());
            let out = halves.output();
            assert_eq!(peer.open_all(&out), [(ALERT, vec![1, 0])]);
            sends_nothing(&mut halves.sender, &expected);
        }
    }
}

/// A pending answer to a KeyUpdate request is dropped.
#[test]
fn a_pending_key_update_is_dropped_after_a_failure() {
    for (mut halves, mut peer) in tls13_cases().map(Case::split) {
        peer.refresh_traffic_keys();
        let mut bytes = peer.take_output();
        bytes.extend_from_slice(&[23, 3, 3, 0, 17]);
        bytes.extend_from_slice(&[0; 17]);
        let error = halves.receive(&bytes).unwrap_err();
        assert_eq!(error, Error::DecryptError);
        let out = halves.output();
        assert_eq!(out.len(), 5 + 2 + 1 + 16);
        let alert_error = peer.receive(&out).unwrap_err();
        assert!(alert_error.contains("BadRecordMac"), "{alert_error}");
        sends_nothing(&mut halves.sender, &error);
    }
}

/// A failing cipher ends both halves; data received before can still be read.
#[test]
fn a_failed_write_also_ends_the_receiver() {
    for case in tls13_cases() {
        for written_by in 0..3 {
            let ours = provider_that_refuses(case.provider, &[ContentType::ApplicationData]);
            let (conn, mut peer) = case.connected_over(ours);
            let mut halves = split(conn);
            peer.send(b"read later");
            halves.receive(&peer.take_output()).unwrap();
            let mut buf = [0; 100];
            let sender = &mut halves.sender;
            match written_by {
                0 => {
                    let error = sender.writer().write(b"x").unwrap_err();
                    assert_eq!(tls_error(error), Error::EncryptError);
                }
                1 => drop(sender.encrypt(b"x", &mut buf).unwrap_err()),
                _ => drop(sender.encrypt_in_place(&mut buf, 40..60).unwrap_err()),
            }
            let error = halves.sender.writer().flush().unwrap_err();
            assert_eq!(tls_error(error), Error::EncryptError);
            // the receiving half has not been called since then
            assert_eq!(halves.receiver.exported(), Err(Error::EncryptError));
            // a record that would open if the key still existed
            peer.send(b"x");
            for _ in 0..2 {
                let error = halves.receive(&peer.take_output()).err();
                let error = error.or_else(|| halves.receiver.process().err());
                assert_eq!(error, Some(Error::EncryptError));
                let exported = halves.receiver.exported();
                assert_eq!(exported.unwrap_err(), Error::EncryptError);
                let opened = halves.receiver.open_in_place(&mut []);
                assert!(opened.is_err());
            }
            assert!(!halves.receiver.sender_wants_write());
            assert_eq!(halves.read_buffered(), b"read later");
            assert!(halves.output().is_empty());
        }
    }
}
