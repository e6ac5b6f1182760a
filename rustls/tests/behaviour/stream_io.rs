//! `complete_io`, `Stream` and `StreamOwned` over a transport that blocks, fails, ends or moves one
//! byte at a time, starting at each call. Every call returns the same as upstream's.

use std::io::{self, BufRead, ErrorKind, Read, Write};

use harness::either;
use harness::peers::configs::{PROVIDERS, product, product3};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use harness::peers::faulty::{Fault, IoCall, Plan, Then, Transport};
use harness::peers::memory::Memory;

use crate::behaviour::compared::{Log, describe, same};
use crate::behaviour::connected::this::{connected, fresh};
use crate::behaviour::counted::Slices;
use crate::cases::{Case, Role, tls13_cases};

/// Creates a transport to a peer that sends back everything reversed.
fn transport(case: Case, plan: Option<Plan>) -> Transport {
    let mut transport = Transport::new(case.peer(), plan);
    transport.echoes = true;
    transport
}

/// Describes the final state of the peer. This crate sends a close_notify written during the
/// handshake after buffered data, upstream before it.
fn seen(peer: &UpstreamBuffered, handshaking: bool) -> String {
    format!(
        "peer handshaking {}, closed {}",
        peer.is_handshaking(),
        peer.peer_has_closed() && !handshaking
    )
}

const REQUEST: &[u8] = b"request";

/// Bytes that make a connection fail.
const NO_RECORD: &[u8] = b"\xff\x03\x03\x00\x01\x00";

/// The number of attempts at a call that fails or does nothing.
const TRIES: usize = 4;

