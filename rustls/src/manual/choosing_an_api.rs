//! APIs: choosing the one that fits a program.
//!
//! All APIs speak the same protocol with the same code. They differ in the owner of the buffers and
//! in the part that does the I/O.
//!
//! | | who does the I/O | who owns the buffers | copies of the plaintext, sending / receiving | for |
//! |---|---|---|---|---|
//! | [`Stream`], [`StreamOwned`] | the library, through [`Read`] and [`Write`] | the connection | 0 / 1 | blocking sockets, a thread for each connection |
//! | [`ClientConnection`], [`ServerConnection`] | the application calls `read_tls`, `write_tls` | the connection | 0 / 1, or 0 with [`BufRead`] | event loops; what tokio-rustls and most others use |
//! | … with `encrypt_in_place` | the same, and records from the application's own buffer | both | 0 / as above | servers of files, proxies |
//! | [`split::Sender`], [`split::Receiver`](crate::split::Receiver) | as before the split, or the application | either | 0 / 0 or 1 | both directions at once on two threads, without a lock |
//! | [`UnbufferedClientConnection`], [`UnbufferedServerConnection`] | the application | the application | 0 / 0 | io_uring, `no_std`, own buffer pools, the highest throughput |
//! | [`KernelConnection`](crate::kernel::KernelConnection) | the kernel (Linux's kTLS) | the kernel | – | `sendfile`, network cards that encrypt |
//! | [`quic`](crate::quic) connections | a QUIC implementation such as quinn | that implementation | – | QUIC, HTTP/3 |
//!
//! The copies are those of the aws-lc-rs provider. ring only seals in place, so each API except
//! `encrypt_in_place` has one more copy when sending. No API allocates per record.
//!
//! # Buffered
//!
//! A connection has four openings. TLS bytes go in by `read_tls` and out by `write_tls`; plaintext
//! goes in by `writer()` and out by `reader()`. It does nothing between calls, so it fits any event
//! loop:
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
//! ```
//!
//! After each of the two, ask `wants_read` and `wants_write`, and tell the event loop. Received
//! data may require an answer. A connection with much unread plaintext does not want to read.
//!
//! Memory is bounded. By default 64 KiB wait to be written ([`set_buffer_limit`] changes it), and a
//! few records wait to be read. [`room_left`] returns the size that the next write accepts.
//!
//! # Unbuffered
//!
//! The connection holds no buffer. [`process_tls_records`] takes the received bytes, opens records
//! where they lie, and returns a [`ConnectionState`]: the one thing to do next. Only the states in
//! which an action is possible have a method for it.
//!
//! | state | what to do |
//! |---|---|
//! | [`EncodeTlsData`] | encode a record into the output buffer |
//! | [`TransmitTlsData`] | send the encoded output, then call `done()` |
//! | [`BlockedHandshake`] | receive more |
//! | [`ReadTraffic`] | take the application data of one record by [`next_record`] |
//! | [`ReadEarlyData`] | the same for early data, on a server |
//! | [`WriteTraffic`] | nothing is pending: send application data, or receive more |
//! | [`PeerClosed`] | the peer sends no more; this side still can, by [`write_traffic`] |
//! | [`Closed`] | both sides have closed |
//!
//! In each state, the first `discard` bytes of the input are consumed once the state is handled.
//! Pass the rest again, with new bytes behind it. The record of a [`ReadTraffic`] is among the
//! bytes to discard, so take its data before.
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
//!             // until nothing waits (`WouldBlock`), or the peer has closed
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
//! ```
//!
//! Work that one half finds for the other is passed through one atomic byte. The sender looks there
//! on each write. It answers a peer's KeyUpdate before the next application data, and sends the
//! alert for what the receiver could not open. A thread that writes all the time therefore needs no
//! waking. Wake an idle one when [`sender_wants_write`] is true; ask after each
//! `process_new_packets`, errors included. The example `split_echo` is a complete server.
//! `bench -- duplex` compares it with a connection behind a mutex.
//!
//! # QUIC
//!
//! [`quic`](crate::quic) is the handshake of QUIC versions 1 (RFC 9001) and 2 (RFC 9369), for
//! implementations such as quinn. CRYPTO bytes go in by `read_hs` and come out by `write_hs`, which
//! also returns the keys of Handshake and 1-RTT packets. `zero_rtt_keys` returns those of early
//! data. Packets, retransmission and streams belong to the implementation. An application uses QUIC
//! through it.
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
