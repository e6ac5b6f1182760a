//! Early data through the unbuffered API.

use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Provider, product};
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, handshake};
use harness::wire::records;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use super::{settings, this_client};

/// A client that has written these pieces of early data, and a server that accepts or rejects them.
fn with_early_data(
    provider: Provider,
    is_accepted: bool,
    max_fragment_size: Option<usize>,
    early: &[&[u8]],
) -> (ThisBuffered, UnbufferedServerConnection) {
    let settings = settings(provider);
    let server_config = Arc::new(settings.ours());
    let mut config = (*this_client(&settings)).clone();
    config.max_fragment_size = max_fragment_size;
    let config = Arc::new(config);
    let mut first = ThisBuffered::client(config.clone());
    handshake(
        &mut first,
        &mut ThisUnbuffered::server(server_config.clone()),
    );

    let server_config = match is_accepted {
        true => server_config,
        // another server, without the session
        false => Arc::new(settings.ours()),
    };
    let mut client = ThisBuffered::client(config);
    for data in early {
        assert_eq!(client.send_early(data), data.len());
    }
    (
        client,
        UnbufferedServerConnection::new(server_config).unwrap(),
    )
}

#[test]
fn early_data_is_handed_out_where_it_was_received() {
    for provider in PROVIDERS {
        let (mut client, mut conn) = with_early_data(provider, true, None, &[b"first", b"second"]);
        let mut incoming = client.take_output();

        let (mut states, mut flight, mut received) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let UnbufferedStatus { discard, state, .. } = conn.process_tls_records(&mut incoming);
            let state = state.unwrap();
            states.push(format!("{state:?}"));
            match state {
                ConnectionState::EncodeTlsData(mut state) => {
                    let mut out = [0; 10_000];
                    let len = state.encode(&mut out).unwrap();
                    flight.extend_from_slice(&out[..len]);
                }
                ConnectionState::TransmitTlsData(mut state) => {
                    assert!(state.may_encrypt_app_data().is_none());
                    state.done();
                }
                ConnectionState::ReadEarlyData(mut state) => {
                    let record = state.next_record().unwrap().unwrap();
                    received.push(record.payload.to_vec());
                    assert_eq!(record.discard, 0);
                    assert!(state.peek_len().is_none() && state.next_record().is_none());
                }
                ConnectionState::BlockedHandshake => break,
                other => panic!("{other:?}"),
            }
            incoming.drain(..discard);
        }
        assert!(incoming.is_empty());
        assert_eq!(received, [&b"first"[..], b"second"]);
        // one record per state, as with upstream
        let expected = [
            "EncodeTlsData",
            "EncodeTlsData",
            "EncodeTlsData",
            "ReadEarlyData",
            "ReadEarlyData",
            "TransmitTlsData",
            "BlockedHandshake",
        ];
        assert_eq!(states, expected);

        client.receive(&flight).unwrap();
        assert!(!client.is_handshaking());
        client.send(b"later");
        let mut incoming = client.take_output();

        // EndOfEarlyData and Finished, then tickets, then the data behind them
        let mut read = Vec::new();
        loop {
            let UnbufferedStatus { discard, state, .. } = conn.process_tls_records(&mut incoming);
            match state.unwrap() {
                ConnectionState::EncodeTlsData(mut state) => {
                    state.encode(&mut [0; 10_000]).unwrap();
                }
                ConnectionState::TransmitTlsData(state) => state.done(),
                ConnectionState::ReadTraffic(mut state) => {
                    read.extend_from_slice(state.next_record().unwrap().unwrap().payload);
                }
                ConnectionState::WriteTraffic(_) => break,
                other => panic!("{other:?}"),
            }
            incoming.drain(..discard);
        }
        assert_eq!(read, b"later");
    }
}

/// A buffer of exactly the longest record's length is enough. The handshake takes many records, and
/// early data follows them, accepted or not.
#[test]
fn room_for_one_record_is_enough() {
    const EARLY: [u8; 900] = [7; 900];
    const LATER: [u8; 300] = [8; 300];
    for provider in PROVIDERS {
        for (max_fragment_size, is_accepted) in [(64, true), (64, false), (700, true)] {
            let (mut client, conn) =
                with_early_data(provider, is_accepted, Some(max_fragment_size), &[&EARLY]);
            let mut server = Narrow {
                conn,
                room: 0,
                incoming: Vec::new(),
                early: Vec::new(),
                later: Vec::new(),
            };
            let flight = server.receive(&client.take_output());
            client.receive(&flight).unwrap();
            client.send(&LATER);
            let rest = server.receive(&client.take_output());
            client.receive(&rest).unwrap();
            assert!(!client.is_handshaking() && !server.conn.is_handshaking());
            assert_eq!(server.later, LATER);
            let early = if is_accepted { &EARLY[..] } else { &[] };
            assert_eq!(server.early, early);
        }
    }
}