macro_rules! scripts {
    ($module:ident, $tls:ident) => {
        mod $module {
            use super::*;
            use crate::behaviour::connected::$module::{connected, fresh};

            /// Calls `complete_io` repeatedly, with writes and reads in between.
            pub fn complete_io_over_a_faulty_transport(
                case: Case,
                plan: Option<Plan>,
            ) -> Log {
                let mut conn = fresh(case);
                let mut transport = transport(case, plan);
                let mut log = Vec::new();
                let mut step = |conn: &mut $tls::Connection, what: &str| {
                    for _ in 0..TRIES {
                        let result = conn.complete_io(&mut transport);
                        // the two ClientHellos differ in length
                        let result = describe(result.map(|(read, written)| match what {
                            "handshake" => (read.min(1), written.min(1)),
                            _ => (read, written),
                        }));
                        log.push(format!(
                            "{what}: {result}, handshaking {}, wants {} {}",
                            conn.is_handshaking(),
                            conn.wants_read(),
                            conn.wants_write(),
                        ));
                    }
                };
                step(&mut conn, "handshake");
                let written = describe(conn.writer().write(REQUEST));
                step(&mut conn, &format!("after write {written}"));
                let written = describe(conn.writer().write(REQUEST));
                step(&mut conn, &format!("after one more write {written}"));
                let mut buf = [0; 100];
                let read = describe(conn.reader().read(&mut buf));
                step(&mut conn, &format!("after read {read}"));
                conn.send_close_notify();
                step(&mut conn, "after close");
                let read = describe(conn.reader().read(&mut buf));
                step(&mut conn, &format!("after read {read}"));
                log.push(seen(&transport.peer, conn.is_handshaking()));
                log
            }

            /// Calls `complete_io` with a peer that has sent `bytes` and may have ended the stream.
            pub fn after_bytes(case: Case, bytes: &[u8], ends: bool) -> Log {
                let mut conn = fresh(case);
                let mut transport = Memory::new(bytes);
                transport.ends = ends;
                let mut log = Vec::new();
                for _ in 0..TRIES {
                    let moved = conn.complete_io(&mut transport).map(|(read, _)| read);
                    let has_failed = has_failed(&moved);
                    log.push(describe(moved));
                    // upstream continues to read after a failure and sees the end of the stream
                    if !has_failed {
                        log.push(describe(conn.reader().read(&mut [0])));
                    }
                }
                log
            }

            /// Flushes a connection after a failed read and returns the errors.
            pub fn flush_after_failure(case: Case) -> Vec<ErrorKind> {
                either!($tls: connected(case).0, conn => {
                    let mut stream = $tls::StreamOwned::new(conn, Memory::new(NO_RECORD));
                    let read = stream.read(&mut [0]).unwrap_err().kind();
                    let flushed = [(); 2].map(|()| stream.flush().unwrap_err().kind());
                    [&[read], &flushed[..]].concat()
                })
            }

            /// Returns the results of an empty write and of other writes, and the number of calls.
            pub fn writes_by_slices(case: Case) -> (String, String, usize) {
                let (mut conn, mut peer) = connected(case);
                let mut out = Slices::new(usize::MAX);
                let nothing = describe(conn.write_tls(&mut out));
                conn.writer().write_all(REQUEST).unwrap();
                let something = describe(conn.write_tls(&mut out));
                assert_eq!(peer.read_from(&out.bytes), REQUEST);
                (nothing, something, out.lengths.len())
            }

            /// Writes `payload`, for which there is no room, and returns the number of reads.
            pub fn reads_of_writes(case: Case, limit: Option<usize>, payload: &[u8]) -> usize {
                let mut transport = Memory::new(&[]);
                either!($tls: connected(case).0, mut conn => {
                    conn.set_buffer_limit(limit);
                    let mut stream = $tls::Stream::new(&mut conn, &mut transport);
                    assert_eq!(stream.write(payload).unwrap(), 0);
                    let pieces = [payload; 2].map(io::IoSlice::new);
                    assert_eq!(stream.write_vectored(&pieces).unwrap(), 0);
                });
                transport.reads
            }

            /// Makes the calls of [`super::calls`] with a `Stream`.
            pub fn stream_over_a_faulty_transport(
                case: Case,
                plan: Option<Plan>,
            ) -> Log {
                let mut transport = transport(case, plan);
                either!($tls: fresh(case), mut conn => {
                    let mut stream = $tls::Stream::new(&mut conn, &mut transport);
                    let mut log = calls(&mut stream);
                    conn.send_close_notify();
                    let mut stream = $tls::Stream::new(&mut conn, &mut transport);
                    log.extend(calls_after_close(&mut stream));
                    log.push(seen(&transport.peer, conn.is_handshaking()));
                    log
                })
            }

            /// Makes the same calls with a `StreamOwned`.
            pub fn stream_owned_over_a_faulty_transport(
                case: Case,
                plan: Option<Plan>,
            ) -> Log {
                let transport = transport(case, plan);
                either!($tls: fresh(case), mut conn => {
                    conn.set_buffer_limit(None);
                    let mut stream = $tls::StreamOwned::new(conn, transport);
                    let mut log = calls(&mut stream);
                    stream.conn.send_close_notify();
                    log.extend(calls_after_close(&mut stream));
                    log.push(seen(&stream.get_ref().peer, stream.conn.is_handshaking()));
                    log
                })
            }
        }
    };
}

scripts!(this, rustls);
scripts!(upstream, rustls_upstream);

/// Writes and reads, and returns the result of each call.
fn calls<S: BufRead + Write>(stream: &mut S) -> Log {
    let mut log = Vec::new();
    let mut buf = [0; 100];
    for _ in 0..TRIES {
        log.push(format!("write {}", describe(stream.write(REQUEST))));
        log.push(format!("flush {}", describe(stream.flush())));
    }
    for _ in 0..TRIES {
        let result = stream.read(&mut buf[..5]);
        let text = describe(result.as_ref().map(|&len| &buf[..len]));
        log.push(format!("read {text}"));
        let result = stream.fill_buf().map(<[u8]>::to_vec);
        log.push(format!("fill_buf {}", describe(result.as_ref())));
        stream.consume(result.map_or(0, |chunk| chunk.len().min(3)));
    }
    let pieces = [&b""[..], b"ab"].map(io::IoSlice::new);
    for _ in 0..TRIES {
        let result = stream.write_vectored(&pieces);
        log.push(format!("write_vectored {}", describe(result)));
        // retries a failed flush: upstream reads the remaining bytes when it writes nothing
        // (`an_empty_write_does_not_read`)
        for _ in 0..2 {
            log.push(format!("read nothing {}", describe(stream.read(&mut []))));
        }
        log.push(format!("write nothing {}", describe(stream.write(&[]))));
    }
    log
}

