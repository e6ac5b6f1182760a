//! Random sequences of operations on a buffered connection of each crate. Each call returns the
//! same, and so do the accessors after it.
//!
//! The sequences are the same in each run, and are shortened when two connections differ.
//! Deliberate deviations of this crate are left out and have their own tests.

use std::io::{BufRead, ErrorKind, IoSlice, Read, Write};

use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use proptest::prelude::*;

use crate::behaviour::compared::{Log, describe, same_for_operations};
use crate::cases::{Case, Role, cases, tls13_cases};

/// An operation of the connection or its peer.
#[derive(Clone, Debug)]
enum Operation {
    Write(usize),
    WriteVectored(usize, usize),
    SetBufferLimit(Option<usize>),
    /// The peer receives only what was sent, and its answers arrive at once.
    WriteTls(Moved),
    ReadTls(Moved),
    Process,
    Read(usize),
    FillBuf,
    FirstChunk,
    Flush,
    WriteEarly(usize),
    ReadEarly(usize),
    RefreshTrafficKeys,
    CloseNotify,
    Export,
    EndOfStream,
    PeerSends(usize),
    PeerRefreshes,
    PeerCloses,
}

/// The amount that the transport moves before it blocks.
#[derive(Clone, Copy, Debug)]
enum Moved {
    All,
    AtMost(usize),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let len = || prop_oneof![4 => 0..300_usize, 1 => 0..40_000_usize];
    let moved = || prop_oneof![3 => Just(Moved::All), 2 => (1..900_usize).prop_map(Moved::AtMost)];
    let limits = [0, 1, 100, 20_000, 70_000].map(Some);
    let limits: Vec<_> = [None].into_iter().chain(limits).collect();
    let operation = prop_oneof![
        6 => len().prop_map(Operation::Write),
        1 => (0..4_usize, 0..200_usize).prop_map(|(n, len)| Operation::WriteVectored(n, len)),
        1 => proptest::sample::select(limits).prop_map(Operation::SetBufferLimit),
        10 => moved().prop_map(Operation::WriteTls),
        10 => moved().prop_map(Operation::ReadTls),
        8 => Just(Operation::Process),
        4 => len().prop_map(Operation::Read),
        2 => Just(Operation::FillBuf),
        1 => Just(Operation::FirstChunk),
        1 => Just(Operation::Flush),
        2 => len().prop_map(Operation::WriteEarly),
        2 => len().prop_map(Operation::ReadEarly),
        1 => Just(Operation::RefreshTrafficKeys),
        1 => Just(Operation::CloseNotify),
        1 => Just(Operation::Export),
        1 => Just(Operation::EndOfStream),
        6 => len().prop_map(Operation::PeerSends),
        1 => Just(Operation::PeerRefreshes),
        1 => Just(Operation::PeerCloses),
    ];
    proptest::collection::vec(operation, 1..120)
}

/// Moves a limited number of bytes, then blocks.
struct Limited<'a> {
    bytes: &'a mut Vec<u8>,
    left: usize,
}

impl Limited<'_> {
    fn new(bytes: &mut Vec<u8>, moved: Moved) -> Limited<'_> {
        let left = match moved {
            Moved::All => usize::MAX,
            Moved::AtMost(most) => most,
        };
        Limited { bytes, left }
    }

    fn take(&mut self, len: usize) -> std::io::Result<usize> {
        let len = len.min(self.left);
        if len == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.left -= len;
        Ok(len)
    }
}

impl Write for Limited<'_> {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        let len = self.take(buf.len())?;
        self.bytes.extend_from_slice(&buf[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Read for Limited<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let len = self.take(buf.len().min(self.bytes.len()))?;
        buf[..len].copy_from_slice(&self.bytes[..len]);
        self.bytes.drain(..len);
        Ok(len)
    }
}

/// The most bytes read before they are processed. Beyond a record, the crates may differ in how
/// much they read.
const UNPROCESSED: usize = 1000;

/// The early data limit of the server.
const EARLY: u32 = 10_000;

