//! Connecting to servers.

use std::fmt;
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::ClientConnectionData;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::handshake::Handshake;
use crate::split;
use crate::stream::{Side, Stream};

impl Side for ClientConnection {
    type Data = ClientConnectionData;

    fn write_early(&mut self, plaintext: &[u8]) -> io::Result<usize> {
        match self.early_data() {
            Some(mut early_data) => early_data.write(plaintext),
            None => Ok(0),
        }
    }

    fn is_early_data_accepted(&self) -> bool {
        Self::is_early_data_accepted(self)
    }
}

/// Connects to servers with one configuration.
///
/// ```no_run
/// # use std::sync::Arc;
/// # async fn example(
/// #     config: Arc<rustls::ClientConfig>,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio::net::TcpStream;
/// use tokio_rustls::TlsConnector;
///
/// let connector = TlsConnector::from(config);
/// let socket = TcpStream::connect("example.com:443").await?;
/// let mut stream = connector.connect("example.com".try_into()?, socket).await?;
/// stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
/// stream.flush().await?;
/// let mut response = Vec::new();
/// stream.read_to_end(&mut response).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct TlsConnector {
    config: Arc<ClientConfig>,
    early_data: bool,
}

impl From<Arc<ClientConfig>> for TlsConnector {
    fn from(config: Arc<ClientConfig>) -> Self {
        Self {
            config,
            early_data: false,
        }
    }
}

impl TlsConnector {
    /// If `flag` is true, sends early data (0-RTT) when a session allows it. This also needs
    /// [`ClientConfig::enable_early_data`].
    ///
    /// [`connect`](Self::connect) then returns a stream before the handshake. Its writes are early
    /// data, up to the limits of the session and of the connection's buffer. A write beyond that, a
    /// flush, a shutdown, or a read after a write completes the handshake. If the server rejects
    /// the early data, it is sent again after the handshake.
    ///
    /// Attackers can replay early data: send only requests that do no harm if they are executed
    /// twice. The chapter `early_data` in the rustls manual explains the reasons.
    #[cfg(feature = "early-data")]
    pub fn early_data(self, flag: bool) -> Self {
        Self {
            early_data: flag,
            ..self
        }
    }

    /// Returns a future that performs the handshake with the server `domain` over `stream`.
    ///
    /// The handshake may take forever if the server does not answer, so put a time limit around it,
    /// such as [`tokio::time::timeout`](https://docs.rs/tokio/latest/tokio/time/fn.timeout.html).
    /// Dropping the future is safe: it drops the transport.
    ///
    /// # Errors
    ///
    /// The future returns [`io::ErrorKind::InvalidData`] with the handshake's [`rustls::Error`],
    /// [`io::ErrorKind::UnexpectedEof`] if the server closes the transport, and transport errors.
    /// It returns [`io::ErrorKind::Other`] if no connection can be created, for example because the
    /// configuration cannot produce a ClientHello.
    pub fn connect<IO>(&self, domain: ServerName<'static>, stream: IO) -> Connect<IO>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        self.connect_with(domain, stream, |_| ())
    }

    /// Connects like [`connect`](Self::connect), but calls `f` with the connection before the
    /// handshake, for example to write early data or to change the
    /// [buffer limit](rustls::ConnectionCommon::set_buffer_limit).
    pub fn connect_with<IO, F>(&self, domain: ServerName<'static>, stream: IO, f: F) -> Connect<IO>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
        F: FnOnce(&mut ClientConnection),
    {
        let alpn_protocols = self.config.alpn_protocols.clone();
        self.start(alpn_protocols, domain, stream, f)
    }

    /// Returns a connector that offers `alpn_protocols` instead of those in the configuration.
    pub fn with_alpn(&self, alpn_protocols: Vec<Vec<u8>>) -> TlsConnectorWithAlpn<'_> {
        TlsConnectorWithAlpn {
            connector: self,
            alpn_protocols,
        }
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Arc<ClientConfig> {
        &self.config
    }

    fn start<IO>(
        &self,
        alpn_protocols: Vec<Vec<u8>>,
        domain: ServerName<'static>,
        io: IO,
        f: impl FnOnce(&mut ClientConnection),
    ) -> Connect<IO> {
        let config = self.config.clone();
        let mut conn = match ClientConnection::new_with_alpn(config, domain, alpn_protocols) {
            Ok(conn) => conn,
            Err(error) => {
                return Connect(Handshake::Failed {
                    io,
                    alert: None,
                    error: io::Error::other(error),
                });
            }
        };
        conn.set_async(true);
        f(&mut conn);
        let sends_early_data = self.early_data && conn.early_data().is_some();
        let stream = Stream::new(io, conn);
        Connect(Handshake::Running(match sends_early_data {
            true => stream.with_early_data(),
            false => stream,
        }))
    }
}

/// A connector that offers different application protocols from those in the configuration.
/// Returned by [`TlsConnector::with_alpn`].
pub struct TlsConnectorWithAlpn<'c> {
    connector: &'c TlsConnector,
    alpn_protocols: Vec<Vec<u8>>,
}

impl TlsConnectorWithAlpn<'_> {
    /// Connects like [`TlsConnector::connect`].
    pub fn connect<IO>(self, domain: ServerName<'static>, stream: IO) -> Connect<IO>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        self.connect_with(domain, stream, |_| ())
    }

    /// Connects like [`TlsConnector::connect_with`].
    pub fn connect_with<IO, F>(self, domain: ServerName<'static>, stream: IO, f: F) -> Connect<IO>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
        F: FnOnce(&mut ClientConnection),
    {
        self.connector.start(self.alpn_protocols, domain, stream, f)
    }
}

/// The future for a client's handshake. Returned by [`TlsConnector::connect`].
pub struct Connect<IO>(Handshake<IO, ClientConnection>);

/// A future like [`Connect`] that also returns the transport if the handshake fails.
pub struct FallibleConnect<IO>(Handshake<IO, ClientConnection>);

crate::either::handshakes!(Connect, FallibleConnect, ClientConnection);

/// A stream to a server.
///
/// See the [crate] for flushing. Dropping it sends no close_notify: call `shutdown` first, or the
/// server cannot tell the end of the data from a truncation.
pub struct TlsStream<IO> {
    pub(crate) inner: Stream<IO, ClientConnection>,
}

/// The reading half of a client's stream. See [`TlsStream::into_split`].
pub type ReadHalf<R> = split::ReadHalf<R, ClientConnectionData>;

crate::either::stream!(ClientConnection, "client");