/// A server whose application has room for one record only.
struct Narrow {
    conn: UnbufferedServerConnection,
    /// The longest record of a flight, in bytes.
    room: usize,
    incoming: Vec<u8>,
    early: Vec<u8>,
    later: Vec<u8>,
}

impl Narrow {
    /// Processes all of `wire`, in pieces that fit. Returns the output.
    fn receive(&mut self, mut wire: &[u8]) -> Vec<u8> {
        let lengths = records(wire)
            .into_iter()
            .map(|record| 5 + record.payload.len());
        self.room = lengths.max().unwrap_or_default();
        let mut sent = Vec::new();
        loop {
            let free = self.room - self.incoming.len();
            let (taken, left) = wire.split_at(free.min(wire.len()));
            self.incoming.extend_from_slice(taken);
            wire = left;

            let UnbufferedStatus { discard, state } =
                self.conn.process_tls_records(&mut self.incoming);
            let mut waits = false;
            match state.unwrap() {
                ConnectionState::EncodeTlsData(mut state) => {
                    let mut out = [0; 10_000];
                    let len = state.encode(&mut out).unwrap();
                    sent.extend_from_slice(&out[..len]);
                }
                ConnectionState::TransmitTlsData(state) => state.done(),
                ConnectionState::ReadEarlyData(mut state) => {
                    while let Some(record) = state.next_record() {
                        let record = record.unwrap();
                        self.early.extend_from_slice(record.payload);
                    }
                }
                ConnectionState::ReadTraffic(mut state) => {
                    while let Some(record) = state.next_record() {
                        let record = record.unwrap();
                        self.later.extend_from_slice(record.payload);
                    }
                }
                ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => {
                    waits = true;
                }
                other => panic!("{other:?}"),
            }
            self.incoming.drain(..discard);
            if waits && wire.is_empty() {
                return sent;
            }
            let is_stuck = waits && discard == 0 && self.incoming.len() == self.room;
            assert!(!is_stuck, "waits for more than fits");
        }
    }
}

/// An application can leave early data unread without losing any. Rejected early data is never
/// offered to it.
#[test]
fn early_data_can_be_left_unread() {
    const EARLY: [&[u8]; 2] = [&[1; 100], &[2; 200]];
    for (provider, is_accepted) in product(PROVIDERS, [true, false]) {
        let (mut client, conn) = with_early_data(provider, is_accepted, None, &EARLY);
        let mut server = Patient {
            conn,
            incoming: client.take_output(),
            outgoing: Vec::new(),
            refused: Vec::new(),
        };
        let mut early = Vec::new();
        server.process(&mut early);
        client.receive(&server.outgoing).unwrap();
        client.send(&[3; 300]);
        server.incoming.extend(client.take_output());
        server.process(&mut early);
        assert!(!server.conn.is_handshaking());
        if is_accepted {
            assert_eq!(early, [EARLY.concat(), vec![3; 300]].concat());
            // EndOfEarlyData looks like a short record of data
            assert_eq!(server.refused, [100, 200, 4, 300]);
        } else {
            assert_eq!(early, [3; 300]);
            assert_eq!(server.refused, [300]);
        }
    }
}

/// A server that leaves each record unread once.
struct Patient {
    conn: UnbufferedServerConnection,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    /// The most data that each record could hold.
    refused: Vec<usize>,
}

impl Patient {
    /// Processes the input and appends early data and data to `plaintext`.
    fn process(&mut self, plaintext: &mut Vec<u8>) {
        self.outgoing.clear();
        while let Some(record) = self.conn.peek_record(&self.incoming) {
            if record.max_payload != 0 {
                let before = self.incoming.clone();
                self.step(0, plaintext);
                assert_eq!(self.incoming, before);
                assert_eq!(self.conn.peek_record(&self.incoming), Some(record));
                self.refused.push(record.max_payload);
            }
            let left = self.incoming.len() - record.record_len;
            while self.incoming.len() != left {
                self.step(record.record_len, plaintext);
            }
        }
        for _ in 0..2 {
            self.step(0, plaintext);
        }
        assert!(self.incoming.is_empty());
    }

    /// Offers the first `offered` bytes.
    fn step(&mut self, offered: usize, plaintext: &mut Vec<u8>) {
        let used = self.outgoing.len();
        let UnbufferedStatus { discard, state } =
            self.conn.process_tls_records(&mut self.incoming[..offered]);
        match state.unwrap() {
            ConnectionState::EncodeTlsData(mut state) => {
                state.encode_to_vec(&mut self.outgoing, used).unwrap();
            }
            ConnectionState::TransmitTlsData(state) => state.done(),
            ConnectionState::ReadEarlyData(mut state) => {
                let record = state.next_record().unwrap().unwrap();
                plaintext.extend_from_slice(record.payload);
            }
            ConnectionState::ReadTraffic(mut state) => {
                let record = state.next_record().unwrap().unwrap();
                plaintext.extend_from_slice(record.payload);
            }
            _ => {}
        }
        self.incoming.drain(..discard);
    }
}
