//! Buffer limits, `IoState`, `wants_read`, `wants_write` and every way to read plaintext, compared
//! with the same calls on upstream.

use std::io::{self, BufRead, IoSlice, Read, Write};

use harness::peers::configs::{product, product3};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use harness::wire;

use crate::behaviour::compared::{Log, assert_same, describe, same};
use crate::behaviour::connected::this::connected;
use crate::cases::{Case, Role, tls13_cases};

const LIMITS: [Option<usize>; 6] = [None, Some(0), Some(1), Some(100), Some(16384), Some(65536)];

/// The lengths of successive writes.
const WRITES: [usize; 7] = [0, 1, 50, 100, 16384, 16385, 70_000];

macro_rules! scripts {
    ($module:ident, $tls:ident) => {
        mod $module {
            use super::*;
            use crate::behaviour::connected::$module::{
                connected, exchange_all, fresh, input, output,
            };

            fn wants(conn: &$tls::Connection) -> String {
                let (wants_read, wants_write) = (conn.wants_read(), conn.wants_write());
                format!("wants {wants_read} {wants_write} {}", conn.is_handshaking())
            }

            /// Returns the bytes that each write accepts with a limit set before the handshake.
            pub fn limit_set_before_the_handshake(case: Case, limit: Option<usize>) -> Log {
                let mut conn = fresh(case);
                conn.set_buffer_limit(limit);
                let mut log = Vec::new();
                for len in WRITES {
                    log.push(describe(conn.writer().write(&vec![7; len])));
                    log.push(wants(&conn));
                }
                let mut peer = case.peer();
                exchange_reading(&mut conn, &mut peer, &mut log);
                log.extend(writes(&mut conn));
                exchange_reading(&mut conn, &mut peer, &mut log);
                log
            }

            fn exchange_reading(
                conn: &mut $tls::Connection,
                peer: &mut UpstreamBuffered,
                log: &mut Log,
            ) {
                loop {
                    let to_peer = output(conn);
                    let received = peer.read_from(&to_peer);
                    assert!(received.iter().all(|&byte| byte == 7));
                    log.push(format!("peer received {}", received.len()));
                    let from_peer = peer.take_output();
                    input(conn, &from_peer).unwrap();
                    if to_peer.is_empty() && from_peer.is_empty() {
                        break;
                    }
                }
            }

            /// Sends ten records of `len` bytes and gives each chunk to one call of `read_tls`,
            /// ignoring how much that call took. True if the application still receives everything.
            pub fn in_chunks(case: Case, len: usize, chunk: usize) -> bool {
                let (mut conn, mut peer) = connected(case);
                for _ in 0..10 {
                    peer.send(&vec![7; len]);
                }
                let mut received = Vec::new();
                for chunk in peer.take_output().chunks(chunk) {
                    conn.read_tls(&mut &chunk[..]).unwrap();
                    if conn.process_new_packets().is_err() {
                        return false;
                    }
                    let _ = conn.reader().read_to_end(&mut received);
                }
                received == vec![7; 10 * len]
            }

            /// Returns the bytes that each write accepts with a limit set after the handshake.
            pub fn limit_set_after_the_handshake(case: Case, limit: Option<usize>) -> Log {
                let (mut conn, mut peer) = connected(case);
                conn.set_buffer_limit(limit);
                let mut log = writes(&mut conn);
                exchange_reading(&mut conn, &mut peer, &mut log);
                log.extend(writes(&mut conn));
                // raised while data is buffered
                conn.set_buffer_limit(Some(200_000));
                log.extend(writes(&mut conn));
                // lowered below the buffered length
                conn.set_buffer_limit(Some(10));
                log.extend(writes(&mut conn));
                exchange_reading(&mut conn, &mut peer, &mut log);
                log
            }

            fn writes(conn: &mut $tls::Connection) -> Log {
                let mut log = Vec::new();
                for len in WRITES {
                    log.push(describe(conn.writer().write(&vec![7; len])));
                    let state = conn.process_new_packets();
                    log.push(format!("{} {:?}", wants(conn), state));
                }
                log
            }

            /// Writes slices of various lengths in one call and logs the bytes accepted.
            pub fn vectored_writes(case: Case, limit: Option<usize>) -> Log {
                let (mut conn, mut peer) = connected(case);
                conn.set_buffer_limit(limit);
                let mut log = Vec::new();
                let large = &[7; 9000][..];
                let many = [&large[..3]; 200];
                let pieces: [&[&[u8]]; 8] = [
                    &[],
                    &[&[]],
                    &[&[], &[], &[]],
                    &[&[7], &[], &[7, 7], &[]],
                    &[&[], large, large],
                    &[large; 5],
                    &many,
                    &[&[7], large, &[7], &[], large, &[7]],
                ];
                for pieces in pieces {
                    let pieces: Vec<_> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
                    log.push(describe(conn.writer().write_vectored(&pieces)));
                    let state = conn.process_new_packets();
                    log.push(format!("{state:?}"));
                    exchange_reading(&mut conn, &mut peer, &mut log);
                }
                log
            }

            /// Returns the states of a handshake, by message and by record.
            pub fn handshake(case: Case) -> Log {
                let mut conn = fresh(case);
                let mut peer = case.peer();
                let mut log = vec![wants(&conn)];
                loop {
                    let to_peer = output(&mut conn);
                    log.push(wants(&conn));
                    peer.receive(&to_peer).unwrap();
                    let from_peer = peer.take_output();
                    for record in wire::records(&from_peer) {
                        let record = record.to_bytes();
                        let (start, end) = record.split_at(record.len() / 2);
                        for half in [&mut &start[..], &mut &end[..]] {
                            log.push(describe(conn.read_tls(half)));
                            let state = conn.process_new_packets().unwrap();
                            log.push(format!(
                                "{} {} {} {}",
                                // the flights of the two crates differ in length
                                state.tls_bytes_to_write() != 0,
                                state.plaintext_bytes_to_read(),
                                state.peer_has_closed(),
                                wants(&conn)
                            ));
                        }
                    }
                    if to_peer.is_empty() && from_peer.is_empty() {
                        return log;
                    }
                }
            }

            /// Logs when `read_tls` fails because plaintext is unread, and when it works again
            /// after reading.
            pub fn unread_plaintext(case: Case, record: usize) -> Log {
                let (mut conn, mut peer) = connected(case);
                let mut wire = Vec::new();
                for _ in 0..120_000 / record {
                    peer.send(&vec![7; record]);
                    wire.extend(peer.take_output());
                }
                let mut log = Vec::new();
                let mut rest = &wire[..];
                let mut buf = vec![0; 3000];
                while !rest.is_empty() {
                    // pieces smaller than any read buffer; one may take several reads
                    let piece = &rest[..rest.len().min(1000)];
                    let mut left = piece;
                    let result = loop {
                        match conn.read_tls(&mut left) {
                            Ok(_) if left.is_empty() => break Ok(piece.len()),
                            Ok(_) => {}
                            Err(error) => break Err(error),
                        }
                    };
                    let state = conn.process_new_packets();
                    let read = describe(result.as_ref());
                    log.push(format!("{read} {state:?} {}", wants(&conn)));
                    match result {
                        Ok(len) => rest = &rest[len..],
                        Err(_) => log.push(describe(conn.reader().read(&mut buf))),
                    }
                }
                loop {
                    let result = conn.reader().read(&mut buf);
                    log.push(format!("{} {}", describe(result.as_ref()), wants(&conn)));
                    if result.is_err() {
                        return log;
                    }
                }
            }

            /// Reads plaintext that spans several records, by every method that reads.
            pub fn every_way_to_read(case: Case) -> Log {
                let (mut conn, mut peer) = connected(case);
                let mut log = vec![describe(conn.reader().read(&mut []))];
                log.push(describe(conn.reader().read(&mut [0])));
                log.push(describe(conn.reader().fill_buf()));
                log.push(describe(conn.reader().into_first_chunk()));
                conn.reader().consume(0);
                for record in [&b"first"[..], b"second", b"third"] {
                    peer.send(record);
                    input(&mut conn, &peer.take_output()).unwrap();
                }
                log.push(format!("{:?}", conn.process_new_packets()));
                log.push(describe(conn.reader().read(&mut [])));
                log.push(describe(conn.reader().fill_buf()));
                conn.reader().consume(2);
                log.push(describe(conn.reader().fill_buf()));
                log.push(describe(conn.reader().into_first_chunk()));
                log.push(format!("{:?}", conn.process_new_packets()));
                conn.reader().consume(3);
                log.push(describe(conn.reader().into_first_chunk()));
                let mut buf = [0; 8];
                log.push(describe(conn.reader().read(&mut buf)));
                log.push(format!("{buf:?} {}", wants(&conn)));
                let mut line = Vec::new();
                log.push(describe(conn.reader().read_until(b'r', &mut line)));
                log.push(format!("{line:?}"));
                conn.reader().consume(1);
                log.push(describe(conn.reader().fill_buf()));
                log.push(format!("{}", wants(&conn)));
                // the end of the stream, first without a close_notify, then with one
                log.push(describe(conn.read_tls(&mut io::empty())));
                log.push(format!("{:?} {}", conn.process_new_packets(), wants(&conn)));
                log.push(describe(conn.reader().read(&mut [])));
                log.push(describe(conn.reader().read(&mut [0])));
                log.push(describe(conn.reader().fill_buf()));
                log.push(describe(conn.reader().into_first_chunk()));
                peer.send(b"last");
                peer.close();
                input(&mut conn, &peer.take_output()).unwrap();
                log.push(format!("{:?} {}", conn.process_new_packets(), wants(&conn)));
                log.push(describe(conn.reader().read(&mut buf)));
                log.push(describe(conn.reader().read(&mut buf)));
                log.push(describe(conn.reader().fill_buf()));
                log.push(describe(conn.reader().into_first_chunk()));
                log.push(format!("{:?} {}", conn.process_new_packets(), wants(&conn)));
                log.push(describe(conn.read_tls(&mut &b"more"[..])));
                log.push(format!("{:?} {}", conn.process_new_packets(), wants(&conn)));
                log.push(describe(conn.reader().read(&mut buf)));
                exchange_all(&mut conn, &mut peer);
                log
            }
        }
    };
}

