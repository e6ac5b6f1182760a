//! KeyUpdates that request an answer are not noticeable to callers of `Stream`, `StreamOwned` and
//! `complete_io`.
//!
//! Every read returns what upstream's returns. `WouldBlock` is returned only if the socket returned
//! it. Otherwise it would be wrong for a blocking socket, and an edge-triggered one with data left
//! would never be polled again.

use std::collections::VecDeque;
use std::io::{self, BufRead, ErrorKind, IoSlice, Read, Write};

use harness::either;
use harness::peers::configs::product3;
use harness::peers::endpoints::{Endpoint, UpstreamBuffered};

use crate::behaviour::compared::{Log, assert_same, describe, same};
use crate::cases::{Case, tls13_cases};

/// The peer's output: a request for a KeyUpdate, data, a close_notify. `|` ends the input of one
/// `read`.
const SCENES: [&str; 12] = [
    "request",
    "request | request | request",
    "request request request",
    "request | data",
    "request data",
    "data request",
    "data | request | data",
    "request | request | data request | request | data",
    "request | close",
    "request close",
    "request | request | data | close",
    "request data close",
];

harness::listed! {
    /// The behaviour of the socket's `write`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Takes {
        Everything,
        /// Accepts one byte at a time.
        OneByte,
        /// Blocks on every other call.
        EveryOther,
        /// Always blocks.
        Nothing,
    }
}

/// A non-blocking socket on which a few records have arrived.
struct Socket {
    arrived: VecDeque<Vec<u8>>,
    written: Vec<u8>,
    writes: usize,
    takes: Takes,
    /// True once `read` has reported that nothing is left.
    drained: bool,
}

