//! Tests of the end of each direction: by a close_notify, by the end of the stream, or because its
//! half is dropped.

use std::io::{ErrorKind, Read, Write};

use harness::peers::endpoints::Endpoint;
use harness::providers::provider_with_limit;

use crate::split::kit::{
    ALERT, APPLICATION_DATA, Case, HANDSHAKE, Role, cases, output, split, tls13_cases,
};

/// RFC 9846 §6.1: a close_notify ends one direction.
#[test]
fn our_close_notify_ends_the_sender() {
    for (mut halves, mut peer) in cases().map(Case::split) {
        halves.sender.writer().write_all(b"the last").unwrap();
        halves.sender.send_close_notify();
        halves.sender.send_close_notify();
        assert_eq!(peer.read_from(&halves.output()), b"the last");
        assert!(peer.peer_has_closed());

        assert_eq!(halves.sender.writer().room_left(), Some(0));
        let error = halves.sender.writer().write(b"more").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert!(halves.sender.encrypt(b"more", &mut [0; 100]).is_err());
        let in_place = halves.sender.encrypt_in_place(&mut [0; 100], 40..60);
        assert!(in_place.is_err());
        assert_eq!(halves.sender.error(), None);
        assert!(halves.output().is_empty());

        for _ in 0..3 {
            peer.send(b"half closed");
            halves.receive(&peer.take_output()).unwrap();
            assert_eq!(halves.read_buffered(), b"half closed");
        }
    }
}

/// TLS 1.2 cannot replace keys. A key at its limit ends the sender, which then answers no more
/// requests.
#[test]
fn a_key_at_its_limit_ends_the_sender() {
    for case in cases().filter(|case| !case.is_tls13()) {
        let (conn, peer) = case.connected_over(provider_with_limit(case.provider, 4));
        let (mut halves, mut peer) = (split(conn), case.bare(peer));
        halves.sender.writer().write_all(b"123").unwrap();
        halves.sender.writer().write_all(b"456").unwrap();
        let error = halves.sender.writer().write(b"one too many").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        let sent = [
            (APPLICATION_DATA, b"123".to_vec()),
            (APPLICATION_DATA, b"456".to_vec()),
            (ALERT, vec![1, 0]),
        ];
        assert_eq!(peer.open_all(&halves.output()), sent);

        // the peer requests renegotiation
        let hello: &[u8] = match case.role {
            Role::Client => &[0, 0, 0, 0],
            Role::Server => &[1, 0, 0, 0],
        };
        halves.receive(&peer.seals.seal(HANDSHAKE, hello)).unwrap();
        assert!(!halves.receiver.sender_wants_write());
        assert!(!halves.sender.wants_write());
    }
}

#[test]
fn a_close_notify_of_the_peer_ends_the_receiver() {
    for (mut halves, mut peer) in cases().map(Case::split) {
        peer.send(b"the last");
        peer.close();
        let closing = peer.take_output();
        // RFC 9846 §6.1: later data is ignored
        let all = [&closing[..], b"whatever this may be"].concat();
        halves.receive(&all).unwrap();
        let state = halves.receiver.process().unwrap();
        assert!(state.peer_has_closed());
        assert!(!state.sender_wants_write());
        assert_eq!(state.plaintext_bytes_to_read(), 8);
        let (plaintext, end) = halves.read();
        assert_eq!(plaintext, b"the last");
        end.unwrap();
        assert!(!halves.receiver.wants_read());
        assert_eq!(halves.receiver.read_tls(&mut &b"more"[..]).unwrap(), 0);
        let mut more = [1; 10];
        let ignored = halves.receiver.open_in_place(&mut more).unwrap();
        assert_eq!((ignored.discard, ignored.payload.len()), (10, 0));

        for _ in 0..3 {
            let received = peer.read_from(&halves.send(b"half closed"));
            assert_eq!(received, b"half closed");
        }
    }
}

/// The end of the stream is not authenticated and may be a truncation attack.
#[test]
fn the_end_of_the_stream_is_not_a_clean_end() {
    for case in cases() {
        let (mut halves, mut peer) = case.split();
        peer.send(b"data");
        halves.receive(&peer.take_output()).unwrap();
        assert_eq!(halves.receiver.read_tls(&mut &[][..]).unwrap(), 0);
        halves.receiver.process().unwrap();
        let mut plaintext = [0; 4];
        halves.receiver.reader().read_exact(&mut plaintext).unwrap();
        let error = halves.receiver.reader().read(&mut plaintext).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);

        // after a close_notify, the end of the stream is clean
        let (mut halves, mut peer) = case.split();
        peer.close();
        halves.receive(&peer.take_output()).unwrap();
        assert_eq!(halves.receiver.read_tls(&mut &[][..]).unwrap(), 0);
        assert_eq!(halves.receiver.reader().read(&mut plaintext).unwrap(), 0);
    }
}

#[test]
fn a_receiver_works_without_its_sender() {
    for case in cases() {
        let (halves, mut peer) = case.split();
        let (sender, mut receiver) = (halves.sender, halves.receiver);
        drop(sender);
        if case.is_tls13() {
            peer.refresh_traffic_keys();
        }
        peer.send(b"data");
        receiver.read_tls(&mut &peer.take_output()[..]).unwrap();
        let state = receiver.process().unwrap();
        // no sender needs to be woken
        assert!(!state.sender_wants_write());
        let mut plaintext = [0; 4];
        receiver.reader().read_exact(&mut plaintext).unwrap();
        assert_eq!(plaintext, *b"data");
        receiver.read_tls(&mut &[9; 30][..]).unwrap();
        receiver.process().unwrap_err();
        assert!(!receiver.sender_wants_write());
    }
}

#[test]
fn a_sender_works_without_its_receiver() {
    for case in cases() {
        let (halves, mut peer) = case.split();
        let (mut sender, receiver) = (halves.sender, halves.receiver);
        drop(receiver);
        assert!(!sender.wants_write());
        sender.writer().write_all(b"data").unwrap();
        if case.is_tls13() {
            sender.refresh_traffic_keys().unwrap();
        }
        sender.writer().write_all(b" and more").unwrap();
        sender.send_close_notify();
        assert_eq!(peer.read_from(&output(&mut sender)), b"data and more");
        assert!(peer.peer_has_closed());
    }
}

/// A receiver that fails before it is dropped still informs the sender.
#[test]
fn pending_output_is_sent_after_the_receiver_is_dropped() {
    for case in cases() {
        let (halves, mut peer) = case.split_from_bare();
        let (mut sender, mut receiver) = (halves.sender, halves.receiver);
        receiver.read_tls(&mut &b"no record"[..]).unwrap();
        receiver.process().unwrap_err();
        drop(receiver);
        assert_eq!(peer.open_all(&output(&mut sender)), [(ALERT, vec![2, 50])]);
    }
    for (halves, mut peer) in tls13_cases().map(Case::split) {
        let (mut sender, mut receiver) = (halves.sender, halves.receiver);
        peer.refresh_traffic_keys();
        receiver.read_tls(&mut &peer.take_output()[..]).unwrap();
        receiver.process().unwrap();
        drop(receiver);
        let out = output(&mut sender);
        assert_ne!(out, []);
        peer.receive(&out).unwrap();
    }
}
