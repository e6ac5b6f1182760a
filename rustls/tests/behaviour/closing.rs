//! Tests of how connections end: close_notify in either direction, alerts sent and received, errors
//! that repeat, and data that is still readable.

use std::io::{Read, Write};

use harness::peers::configs::product;
use harness::peers::endpoints::{Endpoint, ThisBuffered, exchange};

use crate::behaviour::compared::{Log, describe, same};
use crate::behaviour::connected::this::{config, connected, input, output};
use crate::cases::{Case, Role, tls13_cases, tls13_cases_of};

macro_rules! scripts {
    ($module:ident, $tls:ident) => {
        mod $module {
            use super::*;
            use crate::behaviour::connected::$module::{connected, fresh, input, output};

            fn state(conn: &mut $tls::Connection, log: &mut Log) {
                let result = conn.process_new_packets();
                let (wants_read, wants_write) = (conn.wants_read(), conn.wants_write());
                log.push(format!("{result:?} wants {wants_read} {wants_write}"));
            }

            fn read(conn: &mut $tls::Connection, log: &mut Log) {
                let mut buf = [0; 100];
                let result = conn.reader().read(&mut buf);
                log.push(format!("read {}", describe(result.map(|len| &buf[..len]))));
            }

            fn feed(conn: &mut $tls::Connection, mut bytes: &[u8], log: &mut Log) {
                log.push(format!("read_tls {}", describe(conn.read_tls(&mut bytes))));
                state(conn, log);
            }

            /// Logs an end that closes first, while the peer continues and closes later.
            pub fn close_first(case: Case) -> Log {
                let (mut conn, mut peer) = connected(case);
                let mut log = Vec::new();
                conn.writer().write_all(b"before").unwrap();
                conn.send_close_notify();
                conn.send_close_notify();
                state(&mut conn, &mut log);
                let out = output(&mut conn);
                log.push(format!("{} bytes", out.len()));
                peer.receive(&out).unwrap();
                log.push(format!("peer sees the end: {}", peer.peer_has_closed()));
                // the peer may still send
                peer.send(b"half closed");
                feed(&mut conn, &peer.take_output(), &mut log);
                read(&mut conn, &mut log);
                read(&mut conn, &mut log);
                conn.send_close_notify();
                state(&mut conn, &mut log);
                // a KeyUpdate that requests an answer no longer gets one
                peer.refresh_traffic_keys();
                peer.send(b"new keys");
                feed(&mut conn, &peer.take_output(), &mut log);
                read(&mut conn, &mut log);
                peer.close();
                feed(&mut conn, &peer.take_output(), &mut log);
                read(&mut conn, &mut log);
                log
            }

            /// Logs a peer that closes first. Anything it sends afterwards is ignored.
            pub fn close_second(case: Case) -> Log {
                let (mut conn, mut peer) = connected(case);
                let mut log = Vec::new();
                peer.send(b"before");
                peer.close();
                let closing = peer.take_output();
                let all = [&closing[..], b"\x17\x03\x03\x00\x20 whatever this may be"].concat();
                feed(&mut conn, &all, &mut log);
                read(&mut conn, &mut log);
                read(&mut conn, &mut log);
                state(&mut conn, &mut log);
                feed(&mut conn, &all, &mut log);
                feed(&mut conn, &[], &mut log);
                read(&mut conn, &mut log);
                // this end may still send
                log.push(describe(conn.writer().write(b"after")));
                log.push(format!("{:?}", peer.read_from(&output(&mut conn))));
                conn.send_close_notify();
                peer.receive(&output(&mut conn)).unwrap();
                log.push(format!("{}", peer.peer_has_closed()));
                state(&mut conn, &mut log);
                log
            }

            /// Logs an invalid record after data. The data is readable, one alert is sent, and the
            /// error repeats.
            pub fn bad_record(case: Case) -> Log {
                let (mut conn, mut peer) = connected(case);
                let mut log = Vec::new();
                peer.send(b"before");
                let mut wire = peer.take_output();
                peer.send(b"changed");
                let mut changed = peer.take_output();
                changed[10] ^= 1;
                wire.extend(changed);
                log.push(describe(conn.writer().write(b"own")));
                feed(&mut conn, &wire, &mut log);
                for _ in 0..3 {
                    read(&mut conn, &mut log);
                    state(&mut conn, &mut log);
                }
                let out = output(&mut conn);
                log.push(format!("{} bytes", out.len()));
                log.push(format!("{:?}", peer.receive(&out)));
                conn.send_close_notify();
                state(&mut conn, &mut log);
                feed(&mut conn, &wire, &mut log);
                feed(&mut conn, &[], &mut log);
                read(&mut conn, &mut log);
                log.push(format!("{} bytes", output(&mut conn).len()));
                log.push(format!("{:?}", conn.refresh_traffic_keys()));
                log.push(format!("{} bytes", output(&mut conn).len()));
                log
            }

            /// Logs a fatal alert from the peer and the calls after it.
            pub fn alert_received(case: Case) -> Log {
                let (mut conn, mut peer) = connected(case);
                let mut log = Vec::new();
                peer.send(b"before");
                let before = peer.take_output();
                // make the peer fail
                peer.receive(b"\x17\x03\x03\x00\x20 thirty-two bytes of no one's key")
                    .unwrap_err();
                let all = [before, peer.take_output()].concat();
                feed(&mut conn, &all, &mut log);
                for _ in 0..3 {
                    read(&mut conn, &mut log);
                    state(&mut conn, &mut log);
                }
                feed(&mut conn, &all, &mut log);
                log.push(format!("{} bytes", output(&mut conn).len()));
                log
            }

            /// Logs each alert at each level, unencrypted, during the handshake.
            pub fn alerts_in_the_clear(case: Case) -> Log {
                let mut log = Vec::new();
                for (level, description) in product([1, 2, 3], 1..=u8::MAX) {
                    let mut conn = fresh(case);
                    output(&mut conn);
                    let alert = [0x15, 3, 3, 0, 2, level, description];
                    feed(&mut conn, &alert, &mut log);
                    let out = format!("{:02x?}", output(&mut conn));
                    log.last_mut().unwrap().push_str(&out);
                    state(&mut conn, &mut log);
                }
                log
            }

            /// Closes before the handshake, with nothing else to send.
            pub fn close_before_the_handshake(case: Case) -> Log {
                let mut conn = fresh(case);
                let mut log = Vec::new();
                output(&mut conn);
                conn.send_close_notify();
                log.push(format!("{:02x?}", output(&mut conn)));
                state(&mut conn, &mut log);
                read(&mut conn, &mut log);
                log
            }

            /// Closes before the handshake while the peer continues. A client ignores this; a TLS
            /// 1.3 server ends the handshake.
            pub fn a_handshake_behind_a_close_notify(case: Case) -> Log {
                let mut conn = fresh(case);
                let mut peer = case.peer();
                conn.send_close_notify();
                let mut log = Vec::new();
                for _ in 0..3 {
                    log.push(format!("{:?}", peer.receive(&output(&mut conn))));
                    log.push(format!("{:?}", input(&mut conn, &peer.take_output())));
                }
                let are_handshaking = (conn.is_handshaking(), peer.is_handshaking());
                log.push(format!("{are_handshaking:?}"));
                if !peer.is_handshaking() {
                    peer.send(b"answer");
                    feed(&mut conn, &peer.take_output(), &mut log);
                    read(&mut conn, &mut log);
                }
                log
            }
        }
    };
}

