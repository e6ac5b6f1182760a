//! Connections of each API behind one interface.

use std::io::{Read, Write};
use std::task::{Context, Poll, Waker};

use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus, WriteTraffic};
use rustls::{ClientConnection, CommonState, Connection, Error, ServerConnection, quic};

use super::kinds::World;
use crate::peers::configs::server_name;
use crate::peers::pairs::this::unbuffered::Unbuffered;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Api {
    Buffered,
    Unbuffered,
    Quic,
}

pub const APIS: [Api; 3] = [Api::Buffered, Api::Unbuffered, Api::Quic];

pub enum End {
    Buffered(Connection),
    Client(OverSlices<UnbufferedClientConnection>),
    Server(OverSlices<UnbufferedServerConnection>),
    Quic(quic::Connection),
}

impl Api {
    pub fn ends(self, world: &World, is_async: bool) -> [End; 2] {
        let (client, server) = (world.client.clone(), world.server.clone());
        let mut ends = match self {
            Self::Buffered => {
                let client = ClientConnection::new(client, server_name()).unwrap();
                let server = ServerConnection::new(server).unwrap();
                [End::Buffered(client.into()), End::Buffered(server.into())]
            }
            Self::Unbuffered => {
                let client = UnbufferedClientConnection::new(client, server_name()).unwrap();
                let server = UnbufferedServerConnection::new(server).unwrap();
                [
                    End::Client(OverSlices::new(client)),
                    End::Server(OverSlices::new(server)),
                ]
            }
            Self::Quic => {
                let (v1, parameters) = (quic::Version::V1, b"parameters".to_vec());
                let name = server_name();
                let client = quic::ClientConnection::new(client, v1, name, parameters.clone());
                let server = quic::ServerConnection::new(server, v1, parameters);
                [
                    End::Quic(client.unwrap().into()),
                    End::Quic(server.unwrap().into()),
                ]
            }
        };
        for end in &mut ends {
            match end {
                End::Buffered(conn) => conn.set_async(is_async),
                End::Client(end) => end.conn.set_async(is_async),
                End::Server(end) => end.conn.set_async(is_async),
                End::Quic(conn) => conn.set_async(is_async),
            }
        }
        ends
    }
}

impl End {
    pub fn common(&self) -> &CommonState {
        match self {
            Self::Buffered(conn) => conn,
            Self::Client(end) => &end.conn,
            Self::Server(end) => &end.conn,
            Self::Quic(conn) => conn,
        }
    }

    pub fn is_waiting(&self) -> bool {
        self.common().is_waiting()
    }

    pub fn is_handshaking(&self) -> bool {
        self.common().is_handshaking()
    }

    /// Returns the number of tickets that a client received.
    pub fn tickets_received(&self) -> u32 {
        match self {
            Self::Buffered(Connection::Client(conn)) => conn.tls13_tickets_received(),
            Self::Client(end) => end.conn.tls13_tickets_received(),
            Self::Quic(quic::Connection::Client(conn)) => conn.tls13_tickets_received(),
            _ => 0,
        }
    }

    /// Returns everything that an application can see of the handshake.
    pub fn facts(&self) -> String {
        let common = self.common();
        let (alert, parameters) = match self {
            Self::Quic(conn) => (conn.alert(), conn.quic_transport_parameters()),
            _ => (None, None),
        };
        format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {alert:?} {parameters:?}",
            common.protocol_version(),
            common.negotiated_cipher_suite(),
            common.negotiated_key_exchange_group(),
            common.handshake_kind(),
            common.peer_certificates(),
            self.tickets_received(),
        )
    }

    pub fn poll(&mut self, task: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match self {
            Self::Buffered(conn) => conn.poll_operation(task),
            Self::Client(end) => end.poll(task),
            Self::Server(end) => end.poll(task),
            Self::Quic(conn) => conn.poll_operation(task),
        }
    }

    /// Polls without a task to wake.
    pub fn poll_once(&mut self) -> Poll<Result<(), Error>> {
        self.poll(&mut Context::from_waker(Waker::noop()))
    }

    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Self::Buffered(conn) => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    conn.read_tls(&mut rest).unwrap();
                    let state = conn.process_new_packets()?;
                    assert_eq!(state.is_waiting(), conn.is_waiting());
                }
                conn.process_new_packets().map(drop)
            }
            Self::Client(end) => end.receive(bytes),
            Self::Server(end) => end.receive(bytes),
            Self::Quic(conn) => conn.read_hs(bytes),
        }
    }

    /// Takes the bytes to send, in the pieces in which the peer gets them.
    pub fn output(&mut self) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        match self {
            Self::Buffered(conn) => {
                let mut bytes = Vec::new();
                while conn.wants_write() {
                    conn.write_tls(&mut bytes).unwrap();
                }
                pieces.push(bytes);
            }
            Self::Client(end) => pieces.push(std::mem::take(&mut end.outgoing)),
            Self::Server(end) => pieces.push(std::mem::take(&mut end.outgoing)),
            Self::Quic(conn) => loop {
                let mut bytes = Vec::new();
                let change = conn.write_hs(&mut bytes);
                if bytes.is_empty() && change.is_none() {
                    break;
                }
                pieces.push(bytes);
            },
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    pub fn send_early(&mut self, bytes: &[u8]) {
        match self {
            Self::Buffered(Connection::Client(conn)) => {
                let mut early_data = conn.early_data().unwrap();
                assert_eq!(early_data.write(bytes).unwrap(), bytes.len());
            }
            Self::Client(end) => end.early_data = bytes.to_vec(),
            _ => {}
        }
    }

    pub fn early_data(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Buffered(Connection::Server(conn)) => {
                if let Some(mut early_data) = conn.early_data() {
                    early_data.read_to_end(&mut bytes).unwrap();
                }
            }
            Self::Server(end) => bytes = std::mem::take(&mut end.early_data),
            _ => {}
        }
        bytes
    }
}

