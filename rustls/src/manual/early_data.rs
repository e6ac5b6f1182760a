//! Early data (0-RTT): a request one round trip earlier, with weaker guarantees.
//!
//! With a ticket that allows it, a TLS 1.3 client can send data along with its ClientHello. Both
//! sides must opt in: [`ClientConfig::enable_early_data`](crate::ClientConfig::enable_early_data)
//! and [`ServerConfig::max_early_data_size`](crate::ServerConfig::max_early_data_size).
//!
//! # Risks
//!
//! - **It can be replayed.** An attacker who records early data can send it again. A server accepts
//!   it once for each stored session. It therefore needs a
//!   [`session_storage`](crate::ServerConfig::session_storage) whose `take` returns a session to
//!   one caller only, among all machines that share it. With a `ticketer`, no early data is
//!   accepted. A client may still repeat data that it believes lost. Send and accept only requests
//!   that do no harm if they are executed twice.
//! - **It is not forward secret.** Anyone who learns the session's secret later can read it.
//! - **It may be rejected.** The server then discards it.
//!
//! # On a client
//!
//! Early data has its own writer, and is never mixed with other data:
//!
//! ```
//! use std::io::Write;
//!
//! use rustls::ClientConnection;
//!
//! /// Sends `request` as early data if possible; returns the number of bytes sent.
//! fn send_early(connection: &mut ClientConnection, request: &[u8]) -> std::io::Result<usize> {
//!     match connection.early_data() {
//!         Some(mut early) => early.write(request),
//!         None => Ok(0), // no session, or one without early data
//!     }
//! }
//!
//! /// Call this once the handshake is complete, with the number that `send_early` returned.
//! fn send_rest(
//!     connection: &mut ClientConnection,
//!     request: &[u8],
//!     sent: usize,
//! ) -> std::io::Result<()> {
//!     let accepted = match connection.is_early_data_accepted() {
//!         true => sent,
//!         false => 0, // send all of it again
//!     };
//!     connection.writer().write_all(&request[accepted..])
//! }
//! # harness::manual::sends_early(send_early, send_rest);
//! ```
//!
//! # On a server
//!
//! ```
//! use std::io::Read;
//!
//! use rustls::ServerConnection;
//!
//! /// Reads the early data received so far.
//! fn read_early(connection: &mut ServerConnection) -> std::io::Result<Vec<u8>> {
//!     let mut received = Vec::new();
//!     if let Some(mut early) = connection.early_data() {
//!         early.read_to_end(&mut received)?;
//!     }
//!     Ok(received)
//! }
//! # harness::manual::reads_early(read_early);
//! ```
//!
//! A connection holds at most `max_early_data_size` bytes until the application reads them. A
//! client that sends more is disconnected. HTTP servers answer `425 Too Early` to requests that are
//! not safe to repeat (RFC 8470).
