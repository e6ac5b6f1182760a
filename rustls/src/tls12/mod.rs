//! TLS 1.2 (RFC 5246), from the point where it is chosen: the handshake of each side, and what both sides
//! share.
//!
//! ```text
//!   client ──┬──► key_schedule    secrets in, secrets out
//!   server ──┴──► renegotiation   how it is refused
//! ```

pub(crate) mod client;
pub(crate) mod key_schedule;
pub(crate) mod renegotiation;
pub(crate) mod server;
