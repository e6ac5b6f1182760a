//! TLS 1.2 (RFC 5246) after it was chosen: the handshake of each side, and their shared code.
//!
//! ```text
//!   client ──┬──► key_schedule    secrets in, secrets out
//!   server ──┴──► renegotiation   its refusal
//! ```

pub(crate) mod client;
pub(crate) mod key_schedule;
pub(crate) mod renegotiation;
pub(crate) mod server;