scripts!(this, rustls);
scripts!(upstream, rustls_upstream);

same!(
    limit_set_before_the_handshake in LIMITS,
    limit_set_after_the_handshake in LIMITS,
    vectored_writes in LIMITS,
    unread_plaintext in [50, 1000, 16384],
    every_way_to_read,
);

#[test]
fn states_during_the_handshake_match_upstream() {
    for case in tls13_cases() {
        let mut ours = this::handshake(case);
        let mut theirs = upstream::handshake(case);
        if case.role == Role::Client {
            // upstream's client answers the ServerHello immediately with a change_cipher_spec; ours
            // sends it together with the rest of the flight
            for log in [&mut ours, &mut theirs] {
                log.retain(|line| !line.ends_with("true"));
            }
        }
        assert_same(&format!("{case:?}"), &ours, &theirs);
    }
}

/// Programs that ignore the return value of `read_tls` lose no data that upstream would have kept.
/// Every call takes 4 KiB while at most 18 KiB are buffered.
#[test]
fn chunks_that_upstream_accepts_whole_are_accepted_whole() {
    let lens = [60, 1000, 1500, 3000, 5000, 9000, 12_000, 14_000, 16_384];
    let chunks = [100, 512, 1000, 1024, 1400, 1460, 2000, 2048, 3000, 4096];
    for (case, len, chunk) in product3(tls13_cases(), lens, chunks) {
        let ours = this::in_chunks(case, len, chunk);
        let theirs = upstream::in_chunks(case, len, chunk);
        println!("{len} {chunk}: {ours} {theirs}");
        assert!(ours || !theirs, "{case:?}: {chunk} of {len}");
    }
}

/// Tests of programs count reads until `read_tls` refuses more.
#[test]
fn a_few_bytes_after_a_long_record_need_no_extra_read() {
    let ends = [(16_384, true), (16_384 + 1, false), (16_384 + 2, false)];
    for (case, (sent, close)) in product(tls13_cases(), ends) {
        let (mut conn, mut peer) = connected(case);
        assert_eq!(peer.send(&vec![7; sent]), sent);
        if close {
            peer.close();
        }
        let wire = peer.take_output();
        let mut rest = &wire[..];
        let reads = [(); 2].map(|()| conn.read_tls(&mut rest).unwrap());
        assert_eq!(reads, [4096, wire.len() - 4096], "{case:?}");
        let state = conn.process_new_packets().unwrap();
        assert_eq!(state.plaintext_bytes_to_read(), sent);
        assert_eq!(state.peer_has_closed(), close);
        if !close {
            let refused = conn.read_tls(&mut &[][..]).unwrap_err();
            assert_eq!(refused.to_string(), "received plaintext buffer full");
        }
    }
}
