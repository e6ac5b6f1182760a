//! A stream for either side, and macros that implement the client's and the server's types. These
//! have the same methods, but no trait declares them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustls::CommonState;
use rustls::split::Facts;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::receiving::Receives;
use crate::split::{IntoSplitError, WriteHalf};
use crate::{client, server};

/// Implements both handshake futures: one whose failure drops the transport, and one that returns
/// it.
macro_rules! handshakes {
    ($handshake:ident, $fallible:ident, $connection:ty) => {
        impl<IO> $handshake<IO> {
            /// Returns a future that also returns the transport if the handshake fails.
            pub fn into_fallible(self) -> $fallible<IO> {
                $fallible(self.0)
            }

            /// Returns a reference to the transport, or `None` once the future is complete.
            pub fn get_ref(&self) -> Option<&IO> {
                self.0.get_ref()
            }

            /// Returns a mutable reference to the transport, or `None` once the future is complete.
            pub fn get_mut(&mut self) -> Option<&mut IO> {
                self.0.get_mut()
            }
        }

        impl<IO: AsyncRead + AsyncWrite + Unpin> Future for $handshake<IO> {
            type Output = Result<TlsStream<IO>, io::Error>;

            fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
                let handshake = Pin::new(&mut self.0);
                handshake
                    .poll(task)
                    .map_ok(|inner| TlsStream { inner })
                    .map_err(|(error, _)| error)
            }
        }

        impl<IO: AsyncRead + AsyncWrite + Unpin> Future for $fallible<IO> {
            type Output = Result<TlsStream<IO>, (io::Error, IO)>;

            fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
                let handshake = Pin::new(&mut self.0);
                handshake.poll(task).map_ok(|inner| TlsStream { inner })
            }
        }
    };
}

/// Implements the methods and traits of one side's stream.
macro_rules! stream {
    ($connection:ty, $side:literal) => {
        impl<IO> TlsStream<IO> {
            /// Returns references to the transport and the connection.
            pub fn get_ref(&self) -> (&IO, &$connection) {
                (&self.inner.io, &self.inner.conn)
            }

            /// Returns mutable references to the transport and the connection. Do not read from or
            /// write to the transport directly: that would break the TLS stream.
            pub fn get_mut(&mut self) -> (&mut IO, &mut $connection) {
                (&mut self.inner.io, &mut self.inner.conn)
            }

            /// Returns the transport and the connection. Output that has not been flushed stays in
            /// the connection, but early data that the server rejects is no longer sent again.
            ///
            /// Before the handshake is complete, the connection may wait for asynchronous
            /// callbacks. Poll them or, unless it is waiting already, call `set_async(false)`.
            pub fn into_inner(self) -> (IO, $connection) {
                (self.inner.io, self.inner.conn)
            }
        }

        impl<IO: AsyncRead + AsyncWrite + Unpin> TlsStream<IO> {
            /// Splits the stream into halves for two tasks, without a lock around the connection.
            /// `split` divides the transport.
            ///
            /// ```no_run
            #[doc = concat!("# use tokio_rustls::", $side, "::TlsStream;")]
            /// # async fn example(
            /// #     stream: TlsStream<tokio::net::TcpStream>,
            /// # ) -> Result<(), Box<dyn std::error::Error>> {
            /// use tokio::io::{AsyncWriteExt, copy, sink};
            /// use tokio::net::TcpStream;
            ///
            /// let (mut reader, mut writer) = stream.into_split(TcpStream::into_split)?;
            /// let reading = tokio::spawn(async move { copy(&mut reader, &mut sink()).await });
            /// writer.write_all(b"both directions at once").await?;
            /// writer.shutdown().await?;
            /// reading.await??;
            /// # Ok(()) }
            /// ```
            ///
            /// A transport other than a socket can be split with `tokio::io::split`, which locks
            /// the transport, but not the encryption.
            ///
            /// # Errors
            ///
            /// Returns [`IntoSplitError`](split::IntoSplitError), which holds the stream,
            ///
            /// - before the handshake is complete;
            /// - while early data that the server has rejected waits to be sent again (flush
            ///   first);
            /// - if the connection has failed.
            pub fn into_split<R, W>(
                self,
                split: impl FnOnce(IO) -> (R, W),
            ) -> Result<(ReadHalf<R>, split::WriteHalf<W>), split::IntoSplitError<Self>> {
                if self.inner.owes_early_data() {
                    let error = rustls::Error::HandshakeNotComplete;
                    return Err(split::IntoSplitError::new(self, error));
                }
                let Stream { io, conn, state } = self.inner;
                match conn.into_split() {
                    Ok((sender, receiver)) => {
                        let (reader, writer) = split(io);
                        Ok(split::halves(
                            (reader, receiver),
                            (writer, sender),
                            state.deferred,
                        ))
                    }
                    Err(refused) => {
                        let error = refused.error().clone();
                        let conn = refused.into_connection();
                        let inner = Stream { io, conn, state };
                        Err(split::IntoSplitError::new(Self { inner }, error))
                    }
                }
            }
        }

        /// Calls a method of the inner stream.
        macro_rules! inner_of_side {
            ($self:expr, $inner:ident => $call:expr) => {{
                let $inner = &mut $self.inner;
                $call
            }};
        }

        reads!([IO] TlsStream<IO>, [IO: AsyncRead + AsyncWrite + Unpin], inner_of_side);
        writes!([IO] TlsStream<IO>, [IO: AsyncRead + AsyncWrite + Unpin], inner_of_side);
        sends_in_place!(
            [IO] TlsStream<IO>,
            [IO: AsyncRead + AsyncWrite + Unpin],
            inner_of_side,
            this => this.inner.conn.in_place_room()
        );

        $crate::either::handles!(TlsStream);

        impl<IO: fmt::Debug> fmt::Debug for TlsStream<IO> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct("TlsStream")
                    .field("io", &self.inner.io)
                    .field("session", &self.inner.conn)
                    .finish_non_exhaustive()
            }
        }
    };
}

