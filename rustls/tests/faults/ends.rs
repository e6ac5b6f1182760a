//! Connections of this crate in each API, any call of which may fail or panic.

use std::io::{ErrorKind, Read, Write};
use std::mem;

use harness::either;
use harness::peers::configs::server_name;
use harness::peers::endpoints::{Transfer, Unbuffered};
use harness::peers::memory::Memory;
use harness::peers::roles::this::Config;
use harness::quic::{self, Crypto, QuicEndpoint, Version};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{CommonState, Connection, Stream};

use crate::splitting::Halves;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Api {
    Buffered,
    /// Buffered during the handshake, then split into two halves.
    Split,
    Unbuffered,
    Quic,
}

/// One end of a connection.
pub(crate) trait End {
    /// Takes all pending output.
    fn output(&mut self) -> Vec<u8>;

    fn receive(&mut self, bytes: &[u8]) -> Result<(), String>;

    fn send(&mut self, plaintext: &[u8]) -> Result<(), String>;

    fn send_early(&mut self, plaintext: &[u8]) -> Result<(), String>;

    fn refresh(&mut self) -> Result<(), String>;

    fn close(&mut self);

    /// Takes the plaintext received since the last call.
    fn received(&mut self) -> Vec<u8>;

    /// Splits a buffered connection after its handshake.
    fn into_halves(self: Box<Self>) -> Box<dyn End> {
        unreachable!("only buffered connections are split")
    }

    /// Returns the state of a connection that is not split.
    fn common(&self) -> Option<&CommonState>;

    fn is_handshaking(&self) -> bool {
        self.common().is_some_and(CommonState::is_handshaking)
    }

    /// True if it reports the peer's identity.
    fn knows_peer(&self) -> bool {
        let certificates = self.common().and_then(CommonState::peer_certificates);
        certificates.is_some()
    }

    /// Asserts that the connection has failed: nothing can be sent, and every call returns the same
    /// error. Returns that error. Take the output before this call.
    fn check_over(&mut self) -> String;
}

pub(crate) fn end(config: Config, api: Api) -> Result<Box<dyn End>, String> {
    let buffered = || Ok::<_, String>(Buffered::new(config.try_connection().map_err(to_text)?));
    Ok(match (api, &config) {
        (Api::Buffered | Api::Split, _) => Box::new(buffered()?),
        (Api::Unbuffered, Config::Client(config)) => {
            let conn = UnbufferedClientConnection::new(config.clone(), server_name());
            Box::new(OwnBuffers::new(conn.map_err(to_text)?))
        }
        (Api::Unbuffered, Config::Server(config)) => {
            let conn = UnbufferedServerConnection::new(config.clone());
            Box::new(OwnBuffers::new(conn.map_err(to_text)?))
        }
        (Api::Quic, Config::Client(config)) => {
            Box::new(Crypted(quic::this::client(config, Version::V1, b"client")?))
        }
        (Api::Quic, Config::Server(config)) => {
            Box::new(Crypted(quic::this::server(config, Version::V1, b"server")?))
        }
    })
}

pub(crate) fn to_text(error: impl ToString) -> String {
    error.to_string()
}

struct Buffered {
    conn: Connection,
    received: Vec<u8>,
    peer_has_closed: bool,
}

impl Buffered {
    fn new(conn: Connection) -> Self {
        Self {
            conn,
            received: Vec::new(),
            peer_has_closed: false,
        }
    }

    fn process(&mut self) -> Result<(), String> {
        let state = self.conn.process_new_packets().map_err(to_text)?;
        self.peer_has_closed |= state.peer_has_closed();
        if let Connection::Server(conn) = &mut self.conn
            && let Some(mut early_data) = conn.early_data()
        {
            early_data.read_to_end(&mut self.received).unwrap();
        }
        match self.conn.reader().read_to_end(&mut self.received) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(to_text(error)),
            _ => Ok(()),
        }
    }
}

impl End for Buffered {
    fn output(&mut self) -> Vec<u8> {
        self.conn.output()
    }

    fn receive(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() && self.conn.read_tls(&mut bytes).unwrap() != 0 {
            self.process()?;
        }
        Ok(())
    }

