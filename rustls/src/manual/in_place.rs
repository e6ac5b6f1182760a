//! Records made where the plaintext lies, and read where they came in.
//!
//! A copy of 16 KiB that are in the cache costs about a seventh of what encrypting them does; of memory that is not, nearly
//! as much as encrypting. So it pays to leave data where it is.
//!
//! # Sending
//!
//! A record is longer than its plaintext: a header in front, behind it the content type and the authentication tag, and
//! with AES-GCM in TLS 1.2 eight bytes of nonce before the ciphertext. `in_place_room` says how much that is for this
//! connection. Whoever leaves as much around the plaintext gets the record with no second buffer:
//!
//! ```text
//!        ┌─ headroom ─┐┌─ payload ───────────────────┐┌─ tailroom ─┐
//! before │            ││ plaintext                   ││            │
//!        └────────────┘└─────────────────────────────┘└────────────┘
//! after  │ header     ││ ciphertext                  ││ type, tag  │
//!        └─────────────────────── record ──────────────────────────┘
//! ```
//!
//! It is there on buffered connections ([`encrypt_in_place`](crate::ConnectionCommon::encrypt_in_place)), on
//! unbuffered ones ([`WriteTraffic::encrypt_in_place`](crate::unbuffered::WriteTraffic::encrypt_in_place)), and on the
//! sending half of a split one ([`Sender::encrypt_in_place`](crate::split::Sender::encrypt_in_place)):
//!
//! ```
//! use std::io::{self, Read, Write};
//!
//! use rustls::{ClientConnection, InPlaceError};
//!
//! /// Reads one chunk of `file` to where it will be encrypted, and sends it; `false` at its end.
//! fn send_chunk(
//!     tls: &mut ClientConnection,
//!     buffer: &mut Vec<u8>,
//!     file: &mut impl Read,
//!     socket: &mut impl Write,
//! ) -> Result<bool, Box<dyn std::error::Error>> {
//!     let room = tls.in_place_room();
//!     let (start, end) = (room.headroom, room.headroom + room.max_payload);
//!     buffer.resize(end + room.tailroom, 0); // does something the first time only
//!     let len = file.read(&mut buffer[start..end])?;
//!     if len == 0 {
//!         return Ok(false);
//!     }
//!     loop {
//!         // what the connection has to send by itself, a KeyUpdate for example, goes first
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
//! ```
//!
//! Three rules:
//!
//! - **The order of records is the order of the calls.** A record that was made must be sent before any that is made
//!   later, whether by this method or by `writer()`. One that is not sent ends the connection at the peer.
//! - **The plaintext is gone.** When sending fails half-way, go on with the rest of the same record; it cannot be made
//!   again.
//! - **[`OutputPending`](crate::InPlaceError::OutputPending) changes nothing**: write what waits, and call again.
//!
//! The room is the same from the end of the handshake to the end of the connection, so a pool of buffers can be laid out
//! for it once: 5 bytes before and 17 behind for TLS 1.3, 13 and 16 for AES-GCM of TLS 1.2.
//!
//! # Receiving
//!
//! Every record is opened in the memory in which it was received; the question is only who gets to see that memory.
//!
//! - Unbuffered: it is the application's own. [`ReadTraffic::next_record`](crate::unbuffered::ReadTraffic::next_record)
//!   returns the plaintext as a slice of what it passed in.
//! - Buffered: [`Reader`](crate::Reader) implements [`BufRead`](std::io::BufRead), and `fill_buf` shows the plaintext
//!   where it lies in the receive buffer. [`into_first_chunk`](crate::Reader::into_first_chunk) does so for as long as
//!   the connection is borrowed. `read` copies, once.
//! - Split: either of the two. [`Receiver::open_in_place`](crate::split::Receiver::open_in_place) opens a record in the
//!   application's memory, [`Receiver::reader`](crate::split::Receiver::reader) is that of a buffered connection.
//!
//! ```
//! use std::io::{self, BufRead, Write};
//!
//! use rustls::ServerConnection;
//!
//! /// Passes on all plaintext that waits, without a copy of our own.
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
//! ```
//!
//! # From one connection to another
//!
//! A proxy that ends TLS on both sides can open a record in place and make the next one around the same bytes: what was
//! header, type and tag of the one is room for those of the other. With the same version and kind of suite on both sides
//! nothing has to be moved. Otherwise the room may be too small, and more would be written than came: from TLS 1.3 to
//! AES-GCM of TLS 1.2, 8 bytes in front; from TLS 1.2 to TLS 1.3, the byte behind, where the next record begins. So compare,
//! before each record:
//!
//! ```
//! use std::error::Error;
//! use std::io::Write;
//!
//! use rustls::server::ServerConnectionData;
//! use rustls::split::Receiver;
//! use rustls::{ClientConnection, InPlaceError};
//!
//! /// Passes on all data in the first `filled` bytes of `buffer`; how many of them are done with.
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
//!             // what the connection has to send by itself goes first, and so does what did not fit
//!             while to.wants_write() {
//!                 to.write_tls(socket)?;
//!             }
//!             match to.encrypt_in_place(buffer, payload.clone()) {
//!                 Ok(record) => break socket.write_all(&buffer[record])?,
//!                 Err(InPlaceError::OutputPending) => continue,
//!                 Err(error) => return Err(error.into()),
//!             }
//!         }
//!     }
//! }
//! ```
