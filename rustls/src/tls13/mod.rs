//! TLS 1.3 (RFC 9846) after it was chosen: the handshake of each side, and their shared code.
//!
//! ```text
//!   client ──┐   ┌─► key_schedule              secrets in, secrets out
//!            ├───┼─► certificate_verify        the input of a CertificateVerify signature
//!   server ──┘   ├─► certificate_compression   CompressedCertificate, sent and received
//!                └─► key_update                the peer's KeyUpdate
//! ```

pub(crate) mod certificate_compression;
mod certificate_verify;
pub(crate) mod client;
pub(crate) mod key_schedule;
pub(crate) mod key_update;
pub(crate) mod server;
