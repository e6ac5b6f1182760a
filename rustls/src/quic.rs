//! QUIC (RFC 9000): the handshake of a connection, and the keys of its packets (RFC 9001, RFC 9369).
//!
//! A QUIC implementation moves handshake bytes between CRYPTO frames and a [`ClientConnection`] or a
//! [`ServerConnection`], and gets keys in return:
//!
//! ```text
//!   CRYPTO frames ──► read_hs ──┐              ┌──► alert
//!                               ├─► connection ┼──► zero_rtt_keys
//!   CRYPTO frames ◄── write_hs ─┘              └──► KeyChange: Keys of Handshake packets, Keys and Secrets of 1-RTT
//! ```
//!
//! Packets, frames, retransmission, key updates and the closing of connections are the implementation's. The keys of
//! Initial packets are [`Keys::initial`], those after a key update [`Secrets::next_packet_keys`].
//!
//! ```
//! use rustls::quic::{Connection, KeyChange, Keys, Secrets};
//!
//! /// What an implementation has.
//! trait Packets {
//!     /// Sends `bytes` in CRYPTO frames, under the present keys.
//!     fn send_crypto(&mut self, bytes: &[u8]);
//!     fn use_handshake_keys(&mut self, keys: Keys);
//!     fn use_one_rtt_keys(&mut self, keys: Keys, next: Secrets);
//! }
//!
//! /// Sends all that the handshake has to say, at the start and after each `read_hs`.
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
//! [`Algorithm`], [`PacketKey`] and [`HeaderProtectionKey`] are what a cipher suite needs for QUIC.

mod connection;

pub use rustls_core::quic::{
    Algorithm, DirectionalKeys, HeaderProtectionKey, KeyChange, Keys, PacketKey, PacketKeySet,
    Secrets, Suite, Tag, Version,
};

pub use self::connection::{ClientConnection, Connection, ConnectionCommon, ServerConnection};
