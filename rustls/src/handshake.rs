//! The handshakes of both versions.
//!
//! [`machine`] has the state of each side. Each side builds or handles a ClientHello with
//! [`client`] or [`server`], and continues in the states of the version that is chosen:
//!
//! ```text
//!   machine::{client, server}     one enum per side; the choice of the version
//!       ├──► tls13, tls12         the states of a version; neither imports the other
//!       │        │
//!       └────────┴──► client, server: the ClientHello, and code for both versions
//!                         │
//!                         └──► peer_auth, transcript, flight ──► transport
//! ```
//!
//! The code shared by both versions includes `peer_auth` (the order in which a peer's chain and
//! signature are verified), `calls` (calls into the application's code that may be asynchronous),
//! `finished` (the check of the peer's Finished), `ffdhe`, `raw_public_key`, `server::{certificate,
//! protocol, resumable}` and `client::client_auth`.
//!
//! A handshake accesses its connection through [`Context`] and its configuration through
//! `settings`. It fails with a [`Failure`].

mod calls;
pub(crate) mod client;
mod context;
pub(crate) mod established;
pub(crate) mod ffdhe;
pub(crate) mod finished;
pub(crate) mod flight;
pub(crate) mod link;
pub(crate) mod machine;
pub(crate) mod negotiated;
pub(crate) mod observation;
pub(crate) mod operation;
pub(crate) mod peer_auth;
pub(crate) mod random;
pub(crate) mod raw_public_key;
pub(crate) mod server;
pub(crate) mod side_data;
#[cfg(feature = "tls12")]
pub(crate) mod tls12;
pub(crate) mod tls13;
pub(crate) mod tolerance;
pub(crate) mod transcript;
pub(crate) mod transport;
pub(crate) mod wait;

pub(crate) use client::connection_data::ClientContext;
#[cfg(feature = "tls12")]
pub(crate) use context::SessionInUse;
pub(crate) use context::{Context, Machine};
pub(crate) use server::connection_data::ServerContext;

#[cfg(feature = "tls12")]
use crate::enums::ContentType;
use crate::enums::HandshakeType;
use crate::error::Error;
use crate::failure::Failure;
use crate::msgs::HandshakeMessage;

/// The dependencies of [`link`], which `ci/loom` replaces.
mod atomics {
    pub(super) use core::sync::atomic::{AtomicU8, Ordering};

    pub(super) use once_cell::race::OnceBox;
}

/// The channel between the two halves of a split connection.
pub(crate) type Link = link::Link<Failure>;

/// Creates the failure for a handshake message out of order. RFC 9846 §4: it is an
/// unexpected_message, regardless of its content.
pub(crate) fn unexpected(message: &HandshakeMessage<'_>, expected: &[HandshakeType]) -> Failure {
    Error::InappropriateHandshakeMessage {
        expect_types: expected.to_vec(),
        got_type: message.typ,
    }
    .into()
}

/// Creates the failure for a misplaced change_cipher_spec, or for a handshake message where a
/// record of another type is expected. RFC 5246 §7.2.2: it is an unexpected_message.
#[cfg(feature = "tls12")]
pub(crate) fn unexpected_content(got_type: ContentType, expected: &[ContentType]) -> Failure {
    Error::InappropriateMessage {
        expect_types: expected.to_vec(),
        got_type,
    }
    .into()
}
