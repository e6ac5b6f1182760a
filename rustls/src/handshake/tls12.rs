//! TLS 1.2 (RFC 5246), once that version has been chosen: the handshake of each side, and their
//! shared code.
//!
//! ```text
//!   client ──┬──► finished        the Finished that this side sends
//!   server ──┴──► renegotiation   refuses the peer's attempts
//! ```
//!
//! [`crate::keys::tls12`] derives the secrets.

pub(crate) mod client;
mod finished;
pub(crate) mod renegotiation;
pub(crate) mod server;
