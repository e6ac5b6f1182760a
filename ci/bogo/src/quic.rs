//! A connection over the runner's stand-in for QUIC, with its socket.
//!
//! Each record contains its encryption level, and in the clear, the secret with which it would be
//! encrypted:
//!
//! ```text
//!   ContentType | level | cipher suite | length of the rest | secret | plaintext
//!        1      |   1   |      2       |         4          |
//! ```
//!
//! The runner has only these levels, in this order on one stream: nothing is lost or reordered.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Arc, Mutex};
use std::{cmp, mem};

use rustls::CommonState;
use rustls::quic::{Connection, KeyChange};

use crate::carrier::{Carrier, Received};
use crate::failure::Failure;
use crate::observed::Observed;
use crate::provider::code_point;
use crate::socket::Socket;

/// Types of records (RFC 9846 §5.1). An alert record represents a CONNECTION_CLOSE frame; the
/// runner sends none.
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// The maximum plaintext of a record, as accepted by the runner.
const MAX_PLAINTEXT: usize = 16384;

/// The position of the random in a ClientHello: after type and length of the message, and
/// legacy_version.
const RANDOM: std::ops::Range<usize> = 6..38;

/// Encryption levels (RFC 9001 §2.1), with their numbers in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Initial = 0,
    EarlyData = 1,
    Handshake = 2,
    Application = 3,
}

/// A connection over QUIC's stand-in.
pub(crate) struct Quic {
    connection: Connection,
    socket: Socket,
    observed: Arc<Mutex<Observed>>,
    /// The level of received handshake messages.
    reading: Level,
    /// The level for sending.
    writing: Level,
    /// Early data that was not taken yet.
    early_data: Vec<u8>,
    /// Application data that was not read yet.
    received: Vec<u8>,
    /// The random of the ClientHello on the wire: the outer one with ECH.
    random_sent: Option<Vec<u8>>,
    /// The error of the sending direction. Data that the peer sent before it closed are read first.
    broken: Option<io::Error>,
}

struct Record {
    content_type: u8,
    level: Level,
    suite: u16,
    /// The secret, followed by the plaintext.
    rest: Vec<u8>,
}

impl Quic {
    /// The connection logs its secrets to `observed`.
    pub(crate) fn new(
        connection: Connection,
        socket: Socket,
        observed: Arc<Mutex<Observed>>,
    ) -> Self {
        Self {
            connection,
            socket,
            observed,
            reading: Level::Initial,
            writing: Level::Initial,
            early_data: vec![],
            received: vec![],
            random_sent: None,
            broken: None,
        }
    }

    /// Receives the next record. Returns false at the end of the socket.
    fn receive(&mut self) -> Result<bool, Failure> {
        let Some(record) = Record::read(&mut self.socket)? else {
            return Ok(false);
        };
        if record.level == Level::EarlyData {
            self.take_early_data(record)?;
            return Ok(true);
        }
        if record.level != self.reading {
            return Err(Failure::EncryptionLevel);
        }
        let content_type = record.content_type;
        let plaintext = self.open(record)?;
        match (content_type, self.reading) {
            (HANDSHAKE, _) => self.take_handshake(&plaintext)?,
            (APPLICATION_DATA, Level::Application) => self.received.extend(plaintext),
            _ => return Err(Failure::EncryptionLevel),
        }
        Ok(true)
    }

    fn take_handshake(&mut self, message: &[u8]) -> Result<(), Failure> {
        let outcome = self.connection.read_hs(message);
        self.flush()?;
        let Err(error) = outcome else {
            return Ok(());
        };
        if let Some(alert) = self.connection.alert() {
            const FATAL: u8 = 2;
            self.send(ALERT, self.writing, &[FATAL, alert.into()])?;
        }
        Err(error.into())
    }

    /// Receives a record of a 0-RTT packet. A server that rejected early data cannot open it, and
    /// drops it.
    fn take_early_data(&mut self, record: Record) -> Result<(), Failure> {
        if self.connection.zero_rtt_keys().is_none() {
            return Ok(());
        }
        // RFC 9001 §4.1.3: 0-RTT packets have no CRYPTO frames
        if record.content_type != APPLICATION_DATA {
            return Err(Failure::EncryptionLevel);
        }
        let plaintext = self.open(record)?;
        self.early_data.extend(plaintext);
        Ok(())
    }

