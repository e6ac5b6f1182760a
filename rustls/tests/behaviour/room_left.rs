//! `Writer::room_left` predicts what a write accepts in every state of the connection.

use std::cell::RefCell;
use std::io::{IoSlice, Write};

use harness::peers::configs::{Provider, Versions, product};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use harness::wire::Noise;
use rustls::Connection;

use crate::behaviour::compared::for_all;
use crate::behaviour::connected::{KEY_TYPE, Role, fresh_peer_of, this};

fn fresh(provider: Provider, role: Role, versions: Versions) -> (Connection, UpstreamBuffered) {
    let config = this::Config::new(role, versions, provider.this(), KEY_TYPE);
    (config.connection(), fresh_peer_of(versions, provider, role))
}

/// The documented cases.
#[test]
fn during_the_handshake_and_after() {
    for_all(|provider, role| {
        for versions in [Versions::Tls12, Versions::Tls13] {
            let (mut conn, mut peer) = fresh(provider, role, versions);
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
            this::exchange_all(&mut conn, &mut peer);
            assert_eq!(room(&mut conn), Some(1000));

            // from here on the limit covers TLS bytes
            conn.writer().write_all(&[7; 100]).unwrap();
            let mut out = Vec::new();
            let waits = 1000 - room(&mut conn).unwrap();
            assert_eq!(conn.write_tls(&mut out).unwrap(), waits);
            assert!(waits > 100);
            assert_eq!(room(&mut conn), Some(1000));

            conn.set_buffer_limit(None);
            match versions {
                Versions::Tls13 => assert_eq!(room(&mut conn), None),
                // keys that cannot be replaced impose a limit, except those of ChaCha20
                _ => {
                    let much = usize::try_from(1_u64 << 37).unwrap_or(usize::MAX / 2);
                    assert!(room(&mut conn).is_none_or(|room| room > much));
                }
            }
            conn.send_close_notify();
            assert_eq!(room(&mut conn), Some(0));
            assert_eq!(conn.writer().write(b"too late").unwrap(), 8, "dropped");
        }
    });
}

#[test]
fn no_room_after_a_failure() {
    for_all(|provider, role| {
        let (mut conn, _) = fresh(provider, role, Versions::Tls13);
        conn.set_buffer_limit(None);
        this::input(&mut conn, b"this is no TLS").unwrap_err();
        assert_eq!(conn.writer().room_left(), Some(0));
        assert!(conn.writer().write(b"too late").is_err());
    });
}

/// Random sequences of writing, setting limits, sending and handshaking.
#[test]
fn a_write_takes_what_is_left() {
    let noise = RefCell::new(Noise::new(0x700e));
    for_all(|provider, role| {
        for (versions, _) in product([Versions::Tls12, Versions::Tls13], 0..6) {
            let (mut conn, mut peer) = fresh(provider, role, versions);
            let (mut written, mut arrived) = (0, 0);
            let below = |limit| noise.borrow_mut().next() as usize % limit;
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
                    5 if versions == Versions::Tls13 => {
                        let _ = conn.refresh_traffic_keys();
                    }
                    _ => {
                        let mut out = vec![0; below(30_000)];
                        let len = conn.write_tls(&mut &mut out[..]).unwrap();
                        arrived += peer.read_from(&out[..len]).len();
                        this::input(&mut conn, &peer.take_output()).unwrap();
                    }
                }
            }
            while conn.wants_write() || conn.is_handshaking() {
                arrived += peer.read_from(&this::output(&mut conn)).len();
                this::input(&mut conn, &peer.take_output()).unwrap();
            }
            assert_eq!(arrived, written);
        }
    });
}
