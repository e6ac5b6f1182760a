//! Tests of early data in the unbuffered API.

use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Provider, product};
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, handshake};
use harness::wire::records;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use super::{settings, this_client};

/// Creates a client that has written these pieces of early data, and a server that accepts or
/// rejects them.
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

/// A server with the buffers of its application.
struct Server {
    conn: UnbufferedServerConnection,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    /// The records of early data, and the data after them.
    early: Vec<Vec<u8>>,
    later: Vec<u8>,
    /// True if data could be encrypted when output was last transmitted.
    may_encrypt: bool,
}

impl Server {
    fn new(conn: UnbufferedServerConnection) -> Self {
        Self {
            conn,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            early: Vec::new(),
            later: Vec::new(),
            may_encrypt: false,
        }
    }

    /// Passes the first `offered` bytes to the connection, and acts according to its state. Returns
    /// the state's name.
    fn step(&mut self, offered: usize) -> String {
        let used = self.outgoing.len();
        let UnbufferedStatus { discard, state } =
            self.conn.process_tls_records(&mut self.incoming[..offered]);
        let state = state.unwrap();
        let name = format!("{state:?}");
        match state {
            ConnectionState::EncodeTlsData(mut state) => {
                state.encode_to_vec(&mut self.outgoing, used).unwrap();
            }
            ConnectionState::TransmitTlsData(mut state) => {
                self.may_encrypt = state.may_encrypt_app_data().is_some();
                state.done();
            }
            ConnectionState::ReadEarlyData(mut state) => {
                let record = state.next_record().unwrap().unwrap();
                self.early.push(record.payload.to_vec());
                // one record per state, as with upstream
                assert_eq!(record.discard, 0);
                assert!(state.peek_len().is_none() && state.next_record().is_none());
            }
            ConnectionState::ReadTraffic(mut state) => {
                while let Some(record) = state.next_record() {
                    self.later.extend_from_slice(record.unwrap().payload);
                }
            }
            ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => {}
            other => panic!("{other:?}"),
        }
        self.incoming.drain(..discard);
        name
    }

    /// Passes all input to the connection, until a state has this name. Returns the names of all
    /// states.
    fn run(&mut self, last: &str) -> Vec<String> {
        let mut names = Vec::new();
        while names.last().is_none_or(|name| name != last) {
            names.push(self.step(self.incoming.len()));
        }
        names
    }
}

#[test]
fn early_data_is_decrypted_where_it_was_received() {
    for provider in PROVIDERS {
        let (mut client, conn) = with_early_data(provider, true, None, &[b"first", b"second"]);
        let mut server = Server::new(conn);
        server.incoming = client.take_output();
        let states = server.run("BlockedHandshake");
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
        assert!(!server.may_encrypt);
        assert!(server.incoming.is_empty());
        assert_eq!(server.early, [&b"first"[..], b"second"]);

        client.receive(&server.outgoing).unwrap();
        assert!(!client.is_handshaking());
        client.send(b"later");
        // EndOfEarlyData and Finished, then tickets, then the data after them
        server.incoming = client.take_output();
        server.run("WriteTraffic");
        assert_eq!(server.later, b"later");
    }
}

/// A buffer of exactly the longest record's length is enough, for a handshake of many records and
/// for early data, accepted or not.
#[test]
fn a_buffer_for_one_record_is_enough() {
    const EARLY: [u8; 900] = [7; 900];
    const LATER: [u8; 300] = [8; 300];
    for provider in PROVIDERS {
        for (max_fragment_size, is_accepted) in [(64, true), (64, false), (700, true)] {
            let (mut client, conn) =
                with_early_data(provider, is_accepted, Some(max_fragment_size), &[&EARLY]);
            let mut server = Server::new(conn);
            for later in [&LATER[..], &[]] {
                server.receive_narrowly(&client.take_output());
                client.receive(&server.outgoing).unwrap();
                client.send(later);
            }
            assert!(!client.is_handshaking() && !server.conn.is_handshaking());
            assert_eq!(server.later, LATER);
            let early = if is_accepted { &EARLY[..] } else { &[] };
            assert_eq!(server.early.concat(), early);
        }
    }
}

impl Server {
    /// Processes all of `wire` with room for its longest record only.
    fn receive_narrowly(&mut self, mut wire: &[u8]) {
        let lengths = records(wire)
            .into_iter()
            .map(|record| 5 + record.payload.len());
        let room = lengths.max().unwrap_or_default();
        self.outgoing.clear();
        loop {
            let free = room - self.incoming.len();
            let (taken, left) = wire.split_at(free.min(wire.len()));
            self.incoming.extend_from_slice(taken);
            wire = left;
            let filled = self.incoming.len();
            let state = self.step(filled);
            if ["BlockedHandshake", "WriteTraffic"].contains(&&*state) {
                if wire.is_empty() {
                    return;
                }
                assert!(self.incoming.len() < room, "waits for more than fits");
            }
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
        let mut server = Server::new(conn);
        server.incoming = client.take_output();
        let mut refused = server.process_reluctantly();
        client.receive(&server.outgoing).unwrap();
        client.send(&[3; 300]);
        server.incoming.extend(client.take_output());
        refused.extend(server.process_reluctantly());
        assert!(!server.conn.is_handshaking());
        assert_eq!(server.later, [3; 300]);
        if is_accepted {
            assert_eq!(server.early, EARLY);
            // EndOfEarlyData looks like a short record of data
            assert_eq!(refused, [100, 200, 4, 300]);
        } else {
            assert_eq!(server.early, [[]; 0]);
            assert_eq!(refused, [300]);
        }
    }
}

impl Server {
    /// Processes the input, but leaves each record unread once. Returns the most data that each
    /// record could hold.
    fn process_reluctantly(&mut self) -> Vec<usize> {
        let mut refused = Vec::new();
        self.outgoing.clear();
        while let Some(record) = self.conn.peek_record(&self.incoming) {
            if record.max_payload != 0 {
                let before = self.incoming.clone();
                self.step(0);
                assert_eq!(self.incoming, before);
                assert_eq!(self.conn.peek_record(&self.incoming), Some(record));
                refused.push(record.max_payload);
            }
            let left = self.incoming.len() - record.record_len;
            while self.incoming.len() != left {
                self.step(record.record_len);
            }
        }
        for _ in 0..2 {
            self.step(0);
        }
        assert!(self.incoming.is_empty());
        refused
    }
}
