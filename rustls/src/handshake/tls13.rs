//! TLS 1.3 (RFC 9846), once that version has been chosen: the handshake of each side, and their
//! shared code.
//!
//! ```text
//!   client ──┐   ┌─► certificate_verify        the input of a CertificateVerify signature
//!            ├───┼─► certificate_compression   CompressedCertificate, sent and received
//!   server ──┘   └─► key_update                the peer's KeyUpdate
//! ```
//!
//! [`crate::keys::tls13`] derives the secrets.

pub(crate) mod certificate_compression;
mod certificate_verify;
pub(crate) mod client;
pub(crate) mod key_update;
pub(crate) mod server;
