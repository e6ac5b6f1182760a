//! APIs: choosing the one that fits a program.
//!
//! All APIs speak the same protocol with the same code. They differ in the owner of the buffers and
//! in the part that does the I/O.
//!
//! - **Streams**: [`Stream`] and [`StreamOwned`], for blocking sockets with a thread per
//!   connection. The library does the I/O through [`Read`] and [`Write`]; the connection owns the
//!   buffers. Copies: 0 / 1.
//! - **Buffered**: [`ClientConnection`] and [`ServerConnection`], for event loops; tokio-rustls and
//!   most others use them. The application calls `read_tls` and `write_tls`; the connection owns
//!   the buffers. Copies: 0 / 1, or 0 / 0 with [`BufRead`].
//! - **Buffered, in place**: the same with `encrypt_in_place`, for file servers and proxies.
//!   Records are built in the application's own buffer. Copies: 0 / as above.
//! - **Split**: [`split::Sender`] and [`split::Receiver`], for both directions at once on two
//!   threads, without a lock. Either side owns the buffers. Copies: 0 / 0 or 1.
//! - **Unbuffered**: [`UnbufferedClientConnection`] and [`UnbufferedServerConnection`], for
//!   io_uring, `no_std`, buffer pools and the highest throughput. The application does the I/O and
//!   owns the buffers. Copies: 0 / 0.
//! - **Kernel**: [`KernelConnection`](crate::kernel::KernelConnection), for `sendfile` and network
//!   cards that encrypt. The kernel (Linux's kTLS) does the I/O: see
//!   [`kernel_tls`](super::kernel_tls).
//! - **QUIC**: [`quic`](crate::quic) connections, for QUIC and HTTP/3. A QUIC implementation such
//!   as quinn does the I/O.
//!
//! The numbers are copies of the plaintext when sending / receiving with the aws-lc-rs provider.
//! ring only seals in place, so each API except `encrypt_in_place` has one more copy when sending.
//! No API allocates per record.
//!
//! # Buffered
//!
//! A connection has four entry points. TLS bytes go in through `read_tls` and out through
//! `write_tls`. Plaintext goes in through `writer()` and out through `reader()`. The connection
//! does nothing between calls, so it fits any event loop:
//!
//! ```
//! use std::io::{self, Read, Write};
//! use std::net::TcpStream;
//!
//! use rustls::ServerConnection;
//!
//! /// Call this when the socket is readable. Passes all plaintext to `received`.
//! fn readable(
//!     tls: &mut ServerConnection,
//!     socket: &mut TcpStream,
//!     mut received: impl FnMut(&[u8]),
//! ) -> io::Result<()> {
//!     while tls.wants_read() {
//!         match tls.read_tls(socket) {
//!             // without a close_notify, the reader returns UnexpectedEof: data may be missing
//!             Ok(0) => break,
//!             Ok(_) => {}
//!             Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
//!             Err(error) => return Err(error),
//!         }
//!         if let Err(error) = tls.process_new_packets() {
//!             // send the alert that tells the peer the reason
//!             let _ = tls.write_tls(socket);
//!             return Err(io::Error::new(io::ErrorKind::InvalidData, error));
//!         }
//!         let mut chunk = [0; 4096];
//!         loop {
//!             match tls.reader().read(&mut chunk) {
//!                 Ok(0) => return Ok(()), // the peer's close_notify: the end, and authenticated
//!                 Ok(len) => received(&chunk[..len]),
//!                 Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
//!                 Err(error) => return Err(error),
//!             }
//!         }
//!     }
//!     Ok(())
//! }
//!
//! /// Call this when the socket is writable.
//! fn writable(tls: &mut ServerConnection, socket: &mut TcpStream) -> io::Result<()> {
//!     while tls.wants_write() {
//!         match tls.write_tls(socket) {
//!             Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
//!             Ok(_) => {}
//!             Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
//!             Err(error) => return Err(error),
//!         }
//!     }
//!     Ok(())
//! }
//! # harness::manual::serves_events(readable, writable);
//! ```
//!
//! After each of the two, update the event loop from `wants_read` and `wants_write`. Received data
//! may require an answer. A connection with much unread plaintext does not want to read.
//!
//! Memory is bounded. By default, at most 64 KiB of output are queued ([`set_buffer_limit`] changes
//! it), and a few received records. [`room_left`] returns the size that the next write accepts.
//!
//! # Unbuffered
//!
//! The connection holds no buffer. [`process_tls_records`] opens received records in place, and
//! returns a [`ConnectionState`] with the next action. Each state has only the methods that are
//! possible in it.
//!
//! | state | what to do |
//! |---|---|
//! | [`EncodeTlsData`] | encode a record into the output buffer |
//! | [`TransmitTlsData`] | send the encoded output, then call `done()` |
//! | [`BlockedHandshake`] | receive more |
//! | [`ReadTraffic`] | take the application data of one record with [`next_record`] |
//! | [`ReadEarlyData`] | the same for early data, on a server |
//! | [`WriteTraffic`] | nothing is pending: send application data, or receive more |
//! | [`PeerClosed`] | the peer sends no more; this side still can, with [`write_traffic`] |
//! | [`Closed`] | both sides have closed |
//!
//! In each state, the first `discard` bytes of the input are consumed once the state is handled.
//! Pass the rest again, with new bytes behind it. `discard` includes the record of a
//! [`ReadTraffic`], so take its data first.
//!
//! Three methods are additions to the API of 0.23:
//!
//! - **A record can wait.** [`peek_record`] returns the size of the next record's data before it is
//!   opened. If you have no room for it, keep its bytes. The connection stays usable, and nothing
//!   is lost.
//! - **Output grows.** [`encrypt_to_vec`] and similar methods write to a `Vec`, and extend it where
//!   a slice would be too short. New memory is zeroed once.
//! - **Sending needs no state.** [`write_traffic`] allows sending at any time, also after the peer
//!   has closed.
//!
//! The examples `unbuffered_client` and `unbuffered_server` are complete programs.
//!
//! # Split
//!
//! `into_split` divides an established connection into a half that sends and a half that receives.
//! Two threads or tasks use them at the same time, without a lock between them. Each half has the
//! calls of both APIs: `writer` and `write_tls`, or `encrypt` and `encrypt_in_place`; `read_tls`
//! and `reader`, or `open_in_place`.
//!
//! ```
//! use std::io::{self, Write};
//! use std::net::TcpStream;
//! use std::thread;
//!
//! use rustls::ClientConnection;
//!
//! fn talk(
//!     conn: ClientConnection,
//!     socket: TcpStream,
//!     to_send: impl Iterator<Item = Vec<u8>>,
//!     mut received: impl FnMut(&[u8]) + Send + 'static,
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     let (mut sender, mut receiver) = conn.into_split()?;
//!     let (mut incoming, mut outgoing) = (socket.try_clone()?, socket);
//!
//!     thread::spawn(move || -> io::Result<()> {
//!         while !receiver.peer_has_closed() {
//!             if receiver.read_tls(&mut incoming)? == 0 {
//!                 // no close_notify: data may be missing
//!                 return Err(io::ErrorKind::UnexpectedEof.into());
//!             }
//!             receiver.process_new_packets().map_err(io::Error::other)?;
//!             // until no plaintext is left (`WouldBlock`), or the peer has closed
//!             while let Ok(chunk @ [_, ..]) = receiver.reader().into_first_chunk() {
//!                 let len = chunk.len();
//!                 received(chunk);
//!                 io::BufRead::consume(&mut receiver.reader(), len);
//!             }
//!         }
//!         Ok(())
//!     });
//!     for data in to_send {
//!         sender.writer().write_all(&data)?;
//!         while sender.wants_write() {
//!             sender.write_tls(&mut outgoing)?;
//!         }
//!     }
//!     sender.send_close_notify();
//!     while sender.wants_write() {
//!         sender.write_tls(&mut outgoing)?;
//!     }
//!     Ok(())
//! }
//! # harness::manual::talks(talk);
//! ```
//!
//! Work that one half finds for the other is passed through one atomic byte. The sender checks it
//! on each write. It answers a peer's KeyUpdate before the next application data, and sends the
//! alert for a record that the receiver rejected. A thread that writes all the time therefore needs
//! no waking. Wake an idle one when [`sender_wants_write`] is true; check after each
//! `process_new_packets`, errors included. The example `split_echo` is a complete server.
//! `bench -- duplex` compares it with a connection behind a mutex.
//!
//! # QUIC
//!
//! [`quic`](crate::quic) is the handshake of QUIC versions 1 (RFC 9001) and 2 (RFC 9369), for
//! implementations such as quinn. CRYPTO bytes go in through `read_hs` and out through
//! `write_hs`, which also returns the keys of Handshake and 1-RTT packets. `zero_rtt_keys`
//! returns those of early data. The implementation handles packets, retransmission and streams.
//! An application uses QUIC through it.
//!
//! # Versions and roles
//!
//! [`Connection`](crate::Connection) is either role, for code that serves both. The version makes
//! no difference to an application, with two exceptions. Only TLS 1.3 has early data. Only TLS 1.3
//! can replace keys, so a TLS 1.2 connection ends when its key is used up, after about 2²⁴ records
//! with AES-GCM.
//!
//! [`Read`]: std::io::Read
//! [`Write`]: std::io::Write
//! [`BufRead`]: std::io::BufRead
//! [`Stream`]: crate::Stream
//! [`StreamOwned`]: crate::StreamOwned
//! [`ClientConnection`]: crate::ClientConnection
//! [`ServerConnection`]: crate::ServerConnection
//! [`UnbufferedClientConnection`]: crate::client::UnbufferedClientConnection
//! [`UnbufferedServerConnection`]: crate::server::UnbufferedServerConnection
//! [`set_buffer_limit`]: crate::ConnectionCommon::set_buffer_limit
//! [`split::Sender`]: crate::split::Sender
//! [`split::Receiver`]: crate::split::Receiver
//! [`sender_wants_write`]: crate::split::Receiver::sender_wants_write
//! [`process_tls_records`]: crate::unbuffered::UnbufferedConnectionCommon::process_tls_records
//! [`ConnectionState`]: crate::unbuffered::ConnectionState
//! [`EncodeTlsData`]: crate::unbuffered::ConnectionState::EncodeTlsData
//! [`TransmitTlsData`]: crate::unbuffered::ConnectionState::TransmitTlsData
//! [`BlockedHandshake`]: crate::unbuffered::ConnectionState::BlockedHandshake
//! [`ReadTraffic`]: crate::unbuffered::ConnectionState::ReadTraffic
//! [`ReadEarlyData`]: crate::unbuffered::ConnectionState::ReadEarlyData
//! [`WriteTraffic`]: crate::unbuffered::ConnectionState::WriteTraffic
//! [`PeerClosed`]: crate::unbuffered::ConnectionState::PeerClosed
//! [`Closed`]: crate::unbuffered::ConnectionState::Closed
//! [`next_record`]: crate::unbuffered::ReadTraffic::next_record
//! [`room_left`]: crate::Writer::room_left
//! [`peek_record`]: crate::unbuffered::UnbufferedConnectionCommon::peek_record
//! [`encrypt_to_vec`]: crate::unbuffered::WriteTraffic::encrypt_to_vec
//! [`write_traffic`]: crate::unbuffered::UnbufferedConnectionCommon::write_traffic
