//! In-place encryption and decryption: records built around the plaintext, and read where they
//! arrived.
//!
//! A copy of 16 KiB in the cache costs about a seventh of their encryption. Outside the cache it
//! costs nearly as much as encryption. So it pays off to leave data where it is.
//!
//! # Sending
//!
//! A record is longer than its plaintext. It has a header in front, and the content type and the
//! authentication tag behind. AES-GCM in TLS 1.2 also has eight bytes of nonce before the
//! ciphertext. `in_place_room` returns these lengths for a connection. Leave that much space around
//! the plaintext, and the record needs no second buffer:
//!
//! ```text
//!        ┌─ headroom ─┐┌─ payload ───────────────────┐┌─ tailroom ─┐
//! before │            ││ plaintext                   ││            │
//!        └────────────┘└─────────────────────────────┘└────────────┘
//! after  │ header     ││ ciphertext                  ││ type, tag  │
//!        └─────────────────────── record ──────────────────────────┘
//! ```
//!
//! The method exists on buffered connections
//! ([`encrypt_in_place`](crate::ConnectionCommon::encrypt_in_place)), on unbuffered ones
//! ([`WriteTraffic::encrypt_in_place`](crate::unbuffered::WriteTraffic::encrypt_in_place)), and on
//! the sending half of a split one
//! ([`Sender::encrypt_in_place`](crate::split::Sender::encrypt_in_place)):
//!
//! ```
//! use std::io::{self, Read, Write};
//!
//! use rustls::{ClientConnection, InPlaceError};
//!
//! /// Sends one chunk of `file`, encrypted where it was read; returns `false` at the end.
//! fn send_chunk(
//!     tls: &mut ClientConnection,
//!     buffer: &mut Vec<u8>,
//!     file: &mut impl Read,
//!     socket: &mut impl Write,
//! ) -> Result<bool, Box<dyn std::error::Error>> {
//!     let room = tls.in_place_room();
//!     let (start, end) = (room.headroom, room.headroom + room.max_payload);
//!     buffer.resize(end + room.tailroom, 0); // no-op after the first call
//!     let len = file.read(&mut buffer[start..end])?;
//!     if len == 0 {
//!         return Ok(false);
//!     }
//!     loop {
//!         // output of the connection itself, such as a KeyUpdate, goes first
//!         while tls.wants_write() {
//!             tls.write_tls(socket)?;
//!         }
//!         match tls.encrypt_in_place(buffer, start..start + len) {
//!             Ok(record) => {
//!                 socket.write_all(&buffer[record])?;
//!                 return Ok(true);
//!             }
//!             Err(InPlaceError::OutputPending) => continue,
//!             Err(error) => return Err(error.into()),
//!         }
//!     }
//! }
//! # harness::manual::sends_chunks(send_chunk);
//! ```
//!
//! Rules:
//!
//! - **Send records in the order of the calls.** A record must be sent before any later one,
//!   whether this method or `writer()` made it. The peer ends the connection if one is missing.
//! - **The plaintext is overwritten.** If sending stops half-way, send the rest of the same record.
//!   It cannot be encrypted again.
//! - **[`OutputPending`](crate::InPlaceError::OutputPending) changes nothing.** Write the pending
//!   output, and call again.
//!
//! The room stays the same from the end of the handshake to the end of the connection, so a pool of
//! buffers can have a fixed layout: 5 bytes in front and 17 behind for TLS 1.3, 13 and 16 for
//! AES-GCM of TLS 1.2.
//!
//! # Receiving
//!
//! Every record is opened in the memory in which it arrived. The APIs differ in the owner of that
//! memory:
//!
//! - Unbuffered: the application.
//!   [`ReadTraffic::next_record`](crate::unbuffered::ReadTraffic::next_record) returns the
//!   plaintext as a slice of the input.
//! - Buffered: the connection. [`Reader`](crate::Reader) implements [`BufRead`](std::io::BufRead),
//!   and `fill_buf` returns the plaintext in the receive buffer.
//!   [`into_first_chunk`](crate::Reader::into_first_chunk) does the same for as long as the
//!   connection is borrowed. `read` copies once.
//! - Split: either. [`Receiver::open_in_place`](crate::split::Receiver::open_in_place) opens a
//!   record in the application's memory. [`Receiver::reader`](crate::split::Receiver::reader) is
//!   that of a buffered connection.
//!
//! ```
//! use std::io::{self, BufRead, Write};
//!
//! use rustls::ServerConnection;
//!
//! /// Forwards all waiting plaintext without a copy.
//! fn forward(tls: &mut ServerConnection, to: &mut impl Write) -> io::Result<()> {
//!     loop {
//!         let mut reader = tls.reader();
//!         let chunk = match reader.fill_buf() {
//!             Ok([]) => return Ok(()), // the peer has closed
//!             Ok(chunk) => chunk,
//!             Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
//!             Err(error) => return Err(error),
//!         };
//!         let written = to.write(chunk)?;
//!         reader.consume(written);
//!     }
//! }
//! # harness::manual::forwards(forward);
//! ```
//!
//! # From one connection to another
//!
//! A proxy that terminates TLS on both sides can open a record in place and build the next one
//! around the same bytes. The old header, type and tag are the room for the new ones. With the same
//! version and kind of suite on both sides, nothing moves. Otherwise the room may be too small: by
//! 8 bytes in front from TLS 1.3 to AES-GCM of TLS 1.2, and by one byte behind, where the next
//! record begins, from TLS 1.2 to TLS 1.3. So compare before each record:
//!
//! ```
//! use std::error::Error;
//! use std::io::Write;
//!
//! use rustls::server::ServerConnectionData;
//! use rustls::split::Receiver;
//! use rustls::{ClientConnection, InPlaceError};
//!
//! /// Forwards all data in the first `filled` bytes of `buffer`; returns the bytes consumed.
//! fn pass_on(
//!     from: &mut Receiver<ServerConnectionData>,
//!     to: &mut ClientConnection,
//!     buffer: &mut [u8],
//!     filled: usize,
//!     socket: &mut impl Write,
//! ) -> Result<usize, Box<dyn Error>> {
//!     let mut done = 0;
//!     loop {
//!         let base = buffer.as_ptr() as usize;
//!         // the connection's own output goes first, and so does data that did not fit
//!         while to.wants_write() {
//!             to.write_tls(socket)?;
//!         }
//!         let record = from.open_in_place(&mut buffer[done..filled])?;
//!         let received = done..done + record.discard;
//!         done = received.end;
//!         if record.payload.is_empty() {
//!             return Ok(done);
//!         }
//!         let start = record.payload.as_ptr() as usize - base;
//!         let payload = start..start + record.payload.len();
//!
//!         let room = to.in_place_room();
//!         let fits = payload.len() <= room.max_payload
//!             && payload.start - received.start >= room.headroom
//!             && received.end - payload.end >= room.tailroom;
//!         if !fits {
//!             to.writer().write_all(&buffer[payload])?;
//!             continue;
//!         }
//!         loop {
//!             match to.encrypt_in_place(buffer, payload.clone()) {
//!                 Ok(record) => break socket.write_all(&buffer[record])?,
//!                 Err(InPlaceError::OutputPending) => {
//!                     while to.wants_write() {
//!                         to.write_tls(socket)?;
//!                     }
//!                 }
//!                 Err(error) => return Err(error.into()),
//!             }
//!         }
//!     }
//! }
//! # harness::manual::passes_on(pass_on);
//! ```
