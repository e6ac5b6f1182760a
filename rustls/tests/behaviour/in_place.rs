//! In-place encryption in both APIs. Upstream opens the records, and a failed call changes neither
//! the buffer nor the connection.

use std::io::Write;
use std::ops::Range;

use harness::either;
use harness::peers::configs::product3;
use harness::peers::endpoints::{Endpoint, ThisUnbuffered, Unbuffered, UpstreamBuffered};
use harness::peers::roles::this::Config;
use rustls::{InPlaceError, InPlaceRoom};

use crate::behaviour::connected::encrypt_in_place;
use crate::behaviour::connected::this::{connected, fresh, output};
use crate::cases::{Case, tls13_cases};

/// The record in the buffer.
type Sealed = Result<Range<usize>, InPlaceError>;

/// A connection of either API.
trait InPlace {
    fn room(&mut self) -> InPlaceRoom;

    fn encrypt(&mut self, buf: &mut [u8], payload: Range<usize>) -> Sealed;

    fn refresh(&mut self);

    /// Other bytes that are ready to be sent.
    fn pending(&mut self) -> Vec<u8>;
}

impl InPlace for rustls::Connection {
    fn room(&mut self) -> InPlaceRoom {
        either!(rustls: self, conn => conn.in_place_room())
    }

    fn encrypt(&mut self, buf: &mut [u8], payload: Range<usize>) -> Sealed {
        encrypt_in_place(self, buf, payload)
    }

    fn refresh(&mut self) {
        self.refresh_traffic_keys().unwrap();
    }

    fn pending(&mut self) -> Vec<u8> {
        output(self)
    }
}

impl<C: Unbuffered> InPlace for ThisUnbuffered<C> {
    fn room(&mut self) -> InPlaceRoom {
        self.conn.write_traffic().unwrap().in_place_room()
    }

    fn encrypt(&mut self, buf: &mut [u8], payload: Range<usize>) -> Sealed {
        let mut traffic = self.conn.write_traffic().unwrap();
        traffic.encrypt_in_place(buf, payload)
    }

    fn refresh(&mut self) {
        self.refresh_traffic_keys();
        // the request takes effect when the connection is next driven
        self.send(b"");
    }

    fn pending(&mut self) -> Vec<u8> {
        self.take_output()
    }
}

/// Returns a connection in each API, and its upstream peer.
fn pairs(case: Case) -> Vec<(Box<dyn InPlace>, UpstreamBuffered)> {
    let (conn, peer) = connected(case);
    let mut pairs: Vec<(Box<dyn InPlace>, UpstreamBuffered)> = vec![(Box::new(conn), peer)];
    pairs.push(match case.config() {
        Config::Client(config) => unbuffered(ThisUnbuffered::client(config), case),
        Config::Server(config) => unbuffered(ThisUnbuffered::server(config), case),
    });
    pairs
}

fn unbuffered<E: Endpoint + InPlace + 'static>(
    mut conn: E,
    case: Case,
) -> (Box<dyn InPlace>, UpstreamBuffered) {
    let mut peer = case.peer();
    case.role.handshake(&mut conn, &mut peer);
    (Box::new(conn), peer)
}

#[test]
fn upstream_opens_records_of_every_length() {
    for case in tls13_cases() {
        for (mut conn, mut peer) in pairs(case) {
            let InPlaceRoom {
                headroom,
                max_payload,
                tailroom,
                ..
            } = conn.room();
            assert_eq!((headroom, max_payload, tailroom), (5, 16384, 1 + 16));
            let lens = (0..70).chain([255, 256, 1400, 4096, 16383, 16384]);
            for (extra, len) in lens.enumerate() {
                // more room than needed on either side
                let (before, behind) = (headroom + extra % 3, tailroom + extra % 2);
                let plaintext: Vec<u8> = (0..len).map(|at| at as u8).collect();
                let mut buf = vec![0xa5; before + len + behind];
                buf[before..before + len].copy_from_slice(&plaintext);
                let record = conn.encrypt(&mut buf, before..before + len).unwrap();
                match len {
                    0 => assert!(record.is_empty()),
                    _ => assert_eq!(record, before - headroom..before + len + tailroom),
                }
                assert!(buf[..record.start].iter().all(|&byte| byte == 0xa5));
                assert!(buf[record.end..].iter().all(|&byte| byte == 0xa5));
                assert!(peer.read_from(&buf[record]) == plaintext, "{len}");
            }
        }
    }
}

