//! The key schedules of both versions: secrets in, secrets out.
//!
//! Nothing here depends on messages, connections or logs. The handshakes install, log and export
//! the secrets.

#[cfg(feature = "tls12")]
pub(crate) mod tls12;
pub(crate) mod tls13;
