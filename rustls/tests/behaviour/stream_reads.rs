//! Tests of the calls that read from a stream, for each combination of unread plaintext, pending
//! output and transport. Both crates return the same values and call the transport in the same way.

use std::fmt::Write as _;
use std::io::{self, BufRead, ErrorKind, IoSliceMut, Read, Write};

use harness::either;
use harness::peers::configs::{product, product3};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered};

use crate::behaviour::compared::{Log, describe, same_in_turns};
use crate::cases::Case;

/// The part of a connection's state that a case sets up.
type Before = (Received, Pending);

harness::listed! {
    /// The bytes that the connection has received and processed.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Received {
        /// No bytes: the handshake has not begun.
        Fresh,
        /// The end of the handshake, to which the connection answers. A server also receives
        /// plaintext.
        EndOfHandshake,
        Nothing,
        Plaintext,
        PlaintextAndClose,
        Close,
        PlaintextAndNoRecord,
    }
}

/// The output that waits in the connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pending {
    Nothing,
    Data,
    DataAndClose,
}

/// The behaviour of the transport, in all calls of a kind.
type Behaviour = (Reads, Writes);

harness::listed! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Reads {
        Block,
        Data,
        DataAndClose,
        DataAndNoRecord,
        End,
        Fail,
    }
}

harness::listed! {
    #[derive(Clone, Copy, Debug)]
    enum Writes {
        Work,
        Short,
        Nothing,
        Block,
        Fail,
        FlushFails,
    }
}

/// Bytes that begin with no content type.
const NO_RECORD: &[u8] = b"\xff\x03\x03\x00\x01\x00";

/// A transport that records its calls.
struct Recorded {
    reads: Reads,
    writes: Writes,
    incoming: Vec<u8>,
    /// True if the two crates send messages of different lengths: ClientHellos, and tickets.
    hides_lengths: bool,
    log: String,
}

impl Recorded {
    fn record(&mut self, call: &str, result: io::Result<usize>) -> io::Result<usize> {
        match &result {
            Ok(1..) if self.hides_lengths => write!(self.log, " {call}").unwrap(),
            Ok(len) => write!(self.log, " {call} {len}").unwrap(),
            Err(error) => write!(self.log, " {call} {:?}", error.kind()).unwrap(),
        }
        assert!(self.log.len() < 100_000, "endless loop");
        result
    }
}

impl Read for Recorded {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let result = match self.reads {
            Reads::Data | Reads::DataAndClose | Reads::DataAndNoRecord
                if !self.incoming.is_empty() =>
            {
                let len = self.incoming.len().min(buf.len());
                buf[..len].copy_from_slice(&self.incoming[..len]);
                self.incoming.drain(..len);
                Ok(len)
            }
            Reads::Block | Reads::Data | Reads::DataAndClose | Reads::DataAndNoRecord => {
                Err(ErrorKind::WouldBlock.into())
            }
            Reads::End => Ok(0),
            Reads::Fail => Err(ErrorKind::ConnectionReset.into()),
        };
        self.record("read", result)
    }
}

impl Write for Recorded {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let result = match self.writes {
            Writes::Work | Writes::FlushFails => Ok(buf.len()),
            Writes::Short => Ok(buf.len().div_ceil(2)),
            Writes::Nothing => Ok(0),
            Writes::Block => Err(ErrorKind::WouldBlock.into()),
            Writes::Fail => Err(ErrorKind::BrokenPipe.into()),
        };
        self.record("write", result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = match self.writes {
            Writes::FlushFails => Err(ErrorKind::BrokenPipe.into()),
            _ => Ok(0),
        };
        self.record("flush", result).map(drop)
    }
}

harness::listed! {
    /// A call that may read from the transport.
    #[derive(Clone, Copy, Debug)]
    enum Reading {
        Read,
        /// Into a buffer that is longer than a record.
        ReadLong,
        ReadNothing,
        ReadVectored,
        FillBuf,
        ReadToEnd,
    }
}

