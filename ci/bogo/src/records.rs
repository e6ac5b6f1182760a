//! A connection over records, with its socket.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::client::EchStatus;
use rustls::server::{Acceptor, ClientHello};
use rustls::{CommonState, Connection, ServerConfig};

use crate::carrier::{Carrier, Received};
use crate::failure::Failure;
use crate::socket::Socket;

/// A connection over records.
pub(crate) struct Records {
    connection: Connection,
    socket: Socket,
    /// The error of the sending direction. Data that the peer sent before it closed are read first.
    broken: Option<io::Error>,
    /// True at the end of the socket.
    ended: bool,
    /// True if pending output must wait until the next read.
    held: bool,
}

impl Records {
    pub(crate) fn new(connection: Connection, socket: Socket) -> Self {
        Self {
            connection,
            socket,
            broken: None,
            ended: false,
            held: false,
        }
    }

    /// Accepts a server's connection whose configuration is chosen once the ClientHello is there.
    pub(crate) fn accept(
        config: impl FnOnce(&ClientHello<'_>) -> Result<Arc<ServerConfig>, Failure>,
        mut socket: Socket,
    ) -> Result<Self, Failure> {
        let mut acceptor = Acceptor::default();
        loop {
            match acceptor.read_tls(&mut socket) {
                Ok(0) => return Err(Failure::Io(ErrorKind::UnexpectedEof.into())),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error.into()),
            }
            let connection = match acceptor.accept() {
                Ok(None) => continue,
                Ok(Some(accepted)) => {
                    let config = config(&accepted.client_hello())?;
                    accepted.into_connection(config)
                }
                Err(refused) => Err(refused),
            };
            return match connection {
                Ok(connection) => Ok(Self::new(Connection::Server(connection), socket)),
                Err((error, mut alert)) => {
                    loop {
                        match alert.write(&mut socket) {
                            Ok(1..) => {}
                            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                            _ => break,
                        }
                    }
                    socket.finish();
                    Err(error.into())
                }
            };
        }
    }

    /// Receives the next bytes of the socket. Returns false at its end.
    fn receive(&mut self) -> Result<bool, Failure> {
        loop {
            match self.connection.read_tls(&mut self.socket) {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => return Err(self.broken.take().unwrap_or(error).into()),
            }
            break;
        }
        if let Err(error) = self.connection.process_new_packets() {
            // send the alert
            self.flush()?;
            return Err(error.into());
        }
        Ok(!self.ended)
    }

    /// Takes the early data that a server has received.
    fn take_early_data(&mut self) -> Vec<u8> {
        let mut data = Vec::new();
        if let Connection::Server(server) = &mut self.connection
            && let Some(mut early_data) = server.early_data()
        {
            let mut chunk = [0; 1024];
            while let Ok(length @ 1..) = early_data.read(&mut chunk) {
                data.extend_from_slice(&chunk[..length]);
            }
        }
        data
    }

    /// Returns the failure for an unexpected end of the socket.
    fn end(&mut self) -> Failure {
        let error = self.broken.take();
        Failure::Io(error.unwrap_or_else(|| ErrorKind::UnexpectedEof.into()))
    }
}

impl Carrier for Records {
    fn facts(&self) -> &CommonState {
        &self.connection
    }

    fn is_client(&self) -> bool {
        matches!(self.connection, Connection::Client(_))
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

    fn is_ech_accepted(&self) -> bool {
        match &self.connection {
            Connection::Client(client) => client.ech_status() == EchStatus::Accepted,
            Connection::Server(_) => false,
        }
    }

    fn transport_parameters(&self) -> Option<&[u8]> {
        None
    }

    fn offers_early_data(&mut self) -> bool {
        match &mut self.connection {
            Connection::Client(client) => client.early_data().is_some(),
            Connection::Server(_) => false,
        }
    }

    fn send_early_data(&mut self, data: &[u8]) -> Result<usize, Failure> {
        match &mut self.connection {
            Connection::Client(client) => match client.early_data() {
                Some(mut early_data) => Ok(early_data.write(data)?),
                None => Ok(0),
            },
            Connection::Server(_) => Ok(0),
        }
    }

    fn handshake(&mut self) -> Result<Vec<u8>, Failure> {
        loop {
            self.flush()?;
            if !self.connection.is_handshaking() {
                return Ok(vec![]);
            }
            let early_data = self.take_early_data();
            if !early_data.is_empty() {
                return Ok(early_data);
            }
            if !self.receive()? {
                return Err(self.end());
            }
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        while self.broken.is_none() && !self.held && self.connection.wants_write() {
            match self.connection.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => self.broken = Some(error),
            }
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
        Ok(self.connection.refresh_traffic_keys()?)
    }

    fn read(&mut self, buf: &mut [u8]) -> Result<Received, Failure> {
        loop {
            match self.connection.reader().read(buf) {
                Ok(0) => return Ok(Received::CloseNotify),
                Ok(length) => {
                    self.held = false;
                    return Ok(Received::Bytes(length));
                }
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(Received::End),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            self.flush()?;
            if !self.receive()? && self.connection.is_handshaking() {
                return Err(self.end());
            }
        }
    }

    fn peek(&mut self) -> Result<Vec<u8>, Failure> {
        loop {
            match self.connection.reader().fill_buf() {
                Ok(data) => return Ok(data.into()),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(vec![]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            self.flush()?;
            if !self.receive()? && self.connection.is_handshaking() {
                return Err(self.end());
            }
        }
    }

    fn write(&mut self, mut data: &[u8]) -> Result<(), Failure> {
        while !data.is_empty() {
            let taken = self.connection.writer().write(data)?;
            data = &data[taken..];
            self.flush()?;
        }
        Ok(())
    }

    fn write_unfinished(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.connection.writer().write_all(data)?;
        self.held = true;
        Ok(())
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.connection.send_close_notify();
        self.flush()
    }

    fn finish(self: Box<Self>) {
        self.socket.finish();
    }
}