fn calls_after_close<S: BufRead + Write>(stream: &mut S) -> Log {
    let mut log = Vec::new();
    let mut buf = [0; 100];
    for _ in 0..TRIES {
        log.push(format!("flush {}", describe(stream.flush())));
        let result = stream.read(&mut buf);
        let text = describe(result.as_ref().map(|&len| &buf[..len]));
        log.push(format!("read {text}"));
        let result = stream.fill_buf().map(<[u8]>::to_vec);
        log.push(format!("fill_buf {}", describe(result)));
    }
    log
}

/// Returns a plan for every fault at every call, and none for no fault.
fn plans() -> Vec<Option<Plan>> {
    const CALLS: usize = 6;
    let (blocks, resets) = (ErrorKind::WouldBlock, ErrorKind::ConnectionReset);
    let faults = [
        (Fault::Fails(blocks), Then::Work),
        (Fault::Fails(blocks), Then::Repeat),
        (Fault::Fails(blocks), Then::Alternate),
        (Fault::Fails(ErrorKind::Interrupted), Then::Work),
        (Fault::Fails(resets), Then::Work),
        (Fault::Fails(resets), Then::Repeat),
        (Fault::Nothing, Then::Repeat),
        (Fault::Short, Then::Repeat),
        (Fault::Short, Then::Block),
    ];
    let calls = [IoCall::Read, IoCall::Write, IoCall::Flush];
    let plans = product3(calls, 0..CALLS, faults).map(|(call, at, (fault, then))| Plan {
        call,
        at,
        fault,
        then,
    });
    [None].into_iter().chain(plans.map(Some)).collect()
}

same!(
    complete_io_over_a_faulty_transport in plans(),
    stream_over_a_faulty_transport in plans(),
    stream_owned_over_a_faulty_transport in plans(),
);

#[test]
fn write_tls_only_needs_write_vectored() {
    for case in tls13_cases() {
        let theirs = upstream::writes_by_slices(case);
        assert_eq!(this::writes_by_slices(case), theirs, "{case:?}");
    }
}

/// RUSTSEC-2024-0336: an early end of the stream, clean or not, must not cause an endless loop.
#[test]
fn a_stream_that_ends_during_the_handshake_is_an_error() {
    const CLOSE_NOTIFY: [u8; 7] = *b"\x15\x03\x03\x00\x02\x01\x00";
    const FATAL: [u8; 7] = *b"\x15\x03\x03\x00\x02\x02\x28";
    const CUT: [u8; 4] = *b"\x16\x03\x03\x00";
    for case in tls13_cases().filter(|case| case.provider == PROVIDERS[0]) {
        // a client's first flight or nothing; both ends then wait for more
        let before = match case.role {
            Role::Client => Vec::new(),
            Role::Server => case.peer().take_output(),
        };
        // before the version is known, a close_notify is a warning and the end of the stream is
        // unexpected; later, a close_notify is a failure
        for (end, ends) in product([&[][..], &FATAL, &CUT, &CLOSE_NOTIFY], [false, true]) {
            let input = [&before, end].concat();
            let ours = this::after_bytes(case, &input, ends);
            let theirs = upstream::after_bytes(case, &input, ends);
            assert_eq!(ours[1..], theirs[1..], "{case:?} {end:02x?} {ends}");
        }
    }
}

