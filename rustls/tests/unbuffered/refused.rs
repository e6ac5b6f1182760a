//! Tests of `peek_record`: its information about an unopened record, and records that stay
//! unopened.

use harness::peers::endpoints::{Endpoint, Unbuffered, UpstreamBuffered};
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use crate::unbuffered::ends::{
    Case, encrypted, for_all, idle_state, own_output, processed, replace_keys, take_one,
};

/// Returns the length of the first record in `wire`.
fn record_len(wire: &[u8]) -> usize {
    5 + usize::from(u16::from_be_bytes([wire[3], wire[4]]))
}

/// A record can wait while this side sends, replaces keys and closes. After that, it can still be
/// opened, even at another address.
#[test]
fn a_record_left_unread_waits() {
    fn test(case: Case, mut conn: impl Unbuffered, mut peer: UpstreamBuffered) {
        peer.send(b"first");
        peer.send(b"the second");
        let incoming = peer.take_output();
        let len = record_len(&incoming);
        let record = conn.peek_record(&incoming).unwrap();
        assert_eq!((record.record_len, record.max_payload), (len, 5));

        for _ in 0..2 {
            let wire = encrypted(&mut conn, b"meanwhile");
            assert_eq!(peer.read_from(&wire), b"meanwhile");
            assert_eq!(idle_state(&mut conn), "WriteTraffic");
            assert_eq!(conn.peek_record(&incoming), Some(record));
        }
        if case.is_tls13() {
            replace_keys(&mut conn, &mut peer);
            assert_eq!(conn.peek_record(&incoming), Some(record));
        }
        let mut close = Vec::new();
        let mut traffic = conn.write_traffic().unwrap();
        traffic.queue_close_notify_to_vec(&mut close, 0).unwrap();
        peer.read_from(&close);
        assert!(peer.peer_has_closed());

        // at another address
        let mut elsewhere = incoming[..len].to_vec();
        assert_eq!(take_one(&mut conn, &mut elsewhere), b"first");
        assert!(elsewhere.is_empty());
        let record = conn.peek_record(&incoming[len..]).unwrap();
        let lens = (record.record_len, record.max_payload);
        assert_eq!(lens, (incoming.len() - len, 10));
        let mut elsewhere = incoming[len..].to_vec();
        assert_eq!(take_one(&mut conn, &mut elsewhere), b"the second");
        assert_eq!(conn.peek_record(&elsewhere), None);
    }
    for_all!(test);
}

/// Some of several available records can be read and the next one left unread.
#[test]
fn a_record_after_others_can_be_left_unread() {
    fn test(_: Case, mut conn: impl Unbuffered, mut peer: UpstreamBuffered) {
        for data in [&[1; 10][..], &[2; 20], &[3; 30]] {
            peer.send(data);
        }
        let sent = peer.take_output();
        let mut incoming = sent.clone();
        assert_eq!(take_one(&mut conn, &mut incoming), [1; 10]);
        let discarded = sent.len() - incoming.len();
        let rest = &sent[discarded..];
        assert_eq!(incoming, rest, "opened although it was refused");
        let waiting = conn.peek_record(&incoming).unwrap();
        assert_eq!(waiting.max_payload, 20);
        assert_eq!(waiting.record_len, record_len(&incoming));
        assert_eq!(conn.peek_record(&incoming[..waiting.record_len - 1]), None);
        assert_eq!(take_one(&mut conn, &mut incoming), [2; 20]);
        assert_eq!(take_one(&mut conn, &mut incoming), [3; 30]);
        assert!(incoming.is_empty());
    }
    for_all!(test);
}

/// A KeyUpdate and an alert keep their place after a record that was left unread.
#[test]
fn records_after_an_unread_one_also_wait() {
    fn test(case: Case, mut conn: impl Unbuffered, mut peer: UpstreamBuffered) {
        peer.send(b"old keys");
        if case.is_tls13() {
            peer.refresh_traffic_keys();
        }
        peer.send(b"new keys");
        peer.close();
        let mut incoming = peer.take_output();
        assert_eq!(idle_state(&mut conn), "WriteTraffic");

        assert_eq!(conn.peek_record(&incoming).unwrap().max_payload, 8);
        assert_eq!(take_one(&mut conn, &mut incoming), b"old keys");
        if case.is_tls13() {
            // the record's type is not visible
            let record = conn.peek_record(&incoming).unwrap();
            assert_eq!(record.max_payload, 5);
            let (discard, state) = processed(&mut conn, &mut incoming[..record.record_len]);
            assert_eq!((discard, &*state), (record.record_len, "WriteTraffic"));
            incoming.drain(..discard);
            // the pending answer is sent while the next record waits
            let wire = encrypted(&mut conn, b"answer");
            assert_eq!(peer.read_from(&wire), b"answer");
        }
        assert_eq!(conn.peek_record(&incoming).unwrap().max_payload, 8);
        assert_eq!(take_one(&mut conn, &mut incoming), b"new keys");

        let alert = conn.peek_record(&incoming).unwrap();
        assert_eq!(alert.record_len, incoming.len());
        // in TLS 1.2, the type shows that there is no application data
        assert_eq!(alert.max_payload, if case.is_tls13() { 2 } else { 0 });
        let (discard, state) = processed(&mut conn, &mut incoming);
        assert_eq!((discard, &*state), (alert.record_len, "PeerClosed"));
        // data after a close_notify is ignored
        assert_eq!(conn.peek_record(b"\x17\x03\x03\x00\x01a"), None);
    }
    for_all!(test);
}

