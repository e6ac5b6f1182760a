//! Tests of the work that one half hands over to the other: answers to KeyUpdates, refusals of
//! renegotiation, and the answers to the sender's own requests, which the receiver gets.

use std::io::{self, IoSlice, Write};

use harness::peers::configs::{product, product3, server_name};
use harness::peers::endpoints::{Endpoint, Transfer, UpstreamBuffered};
use harness::providers::provider_with_limit;
use harness::wire::{self, message};
use rustls::relay::{Forwarded, Plain, forward};
use rustls::split::Sender;
use rustls::{ClientConnection, Error, HandshakeKind, InPlaceError, PeerMisbehaved};

use crate::cases::tls13_cases_of;
use crate::split::kit::{
    ALERT, APPLICATION_DATA, Case, HANDSHAKE, Halves, KEY_UPDATE, PROTECTION, Role, cases, output,
    split, tls_error, tls13_cases,
};

/// The length of a protected close_notify.
const CLOSE_NOTIFY: usize = 2 + PROTECTION;

/// Creates a connection that has received this many KeyUpdate requests.
fn requested(case: Case, requests: usize) -> (Halves, UpstreamBuffered) {
    let (mut halves, mut peer) = case.split();
    assert!(!halves.receiver.sender_wants_write());
    assert!(!halves.sender.wants_write());
    for _ in 0..requests {
        peer.refresh_traffic_keys();
    }
    let mut bytes = &peer.take_output()[..];
    assert_eq!(bytes.len(), requests * KEY_UPDATE);
    halves.receiver.read_tls(&mut bytes).unwrap();
    let state = halves.receiver.process().unwrap();
    assert!(state.sender_wants_write());
    assert!(halves.receiver.sender_wants_write());
    assert!(halves.sender.wants_write());
    (halves, peer)
}

/// Asserts that nothing is owed and that both directions work under the new keys.
fn assert_idle(halves: &mut Halves, peer: &mut UpstreamBuffered) {
    assert!(!halves.receiver.sender_wants_write());
    assert!(!halves.sender.wants_write());
    halves.talk(peer, b"idle");
}

/// Encrypts four bytes in place and returns the record.
fn encrypt_in_place(sender: &mut Sender) -> Result<Vec<u8>, InPlaceError> {
    let room = sender.in_place_room();
    let mut buf = [b'x'; 100];
    let record = sender.encrypt_in_place(&mut buf, room.headroom..room.headroom + 4)?;
    Ok(buf[record].to_vec())
}