scripts!(this, rustls);
scripts!(upstream, rustls_upstream);

same!(
    close_first,
    close_second,
    bad_record,
    alert_received,
    alerts_in_the_clear,
    close_before_the_handshake,
    a_handshake_behind_a_close_notify
);

/// RFC 9846 §6.1: nothing may follow close_notify. Writers accept such data and drop it; upstream
/// sends it.
#[test]
fn data_written_after_close_notify_is_dropped() {
    for case in tls13_cases() {
        let (mut conn, mut peer) = connected(case);
        conn.send_close_notify();
        conn.writer().write_all(b"too late").unwrap();
        let pieces = [b"much ", b"later"].map(|piece| std::io::IoSlice::new(piece));
        assert_eq!(conn.writer().write_vectored(&pieces).unwrap(), 10);
        assert_eq!(peer.read_from(&output(&mut conn)), b"");
        assert!(peer.peer_has_closed());
    }
}

/// RFC 9846 §6.1: not even tickets may follow, if a server closes before the handshake completes.
#[test]
fn no_tickets_follow_a_close_notify() {
    for (case, sends_half_rtt_data) in product(tls13_cases_of(Role::Server), [false, true]) {
        let config = config(case).edit(
            |_| {},
            |server| server.send_half_rtt_data = sends_half_rtt_data,
        );
        let (mut conn, mut peer) = (config.connection(), case.peer());
        if sends_half_rtt_data {
            conn.writer().write_all(b"half").unwrap();
            conn.send_close_notify();
        }
        input(&mut conn, &peer.take_output()).unwrap();
        peer.receive(&output(&mut conn)).unwrap();
        conn.send_close_notify();
        peer.receive(&output(&mut conn)).unwrap();
        assert!(peer.peer_has_closed() && conn.is_handshaking());
        input(&mut conn, &peer.take_output()).unwrap();
        assert!(!conn.is_handshaking() && !conn.wants_write());
        // the peer may still send
        peer.send(b"answer");
        let received = ThisBuffered::new(conn).read_from(&peer.take_output());
        assert_eq!(received, b"answer");
    }
}

/// Each end receives the data sent before the other's close_notify and sees a clean end.
#[test]
fn both_sides_may_close_at_the_same_time() {
    for case in tls13_cases() {
        let (conn, mut peer) = connected(case);
        let mut conn = ThisBuffered::new(conn);
        conn.send(b"last");
        peer.send(b"last");
        conn.close();
        peer.close();
        exchange(&mut conn, &mut peer).unwrap();
        assert!(conn.peer_has_closed() && peer.peer_has_closed());
        assert_eq!([conn.read_all(), peer.read_all()], [b"last"; 2]);
    }
}
