//! A connection over records, and the socket it is on.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::server::Acceptor;
use rustls::{CommonState, Connection, HandshakeKind, ServerConfig};

use crate::failure::Failure;
use crate::socket::Socket;

/// A connection whose bytes this moves.
pub(crate) struct Records {
    pub(crate) connection: Connection,
    socket: Socket,
    /// Why the socket takes no more. What the peer said before it closed is read first.
    broken: Option<io::Error>,
    /// The socket is at its end.
    ended: bool,
    /// What waits to be sent has to wait until something was read.
    held: bool,
}

/// What there is to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// So many bytes.
    Bytes(usize),
    /// The peer's close_notify.
    CloseNotify,
    /// The end of the socket, without close_notify.
    End,
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

    /// A server's connection whose configuration is chosen once the ClientHello is there.
    pub(crate) fn accept(config: Arc<ServerConfig>, mut socket: Socket) -> Result<Self, Failure> {
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
                Ok(Some(accepted)) => accepted.into_connection(config.clone()),
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

    /// Writes application data that leave only after something was read.
    pub(crate) fn write_unfinished(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.connection.writer().write_all(data)?;
        self.held = true;
        Ok(())
    }

    /// What is known about the connection.
    pub(crate) fn facts(&self) -> &CommonState {
        &self.connection
    }

    /// Sends everything that waits to be sent.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        while self.broken.is_none() && !self.held && self.connection.wants_write() {
            match self.connection.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => self.broken = Some(error),
            }
        }
        Ok(())
    }

    /// Takes what the socket has next. False at its end.
    pub(crate) fn receive(&mut self) -> Result<bool, Failure> {
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
            // the alert goes out
            self.flush()?;
            return Err(error.into());
        }
        Ok(!self.ended)
    }

    /// Goes on with the handshake until it is complete or `enough` says so.
    pub(crate) fn handshake_until(
        &mut self,
        mut enough: impl FnMut(&mut Connection) -> bool,
    ) -> Result<(), Failure> {
        loop {
            self.flush()?;
            if !self.connection.is_handshaking() || enough(&mut self.connection) {
                return Ok(());
            }
            if !self.receive()? {
                return Err(self.end());
            }
        }
    }

    /// The failure that an end of the socket is where more has to come.
    pub(crate) fn end(&mut self) -> Failure {
        let error = self.broken.take();
        Failure::Io(error.unwrap_or_else(|| ErrorKind::UnexpectedEof.into()))
    }

    /// Reads application data, once there is any.
    pub(crate) fn read(&mut self, buf: &mut [u8]) -> Result<Received, Failure> {
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

    /// Looks at application data, once there is any, without taking it.
    pub(crate) fn peek(&mut self) -> Result<Vec<u8>, Failure> {
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

    /// Sends application data.
    pub(crate) fn write(&mut self, mut data: &[u8]) -> Result<(), Failure> {
        while !data.is_empty() {
            let taken = self.connection.writer().write(data)?;
            data = &data[taken..];
            self.flush()?;
        }
        Ok(())
    }

    pub(crate) fn close(&mut self) -> Result<(), Failure> {
        self.connection.send_close_notify();
        self.flush()
    }

    /// Is done with the socket.
    pub(crate) fn finish(self) {
        self.socket.finish();
    }

    pub(crate) fn resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }
}