    /// Opens a record: checks that it starts with the right secret, and removes it.
    fn open(&self, record: Record) -> Result<Vec<u8>, Failure> {
        let (suite, secret) = self.protection(record.level, self.is_client())?;
        match record.rest.strip_prefix(secret.as_slice()) {
            Some(plaintext) if record.suite == suite => Ok(plaintext.into()),
            _ => Err(Failure::PacketProtection),
        }
    }

    /// Sends `plaintext` in records of up to 16384 bytes.
    fn send(&mut self, content_type: u8, level: Level, plaintext: &[u8]) -> Result<(), Failure> {
        let (suite, secret) = self.protection(level, !self.is_client())?;
        for fragment in plaintext.chunks(MAX_PLAINTEXT) {
            let record = Record {
                content_type,
                level,
                suite,
                rest: [secret.as_slice(), fragment].concat(),
            };
            if self.broken.is_none()
                && let Err(error) = record.write(&mut self.socket)
            {
                self.broken = Some(error);
            }
        }
        Ok(())
    }

    /// Returns suite and secret of a level, for the direction in which the server writes or for the
    /// other one.
    fn protection(&self, level: Level, from_server: bool) -> Result<(u16, Vec<u8>), Failure> {
        let label = match (level, from_server) {
            (Level::Initial, _) => return Ok((0, vec![])),
            (Level::EarlyData, _) => "CLIENT_EARLY_TRAFFIC_SECRET",
            (Level::Handshake, false) => "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            (Level::Handshake, true) => "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            (Level::Application, false) => "CLIENT_TRAFFIC_SECRET_0",
            (Level::Application, true) => "SERVER_TRAFFIC_SECRET_0",
        };
        let observed = self.observed.lock().unwrap();
        let negotiated = || {
            let suite = self.connection.negotiated_cipher_suite();
            suite.map(|suite| code_point(suite.suite()))
        };
        // a client sends early data before anything is negotiated
        let suite = match level {
            Level::EarlyData if self.is_client() => observed.suite_of_offered_session,
            _ => negotiated(),
        };
        let (Some(suite), Some(secret)) = (suite, observed.secrets.get(label)) else {
            return Err(Failure::PacketProtection);
        };
        Ok((suite, secret.clone()))
    }

    fn is_client(&self) -> bool {
        matches!(self.connection, Connection::Client(_))
    }

    /// Returns the failure for an unexpected end of the socket.
    fn end(&mut self) -> Failure {
        let error = self.broken.take();
        Failure::Io(error.unwrap_or_else(|| ErrorKind::UnexpectedEof.into()))
    }

    fn await_data(&mut self) -> Result<(), Failure> {
        while self.received.is_empty() && self.receive()? {}
        Ok(())
    }
}

impl Carrier for Quic {
    fn facts(&self) -> &CommonState {
        &self.connection
    }

    fn is_client(&self) -> bool {
        Self::is_client(self)
    }

    fn server_name(&self) -> Option<&str> {
        match &self.connection {
            Connection::Client(_) => None,
            Connection::Server(server) => server.server_name(),
        }
    }

    fn is_early_data_accepted(&self) -> bool {
        match &self.connection {
            Connection::Client(client) => client.is_early_data_accepted(),
            Connection::Server(_) => false,
        }
    }

    /// Secrets are logged for the ClientHello that the server used.
    fn is_ech_accepted(&self) -> bool {
        let observed = self.observed.lock().unwrap();
        self.is_client() && self.random_sent != observed.client_random
    }

    fn transport_parameters(&self) -> Option<&[u8]> {
        self.connection.quic_transport_parameters()
    }

    fn offers_early_data(&mut self) -> bool {
        self.is_client() && self.connection.zero_rtt_keys().is_some()
    }

    fn send_early_data(&mut self, data: &[u8]) -> Result<usize, Failure> {
        // send the ClientHello first
        self.flush()?;
        self.send(APPLICATION_DATA, Level::EarlyData, data)?;
        Ok(data.len())
    }