impl Socket {
    fn new(peer: &mut UpstreamBuffered, scene: &str, takes: Takes) -> Self {
        let mut arrived = VecDeque::new();
        for piece in scene.split('|') {
            for word in piece.split_whitespace() {
                match word {
                    "request" => peer.refresh_traffic_keys(),
                    "data" => assert_eq!(peer.send(b"data"), 4),
                    "close" => peer.close(),
                    _ => panic!("{word}"),
                }
            }
            arrived.push_back(peer.take_output());
        }
        Self {
            arrived,
            written: Vec::new(),
            writes: 0,
            takes,
            drained: false,
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(piece) = self.arrived.pop_front() else {
            self.drained = true;
            return Err(ErrorKind::WouldBlock.into());
        };
        buf[..piece.len()].copy_from_slice(&piece);
        Ok(piece.len())
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.writes += 1;
        let len = match self.takes {
            Takes::Everything => buf.len(),
            Takes::OneByte => 1,
            Takes::EveryOther if self.writes % 2 == 0 => buf.len(),
            Takes::EveryOther | Takes::Nothing => return Err(ErrorKind::WouldBlock.into()),
        };
        self.written.extend_from_slice(&buf[..len]);
        Ok(len)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let all = bufs.iter().map(|buf| &buf[..]).collect::<Vec<_>>().concat();
        self.write(&all)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The API used to read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Read,
    FillBuf,
}

/// Reads until the socket is drained, as an event loop does. Returns the result of each call.
fn read_all<S: BufRead>(stream: &mut S, by: By, drained: impl Fn(&S) -> bool) -> Log {
    let mut log = Vec::new();
    loop {
        let mut buf = [0; 3];
        let result = match by {
            By::Read => stream.read(&mut buf).map(|len| buf[..len].to_vec()),
            By::FillBuf => {
                let chunk = stream.fill_buf().map(<[u8]>::to_vec);
                stream.consume(chunk.as_ref().map_or(0, Vec::len));
                chunk
            }
        };
        log.push(describe(result.as_ref()));
        match result {
            Ok(read) if read.is_empty() => return log,
            Ok(_) => {}
            Err(_) => {
                assert!(drained(stream), "stopped before the socket did: {log:#?}");
                return log;
            }
        }
        assert!(log.len() < 100, "endless loop: {log:#?}");
    }
}

macro_rules! scripts {
    ($module:ident, $tls:ident) => {
        mod $module {
            use $tls::{Connection, Stream, StreamOwned};

            use super::*;
            use crate::behaviour::connected::$module::{connected, input, output};

            /// Reads through a stream, then sends the answer. Checks that both ends' keys match
            /// unless the peer has closed.
            pub fn read(case: Case, scene: &str, takes: Takes, by: By) -> Log {
                let (mut conn, mut peer) = connected(case);
                let mut socket = Socket::new(&mut peer, scene, takes);
                let log = either!($tls: &mut conn, conn => {
                    let mut stream = Stream::new(conn, &mut socket);
                    read_all(&mut stream, by, |stream| stream.sock.drained)
                });
                check_usable(conn, peer, socket);
                log
            }

            /// Reads through a stream that owns the connection and the socket.
            pub fn read_owned(case: Case, scene: &str, takes: Takes, by: By) -> Log {
                let (conn, mut peer) = connected(case);
                let socket = Socket::new(&mut peer, scene, takes);
                either!($tls: conn, conn => {
                    let mut stream = StreamOwned::new(conn, socket);
                    let log = read_all(&mut stream, by, |stream| stream.sock.drained);
                    let (conn, socket) = stream.into_parts();
                    check_usable(conn.into(), peer, socket);
                    log
                })
            }

            /// Calls `complete_io` until it reads nothing. Returns the bytes read by each call, and
            /// the data.
            pub fn complete_io_reads_on(case: Case, scene: &str) -> Log {
                let (mut conn, mut peer) = connected(case);
                let mut socket = Socket::new(&mut peer, scene, Takes::Everything);
                let mut log = Vec::new();
                loop {
                    let result = conn.complete_io(&mut socket).map(|(read, _)| read);
                    log.push(describe(result.as_ref()));
                    let mut buf = [0; 100];
                    let read = conn.reader().read(&mut buf);
                    log.push(describe(read.map(|len| buf[..len].to_vec())));
                    match result {
                        Ok(0) => break,
                        Ok(_) => {}
                        Err(_) => {
                            assert!(socket.drained, "{log:#?}");
                            break;
                        }
                    }
                }
                check_usable(conn, peer, socket);
                log
            }

            fn check_usable(mut conn: Connection, mut peer: UpstreamBuffered, mut socket: Socket) {
                conn.writer().write_all(b"from us").unwrap();
                socket.written.append(&mut output(&mut conn));
                assert_eq!(peer.read_from(&socket.written), b"from us");
                if !conn.process_new_packets().unwrap().peer_has_closed() {
                    peer.send(b"from the peer");
                    input(&mut conn, &peer.take_output()).unwrap();
                    let mut received = [0; 13];
                    conn.reader().read_exact(&mut received).unwrap();
                    assert_eq!(&received, b"from the peer");
                }
            }
        }
    };
}

scripts!(this, rustls);
scripts!(upstream, rustls_upstream);

#[test]
fn streams_continue_to_read_after_a_key_update() {
    for case in tls13_cases() {
        for (scene, &takes, by) in product3(SCENES, Takes::ALL, [By::Read, By::FillBuf]) {
            let what = format!("{case:?} {scene:?} {takes:?} {by:?}");
            let theirs = upstream::read(case, scene, takes, by);
            for same in [
                this::read(case, scene, takes, by),
                this::read_owned(case, scene, takes, by),
                upstream::read_owned(case, scene, takes, by),
            ] {
                assert_same(&what, &same, &theirs);
            }
        }
    }
}

// Programs treat a call of `complete_io` that reads nothing as the end.
same!(complete_io_reads_on in SCENES);

/// Reading writes nothing; the answer is sent with the next write.
#[test]
fn reading_does_not_send_the_requested_key_update() {
    for case in tls13_cases() {
        let (mut conn, mut peer) = crate::behaviour::connected::this::connected(case);
        let mut socket = Socket::new(&mut peer, "request", Takes::Everything);
        let (_, written) = conn.complete_io(&mut socket).unwrap();
        assert_eq!((written, socket.writes), (0, 0));
        assert!(!conn.wants_write());
        conn.writer().write_all(b"data").unwrap();
        let (_, written) = conn.complete_io(&mut socket).unwrap();
        // header, message, content type and tag, for two records
        assert_eq!(written, 5 + 5 + 1 + 16 + 5 + 4 + 1 + 16);
        peer.receive(&socket.written).unwrap();
    }
}