/// A way to send: its name, and a function that sends and returns the output.
type Way = (&'static str, fn(&mut Halves) -> Vec<u8>);

/// RFC 9846 §4.7.3: a single answer to all requests precedes the next application data, also in the
/// caller's buffers.
#[test]
fn a_write_carries_the_requested_key_update() {
    let ways: [Way; 4] = [
        ("write", |halves| {
            assert_eq!(halves.sender.writer().write(b"data").unwrap(), 4);
            assert!(!halves.receiver.sender_wants_write());
            halves.output()
        }),
        ("write_vectored", |halves| {
            let pieces = [IoSlice::new(b"da"), IoSlice::new(b"ta")];
            assert_eq!(halves.sender.writer().write_vectored(&pieces).unwrap(), 4);
            halves.output()
        }),
        ("encrypt", |halves| {
            let mut out = [0; 100];
            let len = halves.sender.encrypt(b"data", &mut out).unwrap();
            out[..len].to_vec()
        }),
        ("encrypt_to_vec", |halves| {
            let mut out = b"before".to_vec();
            let len = halves.sender.encrypt_to_vec(b"data", &mut out, 6).unwrap();
            assert_eq!((&out[..6], out.len()), (&b"before"[..], 6 + len));
            out.split_off(6)
        }),
    ];
    for (case, requests, (what, write)) in product3(tls13_cases(), [1, 5], ways) {
        let (mut halves, mut peer) = requested(case, requests);
        // `wants_write` is called before the bytes arrive, so only this write notices them
        let out = write(&mut halves);
        assert_eq!(out.len(), KEY_UPDATE + PROTECTION + 4, "{what}");
        assert_eq!(peer.read_from(&out), b"data", "{what}");
        assert_idle(&mut halves, &mut peer);
    }
}

/// The answer must be sent before a record that is encrypted in place.
#[test]
fn the_key_update_reply_precedes_records_encrypted_in_place() {
    for case in tls13_cases() {
        let (mut halves, mut peer) = requested(case, 1);
        let pending = encrypt_in_place(&mut halves.sender);
        assert_eq!(pending, Err(InPlaceError::OutputPending));
        let update = halves.output();
        assert_eq!(update.len(), KEY_UPDATE);
        peer.receive(&update).unwrap();
        let record = encrypt_in_place(&mut halves.sender).unwrap();
        assert_eq!(peer.read_from(&record), b"xxxx");
        assert_idle(&mut halves, &mut peer);
    }
}

/// A writer that existed before the request also sends the answer.
#[test]
fn each_write_checks_for_key_update_requests() {
    for (halves, mut peer) in tls13_cases().map(Case::split) {
        let (mut sender, mut receiver) = (halves.sender, halves.receiver);
        let mut writer = sender.writer();
        writer.write_all(b"before").unwrap();
        peer.refresh_traffic_keys();
        receiver.read_tls(&mut &peer.take_output()[..]).unwrap();
        receiver.process().unwrap();
        writer.write_all(b"after").unwrap();
        let mut out = Vec::new();
        sender.write_tls(&mut out).unwrap();
        let lens: Vec<_> = wire::records(&out)
            .iter()
            .map(|record| record.to_bytes().len())
            .collect();
        assert_eq!(lens, [PROTECTION + 6, KEY_UPDATE, PROTECTION + 5]);
        peer.receive(&out).unwrap();
    }
}

/// An idle application is notified, and `write_tls` or `take_tls` sends the answer.
#[test]
fn an_idle_sender_answers_a_key_update_request() {
    let ways: [Way; 3] = [
        ("write_tls", |Halves { sender, .. }| {
            let mut out = Vec::new();
            assert_eq!(sender.write_tls(&mut out).unwrap(), KEY_UPDATE);
            out
        }),
        ("take_tls", |Halves { sender, .. }| {
            let mut out = [0; KEY_UPDATE];
            let error = sender.take_tls(&mut out[1..]).unwrap_err();
            assert_eq!(error.required_size, KEY_UPDATE);
            assert!(sender.wants_write());
            assert_eq!(sender.take_tls(&mut out).unwrap(), KEY_UPDATE);
            out.to_vec()
        }),
        ("take_tls_to_vec", |Halves { sender, .. }| {
            let mut out = b"before".to_vec();
            let len = sender.take_tls_to_vec(&mut out, 6).unwrap();
            assert_eq!((len, out.len()), (KEY_UPDATE, 6 + KEY_UPDATE));
            out.split_off(6)
        }),
    ];
    for (case, (what, write)) in product(tls13_cases(), ways) {
        println!("{what}");
        let (mut halves, mut peer) = requested(case, 3);
        peer.receive(&write(&mut halves)).unwrap();
        assert_idle(&mut halves, &mut peer);
    }
}

#[test]
fn close_notify_follows_the_answer_and_ends_further_answers() {
    for case in tls13_cases() {
        let (mut halves, mut peer) = requested(case, 1);
        halves.sender.send_close_notify();
        let out = halves.output();
        assert_eq!(out.len(), KEY_UPDATE + CLOSE_NOTIFY);
        peer.receive(&out).unwrap();
        assert!(peer.peer_has_closed());
        // further requests are not answered and wake nobody
        peer.refresh_traffic_keys();
        peer.send(b"x");
        halves.receive(&peer.take_output()).unwrap();
        assert!(!halves.receiver.sender_wants_write());
        assert!(!halves.sender.wants_write());
        assert!(halves.output().is_empty());
    }
}

/// If a peer requests new keys without reading, only a single answer is stored, even if the
/// application repeatedly tries to write in place.
#[test]
fn answers_to_key_updates_do_not_accumulate() {
    for (case, in_place) in product(tls13_cases(), [false, true]) {
        let (mut halves, mut peer) = case.split();
        for _ in 0..100 {
            peer.refresh_traffic_keys();
            peer.send(b"x");
            halves.receive(&peer.take_output()).unwrap();
            assert_eq!(halves.read_buffered(), b"x");
            if in_place {
                let pending = encrypt_in_place(&mut halves.sender);
                assert_eq!(pending, Err(InPlaceError::OutputPending));
            } else {
                // a socket that accepts nothing
                assert!(halves.sender.wants_write());
                assert_eq!(halves.sender.write_tls(&mut &mut [][..]).unwrap(), 0);
            }
        }
        // there is one more answer for the requests that arrived after the first answer
        for _ in 0..2 {
            let mut answer = Vec::new();
            halves.sender.write_tls(&mut answer).unwrap();
            assert_eq!(answer.len(), KEY_UPDATE, "{case:?} {in_place}");
            peer.receive(&answer).unwrap();
        }
        assert_idle(&mut halves, &mut peer);
    }
}

/// Buffered data and the answer are sent together, so that a second in-place write succeeds.
#[test]
fn in_place_data_and_the_answer_are_sent_together() {
    for (mut halves, mut peer) in tls13_cases().map(Case::split) {
        halves.sender.writer().write_all(b"waits").unwrap();
        peer.refresh_traffic_keys();
        halves.receive(&peer.take_output()).unwrap();
        let pending = encrypt_in_place(&mut halves.sender);
        assert_eq!(pending, Err(InPlaceError::OutputPending));
        let mut out = Vec::new();
        halves.sender.write_tls(&mut out).unwrap();
        assert_eq!(out.len(), PROTECTION + 5 + KEY_UPDATE);
        out.extend(encrypt_in_place(&mut halves.sender).unwrap());
        assert_eq!(peer.read_from(&out), b"waitsxxxx");
        assert_idle(&mut halves, &mut peer);
    }
}

/// An answer that waits after buffered output is not lost if one `write_tls` only sends the output.
/// The sending half wants to write until the answer is sent, although the receiving half does not
/// report it again.
#[test]
fn an_answer_after_other_output_is_not_lost() {
    for (mut halves, mut peer) in tls13_cases().map(Case::split) {
        halves.sender.writer().write_all(b"waits").unwrap();
        peer.refresh_traffic_keys();
        halves.receive(&peer.take_output()).unwrap();
        assert!(halves.receiver.sender_wants_write());
        let mut out = Vec::new();
        halves.sender.write_tls(&mut out).unwrap();
        assert_eq!(out.len(), PROTECTION + 5);
        assert!(!halves.receiver.sender_wants_write());
        assert!(halves.sender.wants_write());
        halves.sender.write_tls(&mut out).unwrap();
        assert_eq!(out.len(), PROTECTION + 5 + KEY_UPDATE);
        assert!(!halves.sender.wants_write());
        peer.receive(&out).unwrap();
        peer.read_into(&mut Vec::new());
        assert_idle(&mut halves, &mut peer);
    }
}

/// Useless KeyUpdates are limited as in a whole connection.
#[test]
fn a_flood_ends_the_connection() {
    for (mut halves, mut peer) in tls13_cases().map(Case::split) {
        for _ in 0..33 {
            peer.refresh_traffic_keys();
        }
        let error = halves.receive(&peer.take_output()).unwrap_err();
        let expected = Error::PeerMisbehaved(PeerMisbehaved::TooManyKeyUpdateRequests);
        assert_eq!(error, expected);
        // a flood is not answered with an alert, and the owed update is dropped
        assert!(!halves.receiver.sender_wants_write());
        assert!(halves.output().is_empty());
        let error = halves.sender.writer().write(b"x").unwrap_err();
        assert_eq!(tls_error(error), expected);
        assert!(halves.output().is_empty());
    }
}

#[test]
fn both_sides_may_request_an_update_at_the_same_time() {
    for (mut halves, mut peer) in tls13_cases().map(Case::split) {
        for _ in 0..40 {
            halves.sender.refresh_traffic_keys().unwrap();
            peer.refresh_traffic_keys();
            let (ours, theirs) = (halves.output(), peer.take_output());
            peer.receive(&ours).unwrap();
            halves.receive(&theirs).unwrap();
            halves.talk(&mut peer, &[1; 100]);
        }
    }
}

/// The sending half requests no second update until the receiving half has seen the answer.
#[test]
fn no_second_update_is_requested_before_the_receiver_gets_the_answer() {
    for (mut halves, mut peer) in tls13_cases().map(Case::split) {
        let mut answers = Vec::new();
        for _ in 0..100 {
            // the second update requests no answer
            for expected in [KEY_UPDATE + PROTECTION + 1, PROTECTION + 1] {
                halves.sender.refresh_traffic_keys().unwrap();
                peer.receive(&halves.send(b"x")).unwrap();
                peer.send(b"x");
                let answer = peer.take_output();
                assert_eq!(answer.len(), expected);
                answers.push(answer);
            }
            for answer in answers.drain(..) {
                halves.receive(&answer).unwrap();
            }
            assert_eq!(halves.read_buffered(), b"xx");
        }
    }
}

/// Returns a message that the sender has to answer: a request for new keys or for renegotiation.
fn request(case: Case) -> &'static [u8] {
    match (case.is_tls13(), case.role) {
        (true, _) => &[24, 0, 0, 1, 1],
        (false, Role::Client) => &[0, 0, 0, 0],
        (false, Role::Server) => &[1, 0, 0, 0],
    }
}