/// Tries every headroom and tailroom that is too short, and payloads that are too long or not
/// inside the buffer.
#[test]
fn errors_leave_buffer_and_connection_unchanged() {
    for case in tls13_cases() {
        for (mut conn, mut peer) in pairs(case) {
            let room = conn.room();
            let (headroom, tailroom, max) = (room.headroom, room.tailroom, room.max_payload);
            for (len, head, tail) in product3([1, 100, max], 0..=headroom, 0..=tailroom) {
                let mut buf = vec![7; head + len + tail];
                buf[..head].fill(0x5a);
                buf[head + len..].fill(0x5a);
                let before = buf.clone();
                let sealed = conn.encrypt(&mut buf, head..head + len);
                let expected = if head < headroom {
                    Err(InPlaceError::HeadroomTooShort { required: headroom })
                } else if tail < tailroom {
                    Err(InPlaceError::TailroomTooShort { required: tailroom })
                } else {
                    Ok(0..buf.len())
                };
                assert_eq!(sealed, expected);
                match sealed {
                    // no sequence number was used before
                    Ok(record) => assert!(peer.read_from(&buf[record]) == vec![7; len]),
                    Err(_) => assert!(buf == before, "wrote with {head} and {tail} bytes of room"),
                }
            }
            let end = headroom + max + 1 + tailroom;
            let mut buf = vec![0x5a; end];
            let too_long = conn.encrypt(&mut buf, headroom..headroom + max + 1);
            assert_eq!(too_long, Err(InPlaceError::PayloadTooLong { max }));
            #[expect(clippy::reversed_empty_ranges, reason = "a mistake of the caller")]
            let outside = [
                headroom..end + 1,
                end - 5..end + 1,
                end..end + 1,
                end + 1..end + 2,
                20..19,
                0..usize::MAX,
                usize::MAX..usize::MAX,
            ];
            for payload in outside {
                let sealed = conn.encrypt(&mut buf, payload.clone());
                assert_eq!(sealed, Err(InPlaceError::PayloadOutOfBounds), "{payload:?}");
            }
            assert!(buf.iter().all(|&byte| byte == 0x5a));
            let record = conn.encrypt(&mut buf, headroom..headroom + 100).unwrap();
            assert_eq!(peer.read_from(&buf[record]), [0x5a; 100]);
        }
    }
}

#[test]
fn encryption_is_refused_while_other_output_is_pending() {
    for case in tls13_cases() {
        let (mut conn, mut peer) = connected(case);
        conn.writer().write_all(b"first").unwrap();
        let room = conn.room();
        let mut buf = vec![7; room.headroom + 6 + room.tailroom];
        let payload = room.headroom..room.headroom + 6;
        let pending = conn.encrypt(&mut buf, payload.clone());
        assert_eq!(pending, Err(InPlaceError::OutputPending));
        assert!(buf.iter().all(|&byte| byte == 7));
        assert_eq!(peer.read_from(&conn.pending()), b"first");
        let record = conn.encrypt(&mut buf, payload.clone()).unwrap();
        assert_eq!(peer.read_from(&buf[record]), [7; 6]);
        // a KeyUpdate must also be sent first
        conn.refresh();
        buf.fill(8);
        let pending = conn.encrypt(&mut buf, payload.clone());
        assert_eq!(pending, Err(InPlaceError::OutputPending));
        assert_eq!(peer.read_from(&conn.pending()), b"");
        let record = conn.encrypt(&mut buf, payload).unwrap();
        assert_eq!(peer.read_from(&buf[record]), [8; 6]);
    }
}

#[test]
fn encryption_is_refused_before_the_handshake_and_after_the_end() {
    for case in tls13_cases() {
        let mut buf = [7; 100];
        let mut conn = fresh(case);
        let early = conn.encrypt(&mut buf, 20..30).unwrap_err();
        assert_eq!(early, InPlaceError::HandshakeNotComplete);
        assert_eq!(early.to_string(), "the handshake is not complete");
        let (mut conn, _) = connected(case);
        conn.send_close_notify();
        conn.pending();
        let sealed = conn.encrypt(&mut buf, 20..30);
        assert_eq!(sealed, Err(InPlaceError::EncryptExhausted));
        assert_eq!(buf, [7; 100]);
    }
}
