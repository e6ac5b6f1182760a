//! The key schedules of both versions: secrets in, secrets out.
//!
//! Nothing here reads messages, or depends on connections or logs. The handshakes install, log and
//! export the secrets.

#[cfg(feature = "tls12")]
pub(crate) mod tls12;
pub(crate) mod tls13;
