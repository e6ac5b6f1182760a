//! Random sequences of operations: leaving and opening records, sending, updating keys and closing,
//! on both sides. All data arrives once and in order, and unopened records stay unchanged.

use harness::peers::endpoints::{Endpoint, Unbuffered, UpstreamBuffered};
use harness::wire::Noise;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use crate::unbuffered::ends::{Case, for_all};

const ROUNDS: u64 = 12;
const STEPS: usize = 250;

struct Run<C> {
    case: Case,
    conn: C,
    peer: UpstreamBuffered,
    noise: Noise,

    /// Received bytes that are not discarded yet. The connection decrypts them in place.
    incoming: Vec<u8>,
    /// The same bytes as they arrived.
    arrived: Vec<u8>,
    /// The number of bytes at the front that were offered and so may be decrypted.
    offered: usize,
    /// The peer's data that the connection has not returned yet.
    to_come: Vec<u8>,
    peer_closes: bool,
    peer_has_closed: bool,
    refused: usize,
    /// True if data was offered and left for the next state.
    is_left: bool,

    outgoing: Vec<u8>,
    used: usize,
    /// Data that the connection has accepted and the peer has not received yet.
    to_arrive: Vec<u8>,
    has_closed: bool,
}

impl<C: Unbuffered> Run<C> {
    fn below(&mut self, limit: usize) -> usize {
        self.noise.next() as usize % limit
    }

    /// Returns some plaintext, usually short.
    fn plaintext(&mut self) -> Vec<u8> {
        let len = match self.below(8) {
            0 => self.below(30_000),
            1 => 0,
            _ => self.below(60),
        };
        (0..len).map(|_| self.noise.next() as u8).collect()
    }

    fn step(&mut self) {
        match self.below(20) {
            0..3 if !self.peer_closes => {
                let plaintext = self.plaintext();
                let accepted = self.peer.send(&plaintext);
                self.to_come.extend(&plaintext[..accepted]);
            }
            3 if self.case.is_tls13() && !self.peer_closes => self.peer.refresh_traffic_keys(),
            4 if self.below(25) == 0 => {
                self.peer.close();
                self.peer_closes = true;
            }
            5..8 => self.arrive(),
            8..10 => self.refuse(),
            10..14 => self.take(),
            14..17 => self.send(),
            17 => self.deliver(),
            18 if self.case.is_tls13() => {
                if let Some(traffic) = self.conn.write_traffic() {
                    traffic.refresh_traffic_keys().unwrap();
                }
            }
            19 if self.below(25) == 0 => self.close(),
            _ => {}
        }
        // only bytes that were offered may be decrypted
        assert!(self.incoming[self.offered..] == self.arrived[self.offered..]);
    }

    fn arrive(&mut self) {
        let bytes = self.peer.take_output();
        self.incoming.extend(&bytes);
        self.arrived.extend(&bytes);
    }

    /// Peeks at a record and then uses the connection for something else.
    fn refuse(&mut self) {
        let record = self.conn.peek_record(&self.incoming);
        let state = self.conn.process(&mut []);
        assert_eq!(state.discard, 0);
        match state.state.unwrap() {
            ConnectionState::ReadTraffic(state) => {
                assert!(self.is_left && state.peek_len().is_some());
            }
            ConnectionState::WriteTraffic(mut traffic) if !self.has_closed => {
                self.used += traffic
                    .encrypt_to_vec(b"instead", &mut self.outgoing, self.used)
                    .unwrap();
                self.to_arrive.extend(b"instead");
            }
            ConnectionState::EncodeTlsData(mut state) => {
                self.used += state.encode_to_vec(&mut self.outgoing, self.used).unwrap();
            }
            ConnectionState::TransmitTlsData(state) => state.done(),
            _ => {}
        }
        assert_eq!(self.conn.peek_record(&self.incoming), record);
        self.refused += usize::from(record.is_some());
    }