/// Implements the traits that return a socket's handle.
macro_rules! handles {
    ($stream:ident) => {
        #[cfg(unix)]
        impl<IO> std::os::fd::AsRawFd for $stream<IO>
        where
            IO: std::os::fd::AsRawFd,
        {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.get_ref().0.as_raw_fd()
            }
        }

        #[cfg(unix)]
        impl<IO: std::os::fd::AsFd> std::os::fd::AsFd for $stream<IO> {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.get_ref().0.as_fd()
            }
        }

        #[cfg(windows)]
        impl<IO: std::os::windows::io::AsRawSocket> std::os::windows::io::AsRawSocket
            for $stream<IO>
        {
            fn as_raw_socket(&self) -> std::os::windows::io::RawSocket {
                self.get_ref().0.as_raw_socket()
            }
        }

        #[cfg(windows)]
        impl<IO: std::os::windows::io::AsSocket> std::os::windows::io::AsSocket for $stream<IO> {
            fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
                self.get_ref().0.as_socket()
            }
        }
    };
}

pub(crate) use handles;
pub(crate) use handshakes;
pub(crate) use stream;

/// A client's or a server's stream, for code that handles both.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "the public type of tokio-rustls 0.26"
)]
pub enum TlsStream<T> {
    /// A stream to a server.
    Client(client::TlsStream<T>),
    /// A stream to a client.
    Server(server::TlsStream<T>),
}

/// Calls a method of the client's or the server's stream.
macro_rules! either {
    ($self:expr, $stream:ident => $call:expr) => {
        match $self {
            TlsStream::Client($stream) => $call,
            TlsStream::Server($stream) => $call,
        }
    };
}

impl<T> TlsStream<T> {
    /// Returns references to the transport and the connection's state.
    pub fn get_ref(&self) -> (&T, &CommonState) {
        either!(self, stream => {
            let (io, conn) = stream.get_ref();
            (io, conn)
        })
    }

    /// Returns mutable references to the transport and the connection's state.
    pub fn get_mut(&mut self) -> (&mut T, &mut CommonState) {
        either!(self, stream => {
            let (io, conn) = stream.get_mut();
            (io, conn)
        })
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> TlsStream<T> {
    /// Splits the stream into halves for two tasks, like `into_split` of a
    /// [client's](client::TlsStream::into_split) or [server's](server::TlsStream::into_split)
    /// stream, which have an example.
    ///
    /// # Errors
    ///
    /// Returns the errors of that method.
    pub fn into_split<R, W>(
        self,
        split: impl FnOnce(T) -> (R, W),
    ) -> Result<(ReadHalf<R>, WriteHalf<W>), IntoSplitError<Self>> {
        match self {
            Self::Client(stream) => match stream.into_split(split) {
                Ok((reader, writer)) => Ok((ReadHalf::Client(reader), writer)),
                Err(refused) => Err(refused.map(Self::Client)),
            },
            Self::Server(stream) => match stream.into_split(split) {
                Ok((reader, writer)) => Ok((ReadHalf::Server(reader), writer)),
                Err(refused) => Err(refused.map(Self::Server)),
            },
        }
    }
}

impl<T> From<client::TlsStream<T>> for TlsStream<T> {
    fn from(stream: client::TlsStream<T>) -> Self {
        Self::Client(stream)
    }
}

impl<T> From<server::TlsStream<T>> for TlsStream<T> {
    fn from(stream: server::TlsStream<T>) -> Self {
        Self::Server(stream)
    }
}

/// Calls a method of the inner stream of either side.
macro_rules! inner_of_either {
    ($self:expr, $inner:ident => $call:expr) => {
        either!($self, stream => {
            let $inner = &mut stream.inner;
            $call
        })
    };
}

reads!([T] TlsStream<T>, [T: AsyncRead + AsyncWrite + Unpin], inner_of_either);
writes!([T] TlsStream<T>, [T: AsyncRead + AsyncWrite + Unpin], inner_of_either);
sends_in_place!(
    [T] TlsStream<T>,
    [T: AsyncRead + AsyncWrite + Unpin],
    inner_of_either,
    this => either!(this, stream => stream.inner.conn.in_place_room())
);
handles!(TlsStream);

/// The reading half of a client's or a server's stream. See [`TlsStream::into_split`].
#[derive(Debug)]
pub enum ReadHalf<R> {
    /// The reading half of a stream to a server.
    Client(client::ReadHalf<R>),
    /// The reading half of a stream to a client.
    Server(server::ReadHalf<R>),
}

/// Calls a method of the client's or the server's half.
macro_rules! half_of_either {
    ($self:expr, $half:ident => $call:expr) => {
        match $self {
            ReadHalf::Client($half) => $call,
            ReadHalf::Server($half) => $call,
        }
    };
}

impl<R> ReadHalf<R> {
    /// Returns references to the transport and the negotiated properties of the connection.
    pub fn get_ref(&self) -> (&R, &Facts) {
        half_of_either!(self, half => {
            let (io, receiver) = half.get_ref();
            (io, receiver)
        })
    }
}

reads!([R] ReadHalf<R>, [R: AsyncRead + Unpin], half_of_either);