    fn handshake(&mut self) -> Result<Vec<u8>, Failure> {
        loop {
            self.flush()?;
            if !self.early_data.is_empty() || !self.connection.is_handshaking() {
                return Ok(mem::take(&mut self.early_data));
            }
            if !self.receive()? {
                return Err(self.end());
            }
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        loop {
            let mut message = Vec::new();
            let change = self.connection.write_hs(&mut message);
            if self.is_client() && self.random_sent.is_none() {
                self.random_sent = message.get(RANDOM).map(Into::into);
            }
            self.send(HANDSHAKE, self.writing, &message)?;
            match change {
                Some(KeyChange::Handshake { .. }) => {
                    self.reading = Level::Handshake;
                    self.writing = Level::Handshake;
                }
                Some(KeyChange::OneRtt { .. }) => self.writing = Level::Application,
                None if message.is_empty() => break,
                None => {}
            }
        }
        // RFC 9001 §5.7: a server must not process 1-RTT packets before the client's Finished
        if self.writing == Level::Application && !self.connection.is_handshaking() {
            self.reading = Level::Application;
        }
        Ok(())
    }

    fn export_keying_material(
        &self,
        length: usize,
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<Vec<u8>, Failure> {
        let output = vec![0; length];
        Ok(self
            .connection
            .export_keying_material(output, label, context)?)
    }

    fn refresh_traffic_keys(&mut self) -> Result<(), Failure> {
        Err(Failure::Unsupported("KeyUpdate over QUIC".into()))
    }

    fn read(&mut self, buf: &mut [u8]) -> Result<Received, Failure> {
        self.await_data()?;
        let length = cmp::min(buf.len(), self.received.len());
        if length == 0 {
            return Ok(Received::End);
        }
        buf[..length].copy_from_slice(&self.received[..length]);
        self.received.drain(..length);
        Ok(Received::Bytes(length))
    }

    fn peek(&mut self) -> Result<Vec<u8>, Failure> {
        self.await_data()?;
        Ok(self.received.clone())
    }

    fn write(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.send(APPLICATION_DATA, self.writing, data)
    }

    fn write_unfinished(&mut self, _data: &[u8]) -> Result<(), Failure> {
        Err(Failure::Unsupported("held back data over QUIC".into()))
    }

    /// Closing the socket represents closing the connection.
    fn close(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn finish(self: Box<Self>) {
        self.socket.finish();
    }
}

impl Record {
    /// Reads a record. Returns `None` at the end of the socket.
    fn read(socket: &mut Socket) -> Result<Option<Self>, Failure> {
        let mut header = [0; 8];
        if !read_all(socket, &mut header)? {
            return Ok(None);
        }
        let [content_type, level, s0, s1, length @ ..] = header;
        let mut rest = vec![0; u32::from_be_bytes(length) as usize];
        if !read_all(socket, &mut rest)? {
            return Err(Failure::Io(ErrorKind::UnexpectedEof.into()));
        }
        Ok(Some(Self {
            content_type,
            level: Level::numbered(level).ok_or(Failure::EncryptionLevel)?,
            suite: u16::from_be_bytes([s0, s1]),
            rest,
        }))
    }

    fn write(&self, socket: &mut Socket) -> io::Result<()> {
        let mut bytes = vec![self.content_type, self.level as u8];
        bytes.extend(self.suite.to_be_bytes());
        bytes.extend((self.rest.len() as u32).to_be_bytes());
        bytes.extend(&self.rest);
        let mut left = bytes.as_slice();
        while !left.is_empty() {
            match socket.write(left) {
                Ok(written) => left = &left[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Level {
    fn numbered(number: u8) -> Option<Self> {
        [
            Self::Initial,
            Self::EarlyData,
            Self::Handshake,
            Self::Application,
        ]
        .into_iter()
        .find(|level| *level as u8 == number)
    }
}

/// Fills `buf`. Returns false at the end of the socket, which is an error after the first byte.
fn read_all(socket: &mut Socket, buf: &mut [u8]) -> Result<bool, Failure> {
    let mut filled = 0;
    while filled < buf.len() {
        match socket.read(&mut buf[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err(Failure::Io(ErrorKind::UnexpectedEof.into())),
            Ok(length) => filled += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}
