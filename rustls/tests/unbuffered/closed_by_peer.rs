//! Tests of behaviour after the peer's close_notify, which only ends the peer's direction (RFC 9846
//! §6.1).

use harness::peers::endpoints::{Endpoint, Unbuffered, UpstreamBuffered};
use rustls::unbuffered::{ConnectionState, EncryptError};

use crate::unbuffered::ends::{
    Case, encrypted, for_all, idle_state, own_output, processed, replace_keys, take_one,
};

/// Delivers the peer's close_notify, which the connection must report.
fn close_by_peer(conn: &mut impl Unbuffered, peer: &mut UpstreamBuffered) {
    peer.close();
    let mut incoming = peer.take_output();
    let (discard, state) = processed(conn, &mut incoming);
    assert_eq!((discard, &*state), (incoming.len(), "PeerClosed"));
}

/// This side continues to send by either method, then closes.
#[test]
fn this_side_can_still_send_and_close() {
    fn test(case: Case, mut conn: impl Unbuffered, mut peer: UpstreamBuffered) {
        close_by_peer(&mut conn, &mut peer);
        // immediately
        let wire = encrypted(&mut conn, b"directly");
        assert_eq!(peer.read_from(&wire), b"directly");
        for plaintext in [&b"later"[..], &[5; 40_000]] {
            let Ok(ConnectionState::WriteTraffic(mut traffic)) = conn.process(&mut []).state else {
                panic!("nothing can be sent");
            };
            let mut wire = Vec::new();
            traffic.encrypt_to_vec(plaintext, &mut wire, 0).unwrap();
            assert!(peer.read_from(&wire) == plaintext);
        }
        if case.is_tls13() {
            replace_keys(&mut conn, &mut peer);
            let wire = encrypted(&mut conn, b"new keys");
            assert_eq!(peer.read_from(&wire), b"new keys");
        }
        let mut wire = Vec::new();
        let mut traffic = conn.write_traffic().unwrap();
        traffic.queue_close_notify_to_vec(&mut wire, 0).unwrap();
        assert!(matches!(
            traffic.encrypt(b"too late", &mut [0; 100]),
            Err(EncryptError::EncryptExhausted)
        ));
        assert!(!peer.peer_has_closed());
        peer.read_from(&wire);
        assert!(peer.peer_has_closed());
        assert!(conn.write_traffic().is_none());
        assert_eq!(idle_state(&mut conn), "Closed");
    }
    for_all!(test);
}

/// Data before the close_notify can be read or left unread. Data after it is ignored.
#[test]
fn earlier_data_is_read_and_later_data_is_not() {
    fn test(_: Case, mut conn: impl Unbuffered, mut peer: UpstreamBuffered) {
        peer.send(b"last");
        peer.close();
        let mut incoming = peer.take_output();
        incoming.extend(b"\x17\x03\x03\x00\x20 whatever this may be");
        // this side can send before it reads
        let wire = encrypted(&mut conn, b"before");
        assert_eq!(peer.read_from(&wire), b"before");
        assert_eq!(take_one(&mut conn, &mut incoming), b"last");
        let (discard, state) = processed(&mut conn, &mut incoming);
        assert_eq!(state, "PeerClosed");
        // the close_notify, without the bytes after it
        incoming.drain(..discard);
        assert!(incoming.starts_with(b"\x17\x03\x03\x00\x20 whatever"));
        let (discard, state) = processed(&mut conn, &mut incoming);
        assert_eq!((discard, &*state), (0, "WriteTraffic"));
        let wire = encrypted(&mut conn, b"after");
        assert_eq!(peer.read_from(&wire), b"after");
    }
    for_all!(test);
}

/// A KeyUpdate that preceded the close_notify is answered with the next output.
#[test]
fn a_key_update_is_answered_after_the_close() {
    fn test(case: Case, mut conn: impl Unbuffered, mut peer: UpstreamBuffered) {
        if !case.is_tls13() {
            return;
        }
        peer.refresh_traffic_keys();
        let mut incoming = peer.take_output();
        assert_eq!(conn.process(&mut incoming).discard, incoming.len());
        close_by_peer(&mut conn, &mut peer);
        let wire = encrypted(&mut conn, b"data");
        // a KeyUpdate and the data
        assert_eq!(wire.len(), 2 * (5 + 1 + 16) + 5 + 4);
        assert_eq!(peer.read_from(&wire), b"data");
    }
    for_all!(test);
}

/// During a handshake, nothing can be sent: neither before TLS 1.3 is authenticated, nor in TLS 1.2
/// (RFC 5246 §7.2.1). Anybody can send the close_notify, so it only counts as a warning.
#[test]
fn a_close_in_the_clear_does_not_permit_sending() {
    fn test(_: Case, mut conn: impl Unbuffered, _: UpstreamBuffered) {
        own_output(&mut conn);
        assert!(conn.write_traffic().is_none());
        let mut close = *b"\x15\x03\x03\x00\x02\x01\x00";
        let (discard, state) = processed(&mut conn, &mut close);
        assert_eq!((discard, &*state), (7, "BlockedHandshake"));
        assert!(conn.write_traffic().is_none());
    }
    for_all!(fresh test);
}
