//! TLS 1.2 (RFC 5246), once that version has been chosen: the handshake of each side, and their
//! shared code.
//!
//! ```text
//!   client ──┬──► renegotiation   its refusal
//!   server ──┘
//! ```
//!
//! [`crate::keys::tls12`] derives the secrets.

pub(crate) mod client;
pub(crate) mod renegotiation;
pub(crate) mod server;