    fn send(&mut self, plaintext: &[u8]) -> Result<(), String> {
        self.conn.writer().write_all(plaintext).map_err(to_text)
    }

    fn send_early(&mut self, plaintext: &[u8]) -> Result<(), String> {
        match &mut self.conn {
            Connection::Client(conn) => match conn.early_data() {
                Some(mut early_data) => early_data.write_all(plaintext).map_err(to_text),
                None => Err("no early data".into()),
            },
            Connection::Server(_) => unreachable!("servers send none"),
        }
    }

    fn refresh(&mut self) -> Result<(), String> {
        self.conn.refresh_traffic_keys().map_err(to_text)
    }

    fn close(&mut self) {
        self.conn.send_close_notify();
    }

    fn received(&mut self) -> Vec<u8> {
        mem::take(&mut self.received)
    }

    fn into_halves(self: Box<Self>) -> Box<dyn End> {
        let Self { conn, received, .. } = *self;
        either!(rustls: conn, conn => {
            let (sender, receiver) = conn.into_split().unwrap();
            Box::new(Halves { sender, receiver, received })
        })
    }

    fn common(&self) -> Option<&CommonState> {
        Some(&self.conn)
    }

    fn check_over(&mut self) -> String {
        const ALERT: &[u8] = b"\x15\x03\x03\x00\x02\x02\x28";
        let conn = &mut self.conn;
        let error = conn.process_new_packets().unwrap_err();
        conn.read_tls(&mut &ALERT[..]).unwrap();
        assert_eq!(conn.process_new_packets(), Err(error.clone()));

        let late = |kind: ErrorKind| assert_eq!(kind, ErrorKind::InvalidData);
        late(conn.writer().write(b"late").unwrap_err().kind());
        late(conn.writer().flush().unwrap_err().kind());
        if let Connection::Client(conn) = conn {
            assert!(conn.early_data().is_none());
        }
        assert_eq!(conn.refresh_traffic_keys(), Err(error.clone()));
        let exported = conn.export_keying_material([0; 8], b"label", None);
        assert_eq!(exported, Err(error.clone()));
        conn.send_close_notify();
        assert!(!conn.wants_write());
        let mut nothing = Memory::ending(&[]);
        let read = either!(rustls: conn, conn => Stream::new(conn, &mut nothing).read(&mut [0]));
        match read {
            // the peer had already closed
            Ok(0) if self.peer_has_closed => {}
            read => late(read.unwrap_err().kind()),
        }
        assert!(!conn.wants_write() && nothing.outgoing.is_empty());
        error.to_string()
    }
}

/// An unbuffered connection with its caller's buffers.
struct OwnBuffers<C> {
    conn: C,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    received: Vec<u8>,
    early: Vec<u8>,
    peer_has_closed: bool,
}

impl<C: Unbuffered> OwnBuffers<C> {
    fn new(conn: C) -> Self {
        Self {
            conn,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            received: Vec::new(),
            early: Vec::new(),
            peer_has_closed: false,
        }
    }

    fn drive(&mut self) -> Result<(), String> {
        loop {
            let UnbufferedStatus {
                mut discard, state, ..
            } = self.conn.process(&mut self.incoming);
            let mut is_blocked = false;
            match state.map_err(to_text) {
                Ok(ConnectionState::EncodeTlsData(mut state)) => {
                    let used = self.outgoing.len();
                    state.encode_to_vec(&mut self.outgoing, used).unwrap();
                }
                Ok(ConnectionState::TransmitTlsData(mut state)) => {
                    let early = mem::take(&mut self.early);
                    if !early.is_empty() {
                        C::encrypt_early_data(&mut state, &early, &mut self.outgoing);
                    }
                    state.done();
                }
                Ok(ConnectionState::ReadTraffic(mut state)) => {
                    while let Some(record) = state.next_record() {
                        let record = record.map_err(to_text)?;
                        self.received.extend_from_slice(record.payload);
                        discard += record.discard;
                    }
                }
                Ok(ConnectionState::ReadEarlyData(state)) => {
                    discard += C::read_early_data(state, &mut self.received).map_err(to_text)?;
                }
                Ok(
                    ConnectionState::WriteTraffic(_)
                    | ConnectionState::BlockedHandshake
                    | ConnectionState::Closed,
                ) => is_blocked = true,
                Ok(ConnectionState::PeerClosed) => self.peer_has_closed = true,
                Ok(other) => panic!("{other:?}"),
                Err(error) => return Err(error),
            }
            self.incoming.drain(..discard);
            if is_blocked {
                return Ok(());
            }
        }
    }
}

