//! Buffered connections, for one crate.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

use pki_types::ServerName;

use super::tls;
use crate::peers::configs::server_name;
use crate::peers::endpoints::{End, Endpoint, Transfer};

pub struct BufferedEndpoint {
    pub conn: tls::Connection,
    /// Plaintext that was already read to make room for more.
    read: Vec<u8>,
    failed: bool,
    peer_has_closed: bool,
    /// True if records are opened into the application's memory.
    opens_into: bool,
}

impl BufferedEndpoint {
    pub fn new(conn: impl Into<tls::Connection>) -> Self {
        let mut conn = conn.into();
        super::prepare_connection(&mut conn);
        Self {
            conn,
            read: Vec::new(),
            failed: false,
            peer_has_closed: false,
            opens_into: false,
        }
    }

    /// Lets this crate's connection open records into the application's memory.
    pub fn opening_into(mut self) -> Self {
        self.opens_into = true;
        self
    }

    /// Creates a client for the server in [`configs`](crate::peers::configs).
    pub fn client(config: impl Into<Arc<tls::ClientConfig>>) -> Self {
        Self::client_of(server_name(), config)
    }

    pub fn client_of(
        server: ServerName<'static>,
        config: impl Into<Arc<tls::ClientConfig>>,
    ) -> Self {
        Self::new(tls::ClientConnection::new(config.into(), server).unwrap())
    }

    pub fn as_client(&mut self) -> &mut tls::ClientConnection {
        match &mut self.conn {
            tls::Connection::Client(conn) => conn,
            tls::Connection::Server(_) => panic!("a server"),
        }
    }

    pub fn as_server(&mut self) -> &mut tls::ServerConnection {
        match &mut self.conn {
            tls::Connection::Server(conn) => conn,
            tls::Connection::Client(_) => panic!("a client"),
        }
    }

    /// Returns the values of all accessors that depend on the handshake, as both crates print them.
    pub fn accessors(&mut self) -> String {
        let negotiated = self.negotiated();
        let certificates = self.peer_certificates().len();
        let conn = &mut self.conn;
        let exported = conn.export_keying_material([0; 32], b"label", None);
        let wants = (conn.wants_read(), conn.wants_write());
        let of_side = match conn {
            tls::Connection::Client(conn) => format!(
                "{:?} {} {} {}",
                conn.ech_status(),
                conn.is_early_data_accepted(),
                conn.early_data().is_some(),
                conn.tls13_tickets_received(),
            ),
            tls::Connection::Server(conn) => {
                let early_data = conn.early_data().is_some();
                let resumption_data = conn.received_resumption_data();
                format!("{:?} {resumption_data:?} {early_data}", conn.server_name())
            }
        };
        let exported = exported.map(drop);
        format!("{negotiated}, {certificates} certificates, {exported:?}, {wants:?}, {of_side}")
    }

    pub fn server(config: impl Into<Arc<tls::ServerConfig>>) -> Self {
        Self::new(tls::ServerConnection::new(config.into()).unwrap())
    }

    fn process_new_packets(&mut self) -> Result<tls::IoState, tls::Error> {
        if self.opens_into {
            super::process_into(&mut self.conn, &mut self.read)
        } else {
            self.conn.process_new_packets()
        }
    }
}

impl Endpoint for BufferedEndpoint {
    fn take_output(&mut self) -> Vec<u8> {
        self.conn.output()
    }

    fn receive(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        let mut is_stuck = false;
        while !bytes.is_empty() && !self.peer_has_closed {
            match self.conn.read_tls(&mut bytes) {
                Ok(_) => is_stuck = false,
                Err(error) if is_stuck => return Err(format!("cannot read on: {error}")),
                Err(_) => {
                    // the buffer is full of plaintext
                    is_stuck = true;
                    let mut read = std::mem::take(&mut self.read);
                    self.read_into(&mut read);
                    self.read = read;
                }
            }
            self.process()?;
        }
        Ok(())
    }

    fn send(&mut self, plaintext: &[u8]) -> usize {
        self.conn.writer().write(plaintext).unwrap()
    }

    fn process(&mut self) -> Result<(), String> {
        let mut state = self.process_new_packets();
        if state.is_ok() {
            match super::finish_operation(&mut self.conn) {
                Ok(false) => {}
                Ok(true) => state = self.process_new_packets(),
                Err(error) => state = Err(error),
            }
        }
        let state = state.map_err(|error| {
            self.failed = true;
            format!("{error:?}")
        })?;
        self.peer_has_closed |= state.peer_has_closed();
        Ok(())
    }

    fn read_into(&mut self, plaintext: &mut Vec<u8>) {
        plaintext.append(&mut self.read);
        if !self.failed && !self.peer_has_closed {
            let state = self.conn.process_new_packets().unwrap();
            let start = plaintext.len();
            plaintext.resize(start + state.plaintext_bytes_to_read(), 0);
            let read = self.conn.reader().read_exact(&mut plaintext[start..]);
            return read.unwrap();
        }
        // plaintext before the end of the stream is still readable
        if let Err(error) = self.conn.reader().read_to_end(plaintext) {
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
        }
    }

    fn send_early(&mut self, plaintext: &[u8]) -> usize {
        match &mut self.conn {
            tls::Connection::Client(conn) => conn
                .early_data()
                .map_or(0, |mut early| early.write(plaintext).unwrap()),
            tls::Connection::Server(_) => 0,
        }
    }

    fn read_early_into(&mut self, plaintext: &mut Vec<u8>) {
        if let tls::Connection::Server(conn) = &mut self.conn
            && let Some(mut early_data) = conn.early_data()
        {
            early_data.read_to_end(plaintext).unwrap();
        }
    }

    fn close(&mut self) {
        self.conn.send_close_notify();
    }

    fn peer_has_closed(&self) -> bool {
        self.peer_has_closed
    }

    fn receive_end(&mut self) -> End {
        let read = self.conn.read_tls(&mut &[][..]);
        if let Err(error) = self.process() {
            return End::Failed(error);
        }
        // a failed connection may be full
        read.unwrap();
        let mut rest = [0; 1];
        match self.conn.reader().read(&mut rest) {
            Ok(0) => End::Closed,
            Ok(_) => panic!("receive_end requires that all was read"),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => End::Truncated,
            Err(error) => panic!("at the end of the stream: {error}"),
        }
    }

    fn server_name(&self) -> Option<String> {
        match &self.conn {
            tls::Connection::Client(_) => None,
            tls::Connection::Server(conn) => conn.server_name().map(str::to_owned),
        }
    }

    accessors!();

    fn exported(&self) -> Option<[u8; 32]> {
        let conn = &self.conn;
        let exported = conn.export_keying_material([0; 32], b"label", Some(b"context"));
        Some(exported.unwrap())
    }

    fn refresh_traffic_keys(&mut self) {
        self.conn.refresh_traffic_keys().unwrap();
    }
}
