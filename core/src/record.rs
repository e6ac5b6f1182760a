//! The record layer (RFC 9846 §5, RFC 5246 §6.2): everything between a message and its bytes on the
//! wire.
//!
//! ```text
//!   application bytes ─► sender ─► framing ─► SealingKey ─► caller's slice | OutgoingBuffer
//!   socket ─► ReceiveBuffer | caller's slice ─► receiver ─► framing ─► OpeningKey
//!   handshake records and QUIC's CRYPTO frames ─► joiner ─► messages
//! ```
//!
//! - [`framing`]: the layout of one record: nonce, additional data, content type.
//! - [`sender`], [`receiver`]: the state of one direction: keys, sequence number, limits.
//! - [`joiner`]: reassembles handshake messages from records or CRYPTO frames.
//! - [`buffer`]: the buffers that a connection owns; `pool`: their memory.
//! - [`outgoing_records`]: finds the records in unsent output; [`traffic`]: the amount of data in
//!   one direction, which `counting` measures.
//!
//! The handshake, in the `rustls` crate, decides which message is allowed when. Providers use
//! [`framing`]. All other modules are only for `rustls`: they are hidden from the documentation and
//! may change at any time.

#[doc(hidden)]
pub mod buffer;
mod counting;
pub mod framing;
#[doc(hidden)]
pub mod joiner;
#[doc(hidden)]
pub mod outgoing_records;
mod pool;
#[doc(hidden)]
pub mod receiver;
#[doc(hidden)]
pub mod sender;
#[cfg(test)]
mod toy;
#[doc(hidden)]
pub mod traffic;

/// The length in bytes of a record header: type, legacy version, length (RFC 9846 §5.1).
pub const HEADER_LEN: usize = 5;

/// The length in bytes of an alert: its level and description (RFC 9846 §6).
pub const ALERT_LEN: usize = 2;

/// The maximum number of plaintext bytes in one record: 2^14 (RFC 9846 §5.1).
pub const MAX_FRAGMENT_LEN: usize = crate::crypto::cipher::MAX_FRAGMENT_LEN;

/// The maximum length of an encrypted TLS 1.3 payload: 2^14 + 256 bytes (RFC 9846 §5.2).
pub const MAX_TLS13_PAYLOAD_LEN: usize = MAX_FRAGMENT_LEN + 256;

/// The maximum length of an encrypted payload in any version: 2^14 + 2048 bytes, the limit of TLS
/// 1.2 (RFC 5246 §6.2.3).
pub const MAX_WIRE_PAYLOAD_LEN: usize = MAX_FRAGMENT_LEN + 2048;
