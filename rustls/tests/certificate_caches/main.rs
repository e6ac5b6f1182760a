//! What is loaded and parsed once, kept and shared: that it is, that it is replaced when it is to
//! be, and that no handshake is decided by anything old.

mod kit;
#[cfg(feature = "native-certs")]
mod platform;
mod revocation;
mod revocation_changes;
mod revocation_used;
mod roots;
mod roots_changes;
mod roots_ignored;