/// Sends data in both directions over a complete connection.
pub fn talk(client: &mut End, server: &mut End) {
    send(client, server);
    send(server, client);
}

fn send(from: &mut End, to: &mut End) {
    match (from, to) {
        (End::Buffered(from), End::Buffered(to)) => {
            from.writer().write_all(b"data").unwrap();
            let mut bytes = Vec::new();
            from.write_tls(&mut bytes).unwrap();
            to.read_tls(&mut &bytes[..]).unwrap();
            to.process_new_packets().unwrap();
            let mut received = [0; 4];
            to.reader().read_exact(&mut received).unwrap();
            assert_eq!(&received, b"data");
        }
        (End::Client(from), End::Server(to)) => to.check(&from.send(b"data"), b"data"),
        (End::Server(from), End::Client(to)) => to.check(&from.send(b"data"), b"data"),
        _ => {}
    }
}

/// An unbuffered connection plus the buffers that an application would own.
pub struct OverSlices<C> {
    pub conn: C,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    received: Vec<u8>,
    early_data: Vec<u8>,
}

impl<C: Unbuffered> OverSlices<C> {
    fn new(conn: C) -> Self {
        let mut end = Self {
            conn,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            received: Vec::new(),
            early_data: Vec::new(),
        };
        end.drive(|_| ()).unwrap();
        end
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.incoming.extend_from_slice(bytes);
        let driven = self.drive(|_| ());
        if driven.is_err() {
            // collects the alert
            let _ = self.drive(|_| ());
        }
        driven
    }

    fn poll(&mut self, task: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            match self.conn.poll_operation(task) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(result) => {
                    // collects the alert, too
                    let driven = self.drive(|_| ());
                    if driven.is_err() {
                        let _ = self.drive(|_| ());
                    }
                    result?;
                    driven?;
                }
            }
            if !self.conn.is_waiting() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn send(&mut self, plaintext: &[u8]) -> Vec<u8> {
        let mut records = vec![0; plaintext.len() + 100];
        self.drive(|mut traffic| {
            let len = traffic.encrypt(plaintext, &mut records).unwrap();
            records.truncate(len);
        })
        .unwrap();
        records
    }

    fn check(&mut self, records: &[u8], plaintext: &[u8]) {
        self.received.clear();
        self.receive(records).unwrap();
        assert_eq!(self.received, plaintext);
    }

    /// Drives the connection until it needs bytes from its peer, is waiting, or may send.
    fn drive(&mut self, send: impl FnOnce(WriteTraffic<'_, C::Data>)) -> Result<(), Error> {
        loop {
            let UnbufferedStatus {
                mut discard, state, ..
            } = self.conn.process(&mut self.incoming);
            let mut is_done = false;
            let result = match state {
                Ok(ConnectionState::EncodeTlsData(mut state)) => {
                    let Err(EncodeError::InsufficientSize(needed)) = state.encode(&mut []) else {
                        panic!("encoded into an empty buffer");
                    };
                    let start = self.outgoing.len();
                    self.outgoing.resize(start + needed.required_size, 0);
                    state.encode(&mut self.outgoing[start..]).unwrap();
                    Ok(())
                }
                Ok(ConnectionState::TransmitTlsData(mut state)) => {
                    let early_data = std::mem::take(&mut self.early_data);
                    if !C::encrypt_early_data(&mut state, &early_data, &mut self.outgoing) {
                        self.early_data = early_data;
                    }
                    state.done();
                    Ok(())
                }
                Ok(ConnectionState::ReadTraffic(mut state)) => {
                    while let Some(record) = state.next_record() {
                        let record = record?;
                        self.received.extend_from_slice(record.payload);
                        discard += record.discard;
                    }
                    Ok(())
                }
                Ok(ConnectionState::ReadEarlyData(state)) => {
                    discard += C::read_early_data(state, &mut self.early_data)?;
                    Ok(())
                }
                Ok(ConnectionState::WriteTraffic(traffic)) => {
                    self.incoming.drain(..discard);
                    send(traffic);
                    return Ok(());
                }
                // blocked, waiting or closed
                Ok(_) => {
                    is_done = true;
                    Ok(())
                }
                Err(error) => Err(error),
            };
            self.incoming.drain(..discard);
            result?;
            if is_done {
                return Ok(());
            }
        }
    }
}