impl Reading {
    /// Makes the call and describes its result.
    fn call(self, stream: &mut impl BufRead) -> String {
        let mut buf = [0; 5];
        match self {
            Self::Read => {
                let result = stream.read(&mut buf);
                describe(result.map(|len| buf[..len].to_vec()))
            }
            Self::ReadLong => {
                let mut buf = [0; 200];
                let result = stream.read(&mut buf);
                describe(result.map(|len| buf[..len].to_vec()))
            }
            Self::ReadNothing => describe(stream.read(&mut [])),
            Self::ReadVectored => {
                let (first, second) = buf.split_at_mut(2);
                let result = stream.read_vectored(&mut [first, second].map(IoSliceMut::new));
                describe(result.map(|len| buf[..len].to_vec()))
            }
            Self::FillBuf => {
                let result = stream.fill_buf().map(<[u8]>::to_vec);
                // consuming a byte does not cause a call either
                stream.consume(result.as_ref().map_or(0, |chunk| chunk.len().min(3)));
                describe(result)
            }
            Self::ReadToEnd => {
                let mut all = Vec::new();
                let result = describe(stream.read_to_end(&mut all));
                format!("{result} {all:?}")
            }
        }
    }
}

/// Makes the call repeatedly, and logs its results and the calls of the transport.
fn log_of<S: BufRead>(
    stream: &mut S,
    reading: Reading,
    transport: impl Fn(&mut S) -> &mut Recorded,
) -> Log {
    let calls = (0..4).map(|_| {
        let result = reading.call(stream);
        entry(&result, &mut transport(stream).log)
    });
    calls.collect()
}

/// Describes a call by its result and the calls of the transport, and clears these.
fn entry(result: &str, log: &mut String) -> String {
    let calls = std::mem::take(log);
    // upstream reads once more after a failure, which may block
    let calls = match calls.split_once(" read") {
        Some((before, _)) if result.starts_with("InvalidData") => before,
        _ => &calls,
    };
    format!("{result}:{calls}")
}

macro_rules! scripts {
    ($module:ident, $tls:ident) => {
        mod $module {
            use super::*;
            use crate::behaviour::connected::$module::{exchange_all, fresh, input, output};

            /// Creates a connection and its transport in the state of the case.
            fn prepared(
                case: Case,
                (received, pending): Before,
                (reads, writes): Behaviour,
            ) -> ($tls::Connection, Recorded) {
                let mut transport = Recorded {
                    reads,
                    writes,
                    incoming: Vec::new(),
                    hides_lengths: matches!(received, Received::Fresh | Received::EndOfHandshake),
                    log: String::new(),
                };
                let mut conn = fresh(case);
                if received != Received::Fresh {
                    let mut peer = case.peer();
                    if received == Received::EndOfHandshake {
                        end_handshake(&mut conn, &mut peer);
                    } else {
                        exchange_all(&mut conn, &mut peer);
                    }
                    receive(&mut conn, &mut peer, received);
                    peer.send(b"later");
                    if reads == Reads::DataAndClose {
                        peer.close();
                    }
                    transport.incoming = peer.take_output();
                    if reads == Reads::DataAndNoRecord {
                        transport.incoming.extend_from_slice(NO_RECORD);
                    }
                }
                match pending {
                    Pending::Nothing => {}
                    Pending::Data => write(&mut conn),
                    Pending::DataAndClose => {
                        write(&mut conn);
                        conn.send_close_notify();
                    }
                }
                (conn, transport)
            }

            fn write(conn: &mut $tls::Connection) {
                conn.writer().write_all(b"pending").unwrap();
            }

            /// Completes the handshake, and leaves the last output in the connection.
            fn end_handshake(conn: &mut $tls::Connection, peer: &mut UpstreamBuffered) {
                while conn.is_handshaking() {
                    peer.receive(&output(conn)).unwrap();
                    if !peer.is_handshaking() {
                        peer.send(b"waiting");
                    }
                    input(conn, &peer.take_output()).unwrap();
                }
                peer.receive(&[]).unwrap();
            }

            fn receive(
                conn: &mut $tls::Connection,
                peer: &mut UpstreamBuffered,
                received: Received,
            ) {
                if matches!(
                    received,
                    Received::Plaintext
                        | Received::PlaintextAndClose
                        | Received::PlaintextAndNoRecord
                ) {
                    peer.send(b"waiting");
                }
                if matches!(received, Received::Close | Received::PlaintextAndClose) {
                    peer.close();
                }
                let mut bytes = peer.take_output();
                if received == Received::PlaintextAndNoRecord {
                    bytes.extend_from_slice(NO_RECORD);
                }
                let _ = input(conn, &bytes);
            }

            pub fn reads_of_a_stream(
                case: Case,
                (before, behaviour, reading): (Before, Behaviour, Reading),
            ) -> Log {
                let (conn, mut transport) = prepared(case, before, behaviour);
                either!($tls: conn, mut conn => {
                    let mut stream = $tls::Stream::new(&mut conn, &mut transport);
                    log_of(&mut stream, reading, |stream| stream.sock)
                })
            }

            pub fn reads_of_an_owned_stream(
                case: Case,
                (before, behaviour, reading): (Before, Behaviour, Reading),
            ) -> Log {
                let (conn, transport) = prepared(case, before, behaviour);
                either!($tls: conn, conn => {
                    let mut stream = $tls::StreamOwned::new(conn, transport);
                    log_of(&mut stream, reading, |stream| stream.get_mut())
                })
            }

            pub fn calls_of_complete_io(
                case: Case,
                (before, behaviour): (Before, Behaviour),
            ) -> Log {
                let (mut conn, mut transport) = prepared(case, before, behaviour);
                let calls = (0..4).map(|_| {
                    let result = conn.complete_io(&mut transport);
                    let result = describe(result.map(|(read, written)| (read, written.min(50))));
                    entry(&result, &mut transport.log)
                });
                calls.collect()
            }
        }
    };
}

