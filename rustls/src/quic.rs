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
//! # For crypto providers
//!
//! [`Algorithm`], [`PacketKey`] and [`HeaderProtectionKey`] are what a cipher suite needs for QUIC.

mod connection;

pub use rustls_core::quic::{
    Algorithm, DirectionalKeys, HeaderProtectionKey, KeyChange, Keys, PacketKey, PacketKeySet,
    Secrets, Suite, Tag, Version,
};

pub use self::connection::{ClientConnection, Connection, ConnectionCommon, ServerConnection};
