//! Asynchronous TLS streams for [tokio](https://tokio.rs), over [`rustls`].
//!
//! This is a drop-in replacement for tokio-rustls 0.26 with the same types and functions. It does
//! not implement the protocol: it moves bytes between a connection of [`rustls`] and a transport,
//! and polls both.
//!
//! ```text
//!   TlsConnector::connect ─► Connect ──┐                   ┌─► AsyncRead, AsyncBufRead
//!                                      ├─► TlsStream<IO> ──┤
//!   TlsAcceptor::accept ───► Accept ───┤                   ├─► AsyncWrite
//!   LazyConfigAcceptor ─► StartHandshake                   ├─► into_split ─► ReadHalf, WriteHalf
//!                                                          └─► copy_bidirectional
//! ```
//!
//! A server that greets its clients:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use tokio::io::AsyncWriteExt;
//! use tokio::net::TcpListener;
//! use tokio_rustls::TlsAcceptor;
//! use tokio_rustls::rustls::ServerConfig;
//!
//! async fn serve(listener: TcpListener, config: Arc<ServerConfig>) -> std::io::Result<()> {
//!     let acceptor = TlsAcceptor::from(config);
//!     loop {
//!         let (socket, _) = listener.accept().await?;
//!         let acceptor = acceptor.clone();
//!         tokio::spawn(async move {
//!             let mut stream = acceptor.accept(socket).await?;
//!             stream.write_all(b"hello\n").await?;
//!             stream.shutdown().await
//!         });
//!     }
//! }
//! ```
//!
//! # Flush what you have written
//!
//! A write encrypts into the connection's buffer, and sends as much of it as the transport accepts.
//! If the transport is not ready, up to 64 KiB (by default) stay in the buffer, and the write still
//! succeeds. So call `flush` after the last write of a message, or `shutdown`, which also sends
//! everything. After the handshake, reading sends nothing unless the connection fails.
//!
//! # Keys, verifiers and storages that take time
//!
//! If the configuration has asynchronous callbacks, such as a signer that calls a service, the
//! handshake waits for them without blocking the thread. This needs no setting:
//! [`accept`](TlsAcceptor::accept), [`connect`](TlsConnector::connect) and the streams poll such
//! operations. If the peer disconnects in the meantime, they are usually dropped. Handshakes
//! without such callbacks cost about the same as with blocking connections. The chapter
//! `operations` in the rustls manual shows how to write such callbacks.
//!
//! # Two tasks for one connection
//!
//! `tokio::io::split` puts a lock around a stream. `into_split` of a
//! [client's](client::TlsStream::into_split) stream, a [server's](server::TlsStream::into_split),
//! or one of [either side](TlsStream::into_split) gives each direction its own half without a lock
//! around the connection, so that two tasks can encrypt and decrypt at the same time.
//!
//! # Files and proxies
//!
//! `send_in_place` of a stream encrypts a part of a file in the buffer into which it was read.
//! [`copy_bidirectional`] passes data on between two streams. Between TLS streams, it usually seals
//! records where they were opened.

pub use rustls;

/// The chapter of the manual. It belongs to `rustls`, but its program needs this crate.
#[cfg(doctest)]
#[doc = include_str!("../../rustls/manual/tokio_streams.md")]
mod manual {}

#[macro_use]
mod polls;
pub mod client;
mod early_data;
mod either;
mod handshake;
mod lazy;
/// The lock of `split`, which `ci/loom` replaces.
mod locks {
    pub(crate) use std::sync::Mutex;
}
mod receiving;
pub mod relay;
mod sending;
pub mod server;
mod socket;
pub mod split;
mod stream;

pub use client::{Connect, FallibleConnect, TlsConnector, TlsConnectorWithAlpn};
pub use either::{ReadHalf, TlsStream};
pub use relay::copy_bidirectional;
pub use server::{Accept, FallibleAccept, LazyConfigAcceptor, StartHandshake, TlsAcceptor};