scripts!(this, rustls);
scripts!(upstream, rustls_upstream);

fn befores() -> impl Iterator<Item = Before> {
    let pending = [Pending::Nothing, Pending::Data, Pending::DataAndClose];
    product(Received::ALL.iter().copied(), pending).filter(|case| match case {
        // in this state, a close_notify waits for the end of the handshake; upstream sends it
        // immediately
        (Received::Fresh, Pending::DataAndClose) => false,
        // the alert is pending
        (Received::PlaintextAndNoRecord, pending) => *pending == Pending::Nothing,
        _ => true,
    })
}

/// Returns the combinations of states and transports. Excludes those in which upstream fails with
/// the error of a read that it makes after the connection has failed.
fn cases() -> Vec<(Before, Behaviour)> {
    product3(befores(), Reads::ALL, Writes::ALL)
        .filter(|(before, reads, writes)| match reads {
            Reads::Fail => before.0 != Received::PlaintextAndNoRecord,
            // other writers take the alert in several calls, and upstream panics if it fails twice
            Reads::DataAndNoRecord => {
                *before == (Received::Nothing, Pending::Nothing) && matches!(writes, Writes::Work)
            }
            _ => true,
        })
        .map(|(before, &reads, &writes)| (before, (reads, writes)))
        .collect()
}

fn readings(readings: &[Reading]) -> Vec<(Before, Behaviour, Reading)> {
    product(cases(), readings)
        .map(|((before, behaviour), reading)| (before, behaviour, *reading))
        .collect()
}

#[test]
fn reads_of_a_stream_match_upstream() {
    let (ours, theirs) = (this::reads_of_a_stream, upstream::reads_of_a_stream);
    same_in_turns(readings(Reading::ALL), ours, theirs);
}

#[test]
fn reads_of_an_owned_stream_match_upstream() {
    let (ours, theirs) = (
        this::reads_of_an_owned_stream,
        upstream::reads_of_an_owned_stream,
    );
    same_in_turns(readings(&[Reading::Read, Reading::FillBuf]), ours, theirs);
}

#[test]
fn calls_of_complete_io_match_upstream() {
    let (ours, theirs) = (this::calls_of_complete_io, upstream::calls_of_complete_io);
    same_in_turns(cases(), ours, theirs);
}
