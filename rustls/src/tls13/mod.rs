//! TLS 1.3 (RFC 9846): the handshake of each side, and what both sides compute alike.
//!
//! ```text
//!   client ──┐   ┌─► key_schedule         secrets in, secrets out
//!            ├───┼─► transcript           the hash over all handshake messages
//!   server ──┘   ├─► flight               messages that are sent in a row
//!                ├─► certificate_verify   what a CertificateVerify signs
//!                ├─► finished             the check of the peer's Finished
//!                └─► traffic              installed keys, KeyUpdate, exporters
//! ```

pub(crate) mod certificate_verify;
pub(crate) mod client;
pub(crate) mod finished;
pub(crate) mod flight;
pub(crate) mod key_schedule;
pub(crate) mod server;
pub(crate) mod traffic;
pub(crate) mod transcript;
