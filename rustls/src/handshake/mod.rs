//! The handshake before a version is known, and what all versions share.
//!
//! A ClientHello is built ([`client`]) or read ([`server`]) here, the version is chosen, and the connection
//! goes on in that version's states. A side is one enum over the versions:
//!
//! ```text
//!                      Hello ── version ──► Tls13(State) or Tls12(State)
//!                        │                       │
//!                        └──── an error ─────────┴──► Failed
//!
//!   handshake::client ──► offer, key_shares, offered_session ──► tls13::client, tls12::client
//!   handshake::server ──► client_hello                       ──► tls13::server, tls12::server
//!                both ──► transcript, flight                 ──► conn::transport
//! ```
//!
//! Beside these it has what both versions do alike: `finished` (the check of the peer's), `ffdhe`, `raw_public_key`,
//! `server::{certificate, protocol}` and `client::client_auth`.
//!
//! What a handshake may touch of its connection is [`Context`]; what it goes by, `settings`; how it fails is
//! [`Failure`].

pub(crate) mod client;
mod context;
mod failure;
pub(crate) mod ffdhe;
pub(crate) mod finished;
pub(crate) mod flight;
pub(crate) mod raw_public_key;
pub(crate) mod server;
pub(crate) mod settings;
pub(crate) mod transcript;

pub(crate) use context::{ClientContext, Context, Machine, ServerContext};
pub(crate) use failure::Failure;

#[cfg(feature = "tls12")]
use crate::enums::ContentType;
use crate::enums::HandshakeType;
use crate::error::Error;
use crate::msgs::HandshakeMessage;

/// RFC 9846 §4: a message out of order is an unexpected_message, whatever it contains.
pub(crate) fn unexpected(message: &HandshakeMessage<'_>, expected: &[HandshakeType]) -> Failure {
    Error::InappropriateHandshakeMessage {
        expect_types: expected.to_vec(),
        got_type: message.typ,
    }
    .into()
}

/// RFC 5246 §7.1: a change_cipher_spec has one place in a handshake, and so has what must follow it. Anything
/// else is an unexpected_message.
#[cfg(feature = "tls12")]
pub(crate) fn unexpected_content(got_type: ContentType, expected: &[ContentType]) -> Failure {
    Error::InappropriateMessage {
        expect_types: expected.to_vec(),
        got_type,
    }
    .into()
}
