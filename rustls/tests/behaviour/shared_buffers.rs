//! Connections of a thread share record buffers, and none sees the data of another in them.

use std::io::{self, Read, Write};

use harness::peers::configs::product;
use harness::peers::endpoints::{Endpoint, Transfer};

use crate::behaviour::connected::this::connected;
use crate::cases::{Role, tls13_cases_of};

/// A transport that inspects the memory it is given to read into.
struct Spy<'a> {
    wire: &'a [u8],
    /// The length of the longest run of one non-zero byte seen so far, and that byte.
    seen: (usize, u8),
}

impl Read for Spy<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        for run in room.chunk_by(|a, b| a == b) {
            if run[0] != 0 && run.len() > self.seen.0 {
                self.seen = (run.len(), run[0]);
            }
        }
        self.wire.read(room)
    }
}

/// More connections than the thread has buffers take turns at receiving and sending.
#[test]
fn a_transport_sees_no_data_of_other_connections() {
    for (case, len) in product(tls13_cases_of(Role::Server), [100, 3000, 16_000]) {
        let mut pairs: Vec<_> = (0..12).map(|_| connected(case)).collect();
        for round in 0..3 {
            for (index, (conn, peer)) in pairs.iter_mut().enumerate() {
                let own = index as u8 + 1;
                let plaintext = vec![own; len];
                peer.send(&plaintext);
                let wire = peer.take_output();
                let mut wire = &wire[..];
                let mut received = Vec::new();
                while !wire.is_empty() {
                    let mut spy = Spy { wire, seen: (0, 0) };
                    let read = conn.read_tls(&mut spy).unwrap();
                    wire = &wire[read..];
                    let (len, of) = spy.seen;
                    let what = format!("{case:?}: {own} saw {len} of {of} in round {round}");
                    assert!(len < 16 || of == own, "{what}");
                    conn.process_new_packets().unwrap();
                    let _ = conn.reader().read_to_end(&mut received);
                }
                assert_eq!(received, plaintext);
                conn.writer().write_all(&plaintext).unwrap();
                assert_eq!(peer.read_from(&conn.output()), plaintext);
            }
        }
    }
}
