//! Accepting clients whose ClientHello determines the configuration.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::server::{Accepted, AcceptedAlert, Acceptor, ClientHello};
use rustls::{ServerConfig, ServerConnection};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::handshake::{Handshake, poll_alert};
use crate::server::Accept;
use crate::socket::{Socket, poll_of};

/// A future that reads a ClientHello before a configuration is chosen. It returns a
/// [`StartHandshake`].
///
/// ```no_run
/// # fn choose_config(_: rustls::server::ClientHello<'_>) -> std::sync::Arc<rustls::ServerConfig> {
/// #     unimplemented!()
/// # }
/// use rustls::server::Acceptor;
/// use tokio::net::TcpStream;
/// use tokio_rustls::LazyConfigAcceptor;
/// use tokio_rustls::server::TlsStream;
///
/// async fn accept(socket: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
///     let start = LazyConfigAcceptor::new(Acceptor::default(), socket).await?;
///     let config = choose_config(start.client_hello());
///     start.into_stream(config).await
/// }
/// ```
pub struct LazyConfigAcceptor<IO> {
    acceptor: Acceptor,
    /// The transport; `None` once it has been returned.
    io: Option<IO>,
    /// The error caused by the ClientHello, and the alert that is sent before the error is
    /// returned.
    failed: Option<(rustls::Error, AcceptedAlert)>,
}

impl<IO> LazyConfigAcceptor<IO>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    /// Creates an acceptor that reads a ClientHello from `io`.
    ///
    /// Put one time limit around both this future and the one returned by
    /// [`StartHandshake::into_stream`], such as
    /// [`tokio::time::timeout_at`](https://docs.rs/tokio/latest/tokio/time/fn.timeout_at.html),
    /// because a client may stall in either. If the limit expires here, [`take_io`](Self::take_io)
    /// still returns the transport.
    pub fn new(acceptor: Acceptor, io: IO) -> Self {
        Self {
            acceptor,
            io: Some(io),
            failed: None,
        }
    }

    /// Takes back the transport, for example to reply to a client that does not speak TLS. Returns
    /// `None` if it was already taken, or if the ClientHello was accepted.
    pub fn take_io(&mut self) -> Option<IO> {
        self.io.take()
    }
}

impl<IO> Future for LazyConfigAcceptor<IO>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    type Output = Result<StartHandshake<IO>, io::Error>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Self {
            acceptor,
            io: place,
            failed,
        } = &mut *self;
        let Some(io) = place else {
            let error = "acceptor cannot be polled after acceptance";
            return Poll::Ready(Err(io::Error::other(error)));
        };
        loop {
            if let Some((_, alert)) = failed {
                ready!(poll_alert(io, alert, task));
            }
            if let Some((error, _)) = failed.take() {
                return Poll::Ready(Err(io::Error::new(ErrorKind::InvalidData, error)));
            }
            if ready!(poll_of(acceptor.read_tls(&mut Socket::new(io, task))))? == 0 {
                return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
            }
            match acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => {
                    return Poll::Ready(match place.take() {
                        Some(io) => Ok(StartHandshake { accepted, io }),
                        None => Err(ErrorKind::Other.into()),
                    });
                }
                Err(error) => *failed = Some(error),
            }
        }
    }
}

/// A client whose ClientHello was read, usually by a [`LazyConfigAcceptor`], and which is waiting
/// for a configuration.
#[derive(Debug)]
#[non_exhaustive]
pub struct StartHandshake<IO> {
    /// The connection, which has read the ClientHello.
    pub accepted: Accepted,
    /// The transport from which the ClientHello was read.
    pub io: IO,
}

impl<IO> StartHandshake<IO>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    /// Creates this from a ClientHello that was read separately with an [`Acceptor`].
    pub fn from_parts(accepted: Accepted, transport: IO) -> Self {
        Self {
            accepted,
            io: transport,
        }
    }

    /// Returns the parts of the ClientHello that may determine the choice of a configuration.
    pub fn client_hello(&self) -> ClientHello<'_> {
        self.accepted.client_hello()
    }

    /// Returns a future that performs the rest of the handshake.
    ///
    /// # Errors
    ///
    /// The future returns the errors of [`TlsAcceptor::accept`](crate::TlsAcceptor::accept), except
    /// that the error is also [`io::ErrorKind::InvalidData`] if the configuration is unusable.
    pub fn into_stream(self, config: Arc<ServerConfig>) -> Accept<IO> {
        self.into_stream_with(config, |_| ())
    }

    /// Continues like [`into_stream`](Self::into_stream), but calls `f` with the connection before
    /// the rest of the handshake.
    pub fn into_stream_with<F>(self, config: Arc<ServerConfig>, f: F) -> Accept<IO>
    where
        F: FnOnce(&mut ServerConnection),
    {
        let Self { mut accepted, io } = self;
        // not before: a program that takes out `accepted` may drive it with code for rustls 0.23
        accepted.set_async(true);
        match accepted.into_connection(config) {
            Ok(conn) => Accept::start(io, conn, f),
            Err((error, alert)) => Accept(Handshake::Failed {
                io,
                alert: Some(alert),
                error: io::Error::new(ErrorKind::InvalidData, error),
            }),
        }
    }
}
