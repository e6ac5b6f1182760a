//! Accepting clients.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::{fmt, io};

use rustls::server::ServerConnectionData;
use rustls::{ServerConfig, ServerConnection};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::handshake::Handshake;
pub use crate::lazy::{LazyConfigAcceptor, StartHandshake};
use crate::split;
use crate::stream::{Side, Stream};

impl Side for ServerConnection {
    type Data = ServerConnectionData;
}

/// Accepts clients with one configuration. Use [`LazyConfigAcceptor`] to choose the configuration
/// depending on the ClientHello.
#[derive(Clone)]
pub struct TlsAcceptor {
    config: Arc<ServerConfig>,
}

impl From<Arc<ServerConfig>> for TlsAcceptor {
    fn from(config: Arc<ServerConfig>) -> Self {
        Self { config }
    }
}

impl TlsAcceptor {
    /// Returns a future that performs the handshake with the client at the other end of `stream`.
    ///
    /// The handshake may take forever if the client sends nothing, so put a time limit around it,
    /// such as [`tokio::time::timeout`](https://docs.rs/tokio/latest/tokio/time/fn.timeout.html).
    /// Dropping the future is safe: it drops the transport.
    ///
    /// The future ends when its last messages are sent. In TLS 1.3, these are tickets, if any, and
    /// nothing is read in the meantime. If the transport has little room, the client must read
    /// before it writes much, or [`ServerConfig::send_tls13_tickets`] must be 0.
    ///
    /// Early data from the client is read from [`ServerConnection::early_data`], not from the
    /// stream.
    ///
    /// # Errors
    ///
    /// The future returns [`io::ErrorKind::InvalidData`] with the handshake's [`rustls::Error`],
    /// [`io::ErrorKind::UnexpectedEof`] if the client closes the transport, and transport errors.
    /// It returns [`io::ErrorKind::Other`] if the configuration is unusable.
    pub fn accept<IO>(&self, stream: IO) -> Accept<IO>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        self.accept_with(stream, |_| ())
    }

    /// Accepts like [`accept`](Self::accept), but calls `f` with the connection before anything is
    /// read, for example to change the [buffer limit](rustls::ConnectionCommon::set_buffer_limit).
    pub fn accept_with<IO, F>(&self, stream: IO, f: F) -> Accept<IO>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
        F: FnOnce(&mut ServerConnection),
    {
        match ServerConnection::new(self.config.clone()) {
            Ok(mut conn) => {
                conn.set_async(true);
                Accept::start(stream, conn, f)
            }
            Err(error) => Accept(Handshake::Failed {
                io: stream,
                alert: None,
                error: io::Error::other(error),
            }),
        }
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Arc<ServerConfig> {
        &self.config
    }
}

/// The future for a server's handshake. Returned by [`TlsAcceptor::accept`].
pub struct Accept<IO>(pub(crate) Handshake<IO, ServerConnection>);

/// A future like [`Accept`] that also returns the transport if the handshake fails.
pub struct FallibleAccept<IO>(Handshake<IO, ServerConnection>);

impl<IO> Accept<IO> {
    /// Calls `f` with `conn`, and returns the handshake.
    pub(crate) fn start(
        io: IO,
        mut conn: ServerConnection,
        f: impl FnOnce(&mut ServerConnection),
    ) -> Self {
        f(&mut conn);
        Self(Handshake::Running(Stream::new(io, conn)))
    }
}

crate::either::handshakes!(Accept, FallibleAccept, ServerConnection);

/// A stream to a client.
///
/// See the [crate] for flushing. Dropping it sends no close_notify: call `shutdown` first, or the
/// client cannot tell the end of the data from a truncation.
pub struct TlsStream<IO> {
    pub(crate) inner: Stream<IO, ServerConnection>,
}

/// The reading half of a server's stream. See [`TlsStream::into_split`].
pub type ReadHalf<R> = split::ReadHalf<R, ServerConnectionData>;

crate::either::stream!(ServerConnection, "server");