/// No call waits for a peer that sends an invalid message and then nothing more.
#[test]
fn nothing_is_read_after_a_failure() {
    for case in tls13_cases() {
        for mut conn in [fresh(case), connected(case).0] {
            let mut transport = Memory::new(NO_RECORD);
            let failed = conn.complete_io(&mut transport);
            assert!(has_failed(&failed), "{failed:?}");
            let reads = transport.reads;
            for _ in 0..TRIES {
                let again = conn.complete_io(&mut transport);
                assert!(has_failed(&again), "{again:?}");
                let again = either!(rustls: &mut conn, conn => {
                    let mut stream = rustls::Stream::new(conn, &mut transport);
                    [stream.read(&mut [0]), stream.write(b"data")]
                });
                assert!(again.iter().all(has_failed), "{again:?}");
            }
            assert_eq!(transport.reads, reads);
        }
    }
}

/// An empty write must not wait for the peer on a blocking transport. Upstream's does.
#[test]
fn an_empty_write_does_not_read() {
    for case in tls13_cases() {
        for (limit, payload) in [(None, &b""[..]), (Some(0), b"data")] {
            assert_eq!(this::reads_of_writes(case, limit, payload), 0, "{case:?}");
            let theirs = upstream::reads_of_writes(case, limit, payload);
            assert_eq!(theirs, 2, "{case:?}");
        }
    }
}

/// `write_all` fails for `Ok(0)`, so a full connection must return `WouldBlock`. Upstream returns
/// `Ok(0)` if the peer sends without reading.
#[test]
fn a_write_without_room_returns_would_block() {
    for case in tls13_cases() {
        let (conn, mut peer) = connected(case);
        let mut transport = Memory::new(&[]);
        transport.takes = false;
        either!(rustls: conn, mut conn => {
            conn.set_buffer_limit(Some(4));
            let mut stream = rustls::Stream::new(&mut conn, &mut transport);
            assert_eq!(stream.write(b"request").unwrap(), 4);
            for vectored in [false, true] {
                // the write blocks, but the read succeeds
                peer.send(b"answer");
                stream.sock.incoming = peer.take_output().into();
                let written = if vectored {
                    stream.write_vectored(&[&b"e"[..], b"st"].map(io::IoSlice::new))
                } else {
                    stream.write(b"est")
                };
                assert_eq!(written.unwrap_err().kind(), ErrorKind::WouldBlock);
                let mut answer = [0; 6];
                stream.read_exact(&mut answer).unwrap();
                assert_eq!(&answer, b"answer");
            }
            stream.sock.takes = true;
            assert_eq!(stream.write(b"est").unwrap(), 3);
        });
        assert_eq!(peer.read_from(&transport.outgoing), REQUEST);
    }
}

/// A full connection must also return `WouldBlock` during the handshake, which proceeds in small
/// steps.
#[test]
fn a_write_without_room_during_the_handshake_returns_would_block() {
    for case in tls13_cases() {
        // the first byte of a record, then the second
        let mut transport = Memory::new(&[0x16]);
        either!(rustls: fresh(case), mut conn => {
            conn.set_buffer_limit(Some(4));
            let mut stream = rustls::Stream::new(&mut conn, &mut transport);
            assert_eq!(stream.write(b"request").unwrap(), 4);
            stream.sock.incoming.push_back(0x03);
            let written = stream.write(b"est");
            assert_eq!(written.unwrap_err().kind(), ErrorKind::WouldBlock);
        });
    }
}

fn has_failed<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == ErrorKind::InvalidData)
}

/// A program that flushes last learns that its data may not have arrived.
#[test]
fn a_flush_reports_a_failed_connection() {
    for case in tls13_cases() {
        let ours = this::flush_after_failure(case);
        assert_eq!(ours, [ErrorKind::InvalidData; 3]);
        assert_eq!(ours, upstream::flush_after_failure(case));
    }
}