/// An answer is sent first and uses a part of the room.
#[test]
fn the_reported_room_is_available() {
    for case in cases() {
        let (mut halves, mut peer) = case.split_from_bare();
        halves.sender.set_buffer_limit(Some(1000));
        halves
            .receive(&peer.seals.seal(HANDSHAKE, request(case)))
            .unwrap();
        let mut writer = halves.sender.writer();
        let room = writer.room_left().unwrap();
        assert_eq!(writer.write(&[0; 2000]).unwrap(), room, "{case:?}");
    }
}

/// A socket that runs a closure when it is first flushed, as another thread might do then.
struct OnFlush<F>(Vec<u8>, Option<F>);

impl<F: FnOnce()> Write for OnFlush<F> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.take().into_iter().for_each(|run| run());
        Ok(())
    }
}

/// The warning is requested after queued output was sent, and may use up all room for the data.
#[test]
fn a_warning_does_not_end_forwarding_from_a_plain_socket() {
    let cases = cases().filter(|case| !case.is_tls13());
    for (case, limit) in product(cases.collect::<Vec<_>>(), [1, 20, 31, 100]) {
        let (mut halves, mut peer) = case.split_from_bare();
        halves.sender.set_buffer_limit(Some(limit));
        let request = peer.seals.seal(HANDSHAKE, request(case));
        let mut receiver = halves.receiver;
        let process = || {
            receiver.read_tls(&mut &request[..]).unwrap();
            receiver.process().unwrap();
            assert!(receiver.sender_wants_write());
        };
        let mut from = Plain(&b"data"[..]);
        let mut to = (halves.sender, OnFlush(Vec::new(), Some(process)));
        let forwarded = forward(&mut from, &mut to);
        assert_eq!(forwarded.unwrap(), Forwarded::Ended, "{case:?} {limit}");
        let sent = peer.open_all(&to.1.0);
        let data = sent.iter().filter(|(typ, _)| *typ == APPLICATION_DATA);
        let data: Vec<_> = data.flat_map(|(_, content)| content).copied().collect();
        assert_eq!(data, b"data", "{case:?} {limit}");
    }
}

