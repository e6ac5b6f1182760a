//! The handshake for QUIC connections (RFC 9000), and their packet keys (RFC 9001, RFC 9369).
//!
//! A QUIC implementation moves handshake bytes between CRYPTO frames and a [`ClientConnection`] or
//! a [`ServerConnection`], and gets keys in return:
//!
//! ```text
//!   CRYPTO frames ──► read_hs ──┐              ┌──► alert
//!                               ├─► connection ┼──► zero_rtt_keys
//!   CRYPTO frames ◄── write_hs ─┘              └──► KeyChange: Handshake keys, 1-RTT keys
//! ```
//!
//! The implementation is responsible for packets, frames, retransmission, key updates and closing
//! connections. [`Keys::initial`] returns the keys for Initial packets, and
//! [`Secrets::next_packet_keys`] the keys after a key update.
//!
//! ```
//! use rustls::quic::{Connection, KeyChange, Keys, Secrets};
//!
//! /// The implementation's packet layer.
//! trait Packets {
//!     /// Sends `bytes` in CRYPTO frames, under the current keys.
//!     fn send_crypto(&mut self, bytes: &[u8]);
//!     fn use_handshake_keys(&mut self, keys: Keys);
//!     fn use_one_rtt_keys(&mut self, keys: Keys, next: Secrets);
//! }
//!
//! /// Sends all pending handshake bytes. Call it at the start and after each `read_hs`.
//! fn send(conn: &mut Connection, packets: &mut impl Packets) {
//!     loop {
//!         let mut bytes = Vec::new();
//!         let change = conn.write_hs(&mut bytes);
//!         packets.send_crypto(&bytes);
//!         match change {
//!             Some(KeyChange::Handshake { keys }) => packets.use_handshake_keys(keys),
//!             Some(KeyChange::OneRtt { keys, next }) => packets.use_one_rtt_keys(keys, next),
//!             None if bytes.is_empty() => return,
//!             None => {}
//!         }
//!     }
//! }
//! ```
//!
//! # For crypto providers
//!
//! A cipher suite implements [`Algorithm`], [`PacketKey`] and [`HeaderProtectionKey`] to support
//! QUIC.

mod connection;

pub use rustls_core::quic::{
    Algorithm, DirectionalKeys, HeaderProtectionKey, KeyChange, Keys, PacketKey, PacketKeySet,
    Secrets, Suite, Tag, Version,
};

pub use self::connection::{ClientConnection, Connection, ConnectionCommon, ServerConnection};
