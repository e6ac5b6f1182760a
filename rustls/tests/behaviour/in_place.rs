//! In-place encryption in both APIs. Upstream opens the records, and a failed call changes neither
//! the buffer nor the connection.

use std::io::Write;
use std::ops::Range;

use harness::peers::configs::{Provider, product3};
use harness::peers::endpoints::{Endpoint, ThisUnbuffered, UpstreamBuffered};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{InPlaceError, InPlaceRoom};

use crate::behaviour::compared::for_all;
use crate::behaviour::connected::this::{self, connected, fresh};
use crate::behaviour::connected::{Role, encrypt_in_place, fresh_peer};

/// A connection of either API.
trait InPlace {
    fn room(&mut self) -> InPlaceRoom;

    fn encrypt(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, InPlaceError>;

    fn refresh(&mut self);

    /// Other bytes that are ready to be sent.
    fn pending(&mut self) -> Vec<u8>;
}

impl InPlace for rustls::Connection {
    fn room(&mut self) -> InPlaceRoom {
        match self {
            Self::Client(conn) => conn.in_place_room(),
            Self::Server(conn) => conn.in_place_room(),
        }
    }

    fn encrypt(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, InPlaceError> {
        encrypt_in_place(self, buf, payload)
    }

    fn refresh(&mut self) {
        self.refresh_traffic_keys().unwrap();
    }

    fn pending(&mut self) -> Vec<u8> {
        this::output(self)
    }
}

macro_rules! unbuffered {
    ($conn:ty) => {
        impl InPlace for ThisUnbuffered<$conn> {
            fn room(&mut self) -> InPlaceRoom {
                match self.conn.process_tls_records(&mut []).state.unwrap() {
                    ConnectionState::WriteTraffic(state) => state.in_place_room(),
                    other => panic!("{other:?}"),
                }
            }

            fn encrypt(
                &mut self,
                buf: &mut [u8],
                payload: Range<usize>,
            ) -> Result<Range<usize>, InPlaceError> {
                let UnbufferedStatus { state, .. } = self.conn.process_tls_records(&mut []);
                match state.unwrap() {
                    ConnectionState::WriteTraffic(mut state) => {
                        state.encrypt_in_place(buf, payload)
                    }
                    other => panic!("{other:?}"),
                }
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
    };
}

unbuffered!(UnbufferedClientConnection);
unbuffered!(UnbufferedServerConnection);

/// Both APIs, each connected to upstream.
fn pairs(provider: Provider, role: Role) -> Vec<(Box<dyn InPlace>, UpstreamBuffered)> {
    let (conn, peer) = connected(provider, role);
    let mut pairs: Vec<(Box<dyn InPlace>, UpstreamBuffered)> = vec![(Box::new(conn), peer)];
    let mut peer = fresh_peer(provider, role);
    pairs.push(match role {
        Role::Client => {
            let mut conn = ThisUnbuffered::client(this::client_config(provider));
            role.handshake(&mut conn, &mut peer);
            (Box::new(conn), peer)
        }
        Role::Server => {
            let mut conn = ThisUnbuffered::server(this::server_config(provider));
            role.handshake(&mut conn, &mut peer);
            (Box::new(conn), peer)
        }
    });
    pairs
}

#[test]
fn upstream_opens_every_length() {
    for_all(|provider, role| {
        for (mut conn, mut peer) in pairs(provider, role) {
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
    });
}

/// Every headroom and tailroom that is too short, and payloads that are too long or outside.
#[test]
fn errors_change_nothing() {
    for_all(|provider, role| {
        for (mut conn, mut peer) in pairs(provider, role) {
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
            assert_eq!(
                conn.encrypt(&mut buf, headroom..headroom + max + 1),
                Err(InPlaceError::PayloadTooLong { max })
            );
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
                assert_eq!(
                    conn.encrypt(&mut buf, payload.clone()),
                    Err(InPlaceError::PayloadOutOfBounds),
                    "{payload:?}"
                );
            }
            assert!(buf.iter().all(|&byte| byte == 0x5a));
            let record = conn.encrypt(&mut buf, headroom..headroom + 100).unwrap();
            assert_eq!(peer.read_from(&buf[record]), [0x5a; 100]);
        }
    });
}

#[test]
fn refused_while_other_output_is_pending() {
    for_all(|provider, role| {
        let (mut conn, mut peer) = connected(provider, role);
        conn.writer().write_all(b"first").unwrap();
        let room = conn.room();
        let mut buf = vec![7; room.headroom + 6 + room.tailroom];
        let payload = room.headroom..room.headroom + 6;
        assert_eq!(
            conn.encrypt(&mut buf, payload.clone()),
            Err(InPlaceError::OutputPending)
        );
        assert!(buf.iter().all(|&byte| byte == 7));
        assert_eq!(peer.read_from(&conn.pending()), b"first");
        let record = conn.encrypt(&mut buf, payload.clone()).unwrap();
        assert_eq!(peer.read_from(&buf[record]), [7; 6]);
        // a KeyUpdate has to be sent first, too
        conn.refresh();
        buf.fill(8);
        assert_eq!(
            conn.encrypt(&mut buf, payload.clone()),
            Err(InPlaceError::OutputPending)
        );
        assert_eq!(peer.read_from(&conn.pending()), b"");
        let record = conn.encrypt(&mut buf, payload).unwrap();
        assert_eq!(peer.read_from(&buf[record]), [8; 6]);
    });
}

#[test]
fn neither_before_the_handshake_nor_after_the_end() {
    for_all(|provider, role| {
        let mut buf = [7; 100];
        let mut conn = fresh(provider, role);
        let early = conn.encrypt(&mut buf, 20..30).unwrap_err();
        assert_eq!(early, InPlaceError::HandshakeNotComplete);
        assert_eq!(early.to_string(), "the handshake is not complete");
        let (mut conn, _) = connected(provider, role);
        conn.send_close_notify();
        conn.pending();
        assert_eq!(
            conn.encrypt(&mut buf, 20..30),
            Err(InPlaceError::EncryptExhausted)
        );
        assert_eq!(buf, [7; 100]);
    });
}

/// Alternates between in-place encryption and the writer.
#[test]
fn mixed_with_the_writer() {
    for_all(|provider, role| {
        let (mut conn, mut peer) = connected(provider, role);
        let room = conn.room();
        for round in 0..10 {
            let mut buf = vec![round; room.headroom + 50 + room.tailroom];
            let record = conn
                .encrypt(&mut buf, room.headroom..room.headroom + 50)
                .unwrap();
            let mut wire = buf[record].to_vec();
            conn.writer().write_all(&[round; 20_000]).unwrap();
            wire.extend(conn.pending());
            let plaintext = peer.read_from(&wire);
            assert!(plaintext == [round; 20_050]);
        }
    });
}