impl<C: Unbuffered> End for OwnBuffers<C> {
    fn output(&mut self) -> Vec<u8> {
        // `receive` reports the error, if any
        let _ = self.drive();
        mem::take(&mut self.outgoing)
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.incoming.extend_from_slice(bytes);
        self.drive()
    }

    fn send(&mut self, plaintext: &[u8]) -> Result<(), String> {
        let used = self.outgoing.len();
        let mut traffic = self.conn.write_traffic().ok_or("nothing can be sent")?;
        traffic
            .encrypt_to_vec(plaintext, &mut self.outgoing, used)
            .map(|_| ())
            .map_err(to_text)
    }

    fn send_early(&mut self, plaintext: &[u8]) -> Result<(), String> {
        self.early = plaintext.to_vec();
        Ok(())
    }

    fn refresh(&mut self) -> Result<(), String> {
        let traffic = self.conn.write_traffic().ok_or("nothing can be sent")?;
        traffic.refresh_traffic_keys().map_err(to_text)
    }

    fn close(&mut self) {
        let used = self.outgoing.len();
        if let Some(mut traffic) = self.conn.write_traffic() {
            // other calls return the connection's error
            let _ = traffic.queue_close_notify_to_vec(&mut self.outgoing, used);
        }
    }

    fn received(&mut self) -> Vec<u8> {
        mem::take(&mut self.received)
    }

    fn common(&self) -> Option<&CommonState> {
        Some(&self.conn)
    }

    fn check_over(&mut self) -> String {
        let exported = self.conn.export_keying_material([0; 8], b"label", None);
        let error = exported.unwrap_err();
        for incoming in [&mut [][..], &mut [21, 3, 3, 0, 2, 2, 40]] {
            let offered = incoming.len();
            let UnbufferedStatus { discard, state, .. } = self.conn.process(incoming);
            match state {
                // the peer had already closed
                Ok(ConnectionState::Closed) if self.peer_has_closed => {}
                state => {
                    assert_eq!(discard, offered);
                    assert_eq!(state.unwrap_err(), error);
                }
            }
        }
        assert!(self.conn.write_traffic().is_none());
        error.to_string()
    }
}

/// A QUIC connection. Its output is CRYPTO data, each piece prefixed by its length.
struct Crypted(quic::this::End);

impl End for Crypted {
    fn output(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        for Crypto { bytes, .. } in self.0.take_crypto() {
            out.extend((bytes.len() as u32).to_be_bytes());
            out.extend(bytes);
        }
        out
    }

    fn receive(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while let Some((len, rest)) = bytes.split_first_chunk() {
            let (crypto, rest) = rest.split_at(u32::from_be_bytes(*len) as usize);
            self.0.conn.read_hs(crypto).map_err(to_text)?;
            bytes = rest;
        }
        Ok(())
    }

    // packets are not the connection's concern

    fn send(&mut self, _: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn send_early(&mut self, _: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn refresh(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn close(&mut self) {}

    fn received(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn common(&self) -> Option<&CommonState> {
        Some(&self.0.conn)
    }

    fn check_over(&mut self) -> String {
        let conn = &mut self.0.conn;
        let error = conn.read_hs(&[]).unwrap_err();
        assert_eq!(conn.read_hs(&[0; 4]), Err(error.clone()));
        let mut out = Vec::new();
        assert!(conn.write_hs(&mut out).is_none());
        assert!(out.is_empty());
        assert!(conn.alert().is_some());
        assert!(conn.zero_rtt_keys().is_none());
        let exported = conn.export_keying_material([0; 8], b"label", None);
        assert_eq!(exported, Err(error.clone()));
        error.to_string()
    }
}