#[test]
fn keys_at_their_limit_are_replaced() {
    for case in tls13_cases() {
        let (conn, mut peer) = case.connected_over(provider_with_limit(case.provider, 10));
        let mut halves = split(conn);
        for _ in 0..50 {
            halves.talk(&mut peer, &[3; 1000]);
        }
        halves.talk(&mut peer, &[3; 60_000]);
    }
}

#[test]
fn tls12_has_no_key_updates() {
    for case in cases().filter(|case| !case.is_tls13()) {
        let (mut halves, mut peer) = case.split();
        let error = halves.sender.refresh_traffic_keys().unwrap_err();
        assert_eq!(error, Error::HandshakeNotComplete);
        halves.talk(&mut peer, b"on");
    }
}

/// RFC 5246 §7.2.2: the sending half sends one refusal.
#[test]
fn renegotiation_is_refused_by_the_sender() {
    const HELLO_REQUEST: u8 = 0;
    const CLIENT_HELLO: u8 = 1;
    for case in cases().filter(|case| !case.is_tls13()) {
        let request = match case.role {
            Role::Client => message(HELLO_REQUEST, &[]),
            Role::Server => message(CLIENT_HELLO, b"is not read"),
        };
        for first in ["write", "write_tls"] {
            let (mut halves, mut peer) = case.split_from_bare();
            halves
                .receive(&peer.seals.seal(HANDSHAKE, &request))
                .unwrap();
            assert!(halves.receiver.sender_wants_write());
            assert!(halves.sender.wants_write());
            let refusal = (ALERT, vec![1, 100]);
            if first == "write" {
                let out = halves.send(b"data");
                let data = (APPLICATION_DATA, b"data".to_vec());
                assert_eq!(peer.open_all(&out), [refusal, data]);
            } else {
                let out = halves.output();
                assert_eq!(peer.open_all(&out), [refusal]);
            }
            assert!(!halves.receiver.sender_wants_write());
            halves
                .receive(&peer.seals.seal(APPLICATION_DATA, b"on"))
                .unwrap();
            assert_eq!(halves.read_buffered(), b"on");

            let again = halves.receive(&peer.seals.seal(HANDSHAKE, &request));
            let expected = Error::PeerMisbehaved(PeerMisbehaved::TooManyRenegotiationRequests);
            assert_eq!(again.unwrap_err(), expected);
            // as for any flood, no alert is sent
            assert!(halves.output().is_empty());
            let error = halves.sender.writer().write(b"x").unwrap_err();
            assert_eq!(tls_error(error), expected);
        }
        // after a close_notify, no refusal is sent
        let (mut halves, mut peer) = case.split_from_bare();
        halves.sender.send_close_notify();
        peer.open_all(&halves.output());
        halves
            .receive(&peer.seals.seal(HANDSHAKE, &request))
            .unwrap();
        assert!(!halves.receiver.sender_wants_write());
        assert!(halves.output().is_empty());
    }
}

/// Tickets that arrive after the split are stored and can be used for a later connection.
#[test]
fn tickets_received_after_the_split_are_stored() {
    for case in tls13_cases_of(Role::Client) {
        let (config, server) = (case.config().client(), case.other().upstream());
        for expected in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let mut conn = ClientConnection::new(config.clone(), server_name()).unwrap();
            let mut peer = server.buffered();
            while conn.is_handshaking() {
                peer.receive(&conn.output()).unwrap();
                conn.input(&peer.take_output());
            }
            assert_eq!(conn.handshake_kind(), Some(expected));
            assert_eq!(conn.tls13_tickets_received(), 0);

            // Finished is still buffered in the sender
            let (mut sender, mut receiver) = conn.into_split().unwrap();
            peer.receive(&output(&mut sender)).unwrap();
            assert!(!peer.is_handshaking());
            let tickets = peer.take_output();
            receiver.read_tls(&mut &tickets[..]).unwrap();
            receiver.process_new_packets().unwrap();
            assert_ne!(receiver.tls13_tickets_received(), 0);
        }
    }
}