    /// Offers one record, some bytes, or all, and takes part of the resulting data.
    fn take(&mut self) {
        let record = self.conn.peek_record(&self.incoming);
        let (offered, most) = match (self.below(3), record) {
            (0 | 1, Some(record)) => (record.record_len, Some(record.max_payload)),
            (2, _) => (self.incoming.len(), None),
            _ => (self.below(self.incoming.len() + 1), None),
        };
        self.offered = Ord::max(self.offered, offered);
        let leaves = self.below(4) == 0;
        let UnbufferedStatus { discard, state } = self.conn.process(&mut self.incoming[..offered]);
        match state.unwrap() {
            ConnectionState::ReadTraffic(mut traffic) => {
                let was_left = core::mem::replace(&mut self.is_left, leaves);
                if leaves {
                    assert!(traffic.peek_len().is_some());
                } else {
                    let record = traffic.next_record().unwrap().unwrap();
                    let len = record.payload.len();
                    assert!(len > 0 && (was_left || most.is_none_or(|most| len == most)));
                    assert!(*record.payload == self.to_come[..len]);
                    self.to_come.drain(..len);
                    assert!(traffic.next_record().is_none());
                }
            }
            ConnectionState::EncodeTlsData(mut state) => {
                self.used += state.encode_to_vec(&mut self.outgoing, self.used).unwrap();
            }
            ConnectionState::TransmitTlsData(state) => state.done(),
            ConnectionState::PeerClosed => {
                assert!(self.to_come.is_empty() && self.peer_closes && !self.peer_has_closed);
                self.peer_has_closed = true;
            }
            ConnectionState::Closed => assert!(self.peer_has_closed && self.has_closed),
            ConnectionState::WriteTraffic(_) => {}
            other => panic!("{other:?}"),
        }
        self.incoming.drain(..discard);
        self.arrived.drain(..discard);
        self.offered -= discard;
    }

    fn send(&mut self) {
        let plaintext = self.plaintext();
        let into_slice = self.below(2) == 0;
        let Some(mut traffic) = self.conn.write_traffic() else {
            assert!(self.has_closed);
            return;
        };
        assert!(!self.has_closed);
        if into_slice {
            let mut out = vec![0; 2 * plaintext.len() + 2000];
            let len = traffic.encrypt(&plaintext, &mut out).unwrap();
            self.outgoing.truncate(self.used);
            self.outgoing.extend(&out[..len]);
            self.used += len;
        } else {
            self.used += traffic
                .encrypt_to_vec(&plaintext, &mut self.outgoing, self.used)
                .unwrap();
        }
        self.to_arrive.extend(plaintext);
    }

    fn close(&mut self) {
        if let Some(mut traffic) = self.conn.write_traffic() {
            self.used += traffic
                .queue_close_notify_to_vec(&mut self.outgoing, self.used)
                .unwrap();
            self.has_closed = true;
        }
    }

    /// Delivers the output to the peer.
    fn deliver(&mut self) {
        let mut received = Vec::new();
        self.peer.receive(&self.outgoing[..self.used]).unwrap();
        self.used = 0;
        self.peer.read_into(&mut received);
        assert!(received == self.to_arrive);
        self.to_arrive.clear();
        assert_eq!(self.peer.peer_has_closed(), self.has_closed);
    }

    /// Closes both sides. Returns the number of records that were left.
    fn finish(mut self) -> usize {
        if !self.peer_closes {
            self.peer.close();
            self.peer_closes = true;
        }
        let mut steps = 0;
        self.arrive();
        // upstream may answer a KeyUpdate after its close_notify; that answer stays unread
        while !self.peer_has_closed {
            self.take();
            steps += 1;
            assert!(steps < 10_000, "{} bytes are left", self.incoming.len());
        }
        self.send();
        self.close();
        self.deliver();
        assert!(self.has_closed);
        while !matches!(
            self.conn.process(&mut []).state,
            Ok(ConnectionState::Closed)
        ) {
            self.take();
        }
        self.refused
    }
}

#[test]
fn all_data_arrives_in_random_sequences() {
    fn test(
        case: Case,
        conn: impl Unbuffered,
        peer: UpstreamBuffered,
        (round, refused): (u64, &mut usize),
    ) {
        let mut run = Run {
            case,
            conn,
            peer,
            noise: Noise::new(0x5eed + 1000 * round),
            incoming: Vec::new(),
            arrived: Vec::new(),
            offered: 0,
            to_come: Vec::new(),
            peer_closes: false,
            peer_has_closed: false,
            refused: 0,
            is_left: false,
            outgoing: Vec::new(),
            used: 0,
            to_arrive: Vec::new(),
            has_closed: false,
        };
        for _ in 0..STEPS {
            run.step();
        }
        *refused += run.finish();
    }
    let mut refused = 0;
    for round in 0..ROUNDS {
        for_all!(test, (round, &mut refused));
    }
    assert!(refused > 500, "{refused}");
}