macro_rules! runs {
    ($module:ident, $tls:ident) => {
        mod $module {
            use super::*;
            use crate::behaviour::connected::$module::{self as connected, Config, exchange_all};

            /// A connection with its peer and the bytes in transit.
            struct Run {
                conn: $tls::Connection,
                peer: UpstreamBuffered,
                role: Role,
                to_peer: Vec<u8>,
                from_peer: Vec<u8>,
                unprocessed: usize,
                is_limited: bool,
                /// The next byte to write; each byte differs from its neighbours.
                written: u8,
                has_closed: bool,
                has_refreshed: bool,
                /// True if the peer's KeyUpdate is unanswered.
                owes_answer: bool,
                /// True if the length of the output may differ: flights of the handshake differ in
                /// length, and this crate sends data written during the handshake in fewer records.
                is_rough: bool,
                log: Vec<String>,
            }

            pub(super) fn run(
                case: Case,
                with_early_data: bool,
                operations: &[Operation],
            ) -> Log {
                let peer = super::upstream::config(case.other(), with_early_data);
                let conn = config(case, with_early_data);
                if with_early_data {
                    // a first connection, for the session
                    exchange_all(&mut conn.connection(), &mut peer.buffered());
                }
                let (conn, peer) = (conn.connection(), peer.buffered());
                let mut run = Run {
                    conn,
                    peer,
                    role: case.role,
                    to_peer: Vec::new(),
                    from_peer: Vec::new(),
                    unprocessed: 0,
                    is_limited: false,
                    written: 0,
                    has_closed: false,
                    has_refreshed: false,
                    owes_answer: false,
                    is_rough: true,
                    log: Vec::new(),
                };
                for operation in operations {
                    let outcome = run.step(operation);
                    run.log.push(format!("{operation:?}: {outcome}"));
                    run.look();
                }
                run.end();
                run.log
            }

            pub(super) fn config(case: Case, with_early_data: bool) -> Config {
                connected::config(case).edit(
                    |client| client.enable_early_data = with_early_data,
                    |server| {
                        server.max_early_data_size = if with_early_data { EARLY } else { 0 };
                        server.send_half_rtt_data = with_early_data;
                    },
                )
            }

            impl Run {
                fn step(&mut self, operation: &Operation) -> String {
                    // a server may send before the handshake completes
                    let sends = self.role == Role::Server || !self.conn.is_handshaking();
                    if self.is_rough && sends {
                        self.write_tls(Moved::All);
                    }
                    let conn = &mut self.conn;
                    match *operation {
                        // this crate does not accept writes after a close_notify
                        Operation::Write(_) | Operation::WriteVectored(..) if self.has_closed => {
                            String::new()
                        }
                        Operation::Write(len) => {
                            let plaintext = next(&mut self.written, len);
                            let written = conn.writer().write(&plaintext);
                            self.owes_answer &= !matches!(written, Ok(1..));
                            describe(written)
                        }
                        Operation::WriteVectored(count, len) => {
                            let plaintext = next(&mut self.written, len);
                            let pieces = vec![IoSlice::new(&plaintext); count];
                            let written = conn.writer().write_vectored(&pieces);
                            self.owes_answer &= !matches!(written, Ok(1..));
                            describe(written)
                        }
                        // `peer_refreshes` needs room to write
                        Operation::SetBufferLimit(_) if self.owes_answer => String::new(),
                        Operation::SetBufferLimit(limit) => {
                            self.is_limited = true;
                            conn.set_buffer_limit(limit);
                            String::new()
                        }
                        Operation::WriteTls(moved) => self.write_tls(moved),
                        Operation::ReadTls(moved) => self.read_tls(moved),
                        Operation::Process => self.process(),
                        Operation::Read(len) => {
                            let mut buf = vec![0; len];
                            describe(conn.reader().read(&mut buf).map(|len| buf[..len].to_vec()))
                        }
                        // each crate may choose the size of a chunk
                        Operation::FillBuf => {
                            let mut reader = conn.reader();
                            let first = reader.fill_buf().map(|chunk| chunk.first().copied());
                            if let Ok(Some(_)) = first {
                                reader.consume(1);
                            }
                            describe(first)
                        }
                        Operation::FirstChunk => {
                            let first = conn.reader().into_first_chunk();
                            describe(first.map(|chunk| chunk.first().copied()))
                        }
                        Operation::Flush => describe(conn.writer().flush()),
                        // upstream counts the whole write, not only the bytes that the limit allows
                        Operation::WriteEarly(_) if self.is_limited => String::new(),
                        Operation::WriteEarly(len) => {
                            let plaintext = next(&mut self.written, len);
                            match conn {
                                $tls::Connection::Client(conn) => {
                                    let accepted = conn.is_early_data_accepted();
                                    let written = conn.early_data().map(|mut early| {
                                        let left = early.bytes_left();
                                        (left, describe(early.write(&plaintext)), early.bytes_left())
                                    });
                                    format!("{accepted} {written:?}")
                                }
                                $tls::Connection::Server(_) => {
                                    self.peer.send_early(&plaintext).to_string()
                                }
                            }
                        }
                        Operation::ReadEarly(len) => match conn {
                            $tls::Connection::Server(conn) => {
                                let mut buf = vec![0; len];
                                let read = conn.early_data().map(|mut early| {
                                    describe(early.read(&mut buf).map(|len| buf[..len].to_vec()))
                                });
                                format!("{read:?}")
                            }
                            $tls::Connection::Client(_) => String::new(),
                        },
                        // only once: this crate does not replace unused keys, requests another
                        // update only after an answer, does not answer and request at the same
                        // time, and sends nothing after a close_notify
                        Operation::RefreshTrafficKeys
                            if self.has_refreshed || self.owes_answer || self.has_closed =>
                        {
                            String::new()
                        }
                        Operation::RefreshTrafficKeys => {
                            let refreshed = conn.refresh_traffic_keys();
                            self.has_refreshed = refreshed.is_ok();
                            format!("{refreshed:?}")
                        }
                        // this crate delays the close_notify until the handshake is complete
                        Operation::CloseNotify => {
                            if !conn.is_handshaking() {
                                conn.send_close_notify();
                                self.has_closed = true;
                            }
                            String::new()
                        }
                        Operation::Export => {
                            let exported = conn.export_keying_material([0; 8], b"label", None);
                            format!("{:?}", exported.map(|_| ()))
                        }
                        Operation::EndOfStream => describe(conn.read_tls(&mut std::io::empty())),
                        Operation::PeerSends(len) => {
                            self.peer.send(&next(&mut self.written, len));
                            String::new()
                        }
                        Operation::PeerRefreshes => self.peer_refreshes(),
                        Operation::PeerCloses => {
                            if !self.peer.is_handshaking() {
                                self.peer.close();
                            }
                            String::new()
                        }
                    }
                }

                /// Updates the peer's keys. This crate answers with the next plaintext that it
                /// accepts, upstream with any write.
                fn peer_refreshes(&mut self) -> String {
                    let mut log = self.write_tls(Moved::All);
                    // unread plaintext would prevent the KeyUpdate from being read
                    for _ in 0..10 {
                        log.push_str(&self.read_tls(Moved::All));
                        let mut plaintext = Vec::new();
                        log.push_str(&describe(self.conn.reader().read_to_end(&mut plaintext)));
                        log.push_str(&format!("{plaintext:?}"));
                    }
                    if !self.is_limited && !self.conn.is_handshaking() && self.from_peer.is_empty()
                    {
                        // fails for TLS 1.2
                        let _ = self.peer.conn.refresh_traffic_keys();
                        self.owes_answer = true;
                        log.push_str(&self.read_tls(Moved::All));
                    }
                    log
                }

                fn write_tls(&mut self, moved: Moved) -> String {
                    let moved = if self.is_rough { Moved::All } else { moved };
                    let before = self.to_peer.len();
                    let mut transport = Limited::new(&mut self.to_peer, moved);
                    let result = loop {
                        if !self.conn.wants_write() {
                            break Ok(());
                        }
                        if let Err(error) = self.conn.write_tls(&mut transport) {
                            break Err(error);
                        }
                    };
                    let moved = self.to_peer.len() - before;
                    self.peer
                        .receive(&std::mem::take(&mut self.to_peer))
                        .unwrap();
                    self.from_peer.extend(self.peer.take_output());
                    if std::mem::replace(&mut self.is_rough, self.conn.is_handshaking()) {
                        return describe(result);
                    }
                    format!("{moved} {}", describe(result))
                }

                /// Reads everything in pieces and processes each before the next.
                fn read_tls(&mut self, moved: Moved) -> String {
                    self.from_peer.extend(self.peer.take_output());
                    let Moved::AtMost(most) = moved else {
                        let mut log = Vec::new();
                        loop {
                            let before = self.from_peer.len();
                            log.push(self.read_piece(UNPROCESSED));
                            log.push(self.process());
                            if self.from_peer.len() == before {
                                return log.join(", ");
                            }
                        }
                    };
                    self.read_piece(most)
                }

                fn read_piece(&mut self, most: usize) -> String {
                    let most = most.min(UNPROCESSED - self.unprocessed);
                    let before = self.from_peer.len();
                    let mut transport = Limited::new(&mut self.from_peer, Moved::AtMost(most));
                    let result = loop {
                        match self.conn.read_tls(&mut transport) {
                            Ok(0) => break Ok(()),
                            Ok(_) => {}
                            Err(error) => break Err(error),
                        }
                    };
                    let moved = before - self.from_peer.len();
                    self.unprocessed += moved;
                    format!("{moved} {}", describe(result))
                }

                fn process(&mut self) -> String {
                    self.unprocessed = 0;
                    let state = match self.conn.process_new_packets() {
                        Ok(state) => state,
                        Err(error) => return format!("{error:?}"),
                    };
                    self.is_rough |= self.conn.is_handshaking();
                    let to_write = match self.is_rough {
                        true => String::new(),
                        false => state.tls_bytes_to_write().to_string(),
                    };
                    format!(
                        "{to_write} {} {}",
                        state.plaintext_bytes_to_read(),
                        state.peer_has_closed()
                    )
                }

                /// Logs the values of the connection's accessors.
                fn look(&mut self) {
                    let conn = &self.conn;
                    let (wants_read, wants_write) = (conn.wants_read(), conn.wants_write());
                    let wants = match self.role {
                        // upstream's client answers the ServerHello immediately with a
                        // change_cipher_spec, and does not read until that is written
                        Role::Client if conn.is_handshaking() => (wants_read || wants_write, true),
                        _ => (wants_read, wants_write),
                    };
                    // this crate reports them as soon as they are chosen
                    let (kind, group) = match conn.is_handshaking() {
                        true => (None, None),
                        false => (conn.handshake_kind(), conn.negotiated_key_exchange_group()),
                    };
                    // upstream reports the suite of early data before one is negotiated
                    let suite = conn
                        .negotiated_cipher_suite()
                        .filter(|_| conn.protocol_version().is_some());
                    self.log.push(format!(
                        "handshaking {}, wants to read, write {wants:?}, {kind:?} {suite:?} {:?} {:?} {:?}",
                        conn.is_handshaking(),
                        conn.protocol_version(),
                        conn.alpn_protocol(),
                        group.map(|group| group.name()),
                    ));
                }

                /// Delivers all output to the other side, in both directions.
                fn end(&mut self) {
                    let (mut at_conn, mut at_peer) = (Vec::new(), Vec::new());
                    for _ in 0..50 {
                        self.write_tls(Moved::All);
                        self.peer.read_into(&mut at_peer);
                        self.peer.read_early_into(&mut at_peer);
                        self.read_tls(Moved::All);
                        let process = self.process();
                        self.log.push(process);
                        if let Err(error) = self.conn.reader().read_to_end(&mut at_conn) {
                            self.log.push(format!("{:?}: {error}", error.kind()));
                        }
                    }
                    self.log.push(format!("peer has received {at_peer:?}"));
                    self.log.push(format!("received {at_conn:?}"));
                }
            }
        }
    };
}

runs!(this, rustls);
runs!(upstream, rustls_upstream);

/// Returns `len` bytes that count up from `written`.
pub fn next(written: &mut u8, len: usize) -> Vec<u8> {
    let bytes = (0..len).map(|at| written.wrapping_add(at as u8)).collect();
    *written = written.wrapping_add(len as u8);
    bytes
}

#[test]
fn operations_in_any_order_match_upstream() {
    let early_data = tls13_cases().map(|case| (case, true));
    for (case, with_early_data) in cases().map(|case| (case, false)).chain(early_data) {
        let what = format!("{case:?}, early data {with_early_data}");
        same_for_operations(&what, 24, &operations(), |operations| {
            [
                this::run(case, with_early_data, operations),
                upstream::run(case, with_early_data, operations),
            ]
        });
    }
}
