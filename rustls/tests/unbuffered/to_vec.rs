//! Tests of output to a growing `Vec`: the same records are appended as are written into a slice,
//! and errors leave the content unchanged. `allocations.rs` counts allocations.

use harness::peers::endpoints::{Endpoint, Unbuffered, UpstreamBuffered};
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};

use crate::unbuffered::ends::{Case, for_all, own_output};

const UNTOUCHED: u8 = 0xa5;

/// A whole handshake uses one `Vec` that is empty at first.
#[test]
fn a_handshake_works_with_one_growing_vec() {
    fn test(_: Case, mut conn: impl Unbuffered, mut peer: UpstreamBuffered) {
        let (mut outgoing, mut used) = (Vec::new(), 0);
        let mut incoming = Vec::new();
        while conn.is_handshaking() || peer.is_handshaking() {
            incoming.extend(peer.take_output());
            let UnbufferedStatus { discard, state } = conn.process(&mut incoming);
            match state.unwrap() {
                ConnectionState::EncodeTlsData(mut state) => {
                    let before = outgoing.clone();
                    used += state.encode_to_vec(&mut outgoing, used).unwrap();
                    assert!(outgoing.len() >= used);
                    let again = state.encode_to_vec(&mut outgoing, used);
                    assert!(matches!(again, Err(EncodeError::AlreadyEncoded)));
                    assert!(outgoing.len() == Ord::max(used, before.len()));
                }
                ConnectionState::TransmitTlsData(state) => {
                    state.done();
                    peer.receive(&outgoing[..used]).unwrap();
                    used = 0;
                }
                ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => {}
                other => panic!("{other:?}"),
            }
            incoming.drain(..discard);
        }
    }
    for_all!(fresh test);
}

/// Output is appended with the same length as in a slice, and bytes after it do not change.
#[test]
fn output_is_appended() {
    fn test(_: Case, mut conn: impl Unbuffered, mut peer: UpstreamBuffered) {
        for len in [0, 1, 100, 16_384, 16_385, 40_000] {
            let plaintext = vec![len as u8; len];
            let mut traffic = conn.write_traffic().unwrap();
            let required = match traffic.encrypt(&plaintext, &mut []) {
                Ok(required) => required,
                Err(EncryptError::InsufficientSize(size)) => size.required_size,
                Err(error) => panic!("{error}"),
            };
            for (before, spare) in [(0, 0), (7, 0), (7, 3), (0, required), (7, required + 9)] {
                let mut out = vec![UNTOUCHED; before + spare];
                let written = traffic
                    .encrypt_to_vec(&plaintext, &mut out, before)
                    .unwrap();
                assert_eq!(written, required);
                assert_eq!(out.len(), before + Ord::max(spare, required));
                let behind = out.split_off(before + written);
                assert!(behind.iter().all(|byte| *byte == UNTOUCHED));
                assert!(peer.read_from(&out[before..]) == plaintext);
                out.truncate(before);
                assert_eq!(out, vec![UNTOUCHED; before]);
            }
        }
    }
    for_all!(test);
}

/// Pending output is included: a KeyUpdate first, and a close_notify last.
#[test]
fn pending_output_goes_first() {
    fn test(case: Case, mut conn: impl Unbuffered, mut peer: UpstreamBuffered) {
        let (mut out, mut used) = (Vec::new(), 0);
        if case.is_tls13() {
            conn.write_traffic()
                .unwrap()
                .refresh_traffic_keys()
                .unwrap();
        }
        let mut traffic = conn.write_traffic().unwrap();
        for data in [&b"one"[..], b"two"] {
            used += traffic.encrypt_to_vec(data, &mut out, used).unwrap();
        }
        used += traffic.queue_close_notify_to_vec(&mut out, used).unwrap();
        assert_eq!(out.len(), used);
        assert_eq!(peer.read_from(&out), b"onetwo");
        assert!(peer.peer_has_closed());
        // the connection has no other output left
        assert_eq!(own_output(&mut conn), b"");
    }
    for_all!(test);
}

#[test]
fn errors_leave_the_vec_unchanged() {
    fn test(_: Case, mut conn: impl Unbuffered, _: UpstreamBuffered) {
        let mut out = b"before".to_vec();
        let mut traffic = conn.write_traffic().unwrap();
        let closing = traffic.queue_close_notify_to_vec(&mut out, 6).unwrap();
        out.truncate(6);
        assert!(closing > 0);
        for used in [0, 6, 100] {
            let result = traffic.encrypt_to_vec(b"too late", &mut out, used);
            assert!(matches!(result, Err(EncryptError::EncryptExhausted)));
            // a second one has no effect
            let again = traffic.queue_close_notify_to_vec(&mut out, used).unwrap();
            assert_eq!(again, 0);
            assert_eq!(out, b"before");
        }
    }
    for_all!(test);
}
