//! `Writer::room_left` predicts what a write accepts in every state of the connection.

use std::io::{IoSlice, Write};

use harness::peers::configs::product;
use harness::peers::endpoints::Endpoint;
use harness::wire::Noise;
use rustls::Connection;

use crate::behaviour::connected::this::{exchange_all, fresh, input, output};
use crate::cases::{cases, tls13_cases};

/// Tests the documented cases.
#[test]
fn room_left_is_exact_during_and_after_the_handshake() {
    for case in cases() {
        let (mut conn, mut peer) = (fresh(case), case.peer());
        let room = |conn: &mut Connection| conn.writer().room_left();
        assert_eq!(room(&mut conn), Some(64 * 1024));
        conn.set_buffer_limit(None);
        assert_eq!(room(&mut conn), None);
        conn.set_buffer_limit(Some(100));
        // the handshake's own output does not count
        conn.writer().write_all(&[7; 30]).unwrap();
        assert_eq!(room(&mut conn), Some(70));
        assert_eq!(conn.writer().write(&[7; 80]).unwrap(), 70);
        assert_eq!(room(&mut conn), Some(0));
        // lowered below the buffered length
        conn.set_buffer_limit(Some(10));
        assert_eq!(room(&mut conn), Some(0));
        conn.set_buffer_limit(Some(1000));
        exchange_all(&mut conn, &mut peer);
        assert_eq!(room(&mut conn), Some(1000));

        // from now on, the limit applies to TLS bytes
        conn.writer().write_all(&[7; 100]).unwrap();
        let mut out = Vec::new();
        let waits = 1000 - room(&mut conn).unwrap();
        assert_eq!(conn.write_tls(&mut out).unwrap(), waits);
        assert!(waits > 100);
        assert_eq!(room(&mut conn), Some(1000));

        conn.set_buffer_limit(None);
        if case.is_tls13() {
            assert_eq!(room(&mut conn), None);
        } else {
            // keys that cannot be replaced impose a limit, except those of ChaCha20
            let much = usize::try_from(1_u64 << 37).unwrap_or(usize::MAX / 2);
            assert!(room(&mut conn).is_none_or(|room| room > much));
        }
        conn.send_close_notify();
        assert_eq!(room(&mut conn), Some(0));
        assert_eq!(conn.writer().write(b"too late").unwrap(), 8, "dropped");
    }
}

/// Returns the number of bytes that a write accepts if a KeyUpdate must be sent before them.
macro_rules! accepted_after_key_update {
    ($module:ident, $case:expr, $limit:expr) => {{
        use crate::behaviour::connected::$module::{connected, input};
        let (mut conn, mut peer) = connected($case);
        conn.set_buffer_limit(Some($limit));
        peer.refresh_traffic_keys();
        input(&mut conn, &peer.take_output()).unwrap();
        conn.writer().write(&[7; 100]).unwrap()
    }};
}

#[test]
fn a_due_key_update_does_not_count_against_the_limit_of_a_write() {
    /// The length of the record, which counts in upstream.
    const KEY_UPDATE: usize = 5 + 5 + 1 + 16;
    for (case, limit) in product(tls13_cases(), [1, 26, 27, 28, 50]) {
        assert_eq!(accepted_after_key_update!(this, case, limit), limit);
        let of_upstream = accepted_after_key_update!(upstream, case, limit);
        assert_eq!(of_upstream, limit.saturating_sub(KEY_UPDATE));
    }
}

#[test]
fn no_room_is_left_after_a_failure() {
    for case in tls13_cases() {
        let mut conn = fresh(case);
        conn.set_buffer_limit(None);
        input(&mut conn, b"this is no TLS").unwrap_err();
        assert_eq!(conn.writer().room_left(), Some(0));
        assert!(conn.writer().write(b"too late").is_err());
    }
}

/// Tries random sequences of writing, setting limits, sending and handshaking.
#[test]
fn a_write_accepts_exactly_the_reported_room() {
    let mut noise = Noise::new(0x700e);
    let mut below = |limit| noise.next() as usize % limit;
    for (case, _) in product(cases(), 0..6) {
        let (mut conn, mut peer) = (fresh(case), case.peer());
        let (mut written, mut arrived) = (0, 0);
        for _ in 0..200 {
            match below(8) {
                0 => conn.set_buffer_limit(match below(4) {
                    0 => None,
                    1 => Some(below(100)),
                    _ => Some(below(100_000)),
                }),
                1..5 => {
                    let room = conn.writer().room_left();
                    let len = match below(3) {
                        0 => room.filter(|room| *room < 100_000).unwrap_or(1000),
                        1 => below(100),
                        _ => below(40_000),
                    };
                    let data = vec![7; len];
                    let taken = if below(2) == 0 {
                        conn.writer().write(&data)
                    } else {
                        let (front, back) = data.split_at(len / 3);
                        let pieces = [front, &[], back].map(IoSlice::new);
                        conn.writer().write_vectored(&pieces)
                    };
                    let expected = room.map_or(len, |room| Ord::min(room, len));
                    assert_eq!(taken.unwrap(), expected);
                    written += expected;
                    let left = conn.writer().room_left();
                    assert!(left.unwrap_or(0) <= room.unwrap_or(0));
                }
                5 if case.is_tls13() => {
                    let _ = conn.refresh_traffic_keys();
                }
                _ => {
                    let mut out = vec![0; below(30_000)];
                    let len = conn.write_tls(&mut &mut out[..]).unwrap();
                    arrived += peer.read_from(&out[..len]).len();
                    input(&mut conn, &peer.take_output()).unwrap();
                }
            }
        }
        while conn.wants_write() || conn.is_handshaking() {
            arrived += peer.read_from(&output(&mut conn)).len();
            input(&mut conn, &peer.take_output()).unwrap();
        }
        assert_eq!(arrived, written);
    }
}