/// Handshake records hold no application data, so the handshake completes although each record is
/// peeked at. Application data directly after it can be left unread.
#[test]
fn peeking_does_not_hold_up_the_handshake() {
    fn test(_: Case, mut conn: impl Unbuffered, mut peer: UpstreamBuffered) {
        let mut incoming = Vec::new();
        let mut sent_last = false;
        loop {
            incoming.extend(peer.take_output());
            if !peer.is_handshaking() && !sent_last {
                peer.send(&[7; 100]);
                incoming.extend(peer.take_output());
                sent_last = true;
            }
            let record = conn.peek_record(&incoming);
            let len = record.map_or(0, |record| record.record_len);
            if !conn.is_handshaking() && record.is_some_and(|record| record.max_payload == 100) {
                break;
            }
            assert!(!conn.is_handshaking() || record.is_none_or(|it| it.max_payload == 0));
            let mut out = Vec::new();
            let UnbufferedStatus { discard, state } = conn.process(&mut incoming[..len]);
            match state.unwrap() {
                ConnectionState::EncodeTlsData(mut state) => {
                    state.encode_to_vec(&mut out, 0).unwrap();
                }
                ConnectionState::TransmitTlsData(state) => state.done(),
                ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => {}
                other => panic!("{other:?}"),
            }
            incoming.drain(..discard);
            peer.receive(&out).unwrap();
        }
        assert_eq!(own_output(&mut conn), b"");
        assert_eq!(take_one(&mut conn, &mut incoming), [7; 100]);
    }
    for_all!(fresh test);
}

/// `max_payload` subtracts the overhead that RFC 9846 §5.2 and RFC 5246 §6.2.3 allow.
#[test]
fn peeking_reports_the_lengths_of_each_record() {
    fn test(_: Case, mut conn: impl Unbuffered, mut peer: UpstreamBuffered) {
        for len in [1, 2, 100, 16_383, 16_384] {
            peer.send(&vec![7; len]);
            let mut incoming = peer.take_output();
            let record = conn.peek_record(&incoming).unwrap();
            let lens = (record.record_len, record.max_payload);
            assert_eq!(lens, (incoming.len(), len));
            assert_eq!(take_one(&mut conn, &mut incoming).len(), len);
        }
    }
    for_all!(test);
}

/// Nothing is reported for incomplete records, and for those that `process_tls_records` must
/// reject.
#[test]
fn invalid_records_are_not_reported() {
    fn test(case: Case, mut conn: impl Unbuffered, mut peer: UpstreamBuffered) {
        peer.send(b"whole");
        let mut incoming = peer.take_output();
        for len in 0..incoming.len() {
            assert_eq!(conn.peek_record(&incoming[..len]), None);
        }
        let longest = (1 << 14) + if case.is_tls13() { 256 } else { 2048 };
        for (len, is_reported) in [(longest, true), (longest + 1, false)] {
            let [high, low] = u16::try_from(len).unwrap().to_be_bytes();
            let record = [&[0x17, 3, 3, high, low][..], &vec![0; len]].concat();
            let most = conn.peek_record(&record).map(|record| record.max_payload);
            assert_eq!(most, is_reported.then_some(1 << 14));
        }
        for header in [
            *b"\x63\x03\x03\x00\x01",
            *b"\x17\x02\x03\x00\x01",
            *b"\x16\x03\x03\x00\x00",
        ] {
            assert_eq!(conn.peek_record(&[&header[..], b"a"].concat()), None);
        }
        // peeking does not cause a failure; after one, nothing is reported
        assert_eq!(take_one(&mut conn, &mut incoming), b"whole");
        peer.send(b"changed");
        let mut incoming = peer.take_output();
        incoming[7] ^= 1;
        assert!(conn.peek_record(&incoming).is_some());
        conn.process(&mut incoming).state.unwrap_err();
        peer.send(b"another");
        assert_eq!(conn.peek_record(&peer.take_output()), None);
        assert!(conn.write_traffic().is_none());
    }
    for_all!(test);
}
