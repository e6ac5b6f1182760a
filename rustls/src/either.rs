//! A buffered connection on either side, for code that handles both sides.

use core::ops::{Deref, DerefMut};
use core::task::{self, Poll};
use std::io;

use super::{CommonState, IoState, Reader, Writer};
use crate::client::ClientConnection;
use crate::error::Error;
use crate::server::ServerConnection;
use crate::suites::ExtractedSecrets;

/// A client or a server connection.
#[derive(Debug)]
pub enum Connection {
    /// A client connection.
    Client(ClientConnection),
    /// A server connection.
    Server(ServerConnection),
}

/// Calls a method of the client or the server connection.
macro_rules! either {
    ($self:expr, $conn:ident => $call:expr) => {
        match $self {
            Connection::Client($conn) => $call,
            Connection::Server($conn) => $call,
        }
    };
}

impl Connection {
    /// See [`ConnectionCommon::read_tls`](crate::ConnectionCommon::read_tls).
    pub fn read_tls(&mut self, rd: &mut dyn io::Read) -> Result<usize, io::Error> {
        either!(self, conn => conn.read_tls(rd))
    }

    /// See [`ConnectionCommon::read_tls_for`](crate::ConnectionCommon::read_tls_for).
    pub fn read_tls_for(&mut self, rd: &mut dyn io::Read, len: usize) -> Result<usize, io::Error> {
        either!(self, conn => conn.read_tls_for(rd, len))
    }

    /// See [`ConnectionCommon::write_tls`](crate::ConnectionCommon::write_tls).
    pub fn write_tls(&mut self, wr: &mut dyn io::Write) -> Result<usize, io::Error> {
        either!(self, conn => conn.write_tls(wr))
    }

    /// See [`ConnectionCommon::reader`](crate::ConnectionCommon::reader).
    pub fn reader(&mut self) -> Reader<'_> {
        either!(self, conn => conn.reader())
    }

    /// See [`ConnectionCommon::writer`](crate::ConnectionCommon::writer).
    pub fn writer(&mut self) -> Writer<'_> {
        either!(self, conn => conn.writer())
    }

    /// See [`ConnectionCommon::process_new_packets`](crate::ConnectionCommon::process_new_packets).
    pub fn process_new_packets(&mut self) -> Result<IoState, Error> {
        either!(self, conn => conn.process_new_packets())
    }

    /// See [`process_new_packets_into`](crate::ConnectionCommon::process_new_packets_into).
    pub fn process_new_packets_into(&mut self, buf: &mut [u8]) -> Result<(usize, IoState), Error> {
        either!(self, conn => conn.process_new_packets_into(buf))
    }

    /// See [`unprocessed_len`](crate::ConnectionCommon::unprocessed_len).
    pub fn unprocessed_len(&self) -> usize {
        either!(self, conn => conn.unprocessed_len())
    }

    /// See [`ConnectionCommon::poll_operation`](crate::ConnectionCommon::poll_operation).
    pub fn poll_operation(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        either!(self, conn => conn.poll_operation(cx))
    }

    /// See [`export_keying_material`](crate::ConnectionCommon::export_keying_material).
    pub fn export_keying_material<T: AsMut<[u8]>>(
        &self,
        output: T,
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<T, Error> {
        either!(self, conn => conn.export_keying_material(output, label, context))
    }

    /// See [`ConnectionCommon::complete_io`](crate::ConnectionCommon::complete_io).
    pub fn complete_io<T>(&mut self, io: &mut T) -> Result<(usize, usize), io::Error>
    where
        Self: Sized,
        T: io::Read + io::Write,
    {
        either!(self, conn => conn.complete_io(io))
    }

    /// See [`ConnectionCommon::set_buffer_limit`](crate::ConnectionCommon::set_buffer_limit).
    pub fn set_buffer_limit(&mut self, limit: Option<usize>) {
        either!(self, conn => conn.set_buffer_limit(limit));
    }

    /// See [`refresh_traffic_keys`](crate::ConnectionCommon::refresh_traffic_keys).
    pub fn refresh_traffic_keys(&mut self) -> Result<(), Error> {
        either!(self, conn => conn.refresh_traffic_keys())
    }

    /// See [`send_close_notify`](crate::ConnectionCommon::send_close_notify). If the connection
    /// fails, the [`CommonState`] method of the same name leaves the session in its store until the
    /// next call that processes input or sends.
    pub fn send_close_notify(&mut self) {
        either!(self, conn => conn.send_close_notify());
    }

    /// See [`dangerous_extract_secrets`](crate::ConnectionCommon::dangerous_extract_secrets).
    pub fn dangerous_extract_secrets(self) -> Result<ExtractedSecrets, Error> {
        either!(self, conn => conn.dangerous_extract_secrets())
    }
}

impl From<ClientConnection> for Connection {
    fn from(conn: ClientConnection) -> Self {
        Self::Client(conn)
    }
}

impl From<ServerConnection> for Connection {
    fn from(conn: ServerConnection) -> Self {
        Self::Server(conn)
    }
}

impl Deref for Connection {
    type Target = CommonState;

    fn deref(&self) -> &Self::Target {
        either!(self, conn => conn)
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        either!(self, conn => conn)
    }
}
